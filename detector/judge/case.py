"""A dialogue in the judge stage: the verdict of the detector inside, the questions, and what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dialint.detector.judge.prompt import PROMPT_VERSION
from dialint.detector.judge.reading import Question, ReadError, Reading, average
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import Dialogue, JudgeRecord, Verdict


@dataclass
class Case:
    """A dialogue with the verdict of the detector inside, and what the judge said of it so far.

    `readings` are the usable answers to each of its `questions`, by index, one for each vote; `failed` those
    questions that a vote gave no usable answer to, with the code of the failure; `errors` what the readings
    list together.
    """

    dialogue: Dialogue
    verdict: Verdict
    readings: dict[int, list[Reading]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    errors: list[ReadError] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    n_readings: int = 0
    n_second_looks: int = 0
    asked: set[str] = field(default_factory=set)
    unmet: tuple[str, ...] = ()
    unasked: set[str] = field(default_factory=set)
    failures: dict[str, set[str]] = field(default_factory=dict)
    unquoted: int = 0

    @cached_property
    def _masking(self) -> tuple[Dialogue, tuple[MaskedText, ...]]:
        return mask_dialogue(self.dialogue)

    @property
    def masked(self) -> Dialogue:
        """The dialogue with placeholders for personal data: all that a judge sees."""
        return self._masking[0]

    @property
    def texts(self) -> tuple[MaskedText, ...]:
        """The masked text of each turn, by position."""
        return self._masking[1]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """Position of each turn by its index."""
        return {turn.index: position for position, turn in enumerate(self.dialogue.turns)}

    def forget(self) -> None:
        """Begin anew, with other questions."""
        self.readings, self.failed, self.asked, self.failures = {}, {}, set(), {}

    def settle(self) -> None:
        """Draw up what the readings list, and which questions nothing answered."""
        self.errors = [error for own in self.readings.values() for error in average(own)]
        for number, failure in self.failed.items():
            if number not in self.readings:
                self.fail(failure, tuple(self.questions[number].codes))

    def fail(self, failure: str, codes: Sequence[str]) -> None:
        """Record codes about which there is no usable answer."""
        self.failures.setdefault(failure, set()).update(codes)

    def record(self, name: str) -> JudgeRecord:
        """What was asked, for the verdict."""
        return JudgeRecord(
            name=name,
            prompt=PROMPT_VERSION,
            readings=self.n_readings,
            second_looks=self.n_second_looks,
            codes=tuple(sorted(self.asked)),
            unmet=tuple(sorted(self.unmet)),
            unasked=tuple(sorted(self.unasked)),
            failures={failure: tuple(sorted(codes)) for failure, codes in sorted(self.failures.items())},
        )
