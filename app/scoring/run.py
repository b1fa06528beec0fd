"""One scoring run: its logs, detector, options and counts.

`prepare_run` validates everything before the first dialogue is scored.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from dialint.app.output import print_rich, print_status
from dialint.app.scoring.cluster import ClusterDetector
from dialint.app.scoring.job import DurableJob, GracefulShutdown
from dialint.app.scoring.judging import describe_options, describe_usage, judge_lines
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.summary import CostMeter, Tally, cost_line, summary_table
from dialint.detector.artifacts import disk_errors, file_entry, fingerprint, package_versions
from dialint.detector.checks import check_plugins
from dialint.detector.errors import ConfigError, InputRefused, TooManyBad
from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.ingest.sources import Source
from dialint.detector.interface import Detector
from dialint.detector.log_profile import Domain, LogProfile, profile_log
from dialint.detector.overrides import read_overrides
from dialint.detector.plugins import describe, plugins
from dialint.detector.progress import Progress, progress
from dialint.detector.records import Dialogue, Verdict, narrow_gaps
from dialint.detector.registry import resolve_release
from dialint.detector.release import EMBEDDED, load_coverage
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.tracing import trace_scoring
from dialint.detector.verdict_files import rejects_path

if TYPE_CHECKING:
    from dialint.detector.judge.stage import JudgedDetector

MIN_FOR_SHARE = 200
"""Least number of dialogues at which the share of failed ones may stop an unfinished run."""

MAX_CHUNK_CHARACTERS = 1_000_000
"""Characters of all turns at which a chunk ends early: one record may have eight times as many, and 128 of
them would not fit in memory."""
PACKAGES = ("dialint", "onnxruntime", "torch", "transformers", "tokenizers", "numpy", "pydantic", "pyarrow")

WITHOUT_SUGGESTIONS = ("junit",)
"""Formats without suggestions."""
NOT_IN_WORK = (
    "out", "fail_on", "max_failed", "restart", "quiet", "read", "detector", "watch", "cluster", "judge",
    "metrics", "watch_s", "import_", "session",
)  # fmt: skip
NOT_IN_READ = ("max_bad",)
"""Options that change no byte of the output, or are in the job's description in another form."""


def select_reported(
    verdict: Verdict, codes: frozenset[str], taxonomy: Taxonomy, *, needs_policy: bool
) -> Verdict:
    """Returns the verdict with the findings and suggestions of `codes` only (all if empty), and the quality
    by these. With `needs_policy` a dialogue to which no policy applies was not judged as a whole."""

    def is_reported(code: str) -> bool:
        return not codes or code in codes

    findings = tuple(each for each in verdict.findings if is_reported(each.code))
    suggestions = tuple(each for each in verdict.suggestions if is_reported(each.code))
    gaps = narrow_gaps(verdict.not_judged, is_reported)
    no_policy = tuple(filter(is_reported, verdict.no_policy))
    if verdict.status == "not_judged":
        gaps = gaps or verdict.not_judged
    lacks_policy = needs_policy and verdict.policy is None and bool(no_policy)
    is_whole = verdict.status == "scored" and not (gaps or verdict.judge_failures or lacks_policy)
    changed = {
        "findings": findings, "suggestions": suggestions, "not_judged": gaps, "no_policy": no_policy,
        "quality": taxonomy.quality(findings, verdict.team) if is_whole else None,
    }  # fmt: skip
    if all(getattr(verdict, name) == value for name, value in changed.items()):
        return verdict
    return Verdict.model_validate({**dict(verdict), **changed})


