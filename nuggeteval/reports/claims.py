"""Correlations that a paper prints beside its tables, computed again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nuggeteval.published import PREFIX, TABLE, Claim, read_claims, read_orders, read_published
from nuggeteval.reports import Table, shown
from nuggeteval.stats.correlation import kendall_tau_b, spearman_rho, tied_pairs

__all__ = ["claims_table"]

_AUTOMATIC = "automatic"


def claims_table(name: str, places: int = 3) -> Table:
    """Every correlation that the paper of a published table prints: as printed, from the columns, from the orders.

    Args:
        name: a published table whose paper prints correlations.
        places: decimals.

    Raises:
        UnknownNameError: no such table, or none whose correlations are known.
    """
    name = name.removeprefix(PREFIX)
    claims = list(read_claims(name))
    orders = read_orders(name)
    columns, automatic = _columns(name)
    rows: list[list[str]] = []
    absent: dict[str, None] = {}
    for claim in claims:
        runs = [run for run in automatic if run not in claim.left_out]
        rounded = []
        for side in (claim.x, claim.y):
            if side in columns:
                rounded.append({run: columns[side][run] for run in runs if run in columns[side]})
                if without := [run for run in runs if run not in columns[side]]:
                    absent[f"missing in the column {side}, and left out of its cells: {', '.join(without)}"] = None
        places_of = [_positions(claim, side, orders) for side in (claim.x, claim.y)]
        exact = [side for side in places_of if side is not None]
        cells, number, ties = _cells(rounded, places)
        recovered, _, _ = _cells(exact if claim.verdict == "exact" else [], places)
        printed = f"{claim.tau:.{places}f} / {claim.rho:.{places}f}"
        rows.append([claim.table, claim.x, claim.y, number, printed, cells, ties, recovered, claim.verdict])
    header = ["table", "x", "y", "runs", "printed", "columns", "tied pairs", "orders", "verdict"]
    found = sum(claim.verdict == "exact" for claim in claims)
    sources = (
        f"tau / rho as the paper of {name} prints them; tau-b / rho of its columns, which are rounded and so have "
        "ties; and of the orders before rounding, where they can be recovered"
    )
    notes = [sources, f"{found} of {len(claims)} are reproduced", *absent]
    return Table(header, rows, words=3, title=f"Correlations printed beside {name}", notes=tuple(notes))


def _columns(name: str) -> tuple[dict[str, dict[str, float]], list[str]]:
    """(measure -> run -> value, automatic runs) of all tables of a paper."""
    boards = [read_published(other) for other in TABLE if other == name or other.startswith(f"{name}-")]
    columns = {measure: board.column(measure) for board in reversed(boards) for measure in board.measures}
    main = boards[0]
    return columns, [run for run in main.runs if main.groups.get(run, _AUTOMATIC) == _AUTOMATIC]


def _positions(claim: Claim, column: str, orders: Mapping[str, tuple[str, ...]]) -> dict[str, float] | None:
    order = orders.get(f"{column} (Table {claim.table})", orders.get(column))
    return None if order is None else {run: -float(place) for place, run in enumerate(order)}


def _cells(sides: list[dict[str, float]], places: int) -> tuple[str, str, str]:
    """(tau / rho, number of runs, tied pairs) of two columns over the runs that both have; empty without two."""
    if len(sides) < 2:
        return "", "", ""
    runs = [run for run in sides[0] if run in sides[1]]
    x, y = (np.array([side[run] for run in runs]) for side in sides)
    value = f"{shown(kendall_tau_b(x, y), places)} / {shown(spearman_rho(x, y), places)}"
    return value, str(len(runs)), f"{tied_pairs(x)}, {tied_pairs(y)}"
