"""Look names up in plain dictionaries: lazy entries, and a hint for a name that is nearly right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from nuggeteval.errors import UnknownNameError, shorten

__all__ = ["load", "lookup", "suggestion"]


def load(reference: str) -> Any:
    """The object that ``"package.module:attribute"`` names."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A parenthesis that helps with a mistyped name: near names, else all of a short list."""
    from difflib import get_close_matches

    known = list(known)
    folded = {entry.casefold(): entry for entry in reversed(known)}
    near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    if near:
        return f" (did you mean {' or '.join(repr(entry) for entry in near)}?)"
    return f" (known: {', '.join(known)})" if len(known) <= 24 else ""


def lookup(table: Mapping[str, Any], name: str, kind: str) -> Any:
    """The entry of a table; a string entry ``"module:attribute"`` is imported on the way.

    Raises:
        UnknownNameError: the table has no such name.
    """
    if name not in table:
        raise UnknownNameError(f"unknown {kind} {shorten(name)!r}{suggestion(name, table)}")
    entry = table[name]
    return load(entry) if isinstance(entry, str) else entry