@dataclass
class ScoringRun:
    """One pass over the logs: sources, detector, the reported `codes` (all if empty) and counts. `notes` are
    lines on demoted codes, a log that is far from the calibration data, and the team's overrides."""

    config: ScoreConfig
    sources: list[Source]
    detector: Detector
    taxonomy: Taxonomy
    codes: frozenset[str]
    notes: Sequence[str] = ()
    counts: Counts = field(default_factory=Counts)
    tally: Tally = field(default_factory=Tally)
    meter: CostMeter = field(default_factory=CostMeter)
    _share_before: float = 0.0

    @property
    def read_counts(self) -> dict[str, Any]:
        """The counts of the reader, for the manifest and the summary table."""
        warnings = dict(sorted(self.counts.warnings.items()))
        if self.counts.duplicates:
            warnings["duplicates skipped"] = self.counts.duplicates
        facts = {name: lines for name, lines in self.counts.facts.items() if lines}
        return {
            **({"files": facts} if facts else {}),
            "read": self.counts.read,
            "rejected": self.counts.rejected,
            "rejects": dict(sorted(self.counts.codes.items())),
            "warnings": warnings,
        }

    @property
    def judged(self) -> JudgedDetector | None:
        """The detector, if it has a judge."""
        return None if self.detector.judge_info is None else cast("JudgedDetector", self.detector)

    @property
    def has_locations(self) -> bool:
        """True if the output has the file and line of each dialogue."""
        return self.config.output_format in ("junit", "sarif")

    def share_done(self, n: int) -> float:
        """Returns the progress after `n` dialogues, in [0, 1], by the logs' bytes or by ``--limit``."""
        if self.config.limit:
            return min(1.0, n / self.config.limit)
        total = sum(source.size for source in self.sources)
        return min(1.0, self.counts.bytes_read / total) if total else 0.0

    def score_logs(
        self,
        commit: Callable[[list[Loaded], list[Verdict]], None],
        *,
        shutdown: GracefulShutdown | None = None,
        note: Callable[[Loaded | Reject], None] = lambda record: None,
        keep: Callable[[int, Dialogue], bool] | None = None,
        sizes: Sequence[int] = (),
        check_done: Callable[[list[Loaded]], None] = lambda chunk: None,
    ) -> None:
        """Reads the logs, scores them chunk by chunk, and calls `commit` with each chunk and its verdicts;
        `shutdown` defers signals until it returns. `note` is called with every record, `keep` selects
        dialogues, as in `read`. The first chunks, of these `sizes`, were scored by an earlier run: they are
        passed to `check_done` instead."""
        records = read(self.sources, self.config.read, self.counts, keep)
        chunks = split_into_chunks(records, self.config.chunk_size, self.config.limit, note, sizes)
        inner, all_probabilities = self.detector, self.config.all_probabilities
        if (judged := self.judged) is not None:
            inner = judged.inner
            all_probabilities = all_probabilities or judged.is_ranked
        if isinstance(inner, ClusterDetector):  # it prefetches chunks
            chunks = inner.send_ahead(chunks, len(sizes), all_probabilities=all_probabilities)
        with progress("scoring", quiet=self.config.quiet) as report:
            for number, chunk in enumerate(chunks):
                if number < len(sizes):
                    check_done(chunk)
                    self._share_before = self.share_done(self.tally.n)
                    continue
                with nullcontext() if shutdown is None else shutdown.chunk():
                    commit(chunk, self.score_chunk(chunk, report))
                self.check_failures(at_end=False)

    def score_chunk(self, chunk: Sequence[Loaded], report: Progress) -> list[Verdict]:
        """Returns the verdicts of one chunk, in order, filtered and counted. `report` is called at the
        detector's progress, with the number of findings before the chunk.

        Raises:
            RuntimeError: the detector did not return one verdict for each dialogue, which is a defect.
        """
        before, share_before, monitor = self.tally.n, self._share_before, self.detector.monitor
        share, n_findings = self.share_done(before + len(chunk)), self.tally.n_findings

        def on_progress(n: int) -> None:
            part = share_before + (share - share_before) * min(1.0, n / len(chunk))
            report(before + n, part, tokens=monitor.tokens, findings=n_findings)

        on_progress(0)
        if self.judged is not None:
            self.judged.n_before = before
        monitor.on_progress = on_progress
        dialogues = [loaded.dialogue for loaded in chunk]
        started_s = time.monotonic()
        with trace_scoring(len(dialogues), monitor):
            raw = self.detector.verdicts(dialogues, all_probabilities=self.config.all_probabilities)
        self.meter.scoring_s += time.monotonic() - started_s
        if [verdict.dialogue_id for verdict in raw] != [dialogue.id for dialogue in dialogues]:
            raise RuntimeError("the detector did not answer each dialogue once and in order")
        verdicts, needs_policy = [], bool(self.codes or self.config.detector.policy)
        for verdict, dialogue in zip(raw, dialogues, strict=True):
            placed = verdict.with_origin(dialogue)
            verdicts.append(select_reported(placed, self.codes, self.taxonomy, needs_policy=needs_policy))
            self.tally.add(verdicts[-1])
        report(self.tally.n, share, tokens=monitor.tokens, findings=self.tally.n_findings)
        self._share_before = share
        self.meter.dialogues += len(chunk)
        return verdicts

    def check_failures(self, *, at_end: bool) -> None:
        """Checks the share of dialogues that failed, or about which the judge gave no usable answer.

        Raises:
            TooManyBad: it is above ``--max-failed``.
        """
        if at_end or self.tally.n_judgeable >= MIN_FOR_SHARE:
            self.tally.check_failures(self.config.max_failed)

    def check_end(self) -> None:
        """Checks the counts after the last chunk. Those of the reader are repeated, as ``--limit`` may have
        stopped it before its own check.

        Raises:
            TooManyBad: too many bad records or failed dialogues.
            InputRefused: a log changed.
        """
        for source in self.sources:
            source.check_unchanged()
        self.counts.check_share(self.config.read.max_bad)
        self.check_failures(at_end=True)

    def print_summary(self) -> None:
        """Prints the summary table, on standard error if standard output has the result."""
        if self.tally.nothing_to_judge and not self.tally.n_judgeable:
            print_status("no dialogue has an agent's turn, so nothing was judged")
        if not self.config.quiet:
            stdout_has_result = self.config.out is None and self.config.output_format != "text"
            print_rich(
                summary_table(
                    self.tally,
                    self.read_counts,
                    self.detector,
                    self.notes,
                    judge_lines(self.detector.judge_info, self.config.judge, self.tally.judge_counts()),
                ),
                to_stderr=stdout_has_result,
            )
            print_rich(Text(cost_line(self.meter.summarize(self.detector))), to_stderr=stdout_has_result)

    def exit_code(self) -> int:
        """Returns 0, or 1 if ``--fail-on`` found something.

        Raises:
            TooManyBad: it found nothing, but too many dialogues were not judged.
        """
        return self.tally.gate(self.config.fail_on, self.config.max_failed)


