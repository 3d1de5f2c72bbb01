"""The choices that every result is printed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from nuggeteval.data import ORDERS, VIEWS
from nuggeteval.errors import ParameterError

__all__ = ["ADHOC", "ON_FAILED", "TOPICS", "UNDEFINED", "Policies"]

ADHOC = ("max", "sum", "count")
UNDEFINED = ("skip", "zero")
ON_FAILED = ("zero", "skip", "error")
TOPICS = ("qrels", "bank", "run")


@dataclass(frozen=True)
class Policies:
    """The choices that every result is printed with.

    Attributes:
        topics: which topics are averaged: ``qrels``, ``bank``, ``run`` (those that the run answers),
            or a sequence of topics; None for ``bank`` where there is one and the units are no
            documents, else ``qrels``.
        undefined: ``skip`` leaves undefined values out of means, ``zero`` counts them 0.
        on_failed: ``zero`` counts failed judgments 0, ``skip`` leaves topics that have one out for every
            run, ``error`` refuses to score.
        rel: least grade that counts, where a measure does not say; None for the scale's own.
        adhoc: grade of a unit from those of its nuggets: ``max``, ``sum``, ``count``.
        order: ``score`` or ``rank``.
        depth: units of each topic that are looked at; None for all.
        judged_only: leave unjudged units out of every ranking.
        view: what the units are; None to take it from the qrels or the measures.

    Raises:
        ParameterError: a value that is none of these.
    """

    topics: str | Sequence[str] | None = None
    undefined: str = "skip"
    on_failed: str = "zero"
    rel: int | None = None
    adhoc: str = "max"
    order: str = "score"
    depth: int | None = None
    judged_only: bool = False
    view: str | None = None

    def __post_init__(self) -> None:
        for name, options in (
            ("undefined", UNDEFINED),
            ("on_failed", ON_FAILED),
            ("adhoc", ADHOC),
            ("order", ORDERS),
            ("view", (None, *VIEWS)),
        ):
            if getattr(self, name) not in options:
                shown = ", ".join(str(option) for option in options if option)
                raise ParameterError(f"{name} must be one of {shown} (got {getattr(self, name)!r})")
        if isinstance(self.topics, str) and self.topics not in TOPICS:
            raise ParameterError(f"topics must be one of {', '.join(TOPICS)}, or a sequence (got {self.topics!r})")
        for name in ("rel", "depth"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ParameterError(f"{name} must be an integer of at least 1 (got {value!r})")

    def __str__(self) -> str:
        """The choices that are not the default, for signatures."""
        changed = [f for f in fields(self) if f.name != "rel" and getattr(self, f.name) != f.default]
        return "|".join(f"{f.name.replace('_', '-')} {self._shown(f.name)}" for f in changed)

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return "listed" if name == "topics" and not isinstance(value, str) else str(value)
