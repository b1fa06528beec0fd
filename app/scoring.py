"""The loop of ``dialint score``: logs are checked whole, then judged chunk by chunk into a durable job.

What an option means stands in `app.score`, what a job survives in `app.job`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from app.chunks import Keep, chunked, judged, longest, selected_codes
from app.drain import Drain, Interrupted, draining
from app.job import Job, hold, ids_hash
from app.progress import progress
from app.reports import Placed, as_text, write_junit, write_sarif
from app.score import ScoreConfig, say
from app.summary import SEVERITIES, Tally, closing_table, found_from, show
from app.verdict_files import FileFormat, convert, parsed, rejects_path, verdict_line
from detector.artifacts import Appender, atomic_file, described, disk_errors, fingerprint, versions
from detector.errors import ConfigError, InputRefused, OutputRefused, TooManyBad
from detector.ingest.outcomes import Counts, Loaded, Reject
from detector.ingest.read import inspect, open_logs, read
from detector.ingest.sources import Source
from detector.detectors import Detector
from detector.records import Verdict
from detector.taxonomy import Taxonomy
from detector.taxonomy import load as load_taxonomy

PACKAGES = ("dialint", "torch", "transformers", "tokenizers", "numpy", "pydantic", "pyarrow")
MIN_FOR_SHARE = 200
"""Dialogues before the share of failed ones may stop a job that is not at its end."""
N_REJECTS_SHOWN = 10
NOT_IN_WORK = ("out", "fail_on", "max_failed", "restart", "quiet", "read", "detector", "min_severity")
NOT_IN_READ = ("max_bad",)


@dataclass
class Pass:
    """One pass over the logs: what is read, what judges it, what was counted on the way."""

    config: ScoreConfig
    sources: list[Source]
    detector: Detector
    taxonomy: Taxonomy
    keep: Keep
    counts: Counts = field(default_factory=Counts)
    tally: Tally = field(default_factory=Tally)

    @property
    def reading(self) -> dict[str, Any]:
        """What the reader counted, for the manifest and the closing table."""
        warnings = dict(sorted(self.counts.warnings.items()))
        if self.counts.duplicates:
            warnings["duplicates skipped"] = self.counts.duplicates
        return {
            "read": self.counts.read,
            "rejected": self.counts.rejected,
            "rejects": dict(sorted(self.counts.codes.items())),
            "warnings": warnings,
        }

    @property
    def has_places(self) -> bool:
        """Whether the output points into the logs."""
        return self.config.output_format in ("junit", "sarif")

    @property
    def share_read(self) -> float:
        """Share of the logs' bytes that is read, 0 to 1."""
        total = sum(source.size for source in self.sources)
        return min(1.0, self.counts.bytes_read / total) if total else 0.0

    def judge(self, chunk: Sequence[Loaded]) -> list[Verdict]:
        """The verdicts of one chunk, counted."""
        verdicts = judged(self.detector, chunk, self.keep, all_probabilities=self.config.all_probabilities)
        for verdict in verdicts:
            self.tally.add(verdict)
        return verdicts

    def check_failures(self, *, at_end: bool) -> None:
        """
        Raises:
            TooManyBad: more dialogues failed than the job allows; an outage is no clean log.
        """
        tally, allowed = self.tally, self.config.max_failed
        if tally.n and (at_end or tally.n >= MIN_FOR_SHARE) and tally.failed > allowed * tally.n:
            causes = ", ".join(f"{count} x {name}" for name, count in tally.failures.most_common(4))
            raise TooManyBad(
                "E_TOO_MANY_FAILED",
                f"{tally.failed} of {tally.n} dialogues could not be judged ({causes}); {allowed:.1%} are "
                "allowed. --restart tries them again, --max-failed 1 accepts them",
            )

    def close(self) -> None:
        """The closing table, on standard output unless that carries the result."""
        if not self.config.quiet:
            data_there = self.config.out is None and self.config.output_format != "text"
            show(closing_table(self.tally, self.reading, self.detector), to_stderr=data_there)

    def exit_code(self) -> int:
        """0, or 1 if ``--fail-on`` found something."""
        return int(found_from(self.tally.counts(), self.config.fail_on))


