"""nuggeteval extract ANSWERS... -o NUGGETS: the nuggets of responses."""

from __future__ import annotations

import argparse
from dataclasses import replace

from nuggeteval.cli import note
from nuggeteval.extract import by_sentence
from nuggeteval.formats.answers import read_answers, write_nuggets

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval extract runs/answers-good.jsonl -o nuggets.jsonl

One line an answer: {"run", "topic", "nuggets": [texts]}. By sentence: as the system gave its sentences, else split by
rule (see docs/formats.md). The file is read beside the answers wherever nuggets are judged or scored.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s ANSWERS... -o FILE"
    parser.epilog = _EXAMPLES
    parser.add_argument("answers", metavar="ANSWERS", nargs="+", help="answer files or folders of them")
    parser.add_argument("--by", choices=("sentence",), default="sentence", help="how (sentence)")
    parser.add_argument("-o", "--out", metavar="FILE", required=True, help="where to")


def run(options: argparse.Namespace) -> int:
    """Extract and write."""
    answers = [replace(answer, nuggets=by_sentence(answer)) for answer in read_answers(options.answers)]
    write_nuggets(answers, options.out)
    note(f"{sum(len(answer.nuggets or ()) for answer in answers)} nuggets of {len(answers)} answers")
    return 0
