"""``dialint score --only-new``: incremental scoring of growing logs, once or in rounds (``--watch``).

One output holds the newest verdict of each dialogue. A round reads all logs; of several contents of one id
the last counts. A dialogue is scored if the output has no verdict on its content: the state file beside the
output holds the hash of each content, and that of the output's bytes, which binds it to that file. Verdicts
of dialogues that the logs lack stay. Failed dialogues are scored again.

A round is a job as of any output (`dialint.app.scoring.job`), but the lines of its part file begin with the
content's hash, and it is resumed although the logs have changed; contents in the part file are skipped like
those in the output. With ``--import`` a chunk is put into the store before it is committed; a kill in between
scores it again, which changes nothing in the store. Output and state are published together.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from dialint.app.output import print_status
from dialint.app.scoring.job import DurableJob, GracefulShutdown, Interrupted, graceful_shutdown, lock_job
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import ScoringRun, describe_output, prepare_run
from dialint.app.scoring.summary import NOTHING_TO_JUDGE, Tally
from dialint.detector.artifacts import Appender, atomic_file, json_line, sha256_file
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, TooManyBad, WorldError
from dialint.detector.ingest.object_store import is_object
from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
from dialint.detector.ingest.read import read
from dialint.detector.ingest.readers.grouping import open_spill
from dialint.detector.ingest.sources import list_files
from dialint.detector.interface import Detector
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.verdict_files import (
    FileFormat,
    convert_verdicts,
    read_verdicts,
    state_path,
    verdict_line,
)

HASH_LETTERS = 32
MAX_LISTED_IDS = 10
TRANSIENT = ("E_TOO_MANY_FAILED", "E_LOCKED")
"""Errors that may pass without a change of the logs, such as a judge that does not answer."""
TABLES = """
    CREATE TABLE scored (id TEXT PRIMARY KEY, content TEXT) WITHOUT ROWID;
    CREATE TABLE newest (id TEXT PRIMARY KEY, number INTEGER, content TEXT) WITHOUT ROWID
