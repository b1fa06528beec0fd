"""Makes a release of a trained scanner: compress, calibrate, choose the codes, examine, seal.

    dialint train pack --scanner build/scanner --examples build/examples --out build/release --name mine-1

Everything is measured on the compressed weights that will be served. The set ``calibration`` fits curves
and thresholds; ``dev_unseen`` (families never trained on), or ``dev`` where a dataset has no families,
decides which codes earn their place; the test sets are read once, for the report. Nothing is trained here.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder, read_manifest, require_new
from dialint.detector.calibration import Check, CodeRelease
from dialint.detector.checks import CHECKS
from dialint.detector.errors import ConfigError, DialogueFailed
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.extras import require_single_process
from dialint.detector.interface import DetectorConfig
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.masking import mask_dialogue
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.progress import track
from dialint.detector.records import Example, Verdict
from dialint.detector.release import WEIGHTS, Base, ReleaseInfo, finalize_release
from dialint.detector.render import RenderConfig
from dialint.detector.scanner import Array, Scanner
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.contract import distinct_units, fit_contract
from dialint.eval.results import score_examples, source_of
from dialint.eval.run import evaluate
from dialint.finetune.scanner.data import examples_fingerprint
from dialint.finetune.scanner.model_card import model_card
from dialint.finetune.train.finite import save_weights, validate_finite

CHECK_OF = {"M2": "unfilled_placeholder", "M3": "same_text_again"}
PHRASES_OF = {"T1": ("insult", 0.947), "V2": ("asks_secret", 0.929)}
"""Exact checks of other languages that no examples are in, with their precision on made-up lines (right + 1
of all + 2: `tests/detector/test_checks.py`, 2026-11-23)."""
UNKNOWN_BASE = "unknown"
TRAINING_FIELDS = (
    "examples", "config", "precision", "steps", "best_step", "seconds", "cost", "commit",
    "versions", "teacher", "dialogues", "pruned_from",
)  # fmt: skip
"""Fields of the training's manifest that the release repeats."""
MIN_LANGUAGE_SHARE = 0.05
"""Share of the calibration split from which a language is one that the release was calibrated on."""
REPORTED = (
    "test_seen", "test_unseen", "test_domain", "clean_star", "clean_multiwoz", "clean_toy",
    "clean_toy_other_trades", "test",
)  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PackConfig:
    """What becomes a release, and what it must keep."""

    scanner: Path
    """Folder of a trained scanner, also a distilled or pruned one."""
    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`, the one it was trained on."""
    out: Path
    """Folder for the release; must not exist."""
    name: str
    """Id of the release."""
    taxonomy: Path | None = None
    """A taxonomy of your own, the one it was trained on."""
    base_name: str | None = None
    """Name of the base model; none: as the training recorded it, else unknown."""
    base_revision: str | None = None
    """Revision of the base model; none: as the training recorded it, else unknown."""
    base_licence: str | None = None
    """Licence of the base model; none: as the training recorded it from the base's own release or model card,
    else unknown."""
    weights: Literal["bf16", "int8", "nf4"] = "bf16"
    """How the backbone's matrices are stored: 16, 8 or 4 bits a weight. Token embeddings are always int8."""
    per_100: float = 0.15
    """False accusations on 100 clean turns that no single code may pass."""
    per_100_dialogues: float = 0.5
    """The same on 100 clean dialogues, for codes of dialogue scope."""
    confidence: float = 0.9
    """Confidence of that promise, on dialogues like those of the calibration split."""
    min_average_precision: float = 0.2
    """What a code must reach on dev_unseen (families never trained on) or dev to be covered."""
    sets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Sets of `examples` that the report holds figures of; none: all test sets and clean ones there are."""
    rounds: int = 100
    """Bootstrap rounds of the report's intervals."""


def pack(config: PackConfig) -> None:
    """Compress, calibrate and examine a trained scanner, and seal it as a release."""
    require_single_process("train pack")
    require_new(config.out)
    making = config.out.with_name(f".{config.out.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    make_output_folder(making, new=True)
    _make(config, making)
    making.rename(config.out)


def _make(config: PackConfig, folder: Path) -> None:
    """Everything of a release in `folder`, sealed last."""
    training = read_manifest(config.scanner / "training.json", "dialint train sft scan")
    if training["examples"] not in (
        None,
        examples_fingerprint(config.examples),
    ):  # None: nothing labelled taught it
        raise ConfigError("E_EXAMPLE", f"{config.examples}: not the examples {config.scanner} was trained on")
    taxonomy = load_taxonomy(config.taxonomy)
    if training.get("taxonomy", taxonomy.version) != taxonomy.version:
        told = f"trained for taxonomy {training['taxonomy']}, and this one is {taxonomy.version}"
        raise ConfigError("E_TAXONOMY", f"{config.scanner}: {told}")
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(config.scanner / name, folder / name)
    _compress(config, folder / WEIGHTS, training["base_sha256"])
    info = describe_release(config, training, taxonomy)
    finalize_release(folder, info)
    detector = load_detector(DetectorConfig(release=folder, taxonomy=config.taxonomy), unfinished=True)

    calibrated = _calibrated(config, detector)
    codes = _earning(config, detector, info, calibrated)
    if config.taxonomy is None:
        codes = {code: _with_phrases(code, how) for code, how in codes.items()}
    info = info.model_copy(update={"codes": codes})
    report = _report(config, detector, info, calibrated)
    info = info.model_copy(update={"report": report})
    made = read_manifest(config.examples / "manifest.json")
    (folder / "MODEL_CARD.md").write_text(model_card(info, taxonomy, made))
    finalize_release(folder, info)


def _report(
    config: PackConfig, detector: ReleaseDetector, info: ReleaseInfo, calibrated: dict[str, CodeRelease]
) -> dict[str, Any]:
    """The figures of every test set, and of the codes that were left out."""
    judge_with, everything = (
        detector.with_info(info),
        detector.with_info(info.model_copy(update={"codes": calibrated})),
    )
    report: dict[str, Any] = {}
    for name in config.sets or [name for name in REPORTED if find_set(config.examples, name)]:
        print(f"examining {name}", flush=True)
        results = score_examples(
            everything, track(read_examples(require_set(config.examples, name)), None, name)
        )
        report[name] = evaluate(judge_with, [_only(info, result) for result in results], config.rounds)
        if name in ("test_unseen", "test"):
            rows = evaluate(everything, results, config.rounds)["codes"]
            report["left_out"] = {code: row for code, row in rows.items() if code not in info.codes}
    return report


def _only(info: ReleaseInfo, result: tuple[Example, Verdict]) -> tuple[Example, Verdict]:
    """The result with what the release covers alone."""
    example, verdict = result
    given = verdict.probabilities or {}
    kept = {
        "findings": tuple(finding for finding in verdict.findings if finding.code in info.codes),
        "probabilities": {
            turn: {c: p for c, p in row.items() if c in info.codes} for turn, row in given.items()
        },
    }
    return example, verdict.model_copy(update=kept)


def _compress(config: PackConfig, target: Path, base_sha256: str) -> None:
    """The scanner's weights in the form that is served."""
    from safetensors.torch import load_file

    from dialint.detector.engines.weight_formats import encode_weight

    packed: dict[str, Any] = {}
    for name, weight in load_file(config.scanner / WEIGHTS).items():
        validate_finite({name: weight}, config.scanner / WEIGHTS)
        packed |= encode_weight(name, weight, config.weights)
    save_weights(packed, target, {"base_sha256": base_sha256})  # one entry: several have no fixed order


def describe_release(config: PackConfig, training: dict[str, Any], taxonomy: Taxonomy) -> ReleaseInfo:
    """The release before it is calibrated: it covers no code yet."""
    recorded = training.get("base") or {}
    base = {
        "name": config.base_name or recorded.get("name", UNKNOWN_BASE),
        "revision": config.base_revision or recorded.get("revision", UNKNOWN_BASE),
        "licence": config.base_licence or recorded.get("licence", UNKNOWN_BASE),
    }
    if missing := [name for name, value in base.items() if value == UNKNOWN_BASE]:
        options = ", ".join(f"--base-{name}" for name in missing)
        print(f"the base model's {', '.join(missing)}: unknown; {options} would say", file=sys.stderr)
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


def _calibrated(config: PackConfig, detector: ReleaseDetector) -> dict[str, CodeRelease]:
    """Curve, threshold and check of every code of the head, from the calibration split."""
    examples = list(read_examples(require_set(config.examples, "calibration")))
    if not examples:
        raise ConfigError("E_EXAMPLE", f"{config.examples}: the set calibration is empty")
    scores = _scores(detector.scanner, examples)
    languages = _languages(examples, detector.taxonomy)
    found = {}
    for column, code in enumerate(detector.info.head_codes):
        per: Literal["turn", "dialogue"] = "dialogue" if code in detector.info.dialogue_codes else "turn"
        raised = [{turn: float(row[column]) for turn, row in turns.items()} for turns in scores]
        truth, raw = distinct_units(raised, examples, code, whole_dialogue=per == "dialogue")
        rate = config.per_100 if per == "turn" else config.per_100_dialogues
        scan = fit_contract(truth, raw, rate, config.confidence, per) if truth.any() else None
        check = _check(code, examples) if config.taxonomy is None else None
        if scan is not None:
            scan = scan.model_copy(update={"languages": languages[code]})
        if scan is not None or check is not None:
            found[code] = CodeRelease(scan=scan, check=check)
    return found


def _with_phrases(code: str, how: CodeRelease) -> CodeRelease:
    """With the exact check of other languages, where there is one for the code."""
    if code not in PHRASES_OF or how.check is not None:
        return how
    name, precision = PHRASES_OF[code]
    return how.model_copy(update={"check": Check(name=name, precision=precision)})


def _languages(examples: Sequence[Example], taxonomy: Taxonomy) -> dict[str, tuple[str, ...]]:
    """The languages of every code: those of the dialogues that hold its error, without the few dialogues in
    another; codes that exclude one another have the same. English where no dialogue tells its language."""
    of_dialogue = [detect_languages(mask_dialogue(example.dialogue)[0])[0] for example in examples]
    told = Counter(language for language in of_dialogue if language != UNKNOWN)
    common = {language for language, n in told.items() if n >= MIN_LANGUAGE_SHARE * told.total()} or {"en"}
    of_code: dict[str, set[str]] = {}
    for language, example in zip(of_dialogue, examples, strict=True):
        for label in example.errors:
            for code in taxonomy.rivals(label.code) or (label.code,):
                of_code.setdefault(code, set()).add(language)
    return {code: tuple(sorted(of_code.get(code, common) & common or common)) for code in taxonomy.codes}


def _scores(scanner: Scanner, examples: list[Example]) -> list[dict[int, Array]]:
    """Each example's scores, by turn."""
    scores: list[dict[int, Array]] = []
    masked = (mask_dialogue(example.dialogue)[0] for example in examples)
    for scan in track(scanner.stream(masked), len(examples), "scanning"):
        turns = () if isinstance(scan, DialogueFailed) else scan
        scores.append({turn.turn: turn.scores for turn in turns})
    return scores


def _check(code: str, examples: list[Example]) -> Check | None:
    """The exact check of a code with its precision on these examples, smoothed by one of each."""
    if code not in CHECK_OF:
        return None
    hits: dict[tuple[str, str], bool] = {}
    for example in examples:
        labelled = {label.turn for label in example.errors if label.code == code}
        text = {turn.index: turn.text for turn in example.dialogue.turns}
        for hit in CHECKS[CHECK_OF[code]](example.dialogue):
            hits[source_of(example), text[hit.turn]] = hit.turn in labelled
    right, wrong = sum(hits.values()), len(hits) - sum(hits.values())
    return Check(name=CHECK_OF[code], precision=round((right + 1) / (right + wrong + 2), 3))


def _earning(
    config: PackConfig, detector: ReleaseDetector, info: ReleaseInfo, calibrated: dict[str, CodeRelease]
) -> dict[str, CodeRelease]:
    """The codes that find enough in families they were never shown, and may flag at all; codes that
    exclude one another all or none, also where none may flag: their probabilities are one distribution.

    Raises:
        ConfigError: none does.
    """
    name = "dev_unseen" if find_set(config.examples, "dev_unseen") else "dev"
    examples = list(read_examples(require_set(config.examples, name)))
    judge_with = detector.with_info(info.model_copy(update={"codes": calibrated}))
    figures = evaluate(judge_with, score_examples(judge_with, examples), 0)["codes"]
    kept: set[str] = set()
    for code, how in calibrated.items():
        reached = figures[code]["average_precision"] or 0.0
        may_flag = how.check is not None or (how.scan is not None and how.scan.contract is not None)
        print(f"{code}: average precision {reached} on {name}", flush=True)
        rivals = detector.taxonomy.rivals(code)
        if (may_flag or rivals) and reached >= config.min_average_precision:
            kept.update((code, *rivals))
    if not kept:
        raise ConfigError(
            "E_RELEASE",
            f"{config.scanner}: no code finds enough and may flag; nothing is made. Teach it longer, or for "
            "a trial ask for less: --min-average-precision, --per-100, --per-100-dialogues",
        )
    return {code: how for code, how in calibrated.items() if code in kept}
