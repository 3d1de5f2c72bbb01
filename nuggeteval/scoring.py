"""Evaluate runs: the only caller of measure records.

``evaluate(measures, inputs, policies) -> Scores``: bind every measure before anything is computed,
rank each run once, feed the ranking to every kernel, say what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from nuggeteval.data import NuggetBank, NuggetQrels, Run, Scores, join_scores
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.grammar import Measure
from nuggeteval.ids import topic_order
from nuggeteval.measures import TABLE, Bound, as_measures, bind, record_of
from nuggeteval.notes import run_notes, table_notes, undefined_notes
from nuggeteval.policies import Policies
from nuggeteval.ranking import Ranked, no_common_topic, rank
from nuggeteval.rows import BoolArray, FloatArray
from nuggeteval.version import __version__

if TYPE_CHECKING:
    from nuggeteval.bridge import TheirRun, Theirs

__all__ = ["Inputs", "evaluate", "group_by_view", "join_measures"]


@dataclass(frozen=True)
class Inputs:
    """What is scored, and against what.

    Attributes:
        qrels: the table.
        runs: runs without repeated units; an iterator is read one run at a time.
        bank: declares the nuggets of each topic: denominators, importance, weights.
        lengths: unit -> words of its text, for measures that need documents; only units that matter need be there.

    Raises:
        ParameterError: something else was given for one of them.
    """

    qrels: NuggetQrels
    runs: Iterable[Run]
    bank: NuggetBank | None = None
    lengths: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.qrels, NuggetQrels):
            raise ParameterError(f"qrels must be a NuggetQrels, as read_qrels gives (got {type(self.qrels).__name__})")
        if not isinstance(self.bank, NuggetBank | None):
            raise ParameterError(f"bank must be a NuggetBank, as read_bank gives (got {type(self.bank).__name__})")
        if isinstance(self.runs, Run):
            object.__setattr__(self, "runs", (self.runs,))
        if not isinstance(self.runs, Iterable):
            raise ParameterError(f"runs must be runs, as read_run gives (got {type(self.runs).__name__})")


def _bind_all(measures: Sequence[Measure], policies: Policies, rel: int) -> list[Bound | Theirs]:
    """Check every measure before anything is computed, and fill in what the policies say.

    Raises:
        UnknownNameError, ParameterError, MissingDependencyError: a measure that cannot be computed.
    """
    for measure in measures:
        if measure.name in TABLE and record_of(measure.name).takes_answers:
            raise ParameterError(f"{measure} takes answers, not ranked units: evaluate_answers computes it")
    return [
        bind(measure, policies.rel, rel, policies.adhoc, policies.judged_only)
        if measure.name in TABLE
        else _bind_theirs(measure, rel, policies.adhoc)
        for measure in measures
    ]


def _bind_theirs(measure: Measure, rel: int, adhoc: str) -> Theirs:
    from nuggeteval.bridge import bind_theirs

    return bind_theirs(measure, rel, adhoc)


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
        policies: which topics, what counts, in which order; the defaults of :class:`Policies`.
        progress: called with each run once it is scored.

    Returns:
        values of every run, averaged topic and measure, with signature and notes.

    Raises:
        UnknownNameError, ParameterError: a measure or policy that cannot be.
        DataError: nothing in common between run, qrels and bank; contradictory records.
    """
    policies = policies or Policies()
    if not isinstance(inputs, Inputs):
        raise ParameterError(f"inputs must be Inputs(qrels, runs, bank) (got {type(inputs).__name__})")
    qrels = inputs.qrels if inputs.bank is None else inputs.qrels.with_bank(inputs.bank)
    if inputs.lengths is not None:
        qrels = qrels.with_lengths(inputs.lengths)
    rel = policies.rel if policies.rel is not None else qrels.scale.rel
    bound = _bind_all(as_measures(measures), policies, rel)
    ours = [measure for measure in bound if isinstance(measure, Bound)]
    view = _view_of(ours, policies, qrels)
    averaged = _averaged_topics(policies, qrels, view) & _not_failed(policies, qrels)
    rows: list[_Row] = []
    notes = [*qrels.notes, *table_notes(ours, policies, qrels, rel)]
    for run in inputs.runs:
        if not isinstance(run, Run):
            raise ParameterError(f"runs must be runs, as read_run gives (got {type(run).__name__})")
        ranked = rank(run, qrels, policies.order, policies.depth)
        if len(run) and isinstance(policies.topics, str | None) and not averaged[_numbers(run, qrels)].any():
            raise DataError(no_common_topic(run, qrels))
        counted = averaged & ranked.answered if policies.topics == "run" else averaged
        name = _unique_name(ranked.name, [row.name for row in rows])
        if name != ranked.name:
            notes.append(f"{run.source or 'a run'} has the tag {ranked.name} of an earlier run; it is shown as {name}")
        values, undefined = _run_values(bound, run, ranked, policies, inputs.lengths)
        row = _Row(
            name=name,
            values=values,
            undefined=int(np.count_nonzero(undefined & counted)),
            counted=counted,
            missing=int(np.count_nonzero(counted & ~ranked.answered)),
            weights={measure.name: weights for measure in ours if (weights := measure.weights(ranked)) is not None},
        )
        rows.append(row)
        notes += run_notes(row.name, counted, ranked, policies)
        if progress:
            progress(run)
    if not rows:
        raise DataError("no run to score")
    return _assemble(bound, policies, qrels, averaged, rows, notes)


