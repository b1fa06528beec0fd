"""The Explore page and the page of a dialogue: filters in the address, inert text."""

from collections.abc import Callable
from typing import Any

import pytest
from console_records import make_finding, make_verdict

from dialint.app.console.quality.dialogue_page import list_marks
from dialint.app.console.quality.explore import NAMES, make_search
from dialint.app.console.text import no_findings_text, quality_text, verdict_text
from dialint.detector.records import Dialogue, JudgeRecord, NotJudged, Turn
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store import annotations, dialogues, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.history import read_history
from dialint.labeling.store.records import Project
from dialint.labeling.store.search import Search, search

HOSTILE_NAME = "![x](https://evil.test/x.png) <script>"


def rows(page: Any) -> list[dict[str, Any]]:
    (table,) = [
        each
        for each in page.test.table
        if "Dialogue" in each.value.columns and "Findings" in each.value.columns
    ]
    return list(table.value.to_dict("records"))


def control(page: Any, name: str) -> Any:
    return next(
        each
        for kind in ("text_input", "selectbox", "date_input", "slider")
        for each in page.test.get(kind)
        if each.key == f"explore {name}"
    )


def test_all_dialogues_newest_first_and_a_filter_goes_into_the_address(open_page: Callable[..., Any]) -> None:
    page = open_page("rob", at="Explore")
    assert len(rows(page)) == 5
    assert "5 dialogues" in page.words
    control(page, "code").set_value("T1")
    page.run()
    assert [each["Dialogue"] for each in rows(page)] == ["[d2](/dialogue?id=d2&from=explore&code=T1)"]
    assert page.test.query_params["code"] in ("T1", ["T1"])
    assert control(open_page("rob", at="Explore", code="T1"), "code").value == "T1", "and comes back from it"
    assert "C1 S2" in rows(page)[0]["Findings"]
    control(page, "q").set_value("nothing like it")
    page.run()
    assert "No dialogue passes all filters." in page.words
    page.press("Clear all filters")
    assert len(rows(page)) == 5
    assert control(page, "code").value is None


@pytest.mark.parametrize(("address", "is_in_list"), [
    ({"since": "yesterday", "least": "-4", "sort": "x", "severity": "S9", "status": "?", "after": "junk"}, True),
    ({"q": "\x00\"((", "agent": HOSTILE_NAME, "code": HOSTILE_NAME, "after": "nan_5"}, False),
    ({"least": "90", "most": "10", "until": "9999-99-99", "after": "1.0_99999999999999999999999"}, False),
    ({"q": "nothing like it"}, False),
    ({"from": "elsewhere"}, False),
])  # fmt: skip
def test_an_address_that_somebody_made_up_breaks_nothing(
    open_page: Callable[..., Any], address: dict[str, str], is_in_list: bool
) -> None:
    """Invalid values are no filters; a dialogue that is not in the list leads nowhere."""
    assert "https://evil" not in open_page("rob", at="Explore", **address).words
    page = open_page("rob", at="Dialogue", id="d1", **{"from": "explore", **address})
    for label in ("◀ Previous", "Next ▶"):
        assert (label in page.labels and page.enabled(label)) == is_in_list
    assert "Review this" in page.labels
    if is_in_list:
        assert "Review this" in page.press("◀ Previous").labels


def test_the_address_of_a_search_is_the_search() -> None:
    chosen = {
        "q": "refund", "code": "C1", "status": "rejected", "severity": "S2", "kind": "finding", "least": "25", "most": "50",
        "agent": "a", "team": "b", "channel": "c", "release": "d", "since": "1971-02-05", "until": "1971-05-15",
        "sort": "likely",
    }  # fmt: skip
    assert set(chosen) == set(NAMES)
    assert make_search(chosen) == Search(
        text="refund", code="C1", severity="S2", kind="finding", decision="rejected", least=0.25, most=0.5,
        agent="a", team="b", channel="c", release="d", since_ms=86_400_000 * 400, until_ms=86_400_000 * 500,
        sort="likely",
    )  # fmt: skip


def test_leads_send_results_to_review(open_page: Callable[..., Any], store: Store) -> None:
    """By one click, to the project that is chosen where there are several."""
    assert not [each for each in open_page("rob", at="Explore").labels if each.startswith("Send")]
    n = tasks.count_tasks(store, "lea", "to review")["main"]["open"]
    open_page("lea", at="Explore", code="C1").press("Send 4 dialogues to review")
    page = open_page("lea", at="Explore").press("Send 5 dialogues to review")
    assert "1 new task: to review" in page.text
    assert tasks.count_tasks(store, "lea", "to review")["main"]["open"] == n + 2
    projects.create(store, "lea", Project(id="other", codes=("C1",), purpose="review", prelabelled=True))
    page = open_page("lea", at="Explore").choose("Project", "other").press("Send 5 dialogues to review")
    assert "5 new tasks: other" in page.text
    for name in ("other", "to review"):
        projects.set_state(store, "lea", name, "closed")
    assert not open_page("lea", at="Explore").enabled("Send 5 dialogues to review")


def walk(page: Any, label: str, most: int = 99) -> list[str]:
    """The dialogues that a button leads to, one after another, until it is closed."""
    seen: list[str] = []
    while page.enabled(label) and len(seen) < most:
        page.press(label)
        value = page.test.query_params["id"]
        seen.append(value if isinstance(value, str) else value[0])
    return seen


