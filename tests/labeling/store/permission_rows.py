"""The lowest role for each operation of the store, and the accounts and records to test it with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import make
from answering import claim

from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import store_transfer
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

Act = Callable[[Store, str, Any], object]


class Row(NamedTuple):
    """Permission of an operation: `first` is the lowest role, none where no account acts. `act` does it, with
    what `before` made of the same actor, if anything. `others`: the same to a thing of somebody else's, which
    nobody may up to a role, mostly of any; `instead`, what that raises or, where it refuses nothing, gives."""

    first: str | None
    act: Act
    before: Act = lambda store, actor, made: None
    others: Act | None = None
    upto: str = "admin"
    instead: Any = NotAllowed


THEIRS: dict[str, Any] = {}
"""Leases that somebody else holds, by project."""
WHO = authentication.Identity(issuer="https://id.example", subject="1")
ALL_MS = (0, 2**41)
SAME = object()
"""The same arguments for somebody else."""


def claimed(project: str) -> Act:
    return lambda store, actor, made: claim(store, actor, project)


def answered(store: Store, actor: str, made: Any) -> object:
    lease = claim(store, actor, "p")
    return annotations.submit(store, actor, lease.task, lease.token, f"answer {actor}")


def imported(actor: str, labeler: str) -> tuple[Any, ...]:
    return [Annotation(id=actor, dialogue_id="d2", labeler=labeler, kind="crowd", codes=("C1",))], "elsewhere"


def trained(store: Store, actor: str, made: Any) -> object:
    lease = claim(store, actor, "t", pool="training")
    annotations.submit(store, actor, lease.task, lease.token, f"training {actor}")
    return lease


def own(actor: str) -> str:
    """The account that acts in its own dialogues in place of this actor."""
    return SPOKE.get(actor, (actor, ""))[0]


def own_dialogue(actor: str) -> str:
    return SPOKE.get(actor, ("", "d1"))[1]


def own_agent(actor: str) -> str:
    return AGENTS.get(actor, "a1")


def own_note(store: Store, actor: str, made: Any) -> object:
    return coaching.write_note(store, "lea", own_agent(actor), "Well done.")


def of_agent(*before: Any, as_keyword: bool = False) -> Any:
    """Arguments with the actor's own agent, first or by name."""
    if as_keyword:
        return lambda actor, made: (*before, *ALL_MS, {"agent": own_agent(actor)})
    return lambda actor, made: (own_agent(actor), *before)


def held(*more: Any) -> Any:
    """Arguments with the task and token that `before` claimed, and a key."""
    return lambda actor, made: (made.task, made.token, *(each.format(actor) for each in more))


def theirs(project: str, *more: Any) -> Any:
    """As `held`, of somebody else's task."""
    return lambda actor, made: held(*more)(actor, THEIRS[project])


def row(
    operation: Any,
    arguments: Any = (),
    *,
    first: str | None = "labeler",
    by: Any = str,
    others: Any = None,
    **more: Any,
) -> tuple[str, Row]:
    """The name of an operation and its row, with the arguments after the actor, a dict of named ones last;
    they may depend on the actor and on what `before` made. `by` replaces the actor."""

    def call(values: Any, account: Callable[[str], str]) -> Act:
        def act(store: Store, actor: str, made: Any) -> object:
            positional = list(values(actor, made) if callable(values) else values)
            keywords = positional.pop() if positional and isinstance(positional[-1], dict) else {}
            return operation(store, account(actor), *positional, **keywords)

        return act

    act = call(arguments, by)
    to_others = None if others is None else call(arguments if others is SAME else others, str)
    name = f"{operation.__module__.removeprefix('dialint.labeling.')}.{operation.__name__}"
    return name, Row(first, act, others=to_others, **more)


