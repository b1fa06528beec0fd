"""Drafts of answers, and the edits that the browser reports.

Pure functions: every step returns a new `Answer`. Its key is made once for each item, so that a click that is
repeated after a lost connection counts once. The browser sends all edits until the server has acknowledged
them; one that was applied before is passed over, and so is what does not fit the item. Edits are absolute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from uuid import uuid4

from pydantic import Field, TypeAdapter, ValidationError

from dialint.app.console.text import lookup_code, safe_text
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Record, Severity, Verdict
from dialint.detector.taxonomy import Code, Names, Taxonomy
from dialint.detector.tool_use import call_lines
from dialint.detector.yaml_document import read_document
from dialint.labeling.annotation import Annotation, Rejection, match_findings

State = Literal["open", "kept", "rejected"]


class Choice(Record):
    """One finding and its decision. `proposed` is the model's finding; None if it is the person's own. A
    `suggested` one may stay open, and counts only if it is confirmed. `id` is the same through the life of a
    draft; `why` is the reason for a rejection, of `reject_reasons.yaml`, or empty."""

    id: str = ""
    why: str = ""
    finding: Finding
    proposed: Finding | None = None
    state: State = "open"
    suggested: bool = False


class Sent(Record):
    """The content last submitted under the key: a retry must be equal in all parts."""

    findings: tuple[Finding, ...]
    seconds: float
    rejections: tuple[Rejection, ...] = ()


class Answer(Record):
    """A draft: choices on findings, codes marked as present or absent (`said`), and the seconds worked.
    `applied` is the number of the last event that was applied of each browser tab."""

    key: Annotated[str, Field(min_length=1)]
    choices: tuple[Choice, ...] = ()
    said: dict[str, bool] = Field(default_factory=dict)
    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    sent: Sent | None = None
    applied: dict[str, int] = Field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that the person confirmed or added."""
        return tuple(choice.finding for choice in self.choices if choice.state == "kept")

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """The reasons that the person gave for rejecting the model's findings."""
        return tuple(
            Rejection(turn=choice.proposed.turn, code=choice.proposed.code, reason=choice.why)
            for choice in self.choices
            if choice.proposed is not None and choice.state == "rejected" and choice.why
        )

    @property
    def has_input(self) -> bool:
        """True once the person has entered anything."""
        decided = any(choice.state != "open" or choice.proposed is None for choice in self.choices)
        return decided or bool(self.said) or self.sent is not None

    @property
    def undecided(self) -> tuple[int, ...]:
        """Indices of the open choices that need a decision."""
        return tuple(
            index
            for index, choice in enumerate(self.choices)
            if choice.state == "open" and not choice.suggested
        )


def start_answer(verdict: Verdict | None, codes: Sequence[str], turn: int | None, key: str) -> Answer:
    """Return an empty answer with the model's findings and suggestions on the item's `codes` and `turn` as
    choices."""
    return Answer(key=key, choices=_propose(verdict, codes, turn))


def reopen_answer(annotation: Annotation, verdict: Verdict | None) -> Answer:
    """Return an earlier answer, to be changed: missing findings were rejected, suggestions are open again."""
    own = list(annotation.findings)
    reasons = {(each.turn, each.code): each.reason for each in annotation.rejections}
    choices = []
    proposed = _propose(verdict, annotation.codes, annotation.turn)
    both = (*(choice.finding for choice in proposed), *own)
    places = [(each.turn, each.start, each.end, each.code) for each in both]
    suggested = {n for n, choice in enumerate(proposed) if choice.suggested}
    matches = match_findings(places[: len(proposed)], suggested, places[len(proposed) :])
    for choice, match in zip(proposed, matches, strict=True):
        why = reasons.get((choice.finding.turn, choice.finding.code), "")
        if match is not None:
            choices.append(choice.model_copy(update={"state": "kept", "finding": own[match]}))
        elif choice.suggested and not why:
            choices.append(choice)
        else:
            choices.append(choice.model_copy(update={"state": "rejected", "why": why}))
    own = [finding for n, finding in enumerate(own) if n not in matches]
    choices += [Choice(id=f"own-{n}", finding=finding, state="kept") for n, finding in enumerate(own)]
    present = {finding.code for finding in annotation.findings}
    return Answer(
        key=uuid4().hex, choices=tuple(choices), seconds=annotation.seconds or 0.0,
        said={code: code in present for code in annotation.codes},
    )  # fmt: skip


