"""nuggeteval generate lancer: rerank for nugget coverage, by a language model, by word overlap, or from ratings."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nuggeteval.aggregation import PUBLISHED, STRATEGIES, full_name
from nuggeteval.chat import Chat
from nuggeteval.cli import (
    add_model_options,
    check_output,
    checked_tag,
    in_batch,
    make_chat,
    make_folder,
    note,
    progress_bar,
    read_prompt,
)
from nuggeteval.data import Nugget, Unit
from nuggeteval.errors import DataError, FormatError, JudgeError, ParameterError, listed, shorten
from nuggeteval.files import json_object, read_bytes, stem, write_text
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.judgments import read_judgments
from nuggeteval.formats.nuggets import write_bank
from nuggeteval.formats.topics import read_queries
from nuggeteval.formats.trec import read_run, write_run
from nuggeteval.generators import Candidates, as_run, candidates_of
from nuggeteval.generators.lancer import rerank, trace_lines, unrated_notes
from nuggeteval.generators.questions import (
    Questions,
    as_question_bank,
    by_model,
    by_rule,
    question_prompt,
    read_questions,
    write_questions,
)
from nuggeteval.ids import decode
from nuggeteval.judges import CHATTING, make
from nuggeteval.judging import judge_units
from nuggeteval.options import whole
from nuggeteval.ratings import Ratings, of_questions, read_ratings
from nuggeteval.text import first_words, natural
from nuggeteval.units import document_units

__all__ = ["add_arguments", "run"]

_JUDGES = ("rubric", "lexical", "hybrid")
_NUMBER = 2
"""Sub-questions of a topic (section 5.1 of the paper)."""

_QUESTIONS, _BANK, _SETTINGS, _RATINGS = "questions.json", "questions.bank.jsonl", "settings.json", "ratings.jsonl"
"""What is kept."""

_EXAMPLES = f"""
examples:
  nuggeteval generate lancer --run runs/demo-keyword.run --queries qrels/demo.topics.jsonl \\
      --documents qrels/demo.documents.jsonl --judge lexical -o lancer.run
  nuggeteval generate lancer --run FIRST.run --queries T.jsonl --documents D.jsonl --model NAME --cache c.db -o OUT.run
  nuggeteval generate lancer --run FIRST.run --ratings R.json --aggregate greedy-cov --tau 3 -o OUT.run
  nuggeteval generate lancer --run FIRST.run --ratings R.json --aggregate all -o out/
  nuggeteval generate lancer ... --oracle BANK.jsonl --trace trace.jsonl

Three stages, each from a file or made and kept: sub-questions (--questions), ratings from 0 to 5 of every candidate
(--ratings: judgments, CRUX's judge lines, or LANCER's own file without document ids), aggregation. What is made is
kept in --keep (OUT.stages): questions.json, questions.bank.jsonl and ratings.jsonl, judgments that are appended as they
come; a call that was killed goes on where it was. Without a language model (--judge lexical or hybrid) the
sub-questions are sentences and clauses of the request.

