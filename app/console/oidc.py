"""Signing in at the company's provider by OpenID Connect: two routes, and the verification of what it says.

The flow is that of authorization codes with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0, section 3.1).
Streamlit's own `st.login` is not used: it keeps the identity for 30 days in a cookie without ``Secure``, so
that neither the idle limit nor signing out would end a session, and its routes would read a secrets file.
Here a verified identity begins a session of the console (`dialint.app.console.auth`) and is forgotten.

The browser's cookie is SameSite=Strict, so it does not come along when the provider sends the browser back.
The browser is known from the start of the flow, and recognised by a cookie of its own for the way back, which
is Lax and lives for minutes. The answer is a page that leads on from this site.
"""

from __future__ import annotations

import base64
import hashlib
import html
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
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode, urlsplit

from pydantic import Field, ValidationError

from dialint.app.console.auth import LOGIN, SESSIONS
from dialint.app.console.i18n import N_, _, current_language, speak
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.middleware import LOCAL_HOSTS, browser_id
from dialint.detector.errors import ConfigError, DialintError, WorldError
from dialint.detector.records import Record
from dialint.labeling.store import identities
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.identities import Identity

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

CONFIG_VARIABLE = "DIALINT_CONSOLE_OIDC"
CALLBACK = "/oauth2callback"
PATHS = frozenset({LOGIN, CALLBACK})
STATE_COOKIE = "dialint_oidc"
STATE_S = 600
MAX_PENDING = 10_000
"""Flows that are remembered; the oldest go first."""
ALGORITHMS = ["RS256", "PS256", "ES256"]
TIMEOUT_S, MAX_BYTES, LEEWAY_S, KEYS_S = 10.0, 1 << 20, 60, 3600.0


class OidcConfig(Record):
    """What the operator's file says. The secret is in `secret_env` or `secret_file`, never in this file. With
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
        """The client's secret.

        Raises:
            ConfigError: it is neither in the variable nor in the file.
        """
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
    """Read the operator's file, TOML or JSON by its suffix.

    Raises:
        ConfigError: it cannot be read, has other fields, an address without TLS, or no secret.
    """
    try:
        text = path.read_text("utf-8")
        config = OidcConfig.model_validate(
            json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        )
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
            "E_OIDC", "{path}: {error}, expected TOML or JSON", path=path, error=type(error).__name__
        ) from None
    for url in (config.issuer, config.metadata_url, config.redirect_uri):
        _require_safe(url, str(path))
    _secret = config.secret  # raises if there is none
    return config


def _require_safe(url: str | None, where: str) -> None:
    """Raise unless an address is https, or http on this machine."""
    parts = urlsplit(url or "https://")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS):
        raise ConfigError(
            "E_OIDC",
            "{where}: expected https:// addresses, {scheme}:// is not safe",
            where=where,
            scheme=parts.scheme,
        )


def load_server_config() -> OidcConfig | None:
    """The configuration of this server; none if nobody named one."""
    path = os.environ.get(CONFIG_VARIABLE)
    return read_config(Path(path)) if path else None


@dataclass(frozen=True)
class _Flow:
    """A sign-in that has begun: the browser's identity, and what the answer must agree with."""

    browser: str
    nonce: str
    verifier: str
    redirect_uri: str
    began_s: float


@dataclass(frozen=True)
class Claims:
    """Who the provider says it is; `email` only if it is verified."""

    identity: Identity
    email: str | None


