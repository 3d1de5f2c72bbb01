"""Score answers against reference texts, relevant documents, another run, one another.

``evaluate_answers(measures, answers, inputs, policies) -> Scores``: as :func:`nuggeteval.scoring.evaluate`, for
measures whose records take answers. Each measure has the topics of what it is scored against; the table has all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nuggeteval.data import Answer, Scores
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.grammar import Measure
from nuggeteval.ids import topic_order
from nuggeteval.measures import TABLE, Bound, as_measures, bind, record_of
from nuggeteval.notes import answer_notes, outside_notes, undefined_notes
from nuggeteval.policies import Policies
from nuggeteval.references import AnswerInputs
from nuggeteval.version import __version__

__all__ = ["INPUTS", "evaluate_answers", "source_of"]

INPUTS = ("gold", "qrels", "queries", "candidates", "reference", "support")
"""What answers can be scored against: attributes of :class:`AnswerInputs`."""


def source_of(bound: Bound) -> str:
    """The input whose topics a measure has."""
    return next(need for need in bound.record.needs if need in INPUTS)


def evaluate_answers(
    measures: str | Measure | Iterable[Any],
    answers: Sequence[Answer],
    inputs: AnswerInputs,
    policies: Policies | None = None,
    progress: Callable[[str], None] | None = None,
) -> Scores:
    """Score answers.

    Args:
        measures: texts, nicknames or measure objects; each must take answers.
        answers: of any number of runs; together they are the pool.
        inputs: what they are scored against.
        policies: ``topics`` (a sequence, or ``run``), ``undefined`` and ``rel`` hold here.
        progress: called with the name of each run once it is scored.

    Returns:
        values of every run, topic of any measure, and measure; absent where a measure does not have the topic.

    Raises:
        UnknownNameError, ParameterError: a measure that cannot be, or that takes no answers, or whose input is missing.
        DataError: no answer; no topic in common.
    """
    policies = policies or Policies()
    if not answers:
        raise DataError("no answer to score")
    inputs = inputs.with_pool(answers)
    bound = [_bound(measure, inputs, policies) for measure in as_measures(measures)]
    topics = {need: _chosen(inputs.topics(need), policies) for need in dict.fromkeys(map(source_of, bound))}
    _check_common(topics, answers)
    order = topic_order({topic for chosen in topics.values() for topic in chosen})
    place = {topic: index for index, topic in enumerate(order)}
    values = np.full((len(inputs.runs), len(order), len(bound)), np.nan)
    present = np.zeros(values.shape, dtype=bool)
    notes = list(outside_notes(bound, topics, inputs))
    for r, run in enumerate(inputs.runs):
        mine = {topic: pool[run] for topic, pool in inputs.pool.items() if run in pool}
        for m, measure in enumerate(bound):
            found = measure.values_of(mine, inputs)
            for topic in topics[source_of(measure)]:
                values[r, place[topic], m] = found.get(topic, 0.0)
                present[r, place[topic], m] = policies.topics != "run" or topic in mine
        notes += answer_notes(run, mine, bound, topics, inputs, policies)
        if progress:
            progress(run)
    if policies.undefined == "zero":
        values = np.nan_to_num(values, nan=0.0)
    values[~present] = np.nan
    scores = Scores(
        runs=inputs.runs,
        topics=tuple(order),
        measures=tuple(measure.name for measure in bound),
        values=values,
        present=present,
        summed=frozenset(measure.name for measure in bound if measure.summed),
    )
    told = (*dict.fromkeys(notes), *undefined_notes(scores))
    return replace(scores, signature=_signature(scores, bound, inputs, policies), notes=told)


def _bound(measure: Measure, inputs: AnswerInputs, policies: Policies) -> Bound:
    """A measure that is checked against its record, and whose inputs are there.

    Raises:
        UnknownNameError, ParameterError: it cannot be computed.
    """
    if measure.name in TABLE and not record_of(measure.name).takes_answers:
        raise ParameterError(f"{measure} takes ranked units, not answers: evaluate computes it")
    found = bind(measure, policies.rel, inputs.table("qrels").scale.rel if inputs.qrels is not None else 1)
    missing = [need for need in found.record.needs if need in INPUTS and getattr(inputs, need) is None]
    if missing:
        raise ParameterError(f"{measure} needs {' and '.join(missing)}")
    return found


def _chosen(topics: Sequence[str], policies: Policies) -> list[str]:
    """The topics of an input that are averaged."""
    if isinstance(policies.topics, str | None):
        return list(topics)
    listed = set(policies.topics)
    return [topic for topic in topics if topic in listed]


def _check_common(topics: Mapping[str, Sequence[str]], answers: Sequence[Answer]) -> None:
    """Refuse answers and inputs that do not belong together.

    Raises:
        DataError: showing topics of both.
    """
    answered = {answer.topic for answer in answers}
    for need, theirs in topics.items():
        if answered.isdisjoint(theirs):
            ours, shown = (", ".join(map(repr, sorted(some)[:3])) for some in (answered, theirs))
            raise DataError(
                f"answers and {need} have no topic in common: topics of the answers are {ours}, ...; "
                f"topics of the {need} are {shown or 'none that is listed'}, ..."
            )


def _signature(scores: Scores, bound: Sequence[Bound], inputs: AnswerInputs, policies: Policies) -> str:
    """One line that says under which policies the values hold, and what they depend on."""
    counted = sorted({int(number) for number in scores.present.any(axis=0).sum(axis=0)})
    answered = [sum(run in inputs.pool.get(topic, {}) for topic in scores.topics) for run in scores.runs]
    undefined = (scores.present & np.isnan(scores.values)).any(axis=2)
    used = dict.fromkeys(need for measure in bound for need in measure.record.needs if need in INPUTS)
    digests = {need: inputs.digest(need)[:8] for need in used}
    levels = dict.fromkeys(m.arguments["rel"] for m in bound if "rel" in m.arguments)
    parts = [
        f"nuggeteval {__version__}",
        f"runs {len(scores.runs)}" if len(scores.runs) > 1 else "",
        f"topics {'-'.join(map(str, dict.fromkeys((counted[0], counted[-1]))))}",
        f"missing {0 if policies.topics == 'run' else sum(len(scores.topics) - number for number in answered)}",
        f"undefined {int(undefined.sum())}",
        *(f"rel {level}" for level in levels),
        str(policies),
        *(f"{need} sha256:{digest}" for need, digest in digests.items() if digest),
        *(m.record.stamp(inputs, **m.arguments) for m in bound if m.record.stamp is not None),
    ]
    return "|".join(dict.fromkeys(filter(None, parts)))