def resolve_scan(config: ScoreConfig) -> ScoreConfig:
    """Returns the options with ``--scan off`` if no finding of the scan would be reported, by the requested
    codes and format and the codes for which the scan only suggests."""
    detector = config.detector
    if detector.scan == "off" or config.judge.judge is not None or config.all_probabilities:
        return config
    taxonomy, overrides = load_taxonomy(detector.taxonomy), read_overrides(detector.overrides)
    folder = EMBEDDED if detector.release is None else resolve_release("scan", detector.release)
    covered = load_coverage(folder, taxonomy, measured=False) or {}
    requested = taxonomy.select_codes(config.codes)
    for code, coverage in covered.items():
        if coverage.scan is None or (requested and code not in requested):
            continue
        may_accuse = coverage.scan.threshold is not None and code not in overrides.demotions
        may_suggest = "scan" in coverage.covered_by or code in overrides.thresholds
        if may_accuse or (may_suggest and config.output_format not in WITHOUT_SUGGESTIONS):
            return config
    return replace(config, detector=replace(detector, scan="off")) if covered else config


def exit_code_of_done(manifest: dict[str, Any], config: ScoreConfig) -> int:
    """Returns the exit code for a complete output, which may have been made with wider limits than `config`
    has.

    Raises:
        TooManyBad: as `ScoringRun.exit_code`, or more records are bad, or more dialogues failed, than
            `config` allows.
    """
    reading, counts = manifest["reading"], manifest["counts"]
    done = Counts(read=reading["read"], rejected=reading["rejected"], codes=Counter(reading["rejects"]))
    done.check_share(config.read.max_bad)
    tally = Tally.of_counts(counts)
    tally.check_failures(config.max_failed)
    return tally.gate(config.fail_on, config.max_failed)