def prepared(
    logs: Sequence[str], config: ScoreConfig, detector: Detector | None
) -> tuple[Pass, dict[str, Any]]:
    """Everything that can be refused is refused here, before the first dialogue is judged; and what the
    work is: inputs, release and the options that change a byte of the output."""
    taxonomy = load_taxonomy(config.detector.taxonomy) if detector is None else detector.taxonomy
    codes = selected_codes(config.codes, taxonomy)
    severities = frozenset(SEVERITIES[: SEVERITIES.index(config.min_severity) + 1])
    sources = open_logs(logs)
    inputs = {source.label: inspect(source, config.read) for source in sources}
    if detector is None:
        from detector.pipeline import load_detector

        detector = load_detector(config.detector)
    _tell_uncovered(codes, detector)
    options = {name: value for name, value in vars(config).items() if name not in NOT_IN_WORK}
    reading = {name: value for name, value in asdict(config.read).items() if name not in NOT_IN_READ}
    options |= {"format": config.output_format, "codes": sorted(codes), "severities": sorted(severities)}
    options["read"] = reading
    if config.output_format == "junit":
        options["fail_on"] = config.fail_on
        options["names"] = [source.name for source in sources]
    if config.output_format == "sarif":
        options["names"] = [source.name for source in sources]
    work = {
        "inputs": inputs,
        "release": {
            "id": detector.release,
            "fingerprint": detector.fingerprint,
            "taxonomy": taxonomy.version,
        },
        "options": json.loads(json.dumps(options)),
    }
    return Pass(config, sources, detector, taxonomy, Keep(codes, severities, taxonomy)), work


def _tell_uncovered(codes: frozenset[str], detector: Detector) -> None:
    """
    Raises:
        ConfigError: the release covers none of the codes asked for, so silence would mean nothing.
    """
    uncovered = sorted(codes - set(detector.codes))
    if uncovered and len(uncovered) == len(codes):
        raise ConfigError("E_CODE", f"--codes: not covered by {detector.release}: {' '.join(uncovered)}")
    if uncovered:
        say(f"not covered by {detector.release}, so never found: {' '.join(uncovered)}")


