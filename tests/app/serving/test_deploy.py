"""`deploy/`: not run here, but its command is ours, its paths exist, and nothing of it is open."""

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

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "deploy" / "compose.yaml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    content = yaml.safe_load(COMPOSE.read_text())
    assert content["secrets"] == {"judge_key": {"file": "./judge.key"}}
    found: dict[str, Any] = content["services"]
    return found


def test_the_command_is_the_one_that_serve_prints(
    services: dict[str, Any], home: Path, make_judge: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With folders elsewhere, and a base of a context long enough."""
    models = home.parent / "models"
    (models / "base").mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer_config.json"):
        shutil.copyfile(SMALL_DECODER / name, models / "base" / name)
    (models / "base" / "config.json").write_text(json.dumps({"max_position_embeddings": 262144}))
    judge = make_judge("judge", rank=16)
    key = home.parent / "judge.key"
    key.write_text("sk-1")
    config = VllmConfig(
        base=str(models / "base"), adapter=(f"judge={judge}",), swap=True, key_file=key, python=Path("/none")
    )
    assert vllm(config=config, print_=True) == 0
    words = shlex.split(capsys.readouterr().out.replace("\\\n", ""))
    start = words.index("serve") + 1
    command = [
        word.replace(str(judge), "/models/judge").replace(str(models), "/models") for word in words[start:]
    ]
    assert services["vllm"]["command"] == command
    variables = dict(word.split("=", 1) for word in words[: words.index("/none")])
    assert variables.pop("VLLM_API_KEY") == f"$(cat {key})"
    assert services["vllm"]["environment"] == variables


def test_nothing_is_published_and_models_are_read_only(services: dict[str, Any]) -> None:
    server = services["vllm"]
    assert re.fullmatch(r"vllm/vllm-openai:v\d+\.\d+\.\d+", server["image"])
    assert not [name for name in services if "ports" in services[name]]
    assert services["dialint"]["network_mode"] == "service:vllm"
    assert all(volume.split(" ")[0].endswith(":ro") for volume in server["volumes"])
    assert "judge.key" not in json.dumps(server)
    assert "/health" in server["healthcheck"]["test"][-1]
    assert services["dialint"]["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile"}


def test_the_image_copies_what_exists_and_runs_as_nobody_special() -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert [word for word in copied if not (ROOT / word).exists()] == []
    assert {"app", "detector", "eval", "finetune", "labeling", "dialint"} <= set(copied)
    last_user = [line for line in lines if line.startswith("USER")][-1]
    assert last_user == "USER dialint"
    assert re.search(r"^FROM \S+:\S+$", lines[2])
