"""Calibrates a release on labelled dialogues of your own, without training.

    dialint train calibrate --examples build/dataset --out build/mine --name mine-2

Probabilities and thresholds of the scan are fitted to one set of labelled dialogues
(`eval/calibration.py`), as `dialint train pack` fits them to its set of real dialogues; findings and
suggestions must reach their precision in every corpus of the set. Weights, exact checks, and codes with few
errors in the set do not change.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, atomic_file, make_output_folder, making_folder, require_new
from dialint.detector.calibration import Scan
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, DialogueFailed
from dialint.detector.example_files import read_examples, require_set
from dialint.detector.interface import DetectorConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_names, command_options
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.detector.registry import resolve_release
from dialint.detector.release import Release, finalize_release
from dialint.detector.render import Rendered
from dialint.detector.scanner import Array, Engine, WindowScores
from dialint.detector.statistics import Floats
from dialint.eval.calibration import (
    MIN_ERRORS,
    choose_natural_thresholds,
    distinct_units,
    fit_natural_curve,
)
from dialint.finetune.scanner.model_card import coverage

CARD = "MODEL_CARD.md"
ORIGIN = (
    "## Calibration\n\nProbabilities and thresholds of {source} were fitted again to {n} labelled dialogues; "
    "figures of precision and recall below are with the thresholds before.\n\n"
)


@command_options
class CalibrateConfig:
    """Options of `dialint train calibrate`."""

    examples: Path
    """Folder of labelled dialogues, as `dialint export dataset` makes one."""
    out: Path
    """Folder for the calibrated release; must not exist."""
    name: str
    """Id of the calibrated release."""
    release: Path | None = None
    """The release to calibrate, as `dialint score --release` names one; without it the embedded one."""
    taxonomy: Path | None = None
    """A taxonomy of your own, the one of the release."""
    labelled: str = "calibration"
    """Set of `examples` that is fitted to: dialogues that nothing was trained on."""
    natural_precision: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of a code's findings on that set that must be right, in all and in each corpus."""
    suggested_precision: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The same of suggestions."""
    no_suggestions: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes of which the scan suggests nothing, whatever the set says."""


def calibrate(config: CalibrateConfig) -> None:
    """Fits probabilities and thresholds of a release to labelled dialogues, and seals it as a new release."""
    require_single_process("train calibrate")
    require_new(config.out)
    source = resolve_release("scan", config.release or "embedded")
    examples = list(read_examples(require_set(config.examples, config.labelled)))
    detector = load_detector(DetectorConfig(release=source, taxonomy=config.taxonomy))
    info = detector.info
    scans: dict[str, Scan | None] = {
        code: how.scan for code, how in info.codes.items() if how.scan is not None and code in info.head_codes
    }
    check_names("--no-suggestions", config.no_suggestions, scans)
    fitted = calibrate_natural(
        detector, examples, scans, config.natural_precision, config.suggested_precision
    )
    for code in fitted.keys() & set(config.no_suggestions):
        fitted[code] = fitted[code].model_copy(update={"suggest_at": None})
    changed = [
        code
        for code, scan in fitted.items()
        if not np.allclose(_calibration(scan), _calibration(scans[code]))
    ]
    if not changed:
        raise ConfigError(
            "E_EXAMPLE",
            f"{config.examples}: nothing to change: no code has {MIN_ERRORS} errors in {config.labelled}, or "
            "the release is calibrated on it already",
        )
    codes = {
        code: how.model_copy(update={"scan": fitted[code]}) if code in changed else how
        for code, how in info.codes.items()
    }
    calibrated = info.model_copy(update={"id": config.name, "codes": codes})
    with making_folder(config.out) as folder:
        for path in sorted(source.iterdir()):
            if path.is_file() and path.name not in (MANIFEST, CARD):
                with atomic_file(folder / path.name) as file:
                    file.write(path.read_bytes())
        with atomic_file(folder / CARD) as file:
            card = (source / CARD).read_text(encoding="utf-8") if (source / CARD).exists() else ""
            introduction, _, rest = card.partition("## What it covers")
            introduction = introduction.partition("\n")[2] or "\n"
            section = coverage(calibrated, detector.taxonomy)
            origin = ORIGIN.format(source=info.id, n=len(examples))
            data = rest[rest.find("## Data") :] if "## Data" in rest else ""
            file.write(f"# {config.name}\n{introduction}{section}\n{origin}{data}".encode())
        finalize_release(folder, calibrated)
        Release(folder)
    for code in changed:
        print(f"{code}: {_describe(scans[code])} -> {_describe(fitted[code])}")
    counts = f"{len(changed)} of {len(codes)} codes changed by {len(examples)} dialogues"
    print(f"{config.out}: {config.name}, {counts}")


