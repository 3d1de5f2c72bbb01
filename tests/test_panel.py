"""A panel that compares the answers of all systems: hidden names, shuffled orders, valid scores and failed ones."""

import json
import random
import re
from fractions import Fraction

import pytest
from chatserver import scripted, serving

from nuggeteval.cache import Cache
from nuggeteval.chat import Chat, Settings
from nuggeteval.data import Answer
from nuggeteval.errors import DataError, JudgeError, ParameterError
from nuggeteval.formats.scores import read_scores
from nuggeteval.panel import MEASURES, pool_answers
from nuggeteval.panel.asking import Panel
from nuggeteval.panel.verdicts import scores_of, trace_lines
from nuggeteval.replies import parse_table

# Words that occur nowhere else, so that they are found in a prompt if they are there.
RUNS = ("zyzzyva", "quokka-7b", "Xylophon")
TOPICS = ("t1", "t2", "t3")
KEYS = ("correctness", "completeness")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def answers_of(runs=RUNS, topics=TOPICS):
    """Answers whose text says what a fair panel gives them: correctness, completeness."""
    return [
        Answer(run, topic, f"answer worth {1 + (r + t) % 5} and {1 + (2 * r + t) % 5}, the {r}th of {topic}")
        for r, run in enumerate(runs)
        for t, topic in enumerate(topics)
    ]


def worth(text):
    return tuple(map(int, re.search(r"worth (\d) and (\d)", text).groups()))


def shown(prompt):
    """Label -> text of the answers of a prompt, in its order."""
    return dict(re.findall(r"^Answer ([A-Z]+):\n<<<\n(.*?)\n>>>", prompt, re.MULTILINE | re.DOTALL))


def fair(prompt):
    table = {label: dict(zip(KEYS, worth(text), strict=True)) for label, text in shown(prompt).items()}
    return {"content": json.dumps(table)}


def as_table(**rows):
    return json.dumps({label: dict(zip(KEYS, row, strict=True)) for label, row in rows.items()})


REFERENCES = {topic: [f"reference of {topic}"] for topic in TOPICS}
QUESTIONS = {topic: f"question {topic}" for topic in TOPICS}


def panel_of(server, cache=None, settings=None, **options):
    return Panel(Chat(Settings("m", base_url=server.url, **(settings or {})), cache or Cache(None)), **options)


def asked(answer, answers=None, references=REFERENCES, on_failed="zero", **options):
    """(scores, opinions, server) of a panel that answers so."""
    with serving(answer) as server:
        panel = panel_of(server, **options)
        pool = pool_answers(answers_of() if answers is None else answers, references, QUESTIONS)
        opinions = panel.ask(pool)
    return scores_of(pool, opinions, panel.params, on_failed), opinions, server


def orders(opinions):
    return [(o.call.topic, [answer.text for answer in o.call.answers.values()]) for o in opinions]


