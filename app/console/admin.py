"""The Admin page: users, projects, gold, retention, audit log."""

from __future__ import annotations

import streamlit as st

from dialint.app.console.i18n import _
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account


def admin_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("Admin"), anchor=False)
