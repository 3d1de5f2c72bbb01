"""nuggeteval judge BANK ANSWERS... -o JUDGMENTS: judge the units of answers against a bank."""

from __future__ import annotations

import argparse

from nuggeteval.cli import add_judge_options, judge_for, make_chat, note, progress_bar
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.judges import TABLE
from nuggeteval.judging import judge_units
from nuggeteval.units import ANSWER_VIEWS, units_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval judge qrels/demo.bank.jsonl runs/answers-*.jsonl --view responses -o judgments.jsonl
  nuggeteval judge BANK.jsonl responses.json --judge lexical --threshold 0.5 -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge nli --view nuggets -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge yesno --model gpt-4o --cache replies.db --dry-run -o judgments.jsonl
  nuggeteval judge BANK.jsonl ANSWERS --judge support --model NAME --base-url http://localhost:8000/v1 -o j.jsonl
  nuggeteval score --judgments judgments.jsonl --bank BANK.jsonl responses.json -m Recall_NtR

Judgments are appended as they come; a call that was killed goes on where it was.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s BANK ANSWERS... --view VIEW -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank with texts")
    add("answers", metavar="ANSWERS", nargs="+", help="answer files or folders of them")
    add("--view", choices=ANSWER_VIEWS, default="responses", help="what is judged (responses)")
    add("-o", "--out", metavar="FILE", required=True, help="judgments file, appended to")
    add_judge_options(parser, TABLE)


def run(options: argparse.Namespace) -> int:
    """Judge one view."""
    bank = read_bank(options.bank).without_blank()
    units = units_of(read_answers(options.answers), options.view)
    chat = make_chat(options)
    judge = judge_for(options, options.view, bank.texts(), chat)
    show = progress_bar("verdicts", options.quiet)
    outcome = judge_units(units, {options.out: bank}, judge, options.view, show, options.dry_run)
    if chat and not options.quiet:
        note(str(chat.ledger))
    if not options.quiet:
        for message in (*bank.notes, *outcome.notes(options.view)):
            note(message)
    return 0
