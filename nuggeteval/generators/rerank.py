"""Rerankers by language model, the baselines that LANCER is compared with (arXiv 2601.22008, section 5).

- pointwise: the probability of "yes" among yes and no, one document a call;
- listwise: a window that slides from the end of the ranking to its front (RankGPT, Sun et al., EMNLP 2023);
- setwise: heap sort by "which of these documents is best" (Zhuang et al., SIGIR 2024);
- rubric: the grade from 0 to 5 that the rubric judge gives, one document a call.

What is compared next is decided by the plain functions of :mod:`nuggeteval.comparisons`, which ask nobody; they are
played with the replies of a model, one question of every topic at a time. A failed reply changes nothing
in the order and is counted; it never ends a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from nuggeteval.cache import Reply
from nuggeteval.chat import Chat, Request
from nuggeteval.comparisons import (
    LETTERS,
    Answer,
    Play,
    heap_sort,
    most_comparisons,
    parse_choice,
    parse_order,
    sliding_windows,
    windows_of,
    yes_and_no,
)
from nuggeteval.errors import DataError, JudgeError, ParameterError, UnknownNameError, listed
from nuggeteval.generators import checked_order
from nuggeteval.judges import Item, Verdict
from nuggeteval.judges.llm import CHARACTERS_PER_TOKEN, Estimate, RubricJudge, check_fields
from nuggeteval.text import fill, first_words

__all__ = [
    "STRATEGIES",
    "WORDS",
    "Reranked",
    "estimate",
    "listwise",
    "pointwise",
    "rerank",
    "rubric",
    "setwise",
]

STRATEGIES = ("pointwise", "listwise", "setwise", "rubric")
"""Names of the rerankers."""

WORDS: Mapping[str, int | None] = {"pointwise": None, "listwise": 300, "setwise": 300, "rubric": None}
"""Reranker -> words of a document that its prompt holds; None for all of them."""

_TOP_LOGPROBS = 20
_HEAD = 10
"""Ranks that are looked at for ties: what the paper measures."""

_HOPELESS = 5
"""Replies without log probabilities, before any with them, until it is clear that the server gives none."""

_FIELDS = {
    "pointwise": ("{query}", "{document}"),
    "listwise": ("{query}", "{documents}"),
    "setwise": ("{query}", "{documents}"),
}

Progress = Callable[[int, int], None]


class Reranked(NamedTuple):
    """What a reranker made.

    Attributes:
        rankings: topic -> its candidates, best first; without the topics that wait for a batch.
        records: what was asked and what came of it, one for each document (pointwise, rubric) or comparison, with the
            reason where it failed.
        notes: what a reader of the run should know.
    """

    rankings: dict[str, list[str]]
    records: list[dict[str, Any]]
    notes: tuple[str, ...]


# --- asking ----------------------------------------------------------------------------------------


@dataclass
class _Task:
    """What is asked about, and what is to be said of it in the end."""

    by: str
    candidates: Mapping[str, Sequence[str]]
    queries: Mapping[str, str]
    texts: Mapping[str, str]
    prompt: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        by: str,
        candidates: Mapping[str, Sequence[str]],
        queries: Mapping[str, str],
        texts: Mapping[str, str],
        prompt: str | None,
        words: int | None,
    ) -> _Task:
        """Check and cut what is asked about.

        Raises:
            DataError: topics without a query.
            ParameterError: a prompt without its fields, or no word at all.
        """
        if words is not None and words < 1:
            raise ParameterError(f"words must be at least 1 (got {words})")
        lacking = [topic for topic in candidates if not queries.get(topic, "").strip()]
        if lacking:
            raise DataError(f"{len(lacking)} of {len(candidates)} topics have no query: {listed(lacking)}")
        wanted = dict.fromkeys(document for documents in candidates.values() for document in documents)
        kept = {document: first_words(texts.get(document, ""), words) for document in wanted}
        task = cls(by, candidates, queries, kept, _prompt_of(by, prompt))
        empty = [document for document in wanted if not kept[document].strip()]
        if empty:
            task.notes.append(
                f"{len(empty)} of {len(wanted)} documents have no text, and count as empty: {listed(empty)}"
            )
        shortened = sum(kept[document] != texts.get(document, "") for document in wanted)
        if shortened:
            task.notes.append(f"{shortened} of {len(wanted)} documents are cut to {words} words")
        return task

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(topic, candidate)."""
        return [(topic, document) for topic, documents in self.candidates.items() for document in documents]

    def request(self, topic: str, documents: Sequence[str]) -> Request:
        """The question about a document, or a comparison of several."""
        values = {"query": self.queries[topic], "number": str(len(documents))}
        if self.by == "pointwise":
            text = fill(self.prompt, {**values, "document": self.texts[documents[0]]})
            return Request((("user", text),), max_tokens=1, top_logprobs=_TOP_LOGPROBS)
        labels = LETTERS if self.by == "setwise" else list(map(str, range(1, len(documents) + 1)))
        # A document is one line: no text can look as if the next document began.
        lines = [
            f"[{label}] {' '.join(self.texts[document].split())}"
            for label, document in zip(labels, documents, strict=False)
        ]
        return Request((("user", fill(self.prompt, {**values, "documents": "\n".join(lines)})),))


