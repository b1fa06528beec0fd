"""The loop of ``dialint score``: reads and scores logs chunk by chunk.

With ``--out`` the chunks go into a durable job (`dialint.app.scoring.job`) that the same command resumes.
Without it text or JSONL is streamed to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dialint.app.output import print_status
from dialint.app.scoring.cluster import ClusterDetector
from dialint.app.scoring.job import (
    Chunk,
    DurableJob,
    GracefulShutdown,
    Interrupted,
    graceful_shutdown,
    hash_ids,
    lock_job,
)
from dialint.app.scoring.judging import judged_detector, print_notes
from dialint.app.scoring.object_output import staged_output
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.reports import LocatedVerdict, as_text, write_junit, write_sarif
from dialint.app.scoring.run import (
    ScoringRun,
    describe_output,
    exit_code_of_done,
    prepare_run,
    resolve_scan,
)
from dialint.detector.artifacts import (
    Appender,
    atomic_file,
    disk_errors,
    json_line,
    package_versions,
)
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, TooManyBad
from dialint.detector.ingest.outcomes import Loaded, Reject
from dialint.detector.interface import Detector
from dialint.detector.manifests import MAX_NAME, is_plain
from dialint.detector.records import Verdict
from dialint.detector.tracing import start_tracing
from dialint.detector.verdict_files import (
    FileFormat,
    convert_verdicts,
    manifest_path,
    parse_verdicts,
    verdict_line,
)
from dialint.detector.watchdog import WatchedDetector, count_workers

if TYPE_CHECKING:
    from dialint.detector.judge.engine import JudgeEngine

N_REJECTS_PRINTED = 10


def run(
    logs: Sequence[str],
    config: ScoreConfig,
    detector: Detector | None = None,
    engine: JudgeEngine | None = None,
) -> int:
    """Scores `logs` by `config` and returns the exit code. Tests pass a `detector` and a judge's `engine`.

    Raises:
        UserError: the input, an option, the release or the output is invalid (exit 2), or too many records or
            dialogues failed (exit 3).
        WorldError: the disk is full or failed, or a store does not answer; the same command resumes later.
    """
    if not logs:
        raise ConfigError("E_OPTION", "no log was named; give files, globs, or - for standard input")
    start_tracing()
    with staged_output(config.out, restart=config.restart) as out:
        config = replace(config, out=out)
        code = _run(logs, config if detector else resolve_scan(config), detector, engine)
        if config.metrics is not None and out is not None and code in (0, 1):  # it is complete
            from dialint.app.scoring.metrics import write_metrics  # of an extra

            write_metrics(config.metrics, json.loads(manifest_path(out).read_bytes()))
        return code


def _run(
    logs: Sequence[str], config: ScoreConfig, detector: Detector | None, engine: JudgeEngine | None
) -> int:
    """As `run`, with an output on this machine."""
    if config.out is not None:
        check_out(config.out)
    with ExitStack() as stack:
        # Child processes start before the output is locked, so that none inherits the lock of a job that was
        # killed.
        scorer: Detector
        if config.cluster.cluster is not None and detector is None:
            cluster = ClusterDetector(config.detector, config.watch, config.cluster, print_status)
            scorer = stack.enter_context(cluster)
        elif config.watch.dialogue_seconds:
            inner, n = detector or config.detector, 1 if detector else count_workers(config.detector)
            scorer = stack.enter_context(WatchedDetector(inner, config.watch, print_status, n))
        else:
            from dialint.detector.rollout import load_rollout  # with all that a worker needs

            scorer = detector or load_rollout(config.detector)
        if config.judge.judge is not None:
            from dialint.detector.engines.judge_engines import open_judge

            judge = stack.enter_context(closing(engine or open_judge(config.judge)))
            scorer = judged_detector(scorer, judge, config)
        if scorer.judge_info is not None:
            print_notes(scorer.judge_info)
        if config.out is None:
            return score_to_stdout(prepare_run(logs, config, scorer)[0])
        if config.only_new:
            from dialint.app.scoring.nightly import score_new

            return score_new(logs, config, scorer)
        return score_to_file(logs, config, config.out, scorer)


def check_out(out: Path) -> None:
    """
    Raises:
        ConfigError: the folder does not exist, or the name is invalid.
    """
    if not out.parent.is_dir():
        raise ConfigError("E_OPTION", "--out: {path}: no such folder", path=out.parent)
    if not is_plain(out.name):
        raise ConfigError(
            "E_OPTION", "--out: {path}: no backslash, control character or drive letter may be in its name",
            path=out,
        )  # fmt: skip
    name = manifest_path(out).name
    if len(os.fsencode(name)) > MAX_NAME:
        raise ConfigError("E_OPTION", "--out: the name of {name} is too long", name=name)


def score_to_file(logs: Sequence[str], config: ScoreConfig, out: Path, detector: Detector) -> int:
    """Scores into `out`, resumes its job, or reports that it is done."""
    with lock_job(out) as job:
        try:
            with graceful_shutdown() as shutdown:
                return complete(job, *prepare_run(logs, config, detector), shutdown)
        except TooManyBad as error:
            if error.code == "E_TOO_MANY_BAD":
                print_status(f"{out}: not written; the rejects so far are in {job.rejects}")
            raise
        except Interrupted as stop:
            print_status(f"stopped, {job.n_rows:,} dialogues are safe; the same command resumes there")
            return stop.exit_code


def score_to_stdout(run: ScoringRun) -> int:
    """Streams text or JSONL to standard output."""
    as_jsonl = run.config.output_format == "jsonl"
    n_rejects = count()
    printed: set[tuple[str, str]] = set()

    def note(record: Loaded | Reject) -> None:  # without --out there is no file of rejects
        if isinstance(record, Reject) and next(n_rejects) < N_REJECTS_PRINTED:
            where = f"{record.file}:{record.line}"
            print_status(f"{where}: {record.code}: found {record.found}, expected {record.expected}")

    def write(chunk: list[Loaded], verdicts: list[Verdict]) -> None:
        with disk_errors("standard output"):
            for verdict in verdicts:
                if as_jsonl:
                    sys.stdout.buffer.write(verdict_line(verdict))
                elif text := as_text(verdict, run.taxonomy, printed):
                    sys.stdout.write(text + "\n")
            sys.stdout.flush()

    run.score_logs(write, note=note)
    run.check_end()
    run.print_summary()
    return run.exit_code()


def complete(
    job: DurableJob, run: ScoringRun, description: dict[str, Any], shutdown: GracefulShutdown
) -> int:
    """Completes the job from its current state and returns the exit code."""
    manifest = job.finished_manifest(description, restart=run.config.restart)
    if manifest is not None:
        print_status(f"{job.out}: done already, {manifest['files'][0]['rows']:,} verdicts; nothing to do")
        return exit_code_of_done(manifest, run.config)
    started_at = datetime.now(UTC)
    job.begin(description, restart=run.config.restart)
    try:
        score_chunks(job, run, shutdown)
    except InputRefused:
        job.discard()  # the log is invalid: no partial output is kept
        raise
    write_final(job, run)
    job.publish(describe_output(job, run, description, started_at))
    run.print_summary()
    return run.exit_code()


def score_chunks(job: DurableJob, run: ScoringRun, shutdown: GracefulShutdown) -> None:
    """Reads all logs; scores and commits the chunks that no earlier run has committed."""
    with open(job.part, "rb") as file:
        for verdict in parse_verdicts(file):
            run.tally.add(verdict)
    if job.resumed:
        print_status(f"{job.out}: resuming after {job.n_rows:,} dialogues")
    resumed = deque(job.resumed)
    with closing(Appender(job.rejects, 0)) as rejects, closing(Appender(job.locations, 0)) as locations:

        def note(record: Loaded | Reject) -> None:
            if isinstance(record, Reject):
                rejects.write(json_line(record.as_json()))
            elif run.has_locations:
                locations.write(json_line([record.file, record.line]))

        def commit(chunk: list[Loaded], verdicts: list[Verdict]) -> None:
            job.commit(map(verdict_line, verdicts), [loaded.dialogue.id for loaded in chunk])

        run.score_logs(
            commit,
            shutdown=shutdown,
            note=note,
            sizes=[done.rows for done in job.resumed],
            check_done=lambda chunk: _check_same_dialogues(job, resumed.popleft(), chunk),
        )
        if resumed:
            _check_same_dialogues(job, resumed[0], [])
        rejects.sync()
    run.check_end()


def _check_same_dialogues(job: DurableJob, done: Chunk, chunk: Sequence[Loaded]) -> None:
    """
    Raises:
        OutputRefused: the log no longer yields the dialogues of the committed chunk, though its bytes are the
            same: another version parses it differently.
    """
    if done.ids != hash_ids([loaded.dialogue.id for loaded in chunk]):
        raise OutputRefused(
            "E_OTHER_JOB",
            "{path}: chunk {n} of the partial output holds other dialogues than the log yields now; "
            "--restart throws it away",
            path=job.out, n=done.number,
        )  # fmt: skip


def write_final(job: DurableJob, run: ScoringRun) -> None:
    """Writes the output in its final format. Its bytes depend on the description of the job alone."""
    file_format = run.config.output_format
    if file_format == "jsonl":
        return  # the part file is the output
    with atomic_file(job.final) as out, open(job.part, "rb") as lines:
        if not run.has_locations:
            convert_verdicts(lines, out, cast(FileFormat, file_format))
            return
        with (
            open(job.locations, "rb") as locations,
            open(job.rejects, "rb") as reject_lines,
            tempfile.TemporaryFile(dir=job.folder) as spool,
        ):
            located = (
                LocatedVerdict(verdict, *json.loads(location))
                for verdict, location in zip(parse_verdicts(lines), locations, strict=True)
            )
            rejects = map(json.loads, reject_lines)
            if file_format == "junit":
                files = [source.name for source in run.sources]
                write_junit(located, rejects, out, run.taxonomy, run.config.fail_on, files, spool)
            else:
                version = package_versions("dialint").get("dialint", "0")
                write_sarif(located, rejects, out, run.taxonomy, version, spool)
