"""`put_scored`: what a nightly job makes of dialogues that have changed, and of what people said of them."""

import make
import pytest
from answering import answer_all, claim

from dialint.detector.records import Dialogue, Label, Turn
from dialint.labeling.store import dialogues, gold, projects, search, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.dialogues import PutCounts, put_scored
from dialint.labeling.store.records import Gold, NewTask, Project

OLD = ("Where is my parcel?", "Anything else?")


def dialogue(name: str, *texts: str, agent: str = "a1") -> Dialogue:
    turns = [Turn(index=n, role=("customer", "agent")[n % 2], text=text) for n, text in enumerate(texts)]
    return make.dialogue(name, agent).model_copy(update={"turns": tuple(turns)})


GROWN = (*OLD, "The blue one.", "Zebra on its way.")


def put(store: Store, name: str, *texts: str, agent: str = "a1") -> PutCounts:
    verdict = make.verdict(name, make.finding(turn=len(texts) - 1, probability=0.5 + len(texts) / 100))
    return put_scored(store, "lea", [dialogue(name, *texts, agent=agent)], [verdict])


def stored(store: Store, name: str) -> tuple[int, int]:
    """Returns the number of turns of the dialogue, and the turn of its verdict's finding."""
    content, verdict = dialogues.read(store, "rob", name)
    assert verdict is not None
    return len(content.turns), verdict.findings[0].turn


def test_a_changed_dialogue_and_its_verdict_replace_the_older_ones(store: Store) -> None:
    assert put(store, "d0", *OLD) == (1, 0, ())
    assert put(store, "d0", *OLD) == (0, 0, ())
    dialogues.add_verdicts(store, "lea", [make.verdict("d0", release="embedded-0")])
    assert put(store, "d0", *GROWN, agent="a2") == (0, 1, ())
    assert stored(store, "d0") == (4, 3)
    assert len(store.read(lambda transaction: dialogues.load_verdicts(transaction, "d0"))) == 1
    for words, n in (("zebra", 1), ("parcel", 1), ("giraffe", 0)):
        assert search.count(store, "rob", search.Search(text=words)).n == n
    assert put(store, "d0", "Where is it?", "Giraffe.", agent="a2") == (0, 1, ())
    assert stored(store, "d0") == (2, 1)
    verify(store)


def test_another_verdict_on_the_same_content_replaces_it(store: Store) -> None:
    put(store, "d0", *OLD)
    other = make.verdict("d0", make.finding("T1"))
    assert put_scored(store, "lea", [dialogue("d0", *OLD)], [other]) == (0, 0, ())
    _, verdict = dialogues.read(store, "rob", "d0")
    assert verdict is not None
    assert [finding.code for finding in verdict.findings] == ["T1"]


@pytest.mark.parametrize("what", ["answer", "claim", "label", "gold"])
def test_what_people_said_stays_where_it_is(store: Store, what: str) -> None:
    """Of a whole dialogue nothing may change; of a turn, nothing up to it."""
    put(store, "d0", *OLD)
    put(store, "d1", *OLD)
    put(store, "d2", *OLD)
    if what in ("answer", "claim"):
        for project, names, turn in (("p", ["d0"], None), ("q", ["d1", "d2"], 1)):
            projects.create(store, "lea", Project(id=project, codes=("C1",)))
            tasks.add(store, "lea", project, [NewTask(dialogue=name, turn=turn) for name in names])
            if what == "answer":
                answer_all(store, "ann", {*names}, project)
            else:
                claim(store, "ann", project)
    elif what == "label":
        dialogues.write_labels(store, "lea", [label(f"d{n}") for n in (1, 2)])
    else:
        for n in (1, 2):
            gold_label = Gold(dialogue=f"d{n}", turn=1, code="C1", present=True, source="expert")
            gold.set_gold(store, "eve", gold_label)
    is_whole = what in ("answer", "claim")
    assert put(store, "d0", *GROWN) == ((0, 0, ("d0",)) if is_whole else (0, 1, ()))
    assert stored(store, "d0") == ((2, 1) if is_whole else (4, 3))
    if what != "claim":
        assert put(store, "d1", *GROWN) == (0, 1, ())
        assert stored(store, "d1") == (4, 3)
    assert put(store, "d2", "Where?", *GROWN[1:]) == (0, 0, ("d2",))
    assert stored(store, "d2") == (2, 1)
    verify(store)


def label(name: str) -> Label:
    return Label(dialogue_id=name, turn=1, code="C1", probability=0.9, method="mv", n_labelers=3)
