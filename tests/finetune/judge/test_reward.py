"""The reward model: pairs, their agreement, and what it says of held-out ones."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rude_dialogues import example, written

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.engines import base_models
from dialint.detector.judge import Question, locate_quote, parse_answer
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.questions import LabelledQuestion, QuestionConfig
from dialint.finetune.judge.reward import RewardConfig, run
from dialint.finetune.rewards.pairs import pairs_from_labels, read_pairs
from dialint.finetune.rewards.reward_model import score_rows
from dialint.finetune.rewards.reward_trainer import (
    accuracy_with_interval,
    answer_only_margins,
    evaluate_pairs,
)
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions

RUNNING = RunOptions(threads=1, precision="fp32", device="cpu")


@pytest.fixture
def corrected(tmp_path: Path) -> Path:
    """A data set whose reviewers overturned a finding and confirmed none."""
    folder = tmp_path / "corrected"
    folder.mkdir()
    written(folder, lambda place: 0.8)
    made = example("train0", "train", rude=True)
    found = {"verdict": "error", "quote": "own fault", "severity": "S2", "reason": "", "rewrite": None}
    none = {"verdict": "no_error", "quote": None, "severity": None, "reason": "", "rewrite": None}
    row = {
        "dialogue": made.dialogue.model_dump(mode="json"), "turn": 3, "code": "T1", "chosen": found,
        "rejected": none, "outcome": "missed", "annotation": "a1", "release": "r1", "split": "train",
    }  # fmt: skip
    (folder / "preferences.jsonl").write_text(json.dumps(row) + "\n")
    paths = [folder / f"{name}.jsonl" for name in ("train", "dev", "test", "preferences")]
    content = {"kind": "labelled-examples", "codes": ["T1"], "files": [file_entry(path) for path in paths]}
    write_manifest(folder / "manifest.json", content)
    return folder


def test_pairs_come_from_reviewers_and_labels(corrected: Path) -> None:
    pairs = read_pairs(corrected, "train", QuestionConfig(random_questions=0), 1)
    reviewers = [pair for pair in pairs if pair.origin == "reviewer"]
    assert len(reviewers) == 1
    assert reviewers[0].agreement == 0.8  # the posterior that it is an error
    chosen, rejected = parse_answer(reviewers[0].chosen), parse_answer(reviewers[0].rejected)
    assert chosen is not None
    assert (chosen.verdict, chosen.quote) == ("error", "own fault")
    assert rejected is not None
    assert rejected.verdict == "no_error"


def asked_of(count: int, *, probability: float = 0.9, rewrites: bool = True) -> list[LabelledQuestion]:
    """Errors and others by turns: of these every second has the words of an error as well."""
    code, chance = load_taxonomy().codes["T1"], random.Random(count)
    made = []
    for place in range(count):
        error = place % 2 == 0
        words = [f"word{chance.randrange(30)}" for _ in range(12)]
        start = chance.randrange(9)
        if error or place % 4 == 1:
            words[start : start + 3] = ["your", "own", chance.choice(("fault", "problem", "business"))]
        text = " ".join(words)
        before = len(" ".join([*words[:start], ""]))
        evidence = (before, before + len(" ".join(words[start : start + 3])))
        turns = (Turn(index=0, role="customer", text=f"Hi {place}"), Turn(index=1, role="agent", text=text))
        made.append(
            LabelledQuestion(
                question=Question(dialogue=Dialogue(id=f"d{place}", turns=turns), turn=1, code="T1"),
                code=code,
                probability=probability if error else 1 - probability,
                text=text,
                span=evidence if error else None,
                severity="S2",
                rewrite="Let me look into it." if error and rewrites and place % 4 == 0 else None,
                source=f"s{place}",
            )
        )
    return made


def test_an_answer_that_is_right_for_one_question_is_wrong_for_another() -> None:
    pairs = [pair for pair in pairs_from_labels(asked_of(400), 1) if pair.origin == "label"]
    chosen, rejected = ({pair.chosen for pair in pairs}, {pair.rejected for pair in pairs})
    assert len(chosen & rejected) > 0.6 * len(chosen)
    accusing = [text for text in chosen & rejected if '"error"' in text[:20]]
    assert len(accusing) > 150
    for pair in pairs:
        right, wrong, text = (
            parse_answer(pair.chosen),
            parse_answer(pair.rejected),
            pair.question.dialogue.turns[1].text,
        )
        assert right is not None
        assert wrong is not None
        assert right.verdict == "no_error" or locate_quote(right, text) is not None
        assert right != wrong


def test_the_answers_alone_do_not_tell_pairs_of_labels_apart() -> None:
    """Of pairs as they were made before, a bag of words was right on 92 to 98 of 100."""
    learn, check = (pairs_from_labels(asked_of(count), seed) for count, seed in ((500, 1), (400, 2)))
    plain = [pair for pair in check if pair.origin == "label"]
    figures = accuracy_with_interval(answer_only_margins(learn, plain), plain, 50)
    assert figures["accuracy"] < 0.6
    broken = [pair for pair in check if pair.origin == "form"]
    assert accuracy_with_interval(answer_only_margins(learn, broken), broken, 50)["accuracy"] > 0.8
    assert 0.02 < len(broken) / len(check) < 0.08


def test_the_baseline_finds_what_answers_alone_tell() -> None:
    """As many pairs whose preferred answer always accuses are told apart without fail."""
    pairs = [
        replace(pair, chosen='{"verdict":"error"}', rejected='{"verdict":"no_error"}')
        for pair in pairs_from_labels(asked_of(100), 1)
    ]
    assert accuracy_with_interval(answer_only_margins(pairs, pairs), pairs, 20) == {
        "accuracy": 1.0,
        "accuracy_95": [0.963, 1.0],  # Wilson, 100 of 100
    }
    assert accuracy_with_interval(np.zeros(len(pairs)), pairs, 20)["accuracy"] == 0.5


def test_labels_of_one_side_make_no_pairs_and_whole_turns_do() -> None:
    errors = [item for item in asked_of(40) if item.is_error]
    assert pairs_from_labels(errors, 1) == []
    whole = [replace(item, span=None) for item in asked_of(40)]
    assert {pair.agreement for pair in pairs_from_labels(whole, 1) if pair.origin == "label"} == {0.9}
    assert pairs_from_labels(asked_of(40), 1) == pairs_from_labels(asked_of(40), 1)


def test_figures_of_known_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs, one ahead by log 3 (probability .75), one behind by as much."""
    ahead = float(np.log(3))
    given = iter((np.array([ahead, 0.0]), np.array([0.0, ahead])))
    monkeypatch.setattr("dialint.finetune.rewards.reward_trainer.score_rows", lambda *_: next(given))
    rows = [{"chosen_ids": [1], "rejected_ids": [1], "agreement": share} for share in (1.0, 0.5)]
    figures = evaluate_pairs(None, rows, 0)
    assert figures["accuracy"] == 0.5
    expected = (-np.log(0.75) - 0.5 * np.log(0.25) - 0.5 * np.log(0.75)) / 2
    assert figures["log_loss"] == pytest.approx(expected)


