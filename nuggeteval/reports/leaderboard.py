"""Leaderboards as tables, TSV and JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from nuggeteval.data import Leaderboard, ScoreRow, Scores
from nuggeteval.formats.scores import LAYOUTS, exact, rows_of, shown_value
from nuggeteval.leaderboards import Cell, Ranking, Section
from nuggeteval.reports import Table
from nuggeteval.stats.significance import CORRECTIONS, describe

__all__ = ["ranking_lines", "ranking_tables"]


def ranking_tables(ranking: Ranking, places: int = 4, spread: bool = True) -> list[Table]:
    """The leaderboard as tables, one for all topics and one for each stratum.

    Args:
        ranking: what to show.
        places: decimals.
        spread: show stability intervals.
    """
    tables = []
    for section in ranking.sections:
        single = len(ranking.sections) == 1
        title = "" if single else f"{section.label} ({section.topics} topics)"
        last = section is ranking.sections[-1]
        notes = [note for note in ranking.notes if spread or not note.startswith("[low, high]")]
        tables.append(_table(ranking, section, title, places, spread, notes if last else ()))
    return tables


def _table(ranking: Ranking, section: Section, title: str, places: int, spread: bool, notes: Sequence[str]) -> Table:
    grouped = bool(ranking.groups)
    arrows = {True: " ↑", False: " ↓", None: ""}
    header = ["rank", "run", *(["group", "in group"] if grouped else [])]
    header += [f"{name}{arrows[ranking.higher[name]]}" for name in ranking.measures]
    sort = ranking.sorted_by
    printed = ranking.board.places if isinstance(ranking.board, Leaderboard) else {}
    rows = []
    for run in section.runs:
        cells = section.cells[run]
        lead = cells[sort]
        words = [lead.rank, run, *([ranking.groups.get(run, ""), lead.group_rank] if grouped else [])]
        numbers = [
            _shown(cell, name in ranking.summed, min(places, printed.get(name, places)), spread)
            for name, cell in zip(ranking.measures, cells, strict=True)
        ]
        rows.append([*words, *numbers])
    return Table(header, rows, words=4 if grouped else 2, title=title, notes=notes)


def _shown(cell: Cell, summed: bool, places: int, spread: bool) -> str:
    if math.isnan(cell.value):
        return "undefined"
    value = shown_value(cell.value, summed, places)
    interval = "" if math.isnan(cell.low) or not spread else f" [{cell.low:.{places}f}, {cell.high:.{places}f}]"
    return f"{value}{interval}{f' {cell.mark}' if cell.mark else ''}"


def ranking_lines(ranking: Ranking, layout: str, by_topic: bool = False) -> Iterator[str]:
    """The leaderboard in full precision, best run first.

    Args:
        ranking: what to write.
        layout: ``tsv`` (four columns with a header, which TIRA's check of leaderboards takes) or ``jsonl`` (with
            rank, interval and p beside each aggregate).
        by_topic: the rows of topics too, so that what is read back can be resampled and tested.
    """
    if layout == "jsonl":
        for record in _records(ranking, by_topic):
            yield json.dumps(record, ensure_ascii=False) + "\n"
    else:
        yield from LAYOUTS[layout](_rows(ranking, by_topic), 10, ranking.summed, ranking.signature)


def _rows(ranking: Ranking, by_topic: bool) -> Iterator[ScoreRow]:
    """Rows of topics, strata and all, run by run."""
    place = {run: index for index, run in enumerate(ranking.sections[0].runs)}
    topics = list(rows_of(ranking.board, True, False)) if by_topic and isinstance(ranking.board, Scores) else []
    yield from sorted(topics, key=lambda row: place[row.run])
    for run in ranking.sections[0].runs:
        for section in (*ranking.sections[1:], ranking.sections[0]):
            for name, cell in zip(ranking.measures, section.cells[run], strict=True):
                yield ScoreRow(run, section.topic, name, None if math.isnan(cell.value) else cell.value)


def _records(ranking: Ranking, by_topic: bool) -> Iterator[dict[str, Any]]:
    cells = {
        (run, section.topic, name): (cell, section)
        for section in ranking.sections
        for run, row in section.cells.items()
        for name, cell in zip(ranking.measures, row, strict=True)
    }
    method = ranking.method
    for row in _rows(ranking, by_topic):
        record: dict[str, Any] = {"run_id": row.run, "topic_id": row.topic, "measure": row.measure}
        record["value"] = exact(row, ranking.summed)
        if row[:3] in cells:
            cell, section = cells[row[:3]]
            record["rank"] = None if cell.rank == "-" else int(cell.rank.rstrip("="))
            record["low"], record["high"] = _defined(cell.low), _defined(cell.high)
            if row.run in ranking.groups:
                record["group"] = ranking.groups[row.run]
            if row.measure in section.references:
                record["compared_with"], record["p"] = section.references[row.measure], _defined(cell.p)
                record["test"] = describe(str(method.test), section.topics, method.resamples, method.seed)
                family = "over the runs of a measure" if method.baseline else "over all pairs of runs"
                correction = f"{CORRECTIONS[method.correction][0]} {family}"
                record["correction"] = "family-wise" if method.test == "tukey" else correction
            record["signature"] = ranking.signature
        yield record


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.10g}")
