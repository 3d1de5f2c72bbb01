"""What to compare next, and what a reply to it says: sorting by comparisons, where nobody is asked.

:func:`sliding_windows` is the order of RankGPT (Sun et al., EMNLP 2023), :func:`heap_sort` that of setwise ranking
(Zhuang et al., SIGIR 2024): generators that yield documents and are sent what came of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Sequence
from typing import TypeVar

from nuggeteval.errors import ParameterError
from nuggeteval.replies import clean

__all__ = [
    "LETTERS",
    "Answer",
    "Play",
    "heap_sort",
    "most_comparisons",
    "parse_choice",
    "parse_order",
    "sliding_windows",
    "windows_of",
    "yes_and_no",
]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_DIGITS = 7
_CHAIN = re.compile(r"\[\s*\d+\s*\](?:\s*(?:>|,)?\s*\[\s*\d+\s*\])+")
_BRACKETS = re.compile(r"\[\s*\d+\s*(?:[>,]\s*\d+\s*)*\]")
_BARE = re.compile(r"\d+(?:\s*>\s*\d+)+")
_NUMBERS = re.compile(r"[\d\s,.;>]+")
_NUMBER = re.compile(r"\d+")
_ALONE = re.compile(
    r"(?i:(?:document|passage|text|answer|letter|label)\s*(?:is)?\s*:?\s*)?[\[(]?([A-Za-z])[\])]?[.!]?",
)
# What follows the letter tells it from the article that begins a sentence.
_ANSWER = re.compile(
    r"(?i:answer|choice|verdict|best|most (?:helpful|relevant))[^\n.]*?[\s:\[('\"]([A-Z])"
    r"(?=[\])'\"]*\s*(?:\Z|[.,;:}\n]|because\b|since\b))"
)
_LEADING = re.compile(r"([A-Z])(?:\)|:|\.\s|[.:]?[ \t]*\n)")
_BRACKETED = re.compile(r"\[([A-Z])\]")
_EMPHASIS = re.compile(r"[*_`]+")

Answer = TypeVar("Answer")
Play = Generator[tuple[str, ...], Answer, list[str]]
"""A strategy on one topic: gives documents to compare, takes the answer, returns the ranking in the end."""


# --- what is compared next; nobody is asked here ----------------------------------------------------


def windows_of(documents: int, window: int, stride: int) -> list[tuple[int, int]]:
    """The windows of a ranking, from its end to its front, as (start, end).

    The last one begins at the top and is whole, where RankGPT leaves the top alone if the number of documents is no
    multiple; with 100 documents, window 20 and stride 10 they are RankGPT's nine.

    Raises:
        ParameterError: a window of one document, or a stride that leaves gaps.
    """
    if window < 2:
        raise ParameterError(f"window must be at least 2 (got {window})")
    if not 1 <= stride <= window:
        raise ParameterError(f"stride must be from 1 to the window of {window} (got {stride})")
    if documents < 2:
        return []
    found = []
    start = max(documents - window, 0)
    while start > 0:
        found.append((start, start + window))
        start = max(start - stride, 0)
    return [*found, (0, min(window, documents))]


def sliding_windows(documents: Sequence[str], window: int = 20, stride: int = 10) -> Play[Sequence[int]]:
    """RankGPT's order: each window is answered with the places of its documents, best first."""
    ranking = list(documents)
    for start, end in windows_of(len(ranking), window, stride):
        order = yield tuple(ranking[start:end])
        ranking[start:end] = [ranking[start + place] for place in order]
    return ranking


