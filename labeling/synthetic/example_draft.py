"""Drafts of dialogues with errors, what a generator of errors is, and the edits that generators make.

Marks hang on turns, so a generator may insert, drop or rewrite turns and no index goes wrong: indices and
labels are derived when the draft is done. A generator never touches a turn that another has marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from pydantic import JsonValue

from dialint.detector.records import Dialogue, Example, Label, Role, Turn
from dialint.labeling.synthetic.wordings import match_style


@dataclass(frozen=True)
class Mark:
    """One error on one turn: offsets into the turn's text, end exclusive, and who made it."""

    code: str
    family: str
    start: int
    end: int


@dataclass(frozen=True)
class DraftTurn:
    """A turn being built. `touched` says that a family has changed it, with an error or without;
    `probe` names the code whose clean counterpart this turn is, for the hard-pair figures; `action` is
    the node of a flow chart that the agent chose, "" where there is none."""

    role: Role
    text: str
    marks: tuple[Mark, ...] = ()
    touched: bool = False
    probe: str = ""
    action: str = ""


@dataclass(frozen=True)
class ExampleDraft:
    """A dialogue being built; `source` is the corpus, `domain` what the corpus says of its domain. `policy`
    names the flow chart that the agent was to follow, and `required` the steps that the chart demands before
    each outcome; see `dialint.labeling.synthetic.flowcharts`."""

    id: str
    source: str
    domain: str
    turns: tuple[DraftTurn, ...]
    policy: str | None = None
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def with_turn(self, index: int, turn: DraftTurn) -> ExampleDraft:
        """The draft with the turn at `index` replaced."""
        return replace(self, turns=(*self.turns[:index], turn, *self.turns[index + 1 :]))

    def to_example(self, split: str, pair: str | None = None) -> Example:
        """The finished example: turns numbered, marks turned into labels of probability 1.

        The dialogue's metadata names the corpus (`source`), the `domain`, and under `probes` the
        turns, if any, that are clean counterparts: ``[{"turn": 5, "code": "U2"}]``.
        """
        probes: list[JsonValue] = [{"turn": i, "code": t.probe} for i, t in enumerate(self.turns) if t.probe]
        dialogue = Dialogue(
            id=self.id,
            turns=tuple(Turn(index=i, role=t.role, text=t.text) for i, t in enumerate(self.turns)),
            language="en",
            policy=self.policy,
            metadata={"source": self.source, "domain": self.domain} | ({"probes": probes} if probes else {}),
        )
        labels = tuple(
            Label(
                dialogue_id=self.id,
                turn=index,
                code=mark.code,
                probability=1.0,
                method=f"inject:{mark.family}",
                start=mark.start,
                end=mark.end,
            )
            for index, turn in enumerate(self.turns)
            for mark in turn.marks
        )
        return Example(dialogue=dialogue, labels=labels, split=split, pair=pair)


@dataclass(frozen=True)
class ErrorPair:
    """The dialogue with the error and, where the code allows one, its clean twin: the same form with another
    history, so that form alone does not tell the label."""

    error: ExampleDraft
    twin: ExampleDraft | None = None


@dataclass(frozen=True)
class Pool:
    """Real text to borrow from, by domain: agent turns and customer turns of the same split."""

    agent_turns: dict[str, list[str]] = field(default_factory=dict)
    customer_turns: dict[str, list[str]] = field(default_factory=dict)
    exchanges: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """A customer turn and the agent turn that followed it."""


Use = Literal["train", "dev", "heldout"]
"""What a family is for: to train on; to choose recipes, codes and thresholds with, never trained on;
or for the held-out sets alone, which decide nothing. Separated by idea, not by a sample of wordings."""

MakeError = Callable[[ExampleDraft, Random, Pool], ErrorPair | None]
"""Makes one error, or returns None where this dialogue offers no fitting turn for it."""

MakeNegative = Callable[[ExampleDraft, Random, Pool], ExampleDraft | None]
"""Makes a clean dialogue that looks like an error, or returns None where it cannot."""


