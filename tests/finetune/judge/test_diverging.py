"""Whatever the stage: a rate that is far too high ends it with the step named, and leaves no sealed weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialint.detector.errors import ConfigError
from dialint.finetune.judge import grpo, ppo, preference, reward, sft
from dialint.finetune.train import options
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

RATE = 1e30


def judge_config(stage: str, tiny: Path, dataset: Path, out: Path) -> tuple[Any, Any]:
    """A stage's run and its config, three steps long."""
    common: dict[str, Any] = {
        "dataset": dataset, "base": str(tiny), "out": out, "adapters": AdapterOptions(rank=4),
        "running": RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=1),
    }  # fmt: skip
    learning = ScheduleOptions(steps=3, eval_steps=3)
    few: dict[str, Any] = {
        "steps": 3,
        "questions": 2,
        "answers": 2,
        "answer_tokens": 8,
        "learning_rate": RATE,
    }
    if stage in ("sft", "private"):
        few = {"questions": 1, "dev_questions": 1, "dev_answers": 0, "learning_rate": RATE}
        few |= {"private_epsilon": 8.0} if stage == "private" else {}
        return sft.run, sft.SftJudgeConfig(**common, **few, learning=learning)
    if stage == "reward":
        return reward.run, reward.RewardConfig(**common, pairs=2, learning_rate=RATE, learning=learning)
    if stage == "dpo":
        return preference.run, preference.PreferConfig(**common, pairs=2, steps=3, learning_rate=RATE)
    if stage == "ppo":
        return ppo.run, ppo.PpoConfig(**common, options=options.PpoOptions(**few, minibatch=2))
    return grpo.run, grpo.GrpoConfig(**common, **few)


def by_turns(completions: list[Any], **_: Any) -> list[float]:
    """A reward under which every group has something to learn from."""
    return [float(place % 2) for place, _ in enumerate(completions)]


@pytest.mark.parametrize(
    "stage",
    [
        "sft",
        "ppo",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("reward", "dpo", "grpo", "private")),
    ],
)
def test_it_ends_at_the_step_and_seals_nothing(
    tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(grpo, "to_trl_reward", lambda _: by_turns)
    run, config = judge_config(stage, tiny, dataset, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"E_DIVERGED: step \d+: the (loss|norm of the gradient) is"):
        run(config)
    assert not (tmp_path / "out/manifest.json").exists()
