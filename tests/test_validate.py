"""Every problem of a file in one pass."""

import pytest

from nuggeteval import FormatError, UnknownNameError, problems

RUN = """\
# a comment
t1 Q0 a 1 high x

t1 Q0 a 1 3 x
t1 Q0 b 2 4 x
t1 Q0 a 3 2 x
t1 Q0 c
t2 Q0 a one 1 y
t9 Q0 a 1 1 x
t9 Q0 b 2 1 x
"""
QRELS = "t1 n1 a 1\nt1 n1 c 1\nt2 n1 a 1\nt3 n1 a 1\n"


def found(kind, path, against=None):
    return [(p.line, p.level, p.message) for p in problems(kind, path, against)]


def test_a_run(write):
    path = write("x.run", RUN)
    assert found("run", path) == [
        (2, "error", "score must be a finite number (got 'high')"),
        (6, "error", "duplicate unit 'a' for topic 't1', first on line 4"),
        (7, "error", "expected 6 columns (topic Q0 unit rank score tag), found 3: 't1 Q0 c'"),
        (8, "warning", "rank is not an integer of at least 0; it is not used"),
        (0, "warning", "2 run tags are mixed (x, y); scored as one run, named x"),
        (0, "warning", "all scores are tied in t9; ids decide, the rank column is not used"),
        (0, "warning", "rank and score disagree in t1; the score decides"),
    ]


def test_a_run_against_qrels(write):
    path, qrels = write("x.run", "t1 Q0 a 1 2 x\nt1 Q0 b 2 2 x\nt1 Q0 c 3 1 x\nt8 Q0 a 1 1 x\n"), write("q", QRELS)
    assert found("run", path, qrels) == [
        (0, "warning", f"2 topics of {qrels} have no line: t2, t3"),
        (0, "warning", f"1 topics are not in {qrels}: t8"),
        (0, "warning", "1 groups of tied scores; ordered by id, descending"),
    ]
    assert found("run", write("y.run", "u Q0 a 1 1 y\n"), qrels)[0][1] == "error"
    assert found("run", write("z.run", "t1 Q0 a 1 1 z\nt2 Q0 a 1 1 z\nt3 Q0 a 1 1 z\n"), qrels) == []


def test_qrels(write):
    path = write("q", "t1 n1 a 1\nt1 n1 a 2\nt1 n1 b 0.5\nt2 n1 a 0\nt1 n1 a 1\nt1 a 1\n")
    assert found("qrels", path) == [
        (2, "error", "duplicate judgment of unit 'a' for topic 't1', nugget 'n1', first on line 1"),
        (3, "error", "grade must be an integer (got '0.5')"),
        (5, "error", "duplicate judgment of unit 'a' for topic 't1', nugget 'n1', first on line 1"),
        (
            6,
            "error",
            "expected 4 columns (topic nugget unit grade), found 3: 't1 a 1'; is the nugget missing? it is 0 in ordinary qrels",
        ),
        (0, "warning", "topics without a grade above 0, which count 0: t2"),
    ]


BANK = (
    '{"topic": "t1", "nuggets": [{"id": "n1", "text": "A b.", "importance": "vital"}, {"id": "n2", "text": "a  B."}]}\n'
    '{"topic": "t2", "nuggets": [{"id": "n1", "text": "x"}, {"id": "n1", "text": "y"}, {"id": "n3", "text": ""}]}\n'
    "{\n"
    '{"topic": "t7", "nuggets": []}\n'
)


def test_a_bank(write):
    path = write("bank", BANK)
    first, second, *_ = found("bank", path)
    assert first == (2, "error", "topic 't2': duplicate nugget id 'n1'")
    assert second[:2] == (3, "error")
    assert second[2].startswith("not JSON: Expecting property name enclosed in double quotes at column 2; a bank has")
    sound = write(
        "sound", "".join(line for line in BANK.splitlines(keepends=True) if '"n3"' not in line and line != "{\n")
    )
    assert found("bank", sound) == [
        (0, "warning", "topic 't1': nuggets 'n1' and 'n2' have the same text"),
        (0, "warning", "topic 't7' has no nugget: undefined for nugget measures"),
        (0, "warning", "1 of 2 nuggets have neither importance nor weight"),
    ]


def test_a_bank_and_qrels_against_each_other(write):
    qrels = write("q", QRELS)
    bank = write("bank", '{"topic": "t1", "nuggets": [{"id": "n1", "text": "A."}, {"id": "n5", "text": "B."}]}')
    for kind, path, against in (("qrels", qrels, bank), ("bank", bank, qrels)):
        assert found(kind, path, against) == [
            (0, "warning", f"2 nuggets are judged in {qrels}, but not in {bank}: t2 n1, t3 n1"),
            (0, "warning", f"1 nuggets of {bank} are not judged in {qrels}: t1 n5"),
        ]
    alien = write("alien", '{"topic": "u", "nugget_id": "n1", "text": "A."}')
    assert found("qrels", qrels, alien) == [(0, "error", f"no nugget in common with {alien}")]
    assert found("bank", alien, qrels) == [(0, "error", f"no nugget in common with {qrels}")]


def test_a_file_of_another_kind_is_told_in_a_few_lines(write):
    run = write("x.run", "".join(f"t Q0 d{n} 1 1 x\n" for n in range(100)))
    lines = found("qrels", run)
    assert len(lines) == 7
    assert lines[0][2].endswith("; a run? qrels come first")
    assert lines[5] == (6, "error", "95 more lines are malformed")


def test_a_run_of_another_collection_is_named(write):
    message = "no unit is judged in {}, whose units are like 'a', not 'x'"
    qrels = write("q", "t1 n1 a 1\n")
    assert found("run", write("r", "t1 Q0 x 1 1 r\n"), qrels) == [(0, "warning", message.format(qrels))]


@pytest.mark.parametrize("kind", ["run", "qrels", "bank"])
@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"\x1f\x8bxx", b"\xff\xfe\x00"])
def test_files_that_are_nothing(kind, content, write):
    path = write("file", content)
    assert [problem.level for problem in problems(kind, path)] == ["error"]


def test_what_cannot_be_checked(write):
    with pytest.raises(UnknownNameError, match="unknown kind of file 'runs'"):
        problems("runs", write("x", ""))
    with pytest.raises(FormatError, match="no such file"):
        problems("run", write("x", "t1 Q0 a 1 1 x\n"), "nowhere")


def test_the_command_prints_places_and_fails_on_errors(cli, write):
    path = write("x.run", RUN)
    result = cli("validate", "run", path)
    assert result.code == 1
    assert result.out.splitlines()[0] == f"{path}:2: error: score must be a finite number (got 'high')"
    assert "1 file: 3 errors, 4 warnings" in result.err
    good = write("good.run", "t1 Q0 a 1 1 x\n")
    assert cli("validate", "run", good, "--against", write("q", "t1 n a 1\n")) == (
        0,
        "",
        "nuggeteval: 1 file: 0 errors, 0 warnings\n",
    )
    assert cli("validate", "run", good, path).code == 1
