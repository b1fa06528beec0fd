"""Every operation checks the acting account: the table of rights, accounts, dialogues, gold, appeals."""

import ast
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import make
import pytest
from answering import answer
from permission_rows import ACTORS, AGENTS, CLOSED, GOLD, MINE, RIGHTS, ROWS, THEIRS, fill_console

from dialint.detector.errors import InputRefused
from dialint.detector.records import Label
from dialint.labeling.store import (
    accounts,
    appeals,
    authentication,
    dialogues,
    gold,
    leases,
    projects,
    task_view,
    tasks,
)
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.permissions import LOWEST_ROLE, ROLES, Permission, write_operation
from dialint.labeling.store.records import (
    Account,
    Conflict,
    MustChangePassword,
    NewTask,
    NotAllowed,
    Project,
    StaleLease,
    StoreRefused,
)

MARKS = ("read_operation", "write_operation")


def operations() -> set[str]:
    """Everything marked `read_operation` or `write_operation`, found in the source, so that nothing new goes unseen."""
    names = set()
    root = Path(__file__).parents[3]
    for path in (path for room in ("labeling", "app", "eval") for path in (root / room).rglob("*.py")):
        source = path.read_text()
        if not any(mark in source for mark in MARKS):
            continue  # parsing all sources takes seconds
        for node in ast.walk(ast.parse(source)):
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if any(mark.split("(")[0].split(".")[-1] in MARKS for mark in marks):
                place = path.relative_to(root).with_suffix("").parts
                names.add(".".join([*(place[1:] if place[0] == "labeling" else place), node.name]))  # type: ignore[attr-defined]
    return names


def rights() -> dict[str, str]:
    """The permission of each operation that names one."""
    rows = [(right, row.split()) for right, text in RIGHTS.items() for row in text.strip().splitlines()]
    return {f"store.{module[:-1]}.{name}": right for right, (module, *names) in rows for name in names}


def test_every_operation_names_its_permission_or_has_a_row() -> None:
    names, by_name = operations(), {}
    assert names == rights().keys() | ROWS.keys()
    for place in names:
        module, _, name = place.rpartition(".")
        right = getattr(import_module(f"dialint.labeling.{module}"), name).right
        by_name |= {} if right is None else {place: right}
    assert by_name == rights()


@pytest.mark.parametrize("right", get_args(Permission))
def test_a_permission_is_checked_before_anything_is_done(filled: Store, right: Permission) -> None:
    """In a transaction of its own, and in that of another operation."""

    @write_operation(right)
    def act(transaction: Transaction, actor: str) -> str:
        return actor

    at = ROLES.index(LOWEST_ROLE[right])
    training = [f"training-{role}" for role in ROLES]
    below = [ACTORS[role] for role in ROLES[:at]] + ([] if right == "label" else training)
    for nobody in (*below, *CLOSED, "stranger"):
        for call in (act, lambda store, actor: store.read(lambda transaction: act(transaction, actor))):
            with pytest.raises(NotAllowed) as refused:
                call(filled, nobody)
            assert refused.value.code == ("E_ACCOUNT" if nobody == "stranger" else "E_RIGHT")
    for role in ROLES[at:]:
        assert act(filled, ACTORS[role]) == ACTORS[role]


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
        mine = [make.dialogue(MINE[role], agent=f"agent-{role}") for role in ROLES]
        others = [make.dialogue("d1"), make.dialogue("d2"), make.dialogue("d3", agent="appeals")]
        dialogues.add(s, "lea", [*others, *mine])
        verdicts = [make.verdict(one, make.finding()) for one in ("d1", "d3", *MINE.values())]
        dialogues.add_verdicts(s, "lea", verdicts)
        many = {"codes": ("C1",), "overlap": 99, "most": 99}
        for project in (
            Project(id="p", **many), Project(id="r", codes=("C1",), purpose="review"),
            Project(id="v", purpose="review", prelabelled=True, **many), Project(id="a", purpose="adjudication", **many),
        ):  # fmt: skip
            projects.create(s, "lea", project)
        new = [NewTask(dialogue="d1", turn=1), NewTask(dialogue="d1"), NewTask(dialogue="d2")]
        tasks.add(s, "lea", "p", new)
        tasks.add(s, "lea", "a", [NewTask(dialogue="d1", turn=1)])
        answer(s, "other", "p", "theirs")
        THEIRS["p"], THEIRS["a"] = leases.claim(s, "other", "p"), leases.claim(s, "other", "a")
        task_view.save_draft(s, "other", "note:d2", "x", "d2")
        for dialogue in ("d1", *MINE.values()):
            gold.set_gold(s, "other", GOLD.model_copy(update={"dialogue": dialogue}))
        s.write(lambda t: t.run(gold.gold.update().values(doubt="2 of 3")))
        appeals.open_appeal(s, "agnes", "d3", 1, "C1", "no")
        appeals.open_second_reviews(s, "lea", "r")
        answer(s, "second", "r", "second")
        fill_console(s)
    return path


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
        before = "accounts.create_first accounts.has_accounts authentication.find_signed_in authentication.sign_in_identity"
        assert name.removeprefix("store.") in before.split(), "by a name, before any right"
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
        # done already: a second time the store may have its reasons, but none of them is a right
        with suppress(StoreRefused, StaleLease, Conflict) if place else nullcontext():
            row.act(filled, ACTORS[role], row.before(filled, ACTORS[role], None))


