"""Every option and command that a message of the package mentions exists."""

from __future__ import annotations

import ast
import json
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

from dialint.app.cli import app, main
from dialint.app.commands.console import ConsoleConfig, console
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import NOT_IN_WORK
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import require_set
from dialint.detector.option_ranges import option_changes
from dialint.finetune.judge.sft import SftJudgeConfig
from dialint.finetune.judge.sft import run as sft
from dialint.finetune.train.checkpoint import describe_job, job_mismatch

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "detector", "eval", "finetune", "labeling")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w=.-]*\.)")
COMMAND = re.compile(r"`(?:[\w.=]+ )*?dialint ([a-z][a-z| -]*)")
RUN_ALONE = re.compile(r"^if __name__ == .__main__.:", re.MULTILINE)
NOT_STUDIES = ("cli.py", "main.py")
OF_OTHER_PROGRAMS = """
    pdeathsig bad card dim good ink mark mine o0 o1 o2 o3 paper rule
    no-deps only-binary dest
    api-key chat-template disable-fastapi-docs disable-uvicorn-access-log enable-lora runner skip-tokenizer-init
    enable-prefix-caching enable-prompt-tokens-details generation-config gpu-memory-utilization lora-modules
    max-lora-rank max-loras override-generation-config quantization revision served-model-name shutdown-timeout
    structured-outputs-config tensor-parallel-size
    abbrev always dirty exclude
    query-gpu format
    help version
"""
"""Of style sheets, pip, vllm, git, nvidia-smi, and of cyclopts for every command."""


