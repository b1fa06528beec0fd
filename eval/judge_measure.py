"""Measures a judge on labelled dialogues and calibrates its probabilities: the judge's contract.

A listed error is right if a label of that turn has its code. The precision of each family of codes decides
from which probability on its errors are findings; a family with few listed errors is shrunk to all of them. A
judge that may not keep the precision makes no findings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field

from dialint.detector.artifacts import atomic_file, fingerprint, make_output_folder
from dialint.detector.calibration import sigmoid
from dialint.detector.decide import Rules
from dialint.detector.engines.judge_engines import CachedJudge
from dialint.detector.errors import ConfigError
from dialint.detector.interface import PlainDetector
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeEngine, JudgeRequest
from dialint.detector.judge.merging import JudgedDialogue, Merger
from dialint.detector.judge.prompt import PROMPT_VERSION, load_words, split_families
from dialint.detector.judge.reading import LEAST_PROBABILITY, ReadError
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, profile_log
from dialint.detector.overrides import LEAST, JudgeContract, JudgedCode
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, Label, Probability, Record, Verdict
from dialint.detector.statistics import clopper_pearson_upper
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.baselines import BaselineDetector
from dialint.eval.calibration import fit_platt
from dialint.eval.labelled import ACCUSES_FROM
from dialint.eval.results import source_of, span_f1

PRIOR = 5.0
"""Weight of the shrinkage of a family to all codes, as a number of listed errors."""
CONFIDENCE = 0.8
"""Confidence in the precision of all findings together."""
MIN_LISTED = 20
"""Least number of findings for a contract."""
MAX_FAILED = 0.1
"""Share of dialogues without a usable answer above which a judge is not measured."""


class ErrorRow(Record):
    """A turn and code that a judge listed, a label names, or both. `truth` is the label's probability, 0
    without a label, `probability` the judge's, None if it listed nothing; `overlap` the F1 of the quote's
    characters with the label's evidence, if there is any. `source` is the dialogue it was made from."""

    source: str
    dialogue: str
    turn: int
    code: str
    truth: Probability = 0.0
    probability: Probability | None = None
    overlap: Probability | None = None

    @property
    def is_error(self) -> bool:
        """Returns whether a label has a probability over one half."""
        return self.truth > 0.5


class JudgeDetector(PlainDetector):
    """A judge without a scan. With a contract (`StageOptions.overrides`) its findings are those of `dialint
    score`, with calibrated probabilities; without one, the errors listed at `ACCUSES_FROM` or more. A
    dialogue with a question without a usable answer fails. `reader` asks the questions and counts their
    usage."""

    def __init__(self, engine: JudgeEngine, taxonomy: Taxonomy, options: StageOptions) -> None:
        self.reader = JudgedDetector(BaselineDetector(taxonomy), engine, options)
        self.release, self.fingerprint, self.taxonomy = engine.name, self.reader.fingerprint, taxonomy
        self.codes = tuple(code for code in taxonomy.codes if code in options.codes)
        threshold = ACCUSES_FROM if options.overrides.judge is None else None
        self._rules = Rules({}, options.overrides, judge_threshold=threshold)
        self._merger = Merger(self.reader.judge_name, taxonomy, self._rules)
        self._log = EMPTY_PROFILE

    def reordered(self) -> JudgeDetector:
        """Returns the same judge with the codes of its questions in reverse order."""
        categories = tuple(
            category.model_copy(update={"codes": category.codes[::-1]})
            for category in self.taxonomy.categories[::-1]
        )
        fields = {name: getattr(self.taxonomy, name) for name in Taxonomy.model_fields}
        taxonomy = Taxonomy(**{**fields, "categories": categories})
        other = JudgeDetector(self.reader.engine, taxonomy, self.reader.options).with_log(self._log)
        other.reader.usage = self.reader.usage
        return other

    def with_log(self, log: LogProfile) -> Self:
        self._log = log
        self.reader.with_log(log)
        return self

    def decide(self, case: JudgedDialogue) -> Verdict:
        """Makes a verdict of the listed errors, with probabilities of the questions' turns and codes."""
        verdict = self._merger.merge(case)
        probabilities: dict[int, dict[str, float]] = {}
        for question in case.questions:
            own = [code for code in question.codes if code in case.answered]
            for turn in question.turns:
                probabilities.setdefault(turn, {}).update(dict.fromkeys(own, 0.0))
        for error in case.errors:
            row = probabilities.get(error.turn, {})
            if error.start is not None and error.code in row:
                stated = self._rules.judged_probability(error.code, error.probability)
                row[error.code] = max(row[error.code], stated)
        changes: dict[str, object] = {"probabilities": probabilities, "release": self.release}
        if case.failures:
            changes |= {"status": "failed", "failure": min(case.failures)}
        return verdict.model_copy(update=changes)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self.decide(case) for case in self.reader.read(dialogues)]


