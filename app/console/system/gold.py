"""The view Gold of the Admin page: known answers, of which control tasks are made."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from dialint.app.console.i18n import _, ngettext, paragraph
from dialint.app.console.messages import ADMIN, attempt
from dialint.app.console.tables import choose_rows, choose_view, dialogue_cell, select, show_table
from dialint.app.console.text import safe_markdown
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store import gold, projects
from dialint.labeling.store.api import Store
from dialint.labeling.store.gold import parse_gold_lines
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, Gold
from dialint.labeling.store.tasks import add_control_tasks

OPENED = "gold opened"


def show_gold(store: Store, account: Account) -> None:
    """The gold, its doubts, and ways to add, retire and use it."""
    st.caption(
        _("Whoever reads the known answers of a dialogue no longer answers it blind: the store notes it.")
    )
    table, forms = st.columns([7, 5], gap="medium")
    with table:
        if st.session_state.get(OPENED):
            _show_list(store, account)
        else:
            show = partial(st.session_state.update, {OPENED: True})
            st.button(_("Show the known answers"), key="open gold", on_click=show)
    with forms:
        _show_import(store, account)
        if has_permission(account, "plan"):
            _show_tasks(store, account)


def _show_list(store: Store, account: Account) -> None:
    rows, doubted = gold.list_gold(store, account.id, retired=True), gold.list_doubted(store, account.id)
    views = {"all": _("All"), "doubt": _("In doubt"), "retired": _("Retired")}
    sources = {"expert": _("an expert"), "injected": _("an inserted error"), "appeal": _("an appeal")}
    view = choose_view(views, "gold view", "doubt" if doubted else "all")
    visible = [one for one in rows if view == "all" or (one.doubt if view == "doubt" else one.retired)]
    show_table(
        (_("Dialogue"), _("Turn"), _("Code"), _("Error"), _("Source"), _("State"), _("Doubt or reason")),
        (
            (
                dialogue_cell(one.dialogue), str(one.turn), one.code, _("yes") if one.present else _("no"),
                sources[one.source],
                _("retired") if one.retired else _("in doubt") if one.doubt else _("in use"),
                one.doubt or one.reason or "",
            )
            for one in choose_rows(visible, "gold page")
        ),
    )  # fmt: skip
    st.caption(safe_markdown(ngettext("{n} known answer", "{n} known answers", len(visible))))
    if doubted:
        _show_decision(store, account, doubted)
    if rows and has_permission(account, "plan"):
        _show_use(store, account, rows)


def _show_decision(store: Store, account: Account, doubted: tuple[Gold, ...]) -> None:
    with st.form("decide gold"):
        st.markdown(f"**{safe_markdown(_('Decide what is in doubt'))}**")
        names = {each: f"{each.dialogue} · {each.turn} · {each.code}: {each.doubt}" for each in doubted}
        one = select(_("Known answer"), names, "gold doubted")
        answers = {True: _("The error is there"), False: _("There is no such error")}
        present = st.radio(
            _("Decision"), [True, False], index=0 if one.present else 1, horizontal=True, key="gold present",
            format_func=lambda each: safe_markdown(answers[each]),
        )  # fmt: skip
        reason = st.text_input(_("Reason"), max_chars=500, key="gold reason")
        if st.form_submit_button(_("Decide"), type="primary"):
            with attempt(ADMIN) as done:
                gold.decide_gold(
                    store, account.id, one.dialogue, one.turn, one.code, present=bool(present), reason=reason
                )
                done(_("It was decided, and grades again."))


def _show_use(store: Store, account: Account, rows: tuple[Gold, ...]) -> None:
    retired: dict[str, bool] = {}
    for one in rows:
        retired[one.dialogue] = retired.get(one.dialogue, True) and one.retired
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('Retire a dialogue, or bring it back'))}**")
        name = select(_("Dialogue"), list(retired), "gold dialogue")
        if retired[name]:
            if st.button(_("Use it again"), key="restore gold"):
                with attempt(ADMIN) as done:
                    gold.restore_gold(store, account.id, name)
                    done(_("{name} is used again.").format(name=name))
        elif st.button(
            _("Retire it"), key="retire gold",
            help=_("It is no longer shown in control tasks; its answers still grade those that were given."),
        ):  # fmt: skip
            with attempt(ADMIN) as done:
                gold.retire_gold(store, account.id, name)
                done(_("{name} is retired.").format(name=name))


def _show_import(store: Store, account: Account) -> None:
    with st.form("import gold", clear_on_submit=False):
        st.markdown(f"**{safe_markdown(_('Add known answers'))}**")
        text = st.text_area(
            _("JSON lines"), height=120, max_chars=1_000_000, key="gold lines",
            placeholder='{"dialogue_id": "d1", "turn": 3, "code": "C1", "present": true, "reason": "…"}',
            help=paragraph("One line for each dialogue"),
        )  # fmt: skip
        replace = st.checkbox(_("Overwrite answers that say otherwise"), key="gold replace")
        if st.form_submit_button(_("Add"), type="primary"):
            with attempt(ADMIN) as done:
                counts = gold.import_gold(
                    store, account.id, parse_gold_lines(text, load_taxonomy()), replace=replace
                )
                template = _("{new} new, {replaced} replaced, {unchanged} unchanged.")
                done(template.format(new=counts.new, replaced=counts.replaced, unchanged=counts.unchanged))


def _show_tasks(store: Store, account: Account) -> None:
    names = [project.id for project, state in projects.list_projects(store, account.id) if state == "open"]
    if not names:
        return
    pools: dict[Literal["control", "exam"], str] = {
        "control": _("control tasks, mixed into the work"),
        "exam": _("an exam, for accounts in training"),
    }
    with st.form("gold tasks"):
        st.markdown(f"**{safe_markdown(_('Make tasks of the gold'))}**")
        left, right = st.columns(2)
        name = select(_("Project"), names, "gold project", at=left)
        pool = select(_("As"), pools, "gold pool", at=right)
        if st.form_submit_button(_("Make tasks")):
            with attempt(ADMIN) as done:
                n = add_control_tasks(store, account.id, name, pool=pool)
                done(ngettext("{n} task was added.", "{n} tasks were added.", n))
