"""A scoring job that is done, on the Score page: summary, findings, downloads, and the way into the store.

    GET /download/score/JOB/NAME

There is no secret in the address: each request is checked by the session whose cookie it brings, and by the
store, which records it. The cookie is not sent from pages of other hosts.
"""

from __future__ import annotations

import mimetypes
from itertools import islice
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.messages import attempt
from dialint.app.console.sessions import lead_route
from dialint.app.console.tables import Cell, dialogue_cell, explore_address, link, select, show_table
from dialint.app.console.text import code_title, percent, safe_markdown, safe_text, shorten_text
from dialint.app.scoring.background import AddedCounts, Job, available_files, load_job, make_file
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.progress import progress
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import parse_verdicts
from dialint.labeling.exchange.store_transfer import import_logs, import_verdicts
from dialint.labeling.store.api import Store
from dialint.labeling.store.history import record_job
from dialint.labeling.store.records import Account

DOWNLOADS = "/download"
MIMETYPES = {".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet"}
N_EXAMPLES, N_READ = 50, 5000
"""Findings of a code that are listed, and verdicts that are read for them."""


def show_results(store: Store, account: Account, job: Job) -> None:
    """Show a job that is done."""
    manifest = job.manifest
    _show_summary(manifest)
    labels = (_("Findings"), _("Downloads"), _("Add to the store"))
    findings, downloads, adding = st.tabs([safe_markdown(each) for each in labels])
    with findings:
        _show_findings(job, manifest["counts"])
    with downloads:
        _show_downloads(job)
    with adding:
        _show_adding(store, account, job, str(manifest["work"]["release"]["id"]))


def count_findings(manifest: dict[str, Any]) -> int:
    """Return how many findings an output has."""
    return sum(sum(by.values()) for by in manifest["counts"]["findings"].values())


def _show_summary(manifest: dict[str, Any]) -> None:
    counts, reading = manifest["counts"], manifest["reading"]
    scored, n = int(counts["scored"]), int(manifest["files"][0]["rows"])
    columns = st.columns(4)
    columns[0].metric(_("Dialogues"), safe_markdown(show_number(n)))
    columns[1].metric(_("Findings"), safe_markdown(show_number(count_findings(manifest))))
    columns[2].metric(
        _("With S1 or S2"), safe_markdown(show_percent(counts["with_s1_or_s2"] / scored if scored else 0)),
        help=_("The share of scored dialogues with a finding that is critical or major."),
    )  # fmt: skip
    columns[3].metric(_("Rejected"), safe_markdown(show_number(reading["rejected"])))
    facts = [_("Release {name}").format(name=manifest["work"]["release"]["id"])]
    if seconds := round(float(manifest["seconds"])):
        facts.append(ngettext("{n} second of work", "{n} seconds of work", seconds))
    if n_before := int(manifest["resumed_dialogues"]):
        facts.append(ngettext("went on after {n} dialogue", "went on after {n} dialogues", n_before))
    st.caption(safe_markdown(" · ".join(facts)))
    if problems := ", ".join(f"{name} × {show_number(k)}" for name, k in counts["failures"].items()):
        text = _("Could not be judged, which is not clean: {problems}.").format(problems=problems)
        st.warning(safe_markdown(text))
    if counts["not_judged"]:
        text = ngettext(
            "{n} dialogue is in a language that the release does not cover; that is not clean either.",
            "{n} dialogues are in languages that the release does not cover; that is not clean either.",
            counts["not_judged"],
        )  # fmt: skip
        st.warning(safe_markdown(text))


