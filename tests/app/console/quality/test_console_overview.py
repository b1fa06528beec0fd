"""The Overview page: what it counts, whom it sets apart, and where its numbers lead."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from console_records import make_dialogue, make_finding, make_verdict

from dialint.app.console.quality.overview import LEAST_DIALOGUES, rank_agents
from dialint.app.console.tables import Period, last_days
from dialint.detector.records import NotJudged
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.statistics import compare_shares
from dialint.labeling.store import annotations, dialogues
from dialint.labeling.store.database.transactions import Store


def test_an_agent_is_set_apart_only_by_evidence() -> None:
    """18 of 20 against 60 of 200 is more, 0 of 40 is fewer; 5 of 5 are too few to say so, and 8 of 20 is
    within its interval, 0.22 to 0.61. What nobody has decided sets nobody apart, in either direction."""

    def rank(a: tuple[int, ...], rest: tuple[int, ...] = (60, 60, 200)) -> int:
        return rank_agents({"a": (a[0], a[-2], a[-1]), "rest": (rest[0], rest[1], rest[2])})["a"]

    assert rank((18, LEAST_DIALOGUES)) == 1
    assert rank((0, 40)) == -1
    assert rank((LEAST_DIALOGUES - 1, LEAST_DIALOGUES - 1)) == 0
    assert rank((8, 20)) == 0
    assert rank((1, 20), (0, 0, 2000)) == 0, "one event is chance"
    assert rank_agents({"a": (18, 18, 20)})["a"] == 0, "nobody to compare with"
    assert rank((6, 18, 20)) == 0, "twelve of its errors are nobody's decision"
    assert rank((18, 20), (60, 180, 200)) == 0, "so are those of the others"
    assert rank((0, 12, 40)) == 0
    assert rank((0, 40), (0, 60, 200)) == 0
    assert rank((17, 18, 20), (58, 62, 200)) == 1
    assert compare_shares(6, 20, 0, 80) == "more"
    assert compare_shares(1, 20, 0, 80) == "unknown", "though its interval leaves out zero"


def test_periods_are_whole_days() -> None:
    period = last_days(7, date(2026, 11, 25))
    assert (period.first, period.before) == (
        date(2026, 11, 19),
        Period(date(2026, 11, 12), date(2026, 11, 18)),
    )
    assert period.before.until_ms == period.since_ms
    assert period.since_ms == datetime(2026, 11, 19, tzinfo=UTC).timestamp() * 1000
    assert period.filters == {"since": "2026-11-19", "until": "2026-11-25"}


@pytest.mark.parametrize("title", ["Overview", "Coaching"])
def test_dialogues_outside_of_the_period_are_counted_and_can_be_opened(
    store: Store, open_page: Callable[..., Any], title: str
) -> None:
    """A dialogue of 2019 beside those that came today."""
    one, verdict = dialogues.read(store, "lea", "d1")
    assert verdict is not None
    turns = tuple(turn.model_copy(update={"at": datetime(2019, 3, 1, tzinfo=UTC)}) for turn in one.turns)
    dialogues.add(store, "lea", [one.model_copy(update={"id": "old", "turns": turns, "agent": "a1"})])
    dialogues.add_verdicts(store, "lea", [verdict.model_copy(update={"dialogue_id": "old"})])
    page = open_page("lea", at=title)
    outside = "1 dialogue is outside of this period"
    assert outside in page.words
    before = page.test.metric[0].value
    page.press("Show all dialogues")
    assert "outside of this period" not in page.words
    assert int(page.test.metric[0].value) == int(before) + 1
    assert "2019" in page.words
    page.test.segmented_control[0].set_value(7).run()
    assert outside in page.words


def test_the_page_counts_what_was_decided(store: Store, open_page: Callable[..., Any]) -> None:
    annotations.review(store, "rob", "d1", "rob", ["C1", "T1", "C2"], [], expected=None)
    page = open_page("lea")
    metrics = {each.label: each.value for each in page.test.metric}
    assert metrics["Scored dialogues"] == "4"
    assert metrics["With a finding"] == "100\xa0%"
    assert metrics["Reviewed"] == "1"
    assert metrics["Confirmed"] == "0\xa0%"
    cells = "\n".join(each.value.to_string() for each in page.test.table)
    assert "code=C1&kind=finding&since=" in cells
    assert "75 % (30–95)" in cells.replace("\\", ""), "of a1: d1 was cleared"
    assert "not enough evidence" in cells

    deltas = {each.label: each.delta for each in page.test.metric}
    assert (metrics["Reviewed score"], deltas["Reviewed score"]) == ("–", "model 75.0"), (
        "one read is no evidence"
    )
    assert (metrics["Backlog"], deltas["Backlog"]) == ("–", "unknown")
    assert page.test.table[2].value["Reviewed"].to_list()[0] == "100\\.0", "what people decided"
    coaching = open_page("lea", at="Coaching", agent="a1")
    metrics = {each.label: each.value for each in coaching.test.metric}
    assert metrics["Reviewed score"] == "–"
    assert "not enough evidence" in coaching.words


def test_shares_of_errors_are_of_the_dialogues_that_were_judged(
    store: Store, open_page: Callable[..., Any]
) -> None:
    """Of nine dialogues one failed; C1 was not looked for in two, and C3 not in that of the shipped release."""
    gap = NotJudged(language="fi", turns=(3,), codes=("C1",))
    said: list[dict[str, Any]] = [
        {"no_policy": ("C1",)}, {"not_judged": (gap,), "agent_turns": 1}, {"not_judged": (gap,), "agent_turns": 2},
        {"release": Release(EMBEDDED, has_scan=False).info.id, "quality": 90.0},
        {"status": "failed", "failure": "E_SIZE"},
    ]  # fmt: skip
    names = [f"n{place}" for place in range(len(said))]
    dialogues.add(store, "lea", [make_dialogue(name, "Hello", "Hi") for name in names])
    verdicts = [
        make_verdict(name, **{"quality": None, **more}) for name, more in zip(names, said, strict=True)
    ]
    verdicts[2] = verdicts[2].model_copy(update={"findings": (make_finding("C3", quote="Hi"),)})
    dialogues.add_verdicts(store, "lea", verdicts)
    annotations.review(store, "rob", "d1", "rob", ["C1"], [], expected=None)
    page = open_page("lea")
    (rows,) = (each.value for each in page.test.table if "Share of judged dialogues" in each.value.columns)
    shares = [each.replace("\\", "") for each in rows["Share of judged dialogues"]]
    assert shares == ["67 % (30–90) of 6", "12 % (2–47) of 8", "14 % (3–51) of 7"]
    assert rows["Confirmed of decided"][0].replace("\\", "") == "0 % (0–79) of 1"
    assert "Left out are those to which no policy" in page.words
