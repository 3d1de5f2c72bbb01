"""ir_measures both ways."""

import ir_measures
import pytest
from ir_measures import Qrel, ScoredDoc, alpha_nDCG, nDCG

from nuggeteval import (
    DataError,
    Inputs,
    MissingDependencyError,
    NuggetQrels,
    ParameterError,
    Run,
    UnknownNameError,
    evaluate,
    register,
)

ROWS = [("t1", "n1", "a", 1), ("t1", "n2", "a", 1), ("t1", "n1", "b", 1), ("t1", "n3", "c", 1), ("t2", "n1", "a", 0)]
RUN = {"t1": {"b": 3.0, "c": 2.0, "a": 1.0}, "t2": {"a": 1.0}}
QRELS = [Qrel(t, u, grade, n) for t, n, u, grade in ROWS]
DOCS = [ScoredDoc(t, u, score) for t, units in RUN.items() for u, score in units.items()]


@pytest.fixture
def registered():
    register()


def ours(measures, rows=ROWS, run=RUN):
    return evaluate(measures, Inputs(NuggetQrels.of(rows), [Run.of(run)]))


def test_their_measures_for_us():
    scores = ours(["Bpref", "SetP", "SetR", "SetF", "IPrec@0.5", "infAP", "SetP(rel=2)"])
    assert scores.value("run", "SetP") == 0.5  # all three relevant in t1, none in t2
    assert scores.value("run", "SetP(rel=2)") == 0.0
    assert scores.measures[4] == "IPrec@0.5"


def test_measure_objects_of_ir_measures_are_taken():
    scores = ours([alpha_nDCG(alpha=0.9) @ 5, nDCG @ 2, "Bpref"])
    assert scores.measures == ("alpha_nDCG(alpha=0.9)@5", "nDCG@2", "Bpref")


def test_their_measures_follow_our_ranking():
    rows = [("t", "0", "b", 1), ("t", "0", "a", 0)]
    # Scores that one float32 cannot tell apart, and a tie: the larger id is first.
    for run in ({"b": 0.123456789, "a": 0.123456788}, {"b": 1.0, "a": 1.0}):
        scores = ours(["Bpref", "IPrec@1.0"], rows, {"t": run})
        assert scores.values.ravel().tolist() == [1.0, 1.0]


def test_their_measures_on_cut_and_judged_rankings():
    from nuggeteval import Policies

    rows = [("t", "0", "a", 1), ("t", "0", "b", 0)]
    inputs = Inputs(NuggetQrels.of(rows), [Run.of({"t": {"x": 3.0, "b": 2.0, "a": 1.0}})])
    assert evaluate("SetP", inputs).value("run", "SetP") == pytest.approx(1 / 3)
    assert evaluate("SetP", inputs, Policies(judged_only=True)).value("run", "SetP") == 1 / 2
    assert evaluate("SetP", inputs, Policies(depth=2)).value("run", "SetP") == 0.0


def test_what_ir_measures_cannot_do_is_said():
    with pytest.raises(UnknownNameError, match=r"unknown measure 'Bprefs' \(did you mean 'Bpref'"):
        ours(["Bprefs"])
    with pytest.raises(MissingDependencyError, match=r"RBP needs another package: .*pip install"):
        ours(["RBP"])
    with pytest.raises(ParameterError, match="BPM@10: max_rel must be given"):
        ours(["BPM@10"])
    with pytest.raises(ParameterError, match="Bpref@10"):
        ours(["Bpref@10"])
    with pytest.raises(ParameterError, match="unsupported params"):
        ours(["Bpref(alpha=1)"])
    with pytest.raises(ParameterError, match="cutoff must be at least 1"):
        ours(["ERR@0"])


def test_our_measures_for_them(registered):
    from ir_measures import Cov, Recall_NtN

    found = ir_measures.calc_aggregate([alpha_nDCG @ 30, Cov @ 10, Recall_NtN], QRELS, DOCS)
    assert found[alpha_nDCG @ 30] == pytest.approx(0.826445 / 2, abs=1e-6)
    assert found[Cov @ 10] == 0.5
    assert found[Recall_NtN] == 0.5
    rows = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([Cov @ 1, nDCG @ 5], QRELS, DOCS)}
    assert rows["t1", "Cov@1"] == pytest.approx(1 / 3)


