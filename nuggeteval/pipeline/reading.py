"""Queries, candidates and documents, joined: every query with the documents that it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nuggeteval.data import Document
from nuggeteval.errors import DataError, ParameterError, listed
from nuggeteval.formats.candidates import read_candidates
from nuggeteval.formats.documents import TEXTS, availability, read_collection
from nuggeteval.formats.topics import read_queries
from nuggeteval.pipeline import Topic

__all__ = ["Joined", "read_topics"]


class Joined(NamedTuple):
    """Queries with their documents.

    Attributes:
        topics: in the order of the queries, documents in that of the candidates.
        summary: how many there are, and how many have a full text, an abstract or a title.
        warnings: what is missing, or not used.
    """

    topics: list[Topic]
    summary: str
    warnings: list[str]


def read_topics(
    queries: str,
    documents: Sequence[str],
    candidates: str | None = None,
    depth: int | None = None,
    fields: Sequence[str] | None = None,
) -> Joined:
    """Read and join.

    Args:
        queries: file of queries, and of their candidates if they stand there.
        documents: files of documents.
        candidates: file of candidates; those in the records of queries go before it.
        depth: candidates of each query that are taken, the first ones; None for all.
        fields: where the text of a document is looked for, before its title.

    Raises:
        FormatError: a file.
        ParameterError: a depth below 1.
        DataError: no query has a candidate, no candidate a text, or none in the fields.
    """
    if depth is not None and depth < 1:
        raise ParameterError(f"--depth must be at least 1 (got {depth})")
    asked = read_queries(queries)
    inside = read_candidates(queries, beside=False)
    beside = read_candidates(candidates) if candidates else {}
    every = {**beside, **inside}
    named = {topic: every.get(topic, [])[:depth] for topic in asked}
    wanted = {document for names in named.values() for document in names}
    if not wanted:
        where = f"{candidates} has those of {listed(list(beside))}" if beside else "--candidates FILE names them"
        raise DataError(f"no query of {queries} has a candidate: {where}; queries {listed(list(asked))}")
    found = read_collection(documents, wanted, fields or TEXTS)
    texts = {name: one for name, one in found.items() if one.text.strip()}
    if not texts:
        raise DataError(f"no candidate has a text in {listed(documents)}: {listed(sorted(wanted))}")
    if fields and "title" not in fields and all(one.source == "title" for one in texts.values()):
        raise DataError(f"no candidate has a text in {', '.join(fields)}: --fields names fields of the documents")
    counts = ", ".join(f"{number} {kind}" for kind, number in availability(texts.values()).items())
    return Joined(
        [Topic(topic, query, [texts[one] for one in named[topic] if one in texts]) for topic, query in asked.items()],
        f"{len(named)} queries, {len(wanted)} candidates, of which {len(texts)} have a text: {counts}",
        [*_unused(candidates or "", asked, inside, beside), *_missing(named, texts)],
    )


def _unused(
    path: str, queries: Mapping[str, str], inside: Mapping[str, list[str]], beside: Mapping[str, list[str]]
) -> Iterator[str]:
    """What of a file of candidates is not used."""
    if unused := [topic for topic in beside if topic in inside]:
        yield f"{path}: candidates in the records of the queries go before those of {listed(unused)}"
    if unknown := [topic for topic in beside if topic not in queries]:
        yield f"{path}: candidates of topics that are no query are ignored: {listed(unknown)}"


def _missing(named: Mapping[str, Sequence[str]], texts: Mapping[str, Document]) -> Iterator[str]:
    """Candidates without a text, and queries none of whose candidates has one."""
    if missing := sorted({name for names in named.values() for name in names} - set(texts)):
        yield f"{len(missing)} candidates have no text and are left out: {listed(missing)}"
    if without := [topic for topic, names in named.items() if not any(name in texts for name in names)]:
        yield f"queries none of whose candidates has a text are answered by a line saying so: {listed(without)}"
