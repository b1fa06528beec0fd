"""GRPO: what is rewarded becomes more probable, resuming is exact, groups are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from resuming import assert_same_weights, figures, interrupted, logged
from safetensors.torch import load_file
from trl import GRPOTrainer

from dialint.detector.engines import adapter_files, base_models
from dialint.finetune.judge import grpo
from dialint.finetune.judge.grpo import GrpoConfig, run
from dialint.finetune.judge.trl_trainers import JudgeGRPOTrainer
from dialint.finetune.rewards.verifiable import RewardWeights
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions


def config(tiny: Path, dataset: Path, out: Path, **more: object) -> GrpoConfig:
    running = RunOptions(
        threads=1, precision="fp32", device="cpu", checkpoint_steps=more.pop("checkpoint_steps", 1)
    )  # type: ignore[arg-type]
    options = {"steps": 4, "questions": 2, "answers": 4, "answer_tokens": 6, "learning_rate": 1e-2, **more}
    return GrpoConfig(
        dataset=dataset, base=str(tiny), out=out, adapters=AdapterOptions(rank=4), running=running, **options,
    )  # type: ignore[arg-type]  # fmt: skip


def entries(out: Path) -> list[dict[str, float]]:
    return [row for row in logged(out) if "reward" in row]


@pytest.fixture
def upward(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward that random weights can earn: the share of tokens whose embedding points up in one dimension."""
    up = (load_file(tiny / "model.safetensors")["model.embed_tokens.weight"][:, 0] > 0).tolist()

    def rewarded(completion_ids: list[list[int]], **_: object) -> list[float]:
        return [sum(up[token] for token in ids) / len(ids) for ids in completion_ids]

    monkeypatch.setattr(grpo, "to_trl_reward", lambda rewarder: rewarded)


def test_what_is_rewarded_becomes_more_probable(
    tiny: Path, dataset: Path, tmp_path: Path, upward: None
) -> None:
    options = {"steps": 14, "answers": 8, "kl": 0.0, "learning_rate": 0.1, "checkpoint_steps": 100}
    run(config(tiny, dataset, tmp_path, **options))
    rewards = figures(tmp_path, "reward")
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.1


def test_prompts_computed_once_come_to_what_trl_computes(
    tiny: Path, dataset: Path, tmp_path: Path, upward: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log-probabilities, entropies and gradients of the answers in training are those of trl's own way."""
    differences: list[float] = []
    ours = JudgeGRPOTrainer._get_per_token_logps_and_entropies

    def both(self: JudgeGRPOTrainer, model: torch.nn.Module, *arguments: object, **more: object) -> object:
        own = ours(self, model, *arguments, **more)
        self.restore_attention()
        theirs = GRPOTrainer._get_per_token_logps_and_entropies(self, model, *arguments, **more)
        self.pack_attention(100)
        assert self.packed
        there = own[0] != 0
        assert there.sum() > 8
        differences.append(float((own[0] - theirs[0]).detach().abs()[there].max()))
        if own[0].requires_grad:
            differences.append(float((own[1] - theirs[1]).detach().abs()[there].max()))
            weights = [weight for weight in model.parameters() if weight.requires_grad]
            sums = (part[0][there].sum() for part in (own, theirs))
            pairs = zip(*(torch.autograd.grad(one, weights, retain_graph=True) for one in sums), strict=True)
            differences.append(max(float((one - other).abs().max()) for one, other in pairs))
        return own

    monkeypatch.setattr(JudgeGRPOTrainer, "_get_per_token_logps_and_entropies", both)
    run(config(tiny, dataset, tmp_path, steps=1))
    assert len(differences) > 3
    assert max(differences) < 1e-4


def test_groups_that_earn_the_same_are_left_out(
    tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two groups the one whose answers differ is learnt from, and it alone counts."""
    seen: list[dict[str, torch.Tensor]] = []
    learn = JudgeGRPOTrainer.compute_loss

    def spy(self: JudgeGRPOTrainer, model: object, inputs: dict[str, torch.Tensor], **more: object) -> object:
        seen.append(inputs)
        return learn(self, model, inputs, **more)

    def rewarded(completions: list[object], **_: object) -> list[float]:
        return [0.3] * 4 + [0.0, 0.1, 0.2, 0.3]

    monkeypatch.setattr(grpo, "to_trl_reward", lambda rewarder: rewarded)
    monkeypatch.setattr(JudgeGRPOTrainer, "compute_loss", spy)
    run(config(tiny, dataset, tmp_path, steps=1))
    is_trained = seen[0]["completion_mask"].sum(dim=1) > 0  # in the order in which trl shuffled them
    assert is_trained.tolist() == (seen[0]["advantages"].abs() > 1e-3).tolist()
    assert int(is_trained.sum()) == 4
    assert seen[0]["num_items_in_batch"] == seen[0]["completion_mask"].sum()
    assert entries(tmp_path)[0]["idle_groups"] == 0.5


@pytest.mark.slow
def test_killed_between_rollout_and_update(tiny: Path, dataset: Path, tmp_path: Path, upward: None) -> None:
    """F13: the same steps, no reward twice, the same weights."""
    whole, killed = (config(tiny, dataset, tmp_path / name) for name in ("whole", "killed"))
    run(whole)
    with interrupted(GRPOTrainer, "compute_loss", 3):
        run(killed)
    assert len(entries(killed.out)) == 2
    run(killed)
    assert entries(killed.out) == entries(whole.out)
    assert_same_weights(*(each.out / adapter_files.ADAPTER for each in (killed, whole)))


def test_rewards_name_their_terms_and_the_reference_stays(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    manifest = run(config(tiny, dataset, tmp_path, steps=2, weights=RewardWeights(ratio=20.0)))
    entry = entries(tmp_path)[0]
    assert entry["terms/f_score"] == entry["readable"] == entry["accusations"] == 0.0
    assert entry["terms/form"] == pytest.approx(-40.0)  # random weights write nothing that can be read
    assert entry["idle_groups"] == 1.0  # such groups teach nothing, and are counted
    assert manifest["config"]["ratio"] == 20.0
    assert manifest["base"]["sha256"] == base_models.weights_sha256(tiny)
    stored = load_file(tmp_path / adapter_files.ADAPTER)
    assert not [name for name in stored if "ref" in name.split(".")]
