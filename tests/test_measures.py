"""Hand-worked values, the arithmetic shown, and the edges of every family."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from nuggeteval import DataError, Inputs, Nugget, NuggetBank, NuggetQrels, Policies, Run, Scores, evaluate
from nuggeteval.data import Scale

# Topic t: a carries n1 n2, b carries n1, c carries n3, d is judged and carries nothing, n4 has no carrier.
ROWS = [
    ("t", "n1", "a", 1), ("t", "n2", "a", 1), ("t", "n1", "b", 1), ("t", "n3", "c", 1),
    ("t", "n3", "d", 0), ("t", "n4", "a", 0),
]  # fmt: skip
# Ranked: x (unjudged), b, c, a.
RUN = {"t": {"x": 4.0, "b": 3.0, "c": 2.0, "a": 1.0}}

BANK = NuggetBank(
    "bank",
    {
        "t": (
            Nugget("n1", "one", "vital"),
            Nugget("n2", "two", "okay"),
            Nugget("n3", "three", "okay"),
            Nugget("n4", "four", "vital"),
        )
    },
)


def log2(x):
    return math.log2(x)


def value(measure, rows=ROWS, run=RUN, bank=None, **policies):
    scores = evaluate(measure, Inputs(NuggetQrels.of(rows), [Run.of(run)], bank), Policies(**policies))
    return scores.value("run", scores.measures[0])


IDEAL = 2 + 1 / log2(3) + 0.5 / log2(4)  # a (n1 n2), c (n3; as much as b, the larger id), b (n1 again)

HAND = {
    # Gains at ranks 1 to 4: x 0, b 1, c 1, a 0.5 (n1 again) + 1 (n2).
    "alpha_DCG": 1 / log2(3) + 1 / log2(4) + 1.5 / log2(5),
    "alpha_DCG@2": 1 / log2(3),
    "alpha_DCG(alpha=0)": 1 / log2(3) + 1 / log2(4) + 2 / log2(5),
    "alpha_nDCG": (1 / log2(3) + 1 / log2(4) + 1.5 / log2(5)) / IDEAL,
    "alpha_nDCG@2": (1 / log2(3)) / (2 + 1 / log2(3)),
    "alpha_nDCG(judged_only=True)": (1 + 1 / log2(3) + 1.5 / log2(4)) / IDEAL,
    "Cov@1": 0,
    "Cov@2": 1 / 4,
    "Cov@3": 2 / 4,
    "Cov": 3 / 4,
    "StRecall@3": 2 / 3,
    "StRecall": 1,
    "P_IA@3": 2 / (3 * 3),
    # n1: b at 2 (1/2), a at 4 (2/4), of 2 carriers; n2: a at 4 (1/4); n3: c at 3 (1/3).
    "AP_IA": ((1 / 2 + 2 / 4) / 2 + 1 / 4 + 1 / 3) / 3,
    "nERR_IA@3": (1 / 2 + 1 / 3) / (2 + 1 / 2 + 0.5 / 3),
    "ERR_IA@3": (1 / 2 + 1 / 3) / (3 * (1 + 0.5 / 2 + 0.25 / 3)),
    "ERR_IA@1": 0,
    # (1 - 0.5 x 0.5) / 3 x (0.5 x 1 + 0.25 x 1 + 0.125 x 1.5)
    "NRBP": 0.75 / 3 * (0.5 + 0.25 + 0.125 * 1.5),
    "nNRBP": (0.5 + 0.25 + 0.125 * 1.5) / (2 + 0.5 + 0.25 * 0.5),
    # The grade of a unit is its largest: a, b, c relevant, R = 3.
    "P@2": 1 / 2,
    "R@3": 2 / 3,
    "R": 1,
    "AP": (1 / 2 + 2 / 3 + 3 / 4) / 3,
    "AP@3": (1 / 2 + 2 / 3) / 3,
    "RR": 1 / 2,
    "RR@1": 0,
    "Rprec": 2 / 3,
    "Success@1": 0,
    "Success@2": 1,
    "Judged@2": 1 / 2,
    "Judged": 3 / 4,
    "nDCG@2": (1 / log2(3)) / (1 + 1 / log2(3)),
    "nDCG": (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / log2(4)),
    "nDCG(adhoc=sum)@2": (1 / log2(3)) / (2 + 1 / log2(3)),
    "nDCG(adhoc=count)@2": (1 / log2(3)) / (2 + 1 / log2(3)),
    "NumRet": 4,
    "NumRet(rel=1)": 3,
    "NumRel": 3,
    "NumRelRet": 3,
    "NumQ": 1,
}


@pytest.mark.parametrize("measure", HAND)
def test_hand_worked(measure):
    assert value(measure) == pytest.approx(HAND[measure], abs=1e-12)


WEIGHTED = {
    # vital n1 1, okay n2 n3 0.5; gains: b 1, c 0.5, a 0.5 (n1 again) + 0.5 (n2).
    "alpha_DCG(weights=importance)": 1 / log2(3) + 0.5 / log2(4) + 1 / log2(5),
    # Ideal: a (1.5), then b and c both gain 0.5: c, the larger id, then b.
    "alpha_nDCG(weights=importance)@2": (1 / log2(3)) / (1.5 + 0.5 / log2(3)),
    "Cov(weights=importance)@3": 1.5 / 3,
    "StRecall(weights=importance)@3": 1.5 / 2,
    "P_IA(weights=importance)@3": 1.5 / (3 * 2),
    "AP_IA(weights=importance)": ((1 / 2 + 2 / 4) / 2 + 0.5 / 4 + 0.5 / 3) / 2,
    "ERR_IA(weights=importance)@3": (1 / 2 + 0.5 / 3) / (2 * (1 + 0.5 / 2 + 0.25 / 3)),
    "NRBP(weights=importance)": 0.75 / 2 * (0.5 + 0.25 * 0.5 + 0.125 * 1),
}


@pytest.mark.parametrize("measure", WEIGHTED)
def test_weighted_by_importance(measure):
    assert value(measure, bank=BANK) == pytest.approx(WEIGHTED[measure], abs=1e-12)


def test_a_bank_has_weights_of_its_own():
    bank = NuggetBank("bank", {"t": (Nugget("n1", "one", "okay", 3.0), Nugget("n3", "three", "vital"))})
    assert value("Cov(weights=importance)@2", bank=bank) == 3 / 4
    assert value("Cov@2", bank=bank) == 1 / 2


def test_weights_and_importance_need_a_bank_that_has_them():
    for measure in ("Cov(weights=importance)", "V", "W_strict"):
        with pytest.raises(DataError, match="--bank FILE"):
            value(measure)
    silent = NuggetBank("bank", {"t": (Nugget("n1", "one"),)})
    with pytest.raises(DataError, match="gives nugget 'n1' of topic 't' neither importance nor weight"):
        value("Cov(weights=importance)", bank=silent)
    with pytest.raises(DataError, match="does not say whether nugget 'n1' is vital or okay"):
        value("V", bank=silent)


def test_the_greedy_ideal_can_be_beaten():
    # p, q and z carry two nuggets each; z, the largest id, is taken first and overlaps with both others.
    carried = {"p": (1, 2), "q": (3, 4), "z": (1, 3)}
    rows = [("t", f"n{n}", unit, 1) for unit, nuggets in carried.items() for n in nuggets]
    greedy = 2 + (1 + 0.5) / log2(3)
    found = value("alpha_nDCG@2", rows, {"t": {"p": 2.0, "q": 1.0}})
    assert found == pytest.approx((2 + 2 / log2(3)) / greedy)
    assert found > 1


def test_exponential_and_custom_gains():
    rows = [("t", "0", "a", 3), ("t", "0", "b", 1), ("t", "0", "c", -1)]
    run = {"t": {"b": 3.0, "c": 2.0, "a": 1.0}}
    assert value("nDCG", rows, run) == pytest.approx((1 + 3 / 2) / (3 + 1 / log2(3)))
    assert value("nDCG(dcg='exp-log2')", rows, run) == pytest.approx((1 + 7 / 2) / (7 + 1 / log2(3)))
    assert value("nDCG(gains={3:10})", rows, run) == pytest.approx((1 + 10 / 2) / (10 + 1 / log2(3)))


def test_judged_only_keeps_negative_judgments():
    rows = [("t", "0", "a", 1), ("t", "0", "b", -1)]
    run = {"t": {"x": 3.0, "b": 2.0, "a": 1.0}}
    assert value("RR(judged_only=True)", rows, run) == 1 / 2
    assert value("RR", rows, run) == 1 / 3
    assert value("RR", rows, run, judged_only=True) == 1 / 2


# Gold g1 to g4 of topic t; answers r1 (three extracted nuggets) and none for topic u.
NTN = [
    ("t", "g1", "r1/n1", 1), ("t", "g1", "r1/n2", 1), ("t", "g2", "r1/n1", 0), ("t", "g3", "r1/n3", 0),
    ("t", "g4", "r1/n1", 0), ("u", "g1", "r2/n1", 1), ("u", "g2", "r2/n1", 0),
]  # fmt: skip
ANSWER = {"t": {"r1/n1": 3.0, "r1/n2": 2.0, "r1/n3": 1.0}}


def test_nugget_measures_by_hand():
    # t: 1 of 4 gold covered, 2 of 3 extracted nuggets entail one; u: no answer, both 0.
    assert value("Recall_NtN", NTN, ANSWER) == (1 / 4 + 0) / 2
    assert value("Precision_NtN", NTN, ANSWER) == (2 / 3 + 0) / 2
    f1 = 2 * (2 / 3) * (1 / 4) / (2 / 3 + 1 / 4)
    assert value("F1_NtN", NTN, ANSWER) == pytest.approx(f1 / 2)
    assert value("Precision_NtN(precision_undefined=skip)", NTN, ANSWER) == 2 / 3
    assert value("Recall_NtN(avg=micro)", NTN, ANSWER) == pytest.approx(1 / 6)
    assert value("Precision_NtN(avg=micro)", NTN, ANSWER) == pytest.approx(2 / 3)


def test_unjudged_units_count_in_the_denominator_of_precision():
    answer = {"t": {**ANSWER["t"], "r1/n4": 0.5}}
    assert value("Precision_NtN", NTN, answer, topics="run") == 2 / 4


GRADED = [("t", f"g{n}", "r", grade) for n, grade in enumerate((5, 4, 3, 0, -1), start=1)]


def test_graded_responses_by_hand():
    run = {"t": {"r": 1.0}}
    assert value("nugget_coverage", GRADED, run) == 2 / 5
    assert value("nugget_coverage(rel=3)", GRADED, run) == 3 / 5
    assert value("covered_count", GRADED, run) == 2
    assert value("avg_grade", GRADED, run) == (5 + 4 + 3 + 0 + 0) / 5
    assert value("max_grade", GRADED, run) == 5


SUPPORT = [("t", "n1", "r", 2), ("t", "n2", "r", 1), ("t", "n3", "r", 0), ("t", "n4", "r", 1)]
AUTONUGGETIZER = {
    # vital n1 (support), n4 (partial); okay n2 (partial), n3 (none)
    "A": (1 + 0.5 + 0 + 0.5) / 4,
    "A_strict": 1 / 4,
    "V": (1 + 0.5) / 2,
    "V_strict": 1 / 2,
    "W": (1 + 0.5 + 0.5 * (0.5 + 0)) / (2 + 0.5 * 2),
    "W_strict": 1 / (2 + 0.5 * 2),
}


@pytest.mark.parametrize("measure", AUTONUGGETIZER)
def test_autonuggetizer_by_hand(measure):
    assert value(measure, SUPPORT, {"t": {"r": 1.0}}, BANK) == pytest.approx(AUTONUGGETIZER[measure], abs=1e-12)


def test_support_on_other_scales():
    assert value("A(support=1)", [("t", "n1", "r", 1), ("t", "n2", "r", 0)], {"t": {"r": 1.0}}) == 1 / 2
    with pytest.raises(DataError, match="has grades up to 5, but full support is grade 2"):
        value("A", GRADED, {"t": {"r": 1.0}})


def test_no_vital_nugget_is_undefined_not_0():
    bank = NuggetBank("bank", {"t": (Nugget("n1", "one", "okay"),), "u": (Nugget("n1", "one", "vital"),)})
    rows = [("t", "n1", "r", 2), ("u", "n1", "r", 2)]
    scores = evaluate(
        "V num_undefined", Inputs(NuggetQrels.of(rows), [Run.of({"t": {"r": 1.0}, "u": {"r": 1.0}})], bank)
    )
    assert scores.value("run", "V", "t") is None
    assert scores.value("run", "V") == 1.0
    assert scores.value("run", "num_undefined") == 1
    assert "V: undefined for 1 of 2 topics, left out of the mean" in scores.notes
    assert "|undefined 1|" in scores.signature


def test_a_topic_without_positive_units_is_0_and_counted():
    rows = [*ROWS, ("u", "n1", "a", 0)]
    run = {**RUN, "u": {"a": 1.0}}
    for measure in (
        "alpha_nDCG@5",
        "StRecall@5",
        "Cov@5",
        "nNRBP",
        "nERR_IA@5",
        "AP_IA",
        "nDCG@5",
        "AP",
        "Rprec",
        "R@5",
    ):
        scores = evaluate(measure, Inputs(NuggetQrels.of(rows), [Run.of(run)]))
        assert scores.value("run", measure, "u") == 0.0, measure


def test_a_topic_without_declared_nuggets_is_undefined_for_nugget_measures():
    rows = [*ROWS, ("u", "n1", "a", 1)]
    bank = NuggetBank("bank", {**BANK.nuggets, "u": ()})
    inputs = Inputs(NuggetQrels.of(rows), [Run.of({**RUN, "u": {"a": 1.0}})], bank)
    nugget = "Cov@5 StRecall@5 alpha_nDCG@5 alpha_DCG@5 NRBP nNRBP AP_IA P_IA@5 ERR_IA@5 nERR_IA@5"
    scores = evaluate(f"{nugget} nDCG@5 P@1", inputs)
    for measure in nugget.split():
        assert scores.value("run", measure, "u") is None, measure
        assert scores.value("run", measure) == scores.value("run", measure, "t")
    assert scores.value("run", "P@1", "u") == 0.0
    zero = evaluate("Cov@5", inputs, Policies(undefined="zero"))
    assert zero.value("run", "Cov@5") == zero.value("run", "Cov@5", "t") / 2
    for group in ("Recall_NtN Precision_NtN F1_NtN", "Recall_NtR A nugget_coverage avg_grade max_grade covered_count"):
        scores = evaluate(group, inputs, Policies(topics="qrels"))
        assert [scores.value("run", measure, "u") for measure in scores.measures] == [None] * len(scores.measures)


def test_a_bank_restricts():
    deduplicated = NuggetBank("bank[D]", {"t": (Nugget("n1", "one"), Nugget("n3", "three"))})
    for measure in ("Cov@2", "Recall_NtN", "Recall_NtR", "alpha_nDCG", "AP_IA"):
        rows = [row for row in ROWS if row[1] in ("n1", "n3")]
        expected = value(measure, rows)
        assert value(measure, bank=deduplicated) == expected, measure
    scores = evaluate("Cov@2", Inputs(NuggetQrels.of(ROWS), [Run.of(RUN)], deduplicated))
    assert "qrels: 2 rows for nuggets that bank[D] does not declare, ignored" in scores.notes


def test_units_of_ignored_rows_stay_judged():
    bank = NuggetBank("bank", {"t": (Nugget("n3", "three"),)})
    assert value("Judged", bank=bank) == 3 / 4
    assert value("AP", bank=bank) == 1 / 3


def test_nothing_in_common_with_a_bank():
    with pytest.raises(
        DataError, match=r"other and qrels have no nugget in common: the bank has topic 'u', nugget 'm'"
    ):
        value("Cov", bank=NuggetBank("other", {"u": (Nugget("m", "text"),)}))


def test_equal_topics_give_equal_means_in_any_order():
    orders = list(permutations([0.1, 0.2, 0.3, 0.7]))
    assert len({order[0] + order[1] + order[2] + order[3] for order in orders}) > 1
    everywhere = np.ones((1, 4, 1), dtype=bool)
    means = {
        Scores(("r",), tuple("abcd"), ("m",), np.array(order).reshape(1, 4, 1), everywhere).value("r", "m")
        for order in orders
    }
    assert means == {0.325}


def test_the_scale_carries_its_least_grade():
    qrels = replace(NuggetQrels.of([("t", "n1", "a", 3), ("t", "n2", "a", 2)]), scale=Scale(5, 3))
    run = Run.of({"t": {"a": 1.0}})
    assert evaluate("Cov", Inputs(qrels, [run])).value("run", "Cov") == 1 / 2
    assert evaluate("Cov", Inputs(qrels, [run]), Policies(rel=1)).value("run", "Cov") == 1
    assert "|rel 3|" in evaluate("Cov", Inputs(qrels, [run])).signature
