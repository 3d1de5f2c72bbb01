"""Pairs of texts a second that the default judge judges on one core: cold, and with the words of all texts known.

    python benchmarks/lexical.py BANK ANSWERS... [--rounds 3]

Process CPU time, the least of several rounds; reading files is not counted, and nothing is written.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.judges import Item
from nuggeteval.judges.lexical import LexicalJudge
from nuggeteval.text import _stem
from nuggeteval.units import units_of


def main() -> None:
    """Time both, and print pairs a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bank")
    parser.add_argument("answers", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    bank = read_bank(options.bank).without_blank()
    units = units_of(read_answers(options.answers), "responses")
    items = [Item(unit.text, nugget.text) for unit in units for nugget in bank.nuggets.get(unit.topic, ())]
    texts = bank.texts()
    cold, warm = [], []
    for _ in range(options.rounds):
        _stem.cache_clear()
        judge = LexicalJudge(texts)
        cold.append(seconds(judge, items))
        warm.append(seconds(judge, items))
    for name, times in (("cold", cold), ("words known", warm)):
        print(f"{name:<12} {len(items) / min(times):>10,.0f} pairs/s ({len(items)} pairs, {min(times):.2f} s)")


def seconds(judge: LexicalJudge, items: Sequence[Item]) -> float:
    """CPU seconds of judging all items."""
    start = time.process_time()
    for _ in judge(items):
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main()
