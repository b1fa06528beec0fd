"""The house itself: the floor plan, the quick command line, the licence, the README's commands."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import dialint

ROOT = Path(__file__).parents[1]
ROOMS = ("app", "detector", "eval", "finetune", "labeling")


def run(
    *command: str, env: dict[str, str] | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip


def test_the_floor_plan_holds(tmp_path: Path) -> None:
    """import-linter reads folders and follows neither import hooks nor links below a package."""
    (tmp_path / "dialint").mkdir()
    for room in ROOMS:
        (tmp_path / "dialint" / room).symlink_to(ROOT / room)
    command = str(Path(sys.executable).with_name("lint-imports"))
    result = run(
        command, "--no-cache", "--config", str(ROOT / "pyproject.toml"), env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


HEAVY = {"torch", "transformers", "pyarrow", "numpy", "tokenizers", "safetensors"}


HOMES = {
    "torch": ("finetune", "detector/engines"),
    "transformers": ("finetune", "detector/engines"),
    "peft": ("finetune", "detector/engines"),
    "fastapi": ("app/serving",),
    "streamlit": ("app/console",),
    "crowdkit": ("labeling",),
    "sqlalchemy": ("labeling/store",),
    "alembic": ("labeling/store",),
}


def test_heavy_packages_stay_in_their_rooms() -> None:
    """At module level: a stage may import torch inside a function to set threads or look for a GPU."""
    heavy = re.compile(rf"^(?:import|from) ({'|'.join(HOMES)})\b", re.MULTILINE)
    strangers = [
        (str(path.relative_to(ROOT)), package)
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for package in heavy.findall(path.read_text())
        if not str(path.relative_to(ROOT)).startswith(HOMES[package])
    ]
    assert strangers == []


def test_every_folder_with_code_is_a_package() -> None:
    """Otherwise `setup.py` would not find it, and its modules would be missing where dialint is installed."""
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what is tracked, and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("app", "detector", "dialint", "eval", "finetune", "labeling"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source" / name)
    build = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir"]
    result = run(sys.executable, *build, str(folder), "./source", cwd=folder)
    assert result.returncode == 0, result.stderr
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_wheel_has_one_top_level_name_and_every_file(wheel: Path) -> None:
    assert [path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")] == ["dialint"]
    tracked = run("git", "ls-files", *ROOMS).stdout.split()
    assert [name for name in tracked if not (wheel / "dialint" / name).exists()] == []
    assert (wheel / "dialint/py.typed").exists()


@pytest.mark.slow
@pytest.mark.parametrize("installed", [False, True], ids=["editable", "from a wheel"])
def test_a_users_own_folders_hide_none_of_ours(installed: bool, wheel: Path, tmp_path: Path) -> None:
    for room in (*ROOMS, "tests"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise RuntimeError('the user's own')\n")
    shutil.copy(ROOT / "app/sample/dialogues.jsonl", tmp_path / "log.jsonl")
    path = os.pathsep.join((".", str(wheel))) if installed else "."
    script = str(Path(sys.executable).with_name("dialint"))
    command = (sys.executable, "-m", "dialint") if installed else (script,)
    score = (*command, "score", "log.jsonl", "--out", "out.jsonl", "--limit", "1")
    for words in (score, (*command, "train", "sft", "scan", "--help")):
        result = run(*words, env={"PYTHONPATH": path}, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    code = "from dialint import app; print(app.__file__)"
    where = run(sys.executable, "-c", code, env={"PYTHONPATH": path}, cwd=tmp_path)
    assert Path(where.stdout).is_relative_to(wheel if installed else ROOT)


def test_help_and_the_public_names_are_light() -> None:
    """In one process: each start takes a second."""
    code = f"""
import sys, dialint
from dialint.app.cli import main
for words in (["--help"], ["score", "--help"], ["--version"]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        assert not end.code
import dialint.app.scoring.loop  # workers scan, not the process that reads and writes
print("HEAVY", sorted({HEAVY!r} & set(sys.modules)))
print(dialint.__version__, *(getattr(dialint, name) is not None for name in dialint.__all__))
"""
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    *_, heavy, names = result.stdout.splitlines()
    assert heavy == "HEAVY []"
    assert names.split() == [dialint.__version__, *["True"] * len(dialint.__all__)]


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_and_paths_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target, _, anchor in re.findall(r"\]\(([\w./-]*)(#?)([\w-]*)\)", text):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), (target, anchor)
    if "experiments" not in page.parts:  # those name files of their day
        for name in re.findall(r"`((?:detector|labeling|finetune|eval|app|runs|tests|docs)/[\w./-]+)`", text):
            assert (ROOT / name).exists(), name


def test_the_readme_names_targets_of_the_makefile() -> None:
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", readme, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_the_taxonomy_version_is_the_one_the_readme_shows() -> None:
    version = yaml.safe_load((ROOT / "detector/taxonomy.yaml").read_text())["version"]
    assert f'"taxonomy": "{version}"' in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_demo_walk_runs(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("dialint")
    result = run("bash", "runs/demo.sh", str(tmp_path / "demo"), env={"DIALINT": str(command)})
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "verdicts.jsonl", "verdicts.rejects.jsonl", "verdicts.manifest.json",
        "findings.sarif", "findings.sarif.rejects.jsonl", "findings.sarif.manifest.json",
    }  # fmt: skip


CEILINGS = {
    "lines of the packages": 87_100,
    "modules of the packages": 392,
    "lines of the tests": 51_800,
    "private functions of modules that one place mentions, of 100": 59,
}
"""Limits of the size of the house, to be lowered with it. The complexity of functions has its limit in
`pyproject.toml` (ruff, C901); import-linter refuses cycles."""


def test_the_house_stays_below_its_ceilings() -> None:
    texts = {
        path: path.read_text("utf-8")
        for room in (*ROOMS, "dialint", "tests")
        for path in (ROOT / room).rglob("*.py")
    }
    packages = {path: text for path, text in texts.items() if ROOT / "tests" not in path.parents}
    mentions = [
        len(re.findall(rf"\b{node.name}\b", text)) - 1
        for text in packages.values()
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and re.match(r"_(?!_)", node.name)
    ]
    n_lines = sum(text.count("\n") for text in packages.values())
    figures = (
        n_lines,
        len(packages),
        sum(text.count("\n") for text in texts.values()) - n_lines,
        100 * mentions.count(1) / len(mentions),
    )
    measured = dict(zip(CEILINGS, figures, strict=True))
    assert {name: n for name, n in measured.items() if n > CEILINGS[name]} == {}


def test_docstrings_state_what_is_returned() -> None:
    """Not "What ..." or "Whether ...", which leave it open whether a function returns, checks or prints that."""
    documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
    opening = re.compile(r"(?:What|Whether|Where|How|Who|When|Which)\b")
    questions = [
        f"{path.relative_to(ROOT)}: {docstring}"
        for room in (*ROOMS, "dialint")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, documented) and opening.match(docstring := ast.get_docstring(node) or "")
    ]
    assert questions == []
