"""The pins, their hashes, and what the audit of vulnerabilities says of what it could not look up."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "runs/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(text: str) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^ \\\n]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def test_every_package_is_locked_by_hash_at_the_pinned_version() -> None:
    text = (ROOT / "requirements.lock").read_text()
    locked, pinned = pins(text), pins((ROOT / "constraints.txt").read_text())
    assert len(locked) > 100
    assert {name: pinned.get(name) for name in locked} == locked
    for entry in re.split(r"\n(?=\S)", text):
        if not entry.startswith("#"):
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry.split()[0]


def test_the_lock_has_every_direct_dependency() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    extras = project.split("[project.optional-dependencies]")[0] + "".join(
        re.findall(
            r"^(?:train|quantise|private|search|crowd|console|report|judge|dev) = \[.*?\]$",
            project,
            re.MULTILINE | re.DOTALL,
        )
    )
    direct = {canonicalize_name(name) for name in re.findall(r'"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=', extras)}
    direct -= {"setuptools"}
    assert len(direct) > 30
    assert direct <= set(pins((ROOT / "requirements.lock").read_text()))


def test_the_audit_tells_packages_without_data_from_packages_without_vulnerabilities(
    audit: ModuleType,
) -> None:
    clean = {"name": "a", "version": "1", "vulns": []}
    skipped = {"name": "b", "skip_reason": "not found"}
    bad = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
    assert audit.report([skipped, skipped]) == (
        ["no vulnerability data to be had here: none of 2 packages was audited"],
        0,
    )
    assert audit.report([clean, skipped]) == (
        ["1 packages audited, 0 with known vulnerabilities", "not audited: b"],
        0,
    )
    assert audit.report([clean, bad]) == (
        ["c 2: CVE-1, fixed in 3", "2 packages audited, 1 with known vulnerabilities"],
        1,
    )
