"""trl's SFT trainer for the judge: packed questions, weighted examples, evaluation of its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge import VERDICTS, answer_json
from dialint.eval.metrics import average_precision
from dialint.eval.questions import LabelledQuestion, target_answer
from dialint.finetune.rl.logprobs import enable_packed_attention


def tokenize_questions(questions: Sequence[LabelledQuestion], prompt: JudgePrompt) -> list[dict[str, Any]]:
    """For each question, the token ids of the prompt with the answer, the labels (-100 for the prompt), its
    weight, and whether its dialogue was cut."""
    rows = []
    for item in questions:
        rendered = prompt.build(item.question, item.code)
        answer = prompt.answer_ids(answer_json(target_answer(item)))
        rows.append(
            {
                "input_ids": [*rendered.ids, *answer],
                "labels": [-100] * len(rendered.ids) + answer,
                "weight": item.weight,
                "cut": rendered.cut,
            }
        )
    return rows


@dataclass
class WeightedCollator(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """trl's collator, with the weight of each token."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super().torch_call(examples)
        rows = [torch.full((len(example["input_ids"]),), float(example["weight"])) for example in examples]
        if self.padding_free:
            output["token_weights"] = torch.cat(rows)[None]
        else:
            output["token_weights"] = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return output


class JudgeSFTTrainer(SFTTrainer):  # type: ignore[misc]
    """trl's trainer, with weighted tokens and an evaluation of its own."""

    judge: LocalJudge
    dev_questions: Sequence[LabelledQuestion]

    @classmethod
    def create(
        cls,
        model: Any,
        arguments: SFTConfig,
        prompt: JudgePrompt,
        rows: Sequence[dict[str, Any]],
        dev_questions: Sequence[LabelledQuestion],
        *,
        packed: bool,
        bf16: bool,
    ) -> JudgeSFTTrainer:
        """A trainer of `model` on `rows`; `packed` lays the questions of a batch end to end where the model's
        attention allows it."""
        packed = packed and enable_packed_attention(model, max(len(row["input_ids"]) for row in rows))
        trainer = cls(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(list(rows)),
            eval_dataset=Dataset.from_list(list(rows[:1])),
            processing_class=prompt.tokenizer,
            data_collator=WeightedCollator(pad_token_id=prompt.tokenizer.pad_token_id, padding_free=packed),
        )
        trainer.judge = LocalJudge(trainer.model, prompt, bf16=bf16)
        trainer.dev_questions = dev_questions
        return trainer

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Mean weighted loss of the labelled tokens; in a packed row they alone go through the language model
        head."""
        labels, weights = inputs.pop("labels")[:, 1:], inputs.pop("token_weights")[:, 1:]
        is_target = labels != -100
        if len(labels) == 1:
            outputs = model(**inputs, logits_to_keep=is_target[0].nonzero()[:, 0], use_cache=False)
            logits = outputs.logits[0]
        else:
            outputs = model(**inputs, use_cache=False)
            logits = outputs.logits[:, :-1][is_target]
        losses = cross_entropy(logits.float(), labels[is_target], reduction="none")
        count = is_target.sum() if num_items_in_batch is None else num_items_in_batch
        loss = (losses * weights[is_target].to(losses)).sum() / count
        if self.args.average_tokens_across_devices and num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["token_accuracy"].append(
            float((logits.argmax(-1) == labels[is_target]).float().mean())
        )
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Log and return the figures of `evaluate_probabilities` on the dev questions."""
        figures = evaluate_probabilities(self.judge, self.dev_questions)
        metrics = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


def evaluate_probabilities(judge: LocalJudge, questions: Sequence[LabelledQuestion]) -> dict[str, float]:
    """Log loss and Brier score of the judge's probabilities of an error against the labels' probabilities,
    and average precision if there is an error."""
    prompts = [judge.prompt.ids(item.question, item.code) for item in questions]
    predicted = judge.beliefs(prompts)[:, VERDICTS.index("error")]
    target = np.array([item.probability for item in questions])
    clipped = np.clip(predicted, 1e-6, 1 - 1e-6)
    figures = {
        "log_loss": float(-(target * np.log(clipped) + (1 - target) * np.log(1 - clipped)).mean()),
        "brier": float(((predicted - target) ** 2).mean()),
    }
    if (target > 0.5).any():
        figures["ap"] = float(average_precision(target > 0.5, predicted))
    return figures