ROWS: dict[str, Row] = dict((
    row(accounts._ban, ("ben", "copies", 0), others=("ada", "copies", 0), first="lead"),
    row(accounts.change, ("second", "expert", "a9"), others=lambda a, m: (a, "admin", "a9"), first="admin"),
    row(accounts.create_first, first=None),
    row(accounts.has_accounts, first=None),
    row(accounts.load_preferences, others=SAME, instead=accounts.Preferences()),
    row(accounts.set_password, lambda a, m: (a, "twelve letters"), others=("ben", "twelve letters"), upto="lead"),
    row(accounts.set_skills, ("ben", ("finnish",)), others=("ria", ("finnish",)), upto="lead", first="lead"),
    row(accounts.set_status, ("ben", "suspended"), others=("ada", "suspended"), first="lead"),
    row(annotations.correct, lambda a, m: (int(m.id), f"again {a}"), before=answered, others=(1, "x")),
    row(annotations.find_last_answer, ("p",), others=SAME, instead=None),
    row(annotations.list_own, others=SAME, instead=()),
    row(annotations.submit, held("answer {}"), before=claimed("p"), others=theirs("p", "x {}"), instead=StaleLease),
    row(
        annotations.submit_and_claim, lambda a, m: (m.task, m.token, f"one {a}", {"project": "p"}), before=claimed("p"),
        others=lambda a, m: (THEIRS["p"].task, THEIRS["p"].token, f"x {a}", {"project": "p"}), instead=StaleLease,
    ),
    row(appeals.list_own, others=SAME, instead=()),
    row(appeals.list_own_dialogues, by=own, others=SAME),
    row(appeals.list_rejected, ("d1",), others=("d1",), instead=frozenset()),
    row(appeals.open_appeal, lambda a, m: (own_dialogue(a), 1, "C1", "no"), by=own, others=("d1", 1, "C1", "no")),
    row(authentication.find_signed_in, first=None),
    row(authentication.sign_in_identity, first=None),
    row(calibration_sessions.list_sessions, by=own, others=SAME, upto="expert", instead=()),
    row(calibration_sessions.load_answers, ("c",), by=own, others=SAME, upto="expert"),
    row(calibration_sessions.load_item, lambda a, m: ("c", THEIRS["c"].task), by=own, others=SAME, upto="expert"),
    row(calibration_sessions.load_note, ("c",), by=own, others=SAME, upto="expert"),
    row(coaching.acknowledge_note, lambda a, m: (int(m.id),), by=own, before=own_note, others=(1,)),
    row(coaching.compare_codes, of_agent(*ALL_MS), by=own, others=("a1", *ALL_MS), upto="expert"),
    row(coaching.list_dialogues, of_agent(*ALL_MS), by=own, others=("a1", *ALL_MS), upto="expert"),
    row(coaching.list_notes, of_agent(), by=own, others=("a1",), upto="expert"),
    row(
        coaching.read_confirmed, lambda a, m: (own_agent(a), [own_dialogue(a)]), by=own, others=("a1", ["d1"]),
        upto="expert",
    ),
    row(dialogues.read, ("d1",), first="reviewer"),
    row(erasure._erase, (["d2"], "why"), first="admin"),
    row(erasure.preview, (["d2"],), first="admin"),
    row(
        expert_cases.decide_case, lambda a, m: (m.task, m.token, f"decision {a}", [], "why"), before=claimed("a"),
        others=lambda a, m: (THEIRS["a"].task, THEIRS["a"].token, f"x {a}", [], "why"), instead=StaleLease,
        first="expert",
    ),
    row(gold.restore_gold, ("d1",), before=lambda s, a, m: gold.retire_gold(s, a, "d1"), first="lead"),
    row(gold.retire_gold, ("d1",), first="lead"),
    row(insights.read_coverage, of_agent(as_keyword=True), by=own, others=ALL_MS, upto="expert"),
    row(insights.read_extent, lambda a, m: ({"agent": own_agent(a)},), by=own, others=(), upto="expert"),
    row(insights.read_groups, of_agent("day", as_keyword=True), by=own, others=("day", *ALL_MS), upto="expert"),
    row(insights.read_scores, of_agent("week", as_keyword=True), by=own, others=("agent", *ALL_MS), upto="expert"),
    row(insights.read_totals, of_agent(as_keyword=True), by=own, others=ALL_MS, upto="expert"),
    row(leases.claim, ("p",), others=("a",), upto="reviewer"),
    row(leases.claim_dialogue, ("v", "d2"), others=("a", "d1"), upto="reviewer", first="reviewer"),
    row(leases.find_held, ("p",), others=SAME, instead=None),
    row(leases.release, held(), before=claimed("p"), others=theirs("p"), instead=StaleLease),
    row(leases.renew, held(), before=claimed("p"), others=theirs("p"), instead=StaleLease),
    row(leases.skip, held("why"), before=claimed("p"), others=theirs("p", "why"), instead=StaleLease),
    row(
        stored_annotations.import_annotations, lambda a, m: imported(a, a), others=lambda a, m: imported(a, "dot"),
        upto="lead", first="lead",
    ),
    row(
        store_transfer.record_export, (None, {"masked": True}), others=(None, {"masked": False}), upto="expert",
        first="reviewer",
    ),
    row(task_view.claim_and_open, ("p",), others=("a",), upto="reviewer"),
    row(task_view.claim_and_open_dialogue, ("v", "d2"), others=("a", "d1"), upto="reviewer", first="reviewer"),
    row(task_view.grade_own_training, others=SAME, instead=(0, 0)),
    row(task_view.load_draft, ("note:d2", "d2"), others=SAME, instead=None),
    row(
        task_view.load_training_gold, lambda a, m: (m.task,), before=trained,
        others=lambda a, m: (THEIRS["t"].task,),
    ),
    row(task_view.view_task, (1,), first="reviewer"),
))  # fmt: skip
"""Operations that check more than the permission that they name, or name none."""

