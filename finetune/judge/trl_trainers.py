"""trl's trainers with private methods overridden, written for trl 1.16.

GRPO computes each prompt once for its group of answers. DPO takes token ids as they are: trl would render
each answer by the chat template again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from trl import DPOTrainer, GRPOTrainer

from dialint.finetune.rl.logprobs import compute_logprobs, enable_packed_attention
from dialint.finetune.rl.sampling import sample
from dialint.finetune.train.adapters import unwrap
from dialint.finetune.train.distributed import whole_weights

EQUAL_ADVANTAGES = 1e-5
"""Range of advantages up to which the rewards of a group are equal: rounding alone, as advantages of a step
have a standard deviation of about 1."""


class JudgeGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """Samples and scores answers by our own methods.

    Trains on groups of different rewards; the others are removed from a step's loss, its KL divergence and
    its denominator, and counted as ``idle_groups``.
    """

    packed = False

    def pack_attention(self, longest: int) -> None:
        """Score a prompt once for all of its answers, up to `longest` tokens with the answer, in one
        process."""
        self._attention = unwrap(self.model).config._attn_implementation
        if self.accelerator.num_processes == 1:
            self.packed = enable_packed_attention(self.model, longest)

    def restore_attention(self) -> None:
        """Restore the model's own attention."""
        if self.packed:
            unwrap(self.model).set_attn_implementation(self._attention)

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        """As trl's: log-probabilities and entropies in nats, shape (answers, tokens), 0 for padding."""
        is_token = attention_mask.bool()
        is_answer = is_token[:, -logits_to_keep:]
        rows = is_answer.any(dim=1).nonzero()[:, 0].tolist()
        split = [(ids[:-logits_to_keep], ids[-logits_to_keep:]) for ids in input_ids]
        prompts = [tuple(split[row][0][is_token[row, :-logits_to_keep]].tolist()) for row in rows]
        answers = [split[row][1][is_answer[row]].tolist() for row in rows]
        zeros = input_ids.new_zeros(is_answer.shape, dtype=torch.float32)
        if not rows:  # a gradient all the same, and a pass that other processes take part in
            token = input_ids[0, :1].tolist()
            prompts, answers = [tuple(token)], [token]
        with self.accelerator.autocast():
            tokens = compute_logprobs(model, prompts, answers)
        if not rows:
            return zeros + 0 * tokens.logprobs.sum(), zeros, None
        logprobs = zeros.masked_scatter(is_answer, tokens.logprobs)
        return logprobs, zeros.masked_scatter(is_answer, tokens.entropies), None

    def _generate_single_turn(
        self, prompt_ids: Sequence[Sequence[int]], *args: Any, **kwargs: Any
    ) -> tuple[list[list[int]], None]:
        """Token ids of an answer to each prompt; prompts of a group are adjacent. torch's global generator
        determines the answers."""
        n = self.num_generations
        prompts = [tuple(prompt_ids[start]) for start in range(0, len(prompt_ids), n)]
        if any(tuple(ids) != prompts[index // n] for index, ids in enumerate(prompt_ids)):
            raise ValueError("prompts of a group are not adjacent")
        with whole_weights(self), self.accelerator.autocast():
            answers = sample(
                self.accelerator.unwrap_model(self.model_wrapped),
                prompts,
                n,
                max_new_tokens=self.max_completion_length,
                stop_ids=self.eos_token_ids,
                seed=int(torch.randint(2**62, (1,))),
            )
        return [list(answer) for group in answers for answer in group], None

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        groups = output["advantages"].view(-1, self.num_generations)
        spread = groups.max(dim=1).values - groups.min(dim=1).values
        varied = (spread > EQUAL_ADVANTAGES).int().repeat_interleave(self.num_generations)
        all_varied = self.accelerator.gather(varied.float())
        self._metrics["train"]["idle_groups"].append(1 - float(all_varied.mean()))
        mask = varied[:, None] * output["completion_mask"]
        n_tokens = self.accelerator.gather(mask.sum()).sum()
        return {**output, "completion_mask": mask, "num_items_in_batch": n_tokens}


class JudgeDPOTrainer(DPOTrainer):  # type: ignore[misc]
    """Rows have ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``, which are taken as they are."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset
