"""nuggeteval generate rerank --by STRATEGY --run RUN -o RUN: the baselines that rerank by language model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from nuggeteval.cli import (
    add_model_options,
    check_output,
    checked_tag,
    in_batch,
    make_chat,
    note,
    progress_bar,
    read_prompt,
)
from nuggeteval.errors import ParameterError
from nuggeteval.files import write_text
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.topics import read_queries
from nuggeteval.formats.trec import read_run, write_run
from nuggeteval.generators import as_run, candidates_of
from nuggeteval.generators.rerank import STRATEGIES, WORDS, estimate, rerank

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval generate rerank --by pointwise --run BM25.run --queries TOPICS --documents DOCS.jsonl \\
      --model NAME --base-url http://localhost:8000/v1 --cache replies.db -o BM25-pointwise.run
  nuggeteval generate rerank --by listwise --window 20 --stride 10 --run BM25.run --queries TOPICS \\
      --documents DOCS.jsonl --model NAME --cache replies.db --trace windows.jsonl -o BM25-listwise.run
  nuggeteval generate rerank --by setwise --children 5 --top 10 --run BM25.run --queries TOPICS \\
      --documents DOCS.jsonl --model NAME --cache replies.db --dry-run -o BM25-setwise.run

pointwise: P(yes) among yes and no as the first token, the only one that is asked for; the server must give log
probabilities (top_logprobs 20; for vLLM --max-logprobs 20), and the model answer without thoughts.
listwise: a window that slides from the end to the front, each put in order (RankGPT). setwise: heap sort of the top by
"which is best". rubric: the grade from 0 to 5 of the rubric judge. Ties keep the order of the first stage.

Scores of the run are 1 / position, so that no evaluator can order it otherwise; the model's own are in the trace. A
reply that cannot be read is counted, and changes no order. The run is written in the end; with --cache, a call that was
killed goes on where it was. With --batch-out listwise and setwise need a batch for each comparison of a topic.
"""

_OWN = {"window": "listwise", "stride": "listwise", "children": "setwise", "top": "setwise"}
"""Option -> the only strategy that has it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s --by STRATEGY --run RUN --queries FILE --documents FILE... --model NAME -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--by", choices=STRATEGIES, required=True, help="how the model is asked")
    add("--run", dest="first_stage", metavar="RUN", required=True, help="the first stage")
    add("--queries", metavar="FILE", required=True, help="what was asked")
    add("--documents", metavar="FILE", nargs="+", required=True, help="texts of the documents, as JSON lines")
    add("--depth", type=int, default=100, metavar="N", help="rerank the first N of each topic, drop the rest (100)")
    add("--order", choices=("score", "rank"), default="score", help="what the first stage's order is (score)")
    add("--window", type=int, metavar="N", help="listwise: documents in a window (20)")
    add("--stride", type=int, metavar="N", help="listwise: documents that the window moves (10)")
    add("--children", type=int, metavar="N", help="setwise: documents beside the parent (5)")
    add("--top", type=int, metavar="N", help="setwise: documents that are sorted (10)")
    add("--words", type=int, metavar="N", help="first words of a document that are shown (300 listwise, setwise; all)")
    add("-o", "--out", metavar="FILE", required=True, help="run to write; - is stdout")
    add("--tag", metavar="TAG", help="of the run (that of the first stage, and how: bm25+listwise)")
    add("--trace", metavar="FILE", help="what was asked and what came of it, as JSON lines")
    add("--quiet", action="store_true", help="no progress, warnings or summary on stderr")
    add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    """Rerank and write."""
    parameters = _parameters(options)
    chat = make_chat(options)
    if chat is None:
        raise ParameterError("reranking asks a language model: --model NAME (and --base-url URL) names it")
    for path in (options.out, options.trace):
        check_output(path)
    first = read_run(options.first_stage)
    tag = checked_tag(options.tag if options.tag is not None else f"{'_'.join(first.name.split())}+{options.by}")
    candidates = candidates_of(first, options.depth, options.order)
    texts = read_documents(options.documents, {document for ranking in candidates.values() for document in ranking})
    asked = (options.by, candidates, read_queries(options.queries, titled=True), texts, chat)
    if options.dry_run:
        need, notes = estimate(*asked, **parameters)
        bound = "at most " if options.by == "setwise" else ""
        note(f"dry run, nobody was asked; {bound}{need}")
        _warn(options, notes)
        return 0
    made = rerank(*asked, **parameters, show=progress_bar("questions", options.quiet))
    if in_batch(chat, options):
        return 0
    if options.trace:
        write_text(options.trace, "".join(json.dumps(record) + "\n" for record in made.records))
    write_run(as_run(made.rankings, tag), options.out)
    _warn(options, made.notes)
    if not options.quiet:
        ranked = sum(map(len, made.rankings.values()))
        note(f"{options.out}: {ranked} documents of {len(made.rankings)} topics, {options.by}; {chat.ledger}")
    return 0


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """What the strategy is told; where nothing is said it has its own defaults.

    Raises:
        ParameterError: an option of another strategy.
    """
    given: Mapping[str, int] = {name: value for name in _OWN if (value := getattr(options, name)) is not None}
    for name in given:
        if _OWN[name] != options.by:
            raise ParameterError(f"--{name} is for --by {_OWN[name]}")
    words = WORDS[options.by] if options.words is None else options.words
    return {"prompt": read_prompt(options), "words": words, **given}


def _warn(options: argparse.Namespace, notes: tuple[str, ...]) -> None:
    if not options.quiet:
        for message in notes:
            note(f"warning: {message}")
