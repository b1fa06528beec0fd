"""Differentially private fine-tuning of a judge: `dialint train sft judge` with ``--private-epsilon``.

One dialogue's data change the probability of any result by at most a factor of exp(epsilon), up to a delta
(Dwork et al. 2006). The gradient of each dialogue, over all of its questions, is clipped, and noise is added
to the sum: no hooks into layers are needed. opacus does the accounting. The guarantee holds for a dialogue of
the train split with all examples made of it (questions, twins), its labels as they are, and public numbers of
dialogues and questions. Noise and sampling follow from a random seed that is written to checkpoints only,
which are removed at the end, as the noise could be subtracted. No metric of the train split is logged. Not
covered: the dev split, whose figures are exact; options that were chosen by comparing runs; and the generator
is not a cryptographic one. The last weights are saved, not the best, and there is no early stopping.
"""

from __future__ import annotations

import math
import secrets
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import torch

from dialint.detector.artifacts import make_output_folder
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.judge.trl_trainers import evaluate_answers, tokenize_questions
from dialint.finetune.rl.answers import compute_logprobs
from dialint.finetune.train.adapters import require_positions
from dialint.finetune.train.checkpoint import validate_loss
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    set_learning_rates,
    warmup_cosine,
)
from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

CLIP = 1.0
"""Maximum norm of one owner's gradient."""


