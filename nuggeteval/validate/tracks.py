"""What the tracks ask of a record of answers: the table, and the check of one record."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from nuggeteval.errors import listed, shorten
from nuggeteval.validate import ERROR, WARNING, Problem

__all__ = ["TRACKS", "Track", "track_problems"]


class Track(NamedTuple):
    """The rules of a track.

    Attributes:
        source: where they stand.
        sentences: key of the list of sentences.
        citations: forms that are taken: ``index`` into the references, ``id``, or ``score`` (id to score).
        fields, metadata: keys that must be in the record, and in its metadata.
        advised: keys that should be in its metadata.
        references: ``required``; ``cited``, which must hold what is cited; ``exact``, which may be absent,
            but hold no more; empty where nothing is asked.
        most_references: how many there may be.
        documents: what their ids are like.
        words: how many an answer may have.
        strict: whether one that has more is an error.
        most_citations: how many a sentence should have.
        run_id: how many characters that of a run may have.
    """

    source: str
    sentences: str
    citations: tuple[str, ...]
    metadata: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    advised: tuple[str, ...] = ()
    references: str = ""
    most_references: int | None = None
    documents: str | None = None
    words: int | None = None
    strict: bool = False
    most_citations: int | None = None
    run_id: int | None = None


_RAGNAROK = "the checks of ragnarok"
_SPECS = "track_specs.yml of autojudge-base 1.0.0"
_RAG25 = ("team_id", "run_id", "type", "narrative_id", "narrative")
_RAGTIME = ("team_id", "topic_id", "run_id")

TRACKS: dict[str, Track] = {
    "rag24": Track(
        _RAGNAROK, "answer", ("index",), fields=("run_id", "topic_id", "topic", "references", "response_length"),
        references="required", most_references=20, documents=r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+", words=400,
    ),
    "rag25": Track(
        _SPECS, "answer", ("index", "id"), _RAG25, references="cited", most_references=100, words=400,
    ),
    "rag26": Track(
        _SPECS, "answer", ("index", "id"), ("team_id", "narrative_id", "narrative", "run_id", "run_desc"),
        references="required", documents=r"shard_\d+_\d+", words=1024, strict=True, most_citations=3, run_id=20,
    ),
    "ragtime25": Track(
        _SPECS, "responses", ("score", "id"), _RAGTIME, advised=("task",), references="exact", most_citations=3,
        run_id=25,
    ),
    "ragtime26": Track(
        _SPECS, "responses", ("score", "id"), _RAGTIME, advised=("run_desc",), most_citations=3, run_id=20,
    ),
    "dragun25": Track(
        _SPECS, "responses", ("id",), ("team_id", "run_id", "topic_id", "type", "use_starter_kit"), words=250,
        most_citations=3,
    ),
    "ikat25": Track(
        "the run format of iKAT 2025", "responses", ("score",), ("team_id", "run_id", "run_type"),
        fields=("turn_id",), references="cited", words=250,
    ),
    "longeval": Track(
        "the runs submitted to LongEval-RAG 2026", "answer", ("index",), _RAG25[:-1], advised=("narrative",),
        references="cited",
    ),
}  # fmt: skip
"""Track -> its rules. RAGTIME's limit of characters stands in each request, so that it is not here."""


def track_problems(track: Track, path: str, line: int, record: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    """(sort, problem) of everything in a record that its track does not take."""
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    sentences = _sentences(record.get(track.sentences))
    references = record.get("references")
    for sort, level, message in (
        *_missing(track, record, metadata),
        *_run_id(track, {**record, **metadata}.get("run_id")),
        *_citations(track, sentences),
        *_references(track, [str(r) for r in references] if isinstance(references, list | dict) else None, sentences),
        *_length(track, sentences),
    ):
        yield sort, Problem(path, line, level, message)


def _sentences(entries: Any) -> list[dict[str, Any]]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _missing(track: Track, record: dict[str, Any], metadata: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    absent = [key for key in (*track.fields, track.sentences) if record.get(key) in (None, "")]
    if track.references == "required" and "references" not in {*absent, *record}:
        absent.append("references")
    if absent:
        yield "records without a key of the track", ERROR, f"no {', '.join(absent)}, which the track asks for"
    for keys, level, asks in ((track.metadata, ERROR, "asks for"), (track.advised, WARNING, "advises")):
        absent = [key for key in keys if metadata.get(key) in (None, "")]
        if absent:
            yield f"metadata without what the track {asks}", level, f"no {', '.join(absent)} in the metadata"


def _run_id(track: Track, run: Any) -> Iterator[tuple[str, str, str]]:
    if track.run_id is not None and len(str(run)) > track.run_id:
        message = f"run_id {shorten(str(run), 40)!r} has {len(str(run))} characters, the track takes {track.run_id}"
        yield "run ids that are too long", ERROR, message


def _form(citations: Any) -> str:
    """Which form the citations of a sentence have."""
    if isinstance(citations, dict):
        return "score"
    kinds = {type(citation) for citation in citations}
    return {frozenset({int}): "index", frozenset({str}): "id"}.get(frozenset(kinds), "several forms")


def _citations(track: Track, sentences: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    cited = [(number, sentence.get("citations")) for number, sentence in enumerate(sentences, start=1)]
    lists = [(number, citations) for number, citations in cited if citations and isinstance(citations, list | dict)]
    wrong = [(number, _form(citations)) for number, citations in lists if _form(citations) not in track.citations]
    if wrong:
        number, form = wrong[0]
        message = f"sentence {number} cites by {form}, the track takes {' or '.join(track.citations)}"
        yield "citations of another form", ERROR, message
    for number, citations in lists:
        if track.most_citations is not None and len(citations) > track.most_citations:
            message = f"sentence {number} has {len(citations)} citations, more than {track.most_citations}"
            yield "sentences with many citations", WARNING, message


def _references(
    track: Track, references: list[str] | None, sentences: list[dict[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    cited = {
        citation
        for sentence in sentences
        if isinstance(sentence.get("citations"), list | dict)
        for citation in sentence["citations"]
        if type(citation) in (int, str)
    }
    if references is None:
        if cited and track.references == "cited":
            yield "records without references", ERROR, "no references, which must hold what is cited"
        return
    astray = [c for c in cited if (c not in references if isinstance(c, str) else not 0 <= c < len(references))]
    if astray and track.references == "cited":
        message = f"citations that are not among the references: {listed(sorted(map(str, astray)))}"
        yield "citations outside the references", ERROR, message
    if track.most_references is not None and len(references) > track.most_references:
        message = f"{len(references)} references, the track takes {track.most_references}"
        yield "too many references", ERROR, message
    alien = [r for r in references if track.documents and not re.fullmatch(track.documents, r)]
    if alien:
        message = f"references that are no documents of the track: {listed([shorten(r, 40) for r in alien])}"
        yield "references to other collections", ERROR, message
    uncited = [r for place, r in enumerate(references) if r not in cited and place not in cited]
    if uncited and track.references == "exact":
        message = f"references that no sentence cites: {listed([shorten(r, 40) for r in uncited])}"
        yield "references that are not cited", ERROR, message


def _length(track: Track, sentences: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    text = " ".join(str(sentence.get("text")) for sentence in sentences)
    words = len(unicodedata.normalize("NFKC", text).split())
    if track.words is not None and words > track.words:
        level = ERROR if track.strict else WARNING
        yield "answers above the limit", level, f"{words} words, the limit is {track.words}"