class Comparison(Record):
    """A judge's listed errors compared with labels: the rows with an error, listed or labelled; the number of
    judged turns of each source dialogue; the numbers of dialogues read, and of those with a question without
    a usable answer."""

    rows: tuple[ErrorRow, ...]
    turns: dict[str, int]
    n_dialogues: int
    n_unread: int = 0
    n_second_looks: int = 0
    failures: dict[str, int] = Field(default_factory=dict)


def compare(
    cases: Sequence[JudgedDialogue], examples: Sequence[Example], codes: Collection[str]
) -> Comparison:
    """Compares the errors that a judge listed with the examples' labels of `codes`, without codes that are
    unlabelled in a dialogue or for which it lacks the evidence. Errors whose quote is not in the turn do not
    count as listed, as they become no findings."""
    rows: list[ErrorRow] = []
    turns: dict[str, int] = {}
    failures: dict[str, int] = {}
    for case, example in zip(cases, examples, strict=True):
        rows.extend(_rows(case, example, set(codes) - set(example.unlabelled) - set(case.unmet)))
        judged = sum(turn.role in JUDGED_ROLES and bool(turn.text.strip()) for turn in case.dialogue.turns)
        turns[source_of(example)] = turns.get(source_of(example), 0) + judged
        for failure in case.failures:
            failures[failure] = failures.get(failure, 0) + 1
    n_unread = sum(bool(case.failures) for case in cases)
    return Comparison(
        rows=tuple(rows),
        turns=turns,
        n_dialogues=len(cases),
        n_unread=n_unread,
        n_second_looks=sum(case.n_second_looks for case in cases),
        failures=failures,
    )


def _rows(case: JudgedDialogue, example: Example, codes: Collection[str]) -> Iterator[ErrorRow]:
    listed: dict[tuple[int, str], ReadError] = {}
    for error in case.errors:
        if error.start is None or error.probability < LEAST_PROBABILITY or error.code not in codes:
            continue
        best = listed.setdefault((error.turn, error.code), error)
        if error.probability > best.probability:
            listed[error.turn, error.code] = error
    labels = {(label.turn, label.code): label for label in example.labels if label.code in codes}
    for turn, code in sorted(listed.keys() | labels.keys()):
        own, label = listed.get((turn, code)), labels.get((turn, code))
        if own is None and label is not None and label.probability <= 0.5:
            continue
        yield ErrorRow(
            source=source_of(example),
            dialogue=example.dialogue.id,
            turn=turn,
            code=code,
            truth=0.0 if label is None else label.probability,
            probability=None if own is None else own.probability,
            overlap=_overlap(case, own, label),
        )


def _overlap(case: JudgedDialogue, error: ReadError | None, label: Label | None) -> float | None:
    if error is None or error.start is None or error.end is None:
        return None
    if label is None or label.start is None or label.end is None:
        return None
    start, end = case.texts[case.position_of[label.turn]].from_original(label.start, label.end)
    return span_f1((error.start, error.end), (start, end)) if end > start else None


def fit_contract(
    judge: str,
    result: Comparison,
    taxonomy: Taxonomy,
    codes: Collection[str],
    precision: float,
    measured_on: str = "",
) -> JudgeContract:
    """Fits the calibration of the judge's probabilities for each of `codes`, and the thresholds at which
    findings have at least this `precision`; `measured_on` identifies the dialogues."""
    listed = [row for row in result.rows if row.probability is not None]
    right = np.array([row.is_error for row in listed], bool)
    stated = np.array([_logit(row.probability or 0.0) for row in listed])
    slope, offset = fit_platt(right, stated) if len(listed) and right.any() else (1.0, 0.0)
    calibrated = np.array([sigmoid(slope * each + offset) for each in stated.tolist()])
    pooled = float(right.mean()) if len(listed) else 0.5
    fitted: dict[str, JudgedCode] = {}
    flagged = np.zeros(len(listed), bool)
    for family in split_families(taxonomy, {code: taxonomy.codes[code] for code in codes}):
        own = np.array([row.code in family for row in listed], bool)
        n, n_right, expected = int(own.sum()), int(right[own].sum()), float(calibrated[own].sum())
        share = (n_right + PRIOR * pooled) / (n + PRIOR)
        shift = _logit(share) - _logit((expected + PRIOR * pooled) / (n + PRIOR))
        values = np.array([sigmoid(_logit(each) + shift) for each in calibrated[own].tolist()])
        threshold = _lowest_threshold(values, right[own], precision, pooled)
        if threshold is not None:
            flagged[np.flatnonzero(own)[values >= threshold]] = True
        measured = JudgedCode(slope=slope, offset=offset + shift, threshold=threshold)
        fitted |= dict.fromkeys(family, measured)
    n_flagged, n_right = int(flagged.sum()), int(right[flagged].sum())
    lower = 1.0 - clopper_pearson_upper(n_flagged - n_right, n_flagged, CONFIDENCE) if n_flagged else 0.0
    if n_flagged < MIN_LISTED or lower < precision:
        fitted = {code: own.model_copy(update={"threshold": None}) for code, own in fitted.items()}
    return JudgeContract(
        judge=judge,
        prompt=PROMPT_VERSION,
        precision=precision,
        measured_on=measured_on,
        codes=fitted,
        dialogues=result.n_dialogues,
        listed=len(listed),
        right=int(right.sum()),
        labels=sum(row.is_error for row in result.rows),
        found=int(right.sum()),
    )


