"""The LongEval pipeline over all queries and variants, from files to answers; what its parts share is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nuggeteval.data import Answer, Document
from nuggeteval.rag import Evidence
from nuggeteval.stages import Gathering, digest

__all__ = ["Answers", "Gathered", "Keep", "Origin", "Topic", "inputs_digest"]

Gathered = dict[str, list[Evidence]]
"""Variant -> evidence, in the order of the topics."""


class Topic(NamedTuple):
    """A query and its candidates; nothing else is ever used."""

    id: str
    query: str
    documents: Sequence[Document]


class Keep(Protocol):
    """Where evidence is kept."""

    def known(self, name: str, topic: Topic) -> Evidence | None:
        """The evidence of a variant for a topic, if it is there."""

    def write(self, name: str, topic: Topic, stages: Gathering) -> None:
        """Keep what the stages made."""


def inputs_digest(topic: Topic) -> str:
    """A hash of a query and the documents that it may use."""
    return digest([topic.query, *map(list, topic.documents)])


class Answers(NamedTuple):
    """What came of the questions.

    Attributes:
        runs: variant -> answers, in the order of the topics.
        failed: (variant, topic) -> why the model gave no answer; such topics are in no run.
    """

    runs: dict[str, list[Answer]]
    failed: dict[tuple[str, str], str]


class Origin(NamedTuple):
    """What goes into the metadata of every answer.

    Attributes:
        tags: variant -> tag of its run.
        team: of the runs.
        tools: variant -> names of models and files that were used, by what they are for.
        fallbacks: variant -> what was done instead of what its configuration says.
    """

    tags: Mapping[str, str]
    team: str
    tools: Mapping[str, Mapping[str, Any]]
    fallbacks: Mapping[str, Sequence[str]]
