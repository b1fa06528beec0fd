"""The Score page: a lead uploads a log, sees a preview, and has it scored in the background.

The jobs of all leads are listed; one of them is shown, at an address that can be passed on. While it waits or
runs, a part of the page asks its folder every second; leaving the page changes nothing.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_day, show_number
from dialint.app.console.messages import (
    attempt,
    explain_as_sentence,
    explain_text,
    report_refusals,
    show_notice,
)
from dialint.app.console.system.log_preview import LogPreview, preview_job, show_preview
from dialint.app.console.system.score_results import count_findings, show_results
from dialint.app.console.tables import choose_rows, select
from dialint.app.console.text import safe_markdown, safe_text
from dialint.app.scoring.background import (
    LOG_ENDINGS,
    LOGS_VARIABLE,
    Job,
    ScoreOptions,
    State,
    create_job,
    jobs_folder,
    list_jobs,
    list_server_logs,
    load_job,
    save_policies,
    server_log,
)
from dialint.detector.artifacts import atomic_file
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.languages import language_name
from dialint.detector.registry import Registry
from dialint.detector.release import EMBEDDED
from dialint.labeling.store.api import Store
from dialint.labeling.store.history import record_job
from dialint.labeling.store.records import Account

PER_PAGE = 12
POLL_S = 1.0
JOB = "job"
"""The query parameter with the displayed job."""
NOTICE = "score"
"""Key of the page's notices."""
MAX_POLICY_BYTES = 1 << 20
LANGUAGES = ("en", "de", "es", "fr", "ru", "it", "nl", "pl", "pt", "uk")
"""Choices of the dialogues' language; without a choice it is detected for each dialogue."""
ACTIVE: tuple[State, ...] = ("waiting", "running", "stopping")
ICONS: dict[State, str] = {
    "new": "○", "waiting": "◔", "running": "◑", "stopping": "◑", "done": "●", "failed": "✕", "stopped": "■",
}  # fmt: skip


def score_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("Score a log"), anchor=False)
    jobs = list_jobs()
    show_notice(NOTICE)
    left, right = st.columns([5, 8], gap="large")
    with left:
        _show_upload(store, account)
        chosen = st.query_params.get(JOB, jobs[0].id if jobs else "")
        if jobs:
            st.markdown(f"**{safe_markdown(_('Jobs of all leads'))}**")
            for job in choose_rows(jobs, "jobs page", PER_PAGE):
                _show_row(job, is_chosen=job.id == chosen)
    with right:
        if not chosen:
            _show_welcome()
            return
        try:
            job = load_job(chosen)
        except DialintError as refused:
            st.warning(safe_markdown(explain_as_sentence(refused)))
        else:
            show_job(store, account, job)


def _show_upload(store: Store, account: Account) -> None:
    key = f"log:{st.session_state.setdefault('logs brought', 0)}"
    upload = st.file_uploader(
        _("Drop a dialogue log"), key=key, help=paragraph("Exports of help desks, chat")
    )
    if upload is not None:
        content = upload.getvalue()
        forget_upload(upload.file_id)
        _add_log(store, account, upload.name, content)
    names = list_server_logs()
    if names:
        with st.expander(_("Or a log on the server")):
            name = st.selectbox(
                _("Log"), names, format_func=safe_text, key="server log", index=None,
                help=_("The operator opened this folder to leads."),
            )  # fmt: skip
            if st.button(_("Look at it"), disabled=name is None) and name is not None:
                try:
                    _add_log(store, account, name, server_log(name))
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
    with attempt(NOTICE) as done:
        job_id = secrets.token_hex(8)
        record_job(store, account.id, "create", job_id)  # before anything is written: has it the right?
        create_job(jobs_folder() / job_id, account.id, name, content)
        st.query_params[JOB] = job_id
        done(_("The log was read in. Check what was recognised, then start."))


