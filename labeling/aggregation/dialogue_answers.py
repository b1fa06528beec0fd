"""Answers about dialogues as crowd tables: yes or no to one code in one turn, by one person; and the model's
probability.

Reads annotations in the order in which they were made; of one person the last answer to a question counts. A
code of dialogue scope is one question, in any turn. Where an answer was given with the verdict in view, the
model's probability is left out: it would be counted twice. Keeps no dialogue text.
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
from dialint.labeling.annotation import Annotation, judged_turns, questions_in

ANSWERS = ("no", "yes")
WHOLE_DIALOGUE = -1
"""The turn of a question about a whole dialogue."""


def dialogue_codes(taxonomy: Taxonomy) -> frozenset[str]:
    """Codes of dialogue scope: one question for each dialogue."""
    return frozenset(name for name, code in taxonomy.codes.items() if code.scope == "dialogue")


class TaskItem(NamedTuple):
    """A task of a code's crowd table: is the error in this turn, or in the `WHOLE_DIALOGUE`?"""

    dialogue: str
    turn: int

    @property
    def name(self) -> str:
        """The name of the task in a crowd table."""
        return f"{self.dialogue}/{self.turn}"


@dataclass(frozen=True)
class DialogueContext:
    """The turns of a dialogue that can hold an error, and the model's probabilities by turn and code, if a
    verdict has them."""

    judged_turns: tuple[int, ...]
    probabilities: Mapping[int, Mapping[str, float]] | None

    @classmethod
    def of(cls, dialogue: Dialogue, verdict: Verdict | None = None) -> DialogueContext:
        """The context of a dialogue and, if there is one, of the verdict on it."""
        is_scored = verdict is not None and verdict.status != "failed"
        return cls(judged_turns(dialogue), verdict.probabilities if verdict and is_scored else None)

    def probability(self, turn: int, code: str) -> float:
        """The model's probability of an error in a turn or, for `WHOLE_DIALOGUE`, the highest of any turn;
        NaN where the model has none."""
        turns = self.judged_turns if turn == WHOLE_DIALOGUE else (turn,)
        by_turn = [(self.probabilities or {}).get(one, {}) for one in turns]
        return max((codes[code] for codes in by_turn if code in codes), default=float("nan"))


Span = tuple[int, int, int]
"""Turn, start and end of the evidence of a finding."""


@dataclass
class CodeAnswers:
    """All answers about one code: `votes` by item and person, the marked spans, none for a no; and the items
    that were answered with the verdict in view."""

    votes: dict[TaskItem, dict[str, tuple[Span, ...]]] = field(default_factory=dict)
    verdict_seen: set[TaskItem] = field(default_factory=set)

    def table(self, workers: Mapping[str, int]) -> Answers:
        """The crowd table: tasks in the order of `votes`, labels no and yes."""
        rows = [
            (task, workers[worker], bool(spans))
            for task, votes in enumerate(self.votes.values())
            for worker, spans in votes.items()
        ]
        columns = np.array(rows, np.int32).reshape(-1, 3)
        task, worker, label = np.ascontiguousarray(columns.T)
        names = tuple(item.name for item in self.votes)
        return Answers(task, worker, label, names, tuple(workers), ANSWERS)

    def locate(self, item: TaskItem, judged_turns: tuple[int, ...]) -> tuple[int, int | None, int | None]:
        """Returns the turn of an item, for a whole dialogue the one that most people marked, else the last;
        and start and end of the evidence on which most agree."""
        spans = [span for marked in self.votes.get(item, {}).values() for span in marked]
        if item.turn != WHOLE_DIALOGUE:
            turn = item.turn
        elif spans:
            counts = Counter(turn for turn, _, _ in spans)
            turn = max(counts, key=lambda one: (counts[one], -one))
        else:
            turn = judged_turns[-1]
        return turn, *select_span([(start, end) for at, start, end in spans if at == turn])


@dataclass
class CollectedAnswers:
    """Answers by code, their workers, and the dialogues they are about."""

    codes: dict[str, CodeAnswers] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    contexts: dict[str, DialogueContext] = field(default_factory=dict)

    def tables(self) -> dict[str, Answers]:
        """The crowd table of each code; all share the workers."""
        return {code: self.codes[code].table(self.workers) for code in sorted(self.codes)}

    def model_probabilities(self, code: str) -> Floats:
        """The model's probabilities of no and yes, shape (items, 2), of all items of a code; NaN where the
        model has none, or where an answer was given with its verdict in view."""
        answers = self.codes[code]
        yes = np.array(
            [
                float("nan")
                if item in answers.verdict_seen
                else self.contexts[item.dialogue].probability(item.turn, code)
                for item in answers.votes
            ],
            float,
        )
        return np.column_stack([1.0 - yes, yes])

    def add(
        self,
        annotation: Annotation,
        load_context: Callable[[str], DialogueContext],
        dialogue_codes: frozenset[str],
    ) -> None:
        """Add an annotation, which replaces earlier answers of the same person. Annotations of a model are
        skipped. `load_context` is called once for each dialogue."""
        if annotation.kind == "model":
            return
        dialogue = annotation.dialogue_id
        if dialogue not in self.contexts:
            self.contexts[dialogue] = load_context(dialogue)
        self.workers.setdefault(annotation.labeler, len(self.workers))
        evidence: dict[tuple[str, TaskItem], tuple[Span, ...]] = {}
        turns = self.contexts[dialogue].judged_turns
        for turn, code, findings in questions_in(annotation, turns, dialogue_codes):
            if turn in turns:
                key = code, TaskItem(dialogue, WHOLE_DIALOGUE if code in dialogue_codes else turn)
                spans = ((finding.turn, finding.start, finding.end) for finding in findings)
                evidence[key] = (*evidence.get(key, ()), *spans)
        for (code, item), marked in evidence.items():
            answers = self.codes.setdefault(code, CodeAnswers())
            answers.votes.setdefault(item, {})[annotation.labeler] = marked
            if annotation.seen_verdict:
                answers.verdict_seen.add(item)


def collect_answers(
    annotations: Iterable[Annotation],
    load_context: Callable[[str], DialogueContext],
    dialogue_codes: frozenset[str],
) -> CollectedAnswers:
    """All answers of people in `annotations`, oldest first."""
    answers = CollectedAnswers()
    for annotation in annotations:
        answers.add(annotation, load_context, dialogue_codes)
    return answers


def select_span(spans: Iterable[tuple[int, int]]) -> tuple[int, int] | tuple[None, None]:
    """Select the span that overlaps most with all others (sum of overlap over union), the first of equals."""
    all_spans = list(spans)
    if not all_spans:
        return None, None

    def sum_overlaps(a: tuple[int, int]) -> float:
        return sum(
            max(0, min(a[1], b[1]) - max(a[0], b[0])) / (max(a[1], b[1]) - min(a[0], b[0])) for b in all_spans
        )

    return max(all_spans, key=sum_overlaps) if len(set(all_spans)) > 1 else all_spans[0]
