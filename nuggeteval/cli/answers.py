"""nuggeteval answers BANK ANSWERS... -o DIR: extract, judge and score in one call."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nuggeteval.chat import Chat
from nuggeteval.cli import (
    add_judge_options,
    in_batch,
    judge_for,
    make_chat,
    make_folder,
    note,
    progress_bar,
    write_lines,
)
from nuggeteval.data import Answer, Judgment, NuggetBank, Scale, Scores
from nuggeteval.errors import ParameterError
from nuggeteval.extract import by_sentence
from nuggeteval.files import write_text
from nuggeteval.formats.answers import read_answers, write_nuggets
from nuggeteval.formats.judgments import as_nugget_qrels, read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.scores import write_scores
from nuggeteval.formats.topics import read_strata
from nuggeteval.judges import TABLE, Judge
from nuggeteval.judging import judge_units
from nuggeteval.policies import Policies
from nuggeteval.published import read_published
from nuggeteval.registry import lookup
from nuggeteval.reports import render, shown
from nuggeteval.reports.standing import column_for, standings
from nuggeteval.scoring import Inputs, evaluate, join_measures
from nuggeteval.stats.correlation import kendall_tau_b, spearman_rho
from nuggeteval.turns import as_reference, reference_topics
from nuggeteval.units import runs_of, units_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval answers qrels/demo.bank.jsonl runs/answers-good.jsonl runs/answers-terse.jsonl -o out/
  nuggeteval answers gold.json responses.json --among published:ikat2024 -o out/
  nuggeteval answers human.json responses.json --also human_dedup.json --also llm.json -o out/

Works offline with the default judge. In the folder: nuggets.jsonl (what was extracted), judgments.jsonl (resumable),
matches.jsonl (each extracted nugget with the gold nuggets that it covers), scores.jsonl (per topic, exact),
leaderboard.md. For each further bank files with its name; one that is a part of another (de-duplicated) shares its
judgments.
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
    add("--also", metavar="BANK", action="append", default=[], help="another bank: scored too")
    add("--among", metavar="published:NAME", help="compare with a published leaderboard")
    add(
        "--gold",
        metavar="NAME",
        action="append",
        help="gold of the leaderboard for each bank, as banks come (human for the first)",
    )
    add(
        "--turns",
        choices=("judged", "reference"),
        default="judged",
        help="which topics are averaged: those with a nugget, or as the released code of CONE-RAG does (judged)",
    )
    add("--by", metavar="FILE", help="strata with means of their own: topic<TAB>label, or the topics of iKAT")
    add_judge_options(parser, TABLE)


_Records = Sequence[tuple[Judgment, Scale]]


class _Gold(NamedTuple):
    """A bank, what files for it have in their names, its judgments, and its like in a published leaderboard."""

    bank: NuggetBank
    suffix: str
    judgments: str
    published: str


def run(options: argparse.Namespace) -> int:
    """The whole pipeline."""
    folder = Path(options.out)
    golds = _golds([options.bank, *options.also], folder, _published(options))
    strata = read_strata(options.by) if options.by else {}
    answers = [_with_nuggets(answer) for answer in read_answers(options.answers)]
    if not options.dry_run:
        make_folder(folder)
    views = options.view or list(_MEASURES)
    chat = make_chat(options)
    for view in views:
        units = list(units_of(answers, view))
        for judge, banks in _judges(golds, view, chat, options):
            show = progress_bar("verdicts", options.quiet)
            outcome = judge_units(units, banks, judge, view, show, options.dry_run)
            for message in () if options.quiet else outcome.notes(view):
                note(message)
    if chat and not options.quiet:
        note(str(chat.ledger))
    if not options.dry_run and not in_batch(chat, options):
        write_nuggets(answers, str(folder / "nuggets.jsonl"))
        for path in dict.fromkeys(gold.judgments for gold in golds):
            records = read_judgments(path)
            for gold in golds:
                if gold.judgments == path:
                    _report(gold, records, answers, strata, options)
    return 0


def _published(options: argparse.Namespace) -> list[str]:
    """The gold of the leaderboard for each bank; empty for one that is compared with none.

    Raises:
        UnknownNameError: no such leaderboard or gold.
        ParameterError: golds without a leaderboard, or more golds than banks.
    """
    banks = 1 + len(options.also)
    named = list(options.gold or (["human"] if options.among else []))
    if named and not options.among:
        raise ParameterError("--gold chooses among the golds of a published leaderboard: --among published:NAME")
    if len(named) > banks:
        raise ParameterError(f"--gold is given {len(named)} times, for {banks} banks")
    if options.among:
        columns = read_published(options.among).measures
        known = sorted({column.split(":")[1] for column in columns if column.startswith("Recall_")})
        for name in named:
            lookup(dict.fromkeys(known, True), name, f"gold of {options.among}")
    return named + [""] * (banks - len(named))


def _golds(paths: Sequence[str], folder: Path, published: Sequence[str]) -> list[_Gold]:
    """The banks; one that is a part of an earlier one shares its judgments.

    Raises:
        ParameterError: two banks whose files have one name.
    """
    golds: list[_Gold] = []
    for number, path in enumerate(paths):
        bank = read_bank(path).without_blank()
        suffix = f".{Path(path).name.split('.')[0]}" if golds else ""
        if any(gold.suffix == suffix for gold in golds):
            raise ParameterError(
                f"{path}: another bank is called {suffix[1:]} too; what is made is named for the banks"
            )
        whole = next((gold for gold in golds if gold.bank.has_all_of(bank)), None)
        judgments = whole.judgments if whole else str(folder / f"judgments{suffix}.jsonl")
        golds.append(_Gold(bank, suffix, judgments, published[number]))
    return golds


def _judges(
    golds: Sequence[_Gold], view: str, chat: Chat | None, options: argparse.Namespace
) -> list[tuple[Judge, dict[str, NuggetBank]]]:
    """Judges, and judgments file -> bank for each: a judge that does not depend on the bank is one for all of them."""
    found: list[tuple[Judge, dict[str, NuggetBank]]] = []
    for gold in golds:
        if any(gold.judgments in banks for _, banks in found):
            continue
        judge = judge_for(options, view, gold.bank.texts(), chat)
        same = next((banks for other, banks in found if dict(other.params) == dict(judge.params)), None)
        if same is None:
            found.append((judge, {gold.judgments: gold.bank}))
        else:
            same[gold.judgments] = gold.bank
    return found


def _report(
    gold: _Gold,
    records: _Records,
    answers: Sequence[Answer],
    strata: Mapping[str, str],
    options: argparse.Namespace,
) -> None:
    """Scores, leaderboard and matches against one bank."""
    views = options.view or list(_MEASURES)
    scores = _scores(gold, records, answers, views, options.turns == "reference")
    if strata:
        scores = scores.with_strata(strata)
    folder = Path(options.out)
    write_scores(scores, str(folder / f"scores{gold.suffix}.jsonl"))
    write_text(str(folder / f"leaderboard{gold.suffix}.md"), render(scores, "markdown"))
    if "nuggets" in views:
        write_text(str(folder / f"matches{gold.suffix}.jsonl"), "".join(_matches(gold, records, answers)))
    for message in () if options.quiet else (*gold.bank.notes, *scores.notes):
        note(f"warning: {message}")
    standing = _standing(scores, options.among, gold.published) if gold.published else ()
    write_lines([f"{gold.bank.name}\n", render(scores, "text"), *standing], None)


def _with_nuggets(answer: Answer) -> Answer:
    return answer if answer.nuggets is not None else replace(answer, nuggets=by_sentence(answer))


def _scores(gold: _Gold, records: _Records, answers: Sequence[Answer], views: Sequence[str], reference: bool) -> Scores:
    """All measures of all views against one bank, over its topics that have a nugget unless by the reference's rule."""
    if reference:
        policies = Policies(topics=reference_topics(gold.bank, answers), undefined="zero")
    else:
        policies = Policies(topics="bank")
    parts = []
    for view in views:
        qrels = as_nugget_qrels(records, view, gold.judgments)
        inputs = Inputs(qrels, runs_of(answers, view), gold.bank)
        parts.append(evaluate(list(_MEASURES[view]), inputs, policies))
    scores = join_measures(parts)
    return as_reference(scores, gold.bank, answers) if reference else scores


