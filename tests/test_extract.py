"""Nuggets out of answers: spans of the text, and nothing else."""

import json
from collections import Counter

import numpy as np
import pytest
from chatserver import scripted, serving
from hypothesis import given
from hypothesis import strategies as st
from test_cases import CASES

from nuggeteval import FormatError, ParameterError
from nuggeteval.chat import Chat, Settings
from nuggeteval.data import Answer, Scores
from nuggeteval.extract import by_model, find_span, parse_nuggets
from nuggeteval.formats.answers import read_answers, write_answers
from nuggeteval.formats.scores import read_scores
from nuggeteval.formats.topics import read_queries, read_statements, read_strata


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ("- one\n* two\n\u2022 three\n1. four\n12) five", ["one", "two", "three", "four", "five"]),
        ('"quoted"\n\u201ccurly\u201d\n\'half"', ["quoted", "curly", "'half\""]),
        ("No nugget", []),
        ("**No nuggets.**", []),
        ("There is no nugget of gold", ["There is no nugget of gold"]),
        (
            "-5 degrees\n3.5x faster\n1.1 million\n2024 was warm",
            ["-5 degrees", "3.5x faster", "1.1 million", "2024 was warm"],
        ),
        ("", []),
    ],
)
def test_lines_of_a_reply(reply, lines):
    assert parse_nuggets(reply) == lines


TEXT = (
    "The **Sydney  Harbour Bridge** is 134 m\ntall. It opened in March 1932; it\u2019s \u201cbusy\u201d at 7\u00a0am."
)


@pytest.mark.parametrize(
    ("line", "found", "level"),
    [
        ("It opened in March 1932", "It opened in March 1932", "exact"),
        ("it OPENED in march 1932", "It opened in March 1932", "case"),
        ("The Sydney Harbour Bridge is 134 m tall", "The **Sydney  Harbour Bridge** is 134 m\ntall", "folded"),
        ('it\'s "busy" at 7 am', "it\u2019s \u201cbusy\u201d at 7\u00a0am", "folded"),
        ("It opened in March 1932!", "It opened in March 1932", "exact"),
    ],
)
def test_spans_keep_the_spelling_and_offsets_of_the_text(line, found, level):
    span = find_span(line, TEXT)
    assert (span.text, span.level) == (found, level)
    assert TEXT[span.start : span.end] == span.text


@pytest.mark.parametrize("line", ["", " ", ".", "It opened in 1932", "bridge of Sydney"])
def test_what_is_no_span(line):
    assert find_span(line, TEXT) is None


