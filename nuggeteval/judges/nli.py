"""A judge of natural language inference: does the unit entail the nugget?

The rule of CONE-RAG (github.com/irlabamsterdam/CONE-RAG): premise the unit, hypothesis the nugget, yes where
P(entailment) is greater than 0.5, and not only where entailment is the likeliest label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from nuggeteval.data import Scale
from nuggeteval.errors import ParameterError
from nuggeteval.judges import Item, Verdict
from nuggeteval.models.pairs import DEFAULT_NLI, NliModel

__all__ = ["THRESHOLD", "NliJudge"]

THRESHOLD = 0.5
"""P(entailment) that is not yet a yes."""


# Judges of several views and banks share one model.
_load = lru_cache(maxsize=1)(NliModel.load)


class NliJudge:
    """The probability that a unit entails a nugget.

    Args:
        model: of natural language inference.
        threshold: greatest probability that is a no, in [0, 1).

    Raises:
        ParameterError: an impossible threshold.
    """

    name = "nli"

    def __init__(self, model: NliModel, threshold: float = THRESHOLD) -> None:
        if not 0 <= threshold < 1:
            raise ParameterError(f"threshold must be in [0, 1) (got {threshold})")
        self._model, self._threshold = model, threshold
        self.scale = Scale(1)
        self.params: Mapping[str, Any] = {"model": model.name, "threshold": threshold}

    @classmethod
    def of(
        cls,
        view: str,  # noqa: ARG003 (what judges of other kinds depend on)
        texts: Sequence[str],  # noqa: ARG003
        threshold: float | None = None,
        model: str | NliModel | None = None,
    ) -> NliJudge:
        """The judge with a model, a folder or a name of one, or the model of CONE-RAG.

        Raises:
            MissingDependencyError: torch or transformers is not installed.
            ParameterError: the model cannot be loaded, or an impossible threshold.
        """
        loaded = model if isinstance(model, NliModel) else _load(model or DEFAULT_NLI)
        return cls(loaded, THRESHOLD if threshold is None else threshold)

    @property
    def truncated(self) -> int:
        """Pairs so far that the model could not read to their end."""
        return self._model.truncated

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items, batch by batch, in the order in which the model has them."""
        for index, probability in self._model.entailment([(item.unit, item.nugget) for item in items]):
            yield index, self._verdict(probability)

    def _verdict(self, probability: float) -> Verdict:
        """The verdict from the score as it is written, so that the one follows from the other in the file."""
        if not math.isfinite(probability):
            return Verdict(None, None, "the model gave no number")
        score = round(probability, 6)
        return Verdict(score, int(score > self._threshold))
