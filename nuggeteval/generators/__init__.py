"""Generators of reference runs: rankings in, rankings out. Nothing is added to the candidates, nothing dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nuggeteval.data import Run
from nuggeteval.errors import DataError, ParameterError

__all__ = ["Candidates", "as_run", "candidates_of", "checked_order"]

Candidates = dict[str, list[str]]
"""Topic -> documents, in the order of the first stage."""


def candidates_of(run: Run, depth: int | None = 100, order: str = "score") -> Candidates:
    """The candidates of a first-stage run, in its order: score descending, then document id descending.

    Args:
        run: the first stage.
        depth: documents of each topic that are reranked; None for all.
        order: ``rank`` to follow the rank column instead.

    Raises:
        DataError: a run without a record.
        ParameterError: a depth below 1.
    """
    if depth is not None and depth < 1:
        raise ParameterError(f"depth must be at least 1 (got {depth})")
    if not len(run):
        raise DataError(f"{run.source or run.name}: there is no candidate in the run")
    records, _ = run.ordered(order)
    found: Candidates = {topic: [] for topic in run.topics}
    for topic, document in zip(run.topic[records].tolist(), run.units.take(records), strict=True):
        ranking = found[run.topics[topic]]
        if depth is None or len(ranking) < depth:
            ranking.append(document)
    return found


def as_run(rankings: Mapping[str, Sequence[str]], tag: str) -> Run:
    """A run whose score at each position is 1 / position, so that no evaluator can order it otherwise."""
    scores = {
        topic: {document: 1.0 / place for place, document in enumerate(documents, start=1)}
        for topic, documents in rankings.items()
    }
    return Run.of(scores, tag)


def checked_order(topic: str, documents: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """A ranking, if it is one of exactly the candidates.

    Raises:
        DataError: a document that was no candidate, or a candidate that is lost.
    """
    if sorted(documents) != sorted(candidates):
        raise DataError(f"topic {topic!r}: {len(documents)} documents are ranked of {len(candidates)} candidates")
    return list(documents)
