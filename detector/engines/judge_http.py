"""The judge behind any OpenAI-compatible server: vLLM, llama.cpp, or a provider.

Requests are chat completions with a JSON schema at temperature 0; further votes are sampled. What a server
does not take is detected by a short request before any dialogue is sent, and left out: a strict schema,
schemas, JSON, `max_tokens`, a temperature. `HttpJudge.notes` says what that means for the user.

Failures that may pass are tried again by openai's client. A request that still has no answer waits until the
server answers anything (the job stops if it does not in time) and is tried again with no other such request
beside it, so that one that takes the server down takes no other with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import openai

from dialint.detector.engines.chat_completions import (
    FORMATS,
    PROBE,
    Completion,
    Dialect,
    TokenEstimate,
    context_limit,
    parse_completion,
    payload,
    simpler_dialect,
)
from dialint.detector.engines.json_escapes import escape_control_tokens
from dialint.detector.engines.model_server import (
    ModelCard,
    NoAnswer,
    RequestRefused,
    client_options,
    parse_address,
    parse_models,
    run_in_thread,
    send_request,
)
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig, read_key
from dialint.detector.judge.engine import (
    MIN_ANSWER_TOKENS,
    JudgeEngine,
    JudgeReply,
    JudgeRequest,
    answer_room,
)
from dialint.detector.tracing import span

DEFAULT_CONTEXT = 32_768
"""Context if the server states none: it refuses a prompt that is too long, and gets smaller parts then."""
MAX_CHARS_PER_TOKEN = 8
"""A server that counts fewer tokens has silently truncated the prompt, as some do."""
MIN_CONTEXT = 1000
"""Least plausible count of tokens: below it the server does not count."""
MAX_NAMES = 5
RETRIES_ALONE = 2
"""Tries of a request by itself after it had no answer beside others: the server may die between two of
them."""
PAUSE_S = 0.5
"""Seconds between checks that the server is back."""

T = TypeVar("T")


@dataclass
class _Pending:
    """A pending request, and its reply with its costs so far; `is_done`: the reply is final."""

    request: JudgeRequest
    max_tokens: int
    reply: JudgeReply = field(default_factory=JudgeReply)
    is_done: bool = False
    complaint: str = ""
    answers: int = 0

    def finish(self, *, text: str = "", failure: str = "") -> None:
        self.reply, self.is_done = replace(self.reply, text=text, failure=failure), True


class HttpJudge:
    """A judge on a server; opening it sends the server one short request. May be used by one thread at a
    time."""

    def __init__(self, url: str, config: JudgeConfig) -> None:
        """
        Raises:
            ConfigError: the server refuses the job as such.
            WorldError: it does not answer.
        """
        key, note = read_key(config.judge_key_file, "--judge-key-file")
        self._address = parse_address(url, has_key=key is not None)
        self.is_remote = not self._address.is_loopback
        self.notes = [note] if note else []
        self._has_key = key is not None
        self._outage_s = config.judge_outage_s
        self._estimate = TokenEstimate()
        self._dialect = Dialect()
        options = client_options(self._address, key, config.judge_timeout_s)
        self._client = openai.AsyncOpenAI(**options)
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(config.judge_concurrency)
        self._retry = asyncio.Lock()
        self._is_up = asyncio.Event()
        self._is_up.set()
        self._answered_s = 0.0  # when the latest request that has an answer was sent
        (self._model,), self._root = config.judge_model or ("",), ""
        self._context = config.judge_context
        try:
            self._run(self._open())
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The model's name; of a path its last folder."""
        return PurePath(self._model).name if self._model.startswith(("/", "~", ".")) else self._model

    @property
    def fingerprint(self) -> str:
        """Hash of the server's URL, the model's name and description, and the form of requests."""
        parts = [self._address.url, self._model, self._root, self._first_dialect.answer_format]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def max_prompt_tokens(self) -> int:
        """Tokens that a chat may have beside its answer; fewer after the server refused a longer one."""
        context = self._context or DEFAULT_CONTEXT
        return context - answer_room(context)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """An upper estimate by characters and scripts, corrected upwards by what the server counts."""
        return self._estimate.of_chat(messages)

    def spell(self, text: str) -> str:
        """Escapes the control tokens of all known families."""
        return escape_control_tokens(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        pending = [_Pending(request, request.max_tokens) for request in requests]
        self._is_up.set()
        self._run(self._deliver_all(pending))
        return [each.reply for each in pending]

    def close(self) -> None:
        if not self._loop.is_closed():
            self._run(self._client.close())
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return run_in_thread(self._loop, work)

    async def _open(self) -> None:
        try:
            await self._find_model()
            await self._probe()
        except NoAnswer as failure:
            raise WorldError(
                "E_SERVER", f"{self._address.url}: {failure}: is the server running, and is this its address?"
            ) from None
        self._first_dialect = self._dialect
        if self._dialect.answer_format not in FORMATS[:2]:
            self.notes.append(
                f"{self._address.host}: takes no JSON schema: questions show it in words; answers that do "
                "not fit it are failures"
            )

    async def _find_model(self) -> None:
        with suppress(RequestRefused):  # only some servers have it
            await self._request("GET", f"{self._address.root_url}/health")
        try:
            listed = await self._request("GET", f"{self._address.url}/models")
        except RequestRefused as refusal:
            if refusal.status in (401, 402, 403) or 300 <= refusal.status < 400:
                raise self._config_error(refusal, safe=False) from None
            listed = b""
        models = {card.id: card for card in parse_models(listed)}
        if not self._model:
            if len(models) != 1:
                names = f" (it has {_list_names(models)})" if models else ""
                raise ConfigError("E_JUDGE", f"{self._address.url}: name the model: --judge-model{names}")
            self._model = next(iter(models))
        if models and self._model not in models:
            raise self._unknown_model(models)
        card = models.get(self._model, ModelCard(id=self._model))
        self._root = str([card.root, card.parent])
        parent = models.get(card.parent or "", card)
        context = card.max_model_len or parent.max_model_len  # of an adapter's base
        if context is None:
            return
        if self._context is not None and self._context > context:
            self.notes.append(
                f"{self._address.host}: the server's context is {context:,} tokens, not the "
                f"{self._context:,} of --judge-context"
            )
        self._context = min(self._context or context, context)

    async def _probe(self) -> None:
        """Sends the short request. It contains no word of a dialogue, so that the server's message may be
        shown."""
        try:
            completion = await self._complete(PROBE, PROBE.max_tokens, again=False)
        except RequestRefused as refusal:
            raise self._config_error(refusal, safe=True) from None
        if not completion.is_readable:
            raise NoAnswer("its answer is no completion")

    async def _deliver_all(self, pending: Sequence[_Pending]) -> None:
        """
        Raises:
            WorldError: E_SERVER, nothing was answered for ``--judge-outage-s``.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for each in pending:
                    group.create_task(self._deliver(each))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _deliver(self, pending: _Pending) -> None:
        async with self._slots:
            await self._is_up.wait()
            started_s = time.monotonic()
            with suppress(NoAnswer):
                await self._send(pending)
        if pending.is_done:
            return
        async with self._retry:
            for _ in range(RETRIES_ALONE):
                await self._wait_for_server(started_s)
                started_s = time.monotonic()
                with suppress(NoAnswer):
                    await self._send(pending)
                if pending.is_done:
                    return
        pending.finish(failure="E_SERVER")

    async def _wait_for_server(self, since_s: float) -> None:
        """Sends the short request until the server has answered anything that was sent since then: earlier
        requests may still be answered by a server that accepts no new ones."""
        end_s = time.monotonic() + self._outage_s
        while self._answered_s < since_s:
            reason = "no answer in time"
            try:
                await asyncio.wait_for(self._probe(), max(0.0, end_s - time.monotonic()))
                break
            except NoAnswer as failure:
                reason = str(failure)
            except TimeoutError:
                pass
            self._is_up.clear()
            if time.monotonic() + PAUSE_S >= end_s:
                raise WorldError(
                    "E_SERVER",
                    f"{self._address.url}: {reason}, nor anything else for {self._outage_s:g} s: start the "
                    "same command again when the server is back; what is done stays done",
                )
            await asyncio.sleep(PAUSE_S)
        self._is_up.set()

    async def _send(self, pending: _Pending) -> None:
        """Sends one request; again with more room or with the schema in words if the answer does not fit
        it."""
        request = pending.request
        size = sum(len(message["content"]) for message in request.messages)
        while True:
            try:
                completion = await self._complete(
                    request, pending.max_tokens, again=pending.answers > 0, complaint=pending.complaint
                )
            except RequestRefused as refusal:
                if await self._handle_refusal(pending, refusal):
                    return None
                continue
            counted = self._estimate.validate_count(request.messages, completion.prompt_tokens)
            output_tokens = completion.output_tokens
            if not 0 < output_tokens <= max(pending.max_tokens, len(completion.text.encode())):
                output_tokens = pending.max_tokens  # not counted, or more than can be
            spent = JudgeReply(
                prompt_tokens=counted or self._estimate.of_chat(request.messages),
                cached_tokens=completion.cached_tokens,
                output_tokens=output_tokens,
            )
            pending.reply = pending.reply.after(spent)
            if counted and pending.answers == 0:
                self._estimate.update(request.messages, counted)
            if counted >= MIN_CONTEXT and size > MAX_CHARS_PER_TOKEN * counted:
                self._shrink_context(counted)
                return pending.finish(failure="E_CONTEXT")
            pending.complaint = request.check(completion.text)
            if not pending.complaint:
                return pending.finish(text=completion.text)
            pending.answers += 1
            if pending.answers >= request.answers:
                return pending.finish(failure="E_ANSWER")
            if completion.cut:
                pending.max_tokens = 2 * request.max_tokens

    async def _handle_refusal(self, pending: _Pending, refusal: RequestRefused) -> bool:
        """Handles a refused request; returns whether it failed. If not, its prompt fits the context with a
        shorter answer, to which `pending` is changed. Raises as `_probe` if the server refuses everything."""
        limit = context_limit(refusal.words) if refusal.status in (400, 413, 422) else None
        if limit is None:
            await self._probe()
            pending.finish(failure="E_REFUSED")
            return True
        most, prompt_tokens = limit
        room = (most or 0) - (prompt_tokens or most or 0)
        if refusal.status != 413 and MIN_ANSWER_TOKENS <= room < pending.max_tokens:
            pending.max_tokens = room
            return False
        if prompt_tokens:
            self._estimate.update(pending.request.messages, prompt_tokens)
        if most is None or most >= (self._context or DEFAULT_CONTEXT):
            # The estimate or the answer's room was too small: the next prompt must be shorter than this one.
            most = None if prompt_tokens else int(0.9 * self._estimate.of_chat(pending.request.messages))
        if most is not None:
            self._shrink_context(most)
        pending.finish(failure="E_CONTEXT")
        return True

    def _shrink_context(self, tokens: int) -> None:
        self._context = max(512, min(self._context or DEFAULT_CONTEXT, tokens))

    async def _complete(
        self, request: JudgeRequest, max_tokens: int, *, again: bool, complaint: str = ""
    ) -> Completion:
        """Requests a completion; what the server does not support is left out from then on. A second try
        (`again`) contains the schema and the fault of the first.

        Raises:
            NoAnswer: another try may succeed.
            RequestRefused: no other try will succeed.
        """
        while True:
            dialect = self._dialect
            try:
                body = payload(self._model, request, max_tokens, dialect, remind=again, complaint=complaint)
                content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
                url = f"{self._address.url}/chat/completions"
                with span(f"chat {self.name}", self._span_attributes(max_tokens), is_client=True) as current:
                    completion = parse_completion(await self._request("POST", url, content=content))
                    if current is not None:
                        current.set_attribute("gen_ai.usage.input_tokens", completion.prompt_tokens)
                        current.set_attribute("gen_ai.usage.output_tokens", completion.output_tokens)
                return completion
            except RequestRefused as refusal:
                if refusal.status not in (400, 422) or context_limit(refusal.words) is not None:
                    raise
                if dialect == self._dialect:  # else another request has changed it
                    simpler = simpler_dialect(dialect, refusal.words, is_probe=request is PROBE)
                    if simpler is None:
                        raise
                    self._dialect = simpler

    def _span_attributes(self, max_tokens: int) -> dict[str, str | int]:
        """Attributes by OpenTelemetry's conventions for GenAI clients; no text of the prompt."""
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": self.name,
            "gen_ai.request.max_tokens": max_tokens,
            "server.address": self._address.host,
        }

    async def _request(self, method: str, url: str, **options: Any) -> bytes:
        sent_s = time.monotonic()
        body = await send_request(self._client, method, url, **options)
        self._answered_s = max(self._answered_s, sent_s)
        return body

    def _config_error(self, refusal: RequestRefused, *, safe: bool) -> ConfigError:
        """The error for a server that refuses everything. `safe`: the server's message may be shown."""
        where, status = self._address.url, refusal.status
        if status in (401, 403):
            done = "is refused: is it this server's?" if self._has_key else "is missing"
            return ConfigError(
                "E_JUDGE_KEY",
                f"{where}: the API key {done} ({status}; put it into DIALINT_JUDGE_KEY or --judge-key-file)",
            )
        if 300 <= status < 400:
            return ConfigError(
                "E_JUDGE", f"{where}: it redirects elsewhere, which is not followed: give the final URL"
            )
        if status == 404 and "model" in refusal.words.lower():
            return self._unknown_model({})
        words = "".join(c if c.isprintable() else " " for c in refusal.words)[:160] if safe else ""
        hint = "; does the URL end in /v1?" if status == 404 else ""
        return ConfigError(
            "E_JUDGE", f"{where}: it refuses questions ({status}{': ' if words else ''}{words}){hint}"
        )

    def _unknown_model(self, models: Iterable[str]) -> ConfigError:
        names = f": it has {_list_names(models)}" if models else ""
        return ConfigError("E_JUDGE", f"{self._address.url}: no model {self._model!r} (--judge-model){names}")


def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine:
    """The engine of ``--judge http:URL``; device and precision are the server's. Raises as `HttpJudge`."""
    return HttpJudge(where, config)


def _list_names(names: Iterable[str]) -> str:
    listed = sorted(repr(name[:60]) for name in names)
    more = f" and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""
    return ", ".join(listed[:MAX_NAMES]) + more
