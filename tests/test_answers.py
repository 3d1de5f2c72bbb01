"""From answers to scores: readers, units, the default judge, judgments that last."""

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

from nuggeteval import (
    DataError,
    FormatError,
    Inputs,
    Nugget,
    NuggetBank,
    NuggetQrels,
    ParameterError,
    Policies,
    Run,
    UnknownNameError,
    evaluate,
)
from nuggeteval.data import Answer, Judgment, Scale, Sentence, Unit
from nuggeteval.extract import by_sentence
from nuggeteval.formats.answers import read_answers, write_answers, write_nuggets
from nuggeteval.formats.judgments import as_judgment_line, as_nugget_qrels, open_judgments, read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.judges import Item, Verdict, make
from nuggeteval.judges.lexical import LexicalJudge
from nuggeteval.judging import judge_units
from nuggeteval.scoring import group_by_view
from nuggeteval.text import content_words, fold, sentences, words
from nuggeteval.units import runs_of, units_of

# --- text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It's the café's 2nd TEST_case.", ["it's", "the", "café's", "2nd", "test", "case"]),
        ("don\u2019t stop", ["don't", "stop"]),
        ("潮汐 и приливы", ["潮汐", "и", "приливы"]),
        ("", []),
    ],
)
def test_words(text, found):
    assert words(text) == found


def test_content_words_are_porter_stems_without_stop_words():
    assert content_words("The pumps were pumping and it pumped") == {"pump"}
    assert content_words("the of and") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("At 3.5 km. 20 more (roughly). [1] says so", ["At 3.5 km.", "20 more (roughly).", "[1] says so"]),
        ("# Title\n\n- **bold** item\n- other", ["Title", "- bold item", "- other"]),
        ("e.g. this one", ["e.g. this one"]),
        ("\u00c9t\u00e9 est fini. \u00c0 bient\u00f4t.", ["\u00c9t\u00e9 est fini.", "\u00c0 bient\u00f4t."]),
        ("  ", []),
    ],
)
def test_sentences(text, found):
    assert sentences(text) == found


def test_folding_hides_what_is_no_difference():
    assert fold("The **Caf\u00e9** \u201cBleu\u201d\n opens") == fold('the cafe\u0301 "bleu" opens')


# --- readers ---------------------------------------------------------------------------------------

SHAPES = {
    "plain": ['{"run": "A", "topic": 7, "text": "One. Two."}'],
    "rag24": [
        '{"run_id": "A", "topic_id": 7, "topic": "why", "references": ["d1", "d2"], "response_length": 2, '
        '"answer": [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": [1, 0]}]}'
    ],
    "rag25": [
        '{"metadata": {"team_id": "t", "run_id": "A", "narrative_id": 7, "narrative": "why"}, "references": ["d1", "d2"], '
        '"answer": [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": ["d2", "d1"]}]}'
    ],
    "ragtime": [
        '{"metadata": {"team_id": "t", "run_id": "A", "topic_id": "7", "task": "english"}, "references": ["d1", "d2"], '
        '"responses": [{"text": "One.", "citations": {"d1": 0.9}}, {"text": "Two.", "citations": {"d2": 0.2, "d1": 0.1}}]}'
    ],
    "argue": [
        '{"request_id": "7", "run_id": "A", "collection_ids": ["c"], '
        '"sentences": [{"text": "One.", "citations": ["d1"]}, {"text": "Two.", "citations": ["d2", "d1"]}]}'
    ],
    "ikat25": [
        '{"metadata": {"team_id": "t", "run_id": "A", "run_type": "automatic"}, "turn_id": "7", "references": {"d1": 2, "d2": 1}, '
        '"responses": [{"text": "One.", "citations": {"d1": 2}}, {"text": "Two.", "citations": {"d2": 1, "d1": 1}}]}'
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape, write, tmp_path):
    path = write("answers.jsonl", "\n\n".join(SHAPES[shape]))
    [answer] = read_answers(path)
    assert (answer.run, answer.topic, answer.text) == ("A", "7", "One. Two.")
    if shape != "plain":
        assert answer.sentences == (Sentence("One.", ("d1",)), Sentence("Two.", ("d2", "d1")))
    assert by_sentence(answer) == ("One.", "Two.")
    out = str(tmp_path / "out.jsonl")
    write_answers([answer], out)
    [again] = read_answers(out)
    for field in ("run", "topic", "text", "sentences", "references", "nuggets", "unresolved"):
        assert getattr(again, field) == getattr(answer, field), field


def test_unknown_keys_are_kept(write, tmp_path):
    path = write("a.jsonl", '{"run": "A", "topic": "t", "text": "x", "evaldata": {"k": 1}}')
    write_answers(read_answers(path), str(tmp_path / "out"))
    assert json.loads((tmp_path / "out").read_text())["evaldata"] == {"k": 1}


def test_cone_rag_and_ikat_objects(write):
    responses = write("r.json", '{"8_5": {"A": "Text of A.", "B": ""}, "9_1": {"A": "More."}}')
    assert [(a.run, a.topic, a.text) for a in read_answers(responses)] == [
        ("A", "8_5", "Text of A."), ("B", "8_5", ""), ("A", "9_1", "More."),
    ]  # fmt: skip
    nuggets = write(
        "n.json", '{"8_5": {"A": {"response": "Text of A.", "nuggets": {"matched": ["Text"], "not-matched": [""]}}}}'
    )
    assert [a.nuggets for a in read_answers(nuggets)] == [("Text",)]
    ikat = write(
        "i.json",
        '{"run_name": "A", "turns": [{"turn_id": "8_5", "responses": [{"rank": 2, "text": "no"}, {"rank": 1, "text": "yes", '
        '"passage_provenance": [{"id": "p1", "used": true}, {"id": "p2", "used": false}]}]}, {"turn_id": "9_1", "responses": []}]}',
    )
    assert [(a.topic, a.text, a.references) for a in read_answers(ikat)] == [("8_5", "yes", ("p1",)), ("9_1", "", ())]


def test_answers_and_their_nuggets_may_come_in_two_files(write, tmp_path):
    answers = write("a.jsonl", '{"run": "A", "topic": "t", "text": "One. Two."}')
    [answer] = read_answers([answers, write("n.jsonl", '{"run": "A", "topic": "t", "nuggets": ["One"]}')])
    assert (answer.text, answer.nuggets) == ("One. Two.", ("One",))
    write_nuggets([answer], str(tmp_path / "out"))
    [alone] = read_answers(str(tmp_path / "out"))
    assert (alone.text, alone.nuggets) == ("", ("One",))


def test_folders_and_names_of_files(write, tmp_path):
    write("runs/b.jsonl", '{"topic": "t", "text": "b"}')
    write("runs/a.jsonl", '{"topic": "t", "text": "a"}')
    assert [a.run for a in read_answers(str(tmp_path / "runs"))] == ["a", "b"]


def test_citations_that_lead_nowhere_are_kept_apart(write):
    path = write(
        "a",
        '{"run": "A", "topic": "t", "references": ["d"], "answer": [{"text": "x", "citations": [0, 5, "z", true]}]}',
    )
    [answer] = read_answers(path)
    assert answer.sentences[0].citations == ("d",)
    assert answer.unresolved == ((0, 5), (0, "z"), (0, True))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"run": "A", "topic": "t1", "text": "x"}\n\n{"run": "A", "topic": "t2", "te\n', 3, "not JSON"),
        ('{"run": "A", "text": "x"}\n{}', 1, "no topic"),
        ('{"run": "A", "topic_id": "1", "narrative_id": "2", "text": "x"}\n\n', 1, "conflicting topics"),
        ('{"metadata": {"run_id": "A", "topic_id": 1}, "topic_id": 2, "text": "x"}', 1, "conflicting topics"),
        ('{"run": true, "topic": "t", "text": "x"}', 1, "must be a string or an integer"),
        ('{"run": "A", "topic": "t"}', 1, "no text"),
        ('{"run": "A", "topic": "t", "text": 5}', 1, "text must be a string"),
        ('{"run": "A", "topic": "t", "answer": [{"citations": []}]}', 1, "sentence 1 must be an object with a text"),
        ('{"run": "A", "topic": "t", "nuggets": [1]}', 1, "nuggets must be a list of strings"),
        ('{"run": "A", "topic": "t", "text": "x", "references": "d"}', 1, "references must be a list or an object"),
        ('{"run": "A", "topic": "t", "text": "x", "metadata": 5}', 1, "metadata must be an object"),
        ('{"t": {"A": 5}}', None, "expected a text or an object"),
        ('{"t": "A"}', None, "expected an object from run to response"),
        ('{"t": {"A": {"nuggets": 5}}}', None, "nuggets must be a list of strings"),
    ],
)
def test_malformed_answers(text, line, message, write):
    path = write("answers.jsonl", text)
    with pytest.raises(FormatError) as error:
        read_answers(path)
    assert error.value.line == line
    assert message in str(error.value)


