"""The models that the variants need, loaded once; what goes on without one of them, where that is allowed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from nuggeteval.errors import MissingDependencyError, NuggetEvalError, ParameterError
from nuggeteval.files import read_bytes
from nuggeteval.formats.citations import read_citation_prior
from nuggeteval.generators.variants import Variant, with_settings
from nuggeteval.models.encoders import SentenceEncoder, TokenEncoder
from nuggeteval.models.pairs import CrossEncoder
from nuggeteval.rag.passages import ENCODED, Encode
from nuggeteval.rag.sentences import RERANKERS, Score, max_sim
from nuggeteval.registry import lookup
from nuggeteval.stages import Tools

__all__ = ["CROSS_ENCODER", "Models", "load_models", "uses_prior"]

CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
"""What ranks the sentences of the minilm variants, on the Hugging Face hub."""


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
