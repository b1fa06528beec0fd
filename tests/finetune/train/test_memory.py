"""The plan for a GPU that is not here, against the bytes of real models and real passes on the CPU."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from judge_fixtures import write_decoder
from torch.nn.functional import cross_entropy
from transformers import BertConfig

from dialint.detector.engines import base_models
from dialint.finetune.rl.answers import enable_packed_attention
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.memory import (
    TrainingSetup,
    activation_bytes,
    count_weights,
    estimate_memory,
    peak_memory,
)
from dialint.finetune.train.options import RunOptions

LORA, ALL = AdapterOptions(rank=8), AdapterOptions(adapter="none")
ROWS, WINDOW, SCORED = 4, 128, 64


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder of five layers, wide enough that activations outweigh what torch keeps beside them."""
    sizes = {"hidden_size": 256, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2}
    return write_decoder(tmp_path_factory.mktemp("decoder"), **sizes, head_dim=64, intermediate_size=768)


def way(folder: Path, adapters: AdapterOptions = LORA, *, bf16: bool = True, **running: Any) -> TrainingSetup:
    options = RunOptions(precision="bf16" if bf16 else "fp32", **running)
    return TrainingSetup(folder, "CAUSAL_LM", adapters, options, ROWS, WINDOW, SCORED)


@pytest.mark.parametrize(
    ("adapters", "bf16"),
    [
        (LORA, True),
        (LORA, False),
        (ALL, True),
        (replace(LORA, dora=True), True),
        (replace(LORA, targets=("q_proj",)), True),
    ],
)
def test_weights_are_counted_as_they_are_loaded(decoder: Path, adapters: AdapterOptions, bf16: bool) -> None:
    model = load_model(base_models.resolve_source(str(decoder)), adapters, bf16=bf16)
    learns = [weight for weight in model.parameters() if weight.requires_grad]
    frozen = [weight for weight in model.parameters() if not weight.requires_grad]
    sizes = count_weights(way(decoder, adapters, bf16=bf16))
    assert sizes.n_trained == sum(weight.numel() for weight in learns)
    assert sizes.frozen_bytes == sum(weight.numel() * weight.element_size() for weight in frozen)
    assert all(weight.dtype == torch.float32 for weight in learns)


def test_four_bits_are_counted_as_bitsandbytes_packs_them(decoder: Path) -> None:
    nf4 = replace(LORA, quantise="nf4")
    model = load_model(base_models.resolve_source(str(decoder)), nf4)
    stored = 0
    for weight in model.parameters():
        if not weight.requires_grad:
            stored += weight.numel() * weight.element_size()
            state = getattr(weight, "quant_state", None)
            if state is not None:
                stored += state.absmax.numel() * state.absmax.element_size()
                stored += state.state2.absmax.numel() * state.state2.absmax.element_size()
    assert count_weights(way(decoder, nf4)).frozen_bytes == pytest.approx(stored, rel=0.01)


def test_the_optimizer_holds_what_was_planned(decoder: Path) -> None:
    model = load_model(base_models.resolve_source(str(decoder)), LORA, bf16=True)
    learns = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learns)
    for weight in learns:
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    states = [part for state in optimizer.state.values() for part in state.values() if part.dim()]
    planned = estimate_memory(way(decoder))
    assert planned["optimizer"] == sum(part.numel() * part.element_size() for part in states)
    assert planned["gradients"] == sum(
        weight.grad.numel() * 4 for weight in learns if weight.grad is not None
    )


@pytest.mark.parametrize("adapters", [LORA, ALL])
@pytest.mark.parametrize("bf16", [True, False])
def test_activations_on_meta_are_those_of_a_real_pass(
    decoder: Path, adapters: AdapterOptions, bf16: bool
) -> None:
    """Within a fifth. A pass with all weights learning keeps their copies in bf16 too, which the plan counts as
    weights."""
    model = load_model(base_models.resolve_source(str(decoder)), adapters, bf16=bf16).train()
    enable_packed_attention(model, WINDOW)
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage()._cdata not in own:
            saved[tensor.untyped_storage()._cdata] = tensor
        return tensor

    tokens = ROWS * WINDOW
    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=bf16),
    ):
        logits = model(
            input_ids=torch.randint(0, 8000, (1, tokens)),
            position_ids=torch.arange(WINDOW).repeat(ROWS)[None],
            cu_seq_lens_q=torch.arange(0, tokens + 1, WINDOW),
            logits_to_keep=torch.arange(SCORED),
            use_cache=False,
        ).logits[0]
        cross_entropy(logits.float(), torch.zeros(SCORED, dtype=torch.long), reduction="none").sum()
    real = sum(tensor.untyped_storage().nbytes() for tensor in saved.values())
    if bf16 and adapters.adapter == "none":
        real -= 2 * sum(weight.numel() for weight in model.parameters())
    assert activation_bytes(way(decoder, adapters, bf16=bf16)) == pytest.approx(real, rel=0.2)


def test_checkpointing_keeps_the_inputs_of_layers_and_one_layer(decoder: Path) -> None:
    without, deeper = activation_bytes(way(decoder)), way(decoder, gradient_checkpointing=True)
    layer_inputs = 5 * 4 * 128 * 256 * 2
    assert layer_inputs < activation_bytes(deeper) < without / 2


def test_a_scanners_base_is_planned_in_rows_longer_than_its_positions(tmp_path: Path) -> None:
    BertConfig(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64
    ).save_pretrained(tmp_path)
    for adapters in (ALL, LORA):
        planned = TrainingSetup(tmp_path, None, adapters, RunOptions(), 9, 500)
        assert 9 * 500 * 32 * 2 * 3 < activation_bytes(planned) < 10**9


def test_peak_memory_is_in_bytes() -> None:
    block = bytearray(os.urandom(1)) * (300 * 10**6)
    assert len(block) < peak_memory() < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
