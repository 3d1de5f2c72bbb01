"""TREC runs (topic Q0 unit rank score tag) and qrels (topic nugget unit grade).

Nugget qrels are TREC's diversity qrels: the second column, which ordinary qrels leave at 0, names
the nugget. Lines are split on ASCII white space alone; ids are bytes and never interpreted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nuggeteval.columns import Layout, Lines, parse_floats, parse_integers, scan
from nuggeteval.data import NuggetQrels, Run
from nuggeteval.errors import DataError, FormatError
from nuggeteval.files import read_bytes, stem, write_text
from nuggeteval.ids import Ids, decode
from nuggeteval.rows import IntArray, changes, position_within

__all__ = [
    "QRELS_LAYOUT",
    "RUN_LAYOUT",
    "qrels_from_lines",
    "read_qrels",
    "read_run",
    "run_from_lines",
    "write_qrels",
    "write_run",
]

RUN_LAYOUT = Layout(
    ("topic", "Q0", "unit", "rank", "score", "tag"),
    {4: "qrels? they come first, then the runs", 5: "is the tag missing?", 7: "a blank in an id or tag?"},
)
QRELS_LAYOUT = Layout(
    ("topic", "nugget", "unit", "grade"),
    {3: "is the nugget missing? it is 0 in ordinary qrels", 5: "a blank in an id?", 6: "a run? qrels come first"},
)


def read_run(path: str, duplicates: str = "error") -> Run:
    """Read a run.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.
        duplicates: what to do with a repeated (topic, unit): ``error``, ``first``, ``last``, ``max``.

    Raises:
        FormatError: a line that is no record, an empty file, a file that cannot be read.
        DataError: a repeated (topic, unit), naming both lines.
    """
    lines = scan(read_bytes(path), path, RUN_LAYOUT)
    run = run_from_lines(lines)
    if not len(run):
        raise FormatError(path, f"empty run: no line of {RUN_LAYOUT}")
    return run.without_duplicates(duplicates, lambda record: f"{path}:{lines.line_of(record)}")


def run_from_lines(lines: Lines) -> Run:
    """The run that the lines of a file hold; repeated units are not looked for."""
    scores, bad = parse_floats(lines.column("score"))
    if bad.any():
        lines.reject(bad, "score", "a finite number")
        scores = scores[~bad]
    ranks, no_rank = parse_integers(lines.column("rank"))
    topic, topics = _number_topics(lines.column("topic"))
    tags = lines.column("tag")
    heads = np.flatnonzero(tags.changes())
    names = list(dict.fromkeys(tags.take(heads).tolist()))
    notes = () if len(names) < 2 else (_mixed_tags(lines.path, names),)
    return Run(
        name=names[0] if len(names) == 1 else stem(lines.path),
        topics=topics,
        topic=topic,
        units=lines.column("unit"),
        scores=scores,
        ranks=np.where(no_rank, -1, ranks),
        source=lines.path,
        notes=notes,
        metadata=_comments(lines),
    )


def _mixed_tags(path: str, names: list[str]) -> str:
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{path}: {len(names)} run tags are mixed ({shown}); scored as one run, named {stem(path)}"


def _comments(lines: Lines) -> tuple[str, ...]:
    return tuple(text for _, text in sorted(lines.comments.items()))


def _number_topics(column: Ids) -> tuple[IntArray, tuple[str, ...]]:
    """Index of each record's topic, and the topics in the order of their first record."""
    new = column.changes()
    numbers: dict[bytes, int] = {}
    codes = [numbers.setdefault(raw, len(numbers)) for raw in column.take(np.flatnonzero(new)).raws()]
    block = np.cumsum(new) - 1
    return np.array(codes, dtype=np.int64)[block], tuple(map(decode, numbers))


def read_qrels(path: str, duplicates: str = "error") -> NuggetQrels:
    """Read qrels or nugget qrels.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.
        duplicates: what to do with a repeated (topic, nugget, unit).

    Raises:
        FormatError: a line that is no record, a grade that is no integer, an empty or unreadable file.
        DataError: a repeated (topic, nugget, unit), naming both lines.
    """
    raw = read_bytes(path)
    lines = scan(raw, path, QRELS_LAYOUT)
    qrels = qrels_from_lines(lines, duplicates)
    if not len(qrels.unit):
        raise FormatError(path, f"empty qrels: no line of {QRELS_LAYOUT}")
    return replace(qrels, digest=hashlib.sha256(raw).hexdigest())


def qrels_from_lines(lines: Lines, duplicates: str = "error") -> NuggetQrels:
    """The table that the lines of a file hold."""
    grades, bad = parse_integers(lines.column("grade"))
    if bad.any():
        lines.reject(bad, "grade", "an integer")
        grades = grades[~bad]
    topic, topics = _number_topics(lines.column("topic"))
    return NuggetQrels.build(
        lines.path,
        topics,
        topic,
        lines.column("nugget"),
        lines.column("unit"),
        grades,
        duplicates=duplicates,
        where=lambda row: f"{lines.path}:{lines.line_of(row)}",
    )


def write_run(run: Run, path: str) -> None:
    """Write a run, best first, with ranks from 1 and scores in full precision, its metadata on top.

    Raises:
        FormatError: the file cannot be written.
        DataError: the name of the run is no tag, or the id of a topic none of a run, since it has white space.
    """
    if run.name.split() != [run.name]:
        raise DataError(f"the name of a run is its tag and must not have white space (got {run.name!r})")
    if blank := [topic for topic in run.topics if topic.split() != [topic]]:
        raise DataError(f"the id of a topic must not have white space in a run (got {blank[0]!r})")
    write_text(path, "".join([*(f"{line}\n" for line in run.metadata), *_run_lines(run)]))


def _run_lines(run: Run) -> Iterable[str]:
    records, _ = run.ordered()
    ranks = position_within(changes(run.topic[records])) + 1
    units = run.units.take(records)
    rows = zip(run.topic[records].tolist(), units, ranks.tolist(), run.scores[records].tolist(), strict=True)
    for topic, unit, rank, score in rows:
        yield f"{run.topics[topic]} Q0 {unit} {rank} {score!r} {run.name}\n"


def write_qrels(qrels: NuggetQrels, path: str) -> None:
    """Write qrels, sorted by topic, unit and nugget.

    Raises:
        FormatError: the file cannot be written.
    """
    write_text(path, "".join(_qrels_lines(qrels)))


def _qrels_lines(qrels: NuggetQrels) -> Iterable[str]:
    units = qrels.unit_ids.tolist()
    for unit, nugget, grade in zip(qrels.unit.tolist(), qrels.nugget.tolist(), qrels.grade.tolist(), strict=True):
        yield f"{qrels.topics[qrels.unit_topic[unit]]} {qrels.nugget_ids[nugget]} {units[unit]} {grade}\n"
