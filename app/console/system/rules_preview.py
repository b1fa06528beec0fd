"""What a change of the taxonomy or of a policy would do to what is stored, before it is published.

Nothing is scored anew. Of a taxonomy, penalties, automatic failures and usual severities are applied to the
stored findings; a changed definition alters nothing that is stored, and is counted apart: people and a judge
read it from then on. A policy's clauses are evaluated on the stored dialogues, without a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dialint.detector.checks.policy import broken_clauses
from dialint.detector.policy import Policy, policy_for
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import Code, Taxonomy

WORDS = ("definition", "test", "example", "counter_example")
"""Fields of a code that people and judges read."""


@dataclass(frozen=True)
class CodeChange:
    """A code in both taxonomies: its stored `findings`, how many get another severity or are dropped, and
    whether its words differ. `points` are what they take off in all, before and after; an automatic failure
    counts 100."""

    code: str
    findings: int
    moved: int
    dropped: int
    words_changed: bool
    points: tuple[float, float]


@dataclass(frozen=True)
class QualityChange:
    """A stored verdict's quality before and after."""

    dialogue: str
    before: float
    after: float


@dataclass(frozen=True)
class TaxonomyPreview:
    """Mean quality and automatic failures before and after, the codes and the verdicts that change, largest
    first."""

    verdicts: int
    mean: tuple[float, float]
    failed: tuple[int, int]
    codes: tuple[CodeChange, ...]
    dialogues: tuple[QualityChange, ...]


def preview_taxonomy(before: Taxonomy, after: Taxonomy, verdicts: Iterable[Verdict]) -> TaxonomyPreview:
    """Compute what `after` in place of `before` does to stored verdicts."""
    penalties = [_penalties(taxonomy) for taxonomy in (before, after)]
    reported, moved, dropped = Counter[str](), Counter[str](), Counter[str]()
    points: dict[str, list[float]] = {}
    qualities: list[QualityChange] = []
    failed = [0, 0]
    for verdict in verdicts:
        both: tuple[list[Finding], list[Finding]] = ([], [])
        for finding in verdict.findings:
            code = finding.code
            old, new = (_severity(finding, side, before.codes.get(code)) for side in (before, after))
            reported[code] += 1
            moved[code] += old != new and new is not None
            dropped[code] += new is None
            for side, severity in enumerate((old, new)):
                if severity is not None:
                    both[side].append(finding.model_copy(update={"severity": severity}))
                    points.setdefault(code, [0.0, 0.0])[side] += penalties[side][severity]
        was, now = before.quality(tuple(both[0])), after.quality(tuple(both[1]))
        failed[0] += was == 0.0
        failed[1] += now == 0.0
        qualities.append(QualityChange(verdict.dialogue_id, was, now))
    changes = [
        CodeChange(
            code, reported[code], moved[code], dropped[code],
            _have_other_words(before.codes.get(code), after.codes.get(code)),
            (points.get(code, [0.0, 0.0])[0], points.get(code, [0.0, 0.0])[1]),
        )
        for code in dict.fromkeys((*before.codes, *after.codes, *reported))
    ]  # fmt: skip
    n = max(1, len(qualities))
    return TaxonomyPreview(
        verdicts=len(qualities),
        mean=(sum(one.before for one in qualities) / n, sum(one.after for one in qualities) / n),
        failed=(failed[0], failed[1]),
        codes=tuple(
            one for one in changes if one.words_changed or one.points[0] != one.points[1] or one.moved
        ),
        dialogues=tuple(
            sorted(
                (one for one in qualities if one.before != one.after),
                key=lambda one: (-abs(one.after - one.before), one.dialogue),
            )
        ),
    )


def _penalties(taxonomy: Taxonomy) -> dict[str, float]:
    return {level.code: 100.0 if level.auto_fail else level.penalty for level in taxonomy.severities}


def _severity(finding: Finding, taxonomy: Taxonomy, original: Code | None) -> str | None:
    """The severity of a finding under a taxonomy: a usual one becomes the usual one there, and so does one
    that the code may not have there. None: the taxonomy does not have the code."""
    entry = taxonomy.codes.get(finding.code)
    if entry is None:
        return None
    was_usual = original is None or finding.severity == original.severity
    return entry.severity if was_usual or finding.severity not in entry.severities else finding.severity


def _have_other_words(before: Code | None, after: Code | None) -> bool:
    if before is None or after is None:
        return True
    return any(getattr(before, name) != getattr(after, name) for name in WORDS)


@dataclass(frozen=True)
class ClauseChange:
    """How often a clause is broken before and after; each turn counts once."""

    clause: str
    code: str
    before: int
    after: int


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
    """`dialogues` read, those that the policy applies to before and after, its clauses, and what changes."""

    dialogues: int
    applies: tuple[int, int]
    clauses: tuple[ClauseChange, ...]
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
            for turn, broken in broken_clauses(dialogue, policy):
                findings[side][turn.index, broken.clause.id, broken.code] = broken.why
                counts[side][broken.clause.id, broken.code] += 1
        for key in sorted(findings[0].keys() ^ findings[1].keys()):
            gained = key in findings[1]
            changes.append(FindingChange(dialogue.id, *key, findings[gained][key], gained))
    clauses = [
        ClauseChange(clause, code, counts[0][clause, code], counts[1][clause, code])
        for clause, code in sorted(counts[0].keys() | counts[1].keys())
    ]
    return PolicyPreview(n, (applies[0], applies[1]), tuple(clauses), tuple(changes))
