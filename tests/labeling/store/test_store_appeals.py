"""Appeals with a blind second review, on both databases: order, independence, and what becomes gold."""

from typing import Any

import make
import pytest
from answering import answer, claim, make_project

from dialint.detector.errors import ConfigError
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    dialogues,
    gold,
    leases,
    projects,
    task_view,
    tasks,
)
from dialint.labeling.store.appeals import (
    count_withheld,
    decide_appeal,
    list_own_dialogues,
    list_stuck,
    load_dispute,
    open_second_reviews,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, NotAllowed, Project, StoreRefused


@pytest.fixture
def appealed(store: Store) -> Store:
    """Agent a1 appeals C1 in d1; rob has reviewed d1 before."""
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    projects.create(store, "lea", Project(id="s", codes=("C1", "T1"), purpose="review"))
    dialogues.add(store, "lea", [make.dialogue("d1")])
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding(probability=0.87))])
    annotations.review(store, "rob", "d1", "rob", ["C1"], [make.finding()], expected=None)
    appeals.open_appeal(store, "agnes", "d1", 1, "C1", "I had answered that before")
    return store


def second(store: Store, *findings: Any) -> None:
    """Ria's blind answer."""
    open_second_reviews(store, "lea", "s")
    lease = claim(store, "ria", "s")
    seen = task_view.view_task(store, "ria", lease.task)
    assert (seen.verdict, seen.answers, seen.turn) == (None, (), 1)
    annotations.submit(store, "ria", lease.task, lease.token, "ria", findings)


def gold_present(store: Store) -> dict[str, bool]:
    return {one.code: one.present for one in gold.list_gold(store, "eve")}


def test_an_agent_sees_own_flagged_dialogues_page_by_page(appealed: Store) -> None:
    names = [f"e{n}" for n in range(5)]
    dialogues.add(appealed, "lea", [make.dialogue(name) for name in (*names, "clean")])
    dialogues.add_verdicts(appealed, "lea", [make.verdict(name, make.finding()) for name in names])
    dialogues.add_verdicts(appealed, "lea", [make.verdict("clean")])
    pages = [list_own_dialogues(appealed, "agnes", n=2)]
    while pages[-1]:
        pages.append(list_own_dialogues(appealed, "agnes", pages[-1][-1], n=2))
    ids = [[one.dialogue for one in page] for page in pages]
    assert ids == [["e4", "e3"], ["e2", "e1"], ["e0", "d1"], []]
    assert {one.n_findings for page in pages for one in page} == {1}
    with pytest.raises(NotAllowed, match="not known as an agent"):
        list_own_dialogues(appealed, "rob")


def test_a_second_review_comes_first_and_is_blind(appealed: Store) -> None:
    with pytest.raises(StoreRefused, match="second review comes first"):
        decide_appeal(appealed, "eve", 1, "overturned", "why")
    assert open_second_reviews(appealed, "lea", "s") == 1
    assert open_second_reviews(appealed, "lea", "s") == 0
    assert leases.claim(appealed, "rob", "s") is None, "he has reviewed it before"
    second(appealed)
    dispute = load_dispute(appealed, "eve", 1)
    assert (dispute.appeal.statement, dispute.dialogue.id) == ("I had answered that before", "d1")
    assert [(one.labeler, one.kind, one.seen_verdict) for one in dispute.second] == [
        ("ria", "reviewer", False)
    ]
    assert [one.labeler for one in dispute.answers] == ["rob", "ria"]
    first = decide_appeal(appealed, "eve", 1, "overturned", "why")
    assert decide_appeal(appealed, "eve", 1, "overturned", "why") == first
    assert (first.state, first.decided_by) == ("overturned", "eve")
    assert [(one.present, one.source) for one in gold.list_gold(appealed, "eve")] == [(False, "appeal")]
    with pytest.raises(StoreRefused, match="overturned already"):
        decide_appeal(appealed, "eve", 1, "upheld", "why")


