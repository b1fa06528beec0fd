"""Which steps of a procedure a dialogue's agent took that the flow chart requires, and where.

Only steps that can be taken out without leaving a trace: asked once, answered shortly, and told nowhere
else. What is then done to them is for the families to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dialint.labeling.inject.draft import Draft
from dialint.labeling.inject.places import content_words
from dialint.labeling.inject.wordings.process import THINGS

MAX_ANSWER = 12
"""Words of the longest answer to a step; a longer one says more than the step asks for."""

_CONFIRMS = re.compile(r"\b(book (it|that|this|the)|confirm your)\b", re.IGNORECASE)
_YES = re.compile(
    r"^\W*(yes|yeah|yep|yea|sure|ok|okay|please|absolutely|of course|great|perfect|sounds)\b", re.I
)
_BOOK_IT = re.compile(r"\b(book|schedule|reserve|go ahead|proceed|do it|do that)\b", re.IGNORECASE)
_REFUSES = re.compile(r"\b(sorry|unfortunately|not authori[sz]ed|cannot|unable|failed)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """A step that was taken: places of the agent's question and of the outcome that needs it, and the
    noun for what is asked; "" is consent to the outcome itself. The answer is at ``ask + 1``."""

    ask: int
    outcome: int
    thing: str


def steps(draft: Draft) -> list[Step]:
    """The required steps that were taken exactly once, before the first outcome, and by nothing else."""
    turns = draft.turns
    outcome = next((i for i, turn in enumerate(turns) if turn.action in draft.required), None)
    if outcome is None or turns[outcome].touched or _REFUSES.search(turns[outcome].text):
        return []
    if any(turn.action in ("utter", "custom") and "?" in turn.text for turn in turns[:outcome]):
        return []  # a question of the agent's own making may have been the step in other words
    found = []
    for name in draft.required[turns[outcome].action]:
        asks = [i for i, turn in enumerate(turns) if turn.action == name]
        if len(asks) == 1 and 0 < asks[0] < outcome - 1 and _simple(draft, asks[0]):
            thing = "" if _CONFIRMS.search(turns[asks[0]].text) else thing_of(name)
            step = Step(asks[0], outcome, thing)
            if _agreed(draft, step) if not thing else _only_there(draft, step):
                found.append(step)
    return found


def thing_of(name: str) -> str:
    """The noun for what a step asks for, from the step's name."""
    return next((noun for part, noun in THINGS.items() if part in name), "detail")


def _simple(draft: Draft, ask: int) -> bool:
    """Customer, question, short answer, agent: the pair can go and the talk still alternates."""
    before, question, answer, after = draft.turns[ask - 1 : ask + 3]
    roles = [turn.role for turn in (before, question, answer, after)]
    return (
        roles == ["customer", "agent", "customer", "agent"]
        and not question.touched
        and not answer.touched
        and "?" not in answer.text
        and len(answer.text.split()) <= MAX_ANSWER
    )


def _agreed(draft: Draft, step: Step) -> bool:
    before, _, answer = draft.turns[step.ask - 1 : step.ask + 2]
    return bool(_YES.search(answer.text)) and not _BOOK_IT.search(before.text)


def _only_there(draft: Draft, step: Step) -> bool:
    """Whether no other turn of the customer's holds a word or number of the answer."""
    given = _values(draft.turns[step.ask + 1].text)
    elsewhere = (
        _values(turn.text)
        for i, turn in enumerate(draft.turns)
        if turn.role == "customer" and i != step.ask + 1
    )
    return not any(given & other for other in elsewhere)


def _values(text: str) -> set[str]:
    return content_words(text) | {
        w.lower() for w in re.findall(r"\b(?:(?=[^\W\d]*+\d)|[A-Z](?=\w))\w++", text)
    }
