"""`dialint diff`: what one run finds and another did not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialint.app.cli import app
from dialint.app.commands.diff import compare, diff, quote_words
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import DialintError
from dialint.detector.interface import DetectorConfig
from dialint.detector.records import Finding, Verdict
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.watchdog import WatchConfig

SLOT, SECRET, CLEAN = "Dear {{name}}, it is on its way.", "Please send me your CVV.", "It arrives on Friday."
EMBEDDED_ID = Release(EMBEDDED, has_scan=False).info.id
QUESTION = "Hello, I am waiting for my parcel."


def score(name: str, dialogues: dict[str, list[str]], overrides: Path | None = None, **options: Any) -> Path:
    """The verdicts on dialogues with these agents' turns."""
    turns = {
        each: [{"role": "customer", "text": QUESTION}, *({"role": "agent", "text": text} for text in texts)]
        for each, texts in dialogues.items()
    }
    lines = (json.dumps({"dialogue_id": each, "turns": turns[each]}) + "\n" for each in dialogues)
    Path(f"{name}.log").write_text("".join(lines))
    out = Path(f"{name}.jsonl")
    config = ScoreConfig(
        out=out, quiet=True, detector=DetectorConfig(scan="off", overrides=overrides),
        watch=WatchConfig(dialogue_seconds=0), **options,
    )  # fmt: skip
    assert run([f"{name}.log"], config) == 0
    return out


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def printed(capsys: pytest.CaptureFixture[str], before: Path, after: Path, **options: Any) -> tuple[int, str]:
    capsys.readouterr()
    words = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
        for name, value in options.items()
    ]
    code = app(["diff", str(before), str(after), *words], result_action="return_value")
    return code, capsys.readouterr().out


def test_the_same_dialogues_in_another_order_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    dialogues = {"a": [SLOT], "b": [CLEAN, SECRET], "c": [CLEAN]}
    before = score("before", dialogues)
    after = score("after", dict(reversed(dialogues.items())))
    code, text = printed(capsys, before, after, fail_on="S4")
    assert code == 0
    assert text.splitlines() == [
        "code  before  after  new  gone  changed",
        "M2    1       1      0    0     0",
        "V2    1       1      0    0     0",
        "3 dialogues before, 3 after",
    ]


def test_new_gone_and_moved_findings_stand_by_dialogue(capsys: pytest.CaptureFixture[str]) -> None:
    before = score("before", {"a": [SLOT], "b": [CLEAN], "moved": [SECRET]})
    after = score("after", {"moved": [CLEAN, SECRET], "b": [SECRET], "a": [CLEAN]})
    code, text = printed(capsys, before, after, fail_on="S1")
    assert code == 1
    lines = text.splitlines()
    assert lines[:2] == ["moved", lines[1]]
    assert lines[1].startswith("  changed   turn 2  S1  V2 Asks for secrets")
    assert lines[2].strip() == "turn 1 -> 2"
    assert lines[3] == "b"
    assert lines[4].startswith("  new       turn 1  S1  V2 Asks for secrets")
    assert "exact check" in lines[5]
    assert lines[6] == "a"
    assert lines[7].startswith("  gone      turn 1  S2  M2 Unfilled or wrong placeholder")
    assert lines[8:] == [
        "code  before  after  new  gone  changed",
        "M2    1       0      0    1     0",
        "V2    1       2      1    0     1",
        "3 dialogues before, 3 after",
    ]
    assert printed(capsys, after, before, fail_on="S1")[0] == 0, "M2 is S2"
    assert printed(capsys, after, before, fail_on="S2")[0] == 1

    code, text = printed(capsys, before, after, json=True)
    report = json.loads(text)
    assert (code, report["kind"], report["dialogues"]) == (0, "diff", {"before": 3, "after": 3})
    assert [(each["dialogue_id"], each["change"]) for each in report["changes"]] == [
        ("moved", "changed"), ("b", "new"), ("a", "gone"),
    ]  # fmt: skip
    moved, new, gone = report["changes"]
    assert (moved["before"]["turn"], moved["after"]["turn"]) == (1, 2)
    assert (new["before"], new["after"]["kind"], new["after"]["code"]) == (None, "finding", "V2")
    assert (gone["before"]["code"], gone["after"]) == ("M2", None)
    assert report["codes"]["V2"] == {"before": 1, "after": 2, "new": 1, "gone": 0, "changed": 1}


