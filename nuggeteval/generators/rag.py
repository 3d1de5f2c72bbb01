"""LongEval-RAG (CLEF 2026): evidence from the candidates of a query alone, by the variants of the paper."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from nuggeteval.data import Document
from nuggeteval.errors import ParameterError
from nuggeteval.rag import UNICODE, Dialect, Evidence, Passage
from nuggeteval.rag.evidence import KINDS, Extraction, evidence_of
from nuggeteval.rag.passages import CHUNKERS, ENCODED, Chunking, Encode, Split, passages_of, split
from nuggeteval.rag.retrieval import Lexical, Retrieval, fuse, order_of, variants_of
from nuggeteval.rag.selection import FORMULAS, Scored, Selection, first_passages, rerank, select
from nuggeteval.rag.sentences import RERANKERS, Reranking, Score, rerank_sentences
from nuggeteval.registry import lookup
from nuggeteval.rows import FloatArray

__all__ = [
    "BASELINES",
    "VARIANTS",
    "Answering",
    "Gathering",
    "Library",
    "Tools",
    "Variant",
    "configuration",
    "with_settings",
]

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


def digest(value: Any) -> str:
    """A hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


class Tools(NamedTuple):
    """What the stages use beside texts.

    Attributes:
        encode: sentences -> vectors of length 1, for chunks that need them.
        score: reranker -> (query, sentences) -> scores.
        prior: document -> citations / largest number of citations.
    """

    encode: Encode | None = None
    score: Mapping[str, Score] = {}
    prior: Mapping[str, float] = {}


class Library:
    """Documents taken apart: each once, and kept until the last query that needs it is done.

    Args:
        candidates: of every query to come.
        dialect: how texts are taken apart.
    """

    def __init__(self, candidates: Iterable[Sequence[str]], dialect: Dialect = UNICODE) -> None:
        self.dialect = dialect
        self._waiting = Counter(document for documents in candidates for document in set(documents))
        self._parts: dict[str, dict[int, Split]] = {}

    def split(self, document: Document, words: int) -> Split:
        """The sentences of a document and their tokens."""
        known = self._parts.setdefault(document.id, {})
        # Where sentences are not cut, their length makes no difference.
        key = 0 if self.dialect.reference else words
        if key not in known:
            known[key] = split(document, words, self.dialect)
        return known[key]

    def release(self, documents: Iterable[str]) -> None:
        """A query is done: forget those of its documents that no other query waits for."""
        self._waiting.subtract(set(documents))
        for document in set(documents):
            if self._waiting[document] <= 0:
                self._parts.pop(document, None)


_T = TypeVar("_T")


