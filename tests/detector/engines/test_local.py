"""The local engine: packed equals one by one, neighbours do not matter, a shared prefix changes nothing."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from dialint.detector.engines import local, packed
from dialint.detector.engines.scan_model import ScanModel, backbone_from_config, check_equivalence
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.release import Release

SHAPES = pytest.mark.parametrize("config", [tiny.ENCODER, tiny.DECODER], ids=["encoder", "decoder"])


def engine(
    config: dict[str, Any], precision: local.Precision = "fp32", row_tokens: int = 256
) -> local.LocalEngine:
    torch.manual_seed(0)
    return local.LocalEngine(ScanModel(backbone_from_config(config), 3), precision, row_tokens, "cpu")


def test_weights_saved_in_bf16_are_trained_and_compared_in_fp32() -> None:
    backbone = backbone_from_config({**tiny.DECODER, "dtype": "bfloat16"})
    assert {weight.dtype for weight in backbone.parameters()} == {torch.float32}


@SHAPES
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_scores_do_not_depend_on_batch_composition(
    config: dict[str, Any], precision: local.Precision
) -> None:
    runs = engine(config, precision)
    items = tiny.windows()
    together = runs.scan(items)
    alone = [runs.scan([item])[0] for item in items]
    shuffled = runs.scan(items[::-1])[::-1]
    assert max(map(tiny.far, together, alone)) < 1e-4
    assert max(map(tiny.far, together, shuffled)) < 1e-4


@SHAPES
def test_packed_equals_transformers_own_attention(config: dict[str, Any]) -> None:
    """The reference is the same model with sdpa on one window at a time, no packing."""
    runs = engine(config)
    reference = copy.deepcopy(runs.model.backbone)
    reference.set_attn_implementation("sdpa")
    for item, result in zip(tiny.windows(), runs.scan(tiny.windows()), strict=True):
        states = reference(input_ids=torch.tensor([item.ids])).last_hidden_state[0]
        tokens = [states[slot.first_token : slot.position] for slot in item.slots]
        means = torch.stack([part.mean(dim=0) for part in tokens])
        slots = states[[slot.position for slot in item.slots]]
        expected = runs.model.slot_head(slots) + runs.model.token_head(means)
        assert np.abs(result.slots - expected.detach().numpy()).max() < 1e-5


@SHAPES
def test_a_turns_score_is_the_mean_of_what_its_tokens_say(config: dict[str, Any]) -> None:
    for result in engine(config).scan(tiny.windows()):
        for row, tokens in zip(result.slots, result.spans, strict=True):
            assert np.abs(row - tokens.mean(axis=0)).max() < 1e-5


def test_a_turn_without_tokens_is_judged_by_its_slot() -> None:
    model = ScanModel(backbone_from_config(tiny.ENCODER), 3)
    slots, tokens = torch.randn(2, tiny.ENCODER["hidden_size"]), torch.randn(4, tiny.ENCODER["hidden_size"])
    scores, of_tokens = model.scores(slots, tokens, [4, 0])
    assert of_tokens.shape == (4, 3)
    assert torch.allclose(scores[1], model.slot_head(slots[1]), atol=1e-6)
    scores.sum().backward()  # type: ignore[no-untyped-call]
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_rows_keep_the_token_budget_and_hold_every_window_once() -> None:
    sizes = [50, 130, 7, 60, 60, 119, 3]
    rows = local.fill_rows(sizes, 120)
    assert sorted(place for row in rows for place in row) == list(range(len(sizes)))
    assert all(len(row) == 1 or sum(sizes[place] for place in row) <= 120 for row in rows)


ROBERTA = {**tiny.ENCODER, "model_type": "roberta", "pad_token_id": 1}
MODERNBERT = {
    **tiny.ENCODER, "model_type": "modernbert", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
    "sep_token_id": 2,
}  # fmt: skip
MISTRAL = {**tiny.DECODER, "model_type": "mistral"}
GEMMA2 = {**tiny.DECODER, "model_type": "gemma2", "query_pre_attn_scalar": 8}


@pytest.mark.parametrize(
    "config",
    [
        tiny.ENCODER, tiny.DECODER, ROBERTA, {**MISTRAL, "sliding_window": 100}, {**MISTRAL, "sliding_window": 6},
        {**GEMMA2, "attn_logit_softcapping": 0.05}, {**GEMMA2, "sliding_window": 6},
        {**tiny.DECODER, "model_type": "gemma3_text", "sliding_window": 6}, {**tiny.DECODER, "model_type": "llama"},
    ],
    ids=["bert", "qwen3", "roberta", "covering window", "sliding", "capped", "gemma2", "gemma3", "llama"],
)  # fmt: skip
def test_a_backbone_that_packs_faithfully_is_let_through_and_comes_back_as_it_was(
    config: dict[str, Any],
) -> None:
    model = ScanModel(backbone_from_config(config), 3).train()
    check_equivalence(model, 100)
    assert model.training
    assert model.backbone.training
    assert model.backbone.config._attn_implementation == packed.NAME


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (MODERNBERT, "sliding window"),
        ({**tiny.ENCODER, "model_type": "mpnet", "pad_token_id": 1}, "other numbers"),
        ({**tiny.ENCODER, "max_position_embeddings": 99}, "positions for 99"),
        ({**ROBERTA, "max_position_embeddings": 101}, "positions for 99"),
    ],
)
def test_a_backbone_that_packing_would_falsify_is_refused_by_name(config: dict[str, Any], why: str) -> None:
    model = ScanModel(backbone_from_config(config), 3)
    with pytest.raises(ReleaseRefused, match=why) as refused:
        check_equivalence(model, 100)
    assert refused.value.code == "E_RELEASE"
    assert config["model_type"] in refused.value.message


@pytest.mark.parametrize(
    "config",
    [tiny.DECODER, {**GEMMA2, "sliding_window": 5, "attn_logit_softcapping": 0.05}],
    ids=["qwen3", "capped and sliding"],
)
def test_packed_training_matches_transformers_own_attention(config: dict[str, Any]) -> None:
    """The gradient of the embeddings, over windows longer than the sliding one."""
    torch.manual_seed(0)
    model = ScanModel(backbone_from_config(config), 3)
    ids = [[3, 9, 4, 1, 8, 6, 7, 2, 5], [5, 11, 9, 4, 3, 2, 12], [8]]
    embeddings = model.backbone.get_input_embeddings().weight
    model.hidden_states(packed.pack(ids, 0)).pow(3).sum().backward()  # type: ignore[no-untyped-call]
    together, embeddings.grad = embeddings.grad, None
    model.backbone.set_attn_implementation("eager")
    for window in ids:
        states = model.backbone(input_ids=torch.tensor([window]), use_cache=False).last_hidden_state
        states.pow(3).sum().backward()
    torch.testing.assert_close(together, embeddings.grad, rtol=1e-4, atol=1e-4)


def test_loading_a_release_runs_the_check(tmp_path: Path) -> None:
    config = {**tiny.ENCODER, "model_type": "mpnet", "pad_token_id": 1}
    folder = tiny.write_release(tmp_path / "r", config=config)
    with pytest.raises(ReleaseRefused, match="mpnet"):
        local.load_engine(Release(folder), "fp32", "cpu")


@pytest.mark.parametrize("device", ["foo", "cuda:x", "meta", "cuda:999", ""])
def test_a_device_that_is_none_is_the_users_error(device: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        local.LocalEngine(ScanModel(backbone_from_config(tiny.ENCODER), 3), device=device)
    assert wrong.value.code == "E_DEVICE"


@SHAPES
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_neighbours_do_not_matter_on_cuda(config: dict[str, Any], precision: local.Precision) -> None:
    torch.manual_seed(0)
    runs = local.LocalEngine(ScanModel(backbone_from_config(config), 3), precision, 256, "cuda")
    items = tiny.windows()
    assert max(map(tiny.far, runs.scan(items), [runs.scan([item])[0] for item in items])) < 1e-4
    if precision == "fp32":
        assert max(map(tiny.far, runs.scan(items), engine(config).scan(items))) < 1e-4


def count_fused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an item for each window that went through the fused kernel since."""
    calls: list[int] = []
    fused = packed.scaled_dot_product_attention
    monkeypatch.setattr(
        packed,
        "scaled_dot_product_attention",
        lambda *arguments, **options: calls.append(1) or fused(*arguments, **options),
    )
    return calls


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_plain_products_and_the_fused_kernel_have_the_same_gradient(
    causal: bool, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While weights of 16 bits learn, plain products are faster; those of 32 bits learn by the fused kernel."""
    n_fused = count_fused(monkeypatch)
    torch.manual_seed(0)
    module = torch.nn.Module()
    module.is_causal = causal  # type: ignore[assignment]
    parts = [torch.randn(1, n, 17, 8, requires_grad=True) for n in (4, heads, heads)]
    bounds = torch.tensor([0, 5, 14, 17])

    def learn() -> tuple[torch.Tensor, ...]:
        states, _ = packed.attention(module, *parts, None, cu_seq_lens_q=bounds)
        return states, *torch.autograd.grad(states.float().square().sum(), parts)

    fused = learn()
    assert len(n_fused) == 3
    with torch.autocast("cpu", torch.bfloat16):
        learn()
    assert len(n_fused) == 3
    monkeypatch.setattr(packed, "_learns_in_16_bits", lambda _: True)
    torch.testing.assert_close(learn(), fused, rtol=1e-5, atol=1e-5)
    assert len(n_fused) == 3


def test_bf16_learns_by_plain_products_and_scores_by_the_fused_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_fused = count_fused(monkeypatch)
    query = torch.randn(1, 4, 3, 8, dtype=torch.bfloat16)
    for learns in (False, True):
        query.requires_grad_(learns)
        assert packed._learns_in_16_bits(query) == learns
        packed.attention(torch.nn.Module(), query, query, query, None, cu_seq_lens_q=torch.tensor([0, 3]))
        assert len(n_fused) == 1


def reference_varlen(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, starts_q: torch.Tensor, starts_k: torch.Tensor,
    max_q: int, max_k: int, *, scale: float | None, window_size: tuple[int, int], enable_gqa: bool,
) -> torch.Tensor:  # fmt: skip
    """`torch.nn.attention.varlen.varlen_attn` as documented, (tokens, heads, dim) in and out, on any device."""
    assert starts_q.dtype == starts_k.dtype == torch.int32
    assert (query.shape[1] != key.shape[1]) == enable_gqa
    share, parts = query.shape[1] // key.shape[1], []
    for start, end in itertools.pairwise(starts_q.tolist()):
        assert end - start <= min(max_q, max_k)
        q = query[start:end].transpose(0, 1)
        k, v = (part[start:end].repeat_interleave(share, 1).transpose(0, 1) for part in (key, value))
        place = torch.arange(end - start)
        back = place[:, None] - place[None]
        left, right = window_size
        seen = ((back <= left) if left >= 0 else back == back) & (
            (-back <= right) if right >= 0 else back == back
        )
        scores = (q @ k.transpose(1, 2)) * (q.shape[-1] ** -0.5 if scale is None else scale)
        parts.append((scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v).transpose(0, 1))
    return torch.cat(parts)


@pytest.mark.parametrize(
    ("causal", "sees"), [(True, None), (True, 3), (True, 50), (False, None), (False, 50)]
)
def test_one_kernel_for_all_windows_computes_what_each_call_computes(
    causal: bool, sees: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA's kernel is not at hand: a stand-in computes what torch's documentation says of its arguments."""
    torch.manual_seed(0)
    module = torch.nn.Module()
    module.is_causal = causal  # type: ignore[assignment]
    query, key, value = (torch.randn(1, heads, 24, 8, requires_grad=True) for heads in (4, 2, 2))
    options = {"sliding_window": sees, "cu_seq_lens_q": torch.tensor([0, 7, 19, 24]), "scaling": 0.3}
    one_by_one = packed.attention(module, query, key, value, None, **options)[0]  # type: ignore[arg-type]
    monkeypatch.setattr(packed, "_has_varlen", lambda query: True)
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", reference_varlen)
    together = packed.attention(module, query, key, value, None, **options)[0]  # type: ignore[arg-type]
    torch.testing.assert_close(together, one_by_one)
    wanted = torch.autograd.grad(one_by_one.square().sum(), (query, key, value))
    torch.testing.assert_close(torch.autograd.grad(together.square().sum(), (query, key, value)), wanted)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("sees", [None, 3])
def test_the_kernel_on_cuda_computes_what_each_call_computes(
    sees: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    module = torch.nn.Module()
    module.is_causal = True  # type: ignore[assignment]
    query, key, value = (
        torch.randn(1, heads, 24, 64, device="cuda", dtype=torch.bfloat16) for heads in (4, 2, 2)
    )
    options = {"sliding_window": sees, "cu_seq_lens_q": torch.tensor([0, 7, 19, 24])}
    together = packed.attention(module, query, key, value, None, **options)[0]  # type: ignore[arg-type]
    monkeypatch.setattr(packed, "_has_varlen", lambda query: False)
    one_by_one = packed.attention(module, query, key, value, None, **options)[0]  # type: ignore[arg-type]
    torch.testing.assert_close(together, one_by_one, rtol=0.02, atol=0.02)
