"""Evaluate runs: the only caller of measure records.

``evaluate(measures, inputs, policies) -> Scores``: bind every measure before anything is computed,
rank each run once, feed the ranking to every kernel, say what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from nuggeteval.data import ORDERS, VIEWS, NuggetBank, NuggetQrels, Run, Scores
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.grammar import Measure
from nuggeteval.measures import TABLE, Record, bind, expand_names
from nuggeteval.ranking import Ranked, rank
from nuggeteval.rows import BoolArray, FloatArray
from nuggeteval.version import __version__

__all__ = ["Bound", "Inputs", "Policies", "bind_all", "evaluate", "topic_values"]

ADHOC = ("max", "sum", "count")
UNDEFINED = ("skip", "zero")
TOPICS = ("qrels", "bank", "run")

_SHOWN = 5


@dataclass(frozen=True)
class Inputs:
    """What is scored, and against what.

    Attributes:
        qrels: the table.
        runs: runs without repeated units; an iterator is read one run at a time.
        bank: declares the nuggets of each topic: denominators, importance, weights.
    """

    qrels: NuggetQrels
    runs: Iterable[Run]
    bank: NuggetBank | None = None


@dataclass(frozen=True)
class Policies:
    """The choices that every result is printed with.

    Attributes:
        topics: which topics are averaged: ``qrels``, ``bank``, ``run`` (those that the run answers),
            or a sequence of topics; None for ``bank`` where there is one and the units are no
            documents, else ``qrels``.
        undefined: ``skip`` leaves undefined values out of means, ``zero`` counts them 0.
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
    rel: int | None = None
    adhoc: str = "max"
    order: str = "score"
    depth: int | None = None
    judged_only: bool = False
    view: str | None = None

    def __post_init__(self) -> None:
        for name, options in (("undefined", UNDEFINED), ("adhoc", ADHOC), ("order", ORDERS), ("view", (None, *VIEWS))):
            if getattr(self, name) not in options:
                shown = ", ".join(str(option) for option in options if option)
                raise ParameterError(f"{name} must be one of {shown} (got {getattr(self, name)!r})")
        if isinstance(self.topics, str) and self.topics not in TOPICS:
            raise ParameterError(f"topics must be one of {', '.join(TOPICS)}, or a sequence (got {self.topics!r})")
        for name in ("rel", "depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} must be at least 1 (got {value})")

    def __str__(self) -> str:
        """The choices that are not the default, for signatures."""
        changed = [f for f in fields(self) if f.name != "rel" and getattr(self, f.name) != f.default]
        return "|".join(f"{f.name.replace('_', '-')} {self._shown(f.name)}" for f in changed)

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return "listed" if name == "topics" and not isinstance(value, str) else str(value)


@dataclass(frozen=True)
class Bound:
    """A measure that is ready to be computed.

    Attributes:
        measure: as asked for.
        record, arguments: our kernel and what it is called with; None and empty for theirs.
        judged_only: whether it wants the ranking without unjudged units.
        micro: whether its mean is pooled over topics.
        theirs: the ir_measures object, for a measure that is not in our table.
    """

    measure: Measure
    record: Record | None
    arguments: dict[str, Any]
    judged_only: bool = False
    micro: bool = False
    theirs: Any = None

    @property
    def name(self) -> str:
        """How the measure is printed."""
        return str(self.measure)

    @property
    def views(self) -> tuple[str, ...]:
        """The views that it accepts; empty for any."""
        return self.record.views if self.record else ("documents",)

    @property
    def summed(self) -> bool:
        """Whether its aggregate is a sum."""
        if self.record is None:
            from nuggeteval.bridge import is_summed

            return is_summed(self.theirs)
        return self.record.summed


def as_measures(measures: str | Measure | Iterable[Any]) -> list[Measure]:
    """Measures from text, our measures or those of ir_measures, without repetitions.

    Raises:
        ParameterError: a text that is no measure.
    """
    if isinstance(measures, str | Measure):
        measures = [measures]
    found: list[Measure] = []
    for measure in measures:
        found += [measure] if isinstance(measure, Measure) else expand_names(str(measure))
    return list({str(measure): measure for measure in found}.values())


