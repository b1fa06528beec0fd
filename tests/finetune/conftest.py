"""Examples with planted words for errors, and a tiny encoder of random weights: what teaching is tested with."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tiny_encoder import write_encoder

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.records import Dialogue, Example, Label, Turn

PLANTED = {"T1": "rude", "V2": "pin", "R1": "bye"}


def example(number: int, rng: random.Random, split: str) -> Example:
    turns, labels = [], []
    for index in range(6):
        words = [f"w{rng.randrange(12)}" for _ in range(rng.randint(3, 8))]
        code = rng.choice(["T1", "V2"]) if index % 2 and rng.random() < 0.6 else None
        code = "R1" if index == 5 and rng.random() < 0.4 else code
        if code is not None:
            words[-1] = PLANTED[code]
        text = " ".join(words)
        turns.append(Turn(index=index, role="agent" if index % 2 else "customer", text=text))
        if code is not None:
            start = text.index(PLANTED[code])
            labels.append(
                Label(
                    dialogue_id=str(number), turn=index, code=code, probability=1.0, method="inject:planted",
                    start=start, end=start + len(PLANTED[code]),
                )
            )  # fmt: skip
    return Example(dialogue=Dialogue(id=str(number), turns=tuple(turns)), labels=tuple(labels), split=split)


def write_examples(folder: Path, sizes: dict[str, int]) -> Path:
    """A folder as `dialint data inject` leaves it, with so many dialogues in each set."""
    folder.mkdir()
    rng = random.Random(0)
    for name, size in sizes.items():
        lines = [example(i, rng, name).model_dump_json() + "\n" for i in range(size)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    write_manifest(
        folder / "manifest.json",
        {"sources": [{"name": "random", "rows": 1, "licence": "none", "trains": True}],
         "kind": "injected-examples", "files": [file_entry(folder / f"{name}.jsonl") for name in sizes]},
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Examples and a base model of random weights."""
    root = tmp_path_factory.mktemp("teach")
    sizes = {"train": 240, "dev": 40, "calibration": 150, "test": 30, "test_natural_sgd": 10}
    examples = write_examples(root / "examples", sizes)
    base = write_encoder(root / "base", [*(f"w{i}" for i in range(50)), *PLANTED.values()])
    return examples, base


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples for tests that teach many times."""
    return write_examples(tmp_path_factory.mktemp("few") / "examples", {"train": 24, "dev": 6})


@pytest.fixture(scope="session")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples for tests that go as far as a release."""
    sizes = {"train": 120, "dev": 12, "calibration": 60, "test": 10}
    return write_examples(tmp_path_factory.mktemp("some") / "examples", sizes)
