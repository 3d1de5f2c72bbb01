"""How much means and rankings move when other topics are drawn.

The spread is called a *stability interval*: percentile intervals of a correlation hold much less
than their nominal share, and so are not confidence intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nuggeteval.rows import FloatArray, significant

__all__ = ["Interval", "draws", "interval", "intervals", "resampled_means"]


class Interval(NamedTuple):
    """The middle of resampled values."""

    low: float
    high: float


def draws(topics: int, resamples: int, seed: int) -> FloatArray:
    """How often each topic is drawn, with replacement, in each resample, shape (resamples, topics)."""
    picks = np.random.RandomState(seed).randint(0, topics, (resamples, topics))
    flat = picks + topics * np.arange(resamples)[:, None]
    return np.bincount(flat.ravel(), minlength=topics * resamples).reshape(resamples, topics).astype(float)


def resampled_means(values: FloatArray, counts: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Means of each run in each resample.

    Args:
        values: NaN where a topic is in no mean, shape (runs, topics).
        counts: as :func:`draws` gives them, shape (resamples, topics).
        weights: of each topic in the mean of a run, shape (runs, topics); None for a plain mean.

    Returns:
        shape (resamples, runs), NaN where no topic of a run was drawn.
    """
    present = np.where(np.isnan(values), 0.0, 1.0 if weights is None else weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((counts @ (present * np.nan_to_num(values)).T) / (counts @ present.T))


def intervals(values: FloatArray, share: float = 0.95) -> FloatArray:
    """The middle share of the resampled values of each column, shape (resamples, n) -> (n, 2), NaN where all are."""
    found = np.full((values.shape[1], 2), np.nan)
    defined = ~np.isnan(values).all(axis=0)
    if defined.any():
        edges = [(1 - share) / 2, (1 + share) / 2]
        found[defined] = significant(np.nanquantile(values[:, defined], edges, axis=0)).T
    return found


def interval(values: FloatArray, share: float = 0.95) -> Interval | None:
    """The middle share of resampled values; None where none is defined."""
    low, high = intervals(values[:, None], share)[0]
    return None if np.isnan(low) else Interval(float(low), float(high))
