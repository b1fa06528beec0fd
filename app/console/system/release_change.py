"""Promoting a release and going back to the one before, with a reason, and who did so.

The store checks the right and records the change before the registry is touched; what the registry refuses
is recorded, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from dialint.app.console.i18n import _, from_ms, paragraph, show_time
from dialint.app.console.messages import attempt, explain_as_sentence
from dialint.app.console.system.release_reports import (
    ReleaseEntry,
    find_candidate,
    list_candidates,
    read_report,
    show_reports,
)
from dialint.app.console.tables import select, show_table
from dialint.app.console.text import safe_markdown
from dialint.detector.errors import DialintError
from dialint.detector.registry import KINDS, Registry, ReleaseKind
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import Change, list_changes, record_change

NOTICE = "releases"
"""Of the messages of the page."""
MAX_REASON, MIN_REASON = 500, 3
EMPTY: dict[str, str | bool] = {
    "promote reason": "", "promote sure": False, "rollback reason": "", "rollback sure": False,
}  # fmt: skip
"""The fields that confirm a change, and their values in an empty form."""


def show_changes(store: Store, account: Account, entries: list[ReleaseEntry]) -> None:
    """Show what is in use, the two ways to change it, and the history."""
    left, right = st.columns(2, gap="large")
    with left:
        _show_promotion(store, account, entries)
    with right:
        _show_rollback(store, account)
    _show_history(store, account)


def _show_promotion(store: Store, account: Account, entries: list[ReleaseEntry]) -> None:
    st.markdown(f"**{safe_markdown(_('Promote'))}**")
    names = [*list_candidates(), *(
        f"{entry.kind}/{entry.name}" for entry in entries if entry.name != "embedded" and not entry.in_use
    )]  # fmt: skip
    if not names:
        st.info(_("No other release is here yet."))
        return
    name = select(_("Release"), names, "promote release")
    sentence = _("From now on this release scores what is scored with the current one.")
    try:
        source = find_candidate(name, is_recent=True)
    except DialintError as damaged:
        st.error(safe_markdown(explain_as_sentence(damaged)))
    else:
        current = next((entry for entry in entries if entry.kind == source.kind and entry.in_use), None)
        if source.kind == "scan" and current is not None:
            show_reports(read_report(current), read_report(ReleaseEntry("scan", source.id, source.folder)))
        st.caption(safe_markdown(_("Verified: {hash}…").format(hash=source.fingerprint[:16])))
        text = _("From now on {name} scores, instead of {before}.") if source.kind == "scan" else _(
            "From now on {name} is the current judge, instead of {before}.")  # fmt: skip
        sentence = text.format(name=source.id, before=_("no judge") if current is None else current.name)
    with st.form("promote", clear_on_submit=False):
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="promote reason")
        sure = st.checkbox(safe_markdown(sentence), key="promote sure")
        pressed = st.form_submit_button(_("Promote"), type="primary")
    st.caption(paragraph("It is verified byte by byte"))
    if pressed:
        _confirm(reason, sure, lambda: promote(store, account.id, name, reason.strip()))


def _confirm(reason: str, sure: bool, change: Callable[[], str]) -> None:
    """Make the change of a form if it is complete, else say what is missing."""
    if len(reason.strip()) < MIN_REASON:
        st.warning(_("Say why: the reason stands in the audit log."))
    elif not sure:
        st.warning(_("Tick the box to confirm."))
    else:
        with attempt(NOTICE, EMPTY) as done:
            done(change())


def _show_rollback(store: Store, account: Account) -> None:
    """The form to go back. After each change it is another one: a second click on the old one does
    nothing."""
    st.markdown(f"**{safe_markdown(_('Roll back'))}**")
    before: dict[ReleaseKind, str] = {}
    for kind in KINDS:
        try:
            pointer = Registry(kind).current()
        except DialintError as damaged:
            st.error(safe_markdown(explain_as_sentence(damaged)))
            continue
        if pointer is not None and pointer.earlier:
            before[kind] = f"{kind}: {pointer.id} → {pointer.earlier[-1]}"
    if not before:
        st.info(_("There is no release before the current one to go back to."))
        return
    with st.form(f"roll back:{sorted(before.values())}", clear_on_submit=False):
        kind = select(_("From and to"), before, "rollback kind")
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="rollback reason")
        sure = st.checkbox(_("I want the earlier release back."), key="rollback sure")
        pressed = st.form_submit_button(_("Roll back"))
    if pressed:
        _confirm(reason, sure, lambda: roll_back(store, account.id, kind, reason.strip()))


def promote(store: Store, actor: str, name: str, reason: str) -> str:
    """Make a release the current one; a refusal is recorded, too. Returns the notice."""
    with _recorded(store, actor, "promote", name, reason):
        source = find_candidate(name)
        pointer = Registry(source.kind).promote(source)
    return _("{name} is current now.").format(name=pointer.id)


@contextmanager
def _recorded(store: Store, actor: str, action: Change, name: str, reason: str) -> Iterator[None]:
    record_change(store, actor, action, name, reason)
    try:
        yield
    except DialintError as refused:
        record_change(store, actor, "refused", name, reason, f"{refused.code}: {refused.message}")
        raise


def roll_back(store: Store, actor: str, kind: ReleaseKind, reason: str) -> str:
    """Make the earlier release of a kind current again; a refusal is recorded, too. Returns the notice."""
    pointer = Registry(kind).current()
    name = f"{kind}/{pointer.earlier[-1] if pointer is not None and pointer.earlier else '-'}"
    with _recorded(store, actor, "rollback", name, reason):
        pointer = Registry(kind).rollback()
    return _("{name} is current again.").format(name=pointer.id)


def _show_history(store: Store, account: Account) -> None:
    st.markdown(f"**{safe_markdown(_('Changes'))}**")
    names: dict[Change, str] = {
        "promote": _("promoted"), "rollback": _("rolled back to"), "refused": _("refused"),
    }  # fmt: skip
    changes = list_changes(store, account.id)
    if changes:
        show_table(
            (_("When"), _("Who"), _("What"), _("Release"), _("Reason")),
            [
                (
                    show_time(from_ms(each.at_ms)), each.account,
                    dict(names).get(each.action, each.action),  # type: ignore[call-overload]
                    each.release, ": ".join(part for part in (each.reason, each.message) if part),
                )
                for each in changes
            ],
        )  # fmt: skip
    else:
        st.caption(_("Nothing was changed in the console yet."))
    rows = []
    for kind in KINDS:
        try:
            rows += [
                (line.at, kind, line.action, line.before or "–", line.id) for line in Registry(kind).history()
            ]
        except DialintError as damaged:
            st.error(safe_markdown(explain_as_sentence(damaged)))
    if rows:
        with st.expander(_("The registry’s own history, by the command line, too")):
            show_table(
                (_("When"), _("Kind"), _("What"), _("Before"), _("Current since")),
                sorted(rows, reverse=True)[:100],
            )
