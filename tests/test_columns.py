"""Columns and numbers: the fast way says what a slow and obvious one says."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval.columns import Layout, parse_floats, parse_integers, scan
from nuggeteval.errors import DataError, FormatError
from nuggeteval.ids import Ids, group, mix

LAYOUT = Layout(("a", "b", "c"))


def rows(raw, strict=True):
    lines = scan(raw, "file", LAYOUT, strict)
    return list(zip(*(lines.column(name).raws() for name in "abc"), strict=True)), lines


def slow_rows(raw):
    """Split at newlines, then at the six white-space bytes of ASCII."""
    return [tuple(line.split()) for line in raw.split(b"\n") if line.split()]


@pytest.mark.parametrize(
    "raw",
    [
        b"x y z\n",
        b"x y z",
        b"x\ty\tz\nu v w\n",
        b"  x  y\t z  \n\n \t \nu v w",
        b"x y z\r\nu v w\r\n",
        b"x y z\nu v w\r\n",
        b"x\vy\fz\n",
        "α β ζ\n".encode(),
        b"\xff \xfe\x80 \xed\xa0\x80\n",
        b"x y z\xc2\xa0w\n",
        b"x\x1fy y z\n",
        b"a" * 100_000 + b" y z\n",
        b"x y z\n" * 200_000,
    ],
    ids=range(13),
)
def test_rows(raw):
    found, lines = rows(raw)
    assert found == slow_rows(raw)
    assert lines.line_of(len(found) - 1) == 1 + raw.rstrip().count(b"\n")


@given(st.lists(st.lists(st.sampled_from([b"x", b"yy", b"#z", b"1"]), max_size=5), max_size=8), st.data())
def test_any_blanks_anywhere(tokens, data):
    blanks = st.text(" \t\r\v\f", min_size=1, max_size=3).map(str.encode)
    raw = b"\n".join(b"".join(part + data.draw(blanks) for part in line) for line in tokens)
    found, lines = rows(raw, strict=False)
    split = slow_rows(raw)
    assert found == [row for row in split if len(row) == 3]
    bad = [row for row in split if len(row) != 3]
    assert len(lines.errors) == sum(not row[0].startswith(b"#") for row in bad)
    assert len(lines.comments) == sum(row[0].startswith(b"#") for row in bad)


def test_errors_name_the_physical_line():
    with pytest.raises(FormatError, match=r"^file:4: expected 3 columns \(a b c\), found 2: 'only two'$"):
        rows(b"# head\n\nx y z\nonly two\n")
    with pytest.raises(FormatError, match=r"^file:2: NUL byte"):
        rows(b"x y z\nx \0 z\n")


def test_errors_are_located_beyond_the_first_chunk():
    raw = b"x y z\n" * 400_000 + b"\nbad\n"
    with pytest.raises(FormatError, match=r"^file:400002: "):
        rows(raw)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
    st.integers(-(10**18), 10**18).map(str),
    st.from_regex(r"[+-]?[0-9]{1,20}\.[0-9]{0,20}([eE][+-]?[0-9]{1,2})?", fullmatch=True).filter(str.isascii),
    st.sampled_from(
        ["nan", "inf", "-inf", "1e999", "0x10", "1_000", "high", ".", "-", "+.5", "5.", "1.2.3", "٣", "-0.0"]
    ),
)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_floats_are_pythons_floats(texts):
    values, bad = parse_floats(Ids.of(texts))
    for text, value, wrong in zip(texts, values.tolist(), bad.tolist(), strict=True):
        plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text, re.ASCII)
        finite = bool(plain) and math.isfinite(float(text))
        assert wrong is not finite, text
        if finite:
            assert (value, math.copysign(1, value)) == (float(text), math.copysign(1, float(text))), text


@given(st.lists(st.one_of(st.integers(-(2**33), 2**33).map(str), NUMBERS), min_size=1, max_size=30))
def test_integers_are_pythons_integers(texts):
    values, bad = parse_integers(Ids.of(texts))
    for text, value, wrong in zip(texts, values.tolist(), bad.tolist(), strict=True):
        whole = re.fullmatch(r"[+-]?[0-9]+(\.0*)?", text, re.ASCII)
        right = bool(whole) and abs(int(text.split(".")[0])) < 2**31
        assert wrong is not right, text
        if right:
            assert value == int(text.split(".")[0])


IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=40).filter(
    lambda text: text.split() == [text] and text.encode().split() == [text.encode()]
)


@given(st.lists(IDS, min_size=1, max_size=20), st.lists(st.integers(0, 2), min_size=20, max_size=20))
def test_ids_are_grouped_and_sorted_like_python_does(texts, parts):
    ids, part = Ids.of(texts), np.array(parts[: len(texts)])
    assert ids.tolist() == texts
    pairs = list(zip(part.tolist(), (text.encode() for text in texts), strict=True))
    assert [pairs[i] for i in ids.argsort(part)] == sorted(pairs)
    code, first = group(ids, mix(ids.hash() ^ part.astype(np.uint64)), part)
    for i, pair in enumerate(pairs):
        assert [code[i] == code[j] for j in range(len(pairs))] == [pair == other for other in pairs]
        assert pairs[first[code[i]]] == pair
    assert ids.changes().tolist() == [True, *(a != b for a, b in pairwise(texts))]


def test_equal_hashes_are_no_equal_ids():
    ids = Ids.of(["a", "b", "a", "c", "b"])
    code, first = group(ids, np.zeros(5, dtype=np.uint64), np.zeros(5, dtype=np.int64))
    assert code[0] == code[2]
    assert code[1] == code[4]
    assert len({*code.tolist()}) == len(first) == 3


def test_very_long_ids_are_sorted_too():
    texts = ["x" * 5000, "x" * 4999, "a", "x" * 4999 + "y", "x" * 3000 + "y" + "x" * 1999, "x" * 5000]
    ids = Ids.of(texts)
    assert [texts[i] for i in ids.argsort()] == sorted(texts)
    code, _ = group(ids, ids.hash(), np.zeros(len(texts), dtype=np.int64))
    assert [code[i] == code[0] for i in range(len(texts))] == [text == texts[0] for text in texts]


@pytest.mark.parametrize("text", ["", "a b", " a", "a\n", "a\0b", "\ud800"])
def test_impossible_ids_are_refused(text):
    with pytest.raises(DataError, match=r"id .*(white space|surrogate)"):
        Ids.of([text])
