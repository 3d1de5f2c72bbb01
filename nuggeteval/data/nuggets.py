"""Nugget banks, and the one table: which unit supports which nugget, and how well."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nuggeteval.errors import DataError, listed
from nuggeteval.ids import Ids, KeyArray, encode, group, mix, topic_keys, topic_order
from nuggeteval.rows import BoolArray, FloatArray, IntArray, check_duplicates, record_name, survivors

__all__ = ["IMPORTANCE", "VIEWS", "Nugget", "NuggetBank", "NuggetQrels", "PositiveRows", "Scale", "nugget_problem"]

T = TypeVar("T")

VIEWS = ("documents", "responses", "nuggets", "sentences", "statements")
"""What the units of a table can be."""

IMPORTANCE = {"vital": 1.0, "okay": 0.5}
"""The weight of a nugget that has an importance and no weight of its own (TREC RAG 2024)."""


class Scale(NamedTuple):
    """The grades that a judge can give: 0 to ``top``; ``rel`` is the least grade that counts."""

    top: int
    rel: int = 1


class Nugget(NamedTuple):
    """One fact that a good answer states.

    Attributes:
        id: unique within its topic, no white space.
        text: what it says; may be empty only where a bank declares ids alone.
        importance: ``vital``, ``okay`` or None.
        weight: its own weight, above 0, or None.
    """

    id: str
    text: str
    importance: str | None = None
    weight: float | None = None

    @property
    def gain(self) -> float | None:
        """Its weight where nuggets are weighted by importance; None where nothing says how much."""
        return self.weight if self.weight is not None else IMPORTANCE.get(self.importance or "")


@dataclass(frozen=True, eq=False)
class NuggetBank:
    """The declared nuggets of every topic: the denominator of coverage and recall.

    Raises:
        DataError: a repeated nugget id in a topic, an id with white space, an importance other than
            vital or okay, a weight that is not above 0.
    """

    name: str
    nuggets: Mapping[str, tuple[Nugget, ...]]
    digest: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for topic, nuggets in self.nuggets.items():
            seen: set[str] = set()
            for nugget in nuggets:
                problem = nugget_problem(nugget, seen)
                if problem:
                    raise DataError(f"{self.name}: topic {topic!r}: {problem}")
                seen.add(nugget.id)

    def __len__(self) -> int:
        return sum(map(len, self.nuggets.values()))

    def texts(self) -> list[str]:
        """The texts of all nuggets."""
        return [nugget.text for nuggets in self.nuggets.values() for nugget in nuggets]

    def has_all_of(self, other: NuggetBank) -> bool:
        """Whether every nugget of another bank is one of this bank's, with the same text."""
        mine = {(topic, nugget.id): nugget.text for topic, nuggets in self.nuggets.items() for nugget in nuggets}
        return all(mine.get((topic, n.id)) == n.text for topic, nuggets in other.nuggets.items() for n in nuggets)

    def without_blank(self) -> NuggetBank:
        """The bank without nuggets that have no text: they can be counted, but not judged."""
        kept = {topic: tuple(n for n in nuggets if n.text.strip()) for topic, nuggets in self.nuggets.items()}
        dropped = [f"{topic} {n.id}" for topic, ns in self.nuggets.items() for n in ns if not n.text.strip()]
        if not dropped:
            return self
        note = f"{self.name}: {len(dropped)} nuggets without text are left out: {listed(dropped)}"
        return replace(self, nuggets=kept, notes=(note,))

    def __repr__(self) -> str:
        return f"NuggetBank({self.name!r}, {len(self.nuggets)} topics, {len(self)} nuggets)"


def nugget_problem(nugget: Nugget, seen: set[str]) -> str | None:
    """What is wrong with a nugget, given the ids before it."""
    raw = encode(nugget.id)
    if raw.split() != [raw]:
        return f"nugget id {nugget.id!r} must be a non-empty string without white space"
    if nugget.id in seen:
        return f"duplicate nugget id {nugget.id!r}"
    if nugget.importance is not None and nugget.importance not in tuple(IMPORTANCE):
        return f"importance of nugget {nugget.id!r} must be vital or okay (got {nugget.importance!r})"
    if nugget.weight is not None and not (nugget.weight > 0 and math.isfinite(nugget.weight)):
        return f"weight of nugget {nugget.id!r} must be a finite number above 0 (got {nugget.weight})"
    return None


