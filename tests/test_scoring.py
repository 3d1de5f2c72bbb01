"""Policies, notes and signature: which topics, which order, what is said about it."""

from dataclasses import replace

import numpy as np
import pytest

from nuggeteval import (
    DataError,
    FormatError,
    Inputs,
    Nugget,
    NuggetBank,
    NuggetQrels,
    ParameterError,
    Policies,
    Run,
    UnknownNameError,
    evaluate,
    read_scores,
    write_scores,
)
from nuggeteval.formats.scores import as_score_lines
from nuggeteval.reports import render

QRELS = NuggetQrels.of([("t1", "n1", "a", 1), ("t2", "n1", "b", 1), ("t2", "n2", "c", 1), ("t10", "n1", "d", 1)])
RUN = Run.of({"t2": {"b": 2.0, "c": 1.0}, "t1": {"x": 2.0, "a": 1.0}, "zz": {"a": 1.0}}, "mine")


def score(measures="RR", policies=None, run=RUN, bank=None):
    return evaluate(measures, Inputs(QRELS, [run], bank), policies)


def test_topics_are_in_the_order_of_their_bytes():
    assert score().topics == ("t1", "t10", "t2")


@pytest.mark.parametrize(
    ("topics", "mean", "number"),
    [(None, (0.5 + 1 + 0) / 3, 3), ("qrels", 0.5, 3), ("run", (0.5 + 1) / 2, 2), (["t1", "t10", "no"], 0.25, 2)],
)
def test_which_topics_are_averaged(topics, mean, number):
    scores = score("RR num_q", Policies(topics=topics))
    assert scores.value("mine", "RR") == pytest.approx(mean)
    assert scores.value("mine", "num_q") == number


def test_bank_topics_are_averaged_unless_units_are_documents():
    nuggets = (Nugget("n1", "one"), Nugget("n2", "two"))
    bank = NuggetBank("bank", {"t1": nuggets, "t2": nuggets, "only": nuggets, "none": ()})
    documents = score("Cov num_q", bank=bank)
    assert documents.topics == ("t1", "t10", "t2")
    assert documents.value("mine", "num_q") == 3
    answers = score("Recall_NtR num_q", bank=bank)
    assert answers.topics == ("only", "t1", "t2")
    assert answers.value("mine", "Recall_NtR", "only") == 0.0
    assert answers.value("mine", "Recall_NtR") == pytest.approx((0 + 1 / 2 + 2 / 2) / 3)
    assert score("Cov num_q", Policies(topics="bank"), bank=bank).topics == ("only", "t1", "t2")
    assert "topics of bank that qrels does not judge: only" in documents.notes
    assert "topics without a nugget in bank: t10" in documents.notes
    with pytest.raises(ParameterError, match="there is no bank"):
        score("Cov", Policies(topics="bank"))


def test_notes_say_what_was_left_out():
    notes = score(policies=Policies(topics=["t1", "t10", "no"])).notes
    assert "mine: 1 of 2 topics have no line and count 0: t10" in notes
    assert "mine: 1 topics are not in the qrels, ignored: zz" in notes
    assert "listed topics that are not in qrels: no" in notes
    with pytest.raises(DataError, match="none of the 1 listed topics is in qrels"):
        score(policies=Policies(topics=["no"]))


def test_one_signature_for_every_result():
    scores = score(
        "RR",
        Policies(order="rank"),
        run=RUN.__class__(RUN.name, RUN.topics, RUN.topic, RUN.units, RUN.scores, RUN.topic + 1),
    )
    assert scores.signature == (
        "nuggeteval 0.1.0|topics 3|missing 1|undefined 0|failed 0|rel 1|ties docid-desc|order rank"
    )
    assert "|topics listed" in score("RR", Policies(topics=["t1"])).signature


def test_order_by_the_rank_column():
    ranked = Run(RUN.name, ("t1",), RUN.topic[:2] * 0, RUN.units.take(slice(2, 4)), RUN.scores[2:4], np.array([2, 1]))
    assert score("RR", run=ranked).value("mine", "RR", "t1") == 1 / 2
    assert score("RR", Policies(order="rank"), run=ranked).value("mine", "RR", "t1") == 1.0
    with pytest.raises(DataError, match="cannot be ordered by its rank column"):
        score("RR", Policies(order="rank"))


def test_depth_cuts_every_ranking():
    assert score("RR NumRet", Policies(depth=1)).aggregates[0].tolist() == [1 / 3, 2]
    assert any("its ideal ranking is not cut" in note for note in score("nDCG", Policies(depth=1)).notes)
    for bad in (0, -3):
        with pytest.raises(ParameterError, match=f"depth must be an integer of at least 1 \\(got {bad}\\)"):
            Policies(depth=bad)


