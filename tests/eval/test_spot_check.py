"""A spot check: the sample, the sheet as a spreadsheet leaves it, and figures computed by hand."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from outputs import finished

from dialint.detector.artifacts import read_manifest, write_manifest
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.overrides import Judged, read_overrides
from dialint.detector.records import Finding, NotJudged, Verdict
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.eval.audits import audit_of_sheet
from dialint.eval.contract import ContractConfig, contract
from dialint.eval.judgements import count_judgements, overall_precision
from dialint.eval.spot_check import COLUMNS, SpotCheck, SpotCheckConfig, _allocate, spot_check


def finding(code: str, turn: int, probability: float = 0.8) -> Finding:
    return Finding(
        code=code, turn=turn, severity="S2", probability=probability, quote="no", start=0, end=2, reason="x"
    )


@pytest.fixture
def scored(tmp_path: Path) -> tuple[Path, Path]:
    """Nine dialogues of four turns: two agent's turns each, T1 on six first ones, C1 on a second one."""
    log, verdicts = tmp_path / "log.jsonl", []
    with open(log, "w") as logs:
        for number in range(9):
            texts = ("=1 | w", f"no, {number}@x.example", "And the fee?", "no.")
            turns = [{"role": ("customer", "agent")[i % 2], "text": text} for i, text in enumerate(texts)]
            logs.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
            findings = (finding("T1", 1),) if number < 6 else ()
            more = (finding("C1", 3, 0.4),) if number == 0 else ()
            fields = {"release": "r", "taxonomy": "1.0.0", "status": "scored", "quality": 1.0}
            verdicts.append(Verdict(dialogue_id=f"d{number}", findings=findings, suggestions=more, **fields))
    return log, finished(tmp_path, verdicts)


def read_sheet(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill_in(path: Path, answers: Mapping[str, str], delimiter: str = ",", encoding: str = "utf-8") -> None:
    """Write `answers` by kind, or by number, and save as another spreadsheet would."""
    rows = read_sheet(path)
    for row in rows:
        answer = answers.get(row["number"], answers.get(row["kind"], ""))
        row["missed" if row["kind"] == "turn" else "judgement"] = answer
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding, errors="replace"))


def draw(scored: tuple[Path, Path], name: str = "check", **options: int) -> Path:
    log, verdicts = scored
    out = log.with_name(name)
    config = SpotCheckConfig(log=(str(log),), out=out, **{"findings": 4, "turns": 3, **options})
    spot_check(verdicts, config=config)
    return out


