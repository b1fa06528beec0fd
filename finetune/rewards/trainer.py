"""trl's reward trainer with pairs that are as sure as people agree, and a look at held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch.nn.functional import logsigmoid
from trl import RewardConfig, RewardTrainer
from trl.trainer.reward_trainer import DataCollatorForPreference

from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.statistics import bootstrap_counts, grouped_sum, percentile_interval, ratio
from dialint.eval.metrics import Floats, Truth, calibration_error
from dialint.finetune.rewards.pairs import Pair

BATCH = 32


def rows_of(pairs: Sequence[Pair], prompt: JudgePrompt) -> list[dict[str, Any]]:
    """Token ids of both sides, the question before each, and how many agree."""
    rows = []
    for pair in pairs:
        question = prompt.ids(pair.question, pair.code)
        rows.append(
            {
                "chosen_ids": [*question, *prompt.answer_ids(pair.chosen)],
                "rejected_ids": [*question, *prompt.answer_ids(pair.rejected)],
                "agreement": pair.agreement,
            }
        )
    return rows


@dataclass
class Collator(DataCollatorForPreference):  # type: ignore[misc]
    """trl's, with each pair's agreement."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super().torch_call(examples)
        output["agreement"] = torch.tensor([example["agreement"] for example in examples])
        return output


class PairTrainer(RewardTrainer):  # type: ignore[misc]
    """Learns which answer people prefer."""

    prompt: JudgePrompt
    check: list[dict[str, Any]]

    @classmethod
    def of(
        cls,
        model: Any,
        arguments: RewardConfig,
        prompt: JudgePrompt,
        learn: list[dict[str, Any]],
        check: list[dict[str, Any]],
    ) -> PairTrainer:
        """The trainer of `model` on the rows `learn`; it looks at `check`."""
        pad = prompt.tokenizer.pad_token_id
        trainer = cls(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(learn),
            eval_dataset=Dataset.from_list(check[:1]),
            processing_class=prompt.tokenizer,
            data_collator=Collator(pad_token_id=pad),
        )
        trainer.prompt, trainer.check = prompt, check
        return trainer

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Cross-entropy of "the first is preferred" against the share of people who say so.

        Source: Bradley and Terry 1952; soft targets as in Mitchell 2023, "A note on DPO with noisy
        preferences".
        """
        agreement = inputs.pop("agreement")
        outputs = model(**inputs, use_cache=False)
        first, second = torch.chunk(outputs.logits.squeeze(-1).float(), 2)
        ahead = first - second
        loss = -(agreement * logsigmoid(ahead) + (1 - agreement) * logsigmoid(-ahead)).mean()
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["accuracy"].append(float((ahead > 0).float().mean()))
        self._metrics[mode]["margin"].append(float(ahead.detach().mean()))
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Accuracy, log loss and calibration on held-out pairs."""
        figures = figures_of(self.model, self.check, self.prompt.tokenizer.pad_token_id)
        told = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(told)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, told)
        return told


def figures_of(model: Any, rows: Sequence[dict[str, Any]], pad: int) -> dict[str, float]:
    """Of pairs: accuracy, log loss against agreement, calibration error of "the first is preferred" seen from
    both sides, and mean and spread of all scores."""
    return _figures(*_sides(model, rows, pad), np.array([row["agreement"] for row in rows]))


