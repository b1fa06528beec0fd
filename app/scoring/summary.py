"""Counts over verdicts, for the summary table, the manifest and the exit code.

A failed dialogue is counted as failed and nowhere else, one in a language that the release does not cover as
not judged; its findings by exact checks count as findings. Suggestions are counted separately, and affect
neither the exit code nor the number of serious dialogues.

A dialogue that was not judged as a whole has one cause: a failure, also of the judge, which scoring again may
fix; or no agent's turn, a language or a missing policy, which it cannot. Too many of either fail
``--fail-on``.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dialint.detector.calibration import NEEDS_JUDGE, group_by_coverage
from dialint.detector.checks import proof_name
from dialint.detector.errors import TooManyBad
from dialint.detector.ingest.validation import STRIPPED
from dialint.detector.interface import Detector
from dialint.detector.languages import language_name
from dialint.detector.records import Severity, Verdict

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
SERIOUS = ("S1", "S2")
MAX_LISTED = 5
NOTHING_TO_JUDGE = "E_NO_AGENT_TURN"
UNCOVERED = {
    NOTHING_TO_JUDGE: ("no agent's turn", "--role says who is an agent"),
    "language": ("a language that the release does not cover", "--languages forces one"),
    "policy": ("no policy applies", "--policy FILE names one"),
}
"""Causes other than failures for which a dialogue was not judged as a whole, each with advice."""
RETRY = "--restart tries them again"
JUDGED = ("asked", "unasked", "unmet", "failures")
"""Names, in the manifest, of the fields of a judge's record that are counted by code or failure."""


@dataclass
class LanguageTally:
    """Counts of what was not judged because of one language: dialogues with agent turns in it, these turns,
    and the codes. `dialogues_not_judged` counts dialogues of which nothing was judged; `check_only` are codes
    covered by exact checks only."""

    dialogues: int = 0
    dialogues_not_judged: int = 0
    turns: int = 0
    codes: set[str] = field(default_factory=set)
    check_only: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, Any]:
        """Returns the counts for the manifest."""
        return {**vars(self), "codes": sorted(self.codes), "check_only": sorted(self.check_only)}


QUESTIONS = ("readings", "second_looks")
"""The kinds of questions to a judge."""


