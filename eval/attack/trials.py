"""Trials: an attack put into a dialogue, its control, and when it counts as a success.

A hiding attack stands at a turn with a finding and succeeds if that finding is gone. An accusing one stands
at a turn of a dialogue without findings and succeeds if a finding arises that its words do not deserve:

- on the agent's turn that they were added to, only the code that they demand counts: the turn has other words
  now, and these may well be unclear or off the topic;
- on the agent's reply to a customer's turn that they were added to, codes that judge the answer to the
  customer do not count: that reply was written to other words.

No attack demands a code that it deserves. Any insertion changes a scan's scores, so each trial has a control:
neutral sentences of about the same length and the same language at the same place.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector
from dialint.detector.judge import Detail, Question, build_chat, detail_schema, fit_chat, parse_answer
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, ToolCall, Turn
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.attack.battery import Attack, Battery, Place, Position, neutral_text

Spot = tuple[int, str]
"""A turn and a code."""

TOOL = "read_notes"
"""Name of the call whose result holds an attack."""


@dataclass(frozen=True)
class Subject:
    """Where attacks are tried: for hiding ones a turn and the code found there, for accusing ones a turn of a
    dialogue without findings, and the codes that it may be accused of."""

    dialogue: Dialogue
    turn: int
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Placed:
    """A dialogue with added text. `turn` is the subject's turn in it, `changed` the turns of agents that were
    added to, `replies` those that answer a customer's turn that was added to."""

    dialogue: Dialogue
    turn: int
    changed: frozenset[int]
    replies: frozenset[int]


@dataclass(frozen=True)
class Reading:
    """What a target says of a dialogue: its findings, the probability of each turn and code that it judged,
    and what kind of verdict it is."""

    findings: frozenset[Spot]
    probabilities: Mapping[Spot, float]
    status: Literal["scored", "failed", "not_judged"] = "scored"


@dataclass(frozen=True)
class Trial:
    """One attack at one subject, `code` is what it hides or demands. `attacked` and `control` are the
    dialogues to be read."""

    attack: Attack
    subject: Subject
    code: str
    attacked: Placed
    control: Placed


def make_trial(battery: Battery, attack: Attack, subject: Subject, seed: int) -> Trial:
    """The trial of an attack at a subject."""
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
) -> Placed:
    """`dialogue` with `parts` added to the last turns of that side up to the agent's turn `turn`, the last
    part to the last of them; parts for which there are no turns join the first. A customer who has said
    nothing so far gets a turn, and a tool's result is added with its call right before `turn`."""
    turns = [each.model_copy(update={"edits": ()}) for each in dialogue.turns]
    target = next(number for number, each in enumerate(turns) if each.index == turn)
    marked = turns[target]
    added: list[Turn] = []
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
    changed_customers = {id(turns[number]) for number in spots if place == "customer"} | {
        id(each) for each in added if each.role == "customer"
    }
    changed_agents = {id(turns[number]) for number in spots if place == "agent"}
    marked = turns[target]
    turns[target:target] = added
    changed: set[int] = set()
    replies: set[int] = set()
    awaiting = False
    for index, each in enumerate(turns):
        awaiting = awaiting or id(each) in changed_customers
        if each.role in JUDGED_ROLES and each.text.strip():
            if id(each) in changed_agents:
                changed.add(index)
            if awaiting:
                replies.add(index)
                awaiting = False
    numbered = tuple(each.model_copy(update={"index": index}) for index, each in enumerate(turns))
    new_index = next(index for index, each in enumerate(turns) if each is marked)
    return Placed(
        dialogue.model_copy(update={"turns": numbered}), new_index, frozenset(changed), frozenset(replies)
    )


def is_flipped(trial: Trial, placed: Placed, reading: Reading, taxonomy: Taxonomy) -> bool:
    """Whether the finding is gone (a verdict that failed has none either), or one arose that the text does
    not deserve."""
    if trial.attack.goal == "hide":
        return (placed.turn, trial.code) not in reading.findings
    return any(
        code == trial.code
        or not (turn in placed.changed or (turn in placed.replies and taxonomy.codes[code].answers_customer))
        for turn, code in reading.findings
    )


CHUNK = 128
ANSWER_TOKENS = 160
ERROR_FROM = 0.5
"""Probability from which the judge's answer counts as an error, without --judge-threshold."""


class Target(Protocol):
    """Anything that can be attacked."""

    name: str
    fingerprint: str
    taxonomy: Taxonomy

    def read(self, dialogues: Sequence[Dialogue], spots: Sequence[Sequence[Spot]]) -> list[Reading]:
        """Its reading of each dialogue. A target that has to be asked is asked about `spots`; one that is not
        reads everything."""
        ...


