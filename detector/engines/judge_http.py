"""The judge behind any OpenAI-compatible server: vLLM, llama.cpp, or a provider.

On vLLM requests are token ids (`token_completions`): probabilities are those of the same weights in this
process. Elsewhere they are chat completions at temperature 0 with a JSON schema and log-probabilities. What a
server does not take is found out by short questions before any dialogue is sent, and left out: token ids, a
strict schema, schemas, JSON, log-probabilities, `max_tokens`, a temperature. `HttpJudge.notes` says what that
means for the user, and replies whether their probabilities are approximate.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar

from dialint.detector.engines.chat_completions import (
    FORMATS,
    PROBE,
    Completion,
    Dialect,
    context_limit,
    parse_completion,
    payload,
    simpler_dialect,
)
from dialint.detector.engines.delivery import (
    Delivery,
    PendingRequest,
    RequestRefused,
    TransientFailure,
)
from dialint.detector.engines.json_answers import bare_json, fits_schema
from dialint.detector.engines.openai_server import (
    ConnectionFailed,
    OpenAIServer,
    Response,
    parse_address,
)
from dialint.detector.engines.pacing import Concurrency, RetryPolicy, retry_after_s
from dialint.detector.engines.server_answers import ModelCard, parse_models
from dialint.detector.engines.spelling import escape_control_tokens
from dialint.detector.engines.token_completions import TokenCompletions
from dialint.detector.engines.token_estimate import TokenEstimate
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge import JudgeReply, JudgeRequest
from dialint.detector.judge.api_key import read_key
from dialint.detector.judge.config import JudgeConfig, parse_judge

DEFAULT_CONTEXT = 8192
ANSWER_TOKENS = 512
"""Of the context that are kept for the answer, at most a quarter of it."""
MIN_ANSWER_TOKENS = 64
"""A shorter room for the answer is not worth asking."""
MAX_NAMES = 5
TRANSIENT = {408, 409, 425, 429}
"""Beside those of the server's own failures, 500 and above."""
OVERLOAD = {429, 503}

T = TypeVar("T")


