"""Answers against reference texts: ROUGE against two packages, BERTScore and BEM against a direct computation, gold files."""

import csv
import json
import math

import numpy as np
import pytest
from conftest import WORDS
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval import DataError, FormatError, NuggetQrels, ParameterError, Policies, UnknownNameError, evaluate
from nuggeteval.data import Answer, Run, Sentence
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.gold import read_gold
from nuggeteval.measures.axioms import preference, term_share
from nuggeteval.measures.rouge import lcs_length, lcs_words, rouge_tokens, uses_unicode
from nuggeteval.measures.similarity import read_baseline
from nuggeteval.models.bertscore import BertScorer
from nuggeteval.references import AnswerInputs
from nuggeteval.responses import evaluate_answers
from nuggeteval.scoring import Inputs

ROUGE = "ROUGE_1 ROUGE_2 ROUGE_L"


def rouge(text, *gold, measure="ROUGE_L"):
    """The value of one answer."""
    return evaluate_answers(measure, [Answer("A", "t", text)], AnswerInputs(gold={"t": list(gold)})).value("A", measure)


def case(shared, write, name):
    """The files of a public bug report."""
    [found] = [one for one in json.loads((shared / "cases/open.json").read_text()) if one["id"] == name]
    return {file: write(f"{name}/{file}", content) for file, content in found["files"].items()}


def rows(result):
    """(topic, measure) -> value of one run, in trec_eval's layout."""
    assert result.code == 0, result.err
    found = ([part.strip() for part in line.split("\t")] for line in result.out.splitlines())
    return {(topic, measure): float(value) for measure, topic, value in found}


# --- ROUGE, by rouge-score -------------------------------------------------------------------------


def test_the_published_values_of_longeval(shared):
    lines = (shared / "data/longeval/rouge_fixture.jsonl").read_text().splitlines()
    assert len(lines) == 9
    for row in map(json.loads, lines):
        answers, inputs = [Answer("A", "t", row["generated_answer"])], AnswerInputs(gold={"t": [row["gold_answer"]]})
        scores = evaluate_answers(ROUGE, answers, inputs)
        for measure, key in zip(scores.measures, ("rouge1_f1", "rouge2_f1", "rougeL_f1"), strict=True):
            assert scores.value("A", measure) == pytest.approx(row[key], abs=1e-9)


WORD = st.sampled_from(
    ["the", "a", "cats", "cat", "running", "Ran", "generously", "general", "x-ray", "it's", "_", ".", "\n"]
)
TEXT = st.lists(WORD, max_size=30).map(" ".join) | st.text(st.characters(max_codepoint=127), max_size=40)
ORACLE = {"ROUGE_1": "rouge1", "ROUGE_2": "rouge2", "ROUGE_L": "rougeL"}


@given(TEXT, TEXT)
def test_texts_in_ascii_score_as_rouge_score_has_it(text, gold):
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(list(ORACLE.values()), use_stemmer=True).score(gold, text)
    for measure, name in ORACLE.items():
        for value, field in (("f1", "fmeasure"), ("precision", "precision"), ("recall", "recall")):
            ours = rouge(text, gold, measure=f"{measure}(value='{value}')")
            assert ours == pytest.approx(getattr(theirs[name], field), abs=1e-12)


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_of_several_references_the_best_by_f1_counts(golds, text):
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL"], use_stemmer=True).score_multi(golds, text)["rougeL"]
    assert rouge(text, *golds) == pytest.approx(theirs.fmeasure, abs=1e-12)
    assert rouge(text, *golds, measure="ROUGE_L(value='recall')") == pytest.approx(theirs.recall, abs=1e-12)


def table_lcs(x, y):
    """Longest common subsequences by the whole table, and the words of the one that ``rouge`` takes."""
    table = np.zeros((len(x) + 1, len(y) + 1), dtype=int)
    for i, j in np.ndindex(len(x), len(y)):
        table[i + 1, j + 1] = table[i, j] + 1 if x[i] == y[j] else max(table[i, j + 1], table[i + 1, j])
    i, j, found = len(x), len(y), set()
    while i and j:
        if x[i - 1] == y[j - 1]:
            found.add(x[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1, j] > table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return table[-1, -1], found


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcde"), max_size=12))
def test_bits_for_a_table(x, y):
    assert (lcs_length(x, y), lcs_words(x, y)) == table_lcs(x, y)


def test_a_long_text_is_fast():
    x, y = [str(i % 997) for i in range(5000)], [str(i % 991) for i in range(5000)]
    assert lcs_length(x, y) == lcs_length(y, x) > 1000


# --- any script ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "東京は日本の首都です",
        "Столица России",
        "नमस्ते दुनिया",
        "수도는 서울",
        "القاهرة عاصمة مصر",
        "Đà Nẵng ở miền Trung Việt Nam",
    ],
)
def test_a_text_of_any_script_scores_1_against_itself(text):
    assert uses_unicode(text)
    scores = evaluate_answers(ROUGE, [Answer("A", "t", text)], AnswerInputs(gold={"t": [text]}))
    assert scores.aggregates.tolist() == [[1.0, 1.0, 1.0]]


