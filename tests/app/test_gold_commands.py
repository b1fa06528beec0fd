"""Gold, control tasks and the rules of status by command; what decisions on findings leave in a dataset."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialint.app.cli import app, main
from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.records import Dialogue, Example, Finding, Label, Preference, Turn, Verdict
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.store import accounts, annotations, appeals, leases, task_view
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.expert_cases import decide_case
from dialint.labeling.store.records import NotAllowed, Outcome, StoreRefused
from dialint.labeling.store.tasks import add_control_tasks

Dialint = Callable[..., str]
PEOPLE = {
    "lea": "lead",
    "eve": "expert",
    "emil": "expert",
    "rob": "reviewer",
    "ann": "labeler",
    "ben": "labeler",
}


def run(*arguments: object) -> str:
    """Runs a command in this process; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert app([str(one) for one in arguments], result_action="return_value") in (0, None)
    return printed.getvalue()


def create_people(place: str) -> None:
    run("db", "upgrade", "--store", place)
    run("label", "account", "create", "ada", "--role", "admin", "--as", "ada", "--store", place)
    for name, role in PEOPLE.items():
        agent = ("--agent", "agent-ben") if name == "ben" else ()
        options = ("--role", role, *agent, "--as", "ada", "--store", place)
        run("label", "account", "create", name, *options)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gold-template") / "store.sqlite"
    create_people(str(path))
    return path


@pytest.fixture(scope="module")
def postgres_template(request: pytest.FixtureRequest) -> str:
    """Name of a database with people."""
    url = str(request.getfixturevalue("postgres").new())
    create_people(url)
    return url.rsplit("/", 1)[1]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with people, in which `lea`, a lead, acts."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("DIALINT_ACCOUNT", "lea")
    if request.param == "sqlite":
        path = tmp_path / "store.sqlite"
        template = request.getfixturevalue("template")
        shutil.copyfile(template, path)
        shutil.copyfile(f"{template}.key", f"{path}.key") if Path(f"{template}.key").exists() else None
        place = str(path)
    else:
        place = str(request.getfixturevalue("postgres").new(request.getfixturevalue("postgres_template")))
    monkeypatch.setenv("DIALINT_STORE", place)
    return place


def sample_finding(code: str = "C1", probability: float = 1.0) -> Finding:
    return Finding(
        code=code, turn=1, severity="S2", probability=probability, quote="Let", start=0, end=3, reason="r"
    )  # fmt: skip


def write_verdicts(path: Path, *dialogues: str) -> Path:
    verdicts = [
        Verdict(
            dialogue_id=name, release="e", taxonomy="1", status="scored", quality=80.0,
            findings=(sample_finding(probability=0.9),), probabilities={1: {"C1": 0.9}},
        )
        for name in dialogues
    ]  # fmt: skip
    path.write_bytes(b"".join(map(verdict_line, verdicts)))
    content = {"kind": "verdicts", "format": "jsonl", "files": [file_entry(path, len(verdicts))]}
    write_manifest(manifest_path(path), content)
    return path


def write_own_log(path: Path) -> Path:
    """One dialogue of ben's."""
    turns = [
        {"role": "customer", "text": "Where is it?"},
        {"role": "agent", "text": "Let me look into it for you."},
    ]
    path.write_text(json.dumps({"id": "own", "agent": "agent-ben", "turns": turns}) + "\n")
    return path


