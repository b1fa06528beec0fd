"""Nobody judges what they said themselves; who has seen what others say is not blind; what is closed stays."""

import json
import math
from collections.abc import Callable
from typing import Any

import make
import pytest
from answering import answer, answer_all, claim, make_project
from sqlalchemy import event, select

from dialint.detector.errors import DialintError
from dialint.detector.records import Example, Label
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.store_transfer import record_export
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    dialogues,
    expert_cases,
    gold,
    leases,
    projects,
    stored_annotations,
    task_view,
    tasks,
)
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import (
    Account,
    Conflict,
    Gold,
    Lease,
    NewTask,
    NotAllowed,
    Project,
    StoreRefused,
)
from dialint.labeling.store.stored_annotations import import_annotations

PURPOSES: tuple[Any, ...] = ("label", "review", "adjudication", "calibration")
GOLD = Gold(dialogue="mine", turn=1, code="C1", present=True, source="expert")


def with_author(name: str, author: str, agent: str = "a9") -> Any:
    dialogue = make.dialogue(name, agent=agent)
    turns = (dialogue.turns[0], dialogue.turns[1].model_copy(update={"author": author}))
    return dialogue.model_copy(update={"turns": turns})


@pytest.fixture(params=["agent", "author"])
def working(store: Store, request: pytest.FixtureRequest) -> Store:
    """Those who work here were agents: `boss`, an admin, in `mine`, by name or as the author of a turn."""
    accounts.create(store, "ada", Account(id="boss", role="admin", agent="a7"))
    accounts.create(store, "ada", Account(id="peer", role="admin", agent="a8"))
    mine = make.dialogue("mine", agent="a7") if request.param == "agent" else with_author("mine", "a7")
    dialogues.add(store, "lea", [mine, make.dialogue("other")])
    dialogues.add_verdicts(store, "lea", [make.verdict(name, make.finding()) for name in ("mine", "other")])
    for purpose in PURPOSES:
        projects.create(store, "lea", Project(id=purpose, codes=("C1",), purpose=purpose, overlap=3))
        tasks.add(store, "lea", purpose, [NewTask(dialogue=name, turn=1) for name in ("mine", "other")])
    return store


def entries(store: Store, *actions: str) -> list[tuple[str, str, str, dict[str, Any]]]:
    rows = store.read(
        lambda t: t.run(select(audit).where(audit.c.action.in_(actions)).order_by(audit.c.id)).all()
    )
    return [(row.account, row.action, row.subject, json.loads(row.content)) for row in rows]


def test_tasks_on_own_dialogues_are_offered_to_others_only(working: Store) -> None:
    """Control tasks, too."""
    gold.set_gold(working, "peer", GOLD)
    projects.create(working, "lea", Project(id="c", codes=("C1",), control_share=1.0, overlap=2))
    tasks.add(working, "lea", "c", [NewTask(dialogue="mine", pool="control"), NewTask(dialogue="other")])
    assert [claim(working, who, "c").dialogue for who in ("boss", "peer")] == ["other", "mine"]
    for purpose in PURPOSES:
        assert claim(working, "boss", purpose, at_once=9).dialogue == "other"
        assert leases.claim(working, "boss", purpose, at_once=9) is None
        assert claim(working, "peer", purpose, at_once=9).dialogue == "mine"


def example(agent: str) -> Example:
    dialogue = make.dialogue("made", agent=agent)
    label = Label(dialogue_id="made", turn=1, code="C1", probability=1.0, method="inject:x")
    return Example(dialogue=dialogue, labels=(label,), split="train")


def test_nobody_judges_own_dialogues(working: Store) -> None:
    """Every way to say something about them is shut, to an admin as well, and open to another one."""
    gold.set_gold(working, "peer", GOLD)
    working.write(lambda t: t.run(gold.gold.update().values(doubt="2 of 3")))
    for name in ("boss", "peer"):
        leases.claim(working, name, "label", at_once=9)
    ways: list[Callable[[str], object]] = [
        lambda who: annotations.review(working, who, "mine", f"r {who}", ["C1"], expected=None),
        lambda who: gold.decide_gold(working, who, "mine", 1, "C1", present=False, reason="x"),
        lambda who: gold.set_gold(working, who, GOLD),
        lambda who: gold.import_gold(working, who, [GOLD]),
        lambda who: gold.retire_gold(working, who, "mine"),
        lambda who: gold.import_synthetic(working, who, [example("a7")]),
    ]
    for way in ways:
        with pytest.raises(NotAllowed, match=r"E_RIGHT.*spoke in this dialogue"):
            way("boss")
        way("peer")
    answer = Annotation(id="1", dialogue_id="mine", labeler="boss", kind="expert", codes=("C1",))
    for who in ("boss", "ada"):  # by way of another admin, too
        assert import_annotations(working, who, [answer], "own") == ("an own dialogue",)
    labelers = [one.labeler for one in annotations.list_annotations(working, "ada", "mine")]
    assert labelers == ["peer"]


