"""The loop of ``dialint score``: logs are read and judged chunk by chunk into a durable job.

What an option means stands in `dialint.app.commands.score`, what a job survives in `dialint.app.scoring.job`.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dialint.app.commands.score import ScoreConfig, say
from dialint.app.scoring.chunks import chunked, longest
from dialint.app.scoring.final import make_final, manifest_of
from dialint.app.scoring.job import Job, hold
from dialint.app.scoring.journal import Chunk, ids_hash
from dialint.app.scoring.summary import Tally
from dialint.app.scoring.work import Pass, exit_code_of, is_done, prepared
from dialint.app.shutdown import GracefulShutdown, Interrupted, graceful_shutdown
from dialint.detector.artifacts import Appender, read_manifest, verify_files
from dialint.detector.detectors import Detector
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, TooManyBad
from dialint.detector.ingest.outcomes import Loaded, Reject
from dialint.detector.ingest.read import read
from dialint.detector.progress import Progress, progress
from dialint.detector.verdict_files import beside, find_manifest, manifest_path, parsed, verdict_line

MAX_NAME_BYTES = 255


def score_to_file(logs: Sequence[str], config: ScoreConfig, out: Path, detector: Detector | None) -> int:
    """Score into `out`, or go on with it, or say that it is done."""
    if not out.parent.is_dir():
        raise ConfigError("E_OPTION", f"--out: {out.parent}: no such folder")
    if len(os.fsencode(manifest_path(out).name)) > MAX_NAME_BYTES:
        raise ConfigError("E_OPTION", f"--out: the name of {manifest_path(out).name} is too long")
    with hold(out) as job:
        try:
            with graceful_shutdown() as drain:
                return finish(job, *prepared(logs, config, detector), drain)
        except TooManyBad as error:
            if error.code == "E_TOO_MANY_BAD":
                say(f"{out}: not written; the rejects so far are in {job.rejects}")
            raise
        except Interrupted as stop:
            say(f"stopped, {job.n_rows:,} dialogues are safe; the same command goes on from there")
            return stop.exit_code


def done_already(logs: Sequence[str], config: ScoreConfig, out: Path) -> int | None:
    """The exit code if this very job is whole, which is told; none if only a run can know.

    Raises:
        OutputRefused: the output was changed since.
    """
    path, folder = find_manifest(out), out.with_name(f".{beside(out)}.job")
    if "-" in logs or config.restart or folder.exists() or not path.exists():
        return None
    manifest = read_manifest(path)
    if manifest.get("kind") != "verdicts" or manifest["files"][0]["name"] != out.name:
        return None
    if not is_done(logs, config, manifest):
        return None
    verify_files(out.parent, manifest["files"])
    return _tell_done(out, manifest, config)


def _tell_done(out: Path, manifest: dict[str, Any], config: ScoreConfig) -> int:
    say(f"{out}: done already, {manifest['files'][0]['rows']:,} verdicts; nothing to do")
    return exit_code_of(manifest["counts"], config)


def finish(
    job: Job,
    work: Pass,
    description: dict[str, Any],
    drain: GracefulShutdown,
    tell_reject: Callable[[Reject], None] = lambda _: None,
) -> int:
    """Bring the job to its end, whatever of it is done by now; the exit code. Rejects go to their file, and
    to `tell_reject` as well."""
    manifest = job.finished(description, restart=work.config.restart)
    if manifest is not None:
        return _tell_done(job.out, manifest, work.config)
    started_at = datetime.now(UTC)
    job.begin(description, restart=work.config.restart)
    try:
        _fill(job, work, drain, tell_reject)
    except InputRefused:
        job.discard()  # the log was found bad while it was read: nothing of it is kept
        raise
    make_final(job, work)
    job.publish(manifest_of(job, work, description, started_at))
    work.close()
    return work.exit_code()


def _fill(job: Job, work: Pass, drain: GracefulShutdown, tell_reject: Callable[[Reject], None]) -> None:
    """Read all logs; judge and commit every chunk that no earlier run has done."""
    _recount(job, work.tally)
    if job.resumed:
        say(f"{job.out}: going on after {job.n_rows:,} dialogues")
    with (
        closing(Appender(job.rejects, 0)) as rejects,
        closing(Appender(job.places, 0)) as places,
        progress("scoring", quiet=work.config.quiet) as tell,
    ):

        def on_load(loaded: Loaded) -> None:
            if work.has_places:
                places.write(_json_line([loaded.file, loaded.line]))

        def on_reject(reject: Reject) -> None:
            rejects.write(_json_line(reject.as_json()))
            tell_reject(reject)

        records = read(work.sources, work.config.read, work.counts)
        chunks = chunked(records, work.config.chunk_size, work.config.limit, on_load, on_reject)
        left = deque(job.resumed)
        for number, chunk in enumerate(chunks):
            if left:
                _same_dialogues(job, left.popleft(), chunk)
                work.pass_over()
                continue
            with drain.chunk():
                _commit(job, work, chunk, number, tell)
            work.check_failures(at_end=False)
        if left:
            _same_dialogues(job, left[0], [])
        rejects.sync()
    work.check_reading()
    work.check_failures(at_end=True)


def _commit(job: Job, work: Pass, chunk: Sequence[Loaded], number: int, tell: Progress) -> None:
    began = time.monotonic()
    lines = [verdict_line(verdict) for verdict in work.judge(chunk, tell)]
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


def _same_dialogues(job: Job, done: Chunk, chunk: Sequence[Loaded]) -> None:
    """
    Raises:
        OutputRefused: the log no longer yields the dialogues that were `done`, though its bytes are the
            same: another version reads it otherwise.
    """
    if done.ids != ids_hash([loaded.dialogue.id for loaded in chunk]):
        raise OutputRefused(
            "E_OTHER_JOB",
            f"{job.out}: chunk {done.number} of the partial output holds other dialogues than the log yields "
            "now; --restart throws it away",
        )


def _json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