def _propose(verdict: Verdict | None, codes: Sequence[str], turn: int | None) -> tuple[Choice, ...]:
    if verdict is None:
        return ()
    both = [(finding, False) for finding in verdict.findings]
    both += [(finding, True) for finding in verdict.suggestions]
    relevant = [each for each in both if each[0].code in codes and turn in (None, each[0].turn)]
    sure = {"probability": 1.0}  # as a person is of a finding, or would reject it
    return tuple(
        Choice(id=str(n), finding=finding.model_copy(update=sure), proposed=finding, suggested=suggested)
        for n, (finding, suggested) in enumerate(relevant)
    )


def find_choice(answer: Answer, name: str) -> int | None:
    """Return the index of the choice with this id."""
    return next((n for n, choice in enumerate(answer.choices) if choice.id == name), None)


def decide(answer: Answer, index: int, state: State, why: str = "") -> Answer:
    """Confirm or reject the finding of choice `index`, or open it again; `why` is of a rejection."""
    reason = why if state == "rejected" else ""
    return _replace(answer, index, answer.choices[index].model_copy(update={"state": state, "why": reason}))


def change(answer: Answer, index: int, code: Code, severity: Severity) -> Answer:
    """Give the finding of choice `index` another code or severity. A reason belongs to its code."""
    choice = answer.choices[index]
    sources = (choice.proposed, choice.finding)
    reason = next((each.reason for each in sources if each is not None and each.code == code.code), "")
    finding = choice.finding.model_copy(update={"code": code.code, "severity": severity, "reason": reason})
    return _replace(answer, index, choice.model_copy(update={"finding": finding}))


def _replace(answer: Answer, index: int, choice: Choice) -> Answer:
    choices = (*answer.choices[:index], choice, *answer.choices[index + 1 :])
    return answer.model_copy(update={"choices": choices})


def add_finding(answer: Answer, finding: Finding, name: str) -> Answer:
    """Add a finding of the person's own; the same one again, or another under its id, changes nothing."""
    if finding in answer.findings or find_choice(answer, name) is not None:
        return answer
    choices = (*answer.choices, Choice(id=name, finding=finding, state="kept"))
    return answer.model_copy(update={"choices": choices, "said": {**answer.said, finding.code: True}})


def set_present(answer: Answer, code: str, present: bool | None) -> Answer:
    """Mark a code as present or absent, or as not answered. Present confirms the model's findings of it, not
    its suggestions; absent rejects them and removes the person's own."""
    choices = []
    for choice in answer.choices:
        if choice.finding.code != code or present is None:
            choices.append(choice)
        elif present:
            choices.append(choice if choice.suggested else choice.model_copy(update={"state": "kept"}))
        elif choice.proposed is not None:
            choices.append(choice.model_copy(update={"state": "rejected"}))
    marks = {name: mark for name, mark in {**answer.said, code: present}.items() if mark is not None}
    return answer.model_copy(update={"choices": tuple(choices), "said": marks})


def seal(answer: Answer) -> Answer:
    """Return the answer as it is to be submitted: a retry under its key submits the same seconds."""
    now = Sent(findings=answer.findings, seconds=round(answer.seconds, 1), rejections=answer.rejections)
    if answer.sent is not None and now.model_copy(update={"seconds": answer.sent.seconds}) == answer.sent:
        return answer
    return answer.model_copy(update={"sent": now})


def unanswered_codes(answer: Answer, codes: Sequence[str]) -> tuple[str, ...]:
    """Return the codes without an answer: neither absent nor with a finding."""
    marked = {finding.code for finding in answer.findings}
    return tuple(code for code in codes if code not in marked and (answer.said.get(code) is not False))


class Selection(Record):
    """A selected part of one turn: code points of the displayed text, or calls of a turn without words; `end`
    is exclusive."""

    turn: Annotated[int, Field(ge=0)]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


