"""nuggeteval score QRELS RUN...: the measures of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from nuggeteval.cli import note, progress_bar, write_lines
from nuggeteval.data import ORDERS, VIEWS, NuggetBank, NuggetQrels, Run, Scores
from nuggeteval.errors import FormatError, ParameterError
from nuggeteval.formats.irds import PREFIX, read_irds_qrels
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.scores import LAYOUTS, as_score_lines
from nuggeteval.formats.topics import is_topics, read_statements, read_strata
from nuggeteval.formats.trec import read_qrels, read_run
from nuggeteval.policies import ADHOC, ON_FAILED, TOPICS, UNDEFINED, Policies
from nuggeteval.reports import RENDERERS, render
from nuggeteval.rows import DUPLICATES
from nuggeteval.scoring import Inputs, evaluate, group_by_view, join_measures

__all__ = ["add_arguments", "run"]

_MANY = 10

_EXAMPLES = """
examples:
  nuggeteval qrels/demo.qrels runs/demo-*.run
  nuggeteval score -q -m alpha_nDCG@10 -m 'alpha_nDCG(alpha=0.9)@20' -m Cov@10 QRELS RUN...
  nuggeteval score -m official -l 3 --bank BANK.jsonl QRELS RUN.gz
  nuggeteval score -m Recall_NtN,Precision_NtN NTN.qrels RUN...
  nuggeteval -q -c -l 2 -m ndcg_cut.5 -m P.20 -m map QRELS RUN
  nuggeteval score --judgments judgments.jsonl --bank BANK.jsonl -m cone -q ANSWERS...
  nuggeteval score --view statements IKAT-TOPICS.json IKAT-RUN.json...
  nuggeteval score -m official --by strata.tsv QRELS RUN...
  zcat RUN.gz | nuggeteval --format markdown QRELS -

