"""Editing on the Taxonomy and policies page: the codes in a table, a policy as text, and the way from a
change over its preview to a published version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import pandas as pd  # type: ignore[import-untyped]
import streamlit as st
import yaml

from dialint.app.console.i18n import _, choose_name, ngettext, paragraph, show_number
from dialint.app.console.messages import attempt, explain_as_sentence, report_refusals
from dialint.app.console.tables import dialogue_cell, show_table
from dialint.app.console.text import safe_markdown
from dialint.detector.calibration import describe_coverage
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.records import Severity
from dialint.detector.release import EMBEDDED, load_coverage
from dialint.detector.taxonomy import Category, Taxonomy, load_taxonomy, parse_taxonomy
from dialint.eval.rules import NewRules, PolicyPreview, RulesPreview, preview_policy, preview_rules
from dialint.labeling.store import documents
from dialint.labeling.store.api import Store
from dialint.labeling.store.gold import list_gold
from dialint.labeling.store.records import Account

NOTICE = "rules"
N_PREVIEWED = 500
"""Number of the newest verdicts or dialogues that a preview reads."""
MAX_LISTED = 20
"""Dialogues that a preview lists."""
HEIGHT_PX = 430
Rows = Sequence[Mapping[str, Any]]


def show_taxonomy_editor(store: Store, account: Account, in_use: Taxonomy) -> None:
    """Show a table of all codes, and one of the severities; a change is compared with `in_use`."""
    number, text = load_newest(store, account, "taxonomy", documents.TAXONOMY)
    base = in_use if text is None else parse_taxonomy(text)
    severities = list(get_args(Severity))
    covered = load_coverage(EMBEDDED, load_taxonomy()) or {}
    rows = [
        {
            "on": code.code in base.codes, "code": code.code, "name": choose_name(code.name),
            "severity": code.severity, "severities": list(code.severities), "definition": code.definition,
            "covered": describe_coverage(covered, code.code), "scope": code.scope, "needs": list(code.needs),
        }
        for category in merge_categories(base)
        for code in category.codes
    ]  # fmt: skip
    edited: Rows = st.data_editor(
        rows, key=f"rules codes:{number}", hide_index=True, height=HEIGHT_PX,
        disabled=["code", "name", "covered", "scope", "needs"],
        column_config={
            "on": st.column_config.CheckboxColumn(_("In use"), width="small"),
            "code": st.column_config.TextColumn(_("Code"), width="small", pinned=True),
            "name": _("Name"),
            "severity": st.column_config.SelectboxColumn(_("Severity"), options=severities, required=True),
            "severities": st.column_config.MultiselectColumn(_("May get"), options=severities, required=True),
            "definition": st.column_config.TextColumn(_("Definition"), width="large", required=True),
            "covered": _("Covered by"), "scope": _("Scope"), "needs": _("Needs"),
        },
    )  # fmt: skip
    left, right = st.columns([2, 3], gap="large")
    lines = [
        (team, error, 100.0 if cost == "auto_fail" else cost, cost == "auto_fail")
        for team, scorecard in base.scorecards.items()
        for error, cost in scorecard.items()
    ]
    with left:
        levels = [
            {
                "code": level.code, "name": choose_name(level.name), "penalty": level.penalty,
                "fails": level.auto_fail, "meaning": level.meaning,
            }
            for level in base.severities
        ]  # fmt: skip
        points: Rows = st.data_editor(
            levels, key=f"rules levels:{number}", hide_index=True, disabled=["code", "name", "meaning"],
            column_config={
                "code": _("Severity"), "name": _("Name"), "meaning": _("Meaning"),
                "penalty": st.column_config.NumberColumn(_("Points off 100"), min_value=0, max_value=100),
                "fails": st.column_config.CheckboxColumn(_("fails the dialogue")),
            },
        )  # fmt: skip
        st.caption(paragraph("Covered by: scan is the model"))
    with right:
        st.markdown(f"**{safe_markdown(_('Scorecards of teams'))}**")
        cards = st.data_editor(
            pd.DataFrame(lines, columns=["team", "error", "points", "fails"]),
            key=f"rules scorecards:{number}", hide_index=True, num_rows="dynamic",
            column_config={
                "team": st.column_config.TextColumn(_("Team"), required=True),
                "error": st.column_config.SelectboxColumn(
                    _("Error or severity"), options=[*severities, *base.codes], required=True
                ),
                "points": st.column_config.NumberColumn(
                    _("Points off 100"), min_value=0, max_value=100, default=0.0, required=True
                ),
                "fails": st.column_config.CheckboxColumn(
                    _("fails the dialogue"), default=False
                ),
            },
        )  # fmt: skip
        st.caption(paragraph("A line counts for dialogues of its team"))
        try:
            after = edit_taxonomy(base, edited, points, cards.to_dict("records"))
        except ConfigError as error:
            st.error(safe_markdown(explain_as_sentence(error)))
            return

        def preview() -> RulesPreview:
            stored = documents.list_newest_verdicts(store, account.id, N_PREVIEWED)
            gold = [one.code for one in list_gold(store, account.id)]
            return preview_rules(in_use, NewRules(after), stored, gold=gold)

        _show_saving(store, account, "taxonomy", documents.TAXONOMY, dump_taxonomy(after), preview)


def merge_categories(base: Taxonomy) -> list[Category]:
    """Return the packaged categories, with the codes of `base` in place of theirs, and those of `base` alone:
    all codes that may be switched on."""
    merged: dict[str, Category] = {}
    for category in (*load_taxonomy().categories, *base.categories):
        before = merged[category.code].codes if category.code in merged else ()
        codes = {code.code: code for code in (*before, *category.codes)}
        merged[category.code] = category.model_copy(update={"codes": tuple(codes.values())})
    return list(merged.values())


def edit_taxonomy(base: Taxonomy, rows: Rows, points: Rows, cards: Rows) -> Taxonomy:
    """Return `base` with the codes that are on in `rows`, as they stand there, the penalties of `points` and
    the scorecards of `cards`; if anything differs, with the last part of its version raised.

    Raises:
        ConfigError: a code may not have its usual severity, or no code is left.
    """
    by_code = {row["code"]: row for row in rows if row["on"]}
    levels = {row["code"]: row for row in points}
    fields = ("severity", "severities", "definition")
    content = base.model_dump(mode="json")
    content["categories"] = [
        {
            **category.model_dump(mode="json"),
            "codes": [
                {**code.model_dump(mode="json"), **{name: by_code[code.code][name] for name in fields}}
                for code in category.codes
                if code.code in by_code
            ],
        }
        for category in merge_categories(base)
        if any(code.code in by_code for code in category.codes)
    ]  # fmt: skip
    content["severities"] = [
        {**level, "penalty": levels[level["code"]]["penalty"], "auto_fail": levels[level["code"]]["fails"]}
        for level in content["severities"]
    ]
    content["scorecards"] = {}
    for card in cards:
        cost = "auto_fail" if card["fails"] else card["points"]
        content["scorecards"].setdefault(card["team"], {})[card["error"]] = cost
    after = parse_taxonomy(yaml.safe_dump(content, allow_unicode=True))
    if after == base:
        return base
    head = base.version.rstrip("0123456789")
    last = base.version[len(head) :]
    return after.model_copy(update={"version": f"{head}{int(last) + 1}" if last else f"{head}.1"})


def dump_taxonomy(taxonomy: Taxonomy) -> str:
    """Return the text of a taxonomy."""
    content = taxonomy.model_dump(mode="json")
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=100)


def show_policy_editor(
    store: Store, account: Account, name: str, base: str, before: Policy | None, others: Mapping[str, Policy]
) -> None:
    """Show the text of a policy with its errors; without a version it starts as `base`. `before` is the
    published version, `others` are the other published policies."""
    number, text = load_newest(store, account, "policy", name)
    left, right = st.columns([7, 5], gap="medium")
    with left:
        edited = st.text_area(
            _("Text in YAML. Ctrl+Enter checks it."), base if text is None else text, height=HEIGHT_PX,
            key=f"rules text:{name}:{number}", max_chars=documents.MAX_CHARACTERS,
        )  # fmt: skip
    with right:
        try:
            policy = parse_policy(edited, "line")
            if name and policy.policy != name:
                raise ConfigError("E_POLICY", "the text calls the policy otherwise than {name}", name=name)
        except ConfigError as error:
            st.error(safe_markdown(explain_as_sentence(error)))
            _show_saving(store, account, "policy", name, edited, None)
            return
        summary = _("Valid: policy {name}, {n} clauses, codes {codes}.").format(
            name=policy.policy, n=show_number(len(policy.clauses)), codes=" ".join(policy.codes)
        )
        st.success(safe_markdown(summary))

        def preview() -> PolicyPreview:
            read = documents.list_newest_dialogues(store, account.id, N_PREVIEWED)
            result = preview_policy(before, policy, others, read)
            listed = tuple(dict.fromkeys(each.dialogue for each in result.changes[:MAX_LISTED]))
            documents.record_previewed(store, account.id, listed)
            return result

        _show_saving(store, account, "policy", policy.policy, edited, preview)


def load_newest(store: Store, account: Account, kind: documents.Kind, name: str) -> tuple[int, str | None]:
    """Return the number and the text of a document's newest version; 0 and none if there is none."""
    versions = documents.list_versions(store, account.id, kind, name)
    if not versions:
        return 0, None
    number = versions[0].version
    return number, documents.load_version(store, account.id, kind, name, number)


