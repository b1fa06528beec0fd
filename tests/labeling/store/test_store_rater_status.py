"""Standing by the rules, the exam, and a ban whose work others do again."""

from collections.abc import Sequence
from typing import Any

import make
import pytest
from answering import answer, claim, make_project

from dialint.labeling.annotation import Annotation
from dialint.labeling.store import (
    accounts,
    annotations,
    dialogues,
    gold,
    leases,
    projects,
    rater_status,
    stored_annotations,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.rater_status import Accuracy, GoldAnswer, grade_answer
from dialint.labeling.store.records import Account, Gold, NewTask, NotAllowed, Project, StoreRefused
from dialint.labeling.store.stored_annotations import import_annotations

RULES = rater_status.RaterRules(window=8, least=4, exam_least=4, exam_pass=0.45, exam_most=6, fast_s=2.0)


def test_who_never_finds_anything_knows_nothing() -> None:
    """5 errors missed, 95 clean turns passed: 95 % are right, yet it is 0.5 as for any coin."""
    lazy = Accuracy(hits=0, n_present=5, passes=95, n_absent=95)
    assert lazy.balanced == 0.5
    assert lazy.least_balanced < 0.5
    assert Accuracy(hits=3, n_present=4).balanced == 0.75
    assert Accuracy(hits=3, n_present=4).least_balanced == 0.0
    assert Accuracy().balanced is None


class Row:
    """A row of ``annotations``, as far as it is graded."""

    id, labeler, dialogue, seconds = 1, "ann", "d", None

    def __init__(self, codes: str, findings: str, turn: int | None = None) -> None:
        self.codes, self.findings, self.turn = codes, findings, turn


@pytest.mark.parametrize(("row", "expected"), [
    (Row('["C1"]', '[{"turn": 1, "code": "C1"}]'), {(1, "C1", True, True), (3, "C1", False, False)}),
    (Row('["C1"]', '[{"turn": 3, "code": "C1"}]'), {(1, "C1", True, False), (3, "C1", False, True)}),
    (Row('["C1"]', "[]", turn=3), {(3, "C1", False, False)}),
    (Row('["T1"]', "[]"), set()),
    (Row('["D1"]', '[{"turn": 5, "code": "D1"}]'), {(3, "D1", True, True)}),
    (Row('["D1"]', "[]"), {(3, "D1", True, False)}),
])  # fmt: skip
def test_grades_by_hand(row: Any, expected: set[Any]) -> None:
    """C1 is in turn 1 and not in turn 3; D1, of the whole dialogue, is there, said of turn 3."""
    gold_answers = ((1, "C1", True), (3, "C1", False), (1, "D1", False), (3, "D1", True))
    grades = grade_answer(row, [GoldAnswer(*each) for each in gold_answers], {"D1"}).grades
    assert {tuple(grade) for grade in grades} == expected


def setting(store: Store, n: int = 12) -> None:
    """`p`: tasks, control tasks g0... and an exam e0..., errors in the even ones."""
    rater_status.set_rules(store, "lea", RULES)
    projects.create(store, "lea", Project(id="p", codes=("C1",), control_share=1.0))
    kinds = [(kind, f"{kind}{i}", i) for kind in "dge" for i in range(n)]
    dialogues.add(store, "lea", [make.dialogue(name) for _, name, _ in kinds])
    gold.import_gold(store, "eve", [
        Gold(dialogue=name, turn=1, code="C1", present=i % 2 == 0, source="expert")
        for kind, name, i in kinds if kind != "d"
    ])  # fmt: skip
    pools = {"d": "main", "g": "control", "e": "exam"}
    tasks.add(store, "lea", "p", [NewTask(dialogue=name, pool=pools[kind]) for kind, name, _ in kinds])  # type: ignore[arg-type]


def work(
    store: Store, actor: str, right: Sequence[bool], *, pool: Any = "main", seconds: float = 9.0
) -> None:
    """Answer one task after the other, rightly or wrongly by gold."""
    for good in right:
        lease = claim(store, actor, "p", pool=pool)
        present = int(lease.dialogue[1:]) % 2 == 0
        findings = [make.finding()] if present == good else []
        key = f"{actor}-{lease.task}-{lease.token}"
        annotations.submit(store, actor, lease.task, lease.token, key, findings, seconds)


def actions_of(store: Store) -> dict[str, tuple[str, str]]:
    return {one.account: (one.does, one.why) for one in rater_status.evaluate_status(store, "lea")}


@pytest.mark.parametrize(("right", "does", "why"), [
    ([True] * 3, "keep", "3 of at least 4 graded answers"),
    ([True] * 4, "keep", "accuracy 1.00 in 4 graded answers"),
    ([True, False, False, True], "retrain", "accuracy 0.50 in 4 graded answers: below 0.6"),
    ([False, False, True, False], "suspend", "accuracy 0.25 in 4 graded answers: below 0.4"),
    ([False] * 4 + [True] * 8, "keep", "accuracy 1.00 in 8 graded answers"),
])  # fmt: skip
def test_the_window_by_hand(store: Store, right: list[bool], does: str, why: str) -> None:
    """Odd places ask for an error, even ones for none: one of two each is 0.5; the last: beyond the window."""
    setting(store)
    work(store, "ann", right)
    assert actions_of(store)["ann"] == (does, why)
    done = rater_status.apply_rules(store, "lea")
    assert [one.account for one in done] == ([] if does == "keep" else ["ann"])
    status = {"keep": "active", "retrain": "training", "suspend": "suspended"}[does]
    assert {one.id: one.status for one in accounts.list_accounts(store, "lea")}["ann"] == status
    assert rater_status.apply_rules(store, "lea") == ()
    verify(store)


def test_too_fast_is_suspended_whatever_the_answers(store: Store) -> None:
    setting(store)
    work(store, "ann", [True] * 2, seconds=2.0)
    work(store, "ann", [True] * 2, seconds=1.9)
    assert actions_of(store)["ann"] == ("suspend", "50 % of the last 4 answers took less than 2 s")


def test_a_measure_tells_its_figures(store: Store) -> None:
    setting(store)
    work(store, "ann", [True, True, False, True])
    people = {one.account: one for one in rater_status.evaluate_status(store, "lea")}
    assert people.keys() == {"ann", "ben", "cem", "dot"}
    ann = people["ann"]
    assert (ann.accuracy, ann.fast, ann.n_timed) == (0.75, 0.0, 4)
    assert (ann.hits, ann.n_present, ann.passes, ann.n_absent) == (1, 2, 2, 2)


def test_correcting_gold_corrects_the_evaluation(store: Store) -> None:
    setting(store)
    work(store, "ann", [False, True, True, True])
    assert actions_of(store)["ann"][1].startswith("accuracy 0.75")
    gold.set_gold(store, "eve", Gold(dialogue="g0", turn=1, code="C1", present=False, source="expert"))
    assert actions_of(store)["ann"][1].startswith("accuracy 1.00")


def test_the_way_in_goes_through_the_exam(store: Store) -> None:
    """All of 2 and 2: the Wilson limit of 2 of 2 is 1 / (1 + 3.8415 / 2) = 0.342, too little for 0.45; with
    3 of 3 each it is 0.438, with 4 of 4 it would be 0.51."""
    setting(store)
    rater_status.set_rules(store, "lea", RULES.model_copy(update={"exam_most": 12}))
    accounts.create(store, "ada", Account(id="new", role="labeler", status="training"))
    with pytest.raises(NotAllowed, match="E_POOL"):
        leases.claim(store, "new", "p", pool="main")
    lease = claim(store, "new", "p")
    assert (lease.pool, lease.dialogue[0]) == ("exam", "e"), "in training: the pool of the exam"
    leases.release(store, "new", lease.task, lease.token)
    work(store, "new", [True] * 3, pool="exam")
    assert actions_of(store)["new"] == ("keep", "3 of at least 4 exam answers")
    work(store, "new", [True] * 3, pool="exam")
    assert actions_of(store)["new"] == ("keep", "accuracy at least 0.44 in 6 exam answers: 0.45 passes")
    work(store, "new", [True] * 2, pool="exam")
    assert actions_of(store)["new"] == ("admit", "accuracy at least 0.51 in 8 exam answers: 0.45 passes")
    rater_status.apply_rules(store, "lea")
    assert leases.claim(store, "new", "p") is not None
    assert actions_of(store)["new"] == ("keep", "0 of at least 4 graded answers"), "a new beginning"
    assert list(stored_annotations.iterate_counted(store, "lea")) == [], "an exam is no truth"


def test_who_does_not_pass_has_no_endless_tries(store: Store) -> None:
    setting(store)
    accounts.create(store, "ada", Account(id="new", role="labeler", status="training"))
    work(store, "new", [False] * 6, pool="exam")
    (done,) = rater_status.apply_rules(store, "lea")
    assert (done.account, done.does) == ("new", "suspend")
    assert "no more tries" in done.why


def test_everybody_takes_the_same_exam(store: Store) -> None:
    setting(store, n=4)
    for name in ("n1", "n2", "n3"):
        accounts.create(store, "ada", Account(id=name, role="labeler", status="training"))
        work(store, name, [True] * 4, pool="exam")
        assert leases.claim(store, name, "p", pool="exam") is None


def test_after_retraining_the_old_answers_do_not_count(store: Store) -> None:
    setting(store)
    work(store, "ann", [False, True, True, False])
    rater_status.apply_rules(store, "lea")
    accounts.set_status(store, "lea", "ann", "active")
    assert actions_of(store)["ann"] == ("keep", "0 of at least 4 graded answers")


def banned(store: Store, n: int) -> None:
    make_project(store, n, overlap=2)
    for actor in ("ann", "ben"):
        work(store, actor, [True] * n)


def test_a_ban_opens_tasks_again_and_keeps_the_annotations(store: Store) -> None:
    banned(store, 5)
    held = leases.claim(store, "cem", "p")
    assert held is None, "all are answered twice"
    assert tasks.count_tasks(store, "rob", "p")["main"]["done"] == 5
    with pytest.raises(StoreRefused, match="reason"):
        accounts.ban(store, "lea", "ann", " ")
    assert accounts.ban(store, "lea", "ann", "copies from ben") == 5
    assert tasks.count_tasks(store, "rob", "p")["main"]["open"] == 5
    assert [one.labeler for one in annotations.list_annotations(store, "rob", "d0")] == ["ann", "ben"]
    assert {one.labeler for one in stored_annotations.iterate_counted(store, "lea", "p")} == {"ben"}
    assert accounts.ban(store, "lea", "ann", "again") == 0
    verify(store)
    work(store, "cem", [True] * 5)
    assert leases.claim(store, "ben", "p") is None
    assert tasks.count_tasks(store, "rob", "p")["main"]["done"] == 5
    accounts.set_status(store, "lea", "ann", "active")
    assert leases.claim(store, "ann", "p") is None
    verify(store)


def test_a_ban_cut_off_halfway_goes_on(store: Store, monkeypatch: Any) -> None:
    """Tasks are opened in pieces."""
    monkeypatch.setattr(accounts, "BATCH_SIZE", 2)
    banned(store, 5)
    closed = Project(id="closed", codes=("C1",))
    projects.create(store, "lea", closed)
    tasks.add(store, "lea", "closed", [NewTask(dialogue="d0")])
    answer(store, "ann", "closed", "closed")
    projects.set_state(store, "lea", "closed", "closed")
    accounts._ban(store, "lea", "ann", "copies", 0)  # killed here, after the first piece
    assert tasks.count_tasks(store, "rob", "p")["main"]["open"] == 2
    assert accounts.ban(store, "lea", "ann", "copies") == 3
    assert tasks.count_tasks(store, "rob", "p")["main"]["open"] == 5
    assert tasks.count_tasks(store, "rob", "closed")["main"]["done"] == 1, "no more work there"
    verify(store)


def test_what_is_counted(store: Store, monkeypatch: Any) -> None:
    """Corrections replace, reviews of one person too, imports count, in pages as in one piece."""
    banned(store, 3)
    dialogues.add(store, "lea", [make.dialogue("x")])
    first = annotations.list_own(store, "ben", 1)[0]
    corrected = annotations.correct(store, "ben", int(first.id), "corrected", [make.finding(probability=0.5)])
    one = annotations.review(store, "rob", "x", "r1", ["C1"], expected=None)
    two = annotations.review(store, "rob", "x", "r2", ["C1"], [make.finding()], expected=int(one.id))
    other = annotations.review(store, "rob", "x", "r3", ["C1"], turn=1, expected=None)
    came = Annotation(id="7", dialogue_id="x", labeler="stranger", kind="crowd", codes=("C1",))
    import_annotations(store, "ada", [came], "toloka")
    counted = list(stored_annotations.iterate_counted(store, "rob"))
    assert len(counted) == 6 + 2 + 1
    assert {first.id, one.id}.isdisjoint(each.id for each in counted)
    assert {two, other} <= set(counted)
    assert {each.id: each.findings for each in counted}[corrected.id] == corrected.findings
    assert [int(each.id) for each in counted] == sorted(int(each.id) for each in counted)
    people = [each.labeler for each in stored_annotations.iterate_counted(store, "rob", "p")]
    assert people == ["ann"] * 3 + ["ben"] * 3
    monkeypatch.setattr(stored_annotations, "PAGE", 2)
    assert list(stored_annotations.iterate_counted(store, "rob")) == counted


def test_counting_is_as_of_its_beginning(store: Store, monkeypatch: Any) -> None:
    banned(store, 2)
    monkeypatch.setattr(stored_annotations, "PAGE", 1)
    pages = stored_annotations.iterate_counted(store, "rob", "p")
    counted = [next(pages)]
    last = annotations.list_own(store, "ben", 1)[0]
    annotations.correct(store, "ben", int(last.id), "late", [])
    counted += pages
    assert [one.id for one in counted] == ["1", "2", "3", "4"]