# --- what is read out of a reply --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "rows"),
    [
        (as_table(A=(1, 5), B=(3, 4)), {"A": (1, 5), "B": (3, 4)}),
        ("<think>" + as_table(A=(5, 5)) + "</think>```json\n" + as_table(A=(1, 5), B=(3, 4)) + "\n```", {"A": (1, 5), "B": (3, 4)}),
        ("Sure: {'a': {'Completeness': 5, 'Correctness': 1}, 'b': {'correctness': 3, 'completeness': 4}}.", {"A": (1, 5), "B": (3, 4)}),
        ('{"Answer A": {"correctness": 1, "completeness": 5}, "answer b": {"correctness": 3, "completeness": 4}}', {"A": (1, 5), "B": (3, 4)}),
        ('{"scores": ' + as_table(A=(1, 5), B=(3, 4)) + "}", {"A": (1, 5), "B": (3, 4)}),
        (as_table(A=(1, 1)) + " no, rather " + as_table(A=(1, 5), B=(3, 4)), {"A": (1, 5), "B": (3, 4)}),
        (as_table(A=(1, 5), C=(2, 2)), {"A": (1, 5)}),
        (as_table(A=(1, 5))[:-1], {}),
        ("{" * 3000, {}),
        ("A: 5, B: 4", {}),
        ("[1, 2]", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_tables(reply, rows):
    assert parse_table(reply, ("A", "B"), KEYS) == (rows, {})


@pytest.mark.parametrize(
    ("value", "got"),
    [(True, "true"), (0, "0"), (6, "6"), ("4", '"4"'), (4.0, "4.0"), (None, "null"), ([4], "[4]"), (-1, "-1")],
)
def test_only_integers_from_1_to_5_are_scores(value, got):
    rows, problems = parse_table(json.dumps({"A": {"correctness": 3, "completeness": value}}), ("A", "B"), KEYS)
    assert rows == {}
    assert problems == {"A": f"expected integers from 1 to 5 for correctness, completeness (got 3, {got})"}


@pytest.mark.parametrize(("row", "got"), [(4, "4"), ([4, 5], "[4, 5]"), ({}, "null, null"), (None, "null")])
def test_a_row_has_both_scores(row, got):
    rows, problems = parse_table(json.dumps({"A": row, "B": {"correctness": 1, "completeness": 2}}), ("A", "B"), KEYS)
    assert rows == {"B": (1, 2)}
    assert problems["A"].endswith(f"(got {got})")


# --- what is shown, and in which order --------------------------------------------------------------


def test_no_name_of_a_run_is_shown_and_everything_else_is():
    scores, opinions, server = asked(fair)
    for body in server.bodies:
        whole = json.dumps(body).lower()
        assert not [run for run in RUNS if run.lower() in whole]
    for prompt in server.prompts:
        topic = re.search(r"question (t\d)", prompt).group(1)
        assert f"reference of {topic}" in prompt
        assert sorted(shown(prompt).values()) == sorted(a.text for a in answers_of() if a.topic == topic)
        assert "these labels as a key: A, B, C. For example" in prompt
        assert '{"A": {"correctness": 3, "completeness": 2}, "B"' in prompt
    assert len(opinions) == len(server.prompts) == 3
    for answer in answers_of():
        correct, complete = worth(answer.text)
        assert scores.value(answer.run, "correctness", answer.topic) == correct
        assert scores.value(answer.run, "completeness", answer.topic) == complete
        assert scores.value(answer.run, "panel", answer.topic) == (correct + complete) / 2


def test_orders_differ_between_topics_and_are_the_same_from_call_to_call():
    runs = [f"r{number}" for number in range(8)]
    topics = [f"t{number}" for number in range(1, 4)]
    first = orders(asked(fair, answers_of(runs, topics))[1])
    assert orders(asked(fair, answers_of(runs, topics))[1]) == first
    places = [[int(re.search(r"the (\d)th", text).group(1)) for text in texts] for _, texts in first]
    assert all(sorted(place) == list(range(8)) for place in places)
    assert len({tuple(place) for place in places}) == 3
    # No other topic has a say, the seed has.
    alone = orders(asked(fair, answers_of(runs, topics), {"t2": REFERENCES["t2"]})[1])
    assert alone == [first[1]]
    assert orders(asked(fair, answers_of(runs, topics), settings={"seed": 7})[1]) != first


def test_names_and_order_of_runs_decide_nothing():
    answers = answers_of()
    first, opinions, _ = asked(fair)
    for seed in range(5):
        again, others, _ = asked(fair, random.Random(seed).sample(answers, len(answers)))
        assert orders(others) == orders(opinions)
        assert (again.runs, again.topics) == (first.runs, first.topics)
        assert (again.values == first.values).all()
    named = [Answer(a.run[::-1], a.topic, a.text) for a in answers]
    assert orders(asked(fair, named)[1]) == orders(opinions)


def test_equal_answers_are_shown_once_and_share_their_scores():
    answers = [
        Answer("zyzzyva", "t1", "worth 2 and 3"),
        Answer("quokka", "t1", " worth 2  and 3"),
        Answer("emu", "t1", "worth 4 and 5"),
    ]
    first = asked(lambda _: {"content": as_table(A=(2, 3), B=(4, 5))}, answers, {"t1": ["r"]})
    assert len(shown(first[2].prompts[0])) == 2
    swapped = asked(lambda _: {"content": as_table(A=(2, 3), B=(4, 5))}, answers[::-1], {"t1": ["r"]})
    assert swapped[2].prompts == first[2].prompts
    assert first[0].value("zyzzyva", "panel") == first[0].value("quokka", "panel") != first[0].value("emu", "panel")
    [line] = map(json.loads, trace_lines(first[1]))
    assert sorted(line["order"].values()) == [["emu"], ["quokka", "zyzzyva"]]


def test_all_references_are_shown():
    _, _, server = asked(fair, references={"t1": ["first one", " ", "second one"]})
    [prompt] = server.prompts
    assert "Reference answer 1:\n<<<\nfirst one\n>>>\n\nReference answer 2:\n<<<\nsecond one\n>>>" in prompt


def test_texts_are_put_into_the_prompt_as_they_are():
    answers = [Answer("a", "t1", "{labels} {{x}} {question} \0 worth 1 and 2")]
    scores, _, server = asked(fair, answers, {"t1": ["{answers}"]})
    assert "<<<\n{answers}\n>>>" in server.prompts[0]
    assert "{labels} {{x}} {question} \0 worth 1 and 2" in server.prompts[0]
    assert scores.value("a", "panel") == 1.5


def test_large_pools_are_cut_into_groups_of_like_sizes():
    runs = [f"r{number}" for number in range(11)]
    answers = answers_of(runs, ("t1",))
    scores, opinions, server = asked(fair, answers, {"t1": ["r"]}, per_call=5)
    assert [len(opinion.call.answers) for opinion in opinions] == [3, 4, 4]
    assert sorted(text for _, texts in orders(opinions) for text in texts) == sorted(a.text for a in answers)
    whole = orders(asked(fair, answers, {"t1": ["r"]})[1])[0][1]
    assert [text for _, texts in orders(opinions) for text in texts] == whole
    assert [scores.value(a.run, "correctness") for a in answers] == [worth(a.text)[0] for a in answers]
    # The longest reply grows with the answers.
    assert sorted(body["max_tokens"] for body in server.bodies) == [160, 200, 200]
    assert asked(fair, answers, {"t1": ["r"]}, max_tokens=9)[2].bodies[0]["max_tokens"] == 9


def test_labels_after_z():
    runs = [f"r{number}" for number in range(30)]
    scores, opinions, _ = asked(fair, answers_of(runs, ("t1",)), {"t1": ["r"]})
    labels = list(opinions[0].call.answers)
    assert (labels[0], labels[25:28], labels[29]) == ("A", ["Z", "AA", "AB"], "AD")
    assert [scores.value(a.run, "correctness") for a in answers_of(runs, ("t1",))] == [
        worth(a.text)[0] for a in answers_of(runs, ("t1",))
    ]


def test_rounds_take_the_bias_for_a_position_out():
    """A panel that likes what it reads first: after two rounds, one the other backwards, all are equal."""

    def biased(prompt):
        labels = list(shown(prompt))
        return {"content": as_table(**{label: (5 - place, 5 - place) for place, label in enumerate(labels)})}

    once, _, _ = asked(biased)
    assert len({once.value(run, "panel", "t1") for run in RUNS}) == 3
    for repeats in (2, 4):
        twice, opinions, server = asked(biased, repeats=repeats)
        assert {twice.value(run, measure, topic) for run in RUNS for measure in MEASURES for topic in TOPICS} == {4.0}
        assert len(server.prompts) == 3 * repeats
        by_topic = [texts for topic, texts in orders(opinions) if topic == "t1"]
        assert by_topic[1] == by_topic[0][::-1]
    assert {body["seed"] for body in server.bodies} == {42, 43, 44, 45}
    three, _, _ = asked(biased, answers_of(("a",)), repeats=3)
    assert three.value("a", "panel") == 5.0


def test_means_over_rounds_are_exact():
    given = {0: 1, 1: 2, 2: 2}

    def by_round(prompt):
        return {"content": as_table(A=(given[len(rounds.append(0) or rounds) - 1], 5))}

    rounds = []
    scores, _, _ = asked(by_round, answers_of(("a",), ("t1",)), {"t1": ["r"]}, repeats=3, settings={"concurrency": 1})
    assert scores.value("a", "correctness") == float(Fraction(5, 3))
    assert scores.value("a", "panel") == float(Fraction(20, 6))


# --- what is not valid ------------------------------------------------------------------------------


def test_what_is_not_json_is_asked_again():
    replies = {"question t1": [{"content": "I would rather not say."}, {"content": as_table(A=(1, 2), B=(3, 4))}]}
    scores, [opinion], server = asked(scripted(replies), answers_of(RUNS[:2], ("t1",)), {"t1": ["r"]})
    assert (len(server.prompts), opinion.attempts, opinion.failures) == (2, 2, {})
    assert sorted(scores.values[:, 0, 2].tolist()) == [1.5, 3.5]
    assert scores.notes == ()
    assert "|failed 0|" in scores.signature


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"correctness": true, "completeness": 4}', "(got true, 4)"),
        ('{"correctness": 0, "completeness": 4}', "(got 0, 4)"),
        ('{"correctness": 3, "completeness": 6}', "(got 3, 6)"),
        ('{"correctness": "3", "completeness": 4}', '(got "3", 4)'),
        ('{"correctness": 3}', "(got 3, null)"),
        ("null", "(got null)"),
        (None, "not in the reply"),
    ],
)
def test_what_is_valid_in_the_third_reply_is_kept(row, reason):
    rest = "" if row is None else f', "B": {row}'
    content = f'{{"A": {{"correctness": 2, "completeness": 3}}{rest}}}'
    scores, [opinion], server = asked(lambda _: {"content": content}, answers_of(RUNS[:2], ("t1",)), {"t1": ["r"]})
    assert (len(server.prompts), opinion.attempts) == (3, 3)
    assert opinion.scores == {"A": (2, 3)}
    assert list(opinion.failures) == ["B"]
    assert opinion.failures["B"].endswith(reason)
    assert sorted(scores.values[:, 0, 2].tolist()) == [0.0, 2.5]
    assert "|failed 1|" in scores.signature
    assert scores.notes[0].startswith("1 of 2 labels in 1 calls have no scores: ")
    assert "1 answers (" in scores.notes[1]
    assert scores.notes[1].endswith("failed, and they count 0")


