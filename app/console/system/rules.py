"""The Taxonomy and policies page: what is in use, editing with a preview, versions.

A change is saved as a draft, previewed on what the store holds, and published by a lead; `dialint export
published` writes what is published for ``score``. Nothing here changes a stored verdict.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import streamlit as st

from dialint.app.code_coverage import EMBEDDED, describe_coverage, load_coverage, show_severities
from dialint.app.console.i18n import _, choose_name, ngettext, paragraph, show_time
from dialint.app.console.messages import explain_as_sentence, report_refusals, set_notice
from dialint.app.console.system.rules_editor import Document, show_editor
from dialint.app.console.tables import show_table
from dialint.app.console.text import explain_code, safe_markdown, safe_text
from dialint.detector.artifacts import package_versions
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.taxonomy import PACKAGED, Taxonomy, load_taxonomy, parse_taxonomy
from dialint.labeling.store import documents
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account

SAMPLES = Path(__file__).parents[2] / "sample" / "policies"
NEW = ""
"""Stands for a policy that has no name yet."""
TEMPLATE = """\
# docs/howto/write_a_policy.md has every key.
policy: my-shop

tools:
  read: [get_order]
  write: [cancel_order]

clauses:
  - id: look-first
    text: Look the order up before it is cancelled.
    on: cancel_order
    before: get_order
"""


def rules_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    views = {
        "codes": _("Codes"), "taxonomy": _("Edit the taxonomy"), "policies": _("Policies"),
    }  # fmt: skip
    st.subheader(_("Taxonomy and policies"), anchor=False)
    view = st.segmented_control(
        _("View"), list(views), default="codes", key="rules view", label_visibility="collapsed",
        format_func=lambda each: safe_markdown(views[each]), required=True,
    )  # fmt: skip
    text = documents.load_published(store, account.id, "taxonomy").get(documents.TAXONOMY)
    taxonomy = load_taxonomy() if text is None else _read_taxonomy(text)
    if view == "policies":
        _show_policies(store, account, taxonomy)
        return
    if text is None:
        note = _("In use: the packaged taxonomy, version {version}.")
    else:
        note = _("In use: the team's published taxonomy, version {version}.")
    st.caption(safe_markdown(note.format(version=taxonomy.version)))
    if view == "codes":
        _show_codes(taxonomy)
    else:
        base = PACKAGED.read_text(encoding="utf-8")
        document = Document("taxonomy", documents.TAXONOMY, base, _packaged_title(), is_packaged=True)
        show_editor(store, account, document, taxonomy, None, {})
        show_versions(store, account, document)


def _packaged_title() -> str:
    version = package_versions("dialint").get("dialint", "0")
    return _("packaged with dialint {version}").format(version=version)


@lru_cache(maxsize=4)
def _read_taxonomy(text: str) -> Taxonomy:
    return parse_taxonomy(text)


def _show_codes(taxonomy: Taxonomy) -> None:
    words = {
        "span": _("span"), "turn": _("turn"), "dialogue": _("dialogue"), "timestamps": _("timestamps"),
        "sources": _("sources"), "policy": _("policy"), "actions": _("actions"), "scan": _("scan"),
        "check": _("check"), "needs a judge": _("needs a judge"),
    }  # fmt: skip
    covered = load_coverage(EMBEDDED, taxonomy) or {}
    by_category = {category.code: category for category in taxonomy.categories}
    table, detail = st.columns([7, 5], gap="medium")
    with table:
        chosen = st.selectbox(
            _("Category"), [None, *by_category], key="rules category",
            format_func=lambda each: safe_text(
                _("All categories") if each is None else f"{each} {choose_name(by_category[each].name)}"
            ),
        )  # fmt: skip
        codes = [
            code
            for category in taxonomy.categories
            if chosen in (None, category.code)
            for code in category.codes
        ]
        show_table(
            (_("Code"), _("Name"), _("Severity"), _("Scope"), _("Needs"), _("Covered by")),
            (
                (
                    code.code, choose_name(code.name), show_severities(code), words[code.scope],
                    ", ".join(words[need] for need in code.needs),
                    ", ".join(words[each] for each in describe_coverage(covered, code.code).split(", ")),
                )
                for code in codes
            ),
        )  # fmt: skip
    with detail:
        code = st.selectbox(
            _("Code in full; type to search"), codes, key=f"rules code:{chosen}",
            format_func=lambda each: safe_text(f"{each.code} {choose_name(each.name)}"),
        )  # fmt: skip
        with st.container(border=True):
            st.markdown(explain_code(code))
            names = " · ".join(
                f"{name} ({language})"
                for language, name in code.name.model_dump().items()
                if name != choose_name(code.name)
            )
            st.caption(safe_markdown(names))
        st.markdown(f"**{safe_markdown(_('Severities'))}**")
        show_table(
            (_("Level"), _("Meaning"), _("Points off 100")),
            (
                (
                    f"{level.code} {choose_name(level.name)}",
                    level.meaning,
                    _("fails the dialogue") if level.auto_fail else f"{level.penalty:g}",
                )
                for level in taxonomy.severities
            ),
        )
        st.caption(paragraph("Covered by: scan is the model"))


def _show_policies(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    published = documents.load_published(store, account.id, "policy")
    stored = documents.list_names(store, account.id, "policy")
    samples = {path.stem: path for path in sorted(SAMPLES.glob("*.yaml"))}
    titles = {name: _("{name}: published") if name in published else _("{name}: draft") for name in stored}
    titles |= {name: _("{name}: sample, not in use") for name in samples if name not in titles}
    titles[NEW] = _("A new policy")
    summary = ngettext(
        "{n} policy is published; a dialogue is checked by the one that applies to it.",
        "{n} policies are published; a dialogue is checked by the one that applies to it.", len(published),
    )  # fmt: skip
    name = st.selectbox(
        _("Policy"), list(titles), key="rules policy",
        format_func=lambda each: safe_text(titles[each].format(name=each)), help=safe_markdown(summary),
    )  # fmt: skip
    in_use: dict[str, Policy] = {}
    for each, text in published.items():
        try:
            in_use[each] = parse_policy(text)
        except ConfigError as refused:  # published by a version that knew other rules
            st.warning(safe_markdown(f"{each}: {explain_as_sentence(refused)}"))
    before: Policy | None = in_use.pop(name, None)
    if name in samples:
        base, origin = samples[name].read_text(encoding="utf-8"), _packaged_title()
    elif name in published:
        base, origin = published[name], _("the published policy")
    else:
        base, origin = TEMPLATE, _("the template")
    document = Document("policy", name, base, origin, is_packaged=name in samples)
    show_editor(store, account, document, taxonomy, before, in_use)
    if name in stored:
        show_versions(store, account, document)


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
