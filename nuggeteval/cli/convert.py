"""nuggeteval convert IN OUT --to FORMAT: between formats of one kind."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from urllib.parse import unquote

from nuggeteval.cli import note
from nuggeteval.data import VIEWS, Judgment, NuggetBank, Scale, unit_of_run
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.extract import as_bank
from nuggeteval.files import json_records, read_bytes, write_text
from nuggeteval.formats.answers import read_answers, write_answers
from nuggeteval.formats.judgments import as_judgment_line, as_nugget_qrels, read_judgments
from nuggeteval.formats.labels import read_aliases, read_labels
from nuggeteval.formats.nuggetizer import read_assignments, write_assignments, write_nuggetizer_bank
from nuggeteval.formats.nuggets import read_bank, write_bank
from nuggeteval.formats.topics import is_topics, read_statements
from nuggeteval.formats.trec import read_qrels, read_run, write_qrels, write_run
from nuggeteval.generators import candidates_of
from nuggeteval.ratings import Rated, as_judgments, is_ratings, read_ratings, write_ratings
from nuggeteval.units import ANSWER_VIEWS, runs_of

__all__ = ["add_arguments", "run"]

_DEPTH = 100
"""Candidates that LANCER rates of a longer run."""

_EXAMPLES = """
examples:
  nuggeteval convert judgments.jsonl nuggets.qrels --to qrels --view nuggets
  nuggeteval convert nuggets.qrels judgments.jsonl --to judgments --view nuggets
  nuggeteval convert human-labels.txt judgments.jsonl --to judgments --aliases aliases.tsv
  nuggeteval convert assignments.jsonl judgments.jsonl --to judgments
  nuggeteval convert judgments.jsonl assignments.jsonl --to assignments --bank BANK.jsonl
  nuggeteval convert gold.json BANK.jsonl --to bank
  nuggeteval convert nuggets.jsonl BANK.jsonl --to bank
  nuggeteval convert answers.json ONE.run --to run --view nuggets
  nuggeteval convert crux.judge.jsonl nuggets.qrels --to qrels
  nuggeteval convert lancer.json ratings.jsonl --to ratings --run FIRST.run

to judgments or qrels: from judgments, qrels, labels of people, nuggetizer's assignments, or ratings of CRUX and LANCER
(qrels also from topics of iKAT: statements). to ratings: CRUX's judge lines, from judgments of documents from 0 to 5
or from ratings in another shape; LANCER's have no document ids, and --run is the run that they rate. to bank or
nuggetizer: from any bank, or from extracted nuggets. to answers: from any answers, as TREC RAG 2025 has them. to run:
the units of answers of one run, to be scored against the qrels of their view.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s IN OUT --to FORMAT"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("source", metavar="IN", help="file to read")
    add("out", metavar="OUT", help="file to write; - is stdout")
    add("--to", choices=tuple(_WRITERS), required=True, help="format to write")
    add("--view", choices=VIEWS, help="what the units are (the only view there is, else responses)")
    add("--bank", metavar="FILE", help="texts of the nuggets, for assignments")
    add("--run", dest="first", metavar="FILE", help="the run whose documents LANCER's ratings are of, in its order")
    add("--order", choices=("score", "rank"), default="score", help="what the order of that run is (score)")
    add("--aliases", metavar="FILE", help="TSV with a header: name of a run in the labels, in the judgments")


def run(options: argparse.Namespace) -> int:
    """Read one format, write another."""
    if options.source == "-":
        raise ParameterError("-: the input is read twice, first to know its kind; it must be a file")
    note(f"{options.out}: {_WRITERS[options.to](options)}")
    return 0


def _records(options: argparse.Namespace) -> list[tuple[Judgment, Scale]]:
    """Judgments from any file that says who supports what."""
    raw = read_bytes(options.source)
    if raw.lstrip()[:1] in (b"{", b"["):
        _, first = next(json_records(raw, options.source), (0, {}))
        if "view" in first:
            return read_judgments(options.source)
        return as_judgments(*_ratings(options)[:2]) if is_ratings(first) else read_assignments(options.source)
    columns = next((line.split() for line in raw.splitlines() if line.strip()), [])
    if len(columns) == 2:
        labels = read_labels(options.source, read_aliases(options.aliases) if options.aliases else {})
        return [
            (Judgment("responses", run, topic, unit_of_run(run), nugget, "human", None, grade), Scale(1))
            for (run, topic, nugget), grade in labels.items()
        ]
    return _from_qrels(options)


def _ratings(options: argparse.Namespace) -> Rated:
    """Ratings in any shape, with the ids of their questions."""
    candidates = candidates_of(read_run(options.first), None, options.order) if options.first else {}
    return read_ratings(options.source, candidates, _DEPTH)


