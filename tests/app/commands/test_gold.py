"""Gold, control tasks and the rules of status by command; what decisions on findings leave in a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outputs import finished

from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.records import Dialogue, Example, Finding, Label, Preference, Turn, Verdict
from dialint.labeling.store import annotations, appeals, leases, task_view
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.expert_cases import decide_case
from dialint.labeling.store.gold import list_gold
from dialint.labeling.store.records import NotAllowed, Outcome, StoreRefused

Dialint = Callable[..., str]
WriteLog = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("people")


@pytest.fixture
def store(dialint: Dialint, people: dict[str, str], tmp_path: Path) -> Any:
    """The store that the commands write to."""
    with Store.open(str(tmp_path / "store.sqlite")) as opened:
        yield opened


def finding(probability: float = 1.0) -> Finding:
    return Finding(
        code="C1", turn=1, severity="S2", probability=probability, quote="Let", start=0, end=3, reason="r"
    )


def write_own_log(tmp_path: Path) -> Path:
    """One dialogue of ben's."""
    texts = (("customer", "Where is it?"), ("agent", "Let me look into it for you."))
    turns = [{"role": role, "text": text} for role, text in texts]
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"id": "own", "agent": "agent-ben", "turns": turns}) + "\n")
    return path


def import_own_verdict(dialint: Dialint, tmp_path: Path) -> None:
    """Ben's dialogue with a finding of C1."""
    dialint("import", "logs", write_own_log(tmp_path))
    verdict = Verdict(
        dialogue_id="own", release="e", taxonomy="1", status="scored", quality=80.0, findings=(finding(0.9),),
        probabilities={1: {"C1": 0.9}},
    )  # fmt: skip
    dialint("import", "verdicts", finished(tmp_path, [verdict]))


def write_gold(path: Path, present: dict[str, bool]) -> Path:
    """Writes a table of gold: whether C1 is in turn 1 of each dialogue."""
    rows = [f"{name},1,C1,{'yes' if value else 'no'},agreed\n" for name, value in present.items()]
    path.write_text("dialogue,turn,code,answer,explanation\n" + "".join(rows))
    return path


def answer_all(store: Store, project: str, who: str, is_present: Callable[[str], bool]) -> int:
    """`who` answers all tasks that they get; how many."""
    n = 0
    while lease := leases.claim(store, who, project):
        if who in ("ann", "ben"):  # the id stays hidden
            assert task_view.view_task(store, who, lease.task).dialogue.id == f"task-{lease.task}"
        findings = [finding()] if is_present(lease.dialogue) else []
        annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", findings, 30.0)
        n += 1
    return n


def is_even(dialogue: str) -> bool:
    return int(dialogue[1:]) % 2 == 0


def test_gold_controls_the_work_of_labelers(
    dialint: Dialint, store: Store, tmp_path: Path, write_log: WriteLog
) -> None:
    """Gold by command, control tasks by the plan, answers by labelers, status by the rules."""
    dialint("import", "logs", write_log(16))
    with pytest.raises(ConfigError, match="gold import"):
        dialint("label", "project", "create", "p", "--codes", "C1", "--control-share", 1)
    file = write_gold(tmp_path / "gold.csv", {f"d{n}": n % 2 == 0 for n in range(8)})
    assert dialint("label", "gold", "import", file, "--as", "eve") == (
        "8 rows of gold new, 0 replaced, 0 unchanged\n"
    )
    dialint("label", "project", "create", "p", "--codes", "C1", "--overlap", 2, "--control-share", 1)
    assert dialint("label", "plan", "--project", "p", "--n", 8) == "p: 8 tasks, random; 8 control tasks\n"
    assert re.search(r"^p +label +open +control +8", dialint("label", "status", "p"), re.MULTILINE)
    assert dialint("label", "rules", "set", "least=4", "retrain_below=0.9", "suspend_below=0.2") == (
        "least: 4, was 10\nretrain_below: 0.9, was 0.6\nsuspend_below: 0.2, was 0.4\n"
    )
    assert answer_all(store, "p", "ann", lambda name: True) == 16, "8 tasks and 8 control tasks"
    assert answer_all(store, "p", "ben", is_even) == 16
    assert dialint("label", "account", "evaluate").splitlines() == [
        "ann (active): retrain; accuracy 0.50 in 8 graded answers: below 0.9",
        "ben (active): keep; accuracy 1.00 in 8 graded answers",
    ]
    assert "ann (active): retrain" in dialint("label", "account", "evaluate", "--apply")
    assert leases.claim(store, "ann", "p") is None, "in training: nothing of the main pool"


