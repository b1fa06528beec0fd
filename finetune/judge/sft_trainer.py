"""trl's trainer with what the judge needs: no padding, weights of examples, looks at its verdicts."""

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
from dialint.finetune.policy.logprobs import enable_packed_attention, unwrap
from dialint.finetune.scanner.losses import embedding_noise


def tokenize_questions(asked: Sequence[LabelledQuestion], prompt: JudgePrompt) -> list[dict[str, Any]]:
    """Token ids, wanted ids (those of the prompt are not wanted) and weight of each question with its
    answer, and whether its dialogue was cut."""
    rows = []
    for item in asked:
        asked_as = prompt.asking(item.question, item.code)
        answer = prompt.answer_ids(answer_json(target_answer(item)))
        labels = [-100] * len(asked_as.ids) + answer
        row = {"input_ids": [*asked_as.ids, *answer], "labels": labels, "weight": item.weight}
        rows.append({**row, "cut": asked_as.cut})
    return rows


@dataclass
class WeightedCollator(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """trl's, with each token's weight beside its label."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super().torch_call(examples)
        rows = [torch.full((len(example["input_ids"]),), float(example["weight"])) for example in examples]
        if self.padding_free:
            output["token_weights"] = torch.cat(rows)[None]
        else:
            output["token_weights"] = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return output


class JudgeSFTTrainer(SFTTrainer):  # type: ignore[misc]
    """Learns answers; looks at verdicts."""

    judge: LocalJudge
    check: Sequence[LabelledQuestion]
    neftune: float

    @classmethod
    def of(
        cls,
        model: Any,
        arguments: SFTConfig,
        prompt: JudgePrompt,
        rows: Sequence[dict[str, Any]],
        check: Sequence[LabelledQuestion],
        *,
        packed: bool,
        bf16: bool,
        neftune: float = 0.0,
    ) -> JudgeSFTTrainer:
        """The trainer of `model` on `rows`; `packed` lays the questions of a batch end to end, where the
        model's attention can be packed. `neftune`, above 0, is noise on embeddings: transformers' own would
        take the length of the whole row."""
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
        trainer.check, trainer.neftune = check, neftune
        return trainer

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Mean loss of the wanted tokens, each with its weight; only they go through the language head where
        the questions stand in one row."""
        labels, weights = inputs.pop("labels")[:, 1:], inputs.pop("token_weights")[:, 1:]
        wanted = labels != -100
        alpha = self.neftune if model.training else 0.0
        with embedding_noise(alpha, unwrap(model).get_input_embeddings(), row_lengths(inputs)):
            if len(labels) == 1:
                outputs = model(**inputs, logits_to_keep=wanted[0].nonzero()[:, 0], use_cache=False)
                logits = outputs.logits[0]
            else:
                outputs = model(**inputs, use_cache=False)
                logits = outputs.logits[:, :-1][wanted]
        losses = cross_entropy(logits.float(), labels[wanted], reduction="none")
        count = wanted.sum() if num_items_in_batch is None else num_items_in_batch
        loss = (losses * weights[wanted].to(losses)).sum() / count
        if self.args.average_tokens_across_devices and num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["token_accuracy"].append(
            float((logits.argmax(-1) == labels[wanted]).float().mean())
        )
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """A look at the dev questions."""
        figures = evaluate_probabilities(self.judge, self.check)
        told = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(told)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, told)
        return told


def row_lengths(inputs: dict[str, Any]) -> torch.Tensor:
    """How long each token's own question with its answer is, of the shape of the ids."""
    if "cu_seq_lens_q" in inputs:
        sizes: torch.Tensor = inputs["cu_seq_lens_q"].diff()
        return sizes.repeat_interleave(sizes)[None]
    lengths: torch.Tensor = inputs["attention_mask"].sum(1, keepdim=True)
    return lengths.expand_as(inputs["input_ids"])


def evaluate_probabilities(judge: LocalJudge, check: Sequence[LabelledQuestion]) -> dict[str, float]:
    """What the judge believes of questions: log loss and Brier score against what people hold to be true, and
    average precision where there is an error."""
    prompts = [judge.prompt.ids(item.question, item.code) for item in check]
    beliefs = judge.beliefs(prompts)[:, VERDICTS.index("error")]
    truth = np.array([item.probability for item in check])
    kept = np.clip(beliefs, 1e-6, 1 - 1e-6)
    figures = {
        "log_loss": float(-(truth * np.log(kept) + (1 - truth) * np.log(1 - kept)).mean()),
        "brier": float(((beliefs - truth) ** 2).mean()),
    }
    if (truth > 0.5).any():
        figures["ap"] = float(average_precision(truth > 0.5, beliefs))
    return figures
