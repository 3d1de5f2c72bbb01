"""What answers cite: against relevant documents, against another run's citations, and by judged support.

LongEval-RAG at CLEF 2026; TREC RAG 2024 (support evaluation). What an answer cites is the set of documents that its
sentences cite, whatever it lists as references. A citation that leads nowhere is wrong against relevant documents and
in the diagnostics; the three measures of sets, as published, are of documents, and a note names what leads nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from nuggeteval.data import Answer, NuggetQrels, unit_of_run
from nuggeteval.errors import DataError, listed
from nuggeteval.measures import REL, Param, Record, choice
from nuggeteval.references import AnswerInputs

__all__ = ["RECORDS", "cited"]

_Answers = Mapping[str, Answer]
_Values = Mapping[str, float]


def cited(answer: Answer | None) -> frozenset[str]:
    """The distinct documents that the sentences of an answer cite."""
    return frozenset(document for sentence in answer.sentences for document in sentence.citations) if answer else _NONE


_NONE: frozenset[str] = frozenset()


def _lost(answer: Answer) -> int:
    """Number of distinct citations that lead nowhere."""
    return len({repr(citation) for _, citation in answer.unresolved})


def _share(part: float, whole: float, otherwise: float = 0.0) -> float:
    return part / whole if whole else otherwise


# --- against relevant documents --------------------------------------------------------------------


def _judged(inputs: AnswerInputs, rel: int) -> dict[str, dict[str, bool]]:
    """Topic -> judged document -> whether it is relevant."""

    def compute() -> dict[str, dict[str, bool]]:
        qrels = inputs.table("qrels")
        found: dict[str, dict[str, bool]] = {topic: {} for topic in inputs.topics("qrels")}
        grades = qrels.unit_grades("max", rel).tolist()
        for topic, document, grade in zip(qrels.unit_topic.tolist(), qrels.unit_ids, grades, strict=True):
            found[qrels.topics[topic]][document] = grade >= rel
        return found

    return inputs.memo(("judged", rel), compute)


def _relevant_cited(answer: Answer, judged: Mapping[str, bool]) -> int:
    return sum(judged.get(document, False) for document in cited(answer))


def cited_precision(answers: _Answers, inputs: AnswerInputs, rel: int) -> _Values:
    """Share of the cited documents that are relevant, by topic; 0 where nothing is cited."""
    return {
        topic: _share(_relevant_cited(answers[topic], judged), len(cited(answers[topic])) + _lost(answers[topic]))
        for topic, judged in _judged(inputs, rel).items()
        if topic in answers
    }


def cited_recall(answers: _Answers, inputs: AnswerInputs, rel: int) -> _Values:
    """Share of the relevant documents that are cited, by topic; 0 where there is none."""
    return {
        topic: _share(_relevant_cited(answers[topic], judged), sum(judged.values()))
        for topic, judged in _judged(inputs, rel).items()
        if topic in answers
    }


def _remarks_on_cited(answers: _Answers, inputs: AnswerInputs, rel: int) -> Iterator[str]:
    judged = _judged(inputs, rel)
    mine = {topic: answers[topic] for topic in judged if topic in answers}
    yield from _remarks_on_lost(mine, inputs)
    silent = [topic for topic, answer in mine.items() if not cited(answer) and not answer.unresolved]
    if silent:
        yield f"{len(silent)} answers cite no document and count 0: {listed(silent)}"
    unjudged = [f"{topic} {d}" for topic, answer in mine.items() for d in sorted(cited(answer) - judged[topic].keys())]
    if unjudged:
        yield f"{len(unjudged)} cited documents are not judged and count as not relevant: {listed(unjudged)}"
    yield from _remarks_on_strangers(mine, inputs)


def _remarks_on_lost(answers: _Answers, _: AnswerInputs) -> Iterator[str]:
    """Citations that lead nowhere, each with its place."""
    lost = [
        f"{answer.place or topic}, sentence {sentence + 1}: {citation!r}"
        for topic, answer in answers.items()
        for sentence, citation in answer.unresolved
    ]
    if lost:
        yield f"{len(lost)} citations lead nowhere and count as wrong: {listed(lost)}"


def _strangers(answer: Answer, inputs: AnswerInputs) -> list[str]:
    """Cited documents that are no candidates of the topic."""
    return sorted(cited(answer) - set((inputs.candidates or {}).get(answer.topic, ())))


def _remarks_on_strangers(answers: _Answers, inputs: AnswerInputs) -> Iterator[str]:
    if inputs.candidates is None:
        return
    strangers = [f"{topic} {d}" for topic, answer in answers.items() for d in _strangers(answer, inputs)]
    if strangers:
        yield f"{len(strangers)} cited documents are outside the candidates: {listed(strangers)}"


# --- against another run ---------------------------------------------------------------------------


def _against_reference(
    numerator: Callable[[frozenset[str], frozenset[str]], int], denominator: Callable[..., int]
) -> Callable[..., _Values]:
    """Kernel of a quotient of the sets of documents that the reference run and the answers cite."""

    def kernel(answers: _Answers, inputs: AnswerInputs, undefined: str) -> _Values:
        found: dict[str, float] = {}
        for topic, reference in (inputs.reference or {}).items():
            gold, mine = cited(reference), cited(answers.get(topic))
            value = _share(numerator(gold, mine), denominator(gold, mine), math.nan if undefined == "skip" else 0.0)
            # A missing answer is no reason to leave a topic out, unless nobody has a value there.
            if topic in answers or not gold:
                found[topic] = value
        return found

    return kernel


def _in_common(gold: frozenset[str], mine: frozenset[str]) -> int:
    return len(gold & mine)


def _unsupported(answer: Answer, reference: Answer) -> int:
    """Number of distinct citations that the reference run does not make."""
    return len(cited(answer) - cited(reference)) + _lost(answer)


def unsupported_citations(answers: _Answers, inputs: AnswerInputs) -> _Values:
    """Number of distinct citations that the reference run does not make, by topic."""
    reference = inputs.reference or {}
    return {t: float(_unsupported(answers[t], theirs)) for t, theirs in reference.items() if t in answers}


def reference_match(answers: _Answers, inputs: AnswerInputs) -> _Values:
    """1 where the reference run makes all citations of the answer, by topic."""
    reference = inputs.reference or {}
    return {t: float(not _unsupported(answers[t], theirs)) for t, theirs in reference.items() if t in answers}


def provenance(answers: _Answers, inputs: AnswerInputs) -> _Values:
    """1 where every citation of the answer leads to a candidate, by topic."""
    return {
        topic: float(not answers[topic].unresolved and not _strangers(answers[topic], inputs))
        for topic in inputs.candidates or {}
        if topic in answers
    }


def _remarks_on_provenance(answers: _Answers, inputs: AnswerInputs) -> Iterator[str]:
    mine = {topic: answers[topic] for topic in inputs.candidates or {} if topic in answers}
    yield from _remarks_on_lost(mine, inputs)
    yield from _remarks_on_strangers(mine, inputs)


# --- by judged support -----------------------------------------------------------------------------

_WORTH = {0: 0.0, 1: 0.5, 2: 1.0}


def _support(inputs: AnswerInputs) -> dict[tuple[str, str], dict[str, float]]:
    """(topic, sentence) -> cited document -> what its support is worth."""

    def compute() -> dict[tuple[str, str], dict[str, float]]:
        found: dict[tuple[str, str], dict[str, float]] = {}
        for topic, unit, document, grade in _rows(inputs.table("support")):
            if grade not in _WORTH:
                raise DataError(f"support of {unit!r} in topic {topic!r} must be 0, 1 or 2 (got {grade})")
            found.setdefault((topic, unit), {})[document] = _WORTH[grade]
        return found

    return inputs.memo("support", compute)


def _rows(table: NuggetQrels) -> Iterator[tuple[str, str, str, int]]:
    units = list(table.unit_ids)
    for unit, nugget, grade in zip(table.unit.tolist(), table.nugget.tolist(), table.grade.tolist(), strict=True):
        yield table.topics[table.unit_topic[unit]], units[unit], table.nugget_ids[nugget], grade


def _worths(answer: Answer, inputs: AnswerInputs) -> list[list[float | None]]:
    """For each sentence what its distinct citations are worth; None where nobody judged one."""
    run = unit_of_run(answer.run)
    table = _support(inputs)
    return [
        [table.get((answer.topic, f"{run}/s{number}"), {}).get(d) for d in dict.fromkeys(sentence.citations)]
        for number, sentence in enumerate(answer.sentences, start=1)
    ]


def _precision(worths: list[list[float | None]]) -> float:
    judged = [worth for sentence in worths for worth in sentence if worth is not None]
    return _share(math.fsum(judged), len(judged), math.nan)


def _recall(worths: list[list[float | None]]) -> float:
    best = [max((worth for worth in sentence if worth is not None), default=0.0) for sentence in worths]
    return _share(math.fsum(best), len(best))


def _by_support(value: Callable[[list[list[float | None]]], float]) -> Callable[..., _Values]:
    def kernel(answers: _Answers, inputs: AnswerInputs) -> _Values:
        topics = inputs.topics("support")
        return {topic: value(_worths(answers[topic], inputs)) for topic in topics if topic in answers}

    return kernel


def _remarks_on_support(answers: _Answers, inputs: AnswerInputs) -> Iterator[str]:
    mine = [answers[topic] for topic in inputs.topics("support") if topic in answers]
    unjudged = sum(worth is None for answer in mine for sentence in _worths(answer, inputs) for worth in sentence)
    lost = sum(len(answer.unresolved) for answer in mine)
    if unjudged or lost:
        yield f"{unjudged} citations have no judged support and {lost} lead nowhere; they are in no precision"


_LONGEVAL = "LongEval-RAG at CLEF 2026"
_RAG24 = 'Thakur et al., "Support evaluation for the TREC 2024 RAG track", 2025'
_OURS = "this project"
_UNDEFINED: dict[str, Param] = {
    "undefined": choice("zero", ("zero", "skip"), "an empty denominator: 0, or the topic left out of the mean")
}


def _cited_record(kernel: Callable[..., _Values], definition: str) -> Record:
    return Record(
        kernel,
        definition,
        _LONGEVAL,
        {"rel": REL},
        views=("answers",),
        needs=("answers", "qrels"),
        remarks=_remarks_on_cited,
    )


def _remarks_on_sets(answers: _Answers, inputs: AnswerInputs, undefined: str) -> Iterator[str]:
    del undefined
    reference = inputs.reference or {}
    run = next((answer.run for answer in answers.values()), "")
    if run and run in {answer.run for answer in reference.values()}:
        yield f"{run} is the reference run: it agrees with itself"
    lost = [t for t in reference if t in answers and answers[t].unresolved]
    for message in _remarks_on_lost({topic: answers[topic] for topic in lost}, inputs):
        yield message.replace("count as wrong", "are in no set of documents")


def _set_record(denominator: Callable[[frozenset[str], frozenset[str]], int], definition: str) -> Record:
    return Record(
        _against_reference(_in_common, denominator),
        f"{definition}, in distinct documents that the answer and that of the reference run cite.",
        f"{_LONGEVAL}, section 5.2",
        _UNDEFINED,
        views=("answers",),
        needs=("answers", "reference"),
        remarks=_remarks_on_sets,
    )


RECORDS: dict[str, Record] = {
    "P_cited": _cited_record(
        cited_precision,
        "relevant cited documents / cited documents, each once; documents that nobody judged are not relevant, "
        "citations that lead nowhere count as wrong, and an answer that cites nothing has 0.",
    ),
    "R_cited": _cited_record(
        cited_recall, "relevant cited documents / relevant documents; 0 for a topic that has no relevant one."
    ),
    "citation_recall": _set_record(lambda gold, _: len(gold), "in common / cited by the reference run"),
    "citation_precision": _set_record(lambda _, mine: len(mine), "in common / cited by the answer"),
    "citation_jaccard": _set_record(lambda gold, mine: len(gold | mine), "in common / cited by either"),
    "unsupported_citations": Record(
        unsupported_citations,
        "number of distinct citations that the reference run does not make; those that lead nowhere are among them.",
        _OURS,
        {},
        views=("answers",),
        needs=("answers", "reference"),
        summed=True,
        remarks=_remarks_on_lost,
        higher_is_better=False,
    ),
    "reference_match": Record(
        reference_match,
        "share of the answers all of whose citations the reference run makes too (also of those that cite "
        "nothing); 0 for a missing answer.",
        _OURS,
        {},
        views=("answers",),
        needs=("answers", "reference"),
        remarks=_remarks_on_lost,
    ),
    "provenance": Record(
        provenance,
        "share of the answers all of whose citations lead to a candidate of the topic (also of those that cite "
        "nothing); 0 for a missing answer.",
        _LONGEVAL,
        {},
        views=("answers",),
        needs=("answers", "candidates"),
        remarks=_remarks_on_provenance,
    ),
    "support_precision": Record(
        _by_support(_precision),
        "sum over judged citations of what their support is worth (full 1, partial 0.5, none 0) / judged citations. "
        "The track judged the first citation of each sentence; here all that are in the table count. Undefined for "
        "an answer without judged citation.",
        _RAG24,
        {},
        views=("answers",),
        needs=("answers", "support"),
        remarks=_remarks_on_support,
    ),
    "support_recall": Record(
        _by_support(_recall),
        "sum over sentences of the best support that a citation of the sentence gives (1, 0.5 or 0) / sentences; 0 for "
        "an answer without citation.",
        _RAG24,
        {},
        views=("answers",),
        needs=("answers", "support"),
        remarks=_remarks_on_support,
    ),
}