@pytest.mark.parametrize(
    ("field", "bad"),
    [("topics", "all"), ("undefined", "nan"), ("rel", 0), ("adhoc", "min"), ("order", "tag"), ("view", "passages")],
)
def test_impossible_policies(field, bad):
    with pytest.raises(ParameterError, match=f"{field} must be"):
        Policies(**{field: bad})


def test_views():
    assert score("Recall_NtN P@1").value("mine", "Recall_NtN", "t1") == 1.0
    with pytest.raises(DataError, match=r"Recall_NtN takes nuggets, Recall_NtR takes responses"):
        score("Recall_NtN Recall_NtR")
    with pytest.raises(DataError, match=r"Recall_NtR takes units of view responses, not nuggets"):
        score("Recall_NtR", Policies(view="nuggets"))


def test_a_faint_threshold_is_named():
    qrels = NuggetQrels.of([("t", "n", "a", 5), ("t", "m", "b", 1)])
    run = Run.of({"t": {"a": 1.0}})
    said = [note for note in evaluate("Cov", Inputs(qrels, [run])).notes if "the faintest support counts" in note]
    assert len(said) == 1
    assert not evaluate("Cov", Inputs(qrels, [run]), Policies(rel=3)).notes


def test_ordinary_qrels_under_nugget_measures_are_named():
    run = Run.of({"t": {"a": 1.0}})
    notes = evaluate("alpha_nDCG@5", Inputs(NuggetQrels.of([("t", "0", "a", 1)]), [run])).notes
    assert notes == ("qrels: every topic has one nugget at most: are these nugget qrels?",)


def test_runs_of_one_name_are_told_apart():
    scores = evaluate("RR", Inputs(QRELS, [RUN, RUN, RUN]))
    assert scores.runs == ("mine", "mine-2", "mine-3")
    assert "|runs 3|" in f"|{scores.signature}"


def test_nothing_is_computed_before_every_measure_is_bound():
    def runs():
        pytest.fail("a run was read")
        yield

    with pytest.raises(UnknownNameError, match="unknown measure 'nope'"):
        evaluate("RR nope", Inputs(QRELS, runs()))
    with pytest.raises(DataError, match="no run to score"):
        evaluate("RR", Inputs(QRELS, []))


def test_several_parameterisations_are_independent():
    together = score(
        "alpha_nDCG@5 alpha_nDCG(alpha=0.9)@5 alpha_nDCG(rel=2)@5 nDCG@5 nDCG(gains={1:5})@5 Bpref Bpref(rel=2)"
    )
    for measure in together.measures:
        assert score([measure]).value("mine", measure) == together.value("mine", measure)


def test_progress_is_told_of_every_run():
    seen = []
    evaluate("RR", Inputs(QRELS, [RUN, RUN]), progress=lambda run: seen.append(run.name))
    assert seen == ["mine", "mine"]


def test_failed_judgments_are_counted():
    scores = evaluate("num_failed", Inputs(replace(QRELS, failed=np.array([2, 0, 1])), [RUN]))
    assert scores.value("mine", "num_failed") == 3
    assert "|failed 3|" in scores.signature


# --- layouts -------------------------------------------------------------------------------------


@pytest.fixture
def scores():
    bank = NuggetBank("bank", {"t1": (Nugget("n1", "one", "vital"),), "t2": (Nugget("n1", "one", "okay"),)})
    return evaluate("num_q V Recall_NtR", Inputs(QRELS, [RUN, Run.of({"t1": {"a": 1.0}}, "other")], bank))


def lines(scores, layout, **options):
    return "".join(as_score_lines(scores, layout, **options)).splitlines()


def test_trec_eval_layout():
    one = score("num_q RR")
    assert lines(one, "trec_eval", by_topic=True) == [
        "num_q                 \tt1\t1",
        "RR                    \tt1\t0.5000",
        "num_q                 \tt10\t1",
        "RR                    \tt10\t0.0000",
        "num_q                 \tt2\t1",
        "RR                    \tt2\t1.0000",
        "num_q                 \tall\t3",
        "RR                    \tall\t0.5000",
    ]
    assert lines(one, "trec_eval", by_topic=True, summary=False)[-1] == "RR                    \tt2\t1.0000"