def test_registering_twice_changes_nothing(registered):
    before = list(ir_measures.DefaultPipeline.providers)
    register()
    assert ir_measures.DefaultPipeline.providers == before
    names = [provider.NAME for provider in before]
    assert names.index("nuggeteval") == names.index("pyndeval") - 1


def test_what_ir_measures_gets_wrong_on_its_own_is_right(registered):
    """Measured faults of 0.4.3: two parameterisations, interleaved topics, cutoffs, duplicates."""
    half, most = alpha_nDCG @ 5, alpha_nDCG(alpha=0.9) @ 5
    found = ir_measures.calc_aggregate([half, most], QRELS, DOCS)
    assert found[half] == pytest.approx(0.826445 / 2, abs=1e-6)
    assert found[most] == pytest.approx(0.813498 / 2, abs=1e-6)
    interleaved = [DOCS[0], DOCS[3], DOCS[1], DOCS[2]]
    assert ir_measures.calc_aggregate([half], QRELS, interleaved) == ir_measures.calc_aggregate([half], QRELS, DOCS)
    assert ir_measures.calc_aggregate([alpha_nDCG(judged_only=True) @ 5], QRELS, DOCS)
    with pytest.raises(DataError, match="duplicate unit 'b'"):
        ir_measures.calc_aggregate([half], QRELS, [*DOCS, DOCS[0]])


def test_parse_measure_knows_our_names(registered):
    assert ir_measures.parse_measure("Cov@10") == ir_measures.Cov @ 10


def test_parameters_that_we_refuse_are_left_to_the_next_provider(registered):
    """pyndeval takes alpha = 1, which our table does not; no call that worked before stops working."""
    assert ir_measures.calc_aggregate([alpha_nDCG(alpha=1.0) @ 5], QRELS, DOCS)[alpha_nDCG(alpha=1.0) @ 5] > 0
    with pytest.raises(ParameterError, match="'rel' must be an integer of at least 1"):
        ir_measures.calc_aggregate([ir_measures.Cov(rel=0) @ 5], QRELS, DOCS)


def test_no_pooled_means_through_ir_measures(registered):
    with pytest.raises((AssertionError, KeyError), match="avg"):
        ir_measures.calc_aggregate([ir_measures.Recall_NtR(avg="micro")], QRELS, DOCS)
    assert not hasattr(ir_measures, "num_undefined")


def test_bad_rows_and_scores_are_errors_here_too(registered):
    with pytest.raises(DataError, match="integer for the grade"):
        ir_measures.calc_aggregate([ir_measures.Cov @ 5], [Qrel("t1", "a", 0.7, "n1")], DOCS)
    with pytest.raises(DataError, match="must be a finite number"):
        ir_measures.calc_aggregate([ir_measures.Cov @ 5], QRELS, [ScoredDoc("t1", "a", float("nan"))])


def test_undefined_values_are_left_out_of_their_means(registered):
    bank_free = [Qrel("t1", "r", 1, "g1"), Qrel("t2", "r", 1, "g1")]
    skip = ir_measures.Precision_NtN(precision_undefined="skip")
    assert ir_measures.calc_aggregate([skip], bank_free, [ScoredDoc("t1", "r", 1.0)])[skip] == 1.0


def test_other_shapes_of_runs_and_qrels(registered):
    run = {"t1": {"b": 3.0, "c": 2.0, "a": 1.0}, "t2": {"a": 1.0}}
    flat = {"t1": {"a": 1, "b": 1, "c": 1}, "t2": {"a": 0}}
    assert ir_measures.calc_aggregate([ir_measures.Cov @ 1], flat, run)[ir_measures.Cov @ 1] == 0.5
    text = "t1 n1 a 1\nt1 n2 a 1\nt1 n1 b 1\nt1 n3 c 1\nt2 n1 a 0\n"
    ranked = "t1 Q0 b 1 3 x\nt1 Q0 c 2 2 x\nt1 Q0 a 3 1 x\nt2 Q0 a 1 1 x\n"
    found = ir_measures.calc_aggregate(
        [ir_measures.Cov @ 1], ir_measures.read_trec_qrels(text), ir_measures.read_trec_run(ranked)
    )
    assert found[ir_measures.Cov @ 1] == pytest.approx(1 / 6)