class Gathering:
    """The stages for one query: what two variants have in common is done once.

    Args:
        query: the request.
        documents: its candidates, in their order; nothing else is ever used.
        library: where documents are taken apart; one of this query alone by default.
        tools: models and the citation prior.
        dialect: how texts are taken apart, where there is no library.

    Every stage can be asked for, and raises ParameterError as its function does.
    """

    def __init__(
        self,
        query: str,
        documents: Sequence[Document],
        library: Library | None = None,
        tools: Tools | None = None,
        dialect: Dialect = UNICODE,
    ) -> None:
        self._query, self._documents, self._tools = query, documents, tools or Tools()
        self._library = library or Library([[document.id for document in documents]], dialect)
        self._dialect = self._library.dialect.remembering()
        self._done: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        if key not in self._done:
            self._done[key] = make()
        found: _T = self._done[key]
        return found

    def _remember(self, parts: Iterable[Split]) -> None:
        """Later stages meet sentences of the documents again."""
        if self._dialect.memory is not None:
            for sentences, tokens in parts:
                self._dialect.memory.update(zip(sentences, tokens, strict=True))

    def passages(self, chunking: Chunking) -> list[Passage]:
        """All passages of the candidates."""

        def make() -> list[Passage]:
            parts = [self._library.split(document, chunking.words) for document in self._documents]
            self._remember(parts)
            return [
                passage
                for document, part in zip(self._documents, parts, strict=True)
                for passage in passages_of(document, chunking, self._dialect, self._tools.encode, part)
            ]

        return self._once(chunking, make)

    def index(self, chunking: Chunking) -> Lexical:
        """The indexes of the passages."""
        return self._once(("index", chunking), lambda: Lexical(self.passages(chunking), self._dialect))

    def variants(self, chunking: Chunking, retrieval: Retrieval) -> list[tuple[str, str]]:
        """(name, text) of the variants of the query."""

        def make() -> list[tuple[str, str]]:
            if retrieval.fusion is None:
                return [("original", self._query)]
            scores = self.index(chunking).scores(self._query, retrieval.title_boost)
            return variants_of(self._query, self.passages(chunking), scores, retrieval, self._dialect)

        return self._once(("variants", chunking, retrieval), make)

    def lists(self, chunking: Chunking, retrieval: Retrieval) -> dict[str, FloatArray]:
        """Scores of all passages for each variant of the query."""
        index = self.index(chunking)
        return {name: index.scores(text, retrieval.title_boost) for name, text in self.variants(chunking, retrieval)}

    def shortlist(self, chunking: Chunking, retrieval: Retrieval) -> list[Scored]:
        """The passages that later stages see, with their fused scores."""

        def make() -> list[Scored]:
            passages = self.passages(chunking)
            lists = list(self.lists(chunking, retrieval).values())
            scores = lists[0] if retrieval.fusion is None else fuse(lists, retrieval.fusion)
            best = order_of(scores)[: retrieval.preselect].tolist()
            return [Scored(passages[place], float(scores[place])) for place in best]

        return self._once(("shortlist", chunking, retrieval), make)

    def ranked(self, chunking: Chunking, retrieval: Retrieval, selection: Selection) -> list[Scored]:
        """The shortlist reranked."""

        def make() -> list[Scored]:
            shortlist = self.shortlist(chunking, retrieval)
            return rerank(self._query, shortlist, selection, self._tools.prior, self._dialect)

        return self._once(("ranked", chunking, retrieval, selection), make)

    def selected(self, variant: Variant) -> list[Passage]:
        """The passages that an answer may use."""
        passages = self.passages(variant.chunking)
        if variant.retrieval is None or not passages:
            return first_passages(passages, variant.selection)
        ranked = self.ranked(variant.chunking, variant.retrieval, variant.selection)
        return select(self._query, ranked, variant.selection, self._dialect)

    def evidence(self, variant: Variant) -> Evidence:
        """What an answer may say.

        Raises:
            ParameterError: a reranker of sentences that is not there.
        """

        def make() -> Evidence:
            reranking, extraction = variant.sentences, variant.evidence
            if reranking.by is None:
                return evidence_of(self._query, self.selected(variant), extraction, self._dialect)
            whole = evidence_of(self._query, self.selected(variant), extraction._replace(items=None), self._dialect)
            items = rerank_sentences(self._query, whole.items, self._score(reranking.by), reranking.depth)
            return Evidence(whole.references, items[: extraction.items])

        return self._once(("evidence", variant._replace(answer=Answering())), make)

    def _score(self, by: str) -> Score:
        """A reranker that is asked about each sentence once, unless its scores hang on the others it is shown."""
        score = lookup(self._tools.score, by, "reranker of sentences")
        if by != "cross-encoder":
            return score
        known: dict[str, float] = self._once(("scores", by), dict)

        def remembered(query: str, texts: Sequence[str]) -> list[float]:
            new = [text for text in dict.fromkeys(texts) if text not in known]
            known.update(zip(new, score(query, new), strict=True))
            return [known[text] for text in texts]

        return remembered

    def stages(self, variant: Variant) -> dict[str, Any]:
        """What every stage made, as JSON has it: for a file of evidence."""
        chunking, retrieval = variant.chunking, variant.retrieval
        made: dict[str, Any] = {"query": self._query, "passages": [one.id for one in self.passages(chunking)]}
        if retrieval is not None and made["passages"]:
            made["queries"] = dict(self.variants(chunking, retrieval))
            made["lists"] = {name: scores.tolist() for name, scores in self.lists(chunking, retrieval).items()}
            made["shortlist"] = [[one.passage.id, one.score] for one in self.shortlist(chunking, retrieval)]
            ranked = self.ranked(chunking, retrieval, variant.selection)
            made["ranked"] = [[one.passage.id, one.score] for one in ranked]
        made["selected"] = [one.id for one in self.selected(variant)]
        references, items = self.evidence(variant)
        return {**made, "references": references, "sentence_candidates": [_as_json(i, variant) for i in items]}


def _as_json(item: Any, variant: Variant) -> dict[str, Any]:
    """An item as the published files have it."""
    reranked = {f"{variant.sentences.by}_score".replace("-", "_"): item.score} if item.reranked else {}
    return {
        "text": item.text,
        "citations": [item.citation],
        "score": item.score,
        "heuristic_score": item.heuristic,
        "doc_id": item.document,
        "timestamp": item.timestamp,
        "sentence_rank": item.place,
        **reranked,
    }
