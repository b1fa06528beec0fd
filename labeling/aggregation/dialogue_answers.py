"""Answers about dialogues as questions: one turn and code, yes or no, by whom; and the model's odds.

Takes annotations in the order in which they were made; of one person the last answer to a question
counts. A code of dialogue scope is one question, whatever turn it was found in. Where somebody answered
with the verdict in view, the model is left out: it would be counted twice. Holds no dialogue text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.spans import agreed_span
from dialint.labeling.annotation import Annotation, judged_turns, questions_in

ANSWERS = ("no", "yes")
ANYWHERE = -1
"""The turn of a question that is asked of a whole dialogue."""


def dialogue_codes(taxonomy: Taxonomy) -> frozenset[str]:
    """Codes that are asked once a dialogue."""
    return frozenset(name for name, code in taxonomy.codes.items() if code.scope == "dialogue")


class Item(NamedTuple):
    """What is asked: is the code in this turn (or `ANYWHERE`) of the dialogue?"""

    dialogue: str
    turn: int

    @property
    def name(self) -> str:
        """The name of the task in a code's crowd table."""
        return f"{self.dialogue}/{self.turn}"


@dataclass(frozen=True)
class DialogueContext:
    """What must be known of a dialogue: the turns that can hold an error, and the model's
    probabilities by turn and code, if it told them, with its `release`."""

    judged: tuple[int, ...]
    probabilities: Mapping[int, Mapping[str, float]] | None
    release: str | None = None

    @classmethod
    def of(cls, dialogue: Dialogue, verdict: Verdict | None) -> DialogueContext:
        """What `dialogue` and the verdict on it tell."""
        told = verdict.probabilities if verdict is not None and verdict.status != "failed" else None
        return cls(judged_turns(dialogue), told, None if verdict is None else verdict.release)

    def probability(self, turn: int, code: str) -> float:
        """The model's, of a turn or, `ANYWHERE`, the highest of any; NaN where it is silent."""
        turns = self.judged if turn == ANYWHERE else (turn,)
        told = [codes[code] for one in turns if code in (codes := (self.probabilities or {}).get(one, {}))]
        return max(told, default=float("nan"))


@dataclass
class CodeAnswers:
    """All that was said of one code: `said` by item and person, `spans` (turn, start, end) of the findings,
    and the items of which somebody had `seen` the verdict."""

    said: dict[Item, dict[str, bool]] = field(default_factory=dict)
    spans: dict[Item, dict[str, list[tuple[int, int, int]]]] = field(default_factory=dict)
    seen: set[Item] = field(default_factory=set)

    def table(self, workers: Mapping[str, int]) -> Answers:
        """The crowd table: tasks in the order of `said`, labels no and yes."""
        rows = [
            (place, workers[who], yes)
            for place, votes in enumerate(self.said.values())
            for who, yes in votes.items()
        ]
        columns = np.array(rows, np.int32).reshape(-1, 3)
        task, worker, label = np.ascontiguousarray(columns.T)
        names = tuple(item.name for item in self.said)
        return Answers(task, worker, label, names, tuple(workers), ANSWERS)

    def place(self, item: Item, judged: tuple[int, ...]) -> tuple[int, int | None, int | None]:
        """The turn of an item, where most found it, else the last; and the evidence most agree on."""
        found = [span for spans in self.spans.get(item, {}).values() for span in spans]
        if item.turn != ANYWHERE:
            turn = item.turn
        elif found:
            turns = Counter(turn for turn, _, _ in found)
            turn = max(turns, key=lambda one: (turns[one], -one))
        else:
            turn = judged[-1]
        return turn, *agreed_span([(start, end) for where, start, end in found if where == turn])


@dataclass
class CollectedAnswers:
    """Answers by code, and all who gave any."""

    codes: dict[str, CodeAnswers] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    known: dict[str, DialogueContext] = field(default_factory=dict)

    def tables(self) -> dict[str, Answers]:
        """The crowd table of each code; all share the workers."""
        return {code: self.codes[code].table(self.workers) for code in sorted(self.codes)}

    def model(self, code: str, items: Iterable[Item] | None = None) -> Floats:
        """The model's probabilities of no and yes, shape (items, 2), NaN where it is silent or seen; of
        all items of the code unless some are named."""
        answers = self.codes[code]
        yes = np.array(
            [
                float("nan")
                if item in answers.seen
                else self.known[item.dialogue].probability(item.turn, code)
                for item in (answers.said if items is None else items)
            ],
            float,
        )
        return np.column_stack([1.0 - yes, yes])

    def take_in(
        self, one: Annotation, known: Callable[[str], DialogueContext], of_dialogue: frozenset[str]
    ) -> list[tuple[str, Item]]:
        """Add an annotation, in the place of what this person answered before; the codes and items that it
        is about. What a model said is passed over.

        `known` is asked once for each dialogue. `of_dialogue` are the codes of dialogue scope.
        """
        if one.kind == "model":
            return []
        if one.dialogue_id not in self.known:
            self.known[one.dialogue_id] = known(one.dialogue_id)
        self.workers.setdefault(one.labeler, len(self.workers))
        fresh = _spans(one, self.known[one.dialogue_id].judged, of_dialogue)
        for (code, item), spans in fresh.items():
            answers = self.codes.setdefault(code, CodeAnswers())
            answers.said.setdefault(item, {})[one.labeler] = bool(spans)
            if spans:
                answers.spans.setdefault(item, {})[one.labeler] = spans
            else:
                answers.spans.get(item, {}).pop(one.labeler, None)
            if one.seen_verdict:
                answers.seen.add(item)
        return list(fresh)


def collect_answers(
    annotations: Iterable[Annotation], known: Callable[[str], DialogueContext], of_dialogue: frozenset[str]
) -> CollectedAnswers:
    """All answers of people in `annotations`, oldest first."""
    found = CollectedAnswers()
    for one in annotations:
        found.take_in(one, known, of_dialogue)
    return found


def _spans(
    one: Annotation, judged: tuple[int, ...], of_dialogue: frozenset[str]
) -> dict[tuple[str, Item], list[tuple[int, int, int]]]:
    """The questions that are answered, with the evidence (turn, start, end) where the answer is yes."""
    fresh: dict[tuple[str, Item], list[tuple[int, int, int]]] = {}
    for turn, code, findings in questions_in(one, judged, of_dialogue):
        if turn in judged:
            item = Item(one.dialogue_id, ANYWHERE if code in of_dialogue else turn)
            spans = fresh.setdefault((code, item), [])
            spans += [(finding.turn, finding.start, finding.end) for finding in findings]
    return fresh
