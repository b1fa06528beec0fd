"""Merges a judge's reading of a dialogue into the verdict of the inner detector.

Findings of exact checks and policies stay; where the judge lists the same error, its reason, severity of a
suggestion and rewrite are added. What the scan suspects is confirmed, or denied by a judge that was measured.
All else that the judge lists goes through `dialint.detector.decide`. An error without evidence word for word
in the turn makes no finding, and one fault is reported under one code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dialint.detector.calibration import format_probability, round_probability
from dialint.detector.checks import append_proof, proof_name
from dialint.detector.decide import Decision, Facts, Outcome, Rules, Suspicion, decide, deny
from dialint.detector.judge.prompt import PROMPT_VERSION
from dialint.detector.judge.reading import Question, ReadError, Reading, average
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import Dialogue, Finding, JudgeRecord, Verdict, narrow_gaps
from dialint.detector.taxonomy import Taxonomy

MAX_CHARS = 800
"""Most characters of a reason or a rewrite."""


@dataclass
class JudgedDialogue:
    """A dialogue with the inner detector's verdict, the number of errors that it expects, and the judge's
    answers so far.

    `readings` are the usable answers to each of its `questions`, by index, one for each vote; `failed` those
    questions that a vote gave no usable answer to, with the code of the failure; `errors` what the readings
    list together.
    """

    dialogue: Dialogue
    verdict: Verdict
    expected_errors: float = 0.0
    readings: dict[int, list[Reading]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    errors: list[ReadError] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    n_readings: int = 0
    n_second_looks: int = 0
    answered: set[str] = field(default_factory=set)
    unmet: tuple[str, ...] = ()
    unasked: set[str] = field(default_factory=set)
    failures: dict[str, set[str]] = field(default_factory=dict)
    unquoted: int = 0

    @cached_property
    def _masking(self) -> tuple[Dialogue, tuple[MaskedText, ...]]:
        return mask_dialogue(self.dialogue)

    @property
    def masked(self) -> Dialogue:
        """The dialogue with placeholders for personal data, as the judge reads it."""
        return self._masking[0]

    @property
    def texts(self) -> tuple[MaskedText, ...]:
        """The masked text of each turn, by position."""
        return self._masking[1]

    @cached_property
    def position_of(self) -> dict[int, int]:
        return {turn.index: position for position, turn in enumerate(self.dialogue.turns)}

    def reset(self) -> None:
        """Discards all answers, for other questions."""
        self.readings, self.failed, self.answered, self.failures = {}, {}, set(), {}

    def aggregate(self) -> None:
        """Averages the readings, and records the questions without a usable answer."""
        self.errors = [error for own in self.readings.values() for error in average(own)]
        for number, failure in self.failed.items():
            if number not in self.readings:
                self.fail(failure, tuple(self.questions[number].codes))

    def fail(self, failure: str, codes: Sequence[str]) -> None:
        """Records codes without a usable answer."""
        self.failures.setdefault(failure, set()).update(codes)

    def record(self, name: str) -> JudgeRecord:
        return JudgeRecord(
            name=name,
            prompt=PROMPT_VERSION,
            readings=self.n_readings,
            second_looks=self.n_second_looks,
            codes=tuple(sorted(self.answered)),
            unmet=tuple(sorted(self.unmet)),
            unasked=tuple(sorted(self.unasked)),
            failures={failure: tuple(sorted(codes)) for failure, codes in sorted(self.failures.items())},
        )


@dataclass(frozen=True)
class Merger:
    """Turns readings into findings by `rules`. `name` is the judge's."""

    name: str
    taxonomy: Taxonomy
    rules: Rules

    def merge(self, case: JudgedDialogue) -> Verdict:
        """Returns the verdict of a case, with the record of its questions."""
        if case.verdict.status == "failed":
            failed: Verdict = case.verdict
            return failed.model_copy(update={"judge": case.record(self.name)})
        errors = self._quoted(case)
        findings: list[Finding] = []
        suggestions: list[Finding] = []
        inner: tuple[tuple[Outcome, tuple[Finding, ...]], ...] = (
            ("finding", case.verdict.findings),
            ("suggestion", case.verdict.suggestions),
        )
        for before, own in inner:
            for finding in own:
                error = next((each for each in errors if _is_same_fault(finding, each)), None)
                if error is not None and self._replaces(case, error, finding):
                    continue
                merged, outcome = self._merge_one(case, finding, before, error)
                errors = [each for each in errors if not _is_same_fault(finding, each)]
                (findings if outcome == "finding" else suggestions).append(merged)
        for error in sorted(errors, key=lambda each: (each.turn, each.code)):
            decision = self._decide(case, error)
            if decision is not None and decision.outcome != "dropped":
                built = self._build(case, decision, error)
                (findings if decision.outcome == "finding" else suggestions).append(built)
        gaps = narrow_gaps(case.verdict.not_judged, lambda code: code not in case.answered)
        without_policy = tuple(code for code in case.verdict.no_policy if code not in case.answered)
        status = "scored" if case.answered and not gaps else case.verdict.status
        is_whole = status == "scored" and not (gaps or case.failures)
        changed = {
            "status": status,
            "not_judged": gaps,
            "no_policy": without_policy,
            "findings": tuple(sorted(findings, key=lambda finding: finding.turn)),
            "suggestions": tuple(sorted(suggestions, key=lambda finding: finding.turn)),
            "quality": self.taxonomy.quality(tuple(findings), case.dialogue.team) if is_whole else None,
            "judge": case.record(self.name),
        }
        return Verdict.model_validate({**dict(case.verdict), **changed})

    def _quoted(self, case: JudgedDialogue) -> list[ReadError]:
        """The errors whose quote stands in the turn, grown to whole placeholders, in offsets of the turn's
        text before masking; each turn and code once, the most probable one."""
        best: dict[tuple[int, str], ReadError] = {}
        for error in case.errors:
            if error.start is None or error.end is None:
                case.unquoted += 1
                continue
            text = case.texts[case.position_of[error.turn]]
            start, end = text.to_original(error.start, error.end)
            if end <= start:
                case.unquoted += 1
                continue
            key = (error.turn, error.code)
            if key not in best or best[key].probability < error.probability:
                best[key] = error.model_copy(update={"start": start, "end": end})
        return list(best.values())

    def _decide(self, case: JudgedDialogue, error: ReadError) -> Decision | None:
        suspicion = Suspicion(
            code=error.code,
            turn=error.turn,
            position=case.position_of[error.turn],
            start=error.start or 0,
            end=error.end or 0,
            source="judge",
            probability=self.rules.judged_probability(error.code, error.probability),
            name=self.name,
            proof=self._proof(error),
        )
        return decide([suspicion], self.rules, Facts(case.dialogue, {}))

    def _proof(self, error: ReadError) -> str:
        cited = f", clause {_clean(error.clause)}" if error.clause else ""
        return f"judge '{self.name}': {format_probability(error.probability)}{cited}"

    def _replaces(self, case: JudgedDialogue, error: ReadError, finding: Finding) -> bool:
        """Returns whether an error replaces a finding of the scan under another of its codes."""
        if error.code == finding.code or finding.code not in case.answered or _is_proven(finding):
            return False
        decision = self._decide(case, error)
        return decision is not None and decision.outcome == "finding"

    def _merge_one(
        self, case: JudgedDialogue, finding: Finding, before: Outcome, error: ReadError | None
    ) -> tuple[Finding, Outcome]:
        """Merges a finding or suggestion of the inner detector with the judge's `error`, if any."""
        is_proven = _is_proven(finding)
        if finding.code not in case.answered:
            return finding, before
        if error is None:
            if is_proven:
                return finding, before
            outcome, proof = deny(before, finding.code, self.name, self.rules)
            return append_proof(finding, proof), outcome
        own = self._decide(case, error)
        outcome = "finding" if own is not None and own.outcome == "finding" else before
        stated = self.rules.judged_probability(error.code, error.probability)
        if not is_proven and not self.rules.keeps_contract(error.code, "judge", stated):
            outcome = "suggestion"
        changes: dict[str, Any] = {"rewrite": _clean(error.rewrite) or finding.rewrite}
        if not is_proven:
            changes |= {"severity": error.severity, "probability": round_probability(stated)}
        proof = f"({self._proof(error)}) " if outcome == "suggestion" else ""
        changes["reason"] = f"{_sentence(error.reason)}{proof}{finding.reason}"
        explained = finding.model_copy(update=changes)
        if outcome == "suggestion" or is_proven:
            return explained, outcome
        return append_proof(explained, self._proof(error)), outcome

    def _build(self, case: JudgedDialogue, decision: Decision, error: ReadError) -> Finding:
        entry = self.taxonomy.codes[error.code]
        position = case.position_of[error.turn]
        turn, text = case.dialogue.turns[position], case.texts[position]
        where = error.start or 0, error.end or 0
        masked_start, masked_end = text.from_original(*where)
        start, end = turn.to_log(*where)
        finding = Finding(
            code=error.code,
            turn=error.turn,
            severity=error.severity,
            fault="bot" if turn.role == "bot" else entry.fault,
            probability=round_probability(decision.stated),
            quote=case.masked.turns[position].text[masked_start:masked_end],
            start=start,
            end=end,
            reason=f"{entry.name.en} in turn {error.turn}: {_sentence(error.reason) or 'no reason given.'}"
            .strip(),
            rewrite=_clean(error.rewrite) or None,
        )  # fmt: skip
        for proof in decision.proofs:
            finding = append_proof(finding, proof)
        return finding


def _is_proven(finding: Finding) -> bool:
    """Returns whether an exact check or a policy made the finding."""
    return proof_name(finding).startswith("exact check")


def _is_same_fault(finding: Finding, error: ReadError) -> bool:
    """Returns whether both have one turn and one code, the error's first or second."""
    return finding.turn == error.turn and finding.code in (error.code, error.second_code)


def _clean(text: str | None) -> str:
    """A model's text on one line, without characters that could steer a terminal."""
    letters = (letter if letter.isprintable() else " " for letter in text or "")
    return " ".join("".join(letters).split())[:MAX_CHARS]


def _sentence(text: str) -> str:
    """A model's reason as a sentence with a blank after it; brackets, which proofs stand in, become
    square."""
    words = _clean(text).replace("(", "[").replace(")", "]").rstrip(".")
    return f"{words}. " if words else ""
