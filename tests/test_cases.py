"""Public bug reports about other tools, as small inputs: every case of six areas of open.json."""

import base64
import json
import re

import pytest
from conftest import SHARED

from nuggeteval import Inputs, NuggetQrels, ParameterError, Run, evaluate, read_scores
from nuggeteval.stats.correlation import kendall_tau_b
from nuggeteval.stats.significance import correct

AREAS = ("run parsing", "qrels", "measures", "aggregation", "correlation", "significance")
VALUE_CASES = [
    "RP01",
    "RP03",
    "RP06",
    "RP08",
    "RP18",
    "RP19",
    "RP20",
    "RP24",
    "RP26",
    "RP27",
    "RP29",
    "RP31",
    "QR01",
    "QR05",
    "QR06",
    "QR11",
    "QR18",
    "ME01",
    "ME02",
    "ME04",
    "ME05",
    "ME07",
    "ME09",
    "ME11",
    "ME20",
    "ME22",
    "AG03",
]
ERROR_CASES = [
    "RP09",
    "RP10",
    "RP12",
    "RP13",
    "RP14",
    "RP16",
    "RP23",
    "RP33",
    "RP35",
    "QR03",
    "QR08",
    "QR12",
    "QR14",
    "ME14",
]
OTHER_CASES = ["RP04", "RP30", "RP37", "QR15", "QR17", "ME16", "ME18", "ME19", "AG01", "AG05", "AG06"]
RANK_CASES = ["CO01", "CO02", "CO04", "CO05", "CO07", "CO09", "CO10", "CO12", "SG01", "SG02", "SG05", "SG06"]

OURS = {
    "coverage@1": "Cov@1",
    "coverage@2": "Cov@2",
    "coverage@5": "Cov@5",
    "alpha-nDCG@5 (0.5)": "alpha_nDCG@5",
    "alpha-nDCG@5 (0.9)": "alpha_nDCG(alpha=0.9)@5",
    "P@2 (rel>=1)": "P@2",
    "P@2 (rel>=2)": "P(rel=2)@2",
    "AP (rel>=2)": "AP(rel=2)",
}


def load_cases():
    path = SHARED / "cases" / "open.json"
    if not path.exists():
        return {}
    return {case["id"]: case for case in json.loads(path.read_text(encoding="utf-8"))}


CASES = load_cases()


@pytest.fixture
def unpack(shared, tmp_path):
    """Write the files of a case and return (case, function from name to path)."""

    def unpack_case(case_id):
        case = CASES[case_id]
        for name, text in case["files"].items():
            (tmp_path / name).write_bytes(text.encode())
        for name, text in case.get("files_b64", {}).items():
            (tmp_path / name).write_bytes(base64.b64decode(text))
        return case, lambda name: str(tmp_path / name)

    return unpack_case


def ours(name):
    return OURS.get(name, name.replace("alpha-nDCG", "alpha_nDCG"))


def table(out):
    """{(measure, topic): value} of trec_eval's layout."""
    rows = [line.split("\t") for line in out.splitlines()]
    return {(measure.strip(), topic): float(value) for measure, topic, value in rows}


def test_every_case_of_the_areas_is_tested_here(shared):
    listed = {case["id"] for case in CASES.values() if case["area"] in AREAS}
    assert sorted([*VALUE_CASES, *ERROR_CASES, *OTHER_CASES, *RANK_CASES]) == sorted(listed)


@pytest.mark.parametrize("case_id", VALUE_CASES)
def test_value(case_id, unpack, cli):
    case, path = unpack(case_id)
    expected = {(ours(m), t): v for m, by_topic in case["expected"]["values"].items() for t, v in by_topic.items()}
    run = next(name for name in (*case["files"], *case.get("files_b64", {})) if name.startswith("run"))
    options = ["-q", *(f"-m{measure}" for measure in dict.fromkeys(measure for measure, _ in expected))]
    if case_id == "AG03":
        options += ["--topics", path("topics.txt")]
    result = cli(*options, path("qrels.txt"), path(run))
    assert result.code == 0, result.err
    found = table(result.out)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=5e-5), key
    assert f"nuggeteval {'0.1.0'}" in result.err


