"""The demo's scoring jobs: the sample log, scored, and an export with columns of unknown names, not started.

The verdicts are the real ones of the sample; the export is four dialogues of it in another form, one of its
rows damaged.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dialint.app.console.system import job_files as score_files
from dialint.app.console.system.job_files import JobEnd, JobFolder
from dialint.app.console.system.job_processes import describe_log
from dialint.detector.artifacts import atomic_file, file_entry, write_json, write_manifest
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.store import score_jobs
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.score_jobs import NewScoreJob, ScoreOptions, ScoreResult

N_EXPORTED = 4
SERIOUS = ("S1", "S2")


def add_jobs(
    store: Store, jobs: Path, log: Path, sample: Sequence[Dialogue], verdicts: Sequence[Verdict]
) -> None:
    """Add both jobs to the store, and their folders to `jobs`. The store needs the account ``lead``."""
    _add_job(store, jobs, "0" * 15 + "1", "export-may.csv", _write_export(sample[:N_EXPORTED]))
    folder = _add_job(store, jobs, "0" * 15 + "2", log.name, log.read_bytes())
    score_jobs.queue_job(store, "lead", folder.path.name, ScoreOptions())
    manifest = _write_output(folder, verdicts)
    write_json(folder.request, score_files.score_command(folder, ScoreOptions()))
    folder.write_end(JobEnd(phase="done"))
    result = ScoreResult(
        dialogues=len(verdicts), findings=sum(len(each.findings) for each in verdicts),
        failed=manifest["failed"], release=verdicts[0].release if verdicts else "",
    )  # fmt: skip
    score_jobs.record_end(store, "lead", folder.path.name, "done", result)


def _add_job(store: Store, jobs: Path, job_id: str, name: str, content: bytes) -> JobFolder:
    folder, sha256 = score_files.write_log(jobs / job_id, name, content)
    new = NewScoreJob(id=job_id, name=name, size=len(content), sha256=sha256)
    score_jobs.create_job(store, "lead", new)
    write_json(folder.preview, describe_log(folder))
    return folder


def _write_export(dialogues: Sequence[Dialogue]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(("fall", "wer", "was_gesagt_wurde", "notiz"))
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if turn.role in ("customer", "agent") and turn.text:
                writer.writerow((dialogue.id, turn.role, turn.text, ""))
    writer.writerow(("broken", "", "A row without a speaker.", ""))
    return text.getvalue().encode()


def _write_output(folder: JobFolder, verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Write the output of `dialint score` for these verdicts. Returns the counts of failed dialogues."""
    with atomic_file(folder.out) as file:
        file.writelines(map(verdict_line, verdicts))
    with atomic_file(folder.rejects):
        pass
    findings: dict[str, Counter[str]] = {}
    suggestions: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        for counted, reported in ((findings, verdict.findings), (suggestions, verdict.suggestions)):
            for finding in reported:
                counted.setdefault(finding.code, Counter())[finding.severity] += 1
    status = Counter(verdict.status for verdict in verdicts)
    serious = sum(any(each.severity in SERIOUS for each in verdict.findings) for verdict in verdicts)
    release = verdicts[0].release if verdicts else ""
    write_manifest(manifest_path(folder.out), {
        "kind": "verdicts",
        "format": "jsonl",
        "files": [file_entry(folder.out, rows=len(verdicts)), file_entry(folder.rejects, rows=0)],
        "work": {"release": {"id": release, "taxonomy": load_taxonomy().version}},
        "counts": {
            "scored": status["scored"], "failed": status["failed"], "not_judged": status["not_judged"],
            "with_s1_or_s2": serious, "languages_not_judged": {},
            "failures": dict(Counter(verdict.failure for verdict in verdicts if verdict.failure)),
            "findings": {code: dict(by) for code, by in sorted(findings.items())},
            "suggestions": {code: dict(by) for code, by in sorted(suggestions.items())},
        },
        "not_covered": [],
        "reading": {"read": len(verdicts), "rejected": 0, "rejects": {}, "warnings": {}},
        "seconds": 0.0,
        "resumed_dialogues": 0,
    })  # fmt: skip
    return {"failed": status["failed"]}
