"""The work of labelers: quality by code, speed, competence, suspicions.

Accuracy is measured on gold; everywhere else, agreement with the posterior of the others, which is not the
same: a person may be right alone. Bias is the share of yes less the share of yes of the others on the same
questions, so that a labeler of clean dialogues does not count as lenient. Each figure has its interval, or is
left out where there are too few answers for one. Reads a stream of annotations once, oldest first, and keeps
no dialogue text.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from dialint.detector.records import Dialogue
from dialint.detector.statistics import Z_95
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CodeAnswers,
    CollectedAnswers,
    DialogueContext,
    dialogue_codes,
)
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.anomalies import CHARACTERS_PER_WORD, Flag, find_anomalies
from dialint.labeling.raters.competence import LeaveOneOut
from dialint.labeling.raters.estimates import Figure, Speed, mean_difference, proportion, quartiles
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import StoredDialogues
from dialint.labeling.store.gold import list_gold
from dialint.labeling.store.stored_annotations import iterate_counted

Gold = Mapping[tuple[str, int, str], bool]
"""Presence of an error by dialogue, turn and code."""
Item = tuple[str, int]
"""The part of a dialogue that was read for an answer: up to a turn, or -1 for the whole."""


@dataclass
class LabelerWork:
    """The work of one labeler: the number of annotations by kind, and of those made with the verdict in view;
    item, seconds, and number of characters not read before of each `timed` annotation; and the number of
    characters `read` of each dialogue."""

    kinds: Counter[str] = field(default_factory=Counter)
    seen_verdict: int = 0
    timed: list[tuple[Item, float, int]] = field(default_factory=list)
    read: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> list[float]:
        """The seconds of the timed annotations."""
        return [seconds for _, seconds, _ in self.timed]

    def reading_speed(self) -> Speed:
        """Returns the words a minute, of text not read before."""
        n_words = ((size / CHARACTERS_PER_WORD, seconds) for _, seconds, size in self.timed if size)
        return quartiles([n / (seconds / 60) for n, seconds in n_words])


@dataclass
class Workload:
    """The answers of all labelers, the work of each by name, in the order of their first annotation, and the
    number of characters to read for each item."""

    answers: CollectedAnswers
    work: dict[str, LabelerWork]
    sizes: dict[Item, int]

    def crowd(self) -> tuple[dict[str, Answers], Answers, Floats, Floats]:
        """The arguments of `anomalies.find_anomalies`: the answers to each code; all timed annotations as a
        table of one label; the number of characters to read for each of its tasks, shape (tasks,), and that
        of those not read before by the worker, shape (answers,)."""
        task_of = {item: task for task, item in enumerate(self.sizes)}
        rows = [
            (task_of[item], self.answers.workers[name], seconds, n_unread)
            for name, work in self.work.items()
            for item, seconds, n_unread in work.timed
        ]
        table = np.array(rows, float).reshape(-1, 4)
        task, worker = (table[:, column].astype(np.int32) for column in (0, 1))
        tasks = tuple(f"{dialogue}/{turn}" for dialogue, turn in self.sizes)
        label, names = np.zeros(len(table), np.int32), tuple(self.answers.workers)
        timed = Answers(task, worker, label, tasks, names, ("any",), table[:, 2])
        return self.answers.tables(), timed, np.array(list(self.sizes.values()), float), table[:, 3]


def measure_workload(
    annotations: Iterable[Annotation], dialogues: Mapping[str, Dialogue], dialogue_codes: frozenset[str]
) -> Workload:
    """Collect the work of all people in `annotations`; those of a model are skipped.

    Raises:
        KeyError: a dialogue that is not among `dialogues`.
    """
    workload = Workload(CollectedAnswers(), {}, {})
    for annotation in annotations:
        if annotation.kind == "model":
            continue
        name, last = annotation.dialogue_id, annotation.turn
        workload.answers.add(annotation, lambda name: DialogueContext.of(dialogues[name]), dialogue_codes)
        item = name, -1 if last is None else last
        if item not in workload.sizes:
            read = (turn for turn in dialogues[name].turns if last is None or turn.index <= last)
            workload.sizes[item] = sum(len(turn.text) for turn in read)
        work, size = workload.work.setdefault(annotation.labeler, LabelerWork()), workload.sizes[item]
        work.kinds[annotation.kind] += 1
        work.seen_verdict += annotation.seen_verdict
        if annotation.seconds:
            work.timed.append((item, annotation.seconds, max(0, size - work.read[name])))
            work.read[name] = max(work.read[name], size)
    return workload


@dataclass(frozen=True)
class Quality:
    """The quality of one labeler (or of all) in one code or in all. `accuracy`, `sensitivity` and
    `specificity` are measured on gold; `agreement` is the mean probability of the answers by the posterior of
    the others; `bias` is above 0 for a labeler with a larger share of yes than the others on the same
    questions."""

    answers: int
    yes: int
    accuracy: Figure
    sensitivity: Figure
    specificity: Figure
    agreement: Figure
    bias: Figure


@dataclass(frozen=True)
class Labeler:
    """One person. `share_of_work` is of all answers, `minutes` of all timed annotations. `competence` is the
    slope of the answers on the items: 1 of an average person, 0 without knowledge of them; its interval is
    1.96 times the standard error under no knowledge. `reading` is the speed in words a minute, of text not
    read before."""

    name: str
    kinds: dict[str, int]
    seen_verdict: int
    share_of_work: float
    speed: Speed
    minutes: float
    overall: Quality
    codes: dict[str, Quality]
    competence: Figure
    reading: Speed
    flags: tuple[Flag, ...]


@dataclass(frozen=True)
class CrowdQuality:
    """All labelers, most work first; every code over all labelers; every flag; the number of annotations and
    of gold answers."""

    labelers: tuple[Labeler, ...]
    codes: dict[str, Quality]
    flags: tuple[Flag, ...]
    annotations: int
    gold: int


@dataclass(frozen=True)
class _CodeMeasures:
    """The answers to one code and what they are compared with, all of shape (answers,): `gold` is 1, 0 or
    NaN; `agreed`, the probability of the answer by the others, and `difference` from their share of yes are
    NaN without others."""

    worker: NDArray[np.int32]
    yes: NDArray[np.bool_]
    gold: Floats
    agreed: Floats
    difference: Floats


def measure_quality(workload: Workload, gold: Gold) -> CrowdQuality:
    """Measure the quality of all labelers.

    Raises:
        ValueError: nobody answered anything.
    """
    anomalies = find_anomalies(*workload.crowd())
    parts = {
        code: _measure_code(others, workload.answers.codes[code], _gold_of_code(gold, code))
        for code, others in anomalies.others.items()
    }
    total = sum(len(part.worker) for part in parts.values())
    labelers = []
    for index, name in enumerate(anomalies.workers):
        selected = {code: part.worker == index for code, part in parts.items()}
        codes = {code: _summarise([(part, selected[code])]) for code, part in parts.items()}
        overall = _summarise([(part, selected[code]) for code, part in parts.items()])
        work, competence = workload.work[name], anomalies.competence
        slope, half = float(competence.slope[index]), Z_95 * float(competence.spread[index])
        interval = () if math.isnan(slope) else (slope, slope - half, slope + half)
        labelers.append(
            Labeler(
                name=name,
                kinds=dict(sorted(work.kinds.items())),
                seen_verdict=work.seen_verdict,
                share_of_work=overall.answers / max(1, total),
                speed=quartiles(work.seconds),
                minutes=sum(work.seconds) / 60,
                overall=overall,
                codes={code: each for code, each in codes.items() if each.answers},
                competence=Figure(int(competence.n[index]), *interval),
                reading=work.reading_speed(),
                flags=tuple(flag for flag in anomalies.flags if name in flag.workers and flag.personal),
            )
        )
    order = sorted(labelers, key=lambda each: (-each.overall.answers, each.name))
    everybody = {code: _summarise([(part, np.ones(len(part.worker), bool))]) for code, part in parts.items()}
    n = sum(work.kinds.total() for work in workload.work.values())
    return CrowdQuality(tuple(order), everybody, anomalies.flags, n, len(gold))


def _measure_code(
    others: LeaveOneOut, answers: CodeAnswers, gold: Mapping[tuple[str, int], bool]
) -> _CodeMeasures:
    table = others.answers
    gold_labels = np.array([gold.get((item.dialogue, item.turn), np.nan) for item in answers.votes], float)
    n_others = table.n_labelers[table.task] - 1
    yes = table.label == 1
    rest = table.votes()[table.task, 1] - yes
    agreed = others.truth[np.arange(len(table)), table.label]
    difference = np.full(len(table), np.nan)
    np.divide(rest, n_others, out=difference, where=n_others > 0)
    return _CodeMeasures(
        table.worker, yes, gold_labels[table.task], np.where(n_others > 0, agreed, np.nan), yes - difference
    )


def _gold_of_code(gold: Gold, code: str) -> dict[tuple[str, int], bool]:
    """The gold of a code by dialogue and turn, and for the whole dialogue: present if in any of its turns."""
    by_turn: dict[tuple[str, int], bool] = {}
    for (dialogue, turn, name), present in gold.items():
        if name == code:
            by_turn[dialogue, turn] = present
            by_turn[dialogue, WHOLE_DIALOGUE] = by_turn.get((dialogue, WHOLE_DIALOGUE), False) or present
    return by_turn


def _summarise(parts: list[tuple[_CodeMeasures, NDArray[np.bool_]]]) -> Quality:
    """The figures of the selected answers."""
    yes, gold, agreed, difference = (
        np.concatenate([np.asarray(getattr(part, name)[selected], float) for part, selected in parts])
        for name in ("yes", "gold", "agreed", "difference")
    )
    agreed, right, has_gold = agreed[~np.isnan(agreed)], yes == gold, ~np.isnan(gold)
    accuracy, sensitivity, specificity = (
        proportion(float(right[of].sum()), int(of.sum())) for of in (has_gold, gold == 1, gold == 0)
    )
    agreement = proportion(float(agreed.sum()), len(agreed))
    bias = mean_difference(difference[~np.isnan(difference)])
    return Quality(len(yes), int(yes.sum()), accuracy, sensitivity, specificity, agreement, bias)


MAX_ANNOTATIONS = 5_000
"""The newest so many are measured: each takes about 100 KB and 5 ms, as an annotation answers for each turn
and code (2026-11-26)."""


@dataclass(frozen=True)
class People:
    """The quality of all labelers' work, and the number of older annotations that are left out."""

    quality: CrowdQuality
    left_out: int


