"""All rules together as a scorer: the surest hit of a code at a turn is its score."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from dialint.detector.calibration import Contract, Scan
from dialint.detector.records import Dialogue
from dialint.eval.baselines.rules import compliance, conversation, language, view, wording
from dialint.eval.baselines.rules.view import Hit, View, view_of
from dialint.eval.baselines.scored import ScoredSpan, TurnScores, judged_positions

RULES: tuple[Callable[[View], Iterator[Hit]], ...] = (
    language.misspelled,
    language.grammar,
    wording.rude,
    wording.no_empathy,
    wording.unfilled,
    wording.same_again,
    conversation.ignored,
    conversation.closed_early,
    conversation.asks_again,
    conversation.contradicts,
    conversation.jumps,
    compliance.step_skipped,
    compliance.out_of_order,
    compliance.asks_secret,
)
CODES = ("L1", "L2", "T1", "T2", "M2", "M3", "C1", "U2", "U3", "U5", "P1", "P4", "V2", "R1")
SILENT = -5.0
"""Raw score without a hit; a hit scores the log odds of its confidence."""


class RuleScorer:
    """Rules for the codes of the first release."""

    name = "rules"
    codes = CODES

    @cached_property
    def fingerprint(self) -> str:
        modules = (compliance, conversation, language, view, wording)
        sources = "".join(inspect.getsource(module) for module in modules)
        return hashlib.sha256(sources.encode()).hexdigest()

    def uncalibrated(self) -> Scan:
        """The rules' own confidences, a finding from one half on, without a promised rate."""
        contract = Contract(
            threshold=0.5, false_accusations_per_100=100, confidence=0, recall=0, n_errors=0, n_clean=0
        )
        return Scan(slope=1.0, offset=0.0, contract=contract)

    def score_dialogues(self, dialogues: Sequence[Dialogue]) -> list[TurnScores]:
        return [self._suspicions(dialogue) for dialogue in dialogues]

    def _suspicions(self, dialogue: Dialogue) -> TurnScores:
        spans: dict[int, dict[str, ScoredSpan]] = {
            dialogue.turns[position].index: {code: ScoredSpan(SILENT) for code in CODES}
            for position in judged_positions(dialogue)
        }
        seen = view_of(dialogue)
        for rule in RULES:
            for hit in rule(seen):
                score = math.log(hit.confidence / (1 - hit.confidence))
                if score > spans[hit.turn][hit.code].score:
                    spans[hit.turn][hit.code] = ScoredSpan(
                        score, hit.start, hit.end, f"Rule, no model: {hit.why}."
                    )
        return spans

    def evidence(self, text: str, code: str, suspicion: ScoredSpan) -> tuple[int, int]:
        """The offsets of the surest hit."""
        return suspicion.start, suspicion.end
