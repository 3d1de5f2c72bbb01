"""nuggeteval compare QRELS RUN_A RUN_B: two runs in detail."""

from __future__ import annotations

import argparse
from dataclasses import replace

from nuggeteval.boards import pick_measures
from nuggeteval.cli import note, write_lines
from nuggeteval.data import Run, Scores
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.options import (
    Scored,
    add_scoring_options,
    check_stdin,
    names_runs,
    policies_of,
    read_as_scores,
    refuse_scoring,
    scored,
    share,
    whole,
)
from nuggeteval.reports import RENDERERS, render_tables
from nuggeteval.reports.comparison import (
    Comparison,
    build_comparison,
    comparison_lines,
    comparison_tables,
    nuggets_of_one,
)
from nuggeteval.reports.coverage import carried_by, declared_nuggets
from nuggeteval.stats.significance import CORRECTIONS
from nuggeteval.units import runs_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval compare --rel 3 --bank qrels/demo.bank.jsonl qrels/demo.qrels runs/demo-tfidf.run runs/demo-keyword.run
  nuggeteval compare -m alpha_nDCG@10 --test randomisation QRELS RUN_A RUN_B
  nuggeteval compare --judgments judgments.jsonl --bank BANK.jsonl ANSWERS_A ANSWERS_B
  nuggeteval compare A.scores.tsv B.scores.tsv

Two files of scores (with topics) are compared without the nuggets. Topics are paired by their ids.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] QRELS RUN_A RUN_B\n       %(prog)s [OPTION...] SCORES...\n"
        "       %(prog)s --judgments FILE --bank BANK [OPTION...] ANSWERS..."
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="qrels and two runs, or scores of two runs")
    add("--test", choices=("t", "wilcoxon", "randomisation"), default="t", help="paired test (t)")
    add("--correction", choices=tuple(CORRECTIONS), default="holm", help="for the number of measures (holm)")
    add("--lower", metavar="M", action="append", default=[], help="a measure of which less is better")
    add("--alpha", type=share, default=0.05, metavar="X", help="a p below it is marked (0.05)")
    add("--resamples", type=whole(1), default=10_000, metavar="N", help="of the randomisation test (10000)")
    add("--seed", type=whole(0), default=42, metavar="N", help="of the randomisation test (42)")
    add("--at", type=whole(1), default=10, metavar="K", help="nuggets of documents within the first K ranks (10)")
    add("--gaps", type=whole(0), default=5, metavar="N", help="topics with the biggest differences (5)")
    add("--format", choices=(*RENDERERS, "jsonl"), default="text", help="jsonl is exact and whole (text)")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")
    add_scoring_options(parser)


def run(options: argparse.Namespace) -> int:
    """Compare, with notes on stderr."""
    check_stdin((*options.files, options.bank, options.judgments))
    runs: list[Run] = []
    if names_runs(options, options.files):
        first, *rest = options.files
        if len(rest) != 2 and not options.judgments:
            raise ParameterError(f"two runs are compared (got {len(rest)}): nuggeteval compare QRELS RUN_A RUN_B")
        found = scored(options, first, rest, runs.append)
        comparison = _with_nuggets(_compared(found.scores, options), found, runs, options)
    else:
        refuse_scoring(options)
        board = read_as_scores(options.files)
        if not isinstance(board, Scores):
            raise DataError("runs are compared topic by topic: these files have aggregates only")
        if options.measure:
            picked = pick_measures(board, [name for text in options.measure for name in text.split(",")])
            board = picked if isinstance(picked, Scores) else board
        comparison = _compared(board, options)
    if not options.quiet:
        for message in comparison.notes:
            note(f"warning: {message}")
    if options.format == "jsonl":
        write_lines(comparison_lines(comparison), options.out)
    else:
        tables = comparison_tables(comparison, options.places, options.gaps)
        write_lines([render_tables(tables, options.format, comparison.signature)], options.out)
    return 0


def _compared(scores: Scores, options: argparse.Namespace) -> Comparison:
    if options.by:
        raise ParameterError("two runs are compared over all topics; --topics FILE chooses some")
    return build_comparison(
        scores, options.test, options.correction, options.alpha, options.resamples, options.seed, options.lower
    )


def _with_nuggets(comparison: Comparison, found: Scored, runs: list[Run], options: argparse.Namespace) -> Comparison:
    """The nuggets that only one run shows, in the first view that was scored."""
    view, qrels = next(iter(found.qrels.items()))
    if found.answers:
        runs = list(runs_of(found.answers, view))
    policies = policies_of(options)
    if view == "documents":
        policies = replace(policies, depth=options.at)
    carried = [carried_by(run, qrels, policies) for run in runs]
    averaged = {*found.scores.topics}
    texts = {
        (topic, nugget): text
        for topic, nuggets in declared_nuggets(qrels).items()
        if topic in averaged
        for nugget, text, _ in nuggets
    }
    return nuggets_of_one(comparison, carried, texts, policies.depth)
