"""Every problem of answers and judgments in one pass."""

import json

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from test_cases import CASES

from nuggeteval import NuggetEvalError, ParameterError, UnknownNameError, problems
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.judgments import read_judgments
from nuggeteval.validate.tracks import TRACKS

BANK = (
    '{"topic": "t1", "nuggets": [{"id": "n1", "text": "A."}, {"id": "n2", "text": "B."}]}\n'
    '{"topic": "t2", "nuggets": [{"id": "n1", "text": "C."}]}\n{"topic": "t3", "nuggets": []}\n'
)


def found(kind, paths, against=None, track=None):
    return [(p.line, p.level, p.message) for p in problems(kind, paths, against, track)]


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def answer(topic="t1", run="A", **more):
    return {"run": run, "topic": topic, "text": "x", **more}


# --- answers ---------------------------------------------------------------------------------------


def test_every_error_of_a_file_with_its_line(write):
    path = write(
        "answers.jsonl",
        '{"run": "A", "topic": "t1", "text": "x"}\n\n{"run": "A", "topic": "t2", "te\n[]\n{"run": "A", "text": "x"}\n'
        '{"run": "A", "topic": "t4"}\n{"run": "A", "topic_id": "1", "narrative_id": "2", "text": "x"}\n'
        '{"run": "A", "topic": "t1", "text": "y"}\n'
        '{"run": "A", "topic": "t5", "answer": [{"text": "x", "citations": 5}]}\n{"run": "A", "top',
    )
    told = found("answers", path)
    # What the parser says, and where, differs between versions of Python.
    (first, *_, broken), (last, *_, cut) = told.pop(0), told.pop()
    assert (first, broken[:8], last, cut[:8]) == (3, "not JSON", 10, "not JSON")
    assert cut.endswith("; the file ends in the middle of this line: is it cut short?")
    assert "cut short" not in broken
    assert told == [
        (4, "error", "expected a JSON object, found []"),
        (5, "error", "no topic: expected one of the keys topic, topic_id, narrative_id, request_id, turn_id, qid, query_id"),
        (6, "error", "no text, answer, responses, sentences or nuggets"),
        (7, "error", "conflicting topics: topic_id '1', narrative_id '2'"),
        (8, "error", f"two answers of run 'A' to topic 't1' ({path}:1 and {path}:8)"),
        (9, "error", "citations of sentence 1 must be a list or an object (got 5)"),
    ]  # fmt: skip


def test_what_smells(write):
    cited = {"run": "A", "topic": "t1", "references": ["d1", "d2", "d1"]}
    path = write(
        "answers.jsonl",
        lines(
            {**cited, "answer": [{"text": "x", "citations": [0, 5, "d9"]}, {"text": "y", "citations": [1, "d2"]}]},
            {"run": "A", "topic": "t2", "text": " \n"},
            {"run": "A", "topic": "t3", "answer": ["x", " ", "y"]},
            {"run": "A", "topic": "t4", "text": "fine"},
        ),
    )
    assert found("answers", path) == [
        (1, "warning", "run 'A', topic 't1': not among the 3 references: sentence 1 cites 5, sentence 1 cites 'd9'"),
        (1, "warning", "run 'A', topic 't1': references that are listed twice: d1"),
        (1, "warning", "run 'A', topic 't1': repeated citations: sentence 2 cites 'd2'"),
        (2, "warning", "run 'A', topic 't2': the answer is blank and counts 0"),
        (3, "warning", "run 'A', topic 't3': blank sentences: 2"),
    ]


def test_many_of_a_sort_are_told_in_a_few_lines(write):
    path = write("answers.jsonl", lines(*(answer(f"t{n}", text="") for n in range(40))))
    told = found("answers", path)
    assert [line for line, _, _ in told] == [1, 2, 3, 4, 5, 0]
    assert told[-1] == (0, "warning", "blank answers: 35 more, on lines 6, 7, 8, 9, 10, ... (35 in all)")


def test_a_second_answer_may_stand_in_another_file(write):
    first, second = write("a", lines(answer())), write("b", lines(answer("t2"), answer()))
    [problem] = problems("answers", [first, second])
    said = f"{second}:2: error: two answers of run 'A' to topic 't1' ({first}:1 and {second}:2)"
    assert str(problem) == f"{said}; of two runs with one name one needs another run_id"
    nuggets = write("n", lines({"run": "A", "topic": "t1", "nuggets": ["x"]}))
    assert problems("answers", [first, nuggets]) == problems("answers", [nuggets, first]) == []