def _calibration(scan: Scan | None) -> list[float]:
    """Returns slope, offset, both thresholds and recall of a scan, infinity for none."""
    if scan is None:
        return [math.inf] * 5
    recall = scan.contract.recall if scan.contract is not None else 0.0
    return [scan.slope, scan.offset, scan.threshold or math.inf, scan.suggest_at or math.inf, recall]


def _describe(scan: Scan | None) -> str:
    """Describes the thresholds of a scan."""
    parts = []
    if scan is not None and scan.threshold is not None:
        right = f" ({scan.natural.right} of {scan.natural.flagged} right)" if scan.natural is not None else ""
        parts.append(f"findings from {scan.threshold:.2f}{right}")
    if scan is not None and scan.suggest_at is not None:
        parts.append(f"suggestions from {scan.suggest_at:.2f}")
    return ", ".join(parts) or "nothing"


def calibrate_natural(
    detector: ReleaseDetector,
    examples: Sequence[Example],
    scans: Mapping[str, Scan | None],
    precision: float,
    suggested: float,
) -> dict[str, Scan]:
    """Fits `scans` to real dialogues with labels: by code, None for a code without a curve, which gets one if
    there are `MIN_ERRORS` errors."""
    scores = scan_examples(detector, examples)
    results = {}
    for code, scan in scans.items():
        truth, raw, corpora = code_units(detector, code, examples, scores)
        if scan is not None or (truth > 0.9).sum() >= MIN_ERRORS:
            curve = fit_natural_curve(scan, truth, raw)
            results[code] = choose_natural_thresholds(curve, truth, raw, precision, suggested, corpora)
    return results


def code_units(
    detector: ReleaseDetector,
    code: str,
    examples: Sequence[Example],
    scores: Sequence[Mapping[int, Array]],
) -> tuple[Floats, Floats, list[str]]:
    """Returns `distinct_units` of one code."""
    column = detector.info.head_codes.index(code)
    by_turn = [{turn: float(row[column]) for turn, row in turns.items()} for turns in scores]
    return distinct_units(by_turn, examples, code, whole_dialogue=code in detector.info.dialogue_codes)


def scan_examples(detector: ReleaseDetector, examples: Sequence[Example]) -> list[dict[int, Array]]:
    """Returns raw scores of each example by turn, each of shape (codes,)."""
    assert detector.scanner is not None, "calibration loads a release's scan"
    scores: list[dict[int, Array]] = []
    masked = (mask_dialogue(example.dialogue)[0] for example in examples)
    for scan in track(detector.scanner.stream(masked), len(examples), "scanning"):
        turns = () if isinstance(scan, DialogueFailed) else scan
        scores.append({turn.turn: turn.scores for turn in turns})
    return scores


CHUNK = 16
"""Maximum number of windows that a kill loses."""


class ScoreCache:
    """An engine that caches the scores of `engine` in `folder`, a file for each window and model; `weights`
    identifies the model's weights."""

    def __init__(self, engine: Engine, folder: Path, weights: str) -> None:
        make_output_folder(folder)
        self._engine, self._folder = engine, folder
        self.fingerprint = engine.fingerprint
        self._key = f"{weights}|{engine.fingerprint}"
        self.on_row: Callable[[], None] = lambda: None
        self.n_tokens = 0

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Returns the scores of each window, in order."""
        files = [self._file(window) for window in windows]
        missing = [window for window, file in zip(windows, files, strict=True) if not file.exists()]
        self.n_tokens += sum(map(len, windows)) - sum(map(len, missing))
        missing.sort(key=len)
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            self.on_row()
            for window, scores in zip(chunk, self._engine.scan(chunk), strict=True):
                with atomic_file(self._file(window)) as file:
                    np.savez(file, scores.slots, *scores.spans)
            self.n_tokens += sum(map(len, chunk))
        results = []
        for path in files:
            with np.load(path) as arrays:
                slots, *spans = (arrays[name] for name in arrays.files)
            results.append(WindowScores(slots, tuple(spans)))
        return results

    def _file(self, window: Rendered) -> Path:
        of = f"{self._key}|{window.ids}|{window.word_kinds}|{window.slots}"
        return self._folder / f"{hashlib.sha256(of.encode()).hexdigest()}.npz"
