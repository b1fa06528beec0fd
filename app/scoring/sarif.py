"""Findings as SARIF 2.1.0, for code scanning and other viewers of static analysis.

Source: OASIS SARIF 2.1.0, which forbids unknown keys outside `properties`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO
from urllib.parse import quote as percent_encoded

from dialint.app.scoring.reports import Placed, explained
from dialint.detector.languages import gap_text
from dialint.detector.taxonomy import Taxonomy

LEVELS = {"S1": "error", "S2": "error", "S3": "warning", "S4": "note"}
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(
    placed: Iterable[Placed],
    rejects: Iterable[dict[str, Any]],
    out: BinaryIO,
    taxonomy: Taxonomy,
    version: str,
    spool: BinaryIO,
) -> None:
    """SARIF 2.1.0: a result for each finding, its line that of the dialogue in the log. What could not
    be read or judged is a tool notification of level error, a language that is not covered one of level
    warning; they wait in `spool` until the results end."""
    order = {code: index for index, code in enumerate(taxonomy.codes)}
    driver = {"name": "dialint", "version": version, "rules": [_rule(code, taxonomy) for code in order]}
    out.write(f'{{"$schema":{json.dumps(SARIF_SCHEMA)},"version":"2.1.0","runs":[{{'.encode())
    out.write(f'"tool":{{"driver":{_json(driver)}}},"columnKind":"unicodeCodePoints","results":['.encode())
    notes = 0
    first = True
    for one in placed:
        for result in _results(one, order, taxonomy):
            out.write(b"\n" if first else b",\n")
            out.write(_json(result).encode())
            first = False
        if one.verdict.status == "failed":
            text = f"dialogue {one.verdict.dialogue_id} could not be judged: {one.verdict.failure}"
            spool.write((b"," if notes else b"") + _json(_notification(text, one.file, one.line)).encode())
            notes += 1
        elif told := gap_text(one.verdict):
            text = f"dialogue {one.verdict.dialogue_id}: {told}"
            note = _notification(text, one.file, one.line, "warning")
            spool.write((b"," if notes else b"") + _json(note).encode())
            notes += 1
    for reject in rejects:
        text = f"{reject['code']}: found {reject['found']}, expected {reject['expected']}"
        note = _notification(text, reject["file"], reject["line"])
        spool.write((b"," if notes else b"") + _json(note).encode())
        notes += 1
    out.write(b'\n],"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[')
    spool.seek(0)
    while block := spool.read(1 << 20):
        out.write(block)
    out.write(b"]}]}]}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _rule(code: str, taxonomy: Taxonomy) -> dict[str, Any]:
    about = taxonomy.codes[code]
    return {
        "id": code,
        "shortDescription": {"text": about.name.en},
        "fullDescription": {"text": about.definition},
        "defaultConfiguration": {"level": LEVELS[about.severity]},
    }


def _location(file: str, line: int) -> dict[str, Any]:
    uri = percent_encoded(file.replace("\\", "/"), safe="/")
    return {
        "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri},
        "region": {"startLine": max(1, line)},
    }


def _notification(text: str, file: str, line: int, level: str = "error") -> dict[str, Any]:
    return {
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(file, line)}],
    }


def _results(one: Placed, order: dict[str, int], taxonomy: Taxonomy) -> Iterator[dict[str, Any]]:
    met: dict[str, int] = {}
    for finding in one.verdict.findings:
        key = f"{one.verdict.dialogue_id}:{finding.turn}:{finding.code}"
        met[key] = met.get(key, 0) + 1
        place = _location(one.file, one.line)
        place["region"]["snippet"] = {"text": finding.quote}
        known = {"ruleIndex": order[finding.code]} if finding.code in order else {}
        yield {
            "ruleId": finding.code,
            **known,
            "level": LEVELS[finding.severity],
            "message": {"text": explained(finding, taxonomy)},
            "locations": [
                {
                    "physicalLocation": place,
                    "logicalLocations": [
                        {
                            "name": f"turn {finding.turn}",
                            "fullyQualifiedName": f"{one.verdict.dialogue_id}/{finding.turn}",
                            "kind": "message",
                        }
                    ],
                }
            ],
            "partialFingerprints": {"dialogueTurnRule/v1": key if met[key] == 1 else f"{key}#{met[key]}"},
            "properties": {
                "dialogue_id": one.verdict.dialogue_id,
                "turn": finding.turn,
                "start": finding.start,
                "end": finding.end,
                "severity": finding.severity,
                "probability": finding.probability,
            },
        }
