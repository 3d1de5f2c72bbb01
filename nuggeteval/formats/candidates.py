"""Candidates: the documents that a system may use for each topic.

They stand in the records of the queries, or in a file beside them: records with a list or with one document each, lines
of ``topic document``, or a TREC run, whose order is theirs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nuggeteval.data import Run
from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import lines_of
from nuggeteval.ids import decode
from nuggeteval.records import TOPIC_KEYS, Record, first_of, identifier, is_table, records_of

__all__ = ["read_candidates"]

_LISTS = ("candidate_doc_ids", "candidate_docs", "candidates", "doc_ids")
_DOCUMENTS = ("doc_id", "docid", "document", "paper_id")
_SEPARATORS = ("\t", "|", ";", ",")
_PAIR, _RUN = 2, 6


def read_candidates(path: str, beside: bool = True) -> dict[str, list[str]]:
    """Read the candidates of topics, each once, in their order.

    Args:
        path: a file of records (JSON lines, JSON, CSV, TSV; see :mod:`nuggeteval.records`), whose candidates are
            a list under ``candidate_doc_ids``, ``candidate_docs``, ``candidates`` or ``doc_ids`` (or its text), or one
            document a record; lines of ``topic document``; or a TREC run.
        beside: whether candidates must be there; the records of queries may have none.

    Raises:
        FormatError: naming file and line: another shape, a record without topic or, beside the queries, candidates.
        DataError: no candidate at all, where there must be.
    """
    # What is no record is the line of a query where candidates need not be.
    found = _of_records(path, beside) if _holds_records(path) else _of_lines(path) if beside else {}
    if beside and not found:
        raise DataError(f"{path} has no candidate")
    return {topic: list(dict.fromkeys(documents)) for topic, documents in found.items()}


def _holds_records(path: str) -> bool:
    if Path(path).is_dir():
        return True
    line = next((line for line in lines_of(path) if line.strip()), b"")
    return line.lstrip()[:1] in (b"{", b"[") or is_table(line, TOPIC_KEYS)


def _of_lines(path: str) -> dict[str, list[str]]:
    """Of lines of two columns in their order, of the six of a run in the order of its scores."""
    found: dict[str, dict[str, float]] = {}
    columns = 0
    for number, line in enumerate(lines_of(path), start=1):
        fields = decode(line).split()
        columns = columns or len(fields)
        if not fields:
            continue
        if len(fields) != columns or columns not in (_PAIR, _RUN):
            raise FormatError(path, f"expected topic document, found {shorten(decode(line).strip())!r}", number)
        document, score = (fields[1], str(-number)) if columns == _PAIR else (fields[2], fields[4])
        try:
            found.setdefault(fields[0], {}).setdefault(document, float(score))
        except ValueError:
            raise FormatError(path, f"expected a score, found {shorten(score)!r}", number) from None
    run = Run.of(found, "candidates")
    ranked: dict[str, list[str]] = {}
    for record in run.ordered("score")[0].tolist():
        ranked.setdefault(run.topics[int(run.topic[record])], []).append(run.units[record])
    return ranked


def _of_records(path: str, beside: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records_of(path):
        documents = _documents(record, beside)
        if documents:
            found.setdefault(identifier(record, TOPIC_KEYS, "topic"), []).extend(documents)
    return found


def _documents(record: Record, beside: bool) -> list[str]:
    """The candidates that a record names."""
    listed = first_of(record.values, _LISTS)
    if listed is None and beside:
        return [identifier(record, (*_LISTS, *_DOCUMENTS), "candidate")]
    documents = _split(listed, record) if isinstance(listed, str) else listed or []
    if not isinstance(documents, list) or not all(_is_id(one) for one in documents):
        raise FormatError(
            record.path, f"candidates must be a list of ids (got {shorten(repr(listed), 40)})", record.line
        )
    return [str(one) for one in documents]


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _split(text: str, record: Record) -> list[Any]:
    """The ids in a text: JSON, or separated by the first separator that it has."""
    if text.lstrip().startswith("["):
        try:
            parsed = json.loads(text)
        except ValueError as error:
            raise FormatError(record.path, f"candidates are no JSON list: {error}", record.line) from error
        return parsed if isinstance(parsed, list) else [parsed]
    separator = next((one for one in _SEPARATORS if one in text), None)
    parts = text.split(separator) if separator else re.split(r"\s+", text)
    return [part.strip() for part in parts if part.strip()]
