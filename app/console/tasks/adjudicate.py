"""The Adjudicate page: experts settle what answers do not.

Looking at the queue takes no case: only the button does. What a lead may do beside it (sending questions to
experts, accepting in bulk what all agree on) is in `cases`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import streamlit as st

from dialint.app.console.i18n import _, choose_name, paragraph
from dialint.app.console.messages import report_refusals, set_notice, show_notice
from dialint.app.console.tables import select
from dialint.app.console.tasks.answer import Selection
from dialint.app.console.tasks.cases import (
    Answer,
    CaseDraft,
    CodeQuestion,
    Decision,
    draft_name,
    list_evidence,
    list_questions,
    load_draft,
    show_queue,
    show_sending,
    submit_decision,
    suggest_decision,
    turn_text,
)
from dialint.app.console.tasks.dialogue_view import Mark, show_marked_dialogue
from dialint.app.console.text import (
    explain_code,
    lookup_code,
    percent,
    safe_markdown,
    safe_text,
    severity_title,
)
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.store import expert_cases, leases, projects, task_view
from dialint.labeling.store.api import Store
from dialint.labeling.store.expert_cases import ExpertCase
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, Lease

MAX_QUOTE = 90
AWAY_S = 900.0
"""The most of a decision's time that counts as work."""


@dataclass
class CaseSession:
    """The current case; the store has the lease and the draft."""

    store: Store
    account: Account
    lease: Lease
    case: ExpertCase
    questions: tuple[CodeQuestion, ...]
    draft: CaseDraft
    taxonomy: Taxonomy
    started_s: float = field(default_factory=time.monotonic)
    is_over: bool = False
    """True once decided or given back: a second click on the old screen does nothing."""

    @property
    def current(self) -> str | None:
        """The first code that is not decided."""
        return next((one.code for one in self.questions if one.code not in self.draft.decisions), None)

    def decide(self, question: CodeQuestion, answer: Answer) -> None:
        """Decide a code; the draft is stored."""
        self.update(question.code, suggest_decision(self.case, question, answer, self.taxonomy))

    def update(self, code: str, decision: Decision) -> None:
        """Change the decision on a code; the draft is stored."""
        if self.is_over:
            return
        self.draft = CaseDraft(decisions={**self.draft.decisions, code: decision})
        with report_refusals("adjudicate"):
            content, dialogue = self.draft.model_dump_json(), self.case.task.dialogue.id
            task_view.save_draft(self.store, self.account.id, draft_name(self.case), content, dialogue)
            leases.renew(self.store, self.account.id, self.lease.task, self.lease.token)

    def select(self, selection: Selection | None) -> None:
        """Make selected words the evidence of the code that was last decided as present."""
        yes = [code for code, one in self.draft.decisions.items() if one.answer == "yes"]
        if yes and selection is not None:
            words = {"start": selection.start, "end": selection.end}
            self.update(yes[-1], self.draft.decisions[yes[-1]].model_copy(update=words))


def adjudicate_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    show_notice("adjudicate")
    taxonomy = load_taxonomy()
    listed = [
        project.id
        for project, state in projects.list_projects(store, account.id)
        if project.purpose == "adjudication" and state == "open"
    ]
    project = listed[0] if listed else None
    if len(listed) > 1:
        project = select(_("Project"), listed, "adjudication project")
    lease = None if project is None else leases.find_held(store, account.id, project)
    if lease is not None:
        _show_case(_open_case(store, account, lease, taxonomy))
        return
    st.subheader(_("Adjudicate"), anchor=False)
    if project is None:
        st.info(_("Nothing was sent to experts yet. A lead does so."))
    else:
        show_queue(store, account, project)
    if has_permission(account, "plan"):
        show_sending(store, account, project, taxonomy)


def _open_case(store: Store, account: Account, lease: Lease, taxonomy: Taxonomy) -> CaseSession:
    name = "adjudicate case"
    session = st.session_state.get(name)
    if (
        isinstance(session, CaseSession)
        and session.account.id == account.id
        and (session.lease.task, session.lease.token) == (lease.task, lease.token)
    ):
        session.lease = lease  # it may have been renewed
        return session
    case = expert_cases.load_case(store, account.id, lease.task)
    questions = list_questions(case)
    draft = load_draft(store, account.id, case, questions, taxonomy)
    session = CaseSession(store, account, lease, case, questions, draft, taxonomy)
    st.session_state[name] = session
    return session


