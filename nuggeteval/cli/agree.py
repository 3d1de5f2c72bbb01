"""nuggeteval agree LABELS... JUDGMENTS: how a judge agrees with people."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from nuggeteval.cli import write_lines
from nuggeteval.errors import FormatError, ParameterError
from nuggeteval.files import read_bytes
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.judgments import grade_of_votes, read_judgments, votes_by_cell
from nuggeteval.formats.labels import Labels, read_aliases, read_labels
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.options import whole
from nuggeteval.reports import RENDERERS, render_tables
from nuggeteval.reports.agreement import (
    Key,
    agreement_lines,
    agreement_tables,
    build_agreement,
    disagreement_table,
)

__all__ = ["add_arguments", "run"]

_TEXT = 200

_EXAMPLES = """
examples:
  nuggeteval agree human-labels.txt judgments.jsonl --aliases aliases.tsv
  nuggeteval agree annotator1.txt annotator2.txt annotator3.txt judgments.jsonl --by-topic --format markdown
  nuggeteval agree human-labels.txt judgments.jsonl --disagreements --bank BANK.jsonl --answers ANSWERS

Labels: batch_topic_turn_nugget_run<TAB>0|1, or judgments of responses. Of several annotators the majority counts; a
tie is left out and counted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s [OPTION...] LABELS... JUDGMENTS"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("labels", metavar="LABELS", nargs="+", help="labels of people; last, the judgments of the judge")
    add("--aliases", metavar="FILE", help="TSV with a header: name of a run in the labels, in the judgments")
    add("-q", "--by-topic", action="store_true", help="topic by topic too")
    add("--disagreements", action="store_true", help="list every item on which they differ")
    add("--bank", metavar="FILE", help="texts of the nuggets, for --disagreements")
    add("--answers", metavar="FILE", action="append", default=[], help="texts of the responses, for --disagreements")
    add("--format", choices=(*RENDERERS, "jsonl"), default="text", help="jsonl is exact and whole (text)")
    add("--places", type=whole(0, 20), default=4, metavar="N", help="decimals (4)")
    add("-o", "--out", metavar="FILE", help="write there instead of stdout")


def run(options: argparse.Namespace) -> int:
    """Compare the judge with the majority."""
    aliases = read_aliases(options.aliases) if options.aliases else {}
    *people, judge = [_read(path, aliases) for path in options.labels]
    if not people:
        raise ParameterError("agreement needs labels and judgments: two files at least")
    truth, tied = _majority(people)
    report = build_agreement(truth, judge, tied)
    texts = _texts(report.disagreements, options)
    if options.format == "jsonl":
        write_lines(agreement_lines(report, texts), options.out)
        return 0
    tables = agreement_tables(report, options.by_topic, options.places)
    if options.disagreements:
        tables.append(disagreement_table(report, texts))
    write_lines([render_tables(tables, options.format)], options.out)
    return 0


def _texts(disagreements: Sequence[tuple[Key, int, int]], options: argparse.Namespace) -> dict[Key, tuple[str, str]]:
    """The texts of nugget and response of the items on which they differ."""
    bank = read_bank(options.bank).nuggets if options.bank else {}
    nuggets = {(topic, nugget.id): nugget.text for topic, entries in bank.items() for nugget in entries}
    answers = read_answers(options.answers) if options.answers else []
    responses = {(answer.run, answer.topic): " ".join(answer.text.split()) for answer in answers}
    return {key: (nuggets.get(key[1:], ""), _cut(responses.get(key[:2], ""))) for key, _, _ in disagreements}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} ..."


def _read(path: str, aliases: dict[str, str]) -> Labels:
    """Labels from a label file, or whether the majority of judgments of a response says yes.

    Raises:
        FormatError: it has none.
    """
    found = _labels(path, aliases)
    if not found:
        raise FormatError(path, "no label, and no judgment of a response")
    return found


def _labels(path: str, aliases: dict[str, str]) -> Labels:
    if not read_bytes(path).lstrip().startswith(b"{"):
        return read_labels(path, aliases)
    judged = [(judgment, scale) for judgment, scale in read_judgments(path) if judgment.view == "responses"]
    least = {(judgment.run, judgment.topic, judgment.nugget): scale.rel for judgment, scale in judged}
    found: Labels = {}
    for votes in votes_by_cell((judgment for judgment, _ in judged), path).values():
        grade, key = grade_of_votes(votes), (votes[0].run, votes[0].topic, votes[0].nugget)
        if grade is not None:
            found[key] = int(grade >= least[key])
    return found


def _majority(people: Sequence[Labels]) -> tuple[Labels, int]:
    """The label that most annotators give to each item, and the number of ties."""
    votes: dict[tuple[str, str, str], Counter[int]] = {}
    for labels in people:
        for key, label in labels.items():
            votes.setdefault(key, Counter())[label] += 1
    ranked = {key: count.most_common(2) for key, count in votes.items()}
    clear = {key: top[0][0] for key, top in ranked.items() if len(top) == 1 or top[0][1] > top[1][1]}
    return clear, len(votes) - len(clear)
