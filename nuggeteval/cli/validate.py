"""nuggeteval validate KIND FILE...: every problem at once."""

from __future__ import annotations

import argparse

from nuggeteval.cli import note, write_lines
from nuggeteval.validate import ERROR, KINDS, problems
from nuggeteval.validate.tracks import TRACKS

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval validate run RUN... --against QRELS
  nuggeteval validate qrels QRELS --against BANK.jsonl
  nuggeteval validate bank BANK.jsonl --against QRELS
  nuggeteval validate answers ANSWERS.jsonl --track rag25 --against BANK.jsonl
  nuggeteval validate judgments JUDGMENTS.jsonl --against BANK.jsonl

Problems go to stdout, one a line: FILE:LINE: error or warning: what. Exit 1 if there is an error.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s KIND FILE... [--against FILE] [--track NAME]"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("kind", metavar="KIND", choices=tuple(KINDS), help=f"what the files are: {', '.join(KINDS)}")
    add("files", metavar="FILE", nargs="+", help="files to check; - is stdin")
    add("--against", metavar="FILE", help="what they must fit: qrels for a run or a bank, a bank for the others")
    add("--track", choices=tuple(TRACKS), help="whose rules of shape and length answers must keep")


def run(options: argparse.Namespace) -> int:
    """Print all problems; 1 if one of them is an error."""
    found = problems(options.kind, options.files, options.against, options.track)
    write_lines((f"{problem}\n" for problem in found), None)
    errors = sum(problem.level == ERROR for problem in found)
    counts = [(len(options.files), "file"), (errors, "error"), (len(found) - errors, "warning")]
    files, *rest = (f"{number} {noun}{'s' * (number != 1)}" for number, noun in counts)
    note(f"{files}: {', '.join(rest)}")
    return 1 if errors else 0
