"""Audits the pinned packages for known vulnerabilities with pip-audit.

    python runs/audit.py requirements.lock

pip-audit skips packages that it could not look up and still reports "no known vulnerabilities found". This
prints how many packages were audited, so that an index without vulnerability data is no clean result. Exit
code 0: none found, or no data, as printed; 1: vulnerabilities; 2: pip-audit failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def report(dependencies: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Returns the lines to print and the exit code for the `dependencies` in pip-audit's JSON."""
    skipped = [each["name"] for each in dependencies if "skip_reason" in each]
    vulnerable = [each for each in dependencies if each.get("vulns")]
    lines = [
        f"{each['name']} {each['version']}: {vuln['id']}, "
        f"fixed in {', '.join(vuln['fix_versions']) or 'no version yet'}"
        for each in vulnerable
        for vuln in each["vulns"]
    ]
    audited = len(dependencies) - len(skipped)
    if not audited:
        lines.append(
            f"no vulnerability data to be had here: none of {len(dependencies)} packages was audited"
        )
    else:
        lines.append(f"{audited} packages audited, {len(vulnerable)} with known vulnerabilities")
        if skipped:
            lines.append(f"not audited: {' '.join(skipped)}")
    return lines, int(bool(vulnerable))


def main(lock: str) -> int:
    """Audits the pins in `lock`; returns the exit code."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", lock, "--no-deps", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (json.JSONDecodeError, KeyError):
        if "ConnectionError" in done.stderr or "Max retries" in done.stderr:
            print("no vulnerability data to be had here: no connection, nothing was audited")
            return 0
        print(f"pip-audit failed: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return 2
    lines, code = report(dependencies)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
