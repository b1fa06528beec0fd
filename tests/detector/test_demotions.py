"""Demoted codes in a file, of the release that judges alone."""

from pathlib import Path

import pytest
import tiny

from dialint.detector.demotions import Confirmations, Demotions, read_demotions
from dialint.detector.errors import ConfigError
from dialint.detector.gates import proof_name
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Turn


@pytest.mark.parametrize(
    ("confirmed", "answered", "demoted"),
    [(0, 9, False), (0, 10, True), (2, 10, True), (3, 10, False), (10, 30, True), (11, 30, False)],
)
def test_a_code_is_demoted_if_it_is_surely_confirmed_less_than_half_of_the_time(
    confirmed: int, answered: int, demoted: bool
) -> None:
    """By hand: P(X <= 2) of 10 at one half is 56 / 1024 = .055 and P(X <= 3) is 176 / 1024 = .172, so that at
    a confidence of .9 the bound of 2 is under one half and that of 3 is not."""
    rule = Demotions(below=0.5, confidence=0.9, least=10, releases={})
    assert rule.applies_to(Confirmations(confirmed=confirmed, answered=answered)) is demoted


def test_a_detector_suggests_what_its_release_is_demoted_for(tmp_path: Path) -> None:
    release = tiny.write_release(tmp_path / "r")
    few = {"M2": Confirmations(confirmed=2, answered=14)}
    path = tmp_path / "demoted.json"
    turns = (Turn(index=0, role="customer", text="w1"), Turn(index=1, role="agent", text="w2 {first_name}"))
    dialogue = Dialogue(id="d", turns=turns)
    for name, kind in (("tiny-1", "suggestions"), ("tiny-2", "findings")):
        demotions = Demotions(below=0.5, confidence=0.9, least=10, releases={name: few})
        path.write_text(demotions.model_dump_json())
        detector = load_detector(DetectorConfig(release=release, precision="fp32", threads=1, demoted=path))
        (verdict,) = detector.verdicts([dialogue])
        (finding,) = [each for each in getattr(verdict, kind) if each.code == "M2"]
        assert "M2" not in [
            each.code for each in (*verdict.findings, *verdict.suggestions) if each != finding
        ]
    assert read_demotions(path, "tiny-2") == {"M2": "people confirmed 2 of 14 findings of tiny-2"}
    demoted = finding.model_copy(
        update={"reason": "x (demoted: people confirmed 2 of 14 findings of tiny-2)."}
    )
    assert proof_name(demoted) == "demoted: people confirmed 2 of 14 findings of tiny-2"
    path.write_text("{}")
    for bad in (path, tmp_path / "none.json"):
        with pytest.raises(ConfigError, match="E_DEMOTED"):
            read_demotions(bad, "tiny-1")
