"""Dialogues that were not judged as a whole have no quality and fail the gate."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_llm import FakeLLM, serving

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import TooManyBad
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.records import Dialogue, JudgeRecord, NotJudged, Verdict
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.detector.watchdog import WatchConfig
from dialint.labeling.queue.routing import ProjectCodes, RoutingPolicy, make_candidates

PARTLY: dict[str, dict[str, Any]] = {
    "judge": {"judge": JudgeRecord(name="m", prompt="1", failures={"E_ANSWER": ("X1",)})},
    "language": {"not_judged": (NotJudged(language="de", turns=(1,), codes=("C1",)),), "judged_share": 0.5},
    "policy": {"no_policy": ("P4",)},
}
MESSAGES = {
    "E_ANSWER": "1 x E_ANSWER",
    "language": "1 x a language that the release does not cover",
    "policy": "1 x no policy applies",
    "E_NO_AGENT_TURN": "1 x no agent's turn",
}


@pytest.fixture
def gate(write_log: Any, driver: ModuleType, tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Scores clean dialogues with a judge that gives no usable answer (`is_judged`), or with a detector whose verdict on the first is
    changed."""

    def score(
        changes: dict[str, Any] | None = None, out: str = "v.jsonl", is_judged: bool = False, **options: Any
    ) -> int:
        detector = driver.FakeDetector({})

        def verdict(dialogue: Dialogue, all_probabilities: bool) -> Verdict:
            about = {"dialogue_id": dialogue.id, "release": "fake-1", "taxonomy": "1", "status": "scored"}
            values = {**about, "quality": 100.0}
            if changes is not None and dialogue.id == "d0":
                values |= {"quality": None, **changes}
            return Verdict(**values)

        detector._verdict = verdict
        log, watch = write_log(4), WatchConfig(dialogue_seconds=0)
        config = {"out": tmp_path / out, "watch": watch, "quiet": True, "fail_on": "S1", **options}
        if not is_judged:
            return run([str(log)], ScoreConfig(**config), detector)
        return run(
            [str(log)], ScoreConfig(**config, judge=JudgeConfig(judge=url, judge_precision=0.9)), detector
        )

    with serving(FakeLLM(answer="There is no error.")) as url:
        yield score


def test_a_judge_without_usable_answers_is_no_clean_log(gate: Any, tmp_path: Path) -> None:
    """With --fail-on or without; a run that accepts it writes no quality."""
    for fail_on in ("S1", None):
        with pytest.raises(TooManyBad, match=r"4 of 4 dialogues could not be judged \(4 x E_ANSWER\)"):
            gate(is_judged=True, fail_on=fail_on)
    assert gate(is_judged=True, max_failed=1.0) == 0
    verdicts = list(read_verdicts(tmp_path / "v.jsonl"))
    assert [(verdict.status, verdict.quality) for verdict in verdicts] == [("scored", None)] * 4
    assert all(verdict.judge_failures == ("E_ANSWER",) for verdict in verdicts)
    with pytest.raises(TooManyBad, match="E_TOO_MANY_FAILED"):  # complete already, and still no gate
        gate(is_judged=True)


def test_without_a_judge_uncovered_codes_are_as_they_were(gate: Any, tmp_path: Path) -> None:
    assert gate(changes={"quality": 100.0, "no_policy": ("P4",)}) == 0
    assert {verdict.quality for verdict in read_verdicts(tmp_path / "v.jsonl")} == {100.0}


@pytest.mark.parametrize("cause", MESSAGES)
def test_unjudged_dialogues_fail_the_gate(gate: Any, tmp_path: Path, cause: str) -> None:
    options: dict[str, Any] = {}
    changes = PARTLY["judge" if cause == "E_ANSWER" else cause] if cause != "E_NO_AGENT_TURN" else {}
    if cause == "E_NO_AGENT_TURN":
        changes = {"status": "failed", "failure": cause}
    if cause == "policy":
        policy = tmp_path / "shop.yaml"
        policy.write_text("policy: shop\nclauses:\n  - {id: c, text: A clause., on: refund, before: find}\n")
        options["detector"] = DetectorConfig(policy=(policy,))
        changes = {**changes, "quality": 100.0}  # a detector does not know what was asked for
    error = "E_TOO_MANY_FAILED" if cause == "E_ANSWER" else "E_NOT_JUDGED"
    with pytest.raises(TooManyBad) as stopped:
        gate(changes=changes, **options)
    assert (stopped.value.code, stopped.value.exit_code) == (error, 3)
    assert MESSAGES[cause] in stopped.value.message
    assert "\n" not in stopped.value.message
    assert gate(changes=changes, max_failed=0.25, **options) == 0
    first, *others = read_verdicts(tmp_path / "v.jsonl")
    assert (first.quality, {each.quality for each in others}) == (None, {100.0})
    counts = read_manifest(manifest_path(tmp_path / "v.jsonl"))["counts"]
    assert {**counts["failures"], **counts["uncovered"]} == {cause: 1}


