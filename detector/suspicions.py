"""Suspicions about a dialogue: possible errors by exact checks, policies and the scan.

`dialint.detector.decide` decides about them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dialint.detector.calibration import POLICY_CHECK
from dialint.detector.checks import Check, CheckContext, Hit
from dialint.detector.decide import Rules, Suspicion
from dialint.detector.masking import MaskedText, mask_words
from dialint.detector.records import Dialogue
from dialint.detector.release import ReleaseInfo, TurnCoverage
from dialint.detector.scanner import TurnScores, evidence_span
from dialint.detector.taxonomy import Taxonomy

_MAY_BE_PERSONAL = re.compile(r"[@\d]|(?!\A)[^\W\d_a-z]")
"""A part of a reason that may name a person or a number: in a dialogue without personal data a reason without
any need not be masked."""


@dataclass(frozen=True)
class PreparedDialogue:
    """A dialogue of the log on its way to a verdict: masked, with the masked text of each turn; the indices
    of the turns that are judged and of those that only call tools, which checks and some scans read, the
    scores by index if it was scanned, and the coverage of each turn."""

    dialogue: Dialogue
    masked: Dialogue
    texts: Sequence[MaskedText]
    judged: Sequence[int]
    silent: Sequence[int]
    scores: Mapping[int, TurnScores]
    coverage: Mapping[int, TurnCoverage]

    @cached_property
    def place_of(self) -> dict[int, int]:
        return {turn.index: position for position, turn in enumerate(self.dialogue.turns)}

    def mask_reasons(self, hits: Iterable[Hit]) -> dict[Hit, str]:
        """The reason of each hit without personal data: its own words as the masked dialogue has them."""
        reasons = {}
        for hit in hits:
            position, why = self.place_of[hit.turn], hit.why
            turn, text = self.dialogue.turns[position], self.texts[position]
            if not turn.is_silent_act:
                start, end = text.from_original(hit.start, hit.end)
                why = why.replace(turn.text[hit.start : hit.end], text.text[start:end])
            reasons[hit] = why
        has_masked = self.masked.turns != self.dialogue.turns
        personal = [why for why in reasons.values() if has_masked or _MAY_BE_PERSONAL.search(why)]
        words = mask_words(self.dialogue, personal) if personal else {}
        return {hit: words.get(why, why) for hit, why in reasons.items()}


@dataclass(frozen=True)
class SuspicionFinder:
    """Finds the suspicions of the codes that `info` covers, by the `checks` of their names and by scores."""

    info: ReleaseInfo
    taxonomy: Taxonomy
    checks: Mapping[str, Check]
    context: CheckContext
    rules: Rules

    @cached_property
    def column(self) -> dict[str, int]:
        return {code: column for column, code in enumerate(self.info.head_codes)}

    def find(self, case: PreparedDialogue) -> dict[tuple[int, str], list[Suspicion]]:
        """The suspicions of checks and scan by turn and code. Clauses of a policy that are broken in the same
        turn are one with all their reasons."""
        suspicions: dict[tuple[int, str], list[Suspicion]] = defaultdict(list)
        hits = {
            name: tuple(self.checks[name](case.dialogue, self.context))
            for name in {check.name for how in self.info.codes.values() for check in how.checks}
        }
        reasons = case.mask_reasons(hit for each in hits.values() for hit in each)
        for code, how in self.info.codes.items():
            for check in how.checks:
                for hit in hits[check.name]:
                    if hit.code not in (None, code):
                        continue
                    of_turn, why = suspicions[hit.turn, code], reasons[hit]
                    is_policy = check.name == POLICY_CHECK
                    if is_policy and of_turn and of_turn[-1].name == POLICY_CHECK:
                        of_turn[-1] = replace(of_turn[-1], proof=f"{of_turn[-1].proof}; {why}")
                        continue
                    of_turn.append(
                        Suspicion(
                            code, hit.turn, case.place_of[hit.turn], hit.start, hit.end,
                            "policy" if is_policy else "check", check.precision, check.name,
                            f"exact check '{check.name}', no model: {why}",
                        )
                    )  # fmt: skip
        for index, scores in case.scores.items():
            for code in self.info.codes:
                probability, least = self.scan_probability(case, index, code), self.rules.least(code)
                if probability is None or least > 1:
                    continue
                if probability >= least or suspicions.get((index, code)):
                    position = case.place_of[index]
                    turn, text = case.dialogue.turns[position], case.texts[position]
                    start, end = (
                        (0, turn.n_places) if turn.is_silent_act else self._evidence(code, text, scores)
                    )
                    suspicions[index, code].append(
                        Suspicion(code, index, position, start, end, "scan", probability)
                    )
        return suspicions

    def scan_probability(self, case: PreparedDialogue, index: int, code: str) -> float | None:
        """The calibrated probability of the scan; None for a turn and code that it does not judge."""
        scan, scores = self.info.codes[code].scan, case.scores.get(index)
        if scan is None or scores is None or code not in case.coverage[index].scanned:
            return None
        return scan.probability(float(scores.scores[self.column[code]]))

    def _evidence(self, code: str, text: MaskedText, scores: TurnScores) -> tuple[int, int]:
        """Returns the place of the scan's error, as offsets into the turn's text before masking."""
        span = len(text.text) - len(text.text.lstrip()), len(text.text.rstrip())
        if self.taxonomy.codes[code].scope == "span":
            span = evidence_span(scores, self.column[code], text.text)
        return text.to_original(*span)