def test_the_tokens_of_other_scripts():
    assert rouge_tokens("東京 2024年", unicode=True) == ("東", "京", "2024", "年")
    assert rouge_tokens("हिन्दी", unicode=True) == ("हिन्दी",)
    assert rouge_tokens("Zürich runs", unicode=True) == ("zürich", "run")
    assert rouge_tokens("Zürich runs", unicode=False) == ("z", "rich", "run")
    # Of seven characters six are shared, in this order: 2 x 6 / (7 + 7).
    assert rouge("東京は大きい町", "東京は大きな町") == pytest.approx(6 / 7)


def test_which_letters_count_is_a_parameter():
    german = "Zürich grüßt"
    assert not uses_unicode("abcdefghi\u00e9")
    assert uses_unicode("\u0661\u0662\u0663")
    assert not uses_unicode("The naïve approach of the Côte d'Azur")
    assert rouge("zuerich", german, measure="ROUGE_1(tokens='ascii')") == 0
    # ASCII: z rich gr t and z rich; else two words, of which one is shared.
    assert rouge("Zürich", german, measure="ROUGE_1(tokens='ascii')") == pytest.approx(2 * 2 / (2 + 4))
    assert rouge("Zürich", german, measure="ROUGE_1(tokens='unicode')") == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="'tokens' must be one of auto, ascii, unicode"):
        rouge("x", "x", measure="ROUGE_1(tokens='words')")


def test_the_reference_decides_how_all_answers_are_read():
    assert rouge("Tokyo", "東京は日本の首都です") == 0
    assert rouge("東京 Tokyo", "Tokyo is the capital") == pytest.approx(2 / 5)


# --- ROUGE, by rouge -------------------------------------------------------------------------------

CLASSIC = {"ROUGE_1": "rouge-1", "ROUGE_2": "rouge-2", "ROUGE_L": "rouge-l"}
CLASSIC_TEXT = st.lists(st.sampled_from(["a", "b", "c", "A", "d", "é", ".", ". ", " .", "  ", "\n"]), max_size=25).map(
    " ".join
)


@given(CLASSIC_TEXT | TEXT, CLASSIC_TEXT | TEXT)
def test_the_classic_variant_scores_as_rouge_has_it(text, gold):
    from rouge import Rouge

    try:
        theirs = Rouge().get_scores(text, gold)[0]
    except ValueError:  # one of them is empty
        theirs = {name: {"f": 0.0, "p": 0.0, "r": 0.0} for name in CLASSIC.values()}
    for measure, name in CLASSIC.items():
        for value, field in (("f1", "f"), ("precision", "p"), ("recall", "r")):
            ours = rouge(text, gold, measure=f"{measure}(value='{value}',variant='rouge')")
            assert ours == pytest.approx(theirs[name][field], abs=1e-12)


def test_the_means_of_ikat(shared):
    ikat = shared / "data/ikat2024"
    gold = read_gold(str(ikat / "human_resources/gold_response_and_nuggets_human.json"))
    assert len(gold) == 62
    folder = ikat / "participant_resources"
    answers = read_answers([str(folder / f"{kind}_responses.json") for kind in ("automatic", "manual")])
    measures = [f"{measure}(variant='rouge')" for measure in CLASSIC]
    scores = evaluate_answers(measures, answers, AnswerInputs(gold=gold))
    with (ikat / "rouge_recomputed.tsv").open() as lines:
        published = list(csv.DictReader(lines, delimiter="\t"))
    assert sorted(scores.runs) == sorted(row["run_name"] for row in published)
    for row in published:
        values = [scores.value(row["run_name"], measure) for measure in measures]
        assert values == pytest.approx([float(row[name]) for name in ("rouge_1", "rouge_2", "rouge_l")], abs=1e-5)
    assert len(scores.topics) == 62
    assert any(note.startswith("17 answered topics have no gold answer") for note in scores.notes)


# --- public bug reports ----------------------------------------------------------------------------


def test_RB01_an_empty_answer_is_0(shared, write, cli):
    files = case(shared, write, "RB01")
    result = cli("score", "-q", "-m", "ROUGE_1,ROUGE_L", "--gold", files["gold_answers.jsonl"], files["answers.jsonl"])
    assert rows(result) == {(topic, m): 0.0 for topic in ("t1", "t2", "all") for m in ("ROUGE_1", "ROUGE_L")}
    classic = cli(
        "score", "-m", "ROUGE_L(variant='rouge')", "--gold", files["gold_answers.jsonl"], files["answers.jsonl"]
    )
    assert list(rows(classic).values()) == [0.0]


def test_RB02_a_japanese_text_against_itself(shared, write, cli):
    files = case(shared, write, "RB02")
    result = cli("score", "-m", "ROUGE_L", "--gold", files["gold_answers.jsonl"], files["answers.jsonl"])
    assert rows(result) == {("all", "ROUGE_L"): 1.0}


