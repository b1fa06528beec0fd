"""Preference pairs: a person's answer is preferred to the model's answer to the same question.

A reviewer or expert who answers for a turn and code either marks nothing where the model has a finding
(overturned), marks it differently (amended), or marks what the model did not (missed; only where the
verdict has a probability for that code). An expert's answer comes before a reviewer's, so a finding that was
confirmed and then overturned is overturned. An agent's own appeal decides nothing. Training renders the pair
as a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dialint.detector.records import Finding, Judgement, Preference, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import DialogueAnnotations

DECIDERS = ("expert", "reviewer")
"""Kinds of annotations that decide, the first before the second."""
NO_ERROR = Judgement(verdict="no_error")


def judgement(finding: Finding) -> Judgement:
    """A finding in the form of the judge's answer."""
    return Judgement(
        verdict="error",
        quote=finding.quote,
        severity=finding.severity,
        reason=finding.reason,
        rewrite=finding.rewrite,
    )


def preferences(annotations: DialogueAnnotations, verdict: Verdict) -> Iterator[Preference]:
    """The pairs of one dialogue, not yet in a split, in order of turn and code; none for a failed
    verdict."""
    if verdict.status == "failed":
        return
    model: dict[tuple[int, str], Finding] = {}
    for finding in verdict.findings:
        key = (finding.turn, finding.code)
        if key not in model or finding.probability > model[key].probability:
            model[key] = finding
    decided = {
        (finding.turn, finding.code)
        for annotation in annotations.annotations
        if annotation.kind in DECIDERS
        for finding in annotation.findings
    }
    for turn, code in sorted(model.keys() | decided):
        answer = deciding_answer(annotations, turn, code)
        if answer is None:
            continue
        findings = annotations.matching_findings(answer, turn, code)
        by_person = next((finding for finding in findings if finding.turn == turn), None)
        by_model = model.get((turn, code))
        if by_model is None and code not in (verdict.probabilities or {}).get(turn, {}):
            continue
        in_other_turn = bool(findings) and by_person is None
        outcome = _outcome(by_person, by_model)
        if outcome is not None and not in_other_turn:
            turns = tuple(each for each in annotations.dialogue.turns if each.index <= turn)
            reasons = {(each.turn, each.code): each.reason for each in reversed(answer.rejections)}
            yield Preference(
                dialogue=annotations.dialogue.model_copy(update={"turns": turns}),
                turn=turn,
                code=code,
                chosen=judgement(by_person) if by_person else NO_ERROR,
                rejected=judgement(by_model) if by_model else NO_ERROR,
                outcome=outcome,
                annotation=answer.id,
                release=verdict.release,
                reason=reasons.get((turn, code)) if outcome == "overturned" else None,
                split="",
            )


def deciding_answer(annotations: DialogueAnnotations, turn: int, code: str) -> Annotation | None:
    """The last answer of an expert, else of a reviewer."""
    for kind in DECIDERS:
        if answers := annotations.last_answers(turn, code, (kind,)):
            return answers[-1]
    return None


def _outcome(
    by_person: Finding | None, by_model: Finding | None
) -> Literal["overturned", "amended", "missed"] | None:
    if by_model is None:
        return None if by_person is None else "missed"
    if by_person is None:
        return "overturned"
    same = (by_person.severity, by_person.start, by_person.end) == (
        by_model.severity, by_model.start, by_model.end
    )  # fmt: skip
    return None if same and by_person.rewrite in (None, by_model.rewrite) else "amended"
