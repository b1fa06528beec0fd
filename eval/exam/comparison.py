"""Two detectors on the same dialogues: the difference of their figures, paired.

Both are measured under the same draws, so a round's difference is that of one and the same resampled
set; what makes both better or worse cancels. A difference whose interval holds 0 is no difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dialint.eval.exam.figures import MACRO, Examined
from dialint.eval.exam.summary import shown

BY_CODE = ("average_precision", "f1", "pair_auc")
"""Figures compared code by code."""


def difference(mine: Examined, theirs: Examined) -> dict[str, Any]:
    """`mine` less `theirs`: `macro` over all codes with an error in the set, `macro_covered` over those
    of them that `mine` covers, `codes` one by one; each figure as value and 95 % interval."""
    covered = [code for code in mine.present if code in mine.covered]
    return {
        "macro": {name: _apart(mine, theirs, name, mine.present) for name in MACRO},
        "macro_covered": {name: _apart(mine, theirs, name, covered) for name in MACRO},
        "whole": {name: _row(values - theirs.whole[name]) for name, values in mine.whole.items()},
        "codes": {
            code: {name: _row(mine.codes[code][name] - theirs.codes[code][name]) for name in BY_CODE}
            for code in mine.present
        },
    }


def _apart(mine: Examined, theirs: Examined, name: str, codes: tuple[str, ...] | list[str]) -> Any:
    return _row(mine.macro(name, codes) - theirs.macro(name, codes))


def _row(values: np.ndarray) -> dict[str, float | None]:
    return dict(zip(("difference", "low", "high"), shown(values), strict=True))