def test_RB04_one_sequence_whatever_the_lines(shared, write, cli):
    files = case(shared, write, "RB04")
    result = cli("score", "-m", "ROUGE_L", "--gold", files["gold_answers.jsonl"], files["answers.jsonl"])
    assert rows(result) == {("all", "ROUGE_L"): 0.5}


def test_RB06_precision_and_recall_are_not_exchanged(shared, write, cli):
    files = case(shared, write, "RB06")
    wanted = "ROUGE_L,ROUGE_L(value='precision'),ROUGE_L(value='recall')"
    result = cli("score", "-m", wanted, "--gold", files["gold_answers.jsonl"], files["answers.jsonl"])
    assert list(rows(result).values()) == [0.6667, 1.0, 0.5]


def test_RB09_a_topic_without_gold_answer_is_in_no_mean(shared, write, cli):
    files = case(shared, write, "RB09")
    result = cli("score", "-q", "-m", "ROUGE_L", "--gold", files["gold_answers.jsonl"], files["answers.jsonl"])
    assert rows(result) == {("t1", "ROUGE_L"): 1.0, ("all", "ROUGE_L"): 1.0}
    assert "1 answered topics have no gold answer and are in no mean of ROUGE_L: t2" in result.err
    assert "|topics 1|missing 0|undefined 0|gold sha256:" in result.err


# --- gold answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"topic": "a", "text": "x y"}\n{"topic": "a", "text": "z"}\n{"topic": 7, "answer": "w"}', {"a": ["x y", "z"], "7": ["w"]}),
        ('{"query_id": "a", "gold_answer": "x"}', {"a": ["x"]}),
        ('{"narrative_id": "a", "gold": ["x.", "y."]}', {"a": ["x. y."]}),
        ('{"qid": "a", "answer": [{"text": "x.", "citations": [0]}, {"text": "y."}]}', {"a": ["x. y."]}),
        ('{"metadata": {"narrative_id": "a", "run_id": "r"}, "references": [], "answer": [{"text": "x."}]}', {"a": ["x."]}),
        ('[{"topic_id": "a", "topic": "about", "text": "x"}]', {"a": ["x"]}),
        ('{"records": [{"topic": "a", "text": "x"}]}', {"a": ["x"]}),
        ('{"1_1": {"manual": {"response": "x", "nuggets": []}}, "1_2": {"manual": "y", "other": "z"}}', {"1_1": ["x"], "1_2": ["y", "z"]}),
        ('{"run_name": "r", "turns": [{"turn_id": "1_1", "responses": [{"rank": 2, "text": "y"}, {"rank": 1, "text": "x"}]}]}', {"1_1": ["x"]}),
        ("a\tx y\nb\tz\r\n\n", {"a": ["x y"], "b": ["z"]}),
        ("topic\ttext\na\tx y\n", {"a": ["x y"]}),
        ('{"topic": "a", "text": "x"}\n{"topic": "b", "text": " "}', {"a": ["x"]}),
    ],
)  # fmt: skip
def test_shapes_of_gold_answers(write, content, expected):
    assert read_gold(write("gold", content)) == expected


@pytest.mark.parametrize(
    ("content", "error", "match"),
    [
        ('{"topic": "a", "text": "x"}\n{"text": "x"}', FormatError, "gold:2: no topic: expected one of the keys"),
        ('{"topic": "a", "text": "x"}\n{"topic": "b"}', FormatError, "gold:2: no text: expected one of the keys"),
        (
            '{"topic": "a", "text": 3}',
            FormatError,
            r"gold:1: a gold answer must be a text or a list of sentences \(got 3\)",
        ),
        ('{"topic": "a", "text": ["x", 3]}', FormatError, "gold:1: a gold answer must be"),
        ('{"a": 3}', FormatError, "gold: a gold answer must be"),
        ('{"turns": [3]}', FormatError, "turns must be objects with turn_id"),
        ("a\tx\nb y\n", FormatError, "gold:2: expected topic<TAB>text, found 'b y'"),
        ('{"topic": "a", "text": ""}', DataError, "gold has no gold answer"),
        ("", DataError, "gold has no gold answer"),
    ],
)
def test_what_is_no_gold_answer(write, content, error, match):
    with pytest.raises(error, match=match):
        read_gold(write("gold", content))


def test_gold_answers_in_a_folder(write, tmp_path):
    write("gold/a.jsonl", '{"topic": "a", "text": "x"}')
    write("gold/b.tsv", "topic\ttext\nb\ty\n")
    assert read_gold(str(tmp_path / "gold")) == {"a": ["x"], "b": ["y"]}


# --- what is scored, and what is not ---------------------------------------------------------------

GOLD = AnswerInputs(gold={"t1": ["a b"], "t2": ["c d"]})
TWO = [Answer("A", "t1", "a b"), Answer("B", "t1", "a b"), Answer("B", "t2", "x")]


