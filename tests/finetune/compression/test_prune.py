"""Heads and layers leave by what the loss says, and the weights that stay compute what they did.

Weights are random: a test of the machinery, not of what pruning costs a real scanner.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from dialint.detector.artifacts import file_entry, read_manifest, write_manifest
from dialint.detector.engines import packed
from dialint.detector.engines.equivalence_check import check_equivalence
from dialint.detector.engines.scan_model import (
    HEADS_KEY,
    ScanModel,
    UnsupportedHeads,
    attention_layers,
    backbone_from_config,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.release import Release
from dialint.finetune.compression.prune import PruneConfig, prune, remove_heads, remove_layers
from dialint.finetune.compression.surgery import count_heads, drop_heads, keep_layers
from dialint.finetune.scanner.trained import TrainedScanner, build_scan_model, read_scanner, write_scanner

FOUR = {**tiny.ENCODER, "num_hidden_layers": 4}
SHAPES = pytest.mark.parametrize(
    "shape", [FOUR, {**tiny.DECODER, "num_hidden_layers": 4}], ids=["encoder", "decoder"]
)


def scanner(shape: dict[str, Any]) -> TrainedScanner:
    torch.manual_seed(0)
    backbone = backbone_from_config(shape)
    for name, weight in backbone.named_parameters():
        if weight.dim() == 2 and "embed" not in name:
            torch.nn.init.normal_(weight, std=0.2)  # so that every head and layer matters
    model = ScanModel(backbone, 3, evidence=True).requires_grad_(False)
    render, text = tiny.render_config(), tiny.tokenizer_json()
    return TrainedScanner(model, ("L1", "T1", "R1"), ("R1",), render, shape, text, tiny.BASE, None, "x")


def states(shape: dict[str, Any], weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """Hidden states of a few tokens."""
    backbone = backbone_from_config(shape)
    backbone.load_state_dict(weights)
    model = ScanModel(backbone.eval(), 1)
    with torch.inference_mode():
        return model.hidden_states(packed.pack([[5, 9, 7, 30, 12], [8, 6, 11]], 0))


@SHAPES
def test_a_head_that_adds_nothing_can_go_without_a_trace(shape: dict[str, Any]) -> None:
    """Where a head's columns of the output are zero, taking it out changes no number."""
    whole = scanner(shape)
    weights = whole.backbone()
    layers = attention_layers(whole.model.backbone)
    gone = {(0, 1), (2, 0)}
    for layer, head in gone:
        width = layers[layer].out_columns
        weights[f"{layers[layer].out}.weight"][:, head * width : (head + 1) * width] = 0
    smaller, left = drop_heads(shape, weights, gone)
    n = layers[0].n_heads
    assert smaller[HEADS_KEY] == [n - 1, n, n - 1, n]
    assert count_heads(smaller) == smaller[HEADS_KEY]
    assert sum(w.numel() for w in left.values()) < sum(w.numel() for w in weights.values())
    torch.testing.assert_close(states(smaller, left), states(shape, weights))
    check_equivalence(built_of(whole, smaller, left).model, 100)


def built_of(
    whole: TrainedScanner, shape: dict[str, Any], backbone: dict[str, torch.Tensor]
) -> TrainedScanner:
    heads = {n: w for n, w in whole.model.state_dict().items() if not n.startswith("backbone.")}
    weights = heads | {f"backbone.{name}": weight for name, weight in backbone.items()}
    return replace(whole, shape=shape, model=build_scan_model(shape, weights, 3, history=False))


@SHAPES
def test_a_layer_that_adds_nothing_can_go_without_a_trace(shape: dict[str, Any]) -> None:
    """A decoder's layer without output is the identity; an encoder's still normalises, so it only leaves."""
    whole = scanner(shape)
    weights = whole.backbone()
    for name in weights:
        if ".1." in name and name.endswith(("o_proj.weight", "down_proj.weight")):
            weights[name].zero_()
    smaller, left = keep_layers(shape, weights, [0, 2, 3])
    assert smaller["num_hidden_layers"] == 3
    stack = "layers." if "layers.3.self_attn.o_proj.weight" in weights else "encoder.layer."
    kept = {name for name in weights if f"{stack}1." not in name}
    assert len(left) == len(kept)
    for new, old in enumerate([0, 2, 3]):
        for name in left:
            if name.startswith(f"{stack}{new}."):
                assert torch.equal(left[name], weights[name.replace(f"{stack}{new}.", f"{stack}{old}.")])
    if stack == "layers.":
        torch.testing.assert_close(states(smaller, left), states(shape, weights))


