"""PPO: the judge answers questions, is rewarded, and learns to answer so that rewards rise, near what it was.

A loop of our own, since trl has none any more. This module knows options, files and the model; the walk of a
step stands in `finetune.judge.ppo_loop`. Reads a model folder, a dataset of questions and a reward model's
folder; writes an adapter (or whole weights), ``metrics.jsonl`` and last ``MANIFEST.json``.

Source: Schulman et al. 2017, Proximal policy optimization; Ziegler et al. 2019, Fine-tuning language models
from human preferences; Huang et al. 2024, The N+ implementation details of RLHF with PPO.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from detector.artifacts import write_json
from detector.errors import ConfigError, OutputRefused
from finetune.training.options import Adapters, Running

if TYPE_CHECKING:
    from finetune.judge.policy import Policy, Prompt
    from finetune.judge.rollouts import Reward
    from finetune.training.bases import Source


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Method:
    """How PPO goes about it. Every option changes weights."""

    steps: int = 100
    """Rounds of drawing and learning."""
    prompts_per_step: int = 16
    """Questions a round."""
    answers: int = 4
    """Answers drawn for each question."""
    max_new_tokens: int = 128
    """Longest answer."""
    epochs: int = 2
    """Passes over a round's answers."""
    minibatch: int = 16
    """Answers learnt from at once."""
    learning_rate: float = 1e-5
    """Rate of the policy, falling to 0 in a line."""
    value_learning_rate: float = 1e-3
    """Rate of the head that foretells rewards, falling alike."""
    value_weight: float = 0.1
    """Weight of the value loss beside the policy's."""
    value_reach: float = 0.1
    """Share of the value loss's gradient that goes on into the policy's own weights."""
    clip: float = 0.2
    """How far an answer token's probability may move in a round, as a share."""
    value_clip: float = 0.2
    """How far a foretold reward may move in a round."""
    gamma: float = 1.0
    """Discount of later rewards, a token."""
    lam: float = 0.95
    """Lambda of the advantage estimate."""
    kl: float = 0.05
    """Penalty for each nat between the policy and what it was; where it starts with --kl-target."""
    kl_target: float | None = None
    """Nats an answer that the penalty is steered to (Ziegler et al. 2019); none: it stays as it is."""
    unfinished: float = 1.0
    """What an answer loses that has not ended within --max-new-tokens."""

    def refuse(self) -> None:
        """Say what cannot be.

        Raises:
            ConfigError: E_OPTION.
        """
        for name in ("steps", "prompts_per_step", "answers", "max_new_tokens", "epochs", "minibatch"):
            if getattr(self, name) < 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be at least 1")
        for name in ("learning_rate", "value_learning_rate", "clip", "value_clip"):
            if not getattr(self, name) > 0:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
        for name in ("value_reach", "gamma", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must lie between 0 and 1")
        for name in ("kl", "value_weight", "unfinished"):
            if not getattr(self, name) >= 0:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must not be negative")
        if self.kl_target is not None and not self.kl_target > 0:
            raise ConfigError("E_OPTION", "--kl-target must be above 0")


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
    """Folder of a reward model."""
    method: Method = field(default_factory=Method)
    adapters: Adapters = field(default_factory=Adapters)
    running: Running = field(default_factory=Running)


def align(
    config: PpoConfig,
    source: Source,
    chats: Sequence[tuple[list[dict[str, str]], Any]],
    rewards: Mapping[str, Reward],
    data: Mapping[str, str],
) -> None:
    """Train `source` on `chats`, each with what rewards want to know about it, and write the result to
    ``config.out``. `data` names each input and its hash.

    Raises:
        OutputRefused: the folder holds a result, or another job's checkpoint.
        ConfigError: options or a model that cannot be.
    """
    import torch

    from finetune.judge.ppo_loop import Run, Setting, ppo_steps
    from finetune.training import checkpoints
    from finetune.training.bases import MANIFEST
    from finetune.training.lineage import job_of, seal
    from finetune.training.processes import join

    for group in (config.method, config.adapters, config.running):
        group.refuse()
    if (config.out / MANIFEST).exists():
        checkpoints.clear(config.out)  # a run that was killed after its last word may have left them
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained judge already; name another folder")
    running, method = config.running, config.method
    torch.set_num_threads(running.threads)
    device = _device(running.device)
    team = join(device.partition(":")[0])
    tokenizer = _tokenizer(source)
    prompts = prompts_of(tokenizer, chats)
    if not prompts:
        raise ConfigError("E_DATASET", f"{config.dataset}: no questions to ask")
    longest = max(len(prompt.ids) for prompt in prompts) + method.max_new_tokens
    policy = _policy(config, source, tokenizer, device, longest)
    bf16 = running.precision == "bf16" or (running.precision == "auto" and device.startswith("cuda"))
    setting = Setting(
        job_of(config, source.sha256, *sorted(data.items())),
        method,
        running.seed,
        running.optimizer,
        bf16,
        60 * running.checkpoint_minutes,
        running.checkpoint_steps,
    )
    config.out.mkdir(parents=True, exist_ok=True)
    state = ppo_steps(Run(policy, prompts, rewards, setting, config.out, team))
    if not team.leads:
        return
    if state.step < method.steps:
        print(f"stopped after step {state.step} of {method.steps}; the same command goes on", file=sys.stderr)
        return
    _save(config.out, source, policy.model, tokenizer)
    seal(config.out, "ppo", config, source, data, {"steps": state.step, "tokens": state.tokens})
    checkpoints.clear(config.out)


def prompts_of(tokenizer: Any, chats: Sequence[tuple[list[dict[str, str]], Any]]) -> list[Prompt]:
    """The chats' tokens, up to where the answer begins."""
    from finetune.judge.policy import Prompt

    prompts = []
    for messages, about in chats:
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        prompts.append(Prompt(tuple(ids), about))
    return prompts


def _tokenizer(source: Source) -> Any:
    from transformers import AutoTokenizer

    local = Path(source.base).is_dir()
    try:
        found = AutoTokenizer.from_pretrained(
            source.base, revision=source.revision, local_files_only=local, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(
            "E_BASE", f"{source.base}: no tokenizer that loads ({type(error).__name__})"
        ) from None
    if not found.chat_template or found.eos_token_id is None:
        raise ConfigError("E_BASE", f"{source.base}: its tokenizer has no chat template or no end of turn")
    return found


def _policy(config: PpoConfig, source: Source, tokenizer: Any, device: str, longest: int) -> Policy:
    """The model of `source` with its adapter or a new one, ready for `longest` tokens."""
    import torch

    from finetune.judge.policy import Policy
    from finetune.judge.token_scores import pack_if_faithful
    from finetune.training.bases import load

    torch.manual_seed(config.running.seed)  # a new adapter's weights
    model = load(source, config.adapters, device=device)
    pack_if_faithful(model, longest)
    ends = model.generation_config.eos_token_id or []
    stop_ids = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    return Policy(model, decode, stop_ids, config.running.gradient_checkpointing)


def _device(wanted: str) -> str:
    """The device that is meant by an option; one GPU for each process of a launcher."""
    import torch

    if wanted != "auto":
        return wanted
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def _save(folder: Path, source: Source, model: Any, tokenizer: Any) -> None:
    """An adapter with the base it belongs to, or whole weights with their tokenizer."""
    from finetune.judge.token_scores import inner
    from finetune.training.bases import BASE_FILE

    inner(model).set_attn_implementation("sdpa")
    if not hasattr(model, "peft_config"):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return
    model.save_pretrained(folder, save_embedding_layers=False)
    base = str(Path(source.base).resolve()) if Path(source.base).is_dir() else source.base
    write_json(folder / BASE_FILE, {"base": base, "revision": source.revision, "sha256": source.sha256})
