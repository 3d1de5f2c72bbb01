"""Which differences between runs over the same topics could be chance: paired tests and corrections.

Every test is two-sided. A difference is between two runs on one topic; topics in which either has no
value are left out of the pair. Sampled tests use numpy's RandomState, whose stream is frozen, so that
a seed means the same in every version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nuggeteval.errors import ParameterError
from nuggeteval.rows import BoolArray, FloatArray, significant

__all__ = [
    "CORRECTIONS",
    "TESTS",
    "Paired",
    "against",
    "complete_topics",
    "correct",
    "describe",
    "differences_of",
    "least_p",
    "paired",
    "pairwise",
]

_EXACT_TOPICS = 14
"""Up to this many topics all 2^n ways to swap the runs are counted."""
_EXACT_WILCOXON = 50
_NOISE = 1e-12
"""Differences below this share of the values are rounding, and none."""
_TOLERANCE = 1e-9
"""Sums of differences that are nearer than this share of them are equal."""
_CHUNK = 2_000


class Paired(NamedTuple):
    """Two runs compared over the topics that both have.

    Attributes:
        number: of topics.
        difference: mean of first less second.
        effect: the difference in standard deviations of itself (Cohen's d_z); None where it does not vary.
        statistic: of the test; None for tests without one.
        p: None where the test has nothing to work on.
    """

    number: int
    difference: float
    effect: float | None
    statistic: float | None
    p: float | None


def differences_of(first: FloatArray, second: FloatArray) -> FloatArray:
    """First less second, exactly 0 where they differ by rounding only; NaN where one has no value."""
    with np.errstate(invalid="ignore", over="ignore"):
        differences = first - second
        noise = np.abs(differences) <= _NOISE * np.maximum(np.abs(first), np.abs(second))
    return np.asarray(np.where(noise, 0.0, differences))


def _t_p(differences: FloatArray, _resamples: int, _seed: int) -> FloatArray:
    from scipy.special import stdtr

    number, t = _t(differences)
    with np.errstate(invalid="ignore"):
        p = 2 * stdtr(number - 1, -np.abs(t))
    return np.where(number > 1, p, np.nan)


def _t(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(topics, Student's t) of each row: 0 where nothing differs, NaN where all topics differ by the same."""
    present = ~np.isnan(differences)
    number = present.sum(axis=1).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(differences, axis=1) / number
        deviation = _deviation(differences, mean, number)
        varies = deviation > _TOLERANCE * np.abs(mean)
        t = np.where(varies, mean / (deviation / np.sqrt(number)), np.nan)
    return number, np.where((np.nan_to_num(differences) == 0).all(axis=1), 0.0, t)


def _deviation(differences: FloatArray, mean: FloatArray, number: FloatArray) -> FloatArray:
    """Standard deviation (n - 1) of each row."""
    spread = np.where(np.isnan(differences), 0, differences - mean[:, None])
    return np.sqrt((spread**2).sum(axis=1) / (number - 1))


def _wilcoxon_p(differences: FloatArray, _resamples: int, _seed: int) -> FloatArray:
    return np.array([_wilcoxon(row)[1] for row in differences])


def _wilcoxon(differences: FloatArray) -> tuple[float, float]:
    """(smaller rank sum, p) of the signed-rank test; topics without a difference are left out (Wilcoxon's rule)."""
    from scipy.stats import rankdata, wilcoxon

    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return np.nan, np.nan
    differences = differences[differences != 0]
    if not len(differences):
        return 0.0, 1.0
    # Sizes that differ in their last bits share a rank.
    size = significant(np.abs(differences))
    signed = np.sign(differences) * rankdata(size)
    statistic = float(min(signed[signed > 0].sum(), -signed[signed < 0].sum()))
    if len(signed) <= _EXACT_TOPICS:
        return statistic, float(_randomisation_p(signed[None], 0, 0)[0]) if len(signed) > 1 else 1.0
    untied = len(np.unique(size)) == len(size)
    exact = untied and len(size) <= _EXACT_WILCOXON
    result = wilcoxon(np.sign(differences) * size, method="exact" if exact else "approx")
    return statistic, float(result.pvalue)


def _randomisation_p(differences: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Share of the ways to swap the two runs within topics that differ at least as much (Fisher 1935)."""
    number = (~np.isnan(differences)).sum(axis=1)
    differences = np.nan_to_num(differences)
    topics = differences.shape[1]
    exact = topics <= _EXACT_TOPICS
    observed = np.abs(differences.sum(axis=1)) - _TOLERANCE * np.abs(differences).sum(axis=1)
    count = np.zeros(len(differences))
    for signs in _exact_signs(topics) if exact else _sampled_signs(topics, resamples, seed):
        count += (np.abs(signs @ differences.T) >= observed).sum(axis=0)
    # Sampled: the observed assignment is one of all, so that p is never 0.
    p = count / 2 ** (topics - 1) if exact else (count + 1) / (resamples + 1)
    return np.where(number > 1, p, np.nan)


def _exact_signs(topics: int) -> list[FloatArray]:
    """All assignments up to a swap of all topics, which changes nothing, in one block."""
    half = np.arange(2 ** (topics - 1))[:, None] >> np.arange(topics)[None, :] & 1
    return [np.asarray(1.0 - 2.0 * half, dtype=np.float64)]


def _sampled_signs(topics: int, resamples: int, seed: int) -> list[FloatArray]:
    random = np.random.RandomState(seed)
    return [
        np.asarray(1.0 - 2.0 * random.randint(0, 2, (min(_CHUNK, resamples - start), topics)), dtype=np.float64)
        for start in range(0, resamples, _CHUNK)
    ]


TESTS: dict[str, Callable[[FloatArray, int, int], FloatArray] | None] = {
    "t": _t_p,
    "wilcoxon": _wilcoxon_p,
    "randomisation": _randomisation_p,
    "tukey": None,
}
"""Name -> p of rows of differences, shape (pairs, topics) -> (pairs,); Tukey's is of all runs together."""


def describe(test: str, topics: int, resamples: int, seed: int) -> str:
    """What a test is called beside its results.

    Raises:
        ParameterError: no such test.
    """
    sampled = f"{resamples} samples, seed {seed}"
    exact = f"all 2^{topics} assignments" if topics <= _EXACT_TOPICS else sampled
    names = {
        "t": "paired t test",
        "wilcoxon": f"Wilcoxon signed-rank test ({_wilcoxon_method(topics)})",
        "randomisation": f"paired randomisation test ({exact})",
        "tukey": f"randomised Tukey HSD ({sampled}, family-wise over all pairs of runs)",
    }
    if test not in names:
        raise ParameterError(f"test must be one of {', '.join(names)} (got {test!r})")
    return names[test]


def _wilcoxon_method(topics: int) -> str:
    if topics <= _EXACT_TOPICS:
        return "exact"
    return "exact without ties, else normal" if topics <= _EXACT_WILCOXON else "normal"


def least_p(test: str, topics: int, resamples: int) -> float:
    """The smallest p that a sampled test can give; 0 for other tests."""
    sampled = test == "tukey" or (test == "randomisation" and topics > _EXACT_TOPICS)
    return 1 / (resamples + 1) if sampled else 0.0


def _check_samples(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise ParameterError(f"resamples must be at least 1 (got {resamples})")
    if not 0 <= seed < 2**32:
        raise ParameterError(f"seed must be in [0, 2^32) (got {seed})")


def paired(x: ArrayLike, y: ArrayLike, test: str = "t", resamples: int = 10_000, seed: int = 42) -> Paired:
    """Compare two runs.

    Args:
        x: value of the first run on each topic, NaN for none, shape (topics,).
        y: the same topics of the second run.
        test: ``t``, ``wilcoxon`` or ``randomisation``.
        resamples: of the randomisation test, beyond 14 topics.
        seed: of the samples.

    Raises:
        ParameterError: another test, or different numbers of topics.
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if first.shape != second.shape or first.ndim != 1:
        raise ParameterError("a paired test takes the values of two runs on the same topics")
    kernel = TESTS.get(test)
    if kernel is None:
        raise ParameterError(f"test must be one of t, wilcoxon, randomisation for two runs (got {test!r})")
    _check_samples(resamples, seed)
    differences = differences_of(first, second)
    differences = differences[~np.isnan(differences)][None]
    number = differences.shape[1]
    if not number:
        return Paired(0, np.nan, None, None, None)
    mean = float(differences.mean())
    deviation = float(_deviation(differences, np.array([mean]), np.array([number]))[0]) if number > 1 else 0.0
    p = float(kernel(differences, resamples, seed)[0])
    value = _statistic(test, differences)
    return Paired(
        number,
        mean,
        mean / deviation if deviation > _TOLERANCE * abs(mean) else None,
        None if np.isnan(value) else value,
        None if np.isnan(p) else p,
    )


def _statistic(test: str, differences: FloatArray) -> float:
    """Student's t or Wilcoxon's rank sum; NaN for tests without one."""
    if test == "t" and differences.shape[1] > 1:
        return float(_t(differences)[1][0])
    return _wilcoxon(differences[0])[0] if test == "wilcoxon" else np.nan


def against(values: FloatArray, reference: int, test: str, resamples: int = 10_000, seed: int = 42) -> FloatArray:
    """The p of each run against one run, shape (runs, topics) -> (runs,), NaN for the run itself.

    Raises:
        ParameterError: no such test, or Tukey's, which is of all pairs (:func:`pairwise`).
    """
    kernel = TESTS.get(test)
    if kernel is None:
        raise ParameterError(f"test must be one of t, wilcoxon, randomisation against one run (got {test!r})")
    _check_samples(resamples, seed)
    p = kernel(differences_of(values, values[reference]), resamples, seed)
    p[reference] = np.nan
    return p


def pairwise(values: FloatArray, test: str, resamples: int = 1_000, seed: int = 42) -> FloatArray:
    """The p of every pair of runs in several measures, shape (measures, runs, topics) -> (measures, runs, runs).

    Raises:
        ParameterError: no such test.
    """
    _check_samples(resamples, seed)
    if test == "tukey":
        return _tukey(values, resamples, seed)
    p = np.full((len(values), values.shape[1], values.shape[1]), np.nan)
    for m, table in enumerate(values):
        for run in range(len(table) - 1):
            p[m, run, run + 1 :] = p[m, run + 1 :, run] = against(table[run:], 0, test, resamples, seed)[1:]
    return p


def complete_topics(table: FloatArray) -> BoolArray:
    """Topics in which every run has a value, of the runs that have any, shape (runs, topics) -> (topics,)."""
    with_values = ~np.isnan(table).all(axis=1)
    return np.asarray(~np.isnan(table[with_values]).any(axis=0) & with_values.any())


def _tukey(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Randomised Tukey HSD (Carterette 2012): runs are shuffled within topics, the largest difference is counted.

    Topics in which a run has no value are left out of a measure, and runs that have none at all.
    """
    found = np.full((len(values), values.shape[1], values.shape[1]), np.nan)
    with_values = ~np.isnan(values).all(axis=2)
    for runs in np.unique(with_values, axis=0):
        measures = np.flatnonzero((with_values == runs).all(axis=1))
        p = _tukey_of(values[measures][:, runs], resamples, seed)
        found[np.ix_(measures, np.flatnonzero(runs), np.flatnonzero(runs))] = p
    return found


def _tukey_of(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """The same of runs that all have values, shape (measures, runs, topics)."""
    complete = np.stack([complete_topics(table) for table in values])
    cells = np.where(complete[:, None, :], values, 0.0).transpose(0, 2, 1)
    sums = cells.sum(axis=1)
    random = np.random.RandomState(seed)
    largest = np.empty((len(values), resamples))
    for sample in range(resamples):
        order = random.random_sample(cells.shape[1:]).argsort(axis=1)
        largest[:, sample] = np.ptp(np.take_along_axis(cells, order[None], axis=2).sum(axis=1), axis=1)
    largest.sort(axis=1)
    scale = np.abs(cells).sum(axis=1).max(axis=1, initial=0)
    gaps = np.abs(sums[:, :, None] - sums[:, None, :]) - _TOLERANCE * scale[:, None, None]
    p = np.array(
        [
            (1 + resamples - np.searchsorted(row, gap.ravel())).reshape(gap.shape) / (1 + resamples)
            for row, gap in zip(largest, gaps, strict=True)
        ]
    )
    p[:, np.arange(p.shape[1]), np.arange(p.shape[1])] = np.nan
    p[complete.sum(axis=1) < 2] = np.nan
    return p


def _bonferroni(p: FloatArray) -> FloatArray:
    return np.minimum(1.0, p * len(p))


def _holm(p: FloatArray) -> FloatArray:
    order = p.argsort(kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, stepped)[order.argsort(kind="stable")]


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


CORRECTIONS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "none": ("uncorrected", lambda p: p),
    "bonferroni": ("Bonferroni", _bonferroni),
    "holm": ("Holm", _holm),
    "bh": ("Benjamini-Hochberg", _benjamini_hochberg),
}
"""Name -> (what it is called, correction of a family of p)."""


def correct(p: ArrayLike, correction: str) -> FloatArray:
    """The p of a family of tests, corrected for their number; NaN is in no family, same shape.

    Raises:
        ParameterError: no such correction.
    """
    if correction not in CORRECTIONS:
        raise ParameterError(f"correction must be one of {', '.join(CORRECTIONS)} (got {correction!r})")
    corrected = np.array(p, dtype=float)
    tested: BoolArray = ~np.isnan(corrected)
    if tested.any():
        corrected[tested] = CORRECTIONS[correction][1](corrected[tested])
    return corrected
