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
from dialint.detector.engines.weight_formats import (
    BLOCK,
    GROUP,
    LEVELS,
    WeightFormat,
    decode_weight,
    encode_weight,
)
from dialint.detector.errors import ReleaseRefused
from dialint.detector.release import SCALE, WEIGHTS, Release, finalize_release

NAME = "backbone.encoder.weight"
WIDEST_GAP = 1 - 0.6961928009986877
"""Between two levels: what a weight is off by at most is half of it, times its block's scale."""


def opened(tensors: Mapping[str, torch.Tensor]) -> Release:
    """What `decode_weight` needs to know of a release."""
    parts = deserialize(save(dict(tensors)))  # type: ignore[no-untyped-call]
    read = {name: (part["dtype"], part["shape"], bytes(part["data"])) for name, part in parts}
    return cast(Release, SimpleNamespace(tensors=read, folder=Path("r")))


def there_and_back(weight: torch.Tensor, form: WeightFormat, name: str = NAME) -> torch.Tensor:
    return decode_weight(opened(encode_weight(name, weight, form)), name)


def test_int8_is_what_a_hand_computes() -> None:
    packed = encode_weight(NAME, torch.tensor([[1.27, -0.5], [0.0, 0.0]]), "int8")
    assert packed[NAME].tolist() == [[127, -50], [0, 0]]
    assert packed[NAME + SCALE].tolist() == pytest.approx([0.01, 1e-8 / 127])


def test_nf4_is_what_a_hand_computes() -> None:
    """Levels 15 (1.0), 0 (-1.0), 7 (0.0) and 8 (0.0796), the first of a pair in the upper half."""
    packed = encode_weight(NAME, torch.tensor([[2.0, -2.0], [0.01, 0.16]]), "nf4")
    assert packed[NAME].tolist() == [[15 << 4 | 0], [7 << 4 | 8]]
    assert packed[NAME + SCALE].tolist() == [0]
    assert packed[NAME + SCALE + SCALE].tolist() == [[2.0, 0.0]]
    assert there_and_back(
        torch.tensor([[2.0, -2.0], [0.01, 0.16]]), "nf4"
    ).flatten().tolist() == pytest.approx([2.0, -2.0, 0.0, 2 * LEVELS[8]])


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 9), st.floats(1e-6, 1e3))
def test_every_weight_comes_back_within_its_bound(rows: int, half: int, seed: int, size: float) -> None:
    weight = size * torch.randn(rows, 2 * half, generator=torch.Generator().manual_seed(seed))
    off = (there_and_back(weight, "int8") - weight).abs()
    assert bool((off <= weight.abs().amax(1, keepdim=True) / 127 * 0.51).all())
    blocks = (
        torch.nn.functional.pad(weight.flatten(), (0, -weight.numel() % BLOCK))
        .reshape(-1, BLOCK)
        .abs()
        .amax(1)
    )
    off_scale = (blocks.max() - blocks.min()) / 255 * 0.51
    bound = (blocks * WIDEST_GAP / 2 + off_scale).repeat_interleave(BLOCK)[: weight.numel()] * 1.001
    assert bool(((there_and_back(weight, "nf4") - weight).abs().flatten() <= bound).all())


def test_nothing_but_zeros_stays_zero() -> None:
    for form in ("int8", "nf4"):
        assert not there_and_back(torch.zeros(3, 130), form).any()


def test_many_groups_of_scales_keep_apart() -> None:
    """A large block far away must not spoil the scales of small ones."""
    weight = torch.full((GROUP + 1, BLOCK), 1e-3)
    weight[-1] = 100.0
    torch.testing.assert_close(there_and_back(weight, "nf4"), weight)


