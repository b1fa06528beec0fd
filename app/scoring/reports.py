"""Findings as reports: plain text for people, JUnit XML for test runners, SARIF 2.1.0 for code scanning.

All of them are written as a stream. Of a dialogue they contain only quotes. Source: OASIS SARIF 2.1.0, which
forbids unknown keys outside `properties`.
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO
from urllib.parse import quote as percent_encoded

from dialint.app.scoring.summary import SEVERITIES
from dialint.detector.calibration import format_probability
from dialint.detector.languages import describe_gaps
from dialint.detector.records import Finding, Severity, Verdict
from dialint.detector.taxonomy import Taxonomy


@dataclass(frozen=True)
class LocatedVerdict:
    """A verdict and the location of its dialogue: file name as in the command line, line from 1."""

    verdict: Verdict
    file: str
    line: int


def visible(text: str) -> str:
    """Returns `text` on one line, with a middle dot for each character that is not printable."""
    return "".join(char if char.isprintable() else "·" for char in " ".join(text.split()))


def as_text(verdict: Verdict, taxonomy: Taxonomy, printed: set[tuple[str, str]] | None = None) -> str:
    """Formats a dialogue's findings, then its suggestions; empty if there is none and all was judged. Omits
    findings in prepared lines whose (code, quote) is in `printed`, and adds those of the others to it."""
    if verdict.status == "failed":
        return f"{visible(verdict.dialogue_id)}   FAILED {verdict.failure}\n"
    if not verdict.findings and not verdict.suggestions and verdict.quality is not None:
        return ""
    quality = "" if verdict.quality is None else f"quality {verdict.quality:g}"
    facts = ", ".join(part for part in (quality, describe_gaps(verdict)) if part)
    lines = [f"{visible(verdict.dialogue_id)}   {facts}"]
    findings, suggestions = (_new(each, printed) for each in (verdict.findings, verdict.suggestions))
    for finding in findings:
        lines += finding_lines(finding, taxonomy)
    if left_out := len(verdict.findings) - len(findings):
        lines.append(f"  {left_out} more in prepared lines, shown above")
    if suggestions:
        lines.append("  suggestions, not counted:")
    for finding in suggestions:
        lines += [f"  {line}" for line in finding_lines(finding, taxonomy)]
    return "\n".join(lines) + "\n"


def _new(findings: Iterable[Finding], printed: set[tuple[str, str]] | None) -> list[Finding]:
    """Returns the findings except those in prepared lines in `printed`, to which the new ones are added."""
    if printed is None:
        return list(findings)
    new = []
    for finding in findings:
        key = finding.code, finding.quote
        if finding.fault != "template" or key not in printed:
            new.append(finding)
        if finding.fault == "template":
            printed.add(key)
    return new


def finding_lines(finding: Finding, taxonomy: Taxonomy) -> list[str]:
    """Formats a finding as lines: turn, severity, code, probability and quote; its reason; its rewrite."""
    lines = [
        f"  turn {finding.turn}  {finding.severity}  {title(finding.code, taxonomy)}"
        f"  {format_probability(finding.probability)}  “{visible(finding.quote)}”"
    ]
    # the reason without code, turn and quote, which are in the line above
    head, closing_quote, rest = finding.reason.partition("”")
    repeated = closing_quote and f" in turn {finding.turn}: “" in head
    if more := rest.strip(".;() ") if repeated else finding.reason:
        lines.append(f"      {visible(more)}")
    if finding.rewrite:
        lines.append(f"      better: {visible(finding.rewrite)}")
    return lines


def title(code: str, taxonomy: Taxonomy) -> str:
    entry = taxonomy.codes.get(code)
    return f"{code} {entry.name.en}" if entry else code


def explanation(finding: Finding, taxonomy: Taxonomy) -> str:
    """Returns a finding's code, name and reason, without a second name at the beginning of the reason."""
    entry = taxonomy.codes.get(finding.code)
    reason = finding.reason.removeprefix(f"{entry.name.en}: ") if entry else finding.reason
    return f"{title(finding.code, taxonomy)}: {visible(reason)}"


def _xml(text: str) -> str:
    """Returns `text` without the characters that XML 1.0 forbids."""
    return "".join(
        char
        for char in text
        if char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char >= "\U00010000"
    )


def _quoted(text: str) -> str:
    """Returns an attribute's quoted value; blanks are escaped, as parsers normalise them."""
    return f'"{escape(_xml(text)).translate({9: "&#9;", 10: "&#10;", 13: "&#13;"})}"'


