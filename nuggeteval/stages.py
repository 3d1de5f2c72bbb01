"""The stages of the LongEval pipeline for one query, each done once whatever the number of variants."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from nuggeteval.data import Document
from nuggeteval.generators.variants import Answering, Variant
from nuggeteval.rag import UNICODE, Dialect, Evidence, Item, Passage
from nuggeteval.rag.evidence import evidence_of
from nuggeteval.rag.passages import Chunking, Encode, Split, passages_of, split
from nuggeteval.rag.retrieval import Lexical, Retrieval, fuse, order_of, variants_of
from nuggeteval.rag.selection import Scored, Selection, first_passages, rerank, select
from nuggeteval.rag.sentences import Score, rerank_sentences
from nuggeteval.registry import lookup
from nuggeteval.rows import FloatArray

__all__ = ["Gathering", "Library", "Tools", "digest"]


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
        self._parts: dict[str, dict[tuple[str, int | None], Split]] = {}

    def split(self, document: Document, words: int | None) -> Split:
        """The sentences of a document, none longer than so many words, and their tokens."""
        known = self._parts.setdefault(document.id, {})
        # Where sentences are not cut, their length makes no difference.
        key = (document.text, None if self.dialect.reference else words)
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
            longest = None if chunking.by == "whole" else chunking.words
            parts = [self._library.split(document, longest) for document in self._documents]
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
        made["selected"] = [{"id": one.id, "text": one.text} for one in self.selected(variant)]
        references, items = self.evidence(variant)
        return {**made, "references": references, "sentence_candidates": [_as_json(i, variant) for i in items]}


def _as_json(item: Item, variant: Variant) -> dict[str, Any]:
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