def test_two_answers_to_one_topic_are_an_error(write):
    path = write("a.jsonl", '{"run": "A", "topic": "t", "text": "x"}\n{"run": "A", "topic": "t", "text": "y"}\n')
    with pytest.raises(DataError, match=r"two answers of run 'A' to topic 't' \(.*a.jsonl:1 and .*a.jsonl:2\)"):
        read_answers(path)


def test_gold_nuggets_of_cone_rag(write):
    bank = read_bank(
        write("g.json", '{"8_5": {"[1]": {"text": "One", "relevance": "4"}, "[3]": {"text": "Two"}}, "4_7": {}}')
    )
    assert [(n.id, n.text) for n in bank.nuggets["8_5"]] == [("1", "One"), ("3", "Two")]
    assert bank.nuggets["4_7"] == ()
    with pytest.raises(FormatError, match="expected an object from id to nugget"):
        read_bank(write("h.json", '{"8_5": [1]}'))


# --- units -----------------------------------------------------------------------------------------

ANSWERS = [
    Answer("A", "t", "One. Two.", nuggets=("One", " ")),
    Answer("B b/%", "t", "Three.", (Sentence("Three."), Sentence("Four."))),
    Answer("A", "u", "  "),
]


def test_units_of_every_view():
    def ids(view):
        return [(unit.topic, unit.id, unit.text) for unit in units_of(ANSWERS, view)]

    assert ids("responses") == [("t", "A", "One. Two."), ("t", "B%20b%2F%25", "Three.")]
    assert ids("nuggets") == [("t", "A/n1", "One"), ("t", "B%20b%2F%25/n1", "Three."), ("t", "B%20b%2F%25/n2", "Four.")]
    assert ids("sentences")[:2] == [("t", "A/s1", "One."), ("t", "A/s2", "Two.")]
    with pytest.raises(ParameterError, match="units of answers must be one of"):
        ids("documents")


def test_runs_of_units():
    runs = list(runs_of(ANSWERS, "sentences"))
    assert [run.name for run in runs] == ["A", "B b/%"]
    assert runs[0].units.tolist() == ["A/s1", "A/s2"]
    assert runs[0].scores.tolist() == [0.0, -1.0]


# --- the default judge -----------------------------------------------------------------------------

NUGGETS = ["pumps deliver heat", "heat is cheap. It rains.", "cold air"]


def test_lexical_by_hand():
    # Content words: {pump, deliv, heat}, {heat, cheap, rain}, {cold, air}; N = 3.
    judge = LexicalJudge(NUGGETS)
    once, twice = math.log(4 / 2) + 1e-9, math.log(4 / 3) + 1e-9
    total = twice + 2 * once
    assert judge.score("Heat from a pump", NUGGETS[0]) == pytest.approx((twice + once) / total)
    # Sentence by sentence: (heat of heat, cheap) and (rain of rain), then the mean.
    assert judge.score("heat and rain", NUGGETS[1]) == pytest.approx((twice / (twice + once) + 1) / 2)
    assert judge.score("", NUGGETS[0]) == 0.0
    assert judge.score("anything", "the of and") == 0.0
    # A word that the bank does not have is as rare as can be.
    assert judge.score("heat", "heat wave") == pytest.approx(twice / (twice + math.log(4) + 1e-9))


def test_lexical_grades():
    items = [Item("heat from a pump", NUGGETS[0]), Item("cold", NUGGETS[0])]
    assert [v.grade for _, v in LexicalJudge(NUGGETS)(items)] == [1, 0]
    assert [v.grade for _, v in LexicalJudge(NUGGETS, threshold=0.9)(items)] == [0, 0]
    score = LexicalJudge(NUGGETS).score(items[0].unit, items[0].nugget)
    rating = LexicalJudge(NUGGETS, rating=True)
    assert [v.grade for _, v in rating(items)] == [math.floor(5 * score + 0.5), 0]
    assert rating.scale == Scale(5, 3)


def test_judges_by_name():
    judge = make("lexical", "nuggets", NUGGETS)
    assert judge.params["threshold"] == 0.40
    assert make("lexical", "responses", NUGGETS).params["threshold"] == 0.455
    assert make("lexical", "nuggets", NUGGETS[:2]).params["idf"] != judge.params["idf"]
    with pytest.raises(UnknownNameError, match="unknown judge 'lexicl' \\(did you mean 'lexical'"):
        make("lexicl", "nuggets", NUGGETS)
    with pytest.raises(ParameterError, match="threshold must be in"):
        make("lexical", "nuggets", NUGGETS, 2.0)


