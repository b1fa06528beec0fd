"""The pytest plugin, in a small bot project of its own that runs as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from dialint.detector.errors import DialintError
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.testing import Baseline, BaselineEntry, _load, _read_baseline, assert_no_errors

ROOT = Path(__file__).parents[1]

BOT = """
def greet():
    return [
        {{"role": "user", "content": "Hello, where is my parcel?"}},
        {{"role": "assistant", "content": {greeting!r}}},
    ]

def refund():
    call = {{"id": "c1", "type": "function", "function": {{"name": "get_order", "arguments": '{{"order": "1042"}}'}}}}
    return [
        {{"role": "user", "content": "Please refund order 1042."}},
        {{"role": "assistant", "content": None, "tool_calls": [call]}},
        {{"role": "tool", "tool_call_id": "c1", "content": '{{"order": "1042", "status": "delivered"}}'}},
        *({{"role": role, "content": text}} for role, text in {refund!r}),
    ]
"""
TESTS = """
import sys

import bot
from dialint.testing import assert_no_errors

HEAVY = {"pydantic", "numpy", "cyclopts", "yaml"}


def test_nothing_is_imported_before_it_is_used():
    assert HEAVY.isdisjoint(sys.modules)
    assert {name for name in sys.modules if name.startswith("dialint")} == {"dialint", "dialint.testing"}


def test_greeting():
    assert_no_errors(bot.greet())


def test_refund():
    assert_no_errors(bot.refund())
"""
SLOT, GREETING = "Dear {{customer_name}}, it arrives tomorrow.", "Hello! Which order is it?"
CLAIM = ("assistant", "I have refunded order 1042.")
SECRET = ("assistant", "Before I go on, please send me your card number and the CVV.")


class Project:
    """A bot, its tests, and a run of pytest on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_bot.py").write_text(TESTS)
        (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")

    def write_bot(self, greeting: str, *refund: tuple[str, str]) -> None:
        (self.folder / "bot.py").write_text(BOT.format(greeting=greeting, refund=list(refund)))

    def pytest(self, *options: str) -> tuple[int, str]:
        """Exit code and output."""
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "dialint.testing", "-p", "no:cacheprovider", "-q", *options],
            cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"},
        )  # fmt: skip
        return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "bot").mkdir()
    return Project(tmp_path / "bot")


PAGE = (ROOT / "docs/howto/test_a_bot.md").read_text()


(LINE,) = re.findall(r'^\{"test".*', PAGE, re.MULTILINE)


def test_the_project_of_the_page_fails_as_documented_and_passes_once_accepted(project: Project) -> None:
    for name, text in re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        (project.folder / name).write_text(text)
    code, output = project.pytest("--dialint-baseline", "a.jsonl", "--dialint-baseline-update")
    assert code == 0, output
    assert (project.folder / "a.jsonl").read_text() in PAGE
    code, output = project.pytest()
    assert code == 1, output
    assert "".join(line for line in output.splitlines(keepends=True) if line.startswith("E ")) in PAGE
    assert "FAILED test_bot.py::test_refund - AssertionError: R3 in turn 3 (S2 or worse fails)" in output


