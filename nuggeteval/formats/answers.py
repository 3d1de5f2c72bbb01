"""Answer files of the TREC tracks and their neighbours.

Read: plain JSON lines ``{run, topic, text}``; TREC RAG 2024 (``answer`` with citations by index) and
2025/26 and LongEval-RAG (a ``metadata`` block); RAGTIME, NeuCLIR and DRAGUN (``responses`` with
citations by id, or id to score); ARGUE (``sentences``); iKAT runs of 2023, 2024 (one object with
``turns``) and 2025; the JSON of CONE-RAG (turn -> run -> text, or response and nuggets); lists of
extracted nuggets ``{run, topic, nuggets}``. Ids that are numbers are taken as they are written; keys
that mean nothing here are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nuggeteval.data import Answer, Sentence
from nuggeteval.errors import DataError, FormatError, shorten
from nuggeteval.files import json_line, json_object, json_records, read_bytes, stem, write_text

__all__ = ["answer_files", "answers_from_bytes", "merge", "read_answers", "write_answers", "write_nuggets"]

_TOPIC_KEYS = ("topic", "topic_id", "narrative_id", "request_id", "turn_id", "qid", "query_id")
_NO_ANSWERS = {".yml", ".yaml", ".md", ".html", ".csv", ".tsv", ".log", ".pdf", ".py", ".sh"}
_STATEMENTS = "ptkb_provenance"
_RUN_KEYS = ("run", "run_id", "run_name")
_SENTENCE_KEYS = ("answer", "responses", "sentences")
_KNOWN = {*_TOPIC_KEYS, *_RUN_KEYS, *_SENTENCE_KEYS, _STATEMENTS, "text", "nuggets", "references", "metadata"}


def read_answers(paths: str | Iterable[str]) -> list[Answer]:
    """Read answer files, each one run or many; a folder stands for the files in it.

    Args:
        paths: files, compressed or not, folders, or ``-`` for stdin.

    Raises:
        FormatError: naming file and line: not JSON, no topic, conflicting ids, a text that is none.
        DataError: two answers of one run to one topic, naming both places; no answer at all.
    """
    paths = [paths] if isinstance(paths, str) else list(paths)
    answers: dict[tuple[str, str], Answer] = {}
    for path in answer_files(paths):
        found, errors = answers_from_bytes(read_bytes(path), path)
        if errors:
            raise errors[0]
        for answer in found:
            key = (answer.run, answer.topic)
            answers[key] = merge(answers[key], answer) if key in answers else answer
    if not answers:
        raise DataError(f"no answer in {', '.join(paths)}")
    return list(answers.values())


def answer_files(paths: Iterable[str]) -> Iterator[str]:
    """Paths, with the files of a folder in its place: those that are not hidden, nor called something else."""
    for path in paths:
        if Path(path).is_dir():
            entries = sorted(entry for entry in Path(path).iterdir() if entry.is_file())
            yield from (str(e) for e in entries if e.suffix.lower() not in _NO_ANSWERS and not e.name.startswith("."))
        else:
            yield path


def merge(first: Answer, second: Answer) -> Answer:
    """An answer from one file and its extracted nuggets from another are one answer.

    Raises:
        DataError: both are answers, or both are nuggets.
    """
    if first.nuggets is None and second.nuggets is not None and not second.text:
        return replace(first, nuggets=second.nuggets)
    if second.nuggets is None and first.nuggets is not None and not first.text:
        return replace(second, nuggets=first.nuggets)
    in_one_file = first.place.rpartition(":")[0] == second.place.rpartition(":")[0]
    hint = "" if in_one_file else "; of two runs with one name one needs another run_id"
    places = f"({first.place} and {second.place})"
    raise DataError(f"two answers of run {second.run!r} to topic {second.topic!r} {places}{hint}")


def answers_from_bytes(
    raw: bytes, path: str, records: Callable[[bytes, str], Iterator[tuple[int, dict[str, Any]]]] = json_records
) -> tuple[list[Answer], list[FormatError]]:
    """The sound answers of a file, and what is wrong with the others.

    Args:
        raw: its content.
        path: for messages.
        records: reads JSON lines; :func:`~nuggeteval.files.json_records` raises at the first that is none.

    Raises:
        FormatError: by ``records``.
    """
    answers: list[Answer] = []
    errors: list[FormatError] = []
    for line, read in _answers_to_read(raw, path, records):
        try:
            answers.append(read())
        except DataError as error:
            errors.append(FormatError(path, str(error), line))
    return answers, errors


def _answers_to_read(
    raw: bytes, path: str, records: Callable[[bytes, str], Iterator[tuple[int, dict[str, Any]]]]
) -> Iterator[tuple[int | None, Callable[[], Answer]]]:
    """Line, where there are lines, and reader of every answer of a file."""
    whole = json_object(raw)
    if whole is not None and "turns" in whole:
        run = str(whole.get("run_name") or stem(path))
        turns = whole["turns"] if isinstance(whole["turns"], list) else [whole["turns"]]
        for number, turn in enumerate(turns, start=1):
            yield None, partial(_ikat_turn, turn, number, run, path)
    elif whole is not None and not _KNOWN & set(whole):
        for topic, runs in whole.items():
            for run, entry in runs.items() if isinstance(runs, dict) else [("", None)]:
                yield None, partial(_cone_entry, topic, run, entry, path)
    else:
        for line, record in records(raw, path):
            yield line, partial(_record, record, path, line)


def _record(record: dict[str, Any], path: str, line: int) -> Answer:
    """One record of JSON lines, in any of the shapes."""
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise DataError(f"metadata must be an object (got {shorten(repr(metadata), 40)})")
    topic = _identifier({**metadata, **record}, metadata, _TOPIC_KEYS, "topic")
    run = _identifier({**metadata, **record}, metadata, _RUN_KEYS, "run", stem(path))
    references = _references(record.get("references"))
    key = next((key for key in _SENTENCE_KEYS if isinstance(record.get(key), list)), None)
    sentences, unresolved = _sentences(record[key], references) if key else ((), ())
    text = record.get("text") if key is None else " ".join(sentence.text for sentence in sentences)
    nuggets = _texts(record["nuggets"]) if "nuggets" in record else None
    named = [entry for entry in (record, *(record[key] if key else ())) if isinstance(entry, dict)]
    statements = _statements([entry[_STATEMENTS] for entry in named if entry.get(_STATEMENTS)])
    if text is None and nuggets is None:
        raise DataError(f"no text, {', '.join(_SENTENCE_KEYS)} or nuggets")
    if not isinstance(text, str | None):
        raise DataError(f"text must be a string (got {shorten(repr(text), 40)})")
    extra = {name: value for name, value in record.items() if name not in _KNOWN - {"metadata"}}
    place = f"{path}:{line}"
    return Answer(run, topic, text or "", sentences, references, nuggets, statements, unresolved, extra, place)


def _identifier(
    values: Mapping[str, Any], metadata: Mapping[str, Any], keys: Iterable[str], what: str, default: str = ""
) -> str:
    """The one id that a record, or its metadata, gives under any of these keys."""
    given = {key: values[key] for key in keys if values.get(key) is not None and not isinstance(values[key], dict)}
    # TREC RAG 2024 has the words of the topic under "topic" beside topic_id.
    if len(given) > 1:
        given.pop("topic", None)
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise DataError(f"{key} must be a string or an integer (got {value!r})")
        if key in metadata and str(metadata[key]) != str(value):
            raise DataError(f"conflicting {what}s: {key} is {value!r}, in the metadata {metadata[key]!r}")
    ids = {str(value) for value in given.values()}
    if len(ids) > 1:
        raise DataError(f"conflicting {what}s: " + ", ".join(f"{key} {value!r}" for key, value in given.items()))
    identifier = ids.pop() if ids else default
    try:
        identifier.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DataError(f"the {what} {identifier!r} has half of a surrogate pair, which no file can hold") from None
    if not identifier.strip():
        raise DataError(f"no {what}: expected one of the keys {', '.join(keys)}")
    return identifier


def _references(references: Any) -> tuple[str, ...]:
    """Document ids: a list, or an object from id to score."""
    if references is None:
        return ()
    if not isinstance(references, list | dict):
        raise DataError(f"references must be a list or an object (got {shorten(repr(references), 40)})")
    return tuple(str(reference) for reference in references)


def _sentences(
    entries: list[Any], references: tuple[str, ...]
) -> tuple[tuple[Sentence, ...], tuple[tuple[int, Any], ...]]:
    sentences, unresolved = [], []
    for number, entry in enumerate(entries):
        if isinstance(entry, str):
            sentences.append(Sentence(entry))
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            raise DataError(f"sentence {number + 1} must be an object with a text (got {shorten(repr(entry), 40)})")
        cited = []
        citations = entry.get("citations") or ()
        if not isinstance(citations, list | dict | tuple):
            raise DataError(f"citations of sentence {number + 1} must be a list or an object (got {citations!r})")
        for citation in citations:
            document = _resolve(citation, references)
            if document is None:
                unresolved.append((number, citation))
            else:
                cited.append(document)
        sentences.append(Sentence(entry["text"], tuple(cited)))
    return tuple(sentences), tuple(unresolved)


def _resolve(citation: Any, references: tuple[str, ...]) -> str | None:
    """The document that a citation names: by index from 0 into the references, or by id."""
    if isinstance(citation, int) and not isinstance(citation, bool):
        return references[citation] if 0 <= citation < len(references) else None
    document = str(citation)
    return document if not references or document in references else None


def _texts(entries: Any) -> tuple[str, ...]:
    """Nuggets as a list of texts, or CONE-RAG's object whose ``matched`` are the spans of the text."""
    if isinstance(entries, dict):
        entries = entries.get("matched", [])
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise DataError(f"nuggets must be a list of strings (got {shorten(repr(entries), 40)})")
    return tuple(entries)


