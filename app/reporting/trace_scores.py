"""Findings as scores of traces, for Langfuse and Phoenix: the body of one request a line.

A finding belongs to the span that produced its turn: the first span of the conversation with the turn's text.
In logs without spans (exports of Langfuse) it belongs to the trace, or the session, with the dialogue's id.
Ids are hashes of dialogue, code and location, so that a second upload replaces the first; scores of findings
that no longer exist stay. Nothing is sent: the bodies are to be uploaded by curl.

Sources: https://api.reference.langfuse.com (POST /api/public/scores);
https://arize.com/docs/phoenix/sdk-api-reference (POST /v1/span_annotations).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats import traces
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.ingest.readers.streams import blocks
from dialint.detector.ingest.sources import Source
from dialint.detector.records import Verdict
from dialint.detector.verdict_files import read_verdicts

Target = Literal["langfuse", "phoenix"]


class Place(NamedTuple):
    """The trace and span of a turn; without a span, the trace or session of a dialogue."""

    trace: str
    span: str | None = None
    is_session: bool = False


def list_bodies(verdicts: Path, logs: Sequence[str], target: Target) -> Iterator[dict[str, Any] | None]:
    """Yields the bodies of the requests, in the order of the verdicts; None for a finding without a trace.

    Raises:
        OutputRefused, InputRefused, TooManyBad: as `read_verdicts` and `read`.
    """
    sources = open_logs(logs)
    outcomes = read(sources, ReadConfig(), Counts())
    dialogues = {each.dialogue.id: each.dialogue for each in outcomes if isinstance(each, Loaded)}
    spans, sessions = find_spans(sources)
    for verdict in read_verdicts(verdicts):
        name = verdict.dialogue_id
        texts = {turn.index: turn.text.strip() for turn in dialogues[name].turns} if name in dialogues else {}
        whole = None if spans or not texts else Place(name, is_session=name in sessions)
        places = [spans.get((name, texts.get(finding.turn, "")), whole) for finding in verdict.findings]
        if target == "langfuse":
            answered = [spans[name, text] for text in texts.values() if (name, text) in spans]
            yield from _langfuse(verdict, places, answered[-1] if answered else whole)
        else:
            yield from _phoenix(verdict, places)


def find_spans(logs: Sequence[Source]) -> tuple[Mapping[tuple[str, str], Place], frozenset[str]]:
    """Returns the span of each bot turn, by conversation and text, and the ids of sessions of Langfuse."""
    starts: dict[tuple[str, str], str] = {}
    places: dict[tuple[str, str], Place] = {}
    sessions: set[str] = set()
    for source in logs:
        for record in _records(b"".join(blocks(source, ReadConfig()))):
            sessions.update(str(record[key]) for key in ("sessionId", "session_id") if record.get(key))
            with suppress(BadRecord):  # rejected by the reader of the log
                for name, part in traces.parts(record, ""):
                    for message in part.get("messages", ()):
                        key, start = (name, message["text"].strip()), part["start"] or ""
                        if message["role"] == "bot" and part["span"] and start <= starts.get(key, start):
                            places[key] = Place(*part["span"])
                            starts[key] = start
    return places, frozenset(sessions)


def _records(content: bytes) -> Iterator[dict[str, Any]]:
    """Yields the objects of a JSON document, of its list or its ``data``, or of JSON lines."""
    try:
        whole = [json.loads(content)]
    except ValueError:
        whole = []
        for line in content.splitlines():
            with suppress(ValueError):
                whole.append(json.loads(line))
    for value in whole:
        inner = value.get("data") if isinstance(value, dict) else value
        items = inner if isinstance(inner, list) else [value]
        yield from (item for item in items if isinstance(item, dict))


def _key(verdict: Verdict, *values: object) -> str:
    return hashlib.sha256(repr((verdict.dialogue_id, *values)).encode()).hexdigest()[:32]


def _langfuse(
    verdict: Verdict, places: Sequence[Place | None], whole: Place | None
) -> Iterator[dict[str, Any] | None]:
    def body(place: Place, key: str, name: str, value: float, comment: str) -> dict[str, Any]:
        ids = {"sessionId" if place.is_session else "traceId": place.trace}
        ids |= {"observationId": place.span} if place.span else {}
        about = {"name": name, "value": value, "dataType": "NUMERIC", "comment": comment}
        return {"id": key, **ids, **about}

    for finding, place in zip(verdict.findings, places, strict=True):
        key = _key(verdict, finding.code, finding.turn, finding.start)
        comment = f"{finding.severity}: {finding.quote} ({finding.reason})"
        yield place and body(place, key, f"dialint {finding.code}", finding.probability, comment)
    if verdict.quality is not None and whole is not None:
        of_trace = whole._replace(span=None)
        yield body(of_trace, _key(verdict), "dialint quality", verdict.quality, verdict.release)


def _phoenix(verdict: Verdict, places: Sequence[Place | None]) -> Iterator[dict[str, Any] | None]:
    for finding, place in zip(verdict.findings, places, strict=True):
        result = {"label": finding.severity, "score": finding.probability, "explanation": finding.reason}
        annotation = {
            "name": f"dialint {finding.code}",
            "annotator_kind": "CODE",
            "result": result,
            "metadata": {"quote": finding.quote, "release": verdict.release},
            "identifier": _key(verdict, finding.code, finding.turn, finding.start),
        }
        span = place and place.span
        yield {"data": [{"span_id": span, **annotation}]} if span else None
