"""How the embedded release covers the codes of a taxonomy, for the command line and the console."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from dialint.detector.calibration import NEEDS_JUDGE, CodeRelease
from dialint.detector.errors import ReleaseRefused
from dialint.detector.release import expand_checks
from dialint.detector.taxonomy import PACKAGED, Code, Taxonomy

EMBEDDED = PACKAGED.with_name("embedded") / "release.json"

Coverage: TypeAlias = Mapping[str, CodeRelease]
"""How a release finds each code that it covers."""


def load_coverage(release: Path, taxonomy: Taxonomy) -> Coverage | None:
    """How the release described in the file `release` finds its codes; None if there is no release.

    A release made for another major version of the taxonomy covers none of this one: equal letters
    need not mean the same error.

    Raises:
        ReleaseRefused: the file is there and is not a release's description.
    """
    try:
        described = json.loads(expand_checks(release.read_bytes()))
        covered = TypeAdapter(dict[str, CodeRelease]).validate_json(json.dumps(described["codes"]))
        release_taxonomy = described.get("taxonomy", taxonomy.version)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ReleaseRefused("E_RELEASE", f"{release}: not a release's description") from None
    if not taxonomy.fits(release_taxonomy):
        return {}
    return {code: how for code, how in covered.items() if code in taxonomy.codes}


def show_severities(code: Code) -> str:
    """The usual severity, then the others it may get: ``S3 (S2 S4)``."""
    others = " ".join(severity for severity in code.severities if severity != code.severity)
    return f"{code.severity} ({others})" if others else code.severity


def describe_coverage(covered: Coverage, code: str) -> str:
    """``scan, check`` for a code that both may report, ``needs a judge`` for one that nothing covers."""
    return ", ".join(covered[code].covered_by if code in covered else ()) or NEEDS_JUDGE
