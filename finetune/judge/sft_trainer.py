"""trl's SFT trainer for the judge: readings that are taught, and an evaluation that answers questions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from torch.nn.functional import cross_entropy
from trl import SFTTrainer

from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.reading import format_reading, parse_reading
from dialint.eval.labelled import LabelledQuestion, target_reading
from dialint.eval.matching import reading_figures
from dialint.finetune.rl.logprobs import select_head_inputs
from dialint.finetune.train.distributed import whole_weights

MIN_ANSWER_TOKENS = 64


def tokenize_questions(
    questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> list[dict[str, list[int]]]:
    """For each question, the token ids of the prompt with the answer, and the labels (-100 for the
    prompt)."""
    rows = []
    for item in questions:
        ids = prompt.of_chat(item.question.messages)
        answer = prompt.answer_ids(format_reading(target_reading(item)))
        rows.append({"input_ids": [*ids, *answer], "labels": [-100] * len(ids) + answer})
    return rows


class JudgeSFTTrainer(SFTTrainer):  # type: ignore[misc]
    """trl's trainer. The head computes the tokens of answers only: trl computes all of them on a CPU, which
    took half as long again with the small decoder (2026-11-28). The evaluation answers questions besides."""

    answer_tokens: float
    """Tokens of an answer on average."""
    judge: LocalJudge
    dev_questions: Sequence[LabelledQuestion]
    """What the judge, which is the model, answers at each evaluation."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Sum of the losses of the labelled tokens over what a step has of them on average, so that a token
        weighs the same in every step; their mean in evaluation.

        trl divides by the step's own tokens: in a small step of short answers, which are those without an
        error, the token that decides about the first error would weigh many times what it does beside long
        ones.
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
        """Log and return the loss of the dev rows, and the figures of the answers to the dev questions."""
        metrics: dict[str, float] = super().evaluate(*args, metric_key_prefix=metric_key_prefix, **kwargs)
        with whole_weights(self) if self.dev_questions else nullcontext():
            figures = evaluate_answers(self.judge, self.dev_questions)
        answered = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(answered)
        return metrics | answered


def evaluate_answers(judge: LocalJudge, questions: Sequence[LabelledQuestion]) -> dict[str, float]:
    """The `reading_figures` of the judge's answers, greedy and at most twice as long as the longest right
    one; nothing of no questions."""
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
