"""The report on a correlation: published cells, what stands beside a coefficient, judges, matrix, figures."""

import json
import re
from csv import DictReader
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from nuggeteval import DataError, ParameterError, kendall_tau_b, spearman_rho
from nuggeteval.boards import pair_sides, read_board, side_of
from nuggeteval.data import Leaderboard, Scores
from nuggeteval.metaevaluation import Settings, compare_judges, correlate
from nuggeteval.published import read_claims, read_orders


def tsv(path):
    with path.open(encoding="utf-8") as file:
        return list(DictReader(file, delimiter="\t"))


def board_of(columns, runs=None):
    """A leaderboard from {measure: {run: value}}."""
    runs = runs or list(dict.fromkeys(run for column in columns.values() for run in column))
    values = np.array([[column.get(run, np.nan) for column in columns.values()] for run in runs])
    return Leaderboard("board", tuple(runs), tuple(columns), values)


def scores_of(values, measure="M", topics=None):
    """Scores of one measure from {run: values of topics}."""
    array = np.array([*values.values()], dtype=float)[:, :, None]
    names = topics or [f"t{i}" for i in range(array.shape[1])]
    return Scores(tuple(values), tuple(names), (measure,), array, ~np.isnan(array))


# --- published cells -------------------------------------------------------------------------------------------------


def positions(order):
    return {run: -place for place, run in enumerate(order)}


def test_the_20_exact_cells_of_ikat_from_the_recovered_orders():
    orders = read_orders("ikat2024")
    claims = list(read_claims("ikat2024"))
    assert len(claims) == 66
    exact = [claim for claim in claims if claim.verdict == "exact"]
    assert len(exact) == 20
    for claim in exact:
        x, y = positions(orders[claim.x]), positions(orders[f"{claim.y} (Table 8)" if claim.table == "8" else claim.y])
        board = board_of({"x": {r: x[r] for r in y if r in x}, "y": {r: y[r] for r in y if r in x}})
        found = correlate(side_of(board, "x"), side_of(board, "y"))
        assert found.ties == (0, 0)
        assert len(found.runs) == (17 if claim.table == "8" else 19)
        # Printed cells have two or three decimals; .8995 is printed as .9.
        assert found.coefficients["tau_b"] == pytest.approx(claim.tau, abs=5.1e-4), claim
        digits = max(2, len(str(claim.rho).partition(".")[2]))
        assert found.coefficients["rho"] == pytest.approx(claim.rho, abs=0.51 * 10**-digits if digits > 2 else 6e-3), (
            claim
        )


def test_the_orders_and_claims_are_those_of_the_reference(shared):
    data = json.loads((shared / "data/ikat2024/recovered_orders.json").read_text())
    orders = read_orders("ikat2024")
    assert orders["nDCG@5"] == tuple(data["ndcg5"])
    assert orders["Recall_NtN:human"] == tuple(data["columns"]["R_NtN_human"])
    assert orders["BEM (Table 8)"] == tuple(data["table8_17runs"]["bem"])
    assert len(orders) == 6 + 1 + 5
    cells = tsv(shared / "data/ikat2024/meta_eval_cells.tsv")
    claims = list(read_claims("ikat2024"))
    assert [(c.table, c.tau, c.rho) for c in claims] == [
        (row["table"], float(row["printed_tau"]), float(row["printed_rho"])) for row in cells
    ]
    assert [c.verdict == "exact" for c in claims] == [row["verdict"].startswith("EXACT") for row in cells]


COLUMNS = {"R_NtR": "Recall_NtR", "R_NtN": "Recall_NtN", "P_NtN": "Precision_NtN"}