def _show_row(job: Job, *, is_chosen: bool) -> None:
    state = job.state
    names: dict[State, str] = {
        "new": _("not started"), "waiting": _("waiting"), "running": _("running"), "stopping": _("stopping"),
        "done": _("done"), "failed": _("failed"), "stopped": _("stopped"),
    }  # fmt: skip
    parts = [names[state]]
    if state == "done":
        manifest = job.manifest
        n, n_findings = int(manifest["files"][0]["rows"]), count_findings(manifest)
        parts.append(ngettext("{n} dialogue", "{n} dialogues", n))
        parts.append(ngettext("{n} finding", "{n} findings", n_findings))
    parts += [job.record.account, show_day(from_ms(job.record.created_ms))]
    with st.container(gap=None):
        st.button(
            f"{safe_markdown(ICONS[state])} {safe_markdown(job.record.name)}", key=f"job:{job.id}",
            on_click=lambda: st.query_params.update({JOB: job.id}), width="stretch",
            type="primary" if is_chosen else "secondary",
        )  # fmt: skip
        st.caption(safe_markdown(" · ".join(parts)))


def _show_welcome() -> None:
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('How it goes'))}**")
        steps = (
            paragraph("Drop a log. It is read at once"),
            _("Choose the release and press Start. Scoring runs in the background; you may leave the page."),
            paragraph("Look at the findings by code"),
        )
        for number, step in enumerate(steps, 1):
            st.markdown(f"{safe_markdown(show_number(number))}\\. {safe_markdown(step)}")
        limit = paragraph("Endings: {endings}. Up to {n}").format(
            endings=", ".join(LOG_ENDINGS), n=show_number(st.get_option("server.maxUploadSize")),
            variable=LOGS_VARIABLE,
        )  # fmt: skip
        st.caption(safe_markdown(limit))


def show_job(store: Store, account: Account, job: Job) -> None:
    """Show a job to a lead."""
    state = job.state
    st.markdown(f"#### {safe_markdown(job.record.name)}")
    try:
        size = show_number(job.log.stat().st_size / 1e6, "0.00")
        st.caption(safe_markdown(f"{size} MB · {_('brought by {name}').format(name=job.record.account)}"))
        if state == "new":
            _show_new(store, account, job)
        elif state in ACTIVE:
            _show_running(store, account, job)
        elif state == "done":
            show_results(store, account, job)
        else:
            _show_ended(store, account, job, state)
    except DialintError as failed:
        st.error(safe_markdown(explain_as_sentence(failed)))
    if state in ACTIVE:
        return
    with st.popover(_("Remove the job")):
        st.markdown(
            _("Deletes the log, the results and this entry. What was added to the store stays there.")
        )
        if st.button(_("Remove with all files"), key=f"remove:{job.id}"):
            with attempt(NOTICE) as done:
                record_job(store, account.id, "remove", job.id)
                job.remove()
                st.query_params.clear()
                done(_("The job and its files were deleted."))


def _show_new(store: Store, account: Account, job: Job) -> None:
    with st.spinner(_("Looking at the log…")):
        seen = preview_job(job)
    show_preview(job, seen)
    if seen.mapping or job.mapping.exists():
        key = f"mapping:{job.id}"
        if key not in st.session_state:
            st.session_state[key] = job.mapping.read_text() if job.mapping.exists() else seen.mapping
        with st.expander(_("How the log is read"), expanded=seen.result.refused is not None):
            st.caption(paragraph("The columns were guessed. Correct"))
            st.text_area(_("Mapping (YAML)"), key=key, height=280, max_chars=20_000)
            if st.button(_("Read again")):
                with atomic_file(job.mapping) as file:
                    file.write(st.session_state[key].encode())
                st.rerun()
    if seen.result.refused is None:
        _show_options(store, account, job, seen)


