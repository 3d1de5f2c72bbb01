"""Opening files: compression by magic bytes, stdin, clear errors; runs, qrels and banks from them."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest

from nuggeteval import (
    DataError,
    FormatError,
    MissingDependencyError,
    NuggetQrels,
    ParameterError,
    Run,
    read_bank,
    read_qrels,
    read_run,
    write_bank,
    write_qrels,
    write_run,
)
from nuggeteval.files import read_bytes, stem

zstandard = pytest.importorskip("zstandard")

RUN = "t1 Q0 d1 1 2.5 tag\nt1 Q0 d2 2 1.5 tag\nt2 Q0 d1 1 1 tag\n"
QRELS = "t1 n1 d1 1\nt1 n2 d1 0\nt2 n1 d9 2\n"

COMPRESSORS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda raw: zstandard.ZstdCompressor().compress(raw),
}


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compression_is_known_by_the_first_bytes(name, write):
    run = read_run(write("run.txt", COMPRESSORS[name](RUN.encode())))
    assert (run.name, run.topics, run.units.tolist()) == ("tag", ("t1", "t2"), ["d1", "d2", "d1"])


@pytest.mark.parametrize("name", COMPRESSORS)
def test_cut_compressed_files_are_errors(name, write):
    # Incompressible, so that a cut anywhere loses data.
    raw = COMPRESSORS[name](np.random.default_rng(1).bytes(5000))
    path = write("run.gz", raw[: len(raw) // 2])
    with pytest.raises(FormatError, match=f"run.gz: damaged or truncated {name} data"):
        read_bytes(path)


def test_several_frames_are_one_file(write):
    assert read_bytes(write("a", gzip.compress(b"x\n") + gzip.compress(b"y\n"))) == b"x\ny\n"
    assert read_bytes(write("b", COMPRESSORS["zstd"](b"x\n") + COMPRESSORS["zstd"](b"y\n"))) == b"x\ny\n"


def test_zstd_without_its_package_says_how_to_get_it(write, monkeypatch):
    path = write("run.zst", COMPRESSORS["zstd"](b"x"))
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'nuggeteval\[zst\]'"):
        read_bytes(path)


def test_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(QRELS.encode()))))
    assert read_qrels("-").topics == ("t1", "t2")


def test_what_cannot_be_opened(tmp_path, write):
    with pytest.raises(FormatError, match=r"nowhere: no such file$"):
        read_run(str(tmp_path / "nowhere"))
    with pytest.raises(FormatError, match=r"is a directory, not a file$"):
        read_run(str(tmp_path))
    with pytest.raises(FormatError, match=r"cannot be read"):
        read_run("a\0b")
    with pytest.raises(FormatError, match=r"text is UTF-16; save it as UTF-8"):
        read_run(write("run", RUN.encode("utf-16")))


def test_names_of_files():
    assert [stem(path) for path in ("a/b.run", "b.run.gz", "x.y.txt.zst", ".hidden", "-")] == [
        "b", "b", "x.y", ".hidden", "-",
    ]  # fmt: skip


def test_comments_and_ir_metadata_are_kept(write):
    header = "# ir_metadata.start\n# platform:\n#   hardware: a b c\n# ir_metadata.end\n"
    run = read_run(write("run", header + RUN + "#last\n"))
    assert run.metadata == (*header.splitlines(), "#last")
    assert len(run) == 3


def test_an_id_may_begin_with_a_hash(write):
    run = read_run(write("run", "#1 Q0 d#1 1 1 x\n# this is no record, but six\n"))
    assert run.topics == ("#1",)
    assert run.metadata == ("# this is no record, but six",)


def test_empty_files_are_errors(write):
    for content in ("", "\n \n", "# only a comment\n"):
        with pytest.raises(FormatError, match=r"run: empty run"):
            read_run(write("run", content))
        with pytest.raises(FormatError, match=r"qrels: empty qrels"):
            read_qrels(write("qrels", content))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t1 Q0 d1 1 high x", "score must be a finite number (got 'high')"),
        ("t1 Q0 d1 1 nan x", "score must be a finite number (got 'nan')"),
        ("t1 Q0 d1 1 1e999 x", "score must be a finite number (got '1e999')"),
        ("t1 Q0 d1 1 1_0 x", "score must be a finite number (got '1_0')"),
        ("t1 Q0 d1 1 2.5", "expected 6 columns (topic Q0 unit rank score tag), found 5"),
    ],
)
def test_malformed_run_lines(line, message, write):
    path = write("run", f"{RUN}\n{line}\n")
    with pytest.raises(FormatError) as error:
        read_run(path)
    assert (error.value.path, error.value.line) == (path, 5)
    assert message in str(error.value)


@pytest.mark.parametrize("grade", ["0.5", "one", "1e3", "99999999999", "--1"])
def test_malformed_grades(grade, write):
    with pytest.raises(FormatError, match=rf"qrels:2: grade must be an integer \(got '{grade}'\)"):
        read_qrels(write("qrels", f"t n d 1\nt n e {grade}\n"))


def test_whole_decimals_are_integers(write):
    assert read_qrels(write("qrels", "t n d 2.0\nt n e -1\n")).grade.tolist() == [2, -1]


def test_duplicates_in_a_run(write):
    path = write("run", "t Q0 a 1 1 x\nt Q0 b 2 5 x\nt Q0 a 3 9 x\nt Q0 a 4 3 x\nu Q0 a 1 1 x\n")
    with pytest.raises(DataError, match=r"duplicate unit 'a' for topic 't' \(.*run:1 and .*run:3; 1 more duplicates\)"):
        read_run(path)
    for policy, kept in {"first": 1.0, "last": 3.0, "max": 9.0}.items():
        run = read_run(path, duplicates=policy)
        found = dict(zip(zip(run.topic.tolist(), run.units, strict=True), run.scores.tolist(), strict=True))
        assert found == {(0, "a"): kept, (0, "b"): 5.0, (1, "a"): 1.0}
        assert run.notes == (f"x: 2 duplicate units, kept: {policy}",)
    with pytest.raises(ParameterError, match="duplicates must be one of error, first, last, max"):
        read_run(path, duplicates="none")


def test_duplicates_in_qrels(write):
    path = write("qrels", "t n a 1\nt n b 0\nt n a 3\nt n a 2\nt m a 9\n")
    with pytest.raises(DataError, match=r"unit 'a' for topic 't', nugget 'n' \(.*qrels:1 and .*qrels:3\)"):
        read_qrels(path)
    for policy, kept in {"first": 1, "last": 2, "max": 3}.items():
        qrels = read_qrels(path, duplicates=policy)
        assert qrels.grade[qrels.nugget == qrels.nugget_ids.index("n")].tolist() == [kept, 0]


def test_what_is_written_is_read_back(tmp_path):
    scores = {"t2": {"b": 0.1 + 0.2, "a": 0.1 + 0.2, "c": 1e-300}, "t1": {"ü": -1.0}}
    path = str(tmp_path / "out")
    write_run(Run.of(scores, "me"), path)
    run = read_run(path)
    assert run.name == "me"
    assert run.units.tolist() == ["b", "a", "c", "ü"]
    assert run.ranks.tolist() == [1, 2, 3, 1]
    assert run.scores.tolist() == [0.1 + 0.2, 0.1 + 0.2, 1e-300, -1.0]
    qrels = NuggetQrels.of([("t", "n2", "b", 1), ("t", "n1", "b", -2), ("t", "n1", "a", 0)])
    write_qrels(qrels, path)
    again = read_qrels(path)
    assert again.grade.tolist() == qrels.grade.tolist()
    assert (again.unit_ids.tolist(), again.nugget_ids) == (["a", "b"], ("n1", "n2"))
    with pytest.raises(FormatError, match="cannot be written"):
        write_run(run, str(tmp_path))


def test_bytes_that_are_not_utf8_come_back_as_they_were(write, tmp_path):
    raw = b"t\xff Q0 d\xed\xa0\x80 1 1.0 x\n"
    path = str(tmp_path / "out")
    write_run(read_run(write("run", raw)), path)
    assert read_bytes(path) == raw


BANKS = {
    "topics": '{"topic": "t", "nuggets": [{"id": "n1", "text": "A.", "importance": "vital"}, {"id": "n2", "text": "B."}]}\n',
    "nuggets": '{"topic": "t", "nugget_id": "n1", "text": "A.", "importance": "vital"}\n\n{"topic": "t", "nugget_id": "n2", "text": "B."}\n',
    "crux": '{"id": "t", "nuggets": [{"nugget_id": "n1", "text": "A.", "importance": "vital"}, {"nugget_id": "n2", "text": "B."}]}',
    "array": '[{"topic": "t", "nuggets": [{"id": "n1", "text": "A.", "importance": "vital"}, {"id": "n2", "text": "B."}]}]',
}


@pytest.mark.parametrize("shape", BANKS)
def test_shapes_of_banks(shape, write, tmp_path):
    bank = read_bank(write("bank", BANKS[shape]))
    assert [(n.id, n.text, n.importance) for n in bank.nuggets["t"]] == [("n1", "A.", "vital"), ("n2", "B.", None)]
    write_bank(bank, str(tmp_path / "out"))
    assert read_bank(str(tmp_path / "out")).nuggets == bank.nuggets


def test_nuggetizer_banks_get_stable_ids(write):
    record = '{"query": "q", "qid": 7, "nuggets": [{"text": "A  b.", "importance": "okay"}]}'
    one, two = (read_bank(write(f"bank{i}", record.replace("  ", blank))) for i, blank in enumerate((" ", "\\n")))
    assert one.nuggets["7"][0].id == two.nuggets["7"][0].id
    assert len(one.nuggets["7"][0].id) == 12


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object, found 1"),
        ('"x"', "expected a JSON object, found 'x'"),
        ("\udcff", "not"),
        ("[" * 100_000, "not"),
        ('{"nuggets": []}', "no topic: expected one of the keys"),
        ('{"topic": "t", "topic_id": "u", "nuggets": []}', "conflicting topics: topic 't', topic_id 'u'"),
        ('{"topic": true, "nuggets": []}', "topic 'topic' must be a string or an integer (got True)"),
        ('{"topic": "a b", "nuggets": []}', "topic 'a b' must be a non-empty string without white space"),
        ('{"topic": "\\ud800", "nuggets": []}', "lone surrogate"),
        ('{"topic": "t", "nuggets": {}}', "'nuggets' must be a list of objects"),
        ('{"topic": "t", "nuggets": [{"text": " "}]}', "a nugget has neither id nor text"),
        ('{"topic": "t", "nuggets": [{"id": "n", "text": 1}]}', "text of a nugget must be a string"),
        ('{"topic": "t", "nugget_id": "n1", "text": "A."}\n{"topic": "t", "nugget_id": "n1", "text": "B."}', "duplicate nugget id 'n1'"),
        ('{"topic": "t", "nuggets": [{"id": "n", "text": "A", "importance": "big"}]}', "must be vital or okay (got 'big')"),
        ('{"topic": "t", "nuggets": [{"id": "n", "text": "A", "weight": 0}]}', "must be a finite number above 0 (got 0.0)"),
        ('{"topic": "t", "nuggets": [{"id": "n", "text": "A", "weight": "1"}]}', "must be a number (got '1')"),
    ],
)  # fmt: skip
def test_malformed_banks(line, message, write):
    path = write("bank", line)
    with pytest.raises(FormatError) as error:
        read_bank(path)
    assert error.value.path == path
    assert error.value.line == line.count("\n") + 1
    assert message in str(error.value)


def test_an_empty_bank_is_an_error(write):
    with pytest.raises(FormatError, match="empty nugget bank"):
        read_bank(write("bank", "\n"))


def test_irds_qrels(write, monkeypatch):
    import ir_datasets
    from ir_datasets.formats import BaseQrels, TrecQrel
    from ir_datasets.formats.trec import TrecSubQrel

    class Rows(BaseQrels):
        def __init__(self, rows):
            self.rows = rows

        def qrels_iter(self):
            return iter(self.rows)

    def offer(name, rows):
        monkeypatch.setitem(ir_datasets.registry._registered, name, ir_datasets.Dataset(Rows(rows)))

    from nuggeteval.formats.irds import read_irds_qrels

    offer("ours/plain", [TrecQrel("1", "d", 1, "0")])
    offer("ours/sub", [TrecSubQrel("1", "d", 1, "s1"), TrecSubQrel("1", "d", 1, "s2")])
    monkeypatch.setitem(ir_datasets.registry._registered, "ours/none", ir_datasets.Dataset())
    assert read_irds_qrels("irds:ours/plain").nugget_ids == ("0",)
    assert read_irds_qrels("irds:ours/sub").nugget_ids == ("s1", "s2")
    with pytest.raises(FormatError, match="has no data set 'nowhere'"):
        read_irds_qrels("irds:nowhere")
    with pytest.raises(FormatError, match="'ours/none' has no qrels"):
        read_irds_qrels("irds:ours/none")


def test_metadata_is_written_back_and_names_must_be_tags(write, tmp_path):
    path = str(tmp_path / "out")
    write_run(read_run(write("run", "# ir_metadata.start\n" + RUN)), path)
    assert read_run(path).metadata == ("# ir_metadata.start",)
    with pytest.raises(DataError, match="must not have white space"):
        write_run(Run.of({"t": {"a": 1.0}}, "my run"), path)


def test_a_no_break_space_is_part_of_an_id_everywhere(write):
    bank = read_bank(write("bank", '{"topic": "t", "nuggets": [{"id": "a\\u00a0b", "text": "x"}]}'))
    qrels = read_qrels(write("qrels", "t a\u00a0b d 1\n"))
    assert bank.nuggets["t"][0].id == qrels.nugget_ids[0]


@pytest.mark.parametrize("value", ['["vital"]', "{}", "5"])
def test_an_importance_of_another_type_is_an_error(value, write):
    with pytest.raises(FormatError, match="must be vital or okay"):
        read_bank(write("bank", f'{{"topic": "t", "nuggets": [{{"id": "n", "text": "x", "importance": {value}}}]}}'))


def test_numbers_too_large_for_a_float_are_errors(write):
    with pytest.raises(FormatError, match="must be a number"):
        read_bank(write("bank", f'{{"topic": "t", "nuggets": [{{"id": "n", "text": "x", "weight": 1{"0" * 400}}}]}}'))


def test_many_problems_are_found_in_linear_time(write):
    from nuggeteval import problems

    path = write("run", "".join(f"t Q0 d{n % 20_000} 1 1 x\n" for n in range(40_000)))
    assert sum(problem.level == "error" for problem in problems("run", path)) == 20_000
