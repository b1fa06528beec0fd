"""The route by which leads take files of finished scoring jobs out of the console.

    GET /download/score/JOB/NAME

There is no secret in the address: each request is checked by the session whose cookie it brings, and by the
store, which records it. The cookie is not sent from pages of other hosts.
"""

from __future__ import annotations

import mimetypes

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from dialint.app.console.access import lead_route
from dialint.app.console.scoring.exports import FILES, make_file
from dialint.app.console.scoring.files import job_folder
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.score_jobs import record_download

DOWNLOADS = "/download"
MIMETYPES = {".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet",
             ".sarif": "application/sarif+json"}  # fmt: skip


def download_address(job_id: str, name: str) -> str:
    """The address of a file of a job."""
    return f"{DOWNLOADS}/score/{job_id}/{name}"


def send_file(store: Store, account: str, request: Request) -> Response | None:
    """One file, as an attachment; none if there is none.

    Raises:
        DialintError: the job is not done, or the file could not be made.
    """
    job_id, name = request.path_params["job"], request.path_params["name"]
    if name not in FILES:
        return None
    job = record_download(store, account, job_id, name)
    path = make_file(job_folder(job_id), name)
    kind = MIMETYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(
        path, media_type=kind, filename=f"{job.name.split('.')[0] or 'log'}.{name}",
        content_disposition_type="attachment", headers={"cache-control": "no-store"},
    )  # fmt: skip


ROUTES = [lead_route(f"{DOWNLOADS}/score/{{job}}/{{name}}", send_file)]
