"""nuggeteval nuggets BANK [OTHER]: what a bank holds, and how two overlap."""

from __future__ import annotations

import argparse

from nuggeteval.cli import write_lines
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.reports.banks import overlap_lines, statistics_lines

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval nuggets qrels/demo.bank.jsonl
  nuggeteval nuggets HUMAN.json LLM.json

With two banks: how many nuggets of the second are in the first (exact: equal but for case and outer blanks; partial:
one text contains the other), and how many are new.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s BANK [OTHER]"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank")
    add("other", metavar="OTHER", nargs="?", help="a bank to compare with it")
    add("-q", "--by-topic", action="store_true", help="a line for every topic: nuggets, words a nugget")


def run(options: argparse.Namespace) -> int:
    """Print statistics, and the overlap."""
    bank = read_bank(options.bank)
    write_lines(statistics_lines(bank, options.by_topic), None)
    if options.other:
        write_lines(overlap_lines(bank, read_bank(options.other)), None)
    return 0
