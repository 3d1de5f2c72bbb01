"""Agreement of two annotators on the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

__all__ = ["Agreement", "agreement"]


class Agreement(NamedTuple):
    """How two annotators agree on the same items.

    Attributes:
        number: of items.
        accuracy: share of equal labels.
        kappa: Cohen's; None where both give one and the same label throughout.
        ac1: Gwet's AC1, which skewed labels do not pull to 0.
        alpha: Krippendorff's for nominal labels; None where there is one label only.
        majority: accuracy of always saying what the first says most.
        confusion: (first label, second label) -> number of items.
    """

    number: int
    accuracy: float
    kappa: float | None
    ac1: float
    alpha: float | None
    majority: float
    confusion: dict[tuple[Hashable, Hashable], int]

    def precision(self, label: Hashable) -> float | None:
        """Share of the second's uses of a label that the first agrees with; None where there are none."""
        return self._share(label, sum(n for (_, second), n in self.confusion.items() if second == label))

    def recall(self, label: Hashable) -> float | None:
        """Share of the first's uses of a label that the second finds; None where there are none."""
        return self._share(label, sum(n for (first, _), n in self.confusion.items() if first == label))

    def _share(self, label: Hashable, whole: int) -> float | None:
        return self.confusion.get((label, label), 0) / whole if whole else None


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> Agreement:
    """Accuracy, Cohen's kappa (1960), Gwet's AC1 (2008) and Krippendorff's alpha of two sequences of labels.

    AC1 corrects for chance by sum over the q labels of share (1 - share) / (q - 1), with the mean share of a label
    in both sequences.

    Raises:
        ValueError: no items, or sequences of different lengths.
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        raise ValueError("no items to compare")
    number = len(pairs)
    observed = sum(a == b for a, b in pairs) / number
    left, right = Counter(first), Counter(second)
    expected = sum(left[label] * right[label] for label in left) / number**2
    kappa = None if expected == 1 else (observed - expected) / (1 - expected)
    return Agreement(
        number,
        observed,
        kappa,
        _ac1(observed, left, right, number),
        _alpha(pairs),
        max(left.values()) / number,
        dict(Counter(pairs)),
    )


def _ac1(observed: float, left: Counter[Hashable], right: Counter[Hashable], number: int) -> float:
    labels = {*left, *right}
    if len(labels) == 1:
        return observed
    shares = [(left[label] + right[label]) / (2 * number) for label in labels]
    chance = sum(share * (1 - share) for share in shares) / (len(labels) - 1)
    return (observed - chance) / (1 - chance)


def _alpha(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    import krippendorff

    labels = {label: code for code, label in enumerate(dict.fromkeys(label for pair in pairs for label in pair))}
    if len(labels) == 1:
        return None
    codes = [[labels[pair[side]] for pair in pairs] for side in (0, 1)]
    return float(krippendorff.alpha(codes, level_of_measurement="nominal"))
