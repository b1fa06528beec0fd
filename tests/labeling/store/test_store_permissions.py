"""Every operation checks the acting account: the table of rights, accounts, dialogues, gold, appeals."""

import ast
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select

from dialint.detector.errors import InputRefused
from dialint.detector.records import Dialogue, Finding, Label, Turn, Verdict
from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import store_export
from dialint.labeling.store import (
    accounts,
    annotation_import,
    annotations,
    appeals,
    audit_log,
    backlog,
    calibration_sessions,
    coaching,
    counted_annotations,
    dialogues,
    documents,
    drafts,
    erasure,
    expert_cases,
    gold,
    history,
    identities,
    insights,
    labels,
    leases,
    notes,
    own_work,
    passwords,
    preferences,
    projects,
    rater_status,
    release_verdicts,
    saved_views,
    score_jobs,
    search,
    tasks,
)
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Store, write_operation
from dialint.labeling.store.errors import Conflict, MustChangePassword, NotAllowed, StaleLease, StoreRefused
from dialint.labeling.store.permissions import ROLES
from dialint.labeling.store.records import Account, Gold, NewTask, Project
from dialint.labeling.store.search_plan import Search

ACTORS = {"labeler": "ann", "reviewer": "rob", "expert": "eve", "lead": "lea", "admin": "ada"}
MINE = {role: f"{role} spoke" for role in ROLES}
"""A dialogue that an account `own-ROLE` spoke in, for each role."""
CLOSED = {f"{status}-{role}": role for role in ROLES for status in ("suspended", "banned")}
"""Accounts that are closed, with their roles."""
SPOKE = {name: (f"own-{role}", MINE[role]) for role, name in ACTORS.items()}
SPOKE |= {name: (name, MINE[role]) for name, role in CLOSED.items()}
"""The account that did, and the dialogue, by who acts; a closed account acts in its own."""
AGENTS = {name: f"agent-{role}" for role, name in ACTORS.items()}
AGENTS |= {name: f"agent-{role}" for name, role in CLOSED.items()}
"""The agent that this account is."""
GOLD = Gold(dialogue="d1", turn=1, code="C1", present=True, source="expert")
ASKED = tasks.TaskProgress(1, "d1", None, 1, 0, 0)

FINDING = Finding(
    code="C1", turn=1, severity="S2", probability=0.9, quote="Anything", start=0, end=8, reason="why"
)


def a_dialogue(name: str, agent: str = "a1") -> Dialogue:
    turns = (
        Turn(index=0, role="customer", text="Where is it?"),
        Turn(index=1, role="agent", text="Anything?"),
    )
    return Dialogue(id=name, turns=turns, agent=agent)


def a_verdict(name: str, *findings: Finding, release: str = "r") -> Verdict:
    return Verdict(
        dialogue_id=name, release=release, taxonomy="1", status="scored", quality=1.0, findings=findings
    )


Act = Callable[[Store, str, Any], object]


class Row(NamedTuple):
    """Who may do an operation: `first` is the lowest role, none where no account acts. `act` does it, with what
    `before` made of the same actor, if anything. `others`: the same to a thing of somebody else's, which nobody
    may up to a role, mostly of any; `instead`, what that raises or, where it refuses nothing, gives."""

    first: str | None
    act: Act
    before: Act = lambda store, actor, made: None
    others: Act | None = None
    upto: str = "admin"
    instead: Any = NotAllowed


def taken(project: str) -> Act:
    def take(store: Store, actor: str, made: Any) -> object:
        lease = leases.claim(store, actor, project)
        assert lease is not None
        return lease

    return take


def answered(store: Store, actor: str, made: Any) -> object:
    lease = taken("p")(store, actor, made)
    return annotations.submit(store, actor, lease.task, lease.token, f"answer {actor}")  # type: ignore[attr-defined]


def imported(store: Store, actor: str, labeler: str) -> object:
    answer = Annotation(id=actor, dialogue_id="d2", labeler=labeler, kind="crowd", codes=("C1",))
    return annotation_import.import_annotations(store, actor, [answer], "elsewhere")


def new_account(store: Store, actor: str, made: Any) -> object:
    return accounts.create(store, actor, Account(id=f"new by {actor}", role="admin"))


def ban_and_reopen(store: Store, actor: str, made: Any) -> object:
    return accounts._reopen(store, actor, "gone", 0)


