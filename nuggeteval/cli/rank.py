"""nuggeteval rank SCORES --among LEADERBOARD: where a new run would stand."""

from __future__ import annotations

import argparse

from nuggeteval.boards import as_leaderboard_of, pick_measures, read_board, read_boards
from nuggeteval.cli import write_lines
from nuggeteval.data import Leaderboard
from nuggeteval.formats.topics import read_groups
from nuggeteval.reports import RENDERERS, render_tables
from nuggeteval.reports.standing import standing_lines, standing_table, standings

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval rank my.scores.jsonl --among published:ikat2024 --gold human
  nuggeteval rank my.scores.tsv --among leaderboard.tsv --groups groups.tsv --format markdown

SCORES and LEADERBOARD may be in any layout that the command leaderboard takes. Columns NAME:GOLD of a leaderboard are
the measure NAME against some gold, which --gold chooses.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s [OPTION...] SCORES... --among LEADERBOARD"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("scores", metavar="SCORES", nargs="+", help="scores of the new runs")
    add("--among", metavar="LEADERBOARD", required=True, help="scores of the other runs, or published:NAME")
    add("-m", "--measure", action="append", default=[], metavar="M", help="only these measures (all in common)")
    add("--gold", metavar="NAME", help="gold of the leaderboard, where it has several")
    add("--groups", metavar="FILE", help="run<TAB>group of the leaderboard's runs: a place in each")
    add("--format", choices=(*RENDERERS, "jsonl"), default="text", help="jsonl is exact (text)")
    add("--places", type=int, default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")


def run(options: argparse.Namespace) -> int:
    """Place k of n, per measure and group."""
    new = read_boards(options.scores)
    if options.measure:
        new = pick_measures(new, [name for text in options.measure for name in text.split(",")])
    board = as_leaderboard_of(read_board(options.among))
    board = _named(board, options.among, options.groups)
    found = standings(as_leaderboard_of(new), board, options.gold)
    if options.format == "jsonl":
        write_lines(standing_lines(found), options.out)
    else:
        write_lines([render_tables([standing_table(found, board, options.places)], options.format)], options.out)
    return 0


def _named(board: Leaderboard, name: str, groups: str | None) -> Leaderboard:
    """The leaderboard with a name for messages and the groups of its runs."""
    return Leaderboard(
        board.name or name,
        board.runs,
        board.measures,
        board.values,
        read_groups(groups) if groups else board.groups,
        board.aliases,
        board.places,
        board.notes,
    )