RIGHTS = {
    "label": """
        accounts: load_preferences save_preferences
        annotations: correct find_last_answer list_own submit
        appeals: count_withheld list_own list_own_dialogues list_rejected open_appeal
        calibration_sessions: list_sessions
        coaching: acknowledge_note
        dialogues: read
        leases: claim find_held release renew skip
        projects: list_projects
        task_view: count_waiting delete_draft grade_own_training load_draft load_training_gold save_draft view_task
    """,
    "review": """
        annotations: list_annotations review
        dialogues: list_labels
        documents: find_policy_version load_policies
        history: find_similar read_history
        leases: claim_dialogue
        projects: count_annotations
        search: count list_choices search
        stored_annotations: _load_last _load_page
        tasks: count_tasks
    """,
    "decide": """
        appeals: count_outcomes decide_appeal list_decided list_open load_dispute
        expert_cases: decide_case list_open_cases load_case
        gold: decide_gold import_gold list_doubted list_gold set_gold
    """,
    "plan": """
        appeals: _reopen list_stuck
        calibration_sessions: save_note
        coaching: count_errors list_agents write_note
        dialogues: add add_verdicts put_scored write_labels
        documents: list_names list_newest_dialogues list_newest_verdicts list_versions load_published load_version publish record_previewed save_version withdraw
        gold: _insert_gold
        history: record_job
        insights: count_by_release list_scores
        projects: change_limits create list_spending set_state
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
    dialogues.add(s, "lea", [make.dialogue("d4")])
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
        lease = claim(s, name, project, pool=pool)
        annotations.submit(s, name, lease.task, lease.token, f"{project} {name}", [make.finding()])
        THEIRS[project] = lease
    projects.set_state(s, "lea", "c", "closed")
    accounts.save_preferences(s, "other", accounts.Preferences(language="es"))
    text = PACKAGED.read_text(encoding="utf-8")
    documents.save_version(s, "lea", "taxonomy", "taxonomy", text, "as packaged", expected=0)
    for role in ROLES:
        coaching.write_note(s, "lea", f"agent-{role}", "Ask first.")
