"""The variants of LongEval-RAG (CLEF 2026) as data: a configuration of every stage, and what can be set in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

from nuggeteval.errors import ParameterError
from nuggeteval.rag.evidence import KINDS, Extraction
from nuggeteval.rag.passages import CHUNKERS, ENCODED, Chunking
from nuggeteval.rag.retrieval import Retrieval
from nuggeteval.rag.selection import FORMULAS, Selection
from nuggeteval.rag.sentences import RERANKERS, Reranking
from nuggeteval.registry import lookup

__all__ = ["BASELINES", "VARIANTS", "Answering", "Variant", "configuration", "reads", "with_settings"]

ANSWERS = ("extractive", "model", "verbatim")
"""What makes an answer: sentences of the evidence side by side, a language model, or the evidence as it is."""


class Answering(NamedTuple):
    """How evidence becomes an answer.

    Attributes:
        by: one of :data:`ANSWERS`.
        sentences: most sentences of an answer.
        templates: whether the extractive answer puts sources side by side.
    """

    by: str = "extractive"
    sentences: int = 5
    templates: bool = True


class Variant(NamedTuple):
    """A configuration of the stages.

    Attributes:
        chunking: how documents are cut.
        retrieval: how passages are ranked; None takes them in the order of the candidates.
        selection: how they are reranked and selected.
        evidence: what of them becomes evidence.
        sentences: whether and how a model reranks the sentences.
        answer: what is made of the evidence.
    """

    chunking: Chunking = Chunking()
    retrieval: Retrieval | None = Retrieval()
    selection: Selection = Selection()
    evidence: Extraction = Extraction()
    sentences: Reranking = Reranking()
    answer: Answering = Answering()


_WHOLE = Variant()
_SEMANTIC, _SHIFT = Chunking("semantic"), Chunking("topic-shift")
_MINILM = Reranking("cross-encoder")
VARIANTS: dict[str, Variant] = {
    "concat-baseline": Variant(retrieval=None),
    "single-query-bm25": Variant(
        retrieval=Retrieval(title_boost=0.0, variants=1, feedback=0, fusion=None), selection=Selection(formula=None)
    ),
    "rrf-no-rerank": Variant(selection=Selection(formula=None)),
    "caes-rag-rrf": Variant(),
    "default": Variant(),
    "rule-minilm": Variant(sentences=_MINILM),
    "semantic-current": Variant(_SEMANTIC),
    "topic-shift-current": Variant(_SHIFT),
    "semantic-minilm": Variant(_SEMANTIC, sentences=_MINILM),
    "topic-shift-minilm": Variant(_SHIFT, sentences=_MINILM),
}
"""The ten variants of Table 4."""

_ALL = Selection(formula=None, passages=None)
BASELINES: dict[str, Variant] = {
    "titles": Variant(Chunking("whole"), None, _ALL, Extraction("titles", items=5), answer=Answering(by="verbatim")),
    "whole-documents": Variant(Chunking("whole"), None, _ALL, Extraction("passages", items=None)),
    "all-passages": Variant(Chunking(words=400, stride=0), None, _ALL, Extraction("passages", items=None)),
}
"""Beside them: the titles of the first candidates as an answer; the reference side of the supplementary protocol, every
candidate whole as evidence; every passage as evidence."""


_LEAST: dict[str, dict[str, float]] = {
    "chunking": {"words": 1, "stride": 0, "similarity": -1, "drift": 0, "least": 1},
    "retrieval": {"title_boost": 0, "variants": 1, "feedback": 0, "terms": 0, "fusion": 0, "preselect": 1},
    "selection": {"title": 0, "temporal": 0, "citation": 0, "passages": 1},
    "evidence": {"per_passage": 1, "items": 1},
    "sentences": {"depth": 1},
    "answer": {"sentences": 1},
}


_WORDS: dict[str, dict[str, Sequence[str]]] = {
    "chunking": {"by": CHUNKERS},
    "selection": {"formula": FORMULAS},
    "evidence": {"by": KINDS},
    "sentences": {"by": RERANKERS},
    "answer": {"by": ANSWERS},
}


def with_settings(variant: Variant, settings: Iterable[str]) -> Variant:
    """A variant with other options of its stages, for ablation.

    Args:
        variant: to begin with. A stage that it does not have stays away.
        settings: ``stage.option=value``, ``none`` for an option that may be none; or ``retrieval=none``.

    Raises:
        ParameterError: another form, an unknown stage or option, or a value of another type.
    """
    for setting in settings:
        name, equals, value = setting.partition("=")
        stage, dot, option = name.partition(".")
        if not equals or not (dot or setting == "retrieval=none"):
            raise ParameterError(f"expected stage.option=value (got {setting!r})")
        lookup(dict.fromkeys(Variant._fields, True), stage, "stage")
        if setting == "retrieval=none":
            variant = variant._replace(retrieval=None)
            continue
        current = getattr(variant, stage)
        kind = lookup(get_type_hints(type(getattr(_WHOLE, stage))), option, f"option of the stage {stage}:")
        parsed = _parsed(value, kind, setting)
        if current is not None:
            changed: Any = current._replace(**{option: parsed})
            variant = variant._replace(**{stage: changed})
    _check(variant)
    return variant


def _check(variant: Variant) -> None:
    """Refuse numbers and words that no stage can have."""
    for stage, known in _WORDS.items():
        for option, words in known.items():
            word = getattr(getattr(variant, stage), option)
            if word is not None:
                lookup(dict.fromkeys(words, True), word, f"{stage}.{option}")
    for stage, least in _LEAST.items():
        for option, number in least.items():
            value = getattr(getattr(variant, stage), option, None)
            if value is not None and not number <= value < math.inf:
                raise ParameterError(f"{stage}.{option} must be at least {number} (got {value})")


_READ: dict[str, Callable[[Any], bool]] = {
    "chunking.words": lambda v: v.chunking.by != "whole",
    "chunking.stride": lambda v: v.chunking.by == "rule",
    "chunking.similarity": lambda v: v.chunking.by == "semantic",
    "chunking.drift": lambda v: v.chunking.by == "topic-shift",
    "chunking.least": lambda v: v.chunking.by in ENCODED,
    "retrieval.variants": lambda v: v.retrieval.fusion is not None,
    "retrieval.feedback": lambda v: v.retrieval.fusion is not None,
    "retrieval.terms": lambda v: v.retrieval.fusion is not None and v.retrieval.feedback > 0,
    "selection.formula": lambda v: v.retrieval is not None,
    "selection.title": lambda v: v.retrieval is not None and v.selection.formula == "as-run",
    "selection.temporal": lambda v: v.retrieval is not None and v.selection.formula is not None,
    "selection.citation": lambda v: v.retrieval is not None and v.selection.formula is not None,
    "evidence.per_passage": lambda v: v.evidence.by == "sentences",
    "sentences.depth": lambda v: v.sentences.by is not None,
    "answer.templates": lambda v: v.answer.by != "verbatim",
}
"""Option -> whether a variant reads it; options that are not here are always read."""


def reads(variant: Variant, option: str) -> bool:
    """Whether a variant, as it is, reads an option ``stage.option``."""
    if option.startswith("retrieval.") and variant.retrieval is None:
        return False
    return bool(_READ[option](variant)) if option in _READ else True


def _parsed(value: str, kind: Any, setting: str) -> Any:
    kinds = get_args(kind) or (kind,)
    if value.lower() == "none" and type(None) in kinds:
        return None
    if bool in kinds:
        if value.lower() not in ("true", "false"):
            raise ParameterError(f"{setting}: expected true or false")
        return value.lower() == "true"
    wanted = next(one for one in kinds if one is not type(None))
    try:
        return wanted(value)
    except ValueError:
        raise ParameterError(f"{setting}: expected {'an integer' if wanted is int else 'a number'}") from None


def configuration(variant: Variant) -> dict[str, Any]:
    """The effective configuration of all stages, as JSON has it."""
    return {name: None if stage is None else stage._asdict() for name, stage in variant._asdict().items()}