def test_nobody_settles_appeals_of_own_dialogues(working: Store) -> None:
    dialogues.add(working, "lea", [with_author("two", "a7", agent="a5")])
    dialogues.add_verdicts(working, "lea", [make.verdict("two", make.finding())])
    accounts.create(working, "ada", Account(id="agnes", role="labeler", agent="a5"))
    appeal = appeals.open_appeal(working, "agnes", "two", 1, "C1", "no")
    appeals.open_second_reviews(working, "lea", "review")
    answer_all(working, "rob", project="review")
    with pytest.raises(NotAllowed, match="spoke in this dialogue"):
        appeals.decide_appeal(working, "boss", appeal.id, "upheld", "why")
    assert appeals.decide_appeal(working, "peer", appeal.id, "upheld", "why").decided_by == "peer"


def held(store: Store, who: str, project: str, dialogue: str = "mine") -> Lease:
    for _ in range(9):
        lease = leases.claim(store, who, project, at_once=9)
        if lease is None or lease.dialogue == dialogue:
            break
    assert lease is not None
    return lease


READS: dict[str, Callable[[Store, str], object]] = {
    "the verdict": lambda s, who: dialogues.read(s, who, "mine"),
    "a task of it": lambda s, who: task_view.view_task(s, who, 3),
    "answers": lambda s, who: annotations.list_annotations(s, who, "mine"),
    "labels": lambda s, who: dialogues.list_labels(s, who, "mine"),
    "all gold": lambda s, who: gold.list_gold(s, who),
    "all answers": lambda s, who: list(stored_annotations.iterate_counted(s, who)),
    "answers of a project": lambda s, who: list(stored_annotations.iterate_counted(s, who, "label")),
    "appeals": lambda s, who: appeals.list_open(s, who),
}


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("working", ["agent"], indirect=True)
@pytest.mark.parametrize("first", [True, False], ids=["read, then claimed", "claimed, then read"])
@pytest.mark.parametrize("what", READS)
def test_who_reads_what_others_say_is_not_blind(working: Store, what: str, first: bool) -> None:
    """Whatever the project says; and others stay blind."""
    accounts.create(working, "ada", Account(id="agnes", role="labeler", agent="a7"))
    appeals.open_appeal(working, "agnes", "mine", 1, "C1", "no")
    gold.set_gold(working, "peer", GOLD)
    label = Label(dialogue_id="mine", turn=1, code="C1", probability=0.5, method="m")
    dialogues.write_labels(working, "lea", [label])
    ben = held(working, "ben", "label")
    annotations.submit(working, "ben", ben.task, ben.token, "ben")
    early = None if first else held(working, "eve", "calibration")
    READS[what](working, "eve")
    lease = early or held(working, "eve", "calibration")
    assert annotations.submit(working, "eve", lease.task, lease.token, "eve").seen_verdict
    other = held(working, "emil", "calibration")
    assert not annotations.submit(working, "emil", other.task, other.token, "emil").seen_verdict
    elsewhere = held(working, "eve", "calibration", "other")
    assert not annotations.submit(working, "eve", elsewhere.task, elsewhere.token, "e").seen_verdict
    READS[what](working, "emil")
    last = int(annotations.list_own(working, "emil", 1)[0].id)
    assert annotations.correct(working, "emil", last, "corrected").seen_verdict, "a correction is no blinder"


@pytest.mark.parametrize("working", ["agent"], indirect=True)
def test_what_is_not_there_yet_blinds_nobody(working: Store) -> None:
    """All answers were read before there was one of this dialogue; own answers are no secret."""
    for who in ("eve", "emil"):
        list(stored_annotations.iterate_counted(working, who))
    for who in ("ben", "eve"):
        lease = held(working, who, "label")
        assert not annotations.submit(working, who, lease.task, lease.token, who).seen_verdict
    annotations.list_annotations(working, "emil", "other")
    lease = held(working, "emil", "label")
    assert not annotations.submit(working, "emil", lease.task, lease.token, "emil").seen_verdict
    record_export(working, "lea", "label", masked=True)
    lease = held(working, "lea", "calibration")
    saved = annotations.submit(working, "lea", lease.task, lease.token, "lea")
    assert saved.seen_verdict, "an export shows all"


@pytest.mark.parametrize("working", ["agent"], indirect=True)
def test_a_verdict_shown_with_one_task_is_seen_in_the_next(working: Store) -> None:
    projects.create(working, "lea", Project(id="shown", codes=("C1",), purpose="review", prelabelled=True))
    tasks.add(working, "lea", "shown", [NewTask(dialogue="mine")])
    lease = held(working, "eve", "shown")
    leases.skip(working, "eve", lease.task, lease.token, "not mine")
    blind = held(working, "eve", "review")
    assert annotations.submit(working, "eve", blind.task, blind.token, "k").seen_verdict


