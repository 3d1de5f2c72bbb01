"""Scores on disk: trec_eval's three columns, two orders of four columns, TSV and JSON lines.

trec_eval and the four-column layouts are rounded and leave undefined values out, for there is no
number to print; TSV and JSON lines have full precision and say that a value is undefined. What is
read back never trusts an ``all`` row: aggregates are computed from the topics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from nuggeteval.data import Leaderboard, ScoreRow, Scores
from nuggeteval.errors import FormatError, UnknownNameError, listed, shorten
from nuggeteval.files import json_records, read_bytes, stem, write_text
from nuggeteval.ids import decode, topic_order

__all__ = [
    "LAYOUTS",
    "as_leaderboard",
    "as_score_lines",
    "as_scores",
    "exact",
    "read_rows",
    "read_scores",
    "rows_of",
    "shown_value",
    "write_scores",
]

ALL = "all"
_AGGREGATE = re.compile(rf"{ALL}(:|$)")
_ROUNDING = 1.1e-4
UNDEFINED = "undefined"
TSV_HEADER = ("run_id", "query_id", "measure", "value")
"""The header that TIRA's check of leaderboards knows."""


def rows_of(scores: Scores, by_topic: bool = False, summary: bool = True) -> Iterator[ScoreRow]:
    """The rows of scores in order of printing: run by run, its topics, then ``all:STRATUM`` for each, then ``all``.

    Args:
        scores: what to print.
        by_topic: include a row for every topic.
        summary: include the aggregates.
    """
    strata = {label: scores.stratum(label).aggregates for label in scores.strata if summary}
    for r, run in enumerate(scores.runs):
        for t, topic in enumerate(scores.topics if by_topic else ()):
            for m, measure in enumerate(scores.measures):
                if scores.present[r, t, m]:
                    yield ScoreRow(run, topic, measure, _defined(scores.values[r, t, m]))
        for label, means in strata.items():
            for m, measure in enumerate(scores.measures):
                yield ScoreRow(run, f"{ALL}:{label}", measure, _defined(means[r, m]))
        for m, measure in enumerate(scores.measures if summary else ()):
            yield ScoreRow(run, ALL, measure, _defined(scores.aggregates[r, m]))


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def shown_value(value: float | None, summed: bool, places: int) -> str:
    """A value as a person reads it: numbers of things without decimals, ``undefined`` for none."""
    if value is None:
        return UNDEFINED
    return f"{value:.0f}" if summed and value == int(value) else f"{value:.{places}f}"


_Writer = Callable[[Iterable[ScoreRow], int, frozenset[str], str], Iterator[str]]
"""Writer of rows: (rows, places, summed measures, signature) -> lines."""


def _columns(order: Callable[[ScoreRow], tuple[str, ...]]) -> _Writer:
    """A writer of rounded, tab-separated columns in some order, the value last."""

    def lines(rows: Iterable[ScoreRow], places: int, summed: frozenset[str], _signature: str) -> Iterator[str]:
        for row in rows:
            if row.value is not None:
                yield "\t".join((*order(row), shown_value(row.value, row.measure in summed, places))) + "\n"

    return lines


def exact(row: ScoreRow, summed: frozenset[str]) -> float | None:
    """A value in full precision; a number of things is an integer."""
    whole = row.value is not None and row.measure in summed and row.value.is_integer()
    return int(row.value or 0) if whole else row.value


def _tsv(rows: Iterable[ScoreRow], _places: int, summed: frozenset[str], _signature: str) -> Iterator[str]:
    yield "\t".join(TSV_HEADER) + "\n"
    for row in rows:
        value = UNDEFINED if row.value is None else repr(exact(row, summed))
        yield f"{row.run}\t{row.topic}\t{row.measure}\t{value}\n"


def _jsonl(rows: Iterable[ScoreRow], _places: int, summed: frozenset[str], signature: str) -> Iterator[str]:
    for row in rows:
        record = {"run_id": row.run, "topic_id": row.topic, "measure": row.measure, "value": exact(row, summed)}
        if _AGGREGATE.match(row.topic):
            record["signature"] = signature
        yield json.dumps(record, ensure_ascii=False) + "\n"


LAYOUTS: dict[str, _Writer] = {
    "trec_eval": _columns(lambda row: (f"{row.measure:<22}", row.topic)),
    "tot": _columns(lambda row: (row.run, row.measure, row.topic)),
    "ir_measures": _columns(lambda row: (row.run, row.topic, row.measure)),
    "tsv": _tsv,
    "jsonl": _jsonl,
}
"""Name of a layout -> writer of its lines."""


