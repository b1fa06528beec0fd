"""Decides what becomes of a suspicion: a finding, a suggestion or nothing, and why. Nothing else does.

    mask -> suspicions (checks, policies, scan, judge) -> decide -> Verdict

`TABLE` has the rules in their order, each with the sources that it holds for. A suspicion begins as a
finding; the first rule that lowers it gives the reason, and is the last one that is applied. `build_finding`
puts what is reported into the words of the masked dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dialint.detector.calibration import POLICY_CHECK, CheckPrecision, CodeRelease, round_probability
from dialint.detector.checks import append_proof, proof_name, proof_names
from dialint.detector.checks.raw_text import raw_texts
from dialint.detector.log_profile import EMPTY_PROFILE, Domain, LogProfile
from dialint.detector.masking import MaskedText
from dialint.detector.overrides import NO_OVERRIDES, JudgedCode, Overrides
from dialint.detector.records import Dialogue, Finding, Source, Turn
from dialint.detector.release import TurnCoverage
from dialint.detector.taxonomy import Code, Taxonomy
from dialint.detector.tool_use import call_lines

Outcome = Literal["finding", "suggestion", "dropped"]

FAR_LOG = "the log is far from what the release was calibrated on"
OUTSIDE_CONTRACT = "outside the contract on this log"
NO_POLICY = "no policy with rules for it applies to the dialogue"
UNDONE = frozenset({"I2", "P1", "P3", "R2", "R3"})
"""Codes that accuse of what is not in the log, or of a call."""
EVEN = 0.5
"""The least probability of an error that only the judge found."""


@dataclass(frozen=True)
class Suspicion:
    """An error that may be in a turn. `position` is that of the turn in the dialogue, ``[start, end)`` the
    evidence in its text before masking, `name` that of the check or judge. The probability is calibrated; of
    a check it is the precision that was measured. `proof` goes into the reason of what is reported."""

    code: str
    turn: int
    position: int
    start: int
    end: int
    source: Source
    probability: float
    name: str = ""
    proof: str = ""


@dataclass(frozen=True)
class Facts:
    """The dialogue that suspicions are about, as it is in the log: the coverage of each turn, the
    codes for which no policy has rules here, and what the log as a whole shows."""

    dialogue: Dialogue
    coverage: Mapping[int, TurnCoverage]
    without_policy: Collection[str] = ()
    log: LogProfile = EMPTY_PROFILE

    @cached_property
    def raw_turns(self) -> frozenset[int]:
        """The turns with text that only a machine reads."""
        return frozenset(hit.turn for hit in raw_texts(self.dialogue))


@dataclass(frozen=True)
class Decision:
    """The outcome of a suspicion, its probability before and after a spot check scales it, and the proofs for
    the reason."""

    outcome: Outcome
    probability: float
    stated: float
    proofs: tuple[str, ...]
    suspicion: Suspicion


@dataclass(frozen=True)
class Limit:
    """The most that a rule lets a suspicion become, with a proof of it."""

    outcome: Outcome
    proof: str = ""


@dataclass(frozen=True)
class Rules:
    """The inputs of decisions: how the release finds each code, the team's overrides, the domain that the log
    is far from, if any, and the probability from which a judge without a contract may accuse."""

    codes: Mapping[str, CodeRelease]
    overrides: Overrides = NO_OVERRIDES
    far_from: Domain | None = None
    judge_threshold: float | None = None

    def least(self, code: str) -> float:
        """The probability from which a suspicion of the scan may become anything; above 1 if from none."""
        scan = self.codes[code].scan
        limits = (
            [] if scan is None else [scan.threshold, scan.suggest_at, self.overrides.thresholds.get(code)]
        )
        return min((limit for limit in limits if limit is not None), default=2.0)

    def stated(self, probability: float) -> float:
        """The probability of the scan as it is stated in this log."""
        return probability if self.far_from is None else self.far_from.temper(probability)

    @property
    def judged_codes(self) -> Mapping[str, JudgedCode]:
        """The calibration of the judge's probabilities by its contract."""
        return {} if self.overrides.judge is None else self.overrides.judge.codes

    def judge_threshold_of(self, code: str) -> float | None:
        """Returns the probability from which the judge's errors of a code may be findings."""
        return self.judged_codes[code].threshold if code in self.judged_codes else self.judge_threshold

    def keeps_contract(self, code: str, source: Source, probability: float) -> bool:
        """Returns whether the contract on the team's log, if there is one, allows a finding."""
        contract = self.overrides.contract
        return contract is None or contract.covers(code, source, round_probability(probability))

    def judged_probability(self, code: str, probability: float) -> float:
        return self.judged_codes[code].calibrate(probability) if code in self.judged_codes else probability


