"""A small store with work for both pages, and pages driven by Streamlit's AppTest."""

import json
import secrets
import socket
import sqlite3
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from console_client import ConsoleClient, address_of, find_browser
from console_records import ONE_TIME, PASSWORD, add_account, make_dialogue, make_finding, make_verdict
from patience import WAIT_MS, WAIT_S, wait_for
from playwright.sync_api import sync_playwright
from streamlit.components.v2 import manifest_scanner
from streamlit.components.v2.manifest_scanner import scan_component_manifests
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test
from streamlit.util import calc_hash

import dialint.app.console.main
import dialint.app.console.sign_in
from dialint.app.console.launch import server_command, server_environment
from dialint.app.console.middleware import hash_secret
from dialint.app.console.sessions import SESSIONS, Client, LoginRateLimiter, Session
from dialint.app.console.tasks.page_session import receive
from dialint.app.scoring import background as job
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store import accounts, authentication, dialogues, projects, tasks
from dialint.labeling.store.database.schema import annotation_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.permissions import find_account_row
from dialint.labeling.store.records import AccountRole, NewTask, Project

SCRIPT = dialint.app.console.main.__file__
PEOPLE: dict[str, AccountRole] = {
    "ann": "labeler",
    "ben": "labeler",
    "rob": "reviewer",
    "ria": "reviewer",
    "lea": "lead",
}
HOSTILE = (
    "😀 <img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script> "
    "**bold** [link](javascript:alert(1)) \x1b[31mred\x1b[0m \u202eabc\u202c end"
)
"""Markup, Markdown, an ANSI escape and right-to-left marks, after a letter of two UTF-16 units."""


def populate(place: str) -> None:
    """`d1` has one finding and the lower priority; `d2` two. `d3` and `hostile` are to be labeled blind."""
    upgrade(place)
    with Store.open(place) as store:
        accounts.create_first(store, "ada", ONE_TIME)
        authentication.choose_password(store, "ada", ONE_TIME, PASSWORD)
        for name, role in PEOPLE.items():
            add_account(store, name, role)
        texts = ("Where is my parcel?", "Anything else?", "My parcel!")
        last = {"hostile": HOSTILE}
        names = ("d1", "d2", "d3", "hostile", "d5")
        dialogues.add(
            store,
            "lea",
            [make_dialogue(name, *texts, last.get(name, "We will look into it.")) for name in names],
        )
        scores = {1: {"C1": 0.91, "T1": 0.004}, 3: {"C1": 0.03, "T1": 0.998}}
        findings = {
            "d1": [make_finding()], "d2": [make_finding(), make_finding("T1", 3, "We will", 0.998)],
            "d3": [make_finding()], "hostile": [make_finding("C1", 3, HOSTILE[:5])],
        }  # fmt: skip
        verdicts = [make_verdict(name, *each, probabilities=scores) for name, each in findings.items()]
        dialogues.add_verdicts(store, "lea", verdicts)
        review = Project(id="to review", codes=("C1", "T1", "C2"), purpose="review", prelabelled=True)
        projects.create(store, "lea", review)
        ranked = {"d1": 1.0, "d2": 2.0, "hostile": 0.5}
        new = [NewTask(dialogue=name, priority=priority) for name, priority in ranked.items()]
        tasks.add(store, "lea", "to review", new)
        blind = Project(id="to label", codes=("C1", "T1"), instructions="Read it all first.", overlap=2)
        projects.create(store, "lea", blind)
        tasks.add(store, "lea", "to label", [NewTask(dialogue=name) for name in ("d3", "hostile", "d5")])