def _from_qrels(options: argparse.Namespace) -> list[tuple[Judgment, Scale]]:
    """Rows of qrels as judgments; units of answers are named after their run."""
    qrels = read_qrels(options.source)
    view = options.view or "documents"
    found = []
    units = qrels.unit_ids.tolist()
    for unit, nugget, grade in zip(qrels.unit.tolist(), qrels.nugget.tolist(), qrels.grade.tolist(), strict=True):
        if grade < 0:
            raise DataError(f"{qrels.name}: a judgment has no grade below 0 (unit {units[unit]!r} has {grade})")
        name = unquote(units[unit].split("/")[0]) if view in ANSWER_VIEWS else ""
        topic = qrels.topics[qrels.unit_topic[unit]]
        judgment = Judgment(view, name, topic, units[unit], qrels.nugget_ids[nugget], "qrels", None, grade)
        found.append((judgment, qrels.scale))
    return found


def _view(options: argparse.Namespace, records: list[tuple[Judgment, Scale]]) -> str:
    """The view that is asked for, or the only one.

    Raises:
        ParameterError: there are several, and none was named.
    """
    views = sorted({judgment.view for judgment, _ in records})
    if options.view is None and len(views) > 1:
        raise ParameterError(f"{options.source} has judgments of {', '.join(views)}: --view names one")
    return str(options.view or (views[0] if views else "responses"))


def _to_judgments(options: argparse.Namespace) -> str:
    records = [record for record in _records(options) if options.view in (None, record[0].view)]
    if not records:
        raise DataError(f"{options.source} has no judgment of {options.view or 'anything'}")
    write_text(options.out, "".join(as_judgment_line(judgment, scale) for judgment, scale in records))
    return f"{len(records)} judgments"


def _to_qrels(options: argparse.Namespace) -> str:
    if is_topics(options.source):
        qrels = read_statements(options.source)
    else:
        records = _records(options)
        qrels = as_nugget_qrels(records, _view(options, records), options.source)
    write_qrels(qrels, options.out)
    failed = 0 if qrels.failed is None else int(qrels.failed.sum())
    return f"{len(qrels.unit)} rows{f', {failed} failed ones with grade 0' if failed else ''}"


def _to_ratings(options: argparse.Namespace) -> str:
    ratings = _ratings(options).ratings
    write_text(options.out, "".join(write_ratings(ratings)))
    return f"ratings of {sum(map(len, ratings.values()))} documents of {len(ratings)} topics"


def _to_assignments(options: argparse.Namespace) -> str:
    if not options.bank:
        raise ParameterError("assignments hold the texts of nuggets: --bank FILE")
    records = _records(options)
    view = _view(options, records)
    chosen = [(judgment, scale) for judgment, scale in records if judgment.view == view]
    write_assignments(chosen, read_bank(options.bank), options.out)
    return f"{len(chosen)} assignments"


def _bank_writer(write: Callable[[NuggetBank, str], None]) -> Callable[[argparse.Namespace], str]:
    def convert(options: argparse.Namespace) -> str:
        extracted = _has_extracted_nuggets(options.source)
        bank = as_bank(read_answers(options.source), options.source) if extracted else read_bank(options.source)
        write(bank, options.out)
        return f"{len(bank)} nuggets of {len(bank.nuggets)} topics"

    return convert


def _has_extracted_nuggets(path: str) -> bool:
    """Whether a file holds nuggets that were extracted: texts alone."""
    raw = read_bytes(path)
    if raw.lstrip()[:1] not in (b"{", b"["):
        return False
    _, first = next(json_records(raw, path), (0, {}))
    nuggets = first.get("nuggets")
    return isinstance(nuggets, list) and bool(nuggets) and all(isinstance(nugget, str) for nugget in nuggets)


def _to_answers(options: argparse.Namespace) -> str:
    answers = read_answers(options.source)
    write_answers(answers, options.out)
    return f"{len(answers)} answers"


def _to_run(options: argparse.Namespace) -> str:
    runs = list(runs_of(read_answers(options.source), options.view or "responses"))
    if len(runs) != 1:
        raise ParameterError(f"{options.source} has {len(runs)} runs; a run file holds one")
    if not len(runs[0]):
        raise DataError(f"{options.source} has no unit of the view {options.view or 'responses'}")
    write_run(runs[0], options.out)
    return f"{len(runs[0])} units of {runs[0].name}"


_WRITERS: dict[str, Callable[[argparse.Namespace], str]] = {
    "judgments": _to_judgments,
    "qrels": _to_qrels,
    "assignments": _to_assignments,
    "ratings": _to_ratings,
    "bank": _bank_writer(write_bank),
    "nuggetizer": _bank_writer(write_nuggetizer_bank),
    "answers": _to_answers,
    "run": _to_run,
}
"""Format -> reader and writer; says what was written."""
