"""The demo's store: the sample log, its verdicts, tasks for reviewers and labelers, an account for each role,
a scored job, and a past of some weeks that is made up, always the same.

Dialogues of the past are those of the sample under other names, dates and agents, with the verdicts of the
same texts. Answers follow the author's labels of the sample, each person with slips of their own; one labeler
answers without reading, one copies from another. The sample is scored once and cached under
``$DIALINT_HOME/demo``.
"""

from __future__ import annotations

import random
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

import yaml

from dialint.app.scoring.background import ScoreOptions, create_job
from dialint.app.store_session import one_time_password
from dialint.detector.artifacts import fingerprint, make_output_folder, sha256_file
from dialint.detector.environment import home_folder
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.records import Dialogue, Finding, Label, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import manifest_path, read_verdicts, rejects_path
from dialint.labeling.adjudication.calibration_session import CalibrationConfig, start_session
from dialint.labeling.adjudication.cases import AdjudicateConfig, adjudicate
from dialint.labeling.aggregation.question_posteriors import StoreLabelsConfig, aggregate_store
from dialint.labeling.annotation import Annotation, Kind, judged_turns, quoted_finding
from dialint.labeling.queue.sampling import SamplingConfig, sample_tasks
from dialint.labeling.store import (
    accounts,
    appeals,
    authentication,
    dialogues,
    expert_cases,
    leases,
    projects,
    task_view,
    tasks,
)
from dialint.labeling.store.annotations import submit
from dialint.labeling.store.api import Store, import_annotations, upgrade
from dialint.labeling.store.calibration_sessions import save_note
from dialint.labeling.store.coaching import acknowledge_note, write_note
from dialint.labeling.store.gold import import_gold
from dialint.labeling.store.records import Account, AccountRole, Gold, NewTask, Project

SAMPLE = Path(__file__).parents[1] / "sample" / "dialogues.jsonl"
LABELS = SAMPLE.with_name("labels.jsonl")
SCRIPT = Path(__file__).with_name("demo.yaml")
REVIEW, LABEL, APPEALS, WAVE, ADJUDICATION = "review", "label", "appeals", "wave-1", "adjudication"
AUDIT, N_AUDITED = "audit", 150
CLOSED, OPEN = "calibration-1", "calibration-2"
CODES = ("C1", "T1", "U2", "L1")
SESSION_CODES = ("C1", "C2", "T2", "U3", "M2")
CONTROL_SHARE = 0.2
WEEKS, PER_WEEK, DAY_MS = 10, 34, 86_400_000
AGENT = "a04"
"""The agent whose account is in the demo, and who makes most errors."""
OFTEN, RARELY = (AGENT, "a08"), ("a01", "a07")
REVIEWERS, LABELERS = ("rosa", "ravi", "reviewer", "expert"), ("ana", "boris", "cleo", "labeler", "elena")
HASTY, COPIER = "dario", "felix"
N_LABELED, N_GOLD, N_WAVE, N_WAVE_CLEAN, N_CLOSED, N_OPEN = 90, 24, 20, 6, 12, 6


@cache
def load_script() -> dict[str, Any]:
    """Return `demo.yaml`: the texts of the demo's people, and the error rates of each."""
    script: dict[str, Any] = yaml.safe_load(SCRIPT.read_text(encoding="utf-8"))
    return script


@dataclass(frozen=True)
class Past:
    """A dialogue of the past: its time, its verdict, and its errors by the author's labels."""

    dialogue: Dialogue
    verdict: Verdict
    at_ms: int
    errors: tuple[Label, ...]