def score_to_screen(logs: Sequence[str], config: ScoreConfig, detector: Detector | None) -> int:
    """Report on standard output; nothing is stored and nothing can be resumed."""
    if config.output_format in ("text", "jsonl"):
        return _stream(prepared(logs, config, detector)[0])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report"
        code = score_to_file(logs, config, out, detector)
        with open(out, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return code


def _stream(work: Pass) -> int:
    as_jsonl = work.config.output_format == "jsonl"
    shown = 0

    def on_reject(reject: Reject) -> None:
        nonlocal shown
        shown += 1
        if shown <= N_REJECTS_SHOWN:
            say(
                f"{reject.file}:{reject.line}: {reject.code}: "
                f"found {reject.found}, expected {reject.expected}"
            )

    records = read(work.sources, work.config.read, work.counts)
    with progress(quiet=work.config.quiet) as tell:
        for number, chunk in enumerate(
            chunked(records, work.config.chunk_size, work.config.limit, lambda _: None, on_reject)
        ):
            began = time.monotonic()
            for verdict in work.judge(chunk):
                if as_jsonl:
                    sys.stdout.buffer.write(verdict_line(verdict))
                elif text := as_text(verdict, work.taxonomy):
                    sys.stdout.write(text + "\n")
            sys.stdout.flush()
            work.tally.add_chunk(number, len(chunk), longest(chunk), time.monotonic() - began)
            tell(work.tally.n, work.share_read)
            work.check_failures(at_end=False)
    work.check_failures(at_end=True)
    work.close()
    return work.exit_code()


def score_to_file(logs: Sequence[str], config: ScoreConfig, out: Path, detector: Detector | None) -> int:
    """Score into `out`, or go on with it, or say that it is done."""
    if not out.parent.is_dir():
        raise ConfigError("E_OPTION", f"--out: {out.parent}: no such folder")
    with hold(out) as job:
        try:
            with draining() as drain:
                return _done(job, *prepared(logs, config, detector), drain)
        except InputRefused:
            job.discard()  # nothing of a refused log is kept
            raise
        except TooManyBad as error:
            if error.code == "E_TOO_MANY_BAD":
                say(f"{out}: not written; the rejects so far are in {job.rejects}")
            raise
        except Interrupted as stop:
            say(f"stopped, {job.n_rows:,} dialogues are safe; the same command goes on from there")
            return stop.exit_code


def _done(job: Job, work: Pass, description: dict[str, Any], drain: Drain) -> int:
    """Bring the job to its end, whatever of it is done by now."""
    manifest = job.finished(description)
    if manifest is not None:
        say(f"{job.out}: done already, {manifest['files'][0]['rows']:,} verdicts; nothing to do")
        return int(found_from(manifest["counts"], work.config.fail_on))
    started_at = datetime.now(UTC)
    job.begin(description, restart=work.config.restart)
    _fill(job, work, drain)
    _make_final(job, work)
    job.publish(_manifest(job, work, description, started_at))
    work.close()
    return work.exit_code()


def _fill(job: Job, work: Pass, drain: Drain) -> None:
    """Read all logs; judge and commit every chunk that no earlier run has done."""
    _recount(job, work.tally)
    if job.resumed:
        say(f"{job.out}: going on after {job.n_rows:,} dialogues")
    with (
        closing(Appender(job.rejects, 0)) as rejects,
        closing(Appender(job.places, 0)) as places,
        progress(quiet=work.config.quiet) as tell,
    ):

        def on_load(loaded: Loaded) -> None:
            if work.has_places:
                places.write(_json_line([loaded.file, loaded.line]))

        def on_reject(reject: Reject) -> None:
            rejects.write(_json_line(reject.as_json()))

        records = read(work.sources, work.config.read, work.counts)
        chunks = chunked(records, work.config.chunk_size, work.config.limit, on_load, on_reject)
        for number, chunk in enumerate(chunks):
            if number < len(job.resumed):
                _same_dialogues(job, number, chunk)
                continue
            tell(work.tally.n, work.share_read)
            with drain.chunk():
                _commit(job, work, chunk, number)
            work.check_failures(at_end=False)
        rejects.sync()
    work.check_failures(at_end=True)


def _commit(job: Job, work: Pass, chunk: Sequence[Loaded], number: int) -> None:
    began = time.monotonic()
    lines = [verdict_line(verdict) for verdict in work.judge(chunk)]
    seconds = time.monotonic() - began
    ids = [loaded.dialogue.id for loaded in chunk]
    job.commit(lines, ids, longest(chunk), seconds)
    work.tally.add_chunk(number, len(chunk), longest(chunk), seconds)


def _recount(job: Job, tally: Tally) -> None:
    """Count what earlier runs did."""
    with open(job.part, "rb") as file:
        for verdict in parsed(file):
            tally.add(verdict)
    for chunk in job.resumed:
        tally.add_chunk(chunk.number, chunk.rows, chunk.longest, chunk.seconds)


def _same_dialogues(job: Job, number: int, chunk: Sequence[Loaded]) -> None:
    if job.resumed[number].ids != ids_hash([loaded.dialogue.id for loaded in chunk]):
        raise OutputRefused(
            "E_OTHER_JOB",
            f"{job.out}: chunk {number} of the partial output holds other dialogues than the log yields now; "
            "--restart throws it away",
        )


def _json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _make_final(job: Job, work: Pass) -> None:
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


def _manifest(job: Job, work: Pass, description: dict[str, Any], started_at: datetime) -> dict[str, Any]:
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
        "inputs": [
            {"name": source.name, "bytes": source.size, "sha256": description["inputs"][source.label]}
            for source in work.sources
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
