"""Signing in at a provider of OpenID Connect: a small real one on another site, and a real browser."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from patience import WAIT_MS

from dialint.app.console import oidc
from dialint.app.console.sessions import Client
from dialint.detector.errors import ConfigError, DialintError, WorldError
from dialint.labeling.store import accounts, authentication
from dialint.labeling.store.authentication import Identity
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, NotAllowed

CLIENT, SECRET = "dialint-console", "the secret of the client"
CLIENT_OF_FLOW = Client("", "browser", "session")
HUGE = 10**400


@cache
def make_key(n: int = 0) -> RSAKey:
    """A key of a provider, another one for each number: to make one takes a fourth of a second."""
    return RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"})


@dataclass
class FakeProvider:
    """A provider that lets in `person` at once. `change` changes the claims of the next token, `key` signs."""

    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "person-1", "email": "rob", "email_verified": True}
    )
    change: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=make_key)
    signing: RSAKey | None = None
    requests: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Answers in place of the right ones, by path."""
    port: int = 0

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, query: dict[str, str], form: dict[str, str]) -> tuple[int, Any]:
        if path == "/.well-known/openid-configuration":
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
            return 200, {"issuer": self.issuer} | {name: f"{self.issuer}/{at}" for name, at in names.items()}
        if path == "/jwks":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/authorize":
            self.requests.append(query)
            code = secrets.token_urlsafe()
            self.codes[code] = query
            return 302, f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
        if path == "/token":
            flow = self.codes.pop(form["code"], None)
            challenge = (
                base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
                .decode()
                .rstrip("=")
            )
            is_right = flow and flow["code_challenge"] == challenge and form["client_secret"] == SECRET
            if not is_right or flow is None or form["redirect_uri"] != flow["redirect_uri"]:
                return 400, {"error": "invalid_grant"}
            now = int(time.time())
            claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": flow["nonce"]}
            header = {"alg": "RS256", "kid": "k1"}
            return 200, {
                "id_token": jwt.encode(header, claims | self.person | self.change, self.signing or self.key)
            }
        return 404, {}


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    made = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self.reply({name: values[0] for name, values in parse_qs(body).items()})

        def reply(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, body = made.answer(parts.path, query, form)
            data = made.bodies.get(parts.path, b"" if status == 302 else json.dumps(body).encode())
            self.send_response(status)
            if status == 302:
                self.send_header("location", body)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


@pytest.fixture
def config_file(provider: FakeProvider, tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    path = tmp_path / "oidc.toml"
    path.write_text(
        f'issuer = "{provider.issuer}"\nclient_id = "{CLIENT}"\nsecret_file = "{tmp_path / "secret"}"\nname = "Acme <b>"\n'
    )
    return path


def begin(provider: oidc.Provider, real: FakeProvider) -> tuple[str, str]:
    """A flow up to the provider's answer: state and code."""
    _, address = provider.begin(CLIENT_OF_FLOW, "http://localhost/oauth2callback")
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    _, back = real.answer(parts.path, query, {})
    answer = parse_qs(urlsplit(back).query)
    return answer["state"][0], answer["code"][0]


def test_a_token_is_verified_and_good_once(provider: FakeProvider, config_file: Path) -> None:
    ours = oidc.Provider(oidc.read_config(config_file))
    state, code = begin(ours, provider)
    client, identity, email = ours.finish(state, code)
    assert (client, identity.subject, email) == (CLIENT_OF_FLOW, "person-1", "rob")
    with pytest.raises(NotAllowed, match="used already"):
        ours.finish(state, code)
    with pytest.raises(WorldError):
        ours.finish(begin(ours, provider)[0], "another code")


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://evil.example"}, {"aud": "another"}, {"aud": [CLIENT, "another"]}, {"nonce": "another"},
        {"azp": "another"}, {"exp": 1}, {"iat": 9_999_999_999}, {"nbf": 9_999_999_999}, {"sub": ""},
        {"sub": "x" * 300}, {"sub": "a\0b"}, {"email": 7},
        *({"exp": wrong} for wrong in (float("inf"), float("nan"), True, "9999999999", HUGE)),
        *({name: None} for name in ("iss", "aud", "nonce", "sub", "exp", "iat")),
    ],
    ids=lambda change: "-".join(f"{name}-{str(of)[:12]}" for name, of in change.items()),
)  # fmt: skip
def test_a_token_for_others_is_refused_in_one_line(
    provider: FakeProvider, config_file: Path, change: dict[str, Any]
) -> None:
    ours = oidc.Provider(oidc.read_config(config_file))
    provider.change = change
    with pytest.raises(NotAllowed) as refused:
        ours.finish(*begin(ours, provider))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(("/jwks", body) for body in
          (b"[" * 100_000, b"{" + b" " * (1 << 20) + b"}", b"\xff", b"", b"[]", b"{}", b"NaN")),
        ("/token", b"{}"), ("/.well-known/openid-configuration", b"{}"),
        *(("/token", json.dumps({"id_token": wrong}).encode())
          for wrong in (None, "", "a.b.c", "e30.e30.e30", "\ud800", "x" * 900_000)),
        *(("/jwks", json.dumps(wrong).encode())
          for wrong in ({"keys": None}, {"keys": []}, {"keys": [7]}, {"keys": [{"kty": "RSA", "n": "AQAB", "e": []}]})),
    ],
    ids=lambda of: str(of[:24]),
)  # fmt: skip
def test_an_answer_that_cannot_be_used_is_refused_in_one_line(
    provider: FakeProvider, config_file: Path, path: str, body: bytes
) -> None:
    ours = oidc.Provider(oidc.read_config(config_file))
    provider.bodies[path] = body
    with pytest.raises((NotAllowed, WorldError)) as refused:
        ours.finish(*begin(ours, provider))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *((name, "http://evil.example") for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")),
        *(("jwks_uri", wrong) for wrong in (None, 7, "", "https://[", "https://a\nb")),
    ],
)  # fmt: skip
def test_metadata_that_lead_elsewhere_are_refused(
    provider: FakeProvider, config_file: Path, name: str, wrong: Any
) -> None:
    _, metadata = provider.answer("/.well-known/openid-configuration", {}, {})
    provider.bodies["/.well-known/openid-configuration"] = json.dumps({**metadata, name: wrong}).encode()
    with pytest.raises(DialintError):
        oidc.Provider(oidc.read_config(config_file)).begin(CLIENT_OF_FLOW, "http://localhost/oauth2callback")


