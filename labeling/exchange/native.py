"""Our own JSON lines: one whole `Annotation` a line. The only format that loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from dialint.detector.errors import excerpt
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.masking.spans import PLACEHOLDER
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Rejection
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
)


def _matches(row: Row) -> bool:
    return {"dialogue_id", "labeler", "kind", "codes"} <= row.keys()


def _read(row: Row, state: ReadState) -> ReadAnswers:
    view = state.context.view(row.get("dialogue_id"), "dialogue_id")
    try:
        annotation = Annotation.model_validate_json(json.dumps(row))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(
            str(part) if str(part) in _FIELDS or isinstance(part, int) else excerpt(part)
            for part in first["loc"]
        )
        raise BadRecord("E_LABEL", path, first["type"], first["msg"], view.dialogue.id) from None
    for code in annotation.codes:
        state.context.code(code, "codes")
    state.context.labeler(annotation.labeler, "labeler")
    if annotation.turn is not None:
        view.validate_turn(annotation.turn, "turn")
    for number, finding in enumerate(annotation.findings):
        _validate_finding(finding, view, f"findings[{number}]")
    for number, rejection in enumerate(annotation.rejections):
        view.validate_turn(rejection.turn, f"rejections[{number}].turn")
    yield annotation


_FIELDS = {*Annotation.model_fields, *Finding.model_fields, *Rejection.model_fields}


def _validate_finding(finding: Finding, view: DialogueView, path: str) -> None:
    """Check that a finding lies in its turn and quotes the words there."""
    view.validate_turn(finding.turn, f"{path}.turn")
    if finding.end > view.turn(finding.turn).n_places:
        raise BadRecord("E_LABEL", f"{path}.end", "an offset", "a span of the turn's text", view.dialogue.id)
    words = view.quote(finding.turn, finding.start, finding.end)
    masked = PLACEHOLDER.search(words) or PLACEHOLDER.search(finding.quote)
    if finding.quote != words and not masked:  # rules of masking may have changed since
        raise BadRecord("E_LABEL", f"{path}.quote", "other words", "the words of that span", view.dialogue.id)


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for item in dialogues:
        for annotation in item.annotations:
            yield annotation.model_dump(mode="json")


FORMAT = LabelFormat("dialint", "jsonl", _matches, _read, _rows)
