"""Each role against each page by its address, and over the wire: a client that forges everything it sends gets
nothing of others, and no traceback. Each role against each store operation is in `test_store_permissions`."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from console_client import ConsoleClient
from console_records import make_dialogue
from sqlalchemy import select
from streamlit.proto.WidgetStates_pb2 import WidgetState

from dialint.app.console.pages import load_pages, start_page
from dialint.labeling.store import dialogues, projects, tasks
from dialint.labeling.store.database.schema import metadata
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import LOWEST_ROLE, ROLES
from dialint.labeling.store.records import Account, AccountRole, NewTask, Project

PAGES = {page.title: page for page in load_pages().values()}

CLOSED = "This page is not open to your role."
SECRET = "the secret of another dialogue"
TRACEBACK = re.compile(
    rb"Traceback \(most recent call last\)|File \"/|\.py\", line \d+|sqlalchemy\.exc|site-packages"
)

WHO: dict[str, AccountRole] = {
    "Overview": "lead", "Explore": "reviewer", "Dialogue": "reviewer", "Coaching": "lead", "People": "lead",
    "Review": "reviewer", "Label": "labeler", "Adjudicate": "expert", "Calibration": "labeler",
    "My findings": "labeler", "Appeals": "expert", "Score": "lead", "Releases": "lead",
    "Taxonomy and policies": "lead", "Admin": "lead", "Your account": "labeler",
}  # fmt: skip
"""The lowest role that each page is open to. A new page without a line here fails."""


def address(title: str) -> str:
    return title.lower().replace(" ", "-")


def add_private(store: Store) -> None:
    """A dialogue that a labeler has no business with."""
    dialogues.add(
        store, "lea", [make_dialogue("private", f"{SECRET}: where?", f"{SECRET}: no idea.", agent="a9")]
    )
    projects.create(store, "lea", Project(id="second review", codes=("C1",), purpose="review"))
    tasks.add(store, "lea", "second review", [NewTask(dialogue="private")])


def rows(store: Store) -> dict[str, list[Any]]:
    return store.read(lambda t: {name: list(t.run(select(table))) for name, table in metadata.tables.items()})


def test_every_page_has_a_line() -> None:
    assert WHO.keys() == PAGES.keys()
    assert {title: LOWEST_ROLE[entry.others or entry.right] for title, entry in PAGES.items()} == WHO


@pytest.mark.parametrize(("name", "role"), [("ann", "labeler"), ("lea", "lead")])
def test_each_page_opens_for_its_roles_only(
    open_page: Callable[..., Any], store: Store, name: str, role: AccountRole
) -> None:
    add_private(store)
    page = open_page(name)
    for title in PAGES:
        page.go(title)
        is_open = ROLES.index(role) >= ROLES.index(WHO[title]) and title != "My findings"
        assert (CLOSED not in page.words) == is_open, title
        assert SECRET not in page.words or is_open, title


@pytest.mark.parametrize(("role", "agent", "title"), [
    ("labeler", "a1", "My findings"), ("labeler", None, "Label"), ("reviewer", "a1", "Review"),
    ("expert", None, "Review"), ("lead", "a1", "Overview"), ("admin", None, "Overview"),
])  # fmt: skip
def test_everybody_lands_on_the_page_of_their_work(role: AccountRole, agent: str | None, title: str) -> None:
    account = Account(id="x", role=role, agent=agent)
    assert start_page(account).title == title
    assert PAGES[title].is_open_to(account)


def forged(identifier: str, index: int) -> WidgetState:
    """A widget's state of each kind, some of which the widget never has."""
    kinds: list[dict[str, Any]] = [
        {"trigger_value": True}, {"string_value": "private"}, {"int_value": 2**40}, {"bool_value": True},
        {"json_value": json.dumps({"log": {"tab": "x", "draft": "y", "events": [{"kind": "save", "seq": 1}]}})},
        {"json_value": "{"}, {"json_trigger_value": json.dumps({"selected": {"turn": 0, "start": 0, "end": 9}})},
        {"string_trigger_value": {"data": "private"}}, {"bytes_value": b"\x00\xff"},
    ]  # fmt: skip
    return WidgetState(id=identifier, **kinds[index % len(kinds)])


def widget_ids(client: ConsoleClient) -> list[str]:
    ids = []
    for element in client.last.elements:
        inner = getattr(element, element.WhichOneof("type"))
        if getattr(inner, "id", ""):
            ids.append(inner.id)
    return ids


def test_a_labeler_and_a_stranger_reach_nothing_of_others_by_the_wire(
    store: Store, wire: Callable[..., ConsoleClient]
) -> None:
    """A labeler sends the content of a lead's and a reviewer's pages: pages by hash, name and address, their
    widgets' ids with values of every kind, and events of the components."""
    add_private(store)
    boss = wire("ada")
    theirs: dict[str, list[str]] = {}
    for title in PAGES:
        query = "id=private" if title == "Dialogue" else "tab=retention" if title == "Admin" else ""
        boss.states.clear()
        boss.run(page=boss.pages[address(title)], query=query)
        # without those that the labeler has too: one signs out, the other stops the page at a value of a wrong kind
        theirs[title] = [
            each for each in widget_ids(boss) if not each.endswith(("sign out", "language choice"))
        ]
    seen = boss.run(page=boss.pages["dialogue"], query="id=private").raw
    assert SECRET.encode() in seen, "the test can fail: an admin sees it by the same message"

    labeler, stranger = wire("ann"), wire(None)
    before = rows(store)
    for title, ids in theirs.items():
        above = ROLES.index(WHO[title]) > 0
        query = "tab=audit" if title == "Admin" else "id=private"
        for page, name in ((boss.pages[address(title)], ""), ("", address(title))):
            labeler.states = {each: forged(each, number) for number, each in enumerate(ids)} if above else {}
            got = labeler.run(page=page, name=name, query=query).raw
            assert SECRET.encode() not in got, (title, query)
            assert not TRACEBACK.search(got), (title, query)
            if above:
                assert CLOSED.encode() in got, (title, query)
        stranger.states = labeler.states
        got = stranger.run(page=boss.pages[address(title)], query="id=private").raw
        assert not [each for each in (SECRET.encode(), b"Signed in as") if each in got], title
        assert not TRACEBACK.search(got), title
    after = rows(store)
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"audit", "audit_head", "preferences", "clocks"}, changed
    written = [row.action for row in after["audit"][len(before["audit"]) :]]
    assert set(written) <= {"preferences.save", "write"}, written