aggregations, -N for a least rating N:
{chr(10).join(f"  {name:<13} {text}" for name, (_, text) in STRATEGIES.items())}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s --run FIRST.run --queries T --documents D --model NAME -o OUT.run\n"
        "       %(prog)s --run FIRST.run --ratings R.json [--aggregate NAME] -o OUT.run"
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--run", dest="first", metavar="FILE", required=True, help="first-stage run: the candidates")
    add("--depth", type=whole(1), default=100, metavar="N", help="candidates of each topic (100)")
    add("--order", choices=("score", "rank"), default="score", help="what the first stage's order is (score)")
    add("--queries", metavar="FILE", help="requests: problem statement and background, and the title for a model")
    add("--documents", metavar="FILE", nargs="+", default=[], help="texts of the candidates")
    add(
        "--n",
        type=whole(1, 100),
        metavar="N",
        help="sub-questions of a topic (2); of those in a file, the first N (all)",
    )
    add("--questions", metavar="FILE", help="sub-questions: {topic: [..]} or a bank, instead of asking for them")
    add("--oracle", metavar="BANK", help="gold nuggets as sub-questions, all of them, asked without the request")
    add("--ratings", metavar="FILE", help="ratings that are there already: nobody is asked")
    add("--unrated", choices=("error", "zero"), default="error", help="candidates without a rating (error)")
    add("--aggregate", metavar="NAME", action="append", help="see below; all: every published one, and soft-cov (sum)")
    add("--tau", type=whole(1, 5), metavar="N", help="least rating that counts, where the name does not say (1)")
    add(
        "--words",
        type=whole(1),
        default=4_000,
        metavar="N",
        help="longer documents are cut to their first N words (4000)",
    )
    add("--judge", choices=_JUDGES, help="who rates: rubric (a language model), or lexical, hybrid without one")
    add("--question-prompt", metavar="FILE", help="another prompt for sub-questions, with {request} and {number}")
    add("--keep", metavar="DIR", help="folder for questions and ratings (OUT.stages)")
    add("--trace", metavar="FILE", help="JSON lines: for each rank its ratings and what it added")
    add("--tag", metavar="TAG", help="run tag (lancer:agg_NAME:nq_N)")
    add("-o", "--out", metavar="FILE", required=True, help="the run; a folder for several aggregations")
    add("--quiet", action="store_true", help="no progress, warnings or summary on stderr")
    add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    """The three stages, as far as files do not stand for them."""
    strategies = _strategies(options)
    _check(options, strategies)
    whole = candidates_of(read_run(options.first), None, options.order)
    candidates = {topic: documents[: options.depth] for topic, documents in whole.items()}
    rated = _read(options, whole) if options.ratings else _rate(options, candidates)
    if rated is None:
        return 0
    if options.dry_run:
        note("dry run: the ratings are there, and nobody would be asked")
        return 0
    messages = unrated_notes(candidates, rated.ratings, rated.source, rated.strict, rated.reason)
    if len(strategies) > 1:
        make_folder(Path(options.out))
    for strategy in strategies:
        reranked = rerank(candidates, rated.ratings, strategy)
        write_run(as_run(reranked.rankings, _tag(options, strategy, rated)), _path(options, strategy, strategies))
        if options.trace:
            lines = trace_lines(reranked, candidates, rated.ratings, rated.ids, rated.texts)
            write_text(options.trace, "".join(lines))
    for message in () if options.quiet else messages:
        note(f"warning: {message}")
    return 0


class _Basis(NamedTuple):
    """Ratings, what they are of, and what is to be said of them."""

    ratings: Ratings
    ids: Mapping[str, Sequence[str]]
    texts: Mapping[str, Mapping[str, str]]
    source: str
    strict: bool
    reason: str = ""


# --- what the options say -------------------------------------------------------------------------------------------


def _strategies(options: argparse.Namespace) -> list[str]:
    """The aggregations that the options name, with their tau.

    Raises:
        ParameterError: an unknown one, an impossible tau; a trace or a tag of several.
    """
    found: dict[str, None] = {}
    for name in [name for text in options.aggregate or ["sum"] for name in text.split(",")]:
        if name == "all" and options.tau is not None:
            raise ParameterError("--aggregate all has every tau: --tau says nothing")
        found |= dict.fromkeys((*PUBLISHED, "soft-cov") if name == "all" else [full_name(name, options.tau)])
    if len(found) > 1 and (options.trace or options.tag):
        raise ParameterError("--trace and --tag are of one aggregation")
    return list(found)


_ASKING = ("model", "prompt", "question_prompt", "batch_out", "batch_in")
_USELESS: dict[str, tuple[str, ...]] = {
    "ratings": ("judge", *_ASKING),
    "oracle": ("questions", "n", "question_prompt"),
    "questions": ("question_prompt",),
}
"""Option -> options that say nothing beside it."""


