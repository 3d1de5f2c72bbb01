"""nuggeteval generate ideal: the best reranking of the same candidates."""

from __future__ import annotations

import argparse

from nuggeteval.cli import check_output, checked_tag, note
from nuggeteval.errors import listed
from nuggeteval.formats.irds import PREFIX, read_irds_qrels
from nuggeteval.formats.trec import read_qrels, read_run, write_run
from nuggeteval.generators import as_run, candidates_of
from nuggeteval.generators.ideal import BY, ideal, without_support
from nuggeteval.options import whole

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval generate ideal --run runs/demo-tfidf.run --qrels qrels/demo.qrels -l 3 -o ideal.run
  nuggeteval generate ideal --by exact --cutoff 10 --run FIRST.run --qrels NUGGET.qrels -o bound.run

greedy takes the document with the largest novelty gain one by one (the ideal of alpha-nDCG over these candidates, ties
to the first stage); exact puts a maximum cover of --cutoff documents first (an integer program): only its coverage at
that cutoff is a bound.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s --run FIRST.run --qrels NUGGET.qrels -o OUT.run"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--run", dest="first", metavar="FILE", required=True, help="first-stage run: the candidates")
    add("--qrels", metavar="FILE", required=True, help="nugget qrels, or irds:ID")
    add("--by", choices=BY, default="greedy", help="novelty gain one by one, or exact maximum coverage (greedy)")
    add("-l", "--rel", type=whole(1), metavar="N", help="least grade that counts (the scale's own)")
    add("--cutoff", type=whole(1), default=10, metavar="K", help="ranks whose coverage is made maximal, for exact (10)")
    add("--depth", type=whole(1), default=100, metavar="N", help="candidates of each topic (100)")
    add("--order", choices=("score", "rank"), default="score", help="what the first stage's order is (score)")
    add("--tag", metavar="TAG", help="run tag (ideal:BY)")
    add("-o", "--out", metavar="FILE", required=True, help="the run")


def run(options: argparse.Namespace) -> int:
    """Rerank by the qrels."""
    check_output(options.out)
    tag = checked_tag(options.tag if options.tag is not None else f"ideal:{options.by}")
    candidates = candidates_of(read_run(options.first), options.depth, options.order)
    named = options.qrels.startswith(PREFIX)
    qrels = read_irds_qrels(options.qrels, "error") if named else read_qrels(options.qrels)
    rankings = ideal(candidates, qrels, options.by, options.rel, options.cutoff)
    write_run(as_run(rankings, tag), options.out)
    if without := without_support(candidates, qrels, options.rel):
        note(f"warning: topics without a supporting candidate keep the order of the first stage: {listed(without)}")
    return 0
