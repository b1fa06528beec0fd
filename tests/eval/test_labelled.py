"""Labelled dialogues as questions, their target readings, and the matching of errors with labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError
from dialint.detector.judge.prompt import Reader
from dialint.detector.judge.reading import ReadError, Reading, format_reading, parse_reading
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import (
    LabelledQuestion,
    SelectionConfig,
    Truth,
    ask_about,
    label_dialogue,
    match,
    read_labelled,
    reading_figures,
    target_reading,
)

TAXONOMY = load_taxonomy()
MAIL = "Write to anna.smith@example.com, you idiot. Or don't."


def label(code: str, probability: float, span: tuple[int, int] | None = None, turn: int = 1) -> Label:
    start, end = span or (None, None)
    return Label(
        dialogue_id="a", turn=turn, code=code, probability=probability, method="crowd", start=start, end=end
    )


def example(*labels: Label, unlabelled: tuple[str, ...] = (), long: int = 0) -> Example:
    texts = ["Hello?", MAIL, "What?", "Sorry. " * 60] + ["More? " * 20, "No. " * 40] * long
    turns = tuple(
        Turn(index=index, role="agent" if index % 2 else "customer", text=text)
        for index, text in enumerate(texts)
    )
    dialogue = Dialogue(id="a~1", turns=turns)
    return Example(dialogue=dialogue, labels=labels, split="train", unlabelled=unlabelled)


def questions(*examples: Example, codes: tuple[str, ...] = ("T1", "T2", "C1"), room: int = 9_000_000):
    labelled = [label_dialogue(each, codes, TAXONOMY) for each in examples]
    count = lambda messages: sum(len(message["content"]) for message in messages)  # noqa: E731
    return ask_about(labelled, Reader(taxonomy=TAXONOMY, max_tokens=room, count=count, detail="short"))


def test_the_target_reading_is_of_the_masked_text() -> None:
    start = MAIL.index("you idiot")
    labels = (label("T1", 0.9, (start, start + 9)), label("C1", 0.4, turn=3), label("T2", 0.2))
    (item,) = questions(example(*labels))
    prompt = "\n".join(message["content"] for message in item.question.messages)
    assert "anna.smith" not in prompt
    assert "you idiot" in prompt
    assert item.source == "a"
    first, second = target_reading(item).errors  # nobody lists what is below .3
    assert (first.code, first.quote, first.probability) == ("T1", "you idiot", 0.9)
    assert item.question.turns[1][first.start : first.end] == "you idiot"
    assert (second.turn, second.probability, second.second_code) == (3, 0.4, None)
    assert 190 < len(second.quote) <= 200
    assert item.question.turns[3].startswith(second.quote)
    assert parse_reading(format_reading(target_reading(item)), item.question) == target_reading(item)
    clean = questions(example())[0]
    assert format_reading(target_reading(clean)) == '{"notes":"","errors":[]}'


def test_unlabelled_codes_and_codes_without_evidence_are_not_asked() -> None:
    lacking = next(name for name, code in TAXONOMY.codes.items() if "sources" in code.needs)
    (item,) = questions(example(label("T1", 1.0), unlabelled=("T1",)), codes=("T1", "C1", lacking))
    assert list(item.question.codes) == ["C1"]
    assert not item.truths
    assert not questions(example(unlabelled=("T1",)), codes=("T1",))


def test_a_long_dialogue_is_several_questions_each_with_its_own_labels() -> None:
    items = questions(example(*(label("T1", 1.0, turn=turn) for turn in range(1, 40, 2)), long=20), room=7500)
    assert len(items) > 1
    assert [truth.turn for item in items for truth in item.truths] == list(range(1, 40, 2))
    assert all(truth.turn in item.question.turns for item in items for truth in item.truths)


def test_all_examples_of_a_sampled_dialogue_are_read(dataset: Path) -> None:
    config = SelectionConfig(limit=2)
    labelled = read_labelled(dataset, "train", config, 1)
    sources = {item.source for item in labelled}
    assert len(sources) == 2
    whole = read_labelled(dataset, "train", SelectionConfig(), 1)
    assert [item for item in whole if item.source in sources] == labelled


@pytest.mark.parametrize("codes", [("Z9",), ("T1", "Z8"), ("T1", "L1")])
def test_unknown_and_unlabelled_codes_are_refused(dataset: Path, codes: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="E_CODE"):
        read_labelled(dataset, "train", SelectionConfig(codes=codes), 1)


def listed(turn: int, start: int | None, end: int | None, code: str = "T1", probability: float = 0.9):
    return ReadError(
        turn=turn, code=code, probability=probability, severity="S2", quote="", start=start, end=end
    )


def truth(turn: int, span: tuple[int, int] | None, code: str = "T1", probability: float = 1.0) -> Truth:
    return Truth(turn=turn, code=code, probability=probability, span=span, severity="S2")


def test_each_error_and_each_label_is_matched_once_best_overlap_first() -> None:
    errors = [listed(1, 0, 30), listed(1, 11, 20), listed(1, 50, 60), listed(3, None, None), listed(5, 0, 4)]
    truths = [truth(1, (10, 20)), truth(3, None), truth(5, None), truth(5, (2, 9)), truth(5, None, "C1")]
    assert match(errors, truths) == [(1, 0), (4, 3)]
    assert match(errors[:1], truths) == [(0, 0)]


def test_figures_count_sure_errors_that_quote() -> None:
    (item,) = questions(example())
    own = LabelledQuestion(
        question=item.question,
        truths=(truth(1, (0, 5)), truth(3, None), truth(3, None, "C1", 0.4)),
        source="a",
    )
    reading = Reading(errors=(listed(1, 0, 5), listed(3, 0, 4, "C1"), listed(3, 0, 4, probability=0.4)))
    figures = reading_figures([reading, "no JSON"], [own, item])
    assert figures == {"precision": 0.5, "recall": 0.5, "f05": 0.5, "readable": 0.5}
    assert reading_figures([Reading()], [item]) == {"readable": 1.0}
    assert reading_figures(["no JSON"], [item]) == {"readable": 0.0}
