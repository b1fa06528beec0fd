"""Erasure: nothing of a dialogue is left in the store or its file, nothing else is lost, and the audit log still
proves the rest."""

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import make
import pytest
from answering import answer_all, claim, make_project
from patience import WAIT_S
from sqlalchemy import select, text

from dialint.detector.records import Dialogue, Label, Turn
from dialint.detector.registry import Registry
from dialint.labeling.exchange.store_transfer import export_annotations
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    dialogues,
    erasure,
    gold,
    leases,
    projects,
    task_view,
    tasks,
)
from dialint.labeling.store.database.audit import Head
from dialint.labeling.store.database.backup import backup
from dialint.labeling.store.database.changes import DERIVED
from dialint.labeling.store.database.schema import metadata, notes
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.dialogues import compute_sha256
from dialint.labeling.store.masked_view import load_view
from dialint.labeling.store.records import (
    Account,
    DialogueMissing,
    Gold,
    NewTask,
    NotAllowed,
    Project,
    StoreDamaged,
    StoreRefused,
)

N_PLANTED = 500
REASON = "The customer asked for it."


def planted(number: int) -> str:
    return f"planted{number:04d}secret"


def populate(store: Store, n: int = 6, n_turns: int = 4) -> list[str]:
    """`n` dialogues with planted texts in everything that people and machines write about them, and two others
    (`kept`) with the same things. Returns the ids to erase."""
    counter = iter(range(100_000))

    def secret() -> str:
        return planted(next(counter))

    accounts.create(store, "ada", Account(id="ag", role="labeler", agent="a1"))
    projects.create(store, "lea", Project(id="p", codes=("C1",), overlap=2))
    names = [f"customer-{number}" for number in range(n)]
    for name in (*names, "kept-1", "kept-2"):
        is_clean = name.startswith("kept")
        texts = [f"{'Fine.' if is_clean else secret()} Well." for _ in range(n_turns)]
        turns = tuple(
            Turn(index=at, role=("customer", "agent")[at % 2], text=text) for at, text in enumerate(texts)
        )
        dialogues.add(store, "lea", [Dialogue(id=name, turns=turns, agent="a1", team="t", channel="chat")])
        quote = turns[1].text[:9]
        finding = make.finding(quote=quote, end=len(quote), reason=turns[1].text)
        verdicts = [make.verdict(name, finding), make.verdict(name, finding, release="b")]
        dialogues.add_verdicts(store, "lea", verdicts)
        gold_label = Gold(
            dialogue=name, turn=1, code="C1", present=True, source="expert", reason=turns[1].text
        )
        gold.set_gold(store, "eve", gold_label)
        label = Label(dialogue_id=name, turn=1, code="C1", probability=0.9, method="crowd", n_labelers=2)
        dialogues.write_labels(store, "lea", [label])
        appeals.open_appeal(store, "ag", name, 1, "C1", f"I did answer: {turns[1].text}")
        dialogues.read(store, "rob", name)
    tasks.add(store, "lea", "p", [NewTask(dialogue=name, turn=1) for name in (*names, "kept-1", "kept-2")])
    for person in ("ann", "ben"):
        for _ in range(3):
            lease = claim(store, person, "p")
            answer = make.finding(reason=secret(), quote=secret()[:8])
            annotations.submit(store, person, lease.task, lease.token, f"{person}{lease.task}", [answer], 2.0)
    held = claim(store, "cem", "p")
    for item in (f"task:{held.task}", f"case:{held.task}"):
        task_view.save_draft(store, "cem", item, json.dumps({"so far": secret()}), held.dialogue)
    skipped = claim(store, "dot", "p")
    leases.skip(store, "dot", skipped.task, skipped.token, f"why: {secret()}")
    task_view.save_draft(store, "rob", f"note:{names[0]}:1", json.dumps({"note": secret()}), names[0])
    note = {"agent": "a1", "dialogue": names[0], "author": "lea", "content": secret(), "at_ms": 1}
    store.write(lambda transaction: transaction.run(notes.insert(), note) and None)
    reviewed = annotations.review(store, "rob", names[1], "review", ["C1"], [make.finding()], expected=None)
    annotations.review(store, "rob", names[1], "again", ["C1"], expected=int(reviewed.id))
    annotations.review(store, "rob", "kept-1", "kept review", ["C1"], [make.finding()], expected=None)
    return names


def rows_of(store: Store) -> dict[str, list[Any]]:
    return store.read(
        lambda transaction: {
            name: [dict(row) for row in transaction.run(select(table)).mappings()]
            for name, table in metadata.tables.items()
        }
    )