@pytest.mark.parametrize("case_id", ERROR_CASES)
def test_error(case_id, unpack, cli):
    case, path = unpack(case_id)
    expected = case["expected"]
    wanted = expected.get("message_must_name") or expected["or_error_naming"]
    run = "run.txt" if "run.txt" in case["files"] else "nowhere.txt"
    measure = "alpha_nDCG@5" if case_id == "ME14" else "nDCG@5"
    result = cli("-m", measure, path("qrels.txt"), path(run))
    assert result.code == 1
    assert result.out == ""
    for part in wanted:
        if isinstance(part, int):
            assert re.search(rf"\.txt:{part}\b", result.err), result.err
        else:
            # "expected 6 columns, found 5" stands around the names of the columns.
            for phrase in part.split(", "):
                assert phrase in result.err, result.err


def test_RP03_the_run_tag_has_no_carriage_return(unpack, cli):
    _, path = unpack("RP03")
    result = cli("--format", "ir_measures", "-m", "nDCG@5", path("qrels.txt"), path("run.txt"))
    assert result.out == "x\tall\tnDCG@5\t0.8600\n"


def test_RP04_a_byte_order_mark_is_no_part_of_an_id(unpack, cli):
    _, path = unpack("RP04")
    result = cli("-q", "-m", "nDCG@5", path("qrels.txt"), path("run.txt"))
    assert table(result.out) == {("nDCG@5", "t1"): 0.86, ("nDCG@5", "all"): 0.86}
    assert "\ufeff" not in result.out + result.err


def test_RP26_a_disagreement_of_rank_and_score_is_named(unpack, cli):
    _, path = unpack("RP26")
    assert "rank and score disagree in t1" in cli("-m", "AP", path("qrels.txt"), path("run.txt")).err


def test_RP27_the_order_of_lines_decides_nothing(unpack, cli, tmp_path):
    case, path = unpack("RP27")
    lines = case["files"]["run.txt"].splitlines(keepends=True)
    (tmp_path / "reversed.txt").write_text("".join(reversed(lines)))
    results = {cli("-m", "nDCG@3,AP", path("qrels.txt"), path(name)).out for name in ("run.txt", "reversed.txt")}
    assert len(results) == 1


def test_RP30_mixed_tags_are_one_run_and_a_warning(unpack, cli):
    _, path = unpack("RP30")
    result = cli("--format", "ir_measures", "-m", "nDCG@5", path("qrels.txt"), path("run.txt"))
    assert result.out == "run\tall\tnDCG@5\t0.8600\n"
    assert "2 run tags are mixed (x, other)" in result.err


@pytest.mark.parametrize("case_id", ["RP37", "AG01"])
def test_no_topic_in_common(case_id, unpack, cli):
    case, path = unpack(case_id)
    result = cli("-m", "nDCG@5", path("qrels.txt"), path("run.txt"))
    assert result.code == 1
    assert result.out == ""
    assert "no topic in common" in result.err
    for name in ("qrels.txt", "run.txt"):
        assert repr(case["files"][name].split()[0]) in result.err


def test_QR05_topics_that_nobody_judged_are_named(unpack, cli):
    _, path = unpack("QR05")
    result = cli("-m", "num_q,nDCG@5", path("qrels.txt"), path("run.txt"))
    assert table(result.out)["num_q", "all"] == 1
    assert "1 topics are not in the qrels, ignored: t2" in result.err


def test_QR06_missing_topics_count_and_are_named(unpack, cli):
    _, path = unpack("QR06")
    result = cli("-q", "-m", "num_q,num_missing", path("qrels.txt"), path("run.txt"))
    assert table(result.out)["num_q", "all"] == 2
    assert table(result.out)["num_missing", "t2"] == 1
    assert "1 of 2 topics have no line and count 0: t2" in result.err


def test_QR15_the_grade_of_a_document_is_the_largest_of_its_nuggets(unpack, cli):
    _, path = unpack("QR15")
    outs = [cli("-m", "nDCG@5", path(name), path("run.txt")).out for name in ("qrels.txt", "qrels_reordered.txt")]
    assert outs[0] == outs[1]
    # (4 / log2(3) + 1 / log2(4)) / (4 + 1 / log2(3)) = 3.0237 / 4.6309
    assert table(outs[0])["nDCG@5", "all"] == pytest.approx(0.65294, abs=5e-5)


def test_QR17_a_topic_without_judgments_shifts_nothing(unpack):
    case, _ = unpack("QR17")
    data = {}
    exec(case["files"]["input.py"], data)  # the case is two literals
    rows = [(t, "0", d, grade) for t, grades in data["QRELS"].items() for d, grade in grades.items()]
    scores = evaluate("AP", Inputs(NuggetQrels.of(rows), [Run.of(data["RUN"])]))
    assert scores.value("run", "AP", "q1") == 0.5
    assert scores.value("run", "AP", "q3") == 0.25
    assert "q2" not in scores.topics