def groups(group: App = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    """Every command and group with what is typed for it."""
    for name in group:
        if not name.startswith("-"):
            child = group[name]
            yield " ".join((*path, name)), child
            yield from groups(child, (*path, name))


@pytest.fixture(scope="module")
def tree() -> dict[str, App]:
    return dict(groups())


@pytest.fixture(scope="module")
def options(tree: dict[str, App]) -> set[str]:
    """Every option of every command."""
    commands = [child for child in tree.values() if child.default_command is not None]
    return {
        name
        for child in commands
        for argument in child.assemble_argument_collection()
        for name in argument.names
    }


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module with its line; a dot stands for what is put in when it runs."""
    inner: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in node.values)
            parts = (str(part.value) if isinstance(part, ast.Constant) else "." for part in node.values)
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


def modules() -> list[Path]:
    """All that can speak to who types `dialint`: not the studies, which are run as modules of their own."""
    every = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return [path for path in every if path.name in NOT_STUDIES or not RUN_ALONE.search(path.read_text())]


def test_every_option_and_command_in_a_message_exists(tree: dict[str, App], options: set[str]) -> None:
    existing = options | {f"--{name}" for name in OF_OTHER_PROGRAMS.split()}
    missing = set()
    for path in modules():
        for line, text in texts(path):
            wrong = [name for name in OPTION.findall(text) if name not in existing]
            wrong += [f"dialint {command}" for command in COMMAND.findall(text) if not exists(command, tree)]
            missing |= {f"{path.relative_to(ROOT)}:{line}: {each}" for each in wrong}
    assert not missing, "\n".join(sorted(missing))


def exists(command: str, tree: dict[str, App]) -> bool:
    """Returns whether `command` begins with a command or is a group; ``db upgrade|verify`` has two."""
    words = command.split()
    for n in range(1, len(words) + 1):
        *before, last = words[:n]
        for each in last.split("|"):
            child = tree.get(" ".join((*before, each)))
            if child is None:
                return False
        if child is not None and child.default_command is not None:
            return True
    return True


def test_another_job_is_reported_by_command_line_options(options: set[str]) -> None:
    config = ScoreConfig()
    values = {name: value for name, value in vars(config).items() if name not in NOT_IN_WORK}
    values |= {"read": config.read.describe(), "codes": ["C1"]}
    lines = option_changes({}, json.loads(json.dumps(values, default=str)))
    reported = {line.partition(" ")[0] for line in option_changes({}, {**values, "limit": 3})}
    assert "--limit" in reported
    limits = {f"--{name.replace('_', '-')}" for name in vars(config.read) if name.startswith("max_")}
    assert {line.partition(" ")[0] for line in lines} <= options | limits  # these are set from Python only
    (line,) = option_changes(
        {"read": {"format": "auto"}, "limit": 3}, {"read": {"format": "csv"}, "limit": 3}
    )
    assert line == "--input-format was auto, is csv now"
    assert option_changes({"limit": None}, {"limit": 3}) == ["--limit was not given, is 3 now"]


def test_a_split_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    for name in ("train.jsonl", "dev.jsonl", "manifest.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ConfigError, match=r"holds no set test .*its sets: dev, train$"):
        require_set(tmp_path, "test")


def test_missing_fields_of_a_data_set_are_reported(tmp_path: Path) -> None:
    config = SftJudgeConfig(dataset=tmp_path, base="small_decoder", out=tmp_path / "out")
    (tmp_path / "train.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match=r"holds no set dev .*its sets: train$"):
        sft(config)
    (tmp_path / "dev.jsonl").write_text("{}")
    with pytest.raises(OutputRefused, match=r"manifest\.json: no manifest"):
        sft(config)


def test_another_training_is_reported_by_its_options() -> None:
    before, now = (describe_job({"epochs": epochs, "seed": 1}, "data") for epochs in (1.0, 2.0))
    assert "--epochs was 1.0, is 2.0 now; remove it" in str(job_mismatch(Path("c"), before, now))
    assert "the data or the base differs" in str(
        job_mismatch(Path("c"), now, describe_job({"epochs": 2.0, "seed": 1}, "x"))
    )
    assert "other options or other data" in str(job_mismatch(Path("c"), "0a1b", now))


def test_a_busy_port_is_refused_before_anything_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DIALINT_STORE", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"E_PORT: port {port} is in use; `--port \d+` is free"):
            console(config=ConsoleConfig(port=port))
    assert not (tmp_path / "home").exists()
    assert "http" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "next_step"),
    [
        ("score log.jsonl --release none", "`dialint train pack` makes one"),
        ("score log.jsonl --codes ZZ", "`dialint codes` lists them"),
        ("score letter.txt", "dialint ingest preview letter.txt"),
        ("score log.jsonl --fomat csv", "--format"),
        ("score log.jsonl --max-bad", "--max-bad requires an argument"),
        ("score log.jsonl --threads {x}", 'unable to convert "{x}" into int'),
        ("score log.jsonl --out v.xlsx", "expected an ending of"),
        ("scor log.jsonl", 'Did you mean "score"?'),
        ("verify --format x y z", "--format"),
        ("codes C1 C2 C3", "unexpected arguments: C2 C3"),
        ("codes C9", "did you mean"),
        ("codes --taxonomy broken.yaml", "broken.yaml:4: categories.0.code"),
        ("codes --taxonomy none.yaml", "No such file"),
        ("train sft scan --examples none --base small_decoder --out o", "`dialint data inject`"),
        ("train sft judge --dataset none --base small_decoder --out o", "`dialint export dataset`"),
        ("train pack --scanner none --examples none --out o --name n", "`dialint train sft scan` makes it"),
        ("train calibrate --examples none --out o --name n", "`dialint export dataset` makes one"),
        ("report v.jsonl --html r.html", "`dialint score LOG --out v.jsonl` makes it"),
        ("import verdicts v.jsonl", "--as"),
        ("db verify", "`dialint db upgrade` makes one"),
        ("export dataset --out o", "--key-file"),
    ],
)
def test_a_mistake_is_answered_with_what_to_type_next(
    typed: str, next_step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DIALINT_DEBUG", "1")  # leaves the filters of warnings as they are
    for name in ("DIALINT_STORE", "DIALINT_ACCOUNT", "DIALINT_SPLIT_KEY"):
        monkeypatch.delenv(name, raising=False)
    turns = [{"role": "agent", "text": "Hello"}]
    Path("log.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": turns}) + "\n")
    Path("letter.txt").write_text("Dear reader,\nthis is a letter.\n")
    Path("broken.yaml").write_text("version: 1.0.0\nseverities: []\ncategories:\n- code: AA\n")
    monkeypatch.setattr(sys, "argv", ["dialint", *typed.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    printed, message = capsys.readouterr()
    assert printed == ""
    assert message.startswith("dialint: E_")
    assert message.count("\n") == 1
    assert next_step in message
