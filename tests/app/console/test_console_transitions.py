"""Whatever happens to a session, against everything that the console serves: what it may do afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from console_client import address_of
from console_records import PASSWORD
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from dialint.app.console import asgi, oidc
from dialint.app.console import sessions as access
from dialint.app.console.launch import STATIC_PATH
from dialint.app.console.middleware import (
    BROWSER_COOKIE,
    SESSION_COOKIE,
    SESSION_PATH,
    SecurityMiddleware,
    hash_secret,
)
from dialint.app.console.pages import load_pages
from dialint.app.console.sessions import SESSIONS, Session
from dialint.app.console.system import score_results as downloads
from dialint.labeling.store import accounts, authentication
from dialint.labeling.store.authentication import Identity
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

PAGES = {page.title: page for page in load_pages().values()}

HOST = "http://127.0.0.1"
WHO, OTHER = (Identity(issuer="https://id.example", subject=subject) for subject in ("1", "2"))
UPLOAD = "/_stcore/upload_file/0b0e7a3c-8d0f-4c6e-9f5e-2b1f0a9c8d7e/1b0e7a3c-8d0f-4c6e-9f5e-2b1f0a9c8d7e"
FOR_LEADS = {"/download/score/{job}/{name}": "/download/score/0123456789abcdef/verdicts.csv"}
"""An address of each route that serves files, all to leads only."""
FOR_EVERYBODY = {"/", STATIC_PATH, SESSION_PATH, *oidc.PATHS} | {
    f"/{address_of(title)}" for title in ("Home", "Sign in", *PAGES)
}
"""The first HTML, which is the same for all, assets, and the ways in."""


def list_routes() -> list[Any]:
    provider = oidc.OidcConfig(issuer="https://id.example", client_id="c", secret_env="PATH")
    return [*asgi.app._user_routes, *oidc.make_routes(provider, "")]


def test_each_route_has_a_row() -> None:
    assert {route.path for route in list_routes()} == set(FOR_LEADS) | FOR_EVERYBODY
    for route in list_routes():
        methods = getattr(route, "methods", None) or {"GET"}  # a mount of assets has none
        assert methods <= ({"POST"} if route.path == SESSION_PATH else {"GET", "HEAD"})


@dataclass
class Scene:
    """A lead who is signed in by a password or an identity, in a browser that has a page open."""

    store: Store
    open_page: Callable[..., Any]
    browser: Any
    http: TestClient
    name: str
    proof: Identity | str

    def begin(self, name: str, proof: Identity | str) -> None:
        """Sign in, as the sign-in page does it with the page's script."""
        key = hash_secret(self.http.cookies[BROWSER_COOKIE])
        ticket = SESSIONS.offer(Session(name, proof), key)
        assert self.http.post(SESSION_PATH, content=ticket, headers={"origin": HOST}).status_code == 204
        self.browser.session = hash_secret(self.http.cookies[SESSION_COOKIE])

    def notice(self) -> None:
        """Let the session be asked for."""
        assert self.http.get(FOR_LEADS["/download/score/{job}/{name}"]).status_code == 404

    def uploads(self) -> bool:
        return self.http.put(UPLOAD, headers={"origin": HOST}).status_code == 204

    def downloads(self) -> bool:
        statuses = {address: self.http.get(address).status_code for address in FOR_LEADS.values()}
        assert set(statuses.values()) in ({200}, {404}), statuses
        return 200 in statuses.values()

    def shows(self, title: str) -> bool:
        page = self.open_page(at=title)
        return "Sign in" not in page.labels and "This page is not open to your role." not in page.words


