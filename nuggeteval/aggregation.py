"""From ratings of documents against sub-questions to a ranking: the aggregations of LANCER (arXiv 2601.22008).

A table of ratings has a row a document, in the order of the first stage, and a column a sub-question; what could not be
parsed counts 0. Every tie goes to the earlier document of the first stage, unless the table below says otherwise, and
every sort is stable: the ranking does not depend on the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nuggeteval.errors import ParameterError
from nuggeteval.measures.novelty import novelty_gain
from nuggeteval.registry import suggestion
from nuggeteval.rows import FloatArray, IntArray

__all__ = ["PUBLISHED", "STRATEGIES", "Ranked", "aggregate", "full_name", "strategy_name"]

KAPPA = 60
"""Constant of reciprocal rank fusion (Cormack et al. 2009)."""
ALPHA = 0.5
_TOP = 5
_DECIMALS = 12

Ratings = NDArray[np.int64]
"""Ratings 0 to 5, shape (documents, questions)."""


class Ranked(NamedTuple):
    """The documents of a topic in their new order, and what each added when it was taken.

    ``order`` has the place in the first stage of each document; ``value`` is its score, or its gain where documents are
    taken one by one; ``new`` says which questions it was the first to answer, shape (documents, questions).
    """

    order: IntArray
    value: FloatArray
    new: NDArray[np.bool_]


def _by_score(ratings: Ratings, score: FloatArray, tau: int) -> Ranked:
    """Documents by a score, ties to the first stage."""
    order = np.argsort(-np.round(score, _DECIMALS), kind="stable")
    return Ranked(order, score[order], _first_answers(ratings[order] >= tau))


def _first_answers(carries: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which questions each document of a ranking is the first to answer."""
    return carries & (np.cumsum(carries, axis=0) == 1)


def _first_stage(ratings: Ratings, tau: int) -> Ranked:
    return _by_score(ratings, -np.arange(len(ratings), dtype=float), tau)


def _sum(ratings: Ratings, tau: int) -> Ranked:
    """Sum of the ratings of at least tau."""
    return _by_score(ratings, np.where(ratings >= tau, ratings, 0).sum(axis=1).astype(float), tau)


def _rrf(ratings: Ratings, tau: int, shared: bool) -> Ranked:
    """Reciprocal rank fusion over the questions; equal ratings share a rank, or follow the first stage."""
    if shared:
        above = (ratings[None, :, :] > ratings[:, None, :]).sum(axis=1)
    else:
        above = np.argsort(np.argsort(-ratings, axis=0, kind="stable"), axis=0, kind="stable")
    return _by_score(ratings, (1.0 / (KAPPA + above + 1)).sum(axis=1), tau)


def _greedy(worth: FloatArray, tie: FloatArray, carries: NDArray[np.bool_]) -> Ranked:
    """Take the document that adds most to the best worth of each question, until none adds; the rest by their own.

    Args:
        worth: of each document for each question; what is shown is worth the best of it.
        tie: which of equal gains goes first, and the order of the rest; then the first stage.
    """
    left = np.lexsort((np.arange(len(worth)), -tie))
    best = np.zeros(worth.shape[1])
    picked: list[int] = []
    gains: list[float] = []
    while len(left):
        gain = np.round(np.maximum(worth[left] - best, 0).sum(axis=1), _DECIMALS)
        place = int(gain.argmax())
        if gain[place] <= 0:
            break
        picked.append(int(left[place]))
        gains.append(float(gain[place]))
        best = np.maximum(best, worth[left[place]])
        left = np.delete(left, place)
    order = np.array([*picked, *left.tolist()], dtype=np.int64)
    return Ranked(order, np.array([*gains, *np.zeros(len(left))]), _first_answers(carries[order]))


def _greedy_sum(ratings: Ratings, tau: int) -> Ranked:
    """Utility: for each question the best rating shown, if it is at least tau."""
    worth = np.where(ratings >= tau, ratings, 0).astype(float)
    return _greedy(worth, worth.sum(axis=1), ratings >= tau)


def _greedy_cov(ratings: Ratings, tau: int) -> Ranked:
    """Utility: number of questions with a rating of at least tau shown."""
    worth = (ratings >= tau).astype(float)
    return _greedy(worth, worth.sum(axis=1), ratings >= tau)


def _greedy_alpha(ratings: Ratings, tau: int) -> Ranked:
    """Take the document with the largest novelty gain, which is that of alpha-nDCG without its discount."""
    carries = ratings >= tau
    left = np.arange(len(ratings))
    seen = np.zeros(ratings.shape[1], dtype=np.int64)
    order, gains = [], []
    while len(left):
        gain = np.round(carries[left] @ novelty_gain(seen, ALPHA, np.ones(len(seen))), _DECIMALS)
        place = int(gain.argmax())
        order.append(int(left[place]))
        gains.append(float(gain[place]))
        seen += carries[left[place]]
        left = np.delete(left, place)
    picked = np.array(order, dtype=np.int64)
    return Ranked(picked, np.array(gains), _first_answers(carries[picked]))


