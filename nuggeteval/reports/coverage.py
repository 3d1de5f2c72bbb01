"""Which nuggets a run finds, and what carries them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nuggeteval.data import NuggetQrels, Run
from nuggeteval.policies import Policies
from nuggeteval.ranking import rank

__all__ = ["Carried", "carried_by", "declared_nuggets"]


class Carried(NamedTuple):
    """Where a run first shows a nugget: the rank of the unit, and its id."""

    rank: int
    unit: str


def carried_by(run: Run, qrels: NuggetQrels, policies: Policies) -> dict[tuple[str, str], Carried]:
    """(topic, nugget) -> where a run first shows it, for the nuggets that it shows.

    Args:
        run: its units are those of the table's view.
        qrels: the table, with the nuggets that a bank declares.
        policies: order, depth, judged units only, and the least grade that counts.
    """
    ranked = rank(run, qrels, policies.order, policies.depth)
    if policies.judged_only:
        ranked = ranked.judged_only
    pairs = ranked.pairs(policies.rel if policies.rel is not None else qrels.scale.rel)
    units = {
        (topic, place): unit
        for topic, place, unit in zip(ranked.topic.tolist(), ranked.rank.tolist(), ranked.unit.tolist(), strict=True)
    }
    first = np.flatnonzero(pairs.seen == 0)
    found = {}
    for topic, place, nugget in zip(
        pairs.topic[first].tolist(), pairs.rank[first].tolist(), pairs.nugget[first].tolist(), strict=True
    ):
        unit = qrels.unit_ids[units[topic, place]]
        found[qrels.topics[topic], qrels.nugget_ids[nugget]] = Carried(place, unit)
    return found


def declared_nuggets(qrels: NuggetQrels) -> dict[str, list[tuple[str, str, str]]]:
    """Topic -> (id, text, importance) of its nuggets, in the order of the bank; texts are empty without one."""
    if qrels.bank is not None:
        return {
            topic: [(nugget.id, nugget.text, nugget.importance or "") for nugget in nuggets]
            for topic, nuggets in qrels.bank.nuggets.items()
        }
    found: dict[str, list[tuple[str, str, str]]] = {}
    for topic, nugget in zip(qrels.nugget_topic.tolist(), qrels.nugget_ids, strict=True):
        found.setdefault(qrels.topics[topic], []).append((nugget, "", ""))
    return found