def parse_selection(dialogue: Dialogue, only_turn: int | None, raw: Any) -> Selection | None:
    """Return what the (untrusted) browser reports as selected, without outer blanks; None if it fits no
    judged turn."""
    try:
        selection = Selection.model_validate(raw)
    except ValidationError:
        return None
    turn = next((each for each in dialogue.turns if each.index == selection.turn), None)
    if turn is None or turn.role not in JUDGED_ROLES or only_turn not in (None, turn.index):
        return None
    if not selection.start < selection.end <= turn.n_places:
        return None
    if turn.is_silent_act:
        return selection
    selected = turn.text[selection.start : selection.end]
    start = selection.end - len(selected.lstrip())
    end = start + len(selected.strip())
    return Selection(turn=turn.index, start=start, end=end) if end > start else None


def make_finding(
    dialogue: Dialogue, selection: Selection, code: Code, severity: Severity, masked: MaskedText | None = None
) -> Finding:
    """Return a person's finding. Its quote is masked; where the selection touches personal data, it covers
    all of them. `masked` is the turn's masked text; without it the dialogue is masked here."""
    position = next(i for i, turn in enumerate(dialogue.turns) if turn.index == selection.turn)
    start, end = selection.start, selection.end
    if dialogue.turns[position].is_silent_act:
        quote = "\n".join(call_lines(mask_dialogue(dialogue)[0].turns[position])[start:end])
    else:
        text = masked or mask_dialogue(dialogue)[1][position]
        first, last = text.from_original(start, end)
        start, end = text.to_original(first, last)
        quote = text.text[first:last]
    return Finding(
        code=code.code,
        turn=selection.turn,
        severity=severity,
        fault="bot" if dialogue.turns[position].role == "bot" else code.fault,
        probability=1.0,
        quote=quote,
        start=start,
        end=end,
        reason="",
    )


REASONS_FILE = Path(__file__).with_name("reject_reasons.yaml")
MAX_OFFERED = 9
"""The number of digit keys."""


class RejectReasons(Record):
    """The reasons by their ids, those of a group of codes by its letter, and those for every code."""

    names: dict[str, Names]
    usual: list[str]
    groups: dict[str, list[str]]


@cache
def load_reasons() -> RejectReasons:
    """Return the reasons of the packaged file."""
    reasons = RejectReasons.model_validate(read_document(REASONS_FILE, "E_REASONS").value)
    listed = {*reasons.usual, *(name for group in reasons.groups.values() for name in group)}
    assert listed <= set(reasons.names), "a reason without a name"
    return reasons


def list_reasons(code: str) -> list[str]:
    """Return the reasons offered for a code: those of its group, then the usual ones."""
    reasons = load_reasons()
    return list(dict.fromkeys([*reasons.groups.get(code[:1], ()), *reasons.usual]))[:MAX_OFFERED]


MAX_EVENTS = 500
"""Unacknowledged events of one message; a browser waits before it has so many."""
MAX_TABS = 20
"""Tabs whose last event is remembered in a draft."""
MAX_OWN = 200
"""Findings of one's own in one answer."""

Seq = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9-]+$")]
Word = Annotated[str, Field(max_length=60)]
CodeName = Annotated[str, Field(max_length=1000)]
"""A code of any taxonomy: the project decides which are valid."""


class SetChoice(Record):
    """Decide choice `id`, under this code and severity."""

    kind: Literal["set"]
    seq: Seq
    id: Name
    state: State
    code: CodeName
    severity: Severity
    why: Word = ""


class Add(Record):
    """Add a finding of one's own under the name `id`, at code points of the displayed text."""

    kind: Literal["add"]
    seq: Seq
    id: Annotated[Name, Field(pattern=r"^own-[a-z0-9-]+$")]
    turn: int
    start: int
    end: int
    code: CodeName
    severity: Severity


class Remove(Record):
    """Remove a finding of one's own."""

    kind: Literal["remove"]
    seq: Seq
    id: Name


class Say(Record):
    """Say whether a code is there; None takes the answer back."""

    kind: Literal["say"]
    seq: Seq
    code: CodeName
    present: bool | None


class Act(Record):
    """An action on the item, or for the account, that the page carries out: see `page_session`."""

    kind: Literal["save", "leave", "reopen", "page", "skip", "stop", "auto_save"]
    seq: Seq
    reason: Annotated[str, Field(max_length=60)] = ""
    more: Annotated[str, Field(max_length=200)] = ""
    page: int = 0
    on: bool = False


