"""What a panel is asked, in which order, and what of its replies is valid."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.errors import ParameterError
from nuggeteval.judges.llm import (
    ATTEMPTS,
    CHARACTERS_PER_TOKEN,
    Estimate,
    asked_with,
    check_fields,
    is_final,
    read_own_prompt,
    reason_of,
)
from nuggeteval.panel import KEYS, NAME, Call, Opinion, Pool, Shown
from nuggeteval.replies import parse_table
from nuggeteval.text import fill, squeezed

__all__ = ["Panel"]

_LEAST, _MOST = 1, 5
_TOKENS_PER_ANSWER = 40
_TOKENS_AROUND = 40
_FIELDS = ("{question}", "{references}", "{answers}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Panel:
    """A language model that compares answers, in an order that the seed of its chat draws.

    Args:
        chat: the door to the model.
        prompt: the prompt, if not our own, with the fields ``{question}``, ``{references}``, ``{answers}``.
        per_call: most answers in a call; None for all. Of more, groups of like sizes are drawn by the same shuffle.
        repeats: rounds, whose scores are averaged. Every second one shows its predecessor's order backwards, so that
            after an even number of rounds no answer has come earlier than another on average.
        max_tokens: longest reply; None for 40 for each answer, and 40.

    Raises:
        ParameterError: fewer answers or rounds than one, or a prompt without its fields.
    """

    def __init__(
        self,
        chat: Chat,
        prompt: str | None = None,
        per_call: int | None = None,
        repeats: int = 1,
        max_tokens: int | None = None,
    ) -> None:
        for what, value in (("answers a call", per_call), ("repeats", repeats)):
            if value is not None and value < 1:
                raise ParameterError(f"{what} must be at least 1 (got {value})")
        self._chat, self._per_call = chat, per_call
        self._repeats, self._max_tokens = repeats, max_tokens
        self._prompt = prompt or read_own_prompt(NAME)
        check_fields(self._prompt, _FIELDS, "the panel")
        self.params: Mapping[str, Any] = {
            **asked_with(chat, self._prompt),
            **({} if max_tokens is None else {"max_tokens": max_tokens}),
            **({} if per_call is None else {"per_call": per_call}),
            **({"repeats": repeats} if repeats > 1 else {}),
        }

    def calls(self, pool: Pool) -> list[Call]:
        """All that is asked, topic by topic and round by round."""
        return [
            self._call(pool, topic, repeat, group)
            for topic in pool.topics
            if topic in pool.shown
            for repeat in range(self._repeats)
            for group in _groups(self._order(topic, repeat, pool.shown[topic]), self._per_call)
        ]

    def _order(self, topic: str, repeat: int, answers: Iterable[Shown]) -> list[Shown]:
        """Answers in the order of one round: by a hash of seed, topic and text, that of no run and no other topic."""

        def drawn(answer: Shown) -> bytes:
            parts = [self._chat.settings.seed, repeat // 2, topic, squeezed(answer.text)]
            return hashlib.sha256(json.dumps(parts).encode()).digest()

        return sorted(answers, key=drawn, reverse=repeat % 2 == 1)

    def _call(self, pool: Pool, topic: str, repeat: int, group: Sequence[Shown]) -> Call:
        answers = {_label(place): answer for place, answer in enumerate(group)}
        references = pool.references[topic]
        numbers = [""] if len(references) == 1 else [f" {number}" for number in range(1, len(references) + 1)]
        values = {
            "question": pool.questions[topic].strip(),
            "references": _blocks("Reference answer", dict(zip(numbers, references, strict=True))),
            "answers": _blocks("Answer", {f" {label}": answer.text for label, answer in answers.items()}),
            "labels": ", ".join(answers),
        }
        text = fill(self._prompt.replace("{{", "{").replace("}}", "}"), values)
        longest = None if self._max_tokens is not None else _TOKENS_AROUND + _TOKENS_PER_ANSWER * len(answers)
        # The round is the vote: another round of a single answer is another question.
        return Call(
            topic, repeat, answers, Request((("user", text),), vote=repeat, max_tokens=longest or self._max_tokens)
        )

    def estimate(self, pool: Pool) -> Estimate:
        """What asking will take if every first reply is sound."""
        requests = [call.request for call in self.calls(pool)]
        characters = sum(len(text) for request in requests for _, text in request.messages)
        tokens_out = sum(request.max_tokens or 0 for request in requests)
        return Estimate(len(requests), characters // CHARACTERS_PER_TOKEN, tokens_out)

    def ask(self, pool: Pool, progress: Callable[[int, int], None] | None = None) -> list[Opinion]:
        """Ask; a call is asked up to three times until every label has its scores, and what the last reply has counts.

        Args:
            pool: the answers.
            progress: called with (opinions, all of them) after each opinion.

        Returns:
            an opinion for every call, in the order of :meth:`calls`; none for those that wait in a batch.

        Raises:
            JudgeError: as :meth:`nuggeteval.chat.Chat.ask_all`.
        """
        calls = self.calls(pool)
        found: dict[int, Opinion] = {}
        left = list(range(len(calls)))
        for attempt in range(ATTEMPTS):
            asked, left = left, []
            requests = [calls[index].request._replace(attempt=attempt) for index in asked]
            for number, reply in self._chat.ask_all(requests):
                opinion = _opinion(calls[asked[number]], reply, attempt + 1)
                if opinion.failures and attempt + 1 < ATTEMPTS and not is_final(reply):
                    left.append(asked[number])
                    continue
                found[asked[number]] = opinion
                if progress:
                    progress(len(found), len(calls))
            left.sort()
            if not left:
                break
        return [found[index] for index in sorted(found)]


def _groups(answers: Sequence[Shown], most: int | None) -> Iterator[Sequence[Shown]]:
    """As few groups as can be, none of which is larger than another by more than one."""
    number = 1 if most is None else math.ceil(len(answers) / most)
    for part in range(number):
        yield answers[len(answers) * part // number : len(answers) * (part + 1) // number]


def _label(place: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    label = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(_LETTERS))
        label = _LETTERS[letter] + label
    return label


def _blocks(what: str, texts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{what}{label}:\n<<<\n{text.strip()}\n>>>" for label, text in texts.items())


def _opinion(call: Call, reply: Reply, attempts: int) -> Opinion:
    """What is valid in a reply, and why the rest is not there."""
    labels = tuple(call.answers)
    scores, problems = ({}, {}) if reply.reason else parse_table(reply.text, labels, KEYS, _LEAST, _MOST)
    absent = "not in the reply" if scores or problems else reason_of(reply)
    failures = {label: problems.get(label, absent) for label in labels if label not in scores}
    return Opinion(call, reply.text, attempts, scores, failures)
