"""Everybody who answers in a store: quality by code, speed, competence, agreement of pairs, suspicions.

The figures are those of the reports on labelers, from one pass over the answers; each has its interval, or is
left out where there are too few answers for one. Decides nothing about anybody.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

import numpy as np

from dialint.detector.statistics import Z_95
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.agreement import cohen_kappa
from dialint.labeling.raters.anomalies import CrowdAnomalies, find_anomalies
from dialint.labeling.raters.estimates import Figure, Speed, quartiles
from dialint.labeling.raters.flags import Flag
from dialint.labeling.raters.labeler_quality import Labeler, measure_quality
from dialint.labeling.raters.response_time import CHARACTERS_PER_WORD
from dialint.labeling.raters.store_reader import load_annotations
from dialint.labeling.raters.workload import Workload, measure_workload
from dialint.labeling.store.database.transactions import Store

ALL_CODES = ""
"""The key of the pairs over all codes together."""
MATRIX_PEOPLE = 12
"""People with most answers whose pairs are compared: more are not read in a matrix."""
ROUNDS = 200
"""Bootstrap rounds of the interval of a pair."""
MAX_ANNOTATIONS = 5_000
"""The newest so many are measured: each takes about 100 KB and 5 ms, as an annotation answers for each turn
and code (2026-11-26)."""
LEAST_SHARED = 10
"""Questions that both of a pair answered from which their agreement is given."""


@dataclass(frozen=True)
class Person:
    """One person. `competence` is how far the answers move with the items: 1 as an average person's, 0
    without knowledge of them; its interval is 1.96 times the standard error that answers without knowledge
    have. `reading` are words a minute, of what had not been read before."""

    labeler: Labeler
    competence: Figure
    reading: Speed

    @property
    def name(self) -> str:
        """The name of the account."""
        return self.labeler.name


@dataclass(frozen=True)
class PairAgreement:
    """Two people who both answered `n` questions, `same` of them alike. `kappa` is Cohen's, all None where it
    is undefined: both gave one and the same answer throughout."""

    one: str
    other: str
    n: int
    same: int
    kappa: Figure


@dataclass(frozen=True)
class People:
    """Everybody, most answers first; the pairs of the busiest by code, `ALL_CODES` for all together; every
    suspicion; how many annotations and known answers the figures are from, and how many older annotations
    are left out."""

    people: tuple[Person, ...]
    pairs: Mapping[str, tuple[PairAgreement, ...]]
    flags: tuple[Flag, ...]
    annotations: int
    gold: int
    left_out: int


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
    anomalies = find_anomalies(*workload.crowd())
    quality = measure_quality(workload, gold, anomalies=anomalies)
    competence, reading = _competence(anomalies), _reading_speeds(workload)
    people = tuple(Person(each, competence[each.name], reading[each.name]) for each in quality.labelers)
    names = [person.name for person in people[:MATRIX_PEOPLE]]
    tables = workload.answers.tables()
    pairs = {ALL_CODES: _compare(_join(list(tables.values())), names)}
    pairs |= {code: _compare(table, names) for code, table in tables.items()}
    n = sum(work.annotations for work in workload.work.values())
    return People(people, pairs, quality.flags, n, len(gold), n_recent - len(newest))


def measure_store(location: str, actor: str, project: str | None, since: datetime | None) -> People | None:
    """Measure the people of the store at `location`, as the console does in a process of its own.

    Raises:
        NotAllowed: the actor does not decide.
    """
    with Store.open(location, interface="console") as store:
        return measure_people(store, actor, load_taxonomy(), project, since)


def _competence(anomalies: CrowdAnomalies) -> dict[str, Figure]:
    figures = {}
    for index, name in enumerate(anomalies.workers):
        n = int(anomalies.competence.n[index])
        slope, spread = float(anomalies.competence.slope[index]), float(anomalies.competence.spread[index])
        half = Z_95 * spread
        figures[name] = Figure(n) if math.isnan(slope) else Figure(n, slope, slope - half, slope + half)
    return figures


def _reading_speeds(workload: Workload) -> dict[str, Speed]:
    answers, _, to_read = workload.timed_answers()
    seconds = answers.seconds
    assert seconds is not None, "only timed answers are in the table"
    words: dict[str, list[float]] = {name: [] for name in answers.workers}
    for worker, characters, elapsed_s in zip(answers.worker, to_read, seconds, strict=True):
        if characters > 0 and elapsed_s > 0:
            words[answers.workers[worker]].append(characters / CHARACTERS_PER_WORD / (elapsed_s / 60))
    return {name: quartiles(each) for name, each in words.items()}


def _join(tables: list[Answers]) -> Answers:
    """The answers to all codes in one table: a task and a code make one question."""
    offsets = np.cumsum([0, *(len(table.tasks) for table in tables[:-1])])
    task = np.concatenate([table.task + offset for table, offset in zip(tables, offsets, strict=True)])
    worker, label = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("worker", "label")
    )
    names = tuple(f"{number}/{task}" for number, table in enumerate(tables) for task in table.tasks)
    first = tables[0]
    return Answers(task.astype(np.int32), worker, label, names, first.workers, first.labels)


def _compare(answers: Answers, names: list[str]) -> tuple[PairAgreement, ...]:
    """All pairs of these people with enough questions in common."""
    index = {name: number for number, name in enumerate(answers.workers)}
    labels = {name: np.full(len(answers.tasks), -1) for name in names}
    for name, values in labels.items():
        own = answers.worker == index[name]
        values[answers.task[own]] = answers.label[own]
    pairs = []
    for one, other in combinations(names, 2):
        shared = (labels[one] >= 0) & (labels[other] >= 0)
        n = int(shared.sum())
        if n < LEAST_SHARED:
            continue
        same = int((labels[one] == labels[other])[shared].sum())
        kappa = cohen_kappa(answers, index[one], index[other], ROUNDS)
        is_undefined = math.isnan(kappa.value) or math.isnan(kappa.low)
        figure = Figure(n) if is_undefined else Figure(n, kappa.value, kappa.low, kappa.high)
        pairs.append(PairAgreement(one, other, n, same, figure))
    return tuple(pairs)
