"""Every family of errors and of hard negatives there is, gathered from the modules of the categories."""

from __future__ import annotations

from dialint.labeling.synthetic import (
    completeness,
    contradiction,
    contradiction_planted,
    empathy,
    grammar,
    mismatched_replies,
    process,
    repetition,
    resolution,
    security,
    spelling,
    state,
    state_planted,
    template,
    tone,
    topic,
)
from dialint.labeling.synthetic.draft import Family, HardNegative

_MODULES = (
    spelling,
    grammar,
    tone,
    empathy,
    template,
    repetition,
    completeness,
    mismatched_replies,
    state,
    state_planted,
    contradiction,
    contradiction_planted,
    topic,
    security,
    resolution,
    process,
)


def all_families() -> tuple[Family, ...]:
    """All families, sorted by code and name.

    Raises:
        ValueError: two families have one name, or one is not named "<code>.<name>".
    """
    families = [family for module in _MODULES for family in module.FAMILIES]
    names = [family.name for family in families]
    if len(names) != len(set(names)):
        raise ValueError("two families share a name")
    if any(not family.name.startswith(f"{family.code}.") for family in families):
        raise ValueError("a family's name must begin with its code")
    return tuple(sorted(families, key=lambda family: (family.code, family.name)))


def all_negatives() -> tuple[HardNegative, ...]:
    """All hard negatives, sorted by code and name.

    Raises:
        ValueError: two have one name, or one is not named "<code>.not-<idea>".
    """
    negatives = [negative for module in _MODULES for negative in module.NEGATIVES]
    names = [negative.name for negative in negatives]
    if len(names) != len(set(names)):
        raise ValueError("two hard negatives share a name")
    if any(not negative.name.startswith(f"{negative.code}.not-") for negative in negatives):
        raise ValueError('a hard negative\'s name must begin with its code and "not-"')
    return tuple(sorted(negatives, key=lambda negative: (negative.code, negative.name)))
