"""nuggeteval generate lancer|ideal|rerank|rag|bm25 ...: reference runs."""

from __future__ import annotations

import argparse

from nuggeteval.cli import call

__all__ = ["GENERATORS", "add_arguments", "run"]

GENERATORS: dict[str, tuple[str, str]] = {
    "lancer": ("nuggeteval.cli.lancer", "rerank for nugget coverage: sub-questions, ratings, aggregation"),
    "ideal": ("nuggeteval.cli.ideal", "the bound: the best reranking of the same candidates, given qrels"),
    "rerank": ("nuggeteval.cli.rerank", "rerank by a language model: pointwise, listwise, setwise, rubric"),
    "rag": ("nuggeteval.cli.rag", "answers from candidates: the LongEval-RAG pipeline, ten variants"),
    "bm25": ("nuggeteval.cli.bm25", "a first stage: BM25 over a collection of documents"),
}
"""Generator -> (module with add_arguments and run, one line of help)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the generators; each has options of its own."""
    parser.usage = "%(prog)s GENERATOR [OPTION...]"
    rows = "\n".join(f"  {name:<8} {summary}" for name, (_, summary) in GENERATORS.items())
    parser.epilog = f"generators:\n{rows}\n\n  nuggeteval generate GENERATOR --help"
    parser.add_argument("generator", metavar="GENERATOR", choices=tuple(GENERATORS), help="see below")
    parser.add_argument("arguments", metavar="OPTION", nargs=argparse.REMAINDER, help="of the generator")


def run(options: argparse.Namespace) -> int:
    """Run the generator that was named, with its own options."""
    module, summary = GENERATORS[options.generator]
    return call(module, summary, f"nuggeteval generate {options.generator}", options.arguments)
