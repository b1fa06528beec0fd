"""Merges the judge's rulings with the verdict of the detector inside.

What the scan flagged stays, is confirmed, or is demoted; what only the judge found is a finding. The last two
need a judge whose probability is known to be worth that, or trusted from a threshold on: without either it
suggests, and its denial stands in the reason alone. A ruling without evidence word for word in
the turn makes no finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dialint.detector.calibration import format_probability, round_probability
from dialint.detector.gates import append_proof, proof_name
from dialint.detector.judge.cases import Case, Ruling
from dialint.detector.judge.contract import JudgeContract
from dialint.detector.judge.messages import PROMPT_VERSION, REWRITE_CHARS, locate_quote
from dialint.detector.records import Finding, Verdict
from dialint.detector.taxonomy import Taxonomy

DENIED = 0.2
"""Probability of an error under which the judge denies what the scan flagged."""
EVEN = 0.5


@dataclass(frozen=True)
class Merger:
    """How rulings become findings. `name` is the judge's; `demoted` maps codes that may only be suggested to
    why."""

    name: str
    taxonomy: Taxonomy
    contract: JudgeContract | None = None
    threshold: float | None = None
    demoted: Mapping[str, str] = field(default_factory=dict)

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
            probability = self._calibrate(code, ruling)
            where = self._locate(case, turn, ruling)
            if where is None:
                case.unquoted += 1
            elif probability >= EVEN:
                finding = self._new(case, turn, code, ruling, probability, where)
                why = self._why_suggested(code, probability)
                if why is None:
                    findings.append(finding)
                else:
                    suggestions.append(append_proof(finding, f"demoted: {why}"))
        is_whole = case.verdict.quality is not None and not case.failures
        changed = {
            "findings": tuple(sorted(findings, key=lambda finding: finding.turn)),
            "suggestions": tuple(sorted(suggestions, key=lambda finding: finding.turn)),
            "quality": self.taxonomy.quality(tuple(findings)) if is_whole else None,
            "judge": case.record(self.name, PROMPT_VERSION),
        }
        return Verdict.model_validate({**dict(case.verdict), **changed})

    def _calibrate(self, code: str, ruling: Ruling) -> float:
        measured = self.contract.codes.get(code) if self.contract is not None else None
        return ruling.probability if measured is None else measured.calibrate(ruling.probability)

    def _why_suggested(self, code: str, probability: float) -> str | None:
        """Why what the judge found with this probability may only be suggested; None if it may accuse."""
        if code in self.demoted:
            return self.demoted[code]
        measured = self.contract.codes.get(code) if self.contract is not None else None
        threshold = measured.threshold if measured is not None else self.threshold
        if threshold is None:
            return f"the judge keeps no contract on {code}"
        return None if probability >= threshold else "the judge is below its threshold"

    def _review(
        self, case: Case, finding: Finding, ruling: Ruling, is_suggested: bool
    ) -> tuple[Finding, bool]:
        """What becomes of a suspicion of the scan, and whether it is a suggestion."""
        probability = self._calibrate(finding.code, ruling)
        if probability < DENIED:
            statement = "denies it" if ruling.answer.verdict == "no_error" else "does not confirm it"
            if ruling.answer.verdict == "not_applicable":
                statement = "calls it not applicable"
            if not self._is_measured(finding.code) and self.threshold is None:
                return append_proof(
                    finding, f"the judge {self.name} {statement}, but is not measured"
                ), is_suggested
            return append_proof(finding, f"demoted: the judge {self.name} {statement}"), True
        where = self._locate(case, finding.turn, ruling)
        if ruling.answer.verdict != "error" or probability < EVEN:
            stated = format_probability(probability)
            return append_proof(finding, f"the judge {self.name} is undecided, {stated}"), is_suggested
        if where is None:
            case.unquoted += 1
            return finding, is_suggested
        is_suggested = is_suggested and self._why_suggested(finding.code, probability) is not None
        confirmed = self._explain(case, finding, ruling, is_suggested)
        if self._is_measured(finding.code):
            confirmed = confirmed.model_copy(update={"probability": round_probability(probability)})
        return confirmed, is_suggested

    def _is_measured(self, code: str) -> bool:
        return self.contract is not None and code in self.contract.codes

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

    def _new(
        self,
        case: Case,
        turn: int,
        code: str,
        ruling: Ruling,
        probability: float,
        where: tuple[int, int],
    ) -> Finding:
        entry, position = self.taxonomy.codes[code], case.position_of[turn]
        start, end = self._in_log(case, turn, where)
        answer, role = ruling.answer, case.dialogue.turns[position].role
        quote = case.masked.turns[position].text[where[0] : where[1]]
        why = _sentence(answer.reason) or "no reason given."
        finding = Finding(
            code=code,
            turn=turn,
            severity=answer.severity if answer.severity in entry.severities else entry.severity,
            fault="bot" if role == "bot" else entry.fault,
            probability=round_probability(probability),
            quote=quote,
            start=start,
            end=end,
            reason=f"{entry.name.en} in turn {turn}: {why}".strip(),
            rewrite=_clean(answer.rewrite) or None,
        )
        return append_proof(finding, self._proof(ruling))

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
