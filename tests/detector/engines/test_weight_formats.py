"""Weights come back from a release as close as their form allows, and broken ones are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import deserialize
from safetensors.torch import load_file, save, save_file

from dialint.detector.engines import local
from dialint.detector.engines.quantization import WeightFormat, encode_weight, read_weight
from dialint.detector.errors import ReleaseRefused
from dialint.detector.release import SCALE, WEIGHTS, Release, finalize_release

NAME = "backbone.encoder.weight"


def opened(tensors: Mapping[str, torch.Tensor]) -> Release:
    """What `read_weight` needs to know of a release."""
    parts = deserialize(save(dict(tensors)))  # type: ignore[no-untyped-call]
    read = {name: (part["dtype"], part["shape"], bytes(part["data"])) for name, part in parts}
    return cast(Release, SimpleNamespace(tensors=read, folder=Path("r")))


def there_and_back(weight: torch.Tensor, form: WeightFormat, name: str = NAME) -> torch.Tensor:
    return torch.from_numpy(read_weight(opened(encode_weight(name, weight, form)), name))


def test_int8_is_what_a_hand_computes() -> None:
    packed = encode_weight(NAME, torch.tensor([[1.27, -0.5], [0.0, 0.0]]), "int8")
    assert packed[NAME].tolist() == [[127, -50], [0, 0]]
    assert packed[NAME + SCALE].tolist() == pytest.approx([0.01, 1e-8 / 127])


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 9), st.floats(1e-6, 1e3))
def test_every_weight_comes_back_within_its_bound(rows: int, columns: int, seed: int, size: float) -> None:
    weight = size * torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    off = (there_and_back(weight, "int8") - weight).abs()
    assert bool((off <= weight.abs().amax(1, keepdim=True) / 127 * 0.51).all())


@pytest.mark.parametrize(
    ("name", "form", "kinds"),
    [
        ("backbone.embeddings.word_embeddings.weight", "bf16", {torch.int8, torch.float32}),
        ("backbone.embeddings.position_embeddings.weight", "bf16", {torch.bfloat16}),
        ("backbone.layer.dense.weight", "bf16", {torch.bfloat16}),
        ("backbone.layer.dense.weight", "int8", {torch.int8, torch.float32}),
        ("slot_head.weight", "int8", {torch.float32}),
    ],
)
def test_each_weight_has_its_form(name: str, form: WeightFormat, kinds: set[torch.dtype]) -> None:
    packed = encode_weight(name, torch.randn(4, 8), form)
    assert {tensor.dtype for tensor in packed.values()} == kinds


@pytest.mark.parametrize("form", ["bf16", "int8"])
@pytest.mark.parametrize("config", [tiny.ENCODER, tiny.DECODER], ids=["encoder", "decoder"])
def test_a_release_of_every_form_loads(tmp_path: Path, config: dict[str, Any], form: WeightFormat) -> None:
    folder = tiny.write_release(tmp_path / "r", config)
    whole = local.load_engine(Release(folder), "fp32", "cpu").model.state_dict()
    repack(folder, form)
    smaller = local.load_engine(Release(folder), "fp32", "cpu").model.state_dict()
    for name, weight in whole.items():
        assert smaller[name].shape == weight.shape
        assert float((smaller[name] - weight).abs().max()) <= 0.01 * float(weight.abs().max())


def repack(folder: Path, form: WeightFormat, **changes: torch.Tensor) -> None:
    packed: dict[str, torch.Tensor] = {}
    for name, weight in load_file(folder / WEIGHTS).items():
        packed |= encode_weight(name, weight, form)
    save_file({**packed, **changes}, folder / WEIGHTS, metadata={"base_sha256": tiny.BASE})
    finalize_release(folder, tiny.release_info())


QUERY = "backbone.encoder.layer.0.attention.self.query.weight"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({QUERY + SCALE: torch.zeros(3)}, "one scale a row"),
        ({QUERY: torch.zeros(32 * 32, dtype=torch.int8)}, "one scale a row"),
        ({QUERY: torch.zeros(32, 15, dtype=torch.int8)}, "does not fit config"),
        ({QUERY: torch.zeros(32, 32, dtype=torch.int64)}, "has the type I64"),
        ({"backbone.strange.weight": torch.zeros(4, 4, dtype=torch.int8)}, "has no scale"),
    ],
)
def test_scales_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, torch.Tensor], why: str
) -> None:
    folder = tiny.write_release(tmp_path / "r")
    repack(folder, "int8", **changes)
    with pytest.raises(ReleaseRefused, match=why):
        local.load_engine(Release(folder), "fp32", "cpu")
