"""Evidence and answers for all topics.

One variant after the other would do most of its work again; so the topics are the outer loop, and what a model is asked
is asked for all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nuggeteval.chat import Chat
from nuggeteval.data import Answer
from nuggeteval.data import Sentence as Cited
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.generators.answering import Question, ask
from nuggeteval.generators.variants import Variant, configuration
from nuggeteval.pipeline import Answers, Gathered, Keep, Origin, Topic, inputs_digest
from nuggeteval.rag import UNICODE, Dialect, Evidence, Sentence
from nuggeteval.rag.extractive import extract
from nuggeteval.rag.provenance import NO_ANSWER, check_citations
from nuggeteval.stages import Gathering, Library, Tools, digest
from nuggeteval.version import __version__

__all__ = ["answer_all", "gather_all", "questions_of"]


def gather_all(
    topics: Sequence[Topic],
    variants: Mapping[str, Variant],
    tools: Tools,
    dialect: Dialect = UNICODE,
    keep: Keep | None = None,
    show: Callable[[int, int], None] | None = None,
) -> Gathered:
    """The evidence of every variant for every topic.

    Args:
        topics: queries and candidates.
        variants: by name.
        tools: models and the citation prior.
        dialect: how texts are taken apart.
        keep: where evidence is kept, and what an earlier call made is found.
        show: called with (pieces of evidence, all of them).

    Raises:
        ParameterError: as the stages.
    """
    library = Library([[one.id for one in topic.documents] for topic in topics], dialect)
    found: Gathered = {name: [] for name in variants}
    for topic in topics:
        stages = Gathering(topic.query, topic.documents, library, tools)
        for name, variant in variants.items():
            known = keep.known(name, topic) if keep else None
            found[name].append(known or stages.evidence(variant))
            if keep and known is None:
                keep.write(name, topic, stages)
            if show:
                show(sum(map(len, found.values())), len(topics) * len(variants))
        library.release(one.id for one in topic.documents)
    return found


def questions_of(topics: Sequence[Topic], variants: Mapping[str, Variant], gathered: Gathered) -> list[Question]:
    """What a model is asked: for each variant that asks one, every topic."""
    return [
        Question(topic.id, topic.query, evidence, variant.answer.sentences)
        for name, variant in variants.items()
        if variant.answer.by == "model"
        for topic, evidence in zip(topics, gathered[name], strict=True)
    ]


def answer_all(
    topics: Sequence[Topic],
    variants: Mapping[str, Variant],
    gathered: Gathered,
    origin: Origin,
    chat: Chat | None = None,
    prompt: str | None = None,
    dialect: Dialect = UNICODE,
    fall_back: bool = False,
    show: Callable[[int, int], None] | None = None,
) -> Answers:
    """The answers of every variant to every topic, each citation checked to be a candidate.

    Args:
        topics, variants, gathered: as for, and of, :func:`gather_all`.
        origin: what goes into the metadata.
        chat: the door to a language model, for variants that ask one.
        prompt: another prompt.
        dialect: how texts are taken apart.
        fall_back: whether sentences of the evidence stand in for an answer that the model does not give.
        show: called with (replies, all of them).

    Raises:
        ParameterError: a variant asks a model, and there is none.
        JudgeError: the model cannot be asked.
        DataError: a citation that is no candidate.
    """
    said = _said(topics, variants, gathered, chat, prompt, show)
    inputs = {topic.id: inputs_digest(topic) for topic in topics}
    runs: dict[str, list[Answer]] = {name: [] for name in variants}
    failed: dict[tuple[str, str], str] = {}
    for name, variant in variants.items():
        for topic, evidence in zip(topics, gathered[name], strict=True):
            sentences, why = said.get((name, topic.id), (None, ""))
            if why and not fall_back:
                failed[name, topic.id] = why
                continue
            notes = [*origin.fallbacks.get(name, ()), *([f"answer: extractive, since {why}"] if why else [])]
            sentences = sentences or _without_model(topic.query, evidence, variant, dialect)
            made_of = {
                "inputs_sha256": inputs[topic.id],
                **origin.tools.get(name, {}),
                **({"fallbacks": notes} if notes else {}),
            }
            runs[name].append(_as_answer(name, variant, topic, evidence.references, sentences, origin, made_of))
    return Answers(runs, failed)


def _said(
    topics: Sequence[Topic],
    variants: Mapping[str, Variant],
    gathered: Gathered,
    chat: Chat | None,
    prompt: str | None,
    show: Callable[[int, int], None] | None,
) -> dict[tuple[str, str], tuple[list[Sentence] | None, str]]:
    """(variant, topic) -> what the model says, or why it says nothing; for variants that ask one."""
    keys = [(name, topic.id) for name, variant in variants.items() if variant.answer.by == "model" for topic in topics]
    if not keys:
        return {}
    if chat is None:
        raise ParameterError("answers by a language model need one")
    asked = ask(questions_of(topics, variants, gathered), chat, prompt, show)
    return {
        key: (asked.answers.get(number), "" if number in asked.answers else asked.failed.get(number, "no reply yet"))
        for number, key in enumerate(keys)
    }


def _without_model(query: str, evidence: Evidence, variant: Variant, dialect: Dialect) -> list[Sentence]:
    most = variant.answer.sentences
    if variant.answer.by == "verbatim":
        found = [Sentence(item.text, (item.citation,)) for item in evidence.items[:most]]
    else:
        found = extract(query, evidence.items, most, variant.answer.templates, dialect)
    return found or [Sentence(NO_ANSWER, ())]


def _as_answer(
    name: str,
    variant: Variant,
    topic: Topic,
    references: Sequence[str],
    sentences: Sequence[Sentence],
    origin: Origin,
    made_of: Mapping[str, Any],
) -> Answer:
    """An answer with citations by id, and all that is needed to make it again."""
    check_citations(sentences, references, [document.id for document in topic.documents])
    if len(sentences) > variant.answer.sentences:
        raise DataError(f"topic {topic.id!r}: {len(sentences)} sentences, of at most {variant.answer.sentences}")
    options = configuration(variant)
    metadata = {
        "team_id": origin.team,
        "run_id": origin.tags[name],
        "type": "automatic",
        "narrative": topic.query,
        "narrative_id": topic.id,
        "generator": {
            "program": f"nuggeteval {__version__}",
            "variant": name,
            "configuration": options,
            "configuration_sha256": digest(options),
            **made_of,
        },
    }
    cited = tuple(Cited(text, tuple(references[place] for place in citations)) for text, citations in sentences)
    text = " ".join(sentence.text for sentence in cited)
    return Answer(origin.tags[name], topic.id, text, cited, tuple(references), extra={"metadata": metadata})