@given(st.text(max_size=40), st.data())
def test_every_stretch_of_a_text_is_found(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    stretch = text[start:end]
    if any(character.isalnum() for character in stretch) and stretch.strip() == stretch:
        span = find_span(stretch, text)
        assert span.text == stretch
        assert text[span.start : span.end] == stretch


# --- public bug reports ----------------------------------------------------------------------------


def extraction_of(case_id, replies=None):
    files = CASES[case_id]["files"]
    told = json.loads(files["extractor_replies.json"])
    records = [json.loads(line) for line in files.get("responses.jsonl", "").splitlines()]
    answers = [Answer(record["run"], record["topic"], record["text"]) for record in records]
    script = {answer.text: [{"content": told[answer.topic]}] for answer in answers}
    script["word for word"] = [{"content": text} for text in replies or ()]
    with serving(scripted(script)) as server:
        chat = Chat(Settings("m", base_url=server.url))
        return list(by_model(answers, chat)), server


def test_NU07_a_paraphrase_is_reported_and_asked_about_once(shared):
    [extraction], server = extraction_of("NU07", ["The opening year was 1932"])
    assert [span.text for span in extraction.spans] == ["It opened in 1932"]
    assert extraction.rejected == ("The opening year was 1932",)
    assert extraction.retried
    assert len(server.bodies) == 2
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["user", "assistant", "user"]


def test_NU07_a_corrected_line_is_a_nugget(shared):
    [extraction], _ = extraction_of("NU07", ["- opened in 1932"])
    assert [span.text for span in extraction.spans] == ["It opened in 1932", "opened in 1932"]
    assert extraction.rejected == ()


def test_NU08_markdown_and_white_space_are_no_difference(shared):
    [extraction], _ = extraction_of("NU08")
    assert len(extraction.spans) == 1
    assert extraction.rejected == ()


def test_NU09_list_numbers_do_not_eat_content(shared):
    told = json.loads(CASES["NU09"]["files"]["extractor_replies.json"])["t1"]
    assert parse_nuggets(told) == CASES["NU09"]["expected"]["values"]["nuggets"]["t1"]


def test_NU19_other_code_points_are_the_same_characters(shared):
    [extraction], _ = extraction_of("NU19")
    assert len(extraction.spans) == 2


# --- the command -----------------------------------------------------------------------------------


def test_extraction_by_a_model(cli, write, tmp_path):
    answers = write(
        "a.jsonl", '{"run": "A", "topic": "t", "text": "One fact. Another."}\n{"run": "A", "topic": "u", "text": " "}\n'
    )
    queries = write("q.tsv", "t\tWhat is it?\n")
    with serving(lambda _: {"content": "- One fact\n- One fact\n- Another"}) as server:
        arguments = ("extract", answers, "--by", "llm", "--model", "m", "--base-url", server.url, "--queries", queries)
        result = cli(*arguments, "-o", tmp_path / "n.jsonl")
    assert result.code == 0, result.err
    assert "2 nuggets of 2 answers; 0 lines are no spans; 1 calls" in result.err
    assert "What is it?" in server.prompts[0]
    assert "One fact. Another." in server.prompts[0]
    records = [json.loads(line) for line in (tmp_path / "n.jsonl").read_text().splitlines()]
    assert records[0]["spans"] == [[0, 8, "exact"], [10, 17, "exact"]]
    assert [a.nuggets for a in read_answers([answers, str(tmp_path / "n.jsonl")])] == [("One fact", "Another"), ()]
    assert cli("extract", answers, "--by", "llm", "-o", tmp_path / "x").code == 2
    dry = cli("extract", answers, "--by", "llm", "--model", "m", "--dry-run", "-o", tmp_path / "x")
    assert "1 calls" in dry.err


def test_a_prompt_needs_its_field():
    chat = Chat(Settings("m", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ParameterError, match=r"lacks \{text\}"):
        list(by_model([Answer("A", "t", "x")], chat, prompt="nothing"))


# --- topics ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ('{"topic": "1", "title": "T", "problem_statement": "Why?", "background": "B."}', "Why?\nB."),
        ('{"request_id": 1, "problem_statement": "Why?", "background": "B.", "limit": 2000}', "Why?\nB."),
        ('[{"id": 1, "narrative": "Why?"}]', "Why?"),
        ("1\tWhy?\n", "Why?"),
    ],
)
def test_shapes_of_topic_files(text, query, write):
    assert read_queries(write("topics", text)) == {"1": query}


def test_turns_of_ikat_are_topics(shared):
    queries = read_queries(str(shared / "data/ikat2024/ikat_topics/2024_test_topics.json"))
    assert len(queries) == 218
    assert all(queries.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 no tab\n", "1: expected id<TAB>text"),
        ('{"title": "x"}', "1: no topic"),
        ('{"id": 1}', "1: no text"),
        ("", "no topic"),
        ("1\tx\n1\ty\n", "2: topic '1' twice"),
    ],
)
def test_malformed_topics(text, message, write):
    with pytest.raises(FormatError, match=message):
        read_queries(write("topics", text))


# --- strata ----------------------------------------------------------------------------------------


