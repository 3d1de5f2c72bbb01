"""What the stages made, kept in a folder: read again instead of made again.

``VARIANT.jsonl`` has a line for each topic with what every stage made. A line says by a hash of what it was made:
version, configuration, models, query and documents. Lines of anything else are dropped before new ones are appended, so
that a call that was killed goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from nuggeteval.errors import FormatError
from nuggeteval.files import json_line, lines_of
from nuggeteval.generators.variants import Variant, configuration
from nuggeteval.pipeline import Topic, inputs_digest
from nuggeteval.rag import Evidence, Item
from nuggeteval.stages import Gathering, digest
from nuggeteval.version import __version__

__all__ = ["KeptEvidence"]

_MADE_OF = "made_of"
_DIGITS = 16


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
        dropped: lines that were made of something else.

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
        self._files: dict[str, IO[str]] = {}
        self._stack = ExitStack()
        self.read = self.dropped = 0

    def __enter__(self) -> KeptEvidence:  # noqa: PYI034  (Self is of Python 3.11)
        """Open every file, without the lines that were made of something else."""
        for name in self._variants:
            path = self._folder / f"{name}.jsonl"
            lines = list(lines_of(str(path))) if path.is_file() else []
            records = [(line, record) for line in lines if (record := _record(line)) is not None]
            sound = [(line, record) for line, record in records if self._is_wanted(name, record)]
            self._known |= {(name, record["topic"]): _evidence(record) for _, record in sound}
            self.dropped += len(lines) - len(sound)
            try:
                if len(sound) < len(lines):
                    _rewrite(path, b"".join(line for line, _ in sound))
                self._files[name] = self._stack.enter_context(path.open("a", encoding="utf-8"))
            except OSError as error:
                raise FormatError(str(path), f"cannot be written: {error.strerror or error}") from error
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
        """Keep what the stages made of a topic."""
        record = {"topic": topic.id, **stages.stages(self._variants[name]), _MADE_OF: self._made_of(name, topic.id)}
        self._files[name].write(json_line(record))
        self._files[name].flush()

    def _is_wanted(self, name: str, record: Mapping[str, Any]) -> bool:
        return record["topic"] in self._inputs and record[_MADE_OF] == self._made_of(name, record["topic"])

    def _made_of(self, name: str, topic: str) -> str:
        options = {stage: value for stage, value in configuration(self._variants[name]).items() if stage != "answer"}
        return digest([__version__, options, self._settings[name], self._inputs[topic]])[:_DIGITS]


def _rewrite(path: Path, content: bytes) -> None:
    """Put something else in the place of a file, at once: a kill leaves the one or the other."""
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(path)


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a whole line; None for one that was cut short, or is none of ours."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    known = isinstance(record, dict) and isinstance(record.get("topic"), str) and isinstance(record.get(_MADE_OF), str)
    return record if known else None


def _evidence(record: Mapping[str, Any]) -> Evidence:
    """The evidence in a record, as :meth:`nuggeteval.stages.Gathering.stages` writes it."""
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