def _prompt_of(by: str, prompt: str | None) -> str:
    """The prompt of a reranker, ours or another.

    Raises:
        ParameterError: it lacks a field.
    """
    if by == "rubric":
        return ""
    own = files("nuggeteval.generators").joinpath(f"prompts/{by}.txt")
    text = own.read_text("utf-8") if prompt is None else prompt
    check_fields(text, _FIELDS[by], f"the {by} reranker")
    return text


def _replies(chat: Chat, requests: Iterable[Request]) -> Generator[tuple[Request, Reply], None, None]:
    """The replies as they come; what is asked twice is asked once."""
    distinct = list(dict.fromkeys(requests))
    for index, reply in chat.ask_all(distinct):
        yield distinct[index], reply


def _reason(reply: Reply) -> str:
    """Why a reply without an answer has none."""
    return reply.reason or ("unparsed" if reply.finish != "length" else "no answer before the reply ended (length)")


def _failures(records: Iterable[Mapping[str, Any]]) -> tuple[int, str]:
    """How many failed, and why most of them did."""
    reasons = Counter(record["reason"] for record in records if record["reason"])
    return sum(reasons.values()), reasons.most_common(1)[0][0] if reasons else ""


# --- one document a call ---------------------------------------------------------------------------


def pointwise(
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    prompt: str | None = None,
    words: int | None = None,
    show: Progress | None = None,
) -> Reranked:
    """Rank by P(yes) / (P(yes) + P(no)) of the first token of the reply, ties in the order of the first stage.

    The baseline of LANCER's section 5.1, as monoT5 does with true and false (Nogueira et al., Findings of EMNLP 2020).
    Its probabilities often are 1 to all digits: the topics with ties in the top 10 are counted. A reply whose likeliest
    tokens hold neither word fails; its document comes after all others. Replies are of one token, so that a model which
    thinks before it answers fails everywhere.

    Args:
        candidates: topic -> documents, in the order of the first stage.
        queries: topic -> what was asked.
        texts: document -> text; without one it counts as empty.
        chat: the door to the model.
        prompt: another prompt, with the fields ``{query}`` and ``{document}``.
        words: words of a document that are shown; None for all.
        show: told (done, all) as replies come.

    Raises:
        DataError: topics without a query.
        JudgeError: the model cannot be asked, or gives no log probabilities.
        ParameterError: a prompt without its fields.
    """
    task = _Task.of("pointwise", candidates, queries, texts, prompt, words)
    requests = {pair: task.request(pair[0], pair[1:]) for pair in task.pairs}
    replies = _with_logprobs(chat, list(dict.fromkeys(requests.values())), show)
    records = [
        _pointwise_record(topic, document, replies[requests[topic, document]])
        for topic, document in task.pairs
        if requests[topic, document] in replies
    ]
    return _by_score(task, records, "score", "have no score, and come last")


def _with_logprobs(chat: Chat, requests: Sequence[Request], show: Progress | None) -> dict[Request, Reply]:
    """The replies to questions that ask for log probabilities.

    Raises:
        JudgeError: there are replies, and none of the first ones has any.
    """
    found: dict[Request, Reply] = {}
    given, lacking = False, 0
    for request, reply in _replies(chat, requests):
        found[request] = reply
        given = given or bool(reply.logprobs)
        lacking += not reply.logprobs and not reply.reason
        if lacking >= _HOPELESS and not given:
            break
        if show:
            show(len(found), len(requests))
    if lacking and not given:
        raise JudgeError(
            "the server gives no logprobs; pointwise reranking ranks by those of the first token "
            f"({chat.settings.host}, model {chat.settings.model}): use another server, model or way to rerank"
        )
    return found