def test_gold_files_come_in_once(dialint: Dialint, store: Store, tmp_path: Path, write_log: WriteLog) -> None:
    dialint("import", "logs", write_log(2))
    file = write_gold(tmp_path / "gold.csv", {"d0": True, "d1": False})
    command = ("label", "gold", "import", file, "--as", "eve")
    assert dialint(*command) == "2 rows of gold new, 0 replaced, 0 unchanged\n"
    assert dialint(*command) == "0 rows of gold new, 0 replaced, 2 unchanged\n"
    write_gold(file, {"d0": True, "d1": True})
    with pytest.raises(StoreRefused, match=r"'d1', turn 1, C1: the store says otherwise; --replace"):
        dialint(*command)
    assert dialint(*command, "--replace") == "0 rows of gold new, 1 replaced, 1 unchanged\n"
    dialint("import", "logs", write_own_log(tmp_path))
    write_gold(file, {"own": False})
    dialint("label", "account", "create", "agent", "--role", "expert", "--agent", "agent-ben", "--as", "ada")
    with pytest.raises(NotAllowed, match="somebody else"):
        dialint("label", "gold", "import", file, "--as", "agent")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dialogue_id": None}, "line 2, dialogue_id: expected the id of a dialogue"),
        ({"turn": "first"}, "line 2, turn: expected the index"),
        ({"code": "none"}, "line 2, code: expected a code of taxonomy"),
        ({"code": ["C1"]}, "line 2, code: expected a code of taxonomy"),
        ({"present": "maybe"}, "line 2, present: expected true or false"),
        ({"reason": 5}, "line 2, reason: expected a text"),
        ({"turn": 0}, "turn 0, C1: not a turn of an agent"),
        ({"dialogue_id": "d9"}, "'d9': there is no such dialogue"),
        ({"dialogue_id": "d0"}, "contradicts an earlier row"),
    ],
)
def test_bad_gold_is_refused_with_its_line_and_nothing_comes_in(
    dialint: Dialint, store: Store, tmp_path: Path, write_log: WriteLog, changes: dict[str, Any], message: str
) -> None:
    dialint("import", "logs", write_log(2))
    good = {"dialogue_id": "d0", "turn": 1, "code": "C1", "present": False}
    bad = {**good, "dialogue_id": "d1", "present": True, **changes}
    file = tmp_path / "gold.jsonl"
    file.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    with pytest.raises(DialintError, match=re.escape(message)):
        dialint("label", "gold", "import", file, "--as", "eve")
    assert list_gold(store, "eve") == ()