def test_the_last_reply_counts_and_not_the_best():
    replies = [as_table(A=(1, 1)), as_table(A=(1, 1)), as_table(B=(5, 5))]
    script = scripted({"question": [{"content": reply} for reply in replies]})
    _, [opinion], _ = asked(script, answers_of(RUNS[:2], ("t1",)), {"t1": ["r"]})
    assert (opinion.scores, opinion.failures) == ({"B": (5, 5)}, {"A": "not in the reply"})


@pytest.mark.parametrize(
    ("reply", "calls", "reason"),
    [
        ({"content": "I'm sorry, I can't."}, 1, "refusal"),
        ({"content": "Let me think", "finish_reason": "length"}, 1, "no verdict before the reply ended (length)"),
        ({"content": ""}, 1, "empty reply (stop)"),
        ({"status": 400, "error": "context_length_exceeded"}, 1, "HTTP 400"),
        ({"content": "All are fine."}, 3, "unparsed"),
    ],
)
def test_asking_again_ends_where_it_cannot_help(reply, calls, reason):
    scores, [opinion], server = asked(lambda _: reply, answers_of(RUNS, ("t1",)), {"t1": ["r"]})
    assert len(server.prompts) == calls
    assert all(why.startswith(reason) for why in opinion.failures.values())
    assert len(opinion.failures) == 3
    assert scores.value(RUNS[0], "panel") == 0.0


