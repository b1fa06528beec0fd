"""The work of each labeler: answers by code, with time and duration, and how much there was to read.

Reads any stream of annotations once, oldest first, from files or from the store. Keeps no dialogue text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dialint.detector.records import Dialogue
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.dialogue_answers import CollectedAnswers, DialogueContext
from dialint.labeling.annotation import Annotation, questions_in


@dataclass
class LabelerWork:
    """The work of one labeler: annotations by kind, and those made with the verdict in view. Of the timed
    annotations the seconds, the dialogue and turn that was read (-1 for the whole dialogue), and the number
    of questions answered by code."""

    kinds: Counter[str] = field(default_factory=Counter)
    seen_verdict: int = 0
    seconds: list[float] = field(default_factory=list)
    timed: Counter[str] = field(default_factory=Counter)
    read: list[tuple[str, int]] = field(default_factory=list)

    @property
    def annotations(self) -> int:
        """How many there are."""
        return self.kinds.total()

    def add(self, annotation: Annotation, judged_turns: tuple[int, ...], codes: frozenset[str]) -> None:
        """Count an annotation; `codes` are those of dialogue scope."""
        self.kinds[annotation.kind] += 1
        self.seen_verdict += annotation.seen_verdict
        if annotation.seconds:
            self.seconds.append(annotation.seconds)
            self.read.append(_read_item(annotation))
            questions = questions_in(annotation, judged_turns, codes)
            self.timed.update(code for turn, code, _ in questions if turn in judged_turns)


@dataclass
class Workload:
    """The answers of all labelers, the work of each by name, in the order of their first annotation, and the
    number of characters to read for each dialogue and turn."""

    answers: CollectedAnswers
    work: dict[str, LabelerWork]
    sizes: dict[tuple[str, int], int]

    def crowd(self) -> tuple[dict[str, Answers], Answers, Floats, Floats]:
        """The answers to each code, and `timed_answers`: the arguments of `anomalies.find_anomalies`."""
        return self.answers.tables(), *self.timed_answers()

    def timed_answers(self) -> tuple[Answers, Floats, Floats]:
        """All timed annotations as a table of one label; how many characters there are to read for each of
        its tasks, shape (tasks,); and how many of them the worker had not read before, shape (answers,)."""
        task_of = {item: task for task, item in enumerate(self.sizes)}
        rows = [
            (task_of[item], self.answers.workers[name], seconds)
            for name, work in self.work.items()
            for item, seconds in zip(work.read, work.seconds, strict=True)
        ]
        table = np.array(rows, float).reshape(-1, 3)
        task, worker = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
        tasks = tuple(f"{dialogue}/{turn}" for dialogue, turn in self.sizes)
        label = np.zeros(len(table), np.int32)
        names = tuple(self.answers.workers)
        answers = Answers(task, worker, label, tasks, names, ("any",), table[:, 2])
        to_read = [size for work in self.work.values() for size in self._unread(work)]
        return answers, np.array(list(self.sizes.values()), float), np.array(to_read, float)

    def _unread(self, work: LabelerWork) -> Iterator[int]:
        """The number of characters of each item that were not read with earlier items of the same
        dialogue."""
        read: Counter[str] = Counter()
        for dialogue, turn in work.read:
            size = self.sizes[dialogue, turn]
            yield max(0, size - read[dialogue])
            read[dialogue] = max(read[dialogue], size)


def measure_workload(
    annotations: Iterable[Annotation], dialogues: Mapping[str, Dialogue], dialogue_codes: frozenset[str]
) -> Workload:
    """Collect the work of all people in `annotations`; those of a model are skipped.

    Raises:
        KeyError: a dialogue that is not among `dialogues`.
    """
    answers = CollectedAnswers()
    work: dict[str, LabelerWork] = {}
    sizes: dict[tuple[str, int], int] = {}
    for annotation in annotations:
        if annotation.kind == "model":
            continue
        name = annotation.dialogue_id
        answers.add(annotation, lambda name: DialogueContext.of(dialogues[name]), dialogue_codes)
        turns = answers.contexts[name].judged_turns
        work.setdefault(annotation.labeler, LabelerWork()).add(annotation, turns, dialogue_codes)
        if (item := _read_item(annotation)) not in sizes:
            last_turn = annotation.turn
            read = (turn for turn in dialogues[name].turns if last_turn is None or turn.index <= last_turn)
            sizes[item] = sum(len(turn.text) for turn in read)
    return Workload(answers, work, sizes)


def _read_item(annotation: Annotation) -> tuple[str, int]:
    return annotation.dialogue_id, -1 if annotation.turn is None else annotation.turn
