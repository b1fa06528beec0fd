"""One dialogue on its way through the judge stage: what may be asked about it, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from dialint.detector.judge.messages import Answer, PromptClause, source_texts
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.policy import Policy, policy_for
from dialint.detector.policy.evaluate import History
from dialint.detector.policy.format import Clause
from dialint.detector.records import JUDGED_ROLES, Dialogue, JudgeRecord, Verdict
from dialint.detector.taxonomy import Code, Need

QuestionKind = Literal["detail", "screen"]
ESCALATION = "E1"
"""The code whose question shows every clause of the policy: any may say when to hand a case up."""


@dataclass(frozen=True)
class Ruling:
    """The judge's answer to a question about one turn and one code. `probability` is that of an error as the
    tokens state it, or, where `is_self_reported`, as the judge wrote it; `is_approximate` as in
    `dialint.detector.judge.engine.JudgeReply`."""

    answer: Answer
    probability: float
    is_self_reported: bool
    is_approximate: bool = False


@dataclass
class Case:
    """A dialogue with the verdict of the detector inside, and what was asked and answered so far."""

    dialogue: Dialogue
    verdict: Verdict
    policies: Mapping[str, Policy]
    is_audit: bool = False
    rulings: dict[tuple[int, str], Ruling] = field(default_factory=dict)
    counts: dict[QuestionKind, int] = field(default_factory=lambda: {"detail": 0, "screen": 0})
    asked: set[str] = field(default_factory=set)
    unmet: set[str] = field(default_factory=set)
    unasked: set[str] = field(default_factory=set)
    failures: dict[str, set[str]] = field(default_factory=dict)
    unquoted: int = 0

    @cached_property
    def _masking(self) -> tuple[Dialogue, tuple[MaskedText, ...]]:
        return mask_dialogue(self.dialogue)

    @property
    def masked(self) -> Dialogue:
        """The dialogue with placeholders for personal data: all that a judge sees."""
        return self._masking[0]

    @property
    def texts(self) -> tuple[MaskedText, ...]:
        """The masked text of each turn, by position."""
        return self._masking[1]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """Position of each turn by its index."""
        return {turn.index: position for position, turn in enumerate(self.dialogue.turns)}

    @cached_property
    def judged_turns(self) -> tuple[int, ...]:
        """Indices of the turns of agents and bots that have words."""
        turns = self.dialogue.turns
        return tuple(turn.index for turn in turns if turn.role in JUDGED_ROLES and turn.text.strip())

    @cached_property
    def _history(self) -> History | None:
        policy = policy_for(self.masked, self.policies)
        return None if policy is None else History(self.masked, policy)

    def clauses(self, code: str) -> tuple[PromptClause, ...]:
        """The clauses of the dialogue's policy that a question about `code` shows: those whose violation is
        this code, but for those about calls of which the dialogue, where it has calls, has none."""
        history = self._history
        if history is None:
            return ()
        return tuple(
            PromptClause(id=clause.id, text=clause.text)
            for clause in history.policy.clauses
            if _is_about(clause, code) and _can_apply(clause, history)
        )

    @cached_property
    def evidence(self) -> tuple[Need, ...]:
        """The kinds of evidence beside the dialogue's own lines."""
        kinds: dict[Need, bool] = {
            "sources": bool(source_texts(self.masked)),
            "policy": self._history is not None,
            "timestamps": sum(turn.at is not None for turn in self.dialogue.turns) > 1,
        }
        return tuple(kind for kind, is_there in kinds.items() if is_there)

    def meets(self, code: Code) -> bool:
        """Whether the dialogue has what `code` needs."""
        for need in code.needs:
            if need == "policy":
                is_met = bool(self.clauses(code.code))
            elif need == "actions":
                is_met = any(turn.tool_calls for turn in self.dialogue.turns)
            else:
                is_met = need in self.evidence
            if not is_met:
                return False
        return True

    def fail(self, failure: str, codes: tuple[str, ...]) -> None:
        """Count a question that has no usable answer."""
        self.failures.setdefault(failure, set()).update(codes)

    def record(self, name: str, prompt: str) -> JudgeRecord:
        """What was asked, for the verdict."""
        return JudgeRecord(
            name=name,
            prompt=prompt,
            screens=self.counts["screen"],
            details=self.counts["detail"],
            codes=tuple(sorted(self.asked)),
            unmet=tuple(sorted(self.unmet)),
            unasked=tuple(sorted(self.unasked)),
            failures={failure: tuple(sorted(codes)) for failure, codes in sorted(self.failures.items())},
            not_applicable=tuple(
                key
                for key, ruling in sorted(self.rulings.items())
                if ruling.answer.verdict == "not_applicable"
            ),
            is_audit=self.is_audit,
            is_self_reported=any(ruling.is_self_reported for ruling in self.rulings.values()),
            is_approximate=any(ruling.is_approximate for ruling in self.rulings.values()),
        )


def _is_about(clause: Clause, code: str) -> bool:
    is_late = code == "P4" and clause.before is not None and clause.code is None
    return code == ESCALATION or clause.violation_code == code or is_late


def _can_apply(clause: Clause, history: History) -> bool:
    if not history.calls or not clause.on.call or clause.on.says or clause.on.customer_says:
        return True
    return any(history.is_match(call.name, clause.on.call) for call in history.calls)
