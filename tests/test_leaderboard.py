"""The leaderboard: means, ranks, marks, intervals, groups, strata, and every format."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import ROOT

from nuggeteval import DataError, ParameterError, read_scores
from nuggeteval.boards import read_board
from nuggeteval.data import Scores
from nuggeteval.leaderboards import Method, build_ranking
from nuggeteval.stats.significance import correct, paired, pairwise

QRELS, BANK = ROOT / "qrels/demo.qrels", ROOT / "qrels/demo.bank.jsonl"
RUNS = sorted((ROOT / "runs").glob("demo-*.run"))
DEMO = ("--rel", "3", "--bank", BANK, QRELS, *RUNS)


def table(values, topics=None, measures=("M",), runs=None):
    """Scores from {run: values of topics} of one measure, or arrays (runs, topics, measures)."""
    array = np.array([*values.values()], dtype=float)
    array = array[:, :, None] if array.ndim == 2 else array
    names = tuple(topics or (f"t{i}" for i in range(array.shape[1])))
    return Scores(tuple(values), names, measures, array, np.ones(array.shape, dtype=bool))


A = [0.9, 0.1, 0.5, 0.7, 0.3, 0.6]
B = [0.5, 0.2, 0.4, 0.4, 0.3, 0.5]
C = [0.1, 0.0, 0.1, 0.2, 0.0, 0.1]


def test_ties_share_ranks_and_undefined_is_last():
    scores = table({"x": [0.1, 0.2, 0.3], "y": [0.3, 0.2, 0.1], "z": [np.nan] * 3, "w": [0.9, 0.9, 0.9]})
    section = build_ranking(scores).sections[0]
    assert section.runs == ("w", "x", "y", "z")
    assert [section.cells[run][0].rank for run in section.runs] == ["1", "2=", "2=", "-"]


def test_marks_are_against_the_best_with_the_correction():
    scores = table({"a": A, "b": B, "c": C})
    section = build_ranking(scores).sections[0]
    # The best run is chosen by the same values: all three pairs are in the family.
    p = correct([paired(A, B).p, paired(A, C).p, paired(B, C).p], "holm")
    assert section.references == {"M": "a"}
    assert [section.cells[run][0].p for run in "bc"] == pytest.approx(list(p[:2]))
    assert np.isnan(section.cells["a"][0].p)
    assert [section.cells[run][0].mark for run in "abc"] == ["", "", "▼"]


def test_a_baseline_is_beaten_or_not():
    section = build_ranking(table({"a": A, "b": B, "c": C}), Method(baseline="c")).sections[0]
    p = correct([paired(A, C).p, paired(B, C).p], "holm")
    assert [section.cells[run][0].p for run in "ab"] == pytest.approx(list(p))
    assert [section.cells[run][0].mark for run in "abc"] == ["▲", "▲", ""]


def test_tukey_needs_no_correction():
    scores = table({"a": A, "b": B, "c": C})
    section = build_ranking(scores, Method(test="tukey", resamples=500)).sections[0]
    expected = pairwise(np.array([[A, B, C]]), "tukey", 500)[0]
    assert [section.cells[run][0].p for run in "bc"] == pytest.approx(list(expected[0, 1:]))


def test_less_can_be_better():
    section = build_ranking(table({"a": A, "b": B, "c": C}), Method(lower=frozenset({"M"}))).sections[0]
    assert section.runs == ("c", "b", "a")
    assert section.references == {"M": "c"}
    assert section.cells["a"][0].mark == "▼"


def test_the_interval_is_that_of_all_resamples():
    # One topic drawn with replacement is always itself; two topics of 0 and 1 give means of 0, .5 and 1.
    assert build_ranking(table({"a": [0.5], "b": [0.2]})).sections[0].cells["a"][0][3:5] == (0.5, 0.5)
    cell = build_ranking(table({"a": [0, 1]})).sections[0].cells["a"][0]
    assert (cell.low, cell.value, cell.high) == (0, 0.5, 1)


def test_counts_have_no_rank_interval_or_test():
    scores = Scores(
        ("a", "b"),
        ("t1", "t2"),
        ("num_rel", "P@5"),
        np.ones((2, 2, 2)),
        np.ones((2, 2, 2), bool),
        frozenset({"num_rel"}),
    )
    ranking = build_ranking(scores)
    cell = ranking.sections[0].cells["a"][0]
    assert (cell.value, cell.rank, cell.mark) == (2, "-", "")
    assert np.isnan([cell.low, cell.high, cell.p]).all()
    assert ranking.higher == {"num_rel": None, "P@5": True}
    assert ranking.sorted_by == 1


def test_groups_have_ranks_of_their_own():
    scores = table({"a": A, "b": B, "c": C})
    section = build_ranking(scores, groups={"b": "manual", "c": "manual", "zz": "other"}).sections[0]
    assert [section.cells[run][0].group_rank for run in "abc"] == ["", "1", "2"]
    with pytest.raises(DataError, match="no run of the leaderboard"):
        build_ranking(scores, groups={"zz": "other"})


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Method(sort="N"), "no measure 'N'"),
        (Method(baseline="z"), "no run 'z'"),
        (Method(test="z"), "test must be one of"),
        (Method(correction="z"), "correction must be one of"),
        (Method(lower=frozenset({"N"})), "no measure N"),
        (Method(resamples=0), "resamples"),
        (Method(alpha=1.0), "alpha"),
    ],
)
def test_impossible_methods_are_refused(method, message):
    with pytest.raises(ParameterError, match=message):
        build_ranking(table({"a": A, "b": B}), method)


def test_runs_with_fewer_topics_are_named():
    scores = table({"a": A, "b": B})
    scores.present[1, 3:] = False
    assert "means over fewer than 6 topics, which is no fair comparison: b (3)" in build_ranking(scores).notes


def test_the_demonstration(cli):
    result = cli("leaderboard", *DEMO)
    assert result.code == 0
    lines = result.out.splitlines()
    assert re.match(r"rank +run +num_q +AP ↑ ", lines[0])
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["1", "demo-ideal"], ["2", "demo-tfidf"], ["3", "demo-keyword"], ["4", "demo-shuffled"],
    ]  # fmt: skip
    assert "▼ worse than the best run of the measure: paired t test, Holm over all pairs of runs, p < 0.05" in lines
    assert lines[-1].startswith("nuggeteval 0.1.0|runs 4|topics 4|")
    assert "warning: demo-keyword: 13 groups of tied scores" in result.err


def test_strata_are_sections(cli, write):
    strata = write("strata", "sourdough\tfood\ntides\tearth\nheat-pumps\tearth\nbroad-street\tearth\n")
    result = cli("leaderboard", "-m", "Cov@3", "--by", strata, *DEMO)
    assert re.findall(r"^\S+ \(\d topics\)$", result.out, re.MULTILINE) == [
        "all (4 topics)",
        "earth (3 topics)",
        "food (1 topics)",
    ]
    records = [
        json.loads(line)
        for line in cli("leaderboard", "-m", "Cov@3", "--by", strata, "--format", "jsonl", *DEMO).out.splitlines()
    ]
    assert {r["topic_id"] for r in records} == {"all", "all:earth", "all:food"}
    for_food = cli("-m", "Cov@3", "-q", "--format", "tsv", *DEMO).out
    ideal = next(r["value"] for r in records if r["run_id"] == "demo-ideal" and r["topic_id"] == "all:food")
    assert f"demo-ideal\tsourdough\tCov@3\t{ideal}" in for_food


@pytest.mark.parametrize("layout", ["tsv", "jsonl"])
def test_round_trip_to_correlate_is_the_same_as_in_memory(layout, cli, tmp_path):
    path = tmp_path / "board"
    assert cli("leaderboard", "-q", "--format", layout, "-o", path, *DEMO).code == 0
    board = read_scores(str(path))
    direct = cli("score", "-q", "--format", "jsonl", "-o", tmp_path / "scores", *DEMO)
    assert direct.code == 0
    memory = read_scores(str(tmp_path / "scores"))
    assert {run: board.value(run, "Cov@10") for run in board.runs} == {
        run: memory.value(run, "Cov@10") for run in memory.runs
    }
    arguments = ("--measures", "AP,nDCG@5,Cov@10", "--format", "jsonl", "--seed", "7")
    first, second = (
        sorted(cli("correlate", source, *arguments).out.splitlines()) for source in (path, tmp_path / "scores")
    )
    for one, other in zip(map(json.loads, first), map(json.loads, second), strict=True):
        del one["signature"], other["signature"]
        assert one == other


def test_what_tira_asks_of_a_leaderboard(cli):
    """One table of four columns, five lines, two systems; the same measures for each, an 'all' row for each measure."""
    lines = [line.split() for line in cli("leaderboard", "-q", "--format", "tsv", *DEMO).out.splitlines()]
    assert lines[0] == ["run_id", "query_id", "measure", "value"]
    rows = lines[1:]
    assert len(rows) >= 5
    assert all(len(row) == 4 for row in rows)
    runs = {row[0] for row in rows}
    assert len(runs) == 4
    measures = [{row[2] for row in rows if row[0] == run} for run in runs]
    assert all(names == measures[0] for names in measures)
    assert {(row[0], row[2]) for row in rows if row[1] == "all"} == {(run, m) for run in runs for m in measures[0]}


def test_jsonl_says_how_a_mark_came_about(cli):
    records = [json.loads(line) for line in cli("leaderboard", "-m", "AP", "--format", "jsonl", *DEMO).out.splitlines()]
    second = records[1]
    assert (second["run_id"], second["rank"], second["compared_with"]) == ("demo-tfidf", 2, "demo-ideal")
    assert (second["test"], second["correction"]) == ("paired t test", "Holm over all pairs of runs")
    assert second["low"] < second["value"] < second["high"]
    assert second["p"] < 0.05
    assert records[0]["p"] is None


def test_aggregates_alone_have_no_tests(cli):
    result = cli("leaderboard", "--sort", "Recall_NtN:human", "-m", "Recall_NtN:human", "published:ikat2024")
    assert result.code == 0
    assert "aggregates only: no stability intervals and no tests" in result.out
    assert re.search(r"^9= +uva-4 +automatic +5= +0\.110$", result.out, re.MULTILINE)


LATEX_NAMES = ("a_b", "50%&c", "d#e", "f$g", "h{i}", "~j^k", "back\\slash")


def nasty(write):
    rows = "".join(
        f"{name}\tt{t}\tα_nDCG@5\t{0.1 * i + 0.05 * t}\n" for i, name in enumerate(LATEX_NAMES) for t in range(4)
    )
    groups = write("groups", "".join(f"{name}\tteam_{i % 2}\n" for i, name in enumerate(LATEX_NAMES)))
    return write("scores.tsv", "run\ttopic\tmeasure\tvalue\n" + rows), groups


def test_latex_parses(cli, write, tmp_path):
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalker

    scores, groups = nasty(write)
    latex = cli("leaderboard", "--format", "latex", "--groups", groups, scores).out
    nodes, _, _ = LatexWalker(latex, tolerant_parsing=False).get_latex_nodes()
    environments = [node.environmentname for node in nodes if hasattr(node, "environmentname")]
    assert environments == ["table"]
    assert latex.count("&") - latex.count("\\&") == (len(LATEX_NAMES) + 1) * 4
    text = LatexNodes2Text().latex_to_text(latex)
    for name in ("a_b", "50%&c", "d#e", "f$g", "h{i}"):
        assert name in text
    booktabs = (
        shutil.which("kpsewhich")
        and subprocess.run(["kpsewhich", "booktabs.sty"], check=False, capture_output=True).stdout
    )
    if shutil.which("pdflatex") and booktabs:
        source = tmp_path / "board.tex"
        source.write_text(
            f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{latex}\n\\end{{document}}"
        )
        subprocess.run(["pdflatex", "-halt-on-error", source.name], cwd=tmp_path, check=True, capture_output=True)


def test_markdown_is_one_table_of_equal_rows(cli, write):
    scores = write(
        "s.tsv", "run\ttopic\tmeasure\tvalue\na|b\tt1\tP@5\t1\na|b\tt2\tP@5\t0\nc\tt1\tP@5\t1\nc\tt2\tP@5\t1\n"
    )
    lines = cli("leaderboard", "--format", "markdown", scores).out.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert "a\\|b" in lines[3]
    assert lines[rows.index(rows[-1]) + 1] == ""


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, _attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_closed_and_escaped(cli, write):
    scores = write("s.tsv", "run\ttopic\tmeasure\tvalue\n<i>a</i>\tt1\tP@5\t1\nc\tt1\tP@5\t1\n")
    page = cli("leaderboard", "--format", "html", scores).out
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "<i>" not in page
    assert any("<i>a</i>" in text for text in tags.text)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.tsv"], 1, "nowhere.tsv"),
        (["--sort", "M", "published:ikat2024"], 2, "no measure 'M' on the leaderboard"),
        (["--by", "x", "published:ikat2024"], 2, "strata need scores of topics"),
        (["-m", "M", "published:ikat2024"], 1, "no measure M among the scores"),
        (["--places", "30", "published:ikat2024"], 2, "--places: must be an integer from 0 to 20 (got 30)"),
        (["--seed", "-1", "published:ikat2024"], 2, "--seed: must be an integer from 0"),
        (["--alpha", "1", "published:ikat2024"], 2, "--alpha: must be in (0, 1)"),
        (["--bank", "x", "published:ikat2024"], 2, "--bank: for scoring runs against qrels"),
        ([QRELS, ROOT / "README.md"], 1, "README.md is no TREC run (six columns), as one after qrels is"),
        (["published:ikat1999"], 2, "unknown published table"),
    ],
)
def test_bad_input_is_named(arguments, code, message, cli):
    result = cli("leaderboard", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


def test_table_5_of_longeval(shared):
    """59 of 60 cells as printed; the sixtieth is .941, which the paper rounds twice to .942."""
    from csv import DictReader

    board = read_board(str(shared / "data/longeval/primary_per_query.tsv")).leaderboard()
    columns = {"rouge_l": "rougeL_f1", "bertscore": "bertscore_f1", "precision": "P_cited"}
    columns |= {"nugget_coverage": "grounded:NUGGET_COVERAGE", "avg_grade": "grounded:AVG_GRADE", "tfc1": "GEN-TFC1"}
    wrong = []
    with (shared / "data/longeval/table5_printed.tsv").open() as file:
        for row in DictReader(file, delimiter="\t"):
            run = {"semantic-current": "semantic-curren"}.get(row["approach"], row["approach"])
            for printed, measure in columns.items():
                found = board.column(measure)[run]
                if f"{found:.3f}" != row[printed]:
                    wrong.append((run, measure, f"{found:.3f}", row[printed]))
    assert wrong == [("caes-rag-rrf", "P_cited", "0.941", "0.942")]


def test_table_6_of_longeval(shared, cli, write):
    """56 of 60 cells as printed; four averages were rounded twice, and two systems are tied in truth."""
    from csv import DictReader

    source = shared / "data/longeval/supplementary_per_query.tsv"
    with source.open() as file:
        rows = list(DictReader(file, delimiter="\t"))
    names = ("correctness", "completeness", "recall", "precision", "jaccard")
    lines = [
        "\t".join(
            (r["run"], r["qid"], str((int(r["correctness"]) + int(r["completeness"])) / 2), *(r[n] for n in names))
        )
        for r in rows
    ]
    path = write("sup.tsv", "\n".join(["\t".join(("run", "qid", "avg", *names)), *lines]))
    out = cli("leaderboard", "--sort", "avg", "--format", "jsonl", path).out
    found = {(r["run_id"], r["measure"]): r for r in map(json.loads, out.splitlines())}
    wrong = set()
    with (shared / "data/longeval/table6_printed.tsv").open() as file:
        for row in DictReader(file, delimiter="\t"):
            run = row["approach"].replace("-", "_")
            wrong |= {(run, name) for name in ("avg", *names) if f"{found[run, name]['value']:.3f}" != row[name]}
    assert wrong == {(run, "avg") for run in ("default", "semantic_current", "semantic_minilm", "concat_baseline")}
    assert found["topic_shift_current", "avg"]["rank"] == found["semantic_current", "avg"]["rank"] == 6
    assert "6=" in cli("leaderboard", "--sort", "avg", path).out


def test_the_order_of_a_file_does_not_change_a_sampled_p():
    values = {"a": A, "b": B, "c": C}
    method = Method(test="tukey", resamples=200)
    one = build_ranking(table(values), method).sections[0]
    other = build_ranking(table(dict(reversed(values.items()))), method).sections[0]
    assert [one.cells[run][0].p for run in "bc"] == [other.cells[run][0].p for run in "bc"]


def test_too_few_samples_for_the_correction_are_named():
    scores = table({f"r{i}": np.arange(20) / 30 + i / 100 for i in range(20)})
    notes = build_ranking(scores, Method(test="randomisation", resamples=200)).notes
    assert any(
        note.startswith("no difference can be significant: of 200 samples the least p is 0.005") for note in notes
    )


def test_tukey_says_over_how_many_topics_it_is():
    scores = table({"a": A, "b": B, "c": [*C[:4], np.nan, np.nan]})
    notes = build_ranking(scores, Method(test="tukey", resamples=50)).notes
    assert "M: tested over the 4 topics in which every run has a value" in notes


def test_a_run_without_values_has_no_pooled_mean():
    scores = table({"a": [0.5, 1.0], "b": [np.nan, np.nan]})
    pooled = Scores(
        *(scores.runs, scores.topics, scores.measures, scores.values, scores.present), weights={"M": np.ones((2, 2))}
    )
    section = build_ranking(pooled).sections[0]
    assert np.isnan(section.cells["b"][0].value)
    assert section.cells["b"][0].rank == "-"


def test_the_family_wise_error_of_the_best_run_is_held():
    """Ten equal runs: the best of them is found by the same values, and is marked against in about 5 % of all cases."""
    random = np.random.RandomState(3)
    marked = 0
    for _ in range(200):
        scores = table({f"r{i}": random.rand(30) for i in range(10)})
        section = build_ranking(scores, Method(resamples=1)).sections[0]
        marked += any(cell[0].mark for cell in section.cells.values())
    # 200 trials at 5 %: 10 expected, more than 20 in one case of a thousand.
    assert marked <= 20


def test_a_signature_says_which_file(cli, write):
    path = write("scores.tsv", "run\ttopic\tM\na\tt1\t1\nb\tt1\t0\n")
    assert re.search(
        r"^nuggeteval 0\.1\.0\|scores scores\.tsv sha256:[0-9a-f]{8}$", cli("leaderboard", path).out, re.MULTILINE
    )


def test_a_broken_number_is_named(cli, write):
    path = write("w.tsv", "run\tAP\tCov\na\t0.1\t0.2\nb\tabc\t0.3\n")
    result = cli("leaderboard", path)
    assert "column AP is left out: line 3 has 'abc', which is no number" in result.out


def test_comma_separated_tables_are_read(cli, write):
    assert read_board(write("w.csv", 'run,"alpha,x",Cov\na,0.1,0.2\n')).measures == ("alpha,x", "Cov")


def test_own_output_without_all_rows_is_read_back(cli, write):
    tot = cli("score", "-q", "-n", "--format", "tot", *DEMO).out
    assert read_board(write("tot", tot)).measures == (
        "num_q",
        "AP",
        "P@10",
        "nDCG@5",
        "alpha_nDCG@10",
        "Cov@10",
        "StRecall@10",
    )
    result = cli("leaderboard", write("irm", cli("score", "-q", "-n", *DEMO).out))
    assert result.code == 1
    assert "a first line as 'run_id query_id measure value' does" in result.err
