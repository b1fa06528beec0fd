"""What checks and gates get, return, and say of themselves.

A gate is what the log itself must show before a suspicion of the scan becomes a finding. It reads the
dialogue before masking, confirms the suspicion, demotes it to a suggestion, or drops it, and says why. It
finds nothing by itself, so its rule may be wider than that of a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Literal

from dialint.detector.calibration import MIN_PRECISION
from dialint.detector.checks.words import content, find_phrases, has_phrase, sentences
from dialint.detector.languages import UNKNOWN
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, words
from dialint.detector.policy.format import Policy
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Turn
from dialint.detector.taxonomy import WaitLimits
from dialint.detector.tool_use import per_dialogue


@dataclass(frozen=True)
class Hit:
    """A match of a check: offsets into the turn's text, end exclusive, and the reason; in a turn that only
    calls tools `start` is the number of the call. Checks that serve several codes set `code`."""

    turn: int
    start: int
    end: int
    why: str
    code: str | None = None


@dataclass(frozen=True)
class CheckContext:
    """What a check may know beside the dialogue: the rest of the log, the policies by their names, and the
    languages that the user states (`dialint.detector.languages.detect_languages`), and the limits of waits of
    the team's taxonomy."""

    log: LogProfile = EMPTY_PROFILE
    policies: Mapping[str, Policy] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    waits: tuple[WaitLimits, ...] = ()


NO_CONTEXT = CheckContext()

CheckFunction = Callable[[Dialogue, CheckContext], Iterator[Hit]]
"""Reads a dialogue as it stands in the log, before masking."""


@dataclass(frozen=True)
class Evidence:
    """How often the hits of a check were right for one code: `right` of `read` on real dialogues, or an
    `estimate` where the counts were not kept. Without a measurement, or right more seldom than
    `MIN_PRECISION`, a check only suggests."""

    right: int = 0
    read: int = 0
    report: Literal["finding", "suggestion"] = "finding"
    estimate: float | None = None

    @property
    def precision(self) -> float:
        """The share of right hits, by Laplace's rule of succession."""
        return self.estimate or round((self.right + 1) / (self.read + 2), 3)

    @property
    def outcome(self) -> Literal["finding", "suggestion"]:
        """What a hit may become."""
        is_measured = bool(self.read or self.estimate)
        return self.report if is_measured and self.precision >= MIN_PRECISION else "suggestion"


@dataclass(frozen=True)
class Check:
    """An exact check: a rule that finds errors without a model. It serves `codes`, for turns in `languages`,
    or in any: an unfilled slot is an error in every language, but whether a customer requested the same words
    again is decided by English words."""

    find: CheckFunction
    codes: Mapping[str, Evidence]
    languages: tuple[str, ...] = ()

    def __call__(self, dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
        return self.find(dialogue, context)

    def covers(self, language: str) -> bool:
        """Return whether the check applies to turns in `language`."""
        return language == UNKNOWN or not self.languages or language in self.languages


def check(languages: tuple[str, ...] = (), **codes: Evidence) -> Callable[[CheckFunction], Check]:
    """Make a `Check` of a function, for example ``@check(T1=Evidence(47, 50), languages=("en",))``."""
    return lambda find: Check(find, codes, languages)


Outcome = Literal["finding", "suggestion", "dropped"]
"""What becomes of a suspicion."""
MAX_TURNS = 50
"""Turns of a customer in a row that are read."""
_PROOF = re.compile(r"\((exact check '\w++'|gate '\w++'|judge '[^'()]++'|demoted: [^()]++)[:,)]")


@dataclass(frozen=True)
class CustomerTurns:
    """Turns of a customer that have words, between two of the agent; at most `MAX_TURNS`."""

    turns: tuple[Turn, ...]
    _first: dict[str, tuple[Turn, str] | None] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Turn, str] | None:
        """Return the first phrase of the list `name` in `phrase_lists.yaml`, and its turn."""
        if name not in self._first:
            phrases = ((turn, phrase) for turn in self.turns for _, phrase in find_phrases(turn.text, name))
            self._first[name] = next(phrases, None)
        return self._first[name]

    @cached_property
    def text(self) -> str:
        """All of them, with blanks between."""
        return " ".join(turn.text for turn in self.turns)

    @cached_property
    def asks_again(self) -> bool:
        """Whether they ask to hear something again."""
        return has_phrase(self.text, "asks_again")

    @cached_property
    def words(self) -> frozenset[str]:
        """Their words as `log_profile` counts them."""
        return frozenset(words(self.text))

    @cached_property
    def questions(self) -> str:
        """The sentences that ask or request something, with blanks between."""
        parts = (sentence for turn in self.turns for sentence in sentences(turn.text))
        return " ".join(part for part in parts if "?" in part or has_phrase(part, "requests"))

    @cached_property
    def question_content(self) -> frozenset[str]:
        """The `content` of the questions."""
        return content(self.questions)


