"""What answers cite: published values of LongEval-RAG, public bug reports, support by hand; and density of ranked texts."""

import csv
import json
from pathlib import Path

import pytest
from test_text_measures import case, rows

from nuggeteval import DataError, NuggetBank, NuggetQrels, ParameterError, Policies, Run, evaluate
from nuggeteval.data import Answer, Nugget, Sentence
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.trec import read_qrels
from nuggeteval.references import AnswerInputs
from nuggeteval.responses import evaluate_answers
from nuggeteval.scoring import Inputs, join_measures


def citing(run, topic, *sentences, lost=()):
    """An answer by what its sentences cite, a string of one-letter documents each."""
    found = tuple(Sentence(f"S{n}.", tuple(cited)) for n, cited in enumerate(sentences, start=1))
    text = " ".join(sentence.text for sentence in found)
    return Answer(run, topic, text, found, unresolved=tuple(lost), place=f"{run}.jsonl:1")


QRELS = NuggetQrels.of([("t1", "0", "a", 1), ("t1", "0", "b", 0), ("t1", "0", "c", 2), ("t2", "0", "a", 1)])

# --- the published values --------------------------------------------------------------------------


def published(path):
    with path.open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.fixture
def official(shared):
    """The answers of ten runs, by what they cite."""
    answers = []
    for row in map(json.loads, (shared / "data/longeval/primary_citations.jsonl").read_text().splitlines()):
        sentences = tuple(Sentence("x", tuple(row["references"][i] for i in cited)) for cited in row["citations"])
        answers.append(Answer(row["run"], row["qid"], "x", sentences, tuple(row["references"])))
    return answers


@pytest.mark.parametrize(("solution", "queries"), [("determined", 37), ("all_first_solution", 47)])
def test_the_precision_of_what_ten_runs_cite(shared, official, solution, queries):
    """The qrels were inferred from these values: 37 queries have one solution, and any solution fits the others.

    That all solutions of an ambiguous query give the same values is tested below; here is the first of each.
    """
    folder = shared / "data/longeval"
    qrels = read_qrels(str(folder / f"qrels_inferred_{solution}.txt"))
    scores = evaluate_answers("P_cited", official, AnswerInputs(qrels=qrels))
    assert (len(scores.runs), len(scores.topics)) == (10, queries)
    compared = 0
    for row in published(folder / "primary_per_query.tsv"):
        if row["qid"] in scores.topics:
            value = scores.value(row["run"], "P_cited", row["qid"])
            assert value == pytest.approx(float(row["P_cited"]), abs=5.1e-5)
            compared += 1
    assert compared == 10 * queries


def test_every_solution_of_an_ambiguous_query_gives_the_published_values(shared, official):
    folder = shared / "data/longeval"
    expected = {(row["run"], row["qid"]): float(row["P_cited"]) for row in published(folder / "primary_per_query.tsv")}
    ambiguous = json.loads((folder / "qrels_inferred_ambiguous.json").read_text())
    assert len(ambiguous) == 10
    for topic, solutions in ambiguous.items():
        mine = [answer for answer in official if answer.topic == topic]
        for relevant in solutions:
            qrels = NuggetQrels.of([(topic, "0", document, 1) for document in relevant])
            scores = evaluate_answers("P_cited", mine, AnswerInputs(qrels=qrels))
            for run in scores.runs:
                assert scores.value(run, "P_cited") == pytest.approx(expected[run, topic], abs=5.1e-5)


def test_the_means_of_table_5(shared, official):
    folder = shared / "data/longeval"
    qrels = read_qrels(str(folder / "qrels_inferred_all_first_solution.txt"))
    scores = evaluate_answers("P_cited", official, AnswerInputs(qrels=qrels))
    table = [row for row in published(folder / "table5_recomputed.tsv") if row["measure"] == "avg_prec_at_q"]
    assert sorted(row["approach"] for row in table) == sorted(scores.runs)
    for row in table:
        mean = scores.value(row["approach"], "P_cited")
        assert mean == pytest.approx(float(row["recomputed"]), abs=5e-5)
        # The one cell that does not fit was rounded twice: .94149 to .9415 to .942.
        assert f"{mean:.3f}" == (row["printed"] if row["approach"] != "caes-rag-rrf" else "0.941")


