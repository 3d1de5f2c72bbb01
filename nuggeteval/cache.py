"""Replies of language models, kept in one file under a hash of all that they depend on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nuggeteval.errors import JudgeError

__all__ = ["Cache", "Reply"]


class Reply(NamedTuple):
    """What came back: a text, and how it ended; or the reason why there is none.

    Attributes:
        text: of the reply.
        finish: why it ended.
        reason: why there is no reply.
        logprobs: the likeliest first tokens with their log probabilities, where they were asked for and given.
    """

    text: str
    finish: str
    reason: str = ""
    logprobs: tuple[tuple[str, float], ...] = ()


class Cache:
    """Replies by key, in one SQLite file that several processes can share.

    Args:
        path: the file; made if it is not there. None keeps nothing.
    """

    def __init__(self, path: str | None) -> None:
        self._connection = sqlite3.connect(path, timeout=60, isolation_level=None) if path else None
        if self._connection:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
                )
            except sqlite3.DatabaseError as error:
                raise JudgeError(f"{path} is no cache of replies: {error}") from error

    def get(self, key: str) -> Reply | None:
        """The reply that is kept under a key."""
        if not self._connection:
            return None
        row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else _from_json(json.loads(row[0]))

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; a second one under the same key changes nothing."""
        if self._connection:
            # Replies without log probabilities are written as before there were any.
            fields = [reply.text, reply.finish, reply.reason, *([reply.logprobs] if reply.logprobs else [])]
            text = json.dumps(fields)
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, text))

    def export(self) -> Iterator[str]:
        """All replies as JSON lines, so that others can score again without a model."""
        rows = self._connection.execute("SELECT key, reply FROM replies ORDER BY key") if self._connection else ()
        for key, reply in rows:
            yield json.dumps({"key": key, "reply": json.loads(reply)}, ensure_ascii=False) + "\n"

    def load(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Take in what another cache exported."""
        for line in lines:
            self.put(str(line["key"]), _from_json(line["reply"]))

    def close(self) -> None:
        """Close the file."""
        if self._connection:
            self._connection.close()


def _from_json(fields: Sequence[Any]) -> Reply:
    """A reply from its fields; the fourth is absent where there are no log probabilities."""
    text, finish, reason, *more = fields
    return Reply(text, finish, reason, tuple((token, value) for token, value in more[0]) if more else ())
