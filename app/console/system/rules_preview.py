"""What a change of the taxonomy or of a policy would do to what is stored, before it is published.

Nothing is scored anew. Of a taxonomy, penalties, automatic failures and usual severities are applied to the
stored findings; a changed definition alters nothing that is stored: people and a judge read it from then on.
A policy's clauses are evaluated on the stored dialogues, without a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dialint.detector.checks.policy import broken_clauses
from dialint.detector.policy import Policy, policy_for
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import Code, Taxonomy


@dataclass(frozen=True)
class CodeChange:
    """The stored findings of a code, and how many of them get another severity or are dropped."""

    findings: int
    moved: int
    dropped: int


@dataclass(frozen=True)
class TaxonomyPreview:
    """The verdicts read, their mean quality before and after, how many of them change in it, and the codes
    whose findings change."""

    verdicts: int
    mean: tuple[float, float]
    changed: int
    codes: dict[str, CodeChange]


def preview_taxonomy(before: Taxonomy, after: Taxonomy, verdicts: Iterable[Verdict]) -> TaxonomyPreview:
    """Compute what `after` in place of `before` does to stored verdicts."""
    findings, moved, dropped = Counter[str](), Counter[str](), Counter[str]()
    qualities: list[tuple[float, float]] = []
    for verdict in verdicts:
        errors: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        for finding in verdict.findings:
            code = finding.code
            old, new = (_severity(finding, side, before.codes.get(code)) for side in (before, after))
            findings[code] += 1
            moved[code] += old != new and new is not None
            dropped[code] += new is None
            for severity, side in zip((old, new), errors, strict=True):
                if severity is not None:
                    side.append((code, severity))
        qualities.append(
            (before.quality_of(errors[0], verdict.team), after.quality_of(errors[1], verdict.team))
        )
    n = max(1, len(qualities))
    return TaxonomyPreview(
        verdicts=len(qualities),
        mean=(sum(was for was, _now in qualities) / n, sum(now for _was, now in qualities) / n),
        changed=sum(was != now for was, now in qualities),
        codes={
            code: CodeChange(k, moved[code], dropped[code])
            for code, k in findings.most_common()
            if moved[code] or dropped[code]
        },
    )


def _severity(finding: Finding, taxonomy: Taxonomy, original: Code | None) -> str | None:
    """The severity of a finding under a taxonomy: a usual one becomes the usual one there, and so does one
    that the code may not have there. None: the taxonomy does not have the code."""
    entry = taxonomy.codes.get(finding.code)
    if entry is None:
        return None
    was_usual = original is None or finding.severity == original.severity
    return entry.severity if was_usual or finding.severity not in entry.severities else finding.severity


@dataclass(frozen=True)
class FindingChange:
    """What a dialogue gains or loses: its turn, the clause, and what was broken in it."""

    dialogue: str
    turn: int
    clause: str
    code: str
    why: str
    gained: bool


@dataclass(frozen=True)
class PolicyPreview:
    """`dialogues` read, those that the policy applies to before and after, how often each clause is broken
    before and after, by clause and code, and what changes."""

    dialogues: int
    applies: tuple[int, int]
    clauses: dict[tuple[str, str], tuple[int, int]]
    changes: tuple[FindingChange, ...]


def preview_policy(
    before: Policy | None, after: Policy, others: Mapping[str, Policy], dialogues: Iterable[Dialogue]
) -> PolicyPreview:
    """Compute what `after` in place of `before` finds; `others` decide which policy applies to a dialogue."""
    sides = [{**others, **({} if policy is None else {policy.policy: policy})} for policy in (before, after)]
    counts = [Counter[tuple[str, str]](), Counter[tuple[str, str]]()]
    applies, n = [0, 0], 0
    changes: list[FindingChange] = []
    for dialogue in dialogues:
        n += 1
        findings: list[dict[tuple[int, str, str], str]] = [{}, {}]
        for side, policies in enumerate(sides):
            policy = policy_for(dialogue, policies)
            if policy is None or policy.policy != after.policy:
                continue
            applies[side] += 1
            for place, broken in broken_clauses(dialogue, policy):
                findings[side][place[0], broken.clause.id, broken.code] = broken.why
                counts[side][broken.clause.id, broken.code] += 1
        for key in sorted(findings[0].keys() ^ findings[1].keys()):
            gained = key in findings[1]
            changes.append(FindingChange(dialogue.id, *key, findings[gained][key], gained))
    clauses = {key: (counts[0][key], counts[1][key]) for key in sorted(counts[0].keys() | counts[1].keys())}
    return PolicyPreview(n, (applies[0], applies[1]), clauses, tuple(changes))
