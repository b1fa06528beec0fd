"""What each labeler did: answers by code, time, and what there was to read.

Takes any stream of annotations once, oldest first; from files or from the store, it does not know. Holds
no dialogue text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dialint.detector.records import Dialogue
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.dialogue_answers import Gathered, Known, gathered
from dialint.labeling.annotation import Annotation, questions_in


@dataclass
class Work:
    """One labeler's: annotations by kind, those given with the verdict in view, seconds of those that
    tell, and to how many questions of each code these last ones answered."""

    kinds: Counter[str] = field(default_factory=Counter)
    seen_verdict: int = 0
    seconds: list[float] = field(default_factory=list)
    timed: Counter[str] = field(default_factory=Counter)
    read: list[tuple[str, int]] = field(default_factory=list)

    @property
    def annotations(self) -> int:
        """How many there are."""
        return self.kinds.total()


@dataclass
class Workload:
    """The answers of all, and each one's work by name, in the order of their first annotation."""

    answers: Gathered
    work: dict[str, Work]
    sizes: dict[tuple[str, int], int]

    def crowd(self) -> tuple[dict[str, Answers], Answers, Floats, Floats]:
        """The answers of each code, and all that say how long they took with what there was to read."""
        return self.answers.tables(), *self.timed()

    def timed(self) -> tuple[Answers, Floats, Floats]:
        """All annotations that say how long they took, as a table of one label, how many characters there
        were to read for each of its tasks, and how many of them its worker had not read before."""
        places = {item: place for place, item in enumerate(self.sizes)}
        rows = [
            (places[item], self.answers.workers[name], seconds)
            for name, work in self.work.items()
            for item, seconds in zip(work.read, work.seconds, strict=True)
        ]
        table = np.array(rows, float).reshape(-1, 3)
        task, worker = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
        tasks = tuple(f"{dialogue}/{turn}" for dialogue, turn in self.sizes)
        label = np.zeros(len(table), np.int32)
        names = tuple(self.answers.workers)
        answers = Answers(task, worker, label, tasks, names, ("any",), table[:, 2])
        to_read = [size for work in self.work.values() for size in self._new_to(work)]
        return answers, np.array(list(self.sizes.values()), float), np.array(to_read, float)

    def _new_to(self, work: Work) -> Iterator[int]:
        """Characters that each answer in turn made its giver read, of whom no dialogue is asked twice."""
        read: Counter[str] = Counter()
        for dialogue, turn in work.read:
            size = self.sizes[dialogue, turn]
            yield max(0, size - read[dialogue])
            read[dialogue] = max(read[dialogue], size)


def workload(
    annotations: Iterable[Annotation], dialogues: Mapping[str, Dialogue], of_dialogue: frozenset[str]
) -> Workload:
    """The work of all people in `annotations`; `of_dialogue` are the codes of dialogue scope. What a model
    said is passed over.

    Raises:
        KeyError: a dialogue that is not among `dialogues`.
    """
    work: dict[str, Work] = {}
    sizes: dict[tuple[str, int], int] = {}
    known: dict[str, Known] = {}

    def knowing(name: str) -> Known:
        known[name] = Known.of(dialogues[name], None)
        return known[name]

    def noted() -> Iterator[Annotation]:
        for one in annotations:
            if one.kind != "model":
                judged = (known.get(one.dialogue_id) or knowing(one.dialogue_id)).judged
                _note(work.setdefault(one.labeler, Work()), one, judged, of_dialogue)
                place = (one.dialogue_id, -1 if one.turn is None else one.turn)
                if place not in sizes:
                    sizes[place] = _size(dialogues[one.dialogue_id], one.turn)
            yield one

    return Workload(gathered(noted(), lambda name: known[name], of_dialogue), work, sizes)


def _note(work: Work, one: Annotation, judged: tuple[int, ...], of_dialogue: frozenset[str]) -> None:
    work.kinds[one.kind] += 1
    work.seen_verdict += one.seen_verdict
    if one.seconds:
        work.seconds.append(one.seconds)
        work.read.append((one.dialogue_id, -1 if one.turn is None else one.turn))
        work.timed.update(code for turn, code, _ in questions_in(one, judged, of_dialogue) if turn in judged)


def _size(dialogue: Dialogue, turn: int | None) -> int:
    """Characters to be read for an answer: those up to the turn that is asked about, else all."""
    return sum(len(each.text) for each in dialogue.turns if turn is None or each.index <= turn)
