"""Leaderboards as printed in papers: facts, with their source on top of each file."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from nuggeteval.data import Leaderboard
from nuggeteval.registry import lookup
from nuggeteval.version import __version__

__all__ = ["PREFIX", "TABLE", "Claim", "read_claims", "read_orders", "read_published"]

PREFIX = "published:"

TABLE: dict[str, tuple[str, ...]] = {
    name: (f"{name}.tsv",)
    for name in (
        "ikat2024",
        "ikat2024-retrieval",
        "longeval2026",
        "longeval2026-supplementary",
        "lancer2026-neuclir24",
        "lancer2026-duc04",
    )
}
"""Name -> file in this folder."""


_WITH_CLAIMS = {"ikat2024": True}
"""Tables whose papers print correlations that are known here."""


class Claim(NamedTuple):
    """A correlation that a paper prints.

    Attributes:
        table: of the paper.
        x, y: what is correlated.
        left_out: runs that the paper seems to have left out.
        tau, rho: as printed.
        verdict: ``exact`` where it can be reproduced, else why not.
    """

    table: str
    x: str
    y: str
    left_out: tuple[str, ...]
    tau: float
    rho: float
    verdict: str


def read_published(name: str) -> Leaderboard:
    """A published table; its runs have the names of the paper, and as aliases those of the released files.

    Args:
        name: a key of :data:`TABLE`, with or without ``published:`` before it.

    Raises:
        UnknownNameError: no such table.
    """
    name = name.removeprefix(PREFIX)
    (file,) = lookup(TABLE, name, "published table")
    source, header, rows = _table(file)
    cells = [row[3:] for row in rows]
    return Leaderboard(
        name=f"{PREFIX}{name}",
        runs=tuple(row[0] for row in rows),
        measures=tuple(header[3:]),
        values=np.array([[float(cell) if cell else np.nan for cell in row] for row in cells]),
        groups={row[0]: row[2] for row in rows if row[2]},
        aliases={row[0]: row[1] for row in rows if row[1]},
        places={
            measure: max(len(row[column].partition(".")[2]) for row in cells)
            for column, measure in enumerate(header[3:])
        },
        notes=(source,),
        signature=f"nuggeteval {__version__}|{PREFIX}{name}",
    )


def read_orders(name: str) -> dict[str, tuple[str, ...]]:
    """Recovered orders of runs before rounding, best first: ``column`` or ``column, over 17 runs`` -> runs."""
    _, _, rows = _table(_beside(name, "orders"))
    return {column if over != "8" else f"{column} (Table 8)": tuple(order.split()) for over, column, order in rows}


def read_claims(name: str) -> Iterator[Claim]:
    """The correlations that a paper prints beside a published table."""
    for table, x, y, left_out, tau, rho, verdict in _table(_beside(name, "correlations"))[2]:
        yield Claim(table, x, y, tuple(left_out.split()), float(tau), float(rho), verdict)


def _beside(name: str, kind: str) -> str:
    """The file of a kind that belongs to a published table.

    Raises:
        UnknownNameError: there is none.
    """
    lookup(_WITH_CLAIMS, name, f"table with {kind}")
    return f"{name}-{kind}.tsv"


def _table(file: str) -> tuple[str, list[str], list[list[str]]]:
    """(source, header, rows) of a file of this folder."""
    lines = files(__name__).joinpath(file).read_text(encoding="utf-8").splitlines()
    source = " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    header, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return source, header, rows
