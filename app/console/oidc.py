"""Signing in at the company's provider by OpenID Connect: two routes, and the verification of the token.

The flow is that of authorization codes with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0, section 3.1);
joserfc verifies the signature. A verified identity begins a session of the console, which ends with it.
Streamlit's own `st.login` keeps the identity for 30 days in a cookie, so that neither the idle limit nor
signing out would end a session; Authlib's Starlette client needs a second session cookie.

The console's cookies are SameSite=Strict, so they do not come along when the provider sends the browser back:
the browser is recognised by a cookie for the way back, which is Lax and lives for minutes. The answer is a
page that leads on from this site.
"""

from __future__ import annotations

import base64
import hashlib
import html
import http.client
import json
import os
import secrets
import time
import tomllib
import urllib.error
import urllib.request
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dialint.app.console.i18n import N_, _, current_language, use_language
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.middleware import BROWSER, LOCAL_HOSTS, SESSION
from dialint.app.console.sessions import LOGIN, SESSIONS, Client, Session, begin_session, open_store
from dialint.detector.errors import ConfigError, DialintError, WorldError
from dialint.detector.records import Record
from dialint.labeling.store import authentication
from dialint.labeling.store.authentication import Identity, Subject, Url
from dialint.labeling.store.records import NotAllowed

CONFIG_VARIABLE = "DIALINT_CONSOLE_OIDC"
CALLBACK = "/oauth2callback"
PATHS = frozenset({LOGIN, CALLBACK})
STATE_COOKIE, STATE_S = "dialint_oidc", 600
MAX_PENDING = 10_000
"""Flows in progress at most; the oldest are dropped first."""
ALGORITHMS = ["RS256", "PS256", "ES256"]
TIMEOUT_S, MAX_BYTES, LEEWAY_S, KEYS_S = 10.0, 1 << 20, 60, 3600.0
PAGE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>dialint</title>{onward}
<meta name="viewport" content="width=device-width"></head>
<body style="font: 16px sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<p>{message}</p><p><a href="/">dialint</a></p></body></html>"""


class OidcConfig(Record):
    """The operator's file. The secret is in `secret_env` or `secret_file`, never in this file. With
    `match_email` a verified e-mail address is linked to the account of that name at the first sign-in."""

    issuer: Annotated[str, Field(min_length=8, max_length=500)]
    client_id: Annotated[str, Field(min_length=1, max_length=500)]
    secret_env: str | None = None
    secret_file: str | None = None
    metadata_url: str | None = None
    redirect_uri: str | None = None
    name: Annotated[str, Field(min_length=1, max_length=60)] = "single sign-on"
    match_email: bool = False

    @property
    def secret(self) -> str:
        """The client's secret, from the file or the variable."""
        try:
            value = Path(self.secret_file).read_text("utf-8").strip() if self.secret_file else ""
        except OSError as error:
            raise ConfigError(
                "E_OIDC", "{secret_file}: {reason}", secret_file=self.secret_file, reason=error.strerror
            ) from error
        value = value or os.environ.get(self.secret_env or "", "")
        if not value:
            raise ConfigError("E_OIDC", "the client's secret is neither in secret_env nor in secret_file")
        return value


def read_config(path: Path) -> OidcConfig:
    """Read the operator's TOML file.

    Raises:
        ConfigError: it cannot be read, has other fields, an address without TLS, or no secret.
    """
    try:
        config = OidcConfig.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigError("E_OIDC", "{path}: {reason}", path=path, reason=error.strerror) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(
            "E_OIDC", "{path}, {where}: {problem}", path=path, where=where, problem=first["msg"]
        ) from None
    except ValueError as error:
        raise ConfigError(
            "E_OIDC", "{path}: {error}, expected TOML", path=path, error=type(error).__name__
        ) from None
    for url in (config.issuer, config.metadata_url, config.redirect_uri):
        _require_safe(url, str(path))
    _secret = config.secret  # raises if there is none
    return config


def _require_safe(url: str | None, where: str) -> None:
    """Raise unless an address is https, or http on this machine."""
    try:
        parts = urlsplit(url or "https://")
    except ValueError:
        raise ConfigError("E_OIDC", "{where}: not an address", where=where) from None
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS):
        raise ConfigError(
            "E_OIDC", "{where}: expected https:// addresses, {scheme}:// is not safe",
            where=where, scheme=parts.scheme,
        )  # fmt: skip


