"""Documents into passages: by length, by similarity of sentences, or at shifts of the topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nuggeteval.data import Document
from nuggeteval.errors import ParameterError
from nuggeteval.rag import UNICODE, Dialect, Passage
from nuggeteval.rows import FloatArray

__all__ = ["CHUNKERS", "ENCODED", "Chunking", "Encode", "Split", "passages_of", "split"]

CHUNKERS = ("rule", "semantic", "topic-shift", "whole")
"""Ways to cut a document: at a length alone, also where sentences are unlike those before, or unlike the last one; or
not at all."""
ENCODED = ("semantic", "topic-shift")
"""Those that need an encoder of sentences."""

Encode = Callable[[Sequence[str]], FloatArray]
"""Sentences -> vectors of length 1, shape (sentences, dimensions)."""


class Chunking(NamedTuple):
    """How documents are cut.

    Attributes:
        by: one of :data:`CHUNKERS`.
        words: most words of a passage. The reference exceeds it: an overlap is put back unchecked, and a long sentence
            is never cut.
        stride: sentences that a passage shares with the one before, for ``rule``.
        similarity: least cosine of a sentence and the mean of the passage, for ``semantic``.
        drift: largest 1 - cosine of two sentences that follow each other, for ``topic-shift``.
        least: sentences of a passage before it may end, for ``semantic`` and ``topic-shift``.
    """

    by: str = "rule"
    words: int = 140
    stride: int = 1
    similarity: float = 0.72
    drift: float = 0.18
    least: int = 1


class Split(NamedTuple):
    """A document in sentences, and their tokens."""

    sentences: list[str]
    tokens: list[tuple[str, ...]]


def split(document: Document, words: int | None, dialect: Dialect = UNICODE) -> Split:
    """Take a document apart.

    Args:
        document: the candidate.
        words: most words of a sentence, which is cut where it has more, but not by the reference; None for any number.
        dialect: how texts are taken apart.
    """
    taken = [(sentence, dialect.tokens(sentence)) for sentence in dialect.sentences(document.text)]
    if words is not None and not dialect.reference:
        taken = [part for one in taken for part in (_cut(one[0], words, dialect) if len(one[1]) > words else [one])]
    return Split([sentence for sentence, _ in taken], [tokens for _, tokens in taken])


def passages_of(
    document: Document,
    chunking: Chunking | None = None,
    dialect: Dialect = UNICODE,
    encode: Encode | None = None,
    parts: Split | None = None,
) -> list[Passage]:
    """Cut a document; none where it has no text.

    Args:
        document: the candidate.
        chunking: how; by rule by default.
        dialect: how texts are taken apart.
        encode: of sentences, for ``semantic`` and ``topic-shift``; all those of the document in one call.
        parts: the document, as :func:`split` takes it apart, where that is known.

    Raises:
        ParameterError: another way, an impossible number, or no encoder where one is needed.
    """
    chunking = chunking or Chunking()
    _check(chunking, encode)
    sentences, tokens = parts or split(document, None if chunking.by == "whole" else chunking.words, dialect)
    lengths = [len(found) for found in tokens]
    if chunking.by == "rule":
        groups = _by_rule(lengths, chunking, dialect.reference)
    elif chunking.by == "whole":
        groups = [list(range(len(sentences)))] if sentences else []
    else:
        vectors = encode(sentences) if encode and sentences else np.zeros((0, 1))
        groups = _by_vectors(lengths, vectors, chunking)
    return [
        Passage(
            document.id,
            " ".join(sentences[one] for one in group),
            tuple(token for one in group for token in tokens[one]),
            document.title,
            document.timestamp,
            place,
        )
        for place, group in enumerate(groups)
    ]


def _check(chunking: Chunking, encode: Encode | None) -> None:
    if chunking.by not in CHUNKERS:
        raise ParameterError(f"chunks are made by {', '.join(CHUNKERS)} (got {chunking.by!r})")
    if chunking.words < 1 or chunking.stride < 0 or chunking.least < 1:
        raise ParameterError(f"words and least must be at least 1, stride at least 0 (got {chunking})")
    if chunking.by in ENCODED and encode is None:
        raise ParameterError(f"{chunking.by} chunks need an encoder of sentences")


def _cut(sentence: str, words: int, dialect: Dialect) -> list[tuple[str, tuple[str, ...]]]:
    """A sentence in parts of at most so many words, and their tokens."""
    starts = [found.start() for found in dialect.word.finditer(sentence)][::words]
    parts = [sentence[begin:end].strip() for begin, end in pairwise([0, *starts[1:], len(sentence)])]
    return [(part, dialect.tokens(part)) for part in parts]


def _by_rule(lengths: Sequence[int], chunking: Chunking, reference: bool) -> list[list[int]]:
    """Sentences in a row until a passage would be too long; the last ones begin the next passage."""
    groups: list[list[int]] = []
    current: list[int] = []
    total = 0
    for place, length in enumerate(lengths):
        if current and total + length > chunking.words:
            groups.append(current)
            current = current[-chunking.stride :] if chunking.stride else []
            total = sum(lengths[one] for one in current)
            while current and not reference and total + length > chunking.words:
                total -= lengths[current.pop(0)]
        current.append(place)
        total += length
    return [*groups, current] if current else groups


def _by_vectors(lengths: Sequence[int], vectors: FloatArray, chunking: Chunking) -> list[list[int]]:
    """Sentences in a row until one is unlike, or the passage would be too long; no overlap."""
    groups: list[list[int]] = []
    for place, length in enumerate(lengths):
        current = groups[-1] if groups else []
        if current and sum(lengths[one] for one in current) + length <= chunking.words:
            if chunking.by == "topic-shift":
                unlike = 1.0 - float(vectors[place - 1] @ vectors[place]) > chunking.drift
            else:
                unlike = _cosine(vectors[place], vectors[current].mean(axis=0)) < chunking.similarity
            if not (unlike and len(current) >= chunking.least):
                current.append(place)
                continue
        groups.append([place])
    return groups


def _cosine(one: FloatArray, other: FloatArray) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length else 0.0
