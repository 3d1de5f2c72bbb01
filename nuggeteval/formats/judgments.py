"""Judgments: append-only JSON lines, one verdict each, with all that is needed to make it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteval.data import VIEWS, Judgment, NuggetQrels, Scale
from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import json_records, read_bytes
from nuggeteval.ids import Ids

__all__ = [
    "as_judgment_line",
    "as_nugget_qrels",
    "grade_of_votes",
    "judge_name",
    "mended",
    "open_judgments",
    "read_judgment",
    "read_judgments",
    "votes_by_cell",
]

# A file that was killed in its first line is known by it.
_BEGINNING = b'{"view": "'
_KEYS = ("view", "run", "topic", "unit", "nugget", "judge", "score", "grade")


def as_judgment_line(judgment: Judgment, scale: Scale) -> str:
    """One line of a judgments file."""
    record: dict[str, Any] = {key: getattr(judgment, key) for key in _KEYS}
    record["scale"] = [scale.top, scale.rel]
    record.update(
        {key: getattr(judgment, key) for key in ("reason", "raw", "vote", "params", "texts") if getattr(judgment, key)}
    )
    return json.dumps(record, ensure_ascii=False) + "\n"


def mended(raw: bytes, path: str) -> bytes:
    """A judgments file with a whole last line: one that a killed process has half-written is cut off.

    Raises:
        FormatError: not a plain judgments file, which must not be appended to.
    """
    begin = raw.rfind(b"\n") + 1
    if raw and not raw.startswith(b"{" if begin else _BEGINNING[: len(raw)]):
        raise FormatError(path, "is no plain judgments file; judgments are not appended to another one", 1)
    if raw.endswith(b"\n"):
        return raw
    try:
        json.loads(raw[begin:])
    except ValueError:
        return raw[:begin]
    return raw + b"\n"


def open_judgments(path: str, write: bool = True) -> list[tuple[Judgment, Scale]]:
    """What a judgments file that will be appended to has; nothing where there is none.

    Args:
        path: a plain file.
        write: mend its last line in the file, too.

    Raises:
        FormatError: as :func:`mended` and :func:`read_judgments`, or the file cannot be read or written.
    """
    file = Path(path)
    try:
        raw = file.read_bytes() if file.exists() else b""
        sound = mended(raw, path)
        found = judgments_from_bytes(sound, path)
        if write and sound != raw:
            file.write_bytes(sound)
    except OSError as error:
        raise FormatError(path, f"cannot be read and written: {error.strerror or error}") from error
    return found


def read_judgments(path: str) -> list[tuple[Judgment, Scale]]:
    """Read a judgments file.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.

    Raises:
        FormatError: naming file and line: not JSON, a key that is missing, an unknown view, a grade outside
            its scale, neither grade nor reason.
    """
    return judgments_from_bytes(read_bytes(path), path)


def judgments_from_bytes(raw: bytes, path: str) -> list[tuple[Judgment, Scale]]:
    """As :func:`read_judgments`, of what was read."""
    return [read_judgment(record, path, line) for line, record in json_records(raw, path)]


def _scale(record: dict[str, Any], path: str, line: int) -> Scale:
    scale = record.get("scale", [1, 1])
    if not isinstance(scale, list) or len(scale) != 2 or not all(type(bound) is int for bound in scale):
        raise FormatError(path, f"scale must be [highest grade, least grade that counts] (got {scale!r})", line)
    return Scale(*scale)


def read_judgment(record: dict[str, Any], path: str, line: int) -> tuple[Judgment, Scale]:
    """One record of a judgments file.

    Raises:
        FormatError: as :func:`read_judgments`.
    """
    missing = [key for key in _KEYS if key not in record]
    if missing:
        raise FormatError(path, f"no {', '.join(missing)}: expected {', '.join(_KEYS)}", line)
    grade, reason = record["grade"], record.get("reason", "")
    if record["view"] not in VIEWS:
        raise FormatError(path, f"view must be one of {', '.join(VIEWS)} (got {record['view']!r})", line)
    scale = _scale(record, path, line)
    top = scale.top
    if grade is not None and (isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= top):
        raise FormatError(path, f"grade must be an integer from 0 to {top}, or null (got {grade!r})", line)
    if (grade is None) != bool(reason):
        raise FormatError(path, "there must be a reason exactly where the grade is null", line)
    for key in ("run", "topic", "unit", "nugget", "judge", "reason", "raw", "texts"):
        if not isinstance(record.get(key, ""), str):
            raise FormatError(path, f"{key} must be a string (got {shorten(repr(record[key]), 40)})", line)
    if type(record.get("vote", 0)) is not int or not isinstance(record.get("params", {}), dict):
        raise FormatError(path, "vote must be an integer and params an object", line)
    if record["score"] is not None and type(record["score"]) not in (int, float):
        raise FormatError(path, f"score must be a number or null (got {shorten(repr(record['score']), 40)})", line)
    judgment = Judgment(
        **{key: record[key] for key in _KEYS},
        reason=reason,
        raw=record.get("raw", ""),
        vote=record.get("vote", 0),
        params=record.get("params", {}),
        texts=record.get("texts", ""),
    )
    return judgment, scale


def as_nugget_qrels(judgments: Sequence[tuple[Judgment, Scale]], view: str, name: str) -> NuggetQrels:
    """The judgments of one view as nugget qrels: the majority of votes, failed judgments as grade 0.

    Args:
        judgments: of one judge.
        view: which of them.
        name: of the file, for messages.

    Raises:
        DataError: no judgment of the view; several scales; a repeated judgment.
    """
    chosen = [(judgment, scale) for judgment, scale in judgments if judgment.view == view]
    if not chosen:
        raise DataError(f"{name} has no judgment of {view}")
    scales = {scale for _, scale in chosen}
    if len(scales) > 1:
        raise DataError(f"{name}: judgments of {view} on several scales: {sorted(scales)}")
    cells = votes_by_cell((judgment for judgment, _ in chosen), name)
    topics = list(dict.fromkeys(topic for topic, _, _ in cells))
    place = {topic: index for index, topic in enumerate(topics)}
    grades = [grade_of_votes(votes) for votes in cells.values()]
    qrels = NuggetQrels.build(
        name,
        topics,
        np.array([place[topic] for topic, _, _ in cells], dtype=np.int64),
        Ids.of(nugget for _, nugget, _ in cells),
        Ids.of(unit for _, _, unit in cells),
        np.array([grade or 0 for grade in grades], dtype=np.int64),
        score=np.array([_mean_score(votes) for votes in cells.values()], dtype=np.float64),
    )
    failed = [topic for (topic, _, _), grade in zip(cells, grades, strict=True) if grade is None]
    counts = np.bincount([qrels.topic_index[topic] for topic in failed], minlength=len(topics))
    split = sum(len({vote.grade for vote in votes}) > 1 for votes in cells.values())
    notes = (f"{name}: votes on {split} of {len(cells)} pairs of {view} differ; the majority counts",) if split else ()
    judges = sorted({judge_name(judgment) for judgment, _ in chosen})
    return replace(
        qrels, view=view, scale=scales.pop(), failed=counts.astype(np.int64), judge=",".join(judges), notes=notes
    )


def judge_name(judgment: Judgment) -> str:
    """A judge and its parameters, for signatures."""
    return ":".join([judgment.judge, *(f"{key}={value}" for key, value in sorted(judgment.params.items()))])


def votes_by_cell(judgments: Iterable[Judgment], name: str) -> dict[tuple[str, str, str], list[Judgment]]:
    """Judgments of one view, by (topic, nugget, unit).

    Raises:
        DataError: a vote twice.
    """
    cells: dict[tuple[str, str, str], list[Judgment]] = {}
    for judgment in judgments:
        cells.setdefault((judgment.topic, judgment.nugget, judgment.unit), []).append(judgment)
    for votes in cells.values():
        if len({vote.vote for vote in votes}) < len(votes):
            first = votes[0]
            raise DataError(f"{name}: {first.unit!r} is judged twice against {first.nugget!r} of {first.topic!r}")
    return cells


def grade_of_votes(votes: Iterable[Judgment]) -> int | None:
    """The grade that most votes give, the lower of two; None if all votes failed."""
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return min(set(grades), key=lambda grade: (-grades.count(grade), grade)) if grades else None


def _mean_score(votes: Iterable[Judgment]) -> float:
    """The mean of what scores there are; a grade stands in for a score that is not there."""
    values = [vote.score if vote.score is not None else vote.grade for vote in votes]
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0