def test_an_answer_over_anothers_is_not_blind(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d")])
    one = annotations.review(store, "rob", "d", "rob", ["C1"], expected=None)
    assert not one.seen_verdict, "there was nothing to see"
    with pytest.raises(Conflict):
        annotations.review(store, "ria", "d", "ria", ["C1"], expected=None)
    assert annotations.review(store, "ria", "d", "ria", ["C1"], expected=int(one.id)).seen_verdict


@pytest.mark.parametrize("working", ["agent"], indirect=True)
def test_reads_are_audited_once_and_cost_no_write_after(working: Store) -> None:
    statements: list[str] = []
    event.listen(
        working.engine,
        "before_cursor_execute",
        lambda *arguments: statements.append(arguments[2].split()[0].upper()),
    )

    def open_task(who: str) -> None:
        dialogues.read(working, who, "mine")
        task_view.view_task(working, who, 1)
        list(stored_annotations.iterate_counted(working, who))

    open_task("rob")
    assert entries(working, "read", "read.all") == [
        ("rob", "read", "mine", {"kinds": ["verdict"]}),
        ("rob", "read.all", "store", {"kind": "answers"}),
    ]
    statements.clear()
    open_task("rob")
    assert set(statements) <= {"SELECT", "BEGIN"}, "nothing is written, so no lock is waited for"
    assert len(entries(working, "read", "read.all")) == 2
    dialogues.add(working, "lea", [make.dialogue("bare")])
    dialogues.read(working, "rob", "bare")
    assert entries(working, "read")[-1] == ("rob", "read", "bare", {"kinds": ["dialogue"]})


@pytest.mark.parametrize("working", ["agent"], indirect=True)
def test_a_read_that_cannot_be_kept_tells_nothing(working: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise DialintError("E_STORE", "the disk is full")

    monkeypatch.setattr(Store, "write", broken)
    with pytest.raises(DialintError, match="disk is full"):
        dialogues.read(working, "rob", "mine")


def test_what_is_closed_takes_no_answers_and_no_corrections(store: Store, time_: Any) -> None:
    """Undo, replacement, an answer under way, an import; what was sent before is told again."""
    make_project(store, 3, overlap=3)
    lease, late = claim(store, "ann"), claim(store, "ben")
    first = annotations.submit(store, "ann", lease.task, lease.token, "k")
    projects.set_state(store, "lea", "p", "closed")
    came = Annotation(id="1", dialogue_id="d1", labeler="ada", kind="expert", codes=("C1",))
    ways: list[Callable[[], object]] = [
        lambda: annotations.correct(store, "ann", int(first.id), "c", [make.finding()]),
        lambda: leases.renew(store, "ben", late.task, late.token),
        lambda: annotations.submit(store, "ben", late.task, late.token, "late"),
        lambda: import_annotations(store, "ada", [came], "x", "p"),
    ]
    for way in ways:
        with pytest.raises(StoreRefused, match=r"E_PROJECT.*closed"):
            way()
    assert annotations.submit(store, "ann", lease.task, lease.token, "k") == first
    assert len(list(stored_annotations.iterate_counted(store, "rob"))) == 1
    projects.set_state(store, "lea", "p", "open")
    for way in ways:
        way()


def test_a_decision_in_a_closed_project_is_refused(store: Store) -> None:
    make_project(store, 1, turn=1, purpose="adjudication")
    lease = claim(store, "eve", "p")
    projects.set_state(store, "lea", "p", "closed")
    with pytest.raises(StoreRefused, match="closed"):
        expert_cases.decide_case(store, "eve", lease.task, lease.token, "k", [], "why")
    assert gold.list_gold(store, "eve") == ()


def test_seconds_are_a_number_from_0(store: Store) -> None:
    make_project(store, ["d", "e"])
    first = int(answer(store, "ann", "p", "first", seconds=0.0).id)
    lease = claim(store, "ann")
    for seconds in (math.nan, math.inf, -math.inf, -1.0):
        for act in (
            lambda own: annotations.submit(store, "ann", lease.task, lease.token, "k", [], own),
            lambda own: annotations.correct(store, "ann", first, "l", [], own),
            lambda own: annotations.review(store, "rob", "d", "r", ["C1"], expected=None, seconds=own),
        ):
            with pytest.raises(StoreRefused, match="E_SECONDS"):
                act(seconds)


def test_in_the_name_of_others_only_an_admin_imports_and_it_is_said(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d")])

    def by(labeler: str, kind: str = "crowd") -> Annotation:
        return Annotation(id=labeler, dialogue_id="d", labeler=labeler, kind=kind, codes=("C1",))  # type: ignore[arg-type]

    for one in (by("ann"), by("stranger"), by("ann", "model")):
        with pytest.raises(NotAllowed, match="E_RIGHT"):
            import_annotations(store, "lea", [by("lea"), one], "x")
    assert annotations.list_annotations(store, "ada", "d") == ()
    assert import_annotations(store, "lea", [by("lea"), by("embedded-1", "model")], "x") == ("new", "new")
    assert import_annotations(store, "ada", [by("ann"), by("stranger")], "y") == ("new", "new")
    assert import_annotations(store, "ada", [by("ann")], "y") == ("known",), "and it is not said twice"
    imports = [(who, content) for who, _, _, content in entries(store, "annotations.import")]
    assert imports == [
        ("lea", {"source": "x", "project": None, "n_others": 0, "in_the_name_of": []}),
        ("ada", {"source": "y", "project": None, "n_others": 2, "in_the_name_of": ["ann", "stranger"]}),
    ]
