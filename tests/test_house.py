"""The house itself: the floor plan, the quick command line, the licence, the README's commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_the_floor_plan_holds() -> None:
    result = run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache")
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


HEAVY = {"torch", "transformers", "pyarrow", "numpy", "tokenizers", "safetensors"}


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys, app.cli\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try:\n    app.cli.main()\n"
        f"finally:\n    print('HEAVY', sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.rstrip().endswith("HEAVY []")


HOMES = {
    "torch": ("finetune", "detector/engines"),
    "transformers": ("finetune", "detector/engines"),
    "peft": ("finetune", "detector/engines"),
    "vllm": ("detector/engines",),
    "streamlit": ("app/console",),
    "crowdkit": ("labeling",),
}


@pytest.mark.parametrize("package", HOMES)
def test_heavy_packages_stay_in_their_rooms(package: str) -> None:
    """At module level: a stage may import torch inside a function to set threads or look for a GPU."""
    rooms = ("detector", "labeling", "finetune", "eval", "app")
    strangers = [
        path.relative_to(ROOT)
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        if re.search(rf"^(import|from) {package}\b", path.read_text(), re.MULTILINE)
        and not str(path.relative_to(ROOT)).startswith(HOMES[package])
    ]
    assert strangers == []


def test_every_package_folder_is_listed() -> None:
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for room in ("detector", "labeling", "finetune", "eval", "app")
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert found == listed


def test_the_readme_names_real_commands_and_files() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in re.findall(r"`((?:detector|labeling|finetune|eval|app|runs|tests|docs)/[\w./-]+)`", readme):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\]\(([\w./-]+)\)", readme):
        assert (ROOT / name).exists(), name
    assert "@@" not in readme
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", readme, re.MULTILINE):
        assert f"\n{target}:" in makefile
    for command in set(re.findall(r"^dialint (\w+)", readme, re.MULTILINE)):
        assert run(sys.executable, "-m", "app.cli", command, "--help").returncode == 0, command


def test_the_taxonomy_version_is_the_one_the_readme_shows() -> None:
    version = yaml.safe_load((ROOT / "detector/taxonomy.yaml").read_text())["version"]
    assert f'"taxonomy": "{version}"' in (ROOT / "README.md").read_text()


def test_the_demo_walk_runs(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("dialint")
    result = subprocess.run(
        ["bash", "runs/demo.sh", str(tmp_path / "demo")],
        cwd=ROOT, env={**os.environ, "DIALINT": str(command)}, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "verdicts.jsonl", "verdicts.rejects.jsonl", "verdicts.manifest.json",
        "findings.sarif", "findings.sarif.rejects.jsonl", "findings.sarif.manifest.json",
    }  # fmt: skip