def heap_sort(documents: Sequence[str], children: int = 5, top: int = 10) -> Play[int]:
    """The setwise order: a comparison of a parent and its children is answered with the place of the best.

    Args:
        documents: in the order of the first stage.
        children: of a node of the heap.
        top: documents that are sorted; the rest follows in the order of the first stage.

    Returns:
        the ranking.
    """
    heap, size = list(documents), len(documents)
    for node in range((size - 2) // children, -1, -1):
        yield from _sift(heap, size, node, children)
    found: list[str] = []
    while size and len(found) < top:
        found.append(heap[0])
        size -= 1
        heap[0] = heap[size]
        if len(found) < top:
            yield from _sift(heap, size, 0, children)
    taken = set(found)
    return [*found, *(document for document in documents if document not in taken)]


def _sift(heap: list[str], size: int, node: int, children: int) -> Generator[tuple[str, ...], int, None]:
    """Let a document sink below its better children."""
    while (first := children * node + 1) < size:
        places = [node, *range(first, min(first + children, size))]
        best = places[(yield tuple(heap[place] for place in places))]
        if best == node:
            return
        heap[node], heap[best] = heap[best], heap[node]
        node = best


def most_comparisons(documents: int, children: int, top: int) -> int:
    """The most comparisons that :func:`heap_sort` can make: every document sinks to a leaf.

    Raises:
        ParameterError: no child or more than there are letters for, or nothing to sort.
    """
    if not 1 <= children < len(LETTERS):
        raise ParameterError(f"children must be from 1 to {len(LETTERS) - 1} (got {children})")
    if top < 1:
        raise ParameterError(f"top must be at least 1 (got {top})")

    def depth(node: int, size: int) -> int:
        steps = 0
        while (node := children * node + 1) < size:
            steps += 1
        return steps

    building = sum(depth(node, documents) for node in range((documents - 2) // children + 1))
    return building + sum(depth(0, documents - taken) for taken in range(1, min(top, documents)))


# --- what replies mean -----------------------------------------------------------------------------


def yes_and_no(logprobs: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """P(yes) and P(no) among the likeliest first tokens, whatever the case and the blank before the word."""
    found = {"yes": 0.0, "no": 0.0}
    for token, value in logprobs:
        # Two marks of tokenizers for a leading blank, where a server gives tokens as they are.
        word = token.strip(" \t\r\n\u0120\u2581").casefold()
        if word in found:
            found[word] += math.exp(min(value, 0.0))
    return found["yes"], found["no"]


def parse_order(reply: str, number: int) -> list[int] | None:
    """The places (from 0) that a reply such as ``[3] > [1]`` names, best first.

    The longest chain of identifiers counts, else all in brackets, else a reply of numbers alone. Identifiers out of
    range and repetitions are ignored.

    Args:
        reply: of the model.
        number: of documents in the window.

    Returns:
        the places that are named; None where there is none.
    """
    text = _EMPHASIS.sub("", clean(reply))
    chains = _CHAIN.findall(text) or [" ".join(_BRACKETS.findall(text))]
    if not chains[0]:
        chains = _BARE.findall(text) or _NUMBERS.findall(text)[: bool(_NUMBERS.fullmatch(text))]
    named = max(chains, key=len, default="")
    # Python refuses to read thousands of digits, and no window is that long.
    places = dict.fromkeys(int(found) - 1 for found in _NUMBER.findall(named) if len(found) < _DIGITS)
    return [place for place in places if 0 <= place < number] or None


def parse_choice(reply: str, number: int) -> int | None:
    """The place (from 0) of the document that a reply names by its letter; None for none, or for several.

    Args:
        reply: of the model: a letter, alone or first, after a marker such as ``Answer:``, or the only one in brackets.
        number: of documents that there are to choose from.
    """
    text = _EMPHASIS.sub("", clean(reply)).strip(" \t\n\"'")
    alone = _ALONE.fullmatch(text)
    if alone:
        named = {alone.group(1).upper()}
    else:
        named = set(_ANSWER.findall(text)[-1:]) or set(_BRACKETED.findall(text))
        leading = _LEADING.match(text)
        if not named and leading:
            named = {leading.group(1)}
    if len(named) != 1:
        return None
    place = LETTERS.index(named.pop())
    return place if place < number else None
