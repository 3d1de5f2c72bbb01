"""The measure table: name -> record; the order of the table is the order of all output.

A record says everything about a measure but what the data are: its kernel, its parameters, what it
means and who defined it, so that ``nuggeteval measures`` cannot drift from the code. A kernel takes
a :class:`~nuggeteval.ranking.Ranked` run and its parameters and returns one value a topic; one whose
record needs ``answers`` takes the answers of a run by topic, an
:class:`~nuggeteval.references.AnswerInputs` and its parameters, and returns the values by topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nuggeteval.data import Answer
from nuggeteval.errors import ParameterError, UnknownNameError, shorten
from nuggeteval.grammar import Measure, parse, parse_trec, split
from nuggeteval.measures.names import ALIASES, NICKNAMES, TABLE, TREC_NAMES
from nuggeteval.ranking import Ranked
from nuggeteval.references import AnswerInputs
from nuggeteval.registry import load, suggestion
from nuggeteval.rows import FloatArray

__all__ = [
    "ALIASES",
    "NICKNAMES",
    "TABLE",
    "TREC_NAMES",
    "Bound",
    "Param",
    "Record",
    "as_measures",
    "bind",
    "direction_of",
    "expand_names",
    "is_measure",
    "known_names",
    "name_of",
    "record_of",
]


_DEEPEST = 10**8


@dataclass(frozen=True)
class Param:
    """A parameter of a measure.

    Attributes:
        default: its value where none is given.
        meaning: one line for ``nuggeteval measures``.
        check: whether a value is allowed.
        rule: what ``check`` demands, for messages: "must be ...".
        follows: the policy that sets it where the measure does not: ``rel``, ``adhoc`` or none.
    """

    default: Any
    meaning: str
    check: Callable[[Any], bool]
    rule: str
    follows: str = ""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def choice(default: str, options: tuple[str, ...], meaning: str, follows: str = "") -> Param:
    """A parameter with a fixed set of values."""
    return Param(default, meaning, lambda value: value in options, f"one of {', '.join(options)}", follows)


def probability(default: float, meaning: str) -> Param:
    """A parameter in [0, 1)."""

    def check(value: Any) -> bool:
        return (_is_int(value) or isinstance(value, float)) and 0 <= value < 1

    return Param(default, meaning, check, "in [0, 1)")


def integer(default: int | None, meaning: str, follows: str = "") -> Param:
    """A parameter that is an integer of at least 1."""
    return Param(default, meaning, lambda value: _is_int(value) and value >= 1, "an integer of at least 1", follows)


def text(default: str | None, meaning: str) -> Param:
    """A parameter that is a text, for example a path in quotes."""
    return Param(default, meaning, lambda value: isinstance(value, str) and bool(value.strip()), "a text in quotes")


REL = integer(None, "least grade that counts; by default that of --rel, else 1 or what the judge's scale says", "rel")
JUDGED_ONLY = Param(
    False, "leave unjudged units out of the ranking first", lambda value: isinstance(value, bool), "True or False"
)
WEIGHTS = choice("none", ("none", "importance"), "weight nuggets by importance: vital 1, okay 0.5, or the bank's own")


@dataclass(frozen=True)
class Record:
    """All there is to know about a measure.

    Attributes:
        kernel: ``kernel(ranked, cutoff=..., **params)`` -> values, shape (T,), NaN where undefined.
        definition: in words and one formula.
        citation: who defined it.
        params: by name.
        cutoff: ``required``, ``optional`` or ``none``.
        views: what its units may be; empty for any.
        needs: what it needs beside qrels and a run: ``bank``, ``judgments``, ``documents``; of a kernel that takes
            answers ``answers`` and then fields of the inputs, the topics being those of the first.
        oracle: the program whose values it equals, if one computes it.
        summed: its aggregate is the sum over topics, not the mean.
        micro: kernel of the weights that make the mean a pooled one, where ``avg="micro"``.
        remarks: of a kernel that takes answers: (answers, inputs, **params) -> what a reader should know of them.
        stamp: of a kernel that takes answers: (inputs, **params) -> what its values depend on, for signatures.
        higher_is_better: None for counts, which have no direction.
    """

    kernel: Callable[..., Any]
    definition: str
    citation: str
    params: dict[str, Param]
    cutoff: str = "none"
    views: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    oracle: str = ""
    summed: bool = False
    micro: Callable[..., Any] | None = None
    remarks: Callable[..., Iterable[str]] | None = None
    stamp: Callable[..., str] | None = None
    higher_is_better: bool | None = True

    @property
    def takes_answers(self) -> bool:
        """Whether its kernel takes answers, not ranked units."""
        return "answers" in self.needs


def __getattr__(name: str) -> Any:
    """``measures.alpha_nDCG @ 10``: every name of the table is a measure value."""
    if name in TABLE or name in ALIASES:
        return Measure(ALIASES.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def record_of(name: str) -> Record:
    """The record of one of our own measures.

    Raises:
        KeyError: the table has no such name.
    """
    records: dict[str, Record] = load(f"{__name__}.{TABLE[name]}:RECORDS")
    return records[name]


def name_of(text: str) -> str:
    """The name of a measure without its parameters, as in the table where it is one of ours."""
    try:
        return _canonical(parse(text)).name
    except ParameterError:
        return text


def direction_of(text: str) -> bool | None:
    """Whether more is better in a measure, by its record; None for counts. Unknown measures: more is better.

    Args:
        text: a measure as it is printed, ours or another program's.
    """
    name = name_of(text)
    if name in TABLE:
        return record_of(name).higher_is_better
    return None if text.lower().startswith("num_") else True


def is_measure(text: str) -> bool:
    """Whether a text names a measure, ours or trec_eval's."""
    return name_of(text) in TABLE or text.partition("_")[0] in ("ndcg", "recall", "success", "map", "iprec", "num")


