"""Figures: scatter plots and matrices of correlations, as SVG or PNG, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from nuggeteval.errors import MissingDependencyError, ParameterError

__all__ = ["FORMATS", "correlation_matrix", "figure_format", "scatter"]

FORMATS = ("svg", "png")
_COLOURS = ("#0b6e99", "#c2571a", "#4b7f3a", "#8a4fa3", "#a3273e", "#6b6b6b")
_MARKERS = "osD^vP"


def figure_format(path: str) -> str:
    """The format that the name of a file asks for.

    Raises:
        ParameterError: another one.
    """
    suffix = path.rpartition(".")[2].lower()
    if suffix not in FORMATS:
        raise ParameterError(f"a figure is called *.svg or *.png (got {path})")
    return suffix


def _axes(width: float, height: float) -> tuple[Any, Any]:
    """A figure that is the same bytes each time, and touches no screen.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("figures need matplotlib: pip install 'nuggeteval[report]'") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _bytes(figure: Any, form: str) -> bytes:
    from matplotlib import rc_context

    target = BytesIO()
    with rc_context({"svg.hashsalt": "nuggeteval", "svg.fonttype": "none"}):
        figure.savefig(target, format=form, dpi=144, metadata={"Date": None} if form == "svg" else None)
    return target.getvalue()


def scatter(
    x: Sequence[float],
    y: Sequence[float],
    runs: Sequence[str],
    labels: tuple[str, str],
    caption: str,
    groups: Mapping[str, str] | None = None,
    form: str = "svg",
) -> bytes:
    """Runs by two scores, one point a run, as in Figure 1 of Abbasiantaeb et al. 2025.

    Args:
        x, y: scores, shape (runs,).
        runs: names, written beside the points where there are few.
        labels: of the axes.
        caption: the title: coefficients and the number of runs.
        groups: run -> group: colours, markers and a legend.
        form: ``svg`` or ``png``.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure, axes = _axes(5.6, 4.6)
    names = [(groups or {}).get(run, "") for run in runs]
    for number, group in enumerate(dict.fromkeys(names)):
        members = [r for r, name in enumerate(names) if name == group]
        axes.scatter(
            [x[r] for r in members],
            [y[r] for r in members],
            s=26,
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            label=group or None,
            alpha=0.85,
            linewidths=0,
        )
    if len(runs) <= 30:
        for r, run in enumerate(runs):
            axes.annotate(run, (x[r], y[r]), xytext=(4, 3), textcoords="offset points", fontsize=6.5, color="#444444")
    axes.margins(x=0.1)
    if any(names):
        axes.legend(fontsize=8, frameon=False)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(caption, fontsize=10)
    axes.grid(visible=True, linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    return _bytes(figure, form)


def correlation_matrix(
    values: Sequence[Sequence[float | None]], names: Sequence[str], caption: str, form: str = "svg"
) -> bytes:
    """Correlations of every two columns, coloured from -1 to 1, the number in each cell.

    Args:
        values: shape (names, names); None where undefined.
        names: of rows and columns.
        caption: the title.
        form: ``svg`` or ``png``.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    side = max(3.6, 0.62 * len(names) + 1.8)
    figure, axes = _axes(side + 0.8, side)
    table = np.array([[np.nan if value is None else value for value in row] for row in values], dtype=float)
    image = axes.imshow(table, vmin=-1, vmax=1, cmap="RdBu")
    for r, row in enumerate(table):
        for c, value in enumerate(row):
            text = "–" if np.isnan(value) else f"{value:.2f}"
            axes.text(c, r, text, ha="center", va="center", fontsize=8, color="white" if abs(value) > 0.6 else "black")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_title(caption, fontsize=10)
    figure.colorbar(image, shrink=0.8)
    return _bytes(figure, form)
