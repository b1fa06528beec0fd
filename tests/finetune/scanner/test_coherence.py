"""What fits what is learnt from a log without labels, and a release is adapted by it."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dialint.detector.coherence import CoherenceModel, exchanges, load_coherence, open_coherence
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, ReleaseRefused
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Label
from dialint.detector.release import COHERENCE, EMBEDDED, Release, finalize_release
from dialint.finetune.scanner.adapt import adapt
from dialint.finetune.scanner.calibrate import add_incoherence
from dialint.finetune.scanner.coherence import (
    AdaptConfig,
    init_coherence,
    ranked_first,
    split_dialogues,
    train_coherence,
    write_coherence,
)
from dialint.finetune.scanner.pack import _fit_coherence

SUBJECTS = {
    "parcel": ("where is my parcel", "your parcel left our depot this morning"),
    "invoice": (
        "I was billed twice on my invoice",
        "the invoice is corrected and the second amount comes back",
    ),
    "password": ("I cannot sign in to my account", "I have sent a link to reset your sign-in by mail"),
    "size": ("do these shoes come in a larger size", "the larger size is back in stock this morning"),
    "table": ("can I book a table for four", "a table for four is free at seven"),
}


def log(n: int, seed: int = 0) -> list[Dialogue]:
    """Dialogues about two subjects each."""
    chance = random.Random(seed)
    dialogues = []
    for number in range(n):
        turns = []
        for subject in chance.sample(sorted(SUBJECTS), 2):
            question, answer = SUBJECTS[subject]
            turns += [
                ("customer", f"Hello, {question}?"),
                ("agent", answer),
            ]
        dialogues.append(dialogue(f"d{seed}-{number}", turns))
    return dialogues


def dialogue(name: str, turns: list[tuple[str, str]]) -> Dialogue:
    content = {"id": name, "turns": [{"index": i, "role": r, "text": t} for i, (r, t) in enumerate(turns)]}
    return Dialogue.model_validate(content, strict=False)


def config(out: Path, **options: object) -> AdaptConfig:
    return replace(AdaptConfig(out=out, epochs=30, batch=64, dim=32, threads=1, quiet=True), **options)  # type: ignore[arg-type]


def write_log(path: Path, dialogues: list[Dialogue]) -> str:
    rows = (
        {"dialogue_id": d.id, "turns": [{"role": t.role, "text": t.text} for t in d.turns]} for d in dialogues
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def start() -> CoherenceModel:
    return init_coherence(Release(EMBEDDED), 32, 1)


@pytest.fixture(scope="module")
def trained(start: CoherenceModel) -> CoherenceModel:
    held, train = split_dialogues(log(150))
    return train_coherence(start, train, held, config(Path("unused")))


def test_an_exchange_is_a_reply_with_what_was_said_before() -> None:
    turns = [
        ("agent", "hi"),
        ("customer", "a"),
        ("customer", "b"),
        ("agent", "c"),
        ("agent", "d"),
        ("agent", " "),
    ]
    items = list(exchanges(dialogue("d", turns)))
    assert [(item.reply, item.customer, item.agent, item.history) for item in items] == [
        (3, (1, 2), (0,), ()),
        (4, (), (3,), (0, 1, 2)),
    ]


def test_a_reply_of_another_subject_fits_worse(trained: CoherenceModel) -> None:
    question = SUBJECTS["parcel"][0]
    right, wrong = (SUBJECTS[name][1] for name in ("parcel", "table"))
    scores = [
        trained.scores(dialogue("d", [("customer", question), ("agent", text)]))[1] for text in (right, wrong)
    ]
    assert scores[0] + 1 < scores[1]


def test_training_ranks_true_replies_of_dialogues_it_never_met(
    start: CoherenceModel, trained: CoherenceModel
) -> None:
    fresh = log(60, seed=5)
    assert ranked_first(trained, fresh) > ranked_first(start, fresh) + 0.1


def test_the_same_seed_gives_the_same_model(start: CoherenceModel) -> None:
    held, train = split_dialogues(log(30))
    first, second = (train_coherence(start, train, held, config(Path("x"), epochs=2)) for _ in range(2))
    assert all(np.array_equal(first.tensors[name], second.tensors[name]) for name in first.tensors)


def test_words_that_the_log_lacks_stay_as_they_are(start: CoherenceModel, trained: CoherenceModel) -> None:
    token = start.tokenizer.token_to_id("zebra")
    assert np.array_equal(start.tensors["token_weights"][token], trained.tensors["token_weights"][token])
    assert np.array_equal(start.tensors["embeddings"][token], trained.tensors["embeddings"][token])


def test_an_adapted_release_scores_and_adapts_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_log(tmp_path / "log.jsonl", log(60))
    adapt(path, config=config(tmp_path / "first", epochs=5))
    assert "60 dialogues" in capsys.readouterr().out
    detector = load_detector(DetectorConfig(release=tmp_path / "first", threads=1))
    assert detector.release == f"{Release(EMBEDDED).info.id}-adapted"
    assert detector.coherence is not None
    assert len(detector.verdicts(log(2))) == 2
    adapt(path, config=config(tmp_path / "second", release=tmp_path / "first", epochs=5, name="again"))
    info = Release(tmp_path / "second").info
    figures = info.training["coherence"]
    assert info.id == "again"
    assert isinstance(figures, dict)
    assert figures["dialogues"] == 60
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_incoherence_raises_a_probability(tmp_path: Path, trained: CoherenceModel) -> None:
    folder = tmp_path / "release"
    shutil.copytree(EMBEDDED, folder)
    write_coherence(trained, folder / COHERENCE)
    info = Release(EMBEDDED).info
    scan = info.codes["C1"].scan
    assert scan is not None
    how = info.codes["C1"].model_copy(update={"scan": scan.model_copy(update={"coherence": 2.0})})
    finalize_release(folder, info.model_copy(update={"codes": {**info.codes, "C1": how}}))
    wrong = dialogue("d", [("customer", SUBJECTS["parcel"][0]), ("agent", SUBJECTS["table"][1])])
    probabilities = []
    for release in (EMBEDDED, folder):
        detector = load_detector(DetectorConfig(release=release, threads=1, precision="fp32"))
        (verdict,) = detector.verdicts([wrong], all_probabilities=True)
        assert verdict.probabilities is not None
        probabilities.append(verdict.probabilities[1])
    assert probabilities[1]["C1"] > probabilities[0]["C1"]
    assert probabilities[1]["M2"] == probabilities[0]["M2"]
    (folder / COHERENCE).unlink()
    finalize_release(folder, info.model_copy(update={"codes": {**info.codes, "C1": how}}))
    with pytest.raises(ReleaseRefused, match=r"no coherence\.safetensors"):
        open_coherence(Release(folder))


def test_labels_show_what_adapting_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_log(tmp_path / "log.jsonl", log(40))
    label = Label(dialogue_id="d0-1", turn=1, code="C1", probability=1.0, method="test")
    labels = tmp_path / "labels.jsonl"
    labels.write_text(label.model_dump_json() + "\n")
    adapt(path, config=config(tmp_path / "out", epochs=0, labels=labels))
    lines = capsys.readouterr().out.splitlines()
    assert "on 1 labelled dialogues" in lines[1]
    assert lines[2].startswith("  C1: ")
    assert "before" in lines[2]
    with pytest.raises(ConfigError, match="needs one log"):
        adapt(path, path, config=config(tmp_path / "other", labels=labels))
    with pytest.raises(ConfigError, match="the file of its labels"):
        adapt(path, config=config(tmp_path / "other", labels=tmp_path / "none"))


def test_packing_learns_what_incoherence_is_worth(trained: CoherenceModel) -> None:
    chance = np.random.default_rng(0)
    examples, scores = [], []
    for number in range(80):
        is_wrong = bool(number % 2)
        answer = SUBJECTS["table" if is_wrong else "parcel"][1]
        item = dialogue(f"d{number}", [("customer", SUBJECTS["parcel"][0]), ("agent", answer)])
        is_labelled = is_wrong != (number % 10 == 0)  # one label in ten is wrong
        label = Label(dialogue_id=item.id, turn=1, code="C1", probability=1.0, method="test")
        examples.append(Example(dialogue=item, labels=(label,) if is_labelled else (), split="calibration"))
        scores.append({1: np.array([is_labelled + chance.normal(), 0.0], np.float32)})
    detector: Any = SimpleNamespace(coherence=trained, info=SimpleNamespace(head_codes=("C1", "L1")))
    weights = _fit_coherence(detector, examples, scores)
    assert set(weights) == {"C1"}
    assert weights["C1"] > 0.2
    before = [row[1].copy() for row in scores]
    add_incoherence(detector, examples, scores, weights)
    change = np.array([row[1] - old for row, old in zip(scores, before, strict=True)])
    assert change[1::2, 0].min() > change[::2, 0].max()
    assert not change[:, 1].any()
    detector.coherence = None
    assert _fit_coherence(detector, examples, scores) == {}


@pytest.mark.parametrize(
    ("content", "why"), [(b"no tensors", "no safetensors file"), (None, "not made by `dialint train adapt`")]
)
def test_another_file_is_refused(tmp_path: Path, content: bytes | None, why: str) -> None:
    path = tmp_path / COHERENCE
    path.write_bytes(content or b"")
    if content is None:
        from safetensors.numpy import save_file

        save_file({"embeddings": np.zeros((3, 2), np.int8)}, path)
    with pytest.raises(ReleaseRefused, match=why):
        load_coherence(path, Release(EMBEDDED).tokenizer_json())


def test_bad_input_is_refused_in_one_line(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", log(3))
    with pytest.raises(InputRefused, match="at least 50"):
        adapt(path, config=config(tmp_path / "out"))
    with pytest.raises(ConfigError, match="name a log"):
        adapt(config=config(tmp_path / "out"))
    (tmp_path / "there").mkdir()
    with pytest.raises(OutputRefused, match="there"):
        adapt(path, config=config(tmp_path / "there"))
    assert not (tmp_path / "out").exists()