def test_a_round_that_failed_is_in_no_mean():
    good, bad = {"content": as_table(A=(3, 4))}, {"content": "?"}
    script = scripted({"question": [good, bad]})
    scores, opinions, _ = asked(
        script, answers_of(("a",), ("t1",)), {"t1": ["r"]}, repeats=2, settings={"concurrency": 1}
    )
    assert [len(opinion.failures) for opinion in opinions] == [0, 1]
    assert scores.value("a", "panel") == 3.5
    assert scores.notes == ("1 of 2 labels in 2 calls have no scores: unparsed (1)",)
    assert "|failed 0|" in scores.signature


def test_failed_answers_count_0_or_their_topics_are_left_out_or_nothing_is_scored():
    def one_fails(prompt):
        return {"content": "?"} if "question t2" in prompt else fair(prompt)

    zero, _, _ = asked(one_fails)
    assert zero.value(RUNS[0], "panel", "t2") == 0.0
    assert zero.topics == TOPICS
    skip, _, _ = asked(one_fails, on_failed="skip")
    assert skip.topics == ("t1", "t3")
    assert skip.notes[-1].endswith("failed, and their topics are left out")
    assert "|failed 0|" in skip.signature
    assert skip.signature.endswith("|on-failed skip")
    with pytest.raises(DataError, match=r"3 answers \(.*\) have no scores"):
        asked(one_fails, on_failed="error")
    with pytest.raises(DataError, match="nothing is left"):
        asked(lambda _: {"content": "?"}, on_failed="skip")
    with pytest.raises(ParameterError, match="on_failed must be one of zero, skip, error"):
        asked(fair, on_failed="maybe")


