"""Judge answers against the documents that they cite: pairs of their own, judged and written as any others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nuggeteval.data import Answer, Nugget, NuggetBank, Unit, unit_of_run
from nuggeteval.errors import listed
from nuggeteval.ids import topic_order
from nuggeteval.judges import Judge, Verdict
from nuggeteval.judging import Outcome, Pair, judge_pairs
from nuggeteval.text import first_words

__all__ = ["SOURCES", "cited_documents", "judge_sources", "sources_bank"]

SOURCES = "sources"
"""What the nugget is called that stands for the documents that an answer cites."""


def judge_sources(
    answers: Iterable[Answer],
    documents: Mapping[str, str],
    judge: Judge,
    path: str,
    progress: Callable[[int, int], None] | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Judge every answer against the documents that it cites, and append the judgments of responses to a file.

    The nugget is called :data:`SOURCES` in each of them, so that they are scored against :func:`sources_bank`. An
    answer that cites nothing is not grounded: grade 0, and nobody is asked. One none of whose documents has a text
    fails. Answers without a text are not judged. Resumption is that of :func:`nuggeteval.judging.judge_units`.

    Args:
        answers: of any number of runs.
        documents: id -> text.
        judge: the groundedness judge, whose ``words`` says how much of each document is shown.
        path: judgments file, made if it is not there.
        progress, dry_run: as for :func:`nuggeteval.judging.judge_units`.

    Raises:
        DataError, FormatError: as :func:`nuggeteval.judging.judge_units`.
    """
    told = [answer for answer in answers if answer.text.strip()]
    pairs = [_against_sources(answer, documents, path, getattr(judge, "words", None)) for answer in told]
    outcome = judge_pairs(pairs, [path], judge, "responses", progress, dry_run)
    return replace(outcome, remarks=tuple(_source_remarks(told, pairs, documents)))


def _source_remarks(answers: Sequence[Answer], pairs: Sequence[Pair], documents: Mapping[str, str]) -> Iterator[str]:
    """What there was nothing to ask about, and why."""
    wanted = dict.fromkeys(document for answer in answers for document in cited_documents(answer))
    without = [document for document in wanted if not documents.get(document, "").strip()]
    grades = [pair.settled.grade for pair in pairs if pair.settled is not None]
    if 0 in grades:
        yield f"{grades.count(0)} of {len(pairs)} answers cite nothing, and are not grounded (grade 0)"
    if without:
        yield f"{len(without)} of {len(wanted)} cited documents have no text: {listed(without)}"
    if None in grades:
        yield f"{grades.count(None)} of {len(pairs)} answers have no text of any document that they cite, and fail"


def cited_documents(answer: Answer) -> tuple[str, ...]:
    """The documents that an answer cites, in the order of first citation.

    Of a text without sentences, where nobody can tell what is cited where, they are those that it lists.
    """
    cited = (document for sentence in answer.sentences for document in sentence.citations)
    return tuple(dict.fromkeys(cited if answer.sentences else answer.references))


def sources_bank(answers: Iterable[Answer]) -> NuggetBank:
    """The bank that judgments of groundedness are scored against.

    Returns:
        the nugget :data:`SOURCES` for every topic that has an answer, of whatever run: a run that does not answer one
        of them counts 0 there. It has no text, since passages differ from answer to answer.
    """
    topics = topic_order({answer.topic for answer in answers})
    return NuggetBank(SOURCES, {topic: (Nugget(SOURCES, ""),) for topic in topics})


def _against_sources(answer: Answer, documents: Mapping[str, str], path: str, words: int | None) -> Pair:
    """An answer and the passages that it cites, with the verdict where there is nothing to ask."""
    unit = Unit(answer.run, answer.topic, unit_of_run(answer.run), answer.text)
    cited = cited_documents(answer)
    texts = [first_words(text.strip(), words) for document in cited if (text := documents.get(document, "")).strip()]
    settled = None
    if not cited:
        settled = Verdict(None, 0)
    elif not texts:
        settled = Verdict(None, None, "no text of any document that is cited")
    passages = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, start=1))
    return Pair(path, unit, Nugget(SOURCES, passages), settled=settled)