def bind_all(measures: Sequence[Measure], policies: Policies, qrels: NuggetQrels) -> list[Bound]:
    """Check every measure against its record, and fill in what the policies say.

    Raises:
        UnknownNameError, ParameterError: a measure that cannot be computed.
    """
    rel = policies.rel if policies.rel is not None else qrels.scale.rel
    return [_bind_one(measure, policies, rel) for measure in measures]


def _bind_one(measure: Measure, policies: Policies, rel: int) -> Bound:
    if measure.name not in TABLE:
        from nuggeteval.bridge import their_measure

        return Bound(measure, None, {"rel": rel}, theirs=their_measure(measure, rel))
    record, arguments = bind(measure)
    given = dict(measure.params)
    if "rel" in arguments and arguments["rel"] is None and measure.name != "NumRet":
        arguments["rel"] = rel
    if "adhoc" in arguments and "adhoc" not in given:
        arguments["adhoc"] = policies.adhoc
    judged_only = bool(arguments.pop("judged_only", False)) or policies.judged_only
    micro = arguments.pop("avg", "macro") == "micro"
    return Bound(measure, record, arguments, judged_only, micro)


def topic_values(bound: Bound, ranked: Ranked) -> FloatArray:
    """One of our measures for every topic of the table, NaN where undefined, shape (T,)."""
    if bound.record is None:
        raise ParameterError(f"{bound.name} is computed by ir_measures, which needs the whole run")
    values: FloatArray = bound.record.kernel(ranked.judged_only if bound.judged_only else ranked, **bound.arguments)
    return values


def evaluate(
    measures: str | Measure | Iterable[Any],
    inputs: Inputs,
    policies: Policies | None = None,
    progress: Callable[[Run], None] | None = None,
) -> Scores:
    """Score runs.

    Args:
        measures: texts in ir_measures' or trec_eval's notation, nicknames, or measure objects.
        inputs: the table, the runs, the bank.
        policies: the choices of ``architecture``: topics, undefined values, ties, least grade.
        progress: called with each run once it is scored.

    Returns:
        values of every run, averaged topic and measure, with signature and notes.

    Raises:
        UnknownNameError, ParameterError: a measure or policy that cannot be.
        DataError: nothing in common between run, qrels and bank; contradictory records.
    """
    policies = policies or Policies()
    qrels = inputs.qrels if inputs.bank is None else inputs.qrels.with_bank(inputs.bank)
    bound = bind_all(as_measures(measures), policies, qrels)
    view = _view_of(bound, policies, qrels)
    averaged = _averaged_topics(policies, qrels, view)
    rows: list[_Row] = []
    notes = [*qrels.notes, *_table_notes(bound, policies, qrels)]
    for run in inputs.runs:
        ranked = rank(run, qrels, policies.order, policies.depth)
        counted = averaged & ranked.answered if policies.topics == "run" else averaged
        row = _Row(
            name=_unique_name(ranked.name, [row.name for row in rows]),
            values=_run_values(bound, run, ranked, policies),
            counted=counted,
            missing=int(np.count_nonzero(counted & ~ranked.answered)),
            weights=_micro_weights(bound, ranked),
        )
        rows.append(row)
        notes += _run_notes(row, ranked, policies)
        if progress:
            progress(run)
    if not rows:
        raise DataError("no run to score")
    return _assemble(bound, policies, qrels, averaged, rows, notes)


@dataclass(frozen=True)
class _Row:
    """The scores of one run over all topics of the table, and which of them are averaged."""

    name: str
    values: FloatArray
    counted: BoolArray
    missing: int
    weights: dict[str, FloatArray]


def _view_of(bound: Sequence[Bound], policies: Policies, qrels: NuggetQrels) -> str | None:
    """The view of the units: what the table or the user says, else that of the measures asked for."""
    known = policies.view or qrels.view
    wanting: dict[str, str] = {}
    for measure in bound:
        # Measures of documents rank any units; only those with a view of their own can be at odds.
        if measure.record is not None and measure.views:
            if known is not None and known not in measure.views:
                raise DataError(f"{measure.name} takes units of view {' or '.join(measure.views)}, not {known}")
            wanting.setdefault(measure.views[0], measure.name)
    if known is None and len(wanting) > 1:
        shown = ", ".join(f"{name} takes {view}" for view, name in wanting.items())
        raise DataError(
            f"measures of several views on one plain TREC file ({shown}): its units are of one view, which "
            "--view names; score the others with files of their own"
        )
    return known or next(iter(wanting), None)


