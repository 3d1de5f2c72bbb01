"""nuggeteval judge BANK ANSWERS... -o JUDGMENTS: judge the units of answers against a bank."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from nuggeteval.chat import Chat
from nuggeteval.cli import add_judge_options, in_batch, judge_for, make_chat, note, progress_bar
from nuggeteval.data import Unit
from nuggeteval.errors import ParameterError, listed
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.judgments import read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.topics import read_queries
from nuggeteval.formats.trec import read_run
from nuggeteval.grounding import cited_documents, judge_sources
from nuggeteval.judges import ANSWER_JUDGES, TABLE, Judge
from nuggeteval.judges.replay import ReplayJudge
from nuggeteval.judging import Outcome, judge_units
from nuggeteval.units import ANSWER_VIEWS, document_units, pool_of, units_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval judge qrels/demo.bank.jsonl runs/answers-*.jsonl --view responses -o judgments.jsonl
  nuggeteval judge BANK.jsonl responses.json --judge lexical --threshold 0.5 -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge nli --view nuggets -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge yesno --model gpt-4o --cache replies.db --dry-run -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge yesno --model NAME --cache replies.db --batch-out batch.jsonl -o j.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge yesno --model NAME --cache replies.db --batch-in results.jsonl -o j.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge support --model NAME --base-url http://localhost:8000/v1 -o j.jsonl
  nuggeteval judge BANK.jsonl DOCUMENTS.jsonl --view documents --pool RUN... --depth 20 -o judgments.jsonl
  nuggeteval judge GOLD.jsonl ANSWERS --judge llmeval --queries TOPICS --model NAME --cache replies.db -o llmeval.jsonl
  nuggeteval judge DOCUMENTS.jsonl ANSWERS --judge groundedness --words 300 --model NAME -o groundedness.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge replay --replay published.jsonl -o judgments.jsonl
  nuggeteval score --judgments judgments.jsonl --bank BANK.jsonl responses.json -m Recall_NtR

llmeval: does a response give what the gold answer to the question says? GOLD is a bank of gold answers; lines of
{"topic", "text"} are one. groundedness: do the documents that a response cites say all that it says (1 = grounded)? In
place of the bank are the documents; an answer that cites nothing is not grounded, one whose documents have no text
fails. Each needs a judgments file of its own.

Judgments of documents score runs once they are qrels: nuggeteval convert judgments.jsonl QRELS --to qrels.
Judgments are appended as they come; a call that was killed goes on where it was.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s BANK ANSWERS... --view VIEW -o FILE\n"
        "       %(prog)s BANK DOCUMENTS... --view documents --pool RUN... -o FILE\n"
        "       %(prog)s GOLD ANSWERS... --judge llmeval --queries FILE --model NAME -o FILE\n"
        "       %(prog)s DOCUMENTS ANSWERS... --judge groundedness --model NAME -o FILE"
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank with texts; documents for groundedness")
    add("units", metavar="ANSWERS", nargs="+", help="answer files or folders of them; files of documents")
    add("--view", choices=(*ANSWER_VIEWS, "documents"), default="responses", help="what is judged (responses)")
    add("--pool", metavar="RUN", nargs="+", default=[], help="runs whose documents are judged")
    add("--depth", type=int, metavar="N", help="only the first N documents of each topic of a run")
    add("-o", "--out", metavar="FILE", required=True, help="judgments file, appended to")
    add("--replay", metavar="FILE", help="judgments to say again where texts are the same: --judge replay")
    add("--queries", metavar="FILE", help="what was asked: --judge llmeval")
    add("--words", type=int, metavar="N", help="first words of a document that are shown: --judge groundedness (300)")
    add_judge_options(parser, (*TABLE, *ANSWER_JUDGES, "replay"))


def run(options: argparse.Namespace) -> int:
    """Judge one view."""
    _check_own(options)
    chat = make_chat(options)
    outcome, notes = _sources(options, chat) if options.judge == "groundedness" else _units(options, chat)
    if chat and not options.quiet:
        note(str(chat.ledger))
    in_batch(chat, options)
    if not options.quiet:
        for message in (*notes, *outcome.notes(options.view)):
            note(message)
    return 0


def _check_own(options: argparse.Namespace) -> None:
    """Refuse the options of one judge beside another, and the judge of questions without them."""
    if options.queries and options.judge != "llmeval":
        raise ParameterError(f"the {options.judge} judge is not shown what was asked: --queries is for llmeval")
    if options.judge == "llmeval" and not options.queries:
        raise ParameterError("the llmeval judge is shown what was asked: --queries FILE")
    if options.words is not None and options.judge != "groundedness":
        raise ParameterError(f"the {options.judge} judge reads no documents: --words is for groundedness")


def _units(options: argparse.Namespace, chat: Chat | None) -> tuple[Outcome, tuple[str, ...]]:
    """Judge units against a bank; what was done, and what is to be said of the bank."""
    bank = read_bank(options.bank).without_blank()
    units = _documents(options) if options.view == "documents" else _answers(options)
    judge = _replay(options) if options.judge == "replay" else judge_for(options, options.view, bank.texts(), chat)
    show = progress_bar("verdicts", options.quiet)
    queries = read_queries(options.queries, titled=True) if options.queries else None
    outcome = judge_units(units, {options.out: bank}, judge, options.view, show, options.dry_run, queries)
    return outcome, bank.notes


def _sources(options: argparse.Namespace, chat: Chat | None) -> tuple[Outcome, tuple[str, ...]]:
    """Judge responses against the documents that they cite."""
    judge = judge_for(options, options.view, (), chat)
    _check_no_pool(options)
    answers = read_answers(options.units)
    texts = read_documents([options.bank], {document for answer in answers for document in cited_documents(answer)})
    show = progress_bar("verdicts", options.quiet)
    return judge_sources(answers, texts, judge, options.out, show, options.dry_run), ()


def _replay(options: argparse.Namespace) -> Judge:
    if not options.replay:
        raise ParameterError("the replay judge says again what a file of judgments says: --replay FILE")
    records = [record for record in read_judgments(options.replay) if record[0].view == options.view]
    return ReplayJudge(records, Path(options.replay).name)


def _answers(options: argparse.Namespace) -> Iterator[Unit]:
    _check_no_pool(options)
    return units_of(read_answers(options.units), options.view)


def _check_no_pool(options: argparse.Namespace) -> None:
    if options.pool or options.depth is not None:
        raise ParameterError("--pool and --depth choose documents: --view documents")


def _documents(options: argparse.Namespace) -> Iterator[Unit]:
    """The documents that the runs pool; those without a text are named."""
    if not options.pool:
        raise ParameterError("documents are judged for the topics that runs have them for: --pool RUN...")
    pool = pool_of((read_run(path) for path in options.pool), options.depth)
    wanted = {document for documents in pool.values() for document in documents}
    texts = read_documents(options.units, wanted)
    missing = sorted(document for document in wanted if not texts.get(document, "").strip())
    if missing and not options.quiet:
        count = f"{len(missing)} of {len(wanted)} pooled documents"
        note(f"warning: {count} have no text, and are not judged: {listed(missing)}")
    return document_units(pool, texts)
