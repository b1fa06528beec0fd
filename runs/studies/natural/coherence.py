"""Trains the coherence model that a release may hold, and measures what it knows of errors.

    DIALINT_DATA=... python runs/studies/natural/coherence.py log build/coherence.jsonl
    dialint train adapt build/coherence.jsonl --epochs 4 --batch 384 --out build/coherent
    python runs/studies/natural/coherence.py measure --release build/coherent build/examples/test_unseen.jsonl
    dialint train pack ... --coherence build/coherent/coherence.safetensors

`log` takes the train split of the corpora whose terms let weights ship, less every dialogue that was read:
a true error that was trained on would count as what fits. `measure` gives the average precision of the scan
alone, of incoherence alone, and of both by a logistic curve that is fitted on the first file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import App, Parameter

from dialint.detector.artifacts import atomic_file
from dialint.detector.coherence import open_coherence
from dialint.detector.errors import DialogueFailed
from dialint.detector.interface import DetectorConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Example
from dialint.detector.release import EMBEDDED, Release
from dialint.eval.contract import coherence_weight
from dialint.eval.metrics import average_precision
from dialint.eval.results import read_examples
from dialint.finetune.scanner.coherence import center
from dialint.labeling.synthetic.corpora import read_all

HERE = Path(__file__).parent
CORPORA = ("star", "multiwoz_en", "taskmaster4", "tau_bench")
READ = ("readings.jsonl", "turns.jsonl", "findings.jsonl")
CODES = ("C1", "U5", "U1", "U2", "U4")
MIN_ERRORS = 5
app = App(help="Train and measure a coherence model.")


@app.command
def log(out: Path, *, data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]) -> None:
    """Write the training dialogues of the corpora to OUT, one a line."""
    rows = (json.loads(line) for name in READ for line in (HERE / name).read_text("utf-8").splitlines())
    left_out = {row["dialogue"] for row in rows}
    n = 0
    with atomic_file(out) as file:
        for name, dialogues in read_all(data).items():
            for clean in dialogues if name in CORPORA else ():
                if clean.split == "train" and clean.draft.id.partition(":")[2] not in left_out:
                    turns = [{"role": turn.role, "text": turn.text} for turn in clean.draft.turns]
                    file.write(json.dumps({"dialogue_id": clean.draft.id, "turns": turns}).encode() + b"\n")
                    n += 1
    print(f"{out}: {n} dialogues")


@app.command
def measure(*examples: Path, release: Path = EMBEDDED, threads: int = 1) -> None:
    """Print average precision by code and set. The model is centred on each set, as `train adapt` would."""
    detector = load_detector(DetectorConfig(release=release, threads=threads))
    weights: dict[str, float] = {}
    for path in examples:
        rows = list(read_examples(path))
        scores, fits = _scores(detector, release, rows)
        for code in CODES:
            if code not in detector.info.head_codes:
                continue
            truth, raw, fit = _columns(rows, scores, fits, code, detector.info.head_codes.index(code))
            if truth.sum() < MIN_ERRORS:
                continue
            weights.setdefault(code, coherence_weight(truth, raw, fit))
            figures = [average_precision(truth, each) for each in (raw, fit, raw + weights[code] * fit)]
            print(
                f"{path.stem} {code}: {int(truth.sum())} of {len(truth)} turns, scan {figures[0]:.3f}, "
                f"coherence {figures[1]:.3f}, both {figures[2]:.3f} (weight {weights[code]:.2f})"
            )


def _scores(
    detector: Any, release: Path, rows: Sequence[Example]
) -> tuple[list[Any], list[dict[int, float]]]:
    """Raw scores of the scan, and incoherence, by turn."""
    model = open_coherence(Release(release))
    assert model is not None, "the release has no coherence model"
    masked = [mask_dialogue(row.dialogue)[0] for row in rows]
    model = center(model, masked, masked)
    scans = detector.scanner.scan(masked)
    scores = [
        {} if isinstance(scan, DialogueFailed) else {turn.turn: turn.scores for turn in scan}
        for scan in scans
    ]
    return scores, [model.scores(dialogue) for dialogue in masked]


def _columns(
    rows: Sequence[Example], scores: Sequence[Any], fits: Sequence[dict[int, float]], code: str, column: int
) -> tuple[Any, Any, Any]:
    """Truth, raw score and incoherence of the turns that have both; turns in doubt are left out."""
    values = []
    for row, turns, fit in zip(rows, scores, fits, strict=True):
        labels = {label.turn: label.probability for label in row.labels if label.code == code}
        for turn in turns.keys() & fit.keys():
            probability = labels.get(turn, 0.0)
            if probability <= 0.1 or probability >= 0.9:
                values.append((probability > 0.5, turns[turn][column], fit[turn]))
    truth, raw, fit_values = np.array(values, float).T
    return truth > 0.5, raw, fit_values


if __name__ == "__main__":
    app()
