"""nuggeteval leaderboard QRELS RUN... | SCORES... | published:NAME: who is ahead, and whether it could be chance."""

from __future__ import annotations

import argparse

from nuggeteval.against import add_answer_options, answer_files_of
from nuggeteval.boards import Board, pick_measures
from nuggeteval.cli import note, run_counter, write_lines
from nuggeteval.data import Scores
from nuggeteval.errors import ParameterError
from nuggeteval.formats.topics import read_groups, read_strata
from nuggeteval.leaderboards import build_ranking
from nuggeteval.options import (
    add_ranking_options,
    add_scoring_options,
    check_stdin,
    method_of,
    names_runs,
    read_as_scores,
    refuse_scoring,
    scored,
    whole,
)
from nuggeteval.reports import RENDERERS, render_tables
from nuggeteval.reports.leaderboard import ranking_lines, ranking_tables

__all__ = ["add_arguments", "run"]

_EXACT = ("tsv", "jsonl")

_EXAMPLES = """
examples:
  nuggeteval leaderboard --rel 3 --bank qrels/demo.bank.jsonl qrels/demo.qrels runs/demo-*.run
  nuggeteval leaderboard -m alpha_nDCG@10,Cov@10 --sort Cov@10 --test tukey QRELS RUN...
  nuggeteval leaderboard --test randomisation --baseline BM25 --correction bh QRELS RUN...
  nuggeteval leaderboard --by strata.tsv --groups teams.tsv --format markdown QRELS RUN...
  nuggeteval leaderboard --judgments judgments.jsonl --bank BANK.jsonl ANSWERS...
  nuggeteval leaderboard -m longeval --gold GOLD.jsonl --qrels QRELS --sort ROUGE_L ANSWERS...
  nuggeteval leaderboard -m ndcg_cut_5 *.trec_eval.txt
  nuggeteval leaderboard --format latex --sort Recall_NtN:human published:ikat2024

Score files may be in any layout: trec_eval's three columns (the run is the file), four columns in any order, TSV,
JSON lines, wide tables (run M1 M2 ... or run topic M1 M2 ...), the files of LongEval-RAG. --format tsv is four columns
with 'all' rows, as TIRA checks leaderboards; with -q what is written can be resampled and tested again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] QRELS RUN...\n       %(prog)s [OPTION...] SCORES...\n"
        "       %(prog)s [OPTION...] published:NAME\n"
        "       %(prog)s --judgments FILE --bank BANK [OPTION...] ANSWERS...\n"
        "       %(prog)s --gold FILE | --qrels FILE | ... [OPTION...] ANSWERS..."
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="qrels and runs, or answers, or files of scores, or published:NAME")
    add_ranking_options(parser)
    add("--format", choices=(*RENDERERS, *_EXACT), default="text", help="tsv and jsonl are exact (text)")
    add("-q", "--by-topic", action="store_true", help="rows of topics too, in tsv and jsonl")
    add("--no-intervals", action="store_true", help="no stability intervals in the table")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")
    add_scoring_options(parser)
    add_answer_options(parser)


def run(options: argparse.Namespace) -> int:
    """Rank, print notes and signature on stderr, the leaderboard on stdout."""
    check_stdin((*options.files, options.bank, options.judgments, options.groups, *answer_files_of(options)))
    board = _board(options)
    groups = read_groups(options.groups) if options.groups else None
    ranking = build_ranking(board, method_of(options), groups)
    if not options.quiet:
        for message in board.notes if isinstance(board, Scores) else ():
            note(f"warning: {message}")
    if options.format in _EXACT:
        write_lines(ranking_lines(ranking, options.format, options.by_topic), options.out)
        for message in () if options.quiet else ranking.notes:
            note(message)
    else:
        tables = ranking_tables(ranking, options.places, not options.no_intervals)
        write_lines([render_tables(tables, options.format, ranking.signature)], options.out)
    return 0


def _board(options: argparse.Namespace) -> Board:
    """Scores of runs, or those of files."""
    first, *rest = options.files
    if names_runs(options, options.files):
        return scored(options, first, rest, run_counter(len(rest), options.quiet)).scores
    refuse_scoring(options)
    board = read_as_scores(options.files)
    if options.measure:
        board = pick_measures(board, [name for text in options.measure for name in text.split(",")])
    if options.by:
        if not isinstance(board, Scores):
            raise ParameterError("strata need scores of topics: these files have aggregates only")
        board = board.with_strata(read_strata(options.by))
    return board