ROWS: dict[str, Row] = {
    "store.expert_cases.load_case": Row(
        "expert", lambda s, a, m: expert_cases.load_case(s, a, THEIRS["a"].task)
    ),
    "store.expert_cases.list_open_cases": Row(
        "expert", lambda s, a, m: expert_cases.list_open_cases(s, a, "a")
    ),
    "store.expert_cases.decide_case": Row(
        "expert",
        lambda s, a, m: expert_cases.decide_case(s, a, m.task, m.token, f"decision {a}", [], "why"),
        taken("a"),
        lambda s, a, m: expert_cases.decide_case(
            s, a, THEIRS["a"].task, THEIRS["a"].token, f"x {a}", [], "why"
        ),
        instead=StaleLease,
    ),
    "store.appeals.load_dispute": Row("expert", lambda s, a, m: appeals.load_dispute(s, a, 1)),
    "store.appeals.decide_appeal": Row(
        "expert", lambda s, a, m: appeals.decide_appeal(s, a, 1, "upheld", "why")
    ),
    "store.appeals._reopen": Row("lead", lambda s, a, m: appeals._reopen(s, a, "r")),
    "store.appeals.list_stuck": Row("lead", lambda s, a, m: appeals.list_stuck(s, a, "r")),
    "store.appeals.count_withheld": Row("labeler", lambda s, a, m: appeals.count_withheld(s, a, "r")),
    "store.tasks.set_wanted_if_unchanged": Row(
        "lead", lambda s, a, m: tasks.set_wanted_if_unchanged(s, a, ASKED, 3)
    ),
    "store.accounts.create_first": Row(None, lambda s, a, m: accounts.create_first(s, a, "x" * 12)),
    "store.accounts.has_accounts": Row(None, lambda s, a, m: accounts.has_accounts(s)),
    "store.accounts.create": Row("admin", new_account),
    "store.accounts.set_password": Row(
        "labeler",
        lambda s, a, m: accounts.set_password(s, a, a, "twelve letters"),
        others=lambda s, a, m: accounts.set_password(s, a, "ben", "twelve letters"),
        upto="lead",
    ),
    "store.passwords.find_signed_in": Row(None, lambda s, a, m: passwords.find_signed_in(s, a)),
    "store.accounts.set_status": Row(
        "lead",
        lambda s, a, m: accounts.set_status(s, a, "ben", "suspended"),
        others=lambda s, a, m: accounts.set_status(s, a, "ada", "suspended"),
    ),
    "store.accounts.set_skills": Row(
        "lead",
        lambda s, a, m: accounts.set_skills(s, a, "ben", ("finnish",)),
        others=lambda s, a, m: accounts.set_skills(s, a, "ria", ("finnish",)),
        upto="lead",
    ),
    "store.accounts.list_accounts": Row("lead", lambda s, a, m: accounts.list_accounts(s, a)),
    "store.rater_status.get_rules": Row("lead", lambda s, a, m: rater_status.get_rules(s, a)),
    "store.rater_status.set_rules": Row(
        "lead", lambda s, a, m: rater_status.set_rules(s, a, rater_status.Rules())
    ),
    "store.gold.list_doubted": Row("expert", lambda s, a, m: gold.list_doubted(s, a)),
    "store.gold.decide_gold": Row(
        "expert", lambda s, a, m: gold.decide_gold(s, a, "d1", 1, "C1", present=True, reason="why")
    ),
    "store.counted_annotations.get_last_entry": Row(
        "reviewer", lambda s, a, m: counted_annotations.get_last_entry(s, a)
    ),
    "store.counted_annotations.load_changes": Row(
        "reviewer", lambda s, a, m: counted_annotations.load_changes(s, a, "p", 0)
    ),
    "store.counted_annotations.list_newest_releases": Row(
        "reviewer", lambda s, a, m: counted_annotations.list_newest_releases(s, a, "p")
    ),
    "store.rater_status.evaluate_status": Row("lead", lambda s, a, m: rater_status.evaluate_status(s, a)),
    "store.rater_status._apply": Row("lead", lambda s, a, m: rater_status._apply(s, a, "ben")),
    "store.accounts._ban": Row(
        "lead",
        lambda s, a, m: accounts._ban(s, a, "ben", "copies"),
        others=lambda s, a, m: accounts._ban(s, a, "ada", "copies"),
    ),
    "store.accounts._reopen": Row("lead", ban_and_reopen),
    "store.gold._insert_gold": Row("lead", lambda s, a, m: gold._insert_gold(s, a, [], {"d1": "pair"})),
    "store.leases.claim": Row(
        "labeler", taken("p"), others=lambda s, a, m: leases.claim(s, a, "a"), upto="reviewer"
    ),
    "store.leases.find_held": Row(
        "labeler",
        lambda s, a, m: leases.find_held(s, a, "p"),
        others=lambda s, a, m: leases.find_held(s, a, "p"),
        instead=None,
    ),
    "store.leases.renew": Row(
        "labeler",
        lambda s, a, m: leases.renew(s, a, m.task, m.token),
        taken("p"),
        lambda s, a, m: leases.renew(s, a, THEIRS["p"].task, THEIRS["p"].token),
        instead=StaleLease,
    ),
    "store.leases.release": Row(
        "labeler",
        lambda s, a, m: leases.release(s, a, m.task, m.token),
        taken("p"),
        lambda s, a, m: leases.release(s, a, THEIRS["p"].task, THEIRS["p"].token),
        instead=StaleLease,
    ),
    "store.leases.skip": Row(
        "labeler",
        lambda s, a, m: leases.skip(s, a, m.task, m.token, "why"),
        taken("p"),
        lambda s, a, m: leases.skip(s, a, THEIRS["p"].task, THEIRS["p"].token, "why"),
        instead=StaleLease,
    ),
    "store.appeals.open_appeal": Row(
        "labeler",
        lambda s, a, m: appeals.open_appeal(
            s, SPOKE.get(a, (a, ""))[0], SPOKE.get(a, (a, ""))[1], 1, "C1", "no"
        ),
        others=lambda s, a, m: appeals.open_appeal(s, a, "d1", 1, "C1", "no"),
    ),
    "store.appeals.list_open": Row("expert", lambda s, a, m: appeals.list_open(s, a)),
    "store.appeals.list_own": Row(
        "labeler",
        lambda s, a, m: appeals.list_own(s, a),
        others=lambda s, a, m: appeals.list_own(s, a),
        instead=(),
    ),
    "store.appeals.list_own_dialogues": Row(
        "labeler",
        lambda s, a, m: appeals.list_own_dialogues(s, SPOKE.get(a, (a, ""))[0]),
        others=lambda s, a, m: appeals.list_own_dialogues(s, a),
    ),
    "store.annotations.submit": Row(
        "labeler",
        lambda s, a, m: annotations.submit(s, a, m.task, m.token, f"answer {a}"),
        taken("p"),
        lambda s, a, m: annotations.submit(s, a, THEIRS["p"].task, THEIRS["p"].token, f"x {a}"),
        instead=StaleLease,
    ),
    "store.annotations.correct": Row(
        "labeler",
        lambda s, a, m: annotations.correct(s, a, int(m.id), f"correction {a}"),
        answered,
        lambda s, a, m: annotations.correct(s, a, 1, f"x {a}"),
    ),
    "store.annotations.review": Row(
        "reviewer", lambda s, a, m: annotations.review(s, a, "d2", f"review {a}", ["C1"], expected=None)
    ),
    "store.annotations.list_annotations": Row(
        "reviewer", lambda s, a, m: annotations.list_annotations(s, a, "d1")
    ),
    "store.annotations.list_own": Row(
        "labeler",
        lambda s, a, m: annotations.list_own(s, a),
        others=lambda s, a, m: annotations.list_own(s, a),
        instead=(),
    ),
    "store.annotations.find_last_answer": Row(
        "labeler",
        lambda s, a, m: annotations.find_last_answer(s, a, "p"),
        others=lambda s, a, m: annotations.find_last_answer(s, a, "p"),
        instead=None,
    ),
    "store.counted_annotations._last": Row("reviewer", lambda s, a, m: counted_annotations._last(s, a, None)),
    "store.counted_annotations._page": Row(
        "reviewer", lambda s, a, m: counted_annotations._page(s, a, PLACE, False)
    ),
    "store.counted_annotations._page_on": Row(
        "reviewer", lambda s, a, m: counted_annotations._page_on(s, a, ["d1"], 9)
    ),
    "store.projects.create": Row(
        "lead", lambda s, a, m: projects.create(s, a, Project(id=f"by {a}", codes=("C1",)))
    ),
    "store.projects.set_state": Row("lead", lambda s, a, m: projects.set_state(s, a, "p", "closed")),
    "store.projects.list_projects": Row("labeler", lambda s, a, m: projects.list_projects(s, a)),
    "store.projects.count_annotations": Row(
        "reviewer", lambda s, a, m: projects.count_annotations(s, a, "p")
    ),
    "store.drafts.save_draft": Row("labeler", lambda s, a, m: drafts.save_draft(s, a, "note:d1", a, "d1")),
    "store.drafts.load_draft": Row(
        "labeler",
        lambda s, a, m: drafts.load_draft(s, a, "note:d2"),
        others=lambda s, a, m: drafts.load_draft(s, a, "note:d2"),
        instead=None,
    ),
    "store.drafts.delete_draft": Row("labeler", lambda s, a, m: drafts.delete_draft(s, a, "note:d2")),
    "store.labels.write_labels": Row("lead", lambda s, a, m: labels.write_labels(s, a, [])),
    "store.labels.list_labels": Row("reviewer", lambda s, a, m: labels.list_labels(s, a, "d1")),
    "store.gold.set_gold": Row("expert", lambda s, a, m: gold.set_gold(s, a, GOLD)),
    "store.gold._import_gold": Row("expert", lambda s, a, m: gold._import_gold(s, a, [GOLD], False)),
    "store.gold.retire_gold": Row("lead", lambda s, a, m: gold.retire_gold(s, a, "d1")),
    "store.gold.list_gold": Row("expert", lambda s, a, m: gold.list_gold(s, a)),
    "store.dialogues.add": Row("lead", lambda s, a, m: dialogues.add(s, a, [a_dialogue(f"by {a}")])),
    "store.dialogues.add_verdicts": Row(
        "lead", lambda s, a, m: dialogues.add_verdicts(s, a, [a_verdict("d2", release=f"by {a}")])
    ),
    "store.dialogues.read": Row("reviewer", lambda s, a, m: dialogues.read(s, a, "d1")),
    "store.tasks.add": Row("lead", lambda s, a, m: tasks.add(s, a, "p", [NewTask(dialogue="d2", turn=1)])),
    "store.tasks.set_wanted": Row("lead", lambda s, a, m: tasks.set_wanted(s, a, 1, 99)),
    "store.tasks.count_tasks": Row("reviewer", lambda s, a, m: tasks.count_tasks(s, a, "p")),
    "store.tasks.view_task": Row("reviewer", lambda s, a, m: tasks.view_task(s, a, 1)),
    "store.annotation_import.import_annotations": Row(
        "lead",
        lambda s, a, m: imported(s, a, a),
        others=lambda s, a, m: imported(s, a, "dot"),
        upto="lead",
    ),
    "exchange.store_export.record_export": Row(
        "reviewer",
        lambda s, a, m: store_export.record_export(s, a, None, masked=True),
        others=lambda s, a, m: store_export.record_export(s, a, None, masked=False),
        upto="expert",
    ),
}
"""Every operation of the store, by module and name."""


