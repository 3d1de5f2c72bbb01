"""Reranking by language model: what is compared by plain functions, and against a scripted server on loopback."""

import argparse
import json
import math
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from chatserver import serving
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval.batch import first_tokens, read_results
from nuggeteval.cache import Cache, Reply
from nuggeteval.chat import Chat, Request, Settings
from nuggeteval.cli import rerank as command
from nuggeteval.comparisons import (
    heap_sort,
    most_comparisons,
    parse_choice,
    parse_order,
    sliding_windows,
    windows_of,
    yes_and_no,
)
from nuggeteval.errors import DataError, JudgeError, NuggetEvalError, ParameterError, UnknownNameError
from nuggeteval.formats.trec import read_run
from nuggeteval.generators import rerank as module
from nuggeteval.generators.rerank import (
    STRATEGIES,
    estimate,
    listwise,
    pointwise,
    rerank,
    rubric,
    setwise,
)
from nuggeteval.text import first_words


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def chat_of(server, cache=None, **settings):
    return Chat(Settings("m", base_url=server.url, **settings), cache or Cache(None))


def with_logprobs(top, content="Yes"):
    """A completion whose first token has these alternatives: {token: probability}; None for no logprobs at all."""
    entries = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in (top or {}).items()]
    logprobs = {"content": [{"token": content, "logprob": -0.1, "bytes": None, "top_logprobs": entries}]}
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "length"}
    body = {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [choice if top is None else {**choice, "logprobs": logprobs}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
    }  # fmt: skip
    return {"raw": json.dumps(body).encode()}


def worth(text):
    """The hidden relevance in a text."""
    return int(re.search(r"worth (\d+)", text).group(1))


def listed_worths(prompt):
    """Label -> hidden relevance of the documents of a prompt, in its order."""
    return {label: int(value) for label, value in re.findall(r"^\[(\w+)\] .*?worth (\d+)", prompt, re.MULTILINE)}


def perfect_order(prompt):
    worths = listed_worths(prompt)
    return {"content": " > ".join(f"[{label}]" for label in sorted(worths, key=worths.get, reverse=True))}


def perfect_choice(prompt):
    worths = listed_worths(prompt)
    return {"content": max(worths, key=worths.get)}


def graded(prompt):
    return with_logprobs({"Yes": (1 + worth(prompt)) / 50, "No": 0.1})


def shuffled(topics, documents, seed=0):
    """Candidates, queries and texts whose relevance is a permutation of 0 ... n - 1."""
    chance = random.Random(seed)
    candidates, texts = {}, {}
    for topic in range(topics):
        values = chance.sample(range(documents), documents)
        candidates[f"t{topic}"] = [f"t{topic}d{n}" for n in range(documents)]
        texts.update({f"t{topic}d{n}": f"text of t{topic}d{n}, worth {value}" for n, value in enumerate(values)})
    return candidates, {topic: f"request {topic}" for topic in candidates}, texts


# --- log probabilities at the door -----------------------------------------------------------------


def test_keys_without_logprobs_are_what_they_were():
    chat = Chat(Settings("m", base_url="http://host/v1"))
    request = Request((("user", "q"),), 1, 2)
    assert chat.key(request) == "dcd055713fc2d4a4926689922e702f0f54c57debf8825bcb54476efbdfe80d64"
    others = [request._replace(top_logprobs=20), request._replace(top_logprobs=5), request._replace(max_tokens=1)]
    assert len({chat.key(other) for other in (request, *others)}) == 4
    shorter = Chat(replace(chat.settings, max_tokens=1))
    assert shorter.key(request) == chat.key(request._replace(max_tokens=1))


def test_logprobs_are_asked_for_and_kept(tmp_path):
    cache = Cache(str(tmp_path / "cache"))
    asked = [Request((("user", "q"),), max_tokens=1, top_logprobs=20), Request((("user", "q"),))]
    with serving(lambda _: with_logprobs({"Yes": 0.7, " no": 0.2})) as server:
        replies = dict(chat_of(server, cache, concurrency=1).ask_all(asked))
        chat = chat_of(server, cache, offline=True)
        assert dict(chat.ask_all(asked)) == replies
    bodies = [{key: body.get(key) for key in ("logprobs", "top_logprobs", "max_tokens")} for body in server.bodies]
    assert bodies == [
        {"logprobs": True, "top_logprobs": 20, "max_tokens": 1},
        {"logprobs": None, "top_logprobs": None, "max_tokens": 64},
    ]
    assert replies[0].logprobs == (("Yes", math.log(0.7)), (" no", math.log(0.2)))
    other = Cache(str(tmp_path / "other"))
    other.load([json.loads(line) for line in cache.export()])
    assert other.get(chat.key(asked[0])) == replies[0]


def test_the_budget_knows_how_long_a_reply_may_be():
    # One byte, 16 for the message, one token of the reply.
    short = Request((("user", "q"),), max_tokens=1, top_logprobs=20)
    with serving(lambda _: with_logprobs({"Yes": 0.7})) as server:
        assert len(list(chat_of(server, budget=18, max_tokens=1000).ask_all([short]))) == 1
        with pytest.raises(JudgeError, match="budget"):
            list(chat_of(server, budget=17, max_tokens=1000).ask_all([short]))


def test_caches_of_old_are_read(tmp_path):
    cache = Cache(str(tmp_path / "cache"))
    cache.load([{"key": "k", "reply": ["yes", "stop", ""]}])
    assert cache.get("k") == Reply("yes", "stop", "")
    cache.put("l", Reply("no", "stop"))
    assert [json.loads(line)["reply"] for line in cache.export()] == [["yes", "stop", ""], ["no", "stop", ""]]


@pytest.mark.parametrize(
    "logprobs",
    [
        None, {}, {"content": None}, {"content": []}, {"content": [{"token": "Yes", "logprob": -1}]}, {"content": ["x"]},
        {"content": [{"top_logprobs": None}]}, {"content": [{"top_logprobs": ["x", {"token": 3, "logprob": -1}]}]},
        {"content": [{"top_logprobs": [{"token": "x", "logprob": None}, {"token": "x", "logprob": float("-inf")}]}]},
        "yes", 3,
    ],
)  # fmt: skip
def test_logprobs_of_another_shape_are_none(logprobs):
    assert first_tokens(logprobs) == ()


def test_logprobs_come_back_from_a_batch():
    body = json.loads(with_logprobs({"Yes": 0.5})["raw"])
    [(key, reply)] = read_results([{"custom_id": "k", "response": {"status_code": 200, "body": body}}])
    assert (key, reply.text, reply.logprobs) == ("k", "Yes", (("Yes", math.log(0.5)),))


# --- what is compared next -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("documents", "windows"),
    [
        (0, []), (1, []), (2, [(0, 2)]), (20, [(0, 20)]), (21, [(1, 21), (0, 20)]), (25, [(5, 25), (0, 20)]),
        (30, [(10, 30), (0, 20)]), (100, [(n, n + 20) for n in range(80, -1, -10)]),
    ],
)  # fmt: skip
def test_windows(documents, windows):
    assert windows_of(documents, 20, 10) == windows


