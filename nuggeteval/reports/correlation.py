"""Correlations as tables, TSV and JSON, with all that must stand beside a coefficient."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from nuggeteval.metaevaluation import Correlation, Difference, Range
from nuggeteval.reports import Table, shown
from nuggeteval.stats.correlation import COEFFICIENTS, P

__all__ = [
    "correlation_records",
    "correlation_rows",
    "correlation_tables",
    "difference_records",
    "difference_table",
    "matrix_tables",
]

_LEAST = 1e-16
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
                "" if p is None else _shown_p(p),
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


def _shown_p(p: P) -> str:
    return f"{f'{p.value:.3g}' if p.value > _LEAST else f'<{_LEAST:g}'} ({p.method})"


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
        yield f"stability interval: {_resampled(found)}"
    yield from found.notes
    if found.pairs:
        counts = ", ".join(f"{kind} {number}" for kind, number in found.pairs.items() if number or kind != "undefined")
        yield f"pairs of runs that differ significantly: {counts} ({found.test})"


def _resampled(found: Correlation) -> str:
    """What the stability interval is of."""
    fixed = [name for name, number in zip((found.x, found.y), found.topics, strict=True) if not number]
    without = f" ({fixed[0]} has none and is fixed)" if fixed else ""
    return (
        f"the middle 95 % over {len(found.tau_draws)} resamples of {max(found.topics)} topics{without}; percentiles of "
        "tau hold less than their share, so this is no confidence interval"
    )


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
    """Correlations of every two columns: a matrix of tau-b / rho, then a row a pair with what must stand beside it."""
    cells = {
        (f.x, f.y): f"{shown(f.coefficients['tau_b'], places)} / {shown(f.coefficients['rho'], places)}" for f in found
    }
    rows = [
        [row, *("" if column == row else cells.get((row, column), "") for column in measures[1:])]
        for row in measures[:-1]
    ]
    matrix = Table(["", *measures[1:]], rows, title="Kendall tau-b / Spearman rho", notes=tuple(_matrix_notes(found)))
    return [matrix, _pairs_table(found, places)]


def _matrix_notes(found: Sequence[Correlation]) -> Iterator[str]:
    runs = {tuple(sorted(f.runs)) for f in found}
    if len(runs) == 1:
        yield f"{len(found[0].runs)} runs: {', '.join(found[0].runs)}"
    else:
        yield from (f"{f.x} and {f.y}: {len(f.runs)} runs: {', '.join(f.runs)}" for f in found)
    if left_out := {f"{run} ({why})": None for f in found for run, why in f.left_out.items()}:
        yield f"left out: {', '.join(left_out)}"
    yield from (f"{f.x} and {f.y}: undefined, {f.reason}" for f in found if f.reason)
    ties = {name: number for f in found for name, number in zip((f.x, f.y), f.ties, strict=True)}
    yield "tied pairs: " + ", ".join(f"{number} in {name}" for name, number in ties.items())
    yield from dict.fromkeys(note for f in found for note in f.notes)


def _pairs_table(found: Sequence[Correlation], places: int) -> Table:
    """A row for each pair of columns."""
    at = list(dict.fromkeys(k for f in found for k in f.at))
    header = ["pair", "tau-b", "p", "stability interval", "without one run", "without one team", "significant pairs"]
    header += [f"tau-b at {k}" for k in at]
    rows = []
    for f in found:
        p, spread = f.p["tau_b"], f.stability.get("tau_b")
        rows.append(
            [
                f"{f.x} and {f.y}",
                shown(f.coefficients["tau_b"], places),
                "" if p is None else _shown_p(p),
                "" if spread is None else f"[{spread.low:.{places}f}, {spread.high:.{places}f}]",
                _shown_range(f.without_run, places),
                _shown_range(f.without_team, places),
                ", ".join(f"{kind} {number}" for kind, number in f.pairs.items() if number),
                *(shown(f.at[k][0], places) if k in f.at else "" for k in at),
            ]
        )
    used = [column for column in range(len(header)) if column < 2 or any(row[column] for row in rows)]
    tests = dict.fromkeys(f"significant pairs: {f.test}" for f in found if f.test)
    spreads = {f"stability interval: {_resampled(f)}": None for f in found if f.stability}
    return Table(
        [header[column] for column in used],
        [[row[column] for column in used] for row in rows],
        title="Pair by pair",
        notes=(*spreads, *tests),
    )


_COLUMNS = ("x", "y", "n", *COEFFICIENTS, "p_tau_b", "p_tau_b_method", "p_rho", "p_rho_method", "ties_x", "ties_y")
_MORE_COLUMNS = ("topics_x", "topics_y", "tau_b_low", "tau_b_high", "rho_low", "rho_high")
_PAIRS = ("agree", "opposite", "missed", "false positive", "neither", "undefined")


def correlation_rows(found: Sequence[Correlation]) -> Iterator[str]:
    """Lines of TSV, one a pair of columns, in full precision."""
    at = [f"{name}@{k}" for k in dict.fromkeys(k for f in found for k in f.at) for name in ("tau_b", "overlap")]
    ranges = [f"without_one_{kind}_{end}" for kind in ("run", "team") for end in ("low", "high")]
    pairs = [f"pairs_{kind.replace(' ', '_')}" for kind in _PAIRS]
    columns = (*_COLUMNS, *_MORE_COLUMNS, *ranges, *pairs, *at, "left_out", "runs")
    yield "\t".join(columns) + "\n"
    for record in correlation_records(found):
        cells = _flat(record)
        yield "\t".join("undefined" if cells.get(name) is None else str(cells[name]) for name in columns) + "\n"


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """The nested parts of a record as columns."""
    cells = {**record, **record["coefficients"], "left_out": " ".join(record["left_out"])}
    cells |= {
        "ties_x": record["tied_pairs"]["x"],
        "ties_y": record["tied_pairs"]["y"],
        "runs": " ".join(record["runs"]),
    }
    cells |= {f"topics_{side}": number for side, number in record["topics"].items()}
    for name in ("tau_b", "rho"):
        p, spread = record["p"][name] or {}, record["stability"].get(name) or {}
        cells |= {f"p_{name}": p.get("value"), f"p_{name}_method": p.get("method")}
        cells |= {f"{name}_low": spread.get("low"), f"{name}_high": spread.get("high")}
    for kind in ("run", "team"):
        span = record[f"without_one_{kind}"] or {}
        cells |= {f"without_one_{kind}_{end}": span.get(end) for end in ("low", "high")}
    cells |= {f"pairs_{kind.replace(' ', '_')}": number for kind, number in (record["significant_pairs"] or {}).items()}
    for k, top in record["at"].items():
        cells |= {f"tau_b@{k}": top["tau_b"], f"overlap@{k}": top["overlap"]}
    return cells


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
            "notes": list(f.notes),
            "signature": f.signature,
        }


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def difference_records(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines of JSON of the differences of judges."""
    for d in differences:
        record = {**d._asdict(), "stability": d.stability and d.stability._asdict()}
        yield json.dumps({"difference_of_judges": record}, ensure_ascii=False) + "\n"
