"""Layers leave by what the loss says, and the weights that stay compute what they did.

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
from dialint.detector.engines.scan_model import ScanModel, backbone_from_config
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.release import Release
from dialint.finetune.scanner.prune import PruneConfig, prune, remove_layers
from dialint.finetune.scanner.trained import TrainedScanner, read_scanner, select_layers, write_scanner

FOUR = {**tiny.ENCODER, "num_hidden_layers": 4}


def scanner(shape: dict[str, Any]) -> TrainedScanner:
    torch.manual_seed(0)
    backbone = backbone_from_config(shape)
    for name, weight in backbone.named_parameters():
        if weight.dim() == 2 and "embed" not in name:
            torch.nn.init.normal_(weight, std=0.2)  # so that every layer matters
    model = ScanModel(backbone, 3, evidence=True).requires_grad_(False)
    render, text = tiny.render_config(), tiny.tokenizer_json()
    return TrainedScanner(model, ("L1", "T1", "R1"), ("R1",), render, shape, text, tiny.BASE, None, "x")


@pytest.mark.parametrize(
    "shape", [FOUR, {**tiny.DECODER, "num_hidden_layers": 4}], ids=["encoder", "decoder"]
)
def test_the_layers_that_stay_keep_their_weights(shape: dict[str, Any]) -> None:
    whole = scanner(shape)
    weights = whole.model.state_dict()
    left = select_layers(whole, [0, 2, 3])
    stack = "backbone.layers." if shape is not FOUR else "backbone.encoder.layer."
    assert left.shape["num_hidden_layers"] == 3
    for name, weight in left.model.state_dict().items():
        for new, old in enumerate([0, 2, 3]):
            if name.startswith(f"{stack}{new}."):
                assert torch.equal(weight, weights[name.replace(f"{stack}{new}.", f"{stack}{old}.")])
        if not name.startswith(stack):
            assert torch.equal(weight, weights[name])


def test_layers_leave_greedily(capsys: pytest.CaptureFixture[str]) -> None:
    """Alone layer 1 costs least, then layer 3, though 2 and 3 together would have cost nothing."""
    whole = scanner(FOUR)
    marks = [
        whole.model.state_dict()[f"backbone.encoder.layer.{i}.intermediate.dense.bias"] for i in range(4)
    ]
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
        left = tuple(
            int(tried.model.state_dict()[f"backbone.encoder.layer.{i}.intermediate.dense.bias"][0])
            for i in range(n)
        )
        asked.append(left)
        return costs[left]

    smaller = remove_layers(whole, 2, loss)
    assert loss(smaller) == 7.0
    assert asked[:-1] == list(costs)
    assert capsys.readouterr().err.splitlines() == [
        "layer 2 of 4 goes: loss 1.0000",
        "layer 3 of 3 goes: loss 7.0000",
    ]


# the walk


@pytest.fixture
def config(tmp_path: Path) -> PruneConfig:
    folder, examples = tmp_path / "scanner", tmp_path / "examples"
    folder.mkdir()
    examples.mkdir()
    config = PruneConfig(folder, examples, tmp_path / "out", layers=1, sample=4, threads=1, device="cpu")
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


def test_a_folder_whose_weights_do_not_fit_is_no_scanner(config: PruneConfig) -> None:
    weights = load_file(config.scanner / "model.safetensors")
    save_file({n: w for n, w in weights.items() if "layer.3" not in n}, config.scanner / "model.safetensors")
    with pytest.raises(ConfigError, match="no scanner that loads"):
        read_scanner(config.scanner)
    (config.scanner / "config.json").write_text(json.dumps({"model_type": "bert"})[:-1])
    with pytest.raises(ConfigError, match="no scanner that loads"):
        read_scanner(config.scanner)


def test_what_is_left_is_smaller_and_loads(config: PruneConfig) -> None:
    prune(replace(config, layers=2))
    whole, left = (load_file(folder / "model.safetensors") for folder in (config.scanner, config.out))
    assert sum(w.numel() for w in left.values()) < sum(w.numel() for w in whole.values())
    assert read_scanner(config.out).shape["num_hidden_layers"] == 2
    figures = read_manifest(config.out / "training.json")["figures"]
    assert figures["after"]["parameters"] == sum(w.numel() for w in left.values())
    assert figures["before"]["parameters"] == sum(w.numel() for w in whole.values())
    assert set(figures["after"]["ap"]) == {"macro", "T1"}
    assert figures["before"]["loss"] != figures["after"]["loss"]
    with pytest.raises(OutputRefused, match="holds a trained scanner"):
        prune(config)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"layers": 0}, "at least 1"),
        ({"layers": 4}, "no layer would be left"),
        ({"sample": 0}, "at least 1"),
        ({"scanner": Path("nowhere")}, "neither a release nor"),
    ],
)
def test_what_cannot_be_is_refused(config: PruneConfig, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        prune(replace(config, **options))
    assert not config.out.exists()
