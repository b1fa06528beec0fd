"""The Admin page, and its views of accounts: users, their roles and passwords, and linked identities.

Leads see what they may do; the store decides each time. Only the view that is chosen is computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, get_args

import streamlit as st

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, role_name, show_time, status_name
from dialint.app.console.messages import ADMIN, attempt, set_secret, show_admin_notices
from dialint.app.console.sessions import PROVIDER_VARIABLE, SESSIONS
from dialint.app.console.tables import choose_rows, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.app.store_session import one_time_password
from dialint.labeling.store import accounts, authentication
from dialint.labeling.store.api import Store
from dialint.labeling.store.authentication import Identity
from dialint.labeling.store.permissions import ROLES, Permission, has_permission
from dialint.labeling.store.records import Account, AccountRole, Status


class View(NamedTuple):
    """A part of the page: the right that shows it, and its function in a module of this folder."""

    right: Permission
    function: str


VIEWS: dict[str, View] = {
    "users": View("discipline", "admin.show_users"),
    "projects": View("plan", "projects.show_projects"),
    "budgets": View("plan", "projects.show_budgets"),
    "gold": View("decide", "gold.show_gold"),
    "retention": View("administer", "retention.show_retention"),
    "audit": View("administer", "retention.show_audit"),
    "sign-in": View("administer", "admin.show_identities"),
}
TAB = "tab"
"""Parameter of the address that names a view."""


def admin_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    titles = {
        "users": _("Users"), "projects": _("Projects"), "budgets": _("Budgets"), "gold": _("Gold"),
        "retention": _("Retention"), "audit": _("Audit log"), "sign-in": _("Single sign-on"),
    }  # fmt: skip
    st.subheader(_("Admin"), anchor=False)
    views = [name for name, view in VIEWS.items() if has_permission(account, view.right)]
    requested = st.query_params.get(TAB, "users")
    view = st.segmented_control(
        _("View"), views, default=requested if requested in views else views[0], key="admin view",
        label_visibility="collapsed", format_func=lambda each: safe_markdown(titles[each]), required=True,
    )  # fmt: skip
    if view != requested:
        st.query_params[TAB] = view
    show_admin_notices()
    module, name = VIEWS[view].function.split(".")
    show: Callable[[Store, Account], None] = getattr(
        import_module(f"dialint.app.console.system.{module}"), name
    )
    show(store, account)


PER_PAGE = 50
EMPTY: dict[str, str | bool] = {
    "users new name": "", "users new skills": "", "users new agent": "", "users training": False,
}  # fmt: skip
"""The fields of the form for a new account, and their values in an empty form."""


def show_users(store: Store, account: Account) -> None:
    """The accounts, and forms to change one or to create one. Leads change labelers only."""
    everybody = accounts.list_accounts(store, account.id)
    is_admin = has_permission(account, "administer")
    table, forms = st.columns([7, 5], gap="medium")
    with table:
        _show_list(everybody)
    changeable = [each for each in everybody if each.id != account.id and (is_admin or each.role == ROLES[0])]
    with forms:
        if changeable:
            _show_change(store, account, changeable, is_admin=is_admin)
        if is_admin:
            _show_create(store, account)


def _show_list(everybody: list[Account]) -> None:
    search, role_column = st.columns([3, 2])
    part = search.text_input(_("Search by name"), max_chars=200, key="users search").strip().lower()
    role = role_column.selectbox(
        _("Role"), ("", *get_args(AccountRole)), key="users role",
        format_func=lambda each: safe_text(role_name(each) if each else _("all roles")),
    )  # fmt: skip
    matches = [each for each in everybody if part in each.id.lower() and role in ("", each.role)]
    show_table(
        (_("Name"), _("Role"), _("Status"), _("Skills"), _("Agent")),
        (
            (
                each.id, role_name(each.role), status_name(each.status), ", ".join(each.skills),
                each.agent or "",
            )
            for each in choose_rows(matches, PER_PAGE, "users page")
        ),
    )  # fmt: skip
    st.caption(safe_markdown(ngettext("{n} account", "{n} accounts", len(matches))))


def _show_change(store: Store, account: Account, others: list[Account], *, is_admin: bool) -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('Change an account'))}**")
        by_name = {each.id: each for each in others}
        name = st.selectbox(_("Account"), list(by_name), format_func=safe_text, key="users account")
        other = by_name[name]
        with st.form(f"status:{name}", border=False):
            statuses = get_args(Status)
            left, right = st.columns(2)
            status = left.selectbox(
                _("Status"), statuses, index=statuses.index(other.status), key=f"users status:{name}",
                format_func=lambda each: safe_text(status_name(each)),
                help=paragraph("A suspended account cannot"),
            )  # fmt: skip
            skills = right.text_input(
                _("Skills, by commas"), ", ".join(other.skills), key=f"users skills:{name}",
                help=_("Projects may require skills."),
            )  # fmt: skip
            role: AccountRole = other.role
            agent = other.agent or ""
            if is_admin:
                roles = get_args(AccountRole)
                role = left.selectbox(
                    _("Role"), roles, index=roles.index(other.role), key=f"users new role:{name}",
                    format_func=lambda each: safe_text(role_name(each)),
                )  # fmt: skip
                agent = right.text_input(
                    _("Agent id"), agent, max_chars=200, key=f"users agent:{name}",
                    help=paragraph("The id in dialogues of a person"),
                )  # fmt: skip
            reason = st.text_input(
                _("Reason"), max_chars=500, key=f"users reason:{name}", help=_("A ban needs one.")
            )
            if st.form_submit_button(_("Save changes"), type="primary"):
                wanted = other.model_copy(
                    update={
                        "status": status,
                        "skills": _split(skills),
                        "role": role,
                        "agent": agent.strip() or None,
                    }
                )
                with attempt(ADMIN) as done:
                    name, wanted = other.id, Account(**wanted.model_dump())
                    n = 0
                    if wanted.skills != tuple(sorted(other.skills)):
                        accounts.set_skills(store, account.id, name, wanted.skills)
                    if (wanted.role, wanted.agent) != (other.role, other.agent):
                        accounts.change(store, account.id, name, wanted.role, wanted.agent)
                    if wanted.status == "banned" and other.status != "banned":
                        n = accounts.ban(store, account.id, name, reason)
                    elif wanted.status != other.status:
                        accounts.set_status(store, account.id, name, wanted.status)
                    if (wanted.role, wanted.status) != (other.role, other.status):
                        SESSIONS.end_all(name)
                    message = _("{name} was changed.").format(name=name)
                    if n:
                        message += " " + ngettext(
                            "{n} task was opened again.", "{n} tasks were opened again.", n
                        )
                    done(message)
        if is_admin and st.button(_("New one-time password"), key=f"users password:{name}"):
            with attempt(ADMIN) as done:
                password = one_time_password()
                accounts.set_password(store, account.id, name, password)
                SESSIONS.end_all(name)
                set_secret(f"{name}  {password}")
                done(_("{name} has a new password and was signed out.").format(name=name))


def _split(skills: str) -> tuple[str, ...]:
    return tuple(sorted({each.strip() for each in skills.split(",") if each.strip()}))


def _show_create(store: Store, account: Account) -> None:
    with st.form("new account"):
        st.markdown(f"**{safe_markdown(_('New account'))}**")
        left, right = st.columns(2)
        name = left.text_input(_("Name"), max_chars=200, key="users new name")
        role = right.selectbox(
            _("Role"),
            get_args(AccountRole),
            key="users role of new",
            format_func=lambda each: safe_text(role_name(each)),
        )
        skills = left.text_input(_("Skills, by commas"), key="users new skills")
        agent = right.text_input(_("Agent id"), max_chars=200, key="users new agent")
        training = st.checkbox(
            _("Begin in training"), key="users training",
            help=paragraph("An account in training works"),
        )  # fmt: skip
        if st.form_submit_button(_("Create account"), type="primary"):
            with attempt(ADMIN, EMPTY) as done:
                password = one_time_password()
                new = Account(
                    id=name.strip(), role=role, status="training" if training else "active",
                    skills=_split(skills), agent=agent.strip() or None,
                )  # fmt: skip
                accounts.create(store, account.id, new, password)
                set_secret(f"{new.id}  {password}")
                done(_("{name} was created.").format(name=new.id))


def show_identities(store: Store, account: Account) -> None:
    """Whether a provider is configured, and which identities may sign in to which accounts."""
    provider = os.environ.get(PROVIDER_VARIABLE)
    if provider is None:
        st.info(paragraph("No provider is configured"))
    else:
        st.success(
            safe_markdown(
                _("People may sign in by {provider}, beside name and password.").format(provider=provider)
            )
        )
    linked = authentication.list_identities(store, account.id)
    table, form = st.columns([7, 5], gap="medium")
    with table:
        show_table(
            (_("Account"), _("Subject"), _("Issuer"), _("Since")),
            ((each.account, each.subject, each.issuer, show_time(from_ms(each.at_ms))) for each in linked),
        )
        st.caption(
            safe_markdown(ngettext("{n} identity is linked", "{n} identities are linked", len(linked)))
        )
    with form:
        with st.form("link identity"):
            st.markdown(f"**{safe_markdown(_('Link an identity'))}**")
            st.caption(_("Somebody who signs in without a link is shown their subject and issuer."))
            issuer = st.text_input(_("Issuer"), max_chars=500, placeholder="https://", key="identity issuer")
            subject = st.text_input(_("Subject"), max_chars=255, key="identity subject")
            names = [each.id for each in accounts.list_accounts(store, account.id)]
            name = st.selectbox(_("Account"), names, format_func=safe_text, key="identity account")
            if st.form_submit_button(_("Link"), type="primary"):
                with attempt(ADMIN, {"identity issuer": "", "identity subject": ""}) as done:
                    issuer = issuer.strip()
                    subject = subject.strip()
                    authentication.link(store, account.id, Identity(issuer=issuer, subject=subject), name)
                    done(_("The identity may sign in as {name} now.").format(name=name))
        if linked:
            with st.form("unlink identity"):
                chosen = st.selectbox(
                    _("Linked identity"), linked, key="identity linked",
                    format_func=lambda each: safe_text(f"{each.account}: {each.subject}"),
                )  # fmt: skip
                if st.form_submit_button(_("Unlink")):
                    with attempt(ADMIN) as done:
                        identity = Identity(issuer=chosen.issuer, subject=chosen.subject)
                        authentication.unlink(store, account.id, identity)
                        SESSIONS.end_all(chosen.account)
                        text = _("The identity may not sign in as {name} any more.")
                        done(text.format(name=chosen.account))