def brought(store: Store, actor: str, made: Any) -> object:
    new = score_jobs.NewScoreJob(
        id=f"{len(actor):08x}{actor.encode().hex()[:8]:0>8}", name="log", size=1, sha256=""
    )
    return score_jobs.create_job(store, "lea", new)


def ended(store: Store, actor: str, made: Any) -> object:
    brought(store, actor, made)
    score_jobs.queue_job(store, "lea", brought(store, actor, made).id)  # type: ignore[attr-defined]
    return score_jobs.record_end(
        store, "lea", brought(store, actor, made).id, "done", score_jobs.ScoreResult()
    )  # type: ignore[attr-defined]


ADDED = score_jobs.AddedCounts(dialogues=0, verdicts=0, known=0, changed=0)
JOB = score_jobs.NewScoreJob(id="f" * 16, name="log", size=1, sha256="")
ROWS |= {
    "store.release_verdicts.count_by_release": Row(
        "lead", lambda s, a, m: release_verdicts.count_by_release(s, a)
    ),
    "store.release_verdicts.compare_releases": Row(
        "lead", lambda s, a, m: release_verdicts.compare_releases(s, a, "r", "q")
    ),
    "store.release_verdicts._read_judged": Row(
        "lead", lambda s, a, m: release_verdicts._read_judged(s, a, "r")
    ),
    "store.release_verdicts.record_change": Row(
        "lead", lambda s, a, m: release_verdicts.record_change(s, a, "promote", "r", "why")
    ),
    "store.release_verdicts.list_changes": Row("lead", lambda s, a, m: release_verdicts.list_changes(s, a)),
    "store.score_jobs.create_job": Row("lead", lambda s, a, m: score_jobs.create_job(s, a, JOB)),
    "store.score_jobs.list_jobs": Row("lead", lambda s, a, m: score_jobs.list_jobs(s, a)),
    "store.score_jobs.load_job": Row("lead", lambda s, a, m: score_jobs.load_job(s, a, m.id), brought),
    "store.score_jobs.queue_job": Row("lead", lambda s, a, m: score_jobs.queue_job(s, a, m.id), brought),
    "store.score_jobs.record_end": Row(
        "lead",
        lambda s, a, m: score_jobs.record_end(s, a, m.id, "done", score_jobs.ScoreResult()),
        brought,
    ),
    "store.score_jobs.record_added": Row(
        "lead", lambda s, a, m: score_jobs.record_added(s, a, m.id, ADDED), ended
    ),
    "store.score_jobs.record_download": Row(
        "lead", lambda s, a, m: score_jobs.record_download(s, a, m.id, "csv"), ended
    ),
    "store.score_jobs.remove_job": Row("lead", lambda s, a, m: score_jobs.remove_job(s, a, m.id), brought),
}

