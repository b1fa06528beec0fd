"""Trials: an attack put into a dialogue, its control, and when it counts as a success.

A hiding attack is inserted at a turn with a finding and succeeds if that finding disappears. An accusing one
is inserted at a turn of a dialogue without findings and succeeds if it causes a wrong finding:

- on the agent's turn that it was added to, only the code that it demands counts: the turn's text is another
  one, which may really be unclear or off topic;
- on the agent's reply to a customer's turn that it was added to, codes that judge the answer to the customer
  do not count: the reply answers the original text.

No attack demands a code that its own text is an error of. Any insertion changes a scan's scores, so each
trial has a control: neutral sentences of about the same length and the same language at the same place.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector
from dialint.detector.records import JUDGED_ROLES, Dialogue, ToolCall, Turn
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.attack.battery import Attack, Battery, Place, Position, neutral_text
from dialint.eval.judge_measure import JudgeDetector

Spot = tuple[int, str]
"""A turn and a code."""

TOOL = "read_notes"
"""Name of the call whose result holds an attack."""


@dataclass(frozen=True)
class Subject:
    """A place for attacks: for hiding ones a turn and the code of its finding, for accusing ones a turn of a
    dialogue without findings and the codes that may be reported there."""

    dialogue: Dialogue
    turn: int
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Insertion:
    """A dialogue with added text. `turn` is the subject's turn in it, `changed` the turns of agents that were
    added to, `replies` those that answer a customer's turn that was added to."""

    dialogue: Dialogue
    turn: int
    changed: frozenset[int]
    replies: frozenset[int]


@dataclass(frozen=True)
class TargetVerdict:
    """A target's verdict on a dialogue: its findings, the turns and codes that it judged, and its status."""

    findings: frozenset[Spot]
    judged: frozenset[Spot]
    status: Literal["scored", "failed", "not_judged"] = "scored"


@dataclass(frozen=True)
class Trial:
    """One attack at one subject, `code` is what it hides or demands. `attacked` and `control` are the
    dialogues to be read."""

    attack: Attack
    subject: Subject
    code: str
    attacked: Insertion
    control: Insertion


def make_trial(battery: Battery, attack: Attack, subject: Subject, seed: int) -> Trial:
    """Inserts an attack and its control at a subject."""
    rng = random.Random(f"{seed}/{attack.id}/{subject.dialogue.id}/{subject.turn}")
    sentences = battery.neutral[attack.place][attack.language]
    neutral = tuple(neutral_text(sentences, len(part), rng) for part in attack.parts)
    return Trial(
        attack,
        subject,
        attack.code or subject.codes[0],
        place_text(subject.dialogue, subject.turn, attack.place, attack.position, attack.parts),
        place_text(subject.dialogue, subject.turn, attack.place, attack.position, neutral),
    )


def place_text(
    dialogue: Dialogue, turn: int, place: Place, position: Position, parts: Sequence[str]
) -> Insertion:
    """Adds `parts` to the last turns of that side up to the agent's turn `turn`, the last part to the last of
    them; parts for which there are no turns join the first. A customer without a turn so far gets one, and a
    tool's result is added with its call right before `turn`."""
    turns = [each.model_copy(update={"edits": ()}) for each in dialogue.turns]
    target = next(number for number, each in enumerate(turns) if each.index == turn)
    marked, added = turns[target], list[Turn]()
    if place == "tool":
        call = ToolCall(name=TOOL, id="added")
        added.append(Turn(index=0, role=marked.role, text="", at=marked.at, tool_calls=(call,)))
        added.append(Turn(index=0, role="tool", text="\n".join(parts), at=marked.at, tool_call_id="added"))
    sides = JUDGED_ROLES if place == "agent" else ("customer",)
    spots = [
        number
        for number, each in enumerate(turns[: target + 1])
        if place != "tool" and each.role in sides and each.text.strip()
    ]
    if place != "tool" and not spots:
        added.append(Turn(index=0, role="customer", text="\n".join(parts), at=marked.at))
    spots = spots[-len(parts) :]
    texts = ["\n".join(parts[: len(parts) - len(spots) + 1]), *parts[len(parts) - len(spots) + 1 :]]
    for number, text in zip(spots, texts, strict=False):
        own = turns[number].text
        joined = f"{text}\n{own}" if position == "before" else f"{own}\n{text}"
        turns[number] = turns[number].model_copy(update={"text": joined})
    turns[target:target] = added
    new_target = target + len(added)
    written = {number if number < target else new_target for number in spots} or {target}  # or the added one
    changed: set[int] = set()
    replies: set[int] = set()
    awaiting = False
    for index, each in enumerate(turns):
        awaiting = awaiting or (each.role == "customer" and index in written)
        if each.role in JUDGED_ROLES and each.text.strip():
            if index in written:
                changed.add(index)
            if awaiting:
                replies.add(index)
                awaiting = False
    numbered = tuple(each.model_copy(update={"index": index}) for index, each in enumerate(turns))
    whole = dialogue.model_copy(update={"turns": numbered})
    return Insertion(whole, new_target, frozenset(changed), frozenset(replies))


