"""ir_measures both ways: their measures for our runs, ours for their callers.

Their measures get our ranking: scores are replaced by negated ranks, so that ties, which their
providers break in several ways and in 32 bits, are gone; and one parameterisation is computed a
call, since several in one call overwrite one another (ir_measures 0.4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nuggeteval.data import NuggetQrels, Run
from nuggeteval.errors import DataError, MissingDependencyError, ParameterError, UnknownNameError, shorten
from nuggeteval.formats.irds import nugget_of
from nuggeteval.grammar import Measure
from nuggeteval.ids import Ids
from nuggeteval.measures import ALIASES, TABLE, bind, known_names, record_of
from nuggeteval.ranking import rank
from nuggeteval.registry import suggestion
from nuggeteval.rows import FloatArray

__all__ = ["TheirRun", "Theirs", "as_their_run", "bind_theirs", "describe_theirs", "register"]

TheirRun = dict[str, dict[str, float]]
"""A run by topic numbers from 1: some providers read no other topics (gdeval)."""


@dataclass(frozen=True)
class Theirs:
    """A measure that ir_measures computes.

    Attributes:
        measure: as asked for.
        found: the ir_measures object.
        rel: least grade that counts, where the grade of a unit is the number of its nuggets.
        adhoc: grade of a unit from those of its nuggets.
    """

    measure: Measure
    found: Any
    rel: int
    adhoc: str

    @property
    def name(self) -> str:
        """How the measure is printed."""
        return str(self.measure)

    @property
    def summed(self) -> bool:
        """Whether its aggregate is a sum over topics."""
        import ir_measures

        return isinstance(self.found.aggregator(), ir_measures.SumAgg)

    def values(self, qrels: NuggetQrels, run: TheirRun) -> FloatArray:
        """Its value for every topic of the table, their default where the run has none, shape (T,)."""
        import ir_measures

        def evaluator() -> Any:
            key = ("their_qrels", self.adhoc, self.rel)
            table = qrels.memo(key, lambda: _their_qrels(qrels, self.adhoc, self.rel))
            return ir_measures.evaluator([self.found], table)

        values = np.full(len(qrels.topics), float(self.found.DEFAULT))
        try:
            for metric in qrels.memo(("evaluator", repr(self.found), self.adhoc, self.rel), evaluator).iter_calc(run):
                values[int(metric.query_id) - 1] = metric.value
        # Providers start other programs, and die of what those do not like.
        except Exception as error:
            raise DataError(f"{self.name}: ir_measures could not compute it: {error}") from error
        return values


def bind_theirs(measure: Measure, rel: int, adhoc: str = "max") -> Theirs:
    """Find and check a measure that is not in our table.

    Args:
        measure: name, parameters and cutoff.
        rel: least grade that counts, for measures that take one and are not given one.
        adhoc: grade of a unit from those of its nuggets.

    Raises:
        UnknownNameError: ir_measures has no such measure either.
        ParameterError: it does not take these parameters.
        MissingDependencyError: no installed package computes it.
    """
    import ir_measures

    known = ir_measures.measures.registry
    if measure.name not in known:
        raise UnknownNameError(
            f"unknown measure {shorten(str(measure))!r}{suggestion(measure.name, known_names(known))}"
        )
    params = dict(measure.params)
    if "rel" in known[measure.name].SUPPORTED_PARAMS:
        rel = params.setdefault("rel", rel)
        if adhoc == "count":
            params["rel"] = 1  # the grade is a number of nuggets, each of which counts at rel
    found = known[measure.name](**params)
    if measure.cutoff is not None:
        if found.AT_PARAM not in found.SUPPORTED_PARAMS:
            raise ParameterError(f"{measure}: {measure.name} takes no cutoff")
        found = found @ measure.cutoff
    _check_theirs(measure, found)
    return Theirs(measure, found, rel, adhoc)


def describe_theirs(measure: Measure) -> str:
    """What ir_measures says about one of its measures.

    Raises:
        UnknownNameError: it has no such measure.
    """
    import ir_measures

    known = ir_measures.measures.registry
    if measure.name not in known:
        raise UnknownNameError(
            f"unknown measure {shorten(str(measure))!r}{suggestion(measure.name, known_names(known))}"
        )
    found = known[measure.name]
    about = " ".join((getattr(found, "SHORT_DESC", None) or found.__doc__ or "").split())
    params = "; ".join(f"{name}: {info.desc}" for name, info in found.SUPPORTED_PARAMS.items())
    return f"{about} Computed by ir_measures, on our ranking. Parameters: {params or 'none'}."


def _check_theirs(measure: Measure, found: Any) -> None:
    import ir_measures

    cutoff = found.params.get("cutoff", 1)
    if isinstance(cutoff, int) and cutoff < 1:
        raise ParameterError(f"{measure}: cutoff must be at least 1 (got {cutoff})")
    for name, info in found.SUPPORTED_PARAMS.items():
        if info.required and name not in found.params:
            raise ParameterError(f"{measure}: {name} must be given: {info.desc}")
    try:
        found.validate_params()
        able = [provider for provider in ir_measures.DefaultPipeline.providers if provider.supports(found)]
    except (AssertionError, TypeError) as error:
        raise ParameterError(f"{measure}: {error}") from error
    if not able:
        raise ParameterError(f"{measure}: no provider of ir_measures computes it with these parameters")
    if not any(provider.is_available() for provider in able):
        ways = "; ".join(filter(None, (provider.install_instructions() for provider in able)))
        raise MissingDependencyError(f"{measure} needs another package: {ways or able[0].NAME}")


def as_their_run(run: Run, qrels: NuggetQrels, order: str, depth: int | None, judged_only: bool) -> TheirRun:
    """A run as ir_measures takes it, scored by negated rank."""
    rankings: TheirRun = {}
    seen: dict[str, int] = {}
    judged = _judged_names(qrels) if judged_only else None
    for record in run.ordered(order)[0].tolist():
        topic = run.topics[int(run.topic[record])]
        if topic not in qrels.topic_index:
            continue
        seen[topic] = seen.get(topic, 0) + 1
        unit = run.units[record]
        if (depth is None or seen[topic] <= depth) and (judged is None or unit in judged[topic]):
            rankings.setdefault(_number(qrels, topic), {})[unit] = -float(seen[topic])
    return rankings


def _number(qrels: NuggetQrels, topic: str) -> str:
    return str(qrels.topic_index[topic] + 1)


def _judged_names(qrels: NuggetQrels) -> dict[str, set[str]]:
    def compute() -> dict[str, set[str]]:
        names: dict[str, set[str]] = {topic: set() for topic in qrels.topics}
        for topic, unit in zip(qrels.unit_topic.tolist(), qrels.unit_ids, strict=True):
            names[qrels.topics[topic]].add(unit)
        return names

    return qrels.memo("judged_names", compute)


def _their_qrels(qrels: NuggetQrels, adhoc: str, rel: int) -> dict[str, dict[str, int]]:
    """Ordinary qrels by topic numbers: one grade for each unit."""
    grades: dict[str, dict[str, int]] = {}
    values = qrels.unit_grades(adhoc, rel).tolist()
    for topic, unit, grade in zip(qrels.unit_topic.tolist(), qrels.unit_ids, values, strict=True):
        grades.setdefault(str(topic + 1), {})[unit] = grade
    return grades


def register() -> None:
    """Make our measures known to ir_measures, computed by our kernels.

    Those of answers and those that need texts are not: ir_measures knows runs and qrels alone.

    New names (Cov, Recall_NtN, ...) become attributes of ``ir_measures``; the diversity measures that
    it has are computed by us from now on, before pyndeval, at any cutoff. Undefined values are left
    out of means. Calling it again changes nothing.
    """
    import ir_measures

    if _PROVIDER in ir_measures.providers.registry:
        return
    ours = [name for name in TABLE if name not in ir_measures.measures.registry and _of_runs_alone(name)]
    for name in ours:
        measure = _declare(name)
        ir_measures.measures.register(measure)
        setattr(ir_measures, name, measure)
        ir_measures.__all__.append(name)
        setattr(ir_measures.measures, name, measure)
    provider = ir_measures.providers.register(_provider(ours))
    pipeline = ir_measures.DefaultPipeline.providers
    pipeline.insert(pipeline.index(ir_measures.providers.registry["pyndeval"]), provider)


def _of_runs_alone(name: str) -> bool:
    """Whether a measure takes runs and qrels, and neither answers, nor texts, nor the other measures."""
    record = record_of(name)
    return name != "num_undefined" and not record.takes_answers and "documents" not in record.needs


_PROVIDER = "nuggeteval"


def _declare(name: str) -> Any:
    """One of our measures as ir_measures declares its own."""
    import ir_measures

    record = record_of(name)
    info = ir_measures.measures.ParamInfo
    # A pooled mean needs weights, which their aggregation does not know.
    own = {key: param for key, param in record.params.items() if key != "avg"}
    params = {key: info(default=param.default, desc=param.meaning) for key, param in own.items()}
    if record.cutoff != "none":
        params["cutoff"] = info(dtype=int, required=record.cutoff == "required", desc="ranking cutoff threshold")
    body = {
        "__name__": name,
        "NAME": name,
        "__doc__": record.definition,
        "SHORT_DESC": record.definition,
        "SUPPORTED_PARAMS": params,
        "aggregator": lambda _self: ir_measures.SumAgg() if record.summed else _defined_mean(),
    }
    return type(f"_{name}", (ir_measures.measures.Measure,), body)()


def _defined_mean() -> Any:
    import ir_measures

    class DefinedMean(ir_measures.MeanAgg):
        """The mean of the values that are defined."""

        def add(self, value: float) -> None:
            if not math.isnan(value):
                super().add(value)

    return DefinedMean()


_DIVERSITY = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")


def _provider(ours: list[str]) -> Any:
    import ir_measures
    from ir_measures.providers.base import Any as AnyValue

    registry = ir_measures.measures.registry

    def supported(name: str) -> Any:
        return registry[name](**dict.fromkeys(registry[name].SUPPORTED_PARAMS, AnyValue()))

    computed = [supported(name) for name in (*ours, *_DIVERSITY)]

    class NuggetEvalProvider(ir_measures.providers.Provider):
        """Measures on nugget qrels by nuggeteval's kernels."""

        NAME = _PROVIDER
        SUPPORTED_MEASURES = computed

        def supports(self, measure: Any) -> bool:
            """Whether our table takes these parameters; others are left to the next provider."""
            if not super().supports(measure):
                return False
            try:
                bind(_our_measure(measure))
            except ParameterError:
                return measure.NAME in ours
            return True

        def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Any:
            return _evaluator(list(measures), _our_qrels(qrels))

    return NuggetEvalProvider()


