"""Passages ranked for a query: BM25, variants of the query, feedback, reciprocal rank fusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nuggeteval.rag import STOP_WORDS, UNICODE, Dialect, Passage, is_long, is_temporal, keywords
from nuggeteval.rows import FloatArray, IntArray

__all__ = ["Index", "Lexical", "Retrieval", "fuse", "order_of", "variants_of"]

K1, B = 1.5, 0.75
"""Of BM25; in the code of the reference alone."""

_TEMPORAL_TERMS = ("earlier", "later", "validation", "extension", "comparison")
_METHOD = frozenset(("method", "approach", "model", "framework", "technique", "algorithm"))
_METHOD_TERMS = ("method", "approach", "framework")
_DECIMALS = 12
_FEEDBACK_LEAST = 4
_KEYWORDS, _KNOWN = 12, 20


class Retrieval(NamedTuple):
    """How passages are ranked.

    Attributes:
        title_boost: share of the index that has the title too.
        variants: of the query, the original included.
        feedback: passages that pseudo-relevance feedback takes its terms from; 0 for none.
        terms: of the feedback.
        fusion: constant of reciprocal rank fusion; None ranks by the original query alone.
        preselect: passages that later stages see.
    """

    title_boost: float = 0.15
    variants: int = 5
    feedback: int = 4
    terms: int = 6
    fusion: int | None = 60
    preselect: int = 24


class Lexical:
    """BM25 over the passages of a query: idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 1.5, b 0.75, repeated terms count.

    An index is made when it is first asked, and each query is asked once.

    Args:
        passages: of all candidates of the query.
        dialect: how titles and queries are taken apart.

    Attributes:
        indexes: that were made: of texts, of titles and texts.
    """

    def __init__(self, passages: Sequence[Passage], dialect: Dialect = UNICODE) -> None:
        self._passages, self._dialect = passages, dialect
        self.indexes: dict[bool, Index] = {}
        self._scaled: dict[tuple[str, bool], FloatArray] = {}

    def scores(self, query: str, title_boost: float = 0.0) -> FloatArray:
        """Scores in [0, 1] of the passages, both indexes scaled to their range.

        Args:
            query: the request, or a variant of it.
            title_boost: weight of the index of title and text, beside that of the text alone.
        """
        body = self._scores(query, titled=False)
        if not title_boost:
            return body
        return (1.0 - title_boost) * body + title_boost * self._scores(query, titled=True)

    def _scores(self, query: str, titled: bool) -> FloatArray:
        if (query, titled) not in self._scaled:
            index = self.indexes.get(titled) or self.indexes.setdefault(titled, self._index(titled))
            self._scaled[query, titled] = _scaled(index.scores(self._dialect.tokens(query)))
        return self._scaled[query, titled]

    def _index(self, titled: bool) -> Index:
        if not titled:
            return Index([passage.tokens for passage in self._passages])
        return Index([(*self._dialect.tokens(one.title), *one.tokens) for one in self._passages])


class Index:
    """BM25 of documents that are lists of tokens.

    Args:
        documents: their tokens.
        k1, b: of BM25.
    """

    def __init__(self, documents: Sequence[Sequence[str]], k1: float = K1, b: float = B) -> None:
        import bm25s

        self._number, self._k1 = len(documents), k1
        self._index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64") if any(documents) else None
        if self._index is not None:
            self._index.index([list(tokens) for tokens in documents], show_progress=False)

    def scores(self, tokens: Sequence[str]) -> FloatArray:
        """The scores of all documents, of which 0 has none of the tokens; shape (documents,)."""
        if self._index is None or not tokens:
            return np.zeros(self._number)
        # bm25s leaves the constant factor k1 + 1 out.
        scores: FloatArray = np.asarray(self._index.get_scores(list(tokens)), dtype=np.float64) * (self._k1 + 1.0)
        return scores


def _scaled(scores: FloatArray) -> FloatArray:
    """Scores between their least and largest as 0 to 1; equal ones are all 1, or 0 where they are 0."""
    if not len(scores):
        return scores
    least, largest = scores.min(), scores.max()
    if largest == least:
        return np.full(len(scores), 1.0 if largest > 0 else 0.0)
    scaled: FloatArray = (scores - least) / (largest - least)
    return scaled


def order_of(scores: FloatArray) -> IntArray:
    """Passages by score descending, equal ones in their order."""
    order: IntArray = np.argsort(-np.round(scores, _DECIMALS), kind="stable")
    return order


def variants_of(
    query: str, passages: Sequence[Passage], scores: FloatArray, retrieval: Retrieval, dialect: Dialect = UNICODE
) -> list[tuple[str, str]]:
    """(name, text) of the variants of a query: original, keywords, temporal, method, feedback.

    Args:
        query: the request.
        passages: what is searched.
        scores: of the passages for the query, of whose best the feedback is taken.
        retrieval: how many variants, passages and terms.
        dialect: how texts are taken apart.
    """
    tokens = dialect.tokens(query)
    words = keywords(tokens, _KEYWORDS)
    made = [("original", query), ("keywords", " ".join(words))]
    if is_temporal(tokens):
        made.append(("temporal", _joined(words, _TEMPORAL_TERMS)))
    if not _METHOD.isdisjoint(tokens):
        made.append(("method", _joined(words, _METHOD_TERMS)))
    if retrieval.feedback:
        best = [passages[place] for place in order_of(scores)[: retrieval.feedback].tolist()]
        made.append(("prf", _joined(words, _feedback(best, set(keywords(tokens, _KNOWN)), retrieval.terms))))
    distinct: dict[str, tuple[str, str]] = {}
    for name, text in made:
        if text or name == "original":
            distinct.setdefault(text.lower(), (name, text))
    return list(distinct.values())[: retrieval.variants]


def _joined(words: Sequence[str], more: Sequence[str]) -> str:
    return " ".join(dict.fromkeys((*words, *more)))


def _feedback(passages: Sequence[Passage], known: set[str], number: int) -> list[str]:
    """The most frequent terms of four characters or more that the query lacks; of equal ones the first."""
    counts = Counter(
        token
        for passage in passages
        for token in passage.tokens
        if is_long(token, _FEEDBACK_LEAST) and token not in STOP_WORDS and token not in known
    )
    return [token for token, _ in counts.most_common(number)]


def fuse(lists: Sequence[FloatArray], constant: int = 60) -> FloatArray:
    """Reciprocal rank fusion (Cormack et al. 2009): the sum of 1 / (constant + rank) over lists of scores."""
    fused = np.zeros(len(lists[0]))
    for scores in lists:
        fused[order_of(scores)] += 1.0 / (constant + 1.0 + np.arange(len(scores)))
    return fused
