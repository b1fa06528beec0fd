"""The Review page: the model's findings, to be confirmed, rejected, changed or added to.

Its suggestions stand apart from them and need no decision.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console import items
from dialint.app.console.answer import Answer, Choice, State, change, decide
from dialint.app.console.forms import finding_form, other_buttons, remove_button, save_button, undo_button
from dialint.app.console.items import EditConflict, Item
from dialint.app.console.page_session import (
    PageSession,
    button_type,
    discard,
    open_session,
    save,
    show_dialogue,
    update_answer,
)
from dialint.app.console.text import (
    code_title,
    lookup_code,
    origin_text,
    safe_markdown,
    safe_text,
    severity_title,
    source_text,
    verdict_text,
)
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.store import tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

STATE_LABELS = {"open": "Not decided", "kept": "Confirmed ✓", "rejected": "Rejected ✗"}
DECISIONS: tuple[tuple[str, State, str], ...] = (("Confirm", "kept", "Y"), ("Reject", "rejected", "N"))
SUGGESTION_LABELS = {"open": "Suggestion", "kept": "Confirmed ✓: your finding", "rejected": "Dismissed"}
SUGGESTION_DECISIONS: tuple[tuple[str, State, str], ...] = (
    ("Confirm as a finding", "kept", ""),
    ("Dismiss", "rejected", ""),
)
MAX_EXPANDED = 2
"""Suggestions that are shown at once; more are behind a click."""


def review_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("review", store, account, ("review",), blind=False)
    if session.project is None:
        st.info("There is no open review project. A lead makes one.")
    elif session.item is None or session.answer is None:
        st.info("Nothing is waiting for you in this queue.")
        undo_button(session)
    elif session.conflict is not None:
        _show_conflict(session, session.conflict)
    else:
        _show_item(session, session.item, session.answer)


def _show_item(session: PageSession, item: Item, answer: Answer) -> None:
    taxonomy = load_taxonomy()
    current = next(iter(answer.undecided), None)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        if item.supersedes is not None:
            where = f"Dialogue {item.dialogue.id}: you are changing your answer {item.supersedes}"
        else:
            queue = tasks.count_tasks(session.store, session.account.id, session.project or "")["main"]
            where = f"Dialogue {item.dialogue.id}; {queue['open']} more in the queue"
        st.caption(safe_markdown(where))
        if not item.blind and (origin := origin_text(item.dialogue)):
            st.caption(safe_markdown(origin))
        focus = None if current is None else answer.choices[current].finding.turn
        show_dialogue(session, "review", focus)
    with right:
        suggested = [(index, choice) for index, choice in enumerate(answer.choices) if choice.suggested]
        n_proposed = sum(choice.proposed is not None for choice in answer.choices) - len(suggested)
        blind = "A second review: what the model and others say of it is not shown."
        st.caption(
            safe_markdown(blind if item.blind else verdict_text(item.verdict, n_proposed, len(suggested)))
        )
        for index, choice in enumerate(answer.choices):
            if choice.suggested:
                continue
            with st.container(border=True):
                _show_card(session, item, index, choice, taxonomy, is_current=index == current)
        if suggested:
            with st.expander("Suggestions: not counted", expanded=len(suggested) <= MAX_EXPANDED):
                st.caption(
                    "Places worth a look where the evidence does not suffice for a finding. Confirm one to "
                    "make it your own finding; the rest needs no decision."
                )
                for index, choice in suggested:
                    with st.container(border=True):
                        _show_card(session, item, index, choice, taxonomy, is_current=False)
        with st.expander("Add a finding", expanded=session.selected is not None):
            finding_form(session, item, item.codes, taxonomy, with_model=True)
        n_open, n = len(answer.undecided), len(answer.findings)
        if n_open:
            summary = f"Decide {n_open} more finding{'s' if n_open > 1 else ''}, then save."
        else:
            summary = f"You say: {f'{n} error' + 's' * (n > 1) if n else 'nothing wrong here'}."
        st.caption(safe_markdown(summary))
        save_button(session, item, ready=not n_open)
        other_buttons(session, item)


def _show_card(
    session: PageSession, item: Item, index: int, choice: Choice, taxonomy: Taxonomy, *, is_current: bool
) -> None:
    finding, key = choice.finding, f"{session.n_items}:{index}"
    pointer = "▶ " if is_current else ""
    title = f"{pointer}{index + 1}. {code_title(finding.code, taxonomy)}"
    st.markdown(f"**{safe_markdown(title)}** · {safe_markdown(severity_title(finding.severity, taxonomy))}")
    labels = SUGGESTION_LABELS if choice.suggested else STATE_LABELS
    facts = [f"Turn {finding.turn}", source_text(choice.proposed, item.verdict), labels[choice.state]]
    if choice.changed and choice.proposed is not None:
        facts.append(f"changed from {choice.proposed.code} {choice.proposed.severity}")
    st.caption(safe_markdown(" · ".join(facts)))
    st.text(safe_text(f"“{finding.quote}”"))
    if finding.reason and (is_current or choice.state == "open"):
        st.text(safe_text(finding.reason))
    with st.container(horizontal=True):
        if choice.proposed is None:
            remove_button(session, item, index)
        else:
            for label, state, letter in SUGGESTION_DECISIONS if choice.suggested else DECISIONS:
                decision = partial(_decide, index=index, state=state, by_key=is_current)
                st.button(
                    safe_markdown(label), key=f"{state}:{key}:{is_current}",
                    shortcut=letter if is_current else None, type=button_type(choice.state == state),
                    on_click=update_answer, args=(session, item, decision),
                )  # fmt: skip
        with st.popover("Change"):
            _change_form(session, item, index, finding, taxonomy, key)


def _decide(answer: Answer, index: int, state: State, by_key: bool) -> Answer:
    """Decide a finding. A key belongs to the first open finding: pressed twice, before the page has followed,
    it must not reverse what was just decided."""
    is_decided = by_key and answer.choices[index].state != "open"
    return answer if is_decided else decide(answer, index, state)


def _change_form(
    session: PageSession, item: Item, index: int, finding: Finding, taxonomy: Taxonomy, key: str
) -> None:
    code = st.selectbox(
        "Error", item.codes, index=item.codes.index(finding.code), key=f"to:{key}",
        format_func=lambda each: safe_text(code_title(each, taxonomy)),
    )  # fmt: skip
    entry = lookup_code(code, taxonomy)
    usual = finding.severity if code == finding.code else entry.severity
    levels = entry.severities if usual in entry.severities else (usual, *entry.severities)
    severity = st.selectbox(
        "Severity", levels, index=levels.index(usual), key=f"level:{key}:{code}",
        format_func=lambda each: safe_text(severity_title(each, taxonomy)),
    )  # fmt: skip
    changed = partial(change, index=index, code=entry, severity=severity)
    st.button(
        "Confirm as changed", key=f"change:{key}", on_click=update_answer, args=(session, item, changed)
    )


def _show_conflict(session: PageSession, conflict: EditConflict) -> None:
    """Somebody else answered first: both answers side by side, and the choice."""
    taxonomy = load_taxonomy()
    theirs = conflict.theirs[-1]
    st.warning("This was answered elsewhere before your answer came. Yours is not saved yet. Compare:")
    left, right = st.columns(2)
    only_theirs, only_ours = items.diff_findings(theirs.findings, conflict.ours)
    when = "time unknown" if conflict.answered is None else f"{conflict.answered:%Y-%m-%d %H:%M} UTC"
    with left:
        _show_side(f"{theirs.labeler} ({when})", theirs.findings, only_theirs, taxonomy)
    with right:
        _show_side("You", conflict.ours, only_ours, taxonomy)

    submit = partial(items.submit_anyway, session.store, session.account.id, conflict)
    with st.container(horizontal=True):
        st.button("Keep theirs", key="clash:theirs", on_click=discard, args=(session, conflict.item))
        st.button(
            "Save mine as well", key="clash:ours", type="primary", on_click=save,
            args=(session, conflict.item, submit),
        )  # fmt: skip


def _show_side(who: str, findings: tuple[Finding, ...], only: list[Finding], taxonomy: Taxonomy) -> None:
    st.markdown(f"**{safe_markdown(who)}**")
    if not findings:
        st.text("Nothing wrong here.")
    for finding in findings:
        with st.container(border=True):
            facts = (
                f"Turn {finding.turn}",
                code_title(finding.code, taxonomy),
                severity_title(finding.severity, taxonomy),
            )
            st.markdown(safe_markdown(" · ".join(facts)))
            st.text(safe_text(f"“{finding.quote}”"))
            if finding in only:
                st.caption("not in the other answer")