@given(st.integers(0, 120), st.integers(2, 25), st.integers(1, 25))
def test_windows_reach_everything(documents, window, stride):
    if stride > window:
        with pytest.raises(ParameterError, match="stride"):
            windows_of(documents, window, stride)
        return
    windows = windows_of(documents, window, stride)
    assert all(end - start == min(window, documents) for start, end in windows)
    if documents > 1:
        assert (windows[0][1], windows[-1][0]) == (documents, 0)
        assert {place for start, end in windows for place in range(start, end)} == set(range(documents))
        assert len(windows) == 1 + max(0, math.ceil((documents - window) / stride))


def play(strategy, answer):
    """Play a strategy with a comparator; (ranking, number of comparisons)."""
    count = 0
    try:
        asked = next(strategy)
        while True:
            count += 1
            asked = strategy.send(answer(asked))
    except StopIteration as end:
        return end.value, count


@given(st.permutations(range(45)))
def test_sliding_windows_bring_the_best_to_the_top(order):
    documents = [str(n) for n in order]
    ranking, count = play(
        sliding_windows(documents, 20, 10),
        lambda asked: sorted(range(len(asked)), key=lambda place: int(asked[place])),
    )
    assert count == len(windows_of(45, 20, 10))
    assert ranking[:10] == [str(n) for n in range(10)]
    assert sorted(ranking) == sorted(documents)


@given(st.integers(0, 60).flatmap(lambda n: st.permutations(range(n))), st.integers(1, 25), st.integers(1, 12))
def test_heap_sort_finds_the_top(order, children, top):
    documents = [str(n) for n in order]
    sizes = []

    def best(asked):
        sizes.append(len(asked))
        return min(range(len(asked)), key=lambda place: int(asked[place]))

    ranking, count = play(heap_sort(documents, children, top), best)
    assert ranking[:top] == [str(n) for n in range(min(top, len(documents)))]
    assert ranking[top:] == [document for document in documents if int(document) >= top]
    assert count <= most_comparisons(len(documents), children, top)
    assert all(2 <= size <= children + 1 for size in sizes)


