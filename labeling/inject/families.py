"""Every family of errors there is. Which are held out is said here and nowhere else."""

from __future__ import annotations

from labeling.inject import completeness, language, resolution, security, state, template, tone
from labeling.inject.draft import Family


def all_families() -> tuple[Family, ...]:
    """All families, sorted by code and name.

    Raises:
        ValueError: two families have one name, or one is not named "<code>.<name>".
    """
    found = [
        family
        for module in (language, template, completeness, state, resolution, tone, security)
        for family in module.FAMILIES
    ]
    names = [family.name for family in found]
    if len(names) != len(set(names)):
        raise ValueError("two families share a name")
    return tuple(sorted(found, key=lambda family: (family.code, family.name)))
