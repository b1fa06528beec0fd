"""From answers to truth in the store: labels, cases for experts, decisions, bulk acceptance."""

from dataclasses import replace

import make
import pytest
from answering import answer_all, claim, make_project

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.cases import AdjudicateConfig, adjudicate
from dialint.labeling.aggregation.question_posteriors import StoreLabelsConfig, aggregate_store, select_surest
from dialint.labeling.store import annotations, dialogues, gold, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.expert_cases import decide_case, load_case
from dialint.labeling.store.records import NewTask, NotAllowed, Project, StaleLease, StoreRefused

TAXONOMY = load_taxonomy()
PEOPLE = ("ann", "ben", "cem")
VOTES = {"d1": "yyy", "d2": "nnn", "d3": "ynn", "d4": "nnn", "d5": "yyn"}
SETTLE = StoreLabelsConfig("p")
DISPUTED = AdjudicateConfig(into="e", project="p", sure=0.5, disagreements=True)


@pytest.fixture
def answered(store: Store) -> Store:
    """Three people on five dialogues; the model says the same of all."""
    make_project(store, VOTES, codes=("C1", "T1"), overlap=3)
    projects.create(store, "lea", Project(id="e", codes=("C1", "T1"), purpose="adjudication"))
    dialogues.add_verdicts(store, "lea", [make.verdict(name, risk=0.1) for name in VOTES])
    for place, who in enumerate(PEOPLE):
        answer_all(store, who, [name for name, votes in VOTES.items() if votes[place] == "y"])
    return store


def test_answers_become_labels(answered: Store) -> None:
    summary = aggregate_store(answered, "lea", SETTLE, TAXONOMY)
    assert (summary.questions, summary.gold, summary.with_model) == (10, 0, 5)
    labels = {name: dialogues.list_labels(answered, "rob", name) for name in VOTES}
    (first,) = [one for one in labels["d1"] if one.code == "C1"]
    assert (first.turn, first.method, first.n_labelers, first.start, first.end) == (1, "joint", 3, 0, 8)
    probabilities = {name: labels[name][0].probability for name in VOTES}
    assert probabilities["d1"] > probabilities["d5"] > 0.5 > probabilities["d3"] > probabilities["d2"]
    assert aggregate_store(answered, "lea", SETTLE, TAXONOMY) == summary
    assert dialogues.list_labels(answered, "rob", "d1") == labels["d1"]
    with pytest.raises(NotAllowed):
        aggregate_store(answered, "rob", SETTLE, TAXONOMY)


def test_a_label_that_nobody_found_is_written_only_over_an_old_one(answered: Store) -> None:
    summary = aggregate_store(answered, "lea", StoreLabelsConfig("p", least=0.5), TAXONOMY)
    assert summary.labels == 3
    assert dialogues.list_labels(answered, "rob", "d2") == ()
    assert dialogues.list_labels(answered, "rob", "d3")[0].probability < 0.5, "somebody found it"
    for first in annotations.list_annotations(answered, "rob", "d1"):
        annotations.correct(answered, first.labeler, int(first.id), f"{first.labeler} no")
    assert aggregate_store(answered, "lea", StoreLabelsConfig("p", least=0.5), TAXONOMY).labels == 3
    (now,) = dialogues.list_labels(answered, "rob", "d1")
    assert now.probability < 0.5


def test_what_is_open_goes_to_experts_once(answered: Store) -> None:
    config = AdjudicateConfig(into="e", project="p", sure=0.95)
    dry = adjudicate(answered, "lea", replace(config, dry_run=True), TAXONOMY)
    summary = adjudicate(answered, "lea", config, TAXONOMY)
    assert (dry.added, summary.added, summary.cases, summary.disagree) == (0, summary.cases, dry.cases, 2)
    assert summary.cases >= 1
    assert adjudicate(answered, "lea", config, TAXONOMY).added == 0
    assert adjudicate(answered, "lea", DISPUTED, TAXONOMY).cases == 2
    with pytest.raises(ConfigError, match="for adjudication"):
        adjudicate(answered, "lea", AdjudicateConfig(into="p"), TAXONOMY)


