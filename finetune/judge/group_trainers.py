"""trl's trainers of groups of answers: a prompt is computed once for all of them, idle groups are left out.

Both is what trl does not do. Where attention is not `detector.engines.packed`, or several processes learn
together, trl draws and scores answers by its own ways, prompts over again for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer, RLOOTrainer

from finetune.policy.sampling import sample
from finetune.policy.token_scores import inner, pack_if_faithful, score_tokens

LEVEL = 1e-3
"""Advantages of a group whose rewards differ are spread by about 1, those of equal rewards by rounding."""


class SharesPrompts:
    """Answers of a group drawn and scored with their prompt computed once. Mixed into a trainer of trl."""

    shares = False
    own_attention: str

    def share_prompts(self: Any, longest: int) -> None:
        """Do so from now on, for up to `longest` tokens with the answer, where it computes what trl does."""
        self.own_attention = inner(self.model).config._attn_implementation
        if self.accelerator.num_processes == 1 and self.args.temperature == 1:
            self.shares = pack_if_faithful(self.model, longest)

    def stop_sharing(self: Any) -> None:
        """Leave the model as it was."""
        if self.shares:
            inner(self.model).set_attn_implementation(self.own_attention)

    def drawn(self: Any, prompt_ids: Sequence[Sequence[int]]) -> list[list[int]]:
        """Token ids of an answer to each prompt, which stand together by groups; chance is torch's."""
        n = self.num_generations
        prompts = [list(prompt_ids[place]) for place in range(0, len(prompt_ids), n)]
        if any(list(ids) != prompts[place // n] for place, ids in enumerate(prompt_ids)):
            raise ValueError("prompts of a group do not stand together")
        generator = torch.Generator().manual_seed(int(torch.randint(2**62, (1,))))
        with self.accelerator.autocast():
            found = sample(
                self.accelerator.unwrap_model(self.model_wrapped),
                prompts,
                n,
                max_new_tokens=self.max_completion_length,
                temperature=1.0,
                stop_ids=self.eos_token_ids,
                generator=generator,
            )
        return [list(answer.ids) for group in found for answer in group]

    def _get_per_token_logps_and_entropies(
        self: Any,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        *more: Any,
        **named: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        """trl's: log-probabilities and entropies in nats, (answers, tokens), 0 where no token is."""
        if not self.shares:
            found: tuple[torch.Tensor, torch.Tensor | None, None] = (
                super()._get_per_token_logps_and_entropies(  # type: ignore[misc]
                    model, input_ids, attention_mask, logits_to_keep, *more, **named
                )
            )
            return found
        there = attention_mask.bool()
        answered = there[:, -logits_to_keep:]
        rows = answered.any(dim=1).nonzero()[:, 0].tolist()
        prompts = [input_ids[row, :-logits_to_keep][there[row, :-logits_to_keep]].tolist() for row in rows]
        answers = [input_ids[row, -logits_to_keep:][answered[row]].tolist() for row in rows]
        entropies = input_ids.new_zeros(answered.shape, dtype=torch.float32)
        learning = [weight for weight in model.parameters() if weight.requires_grad]
        logps = entropies + sum(0 * weight.sum() for weight in learning[:1])  # a gradient even of no rows
        if rows:
            with self.accelerator.autocast():
                scores = score_tokens(model, prompts, answers)
            logps = logps.masked_scatter(answered, scores.logprobs)
            entropies = entropies.masked_scatter(answered, scores.entropies)
        return logps, entropies, None


class Grpo(SharesPrompts, GRPOTrainer):  # type: ignore[misc]
    """Learns from groups whose answers earn differently; the others are taken out of a step's loss, its
    divergence and its denominator (trl counts them, as ``frac_reward_zero_std``, and keeps them in)."""

    def _generate_single_turn(self, prompt_ids: Any, *more: Any, **named: Any) -> tuple[Any, Any]:
        if self.shares and not self.use_vllm:
            return self.drawn(prompt_ids), None
        answers: tuple[Any, Any] = super()._generate_single_turn(prompt_ids, *more, **named)
        return answers

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        mask = varied(output["advantages"], self.num_generations)[:, None] * output["completion_mask"]
        counted = self.accelerator.gather(mask.sum()).sum()
        return {**output, "completion_mask": mask, "num_items_in_batch": counted}


class Rloo(SharesPrompts, RLOOTrainer):  # type: ignore[misc]
    """Idle groups stay: here the advantage is all that moves weights, and theirs is 0."""

    def _generate_single_turn(self, prompt_ids: Any, *more: Any, **named: Any) -> Any:
        if self.shares and not self.use_vllm:
            return self.drawn(prompt_ids)
        return super()._generate_single_turn(prompt_ids, *more, **named)


def varied(advantages: torch.Tensor, answers: int) -> torch.Tensor:
    """Which answers are of a group whose rewards differ: 0 or 1, of shape (groups times `answers`,)."""
    groups = advantages.view(-1, answers)
    spread = groups.max(dim=1).values - groups.min(dim=1).values
    return (spread > LEVEL).int().repeat_interleave(answers)
