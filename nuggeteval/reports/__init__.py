"""Tables for people, from scores: what a table is, and its renderers; the builders are beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from nuggeteval.data import Scores
from nuggeteval.errors import UnknownNameError
from nuggeteval.formats.scores import rows_of, shown_value
from nuggeteval.leaderboards import BETTER, WORSE

__all__ = ["RENDERERS", "Table", "render", "render_tables", "score_table", "shown", "shown_p"]

_TABULATE = {"text": "simple", "markdown": "github", "latex": "latex_booktabs", "html": "html"}
RENDERERS = tuple(_TABULATE)
"""Formats of :func:`render_tables`."""

_LATEX = {BETTER: "$^{+}$", WORSE: "$^{-}$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "α": r"$\alpha$"}


_LEAST = 0.0001


@dataclass(frozen=True)
class Table:
    """A table for people.

    Attributes:
        header: of the columns.
        rows: of cells as they are shown, each as long as the header.
        words: number of leading columns that hold words, and are aligned left.
        title: above it.
        notes: below it.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


def shown(value: float | None, places: int = 4) -> str:
    """A value as a person reads it; ``undefined`` for none or NaN."""
    return shown_value(None if value is None or math.isnan(value) else value, False, places)


def shown_p(p: float | None) -> str:
    """A p as a person reads it: never 0."""
    if p is None or math.isnan(p):
        return "undefined"
    return f"{p:.4f}" if p >= _LEAST else f"<{_LEAST:.4f}"


def render_tables(tables: Sequence[Table], renderer: str, signature: str = "") -> str:
    """Tables one under the other, with the signature under which they hold.

    Args:
        tables: what to show.
        renderer: ``text``, ``markdown``, ``latex`` (booktabs) or ``html``.
        signature: of the scores.

    Raises:
        UnknownNameError: another renderer.
    """
    if renderer not in _TABULATE:
        raise UnknownNameError(f"unknown renderer {renderer!r} (known: {', '.join(RENDERERS)})")
    parts = [_FRAMES[renderer](table, _tabulate(table, renderer)) for table in tables]
    return "\n".join([*parts, *([_signature(signature, renderer)] if signature else [])])


def score_table(scores: Scores, by_topic: bool = False, summary: bool = True, places: int = 4) -> Table:
    """One row a run, or a run and topic, and one column a measure."""
    wide = by_topic or bool(scores.strata)
    header = ["run", *(["topic"] if wide else []), *scores.measures]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows_of(scores, by_topic, summary):
        value = shown_value(row.value, row.measure in scores.summed, places)
        cells.setdefault((row.run, row.topic), {})[row.measure] = value
    rows = [
        [run, *([topic] if wide else []), *(values.get(measure, "") for measure in scores.measures)]
        for (run, topic), values in cells.items()
    ]
    return Table(header, rows, words=1 + wide)


def render(scores: Scores, renderer: str, by_topic: bool = False, summary: bool = True, places: int = 4) -> str:
    """Scores as a table with its signature.

    Args:
        scores: what to show.
        renderer: as for :func:`render_tables`.
        by_topic, summary: which rows.
        places: decimals.

    Raises:
        UnknownNameError: another renderer.
    """
    return render_tables([score_table(scores, by_topic, summary, places)], renderer, scores.signature)


def _tabulate(table: Table, renderer: str) -> str:
    from tabulate import tabulate

    header, rows = table.header, table.rows
    if renderer == "markdown":
        header, rows = _escape_bars(header), [_escape_bars(row) for row in rows]
    align = ["left"] * table.words + ["right"] * (len(header) - table.words)
    text = tabulate(rows, header, tablefmt=_TABULATE[renderer], disable_numparse=True, colalign=align if rows else None)
    return _latex_symbols(text) if renderer == "latex" else text


def _escape_bars(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def _latex_symbols(text: str) -> str:
    for symbol, command in _LATEX.items():
        text = text.replace(symbol, command)
    return text


def _latex_text(text: str) -> str:
    """Words in LaTeX: special characters as commands."""
    from tabulate import LATEX_ESCAPE_RULES

    return _latex_symbols("".join(LATEX_ESCAPE_RULES.get(character, character) for character in text))


def _text_frame(table: Table, body: str) -> str:
    title = f"{table.title}\n\n" if table.title else ""
    return f"{title}{body}\n" + "".join(f"\n{note}" for note in table.notes) + ("\n" if table.notes else "")


def _markdown_frame(table: Table, body: str) -> str:
    title = f"**{table.title}**\n\n" if table.title else ""
    notes = "\n" + "".join(f"- {note}\n" for note in table.notes) if table.notes else ""
    return f"{title}{body}\n{notes}"


def _latex_frame(table: Table, body: str) -> str:
    if not (table.title or table.notes):
        return f"{body}\n"
    caption = ". ".join(_latex_text(text).rstrip(".") for text in (table.title, *table.notes) if text)
    begin = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n"
    return f"{begin}\\caption{{{caption}.}}\n{body}\n\\end{{table}}\n"


def _html_frame(table: Table, body: str) -> str:
    title = f"<h2>{escape(table.title)}</h2>\n" if table.title else ""
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in table.notes)
    return f"{title}{body}\n" + (f"<ul>\n{notes}</ul>\n" if notes else "")


_FRAMES = {"text": _text_frame, "markdown": _markdown_frame, "latex": _latex_frame, "html": _html_frame}


def _signature(signature: str, renderer: str) -> str:
    return {
        "text": f"{signature}\n",
        "markdown": f"`{signature}`\n",
        "latex": f"% {signature}\n",
        "html": f"<p><code>{escape(signature)}</code></p>\n",
    }[renderer]
