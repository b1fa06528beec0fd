"""A day's plan: routes by hand, a budget that holds, an audit whose probabilities are true."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding, NotJudged, Severity, Verdict
from dialint.labeling.queue.routing import (
    WORK,
    MinutesPerItem,
    ProjectCodes,
    Route,
    Routed,
    RoutingPolicy,
    Work,
    allocate_day,
    load_routing_policy,
    make_candidates,
    project_of,
)

SEVERITIES: dict[str, Severity] = {"C1": "S2", "T1": "S3"}
CODES = ProjectCodes(SEVERITIES, SEVERITIES)


def finding(probability: float, code: str = "C1", turn: int = 1, severity: Severity = "S2") -> Finding:
    return Finding(
        code=code, turn=turn, severity=severity, probability=probability, quote="a", start=0, end=1, reason=""
    )


def verdict(name: str, *findings: Finding, unflagged: dict[str, float] | None = None) -> Verdict:
    probabilities = None if unflagged is None else {1: unflagged}
    return Verdict(
        dialogue_id=name, release="r", taxonomy="1", status="scored", quality=100.0, findings=findings,
        probabilities=probabilities,
    )  # fmt: skip


def failed(name: str) -> Verdict:
    return Verdict(dialogue_id=name, release="r", taxonomy="1", status="failed", failure="E_LONG")


def foreign(name: str, *findings: Finding, share: float | None = None) -> Verdict:
    """Not judged, or but for `share` of it."""
    gap = NotJudged(language="de", turns=(1, 3), codes=("C1", "T1"))
    status = "not_judged" if share is None else "scored"
    return Verdict(
        dialogue_id=name, release="r", taxonomy="1", status=status, findings=findings,
        judged_share=share, not_judged=(gap,),
    )  # fmt: skip


def plan_day(
    verdicts: Iterable[Verdict],
    policy: RoutingPolicy,
    seed: int,
    codes: ProjectCodes,
    backlog: Iterable[Verdict] = (),
    assigned: Mapping[Work, Route] | None = None,
) -> list[Routed]:
    """The plan of a day's verdicts, and of those left over from days before."""
    fresh, late = (
        [one for verdict in each for one in make_candidates(verdict, policy, codes, seed)]
        for each in (verdicts, backlog)
    )
    return allocate_day(fresh, late, policy, assigned or {})


def by_name(routed: list[Routed]) -> dict[str, Routed]:
    return {one.dialogue: one for one in routed}


def test_fates_and_priorities_by_hand() -> None:
    """Value is probability x weight (S2 3, S3 1), priority value over minutes (review 3, crowd 8)."""
    policy = RoutingPolicy(audit_share=0.0, budget_minutes=100.0, accept_at=0.99)
    verdicts = [
        verdict("sure", finding(0.995, "T1", 1, "S3")),
        verdict("review", finding(0.8), finding(0.3, "T1", 3, "S3")),
        verdict("crowd", finding(0.4)),
        verdict("doubt", unflagged={"C1": 0.25, "T1": 0.05}),
        verdict("clean", unflagged={"C1": 0.1}),
        failed("failed"),
    ]
    routed = by_name(plan_day(verdicts, policy, 0, CODES))
    assert {name: one.route for name, one in routed.items()} == {
        "sure": "accept", "review": "review", "crowd": "crowd", "doubt": "crowd", "clean": "clean",
        "failed": "review",
    }  # fmt: skip
    assert routed["review"].value == pytest.approx(0.8 * 3 + 0.3 * 1)
    assert routed["review"].priority == pytest.approx(2.7 / 3)
    assert routed["crowd"].priority == pytest.approx(1.2 / 8)
    assert routed["doubt"].priority == pytest.approx(0.75 / 8)
    assert routed["failed"].priority == pytest.approx(0.5 / 3)
    assert routed["review"].reason == "C1 0.80 turn 1, T1 0.30 turn 3"
    assert routed["failed"].reason == "not judged: E_LONG"


def test_a_suggestion_is_nobodys_work() -> None:
    policy = RoutingPolicy(audit_share=0.0, budget_minutes=100.0, accept_at=0.99)
    suggested = verdict("maybe").model_copy(update={"suggestions": (finding(0.9),)})
    mixed = verdict("both", finding(0.8)).model_copy(update={"suggestions": (finding(0.9, "T1", 3, "S3"),)})
    routed = by_name(plan_day([suggested, mixed], policy, 0, CODES))
    assert {name: one.route for name, one in routed.items()} == {"maybe": "clean", "both": "review"}
    assert routed["both"].reason == "C1 0.80 turn 1"