def make_demo(location: str, verdicts: Sequence[Verdict] | None = None) -> dict[str, str]:
    """Create the store, scoring the sample if there are no `verdicts`. Returns the password of each
    account."""
    upgrade(location)
    by_name = {name: secrets.token_hex(8) for name in (*get_args(AccountRole), "agent")}
    with Store.open(location) as store:
        first = one_time_password()
        accounts.create_first(store, "admin", first)
        people = [Account(id=role, role=role) for role in get_args(AccountRole) if role != "admin"]
        for account in (*people, Account(id="agent", role="labeler", agent=AGENT)):
            accounts.create(store, "admin", account, first)
        for name, password in by_name.items():
            authentication.choose_password(store, name, first, password)
        sample = list(load_dialogues([str(SAMPLE)]).values())
        scored = score_sample() if verdicts is None else None
        verdicts = list(read_verdicts(scored)) if scored is not None else verdicts or ()
        recent, past = _add_log(location, sample, verdicts)
        _add_review_project(store, verdicts)
        _add_label_project(store, sample)
        _add_answers(store, past)
        _add_audit(store, [*past, *recent])
        _add_appeals(store, past)
        _add_cases(store, past)
        _add_sessions(store, past)
        if scored is not None:  # as a scoring job that is done
            job = create_job(Path(location).parent / "jobs" / f"{1:016x}", "lead", SAMPLE.name, SAMPLE)
            job.update(options=ScoreOptions())
            for path in (scored, rejects_path(scored), manifest_path(scored)):
                shutil.copy(path, job.out.parent)
    return by_name


@cache
def load_labels() -> list[Label]:
    """Return the author's labels of the sample log."""
    return [Label.model_validate_json(line) for line in LABELS.read_bytes().splitlines()]


def score_sample() -> Path:
    """Return the file of the embedded release's verdicts on the sample, made if it is not in the cache."""
    from dialint.app.scoring.loop import run
    from dialint.app.scoring.options import ScoreConfig
    from dialint.detector.release import EMBEDDED, Release

    taxonomy = load_taxonomy().model_dump(mode="json")
    key = fingerprint([Release(EMBEDDED).fingerprint, taxonomy, sha256_file(SAMPLE)])
    out = home_folder() / "demo" / key[:16] / "verdicts.jsonl"
    if not manifest_path(out).exists():
        make_output_folder(out.parent)
        run([str(SAMPLE)], ScoreConfig(out=out, all_probabilities=True, quiet=True))
    return out


