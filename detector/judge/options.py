"""What the judge stage may ask, and what it reports of the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Protocol

from dialint.detector.judge.budget import Budget, Price
from dialint.detector.judge.messages import Detail, FewShotExample
from dialint.detector.judge.prompts import PromptLanguage
from dialint.detector.overrides import NO_OVERRIDES, Overrides
from dialint.detector.policy import Policy
from dialint.detector.records import Dialogue


class ExampleSearch(Protocol):
    """Finds examples that people decided for a question (`dialint.detector.judge.examples`)."""

    @property
    def fingerprint(self) -> str: ...

    def find(self, dialogue: Dialogue, turn: int, code: str) -> tuple[FewShotExample, ...]: ...


@dataclass(frozen=True, kw_only=True)
class StageOptions:
    """What the stage may ask, and how. `codes` are those it may ask about, `audit` the share of dialogues
    that is asked about all of them; the rest as in `dialint.detector.judge.config.JudgeConfig`."""

    codes: frozenset[str]
    detail: Detail = "full"
    language: PromptLanguage = "en"
    audit: float = 0.0
    threshold: float | None = None
    budget: Budget | None = None
    price: Price | None = None
    overrides: Overrides = NO_OVERRIDES
    examples: ExampleSearch | None = None
    policies: Mapping[str, Policy] = field(default_factory=dict)


@dataclass
class JudgeUsage:
    """What one process asked and paid. `unquoted` counts errors whose quote was not in the turn, `shortened`
    questions that show a dialogue without some of its turns, as it does not fit the judge's context."""

    screens: int = 0
    details: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    allowed: float = 0.0
    spent: float = 0.0
    unquoted: int = 0
    shortened: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def add(self, other: JudgeUsage) -> None:
        """Adds what another process, or another call, took."""
        for each in fields(self):
            if each.name != "failures":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        for name, n in other.failures.items():
            self.failures[name] = self.failures.get(name, 0) + n


@dataclass(frozen=True, kw_only=True)
class JudgeInfo:
    """The judge of a detector, for those who report on it: `fingerprint` is that of its engine, `notes` what
    the engine has to say to the user of how it asks, `max_prompt_tokens` what a question may have, `usage`
    what was taken so far."""

    name: str
    fingerprint: str
    notes: tuple[str, ...]
    max_prompt_tokens: int
    options: StageOptions
    usage: JudgeUsage
