"""Filters out training dialogues that leak held-out ones or have wrong labels: ``dialint train screen``.

    dialint train screen --dataset build/dataset --out build/screened

Reads a folder of ``dialint export dataset`` or ``dialint data inject``, every file verified. Suspected are
training dialogues that are near-duplicates of a held-out example (`dialint.detector.near_duplicates`), and
labels far from the probabilities of a light model (TF-IDF and logistic regression, as in the baseline) that
was trained on other dialogues. Writes the same files without the suspected training dialogues, and
``suspects.jsonl``, ids and figures without text: ``why`` is ``exam-copy`` with the held-out dialogue as
``like``, or ``label`` with ``code``, ``turn`` (none: of the dialogue), the suspected label as ``given`` and
the model's ``probability``. The manifest comes last. Held-out sets never change: people must ensure that they
are clean.

Labels are suspected by confident learning (Northcutt et al. 2021) in the tails only, by the density of both
classes along the probability; alone it suspects most labels of a rare error if the model is weak: of 1,721
synthetic examples with 5 % of the labels flipped, cleanlab 2.9 suspects 1,136 labels of an error and is right
in 78, this rule 69 and 16; with 10 %, 1,143 and 153 against 46 and 19 (2026-11-28).
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    file_entry,
    filling_folder,
    package_versions,
    read_manifest,
    sha256_file,
    verify_files,
    write_manifest,
)
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import read_examples
from dialint.detector.manifests import Folder
from dialint.detector.near_duplicates import RELATED, group_names, linking_pairs, shingles
from dialint.detector.option_ranges import command_options
from dialint.detector.records import Example
from dialint.detector.statistics import Bools, Floats
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.baselines import (
    CHUNK,
    KEEP_ONE_IN,
    MIN_ERRORS,
    PASSES,
    Unit,
    extract_units,
    make_features,
)
from dialint.eval.results import source_of

KINDS = ("labelled-examples", "injected-examples")
SUSPECTS = "suspects"
FILES_WITH_SPLITS = ("train", "preferences", "lineage")
"""Files with rows of the train split."""
DENSITY_RATIO = 5
"""Ratio of densities from which labels are suspected: of clean turns to labelled errors in the lower tail,
and of numbers of labelled errors to others in the upper one."""
FOLDS = 4
PENALTY = 1e-5
"""Weight of the squared coefficients; the baseline's detects a fifth fewer flips here (2026-11-22)."""
Suspect = dict[str, Any]
"""A line of ``suspects.jsonl``."""


@command_options
class ScreenConfig:
    """Options of `dialint train screen`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    out: Path
    """Folder for the screened data set; must not have a finished one."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the folds and of the light models."""


def run(config: ScreenConfig) -> dict[str, Any]:
    """Screens a data set and returns the new manifest.

    Raises:
        OutputRefused: `out` has a finished data set, or `dataset` does not match its manifest.
        ConfigError: E_DATASET, `dataset` is no data set; E_CODE, it has codes that are not in the taxonomy.
    """
    require_single_process("train screen")
    with filling_folder(config.out, "a finished set"):
        started = time.monotonic()
        manifest, sets = open_dataset(config.dataset)
        examples = [example for path in sets if path.stem == "train" for example in read_examples(path)]
        held_out = [example for path in sets if path.stem != "train" for example in read_examples(path)]
        entries = load_taxonomy(config.taxonomy).codes
        labeled = {label.code for example in examples for label in example.labels}
        if unknown := labeled - entries.keys():
            raise ConfigError(
                "E_CODE", f"{min(unknown)[:20]} is not in the taxonomy; --taxonomy names another"
            )
        codes = [code for code in entries if code in labeled]
        dialogue_codes = {code for code in codes if entries[code].scope == "dialogue"}
        copies, groups = find_held_out_copies(examples, held_out)
        label_errors, screened = find_label_errors(examples, groups, codes, dialogue_codes, config.seed)
        suspects = [*copies, *label_errors]
        dropped = {suspect["dialogue_id"] for suspect in suspects}
        files = [
            copy_without(config.dataset, entry, config.out, dropped)
            for entry in manifest["files"]
            if Path(entry["name"]).stem != SUSPECTS
        ]
        path = config.out / f"{SUSPECTS}.jsonl"
        with atomic_file(path) as file:
            file.writelines(json.dumps(suspect).encode() + b"\n" for suspect in suspects)
        summary: dict[str, Any] = {
            "config": {"seed": config.seed},
            "versions": package_versions("dialint", "scikit-learn", "numpy"),
            "suspects": dict(sorted(Counter(suspect["why"] for suspect in suspects).items())),
            "examples": len(examples),
            "dropped": sum(example.dialogue.id in dropped for example in examples),
            "too_few": [code for code in codes if code not in screened],
            "seconds": round(time.monotonic() - started, 1),
        }
        content = {
            **manifest,
            "files": [*files, file_entry(path, len(suspects))],
            "screened_from": sha256_file(config.dataset / MANIFEST),
            "screening": summary,
        }
        write_manifest(config.out / MANIFEST, content)
        for why, n in summary["suspects"].items():
            print(f"{why}: {n}", file=sys.stderr)
        if summary["too_few"]:
            print(f"too few errors to say anything: {', '.join(summary['too_few'])}", file=sys.stderr)
        left_out = f"{summary['dropped']} of {summary['examples']} training dialogues are left out"
        print(left_out, file=sys.stderr)
        return content


