"""Language models as judges: yes or no, support of a list of nuggets, a rubric from 0 to 5, whole answers.

What other questions to a model share with them is public: how a prompt is checked, and what a reply without a verdict
means.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.data import Scale
from nuggeteval.errors import ParameterError
from nuggeteval.judges import Item, Verdict
from nuggeteval.replies import LABELS, YES_NO, is_refusal, parse_labels, parse_rating, parse_yes_no
from nuggeteval.text import fill, squeezed

__all__ = [
    "ATTEMPTS",
    "CHARACTERS_PER_TOKEN",
    "Estimate",
    "GroundednessJudge",
    "LLMEvalJudge",
    "RubricJudge",
    "SupportJudge",
    "YesNoJudge",
    "YesNoListJudge",
    "asked_with",
    "check_fields",
    "is_final",
    "read_own_prompt",
    "reason_of",
]

ATTEMPTS = 3
"""Times that a question is asked, where the reply holds no verdict."""

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for estimates."""


class Estimate(NamedTuple):
    """What judging will take, before any call: calls, and tokens by a rule of thumb (4 characters a token)."""

    calls: int
    tokens_in: int
    tokens_out: int

    def __str__(self) -> str:
        return f"{self.calls} calls, about {self.tokens_in} tokens in, at most {self.tokens_out} tokens out"


class _Question(NamedTuple):
    """Items that are asked about in one call."""

    items: tuple[int, ...]
    request: Request