def _element(tag: str, inside: str | None = None, /, **attributes: object) -> str:
    """Returns an XML element; `inside` is XML."""
    listed = "".join(f" {name}={_quoted(str(value))}" for name, value in attributes.items())
    return f"<{tag}{listed}/>" if inside is None else f"<{tag}{listed}>{inside}</{tag}>"


def _junit_case(located: LocatedVerdict, taxonomy: Taxonomy, fail_on: Severity | None) -> tuple[str, str]:
    """Returns the kind (passed, failure, error, skipped) and the XML of a test case."""
    verdict, file, line = located.verdict, located.file, located.line
    kind, inside, output = "passed", "", ""
    if verdict.status == "failed":
        kind = "error"
        inside = _element("error", message=verdict.failure or "?", type="failed")
    elif verdict.findings:
        body = "\n".join(
            f"turn {finding.turn}: {title(finding.code, taxonomy)} ({finding.severity}, "
            f"{format_probability(finding.probability)}): “{visible(finding.quote)}” "
            f"{visible(finding.reason)}"
            for finding in verdict.findings
        )
        output = escape(_xml(body), quote=False)
        least = len(SEVERITIES) if fail_on is None else SEVERITIES.index(fail_on)
        counted = [one for one in verdict.findings if SEVERITIES.index(one.severity) <= least]
        if counted:
            kind = "failure"
            short = "; ".join(f"{finding.code} turn {finding.turn}" for finding in counted)
            worst = min(counted, key=lambda finding: finding.severity)
            inside, output = _element("failure", output, message=short, type=worst.code), ""
    if kind == "passed" and verdict.judge_failures:
        kind = "error"
        inside = _element("error", message=describe_gaps(verdict), type=verdict.judge_failures[0])
    elif kind == "passed" and verdict.quality is None:
        kind = "skipped"
        inside = _element("skipped", message=describe_gaps(verdict))
    inside += f"<system-out>{output}</system-out>" if output else ""
    case = _element("testcase", inside, name=verdict.dialogue_id, classname=file, file=file, line=line)
    return kind, f"{case}\n"


def _junit_reject(reject: dict[str, Any]) -> str:
    name = reject.get("dialogue_id") or f"line {reject['line']}"
    message = f"{reject['code']}: found {reject['found']}, expected {reject['expected']}"
    error = _element("error", message=message, type=reject["code"])
    file, line = reject["file"], reject["line"]
    return _element("testcase", error, name=name, classname=file, file=file, line=line) + "\n"


def write_junit(
    verdicts: Iterable[LocatedVerdict],
    rejects: Iterable[dict[str, Any]],
    out: BinaryIO,
    taxonomy: Taxonomy,
    fail_on: Severity | None,
    files: Sequence[str],
    spool: BinaryIO,
) -> None:
    """Writes JUnit XML: a suite for each log, in the order of `files`, a test case for each dialogue.

    A finding is a failure (with `fail_on`: only if it is that severe), suggestions are left out; a dialogue
    that could not be read, or about which the judge gave no usable answer, is an error; one that was not
    judged as a whole for another reason is skipped.

    The suites' counts precede their cases, which are therefore buffered in `spool`, a temporary file.
    """
    out.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="dialint">\n')
    index = {file: number for number, file in enumerate(files)}
    judged = ((index[each.file], *_junit_case(each, taxonomy, fail_on)) for each in verdicts)
    rejected = ((index[str(each["file"])], "error", _junit_reject(each)) for each in rejects)
    cases = heapq.merge(judged, rejected, key=itemgetter(0))
    for number, own in groupby(cases, key=itemgetter(0)):
        totals: Counter[str] = Counter()
        spool.seek(0)
        spool.truncate()
        for _, kind, text in own:
            totals[kind] += 1
            spool.write(text.encode())
        head = (
            f'<testsuite name={_quoted(files[number])} tests="{totals.total()}" '
            f'failures="{totals["failure"]}" errors="{totals["error"]}" skipped="{totals["skipped"]}">\n'
        )
        out.write(head.encode())
        spool.seek(0)
        shutil.copyfileobj(spool, out)
        out.write(b"</testsuite>\n")
    out.write(b"</testsuites>\n")


