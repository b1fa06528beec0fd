"""Merges the judge's rulings with the verdict of the detector inside.

What the scan flagged stays, is confirmed, or is demoted; what only the judge found is a finding. The last two
need a judge whose probability is known to be worth that, or trusted from a threshold on: without either it
suggests, and its denial stands in the reason alone. A ruling without evidence word for word in
the turn makes no finding.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialint.detector.calibration import format_probability, round_probability
from dialint.detector.checks.context import append_proof, proof_name
from dialint.detector.decide import Decision, Facts, Outcome, Rules, Suspicion, decide, review
from dialint.detector.judge.cases import Case, Ruling
from dialint.detector.judge.messages import PROMPT_VERSION, REWRITE_CHARS, locate_quote
from dialint.detector.records import Finding, Verdict
from dialint.detector.taxonomy import Taxonomy


@dataclass(frozen=True)
class Merger:
    """How rulings become findings, by `rules`. `name` is the judge's."""

    name: str
    taxonomy: Taxonomy
    rules: Rules

    def merge(self, case: Case) -> Verdict:
        """The verdict of a case, with the record of what was asked."""
        findings: list[Finding] = []
        suggestions: list[Finding] = []
        flagged: set[tuple[int, str]] = set()
        for is_suggested, inner in ((False, case.verdict.findings), (True, case.verdict.suggestions)):
            for finding in inner:
                flagged.add((finding.turn, finding.code))
                ruling = case.rulings.get((finding.turn, finding.code))
                if ruling is None:
                    merged, suggested = finding, is_suggested
                elif is_check(finding):
                    merged, suggested = self._explain(case, finding, ruling), is_suggested
                else:
                    merged, suggested = self._review(case, finding, ruling, is_suggested)
                (suggestions if suggested else findings).append(merged)
        for (turn, code), ruling in sorted(case.rulings.items()):
            if (turn, code) in flagged or ruling.answer.verdict != "error":
                continue
            where = self._locate(case, turn, ruling)
            if where is None:
                case.unquoted += 1
                continue
            suspicion = self._suspicion(case, turn, code, ruling, where)
            decision = decide([suspicion], self.rules, Facts(case.dialogue, {}))
            if decision is not None and decision.outcome != "dropped":
                finding = self._new(case, decision, ruling, where)
                (findings if decision.outcome == "finding" else suggestions).append(finding)
        is_whole = case.verdict.quality is not None and not case.failures
        changed = {
            "findings": tuple(sorted(findings, key=lambda finding: finding.turn)),
            "suggestions": tuple(sorted(suggestions, key=lambda finding: finding.turn)),
            "quality": self.taxonomy.quality(tuple(findings)) if is_whole else None,
            "judge": case.record(self.name, PROMPT_VERSION),
        }
        return Verdict.model_validate({**dict(case.verdict), **changed})

    def _suspicion(
        self, case: Case, turn: int, code: str, ruling: Ruling, where: tuple[int, int] = (0, 0)
    ) -> Suspicion:
        """What the judge says of a turn and code, at `where` in the masked text."""
        position = case.position_of[turn]
        return Suspicion(
            code=code,
            turn=turn,
            position=position,
            start=where[0],
            end=where[1],
            source="judge",
            probability=self.rules.judged_probability(code, ruling.probability),
            name=self.name,
            proof=self._proof(ruling),
        )

    def _review(
        self, case: Case, finding: Finding, ruling: Ruling, is_suggested: bool
    ) -> tuple[Finding, bool]:
        """What becomes of a suspicion of the scan, and whether it is a suggestion."""
        answer = self._suspicion(case, finding.turn, finding.code, ruling)
        before: Outcome = "suggestion" if is_suggested else "finding"
        result = review(before, answer, ruling.answer.verdict, self.rules, Facts(case.dialogue, {}))
        if not result.is_confirmed:
            return append_proof(finding, result.proof), result.outcome == "suggestion"
        if self._locate(case, finding.turn, ruling) is None:
            case.unquoted += 1
            return finding, is_suggested
        confirmed = self._explain(case, finding, ruling, result.outcome == "suggestion")
        if self.rules.judged_code(finding.code) is not None:
            confirmed = confirmed.model_copy(update={"probability": round_probability(answer.probability)})
        return confirmed, result.outcome == "suggestion"

    def _explain(self, case: Case, finding: Finding, ruling: Ruling, is_suggested: bool = False) -> Finding:
        """The finding with the judge's reason, rewrite, severity and narrower quote, if it confirms it. The
        last proof of a suggestion stays the one that says why it is no finding."""
        where = self._locate(case, finding.turn, ruling)
        if ruling.answer.verdict != "error" or where is None:
            return finding
        answer = ruling.answer
        changes: dict[str, object] = {"rewrite": _clean(answer.rewrite) or finding.rewrite}
        text = case.masked.turns[case.position_of[finding.turn]].text
        quote = text[where[0] : where[1]]
        if not is_check(finding):
            allowed = self.taxonomy.codes[finding.code].severities
            changes["severity"] = answer.severity if answer.severity in allowed else finding.severity
            if len(quote) < len(finding.quote):
                start, end = self._in_log(case, finding.turn, where)
                changes |= {"quote": quote, "start": start, "end": end}
        proof = f"({self._proof(ruling)}) " if is_suggested else ""
        reason = f"{_sentence(answer.reason)}{proof}{finding.reason}"
        explained = finding.model_copy(update={**changes, "reason": reason})
        return (
            explained if is_suggested or is_check(finding) else append_proof(explained, self._proof(ruling))
        )

    def _new(self, case: Case, decision: Decision, ruling: Ruling, where: tuple[int, int]) -> Finding:
        code, turn, position = decision.suspicion.code, decision.suspicion.turn, decision.suspicion.position
        entry = self.taxonomy.codes[code]
        start, end = self._in_log(case, turn, where)
        answer, role = ruling.answer, case.dialogue.turns[position].role
        quote = case.masked.turns[position].text[where[0] : where[1]]
        why = _sentence(answer.reason) or "no reason given."
        finding = Finding(
            code=code,
            turn=turn,
            severity=answer.severity if answer.severity in entry.severities else entry.severity,
            fault="bot" if role == "bot" else entry.fault,
            probability=round_probability(decision.stated),
            quote=quote,
            start=start,
            end=end,
            reason=f"{entry.name.en} in turn {turn}: {why}".strip(),
            rewrite=_clean(answer.rewrite) or None,
        )
        for proof in decision.proofs:
            finding = append_proof(finding, proof)
        return finding

    def _proof(self, ruling: Ruling) -> str:
        kind = "self-reported probability" if ruling.is_self_reported else "probability"
        return f"judge '{self.name}': error, {kind} {format_probability(ruling.probability)}"

    def _locate(self, case: Case, turn: int, ruling: Ruling) -> tuple[int, int] | None:
        """Where the judge's quote stands in the masked text of the turn, grown to whole placeholders."""
        position = case.position_of[turn]
        where = locate_quote(ruling.answer, case.masked.turns[position].text)
        if where is None:
            return None
        start, end = case.texts[position].to_original(*where)
        return case.texts[position].from_original(start, end) if end > start else None

    def _in_log(self, case: Case, turn: int, where: tuple[int, int]) -> tuple[int, int]:
        position = case.position_of[turn]
        return case.dialogue.turns[position].to_log(*case.texts[position].to_original(*where))


def is_check(finding: Finding) -> bool:
    """Whether an exact check made the finding."""
    return proof_name(finding).startswith("exact check")


def _clean(text: str | None) -> str:
    """Words of a model on one line, without what could steer a terminal."""
    letters = (letter if letter.isprintable() else " " for letter in text or "")
    return " ".join("".join(letters).split())[:REWRITE_CHARS]


def _sentence(text: str) -> str:
    """A model's reason as a sentence with a blank after it; brackets, which proofs stand in, become
    square."""
    words = _clean(text).replace("(", "[").replace(")", "]").rstrip(".")
    return f"{words}. " if words else ""
