"""What a reward model says where errors are rarer than among the pairs it learnt from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dialint.detector.judge import VERDICTS, Answer, Question, answer_json
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.questions import LabelledQuestion
from dialint.finetune.rewards import reward_model
from dialint.finetune.rewards.reward_function import no_error_log_odds
from dialint.finetune.rewards.reward_model import RewardModel
from dialint.finetune.rewards.verifiable import RewardWeights


def asked(probability: float, stands_for: float) -> LabelledQuestion:
    turns = (Turn(index=0, role="agent", text="a b"),)
    question = Question(dialogue=Dialogue(id="d", turns=turns), turn=0, code="T1")
    return LabelledQuestion(
        question,
        load_taxonomy().codes["T1"],
        probability,
        "a b",
        None,
        "S2",
        None,
        "s",
        stands_for=stands_for,
    )


QUESTIONS = [asked(1.0, 1.0), asked(0.0, 3.0), asked(0.0, 50.0)]


def test_odds_count_questions_as_what_they_stand_for() -> None:
    assert no_error_log_odds(QUESTIONS, RewardWeights(most_stands_for=10.0)) == pytest.approx(math.log(13))
    assert no_error_log_odds(QUESTIONS, RewardWeights(most_stands_for=1.0)) == 0.0
    assert no_error_log_odds(QUESTIONS[1:], RewardWeights()) == 0.0  # no error to compare with


class Prompt:
    """Prompts of no tokens, answers of their length."""

    class tokenizer:
        pad_token_id = 0

    def ids(self, *_: Any) -> list[int]:
        return [1]

    def answer_ids(self, text: str) -> list[int]:
        return [len(text)]


def test_an_accusation_must_outdo_the_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that likes all answers alike: an accusation gets log 13 less, in its standard deviations."""

    monkeypatch.setattr(reward_model, "score_rows", lambda model, rows, pad: np.full(len(rows), 5.0))
    against = no_error_log_odds(QUESTIONS, RewardWeights(most_stands_for=10.0))
    model = RewardModel(None, Prompt(), 5.0, 2.0, against)  # type: ignore[arg-type]
    texts = [*(answer_json(Answer(verdict=said, probability=0.5)) for said in VERDICTS[:2]), "{"]
    accused, silent, broken = model.preferences(QUESTIONS, texts)
    assert accused == pytest.approx(-math.log(13) / 2 / 3)
    assert (silent, broken) == (0.0, 0.0)
