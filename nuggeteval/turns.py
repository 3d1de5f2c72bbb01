"""Which topics are in which mean in the released code of CONE-RAG, whose three numbers of one run differ in that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nuggeteval.data import Answer, NuggetBank, Scores
from nuggeteval.errors import listed
from nuggeteval.grammar import parse

__all__ = ["as_reference", "reference_topics"]

_RECALL = {"Recall_NtN"}
_PRECISION = {"Precision_NtN", "F1_NtN"}


def reference_topics(bank: NuggetBank, answers: Sequence[Answer]) -> list[str]:
    """The topics that the released code looks at: those of the bank, even without nuggets, that a run answers."""
    answered = {answer.topic for answer in answers}
    return [topic for topic in bank.nuggets if topic in answered]


def as_reference(scores: Scores, bank: NuggetBank, answers: Sequence[Answer]) -> Scores:
    """The same scores, averaged as the released code of CONE-RAG does (nuggetizer.py, NtN.py, NtR.py).

    ================================  ============  =============  =========
    case                              NtN recall    NtN precision  responses
    ================================  ============  =============  =========
    topic without a gold nugget       0             0              left out
    no nugget extracted               0             left out       as usual
    response empty                    0             left out       left out
    topic that the run does not have  left out      left out       left out
    ================================  ============  =============  =========

    Topics that are not in the bank, on which the released code stops, are left out and named.

    Args:
        scores: over :func:`reference_topics`, undefined values as 0.
        bank: the gold.
        answers: with extracted nuggets.
    """
    given = {(answer.run, answer.topic): answer for answer in answers}
    present = np.zeros_like(scores.present)
    names = [parse(measure).name for measure in scores.measures]
    for t, topic in enumerate(scores.topics):
        gold = bool(bank.nuggets[topic])
        for r, run in enumerate(scores.runs):
            answer = given.get((run, topic))
            present[r, t] = [answer is not None and _counts(name, answer, gold) for name in names]
    unknown = sorted({answer.topic for answer in answers} - set(bank.nuggets))
    note = f"topics that are not in {bank.name}, left out: {listed(unknown)}"
    return replace(
        scores,
        present=present,
        notes=(*scores.notes, note) if unknown else scores.notes,
        signature=f"{scores.signature}|turns reference",
    )


def _counts(measure: str, answer: Answer, gold: bool) -> bool:
    """Whether a topic is in the mean of a measure."""
    if measure in _RECALL:
        return True
    if measure in _PRECISION:
        return bool(answer.nuggets) and bool(answer.text)
    return gold and bool(answer.text)