def test_the_bound_is_met_and_sound():
    # 100 documents, 5 children: nodes 0-19 have children; root 3 levels, 1-3 (and 0's) 2, 4-19 1; 9 more sifts from the root.
    def depth(node):
        return 0 if 5 * node + 1 >= 100 else 1 + depth(5 * node + 1)

    assert most_comparisons(100, 5, 10) == sum(depth(node) for node in range(20)) + 9 * 3
    assert most_comparisons(1, 5, 10) == most_comparisons(0, 5, 10) == 0
    assert play(heap_sort(list("abc"), 2, 3), lambda asked: len(asked) - 1)[1] <= most_comparisons(3, 2, 3) == 2
    # A parent that always stays is the least that a heap can ask: once a node, and once for each of the top but the last.
    ranking, count = play(heap_sort([str(n) for n in range(100)], 5, 10), lambda _: 0)
    assert (ranking[:3], count) == (["0", "99", "98"], 20 + 9)


# --- what replies mean -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[3] > [1] > [2]", [2, 0, 1]), ("[3] > [1]", [2, 0]), ("[3]>[1]>[3]>[2]", [2, 0, 1]), ("[9] > [2] > [0] > [1]", [1, 0]),
        ("[3][1][2]", [2, 0, 1]), ("[3], [1], [2]", [2, 0, 1]), ("[3, 1, 2]", [2, 0, 1]), ("[3 > 1 > 2]", [2, 0, 1]),
        ("3 > 1 > 2", [2, 0, 1]), ("3, 1, 2", [2, 0, 1]), ("3\n1\n2", [2, 0, 1]), ("The order is 3 > 1 > 2.", [2, 0, 1]),
        ("1. [3]\n2. [1]\n3. [2]", [2, 0, 1]), ("**[3]** > **[1]**", [2, 0]), ("```\n[2] > [1]\n```", [1, 0]),
        ("Here are passages [1] to [4] in order:\n[3] > [4] > [1] > [2]", [2, 3, 0, 1]),
        ("<think>[1] > [2] > [3] > [4]? no</think>\n[4] > [3]", [3, 2]), ("[2] > [1] > [", [1, 0]), ("[2]", [1]),
        ("", None), ("I cannot do that.", None), ("[9] > [8]", None), ("[0]", None), ("In 2024 there were 3 of them.", None),
        ("[" + "1" * 5000 + "]", None), ("[1234567]", None), ("[x] > [y]", None), ("[\u0663] > [1]", [2, 0]),
    ],
)  # fmt: skip
def test_orders(reply, order):
    assert parse_order(reply, 4) == order


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("C", 2), (" c\n", 2), ("[C]", 2), ("(C)", 2), ("**C**", 2), ("C.", 2), ('"C"', 2), ("Document C", 2), ("document [C]", 2),
        ("Answer: C", 2), ("The answer is C.", 2), ("The most helpful document is [B].", 1), ("C) it names the year", 2),
        ("C: it names the year, A does not", 2), ("C\n\nIt names the year.", 2), ('{"answer": "C"}', 2), ("C. It names the year", 2),
        ("I think that [B] it is", 1), ("<think>A or B</think> B", 1), ("Best is A. On reflection, the best is B.", 1),
        ("The best one is A because it names the year", 0),
        ("", None), ("none of them", None), ("[A] and [B] are equal", None), ("A, B and C", None), ("G", None), ("3", None),
        ("A document that helps is not there", None), ("The answer: A document about lanes", None), ("I'm sorry, I cannot.", None),
    ],
)  # fmt: skip
def test_choices(reply, place):
    assert parse_choice(reply, 6) == place


@given(st.text(alphabet="[]>,.123456789ABC (){}\"'\n:answerbest", max_size=60), st.integers(2, 20))
def test_any_reply_is_read_or_not(reply, number):
    order, place = parse_order(reply, number), parse_choice(reply, number)
    assert order is None or (len(set(order)) == len(order) and set(order) <= set(range(number)))
    assert place is None or 0 <= place < number


def test_variants_of_a_word_are_one():
    top = {
        "Yes": 0.3,
        " yes": 0.1,
        "YES": 0.05,
        "\u2581Yes": 0.01,
        "\u0120no": 0.02,
        "NO": 0.1,
        "not": 0.2,
        "yesterday": 0.1,
    }
    yes, no = yes_and_no([(token, math.log(p)) for token, p in top.items()])
    assert (yes, no) == (pytest.approx(0.46), pytest.approx(0.12))
    assert yes_and_no([]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "words", "kept"),
    [
        ("a  b\nc d", 3, "a  b\nc"), ("a b", 2, "a b"), ("a b ", 2, "a b "), ("a b", None, "a b"), ("", 1, ""),
        ("\u6771\u4eac\u306b\u884c", 2, "\u6771\u4eac"), ("ab\u6771 c", 2, "ab\u6771"),
    ],
)  # fmt: skip
def test_cutting(text, words, kept):
    assert first_words(text, words) == kept


