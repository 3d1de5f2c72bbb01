"""Tables for people, from scores: builders and renderers."""

from __future__ import annotations

from nuggeteval.data import Scores
from nuggeteval.errors import UnknownNameError
from nuggeteval.formats.scores import rows_of, shown_value

__all__ = ["RENDERERS", "render", "score_table"]

_TABULATE = {"text": "simple", "markdown": "github", "latex": "latex_booktabs", "html": "html"}
RENDERERS = tuple(_TABULATE)
"""Formats of :func:`render`."""


def score_table(
    scores: Scores, by_topic: bool = False, summary: bool = True, places: int = 4
) -> tuple[list[str], list[list[str]]]:
    """(header, rows) with one row a run, or a run and topic, and one column a measure."""
    wide = by_topic or bool(scores.strata)
    header = ["run", *(["topic"] if wide else []), *scores.measures]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows_of(scores, by_topic, summary):
        shown = shown_value(row.value, row.measure in scores.summed, places)
        cells.setdefault((row.run, row.topic), {})[row.measure] = shown
    rows = [
        [run, *([topic] if wide else []), *(values.get(measure, "") for measure in scores.measures)]
        for (run, topic), values in cells.items()
    ]
    return header, rows


def render(scores: Scores, renderer: str, by_topic: bool = False, summary: bool = True, places: int = 4) -> str:
    """Scores as a table with its signature.

    Args:
        scores: what to show.
        renderer: ``text``, ``markdown``, ``latex`` (booktabs) or ``html``.
        by_topic, summary: which rows.
        places: decimals.

    Raises:
        UnknownNameError: another renderer.
    """
    from tabulate import tabulate

    if renderer not in _TABULATE:
        raise UnknownNameError(f"unknown renderer {renderer!r} (known: {', '.join(RENDERERS)})")
    header, rows = score_table(scores, by_topic, summary, places)
    if renderer == "markdown":
        header, rows = _escape_bars(header), [_escape_bars(row) for row in rows]
    align = ["left"] * (len(header) - len(scores.measures)) + ["right"] * len(scores.measures)
    table = tabulate(
        rows, header, tablefmt=_TABULATE[renderer], disable_numparse=True, colalign=align if rows else None
    )
    return f"{table}\n{_signature(scores.signature, renderer)}"


def _escape_bars(cells: list[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def _signature(signature: str, renderer: str) -> str:
    if not signature:
        return ""
    if renderer == "html":
        return f"<p><code>{signature}</code></p>\n"
    return {"text": f"\n{signature}\n", "markdown": f"\n`{signature}`\n", "latex": f"% {signature}\n"}[renderer]