def _statements(lists: Iterable[Any]) -> tuple[str, ...]:
    """Ids of statements, each once: numbers, texts, or objects with an id (iKAT 2023)."""
    found: dict[str, None] = {}
    for entries in lists:
        if not isinstance(entries, list):
            raise DataError(f"{_STATEMENTS} must be a list (got {shorten(repr(entries), 40)})")
        for entry in entries:
            name = entry.get("id") if isinstance(entry, dict) else entry
            if isinstance(name, bool) or not isinstance(name, str | int) or str(name).split() != [str(name)]:
                raise DataError(f"{_STATEMENTS} must hold ids of statements (got {shorten(repr(entry), 40)})")
            found[str(name)] = None
    return tuple(found)


def _ikat_turn(turn: Any, number: int, run: str, path: str) -> Answer:
    """A turn of an iKAT run: ranked responses, of which the first counts."""
    if not isinstance(turn, dict) or not isinstance(turn.get("turn_id"), str | int):
        raise DataError(f"turn {number} must be an object with a turn_id (got {shorten(repr(turn), 40)})")
    topic = str(turn["turn_id"])
    try:
        responses = turn.get("responses") or []
        best: dict[str, Any] = min(responses, key=lambda response: response.get("rank", 0), default={})
        provenance = best.get("passage_provenance") or []
        used = tuple(str(passage["id"]) for passage in provenance if passage.get("used", True))
        text = best.get("text") or ""
    except (AttributeError, KeyError, TypeError):
        raise DataError(f"turn {topic!r}: responses must be objects with rank, text and passage_provenance") from None
    if not isinstance(text, str):
        raise DataError(f"turn {topic!r}: text must be a string (got {shorten(repr(text), 40)})")
    try:
        statements = _statements([best.get(_STATEMENTS) or []])
    except DataError as error:
        raise DataError(f"turn {topic!r}: {error}") from None
    place = f"{path}, turn {topic}"
    return Answer(run, topic, text, references=used, statements=statements, extra={"turn": turn}, place=place)


