"""The Label page: blind. Instructions and definitions beside the dialogue; yes or no for each code.

Training tasks show their solution after the answer. Exams and control tasks show nothing: a labeler's own
numbers are of training alone, as one that moves after an answer would reveal a control task.
"""

from __future__ import annotations

import streamlit as st

from dialint.app.console.i18n import _, show_number
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.app.console.workspace.page_session import PageSession, open_session, show_notices
from dialint.app.console.workspace.start import show_start
from dialint.app.console.workspace.workspace import show_workspace
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.own_work import grade_own_training, load_training_gold
from dialint.labeling.store.records import Account, Pool, Purpose

PURPOSES: tuple[Purpose, ...] = ("label", "calibration")


def label_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("label", store, account, PURPOSES, blind=True)
    if session.solution is not None:
        show_notices(session)
        _show_solution(session)
    elif session.item is not None:
        _show_item(session)
    elif session.project is None:
        show_notices(session)
        st.info(_("There is no open project to label. A lead makes one."))
    else:
        if account.status == "training":
            _show_training(session)
        show_start(session, PURPOSES, _("Start labeling"), _("Tasks that wait for you: {n}"))


def _show_item(session: PageSession) -> None:
    item = session.item
    assert item is not None
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


def _show_training(session: PageSession) -> None:
    grade = grade_own_training(session.store, session.account.id)
    st.caption(
        _("You are in training: training tasks come first, then the exam that admits you to the main work.")
    )
    if grade.n:
        text = _("Questions of training tasks that you answered rightly: {right} of {n}")
        st.markdown(safe_markdown(text.format(right=show_number(grade.n_right), n=show_number(grade.n))))


def _show_solution(session: PageSession) -> None:
    """The solution of the training task that was just answered, beside the person's own answer."""
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
