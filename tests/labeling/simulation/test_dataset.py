"""A made-up crowd's data set: what it says is estimated from answers, and invented errors look like true ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.example_files import read_examples
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.labeling.simulation.dataset import SimulatedConfig, make_dataset

TEXT = "That is your own fault, you should have read the terms before."


def injected(folder: Path) -> Path:
    """True labels of two words in every third dialogue; the others have a look-alike."""
    folder.mkdir()
    paths = []
    for split, count in (
        ("train", 300),
        ("dev", 60),
        ("calibration", 60),
        ("test_seen", 20),
        ("test_unseen", 20),
    ):
        rows = []
        for place in range(count):
            name = f"{split}{place}"
            turns = (Turn(index=0, role="customer", text="Hi"), Turn(index=1, role="agent", text=TEXT))
            label = Label(
                dialogue_id=name, turn=1, code="T1", probability=1.0, method="inject:rude", start=8, end=16
            )
            probes = [] if place % 3 == 0 else [{"turn": 1, "code": "T1"}]
            made = Dialogue(id=name, turns=turns, metadata={"probes": probes})
            rows.append(Example(dialogue=made, labels=() if probes else (label,), split=split))
        path = folder / f"{split}.jsonl"
        path.write_text("".join(row.model_dump_json() + "\n" for row in rows))
        paths.append(path)
    write_manifest(folder / "manifest.json", {"files": [file_entry(path) for path in paths]})
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    make_dataset(
        SimulatedConfig(examples=injected(folder / "examples"), out=folder / "crowd", codes=("T1",), held=60)
    )
    return folder / "crowd"


def labels(folder: Path, split: str) -> list[Label]:
    return [label for example in read_examples(folder / f"{split}.jsonl") for label in example.labels]


def test_invented_errors_have_spans_like_true_ones(made: Path) -> None:
    true, invented = ([len(TEXT[la.start : la.end].split()) for la in labels(made, "train")
                       if la.method.startswith("inject") == true] for true in (True, False))  # fmt: skip
    assert min(len(true), len(invented)) > 20
    assert all(label.start is not None for label in labels(made, "train"))
    assert abs(sum(true) / len(true) - sum(invented) / len(invented)) < 1.0


def test_skills_are_estimated_from_the_answers(made: Path) -> None:
    """Not Bayes' rule with the skills that were drawn: probabilities separate true errors from invented ones,
    and only test sets have the truth."""
    train = labels(made, "train")
    true, invented = ([la.probability for la in train if la.method.startswith("inject") == true]
                      for true in (True, False))  # fmt: skip
    assert sum(true) / len(true) > 0.7 > 0.4 > sum(invented) / len(invented)
    assert {label.probability for label in labels(made, "test")} == {1.0}
    assert '"by": "dawid-skene"' in (made / "manifest.json").read_text()
