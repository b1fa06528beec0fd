"""Replaces the adapter of a running vLLM server, under its name and without a pause.

vLLM loads the new adapter beside the old one and exchanges them between two steps of its engine; no request
is refused or repeated. A request that is being answered in that moment is finished by the new weights. Always
from another folder than the old one: vLLM's prefix cache knows adapters by their paths.
"""

from __future__ import annotations

from pathlib import Path

from dialint.app.serving.client import ServerClient, ServerReply, sample_request
from dialint.detector.engines.judge_folder import read_judge
from dialint.detector.engines.server_answers import parse_models
from dialint.detector.errors import ConfigError, UserError, WorldError


def swap_adapter(client: ServerClient, name: str, folder: Path) -> None:
    """Make a server answer by the adapter in `folder` when it is asked as `name`, and ask it once.

    Raises:
        ConfigError: E_OPTION, E_KEY or E_ADAPTER, the server may not or cannot load it.
        WorldError: E_SERVER, it does not answer.
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
            base = judge.base_sha256  # not ours; the server compares the shapes
        if base != judge.base_sha256:
            raise ConfigError("E_ADAPTER", f"{folder}: of another base than {name}, which the server runs")
    content = {"lora_name": name, "lora_path": str(judge.folder), "load_inplace": True}
    reply = client.post("/v1/load_lora_adapter", content)
    if reply.status == 404:
        raise ConfigError(
            "E_OPTION",
            f"{client.address} loads no adapters at run time: start it by `dialint serve vllm --swap`",
        )
    if reply.status != 200:
        raise _refusal(client, reply, f"to load {judge.folder.name}; its log says why")
    if _served_folder(client, name) != judge.folder:
        raise WorldError("E_SERVER", f"{client.address}: does not show {name} with its new folder")
    reply = client.post("/v1/chat/completions", sample_request(name))
    if reply.status != 200:
        raise _refusal(client, reply, f"a question to the new {name}")


def _served_folder(client: ServerClient, name: str) -> Path | None:
    """Where the server loaded the adapter `name` from."""
    reply = client.get("/v1/models")
    if reply.status != 200:
        raise _refusal(client, reply, "the list of its models")
    roots = (Path(card.root) for card in parse_models(reply.body) if card.id == name and card.root)
    return next(roots, None)


def _refusal(client: ServerClient, reply: ServerReply, what: str) -> ConfigError | WorldError:
    if reply.status in (401, 403):
        return ConfigError("E_KEY", f"{client.address}: does not take the key")
    return WorldError("E_SERVER", f"{client.address}: refused {what} (status {reply.status})")
