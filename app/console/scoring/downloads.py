"""The route by which leads take files of finished scoring jobs out of the console, and whether a browser may
bring one.

    GET /download/score/JOB/NAME

There is no secret in the address: each request is checked by the browser's cookie, the session that is signed
in there, and the store, which records it. The cookie is not sent from pages of other hosts.
"""

from __future__ import annotations

import mimetypes
import os
from functools import cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from dialint.app.console.auth import SESSIONS
from dialint.app.console.i18n import _, speak
from dialint.app.console.middleware import browser_id
from dialint.app.console.scoring.exports import FILES, make_file
from dialint.app.console.scoring.files import job_folder
from dialint.detector.errors import DialintError, WorldError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.passwords import find_signed_in
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.preferences import load_preferences
from dialint.labeling.store.score_jobs import record_download

DOWNLOADS = "/download"
MIMETYPES = {".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet",
             ".sarif": "application/sarif+json"}  # fmt: skip


def download_address(job_id: str, name: str) -> str:
    """The address of a file of a job."""
    return f"{DOWNLOADS}/score/{job_id}/{name}"


async def may_upload(browser: str) -> bool:
    """Whether somebody who may score logs is signed in in a browser."""
    return await run_in_threadpool(find_lead, browser) is not None


def find_lead(browser: str) -> str | None:
    """The account that is signed in in a browser, if it may score logs; this counts as use of its session."""
    name = SESSIONS.account(SESSIONS.find(browser), browser)
    try:
        account = None if name is None else find_signed_in(_open_store(), name)
    except DialintError:  # the store is away: nobody may
        return None
    return account.id if account is not None and has_permission(account, "plan") else None


@cache
def _open_store() -> Store:
    return Store.open(os.environ.get("DIALINT_STORE") or None, interface="console")


def _prepare(browser: str, job_id: str, name: str) -> tuple[Path, str] | None:
    """The file and the name to save it as; none if the browser may not have it, or there is none.

    Raises:
        DialintError: the job is not done, or the file could not be made.
    """
    account = find_lead(browser)
    if account is None or name not in FILES:
        return None
    job = record_download(_open_store(), account, job_id, name)
    path = make_file(job_folder(job_id), name)
    return path, f"{job.name.split('.')[0] or 'log'}.{name}"


def _find_language(browser: str) -> str | None:
    """The language that the account of a browser has chosen, if it has."""
    account = find_lead(browser)
    return None if account is None else load_preferences(_open_store(), account).language


async def send_file(request: Request) -> Response:
    """One file, as an attachment; 404 without saying more to whom it is not open."""
    names = request.path_params
    try:
        prepared = await run_in_threadpool(_prepare, browser_id(request.cookies), names["job"], names["name"])
    except WorldError:
        chosen = await run_in_threadpool(_find_language, browser_id(request.cookies))
        with speak(chosen or request.headers.get("accept-language", "")):
            text = _("This file could not be made. Please try again later.")
        return Response(f"{text}\n", 503, media_type="text/plain")
    except DialintError:
        prepared = None
    if prepared is None:
        return Response(status_code=404)
    path, filename = prepared
    kind = MIMETYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(
        path, media_type=kind, filename=filename, content_disposition_type="attachment",
        headers={"cache-control": "no-store"},
    )  # fmt: skip


ROUTES = [Route(f"{DOWNLOADS}/score/{{job}}/{{name}}", send_file, methods=["GET"])]
