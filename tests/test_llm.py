"""Language models as judges, against a real HTTP server on loopback, through the real openai client."""

import gc
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chatserver import scripted, serving
from conftest import SHARED
from test_cases import CASES

from nuggeteval import JudgeError, ParameterError
from nuggeteval.cache import Cache
from nuggeteval.chat import Chat, Ledger, Request, Settings
from nuggeteval.data import Judgment, Scale
from nuggeteval.formats.judgments import as_judgment_line, as_nugget_qrels, open_judgments, read_judgments
from nuggeteval.judges import Item, make
from nuggeteval.replies import clean, parse_labels, parse_rating, parse_yes_no

# --- replies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("yes", 1), ("Yes.", 1), ("**YES**", 1), (' "yes"\n', 1), ("No, it does not.", 0), ("\u201cNo\u201d", 0), ("`no`", 0),
        ("One could say yes at first sight, but the year is missing.\nAnswer: no", 0),
        ("The response does not say no to lanes; it is silent.\nFinal answer: no", 0),
        ("Not everything is there, but the colour is.\nAnswer: Yes", 1),
        ("Answer: yes. On second thoughts,\n**Final answer:** no", 0),
        ("<think>Is it yes? The year is there, yes.</think>\nno", 0), ("maybe yes, maybe not</think>\n\nno", 0),
        ("<think>\nhm, no?\n</think>\nYes", 1), ("<think>yes, but I never finish", None),
        ('```json\n{"answer": "yes"}\n```', 1), ('Here is the verdict: {"answer": "no"}', 0), ('{"answer": True}', 1),
        ('{"supported": false}', 0), ("maybe", None), ("I'm sorry, but I can't help with that.", None), ("", None),
        ("nothing", None), ("yesterday", None), ("It is not a yes", None),
    ],
)  # fmt: skip
def test_yes_and_no(reply, verdict):
    assert parse_yes_no(reply) == verdict


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("5", 5), (" 4\n", 4), ("Rating: 4", 4), ("4/5", 4), ("**Rating:** 3", 3), ("Score is 2", 2), ("Grade: 4/5", 4), ("0.", 0),
        ('{"rating": 3}', 3), ("<think>2 or 3</think>\n5", 5), ("10", None), ("6", None), ("Rating: 9", None), ("Rating: 10", None),
        ("3.5", None), ("Rating: 3.5", None), ("It has 3 facts", None), ("I would give it five", None), ("", None), ("-1", None),
        ('{"rating": 7}', None), ("Rating: 2. No, rating: 4", 4),
    ],
)  # fmt: skip
def test_ratings_are_never_any_digit_of_a_text(reply, grade):
    assert parse_rating(reply) == grade


@pytest.mark.parametrize(
    ("reply", "grades"),
    [
        ('{"1": "support", "2": "not_support", "3": "partial_support"}', {0: 2, 1: 0, 2: 1}),
        ('```json\n{"1": "Support", "3": "partial support"}\n```', {0: 2, 2: 1}),
        ('["support", "not_support", "partial_support"]', {0: 2, 1: 0, 2: 1}),
        ('["support", "not_support"]', {}),  # LJ19: nobody knows which label is whose
        ('["support", "not_support", "support", "support"]', {}),
        ('{"labels": "support"}', {}),
        ('{"1": "maybe", "9": "support"}', {}),
        ("no list", {}),
    ],
)
def test_lists_of_labels(reply, grades):
    assert parse_labels(reply, 3) == grades


def test_cleaning():
    assert clean("<reasoning>a\nb</reasoning> ```json\nx\n```") == "x"


# --- the door --------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def impatient(monkeypatch):
    """No waiting of our own choice between tries."""
    monkeypatch.setattr("nuggeteval.chat._backoff", lambda _: 0.01)


def ask(server, texts, cache=None, **settings):
    chat = Chat(Settings("m", base_url=server.url, **settings), cache or Cache(None))
    requests = [Request((("user", text),)) for text in texts]
    return chat, dict(chat.ask_all(requests))


def always(content):
    return lambda _: {"content": content}