def test_four_column_layouts_leave_undefined_values_out(scores):
    assert lines(scores, "ir_measures", by_topic=True, places=2)[:5] == [
        "mine\tt1\tnum_q\t1", "mine\tt1\tV\t0.50", "mine\tt1\tRecall_NtR\t1.00",
        "mine\tt2\tnum_q\t1", "mine\tt2\tRecall_NtR\t1.00",
    ]  # fmt: skip
    assert lines(scores, "tot")[:3] == ["mine\tnum_q\tall\t2", "mine\tV\tall\t0.5000", "mine\tRecall_NtR\tall\t1.0000"]


def test_exact_layouts_say_undefined(scores):
    assert "mine\tt2\tV\tundefined" in lines(scores, "tsv", by_topic=True)
    assert '{"run_id": "mine", "topic_id": "t2", "measure": "V", "value": null}' in lines(
        scores, "jsonl", by_topic=True
    )
    assert '"signature": "nuggeteval' in lines(scores, "jsonl")[0]
    with pytest.raises(UnknownNameError, match="unknown layout 'csv'"):
        lines(scores, "csv")


@pytest.mark.parametrize("layout", ["tsv", "jsonl"])
def test_exact_layouts_are_read_back_as_they_were(scores, layout, tmp_path):
    path = str(tmp_path / "scores")
    write_scores(scores, path, layout)
    again = read_scores(path)
    assert (again.runs, again.topics, again.measures) == (scores.runs, scores.topics, scores.measures)
    assert (again.present == scores.present).all()
    assert str(again.values.tolist()) == str(scores.values.tolist())
    assert str(again.aggregates.tolist()) == str(scores.aggregates.tolist())


@pytest.mark.parametrize("layout", ["tot", "ir_measures"])
def test_four_columns_are_told_apart_by_their_all_rows(scores, layout, tmp_path):
    path = str(tmp_path / "scores")
    write_scores(scores, path, layout)
    again = read_scores(path)
    assert (again.runs, again.topics) == (scores.runs, scores.topics)
    assert again.value("mine", "V") == 0.5


def test_three_columns_are_named_for_their_file(tmp_path, write):
    write_scores(score("num_q RR"), str(tmp_path / "sys.eval"), "trec_eval")
    again = read_scores(str(tmp_path / "sys.eval"))
    assert again.runs == ("sys",)
    assert again.value("sys", "RR") == 0.5
    assert again.value("sys", "num_q") == 3
    assert read_scores(write("x.eval", "runid all tag\nmap t1 0.5\nmap all 0.9\n")).value("x", "map") == 0.5


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a b c 1\n", None, "four columns in an unknown order"),
        ("a t1 m 1\na t1 m 2\na all m 1\n", 2, "second value for run 'a', topic 't1', m"),
        ("m t1 high\n", 1, "value must be a finite number or 'undefined' (got 'high')"),
        ("m t1 nan\n", 1, "value must be a finite number"),
        ("m t1 1\nm t1\n", 2, "expected 3 or 4 columns throughout, found 2"),
        ("a b\n", 1, "expected 3 or 4 columns"),
        ("m all 1\n", None, "no score of any topic"),
        ("", None, "no score of any topic"),
        ('{"run_id": "r"}\n', 1, "no key 'topic_id'"),
        (
            '{"run_id": "r", "topic_id": "t", "measure": "m", "value": "x"}\n',
            1,
            "value must be a finite number or null",
        ),
    ],
)
def test_files_that_hold_no_scores(text, line, message, write):
    with pytest.raises(FormatError) as error:
        read_scores(write("scores", text))
    assert error.value.line == line
    assert message in str(error.value)


def test_known_topics_tell_the_columns_apart(write):
    assert read_scores(write("scores", "t1 a m 1\n"), topics=["t1"]).runs == ("a",)


def test_tables(scores):
    markdown = render(scores, "markdown").splitlines()
    assert markdown[0].replace(" ", "") == "|run|num_q|V|Recall_NtR|"
    assert markdown[2].replace(" ", "") == "|mine|2|0.5000|1.0000|"
    assert scores.signature in render(scores, "text")
    assert "undefined" in render(scores, "text", by_topic=True)
    assert r"Recall\_NtR" in render(scores, "latex")
    assert "<table>" in render(scores, "html")
    with pytest.raises(UnknownNameError, match="unknown renderer 'pdf'"):
        render(scores, "pdf")


def test_a_bar_in_a_name_does_not_break_markdown():
    scores = evaluate("RR", Inputs(QRELS, [Run.of({"t1": {"a": 1.0}}, "a|b")]))
    assert r"a\|b" in render(scores, "markdown")


# --- what reviews found --------------------------------------------------------------------------


def test_a_run_that_shares_no_unit_is_named():
    scores = score("RR", run=Run.of({"t1": {"other": 1.0}}, "alien"))
    assert "alien: no unit is judged: units of the run are like 'other', units of the qrels like 'a'" in scores.notes


