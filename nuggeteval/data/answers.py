"""Answers of a system, the units that they are judged in, and judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

__all__ = ["Answer", "Judgment", "Sentence", "Unit", "unit_of_run"]

_SAFE = "!\"#$&'()*+,-.:;<=>?@[\\]^_`{|}~"


def unit_of_run(run: str) -> str:
    """What the whole response of a run is called as a unit: blanks, ``/`` and ``%`` are percent-encoded."""
    return quote(run, safe=_SAFE)


class Sentence(NamedTuple):
    """A sentence of an answer and the documents that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What one run says on one topic.

    Attributes:
        run, topic: whose answer, and to what.
        text: the whole response.
        sentences: as the system gave them; empty where it gave a text alone.
        references: the documents that it lists.
        nuggets: nuggets extracted from it; None where nobody did.
        statements: ids of the statements about the user that it says it used (PTKB of TREC iKAT).
        unresolved: citations that lead nowhere, as (sentence from 0, citation).
        extra: keys of the record that mean nothing to us, kept.
        place: file and line, for messages.
    """

    run: str
    topic: str
    text: str
    sentences: tuple[Sentence, ...] = ()
    references: tuple[str, ...] = ()
    nuggets: tuple[str, ...] | None = None
    statements: tuple[str, ...] = ()
    unresolved: tuple[tuple[int, Any], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


class Unit(NamedTuple):
    """What is judged against a nugget, with its text."""

    run: str
    topic: str
    id: str
    text: str


@dataclass(frozen=True)
class Judgment:
    """One verdict on one unit and one nugget.

    Attributes:
        view: what the unit is.
        run, topic, unit, nugget: which; run is empty for documents.
        judge: name of the judge.
        score: its raw score, None where it has none.
        grade: integer on its scale; None exactly where ``reason`` says why there is none.
        reason: why there is no grade.
        raw: the reply as it came.
        vote: number of the vote, from 0.
        params: what is needed to make the judge again.
        texts: hash of the texts that were judged, so that others are told apart; empty where nobody knows them.
    """

    view: str
    run: str
    topic: str
    unit: str
    nugget: str
    judge: str
    score: float | None
    grade: int | None
    reason: str = ""
    raw: str = ""
    vote: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    texts: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What there can be one judgment of, in a file of one judge."""
        return (self.view, self.topic, self.unit, self.nugget, self.vote)