def test_the_recall_of_what_is_cited(shared, official):
    """Every query has two relevant documents."""
    path = shared / "data/longeval/qrels_inferred_all_first_solution.txt"
    relevant = [line.split()[::2] for line in path.read_text().splitlines() if line.endswith(" 1")]
    assert len(relevant) == 2 * 47
    scores = evaluate_answers("R_cited", official, AnswerInputs(qrels=read_qrels(str(path))))
    found = dict.fromkeys(scores.runs, 0)
    for answer in official:
        cited = {document for sentence in answer.sentences for document in sentence.citations}
        found[answer.run] += sum([answer.topic, document] in relevant for document in cited)
    for run, number in found.items():
        assert scores.value(run, "R_cited") == pytest.approx(number / 94)


def test_the_citation_sets_of_table_6(shared):
    found = published(shared / "data/longeval/supplementary_per_query.tsv")
    reference, answers = {}, []
    for row in found:
        gold, mine = (row[key].split("|") if row[key] else [] for key in ("reference_cited", "rag_cited"))
        reference[row["qid"]] = Answer("gold", row["qid"], "", (Sentence("x", tuple(gold)),))
        answers.append(Answer(row["run"], row["qid"], "", (Sentence("x", tuple(mine)),)))
    names = ("citation_recall", "citation_precision", "citation_jaccard")
    scores = evaluate_answers(names, answers, AnswerInputs(reference=reference))
    assert len(found) == len(scores.runs) * len(scores.topics) == 470
    for row in found:
        for name in names:
            value = scores.value(row["run"], name, row["qid"])
            assert value == pytest.approx(float(row[name.removeprefix("citation_")]), abs=1e-4)


# --- public bug reports ----------------------------------------------------------------------------


def test_AN04_a_citation_that_leads_nowhere_is_wrong_and_told_of(shared, write, cli):
    files = case(shared, write, "AN04")
    result = cli("score", "-q", "-m", "P_cited,R_cited", "--qrels", files["qrels.txt"], files["rag_run.jsonl"])
    assert rows(result)["t1", "P_cited"] == 0.5
    assert rows(result)["t1", "R_cited"] == 1.0
    place = f"{files['rag_run.jsonl']}:1, sentence 2: 5"
    assert f"A: 1 citations lead nowhere and count as wrong: {place}" in result.err


def test_sets_against_a_reference_name_citations_that_lead_nowhere(shared, write, cli):
    files = case(shared, write, "AN04")
    run = files["rag_run.jsonl"]
    reference = write(
        "reference.jsonl", '{"run": "G", "topic": "t1", "answer": [{"text": "x", "citations": ["dA"]}]}\n'
    )
    result = cli("score", "-m", "citation_precision,citation_jaccard", "--reference-run", reference, run)
    assert result.out.split()[2::3] == ["1.0000", "1.0000"]
    assert "1 citations lead nowhere and are in no set of documents" in result.err
    assert "sentence 2: 5" in result.err


def test_AN06_documents_are_counted_once(shared, write, cli):
    files = case(shared, write, "AN06")
    result = cli("score", "-m", "P_cited", "--qrels", files["qrels.txt"], files["rag_run.jsonl"])
    assert rows(result) == {("all", "P_cited"): 0.5}


def test_AN08_unjudged_documents_and_strangers_are_told_of(shared, write, cli):
    files = case(shared, write, "AN08")
    given = ("--qrels", files["qrels.txt"], "--candidates", files["candidates.txt"])
    result = cli("score", "-m", "P_cited,provenance", *given, files["rag_run.jsonl"])
    assert rows(result) == {("all", "P_cited"): 0.3333, ("all", "provenance"): 0.0}
    assert "2 cited documents are not judged and count as not relevant: t1 dU, t1 dX" in result.err
    assert result.err.count("1 cited documents are outside the candidates: t1 dX") == 1
    without = cli("score", "-m", "P_cited", *given[:2], files["rag_run.jsonl"])
    assert "outside the candidates" not in without.err


