"""What the options of the commands that score answers mean: what answers are scored against, and by which measures."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nuggeteval.data import Answer
from nuggeteval.errors import DataError, ParameterError, UnknownNameError, listed
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.candidates import read_candidates
from nuggeteval.formats.gold import read_gold
from nuggeteval.formats.topics import read_queries
from nuggeteval.formats.trec import read_qrels
from nuggeteval.grammar import Measure, split
from nuggeteval.measures import NICKNAMES, TABLE, as_measures, record_of
from nuggeteval.references import AnswerInputs
from nuggeteval.registry import suggestion

__all__ = ["Chosen", "add_answer_options", "answer_files_of", "choose", "read_inputs", "scores_answers"]

_FLAGS = {
    "gold": "--gold",
    "qrels": "--qrels",
    "queries": "--queries",
    "candidates": "--candidates",
    "reference": "--reference-run",
    "support": "--support",
    "judgments": "--judgments",
    "documents": "--documents",
}
"""What measures need -> the option that brings it; what it is called among the options is in ``_DESTINATIONS``."""
_DESTINATIONS = {"qrels": "cited_qrels", "reference": "reference_run"}


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what answers are scored against."""
    add = parser.add_argument
    add("--gold", metavar="FILE", help="score ANSWERS against gold answers: ROUGE, BERTScore, BEM")
    add("--qrels", dest=_DESTINATIONS["qrels"], metavar="FILE", help="relevant documents, for what ANSWERS cite")
    add("--reference-run", metavar="FILE", help="answers whose citations are the truth for those of ANSWERS")
    add("--support", metavar="FILE", help="topic document RUN/sN grade: how well sentences of ANSWERS are supported")
    add("--candidates", metavar="FILE", help="the documents that ANSWERS may cite: topic document, or a run")
    add("--queries", "--topics-file", dest="queries", metavar="FILE", help="what was asked (TFC1, BEM)")
    add("--documents", metavar="FILE", nargs="+", help="texts of documents (Density)")


def _given(options: argparse.Namespace, need: str) -> str | None:
    """What an option says; None where a command does not have it."""
    value: str | None = getattr(options, _DESTINATIONS.get(need, need), None)
    return value


def answer_files_of(options: argparse.Namespace) -> tuple[str | None, ...]:
    """The files that say what answers are scored against."""
    return tuple(_given(options, need) for need in _FLAGS if need not in ("judgments", "documents"))


def scores_answers(options: argparse.Namespace, measures: bool = False) -> bool:
    """Whether the positional files are answers.

    Args:
        options: of a command; of those that lack the options of answers only ``--judgments`` says so.
        measures: whether a measure that takes answers says so too.
    """
    if options.judgments:
        return True
    if not hasattr(options, "gold"):
        return False
    return any(answer_files_of(options)) or (measures and any(map(_takes_answers, _by_name(options.measure or ()))))


def _takes_answers(measure: Measure) -> bool:
    return measure.name in TABLE and record_of(measure.name).takes_answers


def _by_name(texts: Iterable[str]) -> list[Measure]:
    """The measures that are asked for by their own names, not by a nickname."""
    parts = [part for text in texts for part in split(text) if part not in NICKNAMES]
    return as_measures(parts) if parts else []


class Chosen(NamedTuple):
    """Measures that can be computed.

    Attributes:
        names: all, as they were asked for.
        answers: those that take answers.
        units: the others.
        notes: name what is left out.
    """

    names: tuple[str, ...]
    answers: tuple[Measure, ...]
    units: tuple[Measure, ...]
    notes: tuple[str, ...] = ()


def choose(texts: Sequence[str], options: argparse.Namespace, answers: bool) -> Chosen:
    """The measures that are asked for, without those of nicknames whose inputs are not given.

    Args:
        texts: measures and nicknames.
        options: of the command.
        answers: whether answers are scored; else runs against qrels.

    Raises:
        ParameterError: a measure asked for by name whose input is not given; nothing is left.
    """
    named = set(map(str, _by_name(texts)))
    left_out: dict[str, list[str]] = {}
    kept = []
    for measure in as_measures(texts):
        if answers and not options.judgments:
            _check_known(measure)
        missing = _missing(measure, options, answers)
        if not missing:
            kept.append(measure)
        elif str(measure) in named:
            raise ParameterError(f"{measure} needs {missing}")
        else:
            left_out.setdefault(missing, []).append(str(measure))
    told = "; ".join(f"{', '.join(names)} ({missing})" for missing, names in left_out.items())
    if not kept:
        raise ParameterError(f"no measure is left; their inputs are not given: {told}")
    of_answers = tuple(filter(_takes_answers, kept))
    of_units = tuple(measure for measure in kept if not _takes_answers(measure))
    notes = (f"left out, as their inputs are not given: {told}",) if told else ()
    return Chosen(tuple(map(str, kept)), of_answers, of_units, notes)


def _check_known(measure: Measure) -> None:
    """Refuse a name that nothing here computes of answers alone.

    Raises:
        UnknownNameError: with a hint.
    """
    if measure.name not in TABLE:
        raise UnknownNameError(f"unknown measure {str(measure)!r}{suggestion(measure.name, TABLE)}")


def _missing(measure: Measure, options: argparse.Namespace, answers: bool) -> str:
    """The options that would bring what a measure needs; empty where all is given."""
    needs = record_of(measure.name).needs if measure.name in TABLE else ()
    if answers and "answers" not in needs:
        needs = (*needs, "judgments")
    elif not answers:
        # Qrels have no raw scores, which the kernel says better.
        needs = tuple(need for need in needs if need != "judgments")
    lacking = [f"{_FLAGS[need]} FILE" for need in needs if need in _FLAGS and not _given(options, need)]
    if not answers and "answers" in needs and not lacking:
        lacking = ["ANSWERS"]
    return " and ".join(lacking)


def read_inputs(options: argparse.Namespace) -> AnswerInputs:
    """Read what answers are scored against.

    Raises:
        NuggetEvalError: as the readers do; a reference of several runs.
    """
    gold, qrels, queries, candidates, reference, support = (
        _given(options, need) for need in ("gold", "qrels", "queries", "candidates", "reference", "support")
    )
    return AnswerInputs(
        gold=read_gold(gold) if gold else None,
        qrels=read_qrels(qrels, options.duplicates) if qrels else None,
        queries=read_queries(queries) if queries else None,
        candidates=read_candidates(candidates) if candidates else None,
        reference=_of_one_run(read_answers(reference), reference) if reference else None,
        support=read_qrels(support, options.duplicates) if support else None,
    )


def _of_one_run(answers: Sequence[Answer], path: str) -> dict[str, Answer]:
    runs = list(dict.fromkeys(answer.run for answer in answers))
    if len(runs) > 1:
        raise DataError(f"{path}: a reference run is one run (got {listed(runs)})")
    return {answer.topic: answer for answer in answers}
