"""A panel: the answers of all systems to a topic side by side, scored for correctness and completeness.

One call a topic shows the question, the reference answers and the answers of all systems, and asks for two integers
from 1 to 5 for each. It is the supplementary judge of LongEval-RAG 2026 without its weaknesses: systems are labels in
an order that a hash draws, never names; equal answers are shown once; a failed score is counted, and no low one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.data import Answer, Scores
from nuggeteval.errors import DataError, ParameterError, listed, shorten
from nuggeteval.ids import topic_order
from nuggeteval.judges.llm import (
    ATTEMPTS,
    CHARACTERS_PER_TOKEN,
    Estimate,
    check_fields,
    is_final,
    read_own_prompt,
    reason_of,
)
from nuggeteval.policies import ON_FAILED
from nuggeteval.replies import parse_table
from nuggeteval.text import fill, squeezed
from nuggeteval.version import __version__

__all__ = ["KEYS", "MEASURES", "Call", "Opinion", "Panel", "Pool", "pool_answers", "scores_of", "trace_lines"]

KEYS = ("correctness", "completeness")
"""What each answer is scored for."""

MEASURES = (*KEYS, "panel")
"""The measures that come of it; the last is the mean of the others."""

_LEAST, _MOST = 1, 5
_TOKENS_PER_ANSWER = 40
_TOKENS_AROUND = 40
_FIELDS = ("{question}", "{references}", "{answers}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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


class Panel:
    """A language model that compares answers, in an order that the seed of its chat draws.

    Args:
        chat: the door to the model.
        prompt: the prompt, if not our own, with the fields ``{question}``, ``{references}``, ``{answers}``.
        per_call: most answers in a call; None for all. Of more, groups of like sizes are drawn by the same shuffle.
        repeats: rounds, whose scores are averaged. Every second one shows its predecessor's order backwards, so that
            after an even number of rounds no answer has come earlier than another on average.
        max_tokens: longest reply; None for 40 for each answer, and 40.

    Raises:
        ParameterError: fewer answers or rounds than one, or a prompt without its fields.
    """

    name = "panel"

    def __init__(
        self,
        chat: Chat,
        prompt: str | None = None,
        per_call: int | None = None,
        repeats: int = 1,
        max_tokens: int | None = None,
    ) -> None:
        for what, value in (("answers a call", per_call), ("repeats", repeats)):
            if value is not None and value < 1:
                raise ParameterError(f"{what} must be at least 1 (got {value})")
        self._chat, self._per_call = chat, per_call
        self._repeats, self._max_tokens = repeats, max_tokens
        self._prompt = prompt or read_own_prompt(self.name)
        check_fields(self._prompt, _FIELDS, "the panel")
        s = chat.settings
        self.params: Mapping[str, Any] = {
            "model": s.model,
            "host": s.host,
            "temperature": s.temperature,
            "seed": s.seed,
            "prompt": hashlib.sha256(self._prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12],
            **({} if max_tokens is None else {"max_tokens": max_tokens}),
            **({} if per_call is None else {"per_call": per_call}),
            **({"repeats": repeats} if repeats > 1 else {}),
        }

    def calls(self, pool: Pool) -> list[Call]:
        """All that is asked, topic by topic and round by round."""
        return [
            self._call(pool, topic, repeat, group)
            for topic in pool.topics
            if topic in pool.shown
            for repeat in range(self._repeats)
            for group in _groups(self._order(topic, repeat, pool.shown[topic]), self._per_call)
        ]

    def _order(self, topic: str, repeat: int, answers: Iterable[Shown]) -> list[Shown]:
        """Answers in the order of one round: by a hash of seed, topic and text, that of no run and no other topic."""

        def drawn(answer: Shown) -> bytes:
            parts = [self._chat.settings.seed, repeat // 2, topic, squeezed(answer.text)]
            return hashlib.sha256(json.dumps(parts).encode()).digest()

        return sorted(answers, key=drawn, reverse=repeat % 2 == 1)

    def _call(self, pool: Pool, topic: str, repeat: int, group: Sequence[Shown]) -> Call:
        answers = {_label(place): answer for place, answer in enumerate(group)}
        references = pool.references[topic]
        numbers = [""] if len(references) == 1 else [f" {number}" for number in range(1, len(references) + 1)]
        values = {
            "question": pool.questions[topic].strip(),
            "references": _blocks("Reference answer", dict(zip(numbers, references, strict=True))),
            "answers": _blocks("Answer", {f" {label}": answer.text for label, answer in answers.items()}),
            "labels": ", ".join(answers),
        }
        text = fill(self._prompt.replace("{{", "{").replace("}}", "}"), values)
        longest = None if self._max_tokens is not None else _TOKENS_AROUND + _TOKENS_PER_ANSWER * len(answers)
        # The round is the vote: another round of a single answer is another question.
        return Call(
            topic, repeat, answers, Request((("user", text),), vote=repeat, max_tokens=longest or self._max_tokens)
        )

    def estimate(self, pool: Pool) -> Estimate:
        """What asking will take if every first reply is sound."""
        requests = [call.request for call in self.calls(pool)]
        characters = sum(len(text) for request in requests for _, text in request.messages)
        tokens_out = sum(request.max_tokens or 0 for request in requests)
        return Estimate(len(requests), characters // CHARACTERS_PER_TOKEN, tokens_out)

    def ask(self, pool: Pool, progress: Callable[[int, int], None] | None = None) -> list[Opinion]:
        """Ask; a call is asked up to three times until every label has its scores, and what the last reply has counts.

        Args:
            pool: the answers.
            progress: called with (opinions, all of them) after each opinion.

        Returns:
            an opinion for every call, in the order of :meth:`calls`; none for those that wait in a batch.

        Raises:
            JudgeError: as :meth:`nuggeteval.chat.Chat.ask_all`.
        """
        calls = self.calls(pool)
        found: dict[int, Opinion] = {}
        left = list(range(len(calls)))
        for attempt in range(ATTEMPTS):
            asked, left = left, []
            requests = [calls[index].request._replace(attempt=attempt) for index in asked]
            for number, reply in self._chat.ask_all(requests):
                opinion = _opinion(calls[asked[number]], reply, attempt + 1)
                if opinion.failures and attempt + 1 < ATTEMPTS and not is_final(reply):
                    left.append(asked[number])
                    continue
                found[asked[number]] = opinion
                if progress:
                    progress(len(found), len(calls))
            left.sort()
            if not left:
                break
        return [found[index] for index in sorted(found)]


def _groups(answers: Sequence[Shown], most: int | None) -> Iterator[Sequence[Shown]]:
    """As few groups as can be, none of which is larger than another by more than one."""
    number = 1 if most is None else math.ceil(len(answers) / most)
    for part in range(number):
        yield answers[len(answers) * part // number : len(answers) * (part + 1) // number]


def _label(place: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    label = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(_LETTERS))
        label = _LETTERS[letter] + label
    return label


def _blocks(what: str, texts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{what}{label}:\n<<<\n{text.strip()}\n>>>" for label, text in texts.items())


def _opinion(call: Call, reply: Reply, attempts: int) -> Opinion:
    """What is valid in a reply, and why the rest is not there."""
    labels = tuple(call.answers)
    scores, problems = ({}, {}) if reply.reason else parse_table(reply.text, labels, KEYS, _LEAST, _MOST)
    absent = "not in the reply" if scores or problems else reason_of(reply)
    failures = {label: problems.get(label, absent) for label in labels if label not in scores}
    return Opinion(call, reply.text, attempts, scores, failures)


# --- what comes of it ------------------------------------------------------------------------------


def scores_of(pool: Pool, opinions: Sequence[Opinion], params: Mapping[str, Any], on_failed: str = "zero") -> Scores:
    """Correctness, completeness and their mean, of every run and topic: means over the rounds that gave scores.

    A missing answer counts 0, below the lowest score. An answer that no round gave scores to has failed.

    Args:
        pool: what was asked about.
        opinions: on all of it.
        params: of the panel, for the signature.
        on_failed: ``zero`` counts failed answers 0, ``skip`` leaves topics that have one out for every run, ``error``
            refuses.

    Raises:
        ParameterError: ``on_failed`` is none of these.
        DataError: an answer failed and ``on_failed`` is ``error``; no topic is left.
    """
    if on_failed not in ON_FAILED:
        raise ParameterError(f"on_failed must be one of {', '.join(ON_FAILED)} (got {on_failed!r})")
    given = _given(opinions)
    failed = [(run, topic) for topic in pool.topics for run in _answering(pool, topic) if (run, topic) not in given]
    if failed and on_failed == "error":
        raise DataError(f"{_named(failed)} have no scores (--on-failed zero or skip scores anyway)")
    skipped = {topic for _, topic in failed} if on_failed == "skip" else set()
    topics = tuple(topic for topic in pool.topics if topic not in skipped)
    if not topics:
        raise DataError("every topic has an answer that failed: nothing is left to score")
    values = np.zeros((len(pool.runs), len(topics), len(MEASURES)))
    for r, run in enumerate(pool.runs):
        for t, topic in enumerate(topics):
            values[r, t] = _cell(given.get((run, topic), []))
    missing = sum(topic not in skipped for lacking in pool.missing.values() for topic in lacking)
    counted = [] if skipped else failed
    parts = [f"nuggeteval {__version__}", f"runs {len(pool.runs)}", f"topics {len(topics)}", f"missing {missing}"]
    parts += ["undefined 0", f"failed {len(counted)}", f"judge {_judge_name(params)}"]
    parts += [] if on_failed == "zero" else [f"on-failed {on_failed}"]
    return Scores(
        pool.runs,
        topics,
        MEASURES,
        values,
        np.ones(values.shape, dtype=bool),
        signature="|".join(parts),
        notes=(*pool.notes, *_failure_notes(opinions, failed, on_failed)),
    )


def _given(opinions: Iterable[Opinion]) -> dict[tuple[str, str], list[tuple[int, ...]]]:
    """(run, topic) -> what each round gave; an answer that several runs share gives to all of them."""
    given: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for opinion in opinions:
        for label, row in opinion.scores.items():
            for run in opinion.call.answers[label].runs:
                given.setdefault((run, opinion.call.topic), []).append(row)
    return given


def _answering(pool: Pool, topic: str) -> list[str]:
    return sorted(run for answer in pool.shown.get(topic, ()) for run in answer.runs)


def _named(failed: Sequence[tuple[str, str]]) -> str:
    return f"{len(failed)} answers ({listed([' to '.join(cell) for cell in failed])})"


def _judge_name(params: Mapping[str, Any]) -> str:
    return ":".join([Panel.name, *(f"{key}={value}" for key, value in sorted(params.items()))])


def _cell(rows: Sequence[tuple[int, ...]]) -> list[float]:
    """The values of one answer; integers are summed and divided once, so that equal opinions give equal means."""
    if not rows:
        return [0.0] * len(MEASURES)
    sums = [sum(column) for column in zip(*rows, strict=True)]
    return [*(total / len(rows) for total in sums), sum(sums) / (len(sums) * len(rows))]


def _failure_notes(opinions: Sequence[Opinion], failed: Sequence[tuple[str, str]], on_failed: str) -> Iterator[str]:
    reasons = Counter(
        shorten(reason.partition(" (got")[0], 80) for opinion in opinions for reason in opinion.failures.values()
    )
    if reasons:
        asked = sum(len(opinion.call.answers) for opinion in opinions)
        shown = listed(
            [f"{reason} ({count})" for reason, count in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))]
        )
        yield f"{sum(reasons.values())} of {asked} labels in {len(opinions)} calls have no scores: {shown}"
    if failed:
        fate = "their topics are left out" if on_failed == "skip" else "they count 0"
        yield f"{_named(failed)} failed, and {fate}"


def trace_lines(opinions: Iterable[Opinion]) -> Iterator[str]:
    """A JSON line for every call: topic, round, label -> runs in the order shown, scores, failures, the reply."""
    for opinion in opinions:
        record = {
            "topic": opinion.call.topic,
            "repeat": opinion.call.repeat,
            "order": {label: list(answer.runs) for label, answer in opinion.call.answers.items()},
            "scores": {label: dict(zip(KEYS, row, strict=True)) for label, row in opinion.scores.items()},
            "failures": opinion.failures,
            "attempts": opinion.attempts,
            "reply": opinion.reply,
        }
        yield json.dumps(record) + "\n"
