"""Every baseline keeps the detectors' contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_detector import example

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, DetectorConfig
from dialint.eval.baselines import open_detector
from dialint.eval.results import read_examples, score_examples


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in which every T1 holds the word `nonsense`, and one agent turn in 40 is such."""
    folder = tmp_path_factory.mktemp("baselines")
    for name, n, share in (("train", 240, 4), ("calibration", 2400, 40)):
        with open(folder / f"{name}.jsonl", "w") as file:
            for i in range(n):
                reply = f"Your parcel number {i} comes today" if i % share else f"That is nonsense number {i}"
                made = example(f"d{i}", {} if i % share else {1: "T1"}, (f"Where is parcel {i}?", reply))
                file.write(made.model_dump_json() + "\n")
    return folder


@pytest.fixture(scope="module")
def tfidf(examples: Path) -> Detector:
    return open_detector(f"tfidf:{examples}", DetectorConfig())


@pytest.mark.parametrize("name", ["clean", "tfidf"])
def test_every_baseline_keeps_the_contract(name: str, tfidf: Detector) -> None:
    detector = tfidf if name == "tfidf" else open_detector("clean", DetectorConfig())
    texts = {
        "a": ("Hello", "Mail me at ann@shop.example, that is nonsense, you idiot"), "b": ("Nobody answers",),
        "c": ("Hi", "Your parcel comes today"),
    }  # fmt: skip
    talks = [example(name, {}, turns).dialogue for name, turns in texts.items()]
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
    for one, verdict in results:
        assert [finding.code for finding in verdict.findings] == [label.code for label in one.labels]
    again = open_detector(f"tfidf:{examples}", DetectorConfig())
    assert again.fingerprint == tfidf.fingerprint
    assert again.verdicts([results[0][0].dialogue], all_probabilities=True)[0] == results[0][1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "neither a folder"),
        ("tfidf:nowhere", "no such folder; .*`dialint data inject` .*makes one"),
    ],
)
def test_what_is_no_detector_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_detector(name, DetectorConfig())
