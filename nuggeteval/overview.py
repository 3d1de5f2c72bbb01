"""What an HTML report shows, as plain data: leaderboard, topics, nuggets, correlations, tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nuggeteval.data import NuggetQrels, Scores
from nuggeteval.errors import DataError, listed
from nuggeteval.leaderboards import BETTER, WORSE, Cell, Method, Ranking, pairs_p
from nuggeteval.measures import TABLE, name_of, record_of
from nuggeteval.metaevaluation import Correlation
from nuggeteval.reports import Table
from nuggeteval.reports.correlation import correlation_tables
from nuggeteval.reports.coverage import Carried, declared_nuggets
from nuggeteval.reports.figures import correlation_matrix, scatter
from nuggeteval.rows import FloatArray
from nuggeteval.stats.significance import CORRECTIONS, describe
from nuggeteval.text import content_words, sentences
from nuggeteval.version import __version__

__all__ = ["NuggetsFound", "Trace", "report_data"]

_TEXT = 240
"""Characters of a carrying text that are kept: enough for a sentence."""
_TRACED = 50
"""Ranks of a trace that are shown."""


@dataclass(frozen=True)
class NuggetsFound:
    """Which run finds which nugget, in one view.

    Attributes:
        qrels: the table, with the nuggets that are declared.
        carried: of each run, in the order of the scores: (topic, nugget) -> where it is first shown.
        texts: (topic, unit) -> its text, where it is known.
        depth: ranks that were looked at; None for all.
    """

    qrels: NuggetQrels
    carried: Sequence[Mapping[tuple[str, str], Carried]]
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    depth: int | None = None


@dataclass(frozen=True)
class Trace:
    """How a run was made, as ``nuggeteval generate lancer --trace`` writes it: its name, and a record a topic."""

    run: str
    records: Sequence[Mapping[str, Any]]


def report_data(
    ranking: Ranking,
    title: str = "",
    nuggets: NuggetsFound | None = None,
    correlations: Sequence[Correlation] = (),
    matrix: Sequence[Correlation] = (),
    queries: Mapping[str, str] | None = None,
    places: int = 4,
    trace: Trace | None = None,
) -> dict[str, Any]:
    """Everything on the page, ready for :func:`nuggeteval.reports.page.render_page`.

    Args:
        ranking: of scores with topics.
        title: of the page.
        nuggets: which run finds which nugget.
        correlations: with a truth, each with a table and a scatter plot.
        matrix: correlations of every two measures of the scores.
        queries: topic -> what was asked.
        places: decimals.
        trace: how one of the runs was made.
    """
    scores = ranking.board
    if not isinstance(scores, Scores):
        raise TypeError("a report is made of scores with topics")
    return {
        "title": title or "nuggeteval report",
        "version": __version__,
        "signature": scores.signature,
        "warnings": list(scores.notes),
        "measures": [_measure(name, ranking, places) for name in ranking.measures],
        "runs": [{"name": run, "group": ranking.groups.get(run, "")} for run in scores.runs],
        "topics": [{"id": topic, "title": _cut((queries or {}).get(topic, ""))} for topic in scores.topics],
        "boards": [_board(ranking, index) for index in range(len(ranking.sections))],
        "sort": ranking.sorted_by,
        "values": [_values(scores, m) for m in range(len(scores.measures))],
        "coverage": None if nuggets is None else _coverage(nuggets, scores),
        "pairwise": _pairwise(scores, ranking.method),
        "figures": _figures(ranking, correlations, matrix),
        "correlations": [_table(t) for found in correlations for t in correlation_tables(found, places)],
        "traces": None if trace is None else _traces(trace, scores, nuggets),
    }


def _measure(name: str, ranking: Ranking, places: int) -> dict[str, Any]:
    base = name_of(name)
    record = record_of(base) if base in TABLE else None
    return {
        "name": name,
        "definition": record.definition if record else "",
        "citation": record.citation if record else "",
        "higher": ranking.higher[name],
        "summed": name in ranking.summed,
        "places": places,
    }


def _board(ranking: Ranking, index: int) -> dict[str, Any]:
    section = ranking.sections[index]
    rows = []
    for run in section.runs:
        cells = [
            _cell(cell, section.references.get(name, ""))
            for name, cell in zip(ranking.measures, section.cells[run], strict=True)
        ]
        rows.append({"run": ranking.board.runs.index(run), "cells": cells})
    return {"label": section.label, "topics": section.topics, "rows": rows, "notes": list(ranking.notes)}


def _cell(cell: Cell, reference: str) -> dict[str, Any]:
    words = {BETTER: "significantly better than", WORSE: "significantly worse than"}
    meaning = f"{words[cell.mark]} {reference} (p {cell.p:.3g})" if cell.mark else ""
    return {
        "value": _number(cell.value, 10),
        "rank": cell.rank,
        "low": _number(cell.low, 6),
        "high": _number(cell.high, 6),
        "mark": cell.mark,
        "meaning": meaning,
    }


def _number(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(value, digits)


def _values(scores: Scores, measure: int) -> list[list[float | str | None]]:
    """Of each run the value on each topic; None undefined, an empty text absent."""
    present, values = scores.present[:, :, measure], scores.values[:, :, measure]
    return [
        ["" if not there else _number(value, 4) for there, value in zip(mine, row, strict=True)]
        for mine, row in zip(present.tolist(), values.tolist(), strict=True)
    ]


def _coverage(nuggets: NuggetsFound, scores: Scores) -> dict[str, Any]:
    """For each topic its nuggets, the units that carry some, and what each run shows where."""
    ranked = nuggets.qrels.view in (None, "documents")
    declared = declared_nuggets(nuggets.qrels)
    topics = [
        _topic_coverage(index, topic, declared.get(topic, []), nuggets) for index, topic in enumerate(scores.topics)
    ]
    within = f" in the first {nuggets.depth} ranks" if nuggets.depth and ranked else ""
    what = "rank of the first document that carries the nugget" if ranked else "the nugget is in the answer"
    sentence = "; of a document the sentence nearest to the nugget is shown" if ranked and nuggets.texts else ""
    return {"caption": f"{what}{within}{sentence}", "ranked": ranked, "topics": topics}


def _topic_coverage(
    index: int, topic: str, declared: Sequence[tuple[str, str, str]], nuggets: NuggetsFound
) -> dict[str, Any]:
    """The nuggets of a topic, and of each run where it first shows them: 0, or [rank, index of the unit]."""
    units: dict[tuple[str, str], int] = {}
    cells = []
    for carried in nuggets.carried:
        row: list[Any] = []
        for nugget, text, _ in declared:
            where = carried.get((topic, nugget))
            if where is None:
                row.append(0)
                continue
            shown = _nearest(nuggets.texts.get((topic, where.unit), ""), text)
            row.append([where.rank, units.setdefault((where.unit, shown), len(units))])
        cells.append(row)
    texts = [text for _, text in units]
    return {
        "topic": index,
        "nuggets": [{"id": nugget, "text": text, "importance": kind} for nugget, text, kind in declared],
        "units": [unit for unit, _ in units],
        "texts": texts if any(texts) else [],
        "cells": cells,
    }


@lru_cache(maxsize=1 << 17)
def _nearest(text: str, nugget: str) -> str:
    """The sentence of a text that shares most of its words with a nugget; the text itself where it is one."""
    parts = sentences(text) if len(text) > _TEXT or "\n" in text else []
    wanted = content_words(nugget)
    # Of equals the longer: a title says less than the sentence under it.
    best = max(parts, key=lambda part: (len(content_words(part) & wanted), len(part)), default=text)
    return _cut(best)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else f"{text[:_TEXT].rsplit(' ', 1)[0]} ..."


def _pairwise(scores: Scores, method: Method) -> list[dict[str, Any]]:
    """The p of every two runs in each measure that is a plain mean."""
    if method.test is None or len(scores.runs) < 2:
        return []
    kept = [m for m, name in enumerate(scores.measures) if name not in scores.summed and name not in scores.weights]
    if not kept:
        return []
    correction = (
        "family-wise" if method.test == "tukey" else f"{CORRECTIONS[method.correction][0]} over all pairs of runs"
    )
    return [
        {
            "measure": m,
            "test": describe(method.test, len(scores.topics), method.resamples, method.seed),
            "correction": correction,
            "alpha": method.alpha,
            "p": _square(p),
        }
        for m, p in zip(kept, pairs_p(scores, kept, method), strict=True)
    ]


def _square(p: FloatArray) -> list[list[float | None]]:
    return [[None if math.isnan(value) else float(f"{value:.4g}") for value in row] for row in p.tolist()]


def _figures(
    ranking: Ranking, correlations: Sequence[Correlation], matrix: Sequence[Correlation]
) -> list[dict[str, str]]:
    figures = []
    for number, found in enumerate(correlations):
        tau, rho = (found.coefficients[name] for name in ("tau_b", "rho"))
        shown = [f"{name} {'undefined' if v is None else f'{v:.3f}'}" for name, v in (("tau-b", tau), ("rho", rho))]
        caption = f"{', '.join(shown)}, {len(found.runs)} runs"
        x, y = found.x_values.tolist(), found.y_values.tolist()
        svg = scatter(x, y, found.runs, (found.x, found.y), caption, ranking.groups)
        figures.append(_figure(f"scatter-{number}", f"{found.x} and {found.y}", caption, svg))
    if len(matrix) > 1:
        names = list(dict.fromkeys(name for found in matrix for name in (found.x, found.y)))
        taus = {(found.x, found.y): found.coefficients["tau_b"] for found in matrix}
        table = [[1.0 if a == b else taus.get((a, b), taus.get((b, a))) for b in names] for a in names]
        caption = f"Kendall tau-b of the runs' means, {len(matrix[0].runs)} runs"
        figures.append(_figure("matrix", "Do the measures agree", caption, correlation_matrix(table, names, caption)))
    return figures


def _figure(name: str, title: str, caption: str, svg: bytes) -> dict[str, str]:
    text = svg.decode("utf-8")
    return {"id": name, "title": title, "caption": caption, "svg": text[text.index("<svg") :]}


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "caption": " ".join(f"{note}." for note in table.notes),
        "header": list(table.header),
        "rows": [list(row) for row in table.rows],
    }


def _traces(trace: Trace, scores: Scores, nuggets: NuggetsFound | None) -> dict[str, Any]:
    """For each topic the sub-questions, the gold nuggets beside the nearest of them, and what each rank added."""
    gold = {} if nuggets is None else declared_nuggets(nuggets.qrels)
    place = {topic: index for index, topic in enumerate(scores.topics)}
    topics = []
    for record in trace.records:
        if record["topic"] not in place:
            continue
        questions = record["questions"]
        # Of questions whose texts nobody knows it cannot be said what they ask for.
        known = all(question["text"] for question in questions)
        topics.append(
            {
                "topic": place[record["topic"]],
                "questions": [{"id": q["id"], "text": _cut(q["text"])} for q in questions],
                "gold": [
                    {"id": nugget, "text": _cut(text), "question": _nearest_question(text, questions)}
                    for nugget, text, _ in gold.get(record["topic"], [])
                    if text and known and questions
                ],
                "rows": [
                    {
                        "rank": document["rank"],
                        "unit": document["docid"],
                        "ratings": document["ratings"] or [None] * len(questions),
                        "adds": document["adds"],
                    }
                    for document in record["documents"][:_TRACED]
                ],
            }
        )
    if not topics:
        traced = listed([str(record["topic"]) for record in trace.records])
        raise DataError(f"{trace.run}: no topic in common: the trace has {traced}; the scores {listed(scores.topics)}")
    caption = "nearest: the sub-question that shares most content words with the nugget, none where it shares no word"
    return {"run": trace.run, "caption": caption, "topics": topics}


def _nearest_question(nugget: str, questions: Sequence[Mapping[str, str]]) -> str:
    """The id of the sub-question that is the nugget itself, or shares most content words with it."""
    wanted = content_words(nugget)
    shared = [(question["text"] == nugget, len(content_words(question["text"]) & wanted)) for question in questions]
    best = max(range(len(shared)), key=lambda place: shared[place], default=0)
    return questions[best]["id"] if shared and any(shared[best]) else ""