def test_next_and_previous_follow_the_list_over_its_pages(
    open_page: Callable[..., Any], store: Store
) -> None:
    more = [Dialogue(id=f"m{n:03d}", turns=(Turn(index=0, role="agent", text="word"),)) for n in range(60)]
    dialogues.add(store, "lea", more)
    results = search(store, "rob", Search(text="word"))
    rest = search(store, "rob", Search(text="word"), results.after)
    names = [hit.dialogue for hit in (*results.hits, *rest.hits)]
    address = {"from": "explore", "q": "word"}
    page = open_page("rob", at="Explore", q="word").press("Next page ▶")
    assert "60 dialogues" in page.words
    assert ([f"[{name}]" in row["Dialogue"] for name, row in zip(names[50:], rows(page), strict=True)]) == [
        True
    ] * 10
    assert not page.enabled("Next page ▶")
    page = open_page("rob", at="Dialogue", id=names[48], **address)
    assert walk(page, "Next ▶", 4) == names[49:53]
    assert page.test.query_params["q"] in ("word", ["word"])
    assert walk(page, "◀ Previous", 4) == names[51:47:-1]
    page = open_page("rob", at="Dialogue", id=names[1], **address)
    assert walk(page, "◀ Previous") == [names[0]]
    page = open_page("rob", at="Dialogue", id=names[59], after=results.after, **address)
    assert walk(page, "Next ▶") == []


def test_a_dialogue_that_left_the_search_keeps_its_place(open_page: Callable[..., Any], store: Store) -> None:
    names = [hit.dialogue for hit in search(store, "rob", Search(review="none")).hits]
    page = open_page("rob", at="Dialogue", id=names[1], **{"from": "explore", "status": "unreviewed"})
    annotations.review(store, "ria", names[1], "k", ["C1"], [], expected=None)
    page.press("Next ▶")
    assert page.test.query_params["id"] in (names[2], [names[2]])


ALL = tuple(load_taxonomy().codes)
SHIPPED = Release(EMBEDDED, has_scan=False).info
SILENT = JudgeRecord(name="j", prompt="1", codes=("A1", "C2"), failures={"E_ANSWER": ("A1",)})


@pytest.mark.parametrize(("fields", "n", "is_whole"), [
    ({"probabilities": {1: {"C1": 0.1, "T1": 0.2}}}, 2, True),
    ({"probabilities": {1: dict.fromkeys(ALL, 0.1)}}, len(ALL), True),
    ({"probabilities": {1: dict.fromkeys(ALL, 0.1)}, "release": SHIPPED.id}, len(SHIPPED.covered), True),
    ({}, None, True),
    ({"probabilities": {1: {"C1": 0.1}}, "judge": SILENT}, 2, False),
    ({"probabilities": {1: {"C1": 0.1}}, "judged_share": 0.5,
      "not_judged": (NotJudged(language="fi", turns=(3,), codes=("C1",)),)}, 1, False),
])  # fmt: skip
def test_no_findings_text_counts_judged_codes(fields: dict[str, Any], n: int | None, is_whole: bool) -> None:
    score = 100.0 if is_whole else None
    clean = make_verdict("d5", quality=score, **fields)
    expected = "No findings. It is not known which codes were looked for."
    if n is not None:
        expected = f"No findings among the {n} codes that were looked for; {len(ALL) - n} were not: "
    if n == len(ALL):
        expected = f"No findings among all {n} codes."
    assert expected in no_findings_text(clean, load_taxonomy())
    assert quality_text(clean) == ("Quality 100" if is_whole else "Quality unknown: a part was not judged")
    assert expected.rstrip(".") in verdict_text(clean, 0)


def test_a_dialogue_page_tells_the_whole_history(open_page: Callable[..., Any], store: Store) -> None:
    annotations.review(store, "rob", "d1", "k", ["C1"], [make_finding(probability=1.0)], expected=None)
    annotations.correct(store, "rob", 1, "k1")
    page = open_page("ria", at="Dialogue", id="d1")
    words = page.words
    for line in ("came to the store", "Verdict of model", "Review by rob", "not blind", "corrected later"):
        assert line in words.replace("\\", ""), line
    actions = [each.value for each in page.test.table if "Action" in each.value.columns]
    assert "annotate" in list(actions[0]["Action"])
    similar = [each.value for each in page.test.table if "Same words" in each.value.columns]
    assert "[d2](/dialogue?id=d2)" in list(similar[0]["Dialogue"]), "d2 says the same"
    assert annotations.review(store, "ria", "d1", "k2", ["T1"], expected=2, turn=None).seen_verdict


def test_a_dialogue_page_marks_what_people_added(store: Store) -> None:
    found = [make_finding("T1", 3, "We will", 1.0), make_finding("U2", 3, "look", start=8)]
    annotations.review(store, "rob", "d2", "k", ["C1", "T1", "U2"], found, expected=None)
    marks = list_marks(read_history(store, "ria", "d2"))
    assert [(mark.label, mark.selection.start) for mark in marks] == [("1 C1", 0), ("2 T1", 0), ("+ U2", 8)]
