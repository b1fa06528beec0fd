"""``dialint score`` without ``--out``: the report goes to standard output; nothing is kept or resumed.

Text and JSONL are a stream. The other formats are whole or not there: they are made as a job in a
temporary folder, which goes away with the process.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dialint.app.commands.score import ScoreConfig, say
from dialint.app.scoring.chunks import chunked, longest
from dialint.app.scoring.job import hold
from dialint.app.scoring.loop import finish
from dialint.app.scoring.reports import as_text
from dialint.app.scoring.work import Pass, prepared
from dialint.app.shutdown import Interrupted, graceful_shutdown
from dialint.detector.artifacts import TEMPORARY, disk_errors
from dialint.detector.detectors import Detector
from dialint.detector.ingest.outcomes import Reject
from dialint.detector.ingest.read import read
from dialint.detector.progress import progress
from dialint.detector.verdict_files import verdict_line

N_REJECTS_SHOWN = 10


class RejectsTold:
    """Tells of the first rejects on standard error: no file will hold them."""

    def __init__(self) -> None:
        self._n = 0

    def __call__(self, reject: Reject) -> None:
        self._n += 1
        if self._n <= N_REJECTS_SHOWN:
            place = f"{reject.file}:{reject.line}"
            say(f"{place}: {reject.code}: found {reject.found}, expected {reject.expected}")


def score_to_screen(logs: Sequence[str], config: ScoreConfig, detector: Detector | None) -> int:
    """Report on standard output; the exit code."""
    if config.output_format in ("text", "jsonl"):
        return _stream(prepared(logs, config, detector)[0])
    with disk_errors(TEMPORARY):
        temporary = tempfile.TemporaryDirectory(prefix="dialint-")
    with temporary as folder:
        out = Path(folder) / "report"
        with hold(out) as job:
            try:
                with graceful_shutdown() as drain:
                    code = finish(job, *prepared(logs, config, detector), drain, RejectsTold())
            except Interrupted as stop:
                say("stopped; nothing is kept. With --out FILE the same command goes on where it stopped")
                return stop.exit_code
        with open(out, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return code


def _stream(work: Pass) -> int:
    as_jsonl = work.config.output_format == "jsonl"
    records = read(work.sources, work.config.read, work.counts)
    chunks = chunked(records, work.config.chunk_size, work.config.limit, lambda _: None, RejectsTold())
    with progress("scoring", quiet=work.config.quiet) as tell:
        tell(0, 0.0)
        for number, chunk in enumerate(chunks):
            began = time.monotonic()
            for verdict in work.judge(chunk, tell):
                if as_jsonl:
                    sys.stdout.buffer.write(verdict_line(verdict))
                elif text := as_text(verdict, work.taxonomy):
                    sys.stdout.write(text + "\n")
            sys.stdout.flush()
            work.tally.add_chunk(number, len(chunk), longest(chunk), time.monotonic() - began)
            work.check_failures(at_end=False)
    work.check_reading()
    work.check_failures(at_end=True)
    work.close()
    return work.exit_code()
