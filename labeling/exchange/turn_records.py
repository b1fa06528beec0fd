"""Rows of the tools that display one turn at a time: locating the turn, reading and writing its labels.

A row carries `dialogue_id`, `turn`, `codes` (those to answer) and `seen_verdict` as its own data, which the
tools return unchanged; the turn of a row without `turn` is located by its text. Offsets are code points.

Prodigy: JSONL. A row of spans, whose `token_end` is inclusive, counts if it was accepted; a binary row
answers yes or no to its label; choices are read, ignored rows left out. The annotator's name is not split
from the data set's in front of it, since both may contain hyphens. Source: explosion/prodigy-recipes
`example-datasets`; prodi.gy, page *Review*.

Doccano: JSONL of spans, entities or classes, with metadata at the top level. The annotator is the name of the
file (one for each in an archive) unless a field `labeler` names it. Source: doccano/doccano
`backend/data_export`, `data_import`.

Argilla 2: JSON lines or one array, as `records.to_json` writes them. A response is by one user to one
question; a user's responses to all questions of a record are one annotation. Drafts and discarded responses
are left out. Users are UUIDs: another name is written as a UUID made of it, and resolved on import if the
labelers are known. Source: argilla-io/argilla `records/_resource.py`, `_io/_generic.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, AnsweredQuestion
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
)
from dialint.labeling.exchange.values import integer, items, mapping, objects, text, timestamp


@dataclass(frozen=True)
class TurnRow:
    """The turn that a row is about, and its text there."""

    state: ReadState
    view: DialogueView
    turn: int
    text: object = None

    @classmethod
    def locate(cls, data: Row, turn_text: object, state: ReadState, path: str) -> TurnRow:
        """The turn that `data` names, or else the one whose text is `turn_text`."""
        view = state.context.view(data.get("dialogue_id"), f"{path}dialogue_id")
        if data.get("turn") in (None, ""):
            turn = view.find_turn(text(turn_text, "text"), "text")
        else:
            turn = view.validate_turn(integer(data["turn"], f"{path}turn"), f"{path}turn")
        return cls(state, view, turn, turn_text)

    def findings(self, labels: object, path: str) -> Iterator[Finding]:
        """The findings of spans ``{"start", "end", "label"}`` or ``[start, end, label]`` in the row's text,
        and of labels without a span, whose evidence is the whole turn."""
        context = self.state.context
        for number, item in enumerate(items(labels, path)):
            if isinstance(item, str):
                code, span = context.code(item, path), self.view.trimmed_span(self.turn)
            else:
                here = f"{path}[{number}]"
                if isinstance(item, list) and len(item) == 3:
                    item = dict(zip(("start", "end", "label"), item, strict=True))
                place = mapping(item, here)
                code = context.code(place.get("label"), f"{here}.label")
                start, end = (integer(place.get(name), f"{here}.{name}") for name in ("start", "end"))
                span = self.view.to_original(self.turn, text(self.text, "text"), start, end, here)
            yield context.finding(self.view, self.turn, code, span)

    def annotation(self, platform: str, labeler: str, path: str, **fields: Any) -> Annotation:
        """The answer of a labeler, whose name is at `path`; `fields` are others of `Annotation`."""
        fields |= {"labeler": self.state.context.labeler(labeler, path), "kind": self.state.kind}
        return make_annotation(platform, self.view, turn=self.turn, **fields)


class TurnPart(NamedTuple):
    """A turn of `item` to be labeled, with the codes to ask about and the model's findings to display; or,
    with an `annotation`, its answers about a turn. `seen` says whether the labeler sees the model's
    findings."""

    item: ExportItem
    turn: int
    codes: tuple[str, ...]
    findings: list[Finding]
    seen: bool
    annotation: Annotation | None = None

    @property
    def text(self) -> str:
        """The masked text of the turn."""
        return self.item.view.text(self.turn)

    @property
    def data(self) -> Row:
        """The row's own data, which the tool returns."""
        data = {"dialogue_id": self.item.view.dialogue.id, "turn": self.turn, "codes": list(self.codes)}
        return {**data, "seen_verdict": self.seen}

    def spans(self, findings: Iterable[Finding]) -> list[Row]:
        """Findings of the turn as spans in its masked text, in order."""
        places = sorted((*self.item.view.span(finding), finding.code) for finding in findings)
        return [dict(zip(("start", "end", "label"), place, strict=True)) for place in places]


