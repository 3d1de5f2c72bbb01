"""The diversity measures beside pyndeval (ndeval 4.5), one alpha a call, on random tables."""

import math
from fractions import Fraction

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from nuggeteval import Inputs, NuggetQrels, Policies, Run, evaluate

pyndeval = pytest.importorskip("pyndeval")

CUTOFFS = (1, 2, 5, 20)
OURS = {
    **{f"alpha-nDCG@{k}": f"alpha_nDCG(alpha=ALPHA)@{k}" for k in CUTOFFS},
    **{f"strec@{k}": f"StRecall@{k}" for k in CUTOFFS},
    **{f"P-IA@{k}": f"P_IA@{k}" for k in CUTOFFS},
    **{f"ERR-IA@{k}": f"ERR_IA(alpha=ALPHA)@{k}" for k in CUTOFFS},
    **{f"nERR-IA@{k}": f"nERR_IA(alpha=ALPHA)@{k}" for k in CUTOFFS},
    "NRBP": "NRBP(alpha=ALPHA)",
    "nNRBP": "nNRBP(alpha=ALPHA)",
    "MAP-IA": "AP_IA",
}


def ours(judgments, run, measures):
    rows = [(t, n, u, grade) for (t, n, u), grade in judgments.items()]
    return evaluate(measures, Inputs(NuggetQrels.of(rows), [Run.of(run)]))


def theirs(judgments, run, alpha, rel):
    qrels = [pyndeval.SubtopicQrel(t, n, u, grade) for (t, n, u), grade in judgments.items()]
    evaluator = pyndeval.RelevanceEvaluator(qrels, list(OURS), relevance_level=rel, alpha=alpha)
    scored = [pyndeval.ScoredDoc(t, u, score) for t, units in run.items() for u, score in units.items()]
    return evaluator.evaluate(scored)


@settings(max_examples=200)
@given(data=tables(top=3), alpha=st.sampled_from([0.0, 0.25, 0.5, 0.75]), rel=st.sampled_from([1, 2]))
def test_agreement(data, alpha, rel):
    judgments, run = data
    names = {theirs: name.replace("ALPHA", str(alpha)) for theirs, name in OURS.items()}
    rows = [(t, n, u, grade) for (t, n, u), grade in judgments.items()]
    scores = evaluate(list(names.values()), Inputs(NuggetQrels.of(rows), [Run.of(run)]), Policies(rel=rel))
    assert scores.measures == tuple(names.values())
    for topic, values in theirs(judgments, run, alpha, rel).items():
        for measure, value in values.items():
            # Nothing to find: ndeval divides 0 by 0, we say 0.
            expected = 0.0 if math.isnan(value) else value
            found = scores.values[0, scores.topics.index(topic), scores.measures.index(names[measure])]
            assert found == pytest.approx(expected, abs=1e-6), (topic, measure)


@settings(max_examples=200)
@given(
    data=tables(topics=2, nuggets=6, units=10),
    alpha=st.sampled_from(["0.1", "0.3", "0.5", "0.7", "0.9", "0.95"]),
    cutoff=st.sampled_from([None, 1, 3, 21, 1000]),
)
def test_other_alphas_and_depths_equal_exact_arithmetic(data, alpha, cutoff):
    judgments, run = data
    measure = f"alpha_nDCG(alpha={alpha})" + (f"@{cutoff}" if cutoff else "")
    scores = ours(judgments, run, [measure])
    for topic in scores.topics:
        expected = naive.alpha_ndcg(judgments, run, topic, Fraction(alpha), cutoff)
        assert scores.values[0, scores.topics.index(topic), 0] == pytest.approx(expected, abs=1e-9), topic


