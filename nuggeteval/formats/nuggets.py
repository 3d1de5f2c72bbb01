"""Nugget banks as JSON lines.

Written, one topic a line: ``{"topic", "nuggets": [{"id", "text", "importance", "weight"}]}``. Read as
well: one nugget a line ``{"topic", "nugget_id", "text"}``, CRUX's ``{"id", "nuggets": [{"nugget_id",
"text"}]}``, CONE-RAG's JSON ``{topic: {"[1]": {"text"}}}`` (ids without brackets) and nuggetizer's
``{"qid", "nuggets": [{"text", "importance"}]}``, whose nuggets have no ids and get stable ones made of
their text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nuggeteval.data import Nugget, NuggetBank
from nuggeteval.data.nuggets import nugget_problem
from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import json_object, json_records, read_bytes, write_text
from nuggeteval.ids import encode, stable_id

__all__ = ["bank_from_bytes", "read_bank", "write_bank"]

EXAMPLE = '{"topic": "t1", "nuggets": [{"id": "n1", "text": "..."}]}'

_TOPIC_KEYS = ("topic", "topic_id", "qid", "query_id", "request_id", "narrative_id", "turn_id")
_ID_KEYS = ("id", "nugget_id", "question_id")
_TEXT_KEYS = ("text", "nugget", "question")


def read_bank(path: str) -> NuggetBank:
    """Read a nugget bank.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.

    Raises:
        FormatError: naming file and line: not JSON, a key that is missing, an id with white space
            or twice in its topic, an importance or weight that cannot be.
    """
    bank, problems = bank_from_bytes(read_bytes(path), path)
    if problems:
        raise problems[0]
    if not bank.nuggets:
        raise FormatError(path, "empty nugget bank")
    return bank


def bank_from_bytes(raw: bytes, path: str) -> tuple[NuggetBank, list[FormatError]]:
    """The sound nuggets of a bank, and what is wrong with the others."""
    problems: list[FormatError] = []
    found: dict[str, list[Nugget]] = {}
    seen: dict[str, set[str]] = {}
    try:
        for line, record in _records(raw, path):
            try:
                topic, entries = _topic_entries(record)
                found.setdefault(topic, [])
                for entry in entries:
                    nugget = _nugget(topic, entry)
                    problem = nugget_problem(nugget, seen.setdefault(topic, set()))
                    if problem:
                        raise DataError(f"topic {topic!r}: {problem}")
                    seen[topic].add(nugget.id)
                    found[topic].append(nugget)
            except DataError as error:
                problems.append(FormatError(path, str(error), line))
    except FormatError as error:
        problems.append(
            FormatError(path, f"{error.message}; a bank has a JSON object a line, as {EXAMPLE}", error.line)
        )
    nuggets = {topic: tuple(entries) for topic, entries in found.items()}
    return NuggetBank(path, nuggets, hashlib.sha256(raw).hexdigest(), _blank_notes(path, nuggets)), problems


def _blank_notes(path: str, bank: Mapping[str, tuple[Nugget, ...]]) -> tuple[str, ...]:
    """Nuggets with an id and no text can be scored, since judgments name ids, but not judged."""
    blank = [f"{topic} {nugget.id}" for topic, nuggets in bank.items() for nugget in nuggets if not nugget.text.strip()]
    return (f"{path}: {len(blank)} nuggets have no text, but count: {', '.join(blank[:5])}",) if blank else ()


def _records(raw: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a bank by line; CONE-RAG's one object, ``{topic: {"[1]": {"text"}}}``, is told topic by topic."""
    whole = json_object(raw)
    if whole is None or {*_TOPIC_KEYS, "id", "nuggets"} & set(whole):
        yield from json_records(raw, path)
        return
    for topic, nuggets in whole.items():
        if not isinstance(nuggets, dict) or not all(isinstance(nugget, dict) for nugget in nuggets.values()):
            raise FormatError(path, f"topic {topic!r}: expected an object from id to nugget")
        entries = [{"id": name.strip("[]"), "text": nugget.get("text")} for name, nugget in nuggets.items()]
        yield 1, {"topic": topic, "nuggets": entries}


def _topic_entries(record: dict[str, Any]) -> tuple[str, Sequence[dict[str, Any]]]:
    """A record's topic and its nuggets, in either shape."""
    if "nuggets" not in record:
        return _identifier(record, _TOPIC_KEYS, "topic"), [record]
    entries = record["nuggets"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError("'nuggets' must be a list of objects")
    return _identifier(record, (*_TOPIC_KEYS, "id"), "topic"), entries


def _identifier(record: dict[str, Any], keys: Sequence[str], what: str) -> str:
    """The one id that a record gives under any of these keys; numbers are taken as they are written."""
    values = {key: record[key] for key in keys if record.get(key) is not None}
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise DataError(f"{what} {key!r} must be a string or an integer (got {value!r})")
    ids = {str(value) for value in values.values()}
    if not ids:
        raise DataError(f"no {what}: expected one of the keys {', '.join(keys)}, as in {EXAMPLE}")
    if len(ids) > 1:
        raise DataError(f"conflicting {what}s: " + ", ".join(f"{key} {value!r}" for key, value in values.items()))
    identifier = ids.pop()
    raw = encode(identifier)
    if raw.split() != [raw]:
        raise DataError(f"{what} {identifier!r} must be a non-empty string without white space")
    return identifier


def _nugget(topic: str, entry: dict[str, Any]) -> Nugget:
    text = next((entry[key] for key in _TEXT_KEYS if entry.get(key) is not None), "")
    if not isinstance(text, str):
        raise DataError(f"topic {topic!r}: text of a nugget must be a string (got {shorten(repr(text), 40)})")
    keys = _ID_KEYS if "nuggets" not in entry and not any(key in entry for key in _TOPIC_KEYS) else _ID_KEYS[1:]
    named = any(entry.get(key) is not None for key in keys)
    if not named and not text.strip():
        raise DataError(f"topic {topic!r}: a nugget has neither id nor text")
    identifier = _identifier(entry, keys, "nugget id") if named else stable_id(topic, text)
    importance, weight = entry.get("importance"), entry.get("weight")
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, int | float) or abs(weight) > 1e300):
        raise DataError(f"topic {topic!r}: weight of nugget {identifier!r} must be a number (got {weight!r})")
    return Nugget(identifier, text, importance, None if weight is None else float(weight))


def write_bank(bank: NuggetBank, path: str) -> None:
    """Write a nugget bank, one topic a line.

    Raises:
        FormatError: the file cannot be written.
    """
    write_text(path, "".join(_bank_lines(bank)))


def _bank_lines(bank: NuggetBank) -> Iterable[str]:
    for topic, nuggets in bank.nuggets.items():
        entries = [{key: value for key, value in nugget._asdict().items() if value is not None} for nugget in nuggets]
        yield json.dumps({"topic": topic, "nuggets": entries}, ensure_ascii=False) + "\n"