def turn_parts(dialogues: Iterable[ExportItem]) -> Iterator[TurnPart]:
    """The answers of each annotation, turn by turn; of a dialogue without any, the turns to be labeled."""
    for item in dialogues:
        if not item.annotations:
            for turn, codes in item.requested_codes():
                model = [each for each in item.model if each.turn == turn and each.code in codes]
                yield TurnPart(item, turn, codes, model, item.release is not None)
        for annotation in item.annotations:
            by_turn: dict[int, list[AnsweredQuestion]] = {}
            for question in item.answers(annotation):
                by_turn.setdefault(question.turn, []).append(question)
            for turn, questions in by_turn.items():
                findings = [finding for question in questions for finding in question.findings]
                codes = tuple(question.code for question in questions)
                yield TurnPart(item, turn, codes, findings, annotation.seen_verdict, annotation)


def _read_doccano(row: Row, state: ReadState) -> ReadAnswers:
    turn = TurnRow.locate(row, row.get("text"), state, "")
    findings = list(turn.findings(row.get("label"), "label"))
    findings += turn.findings(row.get("cats"), "cats")
    findings += turn.findings([_span(each) for each in items(row.get("entities"), "entities")], "entities")
    codes = state.context.codes(row.get("codes"), "codes", (finding.code for finding in findings))
    seen = row.get("seen_verdict") is True
    labeler = text(row.get("labeler") or state.label, "labeler")
    yield turn.annotation("doccano", labeler, "labeler", codes=codes, findings=findings, seen_verdict=seen)


def _span(entity: object) -> object:
    if isinstance(entity, list):
        return entity
    fields = mapping(entity, "entities")
    return [fields.get("start_offset"), fields.get("end_offset"), fields.get("label")]


