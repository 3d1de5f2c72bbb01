"""The default judge and a small encoder together: what is said in other words counts too.

No torch, no key, no network: the extra ``embedded``. The formula was chosen on the human labels of TREC iKAT
2024; at its threshold it agrees with the 673 released ones at kappa 0.43 (lexical: 0.42), in-sample.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nuggeteval.data import Scale
from nuggeteval.errors import ParameterError
from nuggeteval.idf import Idf, digest
from nuggeteval.judges import Item, Verdict
from nuggeteval.models.encoders import Encoded, TokenEncoder
from nuggeteval.text import content_words, sentences

__all__ = ["THRESHOLD", "Encoder", "HybridJudge", "Terms"]

THRESHOLD = 0.575
"""Least score that is a yes, whatever the view."""

_SIMILAR = 0.6
_QUANTILE = 0.25
_WINDOW = 3

Vectors = npt.NDArray[np.float32]


class Encoder(Protocol):
    """What the judge needs of an encoder."""

    name: str

    def pieces(self, text: str) -> list[str]:
        """The word pieces of a text."""

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """For each text its word pieces and their vectors, each of length 1."""


@dataclass(frozen=True)
class Terms:
    """The five terms of a score.

    Attributes:
        recall: share of the idf of the nugget's content words that the unit has, in [0, 1].
        by_sentence: the mean of that share over the nugget's sentences, in [0, 1].
        similar: share of the idf of the nugget's word pieces to which one of the unit is similar, in [0, 1].
        lower: the 25 % quantile of the pieces' best cosines, in [-1, 1].
        window: best cosine of the nugget's mean vector to that of three sentences in a row, in [-1, 1].
    """

    recall: float
    by_sentence: float
    similar: float
    lower: float
    window: float

    @property
    def score(self) -> float:
        """Their mean."""
        return math.fsum((self.recall, self.by_sentence, self.similar, self.lower, self.window)) / 5


@dataclass(frozen=True)
class _Unit:
    """Content words, vectors of all pieces (pieces, width), mean vectors of windows (windows, width)."""

    words: frozenset[str]
    pieces: Vectors
    windows: Vectors


@dataclass(frozen=True)
class _Nugget:
    """Content words, those of each sentence, vectors of pieces, their weights (pieces,), mean vector (1, width)."""

    words: frozenset[str]
    sentences: tuple[frozenset[str], ...]
    pieces: Vectors
    weights: npt.NDArray[np.float64]
    mean: Vectors


# Judges of several views and banks share one encoder, and what it has encoded.
_load = lru_cache(maxsize=1)(TokenEncoder.load)


class HybridJudge:
    """The mean of two lexical and three embedded terms (:class:`Terms`).

    Args:
        texts: texts of the nuggets (of all topics), from which idf is taken.
        encoder: vectors of word pieces.
        threshold: least score that is a yes, in [0, 1].

    Raises:
        ParameterError: an impossible threshold.
    """

    name = "hybrid"

    def __init__(self, texts: Sequence[str], encoder: Encoder, threshold: float = THRESHOLD) -> None:
        if not 0 <= threshold <= 1:
            raise ParameterError(f"threshold must be in [0, 1] (got {threshold})")
        self._words = Idf(list(map(content_words, texts)))
        self._pieces = Idf([set(encoder.pieces(text)) for text in texts], floor=1e-6)
        self._encoder, self._threshold = encoder, threshold
        self.scale = Scale(1)
        self.params: Mapping[str, Any] = {
            "idf": digest(self._words, self._pieces),
            "model": encoder.name,
            "threshold": threshold,
        }
        self._unit = lru_cache(maxsize=64)(self._read_unit)
        self._nugget = lru_cache(maxsize=1 << 12)(self._read_nugget)

    @classmethod
    def of(
        cls,
        view: str,  # noqa: ARG003 (what judges of other kinds depend on)
        texts: Sequence[str],
        threshold: float | None = None,
        encoder: Encoder | None = None,
    ) -> HybridJudge:
        """The judge with an encoder, or with that of the extra ``embedded``.

        Raises:
            MissingDependencyError: a package of the extra is not installed.
        """
        return cls(texts, encoder or _load(), THRESHOLD if threshold is None else threshold)

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items in their order; the grade follows from the score as it is written."""
        for index, item in enumerate(items):
            score = round(self.terms(item.unit, item.nugget).score, 6)
            yield index, Verdict(score, int(score >= self._threshold))

    def terms(self, unit: str, nugget: str) -> Terms:
        """The five terms of a pair of texts."""
        mine, theirs = self._nugget(nugget), self._unit(unit)
        recalls = [self._recall(bag, theirs.words) for bag in mine.sentences]
        best = _best_cosines(mine.pieces, theirs.pieces)
        return Terms(
            recall=self._recall(mine.words, theirs.words),
            by_sentence=math.fsum(recalls) / len(recalls) if recalls else 0.0,
            similar=float(mine.weights[best > _SIMILAR].sum() / mine.weights.sum()) if best.size else 0.0,
            lower=float(np.quantile(best, _QUANTILE)) if best.size else 0.0,
            window=float(_best_cosines(mine.mean, theirs.windows).max(initial=-1.0)) if best.size else 0.0,
        )

    def _recall(self, bag: Collection[str], found: Collection[str]) -> float:
        """Share of the idf of some words that is on those found."""
        weights = {word: self._words[word] for word in sorted(bag)}
        total = math.fsum(weights.values())
        return math.fsum(weight for word, weight in weights.items() if word in found) / total if total else 0.0

    def _read_unit(self, text: str) -> _Unit:
        parts = sentences(text) or [text]
        runs = [" ".join(parts[at : at + _WINDOW]) for at in range(max(1, len(parts) - _WINDOW + 1))]
        encoded = self._encoder.encode([text, *parts, *runs])
        vectors = [each.vectors for each in encoded]
        read = len(parts) + 1
        windows = [_mean(each) for each in vectors[read:] if len(each)]
        return _Unit(
            content_words(text), np.concatenate(vectors[:read]), np.concatenate(windows) if windows else vectors[0][:0]
        )

    def _read_nugget(self, text: str) -> _Nugget:
        [encoded] = self._encoder.encode([text])
        bags = tuple(bag for bag in map(content_words, sentences(text)) if bag)
        weights = [self._pieces[piece] for piece in encoded.tokens]
        whole = content_words(text)
        return _Nugget(
            whole, bags or ((whole,) if whole else ()), encoded.vectors, np.array(weights), _mean(encoded.vectors)
        )


def _mean(vectors: Vectors) -> Vectors:
    """The mean of vectors, of length 1: (1, width); of none, zeros."""
    mean = vectors.sum(axis=0, keepdims=True)
    return (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)


def _best_cosines(mine: Vectors, theirs: Vectors) -> Vectors:
    """For each of my vectors its cosine to the nearest of theirs; nothing where there are none."""
    return (mine @ theirs.T).max(axis=1) if len(mine) and len(theirs) else np.zeros(0, dtype=np.float32)
