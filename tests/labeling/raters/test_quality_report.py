"""The report on labelers: what it counts, what it leaves out, and its three shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialint.app.cli import app as command_line
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Dialogue, Finding, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.reports import (
    AgreementConfig,
    AnomalyConfig,
    QualityConfig,
    agreement,
    measure,
    quality_figures,
    watch,
)

WHOLE = next(code for code, entry in load_taxonomy().codes.items() if entry.scope == "dialogue")
SINGLE = next(code for code, entry in load_taxonomy().codes.items() if entry.scope == "turn")
SPITEFUL = "<script>alert(1)</script>"


def dialogue(name: str, n_turns: int = 3) -> Dialogue:
    turns = [Turn(index=0, role="customer", text="SECRET question")]
    turns += [Turn(index=n, role="agent", text=f"answer number {n}") for n in range(1, n_turns)]
    return Dialogue(id=name, turns=tuple(turns))


def finding(code: str, turn: int) -> Finding:
    return Finding(
        code=code, turn=turn, severity="S2", probability=1.0, quote="answer", start=0, end=6, reason=""
    )


def answer(name: str, who: str, yes: bool, turn: int = 1, code: str = SINGLE, **more: Any) -> Annotation:
    spans = (finding(code, turn),) if yes else ()
    more = {"kind": "crowd", "turn": turn, **more}
    return Annotation(
        id=f"{name}-{who}-{code}-{more}", dialogue_id=name, labeler=who, codes=(code,), findings=spans, **more
    )


def crowd(n: int = 200, seed: int = 0) -> tuple[list[Annotation], dict[tuple[str, int, str], bool]]:
    """Five people at all of `n` items: four right in 0.9 of all, spite in 0.7 and quick; the first has a
    lenient eye: half of what is there is passed over."""
    random = np.random.default_rng(seed)
    gold, answers = {}, []
    for place in range(n):
        truth = bool(random.random() < 0.4)
        gold[f"d{place}", 1, SINGLE] = truth
        for who, skill in (("lenient", 0.95), ("b", 0.9), ("c", 0.9), ("d", 0.9), (SPITEFUL, 0.7)):
            yes = truth if random.random() < skill else not truth
            yes = yes and not (who == "lenient" and random.random() < 0.5)
            seconds = float(random.lognormal(3 if who != SPITEFUL else 2.5, 0.3))
            answers.append(answer(f"d{place}", who, yes, seconds=seconds, seen_verdict=who == "b"))
    return answers, gold


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in report["labelers"]}


DIALOGUES = {f"d{n}": dialogue(f"d{n}") for n in range(300)}


def test_figures_of_a_crowd_are_those_that_were_made() -> None:
    answers, gold = crowd()
    report = quality_figures(answers, DIALOGUES, gold)
    people = by_name(report)
    for who, each in people.items():
        own = [bool(a.findings) == gold[a.dialogue_id, 1, SINGLE] for a in answers if a.labeler == who]
        assert each["overall"]["accuracy"]["value"] == pytest.approx(np.mean(own))
        assert each["overall"]["accuracy"]["n"] == 200
        assert each["share_of_work"] == pytest.approx(0.2)
        assert each["codes"].keys() == {SINGLE}
    assert people["lenient"]["overall"]["sensitivity"]["value"] < 0.6
    assert people["lenient"]["overall"]["specificity"]["value"] > 0.9
    assert people["lenient"]["overall"]["bias"]["high"] < -0.1
    assert people[SPITEFUL]["overall"]["bias"]["low"] > 0
    agreement = {who: each["overall"]["agreement"]["value"] for who, each in people.items()}
    assert agreement["b"] > agreement[SPITEFUL] + 0.1
    assert people["b"]["speed"]["median"] == pytest.approx(20, rel=0.15)
    assert people["b"]["seen_verdict"] == 200
    assert people["c"]["kinds"] == {"crowd": 200}


def test_bias_is_against_the_others_on_the_same_questions() -> None:
    """By hand: a says yes to all of eight, b and c to the first four: 0 there, 1 in the rest."""
    answers = [answer(f"d{n}", who, who == "a" or n < 4) for n in range(8) for who in "abc"]
    answers += [answer(f"d{n}", "b", True) for n in range(100, 120)]  # alone there: no others, no bias
    people = by_name(quality_figures(answers, DIALOGUES, {}))
    assert people["a"]["codes"][SINGLE]["bias"]["n"] == 8
    assert people["b"]["overall"]["bias"]["n"] == 8
    half = 2.364624 * (8 / 28) ** 0.5 / 8**0.5  # wider than a half of the scale: not told
    assert 2 * half > 0.5
    assert people["a"]["codes"][SINGLE]["bias"]["value"] is None
    more = [answer(f"d{n}", who, who == "a" or n < 40) for n in range(80) for who in "abc"]
    people = by_name(quality_figures(more, DIALOGUES, {}))
    assert people["a"]["overall"]["bias"]["value"] == pytest.approx(0.5)
    assert people["b"]["overall"]["bias"]["value"] == pytest.approx(-0.25)


def test_the_last_answer_counts_and_models_do_not() -> None:
    answers = [answer(f"d{n}", "a", True) for n in range(10)]
    answers += [answer(f"d{n}", "a", False, seconds=9.0) for n in range(10)]
    answers += [answer(f"d{n}", "m", True, kind="model") for n in range(10)]
    report = quality_figures(answers, DIALOGUES, {(f"d{n}", 1, SINGLE): False for n in range(10)})
    (each,) = report["labelers"]
    assert each["overall"]["yes"] == 0
    assert each["overall"]["accuracy"]["value"] == 1
    assert (report["annotations"], report["answers"]) == (20, 10)


def test_a_code_of_the_dialogue_is_one_question_wherever_it_was_found() -> None:
    """Found at turns 1 and 2 of the same dialogue: the same yes; gold at any turn speaks of it."""
    answers = [
        answer(f"d{n}", who, True, turn=turn, code=WHOLE).model_copy(update={"turn": None})
        for n in range(12)
        for who, turn in (("a", 1), ("b", 2))
    ]
    gold = {(f"d{n}", 2, WHOLE): True for n in range(12)}
    people = by_name(quality_figures(answers, DIALOGUES, gold))
    assert people["a"]["overall"]["answers"] == 12
    assert people["a"]["overall"]["sensitivity"]["value"] == 1
    assert people["a"]["codes"][WHOLE]["bias"]["value"] == 0


def test_a_stream_is_enough_and_flags_come_with_it() -> None:
    def stream() -> Iterator[Annotation]:
        answers, _ = crowd(300)
        yield from answers
        yield from (answer(f"d{n}", "mute", False, seconds=0.2) for n in range(300))

    report = quality_figures(stream(), DIALOGUES, {})
    mute = by_name(report)["mute"]
    assert {flag["kind"] for flag in mute["flags"]} == {"one answer", "too fast", "unread"}
    assert not by_name(report)["b"]["flags"]
    assert len(report["flags"]) == 3


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    answers, gold = crowd(60)
    lines = [json.dumps({"dialogue": d, "turn": t, "code": c, "present": p}) for (d, t, c), p in gold.items()]
    (tmp_path / "gold.jsonl").write_text("\n".join(lines) + "\n")
    rows = [answer.model_dump_json(exclude_defaults=True) + "\n" for answer in answers]
    (tmp_path / "a.jsonl").write_text("".join(rows))
    with open(tmp_path / "log.jsonl", "w") as log:
        for d in list(DIALOGUES.values())[:60]:
            turns = [{"role": t.role, "text": t.text} for t in d.turns]
            log.write(json.dumps({"dialogue_id": d.id, "turns": turns}) + "\n")
    paths = {
        "annotations": tmp_path / "a.jsonl",
        "gold": tmp_path / "gold.jsonl",
        "out": tmp_path / "out/q.json",
    }
    return {**paths, "dialogues": (str(tmp_path / "log.jsonl"),)}


def test_the_command_prints_and_writes(
    files: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = [f"--{name}={files[name]}" for name in ("annotations", "gold", "out")]
    command = ["label", "quality", *options, "--dialogues", *map(str, files["dialogues"])]
    assert not command_line(command, result_action="return_value")
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "agreement" in printed
    assert "labelers, 300 answers" in printed
    report = read_manifest(files["out"])
    assert report["kind"] == "labeler-quality"
    assert [entry["name"] for entry in report["inputs"]] == ["a.jsonl", "gold.jsonl"]
    assert "SECRET" not in printed + json.dumps(report)


def test_outputs_are_never_overwritten_and_bad_inputs_named(files: dict[str, Any]) -> None:
    measure(QualityConfig(**files))
    with pytest.raises(OutputRefused, match="exists already"):
        measure(QualityConfig(**files))
    only = {"annotations": files["annotations"], "dialogues": files["dialogues"]}
    with pytest.raises(ConfigError, match="--dialogues"):
        measure(QualityConfig(annotations=files["annotations"]))
    log = Path(files["dialogues"][0])
    log.write_text(log.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputRefused, match="not there"):
        measure(QualityConfig(**only))
    files["annotations"].write_text("\n")
    with pytest.raises(InputRefused, match="no answers"):
        measure(QualityConfig(**only))


@pytest.mark.parametrize(
    "report",
    [
        lambda path: agreement(AgreementConfig(annotations=path)),
        lambda path: watch(AnomalyConfig(annotations=path)),
        lambda path: measure(QualityConfig(annotations=path, dialogues=(str(path),))),
    ],
)
def test_a_table_that_is_not_there_is_refused(report: Any, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="E_PATH"):
        report(tmp_path / "none.jsonl")
