"""What people said of one dialogue, question by question; who was asked, whose answer counts.

Annotations are append-only: of one labeler the last answer to a question counts. Answers of a model
never count here. Soft labels are shares of people; a better truth comes from ``dialint label aggregate``
and takes their place where it is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from dialint.detector.records import Dialogue, Finding, Label
from dialint.labeling.aggregation.spans import agreed_span
from dialint.labeling.annotation import Annotation, judged_turns

DECIDING = ("expert",)
"""Kinds whose answers stand alone where there are any."""


@dataclass(frozen=True)
class Opinions:
    """All annotations of one dialogue that are people's, in the order in which they were made."""

    dialogue: Dialogue
    people: Sequence[Annotation]
    of_dialogue: frozenset[str]

    def covered(self, codes: Collection[str]) -> bool:
        """Whether people were asked of every judged turn for every code."""
        missing = set(codes).difference(*(own.codes for own in self.people if own.turn is None))
        if not missing:
            return True
        asked = {(annotation.turn, code) for annotation in self.people for code in annotation.codes}
        once = {code for _, code in asked} & self.of_dialogue
        turns = judged_turns(self.dialogue)
        return all(code in once or all((turn, code) in asked for turn in turns) for code in missing)

    def found(self) -> list[tuple[int, str]]:
        """Turn and code of everything that some person found, in order; a code of dialogue scope once,
        where most found it (the first of equals)."""
        each = ({(finding.turn, finding.code) for finding in own.findings} for own in self.people)
        places = Counter(chain.from_iterable(each))
        best: dict[str, tuple[int, int]] = {}
        for (turn, code), count in places.items():
            if code in self.of_dialogue:
                best[code] = max(best.get(code, (0, 0)), (count, -turn))
        single = {(-place, code) for code, (_, place) in best.items()}
        return sorted(key for key in places if key[1] not in self.of_dialogue or key in single)

    def voters(self, turn: int, code: str, kinds: Collection[str] = ()) -> list[Annotation]:
        """Each person's last answer to a question, in order of time; of `kinds` only, if any."""
        last: dict[str, Annotation] = {}
        anywhere = code in self.of_dialogue
        for annotation in self.people:
            if kinds and annotation.kind not in kinds:
                continue
            if code in annotation.codes and (anywhere or annotation.turn in (None, turn)):
                last.pop(annotation.labeler, None)
                last[annotation.labeler] = annotation
        return list(last.values())

    def says(self, annotation: Annotation, turn: int, code: str) -> list[Finding]:
        """The findings that answer a question with yes."""
        anywhere = code in self.of_dialogue
        return [
            found for found in annotation.findings if found.code == code and (anywhere or found.turn == turn)
        ]

    def share(self, turn: int, code: str) -> Label | None:
        """The share of people who say yes, an expert's answer before all others, as a label with the
        evidence most agree on; none if nobody says yes."""
        voters = self.voters(turn, code, DECIDING)
        method = "expert" if voters else "people:share"
        voters = voters or self.voters(turn, code)
        yes = [found for voter in voters if (found := self.says(voter, turn, code))]
        if not yes:
            return None
        start, end = agreed_span([(f.start, f.end) for found in yes for f in found if f.turn == turn])
        return Label(
            dialogue_id=self.dialogue.id,
            turn=turn,
            code=code,
            probability=len(yes) / len(voters),
            method=method,
            n_labelers=len(voters),
            start=start,
            end=end,
        )