def test_a_question_is_asked_as_set():
    with serving(always("yes")) as server:
        chat, replies = ask(server, ["q"], temperature=0.5, seed=7, max_tokens=9)
    assert replies[0].text == "yes"
    body = server.bodies[0]
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("m", 0.5, 7, 9)
    assert body["messages"] == [{"role": "user", "content": "q"}]
    assert str(chat.ledger) == "1 calls, 0 cached, 10 tokens in, 2 out"


def test_the_limit_of_calls_at_a_time_holds():
    with serving(lambda _: {"content": "yes", "delay": 0.02}) as server:
        _, replies = ask(server, [f"q{n}" for n in range(200)], concurrency=16)
    assert len(replies) == 200
    assert 2 <= server.most <= 16


def test_calls_are_paced_by_the_minute():
    with serving(always("yes")) as server:
        ask(server, [f"q{n}" for n in range(6)], rpm=60 * 20, concurrency=6)
    gaps = [b - a for a, b in zip(server.starts, server.starts[1:], strict=False)]
    assert sum(gaps) >= 5 * 0.05 * 0.8


def test_errors_of_the_server_are_tried_again(impatient):
    replies = [{"status": 500}, {"status": 429, "retry_after": 0.2}, {"raw": b"<html>"}, {"content": "yes"}]
    with serving(scripted({"q": replies})) as server:
        chat, found = ask(server, ["q"])
    assert found[0].text == "yes"
    assert chat.ledger.calls == 4
    assert server.starts[2] - server.starts[1] >= 0.2


def test_what_does_not_get_better_is_a_reason(impatient):
    script = {
        "a": [{"status": 503}],
        "b": [{"status": 400, "error": "context_length_exceeded"}],
        "c": [{"content": None, "finish_reason": "length"}],
        "d": [{"raw": b'{"choices": []}'}],
    }
    with serving(scripted(script)) as server:
        _, found = ask(server, list(script), retries=1)
    assert [found[n].reason.split(":")[0] for n in range(4)] == [
        "HTTP 503",
        "HTTP 400",
        "empty reply (length)",
        "malformed response",
    ]
    assert "context_length_exceeded" in found[1].reason
    assert sum(prompt == "b" for prompt in server.prompts) == 1
    assert sum(prompt == "a" for prompt in server.prompts) == 2


def test_a_body_cut_short_is_the_end_of_the_connection(impatient):
    with (
        serving(lambda _: {"content": "yes", "missing": 50}) as server,
        pytest.raises(JudgeError, match="cannot be reached"),
    ):
        ask(server, ["q"], retries=1)


def test_time_outs(impatient):
    with serving(lambda _: {"content": "yes", "delay": 0.5}) as server:
        _, found = ask(server, ["q"], timeout=0.1, retries=1)
    assert found[0].reason == "time-out"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_ends_it(status):
    with serving(lambda _: {"status": status, "error": "wrong"}) as server, pytest.raises(JudgeError, match="refuses"):
        ask(server, ["q"])
    assert len(server.prompts) == 1


def test_no_server(impatient):
    with serving(always("yes")) as server:
        pass
    with pytest.raises(JudgeError, match="cannot be reached"):
        ask(server, ["q"], retries=1)


def test_no_key_is_said_before_any_call():
    with pytest.raises(JudgeError, match="OPENAI_API_KEY is not set"):
        list(Chat(Settings("gpt-4o")).ask_all([Request((("user", "q"),))]))