def test_who_has_a_part_gets_no_second_review_however_it_is_claimed(appealed: Store) -> None:
    """Accounts that answered for it, appealed, spoke in it, or have read answers of others."""
    accounts.create(appealed, "ada", Account(id="author", role="reviewer", agent="a2"))
    accounts.create(appealed, "ada", Account(id="agent", role="reviewer", agent="a1"))
    two = make.dialogue("d2")
    turns = tuple(turn.model_copy(update={"author": "a2"}) for turn in two.turns)
    dialogues.add(appealed, "lea", [two.model_copy(update={"turns": turns})])
    dialogues.add_verdicts(appealed, "lea", [make.verdict("d2", make.finding())])
    appeals.open_appeal(appealed, "agnes", "d2", 1, "C1", "no")
    annotations.review(appealed, "rob", "d2", "rob 2", ["C1"], [], expected=None)
    open_second_reviews(appealed, "lea", "s")
    appeals.list_open(appealed, "emil")
    for who, n in (("rob", 2), ("agent", 2), ("emil", 2), ("author", 1)):
        assert count_withheld(appealed, who, "s") == n, who
        for at_once in (9, 1):
            lease = leases.claim(appealed, who, "s", at_once=at_once)
            assert (lease.dialogue if lease else None) == ("d1" if who == "author" else None), who
    assert claim(appealed, "ria", "s").dialogue == "d2", "d1 is in the author's hands"
    assert count_withheld(appealed, "ria", "s") == 0


def test_a_second_review_that_was_not_blind_is_asked_for_again(appealed: Store) -> None:
    open_second_reviews(appealed, "lea", "s")
    lease = claim(appealed, "ria", "s")
    dialogues.read(appealed, "ria", "d1")
    saved = annotations.submit(appealed, "ria", lease.task, lease.token, "k")
    assert saved.seen_verdict
    with pytest.raises(StoreRefused, match="second review comes first"):
        decide_appeal(appealed, "eve", 1, "upheld", "why")
    answer(appealed, "emil", "s", "somebody else is asked")
    assert decide_appeal(appealed, "eve", 1, "upheld", "why").state == "upheld"


def test_a_second_review_stays_good_whatever_its_author_reads_or_writes_later(appealed: Store) -> None:
    second(appealed)
    dialogues.read(appealed, "ria", "d1")
    annotations.review(appealed, "ria", "d1", "later", ["C1"], [], expected=1)
    assert decide_appeal(appealed, "eve", 1, "upheld", "why").state == "upheld"


def test_an_appeal_never_gets_stuck_unsaid(appealed: Store) -> None:
    """A task withdrawn, or done by somebody with a part in the old days, is opened again; where nobody is
    left, the lead is told."""
    open_second_reviews(appealed, "lea", "s")
    assert list_stuck(appealed, "lea", "s") == ()
    tasks.set_wanted(appealed, "lea", 1, 0)
    assert open_second_reviews(appealed, "lea", "s") == 0
    assert tasks.count_tasks(appealed, "lea", "s")["main"]["open"] == 1
    for who in ("ria", "eve", "emil", "lea", "ada"):
        assert list_stuck(appealed, "lea", "s") == (), who
        dialogues.read(appealed, who, "d1")
    assert [one.id for one in list_stuck(appealed, "lea", "s")] == [1]
    accounts.create(appealed, "ada", Account(id="new", role="reviewer"))
    assert list_stuck(appealed, "lea", "s") == ()
    answer(appealed, "new", "s", "n")
    assert list_stuck(appealed, "lea", "s") == ()
    assert open_second_reviews(appealed, "lea", "s") == 0
    assert tasks.count_tasks(appealed, "lea", "s")["main"]["done"] == 1
    assert decide_appeal(appealed, "eve", 1, "upheld", "why").state == "upheld"


def test_who_labelled_the_dialogue_before_a_promotion_does_not_decide(appealed: Store) -> None:
    """Before: only answers of reviewers and experts counted as a part in it."""
    make_project(appealed, ["d1"], id="l")
    answer(appealed, "ann", "l", "ann", [make.finding()])
    accounts.change(appealed, "ada", "ann", "expert", None)
    second(appealed)
    with pytest.raises(NotAllowed, match="part"):
        decide_appeal(appealed, "ann", 1, "upheld", "why")


