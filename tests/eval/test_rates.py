"""Rates by dialogue: against closed forms, on made-up logs of known truth, and the command on a log."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outputs import finished
from rates_coverage import PLANS, coverage, false_discoveries, make_units

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.records import Finding, Label, Verdict
from dialint.detector.statistics import Rate, adjust_p_values, wilson_interval
from dialint.detector.verdict_files import read_verdicts
from dialint.eval.audits import Units, audit_of_sheet
from dialint.eval.blind_spots import AddedError, Recall, group_added
from dialint.eval.rates import RatesConfig, rates, reads_to_settle
from dialint.eval.spot_check import SpotCheckConfig, spot_check


def test_two_strata_are_the_prediction_powered_mean() -> None:
    """The mean of PPI++ with tuned power, which is the regression estimator of two-phase sampling:
    the mean of y and b times (the mean of f over all less that over the readings), b = cov(y, f) / var(f)."""
    rng = np.random.default_rng(0)
    flagged = rng.random(400) < 0.3
    bad = rng.random(400) < np.where(flagged, 0.7, 0.1)
    read = np.arange(400) < 80
    rate = make_units(np.where(flagged, 0, 2), bad, read).rate()
    slope = np.cov(bad[read], flagged[read])[0, 1] / flagged[read].var(ddof=1)
    expected = bad[read].mean() + slope * (flagged.mean() - flagged[read].mean())
    assert rate.value == pytest.approx(expected)
    assert (rate.errors, rate.reads) == (bad[read].sum(), 80)


def test_one_stratum_read_as_a_whole_is_a_plain_proportion() -> None:
    bad = np.arange(60) < 12
    rate = make_units(np.full(60, 2), bad, np.ones(60, bool)).rate()
    assert rate.value == 0.2
    assert rate.n == pytest.approx(60)
    assert rate.interval == pytest.approx(wilson_interval(12, 60), abs=1e-3)


def test_a_stratum_that_was_left_out_gives_no_rate() -> None:
    """None of the 30 flagged of 100 read among 50: that was no random draw. One of 100 may well be unread."""
    flagged, bad = np.arange(100) < 30, np.zeros(100, bool)
    assert np.isnan(make_units(np.where(flagged, 0, 2), bad, np.arange(100) >= 50).rate().value)
    one = np.where(np.arange(100) < 1, 0, 2)
    assert make_units(one, bad, np.arange(100) >= 50).rate().value == 0.0


def test_strata_of_separate_samples_share_no_rate() -> None:
    """Of 40 flagged dialogues all are read, of 360 others none or few: a group of which only flagged ones are
    read has no rate. Rows of a sheet are drawn apart, too: an agent's ten findings say nothing of the turns."""
    flagged, group = np.arange(400) < 40, np.isin(np.arange(400), [0, 1, 2, 398, 399])
    for n_others in (0, 5):
        read = flagged | (np.arange(400) - 40 < n_others)
        units = make_units(np.where(flagged, 0, 2), flagged, read)
        assert np.isnan(units.rate(group).value)
        assert not units.is_sampled_equally(0, 2)
    sizes = np.array([[10.0, 5.0], [1.0, 900.0]])
    reads, errors = np.array([[10.0, 0.0], [0.0, 20.0]]), np.array([[10.0, 0.0], [0.0, 1.0]])
    sheet = Units(sizes, reads, errors, sizes[:, 1], is_one_draw=False)
    assert np.isnan(sheet.rate(np.array([True, False])).value)
    all_bad = Units(np.full((9, 1), 3.0), np.ones((9, 1)), np.ones((9, 1)), np.ones(9))
    assert all_bad.rate().n > 0, "more errors than turns are as many as there can be, not none"


