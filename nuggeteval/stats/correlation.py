"""Rank correlation of two lists of scores of the same runs; higher is better on both sides.

Scores are rounded to 10 significant digits first, so that means which differ in their last bits are
ties. Where a side is constant nothing is defined: None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nuggeteval.errors import ParameterError
from nuggeteval.rows import FloatArray, significant

__all__ = [
    "COEFFICIENTS",
    "Drop",
    "P",
    "kendall_p",
    "kendall_tau_a",
    "kendall_tau_b",
    "kendall_tau_b_rows",
    "kendall_tau_c",
    "max_drop",
    "pearson_r",
    "ranks",
    "rbo",
    "spearman_p",
    "spearman_rho",
    "spearman_rho_rows",
    "tau_ap_b",
    "tau_at",
    "tied_pairs",
    "top_overlap",
    "undefined_reason",
    "weighted_tau",
]

_EXACT = 50
"""Largest number of runs for which the p of tau is exact."""
_ALL_ORDERS = 7
"""Largest number of runs for which that of rho is."""
_CELLS = 4_000_000
"""Cells that are worked on at a time."""


class P(NamedTuple):
    """A two-sided p-value and how it was found."""

    value: float
    method: str


class Drop(NamedTuple):
    """The run that falls most, by how many (average) ranks, and its place in the list."""

    ranks: float
    place: int


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both sides, rounded.

    Raises:
        ParameterError: names instead of scores, sides of different lengths, scores that are not finite.
    """
    sides = [np.asarray(side) for side in (x, y)]
    for side in sides:
        if side.ndim != 1 or side.dtype.kind not in "fiub":
            raise ParameterError("rank correlation takes two lists of scores of the same runs, in the same order")
        if not np.isfinite(side).all():
            raise ParameterError("rank correlation takes finite scores: leave runs without one out")
    if len(sides[0]) != len(sides[1]):
        raise ParameterError(f"{len(sides[0])} scores cannot be correlated with {len(sides[1])}")
    return significant(sides[0]), significant(sides[1])


def undefined_reason(x: ArrayLike, y: ArrayLike) -> str:
    """Why two sides have no correlation; empty where they have one."""
    first, second = _pair(x, y)
    if len(first) < 2:
        return f"{len(first)} run{'s' if len(first) != 1 else ''} in both"
    constant = [name for name, side in (("first", first), ("second", second)) if (side == side[0]).all()]
    return f"all scores equal on the {' and the '.join(constant)} side" if constant else ""


def _scipy(name: str, x: ArrayLike, y: ArrayLike, **options: Any) -> Any:
    """A result of scipy.stats; None where the correlation is undefined."""
    from scipy import stats

    if undefined_reason(x, y):
        return None
    return getattr(stats, name)(*_pair(x, y), **options)


def _statistic(result: Any) -> float | None:
    return None if result is None else float(result.statistic)


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float | None:
    """Kendall's tau-b (1945): pairs in the same order less pairs in the opposite one, corrected for ties."""
    return _statistic(_scipy("kendalltau", x, y))


def kendall_tau_c(x: ArrayLike, y: ArrayLike) -> float | None:
    """Stuart's tau-c (1953)."""
    return _statistic(_scipy("kendalltau", x, y, variant="c"))


def kendall_tau_a(x: ArrayLike, y: ArrayLike) -> float | None:
    """Kendall's tau-a (1938), which divides by the number of all pairs: with ties it cannot reach 1."""
    if undefined_reason(x, y):
        return None
    signs = _signs(_pair(x, y)[0]) * _signs(_pair(x, y)[1])
    return float(signs.mean())


def spearman_rho(x: ArrayLike, y: ArrayLike) -> float | None:
    """Spearman's rho (1904): Pearson's r of average ranks."""
    return _statistic(_scipy("spearmanr", x, y))


