"""Any table of scores that a user names: our own, another program's, a published one.

Files with values of topics become Scores; files with aggregates alone become a Leaderboard. What
can only be asked of topics (intervals, tests, resampling) is asked of Scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nuggeteval.data import Leaderboard, Scores, join_scores
from nuggeteval.errors import DataError, FormatError, listed
from nuggeteval.files import read_bytes
from nuggeteval.formats.longeval import is_gold_comparison, is_precisions, read_gold_comparison, read_precisions
from nuggeteval.formats.scores import as_leaderboard, as_scores, read_rows
from nuggeteval.formats.wide import is_wide, read_wide
from nuggeteval.measures import direction_of, is_measure
from nuggeteval.published import PREFIX, read_published
from nuggeteval.rows import FloatArray
from nuggeteval.version import __version__

__all__ = [
    "Board",
    "Side",
    "as_leaderboard_of",
    "pair_sides",
    "pick_measures",
    "read_board",
    "read_boards",
    "side_of",
    "uneven_topics",
]

Board = Scores | Leaderboard


class Side(NamedTuple):
    """One column of a table of scores; ``label`` says which, ``lower`` whether less is better."""

    label: str
    measure: str
    board: Board
    lower: bool = False

    def values(self) -> dict[str, float]:
        """Run -> score, NaN where undefined; negated where less is better, so that more always is."""
        column = self.board.measures.index(self.measure)
        means = self.board.aggregates if isinstance(self.board, Scores) else self.board.values
        return dict(zip(self.board.runs, (float(value) for value in means[:, column] * self.sign), strict=True))

    @property
    def sign(self) -> float:
        """-1 where less is better."""
        return -1.0 if self.lower else 1.0

    def by_topic(self, runs: Sequence[str], topics: Sequence[str]) -> tuple[FloatArray, FloatArray | None] | None:
        """(values that are averaged, their weights in a pooled mean), shape (runs, topics), NaN elsewhere.

        None where there are no topics, or the aggregate is a sum.
        """
        board = self.board
        if not isinstance(board, Scores) or self.measure in board.summed:
            return None
        column = board.measures.index(self.measure)
        known = np.where(board.present[:, :, column], board.values[:, :, column] * self.sign, np.nan)
        weights = board.weights.get(self.measure)
        place = {topic: index for index, topic in enumerate(topics)}
        cells = np.ix_([board.runs.index(run) for run in runs], range(len(board.topics)))
        where = np.ix_(range(len(runs)), [place[topic] for topic in board.topics])
        found = np.full((len(runs), len(topics)), np.nan)
        found[where] = known[cells]
        if weights is None:
            return found, None
        shares = np.zeros(found.shape)
        shares[where] = weights[cells]
        return found, shares

    def notes(self) -> Iterator[str]:
        """What a reader of a correlation must know of this side."""
        if self.lower:
            yield f"{self.label}: less is better, so the order is turned"
        if isinstance(self.board, Scores):
            yield from (f"{self.label}: {note}" for note in uneven_topics(self.board, self.measure))
        elif self.measure in self.board.places:
            yield (
                f"{self.label} was rounded to {self.board.places[self.measure]} decimals, which makes ties: "
                "correlations before rounding can differ"
            )


def uneven_topics(board: Scores, measure: str | None = None) -> Iterator[str]:
    """Notes on runs whose means are over fewer topics than those of others: no fair comparison.

    Args:
        board: scores.
        measure: of this one; of all by default.
    """
    found: dict[str, list[str]] = {}
    for name in board.measures if measure is None else (measure,):
        numbers = board.present[:, :, board.measures.index(name)].sum(axis=1)
        fewer = [f"{run} ({n})" for run, n in zip(board.runs, numbers, strict=True) if n < numbers.max()]
        if fewer and name not in board.summed:
            said = f"means over fewer than {numbers.max()} topics, which is no fair comparison: {listed(fewer)}"
            found.setdefault(said, []).append(name)
    for said, names in found.items():
        every = measure is not None or len(names) == len(board.measures)
        yield said if every else f"{listed(names)}: {said}"


def read_boards(paths: Sequence[str], topics: Iterable[str] = ()) -> Board:
    """Read several tables of scores as one: more runs, more measures or more topics.

    Args:
        paths: as for :func:`read_board`.
        topics: as for :func:`read_board`.

    Raises:
        FormatError: a file that holds no scores.
        DataError: two values for the same thing; aggregates beside scores of topics.
    """
    boards = [read_board(path, topics) for path in paths]
    scores = [board for board in boards if isinstance(board, Scores)]
    leaderboards = [board for board in boards if isinstance(board, Leaderboard)]
    if scores and leaderboards:
        raise DataError(
            f"{listed([board.name for board in leaderboards])} have aggregates only and cannot be joined with scores "
            "of topics"
        )
    if leaderboards:
        return _join_leaderboards(leaderboards)
    try:
        return join_scores(scores)
    except DataError as error:
        raise DataError(f"{_overlapping(paths, scores)}: {error}") from error


def _overlapping(paths: Sequence[str], scores: Sequence[Scores]) -> str:
    """The first two files that have a value for the same thing."""
    for place, path in enumerate(paths):
        for earlier in range(place):
            try:
                join_scores([scores[earlier], scores[place]])
            except DataError:
                return f"{paths[earlier]} and {path}"
    return listed(paths)


def read_board(path: str, topics: Iterable[str] = ()) -> Board:
    """Read a table of scores in whatever layout it is.

    Args:
        path: ``published:NAME``, ``-`` or a file: trec_eval's three columns (the run is the file), four columns in
            any order, TSV, JSON lines, a wide table (``run M1 M2 ...`` or ``run topic M1 M2 ...``), the files of
            LongEval-RAG.
        topics: known topics, which tell orders of four columns apart where no ``all`` row does.

    Raises:
        FormatError: nothing of the kind.
        UnknownNameError: no such published table.
    """
    if path.startswith(PREFIX):
        return read_published(path)
    raw = read_bytes(path)
    if b"\0" in raw:
        raise FormatError(path, "NUL byte: a binary file?")
    source = f"nuggeteval {__version__}|scores {Path(path).name} sha256:{hashlib.sha256(raw).hexdigest()[:8]}"
    return replace(_parsed(raw, path, topics), signature=source)


def _parsed(raw: bytes, path: str, topics: Iterable[str]) -> Board:
    if is_gold_comparison(raw):
        return as_scores(read_gold_comparison(raw, path), path)
    if is_precisions(raw):
        return as_scores(read_precisions(raw, path), path)
    if is_wide(raw):
        return read_wide(raw, path)
    rows = read_rows(raw, path, topics, is_measure)
    aggregates = all(row.topic == "all" for _, row in rows)
    return as_leaderboard(rows, path) if rows and aggregates else as_scores(rows, path)


def as_leaderboard_of(board: Board) -> Leaderboard:
    """The aggregates of a table of scores."""
    return board.leaderboard() if isinstance(board, Scores) else board


def pick_measures(board: Board, measures: Sequence[str]) -> Board:
    """A table with these measures only, in this order.

    Raises:
        DataError: a measure that the table does not have.
    """
    unknown = [measure for measure in measures if measure not in board.measures]
    if unknown:
        raise DataError(f"no measure {listed(unknown)} among the scores, which are of {listed(board.measures, 12)}")
    if isinstance(board, Scores):
        return board.of_measures(measures)
    kept = [board.measures.index(measure) for measure in measures]
    return replace(board, measures=tuple(measures), values=board.values[:, kept])


def side_of(board: Board, measure: str, name: str = "", lower: Iterable[str] = ()) -> Side:
    """A column of a table.

    Args:
        board: the table.
        measure: the column.
        name: of the table, for labels.
        lower: measures of which less is better, beside those whose record says so.

    Raises:
        DataError: no such measure.
    """
    if measure not in board.measures:
        raise DataError(f"no measure {measure!r} in {name or 'the scores'}, which has {listed(board.measures, 12)}")
    return Side(f"{name} {measure}".strip(), measure, board, measure in set(lower) or direction_of(measure) is False)


def pair_sides(
    first: Board, second: Board, measures: Sequence[str], names: tuple[str, str], lower: Iterable[str] = ()
) -> list[tuple[Side, Side]]:
    """Which column of one table goes with which of another.

    Args:
        first, second: the tables.
        measures: ``M``, or ``M=N`` where the second calls it otherwise; by default all that both have and that have a
            direction, or the only one of each.
        names: of the tables.
        lower: as for :func:`side_of`.

    Raises:
        DataError: nothing in common, or a measure that is not there.
    """
    lower = set(lower)
    common = [name for name in first.measures if name in second.measures and direction_of(name) is not None]
    if measures:
        pairs = [(left, right or left) for left, _, right in (text.partition("=") for text in measures)]
    elif common:
        pairs = [(measure, measure) for measure in common]
    elif len(first.measures) == len(second.measures) == 1:
        pairs = [(first.measures[0], second.measures[0])]
    else:
        raise DataError(
            f"no measure in common: {names[0]} has {listed(first.measures)}; {names[1] or 'the scores'} has "
            f"{listed(second.measures)}. M=N correlates M of the first with N of the second"
        )
    return [(side_of(first, left, names[0], lower), side_of(second, right, names[1], lower)) for left, right in pairs]


def _join_leaderboards(boards: Sequence[Leaderboard]) -> Leaderboard:
    """Several leaderboards as one; what only some of them have is undefined in the others."""
    if len(boards) == 1:
        return boards[0]
    runs, measures = (
        tuple(dict.fromkeys(name for board in boards for name in getattr(board, axis))) for axis in ("runs", "measures")
    )
    values = np.full((len(runs), len(measures)), np.nan)
    for board in boards:
        cells = np.ix_([runs.index(run) for run in board.runs], [measures.index(name) for name in board.measures])
        twice = ~np.isnan(values[cells]) & ~np.isnan(board.values)
        if twice.any():
            r, m = np.argwhere(twice)[0]
            raise DataError(f"two values for run {board.runs[r]!r}, {board.measures[m]} (the second in {board.name})")
        values[cells] = np.where(np.isnan(board.values), values[cells], board.values)
    return Leaderboard(
        " + ".join(board.name for board in boards),
        runs,
        measures,
        values,
        {run: group for board in boards for run, group in board.groups.items()},
        {run: alias for board in boards for run, alias in board.aliases.items()},
        {name: places for board in boards for name, places in board.places.items()},
        tuple(dict.fromkeys(note for board in boards for note in board.notes)),
        " + ".join(dict.fromkeys(board.signature for board in boards if board.signature)),
    )
