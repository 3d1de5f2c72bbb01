"""Every exception that this package raises on purpose.

NuggetEvalError
|- FormatError             a file is malformed: path, line, what was expected and found
|- DataError               well-formed records that contradict each other or the policies
|- UnknownNameError        no such measure, format or command; names near ones
|- ParameterError          a known measure or option with an impossible value
|- MissingDependencyError  an optional package is not installed; says how to get it
`- JudgeError              a judge cannot go on; what is written stays and can be resumed

This is a leaf: it imports nothing of the package, so that every room can import it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DataError",
    "FormatError",
    "JudgeError",
    "MissingDependencyError",
    "NuggetEvalError",
    "ParameterError",
    "UnknownNameError",
    "listed",
    "shorten",
]


class NuggetEvalError(Exception):
    """The root: ``except NuggetEvalError`` catches all that can go wrong with input."""


class FormatError(NuggetEvalError):
    """A file that cannot be read as what it should be.

    Args:
        path: the file as the user named it.
        message: what was expected and what was found.
        line: 1-based physical line, where one is to blame.
    """

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        self.path, self.line, self.message = path, line, message
        super().__init__(path, message, line)

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


class DataError(NuggetEvalError):
    """Records that are well-formed, but contradict one another or the policies."""


class UnknownNameError(NuggetEvalError):
    """A name that is in none of the tables."""


class ParameterError(NuggetEvalError):
    """A value that the named measure or option does not take."""


class MissingDependencyError(NuggetEvalError):
    """An optional package that is needed here and not installed."""


class JudgeError(NuggetEvalError):
    """A judge that cannot go on; the judgments written so far stay valid."""


def listed(names: Sequence[str], limit: int = 5) -> str:
    """The first of some names, and how many there are where that is not all."""
    shown = ", ".join(names[:limit])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > limit else shown


def shorten(text: str, limit: int = 80) -> str:
    """Cut a piece of user input to a length that still reads well in a message."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
