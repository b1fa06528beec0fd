"""The quality figures of every labeler and of every code.

Accuracy is measured on gold; everywhere else, agreement with the posterior of the others, which is not the
same: a person may be right alone. Bias is the share of yes less the share of yes of the others on the same
questions, so that nobody counts as lenient for having got the clean dialogues. The bits of an answer are the
mutual information of true label and answer, by the labeler's own confusion matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.dialogue_answers import WHOLE_DIALOGUE, CodeAnswers
from dialint.labeling.aggregation.joint import confusion_matrices
from dialint.labeling.raters.anomalies import CrowdAnomalies, find_anomalies
from dialint.labeling.raters.estimates import (
    Figure,
    Speed,
    mean_difference,
    mutual_information,
    proportion,
    quartiles,
)
from dialint.labeling.raters.flags import Flag, FlagRule
from dialint.labeling.raters.leave_one_out import LeaveOneOut
from dialint.labeling.raters.workload import Workload

Gold = Mapping[tuple[str, int, str], bool]
"""By dialogue, turn and code: whether the error is there."""

LEAST_FOR_BITS = 20
"""Answers of a labeler to a code from which the bits of an answer are estimated."""


@dataclass(frozen=True)
class Quality:
    """The quality of one labeler (or of all) in one code or in all. `accuracy`, `sensitivity` and
    `specificity` are measured on gold; `agreement` is the mean probability of the answers by the posterior of
    the others; `bias` is above 0 for whoever says yes more often than the others; `bits` is the information
    of one answer, none where answers are too few."""

    answers: int
    yes: int
    accuracy: Figure
    sensitivity: Figure
    specificity: Figure
    agreement: Figure
    bias: Figure
    bits: float | None


@dataclass(frozen=True)
class Labeler:
    """One person. `share_of_work` is of all answers, `minutes` of all timed annotations; `minutes_per_bit`
    and, with a price, `price_per_bit` follow from them, none where the bits are not estimated."""

    name: str
    kinds: dict[str, int]
    seen_verdict: int
    share_of_work: float
    speed: Speed
    minutes: float
    minutes_per_bit: float | None
    price_per_bit: float | None
    overall: Quality
    codes: dict[str, Quality]
    flags: tuple[Flag, ...]


@dataclass(frozen=True)
class CrowdQuality:
    """Everybody, most work first; every code over all labelers; every flag."""

    labelers: tuple[Labeler, ...]
    codes: dict[str, Quality]
    flags: tuple[Flag, ...] = field(default=())


@dataclass(frozen=True)
class _CodeMeasures:
    """The answers to one code and what they are compared with, all of shape (answers,): `gold` is 1, 0 or
    NaN; `agreed`, the probability of the answer by the others, and `difference` from their share of yes are
    NaN without others. `bits` has shape (workers,)."""

    worker: NDArray[np.int32]
    yes: NDArray[np.bool_]
    gold: Floats
    agreed: Floats
    difference: Floats
    bits: Floats


def measure_quality(
    workload: Workload,
    gold: Gold,
    price_per_hour: float | None = None,
    rule: FlagRule | None = None,
    anomalies: CrowdAnomalies | None = None,
) -> CrowdQuality:
    """Measure the quality of all labelers; `price_per_hour` in any currency. `anomalies` are those of the
    workload, if they are known already.

    Raises:
        ValueError: nobody answered anything.
    """
    anomalies = anomalies or find_anomalies(*workload.crowd(), rule)
    parts = {
        code: _measure_code(others, workload.answers.codes[code], _gold_of_code(gold, code))
        for code, others in anomalies.others.items()
    }
    total = sum(len(part.worker) for part in parts.values())
    labelers = []
    for worker_index, name in enumerate(anomalies.workers):
        selected = {code: part.worker == worker_index for code, part in parts.items()}
        codes = {code: _summarise([(part, selected[code])], worker_index) for code, part in parts.items()}
        codes = {code: each for code, each in codes.items() if each.answers}
        overall = _summarise([(part, selected[code]) for code, part in parts.items()], None)
        flags = tuple(flag for flag in anomalies.flags if name in flag.workers and flag.personal)
        labelers.append(_labeler(workload, name, codes, overall, flags, total, price_per_hour))
    order = sorted(labelers, key=lambda each: (-each.overall.answers, each.name))
    everybody = {
        code: _summarise([(part, np.ones(len(part.worker), bool))], None) for code, part in parts.items()
    }
    return CrowdQuality(tuple(order), everybody, anomalies.flags)


def _labeler(
    workload: Workload,
    name: str,
    codes: dict[str, Quality],
    overall: Quality,
    flags: tuple[Flag, ...],
    total: int,
    price_per_hour: float | None,
) -> Labeler:
    work = workload.work[name]
    minutes = sum(work.seconds) / 60
    # a correction may have left no answer to a timed code
    bits = [(count, codes[code].bits) for code, count in work.timed.items() if code in codes]
    is_complete = bool(bits) and all(each is not None for _, each in bits)
    n_bits = sum(count * (each or 0.0) for count, each in bits)
    per_bit = minutes / n_bits if is_complete and n_bits > 0 else None
    price = None if per_bit is None or price_per_hour is None else per_bit * price_per_hour / 60
    portion = overall.answers / max(1, total)
    kinds, seen = dict(sorted(work.kinds.items())), work.seen_verdict
    times = quartiles(work.seconds)
    return Labeler(name, kinds, seen, portion, times, minutes, per_bit, price, overall, codes, flags)


def _measure_code(
    others: LeaveOneOut, answers: CodeAnswers, gold: Mapping[tuple[str, int], bool]
) -> _CodeMeasures:
    table = others.answers
    gold_labels = np.array([gold.get((item.dialogue, item.turn), np.nan) for item in answers.votes], float)
    row = np.arange(len(table))
    n_others = table.n_labelers[table.task] - 1
    yes = table.label == 1
    rest = table.votes()[table.task, 1] - yes
    difference = np.full(len(table), np.nan)
    np.divide(rest, n_others, out=difference, where=n_others > 0)
    fit = others.fit
    prior = (fit.responsibilities @ others.label_probabilities).mean(axis=0)
    bits = mutual_information(prior, confusion_matrices(fit.workers, fit.pairs, fit.counts))
    few = np.bincount(table.worker, minlength=len(table.workers)) < LEAST_FOR_BITS
    return _CodeMeasures(
        table.worker,
        yes,
        gold_labels[table.task],
        np.where(n_others > 0, others.truth[row, table.label], np.nan),
        yes - difference,
        np.where(few, np.nan, bits),
    )


def _gold_of_code(gold: Gold, code: str) -> dict[tuple[str, int], bool]:
    """The gold of a code by dialogue and turn, and for the whole dialogue: present if in any of its turns."""
    by_turn: dict[tuple[str, int], bool] = {}
    for (dialogue, turn, name), present in gold.items():
        if name == code:
            by_turn[dialogue, turn] = present
            by_turn[dialogue, WHOLE_DIALOGUE] = by_turn.get((dialogue, WHOLE_DIALOGUE), False) or present
    return by_turn


def _summarise(parts: list[tuple[_CodeMeasures, NDArray[np.bool_]]], worker: int | None) -> Quality:
    """The figures of the selected answers; `bits` of one worker and code, none if `worker` is."""
    yes, gold, agreed, difference = (
        np.concatenate([np.asarray(getattr(part, name)[selected], float) for part, selected in parts])
        for name in ("yes", "gold", "agreed", "difference")
    )
    bits = float("nan") if worker is None else float(parts[0][0].bits[worker])
    has_gold = ~np.isnan(gold)
    agreed = agreed[~np.isnan(agreed)]
    return Quality(
        len(yes),
        int(yes.sum()),
        _accuracy(yes, gold, has_gold),
        _accuracy(yes, gold, has_gold & (gold == 1)),
        _accuracy(yes, gold, has_gold & (gold == 0)),
        proportion(float(agreed.sum()), len(agreed)),
        mean_difference(difference[~np.isnan(difference)]),
        None if np.isnan(bits) else bits,
    )


def _accuracy(yes: Floats, gold: Floats, selected: NDArray[np.bool_]) -> Figure:
    return proportion(float((yes[selected] == gold[selected]).sum()), int(selected.sum()))