WHO = identities.Identity(issuer="https://id.example", subject="1")
NO_LIMIT: dict[str, Any] = {"fair_share": None, "control_share": 0.0, "deadline": None}


def erased(store: Store, actor: str, made: Any) -> object:
    return erasure.erase(store, actor, ["d2"], "why")


ROWS |= {
    "store.accounts.change": Row(
        "admin",
        lambda s, a, m: accounts.change(s, a, "second", "expert", "a9"),
        others=lambda s, a, m: accounts.change(s, a, a, "admin", "a9"),
    ),
    "store.audit_log.list_entries": Row("admin", lambda s, a, m: audit_log.list_entries(s, a)),
    "store.audit_log._begin_verification": Row("admin", lambda s, a, m: audit_log.verify_store(s, a)),
    "store.erasure.find_dialogues": Row("admin", lambda s, a, m: erasure.find_dialogues(s, a, ids=["d1"])),
    "store.erasure.preview": Row("admin", lambda s, a, m: erasure.preview(s, a, ["d2"])),
    "store.erasure._erase": Row("admin", erased),
    "store.erasure.read_proof": Row(
        "admin", lambda s, a, m: erasure.read_proof(s, a, [erasure.hash_id("d2")]), erased
    ),
    "store.erasure.list_erasures": Row("admin", lambda s, a, m: erasure.list_erasures(s, a)),
    "store.gold.restore_gold": Row(
        "lead",
        lambda s, a, m: gold.restore_gold(s, a, "d1"),
        lambda s, a, m: gold.retire_gold(s, a, "d1"),
    ),
    "store.identities.link": Row("admin", lambda s, a, m: identities.link(s, a, WHO, "ann")),
    "store.identities.unlink": Row("admin", lambda s, a, m: identities.unlink(s, a, WHO)),
    "store.identities.list_identities": Row("admin", lambda s, a, m: identities.list_identities(s, a)),
    "store.identities.sign_in_identity": Row(None, lambda s, a, m: identities.sign_in_identity(s, WHO)),
    "store.identities.find_linked": Row(None, lambda s, a, m: identities.find_linked(s, a)),
    "store.projects.change_limits": Row(
        "lead", lambda s, a, m: projects.change_limits(s, a, "p", overlap=1, most=2, **NO_LIMIT)
    ),
    "store.projects.list_spending": Row("lead", lambda s, a, m: projects.list_spending(s, a)),
}


def own(actor: str) -> str:
    """The account that acts in its own dialogues in place of this actor."""
    return SPOKE.get(actor, (actor, ""))[0]


def own_agent(actor: str) -> str:
    return AGENTS.get(actor, "a1")


def trained(store: Store, actor: str, made: Any) -> object:
    lease = leases.claim(store, actor, "t", pool="training")
    assert lease is not None
    annotations.submit(store, actor, lease.task, lease.token, f"training {actor}")
    return lease


def own_note(store: Store, actor: str, made: Any) -> object:
    return notes.write_note(store, "lea", own_agent(actor), "Well done.")


def delete_theirs(store: Store, actor: str, made: Any) -> object:
    saved_views.delete_view(store, actor, "theirs")
    return [view.name for view in saved_views.list_views(store, "other")]


def saved(store: Store, actor: str, made: Any) -> object:
    text = f"{PACKAGED.read_text(encoding='utf-8')}# {actor}\n"
    return documents.save_version(store, actor, "taxonomy", "taxonomy", text, "why", expected=1)


