"""Every problem of a file in one pass: what makes it unreadable (errors), and what smells (warnings)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from nuggeteval.errors import FormatError, ParameterError, listed, shorten
from nuggeteval.files import json_records
from nuggeteval.registry import load, lookup

__all__ = [
    "ERROR",
    "KINDS",
    "WARNING",
    "Problem",
    "few_of_a_sort",
    "from_error",
    "line_errors",
    "problems",
    "sound_records",
]

ERROR, WARNING = "error", "warning"
_SHOWN = 5


class Problem(NamedTuple):
    """One thing that is wrong with a file; line 0 is the file as a whole."""

    path: str
    line: int
    level: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.level}: {self.message}"


class Kind(NamedTuple):
    """A kind of file: its check, and the reader of what it is checked against."""

    check: str
    read_other: str


KINDS: dict[str, Kind] = {
    "run": Kind("nuggeteval.validate.tables:run_problems", "nuggeteval.formats.trec:read_qrels"),
    "qrels": Kind("nuggeteval.validate.tables:qrels_problems", "nuggeteval.formats.nuggets:read_bank"),
    "bank": Kind("nuggeteval.validate.tables:bank_problems", "nuggeteval.formats.trec:read_qrels"),
    "answers": Kind("nuggeteval.validate.answers:answer_problems", "nuggeteval.formats.nuggets:read_bank"),
    "judgments": Kind("nuggeteval.validate.judgments:judgment_problems", "nuggeteval.formats.nuggets:read_bank"),
}
"""Kind of file -> how it is checked."""


def problems(
    kind: str, paths: str | Iterable[str], against: str | None = None, track: str | None = None
) -> list[Problem]:
    """Check files.

    Args:
        kind: ``run``, ``qrels``, ``bank``, ``answers`` or ``judgments``.
        paths: files, compressed or not, or ``-``; for answers, which must not be there twice, folders too.
        against: a file that they must fit: qrels for a run or a bank, a bank for the others.
        track: whose rules answers must keep, one of :data:`nuggeteval.validate.tracks.TRACKS`.

    Returns:
        all problems by file and line; those of a whole file come last.

    Raises:
        UnknownNameError: another kind or track.
        ParameterError: a track for something else than answers.
        FormatError, DataError: ``against`` cannot be read.
    """
    record = lookup(KINDS, kind, "kind of file")
    if track is not None and kind != "answers":
        raise ParameterError(f"a track has rules for answers, not for a file of kind {kind}")
    other = None if against is None else load(record.read_other)(against)
    files = [paths] if isinstance(paths, str) else list(paths)
    check = load(record.check)
    if kind == "answers":
        found = list(check(files, other, None if track is None else _track_check(track)))
    else:
        found = [problem for path in files for problem in _of_one(check(path, other))]
    order = {path: place for place, path in enumerate(dict.fromkeys([*files, *(problem.path for problem in found)]))}
    return sorted(found, key=lambda problem: (order[problem.path], problem.line == 0, problem.line))


def _track_check(track: str) -> Any:
    """The check of one record by the rules of a track."""
    rules = lookup(load("nuggeteval.validate.tracks:TRACKS"), track, "track")
    return partial(load("nuggeteval.validate.tracks:track_problems"), rules)


def _of_one(check: Iterator[Problem]) -> Iterator[Problem]:
    """The problems of a file; one that cannot be read has no others."""
    try:
        yield from check
    except FormatError as error:
        yield from_error(error)


def from_error(error: FormatError) -> Problem:
    """What a reader says about a file, as a problem."""
    return Problem(error.path, error.line or 0, ERROR, error.message)


def line_errors(path: str, errors: Sequence[FormatError], sound: int) -> Iterator[Problem]:
    """Every malformed line; the first ones only, where no line of the file is a record."""
    shown = errors if sound else errors[:_SHOWN]
    yield from map(from_error, shown)
    if len(shown) < len(errors):
        message = f"{len(errors) - len(shown)} more lines are malformed"
        yield Problem(path, errors[_SHOWN].line or 0, ERROR, message)


def sound_records(raw: bytes, path: str, errors: list[FormatError]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSON lines, or of one JSON array, with their lines; what is none goes to ``errors``."""
    if raw.lstrip()[:1] == b"[":
        yield from _array_records(raw, path, errors)
        return
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            # By itself, a line that is an array would pass for a file of objects.
            if line.lstrip()[:1] == b"[":
                raise FormatError(path, f"expected a JSON object, found {shorten(line.decode(errors='replace'), 40)}")
            yield from ((number, record) for _, record in json_records(line, path))
        except FormatError as error:
            cut = "; the file ends in the middle of this line: is it cut short?" if number == len(lines) else ""
            errors.append(FormatError(path, f"{error.message}{cut}", number))


def _array_records(raw: bytes, path: str, errors: list[FormatError]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON array, each with the line that it begins on, as far as it can be read."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError) as error:
        errors.append(FormatError(path, f"not a JSON array: {error}", getattr(error, "lineno", 1)))
    text = raw.decode(errors="surrogateescape")
    read = json.JSONDecoder().raw_decode
    line, counted, place = 1, 0, text.index("[") + 1
    while True:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        line, counted = line + text.count("\n", counted, place), place
        try:
            record, place = read(text, place)
        except (ValueError, RecursionError):
            # The end of the array, or what the error above is about.
            return
        if isinstance(record, dict):
            yield line, record
        else:
            errors.append(FormatError(path, f"expected a JSON object, found {shorten(repr(record), 40)}", line))


def few_of_a_sort(found: Iterable[tuple[str, Problem]]) -> Iterator[Problem]:
    """Of many problems of one sort in a file the first ones, then one that says how many and where the others are.

    Args:
        found: (sort, problem): the sort is what the others are called.
    """
    sorts: dict[tuple[str, str, str], list[Problem]] = {}
    for sort, problem in found:
        sorts.setdefault((problem.path, problem.level, sort), []).append(problem)
    for (path, level, sort), alike in sorts.items():
        yield from alike[:_SHOWN]
        more = alike[_SHOWN:]
        if more:
            lines = list(dict.fromkeys(str(problem.line) for problem in more if problem.line))
            where = f", on lines {listed(lines)}" if lines else ""
            yield Problem(path, 0, level, f"{sort}: {len(more)} more{where}")
