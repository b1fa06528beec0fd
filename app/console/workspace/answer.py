"""Drafts of answers, and the answers made of them.

Pure functions: every step returns a new `Answer`, without access to the store or the screen. The key is made
once for each item and stays with the draft, so that a click repeated after a lost connection counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field

from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Record, Severity, Verdict
from dialint.detector.taxonomy import Code
from dialint.labeling.annotation import Annotation, Rejection

State = Literal["open", "kept", "rejected"]


class Choice(Record):
    """One finding and its decision. `proposed` is the model's finding; None if it is the person's own. One
    that the model only `suggested` may stay open, and is part of the answer only if the person confirms
    it. `id` is the same through the life of a draft: the model's are numbered from 0, one's own are named by
    the browser. `why` is the reason for a rejection, of `reject_reasons.yaml`, or empty."""

    id: str = ""
    why: str = ""
    finding: Finding
    proposed: Finding | None = None
    state: State = "open"
    suggested: bool = False

    @property
    def changed(self) -> bool:
        """Whether the person has given another code or severity than the model."""
        return self.proposed is not None and self.finding != _as_certain(self.proposed)


class Sent(Record):
    """What was last submitted under the key: a retry must be equal in all parts."""

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
        """Whether the person has entered anything yet."""
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


def start_answer(verdict: Verdict | None, codes: Sequence[str], turn: int | None) -> Answer:
    """An empty answer with the model's findings and suggestions as open choices: those of the item's `codes`,
    and of its `turn` if it has one."""
    return Answer(key=uuid4().hex, choices=_propose(verdict, codes, turn))


def reopen_answer(annotation: Annotation, verdict: Verdict | None) -> Answer:
    """An earlier answer, to be changed: model findings that are missing in it were rejected, suggestions are
    open again. Its seconds count on."""
    own = list(annotation.findings)
    reasons = {(each.turn, each.code): each.reason for each in annotation.rejections}
    choices = []
    for choice in _propose(verdict, annotation.codes, annotation.turn):
        # what the person made of a finding: at the same offsets, else of the same code in the same turn
        model = choice.finding
        at_place = [f for f in own if (f.turn, f.start, f.end) == (model.turn, model.start, model.end)]
        of_code = [f for f in own if (f.turn, f.code) == (model.turn, model.code)]
        both = [finding for finding in at_place if finding in of_code]
        likely = both or at_place
        match = next(iter(likely if choice.suggested else likely or of_code), None)
        why = reasons.get((model.turn, model.code), "")
        if match is None and choice.suggested and not why:
            choices.append(choice)
        elif match is None:
            choices.append(choice.model_copy(update={"state": "rejected", "why": why}))
        else:
            own.remove(match)
            choices.append(choice.model_copy(update={"state": "kept", "finding": match}))
    choices += [Choice(id=f"own-{n}", finding=finding, state="kept") for n, finding in enumerate(own)]
    present = {finding.code for finding in annotation.findings}
    said = {code: code in present for code in annotation.codes}
    return Answer(key=uuid4().hex, choices=tuple(choices), said=said, seconds=annotation.seconds or 0.0)


def _propose(verdict: Verdict | None, codes: Sequence[str], turn: int | None) -> tuple[Choice, ...]:
    if verdict is None:
        return ()
    both = [(finding, False) for finding in verdict.findings]
    both += [(finding, True) for finding in verdict.suggestions]
    relevant = [each for each in both if each[0].code in codes and turn in (None, each[0].turn)]
    return tuple(
        Choice(id=str(n), finding=_as_certain(finding), proposed=finding, suggested=suggested)
        for n, (finding, suggested) in enumerate(relevant)
    )


def _as_certain(finding: Finding) -> Finding:
    """The model's finding as a person's: they are sure of it, or would reject it."""
    return finding.model_copy(update={"probability": 1.0})


def find_choice(answer: Answer, name: str) -> int | None:
    """The position of the choice with this id."""
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
    said = {**answer.said, finding.code: True}
    choices = (*answer.choices, Choice(id=name, finding=finding, state="kept"))
    return answer.model_copy(update={"choices": choices, "said": said})


def remove_finding(answer: Answer, index: int) -> Answer:
    """Remove a finding of the person's own."""
    choices = (*answer.choices[:index], *answer.choices[index + 1 :])
    return answer.model_copy(update={"choices": choices})


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
    said = {**answer.said, code: present} if present is not None else {**answer.said}
    if present is None:
        said.pop(code, None)
    return answer.model_copy(update={"choices": tuple(choices), "said": said})


def seal(answer: Answer) -> Answer:
    """The answer as it is to be submitted: a retry under its key submits the same seconds."""
    now = Sent(findings=answer.findings, seconds=round(answer.seconds, 1), rejections=answer.rejections)
    if answer.sent is not None and now.model_copy(update={"seconds": answer.sent.seconds}) == answer.sent:
        return answer
    return answer.model_copy(update={"sent": now})


def unanswered_codes(answer: Answer, codes: Sequence[str]) -> tuple[str, ...]:
    """Codes without an answer: neither absent nor with a finding."""
    marked = {finding.code for finding in answer.findings}
    return tuple(code for code in codes if code not in marked and (answer.said.get(code) is not False))


class Selection(Record):
    """A selected part of one turn: code points of the displayed text, `end` exclusive."""

    turn: Annotated[int, Field(ge=0)]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


def parse_selection(dialogue: Dialogue, only_turn: int | None, raw: Any) -> Selection | None:
    """What the browser reports as selected, without outer blanks; None if it is no part of a turn that may
    hold an error. The browser is not trusted."""
    names = ("turn", "start", "end")
    if not isinstance(raw, Mapping) or any(type(raw.get(name)) is not int for name in names):
        return None
    index, start, end = raw["turn"], raw["start"], raw["end"]
    texts = {turn.index: turn.text for turn in dialogue.turns if turn.role in JUDGED_ROLES}
    if index not in texts or only_turn not in (None, index) or not 0 <= start < end <= len(texts[index]):
        return None
    selected = texts[index][start:end]
    start += len(selected) - len(selected.lstrip())
    end = start + len(selected.strip())
    return Selection(turn=index, start=start, end=end) if end > start else None


def make_finding(
    dialogue: Dialogue,
    selection: Selection,
    code: Code,
    severity: Severity,
    masked: MaskedText | None = None,
) -> Finding:
    """A person's finding. Personal data in its quote are placeholders; where the selection touches some, the
    finding covers all of it. `masked` is the turn's masked text; without it the dialogue is masked here."""
    position = next(i for i, turn in enumerate(dialogue.turns) if turn.index == selection.turn)
    text = masked or mask_dialogue(dialogue)[1][position]
    first, last = text.from_original(selection.start, selection.end)
    start, end = text.to_original(first, last)
    return Finding(
        code=code.code,
        turn=selection.turn,
        severity=severity,
        fault="bot" if dialogue.turns[position].role == "bot" else code.fault,
        probability=1.0,
        quote=text.text[first:last],
        start=start,
        end=end,
        reason="",
    )
