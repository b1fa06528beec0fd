"""While something learns, attention takes the kernel that is faster, and both have the same gradient."""

from __future__ import annotations

import pytest
import torch

from dialint.detector.engines import packed

SIZES = (5, 9, 3)


def learnt(
    causal: bool, heads: int, low: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[torch.Tensor], int]:
    """The attention of three windows with the gradients of query, key and value; how many windows were fused."""
    torch.manual_seed(0)
    shapes = ((1, 4, sum(SIZES), 8), (1, heads, sum(SIZES), 8), (1, heads, sum(SIZES), 8))
    parts = [torch.randn(shape, requires_grad=True) for shape in shapes]
    calls = []
    fused = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        packed,
        "scaled_dot_product_attention",
        lambda *given, **named: calls.append(1) or fused(*given, **named),
    )
    module = torch.nn.Module()
    module.is_causal = causal  # type: ignore[assignment]
    bounds = torch.tensor([0, *torch.tensor(SIZES).cumsum(0).tolist()])
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        found, _ = packed.attention(module, *parts, None, cu_seq_lens_q=bounds)
    (found.float() ** 2).sum().backward()
    return [found.detach().float(), *(part.grad for part in parts if part.grad is not None)], len(calls)


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_fp32_learns_by_the_fused_kernel_with_the_same_gradient(
    monkeypatch: pytest.MonkeyPatch, causal: bool, heads: int
) -> None:
    found, n_fused = learnt(causal, heads, False, monkeypatch)
    assert n_fused == len(SIZES)
    monkeypatch.setattr(packed, "_learns_in_16_bits", lambda _: True)
    wanted, n_fused = learnt(causal, heads, False, monkeypatch)
    assert n_fused == 0
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_bf16_learns_by_plain_products_and_scores_by_the_fused_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert learnt(True, 4, True, monkeypatch)[1] == 0
    query = torch.randn(1, 4, 3, 8, dtype=torch.bfloat16)
    assert not packed._learns_in_16_bits(query)
    assert packed._learns_in_16_bits(query.requires_grad_())
