"""A small scanner is trained on the scores of a large one: other tokens, other windows.

The teacher has random weights and the texts are random words: a test of the machinery, not of quality.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from resuming import assert_same_weights, interrupted, logged
from safetensors.torch import load_file
from tiny_encoder import write_encoder

from dialint.detector.artifacts import file_entry, read_manifest, write_manifest
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.release import Release
from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import TurnScores
from dialint.finetune.scanner.distill import DistillConfig, distill, drop_evaluated, soft_targets
from dialint.finetune.scanner.trained import evenly_spaced, read_scanner
from dialint.finetune.scanner.trainer import ScanTrainer
from dialint.finetune.train.options import RunOptions


def dialogue(number: int) -> Dialogue:
    rng = random.Random(number)
    turns = [" ".join(f"w{rng.randrange(40)}" for _ in range(rng.randint(2, 9))) for _ in range(6)]
    return Dialogue(
        id=f"d{number}",
        turns=tuple(
            Turn(index=i, role="agent" if i % 2 else "customer", text=t) for i, t in enumerate(turns)
        ),
    )


def log_of(path: Path, dialogues: list[Dialogue]) -> Path:
    lines = [
        {"id": d.id, "turns": [{"role": turn.role, "text": turn.text} for turn in d.turns]} for d in dialogues
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_release(tmp_path_factory.mktemp("teacher") / "release")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return log_of(tmp_path_factory.mktemp("log") / "log.jsonl", [dialogue(i) for i in range(60)])


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base whose tokens are single characters: others than the teacher's."""
    folder = tmp_path_factory.mktemp("base") / "letters"
    sizes = {"max_position_embeddings": 300, "hidden_dropout_prob": 0.1}
    write_encoder(folder, [*"w0123456789"], letters=True, **sizes)
    (folder / "training.json").write_text('{"kind": "decoder"}')  # as pre-training leaves it
    return folder


@pytest.fixture
def config(teacher: Path, log: Path, tmp_path: Path) -> DistillConfig:
    running = RunOptions(threads=1, precision="fp32", device="cpu")
    return DistillConfig(
        teacher=teacher, dialogues=(str(log),), out=tmp_path / "student", layers=1, row_tokens=300, epochs=2, learning_rate=3e-3,
        head_learning_rate=1e-2, running=running,
    )  # fmt: skip


def window(*slots: Slot) -> Rendered:
    return Rendered(tuple(range(40)), slots)


def test_targets_are_what_a_hand_computes() -> None:
    """The student's tokens cut the text at 0-2, 2-5, 5-6, the teacher's at 0-3 and 3-5."""
    turns, spans = np.array([2.0, 4.0], np.float32), np.array([[1.0, -1.0], [3.0, -3.0]], np.float32)
    scores = TurnScores(3, turns, ((0, 3), (3, 5)), spans)
    slot = Slot(10, 3, 7, ((0, 2), (2, 5), (5, 6)))
    other = Slot(20, 5, 18, ((0, 1), (1, 2)))
    first, last = soft_targets([window(slot), window(other)], [scores], 2)
    share = lambda logit: 1 / (1 + np.exp(-logit))  # noqa: E731
    np.testing.assert_allclose(first.turns, [[share(2), share(4)]], rtol=1e-6)
    np.testing.assert_allclose(
        first.spans, [[share(1), share(-1)], [share(3), share(-1)], [np.nan, np.nan]], rtol=1e-6
    )
    assert np.isnan(last.turns).all()
    assert np.isnan(last.spans).all()
    assert last.spans.shape == (2, 2)


def test_a_turn_in_pieces_has_targets_of_its_evidence_alone() -> None:
    turn = TurnScores(1, np.array([2.0], np.float32), ((0, 1), (1, 2)), np.array([[1.0], [3.0]], np.float32))
    pieces = [window(Slot(9, 1, 8, ((0, 1),))), window(Slot(9, 1, 8, ((1, 2),)))]
    targets = soft_targets(pieces, [turn], 1)
    assert all(np.isnan(target.turns).all() for target in targets)
    assert targets[0].spans[0, 0] < targets[1].spans[0, 0]


def alike(teacher: Path, student: Path) -> float:
    """Correlation of what both say of dialogues that were not learnt, over turns and codes."""
    fresh = [dialogue(i) for i in range(100, 140)]
    columns = []
    for folder in (teacher, student):
        scans = read_scanner(folder).scanner(300, "fp32", "cpu").scan(fresh)
        rows = [
            turn.scores - turn.scores[np.isfinite(turn.scores)].mean() for turns in scans for turn in turns
        ]
        columns.append(np.stack(rows)[:, :2].ravel())  # the third code is the dialogue's
    return float(np.corrcoef(*columns)[0, 1])


