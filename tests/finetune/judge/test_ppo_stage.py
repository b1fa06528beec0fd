"""PPO of a judge from a folder to a folder; the loop itself is tested beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judge_fixtures import RUNNING
from resuming import logged

from dialint.detector.artifacts import sha256_file
from dialint.detector.engines import base_models
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge import grpo, ppo, reward
from dialint.finetune.judge.ppo import PpoConfig
from dialint.finetune.judge.reward import RewardConfig
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import PpoOptions, ScheduleOptions


@pytest.fixture(scope="module")
def preferring(tiny: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rewards") / "reward"
    learning = ScheduleOptions(steps=2, eval_steps=2)
    reward.run(RewardConfig(dataset=dataset, base=str(tiny), out=out, learning=learning, running=RUNNING))
    return out


def test_a_judge_is_aligned_by_a_reward_model(
    tiny: Path, dataset: Path, preferring: Path, tmp_path: Path
) -> None:
    options = PpoOptions(steps=2, questions=2, answers=2, answer_tokens=5, minibatch=4, learning_rate=1e-2)
    config = PpoConfig(
        base=str(tiny), dataset=dataset, out=tmp_path, reward=str(preferring),
        options=options, adapters=AdapterOptions(rank=4), running=RUNNING,
    )  # fmt: skip
    manifest = ppo.run(config)
    rows = logged(tmp_path)
    assert [row["step"] for row in rows] == [1, 2]
    assert -0.2 <= rows[0]["reward"]["preference"] <= 0.2
    assert rows[0]["reward"]["form"] == pytest.approx(-4.0)  # nothing that can be read
    assert rows[0]["kl"]["answer"] == pytest.approx(0.0, abs=1e-5)  # nothing learnt, nothing moved
    assert manifest["data"].keys() == {"dataset", "reward"}
    assert base_models.resolve_source(str(tmp_path)).adapter == tmp_path


OWN_REWARD = """
def short(prompts, completions, *, codes, turns, **columns):
    assert prompts[0][-1]["role"] == "user" and codes[0] == ["T1"] and set(turns[0]) == {1, 3}
    return [-len(completion[0]["content"]) / 100 for completion in completions]
"""


@pytest.mark.parametrize("stage", ["ppo", pytest.param("grpo", marks=pytest.mark.slow)])
def test_a_function_of_ones_own_rewards(tiny: Path, dataset: Path, tmp_path: Path, stage: str) -> None:
    (tmp_path / "own.py").write_text(OWN_REWARD)
    common: dict[str, Any] = {
        "base": str(tiny), "dataset": dataset, "out": tmp_path / "out", "reward": f"{tmp_path / 'own.py'}:short",
        "selection": SelectionConfig(codes=("T1",)), "adapters": AdapterOptions(rank=4), "running": RUNNING,
    }  # fmt: skip
    if stage == "ppo":
        options = PpoOptions(steps=1, questions=2, answers=2, answer_tokens=5, minibatch=4)
        manifest = ppo.run(PpoConfig(**common, options=options))
    else:
        manifest = grpo.run(grpo.GrpoConfig(**common, steps=1, questions=2, answers=2, answer_tokens=5))
    assert manifest["data"]["reward"] == sha256_file(tmp_path / "own.py")
    first = logged(tmp_path / "out")[0]
    assert (first["reward"]["preference"] if stage == "ppo" else first["terms/preference"]) < 0
