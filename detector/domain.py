"""How far a log is from the dialogues that a release was calibrated on, and what follows from it.

A release holds the word pairs that are frequent in those dialogues, as hashes, so that no text of theirs
ships. The distance of a log is the share of its dialogues' word pairs that are not among them. It sees other
words and another order of words; it does not see who speaks, nor the order of turns. It says nothing about a
single dialogue, and nothing about exact checks, which prove what they find from the log itself. How the
statistic, the threshold and the curve were chosen: docs/experiments/natural.md.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Annotated
from zlib import crc32

from pydantic import Field, field_validator

from dialint.detector.calibration import sigmoid
from dialint.detector.records import Dialogue, Probability, Record

MEASURED_DIALOGUES = 500
"""Most dialogues of a log that its distance is measured on, the first ones."""
MIN_DIALOGUES = 20
"""Dialogues below which a log is not called far."""
MIN_REFERENCE = 1000
"""Dialogues that a reference needs: fewer hold too few of the pairs of their own domain."""
MAX_PAIRS = 20_000
"""Most word pairs of a reference: those in most dialogues."""
HASH_BYTES = 3
_WORD = re.compile(r"[^\W\d_]++")
FAR = 0.555
"""Distance from which a log is far: halfway between the farthest near log that was tried and the nearest far
one (2026-11-23, docs/experiments/natural.md)."""
SLOPE, OFFSET = 0.15, -2.2
"""Fitted on 98 judged suspicions in translated Weibo chats, of which 11 were right: the scan's probability
says little there (2026-11-23, docs/experiments/natural.md)."""


def word_pairs(dialogue: Dialogue) -> set[int]:
    """The hashes of the pairs of neighbouring words of what was said, begins and ends of turns included, each
    below 2 ** (8 * `HASH_BYTES`)."""
    pairs: set[int] = set()
    for turn in dialogue.turns:
        if turn.role in ("system", "tool") or turn.is_unseen:
            continue
        words = ["", *_WORD.findall(turn.text.casefold()), ""]
        pairs.update(_hash(f"{a} {b}") for a, b in pairwise(words))
    return pairs


def _hash(text: str) -> int:
    return crc32(text.encode()) >> (32 - 8 * HASH_BYTES)


class Domain(Record):
    """What a release was calibrated on, and how it judges a log that is far from that; part of
    `release.json`.

    `pairs` are the hashed word pairs of `n_dialogues` dialogues, `HASH_BYTES` bytes each, sorted, in base64;
    `corpora` names where they are from. A log is far from the distance `far_from` on. There a probability of
    the scan is sigmoid(`slope` x its logit + `offset`), as fitted on judged findings in far logs.
    """

    pairs: str
    corpora: tuple[str, ...]
    n_dialogues: Annotated[int, Field(ge=1)]
    far_from: Probability = FAR
    slope: Annotated[float, Field(gt=0)] = SLOPE
    offset: float = OFFSET

    @field_validator("pairs")
    @classmethod
    def _check_pairs(cls, value: str) -> str:
        if len(b64decode(value, validate=True)) % HASH_BYTES:
            raise ValueError(f"pairs must be {HASH_BYTES} bytes each")
        return value

    @cached_property
    def _hashes(self) -> frozenset[int]:
        content = b64decode(self.pairs)
        starts = range(0, len(content), HASH_BYTES)
        return frozenset(int.from_bytes(content[start : start + HASH_BYTES], "big") for start in starts)

    def count_unknown(self, dialogue: Dialogue) -> tuple[int, int]:
        """How many different word pairs of a dialogue the reference lacks, and how many there are."""
        pairs = word_pairs(dialogue)
        return len(pairs - self._hashes), len(pairs)

    def is_far(self, distance: float | None, n_dialogues: int) -> bool:
        """Whether a log of `n_dialogues` at this distance is far."""
        return distance is not None and n_dialogues >= MIN_DIALOGUES and distance >= self.far_from

    def temper(self, probability: float) -> float:
        """The probability of a suspicion of the scan in a far log. Never more than it was, and an exact 0
        stays, as the code does not apply there."""
        if probability <= 0.0:
            return 0.0
        limited = min(probability, 1 - 1e-12)
        z = self.slope * math.log(limited / (1 - limited)) + self.offset
        return min(probability, sigmoid(z))


def fit_domain(corpora: dict[str, Iterable[Dialogue]]) -> Domain | None:
    """The reference made of dialogues by the name of their corpus; None for fewer than `MIN_REFERENCE`.
    Corpora count by their numbers of dialogues."""
    counts: Counter[int] = Counter()
    n = 0
    for dialogues in corpora.values():
        for dialogue in dialogues:
            counts.update(word_pairs(dialogue))
            n += 1
    if n < MIN_REFERENCE:
        return None
    frequent = sorted(counts, key=lambda pair: (-counts[pair], pair))[:MAX_PAIRS]
    content = b"".join(pair.to_bytes(HASH_BYTES, "big") for pair in sorted(frequent))
    return Domain(pairs=b64encode(content).decode(), corpora=tuple(sorted(corpora)), n_dialogues=n)