def _lowest_threshold(values: np.ndarray, right: np.ndarray, precision: float, pooled: float) -> float | None:
    """Returns the lowest calibrated probability from which on the family's errors reach the precision, by the
    mean of the probabilities and by the shrunk share of right ones; the precision itself without any."""
    best = None
    for threshold in sorted(
        {math.floor(1e6 * value) / 1e6 for value in values.tolist()} | {precision}, reverse=True
    ):
        above = values >= threshold
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
    examples: Sequence[Example],
    codes: Collection[str],
) -> Comparison:
    """Reads the examples' dialogues with the judge and compares its listed errors with labels of `codes`.

    Raises:
        WorldError: the judge's server is gone.
    """
    dialogues = [example.dialogue for example in examples]
    judge = JudgeDetector(engine, taxonomy, options).with_log(profile_log(dialogues))
    return compare(judge.reader.read(dialogues), examples, codes)


N_PROBES, PROBE_TOKENS = 8, 96
"""Number of questions asked with and without an adapter, and maximum tokens of an answer."""


def count_unlike_base(
    engine: JudgeEngine, taxonomy: Taxonomy, options: StageOptions, examples: Sequence[Example]
) -> tuple[int, int] | None:
    """Returns to how many questions about the examples an adapter in this process answers differently from
    its base, and the number of questions; None for a judge without adapter."""
    from dialint.detector.engines.judge_local import LocalJudge

    engine = engine.judge if isinstance(engine, CachedJudge) else engine
    if not isinstance(engine, LocalJudge) or not engine.has_adapter:
        return None
    reader = JudgedDetector(BaselineDetector(taxonomy), engine, options)
    questions = reader.questions([example.dialogue for example in examples[:N_PROBES]])[:N_PROBES]
    requests = [
        JudgeRequest(
            dialogue_id="", messages=each.messages, schema=each.schema, max_tokens=PROBE_TOKENS, answers=1
        )
        for each in questions
    ]
    own = engine.ask(requests)
    with engine.model.disable_adapter():
        base = engine.ask(requests)
    return sum(a.text != b.text for a, b in zip(own, base, strict=True)), len(requests)


def require_everything(judge: JudgeConfig) -> None:
    """
    Raises:
        ConfigError: E_OPTION; an option with which a judge would not read every dialogue, or not be measured.
    """
    for name in ("judge_budget", "judge_precision"):
        if getattr(judge, name) is not None:
            option = name.replace("_", "-")
            raise ConfigError("E_OPTION", f"--{option}: here a judge reads every dialogue and is measured")


def require_readable(judge: str, result: Comparison) -> None:
    """
    Raises:
        ConfigError: E_JUDGE; more than `MAX_FAILED` of the dialogues have no usable answer.
    """
    if result.n_unread > MAX_FAILED * result.n_dialogues:
        raise ConfigError(
            "E_JUDGE",
            f"{judge} could not be measured: no usable answer about {result.n_unread} of "
            f"{result.n_dialogues} dialogues ({', '.join(sorted(result.failures))})",
        )


def count_prompt_tokens(
    engine: JudgeEngine, taxonomy: Taxonomy, options: StageOptions, examples: Sequence[Example]
) -> int:
    """Estimates the prompt tokens of a measurement, without second looks."""
    reader = JudgedDetector(BaselineDetector(taxonomy), engine, options)
    questions = reader.questions([example.dialogue for example in examples])
    return sum(engine.count_tokens(question.messages) for question in questions)


def load_or_measure_contract(
    engine: JudgeEngine,
    taxonomy: Taxonomy,
    options: StageOptions,
    precision: float,
    folder: Path,
    examples: Sequence[Example],
    announce: Callable[[], None],
) -> JudgeContract:
    """Fits the contract of a judge to the comparison in `folder`, a cache by model, prompt and options, or
    measures it now on the examples, after a call of `announce`.

    Raises:
        ConfigError: E_JUDGE; more than `MAX_FAILED` of the dialogues have no usable answer.
        WorldError: the judge's server is gone.
    """
    key = fingerprint(
        [
            engine.fingerprint,
            load_words().fingerprint,
            taxonomy.model_dump(mode="json"),
            sorted(options.codes),
            [options.detail, options.language, options.has_rewrites, options.has_second_look, options.votes],
            [example.model_dump(mode="json") for example in examples],
        ]
    )
    path = folder / f"{key}.json"
    if path.exists():
        result = Comparison.model_validate_json(path.read_bytes())
    else:
        announce()
        result = measure(engine, taxonomy, options, examples, options.codes)
        require_readable(engine.name, result)
        make_output_folder(folder)
        with atomic_file(path) as file:
            file.write(result.model_dump_json().encode())
    return fit_contract(engine.name, result, taxonomy, options.codes, precision)