def test_a_tight_budget_goes_to_the_dearest_and_the_rest_waits() -> None:
    """7 minutes: two reviews of 3; the crowd's 8 never fit."""
    policy = RoutingPolicy(audit_share=0.0, budget_minutes=7.0)
    verdicts = [verdict(f"d{i}", finding(p)) for i, p in enumerate((0.6, 0.9, 0.7, 0.4))]
    routed = plan_day(verdicts, policy, 0, CODES)
    assert [one.route for one in routed] == ["later", "review", "review", "later"]


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(0.9, "C1")], {"review": "C1"}),  # both ask about it
        ([finding(0.3, "C1")], {"crowd": "C1"}),
        ([finding(0.3, "T1")], {"review": "T1"}),  # the review project alone
        ([finding(0.9, "I1")], {"crowd": "I1"}),  # the label project alone
        ([finding(0.9, "T1"), finding(0.9, "I1")], {"review": "T1", "crowd": "I1"}),
        ([finding(0.9, "C1"), finding(0.3, "I1", 3)], {"review": "C1", "crowd": "I1"}),
        ([finding(0.3, "C1"), finding(0.3, "I1")], {"crowd": "C1 I1"}),
        ([finding(0.3, "C1"), finding(0.3, "T1"), finding(0.3, "I1")], {"review": "C1 T1", "crowd": "I1"}),
        ([finding(0.9, "L1")], {"unasked": "L1"}),
    ],
)
def test_each_project_gets_the_findings_of_its_own_codes(
    findings: list[Finding], expected: dict[str, str]
) -> None:
    project_codes = ProjectCodes({"C1": "S2", "T1": "S3"}, {"C1": "S2", "I1": "S1"})
    policy = RoutingPolicy(audit_share=0.0, budget_minutes=1000.0)
    routed = plan_day([verdict("d", *findings)], policy, 0, project_codes)
    codes = {one.route: " ".join(sorted({*re.findall(r"\b[A-Z]\d\b", one.reason)})) for one in routed}
    assert codes == expected
    assert sum(one.value for one in routed) == pytest.approx(
        sum(f.probability * 3 for f in findings if f.code != "L1")
    )
    assigned = {(one.dialogue, project_of(one.route)): one.route for one in routed if one.route in WORK}
    assert plan_day([verdict("d", *findings)], policy, 0, project_codes, assigned=assigned) == routed


SEVERITY = st.sampled_from(["S1", "S2", "S3", "S4"])
FINDINGS = st.builds(
    finding,
    st.floats(1e-6, 1.0),  # files of before 2026-11-23 have 1.0
    st.sampled_from(["C1", "T1", "L1"]),
    st.sampled_from([1, 3]),
    SEVERITY,
)
POLICIES = st.builds(
    lambda rising, budget, share: RoutingPolicy(
        crowd_at=rising[0], review_at=rising[1], accept_at=rising[2], budget_minutes=budget, audit_share=share
    ),
    st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).map(sorted),
    st.floats(0.0, 30.0),
    st.floats(0.0, 1.0),
)


@given(st.lists(st.lists(FINDINGS, max_size=4), max_size=5), POLICIES)
def test_nothing_severe_is_accepted_unseen_without_a_permission(
    findings: list[list[Finding]], policy: RoutingPolicy
) -> None:
    verdicts = [verdict(f"d{number}", *some) for number, some in enumerate(findings)]
    for one, some in zip(plan_day(verdicts, policy, 0, CODES), findings, strict=True):
        severe = [each for each in some if each.severity in ("S1", "S2")]
        if one.route in ("accept", "clean"):
            assert not severe
            assert bool(some) == (one.route == "accept")
            assert one.accepted == len({(each.turn, each.code) for each in some})
        assert one.accepted == 0 or one.route == "accept"


@given(st.lists(st.lists(FINDINGS, min_size=1, max_size=4), max_size=5))
def test_by_default_no_finding_is_accepted_at_all(findings: list[list[Finding]]) -> None:
    verdicts = [verdict(f"d{number}", *some) for number, some in enumerate(findings)]
    assert {one.route for one in plan_day(verdicts, RoutingPolicy(), 0, CODES)} <= {
        "review", "crowd", "later", "unasked", "audit",
    }  # fmt: skip


