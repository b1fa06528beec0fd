"""Stage ``dialint train screen``: a dataset without what must not be learned from.

    dialint train screen --dataset build/dataset --out build/screened

Reads a folder of ``dialint export dataset`` or ``dialint data inject``, every file verified. Suspected are
training dialogues that are near-copies of a set that judges, labels that copies contradict, and labels that a
light model which learned from other dialogues is sure are wrong. Writes the same files without the suspected
training dialogues, ``suspects.jsonl`` and, where the lineage names labelers, ``labelers.jsonl`` (ids and
figures, no text), the manifest last. Sets that judge are never changed: that they are clean is for people.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import disk_errors, make_output_folder, package_versions, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.records import Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.screening.confident_learning import LabelerBias, labeler_biases, predict_labels
from dialint.finetune.screening.confident_learning import list_suspects as suspects
from dialint.finetune.screening.dataset import MANIFEST, Dataset, Suspect, write_records
from dialint.finetune.screening.near_duplicates import (
    find_contradictions,
    find_held_out_copies,
    shingle_examples,
)
from dialint.finetune.train.distributed import require_single_process

LOUD = 5.0
"""Standard deviations from which a labeler's leaning is told on the screen."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScreenConfig:
    """What is screened."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    out: Path
    """Folder for the screened dataset; must not hold a finished one."""
    suspects: Literal["drop", "keep"] = "drop"
    """Leave suspected training dialogues out, or only say which they are."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    seed: int = 0
    """Which dialogues the light models learn from."""


def screen(config: ScreenConfig) -> None:
    """Leave out of a dataset what must not be learned from: copies of the exam, and labels that are wrong."""
    from rich.console import Console

    manifest = run(config)
    told, show = manifest["screening"], Console(stderr=True, markup=False, emoji=False)
    for why, n in told["suspects"].items():
        show.print(f"{why}: {n}")
    for row in told["leanings"]:
        show.print(
            f"labeler {row['labeler']} found {row['code']} {row['found']:g} times, {row['expected']:g} were "
            f"expected ({row['deviation']:+.1f} standard deviations)"
        )
    if told["not_looked_at"]:
        show.print(f"too few errors to say anything: {', '.join(told['not_looked_at'])}")
    show.print(f"{told['dropped']} of {told['examples']} training dialogues are left out")


def run(config: ScreenConfig) -> dict[str, Any]:
    """Screen a dataset; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished dataset, or `dataset` is not as its manifest says.
        ConfigError: `dataset` is no dataset, or has codes that the taxonomy has not.
    """
    require_single_process("train screen")
    if (config.out / MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished set already; name another folder")
    started = time.monotonic()
    dataset = Dataset.open(config.dataset)
    examples = dataset.training()
    codes, whole = _codes(examples, config.taxonomy)
    sets = shingle_examples(examples)
    copies, groups = find_held_out_copies(examples, sets, dataset.judging())
    labels = predict_labels(examples, groups, codes, whole, config.seed)
    wrong, joints = suspects(labels, examples)
    found = [*copies, *find_contradictions(examples, sets, whole, dataset.made), *wrong]
    leaning = list(labeler_biases(labels, examples, dataset.asked()))
    dropped = {each.dialogue_id for each in found} if config.suspects == "drop" else set()
    told = {
        **_counted(config, examples, found, dropped),
        "codes": joints,
        "not_looked_at": [code for code in codes if code not in joints],
        "leanings": [row.model_dump() for row in leaning if abs(row.deviation) >= LOUD],
    }
    files = _write(dataset, config.out, dropped, found, leaning)
    told["seconds"] = round(time.monotonic() - started, 1)
    manifest = {**dataset.manifest, "files": files, "screened_from": dataset.sha256, "screening": told}
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _counted(
    config: ScreenConfig, examples: Sequence[Example], found: Sequence[Suspect], dropped: Set[str]
) -> dict[str, Any]:
    return {
        "config": {"suspects": config.suspects, "seed": config.seed},
        "versions": package_versions("dialint", "scikit-learn", "numpy"),
        "suspects": dict(sorted(Counter(each.why for each in found).items())),
        "examples": len(examples),
        "dropped": sum(example.dialogue.id in dropped for example in examples),
    }


def _write(
    dataset: Dataset, out: Path, dropped: Set[str], found: Sequence[Suspect], leaning: Sequence[LabelerBias]
) -> list[dict[str, Any]]:
    with disk_errors(out):
        make_output_folder(out)
    files = dataset.write(out, dropped)
    files.append(write_records(out / "suspects.jsonl", found))
    if leaning:
        files.append(write_records(out / "labelers.jsonl", leaning))
    return files


def _codes(examples: Sequence[Example], taxonomy: Path | None) -> tuple[list[str], frozenset[str]]:
    """The codes that the labels name, in the taxonomy's order, and those that are of a whole dialogue.

    Raises:
        ConfigError: E_CODE, the taxonomy has not all of them.
    """
    known = load_taxonomy(taxonomy).codes
    named = {label.code for example in examples for label in example.labels}
    if strange := named - known.keys():
        raise ConfigError("E_CODE", f"{min(strange)[:20]} is not in the taxonomy; --taxonomy names another")
    whole = frozenset(code for code in named if known[code].scope == "dialogue")
    return [code for code in known if code in named], whole
