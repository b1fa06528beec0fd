"""The pages Review and Label: the way in, the item in the workspace, and what stands in its place.

Review: the model's findings are confirmed, rejected, changed or added to; its suggestions stand apart and
need no decision. Label is blind: yes or no for each code, with instructions and definitions beside the
dialogue. Training tasks show their solution after the answer; exams and control tasks show nothing, and a
labeler's own numbers are of training alone, as one that moves after an answer would reveal a control task.
Looking at a page takes no work from others: a button claims the first task.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dialint.app.console.i18n import _, paragraph, show_number, show_time
from dialint.app.console.tables import go_to
from dialint.app.console.tasks import items
from dialint.app.console.tasks.items import EditConflict
from dialint.app.console.tasks.page_session import (
    PageSession,
    count_queue,
    discard,
    open_session,
    save,
    show_projects,
    undo,
)
from dialint.app.console.tasks.workspace import show_workspace
from dialint.app.console.text import (
    code_title,
    origin_text,
    safe_markdown,
    safe_text,
    severity_title,
    verdict_text,
)
from dialint.detector.records import Finding
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account, Pool, Purpose
from dialint.labeling.store.task_view import grade_own_training, load_training_gold

REVIEW_PURPOSES: tuple[Purpose, ...] = ("review",)


def _show_notices(session: PageSession) -> None:
    """Show the messages where there is no workspace to show them."""
    for kind, text in session.notices:
        {"success": st.success, "info": st.info, "warning": st.warning, "error": st.error}[kind](
            safe_markdown(text)
        )


def review_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("review", store, account, REVIEW_PURPOSES, blind=False)
    if session.conflict is not None:
        _show_notices(session)
        _show_conflict(session, session.conflict)
    elif session.item is not None:
        _show_review_item(session)
    elif session.project is None:
        _show_notices(session)
        st.info(_("There is no open review project. A lead makes one."))
    else:
        if session.back is not None and st.button(_("Back to the dialogue"), key="back", type="tertiary"):
            go_to("dialogue", session.back)
        show_start(session, REVIEW_PURPOSES, _("Start reviewing"), _("Dialogues that wait for you: {n}"))


def _show_review_item(session: PageSession) -> None:
    item, answer = session.current
    if item.supersedes is not None:
        title = _("Dialogue {id}: you are changing your answer {number}").format(
            id=item.dialogue.id, number=item.supersedes
        )
    else:
        title = _("Dialogue {id}; {n} more wait for you").format(
            id=item.dialogue.id, n=show_number(count_queue(session))
        )
    n_suggested = sum(choice.suggested for choice in answer.choices)
    n_proposed = sum(choice.proposed is not None for choice in answer.choices) - n_suggested
    if item.blind:
        summary = _("A second review: what the model and others say of it is not shown.")
    else:
        summary = verdict_text(item.verdict, n_proposed, n_suggested)
    origin = "" if item.blind else origin_text(item.dialogue)
    show_workspace(session, "review", title=title, origin=origin, summary=summary)


def _show_conflict(session: PageSession, conflict: EditConflict) -> None:
    theirs, ours = conflict.theirs[-1], conflict.ours.findings
    st.warning(_("This was answered elsewhere before your answer came. Yours is not saved yet. Compare:"))
    left, right = st.columns(2)
    when = _("time unknown") if theirs.at is None else show_time(theirs.at)
    with left:
        _show_side(f"{theirs.labeler} ({when})", theirs.findings, ours)
    with right:
        _show_side(_("You"), ours, theirs.findings)

    submit = partial(items.submit_anyway, session.store, session.account.id, conflict)
    with st.container(horizontal=True):
        st.button(
            _("Keep theirs"), key="clash:theirs", on_click=session.on_click,
            args=(discard, session, conflict.item),
        )  # fmt: skip
        st.button(
            _("Save mine as well"), key="clash:ours", type="primary", on_click=session.on_click,
            args=(save, session, conflict.item, submit),
        )  # fmt: skip


def _show_side(who: str, findings: Sequence[Finding], others: Sequence[Finding]) -> None:
    def place(finding: Finding) -> tuple[object, ...]:
        return finding.turn, finding.code, finding.severity, finding.start, finding.end

    taxonomy, other_places = load_taxonomy(), {place(each) for each in others}
    st.markdown(f"**{safe_markdown(who)}**")
    if not findings:
        st.text(_("Nothing wrong here."))
    for finding in findings:
        with st.container(border=True):
            facts = (
                _("Turn {n}").format(n=finding.turn),
                code_title(finding.code, taxonomy),
                severity_title(finding.severity, taxonomy),
            )
            st.markdown(safe_markdown(" · ".join(facts)))
            st.text(safe_text(f"“{finding.quote}”"))
            if place(finding) not in other_places:
                st.caption(_("not in the other answer"))


LABEL_PURPOSES: tuple[Purpose, ...] = ("label", "calibration")


def label_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("label", store, account, LABEL_PURPOSES, blind=True)
    if session.solution is not None:
        _show_notices(session)
        _show_solution(session)
    elif (item := session.item) is not None:
        titles: dict[Pool, str] = {
            "training": _("Training: you see the solution after each answer"),
            "exam": _("Exam: it decides whether you are admitted"),
        }
        title = titles.get(item.pool, _("Is there an error?"))
        if item.supersedes is not None:
            title = _("You are changing your last answer.")
        guide = _("Numbers are turns. Only agent and bot turns can hold an error.")
        if item.dialogue.masked:
            guide += " " + _("Words such as [NAME_1] stand in place of personal data; they are no error.")
        show_workspace(session, "label", title=title, origin=guide)
    elif session.project is None:
        _show_notices(session)
        st.info(_("There is no open project to label. A lead makes one."))
    else:
        if account.status == "training":
            _show_training(session)
        show_start(session, LABEL_PURPOSES, _("Start labeling"), _("Tasks that wait for you: {n}"))


def _show_training(session: PageSession) -> None:
    st.caption(
        _("You are in training: training tasks come first, then the exam that admits you to the main work.")
    )
    if (grade := grade_own_training(session.store, session.account.id)).n:
        text = _("Questions of training tasks that you answered rightly: {right} of {n}")
        st.markdown(safe_markdown(text.format(right=show_number(grade.n_right), n=show_number(grade.n))))


def _show_solution(session: PageSession) -> None:
    assert session.solution is not None
    item, annotation = session.solution
    assert item.task is not None
    taxonomy = load_taxonomy()
    gold = load_training_gold(session.store, session.account.id, item.task)
    texts = {turn.index: turn.text for turn in item.dialogue.turns}
    st.subheader(_("Solution of the training task"))
    for code in item.codes:
        right = {each.turn for each in gold if each.code == code and each.present}
        gold_turns = {each.turn for each in gold if each.code == code}
        marked = {finding.turn for finding in annotation.findings if finding.code == code}
        if not gold_turns:
            continue
        verdict = _("✓ right") if marked & gold_turns == right else _("✗ not right")
        with st.container(border=True):
            st.markdown(f"**{safe_markdown(code_title(code, taxonomy))}**: {safe_markdown(verdict)}")
            if code in taxonomy.codes:
                st.caption(safe_markdown(taxonomy.codes[code].test))
            for turn in sorted(right | marked & gold_turns):
                lines = {
                    (True, True): _("Turn {n}: an error, and you marked it."),
                    (True, False): _("Turn {n}: an error that you did not mark."),
                    (False, True): _("Turn {n}: you marked it, and there is no error."),
                }
                st.markdown(safe_markdown(lines[turn in right, turn in marked].format(n=turn)))
                st.text(safe_text(texts.get(turn, "")[:400]))
            for each in gold:
                if each.code == code and each.reason:
                    st.text(safe_text(_("Turn {n}: {reason}").format(n=each.turn, reason=each.reason)))
            if not right | marked & gold_turns:
                st.caption(_("No error here, as you said."))

    def go_on() -> None:
        session.solution = None

    st.button(
        _("Next task"), key="solution:next", type="primary", shortcut="Enter", on_click=session.on_click,
        args=(go_on,),
    )  # fmt: skip


def show_start(session: PageSession, purposes: tuple[Purpose, ...], label: str, waiting: str) -> None:
    """Show the way into a queue. `label` is the button's, `waiting` the line with the queue's length."""
    _show_notices(session)

    def start() -> None:
        session.started, session.waiting, session.back = True, None, None

    show_projects(session, purposes)
    n = count_queue(session)
    st.markdown(f"**{safe_markdown(waiting.format(n=show_number(n)))}**")
    if n == 0:
        st.info(_("Nothing is waiting for you in this queue."))
    st.caption(paragraph("A task that you start is reserved"))
    with st.container(horizontal=True):
        st.button(
            safe_markdown(label), key="start", type="primary", shortcut="Enter",
            on_click=session.on_click, args=(start,),
        )  # fmt: skip
        st.button(
            _("Reopen my last answer"), key="start:undo", on_click=session.on_click, args=(undo, session)
        )
    st.caption(_("While you work, ? shows the keys."))
