"""Nobody gets in: tries at passwords, what the network reaches, and sessions that are somebody else's."""

import asyncio
import http.client
import re
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import argon2
import pytest
from console_client import ConsoleClient, join_cookies, take_cookies
from console_records import PASSWORD
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dialint.app.console.asgi import STREAMLIT_INDEX, index_routes, make_index
from dialint.app.console.middleware import (
    BROWSER,
    BROWSER_COOKIE,
    HEADERS,
    SESSION,
    SESSION_COOKIE,
    SESSION_PATH,
    SecurityMiddleware,
    hash_secret,
)
from dialint.app.console.sessions import (
    FORGET_S,
    FREE_TRIES,
    MAX_WAIT_S,
    SOURCE_REFILL_S,
    SOURCE_TRIES,
    TICKET_S,
    WAIT_S,
    Client,
    LoginRateLimiter,
    Session,
    Sessions,
)
from dialint.labeling.store import authentication
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NotAllowed

OWNER, STRANGER = Client("192.0.2.1", "owner's"), Client("198.51.100.7", "stranger's")
VALUE, SECRET = "a" * 43, "s" * 43
OWN = f"{BROWSER_COOKIE}={VALUE}"


@pytest.fixture
def now() -> list[float]:
    return [1000.0]


@pytest.fixture
def tries(now: list[float]) -> LoginRateLimiter:
    return LoginRateLimiter(now_s=lambda: now[0])


def test_waits_grow_and_end_with_the_right_password(tries: LoginRateLimiter, now: list[float]) -> None:
    for _ in range(FREE_TRIES):
        assert tries.admit("ann", OWNER) == 0
    for doubled in (1, 2, 4):
        assert tries.admit("ann", OWNER) == WAIT_S * doubled
        now[0] += WAIT_S * doubled
        assert tries.admit("ann", OWNER) == 0
    for _ in range(20):
        now[0] += MAX_WAIT_S
        assert tries.admit("ann", OWNER) == 0, "no wait is longer"
    tries.record_success("ann", OWNER)
    assert [tries.admit("ann", OWNER) for _ in range(FREE_TRIES)] == [0] * FREE_TRIES
    now[0] += FORGET_S + 1
    assert [tries.admit("ann", OWNER) for _ in range(FREE_TRIES)] == [0] * FREE_TRIES


def test_strangers_lock_nobody_out(tries: LoginRateLimiter, now: list[float]) -> None:
    for _ in range(FREE_TRIES):
        tries.admit("ann", STRANGER)
    assert tries.admit("ann", STRANGER) > 0
    assert tries.admit("ann", Client(STRANGER.address, "another cookie")) > 0, "a new cookie is no way out"
    assert tries.admit("ann", OWNER) == 0
    tries.record_success("ann", OWNER)
    tries.trust("ann", "the browser before", OWNER.browser)
    beside = Client(STRANGER.address, OWNER.browser)
    assert tries.admit("ann", beside) == 0, "a browser that has signed in before, at the stranger's address"
    for _ in range(FREE_TRIES - 1):
        tries.admit("ann", beside)
    assert tries.admit("ann", beside) == WAIT_S, "whoever stole that cookie has few tries, too"
    assert tries.admit("ben", Client(STRANGER.address, OWNER.browser)) == 0, "it is known for its account"
    tries.trust("ben", OWNER.browser, "its next cookie")
    new = Client(STRANGER.address, "its next cookie")
    assert tries.admit("ann", beside) > 0, "the cookie of before is nobody's"
    assert tries._key("ann", new)[1], "whoever signed in here before is still known"
    assert tries._key("ben", new)[1]


def test_a_source_has_only_so_many_tries_whatever_the_names(
    tries: LoginRateLimiter, now: list[float]
) -> None:
    assert all(tries.admit(f"name{n}", STRANGER) == 0 for n in range(SOURCE_TRIES))
    assert tries.admit("one more", STRANGER) == SOURCE_REFILL_S
    assert tries.admit("one more", OWNER) == 0
    now[0] += SOURCE_REFILL_S
    assert tries.admit("one more", STRANGER) == 0
    assert tries.admit("yet one", STRANGER) > 0
    office = Client("203.0.113.1", "")
    for n in range(3 * SOURCE_TRIES):  # a morning behind one address: whoever gets in uses up nothing
        assert tries.admit(f"person{n}", office) == 0
        tries.record_success(f"person{n}", office)