def test_the_rounded_columns_of_ikat_give_the_recomputed_values(shared):
    """Every cell whose columns are printed, from Tables 9 and 11 (and the ROUGE of the released answers)."""
    generation = read_board("published:ikat2024")
    automatic = [run for run in generation.runs if generation.groups[run] == "automatic"]
    retrieval = read_board("published:ikat2024-retrieval")
    rouge = {row["alias"]: row for row in tsv(shared / "data/ikat2024/rouge_recomputed.tsv")}
    columns = {name: generation.column(name) for name in generation.measures}
    columns |= {"nDCG@5": retrieval.column("nDCG@5")}
    columns |= {f"ROUGE_{n}": {run: float(row[f"rouge_{n}"]) for run, row in rouge.items()} for n in (1, 2)}
    checked = 0
    for claim, row in zip(read_claims("ikat2024"), tsv(shared / "data/ikat2024/meta_eval_cells.tsv"), strict=True):
        if not row["tau_b_rounded"]:
            assert "dedup" in claim.x + claim.y
            continue
        runs = [run for run in automatic if run not in claim.left_out]
        board = board_of(
            {name: {r: columns[name][r] for r in runs if r in columns[name]} for name in (claim.x, claim.y)}, runs
        )
        found = correlate(side_of(board, claim.x), side_of(board, claim.y))
        assert found.coefficients["tau_b"] == pytest.approx(float(row["tau_b_rounded"]), abs=6e-5), claim
        assert found.coefficients["tau_a"] == pytest.approx(float(row["tau_a_rounded"]), abs=6e-5), claim
        assert found.coefficients["tau_c"] == pytest.approx(float(row["tau_c_rounded"]), abs=6e-5), claim
        assert found.coefficients["rho"] == pytest.approx(float(row["rho_rounded"]), abs=6e-5), claim
        assert len(found.runs) == int(row["n"])
        if claim.table == "12":
            assert set(found.left_out) == {"iires-1"}
        checked += 1
    assert checked == 66 - 14


def test_table_12_says_how_many_ties_there_are_and_which_run_is_missing(cli):
    arguments = (
        "published:ikat2024",
        "published:ikat2024-retrieval",
        "-m",
        "Recall_NtN:human=nDCG@5",
        "--runs",
        "automatic",
    )
    refused = cli("correlate", *arguments)
    assert refused.code == 1
    assert "iires-1 missing in published:ikat2024-retrieval nDCG@5" in refused.err
    result = cli("correlate", *arguments, "--missing", "drop")
    assert re.search(r"Kendall tau-b +0\.3410 ", result.out)
    assert "iires-1 (missing in published:ikat2024-retrieval nDCG@5)" in result.out
    # uva-4 and nii-1 share Recall_NtN .110
    assert "tied pairs, of 153: 1 in published:ikat2024 Recall_NtN:human, 0 in" in result.out


@pytest.mark.parametrize("name", ["primary_10runs", "primary_9runs_no_baseline"])
def test_the_correlations_of_longeval(name, shared, cli, write):
    folder = shared / "data/longeval"
    expected = tsv(folder / f"correlations_{name}.tsv")
    names = list(dict.fromkeys(row[side] for row in expected for side in "ab"))
    measures = [{"avg_prec_at_q": "P_cited"}.get(name, name) for name in names]
    board = read_board(str(folder / "primary_per_query.tsv"))
    runs = [run for run in board.runs if "baseline" not in run or "10runs" in name]
    out = cli(
        "correlate", folder / "primary_per_query.tsv", "--measures", ",".join(measures), "--format", "tsv",
        "--resample", "0", "--test", "none", "--runs", write("runs", "\n".join(runs)),
    ).out  # fmt: skip
    found = {(row["x"], row["y"]): row for row in DictReader(out.splitlines(), delimiter="\t")}
    assert len(found) == len(expected)
    for row in expected:
        pair = tuple({"avg_prec_at_q": "P_cited"}.get(row[side], row[side]) for side in "ab")
        ours = found[pair]
        assert int(ours["n"]) == int(row["n"])
        # Six decimals in the file.
        assert float(ours["tau_b"]) == pytest.approx(float(row["kendall_tau_b"]), abs=1e-6)
        assert float(ours["rho"]) == pytest.approx(float(row["spearman_rho"]), abs=1e-6)
        assert float(ours["p_tau_b"]) == pytest.approx(float(row["p_tau"]), abs=1e-6)
        assert float(ours["p_rho"]) == pytest.approx(float(row["p_rho"]), abs=1e-6)


