"""The results of a calibration session for the screen: its report, and the questions on which people differ.

Who may see them, and under which names, is decided by the store (`store.calibration_sessions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.adjudication.calibration_session import Report, make_report
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.store.calibration_sessions import SessionAnswers, load_answers
from dialint.labeling.store.database.transactions import Store


@dataclass(frozen=True)
class DisputedQuestion:
    """A question on which people differ: who says yes, with what they marked, and who says no. `turn` is None
    for a code of dialogue scope; `task` is the item's."""

    dialogue: str
    task: int
    turn: int | None
    code: str
    votes: dict[str, bool]
    findings: dict[str, tuple[Finding, ...]]

    @property
    def split(self) -> float:
        """The share of the smaller side, 0 to 0.5."""
        yes = sum(self.votes.values()) / len(self.votes)
        return min(yes, 1.0 - yes)


@dataclass(frozen=True)
class SessionResults:
    """The report of a session, and its disputed questions, the most even split first."""

    report: Report
    disputed: tuple[DisputedQuestion, ...]
    n_answers: int


def load_results(
    store: Store, actor: str, name: str, before: str | None, taxonomy: Taxonomy
) -> SessionResults:
    """The results of a session, beside those of the session `before`.

    Raises:
        NotAllowed: the actor may not see them, or not yet.
        ConfigError: nobody has answered anything.
    """
    stored = load_answers(store, actor, name)
    answers = _collect(stored, taxonomy)
    if not answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=name)
    earlier = None if before is None else _collect(load_answers(store, actor, before), taxonomy)
    report = make_report(name, answers, before, earlier)
    return SessionResults(report, tuple(list_disputed(stored, answers)), len(stored.answers))


def _collect(stored: SessionAnswers, taxonomy: Taxonomy) -> CollectedAnswers:
    return collect_answers(
        stored.answers, lambda name: DialogueContext(stored.judged[name], None), dialogue_codes(taxonomy)
    )


def list_disputed(stored: SessionAnswers, answers: CollectedAnswers) -> list[DisputedQuestion]:
    """Every question on which people differ, the most even split first."""
    findings: dict[tuple[str, str, str], list[Finding]] = {}
    for answer in stored.answers:
        for finding in answer.findings:
            findings.setdefault((answer.dialogue_id, answer.labeler, finding.code), []).append(finding)
    disputed = []
    for code, of_code in answers.codes.items():
        for item, votes in of_code.votes.items():
            if not 0 < sum(votes.values()) < len(votes):
                continue
            turn = None if item.turn == WHOLE_DIALOGUE else item.turn
            marked = {
                who: tuple(
                    each for each in findings.get((item.dialogue, who, code), ()) if turn in (None, each.turn)
                )
                for who, yes in votes.items()
                if yes
            }
            task = stored.tasks[item.dialogue]
            disputed.append(DisputedQuestion(item.dialogue, task, turn, code, dict(votes), marked))
    return sorted(disputed, key=lambda one: (-one.split, one.dialogue, one.turn or -1, one.code))
