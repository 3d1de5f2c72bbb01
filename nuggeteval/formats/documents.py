"""Documents: records of an id and a text, in the shapes of Anserini, BEIR, MS MARCO, CORE and the tracks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from nuggeteval.data import Document
from nuggeteval.errors import FormatError
from nuggeteval.records import Record, first_of, identifier, records_of

__all__ = ["TEXTS", "availability", "read_collection", "read_documents"]

_IDS = ("docid", "doc_id", "_id", "id", "docno", "paper_id")
_TIMES = ("publishedDate", "publication_date", "published", "timestamp", "date", "createdDate", "year")
TEXTS = ("fullText", "full_text", "text", "body", "contents", "segment", "abstract")
"""Fields that the text of a document is looked for in, in this order; then its title."""


def read_collection(
    paths: Iterable[str],
    wanted: Collection[str] | None = None,
    fields: Sequence[str] = TEXTS,
    to_the_end: bool = False,
) -> dict[str, Document]:
    """Read documents; reading ends when all that are wanted are there.

    Args:
        paths: files of records (JSON lines, JSON, CSV, TSV) or folders of them: an id (docid, doc_id, _id, id, docno or
            paper_id), a title, a date, texts.
        wanted: distinct ids; other documents are not kept. None for all.
        fields: where the text is looked for; the first that is not empty counts, else the title.
        to_the_end: read on when all are there, so that one that comes again with another text is found.

    Returns:
        id -> document, for those that are there and have a text, in the order of the files.

    Raises:
        FormatError: naming file and line: no id, no field for a text, a document twice with different texts.
    """
    found: dict[str, Document] = {}
    for record in chain.from_iterable(map(records_of, paths)):
        document = _document(record, fields)
        if wanted is not None and document.id not in wanted:
            continue
        if found.setdefault(document.id, document).text != document.text:
            raise FormatError(record.path, f"document {document.id!r} twice, with different texts", record.line)
        if wanted is not None and not to_the_end and len(found) == len(wanted):
            break
    return found


def read_documents(paths: Iterable[str], wanted: Collection[str] | None = None) -> dict[str, str]:
    """Read the texts of documents, a title before the text.

    Args:
        paths, wanted: as for :func:`read_collection`.

    Returns:
        id -> text, for those that are there.

    Raises:
        FormatError: as :func:`read_collection`.
    """
    documents = read_collection(paths, wanted, to_the_end=True).values()
    return {one.id: f"{one.title}\n{one.text}" if one.title not in ("", one.text) else one.text for one in documents}


def availability(documents: Iterable[Document]) -> dict[str, int]:
    """How many documents have a full text, an abstract alone, or a title alone (Table 1 of LongEval-RAG)."""
    kinds = Counter("full text" if one.source not in ("abstract", "title") else one.source for one in documents)
    return {kind: kinds[kind] for kind in ("full text", "abstract", "title")}


def _document(record: Record, fields: Sequence[str]) -> Document:
    name = identifier(record, _IDS, "id")
    values = record.values
    if values.keys().isdisjoint((*fields, "title")):
        raise FormatError(record.path, f"no text: expected one of the keys {', '.join(fields)}", record.line)
    source = next((field for field in (*fields, "title") if str(values.get(field) or "").strip()), "")
    text = values.get(source, "")
    if not isinstance(text, str):
        raise FormatError(record.path, f"{source} must be a text (got {type(text).__name__})", record.line)
    title, date = values.get("title"), first_of(values, _TIMES)
    return Document(
        name, text, title.strip() if isinstance(title, str) else "", "" if date is None else str(date), source
    )
