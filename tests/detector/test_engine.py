"""The local engine: packed equals one by one, neighbours do not matter, a shared prefix changes nothing."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from detector.engines import local, packed
from detector.engines.scan_model import ScanModel, backbone_from_config
from detector.records import Dialogue, Turn
from detector.release import Release
from detector.render import Rendered, Renderer
from detector.scanner import WindowScores

SHAPES = pytest.mark.parametrize("config", [tiny.ENCODER, tiny.DECODER], ids=["encoder", "decoder"])


def dialogues(count: int, seed: int = 0) -> list[Dialogue]:
    """Random words (not language) in dialogues of 2 to 12 turns."""
    random = np.random.default_rng(seed)
    return [
        Dialogue(
            id=str(number),
            turns=tuple(
                Turn(
                    index=i,
                    role="agent" if i % 2 else "customer",
                    text=" ".join(f"w{word}" for word in random.integers(0, 200, random.integers(1, 9))),
                )
                for i in range(int(random.integers(2, 12)))
            ),
        )
        for number in range(count)
    ]


def windows(config: Any = None, count: int = 20) -> list[Rendered]:
    renderer = Renderer(config or tiny.render_config(), tiny.tokenizer_json())
    return [window for dialogue in dialogues(count) for window in renderer.render(dialogue)]


def engine(
    config: dict[str, Any], precision: local.Precision = "fp32", row_tokens: int = 256
) -> local.LocalEngine:
    torch.manual_seed(0)
    return local.LocalEngine(ScanModel(backbone_from_config(config), 3), precision, row_tokens, "cpu")


def far(left: WindowScores, right: WindowScores) -> float:
    """The largest difference between two results."""
    parts = [(left.slots, right.slots), *zip(left.spans, right.spans, strict=True)]
    if left.dialogue is not None and right.dialogue is not None:
        parts.append((left.dialogue, right.dialogue))
    return max(float(np.abs(a - b).max()) for a, b in parts if a.size)


@SHAPES
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_scores_do_not_depend_on_batch_composition(
    config: dict[str, Any], precision: local.Precision
) -> None:
    runs = engine(config, precision)
    items = windows()
    together = runs.scan(items)
    alone = [runs.scan([item])[0] for item in items]
    shuffled = runs.scan(items[::-1])[::-1]
    assert max(map(far, together, alone)) < 1e-4
    assert max(map(far, together, shuffled)) < 1e-4


@SHAPES
def test_packed_equals_transformers_own_attention(config: dict[str, Any]) -> None:
    """The reference is the same model with sdpa on one window at a time, no packing."""
    runs = engine(config)
    reference = copy.deepcopy(runs.model.backbone)
    reference.set_attn_implementation("sdpa")
    for item, result in zip(windows(), runs.scan(windows()), strict=True):
        states = reference(input_ids=torch.tensor([item.ids])).last_hidden_state[0]
        expected = runs.model.turn_head(states[[slot.position for slot in item.slots]])
        assert np.abs(result.slots - expected.detach().numpy()).max() < 1e-5


def test_a_decoder_computes_the_shared_prefix_once_with_the_same_scores() -> None:
    items = windows(tiny.render_config(instruction="w1 w2 w3 w4 w5"))
    assert items[0].prefix == 6
    runs = engine(tiny.DECODER)
    shared = runs.scan(items)
    runs._shares_prefix = False
    assert max(map(far, shared, runs.scan(items))) < 1e-5
    assert len(packed.pack([item.ids for item in items], 6).ids[0]) == sum(map(len, items)) - 6 * (
        len(items) - 1
    )


def test_an_encoder_never_shares_a_prefix() -> None:
    assert not engine(tiny.ENCODER)._shares_prefix


def test_rows_keep_the_token_budget_and_hold_every_window_once() -> None:
    runs = engine(tiny.ENCODER, row_tokens=120)
    items = windows()
    rows = runs.rows(items)
    assert sorted(place for row in rows for place in row) == list(range(len(items)))
    assert all(len(row) == 1 or sum(len(items[place]) for place in row) <= 120 for row in rows)


def test_int8_rows_with_scales_load_close_to_the_original(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from detector.release import SCALE, WEIGHTS, seal

    exact = Release(tiny.write_release(tmp_path / "exact"))
    folder = tiny.write_release(tmp_path / "int8")
    tensors = load_file(folder / WEIGHTS)
    name = "backbone.embeddings.word_embeddings.weight"
    scale = tensors[name].abs().amax(dim=1).clamp_min(1e-8) / 127
    tensors[name] = (tensors[name] / scale[:, None]).round().to(torch.int8)
    save_file({**tensors, name + SCALE: scale}, folder / WEIGHTS, metadata={"base_sha256": tiny.BASE})
    seal(folder, tiny.release_info())
    first = local.load(exact, "fp32", 256, "cpu").scan(windows())
    second = local.load(Release(folder), "fp32", 256, "cpu").scan(windows())
    assert 0 < max(map(far, first, second)) < 0.2
