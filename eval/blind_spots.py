"""What dialint does not find: recall from read dialogues, the reading it takes, and groups of missed errors.

Groups are of like words only (TF-IDF): they are candidates for a rule or a code, which a person decides on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialint.detector.statistics import Estimate, Rate, linear_interval

LEAST_DIALOGUES = 3
"""Dialogues from which like errors are a group."""
MAX_PLACES = 2000
"""Places that are grouped; memory grows with their square."""
MAX_DISTANCE = 0.85
"""Largest mean cosine distance within a group."""
NOT_WORDS = re.compile(r"^\w+:|\[not seen by the customer:?")
"""What a line of a turn has beside its words."""


@dataclass(frozen=True)
class Recall:
    """`n_flagged` units of a log that dialint reports, `found` the share of them with an error; `n_unflagged`
    others, `missed` the share of those."""

    found: Rate
    n_flagged: float
    missed: Rate
    n_unflagged: float

    @property
    def estimate(self) -> Estimate:
        """The share of the log's errors that are reported; its interval are the values that the readings do
        not exclude (Fieller's argument: the r for which (1 - r) times found - r times missed may be zero)."""
        n = int(self.found.reads + self.missed.reads)
        if not self.n_flagged:
            return Estimate(0.0 if self.missed.errors else math.nan, 0.0, 0.0, n)
        found, missed = self.n_flagged * self.found.value, self.n_unflagged * self.missed.value
        if not found + missed > 0:
            return Estimate(math.nan, 0.0, 1.0, n)
        return Estimate(found / (found + missed), self._bound(0), self._bound(1), n)

    def _bound(self, side: int) -> float:
        """The r at which the lower (0) or upper (1) end of the interval of the sum passes zero."""
        inside = [0.0, 1.0]
        for _ in range(30):
            r = sum(inside) / 2
            terms = [((1.0 - r) * self.n_flagged, self.found), (-r * self.n_unflagged, self.missed)]
            inside[not linear_interval(terms, exact=True)[side] > 0.0] = r
        return inside[0]

    def reads_for_width(self, width: float, n_read: int, n_all: int) -> int | None:
        """How many dialogues must be read at random in all for an interval of at most `width`, if shares stay
        as they are; None if even all do not suffice."""

        def is_enough(n: float) -> bool:
            found, missed = (replace(rate, n=rate.n * n / n_read) for rate in (self.found, self.missed))
            estimate = replace(self, found=found, missed=missed).estimate
            return estimate.high - estimate.low <= width

        if not is_enough(n_all):
            return None
        low, high = 0, n_all
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high


@dataclass(frozen=True)
class AddedError:
    """An error that a person added; `text` is masked, `is_suggested` says that dialint suggested it."""

    dialogue: str
    turn: int
    code: str
    text: str
    is_suggested: bool


@dataclass(frozen=True)
class BlindSpot:
    """Added errors of like words, and the words that tell them from the others."""

    errors: tuple[AddedError, ...]
    terms: tuple[str, ...]

    @property
    def codes(self) -> Counter[str]:
        """How often people gave which code."""
        return Counter(error.code for error in self.errors)

    @property
    def dialogues(self) -> tuple[str, ...]:
        return tuple(sorted({error.dialogue for error in self.errors}))

    @property
    def proposal(self) -> str:
        """What a person may do about it."""
        suggested = Counter(error.code for error in self.errors if error.is_suggested)
        if 2 * (n := suggested.total()) >= len(self.errors):
            codes = " ".join(sorted(suggested))
            return f"{n} of them are suggestions: candidate for a lower threshold of {codes}"
        (code, n), *_ = self.codes.most_common(1)
        if 2 * n > len(self.errors):
            return f"candidate for a rule of {code}"
        return "candidate for a code of its own: people gave " + ", ".join(
            f"{name} {count}" for name, count in self.codes.most_common(4)
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, without text."""
        places = [{"dialogue": e.dialogue, "turn": e.turn, "code": e.code} for e in self.errors]
        return {"proposal": self.proposal, "terms": self.terms, "places": places}


def group_added(added: Sequence[AddedError]) -> list[BlindSpot]:
    """Return groups of like words from `LEAST_DIALOGUES` dialogues or more, the largest first. Errors of
    several codes at one turn are in one group."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.feature_extraction.text import TfidfVectorizer

    added = added[:MAX_PLACES]
    texts = sorted({error.text for error in added if error.text.strip()})
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, token_pattern=r"(?u)\b[^\W\d_]{2,}\b",
        preprocessor=lambda text: NOT_WORDS.sub(" ", text).lower(),
    )  # fmt: skip
    try:
        weights = vectorizer.fit_transform(texts).toarray()
    except ValueError:  # no text, or no word in any of them
        return []
    has_words = weights.any(axis=1)
    texts, weights = [text for text, words in zip(texts, has_words, strict=True) if words], weights[has_words]
    clustering = AgglomerativeClustering(
        n_clusters=None, distance_threshold=MAX_DISTANCE, metric="cosine", linkage="average"
    )
    labels = clustering.fit_predict(weights) if len(texts) > 1 else np.zeros(len(texts), int)
    cluster_of = dict(zip(texts, labels.tolist(), strict=True))
    names, groups = vectorizer.get_feature_names_out(), []
    for cluster in range(labels.max() + 1):
        errors = tuple(error for error in added if cluster_of.get(error.text) == cluster)
        apart = weights[labels == cluster].mean(axis=0) - weights.mean(axis=0)
        terms = tuple(str(names[index]) for index in np.argsort(-apart, kind="stable")[:4])
        groups.append(BlindSpot(errors, terms))
    groups = [group for group in groups if len(group.dialogues) >= LEAST_DIALOGUES]
    return sorted(groups, key=lambda group: (-len(group.dialogues), group.terms))
