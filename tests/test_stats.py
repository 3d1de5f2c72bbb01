"""Agreement and correlation: by hand, and what is undefined."""

import pytest

from nuggeteval.stats import agreement, kendall_tau_b, spearman_rho


def test_kappa_by_hand():
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: po = 35/50, pe = .5 x .6 + .5 x .4 = .5, kappa = .4 (Cohen 1960).
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    result = agreement(first, second)
    assert (result.number, result.accuracy) == (50, 0.7)
    assert result.kappa == pytest.approx(0.4)
    assert result.confusion == {("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15}


def test_kappa_is_undefined_where_both_say_one_thing():
    assert agreement([1, 1], [1, 1]).kappa is None
    assert agreement([1, 1], [1, 0]).kappa == 0.0
    with pytest.raises(ValueError, match="no items"):
        agreement([], [])


def test_tau_b_and_rho_with_ties():
    # CO01 of the public bug reports: tau-b 0.8, rho 0.8333 where tau-a would be 0.6667.
    x, y = [1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 3.0]
    assert kendall_tau_b(x, y) == pytest.approx(0.8)
    assert spearman_rho(x, y) == pytest.approx(0.833333, abs=1e-6)


def test_constant_scores_have_no_correlation():
    assert kendall_tau_b([1.0, 1.0], [1.0, 2.0]) is None
    assert spearman_rho([1.0, 1.0], [1.0, 2.0]) is None


def test_rounding_noise_is_a_tie():
    assert kendall_tau_b([0.1 + 0.2, 0.3, 0.5], [1.0, 1.0, 2.0]) == pytest.approx(1.0)
