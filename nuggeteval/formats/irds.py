"""Qrels by ir_datasets id: ``irds:ID``."""

from __future__ import annotations

from nuggeteval.data import NuggetQrels
from nuggeteval.errors import FormatError

__all__ = ["PREFIX", "nugget_of", "read_irds_qrels"]

PREFIX = "irds:"


def read_irds_qrels(path: str, duplicates: str = "error") -> NuggetQrels:
    """Read the qrels of an ir_datasets data set.

    Args:
        path: ``irds:`` and the id, for example ``irds:clueweb12/trec-web-2013``.
        duplicates: what to do with a repeated (topic, nugget, unit).

    Raises:
        FormatError: no such data set, one without qrels, or one that cannot be downloaded.
    """
    import ir_datasets

    name = path.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise FormatError(path, f"ir_datasets has no data set {name!r}") from None
    if not dataset.has_qrels():
        raise FormatError(path, f"the data set {name!r} has no qrels")
    try:
        rows = [(row.query_id, nugget_of(row), row.doc_id, row.relevance) for row in dataset.qrels_iter()]
    except (OSError, RuntimeError) as error:
        raise FormatError(path, f"the qrels cannot be had: {error}") from error
    return NuggetQrels.of(rows, path, duplicates)


def nugget_of(row: object) -> str:
    """The nugget of a qrels row: a sub-topic where the collection has them, else the iteration column, else ``0``."""
    return str(getattr(row, "subtopic_id", None) or getattr(row, "iteration", None) or "0")
