"""Bases by name: from a hub, which is a server on this machine here, from its cache, and the one that ships."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub import COMMIT, hub
from huggingface_hub import constants

from dialint.detector.artifacts import MANIFEST
from dialint.detector.engines import base_models
from dialint.detector.engines.base_models import SMALL_DECODER, resolve_base, resolve_source
from dialint.detector.errors import ConfigError
from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

NAME = "acme/tiny-judge"
NOWHERE = "http://127.0.0.1:9"


def hub_is_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache's folder of a hub with the tiny decoder, and with what must not be fetched."""
    folder = tmp_path / "hub"
    shutil.copytree(tiny, folder)
    (folder / "modeling_tiny.py").write_text("raise SystemExit('ran')")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"the same again")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with hub(NAME, folder) as address:
        hub_is_at(address, monkeypatch)
        yield tmp_path / "cache" / f"models--{NAME.replace('/', '--')}" / "snapshots" / COMMIT


@pytest.mark.slow
def test_a_judge_is_trained_by_name_and_loaded_without_the_hub(
    copy: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "judge"
    run(
        SftJudgeConfig(
            dataset=dataset, base=f"{NAME}@v1", out=out, questions=2, dev_questions=1, dev_answers=0,
            learning=ScheduleOptions(steps=2, eval_steps=2), adapters=AdapterOptions(rank=2),
            running=RunOptions(threads=1, precision="fp32", device="cpu"),
        )
    )  # fmt: skip
    base = json.loads((out / MANIFEST).read_text())["base"]
    assert base == {"name": NAME, "revision": COMMIT, "sha256": base_models.weights_sha256(copy)}
    assert json.loads((out / "adapter_config.json").read_text())["base_model_name_or_path"] == NAME
    fetched = {path.relative_to(copy).as_posix() for path in copy.rglob("*")}
    assert "model.safetensors" in fetched
    assert fetched.isdisjoint({"modeling_tiny.py", "pytorch_model.bin", "onnx", "onnx/model.safetensors"})

    # The hub is gone: the cache has the commit that the judge was taught on.
    hub_is_at(NOWHERE, monkeypatch)
    assert resolve_source(str(out)).base == base_models.BaseFolder(copy, NAME, COMMIT)

    # Other weights under the same name are noticed.
    changed = bytearray((copy / "model.safetensors").read_bytes())
    changed[-1] ^= 1
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").write_bytes(changed)
    with pytest.raises(ConfigError, match=r"E_ADAPTER: .*other weights"):
        resolve_source(str(out))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("acme/another", "neither a folder here nor on the hub"),
        (f"{NAME}@v9", "neither a folder here nor on the hub"),
        ("build/models/nope", "there is no such folder"),
    ],
)
def test_a_name_that_means_nothing_is_one_line(copy: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"E_BASE: {name}: {reason}") as refused:
        resolve_base(name)
    assert "\n" not in str(refused.value)


def test_the_packaged_decoder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = resolve_source("small_decoder")
    assert source.base == base_models.BaseFolder(SMALL_DECODER, "small_decoder")
    assert source.sha256 == base_models.weights_sha256(SMALL_DECODER)
    assert resolve_source(str(SMALL_DECODER)).base.name == "small_decoder"
