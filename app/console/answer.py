"""What a person has said so far of the item before them: the draft, and the answer that comes of it.

Pure: every step gives a new `Answer`. Nothing here knows the store or the screen. The key is made once
for each item and travels with the draft, so that a click repeated after a lost connection counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field

from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Record, Severity, Verdict
from dialint.detector.taxonomy import Code
from dialint.labeling.annotation import Annotation

State = Literal["open", "kept", "rejected"]


class Choice(Record):
    """One finding and what the person makes of it. `proposed` is the model's; none: the person's own."""

    finding: Finding
    proposed: Finding | None = None
    state: State = "open"

    @property
    def changed(self) -> bool:
        """Whether the person has given another code or severity to what the model found."""
        return self.proposed is not None and self.finding != _held(self.proposed)


class Sent(Record):
    """What was last sent under the key: the same again must be the same in all parts."""

    findings: tuple[Finding, ...]
    seconds: float


class Answer(Record):
    """A draft: choices on findings, codes said to be there or not, and the time spent, in seconds."""

    key: Annotated[str, Field(min_length=1)]
    choices: tuple[Choice, ...] = ()
    said: dict[str, bool] = Field(default_factory=dict)
    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    sent: Sent | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the person holds to be errors."""
        return tuple(choice.finding for choice in self.choices if choice.state == "kept")

    @property
    def touched(self) -> bool:
        """Whether the person has said anything yet."""
        said = any(choice.state != "open" or choice.proposed is None for choice in self.choices)
        return said or bool(self.said) or self.sent is not None

    @property
    def undecided(self) -> tuple[int, ...]:
        """Places of the choices still open."""
        return tuple(place for place, choice in enumerate(self.choices) if choice.state == "open")


def begun(verdict: Verdict | None, codes: Sequence[str], turn: int | None) -> Answer:
    """Nothing said yet. The model's findings lie within what was asked: `codes`, and `turn` if not none."""
    return Answer(key=uuid4().hex, choices=_proposals(verdict, codes, turn))


def resumed(given: Annotation, verdict: Verdict | None) -> Answer:
    """An answer that was given, to be changed: model findings missing in it were rejected. The time it took
    goes on."""
    rest = list(given.findings)
    choices = []
    for choice in _proposals(verdict, given.codes, given.turn):
        theirs = _same(choice.finding, rest)
        if theirs is None:
            choices.append(choice.model_copy(update={"state": "rejected"}))
        else:
            rest.remove(theirs)
            choices.append(choice.model_copy(update={"state": "kept", "finding": theirs}))
    own = (Choice(finding=finding, state="kept") for finding in rest)
    found = {finding.code for finding in given.findings}
    said = {code: code in found for code in given.codes}
    return Answer(key=uuid4().hex, choices=(*choices, *own), said=said, seconds=given.seconds or 0.0)


def _proposals(verdict: Verdict | None, codes: Sequence[str], turn: int | None) -> tuple[Choice, ...]:
    return tuple(
        Choice(finding=_held(finding), proposed=finding)
        for finding in (verdict.findings if verdict else ())
        if finding.code in codes and turn in (None, finding.turn)
    )


def _held(finding: Finding) -> Finding:
    """The model's finding as a person's: they are sure of it, or would not keep it."""
    return finding.model_copy(update={"probability": 1.0})


def _same(finding: Finding, among: Sequence[Finding]) -> Finding | None:
    """What a person made of a finding: the same place, else the same code in the same turn."""
    place = [each for each in among if (each.turn, each.start, each.end) == _place(finding)]
    code = [each for each in among if (each.turn, each.code) == (finding.turn, finding.code)]
    both = [each for each in place if each in code]
    return next(iter(both or place or code), None)


def _place(finding: Finding) -> tuple[int, int, int]:
    return finding.turn, finding.start, finding.end


def decide(answer: Answer, place: int, state: State) -> Answer:
    """Confirm or reject the finding at `place`."""
    return _with(answer, place, answer.choices[place].model_copy(update={"state": state}))


