"""trl's GRPO without the groups that teach nothing."""

from __future__ import annotations

from typing import Any

import torch
from trl import GRPOTrainer

LEVEL = 1e-3
"""Advantages of a group whose rewards differ are spread by about 1, those of equal rewards by rounding."""


class VariedGroups(GRPOTrainer):  # type: ignore[misc]
    """Learns from groups whose answers earn differently; the others are taken out of a step's loss, its
    divergence and its denominator (trl counts them, as ``frac_reward_zero_std``, and keeps them in).

    RLOO needs nothing of the kind: there the advantage is all that moves weights.
    """

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        mask = varied(output["advantages"], self.num_generations)[:, None] * output["completion_mask"]
        counted = self.accelerator.gather(mask.sum()).sum()
        return {**output, "completion_mask": mask, "num_items_in_batch": counted}


def varied(advantages: torch.Tensor, answers: int) -> torch.Tensor:
    """Which answers are of a group whose rewards differ: 0 or 1, of shape (groups times `answers`,)."""
    groups = advantages.view(-1, answers)
    spread = groups.max(dim=1).values - groups.min(dim=1).values
    return (spread > LEVEL).int().repeat_interleave(answers)
