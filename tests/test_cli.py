"""The command line as a user meets it: output, options, exit codes, broken input, closed pipes."""

import io
import subprocess
import sys

import pytest

QRELS = "t1 n1 a 1\nt1 n2 b 2\nt2 n1 a 1\n"
RUN = "t1 Q0 a 1 2 mine\nt1 Q0 b 2 1 mine\n"


@pytest.fixture
def qrels(write):
    return write("q.qrels", QRELS)


@pytest.fixture
def run(write):
    return write("mine.run", RUN)


def test_score_may_be_left_out(cli, qrels, run):
    assert cli(qrels, run) == cli("score", qrels, run)
    assert cli("-m", "P@1", qrels, run).out == "P@1                   \tall\t0.5000\n"


def test_trec_evals_own_flags_and_names(cli, qrels, run):
    result = cli("-q", "-c", "-l", "2", "-m", "ndcg_cut.5", "-m", "P.20", "-m", "map", qrels, run)
    assert result.out.splitlines() == [
        f"{name:<22}\t{topic}\t{value}"
        # t1: b alone is relevant at 2, at rank 2; nDCG ignores -l: (1 + 2 / log2 3) / (2 + 1 / log2 3) = 0.8597
        for topic, values in {"t1": ("0.8597", "0.0500", "0.5000"), "t2": ("0.0000",) * 3, "all": ("0.4299", "0.0250", "0.2500")}.items()
        for name, value in zip(("ndcg_cut_5", "P_20", "map"), values, strict=True)
    ]  # fmt: skip
    assert "|rel 2|" in result.err
    assert (
        cli("-n", "-q", "-M", "1", "-m", "num_ret", qrels, run).out
        == "num_ret               \tt1\t1\nnum_ret               \tt2\t0\n"
    )
    assert cli("-J", "-m", "P@1", qrels, run).code == 0


def test_several_runs_have_a_column_for_the_run(cli, qrels, run, write):
    other = write("other.run", RUN.replace("mine", "other"))
    assert cli("-m", "P@1", qrels, run, other).out == "mine\tall\tP@1\t0.5000\nother\tall\tP@1\t0.5000\n"
    refused = cli("--format", "trec_eval", qrels, run, other)
    assert refused.code == 2
    assert "trec_eval's layout has no column for the run" in refused.err


@pytest.mark.parametrize(
    "layout", ["trec_eval", "tot", "ir_measures", "tsv", "jsonl", "text", "markdown", "latex", "html"]
)
def test_every_format(cli, qrels, run, layout):
    result = cli("--format", layout, "-q", qrels, run)
    assert result.code == 0
    assert "alpha_nDCG@10" in result.out.replace("\\", "")
    assert "nan" not in result.out.lower().replace("\\", "")


def test_output_to_a_file(cli, qrels, run, tmp_path):
    result = cli("-m", "P@1", "--places", "2", "-o", tmp_path / "out", qrels, run)
    assert result.out == ""
    assert (tmp_path / "out").read_text() == "P@1                   \tall\t0.50\n"
    assert cli("-o", tmp_path, qrels, run).code == 1


def test_stdin_for_the_qrels_or_one_run(cli, qrels, run, monkeypatch):
    for arguments, text in ((("-", run), QRELS), ((qrels, "-"), RUN)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert cli("-m", "P@1", *arguments).out == "P@1                   \tall\t0.5000\n"
    assert cli("-", "-").code == 2


def test_topics_from_a_file(cli, qrels, run, write):
    assert cli("-m", "P@1", "--topics", write("topics", "t1 whatever\n\n"), qrels, run).out.endswith("1.0000\n")
    assert cli("-m", "P@1", "--topics", "run", qrels, run).out.endswith("1.0000\n")
    result = cli("--topics", "nowhere", qrels, run)
    assert result.code == 1
    assert "--topics takes qrels, bank, run or a file of topics" in result.err


def test_bank_and_view(cli, qrels, run, write):
    bank = write("bank", '{"topic": "t1", "nuggets": [{"id": "n1", "text": "x"}, {"id": "n9", "text": "y"}]}')
    result = cli("-m", "Cov@5", "--bank", bank, "-q", qrels, run)
    assert "Cov@5                 \tt1\t0.5000" in result.out
    assert "|bank sha256:" in result.err
    assert cli("--view", "nuggets", "-m", "Recall_NtN", "--bank", bank, qrels, run).out.endswith("0.5000\n")
    assert cli("--view", "nuggets", "-m", "Recall_NtR", qrels, run).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-m", "nope@5", "Q", "R"], 2, "unknown measure 'nope@5'"),
        (["-m", "P@0", "Q", "R"], 2, "cutoff must be an integer of at least 1"),
        (["-l", "0", "Q", "R"], 2, "rel must be an integer of at least 1 (got 0)"),
        (["--nope", "Q", "R"], 2, "unrecognized arguments: --nope"),
        (["Q"], 2, "there is no run: nuggeteval QRELS RUN"),
        (["Q", "nowhere.run"], 1, "nowhere.run: no such file"),
        (["nowhere.qrels", "R"], 1, "nowhere.qrels: no such file"),
        (["scroe", "Q", "R"], 1, "or did you mean the command 'score'?"),
        (["score", "irds:nowhere", "R"], 1, "ir_datasets has no data set 'nowhere'"),
        (["validate", "runs", "R"], 2, "invalid choice"),
        (["measures", "aNDCG"], 2, "unknown measure 'aNDCG'"),
    ],
)
def test_exit_codes_and_messages(cli, qrels, run, arguments, code, message):
    names = {"Q": qrels, "R": run}
    result = cli(*(names.get(argument, argument) for argument in arguments))
    assert result.code == code
    assert result.out == ""
    assert message in result.err


