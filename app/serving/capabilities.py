"""What a model server can do for the judge: found out by asking it, changing nothing.

Written for vLLM; any OpenAI-compatible server answers what it can, the rest is unknown. The questions
hold no dialogue and generate a few tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from dialint.app.serving.client import ServerClient, ServerReply
from dialint.detector.engines.server_answers import (
    ChatChoice,
    ChatCompletion,
    ModelCard,
    Version,
    parse,
    parse_models,
)
from dialint.detector.errors import WorldError

LEAST_CONTEXT = 2048
"""Tokens below which most dialogues would be cut."""
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
COLOURS = ('{"colour":"red"}', '{"colour":"blue"}')
SAME_LOGPROB = 1e-4
METRIC = re.compile(
    r"^vllm:prefix_cache_(queries|hits)(?:_total)?(?:\{[^}\n]*\})? ([0-9.e+]+)$", re.MULTILINE
)


@dataclass(frozen=True)
class Capability:
    """One line: what was asked about, whether the server can do it, what it showed, and what to do about it.
    `needed`: without it the server cannot judge."""

    what: str
    state: Literal["yes", "no", "unknown"]
    result: str
    remedy: str = ""
    needed: bool = False


def examine_server(client: ServerClient, model: str | None = None) -> Iterator[Capability]:
    """Every capability, as far as the server lets it be found out. `model` is the one that is asked; without
    it the last that the server lists, which is an adapter where there are any.

    Raises:
        WorldError: E_SERVER, nobody answers.
    """
    yield _version(client)
    reply = client.get("/v1/models")
    if reply.status in (401, 403):
        done = "does not take the key" if client.key else "wants a key"
        yield Capability("key", "no", done, "put it into DIALINT_JUDGE_KEY or --key-file", needed=True)
        return
    yield _key(client)
    cards = parse_models(reply.body) if reply.status == 200 else []
    if not cards:
        result = f"no list of models (status {reply.status})"
        yield Capability(
            "models", "no", result, "is the URL that of an OpenAI-compatible server?", needed=True
        )
        return
    names = [card.id for card in cards]
    yield Capability("models", "yes", ", ".join(names), needed=True)
    model_name = model or names[-1]
    if model_name not in names:
        yield Capability("model", "no", f"no {model_name}", f"name one of {', '.join(names)}", needed=True)
        return
    yield _context(cards, model_name)
    yield from _answers(client, model_name)
    yield _prefix_cache(client)
    yield _several(client, model_name)
    yield _adapters(client, cards)
    yield _pooling(client, model_name)


def _version(client: ServerClient) -> Capability:
    reply = client.get("/version")
    content = parse(Version, reply.body) if reply.status == 200 else None
    if content is not None:
        return Capability("vLLM", "yes", content.version[:40])
    return Capability("vLLM", "unknown", "the server names no version of vLLM")


def _key(client: ServerClient) -> Capability:
    """Whether others get in without the key."""
    if client.key is None:
        remedy = "" if client.is_loopback else "start the server with a key"
        return Capability("key", "no", "anybody who reaches the server may ask it", remedy)
    nobody = ServerClient(address=client.address, timeout_s=client.timeout_s).get("/v1/models")
    if nobody.status in (401, 403):
        return Capability("key", "yes", "asked for under /v1; not elsewhere, such as /invocations")
    return Capability("key", "no", "the server answers without it too", "start the server with the key")


def _context(cards: list[ModelCard], model_name: str) -> Capability:
    by_name = {card.id: card for card in cards}
    own = by_name[model_name]
    parent = by_name.get(own.parent or "", own)
    size = own.max_model_len or parent.max_model_len
    if size is None:
        return Capability("context", "unknown", "not listed", "name it: score --judge-context")
    if size < LEAST_CONTEXT:
        return Capability("context", "no", f"{size} tokens", "serve --max-model-len, or another model")
    remedy = "" if size > LEAST_CONTEXT else "long dialogues are cut"
    return Capability("context", "yes", f"{size} tokens", remedy)


def _answers(client: ServerClient, model_name: str) -> Iterator[Capability]:
    """Chat, schema and log-probabilities, from three questions."""
    messages = [{"role": "user", "content": "Answer with a colour as JSON."}]
    plain = {"model": model_name, "messages": messages, "temperature": 0, "max_tokens": 32}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    reply = client.post("/v1/chat/completions", {**plain, "response_format": form})
    choice = _choice(reply)
    if choice is None:
        bare = client.post("/v1/chat/completions", plain)
        if _choice(bare) is None:
            result = f"refused (status {bare.status})"
            yield Capability("chat", "no", result, "serve a model with a chat template", needed=True)
            return
    yield Capability("chat", "yes", f"{model_name} answered", needed=True)
    remedy = "answers may be unreadable; prefer vLLM 0.32 or newer"
    if choice is None:
        yield Capability("schema", "no", f"refused (status {reply.status})", remedy)
    else:
        text = choice.message.text
        if text in COLOURS:
            yield Capability("schema", "yes", "kept, without blanks")
        elif "".join(text.split()) in COLOURS:
            blanks = "blanks cost tokens: disable_any_whitespace in --structured-outputs-config"
            yield Capability("schema", "yes", "kept, with blanks", blanks)
        else:
            yield Capability("schema", "no", "ignored", remedy)
    yield _logprobs(client, model_name)


def _choice(reply: ServerReply) -> ChatChoice | None:
    completion = parse(ChatCompletion, reply.body) if reply.status == 200 else None
    return None if completion is None else completion.choices[0]


def _tops(choice: ChatChoice | None) -> list[float]:
    """The log-probabilities of the first token's alternatives, likeliest first."""
    tokens = (choice is not None and choice.logprobs is not None and choice.logprobs.content) or []
    tops = [top.logprob for token in tokens[:1] for top in token.top_logprobs or () if top is not None]
    return sorted((logprob for logprob in tops if logprob is not None), reverse=True)


