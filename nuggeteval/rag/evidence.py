"""Sentences of selected passages as evidence: what is kept, and how it is scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from nuggeteval.errors import ParameterError
from nuggeteval.rag import CLOSERS, ENDS, UNICODE, Dialect, Evidence, Item, Passage, is_long, keywords
from nuggeteval.text import squeezed

__all__ = ["KINDS", "Extraction", "evidence_of", "references_of"]

KINDS = ("sentences", "passages", "titles")
"""What an item of evidence is: a sentence that was kept, a whole passage, or the title of a document."""

_AGAIN = re.compile(r"(?<=[.!?])\s+")
_AGAIN_ANY = re.compile(rf"(?:(?<=[{ENDS}])|(?<=[{ENDS}][{re.escape(CLOSERS)}]))\s+")
_OCR = re.compile(r"(.)\1{4,}|[_=|]{3,}|[^\w\s.,;:()\[\]/%+\-'<>=&]", re.IGNORECASE)
# The reference also drops every sentence with a dash, a curly quote or a question mark.
_DAMAGED = re.compile(r"([^\W\d])\1{4,}|[_=|]{3,}|[\ufffd\u0000-\u0008]", re.IGNORECASE)
_GLUED = re.compile(r"[a-z]\.[A-Z]|\b\w+-\s+\w+\b")
_OPENINGS = (
    "this paper", "in this paper", "this article", "in this article", "this study", "in this study", "we present",
    "we propose", "we introduce", "we describe",
)  # fmt: skip
_PHRASES = (
    "has attracted much attention", "plays an important role", "is an important", "is a challenging task",
    "in recent years", "with the development of",
)  # fmt: skip
_STEMS = {"validation": "validate", "validated": "validate", "validating": "validate", "selecting": "select"}
_SUFFIXES = {
    "ations": "", "ation": "", "ments": "", "ment": "", "ing": "", "ies": "y", "ied": "y", "ed": "", "es": "", "s": "",
}  # fmt: skip
_SHORTEST, _CUT_ABOVE, _CUT_TO, _LONGEST = 6, 60, 45, 70
_AT_LEAST = 36
_CHARACTERS = 2000
_PAUSES = " ,;:\uff0c\uff1b\uff1a\u3001\u060c\u061b"
_KNOWN, _TITLE, _FULL = 20, 12, 28


class Extraction(NamedTuple):
    """What becomes evidence.

    Attributes:
        by: one of :data:`KINDS`; passages and titles come as they are, in the order of the selection.
        per_passage: sentences at the beginning of a passage that are looked at.
        items: most items; None for all.
    """

    by: str = "sentences"
    per_passage: int = 5
    items: int | None = 10


def references_of(passages: Sequence[Passage]) -> list[str]:
    """The documents of passages, in the order of their first."""
    return list(dict.fromkeys(passage.document for passage in passages))


def evidence_of(
    query: str, passages: Sequence[Passage], extraction: Extraction | None = None, dialect: Dialect = UNICODE
) -> Evidence:
    """Evidence from selected passages, best first.

    Args:
        query: the request.
        passages: that were selected, best first.
        extraction: what becomes evidence; the best ten sentences by default.
        dialect: how texts are taken apart; the reference also drops sentences with other punctuation than ASCII's.

    Raises:
        ParameterError: another kind of evidence.
    """
    extraction = extraction or Extraction()
    if extraction.by not in KINDS:
        raise ParameterError(f"evidence is one of {', '.join(KINDS)} (got {extraction.by!r})")
    references = references_of(passages)
    citations = {document: index for index, document in enumerate(references)}
    if extraction.by == "sentences":
        items = _sentences(query, passages, citations, extraction.per_passage, dialect)
    else:
        items = _as_they_are(passages, citations, extraction.by == "titles", dialect)
    return Evidence(references, items[: extraction.items])


def _as_they_are(
    passages: Sequence[Passage], citations: Mapping[str, int], titles: bool, dialect: Dialect
) -> list[Item]:
    """Passages, or the titles of their documents, in their order."""
    if titles:
        passages = list({one.document: one._replace(text=one.title) for one in reversed(passages)}.values())[::-1]
    return [
        Item(one.text, citations[one.document], one.document, 1.0 / rank, 1.0 / rank, one.timestamp, 0)
        for rank, one in enumerate(passages, start=1)
        if dialect.tokens(one.text)
    ]


def _sentences(
    query: str, passages: Sequence[Passage], citations: Mapping[str, int], per_passage: int, dialect: Dialect
) -> list[Item]:
    """Every sentence that can be used, best first; where none can, the first of each passage (not by the reference)."""
    words = keywords(dialect.tokens(query), _KNOWN)

    def found(number: int, longest: int, usable: Callable[[str, Sequence[str], Dialect], bool]) -> list[Item]:
        items: dict[tuple[str, int], Item] = {}
        for rank, passage in enumerate(passages):
            title = set(keywords(dialect.tokens(passage.title), _TITLE))
            for position, sentence in enumerate(_candidates(passage, dialect, number)):
                text, tokens = _cut(sentence, dialect, longest)
                if not usable(text, tokens, dialect):
                    continue
                score = _score(words, title, set(tokens), rank, position)
                citation = citations[passage.document]
                item = Item(text, citation, passage.document, score, score, passage.timestamp, position)
                items.setdefault((text.lower(), citation), item)
        return sorted(items.values(), key=lambda item: -item.score)

    items = found(per_passage, _CUT_ABOVE, _is_usable)
    return items if items or dialect.reference else found(1, _AT_LEAST, _has_words)


def _has_words(text: str, tokens: Sequence[str], dialect: Dialect) -> bool:
    del text, dialect
    return bool(tokens)


def _candidates(passage: Passage, dialect: Dialect, number: int) -> Iterator[str]:
    """The first sentences of a passage, split once more wherever a sentence can end."""
    again = _AGAIN if dialect.reference else _AGAIN_ANY
    parts = (part for sentence in dialect.sentences(passage.text) for part in again.split(sentence))
    yield from islice(parts, number)


def _cut(sentence: str, dialect: Dialect, longest: int) -> tuple[str, tuple[str, ...]]:
    """A sentence that is not too long, and its tokens; one that is loses all after some words."""
    text = squeezed(sentence)
    if not dialect.reference:
        text = text[:_CHARACTERS]
    tokens = dialect.tokens(text)
    if len(tokens) <= longest:
        return text, tokens
    number = min(longest, _CUT_TO)
    if dialect.reference:
        text = " ".join(text.split()[:number])
    else:
        after = next(islice(dialect.word.finditer(text), number, None), None)
        text = text[: after.start()] if after else text
    text = text.rstrip(_PAUSES)
    if text[-1:] not in (("", ".") if dialect.reference else ("", *ENDS)):
        text += "\u3002" if is_long(text[-1], 2) else "."
    return text, dialect.tokens(text)


def _is_usable(text: str, tokens: Sequence[str], dialect: Dialect) -> bool:
    lowered = text.lower()
    last = text[-1:] if dialect.reference else text.rstrip(CLOSERS)[-1:]
    damaged = _OCR if dialect.reference else _DAMAGED
    return (
        _SHORTEST <= len(tokens) <= _LONGEST
        and last in (".!?" if dialect.reference else ENDS)
        and not damaged.search(text)
        and not _GLUED.search(text)
        and not lowered.startswith(_OPENINGS)
        and not any(phrase in lowered for phrase in _PHRASES)
    )


def _score(words: Sequence[str], title: set[str], found: set[str], rank: int, position: int) -> float:
    """Overlap with query and title, length, and how early the sentence stands."""
    stems = {_stem(token) for token in found}
    overlap = sum(word in found or _stem(word) in stems for word in words)
    return (
        0.72 * (overlap / max(len(words), 1))
        + 0.18 * (len(title & found) / len(title) if title else 0.0)
        + 0.10 * min(len(found) / _FULL, 1)
        + max(0, 0.15 - 0.03 * rank)
        + max(0, 0.08 - 0.03 * position)
    )


def _stem(term: str) -> str:
    """A term without a common ending."""
    if term in _STEMS:
        return _STEMS[term]
    for suffix, instead in _SUFFIXES.items():
        if term.endswith(suffix) and len(term) > len(suffix) + 3:
            return term.removesuffix(suffix) + instead
    return term
