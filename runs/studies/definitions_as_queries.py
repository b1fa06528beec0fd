"""Can a code's definition stand in for training? Leave-one-code-out on frozen hidden states of a release.

    python runs/studies/definitions_as_queries.py NATURAL_FOLDER RELEASE MINILM_FOLDER

`NATURAL_FOLDER` is that of `runs/studies/natural/examples.py`, `MINILM_FOLDER` the base with its tokenizer.
The release's hidden state at a turn's slot, shape (hidden,), is mapped by a learnt matrix into the space of
sentence embeddings, where its product with the embedding of a code's definition is the score. The matrix is
fitted on turns of ``train`` with the labels of all codes but one, and scored on ``calibration`` for that one.
Beside it: the same matrix with the code among those it was fitted on, a logistic probe on the states of that
code alone, and the share of errors, which is the average precision of a coin.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cyclopts
import numpy as np
import torch
from torch.nn import functional
from transformers import AutoModel

from dialint.detector.engines.local import LocalEngine
from dialint.detector.errors import DialogueFailed
from dialint.detector.example_files import read_examples
from dialint.detector.interface import DetectorConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.metrics import average_precision

MIN_ERRORS = 8
STEPS, RANK, WEIGHT_DECAY = 400, 64, 1e-2


@torch.no_grad()
def turn_states(
    detector: ReleaseDetector, examples: Sequence[Example]
) -> tuple[torch.Tensor, list[tuple[int, int]]]:
    """Hidden states of judged turns, shape (turns, hidden), and for each its example and turn."""
    engine = detector.scanner.engine
    assert isinstance(engine, LocalEngine)
    states: list[torch.Tensor] = []
    keys: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        try:
            windows = detector.scanner.renderer.render(mask_dialogue(example.dialogue)[0])
        except DialogueFailed:  # nobody to judge
            continue
        for window in windows:
            hidden = engine.model.hidden_states(engine.pack([window])).float()
            for slot in window.slots:
                if not keys or keys[-1] != (number, slot.turn):
                    keys.append((number, slot.turn))
                    states.append(hidden[slot.position])
    return torch.stack(states).clone(), keys


def labels_of(
    examples: Sequence[Example], keys: Sequence[tuple[int, int]], codes: Sequence[str]
) -> torch.Tensor:
    """1 for an error, 0 for none, NaN where nobody looked or the reader was in doubt; (turns, codes)."""
    truth = torch.zeros(len(keys), len(codes))
    rows = {key: row for row, key in enumerate(keys)}
    for number, example in enumerate(examples):
        for column, code in enumerate(codes):
            if code in example.unlabelled:
                for turn in example.dialogue.turns:
                    if (row := rows.get((number, turn.index))) is not None:
                        truth[row, column] = torch.nan
        for label in example.labels:
            if label.code in codes and (row := rows.get((number, label.turn))) is not None:
                truth[row, codes.index(label.code)] = 1.0 if label.probability >= 0.9 else torch.nan
    return truth


@torch.no_grad()
def embed(texts: Sequence[str], folder: Path) -> torch.Tensor:
    """Sentence embeddings, shape (texts, hidden): the mean over tokens, of length 1."""
    from tokenizers import Tokenizer

    tokenizer, model = (
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        AutoModel.from_pretrained(folder).eval(),
    )
    tokenizer.no_padding()
    means = [
        model(input_ids=torch.tensor([tokenizer.encode(text).ids[:256]])).last_hidden_state[0].mean(0)
        for text in texts
    ]
    return functional.normalize(torch.stack(means), dim=1)


def fit(states: torch.Tensor, truth: torch.Tensor, queries: torch.Tensor, seed: int = 0) -> torch.nn.Module:
    """The map from states to queries: of rank `RANK`, by logistic loss on known labels, errors weighed up to
    a fifth of each code."""
    torch.manual_seed(seed)
    mapping = torch.nn.Sequential(
        torch.nn.Linear(states.shape[1], RANK, bias=False), torch.nn.Linear(RANK, queries.shape[1])
    )
    optimizer = torch.optim.AdamW(mapping.parameters(), lr=3e-3, weight_decay=WEIGHT_DECAY)
    known = ~truth.isnan()
    target = truth.nan_to_num()
    share = (target * known).sum(0) / known.sum(0)
    weight = known * torch.where(target > 0.5, 0.2 / share.clamp(min=1e-4), 0.8 / (1 - share))
    for _ in range(STEPS):
        chosen = torch.randint(len(states), (2048,))
        scores = mapping(states[chosen]) @ queries.T * 8
        loss = functional.binary_cross_entropy_with_logits(scores, target[chosen], weight[chosen])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return mapping


def main(natural: Path, release: Path, base: Path, limit: int | None = None) -> None:
    """Print a table of average precision by code."""
    detector = load_detector(DetectorConfig(release=release))
    sets = [list(read_examples(natural / f"{name}.jsonl"))[:limit] for name in ("train", "calibration")]
    (states, keys), (test_states, test_keys) = (turn_states(detector, examples) for examples in sets)
    taxonomy = load_taxonomy()
    codes = sorted({label.code for examples in sets for example in examples for label in example.labels})
    truth, test_truth = labels_of(sets[0], keys, codes), labels_of(sets[1], test_keys, codes)
    enough = ((truth == 1).sum(0) >= MIN_ERRORS) & ((test_truth == 1).sum(0) >= MIN_ERRORS)
    codes = [code for code, is_enough in zip(codes, enough.tolist(), strict=True) if is_enough]
    truth, test_truth = truth[:, enough], test_truth[:, enough]
    queries = embed([f"{taxonomy.codes[code].name.en}. {taxonomy.codes[code].test}" for code in codes], base)
    mean, spread = states.mean(0), states.std(0)
    states, test_states = (states - mean) / spread, (test_states - mean) / spread
    joint = fit(states, truth, queries)
    print(f"{len(states)} turns fitted, {len(test_states)} tested")
    print("| code | in the release | errors | a coin | definition only | fitted with the code | probe |")
    print("|---|---|---:|---:|---:|---:|---:|")
    rows = []
    for column, code in enumerate(codes):
        others = [other for other in range(len(codes)) if other != column]
        alone = fit(states, truth[:, others], queries[others])
        probe = fit(states, truth[:, [column]], queries[[column]])
        usable = ~test_truth[:, column].isnan()
        is_error = (test_truth[usable, column] > 0.5).numpy()
        with torch.no_grad():
            scores = [
                (mapping(test_states[usable]) @ queries[column]).numpy() for mapping in (alone, joint, probe)
            ]
        row = [is_error.mean(), *(average_precision(is_error, each) for each in scores)]
        rows.append(row)
        inside = "yes" if code in detector.info.head_codes else "no"
        print(
            f"| {code} | {inside} | {is_error.sum()} | " + " | ".join(f"{value:.3f}" for value in row) + " |",
            flush=True,
        )
    print("| mean | | | " + " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)) + " |")


if __name__ == "__main__":
    cyclopts.run(main)
