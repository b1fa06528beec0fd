"""Second tries of engines that answer in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from dialint.detector.judge.engine import JudgeReply, JudgeRequest

Answer = Callable[[Sequence[JudgeRequest]], list[JudgeReply]]
"""Answers each request with up to its `max_tokens`, whatever the answer is worth."""


def answer_twice(requests: Sequence[JudgeRequest], answer: Answer) -> list[JudgeReply]:
    """The usable answers; E_ANSWER where there is none.

    Generation would go on where it was cut, so an answer that may be tried again has the room of both tries
    at once; one that has another fault is asked for once more, with what was wrong.
    """
    started_s = monotonic()
    replies = answer([replace(each, max_tokens=each.max_tokens * min(2, each.answers)) for each in requests])
    faults = {
        index: fault
        for index, (request, reply) in enumerate(zip(requests, replies, strict=True))
        if not reply.failure and (fault := request.check(reply.text))
    }
    again = [index for index in faults if requests[index].answers > 1]
    second = answer([requests[index].with_complaint(faults[index]) for index in again]) if again else []
    for index, reply in zip(again, second, strict=True):
        first = replies[index]
        replies[index] = replace(
            reply,
            prompt_tokens=first.prompt_tokens + reply.prompt_tokens,
            cached_tokens=first.cached_tokens + reply.cached_tokens,
            output_tokens=first.output_tokens + reply.output_tokens,
        )
        if reply.failure or not requests[index].check(reply.text):
            del faults[index]
    for index in faults:
        replies[index] = replace(replies[index], text="", failure="E_ANSWER")
    seconds = (monotonic() - started_s) / max(1, len(requests))
    return [replace(reply, seconds=seconds) for reply in replies]
