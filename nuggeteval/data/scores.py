"""Scores: run x topic x measure; and leaderboards, which have no topics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nuggeteval.errors import DataError, listed
from nuggeteval.rows import BoolArray, FloatArray

__all__ = ["Leaderboard", "ScoreRow", "Scores", "join_scores"]


class ScoreRow(NamedTuple):
    """One value of a table of scores; None where it is undefined."""

    run: str
    topic: str
    measure: str
    value: float | None


@dataclass(frozen=True, eq=False)
class Scores:
    """What was measured: run x topic x measure.

    Attributes:
        runs, topics, measures: the names along each axis.
        values: NaN where a value is undefined, shape (runs, topics, measures).
        present: where there is a row at all; others are in no mean, same shape.
        summed: measures whose aggregate is a sum, not a mean (numbers of things).
        weights: of each topic in the mean of a measure, by measure name, each shape (runs, topics):
            a mean weighted by the number of nuggets is a pooled (micro) average.
        strata: topics of each stratum, which has means of its own beside those of all topics.
        signature: under which policies the values hold.
        notes: what a reader should know before trusting them.
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    measures: tuple[str, ...]
    values: FloatArray
    present: BoolArray
    summed: frozenset[str] = frozenset()
    weights: Mapping[str, FloatArray] = field(default_factory=dict)
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signature: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def aggregates(self) -> FloatArray:
        """The value of each run and measure over all topics, NaN where undefined, shape (runs, measures).

        Means are exact sums rounded once, so that equal values give equal means in any order.
        """
        shape = (len(self.runs), len(self.measures))
        return np.array([[self._aggregate(r, m) for m in range(shape[1])] for r in range(shape[0])]).reshape(shape)

    def _aggregate(self, run: int, measure: int) -> float:
        values = self.values[run, :, measure]
        counted = self.present[run, :, measure] & ~np.isnan(values)
        name = self.measures[measure]
        values = values[counted]
        if name in self.summed:
            return math.fsum(values)
        if not len(values):
            return math.nan
        if name in self.weights:
            weights = self.weights[name][run, counted]
            total = math.fsum(weights)
            return math.fsum(values * weights) / total if total else math.fsum(values)
        return math.fsum(values) / len(values)

    def with_strata(self, labels: Mapping[str, str]) -> Scores:
        """The same scores with means of strata too.

        Args:
            labels: topic -> the stratum that it is in; other topics are in none.

        Raises:
            DataError: not one topic has a label.
        """
        strata: dict[str, tuple[str, ...]] = {}
        for topic in self.topics:
            if topic in labels:
                strata[labels[topic]] = (*strata.get(labels[topic], ()), topic)
        without = [topic for topic in self.topics if topic not in labels]
        if not strata:
            raise DataError(f"no topic of the scores is in a stratum; they are {listed(self.topics)}")
        notes = (*self.notes, f"topics in no stratum: {listed(without)}") if without else self.notes
        return replace(self, strata={label: strata[label] for label in sorted(strata)}, notes=notes)

    def stratum(self, label: str) -> Scores:
        """The scores of the topics of one stratum.

        Raises:
            KeyError: no such stratum.
        """
        inside = np.isin(self.topics, self.strata[label])
        return replace(
            self,
            topics=self.strata[label],
            values=self.values[:, inside],
            present=self.present[:, inside],
            weights={measure: weights[:, inside] for measure, weights in self.weights.items()},
            strata={},
        )

    def of_measures(self, measures: Iterable[str]) -> Scores:
        """The same scores with these measures only, in this order.

        Raises:
            KeyError: no such measure.
        """
        kept = [_index(self.measures, measure, "measure") for measure in measures]
        return replace(
            self,
            measures=tuple(self.measures[index] for index in kept),
            values=self.values[:, :, kept],
            present=self.present[:, :, kept],
        )

    def of_runs(self, runs: Iterable[str]) -> Scores:
        """The same scores of these runs only, in this order.

        Raises:
            KeyError: no such run.
        """
        kept = [_index(self.runs, run, "run") for run in runs]
        return replace(
            self,
            runs=tuple(self.runs[index] for index in kept),
            values=self.values[kept],
            present=self.present[kept],
            weights={measure: weights[kept] for measure, weights in self.weights.items()},
        )

    def leaderboard(self, name: str = "") -> Leaderboard:
        """The aggregates alone."""
        return Leaderboard(name, self.runs, self.measures, self.aggregates, notes=self.notes, signature=self.signature)

    def undefined(self, run: int, measure: int) -> int:
        """Number of topics that have no value and are therefore in no mean."""
        return int(np.count_nonzero(self.present[run, :, measure] & np.isnan(self.values[run, :, measure])))

    def __repr__(self) -> str:
        return f"Scores({len(self.runs)} runs, {len(self.topics)} topics, measures {', '.join(self.measures)})"

    def value(self, run: str, measure: object, topic: str | None = None) -> float | None:
        """One value, or the aggregate without a topic; None where it is undefined or absent.

        Args:
            run: its name.
            measure: as it is printed, or the measure object that was asked for.
            topic: one topic; None for the aggregate.

        Raises:
            KeyError: no such run, topic or measure.
        """
        r, m = _index(self.runs, run, "run"), _index(self.measures, str(measure), "measure")
        if topic is None:
            value = float(self.aggregates[r, m])
        else:
            t = _index(self.topics, topic, "topic")
            value = float(self.values[r, t, m]) if self.present[r, t, m] else math.nan
        return None if math.isnan(value) else value


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Aggregates without topics: a published table, another program's file.

    Attributes:
        name: where it is from.
        runs, measures: the names along each axis.
        values: NaN where there is none, shape (runs, measures).
        groups: run -> its group (automatic, manual; a team), for those that have one.
        aliases: run -> its other name (the one in a released file).
        places: decimals that the values of a measure were rounded to, where they were.
        notes: what a reader should know before trusting them.
        signature: where the values are from.
    """

    name: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    values: FloatArray
    groups: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    signature: str = ""

    def of_runs(self, runs: Iterable[str]) -> Leaderboard:
        """The same aggregates of these runs only, in this order.

        Raises:
            KeyError: no such run.
        """
        kept = [_index(self.runs, run, "run") for run in runs]
        return replace(self, runs=tuple(self.runs[index] for index in kept), values=self.values[kept])

    def column(self, measure: str) -> dict[str, float]:
        """The value of each run that has one in a measure.

        Raises:
            KeyError: no such measure.
        """
        values = self.values[:, _index(self.measures, measure, "measure")]
        return {run: float(value) for run, value in zip(self.runs, values, strict=True) if not math.isnan(value)}

    def __repr__(self) -> str:
        return f"Leaderboard({self.name}: {len(self.runs)} runs, measures {', '.join(self.measures)})"


def join_scores(parts: Sequence[Scores]) -> Scores:
    """The rows of several tables as one; what only some of them have is absent from the others.

    Raises:
        DataError: two tables have a value for the same run, topic and measure.
    """
    if len(parts) == 1:
        return parts[0]
    runs, topics, measures = (
        tuple(dict.fromkeys(name for part in parts for name in getattr(part, axis)))
        for axis in ("runs", "topics", "measures")
    )
    values = np.full((len(runs), len(topics), len(measures)), np.nan)
    present = np.zeros(values.shape, dtype=bool)
    # A pooled mean needs the weights of all its topics: a part that does not know them leaves it undefined.
    weights = {name: np.full(values.shape[:2], np.nan) for part in parts for name in part.weights}
    for part in parts:
        cells = np.ix_(*([names.index(n) for n in mine] for names, mine in _axes(part, runs, topics, measures)))
        for name, known in part.weights.items():
            weights[name][cells[0][:, :, 0], cells[1][:, :, 0]] = known
        twice = present[cells] & part.present
        if twice.any():
            r, t, m = np.argwhere(twice)[0]
            raise DataError(f"two values for run {part.runs[r]!r}, topic {part.topics[t]!r}, {part.measures[m]}")
        values[cells] = np.where(part.present, part.values, values[cells])
        present[cells] |= part.present
    return Scores(
        runs,
        topics,
        measures,
        values,
        present,
        summed=frozenset().union(*(part.summed for part in parts)),
        weights=weights,
        signature=" + ".join(dict.fromkeys(part.signature for part in parts if part.signature)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _axes(
    part: Scores, runs: tuple[str, ...], topics: tuple[str, ...], measures: tuple[str, ...]
) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    return ((runs, part.runs), (topics, part.topics), (measures, part.measures))


def _index(names: tuple[str, ...], name: str, kind: str) -> int:
    if name not in names:
        raise KeyError(f"no {kind} {name!r} in these scores")
    return names.index(name)
