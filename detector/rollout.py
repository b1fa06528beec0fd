"""A roll-out: the current release and a candidate beside it, which scores a share of the dialogues.

Which of the two scores a dialogue depends on its id alone, so a dialogue that the candidate has at 5 % it has
at 50 %, too. At a share of 0 the candidate scores all of them aside, into a file of the registry, and no
verdict changes. A dialogue on which the candidate fails is scored by the current release; if that judges it,
and `MAX_FAILED` times so, the roll-out is taken back at once, as it is where the candidate does not load.
Whether what it finds is right is not decided here: nobody has labelled these dialogues.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from dialint.detector.artifacts import create_private, fingerprint, make_output_folder
from dialint.detector.errors import DialintError, ReleaseRefused, UserError
from dialint.detector.interface import Detector, DetectorConfig, PlainDetector
from dialint.detector.log_profile import LogProfile
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.registry import CURRENT, WHOLE, Registry
from dialint.detector.verdict_files import verdict_line

MAX_FAILED = 3
"""Dialogues that only the candidate fails on, at which the roll-out is rolled back."""
BY = "dialint"
"""The author of an automatic rollback."""


def load_rollout(config: DetectorConfig) -> Detector:
    """The detector that scores with these options: that of the release, or of a roll-out that is under way
    where they name the current one.

    Raises:
        UserError: as `load_detector`, of the current release. Where an option does not fit the
            candidate, such as a team's overrides, the current one scores.
    """
    current = load_detector(config)
    registry = Registry("scan")
    if str(config.release) != CURRENT or (rollout := registry.rollout()) is None:
        return current
    try:
        candidate = load_detector(replace(config, release=registry.folder / rollout.id))
    except ReleaseRefused as error:
        take_back(registry, rollout.id, str(error))
        return current
    except UserError as error:
        sys.stderr.write(f"dialint: {rollout.id} does not score: {error}\n")
        return current
    aside = registry.shadow_file(rollout.id) if rollout.share == 0 else None
    return RolloutDetector(
        current, candidate, rollout.share, lambda why: take_back(registry, rollout.id, why), aside
    )


def take_back(registry: Registry, release: str, reason: str) -> None:
    """Rolls back automatically, unless a person was faster."""
    with suppress(DialintError):
        if (rollout := registry.rollout()) is not None and rollout.id == release:
            registry.rollback(by=BY, reason=reason)
            sys.stderr.write(f"dialint: {release} was rolled back: {reason}\n")


def is_of_candidate(dialogue_id: str, share: int) -> bool:
    """Returns whether a candidate with this share of the dialogues scores this one."""
    return int.from_bytes(hashlib.sha256(dialogue_id.encode()).digest()[:8]) % WHOLE < share


@dataclass
class RolloutDetector(PlainDetector):
    """Judges by two detectors; `take_back` is called once, with the reason; `aside` is the file of a
    shadow."""

    current: Detector
    candidate: Detector
    share: int
    take_back: Callable[[str], None]
    aside: Path | None = None
    failed: list[str] = field(default_factory=list)
    """The ids of the dialogues that only the candidate failed on."""

    def __post_init__(self) -> None:
        self.release, self.info = self.current.release, self.current.info
        self.taxonomy = self.current.taxonomy
        theirs = self.candidate.codes if self.share else self.current.codes
        self.codes = tuple(code for code in self.current.codes if code in theirs)
        both = [self.current.fingerprint, self.candidate.fingerprint, self.share]
        self.fingerprint = fingerprint(both) if self.share else self.current.fingerprint
        for each in (self.current, self.candidate):
            each.monitor.seconds = self.monitor.seconds

    def with_log(self, log: LogProfile) -> Self:
        pair = (self.current.with_log(log), self.candidate.with_log(log))
        return replace(self, current=pair[0], candidate=pair[1])

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        def judge(detector: Detector, positions: list[int], n_done: int = 0) -> list[Verdict]:
            """The verdicts of one detector, which reports as a part of the whole."""
            monitor, own = detector.monitor, [dialogues[position] for position in positions]
            monitor.on_step = lambda at: self.monitor.on_step(None if at is None else positions[at])
            monitor.on_progress = lambda n: self.monitor.on_progress(n_done + n)
            n_tokens = monitor.tokens
            verdicts = detector.verdicts(own, all_probabilities=all_probabilities) if own else []
            self.monitor.tokens += monitor.tokens - n_tokens
            return verdicts

        is_on = len(self.failed) < MAX_FAILED
        chosen = [
            is_on and (self.aside is not None or is_of_candidate(each.id, self.share)) for each in dialogues
        ]
        theirs = [position for position, is_chosen in enumerate(chosen) if is_chosen]
        candidate = dict(zip(theirs, judge(self.candidate, theirs), strict=True))
        broken = {position for position, verdict in candidate.items() if verdict.status == "failed"}
        rest = [
            position
            for position in range(len(dialogues))
            if self.aside is not None or position in broken or not chosen[position]
        ]
        n_done = 0 if self.aside is not None else len(theirs) - len(broken)  # a shadow's are judged again
        results = candidate | dict(zip(rest, judge(self.current, rest, n_done), strict=True))
        if is_on:
            self.failed += [dialogues[each].id for each in broken if results[each].status != "failed"]
            if len(self.failed) >= MAX_FAILED:
                self.take_back(f"it failed on {len(self.failed)} dialogues that {self.release} judges")
        if self.aside is not None and candidate:
            lines = [verdict.with_origin(dialogues[each]) for each, verdict in candidate.items()]
            try:
                make_output_folder(self.aside.parent)
                with open(self.aside, "ab", opener=create_private) as file:
                    file.write(b"".join(map(verdict_line, lines)))
            except (OSError, DialintError) as error:  # no reason to stop what is scored
                self.take_back(f"its verdicts could not be kept: {error}")
        return [results[position] for position in range(len(dialogues))]
