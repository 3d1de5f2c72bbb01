"""Agreement of annotators: by hand, by Krippendorff's own example, and what is undefined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval.stats.agreement import agreement

LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)


def test_kappa_by_hand():
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: po = 35/50, pe = .5 x .6 + .5 x .4 = .5, kappa = .4 (Cohen 1960).
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    result = agreement(first, second)
    assert (result.number, result.accuracy, result.majority) == (50, 0.7, 0.5)
    assert result.kappa == pytest.approx(0.4)
    assert result.confusion == {("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15}
    assert result.precision("y") == pytest.approx(20 / 30)
    assert result.recall("y") == pytest.approx(20 / 25)


def test_ac1_by_hand():
    # The same 50 items: mean share of yes (25 + 30) / 100 = .55; two labels, so chance is
    # (.55 x .45 + .45 x .55) / 1 = .495; AC1 = (.7 - .495) / (1 - .495) = .205 / .505 (Gwet 2008).
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert agreement(first, second).ac1 == pytest.approx(0.205 / 0.505)


def test_ac1_does_not_collapse_where_labels_are_skewed():
    # Feinstein and Cicchetti's paradox: 118 yes/yes, 5 yes/no, 2 no/yes, 0 no/no. po = 118/125 = .944,
    # kappa = (.944 - .945) / ... < 0; share of yes (123 + 120) / 250 = .972, chance 2 x .972 x .028 = .054432,
    # AC1 = (.944 - .054432) / .945568 = .94078.
    first, second = ["y"] * 123 + ["n"] * 2, ["y"] * 118 + ["n"] * 5 + ["y"] * 2
    result = agreement(first, second)
    assert result.kappa < 0
    assert result.ac1 == pytest.approx(0.889568 / 0.945568)


def test_alpha_by_hand():
    # Krippendorff (2011), nominal, two observers, ten items, no missing data: coincidences o(a,b) with
    # 0/0 x 5, 0/1 x 3, 1/0 x 1, 1/1 x 1: n0 = 14, n1 = 6, n = 20; alpha = 1 - 19 x 4 / (14 x 6) = 1 - 76/84.
    first = [0] * 5 + [0] * 3 + [1] + [1]
    second = [0] * 5 + [1] * 3 + [0] + [1]
    assert agreement(first, second).alpha == pytest.approx(1 - 76 / 84)


def test_table_6_of_conversational_gold():
    # iKAT 2024, DeBERTa: TP 60, FP 118, FN 94, TN 814: accuracy .805, kappa .247 as printed.
    first, second = [1] * 60 + [0] * 118 + [1] * 94 + [0] * 814, [1] * 178 + [0] * 908
    result = agreement(first, second)
    assert (round(result.accuracy, 3), round(result.kappa, 3)) == (0.805, 0.247)
    assert result.majority == pytest.approx(932 / 1086)


def test_what_one_label_leaves_undefined():
    result = agreement([1, 1], [1, 1])
    assert (result.kappa, result.alpha, result.ac1, result.precision(0), result.recall(0)) == (
        None,
        None,
        1,
        None,
        None,
    )
    assert agreement([1, 1], [1, 0]).kappa == 0.0
    with pytest.raises(ValueError, match="no items"):
        agreement([], [])


@given(LABELS)
def test_agreement_is_symmetric_and_whole_with_itself(pairs):
    first, second = zip(*pairs, strict=True)
    one, other = agreement(first, second), agreement(second, first)
    assert one.accuracy == other.accuracy
    assert one.ac1 == pytest.approx(other.ac1)
    assert (one.kappa is None) == (other.kappa is None)
    assert one.kappa is None or one.kappa == pytest.approx(other.kappa)
    same = agreement(first, first)
    assert (same.accuracy, same.ac1) == (1, pytest.approx(1))
