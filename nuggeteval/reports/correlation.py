"""Correlations as tables, TSV and JSON, with all that must stand beside a coefficient."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from nuggeteval.metaevaluation import Correlation, Difference, Range
from nuggeteval.reports import Table, shown
from nuggeteval.stats.correlation import COEFFICIENTS

__all__ = [
    "correlation_records",
    "correlation_rows",
    "correlation_tables",
    "difference_records",
    "difference_table",
    "matrix_tables",
]

_NAMES = {
    "tau_b": "Kendall tau-b",
    "tau_a": "Kendall tau-a",
    "tau_c": "Kendall tau-c",
    "rho": "Spearman rho",
    "pearson": "Pearson r",
    "tau_AP_b": "tau_AP,b",
    "weighted_tau": "weighted tau (hyperbolic)",
    "RBO": "RBO (p 0.9, ties b)",
}


def correlation_tables(found: Correlation, places: int = 4) -> list[Table]:
    """One correlation as a table with all that must stand beside it."""
    header = ["coefficient", "value", "p", "stability interval", "without one run", "without one team"]
    rows = []
    for name, label in _NAMES.items():
        p, spread, is_tau = found.p.get(name), found.stability.get(name), name == "tau_b"
        rows.append(
            [
                label,
                shown(found.coefficients[name], places),
                "" if p is None else f"{p.value:.3g} ({p.method})",
                "" if spread is None else f"[{spread.low:.{places}f}, {spread.high:.{places}f}]",
                _shown_range(found.without_run if is_tau else None, places),
                _shown_range(found.without_team if is_tau else None, places),
            ]
        )
    used = [column for column in range(len(header)) if column < 2 or any(row[column] for row in rows)]
    table = Table(
        [header[column] for column in used],
        [[row[column] for column in used] for row in rows],
        title=f"{found.x} against {found.y}",
        notes=tuple(_notes(found, places)),
    )
    return [table]


def _shown_range(span: Range | None, places: int) -> str:
    if span is None:
        return ""
    return f"{span.low:.{places}f} ({span.without_low}) to {span.high:.{places}f} ({span.without_high})"


def _notes(found: Correlation, places: int) -> Iterator[str]:
    if found.reason:
        yield f"undefined: {found.reason}"
    yield f"{len(found.runs)} runs: {', '.join(found.runs)}"
    if found.left_out:
        yield "left out: " + ", ".join(f"{run} ({why})" for run, why in found.left_out.items())
    if found.last:
        yield f"ranked last where they are missing: {', '.join(found.last)}; so there is no Pearson r and no resampling"
    pairs = len(found.runs) * (len(found.runs) - 1) // 2
    yield f"tied pairs, of {pairs}: {found.ties[0]} in {found.x}, {found.ties[1]} in {found.y}"
    for k, (tau, overlap, number) in found.at.items():
        yield f"top {k} of {found.x} ({number} runs): tau-b {shown(tau, places)}, overlap {overlap:.{places}f}"
    if found.drop and found.drop[1] > 0:
        yield f"largest fall: {found.drop[0]}, {found.drop[1]:g} ranks"
    if found.stability:
        fixed = [name for name, number in zip((found.x, found.y), found.topics, strict=True) if not number]
        yield (
            f"stability interval: the middle 95 % over {len(found.tau_draws)} resamples of "
            f"{max(found.topics)} topics{f' ({fixed[0]} has none and is fixed)' if fixed else ''}; percentiles of tau "
            "hold less than their share, so this is no confidence interval"
        )
    if found.pairs:
        counts = ", ".join(f"{kind} {number}" for kind, number in found.pairs.items())
        yield f"pairs of runs that differ significantly: {counts} ({found.test})"


def difference_table(differences: Sequence[Difference], places: int = 4) -> Table:
    """The differences of judges as a table."""
    rows = [
        [
            f"{d.first} less {d.second}",
            shown(d.difference, places),
            "" if d.stability is None else f"[{d.stability.low:.{places}f}, {d.stability.high:.{places}f}]",
            "" if d.ahead is None else f"{d.ahead:.3f}",
        ]
        for d in differences
    ]
    header = ["judges", "difference of tau-b", "stability interval", "resamples in which the first is ahead"]
    return Table(
        header, rows, title="Which judge is closer to the truth", notes=("over the same resamples of the topics",)
    )


def matrix_tables(found: Sequence[Correlation], measures: Sequence[str], places: int = 3) -> list[Table]:
    """Correlations of every two columns as one matrix: tau-b / rho above the diagonal."""
    cells = {
        (f.x, f.y): f"{shown(f.coefficients['tau_b'], places)} / {shown(f.coefficients['rho'], places)}" for f in found
    }
    rows = [
        [row, *("" if column == row else cells.get((row, column), "") for column in measures[1:])]
        for row in measures[:-1]
    ]
    notes = [f"{len(found[0].runs)} runs: {', '.join(found[0].runs)}"] if len({f.runs for f in found}) == 1 else [
        f"{f.x} and {f.y}: {len(f.runs)} runs" for f in found
    ]  # fmt: skip
    left_out = {f"{run} ({why})": None for f in found for run, why in f.left_out.items()}
    undefined = [f"{f.x} and {f.y}: undefined, {f.reason}" for f in found if f.reason]
    ties = {name: number for f in found for name, number in zip((f.x, f.y), f.ties, strict=True)}
    notes += [f"left out: {', '.join(left_out)}"] if left_out else []
    notes += undefined
    notes += ["tied pairs: " + ", ".join(f"{number} in {name}" for name, number in ties.items())]
    return [Table(["", *measures[1:]], rows, title="Kendall tau-b / Spearman rho", notes=tuple(notes))]


_COLUMNS = ("x", "y", "n", *COEFFICIENTS, "p_tau_b", "p_tau_b_method", "p_rho", "ties_x", "ties_y", "left_out")


def correlation_rows(found: Sequence[Correlation]) -> Iterator[str]:
    """Lines of TSV, one a pair of columns, in full precision."""
    yield "\t".join(_COLUMNS) + "\n"
    for record in correlation_records(found):
        cells = {
            **record,
            **record["coefficients"],
            "p_tau_b": (record["p"]["tau_b"] or {}).get("value"),
            "p_tau_b_method": (record["p"]["tau_b"] or {}).get("method"),
            "p_rho": (record["p"]["rho"] or {}).get("value"),
            "ties_x": record["tied_pairs"]["x"],
            "ties_y": record["tied_pairs"]["y"],
            "left_out": " ".join(record["left_out"]),
        }
        yield "\t".join("undefined" if cells[name] is None else str(cells[name]) for name in _COLUMNS) + "\n"


def correlation_records(found: Sequence[Correlation]) -> Iterator[dict[str, Any]]:
    """Everything that was found, for JSON: null where undefined."""
    for f in found:
        yield {
            "x": f.x,
            "y": f.y,
            "n": len(f.runs),
            "runs": list(f.runs),
            "left_out": dict(f.left_out),
            "ranked_last": list(f.last),
            "tied_pairs": {"x": f.ties[0], "y": f.ties[1]},
            "coefficients": {name: _number(value) for name, value in f.coefficients.items()},
            "undefined": f.reason or None,
            "p": {name: p and p._asdict() for name, p in f.p.items()},
            "at": {
                str(k): {"tau_b": _number(tau), "overlap": overlap, "n": number}
                for k, (tau, overlap, number) in f.at.items()
            },
            "largest_fall": f.drop and {"run": f.drop[0], "ranks": f.drop[1]},
            "topics": {"x": f.topics[0], "y": f.topics[1]},
            "stability": {name: spread and spread._asdict() for name, spread in f.stability.items()},
            "without_one_run": f.without_run and f.without_run._asdict(),
            "without_one_team": f.without_team and f.without_team._asdict(),
            "significant_pairs": dict(f.pairs) or None,
            "test": f.test or None,
        }


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def difference_records(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines of JSON of the differences of judges."""
    for d in differences:
        record = {**d._asdict(), "stability": d.stability and d.stability._asdict()}
        yield json.dumps({"difference_of_judges": record}, ensure_ascii=False) + "\n"
