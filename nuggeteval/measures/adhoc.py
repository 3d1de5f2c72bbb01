"""Measures of ranked units that know no nuggets: a unit has one grade, by default its largest.

As trec_eval 10 defines them; on ordinary qrels, which have one pseudo-nugget, the grade is the grade.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nuggeteval.data import NuggetQrels
from nuggeteval.errors import DataError
from nuggeteval.measures import JUDGED_ONLY, REL, Param, Record, choice, integer
from nuggeteval.ranking import Ranked
from nuggeteval.rows import BoolArray, FloatArray, IntArray, changes, position_within, ratio, sum_by

__all__ = ["RECORDS", "average_precision", "ndcg", "precision", "recall", "reciprocal_rank"]


def _relevant(ranked: Ranked, cutoff: int | None, rel: int, adhoc: str) -> BoolArray:
    """Which of the ranked units are relevant and within the cutoff, shape (judged,)."""
    relevant = ranked.qrels.unit_grades(adhoc, rel)[ranked.unit] >= _least(rel, adhoc)
    return relevant if cutoff is None else relevant & (ranked.rank <= cutoff)


def _least(rel: int, adhoc: str) -> int:
    """The least grade of a relevant unit; a number of nuggets counts from 1."""
    return 1 if adhoc == "count" else rel


def _all_relevant(qrels: NuggetQrels, rel: int, adhoc: str) -> FloatArray:
    """R: number of relevant units of each topic, retrieved or not, shape (T,)."""
    return sum_by(qrels.unit_topic, len(qrels.topics), qrels.unit_grades(adhoc, rel) >= _least(rel, adhoc))


def _found(ranked: Ranked, cutoff: int | None, rel: int, adhoc: str) -> FloatArray:
    return sum_by(ranked.topic, len(ranked.qrels.topics), _relevant(ranked, cutoff, rel, adhoc))


def precision(ranked: Ranked, cutoff: int, rel: int, adhoc: str) -> FloatArray:
    """Relevant units at rank <= k over k, however short the ranking, shape (T,)."""
    return _found(ranked, cutoff, rel, adhoc) / cutoff


def recall(ranked: Ranked, cutoff: int | None, rel: int, adhoc: str) -> FloatArray:
    """Relevant units at rank <= k over R, shape (T,)."""
    return ratio(_found(ranked, cutoff, rel, adhoc), _all_relevant(ranked.qrels, rel, adhoc))


def average_precision(ranked: Ranked, cutoff: int | None, rel: int, adhoc: str) -> FloatArray:
    """Sum of the precisions at the relevant units over R, shape (T,)."""
    relevant = _relevant(ranked, cutoff, rel, adhoc)
    topic, rank = ranked.topic[relevant], ranked.rank[relevant]
    so_far = position_within(changes(topic)) + 1
    total = sum_by(topic, len(ranked.qrels.topics), so_far / rank)
    return ratio(total, _all_relevant(ranked.qrels, rel, adhoc))


def reciprocal_rank(ranked: Ranked, cutoff: int | None, rel: int, adhoc: str) -> FloatArray:
    """1 over the rank of the first relevant unit, shape (T,)."""
    relevant = _relevant(ranked, cutoff, rel, adhoc)
    values = np.zeros(len(ranked.qrels.topics))
    np.maximum.at(values, ranked.topic[relevant], 1.0 / ranked.rank[relevant])
    return values


def r_precision(ranked: Ranked, rel: int, adhoc: str) -> FloatArray:
    """Precision at rank R, shape (T,)."""
    total = _all_relevant(ranked.qrels, rel, adhoc)
    chosen = _relevant(ranked, None, rel, adhoc) & (ranked.rank <= total[ranked.topic])
    return ratio(sum_by(ranked.topic, len(total), chosen), total)


def success(ranked: Ranked, cutoff: int, rel: int, adhoc: str) -> FloatArray:
    """1 if a unit at rank <= k is relevant, shape (T,)."""
    return (_found(ranked, cutoff, rel, adhoc) > 0).astype(np.float64)


def judged(ranked: Ranked, cutoff: int | None) -> FloatArray:
    """Judged units at rank <= k over the units at rank <= k, shape (T,)."""
    depth = ranked.retrieved if cutoff is None else np.minimum(ranked.retrieved, cutoff)
    chosen = np.ones(len(ranked.unit), dtype=bool) if cutoff is None else ranked.rank <= cutoff
    return ratio(sum_by(ranked.topic, len(depth), chosen), depth)


def number_retrieved(ranked: Ranked, rel: int | None, adhoc: str) -> FloatArray:
    """Number of units in the ranking, or of those that are relevant at ``rel``, shape (T,)."""
    return ranked.retrieved.astype(np.float64) if rel is None else _found(ranked, None, rel, adhoc)


def number_relevant(ranked: Ranked, rel: int, adhoc: str) -> FloatArray:
    """R, shape (T,)."""
    return _all_relevant(ranked.qrels, rel, adhoc)


def number_relevant_retrieved(ranked: Ranked, rel: int, adhoc: str) -> FloatArray:
    """Number of relevant units in the ranking, shape (T,)."""
    return _found(ranked, None, rel, adhoc)


_LARGEST_EXPONENT = 1000


def _gain(grades: IntArray, dcg: str, gains: Mapping[int, float] | None) -> FloatArray:
    """What each grade is worth; nothing below 1, unless a mapping says so."""
    if gains is not None:
        return np.array([gains.get(grade, max(grade, 0)) for grade in grades.tolist()], dtype=np.float64)
    grades = np.maximum(grades, 0)
    if dcg == "exp-log2" and grades.max(initial=0) > _LARGEST_EXPONENT:
        raise DataError(f"2^grade - 1 is too large for a grade of {grades.max()}: use dcg='log2' or gains")
    return np.exp2(grades) - 1.0 if dcg == "exp-log2" else grades.astype(np.float64)


def _ideal_dcg(qrels: NuggetQrels, gain: FloatArray, cutoff: int | None) -> FloatArray:
    order = np.lexsort((-gain, qrels.unit_topic))
    topic, gain = qrels.unit_topic[order], gain[order]
    rank = position_within(changes(topic)) + 1
    value = gain / np.log2(rank + 1.0)
    if cutoff is not None:
        value = np.where(rank <= cutoff, value, 0.0)
    return sum_by(topic, len(qrels.topics), value)


def ndcg(
    ranked: Ranked, cutoff: int | None, dcg: str, gains: dict[int, float] | None, adhoc: str, rel: int
) -> FloatArray:
    """Discounted gain over that of all judged units in the best order (Jarvelin and Kekalainen 2002), shape (T,)."""
    qrels = ranked.qrels
    key = (dcg, None if gains is None else tuple(sorted(gains.items())), adhoc, rel if adhoc == "count" else None)
    gain = qrels.memo(("gain", *key), lambda: _gain(qrels.unit_grades(adhoc, rel), dcg, gains))
    best = qrels.memo(("ideal_dcg", *key, cutoff), lambda: _ideal_dcg(qrels, gain, cutoff))
    value = gain[ranked.unit] / np.log2(ranked.rank + 1.0)
    if cutoff is not None:
        value = np.where(ranked.rank <= cutoff, value, 0.0)
    return ratio(sum_by(ranked.topic, len(qrels.topics), value), best)


def _is_gains(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(grade, int) and isinstance(gain, int | float) for grade, gain in value.items())
        and all(0 <= gain < 2**53 for gain in value.values())
    )


ADHOC = choice(
    "max", ("max", "sum", "count"), "grade of a unit from those of its nuggets; by default that of --adhoc", "adhoc"
)
_GRADED: dict[str, Param] = {"adhoc": ADHOC}
_BINARY: dict[str, Param] = {"rel": REL, "adhoc": ADHOC}
_RANKED: dict[str, Param] = {**_BINARY, "judged_only": JUDGED_ONLY}
_TREC = "trec_eval 10 (Buckley, Soboroff)"
_PYTREC = "pytrec_eval, where scores are distinct in 32 bits"

RECORDS: dict[str, Record] = {
    "NumRet": Record(
        number_retrieved,
        "number of units in the ranking; with rel, of the relevant ones among them.",
        _TREC,
        {"rel": integer(None, "count only units of at least this grade"), "adhoc": ADHOC},
        summed=True,
        higher_is_better=None,
    ),
    "NumRel": Record(
        number_relevant, "number of relevant units in the qrels.", _TREC, _BINARY, summed=True, higher_is_better=None
    ),
    "NumRelRet": Record(
        number_relevant_retrieved,
        "number of relevant units in the ranking.",
        _TREC,
        _BINARY,
        summed=True,
        higher_is_better=None,
    ),
    "AP": Record(
        average_precision,
        "sum of the precisions at the ranks (<= k) of the relevant units / R, the number of relevant units.",
        _TREC,
        _RANKED,
        cutoff="optional",
        oracle=_PYTREC,
    ),
    "Rprec": Record(r_precision, "precision at rank R.", _TREC, _RANKED, oracle=_PYTREC),
    "RR": Record(
        reciprocal_rank,
        "1 / rank of the first relevant unit (at rank <= k); 0 if there is none.",
        _TREC,
        _RANKED,
        cutoff="optional",
        oracle=_PYTREC,
    ),
    "P": Record(
        precision,
        "relevant units at rank <= k / k, however few were retrieved.",
        _TREC,
        _RANKED,
        cutoff="required",
        oracle=_PYTREC,
    ),
    "R": Record(recall, "relevant units at rank <= k / R.", _TREC, _RANKED, cutoff="optional", oracle=_PYTREC),
    "Success": Record(
        success, "1 if a unit at rank <= k is relevant, else 0.", _TREC, _RANKED, cutoff="required", oracle=_PYTREC
    ),
    "Judged": Record(
        judged,
        "judged units at rank <= k / units at rank <= k.",
        "ir_measures 0.4",
        {},
        cutoff="optional",
        higher_is_better=None,
    ),
    "nDCG": Record(
        ndcg,
        "sum over ranks i <= k of gain / log2(i+1), over the same for all judged units in the best order. The gain is "
        "the grade (trec_eval); with dcg='exp-log2' it is 2^grade - 1; gains={grade:gain,...} sets any. Whatever "
        "counts as relevant, it takes the grades.",
        'Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002',
        {
            "dcg": choice("log2", ("log2", "exp-log2"), "gain: the grade, or 2^grade - 1"),
            "gains": Param(None, "gain of each grade; others keep their own", _is_gains, "{grade: gain of at least 0}"),
            **_GRADED,
            "rel": replace(REL, meaning="least grade of the nuggets that adhoc=count counts, and of nothing else"),
            "judged_only": JUDGED_ONLY,
        },
        cutoff="optional",
        oracle=_PYTREC,
    ),
}