def decide(suspicions: Iterable[Suspicion], rules: Rules, facts: Facts) -> Decision | None:
    """Decide about the suspicions of one turn and code; None if there is none that the release covers.

    The strongest outcome counts, of equal ones a check's, and the more probable one's; its probability, or
    that of the scan if it is higher, is stated.
    """
    best: Decision | None = None
    by_scan = 0.0
    for suspicion in sorted(suspicions, key=lambda each: each.source == "scan"):
        if suspicion.source == "scan":
            by_scan = rules.stated(suspicion.probability)
            if best is not None and best.outcome == "finding":
                continue
        decision = _decide_one(suspicion, rules, facts)
        is_covered = decision.outcome != "dropped" or suspicion.source in ("scan", "judge")
        if is_covered and (best is None or _rank(decision) >= _rank(best)):
            best = decision
    if best is None:
        return None
    outcome, suspicion = best.outcome, best.suspicion
    probability = stated = max(best.probability, by_scan)
    if outcome != "dropped" and rules.overrides.spot_check is not None and suspicion.source != "judge":
        stated = rules.overrides.spot_check.calibrate(suspicion.code, outcome, stated)
    best = replace(best, probability=probability, stated=stated)
    why = rules.overrides.demotions.get(suspicion.code)
    if why is None and not rules.keeps_contract(suspicion.code, suspicion.source, probability):
        why = OUTSIDE_CONTRACT
    if outcome == "finding" and why is not None:
        best = replace(best, outcome="suggestion", proofs=(*best.proofs, f"demoted: {why}"))
    return best


def _decide_one(suspicion: Suspicion, rules: Rules, facts: Facts) -> Decision:
    outcome: Outcome = "finding"
    proofs = [suspicion.proof] if suspicion.proof else []
    for sources, rule in TABLE:
        limit = rule(suspicion, rules, facts) if suspicion.source in sources else None
        if limit is not None:
            outcome = limit.outcome
            proofs += [limit.proof] if limit.proof else []
        if outcome != "finding":
            break
    is_scan = suspicion.source == "scan"
    probability = rules.stated(suspicion.probability) if is_scan else suspicion.probability
    return Decision(outcome, probability, probability, tuple(proofs), suspicion)


def _rank(decision: Decision) -> tuple[int, bool, float]:
    suspicion = decision.suspicion
    return (
        ("dropped", "suggestion", "finding").index(decision.outcome),
        suspicion.source != "scan",
        suspicion.probability,
    )