def test_topics_of_the_run_are_counted_in_the_signature():
    assert "|topics 2|missing 0|" in score("RR", Policies(topics="run")).signature
    assert (
        "mine: 1 topics of the qrels have no line and are in no mean (--topics run)"
        in score("RR", Policies(topics="run")).notes
    )
    both = evaluate("RR", Inputs(QRELS, [RUN, Run.of({"t1": {"a": 1.0}}, "one")]), Policies(topics="run"))
    assert "|topics 1-2|" in both.signature


def test_a_bank_decides_which_topics_of_a_run_of_answers_count():
    bank = NuggetBank("bank", {"t1": (Nugget("n1", "one"),), "only": (Nugget("m1", "two"),)})
    run = Run.of({"t1": {"a": 1.0}, "only": {"x": 1.0}}, "mine")
    assert score("Recall_NtR", Policies(topics="run"), run, bank).value("mine", "Recall_NtR") == 1 / 2


def test_an_explicit_least_grade_goes_before_a_measures_own():
    qrels = NuggetQrels.of([("t", "n", "r", 3), ("t", "m", "r", 4)])
    inputs = Inputs(qrels, Run.of({"t": {"r": 1.0}}))
    assert evaluate("nugget_coverage", inputs).value("run", "nugget_coverage") == 1 / 2
    assert evaluate("nugget_coverage", inputs, Policies(rel=3)).value("run", "nugget_coverage") == 1.0
    assert evaluate("nugget_coverage(rel=4)", inputs, Policies(rel=3)).aggregates[0, 0] == 1 / 2
    assert evaluate("NumRet", inputs, Policies(rel=4)).aggregates[0, 0] == 1


def test_a_threshold_that_no_grade_reaches_is_named():
    assert "AP: no grade of qrels reaches 3; they go up to 1" in score("AP", Policies(rel=3)).notes
    assert not any("reaches" in note for note in score("nDCG", Policies(rel=3)).notes)


def test_cutting_comes_before_leaving_out_unjudged_units_for_every_measure():
    qrels = NuggetQrels.of([("t", "n1", "d1", 1), ("t", "n2", "d2", 1), ("t", "n2", "d3", 0)])
    run = Run.of({"t": {"x": 9.0, "d1": 8.0, "y": 7.0, "d2": 6.0}})
    scores = evaluate("R@2 SetR", Inputs(qrels, [run]), Policies(depth=2, judged_only=True))
    assert scores.aggregates[0].tolist() == [0.5, 0.5]


def test_pooled_precision_counts_the_units_that_are_looked_at():
    qrels = NuggetQrels.of([("t", "n1", "u1", 1), ("t", "n2", "u2", 0), ("v", "n1", "v1", 1)])
    run = Run.of({"t": {"u1": 4.0, "u2": 3.0, "x": 2.0, "y": 1.0}, "v": {"v1": 1.0}})
    measure = "Precision_NtN(avg=micro)"
    assert evaluate(measure, Inputs(qrels, [run]), Policies(judged_only=True)).aggregates[0, 0] == pytest.approx(2 / 3)
    assert evaluate(measure, Inputs(qrels, [run])).aggregates[0, 0] == pytest.approx(2 / 5)
    nobody = evaluate(measure, Inputs(qrels, [Run.of({"v": {"v1": 1.0}})]), Policies(topics=["t"]))
    assert nobody.aggregates[0, 0] == 0.0


def test_counts_of_nuggets_are_relevant_from_1_for_every_measure():
    qrels = NuggetQrels.of([("t", "n1", "d1", 2), ("t", "n2", "d2", 1), ("t", "n3", "d2", 1)])
    run = Run.of({"t": {"d1": 2.0, "d2": 1.0}})
    scores = evaluate("R SetR", Inputs(qrels, [run]), Policies(adhoc="count", rel=2))
    assert scores.aggregates[0].tolist() == [1.0, 1.0]


def test_missing_topics_are_missing_whatever_is_judged():
    qrels = NuggetQrels.of([("t", "n", "a", 1), ("u", "n", "b", 1)])
    run = Run.of({"t": {"a": 1.0}, "u": {"x": 1.0}})
    scores = evaluate("num_missing", Inputs(qrels, [run]), Policies(judged_only=True))
    assert scores.aggregates[0, 0] == 0
    assert "|missing 0|" in scores.signature


def test_undefined_topics_are_counted_before_they_are_filled():
    bank = NuggetBank("bank", {"t1": (Nugget("n1", "one"),), "t2": ()})
    for undefined in ("skip", "zero"):
        scores = score("Cov StRecall num_undefined", Policies(undefined=undefined, topics="qrels"), bank=bank)
        assert scores.value("mine", "num_undefined") == 2
        assert "|undefined 2|" in scores.signature


