"""Split text of a fixed number of white-space-separated columns, and read its numbers, as arrays.

The fast way is taken by whole chunks of regular lines; a line that is anything else goes through
:func:`_irregular`, which alone decides between comment and error. The two never disagree, because
the fast way does not interpret what it does not recognise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nuggeteval.errors import FormatError, shorten
from nuggeteval.ids import PAD, Ids, KeyArray, blocks, decode, pad
from nuggeteval.rows import BoolArray, FloatArray, IntArray

__all__ = ["Layout", "Lines", "parse_floats", "parse_integers", "scan"]

_CHUNK = 1 << 20
_NEWLINE = 10
_RETURN = 13
_HASH = 35
_POINT = 46
_MINUS = 45
_IS_SPACE = np.zeros(256, dtype=bool)
_IS_SPACE[list(b" \t\n\v\f\r")] = True
_HEADERS = {"score", "sim", "similarity", "value", "grade", "rel", "relevance", "label", "judgment", "judgement"}


@dataclass(frozen=True)
class Layout:
    """What a line must look like.

    Attributes:
        columns: the names of its columns, in order.
        others: what lines with another number of columns probably are.
    """

    columns: tuple[str, ...]
    others: dict[int, str] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def __str__(self) -> str:
        return f"{self.width} columns ({' '.join(self.columns)})"


@dataclass
class Lines:
    """The records of a file as columns of tokens.

    Attributes:
        path: the file, for messages.
        buffer: its padded bytes.
        start, length: where each token is, each shape (columns, records).
        comments: the lines that are no record and begin with ``#``, by their offset.
        errors: malformed lines, where they are collected instead of raised.
        strict: raise the first malformed line.
    """

    path: str
    buffer: NDArray[np.uint8]
    layout: Layout
    start: IntArray
    length: IntArray
    comments: dict[int, str] = field(default_factory=dict)
    errors: list[FormatError] = field(default_factory=list)
    strict: bool = True

    def __len__(self) -> int:
        return self.start.shape[1]

    def column(self, name: str) -> Ids:
        """One column of tokens."""
        index = self.layout.columns.index(name)
        return Ids(self.buffer, self.start[index], self.length[index])

    @cached_property
    def _newlines(self) -> IntArray:
        return np.flatnonzero(self.buffer == _NEWLINE)

    def line_at(self, offset: int) -> int:
        """The 1-based physical line of an offset in the buffer."""
        return 1 + int(np.searchsorted(self._newlines, offset))

    def line_of(self, record: int) -> int:
        """The 1-based physical line of a record."""
        return self.line_at(int(self.start[0, record]))

    def error(self, record: int, message: str) -> None:
        """Raise, or collect, a malformed record."""
        self._fail(FormatError(self.path, message, self.line_of(record)))

    def _fail(self, error: FormatError) -> None:
        if self.strict:
            raise error
        self.errors.append(error)

    def keep(self, records: NDArray[Any] | slice) -> None:
        """Drop the other records."""
        self.start, self.length = self.start[:, records], self.length[:, records]

    def reject(self, bad: BoolArray, column: str, rule: str) -> None:
        """Drop records whose token in a column breaks a rule: comments quietly, all others as errors."""
        tokens = self.column(column)
        for record in np.flatnonzero(bad).tolist():
            if self.buffer[self.start[0, record]] == _HASH and self._starts_line(record):
                self.comments[int(self.start[0, record])] = self._line_text(record)
            else:
                header = "; a header line?" if record == 0 and tokens[record].casefold() in _HEADERS else ""
                self.error(record, f"{column} must be {rule} (got {shorten(tokens[record])!r}){header}")
        self.keep(~bad)

    def _starts_line(self, record: int) -> bool:
        before = int(self.start[0, record]) - 1
        return before < PAD or bool(self.buffer[before] == _NEWLINE)

    def _line_text(self, record: int) -> str:
        begin = int(self.start[0, record])
        end = int(self.start[-1, record] + self.length[-1, record])
        return decode(self.buffer[begin:end].tobytes())


def scan(raw: bytes, path: str, layout: Layout, strict: bool = True) -> Lines:
    """Split a file into records of ``layout.width`` tokens.

    Args:
        raw: the bytes of the file.
        path: its name, for messages.
        layout: what a record looks like.
        strict: raise the first malformed line; otherwise collect them all in ``errors``.

    Returns:
        the records, in file order; blank lines and comments are left out.

    Raises:
        FormatError: a malformed line, with its physical line number.
    """
    buffer = pad(raw)
    most = int(np.count_nonzero(buffer == _NEWLINE)) + 1
    tokens = np.empty((2, layout.width, most), dtype=np.int64)
    lines = Lines(path, buffer, layout, tokens[0], tokens[1], strict=strict)
    filled = 0
    for begin, end in _chunks(raw):
        edges = _scan_chunk(lines, begin, end)
        chunk = slice(filled, filled + len(edges))
        tokens[0, :, chunk] = edges[:, 0::2].T
        np.subtract(edges[:, 1::2].T, tokens[0, :, chunk], out=tokens[1, :, chunk])
        filled = chunk.stop
    lines.keep(slice(0, filled))
    return lines


def _chunks(raw: bytes) -> Iterator[tuple[int, int]]:
    """Ranges of the padded buffer that begin and end with whole lines."""
    begin = 0
    while begin < len(raw):
        end = raw.find(b"\n", begin + _CHUNK)
        end = len(raw) if end < 0 else end + 1
        yield begin + PAD, end + PAD
        begin = end


def _scan_chunk(lines: Lines, begin: int, end: int) -> IntArray:
    """Start, end, start, end, ... of the tokens of a chunk's records, shape (records, 2 width)."""
    chunk = lines.buffer[begin:end]
    newlines = int(np.count_nonzero(chunk == _NEWLINE))
    regular_controls = int(np.count_nonzero(chunk < 32)) == newlines
    # One byte more on either side: a newline or padding, so that tokens begin and end inside.
    around = lines.buffer[begin - 1 : end + 1]
    blank = around <= 32 if regular_controls else _IS_SPACE[around] | (around == 0)
    blank[0] = blank[-1] = True
    edges = np.flatnonzero(blank[1:] != blank[:-1])
    edges += begin
    if not regular_controls and not chunk.all():
        _refuse_binary(lines, chunk, begin)
    width = lines.layout.width
    if len(edges) == 2 * width * newlines:
        matrix = edges.reshape(newlines, 2 * width)
        if (lines.buffer[matrix[:, -1]] == _NEWLINE).all():
            return matrix
    return _scan_irregular(lines, begin, end, edges)