def test_missing_answers_count_0_and_are_named():
    answers = [a for a in answers_of() if (a.run, a.topic) != ("quokka-7b", "t2")]
    answers.append(Answer("quokka-7b", "t2", " \n"))
    scores, _, server = asked(fair, answers, {**REFERENCES, "t9": ["unanswered"]})
    assert len(server.prompts) == 3
    assert sorted(len(shown(prompt)) for prompt in server.prompts) == [2, 3, 3]
    assert scores.topics == ("t1", "t2", "t3", "t9")
    assert scores.value("quokka-7b", "panel", "t2") == scores.value("zyzzyva", "panel", "t9") == 0.0
    found = [scores.value("quokka-7b", "correctness", topic) for topic in scores.topics]
    assert scores.value("quokka-7b", "correctness") == sum(found) / 4
    assert "quokka-7b has no answer to 2 of 4 topics, which count 0: t2, t9" in scores.notes
    assert "|missing 4|" in scores.signature


def test_what_a_panel_cannot_be_asked():
    with pytest.raises(DataError, match="no topic in common: references of t1 and answers to t2"):
        pool_answers([Answer("a", "t2", "x")], {"t1": ["r"]}, QUESTIONS)
    with pytest.raises(DataError, match="no answer has a text"):
        pool_answers([Answer("a", "t1", " ")], {"t1": ["r"]}, QUESTIONS)
    with pytest.raises(DataError, match="answers to none"):
        pool_answers([], {"t1": ["r"]}, QUESTIONS)
    with pytest.raises(DataError, match="1 of 2 topics have no question: t2"):
        pool_answers([Answer("a", "t1", "x"), Answer("a", "t2", "x")], REFERENCES, {"t1": "q", "t2": " "})
    pool = pool_answers([Answer("a", "t1", "x"), Answer("a", "t8", "x")], {"t1": ["r"], "t2": [" "]}, QUESTIONS)
    assert pool.notes == (
        "topics whose references have no text, ignored: t2",
        "topics without a reference, ignored: t8",
    )
    with serving(fair) as server:
        for options, message in (
            ({"per_call": 0}, "answers a call must be at least 1"),
            ({"repeats": 0}, "repeats must be at least 1"),
            ({"prompt": "{question} {answers}"}, r"the prompt of the panel lacks \{references\}"),
        ):
            with pytest.raises(ParameterError, match=message):
                panel_of(server, **options)


def test_progress_is_told_after_each_opinion():
    seen = []
    with serving(fair) as server:
        panel = panel_of(server, repeats=2)
        panel.ask(pool_answers(answers_of(), REFERENCES, QUESTIONS), lambda *place: seen.append(place))
    assert seen == [(done, 6) for done in range(1, 7)]


# --- the command ------------------------------------------------------------------------------------


def records(answers):
    return "".join(json.dumps({"run": a.run, "topic": a.topic, "text": a.text}) + "\n" for a in answers)