def test_the_sample_and_its_weights(scored: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """4 rows of 6 + 1: two thirds are findings, and T1 has no other code to share with. Of the 18 agents'
    turns 12 have no finding, and 3 of these stand for 4 each."""
    out = draw(scored)
    rows = read_sheet(out / "sheet.csv")
    assert [(row["kind"], row["code"], row["weight"]) for row in rows[-3:]] == [("turn", "", "4")] * 3
    assert sorted((row["kind"], row["code"], row["weight"]) for row in rows[:4]) == [
        ("finding", "T1", "2")
    ] * 3 + [("suggestion", "C1", "1")]
    flagged = {(f"d{number}", 1) for number in range(6)}
    assert not flagged & {(row["dialogue"], int(row["turn"])) for row in rows[-3:]}
    assert "about 4 minutes" in capsys.readouterr().out
    text = (out / "sheet.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    assert "@x.example" not in text
    (one,) = [row for row in rows if row["code"] == "C1"]
    assert one["context"].splitlines()[-2:] == ["customer: And the fee?", "[the turn to judge]"]
    assert "no." in one["text"]
    assert "W2" in (out / "instructions.md").read_text()
    sheets = [draw(scored, name, seed=seed) / "sheet.csv" for name, seed in (("again", 0), ("other", 1))]
    assert [each.read_bytes() == (out / "sheet.csv").read_bytes() for each in sheets] == [True, False]


def test_a_part_of_the_log_is_refused(scored: tuple[Path, Path]) -> None:
    """The last dialogue has no finding, so nothing that is drawn from the others would miss it."""
    log, verdicts = scored
    part = log.with_name("part.jsonl")
    part.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ConfigError, match=r"--log: 1 of 9 dialogues of .* are not in it"):
        spot_check(verdicts, config=SpotCheckConfig(log=(str(part),), out=log.with_name("check")))
    assert not log.with_name("check").exists()


def test_files_that_are_not_those_scored_are_reported(
    scored: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    log, verdicts = scored
    path = manifest_path(verdicts)
    for number, text in enumerate((log.read_text(), log.read_text().replace("the fee", "the price"))):
        digest = hashlib.sha256(log.read_bytes()).hexdigest()
        write_manifest(path, {**read_manifest(path), "work": {"inputs": [{"sha256": digest}]}})
        log.write_text(text)
        spot_check(verdicts, config=SpotCheckConfig(log=(str(log),), out=log.with_name(f"check{number}")))
        assert ("are not those that were scored" in capsys.readouterr().err) == bool(number)


def test_the_share_of_a_code_goes_by_the_root_of_its_size() -> None:
    """Of 100, 25 and 1 by roots 10, 5 and 1: 16 rows are 10, 5 and 1; what one kind lacks the other gets."""
    assert _allocate({"finding": {"A1": 100, "B1": 25, "C1": 1}, "suggestion": {}}, 16) == [
        ("finding", "A1", 10),
        ("finding", "B1", 5),
        ("finding", "C1", 1),
    ]
    for n, shares in ((90, (40, 20)), (5, (5, 55))):
        allocation = _allocate({"finding": {"A1": n}, "suggestion": {"B1": 90}}, 60)
        assert allocation == [("finding", "A1", shares[0]), ("suggestion", "B1", shares[1])]


def judged(reported: int, right: int, wrong: int, stated: float = 0.0) -> Judged:
    return Judged(reported=reported, right=right, arguable=0, wrong=wrong, stated=stated)


def test_precision_over_codes_is_weighted_by_what_was_reported() -> None:
    """30 reported, 1 of 2 right, and 10 reported, 2 of 2 right: (15 + 10) / 40. By Kish 40² / (900/2 + 100/2)
    is 3.2, so 3 rows; 1.875 of them right is between 1 and 2: Clopper and Pearson's ends of 1 and 2 of 3."""
    figures = overall_precision([judged(30, 1, 1), judged(10, 2, 0), judged(7, 0, 0)])
    assert figures == pytest.approx((0.625, 0.00840, 0.99160), abs=1e-4)
    assert overall_precision([judged(7, 0, 0)]) is None


def test_a_sheet_there_and_back(scored: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Semicolons and another encoding, as Excel saves in Germany; one row is left empty. 6 findings are
    reported, 2 of 3 read are right; 1 of 2 other turns read had an error."""
    out = draw(scored)
    sheet = out / "sheet.csv"
    numbers = [row["number"] for row in read_sheet(sheet) if row["kind"] == "finding"]
    answers = {"finding": "right", numbers[0]: "Arguable", "suggestion": "wrong", "5": "none", "6": "u2"}
    fill_in(sheet, answers, ";", "cp1252")
    contract(scored[1], config=ContractConfig(sheet=sheet, overrides=out / "overrides.yaml"))
    output = capsys.readouterr().out
    assert "T1: too few judged (right 2 of 3 judged)" in output
    assert "1 of 7 rows are not judged yet" in output
    natural = read_overrides(out / "overrides.yaml").spot_check
    assert natural is not None
    assert natural.findings["T1"] == Judged(reported=6, right=2, arguable=1, wrong=0, stated=2.4, effective=3)
    assert natural.suggestions["C1"] == Judged(
        reported=1, right=0, arguable=0, wrong=1, stated=0.4, effective=1
    )
    assert natural.turns.missed == {"U2": 1}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"finding": "yes"}, "needs one of right, wrong, arguable"),
        ({"turn": "Q9"}, "row 5: `missed` needs codes"),
        ({"turn": "none C1"}, "row 5: `missed` needs codes"),
    ],
)
def test_another_word_is_refused_with_its_row(
    scored: tuple[Path, Path], answers: dict[str, str], message: str
) -> None:
    out = draw(scored)
    fill_in(out / "sheet.csv", answers)
    with pytest.raises(InputRefused, match=message):
        contract(scored[1], config=ContractConfig(sheet=out / "sheet.csv"))


def test_a_sheet_must_hold_its_sample(scored: tuple[Path, Path]) -> None:
    out = draw(scored, turns=0)
    sheet = out / "sheet.csv"
    sample = SpotCheck.model_validate_json(
        json.dumps({k: v for k, v in read_manifest(out / "manifest.json").items() if k != "kind"})
    )
    rows = read_sheet(sheet)
    with pytest.raises(InputRefused, match="row 4 of what was drawn"):
        count_judgements(sample, rows[:-1])
    with pytest.raises(InputRefused, match="stands there twice"):
        count_judgements(sample, [*rows, rows[0]])
    with pytest.raises(InputRefused, match="was not drawn"):
        count_judgements(sample, [{**rows[0], "code": "X9"}, *rows[1:]])
    with pytest.raises(InputRefused, match="nothing is judged"):
        contract(scored[1], config=ContractConfig(sheet=sheet, overrides=out / "overrides.yaml"))
    sheet.write_text("code,judgement\nT1\rx,right\n" + "x" * 200_000)
    with pytest.raises(InputRefused, match="no CSV with the columns"):
        contract(scored[1], config=ContractConfig(sheet=sheet))
    (out / "manifest.json").unlink()
    with pytest.raises(OutputRefused, match="no manifest"):
        contract(scored[1], config=ContractConfig(sheet=sheet))


def test_a_sample_that_cannot_be_drawn_is_the_users_error(scored: tuple[Path, Path]) -> None:
    log, verdicts = scored
    with pytest.raises(ConfigError, match="--findings"):
        SpotCheckConfig(log=(str(log),), out=log, findings=0)
    config = SpotCheckConfig(log=(str(log),), out=log.with_name("check"))
    path = manifest_path(verdicts)
    content = read_manifest(path)
    write_manifest(path, {**content, "work": {"release": {"overrides": {"spot_check": True}}}})
    with pytest.raises(ConfigError, match="scored with a spot check"):
        spot_check(verdicts, config=config)
    write_manifest(path, content)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line.replace('"customer"', '"agent"', 1) for line in lines))
    made = [Verdict.model_validate_json(line) for line in verdicts.read_text().splitlines()]
    finished(log.parent, [each.model_copy(update={"findings": (finding("T1", 7),)}) for each in made])
    with pytest.raises(ConfigError, match="no turn 7"):
        spot_check(verdicts, config=config)
    finished(log.parent, [])
    with pytest.raises(InputRefused, match="no finding"):
        spot_check(verdicts, config=SpotCheckConfig(log=(str(log),), out=config.out, turns=0))
    verdicts.write_text("x")
    with pytest.raises(OutputRefused, match="E_"):  # its bytes are no longer those of its manifest
        spot_check(verdicts, config=config)
    assert not config.out.exists()


def test_findings_of_a_dialogue_that_was_not_judged_are_measured_too(
    scored: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before: the sheet had them, and `contract` refused it as drawn from other verdicts."""
    (tmp_path / "new").mkdir()
    first, *rest = read_verdicts(scored[1])
    gap = NotJudged(language="es", turns=(3,), codes=("C1",))
    gone = {"status": "not_judged", "quality": None, "not_judged": (gap,), "agent_turns": 2}
    log = scored[0], finished(tmp_path / "new", [first.model_copy(update=gone), *rest])
    sheet = draw(log, findings=7) / "sheet.csv"
    fill_in(sheet, {"finding": "right", "suggestion": "wrong", "turn": "none"})
    contract(log[1], config=ContractConfig(sheet=sheet))
    assert "right 6 of 6 judged" in capsys.readouterr().out
    assert "d0" not in audit_of_sheet(list(read_verdicts(log[1])), sheet).read
