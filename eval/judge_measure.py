"""Measures a judge that reads whole dialogues: it reads some with labels, and what it lists is compared.

An error that it lists is right if a label of that turn has its code. How often that is so decides, by family
of codes, from which probability on its errors are findings; a family of which it lists few is shrunk to all
of them. A judge of which it is not sure that it keeps the precision accuses of nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dialint.detector.artifacts import atomic_file, fingerprint, make_output_folder
from dialint.detector.calibration import sigmoid
from dialint.detector.errors import ConfigError
from dialint.detector.interface import PlainDetector
from dialint.detector.judge.engine import JudgeEngine
from dialint.detector.judge.prompt import PROMPT_VERSION, load_words, split_families
from dialint.detector.judge.reading import LEAST_PROBABILITY, ReadError
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.overrides import LEAST, JudgeContract, JudgedCode
from dialint.detector.records import Dialogue, Label, Record, Verdict
from dialint.detector.statistics import clopper_pearson_upper
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.contract import fit_platt

PRIOR = 5.0
"""Weight of the shrinkage of a family to all codes, as listed errors."""
CONFIDENCE = 0.8
"""With which the precision of all findings together must be reached."""
MIN_LISTED = 20
"""Errors that a judge must list before anything is concluded."""


class ListedError(Record):
    """An error that a judge listed in a dialogue with labels."""

    code: str
    probability: float
    is_right: bool


class Comparison(Record):
    """What a judge listed, in how many dialogues, and how many of the labels it found, by code."""

    n_dialogues: int
    listed: tuple[ListedError, ...]
    labels: dict[str, int]
    found: dict[str, int]


class Silent(PlainDetector):
    """A detector that finds nothing."""

    release = "none"
    fingerprint = "none"
    codes: tuple[str, ...] = ()

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        """Clean verdicts."""
        return [
            Verdict(
                dialogue_id=dialogue.id,
                release=self.release,
                taxonomy=self.taxonomy.version,
                status="scored",
                quality=100.0,
            )
            for dialogue in dialogues
        ]


def compare(
    dialogues: Sequence[Dialogue], errors: Sequence[Sequence[ReadError]], labels: Sequence[Label]
) -> Comparison:
    """What the judge listed in the dialogues against their labels. Errors whose quote is not in the turn are
    left out, as they become no findings."""
    labelled = {(label.dialogue_id, label.turn, label.code) for label in labels if label.probability > 0.5}
    listed: list[ListedError] = []
    found: set[tuple[str, int, str]] = set()
    for dialogue, own in zip(dialogues, errors, strict=True):
        best: dict[tuple[str, int, str], float] = {}
        for error in own:
            if error.start is not None and error.probability >= LEAST_PROBABILITY:
                key = (dialogue.id, error.turn, error.code)
                best[key] = max(error.probability, best.get(key, 0.0))
        listed += [
            ListedError(code=key[2], probability=probability, is_right=key in labelled)
            for key, probability in best.items()
        ]
        found |= labelled & best.keys()
    codes = sorted({code for _, _, code in labelled})
    return Comparison(
        n_dialogues=len(dialogues),
        listed=tuple(listed),
        labels={code: sum(each[2] == code for each in labelled) for code in codes},
        found={code: sum(each[2] == code for each in found) for code in codes},
    )


def fit_contract(judge: str, result: Comparison, taxonomy: Taxonomy, precision: float) -> JudgeContract:
    """What the judge's probabilities are worth, for all codes of the taxonomy, and from which on they are
    findings at a `precision` of at least so much."""
    families = [tuple(family) for family in split_families(taxonomy, taxonomy.codes)]
    listed = result.listed
    right = np.array([each.is_right for each in listed], bool)
    stated = np.array([_logit(each.probability) for each in listed])
    slope, offset = fit_platt(right, stated) if len(listed) and right.any() else (1.0, 0.0)
    calibrated = np.array([sigmoid(slope * each + offset) for each in stated.tolist()])
    pooled = float(right.mean()) if len(listed) else 0.5
    codes: dict[str, JudgedCode] = {}
    flagged = np.zeros(len(listed), bool)
    for family in families:
        own = np.array([each.code in family for each in listed], bool)
        n, n_right, expected = int(own.sum()), int(right[own].sum()), float(calibrated[own].sum())
        share = (n_right + PRIOR * pooled) / (n + PRIOR)
        shift = _logit(share) - _logit((expected + PRIOR * pooled) / (n + PRIOR))
        values = np.array([sigmoid(_logit(each) + shift) for each in calibrated[own].tolist()])
        threshold = _lowest_threshold(values, right[own], precision, pooled)
        above = values >= threshold if threshold is not None else np.zeros(n, bool)
        flagged[np.flatnonzero(own)[above]] = True
        for code in family:
            codes[code] = JudgedCode(
                slope=slope,
                offset=offset + shift,
                threshold=threshold,
                flagged=int(above.sum()),
                right=int(right[own][above].sum()),
                n_errors=result.labels.get(code, 0),
                n_questions=max(1, result.n_dialogues),
            )
    n_flagged, n_right = int(flagged.sum()), int(right[flagged].sum())
    lower = 1.0 - clopper_pearson_upper(n_flagged - n_right, n_flagged, CONFIDENCE) if n_flagged else 0.0
    if n_flagged < MIN_LISTED or lower < precision:
        codes = {
            code: own.model_copy(update={"threshold": None, "flagged": 0, "right": 0})
            for code, own in codes.items()
        }
    return JudgeContract(
        judge=judge,
        prompt=PROMPT_VERSION,
        precision=precision,
        codes=codes,
        dialogues=result.n_dialogues,
        listed=len(listed),
        right=int(right.sum()),
        labels=sum(result.labels.values()),
        found=sum(result.found.values()),
    )


def _lowest_threshold(values: np.ndarray, right: np.ndarray, precision: float, pooled: float) -> float | None:
    """The lowest calibrated probability from which on the family's errors are right often enough, by the
    mean of the probabilities and by the shrunk share of those that were right. A family of which nothing was
    listed begins at the precision itself."""
    best = None
    for threshold in sorted({round(float(value), 6) for value in values} | {precision}, reverse=True):
        above = values >= threshold - 1e-9
        n = int(above.sum())
        share = (int(right[above].sum()) + PRIOR * pooled) / (n + PRIOR)
        mean = float(values[above].mean()) if n else threshold
        if min(share, mean) < precision:
            break
        best = threshold
    return best


def _logit(probability: float) -> float:
    p = min(max(probability, LEAST), 1 - LEAST)
    return math.log(p / (1 - p))


def measure(
    engine: JudgeEngine,
    taxonomy: Taxonomy,
    options: StageOptions,
    dialogues: Sequence[Dialogue],
    labels: Sequence[Label],
) -> Comparison:
    """Has the judge read the dialogues and compares what it lists.

    Raises:
        ConfigError: E_JUDGE; it gave no usable answer to a tenth of them.
        WorldError: it is gone.
    """
    reader = JudgedDetector(Silent(taxonomy), engine, options)
    cases = reader.read(dialogues)
    failed = sum(bool(case.failures) for case in cases)
    if 10 * failed > len(cases):
        causes = sorted({failure for case in cases for failure in case.failures})
        raise ConfigError(
            "E_JUDGE",
            f"{reader.judge_name} could not be measured: no usable answer about {failed} of {len(cases)} "
            f"dialogues ({', '.join(causes)})",
        )
    return compare(dialogues, [case.errors for case in cases], labels)


def sample_tokens(
    engine: JudgeEngine, taxonomy: Taxonomy, options: StageOptions, dialogues: Sequence[Dialogue]
) -> int:
    """Tokens of the prompts that measuring takes, about, without second looks."""
    reader = JudgedDetector(Silent(taxonomy), engine, options)
    return sum(engine.count_tokens(question.messages) for question in reader.questions(dialogues))


def measured_contract(
    engine: JudgeEngine,
    taxonomy: Taxonomy,
    options: StageOptions,
    precision: float,
    folder: Path,
    dialogues: Sequence[Dialogue],
    labels: Sequence[Label],
    announce: Callable[[], None],
) -> JudgeContract:
    """The contract of a judge: from `folder`, where what was measured is kept by model, prompt and options,
    or measured now, after a call of `announce`."""
    key = fingerprint(
        [
            engine.fingerprint,
            load_words().fingerprint,
            taxonomy.model_dump(mode="json"),
            [
                sorted(options.codes),
                options.detail,
                options.language,
                options.has_rewrites,
                options.has_second_look,
            ],
            [dialogue.model_dump(mode="json") for dialogue in dialogues],
            [label.model_dump(mode="json") for label in labels],
        ]
    )
    path = folder / f"{key}.json"
    if path.exists():
        result = Comparison.model_validate_json(path.read_bytes())
    else:
        announce()
        result = measure(engine, taxonomy, options, dialogues, labels)
        make_output_folder(folder)
        with atomic_file(path) as file:
            file.write(result.model_dump_json().encode())
    return fit_contract(engine.name, result, taxonomy, precision)