class PositiveRows(NamedTuple):
    """The rows of a table whose grade counts: unit ``u`` carries ``nugget[start[u]:start[u + 1]]``."""

    start: IntArray
    nugget: IntArray

    def of(self, units: IntArray) -> tuple[IntArray, IntArray]:
        """(position in ``units``, nugget) of every nugget that these units carry, in their order."""
        count = self.start[units + 1] - self.start[units]
        owner = np.repeat(np.arange(len(units)), count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        return owner, self.nugget[self.start[units][owner] + within]


@dataclass(frozen=True, eq=False)
class NuggetQrels:
    """The one table: which unit supports which nugget, and how well.

    T topics, U units and N nuggets are numbered in the order of (topic, bytes of the id); R rows are
    sorted by unit, then nugget. A unit id that occurs in two topics is two units. Rows of grade 0 or
    less are kept: judged, not relevant.

    Attributes:
        topics: shape (T,).
        unit_ids, unit_topic: shape (U,).
        nugget_ids, nugget_topic: the declared nuggets, shape (N,).
        unit, nugget, grade: the rows, shape (R,).
        judged_topics: which topics the qrels have; the others only the bank has, shape (T,).
        scale: what grades can be.
        view: what the units are; None in plain TREC files, which do not say.
        bank: the bank that declared the nuggets, if any.
        ignored_rows: rows for nuggets that the bank does not have.
        failed: judgments that failed, of each topic, shape (T,).
        score: raw scores of the judge beside the grades, shape (R,); None in qrels, which have none.
        length: words of each unit, -1 where its text is not known, shape (U,); None where no texts were read.
        judge: who made the grades, where a judgments file says so.
        digest: SHA-256 of the source.
    """

    name: str
    topics: tuple[str, ...]
    unit_ids: Ids
    unit_topic: IntArray
    nugget_ids: tuple[str, ...]
    nugget_topic: IntArray
    unit: IntArray
    nugget: IntArray
    grade: IntArray
    judged_topics: BoolArray
    scale: Scale
    view: str | None = None
    bank: NuggetBank | None = None
    ignored_rows: int = 0
    failed: IntArray | None = None
    score: FloatArray | None = None
    length: IntArray | None = None
    judge: str = ""
    digest: str = ""
    notes: tuple[str, ...] = ()
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls,
        name: str,
        topics: Sequence[str],
        topic: IntArray,
        nugget: Ids,
        unit: Ids,
        grade: IntArray,
        *,
        duplicates: str = "error",
        where: Callable[[int], str] = record_name,
        score: FloatArray | None = None,
        digest: str = "",
        notes: tuple[str, ...] = (),
    ) -> NuggetQrels:
        """Number and sort the rows of a file.

        Args:
            name: of the source, for messages.
            topics: distinct topics, in any order.
            topic: index into ``topics`` of each row, shape (R,).
            nugget, unit: ids of each row.
            grade: integers, shape (R,).
            duplicates: ``error``, or which of several rows for one (topic, nugget, unit) to keep.
            where: names the place of a row in a message.
            score: raw scores beside the grades, shape (R,).

        Raises:
            DataError: two rows for one (topic, nugget, unit), unless told which to keep.
        """
        check_duplicates(duplicates)
        order = topic_order(topics)
        place = {topic_id: index for index, topic_id in enumerate(order)}
        topic = np.array([place[topic_id] for topic_id in topics], dtype=np.int64)[topic]
        keys = topic_keys(order)[topic]
        unit_code, unit_ids, unit_topic = _number(unit, keys, topic)
        nugget_code, nugget_ids, nugget_topic = _number(nugget, keys, topic)
        cell = unit_code * max(1, len(nugget_ids)) + nugget_code
        by_cell = np.argsort(cell, kind="stable")
        repeated = np.flatnonzero(cell[by_cell][1:] == cell[by_cell][:-1])
        if len(repeated) and duplicates == "error":
            first, second = by_cell[repeated[0]], by_cell[repeated[0] + 1]
            raise DataError(
                f"duplicate judgment of unit {unit[first]!r} for topic {order[topic[first]]!r}, nugget "
                f"{nugget[first]!r} ({where(int(first))} and {where(int(second))}); "
                "duplicates first, last or max keeps one"
            )
        if len(repeated):
            kept = survivors(cell, grade, duplicates)
            by_cell = kept[np.argsort(cell[kept], kind="stable")]
            notes = (*notes, f"{name}: {len(repeated)} duplicate judgments, kept: {duplicates}")
        return cls(
            name=name,
            topics=tuple(order),
            unit_ids=unit_ids,
            unit_topic=unit_topic,
            nugget_ids=tuple(nugget_ids),
            nugget_topic=nugget_topic,
            unit=unit_code[by_cell],
            nugget=nugget_code[by_cell],
            grade=grade[by_cell],
            score=None if score is None else score[by_cell],
            judged_topics=np.ones(len(order), dtype=bool),
            scale=Scale(max(1, int(grade.max(initial=0)))),
            digest=digest,
            notes=notes,
        )

    @classmethod
    def of(
        cls, rows: Iterable[tuple[str, str, str, int]], name: str = "qrels", duplicates: str = "error"
    ) -> NuggetQrels:
        """A table from (topic, nugget, unit, grade) rows; nugget ``"0"`` in ordinary qrels.

        Raises:
            DataError: a row of another shape, a grade that is no integer, a repeated row.
        """
        rows = list(rows)
        for row in rows:
            if len(row) != 4 or row[3] != int(row[3]):
                raise DataError(
                    f"a row must be (topic, nugget, unit, grade) with an integer for the grade (got {row!r})"
                )
        topics = list(dict.fromkeys(row[0] for row in rows))
        place = {topic: index for index, topic in enumerate(topics)}
        return cls.build(
            name,
            topics,
            np.array([place[row[0]] for row in rows], dtype=np.int64),
            Ids.of(row[1] for row in rows),
            Ids.of(row[2] for row in rows),
            np.array([row[3] for row in rows], dtype=np.int64),
            duplicates=duplicates,
        )

    def __repr__(self) -> str:
        sizes = f"{len(self.topics)} topics, {len(self.nugget_ids)} nuggets, {len(self.unit_ids)} units"
        return f"NuggetQrels({self.name!r}, {sizes}, {len(self.unit)} rows)"

    def with_bank(self, bank: NuggetBank) -> NuggetQrels:
        """The same judgments with the nuggets, weights and topics that a bank declares.

        Rows for other nuggets are left out and counted; their units stay judged. A bank that is a
        part of another one (a de-duplicated bank) thus restricts the same judgments.

        Raises:
            DataError: no (topic, nugget) in common.
        """
        topics = topic_order({*self.topics, *bank.nuggets})
        place = {topic: index for index, topic in enumerate(topics)}
        declared = sorted(
            (place[topic], encode(nugget.id), nugget.id)
            for topic, nuggets in bank.nuggets.items()
            for nugget in nuggets
        )
        new_topic = np.array([place[topic] for topic in self.topics], dtype=np.int64)
        code = {(topic, nugget_id): index for index, (topic, _, nugget_id) in enumerate(declared)}
        owner = new_topic[self.nugget_topic].tolist()
        renumbered = np.array([code.get(pair, -1) for pair in zip(owner, self.nugget_ids, strict=True)], dtype=np.int64)
        if len(self.nugget_ids) and (renumbered < 0).all():
            raise DataError(self._no_common_nugget(bank))
        nugget = renumbered[self.nugget]
        kept = nugget >= 0
        unit, nugget, grade = self.unit[kept], nugget[kept], self.grade[kept]
        order = np.lexsort((nugget, unit))
        judged = np.zeros(len(topics), dtype=bool)
        judged[new_topic] = self.judged_topics
        failed = np.zeros(len(topics), dtype=np.int64)
        failed[new_topic] = 0 if self.failed is None else self.failed
        return replace(
            self,
            topics=tuple(topics),
            unit_topic=new_topic[self.unit_topic],
            nugget_ids=tuple(nugget_id for _, _, nugget_id in declared),
            nugget_topic=np.array([topic for topic, _, _ in declared], dtype=np.int64),
            unit=unit[order],
            nugget=nugget[order],
            grade=grade[order],
            score=None if self.score is None else self.score[kept][order],
            judged_topics=judged,
            bank=bank,
            ignored_rows=int(np.count_nonzero(~kept)),
            failed=failed,
        )

    def with_lengths(self, lengths: Mapping[str, int]) -> NuggetQrels:
        """The same judgments with the number of words of each unit.

        Args:
            lengths: unit -> words of its text; it need not have all.
        """
        return replace(self, length=np.array([lengths.get(unit, -1) for unit in self.unit_ids], dtype=np.int64))

    def _no_common_nugget(self, bank: NuggetBank) -> str:
        topic, nugget_id = self.topics[self.nugget_topic[0]], self.nugget_ids[0]
        theirs = next(((t, n[0].id) for t, n in bank.nuggets.items() if n), ("-", "-"))
        return (
            f"{bank.name} and {self.name} have no nugget in common: the bank has topic {theirs[0]!r}, "
            f"nugget {theirs[1]!r}, ...; the qrels have topic {topic!r}, nugget {nugget_id!r}, ..."
        )

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """A value derived from the table, computed once."""
        if key not in self._memo:
            self._memo[key] = compute()
        value: T = self._memo[key]
        return value

    @cached_property
    def topic_index(self) -> dict[str, int]:
        """The number of each topic."""
        return {topic: index for index, topic in enumerate(self.topics)}

    @cached_property
    def unit_keys(self) -> tuple[KeyArray, IntArray]:
        """Hashes of (topic, unit) in ascending order, as runs have them, and the unit of each."""
        keys = mix(self.unit_ids.hash() ^ topic_keys(self.topics)[self.unit_topic])
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def declared(self) -> FloatArray:
        """Number of declared nuggets of each topic, shape (T,)."""
        return np.bincount(self.nugget_topic, minlength=len(self.topics)).astype(np.float64)

    @cached_property
    def importance(self) -> FloatArray:
        """Weight of each nugget by importance, shape (N,).

        Raises:
            DataError: there is no bank, or it says nothing of a nugget's importance.
        """
        gains = [nugget.gain for nugget in self._bank_nuggets()]
        for nugget_id, topic, gain in zip(self.nugget_ids, self.nugget_topic, gains, strict=True):
            if gain is None:
                raise DataError(
                    f"the bank gives nugget {nugget_id!r} of topic {self.topics[topic]!r} neither importance nor weight"
                )
        return np.array(gains, dtype=np.float64)

    @cached_property
    def vital(self) -> BoolArray:
        """Which nuggets are vital, shape (N,).

        Raises:
            DataError: there is no bank, or a nugget without importance.
        """
        for nugget_id, nugget in zip(self.nugget_ids, self._bank_nuggets(), strict=True):
            if nugget.importance is None:
                raise DataError(f"the bank does not say whether nugget {nugget_id!r} is vital or okay")
        return np.array([nugget.importance == "vital" for nugget in self._bank_nuggets()], dtype=bool)

    def _bank_nuggets(self) -> list[Nugget]:
        if self.bank is None:
            raise DataError("importance and weights of nuggets come from a bank: --bank FILE")
        found = {(topic, n.id): n for topic, nuggets in self.bank.nuggets.items() for n in nuggets}
        return [
            found[self.topics[topic], nugget_id]
            for topic, nugget_id in zip(self.nugget_topic, self.nugget_ids, strict=True)
        ]

    def positives(self, rel: int) -> PositiveRows:
        """The rows with a grade of at least ``rel``, indexed by unit."""

        def compute() -> PositiveRows:
            counts = self.grade >= rel
            start = np.searchsorted(self.unit[counts], np.arange(len(self.unit_ids) + 1))
            return PositiveRows(start, self.nugget[counts])

        return self.memo(("positives", rel), compute)

    def unit_grades(self, adhoc: str, rel: int) -> IntArray:
        """One grade for each unit, for measures that know no nuggets, shape (U,).

        Args:
            adhoc: ``max`` over its nuggets, ``sum`` of its grades above 0, or ``count`` of the
                nuggets that it carries at ``rel``.
            rel: least grade that ``count`` counts.
        """

        def compute() -> IntArray:
            size = len(self.unit_ids)
            if adhoc == "sum":
                return np.bincount(self.unit, weights=np.maximum(self.grade, 0), minlength=size).astype(np.int64)
            if adhoc == "count":
                return np.bincount(self.unit[self.grade >= rel], minlength=size)
            grades = np.full(size, np.iinfo(np.int64).min)
            np.maximum.at(grades, self.unit, self.grade)
            grades[np.bincount(self.unit, minlength=size) == 0] = 0
            return grades

        return self.memo(("unit_grades", adhoc, rel if adhoc == "count" else None), compute)


def _number(ids: Ids, keys: KeyArray, topic: IntArray) -> tuple[IntArray, Ids, IntArray]:
    """Number the (topic, id) pairs of a column in the order of topic and bytes.

    Returns:
        (code of each row, the ids by code, the topic of each code).
    """
    code, first = group(ids, mix(ids.hash() ^ keys), topic)
    order = ids.take(first).argsort(topic[first])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    first = first[order]
    return rank[code], ids.take(first).compact(), topic[first]
