"""The views Retention and Audit log of the Admin page: dialogues of a customer are found and erased, with a
proof; who did what, and whether the store is what was written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from threading import Lock, Thread

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_number, show_time
from dialint.app.console.messages import ADMIN, attempt, explain_as_sentence
from dialint.app.console.tables import DialogueLink, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import ConfigError, DialintError
from dialint.labeling.store import accounts, erasure, history
from dialint.labeling.store.database.audit import Head
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import VerifiedCounts
from dialint.labeling.store.records import Account

MAX_ROWS = 50


@dataclass
class Erasure:
    """What was found, and the proof of what was erased, until the person has read it. Kept in the session and
    changed in place: a newer click that ends the run may not come between an erasure and its proof."""

    matches: list[erasure.DialogueMatch] = field(default_factory=list)
    proof: erasure.Proof | None = None


def _current() -> Erasure:
    current: Erasure = st.session_state.setdefault("erasure", Erasure())
    return current


def show_retention(store: Store, account: Account) -> None:
    """Search, preview, erase, and the erasures so far."""
    search, result = st.columns([5, 7], gap="medium")
    with search:
        _show_search(store, account)
        st.caption(
            _(
                "Erasing deletes the dialogues with their verdicts, tasks, annotations, labels, "
                "gold, appeals, notes and drafts. The audit log stays whole: it holds ids and "
                "sealed values, no text. Backups and exported files are outside of the store and "
                "hold the dialogues until they are deleted."
            )
        )
    with result:
        current = _current()
        if current.proof is not None:
            _show_proof(current.proof)
        elif current.matches:
            _show_matches(store, account, current.matches)
        else:
            st.info(_("Find the dialogues of a customer first. Nothing is deleted before you confirm."))
    _show_past(store, account)


def _show_search(store: Store, account: Account) -> None:
    with st.form("find dialogues"):
        st.markdown(f"**{safe_markdown(_('Find dialogues to erase'))}**")
        ids = st.text_area(_("Ids of dialogues, one a line"), height=90, max_chars=300_000, key="erase ids")
        words = st.text_input(
            _("Or text that is in them"), max_chars=200, key="erase words",
            help=_("A name or number, in upper or lower case. All stored dialogues are read."),
        )  # fmt: skip
        left, right = st.columns(2)
        agent = left.text_input(_("Or agent"), max_chars=200, key="erase agent")
        channel = right.text_input(_("Channel"), max_chars=200, key="erase channel")
        since = left.date_input(_("Imported from"), None, key="erase since")
        until = right.date_input(_("Imported until"), None, key="erase until")
        if st.form_submit_button(_("Find"), type="primary"):
            _forget_proof()
            attempt(
                ADMIN, lambda: _find(store, account, ids, words, agent.strip(), channel.strip(), since, until)
            )


def _find(
    store: Store, account: Account, ids: str, words: str, agent: str, channel: str, since: date | None,
    until: date | None,
) -> str:  # fmt: skip
    names = list(dict.fromkeys(line.strip() for line in ids.splitlines() if line.strip()))
    matches = erasure.find_dialogues(
        store, account.id, ids=names, text=words.strip() or None, agent=agent or None,
        channel=channel or None, since_ms=_to_ms(since),
        until_ms=None if until is None else _to_ms(until + timedelta(days=1)),
    )  # fmt: skip
    _current().matches = matches
    missing = len(set(names) - {each.id for each in matches})
    message = ngettext("{n} dialogue was found.", "{n} dialogues were found.", len(matches))
    if missing:
        message += " " + ngettext(
            "{n} does not fit or is not in the store.", "{n} do not fit or are not in the store.", missing
        )
    if len(matches) == erasure.MAX_PER_CALL:
        message += " " + _("There may be more: erase these, then search again.")
    return message


def _to_ms(day: date | None) -> int | None:
    return (
        None if day is None else round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    )


def _show_matches(store: Store, account: Account, matches: list[erasure.DialogueMatch]) -> None:
    names = [each.id for each in matches]
    counts = erasure.preview(store, account.id, names)
    title = ngettext("{n} dialogue would be erased", "{n} dialogues would be erased", len(matches))
    st.markdown(f"**{safe_markdown(title)}**")
    st.caption(safe_markdown(_describe(counts)))
    show_table(
        (_("Dialogue"), _("Agent"), _("Team"), _("Channel"), _("Imported")),
        (
            (
                DialogueLink(each.id), each.agent or "", each.team or "", each.channel or "",
                show_time(datetime.fromtimestamp(each.added_ms / 1000, UTC)),
            )
            for each in matches[:MAX_ROWS]
        ),
    )  # fmt: skip
    if len(matches) > MAX_ROWS:
        st.caption(safe_markdown(ngettext("and {n} more", "and {n} more", len(matches) - MAX_ROWS)))
    with st.form("erase"):
        st.markdown(f"**{safe_markdown(_('Erase them for good'))}**")
        reason = st.text_input(
            _("Reason"), max_chars=erasure.MAX_REASON, key="erase reason",
            help=_("It is kept in the audit log: name a ticket, not the customer."),
        )  # fmt: skip
        word = _("erase {n}").format(n=len(matches))
        typed = st.text_input(
            safe_text(_("To confirm, type: {word}").format(word=word)), key="erase confirmation"
        )
        rewrite = st.checkbox(
            _("Rewrite the database's files"), value=True, key="erase rewrite",
            help=_(
                "Otherwise bytes of deleted rows may remain in the files. It takes seconds to "
                "minutes, by the size of the store, during which answers wait."
            ),
        )  # fmt: skip
        if st.form_submit_button(_("Erase"), type="primary"):
            attempt(ADMIN, lambda: _erase(store, account, names, reason, typed.strip() == word, rewrite))


def _erase(
    store: Store, account: Account, names: list[str], reason: str, confirmed: bool, rewrite: bool
) -> str:
    if not confirmed:
        raise ConfigError("E_CONFIRM", "the words of the confirmation are not right; nothing was erased")
    current = _current()
    current.proof = proof = erasure.erase(store, account.id, names, reason)
    current.matches = []
    if rewrite:
        current.proof = proof.model_copy(update={"scrubbed": erasure.scrub(store, account.id)})
    return ngettext("{n} dialogue was erased.", "{n} dialogues were erased.", len(names))


def _describe(counts: dict[str, int]) -> str:
    """Rows of each kind, in words."""
    kinds = {
        "dialogues": _("dialogues"), "verdicts": _("verdicts"), "annotations": _("annotations"),
        "tasks": _("tasks"), "leases": _("leases"), "labels": _("labels"), "gold": _("known answers"),
        "pairs": _("pairs"), "reads": _("notes of who read them"), "appeals": _("appeals"),
        "notes": _("notes of coaching"), "masked_views": _("masked views"), "participants": _("participants"),
        "drafts": _("drafts"),
    }  # fmt: skip
    return ", ".join(f"{kinds.get(name, name)}: {show_number(n)}" for name, n in counts.items())


def _show_proof(proof: erasure.Proof) -> None:
    st.markdown(f"**{safe_markdown(_('Proof'))}**")
    st.caption(safe_markdown(_describe(proof.counts)))
    st.caption(
        _(
            "Keep it elsewhere. Its head is the entry of the audit log, which a later "
            "verification still finds; a dialogue is named by the SHA-256 of its id."
        )
    )
    st.code(safe_text(proof.model_dump_json(indent=2)), language="json", height=320)
    st.button(_("Done"), key="proof read", on_click=_forget_proof)


def _forget_proof() -> None:
    _current().proof = None


def _show_past(store: Store, account: Account) -> None:
    past = erasure.list_erasures(store, account.id, limit=MAX_ROWS)
    if not past:
        return
    st.markdown(f"**{safe_markdown(_('Erased so far, newest first'))}**")
    show_table(
        (_("When"), _("By"), _("Reason"), _("SHA-256 of the id"), _("Deleted")),
        (
            (
                show_time(datetime.fromtimestamp(each.at_ms / 1000, UTC)), each.account, each.reason,
                f"{each.dialogue_sha256[:16]}…", _describe(each.counts),
            )
            for each in past
        ),
    )  # fmt: skip


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
            self.counts = history.verify_store(store, actor, expected)
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
    page = history.list_entries(
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
            attempt(ADMIN, lambda: _begin(store, account, expected.strip()))
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
