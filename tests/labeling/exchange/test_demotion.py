"""Codes are demoted by what reviewers, experts and appeals say of their findings, release by release."""

from pathlib import Path

import make
import pytest
from answering import answer, answer_all

from dialint.detector.errors import ConfigError
from dialint.detector.overrides import Overrides, read_overrides
from dialint.labeling.exchange.demotion import Confirmations, DemoteConfig, count_confirmed, demote
from dialint.labeling.store import annotations, dialogues, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Project


@pytest.fixture
def reviewed(store: Store) -> Store:
    """Twelve dialogues, each with a C1 and a T1 of the same turn; the reviewer confirms two of the C1 and all of
    the T1 but one. A labeler's blind answers confirm nothing."""
    names = [f"d{i}" for i in range(12)]
    dialogues.add(store, "lea", [make.dialogue(name) for name in names])
    verdicts = [make.verdict(name, make.finding(), make.finding("T1")) for name in names]
    verdicts.append(make.verdict("d0", make.finding(), release="embedded-2"))
    dialogues.add_verdicts(store, "lea", verdicts)
    review = Project(id="r", codes=("C1", "T1"), purpose="review", prelabelled=True)
    for project in (review, Project(id="l", codes=("C1", "T1"))):
        projects.create(store, "lea", project)
        tasks.add(store, "lea", project.id, [NewTask(dialogue=name) for name in names])
    for number in range(12):
        codes = [code for code, n in (("C1", 2), ("T1", 11)) if number < n]
        answer(store, "rob", "r", f"rob {number}", [make.finding(code, probability=1.0) for code in codes])
    answer_all(store, "ann", project="l")
    return store


def test_answers_are_counted_by_release_and_code(reviewed: Store) -> None:
    counts = count_confirmed(reviewed, "rob", frozenset())
    assert counts == {
        "embedded-1": {
            "C1": Confirmations(confirmed=2, answered=12), "T1": Confirmations(confirmed=11, answered=12),
        },
        "embedded-2": {"C1": Confirmations(confirmed=1, answered=1)},
    }  # fmt: skip


def test_a_code_that_is_seldom_confirmed_is_demoted_from_then_on(reviewed: Store, tmp_path: Path) -> None:
    out = tmp_path / "overrides.yaml"
    with pytest.raises(ConfigError, match="--release: one of embedded-1, embedded-2"):
        demote(reviewed, "rob", DemoteConfig(overrides=out))
    for _ in range(2):  # written anew each time
        demote(reviewed, "rob", DemoteConfig(overrides=out, release="embedded-1"))
    reason = "people confirmed 2 of 12 findings of embedded-1"
    assert read_overrides(out) == Overrides(release="embedded-1", demoted={"C1": reason})


@pytest.mark.parametrize(
    ("confirmed", "answered", "demoted"),
    [(0, 9, False), (0, 10, True), (2, 10, True), (3, 10, False), (10, 30, True), (11, 30, False)],
)
def test_a_code_is_demoted_if_it_is_surely_confirmed_less_than_half_of_the_time(
    confirmed: int, answered: int, demoted: bool
) -> None:
    """By hand: P(X <= 2) of 10 at one half is 56 / 1024 = .055 and P(X <= 3) is 176 / 1024 = .172, so that at
    a confidence of .9 the bound of 2 is under one half and that of 3 is not."""
    counts = Confirmations(confirmed=confirmed, answered=answered)
    assert (
        bool(DemoteConfig(below=0.5, confidence=0.9, least=10).select_demoted("r", {"C1": counts})) is demoted
    )


def test_an_expert_decides_before_a_reviewer(reviewed: Store) -> None:
    """Of the two confirmed C1 the expert finds one absent."""
    annotations.review(reviewed, "eve", "d0", "again", ("C1",), [], expected=None)
    counts = count_confirmed(reviewed, "rob", frozenset())
    assert counts["embedded-1"]["C1"] == Confirmations(confirmed=1, answered=12)
    assert counts["embedded-2"]["C1"] == Confirmations(confirmed=0, answered=1)
