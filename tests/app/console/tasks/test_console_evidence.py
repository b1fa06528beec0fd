"""The clause and the sources beside a finding: what is stored of them, what is missing, and by which key."""

from collections.abc import Callable
from typing import Any

import pytest
from console_records import add_to_review, make_dialogue, make_finding

from dialint.app.console.tasks.evidence import PolicyTexts, find_evidence
from dialint.detector.records import Dialogue, Finding
from dialint.labeling.store import documents
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.documents import PublishedText

POLICY = """\
policy: shop
clauses:
  - id: look-first
    text: {text}
    on: refund
    before: find
  - id: no-guarantees
    text: Guarantee nothing.
    on: {{says: guarantee}}
    limit: {{at_most: 0}}
"""
CLAUSE = "Look the order up before a refund. <b>Always.</b>"
CITES = f"clause look-first of policy shop (“{CLAUSE}”): before refund find is missing"
SOURCES = ("Pets travel in the cabin up to 8 kg. Larger ones do not.", "Bags up to 23 kg are free.", "kb-17")
TEXTS = ("Can my dog come?", "It was refunded. Dogs of any size may come.", "And a bag?", "Yes.")


def version(text: str = CLAUSE, number: int = 3) -> PublishedText:
    return PublishedText(version=number, text=POLICY.format(text=text))


def shop(text: str = CLAUSE, number: int = 3) -> dict[str, PolicyTexts]:
    """As of a verdict that does not record its policy."""
    return {"shop": PolicyTexts(version(text, number))}


def scored(published: PublishedText | None, made_with: PublishedText | None) -> dict[str, PolicyTexts]:
    return {"shop": PolicyTexts(published, made_with, is_recorded=True)}


UNRECORDED = "which one the dialogue was scored with is not recorded."
OTHER = PublishedText(version=4, text=POLICY.format(text="x").replace("look-first", "look"))


def citing(code: str, reason: str) -> Finding:
    return make_finding(code, quote="It was refunded.", reason=reason)


def make_pets(policy: str | None = None) -> Dialogue:
    return make_dialogue("pets", *TEXTS, policy=policy, sources=SOURCES)


@pytest.mark.parametrize(("policies", "text", "note"), [
    (shop(), CLAUSE, f"As published, version 3; {UNRECORDED}"),
    (shop("Look it up."), "Look it up.",
     f"As published, version 3; {UNRECORDED} The finding quotes other words: “{CLAUSE}”"),
    ({"shop": PolicyTexts(OTHER)}, CLAUSE, "Version 4 has no such clause. So the finding quotes it:"),
    ({}, CLAUSE, "This policy is not published here. So the finding quotes the clause:"),
    (scored(version(), version()), CLAUSE, "As scored with, version 3."),
    (scored(version("Look it up.", 5), version()), CLAUSE, "As scored with, version 3. Version 5 is published now."),
    (scored(None, version()), CLAUSE, "As scored with, version 3. No version is published now."),
    (scored(version("Look it up.", 5), None), CLAUSE,
     "This dialogue was scored with rules that are no version of this policy here. So the finding quotes the "
     "clause:"),
])  # fmt: skip
def test_the_clause_is_of_the_scored_version_with_a_note(
    policies: dict[str, PolicyTexts], text: str, note: str
) -> None:
    (clause,) = find_evidence(make_pets(), citing("P1", CITES), policies)
    assert (clause.title, clause.note) == ("Clause look-first of the policy shop", note)
    assert clause.passages == ((text, False),)


def test_a_finding_that_cites_none_has_the_clauses_of_its_code() -> None:
    titles = [each.title for each in find_evidence(make_pets("shop"), citing("P1", "Not looked up."), shop())]
    assert titles == ["Clause look-first of the policy shop"]
    (unknown,) = find_evidence(make_pets("desk"), citing("P1", "Not looked up."), shop())
    assert (unknown.title, unknown.passages) == ("Policy desk", ())
    assert unknown.note == "This policy is not published here. So its clauses cannot be shown."
    assert find_evidence(make_pets("shop"), citing("C1", "Not answered."), shop()) == ()
    (chosen,) = find_evidence(make_pets(), citing("P1", "Not looked up."), scored(version(), version()))
    assert chosen.note == "As scored with, version 3.", "a policy that the dialogue does not name applied"


@pytest.mark.parametrize(("reason", "titles"), [
    ("It contradicts the policy on pets.", ["Source 1", "Source 2", "Source 3"]),
    ("Source 2 says otherwise.", ["Source 2"]),
    ("It says “cabin up to 8 kg”, not any size.", ["Source 1"]),
    ("It is not in kb-17.", ["Source 3"]),
])  # fmt: skip
def test_sources_are_those_that_the_reason_names_else_all(reason: str, titles: list[str]) -> None:
    evidence = find_evidence(make_pets(), citing("I1", reason), {})
    assert [each.title for each in evidence] == titles
    marked = [text for each in evidence for text, is_marked in each.passages if is_marked]
    assert marked == (["cabin up to 8 kg"] if "“" in reason else [])
    assert ["only the name" in each.note for each in evidence] == [title == "Source 3" for title in titles]


def test_the_clause_unfolds_beside_its_turn_by_key_and_by_click(
    page_of: Callable[..., Any], store: Store
) -> None:
    """A broken clause, something without proof, and a claim against a source."""
    documents.save_version(store, "lea", "policy", "shop", POLICY.format(text=CLAUSE), "new", expected=0)
    documents.publish(store, "lea", "policy", "shop", 1)
    claim = make_finding("C2", 3, "Yes.", reason="")
    add_to_review(store, make_pets(), citing("C1", CITES), citing("T1", "It is rude."), claim)
    page = page_of("rob")
    page.get_by_role("button", name="Start").first.click()
    folded = page.locator('.dialint-turn[data-turn="1"] details.dialint-evidence')
    folded.wait_for()
    assert page.locator("details.dialint-evidence").count() == 1 + len(SOURCES)
    assert not folded.evaluate("each => each.open")
    page.keyboard.press("e")
    passage = folded.locator(".dialint-passage")
    passage.wait_for()
    assert passage.inner_text() == CLAUSE
    assert "As published, version 1;" in folded.inner_text()
    page.keyboard.press("e")
    passage.wait_for(state="hidden")
    page.locator(".dialint-current [data-do=evidence]").click()
    passage.wait_for()
    folded.locator("summary").click()
    passage.wait_for(state="hidden")
    page.locator('.dialint-current [data-do=evidence][aria-pressed="false"]').wait_for()
    page.keyboard.press("j")
    folded.wait_for(state="detached")  # the next finding has none
    page.keyboard.press("e")
    page.get_by_text("No clause or source belongs to this finding.").first.wait_for()
    assert page.title() != "owned"