def open_dataset(folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Verifies a data set, and returns its manifest and the paths of its sets of examples.

    Raises:
        OutputRefused: E_MANIFEST or E_CHECKSUM, it is not complete or was changed.
        ConfigError: E_DATASET, it is no data set, or has no train split.
    """
    manifest = read_manifest(folder / MANIFEST, expected=Folder)
    if manifest.get("kind") not in KINDS:
        raise ConfigError("E_DATASET", f"{folder}: not a dataset of `export dataset` or `data inject`")
    verify_files(folder, manifest["files"])
    paths = [folder / entry["name"] for entry in manifest["files"]]
    beside = (SUSPECTS, "preferences", "lineage")
    sets = [path for path in paths if path.suffix == ".jsonl" and path.stem not in beside]
    if "train" not in {path.stem for path in sets}:
        raise ConfigError("E_DATASET", f"{folder}: holds no set train")
    return manifest, sets


def find_held_out_copies(
    examples: Sequence[Example], held_out: Sequence[Example]
) -> tuple[list[Suspect], list[str]]:
    """Returns the examples that are near-duplicates of a held-out one, directly or through others; and the
    group of each example, which has all its near-duplicates and all examples of its source."""
    texts = [
        "\n".join(turn.text for turn in example.dialogue.turns if turn.role != "tool")
        for example in (*examples, *held_out)
    ]
    pairs = linking_pairs(list(map(shingles, texts)), RELATED)
    groups = group_names([(str(number),) for number in range(len(texts))], pairs)
    held_out_of = {
        group: example.dialogue.id for group, example in zip(groups[len(examples) :], held_out, strict=True)
    }
    copies: list[Suspect] = [
        {"dialogue_id": example.dialogue.id, "why": "exam-copy", "like": held_out_of[group]}
        for group, example in zip(groups, examples, strict=False)
        if group in held_out_of
    ]
    keys = [(group, f"source {source_of(example)}") for group, example in zip(groups, examples, strict=False)]
    return copies, group_names(keys, ())


def find_label_errors(
    examples: Sequence[Example],
    groups: Sequence[str],
    codes: Sequence[str],
    dialogue_codes: Collection[str],
    seed: int,
) -> tuple[list[Suspect], list[str]]:
    """Returns the labels that are probably wrong, by out-of-fold probabilities, and the codes with errors
    enough for it; by turn, for `dialogue_codes` by dialogue. Examples of a group are in one fold."""
    from sklearn.model_selection import GroupKFold

    units = [
        (number, turn, unit)
        for number, example in enumerate(examples)
        for turn, unit in extract_units(example.dialogue).items()
    ]
    owners, row_of = (
        np.array([number for number, _, _ in units]),
        {each[:2]: n for n, each in enumerate(units)},
    )
    labels = np.zeros((len(units), len(codes)))
    for number, example in enumerate(examples):
        for label in example.labels:
            if (number, label.turn) in row_of:
                labels[row_of[number, label.turn], codes.index(label.code)] = label.probability
    if len(set(groups)) < FOLDS:
        return [], []
    kfold = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    splits = list(kfold.split(units, groups=np.array(groups)[owners]))
    is_error = labels > 0.5
    has_enough = np.min([is_error[train].sum(axis=0) for train, _ in splits], axis=0) >= MIN_ERRORS
    columns = np.flatnonzero(has_enough).tolist()
    if not columns:
        return [], []
    probabilities = predict_out_of_fold([unit for _, _, unit in units], is_error[:, columns], splits, seed)
    suspects: list[Suspect] = []
    for column, predicted in zip(columns, probabilities.T, strict=True):
        stated: Floats = labels[:, column]
        of_dialogue = codes[column] in dialogue_codes
        if of_dialogue:
            stated, predicted = (_max_by(owners, each, len(examples)) for each in (stated, predicted))
        low, high = tail_thresholds(stated, predicted)
        is_suspected = np.where(stated > 0.5, predicted <= low, predicted >= high)
        for row in np.flatnonzero(is_suspected).tolist():
            number, turn = (row, {}) if of_dialogue else (units[row][0], {"turn": units[row][1]})
            suspects.append({
                "dialogue_id": examples[number].dialogue.id, "why": "label", **turn, "code": codes[column],
                "given": round(float(stated[row]), 6), "probability": round(float(predicted[row]), 6),
            })  # fmt: skip
    return suspects, [codes[column] for column in columns]


def predict_out_of_fold(
    units: Sequence[Unit], labels: Bools, splits: Sequence[tuple[Any, Any]], seed: int
) -> Floats:
    """Predicts each code at each turn by a model of the other folds, shape (turns, codes) as `labels`. It is
    trained on all turns that have a label, and one in `KEEP_ONE_IN` of the others."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier

    is_trained = labels.any(axis=1) | (np.random.default_rng(seed).random(len(units)) < 1 / KEEP_ONE_IN)
    features, position = make_features(), np.cumsum(is_trained) - 1
    table = features.fit_transform([units[row] for row in np.flatnonzero(is_trained).tolist()])
    probabilities: Floats = np.zeros(labels.shape)
    for train, test in splits:
        model = OneVsRestClassifier(
            SGDClassifier(loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=seed)
        )
        rows = train[is_trained[train]]
        model.fit(table[position[rows]], labels[rows].astype(int))
        for start in range(0, len(test), CHUNK):
            part = test[start : start + CHUNK]
            predicted = model.predict_proba(features.transform([units[row] for row in part]))
            probabilities[part] = predicted[:, -labels.shape[1] :]  # of one code, both classes are there
    return probabilities


def tail_thresholds(labels: Floats, probability: Floats) -> tuple[float, float]:
    """Returns the probability up to which labels of an error, and from which all others, are suspected: both
    by `DENSITY_RATIO` and by the model's mean confidence in each class, as in confident learning; -1 and 2 if
    none are. Both arguments of shape (n,), in [0, 1]; a soft label counts for each class with its share."""
    values, inverse = np.unique(probability, return_inverse=True)
    errors, cleans = (np.bincount(inverse, share, len(values)) for share in (labels, 1 - labels))
    below = np.cumsum(cleans) * errors.sum() >= DENSITY_RATIO * np.cumsum(errors) * cleans.sum()
    above = np.cumsum(errors[::-1])[::-1] >= DENSITY_RATIO * np.cumsum(cleans[::-1])[::-1]
    mean_clean = (1 - labels) @ probability / max((1 - labels).sum(), 1e-9)
    mean_error = labels @ probability / max(labels.sum(), 1e-9)
    low, high = values[below].max(initial=-1.0), values[above].min(initial=2.0)
    return float(min(low, mean_clean)), float(max(high, mean_error))


def _max_by(group: Any, values: Floats, n: int) -> Floats:
    """Returns the highest value of each of `n` groups, 0 for an empty one."""
    highest: Floats = np.zeros(n)
    np.maximum.at(highest, group, values)
    return highest


def copy_without(folder: Path, entry: dict[str, Any], out: Path, dropped: set[str]) -> dict[str, Any]:
    """Copies a file without the training rows of `dropped` dialogues, and returns its manifest entry."""
    source, target = folder / entry["name"], out / entry["name"]
    if source.stem not in FILES_WITH_SPLITS:
        with atomic_file(target) as file:
            file.write(source.read_bytes())
        return entry
    n = 0
    with open(source, "rb") as lines, atomic_file(target) as file:
        for line in lines:
            row = json.loads(line)
            if row["split"] != "train" or (row.get("dialogue_id") or row["dialogue"]["id"]) not in dropped:
                file.write(line)
                n += 1
    return file_entry(target, n)
