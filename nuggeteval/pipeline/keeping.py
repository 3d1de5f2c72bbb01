"""What the stages of the LongEval pipeline made, kept in a folder: read again instead of made again.

``VARIANT.jsonl`` has a line for each topic with what every stage made, ``passages-BY-WORDS-HASH.jsonl`` one for each
passage of a configuration of chunks. A line says by a hash of what it was made: version, configuration, models, query
and documents. Lines of anything else are dropped before new ones are appended, so that a call that was killed goes on
where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from nuggeteval.errors import FormatError
from nuggeteval.files import json_line, lines_of, write_text
from nuggeteval.generators.variants import Variant, configuration
from nuggeteval.pipeline import Topic, inputs_digest
from nuggeteval.rag import Evidence, Item
from nuggeteval.stages import Gathering, digest
from nuggeteval.version import __version__

__all__ = ["KeptEvidence", "passages_file"]

_MADE_OF = "made_of"
_DIGITS = 16
_OF_CHUNKS = ("reference", "encoder")
"""Settings that passages depend on."""


_Line = tuple[bytes, dict[str, Any]]
"""A line of a file, and what it holds."""


class KeptEvidence:
    """The files of a folder; a context manager, which closes them.

    Args:
        folder: that is there.
        variants: by name.
        topics: that are asked about.
        settings: variant -> all that its evidence depends on beside configuration, query and documents: names of
            models, dialect.

    Attributes:
        read: pieces of evidence that an earlier call made.
        dropped: pieces that were made of something else.

    Raises:
        FormatError: a file cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        variants: Mapping[str, Variant],
        topics: list[Topic],
        settings: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._folder, self._variants, self._settings = folder, variants, settings
        self._inputs = {topic.id: inputs_digest(topic) for topic in topics}
        self._known: dict[tuple[str, str], Evidence] = {}
        self._written: set[tuple[str, str]] = set()
        self._files: dict[str, IO[str]] = {}
        self._stack = ExitStack()
        self.read = self.dropped = 0

    def __enter__(self) -> KeptEvidence:  # noqa: PYI034  (Self is of Python 3.11)
        """Open every file, without the lines that were made of something else."""
        for file, names in self._files_of_passages().items():
            passages = self._read(file, {topic: self._of_passages(names[0], topic) for topic in self._inputs})
            there = {record["topic"] for _, record in passages}
            whole: set[str] = set()
            for name in names:
                found = self._read(name, {topic: self._of_evidence(name, topic) for topic in self._inputs})
                # Documents without a text have no passage, and so no line.
                sound = [one for one in found if one[1]["topic"] in there or not one[1]["passages"]]
                self.dropped += self._open(name, sound)
                self._known |= {(name, record["topic"]): _evidence(record) for _, record in sound}
                whole |= {record["topic"] for _, record in sound}
            # Passages are whole where evidence, which is written after them, is there.
            self._open(file, [one for one in passages if one[1]["topic"] in whole])
            self._written |= {(file, topic) for topic in whole}
        return self

    def _files_of_passages(self) -> dict[str, list[str]]:
        """File of passages -> the variants that have it."""
        found: dict[str, list[str]] = {}
        for name, variant in self._variants.items():
            found.setdefault(passages_file(variant), []).append(name)
        return found

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
        file = passages_file(variant)
        if (file, topic.id) not in self._written:
            self._written.add((file, topic.id))
            made_of = self._of_passages(name, topic.id)
            for one in stages.passages(variant.chunking):
                record = {"topic": topic.id, "id": one.id, "doc_id": one.document, "text": one.text, _MADE_OF: made_of}
                self._files[file].write(json_line(record))
        record = {"topic": topic.id, **stages.stages(variant), _MADE_OF: self._of_evidence(name, topic.id)}
        self._files[name].write(json_line(record))
        self._files[file].flush()
        self._files[name].flush()

    def _of_evidence(self, name: str, topic: str) -> str:
        options = {stage: value for stage, value in configuration(self._variants[name]).items() if stage != "answer"}
        return digest([__version__, options, self._settings[name], self._inputs[topic]])[:_DIGITS]

    def _of_passages(self, name: str, topic: str) -> str:
        settings = {what: value for what, value in self._settings[name].items() if what in _OF_CHUNKS}
        chunking = self._variants[name].chunking
        return digest([__version__, chunking, settings, self._inputs[topic]])[:_DIGITS]

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _read(self, name: str, wanted: Mapping[str, str]) -> list[_Line]:
        """The lines of a file that were made of what is wanted."""
        lines = list(lines_of(str(self._path(name)))) if self._path(name).is_file() else []
        records = [(line, record) for line in lines if (record := _record(line)) is not None]
        return [(line, record) for line, record in records if wanted.get(record["topic"]) == record[_MADE_OF]]

    def _open(self, name: str, kept: list[_Line]) -> int:
        """Open a file for more lines after those that are kept; the number of others, which are dropped."""
        path = self._path(name)
        number = sum(1 for _ in lines_of(str(path))) if path.is_file() else 0
        if len(kept) < number:
            write_text(str(path), "".join(line.decode("utf-8", "surrogateescape") for line, _ in kept))
        try:
            self._files[name] = self._stack.enter_context(path.open("a", encoding="utf-8"))
        except OSError as error:
            raise FormatError(str(path), f"cannot be written: {error.strerror or error}") from error
        return number - len(kept)


def passages_file(variant: Variant) -> str:
    """The name of the file of the passages that a variant has."""
    chunking = variant.chunking
    return f"passages-{chunking.by}-{chunking.words}-{digest(chunking)[:4]}"


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a whole line; None for one that was cut short, or is none of ours."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    known = isinstance(record, dict) and isinstance(record.get("topic"), str) and isinstance(record.get(_MADE_OF), str)
    return record if known else None


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