def test_the_action_scores_by_its_inputs(tmp_path: Path) -> None:
    """Its steps but for the installation, as the runner starts them, in a repository with modules of its
    own."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    *_, install, step = action["runs"]["steps"]
    values = {"LOGS": "*.jsonl more", "FAIL_ON": action["inputs"]["fail-on"]["default"], "OPTIONS": ""}
    assert step["env"].keys() - values == install["env"].keys()
    values |= install["env"]
    for module in ("dialint", "pip", "queue"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('run')")
    for name in ("more", "temp"):
        (tmp_path / name).mkdir()
    for name, text in (("a.jsonl", SLOT), ("more/b.jsonl", SECRET[1])):
        turns = [{"role": "customer", "text": "Hello?"}, {"role": "agent", "text": text}]
        (tmp_path / name).write_text(json.dumps({"dialogue_id": name, "turns": turns}) + "\n")

    def run(**changed: str) -> int:
        environment = {
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, check=False,
            env={**os.environ, **environment, "PATH": path, **values, **changed}, capture_output=True,
        ).returncode  # fmt: skip

    command = [sys.executable, "-m", "pip", "--version"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **install["env"]}, check=True)
    assert run() == 1
    name, _, sarif = (tmp_path / "output").read_text().strip().partition("=")
    assert action["outputs"][name]["value"] == "${{ steps.score.outputs.sarif }}"
    results = json.loads(Path(sarif).read_text())["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["M2", "V2"]
    assert run(OPTIONS="--scan off --codes T") == 0


@pytest.mark.slow
def test_a_baseline_over_three_versions(project: Project) -> None:
    file = project.folder / "accepted.jsonl"
    baseline, update = ("--dialint-baseline", file.name), "--dialint-baseline-update"
    code, output = project.pytest(*baseline)
    assert code == 4, output
    assert "accepted.jsonl: no such baseline" in output

    project.write_bot(SLOT, CLAIM)  # first version: both errors are known, and accepted
    code, output = project.pytest(*baseline, update)
    assert code == 0, output
    assert output.count("accepted: test_bot.py::") == 2
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    assert [
        (each["test"], each["dialogue"], each["code"], each["severity"], each["turn"]) for each in entries
    ] == [
        ("test_bot.py::test_greeting", "messages", "M2", "S2", 1),
        ("test_bot.py::test_refund", "messages", "R3", "S1", 3),
    ]
    assert all(len(each["quote"]) == 16 and int(each["quote"], 16) for each in entries), "hashes, and no text"
    code, output = project.pytest(*baseline)
    assert (code, "3 passed" in output, "baseline" in output) == (0, True, False), output

    # second version: the known error moved by two turns, and there is a new one
    project.write_bot(
        SLOT, ("assistant", "One moment, please."), ("user", "Sure."), CLAIM, ("user", "Ok?"), SECRET
    )
    code, output = project.pytest(*baseline)
    assert code == 1, output
    assert "1 failed, 2 passed" in output
    assert "V2 in turn 7 (S2 or worse fails)" in output
    assert "R3" not in output
    assert "1 known to the baseline, not shown" in output
    project.write_bot(SLOT, CLAIM, CLAIM)  # the same error once more is new, too
    code, output = project.pytest(*baseline)
    assert (code, "R3 in turn 4 (S2 or worse fails)" in output) == (1, True), output

    project.write_bot(GREETING, CLAIM)  # third version: one is mended
    code, output = project.pytest(*baseline)
    assert code == 0, output
    assert "gone: test_bot.py::test_greeting messages M2" in output
    code, output = project.pytest(*baseline, update, "-k", "refund")
    assert (code, len(file.read_text().splitlines())) == (0, 2), "tests that did not run keep their entries"
    code, output = project.pytest(*baseline, update, "-p", "xdist", "-n", "2")
    assert code == 0, output
    assert "gone: test_bot.py::test_greeting messages M2" in output
    assert [json.loads(line) for line in file.read_text().splitlines()] == entries[1:]


@pytest.mark.slow
def test_each_dialogue_of_a_log_is_a_test_by_the_options_of_the_project(project: Project) -> None:
    turns = [{"role": "customer", "text": "Hello?"}, {"role": "agent", "text": SLOT}]
    clean = [{"role": "customer", "text": "Hello?"}, {"role": "agent", "text": GREETING}]
    with (project.folder / "log.jsonl").open("w") as file:
        for name, each in (("red", turns), ("green", clean)):
            file.write(json.dumps({"dialogue_id": name, "turns": each}) + "\n")
    (project.folder / "test_bot.py").write_text(
        "import pytest\nfrom dialint.testing import assert_no_errors\n"
        "@pytest.mark.dialint_logs('*.jsonl')\n"
        "def test_log(logged_dialogue):\n    assert_no_errors(logged_dialogue)\n"
    )
    code, output = project.pytest()
    assert code == 1, output
    assert "FAILED test_bot.py::test_log[red] - AssertionError: M2 in turn 1" in output
    assert "1 failed, 1 passed" in output
    options = "dialint_options=--codes V --scan off"
    code, output = project.pytest("-o", options)
    assert code == 0, output
    code, output = project.pytest("-o", "dialint_options=--polcy x.yaml")
    assert (code, "--polcy is no option of dialint score" in output) == (2, True), output


TURNS = (
    Turn(index=0, role="customer", text="Please cancel my order."),
    Turn(index=1, role="agent", text="I have cancelled your order."),
)
CHAT = [{"role": "user", "content": TURNS[0].text}, {"role": "assistant", "content": TURNS[1].text}]
CHECKED = Turn(index=1, role="bot", text="Let me see.", tool_calls=(ToolCall(name="get_order", id="1"),))
RESULT = Turn(index=2, role="tool", text="{}", tool_call_id="1")


def span() -> SimpleNamespace:
    """A span of an in-memory exporter of OpenTelemetry."""
    chat = [{"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]} for each in CHAT]
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(chat[:1]),
        "gen_ai.output.messages": json.dumps(chat[1:]),
    }  # fmt: skip
    text = json.dumps({"name": "chat", "context": {"trace_id": "0x1"}, "attributes": attributes})
    return SimpleNamespace(to_json=lambda: text, get_span_context=lambda: None)


class Answer:
    """A message as a client library returns it."""

    def model_dump(self, **_: object) -> dict[str, str]:
        return CHAT[1]

    def to_json(self) -> str:
        return json.dumps(CHAT[1])


@pytest.mark.parametrize(
    "dialogue",
    [
        CHAT, tuple(CHAT), [CHAT[0], Answer()], {"messages": CHAT, "tools": [], "id": "x"}, [span()],
        Dialogue(id="1", turns=(TURNS[0], CHECKED, RESULT, TURNS[1].model_copy(update={"index": 3}))),
    ],
    ids=["messages", "tuple", "objects", "record", "spans", "Dialogue"],
)  # fmt: skip
def test_a_claim_without_a_call_is_found_in_every_input_type(dialogue: object) -> None:
    with pytest.raises(AssertionError, match=r"R3 in turn \d"):
        assert_no_errors(dialogue)  # type: ignore[arg-type]


def test_a_log_is_judged_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [
        {"dialogue_id": str(n), "turns": [{"role": "agent", "text": text}]}
        for n, text in enumerate((GREETING, SLOT))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for each in (path, str(path)):
        with pytest.raises(AssertionError, match=r"M2 in turn 0") as failed:
            assert_no_errors(each)
        assert str(failed.value).splitlines()[1] == "1"
        assert_no_errors(each, fail_on="S1")
    for word in ("S0", "1", "s2", "HIGH"):  # most of them would fail no test, ever
        with pytest.raises(ValueError, match="expected S1, S2, S3 or S4"):
            assert_no_errors(path, fail_on=word)  # type: ignore[arg-type]


def test_what_was_not_judged_is_not_clean() -> None:
    with pytest.raises(AssertionError, match=r"^not judged .*\nmessages\n  not judged as a whole: "):
        assert_no_errors(CHAT[:1])
    with pytest.raises(DialintError):
        assert_no_errors([])
    with pytest.raises(DialintError, match=r"messages\[0\].content: found a number"):
        assert_no_errors([{"role": "assistant", "content": 5}])
    with pytest.raises(TypeError, match="a object is no message"):
        assert_no_errors([object()])
    with pytest.raises(TypeError, match="a NoneType is no message"):
        assert_no_errors(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [("--fail-on", "S1"), ("--limit", "1"), ("--help",)])
def test_options_that_change_no_test_are_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(DialintError, match=f"dialint_options: {options[0]}"):
        _load(options, Path.cwd())


@pytest.mark.parametrize(
    "line", ["", "{", "<<<<<<< HEAD", "[]", "[" * 10**5, "\udcff", '{"test": "a"}', f"{LINE[:-2]}null}}"]
)
def test_a_damaged_baseline_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "accepted.jsonl"
    path.write_text(f"{LINE}\n{line}\n", errors="surrogateescape")
    with pytest.raises(pytest.UsageError, match=r"accepted.jsonl, line 2: no line of a baseline"):
        _read_baseline(path)


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "accepted.jsonl"
    entries = [
        BaselineEntry(f"t.py::test[{name}]", name, "M2", "0" * 16, "S2", 1)
        for name in ("a", "\u2028", "\x85\r")
    ]
    written = Baseline(path.name, path, True, {}, {each.test: [each] for each in entries})
    written.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace()))  # type: ignore[arg-type]
    assert sorted(each for of_test in _read_baseline(path).values() for each in of_test) == sorted(entries)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with pytest.raises(pytest.UsageError, match="directory"):
        _read_baseline(tmp_path)


def test_the_package_offers_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"dialint": "dialint.testing"}
