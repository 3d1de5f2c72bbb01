"""Any table of scores that a user names: our own, another program's, a published one.

Files with values of topics become Scores; files with aggregates alone become a Leaderboard. What
can only be asked of topics (intervals, tests, resampling) is asked of Scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nuggeteval.data import Leaderboard, Scores, join_scores
from nuggeteval.errors import DataError, listed
from nuggeteval.files import read_bytes
from nuggeteval.formats.longeval import is_gold_comparison, is_precisions, read_gold_comparison, read_precisions
from nuggeteval.formats.scores import as_leaderboard, as_scores, read_rows
from nuggeteval.formats.wide import is_wide, read_wide
from nuggeteval.measures import direction_of
from nuggeteval.published import PREFIX, read_published
from nuggeteval.rows import FloatArray

__all__ = [
    "Board",
    "Side",
    "as_leaderboard_of",
    "pair_sides",
    "pick_measures",
    "read_board",
    "read_boards",
    "side_of",
]

Board = Scores | Leaderboard


class Side(NamedTuple):
    """One column of a table of scores; ``label`` says which."""

    label: str
    measure: str
    board: Board

    def values(self) -> dict[str, float]:
        """Run -> score, NaN where undefined; negated where less is better, so that more always is."""
        column = self.board.measures.index(self.measure)
        means = self.board.aggregates if isinstance(self.board, Scores) else self.board.values
        return dict(zip(self.board.runs, (float(value) for value in means[:, column] * self.sign), strict=True))

    @property
    def sign(self) -> float:
        """-1 where less is better."""
        return -1.0 if direction_of(self.measure) is False else 1.0

    def by_topic(self, runs: Sequence[str], topics: Sequence[str]) -> FloatArray | None:
        """The values that are averaged, shape (runs, topics), NaN elsewhere; None where there are no topics."""
        board = self.board
        if not isinstance(board, Scores) or self.measure in board.summed or self.measure in board.weights:
            return None
        column = board.measures.index(self.measure)
        found = np.full((len(runs), len(topics)), np.nan)
        place = {topic: index for index, topic in enumerate(topics)}
        where = [place[topic] for topic in board.topics]
        for r, run in enumerate(runs):
            if run in board.runs:
                mine = board.runs.index(run)
                found[r, where] = np.where(
                    board.present[mine, :, column], board.values[mine, :, column] * self.sign, np.nan
                )
        return found


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
    return join_scores(scores) if scores else _join_leaderboards(leaderboards)


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
    if is_gold_comparison(raw):
        return as_scores(read_gold_comparison(raw, path), path)
    if is_precisions(raw):
        return as_scores(read_precisions(raw, path), path)
    if is_wide(raw):
        return read_wide(raw, path)
    rows = read_rows(raw, path, topics)
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
    return Leaderboard(
        board.name, board.runs, tuple(measures), board.values[:, kept], board.groups, board.aliases, board.places,
        board.notes,
    )  # fmt: skip


def side_of(board: Board, measure: str, name: str = "") -> Side:
    """A column of a table.

    Raises:
        DataError: no such measure.
    """
    if measure not in board.measures:
        raise DataError(f"no measure {measure!r} in {name or 'the scores'}, which has {listed(board.measures, 12)}")
    return Side(f"{name} {measure}".strip(), measure, board)


def pair_sides(first: Board, second: Board, measures: Sequence[str], names: tuple[str, str]) -> list[tuple[Side, Side]]:
    """Which column of one table goes with which of another.

    Args:
        first, second: the tables.
        measures: ``M``, or ``M=N`` where the second calls it otherwise; by default all that both have, or the only
            one of each.
        names: of the tables.

    Raises:
        DataError: nothing in common, or a measure that is not there.
    """
    if measures:
        pairs = [(left, right or left) for left, _, right in (text.partition("=") for text in measures)]
    elif common := [measure for measure in first.measures if measure in second.measures]:
        pairs = [(measure, measure) for measure in common if direction_of(measure) is not None]
    elif len(first.measures) == len(second.measures) == 1:
        pairs = [(first.measures[0], second.measures[0])]
    else:
        raise DataError(
            f"no measure in common: {names[0]} has {listed(first.measures)}; {names[1]} has {listed(second.measures)}. "
            "-m M=N correlates M of the first with N of the second"
        )
    return [(side_of(first, left, names[0]), side_of(second, right, names[1])) for left, right in pairs]


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
    )
