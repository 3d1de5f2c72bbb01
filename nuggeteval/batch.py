"""Batches in OpenAI's form: questions that go out in a file, and the results that come back in another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nuggeteval.cache import Reply
from nuggeteval.errors import JudgeError

__all__ = ["first_tokens", "read_results", "write_questions"]

_BEGINNING = b'{"custom_id": '


def write_questions(bodies: Mapping[str, Mapping[str, Any]], path: str, append: bool) -> None:
    """Write questions.

    Args:
        bodies: id -> body of the call.
        path: where to.
        append: after those of an earlier call, instead of over an earlier batch.

    Raises:
        JudgeError: the file cannot be written, or is there and no batch.
    """
    file = Path(path)
    lines = [
        json.dumps(
            {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}, ensure_ascii=False
        )
        for key, body in bodies.items()
    ]
    try:
        if not append and file.exists() and not _is_batch(file):
            raise JudgeError(f"{path} is there already, and is no batch: it is left alone")
        with file.open("a" if append else "w", encoding="utf-8") as handle:
            handle.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise JudgeError(f"{path} cannot be written: {error.strerror or error}") from error


def _is_batch(file: Path) -> bool:
    """Whether a file is empty, or begins as a batch does."""
    with file.open("rb") as handle:
        found = handle.read(len(_BEGINNING))
    return found in (b"", _BEGINNING)


def read_results(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Reply | None]]:
    """The id and the reply of each result; None where there is no reply.

    Raises:
        JudgeError: a record that is no result.
    """
    for number, record in enumerate(records, start=1):
        response = record.get("response") or {}
        if not isinstance(record.get("custom_id"), str) or not isinstance(response, dict):
            raise JudgeError(f"result {number} of the batch has no custom_id and response")
        yield record["custom_id"], _reply(response.get("body")) if response.get("status_code") == 200 else None


def _reply(body: Any) -> Reply | None:
    """The reply in the body of a result; None where it has another shape."""
    try:
        choice = body["choices"][0]
        text, finish = choice["message"].get("content") or "", str(choice.get("finish_reason") or "")
        logprobs = first_tokens(choice.get("logprobs"))
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    if not isinstance(text, str):
        return None
    return Reply(text, finish, "" if text.strip() else f"empty reply ({finish or 'no finish reason'})", logprobs)


def first_tokens(logprobs: Any) -> tuple[tuple[str, float], ...]:
    """The likeliest first tokens of a choice, with their log probabilities.

    Args:
        logprobs: what a choice has under this name, as JSON or as an object of the client.

    Returns:
        (token, log probability) as the server orders them; nothing where it gives none, or in another shape.
    """
    content = _part(logprobs, "content")
    top = _part(content[0], "top_logprobs") if isinstance(content, list) and content else None
    pairs = [(_part(entry, "token"), _part(entry, "logprob")) for entry in top] if isinstance(top, list) else []
    return tuple(
        (token, float(value))
        for token, value in pairs
        if isinstance(token, str) and isinstance(value, int | float) and math.isfinite(value)
    )


def _part(value: Any, name: str) -> Any:
    """A part of what is an object in JSON, or of an object of the client; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
