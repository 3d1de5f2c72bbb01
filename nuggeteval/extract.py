"""Nuggets from text: what an answer says, in pieces that can be judged one by one.

By sentence, or by a language model that copies spans out of the text. A model's line counts as a nugget only where
it stands in the text: exactly, but for case, or but for white space, quotes, Markdown and the form of characters;
what is kept is the text's own spelling, with its offsets. A model is told once which lines do not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.data import Answer, Nugget, NuggetBank
from nuggeteval.errors import ParameterError
from nuggeteval.ids import stable_id
from nuggeteval.replies import spoken
from nuggeteval.text import fill, sentences

__all__ = ["Extraction", "Span", "as_bank", "by_model", "by_sentence", "find_span", "parse_nuggets"]

_MARKER = re.compile(r"^\s*(?:[-*\u2022]|\d{1,3}[.)])\s+")
_NOTHING = re.compile(r"^\W*no nuggets?\W*$", re.IGNORECASE)
_PAIRS = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'}
_MARKS = frozenset("*_`#>")


class Span(NamedTuple):
    """A stretch of a text: its own spelling, where it is, and how closely a line matched it.

    ``level`` is ``exact``, ``case`` or ``folded``.
    """

    text: str
    start: int
    end: int
    level: str


class Extraction(NamedTuple):
    """What was clipped out of one answer; ``rejected`` are lines that are no spans, ``reason`` a failed call."""

    answer: Answer
    spans: tuple[Span, ...]
    rejected: tuple[str, ...] = ()
    retried: bool = False
    reason: str = ""


def by_sentence(answer: Answer) -> tuple[str, ...]:
    """The sentences of an answer: as the system gave them, else split by rule."""
    if answer.sentences:
        return tuple(sentence.text for sentence in answer.sentences)
    return tuple(sentences(answer.text))


def as_bank(answers: Iterable[Answer], name: str) -> NuggetBank:
    """The extracted nuggets of all answers (or passages) to a topic as a bank; the same text is one nugget."""
    found: dict[str, dict[str, Nugget]] = {}
    for answer in answers:
        nuggets = found.setdefault(answer.topic, {})
        for text in answer.nuggets or ():
            identifier = stable_id(answer.topic, text)
            nuggets.setdefault(identifier, Nugget(identifier, text))
    return NuggetBank(name, {topic: tuple(nuggets.values()) for topic, nuggets in found.items()})


def parse_nuggets(reply: str) -> list[str]:
    """The lines of a reply without list markers and quotes; none where it says that there is no nugget."""
    found = []
    for line in spoken(reply).splitlines():
        text = _MARKER.sub("", line).strip()
        if len(text) > 1 and _PAIRS.get(text[0]) == text[-1]:
            text = text[1:-1].strip()
        if text and not _NOTHING.match(text):
            found.append(text)
    return found


def find_span(line: str, text: str) -> Span | None:
    """Where a line stands in a text, at the closest of three levels; None where it does not.

    A final stop, question or exclamation mark that the text does not have there is forgiven.
    """
    for wanted in (line.strip(), line.strip().rstrip(".!?").rstrip()):
        if not any(character.isalnum() for character in wanted):
            return None
        start = text.find(wanted)
        if start >= 0:
            return Span(wanted, start, start + len(wanted), "exact")
        start = text.lower().find(wanted.lower())
        if start >= 0 and len(text.lower()) == len(text):
            end = start + len(wanted)
            return Span(text[start:end], start, end, "case")
        folded, origin = _fold(text)
        needle, _ = _fold(wanted)
        start = folded.find(needle.strip()) if needle.strip() else -1
        if start >= 0:
            begin, end = origin[start], origin[start + len(needle.strip()) - 1] + 1
            return Span(text[begin:end], begin, end, "folded")
    return None


def _fold(text: str) -> tuple[str, list[int]]:
    """A text as spans are compared, and for each of its characters the offset that it comes from."""
    characters: list[str] = []
    origin: list[int] = []
    for offset, original in enumerate(text):
        for character in unicodedata.normalize("NFKD", _QUOTES.get(original, original)).casefold():
            if character in _MARKS:
                continue
            blank = character.isspace()
            if blank and (not characters or characters[-1] == " "):
                continue
            characters.append(" " if blank else character)
            origin.append(offset)
    return "".join(characters), origin


def by_model(
    answers: Sequence[Answer], chat: Chat, queries: Mapping[str, str] | None = None, prompt: str | None = None
) -> Iterator[Extraction]:
    """Extract by a language model; answers without text give nothing and ask nothing.

    Args:
        answers: of any number of runs.
        chat: the door to the model.
        queries: topic -> what was asked; without it the prompt says that nothing is known of it.
        prompt: another prompt, with the fields ``{query}`` and ``{text}``.

    Yields:
        an extraction for each answer, in their order.

    Raises:
        ParameterError: a prompt without its fields.
        JudgeError: the model cannot be asked.
    """
    template = prompt or files("nuggeteval.judges").joinpath("prompts/extract.txt").read_text("utf-8")
    if "{text}" not in template:
        raise ParameterError("the prompt of extraction lacks {text}")
    told = [answer for answer in answers if answer.text.strip()]
    requests = [Request((("user", _fill(template, answer, queries or {})),)) for answer in told]
    replies = dict(chat.ask_all(requests))
    # Questions that went into a batch have no reply yet.
    first = [_check(answer, replies.get(index, Reply("", "", "in the batch"))) for index, answer in enumerate(told)]
    again = [index for index, extraction in enumerate(first) if extraction.rejected]
    corrections = [_correction(requests[index], replies[index], first[index]) for index in again]
    for number, reply in chat.ask_all(corrections):
        index = again[number]
        first[index] = _merge(first[index], _check(told[index], reply))
    done = {(extraction.answer.run, extraction.answer.topic): extraction for extraction in first}
    for answer in answers:
        yield done.get((answer.run, answer.topic), Extraction(answer, ()))


def _fill(template: str, answer: Answer, queries: Mapping[str, str]) -> str:
    return fill(template, {"query": queries.get(answer.topic, "(not known)"), "text": answer.text})


def _check(answer: Answer, reply: Reply) -> Extraction:
    """The lines of a reply that are spans of the text, each once and in their order, and those that are none."""
    spans: dict[tuple[int, int], Span] = {}
    rejected = []
    for line in parse_nuggets(reply.text):
        span = find_span(line, answer.text)
        if span is None:
            rejected.append(line)
        else:
            spans.setdefault((span.start, span.end), span)
    return Extraction(answer, tuple(spans.values()), tuple(rejected), False, reply.reason)


def _correction(request: Request, reply: Reply, extraction: Extraction) -> Request:
    """The same conversation, gone on with once: which lines are no exact copies."""
    lines = "\n".join(extraction.rejected)
    asked = f"These lines are not copied from the text word for word. Copy the exact stretch for each of them:\n{lines}"
    return request._replace(messages=(*request.messages, ("assistant", reply.text), ("user", asked)))


def _merge(first: Extraction, second: Extraction) -> Extraction:
    """The spans of both replies; lines that are still no spans stay rejected."""
    known = {(span.start, span.end) for span in first.spans}
    added = tuple(span for span in second.spans if (span.start, span.end) not in known)
    rejected = second.rejected if second.spans or second.rejected else first.rejected
    return Extraction(first.answer, (*first.spans, *added), rejected, True, second.reason)
