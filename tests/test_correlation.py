"""Rank correlation: by hand, by published examples, by scipy, and by what must hold of any two rankings."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nuggeteval import ParameterError
from nuggeteval.stats.correlation import (
    COEFFICIENTS,
    kendall_p,
    kendall_tau_a,
    kendall_tau_b,
    kendall_tau_b_rows,
    kendall_tau_c,
    max_drop,
    pearson_r,
    ranks,
    rbo,
    spearman_p,
    spearman_rho,
    spearman_rho_rows,
    tau_ap_b,
    tau_at,
    tied_pairs,
    top_overlap,
    undefined_reason,
    weighted_tau,
)

# Ten items in three pairs of lists, with their AP correlations: the tests of Urbano's R package ircor.
IRCOR = [
    ([0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
     [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988], 0.8333),
    ([0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
     [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644], 0.2880),
    ([0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
     [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25], -0.668),
    ([0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1], [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1], 0.7321),
    ([0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4], [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6], 0.297),
    ([0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4], [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2], -0.7047),
]  # fmt: skip

SCORES = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6).map(lambda v: v / 7), min_size=n, max_size=n)] * 2)
)
UNTIED = st.integers(2, 8).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * 2))


def defined(pair):
    return not undefined_reason(*pair)


def test_tau_b_and_rho_with_ties():
    # CO01 of the public bug reports: 4 pairs agree, none disagrees, one tie on each side:
    # tau-b = 4 / sqrt(5 x 5) = .8 where tau-a = 4/6; rho of ranks (1, 2.5, 2.5, 4) and (1, 2, 3.5, 3.5) = .8333.
    x, y = [1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 3.0]
    assert kendall_tau_b(x, y) == pytest.approx(0.8)
    assert kendall_tau_a(x, y) == pytest.approx(4 / 6)
    # tau-c = 2 x (4 - 0) / (4^2 x (3 - 1) / 3) = 8 / (32/3) = .75
    assert kendall_tau_c(x, y) == pytest.approx(0.75)
    assert spearman_rho(x, y) == pytest.approx(0.833333, abs=1e-6)


def test_tau_ap_b_by_hand():
    # Truth a > b > c = d, judge b > a > d > c.
    # Walking the judge's ranking: a has 1 above (b): the truth has b above a: no, 0/1. d has 2 above (b, a): both
    # are above d: 2/2. c has 3 above (b, a, d): b and a are, d is tied: 2/3. 2 x mean(0, 1, 2/3) - 1 = 1/9.
    # Walking the truth: b has 1 above (a): 0/1; c and d have 2 above (a, b): 2/2 each. 2 x 2/3 - 1 = 1/3.
    truth, judge = [4, 3, 1, 1], [3, 4, 1, 2]
    assert tau_ap_b(truth, judge) == pytest.approx((1 / 9 + 1 / 3) / 2)


@pytest.mark.parametrize(("x", "y", "value"), IRCOR)
def test_tau_ap_b_of_the_published_examples(x, y, value):
    assert tau_ap_b(x, y) == pytest.approx(value, abs=5e-5)
    assert tau_ap_b(y, x) == pytest.approx(value, abs=5e-5)


def classic_tau_ap(truth, ranking):
    """Yilmaz et al. 2008, eq. 8, without ties: walk down a ranking."""
    order = sorted(range(len(ranking)), key=lambda i: -ranking[i])
    kept = [sum(truth[j] > truth[i] for j in order[:place]) / place for place, i in enumerate(order) if place]
    return 2 * sum(kept) / len(kept) - 1


@given(UNTIED)
def test_tau_ap_b_without_ties_is_the_mean_of_the_classic_one_both_ways(pair):
    x, y = pair
    assert tau_ap_b(x, y) == pytest.approx((classic_tau_ap(x, y) + classic_tau_ap(y, x)) / 2)


def test_rbo_by_hand():
    # a > b > c against b > a > c, p = .5: overlaps 0/1, 2/2, 3/3; (1-p)/p x (0 x .5 + 1 x .25 + 1 x .125) + .5^3 = .5
    assert rbo([3, 2, 1], [2, 3, 1], p=0.5) == pytest.approx(0.5)
    # a = b > c against a > b > c, p = .5. Presence of a, b in depth 1: 1/2 each; 1 each from depth 2 on.
    # a: overlap .5/1, 2/2, 3/3 -> .5 x .5 + .25 + .125 + .125 = .75
    assert rbo([2, 2, 1], [3, 2, 1], p=0.5, ties="a") == pytest.approx(0.75)
    # b: depth 1: .5 / sqrt((.25 + .25) x 1) = .70711; .70711 x .5 + .5 = .85355
    assert rbo([2, 2, 1], [3, 2, 1], p=0.5, ties="b") == pytest.approx(0.5 * 0.5**0.5 + 0.5)
    # w: both stand in depth 1: 2 x 1 / (2 + 1) = 2/3; 2/3 x .5 + .5 = .83333
    assert rbo([2, 2, 1], [3, 2, 1], p=0.5, ties="w") == pytest.approx(2 / 3 * 0.5 + 0.5)


def broken(scores):
    """Every way to break the ties of a ranking."""
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            yield [-order.index(i) for i in range(len(scores))]


@given(SCORES.filter(lambda pair: len(pair[0]) <= 5).filter(defined))
def test_rbo_a_is_the_mean_over_all_ways_to_break_ties(pair):
    every = [rbo(x, y, p=0.8) for x in broken(pair[0]) for y in broken(pair[1])]
    assert rbo(*pair, p=0.8, ties="a") == pytest.approx(sum(every) / len(every))


@given(UNTIED, st.floats(0.05, 0.95))
def test_all_rbo_agree_without_ties(pair, p):
    values = [rbo(*pair, p=p, ties=ties) for ties in "abw"]
    assert values == pytest.approx([values[0]] * 3)
    depths = [
        len({i for i in range(len(pair[0])) if pair[0][i] >= len(pair[0]) - d}
            & {i for i in range(len(pair[1])) if pair[1][i] >= len(pair[1]) - d}) / d
        for d in range(1, len(pair[0]) + 1)
    ]  # fmt: skip
    classic = (1 - p) / p * sum(a * p**d for d, a in enumerate(depths, start=1)) + p ** len(depths)
    assert values[0] == pytest.approx(classic)


@pytest.mark.parametrize("name", COEFFICIENTS)
@given(pair=SCORES.filter(defined))
def test_symmetric_and_1_with_itself(name, pair):
    x, y = pair
    measure = COEFFICIENTS[name]
    assert measure(x, y) == pytest.approx(measure(y, x), abs=1e-12)
    if name == "tau_a":
        assert measure(x, x) == pytest.approx(1 - tied_pairs(x) / (len(x) * (len(x) - 1) / 2))
    elif name == "tau_c":
        assert measure(x, x) <= 1 + 1e-12
    else:
        assert measure(x, x) == pytest.approx(1)


@given(SCORES.filter(defined))
def test_scipy_agrees(pair):
    x, y = pair
    assert kendall_tau_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert spearman_rho(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert pearson_r(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert weighted_tau(x, y) == pytest.approx(stats.weightedtau(x, y).statistic)


@given(SCORES)
def test_rows_are_the_single_ones(pair):
    x, y = (np.array([side, side[::-1]]) for side in pair)
    for rows, single in ((kendall_tau_b_rows, kendall_tau_b), (spearman_rho_rows, spearman_rho)):
        expected = [np.nan if (value := single(a, b)) is None else value for a, b in zip(x, y, strict=True)]
        assert rows(x, y) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_constant_scores_have_no_correlation(name):
    assert COEFFICIENTS[name]([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert COEFFICIENTS[name]([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]) is None


def test_the_reason_is_named():
    assert undefined_reason([1, 1], [1, 2]) == "all scores equal on the first side"
    assert undefined_reason([1, 1], [2, 2]) == "all scores equal on the first and the second side"
    assert undefined_reason([1], [2]) == "1 run in both"
    assert undefined_reason([1, 2], [1, 2]) == ""


def test_rounding_noise_is_a_tie():
    assert kendall_tau_b([0.1 + 0.2, 0.3, 0.5], [1.0, 1.0, 2.0]) == pytest.approx(1.0)
    assert list(ranks([0.1 + 0.2, 0.3, 0.5], "min")) == [2, 2, 1]


def test_names_are_no_scores():
    with pytest.raises(ParameterError, match="takes two lists of scores"):
        kendall_tau_b(["A", "B"], ["B", "A"])
    with pytest.raises(ParameterError, match="finite"):
        spearman_rho([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ParameterError, match="3 scores cannot be correlated with 2"):
        spearman_rho([1.0, 2.0, 3.0], [1.0, 2.0])


def test_p_names_its_method():
    # CO04: five runs, one pair swapped: 2 x (1 + 4) / 5! = .0833 exactly.
    x, y = [0.71, 0.62, 0.55, 0.4, 0.31], [0.68, 0.7, 0.5, 0.45, 0.2]
    assert kendall_p(x, y) == (pytest.approx(10 / 120), "exact")
    assert kendall_p([1, 1, 2, 3], [1, 2, 3, 4]).method == "asymptotic"
    # Of the 120 orders of five runs 10 have |rho| of .9 or more: 1 has 1, 4 have .9, and as many below 0.
    assert spearman_p(x, y) == (pytest.approx(10 / 120), "exact")
    eight = np.arange(8.0), np.array([0, 2, 1, 3, 5, 4, 7, 6.0])
    assert spearman_p(*eight) == (pytest.approx(stats.spearmanr(*eight).pvalue), "asymptotic, t")
    assert kendall_p([1, 1], [1, 2]) is None
    assert spearman_p([1, 2], [1, 2]) == (1.0, "exact")
    assert spearman_p([1, 1], [1, 2]) is None


def test_top_k_shares_ranks():
    # Truth a > b = c > d: ranks 1, 2, 2, 4: the top 2 are a, b, c. Judge d > a > b > c: its top 2 are d, a.
    truth, judge = [4, 3, 3, 1], [3, 2, 1, 4]
    assert top_overlap(truth, judge, 2) == pytest.approx(1 / 3)
    # among a, b, c: a > b and a > c in both, b and c are tied in the truth: tau-b = 2 / sqrt(2 x 3)
    assert tau_at(truth, judge, 2) == pytest.approx(2 / 6**0.5)
    # average ranks: truth 1, 2.5, 2.5, 4; judge 2, 3, 4, 1: c falls from 2.5 to 4
    assert max_drop(truth, judge) == (1.5, 2)


def test_tied_pairs():
    assert tied_pairs([1, 1, 1, 2, 2]) == 3 + 1


@pytest.mark.parametrize("options", [{"p": 0}, {"p": 1}, {"ties": "c"}])
def test_rbo_refuses(options):
    with pytest.raises(ParameterError, match="RBO"):
        rbo([1, 2], [1, 2], **options)
