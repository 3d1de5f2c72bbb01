"""What a reader of scores should know: sentences about the table, about each run, about the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from nuggeteval.data import Answer, NuggetQrels, Scores
from nuggeteval.errors import listed
from nuggeteval.measures import Bound
from nuggeteval.policies import Policies
from nuggeteval.ranking import Ranked
from nuggeteval.references import AnswerInputs
from nuggeteval.rows import BoolArray

__all__ = ["answer_notes", "outside_notes", "run_notes", "table_notes", "undefined_notes"]


def table_notes(bound: Sequence[Bound], policies: Policies, qrels: NuggetQrels, rel: int) -> list[str]:
    """What is worth knowing about the table, whatever the run."""
    notes = []
    if qrels.bank is not None:
        notes += _bank_notes(qrels)
    if rel == 1 and qrels.scale.top >= 5 and any(m.arguments.get("rel") == 1 and not _ignores_rel(m) for m in bound):
        notes.append(
            f"{qrels.name}: grades go up to {qrels.scale.top} and rel is 1, so that the faintest support counts; "
            "-l 3 (CRUX, LANCER) or -l 4 (LongEval) sets the least grade that counts"
        )
    for measure in bound:
        least = measure.arguments.get("rel")
        if isinstance(least, int) and least > qrels.scale.top and not _ignores_rel(measure):
            notes.append(f"{measure.name}: no grade of {qrels.name} reaches {least}; they go up to {qrels.scale.top}")
    subtopics = any("weights" in m.record.params for m in bound)
    if subtopics and qrels.bank is None and qrels.declared.max(initial=0) <= 1:
        notes.append(f"{qrels.name}: every topic has one nugget at most: are these nugget qrels?")
    if policies.on_failed == "zero" and qrels.failed is not None and qrels.failed.any():
        notes.append(f"{qrels.name}: {int(qrels.failed.sum())} judgments failed, and count 0")
    if policies.on_failed == "skip" and qrels.failed is not None and qrels.failed.any():
        skipped = [topic for topic, failed in zip(qrels.topics, qrels.failed.tolist(), strict=True) if failed]
        notes.append(f"{qrels.name}: topics with failed judgments, left out for every run: {listed(skipped)}")
    if policies.depth and any(m.measure.name == "nDCG" and m.measure.cutoff is None for m in bound):
        notes.append(
            f"nDCG without cutoff of runs cut at {policies.depth}: its ideal ranking is not cut; nDCG@k is meant?"
        )
    if not isinstance(policies.topics, str | None):
        unknown = [topic for topic in policies.topics if topic not in qrels.topic_index]
        if unknown:
            notes.append(f"listed topics that are not in {qrels.name}: {listed(unknown)}")
    return notes


def _ignores_rel(measure: Bound) -> bool:
    """NDCG takes grades as they are, unless it counts nuggets."""
    return measure.measure.name == "nDCG" and measure.arguments["adhoc"] != "count"


def _bank_notes(qrels: NuggetQrels) -> list[str]:
    bank = qrels.bank
    if bank is None:
        return []
    notes = list(bank.notes)
    if qrels.ignored_rows:
        notes.append(f"{qrels.name}: {qrels.ignored_rows} rows for nuggets that {bank.name} does not declare, ignored")
    topics = list(zip(qrels.topics, qrels.judged_topics.tolist(), strict=True))
    only_bank = [topic for topic, judged in topics if not judged and bank.nuggets.get(topic)]
    if only_bank:
        notes.append(f"topics of {bank.name} that {qrels.name} does not judge: {listed(only_bank)}")
    without = [topic for topic, judged in topics if judged and not bank.nuggets.get(topic)]
    if without:
        notes.append(f"topics without a nugget in {bank.name}: {listed(without)}")
    return notes


def run_notes(name: str, counted: BoolArray, ranked: Ranked, policies: Policies) -> list[str]:
    """What is worth knowing about a run, given which topics are averaged."""
    notes = list(ranked.notes)
    missing = [ranked.qrels.topics[index] for index in np.flatnonzero(counted & ~ranked.answered)]
    if missing:
        notes.append(
            f"{name}: {len(missing)} of {int(counted.sum())} topics have no line and count 0: {listed(missing)}"
        )
    if policies.topics == "run" and (left := int(np.count_nonzero(ranked.qrels.judged_topics & ~ranked.answered))):
        notes.append(f"{name}: {left} topics of the qrels have no line and are in no mean (--topics run)")
    if not len(ranked.unit):
        notes.append(f"{name}: no unit is judged: {_example_units(ranked)}")
    if ranked.unknown_topics:
        count = len(ranked.unknown_topics)
        notes.append(f"{name}: {count} topics are not in the qrels, ignored: {listed(ranked.unknown_topics)}")
    if policies.order == "score":
        if ranked.tied_topics:
            notes.append(
                f"{name}: all scores are tied in {listed(ranked.tied_topics)}; the rank column is not used, ids "
                "decide (--order rank follows it)"
            )
        if ranked.tied:
            notes.append(f"{name}: {ranked.tied} groups of tied scores hold judged units; ordered by id, descending")
        if ranked.disagreeing:
            notes.append(
                f"{name}: rank and score disagree in {listed(ranked.disagreeing)}; the score decides "
                "(--order rank follows the rank column)"
            )
    return notes


def _example_units(ranked: Ranked) -> str:
    theirs = ranked.qrels.unit_ids[0] if len(ranked.qrels.unit_ids) else "none"
    return f"units of the run are like {ranked.example!r}, units of the qrels like {theirs!r}"


_OF_ALL = ("TFC1", "BERTScore", "BEM")
"""How remarks begin that are on all runs."""

_WHAT = {
    "gold": "gold answer",
    "qrels": "judged document",
    "queries": "query",
    "candidates": "candidate",
    "reference": "answer of the reference run",
    "support": "judged support",
}


def outside_notes(bound: Sequence[Bound], needs: Iterable[str], inputs: AnswerInputs) -> Iterator[str]:
    """Which answered topics an input does not have, given the measures and the inputs whose topics they have."""
    for need in needs:
        known = set(inputs.topics(need))
        others = [topic for topic in inputs.pool if topic not in known]
        if others:
            measures = ", ".join(dict.fromkeys(m.measure.name for m in bound if need in m.record.needs))
            what = f"have no {_WHAT[need]} and are in no mean of {measures}"
            yield f"{len(others)} answered topics {what}: {listed(others)}"


def answer_notes(
    run: str,
    answers: Mapping[str, Answer],
    bound: Sequence[Bound],
    topics: Mapping[str, Sequence[str]],
    inputs: AnswerInputs,
    policies: Policies,
) -> Iterator[str]:
    """What is worth knowing about the answers of a run.

    Args:
        run: its name.
        answers: its answers, by topic.
        bound: the measures.
        topics: input -> its topics that are averaged.
        inputs: what answers are scored against.
        policies: which topics.
    """
    for need, averaged in topics.items():
        missing = [topic for topic in averaged if topic not in answers]
        if missing and policies.topics == "run":
            yield f"{run}: {len(missing)} topics have no answer and are in no mean (--topics run)"
        elif missing:
            count = "are empty responses of the pool" if need == "queries" else "count 0"
            yield f"{run}: {len(missing)} of {len(averaged)} topics have no answer and {count}: {listed(missing)}"
    for measure in bound:
        if measure.record.remarks is not None:
            remarks = measure.record.remarks(answers, inputs, **measure.arguments)
            yield from (remark if remark.startswith(_OF_ALL) else f"{run}: {remark}" for remark in remarks)


def undefined_notes(scores: Scores) -> list[str]:
    """Measures that have no value for some topic of some run."""
    notes = []
    for m, measure in enumerate(scores.measures):
        counts = [scores.undefined(r, m) for r in range(len(scores.runs))]
        if max(counts) and measure != "num_undefined":
            most = max(counts)
            notes.append(f"{measure}: undefined for {most} of {len(scores.topics)} topics, left out of the mean")
    return notes
