"""A citation network as a prior on documents: who is cited, or cites, most."""

from __future__ import annotations

from collections import Counter

from nuggeteval.errors import FormatError
from nuggeteval.records import identifier, records_of

__all__ = ["read_citation_prior"]

_ENDS = ("citing_doc_id", "cited_doc_id")


def read_citation_prior(path: str) -> dict[str, float]:
    """Read the prior G(d) = c(d) / max c, where c counts the rows that have a document at either end (LongEval-RAG).

    Args:
        path: records (CSV, TSV, JSON lines, JSON) with ``citing_doc_id`` and ``cited_doc_id``.

    Raises:
        FormatError: no such file, a record without one of the two, or no record at all.
    """
    counts: Counter[str] = Counter()
    for record in records_of(path):
        counts.update({identifier(record, (end,), end) for end in _ENDS})
    if not counts:
        raise FormatError(path, "no citation")
    most = max(counts.values())
    return {document: count / most for document, count in counts.items()}
