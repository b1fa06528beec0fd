"""The demo's disagreements: answers for experts to settle, calibration sessions, decided appeals.

People and answers are made up, always the same. They are given through the store like those of real people.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from dialint.app.console.demo.activity import AGENT, APPEALS, Past
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.calibration_session import CalibrationConfig, start_session
from dialint.labeling.adjudication.cases import AdjudicateConfig, adjudicate
from dialint.labeling.aggregation.store_labels import StoreLabelsConfig, aggregate_store
from dialint.labeling.annotation import judged_turns, quoted_finding
from dialint.labeling.store import annotations as answers
from dialint.labeling.store import appeals, expert_cases, leases, projects, task_view, tasks
from dialint.labeling.store.calibration_sessions import save_note
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.masked_view import prepare_view
from dialint.labeling.store.records import NewTask, Project

WAVE, ADJUDICATION, CODES = "wave-1", "adjudication", ("C1", "T1", "U2", "L1")
WAVE_PEOPLE = ("ana", "boris", "cleo")
N_WAVE, N_CLEAN, N_DECIDED = 20, 6, 2
SESSION_CODES = ("C1", "C2", "T2", "U3", "M2")
CLOSED, OPEN = "calibration-1", "calibration-2"
CARE = {"ana": (0.06, 0.05), "boris": (0.005, 0.45), "cleo": (0.02, 0.2), "expert": (0.01, 0.05)}
"""How often each sees an error where the author has none, and misses one that is there."""
USUAL = (0.02, 0.15)
N_CLOSED, N_OPEN = 12, 6
NOTE = (
    "A question that is repeated word for word is C1 each time it is passed over. An answer to one of two "
    "questions is C2 and not C1. Boris and Ana go through T2 again before the next session."
)
DECISION = "The customer asked twice; the turn goes on to something else without a word about it."
UPHELD = "The second reviewer finds the same error, and nothing in the dialogue answers it."


def add_disputes(store: Store, past: Sequence[Past]) -> None:
    """Add answers with cases for experts, a closed and an open calibration session, and appeals."""
    rng, taxonomy = random.Random(5), load_taxonomy()
    by_id = {one.dialogue.id: one for one in past}
    wanted = [one for one in past if {label.code for label in one.errors}.intersection(CODES)]
    chosen = [*wanted[: N_WAVE - N_CLEAN], *[one for one in past if not one.errors][:N_CLEAN]]
    project = Project(id=WAVE, codes=CODES, overlap=len(WAVE_PEOPLE), members=WAVE_PEOPLE, masked=False)
    projects.create(store, "lead", project)
    tasks.add(store, "lead", WAVE, [NewTask(dialogue=one.dialogue.id, why="demo") for one in chosen])
    for who in WAVE_PEOPLE:
        _answer_all(store, who, WAVE, CODES, by_id, rng)
    aggregate_store(store, "lead", StoreLabelsConfig(WAVE), taxonomy)
    projects.create(store, "lead", Project(id=ADJUDICATION, codes=CODES, purpose="adjudication"))
    config = AdjudicateConfig(into=ADJUDICATION, project=WAVE, disagreements=True)
    adjudicate(store, "lead", config, taxonomy)
    for _ in range(N_DECIDED):
        lease = leases.claim(store, "expert", ADJUDICATION)
        if lease is not None and lease.turn is not None:
            one = by_id[lease.dialogue]
            findings = _find(one, one.dialogue, CODES, (0.0, 0.0), rng, lease.turn)
            key = f"decision expert {lease.task} {lease.token}"
            expert_cases.decide_case(store, "expert", lease.task, lease.token, key, findings, DECISION, 38.0)
    _add_sessions(store, past, by_id, rng)
    _add_appeals(store, past)


def _add_sessions(store: Store, past: Sequence[Past], by_id: dict[str, Past], rng: random.Random) -> None:
    taxonomy = load_taxonomy()
    wave = {task.dialogue for task in store.read(partial(tasks.list_answered_tasks, project=WAVE))}
    flawed = [
        one
        for one in past
        if {label.code for label in one.errors}.intersection(SESSION_CODES) and one.dialogue.id not in wave
    ]
    names = [one.dialogue.id for one in flawed]
    members = ("ana", "boris", "expert", "labeler", "reviewer")
    for name, group, ids in (
        (CLOSED, members, names[:N_CLOSED]),
        (OPEN, ("ana", "labeler", "reviewer"), names[N_CLOSED : N_CLOSED + N_OPEN]),
    ):
        config = CalibrationConfig(
            name=name, codes=SESSION_CODES, members=group, dialogues=tuple(ids),
            instructions="Answer on your own, and do not talk about it before all are done.",
        )  # fmt: skip
        start_session(store, "lead", config, taxonomy)
    for one in names[: N_CLOSED + N_OPEN]:
        prepare_view(store, one)  # or each claim of a labeler would mask the dialogue anew
    for who in members:
        _answer_all(store, who, CLOSED, SESSION_CODES, by_id, rng)
    save_note(store, "lead", CLOSED, NOTE, None)
    projects.set_state(store, "lead", CLOSED, "closed")
    _answer_all(store, "ana", OPEN, SESSION_CODES, by_id, rng)
    _answer_all(store, "reviewer", OPEN, SESSION_CODES, by_id, rng, 3)


def _answer_all(
    store: Store, who: str, project: str, codes: Sequence[str], by_id: dict[str, Past],
    rng: random.Random, most: int = 1000,
) -> None:  # fmt: skip
    for _ in range(most):
        lease = leases.claim(store, who, project)
        if lease is None:
            return
        dialogue = task_view.view_task(store, who, lease.task).dialogue
        findings = _find(by_id[lease.dialogue], dialogue, codes, CARE.get(who, USUAL), rng)
        seconds = round(rng.lognormvariate(3.6, 0.4), 1)
        answers.submit(store, who, lease.task, lease.token, f"demo {who} {lease.task}", findings, seconds)


def _find(
    one: Past, dialogue: Dialogue, codes: Sequence[str], care: tuple[float, float], rng: random.Random,
    only_turn: int | None = None,
) -> list[Finding]:  # fmt: skip
    invented, missed = care
    taxonomy = load_taxonomy()
    quotes = {(label.turn, label.code): label for label in one.errors}
    texts = {turn.index: turn.text for turn in dialogue.turns}
    findings = []
    for turn in judged_turns(dialogue):
        for code in codes:
            label = quotes.get((turn, code))
            is_seen = rng.random() > missed if label is not None else rng.random() < invented / 4
            if not is_seen or only_turn not in (None, turn):
                continue
            has_words = label is not None and label.start is not None
            words = texts[turn][label.start : label.end] if label is not None and has_words else ""
            severity = taxonomy.codes[code].severity
            findings.append(quoted_finding(dialogue, turn, code, severity, "", words or None))
    return findings


def _add_appeals(store: Store, past: Sequence[Past]) -> None:
    flagged = [one for one in past if one.dialogue.agent == AGENT and one.verdict.findings]
    by_id = {one.dialogue.id: one for one in flagged}
    for one in flagged[:5]:
        finding = one.verdict.findings[0]
        statement = "I do not see what is wrong with this sentence."
        appeals.open_appeal(store, "agent", one.dialogue.id, finding.turn, finding.code, statement)
    appeals.open_second_reviews(store, "lead", APPEALS)
    own = {one.dialogue.id for one in flagged[:5]}
    for reviewer in ("rosa", "ravi", "reviewer"):
        while (lease := leases.claim(store, reviewer, APPEALS)) is not None:
            if lease.dialogue not in own:
                leases.skip(store, reviewer, lease.task, lease.token, "I know the people in it")
                continue
            findings = [one for one in by_id[lease.dialogue].verdict.findings if one.turn == lease.turn]
            key = f"second {reviewer} {lease.task}"
            answers.submit(store, reviewer, lease.task, lease.token, key, findings[:1], 33.0)
    reviewed = [
        one
        for one in appeals.list_open(store, "lead")
        if one.dialogue in own and appeals.load_dispute(store, "lead", one.id).second
    ]
    for appeal in reviewed[1:]:
        appeals.decide_appeal(store, "lead", appeal.id, "upheld", UPHELD)
