"""Sub-questions of a request: by a language model, by rule, or from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from nuggeteval.chat import Chat, Request
from nuggeteval.data import Nugget, NuggetBank
from nuggeteval.errors import FormatError, ParameterError, listed
from nuggeteval.files import json_object, read_bytes
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.replies import spoken
from nuggeteval.text import content_words, fill, pieces, sentences

__all__ = [
    "Questions",
    "as_question_bank",
    "by_model",
    "by_rule",
    "parse_questions",
    "question_prompt",
    "read_questions",
    "write_questions",
]

ATTEMPTS = 3
_LEAST_WORDS = 3
_MARKED = re.compile(r"<questions>\s*\n?(.*?)(?:</questions>|\Z)", re.DOTALL | re.IGNORECASE)
_LIST_OF = re.compile(r"<START OF LIST>(.*?)(?:<END OF LIST>|\Z)", re.DOTALL | re.IGNORECASE)
# A number alone is a marker only with a stop or bracket after it: a question may begin with a year.
_BULLET = re.compile(r"^\s*(?:[-*\u2022]+|\(?\d{1,2}[.):])\s+")
_ASKING = r"(?:what|how|why|which|who|whose|when|where|whether)\b"
_LINK = r"(?:and|or|but|as well as|including|such as|especially|particularly)"
_CLAUSE = re.compile(
    rf";\s+|,\s+{_LINK}\s+|\s+as well as\s+|,\s+(?={_ASKING})|\s+(?:and|or)\s+(?={_ASKING})", re.IGNORECASE
)


class Questions(NamedTuple):
    """Topic -> its sub-questions; and the topics that got none, or fewer than asked for, with the reason."""

    nuggets: dict[str, tuple[Nugget, ...]]
    short: dict[str, str]

    @property
    def texts(self) -> dict[str, list[str]]:
        """Topic -> the texts of its sub-questions."""
        return {topic: [question.text for question in questions] for topic, questions in self.nuggets.items()}

    @property
    def ids(self) -> dict[str, list[str]]:
        """Topic -> the ids of its sub-questions, in the same order."""
        return {topic: [question.id for question in questions] for topic, questions in self.nuggets.items()}

    @property
    def by_id(self) -> dict[str, dict[str, str]]:
        """Topic -> id -> text."""
        return {topic: {question.id: question.text for question in asked} for topic, asked in self.nuggets.items()}


def _numbered(texts: Mapping[str, Sequence[str]], short: dict[str, str]) -> Questions:
    """Questions with the ids 1, 2, ... in each topic."""
    nuggets = {
        topic: tuple(Nugget(str(place), text) for place, text in enumerate(entries, start=1))
        for topic, entries in texts.items()
    }
    return Questions(nuggets, short)


def parse_questions(reply: str) -> list[str]:
    """The lines of a reply that are questions: between its marks, or all; each once."""
    text = spoken(reply)
    marked = _MARKED.search(text) or _LIST_OF.search(text)
    lines = (marked.group(1) if marked else text).splitlines()
    questions = [_BULLET.sub("", line).strip().strip("\"'*_").strip() for line in lines]
    # What announces a list is no question.
    questions = [question for question in questions if not question.startswith("<") and not question.endswith(":")]
    return _distinct(question for question in questions if len(pieces(question)) >= _LEAST_WORDS)


def _distinct(questions: Iterable[str]) -> list[str]:
    """Each question once, whatever its case."""
    found: dict[str, str] = {}
    for question in questions:
        found.setdefault(question.casefold(), question)
    return list(found.values())


def by_model(requests: Mapping[str, str], number: int, chat: Chat, prompt: str | None = None) -> Questions:
    """Ask a language model for the sub-questions of each request (stage 1 of LANCER, section 3).

    Args:
        requests: topic -> the whole request, its background too.
        number: of questions.
        chat: the door to the model.
        prompt: another prompt, with the fields ``{request}`` and ``{number}``.

    Returns:
        at most ``number`` questions a topic; a reply without any is asked for again twice.

    Raises:
        ParameterError: a prompt without its fields, a number below 1.
        JudgeError: the model cannot be asked.
    """
    _check_number(number)
    template = question_prompt(prompt)
    left, found, reasons = list(requests), {}, {}
    for attempt in range(ATTEMPTS):
        asked = [Request((("user", _fill(template, requests[topic], number)),), 0, attempt) for topic in left]
        again = []
        for index, reply in chat.ask_all(asked):
            topic = left[index]
            questions = [] if reply.reason else parse_questions(reply.text)
            if questions:
                found[topic] = questions[:number]
            else:
                reasons[topic] = reply.reason or "no question in the reply"
                again.append(topic)
        left = [topic for topic in requests if topic in again]
        if not left:
            break
    short = {topic: reasons[topic] for topic in left}
    short |= {t: f"{len(q)} of {number} questions" for t, q in found.items() if len(q) < number}
    return _numbered({topic: found[topic] for topic in requests if topic in found}, short)


def question_prompt(prompt: str | None = None) -> str:
    """The prompt of sub-questions, ours or another.

    Raises:
        ParameterError: it lacks the field ``{request}``.
    """
    own = files("nuggeteval.generators").joinpath("prompts/questions.txt")
    text = own.read_text("utf-8") if prompt is None else prompt
    if "{request}" not in text:
        raise ParameterError("the prompt of sub-questions lacks {request}")
    return text


def _fill(template: str, request: str, number: int) -> str:
    return fill(template, {"number": str(number), "request": request})


def by_rule(requests: Mapping[str, str], number: int) -> Questions:
    """The request's own sentences and clauses, for use without a language model.

    Sentences are split at semicolons, at ", and", ", or", ", including" and their like, at "as well as", and where a
    comma or "and" is followed by a word that asks (what, how, why, ...). A part with three content words or more is a
    sub-question; of two with the same content words the first is kept. They come in the order of the request.

    Args:
        requests: topic -> the whole request.
        number: of questions.

    Raises:
        ParameterError: a number below 1.
    """
    _check_number(number)
    texts = {topic: _parts(request)[:number] for topic, request in requests.items()}
    short = {topic: f"{len(parts)} of {number} parts" for topic, parts in texts.items() if len(parts) < number}
    return _numbered({topic: parts for topic, parts in texts.items() if parts}, short)


def _parts(request: str) -> list[str]:
    found: dict[frozenset[str], str] = {}
    for sentence in sentences(request):
        for clause in _CLAUSE.split(sentence):
            text = " ".join(clause.split()).strip(" ,.;:")
            words = content_words(text)
            if len(words) >= _LEAST_WORDS:
                found.setdefault(words, text)
    return list(found.values())


def _check_number(number: int) -> None:
    if number < 1:
        raise ParameterError(f"the number of sub-questions must be at least 1 (got {number})")


def read_questions(path: str, number: int | None = None) -> Questions:
    """Sub-questions from a file: LANCER's ``{topic: [question, ..]}``, or a nugget bank.

    Args:
        path: the file. Ids of a bank are kept; a list is numbered from 1, without blank and repeated questions.
        number: of questions of each topic that are kept; None for all.

    Raises:
        FormatError: another shape, or no question.
    """
    raw = read_bytes(path)
    record = json_object(raw)
    if record is not None and all(isinstance(value, list) for value in record.values()):
        texts = {str(topic): _distinct(_texts(entries, path)) for topic, entries in record.items()}
        found = _numbered(texts, {}).nuggets
    else:
        found = {
            topic: tuple(nugget for nugget in nuggets if nugget.text.strip())
            for topic, nuggets in read_bank(path).nuggets.items()
        }
    found = {topic: questions[:number] for topic, questions in found.items() if questions}
    if not found:
        raise FormatError(path, "no sub-question")
    short = {topic: f"{len(q)} of {number} questions" for topic, q in found.items() if number and len(q) < number}
    return Questions(found, short)


def _texts(entries: Sequence[object], path: str) -> Iterator[str]:
    """The texts among the entries of a list, without blank ones."""
    for entry in entries:
        if not isinstance(entry, str):
            raise FormatError(path, f"a sub-question must be a text (got {entry!r})")
        if entry.strip():
            yield entry.strip()


def write_questions(questions: Mapping[str, Sequence[str]]) -> str:
    """The file of sub-questions: ``{topic: [question, ..]}``."""
    return json.dumps(questions, ensure_ascii=False, indent=1) + "\n"


def as_question_bank(questions: Questions, name: str, requests: Mapping[str, str] | None = None) -> NuggetBank:
    """Sub-questions as a bank.

    Args:
        questions: of each topic.
        name: of the bank.
        requests: put before each question, as a judge is asked it (section 3 of LANCER); None for the question alone.

    Raises:
        ParameterError: a topic without its request.
    """
    missing = [topic for topic in questions.nuggets if requests is not None and topic not in requests]
    if missing:
        raise ParameterError(f"no request for the topics {listed(missing)}")
    asked = {
        topic: tuple(
            question if requests is None else Nugget(question.id, f"{requests[topic]}\n{question.text}")
            for question in entries
        )
        for topic, entries in questions.nuggets.items()
    }
    return NuggetBank(name, asked)
