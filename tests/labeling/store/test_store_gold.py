"""Control tasks: mixed in unseen, rotated, retired, doubted, and counted in nothing."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import make
import pytest
from answering import answer_all, claim
from sqlalchemy import text

from dialint.detector.records import Dialogue, Example, Label
from dialint.labeling.store import (
    annotations,
    dialogues,
    gold,
    leases,
    projects,
    rater_status,
    stored_annotations,
    task_view,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Conflict, Gold, Lease, NewTask, NotAllowed, Project, StoreRefused

CROWD = ("ann", "ben", "cem", "dot")


def gold_label(name: str, *, present: bool = True) -> Gold:
    return Gold(dialogue=name, turn=1, code="C1", present=present, source="expert")


def setting(store: Store, *, n: int = 3, controls: int = 3, share: float = 1.0, **fields: Any) -> None:
    """Project `p`: tasks d0, d1, ... and control tasks g0, g1, ..., the error there in the even ones."""
    projects.create(store, "lea", Project(**{"id": "p", "codes": ("C1",), "control_share": share, **fields}))
    names = [f"d{i}" for i in range(n)] + [f"g{i}" for i in range(controls)]
    dialogues.add(store, "lea", [make.dialogue(name) for name in names])
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"d{i}") for i in range(n)])
    rows = [gold_label(f"g{i}", present=i % 2 == 0) for i in range(controls)]
    gold.import_gold(store, "eve", rows)
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"g{i}", pool="control") for i in range(controls)])


def answer(store: Store, actor: str, lease: Lease, *findings: Any, seconds: float | None = None) -> None:
    key = f"{actor}-{lease.task}-{lease.token}"
    annotations.submit(store, actor, lease.task, lease.token, key, findings, seconds)


def states(store: Store, pool: Any = "control") -> dict[str, int]:
    return {state: n for state, n in tasks.count_tasks(store, "rob", "p")[pool].items() if n}


def example(name: str, *codes: str, pair: str | None = None) -> Example:
    own = [Label(dialogue_id=name, turn=1, code=code, probability=1.0, method="inject:x") for code in codes]
    return Example(dialogue=make.dialogue(name), labels=tuple(own), split="train", pair=pair)


def test_a_share_of_the_claims_is_control(store: Store, monkeypatch: Any) -> None:
    """Of draws 0.1, 0.9, 0.29, 0.3, 0.5 the first and third are below a share of 0.3."""
    draws = iter((0.1, 0.9, 0.29, 0.3, 0.5))
    monkeypatch.setattr(tasks.RNG, "random", lambda: next(draws))
    setting(store, n=5, share=0.3)
    got = [claim(store, "ann", at_once=9) for _ in range(5)]
    assert [lease.dialogue for lease in got] == ["g0", "d0", "g1", "d1", "d2"]
    assert {lease.pool for lease in got} == {"main"}


def test_the_holder_cannot_tell_a_control_task(store: Store, monkeypatch: Any, time_: Any) -> None:
    setting(store, n=1, controls=1, share=0.5)
    for actor in ("ben", "cem"):  # the control task has been in many hands
        monkeypatch.setattr(tasks.RNG, "random", lambda: 0.0)
        lease = claim(store, actor)
        assert lease.dialogue == "g0"
        leases.release(store, actor, lease.task, lease.token)
        time_.pass_s(1)
    first = claim(store, "ann", at_once=2)
    monkeypatch.setattr(tasks.RNG, "random", lambda: 1.0)
    second = claim(store, "ann", at_once=2)
    assert (first.dialogue, second.dialogue) == ("g0", "d0")
    differ = [name for name in Lease.model_fields if getattr(first, name) != getattr(second, name)]
    assert set(differ) <= {"task", "dialogue", "token", "answer_key"}
    assert first.token == second.token, "it tells the time only"
    views = [task_view.view_task(store, "ann", lease.task) for lease in (first, second)]
    for view in views:
        assert view.dialogue.id == f"task-{view.task}"
    dumps = [view.model_dump(exclude={"task"}) for view in views]
    for view in dumps:
        view["dialogue"].pop("id")
    assert dumps[0] == dumps[1]
    for name in ("g0", "control", "gold", "injected"):
        assert name not in views[0].model_dump_json()


def test_made_controls_look_like_what_the_logs_hold(store: Store, monkeypatch: Any) -> None:
    """An example knows no channel, times or agents, and its id is ours; a log's dialogue has its own."""
    turns = make.dialogue("x").turns
    bare = Example(
        dialogue=Dialogue(id="x", turns=turns, language="en", metadata={"domain": "travel"}),
        labels=(Label(dialogue_id="x", turn=1, code="C1", probability=1.0, method="inject:x"),),
        split="train",
    )
    (name,) = gold.import_synthetic(store, "lea", [bare])
    timed = tuple(turn.model_copy(update={"at": datetime.now(UTC), "author": "a1"}) for turn in turns)
    fields = {"language": "de", "policy": "returns", "sources": ("kb-7",), "masked": True, "turns": timed}
    dialogues.add(store, "lea", [make.dialogue("log-7").model_copy(update=fields)])
    dialogues.add_verdicts(store, "lea", [make.verdict(each, make.finding()) for each in (name, "log-7")])
    projects.create(store, "lea", Project(id="p", codes=("C1",), prelabelled=True, control_share=0.5))
    tasks.add(store, "lea", "p", [NewTask(dialogue="log-7"), NewTask(dialogue=name, pool="control")])
    seen = []
    for draw in (0.0, 1.0):
        monkeypatch.setattr(tasks.RNG, "random", lambda draw=draw: draw)
        lease = claim(store, "ann", at_once=2)
        assert (lease.dialogue == name) is (draw == 0.0)
        view = task_view.view_task(store, "ann", lease.task)
        saved = annotations.submit(store, "ann", lease.task, lease.token, f"{draw}", [make.finding()])
        corrected = annotations.correct(store, "ann", int(saved.id), f"{draw} again")
        with pytest.raises(Conflict) as conflict:
            annotations.correct(store, "ann", int(saved.id), f"{draw} too late")
        answers = (saved, corrected, *conflict.value.theirs, *annotations.list_own(store, "ann", 2))
        content = [
            view.model_dump(exclude={"task"}),
            *(each.model_dump(exclude={"id", "at"}) for each in answers),
        ]
        seen.append(str(content).replace(f"task-{lease.task}", "THIS"))
    assert seen[0] == seen[1]
    assert "THIS" in seen[0]
    assert name not in seen[0]