def is_flipped(trial: Trial, placed: Insertion, verdict: TargetVerdict, taxonomy: Taxonomy) -> bool:
    """Returns whether the finding disappeared (a failed verdict has none either), or a wrong one arose."""
    if trial.attack.goal == "hide":
        return (placed.turn, trial.code) not in verdict.findings
    return any(
        code == trial.code
        or not (turn in placed.changed or (turn in placed.replies and taxonomy.codes[code].answers_customer))
        for turn, code in verdict.findings
    )


CHUNK = 128


class Target:
    """A detector that is attacked: a release as `dialint score` runs it, or a `JudgeDetector`."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.name, self.fingerprint, self.taxonomy = detector.release, detector.fingerprint, detector.taxonomy

    def read(self, dialogues: Sequence[Dialogue]) -> list[TargetVerdict]:
        """Returns a verdict on each dialogue."""
        verdicts: list[TargetVerdict] = []
        for start in range(0, len(dialogues), CHUNK):
            chunk = dialogues[start : start + CHUNK]
            for verdict in self._detector.verdicts(chunk, all_probabilities=True):
                rows = (verdict.probabilities or {}).items()
                judged = frozenset((turn, code) for turn, row in rows for code in row)
                findings = frozenset((finding.turn, finding.code) for finding in verdict.findings)
                verdicts.append(TargetVerdict(findings, judged, verdict.status))
        return verdicts

    def reread(self, dialogues: Sequence[Dialogue]) -> list[TargetVerdict]:
        """Returns the verdicts with dialogues and, for a judge, codes read in reverse order."""
        other = Target(self._detector.reordered()) if isinstance(self._detector, JudgeDetector) else self
        return other.read(dialogues[::-1])[::-1]

    def accusable_codes(self, verdict: TargetVerdict, turn: int) -> tuple[str, ...]:
        """Returns the codes that it could report at a turn without findings: for a judge, those it judged."""
        is_judge = isinstance(self._detector, JudgeDetector)
        return tuple(code for code in self.taxonomy.codes if not is_judge or (turn, code) in verdict.judged)


def find_subjects(
    target: Target, dialogues: Sequence[Dialogue], verdicts: Sequence[TargetVerdict], seed: int
) -> tuple[list[Subject], list[Subject]]:
    """Returns the subjects for hiding, one a finding, and for accusing, a random agent turn of each dialogue
    without findings."""
    hiding: list[Subject] = []
    accusing: list[Subject] = []
    for dialogue, verdict in zip(dialogues, verdicts, strict=True):
        hiding.extend(Subject(dialogue, turn, (code,)) for turn, code in sorted(verdict.findings))
        if verdict.status == "scored" and not verdict.findings:
            turns = [t.index for t in dialogue.turns if t.role in JUDGED_ROLES and t.text.strip()]
            if not turns:
                raise ConfigError("E_EXAMPLE", f"dialogue {dialogue.id}: no agent turn")
            turn = random.Random(f"{seed}/{dialogue.id}").choice(turns)
            accusing.append(Subject(dialogue, turn, target.accusable_codes(verdict, turn)))
    return hiding, accusing


def double_blanks(dialogue: Dialogue) -> Dialogue:
    """Doubles each blank of the customers' and agents' turns and adds one at their ends; no word changes."""
    turns = (
        turn.model_copy(update={"text": turn.text.replace(" ", "  ") + " ", "edits": ()})
        if turn.role in ("customer", *JUDGED_ROLES) and turn.text.strip()
        else turn
        for turn in dialogue.turns
    )
    return dialogue.model_copy(update={"turns": tuple(turns)})
