"""Open what a user names: a path, ``-`` for stdin, compressed or not; always as bytes.

Compression is known by the first bytes, never by the name.
"""

from __future__ import annotations

import io
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from nuggeteval.errors import FormatError, MissingDependencyError, shorten

__all__ = [
    "STDIN",
    "json_line",
    "json_object",
    "json_records",
    "lines_of",
    "parse_json",
    "read_bytes",
    "stem",
    "write_text",
]

STDIN = "-"

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _gunzip(raw: bytes) -> bytes:
    import gzip

    return gzip.decompress(raw)


def _bunzip2(raw: bytes) -> bytes:
    import bz2

    return bz2.decompress(raw)


def _unxz(raw: bytes) -> bytes:
    import lzma

    return lzma.decompress(raw)


def _unzstd(raw: bytes) -> bytes:
    try:
        from compression.zstd import decompress  # Python 3.14 and later
    except ImportError:
        try:
            import zstandard
        except ImportError as error:
            raise MissingDependencyError(
                "reading .zst files needs zstandard before Python 3.14: pip install 'nuggeteval[zst]'"
            ) from error
        text = b""
        while raw:
            frame = zstandard.ZstdDecompressor().decompressobj()
            text += frame.decompress(raw)
            if not frame.eof:
                raise EOFError("compressed file ended before the end of a frame") from None
            raw = frame.unused_data
        return text
    return bytes(decompress(raw))


_DECOMPRESSORS: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": ("gzip", _gunzip),
    b"BZh": ("bzip2", _bunzip2),
    b"\xfd7zXZ\x00": ("xz", _unxz),
    b"\x28\xb5\x2f\xfd": ("zstd", _unzstd),
}


_STREAMS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}


def read_bytes(path: str) -> bytes:
    """All bytes of a file, decompressed, without a UTF-8 byte-order mark.

    Args:
        path: a file, or ``-`` for stdin.

    Raises:
        FormatError: it cannot be opened, is a directory, is cut short or is UTF-16.
        MissingDependencyError: zstd data and no package that reads them.
    """
    raw = _decompress(path, _read_raw(path))
    if raw.startswith(_UTF16):
        raise FormatError(path, "text is UTF-16; save it as UTF-8", 1)
    return raw.removeprefix(_BOM)


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a file, one at a time: a large one need not fit in memory, nor be read to its end.

    Args:
        path: a file, compressed or not, or ``-`` for stdin.

    Raises:
        FormatError: as :func:`read_bytes`.
        MissingDependencyError: as :func:`read_bytes`.
    """
    try:
        with _opened(path) as stream:
            for number, line in enumerate(stream):
                if number == 0 and line.startswith(_UTF16):
                    raise FormatError(path, "text is UTF-16; save it as UTF-8", 1)
                yield line if number else line.removeprefix(_BOM)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FormatError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _opened(path: str) -> IO[bytes]:
    """A file as a stream, decompressed on the way where the standard library can."""
    if path == STDIN or not Path(path).is_file():
        return io.BytesIO(read_bytes(path))
    with Path(path).open("rb") as stream:
        magic = stream.read(6)
    for start, package in _STREAMS.items():
        if magic.startswith(start):
            opened: IO[bytes] = import_module(package).open(path, "rb")
            return opened
    if any(magic.startswith(start) for start in _DECOMPRESSORS):
        return io.BytesIO(read_bytes(path))
    return Path(path).open("rb")


def _read_raw(path: str) -> bytes:
    if path == STDIN and sys.stdin is None:
        raise FormatError(path, "stdin is closed")
    try:
        return _read_stdin() if path == STDIN else Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FormatError(path, "no such file") from error
    except IsADirectoryError as error:
        raise FormatError(path, "is a directory, not a file") from error
    except (OSError, ValueError) as error:
        raise FormatError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


_stdin: list[tuple[object, bytes]] = []


def _read_stdin() -> bytes:
    """All of stdin, which can be read once, as often as it is asked for."""
    if not _stdin or _stdin[0][0] is not sys.stdin:
        _stdin[:] = [(sys.stdin, sys.stdin.buffer.read())]
    return _stdin[0][1]


def _decompress(path: str, raw: bytes) -> bytes:
    for magic, (name, decompress) in _DECOMPRESSORS.items():
        if raw.startswith(magic):
            try:
                return decompress(raw)
            except MissingDependencyError:
                raise
            # Each library has its own exceptions for cut and damaged data, zlib's and zstd's among them.
            except Exception as error:
                raise FormatError(path, f"damaged or truncated {name} data ({error})") from error
    return raw


def json_records(raw: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSON lines, or of one JSON array, each with its 1-based line.

    The line of an object in an array is that of the array. Blank lines are skipped.

    Raises:
        FormatError: not JSON, or something else than objects.
    """
    if raw.lstrip()[:1] == b"[":
        records = parse_json(raw, path, 1)
        for record in records:
            yield 1, _as_object(record, path, 1)
        return
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            yield number, _as_object(parse_json(line, path, number), path, number)


def json_line(record: Any) -> str:
    """A line of JSON, in UTF-8 as it is; what UTF-8 cannot hold (half of a pair, a stray byte) is escaped."""
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        line = json.dumps(record)
    return f"{line}\n"


def json_object(raw: bytes) -> dict[str, Any] | None:
    """The one JSON object that a file is; None if it is anything else, JSON lines among them."""
    if raw.lstrip()[:1] != b"{":
        return None
    try:
        whole = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) else None


def parse_json(raw: bytes, path: str, line: int) -> Any:
    """What a piece of JSON holds.

    Raises:
        FormatError: naming the line, counted from that of the piece.
    """
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise FormatError(path, f"not JSON: {error.msg} at column {error.colno}", line + error.lineno - 1) from None
    except UnicodeDecodeError as error:
        raise FormatError(path, f"not UTF-8: {error.reason}", line) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(path, f"not readable JSON: {error}", line) from None


def _as_object(record: Any, path: str, line: int) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise FormatError(path, f"expected a JSON object, found {shorten(repr(record), 40)}", line)
    return record


def stem(path: str) -> str:
    """A file's name without folder, compression suffix and last suffix: a name for what it holds."""
    name = Path(path).name
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(suffix)
    return Path(name).stem or name


def write_text(path: str, text: str) -> None:
    """Write UTF-8 text as it is, line ends too; ids that were not UTF-8 get their own bytes back. ``-`` is stdout.

    Raises:
        FormatError: the file cannot be written.
    """
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from error
