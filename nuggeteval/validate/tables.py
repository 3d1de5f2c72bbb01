"""Every problem of a run, of nugget qrels and of a nugget bank."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nuggeteval.columns import scan
from nuggeteval.data import NuggetBank, NuggetQrels, Run
from nuggeteval.errors import DataError, listed
from nuggeteval.files import read_bytes
from nuggeteval.formats.nuggets import bank_from_bytes
from nuggeteval.formats.trec import QRELS_LAYOUT, RUN_LAYOUT, qrels_from_lines, run_from_lines
from nuggeteval.ranking import rank
from nuggeteval.validate import ERROR, WARNING, Problem, from_error, line_errors

__all__ = ["bank_problems", "qrels_problems", "run_problems"]


def run_problems(path: str, qrels: NuggetQrels | None) -> Iterator[Problem]:
    """Of a run, alone or against qrels."""
    lines = scan(read_bytes(path), path, RUN_LAYOUT, strict=False)
    run = run_from_lines(lines)
    yield from line_errors(path, lines.errors, len(lines))
    if not len(run):
        yield Problem(path, 0, ERROR, f"no line is a record of {RUN_LAYOUT}")
        return
    for first, second in run.duplicates():
        unit, topic = run.units[second], run.topics[run.topic[second]]
        message = f"duplicate unit {unit!r} for topic {topic!r}, first on line {lines.line_of(first)}"
        yield Problem(path, lines.line_of(second), ERROR, message)
    for note in run.notes:
        yield Problem(path, 0, WARNING, note.removeprefix(f"{path}: "))
    if run.ranks is not None and (run.ranks < 0).any():
        first = int(np.flatnonzero(run.ranks < 0)[0])
        yield Problem(path, lines.line_of(first), WARNING, "rank is not an integer of at least 0; it is not used")
    if qrels is not None:
        yield from _run_against(path, run.without_duplicates("first"), qrels)
    else:
        # Judged against its own records: what can be said without qrels.
        every_unit = (
            (run.topics[topic], "0", unit, 0) for topic, unit in zip(run.topic.tolist(), run.units, strict=True)
        )
        own = NuggetQrels.of(dict.fromkeys(every_unit), name=path)
        yield from _ranking_problems(path, run.without_duplicates("first"), own)


def _run_against(path: str, run: Run, qrels: NuggetQrels) -> Iterator[Problem]:
    try:
        ranked = rank(run, qrels)
    except DataError as error:
        yield Problem(path, 0, ERROR, str(error))
        return
    missing = [topic for topic, answered in zip(qrels.topics, ranked.answered, strict=True) if not answered]
    if missing:
        yield Problem(path, 0, WARNING, f"{len(missing)} topics of {qrels.name} have no line: {listed(missing)}")
    if ranked.unknown_topics:
        unknown = ranked.unknown_topics
        yield Problem(path, 0, WARNING, f"{len(unknown)} topics are not in {qrels.name}: {listed(unknown)}")
    yield from _ranking_problems(path, run, qrels)


def _ranking_problems(path: str, run: Run, qrels: NuggetQrels) -> Iterator[Problem]:
    ranked = rank(run, qrels)
    if not len(ranked.unit):
        message = (
            f"no unit is judged in {qrels.name}, whose units are like {qrels.unit_ids[0]!r}, not {ranked.example!r}"
        )
        yield Problem(path, 0, WARNING, message)
    if ranked.tied_topics:
        shown = listed(ranked.tied_topics)
        yield Problem(path, 0, WARNING, f"all scores are tied in {shown}; ids decide, the rank column is not used")
    elif ranked.tied:
        yield Problem(path, 0, WARNING, f"{ranked.tied} groups of tied scores; ordered by id, descending")
    if ranked.disagreeing:
        shown = listed(ranked.disagreeing)
        yield Problem(path, 0, WARNING, f"rank and score disagree in {shown}; the score decides")


def qrels_problems(path: str, bank: NuggetBank | None) -> Iterator[Problem]:
    """Of nugget qrels, alone or against a bank."""
    lines = scan(read_bytes(path), path, QRELS_LAYOUT, strict=False)
    qrels = qrels_from_lines(lines, duplicates="max")
    yield from line_errors(path, lines.errors, len(lines))
    if not len(qrels.unit):
        yield Problem(path, 0, ERROR, f"no line is a record of {QRELS_LAYOUT}")
        return
    first: dict[tuple[str, str, str], int] = {}
    columns = (lines.column(name) for name in ("topic", "nugget", "unit"))
    for record, key in enumerate(zip(*columns, strict=True)):
        if first.setdefault(key, record) != record:
            message = "duplicate judgment of unit {2!r} for topic {0!r}, nugget {1!r}, first on line ".format(*key)
            yield Problem(path, lines.line_of(record), ERROR, f"{message}{lines.line_of(first[key])}")
    positive = set(qrels.unit_topic[qrels.unit[qrels.grade >= 1]].tolist())
    without = [topic for index, topic in enumerate(qrels.topics) if index not in positive]
    if without:
        yield Problem(path, 0, WARNING, f"topics without a grade above 0, which count 0: {listed(without)}")
    if bank is not None:
        yield from _table_and_bank(path, qrels, bank)


def _table_and_bank(path: str, qrels: NuggetQrels, bank: NuggetBank) -> Iterator[Problem]:
    """Where the nuggets of a table and of a bank differ."""
    declared = {(topic, nugget.id) for topic, nuggets in bank.nuggets.items() for nugget in nuggets}
    other = qrels.name if path == bank.name else bank.name
    topics = (qrels.topics[topic] for topic in qrels.nugget_topic)
    judged = set(zip(topics, qrels.nugget_ids, strict=True))
    if not judged & declared:
        yield Problem(path, 0, ERROR, f"no nugget in common with {other}")
        return
    for pairs, message in (
        (judged - declared, f"nuggets are judged in {qrels.name}, but not in {bank.name}"),
        (declared - judged, f"nuggets of {bank.name} are not judged in {qrels.name}"),
    ):
        if pairs:
            shown = listed([" ".join(pair) for pair in sorted(pairs)])
            yield Problem(path, 0, WARNING, f"{len(pairs)} {message}: {shown}")


def bank_problems(path: str, qrels: NuggetQrels | None) -> Iterator[Problem]:
    """Of a nugget bank, alone or against qrels."""
    bank, errors = bank_from_bytes(read_bytes(path), path)
    yield from map(from_error, errors)
    if not bank.nuggets and not errors:
        yield Problem(path, 0, ERROR, "empty nugget bank")
    for note in bank.notes:
        yield Problem(path, 0, WARNING, note.removeprefix(f"{path}: "))
    for topic, nuggets in bank.nuggets.items():
        texts: dict[str, str] = {}
        for nugget in nuggets:
            twin = texts.setdefault(" ".join(nugget.text.casefold().split()), nugget.id)
            if twin != nugget.id:
                message = f"topic {topic!r}: nuggets {twin!r} and {nugget.id!r} have the same text"
                yield Problem(path, 0, WARNING, message)
        if not nuggets:
            yield Problem(path, 0, WARNING, f"topic {topic!r} has no nugget: undefined for nugget measures")
    unsaid = [nugget.id for nuggets in bank.nuggets.values() for nugget in nuggets if nugget.gain is None]
    if unsaid and len(unsaid) < len(bank):
        yield Problem(path, 0, WARNING, f"{len(unsaid)} of {len(bank)} nuggets have neither importance nor weight")
    if qrels is not None and len(bank):
        yield from _table_and_bank(path, qrels, bank)