# --- judging ---------------------------------------------------------------------------------------


class Stub:
    """A judge that says yes to listed pairs, and counts what it is asked."""

    name = "stub"
    scale = Scale(1)

    def __init__(self, yes=(), failed=(), stop_after=None):
        self.params = {}
        self.yes, self.failed, self.stop_after, self.asked = set(yes), set(failed), stop_after, []

    def __call__(self, items):
        for index, item in enumerate(items):
            if self.stop_after is not None and len(self.asked) >= self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(item)
            if item in self.failed:
                yield index, Verdict(None, None, "refused")
            else:
                yield index, Verdict(None, int(item in self.yes))


def bank_of(**topics):
    return NuggetBank(
        "bank", {t: tuple(Nugget(f"g{i}", text) for i, text in enumerate(texts, 1)) for t, texts in topics.items()}
    )


def scored(measures, answers, bank, judge, view, tmp_path, **policies):
    path = str(tmp_path / "judgments.jsonl")
    judge_units(units_of(answers, view), {path: bank}, judge, view)
    qrels = as_nugget_qrels(read_judgments(path), view, path)
    return evaluate(measures, Inputs(qrels, runs_of(answers, view), bank), Policies(**policies))


def test_equal_texts_are_judged_once(tmp_path):
    bank = bank_of(t=["one", "two"], u=["one"])
    units = [Unit("A", "t", "A", "x"), Unit("B", "t", "B", "x"), Unit("A", "u", "A", "x"), Unit("A", "v", "A", "x")]
    judge = Stub()
    outcome = judge_units(units, {str(tmp_path / "j"): bank}, judge, "responses")
    assert len(judge.asked) == 2
    assert (outcome.pairs, outcome.known, outcome.asked, outcome.failed, outcome.ignored) == (5, 0, 2, 0, ("v",))
    assert len(read_judgments(str(tmp_path / "j"))) == 5


def test_what_is_written_is_not_asked_again(tmp_path):
    bank, path = bank_of(t=["one", "two", "three"]), str(tmp_path / "j")
    units = [Unit("A", "t", "A", "x"), Unit("B", "t", "B", "y")]
    with pytest.raises(KeyboardInterrupt):
        judge_units(units, {path: bank}, Stub(stop_after=4), "responses")
    assert len(read_judgments(path)) == 4
    with Path(path).open("a") as file:
        file.write('{"view": "resp')
    again = Stub()
    outcome = judge_units(units, {path: bank}, again, "responses")
    assert len(again.asked) == 2
    assert outcome.known == 4
    assert len({judgment.key for judgment, _ in read_judgments(path)}) == 6
    assert judge_units(units, {path: bank}, Stub(stop_after=0), "responses").asked == 0


def test_judgments_of_other_texts_are_not_taken(cli, write, tmp_path):
    path = str(tmp_path / "j")
    units = [Unit("A", "t", "A", "x  y"), Unit("B", "t", "B", "z")]
    judge_units(units, {path: bank_of(t=["one"])}, Stub(), "responses")
    # White space is no other text.
    assert judge_units([Unit("A", "t", "A", "x y")], {path: bank_of(t=["one"])}, Stub(), "responses").asked == 0
    for unit, bank in (("other", bank_of(t=["one"])), ("x y", bank_of(t=["two"]))):
        with pytest.raises(DataError, match="had another text when it was judged"):
            judge_units([Unit("A", "t", "A", unit)], {path: bank}, Stub(), "responses")
    answers = write("a", '{"run": "A", "topic": "t", "text": "changed"}')
    bank = write("b", '{"id": "t", "nuggets": [{"nugget_id": "g1", "text": "one"}]}')
    scored = cli("score", "--judgments", path, "--bank", bank, answers, "-m", "Recall_NtR")
    assert (scored.code, "had another text" in scored.err) == (1, True)


