"""Requests and responses of chat completions, what a server rejects, and an estimate of a chat's tokens where
the tokenizer is not at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dialint.detector.engines.json_escapes import escape_control_tokens
from dialint.detector.engines.model_server import count_field, field, parse_json
from dialint.detector.judge.engine import VOTE_TEMPERATURE, JudgeRequest
from dialint.detector.judge.reading import compact_json, second_look_schema

AnswerFormat = Literal["strict schema", "schema", "object", "text"]
FORMATS: tuple[AnswerFormat, ...] = ("strict schema", "schema", "object", "text")
"""Ways in which a server enforces the answer's format, the strictest first."""

PROBE = JudgeRequest(
    dialogue_id="",
    messages=(
        {"role": "system", "content": "Answer with one JSON object and no more."},
        {"role": "user", "content": 'Answer {"notes": "", "decisions": []}'},
    ),
    schema=second_look_schema(("T1",)),
    max_tokens=32,
)
"""A short request that any judge answers, with a schema that uses all features of the real ones."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The form of requests that a server supports; the default is the richest."""

    answer_format: AnswerFormat = "strict schema"
    tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    has_temperature: bool = True


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A response. `cut`: it reached the token limit. `is_readable`: the response was a completion, whatever
    its text. Tokens are 0 if not counted."""

    text: str = ""
    cut: bool = False
    is_readable: bool = True
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


def payload(
    model: str,
    request: JudgeRequest,
    max_tokens: int,
    dialect: Dialect,
    *,
    remind: bool = False,
    complaint: str = "",
) -> dict[str, Any]:
    """The body of a request. The message contains the schema if the server does not enforce it, and in a
    second try (`remind`)."""
    if complaint:
        request = request.with_complaint(complaint)
    messages = [dict(message) for message in request.messages]
    if remind or dialect.answer_format in ("object", "text"):
        schema = escape_control_tokens(compact_json(request.schema))
        messages[-1]["content"] += f"\nAnswer with one JSON object of this JSON schema and no more: {schema}"
    body: dict[str, Any] = {"model": model, "messages": messages, dialect.tokens_field: max_tokens}
    if dialect.has_temperature:
        body["temperature"] = VOTE_TEMPERATURE if request.vote else 0
    if dialect.answer_format == "object":
        body["response_format"] = {"type": "json_object"}
    elif dialect.answer_format != "text":
        strict = dialect.answer_format == "strict schema"
        form = {"name": "answer", "strict": strict, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def parse_completion(body: bytes) -> Completion:
    """Parses the first choice of a response. A refusal or a thought alone is an empty text."""
    content = parse_json(body)
    choice = next(iter(field(content, "choices", list) or ()), None)
    message = field(choice, "message", dict)
    if message is None:
        return Completion(is_readable=False)
    parts = [part for part in field(message, "content", list) or () if field(part, "type", str) == "text"]
    text = field(message, "content", str) or "".join(field(part, "text", str) or "" for part in parts)
    usage = field(content, "usage", dict)
    return Completion(
        text=text,
        cut=field(choice, "finish_reason", str) == "length",
        prompt_tokens=count_field(usage, "prompt_tokens") or 0,
        cached_tokens=count_field(field(usage, "prompt_tokens_details", dict), "cached_tokens") or 0,
        output_tokens=count_field(usage, "completion_tokens") or len(text) // 3 + 1,  # about
    )


_CONTEXT = re.compile(
    r"context.{0,20}(?:length|window|size)|(?:length|window|size).{0,20}context|prompt.{0,12}too long"
    r"|too many.{0,12}tokens|input.{0,12}too long|max_model_len|context_length",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"(?:length|window|size|limit|max_model_len)\D{0,20}(\d{3,7})\b", re.IGNORECASE)
_PROMPT = re.compile(r"(\d{3,7}) (?:input )?(?:tokens )?(?:in|from|of) the (?:messages|input|prompt)|"
                     r"(?:at least|contains|has) (\d{3,7}) (?:input )?tokens", re.IGNORECASE)  # fmt: skip


def context_limit(message: str) -> tuple[int | None, int | None] | None:
    """Parses the context and prompt length of a refusal, in tokens, each None if not stated; None if the
    refusal is not about length."""
    message = re.sub(r"(?<=\d),(?=\d)", "", message[:2000])
    if not _CONTEXT.search(message):
        return None
    limit, prompt = _LIMIT.search(message), _PROMPT.search(message)
    return int(limit[1]) if limit else None, int(prompt[1] or prompt[2]) if prompt else None


_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "schema", "guided", "structured", "grammar")


def simpler_dialect(dialect: Dialect, message: str, *, is_probe: bool) -> Dialect | None:
    """The dialect without what a server's `message` rejects; None if it names nothing of the kind. To a probe
    any refusal is about form."""
    words = message.lower()
    formats = FORMATS[FORMATS.index(dialect.answer_format) + 1 :]
    if "max_completion_tokens" in words and dialect.tokens_field == "max_tokens":
        return replace(dialect, tokens_field="max_completion_tokens")
    if "temperature" in words and dialect.has_temperature:
        return replace(dialect, has_temperature=False)
    names_format = any(word in words for word in _FORMAT_WORDS)
    if formats and (names_format or (is_probe and "model" not in words)):
        return replace(dialect, answer_format=formats[0])
    return None


MESSAGE_TOKENS = 8
"""Tokens of a chat template around a message."""
MARGIN = 1.02
MOST = 8.0
"""Greatest plausible ratio of a server's count to the estimate."""


class TokenEstimate:
    """Estimates tokens by characters; `factor` grows by what servers count.

    The first estimate holds for the tokenizers of today's models and for English with a small vocabulary of
    8,192 (2026-11-23); small vocabularies need half as many again for Cyrillic, which the first counts show.
    """

    def __init__(self) -> None:
        self.factor = 1.0

    def of_chat(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Estimates the tokens of a chat, with its template."""
        return int(self.factor * sum(map(_message_tokens, messages))) + 1

    def validate_count(self, messages: Sequence[Mapping[str, str]], counted: int) -> int:
        """Returns a server's count of a chat, or 0 if it is implausible."""
        return counted if counted <= MOST * sum(map(_message_tokens, messages)) else 0

    def update(self, messages: Sequence[Mapping[str, str]], counted: int) -> None:
        """Raises `factor` to a server's count of a chat's tokens."""
        self.factor = min(MOST, max(self.factor, MARGIN * counted / sum(map(_message_tokens, messages))))


def _message_tokens(message: Mapping[str, str]) -> float:
    text = message["content"]
    size = len(text.encode("utf-8", "replace"))
    letters = sum(map(text.count, "abcdefghijklmnopqrstuvwxyz ETAOINSR"))
    foreign = sum(not char.isascii() for char in text) if size > len(text) else 0
    return (
        MESSAGE_TOKENS
        + letters / 3
        + 0.9 * (len(text) - letters - foreign)
        + (size - len(text)) * 0.75
        + foreign * 0.25
    )