def _show_case(session: CaseSession) -> None:
    case = session.case
    left, right = st.columns([11, 9], gap="medium")
    with left:
        title = _("Turn {turn} of {dialogue}").format(turn=case.task.turn, dialogue=case.task.dialogue.id)
        st.markdown(f"**{safe_markdown(title)}**")
        why = _("Open when it was sent to experts: {why} (posterior, and how many said yes).").format(
            why=case.why.replace("open: ", "", 1)
        )
        st.caption(safe_markdown(why))
        show_marked_dialogue(
            case.task.dialogue, _make_marks(session), case.task.turn, f"case:{case.task.task}",
            only_turn=case.task.turn, on_selection=session.select,
        )  # fmt: skip
    with right:
        for question in session.questions:
            if question.is_open:
                with st.container(border=True):
                    _show_question(session, question)
        agreed = [one for one in session.questions if not one.is_open]
        if agreed:
            names = {"yes": _("yes"), "no": _("no"), "not applicable": _("not applicable")}
            decided = {code: names[one.answer] for code, one in session.draft.decisions.items()}
            codes = " · ".join(f"{one.code} {decided.get(one.code, _('not decided'))}" for one in agreed)
            with st.expander(safe_markdown(_("All agree: {codes}").format(codes=codes))):
                for question in agreed:
                    with st.container(border=True):
                        _show_question(session, question)
        _show_decision_form(session)


def _make_marks(session: CaseSession) -> list[Mark]:
    marks, turn = [], session.lease.turn or 0
    for question in session.questions:
        for start, end in sorted({(one.start, one.end) for one in list_evidence(session.case, question)}):
            words = Selection(turn=turn, start=start, end=end)
            marks.append(Mark(words, safe_text(f"{question.code} ?"), "open"))
        decision = session.draft.decisions.get(question.code)
        if decision is not None and decision.answer == "yes":
            words = Selection(turn=turn, start=decision.start, end=decision.end)
            marks.append(Mark(words, safe_text(f"{question.code} ✓"), "kept"))
    return marks


def _show_question(session: CaseSession, question: CodeQuestion) -> None:
    entry = lookup_code(question.code, session.taxonomy)
    is_current = session.current == question.code
    pointer = "▶ " if is_current else ""
    st.markdown(f"**{safe_markdown(f'{pointer}{question.code} {choose_name(entry.name)}')}**")
    st.caption(safe_markdown(entry.test))
    _show_answers(session, question)
    label, decision = question.label, session.draft.decisions.get(question.code)
    if label is None:
        st.caption(_("Not aggregated yet: there is no posterior."))
    else:
        text = _("Posterior {probability}: joint method, {n} people and the model.")
        if label.method == "expert":
            text = _("Decided before: {probability}, by an expert.")
        text = text.format(probability=percent(label.probability), n=label.n_labelers)
        st.caption(safe_markdown(text))
    with st.container(horizontal=True):
        words: dict[Answer, tuple[str, str]] = {
            "yes": (_("Yes, an error"), "Y"), "no": (_("No"), "N"),
            "not applicable": (_("Not applicable"), "X"),
        }  # fmt: skip
        for answer, (text, letter) in words.items():
            chosen = decision is not None and decision.answer == answer
            st.button(
                safe_markdown(text), type="primary" if chosen else "secondary",
                shortcut=letter if is_current else None,
                key=f"case:{session.case.task.task}:{question.code}:{answer}:{is_current}",
                on_click=session.decide, args=(question, answer),
            )  # fmt: skip
        with st.popover(_("Definition")):
            st.markdown(explain_code(entry))
    if decision is not None and decision.answer == "yes":
        _show_evidence_form(session, question, decision)


