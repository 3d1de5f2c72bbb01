"""Documents: JSON lines of an id and a text, in the shapes of Anserini, BEIR, MS MARCO and the tracks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from nuggeteval.errors import FormatError
from nuggeteval.files import json_records, read_bytes

__all__ = ["read_documents"]

_ID_KEYS = ("docid", "doc_id", "_id", "id", "docno")
_TEXT_KEYS = ("text", "contents", "segment", "body")


def read_documents(paths: Iterable[str], wanted: Collection[str]) -> dict[str, str]:
    """Read the texts of documents, a title before the text.

    Args:
        paths: files of JSON lines ``{"id", "title", "text"}``; ids also as docid, doc_id, _id or docno, texts also as
            contents, segment or body.
        wanted: ids; other documents are not kept.

    Returns:
        id -> text, for those of ``wanted`` that are there.

    Raises:
        FormatError: naming file and line: no id, no text, a document twice with different texts.
    """
    found: dict[str, str] = {}
    for path in paths:
        for line, record in json_records(read_bytes(path), path):
            name, text = _document(record, path, line)
            if name in wanted and found.setdefault(name, text) != text:
                raise FormatError(path, f"document {name!r} twice, with different texts", line)
    return found


def _document(record: dict[str, Any], path: str, line: int) -> tuple[str, str]:
    name = next((record[key] for key in _ID_KEYS if record.get(key) is not None), None)
    text = next((record[key] for key in _TEXT_KEYS if record.get(key) is not None), None)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise FormatError(path, f"no id: expected one of the keys {', '.join(_ID_KEYS)}", line)
    if not isinstance(text, str):
        raise FormatError(path, f"no text: expected one of the keys {', '.join(_TEXT_KEYS)}", line)
    title = record.get("title")
    return str(name), f"{title}\n{text}" if isinstance(title, str) and title.strip() else text
