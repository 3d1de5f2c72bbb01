"""Read the verdict out of a language model's reply, and nothing else out of it.

Reasoning blocks, code fences, emphasis and quotes are removed. A verdict is the first word if that is
one, else the last one after a marker such as ``Answer:``; anything else is unparsed, never a guess.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nuggeteval.errors import shorten

__all__ = [
    "LABELS",
    "YES_NO",
    "clean",
    "is_refusal",
    "parse_labels",
    "parse_rating",
    "parse_table",
    "parse_yes_no",
    "spoken",
]

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r".*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_BEGIN = re.compile(r"<(?:think|thinking|reasoning)>.*", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-z]*\n?|```", re.IGNORECASE)
_EMPHASIS = re.compile(r"[*_`]+")
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_LIST = re.compile(r"\[[^\[\]]*\]", re.DOTALL)
_MARKER = r"(?:final\s+)?(?:answer|verdict|judge?ment|decision|rating|grade|score|label)\s*(?:is\s*)?[:=]?\s*[\"'(]*\s*"
_YES_NO = re.compile(rf"{_MARKER}(yes|no|true|false)\b", re.IGNORECASE)
_RATING = re.compile(rf"{_MARKER}([0-9]+(?:\.[0-9]+)?)\s*(?:/\s*5)?(?![0-9./])", re.IGNORECASE)
_ALONE = re.compile(r"([0-9]+)(?:\s*/\s*5)?[.!]?")
_REFUSAL = re.compile(
    r"\b(?:i'?m sorry|i am sorry|i can(?:no|')t|i cannot|i'?m unable|i am unable|as an ai)\b", re.IGNORECASE
)
_WORDS = {"yes": True, "true": True, "no": False, "false": False}

LABELS = {"not_support": 0, "partial_support": 1, "support": 2}
"""Label of the support judge -> grade."""


YES_NO = {"yes": 1, "true": 1, "no": 0, "false": 0}
"""Label of a yes-or-no judge -> grade."""


def spoken(reply: str) -> str:
    """A reply without its thoughts and code fences."""
    text = _THOUGHT.sub("", reply)
    text = _THOUGHT_END.sub("", text)
    text = _THOUGHT_BEGIN.sub("", text)
    return _FENCE.sub("", text).strip()


def clean(reply: str) -> str:
    """A reply without its thoughts, code fences and the quotes around it."""
    return spoken(reply).replace("\u2019", "'").strip("\"'\u201c\u201d").strip()


def is_refusal(reply: str) -> bool:
    """Whether a reply that holds no verdict is a refusal."""
    return bool(_REFUSAL.search(clean(reply)))


def parse_yes_no(reply: str) -> int | None:
    """1 for yes, 0 for no, None for anything else."""
    text = clean(reply)
    for value in _object_values(text):
        word = str(value).strip().strip(".").lower()
        if word in _WORDS:
            return int(_WORDS[word])
    plain = _EMPHASIS.sub("", text).strip(" \t\n\"'([")
    first = re.match(r"[A-Za-z]+", plain)
    if first and first.group().lower() in _WORDS:
        return int(_WORDS[first.group().lower()])
    marked = _YES_NO.findall(plain)
    return int(_WORDS[marked[-1].lower()]) if marked else None


def parse_rating(reply: str, top: int = 5) -> int | None:
    """A grade from 0 to ``top``: alone, after a label, or as ``4/5``; None for anything else."""
    text = clean(reply)
    values = [str(value) for value in _object_values(text)]
    plain = _EMPHASIS.sub("", text).strip(" \t\n\"'([)]")
    alone = _ALONE.fullmatch(plain)
    found = values or ([alone.group(1)] if alone else _RATING.findall(plain)[-1:])
    whole = [int(value) for value in found[:1] if value.isdigit()]
    return whole[0] if whole and whole[0] <= top else None


def parse_labels(reply: str, number: int, labels: Mapping[str, int] = LABELS) -> dict[int, int]:
    """Grades of a list of nuggets, from 0: an object from position (from 1) to label, or a full list of labels.

    A list of another length is no answer: nobody knows which label is whose.

    Args:
        reply: of the model.
        number: of nuggets.
        labels: label -> grade.
    """
    text = clean(reply)
    for match in _OBJECT.finditer(text):
        entries = _literal(match.group())
        if isinstance(entries, dict):
            places = {int(key) - 1: _label(value, labels) for key, value in entries.items() if str(key).isdigit()}
            known = {place: grade for place, grade in places.items() if grade is not None and 0 <= place < number}
            if known:
                return known
    for match in _LIST.finditer(text):
        entries = _literal(match.group())
        if isinstance(entries, list) and len(entries) == number:
            grades = [_label(entry, labels) for entry in entries]
            return {place: grade for place, grade in enumerate(grades) if grade is not None}
    return {}


def parse_table(
    reply: str, labels: Sequence[str], keys: Sequence[str], least: int = 1, most: int = 5
) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """The rows of a table that a reply gives as an object ``{label: {key: integer}}``.

    Args:
        reply: of the model; of several objects that have a label the last counts.
        labels: of the rows, in upper case.
        keys: of the columns, in lower case.
        least, most: what an integer can be.

    Returns:
        label -> values in the order of the keys, for the rows that are whole and sound; label -> what is wrong, for
        those that are there and are not. Labels that the reply leaves out are in neither.
    """
    table = _last_table(clean(reply), labels)
    rows: dict[str, tuple[int, ...]] = {}
    problems: dict[str, str] = {}
    for label in labels:
        row = table.get(label)
        values: tuple[Any, ...] = tuple(map(row.get, keys)) if isinstance(row, dict) else (row,)
        if isinstance(row, dict) and all(_is_whole(value, least, most) for value in values):
            rows[label] = values
        elif label in table:
            got = ", ".join(json.dumps(value) for value in values)
            problems[label] = f"expected integers from {least} to {most} for {', '.join(keys)} (got {shorten(got)})"
    return rows, problems


def _is_whole(value: Any, least: int, most: int) -> bool:
    """Whether a value is an integer in a range; a bool is one to Python, but nobody gives a grade by it."""
    return type(value) is int and least <= value <= most


def _last_table(text: str, labels: Sequence[str]) -> dict[str, Any]:
    """The last object in a text that has one of the labels as a key; labels in upper case, other keys in lower."""
    found: dict[str, Any] = {}
    place = text.find("{")
    while place >= 0:
        value, end = _object_at(text, place)
        table = {_bare(str(key)): _lowered(row) for key, row in value.items()}
        if not table.keys().isdisjoint(labels):
            found = table
        else:
            end = place + 1
        place = text.find("{", end)
    return found


def _object_at(text: str, place: int) -> tuple[dict[Any, Any], int]:
    """The object that begins at a place, as JSON or as Python prints it, and where it ends; an empty one for none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, place)
    except (ValueError, RecursionError):
        value, end = _literal(text[place : text.rfind("}") + 1]), len(text)
    return (value, end) if isinstance(value, dict) else ({}, place + 1)


def _bare(label: str) -> str:
    """A label in upper case, without the word that it may have been shown after."""
    return label.strip().upper().removeprefix("ANSWER ").strip()


def _lowered(row: Any) -> Any:
    return {str(key).strip().lower(): value for key, value in row.items()} if isinstance(row, dict) else row


def _label(value: Any, labels: Mapping[str, int]) -> int | None:
    return labels.get(str(value).strip().lower().replace(" ", "_").replace("-", "_"))


def _object_values(text: str) -> list[Any]:
    """The values of the last JSON object (Python's booleans too) in a text."""
    for match in reversed(list(_OBJECT.finditer(text))):
        entries = _literal(match.group())
        if isinstance(entries, dict):
            return list(entries.values())
    return []


def _literal(text: str) -> Any:
    """JSON, or what Python prints instead of it; None for neither."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
