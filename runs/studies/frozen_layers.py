"""What the middle layers of a frozen language model know of errors: linear regressions on its hidden states.

    dialint base fetch smollm2
    python runs/studies/frozen_layers.py features SET.jsonl... --base smollm2 --layers 8 12 16 --out F.npz
    python runs/studies/frozen_layers.py folds F.npz SET.jsonl... --layer 16

A turn has two vectors in each layer: the mean over its tokens, and the state of its last one. `folds` fits a
logistic regression for each code on four fifths of the dialogues (tasks of tau_bench undivided) and prints
average precision on the fifth left out, macro over codes with ten errors or more, AUC and average precision
of "any error" by turn, and the share of the errors in the fifth of the dialogues ranked first.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from cyclopts import App, Parameter
from sklearn.metrics import average_precision_score, roc_auc_score
from transformers import AutoModel, AutoTokenizer

from dialint.detector.engines.base_models import resolve_base
from dialint.detector.example_files import read_examples
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example
from dialint.detector.taxonomy import load_taxonomy

SPEAKERS = {"customer": "Customer", "agent": "Agent", "bot": "Agent", "tool": "Result"}
MAX_RESULT, MAX_CALL = 300, 400
"""Characters of a tool's result and of a turn's calls that are read."""
C = 0.01
"""Inverse strength of the regression's L2 penalty, on standardised features."""
app = App(help="Measure what frozen layers know.")


def pieces(dialogue: Dialogue) -> Iterator[tuple[int, str, bool]]:
    """Index, rendered text and whether it is judged, of each turn but those of the system."""
    for turn in dialogue.turns:
        if turn.role == "system":
            continue
        calls = " ".join(f"{call.name} {json.dumps(call.arguments)}" for call in turn.tool_calls)[:MAX_CALL]
        text = turn.text[:MAX_RESULT] if turn.role == "tool" else turn.text
        body = f"{text}\nCall: {calls}".strip() if calls else text
        yield turn.index, f"{SPEAKERS[turn.role]}: {body}\n", turn.role in JUDGED_ROLES and bool(body.strip())


