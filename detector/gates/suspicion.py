"""What a gate gets and returns, and the little that all gates read a dialogue with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from dialint.detector.log_profile import LogProfile
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Turn
from dialint.detector.yaml_document import read_document

Outcome = Literal["finding", "suggestion", "dropped", "inapplicable"]
"""What becomes of a suspicion. What is only ``dropped`` may still be suggested by a scan that real dialogues
have calibrated; what is ``inapplicable`` is not, as no log of this kind can show the error."""

NEAR_COPY = 0.8
"""Least Jaccard similarity of the character trigrams of two texts of which one is a near-copy."""

_PROOF = re.compile(r"\((exact check '\w++'|gate '\w++'|judge '[^'()]++'|demoted: [^()]++)[:,)]")

_WORD = re.compile(r"\w++(?:['’]\w++)*+")
_SENTENCE = re.compile(r"[^.!?\n]*+(?:[.!?]++(?!\s|\Z)[^.!?\n]*+)*+[.!?]*+")


@dataclass(frozen=True)
class Suspicion:
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
    def customer_before(self) -> tuple[Turn, ...]:
        """The customer's turns since the agent last spoke to him, in order."""
        turns: list[Turn] = []
        for turn in reversed(self.dialogue.turns[: self.position]):
            if turn.role in JUDGED_ROLES and turn.text.strip() and turns:
                break
            if turn.role == "customer" and turn.text.strip():
                turns.append(turn)
        return tuple(reversed(turns))

    @property
    def customer_turns(self) -> tuple[Turn, ...]:
        """All of the customer's turns before the judged one."""
        return tuple(turn for turn in self.dialogue.turns[: self.position] if turn.role == "customer")

    @property
    def evidence(self) -> str:
        """The words that the scan points at."""
        return self.turn.text[self.start : self.end]


@dataclass(frozen=True)
class GateResult:
    """What becomes of a suspicion, and why in a few words."""

    outcome: Outcome
    why: str


Gate = Callable[[Suspicion], GateResult]


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
    words = split_words(text)
    for start in range(len(words)):
        for size in range(min(longest, len(words) - start), 0, -1):
            if tuple(words[start : start + size]) in phrases:
                yield start, " ".join(words[start : start + size])
                break


def has_phrase(text: str, name: str) -> bool:
    """Whether a text holds a phrase of the list `name`."""
    return next(find_phrases(text, name), None) is not None


def is_near_copy(earlier: str, text: str) -> bool:
    """Whether a text is the same as an earlier one but for a few letters."""
    a, b = _trigrams(earlier), _trigrams(text)
    return len(a & b) >= NEAR_COPY * len(a | b) > 0


def _trigrams(text: str) -> set[str]:
    joined = " ".join(split_words(text))
    return {joined[start : start + 3] for start in range(len(joined) - 2)}