def test_a_try_that_was_not_made_does_not_count(tries: LoginRateLimiter) -> None:
    for _ in range(3 * SOURCE_TRIES):
        assert tries.admit("ann", OWNER) == 0
        tries.cancel("ann", OWNER)


def test_one_persons_addresses_are_one_source() -> None:
    sources = {
        "192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "local": "local",
    }  # fmt: skip
    assert {address: Client(address, "").source for address in sources} == sources


def test_memory_is_bounded(tries: LoginRateLimiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.app.console.sessions.MAX_ENTRIES", 50)
    for n in range(500):
        client = Client(f"10.0.{n // 250}.{n % 250}", f"browser{n}")
        tries.admit(f"name{n}", client)
        tries.record_success(f"other{n}", client)
        tries.trust(f"other{n}", "", client.browser)
    assert [len(each) for each in (tries._tries, tries._sources, tries._trusted)] == [50, 50, 50]


class CountingHasher(argon2.PasswordHasher):
    """Counts what is hashed, and how much of it at once."""

    lock = threading.Lock()
    total = running = most = 0

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8192)

    def verify(self, hash: str | bytes, password: str | bytes) -> Any:
        counts = CountingHasher
        with self.lock:
            counts.total, counts.running = counts.total + 1, counts.running + 1
            counts.most = max(counts.most, counts.running)
        try:
            return super().verify(hash, password)
        finally:
            with self.lock:
                counts.running -= 1


@pytest.fixture
def hasher(monkeypatch: pytest.MonkeyPatch) -> type[CountingHasher]:
    monkeypatch.setattr(argon2, "PasswordHasher", CountingHasher)
    monkeypatch.setattr(authentication, "HASH_WAIT_S", 600.0)
    CountingHasher.total = CountingHasher.most = 0
    return CountingHasher


@pytest.mark.parametrize(("name", "hashed"), [("rob", FREE_TRIES), ("nobody{}", 24)])
def test_a_flood_of_wrong_passwords(
    store: Store, hasher: type[CountingHasher], name: str, hashed: int
) -> None:
    """24 threads at once, as the sign-in page does it."""
    tries, together = LoginRateLimiter(), threading.Barrier(24)

    def attempt(n: int) -> None:
        who = name.format(n)
        together.wait()
        if tries.admit(who, STRANGER) == 0:
            with pytest.raises(NotAllowed):
                authentication.sign_in(store, who, "wrong")

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(attempt, range(24)))
    assert hasher.total == hashed
    assert 1 <= hasher.most <= authentication.MAX_CONCURRENT_HASHES
    assert tries.admit("rob", OWNER) == 0


def test_an_unknown_name_costs_one_hash_as_others_do(store: Store, hasher: type[CountingHasher]) -> None:
    for total, name in enumerate(("nobody", "rob"), 1):
        with pytest.raises(NotAllowed):
            authentication.sign_in(store, name, "wrong")
        assert hasher.total == total
    plain = argon2.PasswordHasher()
    assert argon2.extract_parameters(authentication._random_hash(plain)) == argon2.extract_parameters(
        plain.hash("wrong")
    )


def test_a_server_at_its_hashing_limit_refuses(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "HASH_WAIT_S", 0.01)
    monkeypatch.setattr(authentication, "_HASHING", threading.BoundedSemaphore(1))
    with authentication._limit_concurrency(), pytest.raises(Exception, match="E_BUSY"):
        authentication.sign_in(store, "rob", PASSWORD)
    assert authentication.sign_in(store, "rob", PASSWORD).account.id == "rob"


def test_sessions_end_by_themselves_and_by_hand() -> None:
    now = [0.0]
    sessions = Sessions(idle_s=100.0, now_s=lambda: now[0])
    one, two, three = (sessions.begin(Session(name, "hash")) for name in ("ann", "ann", "ben"))
    assert one != two
    keys = [hash_secret(each) for each in (one, two, three)]
    assert [sessions.find(each) for each in (one, "", "x")] == [None] * 3, "the secret itself is no key"
    now[0] = 90.0
    sessions.use(keys[0])
    assert sessions.find(keys[1]), "asking is no use of it"
    now[0] = 101.0
    assert [bool(sessions.find(each)) for each in keys] == [True, False, False]
    sessions.end(keys[0])
    assert sessions.find(keys[0]) is None
    ann, ben = (hash_secret(sessions.begin(Session(name, "hash"))) for name in ("ann", "ben"))
    ticket = sessions.offer(Session("ann", "hash"), "b")
    sessions.end_all("ann")
    assert [bool(sessions.find(each)) for each in (ann, ben)] == [False, True]
    assert sessions.redeem(ticket, "b") is None


