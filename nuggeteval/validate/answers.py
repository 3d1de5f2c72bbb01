"""Every problem of files with answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nuggeteval.data import Answer, NuggetBank
from nuggeteval.errors import DataError, FormatError, listed, shorten
from nuggeteval.files import read_bytes
from nuggeteval.formats.answers import answer_files, answers_from_bytes, merge
from nuggeteval.validate import (
    ERROR,
    WARNING,
    Problem,
    few_of_a_sort,
    from_error,
    line_errors,
    sound_records,
)

__all__ = ["RecordCheck", "answer_problems"]


RecordCheck = Callable[[str, int, dict[str, Any]], Iterator[tuple[str, Problem]]]
"""What a track says about a record, given path and line: (sort, problem)."""


def answer_problems(
    paths: Iterable[str], bank: NuggetBank | None, check: RecordCheck | None = None
) -> Iterator[Problem]:
    """Of files with answers, alone or against a bank.

    Args:
        paths: files and folders; together, one run answers a topic once.
        bank: whose topics should be answered.
        check: the rules of a track, where the answers are for one.
    """
    seen: dict[tuple[str, str], Answer] = {}
    found: list[tuple[str, Answer]] = []
    paths = list(paths)
    files = list(answer_files(paths))
    if not files:
        yield Problem(paths[0], 0, ERROR, "no file of answers in the folder")
    for path in files:
        try:
            raw = read_bytes(path)
        except FormatError as error:
            yield from_error(error)
            continue
        answers, file_problems = _of_file(raw, path, check)
        yield from file_problems
        yield from _second_answers(path, answers, seen)
        found += [(path, answer) for answer in answers]
    if bank is not None and found:
        yield from _against(found, bank)


def _of_file(raw: bytes, path: str, check: RecordCheck | None) -> tuple[list[Answer], list[Problem]]:
    """The sound answers of a file, and all its problems."""
    errors: list[FormatError] = []
    broken: list[tuple[str, Problem]] = []

    def records(raw: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, record in sound_records(raw, path, errors):
            if check is not None:
                broken.extend(check(path, line, record))
            yield line, record

    answers, more = answers_from_bytes(raw, path, records)
    errors = sorted([*errors, *more], key=lambda error: error.line or 0)
    problems = list(line_errors(path, errors, len(answers)))
    if not answers and not errors:
        problems.append(Problem(path, 0, ERROR, "no answer"))
    smells = (smell for answer in answers for smell in _smells(path, answer))
    problems.extend(few_of_a_sort([*broken, *smells]))
    if check is not None and answers and not _line_of(path, answers[0]):
        problems.append(Problem(path, 0, ERROR, "one JSON object; the track takes JSON lines"))
    return answers, problems


def _line_of(path: str, answer: Answer) -> int:
    """The line of an answer; 0 in a file that is one object."""
    line = answer.place.removeprefix(f"{path}:")
    return int(line) if line.isdecimal() else 0


def _smells(path: str, answer: Answer) -> Iterator[tuple[str, Problem]]:
    """(sort, warning) of what is readable, but hardly meant."""
    who = f"run {answer.run!r}, topic {answer.topic!r}"
    for sort, message in (*_blanks(answer), *_stray_citations(answer), *_repeated(answer)):
        yield sort, Problem(path, _line_of(path, answer), WARNING, f"{who}: {message}")


def _blanks(answer: Answer) -> Iterator[tuple[str, str]]:
    if not answer.text.strip() and not answer.nuggets:
        yield "blank answers", "the answer is blank and counts 0"
    blank = [number for number, sentence in enumerate(answer.sentences, start=1) if not sentence.text.strip()]
    if blank and answer.text.strip():
        yield "blank sentences", f"blank sentences: {listed([str(number) for number in blank])}"


def _stray_citations(answer: Answer) -> Iterator[tuple[str, str]]:
    if not answer.unresolved:
        return
    stray = [f"sentence {number + 1} cites {shorten(repr(cited), 40)}" for number, cited in answer.unresolved]
    message = f"not among the {len(answer.references)} references: {listed(stray)}"
    yield "citations that lead nowhere", message


def _repeated(answer: Answer) -> Iterator[tuple[str, str]]:
    twice = _twice(answer.references)
    if twice:
        yield "repeated references", f"references that are listed twice: {listed(twice)}"
    cited = [
        f"sentence {number} cites {document!r}"
        for number, sentence in enumerate(answer.sentences, start=1)
        for document in _twice(sentence.citations)
    ]
    if cited:
        yield "repeated citations", f"repeated citations: {listed(cited)}"


def _twice(ids: Sequence[str]) -> list[str]:
    return [shorten(name, 40) for name, count in Counter(ids).items() if count > 1]


def _second_answers(path: str, answers: Iterable[Answer], seen: dict[tuple[str, str], Answer]) -> Iterator[Problem]:
    """Answers of a run to a topic that it has answered before, in this file or in another one."""
    for answer in answers:
        first = seen.setdefault((answer.run, answer.topic), answer)
        if first is not answer:
            try:
                seen[answer.run, answer.topic] = merge(first, answer)
            except DataError as error:
                yield Problem(path, _line_of(path, answer), ERROR, str(error))


def _against(found: Sequence[tuple[str, Answer]], bank: NuggetBank) -> Iterator[Problem]:
    """Where the topics of answers and those of a bank differ."""
    wanted = [topic for topic, nuggets in bank.nuggets.items() if nuggets]
    answered: dict[str, set[str]] = {}
    home: dict[str, str] = {}
    unknown: dict[str, dict[str, int]] = {}
    for path, answer in found:
        answered.setdefault(answer.run, set()).add(answer.topic)
        home.setdefault(answer.run, path)
        if not bank.nuggets.get(answer.topic):
            unknown.setdefault(path, {}).setdefault(answer.topic, _line_of(path, answer))
    for path, topics in unknown.items():
        message = f"{len(topics)} topics have no nugget in {bank.name} and are ignored: {listed(list(topics))}"
        yield Problem(path, next(iter(topics.values())), WARNING, message)
    without: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for run, topics_of_run in answered.items():
        missing = tuple(topic for topic in wanted if topic not in topics_of_run)
        without.setdefault((home[run], missing), []).append(run)
    for (path, missing), runs in without.items():
        if len(missing) == len(wanted):
            yield Problem(path, 0, ERROR, f"no topic in common with {bank.name} in {_runs(runs)}")
        elif missing:
            message = f"{len(missing)} topics of {bank.name} have no answer in {_runs(runs)} and count 0"
            yield Problem(path, 0, WARNING, f"{message}: {listed(missing)}")


def _runs(runs: Sequence[str]) -> str:
    return f"run{'s' * (len(runs) > 1)} {listed(runs)}"
