"""Dynamic overlap on both databases: who agrees is asked no more, who does not gets a third opinion."""

from collections import Counter

import make
import pytest
from answering import answer_all, make_project

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.adaptive_overlap import (
    NextStep,
    OverlapConfig,
    TaskStatus,
    decide,
    task_statuses,
    update_overlap,
)
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior
from dialint.labeling.store import accounts, annotations, gold, projects, tasks
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.records import Gold, NotAllowed, Project
from dialint.labeling.store.tasks import list_answered_tasks

TAXONOMY = load_taxonomy()
NAMES = tuple(f"d{i}" for i in range(12))
CONFIG = OverlapConfig("p", sure=0.9)


@pytest.fixture
def answered(store: Store) -> Store:
    """Ann and ben agree but on d0."""
    make_project(store, len(NAMES), overlap=2, most=3)
    answer_all(store, "ann", {"d0", "d1", "d2", "d3"})
    answer_all(store, "ben", {"d1", "d2", "d3"})
    return store


def test_a_third_answer_only_where_two_disagree(answered: Store) -> None:
    assert update_overlap(answered, "lea", CONFIG, TAXONOMY) == {NextStep.STOP: 11, NextStep.ASK: 1}
    assert update_overlap(answered, "lea", CONFIG, TAXONOMY) == {NextStep.STOP: 11, NextStep.ASK: 1}
    assert answer_all(answered, "cem", {"d0"}) == ["d0"]
    assert answer_all(answered, "dot") == []
    decisions = update_overlap(answered, "lea", OverlapConfig("p", sure=1.0, gain=0.0), TAXONOMY)
    assert decisions == Counter({NextStep.ASK: 11, NextStep.GIVE_UP: 1})
    assert tasks.count_tasks(answered, "lea", "p")["main"]["open"] == 11


def test_corrections_gold_and_bans_are_heard(answered: Store) -> None:
    decided = [update_overlap(answered, "lea", CONFIG, TAXONOMY)]
    mine = next(one for one in annotations.list_annotations(answered, "rob", "d5") if one.labeler == "ann")
    annotations.correct(answered, "ann", int(mine.id), "changed", [make.finding()])
    decided.append(update_overlap(answered, "lea", CONFIG, TAXONOMY))
    true = Gold(dialogue="d0", turn=1, code="C1", present=True, source="expert")
    gold.set_gold(answered, "eve", true)
    decided.append(update_overlap(answered, "lea", CONFIG, TAXONOMY))
    accounts.ban(answered, "lea", "ben", "answers at random")
    decided.append(update_overlap(answered, "lea", CONFIG, TAXONOMY))
    assert [one[NextStep.STOP] for one in decided] == [11, 10, 11, 0]
    assert decided[-1] == {NextStep.ASK: 12}  # ann alone is left everywhere, one fewer than the minimum


def test_who_decided_from_fewer_answers_does_not_overwrite(store: Store) -> None:
    """Ben's answers came, and d0 is to have a third, while somebody still decides from ann's alone."""

    def read(transaction: Transaction) -> list[tasks.TaskProgress]:
        return [one for one in list_answered_tasks(transaction, "p") if one.dialogue == "d0"]

    make_project(store, len(NAMES), overlap=2, most=3)
    answer_all(store, "ann")
    old = store.read(read)
    answer_all(store, "ben", {"d0"})
    tasks.set_wanted(store, "lea", 1, 3)
    for progress, wanted in ((old, 3), (store.read(read), 2)):
        config = OverlapConfig("p", sure=0.9, minimum=1)
        decide(store, "lea", config, 3, progress, {("d0", None): TaskStatus(1.0, ())})
        assert [one.wanted for one in store.read(read)] == [wanted]


def belief(name: str, n_labelers: int, model: float | None = 0.01, gold: bool = False) -> QuestionPosterior:
    return QuestionPosterior(name, 1, "C1", 0.01, n_labelers, 0, n_labelers, model, gold)


