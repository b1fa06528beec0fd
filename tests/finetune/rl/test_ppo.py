"""PPO with tiny random decoders: it learns what is rewarded, stays near where it is told to, and loses nothing
when it is killed. Run as a script, this file is the process that is killed or that works in a team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from resuming import logged

from dialint.detector.errors import ConfigError
from dialint.finetune.decoder.trainer import decoder_config, init_decoder
from dialint.finetune.rl import rollouts
from dialint.finetune.rl.answers import enable_packed_attention
from dialint.finetune.rl.ppo_trainer import PpoTrainer, minibatches
from dialint.finetune.rl.rollouts import PolicyModel, RewardFn, select_prompts
from dialint.finetune.train.loop import TrainerState
from dialint.finetune.train.options import PpoOptions, RunOptions

STOP, WANTED = 2, 7
PROMPTS = [(5, 6 + place) for place in range(6)]
QUICK = {"steps": 3, "questions": 3, "answers": 2, "answer_tokens": 5, "epochs": 2, "minibatch": 3,
         "learning_rate": 1e-2}  # fmt: skip


def share(_: Sequence[int], texts: Sequence[str]) -> list[dict[str, float]]:
    """The share of one token in each answer."""
    return [{"share": text.split().count(str(WANTED)) / max(1, len(text.split()))} for text in texts]


def by_prompt(to: Sequence[int], _: Sequence[str]) -> list[dict[str, float]]:
    """Returns rewards that no answer changes: 1 for every other prompt."""
    return [{"prompt": float(place % 2)} for place in to]


def both(to: Sequence[int], texts: Sequence[str]) -> list[dict[str, float]]:
    return [one | other for one, other in zip(share(to, texts), by_prompt(to, texts), strict=True)]


def policy_of(adapter: bool = False, checkpointing: bool = False, bf16: bool = False) -> PolicyModel:
    model: Any = init_decoder(decoder_config(1, 30, 64), 0)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(6.0)  # tied to the head: logits that layers can move
    if adapter:
        torch.manual_seed(1)
        shape = LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=32, target_modules="all-linear")
        model = get_peft_model(model, shape)
    enable_packed_attention(model, 20)
    return PolicyModel(model, lambda ids: " ".join(map(str, ids)), [STOP], checkpointing, bf16)


def run_of(
    folder: Path, *, adapter: bool = False, reward: RewardFn = share, seed: int = 1, bf16: bool = False, **options: Any,
) -> Run:  # fmt: skip
    folder.mkdir(exist_ok=True)
    running = RunOptions(seed=seed, threads=1, device="cpu", checkpoint_steps=1)
    return Run(
        policy_of(adapter, bf16=bf16), PROMPTS, reward, PpoOptions(**options), running,
        folder=folder,
    )  # fmt: skip


@dataclass
class Run(PpoTrainer):
    """A trainer with the folder and the job of its loop."""

    folder: Path = Path()
    job: str = "job"


def train_ppo(run: Run) -> TrainerState:
    training = run.loop(run.folder, run.job)
    training.run()
    return training.state


def weights_of(run: Run) -> dict[str, torch.Tensor]:
    return {name: p.detach() for name, p in run.policy.parameters().items()}


LEARNS = {"steps": 14, "questions": 6, "answers": 4, "answer_tokens": 8, "unfinished": 0.0,
          "learning_rate": 1e-2}  # fmt: skip


@pytest.mark.parametrize(
    "adapter", [pytest.param(False, marks=pytest.mark.slow), True], ids=["all weights", "adapter"]
)
def test_rewards_rise(tmp_path: Path, adapter: bool) -> None:
    train_ppo(run_of(tmp_path, adapter=adapter, **LEARNS, kl=0.01))
    rewards = [entry["reward"]["total"] for entry in logged(tmp_path)]
    assert rewards[0] < 0.06
    assert sum(rewards[-5:]) / 5 > 0.3


def test_the_head_learns_to_foretell_what_depends_on_the_prompt(tmp_path: Path) -> None:
    """One token an answer: the head reads the prompt's last token itself."""
    options = {**LEARNS, "learning_rate": 1e-4, "value_learning_rate": 0.1, "answer_tokens": 1, "kl": 0.0}
    train_ppo(run_of(tmp_path, reward=by_prompt, **options))
    explained = [entry["explained_variance"] for entry in logged(tmp_path)]
    assert explained[0] == pytest.approx(0.0)
    assert explained[-1] > 0.6