@dataclass
class Tally:
    """Counts over verdicts, in constant memory."""

    scored: int = 0
    failed: int = 0
    not_judged: int = 0
    no_policy: int = 0
    no_policy_codes: set[str] = field(default_factory=set)
    serious: int = 0
    serious_by_check: int = 0
    findings: dict[str, Counter[str]] = field(default_factory=dict)
    suggestions: dict[str, Counter[str]] = field(default_factory=dict)
    """By code and the rule that demoted them."""
    languages: dict[str, LanguageTally] = field(default_factory=dict)
    questions: Counter[str] = field(default_factory=Counter)
    """Questions to the judge by kind."""
    judged: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in JUDGED})
    """Numbers of dialogues by field of `JUDGED` and code, or failure."""
    failures: Counter[str] = field(default_factory=Counter)
    """Dialogues that failed, or about which the judge gave no usable answer, by error code."""
    uncovered: Counter[str] = field(default_factory=Counter)
    """Other dialogues that were not judged, or not as a whole, by the causes in `UNCOVERED`."""
    failed_ids: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of dialogues with a verdict, including failed ones and those not judged."""
        return self.scored + self.failed + self.not_judged

    @property
    def n_findings(self) -> int:
        return sum(by.total() for by in self.findings.values())

    @property
    def nothing_to_judge(self) -> int:
        """Number of dialogues without an agent turn."""
        return self.failures[NOTHING_TO_JUDGE]

    @property
    def n_judgeable(self) -> int:
        """Number of dialogues with an agent turn."""
        return self.n - self.nothing_to_judge

    @property
    def n_partly(self) -> int:
        """Number of scored dialogues of which a part was not judged."""
        return self.failures.total() + self.uncovered.total() - self.failed - self.not_judged

    @property
    def broken(self) -> Counter[str]:
        """Failures other than dialogues without an agent turn, by error code."""
        return Counter({name: count for name, count in self.failures.items() if name != NOTHING_TO_JUDGE})

    @classmethod
    def of_counts(cls, counts: dict[str, Any]) -> Tally:
        """Returns a tally with those counts of a manifest that determine the exit code."""
        return cls(
            counts["scored"],
            counts["failed"],
            counts["not_judged"],
            findings={code: Counter(by) for code, by in counts["findings"].items()},
            failures=Counter(counts["failures"]),
            uncovered=Counter(counts.get("uncovered", {})),
        )

    def check_failures(self, allowed: float) -> None:
        """
        Raises:
            TooManyBad: a larger share of the dialogues than `allowed` failed.
        """
        broken, n = self.broken, self.n_judgeable
        if broken.total() > allowed * n:
            raise TooManyBad(
                "E_TOO_MANY_FAILED",
                "{n_broken} of {n} dialogues could not be judged ({causes}); {share:.1f} % are allowed. "
                "--restart tries them again, --max-failed 1 accepts them",
                n_broken=broken.total(), n=n, share=100 * allowed,
                causes=", ".join(f"{count} x {name}" for name, count in broken.most_common(4)),
            )  # fmt: skip

    def gate(self, fail_on: Severity | None, allowed: float) -> int:
        """Returns 1 if there is a finding at least as severe as `fail_on`, else 0.

        Raises:
            TooManyBad: there is none, but a larger share of the dialogues than `allowed` was not judged.
        """
        if fail_on is None:
            return 0
        severities = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
        if any(by[severity] for by in self.findings.values() for severity in severities):
            return 1
        causes = self.failures + self.uncovered
        if causes.total() > allowed * self.n:
            listed = [(n, *UNCOVERED.get(name, (name, RETRY))) for name, n in causes.most_common(4)]
            raise TooManyBad(
                "E_NOT_JUDGED",
                "{n_unjudged} of {n} dialogues were not judged as a whole ({causes}), so --fail-on {fail_on} "
                "cannot vouch for the log; {share:.1f} % are allowed. {advice}, --max-failed 1 accepts them",
                n_unjudged=causes.total(), n=self.n, fail_on=fail_on, share=100 * allowed,
                advice=listed[0][2],
                causes=", ".join(f"{n} x {cause}" for n, cause, _ in listed),
            )  # fmt: skip
        return 0

    def add(self, verdict: Verdict) -> None:
        if (record := verdict.judge) is not None:
            self.questions.update({name: getattr(record, name) for name in QUESTIONS})
            by_name = (record.codes, record.unasked, record.unmet, record.failures.keys())
            for name, codes in zip(JUDGED, by_name, strict=True):
                self.judged[name].update(codes)
        if verdict.status == "failed":
            self.failed += 1
            self.failures[verdict.failure or "?"] += 1
            if verdict.failure != NOTHING_TO_JUDGE and len(self.failed_ids) < MAX_LISTED:
                self.failed_ids.append(verdict.dialogue_id)
            return
        if verdict.judge_failures:
            self.failures[verdict.judge_failures[0]] += 1
            if len(self.failed_ids) < MAX_LISTED:
                self.failed_ids.append(verdict.dialogue_id)
        elif verdict.quality is None:
            self.uncovered["language" if verdict.not_judged else "policy"] += 1
        serious = any(finding.severity in SERIOUS for finding in verdict.findings)
        if verdict.status == "scored":
            self.scored += 1
            self.serious += serious
        else:
            self.not_judged += 1
            self.serious_by_check += serious
        turns: dict[str, set[int]] = {}
        for gap in verdict.not_judged:
            language = self.languages.setdefault(gap.language, LanguageTally())
            language.codes.update(gap.codes)
            language.check_only.update(gap.check_only)
            turns.setdefault(gap.language, set()).update(gap.turns)
        for code, indices in turns.items():
            self.languages[code].dialogues += 1
            self.languages[code].turns += len(indices)
        if verdict.status == "not_judged":
            self.languages[max(turns, key=lambda code: len(turns[code]))].dialogues_not_judged += 1
        self.no_policy += bool(verdict.no_policy)
        self.no_policy_codes.update(verdict.no_policy)
        for finding in verdict.findings:
            self.findings.setdefault(finding.code, Counter())[finding.severity] += 1
        for finding in verdict.suggestions:
            self.suggestions.setdefault(finding.code, Counter())[proof_name(finding)] += 1

    def judge_counts(self) -> dict[str, Any]:
        """Returns the counts of the judge's section of the manifest, in a fixed order."""
        return {
            "questions": {name: self.questions[name] for name in QUESTIONS},
            **{name: dict(sorted(by.items())) for name, by in self.judged.items()},
        }

    def counts(self) -> dict[str, Any]:
        """Returns the counts for the manifest, in a fixed order."""
        no_policy = {"dialogues": self.no_policy, "codes": sorted(self.no_policy_codes)}
        suggestions = {code: dict(sorted(by.items())) for code, by in sorted(self.suggestions.items())}
        return {
            "scored": self.scored,
            "failed": self.failed,
            "not_judged": self.not_judged,
            "languages_not_judged": {code: one.counts() for code, one in sorted(self.languages.items())},
            **({"no_policy": no_policy} if self.no_policy else {}),
            "with_s1_or_s2": self.serious,
            "not_judged_with_s1_or_s2": self.serious_by_check,
            "failures": dict(sorted(self.failures.items())),
            "uncovered": dict(sorted(self.uncovered.items())),
            "findings": {
                code: {severity: by[severity] for severity in SEVERITIES if by[severity]}
                for code, by in sorted(self.findings.items())
            },
            **({"suggestions": suggestions} if suggestions else {}),
        }


