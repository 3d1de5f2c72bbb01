"""Answers by a language model from evidence: asked in JSON, taken back to the documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.errors import ParameterError
from nuggeteval.judges.llm import Estimate
from nuggeteval.rag import Evidence, Sentence
from nuggeteval.rag.provenance import NO_ANSWER, answer_of, parse_answer
from nuggeteval.text import fill

__all__ = ["Answered", "Question", "answer_prompt", "ask", "estimate"]

_FIELDS = ("{query}", "{evidence}")
_CHARACTERS_PER_TOKEN = 4

_SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": {"type": "string"},
                            "evidence_ids": {"type": "array", "items": {"type": "integer"}},
                        },
                        "required": ["text", "evidence_ids"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}
_FORMATS = (json.dumps(_SCHEMA), json.dumps({"type": "json_object"}))
"""What is asked for first, and once more where that fails: not every server knows schemas."""


class Question(NamedTuple):
    """What is asked: a request, and the evidence for it."""

    topic: str
    query: str
    evidence: Evidence
    sentences: int = 5


class Answered(NamedTuple):
    """Answers by the number of their question; where there is none, why."""

    answers: dict[int, list[Sentence]]
    failed: dict[int, str]


def answer_prompt(prompt: str | None = None) -> str:
    """The prompt of answers, ours or another.

    Raises:
        ParameterError: it lacks the field ``{query}`` or ``{evidence}``.
    """
    text = _own("answer") if prompt is None else prompt
    missing = [name for name in _FIELDS if name not in text]
    if missing:
        raise ParameterError(f"the prompt of answers lacks {', '.join(missing)}")
    return text


def ask(
    questions: Sequence[Question], chat: Chat, prompt: str | None = None, show: Callable[[int, int], None] | None = None
) -> Answered:
    """Ask for answers; equal questions are asked once, a question without evidence not at all.

    Args:
        questions: of all variants.
        chat: the door to the model.
        prompt: another prompt, with the fields of ours (query, evidence; topic and sentences may be left out).
        show: called with (replies, all of them).

    Returns:
        the answers, whose citations are places in the references of the evidence. A reply that cannot be had or read is
        asked for once more, without the schema; what then fails is named. What waits in a batch is in neither.

    Raises:
        JudgeError: the model cannot be asked.
    """
    template = answer_prompt(prompt)
    found = {number: [Sentence(NO_ANSWER, ())] for number, one in enumerate(questions) if not one.evidence.items}
    waiting: dict[str, list[int]] = {}
    for number, one in enumerate(questions):
        if number not in found:
            waiting.setdefault(_filled(template, one), []).append(number)
    failed: dict[int, str] = {}
    done, total = 0, len(waiting)
    for attempt, form in enumerate(_FORMATS):
        prompts, again = list(waiting), {}
        for index, reply in chat.ask_all([_request(text, attempt, form) for text in prompts]):
            numbers = waiting[prompts[index]]
            parsed = None if reply.reason else parse_answer(reply.text)
            if parsed is None:
                again[prompts[index]] = numbers
                failed |= dict.fromkeys(numbers, _reason(reply))
                continue
            for number in numbers:
                failed.pop(number, None)
                cited = [item.citation for item in questions[number].evidence.items]
                found[number] = answer_of(parsed, cited, questions[number].sentences)
            done += 1
            if show:
                show(done, total)
        waiting = again
    return Answered(found, failed)


def estimate(questions: Sequence[Question], chat: Chat, prompt: str | None = None) -> Estimate:
    """What asking will take if every reply can be read."""
    template = answer_prompt(prompt)
    prompts = {_filled(template, one) for one in questions if one.evidence.items}
    characters = sum(map(len, prompts)) + len(prompts) * len(_own("answer_system"))
    tokens_out = len(prompts) * chat.settings.max_tokens
    return Estimate(len(prompts), characters // _CHARACTERS_PER_TOKEN, tokens_out)


def _own(name: str) -> str:
    return files("nuggeteval.generators").joinpath(f"prompts/{name}.txt").read_text("utf-8")


def _filled(template: str, question: Question) -> str:
    items = [
        {"evidence_id": place, "doc_id": item.document, "text": item.text}
        for place, item in enumerate(question.evidence.items)
    ]
    values = {
        "topic": question.topic,
        "query": question.query,
        "sentences": str(question.sentences),
        "evidence": json.dumps(items, ensure_ascii=False),
    }
    return fill(template, values)


def _request(text: str, attempt: int, form: str) -> Request:
    messages = (("system", _own("answer_system").strip()), ("user", text))
    return Request(messages, attempt=attempt, response_format=form)


def _reason(reply: Reply) -> str:
    if reply.reason:
        return reply.reason
    return (
        f"the reply ended early ({reply.finish})" if reply.finish == "length" else "the reply is no JSON of an answer"
    )