@settings(max_examples=200)
@given(data=tables(top=2), cutoff=st.sampled_from([None, 1, 2, 4, 50]), rel=st.sampled_from([1, 2]))
def test_coverage_and_subtopic_recall_equal_the_naive_ones(data, cutoff, rel):
    judgments, run = data
    at = f"@{cutoff}" if cutoff else ""
    scores = ours(judgments, run, [f"Cov(rel={rel}){at}", f"StRecall(rel={rel}){at}"])
    for index, topic in enumerate(scores.topics):
        full = naive.coverage(judgments, run, topic, cutoff, rel)
        supported = naive.coverage(judgments, run, topic, cutoff, rel, supported_only=True)
        assert scores.values[0, index].tolist() == pytest.approx([full, supported], abs=1e-12)


@given(tables())
def test_alpha_0_is_plain_gain(data):
    judgments, run = data
    scores = ours(judgments, run, ["alpha_DCG(alpha=0)@5"])
    for index, topic in enumerate(scores.topics):
        counts = [len(naive.carried(judgments, topic, unit)) for unit in naive.ranking(run.get(topic, {}))]
        assert scores.values[0, index, 0] == pytest.approx(naive.discounted(counts, 5), abs=1e-12)


@given(data=tables(topics=2), alpha=st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_the_greedy_ideal_scores_1(data, alpha):
    judgments, _ = data
    run = {
        topic: {u: 1.0 / rank for rank, u in enumerate(naive.ideal(judgments, topic, Fraction(str(alpha))), start=1)}
        for topic in {t for t, _, _ in judgments}
    }
    measures = [f"{m}(alpha={alpha}){at}" for m in ("alpha_nDCG", "nERR_IA") for at in ("", "@1", "@3", "@50")]
    scores = ours(judgments, run, [*measures, f"nNRBP(alpha={alpha})"])
    for index, topic in enumerate(scores.topics):
        positive = any(grade >= 1 for (t, _, _), grade in judgments.items() if t == topic)
        assert scores.values[0, index] == pytest.approx(1.0 if positive else 0.0, abs=1e-12)


@given(tables())
def test_coverage_grows_with_depth(data):
    judgments, run = data
    scores = ours(judgments, run, [f"{m}@{k}" for m in ("Cov", "StRecall") for k in (1, 2, 3, 5, 8, 13)])
    for index in range(len(scores.topics)):
        for values in (scores.values[0, index, :6], scores.values[0, index, 6:]):
            assert (values[1:] >= values[:-1]).all()
            assert values[-1] <= 1.0


@given(data=tables(top=2), seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_topics_changes_nothing(data, seed):
    judgments, run = data
    measures = ["alpha_nDCG", "Cov@3", "AP", "nDCG@5", "NRBP", "AP_IA", "Recall_NtN"]
    before = ours(judgments, run, measures)
    rows = list(judgments.items())
    seed.shuffle(rows)
    topics = list(run)
    seed.shuffle(topics)
    shuffled = {}
    for topic in topics:
        units = list(run[topic].items())
        seed.shuffle(units)
        shuffled[topic] = dict(units)
    after = ours(dict(rows), shuffled, measures)
    assert before.topics == after.topics
    assert (before.values == after.values).all()
    assert (before.aggregates == after.aggregates).all()


@settings(max_examples=200)
@given(tables(topics=2, top=2))
def test_NtN_and_NtR_equal_equations_4_to_6(data):
    judgments, run = data
    rows = [(t, n, u, grade) for (t, n, u), grade in judgments.items()]
    inputs = Inputs(NuggetQrels.of(rows), [Run.of(run)])
    ntn = evaluate("Recall_NtN Precision_NtN F1_NtN", inputs)
    ntr = evaluate("Recall_NtR", inputs)
    sentences = evaluate("Precision_NtR", inputs)
    for index, topic in enumerate(ntn.topics):
        units = naive.ranking(run.get(topic, {}))
        recall = naive.nugget_recall(judgments, units, topic)
        precision = naive.nugget_precision(judgments, units, topic)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        assert ntn.values[0, index].tolist() == pytest.approx([recall, precision, f1], abs=1e-12)
        assert ntr.values[0, index, 0] == pytest.approx(recall, abs=1e-12)
        assert sentences.values[0, index, 0] == pytest.approx(precision, abs=1e-12)