class LlmJudge:
    """What all judges by language model share.

    Args:
        chat: the door to the model.
        prompt: the prompt, if not our own, with the fields that ours has.
        votes: times that each question is asked, as votes of their own.
        per_call: nuggets of one unit that are asked about in one call; None for the judge's own.

    Raises:
        ParameterError: fewer votes or nuggets than one, or a prompt without its fields.
    """

    name = ""
    file = ""
    scale = Scale(1)
    fields: Sequence[str] = ("{unit}", "{nugget}")
    batch = 1
    parse: Callable[[str], int | None]

    def __init__(self, chat: Chat, prompt: str | None = None, votes: int = 1, per_call: int | None = None) -> None:
        self._chat, self._votes = chat, votes
        self._per_call = self.batch if per_call is None else per_call
        self._prompt = prompt or read_own_prompt(self.file or self.name)
        check_fields(self._prompt, self.fields, f"the {self.name} judge")
        for what, value in (("votes", votes), ("nuggets a call", self._per_call)):
            if value < 1:
                raise ParameterError(f"{what} must be at least 1 (got {value})")
        self.params: Mapping[str, Any] = {
            **asked_with(chat, self._prompt),
            "max_tokens": chat.settings.max_tokens,
            **({"votes": votes} if votes > 1 else {}),
            **({"per_call": self._per_call} if self._per_call != type(self).batch or self.file else {}),
        }

    def estimate(self, items: Sequence[Item]) -> Estimate:
        """What judging these items will take if every reply holds a verdict."""
        questions = self._questions(items, range(len(items)), 0, 0)
        characters = sum(len(text) for question in questions for _, text in question.request.messages)
        calls = len(questions) * self._votes
        tokens_in = self._votes * characters // CHARACTERS_PER_TOKEN
        return Estimate(calls, tokens_in, calls * self._chat.settings.max_tokens)

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items; each vote is a verdict, in the order in which replies come."""
        for vote in range(self._votes):
            yield from self._round(items, vote)

    def _round(self, items: Sequence[Item], vote: int) -> Iterator[tuple[int, Verdict]]:
        """One vote on every item; what a reply leaves out is asked again."""
        left: list[int] = list(range(len(items)))
        for attempt in range(ATTEMPTS):
            questions = self._questions(items, left, vote, attempt)
            left = []
            for number, reply in self._chat.ask_all([question.request for question in questions]):
                question = questions[number]
                grades = self._grades(reply, question)
                for place, index in enumerate(question.items):
                    if place in grades:
                        yield index, Verdict(None, grades[place], "", reply.text, vote)
                    elif attempt + 1 < ATTEMPTS and not is_final(reply):
                        left.append(index)
                    else:
                        yield index, Verdict(None, None, reason_of(reply), reply.text, vote)
            if not left:
                return

    def _questions(self, items: Sequence[Item], indices: Sequence[int], vote: int, attempt: int) -> list[_Question]:
        """One question an item, or for up to ``batch`` items of one unit."""
        by_unit: dict[str, list[int]] = {}
        for index in indices:
            by_unit.setdefault(items[index].unit, []).append(index)
        questions = []
        for unit, members in by_unit.items():
            for begin in range(0, len(members), self._per_call):
                part = tuple(members[begin : begin + self._per_call])
                text = self._fill(unit, [items[index] for index in part])
                questions.append(_Question(part, Request((("user", text),), vote, attempt)))
        return questions

    def _fill(self, unit: str, items: Sequence[Item]) -> str:
        return fill(self._prompt, {"unit": unit, "nugget": items[0].nugget})

    def _grades(self, reply: Reply, question: _Question) -> dict[int, int]:
        """Grade of each item of a question that the reply has a verdict on."""
        del question
        grade = None if reply.reason else type(self).parse(reply.text)
        return {} if grade is None else {0: grade}


def read_own_prompt(name: str) -> str:
    """A prompt that comes with the package, by its name."""
    return files("nuggeteval.judges").joinpath(f"prompts/{name}.txt").read_text("utf-8")


def asked_with(chat: Chat, prompt: str) -> dict[str, Any]:
    """What replies of a model depend on beside the question and its length: model, host, temperature, seed, prompt."""
    settings = chat.settings
    return {
        "model": settings.model,
        "host": settings.host,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "prompt": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12],
    }


def check_fields(prompt: str, fields: Sequence[str], whose: str) -> None:
    """Refuse a prompt that leaves out what it is to ask about.

    Raises:
        ParameterError: naming the fields that it lacks.
    """
    missing = [name for name in fields if name not in prompt]
    if missing:
        raise ParameterError(f"the prompt of {whose} lacks {', '.join(missing)}")


def is_final(reply: Reply) -> bool:
    """Whether asking again cannot help: a refusal, a filter, a length, an error that was tried already."""
    return bool(reply.reason) or reply.finish in ("length", "content_filter") or is_refusal(reply.text)


def reason_of(reply: Reply) -> str:
    """Why a reply holds no verdict."""
    if reply.reason:
        return reply.reason
    if reply.finish in ("length", "content_filter"):
        return f"no verdict before the reply ended ({reply.finish})"
    return "refusal" if is_refusal(reply.text) else "unparsed"


class YesNoJudge(LlmJudge):
    """One nugget a call, yes or no (NtR of CONE-RAG)."""

    name = "yesno"
    parse = staticmethod(parse_yes_no)


class RubricJudge(LlmJudge):
    """One nugget a call, a grade from 0 to 5 (CRUX and LANCER count from 3, LongEval from 4)."""

    name = "rubric"
    scale = Scale(5, 3)
    parse = staticmethod(parse_rating)


class LLMEvalJudge(LlmJudge):
    """Whether a response gives what the gold answer to the question says, yes or no (LLMEval of BERGEN and CONE-RAG).

    The nugget is the gold answer; the question of each item is shown too.
    """

    name = "llmeval"
    fields = ("{question}", "{unit}", "{nugget}")
    needs_question = True
    parse = staticmethod(parse_yes_no)

    def _fill(self, unit: str, items: Sequence[Item]) -> str:
        return fill(self._prompt, {"question": items[0].question, "unit": unit, "nugget": items[0].nugget})


class GroundednessJudge(LlmJudge):
    """Whether the passages that a response cites say everything that it says: grade 1 = grounded.

    The nugget is the text of the passages. TREC iKAT 2023 asks the reverse, whether the response has information that
    is not in the passages; here yes and 1 are good, so that a mean is the share of grounded responses. A prompt of
    one's own must ask in this direction too.

    Args:
        words: first words of each passage that are shown.
        chat, prompt, votes, per_call: as for all judges by language model.

    Raises:
        ParameterError: as for these; no word at all.
    """

    name = "groundedness"
    fields = ("{unit}", "{sources}")
    parse = staticmethod(parse_yes_no)

    def __init__(
        self, chat: Chat, prompt: str | None = None, votes: int = 1, per_call: int | None = None, words: int = 300
    ) -> None:
        super().__init__(chat, prompt, votes, per_call)
        if words < 1:
            raise ParameterError(f"words must be at least 1 (got {words})")
        self.words = words
        self.params = {**self.params, "words": words}

    def _fill(self, unit: str, items: Sequence[Item]) -> str:
        return fill(self._prompt, {"unit": unit, "sources": items[0].nugget})


class ListJudge(LlmJudge):
    """Several nuggets of one unit a call; those that a reply leaves out are asked again."""

    fields = ("{unit}", "{nuggets}")
    batch = 10
    labels: Mapping[str, int]

    def _fill(self, unit: str, items: Sequence[Item]) -> str:
        numbered = "\n".join(f"{number}. {squeezed(item.nugget)}" for number, item in enumerate(items, start=1))
        prompt = self._prompt.replace("{{", "{").replace("}}", "}")
        return fill(prompt, {"unit": unit, "nuggets": numbered})

    def _grades(self, reply: Reply, question: _Question) -> dict[int, int]:
        return {} if reply.reason else parse_labels(reply.text, len(question.items), self.labels)


class SupportJudge(ListJudge):
    """Lists of nuggets: not / partial / full support (AutoNuggetizer)."""

    name = "support"
    scale = Scale(2)
    labels = LABELS


class YesNoListJudge(ListJudge):
    """Lists of nuggets, yes or no: fewer calls than the judge of single nuggets, which the paper has."""

    name = "yesno"
    file = "yesno_list"
    labels = YES_NO
