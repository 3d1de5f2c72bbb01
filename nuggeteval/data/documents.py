"""Documents as a generator reads them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Document"]


class Document(NamedTuple):
    """A document: its id, text, title and timestamp; the last two may be empty.

    ``source`` is the field that the text came from: ``fullText``, ``abstract``, ``title``, ...
    """

    id: str
    text: str
    title: str = ""
    timestamp: str = ""
    source: str = ""
