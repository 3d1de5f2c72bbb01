"""Runs: the ranked units of one system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nuggeteval.errors import DataError, ParameterError
from nuggeteval.ids import Ids, KeyArray, mix, sorted_keys, topic_keys
from nuggeteval.rows import BoolArray, FloatArray, IntArray, changes, check_duplicates, record_name, survivors

__all__ = ["ORDERS", "Run", "by_topic_and_value"]

ORDERS = ("score", "rank")
"""What a ranking can follow; the first is the default."""


def by_topic_and_value(topic: IntArray, value: FloatArray) -> IntArray:
    """Records by topic, then value descending; files mostly are so already."""
    step = topic[1:] - topic[:-1]
    if ((step > 0) | ((step == 0) & (value[1:] <= value[:-1]))).all():
        return np.arange(len(topic))
    return np.lexsort((-value, topic))


@dataclass(frozen=True, eq=False)
class Run:
    """The ranked units of one system: all of them, judged or not, in the order of their file.

    Attributes:
        name: the run tag.
        topics: its topics, in the order of their first record.
        topic: index into ``topics`` of each record, shape (n,).
        units: unit of each record.
        scores: finite score of each record, higher is better, shape (n,).
        ranks: the rank column, -1 where it is no integer, shape (n,); None if there is none.
        source: the file that it was read from.
        notes: what a reader of the scores should know about the file.
        metadata: its comment lines, an ``# ir_metadata`` block among them.
    """

    name: str
    topics: tuple[str, ...]
    topic: IntArray
    units: Ids
    scores: FloatArray
    ranks: IntArray | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        finite = np.isfinite(self.scores)
        if not finite.all():
            bad = int(np.argmin(finite))
            raise DataError(f"the score of {self.units[bad]!r} must be a finite number (got {self.scores[bad]})")

    @classmethod
    def of(cls, rankings: Mapping[str, Mapping[str, float]], name: str = "run") -> Run:
        """A run from ``{topic: {unit: score}}``.

        Raises:
            DataError: a score that is not finite, an id with white space.
        """
        topics = tuple(rankings)
        counts = [len(rankings[topic]) for topic in topics]
        units = Ids.of(unit for topic in topics for unit in rankings[topic])
        scores = np.array([float(score) for topic in topics for score in rankings[topic].values()], dtype=np.float64)
        return cls(name, topics, np.repeat(np.arange(len(topics)), counts), units, scores)

    def __len__(self) -> int:
        return len(self.topic)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.topics)} topics, {len(self)} units)"

    @cached_property
    def sorted_keys(self) -> tuple[KeyArray, KeyArray, IntArray]:
        """Hashes of (topic, unit), sorted: see :func:`nuggeteval.ids.sorted_keys`."""
        return sorted_keys(mix(self.units.hash() ^ topic_keys(self.topics)[self.topic]))

    def without_duplicates(self, duplicates: str = "error", where: Callable[[int], str] = record_name) -> Run:
        """The run with one record for each (topic, unit).

        Args:
            duplicates: ``error``, or which record to keep: ``first``, ``last``, ``max`` (best score).
            where: names the place of a record in a message.

        Raises:
            DataError: a duplicate, unless told which to keep.
        """
        check_duplicates(duplicates)
        pairs = self.duplicates()
        if not pairs:
            return self
        if duplicates == "error":
            first, second = pairs[0]
            more = f"; {len(pairs) - 1} more duplicates" if len(pairs) > 1 else ""
            raise DataError(
                f"duplicate unit {self.units[first]!r} for topic {self.topics[self.topic[first]]!r} "
                f"({where(first)} and {where(second)}{more}); duplicates first, last or max keeps one"
            )
        code = np.arange(len(self))
        for first, second in pairs:
            code[second] = first
        kept = self._take(survivors(code, self.scores, duplicates))
        note = f"{self.name}: {len(pairs)} duplicate units, kept: {duplicates}"
        return replace(kept, notes=(*self.notes, note))

    def duplicates(self) -> list[tuple[int, int]]:
        """(first record, later record) of every repeated (topic, unit), in file order."""
        _, cut, position = self.sorted_keys
        repeated = cut[1:] == cut[:-1]
        if not repeated.any():
            return []
        suspects = np.zeros(len(cut), dtype=bool)
        suspects[1:] = repeated
        suspects[:-1] |= repeated
        first: dict[tuple[int, bytes], int] = {}
        pairs = []
        for record in np.sort(position[suspects]).tolist():
            key = (int(self.topic[record]), self.units.raw(record))
            if key in first:
                pairs.append((first[key], record))
            else:
                first[key] = record
        return pairs

    def _take(self, rows: IntArray) -> Run:
        ranks = None if self.ranks is None else self.ranks[rows]
        units = self.units.take(rows)
        return replace(self, topic=self.topic[rows], units=units, scores=self.scores[rows], ranks=ranks)

    def ranking_values(self, order: str) -> FloatArray:
        """What the records are ranked by, higher first, shape (n,).

        Raises:
            ParameterError: an order that is not in :data:`ORDERS`.
            DataError: ``rank``, and a record without an integer rank.
        """
        if order not in ORDERS:
            raise ParameterError(f"order must be one of {', '.join(ORDERS)} (got {order!r})")
        if order == "score":
            return self.scores
        if self.ranks is None or (self.ranks < 0).any():
            raise DataError(
                f"{self.source or self.name}: cannot be ordered by its rank column, which is not all integers"
            )
        return -self.ranks.astype(np.float64)

    def ordered(self, order: str = "score", matters: BoolArray | None = None) -> tuple[IntArray, int]:
        """The one ranking rule: score descending (64 bits), ties by the bytes of the unit id descending.

        Args:
            order: ``score``, or ``rank`` to follow the rank column.
            matters: break only the ties that hold such a record, shape (n,); all of them by default.

        Returns:
            (records by topic in the order of ``topics``, best first; number of tied groups broken).
        """
        value = self.ranking_values(order)
        records = by_topic_and_value(self.topic, value)
        new = changes(self.topic[records], value[records])
        if new.all():
            return records, 0
        group = np.cumsum(new) - 1
        chosen = np.bincount(group) > 1
        if matters is not None:
            chosen &= np.bincount(group, weights=matters[records]) > 0
        slots = np.flatnonzero(chosen[group])
        moved = records[slots]
        # Ascending by bytes within descending groups, then reversed: descending within ascending groups.
        ascending = self.units.take(moved).argsort(-group[slots])
        records = records.copy()
        records[slots] = moved[ascending[::-1]]
        return records, int(np.count_nonzero(chosen))

    def rank_disagreements(self) -> tuple[str, ...]:
        """Topics in which some unit has a better rank and a lower score than another one."""
        if self.ranks is None:
            return ()
        usable = np.flatnonzero(self.ranks >= 0)
        topic, ranks, scores = self.topic[usable], self.ranks[usable], self.scores[usable]
        # Within one rank the best score first: then neighbours tell whether any two ranks contradict the scores.
        step = (topic[1:] - topic[:-1], ranks[1:] - ranks[:-1])
        in_order = (step[0] > 0) | ((step[0] == 0) & (step[1] > 0))
        records = usable if in_order.all() else usable[np.lexsort((-scores, ranks, topic))]
        topic, ranks, scores = self.topic[records], self.ranks[records], self.scores[records]
        worse = (topic[1:] == topic[:-1]) & (ranks[1:] != ranks[:-1]) & (scores[1:] > scores[:-1])
        found = np.bincount(topic[1:][worse], minlength=len(self.topics))
        return tuple(self.topics[index] for index in np.flatnonzero(found))

    def tied_topics(self) -> tuple[str, ...]:
        """Topics of several records whose scores are all equal."""
        size = len(self.topics)
        some = np.zeros(size)
        some[self.topic] = self.scores
        other = np.bincount(self.topic[self.scores != some[self.topic]], minlength=size)
        tied = (np.bincount(self.topic, minlength=size) > 1) & (other == 0)
        return tuple(self.topics[index] for index in np.flatnonzero(tied))