def _show_answers(session: CaseSession, question: CodeQuestion) -> None:
    people = list(dict.fromkeys(one.who for each in session.questions for one in each.answers))
    title = _("Rater {n}")
    names = {who: title.format(n=number) for number, who in enumerate(people, 1)}
    yes = [one for one in question.answers if one.findings]
    no = [one for one in question.answers if not one.findings]
    left, right = st.columns(2)
    with left:
        for one in yes:
            for finding in one.findings:
                quote = finding.quote if len(finding.quote) <= MAX_QUOTE else f"{finding.quote[:MAX_QUOTE]}…"
                st.text(safe_text(f"✓ {names[one.who]} · {finding.severity} · “{quote}”"))
        for finding in list_evidence(session.case, question):
            if session.case.verdict is not None and finding.probability < 1.0:
                release = session.case.verdict.release
                st.text(safe_text(f"✓ {release} · {percent(finding.probability)}"))
                break
        if not yes:
            st.caption(_("Nobody says yes."))
    with right:
        if no:
            st.text(safe_text("✗ " + ", ".join(names[one.who] for one in no)))
        else:
            st.caption(_("Nobody says no."))


def _show_evidence_form(session: CaseSession, question: CodeQuestion, decision: Decision) -> None:
    entry = lookup_code(question.code, session.taxonomy)
    key = f"case:{session.case.task.task}:{question.code}:{decision.start}:{decision.end}"
    level, words = st.columns([2, 3])
    with level:
        titles = {each: severity_title(each, session.taxonomy) for each in entry.severities}
        usual = decision.severity if decision.severity in titles else entry.severity
        select(_("Severity"), titles, f"{key}:severity", usual=usual)
    with words:
        whole = (0, len(turn_text(session.case)))
        spans = dict.fromkeys([(decision.start, decision.end)])
        spans |= dict.fromkeys((one.start, one.end) for one in list_evidence(session.case, question))
        text = turn_text(session.case)
        names = {span: f"“{text[span[0] : span[1]][:MAX_QUOTE]}”" for span in spans}
        names[whole] = _("the whole turn")
        select(_("Evidence; or select words in the turn"), names, f"{key}:span")
    if _update_evidence(session, question.code, decision):
        st.rerun()


def _update_evidence(session: CaseSession, code: str, decision: Decision) -> bool:
    """Put the severity and the words that are chosen on the screen into the draft; whether they are new."""
    key = f"case:{session.case.task.task}:{code}:{decision.start}:{decision.end}"
    severity = st.session_state.get(f"{key}:severity", decision.severity)
    start, end = st.session_state.get(f"{key}:span", (decision.start, decision.end))
    changed = decision.model_copy(update={"severity": severity, "start": start, "end": end})
    if changed == decision:
        return False
    session.update(code, changed)
    return True


def _show_decision_form(session: CaseSession) -> None:
    key = f"case reason:{session.case.task.task}"
    st.text_area(
        _("Reason, which is kept with the decision"), key=key, height=80,
        max_chars=expert_cases.MAX_CHARACTERS,
    )  # fmt: skip

    def decide() -> None:
        if session.is_over:
            return
        reason = str(st.session_state.get(key, "")).strip()
        if not reason:
            set_notice("adjudicate", "error", _("A decision needs a reason."))
            return
        for code, decision in session.draft.decisions.items():
            if decision.answer == "yes":  # chosen together with this click, it is in no draft yet
                _update_evidence(session, code, decision)
        with report_refusals("adjudicate"):
            seconds = min(time.monotonic() - session.started_s, AWAY_S)
            submit_decision(
                session.store, session.account.id, session.case, session.lease, session.draft, reason,
                session.taxonomy, seconds,
            )  # fmt: skip
            session.is_over = True
            set_notice("adjudicate", "success", _("The case is decided."))

    def give_back() -> None:
        if session.is_over:
            return
        with report_refusals("adjudicate"):
            leases.release(session.store, session.account.id, session.lease.task, session.lease.token)
            session.is_over = True

    if session.current is not None:
        st.caption(safe_markdown(_("Still to decide: {code}.").format(code=session.current)))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Decide and next"), key=f"decide:{session.case.task.task}", type="primary", shortcut="S",
            disabled=session.current is not None, on_click=decide,
            help=paragraph("Every code above becomes gold"),
        )  # fmt: skip
        st.button(_("Give it back"), key=f"give back:{session.case.task.task}", on_click=give_back)