def known_names(theirs: Iterable[str] = ()) -> list[str]:
    """Everything that can be asked for by name, the likeliest first; ``theirs`` are those of ir_measures."""
    return list(dict.fromkeys((*TABLE, *NICKNAMES, *theirs, *ALIASES, *TREC_NAMES)))


def expand_names(text: str) -> list[Measure]:
    """The measures that a text names: nicknames, trec_eval names and lists are spelled out.

    Args:
        text: for example ``official``, ``nDCG@5 Cov@10``, ``ndcg_cut.5,10`` or ``P(rel=2)@10``.

    Raises:
        ParameterError: something that is not written as a measure is.
    """
    measures: list[Measure] = []
    for part in split(text):
        if part in NICKNAMES:
            measures += [measure for name in NICKNAMES[part] for measure in expand_names(name)]
        else:
            measures += _from_trec(part) or [_canonical(parse(part))]
    if not measures:
        raise ParameterError("an empty list of measures")
    return measures


def as_measures(measures: str | Measure | Iterable[Any]) -> list[Measure]:
    """Measures from text, our measures or those of ir_measures, without repetitions.

    Raises:
        ParameterError: a text that is no measure.
    """
    # A measure of ir_measures can be indexed, and so looks like a sequence.
    if isinstance(measures, str | Measure) or hasattr(measures, "SUPPORTED_PARAMS"):
        measures = [measures]
    found: list[Measure] = []
    for measure in measures:
        found += [measure] if isinstance(measure, Measure) else expand_names(str(measure))
    if not found:
        raise ParameterError("no measure to compute")
    return list({str(measure): measure for measure in found}.values())


def _canonical(measure: Measure) -> Measure:
    return replace(measure, name=ALIASES.get(measure.name, measure.name))


def _from_trec(text: str) -> list[Measure]:
    """The measures of a trec_eval name, labelled as trec_eval labels them; none for other names."""
    found = parse_trec(text)
    if found is None or found[0] not in TREC_NAMES:
        return []
    name, (ours, cutoffs) = found[0], TREC_NAMES[found[0]]
    if found[1] and not cutoffs:
        raise ParameterError(f"{shorten(text)}: trec_eval's {name} takes no cutoff")
    measures = []
    for cutoff in found[1] or cutoffs or (None,):
        at = None if cutoff is None else float(cutoff) if "." in cutoff else int(cutoff)
        shown = f"{at:.2f}" if isinstance(at, float) else str(at)
        label = name if at is None else f"{name}_{shown}"
        measures.append(Measure(ours, (), at, label))
    return measures


