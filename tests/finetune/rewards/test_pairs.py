"""Pairs of readings: what reviewers corrected, one fault put into labels, and what answers alone tell."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rude_dialogues import example

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.judge.prompt import Reader
from dialint.detector.judge.reading import Reading, parse_reading
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import LabelledQuestion, SelectionConfig, Truth, ask_about, label_dialogue, match
from dialint.finetune.rewards.pairs import PreferencePair, pairs_from_labels, read_pairs
from dialint.finetune.rewards.reward_trainer import accuracy_with_interval, answer_only_margins

TAXONOMY = load_taxonomy()
CODES = ("T1", "T2")
ENDS = {"T1": ("fault", "problem", "business"), "T2": ("whatever", "anyway", "meh")}
READER = Reader(
    taxonomy=TAXONOMY,
    max_tokens=10**6,
    count=lambda messages: sum(len(message["content"]) for message in messages),
    detail="short",
)


def questions(n: int) -> list[LabelledQuestion]:
    """Two turns of the support side in each dialogue; half of the dialogues have an error in one of them, and
    the others have its words where they are none."""
    rng, labelled = random.Random(n), []
    for place in range(n):
        code, wrong = CODES[place // 2 % 2], rng.choice((1, 3))
        turns, labels = [], []
        for index in range(4):
            words = [f"word{rng.randrange(30)}" for _ in range(12)]
            if index == wrong:
                start = rng.randrange(9)
                words[start : start + 3] = ["your", "own", rng.choice(ENDS[code])]
                begin = len(" ".join([*words[:start], ""]))
                end = begin + len(" ".join(words[start : start + 3]))
                labels.append(
                    Label(
                        dialogue_id="d", turn=index, code=code, probability=0.9, method="crowd", start=begin, end=end
                    )
                )  # fmt: skip
            turns.append(Turn(index=index, role=("customer", "agent")[index % 2], text=" ".join(words)))
        dialogue = Dialogue(id=f"d{place}", turns=tuple(turns))
        own = Example(dialogue=dialogue, labels=tuple(labels) if place % 2 else (), split="train")
        labelled.append(label_dialogue(own, CODES, TAXONOMY))
    return ask_about(labelled, READER)


def readings(pair: PreferencePair) -> tuple[Reading, Reading]:
    chosen, rejected = (parse_reading(text, pair.item.question) for text in (pair.chosen, pair.rejected))
    assert isinstance(chosen, Reading)
    assert isinstance(rejected, Reading)
    return chosen, rejected


def test_the_rejected_reading_has_one_fault_more() -> None:
    kinds: Counter[str] = Counter()
    for pair in pairs_from_labels(questions(200), TAXONOMY, 1):
        chosen, rejected = readings(pair)
        right, wrong = (len(match(each.errors, pair.item.truths)) for each in (chosen, rejected))
        kinds[f"{right}/{len(chosen.errors)} {wrong}/{len(rejected.errors)}"] += 1
    assert set(kinds) == {"1/1 0/0", "0/0 0/1", "1/1 0/1", "0/1 0/0", "0/1 0/1"}
    # accusations that are preferred and those that are not, about as many
    assert kinds["1/1 0/0"] + kinds["0/1 0/0"] == kinds["0/0 0/1"]


def test_answers_alone_hardly_tell_which_is_preferred() -> None:
    learn, check = (pairs_from_labels(questions(n), TAXONOMY, seed) for n, seed in ((500, 1), (400, 2)))
    figures = accuracy_with_interval(answer_only_margins(learn, check), check, 50)
    assert figures["accuracy"] < 0.6
    leaking = [replace(pair, rejected='{"notes":"","errors":[]}') for pair in check]
    assert accuracy_with_interval(answer_only_margins(leaking, leaking), leaking, 20)["accuracy"] > 0.7
    assert accuracy_with_interval(np.zeros(len(check)), check, 20)["accuracy"] == 0.5


def test_pairs_need_both_sides_and_follow_from_the_seed() -> None:
    items = questions(40)
    only = [item for item in items if any(truth.code == "T1" for truth in item.truths)]
    assert pairs_from_labels(only, TAXONOMY, 1) == []
    assert pairs_from_labels(items, TAXONOMY, 1) == pairs_from_labels(items, TAXONOMY, 1)
    assert pairs_from_labels(items, TAXONOMY, 1) != pairs_from_labels(items, TAXONOMY, 2)


def test_labels_of_clean_turns_make_no_error_of_them() -> None:
    """Aggregation labels every turn and code, most of them near 0."""
    items = [
        replace(item, truths=(*item.truths, *(truth(code, turn) for code in CODES for turn in item.question.turns)))
        for item in questions(40)
    ]  # fmt: skip
    pairs = pairs_from_labels(items, TAXONOMY, 1)
    assert len(pairs) >= len(pairs_from_labels(questions(40), TAXONOMY, 1)) / 2 > 0
    assert {pair.agreement for pair in pairs} == {0.9, 0.99}


def truth(code: str, turn: int) -> Truth:
    return Truth(turn=turn, code=code, probability=0.01, span=None, severity="S2")


@pytest.fixture
def corrected(tmp_path: Path) -> Path:
    """A data set in which reviewers marked an error that the model had missed, and overturned two findings:
    one of a dialogue that the split does not have."""
    error = {"verdict": "error", "quote": "own fault", "severity": "S1", "reason": "", "rewrite": None}
    none = {"verdict": "no_error", "quote": None, "severity": None, "reason": "", "rewrite": None}
    first = example("train0", "train", rude=True, probability=0.8)
    calm = Label(dialogue_id="train0", turn=1, code="C1", probability=1.0, method="crowd")
    first = first.model_copy(update={"labels": (*first.labels, calm)})
    sides = [(first, error, none), (example("other", "train", rude=True), none, error)]
    rows = [
        {
            "dialogue": own.dialogue.model_dump(mode="json"), "turn": 3, "code": "T1", "chosen": chosen,
            "rejected": rejected, "outcome": "missed" if chosen is error else "overturned", "annotation": "a1",
            "release": "r1", "split": "train",
        }
        for own, chosen, rejected in sides
    ]  # fmt: skip
    (tmp_path / "train.jsonl").write_text(first.model_dump_json() + "\n")
    (tmp_path / "preferences.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [tmp_path / f"{name}.jsonl" for name in ("train", "preferences")]
    content = {
        "kind": "labelled-examples", "codes": ["T1", "C1"], "files": [file_entry(path) for path in paths]
    }  # fmt: skip
    write_manifest(tmp_path / "manifest.json", content)
    return tmp_path


def test_corrections_of_reviewers_are_readings_of_the_whole_dialogue(corrected: Path) -> None:
    missed, overturned = read_pairs(corrected, "train", SelectionConfig(), READER, 1)
    chosen, rejected = readings(missed)
    assert missed.agreement == 0.8  # the posterior that it is an error
    assert [(error.turn, error.code) for error in chosen.errors] == [(1, "C1"), (3, "T1")]
    assert (chosen.errors[1].quote, chosen.errors[1].severity) == ("own fault", "S1")
    assert rejected.errors == chosen.errors[:1]
    chosen, rejected = readings(overturned)
    assert (chosen.errors, [error.code for error in rejected.errors]) == ((), ["T1"])
    assert (overturned.agreement, overturned.origin) == (0.9, "reviewer")
    assert not read_pairs(corrected, "train", SelectionConfig(codes=("C1",)), READER, 1)
