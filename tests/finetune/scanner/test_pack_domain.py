"""A release knows what it was calibrated on, if that is enough and English."""

from __future__ import annotations

from pathlib import Path

import tiny

from dialint.detector.calibration import CodeRelease, Scan
from dialint.detector.log_profile import MIN_REFERENCE, profile_log
from dialint.detector.records import Dialogue, Example, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.model_card import coverage
from dialint.finetune.scanner.pack import calibrated_domain

ENGLISH = {"T1": CodeRelease(scan=Scan(slope=1, offset=0, contract=None))}


def home(number: int) -> Dialogue:
    return Dialogue(id=f"h{number}", turns=(Turn(index=0, role="agent", text="Your hotel is booked."),))


def examples(folder: Path, **sizes: int) -> Path:
    folder.mkdir()
    for name, size in sizes.items():
        rows = (Example(dialogue=home(i), split=name).model_dump_json() + "\n" for i in range(size))
        (folder / f"{name}.jsonl").write_text("".join(rows))
    return folder


def test_training_and_calibration_are_the_reference(tmp_path: Path) -> None:
    folder = examples(tmp_path / "e", train=MIN_REFERENCE - 10, calibration=10, dev=50)
    domain = calibrated_domain(folder, ENGLISH)
    assert domain is not None
    assert (domain.n_dialogues, domain.corpora) == (MIN_REFERENCE, ("calibration", "train"))
    assert profile_log([home(1)], domain).distance == 0.0
    card = coverage(tiny.release_info(domain=domain), load_taxonomy())
    assert "knows those of 1,000 dialogues, is far from it" in card
    assert "far from it" not in coverage(tiny.release_info(), load_taxonomy())


def test_few_dialogues_or_another_language_make_none(tmp_path: Path) -> None:
    folder = examples(tmp_path / "e", train=MIN_REFERENCE)
    german = Scan(slope=1, offset=0, contract=None, languages=("de", "en"))
    assert calibrated_domain(folder, ENGLISH) is not None
    assert calibrated_domain(folder, {**ENGLISH, "L1": CodeRelease(scan=german)}) is None
    assert calibrated_domain(examples(tmp_path / "f", train=MIN_REFERENCE - 1), ENGLISH) is None
