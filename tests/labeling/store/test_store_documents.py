"""Versions of taxonomies and policies, on both databases: drafts, conflicts, the published mark, rights."""

from pathlib import Path

import make
import pytest

from dialint.detector.policy import parse_policy
from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.store import dialogues, documents
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Conflict, StoreRefused

TEXT = PACKAGED.read_text(encoding="utf-8")
OWN = ("lea", "taxonomy", "taxonomy")
POLICY = (Path(__file__).parents[3] / "app/sample/policies/retail.yaml").read_text(encoding="utf-8")


def test_a_version_is_saved_once_and_never_over_a_newer_one(store: Store) -> None:
    first = documents.save_version(store, *OWN, TEXT, "as packaged", expected=0)
    assert (first.version, first.author, first.published_at) == (1, "lea", None)
    again = documents.save_version(store, *OWN, TEXT, "again", expected=0)
    assert again == first
    changed = TEXT.replace("penalty: 25", "penalty: 30")
    with pytest.raises(Conflict, match="version 1 of taxonomy was saved by lea"):
        documents.save_version(store, *OWN, changed, "late", expected=0)
    second = documents.save_version(store, *OWN, changed, "stricter", expected=1)
    listed = documents.list_versions(store, *OWN)
    assert listed == (second, first)
    assert documents.load_version(store, *OWN, 2) == changed


def test_one_version_is_published_and_the_mark_moves(store: Store) -> None:
    changed = TEXT.replace("penalty: 25", "penalty: 30")
    for number, text in enumerate((TEXT, changed)):
        documents.save_version(store, *OWN, text, "why", expected=number)
    assert documents.load_published(store, "lea", "taxonomy") == {}
    for number, text in ((2, changed), (2, changed), (1, TEXT)):
        documents.publish(store, *OWN, number)
        assert documents.load_published(store, "lea", "taxonomy") == {"taxonomy": text}
    marks = [one.published_at is not None for one in documents.list_versions(store, *OWN)]
    assert marks == [False, True]
    documents.withdraw(store, *OWN)
    assert documents.load_published(store, "lea", "taxonomy") == {}


def test_what_cannot_be_read_is_a_draft_only(store: Store) -> None:
    broken = TEXT.replace("severity: S3", "severity: S9", 1)
    documents.save_version(store, *OWN, broken, "draft", expected=0)
    with pytest.raises(StoreRefused, match=r"version 1 cannot be published: taxonomy:\d+: .*severity"):
        documents.publish(store, *OWN, 1)
    documents.save_version(store, "lea", "policy", "shop", POLICY, "draft", expected=0)
    with pytest.raises(StoreRefused, match="otherwise than shop"):
        documents.publish(store, "lea", "policy", "shop", 1)
    documents.save_version(store, "lea", "policy", "retail", POLICY, "draft", expected=0)
    documents.publish(store, "lea", "policy", "retail", 1)
    assert documents.list_names(store, "lea", "policy") == ("retail", "shop")
    assert documents.load_published(store, "lea", "policy") == {"retail": POLICY}
    assert documents.load_policies(store, "rob", ("retail", "shop", "none")) == {
        "retail": documents.PublishedText(version=1, text=POLICY)
    }


def test_the_version_that_a_verdict_was_made_with_is_found_by_its_rules(store: Store) -> None:
    rules = parse_policy(POLICY).fingerprint
    texts = (
        POLICY,
        "policy: [",
        POLICY.replace("text: ", "text: Always. ", 1),
        f"# the same rules\n{POLICY}",
    )
    for number, (text, version) in enumerate(zip(texts, (1, 1, 1, 4), strict=True)):
        documents.save_version(store, "lea", "policy", "retail", text, "why", expected=number)
        expected = documents.PublishedText(version=version, text=texts[version - 1])
        assert documents.find_policy_version(store, "rob", "retail", rules) == expected
    assert documents.find_policy_version(store, "rob", "retail", "0" * 64) is None
    assert documents.find_policy_version(store, "rob", "shop", rules) is None


def test_a_version_needs_a_text_and_a_reason(store: Store) -> None:
    for name, text, reason in (
        ("taxonomy", " \n", "why"), ("taxonomy", TEXT, " "), ("other", TEXT, "why"), ("taxonomy", "\x00", "why"),
    ):  # fmt: skip
        with pytest.raises(StoreRefused):
            documents.save_version(store, "lea", "taxonomy", name, text, reason, expected=0)
    with pytest.raises(StoreRefused, match="no version 3"):
        documents.publish(store, *OWN, 3)


def test_a_preview_reads_the_newest(store: Store) -> None:
    for name in ("d1", "d2"):
        dialogues.add(store, "lea", [make.dialogue(name)])
        dialogues.add_verdicts(store, "lea", [make.verdict(name, make.finding())])
    assert [one.dialogue_id for one in documents.list_newest_verdicts(store, "lea", 1)] == ["d2"]
    assert [one.id for one in documents.list_newest_dialogues(store, "lea", 9)] == ["d2", "d1"]
    documents.record_previewed(store, "lea", ("d1",))
