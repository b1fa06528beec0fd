"""What the judge stage may ask, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
