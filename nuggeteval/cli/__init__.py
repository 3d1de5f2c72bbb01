"""The command line: parse, one call of the library, render. Results on stdout, all else on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from nuggeteval.errors import NuggetEvalError, ParameterError, UnknownNameError
from nuggeteval.registry import load, suggestion
from nuggeteval.version import __version__

__all__ = ["COMMANDS", "add_judge_options", "main", "note", "progress_bar", "write_lines"]

COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("nuggeteval.cli.score", "score runs against nugget qrels"),
    "answers": ("nuggeteval.cli.answers", "extract, judge and score answers against a nugget bank in one call"),
    "extract": ("nuggeteval.cli.extract", "clip nuggets out of answers"),
    "judge": ("nuggeteval.cli.judge", "judge units of answers against a nugget bank"),
    "agree": ("nuggeteval.cli.agree", "agreement of a judge with people"),
    "validate": ("nuggeteval.cli.validate", "list every problem of a run, qrels or nugget bank"),
    "measures": ("nuggeteval.cli.measures", "list the measures, or show one in full"),
}
"""Command -> (module with add_arguments and run, one line of help)."""

_USAGE = 2
_FAILED = 1
_INTERRUPTED = 130


def _top_parser() -> argparse.ArgumentParser:
    rows = "\n".join(f"  {name:<10} {summary}" for name, (_, summary) in COMMANDS.items())
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
    module, summary = COMMANDS[command]
    parser = argparse.ArgumentParser(
        prog=f"nuggeteval {command}", description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    load(f"{module}:add_arguments")(parser)
    code = int(load(f"{module}:run")(parser.parse_args(rest)))
    sys.stdout.flush()
    return code


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


def add_judge_options(parser: argparse.ArgumentParser, judges: Iterable[str]) -> None:
    """The options that every command with a judge has."""
    parser.add_argument("--judge", choices=tuple(judges), default="lexical", help="who judges (lexical)")
    parser.add_argument("--threshold", type=float, metavar="X", help="least score that is a yes (the judge's own)")
    parser.add_argument("--quiet", action="store_true", help="no progress, warnings or summary on stderr")


def write_lines(lines: Iterable[str], out: str | None) -> None:
    """Write results to a file, or to stdout.

    Raises:
        FormatError: the file cannot be written.
    """
    if out is None or out == "-":
        sys.stdout.writelines(lines)
    else:
        from nuggeteval.files import write_text

        write_text(out, "".join(lines))