def as_score_lines(
    scores: Scores, layout: str, by_topic: bool = False, summary: bool = True, places: int = 4
) -> Iterator[str]:
    """The lines of a score file.

    Args:
        scores: what to write.
        layout: a key of :data:`LAYOUTS`; ``trec_eval`` has no column for the run.
        by_topic, summary: which rows.
        places: decimals, where the layout is rounded.

    Raises:
        UnknownNameError: another layout.
    """
    if layout not in LAYOUTS:
        raise UnknownNameError(f"unknown layout {layout!r} (known: {', '.join(LAYOUTS)})")
    yield from LAYOUTS[layout](rows_of(scores, by_topic, summary), places, scores.summed, scores.signature)


def write_scores(scores: Scores, path: str, layout: str = "jsonl", by_topic: bool = True) -> None:
    """Write scores to a file, by default in full precision and with every topic.

    Raises:
        FormatError: the file cannot be written.
        UnknownNameError: a layout that is not in :data:`LAYOUTS`.
    """
    write_text(path, "".join(as_score_lines(scores, layout, by_topic)))


def read_scores(path: str, topics: Iterable[str] = ()) -> Scores:
    """Read scores of topics in any of the layouts.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.
        topics: known topics, which tell the orders of four columns apart where no ``all`` row does.

    Raises:
        FormatError: a line that is no score; a row twice; four columns in an unknown order; no topic.
    """
    return as_scores(read_rows(read_bytes(path), path, topics), path)


NumberedRow = tuple[int, ScoreRow]


def read_rows(
    raw: bytes, path: str, topics: Iterable[str] = (), is_measure: Callable[[str], bool] = lambda _: False
) -> list[NumberedRow]:
    """The rows of a score file with their lines, aggregates among them.

    Args:
        raw: its content.
        path: what it is called; names the run where the layout does not.
        topics: as for :func:`read_scores`.
        is_measure: knows measures, which tell orders of four columns apart where topics do not.

    Raises:
        FormatError: a line that is no score; four columns in an unknown order.
    """
    if raw.lstrip()[:1] in (b"{", b"["):
        return [(line, _json_row(record, path, line)) for line, record in json_records(raw, path)]
    return _column_rows(raw, path, set(topics), is_measure)


def _json_row(record: dict[str, object], path: str, line: int) -> ScoreRow:
    try:
        run, topic, measure = (str(record[key]) for key in ("run_id", "topic_id", "measure"))
        value = record["value"]
    except KeyError as error:
        raise FormatError(path, f"no key {error}: expected run_id, topic_id, measure, value", line) from None
    if value is not None and (not isinstance(value, int | float) or not -1e300 < value < 1e300):
        raise FormatError(path, f"value must be a finite number or null (got {shorten(repr(value))})", line)
    return ScoreRow(run, topic, measure, None if value is None else float(value))


_ORDERS = {"tot": (0, 2, 1), "ir_measures": (0, 1, 2), "rag4reports": (1, 0, 2)}
"""Four-column order -> columns of run, topic, measure."""


_HEADER_NAMES = {"run_id": "run", "topic_id": "topic", "query_id": "topic", "qid": "topic"}
_COLUMNS = ("run", "topic", "measure", "value")


def _column_rows(
    raw: bytes, path: str, topics: set[str], is_measure: Callable[[str], bool]
) -> list[tuple[int, ScoreRow]]:
    lines = [(number, list(map(decode, line.split()))) for number, line in enumerate(raw.split(b"\n"), start=1)]
    lines = [(number, fields) for number, fields in lines if fields and fields[0] != "runid"]
    header = [_HEADER_NAMES.get(name, name) for name in lines[0][1]] if lines else []
    if header[-1:] == ["value"]:
        lines = lines[1:]
    width = len(lines[0][1]) if lines else 4
    for number, fields in lines:
        if width not in (3, 4) or len(fields) != width:
            shown = shorten(" ".join(fields))
            raise FormatError(path, f"expected 3 or 4 columns throughout, found {len(fields)}: {shown!r}", number)
    if sorted(header) == sorted(_COLUMNS):
        run, topic, measure, value = (header.index(name) for name in _COLUMNS)
    elif header == ["run", "topic", "value"]:
        lines = [(number, [*fields, header[-1]]) for number, fields in lines]
        run, topic, measure, value = 0, 1, 3, 2
    elif width == 4:
        run, topic, measure = _order_of([fields for _, fields in lines], path, topics, is_measure)
        value = 3
    else:
        # trec_eval's three columns say nothing of the run: the file is named for it.
        lines = [(number, [*fields, stem(path)]) for number, fields in lines]
        run, topic, measure, value = 3, 1, 0, 2
    return [
        (number, ScoreRow(f[run], f[topic], f[measure], _parse_value(f[value], path, number))) for number, f in lines
    ]


