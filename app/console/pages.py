"""The register of pages: dialint's own, and those that installed packages add (`dialint.detector.plugins`).

    [project.entry-points."dialint.pages"]
    shifts = "acme_dialint.pages:SHIFTS"          # a `ConsolePage`

    SHIFTS = ConsolePage("Shifts", "Quality", "plan", show_shifts)   # def show_shifts(store, account) -> None

A page is a function that draws with Streamlit. The navigation shows it to accounts with its right; the store
checks each operation all the same. Text from outside goes through `dialint.app.console.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import get_args

from dialint.app.console.i18n import N_
from dialint.detector.errors import ConfigError
from dialint.detector.plugins import plugins
from dialint.labeling.store.api import Store
from dialint.labeling.store.permissions import Permission, has_permission
from dialint.labeling.store.records import Account, AccountRole

Show = Callable[[Store, Account], None]
RESERVED = ("", "home", "sign-in")
"""Addresses that lead to the start page of an account, or to the sign-in page."""


@dataclass(frozen=True)
class ConsolePage:
    """A page. Its `title`, in English, gives the address, its `section` a place in the navigation, and its
    `right` who sees it. `function` draws it, or is ``module:function``, imported when the page is first
    visited. `is_hidden`: reached by links only. `for_agents`: for accounts that are an agent, and those with
    the right `others`. (No icon: Streamlit would ask another host for it.)"""

    title: str
    section: str
    right: Permission
    function: Show | str
    is_hidden: bool = False
    for_agents: bool = False
    others: Permission | None = None

    def __post_init__(self) -> None:
        if self.right not in get_args(Permission):
            raise ConfigError(
                "E_PLUGIN", "page {title}: right {right!r}, expected one of {rights}",
                title=self.title, right=self.right, rights=", ".join(get_args(Permission)),
            )  # fmt: skip

    @property
    def address(self) -> str:
        """The path of the page, below that of the console."""
        return self.title.lower().replace(" ", "-")

    def is_open_to(self, account: Account) -> bool:
        """Return whether the account may see the page."""
        if self.for_agents and account.agent is None:
            return self.others is not None and has_permission(account, self.others)
        return has_permission(account, self.right)

    def show(self, store: Store, account: Account) -> None:
        """Draw the page."""
        if callable(self.function):
            self.function(store, account)
        else:
            module, _, name = self.function.partition(":")
            getattr(import_module(module), name)(store, account)


def _own(title: str, section: str, right: Permission, function: str, **more: bool | str) -> ConsolePage:
    return ConsolePage(title, section, right, f"{__package__}.{function}", **more)  # type: ignore[arg-type]


QUALITY, WORK, SYSTEM = N_("Quality"), N_("Work"), N_("System")
OVERVIEW = _own(N_("Overview"), QUALITY, "plan", "quality.overview:overview_page")
EXPLORE = _own(N_("Explore"), QUALITY, "review", "quality.explore:explore_page")
DIALOGUE = _own(N_("Dialogue"), QUALITY, "review", "quality.dialogue_page:dialogue_page", is_hidden=True)
COACHING = _own(
    N_("Coaching"), QUALITY, "label", "quality.coaching:coaching_page", for_agents=True, others="plan"
)
PEOPLE = _own(N_("People"), QUALITY, "plan", "quality.people:people_page")
REVIEW = _own(N_("Review"), WORK, "review", "tasks.pages:review_page")
LABEL = _own(N_("Label"), WORK, "label", "tasks.pages:label_page")
ADJUDICATE = _own(N_("Adjudicate"), WORK, "decide", "tasks.adjudicate:adjudicate_page")
CALIBRATION = _own(N_("Calibration"), WORK, "label", "tasks.calibration:calibration_page")
MY_FINDINGS = _own(N_("My findings"), WORK, "label", "tasks.appeals:own_findings_page", for_agents=True)
APPEALS = _own(N_("Appeals"), WORK, "decide", "tasks.appeals:decide_page")
SCORE = _own(N_("Score"), SYSTEM, "plan", "system.score:score_page")
RELEASES = _own(N_("Releases"), SYSTEM, "plan", "system.releases:releases_page")
RULES = _own(N_("Taxonomy and policies"), SYSTEM, "plan", "system.rules:rules_page")
ADMIN = _own(N_("Admin"), SYSTEM, "plan", "system.admin:admin_page")
PASSWORD = _own(N_("Your account"), SYSTEM, "label", "sign_in:password_page")
START: dict[AccountRole, ConsolePage] = {
    "labeler": LABEL, "reviewer": REVIEW, "expert": REVIEW, "lead": OVERVIEW, "admin": OVERVIEW,
}  # fmt: skip


@cache
def load_pages() -> Mapping[str, ConsolePage]:
    """Return all pages by address, in the order of the navigation. Raises ConfigError (E_PLUGIN)."""
    pages: dict[str, ConsolePage] = {}
    for plugin in plugins("dialint.pages").values():
        page: ConsolePage = plugin.load(ConsolePage)
        if page.address in RESERVED or pages.setdefault(page.address, page) is not page:
            raise ConfigError(
                "E_PLUGIN", "{origin}: there is a page at /{address} already",
                origin=plugin.origin, address=page.address,
            )  # fmt: skip
    return pages


def start_page(account: Account) -> ConsolePage:
    """Return the page that an account lands on: of an agent without other work the own findings."""
    is_agent = account.agent is not None and account.role == "labeler"
    return MY_FINDINGS if is_agent else START[account.role]
