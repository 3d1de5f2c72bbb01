"""A panel: the answers of all systems to a topic side by side, scored for correctness and completeness.

One call a topic shows the question, the reference answers and the answers of all systems, and asks for two integers
from 1 to 5 for each. It is the supplementary judge of LongEval-RAG 2026 without its weaknesses: systems are labels in
an order that a hash draws, never names; equal answers are shown once; a failed score is counted, and no low one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nuggeteval.chat import Request
from nuggeteval.data import Answer
from nuggeteval.errors import DataError, listed
from nuggeteval.ids import topic_order
from nuggeteval.text import squeezed

__all__ = ["KEYS", "MEASURES", "NAME", "Call", "Opinion", "Pool", "Shown", "pool_answers"]

NAME = "panel"
"""What its judge is called."""

KEYS = ("correctness", "completeness")
"""What each answer is scored for."""

MEASURES = (*KEYS, "panel")
"""The measures that come of it; the last is the mean of the others."""


class Shown(NamedTuple):
    """An answer as it is shown, and the runs that gave it."""

    text: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """What a panel is asked about.

    Attributes:
        runs: names, sorted, so that the order of files decides nothing.
        topics: those with a reference, in the order of their bytes.
        questions, references: of each of them that has an answer.
        shown: topic -> its distinct answers.
        missing: run -> topics that it does not answer.
        notes: what a reader of the scores should know.
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    questions: Mapping[str, str]
    references: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, tuple[Shown, ...]]
    missing: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


def pool_answers(
    answers: Iterable[Answer], references: Mapping[str, Sequence[str]], questions: Mapping[str, str]
) -> Pool:
    """Put the answers of all systems side by side.

    Answers to one topic whose texts are equal but for white space are one: they are shown once and get one score.

    Args:
        answers: of all runs; blank ones are missing.
        references: topic -> reference answers; these topics are averaged, those without a text are ignored.
        questions: topic -> what was asked.

    Raises:
        DataError: no answer; no topic in common; topics without a question.
    """
    answers = list(answers)
    kept = {topic: tuple(text for text in texts if text.strip()) for topic, texts in references.items()}
    topics = topic_order(topic for topic, texts in kept.items() if texts)
    by_topic: dict[str, dict[str, list[Answer]]] = {topic: {} for topic in topics}
    for answer in answers:
        if answer.topic in by_topic and answer.text.strip():
            by_topic[answer.topic].setdefault(squeezed(answer.text), []).append(answer)
    shown = {topic: tuple(map(_shown, texts.values())) for topic, texts in by_topic.items() if texts}
    if not shown:
        theirs = listed(topic_order({answer.topic for answer in answers}))
        if answers and not any(answer.text.strip() for answer in answers):
            raise DataError("no answer has a text")
        raise DataError(
            f"no topic in common: references of {listed(topics) or 'none'} and answers to {theirs or 'none'}"
        )
    lacking = [topic for topic in shown if not questions.get(topic, "").strip()]
    if lacking:
        raise DataError(f"{len(lacking)} of {len(shown)} topics have no question: {listed(lacking)}")
    runs = sorted({answer.run for answer in answers})
    answered = {(run, topic) for topic, each in shown.items() for one in each for run in one.runs}
    missing = {run: tuple(topic for topic in topics if (run, topic) not in answered) for run in runs}
    notes = _pool_notes(answers, kept, topics, missing)
    return Pool(tuple(runs), tuple(topics), questions, kept, shown, missing, tuple(notes))


def _shown(same: Sequence[Answer]) -> Shown:
    return Shown(min(answer.text for answer in same).strip(), tuple(sorted(answer.run for answer in same)))


def _pool_notes(
    answers: Sequence[Answer],
    references: Mapping[str, Sequence[str]],
    topics: Sequence[str],
    missing: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    blank = topic_order(topic for topic, texts in references.items() if not texts)
    if blank:
        yield f"topics whose references have no text, ignored: {listed(blank)}"
    ignored = topic_order({answer.topic for answer in answers} - references.keys())
    if ignored:
        yield f"topics without a reference, ignored: {listed(ignored)}"
    for run, lacking in missing.items():
        if lacking:
            yield f"{run} has no answer to {len(lacking)} of {len(topics)} topics, which count 0: {listed(lacking)}"


@dataclass(frozen=True)
class Call:
    """One question to the panel.

    Attributes:
        topic, repeat: on what, and in which round.
        answers: label -> the answer that it stands for, in the order in which they are shown.
        request: what is asked.
    """

    topic: str
    repeat: int
    answers: Mapping[str, Shown]
    request: Request


@dataclass(frozen=True)
class Opinion:
    """What a panel says in one call.

    Attributes:
        call: what it was asked.
        reply: its last reply, as it came.
        attempts: times that it was asked.
        scores: label -> correctness and completeness.
        failures: label -> why it has no scores.
    """

    call: Call
    reply: str
    attempts: int
    scores: Mapping[str, tuple[int, ...]]
    failures: Mapping[str, str]