def test_what_is_missing_or_not_judged_is_not_mended(capsys: pytest.CaptureFixture[str]) -> None:
    before = score("before", {"a": [SLOT], "b": [SLOT]})
    after = score("after", {"a": []}, max_failed=1.0)
    code, text = printed(capsys, before, after, fail_on="S1")
    assert code == 3
    assert "gone" not in text.partition("code  before")[0]
    assert "a\n  not judged any more: " in text
    assert "b\n  not judged any more: missing\n" in text
    assert printed(capsys, after, before, fail_on="S2")[0] == 1, "what was not judged before is new"


def test_different_versions_of_runs_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    rules = Path("rules.yaml")
    rules.write_text(f"release: {EMBEDDED_ID}\ndemoted: {{M2: seldom right}}\n")
    before, after = score("before", {"a": [SLOT]}), score("after", {"a": [SLOT]}, rules)
    code, text = printed(capsys, before, after, fail_on="S4")
    assert code == 0
    assert "changed   turn 1  S2  M2" in text
    assert "finding -> suggestion\n" in text
    assert text.splitlines()[-1].startswith(
        f"1 dialogues before, 1 after; made with {EMBEDDED_ID}, taxonomy "
    )
    assert ", overrides " in text.splitlines()[-1].partition(" before, ")[2]


def test_a_file_that_is_no_output_of_a_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    before = score("before", {"a": [SLOT]})
    other, log, missing = (Path(name) for name in ("other.jsonl", "before.log", "nowhere.jsonl"))
    other.write_bytes(before.read_bytes())
    for pair in ((before, other), (log, before), (before, missing)):
        with pytest.raises(DialintError):
            diff(*pair)
    assert capsys.readouterr().out == ""


def finding(turn: int = 1, quote: str = "your CVV", **changes: Any) -> Finding:
    facts = {"code": "V2", "severity": "S1", "probability": 0.9, "start": 0, "end": 8, "reason": "."}
    return Finding.model_validate({**facts, "turn": turn, "quote": quote, **changes})


def verdict(*findings: Finding, suggestions: tuple[Finding, ...] = ()) -> Verdict:
    return Verdict(
        dialogue_id="d", release="r", taxonomy="1.2.0", status="scored", quality=50.0,
        findings=findings, suggestions=suggestions,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ([finding(1), finding(3)], [finding(3), finding(1)], []),
        ([finding(1), finding(3)], [finding(3)], [("gone", [])]),
        ([finding(quote="Your  CVV!")], [finding(quote="your CVV")], [("changed", ["quote Your  CVV! -> your CVV"])]),
        ([finding()], [finding(probability=0.7, reason="!")], []),
        ([finding(severity="S2")], [finding()], [("changed", ["severity S2 -> S1"])]),
        ([finding(1, "the PIN")], [finding(1, "your CVV")], [("changed", ["quote the PIN -> your CVV"])]),
        ([finding(1, "the PIN")], [finding(2, "your CVV")], [("gone", []), ("new", [])]),
        ([finding()], [finding(code="V1")], [("gone", []), ("new", [])]),
        ([finding()], [finding(), finding()], [("new", [])]),
    ],
)  # fmt: skip
def test_pairs(before: list[Finding], after: list[Finding], changes: list[tuple[str, list[str]]]) -> None:
    assert [(each.name, each.details) for each in compare(verdict(*before), verdict(*after))] == changes


def test_a_suggestion_that_becomes_a_finding_is_a_change_and_fails() -> None:
    suggested = verdict(suggestions=(finding(),))
    (change,) = compare(suggested, verdict(finding()))
    assert (change.name, change.details, change.fails("S1")) == ("changed", ["suggestion -> finding"], True)
    (change,) = compare(verdict(finding()), suggested)
    assert (change.name, change.fails("S4")) == ("changed", False)
    assert compare(suggested, verdict()) == []
    (change,) = compare(verdict(finding(severity="S3")), verdict(finding()))
    assert (change.fails("S2"), change.fails("S3")) == (True, False)


def test_quotes_are_matched_by_their_words() -> None:
    assert quote_words("Dear [NAME_2], “hello”!") == quote_words("dear [NAME_1]: Hello")
    assert quote_words("???") == "???"
    assert quote_words("order 12") != quote_words("order 13")