def load_annotations(
    store: Store, actor: str, project: str | None
) -> tuple[Iterator[Annotation], StoredDialogues, Gold]:
    """The annotations of a project or of the whole store, the dialogues, and gold, without gold in doubt.

    Raises:
        NotAllowed: the actor does not decide.
    """
    gold = {
        (one.dialogue, one.turn, one.code): one.present
        for one in list_gold(store, actor, retired=True)
        if one.doubt is None
    }
    return iterate_counted(store, actor, project, controls=True), StoredDialogues(store), gold


def measure_people(
    store: Store, actor: str, taxonomy: Taxonomy, project: str | None = None, since: datetime | None = None
) -> People | None:
    """Measure the people who answered in a project, or in the whole store, `since` a time, by their newest
    `MAX_ANNOTATIONS` annotations; None if nobody did.

    Raises:
        NotAllowed: the actor does not decide.
    """
    annotations, dialogues, gold = load_annotations(store, actor, project)
    newest: deque[Annotation] = deque(maxlen=MAX_ANNOTATIONS)
    n_recent = 0
    for annotation in annotations:
        if annotation.kind != "model" and (since is None or annotation.at is None or annotation.at >= since):
            newest.append(annotation)
            n_recent += 1
    workload = measure_workload(newest, dialogues, dialogue_codes(taxonomy))
    if not workload.answers.codes:
        return None
    return People(measure_quality(workload, gold), n_recent - len(newest))


def measure_store(location: str, actor: str, project: str | None, since: datetime | None) -> People | None:
    """Measure the people of the store at `location`, as the console does in a process of its own.

    Raises:
        NotAllowed: the actor does not decide.
    """
    with Store.open(location, interface="console") as store:
        return measure_people(store, actor, load_taxonomy(), project, since)
