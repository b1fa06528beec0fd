"""``python runs/attention_speed.py [ROUNDS]``: both ways of packed attention, forward and backward, by turns.

Asserts first that outputs and gradients are equal (1e-5 of the largest in fp32, 3 % in bf16), then prints the
least time of each way over the rounds, random inputs, one thread.
"""

from __future__ import annotations

import sys
from time import perf_counter

import torch

from dialint.detector.engines.packed import _AttentionOptions, _multiply, _window

HEADS = {
    "MiniLM-L6": (12, 12, 32, False),
    "small decoder": (6, 3, 32, True),
    "Qwen3-0.6B": (16, 8, 128, True),
}
"""Heads of queries, heads of keys and values, their width, and whether it is a decoder's."""
WINDOWS = ((34, 120), (17, 240), (8, 500), (4, 1024))


def learnt(
    fused: bool, parts: tuple[torch.Tensor, ...], size: int, causal: bool, low: bool
) -> list[torch.Tensor]:
    """Output and gradients of one way."""
    way, compute = _AttentionOptions(causal, None, None, None, fused=fused), _window if fused else _multiply
    inputs = [part.detach().requires_grad_() for part in parts]
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        cut = zip(*(torch.split(part, size, dim=2) for part in inputs), strict=True)
        output = torch.cat([compute(*window, way) for window in cut], dim=2)
    output.backward(torch.ones_like(output))  # type: ignore[no-untyped-call]
    return [output.detach(), *(part.grad for part in inputs if part.grad is not None)]


def compare(name: str, low: bool, n: int, size: int, rounds: int) -> None:
    """Print the times of both ways on `n` windows of `size` tokens."""
    queries, keys, width, causal = HEADS[name]
    torch.manual_seed(0)
    kind = torch.bfloat16 if low else torch.float32
    parts = tuple(torch.randn(1, heads, n * size, width).to(kind) for heads in (queries, keys, keys))
    both = (learnt(fused, parts, size, causal, low) for fused in (True, False))
    for one, other in zip(*both, strict=True):
        off = float((one.float() - other.float()).abs().max() / other.float().abs().max())
        assert off <= (0.03 if low else 1e-5), off
    least = {True: float("inf"), False: float("inf")}
    for _ in range(rounds):
        for fused in least:
            started = perf_counter()
            learnt(fused, parts, size, causal, low)
            least[fused] = min(least[fused], perf_counter() - started)
    print(
        f"{name}, {'bf16' if low else 'fp32'}, {n} windows of {size}: fused {1e3 * least[True]:.0f} ms, "
        f"products {1e3 * least[False]:.0f} ms, ratio {least[True] / least[False]:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in HEADS:
        for low in (False, True):
            for n, size in WINDOWS:
                compare(name, low, n, size, int(sys.argv[1]) if len(sys.argv) > 1 else 5)
