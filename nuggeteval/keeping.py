"""What the stages of the LongEval pipeline made, kept in a folder: read again instead of made again.

``VARIANT.jsonl`` has a line for each topic with what every stage made, ``passages-CHUNKING.jsonl`` one for each
passage. A line says by a hash of what it was made: configuration, models, query and documents. Lines of anything else
are dropped before new ones are appended, so that a call that was killed goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from nuggeteval.errors import FormatError
from nuggeteval.files import json_line, lines_of, write_text
from nuggeteval.generators.rag import Gathering, Variant, configuration, digest
from nuggeteval.pipeline import Topic, inputs_digest
from nuggeteval.rag import Evidence, Item

__all__ = ["KeptEvidence"]

_MADE_OF = "made_of"
_DIGITS = 16


class KeptEvidence:
    """The files of a folder; a context manager, which closes them.

    Args:
        folder: that is there.
        variants: by name.
        topics: that are asked about.
        settings: all that evidence depends on beside configuration, query and documents: names of models, dialect.

    Attributes:
        read: evidence that an earlier call made.

    Raises:
        FormatError: a file cannot be written.
    """

    def __init__(
        self, folder: Path, variants: Mapping[str, Variant], topics: list[Topic], settings: Mapping[str, Any]
    ) -> None:
        self._folder, self._variants, self._settings = folder, variants, settings
        self._inputs = {topic.id: inputs_digest(topic) for topic in topics}
        self._known: dict[tuple[str, str], Evidence] = {}
        self._written: set[tuple[str, str]] = set()
        self._files: dict[str, IO[str]] = {}
        self._stack = ExitStack()
        self.read = 0

    def __enter__(self) -> KeptEvidence:  # noqa: PYI034  (Self is of Python 3.11)
        """Open every file, without the lines that were made of something else."""
        for name in self._variants:
            for record in self._open(name, {topic: self._of_evidence(name, topic) for topic in self._inputs}):
                self._known[name, record["topic"]] = _evidence(record)
        for file, variant in {_passages_file(variant): variant for variant in self._variants.values()}.items():
            # Passages are whole where evidence, which is written after them, is there.
            whole = {topic for name, topic in self._known if _passages_file(self._variants[name]) == file}
            records = self._open(file, {topic: self._of_passages(variant, topic) for topic in whole})
            self._written |= {(file, record["topic"]) for record in records}
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    def known(self, name: str, topic: Topic) -> Evidence | None:
        """The evidence of a variant for a topic that an earlier call made, if one did."""
        found = self._known.get((name, topic.id))
        self.read += found is not None
        return found

    def write(self, name: str, topic: Topic, stages: Gathering) -> None:
        """Keep what the stages made of a topic, passages first."""
        variant = self._variants[name]
        file = _passages_file(variant)
        if (file, topic.id) not in self._written:
            self._written.add((file, topic.id))
            made_of = self._of_passages(variant, topic.id)
            for one in stages.passages(variant.chunking):
                record = {"topic": topic.id, "id": one.id, "doc_id": one.document, "text": one.text, _MADE_OF: made_of}
                self._files[file].write(json_line(record))
        record = {"topic": topic.id, **stages.stages(variant), _MADE_OF: self._of_evidence(name, topic.id)}
        self._files[name].write(json_line(record))
        self._files[file].flush()
        self._files[name].flush()

    def _of_evidence(self, name: str, topic: str) -> str:
        options = {stage: value for stage, value in configuration(self._variants[name]).items() if stage != "answer"}
        return digest([options, self._settings, self._inputs[topic]])[:_DIGITS]

    def _of_passages(self, variant: Variant, topic: str) -> str:
        return digest([variant.chunking, self._settings, self._inputs[topic]])[:_DIGITS]

    def _open(self, name: str, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
        """Open a file for more lines; those that are in it and were made of what is wanted."""
        path = self._folder / f"{name}.jsonl"
        lines = list(lines_of(str(path))) if path.is_file() else []
        records = [(line, record) for line in lines if (record := _record(line)) is not None]
        sound = [(line, record) for line, record in records if wanted.get(record["topic"]) == record.get(_MADE_OF)]
        if len(sound) < len(lines):
            write_text(str(path), "".join(line.decode("utf-8", "surrogateescape") for line, _ in sound))
        try:
            self._files[name] = self._stack.enter_context(path.open("a", encoding="utf-8"))
        except OSError as error:
            raise FormatError(str(path), f"cannot be written: {error.strerror or error}") from error
        return [record for _, record in sound]


def _passages_file(variant: Variant) -> str:
    return f"passages-{variant.chunking.by}-{variant.chunking.words}"


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a whole line; None for one that was cut short, or is none of ours."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("topic"), str) else None


def _evidence(record: Mapping[str, Any]) -> Evidence:
    """The evidence in a record, as :func:`nuggeteval.generators.rag.Gathering.stages` writes it."""
    items = [
        Item(
            one["text"],
            one["citations"][0],
            one["doc_id"],
            one["score"],
            one["heuristic_score"],
            one["timestamp"],
            one["sentence_rank"],
            any(key in one for key in ("cross_encoder_score", "maxsim_score")),
        )
        for one in record["sentence_candidates"]
    ]
    return Evidence(record["references"], items)
