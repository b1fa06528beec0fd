"""``dialint eval baseline``: trains and calibrates a simple baseline, as a folder that `eval run` opens.

    dialint eval baseline tfidf --examples build/examples --out build/tfidf

Reads ``train.jsonl`` (tfidf only) and ``calibration.jsonl`` of an examples folder; writes
``baseline.json``, weights, and last the manifest. Curves and thresholds are fitted by the rule that
releases are packed with, so figures at the threshold can be compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    package_versions,
    write_json,
    write_manifest,
)
from dialint.detector.calibration import Scan
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_extra
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.unfinished import making_folder
from dialint.eval.baselines.registry import BASELINE
from dialint.eval.baselines.rules.scorer import RuleScorer
from dialint.eval.baselines.scored import Scorer
from dialint.eval.contract import distinct_units, fit_contract
from dialint.eval.results import read_examples


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BaselineConfig:
    """Options of `dialint eval baseline`: the training data and the limits of the contract."""

    examples: Path
    """Folder of `dialint data inject`."""
    out: Path
    """Folder for the baseline; must not exist."""
    per_100: Annotated[float, Field(ge=0, le=100)] = 0.15
    """False accusations on 100 clean turns that no single code may pass."""
    per_100_dialogues: Annotated[float, Field(ge=0, le=100)] = 0.5
    """The same on 100 clean dialogues, for codes of dialogue scope."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Confidence of that promise."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """The same seed gives the same weights."""

    def __post_init__(self) -> None:
        check_ranges(self)


def baseline(
    kind: Literal["rules", "tfidf"], /, *, config: Annotated[BaselineConfig, Parameter(name="*")]
) -> None:
    """Train and calibrate a baseline that releases are compared with."""
    if kind == "tfidf":
        require_extra("train", "dialint eval baseline tfidf")
    for name in ("train.jsonl", "calibration.jsonl") if kind == "tfidf" else ("calibration.jsonl",):
        if not (config.examples / name).is_file():
            raise ConfigError(
                "E_EXAMPLE", f"{config.examples / name}: no such file; `dialint data inject` makes it"
            )
    with making_folder(config.out) as folder:
        _make(kind, config, folder)


def _make(kind: str, config: BaselineConfig, folder: Path) -> None:
    """Write a baseline to `folder`, the manifest last."""
    scorer: Scorer = RuleScorer()
    if kind == "tfidf":
        from dialint.eval.baselines.tfidf import TfidfScorer, train

        train(read_examples(config.examples / "train.jsonl"), folder, config.seed)
        scorer = TfidfScorer(folder)
    examples = list(read_examples(config.examples / "calibration.jsonl"))
    scans = calibrate(scorer, examples, config)
    if not scans:
        raise ConfigError(
            "E_EXAMPLE", f"{config.examples}/calibration.jsonl: no error of a code that it covers"
        )
    codes = {code: scan.model_dump(mode="json") for code, scan in scans.items()}
    write_json(folder / BASELINE, {"kind": kind, "codes": codes})
    settings = {name: str(v) if isinstance(v, Path) else v for name, v in asdict(config).items()}
    content = {
        "kind": "baseline",
        "config": settings,
        "versions": package_versions("dialint", "scikit-learn", "numpy"),
    }
    files = [file_entry(path) for path in sorted(folder.iterdir())]
    write_manifest(folder / MANIFEST, {**content, "files": files})


def calibrate(scorer: Scorer, examples: list[Example], config: BaselineConfig) -> dict[str, Scan]:
    """Curve and contract of each code that the split holds an error of."""
    entries = load_taxonomy().codes
    scored = scorer.score_dialogues([example.dialogue for example in examples])
    scans = {}
    for code in scorer.codes:
        whole = entries[code].scope == "dialogue"
        raised = [{t: row[code].score for t, row in turns.items() if code in row} for turns in scored]
        truth, scores, _ = distinct_units(raised, examples, code, whole_dialogue=whole)
        if truth.any():
            rate = config.per_100_dialogues if whole else config.per_100
            scans[code] = fit_contract(
                truth, scores, rate, config.confidence, "dialogue" if whole else "turn"
            )
    return scans
