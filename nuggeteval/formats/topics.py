"""Topic files of the tracks: what was asked, and which stratum a topic is in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nuggeteval.data import NuggetQrels
from nuggeteval.errors import FormatError, listed, shorten
from nuggeteval.files import read_bytes
from nuggeteval.ids import decode
from nuggeteval.records import TOPIC_KEYS, Record, first_of, identifier, is_table, records_of

__all__ = ["is_topics", "read_groups", "read_queries", "read_statements", "read_strata"]

_TEXT_KEYS = ("problem_statement", "narrative", "request", "query", "text", "question", "title")
_MORE_KEYS = ("background",)


def read_queries(path: str, titled: bool = False) -> dict[str, str]:
    """Read the requests of topics.

    Args:
        path: records (JSON lines, JSON, CSV, TSV) with an id and a text (``problem_statement`` and ``background``,
            ``narrative``, ``request``, ``query``, ..., or else ``title``), or a folder of them; lines of
            ``id<TAB>text``; or the topics of iKAT, whose turns are called ``number_turn``.
        titled: put the title first where there is more than a title.

    Raises:
        FormatError: naming file and line: no id, no text, a topic twice.
    """
    found: dict[str, str] = {}
    for where, line, topic, text in _rows(path, titled):
        if topic in found:
            raise FormatError(where, f"topic {topic!r} twice", line)
        found[topic] = text
    if not found:
        raise FormatError(path, "no topic")
    return found


def read_strata(path: str) -> dict[str, str]:
    """Read which stratum each topic is in.

    Args:
        path: lines of ``topic<TAB>label``, or the topics of iKAT: a turn is personal if it names a statement of the
            user, else non-personal.

    Raises:
        FormatError: naming file and line: a line of another shape, a label with white space, a topic twice.
    """
    raw = read_bytes(path)
    if raw.lstrip()[:1] == b"[" and _is_ikat(raw):
        return {topic: "personal" if turn.get("ptkb_provenance") else "non-personal" for topic, turn in _turns(raw)}
    return _two_columns(raw, path, "topic", "label")


def read_groups(path: str) -> dict[str, str]:
    """Read which group (automatic, manual; a team) each run is in: lines of ``run<TAB>group``.

    Raises:
        FormatError: naming file and line: a line of another shape, a group with white space, a run twice.
    """
    return _two_columns(read_bytes(path), path, "run", "group")


def _two_columns(raw: bytes, path: str, key: str, value: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line, row in enumerate(raw.split(b"\n"), start=1):
        fields = decode(row).split()
        if not fields:
            continue
        if len(fields) != 2:
            raise FormatError(path, f"expected {key}<TAB>{value}, found {shorten(decode(row))!r}", line)
        if fields[0] in found:
            raise FormatError(path, f"{key} {fields[0]!r} twice", line)
        found[fields[0]] = fields[1]
    if not found:
        raise FormatError(path, f"no {key}")
    return found


def is_topics(path: str) -> bool:
    """Whether a file holds topics of iKAT."""
    raw = read_bytes(path)
    return raw.lstrip()[:1] == b"[" and _is_ikat(raw)


def read_statements(path: str) -> NuggetQrels:
    """Read which statements about the user (PTKB) a turn of iKAT builds on.

    Args:
        path: topics of iKAT, with ``ptkb`` and ``ptkb_provenance``.

    Returns:
        a row for each statement of each turn: grade 1 where the turn builds on it, else 0.

    Raises:
        FormatError: other topics, or a turn that names a statement that its topic does not have.
    """
    raw = read_bytes(path)
    if not _is_ikat(raw):
        raise FormatError(path, "statements come from topics of iKAT, with ptkb and ptkb_provenance")
    rows = []
    for topic in json.loads(raw):
        statements = topic.get("ptkb") or {}
        known = [str(n) for n in (statements if isinstance(statements, dict) else range(1, len(statements) + 1))]
        for turn in topic.get("turns") or topic.get("responses") or ():
            used = {str(statement) for statement in turn.get("ptkb_provenance") or ()}
            if used - set(known):
                raise FormatError(path, f"turn {_name(topic, turn)}: unknown statements {listed(sorted(used))}")
            rows += [(_name(topic, turn), "0", statement, int(statement in used)) for statement in known]
    if not rows:
        raise FormatError(path, "no statement")
    return replace(NuggetQrels.of(rows, path), view="statements", digest=hashlib.sha256(raw).hexdigest())


def _rows(path: str, titled: bool) -> Iterator[tuple[str, int, str, str]]:
    """(file, line, topic, text) of every topic."""
    raw = b"{" if Path(path).is_dir() else read_bytes(path)
    first = raw.lstrip().split(b"\n", 1)[0]
    if first[:1] == b"[" and _is_ikat(raw):
        yield from ((path, 1, topic, _utterance(turn)) for topic, turn in _turns(raw))
    elif first[:1] in (b"{", b"[") or is_table(first, TOPIC_KEYS):
        for record in records_of(path):
            yield record.path, record.line, *_record(record, titled)
    else:
        for line, row in enumerate(raw.split(b"\n"), start=1):
            if row.strip():
                topic, tab, text = decode(row).strip().partition("\t")
                if not tab or not text.strip():
                    hint = "or a table that has a column query_id, topic, ..."
                    raise FormatError(path, f"expected id<TAB>text, found {shorten(decode(row))!r} ({hint})", line)
                yield path, line, topic, text.strip()


def _record(record: Record, titled: bool) -> tuple[str, str]:
    topic = identifier(record, TOPIC_KEYS, "topic")
    text = first_of(record.values, _TEXT_KEYS)
    if not isinstance(text, str) or not text.strip():
        raise FormatError(record.path, f"no text: expected one of the keys {', '.join(_TEXT_KEYS)}", record.line)
    more = [record.values[key] for key in _MORE_KEYS if isinstance(record.values.get(key), str)]
    title = record.values.get("title")
    first = [title] if titled and isinstance(title, str) and title.strip() and title != text else []
    return topic, "\n".join([*first, text, *more]).strip()


def _is_ikat(raw: bytes) -> bool:
    try:
        whole = json.loads(raw)
    except ValueError:
        return False
    return isinstance(whole, list) and bool(whole) and all(map(_is_ikat_topic, whole))


def _is_ikat_topic(topic: Any) -> bool:
    if not isinstance(topic, dict) or topic.get("number") is None:
        return False
    turns = topic.get("turns", topic.get("responses"))
    return isinstance(turns, list) and all(isinstance(turn, dict) and "turn_id" in turn for turn in turns)


def _turns(raw: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """(topic, turn) of the topics of iKAT."""
    for topic in json.loads(raw):
        for turn in topic.get("turns") or topic.get("responses") or ():
            yield _name(topic, turn), turn


def _name(topic: dict[str, Any], turn: dict[str, Any]) -> str:
    return f"{topic['number']}_{turn['turn_id']}"


def _utterance(turn: dict[str, Any]) -> str:
    return str(turn.get("resolved_utterance") or turn.get("utterance") or turn.get("user_utterance") or "")
