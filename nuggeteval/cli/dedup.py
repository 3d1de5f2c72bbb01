"""nuggeteval dedup BANK -o FILE: a bank without entailed nuggets."""

from __future__ import annotations

import argparse

from nuggeteval.cli import add_judge_options, in_batch, judge_for, make_chat, note, progress_bar
from nuggeteval.dedup import KEEP, RULES, deduplicate, pairs_to_judge
from nuggeteval.formats.nuggets import read_bank, write_bank
from nuggeteval.judges import TABLE

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval dedup BANK.jsonl -o BANK.dedup.jsonl
  nuggeteval dedup BANK.jsonl --judge nli -o BANK.dedup.jsonl
  nuggeteval dedup BANK.jsonl --judge yesno --model NAME --base-url URL -o BANK.dedup.jsonl

Of nuggets that entail each other one stays; a nugget that another one entails goes. Ids are kept, so that judgments of
the bank can be scored against its de-duplicated version. The default judge compares words; better ones know entailment.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s BANK -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank with texts")
    add("-o", "--out", metavar="FILE", required=True, help="where to")
    add("--rule", choices=tuple(RULES), default="components", help="what entailment removes (components)")
    add("--keep", choices=KEEP, default="lowest", help="of nuggets that entail each other: lowest id, or longest text")
    add_judge_options(parser, TABLE)


def run(options: argparse.Namespace) -> int:
    """De-duplicate and write."""
    bank = read_bank(options.bank).without_blank()
    if options.dry_run:
        note(f"dry run, nobody was asked; {sum(1 for _ in pairs_to_judge(bank))} pairs of texts to judge")
        return 0
    chat = make_chat(options)
    judge = judge_for(options, "nuggets", bank.texts(), chat)
    show = progress_bar("pairs", options.quiet)
    reduced = deduplicate(bank, judge, options.rule, options.keep, show)
    if in_batch(chat, options):
        return 0
    write_bank(reduced, options.out)
    if not options.quiet:
        emptied = [topic for topic, nuggets in bank.nuggets.items() if nuggets and not reduced.nuggets[topic]]
        for message in bank.notes:
            note(f"warning: {message}")
        if emptied:
            note(f"warning: the rule {options.rule} leaves no nugget in {', '.join(emptied[:5])}")
        note(f"{len(reduced)} of {len(bank)} nuggets stay, by {judge.name}")
    return 0