def test_heads_and_layers_can_both_go() -> None:
    whole = scanner(FOUR)
    shape, weights = drop_heads(FOUR, whole.backbone(), {(1, 0), (3, 2)})
    shape, weights = keep_layers(shape, weights, [1, 3])
    assert shape[HEADS_KEY] == [3, 3]
    shape, weights = drop_heads(shape, weights, {(0, 2)})
    assert shape[HEADS_KEY] == [2, 3]
    assert states(shape, weights).isfinite().all()


def test_attention_in_one_piece_keeps_its_heads() -> None:
    shape = {
        "model_type": "phi3", "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
    }  # fmt: skip
    with pytest.raises(ConfigError, match="heads cannot be taken out of this architecture"):
        count_heads(shape)


@pytest.mark.parametrize("counts", [[4, 4], [4, 4, 4, 5], [4, 0, 4, 4]])
def test_a_shape_whose_heads_make_no_sense_builds_nothing(counts: list[int]) -> None:
    with pytest.raises(UnsupportedHeads):
        backbone_from_config({**FOUR, HEADS_KEY: counts})


def test_layers_leave_greedily() -> None:
    """Alone layer 1 costs least, then layer 3, though 2 and 3 together would have cost nothing."""
    whole = scanner(FOUR)
    marks = [whole.backbone()[f"encoder.layer.{i}.intermediate.dense.bias"] for i in range(4)]
    for number, mark in enumerate(marks):
        mark.fill_(number)
    costs = {
        (1, 2, 3): 5.0,
        (0, 2, 3): 1.0,
        (0, 1, 3): 2.0,
        (0, 1, 2): 3.0,
        (2, 3): 9.0,
        (0, 3): 8.0,
        (0, 2): 7.0,
    }
    asked = []

    def loss(tried: TrainedScanner) -> float:
        n = tried.shape["num_hidden_layers"]
        left = tuple(int(tried.backbone()[f"encoder.layer.{i}.intermediate.dense.bias"][0]) for i in range(n))
        asked.append(left)
        return costs[left]

    told: list[str] = []
    smaller = remove_layers(whole, 2, loss, told.append)
    assert loss(smaller) == 7.0
    assert asked[:-1] == list(costs)
    assert told == ["layer 2 of 4 goes: loss 1.0000", "layer 3 of 3 goes: loss 7.0000"]


def test_the_least_harmful_heads_leave_and_no_layer_loses_all() -> None:
    """Heads are marked with what they cost; of layer 0 all are cheap, and one must stay."""
    whole = scanner(FOUR)
    for layer in range(4):
        bias = whole.backbone()[f"encoder.layer.{layer}.attention.self.value.bias"].view(4, 8)
        bias.copy_(torch.arange(4.0)[:, None] + (1 if layer == 0 else 100 * layer))
    everything = cost_of(whole)
    smaller = remove_heads(whole, 5, lambda tried: everything - cost_of(tried), lambda _: None)
    assert count_heads(smaller.shape) == [1, 2, 4, 4]
    assert kept_of(smaller, 0) == [4.0]
    assert kept_of(smaller, 1) == [102.0, 103.0]


def kept_of(tried: TrainedScanner, layer: int) -> list[float]:
    found: list[float] = (
        tried.backbone()[f"encoder.layer.{layer}.attention.self.value.bias"].view(-1, 8)[:, 0].tolist()
    )
    return found


def cost_of(tried: TrainedScanner) -> float:
    return sum(sum(kept_of(tried, layer)) for layer in range(4))


# the walk


