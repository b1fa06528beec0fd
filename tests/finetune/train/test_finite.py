"""No weights with NaN or infinity are saved, and no loop of a scanner or a decoder goes on with them."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from dialint.detector.errors import ConfigError, WorldError
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.pack import PackConfig, pack
from dialint.finetune.scanner.train import scan
from dialint.finetune.scanner.trained import read_scanner, write_scanner
from dialint.finetune.train import checkpoint
from dialint.finetune.train.checkpoint import (
    save_state,
    save_weights,
    validate_finite,
    validate_loss,
    write_errors,
)
from dialint.finetune.train.options import RunOptions


@pytest.fixture
def config(
    folders: tuple[Path, Path], few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ScanConfig:
    return ScanConfig(
        examples=few, base=folders[1], out=tmp_path / "out", epochs=1, row_tokens=200, context_tokens=100,
        running=RunOptions(threads=1, precision="fp32", checkpoint_steps=1),
    )  # fmt: skip


@pytest.mark.parametrize(
    "save", [torch.save, save_file, lambda weights, path: save_state(path, "j", 1, 0, weights)]
)
def test_a_full_disk_is_one_line_whoever_writes(tmp_path: Path, save: Callable[..., None]) -> None:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, old[1]))
    try:
        with (
            pytest.raises(WorldError, match=r"E_WRITE: .*(writing failed|File too large)"),
            write_errors(tmp_path),
        ):
            save({"w": torch.zeros(10_000)}, tmp_path / "w")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_weights_that_the_last_step_spoiled_are_not_saved(config: ScanConfig) -> None:
    """No loss comes after it."""
    with pytest.raises(ConfigError, match=r"E_DIVERGED: .*holds NaN or infinity; not saved"):
        scan(replace(config, tokens=200, head_learning_rate=1e39))
    assert not list(config.out.glob("*.safetensors"))
    assert not list(config.out.glob("checkpoint-*"))


@pytest.mark.parametrize(
    ("loss", "norm"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (1.0, -math.inf)]
)
def test_loss_and_gradient_must_be_numbers(loss: float, norm: float) -> None:
    validate_loss(7, 1.0, 1.0)
    with pytest.raises(ConfigError, match="E_DIVERGED: step 7: the"):
        validate_loss(7, loss, norm)


def test_every_tensor_of_a_state_is_checked() -> None:
    state = {"state": {0: {"step": torch.tensor(1), "exp_avg": [torch.ones(2)]}}, "lr": 0.1}
    validate_finite(state, "here")
    state["state"][0]["exp_avg"].append(torch.tensor([1.0, math.inf]))  # type: ignore[index]
    with pytest.raises(ConfigError, match=r"here: state\.0\.exp_avg\.1 holds"):
        validate_finite(state, "here")


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn])
def test_whatever_its_type_a_tensor_with_nan_is_not_written(tmp_path: Path, kind: torch.dtype) -> None:
    path = tmp_path / "weights.safetensors"
    with pytest.raises(ConfigError, match="b holds NaN or infinity"):
        save_weights({"a": torch.ones(3).to(kind), "b": torch.tensor([1.0, math.nan]).to(kind)}, path)
    assert not path.exists()
    save_weights({"a": torch.ones(3).to(kind), "n": torch.arange(3)}, path)
    assert load_file(path).keys() == {"a", "n"}


def test_a_checkpoint_with_nan_is_neither_sealed_nor_left(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-3"
    folder.mkdir()
    save_file({"a": torch.tensor([math.nan])}, folder / "model.safetensors")
    with pytest.raises(ConfigError, match="a holds NaN"):
        checkpoint.seal(folder, "job", 0)
    assert not folder.exists()


def test_no_scanner_of_nan_is_packed_or_written(config: ScanConfig, tmp_path: Path, some: Path) -> None:
    scan(replace(config, tokens=200))
    weights = load_file(config.out / "model.safetensors")
    weights["backbone.embeddings.word_embeddings.weight"][3] = math.nan
    scanner = read_scanner(config.out)
    with torch.no_grad():
        scanner.model.slot_head.bias.fill_(math.inf)
    (tmp_path / "written").mkdir()
    with pytest.raises(ConfigError, match=r"slot_head\.bias holds"):
        write_scanner(tmp_path / "written", scanner, config, {})
    save_file(weights, config.out / "model.safetensors")
    with pytest.raises(ConfigError, match=r"word_embeddings\.weight holds"):
        pack(PackConfig(scanner=config.out, examples=config.examples, out=tmp_path / "release", name="r"))
    assert not (tmp_path / "release").exists()
