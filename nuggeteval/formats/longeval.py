"""The evaluation files of LongEval-RAG 2026 that are in no common layout."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from nuggeteval.data import ScoreRow
from nuggeteval.errors import FormatError, shorten
from nuggeteval.ids import decode

__all__ = ["is_gold_comparison", "is_precisions", "read_gold_comparison", "read_precisions"]

_PRECISION = re.compile(r"(\S+) (\S+) (\S+): (\S+)")
_MEAN = "avg_prec_at_q"
_NUMBERS = re.compile(r"(rouge|bertscore|avg_)")


def is_precisions(raw: bytes) -> bool:
    """Whether a file has lines of ``team run topic: value``."""
    return _PRECISION.fullmatch(decode(raw.lstrip().split(b"\n", 1)[0]).strip()) is not None


def read_precisions(raw: bytes, path: str) -> list[tuple[int, ScoreRow]]:
    """Read ``team run topic: value``; the last line holds the mean.

    Raises:
        FormatError: another line, or a value that is no number.
    """
    rows = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        match = _PRECISION.fullmatch(decode(line).strip())
        if match is None:
            raise FormatError(path, f"expected 'team run topic: value', found {shorten(decode(line))!r}", number)
        topic = "all" if match[3] == _MEAN else match[3]
        rows.append((number, ScoreRow(match[2], topic, _MEAN, _number(match[4], path, number))))
    return rows


def is_gold_comparison(raw: bytes) -> bool:
    """Whether a file is one object with ``per_query`` values beside their summary."""
    return raw.lstrip()[:1] == b"{" and b'"per_query"' in raw and b'"summary"' in raw


def read_gold_comparison(raw: bytes, path: str) -> list[tuple[int, ScoreRow]]:
    """Read ROUGE and BERTScore of each query; the texts beside them are left alone.

    Raises:
        FormatError: no such object, or a value that is no number.
    """
    try:
        records: list[dict[str, Any]] = json.loads(decode(raw))["per_query"]
        return [
            (place, ScoreRow(str(record["run_id"]), str(record["query_id"]), name, _number(value, path, None)))
            for place, record in enumerate(records, start=1)
            for name, value in record.items()
            if _NUMBERS.match(name)
        ]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(path, f"expected an object with summary and per_query, whose records name run_id and "
                                f"query_id ({error})") from error  # fmt: skip


def _number(value: Any, path: str, line: int | None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(path, f"value must be a finite number (got {shorten(repr(value))})", line)
    return number