def change(answer: Answer, place: int, code: Code, severity: Severity) -> Answer:
    """Keep the finding at `place` under another code or severity. A reason goes with its code."""
    choice = answer.choices[place]
    kept = choice.proposed if choice.proposed is not None and choice.proposed.code == code.code else None
    reason = kept.reason if kept else choice.finding.reason if choice.finding.code == code.code else ""
    finding = choice.finding.model_copy(update={"code": code.code, "severity": severity, "reason": reason})
    return _with(answer, place, choice.model_copy(update={"state": "kept", "finding": finding}))


def _with(answer: Answer, place: int, choice: Choice) -> Answer:
    choices = (*answer.choices[:place], choice, *answer.choices[place + 1 :])
    return answer.model_copy(update={"choices": choices})


def add(answer: Answer, finding: Finding) -> Answer:
    """Put a finding of the person's own in; the same one again changes nothing."""
    if finding in answer.findings:
        return answer
    said = {**answer.said, finding.code: True}
    choices = (*answer.choices, Choice(finding=finding, state="kept"))
    return answer.model_copy(update={"choices": choices, "said": said})


def remove(answer: Answer, place: int) -> Answer:
    """Take a finding of the person's own away."""
    choices = (*answer.choices[:place], *answer.choices[place + 1 :])
    return answer.model_copy(update={"choices": choices})


def say(answer: Answer, code: str, present: bool) -> Answer:
    """Say whether a code is there. Yes holds for the places that the model marked for it, where it did; no
    takes all of its places away."""
    choices = []
    for choice in answer.choices:
        if choice.finding.code != code:
            choices.append(choice)
        elif present:
            choices.append(choice.model_copy(update={"state": "kept"}))
    return answer.model_copy(update={"choices": tuple(choices), "said": {**answer.said, code: present}})


def sealed(answer: Answer) -> Answer:
    """The answer as it is to be sent: whoever sends it again under its key sends the same seconds."""
    found = answer.findings
    if answer.sent is not None and answer.sent.findings == found:
        return answer
    return answer.model_copy(update={"sent": Sent(findings=found, seconds=round(answer.seconds, 1))})


def unanswered(answer: Answer, codes: Sequence[str]) -> tuple[str, ...]:
    """Codes not answered yet: nothing said, or said to be there with no words marked."""
    marked = {finding.code for finding in answer.findings}
    return tuple(code for code in codes if code not in marked and (answer.said.get(code) is not False))


class Place(Record):
    """A stretch of one turn: code points of the text that is shown, `end` exclusive."""

    turn: Annotated[int, Field(ge=0)]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


def place_in(dialogue: Dialogue, asked: int | None, said: Any) -> Place | None:
    """What the browser says was selected, less outer blanks; none if it is no stretch of a turn that may
    hold an error. The browser is not trusted."""
    if not isinstance(said, Mapping) or any(
        type(said.get(name)) is not int for name in ("turn", "start", "end")
    ):
        return None
    index, start, end = said["turn"], said["start"], said["end"]
    texts = {turn.index: turn.text for turn in dialogue.turns if turn.role in JUDGED_ROLES}
    if index not in texts or asked not in (None, index) or not 0 <= start < end <= len(texts[index]):
        return None
    chosen = texts[index][start:end]
    start += len(chosen) - len(chosen.lstrip())
    end = start + len(chosen.strip())
    return Place(turn=index, start=start, end=end) if end > start else None


def marked(
    dialogue: Dialogue, place: Place, code: Code, severity: Severity, masked: MaskedText | None = None
) -> Finding:
    """A person's finding; in its quote personal data are placeholders, and where it touches such it holds
    all of it. `masked` is the turn's text, masked; without it the dialogue is masked here."""
    at = next(at for at, turn in enumerate(dialogue.turns) if turn.index == place.turn)
    text = masked or mask_dialogue(dialogue)[1][at]
    first, last = text.from_original(place.start, place.end)
    start, end = text.to_original(first, last)
    return Finding(
        code=code.code,
        turn=place.turn,
        severity=severity,
        fault="bot" if dialogue.turns[at].role == "bot" else code.fault,
        probability=1.0,
        quote=text.text[first:last],
        start=start,
        end=end,
        reason="",
    )
