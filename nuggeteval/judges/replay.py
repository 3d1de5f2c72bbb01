"""A judge that says again what was said of the same texts: earlier judgments, or published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nuggeteval.data import Judgment, Scale
from nuggeteval.errors import DataError
from nuggeteval.judges import PAIR_DIGITS, Item, Verdict
from nuggeteval.text import hash_of_texts

__all__ = ["ReplayJudge"]


class ReplayJudge:
    """Verdicts by the hash of the texts that they were given on; pairs that nobody judged fail.

    So do pairs that were judged under several questions: nobody says which of them is meant.

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
        self._ambiguous: set[str] = set()
        for judgment, _ in judgments:
            if not judgment.texts:
                raise DataError(f"{source}: judgments without hashes of their texts can be scored, but not replayed")
            if judgment.vote == 0:
                pair = judgment.texts[:PAIR_DIGITS]
                if self._known.setdefault(pair, judgment).texts != judgment.texts:
                    self._ambiguous.add(pair)
        self.params: Mapping[str, Any] = {"of": source, "by": "+".join(sorted({j.judge for j, _ in judgments}))}

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Say again what is known, in the order of the items."""
        for index, item in enumerate(items):
            pair = hash_of_texts(item.unit, item.nugget)
            known = self._known.get(pair)
            if pair in self._ambiguous:
                yield index, Verdict(None, None, "judged under several questions")
            elif known is None:
                yield index, Verdict(None, None, "not among the judgments that are replayed")
            else:
                yield index, Verdict(known.score, known.grade, known.reason, known.raw)