@pytest.mark.parametrize("undefined", ["skip", "zero"])
def test_AN13_empty_sets(shared, write, undefined):
    sets = json.loads(Path(case(shared, write, "AN13")["sets.json"]).read_text())
    reference = {t: citing("gold", t, both["G"]) for t, both in sets.items()}
    answers = [citing("A", t, both["R"]) for t, both in sets.items()]
    names = [f"citation_{name}(undefined={undefined!r})" for name in ("recall", "precision", "jaccard")]
    scores = evaluate_answers(names, answers, AnswerInputs(reference=reference))
    none = None if undefined == "skip" else 0.0
    assert [[scores.value("A", name, t) for name in names] for t in sets] == [
        pytest.approx([1 / 2, 1 / 2, 1 / 3]),
        [none, 0.0, 0.0],
        [none, none, none],
    ]
    means = [1 / 2, 1 / 4, 1 / 6] if undefined == "skip" else [1 / 6, 1 / 6, 1 / 9]
    assert scores.aggregates[0].tolist() == pytest.approx(means)
    zero = evaluate_answers(names, answers, AnswerInputs(reference=reference), Policies(undefined="zero"))
    assert zero.aggregates[0].tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 9])


# --- what is cited ---------------------------------------------------------------------------------


def test_references_are_no_citations():
    listing = Answer("A", "t1", "x", (Sentence("x"),), references=("a", "c"))
    scores = evaluate_answers("P_cited R_cited", [listing], AnswerInputs(qrels=QRELS), Policies(topics=["t1"]))
    assert scores.aggregates.tolist() == [[0.0, 0.0]]
    assert "A: 1 answers cite no document and count 0: t1" in scores.notes


def test_the_least_grade_that_counts():
    answers, inputs = [citing("A", "t1", "ab", "c")], AnswerInputs(qrels=QRELS)
    # a has grade 1, b 0, c 2; t2 has no answer.
    names = ["P_cited", "P_cited(rel=2)", "R_cited", "R_cited(rel=2)"]
    scores = evaluate_answers(names, answers, inputs)
    assert scores.values[0, 0].tolist() == [2 / 3, 1 / 3, 1.0, 1.0]
    assert scores.values[0, 1].tolist() == [0.0, 0.0, 0.0, 0.0]
    strict = evaluate_answers("P_cited", answers, inputs, Policies(rel=2))
    assert strict.value("A", "P_cited", "t1") == 1 / 3
    assert "|rel 2" in strict.signature


def test_a_topic_without_relevant_document_is_0():
    qrels = NuggetQrels.of([("t1", "0", "a", 0)])
    scores = evaluate_answers("P_cited R_cited", [citing("A", "t1", "a")], AnswerInputs(qrels=qrels))
    assert scores.aggregates.tolist() == [[0.0, 0.0]]


def test_a_citation_that_leads_nowhere_is_counted_once():
    answer = citing("A", "t1", "a", "", lost=[(1, 7), (1, 7), (1, "7")])
    scores = evaluate_answers("P_cited", [answer], AnswerInputs(qrels=QRELS), Policies(topics=["t1"]))
    # a, the number 7 and the text 7.
    assert scores.value("A", "P_cited") == pytest.approx(1 / 3)


# --- against another run ---------------------------------------------------------------------------

REFERENCE = {"t1": citing("gold", "t1", "ab"), "t2": citing("gold", "t2", "c"), "t3": citing("gold", "t3", "")}


def test_diagnostics_of_what_is_cited():
    answers = [citing("A", "t1", "a", "ad"), citing("A", "t2", "c"), citing("A", "t3", "", lost=[(0, 9)])]
    answers += [citing("B", "t1", "ab"), citing("B", "t2", "xyz")]
    inputs = AnswerInputs(reference=REFERENCE, candidates={"t1": "abd", "t2": "cx", "t3": "a"})
    names = ["unsupported_citations", "reference_match", "provenance"]
    scores = evaluate_answers(names, answers, inputs)
    # A: d, and a citation that leads nowhere. B: x, y and z; no answer to t3.
    assert scores.aggregates.tolist() == [[2.0, 1 / 3, 2 / 3], [3.0, 1 / 3, 1 / 3]]
    assert "A: 1 citations lead nowhere and count as wrong: A.jsonl:1, sentence 1: 9" in scores.notes
    assert "B: 2 cited documents are outside the candidates: t2 y, t2 z" in scores.notes