def _check(options: argparse.Namespace, strategies: Sequence[str]) -> None:
    """Find out before any work whether the options fit together, and whether there is a place for the results.

    Raises:
        ParameterError: options that contradict each other, or would overwrite what is kept.
        FormatError: no place for a result.
    """
    pairs = [(f"--{given}", useless) for given, useless in _USELESS.items() if getattr(options, given)]
    pairs += [(f"--judge {options.judge}", _ASKING)] if options.judge and options.judge not in CHATTING else []
    for given, useless in pairs:
        for name in useless:
            if getattr(options, name) is not None and not (name == "n" and options.ratings):
                raise ParameterError(f"--{name.replace('_', '-')} says nothing beside {given}")
    if options.out == "-" and not (options.keep or options.ratings or options.dry_run):
        raise ParameterError("what is made before the run is kept: -o FILE, or --keep DIR beside -o -")
    if not options.ratings and _keep(options).exists() and not _keep(options).is_dir():
        raise FormatError(str(_keep(options)), "--keep is a folder, and this is a file")
    kept = {(_keep(options) / name).resolve() for name in (_QUESTIONS, _BANK, _SETTINGS, _RATINGS)}
    for path in (options.out, options.trace):
        if path and path != "-" and Path(path).resolve() in kept:
            raise ParameterError(f"{path} would overwrite what --keep holds")
    if len(strategies) == 1:
        check_output(options.out)
    elif options.out == "-":
        raise ParameterError("several aggregations go to a folder, and not to stdout")
    elif Path(options.out).exists() and not Path(options.out).is_dir():
        raise FormatError(options.out, "several aggregations go to a folder, and this is a file")
    check_output(options.trace)
    checked_tag("lancer" if options.tag is None else options.tag)


def _keep(options: argparse.Namespace) -> Path:
    return Path(options.keep or f"{options.out.rstrip('/')}.stages")


def _path(options: argparse.Namespace, strategy: str, strategies: Sequence[str]) -> str:
    first = "stdin" if options.first == "-" else stem(options.first)
    return str(Path(options.out) / f"{first}.lancer-{strategy}.run") if len(strategies) > 1 else str(options.out)


def _tag(options: argparse.Namespace, strategy: str, rated: _Basis) -> str:
    """The tag of the run: the aggregation, and the most questions of a topic, where they are no gold nuggets."""
    if options.tag is not None:
        return str(options.tag)
    kind = ":oracle" if options.oracle else ""
    number = max(map(len, rated.ids.values()), default=0)
    return f"lancer{kind}:agg_{strategy}{'' if options.oracle or options.ratings else f':nq_{number}'}"


# --- ratings ----------------------------------------------------------------------------------------------------------


def _read(options: argparse.Namespace, whole: Candidates) -> _Basis:
    """Ratings that exist: all, the first of each topic, or those against the questions of a file."""
    strict = options.unrated == "error"
    rated = read_ratings(options.ratings, whole, options.depth)
    path = options.oracle or options.questions
    if not path:
        first = {topic: names[: options.n] for topic, names in rated.ids.items()}
        return _Basis(*of_questions(rated.ratings, rated.ids, first), {}, options.ratings, strict)
    questions = read_questions(path)
    ids = rated.ids if rated.named else _by_place(rated.ids, questions, options.ratings, path)
    wanted = {topic: names[: options.n] for topic, names in questions.ids.items()}
    ratings, kept = of_questions(rated.ratings, ids, wanted)
    if not kept:
        raise DataError(f"{options.ratings} has no rating against a question of {path}: the ids differ")
    return _Basis(ratings, kept, questions.by_id, options.ratings, strict)


