"""Broken files: a clear error or a right answer, never a traceback, never a hang."""

import gzip
import json
import random
import re
import time

import numpy as np
import pytest
from conftest import ROOT

from nuggeteval import Inputs, NuggetEvalError, Policies, evaluate, read_bank, read_qrels, read_run
from nuggeteval.columns import scan
from nuggeteval.formats.nuggets import bank_from_bytes
from nuggeteval.formats.trec import QRELS_LAYOUT, RUN_LAYOUT, qrels_from_lines, run_from_lines

MUTATIONS = 100_000

RUN = b"".join(b"t%d Q0 d%d %d %.2f tag\n" % (t, d, d, 9 - d) for t in (1, 2) for d in (1, 2, 3, 4))
QRELS = b"".join(b"t%d n%d d%d %d\n" % (t, n, d, (t + n + d) % 3) for t in (1, 2) for n in (1, 2) for d in (1, 2, 5))
BANK = b"".join(
    json.dumps(
        {"topic": f"t{t}", "nuggets": [{"id": f"n{n}", "text": "x", "importance": "vital"} for n in (1, 2)]}
    ).encode()
    + b"\n"
    for t in (1, 2)
)
PIECES = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\0", b"#", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\xa0", b"nan", b"inf", b"1e400",
    b"-", b"+", b".", b"1e-5", b"0x1", b"99999999999999999999", b"{", b"}", b"[", b'"', b"\\", b"\\ud800", b"null", b"t1", b"d1",
    b"t1 Q0 d1 1 1 x\n", b"t1 n1 d1 1\n", b"\x1f\x8b", b"BZh", b"(\xb5/\xfd", b"\x85", b"\x1c", b"\x0b", b"x" * 300,
]  # fmt: skip


