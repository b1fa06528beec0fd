"""A crowd's answers in another taxonomy, through the commands alone: from a crowd table to the exam.

The words are random; one planted word a turn decides what most people answer. A test of the way, not of
quality.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from own_taxonomy import CODES, write_taxonomy
from tiny_encoder import write_encoder

from dialint.app.cli import app
from dialint.detector.example_files import read_examples
from dialint.detector.release import Release

PLANTED = dict(zip(CODES, ("fine", "hmm", "what"), strict=True))
WORDS = [*(f"w{i}" for i in range(20)), *PLANTED.values()]
PEOPLE = 7


@pytest.fixture
def dialint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A command in this process; what it printed."""

    def command(*words: object) -> str:
        assert app([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return command


def write_crowd(folder: Path, n_dialogues: int) -> None:
    """``log.jsonl`` and ``answers.csv``: four in five people answer what the planted word says."""
    rng = random.Random(0)
    with open(folder / "log.jsonl", "w") as log, open(folder / "answers.csv", "w", newline="") as table:
        answers = csv.writer(table)
        answers.writerow(["task", "worker", "label"])
        for number in range(n_dialogues):
            turns = []
            for index in range(6):
                code = rng.choice(CODES)
                words = [f"w{rng.randrange(20)}" for _ in range(4)]
                role = "bot" if index % 2 else "customer"
                turns.append(
                    {"role": role, "text": " ".join([*words, PLANTED[code]] if index % 2 else words)}
                )
                for worker in range(PEOPLE) if index % 2 else ():
                    answer = code if rng.random() < 0.8 else rng.choice(CODES)
                    answers.writerow([f"room/{number}/{index}", f"p{worker}", answer])
            log.write(json.dumps({"dialogue_id": f"room/{number}", "turns": turns}) + "\n")


@pytest.mark.slow
def test_a_crowd_of_another_taxonomy_goes_the_whole_way(
    dialint: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_SPLIT_KEY", "k")
    write_crowd(tmp_path, 80)
    own = ("--taxonomy", write_taxonomy(tmp_path))
    log, answers = tmp_path / "log.jsonl", tmp_path / "answers.csv"
    annotations, joint, data = tmp_path / "said.jsonl", tmp_path / "joint.csv", tmp_path / "data"
    scanner, release, report = tmp_path / "scanner", tmp_path / "release", tmp_path / "report.json"
    parts = ("--near", "0", "--shares", "0.6", "0.1", "0.1", "0.2")

    dialint("import", "labels", "--labels", answers, "--dialogues", log, "--out", annotations, *own)
    dialint("label", "aggregate", "--annotations", answers, "--out", joint, "--soft", "answers")
    dialint("export", "dataset", "--dialogues", log, "--annotations", annotations, "--labels", joint, "--out", data,
            "--by", "dialogue", *parts, *own)  # fmt: skip
    labels = [label for example in read_examples(data / "train.jsonl") for label in example.labels]
    assert {label.code for label in labels} == set(CODES)
    assert any(0.2 < label.probability < 0.8 for label in labels)

    dialint("train", "sft", "scan", "--examples", data, "--base", write_encoder(tmp_path / "base", WORDS), "--out", scanner,
            "--adapter", "lora", "--rank", 4, "--epochs", 30, "--row-tokens", 200, "--context-tokens", 100,
            "--learning-rate", 5e-3, "--head-learning-rate", 2e-2, "--prefix-share", 0, "--threads", 1, *own)  # fmt: skip
    dialint("train", "pack", "--scanner", scanner, "--examples", data, "--out", release, "--name", "cups.1",
            "--min-average-precision", 0, "--per-100", 20, "--rounds", 5, *own)  # fmt: skip
    info = Release(release).info
    assert (info.taxonomy, tuple(info.codes)) == ("own-1", CODES)
    assert "Labelled by people" in (release / "MODEL_CARD.md").read_text()

    dialint("eval", "run", data / "test.jsonl", "--release", release, "--rounds", 20, "--out", report, *own)
    figures = json.loads(report.read_text())["sets"]["test"]
    assert set(figures["codes"]) == set(CODES)
    assert figures["macro_average_precision"] > 0.5
