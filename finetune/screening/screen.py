"""Filters out training dialogues that must not be learned from: ``dialint train screen``.

    dialint train screen --dataset build/dataset --out build/screened

Reads a folder of ``dialint export dataset`` or ``dialint data inject``, every file verified. Suspected are
training dialogues that are near-duplicates of a held-out example, labels that near-duplicates contradict, and
labels that a light model which was trained on other dialogues is confident are wrong. Writes the same files
without the suspected training dialogues, ``suspects.jsonl`` and, where the lineage names labelers,
``labelers.jsonl`` (ids and figures, no text), the manifest last. Held-out sets are never changed: people must
make sure that they are clean.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    disk_errors,
    make_output_folder,
    package_versions,
    require_new,
    write_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.screening.confident_learning import labeler_biases, list_suspects, predict_labels
from dialint.finetune.screening.dataset import Dataset, write_records
from dialint.finetune.screening.near_duplicates import (
    find_contradictions,
    find_held_out_copies,
    shingle_examples,
)

REPORTED_DEVIATION = 5.0
"""Standard deviations from which a labeler's bias is reported on the screen and in the manifest."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScreenConfig:
    """Options of `dialint train screen`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    out: Path
    """Folder for the screened data set; must not have a finished one."""
    suspects: Literal["drop", "keep"] = "drop"
    """Leave suspected training dialogues out, or only list them."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the folds and of the light models."""

    def __post_init__(self) -> None:
        check_ranges(self)


def screen(config: ScreenConfig) -> None:
    """Filter out examples that must not be learned: near-duplicates of held-out ones, and wrong labels."""
    from rich.console import Console

    summary, console = run(config)["screening"], Console(stderr=True, markup=False, emoji=False)
    for why, n in summary["suspects"].items():
        console.print(f"{why}: {n}")
    for row in summary["leanings"]:
        console.print(
            f"labeler {row['labeler']} found {row['code']} {row['found']:g} times, {row['expected']:g} were "
            f"expected ({row['deviation']:+.1f} standard deviations)"
        )
    if summary["not_looked_at"]:
        console.print(f"too few errors to say anything: {', '.join(summary['not_looked_at'])}")
    console.print(f"{summary['dropped']} of {summary['examples']} training dialogues are left out")


def run(config: ScreenConfig) -> dict[str, Any]:
    """Screen a data set; the manifest that was written.

    Raises:
        OutputRefused: `out` has a finished data set, or `dataset` is not as its manifest says.
        ConfigError: `dataset` is no data set, or has codes that are not in the taxonomy.
    """
    require_single_process("train screen")
    require_new(config.out, MANIFEST, "a finished set")
    started = time.monotonic()
    dataset = Dataset.open(config.dataset)
    examples = dataset.read_train()
    codes, dialogue_codes = _labeled_codes(examples, config.taxonomy)
    shingles = shingle_examples(examples)
    copies, groups = find_held_out_copies(examples, shingles, dataset.read_held_out())
    predictions = predict_labels(examples, groups, codes, dialogue_codes, config.seed)
    label_errors, joints = list_suspects(predictions, examples)
    contradictions = find_contradictions(examples, shingles, dialogue_codes, dataset.made)
    suspects = [*copies, *contradictions, *label_errors]
    biases = list(labeler_biases(predictions, examples, dataset.read_labelers()))
    dropped = {suspect.dialogue_id for suspect in suspects} if config.suspects == "drop" else set()
    with disk_errors(config.out):
        make_output_folder(config.out)
    files = dataset.copy_without(config.out, dropped)
    files.append(write_records(config.out / "suspects.jsonl", suspects))
    if biases:
        files.append(write_records(config.out / "labelers.jsonl", biases))
    summary = {
        "config": {"suspects": config.suspects, "seed": config.seed},
        "versions": package_versions("dialint", "scikit-learn", "numpy"),
        "suspects": dict(sorted(Counter(suspect.why for suspect in suspects).items())),
        "examples": len(examples),
        "dropped": sum(example.dialogue.id in dropped for example in examples),
        "codes": joints,
        "not_looked_at": [code for code in codes if code not in joints],
        "leanings": [bias.model_dump() for bias in biases if abs(bias.deviation) >= REPORTED_DEVIATION],
        "seconds": round(time.monotonic() - started, 1),
    }
    manifest = {**dataset.manifest, "files": files, "screened_from": dataset.sha256, "screening": summary}
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _labeled_codes(examples: Sequence[Example], taxonomy: Path | None) -> tuple[list[str], frozenset[str]]:
    """The codes of the labels, in the taxonomy's order, and those of dialogue scope among them.

    Raises:
        ConfigError: E_CODE, one is not in the taxonomy.
    """
    entries = load_taxonomy(taxonomy).codes
    labeled = {label.code for example in examples for label in example.labels}
    if unknown := labeled - entries.keys():
        raise ConfigError("E_CODE", f"{min(unknown)[:20]} is not in the taxonomy; --taxonomy names another")
    dialogue_codes = frozenset(code for code in labeled if entries[code].scope == "dialogue")
    return [code for code in entries if code in labeled], dialogue_codes