def test_the_primary_and_supplementary_correlations_of_longeval(shared):
    folder = shared / "data/longeval"
    primary = read_board(str(folder / "primary_per_query.tsv")).leaderboard()
    supplementary = read_board(str(folder / "supplementary_per_query.tsv")).leaderboard()
    columns = {name: primary.column(name) for name in primary.measures}
    columns["avg_prec_at_q"] = columns["P_cited"]
    plain = {run.replace("_", "-").replace("semantic-current", "semantic-curren"): run for run in supplementary.runs}
    for short, measure in (("corr", "correctness"), ("comp", "completeness")):
        columns[f"sup:{short}"] = {run: supplementary.column(measure)[name] for run, name in plain.items()}
    for measure in ("recall", "precision", "jaccard"):
        columns[f"sup:{measure}"] = {run: supplementary.column(measure)[name] for run, name in plain.items()}
    columns["sup:avg"] = {run: (columns["sup:corr"][run] + columns["sup:comp"][run]) / 2 for run in plain}
    runs = [run for run in primary.runs if run in plain]
    assert len(runs) == 9
    rows = tsv(folder / "correlations_primary_vs_supplementary_9runs.tsv")
    board = board_of({name: {run: column[run] for run in runs} for name, column in columns.items()}, runs)
    for row in rows:
        found = correlate(side_of(board, row["a"]), side_of(board, row["b"]))
        assert found.coefficients["tau_b"] == pytest.approx(float(row["kendall_tau_b"]), abs=1e-6)
        assert found.coefficients["rho"] == pytest.approx(float(row["spearman_rho"]), abs=1e-6)
        assert found.p["tau_b"].value == pytest.approx(float(row["p_tau"]), abs=1e-6)
        assert found.p["rho"].value == pytest.approx(float(row["p_rho"]), abs=1e-6)
    assert len(rows) == 78 + 13


def test_the_paired_t_tests_of_longeval(shared, cli, write):
    folder = shared / "data/longeval"
    rows = tsv(folder / "paired_t_rule_minilm_vs_others.tsv")
    names = {"prec": "P_cited"}
    measures = list(dict.fromkeys(names.get(row["measure"], row["measure"]) for row in rows))
    lines = (folder / "primary_per_query.tsv").read_text().splitlines()
    for other in dict.fromkeys(row["other"] for row in rows):
        mine = [line for line in lines if line.split("\t")[0] in ("rule-minilm", other)]
        mine.sort(key=lambda line: line.split("\t")[0] != "rule-minilm")
        path = write("two.tsv", "\n".join([lines[0], *mine]))
        out = cli("compare", path, "-m", ",".join(measures), "--correction", "none", "--format", "jsonl").out
        found = {record["measure"]: record for record in map(json.loads, out.splitlines())}
        for row in (row for row in rows if row["other"] == other):
            ours = found[names.get(row["measure"], row["measure"])]
            assert ours["difference"] == pytest.approx(float(row["mean_diff"]), abs=1e-6)
            assert ours["statistic"] == pytest.approx(float(row["t"]), abs=1e-6)
            assert ours["p"] == pytest.approx(float(row["p_two_sided"]), rel=1e-5, abs=1e-6)


def test_the_38_systems_of_lancer(shared):
    rows = tsv(shared / "data/lancer/meta_neuclir_human_vs_ratings.tsv")
    expected = {
        ("lsr-milco", "alpha_nDCG@10"): 0.600,
        ("lsr-milco", "Cov@10"): 0.715,
        ("qwen3-embed-8b", "alpha_nDCG@10"): 0.714,
        ("qwen3-embed-8b", "Cov@10"): 0.659,
    }
    assert len(rows) == 38
    for (stage, measure), tau in expected.items():
        mine = [row for row in rows if row["first_stage"] == stage]
        board = board_of({
            judge: {row["method"]: float(row[f"{judge}:{measure}"]) for row in mine} for judge in ("human", "ratings")
        })  # fmt: skip
        found = correlate(side_of(board, "human"), side_of(board, "ratings"))
        assert round(found.coefficients["tau_b"], 3) == tau, (stage, measure)


