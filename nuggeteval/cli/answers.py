"""nuggeteval answers BANK ANSWERS... -o DIR: extract, judge and score in one call."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nuggeteval.cli import add_judge_options, make_chat, note, progress_bar, read_prompt, write_lines
from nuggeteval.data import Answer, NuggetBank, Scores
from nuggeteval.extract import by_sentence
from nuggeteval.files import write_text
from nuggeteval.formats.answers import read_answers, write_nuggets
from nuggeteval.formats.judgments import as_nugget_qrels, read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.scores import write_scores
from nuggeteval.judges import TABLE, make
from nuggeteval.judging import judge_units
from nuggeteval.policies import Policies
from nuggeteval.published import read_published
from nuggeteval.reports import render
from nuggeteval.scoring import Inputs, evaluate, join_measures
from nuggeteval.stats import kendall_tau_b, spearman_rho
from nuggeteval.units import runs_of, units_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval answers qrels/demo.bank.jsonl runs/answers-good.jsonl runs/answers-terse.jsonl -o out/
  nuggeteval answers gold.json responses.json --among published:ikat2024 -o out/

Works offline with the default judge. In the folder: nuggets.jsonl (what was extracted), judgments.jsonl (resumable),
matches.jsonl (each extracted nugget with the gold nuggets that it covers), scores.jsonl (per topic, exact),
leaderboard.md.
"""

_MEASURES = {"responses": ("Recall_NtR", "avg_score"), "nuggets": ("Recall_NtN", "Precision_NtN", "F1_NtN")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s BANK ANSWERS... -o DIR"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("bank", metavar="BANK", help="nugget bank with texts")
    add("answers", metavar="ANSWERS", nargs="+", help="answer files or folders of them")
    add("-o", "--out", metavar="DIR", required=True, help="folder for all that is made")
    add("--view", choices=tuple(_MEASURES), action="append", help="only this view (both)")
    add("--also", metavar="BANK", action="append", default=[], help="part of the bank (de-duplicated), scored too")
    add("--among", metavar="published:NAME", help="compare with a published leaderboard")
    add("--gold", default="human", help="which gold of the published leaderboard (human)")
    add_judge_options(parser, TABLE)


def run(options: argparse.Namespace) -> int:
    """The whole pipeline."""
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    bank = read_bank(options.bank).without_blank()
    answers = [_with_nuggets(answer) for answer in read_answers(options.answers)]
    write_nuggets(answers, str(folder / "nuggets.jsonl"))
    judgments = str(folder / "judgments.jsonl")
    views = options.view or list(_MEASURES)
    chat = make_chat(options)
    for view in views:
        judge = make(options.judge, view, bank.texts(), options.threshold, chat, options.votes, read_prompt(options))
        show = progress_bar("verdicts", options.quiet)
        outcome = judge_units(units_of(answers, view), bank, judge, view, judgments, show, options.dry_run)
        for message in () if options.quiet else outcome.notes(view):
            note(message)
    if chat and not options.quiet:
        note(str(chat.ledger))
    if options.dry_run:
        return 0
    banks = [bank, *(read_bank(path).without_blank() for path in options.also)]
    for part in banks:
        scores = _scores(answers, part, judgments, views)
        name = "" if part is bank else f".{Path(part.name).stem}"
        write_scores(scores, str(folder / f"scores{name}.jsonl"))
        write_text(str(folder / f"leaderboard{name}.md"), render(scores, "markdown"))
        for message in () if options.quiet else (*part.notes, *scores.notes):
            note(f"warning: {message}")
        write_lines([f"{part.name}\n", render(scores, "text"), *_standing(scores, options)], None)
    if "nuggets" in views:
        write_text(str(folder / "matches.jsonl"), "".join(_matches(answers, judgments)))
    return 0


def _with_nuggets(answer: Answer) -> Answer:
    return answer if answer.nuggets is not None else replace(answer, nuggets=by_sentence(answer))


def _scores(answers: Sequence[Answer], bank: NuggetBank, judgments: str, views: Sequence[str]) -> Scores:
    """All measures of all views against one bank, over its topics that have a nugget."""
    records = read_judgments(judgments)
    parts = []
    for view in views:
        qrels = as_nugget_qrels(records, view, judgments)
        inputs = Inputs(qrels, runs_of(answers, view), bank)
        parts.append(evaluate(list(_MEASURES[view]), inputs, Policies(topics="bank")))
    return join_measures(parts)


def _matches(answers: Sequence[Answer], judgments: str) -> Iterator[str]:
    """Each extracted nugget, whether it is matched, and which gold nuggets it covers."""
    covered: dict[tuple[str, str], list[str]] = {}
    for judgment, scale in read_judgments(judgments):
        if judgment.view == "nuggets" and (judgment.grade or 0) >= scale.rel:
            covered.setdefault((judgment.topic, judgment.unit), []).append(judgment.nugget)
    for unit in units_of(answers, "nuggets"):
        gold = covered.get((unit.topic, unit.id), [])
        record = {"run": unit.run, "topic": unit.topic, "unit": unit.id, "text": unit.text}
        yield json.dumps({**record, "matched": bool(gold), "covers": gold}, ensure_ascii=False) + "\n"


def _standing(scores: Scores, options: argparse.Namespace) -> Iterator[str]:
    """Place of each run among the published ones, and the correlation with what was published for the same runs."""
    for measure in scores.measures if options.among else ():
        column = f"{'Recall_NtR' if measure == 'avg_score' else measure}:{options.gold}"
        published = [row for row in read_published(options.among) if column in row.values]
        if not published:
            continue
        yield f"\n{measure} beside {column} of {options.among} ({len(published)} runs)\n"
        same = [row for row in published if row.run in scores.runs and row.group == "automatic"]
        if len(same) > 2:
            ours = [scores.value(row.run, measure) or 0.0 for row in same]
            theirs = [row.values[column] for row in same]
            shown = ", ".join(
                f"{name} {'undefined' if value is None else f'{value:.4f}'}"
                for name, value in (("tau-b", kendall_tau_b(ours, theirs)), ("rho", spearman_rho(ours, theirs)))
            )
            yield f"  {shown} over the {len(same)} automatic runs in both\n"
        known = {row.run for row in published}
        for name in scores.runs:
            value = scores.value(name, measure)
            if value is not None and name not in known:
                place = 1 + sum(row.values[column] > value for row in published)
                yield f"  {name}: place {place} of {len(published) + 1}\n"
