"""The cases of the Adjudicate page: the queue, the form by which a lead sends questions to experts, and an
expert's decision while it is made, which is kept as a draft in the store.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, NamedTuple

import streamlit as st
from pydantic import Field, ValidationError

from dialint.app.console.i18n import _, paragraph, show_number, show_percent
from dialint.app.console.messages import report_refusals, set_notice
from dialint.app.console.tables import dialogue_cell, select, show_table
from dialint.app.console.tasks.answer import Selection, make_finding
from dialint.app.console.text import safe_markdown
from dialint.detector.errors import DialintError
from dialint.detector.records import Finding, Label, Record, Severity
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.adjudication.cases import (
    AdjudicateConfig,
    adjudicate,
)
from dialint.labeling.aggregation.question_posteriors import select_surest
from dialint.labeling.store import expert_cases, leases, projects, task_view
from dialint.labeling.store.api import Store
from dialint.labeling.store.expert_cases import ExpertCase
from dialint.labeling.store.records import Account, Lease, Project
from dialint.labeling.store.tasks import count_tasks

MAX_LISTED, SURENESS = 50, (0.8, 0.9, 0.95)
DEFAULT_PROJECT = "adjudication"
"""The name of the project that is made if there is none."""


def show_queue(store: Store, account: Account, project: str) -> None:
    """Show the waiting cases, most costly doubt first, and the button that takes the next one."""
    waiting = expert_cases.list_open_cases(store, account.id, project, MAX_LISTED)
    counts = count_tasks(store, account.id, project)["main"]

    def take() -> None:
        with report_refusals("adjudicate"):
            if leases.claim(store, account.id, project) is None:
                set_notice("adjudicate", "info", _("No case is waiting for you."))

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Decide the next case"), type="primary", shortcut="N", on_click=take,
            disabled=not counts["open"], key="take case",
        )  # fmt: skip
        waits, held, done = (show_number(counts[state]) for state in ("open", "full", "done"))
        summary = _("{waiting} waiting · {held} with an expert · {done} decided")
        st.caption(safe_markdown(summary.format(waiting=waits, held=held, done=done)))
    if not waiting:
        st.success(_("Every case is decided."))
        return
    show_table(
        (_("Dialogue"), _("Turn"), _("Expected cost of an error"), _("State")),
        (
            (
                dialogue_cell(one.dialogue), str(one.turn), show_number(one.priority, "0.00"),
                _("waiting") if one.state == "open" else _("with an expert"),
            )
            for one in waiting
        ),
    )  # fmt: skip
    st.caption(paragraph("The cost is the probability"))


def show_sending(store: Store, account: Account, into: str | None, taxonomy: Taxonomy) -> None:
    """Show the form that sends open questions to experts."""
    listed = projects.list_projects(store, account.id)
    sources = {each.id: each for each, _state in listed if each.purpose in ("label", "review")}
    source = select(
        _("Answers of"), list(sources), "send source",
        help=_("A question is open if its posterior is not sure enough, or if people disagree."),
    )  # fmt: skip
    select(_("Open if less sure than"), SURENESS, "send sure", show_percent, usual=0.9)
    st.toggle(_("And whenever people disagree"), value=True, key="send disagreements")

    def send() -> None:
        chosen = st.session_state  # newer than what this run saw, where a choice and the click came together
        with report_refusals("adjudicate"):
            name, target = chosen["send source"], into
            if target is None:
                project = Project(id=DEFAULT_PROJECT, codes=sources[name].codes, purpose="adjudication")
                target = projects.create(store, account.id, project).id
            config = AdjudicateConfig(
                into=target, project=name, sure=chosen["send sure"],
                disagreements=chosen["send disagreements"],
            )  # fmt: skip
            counts = adjudicate(store, account.id, config, taxonomy)
            done = _("{cases} turns have open questions; {added} are new in the queue.")
            text = done.format(cases=show_number(counts.cases), added=show_number(counts.added))
            set_notice("adjudicate", "success", text)

    st.button(_("Send open questions"), key="send cases", on_click=send, disabled=source is None)


Answer = Literal["yes", "no", "not applicable"]
SURE = 0.9
"""Confidence of the likelier answer from which a unanimous question needs no decision."""


class Decision(Record):
    """The decision on a code. `start` and `end` bound the evidence of a yes in the case's turn."""

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
    """A code of a case; `is_open`: people disagree, nobody answered it, or the most trusted label is not
    sure."""

    code: str
    answers: tuple[PersonAnswer, ...]
    label: Label | None
    is_open: bool


def list_questions(case: ExpertCase) -> tuple[CodeQuestion, ...]:
    """Return the codes of a case, open ones first. Of one person the last answer counts."""
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


def suggest_decision(
    case: ExpertCase, question: CodeQuestion, answer: Answer, taxonomy: Taxonomy
) -> Decision:
    """Return a decision with the likeliest evidence: of the label, the last person, the verdict, else the
    whole turn."""
    if answer != "yes":
        return Decision(answer=answer)
    spans = [(one.start, one.end, one.severity) for one in list_evidence(case, question)]
    start, end, severity = spans[-1] if spans else (0, 0, taxonomy.codes[question.code].severity)
    label = question.label
    if label is not None and label.start is not None and label.end is not None:
        start, end = label.start, label.end
    if end <= start:
        start, end = 0, len(turn_text(case))
    return Decision(answer="yes", severity=severity, start=start, end=end)


def list_evidence(case: ExpertCase, question: CodeQuestion) -> list[Finding]:
    """Return the verdict's findings of the code in the turn, then those of people."""
    by_model = [] if case.verdict is None else [*case.verdict.findings, *case.verdict.suggestions]
    here = [one for one in by_model if (one.code, one.turn) == (question.code, case.task.turn)]
    return here + [finding for one in question.answers for finding in one.findings]


def turn_text(case: ExpertCase) -> str:
    """Return the text of the turn in question."""
    return next(each.text for each in case.task.dialogue.turns if each.index == case.task.turn)


def load_draft(
    store: Store, actor: str, case: ExpertCase, questions: tuple[CodeQuestion, ...], taxonomy: Taxonomy
) -> CaseDraft:
    """Return the draft in the store; without one, a draft that has what all agree on."""
    stored = task_view.load_draft(store, actor, draft_name(case), case.task.dialogue.id)
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


def draft_name(case: ExpertCase) -> str:
    """Return the draft's name in the store."""
    return f"case:{case.task.task}"


def submit_decision(
    store: Store, actor: str, case: ExpertCase, lease: Lease, draft: CaseDraft, reason: str,
    taxonomy: Taxonomy, seconds: float,
) -> None:  # fmt: skip
    """Save the decision, once however often it is sent, and claim the next case."""
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
        task_view.delete_draft(store, actor, draft_name(case))
        leases.claim(store, actor, lease.project)
