"""The command line: parse, one call of the library, render. Results on stdout, all else on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteval.errors import FormatError, NuggetEvalError, ParameterError, UnknownNameError
from nuggeteval.registry import load, suggestion
from nuggeteval.version import __version__

if TYPE_CHECKING:
    from nuggeteval.cache import Cache
    from nuggeteval.chat import Chat
    from nuggeteval.judges import Judge

__all__ = [
    "COMMANDS",
    "add_judge_options",
    "add_model_options",
    "call",
    "in_batch",
    "judge_for",
    "main",
    "make_chat",
    "make_folder",
    "note",
    "progress_bar",
    "read_prompt",
    "run_counter",
    "write_bytes",
    "write_lines",
]

COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("nuggeteval.cli.score", "score runs against nugget qrels"),
    "leaderboard": ("nuggeteval.cli.leaderboard", "rank runs, with intervals, tests, groups and strata"),
    "rank": ("nuggeteval.cli.rank", "place of new runs among those of a leaderboard"),
    "correlate": ("nuggeteval.cli.correlate", "rank correlation of runs by two columns of scores"),
    "compare": ("nuggeteval.cli.compare", "two runs in detail: topics, test, nuggets that only one has"),
    "report": ("nuggeteval.cli.report", "one HTML page with everything"),
    "answers": ("nuggeteval.cli.answers", "extract, judge and score answers against a nugget bank in one call"),
    "generate": ("nuggeteval.cli.generate", "reference runs: LANCER, the bound, reranking baselines"),
    "extract": ("nuggeteval.cli.extract", "clip nuggets out of answers"),
    "judge": ("nuggeteval.cli.judge", "judge units of answers against a nugget bank"),
    "panel": ("nuggeteval.cli.panel", "correctness and completeness of answers, compared by a language model"),
    "dedup": ("nuggeteval.cli.dedup", "a nugget bank without entailed nuggets"),
    "nuggets": ("nuggeteval.cli.nuggets", "statistics of a nugget bank, and the overlap of two"),
    "agree": ("nuggeteval.cli.agree", "agreement of a judge with people"),
    "convert": ("nuggeteval.cli.convert", "convert judgments, qrels, labels, banks and answers"),
    "validate": ("nuggeteval.cli.validate", "list every problem of runs, qrels, banks, answers or judgments"),
    "measures": ("nuggeteval.cli.measures", "list the measures, or show one in full"),
}
"""Command -> (module with add_arguments and run, one line of help)."""

_USAGE = 2
_MANY = 10
_FAILED = 1
_INTERRUPTED = 130
_OUTPUTS = ("out", "figure", "trace")
"""Options that name a file to write."""


def _top_parser() -> argparse.ArgumentParser:
    rows = "\n".join(f"  {name:<11} {summary}" for name, (_, summary) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="nuggeteval",
        usage="nuggeteval [COMMAND] ...\n       nuggeteval [OPTION...] QRELS RUN...",
        description="Nugget-based evaluation of retrieval and RAG in the manner of trec_eval.",
        epilog=f"commands (score if none is named):\n{rows}\n\n"
        "examples:\n"
        "  nuggeteval qrels/demo.qrels runs/demo-*.run\n"
        "  nuggeteval score -q -m alpha_nDCG@10 -m Cov@10 --bank qrels/demo.bank.jsonl qrels/demo.qrels RUN\n"
        "  nuggeteval COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nuggeteval {__version__}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        0 fine, 1 data error or failed validation, 2 usage.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        note("error: results cannot be written: stdout is closed")
        return _FAILED
    for stream in (sys.stdout, sys.stderr):
        # Ids that are not UTF-8 leave as the bytes that they came as, whatever the locale.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        return _dispatch(arguments)
    except NuggetEvalError as error:
        note(f"error: {error}{_mistyped_command(arguments)}")
        return _USAGE if isinstance(error, UnknownNameError | ParameterError) else _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        return _after_broken_output(error)


def _after_broken_output(error: OSError) -> int:
    """A closed pipe is quiet: its reader has what it wanted. What is left is not flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    note(f"error: results cannot be written: {error.strerror or error}")
    return _FAILED


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "--version", "help"):
        parser = _top_parser()
        parser.parse_args(["--help"] if arguments == ["help"] else arguments)
        parser.print_help(sys.stderr)
        return _USAGE
    command, rest = (arguments[0], arguments[1:]) if arguments[0] in COMMANDS else ("score", arguments)
    code = call(*COMMANDS[command], f"nuggeteval {command}", rest)
    sys.stdout.flush()
    return code


