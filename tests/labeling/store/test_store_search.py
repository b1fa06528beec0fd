"""Searches find what a plain filter over everything finds, page by page, on both databases."""

import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dialint.detector.records import Dialogue, Finding, NotJudged, Turn, Verdict
from dialint.labeling.store import annotations, dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.search import Count, Search, count, list_choices, search

START = datetime(2026, 11, 1, tzinfo=UTC)
N = 42
WORDS = ("parcel", "refund", "Käse", "naïve", "заказ", "早安", "foo_bar", "x-ray")


def made_up(number: int) -> tuple[Dialogue, Verdict | None]:
    rng = random.Random(number)
    text = " ".join(rng.choices(WORDS, k=4))
    at = START + timedelta(hours=rng.randrange(200)) if number % 5 else None
    turns = (Turn(index=0, role="customer", text="Hello", at=at), Turn(index=1, role="agent", text=text))
    one = Dialogue(
        id=f"d{number}", turns=turns, agent=f"a{number % 3}" if number % 4 else None, team=f"t{number % 2}",
        channel=rng.choice(("chat", "email")),
    )  # fmt: skip
    findings = [
        Finding(
            code=rng.choice(("C1", "T1", "U2")), turn=1, severity=rng.choice(("S1", "S2", "S3")),  # type: ignore[arg-type]
            probability=round(rng.random(), 2), quote=text[:3], start=0, end=3, reason="",
        )
        for _ in range(rng.randrange(4))
    ]  # fmt: skip
    if number % 7 == 0:
        return one, None
    split, is_judged = rng.randrange(len(findings) + 1), number % 5 > 1
    gap = NotJudged(language="fi", turns=(1,), codes=("C2",))
    return one, Verdict(
        dialogue_id=one.id, release=f"r{number % 2}", taxonomy="1.0.0",
        status="scored" if is_judged else "not_judged", quality=50.0 if is_judged else None,
        not_judged=() if is_judged else (gap,),
        findings=tuple(findings[:split]), suggestions=tuple(findings[split:]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def full(lasting_store: Store) -> Store:
    store = lasting_store
    both = [made_up(number) for number in range(N)]
    dialogues.add(store, "lea", [one for one, _ in both])
    dialogues.add_verdicts(store, "lea", [verdict for _, verdict in both if verdict is not None])
    for one, verdict in both[::4]:
        if verdict is not None:
            codes = ("C1", "T1")
            confirmed = [each for each in verdict.findings if each.code in codes][:1]
            annotations.review(store, "rob", one.id, f"k{one.id}", codes, confirmed, expected=None)
    return store


def pages(store: Store, wanted: Search, per_page: int = 7) -> list[Any]:
    hits, after = [], None
    for _ in range(200):
        results = search(store, "rob", wanted, after, per_page)
        hits += results.hits
        after = results.after
        if after is None:
            return hits
    raise AssertionError("no end")


def passes(hit: Any, wanted: Search) -> bool:
    """The filters again, in the plainest way."""
    for name in ("agent", "team", "channel", "release", "status", "review"):
        if getattr(wanted, name) not in (None, getattr(hit, name)):
            return False
    if wanted.since_ms is not None and hit.at_ms < wanted.since_ms:
        return False
    if wanted.until_ms is not None and hit.at_ms >= wanted.until_ms:
        return False
    if wanted.text and wanted.text.lower() not in TEXTS[hit.dialogue].lower():
        return False
    return not wanted.is_of_findings or bool(matching(hit, wanted))


def matching(hit: Any, wanted: Search) -> list[Any]:
    return [
        each
        for each in hit.findings
        if wanted.code in (None, each.code)
        and wanted.severity in (None, each.severity)
        and wanted.decision in (None, each.decision)
        and (wanted.kind is None or each.suggestion == (wanted.kind == "suggestion"))
        and (wanted.least is None or each.probability >= wanted.least)
        and (wanted.most is None or each.probability <= wanted.most)
    ]


def highest(hit: Any, wanted: Search) -> float:
    """The probability by which a hit is ranked: of what is asked for, or of all that the model said."""
    matches = matching(hit, wanted) if wanted.is_of_findings else hit.findings
    proposed = [each for each in matches if wanted.is_of_findings or each.decision != "added"]
    return max((each.probability for each in proposed), default=0.0)


OPTIONS: dict[str, tuple[Any, ...]] = {
    "text": ("", "refund"),
    "code": (None, "C1"),
    "kind": (None, "finding", "suggestion"),
    "decision": (None, "open", "rejected"),
    "least": (None, 0.4),
    "agent": (None, "a1"),
    "review": (None, "none", "reviewed"),
    "status": (None, "scored", "not_judged"),
    "since_ms": (None, round(START.timestamp() * 1000) + 90 * 3_600_000),
}


def test_every_mix_of_filters_finds_what_a_plain_filter_finds(full: Store) -> None:
    """Pages of 7 joined are the whole sorted list; a sample of all mixes, and every single filter, with and
    without a status, which only the table of dialogues has."""
    everything = pages(full, Search(), 100)
    assert len({each.dialogue for each in everything}) == N
    mixes = [dict(zip(OPTIONS, values, strict=True)) for values in itertools.product(*OPTIONS.values())]
    singles = [each for each in mixes if sum(map(bool, {**each, "status": None}.values())) <= 1]
    chosen = random.Random(1).sample(mixes, 10) + singles
    for mix, sort in itertools.product(chosen, ("newest", "likely")):
        wanted = Search(**mix, sort=sort)
        hits = pages(full, wanted)
        expected = [each for each in everything if passes(each, wanted)]
        assert sorted(each.dialogue for each in hits) == sorted(each.dialogue for each in expected), mix
        assert count(full, "rob", wanted) == Count(n=len(expected), exact=True), mix
        if sort == "newest":
            assert [each.dialogue for each in hits] == [each.dialogue for each in expected], mix
        else:
            best = [highest(each, wanted) for each in hits]
            assert best == sorted(best, reverse=True), mix


TEXTS = {f"d{n}": " ".join(turn.text for turn in made_up(n)[0].turns) for n in range(N)}


@pytest.mark.parametrize(("query", "word"), [
    ("KASE", "Käse"), ("käse", "Käse"), ("naive", "naïve"), ("Заказ", "заказ"), ("早", "早安"),
    ("foo_bar", "foo_bar"), ("x-ray", "x-ray"), ("parc*", "parcel"), ('"hello', "Hello"),
])  # fmt: skip
def test_words_are_found_whatever_their_script(full: Store, query: str, word: str) -> None:
    hits = pages(full, Search(text=query))
    assert {each.dialogue for each in hits} == {name for name, text in TEXTS.items() if word in text}
    assert all(word in each.snippet.text for each in hits)


@pytest.mark.parametrize(
    "query", ["!!!", '"', "nothing-like-it", "' OR 1=1 --", 'NEAR("a" "b")', "a:*", "\x00", "(", "☃"]
)
def test_whatever_is_typed_is_no_syntax(full: Store, query: str) -> None:
    for sort in ("newest", "likely"):
        assert search(full, "rob", Search(text=query, sort=sort)).hits == ()
    assert count(full, "rob", Search(text=query)) == Count(n=0, exact=True)


def test_choices_are_what_there_is(full: Store) -> None:
    assert list_choices(full, "rob") == (
        ("a0", "a1", "a2"), ("t0", "t1"), ("chat", "email"), ("r0", "r1"), ("C1", "T1", "U2"),
    )  # fmt: skip


def test_a_search_is_a_read(full: Store) -> None:
    """Later answers to dialogues in the result of a search are not blind."""
    search(full, "ria", Search(text="nothing"))
    blind = annotations.review(full, "ria", "d7", "k7", ["C1"], expected=None)
    assert not blind.seen_verdict
    search(full, "ria", Search())
    seen = annotations.review(full, "ria", "d14", "k14", ["C1"], expected=None)
    assert seen.seen_verdict