@pytest.fixture
def command(cli, write, tmp_path):
    """Run the command against a server; (result, server)."""
    for run in RUNS:
        write(f"{run}.jsonl", records(a for a in answers_of() if a.run == run))
    gold = write("gold.jsonl", "".join(json.dumps({"topic": t, "text": REFERENCES[t][0]}) + "\n" for t in TOPICS))
    queries = write("queries.tsv", "".join(f"{t}\t{QUESTIONS[t]}\n" for t in TOPICS))

    def run(answer, *options, runs=RUNS, out="out.jsonl"):
        with serving(answer) as server:
            model = ("--model", "m", "--base-url", server.url, "--model-id", "s")
            files = [tmp_path / f"{run}.jsonl" for run in runs]
            asked = ("--gold", gold, "--queries", queries)
            return cli("panel", *files, *asked, *model, "-o", tmp_path / out, *options), server

    return run


def test_the_command_writes_scores_that_a_leaderboard_reads(command, cli, tmp_path):
    result, server = command(fair, "--trace", tmp_path / "trace")
    assert result.code == 0, result.err
    assert f"{tmp_path / 'out.jsonl'}: 3 runs, 3 topics, 3 calls; 3 calls, 0 cached" in result.err
    assert not [run for run in RUNS if any(run in prompt for prompt in server.prompts)]
    scores = read_scores(str(tmp_path / "out.jsonl"))
    assert scores.measures == MEASURES
    assert scores.runs == tuple(sorted(RUNS))
    for answer in answers_of():
        assert scores.value(answer.run, "panel", answer.topic) == sum(worth(answer.text)) / 2
    [signature] = {json.loads(line).get("signature") for line in (tmp_path / "out.jsonl").read_text().splitlines()} - {
        None
    }
    assert re.search(r"\|judge panel:host=s:model=m:prompt=[0-9a-f]{12}:seed=42:temperature=0.0$", signature)
    board = cli("leaderboard", tmp_path / "out.jsonl", "-m", "panel")
    assert board.code == 0, board.err
    lines = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert [line["topic"] for line in lines] == list(TOPICS)
    for line in lines:
        assert {run for runs in line["order"].values() for run in runs} == set(RUNS)
        assert json.loads(line["reply"]) == line["scores"]
        assert (line["failures"], line["attempts"], line["repeat"]) == ({}, 1, 0)


def test_files_in_another_order_give_the_same_bytes(command, tmp_path):
    command(fair, "--trace", tmp_path / "a.trace", out="a")
    command(fair, "--trace", tmp_path / "b.trace", out="b", runs=RUNS[::-1])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a.trace").read_bytes() == (tmp_path / "b.trace").read_bytes()


def test_the_cache_goes_on_where_a_call_was_killed(command, tmp_path):
    cache = ("--cache", tmp_path / "cache")

    def refused(prompt):
        return {"status": 401} if "question t3" in prompt else fair(prompt)

    first, _ = command(refused, *cache, "--concurrency", "1")
    assert (first.code, (tmp_path / "out.jsonl").exists()) == (1, False)
    second, server = command(fair, *cache)
    assert (second.code, len(server.prompts)) == (0, 1)
    before = (tmp_path / "out.jsonl").read_bytes()
    third, server = command(lambda _: {"content": "no"}, *cache, "--offline")
    assert (third.code, server.prompts) == (0, [])
    assert (tmp_path / "out.jsonl").read_bytes() == before
    # Without a run there are other questions; with an equal one there are not.
    fourth, server = command(fair, *cache, runs=RUNS[:2])
    assert (fourth.code, len(server.prompts)) == (0, 3)


def test_a_dry_run_asks_nobody(command, tmp_path):
    result, server = command(fair, "--dry-run", "--repeat", "2", "--per-call", "2")
    assert (result.code, server.prompts, (tmp_path / "out.jsonl").exists()) == (0, [], False)
    found = re.search(r"nobody was asked; 12 calls, about (\d+) tokens in, at most (\d+) tokens out", result.err)
    # Six calls with one answer and six with two: 40 for each answer, and 40.
    assert int(found.group(2)) == 6 * 80 + 6 * 120
    limited, _ = command(fair, "--dry-run", "--max-tokens", "100")
    assert "at most 300 tokens out" in limited.err


