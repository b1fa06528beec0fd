"""The end of a job: the output in its final form, and the manifest that describes it."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

from dialint.app.scoring.job import Job
from dialint.app.scoring.reports import Placed, write_junit
from dialint.app.scoring.sarif import write_sarif
from dialint.app.scoring.work import Pass
from dialint.detector.artifacts import atomic_file, described, disk_errors, fingerprint, versions
from dialint.detector.verdict_files import FileFormat, convert, parsed, rejects_path

PACKAGES = ("dialint", "torch", "transformers", "tokenizers", "numpy", "pydantic", "pyarrow")


def make_final(job: Job, work: Pass) -> None:
    """The output in its final form. Its bytes depend on the work alone, never on the run."""
    file_format = work.config.output_format
    if file_format == "jsonl":
        return  # the part file is it
    with atomic_file(job.final) as out, open(job.part, "rb") as lines:
        if work.has_places:
            _report(job, work, lines, out)
        else:
            convert(lines, out, cast(FileFormat, file_format))


def _report(job: Job, work: Pass, lines: BinaryIO, out: BinaryIO) -> None:
    with (
        open(job.places, "rb") as places,
        open(job.rejects, "rb") as reject_lines,
        tempfile.TemporaryFile(dir=job.folder) as spool,
    ):
        placed = (
            Placed(verdict, *json.loads(place)) for verdict, place in zip(parsed(lines), places, strict=True)
        )
        rejects = map(json.loads, reject_lines)
        if work.config.output_format == "junit":
            files = [source.name for source in work.sources]
            write_junit(placed, rejects, out, work.taxonomy, work.config.fail_on, files, spool)
        else:
            write_sarif(placed, rejects, out, work.taxonomy, versions("dialint").get("dialint", "0"), spool)


def manifest_of(job: Job, work: Pass, description: dict[str, Any], started_at: datetime) -> dict[str, Any]:
    """What was made of what, by what; times and versions are those of this run."""
    ended_at = datetime.now(UTC)
    jsonl = work.config.output_format == "jsonl"
    with disk_errors(job.folder):
        made = described(job.part if jsonl else job.final, rows=job.n_rows)
        rejects = described(job.rejects, rows=work.counts.rejected)
    return {
        "kind": "verdicts",
        "format": work.config.output_format,
        "files": [{**made, "name": job.out.name}, {**rejects, "name": rejects_path(job.out).name}],
        "job": fingerprint(description),
        "work": description,
        "request": work.request,
        "inputs": [
            {"name": source.name, "bytes": source.size, "sha256": known["sha256"]}
            for source, known in zip(work.sources, description["inputs"], strict=True)
        ],
        "counts": work.tally.counts(),
        "not_covered": [code for code in work.taxonomy.codes if code not in work.detector.codes],
        "reading": work.reading,
        "versions": versions(*PACKAGES),
        "started_at": started_at.isoformat(timespec="seconds"),
        "ended_at": ended_at.isoformat(timespec="seconds"),
        "seconds": round((ended_at - started_at).total_seconds(), 3),
        "resumed_dialogues": sum(chunk.rows for chunk in job.resumed),
    }
