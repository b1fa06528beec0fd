"""PPO: the judge answers questions, is rewarded, and learns to answer so that rewards rise, near what it was.

    dialint train ppo --dataset build/dataset --model build/judge --reward build/reward --out build/aligned

A loop of our own, since trl has none any more. This module knows options, files and the model; the walk of a
step stands in `dialint.finetune.policy.ppo_loop`. Reads a model folder, a dataset of questions and a reward
model's folder; writes an adapter (or whole weights), ``metrics.jsonl`` and last ``MANIFEST.json``.

Source: Schulman et al. 2017, Proximal policy optimization; Ziegler et al. 2019, Fine-tuning language models
from human preferences; Huang et al. 2024, The N+ implementation details of RLHF with PPO.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder
from dialint.detector.errors import ConfigError
from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge.context import prepare, validate_config
from dialint.finetune.policy.options import PpoOptions
from dialint.finetune.rewards.verifiable import RewardWeights
from dialint.finetune.train.estimate import (
    Cost,
    Workload,
    estimate_cost,
    estimate_limit,
    estimate_memory,
    measure_partial_pace,
    model_sizes,
    print_memory,
    print_time,
    recomputes_activations,
    subsample_for_estimate,
)
from dialint.finetune.train.options import AdapterOptions, RunOptions

if TYPE_CHECKING:
    from dialint.finetune.policy.policy import Prompt
    from dialint.finetune.policy.rollouts import RewardFn
    from dialint.finetune.rewards.verifiable import Reward
    from dialint.finetune.train.distributed import ProcessGroup


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PpoConfig:
    """Align the judge with rewards by PPO."""

    model: str
    """The judge to start from: a folder with an adapter or a base, or a base's name."""
    dataset: Path
    """Folder of the dataset whose training questions are asked."""
    out: Path
    """Folder of the aligned judge; a run that was stopped goes on in it."""
    reward: Path | None = None
    """Folder of a reward model; without one, rewards that can be verified."""
    verifiable: float = 0.0
    """Weight of the rewards that can be verified, beside the reward model's."""
    scanner: Path | None = None
    """Release of a scanner that rewrites must silence."""
    weights: RewardWeights = field(default_factory=RewardWeights)
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    method: PpoOptions = field(default_factory=PpoOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def answers_at_once(self) -> int:
        """Questions with an answer in one forward pass."""
        return math.ceil(self.method.minibatch / self.method.accumulate)

    @property
    def answers_drawn(self) -> int:
        """Answers that are drawn at once."""
        return self.method.questions * self.method.answers


def ppo(config: PpoConfig) -> None:
    """Align a judge by PPO."""
    run(config)


def run(config: PpoConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished judge, or a checkpoint of another job.
        ConfigError: an option out of its range, a judge that does not load, no questions.
    """
    from dialint.detector.engines.quote_constraint import TokenSpellings
    from dialint.finetune.policy.policy import Prompt
    from dialint.finetune.rewards.reward_function import build_reward_function
    from dialint.finetune.train.arguments import resolve_device
    from dialint.finetune.train.distributed import init_process_group

    _refuse(config)
    begun = prepare(config, reward=config.reward)
    asked = subsample_for_estimate(begun.asked("train", estimate_limit(config.running)), config.running)
    prompt, device = begun.prompt, resolve_device(config.running)
    team, model = init_process_group(device), begun.model()
    rewarder = build_reward_function(config, asked, model, begun.source)

    def reward(prompts: Sequence[Prompt], texts: Sequence[str]) -> list[dict[str, float]]:
        return [_worth(config, own) for own in rewarder.rewards([one.about for one in prompts], texts)]

    verbatim = TokenSpellings(prompt.tokenizer)
    prompts = [
        Prompt(tuple(prompt.ids(item.question, item.code)), place, verbatim.of(item.text))
        for place, item in enumerate(asked)
    ]
    if config.running.dry_run:

        def questions(n: int) -> None:
            with tempfile.TemporaryDirectory() as folder:
                few = replace(config, out=Path(folder), method=replace(config.method, steps=1, questions=n))
                align(few, model, prompt.tokenizer, prompts, reward, begun.job, team)

        _show_plan(config, model, prompts, questions, estimate_cost(config.running, device))
        return {}
    make_output_folder(config.out)
    figures = align(config, model, prompt.tokenizer, prompts, reward, begun.job, team)
    return begun.save("judge", model, figures)


def _show_plan(
    config: PpoConfig, model: Any, prompts: Sequence[Prompt], questions: Callable[[int], None], cost: Cost
) -> None:
    """Print what the run would take; `questions` runs a step of so many of them, which are forgotten."""
    method, shape = config.method, model.config.get_text_config()
    window = max(len(prompt.ids) for prompt in prompts) + method.answer_tokens
    work = Workload(
        tokens=window * math.ceil(method.minibatch / method.accumulate),
        window=window,
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=4,
        checkpointing=recomputes_activations(config.running, model),
    )
    sizes = model_sizes(model)
    print_memory(sizes, estimate_memory(sizes, config.running.optimizer, work))
    tokens = window * method.questions * method.answers
    print_time(method.steps, measure_partial_pace(questions, method.questions, tokens), cost)


def _worth(config: PpoConfig, reward: Reward) -> dict[str, float]:
    """What an answer earns, by term: what people would say of it, and what can be verified."""
    preferred = reward.terms["preference"]
    if config.reward is None:
        return {"verifiable": reward.total}
    verifiable = config.verifiable * (reward.total - preferred)
    return {"preference": preferred / config.weights.preference_weight, "verifiable": verifiable}


def _refuse(config: PpoConfig) -> None:
    validate_config(config, "train")
    config.method.validate()
    config.weights.validate()
    if config.verifiable < 0 or (config.reward is not None and config.weights.preference_weight <= 0):
        raise ConfigError("E_OPTION", "--verifiable must not be negative, --preference-weight be above 0")


def align(
    config: PpoConfig,
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Prompt],
    reward: RewardFn,
    job: str,
    team: ProcessGroup,
) -> dict[str, Any]:
    """Train `model` in place, from the last checkpoint of `job` in ``config.out`` if there is one; figures of
    the run. The caller saves the model.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        ConfigError: the model has no positions for so long prompts; a reward or a gradient is no number.
        SystemExit: 0, after SIGTERM, when all is saved and the same command goes on; and in a process that
            does not lead its team, whose part is done.
    """
    from dialint.finetune.policy.logprobs import enable_packed_attention, unwrap
    from dialint.finetune.policy.policy import Policy
    from dialint.finetune.policy.ppo_loop import LoopConfig, Run, train_ppo

    method, running = config.method, config.running
    own = unwrap(model).config._attn_implementation
    enable_packed_attention(model, max(len(prompt.ids) for prompt in prompts) + method.answer_tokens)
    ends = model.generation_config.eos_token_id or []
    stop_ids = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    setting = LoopConfig(
        job,
        method,
        running.seed,
        running.optimizer,
        60 * running.checkpoint_minutes,
        running.checkpoint_steps,
        estimate_cost(running, model.device.type),
    )
    bf16 = running.precision == "bf16" or (running.precision == "auto" and model.device.type == "cuda")
    policy = Policy(model, decode, stop_ids, recomputes_activations(running, model), bf16)
    state = train_ppo(Run(policy, prompts, reward, setting, config.out, team))
    if state.step < method.steps and team.leads:
        print(
            f"stopped at step {state.step} of {method.steps}; saved, the same command goes on",
            file=sys.stderr,
        )
    if state.step < method.steps or not team.leads:
        sys.exit(0)
    unwrap(model).set_attn_implementation(own)
    return asdict(state)
