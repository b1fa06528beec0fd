"""`dialint serve vllm`: the command it makes, what it becomes, and each mistake in one line."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dialint.app.commands.serve import vllm
from dialint.app.serving.server import ServerClient
from dialint.app.serving.vllm_command import VllmConfig, select_models, server_options
from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.errors import ConfigError

Make = Callable[..., Path]


def printed(capsys: pytest.CaptureFixture[str], **options: object) -> list[str]:
    """The words of the command that --print shows."""
    vllm(config=VllmConfig(**options), print_=True)  # type: ignore[arg-type]
    return shlex.split(capsys.readouterr().out.replace("\\\n", ""))


def test_the_command_of_a_base_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = printed(capsys, base="small_decoder")
    start = words.index(str(SMALL_DECODER.resolve()))
    assert words[:start] == [
        *("VLLM_MAX_N_SEQUENCES=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "HF_HUB_OFFLINE=1"),
        *(sys.executable, "-m", "vllm.entrypoints.cli.main", "serve"),
    ]
    assert words[start + 1 :] == [
        *("--served-model-name", "small_decoder", "--host", "127.0.0.1", "--port", "8000"),
        *("--max-model-len", "2048", "--enable-prefix-caching", "--structured-outputs-config"),
        *('{"backend":"xgrammar","disable_any_whitespace":true}', "--generation-config", "vllm"),
        *("--enable-prompt-tokens-details", "--disable-fastapi-docs", "--disable-uvicorn-access-log"),
        *("--shutdown-timeout", "20", "--override-generation-config", '{"max_new_tokens":4096}'),
    ]


def test_the_command_of_a_judge(
    home: Path, make_judge: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = make_judge("first", rank=12), make_judge("se,cond", rank=40)
    key = home.parent / "my key"
    key.write_text("sk-1\n")
    words = printed(capsys, release=str(first), adapter=(f"other={second}",), swap=True, key_file=key)
    text = " ".join(words)
    own = printed(capsys, base="small_decoder", extra="--enforce-eager --seed 1", python=home / "none")
    assert own[-3:] == ["--enforce-eager", "--seed", "1"]
    assert "--enable-lora --max-loras 3 --max-lora-rank 64" in text
    assert words[-2:] == [f"judge={first}", json.dumps({"name": "other", "path": str(second)})]
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" in words
    assert f"VLLM_API_KEY=$(cat '{key}')" in words  # a reference, no key
    assert "sk-1" not in text


def test_a_name_on_a_hub_is_passed_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = printed(capsys, base="org/name@abc", max_tokens=64)
    assert "HF_HUB_OFFLINE=1" not in words
    assert words[words.index("serve") + 1] == "org/name"
    assert words[words.index("--revision") + 1] == "abc"
    assert words[words.index("--max-model-len") + 1] == "16384"


def test_a_base_without_a_chat_template_gets_the_one_of_its_judge(home: Path, make_judge: Make) -> None:
    base = home.parent / "base"
    base.mkdir()
    for name in ("config.json", "model.safetensors"):
        (base / name).symlink_to(SMALL_DECODER / name)
    config = VllmConfig(base=str(base), release="x")
    models = select_models(config, make_judge("judge"))
    options = server_options(config, models)
    assert options[options.index("--chat-template") + 1].startswith("{{ bos_token }}")
    assert models.served_names == ("judge", "base")


def test_the_process_becomes_the_server_with_its_key_in_the_environment_alone(
    vllm_path: Path, make_judge: Make, home: Path, free_port: int,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("DIALINT_JUDGE_KEY", "sk-secret")
    became: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda *arguments: became.append(arguments))
    vllm(config=VllmConfig(release=str(make_judge("judge")), swap=True, port=free_port))
    ((program, command, environment),) = became
    assert program == command[0] == sys.executable
    assert "sk-secret" not in " ".join(command)
    assert environment["VLLM_API_KEY"] == "sk-secret"
    address = f"http://127.0.0.1:{free_port}/v1"
    message = capsys.readouterr().err
    assert f"dialint score LOG --judge {address} --judge-model judge" in message
    assert "sk-secret" not in message


@pytest.mark.usefixtures("vllm_path")
def test_a_port_in_use_is_refused_before_anything_starts(free_port: int, home: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        message = refusal(base="small_decoder", port=free_port)
    assert f"E_PORT: port {free_port} is in use; `--port " in message
    assert not home.exists()


def refusal(**options: object) -> str:
    with pytest.raises(ConfigError) as refused:
        vllm(config=VllmConfig(**options))  # type: ignore[arg-type]
    return str(refused.value)


def test_each_mistake_is_one_line_with_advice(
    home: Path, make_judge: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make_judge("judge")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "name what to serve" in refusal()
    assert "no vllm in" in refusal(base="small_decoder")
    assert "--python ~/vllm/bin/python" in refusal(base="small_decoder")
    assert "no Python interpreter" in refusal(base="small_decoder", python=tmp_path / "nowhere")
    assert "there is no such folder; `dialint train sft judge` makes one" in refusal(
        release=str(tmp_path / "no")
    )
    assert "no manifest.json, so no trained judge" in refusal(release=str(empty))
    assert "no judge was promoted yet" in refusal(release="current")
    assert "there is no such folder, and it is no name on a hub" in refusal(base="nowhere")
    assert "no config.json, so no model" in refusal(base=str(empty))
    assert "vLLM serves no DoRA" in refusal(release=str(make_judge("dora", use_dora=True)))
    assert "a reward model" in refusal(release=str(make_judge("reward", kind="reward")))
    gone = make_judge("gone", base={"base": "/build/gone"})
    assert "name where the base is by --base" in refusal(release=str(gone))
    other = make_judge("other", base={"sha256": "0"})
    assert "made for other weights" in refusal(release=str(other))
    assert "different bases" in refusal(release=str(judge), adapter=(f"o={other}",))
    assert "the base has this name" in refusal(release=str(judge), name="small_decoder")
    assert "up to rank 512" in refusal(release=str(make_judge("wide", rank=1024)))
    assert "--adapter: expected NAME=FOLDER" in refusal(release=str(judge), adapter=("folder",))
    assert "--host 0.0.0.0 needs a key" in refusal(base="small_decoder", host="0.0.0.0")
    assert "--swap needs a key" in refusal(release=str(judge), swap=True)
    monkeypatch.setenv("DIALINT_JUDGE_KEY", "sk-1")
    assert "have options of their own" in refusal(base="small_decoder", extra="--api-key=sk-1")
    assert "No closing quotation" in refusal(base="small_decoder", extra="'")
    assert "on loopback only" in refusal(release=str(judge), swap=True, host="0.0.0.0")
    (judge / "adapter_model.safetensors").write_bytes(b"2")
    assert "its bytes are not those of the manifest" in refusal(release=str(judge))


def test_keys_never_cross_a_network_in_clear(tmp_path: Path) -> None:
    assert "sk-1" not in repr(ServerClient.of("https://gpu.example/api/v1", "sk-1"))
    assert ServerClient.of("https://gpu.example/api/v1/", "sk-1").address == "https://gpu.example/api"
    with pytest.raises(ConfigError, match="unencrypted"):
        ServerClient.of("http://gpu.example", "sk-1")
    for url in ("gpu.example", "http://user:pw@gpu.example", "http://gpu.example?key=1", "http://[::1"):
        with pytest.raises(ConfigError, match="E_OPTION"):
            ServerClient.of(url)