def _rows_doccano(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for number, part in enumerate(turn_parts(dialogues), 1):
        labels = [list(span.values()) for span in part.spans(part.findings)]
        row = {"id": number, "text": part.text, "label": labels, **part.data, "Comments": []}
        yield row if part.annotation is None else {**row, "labeler": part.annotation.labeler}


DOCCANO = LabelFormat(
    "doccano", "jsonl",
    lambda row: "text" in row
    and ("Comments" in row or "entities" in row or isinstance(row.get("label"), list)),
    _read_doccano, _rows_doccano,
)  # fmt: skip


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _read_prodigy(row: Row, state: ReadState) -> ReadAnswers:
    answer = row.get("answer")
    if answer == "ignore" or answer is None:
        state.skipped["ignored" if answer else "unanswered"] += 1
        return
    if answer not in ("accept", "reject"):
        raise BadRecord("E_LABEL", "answer", "another word", "accept, reject or ignore")
    is_binary = "label" in row and "spans" not in row
    if answer == "reject" and not is_binary:
        state.skipped["rejected"] += 1
        return
    meta = mapping(row.get("meta"), "meta")
    turn = TurnRow.locate(meta, row.get("text"), state, "meta.")
    if is_binary:
        codes: tuple[str, ...] = (state.context.code(row["label"], "label"),)
        findings = list(turn.findings([row["label"]] if answer == "accept" else [], "label"))
    elif "options" in row:
        findings = list(turn.findings(row.get("accept"), "accept"))
        names = [option.get("id") for option in objects(row["options"], "options")]
        codes = state.context.codes(names, "options", (finding.code for finding in findings))
    else:
        findings = list(turn.findings(row.get("spans"), "spans"))
        codes = state.context.codes(meta.get("codes"), "meta.codes", (finding.code for finding in findings))
    labeler = text(row.get("_annotator_id") or row.get("_session_id"), "_annotator_id")
    yield turn.annotation(
        "prodigy", labeler, "_annotator_id", codes=codes, findings=findings,
        seen_verdict=meta.get("seen_verdict") is True, at=timestamp(row.get("_timestamp"), "_timestamp"),
    )  # fmt: skip


def _rows_prodigy(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for part in turn_parts(dialogues):
        spans = part.spans(part.findings)
        tokens = _tokens(part.text, {offset for span in spans for offset in (span["start"], span["end"])})
        for span in spans:
            inside = [each for each in tokens if span["start"] < each["end"] and each["start"] < span["end"]]
            span.update({"token_start": inside[0]["id"], "token_end": inside[-1]["id"]} if inside else {})
        row: Row = {"text": part.text, "tokens": tokens, "spans": spans, "meta": part.data}
        if (annotation := part.annotation) is not None:
            row |= {"_view_id": "spans_manual", "answer": "accept"}
            row |= {"_annotator_id": annotation.labeler, "_session_id": annotation.labeler}
            row |= {"_timestamp": int(annotation.at.timestamp())} if annotation.at else {}
        yield row


def _tokens(words: str, edges: set[int]) -> list[Row]:
    """Words and signs, split where a span begins or ends: the tool accepts spans of whole tokens only."""
    cuts: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(words):
        inner = sorted(edge for edge in edges if match.start() < edge < match.end())
        cuts.extend(pairwise([match.start(), *inner, match.end()]))
    return [
        {"text": words[a:b], "start": a, "end": b, "id": number, "ws": words[b : b + 1].isspace()}
        for number, (a, b) in enumerate(cuts)
    ]


PRODIGY = LabelFormat(
    "prodigy", "jsonl",
    lambda row: "text" in row and bool({"_input_hash", "_task_hash", "_view_id"} & row.keys()),
    _read_prodigy, _rows_prodigy,
)  # fmt: skip


QUESTION, FIELD, CHAT = "err", "reply", "chat"
NAMESPACE = UUID("6c9d3b52-6f0e-4f7e-9a52-2a7a1d0c5c11")
"""Namespace of the UUIDs made of labelers' names."""
_ROLES = {"customer": "user", "agent": "assistant", "bot": "assistant"}


def _read_argilla(row: Row, state: ReadState) -> ReadAnswers:
    fields, data = mapping(row.get("fields"), "fields"), mapping(row.get("metadata"), "metadata")
    dialogue, sign, number = str(row.get("id")).rpartition("#")
    if sign and "dialogue_id" not in data:  # an id such as d1#3 names dialogue and turn
        data = {**data, "dialogue_id": dialogue, "turn": number}
    turn = TurnRow.locate(data, fields.get(FIELD, fields.get("text")), state, "metadata.")
    values_by_user: dict[str, list[Any]] = {}
    for responses in mapping(row.get("responses"), "responses").values():
        for response in objects(responses, "responses"):
            if response.get("status") not in (None, "submitted"):
                state.skipped["not submitted"] += 1
                continue
            user, value = text(response.get("user_id"), "responses.user_id"), response.get("value")
            values_by_user.setdefault(user, []).append([value] if isinstance(value, str) else value)
    seen = data.get("seen_verdict") in (True, "true") or bool(row.get("suggestions"))
    names = _names_by_user(state.context.labelers or frozenset())
    for user, values in values_by_user.items():
        try:
            findings = [each for value in values for each in turn.findings(value, "responses.value")]
            codes = state.context.codes(data.get("codes"), "codes", (finding.code for finding in findings))
            values_of_user = {"codes": codes, "findings": findings, "seen_verdict": seen}
            yield turn.annotation("argilla", names.get(user, user), "responses.user_id", **values_of_user)
        except BadRecord as bad:
            yield bad


@lru_cache(maxsize=8)
def _names_by_user(labelers: frozenset[str]) -> dict[str, str]:
    return {user_id(name): name for name in labelers}


def user_id(labeler: str) -> str:
    """The UUID of a labeler: the name itself if it is one."""
    try:
        if str(UUID(labeler)) == labeler:
            return labeler
    except ValueError:
        pass
    return str(uuid5(NAMESPACE, labeler))


def _rows_argilla(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for part in turn_parts(dialogues):
        view, release = part.item.view, part.item.release
        chat = [
            {"role": _ROLES.get(each.role, "system"), "content": view.text(each.index)}
            for each in view.dialogue.turns
            if each.index <= part.turn
        ]
        row: Row = {
            "id": f"{view.dialogue.id}#{part.turn}", "fields": {CHAT: chat, FIELD: part.text},
            "metadata": {**part.data, "seen_verdict": str(part.seen).lower()},
            "suggestions": {}, "responses": {}, "vectors": {},
        }  # fmt: skip
        if release is not None:
            model = part.spans(e for e in part.item.model if e.turn == part.turn and e.code in part.codes)
            row["suggestions"] = {QUESTION: {"value": model, "score": None, "agent": release}}
        if part.annotation is not None:
            response = {"value": part.spans(part.findings), "user_id": user_id(part.annotation.labeler)}
            row["responses"] = {QUESTION: [response]}
        yield row


ARGILLA = LabelFormat(
    "argilla", "jsonl",
    lambda row: isinstance(row.get("fields"), dict) and ("responses" in row or "suggestions" in row),
    _read_argilla, _rows_argilla,
)  # fmt: skip