def test_help_has_examples(cli):
    assert cli("--help").code == 0
    assert cli().code == 2
    for arguments in (
        ["--help"],
        ["score", "--help"],
        ["validate", "--help"],
        ["measures", "--help"],
        ["-q", "--help"],
    ):
        result = cli(*arguments)
        assert result.code == 0
        assert "examples:" in result.out
        assert "nuggeteval" in result.out
    assert cli("--version").out == "nuggeteval 0.1.0\n"


def test_measures(cli):
    result = cli("measures")
    assert result.out.splitlines()[0].startswith("num_q")
    assert "official" in result.out
    one = cli("measures", "ndcg_cut").out
    assert one.startswith("nDCG[@k]\n")
    assert "also called  NDCG, ndcg, ndcg_cut" in one
    assert "bank" in cli("measures", "V").out


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "nuggeteval", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_a_closed_pipe_is_quiet(qrels, run):
    command = f"{sys.executable} -m nuggeteval measures | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("num_q")
    assert done.stderr == ""
    many = process("-q", "-m", ",".join(f"P@{k}" for k in range(1, 3000)), qrels, run)
    assert many.returncode == 0
    command = f"{sys.executable} -m nuggeteval -q -m {','.join(f'P@{k}' for k in range(1, 3000))} {qrels} {run} 2>/dev/null | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_ids_leave_as_the_bytes_that_they_came_as(write):
    qrels, run = write("q", b"t\xff\xc3\xa9 0 d 1\n"), write("r", b"t\xff\xc3\xa9 Q0 d 1 1 x\xfe\n")
    done = subprocess.run(
        [sys.executable, "-m", "nuggeteval", "-q", "--format", "tot", "-m", "P@1", qrels, run],
        capture_output=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[0] == b"x\xfe\tP@1\tt\xff\xc3\xa9\t1.0000"


def test_the_entry_point_exits_with_the_code(qrels):
    assert process(qrels, "nowhere").returncode == 1
    assert process("--nope").returncode == 2
    assert process("--version").stdout == "nuggeteval 0.1.0\n"


def test_an_interrupt_is_quiet(cli, qrels, run, monkeypatch):
    import nuggeteval.cli.score as module

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "scored", interrupt)
    assert cli(qrels, run) == (130, "", "")


@pytest.mark.parametrize("arguments", ["generate lancer --trace", "generate rerank --by listwise --trace"])
def test_a_trace_never_overwrites_an_input(arguments, cli, run):
    inputs = ("--run", run, "--queries", run, "--documents", run, "-o", "-")
    result = cli(*arguments.split(), run, *inputs)
    assert (result.code, "--trace" in result.err, "would overwrite an input" in result.err) == (2, True, True)


def test_an_input_is_never_overwritten(cli, qrels, run):
    result = cli("-o", qrels, qrels, run)
    assert result.code == 2
    assert "would overwrite an input" in result.err


def test_options_may_stand_between_the_files(cli, qrels, run):
    assert cli("score", qrels, "-m", "P@5", run).out == cli("score", "-m", "P@5", qrels, run).out != ""


def test_quiet_and_signature(cli, qrels, run):
    assert cli("--quiet", "-m", "P@1", qrels, run).err == ""
    assert cli("-m", "P@1", qrels, run).err.splitlines()[-1].startswith("nuggeteval 0.1.0|")
    assert "nuggeteval 0.1.0|" not in cli("-m", "P@1", "--format", "text", qrels, run).err


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (RUN, "a run? qrels come first"),
        ('{"topic": "t1"}\n', "this is JSON"),
        ("t1,0,d1,1\n", "separated by commas?"),
        ("query iter doc relevance\nt1 0 d 1\n", "a header line?"),
    ],
)
def test_files_of_another_kind_are_guessed(cli, write, run, content, hint):
    result = cli(write("qrels", content), run)
    assert result.code == 1
    assert hint in result.err


def test_measures_explains_every_name_that_m_takes(cli):
    for name in (
        "infAP",
        "bpref",
        "official",
        "alpha_nDCG(alpha=0.9)@10",
        "iprec_at_recall",
        "P",
        "all_trec",
        "strec@10",
    ):
        result = cli("measures", name)
        assert (result.code, result.err) == (0, ""), name
        assert result.out
    assert "full support alone over all nuggets" in cli("measures", "A_strict").out


def test_providers_that_want_numbers_for_topics_get_them(cli, qrels, run):
    # gdeval's ERR@2 for grades 1, 2 of 4: 1/16 + (1 - 1/16) (3/16) / 2 = 0.1504, by a Perl script.
    pytest.importorskip("shutil")
    result = cli("-q", "-m", "ERR@2", qrels, run)
    if result.code == 0:
        assert "ERR@2                 \tt1\t0.1504" in result.out
    else:
        assert "ERR@2: ir_measures could not compute it" in result.err


def test_progress_where_somebody_watches(cli, qrels, write, monkeypatch):
    runs = [write(f"r{number}.run", RUN.replace("mine", f"r{number}")) for number in range(12)]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    import nuggeteval.cli.score as module

    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True, raising=False)
    assert "12 of 12 runs" in cli("-m", "P@1", qrels, *runs).err


def test_closed_streams_are_errors(qrels, run):
    for redirection, message in (
        ("<&-", "stdin is closed"),
        (">&-", "stdout is closed"),
        (">/dev/full", "cannot be written"),
    ):
        command = f"{sys.executable} -m nuggeteval {'-' if '<' in redirection else qrels} {run} {redirection}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr
