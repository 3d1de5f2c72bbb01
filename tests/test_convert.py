"""Between formats of one kind: what goes there and comes back is what it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cases import CASES

from nuggeteval import DataError, FormatError, Inputs, Nugget, NuggetBank, Run, evaluate
from nuggeteval.data import Judgment, Scale
from nuggeteval.formats.judgments import as_judgment_line, as_nugget_qrels, read_judgments
from nuggeteval.formats.nuggetizer import read_assignments, write_assignments, write_nuggetizer_bank
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.trec import read_qrels
from nuggeteval.ids import stable_id

ASSIGNED = {
    "query": "why do tides differ",
    "qid": "q1",
    "run_id": "alpha",
    "answer_text": "The Moon pulls.",
    "nuggets": [
        {"text": "The Moon raises bulges", "importance": "vital", "assignment": "support"},
        {"text": "Bays amplify tides", "importance": "okay", "assignment": "partial_support"},
        {"text": "The Sun helps", "importance": "okay", "assignment": "not_support", "reasoning": "never said"},
        {"text": "Wind matters", "importance": "okay", "assignment": "failed"},
    ],
}


def test_assignments_are_judgments(write):
    found = [judgment for judgment, _ in read_assignments(write("a", json.dumps(ASSIGNED)))]
    assert [(j.run, j.topic, j.unit, j.grade, j.reason) for j in found] == [
        ("alpha", "q1", "alpha", grade, reason) for grade, reason in ((2, ""), (1, ""), (0, ""), (None, "failed"))
    ]
    assert found[2].raw == "never said"
    assert [j.nugget for j in found] == [stable_id("q1", nugget["text"]) for nugget in ASSIGNED["nuggets"]]
    document = {**ASSIGNED, "docid": "d1"}
    assert {(j.view, j.run, j.unit) for j, _ in read_assignments(write("b", json.dumps(document)))} == {
        ("documents", "", "d1")
    }
    nameless = {key: value for key, value in ASSIGNED.items() if key != "run_id"}
    assert read_assignments(write("beta.jsonl", json.dumps(nameless)))[0][0].run == "beta"


@pytest.mark.parametrize("view", ["documents", "responses"])
def test_assignments_there_and_back(view, cli, write, tmp_path):
    record = {**ASSIGNED, **({"docid": "d1"} if view == "documents" else {})}
    path, there, back = write("a.jsonl", json.dumps(record)), tmp_path / "j", tmp_path / "back"
    assert cli("convert", path, there, "--to", "judgments").code == 0
    assert cli("convert", there, back, "--to", "assignments", "--bank", path).code == 0
    plain = [(judgment.key, judgment.grade, judgment.reason) for judgment, _ in read_assignments(path)]
    assert [(judgment.key, judgment.grade, judgment.reason) for judgment, _ in read_assignments(str(back))] == plain
    assert json.loads(back.read_text())["nuggets"][0] == ASSIGNED["nuggets"][0]


def test_scores_of_assignments(cli, write, tmp_path):
    # V: 1 of 1 vital. A: (1 + 0.5 + 0 + 0) / 4. W: (1 + 0.5 * 0.5) / (1 + 3 * 0.5).
    path, judgments = write("a.jsonl", json.dumps(ASSIGNED)), tmp_path / "j"
    cli("convert", path, judgments, "--to", "judgments")
    answers = write("answers", '{"run": "alpha", "topic": "q1", "text": "The Moon pulls."}')
    result = cli("score", "--judgments", judgments, "--bank", path, answers, "-m", "V,A,W,num_failed")
    assert [line.split()[2] for line in result.out.splitlines()] == ["1.0000", "0.3750", "0.5000", "1"]


def test_NU17_partial_support_no_vital_nugget_and_a_failed_label(shared, write):
    files, expected = CASES["NU17"]["files"], CASES["NU17"]["expected"]["values"]
    path = write("assignments.jsonl", files["assignments.jsonl"])
    qrels = as_nugget_qrels(read_assignments(path), "responses", path)
    run = Run.of({topic: {"A": 1.0} for topic in ("t1", "t2", "t3")}, "A")
    scores = evaluate("V_strict V A_strict A num_failed num_undefined", Inputs(qrels, run, read_bank(path)))
    names = {"strict_vital": "V_strict", "vital": "V", "strict_all": "A_strict", "all": "A"}
    for topic in ("t1", "t2"):
        for theirs, ours in names.items():
            value = expected[topic].get(theirs)
            if isinstance(value, float):
                assert scores.value("A", ours, topic) == pytest.approx(value, abs=1e-6)
    assert scores.value("A", "V", "t2") is None
    assert scores.value("A", "num_failed") == 1
    assert "|failed 1|" in scores.signature


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None}, "1: an assignment has qid and nuggets"),
        ({"nuggets": [{"assignment": "support"}]}, "1: a nugget has a text"),
        ({"nuggets": [{"text": "x", "assignment": "maybe"}]}, "1: assignment must be one of .*got 'maybe'"),
    ],
)
def test_malformed_assignments(change, message, write):
    with pytest.raises(FormatError, match=message):
        read_assignments(write("a", json.dumps({**ASSIGNED, **change})))


def test_what_assignments_cannot_say(tmp_path):
    bank = NuggetBank("b", {"t": (Nugget("1", "x"),)})
    judgment = Judgment("responses", "A", "t", "A", "1", "rubric", None, 4)
    with pytest.raises(DataError, match="these judgments go from 0 to 5"):
        write_assignments([(judgment, Scale(5, 3))], bank, str(tmp_path / "a"))
    other = Judgment("responses", "A", "t", "A", "2", "support", None, 1)
    with pytest.raises(DataError, match="b has no nugget '2' of topic 't'"):
        write_assignments([(other, Scale(2))], bank, str(tmp_path / "a"))
    with pytest.raises(DataError, match="without text"):
        write_nuggetizer_bank(NuggetBank("b", {"t": (Nugget("1", " "),)}), str(tmp_path / "a"))


def test_banks(cli, write, tmp_path):
    gold = {"7_1": {"[1]": {"text": "one"}, "[3]": {"text": "three"}}, "7_2": {}}
    path = write("gold.json", json.dumps(gold))
    assert "2 nuggets of 2 topics" in cli("convert", path, tmp_path / "b", "--to", "bank").err
    assert read_bank(str(tmp_path / "b")).nuggets == read_bank(path).nuggets
    cli("convert", path, tmp_path / "n", "--to", "nuggetizer")
    assert json.loads((tmp_path / "n").read_text().splitlines()[0]) == {
        "qid": "7_1",
        "nuggets": [{"text": "one"}, {"text": "three"}],
    }
    again = read_bank(str(tmp_path / "n"))
    assert [nugget.id for nugget in again.nuggets["7_1"]] == [stable_id("7_1", "one"), stable_id("7_1", "three")]


def test_a_bank_of_extracted_nuggets(cli, write, tmp_path):
    passages = write(
        "p",
        "".join(
            json.dumps({"run": p, "topic": "t", "text": x}) + "\n"
            for p, x in (("p1", "One. Two."), ("p2", "Two. Three."))
        ),
    )
    nuggets, bank = tmp_path / "n", tmp_path / "b"
    assert cli("extract", passages, "-o", nuggets).code == 0
    assert "3 nuggets of 1 topics" in cli("convert", nuggets, bank, "--to", "bank").err
    assert [nugget.text for nugget in read_bank(str(bank)).nuggets["t"]] == ["One.", "Two.", "Three."]
    assert cli("dedup", bank, "-o", tmp_path / "d").code == 0


cells = st.dictionaries(
    st.tuples(st.sampled_from("tuv"), st.sampled_from(["A", "B b/%", "C"]), st.sampled_from("123")),
    st.integers(0, 2),
    min_size=1,
)


@settings(max_examples=30, deadline=None)
@given(cells)
def test_judgments_to_qrels_and_back(tmp_path_factory, cells):
    from nuggeteval.cli import main
    from nuggeteval.data import unit_of_run

    folder = tmp_path_factory.mktemp("convert")
    judgments = [
        Judgment("responses", run, topic, unit_of_run(run), nugget, "stub", None, grade)
        for (topic, run, nugget), grade in cells.items()
    ]
    paths = [str(folder / name) for name in ("j", "q", "k", "r")]
    (folder / "j").write_text("".join(as_judgment_line(judgment, Scale(2)) for judgment in judgments))
    assert main(["convert", paths[0], paths[1], "--to", "qrels"]) == 0
    assert main(["convert", paths[1], paths[2], "--to", "judgments", "--view", "responses"]) == 0
    again = {(j.topic, j.run, j.nugget): j.grade for j, _ in read_judgments(paths[2])}
    assert again == cells
    assert main(["convert", paths[2], paths[3], "--to", "qrels"]) == 0
    assert (folder / "q").read_text() == (folder / "r").read_text()


def test_labels_of_people_are_judgments(cli, write, tmp_path):
    labels = write("labels", "1_7_2_1_a-1\t1\n1_7_2_2_a-1\t0\n")
    aliases = write("aliases", "alias\trun\na-1\talpha run\n")
    result = cli("convert", labels, tmp_path / "j", "--to", "judgments", "--aliases", aliases)
    assert "2 judgments" in result.err
    qrels = as_nugget_qrels(read_judgments(str(tmp_path / "j")), "responses", "j")
    assert (qrels.topics, qrels.unit_ids.tolist(), qrels.grade.tolist()) == (("7_2",), ["alpha%20run"], [1, 0])


def test_answers_and_runs(cli, write, tmp_path):
    answers = write("a.json", json.dumps({"7_1": {"A": {"response": "One. Two.", "nuggets": ["One", "Two"]}}}))
    assert cli("convert", answers, "-", "--to", "run", "--view", "nuggets").out == (
        "7_1 Q0 A/n1 1 -0.0 A\n7_1 Q0 A/n2 2 -1.0 A\n"
    )
    assert cli("convert", answers, tmp_path / "b", "--to", "answers").code == 0
    assert json.loads((tmp_path / "b").read_text())["text"] == "One. Two."
    both = write("two.json", json.dumps({"7_1": {"A": "x", "B": "y"}}))
    assert "has 2 runs; a run file holds one" in cli("convert", both, "-", "--to", "run").err


def test_what_convert_must_be_told(cli, write, tmp_path):
    two = "".join(
        as_judgment_line(Judgment(view, "A", "t", "A", "1", "stub", None, 1), Scale(1))
        for view in ("responses", "sentences")
    )
    path = write("j", two)
    result = cli("convert", path, "-", "--to", "qrels")
    assert (result.code, "has judgments of responses, sentences: --view names one" in result.err) == (2, True)
    assert cli("convert", path, "-", "--to", "qrels", "--view", "sentences").out == "t 1 A 1\n"
    assert cli("convert", path, "-", "--to", "assignments").code == 2
    negative = write("q", "t 1 d -1\n")
    assert "no grade below 0" in cli("convert", negative, "-", "--to", "judgments").err
    assert read_qrels(negative).grade.tolist() == [-1]
    assert "is read twice" in cli("convert", "-", tmp_path / "x", "--to", "qrels").err
    assert cli("convert", write("empty", ""), "-", "--to", "qrels").code == 1


# --- documents -------------------------------------------------------------------------------------


def test_documents_of_a_pool_are_judged(cli, write, tmp_path):
    documents = write(
        "d.jsonl",
        '{"docid": "d1", "title": "Tides", "text": "The Moon pulls water."}\n'
        '{"_id": "d2", "contents": "Bread rises."}\n'
        '{"id": 3, "segment": "Nobody asked for this one."}\n',
    )
    bank = write("b.jsonl", '{"id": "t", "nuggets": [{"nugget_id": "1", "text": "tides: the moon pulls water"}]}')
    one = write("1.run", "t Q0 d1 1 3 A\nt Q0 d2 2 2 A\nt Q0 d9 3 1 A\n")
    two = write("2.run", "t Q0 d2 1 3 B\nt Q0 3 2 2 B\n")
    out = tmp_path / "j"
    arguments = ("judge", bank, documents, "--view", "documents", "--pool", one, two, "-o", out)
    result = cli(*arguments, "--depth", "2")
    assert result.code == 0, result.err
    assert [(j.run, j.unit, j.grade) for j, _ in read_judgments(str(out))] == [
        ("", "d1", 1),
        ("", "d2", 0),
        ("", "3", 0),
    ]
    deeper = cli(*arguments)
    assert "1 of 4 pooled documents have no text, and are not judged: d9" in deeper.err
    assert "3 pairs, 3 already judged" in deeper.err
    qrels = tmp_path / "q"
    assert cli("convert", out, qrels, "--to", "qrels").code == 0
    assert cli(qrels, one, "-m", "Cov@1").out.split() == ["Cov@1", "all", "1.0000"]
    assert cli(qrels, two, "-m", "Cov@1").out.split() == ["Cov@1", "all", "0.0000"]


def test_what_documents_need(cli, write, tmp_path):
    bank = write("b.jsonl", '{"id": "t", "nuggets": [{"nugget_id": "1", "text": "x"}]}')
    run = write("1.run", "t Q0 d1 1 3 A\n")
    good, out = write("d", '{"id": "d1", "text": "x"}'), tmp_path / "j"
    assert "--pool RUN" in cli("judge", bank, good, "--view", "documents", "-o", out).err
    assert "--view documents" in cli("judge", bank, good, "--pool", run, "-o", out).err
    pooled = ("--view", "documents", "--pool", run, "-o", out)
    assert "depth must be at least 1" in cli("judge", bank, good, *pooled, "--depth", "0").err
    for text, message in (
        ('{"text": "x"}', "d:1: no id"),
        ('{"id": "d1"}', "d:1: no text"),
        ('{"id": "d1", "text": "x"}\n{"id": "d1", "text": "y"}', "d:2: document 'd1' twice"),
    ):
        result = cli("judge", bank, write("d", text), *pooled)
        assert (result.code, message in result.err) == (1, True), result.err


def test_a_view_that_is_not_there_is_an_error(cli, write, tmp_path):
    lines = {
        view: as_judgment_line(Judgment(view, "A", "t", "A", "1", "stub", None, 1), Scale(1))
        for view in ("responses", "sentences")
    }
    path = write("j", "".join(lines.values()))
    assert cli("convert", path, "-", "--to", "judgments", "--view", "sentences").out == lines["sentences"]
    assert "has no judgment of nuggets" in cli("convert", path, "-", "--to", "judgments", "--view", "nuggets").err
    answers = write("a.json", json.dumps({"t": {"A": "x"}}))
    assert (
        "has no unit of the view statements" in cli("convert", answers, "-", "--to", "run", "--view", "statements").err
    )