ALL_MS = (0, 2**41)
ROWS |= {
    "store.appeals.list_decided": Row("expert", lambda s, a, m: appeals.list_decided(s, a)),
    "store.appeals.count_outcomes": Row("expert", lambda s, a, m: appeals.count_outcomes(s, a)),
    "store.backlog.read_backlog": Row("lead", lambda s, a, m: backlog.read_backlog(s, a)),
    "store.calibration_sessions.list_sessions": Row(
        "labeler",
        lambda s, a, m: calibration_sessions.list_sessions(s, own(a)),
        others=lambda s, a, m: calibration_sessions.list_sessions(s, a),
        upto="expert",
        instead=(),
    ),
    "store.calibration_sessions.load_answers": Row(
        "labeler",
        lambda s, a, m: calibration_sessions.load_answers(s, own(a), "c"),
        others=lambda s, a, m: calibration_sessions.load_answers(s, a, "c"),
        upto="expert",
    ),
    "store.calibration_sessions.load_item": Row(
        "labeler",
        lambda s, a, m: calibration_sessions.load_item(s, own(a), "c", THEIRS["c"].task),
        others=lambda s, a, m: calibration_sessions.load_item(s, a, "c", THEIRS["c"].task),
        upto="expert",
    ),
    "store.calibration_sessions.load_note": Row(
        "labeler",
        lambda s, a, m: calibration_sessions.load_note(s, own(a), "c"),
        others=lambda s, a, m: calibration_sessions.load_note(s, a, "c"),
        upto="expert",
    ),
    "store.calibration_sessions.save_note": Row(
        "lead",
        lambda s, a, m: calibration_sessions.save_note(s, own(a), "c", "agreed"),
    ),
    "store.coaching.list_dialogues": Row(
        "labeler",
        lambda s, a, m: coaching.list_dialogues(s, own(a), own_agent(a), *ALL_MS),
        others=lambda s, a, m: coaching.list_dialogues(s, a, "a1", *ALL_MS),
        upto="expert",
    ),
    "store.coaching.compare_codes": Row(
        "labeler",
        lambda s, a, m: coaching.compare_codes(s, own(a), own_agent(a), *ALL_MS),
        others=lambda s, a, m: coaching.compare_codes(s, a, "a1", *ALL_MS),
        upto="expert",
    ),
    "store.coaching.read_confirmed": Row(
        "labeler",
        lambda s, a, m: coaching.read_confirmed(s, own(a), own_agent(a), [SPOKE.get(a, (a, "d1"))[1]]),
        others=lambda s, a, m: coaching.read_confirmed(s, a, "a1", ["d1"]),
        upto="expert",
    ),
    "store.coaching.count_cleared": Row("lead", lambda s, a, m: coaching.count_cleared(s, a, *ALL_MS)),
    "store.coaching.list_agents": Row("lead", lambda s, a, m: coaching.list_agents(s, a)),
    "store.documents.save_version": Row("lead", saved),
    "store.documents.publish": Row(
        "lead", lambda s, a, m: documents.publish(s, a, "taxonomy", "taxonomy", 1)
    ),
    "store.documents.withdraw": Row("lead", lambda s, a, m: documents.withdraw(s, a, "taxonomy", "taxonomy")),
    "store.documents.list_versions": Row(
        "lead", lambda s, a, m: documents.list_versions(s, a, "taxonomy", "taxonomy")
    ),
    "store.documents.list_names": Row("lead", lambda s, a, m: documents.list_names(s, a, "taxonomy")),
    "store.documents.load_version": Row(
        "lead", lambda s, a, m: documents.load_version(s, a, "taxonomy", "taxonomy", 1)
    ),
    "store.documents.load_published": Row("lead", lambda s, a, m: documents.load_published(s, a, "taxonomy")),
    "store.documents.load_policies": Row(
        "reviewer", lambda s, a, m: documents.load_policies(s, a, ("shop",))
    ),
    "store.documents.list_newest_verdicts": Row(
        "lead", lambda s, a, m: documents.list_newest_verdicts(s, a, 9)
    ),
    "store.documents.list_newest_dialogues": Row(
        "lead", lambda s, a, m: documents.list_newest_dialogues(s, a, 9)
    ),
    "store.documents.record_previewed": Row(
        "lead", lambda s, a, m: documents.record_previewed(s, a, ("d1",))
    ),
    "store.history.read_history": Row("reviewer", lambda s, a, m: history.read_history(s, a, "d1")),
    "store.history.find_similar": Row("reviewer", lambda s, a, m: history.find_similar(s, a, "d1")),
    "store.insights.read_totals": Row(
        "labeler",
        lambda s, a, m: insights.read_totals(s, own(a), *ALL_MS, agent=own_agent(a)),
        others=lambda s, a, m: insights.read_totals(s, own(a), *ALL_MS),
        upto="expert",
    ),
    "store.insights.read_groups": Row(
        "labeler",
        lambda s, a, m: insights.read_groups(s, own(a), "day", *ALL_MS, agent=own_agent(a)),
        others=lambda s, a, m: insights.read_groups(s, own(a), "day", *ALL_MS, agent="a1"),
        upto="expert",
    ),
    "store.notes.write_note": Row("lead", lambda s, a, m: notes.write_note(s, a, "a1", "Ask first.", "d1")),
    "store.notes.acknowledge_note": Row(
        "labeler",
        lambda s, a, m: notes.acknowledge_note(s, own(a), int(m.id)),
        own_note,
        lambda s, a, m: notes.acknowledge_note(s, a, 1),
    ),
    "store.notes.list_notes": Row(
        "labeler",
        lambda s, a, m: notes.list_notes(s, own(a), own_agent(a)),
        others=lambda s, a, m: notes.list_notes(s, a, "a1"),
        upto="expert",
    ),
    "store.notes.count_open_notes": Row(
        "labeler",
        lambda s, a, m: notes.count_open_notes(s, own(a), own_agent(a)),
        others=lambda s, a, m: notes.count_open_notes(s, a, "a1"),
        upto="expert",
    ),
    "store.own_work.count_waiting": Row("labeler", lambda s, a, m: own_work.count_waiting(s, a, "p")),
    "store.own_work.load_training_gold": Row(
        "labeler",
        lambda s, a, m: own_work.load_training_gold(s, a, m.task),
        trained,
        lambda s, a, m: own_work.load_training_gold(s, a, THEIRS["t"].task),
    ),
    "store.own_work.grade_own_training": Row(
        "labeler",
        lambda s, a, m: own_work.grade_own_training(s, a),
        others=lambda s, a, m: own_work.grade_own_training(s, a),
        instead=(0, 0),
    ),
    "store.preferences.load_preferences": Row(
        "labeler",
        lambda s, a, m: preferences.load_preferences(s, a),
        others=lambda s, a, m: preferences.load_preferences(s, a),
        instead=preferences.Preferences(),
    ),
    "store.preferences.save_preferences": Row(
        "labeler", lambda s, a, m: preferences.save_preferences(s, a, preferences.Preferences(language="ru"))
    ),
    "store.rater_status.change_status": Row(
        "lead",
        lambda s, a, m: rater_status.change_status(s, a, "ben", "suspended", "why"),
        others=lambda s, a, m: rater_status.change_status(s, a, "ada", "suspended", "why"),
    ),
    "store.saved_views.save_view": Row(
        "reviewer", lambda s, a, m: saved_views.save_view(s, a, "mine", Search(), shared=False)
    ),
    "store.saved_views.list_views": Row(
        "reviewer",
        lambda s, a, m: saved_views.list_views(s, a),
        others=lambda s, a, m: saved_views.list_views(s, a),
        instead=(),
    ),
    "store.saved_views.delete_view": Row(
        "reviewer",
        lambda s, a, m: saved_views.delete_view(s, a, "mine"),
        others=delete_theirs,
        instead=["theirs"],
    ),
    "store.search.search": Row("reviewer", lambda s, a, m: search.search(s, a, Search(text="where"))),
    "store.search.count": Row("reviewer", lambda s, a, m: search.count(s, a, Search(text="where"))),
    "store.search.list_choices": Row("reviewer", lambda s, a, m: search.list_choices(s, a)),
}