@dataclass(frozen=True)
class Family:
    """One author's idea of how an error comes about. Named "<code>.<idea>"."""

    code: str
    name: str
    make: MakeError
    use: Use = "train"


@dataclass(frozen=True)
class HardNegative:
    """One author's idea of what is easily taken for `code` and is none: reading back to confirm, a quoted
    typo, a short neutral answer. Named "<code>.not-<idea>"; the turn in question has `code` as probe."""

    code: str
    name: str
    make: MakeNegative
    use: Use = "train"


def untouched_agent_turns(draft: ExampleDraft) -> list[int]:
    """Indexes of agent turns that no family has touched."""
    return [i for i, turn in enumerate(draft.turns) if turn.role == "agent" and not turn.touched]


def agent_texts(draft: ExampleDraft) -> list[str]:
    """The agent's texts in turns that no family has touched."""
    return [turn.text for turn in draft.turns if turn.role == "agent" and not turn.touched]


def customer_texts(draft: ExampleDraft) -> list[str]:
    """The customer's texts in the draft."""
    return [turn.text for turn in draft.turns if turn.role == "customer"]


def match_agent_style(text: str, draft: ExampleDraft) -> str:
    """The text in the style of the agent's own turns."""
    return match_style(text, agent_texts(draft))


def match_customer_style(text: str, draft: ExampleDraft) -> str:
    """The text in the style of the customer's own turns."""
    own = [turn.text for turn in draft.turns if turn.role == "customer" and not turn.touched]
    return match_style(text, own)


def clean_turn(role: Role, text: str, probe: str = "") -> DraftTurn:
    """A clean turn that a family has made."""
    return DraftTurn(role, text, (), touched=True, probe=probe)


def error_turn(text: str, family: str, *codes: str, start: int = 0, end: int | None = None) -> DraftTurn:
    """An agent turn with an error from `start` to `end` (the end of the text), for each code."""
    stop = len(text) if end is None else end
    return DraftTurn("agent", text, tuple(Mark(code, family, start, stop) for code in codes), touched=True)


def customer_turn(text: str, draft: ExampleDraft) -> DraftTurn:
    """A turn of the customer that a scene brings in."""
    return DraftTurn("customer", match_customer_style(text, draft), touched=True)


def agent_turn(text: str, draft: ExampleDraft) -> DraftTurn:
    """A clean turn of the agent that a scene brings in."""
    return DraftTurn("agent", match_agent_style(text, draft), touched=True)


def splice(draft: ExampleDraft, start: int, end: int, made: Iterable[DraftTurn]) -> ExampleDraft:
    """The draft with the turns from `start` to `end` (exclusive) replaced by `made`."""
    return replace(draft, turns=(*draft.turns[:start], *made, *draft.turns[end:]))


def join_texts(first: str, second: str) -> tuple[str, int, int]:
    """Two texts as one, with the offsets of the second."""
    gap = " " if first.rstrip()[-1:] in (".", "!", "?", ",", ":", "") else ". "
    text = first.rstrip() + gap + second
    return text, len(text) - len(second), len(text)


def add_words(turn: DraftTurn, words: str, first: bool = False) -> DraftTurn:
    """The turn with words after its own, or before them; marks move along."""
    if first:
        text, start, _ = join_texts(words, turn.text)
        marks = tuple(replace(mark, start=mark.start + start, end=mark.end + start) for mark in turn.marks)
        return replace(turn, text=text, marks=marks, touched=True)
    return replace(turn, text=join_texts(turn.text, words)[0], touched=True)


def add_customer_words(draft: ExampleDraft, index: int, words: str) -> ExampleDraft:
    """The draft in which the customer's turn at `index` also says `words`."""
    return draft.with_turn(index, add_words(draft.turns[index], match_customer_style(words, draft)))


def shuffle(indexes: Iterable[int], rng: Random) -> list[int]:
    """The indexes in random order."""
    order = list(indexes)
    rng.shuffle(order)
    return order
