"""How measures are written: ir_measures' grammar, ``name(param=value,...)@cutoff``, and trec_eval's.

A measure is a value: ``str(parse(text))`` parses to an equal one.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field
from typing import Any

from nuggeteval.errors import ParameterError, shorten

__all__ = ["Measure", "parse", "split"]

_CALL = re.compile(r"(?P<name>[^\W\d][\w-]*)(?:\((?P<params>.*)\))?(?:@(?P<cutoff>.+))?", re.DOTALL)
_TREC = re.compile(
    r"(?P<name>[A-Za-z]+(?:_[A-Za-z]+)*)(?:[._](?P<cutoffs>[0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*))?"
)


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, not yet checked against any record.

    Attributes:
        name: as the user or ir_measures writes it.
        params: (name, value) pairs, sorted by name.
        cutoff: depth, or None.
        label: how it is printed, where that is not its own notation (trec_eval's names).
    """

    name: str
    params: tuple[tuple[str, Any], ...] = ()
    cutoff: int | float | None = None
    label: str = field(default="", compare=False)

    def __call__(self, **params: Any) -> Measure:
        """The measure with these parameters changed."""
        return Measure(self.name, tuple(sorted({**dict(self.params), **params}.items())), self.cutoff)

    def __matmul__(self, cutoff: float) -> Measure:
        """The measure at this cutoff."""
        return Measure(self.name, self.params, cutoff)

    def __str__(self) -> str:
        return self.label or self.notation

    @property
    def notation(self) -> str:
        """The measure in ir_measures' grammar."""
        params = ",".join(f"{name}={_literal(value)}" for name, value in self.params)
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}({params}){at}" if params else f"{self.name}{at}"


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{entry}" for key, entry in sorted(value.items())) + "}"
    return repr(value)


def split(text: str) -> list[str]:
    """Split a list of measures at the commas and blanks that are outside brackets.

    A bare number goes on with trec_eval's list of cutoffs: ``P.5,10,map`` is ``P.5,10`` and ``map``.
    """
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "({[") - (char in ")}]")
        if depth <= 0 and (char == "," or char.isspace()):
            parts.append(current)
            current = ""
        else:
            current += char
    parts.append(current)
    measures: list[str] = []
    for part in filter(None, parts):
        if measures and re.fullmatch(r"[0-9.]+", part) and re.search(r"[._][0-9.,]+$", measures[-1]):
            measures[-1] += f",{part}"
        else:
            measures.append(part)
    return measures


def parse(text: str) -> Measure:
    """Read one measure in ir_measures' grammar.

    Raises:
        ParameterError: it is not written as a measure is.
    """
    match = _CALL.fullmatch(text.strip())
    if not match:
        hint = (
            "a cutoff alone? write P@5,P@10 or P.5,10"
            if text.strip().isdigit()
            else "write name, name@cutoff or name(param=value)@cutoff"
        )
        raise ParameterError(f"{shorten(text)!r} is no measure: {hint}")
    params = _parse_params(text, match["params"] or "")
    cutoff = None if match["cutoff"] is None else _parse_cutoff(text, match["cutoff"])
    return Measure(match["name"], tuple(sorted(params.items())), cutoff)


def _parse_cutoff(text: str, cutoff: str) -> int | float:
    try:
        value = int(cutoff) if re.fullmatch(r"[+-]?[0-9]{1,20}", cutoff, re.ASCII) else float(cutoff)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(f"{shorten(text)}: cutoff must be a number (got {shorten(cutoff)!r})")
    return value


def _parse_params(text: str, params: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({params})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        return {keyword.arg or "": _parse_value(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ParameterError(
            f"{shorten(text)}: parameters must be written name=value, separated by commas (got {shorten(params)!r})"
        ) from None


def _parse_value(node: ast.expr) -> Any:
    """A Python literal; a bare word is a string."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def parse_trec(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Read a measure as trec_eval writes it: ``map``, ``P.5,10``, ``ndcg_cut_5``.

    Returns:
        (name, cutoffs as written), or None where the text is not written so.
    """
    match = _TREC.fullmatch(text.strip())
    if not match:
        return None
    return match["name"], tuple(match["cutoffs"].split(",")) if match["cutoffs"] else ()
