"""How rare a term is in a bank, for the judges that weight by it."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Sequence

__all__ = ["Idf", "digest"]


class Idf:
    """Inverse document frequency of terms: ln((N + 1) / (df + 1)) + floor over N bags.

    Args:
        bags: terms of each text.
        floor: what a term is worth that all texts have.
    """

    def __init__(self, bags: Sequence[Collection[str]], floor: float = 1e-9) -> None:
        self._frequency = Counter(term for bag in bags for term in bag)
        self._number = len(bags)
        self._weights = {
            term: math.log((self._number + 1) / (count + 1)) + floor for term, count in self._frequency.items()
        }
        self._unseen = math.log(self._number + 1) + floor

    def __getitem__(self, term: str) -> float:
        return self._weights.get(term, self._unseen)

    def rows(self) -> str:
        """All that the weights depend on, as text."""
        return "".join(f"{term} {count}\n" for term, count in sorted(self._frequency.items()))

    def __len__(self) -> int:
        return self._number


def digest(*tables: Idf) -> str:
    """Weights hashed, so that judgments made with another bank are told apart."""
    rows = "".join(table.rows() for table in tables)
    return hashlib.sha256(f"{len(tables[0])}\n{rows}".encode()).hexdigest()[:12]