@pytest.fixture(scope="session", autouse=True)
def quick_app_tests() -> Iterator[None]:
    """Each `AppTest` lists the components of all installed packages, and each of its runs compiles the page's
    script, with magic, which the server has off: once is enough. Jobs do not give way to the other tests."""
    script_cache = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(scan_component_manifests))
        patch.setattr(app_test, "ScriptCache", lambda: script_cache)
        patch.setattr(job, "NICE", ())
        st.config.set_option("runner.magicEnabled", False)
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("console") / "store.sqlite"
    populate(str(path))
    return path


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store: SQLite, unless a test is parametrized with ``postgresql``. Tests in a browser share one server
    and its store, which is made as the template is; with `own_server` they have one that they may kill."""
    if getattr(request, "param", "sqlite") == "postgresql":
        url = str(request.getfixturevalue("postgres").new())
        populate(url)
        return url
    template = request.getfixturevalue("template")
    path = tmp_path / "store.sqlite"
    if "server" in request.fixturenames and "own_server" not in request.fixturenames:
        path = Path(request.getfixturevalue("shared_server").place)
        with closing(sqlite3.connect(template)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
    else:
        path.write_bytes(template.read_bytes())
    return str(path)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store.open(place) as store:
        yield store


@dataclass
class Page:
    """A page as a person uses it."""

    test: AppTest

    def press(self, label: str, nth: int = 0) -> "Page":
        """Click the button of that label; the `nth` where there are several."""
        [each for each in self.test.button if each.label == label][nth].click()
        return self.run()

    def run(self) -> "Page":
        """Run the page's script, as a change of a field does it."""
        self.test.run()
        assert not self.test.exception, self.test.exception
        return self

    def go(self, title: str) -> "Page":
        """Choose a page in the navigation."""
        pages = self.test._registered_pages.items()
        self.test._page_hash = next(key for key, info in pages if info["page_name"] == title)
        return self.run()

    def fill(self, **values: str) -> "Page":
        """Type into the fields of a form, or choose in its boxes."""
        for label, value in values.items():
            fields = [*self.test.text_input, *self.test.selectbox]
            next(each for each in fields if each.label == label.replace("_", " ")).set_value(value)
        return self

    def choose(self, label: str, value: Any, nth: int = 0) -> "Page":
        [each for each in self.test.selectbox if each.label == label][nth].set_value(value)
        return self.run()

    def enabled(self, label: str) -> bool:
        return not next(each for each in self.test.button if each.label == label).disabled

    def start(self) -> "Page":
        """Claim the first task of the queue: looking at the page takes none."""
        return self.press(next(label for label in self.labels if label.startswith("Start ")))

    def send(self, name: str, *events: dict[str, Any], tab: str = "tab") -> "Page":
        """Send events of the workspace in the browser, and run the page."""
        session = self.session(name)
        last = session.answer.applied.get(tab, 0)
        numbered = [{"seq": last + n, **event} for n, event in enumerate(events, 1)]
        receive(session, {"tab": tab, "draft": session.answer.key, "events": numbered})
        return self.run()

    def act(self, kind: str, name: str = "review", **more: Any) -> "Page":
        return self.send(name, {"kind": kind, **more})

    def decide(self, *states: str, **changed: Any) -> "Page":
        """Decide the findings of a review in their order; `changed` has another code, severity or reason."""
        events = []
        for choice, state in zip(self.session("review").answer.choices, states, strict=False):
            now = {"id": choice.id, "code": choice.finding.code, "severity": choice.finding.severity}
            if state:
                events.append({"kind": "set", "state": state, **now, **changed})
        return self.send("review", *events)

    def add(self, name: str, turn: int, code: str, start: int = 0, end: int | None = None) -> "Page":
        """Add a finding: by default the whole turn, with the usual severity."""
        session = self.session(name)
        text = next(each.text for each in session.item.dialogue.turns if each.index == turn)
        place = {"turn": turn, "start": start, "end": len(text) if end is None else end}
        severity = load_taxonomy().codes[code].severity
        number = len(session.answer.choices)
        return self.send(
            name, {"kind": "add", "id": f"own-{number}", "code": code, "severity": severity, **place}
        )

    def say(self, code: str, present: bool | None) -> "Page":
        """Answer a labeler's question."""
        return self.send("label", {"kind": "say", "code": code, "present": present})

    def workspace(self) -> dict[str, Any]:
        """Return the data of the browser's workspace: the book, and the state over it."""
        visible: dict[str, Any] = {}
        for each in self.test.get("bidi_component"):
            data = json.loads(each.proto.json)
            visible |= data["book"] if "book" in data and "name" in data else data
        return visible

    @property
    def labels(self) -> list[str]:
        return [each.label for each in self.test.button]

    @property
    def text(self) -> str:
        """The words, without the escapes of Markdown."""
        return self.words.replace("\\", "").replace("\u2060", "")

    @property
    def words(self) -> str:
        """All words on the page but for the dialogue itself."""
        kinds = (
            "markdown", "caption", "text", "info", "success", "warning", "error", "title", "subheader", "code",
        )  # fmt: skip
        lines = [str(each.value) for kind in kinds for each in self.test.get(kind)]
        visible = self.workspace()
        lines += [visible.get(name, "") for name in ("title", "origin", "summary", "own")]
        lines += [text for _, text in visible.get("notices", ())]
        lines.append(visible.get("fixed", {}).get("instructions", ""))
        for choice in visible.get("choices", ()):
            lines += [str(choice.get(name, "")) for name in ("quote", "reason", "source", "p_text")]
        lines += [code["test"] for code in visible.get("codes", ()) if visible["mode"] == "label"]
        return "\n".join(lines)

    def session(self, name: str) -> Any:
        return self.test.session_state[f"page_session:{name}"]