def test_rows_of_one_dialogue_count_as_one() -> None:
    """Ten rows in each of five dialogues are as sure as five (Kish)."""
    units = Units(np.full((5, 1), 50.0), np.full((5, 1), 10.0), np.full((5, 1), 2.0), np.full(5, 50.0))
    assert units.rate().n == pytest.approx(5)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_rates_by_dialogue_cover_and_naive_ones_do_not(plan: Any) -> None:
    figures = coverage(plan, 400, np.random.default_rng(1))
    assert figures["post"][0] >= 0.93, "three standard errors of 400 logs are 0.033"
    assert figures["by turn"][0] < 0.75
    if plan.name in ("frequent", "few read", "small log"):
        assert figures["post"][1] < 0.93 * figures["readings"][1]
    if plan.name == "rare":
        assert figures["bootstrap"][0] < 0.93


def test_agents_differ_at_the_level() -> None:
    """Of equal agents, of whom dialint accuses some wrongly more often; and three with thrice the errors."""
    equal = false_discoveries(0.1, 0.3, 40, np.random.default_rng(2))
    assert equal["audit"] <= 0.12, "0.05 and two standard errors of 40 logs"
    assert equal["findings"] > 0.5
    assert false_discoveries(0.1, 0.4, 10, np.random.default_rng(3), n_bad=3)["power"] > 0.7


def test_false_discovery_rates_as_scipy_adjusts_them() -> None:
    stats = pytest.importorskip("scipy.stats")
    p_values = np.random.default_rng(0).random(30) ** 3
    assert adjust_p_values(p_values) == pytest.approx(stats.false_discovery_control(p_values))
    assert adjust_p_values([]).shape == (0,)


def test_recall_and_the_readings_for_a_width() -> None:
    """40 of 50 flagged and 5 of 100 others are bad, of 100 and 900: found 80, missed 45."""
    recall = Recall(Rate.of(40, 50), 100, Rate.of(5, 100), 900)
    estimate = recall.estimate
    assert estimate.value == pytest.approx(80 / 125)
    assert estimate.low < 0.45 < 0.8 < estimate.high
    n = recall.reads_for_width(0.2, 150, 1000)
    assert n is not None
    assert n > 150
    more = Recall(Rate.of(40 * n / 150, 50 * n / 150), 100, Rate.of(5 * n / 150, 100 * n / 150), 900)
    assert more.estimate.high - more.estimate.low == pytest.approx(0.2, abs=0.002)
    assert recall.reads_for_width(0.001, 150, 1000) is None


def test_the_readings_that_settle_a_comparison() -> None:
    """n = p q / ((d / (z_a + z_b))^2 - v) of two proportions, one of which stays as it is; p q is
    12.5 * 38.5 / 51^2, as half an error and half a correct one are added."""
    mine, others = Rate.of(12, 50), Rate.of(100, 1000)
    spare = (0.14 / (1.95996 + 0.84162)) ** 2 - (100.5 / 1001) * (900.5 / 1001) / 1000
    wanted = 12.5 * 38.5 / 51**2 / spare
    assert reads_to_settle(mine, others, 50, 400, 0.05) == int(np.ceil(wanted)) - 50
    assert reads_to_settle(mine, others, 50, 60, 0.05) is None
    assert reads_to_settle(Rate.of(0, 0), others, 0, 60, 0.05) is None


