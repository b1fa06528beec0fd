"""The reward model: pairs, their agreement, and what it says of held-out ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from rude_dialogues import example, written

from detector.artifacts import described, write_manifest
from detector.judge import parsed
from eval.questions import Asking
from finetune.base_models import bases
from finetune.judge.reward import RewardConfig, run
from finetune.judge.rewarding.pairs import read_pairs
from finetune.judge.rewarding.trainer import figures_of, scores
from finetune.training.options import Adapters, Learning, Running

RUNNING = Running(threads=1, precision="fp32", device="cpu")


@pytest.fixture(autouse=True)
def _no_trackers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALINT_MIRRORS", "0")


@pytest.fixture
def corrected(tmp_path: Path) -> Path:
    """A data set whose reviewers overturned a finding and confirmed none."""
    folder = tmp_path / "corrected"
    folder.mkdir()
    written(folder, lambda place: 0.8)
    made = example("train0", "train", rude=True)
    found = {"verdict": "error", "quote": "own fault", "severity": "S2", "reason": "", "rewrite": None}
    none = {"verdict": "no_error", "quote": None, "severity": None, "reason": "", "rewrite": None}
    row = {
        "dialogue": made.dialogue.model_dump(mode="json"), "turn": 3, "code": "T1", "chosen": found,
        "rejected": none, "outcome": "missed", "annotation": "a1", "release": "r1", "split": "train",
    }  # fmt: skip
    (folder / "preferences.jsonl").write_text(json.dumps(row) + "\n")
    paths = [folder / f"{name}.jsonl" for name in ("train", "dev", "test", "preferences")]
    content = {"kind": "labelled-examples", "codes": ["T1"], "files": [described(path) for path in paths]}
    write_manifest(folder / "manifest.json", content)
    return folder


def test_pairs_come_from_reviewers_and_labels(corrected: Path) -> None:
    pairs = read_pairs(corrected, "train", Asking(random_questions=0), 1)
    reviewers = [pair for pair in pairs if pair.origin == "reviewer"]
    assert len(reviewers) == 1
    assert reviewers[0].agreement == 0.8  # the posterior that it is an error
    chosen, rejected = parsed(reviewers[0].chosen), parsed(reviewers[0].rejected)
    assert chosen is not None
    assert (chosen.verdict, chosen.quote) == ("error", "own fault")
    assert rejected is not None
    assert rejected.verdict == "no_error"
    labels = [pair for pair in pairs if pair.origin == "label"]
    assert len(labels) == 32
    assert all(pair.chosen != pair.rejected for pair in labels)
    contrary = labels[::2]
    assert {pair.agreement for pair in contrary} == {0.8}
    assert all(parsed(pair.rejected) is not None for pair in contrary)


def test_figures_of_known_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs, one ahead by log 3 (probability .75), one behind by as much."""
    ahead = float(np.log(3))
    given = iter((np.array([ahead, 0.0]), np.array([0.0, ahead])))
    monkeypatch.setattr("finetune.judge.rewarding.trainer.scores", lambda *_: next(given))
    rows = [{"chosen_ids": [1], "rejected_ids": [1], "agreement": share} for share in (1.0, 0.5)]
    figures = figures_of(None, rows, 0)
    assert figures["accuracy"] == 0.5
    expected = (-np.log(0.75) - 0.5 * np.log(0.25) - 0.5 * np.log(0.75)) / 2
    assert figures["log_loss"] == pytest.approx(expected)


def test_it_learns_to_prefer_and_is_loaded_again(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "reward"
    config = RewardConfig(
        dataset=dataset,
        model=str(tiny),
        out=out,
        pairs=8,
        learning_rate=3e-2,
        asking=Asking(random_questions=1),
        learning=Learning(steps=24, eval_steps=12),
        adapters=Adapters(rank=8),
        running=RUNNING,
    )
    manifest = run(config)
    assert manifest["figures"]["held_out"]["label"]["accuracy"] > 0.6
    source = bases.source_of(str(out))
    first, second = (bases.load(source, Adapters(), trainable=False, kind="SEQ_CLS") for _ in range(2))
    first.config.pad_token_id = second.config.pad_token_id = 0
    rows = [[5, 6, 7, 8], [9, 10, 11]]
    once, again = scores(first, rows, 0), scores(second, rows, 0)
    assert np.array_equal(once, again)
    assert once[0] != once[1]
    alone = scores(first, rows[1:], 0)
    assert alone[0] == pytest.approx(once[1], abs=1e-5)
    assert torch.isfinite(torch.tensor(once)).all()