def test_a_missing_answer_is_undefined_only_where_all_are():
    scores = evaluate_answers(
        "citation_recall(undefined='skip') citation_precision(undefined='skip')",
        [citing("A", "t1", "a")],
        AnswerInputs(reference=REFERENCE),
    )
    # t2 has no answer: 0. The reference cites nothing in t3: its recall is nobody's.
    assert [scores.value("A", scores.measures[0], t) for t in ("t1", "t2", "t3")] == [0.5, 0.0, None]
    assert [scores.value("A", scores.measures[1], t) for t in ("t1", "t2", "t3")] == [1.0, 0.0, None]


def test_the_reference_is_one_run(cli, write):
    record = (
        '{{"run": "{}", "topic": "t1", "references": ["a", "b"], "answer": [{{"text": "x", "citations": [{}]}}]}}\n'
    )
    reference, answers = write("ref.jsonl", record.format("R", "0, 1")), write("a.jsonl", record.format("A", "0"))
    result = cli("score", "-m", "longeval", "--reference-run", reference, answers)
    assert [f"{value:.2f}" for value in rows(result).values()] == ["0.50", "1.00", "0.50"]
    assert "|reference sha256:" in result.err
    two = write("two.jsonl", record.format("R", 0) + record.format("S", 1))
    refused = cli("score", "-m", "citation_recall", "--reference-run", two, answers)
    assert (refused.code, "a reference run is one run (got R, S)" in refused.err) == (1, True)


# --- support ---------------------------------------------------------------------------------------

SUPPORT = "t1 a A/s1 2\nt1 b A/s1 1\nt1 a A/s2 0\nt1 c A/s3 1\nt2 a A/s1 2\n"


def test_support_by_hand(cli, write):
    """Sentence 1 cites a (full: 1) and b (partial: .5), 2 cites a (none: 0), 3 cites c (.5) and d (not judged), 4 nothing.

    Precision: (1 + .5 + 0 + .5) / 4 judged citations. Recall: (1 + 0 + .5 + 0) / 4 sentences.
    """
    support = write("support.qrels", SUPPORT)
    record = {"run": "A", "topic": "t1", "references": ["a", "b", "c", "d"]}
    sentences = [{"text": "x", "citations": cited} for cited in ([0, 1, 0], [0], [2, 3], [])]
    answers = write("a.jsonl", json.dumps({**record, "answer": sentences}))
    result = cli("score", "-q", "-m", "support_precision,support_recall", "--support", support, answers)
    assert rows(result) == {
        ("t1", "support_precision"): 0.5, ("t1", "support_recall"): 0.375,
        ("t2", "support_precision"): 0.0, ("t2", "support_recall"): 0.0,
        ("all", "support_precision"): 0.25, ("all", "support_recall"): 0.1875,
    }  # fmt: skip
    assert "1 citations have no judged support and 0 lead nowhere; they are in no precision" in result.err


def test_an_answer_that_cites_nothing_has_no_precision_of_support():
    support = NuggetQrels.of([("t1", "a", "A/s1", 2)])
    answers = [citing("A", "t1", "", ""), citing("B", "t1")]
    scores = evaluate_answers("support_precision support_recall", answers, AnswerInputs(support=support))
    assert [scores.value(run, m) for run in "AB" for m in scores.measures] == [None, 0.0, None, 0.0]
    assert any("support_precision: undefined for 1 of 1 topics" in note for note in scores.notes)


def test_grades_of_support():
    with pytest.raises(DataError, match="support of 'A/s1' in topic 't1' must be 0, 1 or 2"):
        evaluate_answers(
            "support_recall",
            [citing("A", "t1", "a")],
            AnswerInputs(support=NuggetQrels.of([("t1", "a", "A/s1", 3)])),
        )


def test_units_of_a_run_with_a_blank_in_its_name():
    support = NuggetQrels.of([("t1", "a", "my%20run/s1", 2)])
    scores = evaluate_answers("support_recall", [citing("my run", "t1", "a")], AnswerInputs(support=support))
    assert scores.value("my run", "support_recall") == 1.0


# --- density ---------------------------------------------------------------------------------------

