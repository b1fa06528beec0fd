"""One scoring job on the Score page: what was recognised, options, progress, and how it ended.

While it waits or runs, a part of the page asks its folder every second; leaving the page changes nothing.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.messages import attempt, explain_as_sentence, explain_text, set_refusal
from dialint.app.console.system import job_files as score_files
from dialint.app.console.system.job_files import JobFolder, job_folder
from dialint.app.console.system.job_processes import preview_log
from dialint.app.console.system.score_results import show_results
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.artifacts import atomic_file
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.languages import language_name
from dialint.detector.registry import Registry
from dialint.detector.release import EMBEDDED
from dialint.labeling.store import score_jobs
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.score_jobs import ScoreJob, ScoreOptions, ScoreResult

POLL_S = 1.0
NOTICE = "score"
"""Of the messages that the page shows once."""
MAX_POLICY_BYTES = 1 << 20
LANGUAGES = ("en", "de", "es", "fr", "ru", "it", "nl", "pl", "pt", "uk")
"""Of dialogues, to choose from; without a choice the language of each is detected."""


def finish_job(store: Store, account: Account, job: ScoreJob) -> ScoreJob:
    """Record how a job ended if its folder says that it did, and ask again for one whose request was lost."""
    if job.state != "queued":
        return job
    folder = job_folder(job.id)
    if folder.phase == "new":  # the console died between the store and the folder
        with suppress(DialintError):
            folder.ask(job.options)
        return job
    end = folder.end
    if end is None:
        return job
    result = ScoreResult(message=end.message[:2000])
    manifest = folder.manifest
    if end.phase == "done" and manifest is not None:
        counts = manifest["counts"]
        result = ScoreResult(
            dialogues=int(manifest["files"][0]["rows"]),
            findings=sum(sum(by.values()) for by in counts["findings"].values()),
            failed=int(counts["failed"]),
            rejected=int(manifest["reading"]["rejected"]),
            seconds=float(manifest["seconds"]),
            release=str(manifest["work"]["release"]["id"]),
        )
    return score_jobs.record_end(store, account.id, job.id, end.phase, result)


def show_job(store: Store, account: Account, job: ScoreJob) -> None:
    """Show a job to a lead."""
    folder = job_folder(job.id)
    phase = folder.phase
    st.markdown(f"#### {safe_markdown(job.name)}")
    facts = [
        _size_text(job.size),
        _("brought by {name}").format(name=job.account),
        f"SHA-256 {job.sha256[:12]}…",
    ]
    st.caption(safe_markdown(" · ".join(facts)))
    if phase == "absent":
        st.warning(paragraph("The files of this job are not"))
        _show_removal(store, account, job, folder)
        return
    if phase == "new" and job.state == "uploaded":
        _show_new(store, account, job, folder)
    elif phase in ("new", "waiting", "running", "stopping"):
        _show_running(store, account, job)
    elif phase == "done":
        show_results(store, account, job, folder)
    else:
        _show_ended(store, account, job, folder)
    if phase not in ("waiting", "running", "stopping"):
        _show_removal(store, account, job, folder)


def _size_text(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{show_number(n_bytes / size, '0.0')} {unit}"
    return f"{show_number(n_bytes)} B"


def _show_new(store: Store, account: Account, job: ScoreJob, folder: JobFolder) -> None:
    seen = folder.read_preview()
    if seen is None:
        try:
            with st.spinner(_("Looking at the log…")):
                seen = preview_log(folder)
        except DialintError as failed:
            st.error(safe_markdown(explain_as_sentence(failed)))
            return
    show_preview(seen)
    if seen.get("mapping") is not None or folder.mapping.exists():
        _show_mapping(folder, seen)
    if seen["refused"] is None:
        _show_options(store, account, job, folder, seen)


def _show_mapping(folder: JobFolder, seen: dict[str, Any]) -> None:
    key = f"mapping:{folder.path.name}"
    if key not in st.session_state:
        st.session_state[key] = (
            folder.mapping.read_text() if folder.mapping.exists() else str(seen["mapping"] or "")
        )
    with st.expander(_("How the log is read"), expanded=seen["refused"] is not None):
        st.caption(
            paragraph("The columns were guessed. Correct")
        )  # fmt: skip
        st.text_area(_("Mapping (YAML)"), key=key, height=280, max_chars=20_000)
        if st.button(_("Read again")):
            with atomic_file(folder.mapping) as file:
                file.write(st.session_state[key].encode())
            folder.preview.unlink(missing_ok=True)
            st.rerun()


def _show_options(
    store: Store, account: Account, job: ScoreJob, folder: JobFolder, seen: dict[str, Any]
) -> None:
    embedded = str(json.loads((EMBEDDED / "release.json").read_bytes())["id"])
    registry = Registry("scan")
    pointer = registry.current()
    releases = ["embedded", *reversed(registry.ids())]
    names = {
        name: embedded + _(" (embedded)") if name == "embedded"
        else name + (_(" (current)") if pointer is not None and pointer.id == name else "")
        for name in releases
    }  # fmt: skip
    default = releases.index(pointer.id) if pointer is not None and pointer.id in releases else 0
    with st.form(f"options:{job.id}"):
        left, right = st.columns(2)
        release = left.selectbox(
            _("Release"), releases, index=default, format_func=lambda each: safe_text(names[each]),
            help=paragraph("The embedded one and those"),
        )  # fmt: skip
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
        read = [(each.name, each.getvalue()) for each in policies]
        n = score_files.save_policies(folder, read)
        if seen.get("mapping") is not None and not folder.mapping.exists():
            with atomic_file(folder.mapping) as file:
                file.write(str(seen["mapping"]).encode())
        options = ScoreOptions(
            release=release, all_probabilities=every, languages=tuple(languages), trusts_domain=trusts,
            n_policies=n, has_mapping=folder.mapping.exists(),
        )  # fmt: skip
        score_files.score_command(folder, options)  # refused before the store has it
        score_jobs.queue_job(store, account.id, job.id, options)
        folder.ask(options)
        done(_("The job is in the queue. It goes on when you leave this page."))


def _show_running(store: Store, account: Account, job: ScoreJob) -> None:
    folder = job_folder(job.id)

    @st.fragment(run_every=POLL_S)
    def watch() -> None:
        phase = folder.phase
        if phase not in ("new", "waiting", "running", "stopping"):
            st.rerun(scope="app")
        n, seconds = folder.count_scored()
        total = int((folder.read_preview() or {}).get("estimated") or 0)
        share = min(n / total, 0.99) if total else 0.0
        st.progress(share, text=safe_markdown(progress_text(phase, n, total, seconds)))
        if phase == "waiting":
            st.caption(_("One log is scored at a time; this one starts when those before it have ended."))

    watch()

    def stop() -> None:
        score_jobs.load_job(store, account.id, job.id)  # which checks the right
        folder.ask_to_stop()

    st.button(
        _("Stop"), on_click=stop, disabled=folder.phase == "stopping",
        help=_("What is scored by then is kept, and the job can go on from there."),
    )  # fmt: skip


def progress_text(phase: str, n: int, total: int, seconds: float) -> str:
    """How far a job is, in words."""
    if phase in ("new", "waiting"):
        return _("Waiting for its turn")
    if phase == "stopping":
        return _("Stopping after the dialogues that are being scored")
    if not n:
        return _("Loading the release and reading the log")
    text = _("{n} of about {total} dialogues").format(n=show_number(n), total=show_number(max(total, n)))
    if seconds and total > n:
        left = (total - n) * seconds / n
        minutes = max(1, round(left / 60))
        text += " · " + (
            _("less than a minute left")
            if left < 60
            else ngettext("about {n} minute left", "about {n} minutes left", minutes)
        )
    return text


def _show_ended(store: Store, account: Account, job: ScoreJob, folder: JobFolder) -> None:
    end = folder.end
    n, _seconds = folder.count_scored()
    if end is not None and end.phase == "failed":
        message = explain_text(end.message).rstrip(".")
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

    def resume() -> None:
        try:
            score_jobs.queue_job(store, account.id, job.id)
            folder.ask(job.options)
        except DialintError as refused:
            set_refusal(NOTICE, refused)

    st.button(_("Go on") if n else _("Try again"), on_click=resume, type="primary")
    seen = folder.read_preview()
    if seen is not None:
        with st.expander(_("What was recognised of the log")):
            show_preview(seen)


def _show_removal(store: Store, account: Account, job: ScoreJob, folder: JobFolder) -> None:
    with st.popover(_("Remove the job")):
        st.markdown(
            _("Deletes the log, the results and this entry. What was added to the store stays there.")
        )
        if st.button(_("Remove with all files"), key=f"remove:{job.id}"):
            with attempt(NOTICE) as done:
                score_jobs.load_job(store, account.id, job.id)  # which checks the right
                if folder.phase in ("waiting", "running", "stopping"):
                    raise ConfigError("E_JOB", "somebody has started this job again; stop it first")
                score_files.remove_folder(folder)
                score_jobs.remove_job(store, account.id, job.id)
                st.query_params.clear()
                done(_("The job and its files were deleted."))


PREVIEW_PX = 330
"""Height of the first dialogues, so that the options below are in sight."""


def show_preview(seen: dict[str, Any]) -> None:
    """What was recognised of a log; in one sentence, what is wrong with it."""
    if seen["refused"] is not None:
        code = f" ({seen['code']})" if seen.get("code") else ""
        text = explain_text(seen["refused"])
        st.error(safe_markdown(f"{_('This log cannot be scored')}: {text.rstrip('.')}{code}."))
        if "format" not in seen:
            return
    good = seen["read"] - seen["rejected"] - seen["duplicates"]
    about = "" if seen["is_complete"] else _(" of the first {n}").format(n=show_number(seen["read"]))
    columns = st.columns(4)
    columns[0].metric(
        _("Dialogues"), safe_markdown(show_number(good) + about), help=_("Read without an error.")
    )
    columns[1].metric(_("Rejected"), safe_markdown(show_number(seen["rejected"])))
    columns[2].metric(_("Repeated"), safe_markdown(show_number(seen["duplicates"])))
    columns[3].metric(
        _("In the whole log"),
        safe_markdown(("" if seen["is_complete"] else "≈ ") + show_number(seen["estimated"])),
        help=_("Records; estimated by the size of those that were read."),
    )
    facts = ", ".join(explain_text(each) for each in (seen["format"], *seen["facts"]))
    st.caption(safe_markdown(_("Recognised: {facts}.").format(facts=facts)))
    notes = [f"{name} × {show_number(n)}" for name, n in seen["warnings"].items()]
    if notes:
        st.caption(safe_markdown(_("Put right while reading: {notes}.").format(notes=", ".join(notes))))
    if seen["privacy"]:
        words = ", ".join(seen["privacy"])
        st.warning(
            safe_markdown(_("Words of the privacy column that are not known: {words}.").format(words=words))
        )
    labels = [_("First dialogues"), _("Columns"), _("Rejected")]
    first, fields, rejects = st.tabs([safe_markdown(label) for label in labels])
    with first, st.container(height=PREVIEW_PX if seen["dialogues"] else "content", border=False):
        _show_dialogues(seen["dialogues"])
    with fields:
        _show_fields(seen)
    with rejects:
        _show_rejects(seen)


def _show_dialogues(dialogues: list[dict[str, Any]]) -> None:
    if not dialogues:
        st.caption(_("No dialogue was read."))
    for at, dialogue in enumerate(dialogues):
        origin = ", ".join(map(str, dialogue["origin"].values()))
        n = ngettext("{n} turn", "{n} turns", dialogue["turns"])
        title = " · ".join(part for part in (dialogue["id"], n, origin) if part)
        with st.expander(safe_markdown(title), expanded=at == 0):
            for turn in dialogue["first"]:
                st.markdown(f"**{safe_markdown(turn['role'])}** {safe_markdown(turn['text'])}")
            if dialogue["turns"] > len(dialogue["first"]):
                st.caption(_("… more turns follow. Personal data are shown as placeholders."))


def _show_fields(seen: dict[str, Any]) -> None:
    if not seen["fields"]:
        st.caption(_("This format is known; it needs no columns to be named."))
        return
    show_table(
        (_("Meaning"), _("Column or path"), _("How it was found")),
        [
            (meaning, path, _("by its content") if meaning in seen["by_content"] else _("by its name"))
            for meaning, path in seen["fields"].items()
        ],
    )
    if seen["words"]:
        speakers = ", ".join(f"{word} = {role or '?'}" for word, role in seen["words"].items())
        st.caption(safe_markdown(_("Speakers: {speakers}.").format(speakers=speakers)))
    if seen["unread"]:
        names = ", ".join(seen["unread"][:20]) + (" …" if len(seen["unread"]) > 20 else "")
        st.caption(safe_markdown(_("Not read: {names}.").format(names=names)))


def _show_rejects(seen: dict[str, Any]) -> None:
    if not seen["rejected"]:
        st.caption(_("No record was rejected."))
        return
    counts = ", ".join(f"{code} × {show_number(n)}" for code, n in seen["codes"].items())
    share = seen["rejected"] / max(seen["read"], 1)
    text = _("{share} of the records: {counts}. The first ones:")
    st.caption(safe_markdown(text.format(share=show_percent(share, "0.0%"), counts=counts)))
    show_table(
        (_("Line"), _("Field"), _("Code"), _("Found"), _("Expected")),
        [
            (
                str(each["line"]),
                each["path"] or _("record"),
                each["code"],
                explain_text(each["found"]),
                explain_text(each["expected"]),
            )
            for each in seen["rejects"]
        ],
    )
    limit = ReadConfig().max_bad
    if share > limit:
        text = _("More than {share} bad records stop the job before anything is kept.")
        st.warning(safe_markdown(text.format(share=show_percent(limit))))