def _refuse_binary(lines: Lines, chunk: NDArray[np.uint8], begin: int) -> None:
    where = begin + int(np.argmin(chunk))
    message = f"NUL byte: a binary file? expected text lines of {lines.layout}"
    raise FormatError(lines.path, message, lines.line_at(where))


def _scan_irregular(lines: Lines, begin: int, end: int, edges: IntArray) -> IntArray:
    """Like :func:`_scan_chunk` for chunks with blank lines, comments, blanks at line ends or errors."""
    newlines = np.flatnonzero(lines.buffer[begin:end] == _NEWLINE) + begin
    starts = edges[0::2]
    line = np.searchsorted(newlines, starts)
    tokens = np.bincount(line, minlength=len(newlines) + 1)
    width = lines.layout.width
    first = np.cumsum(tokens) - tokens
    for bad in np.flatnonzero((tokens != width) & (tokens != 0)).tolist():
        at = int(starts[first[bad]])
        text_begin = int(newlines[bad - 1]) + 1 if bad else begin
        text_end = int(newlines[bad]) if bad < len(newlines) else end
        _irregular(lines, at, text_begin, text_end, int(tokens[bad]))
    edge = 2 * first[tokens == width][:, None] + np.arange(2 * width)
    return np.asarray(edges[edge])


def _irregular(lines: Lines, at: int, begin: int, end: int, found: int) -> None:
    """Take a line with the wrong number of columns for a comment, or for an error."""
    text = decode(lines.buffer[begin:end].tobytes()).strip()
    if at == begin and lines.buffer[at] == _HASH:
        lines.comments[at] = text
        return
    message = f"expected {lines.layout}, found {found}: {shorten(text)!r}{_hint(text, found, lines.layout)}"
    lines._fail(FormatError(lines.path, message, lines.line_at(at)))


def _hint(text: str, found: int, layout: Layout) -> str:
    """What a file of another kind probably is."""
    if text.startswith(("{", "[")):
        return "; this is JSON"
    if found == 1 and text.count(",") >= layout.width - 1:
        return "; separated by commas? columns are separated by blanks or tabs"
    return f"; {layout.others[found]}" if found in layout.others else ""


_ONES = np.uint64(0x0101010101010101)
_ZEROS_TEXT = _ONES * np.uint64(ord("0"))
_HIGH_NIBBLES = _ONES * np.uint64(0xF0)
_SIXES = _ONES * np.uint64(6)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FLOAT = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_INTEGER = re.compile(rb"[+-]?[0-9]+(?:\.0*)?\Z")
_EXACT_DIGITS = 15
_LARGEST_INTEGER = 2**31 - 1


