"""People's decisions on a verdict: one on each finding, and the state of the dialogue that follows.

Pure functions from a verdict, the answers that count and the appeals to the rows of ``dialogue_index`` and
``finding_index``. The rules:

- The findings and suggestions are those of the newest verdict; a second release replaces them. Decisions
  belong to a turn and code, so they hold for the new verdict's finding at the same place, too. What only the
  older verdict had is counted no more.
- Answers of reviewers and experts decide; those of labelers and models do not. Of several answers to the same
  turn and code the newest one decides, an expert's before a reviewer's. A correction replaces the answer that
  it supersedes.
- Not decisions: blind second reviews of an appeal, exercises (training, exam and control tasks, calibration
  sessions), and answers that a ban discarded. The ban alone changes nothing: the tasks that it reopens are
  answered again. A direct review by an account that was banned later holds until the next review.
- A finding is confirmed if the answer has it, changed if with another code or severity, else rejected; open
  without an answer. Errors that only the answer has are added. A suggestion that was not accepted stays open;
  an accepted one is an addition of the person.
- A decided appeal overrides answers: overturned rejects the finding, upheld confirms it. An amended one is
  decided by the annotation of the expert who amended it.
- The reviewed score of a dialogue counts the resulting errors: confirmed and added ones, changed ones by
  their new severity, and undecided findings of the model. It exists after the first decision, if the model or
  a person has judged the whole dialogue.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from dialint.detector import records
from dialint.labeling.annotation import Place, match_findings
from dialint.labeling.store.database.schema import FINDING_COUNTS

Decision = Literal["open", "confirmed", "rejected", "changed", "added"]
Review = Literal["none", "labeled", "reviewed"]
"""The highest role that answered: none, a labeler, or a reviewer or expert."""
AppealState = Literal["none", "open", "overturned", "upheld", "amended"]
Finding = Mapping[str, Any]
"""A finding as it is stored, as JSON."""
LARGE = frozenset({"findings", "suggestions", "probabilities"})

APPEAL_RANK: dict[str, int] = {"none": 0, "upheld": 1, "amended": 2, "overturned": 3, "open": 4}


class NewestVerdict(NamedTuple):
    """The newest verdict on a dialogue: its release and its content as JSON."""

    release: str
    content: Mapping[str, Any]


class DecidingAnswer(NamedTuple):
    """An answer that counts, by a reviewer or expert."""

    id: int
    is_expert: bool
    turn: int | None
    codes: tuple[str, ...]
    findings: tuple[Finding, ...]

    def asks(self, finding: Finding) -> bool:
        """Returns whether the answer decides the finding's turn and code."""
        return finding["code"] in self.codes and self.turn in (None, finding["turn"])


class FindingAppeal(NamedTuple):
    """An appeal against a finding."""

    turn: int
    code: str
    state: AppealState


@dataclass(frozen=True)
class DecidedFinding:
    """A finding, suggestion or addition with people's decision. `reviewed` are code and severity of the
    resulting error; None if there is none."""

    suggestion: bool
    turn: int
    code: str
    severity: str
    probability: float
    decision: Decision
    appeal: AppealState = "none"
    reviewed: tuple[str, str] | None = None