def test_a_batch_goes_out_and_comes_in(command, write, tmp_path):
    cache = ("--cache", tmp_path / "cache")
    out, server = command(fair, *cache, "--batch-out", tmp_path / "batch", "--trace", tmp_path / "trace")
    assert (out.code, server.prompts) == (0, [])
    assert "3 questions are in" in out.err
    assert not (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "trace").exists()
    asked = [json.loads(line) for line in (tmp_path / "batch").read_text().splitlines()]
    assert {line["body"]["max_tokens"] for line in asked} == {160}

    def result(line, content):
        body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        return json.dumps({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}) + "\n"

    contents = [fair(line["body"]["messages"][0]["content"])["content"] for line in asked]
    done = write("done", result(asked[0], "?") + "".join(map(result, asked[1:], contents[1:])))
    # What cannot be read is asked again, in the next batch.
    again, _ = command(fair, *cache, "--batch-in", done, "--batch-out", tmp_path / "next")
    assert "1 questions are in" in again.err
    [last] = map(json.loads, (tmp_path / "next").read_text().splitlines())
    assert last["body"] == asked[0]["body"]
    assert last["custom_id"] != asked[0]["custom_id"]
    back, server = command(fair, *cache, "--batch-in", write("rest", result(last, contents[0])), "--offline")
    assert (back.code, server.prompts) == (0, [])
    batched = (tmp_path / "out.jsonl").read_bytes()
    command(fair)
    assert (tmp_path / "out.jsonl").read_bytes() == batched


def test_failures_are_said_and_can_be_an_error(command, tmp_path):
    def partial(prompt):
        return {"content": as_table(A=(1, 2), B=(3, 6))} if "question t1" in prompt else fair(prompt)

    result, server = command(partial, "--trace", tmp_path / "trace")
    assert (result.code, len(server.prompts)) == (0, 5)
    assert "2 of 9 labels in 3 calls have no scores: expected integers from 1 to 5 for" in result.err
    assert "not in the reply (1)" in result.err
    first = json.loads((tmp_path / "trace").read_text().splitlines()[0])
    assert sorted(first["failures"]) == ["B", "C"]
    assert read_scores(str(tmp_path / "out.jsonl")).topics == TOPICS
    assert command(partial, "--on-failed", "error")[0].code == 1
    assert command(partial, "--on-failed", "skip", "--quiet")[0].err == ""
    assert read_scores(str(tmp_path / "out.jsonl")).topics == ("t2", "t3")


def test_a_prompt_of_ones_own(command, write):
    own = write("own", "Q {question} R {references} {{}} L {labels}\n{answers}")
    result, server = command(fair, "--prompt", own)
    assert result.code == 0, result.err
    assert all(
        re.match(r"Q question t\d R Reference answer:\n<<<.*\n>>> \{\} L A, B, C\n", p, re.DOTALL)
        for p in server.prompts
    )


def test_what_is_wrong_is_said(command, cli, write, tmp_path):
    result, _ = command(fair, "--model", "")
    assert (result.code, "a panel asks a language model: --model NAME" in result.err) == (2, True)
    assert command(fair, "--per-call", "0")[0].code == 2
    assert command(fair, "--repeat", "0")[0].code == 2
    assert command(fair, "--max-tokens", "0")[0].code == 2
    assert command(fair, "--trace", tmp_path / "nowhere" / "x")[0].code == 1
    other = write("other", '{"topic": "t7", "text": "r"}\n')
    result, server = command(fair, "--gold", other)
    assert (result.code, "no topic in common: references of t7" in result.err, server.prompts) == (1, True, [])
    result, _ = command(fair, "--queries", write("q", "t1\twhat\n"))
    assert "2 of 3 topics have no question: t2, t3" in result.err
    write("empty.jsonl", "")
    result, _ = command(fair, runs=["empty"])
    assert (result.code, "no answer in" in result.err) == (1, True)
    shown_help = cli("panel", "--help")
    assert "examples:" in shown_help.out
    assert "longest reply (40, and 40 for each answer)" in shown_help.out


def test_a_budget_ends_it_before_anything_is_written(command, tmp_path):
    result, server = command(fair, "--budget", "10")
    assert (result.code, server.prompts, (tmp_path / "out.jsonl").exists()) == (1, [], False)
    assert "the budget of 10 could be exceeded" in result.err


def test_a_server_that_refuses_ends_it():
    with pytest.raises(JudgeError, match="refuses"):
        asked(lambda _: {"status": 401})
