"""What went into an average: numbers that are always available beside the measures."""

from __future__ import annotations

import numpy as np

from nuggeteval.measures import Record
from nuggeteval.ranking import Ranked
from nuggeteval.rows import FloatArray

__all__ = ["RECORDS"]

_OURS = "this project"


def topics(ranked: Ranked) -> FloatArray:
    """1 for every topic, shape (T,)."""
    return np.ones(len(ranked.qrels.topics))


def missing(ranked: Ranked) -> FloatArray:
    """1 for every topic that the run does not answer, shape (T,)."""
    return (~ranked.answered).astype(np.float64)


def failed(ranked: Ranked) -> FloatArray:
    """Number of failed judgments, shape (T,)."""
    number = ranked.qrels.failed
    return np.zeros(len(ranked.qrels.topics)) if number is None else number.astype(np.float64)


def undefined(ranked: Ranked) -> FloatArray:
    """Filled in by ``evaluate``, which knows the other measures; NaN, shape (T,)."""
    return np.full(len(ranked.qrels.topics), np.nan)


RECORDS: dict[str, Record] = {
    "num_q": Record(topics, "number of topics in the average.", _OURS, {}, summed=True, higher_is_better=None),
    "NumQ": Record(
        topics, "number of topics in the average, by ir_measures' name.", _OURS, {}, summed=True, higher_is_better=None
    ),
    "num_missing": Record(
        missing,
        "number of topics in the average that the run does not answer; they count 0.",
        _OURS,
        {},
        summed=True,
        higher_is_better=None,
    ),
    "num_undefined": Record(
        undefined,
        "number of topics in which one of the other measures asked for has no value and is left out of its mean.",
        _OURS,
        {},
        summed=True,
        higher_is_better=None,
    ),
    "num_failed": Record(
        failed, "number of judgments that failed; they count 0.", _OURS, {}, summed=True, higher_is_better=None
    ),
}