def _pointwise_record(topic: str, document: str, reply: Reply) -> dict[str, Any]:
    yes, no = yes_and_no(reply.logprobs)
    score = yes / (yes + no) if yes + no > 0 else None
    neither = "no logprobs" if not reply.logprobs else "neither yes nor no among the likeliest first tokens"
    return {
        "topic": topic,
        "by": "pointwise",
        "docid": document,
        "score": score or 0.0,
        "yes": yes,
        "no": no,
        "reply": reply.text,
        "reason": "" if score is not None else reply.reason if not reply.logprobs and reply.reason else neither,
    }


def rubric(
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    prompt: str | None = None,
    words: int | None = None,
    show: Progress | None = None,
) -> Reranked:
    """Rank by the grade from 0 to 5 that the rubric judge gives a document for the request as a whole.

    With six grades for a hundred documents ties are the rule: they keep the order of the first stage, and the topics
    with ties in the top 10 are counted. It is LANCER (arXiv 2601.22008) with the request as its only question. A
    document whose grade cannot be read is asked for again twice, and then comes after all others.

    Args:
        candidates, queries, texts, chat, words, show: as for :func:`pointwise`.
        prompt: another prompt, with the fields ``{unit}`` and ``{nugget}`` of the rubric judge.

    Raises:
        DataError: topics without a query.
        JudgeError: the model cannot be asked.
        ParameterError: a prompt without its fields.
    """
    task = _Task.of("rubric", candidates, queries, texts, None, words)
    judge = RubricJudge(chat, prompt)
    items = {pair: Item(task.texts[pair[1]], queries[pair[0]]) for pair in task.pairs}
    distinct = list(dict.fromkeys(items.values()))
    verdicts: dict[Item, Verdict] = {}
    for index, verdict in judge(distinct):
        verdicts[distinct[index]] = verdict
        if show:
            show(len(verdicts), len(distinct))
    records = []
    for (topic, document), item in items.items():
        if item in verdicts:
            verdict = verdicts[item]
            record = {"topic": topic, "by": "rubric", "docid": document, "grade": verdict.grade}
            records.append({**record, "reply": verdict.raw, "reason": verdict.reason})
    return _by_score(task, records, "grade", "have no grade, and come last")


def _by_score(task: _Task, records: list[dict[str, Any]], key: str, failed: str) -> Reranked:
    """Rank topics whose documents all have a record: score descending, failed ones last, ties as they were."""
    found = {(record["topic"], record["docid"]): record for record in records}
    rankings, tied = {}, 0
    for topic, documents in task.candidates.items():
        scored = [found[topic, document] for document in documents if (topic, document) in found]
        if len(scored) < len(documents):
            continue
        scored.sort(key=lambda record: (bool(record["reason"]), -(record[key] or 0)))
        rankings[topic] = checked_order(topic, [record["docid"] for record in scored], documents)
        head = [record[key] for record in scored[:_HEAD] if not record["reason"]]
        tied += len(set(head)) < len(head)
    notes = list(task.notes)
    number, reason = _failures(records)
    if number:
        notes.append(f"{number} of {len(records)} documents {failed} (mostly: {reason})")
    if tied:
        saturated = "saturated scores" if task.by == "pointwise" else "equal grades"
        notes.append(
            f"{tied} of {len(rankings)} topics have ties in the top {_HEAD} ({saturated}): they keep the order of the "
            "first stage"
        )
    return Reranked(rankings, records, (*notes, *_waiting(task, rankings)))


def _waiting(task: _Task, rankings: Mapping[str, Sequence[str]]) -> list[str]:
    """What is said of topics that are not ranked yet."""
    left = len(task.candidates) - len(rankings)
    return [f"{left} of {len(task.candidates)} topics wait for a batch"] if left else []


# --- comparisons -----------------------------------------------------------------------------------


