"""nuggeteval generate lancer: rerank for nugget coverage, by a language model, by word overlap, or from ratings."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from nuggeteval.aggregation import PUBLISHED, STRATEGIES, strategy_name
from nuggeteval.chat import Chat
from nuggeteval.cli import add_model_options, in_batch, make_chat, make_folder, note, progress_bar, read_prompt
from nuggeteval.data import Unit
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.files import read_bytes, stem, write_text
from nuggeteval.formats.documents import read_documents
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
    read_questions,
    write_questions,
)
from nuggeteval.ids import decode
from nuggeteval.judges import make
from nuggeteval.judging import judge_units
from nuggeteval.options import whole
from nuggeteval.ratings import read_ratings
from nuggeteval.units import document_units

__all__ = ["add_arguments", "run"]

_JUDGES = ("rubric", "lexical", "hybrid")
_NUMBER = 2
"""Sub-questions of a topic (section 5.1 of the paper)."""

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
    add("--queries", metavar="FILE", help="requests: title, problem statement and background all count")
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
    candidates = candidates_of(read_run(options.first), options.depth, options.order)
    source = options.ratings
    if source is None:
        source = _rate(options, candidates)
        if source is None:
            return 0
    ratings, ids = read_ratings(source, candidates)
    if options.ratings and options.n:
        ids = {topic: names[: options.n] for topic, names in ids.items()}
        ratings = {t: {document: row[: options.n] for document, row in rows.items()} for t, rows in ratings.items()}
    messages = unrated_notes(candidates, ratings, source, options.unrated == "error")
    texts = _known_questions(options)
    for strategy in strategies:
        reranked = rerank(candidates, ratings, strategy)
        tag = options.tag or _tag(strategy, options)
        path = (
            Path(options.out) / f"{stem(options.first)}.lancer-{strategy}.run" if len(strategies) > 1 else options.out
        )
        write_run(as_run(reranked.rankings, tag), str(path))
        if options.trace:
            questions = {
                topic: [(name, text) for name, text in zip(names, texts.get(topic, [""] * len(names)), strict=False)]
                for topic, names in ids.items()
            }
            write_text(options.trace, "".join(trace_lines(reranked, candidates, ratings, questions)))
    for message in () if options.quiet else messages:
        note(f"warning: {message}")
    return 0


def _strategies(options: argparse.Namespace) -> list[str]:
    """The aggregations that the options name, with their tau.

    Raises:
        ParameterError: an unknown one; a trace or a tag of several.
    """
    names = [name for text in options.aggregate or ["sum"] for name in text.split(",")]
    names = [one for name in names for one in ((*PUBLISHED, "soft-cov") if name == "all" else (name,))]
    found: dict[str, None] = {}
    for name in names:
        base, tau = strategy_name(name, options.tau if name in _TAKES_TAU else None)
        found[f"{base}-{tau}" if base.startswith("greedy") or tau > 1 else base] = None
    if len(found) > 1:
        if options.trace or options.tag:
            raise ParameterError("--trace and --tag are of one aggregation")
        make_folder(Path(options.out))
    return list(found)


_TAKES_TAU = ("sum", "greedy-sum", "greedy-cov", "greedy-alpha")


def _tag(strategy: str, options: argparse.Namespace) -> str:
    kind = ":oracle" if options.oracle else ""
    asked = "" if options.oracle or options.ratings else f":nq_{options.n or _NUMBER}"
    return f"lancer{kind}:agg_{strategy}{asked}"


def _known_questions(options: argparse.Namespace) -> Mapping[str, list[str]]:
    """The texts of the sub-questions, where a file has them."""
    kept = _keep(options) / "questions.json"
    path = options.oracle or options.questions or (str(kept) if kept.exists() and not options.ratings else None)
    return read_questions(path, None if options.oracle else options.n).texts if path else {}


def _keep(options: argparse.Namespace) -> Path:
    return Path(options.keep or f"{options.out.rstrip('/')}.stages")


def _rate(options: argparse.Namespace, candidates: Candidates) -> str | None:
    """Stages 1 and 2; the file of ratings, or None where questions wait in a batch or nobody was to be asked."""
    if not options.documents:
        raise ParameterError("candidates are rated by their texts: --documents FILE; or --ratings FILE")
    options.judge = options.judge or ("rubric" if options.model else None)
    if options.judge is None:
        raise ParameterError("who rates: --model NAME (a language model), or --judge lexical, which needs none")
    chat = make_chat(options)
    requests = _requests(options, candidates)
    if not options.dry_run:
        make_folder(_keep(options))
    questions = _questions(options, requests, chat)
    if questions is None or in_batch(chat, options):
        return None
    prefix = requests if chat is not None and not options.oracle else None
    bank = as_question_bank(questions.texts, "sub-questions", prefix)
    units = _units(options, candidates)
    if chat is None:
        judge = make(options.judge, "documents", [unit.text for unit in units], rating=True)
    else:
        judge = make(options.judge, "documents", bank.texts(), None, chat, prompt=read_prompt(options))
    path = str(_keep(options) / "ratings.jsonl")
    show = progress_bar("ratings", options.quiet)
    outcome = judge_units(units, {path: bank}, judge, "documents", show, options.dry_run)
    if not options.quiet:
        for message in (*(f"{topic}: {why}" for topic, why in questions.short.items()), *outcome.notes("documents")):
            note(message)
        if chat:
            note(str(chat.ledger))
    return None if options.dry_run or in_batch(chat, options) else path


def _requests(options: argparse.Namespace, candidates: Candidates) -> dict[str, str]:
    """The requests of the topics of the run; empty where the gold nuggets are asked alone."""
    if not options.queries:
        if options.oracle:
            return {}
        raise ParameterError("sub-questions are of a request: --queries FILE; or --oracle BANK")
    requests = read_queries(options.queries)
    missing = [topic for topic in candidates if topic not in requests]
    if len(missing) == len(candidates):
        raise DataError(
            f"no topic in common: {options.queries} has {listed(list(requests))}; the run has {listed(missing)}"
        )
    if missing and not options.quiet:
        note(f"warning: topics without a request keep the order of the first stage: {listed(missing)}")
    return {topic: text for topic, text in requests.items() if topic in candidates}


def _questions(options: argparse.Namespace, requests: dict[str, str], chat: Chat | None) -> Questions | None:
    """Stage 1: from a file, from an earlier call, or made and kept; None where they wait in a batch."""
    if options.oracle or options.questions:
        found = read_questions(options.oracle or options.questions, None if options.oracle else options.n)
        return Questions({t: q for t, q in found.texts.items() if options.oracle or t in requests}, found.short)
    prompt = decode(read_bytes(options.question_prompt)) if options.question_prompt else None
    path, made = _keep(options) / "questions.json", _keep(options) / "settings.json"
    number = options.n or _NUMBER
    settings = _settings(requests, number, chat, prompt)
    if path.exists() and made.exists():
        if json.loads(made.read_text(encoding="utf-8")) != settings:
            raise DataError(f"{path} was made of other requests or with other options: choose another --keep")
        return read_questions(str(path))
    if chat is None:
        found = by_rule(requests, number)
    elif options.dry_run:
        note(f"sub-questions: {len(requests)} calls; the ratings below are counted for {number} a topic")
        return Questions({topic: [f"question {place}" for place in range(number)] for topic in requests}, {})
    else:
        found = by_model(requests, number, chat, prompt)
    if chat is not None and chat.batched:
        return found
    if not found.texts:
        why = "; ".join(f"{topic}: {reason}" for topic, reason in [*found.short.items()][:3])
        raise DataError(f"no topic has a sub-question ({why})")
    if not options.dry_run:
        write_text(str(path), write_questions(found.texts))
        write_bank(as_question_bank(found.texts, "sub-questions"), str(_keep(options) / "questions.bank.jsonl"))
        write_text(str(made), json.dumps(settings, sort_keys=True) + "\n")
    return found


def _settings(requests: Mapping[str, str], number: int, chat: Chat | None, prompt: str | None) -> dict[str, object]:
    """All that sub-questions depend on."""
    digest = hashlib.sha256(json.dumps([sorted(requests.items()), prompt]).encode("utf-8", "surrogatepass")).hexdigest()
    model = None if chat is None else [chat.settings.model, chat.settings.host, chat.settings.temperature]
    return {"requests": digest, "n": number, "model": model}


def _units(options: argparse.Namespace, candidates: Candidates) -> list[Unit]:
    """The candidates with their texts; those without are named, long ones cut and counted."""
    wanted = {document for documents in candidates.values() for document in documents}
    texts = read_documents(options.documents, wanted)
    missing = sorted(document for document in wanted if not texts.get(document, "").strip())
    cut = 0
    for document, text in texts.items():
        words = text.split()
        if len(words) > options.words:
            texts[document] = " ".join(words[: options.words])
            cut += 1
    if len(missing) == len(wanted):
        raise DataError(f"no candidate has a text in {listed(options.documents)}: {listed(missing)}")
    if missing and not options.quiet:
        note(f"warning: {len(missing)} of {len(wanted)} candidates have no text and count 0: {listed(missing)}")
    if cut and not options.quiet:
        note(f"warning: {cut} documents are cut to their first {options.words} words")
    return list(document_units(candidates, texts))
