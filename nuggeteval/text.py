"""Text: sentences, words, and the folding under which a span is looked for. One place, any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b

__all__ = [
    "HAN",
    "STOP_WORDS",
    "content_words",
    "fill",
    "first_words",
    "fold",
    "hash_of_texts",
    "natural",
    "pieces",
    "sentences",
    "squeezed",
    "stem_of",
    "words",
]

_STOP_WORDS = """
a about above after again against all also am an and any are as at be because been before being below between both but
by can cannot could did do does doing down during each few for from further had has have having he her here hers herself
him himself his how i if in into is it its itself just like may me might more most much must my myself no nor not of off
on once one only or other our ours ourselves out over own same shall she should so some such than that the their theirs
them themselves then there these they this those through to too under until up us very was we were what when where which
while who whom why will with would you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
# Scripts without blanks: a character is a word, else nothing of them would ever be cut.
HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Han and Kana, as in a class of characters."""
_PIECE = re.compile(rf"[{HAN}]|[^\s{HAN}]+")
_MARKS = re.compile(r"[*_`#>]+")
_END = re.compile(
    r"""(?<=[.!?])["'\u201d\u2019)\]]*\s+(?=["'\u201c\u2018(\[]*[^\W_a-z])""",
)
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'})


def words(text: str) -> list[str]:
    """Lower-cased words: runs of letters and digits, with an English clitic (``it's``)."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


@lru_cache(maxsize=1)
def _stemmer() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=1 << 18)
def stem_of(word: str) -> str:
    """The Porter stem of a word."""
    stemmed: str = _stemmer().stemWord(word)  # type: ignore[attr-defined]
    return stemmed


def content_words(text: str) -> frozenset[str]:
    """The distinct Porter stems of the words that are no stop words."""
    return frozenset(stem_of(word) for word in words(text) if word not in STOP_WORDS)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, deterministically.

    Marks of Markdown are removed; a sentence ends at a line break, and after ``.``, ``!`` or ``?`` (and
    closing quotes or brackets) before white space and a capital, digit, quote or bracket.
    """
    found = []
    for line in _MARKS.sub("", text).splitlines():
        begin = 0
        for match in _END.finditer(line):
            closing = len(match.group()) - len(match.group().lstrip("\"'\u201d\u2019)]"))
            found.append(line[begin : match.start() + closing])
            begin = match.end()
        found.append(line[begin:])
    return [sentence.strip() for sentence in found if sentence.strip()]


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its fields filled, in one pass, so that what stands in the values is left alone.

    Args:
        template: with fields such as ``{query}``.
        values: of the fields, by their names without braces; other braces stay.
    """
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), template)


def fold(text: str) -> str:
    """The form in which spans are compared: NFKC, straight quotes, no Markdown marks, one blank, no case."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return " ".join(_MARKS.sub("", text).casefold().split())


@lru_cache(maxsize=1 << 16)
def pieces(text: str) -> list[str]:
    """Runs without blanks; of Han and Kana, which have none, every character."""
    return _PIECE.findall(text)


def first_words(text: str, number: int | None) -> str:
    """The first words of a text as they are (see :func:`pieces`); the text itself where it is no longer."""
    if number is None:
        return text
    for count, match in enumerate(_PIECE.finditer(text), start=1):
        if count > number:
            return text[: match.start()].rstrip()
    return text


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts ids with their numbers taken as numbers: n2 before n10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def squeezed(text: str) -> str:
    """A text with every run of white space as one blank."""
    return " ".join(text.split())


@lru_cache(maxsize=1 << 16)
def _hash(text: str) -> str:
    return blake2b(squeezed(text).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def hash_of_texts(unit: str, nugget: str) -> str:
    """16 hexadecimal digits that tell a pair of texts, whatever its white space, from others."""
    return _hash(unit) + _hash(nugget)