def test_a_token_signed_by_another_key_is_refused(provider: FakeProvider, config_file: Path) -> None:
    ours = oidc.Provider(oidc.read_config(config_file))
    provider.signing = make_key(1)
    with pytest.raises(NotAllowed, match="not valid"):
        ours.finish(*begin(ours, provider))


def test_an_address_is_only_matched_if_it_is_verified(provider: FakeProvider, config_file: Path) -> None:
    ours = oidc.Provider(oidc.read_config(config_file))
    for verified in (False, "true", 1, None):
        provider.change = {"email_verified": verified}
        assert ours.finish(*begin(ours, provider))[2] is None


@pytest.mark.parametrize(
    "lines",
    [
        'issuer = "http://id.example"\nclient_id = "c"\nsecret_env = "PATH"', 'issuer = "https://id.example"\nclient_id = "c"',
        'issuer = "https://id.example"\nclient_id = "c"\nsecret = "s"', "no toml",
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "oidc.toml"
    path.write_text(lines)
    with pytest.raises(ConfigError):
        oidc.read_config(path)


@pytest.mark.usefixtures("own_server", "config_file")
def test_signing_in_by_the_provider_in_a_browser(
    place: str, server: Any, provider: FakeProvider, browser: Any
) -> None:
    """The console is at localhost, the provider at 127.0.0.1: two sites for the browser."""
    who = Identity(issuer=provider.issuer, subject="person-1")
    with Store.open(place) as store:
        accounts.create(store, "ada", Account(id="pat", role="reviewer"))
    home = f"http://localhost:{server.port}/"
    context = browser.new_context()
    page = context.new_page()
    foreign: list[str] = []
    page.on(
        "request", lambda request: foreign.append(request.url) if "localhost" not in request.url else None
    )
    page.goto(home)
    page.get_by_role("link", name="Sign in by Acme <b>").click()
    page.get_by_text("no account is linked").wait_for(timeout=WAIT_MS)
    assert "person-1" in page.content()
    assert all(
        url.startswith(f"{provider.issuer}/authorize")
        for url in foreign
        if not url.startswith(("data:", "blob:", "ws:"))
    )
    with Store.open(place) as store:
        authentication.link(store, "ada", who, "pat")
    page.goto(home)
    page.get_by_role("link", name="Sign in by Acme <b>").click()
    page.get_by_text("Signed in as pat").wait_for(timeout=WAIT_MS)
    request = provider.requests[-1]
    assert request["code_challenge_method"] == "S256"
    assert request["redirect_uri"] == f"{home}oauth2callback"
    cookies = {each["name"]: each for each in context.cookies()}
    assert "dialint_oidc" not in cookies
    for name in ("dialint_browser", "dialint_session"):
        assert (cookies[name]["sameSite"], cookies[name]["httpOnly"]) == ("Strict", True)
    # what another browser began is not finished here
    stranger = browser.new_context().new_page()
    stranger.goto(f"{home}oauth2callback?state={request['state']}&code=x")
    stranger.get_by_text("was not begun in this browser").wait_for(timeout=WAIT_MS)