def _numbers(run: Run, qrels: NuggetQrels) -> list[int]:
    """The topics of the table that the run has."""
    return [qrels.topic_index[topic] for topic in run.topics if topic in qrels.topic_index]


def group_by_view(measures: Iterable[Any], views: Iterable[str], view: str | None = None) -> dict[str, list[Measure]]:
    """Measures by the view that they take, among the views that there are judgments of.

    Args:
        measures: as for :func:`evaluate`.
        views: what was judged.
        view: for measures that take any view; None for the only one, or ``responses``.

    Raises:
        DataError: a measure of a view that was not judged.
    """
    judged = list(views)
    default = view or ("responses" if "responses" in judged else judged[0] if judged else "responses")
    found: dict[str, list[Measure]] = {}
    for measure in as_measures(measures):
        wanted = record_of(measure.name).views if measure.name in TABLE else ()
        (target, *_) = wanted or (default,)
        if target not in judged:
            raise DataError(
                f"{measure} takes judgments of {target}; there are judgments of {', '.join(judged) or 'nothing'}"
            )
        found.setdefault(target, []).append(measure)
    return found


def join_measures(parts: Sequence[Scores]) -> Scores:
    """The same runs, measured by several tables (one a view), as one.

    Where topics differ the union of all is kept; a measure has no value, and is in no mean, for topics that its own
    table does not have.

    Raises:
        DataError: runs differ.
    """
    first = parts[0]
    for part in parts[1:]:
        if part.runs != first.runs:
            raise DataError(f"scores of different runs cannot be joined: {listed(first.runs)}, and {listed(part.runs)}")
    if len(parts) == 1:
        return first
    joined = join_scores(parts)
    signature = "|".join(dict.fromkeys(field for part in parts for field in part.signature.split("|")))
    return replace(_by_topic(joined), signature=signature)


def _by_topic(scores: Scores) -> Scores:
    """The same scores with their topics in order."""
    topics = topic_order(scores.topics)
    place = [scores.topics.index(topic) for topic in topics]
    return replace(
        scores,
        topics=tuple(topics),
        values=scores.values[:, place],
        present=scores.present[:, place],
        weights={name: weights[:, place] for name, weights in scores.weights.items()},
    )


@dataclass(frozen=True)
class _Row:
    """The scores of one run over all topics of the table, and which of them are averaged."""

    name: str
    values: FloatArray
    undefined: int
    counted: BoolArray
    missing: int
    weights: dict[str, FloatArray]


def _view_of(bound: Sequence[Bound], policies: Policies, qrels: NuggetQrels) -> str | None:
    """The view of the units: what the table or the user says, else that of the measures asked for."""
    known = policies.view or qrels.view
    wanting: dict[str, str] = {}
    for measure in bound:
        # Most measures rank any units; only those with a view of their own can be at odds.
        if measure.views:
            if known is not None and known not in measure.views:
                raise DataError(f"{measure.name} takes units of view {' or '.join(measure.views)}, not {known}")
            wanting.setdefault(measure.views[0], measure.name)
    if known is None and len(wanting) > 1:
        shown = ", ".join(f"{name} takes {view}" for view, name in wanting.items())
        raise DataError(
            f"measures of several views on one plain TREC file ({shown}): the units of a file are of one view, which "
            "--view can name; score the measures of each view with the qrels and runs of that view"
        )
    return known or next(iter(wanting), None)


