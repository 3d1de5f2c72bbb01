"""Answers by a language model from evidence: asked in JSON, taken back to the documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.errors import JudgeError
from nuggeteval.judges.llm import CHARACTERS_PER_TOKEN, Estimate, check_fields, is_final, reason_of
from nuggeteval.rag import Evidence, Sentence
from nuggeteval.rag.provenance import NO_ANSWER, answer_of, parse_answer
from nuggeteval.text import fill

__all__ = ["Answered", "Question", "answer_prompt", "ask", "estimate"]

_FIELDS = ("{query}", "{evidence}")

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
    check_fields(text, _FIELDS, "answers")
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
        asked for once more, without the schema; what then fails is named, and what nobody can be asked any more.

    Raises:
        JudgeError: the model cannot be asked at all.
    """
    template = answer_prompt(prompt)
    found = {number: [Sentence(NO_ANSWER, ())] for number, one in enumerate(questions) if not one.evidence.items}
    waiting: dict[str, list[int]] = {}
    for number, one in enumerate(questions):
        if number not in found:
            waiting.setdefault(_filled(template, one), []).append(number)
    failed: dict[int, str] = {}
    total, answered = len(waiting), 0
    for attempt, form in enumerate(_FORMATS):
        prompts, waiting, again = list(waiting), {}, waiting
        try:
            for index, reply in chat.ask_all([_request(text, attempt, form) for text in prompts]):
                numbers = again[prompts[index]]
                parsed = None if reply.reason else parse_answer(reply.text)
                if parsed is None:
                    failed |= dict.fromkeys(numbers, _reason(reply))
                    if _may_differ(reply):
                        waiting[prompts[index]] = numbers
                    continue
                for number in numbers:
                    failed.pop(number, None)
                    cited = [item.citation for item in questions[number].evidence.items]
                    found[number] = answer_of(parsed, cited, questions[number].sentences)
                answered += 1
                if show:
                    show(answered, total)
        except JudgeError as error:
            # What is answered already is not lost for it.
            if not answered and not failed:
                raise
            left = [number for numbers in again.values() for number in numbers if number not in found]
            failed = {**dict.fromkeys(left, str(error)), **failed}
            break
    return Answered(found, failed)


def _may_differ(reply: Reply) -> bool:
    """Whether asking for other JSON can help: a server may not know schemas; a refusal stays one."""
    return bool(reply.reason) or not is_final(reply)


def estimate(questions: Sequence[Question], chat: Chat, prompt: str | None = None) -> Estimate:
    """What asking will take if every reply can be read."""
    template = answer_prompt(prompt)
    prompts = {_filled(template, one) for one in questions if one.evidence.items}
    characters = sum(map(len, prompts)) + len(prompts) * len(_own("answer_system"))
    tokens_out = len(prompts) * chat.settings.max_tokens
    return Estimate(len(prompts), characters // CHARACTERS_PER_TOKEN, tokens_out)


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
    # Half of a surrogate pair, which a document can hold, no server takes.
    return fill(template, values).encode("utf-8", "replace").decode("utf-8")


def _request(text: str, attempt: int, form: str) -> Request:
    messages = (("system", _own("answer_system").strip()), ("user", text))
    return Request(messages, attempt=attempt, response_format=form)


def _reason(reply: Reply) -> str:
    reason = reason_of(reply)
    return "the reply is no JSON of an answer" if reason == "unparsed" else reason
