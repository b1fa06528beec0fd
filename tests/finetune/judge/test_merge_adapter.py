"""A judge with its adapter merged says what it said before; in fewer bits nearly so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dialint.detector.engines.judge_local import load_judge
from dialint.eval.questions import QuestionConfig, read_questions
from dialint.finetune.judge import merge_adapter, sft, sft_options
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

RUNNING = RunOptions(threads=1, precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def judge(tiny: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("judges") / "taught"
    sft.run(
        sft_options.SftJudgeConfig(
            dataset=dataset, model=str(tiny), out=out, questions=4, learning_rate=3e-2,
            question_config=QuestionConfig(random_questions=0), learning=ScheduleOptions(steps=3, eval_steps=3),
            adapters=AdapterOptions(rank=4), running=RUNNING,
        )
    )  # fmt: skip
    return out


@pytest.mark.parametrize(("weights", "most"), [("fp32", 1e-5), ("bf16", 0.05), ("nf4", 0.5), ("int8", 0.2)])
def test_a_merged_judge_says_the_same(
    judge: Path, dataset: Path, tmp_path: Path, weights: merge_adapter.StoredWeights, most: float
) -> None:
    manifest = merge_adapter.run(
        merge_adapter.MergeConfig(model=str(judge), out=tmp_path / "merged", weights=weights)
    )
    assert manifest["figures"]["steps"] == 3
    assert "What it is not for" in (tmp_path / "merged" / "README.md").read_text()
    asked = read_questions(dataset, "test", QuestionConfig(random_questions=1), 1)
    one, other = (load_judge(str(folder)) for folder in (judge, tmp_path / "merged"))
    prompts = [one.prompt.ids(item.question, item.code) for item in asked]
    assert np.abs(one.beliefs(prompts) - other.beliefs(prompts)).max() <= most
