"""A client of a model server, and the swap of the server's adapter.

The client sends JSON with a timeout and an API key that is never printed. It follows no redirect, uses no
proxy, and does not retry; the judge's engine for servers is in `dialint.detector.engines`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from dialint.detector.engines.judge_folder import read_judge
from dialint.detector.engines.model_server import parse_address, parse_models
from dialint.detector.errors import ConfigError, DialintError, UserError, WorldError
from dialint.detector.judge.prompt import Evidence, Reader
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

MAX_BODY_BYTES = 16 * 2**20


@dataclass(frozen=True)
class ServerReply:
    """The status and the body of a response."""

    status: int
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ServerClient:
    """A client of the server at `address`: ``http://host:port``, with the path before ``/v1``, if any."""

    address: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    is_loopback: bool = True

    @classmethod
    def of(cls, url: str, key: str | None = None, *, timeout_s: float = 30.0) -> ServerClient:
        """Returns the client for a URL, with or without ``/v1``; raises as `parse_address`."""
        address = parse_address(url, has_key=key is not None)
        return cls(address=address.root_url, key=key, timeout_s=timeout_s, is_loopback=address.is_loopback)

    def ask(self, path: str, content: Mapping[str, Any] | None = None) -> ServerReply:
        """Returns the response of any status to a POST of `content`, or to a GET if it is None.

        Raises:
            WorldError: E_SERVER, no response within `timeout_s`.
        """
        method = "GET" if content is None else "POST"
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        body = bytearray()
        try:
            with (
                httpx2.Client(timeout=self.timeout_s, trust_env=False) as client,
                client.stream(method, self.address + path, headers=headers, json=content) as response,
            ):
                for part in response.iter_raw():
                    body += part
                    if len(body) > MAX_BODY_BYTES:
                        break
        except httpx2.TimeoutException:
            reason = f"no answer within {self.timeout_s:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"no answer ({type(error).__name__})"
        else:
            return ServerReply(response.status_code, bytes(body))
        raise WorldError("E_SERVER", f"{self.address}: {reason}")


SAMPLES = (
    ("Where is my parcel?", "It is on its way and arrives tomorrow."),
    ("Can I get my money back?", "you should of read the terms, its your own fault"),
    ("My card was charged twice.", "Please restart your router, then it will work again."),
    ("When do you open?", "We open at nine. I have also cancelled your contract."),
)
"""Texts of customer and agent in the made-up dialogues by which a server is tested."""


def sample_request(model: str, sample: int) -> dict[str, Any]:
    """Returns a chat completion request about a made-up dialogue, with the schema of a judge's answer."""
    customer, agent = SAMPLES[sample]
    turns = (
        Turn(index=0, role="customer", text=customer),
        Turn(index=1, role="agent", text=agent),
    )
    taxonomy = load_taxonomy()
    reader = Reader(taxonomy=taxonomy, max_tokens=10**6, count=lambda messages: 1)
    dialogue, codes = Dialogue(id="sample", turns=turns), {"T1": taxonomy.codes["T1"]}
    [question], _ = reader.questions(dialogue, codes, Evidence())
    return {
        "model": model,
        "messages": list(question.messages),
        "temperature": 0,
        "max_tokens": 96,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": question.schema},
        },
    }


def swap_adapter(client: ServerClient, name: str, folder: Path) -> None:
    """Makes a running vLLM server serve the adapter in `folder` as `name`, and verifies that it has an
    effect: its answer to one of `SAMPLES` must differ from that of its base. Otherwise the old adapter is
    restored.

    vLLM loads the new adapter beside the old one and exchanges them between two steps of its engine; no
    request is refused or repeated, and running ones are finished by the new weights. `folder` must differ
    from the old adapter's: vLLM's prefix cache identifies adapters by path.

    Raises:
        ConfigError: E_OPTION, E_KEY or E_ADAPTER, the server may not or cannot load it, or it has no effect.
        WorldError: E_SERVER, the server does not respond.
    """
    if not client.is_loopback:
        raise ConfigError("E_OPTION", f"--server {client.address}: adapters are swapped on loopback only")
    if client.key is None:
        raise ConfigError("E_KEY", "--server: the key of the server: --key-file, or DIALINT_JUDGE_KEY")
    judge = read_judge(folder)
    if judge.base is None:
        raise ConfigError(
            "E_ADAPTER",
            f"{folder}: a whole model, no adapter; start the server again with it (`dialint serve`)",
        )
    before = _served_folder(client, name)
    if before is not None and before.is_dir():
        try:
            base = read_judge(before).base_sha256
        except UserError:
            base = judge.base_sha256  # unknown; the server compares the shapes
        if base != judge.base_sha256:
            raise ConfigError("E_ADAPTER", f"{folder}: of another base than {name}, which the server runs")
    content = {"lora_name": name, "lora_path": str(judge.folder), "load_inplace": True}
    reply = client.ask("/v1/load_lora_adapter", content)
    if reply.status == 404:
        raise ConfigError(
            "E_OPTION",
            f"{client.address} loads no adapters at run time: start it by `dialint serve vllm --swap`",
        )
    if reply.status != 200:
        raise _refusal(client, reply, f"to load {judge.folder.name}; its log says why")
    try:
        if _served_folder(client, name) != judge.folder:
            raise WorldError("E_SERVER", f"{client.address}: does not show {name} with its new folder")
        cards = parse_models(client.ask("/v1/models").body)
        base_name = next((card.parent for card in cards if card.id == name and card.parent), cards[0].id)
        if all(_answer(client, name, n) == _answer(client, base_name, n) for n in range(len(SAMPLES))):
            raise ConfigError(
                "E_ADAPTER", f"{folder}: served, it answers as its base does, so it does not act"
            )
    except DialintError:
        if before is not None:
            with suppress(DialintError):
                client.ask("/v1/load_lora_adapter", {**content, "lora_path": str(before)})
        raise


def _answer(client: ServerClient, name: str, sample: int) -> str:
    reply = client.ask("/v1/chat/completions", sample_request(name, sample))
    if reply.status != 200:
        raise _refusal(client, reply, f"a question to {name}")
    return str(json.loads(reply.body)["choices"][0]["message"]["content"])


def _served_folder(client: ServerClient, name: str) -> Path | None:
    """Returns the folder from which the server loaded the adapter `name`, if any."""
    reply = client.ask("/v1/models")
    if reply.status != 200:
        raise _refusal(client, reply, "the list of its models")
    roots = (Path(card.root) for card in parse_models(reply.body) if card.id == name and card.root)
    return next(roots, None)


def _refusal(client: ServerClient, reply: ServerReply, what: str) -> ConfigError | WorldError:
    if reply.status in (401, 403):
        return ConfigError("E_KEY", f"{client.address}: does not take the key")
    return WorldError("E_SERVER", f"{client.address}: refused {what} (status {reply.status})")
