"""nuggeteval rank SCORES --among LEADERBOARD: where a new run would stand."""

from __future__ import annotations

import argparse
from dataclasses import replace

from nuggeteval.boards import as_leaderboard_of, pick_measures, read_board, read_boards, uneven_topics
from nuggeteval.cli import note, write_lines
from nuggeteval.data import Leaderboard, Scores
from nuggeteval.errors import DataError, listed
from nuggeteval.formats.topics import read_groups
from nuggeteval.options import whole
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
    add("--lower", metavar="M", action="append", default=[], help="a measure of which less is better")
    add("--groups", metavar="FILE", help="run<TAB>group of the leaderboard's runs: a place in each")
    add("--format", choices=(*RENDERERS, "jsonl"), default="text", help="jsonl is exact (text)")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("--quiet", action="store_true", help="no warnings on stderr")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")


def run(options: argparse.Namespace) -> int:
    """Place k of n, per measure and group."""
    new = read_boards(options.scores)
    if options.measure:
        new = pick_measures(new, [name for text in options.measure for name in text.split(",")])
    among = read_board(options.among)
    for table in () if options.quiet else (new, among):
        for message in uneven_topics(table) if isinstance(table, Scores) else ():
            note(f"warning: {message}")
    board = _with_groups(as_leaderboard_of(among), options)
    found = standings(as_leaderboard_of(new), board, options.gold, options.lower)
    if options.format == "jsonl":
        write_lines(standing_lines(found), options.out)
    else:
        signature = " + ".join(filter(None, (new.signature, among.signature)))
        places = standing_table(found, board, options.places)
        write_lines([render_tables([places], options.format, signature)], options.out)
    return 0


def _with_groups(board: Leaderboard, options: argparse.Namespace) -> Leaderboard:
    """The leaderboard with a name for messages and the groups of its runs."""
    board = replace(board, name=board.name or options.among)
    if not options.groups:
        return board
    groups = read_groups(options.groups)
    if not set(groups) & set(board.runs):
        raise DataError(
            f"no run of {board.name} ({listed(board.runs)}) is in the groups, which name {listed([*groups])}"
        )
    return replace(board, groups={run: groups[run] for run in board.runs if run in groups})
