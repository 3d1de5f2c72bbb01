"""From what a model said to an answer whose every citation is a candidate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from nuggeteval.errors import DataError
from nuggeteval.rag import Sentence
from nuggeteval.replies import spoken

__all__ = ["NO_ANSWER", "answer_of", "check_citations", "parse_answer"]

NO_ANSWER = "No supported answer could be generated from the provided candidate documents."
"""What stands where nothing can be answered, as in the published runs."""


def parse_answer(reply: str) -> list[tuple[str, list[int]]] | None:
    """The (text, evidence ids) of a reply; None where it is no JSON of that form.

    Args:
        reply: ``{"answer": [{"text", "evidence_ids"}]}`` or the list alone, also with other text around the object.
    """
    whole = _json(spoken(reply))
    entries = whole.get("answer") if isinstance(whole, dict) else whole
    if not isinstance(entries, list):
        return None
    return [(entry["text"], _ids(entry.get("evidence_ids"))) for entry in entries if _has_text(entry)]


def _json(reply: str) -> Any:
    for text in (reply, *(reply[reply.find(opening) : reply.rfind(closing) + 1] for opening, closing in ("{}", "[]"))):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def _has_text(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("text"), str) and bool(entry["text"].strip())


def _ids(values: Any) -> list[int]:
    """The integers of a list; true and false are none."""
    return [value for value in values if type(value) is int] if isinstance(values, list) else []


def answer_of(parsed: Sequence[tuple[str, Sequence[int]]], cited: Sequence[int], most: int = 5) -> list[Sentence]:
    """The sentences that stay, with the documents that their evidence is from.

    A sentence without evidence stays only if it is the first; ids that are no evidence are dropped.

    Args:
        parsed: texts and evidence ids, as :func:`parse_answer` gives them.
        cited: for each item of evidence the place of its document in the references.
        most: sentences of an answer.

    Returns:
        one sentence or more: :data:`NO_ANSWER` where none stays.
    """
    kept = list(_supported(parsed, cited))[:most]
    return kept or [Sentence(NO_ANSWER, ())]


def _supported(parsed: Sequence[tuple[str, Sequence[int]]], cited: Sequence[int]) -> Iterator[Sentence]:
    empty = True
    for text, ids in parsed:
        citations = tuple(dict.fromkeys(cited[place] for place in ids if 0 <= place < len(cited)))
        if citations or empty:
            empty = False
            yield Sentence(" ".join(text.split()), citations)


def check_citations(answer: Sequence[Sentence], references: Sequence[str], candidates: Sequence[str]) -> None:
    """Assert that nothing outside the candidates is used.

    Raises:
        DataError: a reference that is no candidate or stands twice, or a citation that leads nowhere.
    """
    allowed = set(candidates)
    foreign = [document for document in references if document not in allowed]
    if foreign:
        raise DataError(f"reference {foreign[0]!r} is no candidate")
    if len(set(references)) != len(references):
        raise DataError("a document stands twice in the references")
    for sentence in answer:
        for place in sentence.citations:
            if not 0 <= place < len(references):
                raise DataError(f"citation {place} leads nowhere: there are {len(references)} references")
