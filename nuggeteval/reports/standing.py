"""Where new runs would stand on a leaderboard."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nuggeteval.data import Leaderboard
from nuggeteval.errors import DataError, listed
from nuggeteval.measures import direction_of
from nuggeteval.reports import Table, shown

__all__ = ["Place", "Standing", "column_for", "standing_lines", "standing_table", "standings"]


class Place(NamedTuple):
    """Place k of n among some runs, the new one counted; ``tied`` is the number of runs that share it."""

    place: int
    number: int
    tied: int

    def __str__(self) -> str:
        return f"{self.place}{'=' if self.tied else ''} of {self.number}"


class Standing(NamedTuple):
    """Where a run stands in one measure.

    Attributes:
        run: the new run.
        measure, column: what it is called there, and on the leaderboard.
        value: None where undefined.
        places: group -> place, ``all`` first; empty where the value is undefined.
        known_as: its name on the leaderboard, where it is there already and is not counted twice.
    """

    run: str
    measure: str
    column: str
    value: float | None
    places: dict[str, Place]
    known_as: str


def column_for(measure: str, board: Leaderboard, gold: str | None = None) -> str | None:
    """The column of a leaderboard that a measure is compared with; None without one.

    Args:
        measure: a name; a column ``NAME:GOLD`` is that measure against some gold.
        board: the leaderboard.
        gold: which gold, where there are several.

    Raises:
        DataError: several golds, and none was chosen; or a gold that is not there.
    """
    if measure in board.measures and (gold is None or measure.partition(":")[2] in ("", gold)):
        return measure
    columns = [column for column in board.measures if measure == column.partition(":")[0]]
    if gold is not None:
        chosen = [column for column in columns if column.partition(":")[2] == gold]
        if columns and not chosen:
            golds = listed([column.partition(":")[2] for column in columns])
            raise DataError(f"{measure} is on {board.name} for gold {golds}, not {gold}")
        columns = chosen
    if len(columns) > 1:
        golds = listed([column.partition(":")[2] for column in columns])
        raise DataError(f"{measure} is on {board.name} for gold {golds}: --gold chooses")
    return columns[0] if columns else None


def standings(
    new: Leaderboard, board: Leaderboard, gold: str | None = None, lower: Iterable[str] = ()
) -> list[Standing]:
    """The place of each new run among those of a leaderboard, in every measure that both have.

    A run that is on the leaderboard already, by its name or its alias, is not compared with itself. Values are rounded
    as those of the leaderboard were, so that what is equal in print shares a place.

    Args:
        new: the runs to place.
        board: the others.
        gold: of its columns ``NAME:GOLD``.
        lower: measures of which less is better, beside those whose record says so.

    Raises:
        DataError: no measure in common that has a direction; several golds, and none was chosen, or one that is not
            there.
    """
    if gold is not None and not any(column.partition(":")[2] for column in board.measures):
        raise DataError(f"{board.name} has no columns NAME:GOLD, of which a gold could be chosen")
    directed = [measure for measure in new.measures if direction_of(measure.partition(":")[0]) is not None]
    pairs = [(measure, column_for(measure, board, gold)) for measure in directed]
    pairs = [(measure, column) for measure, column in pairs if column]
    if not pairs:
        raise DataError(
            f"no measure in common: the scores have {listed(new.measures)}; {board.name} has "
            f"{listed(board.measures, 12)}"
        )
    names = {alias: run for run, alias in board.aliases.items()}
    down = {*lower, *(name for name in directed if direction_of(name.partition(":")[0]) is False)}
    found = []
    for r, run in enumerate(new.runs):
        known_as = run if run in board.runs else names.get(run, "")
        for measure, column in pairs:
            value = float(new.values[r, new.measures.index(measure)])
            places = (
                {}
                if math.isnan(value)
                else _places(value, board, str(column), known_as, {measure, str(column)} & down != set())
            )
            found.append(Standing(run, measure, str(column), None if math.isnan(value) else value, places, known_as))
    return found


def _places(value: float, board: Leaderboard, column: str, known_as: str, lower: bool) -> dict[str, Place]:
    sign = -1.0 if lower else 1.0
    digits = board.places.get(column, 10)
    others = {run: round(v, digits) * sign for run, v in board.column(column).items() if run != known_as}
    mine = round(value, digits) * sign
    groups = ["all", *dict.fromkeys(board.groups[run] for run in others if run in board.groups)]
    found = {}
    for group in groups:
        rivals = [v for run, v in others.items() if group == "all" or board.groups.get(run) == group]
        found[group] = Place(1 + sum(v > mine for v in rivals), len(rivals) + 1, sum(v == mine for v in rivals))
    return found


def standing_table(found: Sequence[Standing], board: Leaderboard, places: int = 4) -> Table:
    """Places as a table, with a column for each group of the leaderboard."""
    groups = list(dict.fromkeys(group for standing in found for group in standing.places))
    rows = [
        [
            s.run,
            s.measure if s.measure == s.column else f"{s.measure} (beside {s.column})",
            shown(s.value, places),
            *(str(s.places[group]) if group in s.places else "" for group in groups),
        ]
        for s in found
    ]
    known = {s.run: s.known_as for s in found if s.known_as}
    notes = [f"places among the runs of {board.name}; values are rounded as there, and equal ones share a place"]
    if known:
        same = listed([run if run == name else f"{run} ({name})" for run, name in known.items()])
        notes.append(f"on the leaderboard already, and not compared with themselves: {same}")
    header = ["run", "measure", "value", *("place" if group == "all" else f"among {group}" for group in groups)]
    return Table(header, rows, words=2, notes=tuple(notes))


def standing_lines(found: Sequence[Standing]) -> Iterator[str]:
    """Lines of JSON, one a run and measure."""
    for standing in found:
        places = {group: place._asdict() for group, place in standing.places.items()}
        yield json.dumps({**standing._asdict(), "places": places}, ensure_ascii=False) + "\n"
