"""Each role against each page by its address, and over the wire: a client that forges everything it sends gets
nothing of others, and no traceback. Each role against each store operation is in `test_store_permissions`."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from console_client import ConsoleClient
from patience import WAIT_MS
from sqlalchemy import select
from streamlit.proto.WidgetStates_pb2 import WidgetState

import dialint.app.console
from dialint.app.console.pages import load_pages, start_page
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.store import accounts, authentication, dialogues, projects, tasks
from dialint.labeling.store.database.schema import metadata
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import LOWEST_ROLE, ROLES
from dialint.labeling.store.records import Account, AccountRole, NewTask, Project

PAGES = {page.title: page for page in load_pages().values()}

PASSWORD = "a long enough one"
GIVEN = "once-for the first time"
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


def populate_roles(store: Store) -> None:
    """An account for each role, one that is an agent, and dialogues that a labeler has no business with."""
    authentication.choose_password(store, "ada", GIVEN, PASSWORD)
    for role in get_args(AccountRole):
        accounts.create(store, "ada", Account(id=f"the {role}", role=role), GIVEN)
        authentication.choose_password(store, f"the {role}", GIVEN, PASSWORD)
    accounts.create(store, "ada", Account(id="the agent", role="labeler", agent="a1"), GIVEN)
    authentication.choose_password(store, "the agent", GIVEN, PASSWORD)
    turns = (
        Turn(index=0, role="customer", text=f"{SECRET}: where is it?"),
        Turn(index=1, role="agent", text=f"{SECRET}: no idea."),
    )
    dialogues.add(store, "lea", [Dialogue(id="private", turns=turns, agent="a9")])
    projects.create(store, "lea", Project(id="second review", codes=("C1",), purpose="review"))
    tasks.add(store, "lea", "second review", [NewTask(dialogue="private")])


def rows(store: Store) -> dict[str, list[Any]]:
    return store.read(lambda t: {name: list(t.run(select(table))) for name, table in metadata.tables.items()})


def test_every_page_has_a_line() -> None:
    assert WHO.keys() == PAGES.keys()
    assert {title: LOWEST_ROLE[entry.others or entry.right] for title, entry in PAGES.items()} == WHO


@pytest.mark.parametrize(
    "role",
    [pytest.param(role, marks=[pytest.mark.slow] * (role in ("expert", "reviewer"))) for role in ROLES],
)
def test_each_page_opens_for_its_roles_only(
    open_page: Callable[..., Any], store: Store, role: AccountRole
) -> None:
    populate_roles(store)
    page = open_page(f"the {role}")
    for title in PAGES:
        page.go(title)
        assert not page.test.exception, (title, page.test.exception)
        is_open = ROLES.index(role) >= ROLES.index(WHO[title]) and title != "My findings"
        assert (CLOSED not in page.words) == is_open, title
        assert SECRET not in page.words or is_open, title


def test_only_agents_have_findings_of_their_own(open_page: Callable[..., Any], store: Store) -> None:
    populate_roles(store)
    assert CLOSED not in open_page("the agent", at="My findings").words
    assert CLOSED in open_page("the labeler", at="My findings").words


@pytest.mark.parametrize(("role", "agent", "title"), [
    ("labeler", "a1", "My findings"), ("labeler", None, "Label"), ("reviewer", "a1", "Review"),
    ("expert", None, "Review"), ("lead", "a1", "Overview"), ("admin", None, "Overview"),
])  # fmt: skip
def test_everybody_lands_on_the_page_of_their_work(role: AccountRole, agent: str | None, title: str) -> None:
    account = Account(id="x", role=role, agent=agent)
    assert start_page(account).title == title
    assert PAGES[title].is_open_to(account)


@pytest.fixture
def wire(server: Any) -> Iterator[Callable[[str | None], ConsoleClient]]:
    clients: list[ConsoleClient] = []

    def connected(name: str | None) -> ConsoleClient:
        client = ConsoleClient(server.port)
        clients.append(client)
        if name is not None:
            client.sign_in(name, PASSWORD)
        return client

    yield connected
    for client in clients:
        client.close()


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
    found = []
    for element in client.last.elements:
        inner = getattr(element, element.WhichOneof("type"))
        if getattr(inner, "id", ""):
            found.append(inner.id)
    return found


def test_a_labeler_reaches_nothing_of_others_by_the_wire(
    store: Store, wire: Callable[..., ConsoleClient]
) -> None:
    """What a lead's and a reviewer's pages have is sent by a labeler: pages by hash, name and address, their
    widgets' ids with values of every kind, and events of the components."""
    populate_roles(store)
    boss = wire("the admin")
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

    labeler = wire("the labeler")
    before = rows(store)
    for title, ids in theirs.items():
        above = ROLES.index(WHO[title]) > 0
        for query in ("", "id=private", "tab=audit", "id=private&tab=users"):
            for page, name in ((boss.pages[address(title)], ""), ("", address(title))):
                labeler.states = (
                    {each: forged(each, number) for number, each in enumerate(ids)} if above else {}
                )
                got = labeler.run(page=page, name=name, query=query).raw
                assert SECRET.encode() not in got, (title, query)
                assert not TRACEBACK.search(got), (title, query)
                if above:
                    assert CLOSED.encode() in got, (title, query)
    for number in range(9):
        for title in ("Admin", "Review", "Explore", "Adjudicate"):
            labeler.states = {each: forged(each, number) for each in theirs[title]}
            got = labeler.run(page=boss.pages[address(title)]).raw
            assert SECRET.encode() not in got
            assert not TRACEBACK.search(got)
    after = rows(store)
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"audit", "audit_head", "preferences", "clocks"}, changed
    written = [row.action for row in after["audit"][len(before["audit"]) :]]
    assert set(written) <= {"preferences.save", "write"}, written


