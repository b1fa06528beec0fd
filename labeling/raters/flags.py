"""Flags: reasons to review the work of a person or of a group, and the levels from which they are raised.

A flag is a suspicion and not a proof, and is worded so: it leads to a control task or a conversation, and a
person decides. The flag "second school" is about the instructions, not about its workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats

Kind = Literal["no knowledge", "one answer", "contrary", "too fast", "unread", "copying", "second school"]


@dataclass(frozen=True)
class Flag:
    """A suspicion against `workers`: one, or a group that agrees on wrong answers.

    `p_value` is the probability of such evidence among honest people, before the correction for multiple
    tests; none where `probability` (of the suspicion, 0 to 1) takes its place. `n` is the number of answers
    that the evidence is from; `why` is a sentence with the figures and no text of a dialogue.
    """

    kind: Kind
    workers: tuple[str, ...]
    n: int
    why: str
    p_value: float | None = None
    probability: float | None = None

    @property
    def personal(self) -> bool:
        """Whether it is about its workers; a second school is about the instructions."""
        return self.kind != "second school"


def format_certainty(flag: Mapping[str, Any]) -> str:
    """The probability or the p-value of a flag, given as a JSON object, for a table."""
    if flag["probability"] is not None:
        return f"probability {flag['probability']:.3f}"
    return "p < 1e-15" if flag["p_value"] < 1e-15 else f"p {flag['p_value']:.1g}"


def benjamini_hochberg(p_values: Floats, rate: float) -> NDArray[np.bool_]:
    """Select those of `p_values`, shape (tests,), for which the false discovery rate is at most `rate`: a
    mask of the same shape."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p_values) <= rate, bool) if len(p_values) else np.zeros(0, bool)


def binomial_tail(k: Floats, n: Floats, share: Floats | float) -> Floats:
    """The probability of `k` or more successes, `k` at least 1, of a binomial with `n` trials and success
    probability `share`; `k` and `n` need not be whole."""
    from scipy.special import betainc

    return np.asarray(betainc(k, np.maximum(n - k, 0.0) + 1.0, share), float)


WORDS_PER_MINUTE = 1000.0
"""Four times what adults read on average (238 words of prose: Brysbaert, J. Mem. Lang. 109, 2019)."""


SURE = 0.95
"""Probability of no knowledge from which a flag is raised."""
FALSE_DISCOVERY_RATE = 0.01
"""Of the flags of each other kind: for speed, copying and contrary answers."""