def test_a_missing_answer_counts_0():
    scores = evaluate_answers("ROUGE_1", TWO, GOLD)
    assert scores.aggregates.tolist() == [[0.5], [0.5]]
    assert scores.present.all()
    assert [n for n in scores.notes if n.startswith("A: ")] == ["A: 1 of 2 topics have no answer and count 0: t2"]
    assert "topics 2|missing 1|" in scores.signature


def test_topics_of_the_run_alone():
    scores = evaluate_answers("ROUGE_1", TWO, GOLD, Policies(topics="run"))
    assert scores.aggregates.tolist() == [[1.0], [0.5]]
    assert scores.notes == ("A: 1 topics have no answer and are in no mean (--topics run)",)
    assert "|missing 0|" in scores.signature


def test_listed_topics():
    scores = evaluate_answers("ROUGE_1", TWO, GOLD, Policies(topics=["t2", "t9"]))
    assert (scores.topics, scores.aggregates.tolist()) == (("t2",), [[0.0], [0.0]])
    with pytest.raises(
        DataError, match="answers and gold have no topic in common: topics of the answers are 't1', 't2'"
    ):
        evaluate_answers("ROUGE_1", TWO, GOLD, Policies(topics=["t9"]))


def test_each_run_is_told_of_when_it_is_scored():
    seen = []
    evaluate_answers("ROUGE_1", TWO, GOLD, progress=seen.append)
    assert seen == ["A", "B"]


@pytest.mark.parametrize(
    ("measures", "answers", "error", "match"),
    [
        ("P@5", TWO, ParameterError, "P@5 takes ranked units, not answers: evaluate computes it"),
        ("TFC1", TWO, ParameterError, "TFC1 needs queries"),
        ("BEM", TWO, ParameterError, "BEM needs queries"),
        ("ROUGE_9", TWO, UnknownNameError, "unknown measure 'ROUGE_9' .did you mean 'ROUGE_"),
        ("ROUGE_1@5", TWO, ParameterError, "ROUGE_1 takes no cutoff"),
        ("ROUGE_1", [], DataError, "no answer to score"),
        ("ROUGE_1", [Answer("A", "x", "a")], DataError, "answers and gold have no topic in common"),
    ],
)
def test_what_cannot_be_scored(measures, answers, error, match):
    with pytest.raises(error, match=match):
        evaluate_answers(measures, answers, GOLD)


def test_runs_are_not_scored_by_measures_of_answers():
    inputs = Inputs(NuggetQrels.of([("t", "0", "d", 1)]), [Run.of({"t": {"d": 1.0}})])
    with pytest.raises(ParameterError, match="ROUGE_1 takes answers, not ranked units"):
        evaluate("ROUGE_1", inputs)


def test_texts_are_taken_apart_once_a_call(monkeypatch):
    from nuggeteval.measures import rouge as module

    seen = []
    monkeypatch.setattr(module, "uses_unicode", lambda text: bool(seen.append(text)))
    evaluate_answers(ROUGE, TWO, GOLD)
    assert seen == ["a b", "c d"]


# --- the command -----------------------------------------------------------------------------------


def longeval(shared):
    raw = shared / "data/longeval/raw"
    return raw, sorted(str(path) for path in raw.glob("runs/*/responses.jsonl"))


@pytest.fixture
def gold_of_longeval(shared, write):
    """Gold answers stand beside the values, in the files of the organisers."""
    [path] = (shared / "data/longeval/raw/evals/gold-answer-comparison/rule-minilm").glob("*.json")
    per_query = json.loads(path.read_text())["per_query"]
    lines = [json.dumps({"query_id": row["query_id"], "gold_answer": row["gold_answer"]}) for row in per_query]
    return write("gold.jsonl", "\n".join(lines))


def test_the_files_of_longeval_as_they_are(shared, cli, gold_of_longeval):
    raw, runs = longeval(shared)
    assert len(runs) == 4
    qrels = shared / "data/longeval/qrels_inferred_all_first_solution.txt"
    queries = shared / "data/longeval/query_docids_47.jsonl"
    options = ("--gold", gold_of_longeval, "--qrels", qrels, "--queries", queries, "--candidates", queries)
    result = cli("score", "-m", "longeval", "-m", "provenance", "--format", "jsonl", "-q", *options, *runs)
    assert result.code == 0, result.err
    lines = [json.loads(line) for line in result.out.splitlines()]
    found = {(r["run_id"], r["topic_id"], r["measure"]): r["value"] for r in lines if "measure" in r}
    compared = 0
    for path in raw.glob("evals/gold-answer-comparison/*/*.json"):
        for row in json.loads(path.read_text())["per_query"]:
            for measure, key in zip(ORACLE, ("rouge1_f1", "rouge2_f1", "rougeL_f1"), strict=True):
                assert found[row["run_id"], row["query_id"], measure] == pytest.approx(row[key], abs=1e-9)
                compared += 1
    for path in raw.glob("evals/retrieval/*/*"):
        for line in path.read_text().splitlines():
            _, run, topic, value = line.replace(":", "").replace("avg_prec_at_q", "all").split()
            assert found[run, topic, "P_cited"] == pytest.approx(float(value), abs=5.1e-5)
            compared += 1
    assert compared == 4 * 47 * 3 + 4 * 48
    assert {value for (_, topic, measure), value in found.items() if (topic, measure) == ("all", "provenance")} == {1.0}
    assert "TFC1 depends on the pool, the 4 runs scored here" in result.err
    assert "|TFC1 pool 4 runs" in result.err


