"""A judge that says again what was said of the same texts: earlier judgments, or published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nuggeteval.data import Judgment, Scale
from nuggeteval.errors import DataError
from nuggeteval.judges import Item, Verdict
from nuggeteval.text import hash_of_texts

__all__ = ["ReplayJudge"]


class ReplayJudge:
    """Verdicts by the hash of the texts that they were given on; pairs that nobody judged fail.

    Args:
        judgments: with hashes of their texts; of several votes the first counts.
        source: what they come from, for the parameters.

    Raises:
        DataError: judgments without hashes, such as labels of people, or on several scales.
    """

    name = "replay"

    def __init__(self, judgments: Sequence[tuple[Judgment, Scale]], source: str) -> None:
        scales = {scale for _, scale in judgments}
        if len(scales) != 1:
            raise DataError(f"{source}: judgments to replay are on one scale (got {len(scales)})")
        self.scale = scales.pop()
        self._known: dict[str, Judgment] = {}
        for judgment, _ in judgments:
            if not judgment.texts:
                raise DataError(f"{source}: judgments without hashes of their texts can be scored, but not replayed")
            if judgment.vote == 0:
                self._known.setdefault(judgment.texts, judgment)
        self.params: Mapping[str, Any] = {"of": source, "by": "+".join(sorted({j.judge for j, _ in judgments}))}

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Say again what is known, in the order of the items."""
        for index, item in enumerate(items):
            known = self._known.get(hash_of_texts(item.unit, item.nugget))
            if known is None:
                yield index, Verdict(None, None, "not among the judgments that are replayed")
            else:
                yield index, Verdict(known.score, known.grade, known.reason, known.raw)