def test_strata_have_means_of_their_own(cli, write):
    # P@1: 1 for t1, 0 for t2, 1 for t3. easy: (1 + 0) / 2; hard: 1; all: 2 / 3.
    qrels = write("q", "t1 0 d 1\nt2 0 d 1\nt3 0 d 1\n")
    run = write("r", "t1 Q0 d 1 1 A\nt2 Q0 e 1 1 A\nt3 Q0 d 1 1 A\n")
    strata = write("s", "t1\teasy\nt3\thard\nt2\teasy\nt9\thard\n")
    plain = cli(qrels, run, "-m", "P@1,num_q", "--by", strata)
    assert plain.code == 0, plain.err
    rows = [line.split() for line in plain.out.splitlines()]
    assert rows == [
        ["P@1", "all:easy", "0.5000"], ["num_q", "all:easy", "2"], ["P@1", "all:hard", "1.0000"],
        ["num_q", "all:hard", "1"], ["P@1", "all", "0.6667"], ["num_q", "all", "3"],
    ]  # fmt: skip
    table = cli(qrels, run, "-m", "P@1", "--by", strata, "--format", "markdown")
    assert "| A     | all:hard | 1.0000 |" in table.out
    written = cli(qrels, run, "-m", "P@1", "--by", strata, "-q", "--format", "jsonl")
    again = read_scores(write("s.jsonl", written.out))
    assert again.topics == ("t1", "t2", "t3")
    some = cli(qrels, run, "-m", "P@1", "--by", write("s2", "t1\teasy\n"))
    assert "topics in no stratum: t2, t3" in some.err
    assert cli(qrels, run, "-m", "P@1", "--by", write("s3", "t8\teasy\n")).code == 1


def test_pooled_means_of_strata_keep_their_weights():
    scores = Scores(
        ("A",), ("t1", "t2", "t3"), ("R",), np.array([[[1.0], [0.0], [0.5]]]), np.ones((1, 3, 1), bool),
        weights={"R": np.array([[1.0, 3.0, 4.0]])},
    ).with_strata({"t1": "x", "t2": "x"})  # fmt: skip
    # Weights 1 and 3: a quarter of the pool is found.
    assert scores.stratum("x").aggregates.tolist() == [[0.25]]


def test_turns_of_ikat_that_are_personal(shared):
    data = shared / "data/ikat2024"
    strata = read_strata(str(data / "ikat_topics/2024_test_topics.json"))
    turns = {a.topic for a in read_answers(str(data / "participant_resources/automatic_response_nuggets.json"))}
    assert len(turns) == 79
    assert Counter(strata[turn] for turn in turns) == {"personal": 41, "non-personal": 38}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t\n", "1: expected topic<TAB>label"),
        ("t a b\n", "1: expected"),
        ("t a\nt b\n", "2: topic 't' twice"),
        ("", "no topic"),
    ],
)
def test_malformed_strata(text, message, write):
    with pytest.raises(FormatError, match=message):
        read_strata(write("s", text))


# --- statements about the user ---------------------------------------------------------------------

IKAT_TOPICS = [
    {
        "number": 7,
        "ptkb": {str(n): f"I like number {n}." for n in range(1, 7)},
        "turns": [
            {"turn_id": 1, "utterance": "a?", "ptkb_provenance": [1, 2]},
            {"turn_id": 2, "utterance": "b?", "ptkb_provenance": [4]},
            {"turn_id": 3, "utterance": "c?", "ptkb_provenance": []},
        ],
    }
]
IKAT_RUN = {
    "run_name": "me",
    "turns": [
        {"turn_id": "7_1", "responses": [{"rank": 1, "text": "x", "ptkb_provenance": [1, 3, 1]}]},
        {"turn_id": "7_2", "responses": [{"rank": 1, "text": "y", "ptkb_provenance": ["4", "5", "6", "1"]}]},
        {"turn_id": "7_3", "responses": [{"rank": 1, "text": "z", "ptkb_provenance": [{"id": "2", "score": 1}]}]},
    ],
}


