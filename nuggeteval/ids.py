"""Columns of ids: packed byte strings that are hashed, compared and sorted without a Python loop.

An id is any run of bytes without ASCII white space; it is never interpreted. A column is one
buffer and, for each id, where it starts and how long it is, so that the ids of a file are the
file itself. Hashes only ever propose that two ids are equal: bytes decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nuggeteval.errors import DataError
from nuggeteval.rows import BoolArray, IntArray

__all__ = [
    "PAD",
    "Ids",
    "blocks",
    "decode",
    "encode",
    "group",
    "mix",
    "pad",
    "sorted_keys",
    "stable_id",
    "topic_keys",
    "topic_order",
]

KeyArray = NDArray[np.uint64]

PAD = 8
"""Zero bytes before and after the text of a buffer: every 8-byte load stays inside it."""

_BLOCK = 1 << 15
_LONGEST_SORTED_AS_MATRIX = 256
_LONGEST_BY_WORDS = 1024
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def encode(text: str) -> bytes:
    """The bytes of an id; undecodable bytes that :func:`decode` kept come back as they were.

    Raises:
        DataError: no string, or a lone surrogate, which no byte string stands for.
    """
    if not isinstance(text, str):
        raise DataError(f"ids must be strings (got {text!r})")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise DataError(f"id {text!a} holds a lone surrogate and cannot be written as UTF-8") from error


def decode(raw: bytes) -> str:
    """The text of an id; bytes that are not UTF-8 are kept as surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def pad(raw: bytes) -> NDArray[np.uint8]:
    """A buffer that holds ``raw`` between :data:`PAD` zero bytes on either side."""
    buffer = np.zeros(len(raw) + 2 * PAD, dtype=np.uint8)
    buffer[PAD : PAD + len(raw)] = np.frombuffer(raw, dtype=np.uint8)
    return buffer


def mix(keys: KeyArray) -> KeyArray:
    """Spread the entropy of 64-bit keys into their high bits."""
    keys = (keys ^ (keys >> _SHIFT)) * _MULTIPLIER
    return keys ^ (keys >> np.uint64(32))


def blocks(n: int) -> Iterator[slice]:
    """Slices small enough that the temporaries of the arithmetic stay in the cache."""
    for begin in range(0, n, _BLOCK):
        yield slice(begin, min(begin + _BLOCK, n))


