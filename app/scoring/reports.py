"""Findings for people and for test runners: plain text and JUnit XML; `sarif` has the third kind.

All of them are written as a stream. They show quotes, which is what the user asked for; nothing else
of a dialogue is in them. Scoring, counting and exit codes live elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

from dialint.app.scoring.summary import SEVERITIES
from dialint.detector.calibration import shown_probability
from dialint.detector.languages import gap_text
from dialint.detector.records import Finding, Severity, Verdict
from dialint.detector.taxonomy import Taxonomy


@dataclass(frozen=True)
class Placed:
    """A verdict and where its dialogue stands: file name as given, line from 1."""

    verdict: Verdict
    file: str
    line: int


def visible(text: str) -> str:
    """`text` on one line, what a terminal would obey or hide shown as a middle dot."""
    return "".join(char if char.isprintable() else "·" for char in " ".join(text.split()))


def as_text(verdict: Verdict, taxonomy: Taxonomy) -> str:
    """One dialogue's findings for a person; an empty string if there is nothing to say."""
    if verdict.status == "failed":
        return f"{visible(verdict.dialogue_id)}   FAILED {verdict.failure}\n"
    if not verdict.findings and verdict.status == "scored":
        return ""
    quality = "" if verdict.quality is None else f"quality {verdict.quality:g}"
    told = ", ".join(part for part in (quality, gap_text(verdict)) if part)
    lines = [f"{visible(verdict.dialogue_id)}   {told}"]
    for finding in verdict.findings:
        lines.append(
            f"  turn {finding.turn}  {finding.severity}  {title(finding.code, taxonomy)}"
            f"  {shown_probability(finding.probability)}  “{visible(finding.quote)}”"
        )
        if more := _more(finding):
            lines.append(f"      {visible(more)}")
        if finding.rewrite:
            lines.append(f"      better: {visible(finding.rewrite)}")
    return "\n".join(lines) + "\n"


def _more(finding: Finding) -> str:
    """What the reason says beyond code, turn and quote, which stand in the line above it."""
    seen, closed, more = finding.reason.partition("”")
    return more.strip(".;() ") if closed and f" in turn {finding.turn}: “" in seen else finding.reason


def title(code: str, taxonomy: Taxonomy) -> str:
    """A code with its name."""
    known = taxonomy.codes.get(code)
    return f"{code} {known.name.en}" if known else code


def explained(finding: Finding, taxonomy: Taxonomy) -> str:
    """A finding's reason after its code and name, which some reasons begin with themselves."""
    known = taxonomy.codes.get(finding.code)
    reason = finding.reason.removeprefix(f"{known.name.en}: ") if known else finding.reason
    return f"{title(finding.code, taxonomy)}: {visible(reason)}"


def _xml(text: str) -> str:
    """`text` without the characters that XML 1.0 forbids."""
    return "".join(
        char
        for char in text
        if char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char >= "\U00010000"
    )


def _counts(finding: Finding, fail_on: Severity | None) -> bool:
    return fail_on is None or SEVERITIES.index(finding.severity) <= SEVERITIES.index(fail_on)


def _junit_case(placed: Placed, taxonomy: Taxonomy, fail_on: Severity | None) -> tuple[str, str]:
    """One test case and what it is: passed, failure, error, or skipped where nothing was judged."""
    verdict = placed.verdict
    place = f"file={quoteattr(_xml(placed.file))} line={quoteattr(str(placed.line))}"
    name = f"name={quoteattr(_xml(verdict.dialogue_id))} classname={quoteattr(_xml(placed.file))}"
    kind, inside = "passed", ""
    if verdict.status == "failed":
        kind = "error"
        inside = f"<error message={quoteattr(_xml(verdict.failure or '?'))} type={quoteattr('failed')}/>"
    elif verdict.findings:
        body = escape(_xml("\n".join(_told(finding, taxonomy) for finding in verdict.findings)))
        counted = [finding for finding in verdict.findings if _counts(finding, fail_on)]
        if counted:
            kind = "failure"
            short = "; ".join(f"{finding.code} turn {finding.turn}" for finding in counted)
            worst = min(counted, key=lambda finding: finding.severity)
            inside = f"<failure message={quoteattr(short)} type={quoteattr(worst.code)}>{body}</failure>"
        else:
            inside = f"<system-out>{body}</system-out>"
    if kind == "passed" and verdict.status == "not_judged":
        kind = "skipped"
        inside = f"<skipped message={quoteattr(gap_text(verdict))}/>{inside}"
    elif kind == "passed" and not inside and gap_text(verdict):
        inside = f"<system-out>{escape(gap_text(verdict))}</system-out>"
    return kind, f"<testcase {name} {place}>{inside}</testcase>\n"


def _told(finding: Finding, taxonomy: Taxonomy) -> str:
    head = f"turn {finding.turn}: {title(finding.code, taxonomy)}"
    sure = f"({finding.severity}, {shown_probability(finding.probability)})"
    return f"{head} {sure}: “{visible(finding.quote)}” {visible(finding.reason)}"


def _junit_reject(reject: dict[str, Any]) -> str:
    name = reject.get("dialogue_id") or f"line {reject['line']}"
    told = f"{reject['code']}: found {reject['found']}, expected {reject['expected']}"
    return (
        f"<testcase name={quoteattr(_xml(name))} classname={quoteattr(_xml(reject['file']))} "
        f"file={quoteattr(_xml(reject['file']))} line={quoteattr(str(reject['line']))}>"
        f"<error message={quoteattr(_xml(told))} type={quoteattr(reject['code'])}/></testcase>\n"
    )


def write_junit(
    placed: Iterable[Placed],
    rejects: Iterable[dict[str, Any]],
    out: BinaryIO,
    taxonomy: Taxonomy,
    fail_on: Severity | None,
    files: Sequence[str],
    spool: BinaryIO,
) -> None:
    """JUnit XML: a suite for each log, in the order of `files`, a test case for each dialogue.

    A finding is a failure (with `fail_on`: only if it is that severe); a dialogue that could not be read
    or judged is an error, one in a language that the release does not cover is skipped.

    The suites' counts stand before their cases, so cases go through `spool`, a temporary file.
    """
    out.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="dialint">\n')
    of_verdicts = groupby(placed, key=lambda one: one.file)
    of_rejects = groupby(rejects, key=lambda one: str(one["file"]))
    cases = next(of_verdicts, None)
    bad = next(of_rejects, None)
    for file in files:
        totals = {"passed": 0, "failure": 0, "error": 0, "skipped": 0}
        spool.seek(0)
        spool.truncate()
        if cases and cases[0] == file:
            for one in cases[1]:
                kind, text = _junit_case(one, taxonomy, fail_on)
                totals[kind] += 1
                spool.write(text.encode())
            cases = next(of_verdicts, None)
        if bad and bad[0] == file:
            for reject in bad[1]:
                totals["error"] += 1
                spool.write(_junit_reject(reject).encode())
            bad = next(of_rejects, None)
        if any(totals.values()):
            _junit_suite(file, totals, spool, out)
    out.write(b"</testsuites>\n")


def _junit_suite(file: str, totals: dict[str, int], spool: BinaryIO, out: BinaryIO) -> None:
    head = (
        f'<testsuite name={quoteattr(_xml(file))} tests="{sum(totals.values())}" '
        f'failures="{totals["failure"]}" errors="{totals["error"]}" skipped="{totals["skipped"]}">\n'
    )
    out.write(head.encode())
    spool.seek(0)
    while block := spool.read(1 << 20):
        out.write(block)
    out.write(b"</testsuite>\n")
