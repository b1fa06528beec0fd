"""What a gate gets and returns, and the little that all gates read a dialogue with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf
from pathlib import Path
from typing import Literal

from dialint.detector.dialogue_cache import per_dialogue
from dialint.detector.log_profile import LogProfile, words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Turn
from dialint.detector.yaml_document import read_document

Outcome = Literal["finding", "suggestion", "dropped", "inapplicable"]
"""What becomes of a suspicion. What is only ``dropped`` may still be suggested by a scan that real dialogues
have calibrated; what is ``inapplicable`` is not, as no log of this kind can show the error."""

MAX_TURNS = 50
"""Turns of a customer in a row that are read."""
NEAR_COPY = 0.8
"""Least Jaccard similarity of the character trigrams of two texts of which one is a near-copy."""

_PROOF = re.compile(r"\((exact check '\w++'|gate '\w++'|judge '[^'()]++'|demoted: [^()]++)[:,)]")

_WORD = re.compile(r"\w++(?:['’]\w++)*+")
_SENTENCE = re.compile(r"[^.!?\n]*+(?:[.!?]++(?!\s|\Z)[^.!?\n]*+)*+[.!?]*+")


@dataclass(frozen=True)
class CustomerTurns:
    """Turns of a customer that have words, between two of the agent; at most `MAX_TURNS`."""

    turns: tuple[Turn, ...]
    _first: dict[str, tuple[Turn, str] | None] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Turn, str] | None:
        """The first phrase of the list `name` in `phrases.yaml`, and its turn."""
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
def _customer_turns(dialogue: Dialogue) -> list[CustomerTurns]:
    """By position the customer's turns before it since the agent last spoke to him."""
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
    """The position of the first turn of the customer of which something is so; infinity without any."""
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
        return _customer_turns(self.dialogue)[self.position]

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
    """The finding with `proof` at the end of its reason: ``gate 'NAME': ...``, ``exact check 'NAME', ...`` or
    ``demoted: ...``."""
    return finding.model_copy(update={"reason": f"{finding.reason.rstrip('.')} ({proof})."})


def proof_name(finding: Finding) -> str:
    """The last proof that `append_proof` put into the reason (``gate 'NAME'``), without its explanation but
    for that of a demotion; empty without any."""
    names = _PROOF.findall(finding.reason)
    return names[-1] if names else ""


def finding(why: str) -> GateResult:
    return GateResult("finding", why)


def suggestion(why: str) -> GateResult:
    return GateResult("suggestion", why)


def dropped(why: str) -> GateResult:
    return GateResult("dropped", why)


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, digits included, ’ as '."""
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def sentences(text: str) -> list[str]:
    """The sentences of a text with their end marks; a mark within a word or number ends none."""
    return [part.strip() for part in _SENTENCE.findall(text) if part.strip()]


@cache
def _phrase_lists() -> dict[str, frozenset[tuple[str, ...]]]:
    document = read_document(Path(__file__).with_name("phrases.yaml"), "E_GATES").value
    return {
        name: frozenset(tuple(split_words(str(phrase))) for phrase in phrases)
        for name, phrases in document.items()
    }


def words_of(name: str) -> frozenset[str]:
    """The list `name` in `phrases.yaml`, each phrase with blanks between its words."""
    return frozenset(" ".join(phrase) for phrase in _phrase_lists()[name])


def find_phrases(text: str, name: str) -> Iterator[tuple[int, str]]:
    """The phrases of the list `name` in `phrases.yaml` that a text holds, whole words only, each with the
    position of its first word."""
    phrases = _phrase_lists()[name]
    longest = max(map(len, phrases))
    split = split_words(text)
    for start in range(len(split)):
        for size in range(min(longest, len(split) - start), 0, -1):
            if tuple(split[start : start + size]) in phrases:
                yield start, " ".join(split[start : start + size])
                break


def has_phrase(text: str, name: str) -> bool:
    """Whether a text holds a phrase of the list `name`."""
    return next(find_phrases(text, name), None) is not None


def content(text: str) -> frozenset[str]:
    """The first letters of the words that carry content, so that "refund" and "refunded" are one."""
    empty = {word for _, word in find_phrases(text, "empty_words")}
    return frozenset(word[:5] for word in split_words(text) if len(word) > 2 and word not in empty)


def are_near(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether two sets of `trigrams` are those of near-copies."""
    if min(len(a), len(b)) < NEAR_COPY * max(len(a), len(b)):
        return False
    shared = len(a & b)
    return shared >= NEAR_COPY * (len(a) + len(b) - shared) > 0


def trigrams(text: str) -> frozenset[str]:
    """The three letters from each position of a text's words with one blank between."""
    joined = " ".join(split_words(text))
    return frozenset(joined[start : start + 3] for start in range(len(joined) - 2))
