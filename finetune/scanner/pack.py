"""Makes a release of a trained scanner: compress, calibrate, select the codes, evaluate, seal.

    dialint train pack --scanner build/scanner --examples build/examples --out build/release --name mine-1

All scores are of the compressed weights that are served. The set ``calibration`` fits curves and thresholds;
``dev`` selects the codes; the test sets are read once, for the report. Nothing is trained here.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, data_fingerprint, making_folder, read_manifest
from dialint.detector.calibration import CodeRelease, Scan
from dialint.detector.checks import Check, check_plugins
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.interface import DetectorConfig
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.log_profile import Domain, fit_domain
from dialint.detector.manifests import Examples
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_names, command_options
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.detector.release import WEIGHTS, Base, ReleaseInfo, finalize_release, measured_check
from dialint.detector.render import RenderConfig
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.calibration import MIN_ERRORS, fit_contract, with_recall
from dialint.eval.results import score_examples
from dialint.eval.run import evaluate
from dialint.finetune.scanner.calibrate import (
    ScoreCache,
    calibrate_natural,
    code_units,
    scan_examples,
)
from dialint.finetune.scanner.model_card import SETS, model_card
from dialint.finetune.scanner.trained import ScannerManifest
from dialint.finetune.train.checkpoint import save_weights, validate_finite
from dialint.finetune.train.lineage import TRAINING

UNKNOWN_BASE = "unknown"
TRAINING_FIELDS = (
    "examples", "config", "precision", "steps", "best_step", "seconds", "peak_memory_mb", "commit",
    "versions", "teacher", "dialogues", "continued_from",
)  # fmt: skip
"""Fields of the training's manifest that the release repeats."""
MIN_LANGUAGE_SHARE = 0.05
"""Smallest share of the calibration split at which a language counts as calibrated."""


