"""LongEval-RAG 2026: cited sets as runs give the organisers' 470 retrieval precisions and their means."""

import csv
import json

import pytest

from nuggeteval import Inputs, Run, evaluate, read_qrels


@pytest.fixture
def folder(shared):
    return shared / "data/longeval"


def tsv(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def cited_sets(folder):
    """{run: {topic: {document: 1}}}: the union of the citations that the sentences of an answer make."""
    runs = {}
    for line in (folder / "primary_citations.jsonl").read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        cited = {answer["references"][index] for sentence in answer["citations"] for index in sentence}
        runs.setdefault(answer["run"], {})[answer["qid"]] = dict.fromkeys(cited, 1.0)
    return runs


@pytest.fixture
def scores(folder):
    qrels = read_qrels(str(folder / "qrels_inferred_all_first_solution.txt"))
    runs = [Run.of(topics, name) for name, topics in cited_sets(folder).items()]
    return evaluate("SetP", Inputs(qrels, runs))


def test_all_470_precisions(folder, scores):
    cells = 0
    for row in tsv(folder / "primary_per_query.tsv"):
        found = scores.value(row["run"], "SetP", row["qid"])
        assert found == pytest.approx(float(row["P_cited"]), abs=5e-5), (row["run"], row["qid"])
        cells += 1
    assert cells == 470


def test_the_means_of_table_5(folder, scores):
    expected = {
        row["approach"]: float(row["recomputed"])
        for row in tsv(folder / "table5_recomputed.tsv")
        if row["measure"] == "avg_prec_at_q"
    }
    assert len(expected) == 10
    assert set(expected) == set(scores.runs)
    for run, value in expected.items():
        # The organisers' means are those of values printed with four decimals.
        printed = [round(scores.value(run, "SetP", topic), 4) for topic in scores.topics]
        assert sum(printed) / len(printed) == pytest.approx(value, abs=1e-6), run
        assert scores.value(run, "SetP") == pytest.approx(value, abs=5e-5), run
