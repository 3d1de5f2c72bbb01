"""Ratings of passages against sub-questions, in the shapes of LANCER and CRUX and as judgments.

Whatever the shape, what is read is topic -> document -> rating of each question, None where there is none. LANCER's own
file has no document ids: its rows are those of a run, in its order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nuggeteval.data import Judgment, Scale
from nuggeteval.errors import DataError, FormatError, listed, shorten
from nuggeteval.files import json_object, json_records, read_bytes
from nuggeteval.formats.judgments import grade_of_votes, read_judgment
from nuggeteval.text import natural

__all__ = ["Rated", "Ratings", "as_judgments", "is_ratings", "of_questions", "read_ratings", "write_ratings"]

Ratings = dict[str, dict[str, list[int | None]]]
"""Topic -> document -> rating 0 to 5 of each question."""


class Rated(NamedTuple):
    """Ratings as a file has them.

    Attributes:
        ratings: topic -> document -> rating of each question.
        ids: topic -> ids of its questions: those of judgments, in the order of their numbers; else 1, 2, ...
        named: whether the file names its questions, or has them by place alone.
    """

    ratings: Ratings
    ids: dict[str, list[str]]
    named: bool


_SCALE = Scale(5, 3)
_TOP = _SCALE.top
_TOPICS, _DOCUMENTS, _RATINGS = ("id", "example_id"), ("docid", "pid"), ("rating", "ratings")


def is_ratings(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is one of CRUX's judge lines, or LANCER's whole file."""
    return any(key in record for key in _RATINGS) or (bool(record) and all(map(_is_table, record.values())))


def read_ratings(path: str, candidates: Mapping[str, Sequence[str]], depth: int | None = None) -> Rated:
    """Read ratings in whatever shape they are.

    Args:
        path: judgments of documents, CRUX's judge lines (``{"id", "docid", "rating": [..]}``, or all documents of a
            topic in one line, or the older names), or LANCER's ``{topic: [[..], ..]}``.
        candidates: topic -> documents in the order of the first stage, which LANCER's rows are.
        depth: LANCER's rows may also be the first ``depth`` of them; by default they are all.

    Raises:
        FormatError: another shape, a rating that is no integer from 0 to 5 (-1: unparsable), rows of several lengths.
        DataError: rows that do not fit the run.
    """
    raw = read_bytes(path)
    if raw.lstrip()[:1] not in (b"{", b"["):
        raise FormatError(path, "ratings are JSON: judgments, CRUX's judge lines, or LANCER's {topic: [[..], ..]}")
    whole = json_object(raw)
    records = [(1, whole)] if whole is not None else list(json_records(raw, path))
    if records and "view" in records[0][1]:
        return Rated(*_of_judgments(records, path), True)
    if len(records) == 1 and records[0][1] and all(_is_table(value) for value in records[0][1].values()):
        found = _positional(records[0][1], path, candidates, depth)
    else:
        found = _of_lines(records, path)
    if not found:
        raise FormatError(path, "no rating")
    return Rated(found, {topic: _numbers(rows, path, topic) for topic, rows in found.items()}, False)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) for row in value)


def _numbers(rows: Mapping[str, Sequence[int | None]], path: str, topic: str) -> list[str]:
    """1, 2, ... for the questions of a topic."""
    lengths = {len(row) for row in rows.values()}
    if len(lengths) != 1:
        raise FormatError(
            path, f"topic {topic!r}: documents are rated against {listed(sorted(map(str, lengths)))} questions"
        )
    if lengths == {0}:
        raise FormatError(path, f"topic {topic!r} has no rating")
    return [str(number) for number in range(1, lengths.pop() + 1)]


def of_questions(
    ratings: Ratings, ids: Mapping[str, Sequence[str]], wanted: Mapping[str, Sequence[str]]
) -> tuple[Ratings, dict[str, list[str]]]:
    """The ratings against some questions alone, in their order.

    Args:
        ratings, ids: as :func:`read_ratings` gives them.
        wanted: topic -> ids of questions; those that were not rated are left out, and topics without any.
    """
    kept = {topic: [name for name in names if name in ids[topic]] for topic, names in wanted.items() if topic in ids}
    kept = {topic: names for topic, names in kept.items() if names}
    columns = {topic: [list(ids[topic]).index(name) for name in names] for topic, names in kept.items()}
    chosen = {
        topic: {document: [row[place] for place in places] for document, row in ratings[topic].items()}
        for topic, places in columns.items()
    }
    return chosen, kept


