"""Roles and statuses of accounts in the words of the screens."""

from __future__ import annotations

from dialint.app.console.i18n import N_, _
from dialint.labeling.store.records import AccountRole, Status

ROLE_NAMES: dict[AccountRole, str] = {
    "labeler": N_("labeler"), "reviewer": N_("reviewer"), "expert": N_("expert"), "lead": N_("lead"),
    "admin": N_("administrator"),
}  # fmt: skip
STATUS_NAMES: dict[Status, str] = {
    "active": N_("active"), "training": N_("in training"), "suspended": N_("suspended"),
    "banned": N_("banned"),
}  # fmt: skip


def role_name(role: AccountRole) -> str:
    """A role in the language of this page."""
    return _(ROLE_NAMES[role])


def status_name(status: Status) -> str:
    """A status in the language of this page."""
    return _(STATUS_NAMES[status])
