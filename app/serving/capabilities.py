"""What a model server can do for the judge: found out by opening it as a judge, changing nothing.

Written for vLLM; any OpenAI-compatible server answers what it can, the rest is unknown. The questions hold no
dialogue and generate a few tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dialint.app.serving.client import ServerClient
from dialint.detector.engines.server_answers import Version, parse, parse_models
from dialint.detector.environment import require_library
from dialint.detector.errors import DialintError
from dialint.detector.judge.config import JudgeConfig

LEAST_CONTEXT = 1536
"""Tokens of a prompt below which most dialogues would be cut."""


@dataclass(frozen=True)
class Capability:
    """One line: what was asked about, whether the server can do it, what it showed, and what to do about it.
    `needed`: without it the server cannot judge."""

    what: str
    state: Literal["yes", "no", "unknown"]
    result: str
    remedy: str = ""
    needed: bool = False


def examine_server(
    client: ServerClient, model: str | None = None, key_file: Path | None = None
) -> Iterator[Capability]:
    """Every capability, as far as the server lets it be found out. `model` is the one that is asked; without
    it the last that the server lists, which is an adapter where there are any.

    Raises:
        WorldError: E_SERVER, nobody answers.
    """
    reply = client.get("/version")
    version = parse(Version, reply.body) if reply.status == 200 else None
    if version is None:
        yield Capability("vLLM", "unknown", "the server names no version of vLLM")
    else:
        yield Capability("vLLM", "yes", version.version[:40])
    reply = client.get("/v1/models")
    if reply.status in (401, 403):
        done = "does not take the key" if client.key else "wants a key"
        yield Capability("key", "no", done, "put it into DIALINT_JUDGE_KEY or --key-file", needed=True)
        return
    yield _key(client)
    cards = parse_models(reply.body) if reply.status == 200 else []
    names = ", ".join(card.id for card in cards)
    yield Capability("models", "yes" if cards else "unknown", names or "no list")
    yield from _judge(client, model or (cards[-1].id if cards else None), key_file)


def _key(client: ServerClient) -> Capability:
    """Whether others get in without the key."""
    if client.key is None:
        remedy = "" if client.is_loopback else "start the server with a key"
        return Capability("key", "no", "anybody who reaches the server may ask it", remedy)
    if replace(client, key=None).get("/v1/models").status in (401, 403):
        return Capability("key", "yes", "asked for under /v1; not elsewhere, such as /invocations")
    return Capability("key", "no", "the server answers without it too", "start the server with the key")


def _judge(client: ServerClient, model: str | None, key_file: Path | None) -> Iterator[Capability]:
    """What `score --judge` finds out when it begins."""
    require_library("openai", "doctor --vllm")
    from dialint.detector.engines.judge_http import HttpJudge

    url = f"{client.address}/v1"
    config = JudgeConfig(judge=f"http:{url}", judge_model=model, judge_key_file=key_file)
    try:
        judge = HttpJudge(url, config)
    except DialintError as error:
        yield Capability("judge", "no", error.message, "see the server's log", needed=True)
        return
    judge.close()
    yield Capability("judge", "yes", f"{judge.name} answered", needed=True)
    room = judge.max_prompt_tokens
    remedy = "" if room > LEAST_CONTEXT else "long dialogues are cut: a larger --max-model-len"
    yield Capability("context", "yes", f"{room:,} tokens of a prompt", remedy)
    for note in judge.notes:
        yield Capability("form", "no", note)
