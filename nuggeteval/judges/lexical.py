"""The default judge: how much of a nugget's content, weighted by rarity, stands in the unit.

No model, no key, no download. At its threshold it agrees with the released human labels of TREC iKAT
2024 at kappa 0.42 (673 labels; always-no: 0; GPT-4o as published: 0.61), in-sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from nuggeteval.data import Scale
from nuggeteval.errors import ParameterError
from nuggeteval.idf import Idf, digest
from nuggeteval.judges import Item, Verdict
from nuggeteval.text import content_words, sentences

__all__ = ["THRESHOLDS", "LexicalJudge"]

THRESHOLDS = {"responses": 0.455, "nuggets": 0.40, "sentences": 0.455, "documents": 0.455}
"""View -> least score that is a yes (long spans; 0.55 suits short extracted nuggets)."""


class LexicalJudge:
    """Recall of a nugget's content words in a unit, weighted by idf, averaged over its sentences.

    Args:
        texts: texts of the nuggets (of all topics), from which idf is taken.
        threshold: least score that is a yes, in [0, 1].
        rating: give grades 0 to 5, floor(5 score + 0.5), instead of yes and no.
    """

    name = "lexical"

    def __init__(self, texts: Sequence[str], threshold: float = THRESHOLDS["responses"], rating: bool = False) -> None:
        if not 0 <= threshold <= 1:
            raise ParameterError(f"threshold must be in [0, 1] (got {threshold})")
        self._idf = Idf(list(map(content_words, texts)))
        self._threshold, self._rating = threshold, rating
        self.scale = Scale(5, 3) if rating else Scale(1)
        self.params: Mapping[str, Any] = {
            "idf": digest(self._idf),
            **({"rating": True} if rating else {"threshold": threshold}),
        }
        self._parts = lru_cache(maxsize=1 << 16)(self._weighted_sentences)
        self._words = lru_cache(maxsize=1 << 12)(content_words)

    @classmethod
    def of(cls, view: str, texts: Sequence[str], threshold: float | None = None) -> LexicalJudge:
        """The judge for a view, at its own threshold unless told another."""
        return cls(texts, THRESHOLDS[view] if threshold is None else threshold)

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items in their order."""
        for index, item in enumerate(items):
            score = self.score(item.unit, item.nugget)
            grade = math.floor(5 * score + 0.5) if self._rating else int(score >= self._threshold)
            yield index, Verdict(round(score, 6), grade)

    def score(self, unit: str, nugget: str) -> float:
        """Mean over the nugget's sentences of the idf share of its content words that the unit has."""
        found = self._words(unit)
        parts = self._parts(nugget)
        shares = [math.fsum(weight for word, weight in part if word in found) / total for part, total in parts]
        return math.fsum(shares) / len(shares) if shares else 0.0

    def _weighted_sentences(self, nugget: str) -> list[tuple[list[tuple[str, float]], float]]:
        """For each sentence with content words, or else for the whole: its weighted words and their sum."""
        bags = [bag for bag in map(content_words, sentences(nugget)) if bag] or [content_words(nugget)]
        weighted = [[(word, self._idf[word]) for word in sorted(bag)] for bag in bags if bag]
        return [(part, math.fsum(weight for _, weight in part)) for part in weighted]