def test_asking_again_tells_nothing(store: Store, monkeypatch: Any, time_: Any) -> None:
    """An account that releases a control task gets the same one again, as in the main pool, for any sample."""
    setting(store, lease_s=60)
    first = claim(store, "ann")
    assert first.dialogue == "g0"
    monkeypatch.setattr(tasks.RNG, "random", lambda: 1.0)
    leases.release(store, "ann", first.task, first.token)
    assert claim(store, "ann").task == first.task
    time_.pass_s(61)
    again = claim(store, "ann")
    assert (again.task, again.token > first.token) == (first.task, True)
    leases.skip(store, "ann", again.task, again.token, "unclear")
    assert claim(store, "ann").dialogue == "d0"


def test_no_control_where_there_is_no_work(store: Store) -> None:
    setting(store, n=1, controls=2)
    answer(store, "ann", claim(store, "ann"))
    answer(store, "ann", claim(store, "ann"))
    last = claim(store, "ann")
    assert last.dialogue == "d0", "no control tasks are left for her"
    answer(store, "ann", last)
    assert leases.claim(store, "ben", "p") is None, "d0 has its one answer"


def test_nobody_twice_and_the_least_shown_first(store: Store) -> None:
    setting(store, n=9, controls=3)
    for actor in ("ann", "ben"):
        got = []
        for _ in range(4):
            lease = claim(store, actor)
            got.append(lease.dialogue)
            answer(store, actor, lease)
        assert sorted(got)[1:] == ["g0", "g1", "g2"], "then the main pool"
    dialogues.add(store, "lea", [make.dialogue("g9")])
    gold.set_gold(store, "eve", gold_label("g9"))
    tasks.add(store, "lea", "p", [NewTask(dialogue="g9", pool="control", priority=-5.0)])
    assert claim(store, "cem").dialogue == "g9", "it was never shown, the others twice"
    verify(store)