@dataclass
class Provider:
    """A provider and the flows that have begun; safe to share between threads."""

    config: OidcConfig
    _flows: OrderedDict[str, _Flow] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _cached: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    def begin(self, browser: str, redirect_uri: str) -> tuple[str, str]:
        """Begin a flow for a browser. Returns its state, and the address to send the browser to.

        Raises:
            WorldError: the provider cannot be reached.
        """
        metadata = self._metadata()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        with self._lock:
            self._flows[state] = _Flow(browser, nonce, verifier, redirect_uri, time.monotonic())
            if len(self._flows) > MAX_PENDING:
                self._flows.popitem(last=False)
        query = {
            "response_type": "code", "client_id": self.config.client_id, "redirect_uri": redirect_uri,
            "scope": "openid email", "state": state, "nonce": nonce, "code_challenge": challenge,
            "code_challenge_method": "S256",
        }  # fmt: skip
        address = str(metadata["authorization_endpoint"])
        return state, f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    def finish(self, state: str, code: str) -> tuple[str, Claims]:
        """End a flow, each once: the browser that began it, and the verified claims.

        Raises:
            NotAllowed: no such flow, or what the provider says cannot be verified.
            WorldError: the provider cannot be reached, or refuses the code.
        """
        with self._lock:
            flow = self._flows.pop(state, None)
        if flow is None or flow.began_s + STATE_S < time.monotonic():
            raise NotAllowed("E_SIGN_IN", "this sign-in took too long, or was used already")
        metadata = self._metadata()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": flow.redirect_uri,
            "client_id": self.config.client_id, "client_secret": self.config.secret,
            "code_verifier": flow.verifier,
        }  # fmt: skip
        answer = _fetch(str(metadata["token_endpoint"]), urlencode(form).encode())
        return flow.browser, self._verify(str(answer.get("id_token", "")), flow.nonce)

    def _verify(self, token: str, nonce: str) -> Claims:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        keys = self._get(str(self._metadata()["jwks_uri"]))
        try:
            claims = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError) as error:
            self._cached.clear()  # the provider may have new keys
            raise NotAllowed(
                "E_SIGN_IN", "the provider's token is not valid: {error}", error=type(error).__name__
            ) from None
        now_s = time.time()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        expires_s, issued_s = (claims.get(name) for name in ("exp", "iat"))
        checks = {
            "iss": claims.get("iss") == self.config.issuer,
            "aud": self.config.client_id in audiences,
            "azp": len(audiences) == 1 or claims.get("azp") == self.config.client_id,
            "exp": isinstance(expires_s, int | float) and now_s < expires_s + LEEWAY_S,
            "iat": isinstance(issued_s, int | float) and issued_s < now_s + LEEWAY_S,
            "nonce": secrets.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()),
        }
        if wrong := [name for name, is_right in checks.items() if not is_right]:
            raise NotAllowed(
                "E_SIGN_IN", "the provider's token is not for this sign-in: {fields}", fields=", ".join(wrong)
            )
        try:
            identity = Identity(issuer=self.config.issuer, subject=str(claims.get("sub", "")))
        except ValidationError:
            raise NotAllowed("E_SIGN_IN", "the provider's token names nobody") from None
        email = claims.get("email") if claims.get("email_verified") is True else None
        return Claims(identity, str(email) if email else None)

    def _metadata(self) -> dict[str, Any]:
        url = self.config.metadata_url or f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = self._get(url)
        if metadata.get("issuer") != self.config.issuer:
            raise WorldError("E_OIDC", "the provider's metadata name another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _require_safe(str(metadata.get(name, "")), f"the provider's {name}")
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
    """The JSON object at an address.

    Raises:
        WorldError: it cannot be fetched.
    """
    request = urllib.request.Request(url, body, {"accept": "application/json"})
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
            document = json.loads(answer.read(MAX_BYTES))
    except (OSError, ValueError) as error:
        status = error.code if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise WorldError("E_OIDC", "{host}: {status}", host=urlsplit(url).hostname, status=status) from None
    if not isinstance(document, dict):
        raise WorldError("E_OIDC", "{host}: expected a JSON object", host=urlsplit(url).hostname)
    return document


def make_routes(config: OidcConfig, location: str) -> list[Route]:
    """The two routes, for the store at `location`."""
    from anyio import to_thread
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    provider = Provider(config)

    async def login(request: Request) -> Response:
        browser = browser_id(request.cookies)
        if not browser:  # it has not been at the console yet
            return RedirectResponse("/", 303)
        uri = config.redirect_uri or str(request.url.replace(path=CALLBACK, query=""))
        try:
            state, address = await to_thread.run_sync(provider.begin, browser, uri)
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
            await to_thread.run_sync(_sign_in, provider, location, state, code)
        except DialintError as failed:
            status = 403 if isinstance(failed, NotAllowed) else 502
            return _page(request, failed, status)
        answer = _page(request, "", 200)
        answer.delete_cookie(STATE_COOKIE, path=CALLBACK)
        return answer

    return [Route(LOGIN, login, methods=["GET"]), Route(CALLBACK, callback, methods=["GET"])]


def _sign_in(provider: Provider, location: str, state: str, code: str) -> None:
    """Begin a session in the browser that began the flow."""
    browser, claims = provider.finish(state, code)
    name = claims.email if provider.config.match_email else None
    with Store.open(location or None, interface="console") as store:
        try:
            account = identities.sign_in_identity(store, claims.identity, name)
        except NotAllowed as refused:
            raise NotAllowed(
                refused.code, "{message}: tell an admin the subject {subject!r} of {issuer}",
                message=refused.text, subject=claims.identity.subject, issuer=claims.identity.issuer,
            ) from None  # fmt: skip
    SESSIONS.create(account.id, browser, by_identity=True)


def _page(request: Request, notice: DialintError | str, status: int) -> Response:
    """A page that leads on to the console; at once, if there is no message to read. The browser's language
    decides, as nobody is signed in yet."""
    from starlette.responses import HTMLResponse

    with speak(request.headers.get("accept-language", "")):
        language = current_language()
        message = explain_as_sentence(notice) if isinstance(notice, DialintError) else notice and _(notice)
    onward = "" if message else '<meta http-equiv="refresh" content="0; url=/">'
    return HTMLResponse(
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>dialint</title>{onward}'
        '<meta name="viewport" content="width=device-width"></head>'
        '<body style="font: 16px sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">'
        f'<p>{html.escape(message)}</p><p><a href="/">dialint</a></p></body></html>',
        status,
        headers={"cache-control": "no-store"},
    )
