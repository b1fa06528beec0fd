"""Every operation checks the acting account: the table of rights, accounts, dialogues, gold, appeals."""

from collections.abc import Callable
from typing import Any

import pytest

from detector.errors import InputRefused
from detector.records import Dialogue, Example, Label, Turn
from labeling.store import accounts, annotations, appeals, dialogues, draws, labels, leases, projects, tasks
from labeling.store.crowd import control, doubt, exclusion, rules, standing
from labeling.store.database.refusals import MustChoose, NotAllowed, StoreRefused
from labeling.store.database.transactions import Store, writing
from labeling.store.records import Account, Gold, NewTask, Project
from labeling.store.rights import ROLES

ACTORS = {"labeler": "ann", "reviewer": "rob", "expert": "eve", "lead": "lea", "admin": "ada"}
TURNS = (Turn(index=0, role="agent", text="Anything else?"),)
EXAMPLE = Example(
    dialogue=Dialogue(id="made", turns=TURNS), split="train",
    labels=(Label(dialogue_id="made", turn=0, code="C1", probability=1.0, method="inject:x"),),
)  # fmt: skip
GOLD = Gold(dialogue="d1", turn=1, code="C1", present=True, source="expert")

OPERATIONS: dict[str, tuple[str, Callable[[Store, str, Any], object]]] = {
    "claim": ("labeler", lambda s, a, m: leases.claim(s, a, "p")),
    "list projects": ("labeler", lambda s, a, m: projects.listed(s, a)),
    "see a dialogue": ("reviewer", lambda s, a, m: dialogues.read(s, a, "d1")),
    "see one's last answer": ("labeler", lambda s, a, m: annotations.last_in(s, a, "p")),
    "see a task": ("reviewer", lambda s, a, m: tasks.view(s, a, 1)),
    "see answers": ("reviewer", lambda s, a, m: annotations.of_dialogue(s, a, "d1")),
    "see counts": ("reviewer", lambda s, a, m: tasks.queue_counts(s, a, "p")),
    "see labels": ("reviewer", lambda s, a, m: labels.of_dialogue(s, a, "d1")),
    "review": ("reviewer", lambda s, a, m: annotations.review(s, a, "d1", "k", ["C1"], expected=None)),
    "see gold": ("expert", lambda s, a, m: labels.all_gold(s, a)),
    "set gold": ("expert", lambda s, a, m: labels.set_gold(s, a, GOLD)),
    "see appeals": ("expert", lambda s, a, m: appeals.waiting(s, a)),
    "add dialogues": ("lead", lambda s, a, m: dialogues.add(s, a, [m.dialogue("new")])),
    "add verdicts": ("lead", lambda s, a, m: dialogues.add_verdicts(s, a, [m.verdict("d1")])),
    "make a project": ("lead", lambda s, a, m: projects.create(s, a, Project(id="q", codes=("C1",)))),
    "close a project": ("lead", lambda s, a, m: projects.set_state(s, a, "p", "closed")),
    "add tasks": ("lead", lambda s, a, m: tasks.add(s, a, "p", [NewTask(dialogue="d1", turn=1)])),
    "want more": ("lead", lambda s, a, m: tasks.want(s, a, 1, 3)),
    "draw": ("lead", lambda s, a, m: draws.draw(s, a, draws.DrawConfig("p", n=1))),
    "put labels": ("lead", lambda s, a, m: labels.put(s, a, [])),
    "retire gold": ("lead", lambda s, a, m: labels.retire_gold(s, a, "d1")),
    "bring controls in": ("lead", lambda s, a, m: control.bring_in(s, a, [EXAMPLE])),
    "see doubts": ("expert", lambda s, a, m: doubt.waiting(s, a)),
    "see what counts": ("reviewer", lambda s, a, m: list(annotations.counted(s, a))),
    "see standings": ("lead", lambda s, a, m: standing.review(s, a)),
    "apply the rules": ("lead", lambda s, a, m: standing.apply(s, a)),
    "see the rules": ("lead", lambda s, a, m: rules.current(s, a)),
    "replace the rules": ("lead", lambda s, a, m: rules.replace(s, a, rules.Rules())),
    "ban": ("lead", lambda s, a, m: exclusion.ban(s, a, "ben", "copies")),
    "ban a reviewer": ("admin", lambda s, a, m: exclusion.ban(s, a, "ria", "copies")),
    "suspend": ("lead", lambda s, a, m: accounts.set_status(s, a, "ben", "suspended")),
    "list accounts": ("lead", lambda s, a, m: accounts.listed(s, a)),
    "suspend a reviewer": ("admin", lambda s, a, m: accounts.set_status(s, a, "ria", "suspended")),
    "make an account": ("admin", lambda s, a, m: accounts.create(s, a, Account(id="x", role="admin"))),
    "set a password": ("admin", lambda s, a, m: accounts.set_password(s, a, "ben", "twelve letters")),
}


