"""Rank correlation of two columns of scores, with all that a reader needs to judge it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from nuggeteval.boards import Board
from nuggeteval.data import Scores
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.measures import direction_of
from nuggeteval.reports import Table, shown
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
from nuggeteval.stats.significance import CORRECTIONS, correct, describe, pairwise

__all__ = [
    "MISSING",
    "Correlation",
    "Difference",
    "Settings",
    "Side",
    "compare_judges",
    "correlate",
    "correlation_records",
    "correlation_rows",
    "correlation_tables",
    "difference_records",
    "difference_table",
    "matrix_tables",
    "pair_sides",
    "side_of",
]

MISSING = ("error", "drop", "last")
"""What to do with runs that one side does not have; the first is the default."""

_NAMES = {
    "tau_b": "Kendall tau-b",
    "tau_a": "Kendall tau-a",
    "tau_c": "Kendall tau-c",
    "rho": "Spearman rho",
    "pearson": "Pearson r",
    "tau_AP_b": "tau_AP,b",
    "weighted_tau": "weighted tau (hyperbolic)",
    "RBO": "RBO (p 0.9, ties b)",
}
_KINDS = ("agree", "opposite", "missed", "false positive", "neither")


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


class Side(NamedTuple):
    """One column of a table of scores; ``label`` says which."""

    label: str
    measure: str
    board: Board

    def values(self) -> dict[str, float]:
        """Run -> score, NaN where undefined; negated where less is better, so that more always is."""
        column = self.board.measures.index(self.measure)
        means = self.board.aggregates if isinstance(self.board, Scores) else self.board.values
        return dict(zip(self.board.runs, (float(value) for value in means[:, column] * self.sign), strict=True))

    @property
    def sign(self) -> float:
        """-1 where less is better."""
        return -1.0 if direction_of(self.measure) is False else 1.0

    def by_topic(self, runs: Sequence[str], topics: Sequence[str]) -> FloatArray | None:
        """The values that are averaged, shape (runs, topics), NaN elsewhere; None where there are no topics."""
        board = self.board
        if not isinstance(board, Scores) or self.measure in board.summed or self.measure in board.weights:
            return None
        column = board.measures.index(self.measure)
        found = np.full((len(runs), len(topics)), np.nan)
        place = {topic: index for index, topic in enumerate(topics)}
        where = [place[topic] for topic in board.topics]
        for r, run in enumerate(runs):
            if run in board.runs:
                mine = board.runs.index(run)
                found[r, where] = np.where(
                    board.present[mine, :, column], board.values[mine, :, column] * self.sign, np.nan
                )
        return found


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


def side_of(board: Board, measure: str, name: str = "") -> Side:
    """A column of a table.

    Raises:
        DataError: no such measure.
    """
    if measure not in board.measures:
        raise DataError(f"no measure {measure!r} in {name or 'the scores'}, which has {listed(board.measures, 12)}")
    return Side(f"{name} {measure}".strip(), measure, board)


def pair_sides(first: Board, second: Board, measures: Sequence[str], names: tuple[str, str]) -> list[tuple[Side, Side]]:
    """Which column of one table goes with which of another.

    Args:
        first, second: the tables.
        measures: ``M``, or ``M=N`` where the second calls it otherwise; by default all that both have, or the only
            one of each.
        names: of the tables.

    Raises:
        DataError: nothing in common, or a measure that is not there.
    """
    if measures:
        pairs = [(left, right or left) for left, _, right in (text.partition("=") for text in measures)]
    elif common := [measure for measure in first.measures if measure in second.measures]:
        pairs = [(measure, measure) for measure in common if direction_of(measure) is not None]
    elif len(first.measures) == len(second.measures) == 1:
        pairs = [(first.measures[0], second.measures[0])]
    else:
        raise DataError(
            f"no measure in common: {names[0]} has {listed(first.measures)}; {names[1]} has {listed(second.measures)}. "
            "-m M=N correlates M of the first with N of the second"
        )
    return [(side_of(first, left, names[0]), side_of(second, right, names[1])) for left, right in pairs]


def correlate(x: Side, y: Side, settings: Settings | None = None) -> Correlation:
    """Correlate two columns over the runs that both have.

    Args:
        x: one side; where one is the truth, this one: top k and falls are seen from it.
        y: the other.
        settings: how.

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
    tables = _topic_tables(x, y, runs) if not last else (None, None, (0, 0))
    tau_draws, stability = _stability(tables, values, settings) if whole else (np.empty(0), {})
    fall = max_drop(first, second) if len(runs) > 1 else None
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
            for k in settings.at
        },
        None if fall is None else (runs[fall.place], fall.ranks),
        tables[2] if stability else (0, 0),
        stability,
        _without(values, runs, {run: run for run in runs}),
        _without(values, runs, _teams(runs, settings.teams)) if settings.teams else None,
        pairs,
        test,
        tau_draws,
    )


