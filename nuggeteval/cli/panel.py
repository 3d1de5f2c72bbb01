"""nuggeteval panel ANSWERS... --gold FILE --queries FILE -o SCORES: a language model compares answers."""

from __future__ import annotations

import argparse

from nuggeteval.cli import add_model_options, check_output, in_batch, make_chat, note, progress_bar, read_prompt
from nuggeteval.errors import ParameterError
from nuggeteval.files import write_text
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.gold import read_gold
from nuggeteval.formats.scores import write_scores
from nuggeteval.formats.topics import read_queries
from nuggeteval.panel import pool_answers
from nuggeteval.panel.asking import Panel
from nuggeteval.panel.verdicts import scores_of, trace_lines
from nuggeteval.policies import ON_FAILED

__all__ = ["add_arguments", "run"]

_MAX_TOKENS = 512
"""What the chat is made with where nothing is said; every question says how long its reply may be."""

_EXAMPLES = """
examples:
  nuggeteval panel ANSWERS... --gold GOLD.jsonl --queries TOPICS --model NAME --cache replies.db -o panel.jsonl
  nuggeteval panel ANSWERS... --gold GOLD.jsonl --queries TOPICS --model NAME --dry-run -o panel.jsonl
  nuggeteval panel ANSWERS... --gold GOLD.jsonl --queries TOPICS --model NAME --base-url http://localhost:8000/v1 \\
      --cache replies.db --repeat 4 --per-call 10 --trace calls.jsonl -o panel.jsonl
  nuggeteval panel ANSWERS... --gold GOLD.jsonl --queries TOPICS --model NAME --cache replies.db \\
      --batch-out batch.jsonl -o panel.jsonl
  nuggeteval leaderboard panel.jsonl -m correctness -m completeness -m panel

One call a topic shows the question, the reference answers and the answers of all systems as A, B, C, ... in an order
drawn from --seed and the topic, and asks for correctness and completeness from 1 to 5; panel is their mean. Names of
runs are never shown, equal answers are shown once and share their scores. A topic of GOLD that a run does not answer
counts 0. A call is asked up to three times; scores that are still not valid fail, and are named. A model that thinks
before it replies needs a larger --max-tokens.

--repeat averages rounds in other orders, every second one its predecessor's backwards: an even number takes the bias
for a position out. With --cache, a call that was killed goes on where it was.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s ANSWERS... --gold FILE --queries FILE --model NAME -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("answers", metavar="ANSWERS", nargs="+", help="answer files or folders of them, of all systems")
    add("--gold", metavar="FILE", required=True, help="reference answers")
    add("--queries", metavar="FILE", required=True, help="what was asked")
    add("-o", "--out", metavar="FILE", required=True, help="scores of every topic, as JSON lines")
    add("--trace", metavar="FILE", help="order, reply and failures of every call, as JSON lines")
    add("--per-call", type=int, metavar="K", help="most answers in a call (all)")
    add("--repeat", type=int, default=1, metavar="N", help="rounds in other orders, whose scores are averaged (1)")
    add("--on-failed", choices=ON_FAILED, default="zero", help="answers without valid scores, as in score (zero)")
    add("--quiet", action="store_true", help="no progress, warnings or summary on stderr")
    add_model_options(parser)
    # A reply grows with the number of answers: what fits other questions fits none here.
    parser.set_defaults(max_tokens=None)
    helps = {"max_tokens": "longest reply (40, and 40 for each answer)", "seed": "of the model and of the order (42)"}
    for action in parser._actions:
        action.help = helps.get(action.dest, action.help)


def run(options: argparse.Namespace) -> int:
    """Ask the panel and write the scores."""
    longest = options.max_tokens
    if longest is None:
        options.max_tokens = _MAX_TOKENS
    chat = make_chat(options)
    if chat is None:
        raise ParameterError("a panel asks a language model: --model NAME (and --base-url URL) names it")
    for path in (options.out, options.trace):
        check_output(path)
    panel = Panel(chat, read_prompt(options), options.per_call, options.repeat, longest)
    queries = read_queries(options.queries, titled=True)
    pool = pool_answers(read_answers(options.answers), read_gold(options.gold), queries)
    if options.dry_run:
        note(f"dry run, nobody was asked; {panel.estimate(pool)}")
        _warn(options, pool.notes)
        return 0
    opinions = panel.ask(pool, progress_bar("calls", options.quiet))
    if in_batch(chat, options):
        return 0
    if options.trace:
        write_text(options.trace, "".join(trace_lines(opinions)))
    scores = scores_of(pool, opinions, panel.params, options.on_failed)
    write_scores(scores, options.out)
    _warn(options, scores.notes)
    if not options.quiet:
        note(
            f"{options.out}: {len(scores.runs)} runs, {len(scores.topics)} topics, {len(opinions)} calls; {chat.ledger}"
        )
    # Scores of nothing are no scores.
    return int(bool(opinions) and not any(opinion.scores for opinion in opinions))


def _warn(options: argparse.Namespace, notes: tuple[str, ...]) -> None:
    for message in () if options.quiet else notes:
        note(f"warning: {message}")