def test_many_at_once_keep_the_books(store: Store) -> None:
    """Four people work through everything at the same time; each control task is seen by each at most once,
    and its rank is the number of people it was shown to."""
    setting(store, n=12, controls=4, share=0.5, overlap=2, control_uses=3)

    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(lambda actor: answer_all(store, actor), CROWD))
    assert all(len(names) == len(set(names)) for names in got)
    n_displays = Counter(name for names in got for name in names)
    assert all(n_displays[f"d{i}"] == 2 for i in range(12))
    ranks = store.read(lambda t: t.run(text("SELECT dialogue, rank FROM tasks WHERE pool = 'control'")).all())
    assert {row.dialogue: row.rank for row in ranks} == {f"g{i}": n_displays[f"g{i}"] for i in range(4)}
    verify(store)


def test_retired_when_shown_often(store: Store) -> None:
    setting(store, n=9, controls=1, control_uses=2)
    got = [claim(store, actor).dialogue for actor in CROWD]
    assert got == ["g0", "g0", "d0", "d1"]
    assert states(store) == {"withdrawn": 1}
    assert gold.list_gold(store, "eve") == ()
    (worn,) = gold.list_gold(store, "eve", retired=True)
    assert (worn.retired, worn.doubt) == (True, None)
    entries = store.read(
        lambda t: t.run(text("SELECT subject, content FROM audit WHERE action = 'gold.retire'")).all()
    )
    assert [tuple(row) for row in entries] == [("g0", '{"shown":2}')], "the audit log knows why it went"
    answer(store, "ann", claim(store, "ann"), make.finding())  # who had it may still answer
    verify(store)


def test_uses_are_counted_over_projects(store: Store) -> None:
    setting(store, n=9, controls=1, control_uses=2)
    projects.create(store, "lea", Project(id="q", codes=("C1",), control_share=1.0, control_uses=2))
    tasks.add(store, "lea", "q", [NewTask(dialogue="d8"), NewTask(dialogue="g0", pool="control")])
    assert [claim(store, actor).dialogue for actor in ("ann", "ben")] == ["g0", "g0"]
    other = claim(store, "ann", "q")
    assert other.dialogue == "d8", "she knows g0 from p; and it is worn"
    verify(store)


def test_retired_by_hand_it_is_gone_everywhere(store: Store) -> None:
    assert not store.read(gold.has_gold)
    setting(store, controls=1)
    assert store.read(gold.has_gold)
    gold.retire_gold(store, "lea", "g0")
    assert not store.read(gold.has_gold)
    assert claim(store, "ann").dialogue == "d0"
    verify(store)


def test_gold_that_good_labelers_contradict_is_doubted_and_reported(store: Store) -> None:
    """Four of four good labelers say no where the gold says yes; the fifth person does not get to see it."""
    rater_status.set_rules(store, "lea", rater_status.RaterRules(least=2, doubt_least=4, doubt_share=0.5))
    setting(store, n=20, controls=3)
    for actor in CROWD:
        for _ in range(3):
            lease = claim(store, actor)
            answer(store, actor, lease, *([make.finding()] if lease.dialogue == "g2" else []))
    assert gold.list_doubted(store, "eve") == ()
    assert claim(store, "ria").dialogue == "g1", "g0 was next, and was looked at first"
    (doubted,) = gold.list_doubted(store, "eve")
    assert (doubted.dialogue, doubted.doubt, doubted.retired) == (
        "g0", "4 of 4 good labelers say otherwise", False,
    )  # fmt: skip
    assert states(store) == {"open": 2, "withdrawn": 1}
    with pytest.raises(StoreRefused, match="reason"):
        gold.decide_gold(store, "eve", "g0", 1, "C1", present=False, reason=" ")
    decided = gold.decide_gold(store, "eve", "g0", 1, "C1", present=False, reason="they are right")
    assert (decided.present, decided.doubt, decided.source) == (False, None, "expert")
    assert gold.list_doubted(store, "eve") == ()
    assert states(store) == {"open": 3}
    verify(store)


