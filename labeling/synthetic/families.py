"""Every family of errors and of hard negatives there is, gathered from the modules that make them."""

from __future__ import annotations

from dialint.labeling.inject.exam import completeness as exam_completeness
from dialint.labeling.inject.exam import contradiction as exam_contradiction
from dialint.labeling.inject.exam import empathy as exam_empathy
from dialint.labeling.inject.exam import jumps as exam_jumps
from dialint.labeling.inject.exam import language as exam_language
from dialint.labeling.inject.exam import repetition as exam_repetition
from dialint.labeling.inject.exam import resolution as exam_resolution
from dialint.labeling.inject.exam import security as exam_security
from dialint.labeling.inject.exam import state as exam_state
from dialint.labeling.inject.exam import template as exam_template
from dialint.labeling.inject.exam import tone as exam_tone
from dialint.labeling.synthetic import (
    completeness,
    contradiction,
    process,
    repetition,
    resolution,
    security,
    spelling,
    state,
    template,
    tone,
    topic,
)
from dialint.labeling.synthetic.draft import Family, HardNegative

_MODULES = (
    spelling,
    tone,
    template,
    repetition,
    completeness,
    state,
    contradiction,
    topic,
    security,
    resolution,
    process,
    exam_language,
    exam_tone,
    exam_empathy,
    exam_template,
    exam_repetition,
    exam_completeness,
    exam_state,
    exam_contradiction,
    exam_jumps,
    exam_security,
    exam_resolution,
)


def all_families() -> tuple[Family, ...]:
    """All families, sorted by code and name.

    Raises:
        ValueError: two families have one name, or one is not named "<code>.<name>".
    """
    found = [family for module in _MODULES for family in module.FAMILIES]
    names = [family.name for family in found]
    if len(names) != len(set(names)):
        raise ValueError("two families share a name")
    if any(not family.name.startswith(f"{family.code}.") for family in found):
        raise ValueError("a family's name must begin with its code")
    return tuple(sorted(found, key=lambda family: (family.code, family.name)))


def all_negatives() -> tuple[HardNegative, ...]:
    """All hard negatives, sorted by code and name.

    Raises:
        ValueError: two have one name, or one is not named "<code>.not-<idea>".
    """
    found = [negative for module in _MODULES for negative in getattr(module, "NEGATIVES", ())]
    names = [negative.name for negative in found]
    if len(names) != len(set(names)):
        raise ValueError("two hard negatives share a name")
    if any(not negative.name.startswith(f"{negative.code}.not-") for negative in found):
        raise ValueError('a hard negative\'s name must begin with its code and "not-"')
    return tuple(sorted(found, key=lambda negative: (negative.code, negative.name)))