class HttpJudge:
    """A judge on a server, ready to be asked; opening it asks the server one short question. May be used by
    one thread at a time."""

    def __init__(self, config: JudgeConfig, policy: RetryPolicy | None = None) -> None:
        """
        Raises:
            ConfigError: the server refuses the job as such.
            WorldError: it does not answer.
        """
        key, note = read_key(config.judge_key_file, "--judge-key-file")
        address = parse_address(parse_judge(str(config.judge))[1], has_key=key is not None)
        self.is_remote = not address.is_loopback
        self.notes = [note] if note else []
        self._has_key = key is not None
        self._policy = policy or RetryPolicy(outage_s=config.judge_outage_s)
        self._timeout_s = config.judge_timeout_s
        self._address = address
        self._estimate = TokenEstimate()
        self._dialect = Dialect()
        self._tokens: TokenCompletions | None = None
        self._server = OpenAIServer(address, key, config.judge_concurrency + 2)
        self._loop = asyncio.new_event_loop()
        self.concurrency = Concurrency(config.judge_concurrency)
        self._delivery = Delivery(self._send, self._probe, self.concurrency, self._policy)
        self._model, self._root, self._context = config.judge_model or "", "", config.judge_context
        try:
            self._run(self._open())
        except WorldError as error:
            self.close()
            raise WorldError(
                error.code, f"{address.url}: {error.message}: is the server running, and is this its address?"
            ) from None
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The model's name; of a path its last folder."""
        return PurePath(self._model).name if self._model.startswith(("/", "~", ".")) else self._model

    @property
    def fingerprint(self) -> str:
        """Hash of the server's URL, the model's name and what the server says that it is, and the form of
        requests."""
        form = "token ids" if self._tokens is not None else self._first_dialect.answer_format
        parts = [self._address.url, self._model, self._root, form]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def max_prompt_tokens(self) -> int:
        """Tokens that a chat may have beside its answer; fewer after the server refused a longer one."""
        context = self._context or DEFAULT_CONTEXT
        return context - min(ANSWER_TOKENS, context // 4)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """An upper estimate by characters and scripts, corrected upwards by what the server counts."""
        return self._estimate.of_chat(messages)

    def spell(self, text: str) -> str:
        """Escapes the control tokens of all known families."""
        return escape_control_tokens(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """See `JudgeEngine.ask`."""
        pending = [PendingRequest(request, request.max_tokens) for request in requests]
        try:
            self._run(self._delivery.deliver(pending))
        except WorldError as error:
            raise WorldError(
                error.code,
                f"{self._address.url}: {error.message}, nor anything else for {self._policy.outage_s:g} s: "
                "start the same command again when the server is back; what is done stays done",
            ) from None
        return [each.reply for each in pending if each.reply is not None]

    def close(self) -> None:
        """Closes the connections."""
        if not self._loop.is_closed():
            self._run(self._server.close())
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` in a thread of its own, so that it works within another event loop (a notebook's), and
        so that a signal, whose handler runs in the caller's thread, ends it at once."""
        outcome: Future[T] = Future()
        task = self._loop.create_task(work)

        def run() -> None:
            try:
                outcome.set_result(self._loop.run_until_complete(task))
            except BaseException as error:  # noqa: BLE001  raised in the caller's thread
                outcome.set_exception(error)

        thread = threading.Thread(target=run, name="judge", daemon=True)
        thread.start()
        try:
            return outcome.result()
        except BaseException:
            if thread.is_alive() and not outcome.done():
                self._loop.call_soon_threadsafe(task.cancel)
            raise
        finally:
            thread.join(2.0)

    async def _open(self) -> None:
        """Finds the model and what the server takes, within `RetryPolicy.opening_s`."""
        await self._delivery.until_answered(self._find_model, self._policy.opening_s)
        where = self._address.host
        if self._is_vllm:
            await self._delivery.until_answered(self._open_tokens, self._policy.opening_s)
            if self._tokens is None:
                self.notes.append(
                    f"{where}: takes no questions as token ids (/tokenize, /v1/completions): probabilities "
                    "are approximate, not those of the same model in this process"
                )
        await self._delivery.until_answered(self._probe, self._policy.opening_s)
        self._first_dialect = self._dialect
        if self._tokens is not None:
            return
        if self._dialect.answer_format not in FORMATS[:2]:
            self.notes.append(
                f"{where}: takes no JSON schema: questions show it in words; answers that do not fit it are "
                "failures"
            )
        if not self._dialect.top_logprobs:
            self.notes.append(
                f"{where}: gives no log-probabilities: probabilities are those that the model writes itself"
            )

    async def _find_model(self) -> None:
        health = await self._get(f"{self._address.root_url}/health")
        if health.status >= 500:
            raise TransientFailure(f"it is not ready (health check: {health.status})")
        listed = await self._get(f"{self._address.url}/models")
        if listed.status >= 500 or listed.status in TRANSIENT:
            raise TransientFailure(f"it answers {listed.status}")
        if listed.status in (401, 402, 403) or 300 <= listed.status < 400:
            raise self._config_error(listed, safe=False)
        models = {card.id: card for card in parse_models(listed.body)}
        if not self._model:
            if len(models) != 1:
                names = f" (it has {_list_names(models)})" if models else ""
                raise ConfigError("E_JUDGE", f"{self._address.url}: name the model: --judge-model{names}")
            self._model = next(iter(models))
        if models and self._model not in models:
            raise self._unknown_model(models)
        card = models.get(self._model, ModelCard(id=self._model))
        self._root = str([card.root, card.parent])
        self._is_vllm = card.owned_by == "vllm"
        if card.max_model_len is not None:
            self._limit_context(card.max_model_len)

    async def _open_tokens(self) -> None:
        """Finds out whether the server takes token ids. vLLM lists no context of an adapter; that of its base
        stands in what it tokenizes."""
        self._tokens = await TokenCompletions.open(self._post, self._address, self._model)
        if self._tokens is not None and self._tokens.context is not None:
            self._limit_context(self._tokens.context)

    def _limit_context(self, tokens: int) -> None:
        """The server's own context is used, unless --judge-context is smaller."""
        if self._context is not None and self._context > tokens:
            self.notes.append(
                f"{self._address.host}: the server's context is {tokens:,} tokens, not the "
                f"{self._context:,} of --judge-context"
            )
        self._context = min(self._context or tokens, tokens)

    async def _probe(self) -> None:
        """The short question. It holds no word of a dialogue, so that what the server says may be shown."""
        try:
            completion = await self._complete(PROBE, PROBE.max_tokens, again=False)
        except RequestRefused as refusal:
            raise self._config_error(refusal.response, safe=True) from None
        if not completion.is_readable:
            raise TransientFailure("its answer is no completion")
        if self._tokens is None and self._dialect.top_logprobs and completion.probabilities is None:
            self._dialect = replace(self._dialect, top_logprobs=0)

    async def _send(self, pending: PendingRequest) -> None:
        """One request; again with more room or with the schema in words if the answer does not fit it."""
        request = pending.request
        while True:
            started = time.monotonic()
            try:
                completion = await self._complete(request, pending.max_tokens, again=pending.answers > 0)
            except RequestRefused as refusal:
                if self._shorten_answer(pending, refusal.response):
                    continue
                await self._give_up(pending, refusal.response)
                return
            finally:
                seconds = time.monotonic() - started
                pending.seconds += seconds
            counted = self._estimate.believe(request.messages, completion.prompt_tokens)
            prompt_tokens = counted or self._estimate.of_chat(request.messages)
            pending.prompt_tokens += prompt_tokens
            pending.cached_tokens += completion.cached_tokens
            output_tokens = completion.output_tokens
            if not 0 < output_tokens <= max(pending.max_tokens, len(completion.text.encode())):
                output_tokens = pending.max_tokens  # not counted, or more than can be
            pending.output_tokens += output_tokens
            self.concurrency.record_success(
                seconds, max(0, prompt_tokens - completion.cached_tokens), output_tokens
            )
            if counted and pending.answers == 0:
                self._estimate.learn(request.messages, counted)
            text = bare_json(completion.text)
            if fits_schema(text, request.schema):
                probabilities = completion.probabilities if request.wants_verdict else None
                pending.finish(
                    text=text,
                    verdict_probabilities=probabilities,
                    is_approximate=probabilities is not None and completion.is_approximate,
                )
                return
            pending.answers += 1
            if pending.answers >= request.answers:
                pending.finish(failure="E_ANSWER")
                return
            if completion.cut:
                pending.max_tokens = 2 * request.max_tokens

    def _shorten_answer(self, pending: PendingRequest, response: Response) -> bool:
        """Whether the prompt fits the context and a shorter answer too; `pending` then has less room."""
        most, prompt_tokens = (response.status in (400, 422) and context_limit(response.error)) or (
            None,
            None,
        )
        room = (most or 0) - (prompt_tokens or most or 0)
        if not MIN_ANSWER_TOKENS <= room < pending.max_tokens:
            return False
        pending.max_tokens = room
        return True

    async def _give_up(self, pending: PendingRequest, response: Response) -> None:
        """The failure of a request that the server refuses, unless it refuses all."""
        limit = context_limit(response.error) if response.status in (400, 413, 422) else None
        if limit is None:
            await self._probe()  # raises where it refuses everything
            pending.finish(failure="E_REFUSED")
            return
        self._delivery.last_answer = time.monotonic()
        most, prompt_tokens = limit
        if prompt_tokens:
            self._estimate.learn(pending.request.messages, prompt_tokens)
        if most is None or most >= (self._context or DEFAULT_CONTEXT):
            # The estimate or the answer's room was too small: the next prompt must be shorter than this one.
            most = None if prompt_tokens else int(0.9 * self._estimate.of_chat(pending.request.messages))
        if most is not None:
            self._context = max(512, min(self._context or DEFAULT_CONTEXT, most))
        pending.finish(failure="E_CONTEXT")

    async def _complete(self, request: JudgeRequest, max_tokens: int, *, again: bool) -> Completion:
        """A completion; what the server does not take is left out from then on. A second try (`again`) has
        the schema in words or, by token ids, asks for no more than it requires.

        Raises:
            TransientFailure: worth another try.
            RequestRefused: not worth one.
        """
        if self._tokens is not None:
            return await self._tokens.complete(request, max_tokens, brief=again)
        while True:
            dialect = self._dialect
            body = payload(self._model, request, max_tokens, dialect, remind=again)
            response = await self._post(f"{self._address.url}/chat/completions", body)
            if response.status == 200:
                return parse_completion(response.body)
            if response.status in (400, 422) and context_limit(response.error) is None:
                if dialect != self._dialect:
                    continue
                if simpler := simpler_dialect(dialect, response.error, is_probe=request is PROBE):
                    self._dialect = simpler
                    continue
            raise RequestRefused(response)

    async def _post(self, url: str, body: Mapping[str, Any]) -> Response:
        """The response: a success, or a refusal of the request itself.

        Raises:
            TransientFailure: worth another try.
        """
        try:
            response = await self._server.request("POST", url, self._timeout_s, body)
        except ConnectionFailed as failure:
            raise TransientFailure(failure.reason, overload=failure.timed_out) from None
        status = response.status
        if status in TRANSIENT or status >= 500:
            wait_s = retry_after_s(response.headers)
            raise TransientFailure(f"it answers {status}", overload=status in OVERLOAD, wait_s=wait_s)
        if status == 200:
            self._delivery.last_answer = time.monotonic()
        return response

    async def _get(self, url: str) -> Response:
        try:
            return await self._server.request("GET", url, min(self._timeout_s, self._policy.opening_s))
        except ConnectionFailed as failure:
            raise TransientFailure(failure.reason) from None

    def _config_error(self, response: Response, *, safe: bool) -> ConfigError:
        """What the user can do about a refusal of everything. `safe`: the server's words may be shown."""
        where, status = self._address.url, response.status
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
        if status == 404 and "model" in response.error.lower():
            return self._unknown_model({})
        words = "".join(c if c.isprintable() else " " for c in response.error)[:160] if safe else ""
        hint = "; does the URL end in /v1?" if status == 404 else ""
        return ConfigError(
            "E_JUDGE", f"{where}: it refuses questions ({status}{': ' if words else ''}{words}){hint}"
        )

    def _unknown_model(self, models: Iterable[str]) -> ConfigError:
        names = f": it has {_list_names(models)}" if models else ""
        return ConfigError("E_JUDGE", f"{self._address.url}: no model {self._model!r} (--judge-model){names}")


def _list_names(names: Iterable[str]) -> str:
    """Some of the server's models, in one line."""
    listed = sorted(repr(name[:60]) for name in names)
    more = f" and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""
    return ", ".join(listed[:MAX_NAMES]) + more
