"""The Admin page: users, projects, budgets, gold, retention, audit log, sign-in.

Leads see what they may do; the store decides each time. Only the view that is chosen is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import streamlit as st

from dialint.app.console.form_actions import show_notices
from dialint.app.console.i18n import _
from dialint.app.console.text import safe_markdown
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import Permission, has_permission
from dialint.labeling.store.records import Account


class View(NamedTuple):
    """A part of the page: the right that shows it, and its function in a module of this folder."""

    right: Permission
    function: str


VIEWS: dict[str, View] = {
    "users": View("discipline", "accounts.show_users"),
    "projects": View("plan", "projects.show_projects"),
    "budgets": View("plan", "projects.show_budgets"),
    "gold": View("decide", "gold.show_gold"),
    "retention": View("administer", "retention.show_retention"),
    "audit": View("administer", "audit.show_audit"),
    "sign-in": View("administer", "accounts.show_identities"),
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
    show_notices()
    module, name = VIEWS[view].function.split(".")
    show: Callable[[Store, Account], None] = getattr(
        import_module(f"dialint.app.console.admin.{module}"), name
    )
    show(store, account)