def test_a_ticket_is_good_once_in_its_browser_and_for_a_minute() -> None:
    now = [0.0]
    sessions = Sessions(now_s=lambda: now[0])
    first, late = (sessions.offer(Session("ann", "hash"), "b") for _ in range(2))
    for ticket, browser in ((first, "c"), (first, ""), ("", "b"), (hash_secret(first), "b"), ("x" * 43, "b")):
        assert sessions.redeem(ticket, browser) is None
    assert sessions.redeem(first, "b") == Session("ann", "hash")
    assert sessions.redeem(first, "b") is None
    now[0] = TICKET_S + 1
    assert sessions.redeem(late, "b") is None


def ask(
    path: str = "/",
    method: str = "GET",
    kind: str = "http",
    hosts: tuple[str, ...] = (),
    may_upload: Any = None,
    scheme: str = "http",
    **headers: str,
) -> tuple[int, dict[str, list[str]], dict[str, list[str]] | None]:
    """Return status and headers of the middleware's answer, and the headers that reached Streamlit, if
    any."""
    reached: list[dict[str, list[str]]] = []
    sent: list[Any] = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        reached.append(_by_name(scope["headers"]))
        if kind == "http":
            page = [(b"content-type", b"text/html"), (b"X-Frame-Options", b"ALLOWALL")]
            await send({"type": "http.response.start", "status": 200, "headers": page})
        else:
            await send({"type": "websocket.accept"})

    async def receive() -> Any:
        return {"type": f"{kind}.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    sent_headers = {"host": "127.0.0.1:8501", **{name.replace("_", "-"): of for name, of in headers.items()}}
    raw = [(name.encode(), of.encode()) for name, of in sent_headers.items() if of]
    scope = {"type": kind, "path": path, "method": method, "scheme": scheme, "headers": raw}
    asyncio.run(SecurityMiddleware(behind, hosts, *filter(None, [may_upload]))(scope, receive, send))
    first = sent[0]
    status = first.get("status", 101 if first["type"] == "websocket.accept" else 403)
    return status, _by_name(first.get("headers", [])), reached[0] if reached else None


def _by_name(pairs: Any) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name.decode().lower(), []).append(value.decode())
    return values


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 200), ("/review", "HEAD", 200), ("/static/js/index.js", "GET", 200),
        ("/_stcore/health", "GET", 200), ("/_stcore/host-config", "GET", 200),
        ("/_stcore/metrics", "GET", 404), ("/_stcore", "GET", 404), ("/_stcore/agent/mcp", "POST", 404),
        ("//_stcore/metrics", "GET", 404), ("/media/x.png", "GET", 404), ("/component/x/y", "GET", 404),
        ("/auth/login", "GET", 404), ("/", "POST", 405), ("/x", "PUT", 405), ("/", "OPTIONS", 405),
    ],
)  # fmt: skip
def test_only_what_the_console_needs_is_reached(path: str, method: str, status: int) -> None:
    answered, headers, reached = ask(path, method)
    assert answered == status
    assert (reached is not None) is (status == 200)
    assert {name: headers[name] for name in HEADERS} == {name: [of] for name, of in HEADERS.items()}


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost:8501", True), ("[::1]:8501", True), ("console.test", True), ("CONSOLE.TEST:443", True),
        ("evil.test", False), ("", False), ("console.test.evil.test", False), ("127.0.0.1@evil.test", False),
        ("console.test/x", False), ("console.test:port", False),
    ],
)  # fmt: skip
def test_other_names_than_ours_are_refused(host: str, is_own: bool) -> None:
    assert ask(host=host, hosts=("console.test",))[0] == (200 if is_own else 421)
    assert ask("/_stcore/health", host=host)[0] == 200
    pair = {"host": host, "origin": f"http://{host}", "cookie": OWN}
    assert ask("/_stcore/stream", kind="websocket", hosts=("console.test",), **pair)[0] == (
        101 if is_own else 403
    )


