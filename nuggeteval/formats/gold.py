"""Gold answers: reference texts of topics, one or several each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import json_object, read_bytes
from nuggeteval.ids import decode
from nuggeteval.records import TOPIC_KEYS, WRAPPERS, Record, identifier, is_table, records_of

__all__ = ["read_gold"]

_TEXTS = ("gold_answer", "gold", "text", "answer", "responses", "sentences", "response")


def read_gold(path: str) -> dict[str, list[str]]:
    """Read gold answers.

    Args:
        path: records (JSON lines, JSON, CSV, TSV), or a folder of them, with a topic (``topic``, ``query_id``,
            ``narrative_id``, ..., in a ``metadata`` block too) and a text (``text``, ``answer``, ``gold_answer`` or
            ``gold``), which is a string, or a list of sentences: strings, or objects with a text; lines of
            ``topic<TAB>text``; turn -> run -> text or response, as CONE-RAG has it; or an iKAT run. Several records of
            one topic are several references; one without words is none.

    Returns:
        topic -> its reference texts, for topics that have one.

    Raises:
        FormatError: naming file and line: no topic, no text, another shape.
        DataError: no gold answer at all.
    """
    found: dict[str, list[str]] = {}
    for topic, text in _texts(path):
        if text.strip():
            found.setdefault(topic, []).append(text)
    if not found:
        raise DataError(f"{path} has no gold answer")
    return found


def _texts(path: str) -> Iterator[tuple[str, str]]:
    raw = b"{" if Path(path).is_dir() else read_bytes(path)
    first = next((line for line in raw.split(b"\n") if line.strip()), b"").lstrip()
    whole = json_object(raw)
    if whole is not None and "turns" in whole:
        yield from _of_turns(whole["turns"], path)
    elif whole is not None and not {*TOPIC_KEYS, *_TEXTS, *WRAPPERS, "metadata"} & set(whole):
        yield from _of_runs(whole, path)
    elif first[:1] in (b"{", b"[") or is_table(first, TOPIC_KEYS):
        yield from map(_of_record, records_of(path))
    else:
        yield from _of_lines(raw, path)


def _of_record(record: Record) -> tuple[str, str]:
    metadata = record.values.get("metadata")
    values = {**(metadata if isinstance(metadata, dict) else {}), **record.values}
    topic = identifier(Record(record.path, record.line, values), TOPIC_KEYS, "topic")
    text = next((values[key] for key in _TEXTS if values.get(key) is not None), None)
    if text is None:
        raise FormatError(record.path, f"no text: expected one of the keys {', '.join(_TEXTS)}", record.line)
    return topic, _joined(text, record.path, record.line)


def _joined(text: Any, path: str, line: int | None) -> str:
    """A text, or the text of its sentences."""
    if isinstance(text, str):
        return text
    entries = [one.get("text") if isinstance(one, dict) else one for one in text] if isinstance(text, list) else []
    found = [entry for entry in entries if isinstance(entry, str)]
    if not isinstance(text, list) or len(found) < len(entries):
        shown = shorten(repr(text), 40)
        raise FormatError(path, f"a gold answer must be a text or a list of sentences (got {shown})", line)
    return " ".join(found)


def _of_runs(whole: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """CONE-RAG: turn -> run -> text, or turn -> run -> {response}."""
    for topic, runs in whole.items():
        for entry in runs.values() if isinstance(runs, dict) else [runs]:
            yield topic, _joined(entry.get("response") if isinstance(entry, dict) else entry, path, None)


def _of_turns(turns: Any, path: str) -> Iterator[tuple[str, str]]:
    """An iKAT run: the first of the ranked responses of each turn."""
    try:
        for turn in turns:
            best: dict[str, Any] = min(
                turn.get("responses") or [], key=lambda response: response.get("rank", 0), default={}
            )
            yield str(turn["turn_id"]), _joined(best.get("text") or "", path, None)
    except (AttributeError, KeyError, TypeError):
        raise FormatError(path, "turns must be objects with turn_id and responses, which have rank and text") from None


def _of_lines(raw: bytes, path: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            topic, tab, text = decode(line).strip("\r ").partition("\t")
            if not tab or not topic.strip():
                raise FormatError(path, f"expected topic<TAB>text, found {shorten(decode(line))!r}", number)
            yield topic.strip(), text
