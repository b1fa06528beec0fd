"""The release that ships, used as its users do: whole, under 40 MB, and it finds real errors in the sample."""

from __future__ import annotations

import json
from pathlib import Path

from dialint.app.commands.verify import verify_path
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.verdict_files import read_verdicts

ROOT = Path(__file__).parents[3]
LABELS = [json.loads(line) for line in (ROOT / "app/sample/labels.jsonl").read_text().splitlines()]
REQUIRED = {"L1", "T1", "M2", "M3", "C1", "U2", "V2", "R1"}


def test_it_is_small_verified_and_lists_its_coverage() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 40_000_000
    verify_path(EMBEDDED)
    info = Release(EMBEDDED).info
    assert set(info.covered) >= REQUIRED
    card = (EMBEDDED / "MODEL_CARD.md").read_text()
    assert all(f"**{code}**" in card for code in info.covered)
    assert "Not covered by this release" in card
    assert all(source in card for source in ("written", "star", "multiwoz", "taskmaster4", "tau_bench"))


def test_it_finds_errors_that_stand_in_the_sample(scanned_sample: tuple[Path, Path]) -> None:
    """The sample is no exam and far from the training data; this only says that the release is alive."""
    log, out = scanned_sample
    verdicts = list(read_verdicts(out))
    ids = [json.loads(line)["dialogue_id"] for line in log.read_text().splitlines()]
    assert [(each.dialogue_id, each.status) for each in verdicts] == [(name, "scored") for name in ids]
    true = {(label["dialogue_id"], label["turn"], label["code"]) for label in LABELS}
    predicted = {(each.dialogue_id, one.turn, one.code) for each in verdicts for one in each.findings}
    assert len(predicted & true) >= 10
    assert {code for _, _, code in predicted & true} >= {"L1", "M2", "V2"}
    suggested = {(each.dialogue_id, one.turn, one.code) for each in verdicts for one in each.suggestions}
    assert {code for _, _, code in suggested & true} >= {"E4", "T2"}
