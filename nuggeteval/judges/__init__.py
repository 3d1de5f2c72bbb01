"""The judges: items in, verdicts out. A judge knows no files, topics or runs.

``judge(items)`` yields ``(index, verdict)`` in the order in which verdicts are ready, so that a kill
loses no more than what is under way. Its name and ``params`` are enough to make it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nuggeteval.chat import Chat
from nuggeteval.data import Scale
from nuggeteval.errors import ParameterError
from nuggeteval.registry import lookup
from nuggeteval.text import hash_of_texts

__all__ = [
    "ANSWER_JUDGES",
    "CHATTING",
    "PAIR_DIGITS",
    "TABLE",
    "Item",
    "Judge",
    "Verdict",
    "hash_of_item",
    "make",
]

PAIR_DIGITS = 16
"""Digits of the hash of an item that tell its pair of texts; more tell its question."""


class Item(NamedTuple):
    """A unit's text and a nugget's text: does the first support the second?

    Attributes:
        unit, nugget: the texts.
        question: what the unit answers, for the judges that are shown it; empty for all others.
    """

    unit: str
    nugget: str
    question: str = ""


def hash_of_item(item: Item) -> str:
    """What tells the texts of an item, whatever their white space, from others.

    Returns:
        hexadecimal digits: :data:`PAIR_DIGITS` for unit and nugget (:func:`nuggeteval.text.hash_of_texts`), and 8 more
        for the question where there is one, so that a verdict is never taken for one on another question.
    """
    pair = hash_of_texts(item.unit, item.nugget)
    return f"{pair}{hash_of_texts(item.question, '')[: PAIR_DIGITS // 2]}" if item.question else pair


class Verdict(NamedTuple):
    """What a judge says: a raw score, a grade on its scale, or a reason why there is none; in which vote."""

    score: float | None
    grade: int | None
    reason: str = ""
    raw: str = ""
    vote: int = 0


class Judge(Protocol):
    """What every judge is."""

    name: str
    scale: Scale
    params: Mapping[str, Any]

    def __call__(self, items: Sequence[Item]) -> Iterator[tuple[int, Verdict]]:
        """Judge items; every index once, in any order."""


TABLE: dict[str, str] = {
    "lexical": "nuggeteval.judges.lexical:LexicalJudge",
    "hybrid": "nuggeteval.judges.hybrid:HybridJudge",
    "nli": "nuggeteval.judges.nli:NliJudge",
    "yesno": "nuggeteval.judges.llm:YesNoJudge",
    "support": "nuggeteval.judges.llm:SupportJudge",
    "rubric": "nuggeteval.judges.llm:RubricJudge",
}
"""Judge -> its class, imported when it is asked for."""

ANSWER_JUDGES: dict[str, str] = {
    "llmeval": "nuggeteval.judges.llm:LLMEvalJudge",
    "groundedness": "nuggeteval.judges.llm:GroundednessJudge",
}
"""Judges of whole answers, which are not judged against a bank of nuggets -> their classes."""

CHATTING = ("yesno", "support", "rubric", *ANSWER_JUDGES)
"""Judges that ask a language model."""


RATING = ("lexical", "hybrid")
"""Judges whose score can be a rating."""

_RATED = {"rated": "nuggeteval.judges.rated:RatingJudge"}

LISTING = {
    "yesno": "nuggeteval.judges.llm:YesNoListJudge",
    "support": "nuggeteval.judges.llm:SupportJudge",
}
"""Judges that can be asked about several nuggets at once -> the class that does."""


def make(
    name: str,
    view: str,
    texts: Sequence[str],
    threshold: float | None = None,
    chat: Chat | None = None,
    votes: int = 1,
    prompt: str | None = None,
    model: str | None = None,
    per_call: int | None = None,
    rating: bool = False,
    words: int | None = None,
) -> Judge:
    """A judge by name.

    Args:
        name: a key of :data:`TABLE` or :data:`ANSWER_JUDGES`.
        view: what it will judge; thresholds depend on it.
        texts: of the nuggets of the bank.
        threshold: least score that is a yes; None for the judge's own.
        chat: the door to a language model, for the judges that need one.
        votes, prompt: for the same.
        per_call: nuggets in one question to a language model, for yesno (1) and support (10).
        rating: grades 0 to 5, floor(5 score + 0.5), for the lexical and hybrid judges.
        model: a folder or a name on the Hugging Face hub, for the nli judge.
        words: first words of each document that the groundedness judge is shown; None for its own number.

    Raises:
        UnknownNameError: no such judge.
        ParameterError: an impossible threshold, no model, a judge that takes no threshold, votes, model or words, or
            a view that it does not judge.
        MissingDependencyError: an extra that is not installed.
    """
    judge = lookup({**TABLE, **ANSWER_JUDGES}, name, "judge")
    if name in ANSWER_JUDGES and view != "responses":
        raise ParameterError(f"the {name} judge judges whole responses, no {view}")
    if words is not None and name != "groundedness":
        raise ParameterError(f"the {name} judge reads no documents: words are for groundedness")
    if name in CHATTING:
        return _chatting(judge, name, threshold, chat, votes, prompt, per_call, words)
    made: Judge
    if per_call is not None:
        raise ParameterError(f"the {name} judge asks no language model: there are no calls")
    if prompt is not None:
        raise ParameterError(f"the {name} judge reads no prompt")
    if votes != 1:
        raise ParameterError(f"the {name} judge says the same every time: votes are for language models")
    if model is not None and name != "nli":
        raise ParameterError(f"the {name} judge takes no model")
    made = judge.of(view, texts, threshold, model) if name == "nli" else judge.of(view, texts, threshold)
    if not rating:
        return made
    if name not in RATING:
        raise ParameterError(f"the {name} judge gives no ratings; {', '.join(RATING)} do")
    wrapped: Judge = lookup(_RATED, "rated", "judge")(made)
    return wrapped


def _chatting(
    judge: Any,
    name: str,
    threshold: float | None,
    chat: Chat | None,
    votes: int,
    prompt: str | None,
    per_call: int | None,
    words: int | None,
) -> Judge:
    """A judge that asks a language model; its class, or the one for lists of nuggets, is called."""
    if chat is None:
        raise ParameterError(f"the {name} judge asks a language model: --model NAME (and --base-url URL) names it")
    if threshold is not None:
        raise ParameterError(f"the {name} judge gives grades, no scores: it has no threshold")
    if per_call is not None and name not in LISTING:
        raise ParameterError(f"the {name} judge is asked about one nugget at a time")
    if per_call is not None and per_call > 1:
        judge = lookup(LISTING, name, "judge")
    made: Judge = judge(chat, prompt, votes, per_call, **({} if words is None else {"words": words}))
    return made