# --- pointwise -------------------------------------------------------------------------------------

CANDIDATES = {"t": ["a", "b", "c", "d"]}
QUERIES = {"t": "what {document}?"}
TEXTS = {name: f"text {name} {{query}}" for name in "abcd"}


def by_name(table):
    """Replies by the name of the document in the prompt."""
    return lambda prompt: table[re.search(r"text (\w+)", prompt).group(1)]


def test_pointwise_ranks_by_the_share_of_yes():
    table = {
        "a": with_logprobs({"No": 0.6, "Yes": 0.2, " no": 0.1}),
        "b": with_logprobs({"maybe": 0.9}, "maybe"),
        "c": with_logprobs({"Yes": 0.5, " yes": 0.2, "no": 0.1}),
        "d": with_logprobs({"no": 1.0}, "no"),
    }
    with serving(by_name(table)) as server:
        made = pointwise(CANDIDATES, QUERIES, TEXTS, chat_of(server))
    scores = {record["docid"]: record["score"] for record in made.records}
    assert scores == {"a": pytest.approx(0.2 / 0.9), "b": 0, "c": pytest.approx(0.7 / 0.8), "d": 0}
    # A score of 0 is a score: what failed comes after it.
    assert made.rankings == {"t": ["c", "a", "d", "b"]}
    assert made.notes == (
        "1 of 4 documents have no score, and come last (mostly: neither yes nor no among the likeliest first tokens)",
    )
    assert [record["reason"] != "" for record in made.records] == [False, True, False, False]
    # Braces in texts are left alone.
    assert any("what {document}?" in prompt and "text a {query}" in prompt for prompt in server.prompts)


def test_saturated_scores_keep_the_order_and_warn():
    with serving(lambda _: with_logprobs({"Yes": 1.0})) as server:
        made = pointwise(CANDIDATES, QUERIES, TEXTS, chat_of(server))
    assert made.rankings == CANDIDATES
    [note] = made.notes
    assert note.startswith("1 of 1 topics have ties in the top 10 (saturated scores)")


def test_ties_below_the_top_are_none():
    candidates = {"t": [f"d{n}" for n in range(12)]}
    texts = {f"d{n}": f"text d{n}" for n in range(12)}
    table = {f"d{n}": with_logprobs({"Yes": max(0.9 - 0.08 * n, 0.1), "No": 0.1}) for n in range(12)}
    with serving(by_name(table)) as server:
        assert pointwise(candidates, QUERIES, texts, chat_of(server)).notes == ()


@pytest.mark.parametrize("number", [4, 40])
def test_no_logprobs_is_an_error_that_says_so(number, tmp_path):
    candidates = {"t": [f"d{n}" for n in range(number)]}
    texts = {f"d{n}": f"text d{n}" for n in range(number)}
    cache = Cache(str(tmp_path / "c"))
    with serving(lambda _: with_logprobs(None)) as server:
        with pytest.raises(JudgeError, match="the server gives no logprobs"):
            pointwise(candidates, QUERIES, texts, chat_of(server, cache, concurrency=2))
        assert len(server.prompts) <= 4 + 5
    # Nothing of it is kept: the server may be set to give them.
    assert list(cache.export()) == []


def test_a_server_that_refuses_logprobs_is_an_error_too(tmp_path):
    cache = Cache(str(tmp_path / "c"))
    error = {"status": 400, "error": "Requested sample logprobs of 20, which is greater than max allowed: 5"}
    with (
        serving(lambda _: error) as server,
        pytest.raises(JudgeError, match=r"gives no logprobs: .*greater than max allowed"),
    ):
        pointwise(CANDIDATES, QUERIES, TEXTS, chat_of(server, cache))
    assert list(cache.export()) == []


def test_a_bad_reply_never_ends_it():
    table = {
        "a": {"status": 400, "error": "context_length_exceeded"},
        "b": with_logprobs({"Yes": 0.2, "No": 0.8}),
        "c": with_logprobs(None),
        "d": with_logprobs({"Yes": 0.9}),
    }
    with serving(by_name(table)) as server:
        made = pointwise(CANDIDATES, QUERIES, TEXTS, chat_of(server))
    assert made.rankings == {"t": ["d", "b", "a", "c"]}
    reasons = {record["docid"]: record["reason"] for record in made.records}
    assert "context_length_exceeded" in reasons["a"]
    assert reasons["c"] == "no logprobs"


# --- listwise --------------------------------------------------------------------------------------


