"""Every baseline keeps the detectors' contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.eval.baselines import open_detector
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
                told = {"dialogue_id": f"d{i}", "turn": 1, "code": "T1", "method": "inject:x"}
                label = Label(probability=1.0, start=8, end=16, **told)
                asked = dialogue(f"Where is parcel {i}?", reply, name=f"d{i}")
                made = Example(dialogue=asked, labels=(label,) if rude else (), split=split)
                file.write(made.model_dump_json() + "\n")
    return folder


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(tmp_path_factory.mktemp("baselines") / "examples")


@pytest.fixture(scope="module")
def tfidf(examples: Path) -> Detector:
    return open_detector(f"tfidf:{examples}", DetectorConfig())


@pytest.mark.parametrize("name", ["clean", "tfidf"])
def test_every_baseline_keeps_the_contract(name: str, tfidf: Detector) -> None:
    detector = tfidf if name == "tfidf" else open_detector("clean", DetectorConfig())
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


def test_tfidf_learns_and_calibrates_the_same_each_time(examples: Path, tfidf: Detector) -> None:
    results = score_examples(tfidf, list(read_examples(examples / "calibration.jsonl"))[:200])
    for example, verdict in results:
        assert [finding.code for finding in verdict.findings] == [label.code for label in example.labels]
    again = open_detector(f"tfidf:{examples}", DetectorConfig())
    assert again.fingerprint == tfidf.fingerprint
    assert again.verdicts([results[0][0].dialogue], all_probabilities=True)[0] == results[0][1]


@pytest.mark.parametrize(
    ("name", "message"), [("nobody", "neither a folder"), ("tfidf:nowhere", "`dialint data inject` makes it")]
)
def test_what_is_no_detector_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_detector(name, DetectorConfig())