@pytest.mark.parametrize(
    ("origin", "cookie", "status"),
    [
        ("http://127.0.0.1:8501", OWN, 101),
        ("https://console.test", OWN, 101),  # the proxy asks under another name
        ("http://127.0.0.1:9999", OWN, 403),  # another service on this machine
        ("http://evil.test", OWN, 403),
        ("null", OWN, 403),
        ("", OWN, 403),
        ("http://127.0.0.1:8501", "", 403),
        ("http://127.0.0.1:8501", f"{BROWSER_COOKIE}=short", 403),
    ],
)
def test_only_the_own_page_in_a_browser_connects(origin: str, cookie: str, status: int) -> None:
    assert ask("/_stcore/other", kind="websocket", origin=origin, cookie=cookie)[0] == 403
    answered, _, reached = ask(
        "/_stcore/stream", kind="websocket", hosts=("console.test",), origin=origin, cookie=cookie,
        x_dialint_browser="whoever I like", x_dialint_session="whatever I like",
    )  # fmt: skip
    assert answered == status
    if reached is not None:
        assert (reached[BROWSER], reached[SESSION]) == ([hash_secret(VALUE)], [""])


FILE = "/_stcore/upload_file/0b0e7a3c-8d0f-4c6e-9f5e-2b1f0a9c8d7e/1b0e7a3c-8d0f-4c6e-9f5e-2b1f0a9c8d7e"
OWN_PAGE = {"origin": "http://127.0.0.1:8501", "cookie": f"{OWN}; {SESSION_COOKIE}={SECRET}"}


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        (FILE, "PUT", {}, 200), (FILE, "DELETE", {}, 200), (FILE, "PUT", {"origin": "https://console.test"}, 200),
        *((FILE, "PUT", {"origin": origin}, 404) for origin in ("http://evil.test", "http://127.0.0.1:9999", "null", "")),
        *((FILE, "PUT", {"cookie": cookie}, 404) for cookie in (
            "", OWN, f"{SESSION_COOKIE}={VALUE}", f"{SESSION_COOKIE}={SECRET}; {SESSION_COOKIE}={SECRET}",
            f"__Host-{SESSION_COOKIE}={SECRET}",
        )),
        (FILE, "PUT", {"host": "evil.test", "origin": "http://evil.test"}, 421),
        (FILE, "POST", {}, 404), (FILE, "GET", {}, 404), (f"{FILE}/more", "PUT", {}, 404), (f"/{FILE}", "PUT", {}, 404),
        (FILE.replace("upload_file", "agent"), "PUT", {}, 404), ("/_stcore/upload_file/../metrics", "PUT", {}, 404),
        ("/download/score/x/y", "PUT", {}, 405),
        (SESSION_PATH, "POST", {}, 200), (SESSION_PATH, "POST", {"origin": "http://evil.test"}, 403),
        (SESSION_PATH, "POST", {"origin": ""}, 403), (SESSION_PATH, "PUT", {}, 405),
    ],
)  # fmt: skip
def test_only_a_leads_own_page_uploads(path: str, method: str, headers: dict[str, str], status: int) -> None:
    async def is_lead(session: str) -> bool:
        return session == hash_secret(SECRET)

    all_headers = {**OWN_PAGE, **headers}
    answered, _, reached = ask(path, method, hosts=("console.test",), may_upload=is_lead, **all_headers)  # type: ignore[arg-type]
    assert answered == status
    assert (reached is not None) is (status == 200)


@pytest.mark.parametrize(
    ("scheme", "name"), [("http", BROWSER_COOKIE), ("https", f"__Host-{BROWSER_COOKIE}")]
)
def test_each_browser_gets_a_cookie_and_keeps_it(scheme: str, name: str) -> None:
    (made,) = ask(scheme=scheme)[1]["set-cookie"]
    assert made.startswith(f"{name}=")
    for word in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=15552000"):
        assert f"; {word}" in made
    assert ("; Secure" in made) is (scheme == "https")
    assert "Domain" not in made
    assert ask(scheme=scheme)[1]["set-cookie"] != [made]
    (again,) = ask(scheme=scheme, cookie=f"{name}={VALUE}")[1]["set-cookie"]
    assert f"{name}={VALUE};" in again
    other = "dialint_browser" if scheme == "https" else "__Host-dialint_browser"
    for forged in (f"{name}=mine", f"{other}={VALUE}", f"{name}={VALUE}; {name}={'b' * 43}"):
        _, headers, reached = ask(scheme=scheme, cookie=forged)
        assert not any(value in headers["set-cookie"][0] for value in ("mine", VALUE, "b" * 43))
        assert reached is not None
        assert reached[BROWSER] == [""]


