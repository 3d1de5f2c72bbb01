"""Statistics of a nugget bank, and the overlap of two."""

from __future__ import annotations

from collections.abc import Iterator

from nuggeteval.data import NuggetBank

__all__ = ["overlap_lines", "statistics_lines"]


def statistics_lines(bank: NuggetBank, by_topic: bool = False) -> Iterator[str]:
    """Counts and lengths (in words) of a bank, after Table 2 of Abbasiantaeb et al. 2025.

    Args:
        bank: what to describe.
        by_topic: a line for every topic, too.
    """
    sizes = [len(nuggets) for nuggets in bank.nuggets.values()]
    used = [size for size in sizes if size]
    lengths = [len(text.split()) for text in bank.texts()]
    rows: list[tuple[str, float]] = [
        ("topics", len(sizes)),
        ("topics with a nugget", len(used)),
        ("nuggets", sum(sizes)),
        ("nuggets a topic (with one)", sum(sizes) / len(used) if used else 0.0),
        ("most nuggets in a topic", max(sizes, default=0)),
        ("words a nugget", sum(lengths) / len(lengths) if lengths else 0.0),
        ("longest nugget, words", max(lengths, default=0)),
    ]
    importance = [nugget.importance for nuggets in bank.nuggets.values() for nugget in nuggets if nugget.importance]
    rows += [(name, importance.count(name)) for name in ("vital", "okay") if importance]
    for name, value in rows:
        yield f"{name:<28} {value:>10.2f}\n" if isinstance(value, float) else f"{name:<28} {value:>10}\n"
    for topic, nuggets in bank.nuggets.items() if by_topic else ():
        words = [len(nugget.text.split()) for nugget in nuggets]
        mean = sum(words) / len(words) if words else 0.0
        yield f"{topic}\t{len(nuggets)}\t{mean:.2f}\n"


def overlap_lines(first: NuggetBank, second: NuggetBank) -> Iterator[str]:
    """How the nuggets of the second bank overlap with those of the first, topic by topic.

    Exact: equal but for case and outer white space; partial: one text contains the other; new: neither.
    """
    counts = {"exact": 0, "partial": 0, "new": 0}
    for topic, nuggets in second.nuggets.items():
        known = [nugget.text.strip().lower() for nugget in first.nuggets.get(topic, ())]
        for nugget in nuggets:
            counts[_overlap(nugget.text.strip().lower(), known)] += 1
    yield f"{second.name} beside {first.name}\n"
    for name, count in counts.items():
        yield f"{name:<28} {count:>10}\n"


def _overlap(text: str, known: list[str]) -> str:
    if text in known:
        return "exact"
    return "partial" if any(text in other or other in text for other in known if other) and text else "new"
