"""Opens a detector by its name: a built-in baseline, a folder of one, or a release."""

from __future__ import annotations

import json
from pathlib import Path

from dialint.detector.artifacts import MANIFEST, read_manifest, verify_files
from dialint.detector.calibration import Scan
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.extras import require_library
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.manifests import Folder
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.baselines.rules.scorer import RuleScorer
from dialint.eval.baselines.scored import AlwaysClean, ScoredDetector, Scorer

BASELINE = "baseline.json"
BUILT_IN = ("clean", "rules")


def open_detector(name: str | None, config: DetectorConfig) -> Detector:
    """The detector called `name`, or the one `config` names; a folder wins over a built-in name.

    Raises:
        ConfigError: there is neither such a folder nor such a baseline.
        ReleaseRefused, OutputRefused: the folder is damaged.
    """
    folder = config.release if name is None else Path(name)
    if folder is not None and (folder / BASELINE).is_file():
        return open_baseline(folder, load_taxonomy(config.taxonomy))
    if name in BUILT_IN and not Path(name).is_dir():
        taxonomy = load_taxonomy(config.taxonomy)
        return AlwaysClean(taxonomy) if name == "clean" else rules_detector(taxonomy)
    if name is not None and not Path(name).is_dir():
        raise ConfigError("E_OPTION", f"--against {name}: neither a folder nor one of {', '.join(BUILT_IN)}")
    from dialint.detector.pipeline import load_detector

    return load_detector(DetectorConfig(**{**vars(config), "release": folder}))


def rules_detector(taxonomy: Taxonomy) -> ScoredDetector:
    """The rules with the confidences they were written with."""
    scorer = RuleScorer()
    return ScoredDetector(scorer, {code: scorer.uncalibrated() for code in scorer.codes}, taxonomy)


def open_baseline(folder: Path, taxonomy: Taxonomy) -> ScoredDetector:
    """The baseline that `dialint eval baseline` wrote to `folder`.

    Raises:
        OutputRefused: it is incomplete or was changed.
    """
    verify_files(folder, read_manifest(folder / MANIFEST, expected=Folder)["files"])
    content = json.loads((folder / BASELINE).read_text())
    scorer: Scorer
    if content["kind"] == "rules":
        scorer = RuleScorer()
    elif content["kind"] == "tfidf":
        require_library("sklearn", f"{folder}, a tfidf baseline,")
        from dialint.eval.baselines.tfidf import TfidfScorer

        scorer = TfidfScorer(folder)
    else:
        raise OutputRefused("E_MANIFEST", f"{folder / BASELINE}: no known kind of baseline")
    scans = {code: Scan.model_validate_json(json.dumps(scan)) for code, scan in content["codes"].items()}
    return ScoredDetector(scorer, scans, taxonomy)
