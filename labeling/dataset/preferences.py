"""Preference pairs: a person's answer over the one the model gave to the same question.

A reviewer or expert who was asked of a turn and code either finds nothing where the model did
(overturned), finds it otherwise (amended), or finds what the model had said is not there (missed; only
where the verdict tells that the code was looked at). An agent's own appeal decides nothing. Rendering
the pair as a prompt is left to training.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dialint.detector.records import Dialogue, Finding, Judgement, Preference, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.opinions import Opinions

DECIDERS = ("reviewer", "expert")


NOTHING = Judgement(verdict="no_error")


def judgement(finding: Finding) -> Judgement:
    """A finding as the judge would say it."""
    return Judgement(
        verdict="error",
        quote=finding.quote,
        severity=finding.severity,
        reason=finding.reason,
        rewrite=finding.rewrite,
    )


def preferences(opinions: Opinions, verdict: Verdict) -> Iterator[Preference]:
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
        for annotation in opinions.people
        if annotation.kind in DECIDERS
        for finding in annotation.findings
    }
    for turn, code in sorted(model.keys() | decided):
        answer = _decision(opinions, turn, code)
        if answer is None:
            continue
        own = [found for found in opinions.says(answer, turn, code) if found.turn == turn]
        said = model.get((turn, code))
        elsewhere = not own and bool(opinions.says(answer, turn, code))
        if said is None and not _looked_at(verdict, turn, code):
            continue
        outcome = _outcome(own, said)
        if outcome is not None and not elsewhere:
            yield Preference(
                dialogue=_until(opinions.dialogue, turn),
                turn=turn,
                code=code,
                chosen=judgement(own[0]) if own else NOTHING,
                rejected=judgement(said) if said else NOTHING,
                outcome=outcome,
                annotation=answer.id,
                release=verdict.release,
                split="",
            )


def _decision(opinions: Opinions, turn: int, code: str) -> Annotation | None:
    """The last answer of an expert, else of a reviewer."""
    for kind in reversed(DECIDERS):
        if voters := opinions.voters(turn, code, (kind,)):
            return voters[-1]
    return None


def _looked_at(verdict: Verdict, turn: int, code: str) -> bool:
    return code in (verdict.probabilities or {}).get(turn, {})


def _outcome(own: list[Finding], said: Finding | None) -> Literal["overturned", "amended", "missed"] | None:
    if said is None:
        return "missed" if own else None
    if not own:
        return "overturned"
    first = own[0]
    same = (first.severity, first.start, first.end) == (said.severity, said.start, said.end)
    return None if same and first.rewrite in (None, said.rewrite) else "amended"


def _until(dialogue: Dialogue, turn: int) -> Dialogue:
    return dialogue.model_copy(update={"turns": tuple(own for own in dialogue.turns if own.index <= turn)})
