"""trl's trainers for the judge, with some private methods overridden, written for trl 1.16.

SFT also answers questions in its evaluation. GRPO computes each prompt once for its group of answers. DPO
takes token ids: trl would render each answer by the chat template again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from trl import DPOTrainer, GRPOTrainer, SFTTrainer

from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.reading import format_reading, parse_reading
from dialint.eval.labelled import LabelledQuestion, reading_figures, target_reading
from dialint.finetune.rl.answers import compute_logprobs, enable_packed_attention, sample, select_head_inputs
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
        """Scores a prompt once for all of its answers, up to `longest` tokens with the answer, if there is
        one process."""
        self._attention = unwrap(self.model).config._attn_implementation
        if self.accelerator.num_processes == 1:
            self.packed = enable_packed_attention(self.model, longest)

    def restore_attention(self) -> None:
        """Restores the model's own attention."""
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
        """Returns, as trl's, log-probabilities and entropies in nats, shape (answers, tokens), 0 for
        padding."""
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
        """Samples token ids of an answer to each prompt; prompts of a group are adjacent. torch's global
        generator determines the answers."""
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
    """Trains on rows of ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset


MIN_ANSWER_TOKENS = 64


def tokenize_questions(
    questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> list[dict[str, list[int]]]:
    """Returns for each question the token ids of the prompt with the answer, and the labels (-100 for the
    prompt)."""
    rows = []
    for item in questions:
        ids = prompt.of_chat(item.question.messages)
        answer = prompt.answer_ids(format_reading(target_reading(item)))
        rows.append({"input_ids": [*ids, *answer], "labels": [-100] * len(ids) + answer})
    return rows


class JudgeSFTTrainer(SFTTrainer):  # type: ignore[misc]
    """trl's trainer, with the head on the tokens of answers only: trl computes all of them on a CPU, which
    took half as long again with the small decoder (2026-11-28). The evaluation answers questions too."""

    answer_tokens: float
    """Mean number of tokens of an answer."""
    judge: LocalJudge
    dev_questions: Sequence[LabelledQuestion]
    """Questions that the judge, which is the model, answers at each evaluation."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Computes the sum of the losses of the labelled tokens over their mean number in a step, so that a
        token has the same weight in every step; their mean in evaluation.

        trl divides by the step's own tokens: in a small step of short answers, which are those without an
        error, the token that decides about the first error would have many times its weight beside long ones.
        """
        labels = inputs.pop("labels")[:, 1:]
        rows, columns = (labels != -100).nonzero(as_tuple=True)
        with select_head_inputs(model, rows, columns):
            outputs = model(**inputs, use_cache=False)
        total = cross_entropy(outputs.logits[0].float(), labels[rows, columns], reduction="sum")
        if model.training:
            step = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
            questions = len(labels) if num_items_in_batch is None else step
            loss = total / (questions * self.answer_tokens)
        else:
            loss = total / len(rows)
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        """Logs and returns the loss of the dev rows, and the figures of the answers to the dev questions."""
        metrics: dict[str, float] = super().evaluate(*args, metric_key_prefix=metric_key_prefix, **kwargs)
        with whole_weights(self) if self.dev_questions else nullcontext():
            figures = evaluate_answers(self.judge, self.dev_questions)
        answered = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(answered)
        return metrics | answered


def evaluate_answers(judge: LocalJudge, questions: Sequence[LabelledQuestion]) -> dict[str, float]:
    """Computes the `reading_figures` of the judge's answers, greedy and at most twice as long as the longest
    target; empty without questions."""
    if not questions:
        return {}
    longest = max(len(judge.prompt.answer_ids(format_reading(target_reading(item)))) for item in questions)
    requests = [
        JudgeRequest(
            dialogue_id=item.source,
            messages=item.question.messages,
            schema=item.question.schema,
            max_tokens=max(MIN_ANSWER_TOKENS, 2 * longest),
            answers=1,
        )
        for item in questions
    ]
    readings = [
        parse_reading(reply.text, item.question)
        for reply, item in zip(judge.ask(requests), questions, strict=True)
    ]
    return reading_figures(readings, questions)
