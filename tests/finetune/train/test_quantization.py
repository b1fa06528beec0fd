"""Bases whose weights are stored in few bits: learnt from with their scales, or refused by name."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.functional import dequantize_4bit
from bitsandbytes.nn import Linear4bit
from other_bases import written
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from dialint.detector.engines import base_models
from dialint.detector.engines.quantization import int8_config, iter_weights, nf4_config, storage_format
from dialint.detector.engines.weight_formats import encode_weight
from dialint.detector.errors import ConfigError
from dialint.finetune.decoder.model import load_decoder
from dialint.finetune.judge import merge_adapter
from dialint.finetune.scanner.backbone import build_network, load_base
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.train import scan
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions

FP8 = torch.float8_e4m3fn
LARGEST = 448.0
"""Of an 8-bit float."""
OFF = {"blocks": 0.04, "int8": 0.02, "4 bits": 0.6}
"""How far the largest weight's rounding may reach, over the largest weight."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama of random weights in fp32."""
    return written(tmp_path_factory.mktemp("whole") / "llama", "llama")


def matrices(weights: dict[str, torch.Tensor]) -> list[str]:
    return [
        name for name, w in weights.items() if w.dim() == 2 and "embed" not in name and "head" not in name
    ]


def in_fp8(weight: torch.Tensor, rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight in 8-bit floats and the scale of each block of `rows` times `columns`, as DeepSeek and Qwen do."""
    scale = torch.zeros(-(-weight.shape[0] // rows), -(-weight.shape[1] // columns))
    small = torch.zeros(weight.shape, dtype=FP8)
    for i in range(scale.shape[0]):
        for j in range(scale.shape[1]):
            place = (slice(i * rows, (i + 1) * rows), slice(j * columns, (j + 1) * columns))
            scale[i, j] = weight[place].abs().max() / LARGEST
            small[place] = (weight[place] / scale[i, j]).to(FP8)
    return small, scale


def quantised(whole: Path, folder: Path, way: str) -> Path:
    """The base with its matrices stored in few bits, as `way` does."""
    if way != "blocks":
        how = int8_config() if way == "int8" else nf4_config("CAUSAL_LM")
        AutoModelForCausalLM.from_pretrained(whole, quantization_config=how).save_pretrained(folder)
        for path in whole.glob("token*"):
            shutil.copyfile(path, folder / path.name)
        return folder
    shutil.copytree(whole, folder)
    weights, told = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    for name in matrices(weights):
        weights[name], weights[f"{name}_scale_inv"] = in_fp8(weights[name], 16, 16)
    told["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [16, 16]}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(params=list(OFF))
def base(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Path:
    folder = quantised(whole, tmp_path / "base", request.param)
    (folder / "way").write_text(request.param)
    return folder


def near(found: torch.Tensor, wanted: torch.Tensor, base: Path) -> bool:
    worst = float((found.detach().float() - wanted).abs().max() / wanted.abs().max())
    return worst <= OFF[(base / "way").read_text()]


def test_every_stage_learns_from_weights_with_their_scales(
    base: Path, whole: Path, few: Path, tmp_path: Path
) -> None:
    """The scanner's, distillation's, pre-training's and the judge's reading of one base."""
    exact = load_file(whole / "model.safetensors")
    names = matrices(exact)
    config = ScanConfig(examples=few, base=base, out=tmp_path / "out", context_tokens=100)
    base_model = load_base(config)
    scanner = dict(build_network(config, base_model, 3, "cpu").backbone.named_parameters())
    decoder = dict(load_decoder(base).named_parameters())
    judge = dict(
        load_model(base_models.resolve_source(str(base)), AdapterOptions(adapter="none")).named_parameters()
    )
    read = dict(iter_weights(base))
    assert "quantization_config" not in base_model.shape
    assert len(names) == 14
    for name in names:
        for found in (scanner[name.removeprefix("model.")], decoder[name], judge[name], read[name]):
            assert found.dtype == torch.float32
            assert near(found, exact[name], base), name
    assert all(weight.requires_grad for weight in judge.values())
    assert torch.equal(read["model.norm.weight"].float(), exact["model.norm.weight"])
    assert read.keys() == exact.keys()


def test_a_scanner_learns_on_what_merge_left_in_int8(
    whole: Path, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge_adapter.run(merge_adapter.MergeConfig(model=str(whole), out=tmp_path / "merged", weights="int8"))
    config = ScanConfig(
        examples=few, base=tmp_path / "merged", out=tmp_path / "out", tokens=200, row_tokens=200, context_tokens=100,
        learning_rate=1e-9, prefix_share=0.0, running=RunOptions(threads=1, precision="fp32"),
    )  # fmt: skip
    scan(config)
    exact, made = load_file(whole / "model.safetensors"), load_file(config.out / "model.safetensors")
    for name in matrices(exact):
        own = made[name.replace("model.", "backbone.", 1)]
        assert float((own - exact[name]).abs().max()) < 0.02 * float(exact[name].abs().max()), name
    assert "quantization_config" not in json.loads((config.out / "config.json").read_text())


def test_a_merged_judge_of_few_bits_is_merged_again_in_more(whole: Path, tmp_path: Path) -> None:
    for weights, model in (("int8", whole), ("fp32", tmp_path / "int8")):
        merge_adapter.run(
            merge_adapter.MergeConfig(model=str(model), out=tmp_path / weights, weights=weights)
        )  # type: ignore[arg-type]
    assert storage_format(tmp_path / "int8") == "bitsandbytes"
    assert storage_format(tmp_path / "fp32") == "plain"
    exact, made = (load_file(folder / "model.safetensors") for folder in (whole, tmp_path / "fp32"))
    for name in matrices(exact):
        assert float((made[name] - exact[name]).abs().max()) < 0.02 * float(exact[name].abs().max())


def test_weights_of_our_own_releases_come_back(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """Names as `dialint train pack` gives them; int8 rows have their scales beside them."""
    weight = torch.randn(6, 8)
    save_file(encode_weight("backbone.w", weight, "int8"), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"backbone\.w is stored as I8, and config\.json does not say how"):
        list(iter_weights(tmp_path))
    embedded = Path(__file__).parents[3] / "detector" / "embedded"
    found = dict(iter_weights(embedded))
    assert {weight.dtype for weight in found.values()} == {torch.float32}
    assert not any(name.endswith(".scale") for name in found)


@pytest.mark.parametrize("method", ["gptq", "compressed-tensors"])
def test_what_cannot_be_undone_is_refused_in_one_line(
    whole: Path, few: Path, tmp_path: Path, method: str
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "base"))
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, "quantization_config": {"quant_method": method}}))
    for read in every_reader(folder, few, tmp_path):
        with pytest.raises(
            ConfigError, match=f"E_BASE: .*quantised by {method}, which cannot be undone"
        ) as refused:
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
    """How each kind of stage reads a base."""
    config = ScanConfig(examples=few, base=folder, out=tmp_path / "out", context_tokens=100)
    return [
        lambda: build_network(config, load_base(config), 3, "cpu"),
        lambda: build_network(replace(config, adapters=AdapterOptions(rank=2)), load_base(config), 3, "cpu"),
        lambda: load_decoder(folder),
        lambda: load_model(base_models.resolve_source(str(folder)), AdapterOptions(rank=2)),
        lambda: load_model(base_models.resolve_source(str(folder)), AdapterOptions(adapter="none")),
    ]


def test_adapters_beside_4_bits_that_were_stored_keep_their_gradients(whole: Path, tmp_path: Path) -> None:
    """A pass in evaluation repacks 4-bit weights for a kernel without gradients, if they may be."""
    base = quantised(whole, tmp_path / "base", "4 bits")
    model = load_model(base_models.resolve_source(str(base)), AdapterOptions(rank=2))
    layers = [module for module in model.modules() if isinstance(module, Linear4bit)]
    assert layers
    assert not any(layer.support_avx512bf16_for_cpu for layer in layers)
    found = dict(iter_weights(base))
    for name, layer in model.get_base_model().named_modules():
        if isinstance(layer, Linear4bit):
            own = dequantize_4bit(layer.weight.data, layer.weight.quant_state).float()
            assert torch.equal(found[f"{name.replace('.base_layer', '')}.weight"], own)
