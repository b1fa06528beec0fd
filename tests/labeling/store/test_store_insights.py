"""Counts by day, code and agent follow every decision at once, on both databases."""

from typing import Any

from dialint.labeling.store import annotations, dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.insights import Totals, read_groups, read_totals

EVER = (0, 2_000_000_000_000)


def test_totals_follow_a_confirmation_and_a_rejection(store: Store, made: Any) -> None:
    dialogues.add(store, "lea", [made.dialogue(name, agent) for name, agent in (("d1", "a1"), ("d2", "a2"))])
    assert read_totals(store, "lea", *EVER) == Totals(stored=2)
    dialogues.add_verdicts(store, "lea", [made.verdict("d1", made.finding()), made.verdict("d2")])
    assert read_totals(store, "lea", *EVER) == Totals(stored=2, dialogues=2, flagged=1, findings=1)
    first = annotations.review(store, "rob", "d1", "k", ["C1"], [made.finding()], expected=None)
    expected = Totals(stored=2, dialogues=2, flagged=1, findings=1, reviewed=1, confirmed=1)
    assert read_totals(store, "lea", *EVER) == expected
    annotations.review(store, "ria", "d1", "k2", ["C1"], [], expected=int(first.id))
    expected = expected.model_copy(update={"confirmed": 0, "rejected": 1})
    assert read_totals(store, "lea", *EVER) == expected
    (group,) = read_groups(store, "lea", "code", *EVER)
    assert (group.key, group.flagged, group.reviewed, group.rejected) == ("C1", 1, 1, 1)
    groups = read_groups(store, "lea", "agent", *EVER)
    assert [(each.key, each.findings, each.stored) for each in groups] == [("a1", 1, 1), ("a2", 0, 1)]
