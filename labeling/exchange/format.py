"""The interface of another tool's label format, and the dialogues, codes and labelers its labels refer to.

A `LabelFormat` turns rows into annotations and back. One row may hold several people's answers; a bad answer
affects no other: it is raised, or yielded, as a `BadRecord` that names the field (E_LABEL or E_TYPE). Formats
are entries of the group ``dialint.label_formats``, where other packages offer theirs; ours is `NATIVE`. The
rows of a file are read by `dialint.detector.ingest.readers.tables`.

Other tools get masked text. Spans that come back refer to the masked text, or to the original if the tool had
that, and become offsets in the original with a masked quote. All dialogues are held in memory; a label of
any other is rejected.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

from pydantic import ValidationError

from dialint.detector.errors import ConfigError, excerpt
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, file_error
from dialint.detector.ingest.readers.tables import (
    DEFAULT_CONFIG,
    TableFormat,
    detect_table_format,
    read_rows,
)
from dialint.detector.ingest.sources import Source
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.masking.spans import PLACEHOLDER
from dialint.detector.plugins import Plugin, plugins
from dialint.detector.records import Dialogue, Finding, Turn
from dialint.detector.taxonomy import Taxonomy
from dialint.detector.tool_use import call_lines
from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
from dialint.labeling.annotation import (
    Annotation,
    AnsweredQuestion,
    Kind,
    Rejection,
    judged_turns,
    questions_in,
)
from dialint.labeling.exchange.values import from_line_feeds, items, label_error, text, with_line_feeds


def speaker(turn: Turn) -> str:
    """Returns the speaker's name as labelers read it on another platform."""
    return "tool, not seen by the customer" if turn.role == "tool" else turn.role


@dataclass(frozen=True)
class DialogueView:
    """A dialogue and its masked texts, turn by turn. The text of a turn without words is its calls of tools,
    a line each; a finding there has numbers of calls, of which spans of lines are made, and back."""

    dialogue: Dialogue

    @cached_property
    def _masked(self) -> tuple[Dialogue, tuple[MaskedText, ...]]:
        return mask_dialogue(self.dialogue)

    def _calls(self, turn: int) -> tuple[str, ...]:
        return call_lines(self._masked[0].turns[self._positions[turn]])

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {turn.index: position for position, turn in enumerate(self.dialogue.turns)}

    @cached_property
    def judged(self) -> tuple[int, ...]:
        """Indices of the turns that can hold an error."""
        return judged_turns(self.dialogue)

    def turn(self, turn: int) -> Turn:
        """The turn with this index."""
        return self.dialogue.turns[self._positions[turn]]

    def masked_text(self, turn: int) -> MaskedText:
        """The masked text of the turn with this index."""
        return self._masked[1][self._positions[turn]]

    def text(self, turn: int) -> str:
        """Returns the text of a turn that labelers see."""
        return "\n".join(self._calls(turn)) or self.masked_text(turn).text

    def span(self, finding: Finding) -> tuple[int, int]:
        """A finding's offsets in the masked text."""
        if calls := self._calls(finding.turn):
            start = sum(len(call) + 1 for call in calls[: finding.start])
            return start, start + len("\n".join(calls[finding.start : finding.end]))
        return self.masked_text(finding.turn).from_original(finding.start, finding.end)

    def validate_turn(self, turn: int, path: str) -> int:
        """`turn`, if it can hold an error."""
        if turn not in self.judged:
            raise BadRecord("E_LABEL", path, f"turn {turn}", "an agent's turn of the dialogue")
        return turn

    def find_turn(self, turn_text: str, path: str) -> int:
        """The one judged turn with this text, masked or not."""
        matches = [turn for turn in self.judged if turn_text in (self.text(turn), self.turn(turn).text)]
        if len(matches) != 1:
            raise BadRecord("E_LABEL", path, f"{len(matches)} turns", "the text of one turn, or its number")
        return matches[0]

    def to_original(self, turn: int, turn_text: str, start: int, end: int, path: str) -> tuple[int, int]:
        """Offsets in the original of ``[start, end)`` of `turn_text`, the turn's text in another tool."""
        masked, original = self.masked_text(turn), self.turn(turn).text
        try:
            for candidate in (self.text(turn), original):
                if turn_text == with_line_feeds(candidate) != candidate:
                    start, end = from_line_feeds(candidate, start), from_line_feeds(candidate, end)
                elif turn_text != candidate:
                    continue
                if not 0 <= start < end <= len(candidate):
                    raise ValueError("an empty span, or one outside the text")
                if self._calls(turn):
                    return candidate.count("\n", 0, start), candidate.count("\n", 0, end - 1) + 1
                return masked.to_original(start, end) if candidate == self.text(turn) else (start, end)
            raise ValueError("another text than the turn's")
        except ValueError as error:
            raise BadRecord(
                "E_LABEL", path, str(error), "a span of the turn's text", self.dialogue.id
            ) from None

    def trimmed_span(self, turn: int) -> tuple[int, int]:
        """Offsets of the turn's original text without outer blanks: the evidence of labels without a span."""
        if calls := self._calls(turn):
            return 0, len(calls)
        original = self.turn(turn).text
        return len(original) - len(original.lstrip()), len(original.rstrip())

    def quote(self, turn: int, start: int, end: int) -> str:
        """The masked text at offsets of the original."""
        if calls := self._calls(turn):
            return "\n".join(calls[start:end])
        masked = self.masked_text(turn)
        first, last = masked.from_original(start, end)
        return masked.text[first:last]


