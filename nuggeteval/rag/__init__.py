"""The candidate-constrained RAG pipeline of LongEval-RAG (CLEF 2026): stages as pure functions in a row.

Passages, retrieval, reranking, selection and evidence each have a module, and know nothing of one another. What they
share is here: documents, passages, and how a text is taken apart. The reference implementation takes texts apart for
English in ASCII alone; :data:`REFERENCE` does as it does, :data:`UNICODE` repairs it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nuggeteval.text import HAN, squeezed

__all__ = [
    "CLOSERS",
    "ENDS",
    "REFERENCE",
    "STOP_WORDS",
    "TEMPORAL",
    "UNICODE",
    "Dialect",
    "Evidence",
    "Item",
    "Passage",
    "Sentence",
    "is_long",
    "is_temporal",
    "keywords",
    "year_of",
]

_STOP_WORDS = """
a an and are as at be by can did do does for from how in into is it later of on or should still that the their this
through to using what when which while with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_TEMPORAL = """
earlier later before after strengthen improve evolve evolution subsequent previous follow-up followup validation compare
comparison
"""
TEMPORAL = frozenset(_TEMPORAL.split())
"""Words that make a query one about change over time."""

_LEAST = 3
_YEAR = re.compile(r"(?:19|20)\d{2}")
ENDS = ".!?\u3002\uff01\uff1f\uff0e\uff61\u0964\u0965\u061f\u06d4\u0589\u1362\u1367\u104b\u17d4"
"""What a sentence can end with: of Latin, Chinese and Japanese, Indic, Arabic, Armenian, Ethiopic, Burmese, Khmer."""
CLOSERS = "\"'\u201d\u2019\u00bb)]\u300d\u300f\uff09"
"""What can stand after the end of a sentence."""


class Passage(NamedTuple):
    """A stretch of a document.

    Attributes:
        document: its id.
        text: the sentences, joined by a blank.
        tokens: of the text.
        title, timestamp: of the document.
        place: among the passages of the document, from 0.
    """

    document: str
    text: str
    tokens: tuple[str, ...]
    title: str = ""
    timestamp: str = ""
    place: int = 0

    @property
    def id(self) -> str:
        """``DOCUMENT::pPLACE``."""
        return f"{self.document}::p{self.place}"


class Item(NamedTuple):
    """A sentence that an answer may use.

    Attributes:
        text: of the sentence.
        citation: place of its document in the references.
        document: its id.
        score: by which items are ranked.
        heuristic: the score by formula, whatever ranks.
        timestamp: of the document.
        place: of the sentence in its passage, from 0.
        reranked: whether the score is a model's.
    """

    text: str
    citation: int
    document: str
    score: float
    heuristic: float
    timestamp: str
    place: int
    reranked: bool = False


class Evidence(NamedTuple):
    """What an answer may use: documents in the order of their first passage, and sentences, best first."""

    references: list[str]
    items: list[Item]


class Sentence(NamedTuple):
    """A sentence of an answer, and the places of the documents that it cites in the references."""

    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True)
class Dialect:
    """How a text is taken apart.

    Attributes:
        word: a token.
        boundary: what is between two sentences.
        reference: whether faults of the reference are kept, here and in the stages that are told of a dialect.
        memory: tokens of texts that were seen, where they are remembered.
    """

    word: re.Pattern[str] = field(repr=False)
    boundary: re.Pattern[str] = field(repr=False)
    reference: bool = False
    memory: dict[str, tuple[str, ...]] | None = field(default=None, repr=False, compare=False)

    def remembering(self) -> Dialect:
        """The same, with a memory: each text is taken apart once."""
        return replace(self, memory={})

    def tokens(self, text: str) -> tuple[str, ...]:
        """The tokens of a text, lower-cased; their number is what is meant by words."""
        if self.memory is None:
            return self._tokens(text)
        if text not in self.memory:
            self.memory[text] = self._tokens(text)
        return self.memory[text]

    def _tokens(self, text: str) -> tuple[str, ...]:
        if not (self.reference or text.isascii()):
            text = unicodedata.normalize("NFC", text)
        return tuple(token.lower() for token in self.word.findall(text))

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, its white space squeezed; none of an empty one."""
        return [sentence for sentence in self.boundary.split(squeezed(text)) if sentence]


REFERENCE = Dialect(
    re.compile(r"[A-Za-z0-9_]+(?:[-'][A-Za-z0-9_]+)?"), re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])"), reference=True
)
"""ASCII alone, as released."""


def _marks() -> str:
    """Marks that stand on letters, and joiners, as a class of characters: without them words of Hindi fall apart."""
    return "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M") + "\u200c\u200d"


# Letters in a row first: what marks stand on letters is looked at only where there are some.
_WORD = rf"[^\W{HAN}]+(?:[{_marks()}]+[^\W{HAN}]*)*"
_CLOSING = re.escape(CLOSERS)
_FOREIGN = ENDS[3:]
UNICODE = Dialect(
    re.compile(rf"[{HAN}]|{_WORD}(?:[-'\u2019]{_WORD})?"),
    re.compile(
        rf"(?:(?<=[.!?])|(?<=[.!?][{_CLOSING}]))\s+(?=[\"'\u201c\u2018\u00ab(\[]*[^\W_a-z])"
        rf"|(?<=[{_FOREIGN}])(?![{_FOREIGN}{_CLOSING}])\s*|(?<=[{_FOREIGN}][{_CLOSING}])\s*"
    ),
)
"""Any script; of Han and Kana, which have no blanks, a character is a token."""


def is_long(token: str, least: int) -> bool:
    """Whether a token has so many characters, or is one of Han and Kana, where a character is a word."""
    return len(token) >= least or _IS_HAN.match(token) is not None


_IS_HAN = re.compile(f"[{HAN}]")


def keywords(tokens: Iterable[str], number: int) -> list[str]:
    """The first distinct tokens of three characters or more that are no stop words (section 3 of the paper)."""
    kept = (token for token in tokens if is_long(token, _LEAST) and token not in STOP_WORDS)
    return list(dict.fromkeys(kept))[:number]


def is_temporal(tokens: Iterable[str]) -> bool:
    """Whether a query asks for change over time."""
    return not TEMPORAL.isdisjoint(tokens)


def year_of(timestamp: str) -> int | None:
    """The first year from 1900 to 2099 in a timestamp."""
    found = _YEAR.search(timestamp)
    return int(found.group()) if found else None
