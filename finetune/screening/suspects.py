"""What is held against an example or a label of it; ids only, no text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dialint.detector.records import Probability, Record

Why = Literal["exam-copy", "contradiction", "label"]


class Suspect(Record):
    """A training example that should not be learned from, and why.

    exam-copy: it is a near-copy of the example `like` of a set that judges. contradiction: copies of it say
    otherwise of this turn and code; `probability` is their mean. label: a model that never saw this dialogue
    is sure of the opposite; `probability` is what it gave to an error. `given` is the label in question, 0
    where there is none. `turn` is none for a code that is of the whole dialogue.
    """

    dialogue_id: str
    why: Why
    turn: Annotated[int, Field(ge=0)] | None = None
    code: str | None = None
    given: Probability | None = None
    probability: Probability | None = None
    like: str | None = None
