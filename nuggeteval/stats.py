"""Agreement, rank correlation, components of graphs: the one door to scipy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Agreement", "agreement", "kendall_tau_b", "spearman_rho", "strong_components"]


class Agreement(NamedTuple):
    """How two annotators agree on the same items.

    Attributes:
        number: of items.
        accuracy: share of equal labels.
        kappa: Cohen's; None where both give one and the same label throughout.
        confusion: (first label, second label) -> number of items.
    """

    number: int
    accuracy: float
    kappa: float | None
    confusion: dict[tuple[Hashable, Hashable], int]


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> Agreement:
    """Accuracy and Cohen's kappa (1960) of two sequences of labels.

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
    return Agreement(number, observed, kappa, dict(Counter(pairs)))


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b of two lists of scores, values rounded to 1e-9 first; None where one is constant."""
    from scipy.stats import kendalltau

    value = float(kendalltau(_rounded(x), _rounded(y)).statistic)
    return None if math.isnan(value) else value


def spearman_rho(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rho of two lists of scores, values rounded to 1e-9 first; None where one is constant."""
    from scipy.stats import spearmanr

    if len({*_rounded(x)}) < 2 or len({*_rounded(y)}) < 2:
        return None
    return float(spearmanr(_rounded(x), _rounded(y)).statistic)


def strong_components(graph: Mapping[int, Iterable[int]]) -> list[int]:
    """Number of the strongly connected component of each node 0 to n - 1 of a directed graph."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    edges = [(node, successor) for node, successors in graph.items() for successor in successors]
    source, target = ([edge[side] for edge in edges] for side in (0, 1))
    matrix = csr_array((np.ones(len(edges)), (source, target)), shape=(len(graph), len(graph)))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return [int(label) for label in labels]


def _rounded(values: Sequence[float]) -> list[float]:
    """Means that differ in their last bits are ties."""
    return [round(value, 9) for value in values]