def _cone_entry(topic: str, run: str, entry: Any, path: str) -> Answer:
    """CONE-RAG: turn -> run -> text, or turn -> run -> {response, nuggets}."""
    if not run:
        raise DataError(f"topic {topic!r}: expected an object from run to response")
    place = f"{path}, topic {topic}, run {run}"
    if isinstance(entry, str):
        return Answer(run, topic, entry, place=place)
    if not isinstance(entry, dict) or not {"response", "nuggets"} & set(entry):
        raise DataError(f"topic {topic!r}, run {run!r}: expected a text or an object with response or nuggets")
    if not isinstance(entry.get("response"), str | None):
        raise DataError(f"topic {topic!r}, run {run!r}: response must be a string")
    try:
        nuggets = None if entry.get("nuggets") is None else _texts(entry["nuggets"])
    except DataError as error:
        raise DataError(f"topic {topic!r}, run {run!r}: {error}") from None
    return Answer(run, topic, entry.get("response") or "", nuggets=nuggets, place=place)


def write_answers(answers: Iterable[Answer], path: str) -> None:
    """Write answers in the form of TREC RAG 2025, citations by index.

    Raises:
        FormatError: the file cannot be written.
    """
    write_text(path, "".join(json_line(_as_record(answer)) for answer in answers))


def _as_record(answer: Answer) -> dict[str, Any]:
    place = {document: index for index, document in enumerate(answer.references)}
    metadata = {**answer.extra.get("metadata", {}), "run_id": answer.run, "narrative_id": answer.topic}
    record: dict[str, Any] = {**answer.extra, "metadata": metadata, "references": list(answer.references)}
    if answer.sentences:
        record["answer"] = [
            {"text": s.text, "citations": [place.get(document, document) for document in s.citations]}
            for s in answer.sentences
        ]
    else:
        record["text"] = answer.text
    if answer.nuggets is not None:
        record["nuggets"] = list(answer.nuggets)
    if answer.statements:
        record[_STATEMENTS] = list(answer.statements)
    return record


def write_nuggets(answers: Iterable[Answer], path: str) -> None:
    """Write the extracted nuggets of answers, one answer a line.

    Raises:
        FormatError: the file cannot be written.
    """
    rows = ({"run": a.run, "topic": a.topic, "nuggets": list(a.nuggets or ())} for a in answers)
    write_text(path, "".join(map(json_line, rows)))
