"""Records of any of four kinds of files, or of all such files in a folder: JSON lines, JSON, CSV, TSV.

JSON may be an array of records, or an object that holds them under ``queries``, ``documents``, ``records`` or ``data``.
What a file holds is known by its first bytes, never by its name. Tables begin with a line of names.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from nuggeteval.errors import FormatError, shorten
from nuggeteval.files import lines_of, parse_json
from nuggeteval.ids import decode

__all__ = ["TOPIC_KEYS", "WRAPPERS", "Record", "first_of", "identifier", "is_table", "records_of", "sound_id"]

TOPIC_KEYS = ("narrative_id", "query_id", "qid", "topic_id", "request_id", "turn_id", "topic", "id")
"""What the id of a topic is called; ``topic`` late, since TREC RAG 2024 has its words there."""

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv")
_PACKED = (".gz", ".bz2", ".xz", ".zst")
WRAPPERS = ("queries", "documents", "records", "data")
"""What an object that holds records calls them."""


class Record(NamedTuple):
    """What one record holds, and where it stands."""

    path: str
    line: int
    values: dict[str, Any]


def records_of(path: str) -> Iterator[Record]:
    """The records of a file, or of the files in a folder and the folders in it, sorted by name.

    Args:
        path: a file, compressed or not, ``-`` for stdin, or a folder.

    Raises:
        FormatError: naming file and line: not JSON, a table with a line of another length; a folder without such files.
    """
    if not path or not Path(path).is_dir():
        yield from _in_file(path)
        return
    files = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and _is_named(file))
    if not files:
        raise FormatError(path, f"no file in this folder ends in {', '.join(_SUFFIXES)}")
    for file in files:
        yield from _in_file(file)


def first_of(values: dict[str, Any], names: Iterable[str]) -> Any:
    """The first of several fields that is there and not empty; None where none is."""
    return next((values[name] for name in names if values.get(name) not in (None, "")), None)


def identifier(record: Record, names: Iterable[str], what: str) -> str:
    """The id in the first of several fields; a number is taken as it is written.

    Raises:
        FormatError: there is none, or it is no id.
    """
    found = first_of(record.values, names)
    if found is None or not str(found).strip():
        raise FormatError(record.path, f"no {what}: expected one of the keys {', '.join(names)}", record.line)
    if isinstance(found, bool) or not isinstance(found, str | int):
        shown = shorten(repr(found), 40)
        raise FormatError(record.path, f"no {what}: it must be a string or an integer (got {shown})", record.line)
    return sound_id(str(found).strip(), record.path, record.line)


def sound_id(name: str, path: str, line: int | None = None) -> str:
    """An id as it is.

    Raises:
        FormatError: it has half of a surrogate pair, which no file can hold.
    """
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise FormatError(path, f"id {name!r} has half of a surrogate pair", line) from None
    return name


def is_table(line: bytes, names: Iterable[str]) -> bool:
    """Whether a line is the first of a table that has a column of one of these names."""
    return not {cell.strip().strip('"') for cell in decode(line).strip().split(_delimiter(line))}.isdisjoint(names)


def _is_named(file: Path) -> bool:
    name = file.name
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES) and not name.startswith(".")


def _in_file(path: str) -> Iterator[Record]:
    lines = enumerate(lines_of(path), start=1)
    for number, line in lines:
        if line.strip():
            start = line.lstrip()[:1]
            if start == b"[":
                yield from _listed(_whole(line, lines), path, number)
            elif start == b"{":
                yield from _objects(number, line, lines, path)
            else:
                yield from _table(number, line, lines, path)
            return


def _whole(first: bytes, rest: Iterator[tuple[int, bytes]]) -> bytes:
    return b"".join(chain((first,), (line for _, line in rest)))


def _listed(raw: bytes, path: str, line: int) -> Iterator[Record]:
    """The records of an array."""
    for entry in parse_json(raw, path, line):
        yield Record(path, line, _object(entry, path, line))


def _object(entry: Any, path: str, line: int) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise FormatError(path, f"expected a JSON object, found {shorten(repr(entry), 40)}", line)
    return entry


def _objects(number: int, first: bytes, rest: Iterator[tuple[int, bytes]], path: str) -> Iterator[Record]:
    """JSON lines; or one object over many lines, that is a record or holds records."""
    try:
        entry = parse_json(first.rstrip(), path, number)
    except FormatError:
        whole = _whole(first, rest)
        try:
            entry = parse_json(whole, path, number)
        except FormatError:
            # Neither: the error of the first line says more than that of the whole.
            entry = parse_json(first.rstrip(), path, number)
    first_record = _object(entry, path, number)
    rest = ((line, raw) for line, raw in rest if raw.strip())
    second = next(rest, None)
    if second is None:
        yield from _unwrapped(first_record, path, number)
        return
    yield Record(path, number, first_record)
    for line, raw in chain((second,), rest):
        yield Record(path, line, _object(parse_json(raw.rstrip(), path, line), path, line))


def _unwrapped(entry: dict[str, Any], path: str, line: int) -> Iterator[Record]:
    """The records that the only object of a file holds; itself where it holds none."""
    held = next((entry[name] for name in WRAPPERS if isinstance(entry.get(name), list)), None)
    if held and entry.keys().isdisjoint(TOPIC_KEYS) and all(isinstance(one, dict) for one in held):
        yield from (Record(path, line, one) for one in held)
    else:
        yield Record(path, line, entry)


def _delimiter(header: bytes) -> str:
    return "\t" if b"\t" in header else ","


def _table(number: int, header: bytes, rest: Iterator[tuple[int, bytes]], path: str) -> Iterator[Record]:
    """The rows of a table, by the names in its first line; a cell may hold line ends if it is quoted."""
    # Full texts are longer than what the module allows at first.
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(
        (decode(line) for line in chain((header,), (line for _, line in rest))),
        delimiter=_delimiter(header),
        # A quote that is not closed would take the records after it in.
        strict=True,
    )
    try:
        names = [name.strip() for name in next(reader)]
        for row in reader:
            if not any(row):
                continue
            line = number + reader.line_num - 1
            if len(row) != len(names):
                raise FormatError(path, f"expected {len(names)} cells ({', '.join(names)}), found {len(row)}", line)
            yield Record(path, line, dict(zip(names, row, strict=True)))
    except csv.Error as error:
        where = number + reader.line_num - 1
        hint = "a cell that begins with a quote must end with one"
        raise FormatError(path, f"not a table: {error} ({hint})", where) from error