def _order_of(
    rows: list[list[str]], path: str, topics: set[str], is_measure: Callable[[str], bool]
) -> tuple[int, int, int]:
    """Tell the orders of four columns apart by the column that holds topics, or else the one that holds measures."""
    known = topics | {ALL}
    hits = {order: sum(row[columns[1]] in known for row in rows) for order, columns in _ORDERS.items()}
    best = max(hits, key=lambda order: hits[order])
    if rows and (not hits[best] or sum(count == hits[best] for count in hits.values()) > 1):
        if all(is_measure(name) for name in {row[1] for row in rows}):
            return _ORDERS["tot"]
        raise FormatError(
            path,
            f"four columns in an unknown order: no 'all' row and no known topic tells {', '.join(_ORDERS)} apart; "
            "a first line as 'run_id query_id measure value' does",
        )
    return _ORDERS[best]


def _parse_value(text: str, path: str, line: int) -> float | None:
    if text == UNDEFINED:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(path, f"value must be a finite number or {UNDEFINED!r} (got {shorten(text)!r})", line)
    return value


def as_leaderboard(rows: Sequence[NumberedRow], path: str) -> Leaderboard:
    """The aggregates of a score file that has nothing else.

    Raises:
        FormatError: two aggregates of a run and measure.
    """
    values: dict[tuple[str, str], float] = {}
    for line, row in rows:
        if row.topic != ALL:
            continue
        if (row.run, row.measure) in values:
            raise FormatError(path, f"second aggregate for run {row.run!r}, {row.measure}", line)
        values[row.run, row.measure] = math.nan if row.value is None else row.value
    runs, measures = (tuple(dict.fromkeys(key[side] for key in values)) for side in (0, 1))
    table = np.array([[values.get((run, measure), math.nan) for measure in measures] for run in runs])
    return Leaderboard(path, runs, measures, table)


def as_scores(rows: Sequence[NumberedRow], path: str) -> Scores:
    """Scores from the rows of a file; its aggregates are left out, and compared with our own.

    Raises:
        FormatError: a row twice; no topic.
    """
    found: dict[tuple[str, str, str], float | None] = {}
    for line, row in rows:
        key = row[:3]
        if _AGGREGATE.match(row.topic):
            continue
        if key in found:
            raise FormatError(path, f"second value for run {row.run!r}, topic {row.topic!r}, {row.measure}", line)
        found[key] = row.value
    if not found:
        raise FormatError(path, "no score of any topic")
    runs = list(dict.fromkeys(run for run, _, _ in found))
    topics = topic_order({topic for _, topic, _ in found})
    measures = list(dict.fromkeys(measure for _, _, measure in found))
    at = [{name: index for index, name in enumerate(names)} for names in (runs, topics, measures)]
    values = np.full((len(runs), len(topics), len(measures)), np.nan)
    present = np.zeros(values.shape, dtype=bool)
    for key, value in found.items():
        cell = tuple(place[name] for place, name in zip(at, key, strict=True))
        present[cell] = True
        values[cell] = math.nan if value is None else value
    summed = frozenset(measure for measure in measures if measure.startswith(("num_", "Num")))
    # What a pooled mean was weighted with is not in the file: it has no aggregate, rather than a wrong one.
    unknown = np.full(values.shape[:2], np.nan)
    weights = {measure: unknown for measure in measures if "avg='micro'" in measure}
    scores = Scores(tuple(runs), tuple(topics), tuple(measures), values, present, summed, weights)
    return replace(scores, notes=tuple(_disagreements(scores, rows, path)))


def _disagreements(scores: Scores, rows: Sequence[NumberedRow], path: str) -> Iterator[str]:
    """A note where an aggregate in the file is not that of its topics, beyond what printing rounds."""
    at = {name: index for index, name in enumerate(scores.runs)}
    column = {name: index for index, name in enumerate(scores.measures)}
    wrong = []
    for _, row in rows:
        if row.topic == ALL and row.value is not None and row.run in at and row.measure in column:
            ours = scores.aggregates[at[row.run], column[row.measure]]
            if not math.isnan(ours) and abs(ours - row.value) > _ROUNDING * max(1.0, abs(ours)):
                wrong.append(f"{row.run} {row.measure} {row.value:g} (its topics give {ours:.4f})")
    if wrong:
        yield f"{path}: 'all' rows that are not the mean of their topics, which counts: {listed(wrong, 3)}"
