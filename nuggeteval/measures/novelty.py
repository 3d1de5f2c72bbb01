"""Novelty and coverage of ranked units: alpha-nDCG and its family, coverage, subtopic recall.

Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008 (alpha-DCG);
Clarke, Kolla and Vechtomova, ICTIR 2009 (NRBP); Chapelle et al., CIKM 2009 (ERR-IA); Agrawal et al.,
WSDM 2009 (the -IA measures); Zhai, Cohen and Lafferty, SIGIR 2003 (subtopic recall). All but
coverage agree with ndeval 4.5, without its limits on depth, and with 0 where it divides by 0.

Everything here is a discounted sum of *novelty gains*: a unit gains, for each nugget that it
carries, the weight of the nugget times (1 - alpha) to the number of times it was seen before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nuggeteval.data import NuggetQrels
from nuggeteval.errors import DataError, listed
from nuggeteval.measures import JUDGED_ONLY, REL, WEIGHTS, Param, Record, probability
from nuggeteval.ranking import Pairs, Ranked
from nuggeteval.rows import FloatArray, IntArray, changes, ratio, sum_by

__all__ = [
    "RECORDS",
    "Gains",
    "alpha_dcg",
    "alpha_ndcg",
    "coverage",
    "density",
    "greedy_ideal",
    "novelty_gain",
    "novelty_gains",
    "nugget_weights",
]

_TIE = 1e-9
_LEAST_DEPTH = 20
_BLOCK = 1 << 20
ALPHA = 0.5


class Gains(NamedTuple):
    """Undiscounted gains by topic and rank, in any order, each shape (gains,)."""

    topic: IntArray
    rank: IntArray
    value: FloatArray


def nugget_weights(qrels: NuggetQrels, weights: str) -> FloatArray:
    """Weight of each declared nugget, shape (N,): 1, or by importance."""
    return qrels.importance if weights == "importance" else np.ones(len(qrels.nugget_ids))


def novelty_gain(seen: IntArray, alpha: float, weight: FloatArray) -> FloatArray:
    """The gain of nuggets that were seen so often before (Clarke et al. 2008, eq. 2), same shape."""
    decay = (1.0 - alpha) ** np.arange(seen.max(initial=0) + 1)
    return np.asarray(weight * decay[seen])


def novelty_gains(pairs: Pairs, alpha: float, weight: FloatArray) -> Gains:
    """What each (unit, nugget) of a ranking gains.

    Args:
        pairs: the ranking.
        alpha: how much of a nugget's gain each repetition loses, in [0, 1).
        weight: of each nugget, shape (N,).
    """
    return Gains(pairs.topic, pairs.rank, novelty_gain(pairs.seen, alpha, weight[pairs.nugget]))


def _run_gains(ranked: Ranked, alpha: float, rel: int, weights: str) -> Gains:
    return novelty_gains(ranked.pairs(rel), alpha, nugget_weights(ranked.qrels, weights))


def _ideal_gains(qrels: NuggetQrels, cutoff: int | None, alpha: float, rel: int, weights: str) -> Gains:
    """Gains of the greedy ideal ranking, at least to the cutoff; computed once for all runs."""
    depth = None if cutoff is None else max(cutoff, _LEAST_DEPTH)
    weight = nugget_weights(qrels, weights)
    return qrels.memo(("ideal", depth, alpha, rel, weights), lambda: greedy_ideal(qrels, alpha, rel, weight, depth)[1])


def greedy_ideal(
    qrels: NuggetQrels, alpha: float, rel: int, weight: FloatArray, depth: int | None
) -> tuple[IntArray, Gains]:
    """The greedy ideal ranking of all topics at once.

    At every rank the unit with the largest gain is taken; gains within 1e-9 of it (times the
    largest weight of the topic) are tied, ties go to the largest unit id. Greedy is not optimal
    (the optimum is NP-hard), so that a run can score above 1. Units that carry no nugget are left
    out: they gain nothing.

    Args:
        qrels: the table.
        alpha: loss of gain for each repetition, in [0, 1).
        rel: least grade that counts.
        weight: of each nugget, shape (N,).
        depth: ranks to fill in each topic; None for all.

    Returns:
        (unit at each rank, gains), both in the order of rank, then topic.
    """
    positives = qrels.positives(rel)
    units = np.flatnonzero(np.diff(positives.start))
    topic = qrels.unit_topic[units]
    value = weight.astype(np.float64)
    tie = np.zeros(len(qrels.topics))
    np.maximum.at(tie, qrels.nugget_topic, _TIE * weight)
    owner, nugget = positives.of(units)
    picked_units: list[IntArray] = []
    gains: list[Gains] = []
    rank = 0
    while len(units) and (depth is None or rank < depth):
        rank += 1
        gain = sum_by(owner, len(units), value[nugget])
        picked = _best_of_each_topic(topic, gain, tie[topic])
        picked_units.append(units[picked])
        gains.append(Gains(topic[picked], np.full(len(picked), rank), gain[picked]))
        _, shown = positives.of(units[picked])
        value[shown] *= 1.0 - alpha
        left = np.ones(len(units), dtype=bool)
        left[picked] = False
        kept = left[owner]
        owner, nugget = (np.cumsum(left) - 1)[owner[kept]], nugget[kept]
        units, topic = units[left], topic[left]
    if not gains:
        none = np.zeros(0, dtype=np.int64)
        return none, Gains(none, none, np.zeros(0))
    return np.concatenate(picked_units), Gains(*(np.concatenate(column) for column in zip(*gains, strict=True)))


def _best_of_each_topic(topic: IntArray, gain: FloatArray, tie: FloatArray) -> IntArray:
    """Position of the unit to take in each topic; units are sorted by topic, then id."""
    new = changes(topic)
    head = np.flatnonzero(new)
    best = np.maximum.reduceat(gain, head)[np.cumsum(new) - 1]
    return np.maximum.reduceat(np.where(gain >= best - tie, np.arange(len(topic)), -1), head)


def _discounted(gains: Gains, cutoff: int | None, discount: FloatArray, topics: int) -> FloatArray:
    """Sum over the ranks down to a cutoff of gain x discount, by topic, shape (T,)."""
    value = gains.value * discount
    if cutoff is not None:
        value = np.where(gains.rank <= cutoff, value, 0.0)
    return sum_by(gains.topic, topics, value)


def _log2(gains: Gains) -> FloatArray:
    return np.asarray(1.0 / np.log2(gains.rank + 1.0))


def alpha_dcg(ranked: Ranked, cutoff: int | None, alpha: float, rel: int, weights: str) -> FloatArray:
    """alpha-DCG (Clarke et al. 2008, eq. 5 and 6), not normalised, shape (T,)."""
    gains = _run_gains(ranked, alpha, rel, weights)
    values = _discounted(gains, cutoff, _log2(gains), len(ranked.qrels.topics))
    return ranked.defined(values)


def alpha_ndcg(ranked: Ranked, cutoff: int | None, alpha: float, rel: int, weights: str) -> FloatArray:
    """alpha-DCG over that of the greedy ideal ranking (Clarke et al. 2008), shape (T,)."""
    ideal = _ideal_gains(ranked.qrels, cutoff, alpha, rel, weights)
    best = _discounted(ideal, cutoff, _log2(ideal), len(ranked.qrels.topics))
    return ranked.defined(ratio(alpha_dcg(ranked, cutoff, alpha, rel, weights), best))


def _covered(ranked: Ranked, cutoff: int | None, rel: int, weight: FloatArray) -> FloatArray:
    """Weight of the distinct nuggets that the ranking shows down to a cutoff, shape (T,)."""
    pairs = ranked.pairs(rel)
    first = pairs.seen == 0
    gains = Gains(pairs.topic[first], pairs.rank[first], weight[pairs.nugget[first]])
    return _discounted(gains, cutoff, np.ones(len(gains.rank)), len(ranked.qrels.topics))


def coverage(ranked: Ranked, cutoff: int | None, rel: int, weights: str) -> FloatArray:
    """Share of all declared nuggets that some unit down to the cutoff carries, shape (T,)."""
    weight = nugget_weights(ranked.qrels, weights)
    declared = sum_by(ranked.qrels.nugget_topic, len(ranked.qrels.topics), weight)
    return ranked.defined(ratio(_covered(ranked, cutoff, rel, weight), declared))


def density(ranked: Ranked, cutoff: int | None, rel: int, words: FloatArray) -> FloatArray:
    """Coverage a word, over that of the least set that covers all that can be, to the power of 0.5, shape (T,).

    Args:
        ranked: a run.
        cutoff: ranks that are looked at; None for all.
        rel: least grade that counts.
        words: of the units that the run has in each topic down to the cutoff, judged or not, shape (T,).

    Raises:
        DataError: the lengths of units that the covering set has are not known.
    """
    qrels = ranked.qrels
    weight = np.ones(len(qrels.nugget_ids))
    best = qrels.memo(("covering words", rel), lambda: _covering_words(qrels, rel))
    shown = ratio(_covered(ranked, cutoff, rel, weight), words)
    return ranked.defined(np.sqrt(ratio(shown, ratio(_supported(qrels, rel, weight), best))))


def _covering_words(qrels: NuggetQrels, rel: int) -> FloatArray:
    """Words of the greedy covering set of each topic: units by their new nuggets, until none is new, shape (T,)."""
    most = int(qrels.declared.max(initial=0))
    units, gains = greedy_ideal(qrels, 1.0, rel, np.ones(len(qrels.nugget_ids)), most)
    taken = units[gains.value > 0]
    length = np.full(len(qrels.unit_ids), -1) if qrels.length is None else qrels.length
    unknown = taken[length[taken] < 0]
    if len(unknown):
        names = [qrels.unit_ids[unit] for unit in unknown.tolist()]
        raise DataError(f"Density needs the texts of judged units: --documents FILE has none of {listed(names)}")
    return sum_by(qrels.unit_topic[taken], len(qrels.topics), length[taken])


def _supported(qrels: NuggetQrels, rel: int, weight: FloatArray) -> FloatArray:
    """Weight of the nuggets that at least one judged unit carries, shape (T,)."""
    carried = np.bincount(qrels.positives(rel).nugget, minlength=len(weight)) > 0
    return sum_by(qrels.nugget_topic, len(qrels.topics), weight * carried)


def subtopic_recall(ranked: Ranked, cutoff: int | None, rel: int, weights: str) -> FloatArray:
    """Share of the nuggets that any judged unit carries which the ranking shows, shape (T,)."""
    weight = nugget_weights(ranked.qrels, weights)
    values = ratio(_covered(ranked, cutoff, rel, weight), _supported(ranked.qrels, rel, weight))
    return ranked.defined(values)


def err_ia(ranked: Ranked, cutoff: int, alpha: float, rel: int, weights: str) -> FloatArray:
    """ERR-IA over the best that any collection allows, from rank 2 on as ndeval has it, shape (T,)."""
    gains = _run_gains(ranked, alpha, rel, weights)
    values = _discounted(gains, cutoff, 1.0 / gains.rank, len(ranked.qrels.topics))
    if cutoff > 1:
        most = _supported(ranked.qrels, rel, nugget_weights(ranked.qrels, weights))
        values = ratio(values, most * _longest_err(alpha, cutoff))
    return ranked.defined(values)


def _longest_err(alpha: float, cutoff: int) -> float:
    """Sum over the ranks i <= cutoff of (1 - alpha)^(i - 1) / i, as far as the terms matter."""
    total, done = 0.0, 0
    while done < cutoff:
        ranks = np.arange(done + 1, min(cutoff, done + _BLOCK) + 1)
        terms = (1.0 - alpha) ** (ranks - 1) / ranks
        total += float(terms.sum())
        done += len(ranks)
        if terms[-1] < 1e-18:
            break
    return total


def nerr_ia(ranked: Ranked, cutoff: int | None, alpha: float, rel: int, weights: str) -> FloatArray:
    """ERR-IA over that of the greedy ideal ranking, shape (T,)."""
    topics = len(ranked.qrels.topics)
    gains = _run_gains(ranked, alpha, rel, weights)
    ideal = _ideal_gains(ranked.qrels, cutoff, alpha, rel, weights)
    values = _discounted(gains, cutoff, 1.0 / gains.rank, topics)
    return ranked.defined(ratio(values, _discounted(ideal, cutoff, 1.0 / ideal.rank, topics)))


def _rank_biased(gains: Gains, beta: float, topics: int) -> FloatArray:
    return _discounted(gains, None, np.power(float(beta), gains.rank - 1.0), topics)


def nrbp(ranked: Ranked, alpha: float, beta: float, rel: int, weights: str) -> FloatArray:
    """Novelty- and rank-biased precision (Clarke et al. 2009, eq. 8), shape (T,)."""
    most = _supported(ranked.qrels, rel, nugget_weights(ranked.qrels, weights))
    values = _rank_biased(_run_gains(ranked, alpha, rel, weights), beta, len(ranked.qrels.topics))
    return ranked.defined(ratio(values * (1.0 - (1.0 - alpha) * beta), most))


def nnrbp(ranked: Ranked, alpha: float, beta: float, rel: int, weights: str) -> FloatArray:
    """NRBP over that of the greedy ideal ranking, shape (T,)."""
    topics = len(ranked.qrels.topics)
    ideal = _rank_biased(_ideal_gains(ranked.qrels, None, alpha, rel, weights), beta, topics)
    values = _rank_biased(_run_gains(ranked, alpha, rel, weights), beta, topics)
    return ranked.defined(ratio(values, ideal))


def ap_ia(ranked: Ranked, rel: int, weights: str) -> FloatArray:
    """Average precision for each nugget, averaged over the nuggets that can be found, shape (T,)."""
    qrels, pairs = ranked.qrels, ranked.pairs(rel)
    weight = nugget_weights(qrels, weights)
    carriers = np.bincount(qrels.positives(rel).nugget, minlength=len(qrels.nugget_ids))
    precision = (pairs.seen + 1) / pairs.rank
    value = weight[pairs.nugget] * precision / carriers[pairs.nugget]
    total = sum_by(pairs.topic, len(qrels.topics), value)
    return ranked.defined(ratio(total, _supported(qrels, rel, weight)))


def p_ia(ranked: Ranked, cutoff: int, rel: int, weights: str) -> FloatArray:
    """Precision for each nugget, averaged over the nuggets that can be found, shape (T,)."""
    pairs = ranked.pairs(rel)
    weight = nugget_weights(ranked.qrels, weights)
    gains = Gains(pairs.topic, pairs.rank, weight[pairs.nugget])
    total = _discounted(gains, cutoff, np.ones(len(gains.rank)), len(ranked.qrels.topics))
    return ranked.defined(ratio(total, cutoff * _supported(ranked.qrels, rel, weight)))


_COMMON: dict[str, Param] = {"rel": REL, "weights": WEIGHTS, "judged_only": JUDGED_ONLY}
_ALPHA: dict[str, Param] = {
    "alpha": probability(ALPHA, "how much of its gain a nugget loses with every repetition"),
    **_COMMON,
}
_BETA: dict[str, Param] = {"beta": probability(0.5, "chance that the user goes on to the next unit"), **_ALPHA}
_CLARKE = 'Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008'
_CHAPELLE = 'Chapelle et al., "Expected reciprocal rank for graded relevance", CIKM 2009'
_NRBP = 'Clarke, Kolla and Vechtomova, "An effectiveness measure for ambiguous and underspecified queries", ICTIR 2009'
_AGRAWAL = 'Agrawal et al., "Diversifying search results", WSDM 2009'

RECORDS: dict[str, Record] = {
    "alpha_nDCG": Record(
        alpha_ndcg,
        "alpha_DCG@k over the alpha_DCG@k of the greedy ideal ranking of all judged units of the topic. The greedy "
        "ranking is not always the best one, so that values above 1 are possible. 0 where no unit carries a nugget.",
        _CLARKE,
        _ALPHA,
        cutoff="optional",
        oracle="pyndeval alpha-nDCG (k <= 20)",
    ),
    "alpha_DCG": Record(
        alpha_dcg,
        "sum over ranks i <= k of sum over nuggets n of b(i,n) (1-alpha)^(times n was seen before i) / log2(i+1). Not "
        "normalised, at rank 1 neither: ndeval prints another quantity under this name.",
        _CLARKE,
        _ALPHA,
        cutoff="optional",
    ),
    "Cov": Record(
        coverage,
        "nuggets that some unit at rank <= k carries / all declared nuggets (those of the bank, else all that the "
        "qrels name at any grade). CRUX calls it coverage, without its oracle filter.",
        'Ju et al., "Controlled retrieval-augmented context evaluation for long-form RAG" (CRUX), 2025',
        _COMMON,
        cutoff="optional",
    ),
    "StRecall": Record(
        subtopic_recall,
        "nuggets that some unit at rank <= k carries / nuggets that at least one judged unit carries.",
        'Zhai, Cohen and Lafferty, "Beyond independent relevance", SIGIR 2003',
        _COMMON,
        cutoff="optional",
        oracle="pyndeval strec (k <= 20)",
    ),
    "Density": Record(
        density,
        "[ (Cov@k / words of the first k units) / (Cov / words of Z*) ]^0.5, Z* being the greedy covering set: judged "
        "units by the number of nuggets that they add, until none is new, ties to the largest id. Above 1 where fewer "
        "words cover as much. Words are runs between blanks, and characters of Han and Kana; CRUX counts the tokens of "
        "Llama 3.1. It needs the texts of units.",
        'Ju et al., "Controlled retrieval-augmented context evaluation for long-form RAG" (CRUX), 2025',
        {"rel": REL},
        cutoff="optional",
        views=("documents",),
        needs=("documents",),
    ),
    "nERR_IA": Record(
        nerr_ia,
        "sum over ranks i <= k of novelty gain / i, over the same for the greedy ideal ranking.",
        _CHAPELLE,
        _ALPHA,
        cutoff="optional",
        oracle="pyndeval nERR-IA (k <= 20)",
    ),
    "ERR_IA": Record(
        err_ia,
        "sum over ranks i <= k of novelty gain / i, over its largest value in any collection, n sum over i <= k of "
        "(1-alpha)^(i-1) / i for n supported nuggets; not divided at k = 1, as ndeval does it.",
        _CHAPELLE,
        _ALPHA,
        cutoff="required",
        oracle="pyndeval ERR-IA (k <= 20)",
    ),
    "nNRBP": Record(
        nnrbp,
        "NRBP over the NRBP of the greedy ideal ranking; 0, not undefined, where no unit carries a nugget.",
        _NRBP,
        _BETA,
        oracle="pyndeval nNRBP",
    ),
    "NRBP": Record(
        nrbp,
        "(1 - (1-alpha) beta) / n x sum over ranks i of beta^(i-1) x novelty gain, for n supported nuggets.",
        _NRBP,
        _BETA,
        oracle="pyndeval NRBP",
    ),
    "AP_IA": Record(
        ap_ia,
        "average precision taking each nugget in turn for the information need, averaged over supported nuggets.",
        _AGRAWAL,
        _COMMON,
        oracle="pyndeval MAP-IA",
    ),
    "P_IA": Record(
        p_ia,
        "precision at k taking each nugget in turn for the information need, averaged over supported nuggets.",
        _AGRAWAL,
        _COMMON,
        cutoff="required",
        oracle="pyndeval P-IA (k <= 20)",
    ),
}
