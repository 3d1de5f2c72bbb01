"""Leaderboards as printed in papers: facts, with their source on top of each file."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from nuggeteval.registry import lookup

__all__ = ["PREFIX", "TABLE", "PublishedRow", "read_published"]

PREFIX = "published:"

TABLE: dict[str, tuple[str, ...]] = {"ikat2024": ("ikat2024.tsv",)}
"""Name -> file in this folder."""


class PublishedRow(NamedTuple):
    """One run of a published table.

    Attributes:
        alias: its name in the paper.
        run: its name in the released files; empty where nobody can tell.
        group: automatic, manual, ...
        values: by measure, as printed.
    """

    alias: str
    run: str
    group: str
    values: dict[str, float]


def read_published(name: str) -> list[PublishedRow]:
    """A published table.

    Args:
        name: ``ikat2024`` or ``published:ikat2024``.

    Raises:
        UnknownNameError: no such table.
    """
    (file,) = lookup(TABLE, name.removeprefix(PREFIX), "published table")
    text = files(__name__).joinpath(file).read_text(encoding="utf-8")
    header, *rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [
        PublishedRow(
            alias, run, group, {name: float(value) for name, value in zip(header[3:], values, strict=True) if value}
        )
        for alias, run, group, *values in rows
    ]
