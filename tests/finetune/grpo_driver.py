"""One process of several that align a judge by groups of answers."""

from __future__ import annotations

import sys
from pathlib import Path

from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge import grpo
from dialint.finetune.judge.grpo import GrpoConfig, run
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions


def main(tiny: str, dataset: str, out: str) -> None:
    """Two questions with four answers in each process, with a reward that random weights can earn."""

    def rewarded(completion_ids: list[list[int]], **_: object) -> list[float]:
        return [sum(token % 2 for token in ids) / len(ids) for ids in completion_ids]

    grpo.to_trl_reward = lambda rewarder: rewarded
    run(
        GrpoConfig(
            dataset=Path(dataset), model=tiny, out=Path(out), steps=3, questions=2, answers=4, answer_tokens=12,
            learning_rate=1e-2, question_config=QuestionConfig(random_questions=0), adapters=AdapterOptions(rank=4),
            running=RunOptions(threads=1, precision="fp32", device="cpu"),
        )
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
