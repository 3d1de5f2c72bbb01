"""Tables of scores in every layout, from us and from others; several as one."""

import json

import numpy as np
import pytest

from nuggeteval import DataError, FormatError, UnknownNameError
from nuggeteval.boards import pick_measures, read_board, read_boards
from nuggeteval.data import Leaderboard, Scores

ROWS = [("a", "t1", "P@5", 0.25), ("a", "t2", "P@5", 0.75), ("b", "t1", "P@5", 1.0), ("b", "t2", "P@5", 0.5)]
ALL = [("a", "all", "P@5", 0.5), ("b", "all", "P@5", 0.75)]

LAYOUTS = {
    "ir_measures": "".join(f"{r} {t} {m} {v}\n" for r, t, m, v in ROWS + ALL),
    "tot": "".join(f"{r}\t{m}\t{t}\t{v}\n" for r, t, m, v in ROWS + ALL),
    "rag4reports": "".join(f"{t} {r} {m} {v}\n" for r, t, m, v in ROWS + ALL),
    "tsv": "run_id\tquery_id\tmeasure\tvalue\n" + "".join(f"{r}\t{t}\t{m}\t{v}\n" for r, t, m, v in ROWS + ALL),
    "older tsv": "run\ttopic\tmeasure\tvalue\n" + "".join(f"{r}\t{t}\t{m}\t{v}\n" for r, t, m, v in ROWS),
    "jsonl": "".join(json.dumps({"run_id": r, "topic_id": t, "measure": m, "value": v}) + "\n" for r, t, m, v in ROWS),
    "wide": "run\ttopic\tP@5\n" + "".join(f"{r}\t{t}\t{v}\n" for r, t, _, v in ROWS),
    "wide, other names, blanks": "system qid P@5\n" + "".join(f"{r} {t} {v}\n" for r, t, _, v in ROWS),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_says_the_same(layout, write):
    board = read_board(write("scores", LAYOUTS[layout]))
    assert isinstance(board, Scores)
    assert (board.runs, board.topics, board.measures) == (("a", "b"), ("t1", "t2"), ("P@5",))
    assert [board.value(r, m, t) for r, t, m, _ in ROWS] == [v for *_, v in ROWS]
    assert board.aggregates[:, 0] == pytest.approx([0.5, 0.75])
    assert board.notes == ()


def test_trec_eval_files_are_runs(write):
    text = "runid \tall\tx\nP_5  \tt1\t0.25\nP_5  \tt2\t0.75\nP_5  \tall\t0.5\n"
    board = read_boards([write("first.txt", text), write("second.txt", text.replace("0.75", "0.5"))])
    assert board.runs == ("first", "second")
    assert board.aggregates[:, 0] == pytest.approx([0.5, 0.375])
    assert board.notes == (
        f"{write('second.txt', '')}: 'all' rows that are not the mean of their topics, which counts: "
        "second P_5 0.5 (its topics give 0.3750)",
    )


def test_a_file_of_aggregates_is_a_leaderboard(write):
    board = read_board(write("board.tsv", "a all P@5 0.5\nb all P@5 0.75\nb all AP 0.25\n"))
    assert isinstance(board, Leaderboard)
    assert board.column("P@5") == {"a": 0.5, "b": 0.75}
    assert board.column("AP") == {"b": 0.25}
    with pytest.raises(FormatError, match="2: second aggregate for run 'a', P@5"):
        read_board(write("twice", "a all P@5 0.5\na all P@5 0.75\n"))


def test_a_wide_table_of_aggregates_has_groups(write):
    text = "run\ttype\tnDCG@5\tnote\nx\tautomatic\t0.5\tfine\ny\tmanual\t\tnone\n"
    board = read_board(write("table.tsv", text))
    assert (board.runs, board.measures) == (("x", "y"), ("nDCG@5",))
    assert board.groups == {"x": "automatic", "y": "manual"}
    assert np.isnan(board.values[1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run\tP@5\nx\t1\nx\t0\n", "3: second row for 'x'"),
        ("run\ttopic\tP@5\nx\tt\t1\nx\tt\t0\n", "3: second row for 'x t'"),
        ("run\tP@5\nx\t1\t2\n", "2: expected 2 columns as in the header, found 3"),
        ("run\tP@5\nx\tgood\n", "no column of numbers under run, P@5"),
        ("glhf run t1: 0.5\nglhf run\n", "2: expected 'team run topic: value', found 'glhf run'"),
        ("glhf run t1: high\n", "1: value must be a finite number"),
        ('{"summary": {}, "per_query": [{"rouge1_f1": 1}]}', "whose records name run_id and"),
        ("", "no score of any topic"),
    ],
)
def test_what_is_no_table_is_named(text, message, write):
    with pytest.raises(FormatError, match=message):
        read_board(write("scores", text))


def test_the_evaluation_files_of_longeval(shared):
    folder = shared / "data/longeval/raw/evals"
    (precisions,) = (folder / "retrieval/rule-minilm").iterdir()
    (gold,) = (folder / "gold-answer-comparison/rule-minilm").iterdir()
    grounded = folder / "trec-auto-judge-prefnugget-grounded/rule-minilm/auto-judge.eval.txt"
    board = read_boards([str(path) for path in (precisions, gold, grounded)])
    assert board.runs == ("rule_minilm_openai_llm_v1",)
    assert len(board.topics) == 47
    value = {measure: board.value(board.runs[0], measure) for measure in board.measures}
    assert value["NUGGET_COVERAGE"] == pytest.approx(0.36652, abs=5e-6)
    assert value["AVG_GRADE"] == pytest.approx(2.92889, abs=5e-6)
    assert value["rougeL_f1"] == pytest.approx(0.15731724104652778)
    assert value["avg_prec_at_q"] == pytest.approx(0.975179, abs=5e-5)
    assert board.notes == ()


def test_tables_are_joined(write):
    one = write("one", "a t1 P@5 0.5\na all P@5 0.5\n")
    two = write("two", "b t1 P@5 1.0\nb t2 P@5 0.0\nb all P@5 0.5\n")
    three = write("three", "a t1 AP 0.25\na all AP 0.25\n")
    board = read_boards([one, two, three])
    assert (board.runs, board.topics, board.measures) == (("a", "b"), ("t1", "t2"), ("P@5", "AP"))
    assert board.value("a", "P@5", "t2") is None
    assert board.value("a", "AP", "t1") == 0.25
    with pytest.raises(DataError, match=r"one and .*one: two values for run 'a', topic 't1', P@5"):
        read_boards([one, one])
    with pytest.raises(DataError, match="aggregates only and cannot be joined"):
        read_boards([one, "published:ikat2024"])


def test_leaderboards_are_joined(write):
    board = read_boards([write("a", "run\tP@5\nx\t1\n"), write("b", "run\tP@5\tAP\ny\t0\t0.5\n")])
    assert board.column("P@5") == {"x": 1.0, "y": 0.0}
    assert board.column("AP") == {"y": 0.5}
    with pytest.raises(DataError, match="two values for run 'x', P@5"):
        read_boards([write("a", "run\tP@5\nx\t1\n"), write("b", "run\tP@5\nx\t0\n")])


def test_measures_are_picked(write):
    for board in (read_board(write("x", LAYOUTS["tsv"])), read_board("published:ikat2024")):
        name = board.measures[-1]
        assert pick_measures(board, [name]).measures == (name,)
        with pytest.raises(DataError, match="no measure nDCG@7 among the scores"):
            pick_measures(board, ["nDCG@7"])


def test_published_tables(shared):
    from csv import DictReader

    from nuggeteval.published import TABLE

    folder = shared / "data"
    sources = {
        "ikat2024-retrieval": ("ikat2024/table11_retrieval.tsv", "run", 5),
        "longeval2026": ("longeval/table5_printed.tsv", "approach", 6),
        "longeval2026-supplementary": ("longeval/table6_printed.tsv", "approach", 6),
    }
    for name, (path, key, columns) in sources.items():
        with (folder / path).open() as file:
            printed = list(DictReader(file, delimiter="\t"))
        board = read_board(f"published:{name}")
        assert board.runs == tuple(row[key] for row in printed)
        numbers = [[float(v) for k, v in row.items() if k not in (key, "type")] for row in printed]
        assert np.array_equal(board.values, np.array(numbers))
        assert board.values.shape[1] == columns
    with (folder / "lancer/published_results.tsv").open() as file:
        rows = [row for row in DictReader(file, delimiter="\t") if row["source"] == "paper Table 2"]
    for name, qrels in (("lancer2026-neuclir24", "neuclir24-human"), ("lancer2026-duc04", "crux-mds-duc04")):
        board = read_board(f"published:{name}")
        mine = [row for row in rows if row["qrels"] == qrels]
        assert len(board.runs) == len(mine) == 18
        for row in mine:
            run = f"{row['first_stage']}+{row['method']}"
            assert board.groups[run] == row["first_stage"]
            for measure in board.measures:
                assert board.column(measure)[run] == float(row[measure])
    assert set(TABLE) == {"ikat2024", *sources, "lancer2026-neuclir24", "lancer2026-duc04"}
    with pytest.raises(UnknownNameError, match="unknown published table 'ikat'"):
        read_board("published:ikat")