TABLE = NuggetQrels.of(
    [("t1", "1", "a", 1), ("t1", "2", "a", 1), ("t1", "2", "b", 1), ("t1", "3", "b", 1), ("t1", "3", "c", 1),
     ("t1", "4", "d", 0), ("t2", "1", "e", 0)]
)  # fmt: skip
LENGTHS = {"a": 10, "b": 20, "c": 5, "d": 7, "e": 9, "u": 30}


def test_density_by_hand():
    """Nuggets 1 to 4, of which nobody carries 4. The covering set: b adds two (as a does, ties to the largest id), then a
    adds one, then none is new: 3 of 4 nuggets in 30 words. First two units of the run: u (30 words, unjudged), c (5): 1 of
    4 in 35. So ((1/4) / 35) / ((3/4) / 30) = 30 / 105.
    """
    run = Run.of({"t1": {"u": 3.0, "c": 2.0, "a": 1.0}, "t2": {"e": 1.0}}, "A")
    scores = evaluate("Density@2 Density@3 Density Density@1", Inputs(TABLE, [run], lengths=LENGTHS))
    assert scores.value("A", "Density@2", "t1") == pytest.approx((30 / 105) ** 0.5)
    # With a all three nuggets, in 45 words.
    assert scores.value("A", "Density@3", "t1") == pytest.approx((30 / 45) ** 0.5)
    assert scores.value("A", "Density", "t1") == scores.value("A", "Density@3", "t1")
    assert scores.value("A", "Density@1", "t1") == 0.0
    # Nobody carries the nugget of t2.
    assert scores.value("A", "Density@2", "t2") == 0.0


def test_fewer_words_than_the_greedy_set_score_above_1():
    # a and c cover all three nuggets in 15 words.
    run = Run.of({"t1": {"a": 2.0, "c": 1.0}}, "A")
    scores = evaluate("Density@2", Inputs(TABLE, [run], lengths=LENGTHS), Policies(topics=["t1"]))
    assert scores.value("A", "Density@2") == pytest.approx(2**0.5)


def test_density_of_judged_units_alone():
    run = Run.of({"t1": {"u": 3.0, "c": 2.0, "a": 1.0}}, "A")
    scores = evaluate("Density@2", Inputs(TABLE, [run], lengths=LENGTHS), Policies(judged_only=True, topics=["t1"]))
    assert scores.value("A", "Density@2") == pytest.approx(2**0.5)


def test_a_run_without_units_is_not_dense():
    scores = evaluate("Density@2", Inputs(TABLE, [Run.of({}, "A")], lengths=LENGTHS))
    assert scores.values.ravel().tolist() == [0.0, 0.0]


def test_a_text_that_is_missing():
    run = Run.of({"t1": {"c": 2.0, "u": 1.0}}, "A")
    unknown = {unit: length for unit, length in LENGTHS.items() if unit != "u"}
    with pytest.raises(DataError, match="Density@2 needs the texts of units: --documents FILE has none of u"):
        evaluate("Density@2", Inputs(TABLE, [run], lengths=unknown))
    assert evaluate("Density@1", Inputs(TABLE, [run], lengths=unknown)).value("A", "Density@1", "t1") > 0
    with pytest.raises(DataError, match="Density needs the texts of judged units: --documents FILE has none of b, a"):
        evaluate("Density@1", Inputs(TABLE, [run], lengths={"c": 5}))
    with pytest.raises(DataError, match="--documents FILE has none of c"):
        evaluate("Density@1", Inputs(TABLE, [run]))
    with pytest.raises(DataError, match="--documents FILE has none of b, a"):
        evaluate("Density@1", Inputs(TABLE, [Run.of({}, "A")]))


def test_density_on_the_command_line(cli, write):
    qrels = write("q", "t1 1 a 1\nt1 2 a 1\nt1 2 b 1\nt1 3 b 1\nt1 3 c 1\nt1 4 d 0\n")
    run = write("r", "t1 Q0 u 1 3 A\nt1 Q0 c 2 2 A\nt1 Q0 x 3 1 A\n")
    texts = {name: "w " * LENGTHS[name] for name in "abcu"}
    documents = write("d.jsonl", "\n".join(json.dumps({"id": name, "text": text}) for name, text in texts.items()))
    result = cli("score", "-m", "Density@2,P@1", qrels, run, "--documents", documents)
    assert rows(result) == {("all", "Density@2"): round((30 / 105) ** 0.5, 4), ("all", "P@1"): 0.0}
    board = cli("leaderboard", "-m", "Density@2,Cov@2", qrels, run, "--documents", documents)
    assert (board.code, "0.5345" in board.out) == (0, True), board.err
    for measure, said in (("Density", "has none of x"), ("Density@3", "has none of x")):
        refused = cli("score", "-m", measure, qrels, run, "--documents", documents)
        assert (refused.code, said in refused.err) == (1, True)
    refused = cli("score", "-m", "Density@2", qrels, run)
    assert (refused.code, "Density@2 needs --documents FILE" in refused.err) == (2, True)


