"""ONNX Runtime computes what torch does in fp32, and refuses what does not fit together."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
import torch
from marked_dialogues import in_turn
from safetensors.torch import load_file, save_file

from dialint.detector.engines import local
from dialint.detector.engines.onnx_scan import OnnxEngine
from dialint.detector.errors import ReleaseRefused
from dialint.detector.interface import DetectorConfig, runs_by_onnx
from dialint.detector.release import EMBEDDED, WEIGHTS, Release, finalize_release
from dialint.detector.render import Renderer


@pytest.mark.parametrize("history", [False, True])
def test_its_scores_are_those_of_torch(tmp_path: Path, history: bool) -> None:
    info = tiny.release_info(render=tiny.render_config(history=history))
    release = Release(tiny.write_release(tmp_path / "r", info=info))
    items = tiny.windows(info.render)
    engine = OnnxEngine(release, threads=3)
    wanted = local.load_engine(release, "fp32", "cpu").scan(items)
    assert max(map(tiny.far, engine.scan(items), wanted)) < 1e-5
    assert engine.n_tokens == sum(map(len, items))
    for item, whole in zip(items, engine.scan(items), strict=True):
        assert tiny.far(engine.scan([item])[0], whole) == 0  # neighbours change no bit


def test_the_embedded_release_gives_the_same_in_both() -> None:
    release = Release(EMBEDDED)
    text = "hello , i cannot open the order page . please tell me your pin , you fool ! " * 12
    items = [
        window
        for dialogue in (in_turn(text[: 40 * n], text[: 40 * n][::-1]) for n in (1, 6, 12, 18, 24))
        for window in Renderer(release.info.render, release.tokenizer_json()).render(dialogue)
    ]
    theirs = local.load_engine(release, "fp32", "cpu").scan(items)
    assert max(map(tiny.far, OnnxEngine(release).scan(items), theirs)) < 1e-3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"slot_head.weight": torch.zeros(3, 31)}, "slot_head"),
        ({"backbone.encoder.layer.0.output.dense.weight": torch.zeros(32, 63)}, "do not fit"),
        ({"backbone.encoder.layer.0.output.dense.weight": None}, "do not fit"),
        ({"backbone.encoder.layer.7.output.dense.weight": torch.zeros(32, 64)}, "do not fit"),
        ({"backbone.embeddings.word_embeddings.weight": torch.zeros(9, 32)}, "tokenizer"),
        ({"backbone.embeddings.position_embeddings.weight": torch.zeros(90, 32)}, "positions"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, change: dict[str, torch.Tensor | None], why: str
) -> None:
    folder = tiny.write_release(tmp_path / "r")
    weights = {**load_file(folder / WEIGHTS), **change}
    remaining = {name: weight for name, weight in weights.items() if weight is not None}
    save_file(remaining, folder / WEIGHTS, metadata={"base_sha256": tiny.BASE})
    finalize_release(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=why):
        OnnxEngine(Release(folder))


def test_other_shapes_are_left_to_torch() -> None:
    cpu = DetectorConfig(device="cpu")
    assert runs_by_onnx(cpu, tiny.ENCODER)
    assert not runs_by_onnx(DetectorConfig(device="cpu", precision="bf16"), tiny.ENCODER)
    for change in (tiny.DECODER, {"hidden_act": "relu"}, {"is_decoder": True}):
        assert not runs_by_onnx(cpu, {**tiny.ENCODER, **change})