def test_statements_of_a_run_against_those_of_the_topics(cli, write, tmp_path):
    # 7_1: {1, 3} against {1, 2}: P = 1/2, R = 1/2, F = 1/2. 7_2: {4, 5, 6, 1} against {4}: P = 1/4, R = 1, F = 2/5.
    topics = write("topics.json", json.dumps(IKAT_TOPICS))
    run = write("run.json", json.dumps(IKAT_RUN))
    result = cli("score", "--view", "statements", "-q", topics, run)
    assert result.code == 0, result.err
    assert [line.split() for line in result.out.splitlines()] == [
        ["SetP", "7_1", "0.5000"], ["SetR", "7_1", "0.5000"], ["SetF", "7_1", "0.5000"],
        ["SetP", "7_2", "0.2500"], ["SetR", "7_2", "1.0000"], ["SetF", "7_2", "0.4000"],
        ["SetP", "all", "0.3750"], ["SetR", "all", "0.7500"], ["SetF", "all", "0.4500"],
    ]  # fmt: skip
    every = cli("score", "--view", "statements", "--topics", "qrels", "-m", "num_q,SetP", topics, run)
    assert every.out.split() == ["num_q", "all", "3", "SetP", "all", "0.2500"]
    answers = read_answers(run)
    write_answers(answers, str(tmp_path / "again"))
    assert [a.statements for a in read_answers(str(tmp_path / "again"))] == [("1", "3"), ("4", "5", "6", "1"), ("2",)]
    later = {
        "turn_id": "7_1",
        "run_id": "me",
        "responses": [{"text": "x", "ptkb_provenance": [1]}, {"text": "y", "ptkb_provenance": [1, 3]}],
    }
    assert read_answers(write("2025.jsonl", json.dumps(later)))[0].statements == ("1", "3")
    with pytest.raises(FormatError, match="must hold ids of statements"):
        read_answers(write("bad", json.dumps({"topic": "t", "text": "x", "ptkb_provenance": [1.5]})))


def test_statements_of_the_released_topics(shared):
    # Counts of the topics of TREC iKAT 2024: 17 topics, 218 turns, 3,660 pairs, 175 of them relevant.
    qrels = read_statements(str(shared / "data/ikat2024/ikat_topics/2024_test_topics.json"))
    assert (len(qrels.topics), len(qrels.grade), int(qrels.grade.sum())) == (218, 3660, 175)


def test_malformed_statements(write):
    with pytest.raises(FormatError, match="statements come from topics of iKAT"):
        read_statements(write("q", "t\ttext\n"))
    broken = [{**IKAT_TOPICS[0], "ptkb": {"1": "x"}}]
    with pytest.raises(FormatError, match="turn 7_1: unknown statements 1, 2"):
        read_statements(write("t", json.dumps(broken)))


@pytest.mark.parametrize("content", ["[1]", '[{"turns": [{"x": 1}]}]', '[{"responses": [], "turns": 3}]', "[]"])
def test_lists_that_are_no_topics(content, write):
    for read in (read_strata, read_queries, read_statements):
        with pytest.raises(FormatError):
            read(write("s", content))


def test_options_of_a_model_need_the_model(cli, write, tmp_path):
    answers = write("a.jsonl", '{"run": "A", "topic": "t", "text": "One fact."}')
    for option in ("--model", "--queries", "--prompt"):
        assert "--by llm" in cli("extract", answers, option, "x", "-o", tmp_path / "n").err
    assert cli("extract", answers, "--dry-run", "-o", tmp_path / "n").code == 0
    assert not (tmp_path / "n").exists()


def test_a_run_that_names_no_statement_scores_0(cli, write):
    turns = [{"turn_id": t, "responses": [{"rank": 1, "text": "x", "ptkb_provenance": []}]} for t in ("7_1", "7_2")]
    silent = write("silent.json", json.dumps({"run_name": "silent", "turns": turns}))
    paths = write("topics.json", json.dumps(IKAT_TOPICS)), write("run.json", json.dumps(IKAT_RUN)), silent
    result = cli("score", "--view", "statements", "-m", "SetF", *paths)
    assert result.code == 0, result.err
    assert [line.split("\t")[0::3] for line in result.out.splitlines()] == [["me", "0.4500"], ["silent", "0.0000"]]
