"""Nuggetizer's files: banks without ids, and assignments, in which every nugget has its label beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from nuggeteval.data import Judgment, NuggetBank, Scale, unit_of_run
from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import json_records, read_bytes, stem, write_text
from nuggeteval.ids import stable_id
from nuggeteval.replies import LABELS

__all__ = ["read_assignments", "write_assignments", "write_nuggetizer_bank"]

SCALE = Scale(max(LABELS.values()))
FAILED = "failed"


def read_assignments(path: str) -> list[tuple[Judgment, Scale]]:
    """Read assignments as judgments: of responses, or of documents where a record has a ``docid``.

    Args:
        path: JSON lines ``{"qid", "run_id", "nuggets": [{"text", "importance", "assignment"}]}``; without ``run_id``
            the file is the name of the run. Also ``topic``, ``run``, and nuggets with an ``id``.

    Raises:
        FormatError: naming file and line: no qid, no nuggets, a nugget without text, an unknown label.
    """
    found = []
    for line, record in json_records(read_bytes(path), path):
        try:
            found += _judgments(record, stem(path))
        except DataError as error:
            raise FormatError(path, str(error), line) from None
    return found


def _judgments(record: dict[str, Any], name: str) -> list[tuple[Judgment, Scale]]:
    topic, nuggets = record.get("qid", record.get("topic")), record.get("nuggets")
    if isinstance(topic, bool) or not isinstance(topic, str | int) or not isinstance(nuggets, list):
        raise DataError("an assignment has qid and nuggets")
    document = record.get("docid")
    run = "" if document else str(record.get("run_id") or record.get("run") or name)
    view, unit = ("documents", str(document)) if document else ("responses", unit_of_run(run))
    return [(_judgment(nugget, view, run, str(topic), unit), SCALE) for nugget in nuggets]


def _judgment(nugget: Any, view: str, run: str, topic: str, unit: str) -> Judgment:
    named = nugget.get("id") if isinstance(nugget, dict) else None
    if not isinstance(nugget, dict) or not isinstance(nugget.get("text", named), str):
        raise DataError(f"a nugget has a text (got {shorten(repr(nugget), 40)})")
    label = nugget.get("assignment")
    if label != FAILED and label not in LABELS:
        raise DataError(f"assignment must be one of {', '.join([*LABELS, FAILED])} (got {label!r})")
    grade, reason = (None, FAILED) if label == FAILED else (LABELS[label], "")
    return Judgment(
        view, run, topic, unit, named or stable_id(topic, nugget["text"]), "nuggetizer", None, grade, reason,
        str(nugget.get("reasoning") or ""),
    )  # fmt: skip


def write_assignments(judgments: Iterable[tuple[Judgment, Scale]], bank: NuggetBank, path: str) -> None:
    """Write judgments on the scale of support as assignments, a line for each unit.

    Args:
        judgments: one for each unit and nugget.
        bank: texts and importance of the nuggets.
        path: where to.

    Raises:
        DataError: another scale; a nugget that the bank does not have.
        FormatError: the file cannot be written.
    """
    nuggets = {(topic, nugget.id): nugget for topic, entries in bank.nuggets.items() for nugget in entries}
    labels = {grade: label for label, grade in LABELS.items()}
    records: dict[tuple[str, str, str], dict[str, Any]] = {}
    for judgment, scale in judgments:
        if scale.top != SCALE.top:
            raise DataError(f"assignments have labels {', '.join(LABELS)}; these judgments go from 0 to {scale.top}")
        nugget = nuggets.get((judgment.topic, judgment.nugget))
        if nugget is None:
            raise DataError(f"{bank.name} has no nugget {judgment.nugget!r} of topic {judgment.topic!r}")
        who = {"docid": judgment.unit} if judgment.view == "documents" else {"run_id": judgment.run}
        key = (judgment.topic, judgment.run, judgment.unit)
        record = records.setdefault(key, {"qid": judgment.topic, **who, "nuggets": []})
        label = FAILED if judgment.grade is None else labels[judgment.grade]
        entry = {"text": nugget.text, "importance": nugget.importance, "assignment": label}
        record["nuggets"].append({name: value for name, value in entry.items() if value is not None})
    _write(records.values(), path)


def write_nuggetizer_bank(bank: NuggetBank, path: str) -> None:
    """Write a bank without ids, which are made of topic and text when it is read.

    Raises:
        DataError: a nugget without text.
        FormatError: the file cannot be written.
    """
    records = []
    for topic, nuggets in bank.nuggets.items():
        if any(not nugget.text.strip() for nugget in nuggets):
            raise DataError(
                f"{bank.name}: topic {topic!r} has a nugget without text, which nuggetizer cannot tell apart"
            )
        entries = [{"text": n.text, **({"importance": n.importance} if n.importance else {})} for n in nuggets]
        records.append({"qid": topic, "nuggets": entries})
    _write(records, path)


def _write(records: Iterable[dict[str, Any]], path: str) -> None:
    write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