@dataclass
class LabelContext:
    """Dialogues, codes and labelers that labels may name.

    `requested` are the codes that labelers answered for where a record does not say; `names` maps another
    tool's label to a code; `labelers` are the existing accounts, or None to accept any name.
    """

    taxonomy: Taxonomy
    dialogues: Mapping[str, Dialogue]
    requested: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    labelers: frozenset[str] | None = None
    _last: DialogueView | None = None

    def view(self, name: object, path: str) -> DialogueView:
        """The dialogue of that id, as labelers see it."""
        dialogue = self.dialogues.get(text(name, path))
        if dialogue is None:
            raise label_error(path, str(name), "the id of a known dialogue")
        if self._last is None or self._last.dialogue is not dialogue:
            self._last = DialogueView(dialogue)  # labels of one dialogue are adjacent, and masking is slow
        return self._last

    def code(self, label: object, path: str) -> str:
        """The code of a label."""
        name = text(label, path)
        code = self.names.get(name, name)
        if code not in self.taxonomy.codes:
            raise label_error(path, name, "a code of the taxonomy; --name LABEL=CODE says which it is")
        return code

    def rivals(self, label: object) -> tuple[str, ...]:
        """The codes of which a label names one and thereby excludes the others; none if it does not."""
        return self.taxonomy.rivals(self.names.get(label, label)) if isinstance(label, str) else ()

    def codes(self, value: object, path: str, marked: Iterable[str] = ()) -> tuple[str, ...]:
        """The codes that were answered, each once: those of the record, else `requested`; and `marked`."""
        codes = tuple(self.code(item, path) for item in items(value, path)) or self.requested
        codes = tuple(dict.fromkeys((*codes, *marked)))
        if not codes:
            raise BadRecord("E_LABEL", path, "nothing found", "the codes that were asked; --codes names them")
        return codes

    def labeler(self, name: str, path: str) -> str:
        """`name`, if there is such a labeler."""
        if self.labelers is not None and name not in self.labelers:
            raise label_error(path, name, "a known labeler")
        return name

    @cached_property
    def dialogue_codes(self) -> frozenset[str]:
        """Codes that are answered once a dialogue."""
        return dialogue_codes(self.taxonomy)

    def finding(
        self, view: DialogueView, turn: int, code: str, span: tuple[int, int], reason: str = ""
    ) -> Finding:
        """A person's finding; `span` in the original text. Severity and fault are the code's usual ones."""
        entry = self.taxonomy.codes[code]
        return Finding(
            code=code,
            turn=turn,
            severity=entry.severity,
            fault="bot" if view.turn(turn).role == "bot" else entry.fault,
            probability=1.0,
            quote=view.quote(turn, *span),
            start=span[0],
            end=span[1],
            reason=reason,
        )


Row: TypeAlias = dict[str, Any]
ReadAnswers: TypeAlias = Iterator[Annotation | BadRecord]


