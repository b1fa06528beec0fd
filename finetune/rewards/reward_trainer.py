"""The trainer of a reward model, and its evaluation on held-out pairs.

A pair's target is the share of people who agree with it. Accuracy on held-out pairs is reported beside that
of a bag-of-words model of the answers alone: the difference comes from reading the dialogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import logsigmoid
from trl import RewardTrainer
from trl.trainer.reward_trainer import DataCollatorForPreference

from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.statistics import (
    Bools,
    Floats,
    bootstrap_counts,
    grouped_sum,
    percentile_interval,
    ratio,
)
from dialint.eval.figures import calibration_errors
from dialint.finetune.rewards.pairs import PreferencePair
from dialint.finetune.rewards.reward_function import score_rows
from dialint.finetune.train.distributed import whole_weights


def tokenize_pairs(pairs: Sequence[PreferencePair], prompt: JudgePrompt) -> list[dict[str, Any]]:
    """Returns for each pair the token ids of the question with each of its answers, and the agreement."""
    rows = []
    for pair in pairs:
        question = prompt.of_chat(pair.item.question.messages)
        rows.append(
            {
                "chosen_ids": [*question, *prompt.answer_ids(pair.chosen)],
                "rejected_ids": [*question, *prompt.answer_ids(pair.rejected)],
                "agreement": pair.agreement,
            }
        )
    return rows


@dataclass
class AgreementCollator(DataCollatorForPreference):  # type: ignore[misc]
    """trl's collator, with the agreement of each pair."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super().torch_call(examples)
        output["agreement"] = torch.tensor([example["agreement"] for example in examples])
        return output


class JudgeRewardTrainer(RewardTrainer):  # type: ignore[misc]
    """trl's trainer, with soft targets and an evaluation of its own."""

    dev_rows: list[dict[str, Any]]
    """The pairs of each evaluation, as of `tokenize_pairs`."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Computes the cross-entropy of "the first is preferred" against the share of people who agree.

        Source: Bradley and Terry 1952; soft targets as in Mitchell 2023, "A note on DPO with noisy
        preferences".
        """
        agreement = inputs.pop("agreement")
        outputs = model(**inputs, use_cache=False)
        chosen, rejected = torch.chunk(outputs.logits.squeeze(-1).float(), 2)
        margin = chosen - rejected
        loss = -(agreement * logsigmoid(margin) + (1 - agreement) * logsigmoid(-margin)).mean()
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["accuracy"].append(float((margin > 0).float().mean()))
        self._metrics[mode]["margin"].append(float(margin.detach().mean()))
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Logs and returns the figures of `evaluate_pairs` on the dev rows."""
        with whole_weights(self):
            figures = evaluate_pairs(self.model, self.dev_rows, self.processing_class.pad_token_id)
        metrics = {f"{metric_key_prefix}_{name}": round(value, 6) for name, value in figures.items()}
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


def evaluate_pairs(model: Any, rows: Sequence[dict[str, Any]], pad: int) -> dict[str, float]:
    """Computes accuracy on pairs, log loss against agreement, calibration error of "the first is preferred"
    over both orders, and mean and standard deviation of all scores."""
    return _figures(*_score_sides(model, rows, pad), np.array([row["agreement"] for row in rows]))


def evaluate_held_out(
    model: Any,
    pad: int,
    train_pairs: Sequence[PreferencePair],
    pairs: Sequence[PreferencePair],
    rows: Sequence[dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Computes figures of held-out pairs by origin; `rows` are those of `pairs`. ``answer_only`` has the
    accuracy of a baseline that does not see the question, with its interval."""
    baseline = answer_only_margins(train_pairs, pairs)
    results = {}
    for origin in ("reviewer", "label"):
        indices = [index for index, pair in enumerate(pairs) if pair.origin == origin]
        if not indices:
            continue
        own_pairs, own_rows = [pairs[index] for index in indices], [rows[index] for index in indices]
        chosen, rejected = _score_sides(model, own_rows, pad)
        results[origin] = {
            "pairs": len(own_pairs),
            **_figures(chosen, rejected, np.array([row["agreement"] for row in own_rows])),
            **accuracy_with_interval(chosen - rejected, own_pairs),
            "answer_only": accuracy_with_interval(baseline[indices], own_pairs),
        }
    return results


def _score_sides(model: Any, rows: Sequence[dict[str, Any]], pad: int) -> tuple[np.ndarray, np.ndarray]:
    chosen = score_rows(model, [row["chosen_ids"] for row in rows], pad)
    return chosen, score_rows(model, [row["rejected_ids"] for row in rows], pad)


def _figures(chosen: np.ndarray, rejected: np.ndarray, agreement: np.ndarray) -> dict[str, float]:
    margin = chosen - rejected
    probability = 1 / (1 + np.exp(-margin))
    clipped = np.clip(probability, 1e-6, 1 - 1e-6)
    both_sides = np.concatenate((probability, 1 - probability))
    is_preferred = np.arange(len(both_sides)) < len(margin)
    one_group = np.zeros(len(both_sides), np.int64)
    errors = calibration_errors(is_preferred, both_sides, one_group, bootstrap_counts(1, 0))
    return {
        "accuracy": float((margin > 0).mean()),
        "log_loss": float(-(agreement * np.log(clipped) + (1 - agreement) * np.log(1 - clipped)).mean()),
        "calibration_error": float(errors[0]),
        "mean_agreement": float(agreement.mean()),
        "mean_score": float(np.mean((chosen, rejected))),
        "score_spread": float(np.std((chosen, rejected))),
    }


def answer_only_margins(
    train_pairs: Sequence[PreferencePair], pairs: Sequence[PreferencePair], seed: int = 0
) -> Floats:
    """Returns the margins of a baseline that reads answers only, of the preferred one of each pair, shape
    (pairs,).

    Words and word bigrams of both answers, logistic regression on their difference; trained on `train_pairs`.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    words = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", binary=True, min_df=2)
    try:
        words.fit(text for pair in train_pairs for text in (pair.chosen, pair.rejected))
    except ValueError:  # no word occurs in two answers
        return np.zeros(len(pairs))

    def differences(pairs: Sequence[PreferencePair]) -> Any:
        return words.transform([p.chosen for p in pairs]) - words.transform([p.rejected for p in pairs])

    sign = np.random.default_rng(seed).choice((-1, 1), len(train_pairs))
    sign[:2] = (1, -1)  # both classes, however few pairs
    if len(train_pairs) < 2:
        return np.zeros(len(pairs))
    model = LogisticRegression(fit_intercept=False, max_iter=500)
    model.fit(differences(train_pairs).multiply(sign[:, None]).tocsr(), sign)
    return np.asarray(model.decision_function(differences(pairs)), float)


def accuracy_with_interval(
    margins: Floats, pairs: Sequence[PreferencePair], rounds: int = 1000
) -> dict[str, Any]:
    """Returns the share of `pairs` with a positive margin, a margin of 0 as a half, with its 95 % bootstrap
    interval over source dialogues."""
    group_of: dict[str, int] = {}
    groups = np.array([group_of.setdefault(pair.item.source, len(group_of)) for pair in pairs], np.int64)
    counts = bootstrap_counts(len(group_of), rounds)
    right = (margins > 0) + 0.5 * (margins == 0)
    every: Bools = np.ones(len(pairs), bool)
    accuracies = ratio(grouped_sum(counts, right, groups), grouped_sum(counts, every, groups))
    low, high = percentile_interval(accuracies, len(group_of))
    return {"accuracy": round(float(accuracies[0]), 4), "accuracy_95": [round(low, 4), round(high, 4)]}
