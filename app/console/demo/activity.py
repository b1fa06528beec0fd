"""The demo's past: the sample log again and again over some weeks, and what people said of it.

Dialogues are those of the sample under other names, dates and agents, with the verdicts of the same texts.
People, reviews, answers, appeals and notes are made up, always the same: most answers follow the author's
labels of the sample; one labeler answers without reading, and one copies from another.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dialint.detector.records import Dialogue, Finding, Label, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation, judged_turns, quoted_finding
from dialint.labeling.store import accounts, appeals, dialogues, leases, projects
from dialint.labeling.store.annotations import submit
from dialint.labeling.store.coaching import acknowledge_note, write_note
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.gold import put_gold
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Account, Gold, Project
from dialint.labeling.store.stored_annotations import import_annotations

SAMPLE_LABELS = Path(__file__).parents[2] / "sample" / "labels.jsonl"
WEEKS = 10
PER_WEEK = 34
"""Dialogues of a week, beside those of the sample itself, which are of the last ten days."""
SAMPLE_DAYS = 10
DAY_MS = 86_400_000
AGENT = "a04"
"""The agent whose account is in the demo, and who makes most errors."""
OFTEN, RARELY = (AGENT, "a08"), ("a01", "a07")
"""Agents who get the flagged dialogues of the sample more often, and more rarely."""
REVIEWERS = {"rosa": 0.96, "ravi": 0.9, "reviewer": 0.93, "expert": 0.98}
"""How often each follows the author's labels."""
LABELERS = {"ana": 0.97, "boris": 0.94, "cleo": 0.9, "labeler": 0.95, "elena": 0.84}
HASTY, COPIER = "dario", "felix"
"""Who answers no without reading, and who copies from elena."""
LABEL_CODES = ("C1", "T1", "U2", "L1")
N_LABELED, N_GOLD, N_PER_LABELER = 90, 24, 60
APPEALS = "appeals"
STATEMENTS = (
    "The customer had asked for exactly this in an earlier call.",
    "The sentence is complete; only the closing mark is missing.",
    "The amount is in the tool's answer above.",
)
REASON = "The second reviewer sees no error here either; the agent answered what was asked."
NOTES = (
    "Your openings are warm and quick. Before you close a chat, read the customer's last message once more: "
    "twice this week a second question was left open.",
    "Please look at this dialogue again: the limit that you named is not in the policy.",
)


@dataclass(frozen=True)
class Past:
    """A dialogue of the past: when it came, its verdict, and the errors that the author sees in it."""

    dialogue: Dialogue
    verdict: Verdict
    at_ms: int
    errors: tuple[Label, ...]