def _soft_cov(ratings: Ratings, tau: int) -> Ranked:
    """Our own: expected coverage, where a rating r is a probability of (r / 5)^2 that the document answers.

    A document gains, for each question, its probability times that of no document before having answered it: no
    threshold has to be chosen, a 4 is not lost beside a 5, and a second answer still counts where the first is unsure.
    """
    unsure = 1.0 - (ratings / _TOP) ** 2
    left = np.arange(len(ratings))
    open_still = np.ones(ratings.shape[1])
    order, gains = [], []
    while len(left):
        gain = np.round((open_still * (1.0 - unsure[left])).sum(axis=1), _DECIMALS)
        place = int(gain.argmax())
        if gain[place] <= 0:
            break
        order.append(int(left[place]))
        gains.append(float(gain[place]))
        open_still = open_still * unsure[left[place]]
        left = np.delete(left, place)
    # Where all is answered for sure the gains are 0: the rest is taken by what it says itself.
    alone = np.round((1.0 - unsure[left]).sum(axis=1), _DECIMALS)
    order += left[np.argsort(-alone, kind="stable")].tolist()
    gains += [0.0] * len(left)
    picked = np.array(order, dtype=np.int64)
    return Ranked(picked, np.array(gains), _first_answers(ratings[picked] >= tau))


STRATEGIES: dict[str, tuple[Callable[[Ratings, int], Ranked], str]] = {
    "first-stage": (_first_stage, "the order of the candidates"),
    "sum": (_sum, "sum of the ratings of at least tau (the default)"),
    "rrf": (partial(_rrf, shared=True), "reciprocal rank fusion over the questions; equal ratings share a rank"),
    "rrf-ordinal": (partial(_rrf, shared=False), "the same, equal ratings in the order of the first stage"),
    "greedy-sum": (_greedy_sum, "one by one: the best rating of each question, of at least tau, summed"),
    "greedy-cov": (_greedy_cov, "one by one: number of questions with a rating of at least tau"),
    "greedy-alpha": (
        _greedy_alpha,
        "one by one: the novelty gain of alpha-nDCG, alpha 0.5, at ratings of at least tau",
    ),
    "soft-cov": (_soft_cov, "one by one: expected coverage, a rating r answers with probability (r / 5)^2 (our own)"),
}
"""Name -> (aggregation, what it does)."""

_WITH_TAU = ("sum", "greedy-sum", "greedy-cov", "greedy-alpha")

PUBLISHED: tuple[str, ...] = (
    "first-stage",
    "sum",
    *(f"sum-{tau}" for tau in range(2, _TOP + 1)),
    "rrf",
    "rrf-ordinal",
    *(f"greedy-{kind}-{tau}" for kind in ("sum", "cov", "alpha") for tau in range(1, _TOP + 1)),
)
"""The strategies of the paper and its ablation: name, and tau where it has one."""


def strategy_name(name: str, tau: int | None = None) -> tuple[str, int]:
    """(aggregation, tau) of a name with or without ``-TAU`` at its end.

    Args:
        name: ``greedy-cov``, ``greedy-cov-3``, ``sum-tau=3``, ...; ``greedy-coverage`` as the reference calls it.
        tau: least rating that counts, where the name does not say; 1 by default.

    Raises:
        ParameterError: no such aggregation, an impossible tau, or a tau where there is none to choose.
    """
    plain = name.replace("coverage", "cov").replace("-tau=", "-")
    base, _, suffix = plain.rpartition("-")
    if suffix == "tau" and base in STRATEGIES:
        plain, base, suffix = base, "", ""
    said = int(suffix) if suffix.isascii() and suffix.isdigit() and base in STRATEGIES else None
    base = base if said is not None else plain
    if base not in STRATEGIES:
        raise ParameterError(f"unknown aggregation {name!r}{suggestion(name, STRATEGIES)}")
    chosen = said if said is not None else tau
    if said is not None and tau is not None and said != tau:
        raise ParameterError(f"{name} has its tau in its name, and it is not {tau}")
    if chosen is not None and base not in _WITH_TAU:
        raise ParameterError(f"the aggregation {base} has no tau")
    if chosen is not None and not 1 <= chosen <= _TOP:
        raise ParameterError(f"tau must be from 1 to {_TOP} (got {chosen})")
    return base, chosen or 1


def full_name(name: str, tau: int | None = None) -> str:
    """The name of an aggregation as :data:`PUBLISHED` writes it: ``sum``, ``sum-3``, ``greedy-cov-1``.

    Args:
        name, tau: as for :func:`strategy_name`.

    Raises:
        ParameterError: as there.
    """
    base, least = strategy_name(name, tau)
    return f"{base}-{least}" if base.startswith("greedy") or least > 1 else base


def aggregate(ratings: Ratings, name: str, tau: int | None = None) -> Ranked:
    """Rank the documents of a topic.

    Args:
        ratings: 0 to 5, rows in the order of the first stage, shape (documents, questions); -1 or below counts 0.
        name: as for :func:`strategy_name`.
        tau: as there.

    Raises:
        ParameterError: an unknown aggregation or tau; a table of another shape, or with a rating above 5.
    """
    base, tau = strategy_name(name, tau)
    given = np.asarray(ratings)
    if given.dtype.kind not in "iub":
        raise ParameterError(f"ratings must be integers (got {given.dtype})")
    table = given.astype(np.int64)
    if table.ndim != 2 or not table.shape[1]:
        raise ParameterError(f"ratings must be documents x questions (got the shape {table.shape})")
    if table.max(initial=0) > _TOP:
        raise ParameterError(f"a rating must be from 0 to {_TOP} (got {table.max()})")
    return STRATEGIES[base][0](np.maximum(table, 0), tau)