@dataclass(frozen=True)
class Bound:
    """One of our measures, checked and ready to be computed.

    Attributes:
        measure: as asked for.
        record: what it is.
        arguments: what its kernel is called with, beside the ranking.
        judged_only: whether it wants the ranking without unjudged units.
        micro: whether its mean is pooled over topics.
    """

    measure: Measure
    record: Record
    arguments: dict[str, Any]
    judged_only: bool = False
    micro: bool = False

    @property
    def name(self) -> str:
        """How the measure is printed."""
        return str(self.measure)

    @property
    def views(self) -> tuple[str, ...]:
        """What its units may be; empty for any."""
        return self.record.views

    @property
    def summed(self) -> bool:
        """Whether its aggregate is a sum."""
        return self.record.summed

    def values(self, ranked: Ranked, **more: FloatArray) -> FloatArray:
        """Its value for every topic of the table, NaN where undefined, shape (T,).

        Args:
            ranked: the run.
            more: what the kernel takes beside the ranking, where the record needs ``documents``.
        """
        values: FloatArray = self.record.kernel(self._view(ranked), **self.arguments, **more)
        return values

    def values_of(self, answers: Mapping[str, Answer], inputs: AnswerInputs) -> Mapping[str, float]:
        """Its value for every topic that is answered, NaN where undefined, where the record takes answers."""
        values: Mapping[str, float] = self.record.kernel(answers, inputs, **self.arguments)
        return values

    def _view(self, ranked: Ranked) -> Ranked:
        return ranked.judged_only if self.judged_only else ranked

    def weights(self, ranked: Ranked) -> FloatArray | None:
        """Weight of every topic in a pooled mean, shape (T,); None for a plain mean."""
        return self.record.micro(self._view(ranked)) if self.micro and self.record.micro else None


def bind(
    measure: Measure, rel: int | None = None, scale_rel: int = 1, adhoc: str = "max", judged_only: bool = False
) -> Bound:
    """Check a measure against its record, and fill in what it does not say.

    Args:
        measure: one of the table.
        rel: least grade that counts, if the user says so; it goes before a measure's own default.
        scale_rel: least grade that counts on the scale of the table.
        adhoc: grade of a unit from those of its nuggets.
        judged_only: leave unjudged units out, whatever the measure says.

    Raises:
        UnknownNameError: no such measure in the table.
        ParameterError: a parameter or cutoff that it does not take.
    """
    if measure.name not in TABLE:
        raise UnknownNameError(f"unknown measure {shorten(str(measure))!r}{suggestion(measure.name, known_names())}")
    record = record_of(measure.name)
    given = dict(measure.params)
    for name, value in given.items():
        _check_param(measure, record, name, value)
    policies = {"rel": rel, "adhoc": adhoc}
    asked = {}
    for name, param in record.params.items():
        policy = policies.get(param.follows)
        asked[name] = given.get(name, param.default if policy is None else policy)
        if param.follows == "rel" and asked[name] is None:
            asked[name] = scale_rel
    if record.cutoff != "none" or measure.cutoff is not None:
        asked["cutoff"] = _checked_cutoff(measure, record)
    only = bool(asked.pop("judged_only", False)) or judged_only
    micro = asked.pop("avg", "macro") == "micro"
    return Bound(measure, record, asked, only, micro)


def _check_param(measure: Measure, record: Record, name: str, value: Any) -> None:
    if name not in record.params:
        known = ", ".join(record.params) or "none"
        raise ParameterError(f"{measure}: {measure.name} has no parameter {name!r} (it has: {known})")
    if not record.params[name].check(value):
        raise ParameterError(f"{measure}: {name!r} must be {record.params[name].rule} (got {value!r})")


def _checked_cutoff(measure: Measure, record: Record) -> int | None:
    cutoff = measure.cutoff
    if record.cutoff == "none":
        raise ParameterError(f"{measure}: {measure.name} takes no cutoff")
    if cutoff is None:
        if record.cutoff == "required":
            raise ParameterError(f"{measure}: {measure.name} needs a cutoff, for example {measure.name}@10")
        return None
    if not isinstance(cutoff, int) or cutoff < 1:
        raise ParameterError(f"{measure}: cutoff must be an integer of at least 1 (got {cutoff})")
    if cutoff > _DEEPEST:
        raise ParameterError(f"{measure}: cutoff must be at most {_DEEPEST} (got {cutoff})")
    return cutoff
