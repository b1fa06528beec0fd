"""Baselines that a release is compared with: `clean`, and TF-IDF with logistic regression.

    dialint eval baseline --examples build/examples --out build/tfidf

Reads ``train.jsonl`` and ``calibration.jsonl`` of an examples folder; writes weights as arrays (no pickle),
``baseline.json`` with curves and contracts, and last the manifest. Curves and thresholds are fitted by the
rule that releases are packed with, so figures at the threshold can be compared. Findings quote a whole turn.

Four blocks of hashed n-grams (no vocabulary is stored), each weighted by TF-IDF and of length one: words
(1-2) and characters (3-5) of the turn, words (1-2) of the two turns before it, and of all before those;
context words carry their speaker. One logistic regression for each code against the rest. All turns with an
error and their counterparts in clean twins are learned from, and one in `KEEP_ONE_IN` of the others; what
that does to the rates is for calibration to mend.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    fingerprint,
    package_versions,
    read_manifest,
    sha256_file,
    verify_files,
    write_json,
    write_manifest,
)
from dialint.detector.calibration import Scan, round_probability
from dialint.detector.environment import require_extra, require_library
from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, DetectorConfig, PlainDetector
from dialint.detector.manifests import Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, Finding, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.unfinished import making_folder
from dialint.eval.contract import distinct_units, fit_contract
from dialint.eval.metrics import Floats
from dialint.eval.results import read_examples

BASELINE, WEIGHTS = "baseline.json", "weights.npz"
BITS = (17, 18, 17, 17)
"""Buckets of each block, as powers of two: turn words, turn characters, turns before, history."""
KEEP_ONE_IN = 4
MIN_ERRORS = 20
"""A code with fewer errors is not learned."""
PENALTY = 1e-6
"""Weight of the squared coefficients."""
PASSES = 12
"""Over all turns, by stochastic gradient: the exact solvers take minutes for each code (2026-11-21)."""
CHUNK = 4096
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


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


def baseline(*, config: Annotated[BaselineConfig, Parameter(name="*")]) -> None:
    """Train and calibrate a baseline that releases are compared with."""
    require_extra("train", "dialint eval baseline")
    for name in ("train.jsonl", "calibration.jsonl"):
        if not (config.examples / name).is_file():
            raise ConfigError(
                "E_EXAMPLE", f"{config.examples / name}: no such file; `dialint data inject` makes it"
            )
    with making_folder(config.out) as folder:
        train(read_examples(config.examples / "train.jsonl"), folder, config.seed)
        scans = _calibrate(_Model(folder), list(read_examples(config.examples / "calibration.jsonl")), config)
        if not scans:
            raise ConfigError(
                "E_EXAMPLE", f"{config.examples}/calibration.jsonl: no error of a code that it covers"
            )
        codes = {code: scan.model_dump(mode="json") for code, scan in scans.items()}
        write_json(folder / BASELINE, {"codes": codes})
        settings = {name: str(v) if isinstance(v, Path) else v for name, v in asdict(config).items()}
        write_manifest(
            folder / MANIFEST,
            {
                "kind": "baseline",
                "config": settings,
                "versions": package_versions("dialint", "scikit-learn", "numpy"),
                "files": [file_entry(path) for path in sorted(folder.iterdir())],
            },
        )


def _calibrate(model: _Model, examples: list[Example], config: BaselineConfig) -> dict[str, Scan]:
    """Curve and contract of each code that the split holds an error of."""
    entries = load_taxonomy().codes
    scored = model.scores([example.dialogue for example in examples])
    scans = {}
    for code in model.codes:
        whole = entries[code].scope == "dialogue"
        raised = [{turn: row[code] for turn, row in turns.items() if code in row} for turns in scored]
        truth, scores, _ = distinct_units(raised, examples, code, whole_dialogue=whole)
        if truth.any():
            rate = config.per_100_dialogues if whole else config.per_100
            scans[code] = fit_contract(
                truth, scores, rate, config.confidence, "dialogue" if whole else "turn"
            )
    return scans


def open_detector(name: str | None, config: DetectorConfig) -> Detector:
    """The detector called `name`: `clean`, the folder of a baseline or of a release; None: the one that
    `config` names.

    Raises:
        ConfigError: there is no such folder.
        ReleaseRefused, OutputRefused: the folder is damaged.
    """
    folder = config.release if name is None else Path(name)
    if folder is not None and (folder / BASELINE).is_file():
        return open_baseline(folder, load_taxonomy(config.taxonomy))
    if name == "clean" and not Path(name).is_dir():
        return BaselineDetector(load_taxonomy(config.taxonomy))
    if name is not None and not Path(name).is_dir():
        raise ConfigError("E_OPTION", f"--against {name}: neither a folder nor clean")
    from dialint.detector.pipeline import load_detector

    return load_detector(DetectorConfig(**{**vars(config), "release": folder}))


def open_baseline(folder: Path, taxonomy: Taxonomy) -> BaselineDetector:
    """The baseline that `dialint eval baseline` wrote to `folder`.

    Raises:
        OutputRefused: it is incomplete or was changed.
    """
    verify_files(folder, read_manifest(folder / MANIFEST, expected=Folder)["files"])
    require_library("sklearn", f"{folder}, a baseline,")
    content = json.loads((folder / BASELINE).read_text())
    scans = {code: Scan.model_validate_json(json.dumps(scan)) for code, scan in content["codes"].items()}
    return BaselineDetector(taxonomy, _Model(folder), scans)


class BaselineDetector(PlainDetector):
    """TF-IDF with a curve and a contract for each code; without a `model`, every turn is clean."""

    def __init__(
        self, taxonomy: Taxonomy, model: _Model | None = None, scans: Mapping[str, Scan] | None = None
    ) -> None:
        self.taxonomy, self.model, self.scans = taxonomy, model, dict(scans or {})
        self.release = "baseline-clean" if model is None else "baseline-tfidf"
        self.codes = tuple(code for code in taxonomy.codes if model is None or code in self.scans)
        self.fingerprint = fingerprint(
            [
                self.release if model is None else model.fingerprint,
                {code: scan.model_dump(mode="json") for code, scan in self.scans.items()},
                taxonomy.model_dump(mode="json"),
            ]
        )

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        nothing: list[dict[int, dict[str, float]]] = [
            {dialogue.turns[position].index: {} for position in judged_positions(dialogue)}
            for dialogue in dialogues
        ]
        scores = nothing if self.model is None else self.model.scores(dialogues)
        return [
            self._verdict(dialogue, rows, all_probabilities)
            for dialogue, rows in zip(dialogues, scores, strict=True)
        ]

    def _verdict(
        self, dialogue: Dialogue, scores: Mapping[int, Mapping[str, float]], all_probabilities: bool
    ) -> Verdict:
        probabilities = {turn: dict.fromkeys(self.codes, 0.0) for turn in scores}
        accused: list[tuple[int, str, float]] = []
        for turn, row in scores.items():
            for code in row.keys() & self.scans.keys():
                scan, probability = self.scans[code], self.scans[code].probability(row[code])
                probabilities[turn][code] = round_probability(probability)
                if scan.contract is not None and probability >= scan.contract.threshold:
                    accused.append((turn, code, probability))
        findings = self._findings(dialogue, sorted(accused)) if accused else ()
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored" if scores else "failed",
            failure=None if scores else "E_NO_AGENT_TURN",
            quality=self.taxonomy.quality(findings) if scores else None,
            findings=findings,
            probabilities=probabilities if scores and all_probabilities else None,
        )

    def _findings(self, dialogue: Dialogue, accused: Sequence[tuple[int, str, float]]) -> tuple[Finding, ...]:
        masked, _ = mask_dialogue(dialogue)
        position_of = {turn.index: position for position, turn in enumerate(dialogue.turns)}
        findings = []
        for turn, code, probability in accused:
            original, entry = dialogue.turns[position_of[turn]], self.taxonomy.codes[code]
            findings.append(
                Finding(
                    code=code,
                    turn=turn,
                    severity=entry.severity,
                    fault="bot" if original.role == "bot" else entry.fault,
                    probability=round_probability(probability),
                    quote=masked.turns[position_of[turn]].text.strip(),
                    start=len(original.text) - len(original.text.lstrip()),
                    end=len(original.text.rstrip()),
                    reason=f"{entry.name.en}.",
                )
            )
        return tuple(findings)


@dataclass(frozen=True)
class Unit:
    """A judged turn: its text, the two turns before it, and all before those, as the blocks read them."""

    turn: str
    before: str
    history: str


def extract_units(dialogue: Dialogue) -> dict[int, Unit]:
    """The judged turns by their index; every digit reads as 0. Results of tools are no words of theirs."""
    dialogue = dialogue.model_copy(
        update={"turns": tuple(turn for turn in dialogue.turns if not turn.is_unseen)}
    )
    texts = [re.sub(r"\d", "0", turn.text.lower()) for turn in dialogue.turns]
    spoken = [
        " ".join(turn.role[0] + "_" + word for word in _TOKEN.findall(text))
        for turn, text in zip(dialogue.turns, texts, strict=True)
    ]
    return {
        dialogue.turns[position].index: Unit(
            texts[position],
            " ".join(spoken[max(0, position - 2) : position]),
            " ".join(spoken[: max(0, position - 2)]),
        )
        for position in judged_positions(dialogue)
    }


def count_ngrams(rows: Sequence[Unit]) -> list[Any]:
    """Counts of each block, sparse, shape (rows, buckets)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    plain = {"alternate_sign": False, "norm": None, "lowercase": False, "dtype": np.float32}
    words = {**plain, "ngram_range": (1, 2)}
    blocks = (
        HashingVectorizer(n_features=2 ** BITS[0], token_pattern=_TOKEN.pattern, **words),
        HashingVectorizer(n_features=2 ** BITS[1], analyzer="char_wb", ngram_range=(3, 5), **plain),
        HashingVectorizer(n_features=2 ** BITS[2], token_pattern=r"\S+", **words),
        HashingVectorizer(n_features=2 ** BITS[3], token_pattern=r"\S+", **words),
    )
    columns = (
        [u.turn for u in rows],
        [u.turn for u in rows],
        [u.before for u in rows],
        [u.history for u in rows],
    )
    return [block.transform(column) for block, column in zip(blocks, columns, strict=True)]


