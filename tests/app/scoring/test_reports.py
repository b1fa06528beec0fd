"""JUnit and SARIF say what the verdicts say, and are what other programs expect."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.reports import LocatedVerdict, as_text, visible, write_junit, write_sarif
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.records import Finding, Verdict
from dialint.detector.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()
ABOUT = {"release": "r", "taxonomy": "1", "status": "scored"}


def finding(code: str, severity: Any, turn: int = 1, quote: str = "the quote") -> Finding:
    return Finding(
        code=code, turn=turn, severity=severity, probability=0.5, quote=quote, start=2, end=9, reason="because",
    )  # fmt: skip


PLACED = [
    LocatedVerdict(Verdict(dialogue_id="clean", quality=100.0, **ABOUT), "logs/a b.jsonl", 1),
    LocatedVerdict(
        Verdict(
            dialogue_id="two",
            quality=10.0,
            findings=(finding("C1", "S2"), finding("C1", "S2"), finding("L1", "S4", turn=3, quote="a\x1b<b")),
            **ABOUT,
        ),
        "logs/a b.jsonl",
        2,
    ),
    LocatedVerdict(Verdict(dialogue_id="style", quality=90.0, findings=(finding("L1", "S4"),), **ABOUT), "z.jsonl", 1),
    LocatedVerdict(Verdict(dialogue_id="failed", release="r", taxonomy="1", status="failed", failure="E_X"), "z.jsonl", 4),
]  # fmt: skip


REJECTS = [
    {
        "file": "bad.jsonl", "line": 1, "code": "E_ID", "found": "none", "expected": "a string", "dialogue_id": None,
    },
    {"file": "z.jsonl", "line": 9, "code": "E_NUL", "found": "x\x00", "expected": "text", "dialogue_id": "q"},
]  # fmt: skip


def junit(fail_on: Any, placed: Any = PLACED, rejects: Any = REJECTS) -> ElementTree.Element:
    out, files = io.BytesIO(), ["bad.jsonl", "logs/a b.jsonl", "unread.jsonl", "z.jsonl"]
    write_junit(placed, rejects, out, TAXONOMY, fail_on, files, io.BytesIO())
    return ElementTree.fromstring(out.getvalue())


def sarif(placed: Any = PLACED, rejects: Any = REJECTS) -> dict[str, Any]:
    """The only run of a log, whose other keys are checked."""
    out = io.BytesIO()
    write_sarif(placed, rejects, out, TAXONOMY, "0.1.0", io.BytesIO())
    log = json.loads(out.getvalue())
    assert log.keys() == {"$schema", "version", "runs"}
    result: dict[str, Any]
    (result,) = log["runs"]
    return result


def test_text_repeats_nothing() -> None:
    def render(reason: str) -> str:
        listed = finding("C1", "S2").model_copy(update={"reason": reason, "probability": 0.999999})
        return as_text(Verdict(dialogue_id="d", quality=1.0, findings=(listed,), **ABOUT), TAXONOMY)

    line = "d   quality 1\n  turn 1  S2  C1 Question ignored  > 0.99  “the quote”\n"
    assert render("Question ignored in turn 1: “the quote”.") == line
    assert render("Question ignored in turn 1: “the quote”; before it, x.") == f"{line}      before it, x\n"
    assert render("because") == f"{line}      because\n"


def test_prepared_lines_are_printed_once() -> None:
    prepared = finding("L1", "S4").model_copy(update={"fault": "template"})
    verdict, printed = (
        Verdict(dialogue_id="d", quality=1.0, findings=(prepared,), **ABOUT),
        set[tuple[str, str]](),
    )
    assert "the quote" in as_text(verdict, TAXONOMY, printed)
    assert as_text(verdict, TAXONOMY, printed) == "d   quality 1\n  1 more in prepared lines, shown above\n"
    located = [LocatedVerdict(verdict, "z.jsonl", line) for line in (7, 8)]
    (result,) = sarif(located)["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
    suggested = verdict.model_copy(update={"findings": (), "suggestions": (prepared,)})
    results = sarif([LocatedVerdict(suggested, "z.jsonl", 6), *located])["results"]
    levels = [one["properties"]["kind"] for one in results]
    assert levels == ["suggestion", "finding"], "a suggestion hides no finding"


SUGGESTED = LocatedVerdict(
    Verdict(dialogue_id="maybe", quality=100.0, suggestions=(finding("V2", "S1"), finding("L1", "S4", turn=3)), **ABOUT),
    "z.jsonl",
    7,
)  # fmt: skip


@pytest.mark.parametrize("fail_on", [None, "S1", "S4"])
def test_a_suggestion_never_fails_in_junit(fail_on: Any) -> None:
    both = SUGGESTED.verdict.model_copy(update={"findings": (finding("L2", "S4"),), "dialogue_id": "both"})
    (suite,) = junit(fail_on, [SUGGESTED, LocatedVerdict(both, "z.jsonl", 8)], [])
    alone, mixed = suite.findall("testcase")
    assert suite.get("failures") == ("0" if fail_on == "S1" else "1")
    assert list(alone) == [], "a suggestion is left out"
    assert [child.tag for child in mixed] == (["system-out"] if fail_on == "S1" else ["failure"])
    if mixed[0].tag == "failure":
        assert mixed[0].get("message") == "L2 turn 1"


def test_a_suggestion_is_a_note_in_sarif() -> None:
    results = sarif([SUGGESTED], [])["results"]
    assert [(one["ruleId"], one["level"], one["properties"]["kind"]) for one in results] == [
        ("V2", "note", "suggestion"), ("L1", "note", "suggestion"),
    ]  # fmt: skip
    assert results[0]["message"]["text"].startswith("Suggestion, not counted: V2 Asks for secrets: because")
    assert (results[0]["properties"]["start"], results[0]["properties"]["end"]) == (2, 9)
    assert {one["properties"]["kind"] for one in sarif()["results"]} == {"finding"}


@pytest.mark.parametrize(("fail_on", "failing"), [(None, ["two", "style"]), ("S2", ["two"]), ("S1", [])])
def test_junit_counts_agree_with_its_cases(fail_on: Any, failing: list[str]) -> None:
    root = junit(fail_on)
    assert [suite.get("name") for suite in root] == ["bad.jsonl", "logs/a b.jsonl", "z.jsonl"]
    for suite in root:
        assert suite.get("tests") == str(len(suite))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    cases = root.findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == ["line 1", "clean", "two", "style", "failed", "q"]
    assert [case.get("name") for case in cases if case.find("failure") is not None] == failing
    assert [case.get("name") for case in cases if case.find("error") is not None] == ["line 1", "failed", "q"]


def test_junit_names_place_code_and_quote() -> None:
    case = junit(None).findall("testsuite/testcase")[2]
    assert (case.get("file"), case.get("line")) == ("logs/a b.jsonl", "2")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "C1 turn 1; C1 turn 1; L1 turn 3"
    assert failure.get("type") == "C1"
    assert failure.text is not None
    assert failure.text.splitlines()[2].endswith("(S4, 0.50): “a·<b” because")


def test_sarif_points_at_the_line_of_the_dialogue() -> None:
    run_ = sarif()
    assert run_["columnKind"] == "unicodeCodePoints"
    results = run_["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("C1", "error"), ("C1", "error"), ("L1", "note"), ("L1", "note"),
    ]  # fmt: skip
    rules = run_["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "logs/a%20b.jsonl"}
    assert place["region"] == {"startLine": 2, "snippet": {"text": "the quote"}}
    assert results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "two/1"
    assert {key: results[0]["properties"][key] for key in ("dialogue_id", "turn", "start", "end")} == {
        "dialogue_id": "two", "turn": 1, "start": 2, "end": 9,
    }  # fmt: skip
    keys = [one["partialFingerprints"]["dialogueTurnRule/v1"] for one in results]
    assert keys == ["two:1:C1", "two:1:C1#2", "two:3:L1", "style:1:L1"]


def test_sarif_has_no_key_that_the_standard_forbids() -> None:
    run_ = sarif()
    rule = {"id", "shortDescription", "fullDescription", "defaultConfiguration"}
    result = {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties"}
    assert set(run_) == {"tool", "columnKind", "results", "invocations"}
    assert set(run_["tool"]["driver"]) == {"name", "version", "rules"}
    assert all(set(one) == rule for one in run_["tool"]["driver"]["rules"])
    assert all(set(one) == result for one in run_["results"])
    places = [set(one["locations"][0]) for one in run_["results"]]
    assert all(place <= {"physicalLocation", "logicalLocations"} for place in places)
    (invocation,) = run_["invocations"]
    notes = invocation["toolExecutionNotifications"]
    assert all(set(note) == {"level", "message", "locations"} for note in notes)
    assert [note["level"] for note in notes] == ["error"] * 3
    assert "failed could not be judged: E_X" in notes[0]["message"]["text"]


def test_text_shows_findings_and_hides_what_a_terminal_would_obey() -> None:
    assert as_text(PLACED[0].verdict, TAXONOMY) == ""
    text = as_text(PLACED[1].verdict, TAXONOMY)
    assert text.startswith("two   quality 10\n  turn 1  S2  C1 ")
    assert "\x1b" not in text
    assert as_text(PLACED[3].verdict, TAXONOMY) == "failed   FAILED E_X\n"
    assert visible("a\u202eb\nc\u200b") == "a·b c·"


@pytest.mark.parametrize("name", ["r.jsonl", "r.xml", "r.sarif"])
def test_a_run_writes_the_report_that_the_ending_names(
    tmp_path: Path, write_log: Callable[..., Path], driver: ModuleType, capfdbinary: Any, name: str
) -> None:
    log, out = str(write_log(9, failing=1, extra=("{}",))), tmp_path / name
    options: dict[str, Any] = {"quiet": True, "max_failed": 1.0, "read": ReadConfig(max_bad=1.0)}
    options |= {"fail_on": "S2", "chunk_size": 4}
    assert run([log], ScoreConfig(out=out, **options), driver.FakeDetector({})) == 1
    if name == "r.jsonl":
        capfdbinary.readouterr()
        assert run([log], ScoreConfig(format="jsonl", **options), driver.FakeDetector({})) == 1
        assert capfdbinary.readouterr().out == out.read_bytes()
    elif name == "r.xml":
        suite = ElementTree.parse(out).getroot()[0]
        assert (suite.get("tests"), suite.get("errors")) == ("10", "2")
    else:
        results = json.loads(out.read_text())["runs"][0]["results"]
        lines = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results]
        assert lines == sorted(lines)
        assert lines[0] == 2  # d0, on the first line, is the one that failed
