"""What is attacked: a detector's verdicts, or an LLM judge that is asked about turns one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector
from dialint.detector.judge import Detail, Question, build_chat, detail_schema, fit_chat, parse_answer
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.attack.trials import Reading, Spot, Subject

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