def test_gold_is_not_doubted_for_the_sake_of_bad_labelers(store: Store) -> None:
    """All four say no to everything: on the two golds with an error they are wrong, on one right: 0.5."""
    rater_status.set_rules(store, "lea", rater_status.RaterRules(least=2, doubt_least=4))
    setting(store, n=20, controls=3)
    for actor in CROWD:
        for _ in range(3):
            answer(store, actor, claim(store, actor))
    assert claim(store, "ria").dialogue == "g0"
    assert gold.list_doubted(store, "eve") == ()


def test_control_answers_count_in_nothing(store: Store) -> None:
    """Neither as truth, nor in the fair share (0.5 of 4 answers: two), nor as progress."""
    setting(store, n=4, controls=2, fair_share=0.5)
    for _ in range(4):
        answer(store, "ann", claim(store, "ann"), make.finding())
    assert leases.claim(store, "ann", "p") is None
    assert states(store, "main") == {"open": 2, "done": 2}
    assert [one.dialogue_id for one in stored_annotations.iterate_counted(store, "lea", "p")] == ["d0", "d1"]


def test_examples_come_with_their_twins(store: Store) -> None:
    setting(store, controls=0)
    examples = [example("x~C1", "C1", pair="x"), example("x~twin", pair="x")]
    names = gold.import_synthetic(store, "lea", examples, "p")
    assert gold.import_synthetic(store, "lea", examples, "p") == names
    gold_by_dialogue = {each.dialogue: (each.present, each.source) for each in gold.list_gold(store, "eve")}
    assert gold_by_dialogue == {names[0]: (True, "injected"), names[1]: (False, "injected")}
    assert not any("twin" in name or "x" in name for name in names)
    assert claim(store, "ann").dialogue == names[0]
    assert claim(store, "ben").dialogue == names[1], "shown less"
    answer(store, "ann", claim(store, "ann"))
    assert claim(store, "ann").dialogue == "d0", "who knows one of a pair does not get the other"


def test_examples_of_which_nothing_is_known_are_refused(store: Store) -> None:
    with pytest.raises(StoreRefused, match="no example has labels"):
        gold.import_synthetic(store, "lea", [example("x")])
    with pytest.raises(StoreRefused, match="clean twin"):
        gold.import_synthetic(store, "lea", [example("x~twin", pair="x")])
    soft = example("x", "C1")
    soft = soft.model_copy(update={"labels": (soft.labels[0].model_copy(update={"probability": 0.5}),)})
    with pytest.raises(StoreRefused, match="not certain"):
        gold.import_synthetic(store, "lea", [soft])
    assert gold.import_synthetic(store, "lea", []) == ()
    assert gold.list_gold(store, "eve") == ()


def test_an_experts_word_on_injected_gold_stays(store: Store) -> None:
    (name,) = gold.import_synthetic(store, "lea", [example("x", "C1"), example("clean")])
    gold.set_gold(store, "eve", gold_label(name, present=False))
    gold.import_synthetic(store, "lea", [example("x", "C1")])
    assert [each.present for each in gold.list_gold(store, "eve")] == [False]


def test_what_cannot_be_a_control_task(store: Store) -> None:
    setting(store, controls=1, prelabelled=False)
    with pytest.raises(StoreRefused, match="1 control tasks without gold"):
        tasks.add(store, "lea", "p", [NewTask(dialogue="d0", turn=1, pool="control")])
    projects.create(store, "lea", Project(id="q", codes=("C1",), prelabelled=True))
    with pytest.raises(StoreRefused, match="without verdicts"):
        tasks.add(store, "lea", "q", [NewTask(dialogue="g0", pool="control")])
    dialogues.add_verdicts(store, "lea", [make.verdict("g0", make.finding())])
    assert tasks.add(store, "lea", "q", [NewTask(dialogue="g0", pool="control")]) == 1
    with pytest.raises(NotAllowed, match="E_POOL"):
        leases.claim(store, "ann", "p", pool="control")


@pytest.mark.parametrize(("purpose", "first"), [("review", "rob"), ("adjudication", "eve"), ("label", "ann")])
def test_purposes_say_who_may_claim(store: Store, purpose: Any, first: str) -> None:
    setting(store, controls=0, purpose=purpose)
    order = ("ann", "rob", "eve")
    for actor in order[: order.index(first)]:
        with pytest.raises(NotAllowed, match="E_RIGHT"):
            leases.claim(store, actor, "p")
    assert claim(store, first).dialogue == "d0"