def pearson_r(x: ArrayLike, y: ArrayLike) -> float | None:
    """Pearson's r of the scores themselves."""
    return _statistic(_scipy("pearsonr", x, y))


def weighted_tau(x: ArrayLike, y: ArrayLike) -> float | None:
    """Vigna's (2015) weighted tau: hyperbolic weights of both rankings, averaged."""
    return _statistic(_scipy("weightedtau", x, y))


def kendall_p(x: ArrayLike, y: ArrayLike) -> P | None:
    """The p of tau-b: exact without ties among up to 50 runs, else by the normal approximation."""
    first, second = _pair(x, y)
    untied = len({*first}) == len(first) and len({*second}) == len(second)
    method = "exact" if untied and len(first) <= _EXACT else "asymptotic"
    result = _scipy("kendalltau", x, y, method=method)
    return None if result is None else P(float(result.pvalue), method)


def spearman_p(x: ArrayLike, y: ArrayLike) -> P | None:
    """The p of rho: over all orders of up to 7 runs, else by Student's t with n - 2 degrees of freedom."""
    result = _scipy("spearmanr", x, y)
    if result is None:
        return None
    if len(np.asarray(x)) <= _ALL_ORDERS:
        return P(_share_of_orders(ranks(x), ranks(y)), "exact")
    return P(float(result.pvalue), "asymptotic, t")


def _share_of_orders(first: FloatArray, second: FloatArray) -> float:
    """Share of the orders of one side in which the ranks vary together at least as much."""
    second = second - second.mean()
    products = np.array(list(permutations(first - first.mean()))) @ second
    return float((np.abs(products) >= abs(float((first - first.mean()) @ second)) - 1e-9).mean())


def ranks(scores: ArrayLike, method: str = "average") -> FloatArray:
    """Ranks of scores, 1 for the highest, shape (n,).

    Args:
        scores: shape (n,), rounded to 10 significant digits first.
        method: how ties share ranks: ``average``, ``min`` (1, 2, 2, 4) or ``max``.
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-significant(np.asarray(scores, dtype=float)), method=method), dtype=float)


def tau_ap_b(x: ArrayLike, y: ArrayLike) -> float | None:
    """The symmetric AP correlation with ties, tau_AP,b (Urbano & Marrero 2017, after Yilmaz et al. 2008).

    For each run below the first group of a ranking, the share of the runs above its group that the other ranking
    has above it too; averaged, stretched to [-1, 1], and averaged over both directions.
    """
    if undefined_reason(x, y):
        return None
    first, second = _pair(x, y)
    return (_tau_ap_directed(first, second) + _tau_ap_directed(second, first)) / 2


def _tau_ap_directed(other: FloatArray, ranking: FloatArray) -> float:
    above = ranking[None, :] > ranking[:, None]
    number = above.sum(axis=1)
    below_first = number > 0
    kept = (above & (other[None, :] > other[:, None])).sum(axis=1)
    return float(2 * (kept[below_first] / number[below_first]).mean() - 1)


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9, ties: str = "b") -> float | None:
    """Rank-biased overlap of two rankings of the same runs, extrapolated (Webber et al. 2010, eq. 32).

    With ties a run stands at each depth of its group in part (Corsi & Urbano 2024): ``a`` is the mean over all
    ways to break the ties, ``b`` corrects that for the ties, as tau-b does (1 for a ranking with itself), ``w`` is
    Webber's own treatment: the whole group stands at its first depth.

    Args:
        x: scores.
        y: scores of the same runs.
        p: persistence in (0, 1): the share of the weight that is left after each rank.
        ties: ``a``, ``b`` or ``w``.

    Raises:
        ParameterError: p or ties are something else.
    """
    if not 0 < p < 1:
        raise ParameterError(f"RBO: p must be in (0, 1) (got {p})")
    if ties not in ("a", "b", "w"):
        raise ParameterError(f"RBO: ties must be one of a, b, w (got {ties!r})")
    if undefined_reason(x, y):
        return None
    first, second = (_presence(side, ties) for side in _pair(x, y))
    depth = np.arange(1, len(first) + 1)
    shared = (first * second).sum(axis=0)
    if ties == "a":
        agreement = shared / depth
    elif ties == "b":
        agreement = shared / np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    else:
        agreement = 2 * shared / (first.sum(axis=0) + second.sum(axis=0))
    # Both rankings hold the same runs: below the last one the overlap stays whole.
    return float((1 - p) / p * (agreement * p**depth).sum() + p ** len(first))


def _presence(scores: FloatArray, ties: str) -> FloatArray:
    """How much of each run stands within each depth, shape (runs, depths)."""
    top, bottom = ranks(scores, "min")[:, None], ranks(scores, "max")[:, None]
    depth = np.arange(1, len(scores) + 1)[None, :]
    if ties == "w":
        return (depth >= top).astype(float)
    return np.asarray(np.clip((depth - top + 1) / (bottom - top + 1), 0, 1))


def tau_at(truth: ArrayLike, judge: ArrayLike, k: int) -> float | None:
    """Tau-b among the truth's top k: runs of rank k or better, ties sharing ranks."""
    top = ranks(truth, "min") <= k
    return kendall_tau_b(np.asarray(truth)[top], np.asarray(judge)[top])