def test_no_task_is_sure_on_the_word_of_one() -> None:
    """One answer and a model count as two from 50 questions on which the model was compared with people."""
    few = [belief(f"d{n}", 2) for n in range(49)]
    enough = [*few, belief("d49", 1, gold=True)]
    for others, model, independent in ((few, 0.01, False), (enough, 0.01, True), (enough, None, False)):
        statuses = task_statuses([*others, belief("one", 1, model)], 0.95)
        assert statuses["one", 1].independent is independent
        assert statuses["d0", 1].independent
    assert task_statuses([belief("known", 0, None, gold=True)], 0.95)["known", 1].independent


def test_with_a_minimum_of_one_a_second_answer_is_asked_for(store: Store) -> None:
    make_project(store, len(NAMES), overlap=1, most=3)
    answer_all(store, "ann")
    config = OverlapConfig("p", sure=0.5, minimum=1)
    assert update_overlap(store, "lea", config, TAXONOMY) == {NextStep.ASK: len(NAMES)}
    answer_all(store, "ben")
    assert update_overlap(store, "lea", config, TAXONOMY) == {NextStep.STOP: len(NAMES)}


def test_no_answer_is_asked_for_that_gains_too_little(answered: Store) -> None:
    """Of d0 a third answer decides; the eleven on which two agree are nearly sure, and one more turns none."""
    only = {NextStep.GIVE_UP: 11, NextStep.ASK: 1}
    assert update_overlap(answered, "lea", OverlapConfig("p", sure=1.0), TAXONOMY) == only
    assert tasks.count_tasks(answered, "lea", "p")["main"]["open"] == 1
    nothing = update_overlap(answered, "lea", OverlapConfig("p", sure=0.9, gain=0.5), TAXONOMY)
    assert nothing == {NextStep.STOP: 11, NextStep.GIVE_UP: 1}
    assert tasks.count_tasks(answered, "lea", "p")["main"]["open"] == 0


def test_one_more_answer_is_worth_what_it_gains_on_all_open_questions() -> None:
    def held(turn: int, probability: float, gains: tuple[float, ...]) -> QuestionPosterior:
        return QuestionPosterior("d", turn, "C1", probability, 2, 1, 2, gains=gains)

    posteriors = [held(1, 0.6, (0.02, 0.03)), held(1, 0.3, (0.01, 0.01)), held(2, 0.99, (0.5, 0.5))]
    assert {key: one._replace(independent=True) for key, one in task_statuses(posteriors, 0.95).items()} == {
        ("d", 1): TaskStatus(0.6, (0.03, 0.04)),
        ("d", 2): TaskStatus(0.99, (0.0, 0.0)),
        ("d", None): TaskStatus(0.6, (0.03, 0.04)),
    }


def test_it_stops_before_the_planned_overlap(store: Store) -> None:
    """Four answers were planned; after two that agree the rest is not asked."""
    make_project(store, len(NAMES), overlap=4)
    for who in ("ann", "ben"):
        answer_all(store, who, {"d1", "d2"})
    assert update_overlap(store, "lea", CONFIG, TAXONOMY) == {NextStep.STOP: 12}
    assert tasks.count_tasks(store, "lea", "p")["main"] == {"open": 0, "full": 0, "done": 12, "withdrawn": 0}


def test_who_may_and_where(answered: Store) -> None:
    with pytest.raises(NotAllowed):
        update_overlap(answered, "rob", CONFIG, TAXONOMY)
    projects.create(answered, "lea", Project(id="e", codes=("C1",), purpose="adjudication"))
    with pytest.raises(ConfigError, match="for labels"):
        update_overlap(answered, "lea", OverlapConfig("e"), TAXONOMY)
    with pytest.raises(ConfigError, match="--sure: expected at least"):
        update_overlap(answered, "lea", OverlapConfig("p", sure=0.2), TAXONOMY)
