"""The judges: items in, verdicts out. A judge knows no files, topics or runs.

``judge(items)`` yields ``(index, verdict)`` in the order in which verdicts are ready, so that a kill
loses no more than what is under way. Its name and ``params`` are enough to make it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nuggeteval.data import Scale
from nuggeteval.registry import lookup

__all__ = ["TABLE", "Item", "Judge", "Verdict", "make"]


class Item(NamedTuple):
    """A unit's text and a nugget's text: does the first support the second?"""

    unit: str
    nugget: str


class Verdict(NamedTuple):
    """What a judge says: a raw score, a grade on its scale, or a reason why there is none."""

    score: float | None
    grade: int | None
    reason: str = ""
    raw: str = ""


class Judge(Protocol):
    """What every judge is."""

    name: str
    scale: Scale
    params: Mapping[str, Any]

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items; every index once, in any order."""


TABLE: dict[str, str] = {
    "lexical": "nuggeteval.judges.lexical:LexicalJudge",
}
"""Judge -> its class, imported when it is asked for."""


def make(name: str, view: str, texts: Sequence[str], threshold: float | None = None) -> Judge:
    """A judge by name.

    Args:
        name: a key of :data:`TABLE`.
        view: what it will judge; thresholds depend on it.
        texts: of the nuggets of the bank.
        threshold: least score that is a yes; None for the judge's own.

    Raises:
        UnknownNameError: no such judge.
        ParameterError: an impossible threshold.
    """
    judge: Judge = lookup(TABLE, name, "judge").of(view, texts, threshold)
    return judge