def test_ME09_one_tie_rule_for_all_measures(unpack, cli):
    _, path = unpack("ME09")
    result = cli("-m", "P@1,Cov@1,alpha_nDCG@1,nDCG@1", path("qrels.txt"), path("run.txt"))
    # Units are ordered by id descending: the one that carries a single nugget is first for everyone.
    assert table(result.out)["Cov@1", "all"] == pytest.approx(1 / 3, abs=5e-5)
    assert table(result.out)["P@1", "all"] == 1.0
    assert table(result.out)["nDCG@1", "all"] == 1.0


def test_ME16_coverage_names_its_denominator(unpack, cli):
    _, path = unpack("ME16")
    found = table(cli("-m", "StRecall@5,Cov@5,alpha_nDCG@5", path("qrels.txt"), path("run.txt")).out)
    assert found["StRecall@5", "all"] == 1.0
    assert found["Cov@5", "all"] == 0.75
    assert found["alpha_nDCG@5", "all"] == pytest.approx(0.913222, abs=5e-5)
    assert "all declared nuggets" in cli("measures", "Cov").out


def test_ME18_constant_scores_are_named(unpack, cli):
    _, path = unpack("ME18")
    result = cli("-m", "alpha_nDCG@2", path("qrels.txt"), path("run.txt"))
    assert table(result.out)["alpha_nDCG@2", "all"] == 0.0
    assert "all scores are tied in t1; the rank column is not used" in result.err


@pytest.mark.parametrize("measure", ["ndgc@5", "nDCG@0", "nDCG@-1", "nDCG@five", "nDCG@5.5"])
def test_ME19_impossible_measures_are_refused_before_scoring(measure, unpack, cli):
    _, path = unpack("ME19")
    result = cli("-m", measure, path("qrels.txt"), path("run.txt"))
    assert result.code == 2
    assert result.out == ""
    assert measure in result.err
    if measure.startswith("ndgc"):
        assert "did you mean 'nDCG'" in result.err


def test_ME22_how_many_topics_stands_beside_the_mean(unpack, cli):
    _, path = unpack("ME22")
    result = cli("-m", "nDCG@5,num_q,num_missing", path("qrels.txt"), path("run.txt"))
    assert table(result.out) == {("nDCG@5", "all"): 0.3333, ("num_q", "all"): 3, ("num_missing", "all"): 1}
    assert "topics 3|missing 1" in result.err


def test_AG05_undefined_values_are_left_out_and_counted(unpack, write):
    case, _ = unpack("AG05")
    lines = case["files"]["scores.tsv"].splitlines()[1:]
    rows = "".join("{}\t{}\tRecall_NtN\t{}\n".format(*line.split("\t")) for line in lines)
    scores = read_scores(write("scores.tsv", "run\ttopic\tmeasure\tvalue\n" + rows))
    assert scores.value("A", "Recall_NtN") == 0.75
    assert scores.undefined(0, 0) == 1
    assert scores.value("A", "Recall_NtN", "t2") is None


def test_AG06_micro_averages_have_a_name_of_their_own(unpack, cli, write):
    case, path = unpack("AG06")
    gold = [json.loads(line) for line in case["files"]["gold.jsonl"].splitlines()]
    matched = {m["topic"]: m["matched"] for m in map(json.loads, case["files"]["matched.jsonl"].splitlines())}
    rows = "".join(f"{g['topic']} {g['nugget_id']} A {int(g['nugget_id'] in matched[g['topic']])}\n" for g in gold)
    run = "".join(f"{topic} Q0 A 1 1 A\n" for topic in matched)
    arguments = ("--bank", path("gold.jsonl"), write("qrels", rows), write("run", run))
    found = table(cli("-m", "Recall_NtR", "-m", "Recall_NtR(avg=micro)", *arguments).out)
    assert found["Recall_NtR", "all"] == 0.6
    assert found["Recall_NtR(avg='micro')", "all"] == pytest.approx(0.272727, abs=5e-5)


@pytest.fixture
def correlated(unpack, cli):
    """Correlate the two files of a case: what JSON says of it."""

    def correlate(case_id, *options, names=("a.tsv", "b.tsv")):
        case, path = unpack(case_id)
        result = cli("correlate", *map(path, names), *options, "--format", "jsonl")
        assert result.code == 0, result.err
        (line,) = result.out.splitlines()
        assert "NaN" not in line
        return case, json.loads(line)

    return correlate


