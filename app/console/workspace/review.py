"""The Review page: the model's findings, to be confirmed, rejected, changed or added to.

Its suggestions stand apart from them and need no decision. What one does in the workspace is in
`workspace.js`; here are the way in, and the choice between two answers to one item.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console.i18n import _, show_number, show_time
from dialint.app.console.links import go_to
from dialint.app.console.text import (
    code_title,
    origin_text,
    safe_markdown,
    safe_text,
    severity_title,
    verdict_text,
)
from dialint.app.console.workspace import items
from dialint.app.console.workspace.items import EditConflict
from dialint.app.console.workspace.page_session import (
    PageSession,
    count_queue,
    discard,
    open_session,
    save,
    show_notices,
)
from dialint.app.console.workspace.start import show_start
from dialint.app.console.workspace.workspace import show_workspace
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, Purpose

PURPOSES: tuple[Purpose, ...] = ("review",)


def review_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("review", store, account, PURPOSES, blind=False)
    if session.conflict is not None:
        show_notices(session)
        _show_conflict(session, session.conflict)
    elif session.item is not None:
        _show_item(session)
    elif session.project is None:
        show_notices(session)
        st.info(_("There is no open review project. A lead makes one."))
    else:
        if session.back is not None and st.button(_("Back to the dialogue"), key="back", type="tertiary"):
            go_to("dialogue", session.back)
        show_start(session, PURPOSES, _("Start reviewing"), _("Dialogues that wait for you: {n}"))


def _show_item(session: PageSession) -> None:
    item, answer = session.item, session.answer
    assert item is not None
    assert answer is not None
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
    """Somebody else answered first: both answers side by side, and the choice."""
    taxonomy = load_taxonomy()
    theirs = conflict.theirs[-1]
    st.warning(_("This was answered elsewhere before your answer came. Yours is not saved yet. Compare:"))
    left, right = st.columns(2)
    only_theirs, only_ours = items.diff_findings(theirs.findings, conflict.ours)
    when = _("time unknown") if conflict.answered is None else show_time(conflict.answered)
    with left:
        _show_side(f"{theirs.labeler} ({when})", theirs.findings, only_theirs, taxonomy)
    with right:
        _show_side(_("You"), conflict.ours, only_ours, taxonomy)

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


def _show_side(who: str, findings: tuple[Finding, ...], only: list[Finding], taxonomy: Taxonomy) -> None:
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
            if finding in only:
                st.caption(_("not in the other answer"))
