"""trl's SFT trainer for the judge: readings that are taught, and an evaluation that answers questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.reading import format_reading, parse_reading
from dialint.eval.labelled import LabelledQuestion, target_reading
from dialint.eval.matching import reading_figures
from dialint.finetune.rl.logprobs import enable_packed_attention

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
    """trl's trainer; its evaluation answers questions besides computing the loss."""

    judge: LocalJudge
    dev_questions: Sequence[LabelledQuestion]

    @classmethod
    def create(
        cls,
        model: Any,
        arguments: SFTConfig,
        prompt: JudgePrompt,
        rows: Sequence[dict[str, Any]],
        dev_rows: Sequence[dict[str, Any]],
        dev_questions: Sequence[LabelledQuestion],
        *,
        bf16: bool,
    ) -> JudgeSFTTrainer:
        """A trainer of `model` on `rows`, which computes the loss of `dev_rows` and answers `dev_questions`;
        it lays the rows of a batch end to end where the model's attention allows it."""
        packed = enable_packed_attention(model, max(len(row["input_ids"]) for row in (*rows, *dev_rows)))
        trainer = cls(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(list(rows)),
            eval_dataset=Dataset.from_list(list(dev_rows)),
            processing_class=prompt.tokenizer,
            data_collator=DataCollatorForLanguageModeling(
                pad_token_id=prompt.tokenizer.pad_token_id, padding_free=packed
            ),
        )
        trainer.judge = LocalJudge(trainer.model, prompt, bf16=bf16)
        is_sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
        trainer.dev_questions = () if is_sharded else dev_questions  # a shard cannot generate
        return trainer

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        """Log and return the loss of the dev rows, and the figures of the answers to the dev questions."""
        metrics: dict[str, float] = super().evaluate(*args, metric_key_prefix=metric_key_prefix, **kwargs)
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
