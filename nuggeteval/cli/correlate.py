"""nuggeteval correlate A B | SCORES --measures M1,M2 | --truth A JUDGE...: do two rankings of the runs agree."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from nuggeteval.boards import Board, pair_sides, read_board, read_boards, side_of
from nuggeteval.cli import note, write_bytes, write_lines
from nuggeteval.data import Leaderboard, Scores
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.files import read_bytes, stem
from nuggeteval.formats.topics import read_groups
from nuggeteval.ids import decode
from nuggeteval.metaevaluation import (
    MISSING,
    Correlation,
    Difference,
    Settings,
    compare_judges,
    correlate,
)
from nuggeteval.options import share, whole
from nuggeteval.reports import RENDERERS, Table, render_tables
from nuggeteval.reports.claims import claims_table
from nuggeteval.reports.correlation import (
    correlation_records,
    correlation_rows,
    correlation_tables,
    difference_records,
    difference_table,
    matrix_tables,
)
from nuggeteval.stats.significance import CORRECTIONS, TESTS

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval correlate human.scores.tsv llm.scores.tsv -m Recall_NtR
  nuggeteval correlate published:ikat2024 --measures Recall_NtR:human,Recall_NtN:human --runs automatic
  nuggeteval correlate published:ikat2024 published:ikat2024-retrieval -m Recall_NtN:llm=nDCG@5 --missing last
  nuggeteval correlate published:ikat2024 --claims --format markdown
  nuggeteval correlate SCORES --measures Recall_NtN,Recall_NtR,nDCG@5 --figure matrix.svg
  nuggeteval correlate --truth human.tsv judge1.tsv judge2.tsv --at 5,10 --groups teams.tsv --format jsonl

A and B are scores in any layout that the command leaderboard takes. Scores with topics are resampled; aggregates
alone are not. A run that one side lacks is an error unless --missing says otherwise; a run whose score is undefined is
left out and named. Where a side is constant, nothing is defined: null in JSON.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] A B\n       %(prog)s [OPTION...] SCORES... --measures M1,M2,...\n"
        "       %(prog)s [OPTION...] --truth A JUDGE..."
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("files", metavar="SCORES", nargs="+", help="two files of scores; or the judges; or files of one table")
    add("--truth", metavar="A", help="scores that every judge is compared with")
    add("--measures", metavar="M1,M2,...", help="correlate these columns of one table with one another")
    add("-m", "--measure", action="append", default=[], metavar="M[=N]", help="measure of A [of B] (all in common)")
    add("--claims", action="store_true", help="recompute the correlations that the paper of a published table prints")
    add("--lower", metavar="M", action="append", default=[], help="a measure of which less is better")
    add("--missing", choices=MISSING, default="error", help="runs that one side lacks: error, left out, ranked last")
    add("--runs", metavar="WHICH", help="only runs of this group of a published table, or a file of runs, one a line")
    add("--groups", metavar="FILE", help="run<TAB>team: the range of tau when one team is left out")
    add("--at", metavar="K,...", default="", help="tau-b and overlap among the top K of the truth (or A)")
    add("--resample", type=whole(0), default=1_000, metavar="N", help="resamples of the topics (1000); 0 for none")
    add("--seed", type=whole(0), default=42, metavar="N", help="of every random choice (42)")
    add("--test", choices=(*TESTS, "none"), default="t", help="pairwise test whose agreement is counted (t)")
    add("--correction", choices=tuple(CORRECTIONS), default="holm", help="over all pairs of runs (holm)")
    add("--alpha", type=share, default=0.05, metavar="X", help="a p below it is significant (0.05)")
    add("--format", choices=(*RENDERERS, "tsv", "jsonl"), default="text", help="tsv and jsonl are exact (text)")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("--figure", metavar="FILE", help="scatter plot or matrix, *.svg or *.png (needs matplotlib)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")
    add("--quiet", action="store_true", help="no warnings on stderr")


def run(options: argparse.Namespace) -> int:
    """Correlate and report; what is undefined is said, and no error."""
    if options.claims:
        return _claims(options)
    settings = _settings(options)
    measures = [name for name in (options.measures or "").split(",") if name]
    if measures:
        found = _matrix(options, measures, settings)
    elif options.truth:
        truth, names = _board(options.truth, options), _names([options.truth, *options.files])
        boards = [_board(path, options) for path in options.files]
        topics = sorted({topic for board in (truth, *boards) if isinstance(board, Scores) for topic in board.topics})
        found = [
            correlate(x, y, settings, topics)
            for board, name in zip(boards, names[1:], strict=True)
            for x, y in pair_sides(truth, board, options.measure, (names[0], name), options.lower)
        ]
    else:
        found = _two(options, settings)
    differences = compare_judges(found) if options.truth and len(found) > 1 else []
    if options.figure:
        write_bytes(_figure(found, measures, options), options.figure)
    write_lines(_rendered(found, differences, measures, options), options.out)
    return 0


def _claims(options: argparse.Namespace) -> int:
    """What a paper prints, what its tables give, and what became of it."""
    if len(options.files) != 1 or options.format in ("tsv", "jsonl"):
        raise ParameterError("--claims takes one published table and --format text, markdown, latex or html")
    write_lines([render_tables([claims_table(options.files[0])], options.format)], options.out)
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    cutoffs = [text for text in options.at.split(",") if text]
    if not all(re.fullmatch("[0-9]+", text) for text in cutoffs):
        raise ParameterError(f"--at takes cutoffs, as 5,10 (got {options.at})")
    return Settings(
        missing=options.missing,
        at=tuple(map(int, cutoffs)),
        teams=read_groups(options.groups) if options.groups else {},
        resamples=options.resample,
        seed=options.seed,
        test=None if options.test == "none" else options.test,
        correction=options.correction,
        alpha=options.alpha,
    )


def _two(options: argparse.Namespace, settings: Settings) -> list[Correlation]:
    if len(options.files) != 2:
        raise ParameterError(
            f"two tables of scores are correlated (got {len(options.files)}): A B, --truth A JUDGE..., or SCORES "
            "--measures M1,M2"
        )
    first, second = (_board(path, options) for path in options.files)
    names = _names(options.files)
    return [
        correlate(x, y, settings)
        for x, y in pair_sides(first, second, options.measure, (names[0], names[1]), options.lower)
    ]


def _matrix(options: argparse.Namespace, measures: Sequence[str], settings: Settings) -> list[Correlation]:
    if options.truth or options.measure:
        raise ParameterError("--measures correlates the columns of one table; it goes without --truth and -m")
    if len(measures) < 2:
        raise ParameterError(f"--measures takes two at least (got {options.measures})")
    board = _kept(read_boards(options.files), options)
    sides = [side_of(board, measure, lower=options.lower) for measure in measures]
    return [correlate(x, y, settings) for x, y in combinations(sides, 2)]


def _board(path: str, options: argparse.Namespace) -> Board:
    return _kept(read_board(path), options)


def _kept(board: Board, options: argparse.Namespace) -> Board:
    """The runs that the options ask for."""
    if not options.runs:
        return board
    if isinstance(board, Leaderboard) and options.runs in board.groups.values():
        return board.of_runs([run for run in board.runs if board.groups.get(run) == options.runs])
    if not Path(options.runs).exists():
        groups = sorted({*board.groups.values()}) if isinstance(board, Leaderboard) else []
        known = f"; its groups are {', '.join(groups)}" if groups else ""
        raise ParameterError(f"--runs {options.runs} is neither a group of the table nor a file{known}")
    wanted = decode(read_bytes(options.runs)).split()
    if unknown := [run for run in wanted if run not in board.runs]:
        raise DataError(f"{options.runs}: no run {listed(unknown)} among {listed(board.runs)}")
    return board.of_runs([run for run in board.runs if run in wanted])


def _names(paths: Sequence[str]) -> list[str]:
    """Short names of files, as long as they differ."""
    short = [path if path.startswith("published:") else stem(path) for path in paths]
    return short if len({*short}) == len(short) else list(paths)


def _rendered(
    found: Sequence[Correlation],
    differences: Sequence[Difference],
    measures: Sequence[str],
    options: argparse.Namespace,
) -> Iterator[str]:
    if options.format == "jsonl":
        yield from (json.dumps(record, ensure_ascii=False) + "\n" for record in correlation_records(found))
        yield from difference_records(differences)
    elif options.format == "tsv":
        yield from correlation_rows(found)
    else:
        tables: list[Table] = []
        if len(measures) > 2:
            tables = matrix_tables(found, measures)
        else:
            tables = [table for one in found for table in correlation_tables(one, options.places)]
        tables += [difference_table(differences)] if differences else []
        signature = " + ".join(dict.fromkeys(one.signature for one in found if one.signature))
        yield render_tables(tables, options.format, signature)


def _figure(found: Sequence[Correlation], measures: Sequence[str], options: argparse.Namespace) -> bytes:
    """The matrix of more than two columns, else the scatter plot of the first pair."""
    from nuggeteval.reports.figures import correlation_matrix, figure_format, scatter

    form = figure_format(options.figure)
    if len(measures) > 2:
        taus = {(f.x, f.y): f.coefficients["tau_b"] for f in found}
        table = [[1.0 if a == b else taus.get((a, b), taus.get((b, a))) for b in measures] for a in measures]
        return correlation_matrix(table, measures, f"Kendall tau-b, {len(found[0].runs)} runs", form)
    first = found[0]
    if len(found) > 1 and not options.quiet:
        note(f"{options.figure} shows {first.x} against {first.y}, the first of {len(found)} pairs; -m chooses")
    tau, rho = (first.coefficients[name] for name in ("tau_b", "rho"))
    shown = [
        f"{name} {'undefined' if value is None else f'{value:.3f}'}" for name, value in (("tau-b", tau), ("rho", rho))
    ]
    groups = read_groups(options.groups) if options.groups else None
    # What is ranked last for want of a score has no place on the axes.
    drawn = [r for r, run in enumerate(first.runs) if run not in first.last]
    return scatter(
        [float(first.x_values[r]) for r in drawn],
        [float(first.y_values[r]) for r in drawn],
        [first.runs[r] for r in drawn],
        (first.x, first.y),
        f"{', '.join(shown)}, {len(first.runs)} runs",
        groups,
        form,
    )
