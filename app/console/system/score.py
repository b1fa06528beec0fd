"""The Score page: a lead brings a log, sees what is recognised, and has it scored in the background.

The jobs of all leads are listed; one of them is shown (`score_panel`), at an address that can be passed on. A
job's row is in the store, which checks every right; log, process and results are in the job's folder.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_day, show_number
from dialint.app.console.messages import explain_as_sentence, set_notice, set_refusal, show_notice
from dialint.app.console.system import job_files as score_files
from dialint.app.console.system.job_files import LOG_ENDINGS, LOGS_VARIABLE, Phase, job_folder
from dialint.app.console.system.score_job import NOTICE, finish_job, show_job
from dialint.app.console.tables import show_paging
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store import score_jobs
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.score_jobs import NewScoreJob, ScoreJob

PER_PAGE = 12
JOB = "job"
"""The query parameter that says which job is shown."""
ICONS: dict[Phase, str] = {
    "absent": "○", "new": "○", "waiting": "◔", "running": "◑", "stopping": "◑", "done": "●", "failed": "✕",
    "stopped": "■",
}  # fmt: skip


def phase_name(phase: Phase) -> str:
    """What a person reads for a phase."""
    names: dict[Phase, str] = {
        "absent": _("files are not on this machine"), "new": _("not started"), "waiting": _("waiting"),
        "running": _("running"), "stopping": _("stopping"), "done": _("done"), "failed": _("failed"),
        "stopped": _("stopped"),
    }  # fmt: skip
    return names[phase]


def score_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("Score a log"), anchor=False)
    pages: list[ScoreJob] = st.session_state.setdefault("score pages", [])
    listed = score_jobs.list_jobs(store, account.id, pages[-1] if pages else None, PER_PAGE)
    listed = tuple(finish_job(store, account, job) for job in listed)
    show_notice(NOTICE)
    left, right = st.columns([5, 8], gap="large")
    with left:
        _show_upload(store, account)
        _show_list(listed, pages)
    with right:
        chosen = st.query_params.get(JOB)
        job = next((each for each in listed if each.id == chosen), None)
        if job is None and chosen is not None:
            try:
                job = finish_job(store, account, score_jobs.load_job(store, account.id, chosen))
            except DialintError as refused:
                st.warning(safe_markdown(explain_as_sentence(refused)))
                return
        if job is None and listed:
            job = listed[0]
        if job is None:
            _show_welcome()
        else:
            show_job(store, account, job)


def _show_upload(store: Store, account: Account) -> None:
    key = f"log:{st.session_state.setdefault('logs brought', 0)}"
    upload = st.file_uploader(
        _("Drop a dialogue log"), key=key,
        help=paragraph("Exports of help desks, chat"),
    )  # fmt: skip
    if upload is not None:
        content = upload.getvalue()
        forget_upload(upload.file_id)
        _add_log(store, account, upload.name, content)
    names = score_files.list_server_logs()
    if names:
        with st.expander(_("Or a log on the server")):
            name = st.selectbox(
                _("Log"), names, format_func=safe_text, key="server log", index=None,
                help=_("The operator opened this folder to leads."),
            )  # fmt: skip
            if st.button(_("Look at it"), disabled=name is None) and name is not None:
                try:
                    _add_log(store, account, name, score_files.server_log(name))
                except DialintError as refused:
                    st.error(safe_markdown(explain_as_sentence(refused)))


def forget_upload(file_id: str) -> None:
    """Free Streamlit's copy of an upload, which it would keep until the browser leaves."""
    context = runtime.scriptrunner.get_script_run_ctx()
    if runtime.exists() and context is not None:
        manager = runtime.get_instance().uploaded_file_mgr
        if isinstance(manager, MemoryUploadedFileManager):
            manager.remove_file(context.session_id, file_id)


def _add_log(store: Store, account: Account, name: str, content: bytes | Path) -> None:
    st.session_state["logs brought"] = st.session_state.get("logs brought", 0) + 1
    try:
        with st.spinner(_("Looking at the log…")):
            score_jobs.list_jobs(store, account.id, limit=1)  # before anything is written: has it the right?
            job_id, folder, sha256 = score_files.create_job_folder(name, content)
            log = folder.log
            assert log is not None
            new = NewScoreJob(id=job_id, name=log.name, size=log.stat().st_size, sha256=sha256)
            score_jobs.create_job(store, account.id, new)
    except DialintError as refused:
        set_refusal(NOTICE, refused)
    else:
        st.session_state["score pages"] = []
        st.query_params[JOB] = job_id
        set_notice(NOTICE, "success", _("The log was read in. Check what was recognised, then start."))
    st.rerun()


def _show_list(listed: tuple[ScoreJob, ...], pages: list[ScoreJob]) -> None:
    if not listed and not pages:
        return
    st.markdown(f"**{safe_markdown(_('Jobs of all leads'))}**")
    chosen = st.query_params.get(JOB) or (listed[0].id if listed else None)

    def choose(job_id: str) -> None:
        st.query_params[JOB] = job_id

    for job in listed:
        phase = job_folder(job.id).phase if job.state in ("uploaded", "queued") else job.state
        displayed: Phase = "new" if phase == "uploaded" else "waiting" if phase == "queued" else phase
        with st.container(gap=None):
            st.button(
                f"{safe_markdown(ICONS[displayed])} {safe_markdown(job.name)}", key=f"job:{job.id}",
                on_click=choose, args=(job.id,), width="stretch",
                type="primary" if job.id == chosen else "secondary",
            )  # fmt: skip
            st.caption(safe_markdown(" · ".join(_describe(job, displayed))))
    show_paging(pages, listed[-1] if listed else None, has_more=len(listed) == PER_PAGE, key="jobs")


def _describe(job: ScoreJob, phase: Phase) -> list[str]:
    parts = [phase_name(phase)]
    if job.result is not None and job.state == "done":
        parts.append(ngettext("{n} dialogue", "{n} dialogues", job.result.dialogues))
        parts.append(ngettext("{n} finding", "{n} findings", job.result.findings))
    return [*parts, job.account, show_day(from_ms(job.created_ms))]


def _show_welcome() -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('How it goes'))}**")
        steps = (
            paragraph("Drop a log. It is read at once"),
            _("Choose the release and press Start. Scoring runs in the background; you may leave the page."),
            paragraph("Look at the findings by code"),
        )  # fmt: skip
        for number, step in enumerate(steps, 1):
            st.markdown(f"{safe_markdown(show_number(number))}\\. {safe_markdown(step)}")
        limit = paragraph("Endings: {endings}. Up to {n}").format(
            endings=", ".join(LOG_ENDINGS), n=show_number(st.get_option("server.maxUploadSize")),
            variable=LOGS_VARIABLE,
        )  # fmt: skip
        st.caption(safe_markdown(limit))