def test_nothing_of_a_dialogue_is_left_and_nothing_else_is_lost(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path))
    names = populate(store)
    aside = Registry("scan").shadow_file("new")
    aside.parent.mkdir(parents=True)
    aside.write_text("".join(f'{{"dialogue_id":"{name}"}}\n' for name in (names[0], "other")))
    before = rows_of(store)
    preview = erasure.preview(store, "ada", names)
    about = "dialogues verdicts annotations tasks leases drafts gold labels appeals notes"
    assert set(preview) >= {*about.split()}
    assert rows_of(store) == before, "a preview changes nothing"

    proof = erasure.erase(store, "ada", names, REASON)

    assert proof.counts == preview
    assert aside.read_text() == '{"dialogue_id":"other"}\n'
    after = rows_of(store)
    assert {table: len(before[table]) - len(after[table]) for table in preview} == preview
    log = "\n".join(str(row) for row in after.pop("audit"))
    assert not re.search(r"planted\d+", log), "the log never had any text"
    assert not re.search(r"planted\d+|customer-\d", str(after)), "neither texts nor ids"
    for table, rows in after.items():
        if table not in ("erasures", "audit_head", *DERIVED):
            left = [row for row in before[table] if row in rows]
            assert left == rows, f"{table}: rows of others stay as they were"
    assert verify(store).dialogues == 2
    with pytest.raises(NotAllowed, match="there is none"):
        dialogues.read(store, "rob", names[0])


def test_the_rest_is_worked_on_as_before(store: Store) -> None:
    names = populate(store)
    erasure.erase(store, "ada", names, REASON)
    assert sorted(answer_all(store, "eve")) == ["kept-1", "kept-2"]
    dialogues.add(store, "lea", [make.dialogue("new")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="new")])
    assert answer_all(store, "dot")[-1] == "new"
    assert verify(store).annotations == len(rows_of(store)["annotations"])


def test_an_annotation_number_that_is_given_again_is_no_manipulation(store: Store) -> None:
    """Nor is a dialogue that came back and is erased a second time."""
    for key in ("first", "second"):
        dialogues.add(store, "lea", [make.dialogue("d1")])
        saved = annotations.review(store, "rob", "d1", key, ["C1"], expected=None)
        assert len(erasure.erase(store, "ada", ["d1"], REASON).erased) == 1
    dialogues.add(store, "lea", [make.dialogue("d2")])
    again = annotations.review(store, "rob", "d2", "third", ["C1"], expected=None)
    if store.engine.dialect.name == "sqlite":
        assert again.id == saved.id
    assert verify(store).annotations == 1


def test_nothing_is_stored_again_by_whoever_still_has_a_page_open(store: Store) -> None:
    make_project(store, ["d1"])
    dialogues.add(store, "lea", [make.dialogue("d2")])
    held = claim(store, "rob", "p")
    answer = annotations.review(store, "rob", "d1", "first", ["C1"], expected=None)
    items = [f"task:{held.task}", f"case:{held.task}", f"answer:{answer.id}", "note:d1", "note:d1:2"]
    for item in items:
        task_view.save_draft(store, "rob", item, "{}", "d1")
    erasure.erase(store, "ada", ["d1"], REASON)
    assert rows_of(store)["drafts"] == []

    before = rows_of(store)
    for item in items:
        with pytest.raises(DialogueMissing):
            task_view.save_draft(store, "rob", item, "{}", "d1")
    for act in (
        lambda: annotations.submit(store, "rob", held.task, held.token, "second", [make.finding()]),
        lambda: annotations.review(store, "rob", "d1", "third", ["C1"], expected=int(answer.id)),
        lambda: leases.renew(store, "rob", held.task, held.token),
        lambda: store.read(lambda transaction: load_view(transaction, "d1")),
    ):
        with pytest.raises(DialogueMissing):
            act()
    with pytest.raises(NotAllowed):
        annotations.correct(store, "rob", int(answer.id), "fourth", [])
    assert rows_of(store) == before

    tasks.add(store, "lea", "p", [NewTask(dialogue="d2")])  # SQLite gives the numbers again
    dialogues.add(store, "lea", [make.dialogue("d1")])
    task_view.save_draft(store, "rob", items[0], "{}", "d1")
    assert task_view.load_draft(store, "rob", items[0], "d2") is None


def test_an_erasure_takes_the_draft_that_is_just_being_saved(store: Store) -> None:
    """It waits for who writes about the dialogue, or they wait for it."""
    if store.engine.dialect.name == "sqlite":
        pytest.skip("one writer at a time")
    dialogues.add(store, "lea", [make.dialogue("d1")])
    erased: list[erasure.Proof] = []
    thread = threading.Thread(target=lambda: erased.append(erasure.erase(store, "ada", ["d1"], REASON)))

    def save_and_wait(transaction: Transaction) -> None:
        task_view.save_draft(transaction, "rob", "note:d1", "{}", "d1")
        thread.start()
        time.sleep(0.3)

    store.write(save_and_wait)
    thread.join(timeout=WAIT_S)
    assert erased[0].counts["drafts"] == 1
    assert rows_of(store)["drafts"] == []