def mutate(rng, raw):
    """One to three random edits: cut, copy, insert, replace, swap lines, flip a bit."""
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
        kind = rng.randrange(6)
        if kind == 0:
            raw = raw[:at] + raw[to:]
        elif kind == 1:
            raw = raw[:to] + raw[at:]
        elif kind == 2:
            raw = raw[:at] + rng.choice(PIECES) + raw[at:]
        elif kind == 3:
            raw = raw[:at] + rng.choice(PIECES) + raw[min(len(raw), at + rng.randint(1, 4)) :]
        elif kind == 4:
            lines = raw.splitlines(keepends=True)
            rng.shuffle(lines)
            raw = b"".join(lines)
        elif raw:
            flipped = bytearray(raw)
            flipped[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            raw = bytes(flipped)
    return raw


NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def slow_records(raw, width, column):
    """What the lines of a file hold, read the slow way: records, or None where some line is malformed."""
    records = []
    for line in raw.split(b"\n"):
        fields = line.split()
        if not fields:
            continue
        good = len(fields) == width and NUMBER.match(fields[column]) and abs(float(fields[column])) < 1e308
        if not good and line.startswith(b"#"):
            continue
        if not good or b"\0" in line:
            return None
        records.append(fields)
    return records


def check_run(raw):
    lines = scan(raw, "run", RUN_LAYOUT)
    run = run_from_lines(lines)
    expected = slow_records(raw, 6, 4)
    assert expected is not None
    assert run.units.raws() == [fields[2] for fields in expected]
    assert run.scores.tolist() == [float(fields[4]) for fields in expected]
    return run.without_duplicates()


def check_qrels(raw):
    lines = scan(raw, "qrels", QRELS_LAYOUT)
    qrels = qrels_from_lines(lines)
    expected = slow_records(raw, 4, 3)
    assert expected is not None
    assert sorted(qrels.grade.tolist()) == sorted(int(float(fields[3])) for fields in expected)
    assert len(qrels.unit_ids) == len({(fields[0], fields[2]) for fields in expected})
    return qrels


def check_bank(raw):
    bank, errors = bank_from_bytes(raw, "bank")
    if errors:
        raise errors[0]
    return bank


def test_random_mutations_are_errors_or_right_answers():
    """100,000 mutants, seeded; every tenth one that is read is scored as well."""
    rng = random.Random(20261130)
    sound = check_run(RUN), check_qrels(QRELS), check_bank(BANK)
    checks = ((RUN, check_run), (QRELS, check_qrels), (BANK, check_bank))
    read = refused = 0
    slowest = 0.0
    for number in range(MUTATIONS):
        which = rng.choices((0, 1, 2), (4, 4, 2))[0]
        base, check = checks[which]
        mutant = mutate(rng, base)
        begin = time.perf_counter()
        try:
            parts = list(sound)
            parts[which] = check(mutant)
            if number % 10 == 0 and len(parts[0]):
                scores = evaluate(
                    "alpha_nDCG@3 Cov AP Recall_NtN", Inputs(parts[1], [parts[0]], parts[2]), Policies(rel=1)
                )
                aggregates = scores.aggregates[~np.isnan(scores.aggregates)]
                assert ((aggregates >= 0) & (aggregates <= 1.5)).all()
        except NuggetEvalError as error:
            refused += 1
            assert str(error)
        else:
            read += 1
        slowest = max(slowest, time.perf_counter() - begin)
    assert read + refused == MUTATIONS
    assert read > MUTATIONS / 10
    assert refused > MUTATIONS / 10
    assert slowest < 5


@pytest.fixture
def demo():
    return str(ROOT / "qrels" / "demo.qrels"), str(ROOT / "runs" / "demo-tfidf.run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(RUN * 100)[:40], "damaged or truncated gzip data"),
        (b"", "empty run"),
        (bytes(range(256)) * 40, "NUL byte: a binary file?"),
        (random.Random(1).randbytes(20_000), ""),
        (b"x" * 10_000_000, "expected 6 columns"),
        (b"t Q0 " + b"d" * 10_000_000 + b" 1 1 x\n", "no topic in common"),
        (b"t Q0 d 1 1 x " * 1_000_000, "expected 6 columns (topic Q0 unit rank score tag), found 6000000"),
        (b"sourdough Q0 \xed\xa0\x80 1 1 x\n", None),
        ("sourdough Q0 \U0001f35e 1 1 x\n".encode(), None),
    ],
    ids=["cut gzip", "empty", "binary", "noise", "long line", "long id", "long record", "surrogate", "emoji"],
)
def test_broken_runs(content, message, cli, write, demo):
    result = cli("-l", "3", demo[0], write("broken.run", content))
    assert len(result.err) < 3000
    if message is None:
        assert result.code == 0
    else:
        assert result.code == 1
        assert result.out == ""
        assert message in result.err


@pytest.mark.parametrize("kind", ["run", "qrels", "bank"])
def test_a_directory_is_no_file(kind, cli, tmp_path, demo):
    qrels, run = demo
    arguments = {"run": (qrels, tmp_path), "qrels": (tmp_path, run), "bank": ("--bank", tmp_path, qrels, run)}[kind]
    result = cli(*arguments)
    assert result.code == 1
    assert "is a directory, not a file" in result.err


def test_a_surrogate_in_an_id_of_a_bank(write):
    with pytest.raises(NuggetEvalError, match=r"bank:1: .*lone surrogate"):
        read_bank(write("bank", '{"topic": "t", "nuggets": [{"id": "\\udc80\\ud800", "text": "x"}]}'))


def test_many_topics_and_one_unit_each(write):
    """Interleaved topics, forty thousand of them, are read and joined in one go."""
    n = 40_000
    run = read_run(write("run", b"".join(b"t%d Q0 d 1 1 x\n" % (i % n) for i in range(n)) + b"t0 Q0 e 1 2 x\n"))
    qrels = read_qrels(write("qrels", b"".join(b"t%d n%d d 1\n" % (i, i) for i in range(n))))
    scores = evaluate("alpha_nDCG@5 RR", Inputs(qrels, [run]))
    assert scores.value("x", "alpha_nDCG@5", "t7") == 1.0
    assert scores.value("x", "RR", "t0") == 0.5
    assert scores.value("x", "RR") == pytest.approx((n - 0.5) / n)