@pytest.fixture
def open_page(
    place: str, browser_of: Callable[[Any], "Browser"], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Page]:
    """Opens the console as a new page of a browser, at the address of a page (`at`, with `query`): signed in as
    `name`, or with a `password`, by the sign-in page."""
    monkeypatch.setenv("DIALINT_STORE", place)

    def opened(
        name: str | None = None, password: str | None = None, at: str | None = None, **query: str
    ) -> Page:
        page = Page(AppTest.from_file(SCRIPT, default_timeout=WAIT_S))
        for key, value in query.items():
            page.test.query_params[key] = value
        if at is not None:
            page.test._page_hash = calc_hash(address_of(at))
        if name is not None and password is None:
            with Store.open(place) as store:
                row = store.read(lambda transaction: find_account_row(transaction, name))
            assert row is not None
            secret = SESSIONS.begin(Session(name, row.password_hash))
            browser_of(page.test._session_state._state).session = hash_secret(secret)
        page.run()
        return page if password is None else page.fill(Name=name, Password=password).press("Sign in")

    return opened


@pytest.fixture
def saved(store: Store) -> Callable[[], list[dict[str, Any]]]:
    """All annotations, oldest first; `marks` are the findings as (turn, code, severity, start, end)."""

    def read() -> list[dict[str, Any]]:
        newest_last = annotation_rows.select().order_by(annotation_rows.c.id)
        rows = store.read(lambda transaction: list(transaction.run(newest_last).mappings()))
        return [{**row, "marks": [_value(each) for each in json.loads(row["findings"])]} for row in rows]

    return read


