"""nuggeteval measures [NAME]: the measure table, from its own records."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator

from nuggeteval.bridge import describe_theirs
from nuggeteval.cli import write_lines
from nuggeteval.measures import ALIASES, NICKNAMES, TABLE, TREC_NAMES, Record, expand_names, record_of

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval measures
  nuggeteval measures alpha_nDCG
  nuggeteval measures official

Any measure of ir_measures that is not in the table is computed by ir_measures.
"""

_WIDTH = max(60, min(140, shutil.get_terminal_size((100, 24)).columns))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s [NAME]"
    parser.epilog = _EXAMPLES
    parser.add_argument("name", metavar="NAME", nargs="?", help="a measure, to see its record in full, or a nickname")


def run(options: argparse.Namespace) -> int:
    """Print the table, or what one name stands for."""
    write_lines(_explained(options.name) if options.name else _table(), None)
    return 0


def _explained(name: str) -> Iterator[str]:
    """One record; the measures of a nickname; what ir_measures says of its own."""
    measures = expand_names(name)
    if name in NICKNAMES:
        yield from _wrapped(f"{name}: ", " ".join(map(str, measures)))
        return
    measure = measures[0]
    if measure.name in TABLE:
        yield from _full(measure.name)
    else:
        yield from _wrapped(f"{measure.name}: ", describe_theirs(measure))


def _notation(name: str, record: Record) -> str:
    return name + {"required": "@k", "optional": "[@k]", "none": ""}[record.cutoff]


def _table() -> Iterator[str]:
    for name in TABLE:
        record = record_of(name)
        yield f"{_notation(name, record):<18} {textwrap.shorten(record.definition, _WIDTH - 19, placeholder=' ...')}\n"
    yield "\nnicknames\n"
    for nickname, names in NICKNAMES.items():
        yield from _wrapped(f"{nickname:<18} ", " ".join(names))
    yield "\ntrec_eval's names\n"
    yield from _wrapped(" " * 19, " ".join(TREC_NAMES))


def _full(name: str) -> Iterator[str]:
    record = record_of(name)
    yield f"{_notation(name, record)}\n"
    aliases = [alias for alias, target in ALIASES.items() if target == name]
    better = {True: "higher is better", False: "lower is better", None: "a count, no direction"}
    entries = {
        "definition": record.definition,
        "citation": record.citation,
        "also called": ", ".join(
            dict.fromkeys([*aliases, *(trec for trec, (ours, _) in TREC_NAMES.items() if ours == name != trec)])
        ),
        "cutoff": record.cutoff,
        "units": ", ".join(record.views) or "any",
        "needs": ", ".join(_needs(record)),
        "aggregate": "sum over topics" if record.summed else "mean over topics",
        "direction": better[record.higher_is_better],
        "equals": record.oracle,
    }
    for label, text in entries.items():
        if text:
            yield from _wrapped(f"  {label:<12} ", text)
    for param, info in record.params.items():
        yield from _wrapped(
            f"  {param:<12} ",
            f"{info.meaning}; {info.rule}{'' if info.default is None else f' (default {info.default})'}",
        )


def _needs(record: Record) -> Iterator[str]:
    """What a measure is computed from; ``sources``, the documents that answers cite, come with the judgments."""
    if not record.takes_answers:
        yield from ("answers",) if "judgments" in record.needs else ("qrels", "run")
    yield from (need for need in record.needs if need != "sources")


def _wrapped(label: str, text: str) -> Iterator[str]:
    yield textwrap.fill(text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label)) + "\n"