def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Returns the least noise, in multiples of `CLIP`, for the guarantee over `steps` steps, each with every
    owner with probability `rate`.

    Source: Gopi et al. 2021, Numerical composition of differential privacy.

    Raises:
        ConfigError: E_OPTION, no noise is enough.
    """
    library: Any = import_module("opacus.accountants.utils")
    try:
        with warnings.catch_warnings():  # about the bounds that its search starts from, and about a rate of 1
            warnings.filterwarnings("ignore", "Optimal order is the", UserWarning)
            warnings.filterwarnings("ignore", "divide by zero|invalid value", RuntimeWarning)
            return float(
                library.get_noise_multiplier(
                    target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps,
                    accountant="prv", epsilon_tolerance=min(0.01, epsilon / 20),
                )
            )  # fmt: skip
    except ValueError:
        raise ConfigError("E_OPTION", "--private-epsilon is too low for any noise") from None


def sample_owners(n_owners: int, rate: float, generator: torch.Generator) -> list[int]:
    """Samples the owners of a step, each independently with probability `rate`; possibly none."""
    sampled: list[int] = (torch.rand(n_owners, generator=generator) < rate).nonzero()[:, 0].tolist()
    return sampled


def set_noisy_gradient(
    weights: Sequence[torch.nn.Parameter],
    losses: Iterable[Callable[[], torch.Tensor]],
    noise: float,
    expected: float,
    generator: torch.Generator,
    step: int,
) -> None:
    """Sets the gradients of `weights` to the sum of the owners' clipped ones and noise, divided by the
    `expected` number of owners, as the actual one is not private. `step` is for the message of an error.

    Source: Abadi et al. 2016, Deep learning with differential privacy, algorithm 1.

    Raises:
        ConfigError: E_DIVERGED, a loss or a gradient is NaN or infinite.
    """
    sums = [torch.zeros_like(weight) for weight in weights]
    for loss_of in losses:
        loss = loss_of()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(weights, CLIP))
        validate_loss(step, float(loss.detach()), norm)
        for weight, total in zip(weights, sums, strict=True):
            if weight.grad is not None:
                total += weight.grad
            weight.grad = None
    for weight, total in zip(weights, sums, strict=True):
        gaussian = torch.randn(total.shape, generator=generator).to(total)
        weight.grad = (total + noise * CLIP * gaussian) / expected


def train_privately(
    config: Any,
    model: Any,
    prompt: JudgePrompt,
    questions: Sequence[LabelledQuestion],
    dev_questions: Sequence[LabelledQuestion],
    job: str,
) -> tuple[Any, dict[str, Any]]:
    """Trains `model` in place, from the last checkpoint of `job` if there is one, and returns it with the
    run's figures. `config` is a `SftJudgeConfig`. A step has on average as many questions as without privacy,
    and a run as many epochs.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        ConfigError: E_OPTION, a delta that allows to publish a dialogue, or no noise is enough;
            E_DIVERGED, a gradient that is not finite.
        SystemExit: 0, after SIGTERM, when a checkpoint is saved and the same command resumes.
    """
    running, learning, delta = config.running, config.learning, config.private_delta
    rows = _rows_by_dialogue(questions, prompt)
    if delta >= 1 / len(rows):
        raise ConfigError(
            "E_OPTION", f"--private-delta must be far below 1/{len(rows)}, one over the dialogues"
        )
    rate = min(1.0, config.questions * learning.accumulate / len(questions))
    n_steps = learning.steps or math.ceil(learning.epochs / rate)
    noise = noise_multiplier(config.private_epsilon or math.inf, delta, rate, n_steps)
    dev_rows = tokenize_questions(dev_questions, prompt)
    require_positions(model, max(len(row["input_ids"]) for owned in (*rows, dev_rows) for row in owned))
    make_output_folder(config.out)
    judge = LocalJudge(model, prompt, bf16=running.uses_bf16())
    weights = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = build_optimizer(running.optimizer, [weights.values()], model.device.type, 0.0)
    extra = {"seed": secrets.randbits(62)}
    checkpointing = recomputes_activations(running, model)
    if checkpointing:
        enable_gradient_checkpointing(model)

    def train_step(step: int) -> StepOutput:
        model.train(checkpointing)
        generator = torch.Generator().manual_seed(extra["seed"] + step)
        sampled = [rows[owner] for owner in sample_owners(len(rows), rate, generator)]
        losses = (partial(compute_loss, model, owned, running.uses_bf16()) for owned in sampled)
        set_noisy_gradient(list(weights.values()), losses, noise, rate * len(rows), generator, step + 1)
        set_learning_rates(optimizer, [config.learning_rate], warmup_cosine(step, n_steps))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        n_tokens = sum(len(row["input_ids"]) for owned in sampled for row in owned)
        return StepOutput(n_tokens, message=f"noise {noise:.2f}")

    def evaluate_dev() -> dict[str, float]:
        model.eval()
        with torch.no_grad():
            losses = [float(compute_loss(model, [row], running.uses_bf16())) for row in dev_rows]
        answers = evaluate_answers(judge, dev_questions[: config.dev_answers])
        return {"loss": sum(losses) / len(losses), **answers}

    loop = TrainingLoop(
        out=config.out,
        job=job,
        n_steps=n_steps,
        train_step=train_step,
        parameters=weights,
        optimizer=optimizer,
        extra=extra,
        evaluate=lambda _: Evaluation({"of": n_steps, "eval": evaluate_dev()}),
        eval_steps=learning.eval_steps,
        eval_last_step=True,
        log_steps=None,
        running=running,
    )
    if not loop.run():
        sys.exit(0)
    private = {
        "epsilon": config.private_epsilon,
        "delta": delta,
        "noise": noise,
        "clip": CLIP,
        "rate": rate,
        "dialogues": len(rows),
    }
    seconds, last = round(loop.state.seconds, 1), evaluate_dev()
    return model, {
        "steps": n_steps, "seconds": seconds, **loop.state.usage, "private": private, "last": last
    }  # fmt: skip


def _rows_by_dialogue(
    questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> list[list[dict[str, Any]]]:
    """Groups the tokenized questions by source dialogue."""
    owned: dict[str, list[dict[str, Any]]] = {}
    for item, row in zip(questions, tokenize_questions(questions, prompt), strict=True):
        owned.setdefault(item.source, []).append(row)
    return list(owned.values())


def compute_loss(model: Any, rows: Sequence[dict[str, Any]], bf16: bool) -> torch.Tensor:
    """Computes the mean loss of the answers' tokens."""
    starts = [sum(label == -100 for label in row["labels"]) for row in rows]
    prompts = [row["input_ids"][:start] for row, start in zip(rows, starts, strict=True)]
    answers = [row["input_ids"][start:] for row, start in zip(rows, starts, strict=True)]
    with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
        return -compute_logprobs(model, prompts, answers).logprobs.mean()