"""
"""The hash of the content of the verdict; that of the last content in the logs, and its record number."""
Importer = Callable[[Sequence[Dialogue], Sequence[Verdict]], list[str]]


def hash_content(dialogue: Dialogue) -> str:
    """Returns a hash of all fields of a dialogue."""
    return hashlib.sha256(dialogue.model_dump_json().encode()).hexdigest()[:HASH_LETTERS]


def score_new(logs: Sequence[str], config: ScoreConfig, detector: Detector) -> int:
    """Scores new and changed dialogues of `logs`, once or, with ``--watch``, until a signal. Errors that may
    pass, such as an unfinished log or a store that does not answer, are printed and do not end the watch."""
    seen: Any = None
    watch_s = config.watch_s
    if watch_s is not None and "-" in logs:
        raise ConfigError("E_OPTION", "--watch looks at files: standard input can be read once only")
    with open_importer(config) as importer, graceful_shutdown() as shutdown:
        try:
            while watch_s is not None:
                try:
                    now = list_signatures(logs)
                    if now is None or now != seen:
                        seen = now
                        run, whole = score_round(logs, config, detector, importer, shutdown)
                        config = replace(config, restart=False)
                        whole.check_failures(config.max_failed)
                        run.exit_code()
                except (InputRefused, OutputRefused, TooManyBad, WorldError) as error:
                    is_transient = isinstance(error, WorldError) or error.code in TRANSIENT
                    if isinstance(error, OutputRefused) and not is_transient:
                        raise
                    seen = None if is_transient else seen
                    at = datetime.now(UTC).isoformat(timespec="seconds")
                    print_status(f"{at} {error}; the watch goes on")
                time.sleep(watch_s)
            run, whole = score_round(logs, config, detector, importer, shutdown)
        except Interrupted as stop:
            return stop.exit_code
    whole.check_failures(config.max_failed)
    return run.exit_code()


def list_signatures(logs: Sequence[str]) -> Any:
    """Returns names and signatures of the files, to detect changes; None if there are objects."""
    if any(map(is_object, logs)):
        return None
    return [(source.name, source.signature) for source in list_files(logs)]


@contextmanager
def open_importer(config: ScoreConfig) -> Iterator[Importer | None]:
    """Yields a function that puts dialogues and their verdicts into the store of ``--import`` and returns the
    ids of those that the store left unchanged; None without the option."""
    if not config.import_:
        yield None
        return
    from dialint.labeling.exchange.store_transfer import batches
    from dialint.labeling.store.dialogues import MAX_PER_CALL, put_scored

    with config.session.open() as (store, actor):

        def put(dialogues: Sequence[Dialogue], verdicts: Sequence[Verdict]) -> list[str]:
            unchanged: list[str] = []
            for batch in batches(zip(dialogues, verdicts, strict=True), MAX_PER_CALL):
                unchanged += put_scored(store, actor, *zip(*batch, strict=True)).not_replaced
            return unchanged

        yield put


def score_round(
    logs: Sequence[str],
    config: ScoreConfig,
    detector: Detector,
    importer: Importer | None,
    shutdown: GracefulShutdown,
) -> tuple[ScoringRun, Tally]:
    """Scores new dialogues once, and publishes the output with them. Returns the run, and the tally of the
    whole output.

    Raises:
        OutputRefused: the output was made with other options or by another release.
        TooManyBad: too many records are bad, or dialogues failed; nothing was published.
    """
    assert config.out is not None
    with lock_job(config.out, growing=True) as job, open_spill(TABLES) as table:
        run, description = prepare_run(logs, config, detector)
        manifest = job.finished_manifest(description, restart=config.restart)
        job.begin(description, restart=config.restart)
        current = _Round(job, run, manifest, table)
        current.load_scored()
        pending = current.find_pending()
        if manifest and not pending and not job.n_rows and current.has_same_rejects():
            return run, Tally()
        started_at = datetime.now(UTC)
        try:
            current.score(pending, importer, shutdown)
        except Interrupted:
            print_status(f"stopped, {job.n_rows:,} dialogues are safe; the same command resumes there")
            raise
        whole = current.write_output()
        content = describe_output(job, run, description, started_at, whole)
        with shutdown.chunk():
            job.publish(content)
        run.print_summary()
        return run, whole


@dataclass(frozen=True)
class _Round:
    """One round: its job and run, the manifest of the output that it adds to, and a database of `TABLES`."""

    job: DurableJob
    run: ScoringRun
    manifest: dict[str, Any] | None
    table: sqlite3.Connection

    def load_scored(self) -> None:
        """Loads the hashes of the contents with a verdict, of the output's state and the interrupted job."""
        path = state_path(self.job.out)
        if self.manifest is not None and path.exists():
            with open(path, "rb") as lines, suppress(ValueError, TypeError, sqlite3.Error):
                first = json.loads(next(lines, b"0"))
                if first == {"output": self.manifest["files"][0]["sha256"]}:
                    rows = (tuple(json.loads(line)) for line in lines)
                    self.table.executemany("INSERT INTO scored VALUES (?, ?)", rows)
        for content, line in self._read_part():
            verdict = Verdict.model_validate_json(line)
            self._note(content, verdict)
            if _is_settled(verdict):
                self.run.tally.add(verdict)

    def find_pending(self) -> set[int]:
        """Returns the numbers of the records to score, and writes the rejects."""

        def note(number: int, dialogue: Dialogue) -> bool:
            row = (dialogue.id, number, hash_content(dialogue))
            self.table.execute("INSERT OR REPLACE INTO newest VALUES (?, ?, ?)", row)
            return False

        with closing(Appender(self.job.rejects, 0)) as rejects:
            for reject in read(self.run.sources, self.run.config.read, self.run.counts, note):
                assert isinstance(reject, Reject)
                rejects.write(json_line(reject.as_json()))
            rejects.sync()
        query = "SELECT number, scored.content FROM newest LEFT JOIN scored USING (id) "
        rows = self.table.execute(query + "WHERE scored.content IS NOT newest.content").fetchall()
        (n_all,) = self.table.execute("SELECT count(*) FROM newest").fetchone()
        self.run.counts.duplicates = self.run.counts.read - self.run.counts.rejected - n_all
        n_changed = sum(content is not None for _, content in rows)
        print_status(
            f"{self.job.out}: {len(rows) - n_changed:,} dialogues to judge, {n_changed:,} changed ones, "
            f"{n_all - len(rows):,} judged before" + (", not imported now" if self.run.config.import_ else "")
        )
        return {number for number, _ in rows}

    def has_same_rejects(self) -> bool:
        """Returns whether the output has the same rejects as this round."""
        assert self.manifest is not None
        return bool(self.manifest["files"][1]["sha256"] == sha256_file(self.job.rejects))

    def score(self, pending: set[int], importer: Importer | None, shutdown: GracefulShutdown) -> None:
        """Scores the pending dialogues; puts each chunk into the store, then commits it."""
        if not pending:
            return
        run, unchanged = self.run, list[str]()
        changed = InputRefused("E_CHANGED", "the logs changed while they were read; run the job again")
        n_before = self.job.n_rows

        def commit(chunk: list[Loaded], verdicts: list[Verdict]) -> None:
            dialogues = [loaded.dialogue for loaded in chunk]
            hashed = list(zip(map(hash_content, dialogues), verdicts, strict=True))
            newest = "SELECT 1 FROM newest WHERE id = ? AND content = ?"
            for content, verdict in hashed:
                if self.table.execute(newest, (verdict.dialogue_id, content)).fetchone() is None:
                    raise changed
            if importer is not None:
                unchanged.extend(importer(dialogues, verdicts))
            lines = [content.encode() + b" " + verdict_line(verdict) for content, verdict in hashed]
            self.job.commit(lines, [dialogue.id for dialogue in dialogues])
            for content, verdict in hashed:
                self._note(content, verdict)

        counts, run.counts = run.counts, Counts()  # of all logs; this pass may end early
        run.score_logs(commit, shutdown=shutdown, keep=lambda number, _: number in pending)
        run.counts = counts
        if run.config.limit is None and self.job.n_rows - n_before != len(pending):
            raise changed
        if unchanged:
            names = ", ".join(map(repr, unchanged[:MAX_LISTED_IDS]))
            names += ", ..." if len(unchanged) > MAX_LISTED_IDS else ""
            print_status(
                f"{len(unchanged):,} dialogues changed in what people have answered about; the store keeps "
                f"them, and their verdicts, as they were: {names}"
            )

    def write_output(self) -> Tally:
        """Writes the final output and its state; returns the tally of the output."""
        latest = {
            json.loads(line)["dialogue_id"]: number for number, (_, line) in enumerate(self._read_part())
        }
        whole = Tally()

        def lines() -> Iterator[bytes]:
            for verdict in read_verdicts(self.job.out) if self.manifest is not None else ():
                if verdict.dialogue_id not in latest:
                    whole.add(verdict)
                    yield verdict_line(verdict)
            for number, (_, line) in enumerate(self._read_part()):
                verdict = Verdict.model_validate_json(line)
                if latest[verdict.dialogue_id] == number:
                    whole.add(verdict)
                    yield line

        with atomic_file(self.job.final) as out:
            convert_verdicts(lines(), out, cast(FileFormat, self.run.config.output_format))
        with atomic_file(self.job.state) as out:
            out.write(json.dumps({"output": sha256_file(self.job.final)}).encode() + b"\n")
            for row in self.table.execute("SELECT id, content FROM scored ORDER BY id"):
                out.write(json.dumps(row).encode() + b"\n")
        return whole

    def _read_part(self) -> Iterator[tuple[str, bytes]]:
        with open(self.job.part, "rb") as part:
            for line in part:
                yield line[:HASH_LETTERS].decode(), line[HASH_LETTERS + 1 :]

    def _note(self, content: str, verdict: Verdict) -> None:
        if _is_settled(verdict):
            row = verdict.dialogue_id, content
            self.table.execute("INSERT OR REPLACE INTO scored VALUES (?, ?)", row)
        else:
            self.table.execute("DELETE FROM scored WHERE id = ?", (verdict.dialogue_id,))


def _is_settled(verdict: Verdict) -> bool:
    """Returns whether scoring again would give the same verdict."""
    return not verdict.judge_failures and (verdict.status != "failed" or verdict.failure == NOTHING_TO_JUDGE)
