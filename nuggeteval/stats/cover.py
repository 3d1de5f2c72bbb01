"""Maximum coverage by an integer program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nuggeteval.errors import DataError
from nuggeteval.rows import FloatArray

__all__ = ["max_coverage"]


def max_coverage(carries: NDArray[np.bool_], number: int, weight: FloatArray | None = None) -> list[int]:
    """The rows, at most ``number`` of them, that together cover most: exact.

    maximise sum_j w_j y_j with y_j <= sum of x_i over the rows i that carry j, sum x_i <= number, x and y binary; of
    equal covers the one whose rows come first is taken, by a cost too small to change the cover.

    Args:
        carries: whether a row covers a column, shape (rows, columns).
        number: of rows.
        weight: of each column; 1 by default.

    Returns:
        the rows, in ascending order; rows that add nothing are left out.

    Raises:
        DataError: the solver finds no solution.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    rows, columns = carries.shape
    if not rows or not carries.any():
        return []
    worth = np.ones(columns) if weight is None else weight
    # The costs of all rows together stay below the smallest weight.
    cost = worth[worth > 0].min() * np.arange(1, rows + 1) / (2.0 * (rows + 1) ** 2)
    shown = hstack([-csr_array(carries.T.astype(float)), eye_array(columns)])
    chosen = csr_array(np.concatenate([np.ones(rows), np.zeros(columns)])[None])
    result = milp(
        np.concatenate([cost, -worth]),
        constraints=[LinearConstraint(shown, -np.inf, 0), LinearConstraint(chosen, -np.inf, number)],
        integrality=np.ones(rows + columns),
        bounds=Bounds(0, 1),
    )
    if result.x is None:
        raise DataError(f"no maximum coverage was found: {result.message}")
    return [row for row in range(rows) if result.x[row] > 0.5]
