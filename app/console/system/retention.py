"""The views Retention and Audit log of the Admin page: dialogues of a customer are searched and erased, with
a proof; the audit log is listed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta

import streamlit as st

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_number, show_time
from dialint.app.console.messages import ADMIN, attempt
from dialint.app.console.tables import dialogue_cell, select, show_paging, show_table, to_ms
from dialint.app.console.text import safe_markdown, safe_text, shorten_text
from dialint.detector.errors import ConfigError
from dialint.labeling.store import accounts, erasure, history
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account

MAX_ROWS = 50


@dataclass
class Erasure:
    """The matches of a search and the proof of an erasure, replaced together in place."""

    matches: list[erasure.DialogueMatch] = field(default_factory=list)
    proof: erasure.Proof | None = None

    @staticmethod
    def current() -> Erasure:
        """Return the erasure of this session."""
        current: Erasure = st.session_state.setdefault("erasure", Erasure())
        return current


def show_retention(store: Store, account: Account) -> None:
    """Show search, preview, erasure, and the erasures so far."""
    search, result = st.columns([5, 7], gap="medium")
    with search:
        _show_search(store, account)
        st.caption(paragraph("Erasing deletes the dialogues"))
    with result:
        current = Erasure.current()
        if (proof := current.proof) is not None:
            st.markdown(f"**{safe_markdown(_('Proof'))}**")
            st.caption(safe_markdown(_describe(proof.counts)))
            st.caption(paragraph("Keep it elsewhere. Its head"))
            st.code(safe_text(proof.model_dump_json(indent=2)), language="json", height=320)
            st.button(_("Done"), key="proof read", on_click=setattr, args=(current, "proof", None))
        elif current.matches:
            _show_matches(store, account, current.matches)
        else:
            st.info(_("Find the dialogues of a customer first. Nothing is deleted before you confirm."))
    if past := erasure.list_erasures(store, account.id, limit=MAX_ROWS):
        st.markdown(f"**{safe_markdown(_('Erased so far, newest first'))}**")
        show_table(
            (_("When"), _("By"), _("Reason"), _("SHA-256 of the id"), _("Deleted")),
            (
                (
                    show_time(from_ms(each.at_ms)), each.account, each.reason,
                    f"{each.dialogue_sha256[:16]}…", _describe(each.counts),
                )
                for each in past
            ),
        )  # fmt: skip


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
            current = Erasure.current()
            current.proof = None
            with attempt(ADMIN) as done:
                names = list(dict.fromkeys(line.strip() for line in ids.splitlines() if line.strip()))
                matches = erasure.find_dialogues(
                    store, account.id, ids=names, text=words.strip() or None, agent=agent.strip() or None,
                    channel=channel.strip() or None, since_ms=to_ms(since),
                    until_ms=None if until is None else to_ms(until + timedelta(days=1)),
                )  # fmt: skip
                current.matches = matches
                missing = len(set(names) - {each.id for each in matches})
                message = ngettext("{n} dialogue was found.", "{n} dialogues were found.", len(matches))
                if missing:
                    message += " " + ngettext(
                        "{n} does not fit or is not in the store.",
                        "{n} do not fit or are not in the store.",
                        missing,
                    )
                if len(matches) == erasure.MAX_PER_CALL:
                    message += " " + _("There may be more: erase these, then search again.")
                done(message)


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
                dialogue_cell(each.id), each.agent or "", each.team or "", each.channel or "",
                show_time(from_ms(each.added_ms)),
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
            help=paragraph("Otherwise bytes of deleted"),
        )  # fmt: skip
        if st.form_submit_button(_("Erase"), type="primary"):
            with attempt(ADMIN) as done:
                done(_erase(store, account, names, reason, typed.strip() == word, rewrite))


def _erase(
    store: Store, account: Account, names: list[str], reason: str, confirmed: bool, rewrite: bool
) -> str:
    if not confirmed:
        raise ConfigError("E_CONFIRM", "the words of the confirmation are not right; nothing was erased")
    current = Erasure.current()
    current.proof = proof = erasure.erase(store, account.id, names, reason)
    current.matches = []
    if rewrite:
        current.proof = proof.model_copy(update={"scrubbed": erasure.scrub(store, account.id)})
    return ngettext("{n} dialogue was erased.", "{n} dialogues were erased.", len(names))


def _describe(counts: dict[str, int]) -> str:
    kinds = {
        "dialogues": _("dialogues"), "verdicts": _("verdicts"), "annotations": _("annotations"),
        "tasks": _("tasks"), "leases": _("leases"), "labels": _("labels"), "gold": _("known answers"),
        "pairs": _("pairs"), "reads": _("notes of who read them"), "appeals": _("appeals"),
        "notes": _("notes of coaching"), "participants": _("participants"),
        "drafts": _("drafts"),
    }  # fmt: skip
    return ", ".join(f"{kinds.get(name, name)}: {show_number(n)}" for name, n in counts.items())


def show_audit(store: Store, account: Account) -> None:
    """Show filters and a page of entries."""
    pages: list[int | None] = st.session_state.setdefault("audit pages", [])
    who, what, since, until = st.columns(4)
    names = ["system", *(each.id for each in accounts.list_accounts(store, account.id))]
    everybody = {"": _("everybody"), **dict(zip(names, names, strict=True))}
    actor = select(_("Who"), everybody, "audit who", at=who, on_change=pages.clear)
    action = what.text_input(
        _("Action begins with"), max_chars=100, key="audit action", placeholder="gold.", on_change=pages.clear
    )
    first = since.date_input(_("From"), None, key="audit since", on_change=pages.clear)
    last = until.date_input(_("Until"), None, key="audit until", on_change=pages.clear)
    page = history.list_entries(
        store, account.id, before=pages[-1] if pages else None, account=actor or None,
        action=action.strip() or None,
        since_ms=to_ms(first), until_ms=None if last is None else to_ms(last + timedelta(days=1)),
    )  # fmt: skip
    rows = []
    for entry in page.entries:
        content = json.dumps(entry.content, ensure_ascii=False) if entry.content else ""
        origin = (entry.origin.get(name) for name in ("way", "user", "host"))
        rows.append((
            str(entry.number), show_time(from_ms(entry.at_ms)), entry.account, entry.action, entry.subject,
            shorten_text(content), " · ".join(filter(None, origin)),
        ))  # fmt: skip
    headings = (_("Entry"), _("When"), _("Who"), _("Action"), _("Subject"), _("Details"), _("From where"))
    show_table(headings, rows)
    show_paging(pages, page.before, has_more=page.before is not None, key="audit")
    if page.before is not None:
        st.caption(_("Searches on from here: at most 100,000 entries at a time."))