def prepare_run(
    logs: Sequence[str], config: ScoreConfig, detector: Detector
) -> tuple[ScoringRun, dict[str, Any]]:
    """Returns the run, and the job's description: inputs, release and the options that change the output.

    Raises:
        UserError: a log, an option or the release is invalid.
    """
    taxonomy = detector.taxonomy
    sources = open_logs(logs, growing=config.only_new)
    if config.only_new and config.out is not None:  # it may be in the folder of the logs
        sources = [each for each in sources if each.path.resolve() != config.out.resolve()]
    hashes = {}
    for source in sources:
        try:
            hashes[source] = inspect(source, config.read)
        except InputRefused as error:  # a growing folder has logs without a record yet
            if not config.only_new or error.code != "E_NO_RECORDS":
                raise
    sources = list(hashes)
    requested = _describe_request(hashes, config, taxonomy)
    codes = frozenset(taxonomy.select_codes(config.codes))
    uncovered = sorted(codes - set(detector.codes))
    exact = {part.strip().upper() for part in ",".join(config.codes).split(",")}
    refused = sorted(exact & {*uncovered}) if config.fail_on else []
    if refused or (uncovered and len(uncovered) == len(codes)):  # no finding would not mean no error
        raise ConfigError(
            "E_CODE", "--codes: not covered by {release}: {codes}",
            release=detector.release, codes=" ".join(refused or uncovered),
        )  # fmt: skip
    if uncovered:
        print_status(f"not covered by {detector.release}, so never found: {' '.join(uncovered)}")
    overrides, info = read_overrides(config.detector.overrides), detector.info
    if config.detector.overrides is not None:
        overrides.check_release(config.detector.overrides, detector.release, info.codes if info else {})
    lines = [] if info is None else overrides.describe(info.codes)
    for measured in (overrides.spot_check, overrides.contract):
        if measured is not None:
            is_same = measured.log == fingerprint(sorted(each["sha256"] for each in requested["inputs"]))
            lines.insert(0, measured.summary + ("" if is_same else "; they are of another log"))
    domain = info.domain if info is not None else None
    log = _profile_head(sources, config, domain)
    far = ""
    if domain is not None and domain.is_far(log.distance, log.n_dialogues):
        far = describe_far(detector.release, domain, log.distance, config.detector.domain)
    team: dict[str, Any] = {}
    if overrides.fingerprint is not None:
        team = {"sha256": overrides.fingerprint, "thresholds": overrides.thresholds}
        team["spot_check"] = overrides.spot_check is not None
    checks, recognizers = check_plugins(config.detector.check), plugins("dialint.recognizers")
    others = describe([*checks.values(), *recognizers.values()])
    policies = {}
    if config.detector.policy:
        from dialint.detector.policy import load_policies

        policies = {name: each.fingerprint for name, each in load_policies(config.detector.policy).items()}
    description = {
        "inputs": requested["inputs"],
        "release": {
            "id": detector.release,
            "fingerprint": detector.fingerprint,
            "taxonomy": taxonomy.version,
            **({"policies": policies} if policies else {}),
            **({"plugins": others} if others else {}),
            **({"demoted": dict(overrides.demotions), "overrides": team} if team else {}),
        },
        "log": {
            "dialogues": log.n_dialogues,
            "fingerprint": log.fingerprint,
            **({} if log.distance is None else {"distance": log.distance}),
            **({"far": far} if far else {}),
        },
        "options": requested["options"],
    }
    detector = detector.with_log(log)
    detector.monitor.reset()
    notes = [f"{code} demoted to suggestions: {why}" for code, why in overrides.demotions.items()]
    notes += ([far] if far else []) + lines
    return ScoringRun(config, sources, detector, taxonomy, codes, notes), description


def describe_far(release: str, domain: Domain, distance: float | None, option: str) -> str:
    """Returns a line on a log that is far from the calibration data, with the consequence and advice."""
    consequence = (
        "what its scan finds are suggestions with lower probabilities; calibrate on your own: dialint eval "
        "spot-check, and --domain trust"
        if option == "auto"
        else "--domain trust takes its findings all the same; calibrate on your own: dialint eval spot-check"
    )
    return (
        f"far from what {release} was calibrated on ({100 * (distance or 0):.0f} % of the word pairs are "
        f"new, from {100 * domain.far_from:.0f} % on it is far): {consequence}"
    )