def test_who_is_not_signed_in_gets_nothing(store: Store, wire: Callable[..., ConsoleClient]) -> None:
    populate_roles(store)
    boss = wire("the admin")
    stranger = wire(None)
    before = rows(store)
    for title in PAGES:
        boss.run(page=boss.pages[address(title)], query="id=private")
        ids = widget_ids(boss)
        before = rows(store)
        stranger.states = {each: forged(each, number) for number, each in enumerate(ids)}
        got = stranger.run(page=boss.pages[address(title)], query="id=private").raw
        assert SECRET.encode() not in got
        assert b"Signed in as" not in got
        assert not TRACEBACK.search(got)
        assert rows(store) == before


def test_a_closed_account_is_put_out_at_its_next_click(
    store: Store, wire: Callable[..., ConsoleClient]
) -> None:
    populate_roles(store)
    reviewer = wire("the reviewer")
    assert SECRET.encode() in reviewer.run(page=reviewer.pages["dialogue"], query="id=private").raw
    accounts.set_status(store, "ada", "the reviewer", "suspended")
    got = reviewer.run(page=reviewer.pages["dialogue"], query="id=private").raw
    assert SECRET.encode() not in got
    assert b"You were signed out" in got


@pytest.mark.slow
def test_hostile_names_leave_no_traceback_and_ask_no_other_host(
    store: Store, browser: Any, server: Any, settle: Callable[[Any], None]
) -> None:
    populate_roles(store)
    hostile = (
        "<img src=https://evil.example/x onerror=alert(1)> **b** [l](https://evil.example) {{7*7}} $x$ \u202e"
    )
    turns = (Turn(index=0, role="customer", text=hostile * 50), Turn(index=1, role="agent", text=hostile))
    dialogues.add(
        store, "lea", [Dialogue(id=hostile, turns=turns, agent=hostile, team=hostile, channel=hostile)]
    )
    accounts.create(
        store, "ada", Account(id=hostile[:190].replace("\u202e", ""), role="labeler", skills=("<b>",))
    )
    projects.create(
        store, "lea", Project(id="<script>alert(1)</script>", codes=("C1",), instructions=hostile)
    )
    tasks.add(store, "lea", "<script>alert(1)</script>", [NewTask(dialogue=hostile)])
    page = browser.new_page()
    page.set_default_timeout(WAIT_MS)
    asked: list[str] = []
    own = f"http://127.0.0.1:{server.port}/"
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    page.goto(own)
    page.get_by_label("Name").fill("the admin")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Signed in as the admin").wait_for(state="attached", timeout=WAIT_MS)
    views = {  # beside the first one
        "Projects": "projects", "Budgets": "budgets", "Gold": "gold",
        "Retention": "retention", "Audit log": "audit", "Single sign-on": "sign-in",
    }  # fmt: skip

    def look(at: str) -> None:
        page.get_by_text("Signed in as the admin").wait_for(state="attached", timeout=WAIT_MS)
        settle(page)
        assert not TRACEBACK.search(page.content().encode()), at
        assert page.locator(".stException").count() == 0, at

    for title in PAGES:
        link = page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True)
        if link.count():
            link.click()
            page.wait_for_url(f"**/{address(title)}*")
        else:  # it is hidden, or for others
            page.goto(f"{own}{address(title)}")
        look(title)
        for name, tab in views.items() if title == "Admin" else ():
            page.get_by_role("radio", name=name, exact=True).click()
            page.wait_for_url(f"**/admin?tab={tab}")
            look(name)
    foreign = [url for url in asked if not url.startswith((own, "data:", "blob:"))]
    assert foreign == []
    page.close()


def test_no_page_tells_of_errors() -> None:
    """Streamlit shows a reader no detail of an error, whatever raised it."""
    from dialint.app.console.launch import SETTINGS

    assert SETTINGS["client.showErrorDetails"] == "none"
    source = (Path(dialint.app.console.__file__).parent / "main.py").read_text()
    assert "st.exception" not in source
