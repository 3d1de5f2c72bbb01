"""Answers against a nugget bank: recall and precision by NtN and NtR, graded coverage, AutoNuggetizer.

Abbasiantaeb et al., "Conversational Gold", 2025, equations 4 to 6; TREC RAG 2024 (AutoNuggetizer);
LongEval-RAG 2026. The units of the run are whole responses, nuggets extracted from them, or their
sentences; the nuggets of the table are the gold ones. Retrieved units that nobody judged carry none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nuggeteval.errors import DataError
from nuggeteval.measures import REL, Param, Record, choice, integer
from nuggeteval.ranking import Ranked
from nuggeteval.rows import FloatArray, ratio, sum_by

__all__ = ["RECORDS", "nugget_f1", "nugget_precision", "nugget_recall", "support_score"]


def _per_declared(ranked: Ranked, total: FloatArray) -> FloatArray:
    """Divide by the number of declared nuggets; NaN for a topic that has none."""
    return ratio(total, ranked.qrels.declared, otherwise=np.nan)


def nugget_recall(ranked: Ranked, rel: int) -> FloatArray:
    """Share of the gold nuggets that at least one unit of the answer carries (eq. 4 and 6), shape (T,)."""
    pairs = ranked.pairs(rel)
    return _per_declared(ranked, sum_by(pairs.topic, len(ranked.qrels.topics), pairs.seen == 0))


def nugget_precision(ranked: Ranked, rel: int, precision_undefined: str) -> FloatArray:
    """Share of the units of the answer that carry at least one gold nugget (eq. 5), shape (T,)."""
    carries = np.diff(ranked.qrels.positives(rel).start)[ranked.unit] > 0
    hits = sum_by(ranked.topic, len(ranked.qrels.topics), carries)
    return ranked.defined(ratio(hits, ranked.retrieved, otherwise=np.nan if precision_undefined == "skip" else 0.0))


def nugget_f1(ranked: Ranked, rel: int) -> FloatArray:
    """Harmonic mean of the precision and recall of each topic, 0 where both are, shape (T,)."""
    precision, recall = nugget_precision(ranked, rel, "zero"), nugget_recall(ranked, rel)
    return ranked.defined(ratio(2 * precision * recall, precision + recall))


def best_grades(ranked: Ranked) -> FloatArray:
    """The best grade of each declared nugget among the units of the answer, at least 0, shape (N,)."""
    qrels = ranked.qrels
    used = np.zeros(len(qrels.unit_ids), dtype=bool)
    used[ranked.unit] = True
    rows = used[qrels.unit]
    best = np.zeros(len(qrels.nugget_ids), dtype=np.int64)
    np.maximum.at(best, qrels.nugget[rows], qrels.grade[rows])
    return best.astype(np.float64)


def _sum(ranked: Ranked, value: FloatArray) -> FloatArray:
    return sum_by(ranked.qrels.nugget_topic, len(ranked.qrels.topics), value)


def covered_count(ranked: Ranked, rel: int) -> FloatArray:
    """Number of gold nuggets with a grade of at least ``rel``, shape (T,)."""
    return ranked.defined(_sum(ranked, (best_grades(ranked) >= rel).astype(np.float64)))


def nugget_coverage(ranked: Ranked, rel: int) -> FloatArray:
    """Share of the gold nuggets with a grade of at least ``rel``, shape (T,)."""
    return _per_declared(ranked, covered_count(ranked, rel))


def average_grade(ranked: Ranked) -> FloatArray:
    """Sum of the grades over the number of gold nuggets, shape (T,)."""
    return _per_declared(ranked, _sum(ranked, best_grades(ranked)))


def average_score(ranked: Ranked) -> FloatArray:
    """Mean over the gold nuggets of the judge's best raw score among the units, shape (T,).

    Raises:
        DataError: the table has no raw scores.
    """
    qrels = ranked.qrels
    if qrels.score is None:
        raise DataError("avg_score needs the raw scores of a judge, which qrels do not have: --judgments FILE")
    used = np.zeros(len(qrels.unit_ids), dtype=bool)
    used[ranked.unit] = True
    rows = used[qrels.unit]
    best = np.zeros(len(qrels.nugget_ids))
    np.maximum.at(best, qrels.nugget[rows], qrels.score[rows])
    return _per_declared(ranked, _sum(ranked, best))


def max_grade(ranked: Ranked) -> FloatArray:
    """The best grade of any gold nugget, shape (T,)."""
    best = np.zeros(len(ranked.qrels.topics))
    np.maximum.at(best, ranked.qrels.nugget_topic, best_grades(ranked))
    return ranked.defined(best)


def support_score(ranked: Ranked, support: int, partial: float, okay: float) -> FloatArray:
    """Weighted share of the gold nuggets that an answer supports.

    Args:
        ranked: responses.
        support: the grade of full support; lesser positive ones are partial.
        partial: what partial support is worth.
        okay: weight of an okay nugget beside a vital one; 1 needs no importance.

    Raises:
        DataError: a grade above ``support``; no bank or no importance where ``okay`` is not 1.
    """
    qrels = ranked.qrels
    if (qrels.grade > support).any():
        raise DataError(
            f"{qrels.name} has grades up to {qrels.grade.max()}, but full support is grade {support}: these "
            "measures are defined on 0-2 (not, partial, full support); the support parameter sets another top"
        )
    grades = best_grades(ranked)
    value = np.where(grades >= support, 1.0, np.where(grades > 0, partial, 0.0))
    weight = np.ones(len(value)) if okay == 1.0 else np.where(qrels.vital, 1.0, okay)
    total = _sum(ranked, weight)
    return ratio(_sum(ranked, weight * value), total, otherwise=np.nan)


def _support_kernel(partial: float, okay: float) -> Callable[[Ranked, int], FloatArray]:
    def kernel(ranked: Ranked, support: int) -> FloatArray:
        return support_score(ranked, support, partial, okay)

    return kernel


def _number_of_nuggets(ranked: Ranked) -> FloatArray:
    return ranked.qrels.declared


def _number_of_units(ranked: Ranked) -> FloatArray:
    return ranked.retrieved.astype(np.float64)


_GOLD = (
    'Abbasiantaeb et al., "Conversational Gold: evaluating personalized conversational search with gold nuggets", 2025'
)
_RAG24 = 'Pradeep et al., "Initial nugget evaluation results for the TREC 2024 RAG track with the AutoNuggetizer", 2024'
_LONGEVAL = "LongEval-RAG at CLEF 2026 (organisers' thresholds)"
_AVG = choice("macro", ("macro", "micro"), "mean over topics, or one value pooled over all topics")
_UNDEFINED = choice("zero", ("zero", "skip"), "an answer without units: 0, or left out of the mean")
_RECALL = {"rel": REL, "avg": _AVG}
_PRECISION = {"rel": REL, "avg": _AVG, "precision_undefined": _UNDEFINED}
_FOUR: dict[str, Param] = {"rel": integer(4, "least grade that counts as covered, unless --rel says another", "rel")}
_SUPPORT = {"support": integer(2, "the grade of full support; lesser positive grades are partial support")}


def _support_record(strict: bool, okay: float, what: str) -> Record:
    return Record(
        _support_kernel(0.0 if strict else 0.5, okay),
        f"{'full support alone' if strict else 'support, partial support 0.5,'} over {what}.",
        _RAG24,
        _SUPPORT,
        views=("responses",),
        needs=() if okay == 1.0 else ("bank",),
    )


_ALL = "all nuggets"
_VITAL = "the vital nuggets; undefined for a topic without one"
_WEIGHTED = "all nuggets, okay ones with a weight of 0.5"

RECORDS: dict[str, Record] = {
    "Recall_NtN": Record(
        nugget_recall,
        "gold nuggets that at least one extracted nugget entails / gold nuggets; 0 for a missing answer.",
        f"{_GOLD}, eq. 4",
        _RECALL,
        views=("nuggets",),
        micro=_number_of_nuggets,
    ),
    "Precision_NtN": Record(
        nugget_precision,
        "extracted nuggets that entail at least one gold nugget / extracted nuggets; 0 where none was extracted "
        "(precision_undefined=skip leaves the topic out, as the released CONE-RAG code does).",
        f"{_GOLD}, eq. 5",
        _PRECISION,
        views=("nuggets",),
        micro=_number_of_units,
    ),
    "F1_NtN": Record(
        nugget_f1,
        "harmonic mean of Precision_NtN and Recall_NtN in each topic, then averaged; 0 where both are 0.",
        _GOLD,
        {"rel": REL},
        views=("nuggets",),
    ),
    "Recall_NtR": Record(
        nugget_recall,
        "gold nuggets that the response captures / gold nuggets; 0 for a missing or empty response.",
        f"{_GOLD}, eq. 6",
        _RECALL,
        views=("responses",),
        micro=_number_of_nuggets,
    ),
    "LLMEval": Record(
        nugget_recall,
        "gold answers that the response gives, by a yes of the llmeval judge / gold answers of the topic; 0 for a "
        "missing response.",
        f"{_GOLD}, section 5 (a judge of BERGEN, Rau et al. 2024)",
        {"rel": REL},
        views=("responses",),
        needs=("judgments", "bank"),
    ),
    "groundedness": Record(
        nugget_recall,
        "share of the responses all of which is in the documents that they cite, by a yes of the groundedness judge; "
        "0 for a missing response and for one that cites nothing.",
        f"{_GOLD}, section 5 (TREC iKAT 2023)",
        {"rel": REL},
        views=("responses",),
        needs=("judgments", "sources"),
    ),
    "Precision_NtR": Record(
        nugget_precision,
        "sentences of the response that capture at least one gold nugget / sentences. The paper defines recall alone "
        "for NtR; this needs units that are sentences.",
        "this project; compare ARGUE's sentence precision",
        _PRECISION,
        views=("sentences",),
        micro=_number_of_units,
    ),
    "nugget_coverage": Record(
        nugget_coverage,
        "gold nuggets with a grade of at least rel / gold nuggets.",
        _LONGEVAL,
        _FOUR,
        views=("responses",),
    ),
    "avg_grade": Record(
        average_grade, "sum of the grades / gold nuggets; an absent grade is 0.", _LONGEVAL, {}, views=("responses",)
    ),
    "avg_score": Record(
        average_score,
        "mean over the gold nuggets of the judge's best raw score among the units: coverage without a threshold.",
        "this project",
        {},
        needs=("judgments",),
    ),
    "max_grade": Record(max_grade, "best grade of any gold nugget.", _LONGEVAL, {}, views=("responses",)),
    "covered_count": Record(
        covered_count, "number of gold nuggets with a grade of at least rel.", _LONGEVAL, _FOUR, views=("responses",)
    ),
    "A": _support_record(False, 1.0, _ALL),
    "A_strict": _support_record(True, 1.0, _ALL),
    "V": _support_record(False, 0.0, _VITAL),
    "V_strict": _support_record(True, 0.0, _VITAL),
    "W": _support_record(False, 0.5, _WEIGHTED),
    "W_strict": _support_record(True, 0.5, _WEIGHTED),
}
