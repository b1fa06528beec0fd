"""A calibration round from its start to its report, on both databases."""

import math
from dataclasses import replace
from typing import Any

import pytest

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.calibration_session import (
    CalibrationConfig,
    load_results,
    start_session,
)
from dialint.labeling.store import accounts, annotations, dialogues, leases
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NotAllowed

TAXONOMY = load_taxonomy()
GROUP = ("ann", "ben", "rob")


@pytest.fixture
def group(store: Store, made: Any) -> Store:
    for who in GROUP:
        accounts.set_skills(store, "ada", who, ("g",))
    dialogues.add(store, "lea", [made.dialogue(f"d{i:02}") for i in range(24)])
    return store


def answer(store: Store, made: Any, name: str, yes: dict[str, Any]) -> dict[str, list[str]]:
    """Everybody answers; `yes` says of which dialogues (in order) somebody finds C1."""
    seen: dict[str, list[str]] = {}
    for who in GROUP:
        while lease := leases.claim(store, who, name):
            place = len(seen.setdefault(who, []))
            seen[who].append(lease.dialogue)
            found = [made.finding()] if yes[who](place) else []
            annotations.submit(store, who, lease.task, lease.token, f"{name} {who} {place}", found)
    return seen


def test_the_same_dialogues_to_all_and_a_report(group: Store, made: Any) -> None:
    config = CalibrationConfig(name="w1", codes=("C1", "T1"), skill="g", n=10)
    told = start_session(group, "lea", config, TAXONOMY)
    assert (told.people, told.tasks) == (GROUP, 10)
    assert start_session(group, "lea", config, TAXONOMY) == told
    odd = {
        "ann": lambda place: True,
        "ben": lambda place: place % 2 == 0,
        "rob": lambda place: place % 2 == 0,
    }
    seen = answer(group, made, "w1", odd)
    assert sorted(seen["ann"]) == sorted(seen["ben"]) == sorted(seen["rob"])
    assert len(set(seen["ann"])) == 10
    with pytest.raises(NotAllowed, match="lacks g"):
        leases.claim(group, "cem", "w1")

    start_session(group, "lea", CalibrationConfig(name="w2", codes=("C1",), skill="g", n=10), TAXONOMY)
    answer(group, made, "w2", dict.fromkeys(GROUP, lambda place: place % 2 == 0))
    found = load_results(group, "lea", "w2", "w1", TAXONOMY)
    (agreement,) = found.agreement
    assert agreement.before is not None
    assert agreement.now.value == 1.0 > agreement.before.value
    first = load_results(group, "lea", "w1", None, TAXONOMY)
    leans = {one.worker: one.leans for one in first.biases if one.code == "C1"}
    assert leans == {"ann": "strict", "ben": "lenient", "rob": "lenient"}
    ann = next(one for one in first.biases if (one.worker, one.code) == ("ann", "C1"))
    assert (ann.yes, ann.others, ann.difference.value) == (1.0, 0.5, 0.5)
    assert math.isnan(first.agreement[1].now.value), "nobody ever found T1"


def test_a_round_needs_dialogues_and_answers(group: Store) -> None:
    config = CalibrationConfig(name="w", codes=("C1",), skill="g", n=24)
    with pytest.raises(ConfigError, match="24"):
        start_session(group, "lea", replace(config, n=25), TAXONOMY)
    assert start_session(group, "lea", config, TAXONOMY).tasks == 24
    with pytest.raises(ConfigError, match="no answers"):
        load_results(group, "lea", "w", None, TAXONOMY)
    with pytest.raises(NotAllowed):
        start_session(group, "rob", CalibrationConfig(name="v", codes=("C1",), skill="g"), TAXONOMY)
