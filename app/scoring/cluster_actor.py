"""What an actor of ``dialint score --cluster ray`` runs. Imports nothing of Ray, which wraps the class."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.isolation import Message, make_message
from dialint.detector.log_profile import LogProfile
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.watchdog import WatchConfig, WatchedDetector

if TYPE_CHECKING:
    from dialint.detector.release import ReleaseInfo  # imports numpy


@dataclass(frozen=True)
class About:
    """What an actor's detector is, as `Detector` has it."""

    release: str
    fingerprint: str
    codes: tuple[str, ...]
    info: ReleaseInfo | None


class Scorer:
    """What an actor runs: a detector that is loaded once. Errors are returned as messages, since Ray would
    wrap what is raised."""

    def __init__(self, what: DetectorConfig, watch: WatchConfig, log: LogProfile | None) -> None:
        self._what, self._watch, self._log = what, watch, log
        self._detector: Detector | None = None
        self._about: About | None = None
        self._told: list[str] = []

    def about(self) -> Message:
        """The detector as an `About`, loaded at the first call."""
        return make_message(self._load)

    def set_log(self, log: LogProfile) -> None:
        """Set the profile of the log, for what is judged after it."""
        self._log = log
        if self._detector is not None and hasattr(self._detector, "with_log"):
            self._detector = self._detector.with_log(log)

    def verdicts(self, dialogues: list[Dialogue], all_probabilities: bool) -> tuple[str, list[str], Message]:
        """The detector's fingerprint, the lines it told, and the verdicts in order."""

        def judge() -> list[Verdict]:
            self._load()
            assert self._detector is not None
            return self._detector.verdicts(dialogues, all_probabilities=all_probabilities)

        try:
            message = make_message(judge)
        except MemoryError:
            os._exit(1)
        told, self._told[:] = list(self._told), []
        fingerprint = self._about.fingerprint if self._about is not None else ""
        return fingerprint, told, message

    def _load(self) -> About:
        if self._about is None:
            detector: Any
            if self._watch.dialogue_seconds:
                detector = WatchedDetector(self._what, self._watch, self._told.append).ready()
            else:
                from dialint.detector.pipeline import load_detector

                detector = load_detector(self._what)
            info = getattr(detector, "info", None)
            self._about = About(detector.release, detector.fingerprint, tuple(detector.codes), info)
            if self._log is not None and hasattr(detector, "with_log"):
                detector = detector.with_log(self._log)
            self._detector = detector
        return self._about
