"""What an actor of ``dialint score --cluster ray`` runs. Imports nothing of Ray, which wraps the class."""

from __future__ import annotations

import os
import sys

from dialint.app.scoring.judging import judged_detector
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.interface import Detector, DetectorConfig, DetectorFacts, JudgeUsage
from dialint.detector.isolation import Message, make_message
from dialint.detector.judge.stage import JudgedDetector
from dialint.detector.log_profile import LogProfile
from dialint.detector.overrides import JudgeContract
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.watchdog import WatchConfig, WatchedDetector


class Scorer:
    """What an actor runs: a detector that is loaded once, and the judge of `asks` with its `contract`, if
    there is one. Errors are returned as messages, since Ray would wrap what is raised.

    The key of a judge's server comes from this process's environment or from a file on its machine: it never
    travels through Ray, which writes into logs what it hands on.
    """

    def __init__(
        self,
        what: DetectorConfig,
        watch: WatchConfig,
        asks: ScoreConfig | None = None,
        contract: JudgeContract | None = None,
    ) -> None:
        self._what, self._watch, self._asks, self._contract = what, watch, asks, contract
        self._log_number = 0
        self._detector: Detector | None = None
        self._facts: DetectorFacts | None = None
        self._lines: list[str] = []
        ray = sys.modules.get("ray")
        if ray is not None and ray.get_runtime_context().was_current_actor_reconstructed:
            self._lines.append("an actor died; another one judges what it had")

    def facts(self) -> Message:
        """The detector's `DetectorFacts`; it is loaded at the first call."""
        return make_message(self._load)

    def verdicts(
        self,
        dialogues: list[Dialogue],
        all_probabilities: bool,
        n_before: int,
        log_number: int,
        log: LogProfile | None,
    ) -> tuple[str, list[str], Message]:
        """The detector's fingerprint, the lines it printed, and a message with the verdicts in order and what
        the judge took for them. `n_before` dialogues of the log come before these; `log` is its profile, the
        same for the same number."""

        def judge() -> tuple[list[Verdict], JudgeUsage]:
            self._load()
            assert self._detector is not None
            if log is not None and log_number != self._log_number:
                self._detector, self._log_number = self._detector.with_log(log), log_number
            detector = self._detector
            usage = JudgeUsage()
            if isinstance(detector, JudgedDetector):
                detector.n_before, detector.usage = n_before, usage
            return detector.verdicts(dialogues, all_probabilities=all_probabilities), usage

        try:
            message = make_message(judge)
        except MemoryError:
            os._exit(1)
        lines, self._lines[:] = list(self._lines), []
        return self._facts.fingerprint if self._facts is not None else "", lines, message

    def _load(self) -> DetectorFacts:
        if self._facts is None:
            detector: Detector
            if self._watch.dialogue_seconds:
                detector = WatchedDetector(self._what, self._watch, self._lines.append).ready()
            else:
                from dialint.detector.pipeline import load_detector

                detector = load_detector(self._what)
            if self._asks is not None:
                from dialint.detector.engines.judge_engines import open_judge

                engine = open_judge(self._asks.judge)
                detector = judged_detector(detector, engine, self._asks, self._contract)
            self._facts, self._detector = DetectorFacts.of(detector), detector
        return self._facts
