"""How often a percentile interval of tau over resampled topics holds the tau of all topics there could be.

    python benchmarks/stability.py [--repetitions 400]

Two measures of the same systems: each system has a quality in each measure, correlated with the other, and a value on
each topic that is the quality plus noise. The tau of the qualities is what the interval at a nominal 95 % should hold.
One model, no proof; the figures in docs/meta-evaluation.md are from here.
"""

from __future__ import annotations

import argparse

import numpy as np

from nuggeteval.stats.correlation import kendall_tau_b, kendall_tau_b_rows
from nuggeteval.stats.resampling import draws, interval, resampled_means

SIZES = ((10, 50), (20, 40), (20, 100), (40, 50), (40, 200))
"""(systems, topics)."""


def held(systems: int, topics: int, repetitions: int, resamples: int = 400) -> tuple[float, float, float]:
    """(share of intervals that hold the true tau, mean true tau, mean observed tau)."""
    random = np.random.RandomState(systems * 1000 + topics)
    inside, true_taus, observed = [], [], []
    for repetition in range(repetitions):
        quality = random.randn(systems)
        qualities = [quality + 0.35 * random.randn(systems) for _ in range(2)]
        tables = [side[:, None] + 2.0 * random.randn(systems, topics) for side in qualities]
        counts = draws(topics, resamples, repetition)
        sides = [resampled_means(table, counts) for table in tables]
        spread = interval(kendall_tau_b_rows(*sides))
        true = kendall_tau_b(*qualities) or 0.0
        inside.append(spread is not None and spread.low <= true <= spread.high)
        true_taus.append(true)
        observed.append(kendall_tau_b(*(table.mean(axis=1) for table in tables)) or 0.0)
    return float(np.mean(inside)), float(np.mean(true_taus)), float(np.mean(observed))


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    options = parser.parse_args()
    for systems, topics in SIZES:
        share, true, observed = held(systems, topics, options.repetitions)
        print(
            f"{systems} systems x {topics} topics: {share:.2f} held; tau {true:.3f} in truth, {observed:.3f} observed"
        )


if __name__ == "__main__":
    main()