@pytest.mark.parametrize("case_id", ["CO01", "CO04", "CO12"])
def test_correlations(case_id, correlated):
    case, found = correlated(case_id)
    expected = case["expected"]["values"]
    assert found["coefficients"]["tau_b"] == pytest.approx(expected["tau_b"], abs=5e-5)
    assert found["coefficients"]["rho"] == pytest.approx(expected["rho"], abs=5e-5)
    assert found["n"] == expected.get("n", found["n"])
    if "tau p exact" in expected:
        assert found["p"]["tau_b"] == {"value": pytest.approx(expected["tau p exact"], abs=5e-5), "method": "exact"}


def test_CO02_a_constant_side_is_undefined_with_the_reason(unpack, cli, correlated):
    _, found = correlated("CO02")
    assert found["coefficients"]["tau_b"] is found["coefficients"]["rho"] is None
    assert found["undefined"] == "all scores equal on the first side"
    _, path = unpack("CO02")
    result = cli("correlate", path("a.tsv"), path("b.tsv"))
    assert result.code == 0
    assert re.search(r"Kendall tau-b +undefined", result.out)
    assert re.search(r"Spearman rho +undefined", result.out)
    assert "undefined: all scores equal on the first side" in result.out


def test_CO05_runs_of_one_side_are_named(unpack, cli, correlated):
    case, path = unpack("CO05")
    result = cli("correlate", path("a.tsv"), path("b.tsv"))
    assert (result.code, result.out) == (1, "")
    assert "A missing in b" in result.err
    assert "E missing in a" in result.err
    _, found = correlated("CO05", "--missing", "drop")
    expected = case["expected"]["values_over_common"]
    assert found["coefficients"]["tau_b"] == pytest.approx(expected["tau_b"], abs=5e-5)
    assert found["coefficients"]["rho"] == pytest.approx(expected["rho"], abs=5e-5)
    assert (found["n"], sorted(found["left_out"])) == (expected["n"], ["A", "E"])


def test_CO07_names_are_not_compared_by_the_alphabet():
    with pytest.raises(ParameterError, match="takes two lists of scores"):
        kendall_tau_b(["A", "B", "C", "D"], ["D", "C", "B", "A"])


def test_CO09_a_run_without_a_score_is_left_out_and_named(correlated):
    _, found = correlated("CO09")
    assert found["coefficients"]["tau_b"] == found["coefficients"]["rho"] == pytest.approx(1)
    assert found["left_out"] == {"C": "undefined in b score"}
    assert found["runs"] == ["D", "B", "A"]


def test_CO10_equal_means_tie_in_any_order_of_topics(correlated, unpack, cli):
    _, found = correlated("CO10", names=("per_topic_a.tsv", "b.tsv"))
    assert found["coefficients"]["tau_b"] == pytest.approx(0)
    assert found["tied_pairs"] == {"x": 1, "y": 0}
    _, path = unpack("CO10")
    board = cli("leaderboard", "--format", "jsonl", path("per_topic_a.tsv")).out
    means = {r["run_id"]: (r["value"], r["rank"]) for r in map(json.loads, board.splitlines())}
    assert means["A"] == means["B"] == (pytest.approx(0.2), 1)


@pytest.fixture
def compared(unpack, cli):
    """Compare the two runs of a case: (case, what JSON says)."""

    def compare(case_id, *options):
        case, path = unpack(case_id)
        result = cli("compare", path("a.tsv"), path("b.tsv"), *options, "--format", "jsonl")
        assert result.code == 0, result.err
        return case, json.loads(result.out.splitlines()[0])

    return compare


def test_SG01_topics_are_paired_by_their_ids(compared):
    case, found = compared("SG01", "--test", "t")
    expected = case["expected"]["values"]
    assert (found["statistic"], found["p"]) == (
        pytest.approx(expected["t"], abs=5e-5),
        pytest.approx(expected["p"], abs=5e-5),
    )
    assert found["topics"] == expected["n"]


def test_SG02_the_randomisation_test_says_the_same_each_time(compared):
    found = [compared("SG02", "--test", "randomisation")[1]["p"] for _ in range(3)]
    assert found == [0.25] * 3


def test_SG05_a_sampled_p_is_never_0(compared):
    _, found = compared("SG05", "--test", "randomisation", "--resamples", "1000")
    assert found["p"] >= 1 / 1001


def test_SG06_corrections(unpack):
    case, _ = unpack("SG06")
    p = json.loads(case["files"]["pvalues.json"])
    for name, expected in case["expected"]["values"].items():
        assert correct([*p.values()], name) == pytest.approx([expected[run] for run in p])
