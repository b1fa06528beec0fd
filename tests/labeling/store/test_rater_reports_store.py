"""Reports on people straight from the store: what counts, when, and who may read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import make
import pytest
from answering import answer_all

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.people import load_annotations
from dialint.labeling.raters.reports import (
    AgreementConfig,
    AnomalyConfig,
    QualityConfig,
    agreement,
    load_tables,
    load_workload,
    watch,
)
from dialint.labeling.raters.reports import measure as quality
from dialint.labeling.store import accounts, dialogues, gold, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Gold, NewTask, Project
from dialint.labeling.store.stored_annotations import import_annotations

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
N = 24
TAXONOMY = load_taxonomy()


@pytest.fixture
def answered(store: Store) -> Store:
    """ann and ben answer tasks of p, of which two are control tasks with gold; cem, who is banned, as well;
    dot's answers come from elsewhere. ann is right in all, ben passes over what is there."""
    names = [f"d{n}" for n in range(N)]
    dialogues.add(store, "lea", [make.dialogue(name) for name in names])
    projects.create(store, "lea", Project(id="p", codes=("C1",), overlap=3, control_share=0.5))
    projects.create(store, "lea", Project(id="q", codes=("C1",)))
    labels = [Gold(dialogue=f"d{n}", turn=1, code="C1", present=n == 0, source="expert") for n in (0, 1)]
    gold.import_gold(store, "eve", labels)
    new = [NewTask(dialogue=name, pool="control" if name in ("d0", "d1") else "main") for name in names]
    tasks.add(store, "lea", "p", new)
    for who in ("ann", "ben", "cem"):
        answer_all(store, who, names[::2] if who != "ben" else (), seconds=9.0)
    accounts.ban(store, "lea", "cem", "guesses")
    later = datetime.now(UTC) + timedelta(days=9)
    fields = {"labeler": "dot", "kind": "crowd", "codes": ("C1",), "findings": (make.finding(),), "at": later}
    came = [Annotation(id=name, dialogue_id=name, **fields) for name in names[2:6]]
    import_annotations(store, "ada", came, "elsewhere")
    return store


def test_quality_has_control_tasks_and_the_gold_of_the_store(answered: Store) -> None:
    report = quality(QualityConfig(), lambda: load_annotations(answered, "eve", "p"))
    people = {each["name"]: each["overall"] for each in report["labelers"]}
    assert set(people) == {"ann", "ben"}
    n_controls = report["answers"] - 2 * (N - 2)
    assert sum(each["accuracy"]["n"] for each in people.values()) == n_controls > 0
    assert (report["gold"], report["inputs"]) == (2, [])
    doubted = Gold(dialogue="d0", turn=1, code="C1", present=True, source="expert", doubt="contradicted")
    gold.set_gold(answered, "eve", doubted)
    everybody = quality(QualityConfig(), lambda: load_annotations(answered, "eve", None))
    assert everybody["gold"] == 1
    assert {each["name"] for each in everybody["labelers"]} == {"ann", "ben", "dot"}


def test_the_watch_sees_times_and_sizes(answered: Store) -> None:
    report = watch(AnomalyConfig(), lambda: load_workload(answered, "rob", "p", TAXONOMY).crowd())
    assert set(report["workers"]) == {"ann", "ben"}
    assert report["workers"]["ann"]["median_seconds"] == pytest.approx(9)
    assert report["workers"]["ann"]["timed"] == report["workers"]["ann"]["answers"] >= N - 2
    projects.create(answered, "lea", Project(id="q", codes=("C1",)))
    with pytest.raises(ConfigError, match="no answers in q"):
        watch(AnomalyConfig(), lambda: load_workload(answered, "rob", "q", TAXONOMY).crowd())


def test_agreement_is_of_labels_and_evidence(answered: Store) -> None:
    """ann and ben agree on the odd half of 22."""
    config = AgreementConfig(rounds=20)
    figures = agreement(config, lambda: load_tables(answered, "rob", "p", TAXONOMY))["codes"]["C1"]
    assert (figures["answers"], figures["tasks"], figures["labelers"]) == (44, 22, 2)
    assert figures["specific_agreement"]["no"]["value"] == pytest.approx(22 / 33)
    assert figures["spans"]["value"] == 0
    whole = agreement(config, lambda: load_tables(answered, "rob", None, TAXONOMY))["codes"]["C1"]
    assert whole["spans"]["value"] == pytest.approx(4 / 21)  # dot and ann mark the same in d2 and d4
