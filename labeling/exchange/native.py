"""Our own JSON lines: one `Annotation` a line, whole. The one shape that loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from dialint.detector.errors import excerpt
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.masking.spans import PLACEHOLDER
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.format import Answers, Item, Reading, Row, Shape, Shown


def _matches(row: Row) -> bool:
    return {"dialogue_id", "labeler", "kind", "codes"} <= row.keys()


def _read(row: Row, reading: Reading) -> Answers:
    shown = reading.known.shown(row.get("dialogue_id"), "dialogue_id")
    try:
        annotation = Annotation.model_validate_json(json.dumps(row))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(
            str(part) if str(part) in _FIELDS or isinstance(part, int) else excerpt(part)
            for part in first["loc"]
        )
        raise BadRecord("E_LABEL", path, first["type"], first["msg"], shown.dialogue.id) from None
    for code in annotation.codes:
        reading.known.code(code, "codes")
    reading.known.labeler(annotation.labeler, "labeler")
    if annotation.turn is not None:
        shown.asked(annotation.turn, "turn")
    for number, finding in enumerate(annotation.findings):
        _check(finding, shown, f"findings[{number}]")
    yield annotation


_FIELDS = {*Annotation.model_fields, *Finding.model_fields}


def _check(finding: Finding, shown: Shown, path: str) -> None:
    """The finding lies in its turn and quotes what stands there."""
    shown.asked(finding.turn, f"{path}.turn")
    if finding.end > shown.length(finding.turn):
        raise BadRecord("E_LABEL", f"{path}.end", "an offset", "a span of the turn's text", shown.dialogue.id)
    words = shown.quote(finding.turn, finding.start, finding.end)
    masked = PLACEHOLDER.search(words) or PLACEHOLDER.search(finding.quote)
    if finding.quote != words and not masked:  # what is masked may have changed with the masking
        raise BadRecord(
            "E_LABEL", f"{path}.quote", "other words", "the words of that span", shown.dialogue.id
        )


def _rows(dialogues: Iterable[Item]) -> Iterator[Row]:
    for item in dialogues:
        for annotation in item.annotations:
            yield annotation.model_dump(mode="json")


SHAPE = Shape("dialint", "jsonl", _matches, _read, _rows)
