"""What answers are scored against: reference texts, relevant documents, another run's citations, one another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from nuggeteval.data import Answer, NuggetQrels
from nuggeteval.errors import ParameterError

__all__ = ["AnswerInputs"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class AnswerInputs:
    """What answers are scored against; None where it is not given.

    Attributes:
        gold: topic -> its reference texts.
        qrels: relevant documents.
        queries: topic -> what was asked.
        candidates: topic -> the documents that may be cited.
        reference: topic -> the answer of the run whose citations are the truth.
        support: how well a cited document (nugget) supports a sentence (unit): 0, 1 or 2.
        pool: topic -> run -> its answer, of all runs that are scored together.
        runs: their names.
    """

    gold: Mapping[str, Sequence[str]] | None = None
    qrels: NuggetQrels | None = None
    queries: Mapping[str, str] | None = None
    candidates: Mapping[str, Sequence[str]] | None = None
    reference: Mapping[str, Answer] | None = None
    support: NuggetQrels | None = None
    pool: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def with_pool(self, answers: Iterable[Answer]) -> AnswerInputs:
        """The same inputs for these answers, nothing computed yet."""
        pool: dict[str, dict[str, Answer]] = {}
        runs: dict[str, None] = {}
        for answer in answers:
            pool.setdefault(answer.topic, {})[answer.run] = answer
            runs[answer.run] = None
        return replace(self, pool=pool, runs=tuple(runs))

    def topics(self, need: str) -> list[str]:
        """The topics that one of the inputs has; of queries, which may be those of a whole track, the answered ones.

        Args:
            need: the name of an attribute that is given.
        """
        source = getattr(self, need)
        if need == "queries":
            return [topic for topic in source if self.pool.get(topic)] or list(source)
        if isinstance(source, NuggetQrels):
            return [topic for topic, judged in zip(source.topics, source.judged_topics, strict=True) if judged]
        return list(source)

    def table(self, need: str) -> NuggetQrels:
        """One of the inputs that are tables.

        Args:
            need: ``qrels`` or ``support``.

        Raises:
            ParameterError: it is not given.
        """
        source = getattr(self, need)
        if not isinstance(source, NuggetQrels):
            raise ParameterError(f"{need} must be a NuggetQrels, as read_qrels gives (got {type(source).__name__})")
        return source

    def digest(self, need: str) -> str:
        """The hash of one of the inputs: of the file of qrels, else of the content."""
        source = getattr(self, need)
        if isinstance(source, NuggetQrels):
            return source.digest
        plain = {
            topic: [sorted({d for s in entry.sentences for d in s.citations})] if isinstance(entry, Answer) else entry
            for topic, entry in source.items()
        }
        text = json.dumps(plain, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What all runs share, computed once."""
        if key not in self._memo:
            self._memo[key] = compute()
        value: T = self._memo[key]
        return value