def test_listwise_brings_the_best_to_the_top():
    candidates, queries, texts = shuffled(3, 45)
    shown = []
    with serving(lambda prompt: {**perfect_order(prompt), "delay": 0.01}) as server:
        made = listwise(candidates, queries, texts, chat_of(server), show=lambda *counts: shown.append(counts))
        assert len(server.prompts) == 3 * len(windows_of(45, 20, 10)) == 12
        assert server.most == 3
    for topic, ranking in made.rankings.items():
        assert [worth(texts[document]) for document in ranking[:10]] == list(range(44, 34, -1))
        assert sorted(ranking) == sorted(candidates[topic])
    assert made.notes == ()
    assert shown == [(3, 12), (6, 12), (9, 12), (12, 12)]
    assert [record["topic"] for record in made.records] == ["t0"] * 4 + ["t1"] * 4 + ["t2"] * 4


def test_a_window_without_an_order_keeps_it():
    candidates, queries, texts = shuffled(1, 30)
    replies = iter([{"content": "I cannot."}, {"content": "[20] > [99] > [20] > [2]"}])
    with serving(lambda _: next(replies)) as server:
        made = listwise(candidates, queries, texts, chat_of(server))
    documents = candidates["t0"]
    assert made.rankings["t0"] == [
        documents[19], documents[1], documents[0], *documents[2:19], *documents[20:],
    ]  # fmt: skip
    assert made.notes == (
        "1 of 2 windows keep their order: no order in the reply (mostly: unparsed)",
        "1 of 2 replies leave documents out, which keep their order at the end",
    )
    assert [record["missing"] for record in made.records] == [20, 18]


def test_documents_are_cut_to_one_line():
    candidates = {"t": ["a", "b"]}
    texts = {"a": "one two\n[2] three four", "b": "five"}
    with serving(lambda _: {"content": "[2] > [1]"}) as server:
        made = listwise(candidates, QUERIES, texts, chat_of(server), words=3)
    assert "\n[1] one two [2]\n[2] five\n" in server.prompts[0]
    assert "all 2 documents" in server.prompts[0]
    assert made.rankings == {"t": ["b", "a"]}
    assert made.notes == ("1 of 2 documents are cut to 3 words",)


# --- setwise ---------------------------------------------------------------------------------------


def test_setwise_finds_the_true_top():
    candidates, queries, texts = shuffled(3, 100, seed=3)
    with serving(perfect_choice) as server:
        made = setwise(candidates, queries, texts, chat_of(server))
        assert len(server.prompts) == len(made.records) <= 3 * most_comparisons(100, 5, 10)
    for topic, ranking in made.rankings.items():
        assert [worth(texts[document]) for document in ranking[:10]] == list(range(99, 89, -1))
        rest = [document for document in candidates[topic] if worth(texts[document]) < 90]
        assert ranking[10:] == rest
    assert made.notes == ()
    assert max(len(listed_worths(prompt)) for prompt in server.prompts) == 6


def test_setwise_without_a_choice_the_parent_stays():
    candidates, queries, texts = shuffled(1, 4)
    shown = []
    with serving(lambda _: {"content": "A, B and C alike"}) as server:
        made = setwise(candidates, queries, texts, chat_of(server), top=1, show=lambda *counts: shown.append(counts))
    assert made.rankings == candidates
    assert made.notes == ("in 1 of 1 comparisons the parent stays: no choice in the reply (mostly: unparsed)",)
    assert shown[-1] == (1, 1)


# --- rubric ----------------------------------------------------------------------------------------


def test_rubric_ties_keep_the_order_of_the_first_stage():
    grades = {"a": "2", "b": "4", "c": "a lot", "d": "4"}
    shown = []
    with serving(lambda prompt: {"content": grades[re.search(r"text (\w) \{", prompt).group(1)]}) as server:
        made = rubric(CANDIDATES, QUERIES, TEXTS, chat_of(server), show=lambda *counts: shown.append(counts))
    assert made.rankings == {"t": ["b", "d", "a", "c"]}
    assert len(server.prompts) == 3 + 3
    assert made.notes == (
        "1 of 4 documents have no grade, and come last (mostly: unparsed)",
        "1 of 1 topics have ties in the top 10 (equal grades): they keep the order of the first stage",
    )
    assert {record["docid"]: record["grade"] for record in made.records} == {"a": 2, "b": 4, "c": None, "d": 4}
    assert shown[-1] == (4, 4)


# --- what all share --------------------------------------------------------------------------------


class Stub:
    """A chat without a server: replies from a source of chance."""

    def __init__(self, reply):
        self.settings = Settings("m", base_url="http://host/v1")
        self._reply = reply

    def ask_all(self, requests):
        for index in reversed(range(len(requests))):
            yield index, self._reply()


_REPLIES = st.one_of(
    st.text(alphabet="[]>,.0123456789ABCDEFGyesno \n", max_size=40).map(lambda text: Reply(text, "stop")),
    st.just(Reply("", "length", "empty reply (length)")),
    st.just(Reply("", "error", "HTTP 400: too long")),
    st.lists(st.tuples(st.sampled_from(["yes", " No", "x"]), st.floats(-50, 0)), max_size=3).map(
        lambda top: Reply("yes", "stop", "", tuple(top))
    ),
)