def _averaged_topics(policies: Policies, qrels: NuggetQrels, view: str | None) -> BoolArray:
    """Which topics of the table are averaged, shape (T,)."""
    topics = policies.topics
    if topics is None:
        topics = "bank" if qrels.bank is not None and view not in (None, "documents") else "qrels"
    if topics == "bank":
        if qrels.bank is None:
            raise ParameterError("topics bank: there is no bank; --bank FILE names one")
        return np.array([bool(qrels.bank.nuggets.get(topic)) for topic in qrels.topics])
    if isinstance(topics, str):
        return qrels.judged_topics
    averaged = np.zeros(len(qrels.topics), dtype=bool)
    averaged[[qrels.topic_index[topic] for topic in topics if topic in qrels.topic_index]] = True
    if not averaged.any():
        raise DataError(f"none of the {len(topics)} listed topics is in {qrels.name}")
    return averaged


def _run_values(bound: Sequence[Bound], run: Run, ranked: Ranked, policies: Policies) -> FloatArray:
    """Values of one run, shape (T, measures)."""
    columns = []
    their_run = None
    for measure in bound:
        if measure.record is not None:
            columns.append(topic_values(measure, ranked))
            continue
        from nuggeteval.bridge import as_their_run, calculate

        if their_run is None:
            their_run = as_their_run(run, ranked.qrels, policies.order, policies.depth, policies.judged_only)
        columns.append(calculate(measure.theirs, ranked.qrels, their_run, policies.adhoc, measure.arguments["rel"]))
    values = np.stack(columns, axis=1)
    _fill_undefined_counts(bound, values)
    return np.nan_to_num(values, nan=0.0) if policies.undefined == "zero" else values


def _fill_undefined_counts(bound: Sequence[Bound], values: FloatArray) -> None:
    """Set num_undefined of each topic, which depends on the values of all other measures."""
    own = np.array([measure.measure.name == "num_undefined" for measure in bound])
    if own.any():
        values[:, own] = np.isnan(values[:, ~own]).any(axis=1, keepdims=True)


def _micro_weights(bound: Sequence[Bound], ranked: Ranked) -> dict[str, FloatArray]:
    return {
        measure.name: measure.record.micro(ranked)
        for measure in bound
        if measure.micro and measure.record is not None and measure.record.micro is not None
    }


def _unique_name(name: str, taken: Sequence[str]) -> str:
    """A run name that no earlier run has."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def _assemble(
    bound: Sequence[Bound],
    policies: Policies,
    qrels: NuggetQrels,
    averaged: BoolArray,
    rows: Sequence[_Row],
    notes: list[str],
) -> Scores:
    chosen = np.flatnonzero(averaged)
    values = np.stack([row.values[chosen] for row in rows])
    counted = np.stack([row.counted[chosen] for row in rows])
    present = np.repeat(counted[:, :, None], len(bound), axis=2)
    values[~present] = np.nan
    scores = Scores(
        runs=tuple(row.name for row in rows),
        topics=tuple(qrels.topics[index] for index in chosen),
        measures=tuple(measure.name for measure in bound),
        values=values,
        present=present,
        summed=frozenset(measure.name for measure in bound if measure.summed),
        weights={name: np.stack([row.weights[name][chosen] for row in rows]) for name in rows[0].weights},
    )
    missing = sum(row.missing for row in rows)
    signature = _signature(scores, policies, qrels, averaged, missing)
    return replace(scores, signature=signature, notes=(*notes, *_undefined_notes(scores)))


def _signature(scores: Scores, policies: Policies, qrels: NuggetQrels, averaged: BoolArray, missing: int) -> str:
    """One line that says under which policies the values hold (after sacreBLEU's)."""
    parts = [
        f"nuggeteval {__version__}",
        f"runs {len(scores.runs)}" if len(scores.runs) > 1 else "",
        f"topics {len(scores.topics)}",
        f"missing {missing}",
        f"undefined {int(np.isnan(scores.values[scores.present]).sum())}",
        f"failed {0 if qrels.failed is None else int(qrels.failed[averaged].sum())}",
        f"rel {policies.rel if policies.rel is not None else qrels.scale.rel}",
        "ties docid-desc",
        str(policies),
        f"qrels sha256:{qrels.digest[:8]}" if qrels.digest else "",
        f"bank sha256:{qrels.bank.digest[:8]}" if qrels.bank and qrels.bank.digest else "",
    ]
    return "|".join(filter(None, parts))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > _SHOWN else "")