def load_server_config() -> OidcConfig | None:
    """Return the configuration of this server; None if there is no provider."""
    path = os.environ.get(CONFIG_VARIABLE)
    return read_config(Path(path)) if path else None


@dataclass(frozen=True)
class _Flow:
    """A sign-in in progress: the client that began it, and the values that the answer must match."""

    client: Client
    nonce: str
    verifier: str
    redirect_uri: str
    began_s: float


class _Document(BaseModel):
    """A JSON object from the provider: unknown fields are ignored, the others are checked strictly."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class _Metadata(_Document):
    issuer: str
    authorization_endpoint: Url
    token_endpoint: Url
    jwks_uri: Url


Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class _Claims(_Document):
    iss: str
    sub: Subject
    aud: str | tuple[str, ...]
    nonce: str
    exp: Seconds
    iat: Seconds
    nbf: Seconds = 0.0
    azp: str | None = None
    email: str | None = None
    email_verified: Any = None
    """Only True counts: some providers send a text."""


@dataclass
class Provider:
    """A provider and the flows in progress; safe to share between threads."""

    config: OidcConfig
    _flows: OrderedDict[str, _Flow] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _cached: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    def begin(self, client: Client, redirect_uri: str) -> tuple[str, str]:
        """Begin a flow for a browser. Returns its state, and the address to send the browser to.

        Raises:
            WorldError: the provider cannot be reached.
        """
        address = self._metadata().authorization_endpoint
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        with self._lock:
            self._flows[state] = _Flow(client, nonce, verifier, redirect_uri, time.monotonic())
            if len(self._flows) > MAX_PENDING:
                self._flows.popitem(last=False)
        query = {
            "response_type": "code", "client_id": self.config.client_id, "redirect_uri": redirect_uri,
            "scope": "openid email", "state": state, "nonce": nonce, "code_challenge": challenge,
            "code_challenge_method": "S256",
        }  # fmt: skip
        return state, f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    def finish(self, state: str, code: str) -> tuple[Client, Identity, str | None]:
        """Finish a flow, each once. Returns the client that began it, the verified identity, and the e-mail
        address if that is verified.

        Raises:
            NotAllowed: no such flow, or what the provider says cannot be verified.
            WorldError: the provider cannot be reached, or refuses the code.
        """
        with self._lock:
            flow = self._flows.pop(state, None)
        if flow is None or flow.began_s + STATE_S < time.monotonic():
            raise NotAllowed("E_SIGN_IN", "this sign-in took too long, or was used already")
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": flow.redirect_uri,
            "client_id": self.config.client_id, "client_secret": self.config.secret,
            "code_verifier": flow.verifier,
        }  # fmt: skip
        endpoint = self._metadata().token_endpoint
        token = _fetch(endpoint, urlencode(form).encode()).get("id_token")
        if not isinstance(token, str):
            raise WorldError("E_OIDC", "the provider sent no token")
        return flow.client, *self._verify(token, flow.nonce)

    def _verify(self, token: str, nonce: str) -> tuple[Identity, str | None]:
        from joserfc import jwt
        from joserfc.jwk import KeySet

        keys = self._get(self._metadata().jwks_uri)
        try:
            decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001  of a library, on bytes from the network: nobody gets in
            self._cached.clear()  # the provider may have new keys
            raise NotAllowed(
                "E_SIGN_IN", "the provider's token is not valid: {error}", error=type(error).__name__
            ) from None
        try:
            claims = _Claims.model_validate(decoded)
        except ValidationError as error:
            wrong = sorted({str((*each["loc"], "claims")[0]) for each in error.errors()})
        else:
            wrong = self._find_wrong(claims, nonce)
        if wrong:
            raise NotAllowed(
                "E_SIGN_IN", "the provider's token is not for this sign-in: {fields}", fields=", ".join(wrong)
            )
        identity = Identity(issuer=self.config.issuer, subject=claims.sub)
        return identity, claims.email if claims.email_verified is True else None

    def _find_wrong(self, claims: _Claims, nonce: str) -> list[str]:
        """Return the names of the claims that are wrong (OpenID Connect Core, section 3.1.3.7)."""
        now_s, client_id = time.time(), self.config.client_id
        audiences = (claims.aud,) if isinstance(claims.aud, str) else claims.aud
        checks = {
            "iss": claims.iss == self.config.issuer,
            "aud": client_id in audiences,
            "azp": claims.azp == client_id or (claims.azp is None and len(audiences) == 1),
            "exp": now_s < claims.exp + LEEWAY_S,
            "iat": claims.iat < now_s + LEEWAY_S,
            "nbf": claims.nbf < now_s + LEEWAY_S,
            "nonce": secrets.compare_digest(claims.nonce.encode(errors="replace"), nonce.encode()),
        }
        return [name for name, is_right in checks.items() if not is_right]

    def _metadata(self) -> _Metadata:
        url = self.config.metadata_url or f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            metadata = _Metadata.model_validate(self._get(url))
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise WorldError(
                "E_OIDC", "the provider's metadata: {where} cannot be used", where=where
            ) from None
        if metadata.issuer != self.config.issuer:
            raise WorldError("E_OIDC", "the provider's metadata name another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _require_safe(getattr(metadata, name), f"the provider's {name}")
        return metadata

    def _get(self, url: str) -> dict[str, Any]:
        with self._lock:
            at_s, document = self._cached.get(url, (0.0, {}))
        if not document or at_s + KEYS_S < time.monotonic():
            document = _fetch(url)
            with self._lock:
                self._cached[url] = time.monotonic(), document
        return document


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any) -> None:
        """Follow none: an answer comes from the address that was configured."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _fetch(url: str, body: bytes | None = None) -> dict[str, Any]:
    """Return the JSON object at an address, or raise WorldError."""
    request = urllib.request.Request(url, body, {"accept": "application/json"})
    host = urlsplit(url).hostname
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
            body = answer.read(MAX_BYTES + 1)
        document = json.loads(body) if len(body) <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        status = error.code if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise WorldError("E_OIDC", "{host}: {status}", host=host, status=status) from None
    if not isinstance(document, dict):
        raise WorldError("E_OIDC", "{host}: expected a JSON object", host=host)
    return document


