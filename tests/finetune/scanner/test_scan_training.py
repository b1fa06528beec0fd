"""Teaching a scanner end to end with a tiny encoder: it learns, resumes bit for bit, becomes a release.

The texts are random words and the errors are planted words: a test of the machinery, not of quality.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from resuming import logged
from safetensors.torch import load_file

from dialint.detector.artifacts import file_entry, sha256_file, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused, ReleaseRefused
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.release import Release
from dialint.detector.render import Renderer
from dialint.eval.results import read_examples
from dialint.finetune.scanner.backbone import load_base
from dialint.finetune.scanner.calibrate import CalibrateConfig, calibrate
from dialint.finetune.scanner.data import build_targets
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.pack import PackConfig, pack
from dialint.finetune.scanner.train import scan
from dialint.finetune.scanner.trained import read_scanner
from dialint.finetune.train.options import RunOptions

PLANTED = ("T1", "V2", "R1")


@pytest.fixture(scope="module")
def config(folders: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> ScanConfig:
    return ScanConfig(
        examples=folders[0], base=folders[1], out=tmp_path_factory.mktemp("taught") / "scanner", epochs=7,
        row_tokens=200, context_tokens=100, learning_rate=4e-3, head_learning_rate=2e-2, prefix_share=0.0,
        running=RunOptions(threads=1, precision="fp32"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(config: ScanConfig) -> Path:
    scan(config)
    return config.out


def test_it_learns_what_was_planted(trained: Path) -> None:
    last = logged(trained)[-1]
    assert set(last["dev"]["ap"]) == {"macro", "T1", "V2", "R1"}
    assert last["dev"]["ap"]["macro"] > 0.6
    manifest = json.loads((trained / "training.json").read_text())
    assert {"python", "torch", "transformers", "peft", "tokenizers"} <= manifest["versions"].keys()
    assert manifest["commit"] is None or len(manifest["commit"].rstrip("+")) == 40
    assert (manifest["precision"], manifest["config"]["learning_rate"]) == ("fp32", 4e-3)


def test_it_learns_without_history_too(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    other = replace(config, out=tmp_path / "scanner", epochs=0.2, history=False, accumulate=2)
    scan(other)
    made, first = load_file(other.out / "model.safetensors"), load_file(trained / "model.safetensors")
    assert set(first) - set(made) == {"history.weight"}
    assert any(not torch.equal(made[name], first[name]) for name in made if name.startswith("backbone."))


def test_it_continues_the_heads_of_a_scanner(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    further = replace(config, base=trained, out=tmp_path / "scanner", learning_rate=1e-9, tokens=2000,
                      head_learning_rate=1e-9, codes=("T1", "C1", "R1"))  # fmt: skip
    scan(further)
    made, first = load_file(further.out / "model.safetensors"), load_file(trained / "model.safetensors")
    codes = json.loads((trained / "training.json").read_text())["codes"]
    assert codes == ["T1", "V2", "R1"]
    before, after = (json.loads((folder / "training.json").read_text()) for folder in (trained, further.out))
    assert (before["continued_from"], after["base_sha256"]) == (None, before["base_sha256"])
    assert after["continued_from"] == sha256_file(trained / "model.safetensors")
    for name in ("slot_head.weight", "slot_head.bias", "token_head.weight"):
        assert torch.allclose(made[name][[0, 2]], first[name][[0, 2]], atol=1e-6)  # T1 and R1 of T1, C1, R1
    assert torch.allclose(made["history.weight"], first["history.weight"], atol=1e-6)
    assert not torch.allclose(made["slot_head.weight"][1], first["slot_head.weight"][1], atol=1e-3)


def test_unlabelled_codes_train_nothing(config: ScanConfig) -> None:
    base = load_base(config)
    renderer = Renderer(base.render, base.tokenizer)
    (example, *_) = read_examples(config.examples / "train.jsonl")
    blind = example.model_copy(update={"labels": (), "unlabelled": ("V2", "R1")})
    (target,) = build_targets([blind], renderer, PLANTED)
    for array in (target.turns, target.spans):
        assert np.isnan(array[..., 1:]).all()
        assert (array[..., 0] == 0).all()


def repeating(number: int, rng: random.Random, error: bool) -> Example:
    """Makes a dialogue whose last word is an error by the customer's words alone."""
    word = f"w{rng.randrange(40)}"
    texts = [word if error else f"w{40 + rng.randrange(9)}", "w1 w2", f"w3 {word}"]
    turns = tuple(
        Turn(index=i, role="agent" if i % 2 == 0 else "customer", text=text) for i, text in enumerate(texts)
    )
    dialogue = Dialogue(id=f"{number}~{error}", turns=turns)
    label = Label(
        dialogue_id=dialogue.id, turn=2, code="U2", probability=1.0, method="inject:U2", start=0, end=2
    )  # fmt: skip
    return Example(dialogue=dialogue, labels=(label,) if error else (), split="train")