def test_a_report_has_queries_and_documents_of_its_own(cli, write, tmp_path):
    """They do not make its files answers: TFC1 is left out, and Density computed."""
    pytest.importorskip("jinja2")
    qrels, run = write("q", "t1 1 a 1\n"), write("r", "t1 Q0 a 1 3 A\n")
    queries, documents = write("t.tsv", "t1\tcat\n"), write("d.jsonl", '{"id": "a", "text": "cat"}')
    given = ("--queries", queries, "--documents", documents, "-o", tmp_path / "r.html")
    result = cli("report", "-m", "longeval,Density", "--view", "documents", *given, qrels, run)
    assert (result.code, "takes units of view responses" in result.err) == (1, True)
    result = cli("report", "-m", "longeval", *given, qrels, run)
    assert (result.code, "TFC1 (ANSWERS)" in result.err) == (0, True), result.err
    assert cli("report", "-m", "Density", *given, qrels, run).code == 0
    assert cli("report", "-m", "ROUGE_1", *given, qrels, run).code == 2


def test_lengths_stay_with_a_bank():
    bank = NuggetBank("b", {"t1": (Nugget("1", "x"), Nugget("2", "y"))})
    run = Run.of({"t1": {"a": 1.0}}, "A")
    # a alone covers nuggets 1 and 2, and is the covering set.
    scores = evaluate("Density@1", Inputs(TABLE, [run], bank, LENGTHS), Policies(topics=["t1"]))
    assert scores.value("A", "Density@1") == 1.0


# --- tables of different topics --------------------------------------------------------------------


def test_tables_of_different_topics_are_joined():
    first = evaluate("P@1", Inputs(NuggetQrels.of([("t2", "0", "a", 1)]), [Run.of({"t2": {"a": 1.0}}, "A")]))
    second = evaluate_answers("P_cited", [citing("A", "t1", "a")], AnswerInputs(qrels=QRELS), Policies(topics=["t1"]))
    joined = join_measures([first, second])
    assert (joined.topics, joined.measures) == (("t1", "t2"), ("P@1", "P_cited"))
    assert joined.present[0].tolist() == [[False, True], [True, False]]
    assert joined.aggregates.tolist() == [[1.0, 1.0]]
    assert joined.signature.count("nuggeteval") == 1
    other = evaluate_answers("P_cited", [citing("B", "t1", "a")], AnswerInputs(qrels=QRELS))
    with pytest.raises(DataError, match="scores of different runs cannot be joined: A, and B"):
        join_measures([first, other])


def test_measures_of_answers_are_not_known_to_ir_measures():
    import ir_measures

    from nuggeteval import register

    register()
    assert "Cov" in ir_measures.measures.registry
    assert not {"ROUGE_1", "P_cited", "Density"} & set(ir_measures.measures.registry)


def test_answers_of_real_files_resolve(shared):
    runs = sorted((shared / "data/longeval/raw/runs").glob("*/responses.jsonl"))
    answers = read_answers([str(path) for path in runs])
    assert len(answers) == 4 * 47
    assert not any(answer.unresolved for answer in answers)


def test_a_parameter_of_citation_measures():
    with pytest.raises(ParameterError, match="qrels must be a NuggetQrels, as read_qrels gives"):
        evaluate_answers("P_cited", [citing("A", "t1", "a")], AnswerInputs(qrels={"t1": {}}))
    with pytest.raises(ParameterError, match="'undefined' must be one of zero, skip"):
        evaluate_answers(
            "citation_recall(undefined='one')", [citing("A", "t1", "a")], AnswerInputs(reference=REFERENCE)
        )
