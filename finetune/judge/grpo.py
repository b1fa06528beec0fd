"""Aligns a judge by GRPO: answers with higher rewards than the others of their group become more probable.

    dialint train grpo --dataset build/dataset --base build/judge --out build/aligned

Reads the ``train`` split of a data set's folder, a judge of `dialint train sft judge` and, if named, a reward
model. Several answers to each question are sampled from the judge and rewarded (`rewards/verifiable.py`),
with a penalty on the KL divergence from the initial judge. Groups of equal rewards are left out and counted.
Rewards are divided by the standard deviation of the whole step: divided by that of the group, a costly
mistake would weigh no more than a cheap one. Writes a model folder as SFT does. Uses trl's trainer.

Source: Shao et al. 2024, DeepSeekMath.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import SelectionConfig, accusations
from dialint.finetune.judge.stage import prepare
from dialint.finetune.rewards.verifiable import RewardWeights
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    from dialint.finetune.rewards.reward_function import RewardFunction


@command_options
class GrpoConfig:
    """Options of `dialint train grpo`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    base: str
    """The judge: a folder of `dialint train sft judge`, or a base that judges without fine-tuning."""
    out: Path
    """Folder for the aligned judge."""
    reward: str | None = None
    """Folder of a reward model, or a function of your own, module:function or FILE.py:function, called as trl
    calls its reward_funcs; one more term."""
    steps: Annotated[int, Field(ge=1)] = 200
    """Training steps."""
    questions: Annotated[int, Field(ge=1)] = 8
    """Questions in one step."""
    answers: Annotated[int, Field(ge=2)] = 8
    """Answers to each question (group size)."""
    answer_tokens: Annotated[int, Field(ge=1)] = 512
    """Maximum tokens of an answer."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes that a step's answers are split into: less memory, the same step."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    """Peak learning rate."""
    kl: Annotated[float, Field(ge=0)] = 0.04
    """Weight of the KL divergence from the initial judge."""
    weights: RewardWeights = field(default_factory=RewardWeights)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        if self.sampled_answers % self.accumulate:
            raise ConfigError("E_OPTION", "--accumulate must divide --questions times --answers")

    @property
    def forward_answers(self) -> int:
        """The number of answers in one forward pass."""
        return self.sampled_answers // self.accumulate

    @property
    def sampled_answers(self) -> int:
        """The number of answers that are sampled at once."""
        return self.questions * self.answers


def run(config: GrpoConfig) -> dict[str, Any]:
    """Trains a judge and returns its manifest.

    Raises:
        OutputRefused: `out` has a finished judge, or a checkpoint of another job.
        ConfigError: a judge that does not load, no questions.
    """
    from datasets import Dataset
    from trl import GRPOConfig

    from dialint.finetune.judge.trl_trainers import JudgeGRPOTrainer
    from dialint.finetune.rewards.reward_function import build_reward_function
    from dialint.finetune.train.hf_trainer import build_trainer_config, run_trainer

    context = prepare(config, "train", rows=config.forward_answers, sampled=config.sampled_answers)
    questions, model, prompt = context.read_questions("train"), context.load_model(), context.prompt
    reward_function = build_reward_function(config, questions, prompt)
    arguments = build_trainer_config(
        GRPOConfig,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.forward_answers,
        gradient_accumulation_steps=config.accumulate,
        num_generations=config.answers,
        max_completion_length=config.answer_tokens,
        max_steps=config.steps,
        learning_rate=config.learning_rate,
        warmup_steps=0,
        beta=config.kl,
        temperature=1.0,
        scale_rewards="batch",  # by the deviation of its own group, rewards would not depend on the ratio
    )
    rows = [
        {"prompt": prompt.fold(item.question.messages), "index": index}
        for index, item in enumerate(questions)
    ]
    trainer = JudgeGRPOTrainer(
        model=model,
        reward_funcs=to_trl_reward(reward_function),
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=prompt.tokenizer,
    )
    longest = max(prompt.count_tokens(item.question.messages) for item in questions)
    trainer.pack_attention(longest + config.answer_tokens)
    aligned, figures = run_trainer(trainer, config.out, context.job, config.running)
    trainer.restore_attention()
    return context.save("judge", aligned, figures)


def to_trl_reward(reward_function: RewardFunction) -> Any:
    """Adapts the reward function to trl; logs the mean of each term and of the number of accusations in an
    answer, and the share of readable answers."""

    def verified(completions: list[Any], index: list[int], log_metric: Any = None, **_: Any) -> list[float]:
        texts = [completion[0]["content"] for completion in completions]
        rewards = reward_function.rewards(index, texts)
        if log_metric is not None:
            for name in rewards[0].terms:
                log_metric(f"terms/{name}", sum(reward.terms[name] for reward in rewards) / len(rewards))
            readings = [reward.reading for reward in rewards if reward.reading is not None]
            log_metric("readable", len(readings) / len(rewards))
            log_metric("accusations", sum(len(accusations(one)) for one in readings) / len(rewards))
        return [reward.total for reward in rewards]

    return verified