def _profile_head(sources: Sequence[Source], config: ScoreConfig, domain: Domain | None) -> LogProfile:
    """Profiles the log by its first dialogues, up to an error of reading, which the scoring pass raises."""

    def dialogues() -> Iterator[Dialogue]:
        with suppress(InputRefused, TooManyBad):
            for record in read(sources, config.read, Counts()):
                if isinstance(record, Loaded):
                    yield record.dialogue

    return profile_log(dialogues(), domain)


def _describe_request(
    hashes: Mapping[Source, str], config: ScoreConfig, taxonomy: Taxonomy
) -> dict[str, Any]:
    """Returns the hashes of the logs, and the options that change the output."""
    inputs = [{"label": source.label, "sha256": digest} for source, digest in hashes.items()]
    options = {name: value for name, value in vars(config).items() if name not in NOT_IN_WORK}
    options |= {"format": config.output_format, "codes": sorted(taxonomy.select_codes(config.codes))}
    options |= describe_options(config.judge)
    options["read"] = {
        name: value for name, value in config.read.describe().items() if name not in NOT_IN_READ
    }
    if not config.only_new:
        del options["only_new"]
    if config.output_format == "junit":
        options["fail_on"] = config.fail_on
    if config.output_format in ("junit", "sarif"):
        options["names"] = [source.name for source in hashes]
    return {"inputs": inputs, "options": json.loads(json.dumps(options))}


def split_into_chunks(
    records: Iterable[Loaded | Reject],
    size: int,
    limit: int | None,
    note: Callable[[Loaded | Reject], None] = lambda record: None,
    sizes: Sequence[int] = (),
) -> Iterator[list[Loaded]]:
    """Yields chunks of `size` dialogues, or fewer if they reach `MAX_CHUNK_CHARACTERS`; stops after `limit`
    dialogues. `note` is called with every record. The first chunks have the `sizes` of those that an earlier
    run has scored, of which a limit may have cut the last."""
    chunk: list[Loaded] = []
    n = characters = 0
    sizes_before = deque(sizes)
    for record in records:
        note(record)
        if isinstance(record, Reject):
            continue
        chunk.append(record)
        n += 1
        characters += sum([len(turn.text) for turn in record.dialogue.turns])
        is_full = len(chunk) == size or characters >= MAX_CHUNK_CHARACTERS
        if len(chunk) == sizes_before[0] if sizes_before else is_full:
            yield chunk
            chunk, characters = [], 0
            if sizes_before:
                sizes_before.popleft()
        if n == limit:
            break
    if chunk:
        yield chunk


def describe_output(
    job: DurableJob,
    run: ScoringRun,
    description: dict[str, Any],
    started_at: datetime,
    tally: Tally | None = None,
) -> dict[str, Any]:
    """Returns the manifest; times and versions are those of this run. `tally` is that of the output if it
    holds more than this run's verdicts."""
    ended_at, tally = datetime.now(UTC), tally or run.tally
    is_part = run.config.output_format == "jsonl" and not run.config.only_new
    with disk_errors(job.folder):
        output = file_entry(job.part if is_part else job.final, rows=tally.n)
        rejects = file_entry(job.rejects, rows=run.counts.rejected)
    return {
        "kind": "verdicts",
        "format": run.config.output_format,
        "files": [{**output, "name": job.out.name}, {**rejects, "name": rejects_path(job.out).name}],
        "job": fingerprint(description),
        "work": description,
        "inputs": [
            {"name": source.name, "bytes": source.size, "sha256": entry["sha256"]}
            for source, entry in zip(run.sources, description["inputs"], strict=True)
        ],
        "counts": tally.counts(),
        **describe_usage(run.detector.judge_info, run.config.judge, tally.judge_counts()),
        "not_covered": [code for code in run.taxonomy.codes if code not in run.detector.codes],
        "reading": run.read_counts,
        "versions": package_versions(*PACKAGES),
        "started_at": started_at.isoformat(timespec="seconds"),
        "ended_at": ended_at.isoformat(timespec="seconds"),
        "seconds": round((ended_at - started_at).total_seconds(), 3),
        "cost": run.meter.summarize(run.detector),
        "resumed_dialogues": sum(chunk.rows for chunk in job.resumed),
    }
