"""Answers without a language model: sentences of the evidence, some of them put side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nuggeteval.rag import ENDS, UNICODE, Dialect, Item, Sentence, is_temporal, keywords, year_of
from nuggeteval.text import first_words, squeezed

__all__ = ["extract"]

_KNOWN = 20
_SIDE, _SHORT, _LONG = 22, 36, 70
_PAIRS = 2
_Said = tuple[Sentence, tuple[Item, ...]]


def extract(
    query: str, items: Sequence[Item], most: int = 5, templates: bool = True, dialect: Dialect = UNICODE
) -> list[Sentence]:
    """An answer from the evidence; without evidence it is empty.

    Where the query asks for change over time, what the earliest and the latest source say comes first; then at most two
    pairs of sources side by side; then the best sentence of each document, and the others.

    Args:
        query: the request.
        items: evidence, best first.
        most: sentences of the answer.
        templates: whether sources are put side by side; else each sentence is one of the evidence.
        dialect: how texts are taken apart.
    """
    temporal = is_temporal(dialect.tokens(query))
    ends = list(_ends_of_time(items)) if templates and temporal else []
    left = [item for item in items if not any(item in of for _, of in ends)]
    pairs = list(_side_by_side(query, left, dialect)) if templates else []
    chosen: list[Sentence] = []
    sources: set[frozenset[int]] = set()
    said: set[Item] = set()
    for sentence, of in (*ends, *pairs, *_alone(items, dialect)):
        cited = frozenset(sentence.citations)
        # Where time is asked for, every sentence has sources of its own.
        if said.isdisjoint(of) and not (temporal and cited in sources):
            sources.add(cited)
            said.update(of)
            chosen.append(sentence)
    return chosen[:most]


def _best(items: Sequence[Item]) -> list[Item]:
    """The best item of each document, in the order of the items."""
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.document, item)
    return list(found.values())


def _ends_of_time(items: Sequence[Item]) -> Iterator[_Said]:
    """What the earliest and the latest source say, if two have dates."""
    dated = [(year, item) for item in _best(items) if (year := year_of(item.timestamp)) is not None]
    if len(dated) < 2:
        return
    first = min(dated, key=lambda one: (one[0], -one[1].score, one[1].document))
    last = min(dated, key=lambda one: (-one[0], -one[1].score, one[1].document))
    for year, item in dict.fromkeys((first, last)):
        yield Sentence(f"A source of {year} states: {item.text}", (item.citation,)), (item,)


def _side_by_side(query: str, items: Sequence[Item], dialect: Dialect) -> Iterator[_Said]:
    """Two sources in one sentence, at most twice: the one nearest to the query, and the one nearest to it."""
    words = set(keywords(dialect.tokens(query), _KNOWN))
    terms = {item: set(dialect.tokens(item.text)) for item in items}
    waiting = sorted(_best(items), key=lambda item: (-len(words & terms[item]), -item.score))
    for _ in range(_PAIRS):
        if len(waiting) < 2:
            return
        one, *others = waiting
        other = max(others, key=lambda o: (len(words & terms[o]), len(terms[one] & terms[o]), o.score))
        waiting = [item for item in others if item is not other]
        first, second = (_cut(_sentence(item, dialect), _SIDE) for item in (one, other))
        yield Sentence(f"One source states: {first}; another: {second}.", (one.citation, other.citation)), (one, other)


def _alone(items: Sequence[Item], dialect: Dialect) -> Iterator[_Said]:
    """The best item of each document, by score, and then the others in their order."""
    best = sorted(_best(items), key=lambda item: -item.score)
    for item in (*best, *(item for item in items if item not in best)):
        text = _sentence(item, dialect)
        if len(dialect.tokens(text)) > _LONG:
            text = f"{_cut(text, _SHORT)}."
        yield Sentence(text, (item.citation,)), (item,)


def _sentence(item: Item, dialect: Dialect) -> str:
    """What an item says; of a whole passage its first sentence."""
    return item.text if len(dialect.tokens(item.text)) <= _LONG else dialect.sentences(item.text)[0]


def _cut(text: str, words: int) -> str:
    """The beginning of a sentence, without what ends it; cut at the end of a clause if that is far enough."""
    kept = squeezed(first_words(text, words))
    if len(kept) < len(squeezed(text)):
        clause = max(kept.rfind(mark) for mark in ",;:\u2013\u2014")
        kept = kept[:clause] if clause > len(kept) / 2 else kept
    return kept.rstrip(f" ,;:\u2013\u2014{ENDS}")
