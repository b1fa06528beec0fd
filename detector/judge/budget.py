"""Budgets of a judge in questions, tokens or dollars for each thousand dialogues.

The allowance of a chunk of dialogues depends on its place in the log alone, so that a job that was resumed
asks the same questions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dialint.detector.errors import ConfigError

Unit = Literal["questions", "tokens", "usd"]

_BUDGET = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([km]?) ?(questions?|tokens?|usd)", re.IGNORECASE)
_PRICE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ?, ?(\d{1,6}(?:\.\d{1,6})?)")
_FACTOR = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens of prompts, and of answers."""

    prompt: float
    output: float

    def cost(self, prompt_tokens: int, output_tokens: int) -> float:
        """The cost in dollars."""
        return (self.prompt * prompt_tokens + self.output * output_tokens) / 1e6


@dataclass(frozen=True)
class Budget:
    """`amount` of `unit` for each thousand dialogues."""

    amount: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.amount:,g} {self.unit} a thousand dialogues"

    def allowance(self, before: int, n: int) -> float:
        """The allowance of `n` dialogues after `before` others. Allowances of neighbouring chunks add up
        without loss; questions are rounded up, so that the first dialogues have one."""
        first, last = (self.amount * count / 1000 for count in (before, before + n))
        return math.ceil(last) - math.ceil(first) if self.unit == "questions" else last - first

    def least_for(self, cost: float, n: int) -> str:
        """The least value of the option with which `n` dialogues have `cost` to spend."""
        amount = cost * 1000 / n
        if self.unit == "usd":
            return f"{math.ceil(amount * 10_000) / 10_000:.4f} usd"
        return f"{math.ceil(amount)} {self.unit}"


def parse_budget(text: str) -> Budget:
    """
    Raises:
        ConfigError: E_OPTION, not such as "500 questions", "200k tokens" or "2.50 usd".
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            "E_OPTION", f'--judge-budget {text[:30]!r}: expected "500 questions", "200k tokens" or "2.50 usd"'
        )
    unit = match[3].lower()
    budget_unit: Unit = "usd" if unit == "usd" else "tokens" if unit.startswith("token") else "questions"
    return Budget(float(match[1]) * _FACTOR[match[2].lower()], budget_unit)


def parse_price(text: str) -> Price:
    """
    Raises:
        ConfigError: E_OPTION, not two numbers.
    """
    match = _PRICE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            "E_OPTION",
            f"--judge-price {text[:30]!r}: expected IN,OUT in dollars a million tokens, as 0.15,0.60",
        )
    return Price(float(match[1]), float(match[2]))


class BudgetTracker:
    """The rest of one chunk's allowance, infinite without a budget. `refused` is the cost of the last
    question for which it was too little."""

    def __init__(self, budget: Budget | None, price: Price | None, before: int, n: int) -> None:
        self._unit: Unit = budget.unit if budget is not None else "questions"
        self._price = price
        self.left = math.inf if budget is None else budget.allowance(before, n)
        self.refused = 0.0
        self._reserved = 0.0
        self._is_calibrating = self._unit != "questions"

    def cost(self, prompt_tokens: int, output_tokens: int) -> float:
        """The cost of one question, in the budget's unit."""
        if self._unit == "questions":
            return 1
        if self._unit == "tokens":
            return prompt_tokens + output_tokens
        return self._price.cost(prompt_tokens, output_tokens) if self._price is not None else 0.0

    def reserve(self, prompt_tokens: int, max_tokens: int) -> int:
        """Reserves the cost of a question; returns how many answers, at most two, are affordable. The
        reservation, the most that they can cost, holds until `settle`: a second one has the prompt and twice
        the room, and verdicts by token take one more. The first question is asked alone, so that the engine
        learns how the server counts."""
        if self._is_calibrating and self._reserved:
            return 0
        left = self.left - self._reserved
        for answers in (2, 1):
            cost = self.cost(answers * prompt_tokens, (2**answers - 1) * max_tokens + answers)
            if cost <= left:
                self._reserved += cost
                return answers
        self.refused = cost
        return 0

    def settle(self, spent: Sequence[tuple[int, int]]) -> None:
        """Replaces the reservations by the tokens spent: those of the prompt and of the answers of each
        question."""
        self._reserved, self._is_calibrating = 0.0, self._is_calibrating and not spent
        self.left -= sum(self.cost(prompt_tokens, output_tokens) for prompt_tokens, output_tokens in spent)
