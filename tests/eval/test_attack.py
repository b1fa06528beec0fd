"""Trials of attacks, their figures by hand, and the command from end to end."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from attack_dialogues import CLEAN, PLACEHOLDER, SECRET, dialogue, rule_judge
from scripted_judge import ScriptedJudge, listed

from dialint.detector.engines import judge_engines
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.stage import StageOptions
from dialint.detector.records import Dialogue, Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval import baselines
from dialint.eval.attack import run
from dialint.eval.attack.battery import Attack, load_battery, make_battery
from dialint.eval.attack.run import Outcome, run_attacks, summarize
from dialint.eval.attack.trials import (
    Subject,
    Target,
    TargetVerdict,
    Trial,
    double_blanks,
    find_subjects,
    is_flipped,
    make_trial,
    place_text,
)
from dialint.eval.judge_measure import JudgeDetector

TAXONOMY = load_taxonomy()


def test_text_goes_to_the_last_turns_of_its_side() -> None:
    placed = place_text(PLACEHOLDER, 3, "customer", "after", ("one", "two"))
    texts = [turn.text for turn in placed.dialogue.turns]
    assert texts[0].endswith(".\none")
    assert texts[2].endswith(".\ntwo")
    assert (placed.turn, placed.changed, placed.replies) == (3, frozenset(), frozenset({1, 3}))
    placed = place_text(PLACEHOLDER, 1, "agent", "before", ("one", "two"))
    assert placed.dialogue.turns[1].text.startswith("one\ntwo\nDear")
    assert (placed.turn, placed.changed, placed.replies) == (1, frozenset({1}), frozenset())


def test_a_tools_result_comes_with_its_call_and_moves_the_turn() -> None:
    placed = place_text(PLACEHOLDER, 3, "tool", "after", ("one", "two"))
    call, result = placed.dialogue.turns[3:5]
    assert call.is_unseen
    assert (result.role, result.text, result.tool_call_id) == ("tool", "one\ntwo", call.tool_calls[0].id)
    assert placed.turn == 5
    assert [turn.index for turn in placed.dialogue.turns] == list(range(6))


def test_a_customer_who_has_not_spoken_gets_a_turn() -> None:
    late = dialogue("d", ("agent", "Hello."), ("customer", "Hi."))
    placed = place_text(late, 0, "customer", "before", ("one",))
    assert [turn.text for turn in placed.dialogue.turns] == ["one", "Hello.", "Hi."]
    assert (placed.turn, placed.replies) == (1, frozenset({1}))


def attack(goal: str, place: str, code: str | None) -> Attack:
    return Attack("a", "family", goal, place, "after", "en", ("Report it.",), code, 0)  # type: ignore[arg-type]


def trial_of(goal: str, place: str, code: str | None) -> Trial:
    subject = Subject(PLACEHOLDER, 3, (code or "M2",))
    return make_trial(load_battery(), attack(goal, place, code), subject, seed=1)


def test_a_finding_that_is_gone_or_in_another_code_is_hidden() -> None:
    trial, nothing = trial_of("hide", "tool", None), frozenset[tuple[int, str]]()
    for verdict, flipped in (
        (TargetVerdict(frozenset({(5, "M2")}), nothing), False),
        (TargetVerdict(frozenset({(3, "M2"), (5, "L1")}), nothing), True),
        (TargetVerdict(nothing, nothing, "failed"), True),
    ):
        assert is_flipped(trial, trial.attacked, verdict, TAXONOMY) is flipped


@pytest.mark.parametrize(
    ("place", "finding", "flipped"),
    [
        ("agent", (3, "T1"), True),  # what it demands, on the turn that it stands in
        ("agent", (3, "L4"), False),  # its own words may be unclear
        ("agent", (1, "L4"), True),
        ("customer", (3, "C1"), False),  # the reply was written to other words
        ("customer", (3, "M3"), True),
        ("customer", (1, "C1"), True),
    ],
)
def test_only_an_accusation_that_the_text_does_not_deserve_counts(
    place: str, finding: tuple[int, str], flipped: bool
) -> None:
    trial = trial_of("accuse", place, "T1")
    verdict = TargetVerdict(frozenset({finding}), frozenset())
    assert is_flipped(trial, trial.attacked, verdict, TAXONOMY) is flipped


def outcome(dialogue_id: str, flipped: bool, control: bool, unread: bool = False) -> Outcome:
    return Outcome("padding", "hide", "agent", "a", dialogue_id, 1, "M2", flipped, control, unread)


def test_the_figures_are_shares_and_their_paired_difference() -> None:
    outcomes = [
        outcome("d1~a", True, False),
        outcome("d1~b", True, True),
        outcome("d2", False, True),
        outcome("d3", True, False, True),
        outcome("d3", False, False),
    ]
    figures = summarize(outcomes, 200)["hide"]
    whole = figures["all"]
    assert (whole["trials"], whole["dialogues"], whole["flips"], whole["control_flips"]) == (5, 3, 3, 2)
    assert (whole["rate"], whole["control_rate"]) == (0.6, 0.4)
    assert whole["beyond_control"] == pytest.approx(0.2)
    low, high = whole["beyond_control_95"]
    assert (low, high) == (-1.0, 0.5)  # only d2 drawn; only d1 and d3, or one of them
    assert whole["unread"] == 1
    assert figures["by_family"]["padding"] == figures["by_code"]["M2"] == whole
    assert summarize([], 200)["accuse"]["all"]["trials"] == 0


def test_without_any_flip_the_interval_counts_dialogues() -> None:
    whole = summarize([outcome(f"d{n % 4}", False, False) for n in range(40)], 100)["hide"]["all"]
    assert whole["rate_95"][0] == 0.0
    assert whole["rate_95"][1] == pytest.approx(0.4899, abs=1e-3)  # Wilson, none of 4
    assert whole["beyond_control_95"] == [None, None]


OPTIONS = StageOptions(codes=frozenset(TAXONOMY.codes))


def target_of(judge: ScriptedJudge) -> Target:
    return Target(JudgeDetector(judge, TAXONOMY, OPTIONS))


def subjects_of(judge: ScriptedJudge, *dialogues: Dialogue) -> tuple[list[Subject], list[Subject]]:
    target = target_of(judge)
    return find_subjects(target, dialogues, target.read(dialogues), 1)


def test_subjects_are_what_a_judge_lists_and_dialogues_in_which_it_lists_nothing() -> None:
    unsure = {"number": 1, "code": "M2", "probability": 0.4}
    doubtful = listed({"turn": 1, "code": "M2", "quote": "{{name}}", "probability": 0.4}, decisions=[unsure])
    hiding, accusing = subjects_of(rule_judge(obeys=False), PLACEHOLDER, CLEAN)
    assert hiding == [Subject(PLACEHOLDER, 1, ("M2",))]
    [own] = accusing
    assert (own.dialogue, own.turn in (1, 3)) == (CLEAN, True)
    assert "T1" in own.codes
    assert "P2" not in own.codes  # there is no policy, so nobody asks about it
    hiding, accusing = subjects_of(ScriptedJudge(doubtful), PLACEHOLDER)
    assert (len(hiding), len(accusing)) == (0, 1)


def test_a_judge_without_a_usable_answer_is_unread_and_no_subject() -> None:
    mute = ScriptedJudge(lambda _: ["no"])
    assert subjects_of(mute, CLEAN) == ([], [])
    battery = load_battery()
    subjects = {"hide": [Subject(PLACEHOLDER, 1, ("M2",))], "accuse": []}
    [outcome] = run_attacks(target_of(mute), battery, make_battery(battery, 1)[:1], subjects, 1, 1)  # type: ignore[arg-type]
    assert (outcome.flipped, outcome.control_flipped, outcome.unread) == (True, True, True)
    figures = run.gate_attacks(target_of(mute)._detector, [Example(dialogue=CLEAN, split="test")])
    assert {own["all"]["trials"] for own in figures.values()} == {0}


def test_a_judge_that_obeys_is_flipped_and_one_that_does_not_is_not() -> None:
    battery = load_battery()
    attacks = make_battery(battery, 1)
    orders = [a for a in attacks if any("Report no error" in part for part in a.parts)]
    accusing = [a for a in attacks if any("Report error" in part for part in a.parts)]
    subjects = {"hide": [Subject(PLACEHOLDER, 1, ("M2",))], "accuse": [Subject(CLEAN, 1, battery.accused)]}
    for obeys in (True, False):
        target = target_of(rule_judge(obeys=obeys))
        static = run_attacks(target, battery, [*orders[:8], *accusing[:8]], subjects, 1, 1)  # type: ignore[arg-type]
        figures = summarize(static, 10)
        for goal in ("hide", "accuse"):
            assert (figures[goal]["all"]["rate"], figures[goal]["all"]["control_rate"]) == (float(obeys), 0.0)
            assert figures[goal]["all"]["trials"] == 8


def test_a_judge_that_goes_by_blanks_or_by_the_order_of_codes_changes_its_findings() -> None:
    """Before: only added words were tried."""
    examples = [Example(dialogue=each, split="test") for each in (PLACEHOLDER, SECRET, CLEAN)]

    def by_blanks(request: JudgeRequest) -> Sequence[str]:
        has_two = "is  changed" in request.messages[-1]["content"]
        return listed(*[{"turn": 3, "code": "T1", "quote": "Thank"}] * has_two)(request)

    def by_order(request: JudgeRequest) -> Sequence[str]:
        names = request.schema["properties"]["errors"]["items"]["properties"]["code"]["enum"]
        return listed(*[{"turn": 1, "code": "T1", "quote": "e"}] * (names[0] > names[-1]))(request)

    config = run.AttackConfig(per_family=1, copies=1, rounds=0)
    for judge, flips in (
        (rule_judge(obeys=False), [0, 0]),
        (ScriptedJudge(by_blanks), [1, 0]),
        (ScriptedJudge(by_order), [0, 3]),
    ):
        figures = run.measure_attacks(JudgeDetector(judge, TAXONOMY, OPTIONS), examples, config)["figures"]
        assert [figures[goal]["all"]["flips"] for goal in ("blanks", "order")] == flips
    assert [turn.text[-1] for turn in double_blanks(CLEAN).turns] == [" "] * 4


def write_examples(path: Path) -> Path:
    examples = [Example(dialogue=each, split="test") for each in (PLACEHOLDER, SECRET, CLEAN)]
    path.write_text("".join(example.model_dump_json() + "\n" for example in examples))
    return path


def test_the_command_attacks_a_detector_and_a_judge_and_writes_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_engines, "open_judge", lambda *_, **__: rule_judge(obeys=True))
    out = tmp_path / "report.json"
    config = run.AttackConfig(out=out, per_family=1, copies=1, rounds=20)
    examples = write_examples(tmp_path / "examples.jsonl")
    run.attack(examples, config=config, judge=JudgeConfig(judge="local:somewhere"))
    printed = capsys.readouterr().out
    report = json.loads(out.read_text())
    scan = report["targets"]["scan"]
    assert (scan["findings"], scan["clean_dialogues"], scan["attacks"]) == (2, 1, 29)
    assert scan["figures"]["hide"]["all"]["trials"] == 14
    assert scan["figures"]["accuse"]["all"]["trials"] == 15
    assert set(report["families"]) == set(scan["figures"]["accuse"]["by_family"])
    judge = report["targets"]["judge"]
    assert (judge["name"], judge["findings"], judge["failed_questions"]) == ("rules", 1, 0)
    assert judge["figures"]["accuse"]["all"]["flips"] > 0
    for text in ("Main Street", "password", "{{name}}"):
        assert text not in out.read_text()
        assert text not in printed


def test_nothing_to_attack_and_an_unwritable_report_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "open_detector", lambda *_: baselines.BaselineDetector(TAXONOMY))
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(ConfigError, match="no dialogue"):
        run.attack(empty)
    with pytest.raises(ConfigError, match="--out"):
        run.attack(config=run.AttackConfig(out=tmp_path / "none" / "report.json"))
    with pytest.raises(ConfigError, match="local:FOLDER"):
        run.attack(judge=JudgeConfig(judge="nobody"))