def _show_findings(job: Job, counts: dict[str, Any]) -> None:
    if not counts["findings"]:
        st.info(
            _("No finding. That is no proof that there are no errors: see which codes the release covers.")
        )
        return
    taxonomy = load_taxonomy()
    by_code = sorted(counts["findings"].items(), key=lambda item: -sum(item[1].values()))
    titles = {code: code_title(code, taxonomy) for code, _by in by_code}
    rows: list[tuple[Cell, ...]] = [
        (
            titles[code], show_number(sum(by.values())),
            ", ".join(f"{severity} × {show_number(k)}" for severity, k in by.items()),
            show_number(sum(counts.get("suggestions", {}).get(code, {}).values())),
        )
        for code, by in by_code
    ]  # fmt: skip
    show_table((_("Code"), _("Findings"), _("Severity"), _("Suggestions")), rows)
    code = select(_("Look at a code"), titles, f"code:{job.id}")
    with job.out.open("rb") as lines:
        examples = [
            (verdict.dialogue_id, finding)
            for verdict in parse_verdicts(islice(lines, N_READ))
            for finding in verdict.findings
            if finding.code == code
        ]
    examples = sorted(examples, key=lambda each: -each[1].probability)[:N_EXAMPLES]
    is_stored = job.record.added is not None
    rows = [
        (
            dialogue_cell(name) if is_stored else name, show_number(each.turn), each.severity,
            percent(each.probability), shorten_text(each.quote), shorten_text(each.reason),
        )
        for name, each in examples
    ]  # fmt: skip
    headings = (_("Dialogue"), _("Turn"), _("Severity"), _("Probability"), _("Quote"), _("Reason"))
    show_table(headings, rows)
    if sum(counts["findings"][code].values()) > len(examples):
        n = min(N_READ, int(counts["scored"]))
        text = _("The most probable ones of the first {n} dialogues.")
        st.caption(safe_markdown(text.format(n=show_number(n))))


def _show_downloads(job: Job) -> None:
    st.caption(paragraph("Files quote dialogues, with"))
    uses = {
        "verdicts.jsonl": ("JSON Lines", _("Everything, one dialogue a line; for scripts and dialint.")),
        "verdicts.parquet": ("Parquet", _("The same for data tools.")),
        "verdicts.csv": ("CSV", _("One finding a row, safe to open in a spreadsheet.")),
        "report.html": (_("HTML report"), _("A page for leads, with figures and examples.")),
        "report.xlsx": (_("Excel workbook"), _("The same as a workbook.")),
        "verdicts.rejects.jsonl": (_("Rejected records"), _("Records that could not be read, and why.")),
    }
    for name in available_files():
        label, use = uses[name]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.link_button(safe_markdown(label), safe_text(download_address(job.id, name)), width=170)
            st.caption(safe_markdown(use))


def _show_adding(store: Store, account: Account, job: Job, release: str) -> None:
    if (added := job.record.added) is not None:
        text = paragraph("Added: {dialogues} dialogues and").format(
            dialogues=show_number(added.dialogues), verdicts=show_number(added.verdicts),
            known=show_number(added.known),
        )  # fmt: skip
        st.success(safe_markdown(text))
        st.markdown(link(_("Open Explore"), explore_address()))
    st.markdown(paragraph("Dialogues and verdicts go into"))
    name = st.text_input(
        _("Name of the release in the store"), release, max_chars=200, key=f"release name:{job.id}",
        help=paragraph("The store keeps one verdict"),
    )  # fmt: skip
    if st.button(_("Add to the store"), type="primary" if added is None else "secondary"):
        with st.spinner(_("Adding…")), attempt("score") as done:
            n = add_to_store(store, account.id, job, name.strip() or None).dialogues
            done(
                ngettext("{n} dialogue was added to the store.", "{n} dialogues were added to the store.", n)
            )


def add_to_store(store: Store, actor: str, job: Job, release_name: str | None = None) -> AddedCounts:
    """Add a job's dialogues and verdicts to the store, as `dialint import` does.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: the log is gone.
        StoreRefused: a dialogue is there with other content, or has another verdict by the same release; what
            came before it is in the store.
    """
    record_job(store, actor, "add", job.id)
    config = ReadConfig(mapping=job.mapping if job.mapping.exists() else None)
    with progress("adding", quiet=True) as report:
        dialogues = import_logs(store, actor, [str(job.log)], config, report)
        verdicts = import_verdicts(store, actor, job.out, report, release_name)
    added = AddedCounts(dialogues=dialogues.new, verdicts=verdicts.new, known=dialogues.existing)
    job.update(added=added)
    return added


def download_address(job_id: str, name: str) -> str:
    """Return the address of a file of a job."""
    return f"{DOWNLOADS}/score/{job_id}/{name}"


def send_file(store: Store, account: str, request: Request) -> Response:
    """Return one file as an attachment."""
    job, name = load_job(request.path_params["job"]), request.path_params["name"]
    record_job(store, account, "download", job.id, file=name)
    path = make_file(job, name)
    kind = MIMETYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(
        path, media_type=kind, filename=f"{job.record.name.split('.')[0] or 'log'}.{name}",
        content_disposition_type="attachment", headers={"cache-control": "no-store"},
    )  # fmt: skip


ROUTES = [lead_route(f"{DOWNLOADS}/score/{{job}}/{{name}}", send_file)]