def test_own_dialogues_may_be_seen_and_appealed(filled: Store) -> None:
    """By everybody; `test_store_exposure` has what nobody may."""
    for role in ROLES:
        own = f"own-{role}"
        dialogues.read(filled, own, MINE[role])
        appeals.open_appeal(filled, own, MINE[role], 1, "C1", "no")
        with pytest.raises(NotAllowed):
            appeals.open_appeal(filled, own, "d1", 1, "C1", "no")
        with pytest.raises(NotAllowed) if role == "labeler" else nullcontext():
            dialogues.read(filled, own, "d1")


def test_signing_in(store: Store) -> None:
    with pytest.raises(StoreRefused):
        accounts.create_first(store, "eva", "correct horse battery")
    own = "a long enough one"
    for name, temporary in (("ada", "correct horse battery"), ("ann", "given to ann")):
        if name == "ann":
            accounts.set_password(store, "ada", name, temporary)
        authentication.choose_password(store, name, temporary, own)
        assert authentication.sign_in(store, name, own).account.id == name
    accounts.set_status(store, "lea", "ann", "suspended")
    messages = set()
    for name, password in (("ann", own), ("ada", "wrong"), ("nobody", "x"), ("nobody", ""), ("ben", "")):
        for act in (authentication.sign_in, lambda *who: authentication.choose_password(*who, new="x" * 12)):
            with pytest.raises(NotAllowed) as refused:
                act(store, name, password)
            messages.add(str(refused.value))
    assert len(messages) == 1, "the message tells nothing"


def test_a_given_password_is_good_for_choosing_another_only(store: Store) -> None:
    temporary = "given by the admin"
    accounts.create(store, "ada", Account(id="new", role="lead"), temporary)
    with pytest.raises(MustChangePassword):
        authentication.sign_in(store, "new", temporary)
    for poor in (temporary, "short"):
        with pytest.raises(StoreRefused, match="E_PASSWORD"):
            authentication.choose_password(store, "new", temporary, poor)
    assert accounts.list_accounts(store, "new"), "the command line needs no password"
    authentication.choose_password(store, "new", temporary, "one of my own")
    account, proof = authentication.sign_in(store, "new", "one of my own")
    assert authentication.find_signed_in(store, "new", proof) == account
    assert authentication.find_signed_in(store, "ann", proof) is None
    with pytest.raises(NotAllowed):
        authentication.sign_in(store, "new", temporary)
    for actor in ("ada", "new"):  # lost, or made anew by oneself: given again, either way
        accounts.set_password(store, actor, "new", temporary)
        with pytest.raises(MustChangePassword):
            authentication.sign_in(store, "new", temporary)
        assert authentication.find_signed_in(store, "new", proof) is None, "who is in is put out"
    accounts.set_status(store, "ada", "new", "suspended")
    with pytest.raises(NotAllowed) as refused:
        authentication.choose_password(store, "new", temporary, "one of my own")
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
        authentication.choose_password(store, "ann", "given to ann", "one of my own")
    with pytest.raises(MustChangePassword):
        authentication.sign_in(store, "ann", "given once more")


def test_a_lead_makes_nobody_an_admin_and_nobody_frees_themselves(store: Store) -> None:
    for actor, account, status in (
        ("lea", "lea", "active"),
        ("lea", "ada", "banned"),
        ("ada", "ada", "banned"),
    ):
        with pytest.raises(NotAllowed):
            accounts.set_status(store, actor, account, status)  # type: ignore[arg-type]


def test_dialogues_and_verdicts_go_in_once(store: Store) -> None:
    assert dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("d2")]) == 2
    assert dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("d3")]) == 1
    with pytest.raises(StoreRefused, match="d1: in the store with other content"):
        dialogues.add(store, "lea", [make.dialogue("d4"), make.dialogue("d1", text="Changed")])
    with pytest.raises(StoreRefused):
        dialogues.add_verdicts(store, "lea", [make.verdict("d4")])
    with pytest.raises(InputRefused):
        dialogues.add(store, "lea", [make.dialogue("d\x00")])
    odd = make.dialogue("odd", text="nul \x00, \u202e, \U0001f600 'x\"")
    assert dialogues.add(store, "lea", [odd]) == 1
    assert dialogues.read(store, "rob", "odd")[0] == odd


def test_labels_and_gold_have_one_row_each(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    one = Label(dialogue_id="d1", turn=1, code="C1", probability=0.5, method="majority", n_labelers=2)
    dialogues.write_labels(store, "lea", [one])
    dialogues.write_labels(store, "lea", [one.model_copy(update={"probability": 0.75, "n_labelers": 4})])
    assert [each.probability for each in dialogues.list_labels(store, "rob", "d1")] == [0.75]
    gold.set_gold(store, "eve", GOLD)
    gold.set_gold(store, "eve", GOLD.model_copy(update={"present": False}))
    assert [each.present for each in gold.list_gold(store, "eve")] == [False]
    gold.retire_gold(store, "lea", "d1")
    assert gold.list_gold(store, "eve") == ()


def test_an_agent_appeals_findings_in_own_dialogues_once(store: Store) -> None:
    accounts.create(store, "ada", Account(id="agent", role="labeler", agent="a1"))
    dialogues.add(store, "lea", [make.dialogue("d1")])
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding())])
    with pytest.raises(StoreRefused, match="no such finding"):
        appeals.open_appeal(store, "agent", "d1", 1, "T1", "I did not say that")
    mine = appeals.open_appeal(store, "agent", "d1", 1, "C1", "I had answered before")
    assert appeals.open_appeal(store, "agent", "d1", 1, "C1", "again") == mine
    assert appeals.list_open(store, "eve") == appeals.list_own(store, "agent") == (mine,)
