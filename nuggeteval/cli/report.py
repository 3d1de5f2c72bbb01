"""nuggeteval report QRELS RUN... -o report.html: everything on one page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from nuggeteval.boards import pair_sides, read_board, side_of
from nuggeteval.cli import note, run_counter, write_lines
from nuggeteval.data import Run
from nuggeteval.errors import FormatError, ParameterError
from nuggeteval.files import json_records, read_bytes, stem
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.judgments import as_nugget_qrels
from nuggeteval.formats.topics import read_groups, read_queries
from nuggeteval.leaderboards import Ranking, build_ranking
from nuggeteval.metaevaluation import Correlation, Settings, correlate
from nuggeteval.options import (
    Scored,
    add_ranking_options,
    add_scoring_options,
    check_stdin,
    method_of,
    policies_of,
    scored,
    whole,
)
from nuggeteval.overview import NuggetsFound, Trace, report_data
from nuggeteval.reports.coverage import carried_by
from nuggeteval.reports.page import render_page
from nuggeteval.units import ANSWER_VIEWS, runs_of, units_of

__all__ = ["add_arguments", "run"]

_LARGE = 15_000_000
_FEW = 3

_EXAMPLES = """
examples:
  nuggeteval report --rel 3 --bank qrels/demo.bank.jsonl qrels/demo.qrels runs/demo-*.run -o report.html
  nuggeteval report -m lancer --bank BANK.jsonl --documents D.jsonl --queries T.jsonl QRELS RUN... -o report.html
  nuggeteval report --judgments judgments.jsonl --bank BANK.jsonl ANSWERS... -o report.html
  nuggeteval report --truth human.scores.tsv --groups teams.tsv --test tukey QRELS RUN... -o report.html

One file, which opens from disk and needs no network: leaderboard, topics, which run finds which nugget and by what
sentence, correlation of the measures and with a truth, pairwise tests. It needs: pip install 'nuggeteval[report]'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] QRELS RUN... -o report.html\n"
        "       %(prog)s --judgments FILE --bank BANK [OPTION...] ANSWERS... -o report.html"
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="qrels and runs; with --judgments, answers")
    add("-o", "--out", metavar="FILE", required=True, help="the page; - for stdout")
    add("--title", default="", metavar="TEXT", help="of the page")
    add("--truth", metavar="SCORES", help="other scores of the same runs, correlated with these")
    add("--truth-measure", action="append", default=[], metavar="M[=N]", help="M of the truth with our N (all common)")
    add("--documents", metavar="FILE", help="texts of documents, shown where they carry a nugget")
    add("--queries", metavar="FILE", help="what was asked, shown with the topics")
    add(
        "--trace",
        dest="trace_of_run",
        metavar="FILE",
        help="how a LANCER run was made (generate lancer --trace), beside the nuggets",
    )
    add("--at", type=whole(1), default=None, metavar="K", help="nuggets within the first K ranks (all)")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add_ranking_options(parser)
    add_scoring_options(parser)


def run(options: argparse.Namespace) -> int:
    """Score, look for nuggets, correlate, write the page."""
    first, *rest = options.files
    if not rest and not options.judgments:
        raise ParameterError("there is no run: nuggeteval report QRELS RUN... -o report.html")
    check_stdin((*options.files, options.bank, options.judgments, options.documents, options.truth))
    runs: list[Run] = []
    found = scored(options, first, rest, _both(runs, run_counter(len(rest), options.quiet)))
    ranking = build_ranking(found.scores, method_of(options), read_groups(options.groups) if options.groups else None)
    nuggets = _nuggets(found, runs, options)
    page = render_page(
        report_data(
            ranking,
            options.title,
            nuggets,
            _with_truth(ranking, options),
            _matrix(ranking),
            read_queries(options.queries) if options.queries else None,
            options.places,
            _trace(options) if options.trace_of_run else None,
        )
    )
    write_lines([page], None if options.out == "-" else options.out)
    if not options.quiet:
        for message in found.scores.notes:
            note(f"warning: {message}")
        if len(page) > _LARGE:
            note(f"warning: the page has {len(page) / 1e6:.0f} MB; fewer measures or --at K make it smaller")
    return 0