# --- what stands beside a coefficient --------------------------------------------------------------------------------

RANDOM = np.random.RandomState(5)
QUALITY = np.linspace(0.2, 0.8, 12)
TRUTH = scores_of({f"r{i}": np.clip(q + 0.2 * RANDOM.randn(40), 0, 1) for i, q in enumerate(QUALITY)})
JUDGE = scores_of({f"r{i}": np.clip(q + 0.3 * RANDOM.randn(40), 0, 1) for i, q in enumerate(QUALITY)})
POOR = scores_of({f"r{i}": RANDOM.rand(40) for i in range(12)})


def test_the_stability_interval_is_that_of_resampled_topics():
    found = correlate(side_of(TRUTH, "M", "truth"), side_of(JUDGE, "M", "judge"), Settings(resamples=300, seed=3))
    from nuggeteval.stats.resampling import draws

    taus = []
    by_name = np.argsort([f"t{i}" for i in range(40)])
    for counts in draws(40, 300, 3):
        picks = np.repeat(by_name, counts.astype(int))
        means = [board.values[:, picks, 0].mean(axis=1) for board in (TRUTH, JUDGE)]
        taus.append(stats.kendalltau(*means).statistic)
    low, high = np.quantile(taus, [0.025, 0.975])
    assert found.stability["tau_b"] == (pytest.approx(low), pytest.approx(high))
    assert found.topics == (40, 40)
    assert (found.x, found.y) == ("truth M", "judge M")
    again = correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(resamples=300, seed=3))
    assert again.stability == found.stability
    assert correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(resamples=0)).stability == {}


def test_one_run_and_one_team_are_left_out():
    teams = {f"r{i}": f"team{i % 3}" for i in range(12)}
    found = correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(teams=teams))
    x, y = TRUTH.aggregates[:, 0], JUDGE.aggregates[:, 0]
    taus = {f"r{i}": kendall_tau_b(np.delete(x, i), np.delete(y, i)) for i in range(12)}
    assert (found.without_run.low, found.without_run.high) == (min(taus.values()), max(taus.values()))
    assert taus[found.without_run.without_low] == found.without_run.low
    by_team = {t: kendall_tau_b(x[np.arange(12) % 3 != t], y[np.arange(12) % 3 != t]) for t in range(3)}
    assert (found.without_team.low, found.without_team.high) == (min(by_team.values()), max(by_team.values()))
    with pytest.raises(DataError, match=r"no run .* is in the groups"):
        correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(teams={"zz": "t"}))


def test_the_agreement_of_pairwise_tests_is_counted():
    found = correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(correction="none"))
    counts = dict.fromkeys(found.pairs, 0)
    for a, b in combinations(range(12), 2):
        signs = []
        for board in (TRUTH, JUDGE):
            result = stats.ttest_rel(board.values[a, :, 0], board.values[b, :, 0])
            signs.append(np.sign(result.statistic) if result.pvalue < 0.05 else 0)
        truth, judge = signs
        kind = (
            "neither" if not truth and not judge else "missed" if not judge else "false positive" if not truth
            else "agree" if truth == judge else "opposite"
        )  # fmt: skip
        counts[kind] += 1
    assert found.pairs == counts
    assert sum(counts.values()) == 66
    assert counts["agree"] > 20


def test_two_judges_are_compared_over_the_same_resamples():
    good, poor = (
        correlate(side_of(TRUTH, "M", "truth"), side_of(board, "M", name))
        for board, name in ((JUDGE, "good"), (POOR, "poor"))
    )
    (difference,) = compare_judges([good, poor])
    assert (difference.first, difference.second) == ("good M", "poor M")
    assert difference.difference == pytest.approx(good.coefficients["tau_b"] - poor.coefficients["tau_b"])
    paired = good.tau_draws - poor.tau_draws
    assert difference.ahead == pytest.approx((paired > 0).mean())
    assert difference.stability.low > 0


