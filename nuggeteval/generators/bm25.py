"""A plain first stage: BM25 of whole documents, stemmed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nuggeteval.data import Run
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.rag import UNICODE
from nuggeteval.rag.retrieval import Index
from nuggeteval.text import STOP_WORDS, stem_of

__all__ = ["bm25_run"]

K1, B = 0.9, 0.4
"""As in Anserini."""
_DECIMALS = 4


def bm25_run(
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    depth: int = 1000,
    k1: float = K1,
    b: float = B,
    tag: str = "bm25",
    show: Callable[[int, int], None] | None = None,
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """Rank a collection for every query; documents without a term of the query are not retrieved.

    Words are those of :data:`~nuggeteval.rag.UNICODE`, Porter-stemmed, without stop words. Scores have four decimals,
    so that what ties for one evaluator, in whatever precision, ties for all; ties are by id, descending, as trec_eval
    has them.

    Args:
        queries: topic -> text.
        documents: id -> text.
        depth: documents of each topic.
        k1, b: of BM25.
        tag: of the run.
        show: called with (queries that are done, all of them).
        candidates: topic -> documents that alone are ranked; None for all. The collection is what counts are from.

    Raises:
        ParameterError: a depth below 1, a negative k1, or b outside [0, 1].
        DataError: no document, or none has a word.
    """
    if depth < 1 or not k1 >= 0 or not 0 <= b <= 1:
        raise ParameterError(f"depth must be at least 1, k1 at least 0, b in [0, 1] (got {depth}, {k1}, {b})")
    names = sorted(documents, key=lambda name: name.encode("utf-8", "surrogateescape"), reverse=True)
    terms = [_terms(documents[name]) for name in names]
    if not any(terms):
        raise DataError(f"none of the {len(names)} documents has a word that is no stop word")
    index = Index(terms, k1, b)
    found: dict[str, dict[str, float]] = {}
    for number, (topic, query) in enumerate(queries.items(), start=1):
        scores = np.round(index.scores(_terms(query)), _DECIMALS)
        if candidates is not None:
            allowed = set(candidates.get(topic, ()))
            scores[[name not in allowed for name in names]] = 0.0
        best = np.argsort(-scores, kind="stable")[:depth].tolist()
        ranked = {names[place]: float(scores[place]) for place in best if scores[place] > 0}
        if ranked:
            found[topic] = ranked
        if show:
            show(number, len(queries))
    return Run.of(found, tag)


def _terms(text: str) -> list[str]:
    return [stem_of(token) for token in UNICODE.tokens(text) if token not in STOP_WORDS]