def _our_qrels(qrels: Any) -> NuggetQrels:
    from ir_measures.util import QrelsConverter

    if isinstance(qrels, QrelsConverter):
        qrels = qrels.qrels
    rows = list(QrelsConverter(qrels).as_namedtuple_iter())
    return NuggetQrels.of((row.query_id, nugget_of(row), row.doc_id, row.relevance) for row in rows)


def _our_measure(theirs: Any) -> Measure:
    params = {key: value for key, value in theirs.params.items() if key != "cutoff"}
    name = ALIASES.get(theirs.NAME, theirs.NAME)
    return Measure(name, tuple(sorted(params.items())), theirs.params.get("cutoff"))


def _evaluator(measures: list[Any], qrels: NuggetQrels) -> Any:
    import ir_measures
    from ir_measures.util import RunConverter

    bound = [bind(_our_measure(measure), scale_rel=qrels.scale.rel) for measure in measures]

    class NuggetEvalEvaluator(ir_measures.Evaluator):
        """Scores runs by nuggeteval's kernels."""

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            ranked = rank(_our_run(RunConverter(run)), qrels)
            for theirs, ours in zip(measures, bound, strict=True):
                values = ours.values(ranked)
                for topic, value in zip(qrels.topics, values.tolist(), strict=True):
                    yield ir_measures.Metric(query_id=topic, measure=theirs, value=value)

    return NuggetEvalEvaluator(measures, set(qrels.topics))


def _our_run(converter: Any) -> Run:
    """A run from any of the shapes that ir_measures takes."""
    rows = list(converter.as_namedtuple_iter())
    topics = {topic: index for index, topic in enumerate(dict.fromkeys(row.query_id for row in rows))}
    run = Run(
        name="run",
        topics=tuple(topics),
        topic=np.array([topics[row.query_id] for row in rows], dtype=np.int64),
        units=Ids.of(row.doc_id for row in rows),
        scores=np.array([float(row.score) for row in rows], dtype=np.float64),
    )
    return run.without_duplicates()