def test_nf4_equals_bitsandbytes_within_what_storing_scales_costs() -> None:
    functional = pytest.importorskip("bitsandbytes.functional")
    weight = 0.02 * torch.randn(96, 192, generator=torch.Generator().manual_seed(3))
    packed = encode_weight(NAME, weight, "nf4")
    exact, state = functional.quantize_4bit(
        weight, quant_type="nf4", blocksize=BLOCK, compress_statistics=False
    )
    assert torch.equal(packed[NAME].flatten(), exact.flatten())  # the same levels
    theirs, nested = functional.quantize_4bit(
        weight, quant_type="nf4", blocksize=BLOCK, compress_statistics=True
    )
    uncompressed = functional.dequantize_4bit(exact, state)
    ours_off = (there_and_back(weight, "nf4") - uncompressed).abs().max()
    theirs_off = (functional.dequantize_4bit(theirs, nested) - uncompressed).abs().max()
    assert ours_off <= theirs_off
    assert ours_off > 0  # scales are stored as bytes here too


@pytest.mark.parametrize(
    ("name", "form", "kinds"),
    [
        ("backbone.embeddings.word_embeddings.weight", "bf16", {torch.int8, torch.float32}),
        ("backbone.embeddings.position_embeddings.weight", "bf16", {torch.bfloat16}),
        ("backbone.embeddings.position_embeddings.weight", "nf4", {torch.int8, torch.float32}),
        ("backbone.layer.dense.weight", "bf16", {torch.bfloat16}),
        ("backbone.layer.dense.weight", "int8", {torch.int8, torch.float32}),
        ("backbone.layer.dense.weight", "nf4", {torch.uint8, torch.float32}),
        ("turn_head.weight", "nf4", {torch.float32}),
    ],
)
def test_each_weight_has_its_form(name: str, form: WeightFormat, kinds: set[torch.dtype]) -> None:
    packed = encode_weight(name, torch.randn(4, 8), form)
    assert {tensor.dtype for tensor in packed.values()} == kinds


def test_odd_widths_and_vectors_are_sixteen_bits_in_nf4() -> None:
    assert encode_weight(NAME, torch.randn(4, 7), "nf4")[NAME].dtype == torch.bfloat16
    assert encode_weight(NAME, torch.randn(4), "nf4")[NAME].dtype == torch.bfloat16


@pytest.mark.parametrize("form", ["bf16", "int8", "nf4"])
@pytest.mark.parametrize("config", [tiny.ENCODER, tiny.DECODER], ids=["encoder", "decoder"])
def test_a_release_of_every_form_loads(tmp_path: Path, config: dict[str, Any], form: WeightFormat) -> None:
    folder = tiny.write_release(tmp_path / "r", config)
    whole = local.load_engine(Release(folder), "fp32", 256, "cpu").model.state_dict()
    repack(folder, form)
    smaller = local.load_engine(Release(folder), "fp32", 256, "cpu").model.state_dict()
    for name, weight in whole.items():
        assert smaller[name].shape == weight.shape
        assert float((smaller[name] - weight).abs().max()) <= 0.16 * float(weight.abs().max())


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
        ({QUERY + SCALE: torch.zeros(3, dtype=torch.uint8)}, "one scale a block"),
        ({QUERY + SCALE + SCALE: torch.zeros(2, 2)}, "one scale a block"),
        ({QUERY: torch.zeros(32, 15, dtype=torch.uint8)}, "one scale a block"),
        ({QUERY: torch.zeros(32 * 32 // 2, dtype=torch.uint8)}, "one scale a block"),
        ({QUERY: torch.zeros(16, 32, dtype=torch.uint8)}, "does not fit config"),
        ({QUERY: torch.zeros(32, 32, dtype=torch.int8)}, "one scale a row"),
        ({QUERY: torch.zeros(32, 32, dtype=torch.int64)}, "has the type I64"),
        ({"backbone.strange.weight": torch.zeros(4, 4, dtype=torch.uint8)}, "has no scale"),
    ],
)
def test_scales_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, torch.Tensor], why: str
) -> None:
    folder = tiny.write_release(tmp_path / "r")
    repack(folder, "nf4", **changes)
    with pytest.raises(ReleaseRefused, match=why):
        local.load_engine(Release(folder), "fp32", 256, "cpu")
