"""`deploy/`: not run here, but the judge's command is ours, its paths exist, and nothing of it is open. The chart and
the schemas are in tests/deploy."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dialint.app.commands.serve import vllm
from dialint.app.serving.vllm_command import VllmConfig
from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.environment import modules_by_extra

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert content["secrets"] == {f"{name}_key": {"file": f"./{name}.key"} for name in ("database", "judge")}
    result: dict[str, Any] = content["services"]
    return result


def test_the_commands_are_those_that_serve_prints(
    services: dict[str, Any], home: Path, make_judge: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With folders elsewhere, and a base of a context long enough. On a cluster adapters are not swapped."""
    models = home.parent / "models"
    (models / "base").mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer_config.json"):
        shutil.copyfile(SMALL_DECODER / name, models / "base" / name)
    (models / "base" / "config.json").write_text(json.dumps({"max_position_embeddings": 262144}))
    judge = make_judge("judge", rank=16)
    key = home.parent / "judge.key"
    key.write_text("sk-1")

    def printed(**options: Any) -> tuple[list[str], dict[str, str]]:
        adapter = (f"judge={judge}",)
        config = VllmConfig(
            base=str(models / "base"), adapter=adapter, key_file=key, python=Path("/none"), **options
        )
        vllm(config=config, print_=True)
        words = shlex.split(capsys.readouterr().out.replace("\\\n", ""))
        variables = dict(word.split("=", 1) for word in words[: words.index("/none")])
        assert variables.pop("VLLM_API_KEY") == f"$(cat {key})"
        command = words[words.index("serve") + 1 :]
        return [
            w.replace(str(judge), "/models/judge").replace(str(models), "/models") for w in command
        ], variables

    own = {"HOME": "/tmp", "USER": "dialint"}  # of a user that the image doesn't know
    command, variables = printed(swap=True)
    assert services["vllm"]["command"] == command
    assert services["vllm"]["environment"] == variables | own
    command, variables = printed(host="0.0.0.0")
    chart = yaml.safe_load((DEPLOY / "helm/dialint/values.yaml").read_text())["components"]["vllm"]
    assert (chart["args"], chart["env"]) == (command, variables | own)
    predictor = yaml.safe_load((DEPLOY / "kserve/inferenceservice.yaml").read_text())["spec"]["predictor"]
    [container] = predictor["containers"]
    plain = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    assert (container["args"], plain) == (command, variables | own)
    assert {services["vllm"]["image"], chart["image"], container["image"]} == {"vllm/vllm-openai:v0.33.0"}


def test_ports_are_of_this_machine_and_models_are_read_only(services: dict[str, Any]) -> None:
    server = services["vllm"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published.keys() == {"console", "api"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert services["dialint"]["network_mode"] == "service:vllm"
    assert all(volume.split(" ")[0].endswith(":ro") for volume in server["volumes"])
    assert ".key" not in json.dumps(services)
    assert "/health" in server["healthcheck"]["test"][-1]
    assert services["dialint"]["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile"}


def test_the_image_copies_what_exists_and_runs_as_nobody_special() -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [word for line in lines if re.match(r"COPY (?!--from)", line) for word in line.split()[1:-1]]
    assert [word for word in copied if not (ROOT / word).exists()] == []
    assert {"app", "detector", "eval", "finetune", "labeling", "dialint"} <= set(copied)
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001"]
    assert {line.split()[1] for line in lines if line.startswith("FROM")} == {"python:3.11-slim-bookworm"}
    [default] = re.findall(r"^ARG EXTRAS=(.+)$", "\n".join(lines), re.MULTILINE)
    assert set(default.split(",")) <= modules_by_extra().keys()
