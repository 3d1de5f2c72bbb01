"""Nuggets from text: what an answer says, in pieces that can be judged one by one."""

from __future__ import annotations

from nuggeteval.data import Answer
from nuggeteval.text import sentences

__all__ = ["by_sentence"]


def by_sentence(answer: Answer) -> tuple[str, ...]:
    """The sentences of an answer: as the system gave them, else split by rule."""
    if answer.sentences:
        return tuple(sentence.text for sentence in answer.sentences)
    return tuple(sentences(answer.text))
