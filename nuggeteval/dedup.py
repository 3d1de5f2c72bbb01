"""A bank without nuggets that others of its topic entail.

Entailment within a topic is a directed graph. ``components`` keeps one nugget of every strongly connected
component that nothing outside it entails: order-independent, never empties a topic, and the paper's rule
(Abbasiantaeb et al. 2025, section 4.3) where there are no cycles. ``greedy`` goes through the nuggets by id,
each removing those that it entails; ``literal`` removes every nugget that any other entails, and so
all copies of a repeated one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nuggeteval.data import Nugget, NuggetBank
from nuggeteval.errors import ParameterError
from nuggeteval.judges import Item, Judge
from nuggeteval.stats.graph import strong_components
from nuggeteval.text import fold, natural

__all__ = ["KEEP", "RULES", "deduplicate", "pairs_to_judge"]

KEEP = ("lowest", "longest")
"""Which of several nuggets that entail each other stays."""

Graph = Mapping[int, frozenset[int]]
"""Nugget -> nuggets that it entails, by position in the topic."""


def deduplicate(
    bank: NuggetBank,
    judge: Judge,
    rule: str = "components",
    keep: str = "lowest",
    progress: Callable[[int, int], None] | None = None,
) -> NuggetBank:
    """Leave out nuggets that others of their topic entail.

    Texts that are equal but for case, white space, quotes and a final stop entail each other without being judged.

    Args:
        bank: nuggets with texts.
        judge: says whether the first text entails the second: premise the nugget that stays.
        rule: a key of :data:`RULES`.
        keep: of nuggets that entail each other, that with the ``lowest`` id, or the ``longest``.
        progress: called with (pairs judged, all of them).

    Returns:
        a bank whose nuggets are a part of the given ones, in their order, with their ids.

    Raises:
        ParameterError: another rule, or another ``keep``.
    """
    if rule not in RULES:
        raise ParameterError(f"rule must be one of {', '.join(RULES)} (got {rule!r})")
    if keep not in KEEP:
        raise ParameterError(f"keep must be one of {', '.join(KEEP)} (got {keep!r})")
    items = list(pairs_to_judge(bank))
    entails = set()
    for done, (index, verdict) in enumerate(judge(items), start=1):
        if (verdict.grade or 0) >= judge.scale.rel:
            entails.add(items[index])
        if progress:
            progress(done, len(items))
    kept = {}
    for topic, nuggets in bank.nuggets.items():
        order = sorted(range(len(nuggets)), key=lambda place: _preference(nuggets[place], keep))
        survivors = RULES[rule](_graph(nuggets, entails), order)
        kept[topic] = tuple(nugget for place, nugget in enumerate(nuggets) if place in survivors)
    return replace(bank, nuggets=kept)


def _preference(nugget: Nugget, keep: str) -> tuple[int, list[tuple[int, int, str]]]:
    """The order in which nuggets stay: by id, its numbers taken as numbers, or the longest first."""
    return (-len(nugget.text) if keep == "longest" else 0, natural(nugget.id))


def _same(text: str) -> str:
    return fold(text).rstrip(".").rstrip()


def pairs_to_judge(bank: NuggetBank) -> Iterator[Item]:
    """Every ordered pair of different texts within a topic, each pair of texts once."""
    seen = set()
    for nuggets in bank.nuggets.values():
        texts = {_same(nugget.text): nugget.text for nugget in reversed(nuggets)}
        for premise in texts.values():
            for hypothesis in texts.values():
                item = Item(premise, hypothesis)
                if premise != hypothesis and item not in seen:
                    seen.add(item)
                    yield item


def _graph(nuggets: Sequence[Nugget], entails: set[Item]) -> Graph:
    """Who entails whom: by verdict on the first spelling of each text, or by being the same text."""
    spelling = {_same(nugget.text): nugget.text for nugget in reversed(nuggets)}
    texts = [spelling[_same(nugget.text)] for nugget in nuggets]
    return {
        a: frozenset(
            b for b in range(len(texts)) if a != b and (texts[a] == texts[b] or Item(texts[a], texts[b]) in entails)
        )
        for a in range(len(texts))
    }


def _components(graph: Graph, order: Sequence[int]) -> set[int]:
    """One nugget (the first in ``order``) of each component that no other component entails."""
    component = strong_components(graph)
    entailed = {component[b] for a in graph for b in graph[a] if component[a] != component[b]}
    chosen: dict[int, int] = {}
    for node in order:
        chosen.setdefault(component[node], node)
    return {node for name, node in chosen.items() if name not in entailed}


def _greedy(graph: Graph, order: Sequence[int]) -> set[int]:
    """Each nugget in turn, if it is still there, removes those that it entails."""
    alive = set(order)
    for node in order:
        if node in alive:
            alive -= graph[node]
    return alive


def _literal(graph: Graph, _order: Iterable[int]) -> set[int]:
    """Nuggets that no other entails."""
    entailed = {b for successors in graph.values() for b in successors}
    return set(graph) - entailed


RULES: dict[str, Callable[[Graph, Sequence[int]], set[int]]] = {
    "components": _components,
    "greedy": _greedy,
    "literal": _literal,
}
"""Name of a rule -> (graph, order of preference) -> nuggets that stay."""