@pytest.fixture
def scene(
    request: pytest.FixtureRequest,
    place: str,
    store: Store,
    open_page: Callable[..., Any],
    one_browser: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Scene]:
    file = tmp_path / "file.csv"
    file.write_text("a,b\n")
    record = SimpleNamespace(name="log.jsonl")
    monkeypatch.setattr(downloads, "load_job", lambda job: SimpleNamespace(id=job, record=record))
    monkeypatch.setattr(downloads, "record_job", lambda *_, **__: None)
    monkeypatch.setattr(downloads, "make_file", lambda *_: file)
    accounts.create(store, "ada", Account(id="pat", role="lead"))
    authentication.link(store, "ada", WHO, "pat")
    streamlit = Route(UPLOAD, lambda request: Response(status_code=204), methods=["PUT"])
    app = SecurityMiddleware(Starlette(routes=[*list_routes(), streamlit]), may_upload=access.may_upload)
    http = TestClient(app, base_url=HOST)
    http.get("/")
    by_identity = request.param == "identity"
    name = "pat" if by_identity else "lea"
    proof = WHO if by_identity else authentication.sign_in(store, "lea", PASSWORD).password_hash
    made = Scene(store, open_page, one_browser, http, name, proof)
    made.begin(name, proof)
    yield made
    SESSIONS.end_all(name)


def sign_out(scene: Scene) -> None:
    old = dict(scene.http.cookies)
    scene.open_page(at="Review").press("Sign out")
    assert scene.http.post(SESSION_PATH, headers={"origin": HOST}).status_code == 204
    assert SESSION_COOKIE not in scene.http.cookies
    scene.http.cookies.update(old)
    scene.browser.session = hash_secret(old[SESSION_COOKIE])


def sign_in(name: str) -> Callable[[Scene], None]:
    """Sign in anew in the same browser; afterwards the cookies of before are tried."""

    def act(scene: Scene) -> None:
        old, key = dict(scene.http.cookies), scene.browser.session
        proof = (
            scene.proof
            if name == "same"
            else authentication.sign_in(scene.store, name, PASSWORD).password_hash
        )
        scene.begin(scene.name if name == "same" else name, proof)
        assert not {*old.values()} & {*scene.http.cookies.values()}
        scene.http.cookies.update(old)
        scene.browser.session = key

    return act


def change(operation: Callable[..., Any], *values: Any) -> Callable[[Scene], None]:
    """Return an administrator's change of the account."""
    return lambda scene: operation(scene.store, "ada", scene.name, *values)


def unlink(scene: Scene) -> None:
    authentication.link(scene.store, "ada", OTHER, scene.name)  # another identity of the account is no help
    authentication.unlink(scene.store, "ada", WHO)


def unlink_and_link_again(scene: Scene) -> None:
    unlink(scene)
    scene.notice()
    authentication.link(scene.store, "ada", WHO, "pat")


def move_the_identity(scene: Scene) -> None:
    authentication.unlink(scene.store, "ada", WHO)
    authentication.link(scene.store, "ada", WHO, "lea")


def suspend_for_a_while(scene: Scene) -> None:
    accounts.set_status(scene.store, "ada", scene.name, "suspended")
    scene.notice()
    accounts.set_status(scene.store, "ada", scene.name, "active")


def expire(scene: Scene) -> None:
    session = SESSIONS.find(scene.browser.session)
    assert session is not None
    session.used_s -= SESSIONS.idle_s + 1


ALL = {"Overview", "Review", "click", "download", "upload"}
NONE: set[str] = set()
REVIEWER = {"Review", "click"}
ROWS: list[tuple[Callable[[Scene], None], str, set[str]]] = [
    (lambda scene: None, "password", ALL), (unlink, "password", ALL),
    (lambda scene: authentication.link(scene.store, "ada", OTHER, scene.name), "identity", ALL),
    (change(accounts.change, "admin", None), "password", ALL),
    (change(accounts.change, "reviewer", None), "password", REVIEWER),
    (change(accounts.change, "labeler", None), "password", {"open"}),
    (change(accounts.set_status, "training"), "password", {"open"}),
    (change(accounts.set_status, "suspended"), "identity", NONE), (suspend_for_a_while, "password", NONE),
    (change(accounts.ban, "a reason"), "password", NONE),
    (change(accounts.set_password, "given once and for all"), "identity", ALL),
    (change(accounts.set_password, "given once and for all"), "password", NONE),
    # as a command or another console does it, which knows none of these sessions
    (lambda scene: authentication.choose_password(scene.store, "lea", PASSWORD, "another long one"), "password", NONE),
    (sign_out, "password", NONE), (sign_in("same"), "identity", NONE), (sign_in("rob"), "password", NONE),
    (expire, "password", NONE), (unlink_and_link_again, "identity", NONE), (move_the_identity, "identity", NONE),
]  # fmt: skip
"""An event, how the session was begun, and the rights left: `open` is a session without any of the rest."""


