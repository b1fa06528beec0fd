"""Drift: both statistics against scipy, the level where nothing changed, a change that was made, the CUSUM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outputs import finished
from scipy.stats import entropy, wasserstein_distance

from dialint.app.commands.drift import DriftConfig, drift, read_decisions
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Finding, Verdict
from dialint.eval.drift import (
    Item,
    compare_periods,
    compute_psi,
    compute_run_length,
    compute_wasserstein,
    run_cusum,
)
from dialint.labeling.annotation import Annotation

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def make_verdicts(n: int, seed: int, share: float = 0.2, first: int = 0) -> list[Verdict]:
    """Dialogues of two weeks. A dialogue's findings resemble each other; a share has some."""
    rng, verdicts = np.random.default_rng(seed), []
    for number in range(first, first + n):
        sure = rng.uniform(0.7, 0.9)
        findings = [
            Finding(
                code=str(rng.choice(["C1", "T1", "L1"])), turn=2 * turn + 1, severity="S2",
                probability=round(min(0.999, sure + rng.uniform(0, 0.1)), 3), quote="no", start=0, end=2,
                reason="x.",
            )
            for turn in range(3 if rng.random() < share else 0)
        ]  # fmt: skip
        verdicts.append(
            Verdict(
                dialogue_id=f"d{number}", release="r", taxonomy="1.2.0", status="scored", quality=50.0,
                findings=tuple(findings), agent_turns=int(rng.poisson(5)), channel=str(rng.choice(["chat", "mail"])),
                started_at=MONDAY + timedelta(hours=float(rng.uniform(0, 14 * 24))),
            )
        )  # fmt: skip
    return verdicts


def write(folder: Path, verdicts: Sequence[Verdict]) -> Path:
    folder.mkdir()
    return finished(folder, verdicts)


