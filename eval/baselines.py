"""Baselines that a release is compared with: `clean`, and TF-IDF with logistic regression.

    dialint eval run build/examples/test.jsonl --against clean tfidf:build/examples

`tfidf:FOLDER` learns from ``train.jsonl`` and ``calibration.jsonl`` of a folder of examples when it is
opened; nothing is stored. Curves and thresholds are fitted by the rule that releases are packed with, so
figures at the threshold can be compared. Findings quote a whole turn.

Four blocks of hashed n-grams (no vocabulary is stored), each weighted by TF-IDF and of length one: words
(1-2) and characters (3-5) of the turn, words (1-2) of the two turns before it, and of all before those;
context words carry their speaker. One logistic regression for each code against the rest. It is trained on
all turns with an error, their counterparts in clean twins, and one in `KEEP_ONE_IN` of the others;
calibration corrects the rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import numpy as np

from dialint.detector.artifacts import fingerprint, sha256_file
from dialint.detector.calibration import Scan, round_probability
from dialint.detector.environment import require_extra
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import require_set
from dialint.detector.interface import Detector, DetectorConfig, PlainDetector
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, Finding, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.calibration import distinct_units, fit_contract
from dialint.eval.results import read_examples

TFIDF = "tfidf:"
"""Prefix of this baseline's name, before the folder of examples."""
PER_100_TURNS, PER_100_DIALOGUES, CONFIDENCE = 0.15, 0.5, 0.9
"""Contract of each code: false accusations on 100 clean turns, or dialogues, and the confidence in it."""
SEED = 0
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


def open_detector(name: str | None, config: DetectorConfig) -> Detector:
    """Opens the detector `name`: `clean`, ``tfidf:`` and a folder of examples, or the folder of a release;
    None: that of `config`.

    Raises:
        ConfigError: there is no such folder, or too few errors in it to learn from.
        ReleaseRefused: the folder is damaged.
    """
    if name is not None and name.startswith(TFIDF):
        return train_tfidf(Path(name.removeprefix(TFIDF)), load_taxonomy(config.taxonomy))
    if name == "clean" and not Path(name).is_dir():
        return BaselineDetector(load_taxonomy(config.taxonomy))
    if name is not None and not Path(name).is_dir():
        raise ConfigError("E_OPTION", f"--against {name}: neither a folder, clean, nor tfidf:FOLDER")
    from dialint.detector.pipeline import load_detector

    return load_detector(config if name is None else replace(config, release=Path(name)))


def train_tfidf(examples: Path, taxonomy: Taxonomy) -> BaselineDetector:
    """Trains and calibrates TF-IDF with logistic regression on a folder of examples.

    Raises:
        ConfigError: the folder lacks a split, or no code has errors enough.
    """
    require_extra("train", "--against tfidf:FOLDER")
    paths = [require_set(examples, split) for split in ("train", "calibration")]
    model = _Model(read_examples(paths[0]))
    calibration = list(read_examples(paths[1]))
    scored = model.scores([example.dialogue for example in calibration])
    scans = {}
    for code in model.codes:
        whole = taxonomy.codes[code].scope == "dialogue"
        raised = [{turn: row[code] for turn, row in turns.items() if code in row} for turns in scored]
        truth, scores, _ = distinct_units(raised, calibration, code, whole_dialogue=whole)
        if truth.any():
            rate = PER_100_DIALOGUES if whole else PER_100_TURNS
            unit: Literal["turn", "dialogue"] = "dialogue" if whole else "turn"
            scans[code] = fit_contract(truth, scores, rate, CONFIDENCE, unit)
    if not scans:
        raise ConfigError("E_EXAMPLE", f"{paths[1]}: no error of a code that it covers")
    return BaselineDetector(taxonomy, model, scans, fingerprint(sorted(map(sha256_file, paths))))


