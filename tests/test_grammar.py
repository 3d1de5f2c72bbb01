"""How measures are written, and what the table refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval import Measure, ParameterError, UnknownNameError, measures, parse_measure
from nuggeteval.grammar import split
from nuggeteval.measures import ALIASES, NICKNAMES, TABLE, TREC_NAMES, bind, expand_names, record_of


def names(text):
    return [measure.notation for measure in expand_names(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b c\td", ["a", "b", "c", "d"]),
        ("nDCG(gains={1:1,2:3}, dcg='log2')@5,P@1", ["nDCG(gains={1:1,2:3}, dcg='log2')@5", "P@1"]),
        ("P.5,10,map", ["P.5,10", "map"]),
        ("ndcg_cut_5,10", ["ndcg_cut_5,10"]),
        (" , ", []),
    ],
)
def test_lists_are_split_outside_brackets(text, parts):
    assert split(text) == parts


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("nDCG@5", "nDCG@5"),
        ("alpha_nDCG(rel=2, alpha=0.9)@20", "alpha_nDCG(alpha=0.9,rel=2)@20"),
        ("Cov(weights=importance)", "Cov(weights='importance')"),
        ("nDCG(gains={2:3,1:1})@5", "nDCG(gains={1:1,2:3})@5"),
        ("AP()", "AP"),
        ("IPrec@0.1", "IPrec@0.1"),
    ],
)
def test_notation(text, notation):
    measure = parse_measure(text)
    assert str(measure) == notation
    assert parse_measure(notation) == measure


def test_measures_are_values():
    assert measures.P(rel=2) @ 10 == parse_measure("P(rel=2)@10")
    assert measures.α_nDCG @ 5 == Measure("alpha_nDCG", (), 5)
    assert len({parse_measure("P@5"), measures.P @ 5}) == 1
    with pytest.raises(AttributeError):
        measures.nDGC


VALUES = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text("abc _'\"\\")
)


@given(
    st.from_regex(r"[A-Za-z][A-Za-z_]{0,8}", fullmatch=True),
    st.dictionaries(st.sampled_from(["rel", "alpha", "dcg", "weights"]), VALUES),
    st.one_of(st.none(), st.integers(), st.floats(0, 1)),
)
def test_the_printed_form_is_parsed_to_an_equal_measure(name, params, cutoff):
    measure = Measure(name, tuple(sorted(params.items())), cutoff)
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize(
    "text", ["", "5", "@5", "nDCG@", "nDCG(5)@5", "nDCG(rel=)@5", "nDCG(rel=2", "nDCG(**{})@5", "nDCG@5@6", "nDCG(x=open('a'))"]
)  # fmt: skip
def test_what_is_no_measure(text):
    with pytest.raises(ParameterError):
        parse_measure(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P", "P needs a cutoff, for example P@10"),
        ("P@0", "cutoff must be an integer of at least 1 (got 0)"),
        ("P@5.5", "cutoff must be an integer of at least 1 (got 5.5)"),
        ("Rprec@5", "Rprec takes no cutoff"),
        ("P(alpha=0.5)@5", "P has no parameter 'alpha' (it has: rel, adhoc, judged_only)"),
        ("P(rel=0)@5", "'rel' must be an integer of at least 1 (got 0)"),
        ("P(rel=True)@5", "'rel' must be an integer of at least 1 (got True)"),
        ("alpha_nDCG(alpha=1)@5", "'alpha' must be in [0, 1) (got 1)"),
        ("alpha_nDCG(alpha='x')@5", "'alpha' must be in [0, 1) (got 'x')"),
        ("Cov(weights=vital)@5", "'weights' must be one of none, importance (got 'vital')"),
        ("nDCG(gains={1:-1})", "'gains' must be {grade: gain of at least 0}"),
        ("AP(judged_only=1)", "'judged_only' must be True or False (got 1)"),
    ],
)
def test_impossible_parameters_name_the_measure_and_the_rule(text, message):
    with pytest.raises(ParameterError) as error:
        bind(parse_measure(text))
    assert message in str(error.value)
    assert str(error.value).startswith(text.split("(")[0].split("@")[0])


def test_unknown_names_are_suggested():
    with pytest.raises(UnknownNameError, match=r"unknown measure 'aNDCG@5' \(did you mean 'nDCG' or "):
        bind(parse_measure("aNDCG@5"))


def test_trec_eval_names_keep_their_labels():
    found = expand_names("ndcg_cut.5,10 P_20 map recip_rank recall.1000 success")
    assert [m.notation for m in found] == [
        "nDCG@5", "nDCG@10", "P@20", "AP", "RR", "R@1000", "Success@1", "Success@5", "Success@10",
    ]  # fmt: skip
    assert [str(m) for m in found][:5] == ["ndcg_cut_5", "ndcg_cut_10", "P_20", "map", "recip_rank"]
    assert names("P") == [f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert names("P.7") == ["P@7"]
    with pytest.raises(ParameterError, match="trec_eval's map takes no cutoff"):
        expand_names("map.5")


@pytest.mark.parametrize("nickname", NICKNAMES)
def test_nicknames_name_measures_of_the_table(nickname):
    from nuggeteval.bridge import bind_theirs

    for measure in expand_names(nickname):
        assert bind(measure) if measure.name in TABLE else bind_theirs(measure, 1)


def test_aliases_and_trec_names_lead_into_the_table_or_to_ir_measures():
    import ir_measures

    assert set(ALIASES.values()) <= set(TABLE)
    for ours, _ in TREC_NAMES.values():
        assert ours in TABLE or ours in ir_measures.measures.registry


@pytest.mark.parametrize("name", TABLE)
def test_every_record_is_complete(name):
    record = record_of(name)
    assert record.definition.endswith(".")
    assert record.citation
    assert record.cutoff in ("required", "optional", "none")
    for param in record.params.values():
        assert param.default is None or param.check(param.default)
        assert param.meaning
        assert param.rule


def test_an_empty_list_is_an_error():
    with pytest.raises(ParameterError, match="empty list"):
        expand_names(" ,")