def _table_notes(bound: Sequence[Bound], policies: Policies, qrels: NuggetQrels) -> list[str]:
    """What is worth knowing about the table, whatever the run."""
    notes = []
    if qrels.bank is not None:
        notes += _bank_notes(qrels)
    rel = policies.rel if policies.rel is not None else qrels.scale.rel
    if rel == 1 and qrels.scale.top >= 5 and any("rel" in m.arguments and m.arguments["rel"] == 1 for m in bound):
        notes.append(
            f"{qrels.name}: grades go up to {qrels.scale.top} and rel is 1, so that the faintest support counts; "
            "-l 3 (CRUX, LANCER) or -l 4 (LongEval) sets the least grade that counts"
        )
    subtopics = any(m.record is not None and "weights" in m.record.params for m in bound)
    if subtopics and qrels.bank is None and qrels.declared.max(initial=0) <= 1:
        notes.append(f"{qrels.name}: every topic has one nugget at most: are these nugget qrels?")
    if policies.depth and any(m.measure.name == "nDCG" and m.measure.cutoff is None for m in bound):
        notes.append(
            f"nDCG without cutoff of runs cut at {policies.depth}: its ideal ranking is not cut; nDCG@k is meant?"
        )
    if not isinstance(policies.topics, str | None):
        unknown = [topic for topic in policies.topics if topic not in qrels.topic_index]
        if unknown:
            notes.append(f"listed topics that are not in {qrels.name}: {_listed(unknown)}")
    return notes


def _bank_notes(qrels: NuggetQrels) -> list[str]:
    bank = qrels.bank
    if bank is None:
        return []
    notes = list(bank.notes)
    if qrels.ignored_rows:
        notes.append(f"{qrels.name}: {qrels.ignored_rows} rows for nuggets that {bank.name} does not declare, ignored")
    only_bank = [topic for topic, judged in zip(qrels.topics, qrels.judged_topics, strict=True) if not judged]
    if only_bank:
        notes.append(f"topics of {bank.name} that {qrels.name} does not judge: {_listed(only_bank)}")
    without = [topic for topic in qrels.topics if not bank.nuggets.get(topic)]
    if without:
        notes.append(f"topics without a nugget in {bank.name}: {_listed(without)}")
    return notes


def _run_notes(row: _Row, ranked: Ranked, policies: Policies) -> list[str]:
    """What is worth knowing about a run."""
    name, notes = row.name, list(ranked.notes)
    missing = [ranked.qrels.topics[index] for index in np.flatnonzero(row.counted & ~ranked.answered)]
    if missing:
        notes.append(
            f"{name}: {len(missing)} of {int(row.counted.sum())} topics have no line and count 0: {_listed(missing)}"
        )
    if ranked.unknown_topics:
        count = len(ranked.unknown_topics)
        notes.append(f"{name}: {count} topics are not in the qrels, ignored: {_listed(ranked.unknown_topics)}")
    if policies.order == "score":
        if ranked.tied_topics:
            notes.append(
                f"{name}: all scores are tied in {_listed(ranked.tied_topics)}; the rank column is not used, ids "
                "decide (--order rank follows it)"
            )
        elif ranked.tied:
            notes.append(f"{name}: {ranked.tied} groups of tied scores hold judged units; ordered by id, descending")
        if ranked.disagreeing:
            notes.append(
                f"{name}: rank and score disagree in {_listed(ranked.disagreeing)}; the score decides "
                "(--order rank follows the rank column)"
            )
    return notes


def _undefined_notes(scores: Scores) -> list[str]:
    notes = []
    for m, measure in enumerate(scores.measures):
        counts = [scores.undefined(r, m) for r in range(len(scores.runs))]
        if max(counts) and measure != "num_undefined":
            most = max(counts)
            notes.append(f"{measure}: undefined for {most} of {len(scores.topics)} topics, left out of the mean")
    return notes