def decided(store: Store, wanted: str, *, present: bool) -> int:
    """Emil decides the case of a dialogue; its task."""
    adjudicate(store, "lea", DISPUTED, TAXONOMY)
    while lease := leases.claim(store, "emil", "e", at_once=9):
        if lease.dialogue == wanted:
            case = load_case(store, "emil", lease.task)
            assert [one.labeler for one in case.answers] == list(PEOPLE)
            assert case.task.dialogue.agent == "a1"
            assert case.verdict is not None
            findings = [make.finding()] if present else []
            arguments = (lease.task, lease.token, "key", findings, "the customer had asked twice")
            first = decide_case(store, "emil", *arguments)
            assert decide_case(store, "emil", *arguments) == first
            assert first.kind == "expert"
            return lease.task
    raise AssertionError(wanted)


def test_a_decision_is_gold_and_stands_above_the_crowd(answered: Store) -> None:
    aggregate_store(answered, "lea", SETTLE, TAXONOMY)
    decided(answered, "d5", present=False)
    labels = {one.code: one for one in gold.list_gold(answered, "eve") if one.dialogue == "d5"}
    assert {code: (one.turn, one.present, one.source) for code, one in labels.items()} == {
        "C1": (1, False, "expert"), "T1": (1, False, "expert"),
    }  # fmt: skip
    assert labels["C1"].reason == "the customer had asked twice"
    assert aggregate_store(answered, "lea", SETTLE, TAXONOMY).gold == 2
    best = {one.code: one for one in select_surest(dialogues.list_labels(answered, "rob", "d5"))}
    assert (best["C1"].method, best["C1"].probability) == ("expert", 0.0)
    again = adjudicate(answered, "lea", AdjudicateConfig(into="e", project="p", sure=1.0), TAXONOMY)
    assert again.questions == 8


def test_nothing_is_decided_in_part(answered: Store) -> None:
    adjudicate(answered, "lea", DISPUTED, TAXONOMY)
    lease = claim(answered, "emil", "e")
    with pytest.raises(StoreRefused, match="reason"):
        decide_case(answered, "emil", lease.task, lease.token, "k", [], " ")
    with pytest.raises(StaleLease):
        decide_case(answered, "emil", lease.task, lease.token + 1, "k", [], "why")
    with pytest.raises(StoreRefused, match="E_FINDING"):
        decide_case(answered, "emil", lease.task, lease.token, "k", [make.finding(code="L1")], "why")
    assert gold.list_gold(answered, "eve") == ()


def test_a_case_shows_answers_of_its_own_project(answered: Store) -> None:
    """Another group answers the same dialogues in a project of its own."""
    projects.create(answered, "lea", Project(id="theirs", codes=("C1", "T1"), members=("dot",)))
    tasks.add(answered, "lea", "theirs", [NewTask(dialogue=name) for name in VOTES])
    answer_all(answered, "dot", project="theirs")
    adjudicate(answered, "lea", DISPUTED, TAXONOMY)
    shown = load_case(answered, "emil", claim(answered, "emil", "e").task)
    assert [one.labeler for one in shown.answers] == list(PEOPLE)
    projects.create(answered, "lea", Project(id="all", codes=("C1",), purpose="adjudication"))
    adjudicate(answered, "lea", replace(DISPUTED, into="all", project=None), TAXONOMY)
    shown = load_case(answered, "emil", claim(answered, "emil", "all").task)
    assert [one.labeler for one in shown.answers] == [*PEOPLE, "dot"], "sent from the whole store"


def test_a_task_of_labelers_is_no_case(answered: Store) -> None:
    row = answered.read(lambda t: t.run(tasks.tasks.select()).first())
    assert row is not None
    with pytest.raises(NotAllowed, match="adjudication"):
        load_case(answered, "eve", row.id)


def test_what_is_not_applicable_becomes_no_gold(answered: Store) -> None:
    adjudicate(answered, "lea", DISPUTED, TAXONOMY)
    lease = claim(answered, "emil", "e")
    assert load_case(answered, "emil", lease.task).why.startswith("open: C1 ")
    arguments = (lease.task, lease.token, "key", [make.finding()], "plain")
    with pytest.raises(StoreRefused, match="not applicable has no finding"):
        decide_case(answered, "emil", *arguments, not_applicable=["C1"])
    decide_case(answered, "emil", *arguments, not_applicable=["T1"])
    labels = {one.code: one.present for one in gold.list_gold(answered, "eve")}
    assert labels == {"C1": True}
