"""What a scoring job is: its logs, its detector, its options, and what was counted on the way.

Everything that can be refused is refused here, before the first dialogue is judged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dialint.app.commands.score import ScoreConfig, say
from dialint.app.scoring.chunks import Keep, judged, selected_codes
from dialint.app.scoring.summary import SEVERITIES, Tally, check_judged, closing_table, found_from, show
from dialint.detector.artifacts import fingerprint, read_manifest, versions
from dialint.detector.detectors import Detector
from dialint.detector.errors import ConfigError, OutputRefused, TooManyBad
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs
from dialint.detector.ingest.sources import Source
from dialint.detector.progress import Progress
from dialint.detector.records import Severity, Verdict
from dialint.detector.release import EMBEDDED
from dialint.detector.release import MANIFEST as RELEASE_MANIFEST
from dialint.detector.taxonomy import Taxonomy
from dialint.detector.taxonomy import load as load_taxonomy
from dialint.detector.watchdog import Watched

MIN_FOR_SHARE = 200
"""Dialogues before the share of failed ones may stop a job that is not at its end."""

NOT_IN_WORK = (
    "out",
    "fail_on",
    "max_failed",
    "restart",
    "quiet",
    "read",
    "detector",
    "watch",
    "min_severity",
)
NOT_IN_READ = ("max_bad",)
"""Options that change no byte of the output, or stand in the work in another form."""


@dataclass
class Pass:
    """One pass over the logs: what is read, what judges it, what was counted on the way. `request` is as in
    `request_of`."""

    config: ScoreConfig
    sources: list[Source]
    detector: Detector
    taxonomy: Taxonomy
    keep: Keep
    request: str = ""
    counts: Counts = field(default_factory=Counts)
    tally: Tally = field(default_factory=Tally)
    _share_before: float = 0.0
    _tokens: int = 0
    _findings: int = 0
    _last: tuple[int, int] = (0, 0)

    @property
    def reading(self) -> dict[str, Any]:
        """What the reader counted, for the manifest and the closing table."""
        warnings = dict(sorted(self.counts.warnings.items()))
        if self.counts.duplicates:
            warnings["duplicates skipped"] = self.counts.duplicates
        facts = {name: told for name, told in self.counts.facts.items() if told}
        return {
            **({"files": facts} if facts else {}),
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

    def pass_over(self) -> None:
        """The chunk that was read is one that an earlier run has judged."""
        self._share_before = self.share_read

    def judge(self, chunk: Sequence[Loaded], tell: Progress) -> list[Verdict]:
        """The verdicts of one chunk, counted. `tell` hears of every batch of it that went through the model,
        where the detector says so; its findings are those before they are filtered."""
        before, share, share_before = self.tally.n, self.share_read, self._share_before

        def moved(n: int, tokens: int, findings: int) -> None:
            part = share_before + (share - share_before) * min(1.0, n / len(chunk))
            tell(before + n, part, tokens=self._tokens + tokens, findings=self._findings + findings)
            self._last = (tokens, findings)

        moved(0, 0, 0)
        if hasattr(self.detector, "moved"):
            self.detector.moved = moved
        verdicts = judged(self.detector, chunk, self.keep, all_probabilities=self.config.all_probabilities)
        for verdict in verdicts:
            self.tally.add(verdict)
        moved(len(chunk), *self._last)
        self._share_before = share
        self._tokens, self._findings = self._tokens + self._last[0], self._findings + self._last[1]
        return verdicts

    def check_failures(self, *, at_end: bool) -> None:
        """
        Raises:
            TooManyBad: more dialogues failed than the job allows; an outage is no clean log.
        """
        n, allowed = self.tally.n_judgeable, self.config.max_failed
        broken = self.tally.broken
        n_broken = broken.total()
        if n and (at_end or n >= MIN_FOR_SHARE) and n_broken > allowed * n:
            causes = ", ".join(f"{count} x {name}" for name, count in broken.most_common(4))
            raise TooManyBad(
                "E_TOO_MANY_FAILED",
                f"{n_broken} of {n} dialogues could not be judged ({causes}); {allowed:.1%} are "
                "allowed. --restart tries them again, --max-failed 1 accepts them",
            )

    def check_reading(self) -> None:
        """What the reader checks at its end, for ``--limit`` may have stopped it before.

        Raises:
            TooManyBad: over the share of bad records.
            InputRefused: a log changed.
        """
        for source in self.sources:
            source.check_unchanged()
        self.counts.check_share(self.config.read.max_bad)

    def close(self) -> None:
        """The closing table, on standard output unless that carries the result."""
        if self.tally.nothing_to_judge and not self.tally.n_judgeable:
            say("no dialogue has an agent's turn, so nothing was judged")
        if not self.config.quiet:
            data_there = self.config.out is None and self.config.output_format != "text"
            show(closing_table(self.tally, self.reading, self.detector), to_stderr=data_there)

    def exit_code(self) -> int:
        """As `exit_code_of` what was counted."""
        return exit_code_of(self.tally.counts(), self.config)


def exit_code_of(counts: dict[str, Any], config: ScoreConfig) -> int:
    """0, or 1 if ``--fail-on`` found something.

    Raises:
        TooManyBad: it found nothing and can't vouch for that, as too much is in other languages.
    """
    found = found_from(counts, config.fail_on)
    if not found:
        check_judged(counts, config.fail_on, config.max_failed)
    return int(found)


def prepared(
    logs: Sequence[str], config: ScoreConfig, detector: Detector | None
) -> tuple[Pass, dict[str, Any]]:
    """Everything that can be refused is refused here, before the first dialogue is judged; and what the
    work is: inputs, release and the options that change a byte of the output."""
    taxonomy = load_taxonomy(config.detector.taxonomy) if detector is None else detector.taxonomy
    sources = open_logs(logs)
    asked = _asked(sources, config, taxonomy)
    if isinstance(detector, Watched):
        detector.ready()
    elif detector is None:
        from dialint.detector.pipeline import load_detector

        detector = load_detector(config.detector)
    codes = selected_codes(config.codes, taxonomy)
    _tell_uncovered(codes, detector)
    work = {
        "inputs": asked["inputs"],
        "release": {
            "id": detector.release,
            "fingerprint": detector.fingerprint,
            "taxonomy": taxonomy.version,
        },
        "options": asked["options"],
    }
    severities = frozenset(_severities(config))
    keep = Keep(codes, severities, taxonomy)
    return Pass(config, sources, detector, taxonomy, keep, _request(asked, config, taxonomy)), work


def is_done(logs: Sequence[str], config: ScoreConfig, manifest: dict[str, Any]) -> bool:
    """Whether the job of a manifest is what is asked for, found without loading a model. A no is no proof:
    what only the loaded release can tell may still be the same.

    Raises:
        InputRefused: a log that cannot be read.
        ConfigError: an option that cannot be.
    """
    taxonomy = load_taxonomy(config.detector.taxonomy)
    asked = _asked(open_logs(logs), config, taxonomy)
    request = _request(asked, config, taxonomy)
    return bool(request) and manifest.get("request") == request


def _request(asked: dict[str, Any], config: ScoreConfig, taxonomy: Taxonomy) -> str:
    """Hash of the inputs and of every option, release and version that can change a byte of the output;
    empty for a release that cannot be read."""
    try:
        release = read_manifest((config.detector.release or EMBEDDED) / RELEASE_MANIFEST)
    except OutputRefused:
        return ""
    options = {name: str(value) for name, value in vars(config.detector).items() if name != "threads"}
    return fingerprint(
        [asked, release, taxonomy.model_dump(mode="json"), options, versions("dialint", "torch")]
    )


def _severities(config: ScoreConfig) -> tuple[Severity, ...]:
    return SEVERITIES[: SEVERITIES.index(config.min_severity) + 1]


def _asked(sources: Sequence[Source], config: ScoreConfig, taxonomy: Taxonomy) -> dict[str, Any]:
    """The hashes of the logs, and the options that change a byte of the output."""
    inputs = [{"label": source.label, "sha256": inspect(source, config.read)} for source in sources]
    codes = selected_codes(config.codes, taxonomy)
    options = {name: value for name, value in vars(config).items() if name not in NOT_IN_WORK}
    reading = {name: value for name, value in config.read.described().items() if name not in NOT_IN_READ}
    options |= {
        "format": config.output_format,
        "codes": sorted(codes),
        "severities": sorted(_severities(config)),
    }
    options["read"] = reading
    if config.output_format == "junit":
        options["fail_on"] = config.fail_on
        options["names"] = [source.name for source in sources]
    if config.output_format == "sarif":
        options["names"] = [source.name for source in sources]
    return {"inputs": inputs, "options": json.loads(json.dumps(options))}


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