def add_log(location: str, sample: Sequence[Dialogue], verdicts: Sequence[Verdict]) -> list[Past]:
    """Add the sample over the last days and its repetitions over the weeks before, which are returned, oldest
    first."""
    rng = random.Random(7)
    now_ms = time.time_ns() // 1_000_000
    verdict_by_dialogue = {verdict.dialogue_id: verdict for verdict in verdicts}
    recent = [
        (each, verdict_by_dialogue[each.id], now_ms - int(rng.uniform(0.05, SAMPLE_DAYS) * DAY_MS))
        for each in sample
    ]
    past = _repeat(sample, verdict_by_dialogue, now_ms, rng)
    rows = sorted(
        [*recent, *((one.dialogue, one.verdict, one.at_ms) for one in past)], key=lambda row: row[2]
    )
    days: dict[int, list[tuple[Dialogue, Verdict, int]]] = {}
    for row in rows:
        days.setdefault((now_ms - row[2]) // DAY_MS, []).append(row)
    present_ms = now_ms
    with Store.open(location, lambda: present_ms) as store:
        for of_day in days.values():
            present_ms = of_day[-1][2]
            dialogues.add(store, "lead", [dialogue for dialogue, _, _ in of_day])
            dialogues.add_verdicts(store, "lead", [verdict for _, verdict, _ in of_day])
    return past


def _repeat(
    sample: Sequence[Dialogue], verdicts: dict[str, Verdict], now_ms: int, rng: random.Random
) -> list[Past]:
    labels = [Label.model_validate_json(line) for line in SAMPLE_LABELS.read_bytes().splitlines()]
    teams = {each.agent: each.team for each in sample if each.agent is not None}
    agents = sorted(teams)
    past = []
    for week in range(WEEKS, 0, -1):
        flagged_weight = 2.5 + 0.15 * week  # fewer errors by and by
        weights = [flagged_weight if verdicts[each.id].findings else 1.0 for each in sample]
        chosen = dict.fromkeys(rng.choices(range(len(sample)), weights, k=PER_WEEK))
        for number in chosen:
            original = sample[number]
            flagged = bool(verdicts[original.id].findings)
            often, rarely = (4.0, 0.5) if flagged else (0.8, 1.5)
            agent = rng.choices(
                agents, [often if one in OFTEN else rarely if one in RARELY else 1.0 for one in agents]
            )[0]
            name = f"{original.id}-w{WEEKS + 1 - week:02}"
            at_ms = now_ms - int((week - 1 + rng.uniform(0.02, 1.0)) * 7 * DAY_MS)
            own = {"id": name, "agent": agent, "team": teams[agent]}
            past.append(
                Past(
                    original.model_copy(update=own),
                    verdicts[original.id].model_copy(
                        update={"dialogue_id": name, "agent": agent, "team": teams[agent]}
                    ),
                    at_ms,
                    tuple(label for label in labels if label.dialogue_id == original.id),
                )
            )
    return sorted(past, key=lambda one: one.at_ms)


def add_people(store: Store, past: Sequence[Past]) -> None:
    """Add people, reviews, blind answers and gold. The store needs an account for each role."""
    rng = random.Random(11)
    for name, role in {"rosa": "reviewer", "ravi": "reviewer"}.items():
        accounts.create(store, "admin", Account(id=name, role=role))  # type: ignore[arg-type]
    for name in (*LABELERS, HASTY, COPIER):
        if name != "labeler":
            accounts.create(store, "admin", Account(id=name, role="labeler"))
    codes = tuple(load_taxonomy().codes)
    reviews = [review for one in past for review in _review(one, codes, rng)]
    answers = _label(past, rng)
    for start in range(0, len(reviews), 1000):
        import_annotations(store, "admin", reviews[start : start + 1000], "demo reviews")
    import_annotations(store, "admin", answers, "demo labels")
    gold = [
        Gold(
            dialogue=one.dialogue.id, turn=turn, code=code, source="expert",
            present=(turn, code) in {(label.turn, label.code) for label in one.errors},
        )
        for one in past[-N_LABELED:][:N_GOLD]
        for turn in judged_turns(one.dialogue)
        for code in LABEL_CODES
    ]  # fmt: skip
    store.write(lambda transaction: _put_gold(transaction, gold), repeatable=True)


def _review(one: Past, codes: tuple[str, ...], rng: random.Random) -> list[Annotation]:
    if rng.random() > (0.85 if one.verdict.findings else 0.12):
        return []
    severities = {name: code.severity for name, code in load_taxonomy().codes.items()}
    errors = {(label.turn, label.code) for label in one.errors}
    proposed = {(finding.turn, finding.code) for finding in one.verdict.findings}
    reviews = []
    for reviewer in rng.sample(sorted(REVIEWERS), 2 if rng.random() < 0.3 else 1):
        care = REVIEWERS[reviewer]
        findings: list[Finding] = []
        for finding in one.verdict.findings:
            is_right = (finding.turn, finding.code) in errors
            if (rng.random() < care) == is_right and rng.random() < 0.93:
                findings.append(finding)
        for label in one.errors:
            if (label.turn, label.code) not in proposed and rng.random() < care - 0.55:
                text = next(turn.text for turn in one.dialogue.turns if turn.index == label.turn)
                quote = None if label.start is None else text[label.start : label.end]
                severity = severities[label.code]
                findings.append(
                    quoted_finding(one.dialogue, label.turn, label.code, severity, "Missed.", quote or None)
                )
        delay_ms = int(rng.uniform(0.1, 2.0) * DAY_MS)
        reviews.append(
            Annotation(
                id=f"{one.dialogue.id}-{reviewer}", dialogue_id=one.dialogue.id, labeler=reviewer,
                kind="expert" if reviewer == "expert" else "reviewer", codes=codes, findings=tuple(findings),
                seen_verdict=True, at=_later(one, delay_ms),
                seconds=round(rng.lognormvariate(3.2, 0.5), 1),
            )
        )  # fmt: skip
    return reviews


def _later(one: Past, delay_ms: int) -> datetime:
    at_s = min(time.time() - 60, (one.at_ms + delay_ms) / 1000)
    return datetime.fromtimestamp(int(at_s), UTC)


def _label(past: Sequence[Past], rng: random.Random) -> list[Annotation]:
    answers: list[Annotation] = []
    for one in past[-N_LABELED:]:
        size = sum(len(turn.text) for turn in one.dialogue.turns)
        errors = {(label.turn, label.code) for label in one.errors if label.code in LABEL_CODES}
        marks: dict[str, set[tuple[int, str]]] = {HASTY: set()}
        for labeler, care in LABELERS.items():
            questions = [(turn, code) for turn in judged_turns(one.dialogue) for code in LABEL_CODES]
            wrong = {each for each in questions if rng.random() > care + (1 - care) * 0.6}
            marks[labeler] = (errors & set(questions)) ^ wrong
        marks[COPIER] = marks["elena"]
        for labeler, marked in marks.items():
            if rng.random() > N_PER_LABELER / N_LABELED and labeler != COPIER:
                continue
            usual_s = 1.6 if labeler == HASTY else size / 6 / 230 * 60
            seconds = round(usual_s * rng.lognormvariate(0.0, 0.35), 1)
            answers.append(
                Annotation(
                    id=f"{one.dialogue.id}-{labeler}", dialogue_id=one.dialogue.id, labeler=labeler,
                    kind="crowd", codes=LABEL_CODES, seconds=seconds,
                    findings=tuple(
                        quoted_finding(one.dialogue, turn, code, "S3", "") for turn, code in sorted(marked)
                    ),
                    at=_later(one, int(rng.uniform(0.2, 3.0) * DAY_MS)),
                )
            )  # fmt: skip
    return answers


def add_coaching(store: Store, past: Sequence[Past]) -> None:
    """Add notes to the agent, an overturned appeal, and one that waits for its second review."""
    own = [one for one in past if one.dialogue.agent == AGENT]
    flagged = [one for one in own if one.verdict.findings]
    acknowledge_note(store, "agent", write_note(store, "lead", AGENT, NOTES[0]).id)
    write_note(store, "lead", AGENT, NOTES[1], (flagged or own)[-1].dialogue.id)
    codes = tuple(load_taxonomy().codes)
    projects.create(store, "lead", Project(id=APPEALS, codes=codes, purpose="review"))
    for one, statement in zip(flagged[-3:], STATEMENTS, strict=False):
        finding = one.verdict.findings[0]
        appeals.open_appeal(store, "agent", one.dialogue.id, finding.turn, finding.code, statement)
    appeals.open_second_reviews(store, "lead", APPEALS)
    for reviewer in ("rosa", "ravi"):
        lease = leases.claim(store, reviewer, APPEALS)
        if lease is not None:
            submit(store, reviewer, lease.task, lease.token, f"appeal-{lease.task}", (), 41.0)
            decided = next(
                each for each in appeals.list_open(store, "lead") if each.dialogue == lease.dialogue
            )
            appeals.decide_appeal(store, "lead", decided.id, "overturned", REASON)
            return


def _put_gold(transaction: Transaction, gold: Sequence[Gold]) -> None:
    require_permission(transaction, "expert", "decide")
    for each in gold:
        put_gold(transaction, "expert", each)