def weight_blocks(counts: Sequence[Any], idf: Sequence[Floats]) -> Any:
    """The blocks side by side: 1 + log of the count, times idf, each row of a block of length one."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    blocks = []
    for block, weight in zip(counts, idf, strict=True):
        block = block.copy()
        block.data = np.log(block.data) + 1.0
        blocks.append(normalize(block @ sparse.diags(weight), copy=False))
    return sparse.hstack(blocks, format="csr", dtype=np.float32)


def train(examples: Iterable[Example], folder: Path, seed: int = 0) -> None:
    """Learn from labelled examples and write the weights to `folder`.

    Raises:
        ConfigError: no code has errors enough.
    """
    from sklearn.linear_model import SGDClassifier

    rows, labels = _rows(examples, Random(seed))
    entries = load_taxonomy().codes
    codes = [code for code in entries if sum(code in spans for spans in labels) >= MIN_ERRORS]
    if not codes:
        raise ConfigError("E_EXAMPLE", f"no code has {MIN_ERRORS} errors or more to learn from")
    counts = count_ngrams(rows)
    idf = [inverse_document_frequency(block) for block in counts]
    table = weight_blocks(counts, idf)
    del counts
    weights, offsets = [], []
    for code in codes:
        print(f"learning {code} from {len(rows)} turns", flush=True)
        model = SGDClassifier(loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=seed)
        model.fit(table, np.array([code in spans for spans in labels]))
        weights.append(model.coef_[0].astype(np.float32))
        offsets.append(float(model.intercept_[0]))
    arrays: dict[str, Any] = {f"idf{position}": weight for position, weight in enumerate(idf)}
    arrays |= {"codes": np.array(codes), "weights": np.array(weights), "offsets": np.array(offsets)}
    np.savez_compressed(folder / WEIGHTS, **arrays)


def inverse_document_frequency(block: Any) -> Floats:
    """Smoothed inverse document frequency of each bucket. Source: scikit-learn's ``TfidfTransformer``."""
    spans = np.bincount(block.indices, minlength=block.shape[1])
    return np.asarray(np.log((1.0 + block.shape[0]) / (1.0 + spans)) + 1.0, np.float32)


