"""The Admin page, and its views of accounts (users, their roles and passwords, linked identities) and of
gold: known answers, from which control tasks are made.

Leads see what they may do; the store decides each time. Only the view that is chosen is computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

import streamlit as st

from dialint.app.console.i18n import N_, _, from_ms, ngettext, paragraph, role_name, show_time, status_name
from dialint.app.console.messages import ADMIN, attempt, set_secret, show_admin_notices
from dialint.app.console.sessions import PROVIDER_VARIABLE, SESSIONS
from dialint.app.console.system.projects import show_projects
from dialint.app.console.system.retention import show_audit, show_retention
from dialint.app.console.tables import (
    choose_rows,
    choose_view,
    dialogue_cell,
    select,
    show_table,
    split_commas,
)
from dialint.app.console.text import safe_markdown
from dialint.app.store_session import one_time_password
from dialint.labeling.store import accounts, authentication, gold, projects
from dialint.labeling.store.api import Store
from dialint.labeling.store.authentication import Identity
from dialint.labeling.store.permissions import ROLES, Permission, has_permission
from dialint.labeling.store.records import Account, AccountRole, Gold, Status
from dialint.labeling.store.tasks import add_control_tasks

TAB = "tab"
"""Parameter of the address that names a view."""
EMPTY: dict[str, str | bool] = {
    "users new name": "", "users new skills": "", "users new agent": "", "users training": False,
}  # fmt: skip
"""The fields of the form for a new account, and their values in an empty form."""


def show_users(store: Store, account: Account) -> None:
    """Show the accounts, and forms to change one or to create one. Leads change labelers only."""
    everybody = accounts.list_accounts(store, account.id)
    is_admin = has_permission(account, "administer")
    table, forms = st.columns([7, 5], gap="medium")
    with table:
        search, role_column = st.columns([3, 2])
        part = search.text_input(_("Search by name"), max_chars=200, key="users search").strip().lower()
        roles = {"": _("all roles"), **{each: role_name(each) for each in get_args(AccountRole)}}
        role = select(_("Role"), roles, "users role", at=role_column)
        matches = [each for each in everybody if part in each.id.lower() and role in ("", each.role)]
        rows = [
            (
                each.id, role_name(each.role), status_name(each.status), ", ".join(each.skills),
                each.agent or "",
            )
            for each in choose_rows(matches, "users page")
        ]  # fmt: skip
        show_table((_("Name"), _("Role"), _("Status"), _("Skills"), _("Agent")), rows)
        st.caption(safe_markdown(ngettext("{n} account", "{n} accounts", len(matches))))
    changeable = [each for each in everybody if each.id != account.id and (is_admin or each.role == ROLES[0])]
    with forms:
        if changeable:
            _show_change(store, account, changeable, is_admin=is_admin)
        if is_admin:
            _show_create(store, account)


def _show_change(store: Store, account: Account, others: list[Account], *, is_admin: bool) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('Change an account'))}**")
        by_name = {each.id: each for each in others}
        other = by_name[name := select(_("Account"), list(by_name), "users account")]
        with st.form(f"status:{name}", border=False):
            left, right = st.columns(2)
            status = select(
                _("Status"), get_args(Status), f"users status:{name}", status_name, at=left,
                usual=other.status, help=paragraph("A suspended account cannot"),
            )  # fmt: skip
            skills = right.text_input(
                _("Skills, by commas"), ", ".join(other.skills), key=f"users skills:{name}",
                help=_("Projects may require skills."),
            )  # fmt: skip
            role, agent = other.role, other.agent or ""
            if is_admin:
                key = f"users new role:{name}"
                role = select(_("Role"), get_args(AccountRole), key, role_name, usual=role, at=left)
                agent = right.text_input(
                    _("Agent id"), agent, max_chars=200, key=f"users agent:{name}",
                    help=paragraph("The id in dialogues of a person"),
                )  # fmt: skip
            reason = st.text_input(
                _("Reason, which the audit log keeps"), max_chars=500, key=f"users reason:{name}"
            )
            if st.form_submit_button(_("Save changes"), type="primary"):
                with attempt(ADMIN) as done:
                    wanted = Account(
                        id=name,
                        role=role,
                        status=status,
                        skills=split_commas(skills),
                        agent=agent.strip() or None,
                    )
                    n = 0
                    if wanted.status == "banned" and other.status != "banned":
                        n = accounts.ban(store, account.id, name, reason)
                    elif wanted.status != other.status:
                        accounts.set_status(store, account.id, name, wanted.status, reason)
                    if wanted.skills != tuple(sorted(other.skills)):
                        accounts.set_skills(store, account.id, name, wanted.skills)
                    if (wanted.role, wanted.agent) != (other.role, other.agent):
                        accounts.change(store, account.id, name, wanted.role, wanted.agent)
                    if (wanted.role, wanted.status) != (other.role, other.status):
                        SESSIONS.end_all(name)
                    opened = (
                        ngettext("{n} task was opened again.", "{n} tasks were opened again.", n) if n else ""
                    )
                    done(f"{_('{name} was changed.').format(name=name)} {opened}".strip())
        if is_admin and st.button(_("New one-time password"), key=f"users password:{name}"):
            with attempt(ADMIN) as done:
                password = one_time_password()
                accounts.set_password(store, account.id, name, password)
                SESSIONS.end_all(name)
                set_secret(f"{name}  {password}")
                done(_("{name} has a new password and was signed out.").format(name=name))


def _show_create(store: Store, account: Account) -> None:
    with st.form("new account"):
        st.markdown(f"**{safe_markdown(_('New account'))}**")
        left, right = st.columns(2)
        name = left.text_input(_("Name"), max_chars=200, key="users new name")
        role = select(_("Role"), get_args(AccountRole), "users role of new", role_name, at=right)
        skills = left.text_input(_("Skills, by commas"), key="users new skills")
        agent = right.text_input(_("Agent id"), max_chars=200, key="users new agent")
        training = st.checkbox(
            _("Begin in training"), key="users training", help=paragraph("An account in training works")
        )
        if st.form_submit_button(_("Create account"), type="primary"):
            with attempt(ADMIN, EMPTY) as done:
                new = Account(
                    id=name.strip(), role=role, status="training" if training else "active",
                    skills=split_commas(skills), agent=agent.strip() or None,
                )  # fmt: skip
                accounts.create(store, account.id, new, password := one_time_password())
                set_secret(f"{new.id}  {password}")
                done(_("{name} was created.").format(name=new.id))


def show_identities(store: Store, account: Account) -> None:
    """Show whether a provider is configured, and which identities may sign in to which accounts."""
    if (provider := os.environ.get(PROVIDER_VARIABLE)) is None:
        st.info(paragraph("No provider is configured"))
    else:
        text = _("People may sign in by {provider}, beside name and password.")
        st.success(safe_markdown(text.format(provider=provider)))
    linked = authentication.list_identities(store, account.id)
    table, form = st.columns([7, 5], gap="medium")
    with table:
        rows = ((each.account, each.subject, each.issuer, show_time(from_ms(each.at_ms))) for each in linked)
        show_table((_("Account"), _("Subject"), _("Issuer"), _("Since")), rows)
        n_linked = ngettext("{n} identity is linked", "{n} identities are linked", len(linked))
        st.caption(safe_markdown(n_linked))
    with form:
        with st.form("link identity"):
            st.markdown(f"**{safe_markdown(_('Link an identity'))}**")
            st.caption(_("Somebody who signs in without a link is shown their subject and issuer."))
            issuer = st.text_input(_("Issuer"), max_chars=500, placeholder="https://", key="identity issuer")
            subject = st.text_input(_("Subject"), max_chars=255, key="identity subject")
            names = [each.id for each in accounts.list_accounts(store, account.id)]
            name = select(_("Account"), names, "identity account")
            if st.form_submit_button(_("Link"), type="primary"):
                with attempt(ADMIN, {"identity issuer": "", "identity subject": ""}) as done:
                    identity = Identity(issuer=issuer.strip(), subject=subject.strip())
                    authentication.link(store, account.id, identity, name)
                    done(_("The identity may sign in as {name} now.").format(name=name))
        if linked:
            with st.form("unlink identity"):
                titles = {each: f"{each.account}: {each.subject}" for each in linked}
                chosen = select(_("Linked identity"), titles, "identity linked")
                if st.form_submit_button(_("Unlink")):
                    with attempt(ADMIN) as done:
                        identity = Identity(issuer=chosen.issuer, subject=chosen.subject)
                        authentication.unlink(store, account.id, identity)
                        SESSIONS.end_all(chosen.account)
                        text = _("The identity may not sign in as {name} any more.")
                        done(text.format(name=chosen.account))


OPENED = "gold opened"


def show_gold(store: Store, account: Account) -> None:
    """Show the gold, its doubts, and ways to retire and use it."""
    st.caption(
        _("Whoever reads the known answers of a dialogue no longer answers it blind: the store notes it.")
    )
    table, forms = st.columns([7, 5], gap="medium")
    with table:
        if st.session_state.get(OPENED):
            _show_gold_list(store, account)
        else:
            show = partial(st.session_state.update, {OPENED: True})
            st.button(_("Show the known answers"), key="open gold", on_click=show)
    with forms:
        if has_permission(account, "plan"):
            _show_tasks(store, account)
        st.caption(paragraph("Known answers come from"))


def _show_gold_list(store: Store, account: Account) -> None:
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
        name = select(_("Project"), names, "gold project")
        pool = select(_("As"), pools, "gold pool")
        if st.form_submit_button(_("Make tasks")):
            with attempt(ADMIN) as done:
                n = add_control_tasks(store, account.id, name, pool=pool)
                done(ngettext("{n} task was added.", "{n} tasks were added.", n))


VIEWS: dict[str, tuple[str, Permission, Callable[[Store, Account], None]]] = {
    "users": (N_("Users"), "discipline", show_users),
    "projects": (N_("Projects"), "plan", show_projects),
    "gold": (N_("Gold"), "decide", show_gold),
    "retention": (N_("Retention"), "administer", show_retention),
    "audit": (N_("Audit log"), "administer", show_audit),
    "sign-in": (N_("Single sign-on"), "administer", show_identities),
}
"""The parts of the page: the title, the right that shows it, and its function."""


def admin_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    st.subheader(_("Admin"), anchor=False)
    titles = {
        name: _(title) for name, (title, right, _show) in VIEWS.items() if has_permission(account, right)
    }
    requested = st.query_params.get(TAB, "users")
    view = choose_view(titles, "admin view", requested if requested in titles else None)
    if view != requested:
        st.query_params[TAB] = view
    show_admin_notices()
    VIEWS[view][2](store, account)
