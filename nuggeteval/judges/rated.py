"""Any judge with a raw score as one that rates from 0 to 5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nuggeteval.data import Scale
from nuggeteval.judges import Item, Judge, Verdict

__all__ = ["RatingJudge"]


class RatingJudge:
    """Grades floor(5 score + 0.5) of another judge's score.

    Args:
        judge: with scores in [0, 1].
    """

    scale = Scale(5, 3)

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name
        kept = {key: value for key, value in judge.params.items() if key != "threshold"}
        self.params: Mapping[str, Any] = {**kept, "rating": True}

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items in the order of the other judge."""
        for index, verdict in self._judge(items):
            grade = None if verdict.score is None else math.floor(5 * min(1.0, max(0.0, verdict.score)) + 0.5)
            yield index, verdict._replace(grade=grade)
