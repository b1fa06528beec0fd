"""An expert's decision on a case while it is made: what each code gets, and what people said of it.

Kept as a draft in the store; nothing here knows the screen.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from dialint.app.console.workspace.answer import Selection, make_finding
from dialint.detector.errors import DialintError
from dialint.detector.records import Finding, Label, Record, Severity
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.store_labels import select_surest
from dialint.labeling.store import drafts, expert_cases, leases
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.expert_cases import Case
from dialint.labeling.store.records import Lease

Answer = Literal["yes", "no", "not applicable"]
SURE = 0.9
"""Confidence of the likelier answer from which a question on which people agree needs no decision."""


class Decision(Record):
    """What a code gets. `start` and `end` bound the evidence of a yes in the case's turn."""

    answer: Answer
    severity: Severity | None = None
    start: int = 0
    end: int = 0


class CaseDraft(Record):
    """The decisions by code."""

    decisions: dict[str, Decision] = Field(default_factory=dict)


class PersonAnswer(NamedTuple):
    """One person's answer for a code in the turn: their findings of it; none is a no."""

    who: str
    findings: tuple[Finding, ...]


class CodeQuestion(NamedTuple):
    """A code of a case: everybody's `answers`, the most trusted label, and whether it `is_open`: people
    disagree, nobody was asked, or the label is not sure."""

    code: str
    answers: tuple[PersonAnswer, ...]
    label: Label | None
    is_open: bool


def list_questions(case: Case) -> tuple[CodeQuestion, ...]:
    """The codes of a case, open ones first. Of one person the last answer counts."""
    turn = case.task.turn
    labels = {
        label.code: label
        for label in select_surest(case.labels)
        if label.turn == turn and label.code in case.task.codes
    }
    questions = []
    for code in case.task.codes:
        by_person = {
            answer.labeler: tuple(each for each in answer.findings if each.code == code and each.turn == turn)
            for answer in case.answers
            if code in answer.codes and answer.turn in (None, turn)
        }
        answers = tuple(PersonAnswer(who, findings) for who, findings in by_person.items())
        n_yes, label = sum(bool(one.findings) for one in answers), labels.get(code)
        unsure = label is not None and max(label.probability, 1 - label.probability) < SURE
        is_open = not answers or 0 < n_yes < len(answers) or unsure
        questions.append(CodeQuestion(code, answers, label, is_open))
    return tuple(sorted(questions, key=lambda one: not one.is_open))


def suggest_decision(case: Case, question: CodeQuestion, answer: Answer, taxonomy: Taxonomy) -> Decision:
    """A decision with the evidence and the severity that are most likely: those of the label, of the person
    who marked it last, of the verdict, else the whole turn and the code's usual severity."""
    if answer != "yes":
        return Decision(answer=answer)
    spans = [(one.start, one.end, one.severity) for one in evidence(case, question)]
    start, end, severity = spans[-1] if spans else (0, 0, taxonomy.codes[question.code].severity)
    label = question.label
    if label is not None and label.start is not None and label.end is not None:
        start, end = label.start, label.end
    if end <= start:
        start, end = 0, len(turn_text(case))
    return Decision(answer="yes", severity=severity, start=start, end=end)


def evidence(case: Case, question: CodeQuestion) -> list[Finding]:
    """The verdict's findings of the code in the turn, then those of people."""
    by_model = [] if case.verdict is None else [*case.verdict.findings, *case.verdict.suggestions]
    here = [one for one in by_model if (one.code, one.turn) == (question.code, case.task.turn)]
    return here + [finding for one in question.answers for finding in one.findings]


def turn_text(case: Case) -> str:
    """The text of the turn in question."""
    return next(each.text for each in case.task.dialogue.turns if each.index == case.task.turn)


def load_draft(
    store: Store, actor: str, case: Case, questions: tuple[CodeQuestion, ...], taxonomy: Taxonomy
) -> CaseDraft:
    """The draft in the store; without one, what all agree on is decided already."""
    stored = drafts.load_draft(store, actor, draft_name(case))
    if stored is not None:
        try:
            return CaseDraft.model_validate_json(stored.content)
        except ValidationError:
            pass  # of another version of the console: start anew
    agreed = {}
    for one in questions:
        if not one.is_open:
            answer: Answer = "yes" if one.answers[0].findings else "no"
            agreed[one.code] = suggest_decision(case, one, answer, taxonomy)
    return CaseDraft(decisions=agreed)


def draft_name(case: Case) -> str:
    """The draft's name in the store."""
    return f"case:{case.task.task}"


def submit_decision(
    store: Store, actor: str, case: Case, lease: Lease, draft: CaseDraft, reason: str, taxonomy: Taxonomy,
    seconds: float,
) -> None:  # fmt: skip
    """Save the decision, and claim the next case, if there is one to be had. However often it is sent, it
    counts once.

    Raises:
        StaleLease: the lease was lost.
        StoreRefused: as for `decide_case`.
    """
    findings = []
    for code, one in draft.decisions.items():
        if one.answer == "yes" and one.severity is not None and case.task.turn is not None:
            words = Selection(turn=case.task.turn, start=one.start, end=one.end)
            finding = make_finding(case.task.dialogue, words, taxonomy.codes[code], one.severity)
            findings.append(finding.model_copy(update={"reason": reason}))
    skipped = tuple(code for code, one in draft.decisions.items() if one.answer == "not applicable")
    key = f"decision {actor} {lease.task} {lease.token}"
    expert_cases.decide_case(
        store, actor, lease.task, lease.token, key, findings, reason, seconds, not_applicable=skipped
    )
    with suppress(DialintError):  # the case is decided, so nothing here may say that it is not
        drafts.delete_draft(store, actor, draft_name(case))
        leases.claim(store, actor, lease.project)
