"""CPU time of LANCER's aggregations beside a plain loop, in one run: only the ratio means anything.

    python benchmarks/lancer.py [--rounds 3]

50 topics x 100 documents x 15 questions, ratings as skewed as published ones (mostly 0), all 23 strategies. The loop is
the definition in plain Python lists, with the same ties; both must give the same rankings. The greedy ones of the loop
keep what is covered, as a careful programmer would: utilities are not computed anew.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from nuggeteval.aggregation import ALPHA, KAPPA, PUBLISHED, aggregate, strategy_name

Table = list[list[int]]


def by(scores: list[float]) -> list[int]:
    """Rows by score, ties to the first."""
    return sorted(range(len(scores)), key=lambda row: (-round(scores[row], 12), row))


def plain_rrf(table: Table, shared: bool) -> list[int]:
    """Reciprocal rank fusion."""
    scores = [0.0] * len(table)
    for column in range(len(table[0])):
        values = [row[column] for row in table]
        order = sorted(range(len(table)), key=lambda row: (-values[row], row))
        for place, row in enumerate(order):
            above = sum(value > values[row] for value in values) if shared else place
            scores[row] += 1 / (KAPPA + above + 1)
    return by(scores)


def plain_greedy(table: Table, tau: int, worth: Callable[[int], int]) -> list[int]:
    """greedy-sum and greedy-cov."""
    values = [[worth(value) if value >= tau else 0 for value in row] for row in table]
    own = [sum(row) for row in values]
    left = sorted(range(len(table)), key=lambda row: (-own[row], row))
    best = [0] * len(table[0])
    picked: list[int] = []
    while left:
        gains = [sum(max(0, value - known) for value, known in zip(values[row], best, strict=True)) for row in left]
        place = gains.index(max(gains))
        if gains[place] <= 0:
            break
        row = left.pop(place)
        picked.append(row)
        best = [max(value, known) for value, known in zip(values[row], best, strict=True)]
    return picked + left


def plain_alpha(table: Table, tau: int) -> list[int]:
    """greedy-alpha."""
    carries = [[value >= tau for value in row] for row in table]
    left, picked, seen = list(range(len(table))), [], [0] * len(table[0])
    while left:
        gains = [
            round(sum((1 - ALPHA) ** count for flag, count in zip(carries[row], seen, strict=True) if flag), 12)
            for row in left
        ]
        row = left.pop(gains.index(max(gains)))
        picked.append(row)
        seen = [count + flag for flag, count in zip(carries[row], seen, strict=True)]
    return picked


def plain(table: Table, name: str) -> list[int]:
    """A strategy by its definition."""
    base, tau = strategy_name(name)
    if base == "first-stage":
        return list(range(len(table)))
    if base == "sum":
        return by([float(sum(value for value in row if value >= tau)) for row in table])
    if base in ("rrf", "rrf-ordinal"):
        return plain_rrf(table, base == "rrf")
    if base == "greedy-alpha":
        return plain_alpha(table, tau)
    return plain_greedy(table, tau, (lambda value: value) if base == "greedy-sum" else (lambda _: 1))


def main() -> None:
    """Print CPU seconds and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random = np.random.RandomState(1)
    tables = random.choice(6, size=(50, 100, 15), p=[0.7, 0.08, 0.08, 0.06, 0.05, 0.03])
    lists: list[Table] = tables.tolist()
    times: dict[str, list[float]] = {"ours": [], "loop": []}
    for _ in range(options.rounds):
        start = time.process_time()
        ours = [aggregate(table, name).order.tolist() for name in PUBLISHED for table in tables]
        middle = time.process_time()
        theirs = [plain(table, name) for name in PUBLISHED for table in lists]
        times["ours"].append(middle - start)
        times["loop"].append(time.process_time() - middle)
        if ours != theirs:
            raise SystemExit("the rankings differ")
    best = {name: min(values) for name, values in times.items()}
    ratio = best["loop"] / best["ours"]
    print(f"{len(PUBLISHED)} strategies: ours {best['ours']:.2f} s, plain loop {best['loop']:.2f} s, ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