def test_a_side_without_topics_stays_as_it_is(cli, write):
    rows = "".join(f"r{i}\tt{t}\t{TRUTH.values[i, t, 0]}\n" for i in range(12) for t in range(40))
    scores = write("scores.tsv", "run\ttopic\tM\n" + rows)
    board = write("board.tsv", "run\tM\n" + "".join(f"r{i}\t{i}\n" for i in range(12)))
    result = cli("correlate", board, scores)
    assert "over 1000 resamples of 40 topics (board M has none and is fixed)" in result.out


def test_missing_runs_can_be_ranked_last():
    x = board_of({"M": {"a": 0.9, "b": 0.5, "c": 0.7, "d": 0.1}})
    y = board_of({"M": {"a": 0.9, "b": 0.5, "c": 0.4}})
    found = correlate(side_of(x, "M"), side_of(y, "M"), Settings(missing="last"))
    # a b c d against a b c d but for c and b: one of six pairs
    assert found.coefficients["tau_b"] == pytest.approx(4 / 6)
    assert found.last == ("d",)
    assert found.coefficients["pearson"] is None


def test_columns_are_paired():
    one, two = board_of({"A": {"r": 1.0}, "B": {"r": 1.0}}), board_of({"B": {"r": 1.0}, "C": {"r": 1.0}})
    assert [(x.measure, y.measure) for x, y in pair_sides(one, two, [], ("1", "2"))] == [("B", "B")]
    assert [(x.measure, y.measure) for x, y in pair_sides(one, two, ["A=C"], ("1", "2"))] == [("A", "C")]
    single = board_of({"D": {"r": 1.0}})
    assert [(x.measure, y.measure) for x, y in pair_sides(single, board_of({"E": {"r": 1.0}}), [], ("1", "2"))] == [
        ("D", "E")
    ]
    with pytest.raises(DataError, match="no measure in common"):
        pair_sides(one, single, [], ("1", "2"))
    with pytest.raises(DataError, match="no measure 'Z' in 1"):
        pair_sides(one, two, ["Z"], ("1", "2"))


@pytest.mark.parametrize("settings", [Settings(missing="zero"), Settings(at=(1,)), Settings(resamples=-1)])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ParameterError):
        correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), settings)


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(write):
    def put(name, board):
        rows = "".join(f"{run}\tt{t}\t{board.values[r, t, 0]}\n" for r, run in enumerate(board.runs) for t in range(40))
        return write(f"{name}.tsv", "run\ttopic\tM\n" + rows)

    return put("truth", TRUTH), put("good", JUDGE), put("poor", POOR)


def test_judges_against_a_truth(files, cli, write):
    truth, good, poor = files
    teams = write("teams", "".join(f"r{i}\tteam{i % 3}\n" for i in range(12)))
    result = cli("correlate", "--truth", truth, good, poor, "--at", "5,10", "--groups", teams)
    assert result.code == 0
    for text in ("truth M against good M", "truth M against poor M", "Which judge is closer to the truth",
                 "top 5 of truth M (5 runs): tau-b", "without one team", "pairs of runs that differ significantly: agree"):  # fmt: skip
        assert text in result.out
    lines = [
        json.loads(line)
        for line in cli("correlate", "--truth", truth, good, poor, "--format", "jsonl").out.splitlines()
    ]
    assert [line.get("y") for line in lines] == ["good M", "poor M", None]
    assert lines[2]["difference_of_judges"]["ahead"] > 0.95


