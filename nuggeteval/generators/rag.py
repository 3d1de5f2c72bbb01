"""LongEval-RAG (CLEF 2026): evidence from the candidates of a query alone, by the variants of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nuggeteval.rag import UNICODE, Dialect, Document, Passage
from nuggeteval.rag.evidence import Evidence, evidence_of
from nuggeteval.rag.passages import Chunking, passages_of
from nuggeteval.rag.retrieval import Lexical, Retrieval, fuse, order_of, variants_of
from nuggeteval.rag.selection import Scored, Selection, first_passages, rerank, select
from nuggeteval.rows import FloatArray

__all__ = ["VARIANTS", "Variant", "gather"]


class Variant(NamedTuple):
    """A configuration of the stages.

    Attributes:
        chunking: how documents are cut.
        retrieval: how passages are ranked; None takes them in the order of the candidates.
        selection: how they are reranked and selected.
        sentences: whether a model reranks the sentences.
    """

    chunking: Chunking = Chunking()
    retrieval: Retrieval | None = Retrieval()
    selection: Selection = Selection()
    sentences: bool = False


_SEMANTIC, _SHIFT = Chunking("semantic"), Chunking("topic-shift")
VARIANTS: dict[str, Variant] = {
    "concat-baseline": Variant(retrieval=None),
    "single-query-bm25": Variant(
        retrieval=Retrieval(title_boost=0.0, variants=1, feedback=0, fusion=None), selection=Selection(formula=None)
    ),
    "rrf-no-rerank": Variant(selection=Selection(formula=None)),
    "caes-rag-rrf": Variant(),
    "default": Variant(),
    "rule-minilm": Variant(sentences=True),
    "semantic-current": Variant(_SEMANTIC),
    "topic-shift-current": Variant(_SHIFT),
    "semantic-minilm": Variant(_SEMANTIC, sentences=True),
    "topic-shift-minilm": Variant(_SHIFT, sentences=True),
}
"""The ten variants of Table 4."""


def gather(
    query: str,
    documents: Sequence[Document],
    variant: Variant | None = None,
    dialect: Dialect = UNICODE,
    encode: Callable[[Sequence[str]], FloatArray] | None = None,
    prior: Mapping[str, float] | None = None,
    number: int | None = 10,
) -> Evidence:
    """The evidence for a query: from its candidates to scored sentences.

    Args:
        query: the request.
        documents: its candidates, in their order; nothing else is ever used.
        variant: configuration of the stages; ``default`` by default.
        dialect: how texts are taken apart, and whether faults of the reference are kept.
        encode: of sentences, where chunks need one: texts -> vectors of length 1.
        prior: document -> citations / largest number of citations.
        number: of sentences; None for all.

    Raises:
        ParameterError: as the stages.
    """
    variant = variant or Variant()
    passages = [part for one in documents for part in passages_of(one, variant.chunking, dialect, encode)]
    chosen = _chosen(query, passages, variant, dialect, prior)
    return evidence_of(query, chosen, dialect, number=number)


def _chosen(
    query: str, passages: list[Passage], variant: Variant, dialect: Dialect, prior: Mapping[str, float] | None
) -> list[Passage]:
    if variant.retrieval is None or not passages:
        return first_passages(passages, variant.selection)
    scores = _retrieved(query, passages, variant.retrieval, dialect)
    best = order_of(scores)[: variant.retrieval.preselect].tolist()
    shortlist = [Scored(passages[place], float(scores[place])) for place in best]
    ranked = rerank(query, shortlist, variant.selection, prior, dialect)
    return select(query, ranked, variant.selection, dialect)


def _retrieved(query: str, passages: list[Passage], retrieval: Retrieval, dialect: Dialect) -> FloatArray:
    """Scores of the passages: of the query, or of its variants fused."""
    index = Lexical(passages, retrieval.title_boost, dialect)
    scores = index.scores(query)
    if retrieval.fusion is None:
        return scores
    texts = variants_of(query, passages, scores, retrieval, dialect)
    return fuse([scores, *(index.scores(text) for _, text in texts[1:])], retrieval.fusion)
