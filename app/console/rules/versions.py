"""The versions of a document on the Taxonomy and policies page: who, when, why, which differ how."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import streamlit as st

from dialint.app.console.i18n import _, show_time
from dialint.app.console.notices import report_refusals, set_notice
from dialint.app.console.rules.editor import Document
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.labeling.store import documents
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account


def show_versions(store: Store, account: Account, document: Document) -> None:
    """The versions of a document, what is published, and the difference of two."""
    versions = documents.list_versions(store, account.id, document.kind, document.name)
    if not versions:
        return
    st.markdown(f"**{safe_markdown(_('Versions'))}**")
    by_number = {one.version: one for one in versions}
    rows = [
        (
            str(one.version), one.author, show_time(one.at), one.reason,
            _("published") if one.published_at else _("not in use"),
        )
        for one in versions
    ]  # fmt: skip
    if document.is_packaged:
        is_used = document.kind == "taxonomy" and not any(one.published_at for one in versions)
        rows.append((document.origin, "–", "–", "–", _("in use") if is_used else _("not in use")))
    left, right = st.columns(2, gap="medium")
    with left:
        show_table((_("Version"), _("Author"), _("Time"), _("Why"), _("State")), rows)
        _publish_form(store, account, document, by_number)
    with right:
        choices = [0, *by_number]
        title = _("Version {version}")

        def name(number: int) -> str:
            return title.format(version=number) if number else document.origin

        with st.container(horizontal=True):
            old = st.selectbox(
                _("From"), choices, index=min(2, len(choices) - 1) if len(versions) > 1 else 0,
                format_func=lambda each: safe_text(name(each)),
                key=f"diff from:{document.name}:{len(versions)}",
            )  # fmt: skip
            new = st.selectbox(
                _("To"), choices, index=1, format_func=lambda each: safe_text(name(each)),
                key=f"diff to:{document.name}:{len(versions)}",
            )  # fmt: skip
        texts = [
            documents.load_version(store, account.id, document.kind, document.name, number)
            if number
            else document.base
            for number in (old, new)
        ]  # fmt: skip
        lines = list(
            difflib.unified_diff(
                texts[0].splitlines(), texts[1].splitlines(), name(old), name(new), lineterm=""
            )
        )
        if lines:
            st.code(safe_text("\n".join(lines)), language="diff", height=300)
        else:
            st.caption(_("The texts are equal."))


def _publish_form(
    store: Store, account: Account, document: Document, by_number: Mapping[int, documents.Version]
) -> None:
    """Go back to an earlier version, or to none."""
    published = next((one.version for one in by_number.values() if one.published_at), None)
    others = [number for number in by_number if number != published]
    if published is None or not others:
        return

    chosen = f"go back:{document.kind}:{document.name}:{published}"

    def go_back() -> None:
        # newer than what this run saw, where a choice and the click came together
        number = st.session_state[chosen]
        with report_refusals("rules"):
            if number == 0:
                documents.withdraw(store, account.id, document.kind, document.name)
                set_notice("rules", "success", _("No version is published now."))
            else:
                documents.publish(store, account.id, document.kind, document.name, number)
                done = _("Version {version} is published.").format(version=number)
                set_notice("rules", "success", done)

    with st.popover(_("Publish another version")):
        title = _("Version {version}")
        st.selectbox(
            _("Version"), [*others, 0], key=chosen,
            format_func=lambda each: safe_text(
                _("None: end the publication") if each == 0 else title.format(version=each)
            ),
        )  # fmt: skip
        st.button(
            _("Publish this one"), key=f"go back button:{document.kind}:{document.name}",
            on_click=go_back,
        )  # fmt: skip