def test_judgments_are_said_again(cli, write, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    answers = write("a", '{"run": "A", "topic": "t", "text": "Tides move water."}')
    renamed = write(
        "c", '{"run": "B", "topic": "u", "text": "Tides  move water."}\n{"run": "C", "topic": "u", "text": "new"}'
    )
    nugget = {"nugget_id": "1", "text": "tides move water"}
    bank = write("b", json.dumps({"id": "t", "nuggets": [nugget]}))
    other = write("d", json.dumps({"id": "u", "nuggets": [{**nugget, "nugget_id": "9"}]}))
    assert cli("judge", bank, answers, "-o", first).code == 0
    result = cli("judge", other, renamed, "--judge", "replay", "--replay", first, "-o", second)
    assert result.code == 0, result.err
    said = [(j.run, j.judge, j.score, j.grade, j.reason) for j, _ in read_judgments(str(second))]
    assert said == [
        ("B", "replay", 1.0, 1, ""),
        ("C", "replay", None, None, "not among the judgments that are replayed"),
    ]
    assert "--replay FILE" in cli("judge", other, renamed, "--judge", "replay", "-o", second).err
    human = as_judgment_line(Judgment("responses", "A", "t", "A", "1", "human", None, 1), Scale(1))
    assert (
        "not replayed"
        in cli("judge", other, renamed, "--judge", "replay", "--replay", write("h", human), "-o", second).err
    )


def test_pairs_without_a_judgment_are_named(cli, write, tmp_path):
    path = str(tmp_path / "j")
    judge_units([Unit("A", "t", "A", "x")], {path: bank_of(t=["one"])}, Stub({Item("x", "one")}), "responses")
    answers = write("a", '{"run": "A", "topic": "t", "text": "x"}')
    bank = write(
        "b",
        json.dumps({"id": "t", "nuggets": [{"nugget_id": f"g{i}", "text": t} for i, t in ((1, "one"), (2, "two"))]}),
    )
    scored = cli("score", "--judgments", path, "--bank", bank, answers, "-m", "Recall_NtR")
    assert scored.out.split()[-1] == "0.5000"
    assert f"A: 1 of 2 pairs of unit and nugget have no judgment in {path} and count 0" in scored.err


@pytest.mark.parametrize("content", ['{"id": "t", "nuggets": []}', "\x1f\x8b", "t 1 A 1\n", '{"id": 1}\n{"id": 2'])
def test_a_file_that_holds_no_judgments_is_left_alone(content, cli, write, tmp_path):
    victim = write("victim", content)
    before = Path(victim).read_bytes()
    for more in ((), ("--dry-run",)):
        result = cli("judge", DEMO_BANK, *DEMO, "-o", victim, *more)
        assert result.code == 1
        assert Path(victim).read_bytes() == before


def test_a_dry_run_changes_nothing(tmp_path):
    path = tmp_path / "j"
    units, bank = [Unit("A", "t", "A", "x")], bank_of(t=["one"])
    judge_units(units, {str(path): bank}, Stub(), "responses")
    whole = path.read_bytes()
    for cut in (whole + b'{"view": "resp', whole.rstrip(b"\n"), whole[:20]):
        path.write_bytes(cut)
        judge_units(units, {str(path): bank}, Stub(), "responses", dry_run=True)
        assert path.read_bytes() == cut
    path.write_bytes(whole.rstrip(b"\n"))
    # A last line that is whole but for its end is kept.
    assert judge_units(units, {str(path): bank}, Stub(), "responses").asked == 0
    assert path.read_bytes() == whole


def test_another_judge_needs_another_file(tmp_path):
    bank, path = bank_of(t=["one"]), str(tmp_path / "j")
    units = [Unit("A", "t", "A", "x")]
    judge_units(units, {path: bank}, LexicalJudge(["one"]), "responses")
    with pytest.raises(DataError, match="write them to another file"):
        judge_units(units, {path: bank}, LexicalJudge(["two"]), "responses")
    # Another view is another matter.
    judge_units(units, {path: bank}, LexicalJudge(["two"]), "nuggets")


def test_a_file_cut_in_its_first_line_is_empty(tmp_path, write):
    path = write("j", '{"view"')
    assert open_judgments(path) == []
    assert judge_units([Unit("A", "t", "A", "x")], {path: bank_of(t=["one"])}, Stub(), "responses").known == 0


def test_killed_at_any_moment_and_resumed(tmp_path):
    """SIGKILL at random moments: every line that was finished stays, nothing is judged twice."""
    out = tmp_path / "judgments.jsonl"
    code = (
        "import sys, time\n"
        "from nuggeteval.data import *\n"
        "from nuggeteval.judging import judge_units\n"
        "from nuggeteval.judges import Verdict\n"
        "class Slow:\n"
        "    name, scale, params = 'slow', Scale(1), {}\n"
        "    def __call__(self, items):\n"
        "        for i, item in enumerate(items):\n"
        "            time.sleep(0.002)\n"
        "            yield i, Verdict(None, 1)\n"
        "bank = NuggetBank('b', {'t': tuple(Nugget(f'g{i}', f'n{i}') for i in range(60))})\n"
        f"judge_units([Unit('A', 't', 'A', 'x')], {{{str(out)!r}: bank}}, Slow(), 'responses')\n"
    )
    before = 0
    for delay in (0.25, 0.3, 0.35, 0.4):
        process = subprocess.Popen([sys.executable, "-c", code])
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        open_judgments(str(out))
        done = len(read_judgments(str(out))) if out.exists() else 0
        assert done >= before
        before = done
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    keys = [judgment.key for judgment, _ in read_judgments(str(out))]
    assert len(keys) == len(set(keys)) == 60


def test_judgments_are_read_back_as_they_were(tmp_path):
    judgment = Judgment("nuggets", "A", "t", "A/n1", "g1", "stub", 0.5, None, "refused", "I cannot", 2, {"model": "m"})
    path = tmp_path / "j"
    path.write_text(as_judgment_line(judgment, Scale(2)))
    assert read_judgments(str(path)) == [(judgment, Scale(2))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"view": "texts"}, "view must be one of"),
        ({"grade": 7}, "grade must be an integer from 0 to 1, or null"),
        ({"grade": None}, "a reason exactly where the grade is null"),
        ({"reason": "why"}, "a reason exactly where the grade is null"),
        ({"unit": 5}, "unit must be a string"),
        ({"judge": None, "topic": 1}, "topic must be a string"),
    ],
)
def test_malformed_judgments(change, message, write):
    record = {
        "view": "nuggets",
        "run": "A",
        "topic": "t",
        "unit": "u",
        "nugget": "g",
        "judge": "j",
        "score": None,
        "grade": 1,
    }
    with pytest.raises(FormatError, match=message):
        read_judgments(write("j", json.dumps({**record, **change})))
    del record["nugget"]
    with pytest.raises(FormatError, match="j:1: no nugget: expected"):
        read_judgments(write("j", json.dumps(record)))


def test_votes_and_failures_become_grades():
    def vote(number, grade, nugget="g1"):
        return Judgment(
            "responses", "A", "t", "A", nugget, "stub", None, grade, "" if grade is not None else "refused", vote=number
        ), Scale(1)

    votes = [vote(0, 1), vote(1, 0), vote(2, 1), vote(0, None, "g2"), vote(0, 0, "g3"), vote(1, 1, "g3")]
    qrels = as_nugget_qrels(votes, "responses", "j")
    assert dict(zip(qrels.nugget_ids, qrels.grade.tolist(), strict=True)) == {"g1": 1, "g2": 0, "g3": 0}
    assert qrels.failed.tolist() == [1]
    with pytest.raises(DataError, match="judged twice"):
        as_nugget_qrels([vote(0, 1), vote(0, 1)], "responses", "j")
    with pytest.raises(DataError, match="no judgment of nuggets"):
        as_nugget_qrels(votes, "nuggets", "j")
    with pytest.raises(DataError, match="several scales"):
        as_nugget_qrels([vote(0, 1), (vote(0, 1, "g2")[0], Scale(5, 3))], "responses", "j")


# --- public bug reports -----------------------------------------------------------------------------


def test_AN01_a_missing_answer_counts_0_and_is_not_judged(tmp_path):
    judge = Stub({Item("x", "g one"), Item("x", "g two")})
    scores = scored(
        "Recall_NtR",
        [Answer("A", "t1", "x")],
        bank_of(t1=["g one", "g two"], t2=["g one"]),
        judge,
        "responses",
        tmp_path,
    )
    assert [scores.value("A", "Recall_NtR", t) for t in ("t1", "t2", None)] == [1.0, 0.0, 0.5]
    assert "A: 1 of 2 topics have no line and count 0: t2" in scores.notes
    assert len(judge.asked) == 2


def test_AN02_blank_answers_are_not_judged(tmp_path):
    judge = Stub()
    outcome = judge_units(
        units_of([Answer("A", "t1", ""), Answer("A", "t2", "  \n")], "responses"),
        {str(tmp_path / "j"): bank_of(t1=["g"], t2=["g"])},
        judge,
        "responses",
    )
    assert (judge.asked, outcome.pairs) == ([], 0)