def _language(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """A check does not report a turn in a language that it does not cover."""
    return Limit("dropped") if _check(suspicion, facts) is None else None


def _report(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """A check of low precision only suggests, as the release states."""
    check = _check(suspicion, facts)
    return Limit("suggestion") if check is not None and check.report == "suggestion" else None


def _check(suspicion: Suspicion, facts: Facts) -> CheckPrecision | None:
    checks = facts.coverage[suspicion.turn].checked.get(suspicion.code, ())
    return next((check for check in checks if check.name == suspicion.name), None)


def _least(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """Below all thresholds the scan reports nothing."""
    return Limit("dropped") if suspicion.probability < rules.least(suspicion.code) else None


def _raw(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """The scan cannot read raw text: of 25 suggestions on such turns of tau_bench 1 was right, and of 20 on
    others 11 (by two readings, 2026-11-29)."""
    return Limit("dropped") if suspicion.turn in facts.raw_turns else None


def _undone(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """Drops the scan's suspicions where no calls of tools are logged, or some only, like the exact checks."""
    if suspicion.code not in UNDONE or not rules.codes[suspicion.code].checks:
        return None
    turns = facts.dialogue.turns
    has_calls = any(turn.tool_calls or turn.role == "tool" for turn in turns)
    is_logged = facts.log.logs_calls(facts.dialogue) or (has_calls and not facts.log.is_partial)
    return None if is_logged else Limit("dropped")


def _threshold(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """The thresholds of the release, by its contract and on natural text, and those of the team."""
    scan = rules.codes[suspicion.code].scan
    if scan is None or scan.threshold is None or suspicion.probability < scan.threshold:
        return Limit("suggestion", "demoted: below the contract")
    if suspicion.probability < rules.overrides.thresholds.get(suspicion.code, 0.0):
        return Limit("suggestion", "demoted: below the threshold of the team")
    return None


def _domain(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    return None if rules.far_from is None else Limit("suggestion", f"demoted: {FAR_LOG}")


def _policy(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    is_lacking = suspicion.code in facts.without_policy
    return Limit("suggestion", f"demoted: {NO_POLICY}") if is_lacking else None


def _judge(suspicion: Suspicion, rules: Rules, facts: Facts) -> Limit | None:
    """An error of the judge alone needs a contract or a threshold to be a finding."""
    if suspicion.probability < EVEN:
        return Limit("dropped")
    threshold = rules.judge_threshold_of(suspicion.code)
    if threshold is None:
        return Limit("suggestion", f"demoted: the judge keeps no contract on {suspicion.code}")
    if suspicion.probability < threshold:
        return Limit("suggestion", "demoted: the judge is below its threshold")
    return None


Rule = Callable[[Suspicion, Rules, Facts], Limit | None]
TABLE: tuple[tuple[tuple[Source, ...], Rule], ...] = (
    (("check", "policy"), _language),
    (("check", "policy"), _report),
    (("scan",), _least),
    (("scan",), _raw),
    (("scan",), _undone),
    (("scan",), _threshold),
    (("scan",), _domain),
    (("scan",), _policy),
    (("judge",), _judge),
)
"""The rules with the sources that they apply to. A demotion by the team, or by the contract on its log, holds
for all of them, and comes last, in `decide`: until then a spot check's figures are those of findings."""


def deny(before: Outcome, code: str, name: str, rules: Rules) -> tuple[Outcome, str]:
    """Returns the outcome of a finding or suggestion of the scan that the judge `name` denies, with the
    proof: only a judge with a contract or a threshold demotes it."""
    proof = f"the judge {name} denies it"
    threshold = rules.judge_threshold_of(code)
    if threshold is None or threshold > 1:
        return before, f"{proof}, but keeps no contract on {code}"
    return "suggestion", f"demoted: {proof}"


def source_of_finding(finding: Finding) -> Source:
    """Returns the source of a finding or suggestion and of its probability, by the proofs in its reason."""
    names = proof_names(finding)
    if check := next((name for name in names if name.startswith("exact check")), ""):
        return "policy" if check == f"exact check '{POLICY_CHECK}'" else "check"
    return "judge" if any(name.startswith("judge") for name in names) else "scan"


def drop_doubles(findings: Sequence[Finding], others: Sequence[Finding], taxonomy: Taxonomy) -> list[Finding]:
    """Return the findings of one turn without those of exact checks on the same words as a graver one of
    another code, or as one of `others`, that exact checks prove too: one error, one finding."""
    unique: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.severity, -each.probability)):
        if not any(_is_same_slip(finding, each, taxonomy) for each in (*others, *unique)):
            unique.append(finding)
    return [each for each in findings if each in unique]


def _is_same_slip(one: Finding, other: Finding, taxonomy: Taxonomy) -> bool:
    if one.code == other.code or not all(
        taxonomy.codes[each.code].context_free and proof_name(each).startswith("exact check")
        for each in (one, other)
    ):
        return False
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared > max(one.end - one.start, other.end - other.start)


MAX_WORDS = 100
"""Most characters of a turn that a reason quotes."""
_SENTENCE_END = re.compile(r"[.!?？؟;。\n]")


def build_finding(
    decision: Decision,
    original: Turn,
    turns: Sequence[Turn],
    text: MaskedText,
    taxonomy: Taxonomy,
    log: LogProfile = EMPTY_PROFILE,
) -> Finding:
    """The finding or suggestion of a decision about the turn `original` of the log. `turns` are the masked
    ones up to it, and `text` its masked text. What is wrong in the words of a line that other dialogues of
    the log have too is the template's fault."""
    suspicion = decision.suspicion
    entry = taxonomy.codes[suspicion.code]
    if original.is_silent_act:
        start, end = suspicion.start, suspicion.start + 1
        quote = call_lines(turns[-1])[start]
    else:
        masked_start, masked_end = text.from_original(suspicion.start, suspicion.end)
        start, end = original.to_log(suspicion.start, suspicion.end)
        quote = turns[-1].text[masked_start:masked_end]
    n_prepared = log.count_line(original.text, suspicion.start) if entry.context_free else 0
    finding = Finding(
        code=suspicion.code,
        turn=original.index,
        severity=entry.severity,
        fault="template" if n_prepared else "bot" if original.role == "bot" else entry.fault,
        probability=round_probability(decision.stated),
        quote=quote,
        start=start,
        end=end,
        reason=_reason(entry, turns, quote),
    )
    for proof in decision.proofs:
        finding = append_proof(finding, proof)
    prepared = f"a prepared line, in {n_prepared} dialogues of the log"
    return append_proof(finding, prepared) if n_prepared else finding


def _reason(code: Code, turns: Sequence[Turn], quote: str) -> str:
    """The reason of a finding: the code, its turn and the evidence in the words of the dialogue; for a turn
    that is wrong as an answer, also the customer's last words before it. It does not explain the model."""
    seen = f"{code.name.en} in turn {turns[-1].index}: {_quote(quote)}"
    requested = next(
        (turn for turn in reversed(turns) if turn.role == "customer" and turn.text.strip()), None
    )
    if not code.answers_customer or requested is None:
        return f"{seen}."
    question = _last_question(requested.text)
    verb, words = ("asked", question) if question else ("said", requested.text)
    return f"{seen}; before it, in turn {requested.index}, the customer {verb} {_quote(words)}."


def _last_question(text: str) -> str:
    """The last sentence that ends with a question mark, empty without any."""
    start, result = 0, ""
    for end in _SENTENCE_END.finditer(text):
        if end[0] in "?？؟" and text[start : end.start()].strip():
            result = text[start : end.end()]
        start = end.end()
    return result


def _quote(words: str) -> str:
    """`words` on one line, shortened at the end."""
    line = " ".join(words.split())
    if len(line) > MAX_WORDS:
        line = line[: MAX_WORDS + 1].rpartition(" ")[0] or line[:MAX_WORDS]
        line += " …"
    return f"“{line}”"
