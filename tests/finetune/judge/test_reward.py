"""The reward model: figures of scores by hand, and a model that is trained and loaded again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from judge_fixtures import RUNNING

from dialint.detector.engines import base_models
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge.reward import RewardConfig, run
from dialint.finetune.rewards.pairs import read_pairs
from dialint.finetune.rewards.reward_function import load_reward_model, score_rows
from dialint.finetune.rewards.reward_trainer import evaluate_pairs
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import ScheduleOptions


def test_figures_of_scores_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs, one ahead by log 3 (probability .75), one behind by as much."""
    ahead = float(np.log(3))
    scores = iter((np.array([ahead, 0.0]), np.array([0.0, ahead])))
    monkeypatch.setattr("dialint.finetune.rewards.reward_trainer.score_rows", lambda *_: next(scores))
    rows = [{"chosen_ids": [1], "rejected_ids": [1], "agreement": share} for share in (1.0, 0.5)]
    figures = evaluate_pairs(None, rows, 0)
    assert figures["accuracy"] == 0.5
    expected = (-np.log(0.75) - 0.5 * np.log(0.25) - 0.5 * np.log(0.75)) / 2
    assert figures["log_loss"] == pytest.approx(expected)


def test_it_learns_to_prefer_and_is_loaded_again(
    tiny: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reward"
    config = RewardConfig(
        dataset=dataset, base=str(tiny), out=out, pairs=4, learning_rate=3e-2,
        learning=ScheduleOptions(steps=16, eval_steps=16), adapters=AdapterOptions(rank=8), running=RUNNING,
    )  # fmt: skip
    manifest = run(config)
    label = manifest["figures"]["held_out"]["label"]
    assert label["accuracy"] > 0.6
    for figures in (label, label["answer_only"]):
        assert figures["accuracy_95"][0] <= figures["accuracy"] <= figures["accuracy_95"][1]
    assert "answers alone" in capsys.readouterr().err
    reader = JudgePrompt.of(tiny, "short", 2048).reader(load_taxonomy())
    pairs = read_pairs(dataset, "dev", SelectionConfig(), reader, 1)[:2]
    items, texts = [pair.item for pair in pairs], [pair.chosen for pair in pairs]
    once = load_reward_model(out)(items, texts)
    assert once == load_reward_model(out)(items, texts)
    assert all(-1 <= value <= 1 for value in once)
    assert len(set(once)) == 2


def test_scores_do_not_depend_on_the_rows_beside(tiny: Path) -> None:
    source = base_models.resolve_source(str(tiny))
    model = load_model(source, AdapterOptions(adapter="none"), trainable=False, kind="SEQ_CLS")
    model.config.pad_token_id = 0
    together = score_rows(model, [[5, 6, 7, 8], [9, 10, 11]], 0)
    assert together[0] != together[1]
    assert score_rows(model, [[9, 10, 11]], 0)[0] == pytest.approx(together[1], abs=1e-5)