@app.command
def features(
    *sets: Path,
    base: str,
    layers: Annotated[tuple[int, ...], Parameter(consume_multiple=True)],
    out: Path,
    window: int = 1400,
) -> None:
    """Write the vectors of all judged turns, shape (turns, layers, 2, hidden)."""
    folder = resolve_base(base).folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    vectors, names = [], []
    for example in (row for path in sets for row in read_examples(path)):
        turns = list(pieces(example.dialogue))
        ids = [tokenizer(text, add_special_tokens=False)["input_ids"][: window // 2] for _, text, _ in turns]
        done = 0
        while done < len(ids):  # a window: new turns, and as many before them as fit
            end, room = done + 1, (window // 2 if done else window) - len(ids[done])
            while end < len(ids) and len(ids[end]) <= room:
                room, end = room - len(ids[end]), end + 1
            start, room = done, window - sum(map(len, ids[done:end]))
            while start and len(ids[start - 1]) <= room:
                start, room = start - 1, room - len(ids[start - 1])
            row = [token for turn in ids[start:end] for token in turn]
            with torch.inference_mode():
                states = model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states
            last = sum(map(len, ids[start:done]))
            for number in range(done, end):
                first, last = last, last + len(ids[number])
                if turns[number][2] and last > first:
                    chosen = [states[layer][0, first:last] for layer in layers]
                    vectors.append(
                        torch.stack([torch.stack([s.mean(0), s[-1]]) for s in chosen]).half().numpy()
                    )
                    names.append(f"{example.dialogue.id}\t{turns[number][0]}")
            done = end
    np.savez(out, vectors=np.stack(vectors), names=np.array(names), layers=np.array(layers))
    print(f"{len(names)} turns")


def fit(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases of a logistic regression for each column of `y`, shape (turns, codes), NaN where
    unknown."""
    inputs, known = torch.from_numpy(x), torch.from_numpy(~np.isnan(y)).float()
    wanted = torch.from_numpy(np.nan_to_num(y))
    prior = np.clip(np.nansum(y, axis=0) / (~np.isnan(y)).sum(axis=0).clip(1), 1e-5, 0.999)
    weights = torch.zeros(x.shape[1], y.shape[1], requires_grad=True)
    bias = torch.from_numpy(np.log(prior / (1 - prior)).astype(np.float32)).requires_grad_()
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=150, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        each = torch.nn.functional.binary_cross_entropy_with_logits(
            inputs @ weights + bias, wanted, known, reduction="sum"
        )
        total = (each + (weights**2).sum() / (2 * C)) / len(x)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)
    return weights.detach().numpy(), bias.detach().numpy()


def labels_of(example: Example, codes: list[str]) -> dict[int, np.ndarray]:
    """The labels of each turn, shape (codes,): 1, 0, or NaN for what nobody looked for or is in doubt."""
    rows = {turn.index: np.zeros(len(codes), np.float32) for turn in example.dialogue.turns}
    for row in rows.values():
        row[[code in example.unlabelled for code in codes]] = np.nan
    for label in example.labels:
        in_doubt = 0.3 < label.probability < 0.7
        rows[label.turn][codes.index(label.code)] = np.nan if in_doubt else round(label.probability)
    return rows


@app.command
def folds(file: Path, *sets: Path, layer: int) -> None:
    """Print what the layer knows of the dialogues of the sets, each from four fifths of the others."""
    stored, codes = np.load(file), list(load_taxonomy().codes)
    labels = {e.dialogue.id: labels_of(e, codes) for path in sets for e in read_examples(path)}
    names = [(name.rsplit("\t", 1)[0], int(name.rsplit("\t", 1)[1])) for name in stored["names"]]
    vectors = stored["vectors"][:, list(stored["layers"]).index(layer)].reshape(len(names), -1)
    y = np.stack([labels[dialogue][turn] for dialogue, turn in names])
    tasks = [re.search(r"(?:airline|retail)#\d+", dialogue) for dialogue, _ in names]
    groups = [task[0] if task else dialogue for task, (dialogue, _) in zip(tasks, names, strict=True)]
    fold = np.array([zlib.crc32(group.encode()) % 5 for group in groups])
    scores = np.zeros_like(y)
    for number in range(5):
        train = vectors[fold != number].astype(np.float32)
        mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-4
        weights, bias = fit((train - mean) / deviation, y[fold != number])
        scores[fold == number] = (vectors[fold == number] - mean) / deviation @ weights + bias
    ranked = {
        code: average_precision_score(y[known, column] > 0.5, scores[known, column])
        for column, code in enumerate(codes)
        if np.nansum(known_y := y[:, column]) >= 10 and (known := ~np.isnan(known_y)).any()
    }
    likely = 1 / (1 + np.exp(-scores))
    wrong, any_error = (np.nan_to_num(y) > 0.5).any(axis=1), 1 - np.prod(1 - likely, axis=1)
    print({code: round(float(value), 2) for code, value in ranked.items()})
    area, precision = roc_auc_score(wrong, any_error), average_precision_score(wrong, any_error)
    macro = np.mean(list(ranked.values()))
    print(f"macro {macro:.3f} of {len(ranked)} codes; any error: AUC {area:.3f}, AP {precision:.3f}")
    errors, expected = Counter[str](), Counter[str]()
    for (dialogue, _), row, chance in zip(names, np.nan_to_num(y), likely, strict=True):
        errors[dialogue] += int((row > 0.5).sum())
        expected[dialogue] += float(chance.sum())
    first = [dialogue for dialogue, _ in expected.most_common(round(len(expected) / 5))]
    print(f"in the fifth ranked first: {sum(errors[d] for d in first) / errors.total():.3f} of the errors")


if __name__ == "__main__":
    app()
