"""The bound: the best that reranking the same candidates can do, given the qrels."""

from __future__ import annotations

import numpy as np

from nuggeteval.aggregation import aggregate
from nuggeteval.data import NuggetQrels
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.generators import Candidates
from nuggeteval.stats.cover import max_coverage

__all__ = ["BY", "ideal", "without_support"]

BY = ("greedy", "exact")
"""``greedy``: the largest novelty gain one by one (alpha-nDCG); ``exact``: maximum coverage at a cutoff."""


def ideal(
    candidates: Candidates, qrels: NuggetQrels, by: str = "greedy", rel: int | None = None, cutoff: int = 10
) -> Candidates:
    """The best reranking of the same candidates.

    Args:
        candidates: of each topic, in the order of the first stage, which breaks ties.
        qrels: nugget qrels.
        by: ``greedy`` or ``exact``. The exact cover's documents come first, in their greedy order; the rest follows in
            the order of ``greedy``, so that beyond the cutoff nothing is claimed.
        rel: least grade that counts; that of the scale by default.
        cutoff: ranks whose coverage is made maximal, for ``exact``.

    Raises:
        ParameterError: another way, a cutoff below 1.
        DataError: no topic in common, or no judgment that counts.
    """
    if by not in BY:
        raise ParameterError(f"by must be one of {', '.join(BY)} (got {by!r})")
    if cutoff < 1:
        raise ParameterError(f"cutoff must be at least 1 (got {cutoff})")
    least = qrels.scale.rel if rel is None else rel
    carried = _carried(qrels, least)
    if not set(candidates) & set(qrels.topics):
        raise DataError(
            f"no topic in common: the run has {listed(list(candidates))}; {qrels.name} has {listed(qrels.topics)}"
        )
    if not carried:
        raise DataError(f"{qrels.name}: no judgment has a grade of {least} or more")
    return {topic: _best(documents, topic, carried, by, cutoff) for topic, documents in candidates.items()}


def without_support(candidates: Candidates, qrels: NuggetQrels, rel: int | None = None) -> list[str]:
    """Topics none of whose candidates supports a nugget: they keep the order of the first stage."""
    supporting = set(_carried(qrels, qrels.scale.rel if rel is None else rel))
    return [t for t, documents in candidates.items() if not any((t, document) in supporting for document in documents)]


def _carried(qrels: NuggetQrels, rel: int) -> dict[tuple[str, str], set[int]]:
    """(topic, unit) -> the nuggets that it carries."""
    found: dict[tuple[str, str], set[int]] = {}
    rows = np.flatnonzero(qrels.grade >= rel)
    names = qrels.unit_ids.take(qrels.unit[rows])
    topics = qrels.unit_topic[qrels.unit[rows]].tolist()
    for topic, unit, nugget in zip(topics, names, qrels.nugget[rows].tolist(), strict=True):
        found.setdefault((qrels.topics[topic], unit), set()).add(nugget)
    return found


def _best(
    documents: list[str], topic: str, carried: dict[tuple[str, str], set[int]], by: str, cutoff: int
) -> list[str]:
    nuggets = sorted({nugget for document in documents for nugget in carried.get((topic, document), ())})
    if not nuggets:
        return list(documents)
    place = {nugget: column for column, nugget in enumerate(nuggets)}
    table = np.zeros((len(documents), len(nuggets)), dtype=np.int64)
    for row, document in enumerate(documents):
        table[row, [place[nugget] for nugget in carried.get((topic, document), ())]] = 1
    greedy = aggregate(table, "greedy-alpha", 1).order.tolist()
    if by == "exact":
        cover = max_coverage(table > 0, cutoff)
        first = [row for row in greedy if row in set(cover)]
        greedy = [*first, *(row for row in greedy if row not in set(cover))]
    return [documents[row] for row in greedy]