def test_the_same_seed_gives_the_same_report(files, cli):
    first, second, other = (
        cli("correlate", *files[:2], "--resample", "50", "--seed", seed).out for seed in ("1", "1", "2")
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "tsv", "jsonl"])
def test_every_format(form, files, cli, tmp_path):
    result = cli("correlate", *files[:2], "--format", form, "-o", tmp_path / "out")
    assert (result.code, result.out) == (0, "")
    tau = correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M")).coefficients["tau_b"]
    shown = str(tau) if form in ("tsv", "jsonl") else f"{tau:.4f}"
    assert shown in (tmp_path / "out").read_text(encoding="utf-8")


def test_figures_are_drawn(files, cli, tmp_path, write):
    from xml.etree import ElementTree as ET

    scatter, matrix = tmp_path / "scatter.svg", tmp_path / "matrix.png"
    assert cli("correlate", *files[:2], "--figure", scatter).code == 0
    first = scatter.read_bytes()
    text = "".join(ET.fromstring(first).itertext())
    assert "12 runs" in text
    assert all(f"r{i}" in text for i in range(12))
    cli("correlate", *files[:2], "--figure", scatter)
    assert scatter.read_bytes() == first
    assert (
        cli("correlate", "published:ikat2024", "--measures", "BEM,ROUGE_L,groundedness", "--figure", matrix).code == 0
    )
    assert matrix.read_bytes().startswith(b"\x89PNG")
    refused = cli("correlate", *files[:2], "--figure", tmp_path / "figure.pdf")
    assert refused.code == 2
    assert "a figure is called *.svg or *.png" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["published:ikat2024"], 2, "two tables of scores are correlated (got 1)"),
        (["published:ikat2024", "--measures", "BEM"], 2, "--measures takes two at least"),
        (["published:ikat2024", "--measures", "BEM,X"], 1, "no measure 'X'"),
        (["--truth", "published:ikat2024", "published:ikat2024", "--measures", "BEM,ROUGE_L"], 2, "goes without --truth"),
        (["published:ikat2024", "published:ikat2024", "--at", "five"], 2, "--at takes cutoffs"),
        (["published:ikat2024", "published:ikat2024", "--runs", "none"], 2, "neither a group of the table nor a file"),
        (["published:ikat2024", "published:longeval2026", "-m", "ROUGE_L"], 1, "do not have the same runs"),
        (["published:ikat2024", "published:longeval2026", "-m", "ROUGE_L", "--missing", "drop"], 1, "no run is on both sides"),
    ],
)  # fmt: skip
def test_bad_input_is_named(arguments, code, message, cli):
    result = cli("correlate", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


def test_numbers_are_public_too():
    assert spearman_rho([1, 2, 3], [1, 2, 3]) == pytest.approx(1)


def test_judges_are_compared_over_the_same_resamples_whatever_their_topics(cli, write):
    def put(name, columns):
        rows = "".join(f"r{i}\tt{t}\t{JUDGE.values[i, t % 40, 0]}\n" for i in range(12) for t in columns)
        return write(name, "run\ttopic\tM\n" + rows)

    truth = write(
        "truth",
        "run\ttopic\tM\n" + "".join(f"r{i}\tt{t}\t{TRUTH.values[i, t, 0]}\n" for i in range(12) for t in range(40)),
    )
    one, other = put("one", range(40)), put("other", range(41))
    records = [
        json.loads(line)
        for line in cli("correlate", "--truth", truth, one, other, "--format", "jsonl").out.splitlines()
    ]
    difference = records[-1]["difference_of_judges"]
    assert abs(difference["stability"]["low"]) < 0.1
    assert abs(difference["stability"]["high"]) < 0.1


def test_judges_of_different_columns_are_not_compared():
    two = Scores(
        TRUTH.runs, TRUTH.topics, ("M", "N"), np.repeat(TRUTH.values, 2, axis=2), np.repeat(TRUTH.present, 2, axis=2)
    )
    found = [correlate(side_of(two, name, "truth"), side_of(two, name, "judge")) for name in ("M", "N")]
    assert compare_judges(found) == []


def test_pairs_without_a_test_are_counted_apart():
    single = scores_of({"a": [0.1], "b": [0.2], "c": [0.3]})
    found = correlate(side_of(single, "M"), side_of(single, "M"))
    assert found.pairs == {"agree": 0, "opposite": 0, "missed": 0, "false positive": 0, "neither": 0, "undefined": 3}


def test_too_few_samples_for_the_correction_are_named():
    found = correlate(side_of(TRUTH, "M"), side_of(JUDGE, "M"), Settings(test="randomisation", resamples=100))
    assert "none can be: of 100 samples the least p is 0.0099, for 66 comparisons" in found.test
    assert found.pairs["agree"] == 0


def test_a_measure_that_is_undefined_for_every_run_does_not_end_the_report(cli, write):
    path = write(
        "s",
        "run\ttopic\tA\tB\tC\n"
        + "".join(f"{r}\tt{t}\t{i + t}\tnan\t{-i * t}\n" for i, r in enumerate("abc") for t in range(3)),
    )
    board = read_board(path)
    assert board.measures == ("A", "C")
    rows = "".join(
        f"{r} t{t} {m} {v}\n"
        for i, r in enumerate("abc")
        for t in range(3)
        for m, v in (("A", i + t), ("B", "undefined"), ("C", i * t))
    )
    path = write("s2", "run_id query_id measure value\n" + rows)
    result = cli("correlate", path, "--measures", "A,B,C")
    assert result.code == 0
    assert "A and B: undefined, 0 runs in both" in result.out


def test_what_a_reader_must_know_of_a_side(cli, write):
    out = cli("correlate", "published:ikat2024", "--measures", "BEM,ROUGE_L").out
    assert "BEM was rounded to 3 decimals, which makes ties" in out
    assert out.endswith("nuggeteval 0.1.0|published:ikat2024\n")
    rows = "".join(
        f"r{i} t{t} {m} {v}\n" for i in range(4) for t in range(3 - (i == 0)) for m, v in (("M", i), ("Latency", -i))
    )
    path = write("s", "run_id query_id measure value\n" + rows)
    out = cli("correlate", path, "--measures", "M,Latency", "--lower", "Latency").out
    assert re.search(r"Kendall tau-b +1\.0000", out)
    assert "Latency: less is better, so the order is turned" in out
    assert "M: means over fewer than 3 topics, which is no fair comparison: r0 (2)" in out


def test_the_matrix_has_all_that_stands_beside_a_tau(cli, write):
    longeval = write(
        "t.tsv",
        "run\ttopic\tA\tB\tC\n"
        + "".join(f"r{i}\tt{t}\t{i + t}\t{i * t}\t{(i * 7 + t) % 5}\n" for i in range(6) for t in range(8)),
    )
    out = cli("correlate", longeval, "--measures", "A,B,C", "--at", "3").out
    for part in (
        "6 runs: r5, r4, r3, r2, r1, r0",
        "Pair by pair",
        "A and B",
        "(exact)",
        "stability interval",
        "without one run",
        "tau-b at 3",
    ):
        assert part in out
    tsv_rows = list(
        DictReader(
            cli("correlate", longeval, "--measures", "A,B,C", "--at", "3", "--format", "tsv").out.splitlines(),
            delimiter="\t",
        )
    )
    assert len(tsv_rows) == 3
    assert {"tau_b_low", "without_one_run_low", "pairs_agree", "tau_b@3", "overlap@3", "runs"} <= set(tsv_rows[0])


def test_outputs_do_not_write_over_inputs(files, cli):
    before = [Path(path).read_bytes() for path in files]
    for options in (("-o", files[0]), ("--figure", files[1]), ("--truth", files[2], "-o", files[2])):
        result = cli("correlate", *files[:2], *options)
        assert (result.code, "would overwrite an input" in result.err) == (2, True)
    assert [Path(path).read_bytes() for path in files] == before


def test_unknown_runs_are_named(files, cli, write):
    result = cli("correlate", *files[:2], "--runs", write("runs", "r1\nr2\nzz\n"))
    assert result.code == 1
    assert "no run zz among r0, r1" in result.err