LEVELS = {"S1": "error", "S2": "error", "S3": "warning", "S4": "note"}
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(
    verdicts: Iterable[LocatedVerdict],
    rejects: Iterable[dict[str, Any]],
    out: BinaryIO,
    taxonomy: Taxonomy,
    version: str,
    spool: BinaryIO,
) -> None:
    """Writes SARIF 2.1.0: a result for each finding and, of level note, each suggestion, with the line of the
    dialogue in the log and the property `kind`. A prepared line is one result, at its first location.
    Unreadable records and failed dialogues are tool notifications of level error, languages or policies that
    are not covered ones of level warning; they are buffered in `spool` until the results end."""
    order = {code: index for index, code in enumerate(taxonomy.codes)}
    rules = [
        {
            "id": code, "shortDescription": {"text": entry.name.en},
            "fullDescription": {"text": entry.definition},
            "defaultConfiguration": {"level": LEVELS[entry.severity]},
        }
        for code, entry in taxonomy.codes.items()
    ]  # fmt: skip
    driver = {"name": "dialint", "version": version, "rules": rules}
    out.write(f'{{"$schema":{json.dumps(SARIF_SCHEMA)},"version":"2.1.0","runs":[{{'.encode())
    out.write(f'"tool":{{"driver":{_json(driver)}}},"columnKind":"unicodeCodePoints","results":['.encode())

    def notify(text: str, file: str, line: int, level: str = "error") -> None:
        location = {"physicalLocation": _location(file, line)}
        note = {"level": level, "message": {"text": text}, "locations": [location]}
        spool.write((b"," if spool.tell() else b"") + _json(note).encode())

    first, printed = True, (set[tuple[str, str]](), set[tuple[str, str]]())  # findings, suggestions
    for one in verdicts:
        for result in _results(one, order, taxonomy, printed):
            out.write(b"\n" if first else b",\n")
            out.write(_json(result).encode())
            first = False
        if one.verdict.status == "failed":
            text = f"dialogue {one.verdict.dialogue_id} could not be judged: {one.verdict.failure}"
            notify(text, one.file, one.line)
        elif gap := describe_gaps(one.verdict):
            level = "error" if one.verdict.judge_failures else "warning"
            notify(f"dialogue {one.verdict.dialogue_id}: {gap}", one.file, one.line, level)
    for reject in rejects:
        text = f"{reject['code']}: found {reject['found']}, expected {reject['expected']}"
        notify(text, reject["file"], reject["line"])
    out.write(b'\n],"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[')
    spool.seek(0)
    shutil.copyfileobj(spool, out)
    out.write(b"]}]}]}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _location(file: str, line: int) -> dict[str, Any]:
    uri = percent_encoded(os.fsencode(file.replace("\\", "/")), safe="/")
    return {
        "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri},
        "region": {"startLine": max(1, line)},
    }


def _results(
    one: LocatedVerdict,
    order: dict[str, int],
    taxonomy: Taxonomy,
    printed: tuple[set[tuple[str, str]], set[tuple[str, str]]],
) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    both = [("finding", each) for each in _new(one.verdict.findings, printed[0])]
    both += [("suggestion", each) for each in _new(one.verdict.suggestions, printed[1])]
    for kind, finding in both:
        key = f"{one.verdict.dialogue_id}:{finding.turn}:{finding.code}"
        seen[key] = seen.get(key, 0) + 1
        location = _location(one.file, one.line)
        location["region"]["snippet"] = {"text": finding.quote}
        rule_index = {"ruleIndex": order[finding.code]} if finding.code in order else {}
        yield {
            "ruleId": finding.code,
            **rule_index,
            "level": LEVELS[finding.severity] if kind == "finding" else "note",
            "message": {
                "text": ("" if kind == "finding" else "Suggestion, not counted: ")
                + explanation(finding, taxonomy)
            },
            "locations": [
                {
                    "physicalLocation": location,
                    "logicalLocations": [
                        {
                            "name": f"turn {finding.turn}",
                            "fullyQualifiedName": f"{one.verdict.dialogue_id}/{finding.turn}",
                            "kind": "message",
                        }
                    ],
                }
            ],
            "partialFingerprints": {"dialogueTurnRule/v1": key if seen[key] == 1 else f"{key}#{seen[key]}"},
            "properties": {
                "dialogue_id": one.verdict.dialogue_id,
                "kind": kind,
                "turn": finding.turn,
                "start": finding.start,
                "end": finding.end,
                "severity": finding.severity,
                "probability": finding.probability,
            },
        }