def _by_place(
    ids: Mapping[str, Sequence[str]], questions: Questions, ratings: str, path: str
) -> Mapping[str, Sequence[str]]:
    """The ids of questions that ratings have by place alone.

    Raises:
        DataError: a topic has as many ratings as it has not questions, or questions that are not in their order.
    """
    found = {}
    for topic, names in questions.ids.items():
        if topic not in ids:
            continue
        if len(names) != len(ids[topic]):
            raise DataError(
                f"topic {topic!r}: {ratings} has ratings against {len(ids[topic])} questions, which it does not name, "
                f"and {path} has {len(names)}"
            )
        if names != sorted(names, key=natural):
            raise DataError(f"topic {topic!r}: {ratings} does not name its questions, and {path} is in another order")
        found[topic] = names
    return found


def _rate(options: argparse.Namespace, candidates: Candidates) -> _Basis | None:
    """Stages 1 and 2; None where questions wait in a batch, or nobody was to be asked."""
    if not options.documents:
        raise ParameterError("candidates are rated by their texts: --documents FILE; or --ratings FILE")
    options.judge = options.judge or ("rubric" if options.model else None)
    if options.judge is None:
        raise ParameterError("who rates: --model NAME (a language model), or --judge lexical, which needs none")
    chat = make_chat(options)
    if chat is None and options.judge in CHATTING:
        raise ParameterError(f"the {options.judge} judge asks a language model: --model NAME")
    requests = _requests(options, candidates, chat)
    units = _units(options, candidates)
    questions = _questions(options, requests, chat)
    if questions is None or in_batch(chat, options):
        return None
    name = options.oracle or options.questions or "sub-questions"
    prefix = requests if chat is not None and not options.oracle else None
    bank = as_question_bank(questions, name, prefix)
    if chat is None:
        judge = make(options.judge, "documents", [unit.text for unit in units], rating=True)
    else:
        judge = make(options.judge, "documents", bank.texts(), None, chat, prompt=read_prompt(options))
    path = str(_keep(options) / _RATINGS)
    if not options.dry_run:
        make_folder(_keep(options))
    show = progress_bar("ratings", options.quiet)
    outcome = judge_units(units, {path: bank}, judge, "documents", show, options.dry_run)
    if options.dry_run or not options.quiet:
        for message in (*(f"{topic}: {why}" for topic, why in questions.short.items()), *outcome.notes("documents")):
            note(message)
        if chat:
            note(str(chat.ledger))
    if options.dry_run or in_batch(chat, options):
        return None
    # What is kept may hold questions of an earlier call; those of this one count.
    rated = read_ratings(path, candidates)
    return _Basis(
        *of_questions(rated.ratings, rated.ids, questions.ids), questions.by_id, path, False, _common_reason(path)
    )


def _common_reason(path: str) -> str:
    """Why most of the failed judgments failed."""
    reasons = Counter(judgment.reason for judgment, _ in read_judgments(path) if judgment.grade is None)
    return shorten(reasons.most_common(1)[0][0], 80) if reasons else ""


def _units(options: argparse.Namespace, candidates: Candidates) -> list[Unit]:
    """The candidates with their texts; those without are named, long ones cut and counted."""
    wanted = {document for documents in candidates.values() for document in documents}
    texts = read_documents(options.documents, wanted)
    missing = sorted(document for document in wanted if not texts.get(document, "").strip())
    kept = {document: first_words(text, options.words) for document, text in texts.items()}
    cut = sum(kept[document] != text for document, text in texts.items())
    if len(missing) == len(wanted):
        raise DataError(f"no candidate has a text in {listed(options.documents)}: {listed(missing)}")
    if missing and not options.quiet:
        note(f"warning: {len(missing)} of {len(wanted)} candidates have no text and count 0: {listed(missing)}")
    if cut and not options.quiet:
        note(f"warning: {cut} documents are cut to their first {options.words} words")
    return list(document_units(candidates, kept))


# --- sub-questions ----------------------------------------------------------------------------------------------------


