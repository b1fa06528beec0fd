"""The editor of the Taxonomy and policies page: a text, what is wrong with it, and its preview."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from dialint.app.console.i18n import _, ngettext, paragraph, show_number
from dialint.app.console.messages import explain_as_sentence, report_refusals, set_notice, show_notice
from dialint.app.console.system.rules_preview import (
    PolicyPreview,
    TaxonomyPreview,
    preview_policy,
    preview_taxonomy,
)
from dialint.app.console.tables import DialogueLink, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.taxonomy import Taxonomy, parse_taxonomy
from dialint.labeling.store import documents
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account

SIZES = (100, 500, 2000)
"""How many of the newest verdicts or dialogues a preview may read."""
MAX_LISTED = 20
"""Dialogues that a preview lists."""
HEIGHT = 430


@dataclass(frozen=True)
class Document:
    """What is edited. A policy without a `name` is new, and gets the name that its text says. `base` is the
    text that the first version starts from, and that every version can be compared with; `origin` says which
    that is. `is_packaged`: it comes with dialint."""

    kind: documents.Kind
    name: str
    base: str
    origin: str
    is_packaged: bool = False


@lru_cache(maxsize=16)
def _parse(kind: documents.Kind, text: str) -> Taxonomy | Policy | ConfigError:
    try:
        return parse_taxonomy(text, "line") if kind == "taxonomy" else parse_policy(text, "line")
    except ConfigError as error:
        return error


def show_editor(
    store: Store, account: Account, document: Document, taxonomy: Taxonomy, before: Policy | None,
    others: Mapping[str, Policy],
) -> None:  # fmt: skip
    """The text with its check, and the buttons that save, preview and publish it."""
    show_notice("rules")
    versions = documents.list_versions(store, account.id, document.kind, document.name)
    newest = versions[0] if versions else None
    text = document.base
    if newest is not None:
        text = documents.load_version(store, account.id, document.kind, document.name, newest.version)
        mark = _("published") if newest.published_at else _("a draft")
        note = _("The text below starts as version {version}, {mark}, by {author}.").format(
            version=newest.version, mark=mark, author=newest.author
        )
    else:
        note = _("There is no version yet: the text below starts as {origin}.").format(origin=document.origin)
    number = 0 if newest is None else newest.version
    key = f"{document.kind}:{document.name}:{number}"
    field = f"rules text:{key}"

    def take_packaged() -> None:
        st.session_state[field] = document.base

    left, right = st.columns([7, 5], gap="medium")
    with left:
        st.caption(safe_markdown(note))
        edited = st.text_area(
            _("Text in YAML. Ctrl+Enter checks it."), text, height=HEIGHT, key=field,
            max_chars=documents.MAX_CHARACTERS,
        )  # fmt: skip
        if document.is_packaged and edited != document.base:
            st.button(
                _("Put the packaged text here"), key=f"rules packaged:{key}", on_click=take_packaged,
                help=paragraph("In place of the text above"),
            )  # fmt: skip
    parsed = _parse(document.kind, edited)
    name = document.name or (parsed.policy if isinstance(parsed, Policy) else "")
    with right:
        if isinstance(parsed, ConfigError):
            st.error(safe_markdown(explain_as_sentence(parsed)))
        elif isinstance(parsed, Policy) and parsed.policy != name:
            st.error(safe_markdown(_("The text must keep the name {name}.").format(name=name)))
            parsed = ConfigError("E_POLICY", name)
        else:
            st.success(safe_markdown(_summary(parsed)))
            if isinstance(parsed, Taxonomy):
                _warn_of_version(taxonomy, parsed)
        previewed = f"rules preview:{document.kind}:{document.name}"
        if not isinstance(parsed, ConfigError):
            _preview_form(store, account, edited, parsed, taxonomy, before, others, previewed, field)
        _save_form(
            store, account, document, edited, name, versions, key, field,
            is_valid=not isinstance(parsed, ConfigError),
            is_previewed=st.session_state.get(previewed, (None,))[0] == edited,
        )  # fmt: skip
    stored = st.session_state.get(previewed)
    if stored is not None and stored[0] == edited:
        if isinstance(stored[1], TaxonomyPreview):
            _show_taxonomy_preview(stored[1])
        else:
            _show_policy_preview(stored[1])


def _is_unchanged(field: str, text: str) -> bool:
    """Return whether the checked text still stands in its field: a callback may come before the run that
    checks it."""
    if st.session_state[field] == text:
        return True
    set_notice("rules", "info", _("The text has changed: it is checked now. Look at it, then press again."))
    return False


def _summary(parsed: Taxonomy | Policy) -> str:
    if isinstance(parsed, Taxonomy):
        return _("Valid: version {version}, {n} codes.").format(
            version=parsed.version, n=show_number(len(parsed.codes))
        )
    return _("Valid: policy {name}, {n} clauses, codes {codes}.").format(
        name=parsed.policy, n=show_number(len(parsed.clauses)), codes=" ".join(parsed.codes)
    )


def _warn_of_version(before: Taxonomy, after: Taxonomy) -> None:
    if after.version == before.version and after != before:
        st.warning(paragraph("The text differs from the taxonomy"))
    elif after.version.split(".")[:2] != before.version.split(".")[:2]:
        st.warning(paragraph("Releases that were made for"))


def _preview_form(
    store: Store, account: Account, text: str, parsed: Taxonomy | Policy, taxonomy: Taxonomy,
    before: Policy | None, others: Mapping[str, Policy], previewed: str, field: str,
) -> None:  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            _("Preview on the newest"), SIZES, index=1, key=f"{previewed}:n", width=200,
            format_func=lambda each: safe_text(
                ngettext("{n} verdict", "{n} verdicts", each)
                if isinstance(parsed, Taxonomy)
                else ngettext("{n} dialogue", "{n} dialogues", each)
            ),
        )  # fmt: skip

        def preview() -> None:
            with report_refusals("rules"):
                if not _is_unchanged(field, text):
                    return
                n = st.session_state[f"{previewed}:n"]
                if isinstance(parsed, Taxonomy):
                    stored = documents.list_newest_verdicts(store, account.id, n)
                    changes = preview_taxonomy(taxonomy, parsed, stored)
                    result: TaxonomyPreview | PolicyPreview = changes
                    listed = [each.dialogue for each in changes.dialogues[:MAX_LISTED]]
                else:
                    read = documents.list_newest_dialogues(store, account.id, n)
                    result = preview_policy(before, parsed, others, read)
                    listed = [each.dialogue for each in result.changes[:MAX_LISTED]]
                documents.record_previewed(store, account.id, tuple(dict.fromkeys(listed)))
                st.session_state[previewed] = (text, result)

        st.button(_("Preview the change"), key=f"{previewed}:button", on_click=preview)


def _save_form(
    store: Store, account: Account, document: Document, text: str, name: str,
    versions: tuple[documents.Version, ...], key: str, field: str, *, is_valid: bool, is_previewed: bool,
) -> None:  # fmt: skip
    newest = versions[0] if versions else None
    reason = st.text_input(
        _("Why it changes"), key=f"rules reason:{key}", max_chars=documents.MAX_REASON,
        help=_("Everybody who sees the versions reads it."),
    )  # fmt: skip

    is_saved = newest is not None and text == _stored_text(store, account, document, newest)

    def save(*, then_publish: bool) -> None:
        with report_refusals("rules"):
            if not _is_unchanged(field, text):
                return
            if is_saved and newest is not None:  # a draft, which has its reason
                number = newest.version
            else:
                expected = 0 if newest is None else newest.version
                number = documents.save_version(
                    store,
                    account.id,
                    document.kind,
                    name,
                    text,
                    st.session_state[f"rules reason:{key}"],
                    expected=expected,
                ).version
            done = _("Saved as version {version}, a draft.")
            if then_publish:
                documents.publish(store, account.id, document.kind, name, number)
                done = _("Version {version} is published.")
            set_notice("rules", "success", done.format(version=number))

    can_save = bool(name) and (is_saved or bool(reason.strip()))
    with st.container(horizontal=True):
        st.button(
            _("Save as a draft"), key=f"rules save:{key}", disabled=is_saved or not can_save,
            on_click=save, kwargs={"then_publish": False},
        )  # fmt: skip
        is_published = is_saved and newest is not None and newest.published_at is not None
        st.button(
            _("Publish"), key=f"rules publish:{key}", type="primary",
            disabled=not (can_save and is_valid and is_previewed) or is_published,
            on_click=save, kwargs={"then_publish": True},
            help=paragraph("After a look at the preview."),
        )  # fmt: skip
    if not can_save:
        st.caption(_("A version needs a reason."))
    elif is_valid and not is_previewed and not is_published:
        st.caption(_("Publishing needs a preview of this text."))


def _stored_text(store: Store, account: Account, document: Document, version: documents.Version) -> str:
    return documents.load_version(store, account.id, document.kind, document.name, version.version)


def _show_taxonomy_preview(preview: TaxonomyPreview) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('What the change does to stored verdicts'))}**")
        n = ngettext("{n} verdict read", "{n} verdicts read", preview.verdicts)
        changed = ngettext(
            "the quality of {n} dialogue changes",
            "the quality of {n} dialogues changes",
            len(preview.dialogues),
        )
        means = _("mean quality {before} → {after}").format(
            before=show_number(preview.mean[0], "0.0"), after=show_number(preview.mean[1], "0.0")
        )
        failed = _("quality 0: {before} → {after} dialogues").format(
            before=show_number(preview.failed[0]), after=show_number(preview.failed[1])
        )
        st.caption(safe_markdown(f"{n} · {changed} · {means} · {failed}"))
        if not preview.codes and not preview.dialogues:
            st.caption(_("No stored verdict changes."))
            return
        left, right = st.columns(2, gap="medium")
        with left:
            show_table(
                (
                    _("Code"), _("Findings"), _("Other severity"), _("Dropped"), _("Points before"),
                    _("after"), _("Words"),
                ),
                (
                    (
                        one.code, show_number(one.findings), show_number(one.moved), show_number(one.dropped),
                        show_number(one.points[0]), show_number(one.points[1]),
                        _("changed") if one.words_changed else "–",
                    )
                    for one in preview.codes
                ),
            )  # fmt: skip
            st.caption(paragraph("Changed words alter no stored"))
        with right:
            show_table(
                (_("Dialogue"), _("Quality before"), _("after")),
                (
                    (
                        DialogueLink(one.dialogue),
                        show_number(one.before, "0.#"),
                        show_number(one.after, "0.#"),
                    )
                    for one in preview.dialogues[:MAX_LISTED]
                ),
            )


def _show_policy_preview(preview: PolicyPreview) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('What the policy finds in stored dialogues'))}**")
        n = ngettext("{n} dialogue read", "{n} dialogues read", preview.dialogues)
        applies = _("the policy applies to {before} → {after}").format(
            before=show_number(preview.applies[0]), after=show_number(preview.applies[1])
        )
        changes = ngettext("{n} finding changes", "{n} findings change", len(preview.changes))
        st.caption(safe_markdown(f"{n} · {applies} · {changes}"))
        left, right = st.columns([5, 7], gap="medium")
        with left:
            if preview.clauses:
                show_table(
                    (_("Clause"), _("Code"), _("Before"), _("After")),
                    (
                        (one.clause, one.code, show_number(one.before), show_number(one.after))
                        for one in preview.clauses
                    ),
                )
            else:
                st.caption(_("No clause is broken, before or after."))
        with right:
            if preview.changes:
                show_table(
                    (_("Dialogue"), _("Turn"), _("Clause"), _("Change"), _("Why")),
                    (
                        (
                            DialogueLink(one.dialogue), str(one.turn), f"{one.code} {one.clause}",
                            _("+ found") if one.gained else _("− not found"), one.why,
                        )
                        for one in preview.changes[:MAX_LISTED]
                    ),
                )  # fmt: skip
                if len(preview.changes) > MAX_LISTED:
                    more = len(preview.changes) - MAX_LISTED
                    st.caption(safe_markdown(ngettext("and {n} more", "and {n} more", more)))
