"""Aligns a judge by PPO on the rewards of its sampled answers, with a KL penalty to the initial judge.

    dialint train ppo --dataset build/dataset --base build/judge --reward build/reward --out build/aligned

Reads a model folder, the ``train`` split of a data set and, if named, a reward model. Writes an adapter (or
all weights), ``metrics.jsonl`` and last ``manifest.json``. trl has no PPO any more; the step is in
`dialint.finetune.rl.ppo_trainer`.

Source: Schulman et al. 2017, Proximal policy optimization; Ziegler et al. 2019, Fine-tuning language models
from human preferences; Huang et al. 2024, The N+ implementation details of RLHF with PPO.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import make_output_folder
from dialint.detector.environment import require_single_process
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge.stage import prepare
from dialint.finetune.rewards.verifiable import RewardWeights
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import PpoOptions, RunOptions

if TYPE_CHECKING:
    from dialint.finetune.rl.rollouts import RewardFn


@command_options
class PpoConfig:
    """Options of `dialint train ppo`."""

    base: str
    """The judge to start from: a folder with an adapter or a base, or a base's name."""
    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`, whose training questions are answered."""
    out: Path
    """Folder for the aligned judge; a stopped run in it is resumed."""
    reward: str | None = None
    """Folder of a reward model, or a function of your own, module:function or FILE.py:function, called as trl
    calls its reward_funcs; one more term."""
    weights: RewardWeights = field(default_factory=RewardWeights)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    options: PpoOptions = field(default_factory=PpoOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)


def run(config: PpoConfig) -> dict[str, Any]:
    """Trains a judge and returns its manifest.

    Raises:
        OutputRefused: `out` has a finished judge, or a checkpoint of another job.
        ConfigError: a judge that does not load, no questions.
    """
    from dialint.finetune.rewards.reward_function import build_reward_function

    require_single_process("train ppo")
    options = config.options
    rows, sampled = math.ceil(options.minibatch / options.accumulate), options.questions * options.answers
    context = prepare(config, "train", rows=rows, sampled=sampled)
    questions = context.read_questions("train")
    tokenizer, model = context.prompt.tokenizer, context.load_model()
    reward_function = build_reward_function(config, questions, context.prompt)

    def reward(indices: Sequence[int], texts: Sequence[str]) -> list[dict[str, float]]:
        return [own.terms for own in reward_function.rewards(indices, texts)]

    prompts = [context.prompt.of_chat(item.question.messages) for item in questions]
    make_output_folder(config.out)
    figures = align(config, model, tokenizer, prompts, reward, context.job)
    return context.save("judge", model, figures)


def align(
    config: PpoConfig,
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    reward: RewardFn,
    job: str,
) -> dict[str, Any]:
    """Trains `model` in place, from the last checkpoint of `job` in ``config.out`` if there is one, and
    returns the run's figures. The caller saves the model.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged. ConfigError: too few positions for the
        prompts; a reward or a gradient that is not finite. SystemExit: 0, after SIGTERM, when a checkpoint is
        saved and the same command resumes.
    """
    from dialint.finetune.rl.answers import enable_packed_attention
    from dialint.finetune.rl.ppo_trainer import PpoTrainer
    from dialint.finetune.rl.rollouts import PolicyModel
    from dialint.finetune.train.adapters import unwrap
    from dialint.finetune.train.memory import recomputes_activations

    options, running = config.options, config.running
    attention = unwrap(model).config._attn_implementation
    enable_packed_attention(model, max(map(len, prompts)) + options.answer_tokens)
    eos = model.generation_config.eos_token_id or []
    stop_ids = {tokenizer.eos_token_id, *(eos if isinstance(eos, list) else [eos])}

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    recomputes = recomputes_activations(running, model)
    policy = PolicyModel(model, decode, stop_ids, recomputes, running.uses_bf16())
    trainer = PpoTrainer(policy, prompts, reward, options, running)
    loop = trainer.loop(config.out, job)
    if not loop.run():
        sys.exit(0)
    unwrap(model).set_attn_implementation(attention)
    return {"step": loop.state.step, "tokens": loop.state.tokens, **loop.state.usage, **trainer.extra}