class BaselineDetector(PlainDetector):
    """TF-IDF with a curve and a contract for each code; without a `model`, every turn is clean."""

    def __init__(
        self,
        taxonomy: Taxonomy,
        model: _Model | None = None,
        scans: Mapping[str, Scan] | None = None,
        data: str = "",
    ) -> None:
        """`data` is the fingerprint of the training data."""
        self.taxonomy, self.model, self.scans = taxonomy, model, dict(scans or {})
        self.release = "baseline-clean" if model is None else "baseline-tfidf"
        self.codes = tuple(code for code in taxonomy.codes if model is None or code in self.scans)
        scans_json = {code: scan.model_dump(mode="json") for code, scan in self.scans.items()}
        self.fingerprint = fingerprint([self.release, data, scans_json, taxonomy.model_dump(mode="json")])

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
            quality=self.taxonomy.quality(findings, dialogue.team) if scores else None,
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


class Unit(NamedTuple):
    """A judged turn: its text, the two turns before it, and all before those, as the blocks read them."""

    turn: str
    before: str
    history: str


def extract_units(dialogue: Dialogue) -> dict[int, Unit]:
    """Returns the judged turns by index, every digit as 0, without the turns that the customer did not
    see."""
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


def make_features() -> Any:
    """Returns the blocks as one transformer of units: 1 + log of the count, times the inverse document
    frequency, each row of a block of length one."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline, make_union

    def block(column: int, bits: int, **options: Any) -> Any:
        counts = HashingVectorizer(
            n_features=2**bits, preprocessor=itemgetter(column), alternate_sign=False, norm=None,
            dtype=np.float32, **options,
        )  # fmt: skip
        return make_pipeline(counts, TfidfTransformer(sublinear_tf=True))

    words = {"ngram_range": (1, 2)}
    return make_union(
        block(0, BITS[0], token_pattern=_TOKEN.pattern, **words),
        block(0, BITS[1], analyzer="char_wb", ngram_range=(3, 5)),
        block(1, BITS[2], token_pattern=r"\S+", **words),
        block(2, BITS[3], token_pattern=r"\S+", **words),
    )


def _rows(examples: Iterable[Example], random: Random) -> tuple[list[Unit], list[frozenset[str]]]:
    """Returns the turns to train on, with the codes of each."""
    rows: list[Unit] = []
    labels: list[frozenset[str]] = []
    for example in examples:
        of_turn: dict[int, set[str]] = {}
        for label in example.errors:
            of_turn.setdefault(label.turn, set()).add(label.code)
        labelled = {label.turn for label in example.labels}
        for turn, unit in extract_units(example.dialogue).items():
            if turn in labelled or random.random() < 1 / KEEP_ONE_IN:
                rows.append(unit)
                labels.append(frozenset(of_turn.get(turn, ())))
    return rows, labels


class _Model:
    """A logistic regression for each code with `MIN_ERRORS` errors or more."""

    def __init__(self, examples: Iterable[Example]) -> None:
        """
        Raises:
            ConfigError: no code has errors enough.
        """
        from sklearn.linear_model import SGDClassifier

        rows, labels = _rows(examples, Random(SEED))
        codes = [c for c in load_taxonomy().codes if sum(c in of_row for of_row in labels) >= MIN_ERRORS]
        if not codes:
            raise ConfigError("E_EXAMPLE", f"no code has {MIN_ERRORS} errors or more to learn from")
        self.codes = tuple(codes)
        self._features = make_features()
        table = self._features.fit_transform(rows)
        self._classifiers = []
        for code in codes:
            print(f"learning {code} from {len(rows)} turns", flush=True)
            model = SGDClassifier(
                loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=SEED
            )
            self._classifiers.append(model.fit(table, np.array([code in of_row for of_row in labels])))

    def scores(self, dialogues: Sequence[Dialogue]) -> list[dict[int, dict[str, float]]]:
        """Returns log odds by turn and code of each dialogue; of a code of dialogue scope the best turn's
        only."""
        of_dialogue = [extract_units(dialogue) for dialogue in dialogues]
        rows = [unit for of_turn in of_dialogue for unit in of_turn.values()]
        tables = [
            np.column_stack([each.decision_function(block) for each in self._classifiers])
            for start in range(0, len(rows), CHUNK)
            for block in [self._features.transform(rows[start : start + CHUNK])]
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
