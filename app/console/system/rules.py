"""The Taxonomy and policies page: what is in use, editing with a preview, versions.

A change is saved as a draft, previewed on what the store holds, and published by a lead; `dialint export
published` writes what is published for ``score``. Nothing here changes a stored verdict.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import streamlit as st

from dialint.app.console.i18n import _, choose_name, ngettext, show_time
from dialint.app.console.messages import attempt, explain_as_sentence, show_notice
from dialint.app.console.system.rules_editor import (
    NOTICE,
    dump_taxonomy,
    show_policy_editor,
    show_taxonomy_editor,
)
from dialint.app.console.tables import choose_view, select, show_table
from dialint.app.console.text import code_title, explain_code, safe_markdown, safe_text
from dialint.detector.artifacts import package_versions
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.taxonomy import load_taxonomy, parse_taxonomy
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
    views = {"codes": _("Codes"), "policies": _("Policies")}
    st.subheader(_("Taxonomy and policies"), anchor=False)
    view = choose_view(views, "rules view")
    show_notice(NOTICE)
    if view == "policies":
        _show_policies(store, account)
        return
    text = documents.load_published(store, account.id, "taxonomy").get(documents.TAXONOMY)
    taxonomy = load_taxonomy() if text is None else parse_taxonomy(text)
    if text is None:
        note = _("In use: the packaged taxonomy, version {version}.")
    else:
        note = _("In use: the team's published taxonomy, version {version}.")
    st.caption(safe_markdown(note.format(version=taxonomy.version)))
    show_taxonomy_editor(store, account, taxonomy)
    titles = {each: code_title(each, taxonomy) for each in taxonomy.codes}
    code = taxonomy.codes[select(_("Code in full; type to search"), titles)]
    with st.container(border=True):
        st.markdown(explain_code(code))
        names = [name for name in code.name.model_dump().values() if name != choose_name(code.name)]
        st.caption(safe_markdown(" · ".join(names)))
    packaged = dump_taxonomy(load_taxonomy())
    show_versions(store, account, "taxonomy", documents.TAXONOMY, packaged, _packaged_title())


def _packaged_title() -> str:
    version = package_versions("dialint").get("dialint", "0")
    return _("packaged with dialint {version}").format(version=version)


def _show_policies(store: Store, account: Account) -> None:
    published = documents.load_published(store, account.id, "policy")
    stored = documents.list_names(store, account.id, "policy")
    samples = {path.stem: path for path in sorted(SAMPLES.glob("*.yaml"))}
    titles = {name: _("{name}: published") if name in published else _("{name}: draft") for name in stored}
    titles |= {name: _("{name}: sample, not in use") for name in samples if name not in titles}
    titles = {name: title.format(name=name) for name, title in titles.items()} | {NEW: _("A new policy")}
    summary = ngettext(
        "{n} policy is published; a dialogue is checked by the one that applies to it.",
        "{n} policies are published; a dialogue is checked by the one that applies to it.", len(published),
    )  # fmt: skip
    name = select(_("Policy"), titles, "rules policy", help=safe_markdown(summary))
    in_use: dict[str, Policy] = {}
    for each, text in published.items():
        try:
            in_use[each] = parse_policy(text)
        except ConfigError as refused:  # published by a version that knew other rules
            st.warning(safe_markdown(f"{each}: {explain_as_sentence(refused)}"))
    before: Policy | None = in_use.pop(name, None)
    if name in samples:
        base, origin = samples[name].read_text(encoding="utf-8"), _packaged_title()
    else:
        base, origin = published.get(name, TEMPLATE), _("the template")
    show_policy_editor(store, account, name, base, before, in_use)
    if name in stored:
        show_versions(store, account, "policy", name, base, origin)


def show_versions(
    store: Store, account: Account, kind: documents.Kind, name: str, base: str, origin: str
) -> None:
    """Show the versions of a document, the difference of two, and a way back to an earlier one. They can be
    compared with `base`, which `origin` describes."""
    versions = documents.list_versions(store, account.id, kind, name)
    if not versions:
        return
    st.markdown(f"**{safe_markdown(_('Versions'))}**")
    numbers = [one.version for one in versions]
    published = next((one.version for one in versions if one.published_at), None)
    title = _("Version {version}")
    names = {0: origin, **{number: title.format(version=number) for number in numbers}}

    left, right = st.columns(2, gap="medium")
    with left:
        show_table(
            (_("Version"), _("Author"), _("Time"), _("Why"), _("State")),
            (
                (
                    str(one.version), one.author, show_time(one.at), one.reason,
                    _("published") if one.published_at else _("not in use"),
                )
                for one in versions
            ),
        )  # fmt: skip
        if published is not None:
            with st.popover(_("Publish another version")):
                others = {number: names[number] for number in numbers if number != published}
                others[0] = _("None: end the publication")
                number = select(_("Version"), others, f"go back:{kind}:{name}:{published}")
                if st.button(_("Publish this one"), key=f"go back button:{kind}:{name}"):
                    with attempt(NOTICE) as done:
                        if number:
                            documents.publish(store, account.id, kind, name, number)
                            done(_("Version {version} is published.").format(version=number))
                        else:
                            documents.withdraw(store, account.id, kind, name)
                            done(_("No version is published now."))
    with right:
        with st.container(horizontal=True):
            before = numbers[1] if len(numbers) > 1 else 0
            old = select(_("From"), names, f"diff from:{name}:{len(versions)}", usual=before)
            new = select(_("To"), names, f"diff to:{name}:{len(versions)}", usual=numbers[0])
        texts = [
            documents.load_version(store, account.id, kind, name, number).splitlines()
            if number
            else base.splitlines()
            for number in (old, new)
        ]
        lines = difflib.unified_diff(texts[0], texts[1], names[old], names[new], lineterm="")
        if difference := "\n".join(lines):
            st.code(safe_text(difference), language="diff", height=300)
        else:
            st.caption(_("The texts are equal."))
