"""Who may do each operation of the store, and the accounts and records to try it with."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import store_export
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    authentication,
    calibration_sessions,
    coaching,
    dialogues,
    documents,
    erasure,
    expert_cases,
    gold,
    insights,
    leases,
    projects,
    rater_status,
    score_jobs,
    stored_annotations,
    task_view,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import ROLES
from dialint.labeling.store.records import Gold, NewTask, NotAllowed, Project, StaleLease

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
    return stored_annotations.import_annotations(store, actor, [answer], "elsewhere")


def ban_and_reopen(store: Store, actor: str, made: Any) -> object:
    return accounts._reopen(store, actor, "gone", 0)


def brought(store: Store, actor: str, made: Any) -> object:
    new = score_jobs.NewScoreJob(
        id=f"{len(actor):08x}{actor.encode().hex()[:8]:0>8}", name="log", size=1, sha256=""
    )
    return score_jobs.create_job(store, "lea", new)


THEIRS: dict[str, Any] = {}


WHO = authentication.Identity(issuer="https://id.example", subject="1")


def erased(store: Store, actor: str, made: Any) -> object:
    return erasure.erase(store, actor, ["d2"], "why")


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
    return coaching.write_note(store, "lea", own_agent(actor), "Well done.")


ALL_MS = (0, 2**41)


ROWS: dict[str, Row] = {
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
    "store.insights.read_reviewed_scores": Row(
        "labeler",
        lambda s, a, m: insights.read_reviewed_scores(s, own(a), "week", *ALL_MS, agent=own_agent(a)),
        others=lambda s, a, m: insights.read_reviewed_scores(s, own(a), "agent", *ALL_MS),
        upto="expert",
    ),
    "store.coaching.acknowledge_note": Row(
        "labeler",
        lambda s, a, m: coaching.acknowledge_note(s, own(a), int(m.id)),
        own_note,
        lambda s, a, m: coaching.acknowledge_note(s, a, 1),
    ),
    "store.coaching.list_notes": Row(
        "labeler",
        lambda s, a, m: coaching.list_notes(s, own(a), own_agent(a)),
        others=lambda s, a, m: coaching.list_notes(s, a, "a1"),
        upto="expert",
    ),
    "store.coaching.count_open_notes": Row(
        "labeler",
        lambda s, a, m: coaching.count_open_notes(s, own(a), own_agent(a)),
        others=lambda s, a, m: coaching.count_open_notes(s, a, "a1"),
        upto="expert",
    ),
    "store.task_view.count_own_answers": Row(
        "labeler",
        lambda s, a, m: task_view.count_own_answers(s, a, "p"),
        others=lambda s, a, m: task_view.count_own_answers(s, a, "p"),
        instead=0,
    ),
    "store.task_view.load_training_gold": Row(
        "labeler",
        lambda s, a, m: task_view.load_training_gold(s, a, m.task),
        trained,
        lambda s, a, m: task_view.load_training_gold(s, a, THEIRS["t"].task),
    ),
    "store.task_view.grade_own_training": Row(
        "labeler",
        lambda s, a, m: task_view.grade_own_training(s, a),
        others=lambda s, a, m: task_view.grade_own_training(s, a),
        instead=(0, 0),
    ),
    "store.accounts.load_preferences": Row(
        "labeler",
        lambda s, a, m: accounts.load_preferences(s, a),
        others=lambda s, a, m: accounts.load_preferences(s, a),
        instead=accounts.Preferences(),
    ),
    "store.rater_status.change_status": Row(
        "lead",
        lambda s, a, m: rater_status.change_status(s, a, "ben", "suspended", "why"),
        others=lambda s, a, m: rater_status.change_status(s, a, "ada", "suspended", "why"),
    ),
    "store.accounts.change": Row(
        "admin",
        lambda s, a, m: accounts.change(s, a, "second", "expert", "a9"),
        others=lambda s, a, m: accounts.change(s, a, a, "admin", "a9"),
    ),
    "store.erasure.preview": Row("admin", lambda s, a, m: erasure.preview(s, a, ["d2"])),
    "store.erasure._erase": Row("admin", erased),
    "store.gold.restore_gold": Row(
        "lead", lambda s, a, m: gold.restore_gold(s, a, "d1"), lambda s, a, m: gold.retire_gold(s, a, "d1")
    ),
    "store.authentication.sign_in_identity": Row(
        None, lambda s, a, m: authentication.sign_in_identity(s, WHO)
    ),
    "store.authentication.find_signed_in": Row(
        None, lambda s, a, m: authentication.find_signed_in(s, a, WHO)
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
    "store.accounts.create_first": Row(None, lambda s, a, m: accounts.create_first(s, a, "x" * 12)),
    "store.accounts.has_accounts": Row(None, lambda s, a, m: accounts.has_accounts(s)),
    "store.accounts.set_password": Row(
        "labeler",
        lambda s, a, m: accounts.set_password(s, a, a, "twelve letters"),
        others=lambda s, a, m: accounts.set_password(s, a, "ben", "twelve letters"),
        upto="lead",
    ),
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
    "store.accounts._ban": Row(
        "lead",
        lambda s, a, m: accounts._ban(s, a, "ben", "copies"),
        others=lambda s, a, m: accounts._ban(s, a, "ada", "copies"),
    ),
    "store.accounts._reopen": Row("lead", ban_and_reopen),
    "store.leases.claim": Row(
        "labeler", taken("p"), others=lambda s, a, m: leases.claim(s, a, "a"), upto="reviewer"
    ),
    "store.leases.claim_dialogue": Row(
        "reviewer",
        lambda s, a, m: leases.claim_dialogue(s, a, "v", "d2"),
        others=lambda s, a, m: leases.claim_dialogue(s, a, "a", "d1"),
        upto="reviewer",
    ),
    "store.task_view.claim_and_open": Row(
        "labeler",
        lambda s, a, m: task_view.claim_and_open(s, a, "p"),
        others=lambda s, a, m: task_view.claim_and_open(s, a, "a"),
        upto="reviewer",
    ),
    "store.task_view.claim_and_open_dialogue": Row(
        "reviewer",
        lambda s, a, m: task_view.claim_and_open_dialogue(s, a, "v", "d2"),
        others=lambda s, a, m: task_view.claim_and_open_dialogue(s, a, "a", "d1"),
        upto="reviewer",
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
    "store.annotations.submit_and_claim": Row(
        "labeler",
        lambda s, a, m: annotations.submit_and_claim(s, a, m.task, m.token, f"one {a}", project="p"),
        taken("p"),
        lambda s, a, m: annotations.submit_and_claim(
            s, a, THEIRS["p"].task, THEIRS["p"].token, f"x {a}", project="p"
        ),
        instead=StaleLease,
    ),
    "store.annotations.correct": Row(
        "labeler",
        lambda s, a, m: annotations.correct(s, a, int(m.id), f"correction {a}"),
        answered,
        lambda s, a, m: annotations.correct(s, a, 1, f"x {a}"),
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
    "store.task_view.load_draft": Row(
        "labeler",
        lambda s, a, m: task_view.load_draft(s, a, "note:d2", "d2"),
        others=lambda s, a, m: task_view.load_draft(s, a, "note:d2", "d2"),
        instead=None,
    ),
    "store.gold._import_gold": Row("expert", lambda s, a, m: gold._import_gold(s, a, [GOLD], False)),
    "store.gold.retire_gold": Row("lead", lambda s, a, m: gold.retire_gold(s, a, "d1")),
    "store.dialogues.read": Row("reviewer", lambda s, a, m: dialogues.read(s, a, "d1")),
    "store.task_view.view_task": Row("reviewer", lambda s, a, m: task_view.view_task(s, a, 1)),
    "store.stored_annotations.import_annotations": Row(
        "lead", lambda s, a, m: imported(s, a, a), others=lambda s, a, m: imported(s, a, "dot"), upto="lead"
    ),
    "exchange.store_export.record_export": Row(
        "reviewer",
        lambda s, a, m: store_export.record_export(s, a, None, masked=True),
        others=lambda s, a, m: store_export.record_export(s, a, None, masked=False),
        upto="expert",
    ),
}
"""Operations that check more than the permission that they name, or name none."""

RIGHTS = {
    "label": """
        accounts: load_preferences save_preferences
        annotations: correct find_last_answer list_own submit
        appeals: count_withheld list_own list_own_dialogues open_appeal
        calibration_sessions: list_sessions
        coaching: acknowledge_note
        dialogues: read
        leases: claim find_held release renew skip
        projects: list_projects
        task_view: count_own_answers count_waiting delete_draft grade_own_training load_draft load_training_gold save_draft view_task
    """,
    "review": """
        annotations: list_annotations review
        counted_annotations: _last _page _page_on get_last_entry
        dialogues: list_labels
        documents: find_policy_version load_policies
        history: find_similar read_history
        leases: claim_dialogue
        projects: count_annotations
        search: count list_choices search
        tasks: count_tasks
    """,
    "decide": """
        appeals: count_outcomes decide_appeal list_decided list_open load_dispute
        expert_cases: decide_case list_open_cases load_case
        gold: decide_gold list_doubted list_gold set_gold
    """,
    "plan": """
        appeals: _reopen list_stuck
        calibration_sessions: save_note
        coaching: count_cleared list_agents write_note
        dialogues: add add_verdicts write_labels
        documents: list_names list_newest_dialogues list_newest_verdicts list_versions load_published load_version publish record_previewed save_version withdraw
        gold: _insert_gold
        insights: read_backlog
        projects: change_limits create list_spending set_state
        release_verdicts: _read_judged compare_releases count_by_release list_changes load_judged record_change
        score_jobs: create_job list_jobs load_job queue_job record_added record_download record_end remove_job
        stored_annotations: import_annotations
        tasks: add set_wanted set_wanted_if_unchanged
    """,
    "discipline": """
        accounts: list_accounts
        rater_status: _apply evaluate_status get_rules set_rules
    """,
    "administer": """
        accounts: change create
        authentication: link list_identities unlink
        erasure: find_dialogues list_erasures read_proof
        history: list_entries
    """,
}
"""The permission that each operation names, by its module; the others check more, and have a row in `ROWS`."""


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
    accounts.save_preferences(s, "other", accounts.Preferences(language="es"))
    text = PACKAGED.read_text(encoding="utf-8")
    documents.save_version(s, "lea", "taxonomy", "taxonomy", text, "as packaged", expected=0)
    for role in ROLES:
        coaching.write_note(s, "lea", f"agent-{role}", "Ask first.")