def decide_findings(
    verdict: NewestVerdict | None, answers: Iterable[DecidingAnswer], appeals: Sequence[FindingAppeal]
) -> list[DecidedFinding]:
    """The decided findings of a dialogue: findings, then suggestions, then additions, each in order."""
    ordered = sorted(answers, key=lambda answer: (answer.is_expert, answer.id), reverse=True)
    content: Mapping[str, Any] = {} if verdict is None else verdict.content
    proposed: list[Finding] = [*content.get("findings", ()), *content.get("suggestions", ())]
    suggested = range(len(content.get("findings", ())), len(proposed))
    deciding = [next((answer for answer in ordered if answer.asks(each)), None) for each in proposed]
    matches: dict[int, Finding] = {}
    added: list[Finding] = []
    for answer in ordered:
        own = [number for number, each in enumerate(deciding) if each is answer]
        places = [place_of(proposed[number]) for number in own]
        likely = {n for n, number in enumerate(own) if number in suggested}
        found = match_findings(places, likely, list(map(place_of, answer.findings)))
        matches |= {own[n]: answer.findings[at] for n, at in enumerate(found) if at is not None}
        rest = (each for at, each in enumerate(answer.findings) if at not in found)
        added += [each for each in rest if next(other for other in ordered if other.asks(each)) is answer]
    decided: list[DecidedFinding] = []
    for number, finding in enumerate(proposed):
        error, is_suggestion = error_of(finding), number in suggested
        reviewed: tuple[str, str] | None = None
        decision: Decision = "open" if deciding[number] is None or is_suggestion else "rejected"
        if (match := matches.get(number)) is not None:
            reviewed = error_of(match)
            decision = "confirmed" if reviewed == error else "changed"
        elif decision == "open" and not is_suggestion:
            reviewed = error
        states = [each.state for each in appeals if (each.turn, each.code) == (finding["turn"], error[0])]
        state: AppealState = "none"  # open if one of the appeals is, else that of the last one
        if states and not is_suggestion:
            state = "open" if "open" in states else states[-1]
        if state == "overturned":
            decision, reviewed = "rejected", None
        elif state == "upheld":
            decision, reviewed = "confirmed", error
        place = (is_suggestion, finding["turn"], *error, finding["probability"])
        decided.append(DecidedFinding(*place, decision, state, reviewed))
    added.sort(key=lambda finding: (finding["turn"], finding["code"], finding["start"], finding["end"]))
    for each in added:
        error = error_of(each)
        decided.append(DecidedFinding(False, each["turn"], *error, 1.0, "added", reviewed=error))
    return decided


def place_of(finding: Finding) -> Place:
    """The place of a finding."""
    return finding["turn"], finding["start"], finding["end"], str(finding["code"])


def error_of(finding: Finding) -> tuple[str, str]:
    """Code and severity of a finding."""
    return str(finding["code"]), str(finding["severity"])


def describe_dialogue(
    verdict: NewestVerdict | None,
    findings: Sequence[DecidedFinding],
    review: Review,
    appeals: Sequence[FindingAppeal],
    *,
    is_read_whole: bool,
) -> dict[str, Any]:
    """Returns the columns of a dialogue's row that follow from its verdict and people's decisions;
    `is_read_whole`: a reviewer or expert answered for the whole dialogue."""
    content: Mapping[str, Any] = {} if verdict is None else verdict.content
    counts = Counter(name for one in findings for name in _list_counts(one))
    proposed = [one for one in findings if one.decision != "added"]
    is_decided = review == "reviewed" or any(one.state in ("overturned", "upheld") for one in appeals)
    accused = [one for one in proposed if not one.suggestion]
    return {
        "release": "" if verdict is None else verdict.release,
        "status": "unscored" if verdict is None else str(content["status"]),
        "quality": content.get("quality"),
        "coverage": json.dumps(_list_coverage(content)),
        "reviewed_errors": json.dumps(sorted(one.reviewed for one in findings if one.reviewed))
        if is_decided and (is_read_whole or content.get("quality") is not None)
        else None,
        "worst": min((one.severity for one in accused), default=""),
        "probability": max((one.probability for one in proposed), default=0.0),
        "review": review,
        "appeal": max((one.state for one in appeals), key=APPEAL_RANK.__getitem__, default="none"),
        **{f"n_{name}": counts[name] for name in FINDING_COUNTS},
    }


def _list_coverage(content: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The codes that the verdict says were not judged, and those that its judge answered for."""
    if not content.keys() & {"not_judged", "no_policy", "judge"}:  # most verdicts; spares the validation
        return [], []
    rest = {name: value for name, value in content.items() if name not in LARGE}
    verdict = records.Verdict.model_validate_json(json.dumps(rest))
    judge = verdict.judge
    by_judge = frozenset() if judge is None else frozenset(judge.codes) - judge.silent_codes
    return sorted(verdict.unjudged_codes), sorted(by_judge)


def _list_counts(one: DecidedFinding) -> list[str]:
    """The `FINDING_COUNTS` that a finding, suggestion or addition adds one to."""
    names = [] if one.appeal == "none" else ["appealed"]
    names += ["overturned"] if one.appeal == "overturned" else []
    if one.decision == "added" or (one.suggestion and one.decision in ("confirmed", "changed")):
        names.append("added")
    if one.suggestion:
        return [*names, "suggestions"]
    return names if one.decision == "added" else [*names, "findings", one.decision]
