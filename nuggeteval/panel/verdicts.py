"""What comes of the opinions of a panel: scores of every run and topic, and a trace of every call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nuggeteval.data import Scores
from nuggeteval.errors import DataError, ParameterError, listed, shorten
from nuggeteval.panel import KEYS, MEASURES, NAME, Opinion, Pool
from nuggeteval.policies import ON_FAILED
from nuggeteval.version import __version__

__all__ = ["scores_of", "trace_lines"]


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
    return ":".join([NAME, *(f"{key}={value}" for key, value in sorted(params.items()))])


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
