"""nuggeteval extract ANSWERS... -o NUGGETS: the nuggets of responses."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from nuggeteval.cli import add_model_options, in_batch, make_chat, note, read_prompt
from nuggeteval.errors import ParameterError
from nuggeteval.extract import Extraction, by_model, by_sentence
from nuggeteval.files import write_text
from nuggeteval.formats.answers import read_answers, write_nuggets
from nuggeteval.formats.topics import read_queries

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval extract runs/answers-good.jsonl -o nuggets.jsonl
  nuggeteval extract ANSWERS --by llm --model NAME --queries TOPICS --cache replies.db -o nuggets.jsonl

One line an answer: {"run", "topic", "nuggets": [texts]}, by llm with the offsets of every span and the lines that are
no spans. The file is read beside the answers wherever nuggets are judged or scored. By sentence: as the system gave
its sentences, else split by rule (see docs/formats.md).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s ANSWERS... -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("answers", metavar="ANSWERS", nargs="+", help="answer files or folders of them")
    add("--by", choices=("sentence", "llm"), default="sentence", help="how (sentence)")
    add("--queries", metavar="FILE", help="what was asked, for the model")
    add("-o", "--out", metavar="FILE", required=True, help="where to")
    add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    """Extract and write."""
    answers = read_answers(options.answers)
    if options.by == "sentence":
        for name in ("model", "queries", "prompt", "batch_out", "batch_in"):
            if getattr(options, name):
                raise ParameterError(f"--{name.replace('_', '-')} is for a language model: --by llm")
        made = [replace(answer, nuggets=by_sentence(answer)) for answer in answers]
        if not options.dry_run:
            write_nuggets(made, options.out)
        note(f"{sum(len(answer.nuggets or ()) for answer in made)} nuggets of {len(made)} answers")
        return 0
    chat = make_chat(options)
    if chat is None:
        raise ParameterError("extraction by llm asks a language model: --model NAME (and --base-url URL) names it")
    told = [answer for answer in answers if answer.text.strip()]
    if options.dry_run:
        note(f"dry run, nobody was asked; {len(told)} calls, and one more for each reply with a line that is no span")
        return 0
    queries = read_queries(options.queries) if options.queries else None
    found = list(by_model(answers, chat, queries, read_prompt(options)))
    if in_batch(chat, options):
        return 0
    write_text(options.out, "".join(_lines(found)))
    spans, rejected = (
        sum(len(part) for part in parts) for parts in zip(*((e.spans, e.rejected) for e in found), strict=True)
    )
    note(f"{spans} nuggets of {len(found)} answers; {rejected} lines are no spans; {chat.ledger}")
    for extraction in found:
        if extraction.reason:
            note(f"warning: {extraction.answer.run}, {extraction.answer.topic}: {extraction.reason}")
    return 0


def _lines(found: Iterable[Extraction]) -> Iterator[str]:
    for e in found:
        record = {
            "run": e.answer.run,
            "topic": e.answer.topic,
            "nuggets": [span.text for span in e.spans],
            "spans": [[span.start, span.end, span.level] for span in e.spans],
            "rejected": list(e.rejected),
            "retried": e.retried,
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"