Edit: TypeAlias = SetChoice | Add | Remove | Say
_EVENT: TypeAdapter[Edit | Act] = TypeAdapter(Annotated[Edit | Act, Field(discriminator="kind")])


class Batch(Record):
    """Unacknowledged events of one browser tab on the draft with the key `draft`, as the browser reports
    them."""

    tab: Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,40}$")]
    draft: Annotated[str, Field(max_length=100)]
    events: list[Any]
    message: Any = None
    """A number by which Streamlit tells one batch from the next."""

    def parse_events(self) -> Iterator[tuple[int, Edit | Act | None]]:
        """Yield the numbered events, None for invalid ones."""
        for event in self.events[:MAX_EVENTS]:
            number = event.get("seq") if isinstance(event, dict) else None
            if type(number) is not int or number < 1 or number > 1 << 40:
                continue
            try:
                yield number, _EVENT.validate_python(event)
            except ValidationError:
                yield number, None


def parse_batch(raw: Any) -> Batch | None:
    """Read a report of the browser; None if it is not valid."""
    try:
        return Batch.model_validate(raw)
    except ValidationError:
        return None


def acknowledge(answer: Answer, tab: str, number: int) -> Answer:
    """Return the answer with `number` as the tab's last applied event, for the newest `MAX_TABS`."""
    others = [(name, seq) for name, seq in answer.applied.items() if name != tab]
    return answer.model_copy(update={"applied": dict([*others[-MAX_TABS + 1 :], (tab, number)])})


def apply_edit(
    answer: Answer,
    event: Edit,
    dialogue: Dialogue,
    codes: Collection[str],
    only_turn: int | None,
    taxonomy: Taxonomy,
    masked_turn: Callable[[int], MaskedText | None],
) -> Answer:
    """Return the answer after an edit; the same one if the edit does not fit the item (`codes`,
    `only_turn`)."""
    if not isinstance(event, Remove):  # the browser knows codes as they are shown
        candidates = {
            *codes,
            *(choice.proposed.code for choice in answer.choices if choice.proposed is not None),
        }
        original = next((code for code in candidates if safe_text(code) == event.code), event.code)
        event = event.model_copy(update={"code": original})
    if isinstance(event, Say):
        return set_present(answer, event.code, event.present) if event.code in codes else answer
    if isinstance(event, Add):
        place = {"turn": event.turn, "start": event.start, "end": event.end}
        selection: Selection | None = parse_selection(dialogue, only_turn, place)
        n_own = sum(choice.proposed is None for choice in answer.choices)
        fits = selection is not None and _is_allowed(event.code, event.severity, codes, taxonomy)
        if not fits or n_own >= MAX_OWN or find_choice(answer, event.id) is not None:
            return answer
        assert selection is not None
        entry = lookup_code(event.code, taxonomy)
        masked = masked_turn(selection.turn)
        return add_finding(answer, make_finding(dialogue, selection, entry, event.severity, masked), event.id)
    index = find_choice(answer, event.id)
    if index is None:
        return answer
    choice = answer.choices[index]
    if isinstance(event, Remove):
        others = (*answer.choices[:index], *answer.choices[index + 1 :])
        return answer.model_copy(update={"choices": others}) if choice.proposed is None else answer
    if choice.proposed is None and event.state != "kept":
        return answer  # one's own is removed, not rejected
    is_as_it_was = choice.proposed is not None and (event.code, event.severity) == (
        choice.proposed.code, choice.proposed.severity,
    )  # fmt: skip
    if not is_as_it_was and not _is_allowed(event.code, event.severity, codes, taxonomy):
        return answer
    if (event.code, event.severity) != (choice.finding.code, choice.finding.severity):
        answer = change(answer, index, lookup_code(event.code, taxonomy), event.severity)
    is_reason = event.why in load_reasons().names or event.why == choice.why
    return decide(answer, index, event.state, event.why if is_reason else "")


def _is_allowed(code: str, severity: Severity, codes: Collection[str], taxonomy: Taxonomy) -> bool:
    return code in codes and severity in lookup_code(code, taxonomy).severities