@per_dialogue
def customer_turns(dialogue: Dialogue) -> list[CustomerTurns]:
    """Return by position the customer's turns before it since the agent last spoke to him."""
    results: list[CustomerTurns] = []
    before, has_agent_spoken = CustomerTurns(()), False
    for turn in dialogue.turns:
        results.append(before)
        if not turn.text.strip():
            continue
        if turn.role == "customer":
            earlier = () if has_agent_spoken else before.turns[1 - MAX_TURNS :]
            before, has_agent_spoken = CustomerTurns((*earlier, turn)), False
        elif turn.role in JUDGED_ROLES:
            has_agent_spoken = True
    return results


def first_positions(dialogue: Dialogue, read: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Whatever `read` returns for the customer's turns, with the position where it occurs first."""
    first: dict[str, int] = {}
    for position, turn in enumerate(dialogue.turns):
        for value in read(turn.text) if turn.role == "customer" else ():
            first.setdefault(value, position)
    return first


def first_position(dialogue: Dialogue, is_so: Callable[[str], object]) -> float:
    """Return the position of the first turn of the customer of which something is so; infinity without
    any."""
    turns = enumerate(dialogue.turns)
    return next((n for n, turn in turns if turn.role == "customer" and is_so(turn.text)), inf)


@dataclass(frozen=True)
class GateInput:
    """What the scan holds for an error: the judged turn by its position in `dialogue.turns`, the offsets
    ``[start, end)`` of the evidence in its text, and the calibrated probability in [0, 1]."""

    dialogue: Dialogue
    position: int
    start: int
    end: int
    probability: float
    log: LogProfile

    @property
    def turn(self) -> Turn:
        """The judged turn."""
        return self.dialogue.turns[self.position]

    @property
    def customer_before(self) -> CustomerTurns:
        """The customer's turns since the agent last spoke to him."""
        return customer_turns(self.dialogue)[self.position]

    @property
    def evidence(self) -> str:
        """The words that the scan points at."""
        return self.turn.text[self.start : self.end]


@dataclass(frozen=True)
class GateResult:
    """What becomes of a suspicion, and why in a few words."""

    outcome: Outcome
    why: str


Gate = Callable[[GateInput], GateResult]


def append_proof(finding: Finding, proof: str) -> Finding:
    """Return the finding with `proof` at the end of its reason: ``gate 'NAME': ...``, ``exact check 'NAME',
    ...`` or ``demoted: ...``."""
    return finding.model_copy(update={"reason": f"{finding.reason.rstrip('.')} ({proof})."})


def proof_name(finding: Finding) -> str:
    """Return the last proof that `append_proof` put into the reason (``gate 'NAME'``), without its
    explanation but for that of a demotion; empty without any."""
    names = _PROOF.findall(finding.reason)
    return names[-1] if names else ""


def finding(why: str) -> GateResult:
    return GateResult("finding", why)


def suggestion(why: str) -> GateResult:
    return GateResult("suggestion", why)


def dropped(why: str) -> GateResult:
    return GateResult("dropped", why)