def test_an_error_differs_from_the_same_words_elsewhere(config: ScanConfig, tmp_path: Path) -> None:
    rng = random.Random(1)
    for name, size in {"train": 150, "dev": 60}.items():
        pairs = [repeating(i, rng, error) for i in range(size) for error in (True, False)]
        (tmp_path / f"{name}.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in pairs))
    files = [file_entry(tmp_path / f"{name}.jsonl") for name in ("train", "dev")]
    write_manifest(tmp_path / "manifest.json", {"sources": [], "files": files})
    other = replace(config, examples=tmp_path, out=tmp_path / "scanner", epochs=6)
    scan(other)
    last = logged(other.out)[-1]
    assert last["dev"]["ap"]["U2"] > 0.9


def test_heads_on_a_base_that_stays_as_it_is(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    frozen = ScanConfig(
        examples=config.examples, base=trained, out=tmp_path / "scanner", layers=1, row_tokens=200, context_tokens=100,
        prefix_share=0.0, running=config.running,
    )  # fmt: skip
    scan(frozen)
    made, first = load_file(frozen.out / "model.safetensors"), load_file(trained / "model.safetensors")
    for name, weight in made.items():
        assert torch.equal(weight, first[name]) is not name.endswith(("_head.weight", "_head.bias")), name
    assert not any("layer.1." in name for name in made)
    report = json.loads((frozen.out / "training.json").read_text())
    assert report["dev"]["ap"]["macro"] > 0.3
    assert read_scanner(frozen.out).codes == PLANTED


def test_few_labels_leave_a_release_as_it_is(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    limits = {"per_100": 5.0, "per_100_dialogues": 5.0, "sets": ("test",), "rounds": 5, "evidence": False}
    old = PackConfig(scanner=trained, examples=config.examples, out=tmp_path / "old", name="old", **limits)  # type: ignore[arg-type]
    pack(old)
    few = tmp_path / "few"
    few.mkdir()
    for name in ("train", "dev", "calibration", "test"):
        rows = [
            example.model_copy(update={"labels": tuple(each for each in example.labels if each.code == "T1")})
            for example in read_examples(config.examples / f"{name}.jsonl")
        ]
        (few / f"{name}.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows[:12]))
    files = [file_entry(path) for path in sorted(few.iterdir())]
    write_manifest(few / "manifest.json", {"sources": [], "codes": ["T1"], "files": files})
    further = ScanConfig(
        examples=few, base=old.out, out=tmp_path / "scanner", row_tokens=200, context_tokens=100,
        running=config.running,
    )  # fmt: skip
    scan(further)
    before, after = read_scanner(old.out).model.state_dict(), read_scanner(further.out).model.state_dict()
    for name in ("slot_head.weight", "slot_head.bias", "token_head.weight"):
        assert torch.allclose(after[name][1:], before[name][1:], atol=1e-3), name  # V2 and R1: nobody looked
    assert not torch.equal(after["slot_head.bias"][0], before["slot_head.bias"][0])
    new = replace(old, scanner=further.out, examples=few, out=tmp_path / "new", name="new")
    pack(new)
    assert Release(new.out).info.codes == Release(old.out).info.codes
    ranks = replace(new, out=tmp_path / "ranks", natural="calibration", natural_precision=0.99, evidence=True)
    pack(replace(ranks, no_suggestions=PLANTED))
    info = Release(ranks.out).info
    assert (info.scan_reports, {*PLANTED} <= info.codes.keys(), "M2" in info.covered) == (False, True, True)


def test_a_trained_folder_is_not_overwritten(config: ScanConfig, trained: Path) -> None:
    with pytest.raises(OutputRefused, match="holds a trained scanner"):
        scan(config)


def test_it_becomes_a_release_that_finds_them(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    packed = PackConfig(
        scanner=trained, examples=config.examples, out=tmp_path / "r", name="tiny", per_100=5, per_100_dialogues=5,
        sets=("test", "test_natural_sgd"), rounds=5,
        evidence=False,  # planted words are no errors that a log could prove
    )  # fmt: skip
    pack(packed)
    info = Release(packed.out).info
    assert set(info.report) == {"test", "test_natural_sgd"}
    assert set(info.codes) == set(PLANTED)
    card = (packed.out / "MODEL_CARD.md").read_text()
    assert "Not covered by this release:** L1" in card
    examples = list(read_examples(config.examples / "test.jsonl"))
    detector = load_detector(DetectorConfig(release=packed.out))
    verdicts = detector.verdicts([item.dialogue for item in examples])
    reported_turns = [{f.turn for f in verdict.findings if f.code == "R1"} for verdict in verdicts]
    planted = [{label.turn for label in item.labels if label.code == "R1"} for item in examples]
    right = sum(bool(there) == bool(own) for there, own in zip(planted, reported_turns, strict=True))
    assert right >= 0.9 * len(examples)
    with pytest.raises(OutputRefused):
        pack(packed)
    (packed.out / "model.safetensors").write_bytes(b"")
    with pytest.raises(ReleaseRefused):
        load_detector(DetectorConfig(release=packed.out))


def test_a_release_is_not_made_of_other_examples(config: ScanConfig, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").touch()
    write_manifest(tmp_path / "manifest.json", {"files": [file_entry(tmp_path / "train.jsonl")]})
    with pytest.raises(ConfigError, match="not the examples"):
        pack(PackConfig(scanner=trained, examples=tmp_path, out=tmp_path / "r", name="tiny"))


@pytest.mark.slow
def test_real_dialogues_with_labels_decide_what_may_be_reported(
    config: ScanConfig, trained: Path, tmp_path: Path
) -> None:
    """The calibration set stands for real dialogues here."""
    packing = PackConfig(
        scanner=trained, examples=config.examples, out=tmp_path / "release", name="tiny", per_100=5,
        per_100_dialogues=5, sets=("test",), rounds=0, natural="calibration",
        natural_precision=0.6, evidence=False,
    )  # fmt: skip
    pack(packing)
    scan_of_t1 = Release(packing.out).info.codes["T1"].scan
    assert scan_of_t1 is not None
    assert scan_of_t1.natural is not None
    assert scan_of_t1.natural.right >= 0.6 * scan_of_t1.natural.flagged
    assert "flagged turns have the error" in (packing.out / "MODEL_CARD.md").read_text()

    again = CalibrateConfig(
        release=packing.out, examples=config.examples, out=tmp_path / "again", name="again",
        natural_precision=0.6,
    )  # fmt: skip
    with pytest.raises(ConfigError, match="nothing to change"):
        calibrate(again)
    with pytest.raises(ConfigError, match="--no-suggestions L9: unknown; there are"):
        calibrate(replace(again, no_suggestions=("L9",)))
    assert not again.out.exists()
    calibrate(replace(again, labelled="train"))
    calibrated = Release(again.out)
    assert calibrated.info.id == "again"
    fitted = calibrated.info.codes["T1"].scan
    assert fitted is not None
    assert fitted.natural is not None
    assert fitted.natural.n_turns > scan_of_t1.natural.n_turns
    silent = replace(again, labelled="train", out=tmp_path / "silent", no_suggestions=("T1",))
    calibrate(silent)
    scan_without = Release(silent.out).info.codes["T1"].scan
    assert scan_without == fitted.model_copy(update={"suggest_at": None})
    assert (again.out / "model.safetensors").read_bytes() == (packing.out / "model.safetensors").read_bytes()
    card = (again.out / "MODEL_CARD.md").read_text()
    assert card.startswith("# again\n")
    n_dialogues = len((config.examples / "train.jsonl").read_text().splitlines())
    assert f"of tiny were fitted again to {n_dialogues} labelled dialogues" in card
    assert card.count("## What it covers") == 1