def _averaged_topics(policies: Policies, qrels: NuggetQrels, view: str | None) -> BoolArray:
    """Which topics of the table are averaged, shape (T,)."""
    topics = policies.topics
    if topics in (None, "run"):
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


def _not_failed(policies: Policies, qrels: NuggetQrels) -> BoolArray:
    """Topics that may be averaged, given their failed judgments, shape (T,)."""
    if qrels.failed is None or policies.on_failed == "zero":
        return np.ones(len(qrels.topics), dtype=bool)
    if policies.on_failed == "error" and qrels.failed.any():
        raise DataError(f"{qrels.name}: {qrels.failed.sum()} judgments failed (--on-failed zero or skip scores anyway)")
    return np.asarray(qrels.failed == 0)


def _run_values(
    bound: Sequence[Bound | Theirs],
    run: Run,
    ranked: Ranked,
    policies: Policies,
    lengths: Mapping[str, int] | None,
) -> tuple[FloatArray, BoolArray]:
    """Values of one run, shape (T, measures), and the topics in which one was undefined, shape (T,)."""
    columns = []
    their_run = None
    for measure in bound:
        if isinstance(measure, Bound) and "documents" not in measure.record.needs:
            columns.append(measure.values(ranked))
            continue
        if their_run is None:
            from nuggeteval.bridge import as_their_run

            their_run = as_their_run(run, ranked.qrels, policies.order, policies.depth, policies.judged_only)
        if isinstance(measure, Bound):
            words = _words_shown(measure, their_run, len(ranked.qrels.topics), lengths or {})
            columns.append(measure.values(ranked, words=words))
        else:
            columns.append(measure.values(ranked.qrels, their_run))
    values = np.stack(columns, axis=1)
    # num_undefined depends on the values of all other measures.
    own = np.array([measure.measure.name == "num_undefined" for measure in bound])
    undefined = np.count_nonzero(np.isnan(values[:, ~own]), axis=1) > 0
    values[:, own] = undefined[:, None]
    return np.nan_to_num(values, nan=0.0) if policies.undefined == "zero" else values, undefined


def _words_shown(measure: Bound, run: TheirRun, topics: int, lengths: Mapping[str, int]) -> FloatArray:
    """Words of the units that a run has in each topic down to the cutoff of a measure, shape (T,).

    Raises:
        DataError: units whose length nobody knows.
    """
    words = np.zeros(topics)
    unknown = []
    for number, ranking in run.items():
        shown = list(islice(ranking, measure.arguments["cutoff"]))
        unknown += [unit for unit in shown if unit not in lengths]
        words[int(number) - 1] = sum(lengths.get(unit, 0) for unit in shown)
    if unknown:
        raise DataError(f"{measure.name} needs the texts of units: --documents FILE has none of {listed(unknown)}")
    return words


def _unique_name(name: str, taken: Sequence[str]) -> str:
    """A run name that no earlier run has."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def _assemble(
    bound: Sequence[Bound | Theirs],
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
    signature = _signature(scores, policies, qrels, averaged, rows)
    return replace(scores, signature=signature, notes=(*notes, *undefined_notes(scores)))


def _range(rows: Sequence[_Row]) -> str:
    """Number of topics in the average, which can differ between runs."""
    numbers = sorted({int(row.counted.sum()) for row in rows})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _signature(
    scores: Scores, policies: Policies, qrels: NuggetQrels, averaged: BoolArray, rows: Sequence[_Row]
) -> str:
    """One line that says under which policies the values hold (after sacreBLEU's)."""
    parts = [
        f"nuggeteval {__version__}",
        f"runs {len(scores.runs)}" if len(scores.runs) > 1 else "",
        f"topics {_range(rows)}",
        f"missing {sum(row.missing for row in rows)}",
        f"undefined {sum(row.undefined for row in rows)}",
        f"failed {0 if qrels.failed is None else int(qrels.failed[averaged].sum())}",
        f"rel {policies.rel if policies.rel is not None else qrels.scale.rel}",
        f"judge {qrels.judge}" if qrels.judge else "",
        "ties docid-desc",
        str(policies),
        f"qrels sha256:{qrels.digest[:8]}" if qrels.digest else "",
        f"bank sha256:{qrels.bank.digest[:8]}" if qrels.bank and qrels.bank.digest else "",
    ]
    return "|".join(filter(None, parts))
