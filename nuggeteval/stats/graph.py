"""Components of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["strong_components"]


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
