"""PPO of a judge from a folder to a folder; the loop itself is tested beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.engines import base_models
from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge import ppo, reward
from dialint.finetune.judge.ppo import PpoConfig
from dialint.finetune.judge.reward import RewardConfig
from dialint.finetune.policy.options import PpoOptions
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

RUNNING = RunOptions(threads=1, precision="fp32", device="cpu")
ASKING = QuestionConfig(random_questions=1)


@pytest.fixture(scope="module")
def preferring(tiny: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rewards") / "reward"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIALINT_MIRRORS", "0")
        learning = ScheduleOptions(steps=2, eval_steps=2)
        reward.run(
            RewardConfig(
                dataset=dataset,
                model=str(tiny),
                out=out,
                question_config=ASKING,
                learning=learning,
                running=RUNNING,
            )
        )
    return out


def test_a_judge_is_aligned_by_a_reward_model(
    tiny: Path, dataset: Path, preferring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_MIRRORS", "0")
    options = PpoOptions(steps=2, questions=2, answers=2, answer_tokens=5, minibatch=4, learning_rate=1e-2)
    config = PpoConfig(
        model=str(tiny), dataset=dataset, out=tmp_path, reward=preferring, verifiable=0.5, question_config=ASKING,
        options=options, adapters=AdapterOptions(rank=4), running=RUNNING,
    )  # fmt: skip
    manifest = ppo.run(config)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert {"total", "preference", "verifiable"} <= rows[0]["reward"].keys()
    assert -1 <= rows[0]["reward"]["preference"] <= 1
    assert rows[0]["kl"]["answer"] == pytest.approx(0.0, abs=1e-5)  # nothing learnt, nothing moved
    assert manifest["data"].keys() == {"dataset", "reward"}
    assert base_models.resolve_source(str(tmp_path)).adapter == tmp_path