def test_AN10_answers_to_unknown_topics_are_ignored(tmp_path):
    judge = Stub({Item("x", "g one"), Item("x", "g two"), Item("y", "g one")})
    answers = [Answer("A", "t1", "x"), Answer("A", "t2", "y"), Answer("A", "t99", "z")]
    scores = scored("Recall_NtR", answers, bank_of(t1=["g one", "g two"], t2=["g one"]), judge, "responses", tmp_path)
    assert scores.topics == ("t1", "t2")
    assert scores.value("A", "Recall_NtR") == 1.0
    assert "A: 1 topics are not in the qrels, ignored: t99" in scores.notes
    assert all(item.unit != "z" for item in judge.asked)


def test_NU04_a_deduplicated_bank_restricts_the_same_judgments(tmp_path):
    bank = NuggetBank(
        "b", {"t1": (Nugget("g1", "opened in 1932"), Nugget("g2", "Opened in 1932."), Nugget("g3", "eight lanes"))}
    )
    part = NuggetBank("b[D]", {"t1": (bank.nuggets["t1"][0], bank.nuggets["t1"][2])})
    judge = Stub({Item("x", "opened in 1932"), Item("x", "Opened in 1932.")})
    path = str(tmp_path / "j")
    judge_units(units_of([Answer("A", "t1", "x")], "responses"), {path: bank}, judge, "responses")
    qrels = as_nugget_qrels(read_judgments(path), "responses", path)
    values = [
        evaluate("Recall_NtR", Inputs(qrels, runs_of([Answer("A", "t1", "x")], "responses"), b)).aggregates[0, 0]
        for b in (bank, part)
    ]
    assert values == pytest.approx([2 / 3, 1 / 2])


def test_NU05_blank_nuggets_are_left_out_with_a_warning(tmp_path):
    bank = NuggetBank(
        "b", {"t1": (Nugget("g1", "opened in 1932"), Nugget("g2", ""), Nugget("g3", "   "))}
    ).without_blank()
    answers = [Answer("A", "t1", "", nuggets=("opened in 1932", " "))]
    scores = scored(
        "Recall_NtN Precision_NtN", answers, bank, Stub({Item("opened in 1932", "opened in 1932")}), "nuggets", tmp_path
    )
    assert scores.aggregates[0].tolist() == [1.0, 1.0]
    assert "b: 2 nuggets without text are left out: t1 g2, t1 g3" in scores.notes


def test_NU11_no_extracted_nugget_is_precision_0(tmp_path):
    answers = [Answer("A", "t1", "p one", nuggets=("p one",)), Answer("A", "t2", "x", nuggets=())]
    scores = scored(
        "Recall_NtN Precision_NtN",
        answers,
        bank_of(t1=["g one"], t2=["g two"]),
        Stub({Item("p one", "g one")}),
        "nuggets",
        tmp_path,
    )
    assert scores.aggregates[0].tolist() == [0.5, 0.5]
    assert scores.value("A", "Precision_NtN", "t1") == 1.0


def test_NU13_recall_counts_the_gold_nugget_once(tmp_path):
    answers = [Answer("A", "t1", "", nuggets=("p one", "p uno", "p other"))]
    judge = Stub({Item("p one", "g one"), Item("p uno", "g one")})
    scores = scored("Recall_NtN Precision_NtN", answers, bank_of(t1=["g one", "g two"]), judge, "nuggets", tmp_path)
    assert scores.aggregates[0].tolist() == pytest.approx([1 / 2, 2 / 3])


def test_NU16_the_extracted_nugget_has_to_entail_the_gold_one(tmp_path):
    gold, said = "opened in March 1932 with eight lanes", "opened in 1932"
    scores = scored(
        "Recall_NtN",
        [Answer("A", "t1", "", nuggets=(said,))],
        bank_of(t1=[gold]),
        Stub({Item(gold, said)}),
        "nuggets",
        tmp_path,
    )
    assert scores.aggregates[0, 0] == 0.0


def test_NU18_nugget_ids_belong_to_their_topic(tmp_path):
    answers = [Answer("A", "t1", "x"), Answer("A", "t2", "y")]
    judge = Stub({Item("x", "alpha"), Item("y", "gamma"), Item("y", "delta")})
    scores = scored(
        "Recall_NtR", answers, bank_of(t1=["alpha", "beta"], t2=["gamma", "delta"]), judge, "responses", tmp_path
    )
    assert [scores.value("A", "Recall_NtR", t) for t in ("t1", "t2", None)] == [0.5, 1.0, 0.75]


def test_failed_judgments_are_seen(tmp_path):
    judge = Stub({Item("x", "one")}, failed={Item("x", "two")})
    scores = scored(
        "Recall_NtR num_failed", [Answer("A", "t", "x")], bank_of(t=["one", "two"]), judge, "responses", tmp_path
    )
    assert scores.aggregates[0].tolist() == [0.5, 1]
    assert "|failed 1|" in scores.signature
    table = as_nugget_qrels(read_judgments(str(tmp_path / "judgments.jsonl")), "responses", "j")
    bank, run = bank_of(t=["one", "two"], u=["one"]), Run.of({"t": {"A": 1.0}, "u": {"A": 1.0}}, "A")
    skipped = evaluate("Recall_NtR num_q", Inputs(table, run, bank), Policies(on_failed="skip"))
    assert skipped.topics == ("u",)
    assert "j: topics with failed judgments, left out for every run: t" in skipped.notes
    with pytest.raises(DataError, match="j: 1 judgments failed"):
        evaluate("Recall_NtR", Inputs(table, run, bank), Policies(on_failed="error"))
    assert "|judge stub|" in scores.signature


def test_measures_go_to_the_views_that_were_judged():
    assert {v: [str(m) for m in ms] for v, ms in group_by_view("cone avg_score", ["responses", "nuggets"]).items()} == {
        "nuggets": ["Precision_NtN", "Recall_NtN"], "responses": ["Recall_NtR", "avg_score"],
    }  # fmt: skip
    with pytest.raises(DataError, match="Recall_NtN takes judgments of nuggets; there are judgments of responses"):
        group_by_view("Recall_NtN", ["responses"])
    plain = Inputs(NuggetQrels.of([("t", "n", "r", 1)]), Run.of({"t": {"r": 1.0}}))
    with pytest.raises(DataError, match="avg_score needs the raw scores"):
        evaluate("avg_score", plain)


# --- the commands ----------------------------------------------------------------------------------

DEMO_BANK = str(ROOT / "qrels" / "demo.bank.jsonl")
DEMO = [str(ROOT / "runs" / f"answers-{name}.jsonl") for name in ("good", "terse", "off-topic")]


