"""What each labeler did: answers by code, when and in what time, and how much there was to read.

Takes any stream of annotations once, oldest first, be it from files or from the store. Holds no dialogue
text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dialint.detector.records import Dialogue
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.dialogue_answers import (
    ANYWHERE,
    CodeAnswers,
    CollectedAnswers,
    DialogueContext,
    Item,
    collect_answers,
)
from dialint.labeling.annotation import Annotation, questions_in
from dialint.labeling.raters.agreement import Marked, Read


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

    answers: CollectedAnswers
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
    known: dict[str, DialogueContext] = {}

    def knowing(name: str) -> DialogueContext:
        known[name] = DialogueContext.of(dialogues[name], None)
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

    return Workload(collect_answers(noted(), lambda name: known[name], of_dialogue), work, sizes)


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


def dated(
    annotations: Iterable[Annotation], dialogues: Mapping[str, Dialogue], of_dialogue: frozenset[str]
) -> tuple[dict[str, Answers], dict[str, list[Read]]]:
    """The crowd table of each code, and what each of its readers marked in each turn; of a person's several
    answers to a question the last counts, and its time. Takes a stream, oldest first; `of_dialogue` are the
    codes of dialogue scope.

    Raises:
        KeyError: a dialogue that is not among `dialogues`.
    """
    times: dict[tuple[str, Item, str], float] = {}
    known: dict[str, DialogueContext] = {}
    lengths: dict[str, list[int]] = {}

    def timed() -> Iterator[Annotation]:
        for one in annotations:
            if one.dialogue_id not in known:
                dialogue = dialogues[one.dialogue_id]
                known[one.dialogue_id] = DialogueContext.of(dialogue, None)
                lengths[one.dialogue_id] = [len(turn.text) for turn in dialogue.turns]
            if one.kind != "model":
                at = float("nan") if one.at is None else one.at.timestamp()
                for turn, code, _ in questions_in(one, known[one.dialogue_id].judged, of_dialogue):
                    item = Item(one.dialogue_id, ANYWHERE if code in of_dialogue else turn)
                    times[code, item, one.labeler] = at
            yield one

    found = collect_answers(timed(), known.__getitem__, of_dialogue)
    tables = found.tables()
    for code, table in tables.items():
        said = found.codes[code].said.items()
        at = [times[code, item, who] for item, votes in said for who in votes]  # as rows stand in the table
        tables[code] = replace(table, at=np.array(at))
    return tables, {code: list(_read(answers, known, lengths)) for code, answers in found.codes.items()}


def _read(
    answers: CodeAnswers, known: Mapping[str, DialogueContext], lengths: Mapping[str, list[int]]
) -> Iterator[Read]:
    for item, votes in answers.said.items():
        spans = answers.spans.get(item, {})
        for turn in known[item.dialogue].judged if item.turn == ANYWHERE else (item.turn,):
            marked = {
                who: [Marked(start, end) for at, start, end in spans.get(who, ()) if at == turn]
                for who in votes
            }
            yield Read(lengths[item.dialogue][turn], marked)