def held_out(
    model: Any,
    prompt: JudgePrompt,
    learn: Sequence[Pair],
    check: Sequence[Pair],
    rows: Sequence[dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Figures of held-out pairs by their origin; `rows` are those of `check`. Beside the model's accuracy,
    each with its interval, stand `answer_only`, what can be had without the question, and `other_question`,
    what is left where the model is asked about another dialogue of the same code."""
    pad = prompt.tokenizer.pad_token_id
    blind = answer_only(learn, check)
    found = {}
    for origin in ("reviewer", "label", "form"):
        places = [place for place, pair in enumerate(check) if pair.origin == origin]
        if not places:
            continue
        pairs = [check[place] for place in places]
        own = [rows[place] for place in places]
        first, second = _sides(model, own, pad)
        others = rows_of(_asked_of_others(pairs), prompt)
        swapped = np.subtract(*_sides(model, others, pad))
        found[origin] = {
            "pairs": len(pairs),
            **_figures(first, second, np.array([row["agreement"] for row in own])),
            **share_right(first - second, pairs),
            "answer_only": share_right(blind[places], pairs),
            "other_question": share_right(swapped, pairs),
        }
    return found


def _asked_of_others(pairs: Sequence[Pair]) -> list[Pair]:
    """The same answers, each pair's to the question of the next one of its code."""
    of_code: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        of_code.setdefault(pair.code.code, []).append(place)
    moved = list(pairs)
    for places in of_code.values():
        for place, other in zip(places, [*places[1:], places[0]], strict=True):
            moved[place] = replace(pairs[place], question=pairs[other].question)
    return moved


def _sides(model: Any, rows: Sequence[dict[str, Any]], pad: int) -> tuple[np.ndarray, np.ndarray]:
    first = scores(model, [row["chosen_ids"] for row in rows], pad)
    return first, scores(model, [row["rejected_ids"] for row in rows], pad)


def _figures(first: np.ndarray, second: np.ndarray, agreement: np.ndarray) -> dict[str, float]:
    ahead = first - second
    sure = 1 / (1 + np.exp(-ahead))
    kept = np.clip(sure, 1e-6, 1 - 1e-6)
    both = np.concatenate((sure, 1 - sure))
    truth = np.concatenate((np.ones(len(sure), bool), np.zeros(len(sure), bool)))
    return {
        "accuracy": float((ahead > 0).mean()),
        "log_loss": float(-(agreement * np.log(kept) + (1 - agreement) * np.log(1 - kept)).mean()),
        "calibration_error": float(calibration_error(truth, both)),
        "mean_agreement": float(agreement.mean()),
        "mean_score": float(np.mean((first, second))),
        "score_spread": float(np.std((first, second))),
    }


def scores(model: Any, rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    """The reward of each row of token ids, shape (rows,), without gradients; of equal ones computed once."""
    distinct = list(dict.fromkeys(map(tuple, rows)))
    place_of = {row: place for place, row in enumerate(distinct)}
    return _scores(model, distinct, pad)[[place_of[tuple(row)] for row in rows]]


def _scores(model: Any, rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    training = model.training
    model.eval()
    device = next(iter(model.parameters())).device
    found = np.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    half = any(weight.dtype == torch.bfloat16 for weight in model.parameters())
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=half):
        for start in range(0, len(rows), BATCH):
            places = order[start : start + BATCH]
            size = max(len(rows[place]) for place in places)
            ids = [[*rows[place], *[pad] * (size - len(rows[place]))] for place in places]
            mask = [[1] * len(rows[place]) + [0] * (size - len(rows[place])) for place in places]
            output = model(
                input_ids=torch.tensor(ids, device=device),
                attention_mask=torch.tensor(mask, device=device),
                use_cache=False,
            )
            found[places] = output.logits[:, 0].float().cpu().numpy()
    model.train(training)
    return found


def answer_only(learn: Sequence[Pair], check: Sequence[Pair], seed: int = 0) -> Floats:
    """How far ahead the preferred answer of each pair of `check` is, shape (pairs,), for somebody who learnt
    from the answers of `learn` alone."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    words = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", binary=True, min_df=2)
    try:
        words.fit(text for pair in learn for text in (pair.chosen, pair.rejected))
    except ValueError:  # no word stands in two answers
        return np.zeros(len(check))

    def ahead(pairs: Sequence[Pair]) -> Any:
        return words.transform([p.chosen for p in pairs]) - words.transform([p.rejected for p in pairs])

    sign = np.random.default_rng(seed).choice((-1, 1), len(learn))
    sign[:2] = (1, -1)  # both sides, however few pairs
    if len(learn) < 2:
        return np.zeros(len(check))
    model = LogisticRegression(fit_intercept=False, max_iter=500)
    model.fit(ahead(learn).multiply(sign[:, None]).tocsr(), sign)
    return np.asarray(model.decision_function(ahead(check)), float)


def share_right(ahead: Floats, pairs: Sequence[Pair], rounds: int = 1000) -> dict[str, Any]:
    """The share of `pairs` whose preferred answer is ahead, equals a half, with its 95 % interval by source
    dialogue."""
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(pair.source, len(numbers)) for pair in pairs], np.int64)
    counts = bootstrap_counts(len(numbers), rounds)
    right = (ahead > 0) + 0.5 * (ahead == 0)
    some: Truth = np.ones(len(pairs), bool)
    low, high = percentile_interval(
        values := ratio(grouped_sum(counts, right, groups), grouped_sum(counts, some, groups))
    )
    return {"accuracy": round(float(values[0]), 4), "accuracy_95": [round(low, 4), round(high, 4)]}
