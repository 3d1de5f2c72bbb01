"""The ad hoc measures beside pytrec_eval (trec_eval 9.0.8), on random tables with distinct scores."""

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from nuggeteval import Inputs, NuggetQrels, Policies, Run, evaluate

OURS = {
    "map": "AP",
    "map_cut_5": "AP@5",
    "Rprec": "Rprec",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "P_1": "P@1",
    "P_5": "P@5",
    "recall_5": "R@5",
    "recall_1000": "R@1000",
    "ndcg_cut_1": "nDCG@1",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_10": "nDCG@10",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "bpref": "Bpref",
    "set_P": "SetP",
    "set_recall": "SetR",
    "infAP": "infAP",
}
ASKED = {
    "map", "map_cut.5", "Rprec", "recip_rank", "ndcg", "P.1,5", "recall.5,1000", "ndcg_cut.1,5,10", "success.1,5",
    "num_ret", "num_rel", "num_rel_ret", "bpref", "set_P", "set_recall", "infAP",
}  # fmt: skip


@settings(max_examples=200)
@given(data=tables(nuggets=1, top=3), rel=st.sampled_from([1, 2]))
def test_agreement(data, rel):
    judgments, run = data
    # trec_eval 9.0.8's nDCG can loop for ever on a topic whose grades are all below 0: none here.
    judgments = {key: max(grade, 0) for key, grade in judgments.items()}
    qrels = {}
    for (topic, _, unit), grade in judgments.items():
        qrels.setdefault(topic, {})[unit] = grade
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=rel).evaluate(run)
    rows = [(t, "0", u, grade) for t, grades in qrels.items() for u, grade in grades.items()]
    scores = evaluate(list(OURS.values()), Inputs(NuggetQrels.of(rows), [Run.of(run)]), Policies(rel=rel))
    for topic, values in theirs.items():
        for measure, name in OURS.items():
            if measure == "num_rel" and rel > 1:
                continue  # pytrec_eval counts num_rel at 1 whatever the level
            found = scores.values[0, scores.topics.index(topic), scores.measures.index(name)]
            assert found == pytest.approx(values[measure], abs=1e-9), (topic, measure)


@settings(max_examples=100)
@given(tables(nuggets=4, top=3))
def test_the_grade_of_a_unit_is_the_largest_of_its_nuggets(data):
    judgments, run = data
    best = {}
    for (topic, _, unit), grade in judgments.items():
        best[topic, unit] = max(grade, best.get((topic, unit), -9))
    rows = [(t, n, u, grade) for (t, n, u), grade in judgments.items()]
    flat = [(t, "0", u, grade) for (t, u), grade in best.items()]
    measures = ["nDCG@5", "P@5", "AP", "RR", "Judged@5", "NumRel"]
    nuggets, plain = (evaluate(measures, Inputs(NuggetQrels.of(table), [Run.of(run)])) for table in (rows, flat))
    assert (nuggets.values == plain.values).all()
