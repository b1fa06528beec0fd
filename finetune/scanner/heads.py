"""Fits the heads of a scanner by logistic regression on the hidden states of its base, which stays as it is.

The base reads every window once. A head is fitted for each code on the slot's state and the mean of the
turn's tokens, standardised, with an L2 penalty towards the head that the scanner has: a release's stays near
it, with its bias, a new one begins at zero. Standardisation is then multiplied into the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from dialint.detector.engines.local import LocalEngine, fill_rows, head_positions
from dialint.detector.engines.scan_model import ScanModel, mean_by_slot
from dialint.detector.progress import track
from dialint.detector.scanner import Array
from dialint.finetune.scanner.data import Target

STRENGTH = 0.01
"""Inverse strength of the L2 penalty; chosen on real dialogues (`docs/experiments/training.md`)."""
KEPT_STRENGTH, KEPT_BIAS = 0.001, 0.1
"""The same of weights and biases that a release has learnt: fifty labels leave it as good as it was."""
ITERATIONS = 150
DOUBT = (0.3, 0.7)
"""Labels of a probability between these say neither."""


def read_states(engine: LocalEngine, targets: Sequence[Target]) -> tuple[Array, Array]:
    """The hidden states of every slot of the windows and the mean of its tokens, shape (slots, 2 x hidden),
    in half precision, and the labels, shape (slots, codes), NaN where unknown or in doubt."""
    states, labels = [], []
    rows = fill_rows([len(target.window) for target in targets], engine.row_tokens)
    for row in track(rows, len(rows), "reading examples"):
        windows = [targets[index].window for index in row]
        packed = engine.pack(windows)
        with torch.inference_mode():
            hidden = engine.hidden_states(packed)
            positions = head_positions(windows, packed)
            counts = torch.tensor(positions.lengths, dtype=torch.long, device=hidden.device)
            means = mean_by_slot(hidden[positions.tokens], counts)
            states.append(torch.cat([hidden[positions.slots], means], dim=1).half().cpu().numpy())
        labels += [targets[index].turns for index in row]
    wanted = np.concatenate(labels)
    in_doubt = (wanted > DOUBT[0]) & (wanted < DOUBT[1])
    return np.concatenate(states), np.where(in_doubt, np.float32(np.nan), wanted.round())


def fit_heads(model: ScanModel, states: Array, labels: Array) -> None:
    """Fit the heads of `model`, in place, to what `read_states` returned."""
    inputs = torch.from_numpy(states).float()
    mean, deviation = inputs.mean(dim=0), inputs.std(dim=0, correction=0) + 1e-4
    inputs.sub_(mean).div_(deviation)
    before = torch.cat([model.slot_head.weight, model.token_head.weight], dim=1).detach().cpu().float()
    towards = (before * deviation).T.contiguous()
    level = model.slot_head.bias.detach().cpu().float() + before @ mean
    is_kept = before.any(dim=1)
    strength = torch.where(is_kept, KEPT_STRENGTH, STRENGTH)
    wanted, known = torch.from_numpy(np.nan_to_num(labels)), torch.from_numpy(~np.isnan(labels)).float()
    weights, bias = towards.clone().requires_grad_(), level.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = inputs @ weights + bias
        errors = binary_cross_entropy_with_logits(logits, wanted, known, reduction="sum")
        penalty = ((weights - towards) ** 2 / strength).sum() + (
            (bias - level)[is_kept] ** 2 / KEPT_BIAS
        ).sum()
        total = (errors + penalty / 2) / len(inputs)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    fitted = (weights.detach() / deviation[:, None]).T
    hidden = fitted.shape[1] // 2
    with torch.no_grad():
        model.slot_head.weight.copy_(fitted[:, :hidden])
        model.token_head.weight.copy_(fitted[:, hidden:])
        model.slot_head.bias.copy_(bias.detach() - fitted @ mean)
