"""Human labels of response and nugget: ``batch_topic_turn_nugget_run<TAB>0|1`` (TREC iKAT 2024)."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from nuggeteval.errors import FormatError, shorten
from nuggeteval.files import read_bytes

__all__ = ["Labels", "read_aliases", "read_labels"]

Labels = dict[tuple[str, str, str], int]
"""(run, topic, nugget) -> grade."""


def read_labels(path: str, aliases: Mapping[str, str] | None = None) -> Labels:
    """Read labels of whole responses.

    Args:
        path: a label file.
        aliases: names of runs in the label file -> in the judgments.

    Raises:
        FormatError: a line that is no label, or a label twice.
    """
    labels: Labels = {}
    for number, line in enumerate(read_bytes(path).decode("utf-8", "surrogateescape").splitlines(), start=1):
        if line.strip():
            key, label = _parse(line, path, number, aliases or {})
            if key in labels:
                raise FormatError(path, f"second label for run {key[0]!r}, topic {key[1]!r}, nugget {key[2]!r}", number)
            labels[key] = label
    return labels


def _parse(line: str, path: str, number: int, aliases: Mapping[str, str]) -> tuple[tuple[str, str, str], int]:
    key, _, label = line.partition("\t")
    # The run comes last, since its name may have the separator in it.
    parts = key.split("_", 4)
    if len(parts) != 5 or label.strip() not in ("0", "1"):
        raise FormatError(path, f"expected batch_topic_turn_nugget_run<TAB>0|1, found {shorten(line)!r}", number)
    _, topic, turn, nugget, run = parts
    return (aliases.get(run, run), f"{topic}_{turn}", nugget), int(label)


def read_aliases(path: str) -> dict[str, str]:
    """Two or more columns with a header: the name in the labels, the name of the run.

    Raises:
        FormatError: a line with fewer columns.
    """
    rows = list(csv.reader(read_bytes(path).decode("utf-8").splitlines(), delimiter="\t"))
    for number, row in enumerate(rows, start=1):
        if len(row) < 2:
            raise FormatError(path, "expected two columns separated by a tab: alias, run", number)
    return {row[0]: row[1] for row in rows[1:]}
