"""Paired tests and corrections: by hand, by scipy, and by the public bug reports."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nuggeteval import ParameterError
from nuggeteval.stats.resampling import draws, interval, intervals, resampled_means
from nuggeteval.stats.significance import against, correct, describe, paired, pairwise

A = [0.9, 0.1, 0.5, 0.7, 0.3, 0.6]
B = [0.5, 0.2, 0.4, 0.4, 0.3, 0.5]
C = [0.1, 0.0, 0.1, 0.2, 0.0, 0.1]
VALUES = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 20).map(lambda v: v / 20), min_size=n, max_size=n)] * 2)
)


def test_the_t_test_of_the_bug_reports():
    # SG01: t 1.754116, p 0.139779 over 6 topics; d_z = t / sqrt(6).
    result = paired(A, B)
    assert result[:2] == (6, pytest.approx(0.8 / 6))
    assert (result.statistic, result.p) == (pytest.approx(1.754116, abs=1e-6), pytest.approx(0.139779, abs=1e-6))
    assert result.effect == pytest.approx(1.754116 / 6**0.5, abs=1e-6)


def test_all_sign_flips_are_counted():
    # SG02: of the 64 assignments 16 differ at least as much, in exact decimals.
    tenths = [round(10 * (a - b)) for a, b in zip(A, B, strict=True)]
    flips = [abs(sum(s * d for s, d in zip(signs, tenths, strict=True))) for signs in product((1, -1), repeat=6)]
    assert sum(flip >= 8 for flip in flips) == 16
    assert [paired(A, B, "randomisation").p for _ in range(3)] == [0.25] * 3


def test_sampled_p_is_never_0_and_repeats():
    # SG05: 20 topics, every difference positive.
    x, y = [0.9] * 20, [0.1 + 0.01 * i for i in range(20)]
    first = paired(x, y, "randomisation", resamples=1000)
    assert first.p >= 1 / 1001
    assert first == paired(x, y, "randomisation", resamples=1000)


def test_sampled_p_is_near_the_exact_one():
    random = np.random.RandomState(1)
    x = random.rand(16)
    y = np.clip(x + 0.2 * random.rand(16) - 0.06, 0, 1)
    exact = stats.permutation_test((x - y,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert paired(x, y, "randomisation", resamples=20_000).p == pytest.approx(exact, abs=0.01)


@given(VALUES)
def test_scipy_agrees_on_t_and_wilcoxon(pair):
    x, y = (np.array(side) for side in pair)
    differences = np.round(x - y, 12)
    t, w = paired(x, y), paired(x, y, "wilcoxon")
    if not differences.any():
        assert (t.p, w.p, t.effect) == (1, 1, None)
        return
    if np.ptp(differences) == 0:
        assert (t.statistic, t.p) == (None, None)
    else:
        expected = stats.ttest_rel(x, y)
        assert (t.statistic, t.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    nonzero = differences[differences != 0]
    ranked = np.sign(nonzero) * stats.rankdata(np.abs(nonzero))
    swaps = {"permutation_type": "samples", "n_resamples": np.inf}
    expected = stats.permutation_test((ranked,), np.sum, **swaps).pvalue if len(ranked) > 1 else 1.0
    assert w.p == pytest.approx(expected)


def test_wilcoxon_is_exact_with_ties_too():
    # Four equal differences: of the 16 assignments of signs the 2 extreme ones are as far out: 2/16.
    assert paired([0.3, 0.4, 0.55, 0.7], [0.2, 0.3, 0.45, 0.6], "wilcoxon").p == pytest.approx(2 / 16)


@pytest.mark.parametrize(("topics", "ties"), [(15, False), (40, False), (40, True), (60, False)])
def test_wilcoxon_of_more_topics_is_scipys(topics, ties):
    random = np.random.RandomState(topics)
    x = random.randint(0, 9, topics) / 8 if ties else random.rand(topics)
    y = random.randint(0, 9, topics) / 8 if ties else random.rand(topics)
    nonzero = (x - y)[x != y]
    exact = not ties and topics <= 50
    assert paired(x, y, "wilcoxon").p == pytest.approx(
        stats.wilcoxon(nonzero, method="exact" if exact else "approx").pvalue
    )


def test_a_difference_that_does_not_vary_has_no_t():
    found = paired([0.3, 0.5, 0.7], [0.2, 0.4, 0.6])
    assert (found.difference, found.effect, found.statistic, found.p) == (pytest.approx(0.1), None, None, None)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_p_does_not_depend_on_the_unit(test, scale):
    random = np.random.RandomState(7)
    x, y = random.rand(8), random.rand(8)
    expected = paired(x, y, test).p
    assert paired(x * scale, y * scale, test).p == pytest.approx(expected)
    values = np.array([[x, y, random.rand(8)]])
    assert pairwise(values * scale, "tukey", 200)[0] == pytest.approx(pairwise(values, "tukey", 200)[0], nan_ok=True)


def test_a_run_without_values_is_left_out_of_tukey():
    values = np.array([[A, B, C, [np.nan] * 6]])
    p = pairwise(values, "tukey", 300)[0]
    assert np.isnan(p[3]).all()
    assert p[:3, :3] == pytest.approx(pairwise(values[:, :3], "tukey", 300)[0], nan_ok=True)


@pytest.mark.parametrize("options", [{"resamples": 0}, {"resamples": -3}, {"seed": -1}, {"seed": 2**32}])
def test_impossible_samples_are_refused(options):
    with pytest.raises(ParameterError, match=r"resamples must be|seed must be"):
        paired(A, B, "randomisation", **options)
    with pytest.raises(ParameterError, match=r"resamples must be|seed must be"):
        pairwise(np.array([[A, B]]), "tukey", **{"resamples": 5, **options})


@given(VALUES)
def test_exact_randomisation_is_scipys(pair):
    x, y = (np.array(side) for side in pair)
    expected = stats.permutation_test(
        (np.round(20 * (x - y)),), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert paired(x, y, "randomisation").p == pytest.approx(expected)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_topics_without_a_value_are_left_out_of_the_pair(test):
    values = np.array([[*A, np.nan], [*B, 0.7], [*B[::-1], 0.1]])
    assert against(values, 0, test)[1] == pytest.approx(paired(A, B, test).p)
    assert np.isnan(against(values, 0, test)[0])
    whole = pairwise(values[None], test)[0]
    assert whole[0, 1] == whole[1, 0]
    assert whole[1, 2] == pytest.approx(paired([*B, 0.7], [*B[::-1], 0.1], test).p)


def test_nothing_to_compare_is_undefined():
    assert paired([np.nan], [1.0]) == (0, pytest.approx(np.nan, nan_ok=True), None, None, None)
    assert paired([1.0], [0.5]).p is None
    assert paired([1.0], [0.5], "wilcoxon").p is None
    assert paired([1.0], [0.5], "randomisation").p is None


def test_randomised_tukey_by_hand():
    # Two topics, three runs: values (0, 1, 2) and (0, 1, 2); sums 0, 2, 4. Shuffled within topics there are
    # 6 x 6 equally likely tables; the range of the sums is 4 in 6 of 36 (both topics in one order), and at least
    # 2 in all but those where all sums are equal to 2: one partner for each of 6 orders, so 30 of 36.
    sums = [
        [a + b for a, b in zip(first, second, strict=True)]
        for first in permutations((0, 1, 2))
        for second in permutations((0, 1, 2))
    ]
    ranges = [max(row) - min(row) for row in sums]
    assert (sum(r >= 4 for r in ranges), sum(r >= 2 for r in ranges)) == (6, 30)
    values = np.array([[[0, 0], [1, 1], [2, 2]]], dtype=float)
    p = pairwise(values, "tukey", resamples=40_000)[0]
    assert p[0, 2] == pytest.approx(6 / 36, abs=0.01)
    assert p[0, 1] == p[1, 2] == pytest.approx(30 / 36, abs=0.01)
    assert np.isnan(p.diagonal()).all()


def test_randomised_tukey_of_two_runs_is_the_randomisation_test():
    values = np.array([[A, B]])
    assert pairwise(values, "tukey", resamples=20_000)[0, 0, 1] == pytest.approx(0.25, abs=0.01)


def test_randomised_tukey_never_says_0_and_leaves_out_topics_with_gaps():
    values = np.array([[[1.0, 1, 1, 1, np.nan], [0.0, 0, 0, 0, 1], [0.0, 0, 0, 0, 0]]])
    p = pairwise(values, "tukey", resamples=500)[0]
    assert p[0, 1] >= 1 / 501
    assert p[1, 2] == 1
    assert np.isnan(pairwise(values[:, :, 3:], "tukey", resamples=5)).all()


def test_corrections_of_the_bug_reports():
    # SG06: .01, .04, .03. Bonferroni x 3. Holm: .01 x 3, .03 x 2, max(.06, .04 x 1).
    p = [0.01, 0.04, 0.03]
    assert correct(p, "bonferroni") == pytest.approx([0.03, 0.12, 0.09])
    assert correct(p, "holm") == pytest.approx([0.03, 0.06, 0.06])
    # Benjamini-Hochberg: .04 x 3/3 = .04; .03 x 3/2 = .045 -> min .04; .01 x 3/1 = .03
    assert correct(p, "bh") == pytest.approx([0.03, 0.04, 0.04])
    assert list(correct(p, "none")) == p


def test_what_has_no_p_is_in_no_family():
    assert correct([0.01, np.nan, 0.04], "holm") == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert np.isnan(correct([np.nan], "bh")).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_are_ordered(p):
    none, holm, bonferroni, bh = (correct(p, name) for name in ("none", "holm", "bonferroni", "bh"))
    assert (none <= bh + 1e-12).all()
    assert (bh <= holm + 1e-12).all()
    assert (holm <= bonferroni + 1e-12).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired(A, B, "z"), "must be one of t"),
        (lambda: paired(A, B[:-1]), "same topics"),
        (lambda: against(np.array([A, B]), 0, "tukey"), "against one run"),
        (lambda: correct([0.1], "sidak"), "correction must be one of"),
        (lambda: describe("z", 3, 10, 1), "test must be one of"),
    ],
)
def test_unknown_names_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_a_test_is_described_with_what_was_sampled():
    assert describe("randomisation", 6, 1000, 42) == "paired randomisation test (all 2^6 assignments)"
    assert describe("randomisation", 60, 1000, 42) == "paired randomisation test (1000 samples, seed 42)"
    assert "family-wise" in describe("tukey", 60, 1000, 42)


def test_draws_are_with_replacement_and_repeat():
    counts = draws(7, 50, seed=3)
    assert counts.shape == (50, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert (counts == draws(7, 50, seed=3)).all()
    assert (counts != draws(7, 50, seed=4)).any()


def test_resampled_means_by_hand():
    # Topic 1 twice: (.2 + .2) / 2; topics 1 and 2, one without a value: .2; topic 2 twice: no value at all.
    values, counts = np.array([[0.2, np.nan]]), np.array([[2.0, 0], [1, 1], [0, 2]])
    assert resampled_means(values, counts)[:, 0] == pytest.approx([0.2, 0.2, np.nan], nan_ok=True)
    # weighted by 3 and 1: (3 x .2 + 1 x .6) / 4
    assert resampled_means(np.array([[0.2, 0.6]]), np.array([[1.0, 1]]), np.array([[3.0, 1]])) == pytest.approx(0.3)


def test_intervals_are_the_middle_share():
    values = np.arange(101.0)
    assert interval(values) == (2.5, 97.5)
    assert interval(values, 0.5) == (25, 75)
    assert interval(np.array([np.nan, np.nan])) is None
    assert intervals(np.array([[1.0, np.nan], [3.0, np.nan]]), 1.0) == pytest.approx(
        np.array([[1, 3], [np.nan, np.nan]]), nan_ok=True
    )