def make_routes(config: OidcConfig, location: str) -> list[Route]:
    """Return the two routes, for the store at `location`."""
    provider = Provider(config)

    async def login(request: Request) -> Response:
        client = Client("", request.headers[BROWSER], request.headers[SESSION])
        if not client.browser:  # it has not been at the console yet
            return RedirectResponse("/", 303)
        uri = config.redirect_uri or str(request.url.replace(path=CALLBACK, query=""))
        try:
            state, address = await to_thread.run_sync(provider.begin, client, uri)
        except DialintError as failed:
            return _page(request, failed, 502)
        answer = RedirectResponse(address, 303)
        answer.set_cookie(
            STATE_COOKIE, state, max_age=STATE_S, path=CALLBACK, httponly=True, samesite="lax",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    async def callback(request: Request) -> Response:
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        own = request.cookies.get(STATE_COOKIE, "")
        if not state or not secrets.compare_digest(state.encode(), own.encode()):
            return _page(request, N_("This sign-in was not begun in this browser."), 403)
        if not code:
            return _page(request, N_("The provider did not let you in."), 403)
        try:
            client, session = await to_thread.run_sync(_sign_in, provider, location, state, code)
        except DialintError as failed:
            return _page(request, failed, 403 if isinstance(failed, NotAllowed) else 502)
        answer = _page(request, "", 200)
        answer.delete_cookie(STATE_COOKIE, path=CALLBACK)
        SESSIONS.end(client.session)
        begin_session(answer, session, client.browser, request.url.scheme)
        return answer

    return [Route(LOGIN, login, methods=["GET"]), Route(CALLBACK, callback, methods=["GET"])]


def _sign_in(provider: Provider, location: str, state: str, code: str) -> tuple[Client, Session]:
    client, identity, email = provider.finish(state, code)
    address = email if provider.config.match_email else None
    try:
        account = authentication.sign_in_identity(open_store(location), identity, address)
    except NotAllowed as refused:
        raise NotAllowed(
            refused.code, "{message}: tell an admin the subject {subject!r} of {issuer}",
            message=refused.text, subject=identity.subject, issuer=identity.issuer,
        ) from None  # fmt: skip
    return client, Session(account.id, identity)


def _page(request: Request, notice: DialintError | str, status: int) -> Response:
    """Return a page that leads on to the console, at once without a message, in the browser's language."""
    with use_language(request.headers.get("accept-language", "")):
        language = current_language()
        message = explain_as_sentence(notice) if isinstance(notice, DialintError) else notice and _(notice)
    onward = "" if message else '<meta http-equiv="refresh" content="0; url=/">'
    content = PAGE.format(language=language, onward=onward, message=html.escape(message))
    return HTMLResponse(content, status, headers={"cache-control": "no-store"})
