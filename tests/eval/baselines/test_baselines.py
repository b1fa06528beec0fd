"""Every baseline keeps the detectors' contract; the rules find what they should and leave what they should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError, OutputRefused, WorldError
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.baselines.registry import open_detector, rules_detector
from dialint.eval.baselines.train import BaselineConfig, baseline
from dialint.eval.results import read_examples, score_examples


def dialogue(*texts: str, name: str = "d", first: str = "customer") -> Dialogue:
    roles = ("customer", "agent") if first == "customer" else ("agent", "customer")
    return Dialogue(
        id=name,
        turns=tuple(Turn(index=i, role=roles[i % 2], text=text) for i, text in enumerate(texts)),  # type: ignore[arg-type]
    )


def write_examples(folder: Path) -> Path:
    """A set in which every T1 holds the word `nonsense`, and one agent turn in 40 is such."""
    folder.mkdir()
    for split, n in (("train", 240), ("calibration", 2400)):
        with open(folder / f"{split}.jsonl", "w") as file:
            for i in range(n):
                rude = i % (4 if split == "train" else 40) == 0
                reply = f"That is nonsense number {i}" if rude else f"Your parcel number {i} comes today"
                label = Label(
                    dialogue_id=f"d{i}",
                    turn=1,
                    code="T1",
                    probability=1.0,
                    method="inject:x",
                    start=8,
                    end=16,
                )
                made = Example(
                    dialogue=dialogue(f"Where is parcel {i}?", reply, name=f"d{i}"),
                    labels=(label,) if rude else (),
                    split=split,
                )
                file.write(made.model_dump_json() + "\n")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("baselines")
    examples = write_examples(home / "examples")
    for kind in ("rules", "tfidf"):
        baseline(kind, config=BaselineConfig(examples=examples, out=home / kind))  # type: ignore[arg-type]
    return {"examples": examples, "rules": home / "rules", "tfidf": home / "tfidf"}


@pytest.mark.parametrize("name", ["clean", "rules", "rules folder", "tfidf folder"])
def test_every_baseline_keeps_the_contract(name: str, folders: dict[str, Path]) -> None:
    kind, _, is_folder = name.partition(" ")
    detector: Detector = open_detector(str(folders[kind]) if is_folder else kind, DetectorConfig())
    talks = [
        dialogue("Hello", "Mail me at ann@shop.example, that is nonsense, you idiot", name="a"),
        dialogue("Nobody answers", name="b"),
        dialogue("Hi", "Your parcel comes today", name="c"),
    ]
    verdicts = detector.verdicts(talks, all_probabilities=True)
    assert [verdict.dialogue_id for verdict in verdicts] == ["a", "b", "c"]
    assert [verdict.status for verdict in verdicts] == ["scored", "failed", "scored"]
    assert {verdict.release for verdict in verdicts} == {detector.release}
    assert set(detector.codes) <= set(detector.taxonomy.codes)
    assert verdicts[0].probabilities is not None
    assert set(verdicts[0].probabilities) == {1}
    assert set(verdicts[0].probabilities[1]) == set(detector.codes)
    for finding in verdicts[0].findings:
        assert finding.end <= len(talks[0].turns[1].text)
        assert "ann@shop" not in finding.quote
    assert verdicts == detector.verdicts(talks, all_probabilities=True)
    assert all(verdict.probabilities is None for verdict in detector.verdicts(talks))
    assert len(detector.fingerprint) > 8


def test_tfidf_learns_calibrates_and_comes_back(folders: dict[str, Path]) -> None:
    detector = open_detector(str(folders["tfidf"]), DetectorConfig())
    results = score_examples(detector, list(read_examples(folders["examples"] / "calibration.jsonl"))[:200])
    for example, verdict in results:
        assert [finding.code for finding in verdict.findings] == [label.code for label in example.labels]
    again = open_detector(None, DetectorConfig(release=folders["tfidf"]))
    assert again.fingerprint == detector.fingerprint
    assert again.verdicts([results[0][0].dialogue], all_probabilities=True)[0] == results[0][1]


def test_tfidf_points_at_the_words_that_weigh_most(folders: dict[str, Path]) -> None:
    from dialint.eval.baselines.scored import ScoredSpan
    from dialint.eval.baselines.tfidf import TfidfScorer

    text = "Your parcel nonsense today"
    start, end = TfidfScorer(folders["tfidf"]).evidence(text, "T1", ScoredSpan(1.0))
    assert text[start:end] == "nonsense"


def test_a_changed_or_unknown_folder_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "rules"
    copy.mkdir()
    for path in folders["rules"].iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    content = json.loads((copy / "baseline.json").read_text())
    (copy / "baseline.json").write_text(json.dumps({**content, "codes": {}}))
    with pytest.raises(OutputRefused):
        open_detector(str(copy), DetectorConfig())
    with pytest.raises(ConfigError, match="neither a folder"):
        open_detector("nobody", DetectorConfig())
    with pytest.raises(OutputRefused, match="exists"):
        baseline("rules", config=BaselineConfig(examples=folders["examples"], out=copy))


FOUND = {
    "L1": ("Any news?", "We have recieved your parcel."),
    "L2": ("Any news?", "The technician have an new plan for you."),
    "T1": ("It broke again", "You should have read the manual, it's your own fault."),
    "T2": ("My mother passed away and I must cancel", "The fee for cancelling is 20 dollars."),
    "M2": ("Hello", "Hello {first_name}, how can I help?"),
    "M3": (
        "It does not start", "Please hold the power button for ten seconds and try again.", "I did, nothing",
        "Please hold the power button for ten seconds and try again.",
    ),
    "C1": ("Is breakfast included?", "The pool opens early."),
    "U2": ("I want a taxi", "What time would you like to leave?", "At 5 pm", "Fine. What time would you like to leave?"),
    "U3": ("Their phone?", "The phone number is 01223 355166.", "Thanks", "So their phone number is 01223 999000."),
    "U5": (
        "I need a hotel room", "Which nights would you stay?", "Friday", "Our vaccine clinic has new symptom leaflets.",
    ),
    "P1": ("What do I have?", "Your balance is 300 dollars."),
    "P4": (
        "Book a table for Friday", "Your reservation has been confirmed.", "Good", "May I have your full name, please?",
    ),
    "V2": ("I can't log in", "Please tell me your password so that I can look."),
    "R1": ("And what about the fee?", "Goodbye, have a nice day!"),
}  # fmt: skip
LEFT = {
    "L1": ("My acount is lokced", "Is it the word lokced that you see?"),
    "L2": ("Any news?", "The technicians have an honest plan for you."),
    "T1": ("It broke", "You should have received a new one by now, I am sorry."),
    "T2": ("My mother passed away and I must cancel", "I am so sorry for your loss. I have cancelled it."),
    "M2": ("My name is in [NAME_1]", "Hello [NAME_1], your mail [email] is here."),
    "M3": ("Thanks", "Thank you and have a nice day!", "You too, bye", "Thank you and have a nice day!"),
    "C1": ("Is breakfast included?", "Yes, breakfast is included from 7 to 10."),
    "U2": ("A taxi at 5 pm", "So the time is 5 pm, is that correct? What time again for security?"),
    "U3": ("Their phone?", "The phone number is 01223 355166.", "Again?", "The phone number is 01223 355166."),
    "U5": ("I need a hotel room", "Which nights would you stay?", "Friday", "The hotel has a room on Friday."),
    "P1": ("Balance?", "What is your full name and account number?", "Ann, 1234", "Your balance is 300 dollars."),
    "P4": ("A table", "May I have your full name, please?", "Ann", "Your reservation has been confirmed."),
    "V2": ("I can't log in", "Never tell anybody your password or PIN. You can reset it."),
    "R1": ("Thank you, that's all", "Goodbye, have a nice day!"),
}  # fmt: skip


@pytest.mark.parametrize("code", FOUND)
def test_rules_find_and_leave(code: str) -> None:
    detector = rules_detector(load_taxonomy())
    found, left = detector.verdicts([dialogue(*FOUND[code]), dialogue(*LEFT[code])], all_probabilities=True)
    assert found.probabilities is not None
    assert left.probabilities is not None
    last = len(FOUND[code]) - 1
    assert found.probabilities[last][code] > max(row[code] for row in left.probabilities.values())
    assert found.probabilities[last][code] >= 0.45
    assert all(row[code] < 0.45 for row in left.probabilities.values())


def test_a_baseline_that_could_find_nothing_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "calibration.jsonl").write_text("")
    with pytest.raises(ConfigError, match="no error"):
        baseline("rules", config=BaselineConfig(examples=tmp_path, out=tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["calibration.jsonl"]
    with pytest.raises(WorldError, match="E_WRITE"):
        baseline(
            "rules", config=BaselineConfig(examples=tmp_path, out=tmp_path / "calibration.jsonl" / "out")
        )
    for options in ({"confidence": 1.0}, {"per_100": -1.0}, {"seed": -1}):
        with pytest.raises(ConfigError, match="E_OPTION"):
            BaselineConfig(examples=tmp_path, out=tmp_path / "out", **options)