def summary_table(
    tally: Tally,
    reading: dict[str, Any],
    detector: Detector,
    notes: Sequence[str] = (),
    judge: Sequence[str] = (),
) -> RenderableType:
    """Returns the summary: findings by code and severity, suggestions by code and demoting rule, the share of
    dialogues with an S1 or S2, failed ones, warnings, coverage. `reading` are the reader's counts
    (`ScoringRun.read_counts`), `notes` lines about overrides and the log, `judge` lines about the judge."""
    names = {code: entry.name.en for code, entry in detector.taxonomy.codes.items()}
    parts: list[RenderableType] = []
    if tally.findings:
        rows = [
            (
                code,
                names.get(code, ""),
                *(f"{by[each]:,}" if by[each] else "" for each in SEVERITIES),
                f"{by.total():,}",
            )
            for code, by in sorted(tally.findings.items())
        ]
        parts.append(_table("Findings", ("code", "error", *SEVERITIES, "all"), rows))
    if tally.suggestions:
        suggested = [
            (code, names.get(code, ""), format_causes(by), f"{by.total():,}")
            for code, by in sorted(tally.suggestions.items())
        ]
        title = "Suggestions: to be read, not counted as errors"
        parts.append(_table(title, ("code", "error", "demoted by", "all"), suggested))
    parts += [Text(line, "bold yellow") for line in notes]
    share = tally.serious / tally.scored if tally.scored else 0.0
    by_check = (
        f", {tally.serious_by_check:,} of them with an S1 or S2 by check" if tally.serious_by_check else ""
    )
    parts.append(
        Text(
            f"{tally.scored:,} dialogues scored, {tally.serious:,} ({100 * share:.1f} %) with an S1 or S2; "
            + (f"{partly:,} of them not judged as a whole; " if (partly := tally.n_partly) else "")
            + f"{tally.failed - tally.nothing_to_judge:,} failed; "
            + (f"{tally.not_judged:,} not judged{by_check}; " if tally.not_judged else "")
            + f"{reading['rejected']:,} records rejected"
        )
    )
    parts += [Text(line, "bold yellow") for line in language_warnings(tally, detector)]
    if tally.nothing_to_judge:
        parts.append(Text(f"nothing to judge, no agent's turn: {tally.nothing_to_judge:,}"))
    if tally.broken:
        reasons = ", ".join(f"{name} {count:,}" for name, count in tally.broken.most_common())
        ids = ", ".join(map(repr, tally.failed_ids))
        parts.append(Text(f"could not be judged, so not clean: {reasons}; first: {ids}", "bold yellow"))
    warnings = dict(sorted(reading["warnings"].items()))
    stripped = [f"{warnings.pop(name):,} {words}" for name, words in STRIPPED.items() if name in warnings]
    if stripped:
        parts.append(Text(f"stripped: {', '.join(stripped)}"))
    if warnings:
        parts.append(Text(f"warnings: {', '.join(f'{name} {count:,}' for name, count in warnings.items())}"))
    for name, facts in reading.get("files", {}).items():
        parts.append(Text(f"{name}: read with {', '.join(facts)}"))
    if tally.no_policy:
        codes = " ".join(sorted(tally.no_policy_codes))
        where = f"no policy with rules for {codes} applied to {tally.no_policy:,} dialogues"
        advice = "--policy FILE, or a dialogue's field policy, names one"
        parts.append(Text(f"{where}: not judged there; {advice}"))
    parts += [Text(line) for line in judge]
    parts += [Text(line) for line in _coverage_lines(detector)]
    return Group(*parts)


