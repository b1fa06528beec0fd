"""The coverage of a packed release: languages, the log it was calibrated on, checks beside its scan."""

from __future__ import annotations

from pathlib import Path

import tiny
from languages_corpus import dialogues

from dialint.detector.calibration import CodeRelease, Scan
from dialint.detector.log_profile import MIN_REFERENCE, profile_log
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.model_card import coverage
from dialint.finetune.scanner.pack import add_checks, calibrated_domain, calibrated_languages

ENGLISH = "Good morning, I have checked your order and it will be delivered tomorrow."


def example(dialogue: Dialogue, *codes: str) -> Example:
    labels = tuple(
        Label(dialogue_id=dialogue.id, turn=1, code=code, probability=1.0, method="crowd:test")
        for code in codes
    )
    return Example(dialogue=dialogue, labels=labels, split="calibration")


def english(number: int) -> Dialogue:
    texts = ("Hello, where is my order?", ENGLISH)
    turns = (Turn(index=0, role="customer", text=texts[0]), Turn(index=1, role="agent", text=texts[1]))
    return Dialogue(id=f"en-{number}", turns=turns)


def test_each_code_covers_the_languages_that_hold_its_error() -> None:
    german = [*dialogues("de", 20)]
    examples = [example(one, "L1") for one in german[:5]] + [example(one) for one in german[5:]]
    examples += [example(english(n), "T1", *(["L1"] if n < 3 else [])) for n in range(20)]
    languages = calibrated_languages(examples, load_taxonomy())
    assert languages["L1"] == ("de", "en")
    assert languages["T1"] == ("en",)
    assert languages["V2"] == ("de", "en")  # no error at all: what the clean dialogues are in


def test_a_few_dialogues_in_another_language_do_not_count() -> None:
    examples = [example(english(n), "T1") for n in range(40)] + [example(next(dialogues("de", 1)), "T1")]
    assert calibrated_languages(examples, load_taxonomy())["T1"] == ("en",)


def test_examples_without_a_language_count_as_english() -> None:
    silent = Dialogue(id="d", turns=(Turn(index=0, role="agent", text="ok"),))
    assert set(calibrated_languages([example(silent)], load_taxonomy()).values()) == {("en",)}


def test_codes_get_their_checks() -> None:
    scan = Scan(slope=1.0, offset=0.0, contract=None, suggest_at=0.4)
    codes = add_checks({"L2": CodeRelease(scan=scan), "C1": CodeRelease(scan=scan)})
    assert codes["L2"].scan == codes["C1"].scan == scan
    assert [check.name for check in codes["L2"].checks] == ["grammar_slip"]
    assert codes["L4"].scan is None


IN_ENGLISH = {"T1": CodeRelease(scan=Scan(slope=1, offset=0, contract=None))}


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
    domain = calibrated_domain(folder, IN_ENGLISH)
    assert domain is not None
    assert (domain.n_dialogues, domain.corpora) == (MIN_REFERENCE, ("calibration", "train"))
    assert profile_log([home(1)], domain).distance == 0.0
    card = coverage(tiny.release_info(domain=domain), load_taxonomy())
    assert "knows those of 1,000 dialogues, is far from it" in card
    assert "far from it" not in coverage(tiny.release_info(), load_taxonomy())


def test_few_dialogues_or_another_language_make_none(tmp_path: Path) -> None:
    folder = examples(tmp_path / "e", train=MIN_REFERENCE)
    german = Scan(slope=1, offset=0, contract=None, languages=("de", "en"))
    assert calibrated_domain(folder, IN_ENGLISH) is not None
    assert calibrated_domain(folder, {**IN_ENGLISH, "L1": CodeRelease(scan=german)}) is None
    assert calibrated_domain(examples(tmp_path / "f", train=MIN_REFERENCE - 1), IN_ENGLISH) is None