@pytest.mark.parametrize("cause", PARTLY)
def test_every_output_reports_the_gap(gate: Any, tmp_path: Path, capsys: Any, cause: str) -> None:
    gap = {"judge": "X1 not judged: E_ANSWER", "language": "50 % judged, the rest is German",
            "policy": "P4 not judged: no policy applies"}[cause]  # fmt: skip
    changes = {"changes": PARTLY[cause], "fail_on": None, "max_failed": 1.0}
    if cause == "policy":
        changes |= {"codes": ("P4", "C1", "X1"), "changes": {**PARTLY[cause], "quality": 100.0}}
    for ending in ("jsonl", "csv", "parquet", "xml", "sarif"):
        gate(out=f"{cause}.{ending}", **changes)
    verdict = next(iter(read_verdicts(tmp_path / f"{cause}.jsonl")))
    for ending in ("csv", "parquet"):
        assert next(iter(read_verdicts(tmp_path / f"{cause}.{ending}"))) == verdict
    with open(tmp_path / f"{cause}.csv", newline="") as file:
        assert [row["quality"] for row in csv.DictReader(file)] == ["", "100.0", "100.0", "100.0"]
    kind = "error" if cause == "judge" else "skipped"
    cases = ET.parse(tmp_path / f"{cause}.xml").findall(".//testcase")
    assert [[(each.tag, each.get("message")) for each in case] for case in cases] == [
        [(kind, gap)], [], [], [],
    ]  # fmt: skip
    (notes,) = json.loads((tmp_path / f"{cause}.sarif").read_text())["runs"][0]["invocations"]
    level = "error" if cause == "judge" else "warning"
    assert [(each["level"], each["message"]["text"]) for each in notes["toolExecutionNotifications"]] == [
        (level, f"dialogue d0: {gap}")
    ]
    gate(out="shown.jsonl", **{**changes, "quiet": False})
    assert "4 dialogues scored, 0 (0.0 %) with an S1 or S2; 1 of them not judged as a whole" in " ".join(
        capsys.readouterr().out.split()
    )


def test_what_the_judge_could_not_answer_is_not_accepted_unseen() -> None:
    about: dict[str, Any] = {"dialogue_id": "d", "release": "r", "taxonomy": "1", "status": "scored"}
    questions = ProjectCodes({}, {})
    (candidate,) = make_candidates(Verdict(**about, **PARTLY["judge"]), RoutingPolicy(), questions, seed=0)
    assert (candidate.wanted, candidate.reason) == ("review", "100 % not judged: E_ANSWER")
    (clean,) = make_candidates(Verdict(**about, quality=100.0), RoutingPolicy(), questions, seed=0)
    assert clean.wanted is None


@pytest.mark.parametrize(
    ("values", "is_valid"),
    [
        ({"quality": 100.0}, True),
        ({"quality": 100.0, **PARTLY["policy"]}, True),
        ({}, False),
        *(({"quality": None, **changes}, True) for changes in PARTLY.values()),
        ({"quality": 100.0, **PARTLY["judge"]}, False),
        ({"quality": 100.0, **PARTLY["language"]}, False),
        ({"quality": 100.0, "status": "failed", "failure": "E"}, False),
    ],
)
def test_a_verdict_has_quality_where_all_was_judged(values: dict[str, Any], is_valid: bool) -> None:
    about: dict[str, Any] = {"dialogue_id": "d", "release": "r", "taxonomy": "1", "status": "scored"}
    if is_valid:
        Verdict(**{**about, **values})
        return
    with pytest.raises(ValueError, match="quality"):
        Verdict(**{**about, **values})
