"""Leaderboards: means, stability intervals, shared ranks, significance marks, groups and strata."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nuggeteval.boards import Board, uneven_topics
from nuggeteval.data import Leaderboard, Scores
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.measures import direction_of
from nuggeteval.rows import FloatArray
from nuggeteval.stats.correlation import ranks
from nuggeteval.stats.resampling import draws, intervals, resampled_means
from nuggeteval.stats.significance import (
    CORRECTIONS,
    against,
    complete_topics,
    correct,
    describe,
    differences_of,
    least_p,
    pairwise,
)

__all__ = ["BETTER", "WORSE", "Cell", "Method", "Ranking", "Section", "build_ranking", "name_of_test", "pairs_p"]

BETTER, WORSE = "▲", "▼"
"""Marks of a significant difference."""


@dataclass(frozen=True)
class Method:
    """How runs are ranked and compared.

    Attributes:
        sort: measure that orders the rows; the first with a direction by default.
        lower: measures of which less is better, beside those whose record says so.
        test: ``t``, ``wilcoxon``, ``randomisation``, ``tukey`` or None for no test.
        correction: for the number of runs compared: ``none``, ``bonferroni``, ``holm``, ``bh``; Tukey needs none.
        baseline: run that all others are compared with; the best of each measure by default.
        alpha: a corrected p below it is marked.
        resamples: of topics, for intervals; and of assignments, for sampled tests.
        seed: of every random choice.
    """

    sort: str | None = None
    lower: frozenset[str] = frozenset()
    test: str | None = "t"
    correction: str = "holm"
    baseline: str | None = None
    alpha: float = 0.05
    resamples: int = 1_000
    seed: int = 42


class Cell(NamedTuple):
    """What a leaderboard says of a run in a measure.

    Attributes:
        value: the aggregate; NaN where undefined.
        rank: 1 for the best, ``2=`` where it is shared, ``-`` without one.
        group_rank: the same among the runs of its group.
        low, high: stability interval; NaN without topics.
        p: of the difference from the run that it is compared with, corrected; NaN without a test.
        mark: ``▲`` significantly better than that run, ``▼`` worse, else empty.
    """

    value: float
    rank: str
    group_rank: str
    low: float
    high: float
    p: float
    mark: str


class Section(NamedTuple):
    """The leaderboard over some topics.

    Attributes:
        label: what it is called: ``all``, or the stratum.
        topic: the same in a column of topics: ``all``, ``all:STRATUM``.
        topics: their number; 0 where they are not known.
        runs: best first.
        cells: run -> cell of each measure.
        references: measure -> run that the others are compared with; empty without a test.
    """

    label: str
    topic: str
    topics: int
    runs: tuple[str, ...]
    cells: Mapping[str, tuple[Cell, ...]]
    references: Mapping[str, str]


@dataclass(frozen=True)
class Ranking:
    """A leaderboard, ready to be shown.

    Attributes:
        board: what it was made from.
        measures: its columns.
        higher: measure -> whether more is better; None where a measure has no direction.
        groups: run -> group.
        sections: over all topics, then each stratum.
        method: how it was made.
        notes: what a reader must know.
    """

    board: Board
    measures: tuple[str, ...]
    higher: Mapping[str, bool | None]
    groups: Mapping[str, str]
    sections: tuple[Section, ...]
    method: Method
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def signature(self) -> str:
        """Of the scores."""
        return self.board.signature

    @property
    def sorted_by(self) -> int:
        """Which measure orders the rows."""
        directed = [m for m, name in enumerate(self.measures) if self.higher[name] is not None]
        return self.measures.index(self.method.sort) if self.method.sort else (directed or [0])[0]

    @property
    def summed(self) -> frozenset[str]:
        """Measures that are numbers of things."""
        return self.board.summed if isinstance(self.board, Scores) else frozenset()


def build_ranking(board: Board, method: Method | None = None, groups: Mapping[str, str] | None = None) -> Ranking:
    """Rank the runs of a table of scores.

    Args:
        board: scores of topics, or aggregates alone, which have no intervals and no tests.
        method: how.
        groups: run -> group (automatic, manual; a team); those of the table by default.

    Raises:
        ParameterError: a measure to sort by or a baseline that is not there; an unknown test or correction.
        DataError: groups of other runs.
    """
    method = method or Method()
    higher = {name: False if name in method.lower else direction_of(name) for name in board.measures}
    _check(board, method)
    groups = _groups(board, groups)
    parts: list[tuple[str, str, Board]] = [("all", "all", board)]
    if isinstance(board, Scores):
        parts += [(label, f"all:{label}", board.stratum(label)) for label in board.strata]
    sections = tuple(_section(label, topic, part, higher, groups, method) for label, topic, part in parts)
    notes = [*_notes(board, sections[0], method)]
    if groups and (without := [run for run in board.runs if run not in groups]):
        notes.append(f"runs in no group: {listed(without)}")
    return Ranking(board, board.measures, higher, groups, sections, method, tuple(notes))


def _check(board: Board, method: Method) -> None:
    for kind, names, name in (("measure", board.measures, method.sort), ("run", board.runs, method.baseline)):
        if name is not None and name not in names:
            raise ParameterError(f"no {kind} {name!r} on the leaderboard, which has {listed(names, 12)}")
    if unknown := [name for name in method.lower if name not in board.measures]:
        raise ParameterError(f"no measure {listed(unknown)} on the leaderboard, which has {listed(board.measures, 12)}")
    if method.test is not None:
        describe(method.test, 1, method.resamples, method.seed)
    correct([], method.correction)
    if method.resamples < 1:
        raise ParameterError(f"resamples must be at least 1 (got {method.resamples})")
    if not 0 < method.alpha < 1:
        raise ParameterError(f"alpha must be in (0, 1) (got {method.alpha:g})")


def _groups(board: Board, groups: Mapping[str, str] | None) -> Mapping[str, str]:
    if groups is None:
        return board.groups if isinstance(board, Leaderboard) else {}
    if not set(groups) & set(board.runs):
        raise DataError(
            f"no run of the leaderboard ({listed(board.runs)}) is in the groups, which name {listed([*groups])}"
        )
    return {run: groups[run] for run in board.runs if run in groups}


def _section(
    label: str,
    topic: str,
    board: Board,
    higher: Mapping[str, bool | None],
    groups: Mapping[str, str],
    method: Method,
) -> Section:
    means = board.aggregates if isinstance(board, Scores) else board.values
    signs = np.array([_SIGNS[higher[name]] for name in board.measures])
    spread = _intervals(board, method)
    references, p, ahead = _compare(board, means * signs, signs, higher, method)
    cells: dict[str, tuple[Cell, ...]] = {}
    overall = [_shared_ranks(means[:, m] * signs[m]) for m in range(len(board.measures))]
    within = [_group_ranks(means[:, m] * signs[m], board.runs, groups) for m in range(len(board.measures))]
    for r, run in enumerate(board.runs):
        row = []
        for m, name in enumerate(board.measures):
            reference = references.get(name)
            mark = ""
            if reference is not None and p[r, m] < method.alpha:
                mark = BETTER if ahead[r, m] > 0 else WORSE
            ranked = higher[name] is not None
            places = (overall[m][r], within[m][r]) if ranked else ("-", "-")
            low, high = spread[r, m]
            row.append(Cell(float(means[r, m]), *places, float(low), float(high), float(p[r, m]), mark))
        cells[run] = tuple(row)
    order = _order(board, means, signs, higher, method)
    topics = len(board.topics) if isinstance(board, Scores) else 0
    return Section(label, topic, topics, tuple(board.runs[r] for r in order), cells, references)


_SIGNS: dict[bool | None, float] = {True: 1.0, False: -1.0, None: 1.0}


def _order(
    board: Board, means: FloatArray, signs: FloatArray, higher: Mapping[str, bool | None], method: Method
) -> list[int]:
    """Runs best first by the measure to sort by; undefined ones last, ties by the order of the runs."""
    directed = [name for name in board.measures if higher[name] is not None]
    name = method.sort or (directed or list(board.measures))[0]
    column = means[:, board.measures.index(name)] * signs[board.measures.index(name)]
    places = _places(column)
    return sorted(range(len(board.runs)), key=lambda r: (math.isnan(places[r]), places[r]))


def _places(column: FloatArray) -> FloatArray:
    """Rank of each run, ties sharing the best; NaN where undefined."""
    places = np.full(len(column), np.nan)
    defined = ~np.isnan(column)
    if defined.any():
        places[defined] = ranks(column[defined], "min")
    return places


def _shared_ranks(column: FloatArray) -> list[str]:
    places = _places(column)
    return [
        "-" if math.isnan(place) else f"{place:.0f}{'=' if np.count_nonzero(places == place) > 1 else ''}"
        for place in places
    ]


def _group_ranks(column: FloatArray, runs: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    names = [groups.get(run, "") for run in runs]
    found = [""] * len(runs)
    for group in filter(None, dict.fromkeys(names)):
        members = [r for r, name in enumerate(names) if name == group]
        for r, place in zip(members, _shared_ranks(column[members]), strict=True):
            found[r] = place
    return found


def _values(board: Scores, measure: int) -> FloatArray:
    """Values that are averaged, NaN elsewhere, shape (runs, topics)."""
    return np.where(board.present[:, :, measure], board.values[:, :, measure], np.nan)


def _tested(board: Board) -> list[int]:
    """Measures whose aggregate is a plain mean of topics."""
    if not isinstance(board, Scores):
        return []
    return [m for m, name in enumerate(board.measures) if name not in board.summed and name not in board.weights]


def _intervals(board: Board, method: Method) -> FloatArray:
    """Stability interval of each run and measure, shape (runs, measures, 2)."""
    found = np.full((len(board.runs), len(board.measures), 2), np.nan)
    if not isinstance(board, Scores):
        return found
    counts = draws(len(board.topics), method.resamples, method.seed)
    for m, name in enumerate(board.measures):
        if name not in board.summed:
            weights = board.weights.get(name)
            found[:, m] = intervals(resampled_means(_values(board, m), counts, weights))
    return found


def pairs_p(board: Scores, measures: Sequence[int], method: Method) -> FloatArray:
    """The p of every two runs, corrected over all pairs of a measure, shape (measures, runs, runs).

    Runs are taken in the order of their names, so that samples do not depend on the order of a file.

    Args:
        board: scores.
        measures: places of measures that are plain means.
        method: with a test.
    """
    order = sorted(range(len(board.runs)), key=lambda r: board.runs[r])
    tables = np.stack([_values(board, m)[order] for m in measures])
    p = pairwise(tables, str(method.test), method.resamples, method.seed)
    if method.test != "tukey":
        first, second = np.triu_indices(len(order), 1)
        for family in p:
            family[first, second] = family[second, first] = correct(family[first, second], method.correction)
    back = np.argsort(order)
    return p[:, back][:, :, back]


def _compare(
    board: Board, directed: FloatArray, signs: FloatArray, higher: Mapping[str, bool | None], method: Method
) -> tuple[dict[str, str], FloatArray, FloatArray]:
    """(measure -> run compared with, corrected p of every run in every measure, how far it is ahead)."""
    p, ahead = np.full(directed.shape, np.nan), np.full(directed.shape, np.nan)
    references: dict[str, str] = {}
    tested = [m for m in _tested(board) if higher[board.measures[m]] is not None and not np.isnan(directed[:, m]).all()]
    if method.test is None or not isinstance(board, Scores) or len(board.runs) < 2 or not tested:
        return references, p, ahead
    # The best run is found by the same values that are tested, so that it must be any pair that is allowed for.
    pairs = pairs_p(board, tested, method) if method.baseline is None or method.test == "tukey" else None
    for place, m in enumerate(tested):
        best = board.runs.index(method.baseline) if method.baseline else int(np.nanargmax(directed[:, m]))
        references[board.measures[m]] = board.runs[best]
        table = _values(board, m)
        if pairs is None:
            one = against(table, best, str(method.test), method.resamples, method.seed)
            p[:, m] = correct(one, method.correction)
        else:
            p[:, m] = pairs[place, best]
        counted = complete_topics(table) if method.test == "tukey" else np.ones(table.shape[1], dtype=bool)
        ahead[:, m] = np.nansum(differences_of(table, table[best])[:, counted], axis=1) * signs[m]
    return references, p, ahead


def name_of_test(method: Method, board: Scores, runs: int) -> str:
    """What the test and its correction are called."""
    test = describe(str(method.test), len(board.topics), method.resamples, method.seed)
    if method.test == "tukey":
        return test
    family = "over the runs of a measure" if method.baseline and runs else "over all pairs of runs"
    return f"{test}, {CORRECTIONS[method.correction][0]} {family}"


def _notes(board: Board, section: Section, method: Method) -> Iterator[str]:
    if not isinstance(board, Scores):
        yield "aggregates only: no stability intervals and no tests"
        yield from board.notes
        return
    yield (
        f"[low, high]: stability interval, the middle 95 % of the means over {method.resamples} resamples of the topics"
        f" (seed {method.seed}); not a confidence interval"
    )
    if section.references:
        whom = f"the baseline {method.baseline}" if method.baseline else "the best run of the measure"
        marks = f"{BETTER} better or {WORSE} worse" if method.baseline else f"{WORSE} worse"
        yield f"{marks} than {whom}: {name_of_test(method, board, len(board.runs))}, p < {method.alpha:g}"
        yield from _limits(board, section, method)
    elif len(board.runs) > 1:
        yield "no significance test"
    yield from uneven_topics(board)


def _limits(board: Scores, section: Section, method: Method) -> Iterator[str]:
    """What the test cannot find here."""
    runs = len(board.runs)
    family = 1 if method.test == "tukey" else runs - 1 if method.baseline else runs * (runs - 1) // 2
    least = least_p(str(method.test), len(board.topics), method.resamples)
    if method.correction != "none" and least * family >= method.alpha:
        yield (
            f"no difference can be significant: of {method.resamples} samples the least p is {least:.2g}, and "
            f"there are {family} comparisons; more --resamples, or --test tukey"
        )
    for name in section.references if method.test == "tukey" else ():
        number = int(complete_topics(_values(board, board.measures.index(name))).sum())
        if number < len(board.topics):
            yield f"{name}: tested over the {number} topics in which every run has a value"
