"""The view Audit log of the Admin page: who did what, and whether the store is what was written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from threading import Lock, Thread

import streamlit as st

from dialint.app.console.form_actions import attempt
from dialint.app.console.i18n import _, ngettext, show_number, show_time
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import ConfigError, DialintError
from dialint.labeling.store import accounts, audit_log
from dialint.labeling.store.database.audit import Head
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import VerifiedCounts
from dialint.labeling.store.records import Account

BEFORE = "audit before"
POLL_S = 1.0
MAX_CONTENT = 200


@dataclass
class Verification:
    """The verification that runs in this server, or ran last; one at a time. It survives leaving the page."""

    state: str = "none"
    began: datetime | None = None
    counts: VerifiedCounts | None = None
    problem: DialintError | None = None
    _lock: Lock = field(default_factory=Lock)

    def start(self, store: Store, actor: str, expected: Head | None) -> None:
        """Begin, unless one is running.

        Raises:
            ConfigError: one is running.
        """
        with self._lock:
            if self.state == "running":
                raise ConfigError("E_BUSY", "a verification is running already")
            self.state, self.began, self.counts, self.problem = "running", datetime.now(UTC), None, None
        Thread(target=self._run, args=(store, actor, expected), daemon=True).start()

    def _run(self, store: Store, actor: str, expected: Head | None) -> None:
        state = "failed"
        try:
            self.counts = audit_log.verify_store(store, actor, expected)
            state = "whole"
        except DialintError as error:
            self.problem = error
        finally:
            self.state = state


VERIFICATION = Verification()
"""That of this server."""


def show_audit(store: Store, account: Account) -> None:
    """Verification, filters and a page of entries."""
    with st.container(border=True):
        _show_verification(store, account)
    who, what, since, until = st.columns(4)
    names = [each.id for each in accounts.list_accounts(store, account.id)]
    actor = who.selectbox(
        _("Who"), ["", "system", *names], key="audit who", on_change=_restart,
        format_func=lambda each: safe_text(each or _("everybody")),
    )  # fmt: skip
    action = what.text_input(
        _("Action begins with"), max_chars=100, key="audit action", placeholder="gold.", on_change=_restart
    )
    first = since.date_input(_("From"), None, key="audit since", on_change=_restart)
    last = until.date_input(_("Until"), None, key="audit until", on_change=_restart)
    page = audit_log.list_entries(
        store, account.id, before=st.session_state.get(BEFORE), account=actor or None,
        action=action.strip() or None,
        since_ms=_to_ms(first), until_ms=None if last is None else _to_ms(last + timedelta(days=1)),
    )  # fmt: skip
    show_table(
        (_("Entry"), _("When"), _("Who"), _("Action"), _("Subject"), _("Details"), _("From where")),
        (
            (
                str(entry.number), show_time(datetime.fromtimestamp(entry.at_ms / 1000, UTC)), entry.account,
                entry.action, entry.subject, _shorten(entry.content),
                " · ".join(entry.origin[name] for name in ("way", "user", "host") if entry.origin.get(name)),
            )
            for entry in page.entries
        ),
    )  # fmt: skip
    newest, older, _rest = st.columns([1, 1, 4])
    newest.button(_("Newest"), key="audit newest", on_click=_restart, disabled=BEFORE not in st.session_state)
    older.button(
        _("Older"), key="audit older", on_click=_continue, args=(page.before,), disabled=page.before is None,
        help=_("Searches on from here: at most 100,000 entries at a time."),
    )  # fmt: skip


def _to_ms(day: date | None) -> int | None:
    return (
        None if day is None else round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    )


def _shorten(content: dict[str, object]) -> str:
    text = json.dumps(content, ensure_ascii=False) if content else ""
    return text if len(text) <= MAX_CONTENT else f"{text[: MAX_CONTENT - 1]}…"


def _restart() -> None:
    st.session_state.pop(BEFORE, None)


def _continue(before: int | None) -> None:
    st.session_state[BEFORE] = before


def _show_verification(store: Store, account: Account) -> None:
    begin, status = st.columns([5, 7], gap="medium")
    with begin, st.form("verify", border=False):
        expected = st.text_input(
            _("Verify the store; a head that was noted before, if any"), max_chars=100, key="audit head",
            placeholder=_("NUMBER:HASH"),
            help=_(
                "Every row is compared with the log, and the log with its signed head. A head from "
                "before shows that the log was not cut or put back."
            ),
        )  # fmt: skip
        if st.form_submit_button(_("Verify"), type="primary"):
            attempt(lambda: _begin(store, account, expected.strip()))
    with status:
        _show_status()


def _begin(store: Store, account: Account, expected: str) -> str:
    VERIFICATION.start(store.requiring(None), account.id, Head.parse(expected) if expected else None)
    return _("The verification has begun; you may leave this page.")


@st.fragment(run_every=POLL_S)
def _show_running() -> None:
    if VERIFICATION.state != "running":
        st.rerun()
    seconds = (datetime.now(UTC) - (VERIFICATION.began or datetime.now(UTC))).total_seconds()
    message = ngettext("Verifying for {n} second.", "Verifying for {n} seconds.", round(seconds))
    st.info(safe_markdown(message))


def _show_status() -> None:
    if VERIFICATION.state == "running":
        _show_running()
    elif VERIFICATION.state == "failed":
        problem = VERIFICATION.problem
        reason = "–" if problem is None else explain_as_sentence(problem)
        st.error(safe_markdown(_("The store is not what was written: {problem}").format(problem=reason)))
    elif VERIFICATION.counts is not None and VERIFICATION.began is not None:
        counts = VERIFICATION.counts
        template = _(
            "Whole: {entries} entries, {annotations} annotations, {dialogues} dialogues, "
            "{verdicts} verdicts. Begun {time}."
        )
        st.success(safe_markdown(template.format(
            entries=show_number(counts.audit_entries), annotations=show_number(counts.annotations),
            dialogues=show_number(counts.dialogues), verdicts=show_number(counts.verdicts),
            time=show_time(VERIFICATION.began),
        )))  # fmt: skip
        st.caption(_("The signed head; note it elsewhere:"))
        st.code(safe_text(str(counts.head)), language=None)
    else:
        st.caption(_("Nothing was verified since the server started."))