def test_the_whole_pipeline_in_one_command(cli, tmp_path):
    result = cli("answers", DEMO_BANK, *DEMO, "-o", tmp_path / "out")
    assert result.code == 0, result.err
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["judgments.jsonl", "leaderboard.md", "matches.jsonl", "nuggets.jsonl", "scores.jsonl"]
    rows = {
        line.split()[0]: line.split()[1:]
        for line in result.out.splitlines()
        if line.startswith(("good", "terse", "off-topic"))
    }
    assert float(rows["good"][0]) > float(rows["terse"][0]) > float(rows["off-topic"][0])
    matches = [json.loads(line) for line in (tmp_path / "out" / "matches.jsonl").read_text().splitlines()]
    assert all(match["matched"] == bool(match["covers"]) for match in matches)
    again = cli("answers", DEMO_BANK, *DEMO, "-o", tmp_path / "out")
    assert again.out == result.out
    assert "0 distinct pairs of texts asked" in again.err


def test_several_banks_in_one_call(cli, write, tmp_path):
    answers = write("a.jsonl", '{"run": "A", "topic": "t", "text": "Tides move water. Moons move tides."}')
    one = [{"nugget_id": "1", "text": "tides move water"}, {"nugget_id": "2", "text": "sharks eat tuna"}]
    banks = {
        "whole": one,
        "part": one[:1],
        "other": [{"nugget_id": "1", "text": "moons move  tides"}],
    }
    paths = {name: write(f"{name}.jsonl", json.dumps({"id": "t", "nuggets": n})) for name, n in banks.items()}
    out = tmp_path / "out"
    also = ("--also", paths["part"], "--also", paths["other"])
    result = cli("answers", paths["whole"], answers, *also, "--view", "responses", "-o", out)
    assert result.code == 0, result.err
    assert [line.split()[1] for line in result.out.splitlines() if line.startswith("A ")] == [
        "0.5000",
        "1.0000",
        "1.0000",
    ]
    # A part shares the judgments of the whole; another bank with the same ids has its own.
    assert [path.name for path in sorted(out.glob("judgments*"))] == ["judgments.jsonl", "judgments.other.jsonl"]
    alone = tmp_path / "alone"
    assert cli("answers", paths["other"], answers, "--view", "responses", "-o", alone).code == 0
    assert (alone / "judgments.jsonl").read_text() == (out / "judgments.other.jsonl").read_text()
    twice = cli("answers", paths["whole"], answers, "--also", paths["part"], "--also", paths["part"], "-o", out)
    assert twice.code == 2
    assert "another bank is called part too" in twice.err


def test_equal_texts_of_two_banks_are_judged_once(tmp_path):
    judge = Stub({Item("x", "same"), Item("x", "mine")})
    banks = {str(tmp_path / "a"): bank_of(t=["same", "mine"]), str(tmp_path / "b"): bank_of(t=["theirs", " same"])}
    outcome = judge_units([Unit("A", "t", "A", "x")], banks, judge, "responses")
    assert judge.asked == [Item("x", "same"), Item("x", "mine"), Item("x", "theirs")]
    judge.yes.add(Item("x", " same"))
    assert (outcome.pairs, outcome.asked) == (4, 3)
    grades = {path: [j.grade for j, _ in read_judgments(path)] for path in banks}
    assert [sorted(found) for found in grades.values()] == [[1, 1], [0, 1]]
    for path, bank in banks.items():
        judge_units([Unit("A", "t", "A", "x")], {path + "-alone": bank}, Stub(judge.yes), "responses")
        labels = [{j.nugget: j.grade for j, _ in read_judgments(p)} for p in (path, path + "-alone")]
        assert labels[0] == labels[1]


def test_four_gold_sets_cost_at_most_57_percent_of_four_passes(shared, tmp_path):
    data = shared / "data/ikat2024"
    answers = read_answers([str(p) for p in sorted((data / "participant_resources").glob("*_response_nuggets.json"))])
    folders = {"human": "human_resources", "llm": "automatic_resources"}
    banks = {
        (source, part): read_bank(str(data / folder / f"gold_nuggets_{source}{part}.json")).without_blank()
        for source, folder in folders.items()
        for part in ("", "_deduplicated")
    }
    assert all(banks[source, ""].has_all_of(banks[source, "_deduplicated"]) for source in folders)
    together = {str(tmp_path / source): banks[source, ""] for source in folders}
    asked = separate = 0
    for view in ("responses", "nuggets"):
        units = list(units_of(answers, view))
        asked += judge_units(units, together, Stub(), view, dry_run=True).asked
        separate += sum(len(bank.nuggets.get(unit.topic, ())) for unit in units for bank in banks.values())
    assert separate == 320_160 + 1_885_552
    assert asked / separate <= 0.57


def test_what_answers_must_be_told_before_anything_is_judged(cli, write, tmp_path):
    out = tmp_path / "out"
    for arguments, message in (
        (("--gold", "human"), "--among published:NAME"),
        (("--among", "published:ikat2024", "--gold", "nosuch"), "unknown gold of published:ikat2024"),
        (("--among", "published:ikat2024", "--gold", "human", "--gold", "llm"), "given 2 times, for 1 banks"),
        (("--among", "published:ikat"), "unknown published table"),
        (("--by", "nosuch"), "nosuch: no such file"),
        (("--votes", "0"), "says the same every time"),
        (("--prompt", write("p", "x")), "reads no prompt"),
    ):
        result = cli("answers", DEMO_BANK, *DEMO, *arguments, "-o", out)
        assert (result.code in (1, 2), message in result.err) == (True, True), result.err
        assert not (out / "judgments.jsonl").exists()
    assert cli("answers", DEMO_BANK, *DEMO, "--dry-run", "-o", tmp_path / "dry").code == 0
    assert not (tmp_path / "dry").exists()
    other = write("other", '{"id": "unheard", "nuggets": [{"nugget_id": "1", "text": "x"}]}')
    assert "no topic in common" in cli("answers", other, *DEMO, "-o", out).err
    assert "no answer in" in cli("answers", DEMO_BANK, write("empty", ""), "-o", out).err
    assert "cannot be made one" in cli("answers", DEMO_BANK, *DEMO, "-o", write("file", "x")).err


def test_a_folder_of_a_submission(cli, write, tmp_path):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "ir-metadata.yml").write_text("tag: x\n")
    (folder / ".hidden").write_text("x")
    (folder / "myrun").write_text('{"run": "A", "topic": "t", "text": "x"}\n')
    assert [answer.run for answer in read_answers(str(folder))] == ["A"]
    assert cli("validate", "answers", folder).code == 0
    empty = tmp_path / "none"
    empty.mkdir()
    assert "no file of answers in the folder" in cli("validate", "answers", empty).out