def test_a_smaller_student_learns_to_speak_like_its_teacher(config: DistillConfig) -> None:
    longer = replace(config, epochs=9)
    distill(replace(longer, out=config.out.with_name("new"), epochs=0.02))
    distill(longer)
    assert alike(config.teacher, config.out) > 0.8
    assert alike(config.teacher, config.out.with_name("new")) < alike(config.teacher, config.out)
    student = read_scanner(config.out)
    assert student.shape["num_hidden_layers"] == 1
    assert student.codes == ("L1", "T1", "R1")
    training = read_manifest(config.out / "training.json")
    assert training["base_sha256"] == tiny.BASE
    assert training["taxonomy"] == Release(config.teacher).info.taxonomy
    assert training["base"] == {"name": "tiny", "revision": "1", "licence": "Apache-2.0"}
    assert training["teacher"]["sha256"] == read_scanner(config.teacher).sha256
    assert not list(config.out.glob("checkpoint*"))
    with pytest.raises(OutputRefused, match="holds a trained scanner"):
        distill(config)


def test_a_student_of_other_tokens_learns_too(config: DistillConfig, letters: Path) -> None:
    other = replace(config, base=letters, layers=None, context_tokens=120, epochs=1)
    distill(replace(other, out=config.out.with_name("new"), epochs=0.02))
    distill(other)
    trained, new = (logged(out)[-1]["heldout_loss"] for out in (config.out, config.out.with_name("new")))
    assert trained < new
    student = read_scanner(config.out)
    assert student.base == {"name": "letters"}
    assert student.render.context_tokens == 120
    assert student.shape["hidden_dropout_prob"] == 0


def test_what_cannot_be_is_refused_before_any_work(
    config: DistillConfig, letters: Path, tmp_path: Path
) -> None:
    empty = log_of(tmp_path / "few.jsonl", [dialogue(1)])
    wrong: dict[str, dict[str, Any]] = {
        "--base, or --layers": {"layers": None}, "--layers must be 1 to 2": {"layers": 3},
        "--learning-rate": {"learning_rate": 0}, "leaves nothing to learn": {"epochs": 0.001},
        "nothing: neither a release nor": {"teacher": tmp_path / "nothing"},
        "letters: neither a release nor": {"teacher": letters},
        "too few": {"dialogues": (str(empty),)},
    }  # fmt: skip
    for why, options in wrong.items():
        with pytest.raises((ConfigError, InputRefused), match=why):
            distill(replace(config, **options))
    assert not config.out.exists()


def test_layers_are_spread_evenly() -> None:
    assert evenly_spaced(6, 3) == [0, 2, 5]
    assert evenly_spaced(12, 6) == [0, 2, 4, 7, 9, 11]
    assert evenly_spaced(4, 4) == [0, 1, 2, 3]
    assert evenly_spaced(6, 1) == [0]


def example(number: int, split: str) -> Example:
    talk = dialogue(number)
    label = Label(dialogue_id=talk.id, turn=1, code="T1", probability=1.0, method="inject:x", start=0, end=2)
    return Example(dialogue=talk, labels=(label,), split=split)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    folder.mkdir()
    for name, numbers in (("train", range(200, 210)), ("dev", range(5)), ("test", range(5, 9))):
        (folder / f"{name}.jsonl").write_text(
            "".join(example(i, name).model_dump_json() + "\n" for i in numbers)
        )
    write_manifest(
        folder / "manifest.json", {"files": [file_entry(path) for path in sorted(folder.glob("*.jsonl"))]}
    )
    return folder


def test_evaluated_dialogues_are_left_out(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues = drop_evaluated([dialogue(number) for number in range(60)], examples)
    assert {item.id for item in dialogues} == {f"d{i}" for i in range(9, 60)}
    assert "9 dialogues left out" in capsys.readouterr().err


def test_labels_are_trained_on_too(config: DistillConfig, examples: Path) -> None:
    without = replace(config, epochs=0.2)
    distill(without)
    distill(replace(without, examples=examples, out=config.out.with_name("beside")))
    alone, both = (
        load_file(folder / "model.safetensors") for folder in (config.out, config.out.with_name("beside"))
    )
    assert not torch.equal(alone["slot_head.weight"], both["slot_head.weight"])
    assert all(bool(weight.isfinite().all()) for weight in both.values())


def test_a_dry_run_trains_nothing(config: DistillConfig, capsys: pytest.CaptureFixture[str]) -> None:
    distill(replace(config, running=replace(config.running, dry_run=True)))
    assert "memory: about" in capsys.readouterr().out
    assert not config.out.exists()


def test_a_killed_run_goes_on_bit_for_bit(config: DistillConfig) -> None:
    config = replace(config, running=replace(config.running, checkpoint_steps=2))
    whole = config.out.with_name("whole")
    distill(replace(config, out=whole))
    with interrupted(ScanTrainer, "train_step", 4):
        distill(config)
    distill(config)
    assert_same_weights(*(folder / "model.safetensors" for folder in (config.out, whole)))