def test_figures_are_those_of_the_answers(tmp_path: Path) -> None:
    """The first step by hand: no KL yet, rewards add up, an answer that did not end is worth less."""
    run = run_of(tmp_path, reward=both, **{**LEARNS, "steps": 1, "unfinished": 2.0})
    batch = rollouts.roll_out(run.policy, PROMPTS, run.reward, run.options, 1, 0)
    train_ppo(run)
    (entry,) = logged(tmp_path)
    ended = [ids[-1] == STOP for ids in batch.ids]
    assert 0 < sum(ended) < len(ended)
    texts = [" ".join(str(token) for token in ids if token != STOP) for ids in batch.ids]
    shares = sum(one["share"] for one in share([], texts)) / len(texts)
    prompts = sum(place % 2 for place in batch.prompts) / len(ended)
    missing = -2.0 * ended.count(False) / len(ended)
    assert entry["reward"] == pytest.approx(
        {"total": shares + prompts + missing, "less_kl": shares + prompts + missing, "share": shares,
         "prompt": prompts, "unfinished": missing}, abs=1e-6
    )  # fmt: skip
    assert entry["kl"] == {"answer": 0.0, "token_k3": 0.0, "weight": 0.05}
    assert entry["tokens"] == sum(batch.lengths)
    assert entry["answer_tokens"] == pytest.approx(entry["tokens"] / 24)


@pytest.mark.parametrize(
    ("adapter", "bf16"), [(False, True), (True, False)], ids=["all weights, bf16", "adapter, fp32"]
)
def test_the_reference_is_the_initial_model(tmp_path: Path, adapter: bool, bf16: bool) -> None:
    """In bf16 too, where autocast keeps casts of weights that change places."""
    run = run_of(tmp_path, adapter=adapter, bf16=bf16, **QUICK)
    answers = [(7, 8, 9)] * len(PROMPTS)
    with torch.no_grad():
        initial = run.policy.score(PROMPTS, answers).logprobs
    train_ppo(run)
    with torch.no_grad():
        now = run.policy.score(PROMPTS, answers).logprobs
        with run.policy.as_reference():
            assert torch.equal(run.policy.score(PROMPTS, answers).logprobs, initial)
        assert torch.equal(run.policy.score(PROMPTS, answers).logprobs, now)
    assert float((now - initial).abs().max()) > 0.01
    assert logged(tmp_path)[-1]["kl"]["token_k3"] > 1e-3


def test_every_prompt_occurs_once_an_epoch_in_another_order() -> None:
    indices = [place for step in range(4) for place in select_prompts(6, 3, 1, step)]
    first, second = indices[:6], indices[6:]
    assert sorted(first) == sorted(second) == list(range(6))
    assert first != second
    assert indices != [place for step in range(4) for place in select_prompts(6, 3, 2, step)]


def test_minibatches_hold_every_answer_once_a_pass_those_of_a_prompt_together() -> None:
    method = PpoOptions(answers=2, minibatch=4, epochs=2)
    batches = list(minibatches(10, method, 1, 0))
    assert [len(places) for places in batches] == [4, 4, 2] * 2
    passes = [[place for places in half for place in places] for half in (batches[:3], batches[3:])]
    assert passes[0] != passes[1]
    for places in passes:
        assert sorted(places) == list(range(10))
        assert all(
            one % 2 == 0 and other == one + 1 for one, other in zip(places[::2], places[1::2], strict=True)
        )


@pytest.mark.parametrize("wrong", [{}, {"odd": float("nan")}], ids=["missing", "nan"])
def test_a_reward_that_is_no_number_for_each_answer_is_refused(
    tmp_path: Path, wrong: dict[str, float]
) -> None:
    run = run_of(tmp_path, reward=lambda to, _: [{"odd": 1.0}] * (len(to) - 1) + [wrong], **QUICK)
    with pytest.raises(ConfigError, match="E_REWARD: the reward's term odd"):
        train_ppo(run)


@pytest.mark.parametrize("accumulate", [2, 3])
def test_a_minibatch_in_parts_learns_what_it_learns_whole(tmp_path: Path, accumulate: int) -> None:
    whole = run_of(tmp_path / "whole", adapter=True, **QUICK)
    parts = run_of(tmp_path / "parts", adapter=True, **QUICK, accumulate=accumulate)
    train_ppo(whole)
    train_ppo(parts)
    for name, weight in weights_of(whole).items():
        torch.testing.assert_close(weights_of(parts)[name], weight, rtol=1e-4, atol=1e-5)