def test_who_reviewed_does_not_decide(appealed: Store) -> None:
    second(appealed)
    annotations.review(appealed, "emil", "d1", "emil", ["C1"], [], expected=1)
    with pytest.raises(NotAllowed, match="part"):
        decide_appeal(appealed, "emil", 1, "upheld", "why")
    assert gold_present(appealed) == {}
    assert decide_appeal(appealed, "eve", 1, "upheld", "why").state == "upheld"
    assert gold_present(appealed) == {"C1": True}


@pytest.mark.parametrize(("code", "expected"), [("T1", {"C1": False, "T1": True}), ("C1", {"C1": True})])
def test_an_amended_finding_is_kept(appealed: Store, code: str, expected: dict[str, bool]) -> None:
    second(appealed, make.finding())
    right = make.finding(code, end=4, quote="Anyt")
    outside = right.model_copy(update={"end": 99})
    for bad, why in (
        (None, "E_APPEAL"),
        (right.model_copy(update={"turn": 0}), "E_APPEAL"),
        (outside, "E_FINDING"),
    ):
        with pytest.raises(StoreRefused, match=why):
            decide_appeal(appealed, "eve", 1, "amended", "why", bad)
    assert gold_present(appealed) == {}
    assert load_dispute(appealed, "eve", 1).appeal.state == "open", "nothing is settled in part"
    with pytest.raises(StoreRefused, match="E_APPEAL"):
        decide_appeal(appealed, "eve", 1, "upheld", "why", right)
    for _ in range(2):
        assert decide_appeal(appealed, "eve", 1, "amended", "why", right).state == "amended"
    assert gold_present(appealed) == expected
    saved = annotations.list_annotations(appealed, "rob", "d1")[-1]
    assert (saved.labeler, saved.kind, saved.findings, saved.turn) == ("eve", "expert", (right,), 1)
    assert len(annotations.list_annotations(appealed, "rob", "d1")) == 3


def test_the_project_must_be_blind_and_ask_of_what_is_disputed(appealed: Store) -> None:
    projects.create(appealed, "lea", Project(id="r", codes=("C1",), purpose="review", prelabelled=True))
    projects.create(appealed, "lea", Project(id="t", codes=("T1",), purpose="review"))
    with pytest.raises(ConfigError, match="blind"):
        open_second_reviews(appealed, "lea", "r")
    with pytest.raises(ConfigError, match="C1"):
        open_second_reviews(appealed, "lea", "t")
    with pytest.raises(StoreRefused, match="no such appeal"):
        load_dispute(appealed, "eve", 7)


def test_decided_appeals_page_by_page_and_how_often_they_succeed(appealed: Store) -> None:
    """Three dialogues more; by hand: one of embedded-1 overturned, one upheld, two open, of embedded-2."""
    dialogues.add(appealed, "lea", [make.dialogue(f"e{n}") for n in range(3)])
    for n in range(3):
        old = make.verdict(f"e{n}", make.finding())
        dialogues.add_verdicts(appealed, "lea", [old])
        dialogues.add_verdicts(appealed, "lea", [make.verdict(f"e{n}", make.finding(), release="embedded-2")])
        appeals.open_appeal(appealed, "agnes", f"e{n}", 1, "C1", "no")
    second(appealed)
    decide_appeal(appealed, "eve", 1, "overturned", "why")
    answer(appealed, "ria", "s", "ria 2", [make.finding()])
    decide_appeal(appealed, "eve", 2, "upheld", "it is there")
    assert [one.id for one in appeals.list_decided(appealed, "eve")] == [2, 1]
    assert [one.id for one in appeals.list_decided(appealed, "eve", n=1)] == [2]
    assert [one.id for one in appeals.list_decided(appealed, "eve", before=2, n=1)] == [1]
    assert [tuple(one) for one in appeals.count_outcomes(appealed, "eve")] == [
        ("embedded-1", "C1", "overturned", 1),
        ("embedded-2", "C1", "open", 2),
        ("embedded-2", "C1", "upheld", 1),
    ]