@pytest.mark.parametrize(("act", "scene", "left"), ROWS, indirect=["scene"])
def test_what_a_session_may_do_afterwards(
    act: Callable[[Scene], None], scene: Scene, left: set[str], saved: Callable[[], list[Any]]
) -> None:
    page = scene.open_page(at="Review").start().decide("kept", "rejected")
    assert scene.downloads()
    assert scene.uploads()
    act(scene)
    page.act("save")
    may = {
        "click": len(saved()) == 1, "download": scene.downloads(), "upload": scene.uploads(),
        **{title: scene.shows(title) for title in ("Overview", "Review")},
    }  # fmt: skip
    assert {name for name, is_open in may.items() if is_open} == left - {"open"}
    if not left:
        assert page.labels == ["Sign in"]
        assert SESSIONS.find(scene.browser.session) is None
        if act is sign_out:
            assert not [title for title in PAGES if scene.shows(title)]


@pytest.mark.parametrize("scene", ["password"], indirect=True)
def test_cookies_that_the_server_did_not_make_for_this_session_open_nothing(scene: Scene) -> None:
    own, browser = (scene.http.cookies[name] for name in (SESSION_COOKIE, BROWSER_COOKIE))
    planted = "a" * 43
    forged = {"x-dialint-session": hash_secret(own), "x-dialint-browser": hash_secret(browser)}
    assert scene.downloads()
    for cookies in (
        "", f"{BROWSER_COOKIE}={browser}", f"{SESSION_COOKIE}={planted}", f"{SESSION_COOKIE}={browser}",
        f"{SESSION_COOKIE}={hash_secret(own)}", f"{SESSION_COOKIE}={own[:-1]}", f"{SESSION_COOKIE}={own}x",
        f"{BROWSER_COOKIE}={own}", f"__Host-{SESSION_COOKIE}={own}",
        f"{SESSION_COOKIE}={planted}; {SESSION_COOKIE}={own}", f'{SESSION_COOKIE}="{own}"',
    ):  # fmt: skip
        stranger = TestClient(scene.http.app, base_url=HOST, headers={**forged, "cookie": cookies})
        statuses = {stranger.get(address).status_code for address in FOR_LEADS.values()}
        assert statuses == {404}, cookies
        assert stranger.put(UPLOAD, headers={"origin": HOST}).status_code == 404, cookies
    for session in ("", planted, own, browser, hash_secret(browser)):
        scene.browser.session = session
        assert not scene.shows("Overview")


@pytest.mark.parametrize("scene", ["password"], indirect=True)
def test_a_ticket_begins_nothing_in_another_browser_or_from_another_page(scene: Scene) -> None:
    victim = TestClient(scene.http.app, base_url=HOST)
    victim.get("/")
    ticket = SESSIONS.offer(Session(scene.name, scene.proof), hash_secret(scene.http.cookies[BROWSER_COOKIE]))
    for client, headers, status in (
        (victim, {"origin": HOST}, 403), (scene.http, {"origin": "https://evil.example"}, 403),
        (scene.http, {"origin": HOST}, 204), (scene.http, {"origin": HOST}, 403),
    ):  # fmt: skip
        assert client.post(SESSION_PATH, content=ticket, headers=headers).status_code == status
    assert SESSION_COOKIE not in victim.cookies
    assert victim.post(SESSION_PATH, content="x" * 10_000, headers={"origin": HOST}).status_code == 413
    assert scene.downloads(), "what was refused ends no session"