def test_turns_as_the_reference_averages_them(cli, write, tmp_path):
    """The five cases of the released code, each a topic; A and B answer, C has nothing but t1.

    A: t1 both nuggets found by one of two spans; t2 (no gold nugget); t3 nothing extracted, the text has the nugget;
    t4 an empty answer; t9 is not in the gold file; C lacks t2 to t4.
    """
    gold = {
        "t1": {"[1]": {"text": "tides move water"}},
        "t2": {},
        "t3": {"[1]": {"text": "sharks eat tuna"}},
        "t4": {"[1]": {"text": "bread rises"}},
    }
    told = {
        "t1": {
            "A": {"response": "Tides move water. Or not.", "nuggets": ["Tides move water", "Or not"]},
            "C": {"response": "Nothing.", "nuggets": ["Nothing"]},
        },
        "t2": {"A": {"response": "Anything.", "nuggets": ["Anything"]}},
        "t3": {"A": {"response": "Sharks eat tuna.", "nuggets": []}},
        "t4": {"A": {"response": "", "nuggets": []}},
        "t9": {"A": {"response": "Who knows.", "nuggets": ["Who knows"]}},
    }
    paths = write("gold.json", json.dumps(gold)), write("a.json", json.dumps(told))
    result = cli("answers", *paths, "--turns", "reference", "-o", tmp_path / "out")
    assert result.code == 0, result.err
    rows = {line.split()[0]: line.split()[1:] for line in result.out.splitlines() if line.startswith(("A ", "C "))}
    # A: NtR over t1, t3: (1 + 1) / 2. NtN recall over t1 to t4: (1 + 0 + 0 + 0) / 4; precision over t1, t2: (1/2 + 0) / 2.
    assert (rows["A"][0], rows["A"][2], rows["A"][3]) == ("1.0000", "0.2500", "0.2500")
    assert (rows["C"][0], rows["C"][2], rows["C"][3]) == ("0.0000", "0.0000", "0.0000")
    assert "left out: t9" in result.err
    assert "|turns reference" in result.out
    ours = cli("answers", *paths, "-o", tmp_path / "out")
    rows = {line.split()[0]: line.split()[1:] for line in ours.out.splitlines() if line.startswith("A ")}
    # Over t1, t3, t4: NtR (1 + 1 + 0) / 3, NtN recall (1 + 0 + 0) / 3, precision (1/2 + 0 + 0) / 3.
    assert (rows["A"][0], rows["A"][2], rows["A"][3]) == ("0.6667", "0.3333", "0.1667")


def test_judge_score_and_extract_step_by_step(cli, tmp_path):
    out = str(tmp_path / "j.jsonl")
    assert cli("extract", *DEMO, "-o", tmp_path / "n.jsonl").code == 0
    for view in ("responses", "nuggets"):
        assert cli("judge", DEMO_BANK, *DEMO, "--view", view, "-o", out).code == 0
    stepwise = cli("score", "--judgments", out, "--bank", DEMO_BANK, "-m", "cone,avg_score", "-q", *DEMO)
    assert stepwise.code == 0, stepwise.err
    assert "good\tall\tRecall_NtR\t0.8289" in stepwise.out
    assert cli("--judgments", out, *DEMO).code == 2
    assert cli("--judgments", out, "--bank", DEMO_BANK, "-m", "Precision_NtR", *DEMO).code == 1
    assert cli("--judgments", out, "--bank", DEMO_BANK, "-o", out, *DEMO).code == 2


def test_agreement_counts_scales_and_votes(cli, write):
    def judged(nugget, grade, vote=0):
        return as_judgment_line(
            Judgment("responses", "A", "7_1", "A", nugget, "rubric", None, grade, vote=vote), Scale(5, 3)
        )

    labels = write("labels", "1_7_1_1_A\t0\n1_7_1_2_A\t1\n1_7_1_3_A\t0\n")
    # Grades 1 and 2 do not count on this scale; of three votes 0, 0, 4 the majority is 0.
    grades = (("1", 1, 0), ("2", 5, 0), ("3", 2, 0))
    whole = cli("agree", labels, write("j", "".join(judged(*g) for g in grades))).out
    assert re.search(r"^all +3 +1\.0000 +1\.0000 ", whole, re.MULTILINE)
    votes = (("1", 0, 0), ("1", 0, 1), ("1", 4, 2), ("2", 4, 0), ("2", 4, 1), ("2", 0, 2))
    whole = cli("agree", labels, write("k", "".join(judged(*v) for v in votes))).out
    assert re.search(r"^all +2 +1\.0000 +1\.0000 ", whole, re.MULTILINE)
    twice = cli("agree", labels, write("l", judged("1", 0) + judged("1", 4)))
    assert (twice.code, "is judged twice" in twice.err) == (1, True)