@pytest.mark.parametrize("by", STRATEGIES)
@given(data=st.data())
def test_every_ranking_is_a_permutation(by, data):
    sizes = data.draw(st.lists(st.integers(1, 24), min_size=1, max_size=3))
    candidates = {f"t{n}": [f"t{n}d{m}" for m in range(size)] for n, size in enumerate(sizes)}
    texts = {document: document for documents in candidates.values() for document in documents[::2]}
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    pool = data.draw(st.lists(_REPLIES, min_size=1, max_size=8))
    own = {"listwise": {"window": 6, "stride": 3}, "setwise": {"children": 3, "top": 4}}.get(by, {})
    try:
        made = rerank(by, candidates, dict.fromkeys(candidates, "q"), texts, Stub(lambda: chance.choice(pool)), **own)
    except JudgeError as error:
        assert by == "pointwise"
        assert "no logprobs" in str(error)
        return
    assert list(made.rankings) == list(candidates)
    for topic, ranking in made.rankings.items():
        assert sorted(ranking) == sorted(candidates[topic])
    if all(reply.reason for reply in pool):
        assert made.rankings == candidates or by == "setwise"


@pytest.mark.parametrize("by", STRATEGIES)
def test_impossible_questions(by):
    chat = Stub(lambda: Reply("", "stop"))
    with pytest.raises(DataError, match="1 of 2 topics have no query: u"):
        rerank(by, {"t": ["a"], "u": ["b"]}, {"t": "q", "u": " "}, {}, chat)
    with pytest.raises(ParameterError, match="words must be at least 1"):
        rerank(by, {"t": ["a"]}, {"t": "q"}, {}, chat, words=0)
    with pytest.raises(ParameterError, match="lacks"):
        rerank(by, {"t": ["a"]}, {"t": "q"}, {}, chat, prompt="nothing")


def test_impossible_parameters():
    chat = Stub(lambda: Reply("", "stop"))
    for own, what in (({"window": 1}, "window"), ({"stride": 0}, "stride"), ({"stride": 21}, "stride")):
        with pytest.raises(ParameterError, match=what):
            listwise(CANDIDATES, QUERIES, TEXTS, chat, **own)
    for own, what in (({"children": 0}, "children"), ({"children": 26}, "children"), ({"top": 0}, "top")):
        with pytest.raises(ParameterError, match=what):
            setwise(CANDIDATES, QUERIES, TEXTS, chat, **own)
    for call in (rerank, estimate):
        with pytest.raises(UnknownNameError, match="unknown reranker"):
            call("guess", CANDIDATES, QUERIES, TEXTS, chat)


@pytest.mark.parametrize(
    ("by", "answer"),
    [
        ("pointwise", graded),
        ("listwise", perfect_order),
        ("setwise", perfect_choice),
        ("rubric", lambda prompt: {"content": str(worth(prompt) % 6)}),
    ],
)
def test_an_end_half_way_and_nothing_is_asked_twice(by, answer, tmp_path):
    candidates, queries, texts = shuffled(2, 30)
    with serving(answer) as server:
        expected = rerank(by, candidates, queries, texts, chat_of(server))
        total = len(server.prompts)
    path, refuse = str(tmp_path / "cache"), [True]

    def sometimes(prompt):
        return {"status": 401} if refuse[0] and len(server.prompts) > total // 2 else answer(prompt)

    with serving(sometimes) as server:
        with pytest.raises(JudgeError, match="refuses"):
            rerank(by, candidates, queries, texts, chat_of(server, Cache(path), concurrency=1))
        answered = total // 2
        refuse[0] = False
        before = len(server.prompts)
        assert rerank(by, candidates, queries, texts, chat_of(server, Cache(path))) == expected
        assert len(server.prompts) - before == total - answered
        before = len(server.prompts)
        offline = rerank(by, candidates, queries, texts, chat_of(server, Cache(path), offline=True))
        assert (offline, len(server.prompts)) == (expected, before)


def test_equal_questions_are_one():
    candidates = {"t": ["a", "b", "c"]}
    with serving(lambda _: {"content": "3"}) as server:
        made = rubric(candidates, QUERIES, {"a": "x", "b": "x"}, chat_of(server))
    assert len(server.prompts) == 2
    assert made.notes[0] == "1 of 3 documents have no text, and count as empty: c"


def test_calls_at_a_time():
    candidates, queries, texts = shuffled(1, 40)
    with serving(lambda _: {**with_logprobs({"Yes": 0.5}), "delay": 0.02}) as server:
        pointwise(candidates, queries, texts, chat_of(server, concurrency=8))
    assert 2 <= server.most <= 8