def _requests(options: argparse.Namespace, candidates: Candidates, chat: Chat | None) -> dict[str, str]:
    """The requests of the topics of the run; empty where the gold nuggets are asked alone."""
    if not options.queries:
        if options.oracle:
            return {}
        raise ParameterError("sub-questions are of a request: --queries FILE; or --oracle BANK")
    # A title is no sentence that could be a sub-question by rule.
    requests = read_queries(options.queries, titled=chat is not None)
    missing = [topic for topic in candidates if topic not in requests]
    if len(missing) == len(candidates):
        raise DataError(
            f"no topic in common: {options.queries} has {listed(list(requests))}; the run has {listed(missing)}"
        )
    if missing and not options.quiet:
        note(f"warning: topics without a request keep the order of the first stage: {listed(missing)}")
    return {topic: text for topic, text in requests.items() if topic in candidates}


def _questions(options: argparse.Namespace, requests: dict[str, str], chat: Chat | None) -> Questions | None:
    """Stage 1: from a file, from an earlier call, or made and kept."""
    if options.oracle:
        return read_questions(options.oracle)
    if options.questions:
        found = read_questions(options.questions, options.n)
        return Questions({topic: asked for topic, asked in found.nuggets.items() if topic in requests}, found.short)
    prompt = decode(read_bytes(options.question_prompt)) if options.question_prompt else None
    template = question_prompt(prompt)
    number = options.n or _NUMBER
    settings = _settings(requests, number, chat, prompt)
    if _has_been_made(options, settings):
        return read_questions(str(_keep(options) / _QUESTIONS))
    if options.dry_run:
        return by_rule(requests, number) if chat is None else _foreseen(requests, number, chat, template)
    # What cannot be kept must not be asked for.
    make_folder(_keep(options))
    found = by_rule(requests, number) if chat is None else by_model(requests, number, chat, template)
    if chat is not None and chat.batched:
        return found
    if not found.nuggets:
        why = "; ".join(f"{topic}: {reason}" for topic, reason in [*found.short.items()][:3])
        raise DataError(f"no topic has a sub-question ({why})")
    # In this order: questions are there only with what they were made of.
    write_text(str(_keep(options) / _SETTINGS), json.dumps(settings, sort_keys=True) + "\n")
    write_bank(as_question_bank(found, "sub-questions"), str(_keep(options) / _BANK))
    write_text(str(_keep(options) / _QUESTIONS), write_questions(found.texts))
    return found


def _foreseen(requests: Mapping[str, str], number: int, chat: Chat, template: str) -> Questions:
    """The sub-questions of a dry run: those of the cache, if they are all there, else as many blanks."""
    try:
        return by_model(requests, number, chat, template)
    except JudgeError:
        note(f"sub-questions: {len(requests)} calls; the ratings below are counted for {number} a topic")
        blank = tuple(Nugget(str(place + 1), f"question {place}") for place in range(number))
        return Questions(dict.fromkeys(requests, blank), {})


def _has_been_made(options: argparse.Namespace, settings: Mapping[str, object]) -> bool:
    """Whether an earlier call kept these sub-questions.

    Raises:
        DataError: it made them of other requests or otherwise, or nobody knows.
    """
    path, made = _keep(options) / _QUESTIONS, _keep(options) / _SETTINGS
    if not path.exists():
        return False
    if not made.exists():
        raise DataError(f"{path} is there, but not what it was made of: name it as --questions, or another --keep")
    if json_object(made.read_bytes()) != settings:
        raise DataError(f"{path} was made of other requests or with other options ({made}): choose another --keep")
    return True


def _settings(requests: Mapping[str, str], number: int, chat: Chat | None, prompt: str | None) -> dict[str, object]:
    """All that sub-questions depend on."""
    digest = hashlib.sha256(json.dumps([sorted(requests.items()), prompt]).encode("utf-8", "surrogatepass")).hexdigest()
    model = None if chat is None else [chat.settings.model, chat.settings.host, chat.settings.temperature]
    return {"requests": digest, "n": number, "model": model}
