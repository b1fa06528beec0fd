"""Bases whose weights are stored in few bits: served and trained by an adapter, or refused by name."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.nn import Linear4bit
from other_bases import written
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from dialint.detector.engines import base_models
from dialint.detector.engines.quantization import encode_weight, iter_weights, nf4_config
from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.backbone import build_network, load_base
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.adapters import AdapterOptions, load_model

FP8 = torch.float8_e4m3fn


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama of random weights in fp32."""
    return written(tmp_path_factory.mktemp("whole") / "llama", "llama")


def matrices(weights: dict[str, torch.Tensor]) -> list[str]:
    return [
        name for name, w in weights.items() if w.dim() == 2 and "embed" not in name and "head" not in name
    ]


def in_4_bits(whole: Path, folder: Path) -> Path:
    model = AutoModelForCausalLM.from_pretrained(whole, quantization_config=nf4_config("CAUSAL_LM"))
    model.save_pretrained(folder)
    for path in whole.glob("token*"):
        shutil.copyfile(path, folder / path.name)
    return folder


def test_weights_of_our_own_releases_come_back(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """Names as `dialint train pack` gives them; int8 rows have their scales beside them."""
    weight = torch.randn(6, 8)
    save_file(encode_weight("backbone.w", weight, "int8"), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"backbone\.w is stored as I8, and config\.json does not say how"):
        list(iter_weights(tmp_path))
    embedded = Path(__file__).parents[3] / "detector" / "embedded"
    weights = dict(iter_weights(embedded))
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert not any(name.endswith(".scale") for name in weights)


@pytest.mark.parametrize(
    ("method", "why"), [("gptq", "quantised by gptq, which is not supported"), ("fp8", "in few bits")]
)
def test_untrainable_bases_are_refused_in_one_line(
    whole: Path, few: Path, tmp_path: Path, method: str, why: str
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "base"))
    shape = json.loads((folder / "config.json").read_text())
    shape["quantization_config"] = {"quant_method": method}
    (folder / "config.json").write_text(json.dumps(shape))
    for read in every_reader(folder, few, tmp_path):
        with pytest.raises(ConfigError, match=f"E_BASE: .*{why}") as refused:
            read()
        assert "\n" not in str(refused.value)


def test_numbers_that_mean_nothing_are_refused(whole: Path, few: Path, tmp_path: Path) -> None:
    """A config that does not say how they are stored."""
    folder = Path(shutil.copytree(whole, tmp_path / "base"))
    weights = load_file(folder / "model.safetensors")
    name = matrices(weights)[3]
    weights[name] = weights[name].to(FP8)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for read in every_reader(folder, few, tmp_path):
        with pytest.raises(ConfigError, match=f"E_BASE: .*{name}"):
            read()


def every_reader(folder: Path, few: Path, tmp_path: Path) -> list[Any]:
    """Returns the reading of a base by each kind of stage."""
    config = ScanConfig(examples=few, base=folder, out=tmp_path / "out", epochs=1, context_tokens=100)
    return [
        lambda: build_network(config, load_base(config), 3, "cpu"),
        lambda: build_network(replace(config, adapters=AdapterOptions(rank=2)), load_base(config), 3, "cpu"),
        lambda: load_model(base_models.resolve_source(str(folder)), AdapterOptions(rank=2)),
        lambda: load_model(base_models.resolve_source(str(folder)), AdapterOptions(adapter="none")),
    ]


def test_adapters_beside_4_bits_that_were_stored_keep_their_gradients(whole: Path, tmp_path: Path) -> None:
    """A pass in evaluation repacks 4-bit weights for a kernel without gradients, if they may be."""
    base = in_4_bits(whole, tmp_path / "base")
    source = base_models.resolve_source(str(base))
    model = load_model(source, AdapterOptions(rank=2))
    layers = [module for module in model.modules() if isinstance(module, Linear4bit)]
    assert layers
    assert not any(layer.support_avx512bf16_for_cpu for layer in layers)
    with pytest.raises(ConfigError, match="in few bits"):
        load_model(source, AdapterOptions(adapter="none"))