def _check(settings: Settings) -> None:
    if settings.missing not in MISSING:
        raise ParameterError(f"missing must be one of {', '.join(MISSING)} (got {settings.missing!r})")
    if any(k < 2 for k in settings.at):
        raise ParameterError(f"at must be cutoffs of at least 2 (got {', '.join(map(str, settings.at))})")
    if settings.resamples < 0:
        raise ParameterError(f"resamples must be at least 0 (got {settings.resamples})")


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
    if not runs:
        raise DataError(f"no run has a score on both sides: {listed([*first])} against {listed([*second])}")
    sides = tuple(_with_last(values, runs) for values in (first, second))
    return runs, (sides[0], sides[1]), left_out, tuple(run for run in absent if run in runs)


def _with_last(values: Mapping[str, float], runs: Sequence[str]) -> FloatArray:
    """Scores of the runs; one that is not there gets less than all others."""
    lowest = min((values[run] for run in runs if run in values), default=0.0) - 1
    return np.array([values.get(run, lowest) for run in runs])


def _teams(runs: Sequence[str], teams: Mapping[str, str]) -> dict[str, str]:
    found = {run: teams[run] for run in runs if run in teams}
    if not found:
        raise DataError(f"no run ({listed(runs)}) is in the groups, which name {listed([*teams])}")
    return found


def _topic_tables(
    x: Side, y: Side, runs: Sequence[str]
) -> tuple[FloatArray | None, FloatArray | None, tuple[int, int]]:
    """Values by topic on both sides, over the topics of both, and how many topics each side has."""
    boards = [side.board for side in (x, y)]
    topics = list(dict.fromkeys(t for board in boards if isinstance(board, Scores) for t in board.topics))
    tables = [side.by_topic(runs, topics) for side in (x, y)]
    numbers = [0 if table is None else int((~np.isnan(table)).any(axis=0).sum()) for table in tables]
    return tables[0], tables[1], (numbers[0], numbers[1])