def _matches(gold: _Gold, records: _Records, answers: Sequence[Answer]) -> Iterator[str]:
    """Each extracted nugget, whether it is matched, and which nuggets of the bank it covers."""
    declared = {(topic, nugget.id) for topic, nuggets in gold.bank.nuggets.items() for nugget in nuggets}
    covered: dict[tuple[str, str], list[str]] = {}
    for judgment, scale in records:
        counts = judgment.view == "nuggets" and (judgment.grade or 0) >= scale.rel
        if counts and (judgment.topic, judgment.nugget) in declared:
            covered.setdefault((judgment.topic, judgment.unit), []).append(judgment.nugget)
    for unit in units_of(answers, "nuggets"):
        covers = covered.get((unit.topic, unit.id), [])
        record = {"run": unit.run, "topic": unit.topic, "unit": unit.id, "text": unit.text}
        yield json.dumps({**record, "matched": bool(covers), "covers": covers}, ensure_ascii=False) + "\n"


def _standing(scores: Scores, among: str, gold: str) -> Iterator[str]:
    """Place of each run among the published ones, and the correlation with what was published for the same runs."""
    board = read_published(among)
    means = scores.leaderboard()
    means = replace(means, measures=tuple("Recall_NtR" if m == "avg_score" else m for m in means.measures))
    names = {alias: run for run, alias in board.aliases.items()}
    for m, measure in enumerate(scores.measures):
        column = column_for(means.measures[m], board, gold)
        if column is None:
            continue
        published = board.column(column)
        yield f"\n{measure} beside {column} of {among} ({len(published)} runs)\n"
        same = [
            run for run in scores.runs if names.get(run) in published and board.groups.get(names[run]) == "automatic"
        ]
        if len(same) > 2:
            ours = [scores.value(run, measure) or 0.0 for run in same]
            theirs = [published[names[run]] for run in same]
            found = (("tau-b", kendall_tau_b(ours, theirs)), ("rho", spearman_rho(ours, theirs)))
            values = ", ".join(f"{name} {shown(value)}" for name, value in found)
            yield f"  {values} over the {len(same)} automatic runs in both\n"
        one = replace(means, measures=(means.measures[m],), values=means.values[:, [m]])
        for standing in standings(one, board, gold):
            if standing.places and not standing.known_as:
                yield f"  {standing.run}: place {standing.places['all']}\n"