def test_it_learns_to_prefer_and_is_loaded_again(
    tiny: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reward"
    config = RewardConfig(
        dataset=dataset,
        model=str(tiny),
        out=out,
        pairs=8,
        learning_rate=3e-2,
        question_config=QuestionConfig(random_questions=1),
        learning=ScheduleOptions(steps=24, eval_steps=12),
        adapters=AdapterOptions(rank=8),
        running=RUNNING,
    )
    manifest = run(config)
    label = manifest["figures"]["held_out"]["label"]
    assert label["accuracy"] > 0.6
    for figures in (label, label["answer_only"]):
        assert figures["accuracy_95"][0] <= figures["accuracy"] <= figures["accuracy_95"][1]
    assert "answers alone" in capsys.readouterr().err
    source = base_models.resolve_source(str(out))
    first, second = (load_model(source, AdapterOptions(), trainable=False, kind="SEQ_CLS") for _ in range(2))
    first.config.pad_token_id = second.config.pad_token_id = 0
    rows = [[5, 6, 7, 8], [9, 10, 11]]
    once, again = score_rows(first, rows, 0), score_rows(second, rows, 0)
    assert np.array_equal(once, again)
    assert once[0] != once[1]
    alone = score_rows(first, rows[1:], 0)
    assert alone[0] == pytest.approx(once[1], abs=1e-5)
    assert torch.isfinite(torch.tensor(once)).all()
