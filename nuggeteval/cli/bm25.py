"""nuggeteval generate bm25 --queries FILE --documents FILE... -o RUN: a plain first stage."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence

from nuggeteval.cli import check_output, checked_tag, note, progress_bar
from nuggeteval.errors import DataError, listed
from nuggeteval.formats.candidates import read_candidates
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.topics import read_queries
from nuggeteval.formats.trec import write_run
from nuggeteval.generators.bm25 import K1, B, bm25_run

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval generate bm25 --queries qrels/demo.topics.jsonl --documents qrels/demo.documents.jsonl -o bm25.run
  nuggeteval generate bm25 --queries Q.tsv --documents corpus/ --depth 100 --k1 1.2 --b 0.75 --tag bm25-k1.2 -o bm25.run
  nuggeteval generate lancer --run bm25.run --queries Q.tsv --documents corpus/ -o lancer.run

Title and text of a document together; words are stemmed (Porter), English stop words are left out. The collection is
held in memory.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s --queries FILE --documents FILE... -o RUN"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--queries", metavar="FILE", required=True, help="what is asked")
    add("--documents", metavar="FILE", nargs="+", required=True, help="the collection")
    add("--candidates", metavar="FILE", help="rank only these documents of each query")
    add("--depth", type=int, default=1000, metavar="N", help="documents of each query (1000)")
    add("--k1", type=float, default=K1, metavar="X", help=f"of BM25 ({K1})")
    add("--b", type=float, default=B, metavar="X", help=f"of BM25 ({B})")
    add("--tag", default="bm25", metavar="TAG", help="of the run (bm25)")
    add("-o", "--out", metavar="FILE", required=True, help="run to write; - is stdout")
    add("--quiet", action="store_true", help="no progress, warnings or summary on stderr")


def run(options: argparse.Namespace) -> int:
    """Rank and write."""
    check_output(options.out)
    tag = checked_tag(options.tag)
    queries = read_queries(options.queries, titled=True)
    candidates = read_candidates(options.candidates) if options.candidates else None
    documents = read_documents(options.documents)
    if not documents:
        raise DataError(f"no document in {listed(options.documents)}")
    show = progress_bar("queries", options.quiet)
    made = bm25_run(queries, documents, options.depth, options.k1, options.b, tag, show, candidates)
    write_run(made, options.out)
    if not options.quiet:
        for message in _warnings(list(queries), candidates, documents, made.topics):
            note(f"warning: {message}")
        note(
            f"{options.out}: {len(made)} documents of {len(made.topics)} topics, from a collection of {len(documents)}"
        )
    return 0


def _warnings(
    queries: Sequence[str],
    candidates: Mapping[str, Sequence[str]] | None,
    documents: Collection[str],
    ranked: Collection[str],
) -> Iterator[str]:
    """What is not in the run, and why."""
    if candidates is not None:
        if without := [topic for topic in queries if topic not in candidates]:
            yield f"queries without a candidate: {listed(without)}"
        if missing := sorted({one for topic in queries for one in candidates.get(topic, ())} - set(documents)):
            yield f"candidates that are not in the collection: {listed(missing)}"
    asked = [topic for topic in queries if candidates is None or topic in candidates]
    if empty := [topic for topic in asked if topic not in ranked]:
        yield f"queries of which no document has a word: {listed(empty)}"