def test_one_note_names_what_a_nickname_left_out(cli, write):
    answers = write("a.jsonl", '{"run": "A", "topic": "t", "text": "x"}')
    gold = write("gold.tsv", "t\tx\n")
    result = cli("score", "-m", "longeval", "--gold", gold, answers)
    assert [measure for _, measure in rows(result)] == ["ROUGE_1", "ROUGE_2", "ROUGE_L"]
    [said] = [line for line in result.err.splitlines() if "left out" in line]
    assert "P_cited (--qrels FILE)" in said
    assert "citation_jaccard (--reference-run FILE)" in said
    assert "TFC1 (--queries FILE)" in said
    assert "covered_count (--judgments FILE)" in said
    assert cli("score", "--gold", gold, answers).out == result.out


def test_a_measure_that_is_asked_for_by_name_needs_its_input(cli, write):
    answers = write("a.jsonl", '{"run": "A", "topic": "t", "text": "x"}')
    gold = write("gold.tsv", "t\tx\n")
    for arguments, said in (
        (("-m", "ROUGE_1", answers), "ROUGE_1 needs --gold FILE"),
        (("-m", "longeval,TFC1", "--gold", gold, answers), "TFC1 needs --queries FILE"),
        (("-m", "BEM", answers), "BEM needs --gold FILE and --queries FILE"),
        (("-m", "P@5", "--gold", gold, answers), "P@5 needs --judgments FILE"),
        (("-m", "cone", "--gold", gold, answers), "no measure is left; their inputs are not given: Precision_NtN"),
    ):
        result = cli("score", *arguments)
        assert (result.code, said in result.err) == (2, True), result.err


JUDGED = '{"view": "responses", "run": "A", "topic": "t1", "unit": "A", "nugget": "1", "judge": "j", "score": null, "grade": 4, "scale": [5, 1]}'


def test_gold_answers_and_judgments_in_one_table(cli, write):
    """Nuggets are declared for t1 and t3, gold answers there are of t1 and t2: means are over their own topics."""
    answers = write("a.jsonl", '{"run": "A", "topic": "t1", "text": "a b"}\n{"run": "A", "topic": "t2", "text": "c"}')
    gold = write("gold.tsv", "t1\ta b\nt2\td\n")
    bank = write(
        "bank.jsonl",
        "\n".join(json.dumps({"id": t, "nuggets": [{"nugget_id": "1", "text": "n"}]}) for t in ("t1", "t3")),
    )
    judgments = write("j.jsonl", JUDGED)
    options = ("--judgments", judgments, "--bank", bank, "--gold", gold, "--quiet", answers)
    result = cli("score", "-q", "-m", "nugget_coverage,ROUGE_1,Recall_NtR", *options)
    assert rows(result) == {
        ("t1", "nugget_coverage"): 1.0, ("t1", "ROUGE_1"): 1.0, ("t1", "Recall_NtR"): 1.0,
        ("t2", "ROUGE_1"): 0.0,
        ("t3", "nugget_coverage"): 0.0, ("t3", "Recall_NtR"): 0.0,
        ("all", "nugget_coverage"): 0.5, ("all", "ROUGE_1"): 0.5, ("all", "Recall_NtR"): 0.5,
    }  # fmt: skip
    whole = cli("score", "-m", "longeval", *options)
    assert [measure for _, measure in rows(whole)] == [
        *ORACLE,
        "nugget_coverage",
        "avg_grade",
        "max_grade",
        "covered_count",
    ]
    board = cli("leaderboard", "-m", "longeval", "--sort", "ROUGE_L", *options)
    assert (board.code, "ROUGE_L" in board.out, "nugget_coverage" in board.out) == (0, True, True)


def test_runs_are_scored_by_the_nickname_as_before(cli, write):
    qrels, run = write("q", "t 1 A 4\nt 2 A 2\n"), write("r", "t Q0 A 1 1 A\n")
    result = cli("score", "-m", "longeval", qrels, run)
    assert rows(result) == {
        ("all", m): v
        for m, v in (("nugget_coverage", 0.5), ("avg_grade", 3.0), ("max_grade", 4.0), ("covered_count", 1.0))
    }
    assert "ROUGE_1, ROUGE_2, ROUGE_L (--gold FILE)" in result.err