def _rating(value: Any, path: str, line: int | None) -> int | None:
    whole = value is None or (isinstance(value, int) and not isinstance(value, bool) and -1 <= value <= _TOP)
    if not whole:
        shown = shorten(repr(value), 40)
        raise FormatError(path, f"a rating must be an integer from 0 to {_TOP}, or -1 or null (got {shown})", line)
    return None if value is None or value < 0 else value


def _positional(
    tables: Mapping[str, Any], path: str, candidates: Mapping[str, Sequence[str]], depth: int | None
) -> Ratings:
    """LANCER's file: rows in the order of the run."""
    if not candidates:
        raise DataError(f"{path}: its rows have no document ids: the run that they rate must be named")
    found: Ratings = {}
    for topic, rows in tables.items():
        if topic not in candidates:
            continue
        documents = candidates[topic] if len(rows) != depth else candidates[topic][:depth]
        if len(rows) != len(documents):
            raise DataError(
                f"{path}: topic {topic!r} has {len(rows)} rows without document ids, and the run has {len(documents)} "
                "candidates: they must be the same documents in the same order"
            )
        found[topic] = {
            document: [_rating(value, path, None) for value in row]
            for document, row in zip(documents, rows, strict=True)
        }
    if not found:
        raise DataError(
            f"{path}: no topic in common: it has {listed(list(tables))}; the run has {listed(list(candidates))}"
        )
    return found


def _of_lines(records: Iterable[tuple[int, dict[str, Any]]], path: str) -> Ratings:
    """CRUX's judge lines: a document, or all documents of a topic, in a line."""
    found: Ratings = {}
    for line, record in records:
        topic = next((record[key] for key in _TOPICS if key in record), None)
        ratings = next((record[key] for key in _RATINGS if key in record), None)
        documents = record.get("docids", [next((record[key] for key in _DOCUMENTS if key in record), None)])
        rows = ratings if "docids" in record else [ratings]
        named = isinstance(documents, list) and all(map(_is_id, [topic, *documents]))
        if not named or not _is_table(rows) or len(rows or ()) != len(documents):
            shapes = '{"id", "docid", "rating": [..]} or {"id", "docids", "ratings": [[..], ..]}'
            raise FormatError(path, f"expected {shapes}", line)
        for document, row in zip(documents, rows or (), strict=True):
            mine = found.setdefault(str(topic), {})
            if str(document) in mine:
                raise FormatError(path, f"document {document!r} of topic {topic!r} is rated twice", line)
            mine[str(document)] = [_rating(value, path, line) for value in row]
    return found


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _of_judgments(records: Sequence[tuple[int, dict[str, Any]]], path: str) -> tuple[Ratings, dict[str, list[str]]]:
    """Judgments of documents: the majority of votes."""
    cells: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for line, record in records:
        judgment, scale = read_judgment(record, path, line)
        if judgment.view != "documents":
            continue
        if scale.top != _TOP:
            raise FormatError(path, f"ratings are on a scale from 0 to {_TOP} (this is one to {scale.top})", line)
        of_topic = cells.setdefault(judgment.topic, {})
        of_topic.setdefault(judgment.unit, {}).setdefault(judgment.nugget, []).append(judgment)
    if not cells:
        raise FormatError(path, "no judgment of a document")
    questions = {
        topic: sorted({nugget for row in rows.values() for nugget in row}, key=natural) for topic, rows in cells.items()
    }
    found = {
        topic: {
            document: [grade_of_votes(row[nugget]) if nugget in row else None for nugget in questions[topic]]
            for document, row in rows.items()
        }
        for topic, rows in cells.items()
    }
    return found, questions


def as_judgments(ratings: Ratings, questions: Mapping[str, Sequence[str]]) -> list[tuple[Judgment, Scale]]:
    """Ratings as judgments of documents; what could not be parsed as failed ones.

    Args:
        ratings: as :func:`read_ratings` gives them.
        questions: topic -> ids of its questions.
    """
    return [
        (_judgment(topic, document, nugget, value), _SCALE)
        for topic, rows in ratings.items()
        for document, row in rows.items()
        for nugget, value in zip(questions[topic], row, strict=True)
    ]


def _judgment(topic: str, document: str, nugget: str, value: int | None) -> Judgment:
    reason = "unparsed" if value is None else ""
    return Judgment("documents", "", topic, document, nugget, "ratings", None, value, reason)


def write_ratings(ratings: Ratings) -> Iterator[str]:
    """CRUX's judge lines, with document ids; null where a rating failed."""
    for topic, rows in ratings.items():
        for document, row in rows.items():
            yield json.dumps({"id": topic, "docid": document, "rating": row}, ensure_ascii=False) + "\n"
