"""The commands on the store as a person types them: from a log to labels, adjudication and a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outputs import finished

from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.overrides import read_overrides
from dialint.detector.records import Finding, Verdict
from dialint.labeling.store import annotations, authentication, leases, projects
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import MustChangePassword, NotAllowed

Dialint = Callable[..., str]
WriteLog = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("people")


def finding(probability: float = 1.0) -> Finding:
    return Finding(
        code="C1", turn=1, severity="S2", probability=probability, quote="Let", start=0, end=3, reason="r"
    )


def verdicts(folder: Path, probabilities: dict[str, float | None]) -> Path:
    made = [
        Verdict(
            dialogue_id=name, release="e", taxonomy="1", status="scored", quality=80.0,
            findings=() if p is None else (finding(p),), probabilities={1: {"C1": 0.05 if p is None else p}},
        )
        for name, p in probabilities.items()
    ]  # fmt: skip
    return finished(folder, made)


def answer(tmp_path: Path, project: str, yes: dict[str, set[str]]) -> None:
    """Everybody in `yes` answers all their tasks."""
    with Store.open(str(tmp_path / "store.sqlite")) as store:
        for who, dialogues in yes.items():
            while lease := leases.claim(store, who, project):
                findings = [finding()] if lease.dialogue in dialogues else []
                annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", findings)


def test_the_whole_way(dialint: Dialint, tmp_path: Path, write_log: WriteLog) -> None:
    log = write_log(8)
    path = verdicts(tmp_path, {"d0": 0.9, "d1": 0.7, "d2": 0.3, **{f"d{i}": None for i in range(3, 8)}})
    assert dialint("import", "logs", log) == "8 dialogues new, 0 known, 0 rejected\n"
    assert dialint("import", "logs", log) == "0 dialogues new, 8 known, 0 rejected\n"
    assert dialint("import", "verdicts", path) == "8 verdicts new, 0 known\n"
    assert "review, 1 codes, 1 answers" in dialint(
        "label", "project", "create", "r", "--codes", "C1", "--purpose", "review", "--prelabelled"
    )
    dialint("label", "project", "create", "l", "--codes", "C1", "--overlap", 2, "--deadline", "2100-01-01")
    dialint("label", "project", "create", "e", "--codes", "C1", "--purpose", "adjudication")

    routing = ("label", "route", "--review", "r", "--label", "l")
    assert "nothing given out" in dialint(*routing, "--dry-run")
    assert dialint(*routing).splitlines()[-1].endswith("8 new tasks")
    assert dialint(*routing).splitlines()[-1].endswith("0 new tasks")
    listed = dialint("label", "status")
    assert re.search(r"^r +review +open +main +2 +0 +0 +0 %", listed, re.MULTILINE)
    assert re.search(r"^l +label +open +main +6 .* 2100-01-01 00:00", listed, re.MULTILINE)
    assert dialint("label", "plan", "--project", "l", "--n", 2) == "l: 2 tasks, random\n"

    answer(tmp_path, "l", {"ann": {"d0", "d1", "d2"}, "ben": {"d0", "d2"}})
    assert " 100 % " in dialint("label", "status", "l")
    text = dialint("label", "aggregate", "--project", "l")
    assert re.match(r"\d+ labels of 8 questions: \d sure, 0 known for certain, the model's word on 8\n", text)
    assert dialint("label", "ask", "--project", "l", "--sure", "0.6") == (
        "8 tasks are sure, 0 ask for one answer more, 0 are for experts\n"
    )
    text = dialint("label", "adjudicate", "--project", "l", "--into", "e", "--sure", "0.5", "--disagreements")
    assert "people disagree on 0; 0 turns" in text or "1 turns for experts, 1 of them new" in text

    assert dialint("export", "annotations", tmp_path / "a.jsonl", "--project", "l").endswith(
        "16 annotations\n"
    )
    key = tmp_path / "new/split.key"
    dialint("export", "dataset", "--out", tmp_path / "set", "--key-file", key, "--near", 0, "--project", "l")
    assert re.fullmatch(r"[0-9a-f]{64}\n", key.read_text()), "made, and random"
    manifest = json.loads((tmp_path / "set/manifest.json").read_text())
    splits = [f"{name}.jsonl" for name in ("train", "dev", "test", "calibration")]
    assert sum(file["rows"] for file in manifest["files"] if file["name"] in splits) == 8


def test_labels_come_into_the_store_or_a_file(dialint: Dialint, tmp_path: Path, write_log: WriteLog) -> None:
    log = write_log(2)
    dialint("import", "logs", log)
    table = tmp_path / "t.csv"
    table.write_text("task,worker,label\nd0/1/C1,ann,yes\nd1/1/C1,zoe,no\n")
    with pytest.raises(DialintError, match="an admin imports in their name"):
        dialint("import", "labels", "--labels", table, "--max-bad", 1)
    text = dialint("import", "labels", "--labels", table, "--max-bad", 1, "--as", "ada")
    assert text.splitlines()[0] == "1 annotations new, 0 known, 1 rejected"
    assert "line 3, worker: E_LABEL" in text
    assert "Let me" not in text
    dialint("import", "labels", "--labels", table, "--dialogues", log, "--out", tmp_path / "o.jsonl")
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 2
    assert dialint("label", "aggregate", "--everything").startswith("1 labels of 1 questions")


def test_labels_of_a_project_count_in_it(dialint: Dialint, tmp_path: Path, write_log: WriteLog) -> None:
    log = write_log(2)
    dialint("import", "logs", log)
    dialint("label", "project", "create", "p", "--codes", "C1")
    table = tmp_path / "t.csv"
    table.write_text("task,worker,label\nd0/1/C1,ann,yes\nd1/1/C1,ann,no\nd0/1/L1,ann,no\n")
    into = ("import", "labels", "--labels", table, "--max-bad", 1, "--project", "p", "--as", "ada")
    text = dialint(*into, "--rejects", tmp_path / "bad.jsonl")
    assert text.splitlines()[0] == "2 annotations new, 0 known, 1 rejected"
    assert "line 4, codes: E_LABEL, a code that is not asked; expected codes of the project" in text
    assert json.loads((tmp_path / "bad.jsonl").read_text())["line"] == 4
    assert re.search(r"^p +label +open +main +0 +0 +0 +- +2 +-", dialint("label", "status"), re.MULTILINE)
    assert " of 2 questions: " in dialint("label", "aggregate", "--project", "p")
    for options, message in ((("--project", "p"), "not both"), (("--rejects", "r"), "beside it")):
        with pytest.raises(ConfigError, match=message):
            dialint("import", "labels", "--labels", table, "--dialogues", log, "--out", "o.jsonl", *options)


def test_rejects_of_a_log_are_printed_and_saved(
    dialint: Dialint, tmp_path: Path, write_log: WriteLog
) -> None:
    log = write_log(30)
    with open(log, "a") as file:
        file.writelines(f'{{"id": "x{n}"}}\n' for n in range(12))
    text = dialint("import", "logs", log, "--max-bad", 0.5).splitlines()
    assert text[0] == "30 dialogues new, 0 known, 12 rejected"
    assert re.fullmatch(r"rejected, E_\w+: 12", text[1])
    assert text[2].startswith(f"{log}, line 31, ")
    assert (len(text), text[-1]) == (13, "and 2 more; --rejects FILE keeps them all")
    rejects = tmp_path / "bad.jsonl"
    assert len(dialint("import", "logs", log, "--max-bad", 0.5, "--rejects", rejects).splitlines()) == 12
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == list(range(31, 43))
    with pytest.raises(DialintError, match="E_EXISTS"):
        dialint("import", "logs", log, "--rejects", rejects)
    with pytest.raises(DialintError, match="E_TOO_MANY_BAD"):
        dialint("import", "logs", log, "--rejects", tmp_path / "most.jsonl")
    assert len((tmp_path / "most.jsonl").read_text().splitlines()) == 12


def test_a_calibration_session(dialint: Dialint, write_log: WriteLog) -> None:
    dialint("import", "logs", write_log(12))
    text = dialint(
        "label", "calibration", "--name", "w", "--codes", "C1", "--members", "ann", "ben", "--n", 10
    )
    assert text == "w: 10 dialogues to ann, ben\n"


def test_labelers_see_masked_text_by_default(dialint: Dialint, tmp_path: Path) -> None:
    for name, options in {"a": [], "b": ["--masked"], "c": ["--no-masked"]}.items():
        dialint("label", "project", "create", name, "--codes", "C1", *options)
    with Store.open(str(tmp_path / "store.sqlite")) as store:
        masked = {project.id: project.masked for project, _ in projects.list_projects(store, "lea")}
    assert masked == {"a": True, "b": True, "c": False}


def test_accounts(dialint: Dialint, people: dict[str, str], tmp_path: Path, monkeypatch: Any) -> None:
    with Store.open(str(tmp_path / "store.sqlite")) as store:
        with pytest.raises(MustChangePassword):
            authentication.sign_in(store, "ann", people["ann"])
        authentication.choose_password(store, "ann", people["ann"], "one of my own")
        assert authentication.sign_in(store, "ann", "one of my own").account.role == "labeler"
    assert len(set(people.values())) == 7
    assert "ann (active): keep; 0 of at least" in dialint("label", "account", "evaluate")
    assert dialint("label", "account", "evaluate", "--apply") == "0 accounts changed\n"
    with pytest.raises(NotAllowed):
        dialint("label", "account", "create", "x", "--role", "labeler")
    new = dialint("label", "account", "password", "ben", "--as", "ada").split()[-1]
    with Store.open(str(tmp_path / "store.sqlite")) as store:
        assert authentication.choose_password(store, "ben", new, "one of my own").account.id == "ben"
    monkeypatch.delenv("DIALINT_ACCOUNT")
    with pytest.raises(ConfigError, match="DIALINT_ACCOUNT"):
        dialint("label", "status")
    with pytest.raises(DialintError, match="there are accounts"):
        dialint("label", "account", "create", "y", "--role", "admin")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("label", "aggregate"), "--everything"),
        (("label", "aggregate", "--project", "p", "--everything"), "--everything"),
        (("label", "aggregate", "--annotations", "t.csv", "--project", "p"), "not both"),
        (("label", "aggregate", "--project", "p", "--method", "glad"), "method is joint"),
        (("label", "ask", "--project", "nothing"), "no such project"),
        (("label", "status", "nothing"), "'nothing': no such project; there is none yet; `dialint label project"),
        (("label", "adjudicate", "--project", "p", "--into", "experts"), "--into experts: no project for adjudication; there is none yet; `dialint label project create experts --purpose"),
        (("label", "project", "create", "p", "--codes", "ZZ"), "ZZ"),
        (("label", "project", "create", "c", "--codes", "C1", "--control-share", "0.05"), "E_GOLD"),
        (("label", "project", "create", "p", "--codes", "C1", "--overlap", "0"), "--overlap"),
        (("label", "project", "create", "p", "--codes", "C1", "--instructions", "/no/file"), "/no/file"),
        (("import", "labels", "--labels", "x", "--out", "o.jsonl"), "--dialogues"),
        (("export", "dataset", "--out", "o", "--key-file", "/dev/null", "--dialogues", "a"), "empty"),
        (("export", "dataset", "--out", "o", "--dialogues", "a"), "DIALINT_SPLIT_KEY"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(dialint: Dialint, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(DialintError, match=re.escape(message)):
        dialint(*arguments)


def test_a_mistyped_project_is_answered_with_those_there_are(dialint: Dialint) -> None:
    dialint("label", "project", "create", "blind", "--codes", "C1")
    dialint("label", "project", "create", "court", "--codes", "C1", "--purpose", "adjudication")
    for arguments, there in (
        (("label", "ask", "--project", "blnd"), "there are blind, court;"),
        (("label", "adjudicate", "--project", "blind", "--into", "experts"), "there are court;"),
        (("label", "adjudicate", "--project", "blind", "--into", "blind"), "there are court;"),
    ):
        with pytest.raises(DialintError, match=there):
            dialint(*arguments)


def test_reports_on_people_come_from_the_store_or_from_files(
    dialint: Dialint, tmp_path: Path, write_log: WriteLog
) -> None:
    log = write_log(6)
    dialint("import", "logs", log)
    dialint("label", "project", "create", "p", "--codes", "C1", "--overlap", 2)
    dialint("label", "plan", "--project", "p", "--n", 6)
    answer(tmp_path, "p", {"ann": {"d0", "d1"}, "ben": {"d0"}})
    assert re.search(r"^ann +6 ", dialint("label", "quality", "--project", "p"), re.MULTILINE)
    assert "0 flags on 2 workers" in dialint("label", "watch")
    assert re.search(r"^C1 +agreement on no +0\.889 ", dialint("label", "agreement"), re.MULTILINE)
    dialint("export", "annotations", tmp_path / "a.jsonl")
    files = ("--annotations", tmp_path / "a.jsonl", "--dialogues", log)
    assert re.search(r"^ann +6 ", dialint("label", "quality", *files), re.MULTILINE)
    table = tmp_path / "t.csv"
    table.write_text("task,worker,label\n1,ann,yes\n1,ben,yes\n")
    assert "0 flags on 2 workers" in dialint("label", "watch", "--annotations", table)
    for name in ("watch", "agreement"):
        with pytest.raises(ConfigError, match="not both"):
            dialint("label", name, "--annotations", table, "--project", "p")
    for name in ("watch", "agreement", "quality"):
        with pytest.raises(NotAllowed, match="ann") as refused:
            dialint("label", name, "--as", "ann")
        assert refused.value.exit_code == 2


def test_a_code_that_is_seldom_confirmed_is_demoted(
    dialint: Dialint, tmp_path: Path, write_log: WriteLog
) -> None:
    path = verdicts(tmp_path, {f"d{i}": 0.9 for i in range(12)})
    dialint("import", "logs", write_log(12))
    dialint("import", "verdicts", path)
    dialint("label", "project", "create", "r", "--codes", "C1", "--purpose", "review", "--prelabelled")
    dialint("label", "plan", "--project", "r", "--n", 12)
    out = tmp_path / "overrides.yaml"
    answer(tmp_path, "r", {"eve": {"d1", "d5"}})
    text = dialint("label", "demote", "--overrides", out)
    assert re.search(r"^e +C1 +12 +2 +17 % +39 % +suggestion", text, re.MULTILINE)
    assert text.splitlines()[-1].endswith(f"dialint score LOG --overrides {out}")
    assert read_overrides(out).demoted == {"C1": "people confirmed 2 of 12 findings of e"}
