"""LANCER: aggregations by hand and against the published table, ratings in every shape, sub-questions, the whole chain."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from csv import DictReader
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chatserver import serving
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from test_cases import CASES

from nuggeteval import DataError, FormatError, Inputs, ParameterError, evaluate, read_bank, read_qrels, read_run
from nuggeteval.aggregation import PUBLISHED, STRATEGIES, aggregate, strategy_name
from nuggeteval.formats.topics import read_queries
from nuggeteval.generators import as_run, candidates_of, checked_order
from nuggeteval.generators.ideal import ideal
from nuggeteval.generators.lancer import rerank, unrated_notes
from nuggeteval.generators.questions import as_question_bank, by_rule, parse_questions, read_questions
from nuggeteval.ratings import read_ratings, write_ratings
from nuggeteval.replies import parse_rating
from nuggeteval.stats.cover import max_coverage

DEMO = ("--run", ROOT / "runs/demo-keyword.run", "--documents", ROOT / "qrels/demo.documents.jsonl")
QUERIES = ("--queries", ROOT / "qrels/demo.topics.jsonl")
TABLES = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=9)
)


# --- aggregations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("first-stage", [0, 1, 2, 3]),
        # sums 5, 5, 4, 5: all ties to the first stage
        ("sum", [0, 1, 3, 2]),
        # at 3 or more: 5, 5, 4, 0
        ("sum-3", [0, 1, 2, 3]),
        # question 1: ranks 1, 1, 4, 3 (shared); question 2: 3, 3, 1, 2: 1/61 + 1/63 = .03227 twice, 1/64 + 1/61 = .03202,
        # 1/63 + 1/62 = .03200
        ("rrf", [0, 1, 2, 3]),
        # question 1: 1, 2, 4, 3; question 2: 3, 4, 1, 2: .03227, .03175, .03202, .03200
        ("rrf-ordinal", [0, 2, 3, 1]),
        # 5 first (first stage), then 4 for question 2; nothing is left to gain; the rest by their own sum: 5, 5
        ("greedy-sum", [0, 2, 1, 3]),
        # document 3 answers both questions at 1: taken first; nothing left; own numbers 1, 1, 1
        ("greedy-cov", [3, 0, 1, 2]),
        # gains 1, 1, 1, 2: 3; then each gains .5: 0 (first stage); question 1 was then seen twice: .25 against .5: 2
        ("greedy-alpha", [3, 0, 2, 1]),
        # expected: 1, 1, .64, (2/5)^2 + (3/5)^2 = .52: 0; then 1 gains 0, 2 .64, 3 .36: 2; then 3 .36 x .36: 3; then 1
        ("soft-cov", [0, 2, 3, 1]),
    ],
)
def test_aggregations_by_hand(name, order):
    ratings = [[5, 0], [5, 0], [0, 4], [2, 3]]
    assert aggregate(ratings, name).order.tolist() == order


def test_every_case_of_the_area_is_here(shared):
    listed = [case["id"] for case in CASES.values() if case["area"] == "reference generators"]
    assert sorted(listed) == [name.split("_")[1] for name in sorted(globals()) if name.startswith("test_GE")]


def test_GE03_known_answers():
    case = CASES["GE03"] if CASES else None
    ratings = [[5, 0], [5, 0], [0, 4]]
    expected = {"sum": [0, 1, 2], "greedy-sum": [0, 2, 1], "greedy-alpha": [0, 2, 1], "greedy-coverage": [0, 2, 1]}
    if case:
        listed = {name: [int(d[1]) - 1 for d in order] for name, order in case["expected"]["values"].items()}
        assert listed == expected
        assert json.loads(case["files"]["ratings.json"])["ratings"] == ratings
    for name, order in expected.items():
        assert aggregate(ratings, name).order.tolist() == order


def test_GE01_parsing_of_ratings(shared):
    replies = json.loads(CASES["GE01"]["files"]["ratings.json"])
    parsed = {key: parse_rating(reply) for key, reply in replies.items()}
    for key, value in CASES["GE01"]["expected"]["values"].items():
        assert (parsed[key] or 0) == value, key
    assert parsed["c"] is None
    assert parsed["d"] in (None, 5)
    assert parsed["k"] is None
    assert parse_rating("7") is None


@pytest.mark.parametrize("name", [*PUBLISHED, "soft-cov"])
@given(table=TABLES)
def test_every_aggregation_is_a_permutation_that_repeats(name, table):
    found = aggregate(table, name)
    assert sorted(found.order.tolist()) == list(range(len(table)))
    assert found.order.tolist() == aggregate(table, name).order.tolist()
    assert found.value.shape == (len(table),)


@given(table=TABLES)
def test_equal_documents_keep_the_first_stage(table):
    doubled = [row for row in table for _ in (0, 1)]
    for name in ("first-stage", "sum", "rrf", "greedy-alpha-2"):
        order = aggregate(doubled, name).order.tolist()
        assert all(order.index(2 * place) < order.index(2 * place + 1) for place in range(len(table)))


@given(table=TABLES)
def test_what_is_not_parsed_counts_0(table):
    negative = [[-1 if value == 0 else value for value in row] for row in table]
    for name in STRATEGIES:
        assert aggregate(negative, name).order.tolist() == aggregate(table, name).order.tolist()


def greedy_by_definition(table, tau, utility):
    """Section 1.4 in plain Python: the largest gain, ties by own utility, then the first stage."""
    left, picked = list(range(len(table))), []

    def own(row):
        return utility([row], table, tau)

    while left:
        gains = {row: utility([*picked, row], table, tau) - utility(picked, table, tau) for row in left}
        best = max(gains.values())
        if best <= 0:
            break
        row = min((r for r in left if gains[r] == best), key=lambda r: (-own(r), r))
        picked.append(row)
        left.remove(row)
    return [*picked, *sorted(left, key=lambda r: (-own(r), r))]


def best_sum(rows, table, tau):
    return sum(max((table[r][j] for r in rows if table[r][j] >= tau), default=0) for j in range(len(table[0])))


def answered(rows, table, tau):
    return sum(any(table[r][j] >= tau for r in rows) for j in range(len(table[0])))


@given(table=TABLES, tau=st.integers(1, 5))
def test_greedy_is_what_the_paper_defines(table, tau):
    assert aggregate(table, "greedy-sum", tau).order.tolist() == greedy_by_definition(table, tau, best_sum)
    assert aggregate(table, "greedy-cov", tau).order.tolist() == greedy_by_definition(table, tau, answered)


@given(table=TABLES)
def test_what_a_rank_adds_is_what_nothing_before_it_answers(table):
    found = aggregate(table, "sum", 3)
    seen = set()
    for row, new in zip(found.order.tolist(), found.new.tolist(), strict=True):
        carried = {j for j, value in enumerate(table[row]) if value >= 3}
        assert {j for j, flag in enumerate(new) if flag} == carried - seen
        seen |= carried


@pytest.mark.parametrize(
    ("name", "tau", "expected"),
    [("sum", None, ("sum", 1)), ("sum", 3, ("sum", 3)), ("greedy-cov-3", None, ("greedy-cov", 3)),
     ("greedy-coverage-tau=4", None, ("greedy-cov", 4)), ("rrf", None, ("rrf", 1)), ("soft-cov", None, ("soft-cov", 1))],
)  # fmt: skip
def test_names_of_aggregations(name, tau, expected):
    assert strategy_name(name, tau) == expected


@pytest.mark.parametrize(
    ("name", "tau", "message"),
    [("summ", None, "unknown aggregation 'summ' .did you mean 'sum'"), ("rrf", 3, "rrf has no tau"), ("sum-6", None, "tau must be from 1 to 5"), ("soft-cov-2", None, "has no tau")],
)  # fmt: skip
def test_impossible_aggregations_are_refused(name, tau, message):
    with pytest.raises(ParameterError, match=message):
        strategy_name(name, tau)


@pytest.mark.parametrize("table", [[[6]], [[]], [1, 2]])
def test_impossible_ratings_are_refused(table):
    with pytest.raises(ParameterError, match="rating"):
        aggregate(table, "sum")


# --- published ------------------------------------------------------------------------------------------------------


@pytest.fixture
def lancer(shared):
    return shared / "data/lancer"


@pytest.mark.parametrize(
    ("stage", "published"),
    [
        ("duc04.lsr", "published_runs/duc04.lsr.lancer-oracle-sum.run"),
        ("neuclir24.lsr-milco", "published_runs/neuclir24.lsr-milco.lancer-oracle-sum.run"),
        ("duc04.bm25", "runs_top10/duc04.bm25.lancer-oracle-sum.rederived.run"),
    ],
)
def test_the_published_oracle_runs_are_made_again(stage, published, lancer, cli, tmp_path):
    out = tmp_path / "out.run"
    arguments = ("--run", lancer / f"first_stage/{stage}.run", "--ratings", lancer / f"ratings/{stage}.oracle.json")
    assert cli("generate", "lancer", *arguments, "-o", out).code == 0
    ours, theirs = (candidates_of(read_run(str(path))) for path in (out, lancer / published))
    assert len(ours) == (19 if "neuclir" in stage else 50)
    depth = len(next(iter(theirs.values())))
    assert depth == (10 if "top10" in published else 100)
    assert {topic: documents[:depth] for topic, documents in ours.items()} == theirs
    assert cli("validate", "run", out).code == 0


TAUS = [
    ("bm25", "duc04-own"),
    ("lsr", "duc04-own"),
    ("bm25", "duc04-all"),
    ("lsr", "duc04-all"),
    ("lsr-milco", "neuclir24"),
]


@pytest.mark.parametrize(("stage", "qrels_name"), TAUS)
def test_every_strategy_gives_the_published_table(stage, qrels_name, lancer):
    collection = qrels_name.partition("-")[0]
    qrels = read_qrels(str(lancer / f"{qrels_name}.nugget-qrels.tau3.txt"))
    bank = read_bank(str(lancer / f"{collection}.nuggets.jsonl"))
    candidates = candidates_of(read_run(str(lancer / f"first_stage/{collection}.{stage}.run")))
    ratings, *_ = read_ratings(str(lancer / f"ratings/{collection}.{stage}.oracle.json"), candidates)
    runs = [as_run(rerank(candidates, ratings, name).rankings, name) for name in PUBLISHED]
    bounds = {"UPPER-BOUND (greedy-alpha on the qrels)": "greedy", "UPPER-BOUND (exact max coverage)": "exact"}
    runs += [as_run(ideal(candidates, qrels, by), by) for by in bounds.values()]
    columns = {name: name for name in ("P@10", "nDCG@10", "alpha_nDCG@10", "StRecall@10")} | {
        "Cov@10": "Cov@10-nofilter"
    }
    scores = evaluate([*columns], Inputs(qrels, runs, bank))
    with (lancer / "aggregation_results.tsv").open() as file:
        rows = [row for row in DictReader(file, delimiter="\t") if row["impl"] == "ours"]
    rows = [row for row in rows if (row["first_stage"], row["qrels"]) == (stage, qrels_name)]
    assert len(rows) == len(PUBLISHED) + 2 == 25
    for row in rows:
        name = bounds.get(row["strategy"], row["strategy"])
        for measure, column in columns.items():
            if row[column]:
                assert f"{scores.value(name, measure):.4f}" == row[column], (name, measure)


SCRIPT = """
import hashlib, json, sys
from nuggeteval import read_run
from nuggeteval.aggregation import PUBLISHED
from nuggeteval.generators import candidates_of
from nuggeteval.generators.lancer import rerank
from nuggeteval.ratings import read_ratings
candidates = candidates_of(read_run(sys.argv[1]))
ratings, *_ = read_ratings(sys.argv[2], candidates)
rankings = [rerank(candidates, ratings, name).rankings for name in (*PUBLISHED, "soft-cov")]
print(hashlib.sha256(json.dumps(rankings).encode()).hexdigest())
"""


def test_the_same_bytes_on_any_processor_and_with_any_hash_seed(lancer):
    stage, ratings = str(lancer / "first_stage/duc04.bm25.run"), str(lancer / "ratings/duc04.bm25.oracle.json")
    clean = {name: value for name, value in os.environ.items() if name != "NPY_DISABLE_CPU_FEATURES"}

    def python(code, *arguments, **more):
        command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
        return subprocess.run(command, env={**clean, **more}, capture_output=True, text=True, check=True).stdout

    found = "import numpy as np; print(*np.show_config(mode='dicts')['SIMD Extensions'].get('found', []))"
    features = python(found).strip()
    settings = [
        {},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "NPY_DISABLE_CPU_FEATURES": features},
    ]
    assert len({python(SCRIPT, stage, ratings, **extra) for extra in settings}) == 1


def test_the_soft_coverage_on_other_thresholds(lancer):
    """Qrels made again of the same ratings at 4 and 5: circular, as any run made of the ratings that judge it."""
    from nuggeteval import NuggetQrels

    candidates = candidates_of(read_run(str(lancer / "first_stage/duc04.lsr.run")))
    ratings, *_ = read_ratings(str(lancer / "ratings/duc04.lsr.oracle.json"), candidates)
    rows = [
        (topic, str(j + 1), document, value or 0)
        for topic, mine in ratings.items()
        for document, row in mine.items()
        for j, value in enumerate(row)
    ]
    qrels = NuggetQrels.of(rows)
    runs = [
        as_run(rerank(candidates, ratings, name).rankings, name)
        for name in ("soft-cov", "sum", "first-stage", "greedy-cov-3")
    ]
    found = evaluate(["alpha_nDCG(rel=4)@10", "Cov(rel=4)@10", "Cov(rel=5)@10"], Inputs(qrels, runs))
    values = {run: [found.value(run, m) for m in found.measures] for run in found.runs}
    assert all(soft > plain for soft, plain in zip(values["soft-cov"], values["sum"], strict=True))
    assert values["soft-cov"][2] > values["greedy-cov-3"][2]


# --- the bound -------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=7), st.integers(1, 4))
def test_the_exact_cover_is_the_best_of_all_subsets(table, number):
    from itertools import combinations

    carries = np.array(table)
    best = max(
        int(carries[list(rows)].any(axis=0).sum()) if rows else 0
        for size in range(min(number, len(table)) + 1)
        for rows in combinations(range(len(table)), size)
    )
    cover = max_coverage(carries, number)
    assert len(cover) <= number
    assert (int(carries[cover].any(axis=0).sum()) if cover else 0) == best


def test_greedy_can_miss_the_best_cover(cli, write):
    # d1 covers 4 of 6, d2 and d3 three each, all of them together: greedy takes d1 first.
    qrels = write(
        "q",
        "".join(
            f"t n{j} {d} 1\n" for d, ns in (("d1", (2, 3, 4, 5)), ("d2", (1, 2, 3)), ("d3", (4, 5, 6))) for j in ns
        ),
    )
    run = write("r", "t Q0 d1 1 3 x\nt Q0 d2 2 2 x\nt Q0 d3 3 1 x\n")
    orders = []
    for by in ("greedy", "exact"):
        out = write(f"{by}.run", "")
        assert (
            cli("generate", "ideal", "--run", run, "--qrels", qrels, "--by", by, "--cutoff", "2", "-o", out).code == 0
        )
        orders.append(candidates_of(read_run(out))["t"])
    assert orders == [["d1", "d2", "d3"], ["d2", "d3", "d1"]]


@pytest.mark.parametrize(("options", "code", "message"), [
    (("--qrels", ROOT / "qrels/demo.qrels", "--run", "RUN"), 1, "no topic in common"),
    (("--qrels", ROOT / "qrels/demo.qrels", "--run", ROOT / "runs/demo-ideal.run", "--by", "best"), 2, "invalid choice"),
    (("--qrels", ROOT / "qrels/demo.qrels", "--run", ROOT / "runs/demo-ideal.run", "--cutoff", "0"), 2, "--cutoff: must be"),
])  # fmt: skip
def test_a_bound_that_cannot_be(options, code, message, cli, write):
    run = write("RUN", "zz Q0 d 1 1 x\n")
    result = cli("generate", "ideal", *(run if o == "RUN" else o for o in options), "-o", write("out", ""))
    assert (result.code, message in result.err) == (code, True), result.err


# --- ratings in every shape --------------------------------------------------------------------------------------------

CANDIDATES = {"7": ["a", "b"]}
SHAPES = {
    "lancer": '{"7": [[5, 0], [-1, 3]], "8": [[1]]}',
    "crux": '{"id": "7", "docid": "a", "rating": [5, 0]}\n{"id": 7, "docid": "b", "rating": [-1, 3]}\n',
    "crux, offloaded": '{"id": "7", "docids": ["a", "b"], "ratings": [[5, 0], [null, 3]]}\n',
    "crux, oldest": '{"example_id": "7", "pid": "a", "rating": [5, 0]}\n{"example_id": "7", "pid": "b", "rating": [-1, 3]}\n',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape, write):
    ratings, ids, named = read_ratings(write("ratings", SHAPES[shape]), CANDIDATES)
    assert ratings == {"7": {"a": [5, 0], "b": [None, 3]}}
    assert (ids["7"], named) == (["1", "2"], False)
    again, *_ = read_ratings(write("again", "".join(write_ratings(ratings))), CANDIDATES)
    assert again == ratings


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"7": [[5, 0]]}', DataError, "topic '7' has 1 rows without document ids, and the run has 2"),
        ('{"7": [[5, 0], [9, 1]]}', FormatError, "integer from 0 to 5, or -1 or null .got 9"),
        ('{"7": [[5, 0], [1]]}', FormatError, "documents are rated against 1, 2 questions"),
        ('{"9": [[5, 0]]}', DataError, "no topic in common: it has 9; the run has 7"),
        ('{"id": "7", "docid": "a", "rating": [5]}\n{"id": "7", "docid": "a", "rating": [5]}\n', FormatError, "2: document 'a' of topic '7' is rated twice"),
        ('{"id": "7", "rating": [5]}\n', FormatError, "expected"),
        ('{"id": "7", "docids": null, "ratings": [[5]]}\n', FormatError, "expected"),
        ('{"id": "7", "docids": "a", "ratings": [[5]]}\n', FormatError, "expected"),
        ('{"id": ["7"], "docid": "a", "rating": [5]}\n', FormatError, "expected"),
        ('{"7": [[], []]}', FormatError, "topic '7' has no rating"),
        ("t n d 1\n", FormatError, "ratings are JSON"),
    ],
)  # fmt: skip
def test_broken_ratings_are_named(text, kind, message, write):
    with pytest.raises(kind, match=message):
        read_ratings(write("ratings", text), CANDIDATES)


def test_ratings_are_nugget_qrels(lancer, cli, tmp_path):
    ratings, qrels = lancer / "duc04-own.judge.jsonl", tmp_path / "q"
    assert cli("convert", ratings, qrels, "--to", "qrels").code == 0
    rows = [line.split() for line in qrels.read_text().splitlines()]
    assert len(rows) == 15 * len(ratings.read_text().splitlines())
    published = (lancer / "duc04-own.nugget-qrels.tau3.txt").read_text().splitlines()
    assert {tuple(row[:3]) for row in rows if int(row[3]) >= 3} == {tuple(line.split()[:3]) for line in published}


def test_ratings_with_and_without_document_ids(lancer, cli, tmp_path):
    stage = "neuclir24.lsr-milco"
    source, run = lancer / f"ratings/{stage}.oracle.json", lancer / f"first_stage/{stage}.run"
    lines, judgments, again = (tmp_path / name for name in "lja")
    assert cli("convert", source, lines, "--to", "ratings", "--run", run).code == 0
    assert "26700 judgments" in cli("convert", lines, judgments, "--to", "judgments").err
    assert cli("convert", judgments, again, "--to", "ratings").code == 0
    assert again.read_text() == lines.read_text()
    first = json.loads(lines.read_text().splitlines()[0])
    assert first["rating"] == json.loads(source.read_text())[first["id"]][0]
    assert "2 failed" in cli("convert", source, "-", "--to", "qrels", "--run", run).err
    assert "no document ids" in cli("convert", source, "-", "--to", "qrels").err


def test_candidates_without_a_rating():
    ratings = {"7": {"a": [5]}, "9": {"z": [1]}}
    with pytest.raises(DataError, match=r"1 of 2 candidates have no rating: 7 b; are these the ratings of this run"):
        unrated_notes(CANDIDATES, ratings, "r")
    notes = unrated_notes({**CANDIDATES, "8": ["c"]}, ratings, "r", strict=False)
    assert notes == [
        "1 of 2 candidates have no rating and count 0",
        "topics without ratings keep the order of the first stage: 8",
        "topics without candidates are left out: 9",
    ]
    with pytest.raises(DataError, match="2 of 2 candidates have no rating"):
        unrated_notes(CANDIDATES, {"7": {"x": [1]}}, "r", strict=False)


def test_nothing_is_added_or_lost():
    with pytest.raises(DataError, match="2 documents are ranked of 2 candidates"):
        checked_order("7", ["a", "x"], ["a", "b"])
    with pytest.raises(DataError, match="no topic in common"):
        rerank(CANDIDATES, {"9": {"z": [1]}})


# --- sub-questions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        ("<questions>\nWhat is a tide?\nWho measures the tides?\n</questions>", ["What is a tide?", "Who measures the tides?"]),
        ("Sure!\n<questions>\n1. What is a tide?\n- What is a tide?\n2020 was what year?\n", ["What is a tide?", "2020 was what year?"]),
        ("<START OF LIST>\nWhat is a tide?\n<END OF LIST>\nBye bye my friend", ["What is a tide?"]),
        ("What is a tide?\n\nWho measures it then?", ["What is a tide?", "Who measures it then?"]),
        ("<think>Why? Who knows this?</think>\n<questions>\nWhat is a tide?\n</questions>", ["What is a tide?"]),
        ("Here are two questions:\nWhat is a tide?", ["What is a tide?"]),
        ("\u6f6e\u6c50\u662f\u4ec0\u4e48\uff1f", ["\u6f6e\u6c50\u662f\u4ec0\u4e48\uff1f"]),
        ("", []),
        ("No.", []),
    ],
)  # fmt: skip
def test_replies_with_questions(reply, questions):
    assert parse_questions(reply) == questions


def test_questions_by_rule_are_parts_of_the_request():
    request = "Explain what causes ocean tides, how sailors predict their height; and why coasts differ. Thank you."
    found = by_rule({"t": request}, 5)
    assert found.texts == {"t": ["Explain what causes ocean tides", "how sailors predict their height"]}
    assert found.short == {"t": "2 of 5 parts"}
    assert by_rule({"t": request}, 1).texts == {"t": ["Explain what causes ocean tides"]}
    with pytest.raises(ParameterError, match="at least 1"):
        by_rule({"t": request}, 0)


def test_the_number_is_respected_for_files(write):
    path = write("q.json", '{"t": ["What is a tide?", "Who measures it?", "Why does it matter?"]}')
    assert read_questions(path, 2).texts == {"t": ["What is a tide?", "Who measures it?"]}
    assert read_questions(path).texts["t"][2] == "Why does it matter?"
    bank = as_question_bank(read_questions(path, 2), "q", {"t": "Tides"})
    assert [n.text for n in bank.nuggets["t"]] == ["Tides\nWhat is a tide?", "Tides\nWho measures it?"]
    with pytest.raises(FormatError, match="no sub-question"):
        read_questions(write("e.json", '{"t": []}'))
    with pytest.raises(ParameterError, match="no request for the topics t"):
        as_question_bank(read_questions(path), "q", {})


def test_all_of_the_request_counts(shared, tmp_path, write, cli, monkeypatch):
    """Problem statement and background: the reference drops one of them."""
    topics = shared / "data/lancer/neuclir24-test-request.jsonl"
    run = write("r", "300 Q0 d1 1 2 x\n300 Q0 d2 2 1 x\n")
    documents = write("d.jsonl", '{"id": "d1", "text": "one"}\n{"id": "d2", "text": "two"}\n')
    prompts = []
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(prompt):
        prompts.append(prompt)
        return {"content": MADE if "<questions>" in prompt else "3"}

    with serving(answer) as server:
        environment = ("--model", "m", "--base-url", server.url, "--cache", tmp_path / "c.db", "--quiet")
        result = cli(
            "generate",
            "lancer",
            "--run",
            run,
            "--queries",
            topics,
            "--documents",
            documents,
            *environment,
            "-o",
            tmp_path / "o.run",
        )
    assert result.code == 0, result.err
    assert len(prompts) == 1 + 4
    for prompt in prompts:
        assert "National Institutes of Health" in prompt
        assert "I need a report on suicide rates" in prompt
        assert "Japan suicide rate COVID-19" in prompt


# --- the whole chain ---------------------------------------------------------------------------------------------------


def test_offline_from_the_request_to_a_scored_run(cli, tmp_path):
    out, trace = tmp_path / "o.run", tmp_path / "trace.jsonl"
    arguments = (*DEMO, *QUERIES, "--judge", "lexical", "-o", out, "--trace", trace)
    result = cli("generate", "lancer", *arguments)
    assert result.code == 0, result.err
    run = read_run(str(out))
    assert run.name == "lancer:agg_sum:nq_2"
    first = candidates_of(read_run(str(ROOT / "runs/demo-keyword.run")))
    assert {t: sorted(d) for t, d in candidates_of(run).items()} == {t: sorted(d) for t, d in first.items()}
    stages = tmp_path / "o.run.stages"
    assert {path.name for path in stages.iterdir()} == {
        "questions.json",
        "questions.bank.jsonl",
        "ratings.jsonl",
        "settings.json",
    }
    judged = [json.loads(line) for line in (stages / "ratings.jsonl").read_text().splitlines()]
    assert {(j["view"], tuple(j["scale"])) for j in judged} == {("documents", (5, 3))}
    assert all(j["grade"] == int(5 * j["score"] + 0.5) for j in judged)
    assert (
        cli("generate", "lancer", *DEMO[:2], "--ratings", stages / "ratings.jsonl", "-o", tmp_path / "again.run").code
        == 0
    )
    assert candidates_of(read_run(str(tmp_path / "again.run"))) == candidates_of(run)
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [record["topic"] for record in records] == list(first)
    for record in records:
        assert [d["docid"] for d in record["documents"]] == candidates_of(run)[record["topic"]]
        assert len(record["questions"]) == 2
        values = [d["value"] for d in record["documents"]]
        assert values == sorted(values, reverse=True)
        assert all(d["value"] == sum(d["ratings"]) for d in record["documents"])


MADE = "<questions>\nWhat is the first thing?\nWhat is the second thing?\n</questions>"


def lancer_answer(asked):
    """Questions, and grades that depend on the prompt alone."""

    def answer(prompt):
        asked.append(prompt)
        grade = int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 6
        return {"content": MADE if "<questions>" in prompt else str(grade)}

    return answer


@pytest.fixture
def hundred(write):
    run = write("first.run", "".join(f"t Q0 d{i:03d} {i + 1} {100 - i} x\n" for i in range(100)))
    documents = write("d.jsonl", "".join(f'{{"id": "d{i:03d}", "text": "text number {i}"}}\n' for i in range(100)))
    queries = write("q.jsonl", '{"id": "t", "text": "Write about the seven wonders of the ancient world."}\n')
    return ("--run", run, "--documents", documents, "--queries", queries)


def test_a_hundred_documents_and_two_questions_are_200_calls(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    asked = []
    with serving(lancer_answer(asked)) as server:
        options = ("--model", "m", "--base-url", server.url, "--concurrency", "16", "-o", tmp_path / "o.run")
        result = cli("generate", "lancer", *hundred, *options)
        assert result.code == 0, result.err
        assert len(asked) == 1 + 200
        again = cli("generate", "lancer", *hundred, *options, "--aggregate", "greedy-cov-3")
        assert again.code == 0
        assert len(asked) == 1 + 200
    ratings, *_ = read_ratings(str(tmp_path / "o.run.stages/ratings.jsonl"), {"t": [f"d{i:03d}" for i in range(100)]})
    assert len(ratings["t"]) == 100
    assert "201 calls" in result.err
    assert cli("validate", "run", tmp_path / "o.run").code == 0


def test_killed_and_resumed_nothing_written_is_asked_again(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    asked = []
    inner = lancer_answer(asked)

    def dying(prompt):
        return {"status": 401, "error": "gone"} if len(asked) > 80 else inner(prompt)

    options = ("--concurrency", "4", "-o", tmp_path / "o.run")
    with serving(dying) as server:
        first = cli(
            "generate", "lancer", *hundred, "--model", "m", "--base-url", server.url, "--model-id", "x", *options
        )
    assert first.code == 1
    assert not (tmp_path / "o.run").exists()
    written = len((tmp_path / "o.run.stages/ratings.jsonl").read_text().splitlines())
    assert 60 < written < 100
    before = len(asked)
    with serving(inner) as server:
        second = cli(
            "generate", "lancer", *hundred, "--model", "m", "--base-url", server.url, "--model-id", "x", *options
        )
    assert second.code == 0, second.err
    assert len(asked) - before == 200 - written


def test_a_bad_reply_is_counted_and_stops_nothing(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(prompt):
        if "<questions>" in prompt:
            return {"content": "<questions>\nWhat is the first thing?\n</questions>"}
        return {"content": "9" if "number 7\n" in prompt else "none of it" if "number 8\n" in prompt else "4"}

    with serving(answer) as server:
        options = ("--model", "m", "--base-url", server.url, "-o", tmp_path / "o.run", "--trace", tmp_path / "t.jsonl")
        result = cli("generate", "lancer", *hundred, *options)
    assert result.code == 0
    assert "t: 1 of 2 questions" in result.err
    assert "2 ratings failed and count 0 (mostly: unparsed)" in result.err
    documents = candidates_of(read_run(str(tmp_path / "o.run")))["t"]
    assert documents[-2:] == ["d007", "d008"]
    record = json.loads((tmp_path / "t.jsonl").read_text())
    assert [d["ratings"] for d in record["documents"][-2:]] == [[None], [None]]


def test_a_dry_run_asks_nobody(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = cli("generate", "lancer", *hundred, "--model", "m", "--dry-run", "-o", tmp_path / "o.run")
    assert result.code == 0, result.err
    assert "sub-questions: 1 calls" in result.err
    assert "200 calls" in result.err
    assert list(tmp_path.glob("o.run*")) == []


def test_other_requests_are_not_taken_for_the_same(hundred, cli, tmp_path, write):
    options = ("--judge", "lexical", "-o", tmp_path / "o.run")
    assert cli("generate", "lancer", *hundred, *options).code == 0
    other = write("q2.jsonl", '{"id": "t", "text": "Write about the seven hills of the ancient city."}\n')
    result = cli("generate", "lancer", *hundred[:4], "--queries", other, *options)
    assert (result.code, "choose another --keep" in result.err) == (1, True)


def test_long_documents_are_cut_and_counted(hundred, cli, tmp_path, write):
    documents = write(
        "long.jsonl",
        "".join(json.dumps({"id": f"d{i:03d}", "text": "word " * (50 if i else 5000)}) + "\n" for i in range(100)),
    )
    arguments = (
        "--run",
        hundred[1],
        "--documents",
        documents,
        *hundred[4:],
        "--judge",
        "lexical",
        "-o",
        tmp_path / "o.run",
    )
    assert "1 documents are cut to their first 4000 words" in cli("generate", "lancer", *arguments).err


def test_all_aggregations_go_to_a_folder(cli, tmp_path):
    bank = ROOT / "qrels/demo.bank.jsonl"
    result = cli(
        "generate",
        "lancer",
        *DEMO,
        "--oracle",
        bank,
        "--judge",
        "lexical",
        "--aggregate",
        "all",
        "-o",
        tmp_path / "out",
    )
    assert result.code == 0, result.err
    assert len(list((tmp_path / "out").iterdir())) == len(PUBLISHED) + 1
    run = read_run(str(tmp_path / "out/demo-keyword.lancer-greedy-cov-3.run"))
    assert run.name == "lancer:oracle:agg_greedy-cov-3"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((*DEMO, *QUERIES), 2, "--judge lexical, which needs none"),
        ((*DEMO, "--judge", "lexical"), 2, "--queries FILE; or --oracle BANK"),
        ((*DEMO[:2], *QUERIES, "--judge", "lexical"), 2, "--documents FILE; or --ratings FILE"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--aggregate", "max"), 2, "unknown aggregation 'max'"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--aggregate", "all", "--tag", "x"), 2, "--trace and --tag are of one"),
        ((*DEMO, "--oracle", "EMPTY", "--judge", "lexical"), 1, "EMPTY: empty nugget bank"),
        ((*DEMO, "--queries", "OTHER", "--judge", "lexical"), 1, "no topic in common"),
        (("--run", "EMPTY", "--ratings", "OTHER"), 1, "EMPTY"),
        ((*DEMO[:2], "--documents", "OTHER", *QUERIES, "--judge", "lexical"), 1, "no candidate has a text"),
        ((*DEMO[:2], "--ratings", ROOT / "runs/demo-keyword.run"), 1, "ratings are JSON"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--aggregate", "rrf", "--tau", "3"), 2, "rrf has no tau"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--aggregate", "greedy-cov-3", "--tau", "2"), 2, "in its name"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--aggregate", "all", "--tau", "3"), 2, "--tau says nothing"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--model", "m"), 2, "--model says nothing beside --judge lexical"),
        ((*DEMO, *QUERIES, "--judge", "rubric"), 2, "--model NAME"),
        ((*DEMO, "--oracle", "OTHER", "--n", "2", "--judge", "lexical"), 2, "--n says nothing beside --oracle"),
        ((*DEMO, "--ratings", "OTHER", "--judge", "lexical"), 2, "--judge says nothing beside --ratings"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--tag", "a b"), 2, "white space"),
        ((*DEMO, *QUERIES, "--judge", "lexical", "--trace", "nowhere/t"), 1, "no such folder"),
    ],
)  # fmt: skip
def test_bad_input_is_named(options, code, message, cli, write, tmp_path):
    files = {
        "EMPTY": write("EMPTY", ""),
        "OTHER": write("OTHER", '{"id": "zz", "text": "Another topic altogether."}\n'),
    }
    result = cli("generate", "lancer", *(files.get(option, option) for option in options), "-o", tmp_path / "o.run")
    assert result.code == code, result.err
    assert re.search(message, result.err), result.err
    assert list(tmp_path.glob("o.run*")) == []


# --- what a reader of the first version found -------------------------------------------------------------------------


@given(table=TABLES)
def test_soft_coverage_is_its_definition_in_fractions(table):
    chance = [[Fraction(max(value, 0), 5) ** 2 for value in row] for row in table]
    left, order = list(range(len(table))), []
    still = [Fraction(1)] * len(table[0])
    while left:
        gain = {d: sum(s * c for s, c in zip(still, chance[d], strict=True)) for d in left}
        best = max(left, key=lambda d: (gain[d], -d))
        if not gain[best]:
            break
        order.append(best)
        still = [s * (1 - c) for s, c in zip(still, chance[best], strict=True)]
        left.remove(best)
    order += sorted(left, key=lambda d: (-sum(chance[d]), d))
    assert aggregate(table, "soft-cov").order.tolist() == order


def test_soft_coverage_goes_on_where_all_is_answered():
    # The 5 answers for sure: all gains are 0, and the 4s still come before the 0s.
    assert aggregate([[0], [4], [5], [0], [4]], "soft-cov").order.tolist() == [2, 1, 4, 0, 3]


def test_ratings_are_whole_numbers():
    with pytest.raises(ParameterError, match="must be integers"):
        aggregate(np.array([[1.7], [2.0]]), "sum")


def generate(cli, *arguments):
    result = cli("generate", "lancer", *arguments)
    assert result.code == 0, result.err
    return result


def traced(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_questions_keep_their_ratings_whatever_comes_first(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(prompt):
        if "<questions>" in prompt:
            return {"content": MADE}
        if "What is the first thing?" in prompt:
            time.sleep(0.02)
            return {"content": "4"}
        return {"content": "1"}

    with serving(answer) as server:
        trace = tmp_path / "t.jsonl"
        options = ("--model", "m", "--base-url", server.url, "-o", tmp_path / "o.run", "--trace", trace)
        generate(cli, *hundred, *options)
    (record,) = traced(trace)
    lines = [json.loads(line) for line in (tmp_path / "o.run.stages/ratings.jsonl").read_text().splitlines()]
    assert lines[0]["nugget"] == "2"
    assert [q["text"] for q in record["questions"]] == ["What is the first thing?", "What is the second thing?"]
    assert [q["id"] for q in record["questions"]] == ["1", "2"]
    assert {tuple(d["ratings"]) for d in record["documents"]} == {(4, 1)}
    reverse = tmp_path / "reverse.jsonl"
    reverse.write_text(
        "".join(json.dumps(line) + "\n" for line in sorted(lines, key=lambda x: x["nugget"], reverse=True))
    )
    generate(cli, *hundred[:2], "--ratings", reverse, "--n", "1", "-o", tmp_path / "n.run", "--trace", trace)
    assert {tuple(d["ratings"]) for d in traced(trace)[0]["documents"]} == {(4,)}


def test_fewer_questions_than_are_kept(cli, tmp_path, write):
    bank = json.loads((ROOT / "qrels/demo.bank.jsonl").read_text().splitlines()[0])
    questions = write("q.json", json.dumps({bank["topic"]: [nugget["text"] for nugget in bank["nuggets"]]}))
    shared_options = (*DEMO, *QUERIES, "--questions", questions, "--judge", "lexical")
    runs = {}
    for name, number, keep in (("five", "5", "K"), ("one", "1", "K"), ("fresh", "1", "L")):
        out, trace = tmp_path / f"{name}.run", tmp_path / f"{name}.jsonl"
        options = ("--n", number, "--keep", tmp_path / keep, "-o", out, "--trace", trace)
        generate(cli, *shared_options, *options)
        runs[name] = out.read_bytes()
        first = next(record for record in traced(trace) if record["topic"] == bank["topic"])
        assert len(first["questions"]) == int(number)
    assert runs["one"] == runs["fresh"] != runs["five"]
    assert b"nq_1" in runs["one"]
    short = write("short.json", json.dumps({bank["topic"]: ["What is known of it?", "Who says that?"]}))
    trace = tmp_path / "short.jsonl"
    options = ("--ratings", tmp_path / "K/ratings.jsonl", "--questions", short, "--trace", trace)
    generate(cli, *DEMO[:2], *options, "-o", tmp_path / "short.run")
    record = next(record for record in traced(trace) if record["topic"] == bank["topic"])
    assert [q["text"] for q in record["questions"]] == ["What is known of it?", "Who says that?"]


def test_gold_nuggets_keep_their_ids(cli, tmp_path):
    bank = ROOT / "qrels/demo.bank.jsonl"
    trace = tmp_path / "t.jsonl"
    generate(cli, *DEMO, "--oracle", bank, "--judge", "lexical", "-o", tmp_path / "o.run", "--trace", trace)
    gold = read_bank(str(bank)).nuggets
    for record in traced(trace):
        assert [(q["id"], q["text"]) for q in record["questions"]] == [(n.id, n.text) for n in gold[record["topic"]]]
    assert {d["adds"][0] for record in traced(trace) for d in record["documents"] if d["adds"]} <= {
        nugget.id for nuggets in gold.values() for nugget in nuggets
    }


@pytest.mark.parametrize("name", ["greedy-coverage", "greedy-cov", "greedy-cov-3", "greedy-coverage-tau=3"])
def test_tau_counts_under_every_name(name, lancer, cli, tmp_path):
    stage = "duc04.bm25"
    files = ("--run", lancer / f"first_stage/{stage}.run", "--ratings", lancer / f"ratings/{stage}.oracle.json")
    generate(cli, *files, "--aggregate", name, "--tau", "3", "-o", tmp_path / "o.run")
    assert read_run(str(tmp_path / "o.run")).name == "lancer:agg_greedy-cov-3"


def test_ratings_of_more_than_the_depth_and_with_indentation(lancer, cli, tmp_path):
    stage = "duc04.bm25"
    run, ratings = lancer / f"first_stage/{stage}.run", lancer / f"ratings/{stage}.oracle.json"
    indented = tmp_path / "r.json"
    indented.write_text(json.dumps(json.loads(ratings.read_text()), indent=1))
    found = []
    for path in (ratings, indented):
        generate(cli, "--run", run, "--ratings", path, "--depth", "10", "-o", tmp_path / "o.run")
        found.append(candidates_of(read_run(str(tmp_path / "o.run"))))
    assert found[0] == found[1]
    first = candidates_of(read_run(str(run)), 10)
    assert {t: sorted(d) for t, d in found[0].items()} == {t: sorted(d) for t, d in first.items()}


def test_requests_of_crux_are_read(lancer):
    assert len(read_queries(str(lancer / "crux-mds-duc04.request.jsonl"))) == 50


def test_texts_without_blanks_are_cut(hundred, cli, tmp_path, write):
    lines = [json.dumps({"id": f"d{i:03d}", "text": "\u6c34" * (9 if i else 99)}) for i in range(100)]
    documents = write("han.jsonl", "\n".join(lines))
    files = ("--run", hundred[1], "--documents", documents, *hundred[4:])
    result = generate(cli, *files, "--judge", "lexical", "--words", "20", "-o", tmp_path / "o.run")
    assert "1 documents are cut to their first 20 words" in result.err


def test_a_candidate_without_a_text_counts_0(hundred, cli, tmp_path, write):
    documents = write("d99.jsonl", "".join(Path(hundred[3]).read_text().splitlines(keepends=True)[1:]))
    files = ("--run", hundred[1], "--documents", documents, *hundred[4:])
    result = generate(cli, *files, "--judge", "lexical", "-o", tmp_path / "o.run")
    assert "1 of 100 candidates have no text and count 0: d000" in result.err
    assert len(candidates_of(read_run(str(tmp_path / "o.run")))["t"]) == 100


def test_the_reason_of_failed_ratings_is_said(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(prompt):
        if "<questions>" in prompt:
            return {"content": MADE}
        return {"status": 400, "error": "too long"} if "number 1" in prompt else {"content": "3"}

    with serving(answer) as server:
        result = generate(cli, *hundred, "--model", "m", "--base-url", server.url, "-o", tmp_path / "o.run")
    assert re.search(r"22 ratings failed and count 0 .mostly: HTTP 400", result.err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "K/ratings.jsonl", "--keep", "K"), "would overwrite what --keep holds"),
        (("-o", "same", "--trace", "same"), "where another result goes"),
        (("-o", "nowhere/o.run"), "no such folder"),
        (("-o", "."), "it is a folder"),
        (("-o", "-"), "--keep DIR beside -o -"),
        (("-o", "-", "--keep", "K", "--aggregate", "sum,rrf"), "not to stdout"),
    ],
)
def test_where_results_cannot_go(options, message, hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    asked = []
    before = sorted(tmp_path.iterdir())
    with serving(lancer_answer(asked)) as server:
        result = cli("generate", "lancer", *hundred, "--model", "m", "--base-url", server.url, *options)
    assert result.code in (1, 2)
    assert message in result.err
    assert asked == []
    assert sorted(tmp_path.iterdir()) == before


def test_a_dry_run_writes_nothing_whatever_is_given(hundred, cli, tmp_path, write):
    ratings = write("r.json", json.dumps({"t": [[1, 2]] * 100}))
    for more in (("--ratings", ratings), ("--ratings", ratings, "--aggregate", "all")):
        result = generate(cli, *hundred[:2], *more, "--dry-run", "-o", tmp_path / "dry")
        assert "nobody would be asked" in result.err
        assert not (tmp_path / "dry").exists()
    prompt = write("p", "no field")
    options = ("--model", "m", "--question-prompt", prompt, "--dry-run", "-o", tmp_path / "dry")
    assert cli("generate", "lancer", *hundred, *options).code == 2


def test_broken_settings_are_named(hundred, cli, tmp_path):
    options = (*hundred, "--judge", "lexical", "-o", tmp_path / "o.run")
    generate(cli, *options)
    (tmp_path / "o.run.stages/settings.json").write_text("{")
    result = cli("generate", "lancer", *options)
    assert (result.code, "choose another --keep" in result.err) == (1, True)


def test_topics_without_ratings_are_in_the_trace(cli, tmp_path, write):
    run = write("r", "t Q0 a 1 2 x\nt Q0 b 2 1 x\nu Q0 c 1 1 x\n")
    ratings = write("r.jsonl", '{"id": "t", "docid": "a", "rating": [0]}\n{"id": "t", "docid": "b", "rating": [3]}\n')
    trace = tmp_path / "t.jsonl"
    generate(cli, "--run", run, "--ratings", ratings, "-o", tmp_path / "o", "--trace", trace)
    rated, unrated = traced(trace)
    assert [d["docid"] for d in rated["documents"]] == ["b", "a"]
    assert (unrated["topic"], unrated["questions"]) == ("u", [])
    assert unrated["documents"] == [
        {"rank": 1, "docid": "c", "first_stage": 1, "ratings": None, "value": None, "adds": []}
    ]


def test_a_bound_without_judgments_that_count(cli, tmp_path, write):
    files = ("--run", ROOT / "runs/demo-ideal.run", "--qrels", ROOT / "qrels/demo.qrels", "-o", tmp_path / "o")
    result = cli("generate", "ideal", *files, "-l", "9")
    assert (result.code, "no judgment has a grade of 9 or more" in result.err) == (1, True)
    rows = (ROOT / "qrels/demo.qrels").read_text().splitlines(keepends=True)
    qrels = write("q", "".join(row for row in rows if not row.startswith("tides ")))
    result = cli("generate", "ideal", *files[:2], "--qrels", qrels, "-o", tmp_path / "o")
    assert "keep the order of the first stage: tides" in result.err


def test_first_stages_by_rank(cli, tmp_path, write):
    run = write("r", "t Q0 a 2 9 x\nt Q0 b 1 1 x\n")
    qrels = write("q", "t n a 1\nt n b 1\n")
    orders = []
    for order in ("score", "rank"):
        arguments = ("--run", run, "--qrels", qrels, "--order", order, "-o", tmp_path / "o")
        assert cli("generate", "ideal", *arguments).code == 0
        orders.append(candidates_of(read_run(str(tmp_path / "o")))["t"])
    assert orders == [["a", "b"], ["b", "a"]]


def test_ratings_of_other_questions_do_not_count(cli, tmp_path):
    oracle = ("--oracle", ROOT / "qrels/demo.bank.jsonl")
    keep = ("--judge", "lexical", "--keep", tmp_path / "K")
    generate(cli, *DEMO, *oracle, *keep, "-o", tmp_path / "gold.run")
    generate(cli, *DEMO, *QUERIES, *keep, "-o", tmp_path / "own.run")
    ratings = ("--ratings", tmp_path / "K/ratings.jsonl")
    generate(cli, *DEMO[:2], *ratings, *oracle, "-o", tmp_path / "again.run")
    assert (tmp_path / "again.run").read_bytes() == (tmp_path / "gold.run").read_bytes()
    generate(cli, *DEMO[:2], *ratings, "--questions", tmp_path / "K/questions.json", "-o", tmp_path / "o.run")
    own, again = (candidates_of(read_run(str(tmp_path / name))) for name in ("own.run", "o.run"))
    assert own == again
    generate(cli, *DEMO, *QUERIES, "--judge", "lexical", "-o", tmp_path / "x.run")
    result = cli(
        "generate", "lancer", *DEMO[:2], "--ratings", tmp_path / "x.run.stages/ratings.jsonl", *oracle, "-o", "-"
    )
    assert (result.code, "the ids differ" in result.err) == (1, True)


def test_ratings_without_ids_are_of_as_many_questions(lancer, cli, tmp_path):
    stage = "neuclir24.lsr-milco"
    files = ("--run", lancer / f"first_stage/{stage}.run", "--ratings", lancer / f"ratings/{stage}.oracle.json")
    questions = lancer / "neuclir24.subquestions.llama3.3-70b.json"
    result = cli("generate", "lancer", *files, "--questions", questions, "-o", tmp_path / "o.run")
    assert result.code == 1
    assert "against 15 questions, which it does not name, and" in result.err


def test_the_order_of_a_bank(cli, tmp_path, write):
    texts = {"n10": "John Snow mapped the deaths", "n2": "The pump handle was removed", "n1": "Water carried cholera"}
    rows = [{"topic": "broad-street", "nugget_id": name, "text": text} for name, text in texts.items()]
    bank = write("bank.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    questions = ("--questions", bank)
    generate(cli, *DEMO, *QUERIES, *questions, "--judge", "lexical", "-o", tmp_path / "a.run")
    generate(cli, *DEMO, *QUERIES, *questions, "--n", "2", "--judge", "lexical", "-o", tmp_path / "b.run")
    ratings = tmp_path / "a.run.stages/ratings.jsonl"
    trace = tmp_path / "t.jsonl"
    generate(cli, *DEMO[:2], "--ratings", ratings, *questions, "--n", "2", "-o", tmp_path / "c.run", "--trace", trace)
    first, second = (candidates_of(read_run(str(tmp_path / name))) for name in ("b.run", "c.run"))
    assert first == second
    assert traced(trace)[0]["questions"] == [{"id": name, "text": texts[name]} for name in ("n10", "n2")]
    assert cli("convert", ratings, tmp_path / "crux.jsonl", "--to", "ratings").code == 0
    result = cli(
        "generate", "lancer", *DEMO[:2], "--ratings", tmp_path / "crux.jsonl", *questions, "-o", tmp_path / "d"
    )
    assert (result.code, "is in another order" in result.err) == (1, True)


def test_places_that_cannot_hold_what_is_paid_for(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    asked = []
    file = tmp_path / "file"
    file.write_text("mine")
    (tmp_path / "K").mkdir()
    (tmp_path / "K/questions.json").write_text('{"t": ["What is mine?"]}')
    with serving(lancer_answer(asked)) as server:
        model = (*hundred, "--model", "m", "--base-url", server.url)
        for options, message in (
            (("--aggregate", "sum,rrf", "-o", file), "this is a file"),
            (("--keep", file, "-o", tmp_path / "o.run"), "--keep is a folder"),
            (("--keep", tmp_path / "K", "-o", tmp_path / "o.run"), "name it as --questions"),
        ):
            result = cli("generate", "lancer", *model, *options)
            assert (result.code, message in result.err) == (1, True), result.err
    assert asked == []
    assert file.read_text() == "mine"
    assert "mine" in (tmp_path / "K/questions.json").read_text()


def test_a_dry_run_makes_no_cache_and_knows_the_one_there_is(hundred, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    cache = ("--cache", tmp_path / "c.db")
    with serving(lancer_answer([])) as server:
        model = (*hundred, "--model", "m", "--base-url", server.url, *cache)
        assert "sub-questions: 1 calls" in generate(cli, *model, "--dry-run", "-o", tmp_path / "a.run").err
        assert not (tmp_path / "c.db").exists()
        generate(cli, *model, "-o", tmp_path / "a.run")
        result = generate(cli, *model, "--dry-run", "-o", tmp_path / "b.run")
    assert "sub-questions: 1 calls" not in result.err
    assert " 0 calls" in result.err
    missing = cli(
        "generate", "lancer", *hundred[:2], "--ratings", tmp_path / "nothing", "--dry-run", "-o", tmp_path / "b"
    )
    assert missing.code == 1


def test_ratings_of_longer_runs_are_converted(cli, tmp_path, write):
    run = write("r", "".join(f"t Q0 d{i:03d} {i + 1} {200 - i} x\n" for i in range(150)))
    for rows in (150, 100):
        ratings = write("r.json", json.dumps({"t": [[place % 6] for place in range(rows)]}))
        assert cli("convert", ratings, tmp_path / "o", "--to", "ratings", "--run", run).code == 0
        lines = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
        assert [line["docid"] for line in lines] == [f"d{i:03d}" for i in range(rows)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("questions", [{"id": "1", "text": None}]),
        ("documents", [{}]),
        ("topic", ["a"]),
        ("ratings", [1]),
        ("ratings", 7),
    ],
)
def test_damaged_traces_are_named(key, value, cli, tmp_path):
    record = json.loads((ROOT / "runs/lancer-sum.trace.jsonl").read_text().splitlines()[0])
    if key == "ratings":
        record["documents"][0]["ratings"] = value
    else:
        record[key] = value
    trace = tmp_path / "t"
    trace.write_text(json.dumps(record))
    files = (ROOT / "qrels/demo.qrels", ROOT / "runs/lancer-sum.run")
    result = cli("report", "-l", "3", "--trace", trace, *files, "-o", tmp_path / "r.html")
    assert (result.code, "expected the lines of a trace" in result.err) == (1, True)


def test_what_nobody_knows_of_questions_is_not_said(cli, tmp_path):
    generate(cli, *DEMO, *QUERIES, "--judge", "lexical", "-o", tmp_path / "a.run")
    trace, page = tmp_path / "t", tmp_path / "r.html"
    ratings = ("--ratings", tmp_path / "a.run.stages/ratings.jsonl")
    generate(cli, *DEMO[:2], *ratings, "-o", tmp_path / "b.run", "--trace", trace)
    bank = ("--bank", ROOT / "qrels/demo.bank.jsonl")
    files = (ROOT / "qrels/demo.qrels", tmp_path / "b.run")
    assert cli("report", "-l", "3", *bank, "--trace", trace, *files, "-o", page).code == 0
    data = json.loads(
        re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)[1]
    )
    assert {len(topic["gold"]) for topic in data["traces"]} == {0}