@pytest.fixture
def filled(store: Store, made: Any) -> Store:
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("d2")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="d1")])
    return store


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_who_may(filled: Store, made: Any, operation: str) -> None:
    first, act = OPERATIONS[operation]
    for role in ROLES[: ROLES.index(first)]:  # type: ignore[arg-type]
        with pytest.raises(NotAllowed):
            act(filled, ACTORS[role], made)
    accounts.create(filled, "ada", Account(id="banned", role="admin", status="banned"))
    for nobody in ("banned", "stranger"):
        with pytest.raises(NotAllowed):
            act(filled, nobody, made)
    act(filled, ACTORS[first], made)


def test_signing_in(store: Store) -> None:
    with pytest.raises(StoreRefused):
        accounts.create_first(store, "eva", "correct horse battery")
    own = "a long enough one"
    for name, given in (("ada", "correct horse battery"), ("ann", "given to ann")):
        if name == "ann":
            accounts.set_password(store, "ada", name, given)
        accounts.choose_password(store, name, given, own)
        assert accounts.sign_in(store, name, own).id == name
    with pytest.raises(NotAllowed):
        accounts.set_password(store, "ann", "ben", "another long one")
    accounts.set_status(store, "lea", "ann", "suspended")
    said = set()
    for name, password in (("ann", own), ("ada", "wrong"), ("nobody", "x"), ("nobody", ""), ("ben", "")):
        for act in (accounts.sign_in, lambda *who: accounts.choose_password(*who, new="x" * 12)):
            with pytest.raises(NotAllowed) as refused:
                act(store, name, password)
            said.add(str(refused.value))
    assert len(said) == 1, "the message tells nothing"


def test_a_given_password_is_good_for_choosing_another_only(store: Store) -> None:
    given = "given by the admin"
    accounts.create(store, "ada", Account(id="new", role="lead"), given)
    with pytest.raises(MustChoose):
        accounts.sign_in(store, "new", given)
    assert accounts.signed_in(store, "new") is None
    for poor in (given, "short"):
        with pytest.raises(StoreRefused, match="E_PASSWORD"):
            accounts.choose_password(store, "new", given, poor)
    assert accounts.listed(store, "new"), "the command line needs no password"
    accounts.choose_password(store, "new", given, "one of my own")
    assert accounts.sign_in(store, "new", "one of my own") == accounts.signed_in(store, "new")
    with pytest.raises(NotAllowed):
        accounts.sign_in(store, "new", given)
    for actor in ("ada", "new"):  # lost, or made anew by oneself: given again, either way
        accounts.set_password(store, actor, "new", given)
        with pytest.raises(MustChoose):
            accounts.sign_in(store, "new", given)
        assert accounts.signed_in(store, "new") is None, "who is in is put out"
    accounts.set_status(store, "ada", "new", "suspended")
    with pytest.raises(NotAllowed) as refused:
        accounts.choose_password(store, "new", given, "one of my own")
    assert not isinstance(refused.value, MustChoose)


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
        accounts.choose_password(store, "ann", "given to ann", "one of my own")
    with pytest.raises(MustChoose):
        accounts.sign_in(store, "ann", "given once more")


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
    labels.put(store, "lea", [one])
    labels.put(store, "lea", [one.model_copy(update={"probability": 0.75, "n_labelers": 4})])
    assert [found.probability for found in labels.of_dialogue(store, "rob", "d1")] == [0.75]
    labels.set_gold(store, "eve", GOLD)
    labels.set_gold(store, "eve", GOLD.model_copy(update={"present": False}))
    assert [known.present for known in labels.all_gold(store, "eve")] == [False]
    labels.retire_gold(store, "lea", "d1")
    assert labels.all_gold(store, "eve") == ()


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
        appeals.appeal(store, "agent", "d2", 1, "C1", "not mine")
    with pytest.raises(StoreRefused, match="no such finding"):
        appeals.appeal(store, "agent", "d1", 1, "T1", "I did not say that")
    mine = appeals.appeal(store, "agent", "d1", 1, "C1", "I had answered before")
    assert appeals.appeal(store, "agent", "d1", 1, "C1", "again") == mine
    assert appeals.waiting(store, "eve") == (mine,)
    annotations.review(store, "eve", "d1", "k", ["C1"], [made.finding()], expected=None)
    decide = writing(repeatable=True)(appeals.decide)  # a second review is the caller's care
    with pytest.raises(NotAllowed, match="somebody else"):
        decide(store, "eve", mine.id, "upheld", "as I said")
    settled = decide(store, "emil", mine.id, "overturned", "turn 0 was answered")
    assert (settled.state, settled.decided_by) == ("overturned", "emil")
    assert decide(store, "emil", mine.id, "overturned", "turn 0 was answered") == settled
    with pytest.raises(StoreRefused, match="overturned already"):
        decide(store, "emil", mine.id, "upheld", "no")
    assert [(known.present, known.source) for known in labels.all_gold(store, "eve")] == [(False, "appeal")]
    assert appeals.own(store, "agent") == (settled,)