@pytest.mark.parametrize("by", STRATEGIES)
def test_the_estimate_is_a_bound(by):
    candidates, queries, texts = shuffled(2, 35)
    del texts["t0d0"]
    answers = {
        "pointwise": lambda _: with_logprobs({"Yes": 0.5}),
        "listwise": perfect_order,
        "setwise": perfect_choice,
        "rubric": lambda _: {"content": "3"},
    }
    texts["t0d0"] = "worth 99 " + "long " * 400
    need, notes = estimate(by, candidates, queries, texts, Stub(None), words=50)
    with serving(answers[by]) as server:
        shown = []
        made = rerank(by, candidates, queries, texts, chat_of(server), words=50, show=lambda *now: shown.append(now))
    assert notes == made.notes[:1] == ("1 of 70 documents are cut to 50 words",)
    asked = len(server.prompts)
    assert shown[-1] == (need.calls, need.calls)
    assert need.calls == asked if by != "setwise" else asked <= need.calls
    assert sum(map(len, server.prompts)) // 4 <= need.tokens_in
    assert need.tokens_out == need.calls * (1 if by == "pointwise" else 64)


# --- the command -----------------------------------------------------------------------------------


@pytest.fixture
def generate(cli):
    """Run the command in process; (exit code, stderr)."""

    def run(*arguments):
        result = cli("generate", "rerank", *arguments)
        return result.code, result.err

    return run


@pytest.fixture
def inputs(write):
    """Files of two topics with 30 documents each; what is needed to name them."""
    candidates, queries, texts = shuffled(2, 30)
    run = "".join(
        f"{topic} Q0 {document} {n} {100 - n} bm25\n"
        for topic, documents in candidates.items()
        for n, document in enumerate(documents, start=1)
    )
    documents = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    topics = "".join(f"{topic}\t{text}\n" for topic, text in queries.items())
    return [
        "--run", write("first.run", run), "--queries", write("topics.tsv", topics), "--documents", write("docs.jsonl", documents),
    ]  # fmt: skip


def model(server):
    return ["--model", "m", "--base-url", server.url]


def test_a_run_comes_out(generate, inputs, tmp_path):
    out, trace = tmp_path / "out.run", tmp_path / "trace.jsonl"
    with serving(perfect_order) as server:
        code, err = generate("--by", "listwise", *inputs, *model(server), "-o", out, "--trace", trace, "--depth", "25")
    assert code == 0, err
    run = read_run(str(out))
    assert (run.name, len(run)) == ("bm25+listwise", 50)
    first = [line.split() for line in out.read_text().splitlines()[:2]]
    assert [(fields[3], float(fields[4])) for fields in first] == [("1", 1.0), ("2", 0.5)]
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [(record["topic"], len(record["docids"])) for record in records] == [("t0", 20)] * 2 + [("t1", 20)] * 2
    assert f"{out}: 50 documents of 2 topics, listwise; 4 calls" in err


@pytest.mark.parametrize("by", STRATEGIES)
def test_a_dry_run_asks_nobody(by, generate, inputs, tmp_path):
    out = tmp_path / "out.run"
    code, err = generate(
        "--by", by, *inputs, "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--dry-run", "-o", out
    )
    assert (code, out.exists()) == (0, False), err
    calls = {"pointwise": "60 calls", "listwise": "4 calls", "setwise": "at most ", "rubric": "60 calls"}
    assert f"dry run, nobody was asked; {calls[by]}" in err
    assert "tokens in" in err


def test_no_logprobs_exit_1(generate, inputs, tmp_path):
    with serving(lambda _: {"content": "yes"}) as server:
        code, err = generate("--by", "pointwise", *inputs, *model(server), "-o", tmp_path / "out.run")
    assert code == 1
    assert "the server gives no logprobs" in err
    assert not (tmp_path / "out.run").exists()


def test_what_the_command_refuses(generate, inputs, tmp_path, write):
    out = tmp_path / "out.run"
    nobody = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    base = ("--by", "setwise", *inputs, "-o", out)
    assert generate(*base) == (
        2,
        "nuggeteval: error: reranking asks a language model: --model NAME (and --base-url URL) names it\n",
    )
    cases = [
        (("--window", "5"), 2, "--window is for --by listwise"),
        (("--tag", "a b"), 2, "a tag must not"),
        (("--words", "0"), 2, "words must be at least 1"),
        (("--depth", "0"), 2, "depth must be at least 1"),
        (("--queries", write("q", "t0\tx\n")), 1, "1 of 2 topics have no query: t1"),
        (("--trace", tmp_path / "no" / "trace"), 1, "there is no such folder"),
        (("-o", inputs[1]), 2, "would overwrite an input"),
    ]
    for more, code, message in cases:
        found, err = generate(*base, *nobody, *more)
        assert (found, message in err) == (code, True), err
    assert not out.exists()


