"""A detector with policies: findings name their clause, and what has no policy is not called clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from marked_dialogues import read_case

from dialint.detector.calibration import CheckPrecision, CodeRelease
from dialint.detector.checks import CheckContext
from dialint.detector.checks.policy import MAX_TEXT, find_cited_clause, policy
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.policy import parse_policy
from dialint.detector.records import Dialogue, PolicyVersion, ToolCall, Verdict

POLICY = """\
policy: {name}
clauses:
  - id: look-first
    text: Look the order up before a refund.
    on: refund
    before: find
  - id: no-guarantees
    text: Guarantee nothing.
    on: {{says: guarantee}}
    limit: {{at_most: 0}}
"""
BY_POLICY = CodeRelease(checks=(CheckPrecision(name="policy", precision=0.9),))


def test_a_reason_names_its_clause_again() -> None:
    """Also one whose text has quotation marks, and one that is cut."""
    for text in ("Look it up.", "Say “hello”: first.", "Long " * 60):
        source = POLICY.format(name="shop").replace(
            "Guarantee nothing.", json.dumps(text, ensure_ascii=False)
        )
        shop = parse_policy(source)
        (hit,) = policy(read_case(["a: We guarantee it."])[0], CheckContext(policies={"shop": shop}))
        cited = find_cited_clause(f"{hit.why} (below the threshold)")
        assert cited is not None
        assert (cited.clause, cited.policy) == ("no-guarantees", "shop")
        assert text.startswith(cited.text.removesuffix(" …"))
        assert len(cited.text) >= min(len(text), MAX_TEXT)
    assert find_cited_clause("clause a of the policy is broken") is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies")
    tiny.write_release(folder / "r")
    for name in ("shop", "desk"):
        (folder / f"{name}.yaml").write_text(POLICY.format(name=name), encoding="utf-8")
    return folder


def detector(folder: Path, *policies: str) -> ReleaseDetector:
    paths = tuple(folder / f"{name}.yaml" for name in policies)
    config = DetectorConfig(release=folder / "r", precision="fp32", threads=1, policy=paths)
    loaded = load_detector(config)
    codes = {**loaded.info.codes, **dict.fromkeys(("P1", "P2", "P3", "P4"), BY_POLICY)}
    return loaded.copy(info=loaded.info.model_copy(update={"codes": codes}))


def dialogue(policy: str | None = None) -> Dialogue:
    lines = ["c: w1 my parcel is broken", "call: refund", "t: done", "a: I refunded it, we guarantee that"]
    return read_case(lines)[0].model_copy(update={"policy": policy})


def by_policy(verdict: Verdict) -> list[tuple[str, int]]:
    return [(finding.code, finding.turn) for finding in verdict.findings if finding.code.startswith("P")]


def test_findings_name_the_clause(folder: Path) -> None:
    verdict = detector(folder, "shop").verdicts([dialogue()])[0]
    assert by_policy(verdict) == [("P1", 1), ("P2", 3)]
    assert verdict.no_policy == ("P3",)
    reason = next(finding.reason for finding in verdict.findings if finding.code == "P1")
    assert "exact check 'policy', no model: clause look-first of policy shop" in reason
    assert "before refund find is missing" in reason


@pytest.mark.parametrize(
    ("words", "quote", "clauses"),
    [
        ("", "refund({})", ("no-refund", "no-cancel")),
        ("Done, we guarantee it.", None, ("no-guarantees", "no-refund", "no-cancel")),
    ],
)
def test_clauses_that_are_broken_in_one_turn_are_all_named(
    folder: Path, words: str, quote: str | None, clauses: tuple[str, ...]
) -> None:
    """By two calls, and by the words beside them."""
    never = "  - id: no-{0}\n    text: No {0}.\n    on: {0}\n    limit: {{at_most: 0}}\n"
    rules = POLICY.format(name="strict") + never.format("refund") + never.format("cancel")
    (folder / "strict.yaml").write_text(rules, encoding="utf-8")
    talk, _ = read_case(["c: w1 my parcel is broken", f"a: {words}", "t: done", "t: done", "a: w2"])
    calls = (ToolCall(name="refund"), ToolCall(name="cancel"))
    customer, agent, *others = talk.turns
    talk = talk.model_copy(
        update={"turns": (customer, agent.model_copy(update={"tool_calls": calls}), *others)}
    )
    verdict = detector(folder, "strict").verdicts([talk])[0]
    assert by_policy(verdict) == [("P1", 1), ("P2", 1)]
    finding = next(finding for finding in verdict.findings if finding.code == "P2")
    assert finding.quote == (quote or words)
    assert all(f"clause {clause} of policy strict" in finding.reason for clause in clauses)


def test_without_a_policy_nothing_fires_and_the_codes_are_named(folder: Path) -> None:
    both = detector(folder, "shop", "desk")
    cases = (
        (detector(folder), dialogue()),
        (detector(folder), dialogue("shop")),
        (both, dialogue()),
        (both, dialogue("bank")),
    )
    for scorer, item in cases:
        verdict = scorer.verdicts([item], all_probabilities=True)[0]
        assert by_policy(verdict) == []
        assert verdict.no_policy == ("P1", "P2", "P3", "P4")
        assert not any(code.startswith("P") for code in (verdict.probabilities or {})[3])
    assert by_policy(both.verdicts([dialogue("desk")])[0]) == [("P1", 1), ("P2", 3)]


def test_a_verdict_records_the_rules_that_applied(folder: Path) -> None:
    shop = parse_policy(POLICY.format(name="shop"))
    (verdict,) = detector(folder, "shop").verdicts([dialogue()])
    assert verdict.policy == PolicyVersion(name="shop", sha256=shop.fingerprint)
    both = detector(folder, "shop", "desk")
    at_desk, unknown, undecided = both.verdicts([dialogue("desk"), dialogue("bank"), dialogue()])
    assert at_desk.policy is not None
    assert at_desk.policy.name == "desk"
    assert unknown.policy is None
    assert undecided.policy is None
    # the layout of a file is none of its rules; a word of a clause is
    assert parse_policy(f"# a comment\n{POLICY.format(name='shop')}\n").fingerprint == shop.fingerprint
    other = POLICY.format(name="shop").replace("Guarantee nothing.", "Guarantee little.")
    assert parse_policy(other).fingerprint != shop.fingerprint


def test_the_fingerprint_is_that_of_the_rules(folder: Path) -> None:
    prints = {detector(folder, *names).fingerprint for names in ((), ("shop",), ("desk",), ("shop", "desk"))}
    assert len(prints) == 4