class Ids:
    """An immutable column of ids.

    Args:
        buffer: bytes with :data:`PAD` spare ones at both ends, shape (bytes,).
        start: offset of each id in the buffer, shape (n,).
        length: number of bytes of each id, at least 1, shape (n,).
    """

    def __init__(self, buffer: NDArray[np.uint8], start: IntArray, length: IntArray) -> None:
        self.buffer, self.start, self.length = buffer, start, length

    @classmethod
    def of(cls, texts: Iterable[str]) -> Ids:
        """Pack texts, in their order.

        Raises:
            DataError: an empty id, one with ASCII white space or NUL, or a lone surrogate.
        """
        raws = [encode(text) for text in texts]
        for raw in raws:
            if not raw or raw.split() != [raw] or b"\0" in raw:
                raise DataError(f"id {decode(raw)!r} must be a non-empty string without white space")
        length = np.fromiter(map(len, raws), dtype=np.int64, count=len(raws))
        return cls(pad(b"".join(raws)), PAD + np.cumsum(length) - length, length)

    def __len__(self) -> int:
        return len(self.start)

    def raw(self, index: int) -> bytes:
        """The bytes of one id."""
        start = int(self.start[index])
        return self.buffer[start : start + int(self.length[index])].tobytes()

    def __getitem__(self, index: int) -> str:
        return decode(self.raw(index))

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def tolist(self) -> list[str]:
        """All ids as texts."""
        return [decode(raw) for raw in self.raws()]

    def raws(self) -> list[bytes]:
        """All ids as bytes."""
        text = self.buffer.data
        ends = self.start + self.length
        return [bytes(text[a:b]) for a, b in zip(self.start.tolist(), ends.tolist(), strict=True)]

    def changes(self) -> BoolArray:
        """Where an id differs from the one before it; the first does, shape (n,)."""
        new = np.ones(len(self), dtype=bool)
        if len(self):
            first = self.word(0)
            new[1:] = (first[1:] != first[:-1]) | (self.length[1:] != self.length[:-1])
        if len(self) and self.length.max() > 8:
            same = np.flatnonzero(~new)
            new[same] = ~self.take(same).equal(self.take(same - 1))
        return new

    def take(self, index: NDArray[Any] | slice) -> Ids:
        """The ids at these positions, on the same buffer."""
        return Ids(self.buffer, self.start[index], self.length[index])

    def compact(self) -> Ids:
        """The same ids on a buffer of their own, so that the file they came from can be freed."""
        raws = self.raws()
        return Ids(pad(b"".join(raws)), PAD + np.cumsum(self.length) - self.length, self.length)

    @cached_property
    def loads(self) -> KeyArray:
        """The 8 bytes that begin at every offset, as overlapping little-endian words."""
        return np.ndarray((len(self.buffer) - 7,), dtype="<u8", buffer=self.buffer.data, strides=(1,))

    def word(self, k: int) -> KeyArray:
        """Bytes 8k to 8k+7 of each id; the last word of an id is its last 8 bytes, or all of a short one.

        Only meaningful where ``length > 8 k``. With the length, the words determine an id.
        """
        words = self.loads[self.start + np.minimum(self.length - 8, 8 * k)]
        if k == 0 and len(self) and self.length.min() < 8:
            words = words >> (8 * np.maximum(8 - self.length, 0)).astype(np.uint64)
        return words

    def hash(self) -> KeyArray:
        """A 64-bit hash of each id, the same in every column and process, shape (n,)."""
        parts = [self.take(block)._hash() for block in blocks(len(self))]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)

    def _hash(self) -> KeyArray:
        keys = mix(self.length.astype(np.uint64) ^ self.word(0))
        for k, rows in self._further_words():
            if rows is None:
                keys = mix(keys ^ self.word(k))
            else:
                keys[rows] = mix(keys[rows] ^ self.take(rows).word(k))
        for row in np.flatnonzero(self.length > _LONGEST_BY_WORDS).tolist():
            keys[row] ^= np.uint64(int.from_bytes(blake2b(self.raw(row), digest_size=8).digest(), "little"))
        return keys

    def equal(self, other: Ids) -> BoolArray:
        """Where two columns of one length hold the same bytes, shape (n,)."""
        same = self.length == other.length
        same &= self.word(0) == other.word(0)
        for k, rows in self._further_words():
            open_rows = np.flatnonzero(same) if rows is None else rows[same[rows]]
            same[open_rows] = self.take(open_rows).word(k) == other.take(open_rows).word(k)
        if len(self) and self.length.max() > _LONGEST_BY_WORDS:
            for row in np.flatnonzero(same & (self.length > _LONGEST_BY_WORDS)).tolist():
                same[row] = self.raw(row) == other.raw(row)
        return same

    def _further_words(self) -> Iterator[tuple[int, IntArray | None]]:
        """Each k > 0 that some id has a word for, with the rows that do; None where all do.

        What very long ids have beyond their first kilobyte is left to those who ask.
        """
        shortest, longest = (int(self.length.min()), int(self.length.max())) if len(self) else (0, 0)
        for k in range(1, -(-min(longest, _LONGEST_BY_WORDS) // 8)):
            yield k, None if shortest > 8 * k else np.flatnonzero(self.length > 8 * k)

    def argsort(self, groups: IntArray | None = None) -> IntArray:
        """The order by group, then by bytes (as strcmp compares), shape (n,)."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        if groups is None:
            groups = np.zeros(len(self), dtype=np.int64)
        longest = int(self.length.max())
        if longest > _LONGEST_SORTED_AS_MATRIX:
            raws = self.raws()
            return np.array(sorted(range(len(self)), key=lambda i: (groups[i], raws[i])), dtype=np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(
            np.concatenate([self.buffer, np.zeros(longest, dtype=np.uint8)]), longest
        )
        matrix = windows[self.start]
        matrix[np.arange(longest) >= self.length[:, None]] = 0
        by_bytes = np.argsort(matrix.view(f"S{longest}").ravel(), kind="stable")
        return by_bytes[np.argsort(groups[by_bytes], kind="stable")]


def topic_order(topics: Iterable[str]) -> list[str]:
    """Topics in the order of their bytes, as trec_eval prints them."""
    return sorted(topics, key=encode)


def topic_keys(topics: Sequence[str]) -> KeyArray:
    """A hash of each topic, to be mixed into the hashes of what belongs to it."""
    return mix(Ids.of(topics).hash())


def _position_bits(n: int) -> np.uint64:
    return np.uint64(max(1, int(n).bit_length()))


def sorted_keys(keys: KeyArray) -> tuple[KeyArray, KeyArray, IntArray]:
    """Sort keys cut to their high bits, positions in the low bits: one sort, no indirection.

    Returns:
        (mask of the bits that are kept, cut keys in ascending order, position of each); equal cut
        keys stand in the order of their positions.
    """
    low = (np.uint64(1) << _position_bits(len(keys))) - np.uint64(1)
    packed = np.sort((keys & ~low) | np.arange(len(keys), dtype=np.uint64))
    return ~low, packed & ~low, (packed & low).astype(np.int64)


def group(ids: Ids, keys: KeyArray, part: IntArray) -> tuple[IntArray, IntArray]:
    """Number the distinct (part, id) pairs of a column, in no particular order.

    Args:
        ids: n ids.
        keys: n hashes that depend on the id and its part alone.
        part: what else must be equal, shape (n,), for example the topic.

    Returns:
        (code of each row, shape (n,); first row of each code, shape (codes,)).
    """
    if not len(ids):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    _, cut, position = sorted_keys(keys)
    new = np.ones(len(cut), dtype=bool)
    new[1:] = cut[1:] != cut[:-1]
    code = np.empty(len(cut), dtype=np.int64)
    code[position] = np.cumsum(new) - 1
    first = position[new]
    leader = first[code]
    same = (part[leader] == part) & ids.take(leader).equal(ids)
    return (code, first) if same.all() else _part_collisions(ids, part, code, first, same)


def _part_collisions(
    ids: Ids, part: IntArray, code: IntArray, first: IntArray, same: BoolArray
) -> tuple[IntArray, IntArray]:
    """Give rows that only hash like their leader codes of their own."""
    extra: dict[tuple[int, bytes], int] = {}
    firsts = first.tolist()
    for row in np.flatnonzero(~same).tolist():
        key = (int(part[row]), ids.raw(row))
        if key not in extra:
            extra[key] = len(firsts)
            firsts.append(row)
        code[row] = extra[key]
    return code, np.array(firsts, dtype=np.int64)


def stable_id(topic: str, text: str) -> str:
    """An id for a nugget of a format that has none: the same text has the same id, wherever it stands."""
    return sha256(f"{topic}\0{' '.join(text.split())}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
