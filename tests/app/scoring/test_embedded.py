"""The release that ships, used as its users do: whole, under 40 MB, and it finds real errors in the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.app.commands.verify import verify_path
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.records import Verdict
from dialint.detector.release import EMBEDDED, Release

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "app/sample/dialogues.jsonl"
REQUIRED = {"L1", "T1", "M2", "M3", "C1", "U2", "V2", "R1"}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    out = tmp_path_factory.mktemp("scored") / "verdicts.jsonl"
    config = ScoreConfig(out=out, quiet=True)
    assert run([str(SAMPLE)], config) == 0
    rows = [Verdict.model_validate_json(line) for line in out.read_bytes().splitlines()]
    return {verdict.dialogue_id: verdict for verdict in rows}


def test_it_is_small_whole_and_says_what_it_covers() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 40_000_000
    verify_path(EMBEDDED)
    info = Release(EMBEDDED).info
    assert set(info.covered) >= REQUIRED
    card = (EMBEDDED / "MODEL_CARD.md").read_text()
    assert all(f"**{code}**" in card for code in info.covered)
    assert "Not covered by this release" in card
    assert all(source in card for source in ("written", "star", "multiwoz", "taskmaster4", "tau_bench"))


@pytest.mark.new_interpreter
@pytest.mark.slow
def test_every_dialogue_of_the_sample_has_one_verdict(verdicts: dict[str, Verdict]) -> None:
    ids = [json.loads(line)["dialogue_id"] for line in SAMPLE.read_text().splitlines()]
    assert sorted(verdicts) == sorted(ids)
    assert {verdict.status for verdict in verdicts.values()} == {"scored"}


def test_it_finds_errors_that_stand_in_the_sample(verdicts: dict[str, Verdict]) -> None:
    """The sample is no exam and far from the training data; this only says that the release is alive."""
    labels = [json.loads(line) for line in (ROOT / "app/sample/labels.jsonl").read_text().splitlines()]
    true = {(label["dialogue_id"], label["turn"], label["code"]) for label in labels}
    found = {(v.dialogue_id, finding.turn, finding.code) for v in verdicts.values() for finding in v.findings}
    assert len(found & true) >= 10
    assert {code for _, _, code in found & true} >= {"L1", "M2", "V2"}
    suggested = {(v.dialogue_id, each.turn, each.code) for v in verdicts.values() for each in v.suggestions}
    assert {code for _, _, code in suggested & true} >= {"E4", "T2"}
