"""Which passages an answer may use: features that rerank them, and a selection with coverage of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from nuggeteval.errors import ParameterError
from nuggeteval.rag import UNICODE, Dialect, Passage, is_temporal, keywords, year_of

__all__ = ["FORMULAS", "Scored", "Selection", "first_passages", "rerank", "select"]

FORMULAS = ("as-run", "as-printed")
"""What reranks: what the released code computes, or what the paper prints (section 1.7 of the notes on both)."""

_KNOWN, _PHRASE = 20, 10
_COVERAGE, _PHRASES = 0.35, 0.15
_KEY = 40


class Scored(NamedTuple):
    """A passage and its score."""

    passage: Passage
    score: float


class Selection(NamedTuple):
    """How passages are reranked and selected.

    Attributes:
        formula: one of :data:`FORMULAS`; None keeps the scores of the retrieval.
        title, temporal, citation: weights of a match of the title (``as-run`` alone), of a date where the query asks
            for change over time, and of the citation prior.
        passages: that are selected; None for all.
    """

    formula: str | None = "as-run"
    title: float = 0.15
    temporal: float = 0.10
    citation: float = 0.05
    passages: int | None = 20


def rerank(
    query: str,
    shortlist: Sequence[Scored],
    selection: Selection,
    prior: Mapping[str, float] | None = None,
    dialect: Dialect = UNICODE,
) -> list[Scored]:
    """Rank a shortlist by its scores and features of query and passage; equal ones stay in their order.

    Args:
        query: the request.
        shortlist: passages with the scores of the retrieval.
        selection: the formula and its weights.
        prior: document -> citations / largest number of citations; 0 where it is not named.
        dialect: how texts are taken apart.

    Raises:
        ParameterError: another formula.
    """
    if selection.formula is None:
        return list(shortlist)
    if selection.formula not in FORMULAS:
        raise ParameterError(f"the formula is one of {', '.join(FORMULAS)} (got {selection.formula!r})")
    tokens = dialect.tokens(query)
    temporal = is_temporal(tokens)
    words = keywords(tokens, _KNOWN)

    def score(passage: Passage, found: float) -> float:
        """What a passage has in the retrieval and beside it, added from left to right as the formula has it."""
        if selection.formula == "as-run":
            found += _COVERAGE * _share(words, set(passage.tokens))
            found += selection.title * _share(words, set(dialect.tokens(passage.title)))
            found += _PHRASES * _phrases(words[:_PHRASE], passage.tokens)
        if temporal and year_of(passage.timestamp) is not None:
            found += selection.temporal
        return found + selection.citation * (prior or {}).get(passage.document, 0.0)

    scored = [Scored(passage, score(passage, found)) for passage, found in shortlist]
    return sorted(scored, key=lambda one: -one.score)


def _share(words: Sequence[str], found: set[str]) -> float:
    """The share of the words that are found."""
    return sum(word in found for word in words) / max(len(words), 1)


def _phrases(words: Sequence[str], tokens: Sequence[str]) -> float:
    """The share of neighbouring words that stand side by side in a text (a substring, as in the reference)."""
    text = " ".join(tokens)
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return sum(pair in text for pair in pairs) / len(pairs) if pairs else 0.0


def select(query: str, ranked: Sequence[Scored], selection: Selection, dialect: Dialect = UNICODE) -> list[Passage]:
    """The passages that an answer may use, without near-duplicates: those that begin with the same 40 tokens.

    Where the query asks for change over time, the best passages of the earliest and of the latest document come first.
    Of several documents of the last year that is the best one; in the reference the worst.
    """
    first = _ends_of_time(ranked, dialect.reference) if is_temporal(dialect.tokens(query)) else []
    chosen: dict[tuple[str, ...], Passage] = {}
    for passage, _ in (*first, *ranked):
        if selection.passages is None or len(chosen) < selection.passages:
            chosen.setdefault(passage.tokens[:_KEY], passage)
    return list(chosen.values())


def _ends_of_time(ranked: Sequence[Scored], reference: bool) -> list[Scored]:
    """The best passages of the earliest and the latest document, if two have dates."""
    best: dict[str, Scored] = {}
    for one in ranked:
        if year_of(one.passage.timestamp) is not None:
            best.setdefault(one.passage.document, one)
    if len(best) < 2:
        return []

    def key(one: Scored, sign: int) -> tuple[int, float, str]:
        return sign * (year_of(one.passage.timestamp) or 0), -one.score, one.passage.document

    earliest = min(best.values(), key=lambda one: key(one, 1))
    latest = (
        max(best.values(), key=lambda one: key(one, 1))
        if reference
        else min(best.values(), key=lambda one: key(one, -1))
    )
    return [earliest, latest]


def first_passages(passages: Sequence[Passage], selection: Selection) -> list[Passage]:
    """The first passages in the order of the candidates: no ranking, and near-duplicates stay."""
    return list(passages[: selection.passages])
