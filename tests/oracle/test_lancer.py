"""LANCER's public runs: 495 (run, topic) rows of five measures, computed by other tools."""

import csv

import pytest

from nuggeteval import Inputs, evaluate, read_bank, read_qrels, read_run

COLUMNS = {
    "P@10": "P@10",
    "nDCG@10": "nDCG@10",
    "alpha_nDCG@10": "alpha_nDCG@10",
    "StRecall@10": "StRecall@10",
    "Cov@10": "Cov@10-nofilter",
}


@pytest.fixture
def golden(shared):
    with (shared / "data/lancer/golden_per_topic.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {(row["run"], row["topic"]): row for row in rows}


@pytest.mark.parametrize(
    ("collection", "qrels", "runs", "topics"),
    [("duc04", "duc04-own.nugget-qrels.tau3.txt", 8, 50), ("neuclir24", "neuclir24.nugget-qrels.tau3.txt", 5, 19)],
)
def test_every_cell_equals_the_golden_one(shared, golden, collection, qrels, runs, topics):
    folder = shared / "data/lancer"
    paths = sorted(folder.glob(f"runs_top10/{collection}.*.run"))
    inputs = Inputs(
        read_qrels(str(folder / qrels)),
        (read_run(str(path)) for path in paths),
        read_bank(str(folder / f"{collection}.nuggets.jsonl")),
    )
    scores = evaluate(list(COLUMNS), inputs)
    assert (len(scores.runs), len(scores.topics)) == (runs, topics)
    cells = 0
    for run in scores.runs:
        for topic in scores.topics:
            for measure, column in COLUMNS.items():
                expected = float(golden[run, topic][column])
                assert scores.value(run, measure, topic) == pytest.approx(expected, abs=1e-6), (run, topic, measure)
                cells += 1
    assert cells == runs * topics * len(COLUMNS)


def test_the_golden_file_has_2475_values(golden):
    assert len(golden) * len(COLUMNS) == 2475