def test_a_file_that_is_no_table_is_refused(dialint: Dialint, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text("{nothing\n")
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    for name, message in (("gold.jsonl", "line 1"), ("deep.jsonl", "line 1"), ("missing.csv", "E_PATH")):
        with pytest.raises(DialintError, match=message):
            dialint("label", "gold", "import", tmp_path / name, "--as", "eve")


def test_synthetic_errors_become_control_tasks(dialint: Dialint, store: Store, tmp_path: Path) -> None:
    turns = (Turn(index=0, role="customer", text="Where?"), Turn(index=1, role="agent", text="Let me look."))
    label = Label(dialogue_id="x", turn=1, code="C1", probability=1.0, method="inject:test")
    pair = [
        Example(dialogue=Dialogue(id="x", turns=turns), labels=(label,), split="test", pair="one"),
        Example(dialogue=Dialogue(id="y", turns=turns), labels=(), split="test", pair="one"),
    ]
    file = tmp_path / "test.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in pair))
    dialint("label", "project", "create", "p", "--codes", "C1")
    for _ in range(2):
        printed = dialint("label", "gold", "synthetic", file, "--project", "p")
        assert printed == "2 dialogues with gold, control tasks of p\n"
    assert sorted((one.present, one.source) for one in list_gold(store, "eve")) == [
        (False, "injected"), (True, "injected"),
    ]  # fmt: skip


def test_rules_are_printed_and_set_one_at_a_time(dialint: Dialint) -> None:
    output = dialint("label", "rules", "show")
    assert re.search(r"^retrain_below +0.6 +0.6 +Accuracy on control tasks below which", output, re.MULTILINE)
    dialint("label", "rules", "set", "retrain_below=0.5", "window=20")
    assert dialint("label", "rules", "set", "window=20") == "window: 20, unchanged\n"
    assert dialint("label", "rules", "set", "window=default", "retrain_below=default") == (
        "window: 50, was 20\nretrain_below: 0.6, was 0.5\n"
    )
    for words, message in (
        ((), "expected RULE=VALUE"),
        (("window",), "'window': expected RULE=VALUE"),
        (("speed=2",), "'speed=2': expected RULE=VALUE"),
        (("window=0",), "window: Input should be greater than or equal to 1"),
        (("fast_s=nan",), "fast_s: Input should be"),
        (("suspend_below=0.9",), "suspend_below must not exceed retrain_below"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            dialint("label", "rules", "set", *words)


def export_preferences(dialint: Dialint, out: Path) -> list[tuple[str, int, str, str, str]]:
    """Dialogue, turn, code, outcome and chosen verdict of the preference pairs of a dataset from the store."""
    dialint("export", "dataset", "--out", out)
    lines = (out / "preferences.jsonl").read_text().splitlines()
    pairs = [Preference.model_validate_json(line) for line in lines]
    assert {pair.rejected.verdict for pair in pairs} <= {"error"}
    return [(pair.dialogue.id, pair.turn, pair.code, pair.outcome, pair.chosen.verdict) for pair in pairs]


OVERTURNED = [("own", 1, "C1", "overturned", "no_error")]


@pytest.mark.parametrize(
    ("second_review", "decision", "pairs"), [(True, "overturned", OVERTURNED), (False, "upheld", [])]
)
def test_an_overturned_appeal_becomes_a_preference_pair(
    dialint: Dialint, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    second_review: bool, decision: Outcome, pairs: list[tuple[str, int, str, str, str]],
) -> None:  # fmt: skip
    """The expert's decision counts, also over a second reviewer who answered otherwise."""
    monkeypatch.setenv("DIALINT_SPLIT_KEY", "a key of more than twenty characters")
    import_own_verdict(dialint, tmp_path)
    appeals.open_appeal(store, "ben", "own", 1, "C1", "no")
    dialint("label", "project", "create", "second", "--codes", "C1", "--purpose", "review")
    assert dialint("label", "appeals", "second") == "1 open appeals, 1 new tasks in second\n"
    assert answer_all(store, "second", "rob", lambda name: second_review) == 1
    assert export_preferences(dialint, tmp_path / "before") == ([] if second_review else OVERTURNED)
    appeals.decide_appeal(store, "emil", 1, decision, "read again")
    assert export_preferences(dialint, tmp_path / "after") == pairs


def test_a_confirmed_finding_that_an_expert_overturns_becomes_a_preference_pair(
    dialint: Dialint, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reviewers disagree; an expert decides the case."""
    monkeypatch.setenv("DIALINT_SPLIT_KEY", "a key of more than twenty characters")
    import_own_verdict(dialint, tmp_path)
    dialint("label", "project", "create", "p", "--codes", "C1,C1", "--overlap", 2, "--most", 2)
    dialint("label", "project", "create", "e", "--codes", "C1", "--purpose", "adjudication")
    dialint("label", "plan", "--project", "p", "--n", 1)
    answer_all(store, "p", "rob", lambda name: True)
    answer_all(store, "p", "ann", lambda name: False)
    assert export_preferences(dialint, tmp_path / "before") == []
    dialint("label", "adjudicate", "--project", "p", "--into", "e", "--disagreements")
    lease = leases.claim(store, "eve", "e")
    assert lease is not None
    decide_case(store, "eve", lease.task, lease.token, "decision", [], "answered in turn 1")
    assert export_preferences(dialint, tmp_path / "after") == OVERTURNED
