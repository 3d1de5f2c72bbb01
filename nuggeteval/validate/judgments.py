"""Every problem of a file with judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nuggeteval.data import Judgment, NuggetBank, Scale
from nuggeteval.errors import FormatError, listed, shorten
from nuggeteval.files import read_bytes
from nuggeteval.formats.judgments import judge_name, read_judgment
from nuggeteval.validate import ERROR, WARNING, Problem, few_of_a_sort, line_errors, sound_records

__all__ = ["judgment_problems"]


class _Row(NamedTuple):
    """A judgment, its scale and judge, and its line."""

    line: int
    judgment: Judgment
    scale: Scale
    judge: str


def judgment_problems(path: str, bank: NuggetBank | None) -> Iterator[Problem]:
    """Of a file with judgments, alone or against a bank."""
    errors: list[FormatError] = []
    rows: list[_Row] = []
    for line, record in sound_records(read_bytes(path), path, errors):
        try:
            judgment, scale = read_judgment(record, path, line)
        except FormatError as error:
            errors.append(error)
        else:
            rows.append(_Row(line, judgment, scale, judge_name(judgment)))
    yield from line_errors(path, sorted(errors, key=lambda error: error.line or 0), len(rows))
    if not rows and not errors:
        yield Problem(path, 0, ERROR, "no judgment")
    yield from few_of_a_sort(_repeated(path, rows))
    views: dict[str, list[_Row]] = {}
    for row in rows:
        views.setdefault(row.judgment.view, []).append(row)
    for view, of_view in views.items():
        yield from _one_judge(path, view, of_view)
        yield from _failed(path, view, of_view)
    if bank is not None and rows:
        yield from _against(path, views, bank)


def _repeated(path: str, rows: Sequence[_Row]) -> Iterator[tuple[str, Problem]]:
    """(sort, problem) of every judgment that the file has already, by the same judge or by another one."""
    first: dict[tuple[str, str, str, str, int], dict[str, _Row]] = {}
    for row in rows:
        judges = first.setdefault(row.judgment.key, {})
        earlier = judges.get(row.judge)
        if earlier:
            yield "repeated judgments", Problem(path, row.line, ERROR, f"duplicate judgment of {_both(row, earlier)}")
            continue
        others = [other for other in judges.values() if other.judgment.grade != row.judgment.grade]
        if others:
            message = f"two judges disagree about {_both(row, others[0])}"
            yield "judgments that disagree", Problem(path, row.line, WARNING, message)
        judges[row.judge] = row


def _both(row: _Row, earlier: _Row) -> str:
    judgment = row.judgment
    cell = f"unit {judgment.unit!r} for topic {judgment.topic!r}, nugget {judgment.nugget!r}"
    if judgment.grade == earlier.judgment.grade:
        return f"{cell}: {_verdict(judgment)}, as on line {earlier.line}"
    return f"{cell}: {_verdict(judgment)}, on line {earlier.line} {_verdict(earlier.judgment)}"


def _verdict(judgment: Judgment) -> str:
    return "failed" if judgment.grade is None else f"grade {judgment.grade}"


def _one_judge(path: str, view: str, rows: Sequence[_Row]) -> Iterator[Problem]:
    """A view has judgments of one judge, with one set of parameters, on one scale."""
    judges: dict[str, int] = {}
    scales: dict[Scale, int] = {}
    for row in rows:
        judges.setdefault(row.judge, row.line)
        scales.setdefault(row.scale, row.line)
    if len(judges) > 1:
        names = {row.judgment.judge for row in rows}
        what = "judges" if len(names) > 1 else "sets of parameters"
        shown = listed([shorten(judge, 60) for judge in judges])
        yield Problem(path, list(judges.values())[1], WARNING, f"{view} have several {what}: {shown}")
    if len(scales) > 1:
        shown = listed([f"0 to {scale.top}, {scale.rel} counts" for scale in scales])
        yield Problem(path, list(scales.values())[1], ERROR, f"{view} are judged on several scales: {shown}")


def _failed(path: str, view: str, rows: Sequence[_Row]) -> Iterator[Problem]:
    failed = [row for row in rows if row.judgment.grade is None]
    if failed:
        reasons = Counter(shorten(row.judgment.reason.partition(":")[0], 60) for row in failed)
        shown = listed([f"{reason} ({count})" for reason, count in reasons.most_common()])
        message = f"{len(failed)} of {len(rows)} judgments of {view} failed and count 0: {shown}"
        yield Problem(path, failed[0].line, WARNING, message)


def _against(path: str, views: Mapping[str, Sequence[_Row]], bank: NuggetBank) -> Iterator[Problem]:
    """Nuggets that the bank does not have, and those of the bank that are not judged."""
    declared = {(topic, nugget.id): None for topic, nuggets in bank.nuggets.items() for nugget in nuggets}
    judged = {view: {(row.judgment.topic, row.judgment.nugget) for row in rows} for view, rows in views.items()}
    if not any(pair in declared for pairs in judged.values() for pair in pairs):
        yield Problem(path, 0, ERROR, f"no nugget in common with {bank.name}")
        return
    unknown: dict[str, tuple[str, Problem]] = {}
    for row in (row for rows in views.values() for row in rows):
        if (row.judgment.topic, row.judgment.nugget) not in declared:
            message = _unknown(row.judgment, bank)
            unknown.setdefault(message, ("unknown nuggets", Problem(path, row.line, WARNING, message)))
    yield from few_of_a_sort(unknown.values())
    for view, pairs in judged.items():
        missing = [" ".join(pair) for pair in declared if pair not in pairs]
        if missing:
            message = f"{len(missing)} nuggets of {bank.name} have no judgment of {view}: {listed(missing)}"
            yield Problem(path, 0, WARNING, message)


def _unknown(judgment: Judgment, bank: NuggetBank) -> str:
    if judgment.topic not in bank.nuggets:
        return f"topic {judgment.topic!r} is not in {bank.name}"
    return f"nugget {judgment.nugget!r} of topic {judgment.topic!r} is not in {bank.name}"
