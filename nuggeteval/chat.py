"""The one door to a language model: any server that speaks the OpenAI protocol.

Calls are bounded in number at a time and paced by the minute, replies are cached in one file under a hash
of all that they depend on, tokens are counted, and a budget stops before it could be exceeded.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nuggeteval.batch import first_tokens, write_questions
from nuggeteval.cache import Cache, Reply
from nuggeteval.errors import JudgeError, shorten

__all__ = ["Chat", "Ledger", "Request", "Settings"]

KEY_VARIABLE = "OPENAI_API_KEY"
_PATIENCE = 60.0
_OUR_CHOICE = -1.0
_TRY_AGAIN = (408, 409, 429)


@dataclass(frozen=True)
class Settings:
    """What is asked, and how.

    Attributes:
        model: name of the model.
        base_url: of the server; None for OpenAI's, or what OPENAI_BASE_URL says.
        model_id: stands for the server in cache keys, so that caches can be shared between servers.
        temperature, seed, max_tokens: of every call.
        concurrency: calls at a time.
        rpm: calls a minute; None for no pacing.
        timeout: seconds for one call.
        retries: of a call that the server could not take (429, 5xx, time-out).
        budget: most that may be spent: tokens, or money where there are prices.
        prices: of a million tokens in and out.
        offline: answer from the cache alone.
        batch_out: file for the questions that are not in the cache, which are then not asked, in OpenAI's form of
            batches.
    """

    model: str
    base_url: str | None = None
    model_id: str | None = None
    temperature: float = 0.0
    seed: int | None = 42
    max_tokens: int = 64
    concurrency: int = 8
    rpm: float | None = None
    timeout: float = 120.0
    retries: int = 5
    budget: float | None = None
    prices: tuple[float, float] | None = None
    offline: bool = False
    batch_out: str | None = None

    @property
    def host(self) -> str:
        """What stands for the server: its host, unless told otherwise."""
        url = self.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        return self.model_id or urlsplit(url).netloc


class Request(NamedTuple):
    """One question.

    Attributes:
        messages: of the chat, as (role, text).
        vote, attempt: which repetition of the question it is.
        max_tokens: longest reply; None for what is set for all questions.
        top_logprobs: number of likeliest first tokens that the reply shall carry with their log probabilities.
        response_format: that the server shall keep to, as JSON; empty for free text.
    """

    messages: tuple[tuple[str, str], ...]
    vote: int = 0
    attempt: int = 0
    max_tokens: int | None = None
    top_logprobs: int = 0
    response_format: str = ""


@dataclass
class Ledger:
    """What was spent."""

    calls: int = 0
    hits: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    prices: tuple[float, float] | None = None

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """Money where there are prices, else tokens."""
        if self.prices is None:
            return tokens_in + tokens_out
        return (tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1e6

    @property
    def spent(self) -> float:
        """The cost of all calls."""
        return self.cost(self.tokens_in, self.tokens_out)

    def __str__(self) -> str:
        money = "" if self.prices is None else f", cost {self.spent:.4f}"
        return f"{self.calls} calls, {self.hits} cached, {self.tokens_in} tokens in, {self.tokens_out} out{money}"


@dataclass
class Chat:
    """Ask a model many questions.

    Args:
        settings: what is asked, and how.
        cache: where replies are kept.
    """

    settings: Settings
    cache: Cache = field(default_factory=lambda: Cache(None))

    def __post_init__(self) -> None:
        self.ledger = Ledger(prices=self.settings.prices)
        self._reserved = 0.0
        self._next_start = 0.0
        self._in_batch: set[str] = set()

    @property
    def batched(self) -> int:
        """Number of questions that wait in a batch."""
        return len(self._in_batch)

    def key(self, request: Request) -> str:
        """The hash of all that a reply depends on."""
        s = self.settings
        longest = self._longest(request)
        parts = [s.host, s.model, request.messages, s.temperature, longest, s.seed, request.vote, request.attempt]
        # Keys of questions without log probabilities are what they were before there were any.
        parts += [{"top_logprobs": request.top_logprobs}] if request.top_logprobs else []
        parts += [{"response_format": request.response_format}] if request.response_format else []
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def ask_all(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """Ask questions, at most ``concurrency`` at a time.

        Yields:
            (index, reply) in the order in which replies come; those in the cache first. Questions that go into a batch
            have no reply yet, and are counted in ``batched``.

        Raises:
            JudgeError: the server refuses the key or cannot be reached, the budget is spent, or ``offline`` and a
                reply that is not in the cache. What was yielded before stands.
        """
        waiting = []
        for index, request in enumerate(requests):
            kept = self.cache.get(self.key(request))
            if kept is None:
                waiting.append(index)
            else:
                self.ledger.hits += 1
                yield index, kept
        if waiting and self.settings.batch_out:
            self._write_batch([requests[index] for index in waiting], self.settings.batch_out)
            return
        if waiting and self.settings.offline:
            raise JudgeError(f"{len(waiting)} replies are not in the cache, and the network is off (--offline)")
        if waiting:
            yield from self._ask_server(requests, waiting)

    def _write_batch(self, requests: Sequence[Request], path: str) -> None:
        """Write questions as a batch; the first ones of this chat begin the file."""
        new = {self.key(request): request for request in requests if self.key(request) not in self._in_batch}
        bodies = {key: {**self._options(request), "messages": _as_messages(request)} for key, request in new.items()}
        write_questions(bodies, path, append=bool(self._in_batch))
        self._in_batch.update(new)

    def _options(self, request: Request) -> dict[str, Any]:
        """What is said to the server beside the messages."""
        s = self.settings
        seed = {} if s.seed is None else {"seed": s.seed + request.vote}
        top = request.top_logprobs
        likeliest = {"logprobs": True, "top_logprobs": top} if top else {}
        form = {"response_format": json.loads(request.response_format)} if request.response_format else {}
        longest = self._longest(request)
        return {"model": s.model, "temperature": s.temperature, "max_tokens": longest, **seed, **likeliest, **form}

    def _longest(self, request: Request) -> int:
        """Tokens of the longest reply to a question."""
        return self.settings.max_tokens if request.max_tokens is None else request.max_tokens

    def _ask_server(self, requests: Sequence[Request], waiting: list[int]) -> Iterator[tuple[int, Reply]]:
        """Ask what is not in the cache; what is under way when something ends it is still taken in."""
        client = self._client(_api_key(self.settings))
        loop = asyncio.new_event_loop()
        running: dict[asyncio.Task[Reply], int] = {}
        queue = list(reversed(waiting))
        end: JudgeError | None = None
        try:
            while running or (queue and end is None):
                while queue and end is None and len(running) < self.settings.concurrency:
                    end = self._reserve(requests[queue[-1]])
                    if end is None:
                        index = queue.pop()
                        running[loop.create_task(self._ask(client, requests[index]))] = index
                if not running:
                    break
                done, _ = loop.run_until_complete(asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))
                for task in done:
                    index = running.pop(task)
                    error = task.exception()
                    if error is None:
                        yield index, task.result()
                    elif isinstance(error, JudgeError):
                        end = end or error
                    else:
                        raise error
        finally:
            loop.run_until_complete(_cancel(running))
            loop.run_until_complete(client.close())
            loop.close()
        if end is not None:
            raise end

    def _client(self, key: str) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=key, base_url=self.settings.base_url, timeout=self.settings.timeout, max_retries=0)

    def _largest_cost(self, request: Request) -> float:
        """What a call can cost at most: a token is a byte at least, and the reply is as long as it may be."""
        tokens_in = sum(len(text.encode("utf-8", "surrogatepass")) + 16 for _, text in request.messages)
        return self.ledger.cost(tokens_in, self._longest(request))

    def _reserve(self, request: Request) -> JudgeError | None:
        """Put the largest cost of a call aside; an error where the budget could be exceeded with it."""
        cost = self._largest_cost(request)
        budget = self.settings.budget
        if budget is not None and self.ledger.spent + self._reserved + cost > budget:
            return JudgeError(f"the budget of {budget:g} could be exceeded: {self.ledger}; what is written stays")
        self._reserved += cost
        return None

    async def _ask(self, client: Any, request: Request) -> Reply:
        """One question until there is a reply, or a reason why there is none."""
        try:
            for attempt in range(self.settings.retries + 1):
                await self._pace()
                reply = await self._call(client, request, last=attempt == self.settings.retries)
                if isinstance(reply, Reply):
                    return reply
                await asyncio.sleep(reply if reply >= 0 else _backoff(attempt))
        finally:
            self._reserved -= self._largest_cost(request)
        raise JudgeError("unreachable")

    async def _pace(self) -> None:
        if self.settings.rpm is None:
            return
        now = time.monotonic()
        start = max(now, self._next_start)
        self._next_start = start + 60.0 / self.settings.rpm
        await asyncio.sleep(start - now)

    async def _call(self, client: Any, request: Request, last: bool) -> Reply | float:
        """A reply, or the seconds to wait before the next try (below 0: our own choice)."""
        import openai

        s = self.settings
        messages: Any = _as_messages(request)
        self.ledger.calls += 1
        try:
            completion = await client.chat.completions.create(messages=messages, **self._options(request))
        except openai.APIStatusError as error:
            return self._refused(request, error, last)
        except openai.APITimeoutError:
            return Reply("", "error", "time-out") if last else _OUR_CHOICE
        except openai.APIConnectionError as error:
            if last:
                raise JudgeError(f"{s.host} cannot be reached: {error}") from error
            return _OUR_CHOICE
        # What the client makes of a body that is no completion differs from one malformation to the next.
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            return Reply("", "error", f"malformed response: {shorten(str(error), 200)}") if last else _OUR_CHOICE
        return self._keep(request, self._read(completion))

    def _refused(self, request: Request, error: Any, last: bool) -> Reply | float:
        """What an HTTP error means: try again, no verdict on this question, or the end."""
        status = error.status_code
        if status in (401, 403, 404):
            raise JudgeError(f"{self.settings.host} refuses: {shorten(str(error), 200)}") from error
        if status not in _TRY_AGAIN and status < 500:
            if request.top_logprobs and "logprob" in str(error):
                # Kept, it would be the answer even after the server was set to give them.
                raise JudgeError(f"{self.settings.host} gives no logprobs: {shorten(str(error), 200)}") from error
            return self._keep(request, Reply("", "error", f"HTTP {status}: {shorten(str(error), 200)}"))
        return Reply("", "error", f"HTTP {status}") if last else _retry_after(error.response.headers)

    def _read(self, completion: Any) -> Reply:
        usage = getattr(completion, "usage", None)
        self.ledger.tokens_in += int(getattr(usage, "prompt_tokens", 0) or 0)
        self.ledger.tokens_out += int(getattr(usage, "completion_tokens", 0) or 0)
        choices = getattr(completion, "choices", None)
        if not choices or choices[0].message is None:
            return Reply("", "error", "malformed response: no choices")
        finish = str(choices[0].finish_reason or "")
        text = choices[0].message.content or ""
        logprobs = first_tokens(getattr(choices[0], "logprobs", None))
        return Reply(text, finish, "" if text.strip() else f"empty reply ({finish or 'no finish reason'})", logprobs)

    def _keep(self, request: Request, reply: Reply) -> Reply:
        if request.top_logprobs and not reply.logprobs and not reply.reason:
            # A server that gives no log probabilities may be set to; then it is asked again.
            return reply
        self.cache.put(self.key(request), reply)
        return reply


def _as_messages(request: Request) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in request.messages]


async def _cancel(tasks: Iterable[asyncio.Task[Reply]]) -> None:
    """Cancel what is under way, and wait until it is."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _api_key(settings: Settings) -> str:
    """The key from the environment; servers of one's own mostly take any.

    Raises:
        JudgeError: there is none, and the server is OpenAI's.
    """
    key = os.environ.get(KEY_VARIABLE)
    if key:
        return key
    if settings.base_url or os.environ.get("OPENAI_BASE_URL"):
        return "none"
    raise JudgeError(f"{KEY_VARIABLE} is not set: set it, or name a server of your own with --base-url")


def _retry_after(headers: Mapping[str, str]) -> float:
    """The seconds that a server asks to wait; below 0 where it does not say."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return _OUR_CHOICE
    return min(max(seconds, 0.0), _PATIENCE) if math.isfinite(seconds) else _OUR_CHOICE


def _backoff(attempt: int) -> float:
    """Seconds before the next try: doubling, with a part left to chance so that callers spread."""
    return float(min(_PATIENCE, 0.5 * 2**attempt) * (0.5 + random.random() / 2))  # noqa: S311