OWN: dict[str, Act] = {
    "review": lambda s, a, m: annotations.review(s, a, m, f"review {a}", ["C1"], expected=None),
    "set gold": lambda s, a, m: gold.set_gold(s, a, GOLD.model_copy(update={"dialogue": m})),
    "retire gold": lambda s, a, m: gold.retire_gold(s, a, m),
    "decide gold": lambda s, a, m: gold.decide_gold(s, a, m, 1, "C1", present=True, reason="why"),
    "import gold": lambda s, a, m: gold.import_gold(s, a, [GOLD.model_copy(update={"dialogue": m})]),
    "bring gold in": lambda s, a, m: gold._insert_gold(s, a, [], {m: "pair"}),
}
"""What nobody may of a dialogue that they spoke in."""
SEES_OWN: dict[str, Act] = {
    "see it": lambda s, a, m: dialogues.read(s, a, m),
    "appeal": lambda s, a, m: appeals.open_appeal(s, a, m, 1, "C1", "no"),
}
"""What everybody may."""

PLACE = {"project": None, "upto": 9, "after": 0, "page": 9}
THEIRS: dict[str, Any] = {}


def operations() -> set[str]:
    """Everything marked `reading` or `write_operation`, found in the source, so that nothing new goes unseen."""
    found = set()
    root = Path(__file__).parents[3]
    for path in (path for room in ("labeling", "app", "eval") for path in (root / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if any(
                mark.split("(")[0].split(".")[-1] in ("read_operation", "write_operation") for mark in marks
            ):
                place = path.relative_to(root).with_suffix("").parts
                found.add(".".join([*(place[1:] if place[0] == "labeling" else place), node.name]))  # type: ignore[attr-defined]
    return found


def test_every_operation_has_a_row() -> None:
    assert operations() == ROWS.keys()


@pytest.fixture(scope="module")
def filled_template(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whatever an operation needs is there: tasks of each kind, one answered and one held by somebody else, gold
    in doubt, an appeal after its second review, somebody banned, and what each role has of its own."""
    path = tmp_path_factory.mktemp("rights") / "store.sqlite"
    shutil.copyfile(sqlite_template, path)
    with Store.open(str(path)) as s:
        for role in ROLES:
            accounts.create(s, "ada", Account(id=f"own-{role}", role=role, agent=f"agent-{role}"))
            accounts.create(s, "ada", Account(id=f"training-{role}", role=role, status="training"))
            for status in ("suspended", "banned"):
                name = f"{status}-{role}"
                accounts.create(s, "ada", Account(id=name, role=role, status=status, agent=AGENTS[name]))
        accounts.create(s, "ada", Account(id="agnes", role="labeler", agent="appeals"))
        accounts.create(s, "ada", Account(id="gone", role="labeler", status="banned"))
        accounts.create(s, "ada", Account(id="other", role="expert"))
        accounts.create(s, "ada", Account(id="second", role="reviewer"))
        mine = [a_dialogue(MINE[role], agent=f"agent-{role}") for role in ROLES]
        dialogues.add(
            s, "lea", [a_dialogue("d1"), a_dialogue("d2"), a_dialogue("d3", agent="appeals"), *mine]
        )
        found = [a_verdict(one, FINDING) for one in ("d1", "d3", *MINE.values())]
        dialogues.add_verdicts(s, "lea", found)
        projects.create(s, "lea", Project(id="p", codes=("C1",), overlap=99, most=99))
        projects.create(s, "lea", Project(id="r", codes=("C1",), purpose="review"))
        projects.create(s, "lea", Project(id="a", codes=("C1",), purpose="adjudication", overlap=99, most=99))
        tasks.add(
            s, "lea", "p", [NewTask(dialogue="d1", turn=1), NewTask(dialogue="d1"), NewTask(dialogue="d2")]
        )
        tasks.add(s, "lea", "a", [NewTask(dialogue="d1", turn=1)])
        first = leases.claim(s, "other", "p")
        assert first is not None
        annotations.submit(s, "other", first.task, first.token, "theirs")
        THEIRS["p"], THEIRS["a"] = leases.claim(s, "other", "p"), leases.claim(s, "other", "a")
        drafts.save_draft(s, "other", "note:d2", "x", "d2")
        for dialogue in ("d1", *MINE.values()):
            gold.set_gold(s, "other", GOLD.model_copy(update={"dialogue": dialogue}))
        s.write(lambda t: t.run(gold.gold.update().values(doubt="2 of 3")))
        appeals.open_appeal(s, "agnes", "d3", 1, "C1", "no")
        appeals.open_second_reviews(s, "lea", "r")
        lease = leases.claim(s, "second", "r")
        assert lease is not None
        annotations.submit(s, "second", lease.task, lease.token, "second")
        ids = s.read(
            lambda t: t.run(select(task_rows.c.id).where(task_rows.c.project == "a")).scalars().all()
        )
        assert ids == [THEIRS["a"].task]
        fill_console(s)
    return path


def fill_console(s: Store) -> None:
    """A calibration session that is over, of those who spoke; a training task that somebody else answered, and
    their saved search and language; documents; a note to each agent."""
    dialogues.add(s, "lea", [a_dialogue("d4")])
    gold.set_gold(s, "other", GOLD.model_copy(update={"dialogue": "d4"}))
    members = tuple(dict.fromkeys(account for account, _ in SPOKE.values()))
    projects.create(
        s, "lea", Project(id="c", codes=("C1",), purpose="calibration", members=members, overlap=9, most=9)
    )
    projects.create(s, "lea", Project(id="t", codes=("C1",), overlap=99, most=99))
    tasks.add(s, "lea", "c", [NewTask(dialogue="d4", turn=1)])
    tasks.add(s, "lea", "t", [NewTask(dialogue="d4", turn=1, pool="training")])
    for name in (*(f"own-{role}" for role in ROLES), "other"):
        project, pool = ("t", "training") if name == "other" else ("c", "main")
        lease = leases.claim(s, name, project, pool=pool)
        assert lease is not None
        annotations.submit(s, name, lease.task, lease.token, f"{project} {name}", [FINDING])
        THEIRS[project] = lease
    projects.set_state(s, "lea", "c", "closed")
    saved_views.save_view(s, "other", "theirs", Search(text="parcel"), shared=False)
    preferences.save_preferences(s, "other", preferences.Preferences(language="es"))
    text = PACKAGED.read_text(encoding="utf-8")
    documents.save_version(s, "lea", "taxonomy", "taxonomy", text, "as packaged", expected=0)
    for role in ROLES:
        notes.write_note(s, "lea", f"agent-{role}", "Ask first.")


@pytest.fixture
def filled(filled_template: Path, tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "store.sqlite"
    shutil.copyfile(filled_template, path)
    with Store.open(str(path)) as store:
        yield store


@pytest.mark.parametrize("name", ROWS)
def test_who_may(filled: Store, name: str) -> None:
    """Each operation with each role: refused below the first, done by it and not refused above. Accounts that
    are not active have no rights, but those in training may label; strangers have none."""
    row = ROWS[name]
    if row.first is None:
        assert name in (
            "store.accounts.create_first",
            "store.accounts.has_accounts",
            "store.passwords.find_signed_in",
            "store.identities.find_linked",
            "store.identities.sign_in_identity",
        ), "by a name, before any right"
        return
    at = ROLES.index(row.first)  # type: ignore[arg-type]
    training = [] if row.first == "labeler" else [f"training-{role}" for role in ROLES]
    nothing = SimpleNamespace(task=THEIRS["p"].task, token=1, id="1")
    for nobody in (*(ACTORS[role] for role in ROLES[:at]), *CLOSED, *training, "stranger"):
        with pytest.raises(NotAllowed) as refused:
            row.act(filled, nobody, nothing)
        assert refused.value.code == ("E_ACCOUNT" if nobody == "stranger" else "E_RIGHT")
    for role in ROLES[at : ROLES.index(row.upto) + 1] if row.others else ():  # type: ignore[arg-type]
        assert row.others is not None
        if isinstance(row.instead, type):
            with pytest.raises(row.instead):
                row.others(filled, ACTORS[role], None)
        else:
            assert row.others(filled, ACTORS[role], None) == row.instead
    for place, role in enumerate(ROLES[at:]):
        if place:  # done already: a second time the store may have its reasons, but none of them is a right
            with suppress(StoreRefused, StaleLease, Conflict):
                row.act(filled, ACTORS[role], row.before(filled, ACTORS[role], None))
        else:
            row.act(filled, ACTORS[role], row.before(filled, ACTORS[role], None))


@pytest.mark.parametrize("role", ROLES)
def test_own_dialogues_may_be_seen_and_appealed_but_not_judged(filled: Store, role: str) -> None:
    for act in OWN.values():
        with pytest.raises(NotAllowed) as refused:
            act(filled, f"own-{role}", MINE[role])
        assert refused.value.code == "E_RIGHT"
    for act in SEES_OWN.values():
        act(filled, f"own-{role}", MINE[role])
        with pytest.raises(NotAllowed) if role == "labeler" or act is SEES_OWN["appeal"] else nullcontext():
            act(filled, f"own-{role}", "d1")
    for act in OWN.values() if role in ("lead", "admin") else ():
        act(filled, f"own-{role}", MINE["labeler"])


def test_signing_in(store: Store) -> None:
    with pytest.raises(StoreRefused):
        accounts.create_first(store, "eva", "correct horse battery")
    own = "a long enough one"
    for name, given in (("ada", "correct horse battery"), ("ann", "given to ann")):
        if name == "ann":
            accounts.set_password(store, "ada", name, given)
        passwords.choose_password(store, name, given, own)
        assert passwords.sign_in(store, name, own).id == name
    with pytest.raises(NotAllowed):
        accounts.set_password(store, "ann", "ben", "another long one")
    accounts.set_status(store, "lea", "ann", "suspended")
    said = set()
    for name, password in (("ann", own), ("ada", "wrong"), ("nobody", "x"), ("nobody", ""), ("ben", "")):
        for act in (passwords.sign_in, lambda *who: passwords.choose_password(*who, new="x" * 12)):
            with pytest.raises(NotAllowed) as refused:
                act(store, name, password)
            said.add(str(refused.value))
    assert len(said) == 1, "the message tells nothing"


def test_a_given_password_is_good_for_choosing_another_only(store: Store) -> None:
    given = "given by the admin"
    accounts.create(store, "ada", Account(id="new", role="lead"), given)
    with pytest.raises(MustChangePassword):
        passwords.sign_in(store, "new", given)
    assert passwords.find_signed_in(store, "new") is None
    for poor in (given, "short"):
        with pytest.raises(StoreRefused, match="E_PASSWORD"):
            passwords.choose_password(store, "new", given, poor)
    assert accounts.list_accounts(store, "new"), "the command line needs no password"
    passwords.choose_password(store, "new", given, "one of my own")
    assert passwords.sign_in(store, "new", "one of my own") == passwords.find_signed_in(store, "new")
    with pytest.raises(NotAllowed):
        passwords.sign_in(store, "new", given)
    for actor in ("ada", "new"):  # lost, or made anew by oneself: given again, either way
        accounts.set_password(store, actor, "new", given)
        with pytest.raises(MustChangePassword):
            passwords.sign_in(store, "new", given)
        assert passwords.find_signed_in(store, "new") is None, "who is in is put out"
    accounts.set_status(store, "ada", "new", "suspended")
    with pytest.raises(NotAllowed) as refused:
        passwords.choose_password(store, "new", given, "one of my own")
    assert not isinstance(refused.value, MustChangePassword)


def test_a_password_that_was_replaced_meanwhile_chooses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.set_password(store, "ada", "ann", "given to ann")
    write = Store.write

    def late(self: Store, work: Any, **options: Any) -> Any:
        monkeypatch.undo()
        accounts.set_password(store, "ada", "ann", "given once more")
        return write(self, work, **options)

    monkeypatch.setattr(Store, "write", late)
    with pytest.raises(NotAllowed):
        passwords.choose_password(store, "ann", "given to ann", "one of my own")
    with pytest.raises(MustChangePassword):
        passwords.sign_in(store, "ann", "given once more")


def test_a_lead_makes_nobody_an_admin_and_nobody_frees_themselves(store: Store) -> None:
    with pytest.raises(NotAllowed):
        accounts.set_status(store, "lea", "lea", "active")
    with pytest.raises(NotAllowed):
        accounts.set_status(store, "lea", "ada", "banned")
    with pytest.raises(NotAllowed):
        accounts.set_status(store, "ada", "ada", "banned")


def test_dialogues_and_verdicts_go_in_once(store: Store, made: Any) -> None:
    assert dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("d2")]) == 2
    assert dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("d3")]) == 1
    with pytest.raises(StoreRefused, match="d1: in the store with other content"):
        dialogues.add(store, "lea", [made.dialogue("d4"), made.dialogue("d1", text="Changed")])
    with pytest.raises(StoreRefused):
        dialogues.add_verdicts(store, "lea", [made.verdict("d4")])
    with pytest.raises(InputRefused):
        dialogues.add(store, "lea", [made.dialogue("d\x00")])
    said = made.verdict("d1", made.finding(), risk=0.4)
    assert dialogues.add_verdicts(store, "lea", [said]) == 1
    assert dialogues.add_verdicts(store, "lea", [said]) == 0
    assert dialogues.read(store, "rob", "d1") == (made.dialogue("d1"), said)
    odd = made.dialogue("odd", text="nul \x00, \u202e, \U0001f600 'x\"")
    assert dialogues.add(store, "lea", [odd]) == 1
    assert dialogues.read(store, "rob", "odd")[0] == odd


def test_labels_and_gold_have_one_row_each(store: Store, made: Any) -> None:
    dialogues.add(store, "lea", [made.dialogue("d1")])
    one = Label(dialogue_id="d1", turn=1, code="C1", probability=0.5, method="majority", n_labelers=2)
    labels.write_labels(store, "lea", [one])
    labels.write_labels(store, "lea", [one.model_copy(update={"probability": 0.75, "n_labelers": 4})])
    assert [found.probability for found in labels.list_labels(store, "rob", "d1")] == [0.75]
    gold.set_gold(store, "eve", GOLD)
    gold.set_gold(store, "eve", GOLD.model_copy(update={"present": False}))
    assert [known.present for known in gold.list_gold(store, "eve")] == [False]
    gold.retire_gold(store, "lea", "d1")
    assert gold.list_gold(store, "eve") == ()


def test_an_appeal_is_decided_by_somebody_else_and_teaches(store: Store, made: Any) -> None:
    accounts.create(store, "ada", Account(id="agent", role="labeler", agent="a1"))
    dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("d2", agent="a2")])
    dialogues.add_verdicts(
        store, "lea", [made.verdict("d1", made.finding()), made.verdict("d2", made.finding())]
    )
    assert dialogues.read(store, "agent", "d1")[0].id == "d1"
    with pytest.raises(NotAllowed):
        dialogues.read(store, "agent", "d2")
    with pytest.raises(NotAllowed):
        appeals.open_appeal(store, "agent", "d2", 1, "C1", "not mine")
    with pytest.raises(StoreRefused, match="no such finding"):
        appeals.open_appeal(store, "agent", "d1", 1, "T1", "I did not say that")
    mine = appeals.open_appeal(store, "agent", "d1", 1, "C1", "I had answered before")
    assert appeals.open_appeal(store, "agent", "d1", 1, "C1", "again") == mine
    assert appeals.list_open(store, "eve") == (mine,)
    annotations.review(store, "eve", "d1", "k", ["C1"], [made.finding()], expected=None)
    decide = write_operation(repeatable=True)(appeals._decide)  # a second review is the caller's care
    with pytest.raises(NotAllowed, match="somebody else"):
        decide(store, "eve", mine.id, "upheld", "as I said")
    settled = decide(store, "emil", mine.id, "overturned", "turn 0 was answered")
    assert (settled.state, settled.decided_by) == ("overturned", "emil")
    assert decide(store, "emil", mine.id, "overturned", "turn 0 was answered") == settled
    with pytest.raises(StoreRefused, match="overturned already"):
        decide(store, "emil", mine.id, "upheld", "no")
    assert [(known.present, known.source) for known in gold.list_gold(store, "eve")] == [(False, "appeal")]
    assert appeals.list_own(store, "agent") == (settled,)