def _show_saving(
    store: Store, account: Account, kind: documents.Kind, name: str, text: str,
    preview: Callable[[], RulesPreview | PolicyPreview] | None,
) -> None:  # fmt: skip
    """Show the reason for a text, and the buttons that preview, save and publish it; a text without a
    `preview` is not valid, and can be saved only."""
    number, newest = load_newest(store, account, kind, name)
    is_saved = text == newest
    published = documents.load_published(store, account.id, kind).get(name)
    key = f"{kind}:{name}:{number}"
    reason = st.text_input(
        _("Why it changes"), key=f"rules reason:{key}", max_chars=documents.MAX_REASON,
        help=_("Everybody who sees the versions reads it."),
    )  # fmt: skip
    can_save = bool(name) and (is_saved or bool(reason.strip()))
    with st.container(horizontal=True):
        seen = f"rules preview:{kind}"
        if st.button(_("Preview the change"), key=f"{seen}:{key}", disabled=preview is None) and preview:
            with report_refusals(NOTICE):
                st.session_state[seen] = (text, preview())
        previewed, result = st.session_state.get(seen, (None, None))
        can_publish = can_save and preview is not None and previewed == text and text != published
        saves = st.button(_("Save as a draft"), key=f"rules save:{key}", disabled=is_saved or not can_save)
        publishes = st.button(
            _("Publish"), key=f"rules publish:{key}", type="primary", disabled=not can_publish,
            help=paragraph("After a look at the preview."),
        )  # fmt: skip
    if saves or (publishes and can_publish):  # no text that was typed together with the click
        with attempt(NOTICE) as done:
            if not is_saved:
                number = documents.save_version(
                    store, account.id, kind, name, text, reason, expected=number
                ).version
            message = _("Saved as version {version}, a draft.")
            if publishes:
                documents.publish(store, account.id, kind, name, number)
                message = _("Version {version} is published.")
            done(message.format(version=number))
    elif not can_save:
        st.caption(_("A version needs a reason."))
    elif not can_publish and text != published:
        st.caption(_("Publishing needs a preview of this text."))
    if previewed == text and result is not None:
        if isinstance(result, RulesPreview):
            _show_taxonomy_preview(result)
        else:
            _show_policy_preview(result)


