"""Flags of answers faster than reading. All people here are simulated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from dialint.detector.records import Dialogue, Turn
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.anomalies import find_anomalies, measure_response_times
from dialint.labeling.raters.people import measure_workload
from dialint.labeling.raters.reports import quality_figures

WORDS = "word " * 60
TURNS = tuple(
    Turn(index=i, role=("customer", "agent")[i % 2], text=text)
    for i, text in enumerate((WORDS, WORDS, "ok", "Bye"))
)
DIALOGUES = {f"d{n}": Dialogue(id=f"d{n}", turns=TURNS) for n in range(30)}
"""To read: 120 words to the first agent's turn, 7.2 s at 1000 words a minute; hardly more to the second."""


def annotate(number: int, who: str, seconds: float, turn: int = 1) -> Annotation:
    return Annotation(
        id=f"{who} {number} {turn}", dialogue_id=f"d{number}", turn=turn, labeler=who, kind="crowd",
        codes=("C1",), seconds=seconds, at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
    )  # fmt: skip


def flags(annotations: list[Annotation]) -> set[tuple[str, str]]:
    anomalies = find_anomalies(*measure_workload(annotations, DIALOGUES, frozenset()).crowd())
    fast = [flag for flag in anomalies.flags if flag.kind in ("too fast", "unread")]
    return {(flag.kind, name) for flag in fast for name in flag.workers}


def reader(who: str, seed: int, words_per_minute: float = 238.0) -> list[Annotation]:
    """Somebody who reads at that speed, each time by another third."""
    random = np.random.default_rng(seed)
    seconds = 60 * 120 / words_per_minute * np.exp(random.normal(0.0, 0.3, 30))
    return [annotate(n, who, float(seconds[n])) for n in range(30)]


def test_two_cheats_at_two_seconds_are_flagged_where_there_is_nobody_to_compare_with() -> None:
    cheats = [annotate(n, who, 2.0) for who in ("ann", "ben") for n in range(30)]
    assert flags(cheats) == {("unread", "ann"), ("unread", "ben")}
    report = quality_figures(cheats, DIALOGUES, {})
    assert {"unread"} <= {flag["kind"] for flag in report["flags"]}


def test_readers_are_left_alone_also_quick_ones_and_who_skips_now_and_then() -> None:
    """30 made-up pairs, the second at twice the average speed, skipping one answer in fifteen."""
    wrong = set()
    for seed in range(30):
        quick = reader("quick", 1000 + seed, 476.0)
        quick[3], quick[17] = annotate(3, "quick", 1.0), annotate(17, "quick", 1.0)
        wrong |= flags(reader("reader", seed) + quick)
    assert wrong == set()


def test_what_was_read_before_need_not_be_read_again() -> None:
    answers = [one for n in range(30) for one in (annotate(n, "ann", 20.0), annotate(n, "ann", 1.0, turn=3))]
    assert flags([*answers, *reader("ben", 1)]) == set()
    alone = [annotate(n, "ann", 1.0, turn=3) for n in range(30)]
    assert flags([*alone, *reader("ben", 1)]) == {("unread", "ann")}


def test_the_floor_needs_texts() -> None:
    zeros = np.zeros(4, np.int32)
    answers = Answers(
        np.arange(4, dtype=np.int32), zeros, zeros, tuple("abcd"), ("w",), ("x",), np.full(4, 0.1)
    )
    assert measure_response_times(answers).unread.tolist() == [0.0]
    assert measure_response_times(answers, np.full(4, 600.0)).unread.tolist() == [4.0]
