"""A model ranks the sentences of the evidence: a cross-encoder, or late interaction of an embedded encoder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nuggeteval.models.encoders import Encoded
from nuggeteval.rag import Item

__all__ = ["RERANKERS", "Reranking", "Score", "max_sim", "rerank_sentences"]

RERANKERS = ("cross-encoder", "maxsim")
"""What ranks sentences: a cross-encoder that one has to name, or MiniLM word pieces of the query and their nearest in a
sentence, which needs nothing but the extra ``embedded``."""

Score = Callable[[str, Sequence[str]], Sequence[float]]
"""Query, sentences -> a score for each sentence."""


class Reranking(NamedTuple):
    """Whether and how a model ranks the sentences.

    Attributes:
        by: one of :data:`RERANKERS`; None for the scores of the formula.
        depth: of the best sentences by the formula that are ranked; the rest stays behind them.
    """

    by: str | None = None
    depth: int = 24


def rerank_sentences(query: str, items: Sequence[Item], score: Score, depth: int = 24) -> list[Item]:
    """The first items by a model's scores, equal ones in their order, and the others after them as they were.

    Args:
        query: the request.
        items: best first by the formula.
        score: the model.
        depth: of the items that are ranked.
    """
    head = items[:depth]
    scores = score(query, [item.text for item in head]) if head else []
    ranked = [item._replace(score=float(found), reranked=True) for item, found in zip(head, scores, strict=True)]
    return [*sorted(ranked, key=lambda item: -item.score), *items[depth:]]


def max_sim(encode: Callable[[Sequence[str]], Sequence[Encoded]]) -> Score:
    """Late interaction (ColBERT, Khattab and Zaharia 2020), with pieces of the query weighted by their rarity.

    A piece of the query counts its largest cosine with a piece of the sentence, times its idf among the sentences,
    ln(1 + (N - df + 0.5) / (df + 0.5)); the sum is divided by that of the weights.

    Args:
        encode: texts -> word pieces and their vectors.
    """

    def score(query: str, texts: Sequence[str]) -> list[float]:
        asked, *found = encode([query, *texts])
        frequency = Counter(piece for one in found for piece in set(one.tokens))
        number = len(found)
        weights = np.array(
            [math.log(1 + (number - frequency[p] + 0.5) / (frequency[p] + 0.5)) for p in asked.tokens], dtype=float
        )
        if not weights.sum():
            return [0.0] * number
        return [
            float(weights @ (asked.vectors @ one.vectors.T).max(axis=1) / weights.sum()) if one.tokens else 0.0
            for one in found
        ]

    return score
