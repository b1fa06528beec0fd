"""Argilla 2: records of one agent turn, as `records.to_json` writes them, as JSON lines or one array.

Source: argilla-io/argilla `records/_resource.py`, `_io/_generic.py`. A response is by one user to one
question; a user's responses to all questions of a record are one annotation. Drafts and discarded
responses are left out. Users are UUIDs: another name is written as a UUID made of it, and resolved on import
if the labelers are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelContext,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
)
from dialint.labeling.exchange.values import items, mapping, objects, text

QUESTION, FIELD, CHAT = "err", "reply", "chat"
NAMESPACE = UUID("6c9d3b52-6f0e-4f7e-9a52-2a7a1d0c5c11")
"""Namespace of the UUIDs made of labelers' names."""
_ROLES = {"customer": "user", "agent": "assistant", "bot": "assistant"}


def _matches(row: Row) -> bool:
    return isinstance(row.get("fields"), dict) and ("responses" in row or "suggestions" in row)


def _read(row: Row, state: ReadState) -> ReadAnswers:
    fields, data = mapping(row.get("fields"), "fields"), mapping(row.get("metadata"), "metadata")
    turn_text = fields.get(FIELD, fields.get("text"))
    view, turn = turn_records.locate_turn(_own_data(row, data), turn_text, state, "metadata.")
    values_by_user: dict[str, list[Any]] = {}
    for responses in mapping(row.get("responses"), "responses").values():
        for response in objects(responses, "responses"):
            if response.get("status") not in (None, "submitted"):
                state.skipped["not submitted"] += 1
                continue
            user = text(response.get("user_id"), "responses.user_id")
            values_by_user.setdefault(user, []).append(response.get("value"))
    for user, values in values_by_user.items():
        try:
            findings = [f for value in values for f in _findings(value, turn_text, view, turn, state)]
            yield make_annotation(
                "argilla",
                view,
                labeler=_labeler(user, state.context),
                kind=state.kind,
                codes=state.context.codes(data.get("codes"), "codes", (finding.code for finding in findings)),
                turn=turn,
                findings=findings,
                seen_verdict=data.get("seen_verdict") in (True, "true") or bool(row.get("suggestions")),
            )
        except BadRecord as bad:
            yield bad


def _own_data(row: Row, data: Row) -> Row:
    """The record's own data; without them an id such as ``d1#3`` names dialogue and turn."""
    if "dialogue_id" in data:
        return data
    dialogue, sign, turn = str(row.get("id")).rpartition("#")
    return {**data, "dialogue_id": dialogue, "turn": turn} if sign else data


def _findings(
    value: object, turn_text: object, view: DialogueView, turn: int, state: ReadState
) -> Iterator[Finding]:
    """A list of spans, a list of labels, or one label."""
    values = [value] if isinstance(value, str) else items(value, "responses.value")
    labels = [item for item in values if isinstance(item, str)]
    yield from turn_records.read_turn_labels(labels, view, turn, state, "responses.value")
    spans = [item for item in values if not isinstance(item, str)]
    yield from turn_records.read_spans(spans, turn_text, view, turn, state, "responses.value")


def _labeler(user: str, context: LabelContext) -> str:
    names = _names_by_user(context.labelers) if context.labelers is not None else {}
    return context.labeler(names.get(user, user), "responses.user_id")


@lru_cache(maxsize=8)
def _names_by_user(labelers: frozenset[str]) -> dict[str, str]:
    return {user_id(name): name for name in labelers}


def user_id(labeler: str) -> str:
    """The UUID of a labeler: the name itself if it is one."""
    try:
        return str(UUID(labeler)) if str(UUID(labeler)) == labeler else str(uuid5(NAMESPACE, labeler))
    except ValueError:
        return str(uuid5(NAMESPACE, labeler))


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for item in dialogues:
        for part in turn_records.turn_parts(item):
            turns = [each for each in item.view.dialogue.turns if each.index <= part.turn]
            chat = [
                {"role": _ROLES.get(each.role, "system"), "content": item.view.text(each.index)}
                for each in turns
            ]
            model = (each for each in item.model if each.turn == part.turn and each.code in part.codes)
            suggestion = {
                "value": turn_records.span_rows(model, item), "score": None, "agent": item.release
            }  # fmt: skip
            row: Row = {
                "id": f"{item.view.dialogue.id}#{part.turn}",
                "fields": {CHAT: chat, FIELD: item.view.text(part.turn)},
                "metadata": turn_records.row_data(item, part) | {"seen_verdict": str(part.seen).lower()},
                "suggestions": {QUESTION: suggestion} if item.release is not None else {},
                "responses": {},
                "vectors": {},
            }
            if part.annotation is not None:
                value = turn_records.span_rows(part.findings, item)
                row["responses"] = {QUESTION: [{"value": value, "user_id": user_id(part.annotation.labeler)}]}
            yield row


FORMAT = LabelFormat("argilla", "jsonl", _matches, _read, _rows)