def test_leaderboards_of_score_files_take_measures_of_answers_by_name(cli, write):
    board = write(
        "s.tsv",
        "run\ttopic\tmeasure\tvalue\nA\tt1\tROUGE_1\t0.5\nB\tt1\tROUGE_1\t0.25\nA\tt2\tROUGE_1\t0.5\nB\tt2\tROUGE_1\t0.5\n",
    )
    result = cli("leaderboard", "-m", "ROUGE_1", "--format", "tsv", board)
    assert (result.code, "0.375" in result.out) == (0, True), result.err
    refused = cli("leaderboard", board, "--documents", "d.jsonl")
    assert (refused.code, "--documents: for scoring runs" in refused.err) == (2, True)


# --- BERTScore -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def bert(save_model):
    return str(save_model("bert"))


def some_texts(number, least=1, most=12, seed=5):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[:40], rng.integers(least, most + 1))) for _ in range(number)]


def directly(folder, candidate, reference, layer):
    """One pair through transformers alone, nothing padded."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def embedded(text):
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs, output_hidden_states=True).hidden_states[layer][0]
        return states / states.norm(dim=-1, keepdim=True)

    cosines = (embedded(candidate) @ embedded(reference).T).numpy()
    # The first and last tokens are special: they can be matched, but are in no average.
    p, r = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
    return p, r, 2 * p * r / (p + r)


@pytest.mark.parametrize("layer", [1, 2])
def test_bertscore_is_greedy_matching_of_a_layer(bert, layer):
    texts = some_texts(24)
    pairs = list(zip(texts[:12], texts[12:], strict=True))
    ours = np.array(BertScorer.load(bert, layer, "cpu").matches(pairs, tokens=40))
    theirs = np.array([directly(bert, *pair, layer) for pair in pairs])
    assert np.ptp(theirs[:, 0]) > 0.02
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_measures_of_bertscore_take_the_best_reference(bert):
    answers = [Answer("A", "t", "w1 w2 w3"), Answer("B", "t", ""), Answer("C", "t", "w7 w7 w1")]
    inputs = AnswerInputs(gold={"t": ["w1 w2 w4", "w7 w1"]})
    names = [f"BERTScore_{field}(layer=2,model={bert!r})" for field in ("P", "R", "F1")]
    scores = evaluate_answers(names, answers, inputs)
    for run, text in (("A", "w1 w2 w3"), ("C", "w7 w7 w1")):
        both = np.array([directly(bert, text, gold, 2) for gold in inputs.gold["t"]]).max(axis=0)
        assert [scores.value(run, name) for name in names] == pytest.approx(both.tolist(), abs=1e-5)
    assert [scores.value("B", name) for name in names] == [0.0, 0.0, 0.0]
    assert "|BERTScore bert@" in scores.signature
    assert "layer 2" in scores.signature


def test_bertscore_is_rescaled_by_a_baseline(bert, write):
    baseline = write("b.tsv", "LAYER,P,R,F\n0,0.1,0.1,0.1\n2,0.5,0.25,0.4\n")
    names = [f"BERTScore_{field}(baseline={baseline!r},layer=2,model={bert!r})" for field in ("P", "R", "F1")]
    answers = [Answer("A", "t", "w1 w2"), Answer("B", "t", " ")]
    scores = evaluate_answers(names, answers, AnswerInputs(gold={"t": ["w1 w3"]}))
    p, r, f = directly(bert, "w1 w2", "w1 w3", 2)
    expected = [(p - 0.5) / 0.5, (r - 0.25) / 0.75, (f - 0.4) / 0.6]
    assert [scores.value("A", name) for name in names] == pytest.approx(expected, abs=1e-5)
    # Nothing was compared: no value to be moved below 0.
    assert [scores.value("B", name) for name in names] == [0.0, 0.0, 0.0]
    assert "baseline sha256:" in scores.signature


@pytest.mark.parametrize(
    ("content", "match"),
    [("a,b\n1,2\n", r"b\.tsv:1: expected lines of LAYER,P,R,F"), ("LAYER,P,R,F\n1,x,0,0\n", r"b\.tsv:2: expected four numbers"),
     ("LAYER,P,R,F\n1,0,0\n", r"b\.tsv:2: expected four numbers"), ("LAYER,P,R,F\n1,0,0,0\n", "no line for layer 2")],
)  # fmt: skip
def test_what_is_no_baseline(write, content, match):
    with pytest.raises(FormatError, match=match):
        read_baseline(write("b.tsv", content), 2)


def test_a_text_is_encoded_once_a_call(bert, monkeypatch):
    seen = []
    forward = BertScorer._forward
    monkeypatch.setattr(
        BertScorer, "_forward", lambda self, batch: seen.extend(map(tuple, batch)) or forward(self, batch)
    )
    monkeypatch.setattr("nuggeteval.models.bertscore._WINDOW", 2)
    answers = [Answer(run, topic, f"w1 {text}") for run in "AB" for topic, text in (("t1", "w2"), ("t2", "w3"))]
    names = [f"BERTScore_{field}(model={bert!r},layer=1)" for field in ("P", "F1")]
    evaluate_answers(names, answers, AnswerInputs(gold={"t1": ["w1 w9"], "t2": ["w1 w9"]}))
    assert len(seen) == len(set(seen)) == 3


def test_long_texts_lose_their_end_and_are_counted(save_model):
    short = BertScorer.load(str(save_model("short-bert", model_max_length=8)), 2, "cpu")
    words = " ".join(WORDS[:20])
    [match] = short.matches([(words, words)])
    assert match == pytest.approx((1.0, 1.0, 1.0), abs=1e-6)
    assert short.truncated == 1
    [cut] = short.matches([(" ".join(WORDS[:6]), words)])
    assert cut == pytest.approx((1.0, 1.0, 1.0), abs=1e-6)


def test_too_long_texts_are_told_of(save_model):
    folder = str(save_model("short-bert-2", model_max_length=8))
    name = f"BERTScore_F1(model={folder!r},layer=1)"
    scores = evaluate_answers(name, [Answer("A", "t", "w1 " * 20)], AnswerInputs(gold={"t": ["w1"]}))
    [said] = scores.notes
    assert said.startswith("BERTScore short-bert-2@")
    assert said.endswith("1 texts were too long for the model, and lost their end")


def test_a_tokenizer_without_maximum(bert):
    scorer = BertScorer.load(bert, 2, "cpu")
    assert scorer._tokenizer.model_max_length > 10**20
    assert scorer.max_tokens == 512
    [match] = scorer.matches([("w1 " * 900, "w1")])
    assert scorer.truncated == 1
    assert 0 < match.f1 <= 1 + 1e-6


def test_models_that_cannot_score(bert, tmp_path):
    with pytest.raises(ParameterError, match="layer must be at most 2, which the model has"):
        BertScorer.load(bert, 3)
    with pytest.raises(ParameterError, match=r"is no model: it has no config\.json"):
        BertScorer.load(str(tmp_path))
    with pytest.raises(ParameterError, match="'layer' must be an integer of at least 1"):
        evaluate_answers("BERTScore_F1(layer=0)", TWO, GOLD)
    with pytest.raises(ParameterError, match="'model' must be a text in quotes"):
        evaluate_answers("BERTScore_F1(model=3)", TWO, GOLD)


def test_a_checkpoint_without_all_weights_is_refused(bert, tmp_path):
    import safetensors.torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(bert)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
    weights = {k: v for k, v in model.state_dict().items() if "layer.1.attention" not in k}
    safetensors.torch.save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ParameterError, match="weights are missing: "):
        BertScorer.load(str(tmp_path), 1)


def test_a_word_is_the_same_at_the_beginning_of_a_text_for_byte_level_tokenizers():
    seen = []

    class RobertaTokenizerFast:
        model_max_length, pad_token_id = 10, 0

        def __call__(self, text, **_):
            seen.append(text)
            return {"input_ids": [1, 2]}

    class Config:
        num_hidden_layers, model_type, max_position_embeddings = 2, "x", 10

    class Model:
        config = Config()

        def eval(self):
            return self

    scorer = BertScorer(RobertaTokenizerFast(), Model(), "x", 1)
    assert (scorer._tokenized(" word "), scorer._tokenized("")) == ([1, 2], [1, 2])
    assert seen == [" word", ""]
    RobertaTokenizerFast.pad_token_id = None
    with pytest.raises(ParameterError, match="its tokenizer has no padding token"):
        BertScorer(RobertaTokenizerFast(), Model(), "x", 1)


# --- equivalence -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def bem(save_model):
    return str(save_model("bem", labels=["no", "yes"]))


def test_bem_is_the_best_over_references(bem):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(bem),
        AutoModelForSequenceClassification.from_pretrained(bem).eval(),
    )
    inputs = AnswerInputs(gold={"t1": ["w1 w2", "w3"], "t2": ["w4"]}, queries={"t1": "w5 w6", "t2": "w7"})
    answers = [Answer("A", "t1", "w1 w9"), Answer("A", "t2", "w4"), Answer("B", "t1", " ")]
    name = f"BEM(model={bem!r})"
    scores = evaluate_answers(name, answers, inputs)

    def directly_equivalent(answer, reference, question):
        rows = tokenizer(answer, f"{reference} [SEP] {question}", return_tensors="pt")
        with torch.no_grad():
            return float(model(**rows).logits.softmax(dim=-1)[0, 1])

    best = max(directly_equivalent("w1 w9", reference, "w5 w6") for reference in ("w1 w2", "w3"))
    assert scores.value("A", name, "t1") == pytest.approx(best, abs=1e-5)
    assert scores.value("A", name, "t2") == pytest.approx(directly_equivalent("w4", "w4", "w7"), abs=1e-5)
    assert scores.value("B", name) == 0.0
    assert "|BEM bem@" in scores.signature


def test_bem_needs_a_model_and_all_queries(bem):
    inputs = AnswerInputs(gold={"t1": ["w1"], "t2": ["w1"]}, queries={"t1": "w2"})
    with pytest.raises(ParameterError, match=r"BEM: model must be given"):
        evaluate_answers("BEM", TWO, inputs)
    with pytest.raises(DataError, match="BEM: topics with a gold answer and no query: t2"):
        evaluate_answers(f"BEM(model={bem!r})", TWO, inputs)


def test_bem_tells_of_too_long_texts(save_model):
    folder = str(save_model("short-bem", labels=["no", "yes"], model_max_length=12))
    inputs = AnswerInputs(gold={"t": ["w1"]}, queries={"t": "w2"})
    scores = evaluate_answers(f"BEM(model={folder!r})", [Answer("A", "t", "w3 " * 20)], inputs)
    assert scores.notes[0].endswith("1 texts were too long for the model, and lost their end")


# --- TFC1 ------------------------------------------------------------------------------------------

SHARE = st.floats(0, 5) | st.sampled_from([0.0, 1.0, 1.05, 1.2])


@given(SHARE, SHARE, st.sampled_from([0.0, 0.1, 0.5]))
def test_preferences_are_antisymmetric(first, second, margin):
    assert preference(first, second, margin) == -preference(second, first, margin)
    assert preference(first, first, margin) == 0


@given(st.lists(st.text("abc ", max_size=12), min_size=1, max_size=6))
def test_values_are_fractions_of_the_pool_and_add_up_to_0(texts):
    answers = [Answer(f"r{i}", "t", text) for i, text in enumerate(texts)]
    values = evaluate_answers("TFC1", answers, AnswerInputs(queries={"t": "b c b"})).values.ravel()
    n = len(texts)
    assert (values * n).tolist() == pytest.approx(np.round(values * n).tolist(), abs=1e-9)
    assert np.abs(values).max() <= (n - 1) / n
    assert math.fsum(values) == pytest.approx(0, abs=1e-9)


def test_a_pool_of_three_by_hand():
    """Terms of the query: cat, dog, cat. "the" is a stop word, "cats" has the stem of "cat".

    A: cat 1 of 4 words, dog 1 of 4: 2 x 1/4 + 1/4 = 3/4.
    B: cat 1 of 3 words, dog 0 of 3: 2 x 1/3       = 2/3.
    C: cat 0 of 2 words, dog 1 of 2:         1/2   = 1/2.
    A and B differ by 1/12, more than 0.1 x 3/4 = 0.075: A is preferred. B over C: 1/6 against 0.067.
    A: (1 + 1) / 3, B: (-1 + 1) / 3, C: (-1 - 1) / 3.
    """
    query = "cat dog cats"
    texts = {"A": "cat dog tree house", "B": "The cat sits, slowly", "C": "Dog barks"}
    assert [term_share(query, text) for text in texts.values()] == pytest.approx([3 / 4, 2 / 3, 1 / 2])
    answers = [Answer(run, "t", text) for run, text in texts.items()]
    inputs = AnswerInputs(queries={"t": query})
    assert evaluate_answers("TFC1", answers, inputs).values.ravel().tolist() == [2 / 3, 0.0, -2 / 3]
    # With a margin of 0.2 (of the larger: 0.15 and 0.133) only A is preferred to C, and B to C.
    assert evaluate_answers("TFC1(margin=0.2)", answers, inputs).values.ravel().tolist() == [1 / 3, 1 / 3, -2 / 3]


def test_a_missing_answer_is_an_empty_response_of_the_pool():
    inputs = AnswerInputs(queries={"t1": "cat", "t2": "dog", "t3": "cow"})
    answers = [Answer("A", "t1", "cat"), Answer("B", "t1", "hen"), Answer("B", "t2", "a dog")]
    scores = evaluate_answers("TFC1", answers, inputs)
    # Queries may be those of a whole track: t3, which nobody answers, is in no mean.
    assert scores.topics == ("t1", "t2")
    assert scores.values[:, :, 0].tolist() == [[0.5, -0.5], [-0.5, 0.5]]
    assert "A: 1 of 2 topics have no answer and are empty responses of the pool: t2" in scores.notes
    assert "TFC1 depends on the pool, the 2 runs scored here: with other runs all values change" in scores.notes
    assert evaluate_answers("TFC1(margin=0.3)", answers, inputs).signature.endswith("TFC1 pool 2 runs, margin 0.3")


def test_han_is_counted_by_characters():
    assert term_share("京", "東京") == 0.5


def test_sentences_are_the_text_of_an_answer(write):
    [answer] = read_answers(write("a.jsonl", '{"run": "A", "topic": "t", "answer": [{"text": "a b."}, {"text": "c"}]}'))
    assert answer.sentences == (Sentence("a b."), Sentence("c"))
    assert rouge(answer.text, "a b c") == 1.0
