"""Does the casing of words, which the uncased base cannot see, tell errors on real dialogues?

    python runs/studies/casing_feature.py NATURAL_FOLDER RELEASE

A logistic probe for each code on the release's frozen hidden state at a turn's slot (`turn_states`), fitted
on ``train`` of `runs/studies/natural/examples.py` and scored on ``calibration``, without and with eight
figures of the turn's casing. Average precision by code, mean and range over the seeds of the probe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import cyclopts
import numpy as np
import torch
from definitions_as_queries import MIN_ERRORS, fit, labels_of, turn_states
from tokenizers import Tokenizer

from dialint.detector.example_files import read_examples
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Example
from dialint.eval.metrics import average_precision

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
SENTENCE = re.compile(r"(?:^|[.!?]\s+)([^\W\d_])")
SEEDS = (0, 1, 2)


def casing_figures(text: str, tokenizer: Tokenizer) -> list[float]:
    """Eight figures of a turn: capitalised words inside sentences, words in capitals, "i" for "I", sentences
    that begin in lower case (shares), and words of three pieces or more by casing (counts, logarithmic)."""
    words = WORD.findall(text)
    n = max(1, len(words))
    starts = SENTENCE.findall(text)
    inner = [word for word in words[1:] if word[0].isupper() and not word.isupper()]
    rare = [word for word in words if len(tokenizer.encode(word.lower(), add_special_tokens=False).ids) >= 3]
    return [
        len(inner) / n,
        sum(word.isupper() and len(word) > 1 for word in words) / n,
        sum(word == "i" or word.startswith("i'") for word in words) / n,
        sum(letter.islower() for letter in starts) / max(1, len(starts)),
        float(np.log1p(sum(word.islower() for word in rare))),
        float(np.log1p(sum(word[0].isupper() for word in rare))),
        float(np.log1p(n)),
        float(text.islower()),
    ]


def main(natural: Path, release: Path, limit: int | None = None) -> None:
    """Print a table of average precision by code."""
    detector = load_detector(DetectorConfig(release=release))
    tokenizer = Tokenizer.from_file(str(release / "tokenizer.json"))
    tokenizer.no_padding()
    sets = [list(read_examples(natural / f"{name}.jsonl"))[:limit] for name in ("train", "calibration")]
    codes = sorted({label.code for examples in sets for example in examples for label in example.labels})
    parts = [_features(detector, examples, codes, tokenizer) for examples in sets]
    enough = [
        n
        for n in range(len(codes))
        if min(int((truth[:, n] == 1).sum()) for _, _, truth in parts) >= MIN_ERRORS
    ]
    (states, casing, truth), (test_states, test_casing, test_truth) = parts
    print(f"{len(states)} turns fitted, {len(test_states)} tested, {len(SEEDS)} seeds")
    print("| code | errors | state | state and casing | difference by seed |\n|---|---:|---:|---:|---|")
    means = []
    for column in enough:
        known, usable = ~truth[:, column].isnan(), ~test_truth[:, column].isnan()
        is_error = (test_truth[usable, column] > 0.5).numpy()
        by_seed = []
        for seed in SEEDS:
            figures = []
            for train_x, test_x in (
                (states, test_states),
                (torch.cat([states, casing], 1), torch.cat([test_states, test_casing], 1)),
            ):
                mean, spread = train_x.mean(0), train_x.std(0).clamp(min=1e-6)
                probe = fit(
                    (train_x[known] - mean) / spread, truth[known][:, [column]], torch.ones(1, 1), seed
                )
                with torch.no_grad():
                    scores = probe((test_x[usable] - mean) / spread)[:, 0].numpy()
                figures.append(average_precision(is_error, scores))
            by_seed.append(figures)
        alone, both = np.mean(by_seed, axis=0)
        means.append((alone, both))
        differences = ", ".join(f"{second - first:+.3f}" for first, second in by_seed)
        print(
            f"| {codes[column]} | {is_error.sum()} | {alone:.3f} | {both:.3f} | {differences} |", flush=True
        )
    print("| mean | | " + " | ".join(f"{value:.3f}" for value in np.mean(means, axis=0)) + " | |")


def _features(
    detector: ReleaseDetector, examples: Sequence[Example], codes: Sequence[str], tokenizer: Tokenizer
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """States (turns, hidden), figures of casing (turns, 8) and labels (turns, codes) of a set."""
    states, keys = turn_states(detector, examples)
    texts = [
        {turn.index: turn.text for turn in examples[number].dialogue.turns}[turn] for number, turn in keys
    ]
    casing = torch.tensor([casing_figures(text, tokenizer) for text in texts])
    return states, casing, labels_of(examples, keys, codes)


if __name__ == "__main__":
    cyclopts.run(main)