def test_like_errors_are_grouped_with_what_to_do() -> None:
    refund = "agent: your refund comes within {} business days on your card"
    late = "agent: the courier lost parcel number {} near the depot"
    added = [AddedError(f"a{n}", 1, "C1", refund.format(n), False) for n in range(4)]
    added += [
        AddedError(f"b{n}", 1, code, late.format(n), False) for n, code in enumerate(["T1", "C2", "U1"])
    ]
    first, second = group_added(added)
    assert (first.proposal, len(first.dialogues)) == ("candidate for a rule of C1", 4)
    assert set(first.terms) < set(refund.split())
    assert second.proposal.startswith("candidate for a code of its own: people gave T1 1")
    assert group_added(added[:2]) == []


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Verdicts on 240 dialogues of two agents, of whom Ana's are worse; 160 of them, read, and labels."""
    verdicts, dialogues, labels = [], [], []
    for number in range(240):
        agent, is_bad = ("ana", number % 4 == 0) if number % 2 == 0 else ("ben", number % 30 == 1)
        is_flagged, name = is_bad and number % 3 > 0, f"d{number}"
        text = "You get your refund tomorrow, Anna Schmidt." if is_bad else "How can I help?"
        reported = Finding(
            code="C1", turn=1, severity="S2", probability=0.8, quote="You", start=0, end=3, reason="x"
        )
        verdicts.append(
            Verdict(
                dialogue_id=name, release="r", taxonomy="1.0.0", status="scored", quality=90.0, agent_turns=1,
                agent=agent, started_at=datetime(2026, 11, 1 + number // 12, tzinfo=UTC),
                findings=(reported,) if is_flagged else (),
            )
        )  # fmt: skip
        turns = [{"role": "customer", "text": "Hello"}, {"role": "agent", "text": text}]
        if number < 160:
            dialogues.append(json.dumps({"id": name, "turns": turns}))
            if is_bad:
                label = Label(dialogue_id=name, turn=1, code="C1", probability=1.0, method="read")
                labels.append(label.model_dump_json())
    out = finished(tmp_path, verdicts)
    for name, lines in (("read.jsonl", dialogues), ("labels.jsonl", labels)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return out, tmp_path / "read.jsonl", tmp_path / "labels.jsonl"


def test_the_command_prints_differences_and_missed_errors(
    log: tuple[Path, Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "132")
    scored, read, labels = log
    rates(scored, config=RatesConfig(audit=(read,), labels=labels, out=tmp_path / "rates.json"))
    output = " ".join(capsys.readouterr().out.split())
    report = json.loads((tmp_path / "rates.json").read_text())
    agents = report["groups"]["agent"]
    assert (agents["ana"]["against_the_others"], agents["ben"]["against_the_others"]) == ("more", "fewer")
    assert agents["ana"]["rate"] == pytest.approx(0.5, abs=0.02)
    assert report["codes"]["C1"]["recall"] == pytest.approx(2 / 3, abs=0.05)
    assert {row["against_the_others"] for row in report["groups"]["week"].values()} <= {"even", "unknown"}
    assert "not enough evidence" in output
    assert "candidate for a rule of C1" in output
    assert "Schmidt" not in output, "examples are masked"
    assert "refund tomorrow" not in (tmp_path / "rates.json").read_text()


def test_a_judged_sheet_gives_errors_in_turns(log: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """All findings are right, and two of the turns drawn miss an error."""
    scored, read, _ = log
    (tmp_path / "part").mkdir()
    verdicts = finished(tmp_path / "part", list(read_verdicts(scored))[:160])
    spot_check(
        verdicts, config=SpotCheckConfig(log=(str(read),), out=tmp_path / "check", findings=10, turns=20)
    )
    sheet = tmp_path / "check/sheet.csv"
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with pytest.raises(InputRefused, match="no scored dialogue was read"):
        rates(verdicts, config=RatesConfig(sheet=sheet))
    turns = 0
    for row in rows:
        turns += row["kind"] == "turn"
        row["judgement" if row["kind"] == "finding" else "missed"] = (
            "right" if row["kind"] == "finding" else "C1" if turns <= 2 else "none"
        )
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    audit = audit_of_sheet(list(read_verdicts(verdicts)), sheet)
    n_findings = sum(bool(verdict.findings) for verdict in audit.verdicts)
    rate = audit.units(frozenset({"C1"})).rate()
    assert rate.value == pytest.approx((n_findings + 0.1 * (160 - n_findings)) / 160)
    rates(verdicts, config=RatesConfig(sheet=sheet))


def test_what_was_read_must_be_of_the_log(log: tuple[Path, Path, Path], tmp_path: Path) -> None:
    scored, read, labels = log
    with pytest.raises(ConfigError, match="name what people read"):
        rates(scored)
    (tmp_path / "few").mkdir()
    few = finished(tmp_path / "few", list(read_verdicts(scored))[:1])
    with pytest.raises(ConfigError, match="not among the verdicts"):
        rates(few, config=RatesConfig(audit=(read,), labels=labels))
