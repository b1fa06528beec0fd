"""Who may do each operation of the store that only the console needs, and what they need in the store."""

from typing import Any

from permission_rows import AGENTS, FINDING, GOLD, SPOKE, THEIRS, Row, a_dialogue

from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    audit_log,
    backlog,
    calibration_sessions,
    coaching,
    dialogues,
    documents,
    erasure,
    gold,
    history,
    identities,
    insights,
    leases,
    notes,
    own_work,
    preferences,
    projects,
    rater_status,
    release_verdicts,
    reviewed_scores,
    score_jobs,
    search,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import ROLES
from dialint.labeling.store.records import NewTask, Project
from dialint.labeling.store.search_plan import Search


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
CONSOLE_ROWS: dict[str, Row] = {
    "store.release_verdicts.count_by_release": Row(
        "lead", lambda s, a, m: release_verdicts.count_by_release(s, a)
    ),
    "store.release_verdicts.compare_releases": Row(
        "lead", lambda s, a, m: release_verdicts.compare_releases(s, a, "r", "q")
    ),
    "store.release_verdicts.load_judged": Row(
        "lead", lambda s, a, m: release_verdicts.load_judged(s, a, "r")
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


CONSOLE_ROWS |= {
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
    "store.identities.find_signed_in": Row(None, lambda s, a, m: identities.find_signed_in(s, a, WHO)),
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


def saved(store: Store, actor: str, made: Any) -> object:
    text = f"{PACKAGED.read_text(encoding='utf-8')}# {actor}\n"
    return documents.save_version(store, actor, "taxonomy", "taxonomy", text, "why", expected=1)


ALL_MS = (0, 2**41)
CONSOLE_ROWS |= {
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
        lambda s, a, m: calibration_sessions.save_note(s, own(a), "c", "agreed", None),
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
    "store.documents.find_policy_version": Row(
        "reviewer", lambda s, a, m: documents.find_policy_version(s, a, "shop", "0" * 64)
    ),
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
    "store.insights.read_extent": Row(
        "labeler",
        lambda s, a, m: insights.read_extent(s, own(a), agent=own_agent(a)),
        others=lambda s, a, m: insights.read_extent(s, own(a)),
        upto="expert",
    ),
    "store.reviewed_scores.read_reviewed_scores": Row(
        "labeler",
        lambda s, a, m: reviewed_scores.read_reviewed_scores(s, own(a), "week", *ALL_MS, agent=own_agent(a)),
        others=lambda s, a, m: reviewed_scores.read_reviewed_scores(s, own(a), "agent", *ALL_MS),
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
    "store.own_work.count_own_answers": Row(
        "labeler",
        lambda s, a, m: own_work.count_own_answers(s, a, "p"),
        others=lambda s, a, m: own_work.count_own_answers(s, a, "p"),
        instead=0,
    ),
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
    "store.search.search": Row("reviewer", lambda s, a, m: search.search(s, a, Search(text="where"))),
    "store.search.count": Row("reviewer", lambda s, a, m: search.count(s, a, Search(text="where"))),
    "store.search.list_choices": Row("reviewer", lambda s, a, m: search.list_choices(s, a)),
}


def fill_console(s: Store) -> None:
    """A calibration session that is over, of those who spoke; a training task that somebody else answered, and
    their language; documents; a note to each agent."""
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
    preferences.save_preferences(s, "other", preferences.Preferences(language="es"))
    text = PACKAGED.read_text(encoding="utf-8")
    documents.save_version(s, "lea", "taxonomy", "taxonomy", text, "as packaged", expected=0)
    for role in ROLES:
        notes.write_note(s, "lea", f"agent-{role}", "Ask first.")
