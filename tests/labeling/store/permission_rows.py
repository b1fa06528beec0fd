"""Who may do each operation of the store that labeling needs, and the accounts and records to try it with."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import store_export
from dialint.labeling.store import (
    accounts,
    annotation_import,
    annotations,
    appeals,
    counted_annotations,
    dialogues,
    drafts,
    expert_cases,
    gold,
    labels,
    leases,
    projects,
    rater_status,
    task_view,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed, StaleLease
from dialint.labeling.store.permissions import ROLES
from dialint.labeling.store.records import Account, Gold, NewTask, Project

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


STORE_ROWS: dict[str, Row] = {
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
        lambda s, a, m: drafts.load_draft(s, a, "note:d2", "d2"),
        others=lambda s, a, m: drafts.load_draft(s, a, "note:d2", "d2"),
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
    "store.task_view.view_task": Row("reviewer", lambda s, a, m: task_view.view_task(s, a, 1)),
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
"""Operations by module and name; `console_permission_rows` has those of the console."""

PLACE = {"project": None, "upto": 9, "after": 0, "page": 9}
THEIRS: dict[str, Any] = {}
