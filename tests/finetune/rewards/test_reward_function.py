"""The reward function: which question a text answers, and a function of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_questions import CODES, EVIDENCE, SPAN, TURNS, error, question, truth, written

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.finetune.rewards.reward_function import (
    RewardFunction,
    custom_reward,
    load_function,
    reward_fingerprint,
)
from dialint.finetune.rewards.verifiable import RewardWeights

OWN = """
def short(prompts, completions, *, source, turns, codes, labels):
    assert prompts[0][-1]["content"].endswith("List the errors.")
    return [-len(completion[0]["content"]) / 100 for completion in completions]
"""
QUESTIONS = [question(), question(truth(3, "V2", 0.8))]


def test_texts_are_rewarded_by_the_labels_of_their_question() -> None:
    texts = [written(), written(error(3, "V2"))]
    rewards = RewardFunction(QUESTIONS, RewardWeights()).rewards([1, 0, 1, 0], [*texts, *texts[::-1]])
    assert [one.terms["f_score"] for one in rewards] == pytest.approx([0.2, 0.0, 0.8, 1.0])
    assert all(one.terms["preference"] == 0 for one in rewards)


def test_a_function_of_ones_own_is_one_more_term(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    name = f"{tmp_path / 'own.py'}:short"
    own = custom_reward(name, load_function(name)[0], JudgePrompt.of(SMALL_DECODER))
    text = written()
    (reward,) = RewardFunction(QUESTIONS, RewardWeights(preference_weight=0.5), own).rewards([0], [text])
    assert reward.terms["preference"] == pytest.approx(-0.5 * len(text) / 100)
    before = reward_fingerprint(name)
    (tmp_path / "own.py").write_text(OWN + "\n")
    assert reward_fingerprint(name) != before


def test_a_function_gets_the_columns_of_each_question() -> None:
    seen: list[dict[str, object]] = []

    def record(prompts: object, completions: list[object], **columns: object) -> list[float]:
        seen.append(columns)
        return [0.0] * len(completions)

    custom_reward("record", record, JudgePrompt.of(SMALL_DECODER))(QUESTIONS, [written()] * 2)
    label = {"turn": 3, "code": "V2", "probability": 0.8, "span": SPAN, "severity": CODES["V2"].severity}
    assert seen == [
        {"source": ["d"] * 2, "turns": [TURNS] * 2, "codes": [list(CODES)] * 2, "labels": [[], [label]]}
    ]
    assert TURNS[3][SPAN[0] : SPAN[1]] == EVIDENCE


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        (OWN, "nothing", "KeyError"),
        ("x =", "short", "SyntaxError"),
        ("def short(prompts, completions, **_): return [1.0]", "short", "1 values for 2 completions"),
        ("def short(prompts, completions, **_): return [float('nan')] * 2", "short", "finite"),
        ("def short(prompts, completions, **_): raise RuntimeError('down')", "short", "RuntimeError: down"),
    ],
)
def test_a_function_without_rewards_is_refused(tmp_path: Path, source: str, name: str, why: str) -> None:
    (tmp_path / "own.py").write_text(source)
    where = f"{tmp_path / 'own.py'}:{name}"
    with pytest.raises(ConfigError, match=f"E_REWARD: --reward .*own.py:{name}: .*{why}"):
        custom_reward(where, load_function(where)[0], JudgePrompt.of(SMALL_DECODER))(
            QUESTIONS, [written()] * 2
        )
