"""Missed errors: recall from read dialogues, the readings that it takes, and groups of similar errors.

Groups are of similar words only (TF-IDF): candidates for a rule or a code, which a person decides on.
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
"""Least number of dialogues with similar errors that make a group."""
MAX_PLACES = 2000
"""Places that are grouped; memory grows with their square."""
MAX_DISTANCE = 0.85
"""Largest mean cosine distance within a group."""
NOT_WORDS = re.compile(r"^\w+:|\[not seen by the customer:?")
"""The parts of a turn's line that are not its words."""


@dataclass(frozen=True)
class Recall:
    """The shares of the `n_flagged` units that dialint reports and of the `n_unflagged` others with an
    error."""

    flagged: Rate
    n_flagged: float
    unflagged: Rate
    n_unflagged: float

    @property
    def estimate(self) -> Estimate:
        """The share of the log's errors that are reported. Its interval has the values that the readings do
        not exclude (Fieller's argument: the r for which (1 - r) times hits - r times misses may be zero)."""
        n = int(self.flagged.reads + self.unflagged.reads)
        if not self.n_flagged:
            return Estimate(0.0 if self.unflagged.errors else math.nan, 0.0, 0.0, n)
        hits, misses = self.n_flagged * self.flagged.value, self.n_unflagged * self.unflagged.value
        if not hits + misses > 0:
            return Estimate(math.nan, 0.0, 1.0, n)
        return Estimate(hits / (hits + misses), self._bound(0), self._bound(1), n)

    def _bound(self, side: int) -> float:
        """Returns the r at which the lower (0) or upper (1) end of the interval of the sum crosses zero."""
        inside = [0.0, 1.0]
        for _ in range(30):
            r = sum(inside) / 2
            terms = [((1.0 - r) * self.n_flagged, self.flagged), (-r * self.n_unflagged, self.unflagged)]
            inside[not linear_interval(terms, exact=True)[side] > 0.0] = r
        return inside[0]

    def reads_for_width(self, width: float, n_read: int, n_all: int) -> int | None:
        """Returns how many dialogues must be read at random in all for an interval of at most `width`, if
        shares stay as they are; None if even all do not suffice."""

        def is_enough(n: float) -> bool:
            flagged, unflagged = (
                replace(rate, n=rate.n * n / n_read) for rate in (self.flagged, self.unflagged)
            )
            estimate = replace(self, flagged=flagged, unflagged=unflagged).estimate
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
    """An error that a person added; `text` is masked, `is_suggested` if dialint made a suggestion of it."""

    dialogue: str
    turn: int
    code: str
    text: str
    is_suggested: bool


@dataclass(frozen=True)
class BlindSpot:
    """Added errors of similar words, and the words that distinguish them from the others."""

    errors: tuple[AddedError, ...]
    terms: tuple[str, ...]

    @property
    def codes(self) -> Counter[str]:
        """The number of errors by code."""
        return Counter(error.code for error in self.errors)

    @property
    def dialogues(self) -> tuple[str, ...]:
        return tuple(sorted({error.dialogue for error in self.errors}))

    @property
    def proposal(self) -> str:
        """The change that a person may make about it."""
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
        """Returns it as JSON, without text."""
        places = [{"dialogue": e.dialogue, "turn": e.turn, "code": e.code} for e in self.errors]
        return {"proposal": self.proposal, "terms": self.terms, "places": places}


def group_added(added: Sequence[AddedError]) -> list[BlindSpot]:
    """Returns groups of similar words from `LEAST_DIALOGUES` dialogues or more, the largest first. Errors of
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