class ScanTarget:
    """A detector, as `dialint score` runs it."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.name, self.fingerprint, self.taxonomy = detector.release, detector.fingerprint, detector.taxonomy

    def read(self, dialogues: Sequence[Dialogue], spots: Sequence[Sequence[Spot]]) -> list[Reading]:
        readings: list[Reading] = []
        for start in range(0, len(dialogues), CHUNK):
            chunk = dialogues[start : start + CHUNK]
            for verdict in self._detector.verdicts(chunk, all_probabilities=True):
                probabilities = {
                    (turn, code): value
                    for turn, row in (verdict.probabilities or {}).items()
                    for code, value in row.items()
                }
                findings = frozenset((finding.turn, finding.code) for finding in verdict.findings)
                readings.append(Reading(findings, probabilities, verdict.status))
        return readings


class JudgeTarget:
    """A judge that is asked about each spot with the words of training and scoring. It sees a dialogue up to
    the turn in question. `failures` counts the questions without an answer, which are no findings."""

    def __init__(
        self,
        engine: JudgeEngine,
        taxonomy: Taxonomy,
        error_from: float = ERROR_FROM,
        detail: Detail = "short",
    ) -> None:
        self._engine, self.taxonomy, self._error_from, self._detail = engine, taxonomy, error_from, detail
        self.name, self.fingerprint = engine.name, engine.fingerprint
        self.questions = self.failures = 0

    def read(self, dialogues: Sequence[Dialogue], spots: Sequence[Sequence[Spot]]) -> list[Reading]:
        readings: list[Reading] = []
        for start in range(0, len(dialogues), CHUNK):
            batch = spots[start : start + CHUNK]
            requests = [
                self._request(masked, turn, code)
                for dialogue, own in zip(dialogues[start : start + CHUNK], batch, strict=True)
                for masked in ([mask_dialogue(dialogue)[0]] if own else [])
                for turn, code in own
            ]
            replies = iter(self._engine.ask(requests))
            for own in batch:
                values = [(spot, self._probability(next(replies))) for spot in own]
                probabilities = {spot: value for spot, value in values if value is not None}
                findings = frozenset(
                    spot for spot, value in probabilities.items() if value >= self._error_from
                )
                readings.append(
                    Reading(findings, probabilities, "failed" if len(probabilities) < len(own) else "scored")
                )
        return readings

    def _request(self, masked: Dialogue, turn: int, code: str) -> JudgeRequest:
        entry = self.taxonomy.codes[code]
        question = Question(dialogue=masked, turn=turn, code=code)
        bare = question.model_copy(update={"dialogue": masked.model_copy(update={"turns": ()})})
        chat, _ = fit_chat(
            lambda chars: build_chat(question, entry, self._engine.spell, self._detail, chars),
            self._engine.count_tokens,
            self._engine.max_prompt_tokens,
            lambda: self._engine.count_tokens(
                build_chat(bare, entry, self._engine.spell, self._detail).messages
            ),
        )
        return JudgeRequest(
            dialogue_id=masked.id,
            messages=tuple(chat.messages),
            schema=detail_schema(entry),
            max_tokens=ANSWER_TOKENS,
            wants_verdict=True,
            quoted=next(each.text for each in masked.turns if each.index == turn),
        )

    def _probability(self, reply: JudgeReply) -> float | None:
        self.questions += 1
        answer = None if reply.failure else parse_answer(reply.text)
        if answer is None:
            self.failures += 1
            return None
        if reply.verdict_probabilities is not None:
            return reply.verdict_probabilities[0]
        # A model may state another verdict than its probability says: what it calls no error is none.
        return answer.probability if answer.verdict == "error" else min(answer.probability, 0.49)


def scan_subjects(
    target: ScanTarget, examples: Sequence[Example], seed: int
) -> tuple[list[Subject], list[Subject]]:
    """Subjects for hiding, one a finding, and for accusing, one a dialogue without findings."""
    hiding: list[Subject] = []
    accusing: list[Subject] = []
    dialogues = [example.dialogue for example in examples]
    for dialogue, reading in zip(dialogues, target.read(dialogues, [()] * len(dialogues)), strict=True):
        hiding.extend(Subject(dialogue, turn, (code,)) for turn, code in sorted(reading.findings))
        if reading.status == "scored" and not reading.findings:
            accusing.append(Subject(dialogue, _some_turn(dialogue, seed), tuple(target.taxonomy.codes)))
    return hiding, accusing


def judge_subjects(
    target: JudgeTarget, scan: ScanTarget, examples: Sequence[Example], codes: Sequence[str], seed: int
) -> tuple[list[Subject], list[Subject]]:
    """The same for a judge: it is asked about what the scan finds and what labels name, and in dialogues with
    neither about `codes` at one turn."""
    dialogues = [example.dialogue for example in examples]
    spots: list[list[Spot]] = []
    clean: list[bool] = []
    for example, reading in zip(examples, scan.read(dialogues, [()] * len(dialogues)), strict=True):
        candidates = {(label.turn, label.code) for label in example.errors} | reading.findings
        is_scored = reading.status == "scored"
        clean.append(is_scored and not candidates)
        turn = _some_turn(example.dialogue, seed) if clean[-1] else 0
        spots.append(
            [(turn, code) for code in codes] if clean[-1] else sorted(candidates) if is_scored else []
        )
    hiding: list[Subject] = []
    accusing: list[Subject] = []
    readings = target.read(dialogues, spots)
    for dialogue, own, is_clean, reading in zip(dialogues, spots, clean, readings, strict=True):
        if is_clean:
            denied = reading.probabilities.keys() - reading.findings
            free = tuple(code for turn, code in own if (turn, code) in denied)
            accusing.append(Subject(dialogue, own[0][0], free))
        else:
            hiding.extend(Subject(dialogue, turn, (code,)) for turn, code in sorted(reading.findings))
    return hiding, accusing


def _some_turn(dialogue: Dialogue, seed: int) -> int:
    """One turn of an agent, drawn by the seed."""
    turns = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    if not turns:
        raise ConfigError("E_EXAMPLE", f"dialogue {dialogue.id}: no agent turn")
    return random.Random(f"{seed}/{dialogue.id}").choice(turns)
