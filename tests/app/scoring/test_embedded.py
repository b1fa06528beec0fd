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
from dialint.detector.verdict_files import read_verdicts

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "app/sample/dialogues.jsonl"
LABELS = [json.loads(line) for line in (ROOT / "app/sample/labels.jsonl").read_text().splitlines()]
REQUIRED = {"L1", "T1", "M2", "M3", "C1", "U2", "V2", "R1"}
FOUND, SUGGESTED = {"L1", "M2", "V2"}, {"E4", "T2"}


def scored(log: Path, folder: Path) -> list[Verdict]:
    out = folder / "verdicts.jsonl"
    assert run([str(log)], ScoreConfig(out=out, quiet=True)) == 0
    return list(read_verdicts(out))


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
def test_every_dialogue_of_the_sample_has_one_verdict(tmp_path: Path) -> None:
    ids = [json.loads(line)["dialogue_id"] for line in SAMPLE.read_text().splitlines()]
    verdicts = scored(SAMPLE, tmp_path)
    assert [verdict.dialogue_id for verdict in verdicts] == ids
    assert {verdict.status for verdict in verdicts} == {"scored"}


def test_it_finds_errors_that_stand_in_the_sample(tmp_path: Path) -> None:
    """The sample is no exam and far from the training data; this only says that the release is alive."""
    with_errors = {label["dialogue_id"] for label in LABELS if label["code"] in FOUND | SUGGESTED}
    lines = [
        line for line in SAMPLE.read_text().splitlines() if json.loads(line)["dialogue_id"] in with_errors
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines))
    verdicts = scored(log, tmp_path)
    true = {(label["dialogue_id"], label["turn"], label["code"]) for label in LABELS}
    found = {(each.dialogue_id, finding.turn, finding.code) for each in verdicts for finding in each.findings}
    assert len(found & true) >= 10
    assert {code for _, _, code in found & true} >= FOUND
    suggested = {(each.dialogue_id, one.turn, one.code) for each in verdicts for one in each.suggestions}
    assert {code for _, _, code in suggested & true} >= SUGGESTED