def test_runs_without_records():
    scores = score("P@1 num_missing", run=Run.of({"t1": {}}))
    assert scores.aggregates[0].tolist() == [0.0, 3]


def test_a_run_that_shares_only_a_topic_of_the_bank_has_nothing_in_common():
    bank = NuggetBank("bank", {"t1": (Nugget("n1", "one"),), "only": (Nugget("m1", "two"),)})
    with pytest.raises(DataError, match="mine and qrels have no topic in common: topics of the run are 'only'"):
        score("Cov", run=Run.of({"only": {"x": 1.0}}, "mine"), bank=bank)


def test_a_repeated_tag_is_named():
    notes = evaluate("RR", Inputs(QRELS, [RUN, RUN])).notes
    assert "a run has the tag mine of an earlier run; it is shown as mine-2" in notes


def test_ties_and_contradictions_outside_the_qrels_are_nobodys_business():
    tied = Run.of({"t1": {"a": 1.0, "b": 1.0}, "t2": {"b": 2.0, "c": 2.0, "x": 1.0}, "zz": {"p": 1.0, "q": 1.0}}, "x")
    notes = " ".join(score("RR", run=tied).notes)
    assert "all scores are tied in t1;" in notes
    assert "x: 2 groups of tied scores hold judged units" in notes


def test_disagreements_with_ties_in_the_rank_column_are_seen():
    run = Run(
        "x",
        ("t1",),
        np.zeros(3, dtype=np.int64),
        RUN.units.take(slice(0, 3)),
        np.array([0.5, 0.4, 0.9]),
        np.array([1, 2, 2]),
    )
    assert run.rank_disagreements() == ("t1",)


def test_small_weights_are_weights():
    rows = [("t", n, "a", 1) for n in ("n1", "n2", "n3")] + [("t", "n1", "b", 1), ("t", "n1", "c", 1)]
    bank = NuggetBank("bank", {"t": tuple(Nugget(n, n, None, 1e-10) for n in ("n1", "n2", "n3"))})
    scores = evaluate(
        "alpha_nDCG(weights=importance)@2", Inputs(NuggetQrels.of(rows), [Run.of({"t": {"a": 2.0, "b": 1.0}})], bank)
    )
    assert scores.aggregates[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate([], Inputs(QRELS, [RUN])), "no measure to compute"),
        (lambda: evaluate("RR", QRELS), "inputs must be Inputs"),
        (lambda: Inputs("q.qrels", [RUN]), "qrels must be a NuggetQrels, as read_qrels gives"),
        (lambda: Inputs(QRELS, 5), "runs must be runs, as read_run gives"),
        (lambda: evaluate("RR", Inputs(QRELS, ["a.run"])), "runs must be runs, as read_run gives"),
        (lambda: Inputs(QRELS, [RUN], "bank"), "bank must be a NuggetBank, as read_bank gives"),
        (lambda: Policies(rel=1.5), "rel must be an integer of at least 1"),
        (lambda: Policies(depth="3"), "depth must be an integer of at least 1"),
        (lambda: Run.of({1: {2: 1.0}}), "ids must be strings"),
        (lambda: NuggetQrels.of([("t", "n", "d")]), "a row must be"),
        (lambda: NuggetQrels.of([("t", "n", "d", 0.9)]), "a row must be"),
        (lambda: Run.of({"t": {"a": float("inf")}}), "must be a finite number"),
    ],
)
def test_likely_mistakes_in_python_say_what_is_wanted(call, message):
    with pytest.raises((ParameterError, DataError), match=message):
        call()


def test_one_run_needs_no_list_and_values_are_found_by_measure():
    from ir_measures import RR, nDCG

    scores = evaluate(RR, Inputs(QRELS, RUN))
    assert scores.value("mine", RR) == scores.value("mine", "RR")
    assert "Scores(1 runs" in repr(scores)
    assert "RUN" not in repr(RUN)
    assert "NuggetQrels('qrels', 3 topics" in repr(QRELS)
    assert evaluate(nDCG @ 5, Inputs(QRELS, RUN)).measures == ("nDCG@5",)


def test_pooled_values_have_no_aggregate_when_read_back(tmp_path):
    path = str(tmp_path / "scores")
    write_scores(score("Recall_NtR(avg=micro)"), path)
    again = read_scores(path)
    assert again.value("mine", "Recall_NtR(avg='micro')") is None
    assert again.value("mine", "Recall_NtR(avg='micro')", "t1") == 1.0
