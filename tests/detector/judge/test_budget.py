"""Budgets are never exceeded, whatever the answers are, and never ask nothing in silence."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from fake_llm import FakeLLM, serving
from judge_requests import opened
from marked_dialogues import in_turn

from dialint.detector.errors import ConfigError
from dialint.detector.interface import PlainDetector
from dialint.detector.judge.budget import Price, parse_budget
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy

PRICE = Price(0.15, 0.60)


class Clean(PlainDetector):
    """A detector that covers nothing and finds nothing."""

    release, fingerprint, codes = "clean", "clean", ()
    taxonomy = load_taxonomy()

    def verdicts(self, dialogues: Any, *, all_probabilities: bool = False) -> list[Verdict]:
        about: dict[str, Any] = {"release": "clean", "taxonomy": "1", "status": "scored", "quality": 100.0}
        return [Verdict(dialogue_id=each.id, **about) for each in dialogues]


def dialogue(number: int) -> Dialogue:
    words = f"It is on its way, number {number}. " * (1 + number % 5)
    return in_turn("Where is it?", words, id=f"d{number}")


def answers(**changes: Any) -> Callable[[str, Any], Any]:
    """Completions with this text and usage; of several texts each in turn."""
    texts = itertools.cycle(changes.pop("texts", [None]))

    def mutate(path: str, data: Any) -> Any:
        if "choices" in data:
            text = next(texts)
            if text is not None:
                data["choices"][0]["message"]["content"] = text
            data["choices"][0] |= {key: value for key, value in changes.items() if key == "finish_reason"}
            data["usage"] |= {key: value for key, value in changes.items() if key != "finish_reason"}
            if "usage" in changes:
                data["usage"] = changes["usage"]
        return data

    return mutate


LISTED = {"turn": 1, "quote": "It is", "code": "T1", "probability": 0.5}
MOODS = {
    "as it should": None,
    "never an answer": answers(texts=["no"]),
    "never an answer and cut": answers(texts=["{" * 200], finish_reason="length", completion_tokens=100),
    "every second": answers(texts=["no", '{"errors":[]}']),
    "lists more than there are": answers(texts=[json.dumps({"errors": [LISTED] * 70})]),
    "counts nothing": answers(texts=["no"], usage=None),
    "counts words": answers(texts=["no"], prompt_tokens="many", completion_tokens=[]),
    "counts what cannot be": answers(texts=["no"], prompt_tokens=10**8, completion_tokens=10**8),
    "no completion": lambda path, data: b"<html>" if "choices" in data else data,
}


LITTLE, ALL = ("max_tokens", "temperature"), FakeLLM().takes


@pytest.mark.parametrize("budget", ["120 questions", "300k tokens", "0.1 usd"])
@pytest.mark.parametrize(
    ("mood", "takes"), [*((mood, LITTLE) for mood in MOODS), ("as it should", ALL), ("every second", ALL)]
)
def test_a_budget_is_never_exceeded(mood: str, budget: str, takes: tuple[str, ...]) -> None:
    """80 dialogues in chunks of 40; what a second answer costs is counted."""
    llm, stage = FakeLLM(takes=takes, false_positives={"": 0.1}), StageOptions(
        codes=frozenset({"T1", "C1", "M1", "X1"}), budget=parse_budget(budget), price=PRICE
    )  # fmt: skip
    with serving(llm) as url, closing(opened(url)) as engine:
        llm.log.clear()
        llm.mutate = MOODS[mood]
        detector = JudgedDetector(Clean(), engine, stage)
        for start in (0, 40):
            before = detector.usage.spent, detector.usage.allowed
            detector.verdicts([dialogue(number) for number in range(start, start + 40)])
            spent, allowed = detector.usage.spent - before[0], detector.usage.allowed - before[1]
            assert 0 < spent <= allowed + 1e-9
    usage = detector.usage
    sent = [entry["body"] for entry in llm.log if entry["path"] == "/v1/chat/completions"]
    tokens = usage.prompt_tokens + usage.output_tokens
    cost = PRICE.cost(usage.prompt_tokens, usage.output_tokens)
    counted = {"questions": usage.questions, "tokens": tokens, "usd": cost}
    assert usage.spent == pytest.approx(counted[budget.split()[1]])
    assert 0 < usage.questions <= len(sent) <= 2 * usage.questions
    if budget.endswith("tokens") and mood in ("as it should", "never an answer"):
        truly = sum(len(str(message["content"])) // 3 for body in sent for message in body["messages"])
        assert truly - 3 * len(sent) <= usage.allowed  # what was sent, not only what was counted


@pytest.mark.parametrize("budget", ["1 questions", "500 tokens", "0.0001 usd", "0 questions"])
def test_a_budget_for_no_question_names_the_least_one(budget: str) -> None:
    """One question of a thousand dialogues is one of a few; what asks nothing is refused."""
    with serving(FakeLLM()) as url, closing(opened(url)) as engine:

        def count_questions(value: str) -> int:
            stage = StageOptions(codes=frozenset({"T1"}), budget=parse_budget(value), price=PRICE)
            detector = JudgedDetector(Clean(), engine, stage)
            detector.verdicts([dialogue(number) for number in range(4)])
            return detector.usage.questions

        if budget == "1 questions":
            assert count_questions(budget) == 1
        else:
            with pytest.raises(ConfigError) as refused:
                count_questions(budget)
            needed = re.search(r'--judge-budget "([^"]+)" or more asks one$', refused.value.message)
            assert needed is not None, refused.value.message
            assert count_questions(needed[1]) == 1