def _value(finding: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(finding[name] for name in ("turn", "code", "severity", "start", "end"))


@pytest.fixture(scope="module")  # while it lives its thread has a running event loop, which AppTest refuses
def browser() -> Iterator[Any]:
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    """One context for all tests of a module, which loads Streamlit's page once."""
    with browser.new_context() as context:
        context.set_default_timeout(WAIT_MS)
        yield context


@dataclass
class Server:
    """A console on a store, to be killed and started again on the same port."""

    place: str
    port: int
    process: subprocess.Popen[bytes] | None = None
    oidc: Path | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            server_command(self.port, "127.0.0.1"), env=server_environment(self.place, 1800.0, oidc=self.oidc),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(self.is_healthy, "the server did not start")

    def is_healthy(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/health"):
            return True
        return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def shared_server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("server") / "store.sqlite"
    path.write_bytes(template.read_bytes())
    server = Server(str(path), _free_port())
    server.start()
    yield server
    server.kill()


@pytest.fixture
def own_server() -> None:
    """The test gets a server and a store that no other test has."""


@pytest.fixture
def server(request: pytest.FixtureRequest, place: str) -> Iterator[Server]:
    if "own_server" not in request.fixturenames:
        yield request.getfixturevalue("shared_server")
        return
    with_provider = "config_file" in request.fixturenames
    server = Server(
        place, _free_port(), oidc=request.getfixturevalue("config_file") if with_provider else None
    )
    server.start()
    yield server
    server.kill()


@pytest.fixture
def wire(server: Server) -> Iterator[Callable[[str | None], ConsoleClient]]:
    """Connects to the server as a page of a browser does it, signed in as somebody or as nobody."""
    with ExitStack() as clients:

        def connected(name: str | None) -> ConsoleClient:
            client = clients.enter_context(closing(ConsoleClient(server.port)))
            if name is not None:
                client.sign_in(name, PASSWORD)
            return client

        yield connected


def _sign_in(page: Any, port: int, name: str, address: str = "") -> None:
    client = ConsoleClient(port)
    client.sign_in(name, PASSWORD)
    client.close()
    url = f"http://127.0.0.1:{port}/"
    page.context.clear_cookies()
    page.context.add_cookies([{"name": key, "value": of, "url": url} for key, of in client.cookies.items()])
    page.goto(f"{url}{address}")
    page.get_by_text("Signed in as").first.wait_for(state="attached", timeout=WAIT_MS)
    _settle(page)


@pytest.fixture(scope="session")
def signed_in() -> Callable[..., None]:
    """Signs in by the protocol of the page, and opens an address of the console in a page of a real browser."""
    return _sign_in


def _settle(page: Any) -> None:
    at_rest = page.locator('[data-test-script-state="notRunning"]')
    n_calm = 0
    while n_calm < 3:
        at_rest.first.wait_for(state="attached", timeout=WAIT_MS)
        page.wait_for_timeout(100)
        n_calm = n_calm + 1 if at_rest.count() else 0


@pytest.fixture(scope="session")
def settle() -> Callable[[Any], None]:
    """Waits until the script of a page has run, and .3 s more: what was clicked last takes a moment to start
    it, and a click while it draws may be lost."""
    return _settle


@pytest.fixture
def page_of(context: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """Opens a page, signed in as somebody, at an address of the console. At the end no page has logged an error."""
    pages, errors = [], []

    def opened(name: str, address: str = "", width: int = 1280, height: int = 800) -> Any:
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("console", lambda each: errors.append(each.text) if each.type == "error" else None)
        page.on("pageerror", lambda each: errors.append(str(each)))
        _sign_in(page, server.port, name, address)
        return page

    yield opened
    for page in pages:
        page.close()
    lost = ("WebSocket", "ERR_CONNECTION", "disconnected")  # of a connection that a test has cut
    assert [each for each in errors if not any(word in each for word in lost)] == []


@dataclass
class Browser:
    """The hashes of a browser's two cookies."""

    browser: str = field(default_factory=lambda: secrets.token_hex(32))
    session: str = ""

    def client(self) -> Client:
        return Client("local", self.browser, self.session)

    def exchange(self, ticket: str) -> None:
        """As the page's script and the route do it, and the page that loads again."""
        SESSIONS.end(self.session)
        session = SESSIONS.redeem(ticket, self.browser)
        self.session = hash_secret(SESSIONS.begin(session)) if session else ""
        st.session_state.clear()
        st.rerun()


@pytest.fixture
def one_browser(browser_of: Callable[[Any], Browser], monkeypatch: pytest.MonkeyPatch) -> Browser:
    """The browser that all pages of a test are tabs of; they sign in by the sign-in page."""
    browser = Browser()
    put_before(monkeypatch, lambda: browser)
    return browser


@pytest.fixture(autouse=True)
def browser_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Browser]:
    """The browser of a page by the page's session state, as AppTest has no connection that says who is there:
    each page of a test is in one of its own. Tries at passwords in one test do not count in the next."""
    monkeypatch.setattr(dialint.app.console.sign_in, "RATE_LIMITER", LoginRateLimiter())
    browsers: dict[int, tuple[Any, Browser]] = {}

    def find(state: Any) -> Browser:
        return browsers.setdefault(id(state), (state, Browser()))[1]

    def of_this_page() -> Browser:
        context = get_script_run_ctx()
        assert context is not None
        return find(context.session_state._state)

    put_before(monkeypatch, of_this_page)
    return find


def put_before(monkeypatch: pytest.MonkeyPatch, find: Callable[[], Browser]) -> None:
    """Let the pages of a test be in the browser that `find` returns."""
    monkeypatch.setattr(dialint.app.console.sign_in, "current_client", lambda: find().client())
    monkeypatch.setattr(
        dialint.app.console.sign_in, "exchange_ticket", lambda ticket: find().exchange(ticket)
    )