def call(module: str, summary: str, prog: str, arguments: Sequence[str]) -> int:
    """Parse the arguments of a command and run it.

    Args:
        module: with ``add_arguments`` and ``run``.
        summary: one line of help.
        prog: what it is called.
        arguments: of the command.

    Raises:
        NuggetEvalError: as the command does; an output that is also an input.
    """
    parser = argparse.ArgumentParser(
        prog=prog, description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    load(f"{module}:add_arguments")(parser)
    # Options may stand between QRELS and RUNS; only what passes its arguments on cannot be parsed so.
    passes_on = any(action.nargs == argparse.REMAINDER for action in parser._actions)
    options = (parser.parse_args if passes_on else parser.parse_intermixed_args)(arguments)
    _check_outputs(options)
    return int(load(f"{module}:run")(options))


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse to write over a file that another option or argument names, or two results into one file.

    Raises:
        ParameterError: naming the option.
    """
    named = [value for key, values in vars(options).items() if key not in _OUTPUTS for value in _texts(values)]
    inputs = {Path(name).resolve() for name in named if name != "-" and os.path.isfile(name)}  # noqa: PTH113  (a long text is no error)
    written: set[Path] = set()
    for key in _OUTPUTS:
        out = getattr(options, key, None)
        if not isinstance(out, str) or out == "-":
            continue
        flag = "-o" if key == "out" else f"--{key.replace('_', '-')}"
        if Path(out).resolve() in inputs:
            raise ParameterError(f"{flag} {out} would overwrite an input")
        if Path(out).resolve() in written:
            raise ParameterError(f"{flag} {out} is where another result goes")
        written.add(Path(out).resolve())


def _texts(values: object) -> list[str]:
    """The texts among the values of an option."""
    if isinstance(values, str):
        return [values]
    return [value for value in values if isinstance(value, str)] if isinstance(values, list | tuple) else []


def _mistyped_command(arguments: Sequence[str]) -> str:
    """A hint where a word that is neither a command nor a file was taken for the qrels."""
    first = arguments[0]
    if first in COMMANDS or first.startswith("-") or Path(first).exists():
        return ""
    hint = suggestion(first, COMMANDS)
    return hint.replace("did you mean", "or did you mean the command") if "did you mean" in hint else ""


def note(message: str) -> None:
    """Say something beside the results."""
    print(f"nuggeteval: {message}", file=sys.stderr)


def progress_bar(what: str, quiet: bool) -> Callable[[int, int], None] | None:
    """A count on stderr, where somebody watches: called with (done, all)."""
    if quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        if done == total or done % max(1, total // 200) == 0:
            print(f"\r{done} of {total} {what}", end="\n" if done == total else "", file=sys.stderr)

    return show


def run_counter(runs: int, quiet: bool) -> Callable[[object], None] | None:
    """Count the runs that are done, where it takes a while."""
    show = progress_bar("runs", quiet or runs < _MANY)
    numbers = iter(range(1, runs + 1))
    return None if show is None else lambda _: show(next(numbers), runs)


def add_judge_options(parser: argparse.ArgumentParser, judges: Iterable[str]) -> None:
    """The options that every command with a judge has."""
    parser.add_argument("--judge", choices=tuple(judges), default="lexical", help="who judges (lexical)")
    parser.add_argument("--threshold", type=float, metavar="X", help="least score that is a yes (the judge's own)")
    parser.add_argument("--votes", type=int, default=1, metavar="N", help="ask a model N times; the majority counts")
    parser.add_argument("--per-call", type=int, metavar="K", help="nuggets in one call, for yesno (1) and support (10)")
    parser.add_argument("--quiet", action="store_true", help="no progress, warnings or summary on stderr")
    add_model_options(parser)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that may ask a language model."""
    add = parser.add_argument
    add("--dry-run", action="store_true", help="ask nobody; say how many calls and tokens it would take")
    model = parser.add_argument_group("language models")
    add = model.add_argument
    add("--model", metavar="NAME", help="model to ask (key in OPENAI_API_KEY); for nli a folder or a name on the hub")
    add("--base-url", metavar="URL", help="any OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...)")
    add("--model-id", metavar="ID", help="stands for the server in cache keys, so that caches can be shared")
    add("--prompt", metavar="FILE", help="another prompt, with the fields of ours")
    add("--temperature", type=float, default=0.0, metavar="X", help="of the model (0)")
    add("--seed", type=int, default=42, metavar="N", help="of the model (42)")
    add("--max-tokens", type=int, default=512, metavar="N", help="longest reply (512)")
    add("--concurrency", type=int, default=8, metavar="N", help="calls at a time (8)")
    add("--rpm", type=float, metavar="N", help="calls a minute")
    add("--budget", type=float, metavar="X", help="stop before X tokens (or money, with --price) could be exceeded")
    add("--price", type=float, nargs=2, metavar=("IN", "OUT"), help="of a million tokens in and out")
    add("--cache", metavar="FILE", help="keep replies in this file")
    add("--offline", action="store_true", help="answer from the cache alone")
    add("--batch-out", metavar="FILE", help="ask nobody; write what is not in the cache as a batch (OpenAI's form)")
    add("--batch-in", metavar="FILE", help="results of a batch, taken into the cache first")


def make_chat(options: argparse.Namespace) -> Chat | None:
    """The door to the language model that the options name; None without one.

    Raises:
        JudgeError: no key.
        ParameterError: an impossible number.
    """
    from nuggeteval.cache import Cache
    from nuggeteval.chat import Chat, Settings
    from nuggeteval.judges import CHATTING

    if not options.model or getattr(options, "judge", CHATTING[0]) not in CHATTING:
        return None

    for name in ("concurrency", "rpm", "max_tokens"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise ParameterError(f"{name.replace('_', '-')} must be above 0 (got {value})")
    settings = Settings(
        model=options.model,
        base_url=options.base_url,
        model_id=options.model_id,
        temperature=options.temperature,
        seed=options.seed,
        max_tokens=options.max_tokens,
        concurrency=options.concurrency,
        rpm=options.rpm,
        budget=options.budget,
        prices=tuple(options.price) if options.price else None,
        offline=options.offline or options.dry_run,
        batch_out=None if options.dry_run else options.batch_out,
    )
    if options.batch_out and not options.cache:
        raise ParameterError("the results of --batch-out come back into a cache: --cache FILE")
    # A dry run reads what is there, and makes nothing.
    cache = Cache(None if options.dry_run and not Path(options.cache or "").is_file() else options.cache)
    if options.batch_in and not options.dry_run:
        _take_batch(options, cache)
    return Chat(settings, cache)


def _take_batch(options: argparse.Namespace, cache: Cache) -> None:
    """Put the results of a batch into the cache.

    Raises:
        ParameterError: there is no cache.
    """
    from nuggeteval.batch import read_results
    from nuggeteval.files import json_records, read_bytes

    if not options.cache:
        raise ParameterError("--batch-in fills a cache: --cache FILE")
    raw = read_bytes(options.batch_in)
    failed = 0
    for key, reply in read_results(record for _, record in json_records(raw, options.batch_in)):
        if reply is None:
            failed += 1
        else:
            cache.put(key, reply)
    if failed:
        note(f"warning: {options.batch_in}: {failed} questions have no reply, and are asked again")


def in_batch(chat: Chat | None, options: argparse.Namespace) -> bool:
    """Whether questions wait in a batch, so that nothing is whole yet; says what to do with it."""
    if chat is None or not chat.batched:
        return False
    note(f"{chat.batched} questions are in {options.batch_out}; come back with --batch-in RESULTS and the same options")
    return True


def judge_for(options: argparse.Namespace, view: str, texts: Sequence[str], chat: Chat | None) -> Judge:
    """The judge that the options name, for a view and the texts of a bank.

    Raises:
        UnknownNameError, ParameterError, MissingDependencyError: as :func:`nuggeteval.judges.make`.
    """
    from nuggeteval.judges import make

    model = None if chat else options.model
    if chat is None and (options.batch_out or options.batch_in):
        raise ParameterError(f"the {options.judge} judge asks no language model: there is no batch")
    prompt = read_prompt(options)
    words = getattr(options, "words", None)
    return make(
        options.judge, view, texts, options.threshold, chat, options.votes, prompt, model, options.per_call, words=words
    )


def read_prompt(options: argparse.Namespace) -> str | None:
    """The prompt that the options name."""
    if not options.prompt:
        return None
    from nuggeteval.files import read_bytes
    from nuggeteval.ids import decode

    return decode(read_bytes(options.prompt))


def check_output(path: str | None) -> None:
    """Find out before any work whether there is a place for a result.

    Raises:
        FormatError: no such folder, or the path is a folder itself.
    """
    if not path or path == "-":
        return
    if not Path(path).parent.is_dir():
        raise FormatError(path, "cannot be written: there is no such folder")
    if Path(path).is_dir():
        raise FormatError(path, "cannot be written: it is a folder")


def checked_tag(tag: str) -> str:
    """A run tag as it is.

    Raises:
        ParameterError: it is empty or has white space.
    """
    if tag.split() != [tag]:
        raise ParameterError(f"a tag must not be empty or have white space (got {tag!r})")
    return tag


def make_folder(folder: Path) -> None:
    """Make the folder that results go to.

    Raises:
        FormatError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(str(folder), f"no folder, and cannot be made one: {error.strerror or error}") from error


def write_bytes(content: bytes, out: str) -> None:
    """Write a figure.

    Raises:
        FormatError: the file cannot be written.
    """
    try:
        Path(out).write_bytes(content)
    except OSError as error:
        raise FormatError(out, f"cannot be written: {error.strerror or error}") from error


def write_lines(lines: Iterable[str], out: str | None) -> None:
    """Write results to a file, or to stdout.

    Raises:
        FormatError: the file cannot be written.
    """
    if out is None:
        sys.stdout.writelines(lines)
    else:
        from nuggeteval.files import write_text

        write_text(out, "".join(lines))
