"""Previews the effect of changed rules on stored verdicts, without scoring anew.

`decide` itself decides a verdict again: severities, penalties and automatic failures, dropped codes,
demotions, thresholds, a spot check, and with the dialogue the findings of a policy. Turns below every former
threshold need a verdict with all probabilities. Suggestions and findings that can't be decided again stay and
are counted in `undecided`. Not previewed are the effect of a code's changed definition on people and a judge,
a new code, and a finding that was dropped as a duplicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dialint.detector.calibration import POLICY_CHECK, CheckPrecision, CodeRelease
from dialint.detector.checks import CheckContext, proof_names
from dialint.detector.checks.policy import broken_clauses
from dialint.detector.checks.policy import policy as find_broken
from dialint.detector.decide import UNDONE, Facts, Rules, Suspicion, decide, source_of_finding
from dialint.detector.log_profile import LOGGED
from dialint.detector.overrides import Overrides
from dialint.detector.policy import Policy, policy_for
from dialint.detector.records import Dialogue, Finding, Severity, Verdict
from dialint.detector.release import TurnCoverage
from dialint.detector.taxonomy import Code, Taxonomy

SERIOUS = ("S1", "S2")
Place = tuple[int, str]
"""A turn and a code."""
NO_DIALOGUE = Dialogue(id="-", turns=())
JUDGE = "what a judge said"
SCALED = "probabilities that a spot check may have scaled"
HIDDEN = "suggestions of a check that may hide what the scan is surer of"
UNLISTED = "verdicts without all probabilities, of which a lower threshold could suggest more"
FAR = "verdicts of a log far from the release, of which a lower threshold could suggest more"
UNLOGGED = "turns over a lower threshold that count only where the calls of tools are logged"
UNREAD = "verdicts whose dialogue is not at hand, for the policy"


@dataclass(frozen=True)
class NewRules:
    """The new rules. Without `overrides` or `policies` the decisions by these stay. `codes` are those of the
    release that made the verdicts; where the log `is_far` from it, the scan's probabilities were tempered,
    and its suggestions stay."""

    taxonomy: Taxonomy
    codes: Mapping[str, CodeRelease] = field(default_factory=dict)
    overrides: Overrides | None = None
    policies: Mapping[str, Policy] | None = None
    is_far: bool = False


def _pair() -> list[int]:
    return [0, 0]


@dataclass
class CodeChange:
    """Numbers of findings of a code before and after, of suggestions before and after, and of findings that
    get another severity."""

    findings: list[int] = field(default_factory=_pair)
    suggestions: list[int] = field(default_factory=_pair)
    moved: int = 0

    @property
    def is_change(self) -> bool:
        return bool(self.moved) or len(set(self.findings)) > 1 or len(set(self.suggestions)) > 1


@dataclass(frozen=True)
class VerdictChange:
    """A dialogue with a changed verdict: its findings lost and gained, and its quality before and after, None
    if it was not judged as a whole."""

    dialogue: str
    lost: tuple[Place, ...]
    gained: tuple[Place, ...]
    quality: tuple[float, float] | None


@dataclass
class RulesPreview:
    """The effect of the new rules, pairs before and after. `verdicts`: number read; `qualities`: those with a
    quality, `quality` its sums, `changed` the number of changed ones. `flagged` and `serious`: dialogues with
    a finding, and with one of S1 or S2; `stale_gold`: gold answers of codes that are dropped or redefined."""

    verdicts: int = 0
    qualities: int = 0
    quality: list[float] = field(default_factory=lambda: [0.0, 0.0])
    changed: int = 0
    flagged: list[int] = field(default_factory=_pair)
    serious: list[int] = field(default_factory=_pair)
    codes: dict[str, CodeChange] = field(default_factory=dict)
    changes: list[VerdictChange] = field(default_factory=list)
    stale_gold: int = 0
    undecided: Counter[str] = field(default_factory=Counter)

    def change_of(self, code: str) -> CodeChange:
        return self.codes.setdefault(code, CodeChange())

    @property
    def mean(self) -> tuple[float, float]:
        before, after = (total / max(1, self.qualities) for total in self.quality)
        return before, after


def preview_rules(
    before: Taxonomy,
    after: NewRules,
    verdicts: Iterable[Verdict],
    dialogues: Mapping[str, Dialogue] | None = None,
    gold: Iterable[str] = (),
) -> RulesPreview:
    """Computes the effect of rules on stored verdicts that were made with the taxonomy `before`. Policies are
    tried on `dialogues`; `gold` are the codes of gold answers."""
    result = RulesPreview()
    codes = after.taxonomy.codes
    result.stale_gold = sum(_meaning(codes.get(code)) != _meaning(before.codes.get(code)) for code in gold)
    for verdict in verdicts:
        if verdict.status == "failed":
            continue
        dialogue = (dialogues or {}).get(verdict.dialogue_id)
        findings, suggested = _decide_again(verdict, after, dialogue, result.undecided)
        sides = (
            ({(one.turn, one.code): one for one in verdict.findings}, before),
            (
                {place: one for place, one in findings.items() if place[1] in after.taxonomy.codes},
                after.taxonomy,
            ),
        )
        was, now = (
            {place: _severity(place, one, taxonomy, before) for place, one in side.items()}
            for side, taxonomy in sides
        )
        result.verdicts += 1
        _count(result, verdict, (was, now))
        for _, code in suggested:
            result.change_of(code).suggestions[1] += code in after.taxonomy.codes
        quality = None
        if verdict.quality is not None:
            old, new = ([(code, severity) for (_, code), severity in side.items()] for side in (was, now))
            team = verdict.team
            quality = (before.quality_of(old, team), after.taxonomy.quality_of(new, team))
            result.qualities += 1
            result.changed += quality[0] != quality[1]
            result.quality = [total + each for total, each in zip(result.quality, quality, strict=True)]
        if was != now or (quality is not None and quality[0] != quality[1]):
            lost, gained = (tuple(sorted(one.keys() - two.keys())) for one, two in ((was, now), (now, was)))
            result.changes.append(VerdictChange(verdict.dialogue_id, lost, gained, quality))
    return result


def _count(result: RulesPreview, verdict: Verdict, sides: Sequence[Mapping[Place, Severity]]) -> None:
    """Counts the findings of a verdict, before and after, by their severities."""
    for each in verdict.suggestions:
        result.change_of(each.code).suggestions[0] += 1
    for side, findings in enumerate(sides):
        result.flagged[side] += bool(findings)
        result.serious[side] += not set(findings.values()).isdisjoint(SERIOUS)
        for _, code in findings:
            result.change_of(code).findings[side] += 1
    was, now = sides
    for place in was.keys() & now.keys():
        result.change_of(place[1]).moved += was[place] != now[place]


def _meaning(code: Code | None) -> object:
    """Returns the fields of a code that annotators go by."""
    return code and (code.definition, code.test, code.scope, code.needs)


def _severity(place: Place, finding: Finding | None, taxonomy: Taxonomy, before: Taxonomy) -> Severity:
    """Returns the severity of a finding under a taxonomy: a usual one becomes the usual one there, and so
    does one that the code may not have there. A finding of a code that it lacks keeps its own."""
    entry, original = taxonomy.codes.get(place[1]), before.codes.get(place[1])
    if finding is None:
        assert entry is not None
        return entry.severity
    if entry is None:
        return finding.severity
    was_usual = original is None or finding.severity == original.severity
    return entry.severity if was_usual or finding.severity not in entry.severities else finding.severity


def _decide_again(
    verdict: Verdict, after: NewRules, dialogue: Dialogue | None, undecided: Counter[str]
) -> tuple[dict[Place, Finding | None], list[Place]]:
    """Returns the findings, None for those of the new policies only, and the suggestions."""
    findings: dict[Place, Finding | None] = {}
    suggested: list[Place] = []
    rules = None if after.overrides is None else Rules(after.codes, after.overrides)
    stored = [(each, kind) for kind in ("finding", "suggestion") for each in getattr(verdict, f"{kind}s")]
    outcomes: dict[Place, tuple[str, Finding | None]] = {}
    if after.policies is not None and dialogue is not None:
        stored = [(each, kind) for each, kind in stored if source_of_finding(each) != "policy"]
        for hit in find_broken(dialogue, CheckContext(policies=after.policies)):
            how = after.codes.get(hit.code or "")
            for check in () if how is None else how.checks:
                if check.name == POLICY_CHECK:
                    broken = Suspicion(
                        hit.code or "", hit.turn, 0, 0, 1, "policy", check.precision, check.name
                    )
                    outcome = _decide(broken, rules or Rules(after.codes), check)
                    outcomes[hit.turn, broken.code] = outcome, None
    elif after.policies is not None:
        undecided[UNREAD] += 1
    for each, kind in stored:
        place = each.turn, each.code
        if rules is not None:
            kind = _decide_stored(each, kind, verdict, rules, after.is_far, undecided)
        if kind != "dropped" and outcomes.get(place, ("",))[0] != "finding":
            outcomes[place] = kind, each
    for place, (outcome, finding) in outcomes.items():
        if outcome == "finding":
            findings[place] = finding
        else:
            suggested.append(place)
    if rules is not None:
        suggested += _newly_suggested(verdict, rules, after.is_far, outcomes.keys(), undecided)
    return findings, suggested


def _decide_stored(
    finding: Finding, kind: str, verdict: Verdict, rules: Rules, is_far: bool, undecided: Counter[str]
) -> str:
    """Decides a reported finding or suggestion again. A suggestion of the release or a judge stays one,
    unless a threshold alone made it a suggestion."""
    proofs, code, source = proof_names(finding), finding.code, source_of_finding(finding)
    if any(proof.startswith(("judge ", "demoted: the judge ")) for proof in proofs):
        undecided[JUDGE] += 1
        return kind
    scan = rules.codes[code].scan if code in rules.codes else None
    if (
        kind == "suggestion"
        and source != "scan"
        and not any(proof.startswith("demoted: ") for proof in proofs)
    ):
        undecided[HIDDEN] += scan is not None and scan.threshold is not None
        return kind
    if source == "scan" and (scan is None or (kind == "suggestion" and is_far)):
        return kind
    listed = (verdict.probabilities or {}).get(finding.turn, {}).get(code)
    is_needed = source == "scan" or rules.overrides.contract is not None
    if is_needed and listed is None and verdict.overrides is not None:
        undecided[SCALED] += 1
        return kind
    probability = finding.probability if listed is None else listed
    name = next((proof.split("'")[1] for proof in proofs if proof.startswith("exact check")), "")
    suspicion = Suspicion(code, finding.turn, 0, finding.start, finding.end, source, probability, name)
    without_policy = [
        code
        for code, how in rules.codes.items()
        if verdict.policy is None and any(check.name == POLICY_CHECK for check in how.checks)
    ]
    return _decide(suspicion, rules, CheckPrecision(name=name, precision=probability), without_policy)


def _decide(
    suspicion: Suspicion, rules: Rules, check: CheckPrecision, without_policy: Collection[str] = ()
) -> str:
    """Decides a suspicion whose language is covered and whose log has tool calls."""
    coverage = TurnCoverage(frozenset(), {suspicion.code: (check,)}, {}, True)
    decision = decide(
        [suspicion], rules, Facts(NO_DIALOGUE, {suspicion.turn: coverage}, without_policy, LOGGED)
    )
    return "dropped" if decision is None else decision.outcome


def _newly_suggested(
    verdict: Verdict, rules: Rules, is_far: bool, reported: Collection[Place], undecided: Counter[str]
) -> Iterator[Place]:
    """Yields the suggestions of the scan that a threshold below all of the release's adds."""
    released = Rules(rules.codes)
    lower = {
        code: (rules.least(code), released.least(code))
        for code in rules.overrides.thresholds
        if code in rules.codes and rules.least(code) < released.least(code)
    }
    if not lower:
        return
    if verdict.probabilities is None:
        undecided[UNLISTED] += 1
        return
    if is_far:
        undecided[FAR] += 1
        return
    for turn, probabilities in verdict.probabilities.items():
        for code, (least, before) in lower.items():
            if least <= probabilities.get(code, 0.0) < before and (turn, code) not in reported:
                if code in UNDONE and rules.codes[code].checks:
                    undecided[UNLOGGED] += 1
                else:
                    yield turn, code


@dataclass(frozen=True)
class FindingChange:
    """A finding that a dialogue gains or loses: its turn, the clause, and why it is broken."""

    dialogue: str
    turn: int
    clause: str
    code: str
    why: str
    gained: bool


@dataclass(frozen=True)
class PolicyPreview:
    """The numbers of dialogues read and of those that the policy applies to before and after, of broken
    clauses before and after by clause and code, and the changes."""

    dialogues: int
    applies: tuple[int, int]
    clauses: dict[tuple[str, str], tuple[int, int]]
    changes: tuple[FindingChange, ...]


def preview_policy(
    before: Policy | None, after: Policy, others: Mapping[str, Policy], dialogues: Iterable[Dialogue]
) -> PolicyPreview:
    """Compares the findings of `after` with those of `before`; `others` take part in which policy applies."""
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
