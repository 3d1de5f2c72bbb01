"""Rank correlation of two columns of scores, with all that a reader needs to judge it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from nuggeteval.boards import Side
from nuggeteval.data import Scores
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.rows import FloatArray
from nuggeteval.stats.correlation import (
    COEFFICIENTS,
    P,
    kendall_p,
    kendall_tau_b,
    kendall_tau_b_rows,
    max_drop,
    ranks,
    spearman_p,
    spearman_rho_rows,
    tau_at,
    tied_pairs,
    top_overlap,
    undefined_reason,
)
from nuggeteval.stats.resampling import Interval, draws, interval, resampled_means
from nuggeteval.stats.significance import (
    CORRECTIONS,
    complete_topics,
    correct,
    describe,
    differences_of,
    least_p,
    pairwise,
)

__all__ = [
    "MISSING",
    "Correlation",
    "Difference",
    "Range",
    "Settings",
    "compare_judges",
    "correlate",
]

MISSING = ("error", "drop", "last")
"""What to do with runs that one side does not have; the first is the default."""

_SAMPLES = 1_000
"""Samples of a test where no topics are resampled."""

_KINDS = ("agree", "opposite", "missed", "false positive", "neither", "undefined")


@dataclass(frozen=True)
class Settings:
    """How two columns are correlated.

    Attributes:
        missing: runs that one side lacks: ``error``, ``drop`` (left out and named) or ``last`` (ranked last).
        at: cutoffs k of tau and overlap among the first side's top k.
        teams: run -> team, for the range without one team.
        resamples: of the topics; 0 for none.
        seed: of the resamples and of sampled tests.
        test, correction, alpha: of the pairwise tests whose agreement is counted; no test with None.
    """

    missing: str = "error"
    at: tuple[int, ...] = ()
    teams: Mapping[str, str] = field(default_factory=dict)
    resamples: int = 1_000
    seed: int = 42
    test: str | None = "t"
    correction: str = "holm"
    alpha: float = 0.05


class Range(NamedTuple):
    """Least and greatest value when one thing is left out, and what that was."""

    low: float
    without_low: str
    high: float
    without_high: str


@dataclass(frozen=True)
class Correlation:
    """What was found; None stands for what is undefined.

    Attributes:
        x, y: what was correlated.
        runs: over which runs, the best of x first.
        x_values, y_values: their scores, more is better.
        left_out: run -> why it is not among them.
        last: runs that one side does not have and that were ranked last there.
        ties: tied pairs on each side.
        coefficients: by the names of COEFFICIENTS.
        reason: why there is none, where there is none.
        p: of tau_b and of rho, with its method.
        at: cutoff -> (tau-b, overlap, runs in the top).
        drop: (run that falls most from x to y, by how many ranks).
        topics: number of topics that were resampled on each side, 0 where a side has none.
        stability: stability interval of tau_b and rho.
        without_run, without_team: range of tau-b.
        pairs: agreement of the pairwise tests: kind -> number of pairs.
        test: what these tests are called.
        tau_draws: tau-b in each resample, for the difference of two judges.
        notes: what else a reader must know.
        signature: where both sides are from.
    """

    x: str
    y: str
    runs: tuple[str, ...]
    x_values: FloatArray
    y_values: FloatArray
    left_out: Mapping[str, str]
    last: tuple[str, ...]
    ties: tuple[int, int]
    coefficients: Mapping[str, float | None]
    reason: str
    p: Mapping[str, P | None]
    at: Mapping[int, tuple[float | None, float, int]]
    drop: tuple[str, float] | None
    topics: tuple[int, int]
    stability: Mapping[str, Interval | None]
    without_run: Range | None
    without_team: Range | None
    pairs: Mapping[str, int]
    test: str
    tau_draws: FloatArray
    notes: tuple[str, ...] = ()
    signature: str = ""


class _Tables(NamedTuple):
    """Values by topic of both sides, over the same topics; None for a side without topics.

    ``weights`` are those of pooled means; ``topics`` says how many topics each side has.
    """

    values: tuple[FloatArray | None, FloatArray | None] = (None, None)
    weights: tuple[FloatArray | None, FloatArray | None] = (None, None)
    topics: tuple[int, int] = (0, 0)


def correlate(x: Side, y: Side, settings: Settings | None = None, topics: Sequence[str] = ()) -> Correlation:
    """Correlate two columns over the runs that both have.

    Args:
        x: one side; where one is the truth, this one: top k and falls are seen from it.
        y: the other.
        settings: how.
        topics: resampled beside those of both sides; the same for several judges, so that their resamples are too.

    Raises:
        DataError: runs that one side lacks, under ``missing="error"``; no run in common; teams of other runs.
        ParameterError: an impossible setting.
    """
    settings = settings or Settings()
    _check(settings)
    runs, values, left_out, last = _aligned(x, y, settings.missing)
    first, second = values
    reason = undefined_reason(first, second)
    whole = not reason
    found: dict[str, float | None] = {name: measure(first, second) for name, measure in COEFFICIENTS.items()}
    if last:
        # A place at the end is no score.
        found["pearson"] = None
    tables = _Tables() if last else _topic_tables(x, y, runs, topics)
    tau_draws, stability = _stability(tables, values, settings) if whole else (np.empty(0), {})
    fall = max_drop(first, second) if whole else None
    pairs, test = _pairs_agreement(tables, settings)
    return Correlation(
        x.label,
        y.label,
        runs,
        first,
        second,
        left_out,
        last,
        (tied_pairs(first), tied_pairs(second)),
        found,
        reason,
        {"tau_b": kendall_p(first, second), "rho": spearman_p(first, second)},
        {
            k: (tau_at(first, second, k), top_overlap(first, second, k), int((ranks(first, "min") <= k).sum()))
            for k in (settings.at if len(runs) else ())
        },
        None if fall is None else (runs[fall.place], fall.ranks),
        tables.topics if stability else (0, 0),
        stability,
        _without(values, runs, {run: run for run in runs}),
        _without(values, runs, _teams(runs, settings.teams)) if settings.teams else None,
        pairs,
        test,
        tau_draws,
        (*x.notes(), *y.notes()),
        " + ".join(dict.fromkeys(side.board.signature for side in (x, y) if side.board.signature)),
    )


def _check(settings: Settings) -> None:
    if settings.missing not in MISSING:
        raise ParameterError(f"missing must be one of {', '.join(MISSING)} (got {settings.missing!r})")
    if any(k < 2 for k in settings.at):
        raise ParameterError(f"at must be cutoffs of at least 2 (got {', '.join(map(str, settings.at))})")
    if settings.resamples < 0:
        raise ParameterError(f"resamples must be at least 0 (got {settings.resamples})")
    if not 0 < settings.alpha < 1:
        raise ParameterError(f"alpha must be in (0, 1) (got {settings.alpha:g})")


def _aligned(
    x: Side, y: Side, missing: str
) -> tuple[tuple[str, ...], tuple[FloatArray, FloatArray], dict[str, str], tuple[str, ...]]:
    """(runs, their scores on both sides, run -> why it is left out, runs ranked last)."""
    first, second = x.values(), y.values()
    every = [*first, *(run for run in second if run not in first)]
    absent = {
        run: f"missing in {(y if run in first else x).label}" for run in every if run not in first or run not in second
    }
    if absent and missing == "error":
        shown_runs = "; ".join(f"{run} {why}" for run, why in [*absent.items()][:8])
        more = f"; ... ({len(absent)} in all)" if len(absent) > 8 else ""
        raise DataError(f"the sides do not have the same runs: {shown_runs}{more} (--missing drop or last)")
    undefined = {
        run: f"undefined in {side.label}"
        for side, values in ((x, first), (y, second))
        for run, value in values.items()
        if math.isnan(value)
    }
    left_out = {**(absent if missing == "drop" else {}), **undefined}
    # One order whatever the files say, so that the last bits of a result are the same too.
    kept = [run for run in every if run not in left_out]
    runs = tuple(sorted(kept, key=lambda run: (-first.get(run, -math.inf), run)))
    if not set(first) & set(second):
        raise DataError(f"no run is on both sides: {listed([*first]) or 'none'} against {listed([*second]) or 'none'}")
    sides = tuple(_with_last(values, runs) for values in (first, second))
    return runs, (sides[0], sides[1]), left_out, tuple(run for run in absent if run in runs)


def _with_last(values: Mapping[str, float], runs: Sequence[str]) -> FloatArray:
    """Scores of the runs; one that is not there gets less than all others."""
    lowest = min((values[run] for run in runs if run in values), default=0.0)
    lowest -= 1 + abs(lowest)
    return np.array([values.get(run, lowest) for run in runs])


def _teams(runs: Sequence[str], teams: Mapping[str, str]) -> dict[str, str]:
    found = {run: teams[run] for run in runs if run in teams}
    if not found:
        raise DataError(f"no run ({listed(runs)}) is in the groups, which name {listed([*teams])}")
    return found


def _topic_tables(x: Side, y: Side, runs: Sequence[str], topics: Sequence[str]) -> _Tables:
    """Values by topic on both sides, over all topics that either has, and those asked for."""
    mine = [t for side in (x, y) if isinstance(side.board, Scores) for t in side.board.topics]
    every = sorted({*mine, *topics})
    sides = [side.by_topic(runs, every) for side in (x, y)]
    values = [None if side is None else side[0] for side in sides]
    weights = [None if side is None else side[1] for side in sides]
    numbers = [0 if table is None else int((~np.isnan(table)).any(axis=0).sum()) for table in values]
    return _Tables((values[0], values[1]), (weights[0], weights[1]), (numbers[0], numbers[1]))


def _stability(
    tables: _Tables, values: tuple[FloatArray, FloatArray], settings: Settings
) -> tuple[FloatArray, dict[str, Interval | None]]:
    """(tau-b in each resample of the topics, stability intervals); a side without topics stays as it is."""
    present = [table for table in tables.values if table is not None]
    if not present or not settings.resamples:
        return np.empty(0), {}
    counts = draws(present[0].shape[1], settings.resamples, settings.seed)
    sides = [
        np.tile(fixed, (settings.resamples, 1)) if table is None else resampled_means(table, counts, weights)
        for table, weights, fixed in zip(tables.values, tables.weights, values, strict=True)
    ]
    # A resample in which a run has no topic at all says nothing.
    known = ~np.isnan(sides[0]).any(axis=1) & ~np.isnan(sides[1]).any(axis=1)
    tau, rho = np.full(settings.resamples, np.nan), np.full(settings.resamples, np.nan)
    tau[known] = kendall_tau_b_rows(sides[0][known], sides[1][known])
    rho[known] = spearman_rho_rows(sides[0][known], sides[1][known])
    return tau, {"tau_b": interval(tau), "rho": interval(rho)}


def _without(values: tuple[FloatArray, FloatArray], runs: Sequence[str], teams: Mapping[str, str]) -> Range | None:
    """Range of tau-b when the runs of one team are left out."""
    found: list[tuple[float, str]] = []
    for team in dict.fromkeys(teams.values()):
        kept = np.array([teams.get(run) != team for run in runs])
        tau = kendall_tau_b(values[0][kept], values[1][kept])
        if tau is not None:
            found.append((tau, team))
    if not found:
        return None
    (low, without_low), (high, without_high) = min(found), max(found)
    return Range(low, without_low, high, without_high)


def _pairs_agreement(tables: _Tables, settings: Settings) -> tuple[dict[str, int], str]:
    """Which pairs of runs are significantly different on each side: (kind -> number, name of the test)."""
    first, second = tables.values
    pooled = any(weights is not None for weights in tables.weights)
    if settings.test is None or first is None or second is None or pooled or len(first) < 2:
        return {}, ""
    truth, judge = (_significant(table, settings) for table in (first, second))
    both = (truth != 0) & (judge != 0)
    undefined = np.isnan(truth) | np.isnan(judge)
    kinds = {
        "agree": both & (truth == judge),
        "opposite": both & (truth == -judge),
        "missed": (truth != 0) & (judge == 0),
        "false positive": (truth == 0) & (judge != 0),
        "neither": (truth == 0) & (judge == 0),
    }
    counted = {kind: int(np.count_nonzero(found & ~undefined)) for kind, found in kinds.items()}
    counted["undefined"] = int(undefined.sum())
    samples = settings.resamples or _SAMPLES
    names = dict.fromkeys(describe(settings.test, number, samples, settings.seed) for number in tables.topics)
    family = 1 if settings.test == "tukey" else len(truth)
    correction = "" if settings.test == "tukey" else f", {CORRECTIONS[settings.correction][0]} over all pairs"
    least = max(least_p(settings.test, number, samples) for number in tables.topics)
    limit = ""
    if settings.correction != "none" and least * family >= settings.alpha:
        limit = f"; none can be: of {samples} samples the least p is {least:.2g}, for {family} comparisons"
    return counted, f"{', '.join(names)}{correction}, p < {settings.alpha:g}{limit}"


def _significant(table: FloatArray, settings: Settings) -> FloatArray:
    """Of each pair of runs: 1 the first significantly better, -1 worse, 0 neither, NaN untested, shape (pairs,)."""
    table = table[:, (~np.isnan(table)).any(axis=0)]
    p = pairwise(table[None], str(settings.test), settings.resamples or _SAMPLES, settings.seed)[0]
    first, second = np.triu_indices(len(table), 1)
    family = p[first, second]
    counted = np.ones(table.shape[1], dtype=bool)
    if settings.test == "tukey":
        counted = complete_topics(table)
    else:
        family = correct(family, settings.correction)
    direction = np.sign(np.nansum(differences_of(table[first], table[second])[:, counted], axis=1))
    return np.where(np.isnan(family), np.nan, np.where(family < settings.alpha, direction, 0.0))


class Difference(NamedTuple):
    """How much better one judge correlates with the truth than another, over the same resamples."""

    first: str
    second: str
    difference: float | None
    stability: Interval | None
    ahead: float | None


def compare_judges(correlations: Sequence[Correlation]) -> list[Difference]:
    """The paired difference of tau-b of every two judges of the same column of the truth.

    The resamples are the same where :func:`correlate` was given the same topics; over different runs there is no
    paired interval.
    """
    found = []
    for first, second in combinations(correlations, 2):
        if first.x != second.x:
            continue
        taus = first.coefficients["tau_b"], second.coefficients["tau_b"]
        difference = None if taus[0] is None or taus[1] is None else taus[0] - taus[1]
        spread, ahead = None, None
        alike = {*first.runs} == {*second.runs} and len(first.tau_draws) == len(second.tau_draws)
        if len(first.tau_draws) and alike:
            paired = first.tau_draws - second.tau_draws
            spread = interval(paired)
            known = paired[~np.isnan(paired)]
            ahead = float((known > 0).mean()) if len(known) else None
        found.append(Difference(first.y, second.y, difference, spread, ahead))
    return found
