"""Aligns the judge with what people hold to be true: group-relative rewards that can be verified.

    dialint train grpo --dataset build/dataset --model build/judge --ratio 5 --out build/aligned

Reads the ``train`` split of a data set's folder, a judge of `dialint train sft judge` and, if named, a
reward model and a scanner's release. Several answers to each question are drawn from the judge; those that
earn more than the others of their group (`rewarding/rewards.py`) become more probable, held near the judge
that it was by their divergence. Groups whose answers all earn the same teach nothing: they are left out and
counted. Rewards are divided by the spread of the whole step: by that of its own group, a costly mistake would
weigh no more than a cheap one. Writes a model folder as the judge's own. trl's trainers do the work: GRPO
(Shao et al. 2024, DeepSeekMath) or RLOO (Ahmadian et al. 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.eval.questions import LabelledQuestion, QuestionConfig
from dialint.finetune.judge.context import prepare, validate_config
from dialint.finetune.rewards.verifiable import RewardWeights
from dialint.finetune.train.estimate import estimate_limit, subsample_for_estimate
from dialint.finetune.train.options import AdapterOptions, RunOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.rewards.reward_function import RewardFunction


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GrpoConfig:
    """What `dialint train grpo` needs to know."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    model: str
    """The judge: a folder of `dialint train sft judge`, or a base that judges without being taught."""
    out: Path
    """Folder for the aligned judge."""
    method: Literal["grpo", "rloo"] = "grpo"
    """How rewards of a group become advantages."""
    reward: Path | None = None
    """Folder of a reward model, as one more term."""
    scanner: Path | None = None
    """Release of a scanner that rewrites must silence."""
    steps: int = 200
    """Steps."""
    questions: int = 8
    """Questions in one step."""
    answers: int = 8
    """Answers to each question: a group."""
    answer_tokens: int = 128
    """Tokens of an answer, at most."""
    accumulate: int = 1
    """Forward passes that a step's answers are learnt in: less memory, the same step."""
    learning_rate: float = 2e-5
    """Peak rate."""
    kl: float = 0.04
    """Weight of the divergence from the judge as it was."""
    vllm: bool = False
    """Draw answers with vLLM in this process; on CUDA, where it is installed. Nothing holds their quotes to
    the turn then."""
    weights: RewardWeights = field(default_factory=RewardWeights)
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def answers_at_once(self) -> int:
        """Questions with an answer in one forward pass."""
        return self.answers_drawn // self.accumulate

    @property
    def answers_drawn(self) -> int:
        """Answers that are drawn at once."""
        return self.questions * self.answers


def grpo(config: GrpoConfig) -> None:
    """Align a judge by rewards within groups of answers."""
    run(config)


def run(config: GrpoConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished judge, or a checkpoint of another job.
        ConfigError: an option out of its range, a judge that does not load, no questions.
    """
    from dialint.finetune.rewards.reward_function import build_reward_function
    from dialint.finetune.train.trainer import run_trainer

    _refuse(config)
    begun = prepare(config, reward=config.reward)
    asked = subsample_for_estimate(begun.asked("train", estimate_limit(config.running)), config.running)
    model = begun.model()
    rewarder = build_reward_function(config, asked, model, begun.source)
    trainer = _trainer(config, model, begun.prompt, asked, rewarder)
    trained = run_trainer(trainer, config.out, begun.job, config.running)
    trainer.hand_back()
    return begun.save("judge", trained.model, trained.figures, trained.weights)


def _refuse(config: GrpoConfig) -> None:
    validate_config(config, "train")
    config.weights.validate()
    if min(config.steps, config.questions, config.answer_tokens) < 1 or config.answers < 2:
        raise ConfigError(
            "E_OPTION", "--steps, --questions, --answer-tokens at least 1, --answers at least 2"
        )
    if config.accumulate < 1 or config.questions * config.answers % config.accumulate:
        raise ConfigError("E_OPTION", "--accumulate must divide --questions times --answers")
    if config.learning_rate <= 0 or config.kl < 0:
        raise ConfigError("E_OPTION", "--learning-rate or --kl is out of range")


def _trainer(
    config: GrpoConfig,
    model: Any,
    prompt: JudgePrompt,
    asked: Sequence[LabelledQuestion],
    rewarder: RewardFunction,
) -> Any:
    from datasets import Dataset
    from trl import GRPOConfig, RLOOConfig

    from dialint.finetune.judge.trl_trainers import JudgeGRPOTrainer, JudgeRLOOTrainer
    from dialint.finetune.train.arguments import build_trainer_config

    kinds: dict[str, tuple[Any, Any]] = {
        "grpo": (GRPOConfig, JudgeGRPOTrainer),
        "rloo": (RLOOConfig, JudgeRLOOTrainer),
    }
    options, kind = kinds[config.method]
    # divided by its own group's spread, a reward would say nothing of the ratio
    scaled = {"scale_rewards": "batch"} if config.method == "grpo" else {}
    arguments = build_trainer_config(
        options,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.questions * config.answers // config.accumulate,
        gradient_accumulation_steps=config.accumulate,
        num_generations=config.answers,
        max_completion_length=config.answer_tokens,
        max_steps=config.steps,
        learning_rate=config.learning_rate,
        warmup_steps=0,
        beta=config.kl,
        temperature=1.0,
        use_vllm=config.vllm,
        **scaled,
    )
    rows = [
        {"prompt": prompt.messages(item.question, item.code), "place": place, "turn": item.text}
        for place, item in enumerate(asked)
    ]
    trainer = kind(
        model=model,
        reward_funcs=to_trl_reward(rewarder),
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=prompt.tokenizer,
    )
    trainer.take_over(prompt.max_tokens + config.answer_tokens)
    return trainer


def to_trl_reward(rewarder: RewardFunction) -> Any:
    """The rewarder as trl calls it; the mean of each term is logged."""

    def verified(completions: list[Any], place: list[int], log_metric: Any = None, **_: Any) -> list[float]:
        texts = [completion[0]["content"] for completion in completions]
        found = rewarder.rewards(place, texts)
        if log_metric is not None:
            for name in found[0].terms:
                log_metric(f"terms/{name}", sum(reward.terms[name] for reward in found) / len(found))
            log_metric("readable", sum(reward.answer is not None for reward in found) / len(found))
            accused = sum(reward.answer is not None and reward.answer.verdict == "error" for reward in found)
            log_metric("accused", accused / len(found))
        return [reward.total for reward in found]

    return verified