def test_documents_without_text_are_named(generate, inputs, tmp_path, write):
    some = write("some.jsonl", '{"id": "t0d1", "text": "worth 3"}\n')
    inputs = [*inputs[:-1], some]
    with serving(lambda _: {"content": "3"}) as server:
        _, err = generate("--by", "rubric", *inputs, *model(server), "-o", tmp_path / "o")
        quiet = generate("--by", "rubric", *inputs, *model(server), "-o", tmp_path / "o", "--quiet")
    assert "warning: 59 of 60 documents have no text, and count as empty: t0d0, t0d2, " in err
    assert "warning: 2 of 2 topics have ties in the top 10" in err
    assert quiet == (0, "")


def test_a_prompt_of_ones_own(generate, inputs, tmp_path, write):
    prompt = write("p", "{query}: {documents} {number} {other}")
    with serving(lambda _: {"content": "[2] > [1]"}) as server:
        code, _ = generate("--by", "listwise", *inputs, *model(server), "--prompt", prompt, "-o", tmp_path / "o")
    assert code == 0
    assert all(text.startswith("request t") and text.endswith(" 20 {other}") for text in server.prompts)


@pytest.mark.parametrize(
    ("by", "answer", "more", "batches"),
    [
        ("pointwise", graded, [], 1),
        ("listwise", perfect_order, [], 2),
        ("setwise", perfect_choice, ["--top", "2", "--depth", "9"], 5),
        ("rubric", lambda prompt: {"content": str(worth(prompt) % 7)}, [], 3),
    ],
)
def test_batches_out_and_in(by, answer, more, batches, generate, inputs, tmp_path):
    """Every batch brings each topic as far as it goes; in the end the run is that of a server."""
    base = ["--by", by, *inputs, *more, "--model-id", "id"]
    with serving(answer) as server:
        assert generate(*base, *model(server), "-o", tmp_path / "expected")[0] == 0
    base += ["--model", "m", "--cache", tmp_path / "cache", "-o", tmp_path / "out"]
    back, rounds = [], 0
    while not (tmp_path / "out").exists():
        batch = tmp_path / f"batch{rounds}"
        code, err = generate(*base, *back, "--batch-out", batch)
        assert code == 0, err
        if batch.exists():
            assert "questions are in" in err
            done = tmp_path / f"done{rounds}"
            lines = [json.loads(line) for line in batch.read_text().splitlines()]
            done.write_text("".join(json.dumps(result_of(line, answer)) + "\n" for line in lines))
            back = ["--batch-in", done]
            rounds += 1
    assert rounds == batches
    assert (tmp_path / "out").read_text() == (tmp_path / "expected").read_text()


def result_of(line, answer):
    """The result of a question of a batch."""
    reply = answer(line["body"]["messages"][-1]["content"])
    body = json.loads(reply["raw"]) if "raw" in reply else {"choices": [{"message": reply, "finish_reason": "stop"}]}
    return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}


@pytest.mark.parametrize(("by", "answer"), [("listwise", perfect_order), ("setwise", perfect_choice)])
def test_killed_and_resumed(by, answer, inputs, tmp_path):
    """SIGKILL while a call is under way: at most that call is repeated, and the run is the same."""
    out = tmp_path / "out.run"
    with serving(lambda prompt: {**answer(prompt), "delay": 0.01}) as server:
        program = [sys.executable, "-m", "nuggeteval", "generate", "rerank", "--by", by, *inputs, *model(server)]
        program += ["--quiet", "--concurrency", "1"]
        program += ["--top", "3"] if by == "setwise" else []
        subprocess.run([*program, "-o", str(tmp_path / "whole.run")], check=True, timeout=60)
        total = len(server.prompts)
        program += ["--cache", str(tmp_path / "cache"), "-o", str(out)]
        process = subprocess.Popen(program)
        while len(server.prompts) < total + total // 2 and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not out.exists()
        subprocess.run(program, check=True, timeout=60)
        assert total <= len(server.prompts) - total <= total + 1
    assert out.read_text() == (tmp_path / "whole.run").read_text()


def test_the_help_has_examples():
    parser = argparse.ArgumentParser(prog="nuggeteval generate rerank")
    command.add_arguments(parser)
    examples = re.findall(r"(?ms)^  nuggeteval generate rerank (.*?-o \S+)$", parser.epilog)
    assert len(examples) == 3
    for example in examples:
        parser.parse_args(example.replace("\\\n", " ").split())
    parser.format_help()
    assert module.WORDS.keys() == set(STRATEGIES)
    assert issubclass(JudgeError, NuggetEvalError)
