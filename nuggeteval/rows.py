"""Rows in arrays: runs of equal values, positions within them, and what to do with repetitions.

"Sorted" here means that equal values stand together; every function is one pass without a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nuggeteval.errors import ParameterError

__all__ = [
    "DUPLICATES",
    "changes",
    "check_duplicates",
    "position_within",
    "ratio",
    "record_name",
    "significant",
    "sum_by",
    "survivors",
    "times_before",
]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DUPLICATES = ("error", "first", "last", "max")
"""What to do with a second record for the same thing; the first is the default."""


def record_name(index: int) -> str:
    """What a record is called where no file tells its place."""
    return f"record {index + 1}"


def check_duplicates(duplicates: str) -> None:
    """Refuse a policy that is none.

    Raises:
        ParameterError: it is not in :data:`DUPLICATES`.
    """
    if duplicates not in DUPLICATES:
        raise ParameterError(f"duplicates must be one of {', '.join(DUPLICATES)} (got {duplicates!r})")


def changes(*columns: NDArray[Any]) -> BoolArray:
    """Where a row differs from the one before it in some column; the first does, shape (n,)."""
    new = np.ones(len(columns[0]), dtype=bool)
    if len(new):
        new[1:] = False
        for column in columns:
            new[1:] |= column[1:] != column[:-1]
    return new


def position_within(new: BoolArray) -> IntArray:
    """Position of each row, from 0, in its stretch; ``new`` marks the rows that begin one, shape (n,)."""
    position = np.arange(len(new))
    return position - np.maximum.accumulate(np.where(new, position, 0))


def times_before(values: IntArray) -> IntArray:
    """How often each value stands earlier in the array, shape (n,)."""
    order = np.argsort(values, kind="stable")
    before = np.empty(len(values), dtype=np.int64)
    before[order] = position_within(changes(values[order]))
    return before


def sum_by(group: IntArray, size: int, value: NDArray[Any] | None = None) -> FloatArray:
    """Sum of the values of each group (their number where no values are given), shape (size,)."""
    return np.bincount(group, weights=value, minlength=size).astype(np.float64, copy=False)


def ratio(numerator: FloatArray, denominator: NDArray[Any], otherwise: float = 0.0) -> FloatArray:
    """Quotient of each group; ``otherwise`` where the denominator is not above 0, shape (size,)."""
    out = np.full(len(numerator), otherwise)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def survivors(code: IntArray, value: NDArray[Any], duplicates: str) -> IntArray:
    """Of the rows with one code keep the ``first``, the ``last`` or the one with the largest value.

    Returns:
        the rows kept, ascending.
    """
    rows = np.arange(len(code))
    first_best = {"first": rows, "last": -rows, "max": -value}[duplicates]
    order = np.lexsort((rows, first_best, code))
    return np.sort(order[changes(code[order])])


def significant(values: FloatArray, digits: int = 10) -> FloatArray:
    """Values rounded to some significant digits, so that those which differ in their last bits are equal."""
    values = np.asarray(values, dtype=float)
    size = np.abs(values)
    whole = (size > 0) & np.isfinite(size)
    places = digits - 1 - np.floor(np.log10(np.where(whole, size, 1.0)))
    scale = 10.0 ** np.clip(places, -300, 300)
    return np.asarray(np.where(whole, np.round(values * scale) / scale, values))
