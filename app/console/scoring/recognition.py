"""What was recognised of a log, on the Score page: counts, format, columns, the first dialogues, rejects."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_number, show_percent
from dialint.app.console.messages import explain_text
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown
from dialint.detector.ingest.config import ReadConfig

PREVIEW_PX = 330
"""Height of the first dialogues, so that the options below are in sight."""


def show_preview(seen: dict[str, Any]) -> None:
    """What was recognised of a log; in one sentence, what is wrong with it."""
    if seen["refused"] is not None:
        code = f" ({seen['code']})" if seen.get("code") else ""
        text = explain_text(seen["refused"])
        st.error(safe_markdown(f"{_('This log cannot be scored')}: {text.rstrip('.')}{code}."))
        if "format" not in seen:
            return
    good = seen["read"] - seen["rejected"] - seen["duplicates"]
    about = "" if seen["is_complete"] else _(" of the first {n}").format(n=show_number(seen["read"]))
    columns = st.columns(4)
    columns[0].metric(
        _("Dialogues"), safe_markdown(show_number(good) + about), help=_("Read without an error.")
    )
    columns[1].metric(_("Rejected"), safe_markdown(show_number(seen["rejected"])))
    columns[2].metric(_("Repeated"), safe_markdown(show_number(seen["duplicates"])))
    columns[3].metric(
        _("In the whole log"),
        safe_markdown(("" if seen["is_complete"] else "≈ ") + show_number(seen["estimated"])),
        help=_("Records; estimated by the size of those that were read."),
    )
    facts = ", ".join(explain_text(each) for each in (seen["format"], *seen["facts"]))
    st.caption(safe_markdown(_("Recognised: {facts}.").format(facts=facts)))
    notes = [f"{name} × {show_number(n)}" for name, n in seen["warnings"].items()]
    if notes:
        st.caption(safe_markdown(_("Put right while reading: {notes}.").format(notes=", ".join(notes))))
    if seen["privacy"]:
        words = ", ".join(seen["privacy"])
        st.warning(
            safe_markdown(_("Words of the privacy column that are not known: {words}.").format(words=words))
        )
    labels = [_("First dialogues"), _("Columns"), _("Rejected")]
    first, fields, rejects = st.tabs([safe_markdown(label) for label in labels])
    with first, st.container(height=PREVIEW_PX if seen["dialogues"] else "content", border=False):
        _show_dialogues(seen["dialogues"])
    with fields:
        _show_fields(seen)
    with rejects:
        _show_rejects(seen)


def _show_dialogues(dialogues: list[dict[str, Any]]) -> None:
    if not dialogues:
        st.caption(_("No dialogue was read."))
    for at, dialogue in enumerate(dialogues):
        origin = ", ".join(map(str, dialogue["origin"].values()))
        n = ngettext("{n} turn", "{n} turns", dialogue["turns"])
        title = " · ".join(part for part in (dialogue["id"], n, origin) if part)
        with st.expander(safe_markdown(title), expanded=at == 0):
            for turn in dialogue["first"]:
                st.markdown(f"**{safe_markdown(turn['role'])}** {safe_markdown(turn['text'])}")
            if dialogue["turns"] > len(dialogue["first"]):
                st.caption(_("… more turns follow. Personal data are shown as placeholders."))


def _show_fields(seen: dict[str, Any]) -> None:
    if not seen["fields"]:
        st.caption(_("This format is known; it needs no columns to be named."))
        return
    show_table(
        (_("Meaning"), _("Column or path"), _("How it was found")),
        [
            (meaning, path, _("by its content") if meaning in seen["by_content"] else _("by its name"))
            for meaning, path in seen["fields"].items()
        ],
    )
    if seen["words"]:
        speakers = ", ".join(f"{word} = {role or '?'}" for word, role in seen["words"].items())
        st.caption(safe_markdown(_("Speakers: {speakers}.").format(speakers=speakers)))
    if seen["unread"]:
        names = ", ".join(seen["unread"][:20]) + (" …" if len(seen["unread"]) > 20 else "")
        st.caption(safe_markdown(_("Not read: {names}.").format(names=names)))


def _show_rejects(seen: dict[str, Any]) -> None:
    if not seen["rejected"]:
        st.caption(_("No record was rejected."))
        return
    counts = ", ".join(f"{code} × {show_number(n)}" for code, n in seen["codes"].items())
    share = seen["rejected"] / max(seen["read"], 1)
    text = _("{share} of the records: {counts}. The first ones:")
    st.caption(safe_markdown(text.format(share=show_percent(share, "0.0%"), counts=counts)))
    show_table(
        (_("Line"), _("Field"), _("Code"), _("Found"), _("Expected")),
        [
            (
                str(each["line"]),
                each["path"] or _("record"),
                each["code"],
                explain_text(each["found"]),
                explain_text(each["expected"]),
            )
            for each in seen["rejects"]
        ],
    )
    limit = ReadConfig().max_bad
    if share > limit:
        text = _("More than {share} bad records stop the job before anything is kept.")
        st.warning(safe_markdown(text.format(share=show_percent(limit))))