def test_the_statistics_are_those_of_scipy() -> None:
    before, after, support = np.array([[4.0, 3, 2, 1]]), np.array([[1.0, 2, 3, 9]]), np.array([0.0, 1, 3, 7])
    old, new = before + 0.5, after + 0.5
    assert compute_psi(before, after)[0] == pytest.approx(entropy(old[0], new[0]) + entropy(new[0], old[0]))
    expected = wasserstein_distance(support, support, before[0], after[0])
    assert compute_wasserstein(before, after, support)[0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_no_change_is_an_alarm_at_the_stated_level_only(n: int) -> None:
    """Dialogues with equal findings, so that a test by finding would cry wolf. Of 60 (400) runs at .1 no more
    than 6 (40) and three standard errors."""
    alarms = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        items = [
            Item(str(k), None, {"codes": (str(rng.choice(list("abc"))),) * 6, "agent turns": (int(rng.poisson(5)),) * 4}, None)
            for k in range(60)
        ]  # fmt: skip
        measures = compare_periods([items[:30], items[30:]], level=0.1, least=0.0, seed=seed)[0]
        alarms += any(each.state == "drift" for each in measures)
    assert alarms <= 0.1 * n + 3 * (n * 0.09) ** 0.5


def test_two_halves_of_a_period_do_not_drift_and_a_made_change_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    halves = write(tmp_path / "halves", make_verdicts(400, 1))
    assert drift(halves) == 0
    assert "2026-W46" in capsys.readouterr().out
    later = write(tmp_path / "later", make_verdicts(300, 2, share=0.4, first=400))
    out, html = tmp_path / "drift.json", tmp_path / "drift.html"
    assert drift(halves, later, config=DriftConfig(out=out, html=html)) == 1
    report = json.loads(out.read_text())
    (period,) = report["periods"]
    drifted = {each["name"] for each in period["measures"] if each["state"] == "drift"}
    assert (report["drift"], drifted) == (True, {"codes"}), "nothing else was changed"
    assert "none" in html.read_text()
    assert "script" not in html.read_text()
    assert drift(halves, config=DriftConfig(periods=("2026-11-07",))) == 0


def test_the_run_length_is_that_of_a_simulation() -> None:
    rng, lengths = np.random.default_rng(1), []
    for _ in range(1500):
        total = n = 0
        while total <= 200:
            total = max(0, total + (73 if rng.random() < 0.2 else -27))
            n += 1
        lengths.append(n)
    error = float(np.std(lengths)) / len(lengths) ** 0.5
    assert compute_run_length(0.2, 27, 200) == pytest.approx(np.mean(lengths), abs=4 * error)


def test_the_cusum_waits_for_its_run_length_and_notices_doubled_odds() -> None:
    """Twenty audits each: in control fewer false alarms than trials / run length; .4 in place of .15 is
    always noticed."""

    def audit(rng: np.random.Generator, n: int, rate: float) -> list[Item]:
        return [Item(f"d{k}", None, {}, float(rng.random() < rate)) for k in range(n)]

    false, true = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        reference = audit(rng, 200, 0.15)
        quiet = run_cusum([reference, audit(rng, 200, 0.15)], 1000.0)
        loud = run_cusum([reference, audit(rng, 200, 0.4)], 1000.0)
        assert quiet is not None
        assert loud is not None
        assert quiet.run_length >= 1000 > compute_run_length(quiet.rate, quiet.step, quiet.limit - 1)
        false, true = false + (quiet.signal is not None), true + (loud.signal is not None)
    assert false <= 20 * 200 / 1000
    assert true == 20
    assert run_cusum([reference[:19], reference], 1000.0) is None, "a reference too small"


def test_the_expert_counts_and_the_model_does_not(tmp_path: Path) -> None:
    """By hand: T1 in turn 1 is confirmed, in turn 3 overturned."""
    finding = make_verdicts(20, 1, share=1.0)[0].findings[0].model_copy(update={"code": "T1", "turn": 1})
    about: dict[str, Any] = {"dialogue_id": "d", "codes": ("T1",), "turn": None}
    answers = [
        Annotation(id="1", labeler="ada", kind="expert", findings=(finding,), **about),
        Annotation(id="2", labeler="rob", kind="reviewer", at=MONDAY, **about),
        Annotation(id="3", labeler="m", kind="model", at=MONDAY, **about),
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(each.model_dump_json() for each in answers))
    decide = read_decisions([tmp_path / "answers.jsonl"])
    assert (decide("d", 1, "T1"), decide("d", 3, "T1")) == (False, True)
    assert (decide("d", 1, "C1"), decide("e", 1, "T1")) == (None, None)


def test_what_people_overturn_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (make_verdicts(200, seed, share=0.5, first=200 * seed) for seed in (0, 1))
    files = [write(tmp_path / name, each) for name, each in (("before", before), ("after", after))]
    rng, audit = np.random.default_rng(1), tmp_path / "audit.jsonl"
    lines = [
        Annotation(
            id=each.dialogue_id, labeler="rob", kind="reviewer", dialogue_id=each.dialogue_id, turn=None,
            codes=("C1", "T1", "L1"), findings=each.findings if rng.random() > rate else (),
        )
        for verdicts, rate in ((before, 0.1), (after, 0.5))
        for each in verdicts
    ]  # fmt: skip
    audit.write_text("\n".join(line.model_dump_json() for line in lines))
    assert drift(*files, config=DriftConfig(audit=(audit,), out=tmp_path / "o.json")) == 1
    report = json.loads((tmp_path / "o.json").read_text())
    assert report["overturned"]["signal"] is not None
    assert "over its limit at dialogue d" in capsys.readouterr().out


def test_mistakes_are_one_clear_line(tmp_path: Path) -> None:
    few = write(tmp_path / "few", make_verdicts(10, 1))
    timeless = [each.model_copy(update={"started_at": None}) for each in make_verdicts(40, 1)]
    with pytest.raises(InputRefused, match=r"two periods of 20.*without a time, in no period: 40"):
        drift(write(tmp_path / "timeless", timeless))
    with pytest.raises(InputRefused, match=r"too few dialogues, not compared: .*\(10\)"):
        drift(few, write(tmp_path / "too", make_verdicts(10, 2)))
    with pytest.raises(ConfigError, match="named twice"):
        drift(few, few)
    with pytest.raises(ConfigError, match="--periods month: expected week, file, or dates"):
        drift(few, config=DriftConfig(periods=("month",)))
    with pytest.raises(ConfigError, match=r"--html .*: no file can be written there"):
        drift(few, config=DriftConfig(html=tmp_path / "none/drift.html"))
    with pytest.raises(ConfigError, match="name the verdicts"):
        drift()
    with pytest.raises(OutputRefused, match="no manifest"):
        drift(tmp_path / "none.jsonl")
    with pytest.raises(InputRefused, match="line 1: no valid annotation"):
        drift(few, config=DriftConfig(audit=(few,)))