Files may be compressed (gzip, bzip2, xz, zstd); - is stdin, for the qrels or one run; irds:ID takes
qrels from ir_datasets. 'nuggeteval measures' lists the measures.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] QRELS RUN...\n       %(prog)s --judgments FILE --bank BANK [OPTION...] ANSWERS..."
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="nugget qrels (topic nugget unit grade), or irds:ID")
    add("runs", metavar="RUN", nargs="*", help="TREC runs (topic Q0 unit rank score tag)")
    add("--judgments", metavar="FILE", help="score ANSWERS files from judgments instead of runs against qrels")
    add("-m", "--measure", action="append", metavar="M", help="measures, trec_eval names or nicknames (official)")
    add("-q", "--by-topic", action="store_true", help="print every topic")
    add("-n", "--no-summary", action="store_true", help="no 'all' row")
    add("-l", "--rel", type=int, metavar="N", help="least grade that counts, where a measure does not say (1)")
    add("--bank", metavar="FILE", help="nugget bank: denominators, importance, weights")
    add("--view", choices=VIEWS, help="what the units are (the measures' own)")
    add("--topics", metavar="WHICH", help="topics to average: qrels, bank, run, or a file of topics, one a line")
    add("-c", dest="topics", action="store_const", const="qrels", help="same as --topics qrels (trec_eval's -c)")
    add("--by", metavar="FILE", help="strata with means of their own: topic<TAB>label, or the topics of iKAT")
    add("--undefined", choices=UNDEFINED, default="skip", help="undefined values: left out of means, or 0")
    add("--on-failed", choices=ON_FAILED, default="zero", help="failed judgments: 0, topic left out, or an error")
    add("--order", choices=ORDERS, default="score", help="rank units by score or by the rank column")
    add("--duplicates", choices=DUPLICATES, default="error", help="repeated records: error, or which to keep")
    add("--adhoc", choices=ADHOC, default="max", help="grade of a unit from those of its nuggets")
    add("-M", "--depth", type=int, metavar="N", help="look at N units of each topic only")
    add("-J", "--judged-only", action="store_true", help="leave unjudged units out of the rankings")
    formats = (*LAYOUTS, *RENDERERS)
    add("--format", choices=formats, help="trec_eval for one run, ir_measures for more; tsv and jsonl are exact")
    add("--places", type=int, default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")
    add("--quiet", action="store_true", help="no warnings and no signature on stderr")


def run(options: argparse.Namespace) -> int:
    """Score, print notes and signature on stderr, results on stdout."""
    _check_usage(options)
    bank = read_bank(options.bank) if options.bank else None
    policies = Policies(
        topics=_topics(options.topics),
        undefined=options.undefined,
        on_failed=options.on_failed,
        rel=options.rel,
        adhoc=options.adhoc,
        order=options.order,
        depth=options.depth,
        judged_only=options.judged_only,
        view=options.view,
    )
    if options.judgments:
        scores = _score_answers(options, bank, policies)
    elif options.view == "statements" and is_topics(options.qrels):
        scores = _score_statements(options, policies)
    else:
        inputs = Inputs(_read_qrels(options), _runs(options), bank)
        scores = evaluate(options.measure or ["official"], inputs, policies, _progress(options))
    if options.by:
        scores = scores.with_strata(read_strata(options.by))
    if not options.quiet:
        for message in scores.notes:
            note(f"warning: {message}")
    write_lines(_rendered(scores, options), options.out)
    if not options.quiet and options.format not in RENDERERS:
        print(scores.signature, file=sys.stderr)
    return 0


def _score_answers(options: argparse.Namespace, bank: NuggetBank | None, policies: Policies) -> Scores:
    """The measures of answers from judgments, each measure on the view that it takes."""
    from nuggeteval.formats.answers import read_answers
    from nuggeteval.formats.judgments import as_nugget_qrels, read_judgments
    from nuggeteval.judging import check_texts, unjudged_notes
    from nuggeteval.units import runs_of, units_of

    if bank is None:
        raise ParameterError("judgments are scored against a bank, which says what there is to find: --bank FILE")
    answers = read_answers([options.qrels, *options.runs])
    records = read_judgments(options.judgments)
    by_view = group_by_view(options.measure or ["cone"], {judgment.view for judgment, _ in records}, options.view)
    parts = []
    for view, measures in by_view.items():
        qrels = as_nugget_qrels(records, view, options.judgments)
        judged = [judgment for judgment, _ in records if judgment.view == view]
        units = list(units_of(answers, view))
        check_texts(judged, units, bank, options.judgments)
        qrels = replace(qrels, notes=(*qrels.notes, *unjudged_notes(judged, units, bank, options.judgments)))
        parts.append(evaluate(measures, Inputs(qrels, runs_of(answers, view), bank), replace(policies, view=view)))
    return join_measures(parts)


def _score_statements(options: argparse.Namespace, policies: Policies) -> Scores:
    """The statements about the user that answers name, against those that the turns of the topics build on.

    Without ``--topics`` the turns that build on none, whose recall is undefined, are left out.
    """
    from nuggeteval.formats.answers import read_answers
    from nuggeteval.units import runs_of

    qrels = read_statements(options.qrels)
    personal = sorted({qrels.topics[topic] for topic in qrels.unit_topic[qrels.unit[qrels.grade > 0]]})
    runs = runs_of(read_answers(options.runs), "statements")
    inputs = Inputs(qrels, runs)
    return evaluate(
        options.measure or ["SetP", "SetR", "SetF"], inputs, replace(policies, topics=policies.topics or personal)
    )


def _progress(options: argparse.Namespace) -> Callable[[Run], None] | None:
    """Count the runs that are done, where it takes a while."""
    show = progress_bar("runs", options.quiet or len(options.runs) < _MANY)
    numbers = iter(range(1, len(options.runs) + 1))
    return None if show is None else lambda _: show(next(numbers), len(options.runs))


def _check_usage(options: argparse.Namespace) -> None:
    if not options.runs and not options.judgments:
        raise ParameterError("there is no run: nuggeteval QRELS RUN..., or --judgments FILE --bank BANK ANSWERS...")
    if [options.qrels, *options.runs].count("-") > 1:
        raise ParameterError("-: stdin can be read once only: for the qrels or for one run")
    if not 0 <= options.places <= 20:
        raise ParameterError(f"places must be from 0 to 20 (got {options.places})")
    if options.no_summary and not options.by_topic:
        raise ParameterError("-n (no summary) without -q (by topic) leaves nothing to print")
    files = (options.qrels, options.bank, options.judgments, *options.runs)
    inputs = {Path(name).resolve() for name in files if name}
    if options.out and Path(options.out).resolve() in inputs:
        raise ParameterError(f"-o {options.out} would overwrite an input")
    if options.format == "trec_eval" and len(options.runs) > 1:
        raise ParameterError("trec_eval's layout has no column for the run: score one run, or choose another --format")


def _read_qrels(options: argparse.Namespace) -> NuggetQrels:
    if options.qrels.startswith(PREFIX):
        return read_irds_qrels(options.qrels, options.duplicates)
    return read_qrels(options.qrels, options.duplicates)


def _runs(options: argparse.Namespace) -> Iterator[Run]:
    """One run at a time, so that only what is judged stays in memory."""
    for path in options.runs:
        yield read_run(path, options.duplicates)


def _topics(which: str | None) -> str | list[str] | None:
    if which is None or which in TOPICS:
        return which
    from nuggeteval.files import read_bytes
    from nuggeteval.ids import decode

    if not Path(which).exists():
        raise FormatError(which, f"no such file; --topics takes {', '.join(TOPICS)} or a file of topics")
    return [decode(line.split()[0]) for line in read_bytes(which).splitlines() if line.split()]


def _rendered(scores: Scores, options: argparse.Namespace) -> Iterator[str]:
    layout = options.format or ("trec_eval" if len(scores.runs) == 1 else "ir_measures")
    rows = (options.by_topic, not options.no_summary, options.places)
    if layout in RENDERERS:
        yield render(scores, layout, *rows)
    else:
        yield from as_score_lines(scores, layout, *rows)
