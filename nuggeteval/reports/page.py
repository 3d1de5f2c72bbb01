"""The HTML report: one file without a network, from plain data.

What weighs most (values by topic, first places of nuggets) is packed as text, which the page's script
unpacks when it is looked at; the rest is JSON. Names and texts are strangers' and are escaped or set as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from nuggeteval.errors import MissingDependencyError

__all__ = ["render_page"]

_TEMPLATE = "report.html.j2"
_STYLE = "report.css"
_SCRIPTS = ("core.js", "leaderboard.js", "heatmap.js", "nuggets.js", "trace.js", "pairwise.js", "page.js")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# A script element ends at its first "</", whatever its type; U+2028 and U+2029 end a line of older JavaScript.
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_NOT_SHOWN = re.compile(r"<!--.*?-->|<metadata\b.*?</metadata>", re.DOTALL)
_SVG_ID = re.compile(r'(\sid="|href="#|url\(#)')
_SVG_STYLE = re.compile(r"(<style\b[^>]*>)\s*\*")


def render_page(data: Mapping[str, Any]) -> str:
    """A whole HTML page, ending in a newline; the same bytes for the same data.

    Args:
        data: title, version, signature, warnings, measures, runs, topics, boards, sort, values, coverage,
            pairwise, figures and correlations, as the builder of the report lays them out; traces, how one of
            the runs was made, may be absent or None.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingDependencyError("an HTML report needs jinja2: pip install 'nuggeteval[report]'") from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    figures = [
        {**figure, "svg": Markup(_inline_svg(figure["svg"], number))}  # noqa: S704  (drawn by us)
        for number, figure in enumerate(data["figures"], start=1)
    ]
    page = environment.from_string(_part(_TEMPLATE)).render(
        {**data, "figures": figures, "traces": data.get("traces")},
        style=Markup(_part(_STYLE)),  # noqa: S704  (a file of this package)
        script=Markup("\n".join(map(_part, _SCRIPTS))),  # noqa: S704  (files of this package)
        embedded=Markup(_embedded(data)),  # noqa: S704  (escaped there)
    )
    return page.rstrip("\n") + "\n"


def _part(name: str) -> str:
    return (files("nuggeteval.reports") / "templates" / name).read_text(encoding="utf-8")


def _embedded(data: Mapping[str, Any]) -> str:
    """The JSON for the script, in which no character can end the element that holds it."""
    packed = {
        "measures": data["measures"],
        "runs": data["runs"],
        "topics": data["topics"],
        "boards": [_packed_board(board) for board in data["boards"]],
        "sort": data["sort"],
        "values": [[",".join(map(_short, row)) for row in rows] for rows in data["values"]],
        "coverage": _packed_coverage(data["coverage"]) if data["coverage"] else None,
        "pairwise": data["pairwise"],
        "traces": [_packed_trace(topic) for topic in (data.get("traces") or {"topics": ()})["topics"]],
    }
    text = json.dumps(packed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def _packed_board(board: Mapping[str, Any]) -> dict[str, Any]:
    """A board whose cells are lists, their meanings numbered: a meaning is a sentence and most are alike."""
    meanings: dict[str, int] = {}
    rows = [
        [
            row["run"],
            [
                [
                    *(cell[key] for key in ("value", "rank", "low", "high", "mark")),
                    meanings.setdefault(cell["meaning"], len(meanings)),
                ]
                for cell in row["cells"]
            ],
        ]
        for row in board["rows"]
    ]
    return {**board, "rows": rows, "meanings": list(meanings)}


def _short(value: float | str | None) -> str:
    """A value in the fewest signs: "-" where undefined, nothing where absent."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return text[1:] if text.startswith("0.") else text


def _packed_coverage(coverage: Mapping[str, Any]) -> dict[str, Any]:
    """Coverage with every text once, and the cells of a topic as one text."""
    texts: dict[str, int] = {"": 0}
    topics = [
        {
            "topic": topic["topic"],
            "nuggets": topic["nuggets"],
            "units": topic["units"],
            "texts": [texts.setdefault(text, len(texts)) for text in topic["texts"]],
            "cells": _packed_cells(topic["cells"], len(topic["units"])),
            "missed": sum(not any(found) for found in zip(*topic["cells"], strict=True)),
        }
        for topic in coverage["topics"]
    ]
    return {"caption": coverage["caption"], "ranked": coverage["ranked"], "texts": list(texts), "topics": topics}


def _packed_cells(rows: Sequence[Sequence[Any]], units: int) -> str:
    """Cells run by run, joined with commas: nothing, or rank * units + unit to base 36."""
    return ",".join(_base36(cell[0] * units + cell[1]) if cell else "" for row in rows for cell in row)


def _packed_trace(topic: Mapping[str, Any]) -> dict[str, Any]:
    """A trace whose rows are lists, the ratings of one as a text: a digit or "-", then "+" where the row adds."""
    questions = [question["id"] for question in topic["questions"]]
    rows = [
        [
            row["rank"],
            row["unit"],
            "".join(
                ("-" if rating is None else str(rating)) + "+" * (question in row["adds"])
                for rating, question in zip(row["ratings"], questions, strict=True)
            ),
        ]
        for row in topic["rows"]
    ]
    return {**topic, "rows": rows}


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _inline_svg(svg: str, number: int) -> str:
    """A drawing as part of a page: no prolog, ids and style its own, a name for those who do not see it."""
    drawing = _NOT_SHOWN.sub("", svg[svg.index("<svg") :])
    drawing = _SVG_ID.sub(rf"\g<1>f{number}-", drawing)
    drawing = _SVG_STYLE.sub(rf"\g<1>#drawing-{number} *", drawing)
    name = f'<svg id="drawing-{number}" role="img" aria-labelledby="figure-title-{number}"'
    return drawing.replace("<svg", name, 1)