def _digits(loads: KeyArray, end: IntArray, count: IntArray | int) -> tuple[KeyArray, BoolArray]:
    """The numbers written by the ``count`` <= 8 characters before ``end``, and where all are digits.

    Eight characters are one little-endian word; the digits are summed pairwise in three steps.
    """
    blank = np.asarray(8 * (8 - np.asarray(count)), dtype=np.uint64)
    # Two shifts, since a word shifted by 64 is not 0.
    keep = (_FULL << (blank >> np.uint64(1))) << (blank - (blank >> np.uint64(1)))
    word = (loads[end - 8] & keep) | (_ZEROS_TEXT & ~keep)
    # A digit, and a digit plus six, both have the high nibble 3; nothing else has.
    valid = (((word ^ _ZEROS_TEXT) | ((word + _SIXES) ^ _ZEROS_TEXT)) & _HIGH_NIBBLES) == 0
    word -= _ZEROS_TEXT
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF), valid


def parse_integers(tokens: Ids) -> tuple[IntArray, BoolArray]:
    """Read integers, written as such or with a zero fraction.

    Args:
        tokens: n tokens.

    Returns:
        (values, shape (n,); where the token is no integer of 32 bits and the value means nothing).
    """
    values = np.zeros(len(tokens), dtype=np.int64)
    bad = np.zeros(len(tokens), dtype=bool)
    for block in blocks(len(tokens)):
        part = tokens.take(block)
        number, valid = _digits(part.loads, part.start + part.length, np.minimum(part.length, 8))
        values[block] = number
        bad[block] = ~valid | (part.length > 8)
    for row in np.flatnonzero(bad).tolist():
        raw = tokens.raw(row)
        if len(raw) <= 40 and _INTEGER.match(raw) and abs(value := int(raw.split(b".")[0])) <= _LARGEST_INTEGER:
            values[row], bad[row] = value, False
    return values, bad


def parse_floats(tokens: Ids) -> tuple[FloatArray, BoolArray]:
    """Read finite decimal numbers, correctly rounded to 64 bits.

    A number of at most 15 digits is an integer below 2**53 over a power of ten below 10**22, both
    exact, so that one division rounds correctly; all others go through Python's own conversion.

    Args:
        tokens: n tokens.

    Returns:
        (values, shape (n,); where the token is no finite number and the value means nothing).
    """
    values = np.zeros(len(tokens), dtype=np.float64)
    bad = np.zeros(len(tokens), dtype=bool)
    for block in blocks(len(tokens)):
        part = tokens.take(block)
        values[block], open_rows = _parse_short_floats(part)
        for row in open_rows.tolist():
            values[block.start + row], bad[block.start + row] = _parse_one_float(part.raw(row))
    return values, bad


def _parse_one_float(raw: bytes) -> tuple[float, bool]:
    value = float(raw) if _FLOAT.match(raw) else np.inf
    return (value, False) if np.isfinite(value) else (0.0, True)


def _parse_short_floats(part: Ids) -> tuple[FloatArray, IntArray]:
    """Values of the plain numbers of few digits, and the rows that are anything else."""
    start, end = part.start, part.start + part.length
    negative = part.buffer[start] == _MINUS
    start = start + negative
    values = np.zeros(len(part), dtype=np.float64)
    rest = np.arange(len(part))
    undecided: list[IntArray] = []
    # Numbers of one file share their number of decimals, or nearly: read one such number at a time.
    for _ in range(_EXACT_DIGITS + 1):
        if not len(rest):
            break
        decimals = _decimals(part.raw(int(rest[0])))
        if decimals is None:
            undecided.append(rest[:1])
            rest = rest[1:]
            continue
        rows = rest[part.buffer[end[rest] - 1 - decimals] == _POINT] if decimals else rest
        number, valid = _fixed_point(part.loads, start[rows], end[rows], decimals)
        values[rows[valid]] = number[valid]
        done = np.zeros(len(part), dtype=bool)
        done[rows[valid] if not decimals else rows] = True
        done[rest[0]] = True
        undecided.append(rows[~valid & done[rows]])
        rest = rest[~done[rest]]
    np.negative(values, out=values, where=negative)
    return values, np.concatenate([*undecided, rest])


def _decimals(raw: bytes) -> int | None:
    """Digits after the point, 0 without a point; None for a number that is not read the short way."""
    whole, _, fraction = raw.removeprefix(b"-").partition(b".")
    digits = whole + fraction
    return len(fraction) if digits.isdigit() and len(digits) <= _EXACT_DIGITS else None


def _fixed_point(loads: KeyArray, start: IntArray, end: IntArray, decimals: int) -> tuple[FloatArray, BoolArray]:
    """Numbers with this many decimals (the point is known to be there), and where they are exact."""
    point = end - 1 - decimals if decimals else end
    whole = point - start
    number, valid = _digits(loads, point, np.clip(whole, 0, 8))
    valid &= (whole <= min(8, _EXACT_DIGITS - decimals)) & (whole + decimals > 0) & (whole >= 0)
    for done in range(0, decimals, 8):
        count = min(8, decimals - done)
        digits, all_digits = _digits(loads, point + 1 + done + count, count)
        number = number * np.uint64(10**count) + digits
        valid &= all_digits
    return number.astype(np.float64) / 10.0**decimals, valid
