"""The interface of every engine that runs a judge: in this process, in vLLM, or behind an OpenAI-compatible
server. The stage decides on the questions and uses the answers.

This module imports no heavy library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

ANSWER_TOKENS = 1500
"""Tokens of an answer about a dialogue; a second try has twice as many."""
MIN_ANSWER_TOKENS = 64
"""Least tokens of room for an answer."""
VOTE_TEMPERATURE = 0.7
"""Temperature of sampled answers."""


def answer_room(context: int) -> int:
    """Tokens of a model's context that are reserved for an answer."""
    return min(ANSWER_TOKENS, context // 4)


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One chat to be answered with one JSON object.

    `schema` is the JSON schema of the answer. `answers` may be paid for until one is usable; the second may
    have twice `max_tokens`. `check` returns what is wrong with an answer, in words for the model, or nothing.
    `vote`: 0 for the most probable answer; others are sampled, each number another one.
    `dialogue_id` is for messages about failures; it never leaves this process.
    """

    dialogue_id: str
    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any]
    max_tokens: int
    answers: int = 2
    vote: int = 0
    check: Callable[[str], str] = lambda text: ""

    def with_complaint(self, complaint: str) -> JudgeRequest:
        """The request with the fault of an earlier answer."""
        *head, last = self.messages
        content = f"{last['content']}\nAn earlier answer could not be used: {complaint}"
        return replace(self, messages=(*head, {**last, "content": content}))


@dataclass(frozen=True, kw_only=True)
class JudgeReply:
    """The answer to one request, or why there is none.

    Exactly one of `text`, the JSON as the model wrote it and not yet checked, and `failure`, a stable code
    (``E_...``), is not empty. Tokens are those that were paid for: `prompt_tokens` include `cached_tokens`,
    which a prefix cache saved.
    """

    text: str = ""
    failure: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def after(self, other: JudgeReply) -> JudgeReply:
        return replace(
            self,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class JudgeEngine(Protocol):
    """Anything that answers chats with a language model."""

    @property
    def name(self) -> str:
        """The model's name, as in verdicts; neither a path nor a URL with a key."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that can change an answer: weights, or server and model name, precision, chat template,
        engine options. It contains no key."""

    @property
    def is_remote(self) -> bool:
        """True if requests leave this machine, so that everything in them must be masked."""

    @property
    def max_prompt_tokens(self) -> int:
        """Tokens that a chat may have beside its answer."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user on the form of requests."""

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Tokens of a chat: exact with the model's tokenizer, else an upper estimate."""

    def spell(self, text: str) -> str:
        """Rewrites compact JSON so that it contains no control token of the model, without changing its
        meaning."""

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """The reply to each request, in order. Requests with a common beginning stand side by side.

        A request that fails alone, after bounded retries, gets a reply with a `failure`; the others are
        answered.

        Raises:
            WorldError: the engine as a whole is gone and did not come back within its limit.
            ConfigError: it refuses the job as such: a wrong model name, a missing key, no support of schemas.
        """

    def close(self) -> None:
        """Releases all resources; harmless a second time."""


Answer = Callable[[Sequence[JudgeRequest]], list[JudgeReply]]
"""Answers each request with up to its `max_tokens`, usable or not."""


def answer_twice(requests: Sequence[JudgeRequest], answer: Answer) -> list[JudgeReply]:
    """The usable answers of an engine in this process; E_ANSWER where there is none.

    Generation would continue where it was cut, so an answer that may be tried again has the room of both
    tries at once; one with another fault is requested once more, with its fault.
    """
    replies = answer([replace(each, max_tokens=each.max_tokens * min(2, each.answers)) for each in requests])
    faults = {
        index: fault
        for index, (request, reply) in enumerate(zip(requests, replies, strict=True))
        if not reply.failure and (fault := request.check(reply.text))
    }
    again = [index for index in faults if requests[index].answers > 1]
    second = answer([requests[index].with_complaint(faults[index]) for index in again]) if again else []
    for index, reply in zip(again, second, strict=True):
        replies[index] = reply.after(replies[index])
        if reply.failure or not requests[index].check(reply.text):
            del faults[index]
    for index in faults:
        replies[index] = replace(replies[index], text="", failure="E_ANSWER")
    return replies
