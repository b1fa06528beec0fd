"""Every command of the README and of the how-tos as written, in order, from nothing, on the sample log.

A line whose comment says what it *needs* is not run; what may be needed is listed here. The console is started,
asked and stopped.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from dialint.app.cli import EXTRAS, app
from dialint.detector.environment import modules_by_extra
from dialint.detector.errors import UserError

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md", "docs/howto/score_every_night.md", "docs/howto/measure_on_your_log.md",
    "docs/howto/run_a_review_project.md", "docs/howto/make_a_release.md", "docs/howto/train_on_your_labels.md",
    "docs/howto/serve_the_judge.md", "docs/howto/serve_the_api.md", "docs/howto/add_a_log_format.md",
)  # fmt: skip
NEEDS = {"a clone", "a GPU", "a port", "decisions", "that file"}
"""Requirements beyond the sample log: the words after *needs* in a comment."""
LIMIT_S = 3600
"""Wall time: a shared machine may take ten times the CPU time."""


@dataclass(frozen=True)
class Line:
    """One command of the README, with its comment."""

    command: str
    comment: str

    @property
    def needs(self) -> str | None:
        match = re.match(r"needs ([^:;,]+)", self.comment)
        return match[1].strip() if match else None

    @property
    def code(self) -> int:
        """The exit code that the comment announces."""
        match = re.search(r"exit code (\d)", self.comment)
        return int(match[1]) if match else 0


def lines() -> list[Line]:
    pages = "".join((ROOT / page).read_text() for page in PAGES)
    blocks = re.findall(r"^```sh\n(.*?)^```", pages, re.MULTILINE | re.DOTALL)
    result = []
    for text in "".join(blocks).splitlines():
        command, _, comment = text.partition(" #")
        result += [Line(part.strip(), comment.strip()) for part in command.split("&&")]
    return result


def answers_on_its_port(environment: dict[str, str], folder: Path) -> bool:
    """Returns whether the console starts on a free port, responds, and ends on SIGINT."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dialint", "console", "--port", str(port)]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as console:
        try:
            give_up = time.monotonic() + 180
            while time.monotonic() < give_up and console.poll() is None:
                try:
                    with urllib.request.urlopen(f"http://localhost:{port}", timeout=10) as page:
                        return bool(page.status == 200)
                except OSError:
                    time.sleep(0.3)
            return False
        finally:
            console.send_signal(signal.SIGINT)
            try:
                console.wait(60)
            except subprocess.TimeoutExpired:
                console.kill()
                raise


def test_blocks_of_commands_are_marked_as_such() -> None:
    readme = "".join((ROOT / page).read_text() for page in PAGES)
    plain = re.findall(r"^```\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert not [text for text in plain if re.match(r"(dialint|make|python|pip) ", text)]
    assert {line.needs for line in lines()} <= {None, *NEEDS}
    assert sum(line.needs is None for line in lines()) >= 30


def test_every_command_has_the_options_of_its_examples() -> None:
    """Those that need a GPU or a server too, which nothing else here runs."""
    n = 0
    for page in (ROOT / "README.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words.pop(0)
                if words and words[0] == "dialint":
                    end = min((words.index(sign) for sign in ("|", ">", "&&") if sign in words), default=None)
                    n += 1
                    try:
                        app.parse_args(words[1:end], print_error=False, exit_on_error=False)
                    except CycloptsError as error:
                        raise AssertionError(f"{page.name}: {line}") from error
                    except UserError:
                        pass  # a file that is not there
    assert n > 60


def test_a_page_names_the_extras_that_its_commands_need() -> None:
    lacking = []
    for page in sorted((ROOT / "docs" / "howto").glob("*.md")):
        text = page.read_text()
        extras = {extra for names in re.findall(r"dialint\[([a-z,]+)\]", text) for extra in names.split(",")}
        modules = {module for extra in extras for module in modules_by_extra()[extra]}
        for command, extra in EXTRAS.items():
            is_used = re.search(rf"^(?:.*&& )?dialint {command}\b", text, re.MULTILINE)
            if is_used and not modules.issuperset(modules_by_extra()[extra]):
                lacking.append(f"{page.name}: dialint {command} needs {extra}")
    assert lacking == []


def test_the_example_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    exec(compile(example, "README.md", "exec"), {})
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"M2", "V2"}


@pytest.mark.slow
def test_every_command_runs_in_order_from_nothing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "app" / "sample", tmp_path / "app" / "sample")
    (tmp_path / "runs").mkdir()
    shutil.copy(ROOT / "runs" / "simulated_crowd.py", tmp_path / "runs")
    key = tmp_path / "split.key"  # of 78 dialogues a random split may hold no pairs
    key.write_text("0" * 64)
    key.chmod(0o600)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DIALINT")}
    environment |= {
        "DIALINT_HOME": str(tmp_path / "home"), "DIALINT_DEBUG": "", "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "HOME": str(tmp_path / "home"),
    }  # fmt: skip
    log = tmp_path / "log.txt"
    driver = [sys.executable, str(Path(__file__).with_name("readme_driver.py"))]
    started, spent = time.monotonic(), 0.0
    ended: dict[str, float] = {}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        log.open("w") as errors,
        subprocess.Popen(driver, cwd=tmp_path, env=environment, stderr=errors, **pipes) as shell,
    ):
        assert shell.stdin
        assert shell.stdout
        try:
            for line in lines():
                if line.needs:
                    continue
                if line.command == "dialint console":
                    assert answers_on_its_port(environment, tmp_path), line
                    continue
                assert time.monotonic() - started < LIMIT_S
                print(line.command, file=shell.stdin, flush=True)
                texts, ended = [], {}
                for text in shell.stdout:
                    if text.startswith("\0"):
                        ended = json.loads(text[1:])
                        break
                    texts.append(text)
                spent += ended.get("seconds", 0.0)
                print(f"{ended} {line.command}")
                assert ended.get("code") == line.code, (line, "".join(texts)[-1500:], log.read_text()[-1500:])
                if line.command.startswith("export"):
                    for word in shlex.split(line.command)[1:]:
                        name, _, value = word.partition("=")
                        environment[name] = value
        finally:
            if not ended:
                shell.kill()
            shell.stdin.close()
    print(f"{spent:.0f} s of processor time")
    wanted = (
        "findings.jsonl", "report.sarif", "report.html", "evaluation.html", "judges.json", "build/release/MODEL_CARD.md",
        "build/dataset/manifest.json", "build/judge-1/model.safetensors",
    )  # fmt: skip
    assert [name for name in wanted if not (tmp_path / name).exists()] == []