def listwise(
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    prompt: str | None = None,
    words: int | None = 300,
    window: int = 20,
    stride: int = 10,
    show: Progress | None = None,
) -> Reranked:
    """Rank by windows that the model puts in order, from the end to the front (RankGPT, Sun et al., EMNLP 2023).

    The windows of a topic follow one another; topics are asked about at the same time. Documents that a reply leaves
    out keep their order at the end of the window; a reply without an order leaves the window as it is.

    Args:
        candidates, queries, texts, chat, show: as for :func:`pointwise`.
        prompt: another prompt, with the fields ``{query}``, ``{documents}`` and, if it likes, ``{number}``.
        words: words of each document that are shown; None for all.
        window: documents in a window.
        stride: documents that the window moves.

    Raises:
        DataError: topics without a query.
        JudgeError: the model cannot be asked.
        ParameterError: a prompt without its fields, an impossible window or stride.
    """
    total = sum(len(windows_of(len(documents), window, stride)) for documents in candidates.values())
    task = _Task.of("listwise", candidates, queries, texts, prompt, words)
    plays = {topic: sliding_windows(documents, window, stride) for topic, documents in candidates.items()}
    rankings, records = _played(task, plays, chat, _order_of, show, total)
    notes = list(task.notes)
    number, reason = _failures(records)
    if number:
        notes.append(f"{number} of {len(records)} windows keep their order: no order in the reply (mostly: {reason})")
    partial_ones = sum(not record["reason"] and record["missing"] > 0 for record in records)
    if partial_ones:
        notes.append(f"{partial_ones} of {len(records)} replies leave documents out, which keep their order at the end")
    return Reranked(rankings, records, (*notes, *_waiting(task, rankings)))


def setwise(
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    prompt: str | None = None,
    words: int | None = 300,
    children: int = 5,
    top: int = 10,
    show: Progress | None = None,
) -> Reranked:
    """Rank the top by heap sort, asking which of a parent and its children is best (Zhuang et al., SIGIR 2024).

    Topics are asked about at the same time. Below the top the order is that of the first stage. Where a reply names no
    document, or several, the parent stays.

    Args:
        candidates, queries, texts, chat, show: as for :func:`pointwise`.
        prompt: another prompt, with the fields ``{query}``, ``{documents}`` and, if it likes, ``{number}``.
        words: words of each document that are shown; None for all.
        children: of a node of the heap; a comparison has one document more.
        top: documents that are sorted.

    Raises:
        DataError: topics without a query.
        JudgeError: the model cannot be asked.
        ParameterError: a prompt without its fields, an impossible number of children, nothing to sort.
    """
    total = sum(most_comparisons(len(documents), children, top) for documents in candidates.values())
    task = _Task.of("setwise", candidates, queries, texts, prompt, words)
    plays = {topic: heap_sort(documents, children, top) for topic, documents in candidates.items()}
    rankings, records = _played(task, plays, chat, _best_of, show, total)
    if show and len(rankings) == len(candidates):
        show(total, total)
    notes = list(task.notes)
    number, reason = _failures(records)
    if number:
        notes.append(
            f"in {number} of {len(records)} comparisons the parent stays: no choice in the reply (mostly: {reason})"
        )
    return Reranked(rankings, records, (*notes, *_waiting(task, rankings)))


def _order_of(documents: tuple[str, ...], reply: Reply) -> tuple[list[int], dict[str, Any]]:
    """The order of a window, and what is recorded of it."""
    named = None if reply.reason else parse_order(reply.text, len(documents))
    places = named or []
    order = [*places, *(place for place in range(len(documents)) if place not in places)]
    ranked = [documents[place] for place in order]
    missing = len(documents) - len(places)
    return order, {"ranked": ranked, "missing": missing, "reason": "" if named else _reason(reply)}


def _best_of(documents: tuple[str, ...], reply: Reply) -> tuple[int, dict[str, Any]]:
    """The place of the best document, and what is recorded of it."""
    choice = None if reply.reason else parse_choice(reply.text, len(documents))
    best = choice or 0
    return best, {"best": documents[best], "reason": "" if choice is not None else _reason(reply)}


