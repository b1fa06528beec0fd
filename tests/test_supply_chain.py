"""The pins, their hashes, and what the audit of vulnerabilities says of what it could not look up."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def pins(text: str) -> dict[str, str]:
    pairs = re.findall(r"^([A-Za-z0-9._-]+)==([^ \\\n]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_package_is_locked_by_hash_at_the_pinned_version() -> None:
    text = (ROOT / "requirements.lock").read_text()
    locked, pinned = pins(text), pins((ROOT / "constraints.txt").read_text())
    assert len(locked) > 100
    assert {name: pinned.get(name) for name in locked} == locked
    for entry in re.split(r"\n(?=\S)", text):
        if not entry.startswith("#"):
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry.split()[0]


def test_the_lock_has_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [
        "train",
        "quantise",
        "private",
        "search",
        "crowd",
        "console",
        "report",
        "judge",
        "serve",
        "otel",
        "dev",
    ]
    requirements = [
        *project["dependencies"],
        *(text for extra in extras for text in project["optional-dependencies"][extra]),
    ]
    direct = {canonicalize_name(Requirement(text).name) for text in requirements} - {"dialint"}
    assert len(direct) > 30
    assert direct <= set(pins((ROOT / "requirements.lock").read_text()))


def test_the_audit_tells_packages_without_data_from_packages_without_vulnerabilities() -> None:
    audit = runpy.run_path(str(ROOT / "runs/audit.py"))
    clean = {"name": "a", "version": "1", "vulns": []}
    skipped = {"name": "b", "skip_reason": "not found"}
    bad = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
    for packages, lines, code in (
        ([skipped, skipped], ["no vulnerability data to be had here: none of 2 packages was audited"], 0),
        ([clean, skipped], ["1 packages audited, 0 with known vulnerabilities", "not audited: b"], 0),
        ([clean, bad], ["c 2: CVE-1, fixed in 3", "2 packages audited, 1 with known vulnerabilities"], 1),
    ):
        assert audit["report"](packages) == (lines, code)