def test_a_permission_is_of_one_code_and_severity(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("accept_unseen:\n  - {code: C1, severity: S2, at: 0.9}\n")
    policy = load_routing_policy(path)
    cases = {
        "accept": [finding(0.95)],
        "review": [finding(0.85), finding(0.95, severity="S1")],
        "review ": [finding(0.95), finding(0.95, "T1", 3, "S2")],
        "review  ": [finding(0.97, severity="S2"), finding(0.96, severity="S1")],
    }
    verdicts = [verdict(name, *some) for name, some in cases.items()]
    assert [one.route for one in plan_day(verdicts, policy, 0, CODES)] == [name.strip() for name in cases]
    path.write_text("accept_unseen:\n  - {code: C1, at: 0.9}\n")
    with pytest.raises(ConfigError, match="E_POLICY"):
        load_routing_policy(path)


def test_an_audit_tells_the_truth_without_bias() -> None:
    """400 seeds over 60 unflagged dialogues of which 12 hold an error: each is drawn as often as its
    probability says, and the total weighted by it meets 12 (both within 4.5 standard errors)."""
    verdicts = [verdict(f"d{i}") for i in range(60)] + [verdict(f"f{i}", finding(0.9)) for i in range(5)]
    sampled, totals, seeds = Counter[str](), [], 400
    for seed in range(seeds):
        audits = [one for one in plan_day(verdicts, RoutingPolicy(), seed, CODES) if one.route == "audit"]
        assert {one.inclusion_probability for one in audits} <= {0.1}
        sampled.update(one.dialogue for one in audits)
        totals.append(sum(10.0 for one in audits if int(one.dialogue[1:]) < 12))
    assert set(sampled) <= {f"d{i}" for i in range(60)}
    assert abs(sampled.total() / seeds / 60 - 0.1) < 4.5 * (0.09 / (seeds * 60)) ** 0.5
    assert max(abs(sampled[f"d{i}"] / seeds - 0.1) for i in range(60)) < 4.5 * (0.09 / seeds) ** 0.5
    assert abs(np.mean(totals) - 12) < 4.5 * np.std(totals) / seeds**0.5


def test_an_audit_has_no_place_of_its_own_in_the_queue() -> None:
    policy = RoutingPolicy(audit_share=0.5, budget_minutes=4000.0)
    doubtful = [verdict(f"c{i}", finding(0.2 + 0.001 * i)) for i in range(100)]
    routed = plan_day([*doubtful, *(verdict(f"d{i}") for i in range(500))], policy, 3, CODES)
    crowd = sorted(one.priority for one in routed if one.route == "crowd")
    audits = [one.priority for one in routed if one.route == "audit"]
    assert len(audits) > 100
    assert set(audits) <= set(crowd)
    below = sum(priority < crowd[50] for priority in audits) / len(audits)
    assert 0.35 < below < 0.65


def test_a_backlog_is_never_audited() -> None:
    policy = RoutingPolicy(audit_share=1.0, budget_minutes=10_000.0)
    routed = by_name(plan_day([verdict("new")], policy, 0, CODES, backlog=[verdict("old"), failed("bad")]))
    assert routed["new"].route == "audit"
    assert routed["new"].inclusion_probability == 1.0
    assert (routed["old"].route, routed["bad"].route) == ("clean", "review")


@given(
    st.lists(st.one_of(st.none(), st.floats(0.0, 1.0)), max_size=40), st.floats(0.0, 200.0),
    st.floats(0.0, 1.0), st.integers(0, 99),
)  # fmt: skip
def test_every_dialogue_has_one_fate_and_planning_again_gives_nothing(
    probabilities: list[float | None], budget: float, share: float, seed: int
) -> None:
    policy = RoutingPolicy(
        budget_minutes=budget, audit_share=share, minutes=MinutesPerItem(review=3, crowd=7, audit=5)
    )
    verdicts = [verdict(f"d{i}", *([] if p is None else [finding(p)])) for i, p in enumerate(probabilities)]
    first = plan_day(verdicts, policy, seed, CODES)
    assert [one.dialogue for one in first] == [one.dialogue_id for one in verdicts]
    audits = sum(one.minutes for one in first if one.route == "audit")
    assert sum(one.minutes for one in first) <= max(budget, audits) + 1e-9
    assigned = {(one.dialogue, project_of(one.route)): one.route for one in first if one.route in WORK}
    assert plan_day(verdicts, policy, seed, CODES, assigned=assigned) == first


@pytest.mark.parametrize(
    ("text", "message"),
    [("review_at: 2", r"policy.yaml:1: review_at"), ("a: 1", ":1: a"), ("crowd_at: 0.9", "rise in this order"),
     ("minutes:\n  review: 0", ":2: minutes.review"), ("- 1", "E_POLICY")],
)  # fmt: skip
def test_a_bad_policy_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_routing_policy(path)


def test_what_was_not_judged_is_never_accepted_and_no_matter_of_the_audit() -> None:
    """It comes after all that was found, a part of it after the whole."""
    policy = RoutingPolicy(audit_share=1.0, budget_minutes=6.0, not_judged_value=0.1)
    verdicts = [
        foreign("whole"),
        foreign("part", share=0.75),
        foreign("found", finding(0.9)),
        verdict("clean"),
    ]
    candidates = [one for each in verdicts for one in make_candidates(each, policy, CODES, 0)]
    assert [one.wanted for one in candidates] == ["review", "review", "review", None]
    assert [one.value for one in candidates[:2]] == pytest.approx([0.1, 0.025])
    assert candidates[2].value == pytest.approx(0.9 * 3 + 0.1)
    assert [one.flagged for one in candidates] == [True, False, True, False]
    assert candidates[0].reason == "100 % not judged: de"
    assert candidates[1].reason == "25 % not judged: de"
    routed = by_name(plan_day(verdicts, policy.model_copy(update={"audit_share": 0.0}), 0, CODES))
    assert {name: one.route for name, one in routed.items()} == {
        "found": "review", "whole": "review", "part": "later", "clean": "clean",
    }  # fmt: skip
