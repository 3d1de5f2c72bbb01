"""nuggeteval judge BANK ANSWERS... -o JUDGMENTS: judge the units of answers against a bank."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from nuggeteval.cli import add_judge_options, in_batch, judge_for, make_chat, note, progress_bar
from nuggeteval.data import Unit
from nuggeteval.errors import ParameterError, listed
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.judgments import read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.trec import read_run
from nuggeteval.judges import TABLE, Judge
from nuggeteval.judges.replay import ReplayJudge
from nuggeteval.judging import judge_units
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
  nuggeteval judge BANK.jsonl ANSWERS --judge replay --replay published.jsonl -o judgments.jsonl
  nuggeteval score --judgments judgments.jsonl --bank BANK.jsonl responses.json -m Recall_NtR

Judgments of documents score runs once they are qrels: nuggeteval convert judgments.jsonl QRELS --to qrels.
Judgments are appended as they come; a call that was killed goes on where it was.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s BANK ANSWERS... --view VIEW -o FILE\n"
        "       %(prog)s BANK DOCUMENTS... --view documents --pool RUN... -o FILE"
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank with texts")
    add("units", metavar="ANSWERS", nargs="+", help="answer files or folders of them; files of documents")
    add("--view", choices=(*ANSWER_VIEWS, "documents"), default="responses", help="what is judged (responses)")
    add("--pool", metavar="RUN", nargs="+", default=[], help="runs whose documents are judged")
    add("--depth", type=int, metavar="N", help="only the first N documents of each topic of a run")
    add("-o", "--out", metavar="FILE", required=True, help="judgments file, appended to")
    add("--replay", metavar="FILE", help="judgments to say again where texts are the same: --judge replay")
    add_judge_options(parser, (*TABLE, "replay"))


def run(options: argparse.Namespace) -> int:
    """Judge one view."""
    bank = read_bank(options.bank).without_blank()
    units = _documents(options) if options.view == "documents" else _answers(options)
    chat = make_chat(options)
    judge = _replay(options) if options.judge == "replay" else judge_for(options, options.view, bank.texts(), chat)
    show = progress_bar("verdicts", options.quiet)
    outcome = judge_units(units, {options.out: bank}, judge, options.view, show, options.dry_run)
    if chat and not options.quiet:
        note(str(chat.ledger))
    in_batch(chat, options)
    if not options.quiet:
        for message in (*bank.notes, *outcome.notes(options.view)):
            note(message)
    return 0


def _replay(options: argparse.Namespace) -> Judge:
    if not options.replay:
        raise ParameterError("the replay judge says again what a file of judgments says: --replay FILE")
    records = [record for record in read_judgments(options.replay) if record[0].view == options.view]
    return ReplayJudge(records, Path(options.replay).name)


def _answers(options: argparse.Namespace) -> Iterator[Unit]:
    if options.pool or options.depth is not None:
        raise ParameterError("--pool and --depth choose documents: --view documents")
    return units_of(read_answers(options.units), options.view)


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