def _show_taxonomy_preview(preview: RulesPreview) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('What the change does to stored verdicts'))}**")
        n = ngettext("{n} verdict read", "{n} verdicts read", preview.verdicts)
        changed = ngettext(
            "the quality of {n} dialogue changes", "the quality of {n} dialogues changes", preview.changed
        )
        means = _("mean quality {before} → {after}").format(
            before=show_number(preview.mean[0], "0.0"), after=show_number(preview.mean[1], "0.0")
        )
        lines = [n, changed, means]
        if n_gold := preview.stale_gold:
            text = ngettext(
                "{n} control question to be read again", "{n} control questions to be read again", n_gold
            )
            lines.append(text)
        st.caption(safe_markdown(" · ".join(lines)))
        codes = {code: one for code, one in preview.codes.items() if one.is_change}
        if not codes:
            st.caption(_("No stored finding changes."))
            return
        show_table(
            (_("Code"), _("Findings"), _("Other severity"), _("Dropped")),
            (
                (
                    code,
                    show_number(one.findings[0]),
                    show_number(one.moved),
                    show_number(one.findings[0] - one.findings[1]),
                )
                for code, one in codes.items()
            ),
        )
        st.caption(paragraph("Changed words alter no stored"))


def _show_policy_preview(preview: PolicyPreview) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('What the policy finds in stored dialogues'))}**")
        n = ngettext("{n} dialogue read", "{n} dialogues read", preview.dialogues)
        applies = _("the policy applies to {before} → {after}").format(
            before=show_number(preview.applies[0]), after=show_number(preview.applies[1])
        )
        changes = ngettext("{n} finding changes", "{n} findings change", len(preview.changes))
        st.caption(safe_markdown(f"{n} · {applies} · {changes}"))
        if not preview.clauses:
            st.caption(_("No clause is broken, before or after."))
            return
        show_table(
            (_("Clause"), _("Code"), _("Before"), _("After")),
            (
                (clause, code, show_number(before), show_number(after))
                for (clause, code), (before, after) in preview.clauses.items()
            ),
        )
        show_table(
            (_("Dialogue"), _("Turn"), _("Clause"), _("Change"), _("Why")),
            (
                (
                    dialogue_cell(one.dialogue), str(one.turn), f"{one.code} {one.clause}",
                    _("+ found") if one.gained else _("− not found"), one.why,
                )
                for one in preview.changes[:MAX_LISTED]
            ),
        )  # fmt: skip
        if (more := len(preview.changes) - MAX_LISTED) > 0:
            st.caption(safe_markdown(ngettext("and {n} more", "and {n} more", more)))