@contextmanager
def stream(port: int, cookie: str, session: str | None = None) -> Iterator[Any]:
    """A connection as a page has it; with `session`, one that says to be that page."""
    words: Any = ["streamlit", "x", *([session] if session else [])]
    with connect(
        f"ws://127.0.0.1:{port}/_stcore/stream", origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
        additional_headers={"Cookie": cookie}, subprotocols=words, max_size=2**26, close_timeout=1.0,
    ) as socket:  # fmt: skip
        yield socket


def run_script(socket: Any) -> tuple[str, bytes]:
    """Run the script. Returns the session's id, and all bytes received."""
    again = BackMsg()
    again.rerun_script.query_string = ""
    socket.send(again.SerializeToString())
    session, got = "", b""
    while True:
        frame = socket.recv(timeout=30)
        got += frame
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "new_session":
            session = message.new_session.initialize.session_id
        elif message.WhichOneof("type") == "script_finished" and session:  # not of a run that was under way
            return session, got


def answer(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request(method, path, body, {name.replace("_", "-"): of for name, of in headers.items()})
    status = line.getresponse().status
    line.close()
    return status


def test_the_id_of_a_session_is_no_way_into_it_at_the_real_server(
    server: Any, wire: Callable[[str], ConsoleClient]
) -> None:
    port = server.port
    assert answer(port, "GET", "/_stcore/metrics") == 404
    assert answer(port, "GET", "/", Host="evil.test") == 421
    with pytest.raises(InvalidStatus), stream(port, ""):
        pass
    owner = wire("rob")
    own, _ = run_script(owner.socket)
    recognised = f"{BROWSER_COOKIE}={owner.cookies[BROWSER_COOKIE]}"
    for cookie in (OWN, recognised):  # a thief's browser, and what recognises the owner's
        with stream(port, cookie, own) as socket:
            session, got = run_script(socket)
        assert session != own
        assert b"Signed in as" not in got
    with stream(port, join_cookies(owner.cookies), own) as socket:
        session, got = run_script(socket)  # the test can fail: with the cookie it is theirs
    assert session == own
    assert b"Signed in as rob" in got


def test_a_lead_uploads_within_limits_and_a_reviewer_does_not(
    server: Any, wire: Callable[[str], ConsoleClient]
) -> None:
    """At the real server: the cookie of a lead's browser is not enough without the page's XSRF token, and a
    file over the limit is refused before it is read."""
    port = server.port
    statuses: dict[str, list[int]] = {}
    for name in ("rob", "lea"):
        client = wire(name)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as health:
            take_cookies(client.cookies, health.headers)
        headers = {
            "cookie": join_cookies(client.cookies), "origin": f"http://127.0.0.1:{port}",
            "content_type": "multipart/form-data; boundary=x",
        }  # fmt: skip
        token = {"x_xsrftoken": client.cookies["_streamlit_xsrf"]}
        path = f"/_stcore/upload_file/{run_script(client.socket)[0]}/{uuid.uuid4()}"
        body = b'--x\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\nhi\r\n--x--\r\n'
        statuses[name] = [
            answer(port, "PUT", path, body, **headers),
            answer(port, "PUT", path, body, **headers, **token),
            answer(port, "PUT", path, b"", **headers, **token, content_length=str(200 * 2**20 + 1)),
        ]
    assert statuses == {"rob": [404] * 3, "lea": [403, 204, 413]}


def test_the_first_html_has_streamlits_assets_and_no_inline_script() -> None:
    html = make_index(STREAMLIT_INDEX.read_text())
    assert html.count('<script type="module"') == 1
    assert '<link rel="stylesheet"' in html
    assert [text for text in re.findall(r"<script[^>]*>([^<]*)</script>", html) if text] == []
    served = {route.path for route in index_routes(["", "review"])}
    assert served == {"/", "/review"}