def _both(runs: list[Run], count: Callable[[object], None] | None) -> Callable[[Run], None]:
    """Keep each run that is scored, and count it."""

    def scored_one(run: Run) -> None:
        runs.append(run)
        if count is not None:
            count(run)

    return scored_one


def _nuggets(found: Scored, runs: list[Run], options: argparse.Namespace) -> NuggetsFound | None:
    """Which run finds which nugget: of answers in the finest view that was judged."""
    policies = policies_of(options)
    if found.answers:
        judged = {judgment.view for judgment, _ in found.records}
        view = next((view for view in reversed(ANSWER_VIEWS) if view in judged), None)
        if view is None or found.bank is None:
            return None
        qrels = as_nugget_qrels(found.records, view, options.judgments).with_bank(found.bank)
        runs = list(runs_of(found.answers, view))
        texts = {(unit.topic, unit.id): unit.text for unit in units_of(found.answers, view)}
    else:
        (qrels,) = found.qrels.values()
        policies = replace(policies, depth=options.at or policies.depth)
        texts = {}
    carried = [carried_by(run, qrels, policies) for run in runs]
    if options.documents:
        wanted = {where.unit for mine in carried for where in mine.values()}
        documents = read_documents([options.documents], wanted)
        texts |= {
            (topic, where.unit): documents.get(where.unit, "") for mine in carried for (topic, _), where in mine.items()
        }
    return NuggetsFound(qrels, carried, texts, policies.depth)


def _trace(options: argparse.Namespace) -> Trace:
    """How a run was made.

    Raises:
        FormatError: no trace.
    """
    records = [record for _, record in json_records(read_bytes(options.trace_of_run), options.trace_of_run)]
    keys = ("topic", "strategy", "questions", "documents")
    if not records or not all(_is_traced(record, keys) for record in records):
        raise FormatError(options.trace_of_run, f"expected the lines of a trace: {', '.join(keys)}")
    return Trace(f"{stem(options.trace_of_run)} ({records[0]['strategy']})", records)


def _is_traced(record: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Whether a line of a trace has all that is shown of it."""
    lists = [record.get(key) for key in ("questions", "documents")]
    return (
        all(key in record for key in keys)
        and isinstance(record["topic"], str)
        and all(isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries) for entries in lists)
        and all(isinstance(question.get(key), str) for question in record["questions"] for key in ("id", "text"))
        and all(_is_step(document, len(record["questions"])) for document in record["documents"])
    )


def _is_step(document: Mapping[str, Any], questions: int) -> bool:
    """Whether what is told of a rank has all that is shown of it."""
    ratings, adds = document.get("ratings", ()), document.get("adds")
    return (
        isinstance(document.get("rank"), int)
        and isinstance(document.get("docid"), str)
        and (ratings is None or (isinstance(ratings, list) and len(ratings) == questions))
        and isinstance(adds, list)
    )


def _with_truth(ranking: Ranking, options: argparse.Namespace) -> list[Correlation]:
    """Our scores of the runs beside a truth's."""
    if not options.truth:
        return []
    truth = read_board(options.truth)
    settings = _settings(options)
    lower = [name for name, higher in ranking.higher.items() if higher is False]
    pairs = pair_sides(truth, ranking.board, options.truth_measure, ("truth", "scores"), lower)
    return [correlate(x, y, settings) for x, y in pairs]


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        missing="drop",
        teams=read_groups(options.groups) if options.groups else {},
        resamples=options.resamples,
        seed=options.seed,
        test=None if options.test == "none" else options.test,
        correction=options.correction,
        alpha=options.alpha,
    )


def _matrix(ranking: Ranking) -> list[Correlation]:
    """Every two measures of the scores."""
    measures = [name for name in ranking.measures if ranking.higher[name] is not None]
    if len(ranking.board.runs) < _FEW:
        return []
    settings = Settings(resamples=0, test=None)
    sides = [side_of(ranking.board, m, lower=[m] if ranking.higher[m] is False else []) for m in measures]
    return [correlate(x, y, settings) for x, y in combinations(sides, 2)]