@dataclass
class ReadState:
    """State of reading a file: the context, the labeler and the kind of an answer where the row has none
    (`label`, the file's bare name), and the counts of skipped answers by reason."""

    context: LabelContext
    label: str
    kind: Kind = "crowd"
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class ExportItem:
    """A dialogue to export, with people's annotations and, if labelers may see them, the findings of the
    model `release`."""

    view: DialogueView
    codes: tuple[str, ...]
    dialogue_codes: frozenset[str]
    annotations: tuple[Annotation, ...] = ()
    model: tuple[Finding, ...] = ()
    release: str | None = None

    def answers(self, annotation: Annotation) -> Iterator[AnsweredQuestion]:
        """The questions that an annotation answers."""
        return questions_in(annotation, self.view.judged, self.dialogue_codes)

    def requested_codes(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Turns and codes to ask labelers about: a code of dialogue scope once, at the last turn."""
        for turn in self.view.judged:
            last = turn == self.view.judged[-1]
            codes = tuple(code for code in self.codes if last or code not in self.dialogue_codes)
            if codes:
                yield turn, codes


@dataclass(frozen=True)
class LabelFormat:
    """A label format: its name, its table format, and the functions that recognise, read and write its rows.
    `columns` returns those of a table with or without people's answers."""

    name: str
    table_format: TableFormat
    matches: Callable[[Row], bool]
    read: Callable[[Row, ReadState], ReadAnswers]
    rows: Callable[[Iterable[ExportItem]], Iterator[Row]]
    columns: Callable[[bool], tuple[str, ...]] | None = None


def make_annotation(platform: str, view: DialogueView, key: str | None = None, **fields: Any) -> Annotation:
    """An annotation whose id is made of `key` or, without one, of its content, so that it is the same when
    read again.
    """
    findings: tuple[Finding, ...] = tuple(dict.fromkeys(fields.pop("findings", ())))
    content = [view.dialogue.id, [finding.model_dump() for finding in findings], sorted(fields.items())]
    name = key or hashlib.sha256(repr(content).encode()).hexdigest()[:24]
    try:
        return Annotation(id=f"{platform}:{name}", dialogue_id=view.dialogue.id, findings=findings, **fields)
    except ValidationError as error:
        raise _bad_annotation(error, view) from None


_FIELDS = {*Annotation.model_fields, *Finding.model_fields, *Rejection.model_fields}


def _bad_annotation(error: ValidationError, view: DialogueView) -> BadRecord:
    """The reject of an annotation that cannot be; names of fields that are not ours are masked."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(
        str(part) if part in _FIELDS or isinstance(part, int) else excerpt(part) for part in first["loc"]
    )
    return BadRecord("E_LABEL", path, first["type"], first["msg"], view.dialogue.id)


GROUP = "dialint.label_formats"
N_PROBED_ROWS = 50


def find_plugin(name: str) -> Plugin:
    """The entry of the label format called `name`.

    Raises:
        ConfigError: there is none.
    """
    formats = plugins(GROUP)
    if name not in formats:
        raise ConfigError("E_OPTION", f"--format {name[:20]!r}: expected {', '.join(formats)}")
    return formats[name]


def format_by_name(name: str) -> LabelFormat:
    """The label format called `name`.

    Raises:
        ConfigError: there is none, or it cannot be imported.
    """
    label_format: LabelFormat = find_plugin(name).load(LabelFormat)
    return label_format


def detect_format(
    source: Source, name: str = "auto", config: ReadConfig = DEFAULT_CONFIG
) -> tuple[Plugin, TableFormat]:
    """The label format of `source`, detected by its first rows unless it is named, and its table format.

    Raises:
        InputRefused: E_FORMAT, no row is of a supported format; or the file is unreadable.
        ConfigError: no format has that name.
    """
    table_format = detect_table_format(source, config)
    if name != "auto":
        return find_plugin(name), table_format
    formats = plugins(GROUP)
    for located in islice(read_rows(source, table_format, config), N_PROBED_ROWS):
        for plugin in () if isinstance(located.value, BadRecord) else formats.values():
            if plugin.load(LabelFormat).matches(located.value):
                return plugin, table_format
    expected = f"none of the label formats ({', '.join(formats)}); --format names it"
    raise file_error("E_FORMAT", source.name, expected)


def _read(row: Row, state: ReadState) -> ReadAnswers:
    view = state.context.view(row.get("dialogue_id"), "dialogue_id")
    try:
        annotation = Annotation.model_validate_json(json.dumps(row))
    except ValidationError as error:
        raise _bad_annotation(error, view) from None
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


def _validate_finding(finding: Finding, view: DialogueView, path: str) -> None:
    """Check that a finding lies in its turn and quotes the words there."""
    view.validate_turn(finding.turn, f"{path}.turn")
    if finding.end > view.turn(finding.turn).n_places:
        raise BadRecord("E_LABEL", f"{path}.end", "an offset", "a span of the turn's text", view.dialogue.id)
    words = view.quote(finding.turn, finding.start, finding.end)
    masked = PLACEHOLDER.search(words) or PLACEHOLDER.search(finding.quote)
    if finding.quote != words and not masked:  # rules of masking may have changed since
        raise BadRecord(
            "E_LABEL",
            f"{path}.quote",
            "other words",
            "the words of that span in the log, unmasked",
            view.dialogue.id,
        )


NATIVE = LabelFormat(
    "dialint", "jsonl", lambda row: {"dialogue_id", "labeler", "kind", "codes"} <= row.keys(), _read,
    lambda items: (each.model_dump(mode="json") for item in items for each in item.annotations),
)  # fmt: skip
"""Our own JSON lines: one whole `Annotation` a line. The only format that loses nothing."""