@pytest.fixture
def config(tmp_path: Path) -> PruneConfig:
    folder, examples = tmp_path / "scanner", tmp_path / "examples"
    folder.mkdir()
    examples.mkdir()
    config = PruneConfig(folder, examples, tmp_path / "out", sample=4, threads=1, device="cpu")
    write_scanner(folder, scanner(FOUR), config, {"seconds": 1, "versions": {}})
    turns = (
        Turn(index=0, role="customer", text="w1 w2"),
        Turn(index=1, role="agent", text="w3 refund w4"),
        Turn(index=2, role="agent", text="hello w5"),
    )
    lines = []
    for number in range(12):
        label = Label(dialogue_id=str(number), turn=1, code="T1", probability=1.0, method="x", start=0, end=2)
        talk = Dialogue(id=str(number), turns=turns)
        lines.append(Example(dialogue=talk, labels=(label,), split="dev").model_dump_json() + "\n")
    (examples / "dev.jsonl").write_text("".join(lines))
    write_manifest(examples / "manifest.json", {"files": [file_entry(examples / "dev.jsonl")]})
    return config


@pytest.mark.parametrize(
    ("heads", "layers"), [(0.25, 0), pytest.param(0.0, 2, marks=pytest.mark.slow), (0.5, 1)]
)
def test_what_is_left_is_smaller_and_loads(config: PruneConfig, heads: float, layers: int) -> None:
    prune(replace(config, heads=heads, layers=layers))
    whole, left = (load_file(folder / "model.safetensors") for folder in (config.scanner, config.out))
    assert sum(w.numel() for w in left.values()) < sum(w.numel() for w in whole.values())
    smaller = read_scanner(config.out)
    assert smaller.shape["num_hidden_layers"] == 4 - layers
    if heads:
        assert sum(smaller.shape[HEADS_KEY]) == 16 - 4 * layers - round(heads * 16)
    figures = read_manifest(config.out / "training.json")["figures"]
    assert figures["after"]["parameters"] == sum(w.numel() for w in left.values())
    assert figures["before"]["parameters"] == sum(w.numel() for w in whole.values())
    assert set(figures["after"]["ap"]) == {"macro", "T1"}
    assert figures["before"]["loss"] != figures["after"]["loss"]


def test_what_cannot_be_is_refused(config: PruneConfig) -> None:
    for options, why in (
        ({}, "say what to remove"),
        ({"heads": 1.0}, "--heads: expected at least 0 and less than 1"),
        ({"layers": 4}, "no layer would be left"),
        ({"layers": 1, "sample": 0}, "at least 1"),
        ({"layers": 1, "scanner": config.examples}, "neither a release nor"),
    ):
        with pytest.raises(ConfigError, match=why):
            prune(replace(config, **options))  # type: ignore[arg-type]
    assert not config.out.exists()
    prune(replace(config, layers=1))
    with pytest.raises(OutputRefused, match="holds a trained scanner"):
        prune(replace(config, layers=1))


def test_a_release_can_be_pruned_and_hands_on_what_it_records(config: PruneConfig, tmp_path: Path) -> None:
    release = tiny.write_release(tmp_path / "release")
    prune(replace(config, scanner=release, layers=1))
    info, training = Release(release).info, read_manifest(config.out / "training.json")
    assert training["pruned_from"] == {
        "sha256": Release(release).fingerprint, "config": info.training.get("config"),
    }  # fmt: skip
    assert training["taxonomy"] == info.taxonomy
    assert training["base_sha256"] == info.base.sha256
    pruned = read_scanner(config.out)
    assert pruned.shape["num_hidden_layers"] == 1
    assert pruned.taxonomy == info.taxonomy


def test_the_version_of_the_taxonomy_is_handed_on(config: PruneConfig) -> None:
    manifest = config.scanner / "training.json"
    write_manifest(manifest, {**read_manifest(manifest), "taxonomy": "0.9"})
    prune(replace(config, layers=1))
    assert read_manifest(config.out / "training.json")["taxonomy"] == "0.9"


def test_a_folder_whose_weights_do_not_fit_is_no_scanner(config: PruneConfig) -> None:
    weights = load_file(config.scanner / "model.safetensors")
    save_file({n: w for n, w in weights.items() if "layer.3" not in n}, config.scanner / "model.safetensors")
    with pytest.raises(ConfigError, match="no scanner that loads"):
        read_scanner(config.scanner)
    (config.scanner / "config.json").write_text(json.dumps({"model_type": "bert"})[:-1])
    with pytest.raises(ConfigError, match="no scanner that loads"):
        read_scanner(config.scanner)
