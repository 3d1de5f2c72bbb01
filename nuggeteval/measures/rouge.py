"""ROUGE-1, -2 and -L of answers and reference texts, by two packages' definitions.

Lin, "ROUGE: a package for automatic evaluation of summaries", 2004. The default gives the numbers of google's
``rouge-score`` with its stemmer, and takes texts of any script; ``variant="rouge"`` gives those of the PyPI package
``rouge`` 1.0.1, which TREC iKAT 2024 was scored with. ROUGE-L takes a text for one sequence of words in the first,
and for sentences that end at full stops in the second. Longest common subsequences are found with whole numbers for
rows of the table, a bit for each word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from nuggeteval.data import Answer
from nuggeteval.measures import Param, Record, choice
from nuggeteval.references import AnswerInputs
from nuggeteval.text import pieces

__all__ = ["RECORDS", "Overlap", "lcs_length", "lcs_words", "rouge_tokens", "uses_unicode"]

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_LEAST_STEMMED = 4
_FOREIGN = 0.1


class Overlap(NamedTuple):
    """What two texts share, and how much there is of each: n-grams or words."""

    shared: int
    candidate: int
    reference: int

    @property
    def precision(self) -> float:
        """Share of the candidate; 0 where it is empty."""
        return self.shared / self.candidate if self.candidate else 0.0

    @property
    def recall(self) -> float:
        """Share of the reference; 0 where it is empty."""
        return self.shared / self.reference if self.reference else 0.0

    def f1(self, smoothing: float = 0.0) -> float:
        """Harmonic mean of both, 0 where both are.

        Args:
            smoothing: added to the denominator.
        """
        both = self.precision + self.recall
        # In this order of operations, so that values equal those of the packages in every bit.
        if smoothing:
            return 2.0 * ((self.precision * self.recall) / (both + smoothing))
        return 2 * self.precision * self.recall / both if both else 0.0


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    """The stem of an English word, as rouge-score has it; other words, and short ones, as they are."""
    if len(word) < _LEAST_STEMMED or not word.isascii():
        return word
    stem: str = _stemmer().stem(word)
    return stem


@lru_cache(maxsize=1 << 12)
def rouge_tokens(text: str, unicode: bool) -> tuple[str, ...]:
    """The stemmed words of a text, lower-cased.

    Args:
        text: any.
        unicode: letters and digits of every script, of Han and Kana each character; else ``a-z`` and ``0-9`` alone,
            as rouge-score has it. Of a text in ASCII both are the same.
    """
    if unicode and not text.isascii():
        # Marks belong to the letters that they stand on: without them words of Hindi would fall apart.
        composed = unicodedata.normalize("NFKC", text).lower()
        return tuple(map(_stem, pieces("".join(char if _of_word(char) else " " for char in composed))))
    return tuple(map(_stem, _ASCII_WORD.findall(text.lower())))


@lru_cache(maxsize=1 << 14)
def _of_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def uses_unicode(text: str) -> bool:
    """Whether over a tenth of the letters and digits of a text are outside ASCII: rouge-score cannot read it."""
    letters = [char for char in text if char.isalnum()]
    return sum(not char.isascii() for char in letters) > _FOREIGN * len(letters)


def _rows(reference: Sequence[str], candidate: Sequence[str]) -> Iterator[int]:
    """Rows of the table of longest common subsequences, for 0, 1, ... words of the candidate.

    Bit i of a row is 0 where word i of the reference makes the subsequence longer (Hyyro, 2004), so that the length
    for the first n words is the number of zeros in the n lowest bits.
    """
    places: dict[str, int] = {}
    for index, word in enumerate(reference):
        places[word] = places.get(word, 0) | 1 << index
    full = (1 << len(reference)) - 1
    row = full
    yield row
    for word in candidate:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & full
        yield row


def _length(row: int, words: int) -> int:
    """Length of the longest common subsequence with the first words of the reference."""
    return words - (row & ((1 << words) - 1)).bit_count()


def lcs_length(reference: Sequence[str], candidate: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    *_, last = _rows(reference, candidate)
    return _length(last, len(reference))


def lcs_words(reference: Sequence[str], candidate: Sequence[str]) -> set[str]:
    """The distinct words of the longest common subsequence; of several, the one that ``rouge`` takes."""
    if set(reference).isdisjoint(candidate):
        return set()
    rows = list(_rows(reference, candidate))
    found = set()
    i, j = len(reference), len(candidate)
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            found.add(reference[i - 1])
            i, j = i - 1, j - 1
        elif _length(rows[j], i - 1) > _length(rows[j - 1], i):
            i -= 1
        else:
            j -= 1
    return found


def _ngrams(tokens: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(n)), strict=False)


def _overlap_n(n: int) -> Callable[[Sequence[str], Sequence[str]], Overlap]:
    def overlap(reference: Sequence[str], candidate: Sequence[str]) -> Overlap:
        theirs, mine = Counter(_ngrams(reference, n)), Counter(_ngrams(candidate, n))
        return Overlap((theirs & mine).total(), mine.total(), theirs.total())

    return overlap


def _overlap_l(reference: Sequence[str], candidate: Sequence[str]) -> Overlap:
    return Overlap(lcs_length(reference, candidate), len(candidate), len(reference))


_Sentences = Sequence[Sequence[str]]


def _classic_sentences(text: str) -> list[list[str]]:
    """Words between blanks of what stands between full stops; a blank stretch is one empty word, as in ``rouge``."""
    return [stretch.split() or [""] for stretch in text.split(".") if stretch]


def _classic_overlap_n(n: int) -> Callable[[_Sentences, _Sentences], Overlap]:
    def overlap(reference: _Sentences, candidate: _Sentences) -> Overlap:
        theirs, mine = (set(_ngrams(list(chain(*text)), n)) for text in (reference, candidate))
        return Overlap(len(theirs & mine), len(mine), len(theirs))

    return overlap


def _classic_overlap_l(reference: _Sentences, candidate: _Sentences) -> Overlap:
    """The union of the longest common subsequences of every two sentences, in distinct words."""
    union = set().union(*(lcs_words(theirs, mine) for theirs in reference for mine in candidate))
    return Overlap(len(union), len(set(chain(*candidate))), len(set(chain(*reference))))


_CLASSIC_SMOOTHING = 1e-8


class _Reference(NamedTuple):
    """A reference text, taken apart once for all runs; ``unicode`` says how, and so how the answers to it are."""

    words: Sequence[Any]
    unicode: bool


def _taken_apart(text: str, variant: str, tokens: str) -> _Reference:
    if variant == "rouge":
        return _Reference(_classic_sentences(text), unicode=False)
    unicode = uses_unicode(text) if tokens == "auto" else tokens == "unicode"
    return _Reference(rouge_tokens(text, unicode), unicode)


def _kernel(overlap: Callable[..., Overlap], classic: Callable[..., Overlap]) -> Callable[..., Mapping[str, float]]:
    """Of several references the one with the largest F1 counts, as in rouge-score."""

    def best(text: str, references: Sequence[_Reference], variant: str, value: str) -> float:
        smoothing = _CLASSIC_SMOOTHING if variant == "rouge" else 0.0
        if variant == "rouge":
            words = _classic_sentences(text)
            found = [classic(reference.words, words) for reference in references]
        else:
            found = [overlap(r.words, rouge_tokens(text, r.unicode)) for r in references]
        chosen = max(found, key=lambda each: each.f1(smoothing))
        return chosen.f1(smoothing) if value == "f1" else float(getattr(chosen, value))

    def kernel(
        answers: Mapping[str, Answer], inputs: AnswerInputs, variant: str, tokens: str, value: str
    ) -> Mapping[str, float]:
        def compute() -> dict[str, list[_Reference]]:
            gold = inputs.gold or {}
            return {topic: [_taken_apart(text, variant, tokens) for text in texts] for topic, texts in gold.items()}

        gold = inputs.memo(("rouge", variant, tokens), compute)
        return {t: best(answers[t].text, texts, variant, value) for t, texts in gold.items() if texts and t in answers}

    return kernel


_LIN = 'Lin, "ROUGE: a package for automatic evaluation of summaries", 2004'
_PARAMS: dict[str, Param] = {
    "variant": choice(
        "rouge_score",
        ("rouge_score", "rouge"),
        "google's rouge-score, or the PyPI package rouge 1.0.1 (TREC iKAT): words between blanks, not stemmed",
    ),
    "tokens": choice(
        "auto",
        ("auto", "ascii", "unicode"),
        "letters that count, in rouge_score's variant: a-z and 0-9 as in rouge-score, any script, or any where more "
        "than a tenth of the letters of the reference are outside ASCII",
    ),
    "value": choice("f1", ("f1", "precision", "recall"), "which of the three; of several references the best by f1"),
}


def _record(
    overlap: Callable[..., Overlap], classic: Callable[..., Overlap], what: str, oracle: str = "rouge-score; rouge"
) -> Record:
    return Record(
        _kernel(overlap, classic),
        f"F1 of {what} that the answer and a reference text share; 0 for an empty or missing answer.",
        _LIN,
        _PARAMS,
        views=("answers",),
        needs=("answers", "gold"),
        oracle=oracle,
    )


RECORDS: dict[str, Record] = {
    "ROUGE_1": _record(_overlap_n(1), _classic_overlap_n(1), "the stemmed words"),
    "ROUGE_2": _record(_overlap_n(2), _classic_overlap_n(2), "the pairs of adjacent stemmed words"),
    "ROUGE_L": _record(
        _overlap_l,
        _classic_overlap_l,
        "the longest common subsequence of stemmed words (of the whole texts, not of their lines: no ROUGE-Lsum)",
    ),
}