def _logprobs(client: ServerClient, model_name: str) -> Capability:
    """Processed log-probabilities change with the temperature, raw ones do not."""
    messages = [{"role": "user", "content": "Hello"}]
    request = {
        "model": model_name,
        "messages": messages,
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 5,
    }
    cold, hot = (
        _tops(_choice(client.post("/v1/chat/completions", {**request, "temperature": heat})))
        for heat in (1, 2)
    )
    if not cold or not hot:
        remedy = "the judge's own words are its probabilities then"
        return Capability("log-probabilities", "no", "none in the answer", remedy)
    if max(abs(one - two) for one, two in zip(cold, hot, strict=False)) > SAME_LOGPROB:
        return Capability("log-probabilities", "yes", "processed")
    remedy = "start vLLM with --logprobs-mode processed_logprobs (dialint serve vllm does)"
    return Capability("log-probabilities", "yes", "raw: of before constraints and temperature", remedy)


def _prefix_cache(client: ServerClient) -> Capability:
    reply = client.get("/metrics")
    totals: dict[str, float] = {}
    if reply.status == 200:
        for name, value in METRIC.findall(reply.body.decode(errors="replace")):
            with suppress(ValueError):
                totals[name] = totals.get(name, 0.0) + float(value)
    if not math.isfinite(sum(totals.values())) or "queries" not in totals:
        return Capability(
            "prefix cache", "unknown", "no metrics of it", "the questions of a dialogue share it"
        )
    if not totals["queries"]:
        return Capability("prefix cache", "no", "not used", "start vLLM with --enable-prefix-caching")
    share = totals.get("hits", 0.0) / totals["queries"]
    return Capability("prefix cache", "yes", f"{share:.0%} of {totals['queries']:.0f} prompt tokens so far")


def _several(client: ServerClient, model_name: str) -> Capability:
    messages = [{"role": "user", "content": "Hello"}]
    reply = client.post(
        "/v1/chat/completions",
        {"model": model_name, "messages": messages, "max_tokens": 1, "n": 9, "temperature": 1},
    )
    if reply.status == 400:
        return Capability("cap on answers", "yes", "nine answers to one request are refused")
    if reply.status == 200:
        remedy = "VLLM_MAX_N_SEQUENCES (dialint serve vllm sets it)"
        return Capability("cap on answers", "no", "nine answers to one request are given", remedy)
    return Capability("cap on answers", "unknown", f"status {reply.status}")


def _adapters(client: ServerClient, cards: list[ModelCard]) -> Capability:
    """An empty request to load an adapter is refused as such, or the path is not there."""
    loaded = [card.id for card in cards if card.parent]
    having = f"loaded: {', '.join(loaded)}; " if loaded else ""
    status = client.post("/v1/load_lora_adapter", {}).status
    if status in (400, 422):
        return Capability("adapters at run time", "yes", f"{having}may be swapped (release promote --server)")
    if status in (404, 405):
        remedy = "dialint serve vllm --swap; without it a new adapter needs a restart"
        return Capability("adapters at run time", "no", f"{having}none can be loaded", remedy)
    return Capability("adapters at run time", "unknown", f"{having}status {status}")


def _pooling(client: ServerClient, model_name: str) -> Capability:
    """Whether scans could be run there: token classification by the pooling runner."""
    request = {"model": model_name, "input": "Hello", "task": "token_classify"}
    try:
        status = client.post("/pooling", request).status
    except WorldError:
        return Capability("token classification", "unknown", "no answer")
    if status == 200:
        return Capability("token classification", "yes", "/pooling answers")
    return Capability(
        "token classification", "no", f"/pooling: status {status}", "scans run in dialint itself"
    )
