"""Overrides of trl's trainers: verbatim quotes, and each prompt computed once for its group of answers.

In a quote an answer can only hold what the turn does (`detector.engines.quote_constraint`), as where it is
served. Where vLLM draws, or the model is cut up among processes, trl does it by its own ways and holds no
quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from trl import DPOTrainer, GRPOTrainer, KTOTrainer, RLOOTrainer

from dialint.detector.engines.quote_constraint import QuoteConstraint, TokenSpellings
from dialint.finetune.policy.logprobs import compute_logprobs, enable_packed_attention, unwrap
from dialint.finetune.policy.sampling import sample

EQUAL_ADVANTAGES = 1e-5
"""Advantages of a step are spread by about 1; those of a group of equal rewards by rounding alone."""


class SamplingMixin:
    """Draws and scores answers; mixed into a trainer of trl. A row of its data set has the ``turn`` that its
    prompt asks about."""

    own = False
    packed = False

    def take_over(self: Any, longest: int) -> None:
        """From now on, for up to `longest` tokens with the answer; not where the model is cut up."""
        cut_up = self.is_fsdp_enabled or self.is_deepspeed_enabled
        self.own = not (cut_up or self.use_vllm)
        self._verbatim = TokenSpellings(self.processing_class)
        self._quotes: dict[tuple[int, ...], QuoteConstraint] = {}
        self._attention = unwrap(self.model).config._attn_implementation
        if self.own and self.accelerator.num_processes == 1:
            self.packed = enable_packed_attention(self.model, longest)

    def hand_back(self: Any) -> None:
        """Leave the model as it was."""
        if self.packed:
            unwrap(self.model).set_attn_implementation(self._attention)

    def drawn(self: Any, prompt_ids: Sequence[Sequence[int]]) -> list[list[int]]:
        """Token ids of an answer to each prompt, which stand together by groups; chance is torch's."""
        n = self.num_generations
        prompts = [tuple(prompt_ids[place]) for place in range(0, len(prompt_ids), n)]
        if any(tuple(ids) != prompts[place // n] for place, ids in enumerate(prompt_ids)):
            raise ValueError("prompts of a group do not stand together")
        self._quotes = {
            ids: self._verbatim.of(turn) for ids, turn in zip(prompts, self._turns[::n], strict=True)
        }
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
                allowed=[self._quotes[ids] for ids in prompts],
            )
        return [list(answer.ids) for group in found for answer in group]

    def _generate_and_score_completions(self: Any, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._turns = [row["turn"] for row in inputs]
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        return output

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
        if not self.own:
            found: tuple[torch.Tensor, torch.Tensor | None, None] = (
                super()._get_per_token_logps_and_entropies(  # type: ignore[misc]
                    model, input_ids, attention_mask, logits_to_keep, *more, **named
                )
            )
            return found
        there = attention_mask.bool()
        answered = there[:, -logits_to_keep:]
        rows = answered.any(dim=1).nonzero()[:, 0].tolist()
        cut = [(ids[:-logits_to_keep], ids[-logits_to_keep:]) for ids in input_ids]
        prompts = [tuple(cut[row][0][there[row, :-logits_to_keep]].tolist()) for row in rows]
        answers = [cut[row][1][answered[row]].tolist() for row in rows]
        entropies = input_ids.new_zeros(answered.shape, dtype=torch.float32)
        learning = [weight for weight in model.parameters() if weight.requires_grad]
        logps = entropies + sum(0 * weight.sum() for weight in learning[:1])  # a gradient even of no rows
        if rows:
            with self.accelerator.autocast():
                scores = compute_logprobs(model, prompts, answers, [self._quotes[ids] for ids in prompts])
            logps = logps.masked_scatter(answered, scores.logprobs)
            entropies = entropies.masked_scatter(answered, scores.entropies)
        return logps, entropies, None


class JudgeGRPOTrainer(SamplingMixin, GRPOTrainer):  # type: ignore[misc]
    """Learns from groups whose answers earn differently; the others are taken out of a step's loss, its
    divergence and its denominator, and counted as ``idle_groups``."""

    def _generate_single_turn(self, prompt_ids: Any, *more: Any, **named: Any) -> tuple[Any, Any]:
        if self.own:
            return self.drawn(prompt_ids), None
        answers: tuple[Any, Any] = super()._generate_single_turn(prompt_ids, *more, **named)
        return answers

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        learnt = mask_varied_groups(output["advantages"], self.num_generations)
        everywhere = self.accelerator.gather(learnt.float())
        self._metrics["train"]["idle_groups"].append(1 - float(everywhere.mean()))
        mask = learnt[:, None] * output["completion_mask"]
        counted = self.accelerator.gather(mask.sum()).sum()
        return {**output, "completion_mask": mask, "num_items_in_batch": counted}


class JudgeRLOOTrainer(SamplingMixin, RLOOTrainer):  # type: ignore[misc]
    """Idle groups stay: here the advantage is all that moves weights, and theirs is 0."""

    def _generate_single_turn(self, prompt_ids: Any, *more: Any, **named: Any) -> Any:
        if self.own:
            return self.drawn(prompt_ids)
        return super()._generate_single_turn(prompt_ids, *more, **named)


def mask_varied_groups(advantages: torch.Tensor, answers: int) -> torch.Tensor:
    """Which answers are of a group whose rewards differ: 0 or 1, of shape (groups times `answers`,)."""
    groups = advantages.view(-1, answers)
    spread = groups.max(dim=1).values - groups.min(dim=1).values
    return (spread > EQUAL_ADVANTAGES).int().repeat_interleave(answers)


class PretokenizedMixin:
    """Takes a data set's token ids as they are; mixed into a trainer of trl."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset


class JudgeDPOTrainer(PretokenizedMixin, DPOTrainer):  # type: ignore[misc]
    """Rows have ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``."""


class JudgeKTOTrainer(PretokenizedMixin, KTOTrainer):  # type: ignore[misc]
    """Rows have ``prompt_ids``, ``completion_ids``, ``KL_completion_ids`` and ``label``."""