def test_files_of_a_folder_and_one_that_is_not_there(write, tmp_path):
    write("runs/b.jsonl", lines(answer(text="")))
    write("runs/a.jsonl", "{\n")
    told = problems("answers", [str(tmp_path / "runs"), str(tmp_path / "none")])
    assert [(p.path.rpartition("/")[2], p.line) for p in told] == [("none", 0), ("a.jsonl", 1), ("b.jsonl", 1)]


def test_answers_against_a_bank(write):
    bank = write("bank", BANK)
    path = write(
        "a", lines(answer(), answer("t9"), answer("t1", "B"), answer("t3", "B"), answer("t2", "C"), answer(run="C"))
    )
    assert found("answers", path, bank) == [
        (2, "warning", f"2 topics have no nugget in {bank} and are ignored: t9, t3"),
        (0, "warning", f"1 topics of {bank} have no answer in runs A, B and count 0: t2"),
    ]
    alien = write("alien", lines(answer("t9")))
    assert found("answers", alien, bank)[1] == (0, "error", f"no topic in common with {bank} in run A")


def test_arrays_and_single_objects(write):
    array = write(
        "array", '[\n {"run": "A", "topic": "t1", "text": "x"},\n 5,\n {"run": "A", "topic": "t2",\n  "text": ""}\n]\n'
    )
    assert found("answers", array) == [
        (3, "error", "expected a JSON object, found 5"),
        (4, "warning", "run 'A', topic 't2': the answer is blank and counts 0"),
    ]
    cut = write("cut", '[\n {"run": "A", "topic": "t1", "text": ""},\n {"run": "A"')
    assert [(line, level) for line, level, _ in found("answers", cut)] == [(2, "warning"), (3, "error")]
    cone = write("cone", '{"t1": {"A": "", "B": 5, "C": {"text": "x"}, "D": {"response": 5}}, "t2": "x"}')
    assert [(level, message) for _, level, message in found("answers", cone)] == [
        ("error", "topic 't1', run 'B': expected a text or an object with response or nuggets"),
        ("error", "topic 't1', run 'C': expected a text or an object with response or nuggets"),
        ("error", "topic 't1', run 'D': response must be a string"),
        ("error", "topic 't2': expected an object from run to response"),
        ("warning", "run 'A', topic 't1': the answer is blank and counts 0"),
    ]
    turns = ['{"turn_id": "8_5", "responses": [{"text": ""}]}', "{}", "5", '{"turn_id": 6, "responses": [5]}', '{"turn_id": 7, "responses": [{"text": 5}]}']  # fmt: skip
    ikat = write("ikat", f'{{"run_name": "u", "turns": [{", ".join(turns)}]}}')
    assert [message for *_, message in found("answers", ikat)] == [
        "turn 2 must be an object with a turn_id (got {})",
        "turn 3 must be an object with a turn_id (got 5)",
        "turn '6': responses must be objects with rank, text and passage_provenance",
        "turn '7': text must be a string (got 5)",
        "run 'u', topic '8_5': the answer is blank and counts 0",
    ]
    assert found("answers", write("turns", '{"turns": 5}'))[0][2] == "turn 1 must be an object with a turn_id (got 5)"