def _played(
    task: _Task,
    plays: Mapping[str, Play[Answer]],
    chat: Chat,
    read: Callable[[tuple[str, ...], Reply], tuple[Answer, dict[str, Any]]],
    show: Progress | None,
    total: int,
) -> tuple[dict[str, list[str]], list[dict[str, Any]]]:
    """Play all topics, round by round: a question of each topic that is not done yet.

    Args:
        task: what is asked about.
        plays: topic -> its strategy, not begun yet.
        chat: the door to the model.
        read: what a reply on some documents means, and what is recorded of it.
        show: told (done, total) after each round.
        total: the most comparisons that there can be.

    Returns:
        rankings of the topics that came to an end, and the records. Topics whose question waits in a batch stop there.
    """
    rankings: dict[str, list[str]] = {}
    records: dict[str, list[dict[str, Any]]] = {topic: [] for topic in plays}
    asked: dict[str, tuple[str, ...]] = {}
    for topic, play in plays.items():
        _go_on(topic, partial(next, play), asked, rankings)
    while asked:
        requests = {topic: task.request(topic, documents) for topic, documents in asked.items()}
        replies = dict(_replies(chat, requests.values()))
        now, asked = asked, {}
        for topic, documents in now.items():
            if requests[topic] not in replies:
                continue
            reply = replies[requests[topic]]
            answer, result = read(documents, reply)
            records[topic].append(
                {"topic": topic, "by": task.by, "docids": list(documents), "reply": reply.text, **result}
            )
            _go_on(topic, partial(plays[topic].send, answer), asked, rankings)
        if show:
            show(sum(map(len, records.values())), total)
    found = {
        topic: checked_order(topic, rankings[topic], task.candidates[topic]) for topic in plays if topic in rankings
    }
    return found, [record for steps in records.values() for record in steps]


def _go_on(
    topic: str,
    step: Callable[[], tuple[str, ...]],
    asked: dict[str, tuple[str, ...]],
    rankings: dict[str, list[str]],
) -> None:
    """Take a step of a strategy: it asks something, or it is done."""
    try:
        asked[topic] = step()
    except StopIteration as end:
        rankings[topic] = end.value


# --- by name ---------------------------------------------------------------------------------------


def rerank(
    by: str,
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    **parameters: Any,
) -> Reranked:
    """Rerank by the name of a strategy.

    Args:
        by: one of :data:`STRATEGIES`.
        candidates, queries, texts, chat: as for :func:`pointwise`.
        **parameters: of the strategy.

    Raises:
        UnknownNameError: no such strategy.
        DataError, JudgeError, ParameterError: as the strategy.
    """
    table: dict[str, Callable[..., Reranked]] = {
        "pointwise": pointwise, "listwise": listwise, "setwise": setwise, "rubric": rubric,
    }  # fmt: skip
    if by not in table:
        raise UnknownNameError(f"unknown reranker {by!r}: there are {', '.join(STRATEGIES)}")
    return table[by](candidates, queries, texts, chat, **parameters)


def estimate(
    by: str,
    candidates: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    chat: Chat,
    prompt: str | None = None,
    words: int | None = None,
    window: int = 20,
    stride: int = 10,
    children: int = 5,
    top: int = 10,
) -> tuple[Estimate, tuple[str, ...]]:
    """What reranking will take, before any call, and the notes that need no reply.

    Exact in calls for pointwise, listwise and rubric (where every reply can be read), an upper bound for setwise;
    tokens by a rule of thumb, for listwise and setwise as if every comparison were of the longest documents.

    Args:
        by: one of :data:`STRATEGIES`.
        candidates, queries, texts, chat, prompt, words: as for the strategy.
        window, stride: as for :func:`listwise`.
        children, top: as for :func:`setwise`.

    Raises:
        UnknownNameError: no such strategy.
        DataError, ParameterError: as the strategy.
    """
    if by not in STRATEGIES:
        raise UnknownNameError(f"unknown reranker {by!r}: there are {', '.join(STRATEGIES)}")
    task = _Task.of(by, candidates, queries, texts, None if by == "rubric" else prompt, words)
    if by == "rubric":
        items = dict.fromkeys(Item(task.texts[document], queries[topic]) for topic, document in task.pairs)
        return RubricJudge(chat, prompt).estimate(list(items)), tuple(task.notes)
    if by == "pointwise":
        requests = dict.fromkeys(task.request(topic, (document,)) for topic, document in task.pairs)
        characters = sum(map(_characters, requests))
        return Estimate(len(requests), characters // CHARACTERS_PER_TOKEN, len(requests)), tuple(task.notes)
    calls = characters = 0
    for topic, documents in candidates.items():
        many = len(documents)
        number = len(windows_of(many, window, stride)) if by == "listwise" else most_comparisons(many, children, top)
        longest = sorted(documents, key=lambda document: len(task.texts[document]), reverse=True)
        largest = task.request(topic, longest[: window if by == "listwise" else children + 1])
        calls += number
        characters += number * _characters(largest)
    tokens_out = calls * chat.settings.max_tokens
    return Estimate(calls, characters // CHARACTERS_PER_TOKEN, tokens_out), tuple(task.notes)


def _characters(request: Request) -> int:
    return sum(len(text) for _, text in request.messages)