def _rows(examples: Iterable[Example], random: Random) -> tuple[list[Unit], list[frozenset[str]]]:
    """Turns to learn from, with the codes of each."""
    rows: list[Unit] = []
    labels: list[frozenset[str]] = []
    for example in examples:
        of_turn: dict[int, set[str]] = {}
        for label in example.errors:
            of_turn.setdefault(label.turn, set()).add(label.code)
        probes = example.dialogue.metadata.get("probes")
        twins = {
            probe["turn"] for probe in (probes if isinstance(probes, list) else []) if isinstance(probe, dict)
        }
        for turn, unit in extract_units(example.dialogue).items():
            if turn in of_turn or turn in twins or random.random() < 1 / KEEP_ONE_IN:
                rows.append(unit)
                labels.append(frozenset(of_turn.get(turn, ())))
    return rows, labels


class _Model:
    """Trained weights, read from their folder."""

    def __init__(self, folder: Path) -> None:
        self.fingerprint = sha256_file(folder / WEIGHTS)
        with np.load(folder / WEIGHTS, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        self.codes = tuple(str(code) for code in stored["codes"])
        self._weights, self._offsets = stored["weights"], stored["offsets"]
        self._idf = [stored[f"idf{position}"] for position in range(len(BITS))]

    def scores(self, dialogues: Sequence[Dialogue]) -> list[dict[int, dict[str, float]]]:
        """Log odds by turn and code of each dialogue; a code of dialogue scope has its best turn only."""
        of_dialogue = [extract_units(dialogue) for dialogue in dialogues]
        rows = [unit for of_turn in of_dialogue for unit in of_turn.values()]
        tables = [
            weight_blocks(count_ngrams(rows[start : start + CHUNK]), self._idf) @ self._weights.T
            + self._offsets
            for start in range(0, len(rows), CHUNK)
        ]
        remaining = iter(np.concatenate(tables)) if tables else iter(())
        entries = load_taxonomy().codes
        whole = [code for code in self.codes if entries[code].scope == "dialogue"]
        result = []
        for of_turn in of_dialogue:
            table = {turn: dict(zip(self.codes, next(remaining).tolist(), strict=True)) for turn in of_turn}
            for code in whole if table else ():
                best = max(table, key=lambda turn: (table[turn][code], turn))
                for turn in table.keys() - {best}:
                    del table[turn][code]
            result.append(table)
        return result


def judged_positions(dialogue: Dialogue) -> list[int]:
    """Positions in `dialogue.turns` of the judged turns."""
    return [
        position
        for position, turn in enumerate(dialogue.turns)
        if turn.role in JUDGED_ROLES and turn.text.strip()
    ]
