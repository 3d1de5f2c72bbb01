"""nuggeteval score QRELS RUN...: the measures of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nuggeteval.against import add_answer_options, answer_files_of, scores_answers
from nuggeteval.cli import note, run_counter, write_lines
from nuggeteval.data import Scores
from nuggeteval.errors import ParameterError
from nuggeteval.formats.scores import LAYOUTS, as_score_lines
from nuggeteval.options import add_scoring_options, check_stdin, scored, whole
from nuggeteval.reports import RENDERERS, render

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval qrels/demo.qrels runs/demo-*.run
  nuggeteval score -q -m alpha_nDCG@10 -m 'alpha_nDCG(alpha=0.9)@20' -m Cov@10 QRELS RUN...
  nuggeteval score -m official -l 3 --bank BANK.jsonl QRELS RUN.gz
  nuggeteval score -m Recall_NtN,Precision_NtN NTN.qrels RUN...
  nuggeteval -q -c -l 2 -m ndcg_cut.5 -m P.20 -m map QRELS RUN
  nuggeteval score --judgments judgments.jsonl --bank BANK.jsonl -m cone -q ANSWERS...
  nuggeteval score -m longeval --gold GOLD.jsonl --qrels QRELS --queries Q.jsonl --reference-run BEST.jsonl ANSWERS...
  nuggeteval score -m P_cited,R_cited --qrels QRELS --candidates CANDIDATES -q ANSWERS
  nuggeteval score -m 'ROUGE_L(variant="rouge")' --gold GOLD.jsonl ANSWERS...
  nuggeteval score -m Density@10 -l 3 QRELS RUN... --documents D.jsonl
  nuggeteval score --view statements IKAT-TOPICS.json IKAT-RUN.json...
  nuggeteval score -m official --by strata.tsv QRELS RUN...
  zcat RUN.gz | nuggeteval --format markdown QRELS -

Files may be compressed (gzip, bzip2, xz, zstd); - is stdin, for the qrels or one run; irds:ID takes
qrels from ir_datasets. 'nuggeteval measures' lists the measures.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = (
        "%(prog)s [OPTION...] QRELS RUN...\n"
        "       %(prog)s --judgments FILE --bank BANK [OPTION...] ANSWERS...\n"
        "       %(prog)s --gold FILE | --qrels FILE | ... [OPTION...] ANSWERS..."
    )
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="nugget qrels (topic nugget unit grade), or irds:ID; or the first ANSWERS")
    add("runs", metavar="RUN", nargs="*", help="TREC runs (topic Q0 unit rank score tag); or more ANSWERS")
    add_scoring_options(parser)
    add_answer_options(parser)
    add("-q", "--by-topic", action="store_true", help="print every topic")
    add("-n", "--no-summary", action="store_true", help="no 'all' row")
    formats = (*LAYOUTS, *RENDERERS)
    add("--format", choices=formats, help="trec_eval for one run, ir_measures for more; tsv and jsonl are exact")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")


def run(options: argparse.Namespace) -> int:
    """Score, print notes and signature on stderr, results on stdout."""
    _check_usage(options)
    progress = run_counter(len(options.runs), options.quiet)
    scores = scored(options, options.qrels, options.runs, progress).scores
    if not options.quiet:
        for message in scores.notes:
            note(f"warning: {message}")
    write_lines(_rendered(scores, options), options.out)
    if not options.quiet and options.format not in RENDERERS:
        print(scores.signature, file=sys.stderr)
    return 0


def _check_usage(options: argparse.Namespace) -> None:
    if not options.runs and not scores_answers(options, measures=True):
        raise ParameterError(
            "there is no run: nuggeteval QRELS RUN..., or ANSWERS with --gold, --qrels, ... or --judgments and --bank"
        )
    if options.no_summary and not options.by_topic:
        raise ParameterError("-n (no summary) without -q (by topic) leaves nothing to print")
    check_stdin((options.qrels, options.bank, options.judgments, *answer_files_of(options), *options.runs))
    if options.format == "trec_eval" and len(options.runs) > 1:
        raise ParameterError("trec_eval's layout has no column for the run: score one run, or choose another --format")


def _rendered(scores: Scores, options: argparse.Namespace) -> Iterator[str]:
    layout = options.format or ("trec_eval" if len(scores.runs) == 1 else "ir_measures")
    rows = (options.by_topic, not options.no_summary, options.places)
    if layout in RENDERERS:
        yield render(scores, layout, *rows)
    else:
        yield from as_score_lines(scores, layout, *rows)
