"""LANCER (arXiv 2601.22008): rerank for nugget coverage, from ratings of candidates against sub-questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nuggeteval.aggregation import Ranked, aggregate
from nuggeteval.errors import DataError, listed
from nuggeteval.generators import Candidates, checked_order
from nuggeteval.ratings import Ratings

__all__ = ["Reranked", "rerank", "trace_lines", "unrated_notes"]


@dataclass(frozen=True)
class Reranked:
    """Candidates in their new order.

    Attributes:
        strategy: the aggregation, with its tau.
        rankings: topic -> documents.
        steps: topic -> what each document added, for the trace.
        unchanged: topics without a rating, in the order of the first stage.
    """

    strategy: str
    rankings: Candidates
    steps: Mapping[str, Ranked] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()


def rerank(candidates: Candidates, ratings: Ratings, strategy: str = "sum", tau: int | None = None) -> Reranked:
    """Rank the candidates of every topic by an aggregation of their ratings (stage 3, section 3).

    Args:
        candidates: of each topic, in the order of the first stage.
        ratings: of them; a rating that is not there, or could not be parsed, counts 0.
        strategy: as for :func:`nuggeteval.aggregation.strategy_name`.
        tau: as there.

    Raises:
        ParameterError: an unknown aggregation or tau.
        DataError: no topic in common.
    """
    if not set(candidates) & set(ratings):
        raise DataError(
            f"no topic in common: the run has {listed(list(candidates))}; the ratings {listed(list(ratings))}"
        )
    rankings: Candidates = {}
    steps: dict[str, Ranked] = {}
    unchanged = []
    for topic, documents in candidates.items():
        rows = ratings.get(topic, {})
        questions = max(map(len, rows.values()), default=0)
        if not questions:
            rankings[topic] = list(documents)
            unchanged.append(topic)
            continue
        blank: list[int | None] = [0] * questions
        table = np.array([[value or 0 for value in rows.get(document, blank)] for document in documents])
        steps[topic] = aggregate(table, strategy, tau)
        rankings[topic] = checked_order(topic, [documents[row] for row in steps[topic].order], documents)
    return Reranked(strategy, rankings, steps, tuple(unchanged))


def unrated_notes(
    candidates: Candidates, ratings: Ratings, name: str, strict: bool = True, reason: str = ""
) -> list[str]:
    """How far ratings cover the candidates.

    Args:
        candidates: of each topic.
        ratings: of them.
        name: of the ratings, for messages.
        strict: refuse candidates without a rating, which points to another run.
        reason: why most of the failed ones failed.

    Raises:
        DataError: ``strict``, and a candidate of a rated topic has no rating; none has one.
    """
    without = [
        f"{topic} {document}"
        for topic, documents in candidates.items()
        if topic in ratings
        for document in documents
        if document not in ratings[topic]
    ]
    rated = sum(len(documents) for topic, documents in candidates.items() if topic in ratings)
    if without and (strict or len(without) == rated):
        raise DataError(
            f"{name}: {len(without)} of {rated} candidates have no rating: {listed(without)}; are these the ratings of "
            "this run? (--unrated zero counts them 0)"
        )
    failed = sum(
        value is None
        for topic, documents in candidates.items()
        for document in documents
        for value in ratings.get(topic, {}).get(document, ())
    )
    notes = [f"{len(without)} of {rated} candidates have no rating and count 0"] if without else []
    notes += [f"{failed} ratings failed and count 0{f' (mostly: {reason})' if reason else ''}"] if failed else []
    if unrated := [topic for topic in candidates if topic not in ratings]:
        notes.append(f"topics without ratings keep the order of the first stage: {listed(unrated)}")
    if foreign := [topic for topic in ratings if topic not in candidates]:
        notes.append(f"topics without candidates are left out: {listed(foreign)}")
    return notes


def trace_lines(
    reranked: Reranked,
    candidates: Candidates,
    ratings: Ratings,
    ids: Mapping[str, Sequence[str]],
    texts: Mapping[str, Mapping[str, str]],
) -> Iterator[str]:
    """Lines of JSON, one a topic: its sub-questions, and for each rank the ratings and what it added.

    Args:
        reranked: the result.
        candidates: of each topic; one without ratings is told in the order of the first stage.
        ratings: of them.
        ids: of the sub-questions of each topic, in the order of the ratings.
        texts: of the sub-questions, by topic and id, as far as they are known.
    """
    for topic, documents in candidates.items():
        names, known = ids.get(topic, ()), texts.get(topic, {})
        record = {
            "topic": topic,
            "strategy": reranked.strategy,
            "questions": [{"id": name, "text": known.get(name, "")} for name in names],
            "documents": list(_steps(documents, reranked.steps.get(topic), ratings.get(topic, {}), names)),
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _steps(
    documents: Sequence[str],
    steps: Ranked | None,
    ratings: Mapping[str, Sequence[int | None]],
    names: Sequence[str],
) -> Iterator[dict[str, object]]:
    """What is told of each rank."""
    rows = range(len(documents)) if steps is None else steps.order.tolist()
    for place, row in enumerate(rows):
        new = [] if steps is None else steps.new[place].tolist()
        yield {
            "rank": place + 1,
            "docid": documents[row],
            "first_stage": row + 1,
            "ratings": ratings.get(documents[row]),
            "value": None if steps is None else float(steps.value[place]),
            "adds": [name for name, first in zip(names, new, strict=False) if first],
        }
