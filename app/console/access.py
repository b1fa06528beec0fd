"""Who may act: one answer for pages, clicks, downloads, uploads and connections.

A session counts as long as this process knows it and the store confirms what it was begun with: the account
is open, and the identity is still linked to it, or its password is still the one that was proved
(`dialint.labeling.store.identities.find_signed_in`). The store that a page gets asks again in each of its
transactions, so nothing that a page has kept, and no handler of a click, acts for a session that has ended.

A page signs in on its connection, which can set no cookie: it gets a ticket, and its script exchanges that
for the cookie of a new session by ``POST /session``. Without a ticket the browser is signed out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dialint.app.console.auth import RATE_LIMITER, SESSIONS, Session
from dialint.app.console.i18n import _, speak
from dialint.app.console.middleware import (
    BROWSER,
    BROWSER_COOKIE,
    SESSION,
    SESSION_COOKIE,
    SESSION_PATH,
    hash_secret,
    new_secret,
    set_cookie,
)
from dialint.detector.errors import DialintError, WorldError
from dialint.labeling.store.database.transactions import Store, Transaction, in_transaction
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.identities import find_signed_in
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.preferences import load_preferences
from dialint.labeling.store.records import Account

MAX_TICKET = 100
CLICK_PATIENCE_S = 4.0
"""For this long a click waits for a database that is away."""


@cache
def open_store(location: str) -> Store:
    """Open the store, once for this server."""
    return Store.open(location or None, interface="console", patience_s=CLICK_PATIENCE_S)


def find_account(store: Store, session: str) -> Account | None:
    """The account that a session acts for, as it is in the store; None if it may not act any more."""
    if SESSIONS.find(session) is None:
        return None
    return store.read(lambda transaction: _find(transaction, session))


def require_session(store: Store, session: str) -> Store:
    """The store for the page of a session.

    Raises:
        NotAllowed: at any operation, if the session may not act any more.
    """

    def require(transaction: Transaction) -> None:
        if _find(transaction, session) is None:
            raise NotAllowed("E_SESSION", "you were signed out; nothing was changed")

    return store.requiring(require)


def _find(transaction: Transaction, key: str) -> Account | None:
    if (session := SESSIONS.find(key)) is None:
        return None
    account = in_transaction(find_signed_in)(transaction, session.account, session.proof)
    if account is None:
        SESSIONS.end(key)  # for good: what ended it may be undone
    return account


def find_lead(store: Store, session: str) -> str | None:
    """The name of the account that a session acts for, if it is a lead's; this counts as use."""
    account = find_account(store, session)
    SESSIONS.use(session)
    return account.id if account is not None and has_permission(account, "plan") else None


async def may_upload(session: str) -> bool:
    """Whether a session is a lead's, who may score logs."""
    try:
        return await run_in_threadpool(lambda: find_lead(_open_own(), session)) is not None
    except DialintError:  # the store is away
        return False


def lead_route(path: str, answer: Callable[[Store, str, Request], Response | None]) -> Route:
    """A route of files for leads: what `answer` makes in a thread, of the store, the account and the request.
    Everybody else gets 404 without more, and so does a lead if it makes none or refuses."""

    def respond(request: Request) -> Response:
        session, language = request.headers[SESSION], request.headers.get("accept-language", "")
        try:
            store = require_session(_open_own(), session)
            account = find_lead(store, session)
            if account is not None:
                language = load_preferences(store, account).language or language
                return answer(store, account, request) or Response(status_code=404)
        except WorldError:
            with speak(language):
                text = _("This file could not be made. Please try again later.")
            return Response(f"{text}\n", 503, media_type="text/plain")
        except DialintError:
            pass
        return Response(status_code=404)

    return Route(path, respond, methods=["GET"])


def _open_own() -> Store:
    return open_store(os.environ.get("DIALINT_STORE", ""))


async def exchange_ticket(request: Request) -> Response:
    """End the session of the browser, and begin that of the ticket in the request's body, if there is one."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_TICKET:
            return Response(status_code=413)
    browser = request.headers[BROWSER]
    begun = SESSIONS.redeem(body.decode("latin-1"), browser)
    if body and begun is None:
        return Response(status_code=403)
    SESSIONS.end(request.headers[SESSION])
    answer = Response(status_code=204)
    if begun is None:
        answer.headers.append("set-cookie", set_cookie(SESSION_COOKIE, "", request.url.scheme))
    else:
        begin_session(answer, begun, browser, request.url.scheme)
    return answer


def begin_session(answer: Response, session: Session, browser: str, scheme: str) -> None:
    """Begin a session in the browser that gets the answer, which was known as `browser` until now. Both of
    its cookies are new, so whoever knew those of before knows nothing of it."""
    recognition = new_secret()
    RATE_LIMITER.trust(session.account, browser, hash_secret(recognition))
    for name, value in ((BROWSER_COOKIE, recognition), (SESSION_COOKIE, SESSIONS.begin(session))):
        answer.headers.append("set-cookie", set_cookie(name, value, scheme))


ROUTES = [Route(SESSION_PATH, exchange_ticket, methods=["POST"])]