def _add_log(
    location: str, sample: Sequence[Dialogue], verdicts: Sequence[Verdict]
) -> tuple[list[Past], list[Past]]:
    """Add the sample over the last ten days and its repetitions over the weeks before. Returns both, oldest
    first."""
    rng, now_ms = random.Random(7), time.time_ns() // 1_000_000
    by_id = {verdict.dialogue_id: verdict for verdict in verdicts}
    recent = [
        Past(each, by_id[each.id], now_ms - int(rng.uniform(0.05, 10) * DAY_MS), _errors_of(each.id))
        for each in sample
    ]
    past = sorted(_repeat(sample, by_id, now_ms, rng), key=lambda one: one.at_ms)
    days: dict[int, list[Past]] = {}
    for one in sorted([*recent, *past], key=lambda one: one.at_ms):
        days.setdefault((now_ms - one.at_ms) // DAY_MS, []).append(one)
    present_ms = now_ms
    with Store.open(location, lambda: present_ms) as store:
        for of_day in days.values():
            present_ms = of_day[-1].at_ms
            dialogues.add(store, "lead", [one.dialogue for one in of_day])
            dialogues.add_verdicts(store, "lead", [one.verdict for one in of_day])
    return recent, past


def _errors_of(name: str) -> tuple[Label, ...]:
    return tuple(label for label in load_labels() if label.dialogue_id == name)


def _repeat(
    sample: Sequence[Dialogue], verdicts: dict[str, Verdict], now_ms: int, rng: random.Random
) -> list[Past]:
    teams = {each.agent: each.team for each in sample if each.agent is not None}
    agents, past = sorted(teams), []
    for week in range(WEEKS, 0, -1):
        flagged_weight = 2.5 + 0.15 * week  # fewer errors by and by
        weights = [flagged_weight if verdicts[each.id].findings else 1.0 for each in sample]
        for dialogue in {each.id: each for each in rng.choices(sample, weights, k=PER_WEEK)}.values():
            often, rarely = (4.0, 0.5) if verdicts[dialogue.id].findings else (0.8, 1.5)
            shares = [often if one in OFTEN else rarely if one in RARELY else 1.0 for one in agents]
            agent = rng.choices(agents, shares)[0]
            name, origin = f"{dialogue.id}-w{WEEKS + 1 - week:02}", {"agent": agent, "team": teams[agent]}
            errors = _errors_of(dialogue.id)
            rating = min(5, max(1, round(random.Random(name).gauss(4.6 - 0.6 * len(errors), 0.9))))
            past.append(
                Past(
                    dialogue.model_copy(update={"id": name, **origin, "metadata": {"rating": rating}}),
                    verdicts[dialogue.id].model_copy(update={"dialogue_id": name, **origin}),
                    now_ms - int((week - 1 + rng.uniform(0.02, 1.0)) * 7 * DAY_MS),
                    errors,
                )
            )
    return past


def _add_review_project(store: Store, verdicts: Sequence[Verdict]) -> None:
    codes = tuple(load_taxonomy().codes)
    projects.create(store, "lead", Project(id=REVIEW, codes=codes, purpose="review", prelabelled=True))
    new = [
        NewTask(dialogue=one.dialogue_id, priority=sum(each.probability for each in one.findings), why="demo")
        for one in verdicts
        if one.findings
    ]
    tasks.add(store, "lead", REVIEW, new)


def _add_label_project(store: Store, sample: Sequence[Dialogue]) -> None:
    project = Project(
        id=LABEL, codes=CODES, instructions=load_script()["instructions"], overlap=2,
        control_share=CONTROL_SHARE,
    )  # fmt: skip
    projects.create(store, "lead", project)
    errors = [each for each in load_labels() if each.code in CODES]
    flawed = {each.dialogue_id for each in errors}
    control = [each for each in sample if each.id in flawed][:3]
    control += [each for each in sample if each.id not in flawed][:2]
    _add_gold(store, [(each, [one for one in errors if one.dialogue_id == each.id]) for each in control])
    rest = [each for each in sample if each not in control][:30]
    new = [NewTask(dialogue=each.id, why="demo") for each in rest]
    new += [NewTask(dialogue=each.id, pool="control", why="demo") for each in control]
    tasks.add(store, "lead", LABEL, new)


def _add_gold(store: Store, labeled: Sequence[tuple[Dialogue, Sequence[Label]]]) -> None:
    rows = [
        Gold(
            dialogue=dialogue.id, turn=turn, code=code, source="expert",
            present=any((label.turn, label.code) == (turn, code) for label in labels),
        )
        for dialogue, labels in labeled
        for turn in judged_turns(dialogue)
        for code in CODES
    ]  # fmt: skip
    import_gold(store, "expert", rows)


def _add_answers(store: Store, past: Sequence[Past]) -> None:
    """Add people, reviews, blind answers and gold."""
    rng = random.Random(11)
    for name in ("rosa", "ravi"):
        accounts.create(store, "admin", Account(id=name, role="reviewer"))
    for name in (*LABELERS, HASTY, COPIER):
        if name != "labeler":
            accounts.create(store, "admin", Account(id=name, role="labeler"))
    reviews = [review for one in past for review in _review(one, rng)]
    answers = [answer for one in past[-N_LABELED:] for answer in _label(one, rng)]
    import_annotations(store, "admin", reviews, "demo reviews")
    import_annotations(store, "admin", answers, "demo labels")
    _add_gold(store, [(one.dialogue, one.errors) for one in past[-N_LABELED:][:N_GOLD]])


def _review(one: Past, rng: random.Random) -> list[Annotation]:
    """Return the reviews of most flagged dialogues and a few others, now and then by two people."""
    if rng.random() > (0.85 if one.verdict.findings else 0.12):
        return []
    codes = tuple(load_taxonomy().codes)
    errors = {(label.turn, label.code) for label in one.errors}
    proposed = {(finding.turn, finding.code) for finding in one.verdict.findings}
    reviews = []
    for reviewer in rng.sample(REVIEWERS, 2 if rng.random() < 0.3 else 1):
        invented, missed = load_script()["care"][reviewer]
        findings = [
            finding
            for finding in one.verdict.findings
            if rng.random() < (1 - missed if (finding.turn, finding.code) in errors else invented)
        ]
        findings += [
            _mark(one.dialogue, label.turn, label.code, label)
            for label in one.errors
            if (label.turn, label.code) not in proposed and rng.random() < 0.4
        ]
        kind: Kind = "expert" if reviewer == "expert" else "reviewer"
        answer = _annotate(one, reviewer, kind, codes, findings, rng.lognormvariate(3.2, 0.5))
        reviews.append(answer.model_copy(update={"seen_verdict": True}))
    return reviews


def _annotate(
    one: Past, who: str, kind: Kind, codes: tuple[str, ...], findings: Sequence[Finding], seconds: float
) -> Annotation:
    """Return an answer dated a day after the dialogue."""
    at_s = min(time.time() - 60, (one.at_ms + DAY_MS) / 1000)
    return Annotation(
        id=f"{one.dialogue.id}-{who}", dialogue_id=one.dialogue.id, labeler=who, kind=kind, codes=codes,
        findings=tuple(findings), at=datetime.fromtimestamp(int(at_s), UTC), seconds=round(seconds, 1),
    )  # fmt: skip


def _mark(dialogue: Dialogue, turn: int, code: str, label: Label | None) -> Finding:
    """Return a finding with the words of the author's label, or of the whole turn."""
    text = next(each.text for each in dialogue.turns if each.index == turn)
    words = text[label.start : label.end] if label is not None and label.start is not None else ""
    severity = load_taxonomy().codes[code].severity
    return quoted_finding(dialogue, turn, code, severity, "", words or None)


def _label(one: Past, rng: random.Random) -> list[Annotation]:
    """Return blind answers of labelers to the same questions."""
    marks = {who: _find(one, one.dialogue, CODES, load_script()["care"][who], rng) for who in LABELERS}
    marks |= {HASTY: [], COPIER: marks["elena"]}
    reading_s = sum(len(turn.text) for turn in one.dialogue.turns) / 6 / 230 * 60
    return [
        _annotate(
            one, who, "crowd", CODES, findings,
            (1.6 if who == HASTY else reading_s) * rng.lognormvariate(0.0, 0.35),
        )
        for who, findings in marks.items()
        if who == COPIER or rng.random() < 0.67
    ]  # fmt: skip


def _add_audit(store: Store, everything: Sequence[Past]) -> None:
    """Add a random sample of all dialogues, which a reviewer has read."""
    rng, by_id = random.Random(13), {one.dialogue.id: one for one in everything}
    codes = tuple(load_taxonomy().codes)
    projects.create(store, "lead", Project(id=AUDIT, codes=codes, purpose="review"))
    sample_tasks(store, "lead", SamplingConfig(project=AUDIT, n=min(N_AUDITED, len(everything))))
    _answer_all(store, "rosa", AUDIT, codes, by_id, rng, care=(0.0, 0.05))


def _add_appeals(store: Store, past: Sequence[Past]) -> None:
    """Add notes to the agent, and appeals: one that an expert overturned after a blind second review, others
    that wait for it."""
    own = [one for one in past if one.dialogue.agent == AGENT]
    flagged = [one for one in own if one.verdict.findings]
    acknowledge_note(store, "agent", write_note(store, "lead", AGENT, load_script()["notes"][0]).id)
    write_note(store, "lead", AGENT, load_script()["notes"][1], (flagged or own)[-1].dialogue.id)
    codes = tuple(load_taxonomy().codes)
    projects.create(store, "lead", Project(id=APPEALS, codes=codes, purpose="review"))
    for one, statement in zip(flagged[-2:], load_script()["statements"], strict=False):
        finding = one.verdict.findings[0]
        appeals.open_appeal(store, "agent", one.dialogue.id, finding.turn, finding.code, statement)
    appeals.open_second_reviews(store, "lead", APPEALS)
    for reviewer in ("rosa", "ravi"):
        lease = leases.claim(store, reviewer, APPEALS)
        if lease is not None:
            key = f"appeal-{lease.task}"
            submit(store, reviewer, lease.task, lease.token, key, (), 41.0)
            opened = appeals.list_open(store, "lead")
            decided = next(each for each in opened if each.dialogue == lease.dialogue)
            appeals.decide_appeal(store, "lead", decided.id, "overturned", load_script()["overturned"])
            return


def _add_cases(store: Store, past: Sequence[Past]) -> None:
    """Add answers of three people with cases for experts, of which two are decided."""
    rng, taxonomy = random.Random(5), load_taxonomy()
    flawed = [one for one in past if {label.code for label in one.errors}.intersection(CODES)]
    chosen = [*flawed[: N_WAVE - N_WAVE_CLEAN], *[one for one in past if not one.errors][:N_WAVE_CLEAN]]
    by_id = {one.dialogue.id: one for one in past}
    people = ("ana", "boris", "cleo")
    project = Project(id=WAVE, codes=CODES, overlap=len(people), members=people, masked=False)
    projects.create(store, "lead", project)
    tasks.add(store, "lead", WAVE, [NewTask(dialogue=one.dialogue.id, why="demo") for one in chosen])
    for who in people:
        _answer_all(store, who, WAVE, CODES, by_id, rng)
    aggregate_store(store, "lead", StoreLabelsConfig(WAVE), taxonomy)
    projects.create(store, "lead", Project(id=ADJUDICATION, codes=CODES, purpose="adjudication"))
    config = AdjudicateConfig(into=ADJUDICATION, project=WAVE, disagreements=True)
    adjudicate(store, "lead", config, taxonomy)
    for _ in range(2):
        lease = leases.claim(store, "expert", ADJUDICATION)
        if lease is not None and lease.turn is not None:
            one = by_id[lease.dialogue]
            findings = _find(one, one.dialogue, CODES, (0.0, 0.0), rng)
            findings = [finding for finding in findings if finding.turn == lease.turn]
            key = f"decision expert {lease.task} {lease.token}"
            expert_cases.decide_case(
                store, "expert", lease.task, lease.token, key, findings, load_script()["decided"], 38.0
            )


def _add_sessions(store: Store, past: Sequence[Past]) -> None:
    """Add a closed calibration session with its note, and an open one that some have answered."""
    rng, by_id = random.Random(6), {one.dialogue.id: one for one in past}
    flawed = [one for one in past if {label.code for label in one.errors}.intersection(SESSION_CODES)]
    names = [one.dialogue.id for one in flawed[-N_CLOSED - N_OPEN :]]
    members = ("ana", "boris", "expert", "labeler", "reviewer")
    groups = ((CLOSED, members, names[:N_CLOSED]), (OPEN, ("ana", "labeler", "reviewer"), names[N_CLOSED:]))
    for name, group, ids in groups:
        config = CalibrationConfig(
            name=name, codes=SESSION_CODES, members=group, dialogues=tuple(ids),
            instructions=load_script()["session_instructions"],
        )  # fmt: skip
        start_session(store, "lead", config, load_taxonomy())
    for who in members:
        _answer_all(store, who, CLOSED, SESSION_CODES, by_id, rng)
    save_note(store, "lead", CLOSED, load_script()["session_note"], None)
    projects.set_state(store, "lead", CLOSED, "closed")
    _answer_all(store, "ana", OPEN, SESSION_CODES, by_id, rng)
    _answer_all(store, "reviewer", OPEN, SESSION_CODES, by_id, rng, 3)


def _answer_all(
    store: Store, who: str, project: str, codes: Sequence[str], by_id: dict[str, Past],
    rng: random.Random, most: int = 1000, care: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """Claim and answer the tasks of a project, `most` at most."""
    for _ in range(most):
        lease = leases.claim(store, who, project)
        if lease is None:
            return
        dialogue = task_view.view_task(store, who, lease.task).dialogue
        findings = _find(by_id[lease.dialogue], dialogue, codes, care or load_script()["care"][who], rng)
        key, seconds = f"demo {who} {lease.task}", round(rng.lognormvariate(3.6, 0.4), 1)
        submit(store, who, lease.task, lease.token, key, findings, seconds)


def _find(
    one: Past, dialogue: Dialogue, codes: Sequence[str], care: tuple[float, float], rng: random.Random
) -> list[Finding]:
    """Return a person's findings in the displayed `dialogue`, with errors at the rates of `care`."""
    invented, missed = care
    labels = {(label.turn, label.code): label for label in one.errors}
    findings = []
    for turn in judged_turns(dialogue):
        for code in codes:
            label = labels.get((turn, code))
            if rng.random() > missed if label is not None else rng.random() < invented / 4:
                findings.append(_mark(dialogue, turn, code, label))
    return findings