def test_agreement_with_people(cli, write):
    judged = "".join(
        as_judgment_line(Judgment("responses", run, "1_2", run, nugget, "stub", None, grade), Scale(1))
        for run, nugget, grade in (("run_a", "1", 1), ("run_a", "2", 0), ("b", "1", 1), ("b", "2", 1))
    )
    judge = write("j.jsonl", judged)
    people = [write(f"p{i}", text) for i, text in enumerate((
        "7_1_2_1_run_a\t1\n7_1_2_2_run_a\t0\n7_1_2_1_b\t1\n7_1_2_2_b\t0\n",
        "7_1_2_1_run_a\t1\n7_1_2_2_run_a\t1\n7_1_2_1_b\t1\n7_1_2_2_b\t0\n",
        "7_1_2_1_run_a\t1\n7_1_2_2_run_a\t0\n",
    ))]  # fmt: skip
    result = cli("agree", *people, judge, "--disagreements")
    assert result.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.out.splitlines() if line.strip()}
    # All: yes yes no no (people) beside yes yes no yes: accuracy 3/4; expected 1/2 x 3/4 + 1/2 x 1/4; kappa 1/2.
    # AC1: share of yes (2 + 3) / 8, chance 2 x .625 x .375 = .46875, (.75 - .46875) / .53125 = .5294. alpha: o(yes, no)
    # 1 each way, n(yes) = 5, n(no) = 3: 1 - 7 x 2 / (2 x 5 x 3) = .5333.
    assert rows["all"] == [
        "4",
        "0.7500",
        "0.5000",
        "0.5294",
        "0.5333",
        "0.5000",
        "0.6667",
        "1.0000",
        "2",
        "0",
        "1",
        "1",
    ]
    assert re.search(r"^run_a +2 +1\.0000 +1\.0000 ", result.out, re.MULTILINE)
    assert re.search(r"^b +1_2 +2 +0 +1$", result.out, re.MULTILINE)
    # Shares of yes: people .5 and .5, a constant side.
    assert "tau-b undefined, rho undefined over 2 runs; undefined: all scores equal on the first side" in result.out
    bank = write(
        "bank.jsonl", '{"topic": "1_2", "nuggets": [{"id": "1", "text": "one"}, {"id": "2", "text": "the text"}]}\n'
    )
    shown = cli("agree", *people, judge, "--disagreements", "--bank", bank, "--by-topic", "--format", "markdown").out
    assert re.search(r"\| b +\| 1_2 +\| 2 +\| 0 +\| 1 +\| the text", shown)
    assert re.search(r"\| 1_2 +\| +4 \| +0\.7500 \|", shown)
    lines = [
        json.loads(line) for line in cli("agree", *people, judge, "--bank", bank, "--format", "jsonl").out.splitlines()
    ]
    assert lines[0] == {
        "all": True,
        "number": 4,
        "accuracy": 0.75,
        "kappa": 0.5,
        "ac1": pytest.approx(0.28125 / 0.53125),
        "alpha": pytest.approx(16 / 30),
        "majority": 0.5,
        "precision": 2 / 3,
        "recall": 1.0,
        "yes/yes": 2,
        "yes/no": 0,
        "no/yes": 1,
        "no/no": 1,
    }
    assert lines[-1] == {
        "disagreement": {
            "run": "b",
            "topic": "1_2",
            "nugget": "2",
            "people": 0,
            "judge": 1,
            "text": "the text",
            "response": "",
        }
    }
    assert cli("agree", people[0]).code == 2
    empty = cli("agree", people[0], write("empty", ""))
    assert (empty.code, "empty: no label, and no judgment of a response" in empty.err) == (1, True)
    assert cli("agree", write("bad", "nonsense\n"), judge).code == 1
    assert cli("agree", write("other", "7_9_9_1_b\t1\n"), judge).code == 1
    aliased = write("aliased", "7_1_2_1_A\t1\n7_1_2_2_A\t0\n")
    assert "1.0000" in cli("agree", aliased, judge, "--aliases", write("al.tsv", "alias\trun\nA\trun_a\n")).out


# --- real data -------------------------------------------------------------------------------------


@pytest.fixture
def ikat(shared):
    return shared / "data/ikat2024"


def test_counts_of_the_released_files(ikat):
    sizes = {
        "human_resources/gold_nuggets_human.json": 2279,
        "human_resources/gold_nuggets_human_deduplicated.json": 1201,
        "automatic_resources/gold_nuggets_llm.json": 6680,
        "automatic_resources/gold_nuggets_llm_deduplicated.json": 3760,
    }
    for name, size in sizes.items():
        bank = read_bank(str(ikat / name))
        assert (len(bank.nuggets), len(bank)) == (116, size), name
    assert (
        sum(
            bool(nuggets)
            for nuggets in read_bank(str(ikat / "human_resources/gold_nuggets_human.json")).nuggets.values()
        )
        == 78
    )
    folder = ikat / "participant_resources"
    answers = read_answers([str(folder / f"{kind}_responses.json") for kind in ("automatic", "manual")])
    assert (len({a.run for a in answers}), len({a.topic for a in answers}), len(answers)) == (23, 79, 1817)
    nuggets = read_answers([str(folder / f"{kind}_response_nuggets.json") for kind in ("automatic", "manual")])
    assert sum(len(answer.nuggets) for answer in nuggets) == 9892


def test_extracted_nuggets_are_spans_of_their_responses(ikat):
    """Exact, but for case, but for white space: 9,886 of 9,892."""
    folder = ikat / "participant_resources"
    passed = 0
    for answer in read_answers([str(folder / f"{kind}_response_nuggets.json") for kind in ("automatic", "manual")]):
        text = " ".join(answer.text.casefold().split())
        passed += sum(" ".join(nugget.casefold().split()) in text for nugget in answer.nuggets)
    assert passed == 9886


def test_lexical_on_the_human_labels_and_the_published_ranking(cli, ikat, tmp_path):
    folder = ikat / "participant_resources"
    responses = [folder / f"{kind}_responses.json" for kind in ("automatic", "manual")]
    gold = ikat / "human_resources/gold_nuggets_human.json"
    result = cli("answers", gold, *responses, "--view", "responses", "--among", "published:ikat2024", "-o", tmp_path)
    assert result.code == 0
    assert "responses: 52417 pairs" in result.err
    taus = [float(line.split()[1].rstrip(",")) for line in result.out.splitlines() if "tau-b" in line]
    assert len(taus) == 2
    assert taus[0] >= 0.69
    assert taus[1] >= 0.70
    labels = ikat / "human_resources/human-study-matching-labels.txt"
    agree = cli("agree", labels, tmp_path / "judgments.jsonl", "--aliases", ikat / "alias_map.tsv")
    lines = [line.split() for line in agree.out.splitlines()]
    number, accuracy, kappa, *_ = whole = next(line for line in lines if line[:1] == ["all"])[1:]
    confusion = whole[-4:]
    assert int(number) == 673
    assert float(kappa) == pytest.approx(0.42, abs=0.01)
    assert float(accuracy) == pytest.approx(0.828, abs=0.001)
    assert int(confusion[0]) + int(confusion[1]) == 110
    per_run = {line[0]: [int(cell) for cell in line[9:11]] for line in lines if len(line) == 13 and line[1].isdigit()}
    yes = {"NII_USI_UCL": 30, "gpt4-QD1-rr": 29, "RALI_gpt4o_nonp_fusion_rerank": 19, "uot-yahoo_run": 13, "ksu": 7}
    assert {run: sum(per_run[run]) for run in yes} == yes


def test_the_published_table_is_the_papers(ikat):
    import csv

    from nuggeteval.published import read_published

    with (ikat / "table09_generation.tsv").open() as file:
        printed = {row["run"]: row for row in csv.DictReader(file, delimiter="\t")}
    table = read_published("published:ikat2024")
    assert len(table.runs) == len(printed) == 24
    for run in table.runs:
        assert table.column("Recall_NtR:human")[run] == float(printed[run]["R_NtR_human"])
        assert table.column("Precision_NtN:llm")[run] == float(printed[run]["P_NtN_llm"])
    with pytest.raises(UnknownNameError, match="unknown published table 'ikat1999'"):
        read_published("ikat1999")