def _show_options(store: Store, account: Account, job: Job, seen: LogPreview) -> None:
    embedded = str(json.loads((EMBEDDED / "release.json").read_bytes())["id"])
    registry = Registry("scan")
    pointer = registry.current()
    current = None if pointer is None else pointer.id
    names = {"embedded": embedded + _(" (embedded)")}
    names |= {name: name + (_(" (current)") if name == current else "") for name in reversed(registry.ids())}
    with st.form(f"options:{job.id}"):
        left, right = st.columns(2)
        release = select(
            _("Release"), names, at=left, usual=current, help=paragraph("The embedded one and those")
        )
        languages = right.multiselect(
            _("Language of the dialogues"), LANGUAGES, placeholder=_("Detected for each dialogue"),
            format_func=lambda each: safe_text(f"{language_name(each)} ({each})"),
        )  # fmt: skip
        policies = left.file_uploader(
            _("Policies"), type=["yaml", "yml"], accept_multiple_files=True,
            help=_("Policy files for the codes P1 to P4. Without one these codes are not looked for."),
        )  # fmt: skip
        with right:
            every = st.checkbox(
                _("Keep the probability of every turn and code"), value=True,
                help=_("The threshold slider of the Releases page needs them; the output is larger."),
            )  # fmt: skip
            trusts = st.checkbox(
                _("This log was spot-checked: do not call it far"),
                help=paragraph("Otherwise the scan only suggests"),
            )  # fmt: skip
        started = st.form_submit_button(_("Start scoring"), type="primary")
    if not started:
        return

    with attempt(NOTICE) as done:
        if any(each.size > MAX_POLICY_BYTES for each in policies):
            raise ConfigError("E_POLICY", "a policy file has at most 1 MB")
        record_job(store, account.id, "start", job.id)
        save_policies(job, [(each.name, each.getvalue()) for each in policies])
        if seen.mapping and not job.mapping.exists():
            with atomic_file(job.mapping) as file:
                file.write(seen.mapping.encode())
        options = ScoreOptions(
            release=release, all_probabilities=every, languages=tuple(languages), trusts_domain=trusts
        )
        job.update(options=options)
        job.start()
        done(_("The job is in the queue. It goes on when you leave this page."))


def _show_running(store: Store, account: Account, job: Job) -> None:
    total = preview_job(job).estimated

    @st.fragment(run_every=POLL_S)
    def watch() -> None:
        state = job.state
        if state not in ACTIVE:
            st.rerun(scope="app")
        n = job.count_scored()
        text = _("{n} of about {total} dialogues").format(n=show_number(n), total=show_number(max(total, n)))
        if state == "waiting":
            text = _("Waiting for its turn")
        elif state == "stopping":
            text = _("Stopping after the dialogues that are being scored")
        elif not n:
            text = _("Loading the release and reading the log")
        st.progress(min(n / total, 0.99) if total else 0.0, text=safe_markdown(text))
        if state == "waiting":
            st.caption(_("One log is scored at a time; this one starts when those before it have ended."))

    watch()

    st.button(
        _("Stop"), on_click=_control, args=(store, account, job, "stop"), disabled=job.state == "stopping",
        help=_("What is scored by then is kept, and the job can go on from there."),
    )  # fmt: skip


def _show_ended(store: Store, account: Account, job: Job, state: State) -> None:
    n = job.count_scored()
    if state == "failed":
        message = explain_text(job.describe_failure()).rstrip(".")
        st.error(safe_markdown(_("The job failed: {message}.").format(message=message)))
    else:
        st.info(_("The job was stopped."))
    if n:
        text = ngettext(
            "{n} dialogue is scored and kept; the job goes on after it.",
            "{n} dialogues are scored and kept; the job goes on after them.", n,
        )  # fmt: skip
        st.caption(safe_markdown(text))
    else:
        st.caption(_("Nothing of it is kept but the log."))

    args = (store, account, job, "start")
    st.button(_("Go on") if n else _("Try again"), on_click=_control, args=args, type="primary")
    with st.expander(_("What was recognised of the log")):
        show_preview(job, preview_job(job))


def _control(store: Store, account: Account, job: Job, action: Literal["start", "stop"]) -> None:
    with report_refusals(NOTICE):
        record_job(store, account.id, action, job.id)
        job.start() if action == "start" else job.stop()