def _stability(
    tables: tuple[FloatArray | None, FloatArray | None, tuple[int, int]],
    values: tuple[FloatArray, FloatArray],
    settings: Settings,
) -> tuple[FloatArray, dict[str, Interval | None]]:
    """(tau-b in each resample of the topics, stability intervals); a side without topics stays as it is."""
    present = [table for table in tables[:2] if table is not None]
    if not present or not settings.resamples:
        return np.empty(0), {}
    counts = draws(present[0].shape[1], settings.resamples, settings.seed)
    sides = [
        np.tile(fixed, (settings.resamples, 1)) if table is None else resampled_means(table, counts)
        for table, fixed in zip(tables[:2], values, strict=True)
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


def _pairs_agreement(
    tables: tuple[FloatArray | None, FloatArray | None, tuple[int, int]], settings: Settings
) -> tuple[dict[str, int], str]:
    """Which pairs of runs are significantly different on each side: (kind -> number, name of the test)."""
    first, second, numbers = tables
    if settings.test is None or first is None or second is None or len(first) < 2:
        return {}, ""
    signs = [_significant(table, settings) for table in (first, second)]
    truth, judge = signs
    both = (truth != 0) & (judge != 0)
    kinds = {
        "agree": both & (truth == judge),
        "opposite": both & (truth != judge),
        "missed": (truth != 0) & (judge == 0),
        "false positive": (truth == 0) & (judge != 0),
        "neither": (truth == 0) & (judge == 0),
    }
    name = describe(settings.test, min(numbers), settings.resamples or 1_000, settings.seed)
    correction = "" if settings.test == "tukey" else f", {CORRECTIONS[settings.correction][0]} over all pairs"
    counted = {kind: int(np.count_nonzero(kinds[kind])) for kind in _KINDS}
    return counted, f"{name}{correction}, p < {settings.alpha:g}"


def _significant(table: FloatArray, settings: Settings) -> FloatArray:
    """Of each pair of runs: 1 the first significantly better, -1 worse, 0 neither, shape (pairs,)."""
    p = pairwise(table[None], str(settings.test), settings.resamples or 1_000, settings.seed)[0]
    first, second = np.triu_indices(len(table), 1)
    family = p[first, second]
    if settings.test != "tukey":
        family = correct(family, settings.correction)
    difference = table[first] - table[second]
    known = ~np.isnan(difference)
    direction = np.sign(np.where(known, difference, 0.0).sum(axis=1))
    return np.where(family < settings.alpha, direction, 0.0)


class Difference(NamedTuple):
    """How much better one judge correlates with the truth than another, over the same resamples."""

    first: str
    second: str
    difference: float | None
    stability: Interval | None
    ahead: float | None


def compare_judges(correlations: Sequence[Correlation]) -> list[Difference]:
    """The paired difference of tau-b of every two judges."""
    found = []
    for first, second in combinations(correlations, 2):
        taus = first.coefficients["tau_b"], second.coefficients["tau_b"]
        difference = None if taus[0] is None or taus[1] is None else taus[0] - taus[1]
        spread, ahead = None, None
        if len(first.tau_draws) and len(first.tau_draws) == len(second.tau_draws):
            paired = first.tau_draws - second.tau_draws
            spread = interval(paired)
            known = paired[~np.isnan(paired)]
            ahead = float((known > 0).mean()) if len(known) else None
        found.append(Difference(first.y, second.y, difference, spread, ahead))
    return found


def correlation_tables(found: Correlation, places: int = 4) -> list[Table]:
    """One correlation as a table with all that must stand beside it."""
    header = ["coefficient", "value", "p", "stability interval", "without one run", "without one team"]
    rows = []
    for name, label in _NAMES.items():
        p, spread, is_tau = found.p.get(name), found.stability.get(name), name == "tau_b"
        rows.append(
            [
                label,
                shown(found.coefficients[name], places),
                "" if p is None else f"{p.value:.3g} ({p.method})",
                "" if spread is None else f"[{spread.low:.{places}f}, {spread.high:.{places}f}]",
                _shown_range(found.without_run if is_tau else None, places),
                _shown_range(found.without_team if is_tau else None, places),
            ]
        )
    used = [column for column in range(len(header)) if column < 2 or any(row[column] for row in rows)]
    table = Table(
        [header[column] for column in used],
        [[row[column] for column in used] for row in rows],
        title=f"{found.x} against {found.y}",
        notes=tuple(_notes(found, places)),
    )
    return [table]


def _shown_range(span: Range | None, places: int) -> str:
    if span is None:
        return ""
    return f"{span.low:.{places}f} ({span.without_low}) to {span.high:.{places}f} ({span.without_high})"


def _notes(found: Correlation, places: int) -> Iterator[str]:
    if found.reason:
        yield f"undefined: {found.reason}"
    yield f"{len(found.runs)} runs: {', '.join(found.runs)}"
    if found.left_out:
        yield "left out: " + ", ".join(f"{run} ({why})" for run, why in found.left_out.items())
    if found.last:
        yield f"ranked last where they are missing: {', '.join(found.last)}; so there is no Pearson r and no resampling"
    pairs = len(found.runs) * (len(found.runs) - 1) // 2
    yield f"tied pairs, of {pairs}: {found.ties[0]} in {found.x}, {found.ties[1]} in {found.y}"
    for k, (tau, overlap, number) in found.at.items():
        yield f"top {k} of {found.x} ({number} runs): tau-b {shown(tau, places)}, overlap {overlap:.{places}f}"
    if found.drop and found.drop[1] > 0:
        yield f"largest fall: {found.drop[0]}, {found.drop[1]:g} ranks"
    if found.stability:
        fixed = [name for name, number in zip((found.x, found.y), found.topics, strict=True) if not number]
        yield (
            f"stability interval: the middle 95 % over {len(found.tau_draws)} resamples of "
            f"{max(found.topics)} topics{f' ({fixed[0]} has none and is fixed)' if fixed else ''}; percentiles of tau "
            "hold less than their share, so this is no confidence interval"
        )
    if found.pairs:
        counts = ", ".join(f"{kind} {number}" for kind, number in found.pairs.items())
        yield f"pairs of runs that differ significantly: {counts} ({found.test})"


def difference_table(differences: Sequence[Difference], places: int = 4) -> Table:
    """The differences of judges as a table."""
    rows = [
        [
            f"{d.first} less {d.second}",
            shown(d.difference, places),
            "" if d.stability is None else f"[{d.stability.low:.{places}f}, {d.stability.high:.{places}f}]",
            "" if d.ahead is None else f"{d.ahead:.3f}",
        ]
        for d in differences
    ]
    header = ["judges", "difference of tau-b", "stability interval", "resamples in which the first is ahead"]
    return Table(
        header, rows, title="Which judge is closer to the truth", notes=("over the same resamples of the topics",)
    )


def matrix_tables(found: Sequence[Correlation], measures: Sequence[str], places: int = 3) -> list[Table]:
    """Correlations of every two columns as one matrix: tau-b / rho above the diagonal."""
    cells = {
        (f.x, f.y): f"{shown(f.coefficients['tau_b'], places)} / {shown(f.coefficients['rho'], places)}" for f in found
    }
    rows = [
        [row, *("" if column == row else cells.get((row, column), "") for column in measures[1:])]
        for row in measures[:-1]
    ]
    notes = [f"{len(found[0].runs)} runs: {', '.join(found[0].runs)}"] if len({f.runs for f in found}) == 1 else [
        f"{f.x} and {f.y}: {len(f.runs)} runs" for f in found
    ]  # fmt: skip
    left_out = {f"{run} ({why})": None for f in found for run, why in f.left_out.items()}
    undefined = [f"{f.x} and {f.y}: undefined, {f.reason}" for f in found if f.reason]
    ties = {name: number for f in found for name, number in zip((f.x, f.y), f.ties, strict=True)}
    notes += [f"left out: {', '.join(left_out)}"] if left_out else []
    notes += undefined
    notes += ["tied pairs: " + ", ".join(f"{number} in {name}" for name, number in ties.items())]
    return [Table(["", *measures[1:]], rows, title="Kendall tau-b / Spearman rho", notes=tuple(notes))]


_COLUMNS = ("x", "y", "n", *COEFFICIENTS, "p_tau_b", "p_tau_b_method", "p_rho", "ties_x", "ties_y", "left_out")


def correlation_rows(found: Sequence[Correlation]) -> Iterator[str]:
    """Lines of TSV, one a pair of columns, in full precision."""
    yield "\t".join(_COLUMNS) + "\n"
    for record in correlation_records(found):
        cells = {
            **record,
            **record["coefficients"],
            "p_tau_b": (record["p"]["tau_b"] or {}).get("value"),
            "p_tau_b_method": (record["p"]["tau_b"] or {}).get("method"),
            "p_rho": (record["p"]["rho"] or {}).get("value"),
            "ties_x": record["tied_pairs"]["x"],
            "ties_y": record["tied_pairs"]["y"],
            "left_out": " ".join(record["left_out"]),
        }
        yield "\t".join("undefined" if cells[name] is None else str(cells[name]) for name in _COLUMNS) + "\n"


def correlation_records(found: Sequence[Correlation]) -> Iterator[dict[str, Any]]:
    """Everything that was found, for JSON: null where undefined."""
    for f in found:
        yield {
            "x": f.x,
            "y": f.y,
            "n": len(f.runs),
            "runs": list(f.runs),
            "left_out": dict(f.left_out),
            "ranked_last": list(f.last),
            "tied_pairs": {"x": f.ties[0], "y": f.ties[1]},
            "coefficients": {name: _number(value) for name, value in f.coefficients.items()},
            "undefined": f.reason or None,
            "p": {name: p and p._asdict() for name, p in f.p.items()},
            "at": {
                str(k): {"tau_b": _number(tau), "overlap": overlap, "n": number}
                for k, (tau, overlap, number) in f.at.items()
            },
            "largest_fall": f.drop and {"run": f.drop[0], "ranks": f.drop[1]},
            "topics": {"x": f.topics[0], "y": f.topics[1]},
            "stability": {name: spread and spread._asdict() for name, spread in f.stability.items()},
            "without_one_run": f.without_run and f.without_run._asdict(),
            "without_one_team": f.without_team and f.without_team._asdict(),
            "significant_pairs": dict(f.pairs) or None,
            "test": f.test or None,
        }


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def difference_records(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines of JSON of the differences of judges."""
    for d in differences:
        record = {**d._asdict(), "stability": d.stability and d.stability._asdict()}
        yield json.dumps({"difference_of_judges": record}, ensure_ascii=False) + "\n"