def _coverage_lines(detector: Detector) -> list[str]:
    """Returns the lines on covered codes, by kind of coverage as in ``dialint codes``, and uncovered ones."""
    info = detector.info
    if info is None:
        uncovered = [code for code in detector.taxonomy.codes if code not in detector.codes]
        return [f"not covered by {detector.release}: {' '.join(uncovered)}"] if uncovered else []
    groups = group_by_coverage(detector.taxonomy.codes, info.codes)
    not_covered = groups.pop(NEEDS_JUDGE, [])
    lines = [f"{name} by {detector.release}: {' '.join(codes)}" for name, codes in groups.items()]
    for language in sorted({each for code in info.codes.values() for each in code.unscanned_languages}):
        codes = [name for name, code in info.codes.items() if language in code.unscanned_languages]
        lines.append(f"the scan is off: in {language} nothing looks for {' '.join(codes)}")
    judge = detector.judge_info
    judge_only = [code for code in not_covered if judge is not None and code in detector.codes]
    if judge is not None and judge_only:
        lines.append(f"asked of judge {judge.name} only: {' '.join(judge_only)}")
    not_covered = [code for code in not_covered if code not in judge_only]
    if not_covered:
        lines.append(f"not covered by {detector.release}, {NEEDS_JUDGE}: {' '.join(not_covered)}")
    return lines


def language_warnings(tally: Tally, detector: Detector) -> list[str]:
    """Returns lines such as ``German: 74 dialogues (70 not judged at all), 281 agent turns; ...``."""
    lines = []
    for code, one in sorted(tally.languages.items(), key=lambda item: (-item[1].dialogues, item[0])):
        codes = sorted(one.codes)
        gaps = f"; {len(codes)} codes not judged: {' '.join(codes)}" if codes else ""
        checks = f"; by exact check only: {' '.join(sorted(one.check_only))}" if one.check_only else ""
        n_not = one.dialogues_not_judged
        entire = f" ({n_not:,} not judged at all)" if n_not else ""
        n = f"{one.dialogues:,} dialogue{'s' * (one.dialogues != 1)}{entire}"
        turns = f"{one.turns:,} agent turn{'s' * (one.turns != 1)}"
        lines.append(f"{language_name(code)}: {n}, {turns}{gaps}{checks}")
    if lines:
        lines.append(f"{detector.release} does not cover what is not judged, and nobody may call it clean")
    return lines


def format_causes(by: Counter[str]) -> str:
    """Formats the rules that demoted the suggestions of a code, with their counts."""
    return ", ".join(
        f"{name.removeprefix('demoted: ') or 'the release'} ({n:,})" for name, n in by.most_common()
    )


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Returns a table of codes with right-aligned figures."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in (*SEVERITIES, "all") else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


class CostMeter:
    """Measures time from its creation on; the run increments `scoring_s` and `dialogues`."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._cpu_before = _cpu_seconds()
        self.scoring_s = 0.0
        self.dialogues = 0

    def summarize(self, detector: Detector) -> dict[str, Any]:
        """Returns the figures for the manifest: seconds by stage of the detector, `read_write` outside of it,
        and `other` in it but in no stage, such as waiting for its worker. CPU seconds, unlike the others,
        include loading in the worker."""
        stages = detector.monitor.seconds
        total_s = time.monotonic() - self._started_s
        seconds = {
            "read_write": max(0.0, total_s - self.scoring_s),
            **stages,
            "other": max(0.0, self.scoring_s - sum(stages.values())),
        }
        return {
            "dialogues": self.dialogues,
            "tokens_scanned": detector.monitor.tokens,
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "seconds_all": round(total_s, 3),
            "cpu_seconds": round(_cpu_seconds() - self._cpu_before + detector.monitor.cpu_seconds(), 2),
            "dialogues_per_second": round(self.dialogues / total_s, 3) if total_s else None,
        }


def cost_line(cost: dict[str, Any]) -> str:
    """Formats the figures of `CostMeter.summarize` as one line."""
    shares = ", ".join(
        f"{name.replace('_', ' and ')} {value:,.1f}" for name, value in cost["seconds"].items()
    )
    speed = cost["dialogues_per_second"] or 0
    return (
        f"{cost['seconds_all']:,.1f} s ({shares}), {cost['cpu_seconds']:,.1f} s of processor time; "
        f"{cost['tokens_scanned']:,} tokens scanned, {speed:,.3g} dialogues a second"
    )


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