@pytest.mark.parametrize("kind", ["answers", "judgments"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02", b"\x1f\x8bxx", b"\xff\xfe\x00", b"[", b'["\xff"]', b"[" * 9999]
)
def test_files_that_are_nothing(kind, content, write):
    told = problems(kind, write("file", content))
    assert told
    assert {problem.level for problem in told} == {"error"}


def test_a_file_of_another_kind_is_told_in_a_few_lines(write):
    run = write("x.run", "".join(f"t Q0 d{n} 1 1 x\n" for n in range(100)))
    for kind in ("answers", "judgments"):
        assert found(kind, run)[5] == (6, "error", "95 more lines are malformed")


# --- tracks ----------------------------------------------------------------------------------------

RAG25 = {"team_id": "t", "run_id": "A", "type": "automatic", "narrative_id": 1, "narrative": "why"}
SOUND = {
    "rag24": {"run_id": "A", "topic_id": "1", "topic": "why", "response_length": 1, "references": ["msmarco_v2.1_doc_01_2#3_4"], "answer": [{"text": "x", "citations": [0]}]},
    "rag25": {"metadata": RAG25, "references": ["d"], "answer": [{"text": "x", "citations": [0]}, {"text": "y", "citations": ["d"]}]},
    "rag26": {"metadata": {**RAG25, "run_desc": "plain"}, "references": ["shard_1_2"], "answer": [{"text": "x", "citations": []}]},
    "ragtime25": {"metadata": {"team_id": "t", "topic_id": "1", "run_id": "A", "task": "english"}, "responses": [{"text": "x", "citations": {"d": 0.5}}]},
    "ragtime26": {"metadata": {"team_id": "t", "topic_id": "1", "run_id": "A", "run_desc": "plain"}, "responses": [{"text": "x", "citations": ["d"]}]},
    "dragun25": {"metadata": {"team_id": "t", "topic_id": "1", "run_id": "A", "type": "automatic", "use_starter_kit": 0}, "responses": [{"text": "x", "citations": ["d"]}]},
    "ikat25": {"metadata": {"team_id": "t", "run_id": "A", "run_type": "automatic"}, "turn_id": "1-1_1", "references": {"d": 7.1}, "responses": [{"text": "x", "citations": {"d": 7.1}}]},
    "longeval": {"metadata": {**RAG25, "narrative_id": "a1"}, "references": [12], "answer": [{"text": "x", "citations": [0]}]},
}  # fmt: skip


def test_every_track_has_a_source_and_takes_a_sound_record(write):
    assert set(SOUND) == set(TRACKS)
    for name, track in TRACKS.items():
        assert track.source
        assert found("answers", write(name, lines(SOUND[name])), track=name) == []


def told_of(write, track, **changes):
    return found("answers", write("a", lines({**SOUND[track], **changes})), track=track)


@pytest.mark.parametrize(
    ("track", "limit", "level"),
    [("rag24", 400, "warning"), ("rag25", 400, "warning"), ("rag26", 1024, "error"), ("dragun25", 250, "warning"), ("ikat25", 250, "warning")],
)  # fmt: skip
def test_limits_of_length(track, limit, level, write):
    key = TRACKS[track].sentences
    sentence = {"text": "a " * (limit - 1), "citations": []}
    assert told_of(write, track, **{key: [sentence, {"text": "b\u00a0"}]}) == []
    over = (1, level, f"{limit + 1} words, the limit is {limit}")
    assert told_of(write, track, **{key: [sentence, {"text": "b\u00a0c"}]}) == [over]


@pytest.mark.parametrize("track", ["ragtime25", "ragtime26", "longeval"])
def test_tracks_without_a_limit_of_their_own(track, write):
    assert told_of(write, track, **{TRACKS[track].sentences: [{"text": "a " * 5000}]}) == []


@pytest.mark.parametrize(
    ("track", "changes", "level", "message"),
    [
        ("rag24", {"topic": ""}, "error", "no topic, which the track asks for"),
        ("rag24", {"references": [f"msmarco_v2.1_doc_01_2#3_{n}" for n in range(21)]}, "error", "21 references, the track takes 20"),
        ("rag24", {"references": ["d7"]}, "error", "references that are no documents of the track: d7"),
        ("rag24", {"answer": [{"text": "x", "citations": ["msmarco_v2.1_doc_01_2#3_4"]}]}, "error", "sentence 1 cites by id, the track takes index"),
        ("rag25", {"metadata": {"run_id": "A", "narrative_id": 1}}, "error", "no team_id, type, narrative in the metadata"),
        ("rag25", {"references": None}, "error", "no references, which must hold what is cited"),
        ("rag25", {"references": ["d", "e"], "answer": [{"text": "x", "citations": ["d", 1]}]}, "error", "sentence 1 cites by several forms, the track takes index or id"),
        ("rag26", {"metadata": {**RAG25, "run_desc": "x", "run_id": "A" * 21}}, "error", f"run_id '{'A' * 21}' has 21 characters, the track takes 20"),
        ("ragtime25", {"metadata": {"team_id": "t", "topic_id": "1", "run_id": "A"}}, "warning", "no task in the metadata"),
        ("ragtime25", {"references": ["d", "e"]}, "error", "references that no sentence cites: e"),
        ("ragtime26", {"responses": [{"text": "x", "citations": list("abcd")}]}, "warning", "sentence 1 has 4 citations, more than 3"),
        ("dragun25", {"responses": [{"text": "x", "citations": {"d": 1}}]}, "error", "sentence 1 cites by score, the track takes id"),
        ("longeval", {"metadata": {"team_id": "t", "run_id": "A", "type": "automatic", "narrative_id": "a1"}}, "warning", "no narrative in the metadata"),
    ],
)  # fmt: skip
def test_rules_of_tracks(track, changes, level, message, write):
    assert (1, level, message) in told_of(write, track, **changes)


def test_a_record_of_another_shape(write):
    record = {key: value for key, value in SOUND["rag26"].items() if key != "references"}
    assert found("answers", write("a", lines(record)), track="rag26") == [
        (1, "error", "no references, which the track asks for")
    ]
    plain = {"run": "A", "topic": "1", "text": "x", "metadata": None, "references": []}
    assert (1, "error", "no answer, which the track asks for") in found(
        "answers", write("b", lines(plain)), track="rag25"
    )
    cone = write("cone", '{"t1": {"A": "x"}}')
    assert found("answers", cone, track="rag25") == [(0, "error", "one JSON object; the track takes JSON lines")]


def test_tracks_that_cannot_be(write, cli):
    path = write("a", lines(answer()))
    with pytest.raises(UnknownNameError, match="unknown track 'rag52'"):
        problems("answers", path, track="rag52")
    with pytest.raises(ParameterError, match="not for a file of kind judgments"):
        problems("judgments", path, track="rag25")
    assert cli("validate", "judgments", path, "--track", "rag25").code == 2
    assert cli("validate", "answers", path, "--track", "rag52").code == 2


# --- judgments -------------------------------------------------------------------------------------


def judgment(nugget="n1", grade=1, **more):
    record = {
        "view": "responses",
        "run": "A",
        "topic": "t1",
        "unit": "A",
        "nugget": nugget,
        "judge": "j",
        "score": None,
        "grade": grade,
    }
    return {**record, "scale": [2, 1], **({"reason": "no verdict"} if grade is None else {}), **more}  # fmt: skip


def test_every_error_of_judgments(write):
    short = judgment("n5")
    del short["unit"]
    records = [
        judgment(),
        judgment("n2", 3),
        short,
        judgment("n3", None, reason=""),
        judgment("n4", scale=5),
        judgment("n4", vote="x"),
        judgment("n4", score="high"),
        judgment("n4", view="pages"),
        judgment("n1", 0),
        judgment("n1", 1, vote=1),
    ]
    path = write("j.jsonl", lines(*records) + '{"view": "resp')
    assert [
        (line, message.partition(": Unterminated")[0])
        for line, level, message in found("judgments", path)
        if level == "error"
    ] == [
        (2, "grade must be an integer from 0 to 2, or null (got 3)"),
        (3, "no unit: expected view, run, topic, unit, nugget, judge, score, grade"),
        (4, "there must be a reason exactly where the grade is null"),
        (5, "scale must be [highest grade, least grade that counts] (got 5)"),
        (6, "vote must be an integer and params an object"),
        (7, "score must be a number or null (got 'high')"),
        (8, "view must be one of documents, responses, nuggets, sentences, statements (got 'pages')"),
        (9, "duplicate judgment of unit 'A' for topic 't1', nugget 'n1': grade 0, on line 1 grade 1"),
        (11, "not JSON"),
    ]


def test_judgments_that_smell(write):
    path = write(
        "j.jsonl",
        lines(
            judgment(),
            judgment("n2", None),
            judgment("n3", None, reason="refusal: sorry"),
            judgment("n4", None, reason="no verdict"),
            judgment("n1", 1, judge="k"),
            judgment("n2", 2, judge="k"),
            judgment(view="nuggets", params={"threshold": 0.4}),
            judgment("n2", view="nuggets", params={"threshold": 0.5}),
            judgment(view="sentences"),
            judgment("n2", view="sentences", scale=[5, 3]),
        ),
    )
    assert found("judgments", path) == [
        (2, "warning", "3 of 6 judgments of responses failed and count 0: no verdict (2), refusal (1)"),
        (5, "warning", "responses have several judges: j, k"),
        (6, "warning", "two judges disagree about unit 'A' for topic 't1', nugget 'n2': grade 2, on line 2 failed"),
        (8, "warning", "nuggets have several sets of parameters: j:threshold=0.4, j:threshold=0.5"),
        (10, "error", "sentences are judged on several scales: 0 to 2, 1 counts, 0 to 5, 3 counts"),
    ]


def test_a_verdict_that_is_repeated_as_it_was(write):
    path = write("j.jsonl", lines(judgment("n1", None), judgment("n1", None)))
    message = "duplicate judgment of unit 'A' for topic 't1', nugget 'n1': failed, as on line 1"
    assert (2, "error", message) in found("judgments", path)


def test_judgments_against_a_bank(write):
    bank = write("bank", BANK)
    path = write(
        "j",
        lines(judgment(), judgment("n9"), judgment("n9", unit="B"), judgment(topic="t8"), judgment("n2", topic="t8")),
    )
    assert found("judgments", path, bank) == [
        (2, "warning", f"nugget 'n9' of topic 't1' is not in {bank}"),
        (4, "warning", f"topic 't8' is not in {bank}"),
        (0, "warning", f"2 nuggets of {bank} have no judgment of responses: t1 n2, t2 n1"),
    ]
    assert found("judgments", write("k", lines(judgment(topic="t8"))), bank) == [
        (0, "error", f"no nugget in common with {bank}")
    ]


def test_judgments_of_a_whole_bank(write):
    path = write("j", lines(judgment(), judgment("n2"), judgment(topic="t2")))
    assert problems("judgments", path, write("bank", BANK)) == []


# --- the command -----------------------------------------------------------------------------------


def test_the_command(cli, write):
    path = write("a.jsonl", lines(answer(), answer("t2", text="")))
    result = cli("validate", "answers", path, "--against", write("bank", BANK))
    assert result == (0, f"{path}:2: warning: run 'A', topic 't2': the answer is blank and counts 0\n", "nuggeteval: 1 file: 0 errors, 1 warning\n")  # fmt: skip
    broken = write("b.jsonl", "{}\n")
    assert cli("validate", "answers", path, broken).code == 1
    assert cli("validate", "judgments", write("j", lines(judgment()))) == (
        0,
        "",
        "nuggeteval: 1 file: 0 errors, 0 warnings\n",
    )


def test_answers_of_the_demonstration(cli):
    names = ("good", "terse", "off-topic")
    files = [ROOT / "runs" / f"answers-{name}.jsonl" for name in names]
    result = cli("validate", "answers", *files, "--track", "rag25", "--against", ROOT / "qrels" / "demo.bank.jsonl")
    assert result.code == 0
    assert [line.partition(": ")[2] for line in result.out.splitlines()] == [
        f"warning: 1 topics of {ROOT}/qrels/demo.bank.jsonl have no answer in run terse and count 0: tides"
    ]


def test_public_data_are_sound_and_do_not_flood(shared):
    ikat, longeval = shared / "data" / "ikat2024", shared / "data" / "longeval" / "raw" / "runs"
    bank = str(ikat / "human_resources" / "gold_nuggets_human.json")
    for name in ("automatic_responses", "manual_responses", "automatic_response_nuggets"):
        path = str(ikat / "participant_resources" / f"{name}.json")
        assert found("answers", path, bank) == [
            (0, "warning", f"1 topics have no nugget in {bank} and are ignored: 4_7")
        ]
    blank = found("answers", str(ikat / "human_resources" / "gold_response_and_nuggets_human.json"))
    assert blank[-1] == (0, "warning", "blank answers: 12 more")
    assert len(blank) == 6
    files = sorted(str(path) for path in longeval.glob("*/responses.jsonl"))
    assert len(files) == 4
    told = problems("answers", files, track="longeval")
    assert {(problem.level, "official-naive-baseline" in problem.path) for problem in told} == {("warning", True)}
    assert len(told) == 6


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", " "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "citations", "id", "rank"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(sorted(SOUND)), st.sampled_from(["metadata", "references", "answer", "responses", "topic_id", "run_id"]), JSON), max_size=3),
    st.sampled_from(sorted(TRACKS)),
    st.integers(0, 9),
)  # fmt: skip
def test_errors_are_found_exactly_where_answers_cannot_be_read(tmp_path_factory, changes, track, cut):
    text = lines(*({**SOUND[name], key: value} for name, key, value in changes))
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(text[: len(text) - cut], encoding="utf-8")
    errors = [problem for problem in problems("answers", str(path)) if problem.level == "error"]
    problems("answers", str(path), track=track)
    try:
        readable = bool(read_answers(str(path)))
    except NuggetEvalError:
        readable = False
    assert readable == (not errors)


@given(st.dictionaries(st.sampled_from(sorted(judgment(None, None, vote=0, params={}, raw=""))), JSON, max_size=2))
def test_errors_are_found_exactly_where_judgments_cannot_be_read(tmp_path_factory, changes):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(lines({**judgment(), **changes}), encoding="utf-8")
    errors = [problem for problem in problems("judgments", str(path)) if problem.level == "error"]
    try:
        readable = bool(read_judgments(str(path)))
    except NuggetEvalError:
        readable = False
    assert readable == (not errors)


def test_AN12_a_broken_line_after_a_blank_one(shared, cli, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(CASES["AN12"]["files"]["answers.jsonl"])
    result = cli("validate", "answers", path)
    assert result.code == 1
    assert "answers.jsonl:3: error: not JSON" in result.out