def top_overlap(truth: ArrayLike, judge: ArrayLike, k: int) -> float:
    """Runs in both top k, as a share of the larger one (with ties a top k can hold more than k)."""
    first, second = (ranks(side, "min") <= k for side in (truth, judge))
    return float((first & second).sum() / max(first.sum(), second.sum()))


def max_drop(truth: ArrayLike, judge: ArrayLike) -> Drop:
    """The largest fall of a run from its (average) rank in the truth to that in the judge's ranking."""
    falls = ranks(judge) - ranks(truth)
    place = int(falls.argmax())
    return Drop(float(falls[place]), place)


def tied_pairs(scores: ArrayLike) -> int:
    """Number of pairs of runs with equal scores."""
    _, counts = np.unique(significant(np.asarray(scores, dtype=float)), return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _signs(scores: FloatArray) -> FloatArray:
    """Which of each pair of runs is better, shape (..., pairs)."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    return np.sign(scores[..., first] - scores[..., second])


def kendall_tau_b_rows(x: FloatArray, y: FloatArray) -> FloatArray:
    """Tau-b of each row of x with the same row of y, shapes (rows, n) -> (rows,), NaN where undefined."""
    step = max(1, _CELLS // max(1, x.shape[1] ** 2))
    parts = [_tau_b_rows(x[at : at + step], y[at : at + step]) for at in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _tau_b_rows(x: FloatArray, y: FloatArray) -> FloatArray:
    first, second = _signs(significant(x)), _signs(significant(y))
    untied = np.sqrt((first != 0).sum(axis=1) * (second != 0).sum(axis=1).astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first * second).sum(axis=1) / untied)


def spearman_rho_rows(x: FloatArray, y: FloatArray) -> FloatArray:
    """Rho of each row of x with the same row of y, shapes (rows, n) -> (rows,), NaN where undefined."""
    from scipy.stats import rankdata

    first, second = (rankdata(significant(side), axis=1) - (side.shape[1] + 1) / 2 for side in (x, y))
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first * second).sum(axis=1) / spread)


COEFFICIENTS: dict[str, Callable[[ArrayLike, ArrayLike], float | None]] = {
    "tau_b": kendall_tau_b,
    "tau_a": kendall_tau_a,
    "tau_c": kendall_tau_c,
    "rho": spearman_rho,
    "pearson": pearson_r,
    "tau_AP_b": tau_ap_b,
    "weighted_tau": weighted_tau,
    "RBO": rbo,
}
"""Name -> coefficient of two lists of scores; the order is that of all output."""