def test_no_key_leaves_the_process(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(always("yes")) as server:
        ask(server, ["q"], Cache(str(tmp_path / "cache")))
    assert all(b"sk-secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_the_cache_answers_without_a_connection(tmp_path):
    path = str(tmp_path / "cache")
    with serving(always("yes")) as server:
        ask(server, ["a", "b"], Cache(path))
        chat, again = ask(server, ["a", "b"], Cache(path))
        assert len(server.prompts) == 2
        assert (chat.ledger.calls, chat.ledger.hits) == (0, 2)
    _, offline = ask(server, ["a", "b"], Cache(path), offline=True)
    assert offline == again
    with pytest.raises(JudgeError, match="1 replies are not in the cache"):
        ask(server, ["a", "c"], Cache(path), offline=True)


def test_what_the_key_depends_on():
    base = Settings("m", base_url="http://host/v1")
    request = Request((("user", "q"),))
    key = Chat(base).key(request)
    from dataclasses import replace

    for change in (
        {"model": "n"},
        {"base_url": "http://other/v1"},
        {"temperature": 0.1},
        {"max_tokens": 1},
        {"seed": 1},
    ):
        assert Chat(replace(base, **change)).key(request) != key, change
    for other in (request._replace(vote=1), request._replace(attempt=1), Request((("system", "q"),))):
        assert Chat(base).key(other) != key
    assert Chat(replace(base, concurrency=1, rpm=3, budget=9)).key(request) == key
    shared = [Chat(replace(base, base_url=url, model_id="id")).key(request) for url in ("http://a/v1", "http://b/v1")]
    assert shared[0] == shared[1]


def test_a_cache_can_be_published(tmp_path):
    with serving(always("yes")) as server:
        cache = Cache(str(tmp_path / "one"))
        ask(server, ["a"], cache)
    other = Cache(str(tmp_path / "two"))
    other.load([json.loads(line) for line in cache.export()])
    _, found = ask(server, ["a"], other, offline=True)
    assert found[0].text == "yes"
    cache.close()
    (tmp_path / "bad").write_bytes(b"no database, but long enough to be one" * 50)
    with pytest.raises(JudgeError, match="is no cache of replies"):
        Cache(str(tmp_path / "bad"))


def test_a_budget_is_never_exceeded():
    with serving(always("yes")) as server, pytest.raises(JudgeError, match="the budget of 100 could be exceeded"):
        ask(server, [f"q{n}" for n in range(50)], budget=100, max_tokens=10, concurrency=4)
    assert 1 <= len(server.prompts) <= 100 // 12


def test_money():
    assert Ledger(tokens_in=1_000_000, tokens_out=500_000, prices=(2.0, 8.0)).spent == 6.0
    assert "cost 6.0000" in str(Ledger(tokens_in=1_000_000, tokens_out=500_000, prices=(2.0, 8.0)))


# --- the judges ------------------------------------------------------------------------------------


def judge(server, name, items, votes=1, prompt=None, cache=None, **settings):
    chat = Chat(Settings("m", base_url=server.url, **settings), cache or Cache(None))
    made = make(name, "responses", [], chat=chat, votes=votes, prompt=prompt)
    return made, list(made(items))


def test_support_asks_again_for_what_a_reply_leaves_out():
    items = [Item("text", f"nugget {n}") for n in range(12)]
    replies = iter([{"1": "support", "2": "not_support"}, {"1": "partial_support", "2": "support"}])

    def answer(prompt):
        number = prompt.count("nugget ")
        if number == 10:
            return {"content": json.dumps(next(replies))}
        return {"content": json.dumps({str(n): "support" for n in range(1, number + 1)})}

    with serving(answer) as server:
        _, verdicts = judge(server, "support", items, concurrency=1)
    grades = {index: verdict.grade for index, verdict in verdicts}
    assert len(grades) == 12
    assert (grades[0], grades[1], grades[2], grades[11]) == (2, 0, 2, 2)
    assert [prompt.count("nugget ") for prompt in server.prompts] == [10, 2, 8]


def test_a_rubric_grade_has_its_scale():
    with serving(always("Rating: 4")) as server:
        made, verdicts = judge(server, "rubric", [Item("text", "question")])
    assert verdicts[0][1].grade == 4
    assert made.scale == (5, 3)
    assert made.params["model"] == "m"


def test_texts_are_put_into_the_prompt_as_they_are():
    with serving(always("yes")) as server:
        judge(server, "yesno", [Item("a {nugget} in {braces} \0", "the {unit}")])
        judge(server, "yesno", [Item("u", "n")], prompt="{unit}|{nugget}|{unit}")
        judge(server, "support", [Item("{nuggets}", "n {unit}")], prompt="{unit}|{nuggets}|{{}}")
    assert "a {nugget} in {braces}" in server.prompts[0]
    assert "the {unit}" in server.prompts[0]
    assert server.prompts[1] == "u|n|u"
    assert server.prompts[2].startswith("{nuggets}|1. n {unit}|{}")


def test_impossible_judges():
    with pytest.raises(ParameterError, match="--model NAME"):
        make("yesno", "responses", [])
    chat = Chat(Settings("m", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ParameterError, match="has no threshold"):
        make("yesno", "responses", [], 0.5, chat)
    with pytest.raises(ParameterError, match="votes must be at least 1"):
        make("yesno", "responses", [], chat=chat, votes=0)
    with pytest.raises(ParameterError, match=r"lacks \{nugget\}"):
        make("yesno", "responses", [], chat=chat, prompt="{unit}")
    with pytest.raises(ParameterError, match="votes are for language models"):
        make("lexical", "responses", ["x"], votes=3)


# --- public bug reports ----------------------------------------------------------------------------


@pytest.fixture
def case(shared, tmp_path, cli, impatient):
    """Judge and score a case with scripted replies; (result of scoring, result of judging, server)."""

    def run(case_id, script="judge_script.jsonl", *options, out="j.jsonl", measures="Recall_NtR,num_failed"):
        files = CASES[case_id]["files"]
        for name in ("gold.jsonl", "answers.jsonl"):
            (tmp_path / name).write_text(files[name])
        texts = {record["nugget_id"]: record["text"] for record in map(json.loads, files["gold.jsonl"].splitlines())}
        replies = {
            texts[record["nugget_id"]]: record["replies"] for record in map(json.loads, files[script].splitlines())
        }
        arguments = (tmp_path / "gold.jsonl", tmp_path / "answers.jsonl", "-o", tmp_path / out)
        with serving(scripted(replies)) as server:
            judged = cli(
                "judge",
                *arguments,
                "--judge",
                "yesno",
                "--model",
                "m",
                "--base-url",
                server.url,
                "--model-id",
                "s",
                *options,
            )
        assert judged.code == 0, judged.err
        scored = cli(
            "score",
            "--judgments",
            tmp_path / out,
            "--bank",
            tmp_path / "gold.jsonl",
            "-m",
            measures,
            tmp_path / "answers.jsonl",
        )
        values = {line.split("\t")[0].strip(): float(line.split("\t")[2]) for line in scored.out.splitlines()}
        return values, judged, server

    return run


def judgments_of(tmp_path, out="j.jsonl"):
    return {j.nugget: j for j, _ in read_judgments(str(tmp_path / out))}


@pytest.mark.parametrize(
    ("case_id", "recall", "failed", "calls"),
    [("LJ01", 1, 0, 3), ("LJ03", 1 / 3, 0, 3), ("LJ04", 1 / 3, 0, 3), ("LJ08", 2 / 3, 0, 5), ("LJ10", 2 / 3, 0, 3)],
)
def test_replies_of_the_cases(case_id, recall, failed, calls, case):
    values, _, server = case(case_id)
    assert values == {"Recall_NtR": pytest.approx(recall, abs=5e-5), "num_failed": failed}
    assert len(server.prompts) == calls


def test_LJ06_a_refusal_is_no_no(case, tmp_path):
    values, judged, server = case("LJ06")
    assert values["num_failed"] == 1
    assert judgments_of(tmp_path)["n1"].reason == "refusal"
    assert len(server.prompts) == 3
    assert "1 failed" in judged.err


def test_LJ07_empty_replies_keep_their_finish_reason(case, tmp_path):
    values, _, _ = case("LJ07")
    found = judgments_of(tmp_path)
    assert ["length" in found["n1"].reason, "content_filter" in found["n2"].reason, found["n3"].grade] == [
        True,
        True,
        1,
    ]
    assert values["num_failed"] == 2


def test_LJ12_a_judge_that_never_decides_is_asked_three_times(case, tmp_path):
    values, _, server = case("LJ12")
    assert len(server.prompts) == 9
    assert values == {"Recall_NtR": 0, "num_failed": 3}
    assert {j.reason for j in judgments_of(tmp_path).values()} == {"unparsed"}


def test_LJ12_what_it_takes_is_known_before(case, tmp_path, cli):
    case("LJ12")
    arguments = (
        tmp_path / "gold.jsonl",
        tmp_path / "answers.jsonl",
        "--judge",
        "yesno",
        "--model",
        "m",
        "-o",
        tmp_path / "dry",
    )
    result = cli("judge", *arguments, "--dry-run")
    assert result.code == 0
    assert "3 calls, about" in result.err
    assert not (tmp_path / "dry").exists()


def test_LJ14_another_model_is_asked_anew(case, tmp_path):
    cache = ("--cache", tmp_path / "cache.db")
    values, _, _ = case("LJ14", "judge_script.jsonl", *cache, "--model", "A", out="a.jsonl")
    other, _, _ = case("LJ14", "judge_script_model_B.jsonl", *cache, "--model", "B", out="b.jsonl")
    assert (values["Recall_NtR"], other["Recall_NtR"]) == (1.0, 0.0)
    assert judgments_of(tmp_path, "b.jsonl")["n1"].params["model"] == "B"


def test_LJ16_the_cache_makes_no_calls_and_votes_are_seen(case, tmp_path):
    cache = ("--cache", tmp_path / "cache.db")
    first, _, _ = case("LJ16", "judge_script.jsonl", *cache, out="a.jsonl")
    second, _, server = case("LJ16", "judge_script.jsonl", *cache, out="b.jsonl")
    assert first == second
    assert server.prompts == []
    third, _, server = case("LJ16", "judge_script.jsonl", "--votes", "3", out="c.jsonl")
    assert third["Recall_NtR"] == pytest.approx(2 / 3, abs=5e-5)
    votes = [j.grade for j, _ in read_judgments(str(tmp_path / "c.jsonl")) if j.nugget == "n1"]
    assert votes == [1, 0, 1]
    params = judgments_of(tmp_path, "c.jsonl")["n1"].params
    assert (params["temperature"], params["seed"], params["model"], params["votes"]) == (0.0, 42, "m", 3)


def test_LJ21_a_context_that_is_too_long_is_not_asked_again(case, tmp_path):
    values, _, server = case("LJ21")
    assert len(server.prompts) == 3
    assert "context_length_exceeded" in judgments_of(tmp_path)["n1"].reason
    assert values["num_failed"] == 1


def test_LJ22_no_key(cli, write, shared):
    files = CASES["LJ22"]["files"]
    gold, answers = write("gold.jsonl", files["gold.jsonl"]), write("answers.jsonl", files["answers.jsonl"])
    result = cli("judge", gold, answers, "--judge", "yesno", "--model", "gpt-4o", "-o", write("x/j", "") + ".jsonl")
    assert result.code == 1
    assert "OPENAI_API_KEY" in result.err


def test_the_shared_cases_are_there(shared):
    listed = {case["id"] for case in CASES.values() if case["area"] == "LLM judging"}
    assert listed == {f"LJ{n:02d}" for n in (1, 3, 4, 6, 7, 8, 10, 12, 14, 16, 19, 21, 22)}
    assert SHARED.is_dir()


# --- resumption ------------------------------------------------------------------------------------


def test_killed_at_20_moments_nothing_written_is_asked_again(tmp_path, write):
    """SIGKILL while 4 calls are under way: what is written stays, and at most those 4 are repeated."""
    bank = write(
        "bank.jsonl",
        json.dumps({"topic": "t", "nuggets": [{"id": f"g{n}", "text": f"nugget number {n}."} for n in range(100)]}),
    )
    answers = write("answers.jsonl", '{"run": "A", "topic": "t", "text": "x"}')
    out = tmp_path / "j.jsonl"
    with serving(lambda _: {"content": "yes", "delay": 0.02}) as server:
        command = [
            sys.executable, "-m", "nuggeteval", "judge", bank, answers, "--judge", "yesno", "--model", "m",
            "--base-url", server.url, "--concurrency", "4", "--quiet", "-o", str(out),
        ]  # fmt: skip
        kills = 0
        while kills < 20:
            before = len(server.prompts)
            process = subprocess.Popen(command)
            while len(server.prompts) < min(before + 3 + kills % 3, 100) and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        subprocess.run(command, check=True, timeout=60)
        asked = len(server.prompts)
    open_judgments(str(out))
    keys = [judgment.key for judgment, _ in read_judgments(str(out))]
    assert len(keys) == len(set(keys)) == 100
    assert asked <= 100 + 20 * 4


# --- batches ---------------------------------------------------------------------------------------


def test_a_batch_out_and_in(cli, write, tmp_path, monkeypatch):
    """What goes into the batch and comes back gives the verdicts that the server would have given."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bank = write("b", '{"id": "t", "nuggets": [{"nugget_id": "1", "text": "one"}, {"nugget_id": "2", "text": "two"}]}')
    answers = write("a", '{"run": "A", "topic": "t", "text": "one"}')
    out, cache, batch = tmp_path / "j", tmp_path / "cache", tmp_path / "batch"
    base = ("judge", bank, answers, "--judge", "yesno", "--model", "m", "--votes", "2", "--cache", cache, "-o", out)
    first = cli(*base, "--batch-out", batch)
    assert first.code == 0, first.err
    assert "4 questions are in" in first.err
    assert not out.exists() or not out.read_text()
    lines = [json.loads(line) for line in batch.read_text().splitlines()]
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert sorted(line["body"]["seed"] for line in lines) == [42, 42, 43, 43]
    assert len({line["custom_id"] for line in lines}) == 4
    assert all(len(line["custom_id"]) <= 64 for line in lines)

    def result(line, content, status=200):
        body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        return {"custom_id": line["custom_id"], "response": {"status_code": status, "body": body}, "error": None}

    results = [result(line, "maybe") if number == 0 else result(line, "Yes") for number, line in enumerate(lines[:3])]
    results.append(result(lines[3], "Yes", 500))
    done = write("results", "".join(json.dumps(line) + "\n" for line in results))
    second = cli(*base, "--batch-in", done, "--batch-out", tmp_path / "next")
    assert "1 questions have no reply, and are asked again" in second.err
    # The reply without a verdict is asked again as another attempt, the failed one as it was.
    again = [json.loads(line) for line in (tmp_path / "next").read_text().splitlines()]
    assert len(again) == 2
    assert lines[3]["custom_id"] in {line["custom_id"] for line in again}
    assert len(read_judgments(str(out))) == 2
    rest = write("rest", "".join(json.dumps(result(line, "No")) + "\n" for line in again))
    third = cli(*base, "--batch-in", rest, "--offline")
    assert third.code == 0, third.err
    assert sorted((j.nugget, j.vote) for j, _ in read_judgments(str(out))) == [("1", 0), ("1", 1), ("2", 0), ("2", 1)]


def test_a_batch_needs_a_cache_and_results(cli, write, tmp_path):
    bank = write("b", '{"id": "t", "nuggets": [{"nugget_id": "1", "text": "one"}]}')
    answers = write("a", '{"run": "A", "topic": "t", "text": "one"}')
    base = (
        "judge",
        bank,
        answers,
        "--judge",
        "yesno",
        "--model",
        "m",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "-o",
        tmp_path / "j",
    )
    assert "--cache FILE" in cli(*base, "--batch-in", write("r", "{}")).err
    assert "has no custom_id" in cli(*base, "--cache", tmp_path / "c", "--batch-in", write("r", "{}")).err
    extracted = cli(
        "extract",
        answers,
        "--by",
        "llm",
        "--model",
        "m",
        "--cache",
        tmp_path / "d",
        "--batch-out",
        tmp_path / "e",
        "-o",
        tmp_path / "n",
    )
    assert (extracted.code, (tmp_path / "n").exists()) == (0, False)
    assert "1 questions are in" in extracted.err


def test_several_nuggets_in_a_call(tmp_path):
    """Five nuggets, three a call: the first reply leaves one out, which is asked again alone."""
    items = [Item("x", f"fact {number}") for number in range(5)]
    replies = {
        "1. fact 0": [{"content": '{"1": "yes", "2": "no"}'}],
        "1. fact 3": [{"content": '["no", "Yes"]'}],
        "1. fact 2": [{"content": '```json\\n{"1": true}\\n```'}],
    }
    with serving(scripted(replies)) as server:
        judge = make("yesno", "responses", [], chat=Chat(Settings("m", base_url=server.url)), per_call=3)
        grades = {index: verdict.grade for index, verdict in judge(items)}
    assert grades == {0: 1, 1: 0, 2: 1, 3: 0, 4: 1}
    assert len(server.bodies) == 3
    assert judge.params["per_call"] == 3
    one = make("yesno", "responses", [], chat=Chat(Settings("m", base_url=server.url)))
    assert one.params["prompt"] != judge.params["prompt"]
    with pytest.raises(ParameterError, match="one nugget at a time"):
        make("rubric", "responses", [], chat=Chat(Settings("m", base_url=server.url)), per_call=2)
    with pytest.raises(ParameterError, match="there are no calls"):
        make("lexical", "responses", ["x"], per_call=2)


def test_votes_that_differ_are_counted(tmp_path):
    lines = [
        as_judgment_line(Judgment("responses", "A", "t", "A", nugget, "yesno", None, grade, vote=vote), Scale(1))
        for nugget, grades in (("1", (1, 1, 0)), ("2", (0, 0, 0)))
        for vote, grade in enumerate(grades)
    ]
    path = tmp_path / "j"
    path.write_text("".join(lines))
    qrels = as_nugget_qrels(read_judgments(str(path)), "responses", "j")
    assert qrels.grade.tolist() == [1, 0]
    assert qrels.notes == ("j: votes on 1 of 2 pairs of responses differ; the majority counts",)


def test_what_a_batch_must_not_do(cli, write, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bank = write("b", '{"id": "t", "nuggets": [{"nugget_id": "1", "text": "one"}]}')
    answers = write("a", '{"run": "A", "topic": "t", "text": "x"}\n{"run": "B", "topic": "t", "text": "x"}')
    model = ("--model", "m", "--cache", tmp_path / "c")
    # Equal questions are one, in whatever view they are asked.
    assert (
        cli(
            "answers", bank, answers, "--judge", "yesno", *model, "--batch-out", tmp_path / "q", "-o", tmp_path / "o"
        ).code
        == 0
    )
    assert len((tmp_path / "q").read_text().splitlines()) == 1
    # SQLite writes its log into the file when a connection goes, whoever is next.
    gc.collect()
    for victim in (bank, answers, tmp_path / "c"):
        before = Path(victim).read_bytes()
        result = cli("judge", bank, answers, "--judge", "yesno", *model, "--batch-out", victim, "-o", tmp_path / "j")
        assert (result.code, "is no batch" in result.err) == (1, True)
        assert Path(victim).read_bytes() == before
    assert "there is no batch" in cli("judge", bank, answers, "--batch-out", tmp_path / "q", "-o", tmp_path / "j").err
    assert "--by llm" in cli("extract", answers, "--batch-out", tmp_path / "q", "-o", tmp_path / "n").err
    uncached = ("--judge", "yesno", "--model", "m", "--batch-out", tmp_path / "q")
    assert "--cache FILE" in cli("judge", bank, answers, *uncached, "-o", tmp_path / "j").err
    # No key is needed where the batch has every reply.
    [line] = map(json.loads, (tmp_path / "q").read_text().splitlines())
    body = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    done = write("r", json.dumps({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}))
    result = cli("judge", bank, answers, "--judge", "yesno", *model, "--batch-in", done, "-o", tmp_path / "j")
    assert result.code == 0, result.err
    assert [j.grade for j, _ in read_judgments(str(tmp_path / "j"))] == [1, 1]