def test_the_proof_is_the_entry_of_the_log(store: Store) -> None:
    names = populate(store)
    proof = erasure.erase(store, "ada", names[:2], REASON)
    erasure.erase(store, "ada", names[2:], "Another reason.")
    again = erasure.read_proof(store, "ada", [compute_sha256(name) for name in names[:2]])
    assert again == proof
    assert {each.dialogue_sha256 for each in proof.erased} == set(map(compute_sha256, names[:2]))
    assert sum(each.counts["dialogues"] for each in proof.erased) == 2
    verify(store, Head.parse(proof.head))
    assert erasure.Proof.model_validate_json(proof.model_dump_json()) == proof
    assert names[0] not in proof.model_dump_json()
    assert len(erasure.list_erasures(store, "ada")) == len(names)


@pytest.mark.damaged
def test_emptied_by_hand_and_deleted_is_found(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    annotations.review(store, "rob", "d1", "k1", ["C1"], expected=None)
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE dialogues SET content = '' WHERE id = 'd1'"))
        connection.execute(text("DELETE FROM annotations WHERE dialogue = 'd1'"))
    with pytest.raises(StoreDamaged):
        verify(store)


def test_who_may_and_what_is_refused(store: Store) -> None:
    accounts.create(store, "ada", Account(id="boss", role="admin", agent="a1"))
    dialogues.add(store, "lea", [make.dialogue("d1")])
    before = rows_of(store)
    for actor in ("ann", "rob", "eve", "lea", "boss", "nobody"):
        with pytest.raises(NotAllowed):
            erasure.erase(store, actor, ["d1"], REASON)
        with pytest.raises(NotAllowed):
            erasure.preview(store, actor, ["d1"])
    for ids in ([], ["d1", "d1"], ["d1", "d2"]):
        with pytest.raises(StoreRefused):
            erasure.erase(store, "ada", ids, REASON)
    for reason in (" ", "x" * 501):
        with pytest.raises(StoreRefused):
            erasure.erase(store, "ada", ["d1"], reason)
    assert rows_of(store) == before


def test_every_table_is_erased_or_known_to_hold_nothing_of_a_dialogue() -> None:
    erased = {table.name for table in erasure.ERASED} | {"leases", "tasks", "dialogues"}
    retained = {
        "accounts": "people of the company", "projects": "no dialogues", "bulk_reads": "numbers",
        "settings": "rules", "preferences": "screens", "documents": "taxonomy and policies",
        "identities": "who signs in", "erasures": "what was erased", "audit": "digests and ids",
        "audit_head": "a signature",
    }  # fmt: skip
    assert erased | set(retained) == set(metadata.tables) - set(DERIVED)
    assert not erased & set(retained)


def test_dialogues_are_found_by_id_agent_and_time(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("d2", agent="a2")])
    assert [each.id for each in erasure.find_dialogues(store, "ada", agent="a2")] == ["d2"]
    assert [each.id for each in erasure.find_dialogues(store, "ada", ids=["d1", "none"])] == ["d1"]
    assert erasure.find_dialogues(store, "ada", until_ms=0) == []
    assert len(erasure.find_dialogues(store, "ada", since_ms=0, channel="chat")) == 2
    with pytest.raises(StoreRefused):
        erasure.find_dialogues(store, "ada")


@pytest.mark.slow
def test_no_byte_of_500_planted_texts_is_left(store: Store, tmp_path: Path) -> None:
    names = populate(store, n=25, n_turns=N_PLANTED // 25)
    before = backup(store, tmp_path / "before")
    erasure.erase(store, "ada", names, REASON)
    scrubbed = erasure.scrub(store, "ada")
    assert "VACUUM" in scrubbed
    verify(store)
    out = tmp_path / "out.jsonl"
    export_annotations(store, "lea", out, None)
    assert not re.search(r"planted\d{4}", out.read_text())
    with pytest.raises(NotAllowed):
        erasure.scrub(store, "lea")
    if store.engine.dialect.name == "sqlite":
        path = Path(str(store.engine.url.database))
        files = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
        assert path in files
        held = {name for each in files for name in re.findall(rb"planted\d{4}", each.read_bytes())}
        assert not held, len(held)
        old = b"".join(each.read_bytes() for each in Path(str(before)).iterdir())
        n_left = len(set(re.findall(rb"planted\d{4}", old)))
        assert n_left >= N_PLANTED, "the backup still has them, as the proof says"