def write_gold(path: Path, n: int, **changes: bool) -> Path:
    """Gold on turn 1 of d0 to d(n - 1): C1 is there where the number is even."""
    rows = [
        {"dialogue_id": f"d{i}", "turn": 1, "code": "C1", "present": i % 2 == 0, "reason": "agreed"}
        for i in range(n)
    ]
    for row in rows:
        row["present"] = changes.get(str(row["dialogue_id"]), row["present"])
    if path.suffix == ".csv":
        answers = {True: "yes", False: "no"}
        lines = [f"{row['dialogue_id']},1,C1,{answers[bool(row['present'])]},agreed" for row in rows]
        path.write_text("\n".join(["dialogue,turn,code,answer,explanation", *lines]) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answer_all(place: str, project: str, who: str, is_present: Callable[[str], bool]) -> int:
    """`who` answers all tasks that they get; how many."""
    n = 0
    with Store.open(place) as store:
        while lease := leases.claim(store, who, project):
            found = [sample_finding()] if is_present(lease.dialogue) else []
            if who in ("ann", "ben"):
                assert task_view.view_task(store, who, lease.task).dialogue.id == f"task-{lease.task}", (
                    "the id stays hidden"
                )
            annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", found, 30.0)
            n += 1
    return n


def is_even(dialogue: str) -> bool:
    return int(dialogue[1:]) % 2 == 0


def test_gold_controls_the_work_of_labelers(
    place: str, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    """Gold by command, control tasks by the plan, answers by labelers, status by the rules set, all visible."""
    run("import", "logs", write_log(16))
    with pytest.raises(ConfigError, match="gold import"):
        run("label", "project", "create", "p", "--codes", "C1", "--control-share", 1)
    told = run("label", "gold", "import", write_gold(tmp_path / "gold.jsonl", 8), "--as", "eve")
    assert told == "8 rows of gold new, 0 replaced, 0 unchanged\n"
    run("label", "project", "create", "p", "--codes", "C1", "--overlap", 2, "--control-share", 1)
    assert run("label", "plan", "--project", "p", "--n", 8) == "p: 8 tasks, random; 8 control tasks\n"
    assert re.search(r"^p +label +open +control +8", run("label", "status", "p"), re.MULTILINE)

    assert run("label", "rules", "set", "least=4", "retrain_below=0.9", "suspend_below=0.2") == (
        "least: 4, was 10\nretrain_below: 0.9, was 0.6\nsuspend_below: 0.2, was 0.4\n"
    )
    assert answer_all(place, "p", "ann", lambda name: True) == 16, "8 tasks and 8 control tasks"
    assert answer_all(place, "p", "ben", is_even) == 16
    assert run("label", "account", "evaluate").splitlines() == [
        "ann (active): retrain; accuracy 0.50 in 8 graded answers: below 0.9",
        "ben (active): keep; accuracy 1.00 in 8 graded answers",
    ]
    assert "ann (active): retrain" in run("label", "account", "evaluate", "--apply")
    assert "ann: labeler, training" in run("label", "account", "list")
    quality = run("label", "quality", "--as", "eve")
    assert re.search(r"^ann .*", quality, re.MULTILINE)
    with Store.open(place) as store:
        assert leases.claim(store, "ann", "p") is None, "in training: nothing of the main pool"
        verify(store)


def test_gold_admits_who_passes_in_training(
    place: str, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    run("import", "logs", write_log(12))
    run("label", "gold", "import", write_gold(tmp_path / "gold.csv", 12), "--as", "eve")
    run("label", "project", "create", "p", "--codes", "C1")
    with Store.open(place) as store:
        assert add_control_tasks(store, "lea", "p", pool="exam") == 12
        assert add_control_tasks(store, "lea", "p") == 0
        accounts.set_status(store, "lea", "ann", "training")
    assert answer_all(place, "p", "ann", is_even) == 12
    assert run("label", "account", "evaluate", "--apply").startswith(
        "ann (training): admit; accuracy at least 0.6"
    )
    assert "ann: labeler, active" in run("label", "account", "list")


def test_gold_files_come_in_once_and_whole(
    place: str, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    run("import", "logs", write_log(4))
    file = write_gold(tmp_path / "gold.csv", 4)
    assert (
        run("label", "gold", "import", file, "--as", "eve") == "4 rows of gold new, 0 replaced, 0 unchanged\n"
    )
    assert (
        run("label", "gold", "import", file, "--as", "eve") == "0 rows of gold new, 0 replaced, 4 unchanged\n"
    )
    listed = run("label", "gold", "list", "--as", "eve")
    assert re.search(r"^d0 +1 +C1 +yes +expert +in use$", listed, re.MULTILINE)
    assert re.search(r"^d1 +1 +C1 +no +expert +in use$", listed, re.MULTILINE)

    other = write_gold(tmp_path / "other.jsonl", 4, d1=True)
    with pytest.raises(StoreRefused, match=r"'d1', turn 1, C1: the store says otherwise; --replace"):
        run("label", "gold", "import", other, "--as", "eve")
    assert run("label", "gold", "import", other, "--replace", "--as", "eve").startswith(
        "0 rows of gold new, 1 repl"
    )
    out = tmp_path / "out.jsonl"
    assert run("label", "gold", "list", "--out", out, "--as", "eve") == f"4 rows of gold in {out}\n"
    assert run("label", "gold", "import", out, "--as", "eve").endswith("4 unchanged\n")
    with Store.open(place) as store:
        verify(store)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"turn": 1, "code": "C1", "present": True}, "line 2, dialogue_id: expected the id of a dialogue"),
        (
            {"dialogue_id": "d1", "turn": "first", "code": "C1", "present": True},
            "line 2, turn: expected the index",
        ),
        (
            {"dialogue_id": "d1", "turn": 1, "code": "none", "present": True},
            "line 2, code: expected a code of taxonomy",
        ),
        (
            {"dialogue_id": "d1", "turn": 1, "code": ["C1"], "present": True},
            "line 2, code: expected a code of taxonomy",
        ),
        (
            {"dialogue_id": "d1", "turn": 1, "code": "C1", "present": "maybe"},
            "line 2, present: expected true or false",
        ),
        (
            {"dialogue_id": "d1", "turn": 1, "code": "C1", "present": 1, "reason": 5},
            "line 2, reason: expected a text",
        ),
        (
            {"dialogue_id": "d1", "turn": 0, "code": "C1", "present": True},
            "turn 0, C1: not a turn of an agent",
        ),
        ({"dialogue_id": "d9", "turn": 1, "code": "C1", "present": True}, "'d9': there is no such dialogue"),
        ({"dialogue_id": "d0", "turn": 1, "code": "C1", "present": True}, "contradicts an earlier row"),
    ],
)
def test_bad_gold_is_refused_with_its_line_and_nothing_comes_in(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_log: Callable[..., Path],
    row: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    store = tmp_path / "store.sqlite"
    shutil.copyfile(template, store)
    monkeypatch.setenv("DIALINT_STORE", str(store))
    monkeypatch.setenv("DIALINT_ACCOUNT", "eve")
    run("import", "logs", write_log(2), "--as", "lea")
    good = {"dialogue_id": "d0", "turn": 1, "code": "C1", "present": False}
    file = tmp_path / "gold.jsonl"
    file.write_text(f"{json.dumps(good)}\n{json.dumps(row)}\n")
    monkeypatch.setattr("sys.argv", ["dialint", "label", "gold", "import", str(file)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert run("label", "gold", "list").splitlines()[1:] == []


def test_who_may_do_what_with_gold(place: str, tmp_path: Path, write_log: Callable[..., Path]) -> None:
    run("import", "logs", write_log(2))
    file = write_gold(tmp_path / "gold.jsonl", 2)
    for who in ("ann", "rob"):
        for command in (("import", file), ("list",)):
            with pytest.raises(NotAllowed):
                run("label", "gold", *command, "--as", who)
    for command in (("rules", "show"), ("rules", "set", "least=3")):
        with pytest.raises(NotAllowed):
            run("label", *command, "--as", "eve")
    run("import", "logs", write_own_log(tmp_path / "own.jsonl"))
    (tmp_path / "own.csv").write_text("dialogue_id,turn,code,present\nown,1,C1,no\n")
    run("label", "account", "create", "agent", "--role", "expert", "--agent", "agent-ben", "--as", "ada")
    with pytest.raises(NotAllowed, match="somebody else"):
        run("label", "gold", "import", tmp_path / "own.csv", "--as", "agent")


def test_synthetic_errors_become_control_tasks(
    place: str, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    turns = (
        Turn(index=0, role="customer", text="Where is it?"),
        Turn(index=1, role="agent", text="Let me look."),
    )
    label = Label(dialogue_id="x", turn=1, code="C1", probability=1.0, method="inject:test")
    pair = [
        Example(dialogue=Dialogue(id="x", turns=turns), labels=(label,), split="test", pair="one"),
        Example(dialogue=Dialogue(id="y", turns=turns), labels=(), split="test", pair="one"),
    ]
    file = tmp_path / "test.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in pair))
    run("label", "project", "create", "p", "--codes", "C1")
    told = "2 dialogues with gold, control tasks of p\n"
    assert run("label", "gold", "synthetic", file, "--project", "p") == told
    assert run("label", "gold", "synthetic", file, "--project", "p") == told
    listed = run("label", "gold", "list", "--as", "eve").splitlines()[1:]
    assert sorted(line.split()[3:5] for line in listed) == [["no", "injected"], ["yes", "injected"]]
    assert re.search(r"^p +label +open +control +2", run("label", "status", "p"), re.MULTILINE)


def test_rules_are_shown_and_set_one_at_a_time(place: str) -> None:
    shown = run("label", "rules", "show")
    assert re.search(r"^retrain_below +0.6 +0.6 +Accuracy on control tasks below which", shown, re.MULTILINE)
    assert re.search(r"^code_retrain_below +none +none +", shown, re.MULTILINE)
    run("label", "rules", "set", "code_retrain_below=0.5", "window=20")
    assert run("label", "rules", "set", "window=20") == "window: 20, unchanged\n"
    assert run("label", "rules", "set", "window=default", "code_retrain_below=none") == (
        "window: 50, was 20\ncode_retrain_below: none, was 0.5\n"
    )
    for words, said in (
        ((), "expected RULE=VALUE"),
        (("window",), "'window': expected RULE=VALUE"),
        (("speed=2",), "'speed=2': expected RULE=VALUE"),
        (("window=0",), "window: Input should be greater than or equal to 1"),
        (("least=many",), "least: Input should be a valid integer"),
        (("fast_s=nan",), "fast_s: Input should be"),
        (("suspend_below=0.9",), "suspend_below must not exceed retrain_below"),
    ):
        with pytest.raises(ConfigError, match=re.escape(said)):
            run("label", "rules", "set", *words)
    with Store.open(place) as store:
        verify(store)


def export_preferences(out: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str, str, str]]:
    """Dialogue, turn, code, outcome and chosen verdict of the preference pairs of a dataset from the store."""
    monkeypatch.setenv("DIALINT_SPLIT_KEY", "a key of more than twenty characters")
    run("export", "dataset", "--out", out, "--as", "lea")
    pairs = [
        Preference.model_validate_json(line) for line in (out / "preferences.jsonl").read_text().splitlines()
    ]
    assert {pair.rejected.verdict for pair in pairs} <= {"error"}
    return [(pair.dialogue.id, pair.turn, pair.code, pair.outcome, pair.chosen.verdict) for pair in pairs]


@pytest.mark.parametrize(
    ("second_review", "decision", "pairs"),
    [
        (True, "overturned", [("own", 1, "C1", "overturned", "no_error")]),
        (False, "overturned", [("own", 1, "C1", "overturned", "no_error")]),
        (False, "upheld", []),
    ],
)
def test_an_overturned_appeal_becomes_a_preference_pair(
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    second_review: bool,
    decision: Outcome,
    pairs: list[tuple[str, int, str, str, str]],
) -> None:
    """The expert's decision counts, also over a second reviewer who answered otherwise."""
    run("import", "logs", write_own_log(tmp_path / "own.jsonl"))
    run("import", "verdicts", write_verdicts(tmp_path / "v.jsonl", "own"))
    with Store.open(place) as store:
        appeals.open_appeal(store, "ben", "own", 1, "C1", "no")
    run("label", "project", "create", "second", "--codes", "C1", "--purpose", "review")
    sent = run("label", "appeals", "second", "--as", "lea")
    assert sent.startswith("1 open appeals, 1 new tasks in second")
    assert answer_all(place, "second", "rob", lambda name: second_review) == 1
    before = [] if second_review else [("own", 1, "C1", "overturned", "no_error")]
    assert export_preferences(tmp_path / "before", monkeypatch) == before
    with Store.open(place) as store:
        appeals.decide_appeal(store, "emil", 1, decision, "read again")
    assert export_preferences(tmp_path / "after", monkeypatch) == pairs


def test_a_confirmed_finding_that_an_expert_overturns_becomes_a_preference_pair(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reviewers disagree; an expert decides the case."""
    run("import", "logs", write_own_log(tmp_path / "own.jsonl"))
    run("import", "verdicts", write_verdicts(tmp_path / "v.jsonl", "own"))
    run("label", "project", "create", "p", "--codes", "C1", "--overlap", 2, "--most", 2)
    run("label", "project", "create", "e", "--codes", "C1", "--purpose", "adjudication")
    run("label", "plan", "--project", "p", "--n", 1)
    answer_all(place, "p", "rob", lambda name: True)
    answer_all(place, "p", "ann", lambda name: False)
    assert export_preferences(tmp_path / "before", monkeypatch) == []
    run("label", "adjudicate", "--project", "p", "--into", "e", "--disagreements")
    with Store.open(place) as store:
        lease = leases.claim(store, "eve", "e")
        assert lease is not None
        decide_case(store, "eve", lease.task, lease.token, "decision", [], "answered in turn 1")
    assert export_preferences(tmp_path / "after", monkeypatch) == [("own", 1, "C1", "overturned", "no_error")]


def test_a_file_that_is_no_table_is_refused(template: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text("{nothing\n")
    with pytest.raises(InputRefused, match="line 1"):
        run("label", "gold", "import", tmp_path / "gold.jsonl", "--as", "eve", "--store", template)
    with pytest.raises(InputRefused, match="E_PATH"):
        run("label", "gold", "import", tmp_path / "missing.csv", "--as", "eve", "--store", template)
