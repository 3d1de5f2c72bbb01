"""Two runs in detail, and the place of a new run."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT

from nuggeteval import DataError, ParameterError
from nuggeteval.boards import read_board
from nuggeteval.data import Leaderboard
from nuggeteval.reports.comparison import build_comparison
from nuggeteval.reports.standing import Place, column_for, standings

DEMO = ("--rel", "3", "--bank", ROOT / "qrels/demo.bank.jsonl", ROOT / "qrels/demo.qrels")
TFIDF, KEYWORD = ROOT / "runs/demo-tfidf.run", ROOT / "runs/demo-keyword.run"


@pytest.fixture
def two(write):
    rows = "a t1 M .9\na t2 M .1\na t3 M .5\nb t1 M .5\nb t2 M .2\nb t3 M .5\nb t4 M 1\na all M 0\n"
    return write("two", rows)


def test_wins_losses_and_biggest_differences(two):
    found = build_comparison(read_board(two))
    (contest,) = found.contests
    assert contest[2:5] == (1, 1, 1)
    assert contest.paired.number == 3
    assert contest.paired.difference == pytest.approx(0.1)
    # differences .4, -.1, 0: mean .1, standard deviation sqrt((.09 + .04 + .01) / 2) = .264575; d_z = .377964
    assert contest.paired.effect == pytest.approx(0.1 / 0.07**0.5)
    assert [(topic, a, b) for topic, a, b in contest.gaps] == [("t1", 0.9, 0.5), ("t2", 0.1, 0.2)]
    assert contest.means == (pytest.approx(0.5), pytest.approx(0.4))


def test_measures_are_corrected_together(cli, write):
    rows = "".join(
        f"{run} t{t} {m} {v}\n"
        for m in "MN"
        for t in range(5)
        for run, v in (("a", 0.5 + 0.1 * t), ("b", 0.1 * t * t / 4))
    )
    path = write("two", rows + "a all M 0\n")
    plain, holm = (
        [json.loads(line) for line in cli("compare", path, "--correction", c, "--format", "jsonl").out.splitlines()]
        for c in ("none", "holm")
    )
    assert holm[0]["p"] == pytest.approx(2 * plain[0]["p"])
    assert holm[0]["test"] == "paired t test, Holm over 2 measures"


def test_nuggets_that_only_one_run_has(cli):
    result = cli("compare", "-m", "Cov@3", "--at", "3", "--format", "jsonl", *DEMO, TFIDF, KEYWORD)
    only = [json.loads(line)["only"] for line in result.out.splitlines()[1:]]
    assert {o["run"] for o in only} == {"demo-tfidf"}
    # by hand from the qrels: the first three documents of each run, and the nuggets of grade 3 or more in them
    rows = [line.split() for line in (ROOT / "qrels/demo.qrels").read_text().splitlines()]
    carries = {}
    for topic, nugget, document, grade in rows:
        if int(grade) >= 3:
            carries.setdefault(document, set()).add((topic, nugget))
    shown = []
    for path in (TFIDF, KEYWORD):
        top = {}
        for line in path.read_text().splitlines():
            topic, _, document, _, score, _ = line.split()
            top.setdefault(topic, []).append((-float(score), tuple(-b for b in document.encode()), document))
        shown.append(set().union(*(carries.get(d, set()) for docs in top.values() for *_, d in sorted(docs)[:3])))
    assert {(o["topic"], o["nugget"]) for o in only} == shown[0] - shown[1]
    assert not shown[1] - shown[0]
    text = cli("compare", "-m", "Cov@3", "--at", "3", *DEMO, TFIDF, KEYWORD).out
    assert f"{len(only)} nuggets that demo-tfidf has in the first 3 ranks and demo-keyword lacks" in text
    assert re.search(rf"^both have +{len(shown[0] & shown[1])}$", text, re.MULTILINE)
    assert "Gluten forms a stretchy network" in text


def test_answers_are_compared_from_judgments(cli, tmp_path):
    bank = ROOT / "qrels/demo.bank.jsonl"
    answers = [ROOT / f"runs/answers-{name}.jsonl" for name in ("good", "terse")]
    assert cli("judge", bank, *answers, "--view", "sentences", "-o", tmp_path / "j.jsonl").code == 0
    options = ("--judgments", tmp_path / "j.jsonl", "--bank", bank, "-m", "Precision_NtR")
    result = cli("compare", *options, *answers)
    assert result.code == 0, result.err
    assert "good against terse" in result.out
    assert re.search(r"\d+ nuggets that good has and terse lacks", result.out)
    assert "good/s" in result.out


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_format(form, cli):
    result = cli("compare", "--format", form, "-m", "Cov@3", *DEMO, TFIDF, KEYWORD)
    assert result.code == 0
    assert "0.6310" in result.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["published:ikat2024"], 1, "aggregates only"),
        ([*DEMO, TFIDF], 2, "two runs are compared (got 1)"),
        ([ROOT / "reports/per-topic.tsv"], 1, "two runs are compared (got 4: demo-ideal"),
        (["--alpha", "3", *DEMO, TFIDF, KEYWORD], 2, "--alpha: must be in (0, 1) (got 3)"),
        (["--resamples", "-1", *DEMO, TFIDF, KEYWORD], 2, "--resamples: must be an integer from 1"),
        (["--gaps", "-1", *DEMO, TFIDF, KEYWORD], 2, "--gaps: must be an integer from 0"),
        (["--bank", "x", ROOT / "reports/per-topic.tsv"], 2, "--bank: for scoring runs against qrels"),
        (["--by", "x", *DEMO, TFIDF, KEYWORD], 1, "x"),
    ],
)
def test_bad_input_is_named(arguments, code, message, cli):
    result = cli("compare", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


def test_what_cannot_be_compared(write):
    with pytest.raises(DataError, match="no topic in common"):
        build_comparison(read_board(write("x", "a t1 M 1\nb t2 M 1\na all M 1\n")))
    with pytest.raises(ParameterError, match="test must be one of"):
        build_comparison(read_board(write("x", "a t1 M 1\nb t1 M 1\na all M 1\n")), "tukey")


# --- rank ------------------------------------------------------------------------------------------------------------


def new(values, name="new"):
    return Leaderboard("new", (name,), tuple(values), np.array([[*values.values()]]))


def test_a_place_among_automatic_runs_is_shared():
    # Among the 19 automatic runs of Table 9 four have a Recall_NtR:human above .367: .395, .368, .368 and none more;
    # .367 itself is uva-1's.
    board = read_board("published:ikat2024")
    (found,) = standings(new({"Recall_NtR": 0.3671}), board, "human")
    assert found.places["automatic"] == Place(4, 20, 1)
    assert str(found.places["automatic"]) == "4= of 20"
    # manual: .404, .393, .383, .366
    assert found.places["manual"] == Place(4, 5, 0)
    assert found.column == "Recall_NtR:human"


def test_a_known_run_is_not_compared_with_itself():
    board = read_board("published:ikat2024")
    (by_name,) = standings(new({"Recall_NtN": 0.11}, "uva-4"), board, "human")
    (by_alias,) = standings(new({"Recall_NtN": 0.11}, board.aliases["uva-4"]), board, "human")
    assert by_name.known_as == by_alias.known_as == "uva-4"
    # .110 is also nii-1's: place 5 of 19, shared
    assert by_name.places["automatic"] == by_alias.places["automatic"] == Place(5, 19, 1)


def test_the_gold_must_be_chosen():
    board = read_board("published:ikat2024")
    assert column_for("BEM", board) == "BEM"
    assert column_for("Recall_NtN:llm", board) == "Recall_NtN:llm"
    assert column_for("AP", board) is None
    with pytest.raises(DataError, match="for gold human, llm: --gold chooses"):
        column_for("Recall_NtN", board)
    with pytest.raises(DataError, match="for gold human, llm, not gpt"):
        column_for("Recall_NtN", board, "gpt")


def test_the_command(cli, write):
    scores = write("new.tsv", "run\ttopic\tRecall_NtN\nx\tt1\t0.2\nx\tt2\t0.1\n")
    result = cli("rank", scores, "--among", "published:ikat2024", "--gold", "human")
    assert result.code == 0
    assert re.search(
        r"^x +Recall_NtN \(beside Recall_NtN:human\) +0\.1500 +1 of 25 +1 of 20 +1 of 5 +1 of 2$",
        result.out,
        re.MULTILINE,
    )
    record = json.loads(cli("rank", scores, "--among", "published:ikat2024", "--gold", "llm", "--format", "jsonl").out)
    assert record["places"]["all"] == {"place": 1, "number": 25, "tied": 0}
    groups = write("groups", "a\tteam1\nb\tteam2\n")
    board = write("board.tsv", "run\tRecall_NtN\na\t0.15\nb\t0.4\n")
    result = cli("rank", scores, "--among", board, "--groups", groups)
    assert re.search(r"^x +Recall_NtN +0\.1500 +2= of 3 +1= of 2 +2 of 2$", result.out, re.MULTILINE)


def test_undefined_has_no_place(cli, write):
    scores = write("new.tsv", "run\tRecall_NtN\nx\tundefined\ny\t0.1\n")
    result = cli("rank", scores, "--among", "published:ikat2024", "--gold", "human")
    assert re.search(r"^x +Recall_NtN \(beside Recall_NtN:human\) +undefined *$", result.out, re.MULTILINE)


def test_nothing_in_common_is_named(cli, write):
    result = cli("rank", write("new.tsv", "run\tM\nx\t1\n"), "--among", "published:ikat2024")
    assert result.code == 1
    assert "no measure in common: the scores have M; published:ikat2024 has Precision_NtN:human" in result.err


def test_the_mark_follows_the_topics_that_both_have(cli, write):
    """b answered only the easy topics: its own mean is higher, and it is worse on each of them."""
    rows = "".join(f"a t{t} M {0.1 if t < 20 else 0.9 + t / 1000}\n" for t in range(30))
    rows += "".join(f"b t{t} M {0.79 + (t % 3) / 1000}\n" for t in range(20, 30))
    path = write("two", rows + "a all M 0\n")
    out = cli("compare", path).out
    assert re.search(r"^M +0\.9245 +0\.7911 +\+0\.1334 .* <0\.0001 ▲$", out, re.MULTILINE)
    board = cli("leaderboard", path, "--baseline", "a").out
    assert re.search(r"^1 +b +0\.7911 .* ▼$", board, re.MULTILINE)
    assert "means over fewer than 30 topics, which is no fair comparison: b (10)" in board


def test_pooled_measures_are_not_tested_as_means(cli, write):
    qrels = write(
        "q", "".join(f"t1 n{i} d1 {int(i < 5)}\nt1 n{i} d2 1\n" for i in range(10)) + "t2 n1 d1 1\nt2 n1 d2 0\n"
    )
    a, b = (write(name, f"t1 Q0 {d} 1 1 {name}\nt2 Q0 {d} 1 1 {name}\n") for name, d in (("a", "d1"), ("b", "d2")))
    bank = write("bank.jsonl", "".join(
        json.dumps({"topic": t, "nuggets": [{"id": f"n{i}", "text": "x"} for i in ns]}) + "\n"
        for t, ns in (("t1", range(10)), ("t2", [1]))
    ))  # fmt: skip
    options = ("-m", "Recall_NtR(avg=micro)", "--bank", bank, "--view", "responses", "--format", "jsonl")
    record = json.loads(cli("compare", *options, qrels, a, b).out.splitlines()[0])
    # 6 of 11 nuggets and 10 of 11: pooled, whatever the topics say.
    assert record["difference"] == pytest.approx(6 / 11 - 10 / 11)
    assert record["p"] is record["effect_size"] is None


def test_less_can_be_better(cli, write):
    scores = write(
        "s.tsv",
        "run\ttopic\tLatency\n"
        + "".join(f"{r}\tt{t}\t{v + t * (1 + v) / 9}\n" for r, v in (("a", 1), ("b", 2)) for t in range(5)),
    )
    assert re.search(r"^Latency .* 0 +5 +0 +<?0\.\d+ ▼$", cli("compare", scores).out, re.MULTILINE)
    assert re.search(
        r"^Latency .* 5 +0 +0 +<?0\.\d+ ▲$", cli("compare", scores, "--lower", "Latency").out, re.MULTILINE
    )
    board = write("b.tsv", "run\tLatency\nslow\t9\nfast\t1\n")
    one = write("one.tsv", "run\tLatency\nnew\t2\n")
    assert "2 of 3" in cli("rank", one, "--among", board, "--lower", "Latency").out
    assert "2 of 3" in cli("rank", one, "--among", board).out
    low = write("low.tsv", "run\tLatency\nnew\t0.5\n")
    assert "1 of 3" in cli("rank", low, "--among", board, "--lower", "Latency").out
    assert "3 of 3" in cli("rank", low, "--among", board).out


def test_options_of_rank_that_do_not_fit_are_errors(cli, write):
    board = write("b.tsv", "run\tM\nx\t1\n")
    for options, message in (
        (("--groups", write("g", "zz\tteam\n")), "is in the groups, which name zz"),
        (("--gold", "human"), "has no columns NAME:GOLD"),
    ):
        result = cli("rank", board, "--among", board, *options)
        assert (result.code, result.out) == (1, "")
        assert message in result.err
    counts = write("c.tsv", "run\tnum_ret\nx\t1\n")
    assert cli("rank", counts, "--among", counts).code == 1