@command_options
class PackConfig:
    """Options of `dialint train pack`."""

    scanner: Path
    """Folder of a trained scanner, also a distilled one."""
    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`, the one it was trained on."""
    out: Path
    """Folder for the release; must not exist."""
    name: str
    """Id of the release."""
    taxonomy: Path | None = None
    """A taxonomy of your own, the one it was trained on."""
    weights: Literal["bf16", "int8"] = "bf16"
    """How the backbone's matrices are stored: 16 or 8 bits a weight. Token embeddings are always int8."""
    per_100: Annotated[float, Field(ge=0)] = 0.15
    """False accusations on 100 clean turns, at most, for each code."""
    per_100_dialogues: Annotated[float, Field(ge=0)] = 0.5
    """The same on 100 clean dialogues, for codes of dialogue scope."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Confidence of these limits, on dialogues like those of the calibration split."""
    min_average_precision: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Average precision on dev from which a code is covered."""
    natural: str | None = None
    """Set of real dialogues with labels; none: calibration_natural, if `examples` has it. It decides what
    probabilities mean, and the thresholds of what is right there often enough; the scan accuses of nothing
    else then, and judges the languages of that set."""
    natural_precision: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of a code's findings on that set that must be right."""
    suggested_precision: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The same of suggestions."""
    no_suggestions: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes of which the scan suggests nothing."""
    sets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Sets of `examples` that the report holds figures of; none: all test sets and clean ones there are."""
    rounds: Annotated[int, Field(ge=0)] = 100
    """Bootstrap rounds of the report's intervals; 0: no intervals."""
    evidence: bool = True
    """Put exact checks beside the scan: codes that no model finds are found by rules. Of the built-in
    taxonomy only."""


def pack(config: PackConfig) -> None:
    """Compresses, calibrates and evaluates a trained scanner, and seals it as a release. Until then scores
    are cached beside it: after a kill or an error the same command continues."""
    require_single_process("train pack")
    scores = config.out.with_name(f".{config.out.name}.scores")
    with making_folder(config.out) as folder:
        _write_release(config, folder, scores)
    shutil.rmtree(scores, ignore_errors=True)


def _write_release(config: PackConfig, folder: Path, scores: Path) -> None:
    """Writes all files of the release to `folder`, its manifest last; scores of windows to `scores`."""
    training = read_manifest(config.scanner / TRAINING, "dialint train sft scan", ScannerManifest)
    # None: distilled without labelled examples
    if training["examples"] not in (None, data_fingerprint(config.examples)):
        raise ConfigError("E_EXAMPLE", f"{config.examples}: not the examples {config.scanner} was trained on")
    taxonomy = load_taxonomy(config.taxonomy)
    if training.get("taxonomy", taxonomy.version) != taxonomy.version:
        versions = f"trained for taxonomy {training['taxonomy']}, and this one is {taxonomy.version}"
        raise ConfigError("E_TAXONOMY", f"{config.scanner}: {versions}")
    check_names("--no-suggestions", config.no_suggestions, training["codes"])
    for name in (*config.sets, *filter(None, [config.natural])):
        require_set(config.examples, name)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(config.scanner / name, folder / name)
    _compress_weights(config, folder / WEIGHTS, training["base_sha256"])
    info = describe_release(config, training, taxonomy)
    finalize_release(folder, info)
    detector = load_detector(DetectorConfig(release=folder, taxonomy=config.taxonomy), unfinished=True)
    assert detector.scanner is not None, "a scanner was packed"
    engine = ScoreCache(detector.scanner.engine, scores, detector.weights)
    detector = detector.copy(scanner=replace(detector.scanner, engine=engine))
    path = find_set(config.examples, config.natural or "calibration_natural")
    natural = None if path is None else list(read_examples(path))
    existing = {
        code: Scan.model_validate(scan, strict=False) for code, scan in training.get("scans", {}).items()
    }
    calibrated = _calibrate(config, detector, natural, existing)
    codes = _select_codes(config, detector, calibrated, natural, existing)
    if config.evidence and config.taxonomy is None:
        codes = add_checks(codes) if codes else codes
    info = info.model_copy(update={"codes": codes, "domain": calibrated_domain(config.examples, codes)})
    if not info.covered:
        raise ConfigError(
            "E_RELEASE",
            f"{config.scanner}: no code finds enough and may flag; nothing is made. Train it longer, or for "
            "a trial relax --min-average-precision, --per-100, --per-100-dialogues",
        )
    if not info.scan_reports:
        print("no code finds enough: the scan ranks dialogues, and reports nothing", flush=True)
    info = info.model_copy(update={"report": _evaluate_sets(config, detector.copy(info=info))})
    examples = read_manifest(config.examples / MANIFEST, expected=Examples)
    (folder / "MODEL_CARD.md").write_text(model_card(info, taxonomy, examples))
    finalize_release(folder, info)


def calibrated_domain(examples: Path, codes: Mapping[str, CodeRelease]) -> Domain | None:
    """Fits the domain of a release of `codes`, by which logs are far or not, to the dialogues of training and
    calibration. None for other languages than English, for which distances were not measured, and for few
    dialogues."""
    if any(how.scan.languages != ("en",) for how in codes.values() if how.scan is not None):
        return None
    files = {name: find_set(examples, name) for name in ("train", "calibration")}
    return fit_domain(
        {
            name: (example.dialogue for example in read_examples(path))
            for name, path in files.items()
            if path is not None
        }
    )


def _evaluate_sets(config: PackConfig, detector: ReleaseDetector) -> dict[str, Any]:
    """Computes the figures of every test set."""
    report = {}
    for name in config.sets or [name for name in SETS if find_set(config.examples, name)]:
        print(f"evaluating {name}", flush=True)
        examples = read_examples(require_set(config.examples, name))
        report[name] = evaluate(
            detector, score_examples(detector, track(examples, None, name)), config.rounds
        )
    return report


def _compress_weights(config: PackConfig, target: Path, base_sha256: str) -> None:
    """Writes the scanner's weights in the format that is served."""
    from safetensors.torch import load_file

    from dialint.detector.engines.quantization import encode_weight

    packed: dict[str, Any] = {}
    for name, weight in load_file(config.scanner / WEIGHTS).items():
        validate_finite({name: weight}, config.scanner / WEIGHTS)
        packed |= encode_weight(name, weight, config.weights)
    save_weights(packed, target, {"base_sha256": base_sha256})  # one entry: several have no fixed order


def describe_release(config: PackConfig, training: dict[str, Any], taxonomy: Taxonomy) -> ReleaseInfo:
    """Returns the release before calibration, which covers no code yet."""
    recorded = training.get("base") or {}
    base = {name: recorded.get(name, UNKNOWN_BASE) for name in ("name", "revision", "licence")}
    return ReleaseInfo(
        id=config.name,
        base=Base(**base, sha256=training["base_sha256"]),
        taxonomy=taxonomy.version,
        head_codes=tuple(training["codes"]),
        dialogue_codes=tuple(c for c in training["codes"] if taxonomy.codes[c].scope == "dialogue"),
        codes={},
        render=RenderConfig.model_validate(training["render"]),
        training={k: training[k] for k in TRAINING_FIELDS if k in training} | {"weights": config.weights},
        report={},
    )


def _calibrate(
    config: PackConfig, detector: ReleaseDetector, natural: list[Example] | None, existing: Mapping[str, Scan]
) -> dict[str, CodeRelease]:
    """Fits curve and threshold of every code of the head to the calibration split. The `existing` scans of a
    continued release stay, unless the split gives a code a contract, or `natural` has `MIN_ERRORS` errors."""
    examples = list(read_examples(require_set(config.examples, "calibration")))
    if not examples:
        raise ConfigError("E_EXAMPLE", f"{config.examples}: the set calibration is empty")
    scores = scan_examples(detector, examples)
    languages = calibrated_languages(natural or examples, detector.taxonomy)
    scans: dict[str, Scan | None] = {code: existing.get(code) for code in detector.info.head_codes}
    units = {code: code_units(detector, code, examples, scores)[:2] for code in scans}
    for code, (truth, raw) in units.items():
        per: Literal["turn", "dialogue"] = "dialogue" if code in detector.info.dialogue_codes else "turn"
        rate = config.per_100 if per == "turn" else config.per_100_dialogues
        if truth.any():
            scan = fit_contract(truth, raw, rate, config.confidence, per)
            if code not in existing or (scan.contract is not None and (truth > 0.5).sum() >= MIN_ERRORS):
                scans[code] = scan.model_copy(update={"languages": languages[code]})
    if natural:
        wanted = config.natural_precision, config.suggested_precision
        fitted = calibrate_natural(detector, natural, scans, *wanted)
        scans |= {code: with_recall(scan, *units[code]) for code, scan in fitted.items()}
    return {code: CodeRelease(scan=scan) for code, scan in scans.items() if scan is not None}


def calibrated_languages(examples: Sequence[Example], taxonomy: Taxonomy) -> dict[str, tuple[str, ...]]:
    """Returns the languages of every code: those of the dialogues with its error, less languages below
    `MIN_LANGUAGE_SHARE`; codes that exclude one another have the same. English if no language is detected."""
    of_dialogue = [detect_languages(mask_dialogue(example.dialogue)[0])[0] for example in examples]
    counts = Counter(language for language in of_dialogue if language != UNKNOWN)
    common = {language for language, n in counts.items() if n >= MIN_LANGUAGE_SHARE * counts.total()} or {
        "en"
    }
    of_code: dict[str, set[str]] = {}
    for language, example in zip(of_dialogue, examples, strict=True):
        for label in example.errors:
            for code in taxonomy.rivals(label.code) or (label.code,):
                of_code.setdefault(code, set()).add(language)
    return {code: tuple(sorted(of_code.get(code, common) & common or common)) for code in taxonomy.codes}


def add_checks(codes: Mapping[str, CodeRelease]) -> dict[str, CodeRelease]:
    """Adds exact checks to `codes`, and the codes that only a check finds; in the order of the taxonomy."""
    own = {name: each.load(Check).codes for name, each in check_plugins().items() if each.is_own}
    results: dict[str, CodeRelease] = {}
    for code in load_taxonomy(None).codes:
        scan = codes[code].scan if code in codes else None
        checks = tuple(measured_check(name, code) for name, served in own.items() if code in served)
        if scan is not None or checks:
            results[code] = CodeRelease(scan=scan, checks=checks)
    return results


def _select_codes(
    config: PackConfig,
    detector: ReleaseDetector,
    calibrated: Mapping[str, CodeRelease],
    natural: list[Example] | None,
    existing: Mapping[str, Scan],
) -> dict[str, CodeRelease]:
    """Selects the codes that may flag and reach the average precision on the set dev, those `existing` in a
    release, and those with suggestions. With `natural` dialogues also those that reach it and may not flag,
    and those with `MIN_ERRORS` errors there, as their probabilities rank dialogues. Of codes that exclude one
    another all or none: their probabilities are one distribution.
    """
    examples = list(read_examples(require_set(config.examples, "dev")))
    all_codes = detector.copy(info=detector.info.model_copy(update={"codes": calibrated}))
    figures = evaluate(all_codes, score_examples(all_codes, examples), 0)["codes"]
    n_natural = Counter(label.code for example in natural or () for label in example.errors)
    selected: set[str] = set()
    for code, release in calibrated.items():
        scan, rivals = release.scan, detector.taxonomy.rivals(code)
        assert scan is not None, "no other codes are calibrated"
        precision = figures[code]["average_precision"] if code in figures else None
        figure = "no errors" if precision is None else f"average precision {precision}"
        print(f"{code}: {figure} on dev", flush=True)
        if (
            code in existing
            or n_natural[code] >= MIN_ERRORS
            or scan.natural is not None
            or scan.suggest_at is not None
        ):
            selected.add(code)
        may_rank = scan.contract is not None or rivals or natural is not None
        if may_rank and (precision or 0.0) >= config.min_average_precision:
            selected.update((code, *rivals))
    return {
        code: CodeRelease(scan=_limit(config, code, release.scan, natural is not None))
        for code, release in calibrated.items()
        if code in selected and release.scan is not None
    }


def _limit(config: PackConfig, code: str, scan: Scan, by_natural: bool) -> Scan:
    """Replaces the contract of a code by suggestions if natural dialogues have no threshold for findings of
    it, and removes suggestions by `config`."""
    if scan.natural is None and by_natural:
        limit = scan.contract.threshold if scan.contract is not None else None
        scan = scan.model_copy(update={"contract": None, "suggest_at": scan.suggest_at or limit})
    return scan.model_copy(update={"suggest_at": None}) if code in config.no_suggestions else scan
