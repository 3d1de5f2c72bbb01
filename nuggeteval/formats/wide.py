"""Wide tables: a header, then a row a run (or a run and topic) with a column a measure."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteval.data import Leaderboard, Scores
from nuggeteval.errors import FormatError, shorten
from nuggeteval.ids import decode, topic_order

__all__ = ["is_wide", "read_wide"]

_RUNS = ("run", "run_id", "alias", "approach", "system", "method", "team")
_TOPICS = ("topic", "topic_id", "query_id", "qid", "query")
_GROUPS = ("type", "group")
_MISSING = ("", "-", "nan", "NaN", "undefined", "null", "None")


def is_wide(raw: bytes) -> bool:
    """Whether a file begins with the header of a wide table: a run, and no column of measures."""
    first = raw.lstrip().split(b"\n", 1)[0]
    header = _separator(first)(first)
    long = {"measure", "value"} & {*header[2:]}
    named = all(not math.isfinite(_value(name)) for name in header[1:])
    return len(header) > 1 and header[0] in _RUNS and named and not long


def read_wide(raw: bytes, path: str) -> Scores | Leaderboard:
    """Read a wide table: scores where it has a column of topics, else a leaderboard.

    Args:
        raw: its content; columns are parted by tabs, or by blanks where there is no tab.
        path: what it is called in messages.

    Raises:
        FormatError: a row of another length, a run (and topic) twice, no column of numbers.
    """
    lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), start=1) if line.strip()]
    part = _separator(lines[0][1])
    header = part(lines[0][1])
    rows = [(number, part(line)) for number, line in lines[1:]]
    for number, row in rows:
        if len(row) != len(header):
            raise FormatError(path, f"expected {len(header)} columns as in the header, found {len(row)}", number)
    topic = 1 if header[1] in _TOPICS else None
    group = next((column for column, name in enumerate(header) if name in _GROUPS), None)
    taken = {0, topic, group}
    columns = {c: [row[c] for _, row in rows] for c in range(len(header)) if c not in taken}
    measures = [c for c, cells in columns.items() if _numeric(cells)]
    notes = tuple(_broken(path, header, columns, [number for number, _ in rows]))
    if not measures:
        raise FormatError(path, f"no column of numbers under {shorten(', '.join(header))}")
    keys = [(row[0], "" if topic is None else row[topic]) for _, row in rows]
    lines_of: dict[tuple[str, str], int] = {}
    for (number, _), key in zip(rows, keys, strict=True):
        if key in lines_of:
            raise FormatError(path, f"second row for {' '.join(filter(None, key))!r}", number)
        lines_of[key] = number
    cells = np.array([[_value(row[c]) for c in measures] for _, row in rows])
    names = tuple(header[c] for c in measures)
    if topic is not None:
        return replace(_scores(keys, names, cells), notes=notes)
    groups = {} if group is None else {row[0]: row[group] for _, row in rows if row[group]}
    return Leaderboard(Path(path).name, tuple(run for run, _ in keys), names, cells, groups, notes=notes)


def _separator(header: bytes) -> Callable[[bytes], list[str]]:
    """How lines are parted: at tabs, else at commas (with quotes), else at blanks; as the header is."""
    if b"\t" in header:
        return lambda line: [field.strip() for field in decode(line.rstrip(b"\r\n")).split("\t")]
    if b"," in header and b" " not in header.strip():
        return lambda line: [field.strip() for field in next(csv.reader([decode(line.rstrip(b"\r\n"))]))]
    return lambda line: decode(line).split()


def _broken(
    path: str, header: Sequence[str], columns: Mapping[int, Sequence[str]], lines: Sequence[int]
) -> Iterator[str]:
    """A note for each column that is left out although some of its cells are numbers."""
    for c, cells in columns.items():
        words = [place for place, cell in enumerate(cells) if math.isinf(_value(cell))]
        if words and len(words) < len(cells):
            shown = shorten(repr(cells[words[0]]), 40)
            yield f"{path}: column {header[c]} is left out: line {lines[words[0]]} has {shown}, which is no number"


def _numeric(cells: Sequence[str]) -> bool:
    return any(cell not in _MISSING for cell in cells) and all(
        cell in _MISSING or math.isfinite(_value(cell)) for cell in cells
    )


def _value(cell: str) -> float:
    """A number; NaN for a missing one, infinity for what is none."""
    if cell in _MISSING:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf


def _scores(keys: Sequence[tuple[str, str]], measures: tuple[str, ...], cells: np.ndarray) -> Scores:
    runs = list(dict.fromkeys(run for run, _ in keys))
    topics = topic_order({topic for _, topic in keys})
    values = np.full((len(runs), len(topics), len(measures)), np.nan)
    present = np.zeros(values.shape, dtype=bool)
    at, place = ({name: index for index, name in enumerate(names)} for names in (runs, topics))
    for (run, topic), row in zip(keys, cells, strict=True):
        values[at[run], place[topic]] = row
        present[at[run], place[topic]] = True
    return Scores(tuple(runs), tuple(topics), measures, values, present)
