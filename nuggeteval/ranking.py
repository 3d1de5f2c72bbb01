"""Rank a run against qrels: one tie rule and one join, feeding every measure.

Units are ranked by score descending (64 bits), ties by the bytes of the unit id descending, which
is trec_eval's rule. What is not judged keeps its rank and is then forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nuggeteval.data import NuggetQrels, Run
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.rows import BoolArray, FloatArray, IntArray, changes, position_within, times_before

__all__ = ["Pairs", "Ranked", "no_common_topic", "rank"]


class Pairs(NamedTuple):
    """A ranking as (unit, nugget that it carries) pairs, by topic and then rank, each shape (pairs,).

    ``seen`` is the number of times that the nugget stands earlier in the ranking of its topic.
    """

    topic: IntArray
    rank: IntArray
    nugget: IntArray
    seen: IntArray


@dataclass(frozen=True, eq=False)
class Ranked:
    """The judged units of a run, with their ranks among all its units.

    Attributes:
        name: of the run.
        qrels: the table that was joined; T topics, U units.
        topic, unit, rank: of each judged unit, by topic and then rank, each shape (judged,).
        retrieved: number of units of the run in each topic, shape (T,).
        answered: topics for which the run has a unit, judged or not, shape (T,).
        example: a unit of the run, for messages.
        unknown_topics: topics of the run that the qrels do not have.
        tied: groups of tied units, judged ones among them.
        tied_topics: topics whose units all have one score.
        disagreeing: topics in which the rank column contradicts the scores.
        notes: of the run.
    """

    name: str
    qrels: NuggetQrels
    topic: IntArray
    unit: IntArray
    rank: IntArray
    retrieved: IntArray
    answered: BoolArray
    example: str = ""
    unknown_topics: tuple[str, ...] = ()
    tied: int = 0
    tied_topics: tuple[str, ...] = ()
    disagreeing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    _pairs: dict[int, Pairs] = field(default_factory=dict, init=False, repr=False)

    def pairs(self, rel: int) -> Pairs:
        """The nuggets that the ranking shows, in order, at a least grade of ``rel``."""
        if rel not in self._pairs:
            self._pairs[rel] = expand(self.qrels, self.topic, self.rank, self.unit, rel)
        return self._pairs[rel]

    def defined(self, values: FloatArray) -> FloatArray:
        """These values, NaN for topics without declared nuggets, shape (T,)."""
        values = values.copy()
        values[self.qrels.declared == 0] = np.nan
        return values

    @cached_property
    def judged_only(self) -> Ranked:
        """The ranking without its unjudged units."""
        count = np.bincount(self.topic, minlength=len(self.retrieved))
        return replace(self, rank=position_within(changes(self.topic)) + 1, retrieved=count)


def expand(qrels: NuggetQrels, topic: IntArray, rank: IntArray, unit: IntArray, rel: int) -> Pairs:
    """The (unit, nugget) pairs of ranked units, given by topic and then rank."""
    owner, nugget = qrels.positives(rel).of(unit)
    return Pairs(topic[owner], rank[owner], nugget, times_before(nugget))


def rank(run: Run, qrels: NuggetQrels, order: str = "score", depth: int | None = None) -> Ranked:
    """Join a run to qrels.

    Args:
        run: a run without repeated units.
        qrels: the table.
        order: ``score``, or ``rank`` to follow the rank column.
        depth: keep this many units of each topic (trec_eval's -M).

    Raises:
        DataError: no topic in common; ``order="rank"`` and a record without an integer rank.
        ParameterError: another order, a depth below 1.
    """
    if depth is not None and depth < 1:
        raise ParameterError(f"depth must be at least 1 (got {depth})")
    place = np.array([qrels.topic_index.get(topic, -1) for topic in run.topics], dtype=np.int64)
    if len(run) and (place < 0).all():
        raise DataError(no_common_topic(run, qrels))
    unit = _judged_unit(run, qrels, place)
    ranks, ties = _ranks(run, unit >= 0, order)
    topic = place[run.topic]
    kept = (topic >= 0) & (ranks <= (depth or len(run)))
    judged = np.flatnonzero(kept & (unit >= 0))
    judged = judged[np.lexsort((ranks[judged], topic[judged]))]
    retrieved = np.bincount(topic[kept], minlength=len(qrels.topics))
    known = qrels.topic_index
    return Ranked(
        name=run.name,
        qrels=qrels,
        topic=topic[judged],
        unit=unit[judged],
        rank=ranks[judged],
        retrieved=retrieved,
        answered=retrieved > 0,
        example=run.units[0] if len(run) else "",
        unknown_topics=tuple(run.topics[index] for index in np.flatnonzero(place < 0)),
        tied=ties,
        tied_topics=tuple(topic for topic in run.tied_topics() if topic in known),
        disagreeing=tuple(topic for topic in run.rank_disagreements() if topic in known),
        notes=run.notes,
    )


def no_common_topic(run: Run, qrels: NuggetQrels) -> str:
    """The message for a run and qrels that do not belong together."""
    judged = [topic for topic, has_rows in zip(qrels.topics, qrels.judged_topics, strict=True) if has_rows]
    theirs, ours = (", ".join(map(repr, sorted(topics)[:3])) for topics in (run.topics, judged))
    return (
        f"{run.source or run.name} and {qrels.name} have no topic in common: topics of the run are {theirs}, ...; "
        f"topics of the qrels are {ours}, ..."
    )


def _judged_unit(run: Run, qrels: NuggetQrels, place: IntArray) -> IntArray:
    """The unit of the qrels that each record is, -1 for an unjudged one, shape (n,).

    ``place`` is the number in the qrels of each topic of the run, -1 for others.
    """
    found = np.full(len(run), -1, dtype=np.int64)
    mask, cut, position = run.sorted_keys
    keys, unit = qrels.unit_keys
    wanted = keys & mask
    at = np.searchsorted(cut, wanted)
    # Equal hashes are candidates; all but a handful of units are settled by the first one.
    while len(unit) and len(cut):
        near = np.minimum(at, len(cut) - 1)
        candidate = (at < len(cut)) & (cut[near] == wanted)
        unit, wanted, at, near = unit[candidate], wanted[candidate], at[candidate], near[candidate]
        record = position[near]
        same = place[run.topic[record]] == qrels.unit_topic[unit]
        same &= qrels.unit_ids.take(unit).equal(run.units.take(record))
        found[record[same]] = unit[same]
        unit, wanted, at = unit[~same], wanted[~same], at[~same] + 1
    return found


def _ranks(run: Run, judged: BoolArray, order: str) -> tuple[IntArray, int]:
    """The rank of each record, from 1, and the number of tied groups that judged units are in.

    Ties among unjudged units alone are left as they are: no measure can tell.
    """
    records, ties = run.ordered(order, judged)
    ranks = np.empty(len(records), dtype=np.int64)
    ranks[records] = position_within(changes(run.topic[records])) + 1
    return ranks, ties
