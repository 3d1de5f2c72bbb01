"""The LongEval pipeline over all queries and variants: evidence, answers, and answers as they are written.

One variant after the other would do most of its work again; so the queries are the outer loop, and what a model is
asked is asked for all of them at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from nuggeteval.chat import Chat
from nuggeteval.data import Answer, Document
from nuggeteval.data import Sentence as Cited
from nuggeteval.errors import DataError, MissingDependencyError, NuggetEvalError, ParameterError
from nuggeteval.files import read_bytes
from nuggeteval.formats.citations import read_citation_prior
from nuggeteval.generators.answering import Question, ask
from nuggeteval.generators.rag import Gathering, Library, Tools, Variant, configuration, digest, with_settings
from nuggeteval.models.encoders import SentenceEncoder, TokenEncoder
from nuggeteval.models.pairs import CrossEncoder
from nuggeteval.rag import UNICODE, Dialect, Evidence, Sentence
from nuggeteval.rag.extractive import extract
from nuggeteval.rag.passages import ENCODED, Encode
from nuggeteval.rag.provenance import NO_ANSWER, check_citations
from nuggeteval.rag.sentences import RERANKERS, Score, max_sim
from nuggeteval.registry import lookup
from nuggeteval.version import __version__

__all__ = [
    "CROSS_ENCODER",
    "Answers",
    "Gathered",
    "Keep",
    "Models",
    "Origin",
    "Topic",
    "answer_all",
    "gather_all",
    "inputs_digest",
    "load_models",
    "questions_of",
    "uses_prior",
]

CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
"""What ranks the sentences of the minilm variants, on the Hugging Face hub."""

Gathered = dict[str, list[Evidence]]
"""Variant -> evidence, in the order of the topics."""


class Topic(NamedTuple):
    """A query and its candidates; nothing else is ever used."""

    id: str
    query: str
    documents: Sequence[Document]


class Keep(Protocol):
    """Where evidence is kept."""

    def known(self, name: str, topic: Topic) -> Evidence | None:
        """The evidence of a variant for a topic, if it is there."""

    def write(self, name: str, topic: Topic, stages: Gathering) -> None:
        """Keep what the stages made."""


def inputs_digest(topic: Topic) -> str:
    """A hash of a query and the documents that it may use."""
    return digest([topic.query, *map(list, topic.documents)])


class Answers(NamedTuple):
    """What came of the questions.

    Attributes:
        runs: variant -> answers, in the order of the topics.
        failed: (variant, topic) -> why the model gave no answer; such topics are in no run.
    """

    runs: dict[str, list[Answer]]
    failed: dict[tuple[str, str], str]


class Origin(NamedTuple):
    """What goes into the metadata of every answer.

    Attributes:
        tags: variant -> tag of its run.
        team: of the runs.
        tools: variant -> names of models and files that were used, by what they are for.
        fallbacks: variant -> what was done instead of what its configuration says.
    """

    tags: Mapping[str, str]
    team: str
    tools: Mapping[str, Mapping[str, Any]]
    fallbacks: Mapping[str, Sequence[str]]


class Models(NamedTuple):
    """The models that variants need, loaded once.

    Attributes:
        variants: as they can be run.
        tools: for the stages.
        names: variant -> what it uses: names of models, hash of the citation network.
        fallbacks: variant -> what is done instead of what its configuration says.
        notes: why.
    """

    variants: dict[str, Variant]
    tools: Tools
    names: dict[str, dict[str, Any]]
    fallbacks: dict[str, list[str]]
    notes: list[str]


def load_models(
    variants: Mapping[str, Variant],
    full: bool = False,
    reranker: str | None = None,
    citations: str | None = None,
    fall_back: bool = False,
) -> Models:
    """Load what the variants need, and no more.

    Args:
        variants: by name.
        full: whether the encoder has weights in single precision, not in 8 bits.
        reranker: of variants that have a cross-encoder: a folder or a name on the hub, or ``maxsim``; None for
            :data:`CROSS_ENCODER`.
        citations: file with the citation network, if there is a prior on documents.
        fall_back: go on without a model that is not there: chunks by rule, sentences in the order of the formula.

    Raises:
        MissingDependencyError, ParameterError: a model that is not there.
        FormatError: the file of citations.
    """
    if reranker == "maxsim":
        variants = {name: _with_max_sim(variant) for name, variant in variants.items()}
    made = Models(dict(variants), Tools(), {name: {} for name in variants}, {}, [])
    encode, prior = None, {}
    score: dict[str, Score] = {}
    if any(map(_is_encoded, variants.values())):
        try:
            encode, name = _encoder(full)
            _note(made, "encoder", name, _is_encoded)
        except (MissingDependencyError, ParameterError) as error:
            _go_without(made, error, fall_back, "chunking.by", "rule", _is_encoded)
    for by in dict.fromkeys(variant.sentences.by for variant in variants.values() if variant.sentences.by):
        try:
            score[by], name = _reranker(by, reranker or CROSS_ENCODER)
            _note(made, "sentences", name, partial(_is_ranked_by, by))
        except (MissingDependencyError, ParameterError) as error:
            _go_without(made, error, fall_back, "sentences.by", "none", partial(_is_ranked_by, by))
    if citations:
        prior = read_citation_prior(citations)
        _note(made, "citations_sha256", hashlib.sha256(read_bytes(citations)).hexdigest(), uses_prior)
    return made._replace(tools=Tools(encode, score, prior))


def _note(made: Models, what: str, name: str, uses: Callable[[Variant], bool]) -> None:
    """Remember what the variants use that use it."""
    for variant, names in made.names.items():
        if uses(made.variants[variant]):
            names[what] = name


def _is_encoded(variant: Variant) -> bool:
    return variant.chunking.by in ENCODED


def uses_prior(variant: Variant) -> bool:
    """Whether a variant reads the citation prior."""
    return variant.retrieval is not None and variant.selection.formula is not None and variant.selection.citation > 0


def _with_max_sim(variant: Variant) -> Variant:
    return with_settings(variant, ["sentences.by=maxsim"]) if variant.sentences.by == "cross-encoder" else variant


def _is_ranked_by(by: str, variant: Variant) -> bool:
    return variant.sentences.by == by


def _go_without(
    made: Models, error: NuggetEvalError, allowed: bool, option: str, value: str, needs: Callable[[Variant], bool]
) -> None:
    """Set an option of the variants that need what is missing, if that is allowed.

    Raises:
        NuggetEvalError: it is not.
    """
    if not allowed:
        raise type(error)(f"{error}; or --allow-fallback, which sets {option}={value} and says so") from error
    for name, variant in made.variants.items():
        if needs(variant):
            made.variants[name] = with_settings(variant, [f"{option}={value}"])
            made.fallbacks.setdefault(name, []).append(f"{option}={value}")
    made.notes.append(f"{option}={value}, since {error}")


def _encoder(full: bool) -> tuple[Encode, str]:
    """The encoder of sentences, and its name."""
    encoder = SentenceEncoder.load(full)
    return encoder.vectors, encoder.name


def _reranker(by: str, cross_encoder: str) -> tuple[Score, str]:
    """A reranker of sentences, and its name.

    Raises:
        ParameterError: no such reranker, or no such model.
        MissingDependencyError: a package is not installed.
    """
    if by == "maxsim":
        encoder = TokenEncoder.load()
        return max_sim(encoder.encode), f"maxsim by {encoder.name}"
    lookup(dict.fromkeys(RERANKERS, True), by, "reranker of sentences")
    try:
        model = CrossEncoder.load(cross_encoder)
    except (MissingDependencyError, ParameterError) as error:
        how = "no package has a cross-encoder: --reranker FOLDER or NAME, or --reranker maxsim"
        raise type(error)(f"{error}; {how}") from error
    return model.scores, f"cross-encoder {model.name}"


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
