"""A finished scoring job on the Score page: summary, findings by code, downloads, and the way into the store.

    GET /download/score/JOB/NAME

There is no secret in the address: each request is checked by the session whose cookie it brings, and by the
store, which records it. The cookie is not sent from pages of other hosts.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.messages import attempt, explain_as_sentence
from dialint.app.console.sessions import lead_route
from dialint.app.console.system.job_files import JobFolder, job_folder
from dialint.app.console.system.job_processes import EXAMPLES, FILES, available_files, make_file
from dialint.app.console.tables import Cell, DialogueLink, explore_address, link, share_text, show_table
from dialint.app.console.text import code_title, percent, safe_markdown, safe_text
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.store import dialogues, score_jobs
from dialint.labeling.store.api import Store
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.records import Account, StoreRefused
from dialint.labeling.store.score_jobs import AddedCounts, ScoreJob, record_download

T = TypeVar("T")
BATCH = min(200, MAX_PER_CALL)
"""Dialogues that go into the store in one transaction."""


def show_results(store: Store, account: Account, job: ScoreJob, folder: JobFolder) -> None:
    """Show a job that is done."""
    manifest = folder.manifest
    if manifest is None:
        st.error(_("The results of this job are gone."))
        return
    _show_summary(manifest)
    tabs = st.tabs([safe_markdown(each) for each in (_("Findings"), _("Downloads"), _("Add to the store"))])
    with tabs[1]:
        _show_downloads(job)
    with tabs[2]:
        _show_adding(store, account, job, folder)
    with tabs[0]:  # last, as the findings of a large log take a while to collect, once
        _show_findings(folder, manifest, is_stored=job.added is not None)


def _show_summary(manifest: dict[str, Any]) -> None:
    counts, reading = manifest["counts"], manifest["reading"]
    n_findings = sum(sum(by.values()) for by in counts["findings"].values())
    scored, n = int(counts["scored"]), int(manifest["files"][0]["rows"])
    columns = st.columns(4)
    columns[0].metric(_("Dialogues"), safe_markdown(show_number(n)))
    columns[1].metric(_("Findings"), safe_markdown(show_number(n_findings)))
    columns[2].metric(
        _("With S1 or S2"), safe_markdown(show_percent(counts["with_s1_or_s2"] / scored if scored else 0)),
        help=_("The share of scored dialogues with a finding that is critical or major."),
    )  # fmt: skip
    columns[3].metric(_("Rejected"), safe_markdown(show_number(reading["rejected"])))
    facts = [_("Release {name}").format(name=manifest["work"]["release"]["id"])]
    if seconds := round(float(manifest["seconds"])):
        facts.append(ngettext("{n} second of work", "{n} seconds of work", seconds))
    if manifest["resumed_dialogues"]:
        n_before = int(manifest["resumed_dialogues"])
        facts.append(ngettext("went on after {n} dialogue", "went on after {n} dialogues", n_before))
    st.caption(safe_markdown(" · ".join(facts)))
    problems = [f"{name} × {show_number(k)}" for name, k in counts["failures"].items()]
    if problems:
        text = _("Could not be judged, which is not clean: {problems}.").format(problems=", ".join(problems))
        st.warning(safe_markdown(text))
    if counts["not_judged"]:
        text = ngettext(
            "{n} dialogue is in a language that the release does not cover; that is not clean either.",
            "{n} dialogues are in languages that the release does not cover; that is not clean either.",
            counts["not_judged"],
        )  # fmt: skip
        st.warning(safe_markdown(text))


def _show_findings(folder: JobFolder, manifest: dict[str, Any], *, is_stored: bool) -> None:
    counts = manifest["counts"]
    if not counts["findings"]:
        st.info(
            _("No finding. That is no proof that there are no errors: see which codes the release covers.")
        )
        return
    taxonomy = load_taxonomy()
    try:
        with st.spinner(_("Collecting the findings…")):
            by_code: dict[str, Any] = json.loads(make_file(folder, EXAMPLES).read_bytes())
    except DialintError as failed:
        st.error(safe_markdown(explain_as_sentence(failed)))
        return

    suggested = {code: sum(by.values()) for code, by in counts.get("suggestions", {}).items()}
    rows: list[tuple[Cell, ...]] = [
        (
            code_title(code, taxonomy),
            show_number(entry["findings"]),
            share_text(entry["dialogues"], max(int(counts["scored"]), entry["dialogues"])),
            ", ".join(f"{severity} × {show_number(k)}" for severity, k in counts["findings"][code].items()),
            show_number(suggested.get(code, 0)),
        )
        for code, entry in by_code.items()
    ]
    show_table((_("Code"), _("Findings"), _("Dialogues with one"), _("Severity"), _("Suggestions")), rows)
    code = st.selectbox(
        _("Look at a code"), list(by_code), format_func=lambda each: safe_text(code_title(each, taxonomy)),
        key=f"code:{folder.path.name}",
    )  # fmt: skip
    examples = by_code[code]["examples"]
    show_table(
        (_("Dialogue"), _("Turn"), _("Severity"), _("Probability"), _("Quote"), _("Reason")),
        [
            (
                DialogueLink(each["dialogue"]) if is_stored else each["dialogue"],
                show_number(each["turn"]), each["severity"], percent(each["probability"]),
                _shorten(each["quote"]), _shorten(each["reason"]),
            )
            for each in examples
        ],
    )  # fmt: skip
    if by_code[code]["findings"] > len(examples):
        st.caption(safe_markdown(_("The {n} most probable ones.").format(n=show_number(len(examples)))))


def _shorten(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:159]}…"


def _show_downloads(job: ScoreJob) -> None:
    st.caption(
        paragraph("Files quote dialogues, with")
    )  # fmt: skip
    uses = {
        "verdicts.jsonl": _("Everything, one dialogue a line; for scripts and dialint."),
        "verdicts.parquet": _("The same for data tools."),
        "verdicts.csv": _("One finding a row, safe to open in a spreadsheet."),
        "report.html": _("A page for leads, with figures and examples."),
        "report.xlsx": _("The same as a workbook."),
        "verdicts.rejects.jsonl": _("Records that could not be read, and why."),
    }
    for name in available_files():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.link_button(
                safe_markdown(_(FILES[name])), safe_text(download_address(job.id, name)), width=170
            )
            st.caption(safe_markdown(uses[name]))


def _show_adding(store: Store, account: Account, job: ScoreJob, folder: JobFolder) -> None:
    if job.added is not None:
        text = paragraph("Added: {dialogues} dialogues and")
        added = job.added
        st.success(
            safe_markdown(
                text.format(
                    dialogues=show_number(added.dialogues),
                    verdicts=show_number(added.verdicts),
                    known=show_number(added.known),
                )
            )
        )
        if added.changed:
            text = ngettext(
                "{n} dialogue was left out: the store has one of its id with other content, or another "
                    "verdict of this release. Another name for the release keeps both verdicts.",
                "{n} dialogues were left out: the store has ones of their ids with other content, or "
                    "other verdicts of this release. Another name for the release keeps both verdicts.",
                added.changed,
            )  # fmt: skip
            st.warning(safe_markdown(text))
        st.markdown(link(_("Open Explore"), explore_address()))
    st.markdown(paragraph("Dialogues and verdicts go into"))
    name = st.text_input(
        _("Name of the release in the store"), job.result.release if job.result else "", max_chars=200,
        key=f"release name:{job.id}",
        help=paragraph("The store keeps one verdict"),
    )  # fmt: skip
    if st.button(_("Add to the store"), type="primary" if job.added is None else "secondary"):
        with st.spinner(_("Adding…")), attempt("score") as done:
            added = add_to_store(store, account.id, folder, name.strip() or None)
            score_jobs.record_added(store, account.id, job.id, added)
            text = ngettext(
                "{n} dialogue was added to the store.",
                "{n} dialogues were added to the store.",
                added.dialogues,
            )
            done(text)


def add_to_store(store: Store, actor: str, folder: JobFolder, release_name: str | None = None) -> AddedCounts:
    """Add the dialogues of a job's log and the verdicts on them, batch by batch; dialogues whose id the store
    has with other content are left out and counted, and so are other verdicts of the same release. They get
    `release_name` for the name of their release, if it is given.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: the log is gone, or is not the one that was scored.
    """
    log = folder.log
    if log is None:
        raise ConfigError("E_PATH", "the log of this job is gone")
    config = ReadConfig(mapping=folder.mapping if folder.mapping.exists() else None)
    records = read(open_logs([str(log)]), config, Counts())
    loaded = (item.dialogue for item in records if isinstance(item, Loaded))
    new = verdicts = known = changed = 0
    add = partial(_add, store, actor, release_name)
    for batch in _batches(zip(loaded, read_verdicts(folder.out), strict=True)):
        if any(dialogue.id != verdict.dialogue_id for dialogue, verdict in batch):
            raise ConfigError("E_CHANGED", "the log is not the one that was scored")
        try:
            results = [add(batch)]
        except StoreRefused as refused:
            if refused.code != "E_CHANGED":
                raise
            results = []
            for pair in batch:  # one by one, to leave out only those
                try:
                    results.append(add([pair]))
                except StoreRefused as one:
                    if one.code != "E_CHANGED":
                        raise
                    changed += 1
        for n, n_new, n_verdicts in results:
            new, verdicts, known = new + n_new, verdicts + n_verdicts, known + n - n_new
    return AddedCounts(dialogues=new, verdicts=verdicts, known=known, changed=changed)


def _add(
    store: Store, actor: str, release_name: str | None, pairs: Sequence[tuple[Dialogue, Verdict]]
) -> tuple[int, int, int]:
    n_new = dialogues.add(store, actor, [dialogue for dialogue, _ in pairs])
    return (
        len(pairs),
        n_new,
        dialogues.add_verdicts(store, actor, [verdict for _, verdict in pairs], release_name),
    )


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, BATCH)):
        yield batch


DOWNLOADS = "/download"
MIMETYPES = {".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet"}


def download_address(job_id: str, name: str) -> str:
    """The address of a file of a job."""
    return f"{DOWNLOADS}/score/{job_id}/{name}"


def send_file(store: Store, account: str, request: Request) -> Response | None:
    """Return one file as an attachment; none if there is none."""
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
