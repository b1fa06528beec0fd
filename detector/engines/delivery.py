"""Delivers requests to a server that may fail: retries, outages, and requests that take the server down.

Failures are told apart by a short question, the probe. While it goes unanswered, the server is gone:
everything waits, in the end the job stops. While it is answered, a failure is that of its request: those that
failed among others are asked again in ever smaller groups, until the ones at fault stand alone.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from dialint.detector.engines.openai_server import Response
from dialint.detector.engines.pacing import Concurrency, RetryPolicy
from dialint.detector.errors import WorldError
from dialint.detector.judge import JudgeReply, JudgeRequest


class TransientFailure(Exception):
    """Worth another try. `reason` is safe to show; `overload`: fewer requests at a time may help; `wait_s` is
    what the server asks for."""

    def __init__(self, reason: str, *, overload: bool = False, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.overload, self.wait_s = reason, overload, wait_s


class RequestRefused(Exception):
    """The same request would be refused again."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass
class PendingRequest:
    """A request on its way to a reply; counts its failures and what it cost."""

    request: JudgeRequest
    max_tokens: int
    reply: JudgeReply | None = None
    failures: int = 0
    overloads: int = 0
    alone: int = 0
    answers: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def finish(self, **values: Any) -> None:
        """Sets the reply."""
        self.reply = JudgeReply(
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens,
            seconds=self.seconds,
            **values,
        )


@dataclass
class Delivery:
    """Gives every request a reply. Belongs to one event loop.

    `send` makes one try and finishes the request; it and `probe` raise `TransientFailure`, or an error that
    ends the job. Whoever gets an answer sets `last_answer`, in `time.monotonic` seconds.
    """

    send: Callable[[PendingRequest], Awaitable[None]]
    probe: Callable[[], Awaitable[None]]
    concurrency: Concurrency
    policy: RetryPolicy
    last_answer: float = -1.0

    def __post_init__(self) -> None:
        self._draw = random.Random().random
        self._gone = asyncio.Lock()

    async def deliver(self, pending: list[PendingRequest]) -> None:
        """
        Raises:
            WorldError: E_SERVER, nothing was answered for `RetryPolicy.outage_s`.
        """
        await _gather(self._together(each) for each in pending)
        if left := [each for each in pending if each.reply is None]:
            await self._isolate(left)

    async def until_answered(self, question: Callable[[], Awaitable[None]], limit_s: float) -> None:
        """Asks until there is an answer.

        Raises:
            WorldError: E_SERVER, there was none within `limit_s`.
        """
        end, failures = time.monotonic() + limit_s, 0
        while True:
            try:
                await question()
                return
            except TransientFailure as failure:
                wait_s = self.policy.wait_s(failures, failure.wait_s, self._draw)
                failures += 1
                if time.monotonic() + wait_s >= end:
                    raise WorldError("E_SERVER", failure.reason) from None
            await asyncio.sleep(wait_s)

    async def _together(self, pending: PendingRequest) -> None:
        """Until there is a reply, or the request's tries beside others are used up."""
        while (
            pending.reply is None
            and pending.failures < self.policy.attempts
            and pending.overloads < self.policy.overload_attempts
        ):
            await self._try(pending)

    async def _isolate(self, group: list[PendingRequest]) -> None:
        """Asks requests that failed among others in ever smaller groups; those that fail alone are given up.
        A request is in log2(n) groups at most; one that kills the server kills it once in each."""
        await _gather(self._try(each) for each in group)
        left = [each for each in group if each.reply is None]
        if len(group) == 1 and left:
            group[0].alone += 1
            if group[0].alone >= self.policy.alone_attempts:
                group[0].finish(failure="E_SERVER")
                return
        half = (len(left) + 1) // 2
        for part in (left[:half], left[half:]):
            if part:
                await self._isolate(part)

    async def _try(self, pending: PendingRequest) -> None:
        """One try. If it fails, waits until the server answers and it is time for the next."""
        if self._gone.locked():
            async with self._gone:
                pass
        epoch = await self.concurrency.acquire()
        started = time.monotonic()
        try:
            await self.send(pending)
            return
        except TransientFailure as failure:
            retry_after_s = failure.wait_s
            wait_s = self.policy.wait_s(pending.failures + pending.overloads, retry_after_s, self._draw)
            if failure.overload:
                self.concurrency.back_off(epoch, None if retry_after_s is None else wait_s)
                pending.overloads += 1
            else:
                pending.failures += 1
        finally:
            await self.concurrency.release()
        if retry_after_s is not None:
            await asyncio.sleep(wait_s)
        if self.last_answer <= started:  # nobody was answered meanwhile
            async with self._gone:
                if self.last_answer <= started:
                    await self.until_answered(self.probe, self.policy.outage_s)
        if retry_after_s is None:
            await asyncio.sleep(wait_s)


async def _gather(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Runs coroutines together; the first error ends the others and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
