"""What becomes of a judge's reading: findings, suggestions or nothing, and what was not judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from marked_dialogues import read_case
from scripted_judge import Answers, ScriptedJudge, listed

from dialint.detector.checks import proof_name
from dialint.detector.engines.judge_engines import JudgePanel
from dialint.detector.interface import PlainDetector
from dialint.detector.judge.budget import parse_budget
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.overrides import JudgeContract, JudgedCode, LogContract, Overrides
from dialint.detector.records import Dialogue, Finding, NotJudged, Verdict
from dialint.detector.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()
CODES = frozenset({"C1", "R1", "T1", "V2", "L1"})
MAIL = "Write to ann@example.com, I cannot help you."
LINES = ["c: Where is my parcel?", f"a: {MAIL}", "c: But where is it?", "b: Goodbye and thnak you."]
DIALOGUE = read_case(LINES, "d1")[0].model_copy(update={"language": None})


def finding(code: str, turn: int, proof: str, **changes: Any) -> Finding:
    return Finding(
        **{"code": code, "turn": turn, "severity": "S3", "probability": 0.9, "quote": "thnak", "start": 12,
           "end": 17, "reason": f"{code} in turn {turn}. ({proof})", **changes}
    )  # fmt: skip


@dataclass
class Inner(PlainDetector):
    """Reports what it is given."""

    findings: tuple[Finding, ...] = ()
    suggestions: tuple[Finding, ...] = ()
    gaps: tuple[NotJudged, ...] = ()
    status: Any = "scored"
    release = "inner"
    fingerprint = "inner"
    taxonomy = TAXONOMY
    codes: tuple[str, ...] = ("L1", "V2")

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        whole = self.status == "scored" and not self.gaps
        return [
            Verdict(
                dialogue_id=each.id, release="inner", taxonomy="1.2.0", status=self.status,
                failure="E_TIMEOUT" if self.status == "failed" else None,
                quality=100.0 if whole else None, findings=self.findings, suggestions=self.suggestions,
                not_judged=self.gaps,
            )
            for each in dialogues
        ]  # fmt: skip


def judge(answers: Answers, inner: Inner | None = None, **options: Any) -> tuple[Verdict, ScriptedJudge]:
    engine = ScriptedJudge(answers)
    fields = {"codes": CODES, "threshold": 0.8, "has_second_look": False, **options}
    detector = JudgedDetector(inner or Inner(), engine, StageOptions(**fields))
    [verdict] = detector.verdicts([DIALOGUE])
    return verdict, engine


C1 = {"turn": 1, "code": "C1", "quote": "I cannot help you"}


def test_an_error_becomes_a_finding_in_the_words_of_the_log() -> None:
    verdict, engine = judge(listed({**C1, "quote": "Write to [EMAIL_1]"}))
    [own] = verdict.findings
    assert (own.code, own.turn, own.severity, own.fault, own.probability) == ("C1", 1, "S2", "agent", 0.9)
    assert own.quote == "Write to [EMAIL_1]"
    assert MAIL[own.start : own.end] == "Write to ann@example.com"
    assert own.reason == "Question ignored in turn 1: It is [so] (judge 'scripted': 0.90)."
    assert verdict.quality == 75.0
    assert verdict.judge is not None
    assert (verdict.judge.readings, verdict.judge.codes) == (1, tuple(sorted(CODES)))
    assert "ann@example.com" not in str(engine.requests[0].messages)


@pytest.mark.parametrize(
    ("error", "n_findings", "n_suggestions"),
    [
        ({"probability": 0.8}, 1, 0),
        ({"probability": 0.6}, 0, 1),
        ({"probability": 0.4}, 0, 0),
        ({"quote": "never said"}, 0, 0),
        ({"quote": " "}, 0, 0),
    ],
)
def test_an_unsure_error_is_a_suggestion_and_one_without_its_quote_is_dropped(
    error: dict[str, Any], n_findings: int, n_suggestions: int
) -> None:
    verdict, _ = judge(listed({**C1, **error}))
    assert (len(verdict.findings), len(verdict.suggestions)) == (n_findings, n_suggestions)


def test_a_contract_decides_by_code_and_states_its_own_probability() -> None:
    allowed = JudgedCode(slope=1.0, offset=-1.0, threshold=0.7)
    contract = JudgeContract(
        judge="scripted", prompt="reading-2", precision=0.8, codes={"C1": allowed, "R1": allowed.model_copy(update={"threshold": None})}
    )  # fmt: skip
    verdict, _ = judge(
        listed(C1, {"turn": 3, "code": "R1", "quote": "Goodbye"}),
        threshold=None,
        overrides=Overrides(judge=contract),
    )
    assert [(each.code, each.probability) for each in verdict.findings] == [
        ("C1", pytest.approx(9 / (9 + math.e), abs=1e-6))
    ]
    assert [each.code for each in verdict.suggestions] == ["R1"]


def test_what_a_check_proved_stays_and_is_explained_under_one_code() -> None:
    proven = finding("L1", 3, "exact check 'misspelling', precision 0.98")
    verdict, _ = judge(
        listed({"turn": 3, "code": "T1", "second_code": "L1", "quote": "thnak"}), Inner((proven,))
    )
    [own] = verdict.findings
    assert (own.code, own.quote, own.severity, own.probability) == ("L1", "thnak", "S3", 0.9)
    assert own.reason.startswith("It is [so]. L1 in turn 3.")
    silent, _ = judge(listed(), Inner((proven,)))
    assert silent.findings == (proven,)


def test_a_suggestion_of_the_scan_is_confirmed_or_denied() -> None:
    suspected = finding("T1", 3, "demoted: below the contract")
    error = {"turn": 3, "code": "T1", "quote": "Goodbye"}
    confirmed, _ = judge(listed(error), Inner((), (suspected,)))
    assert [proof_name(each) for each in confirmed.findings] == ["judge 'scripted'"]
    for threshold in (None, 0.95):  # not sure enough: it keeps why it is a suggestion
        result, _ = judge(listed(error), Inner((), (suspected,)), threshold=threshold)
        assert [proof_name(each) for each in result.suggestions] == ["demoted: below the contract"]
        assert result.suggestions[0].reason.startswith("It is [so]. (judge 'scripted': 0.90) ")
    denied, _ = judge(listed(), Inner((), (suspected,)))
    assert not denied.findings
    assert "denies it" in denied.suggestions[0].reason


def test_what_the_judge_explains_needs_the_judges_contract_on_the_log() -> None:
    contract = LogContract(precision=0.9, confidence=0.95, log="0", judged_on=date(2026, 11, 29), codes={})
    flagged, error = finding("T1", 3, "scan"), {"turn": 3, "code": "T1", "quote": "Goodbye"}
    for overrides, outcome in (
        (Overrides(), "findings"),
        (Overrides(release="r", contract=contract), "suggestions"),
    ):
        verdict, _ = judge(listed(error), Inner((flagged,)), overrides=overrides)
        assert [each.code for each in getattr(verdict, outcome)] == ["T1"]


def test_a_judges_code_replaces_the_scans_for_the_same_fault() -> None:
    flagged = finding("L1", 3, "scan")
    error = {"turn": 3, "code": "R1", "second_code": "L1", "quote": "Goodbye"}
    verdict, _ = judge(listed(error), Inner((flagged,)))
    assert [each.code for each in verdict.findings] == ["R1"]
    unsure, _ = judge(listed(error), Inner((flagged,)), threshold=0.95)
    assert [each.code for each in unsure.findings] == ["L1"]


def test_a_second_look_decides_what_was_not_sure_and_what_is_critical() -> None:
    errors = [
        {**C1, "probability": 0.6, "second_code": "R1"},
        {"turn": 3, "code": "R1", "quote": "Goodbye", "probability": 0.95},
        {"turn": 1, "code": "V2", "quote": "Write", "severity": "S1"},
        {"turn": 3, "code": "L1", "quote": "thnak", "probability": 0.5},
    ]
    decisions = [
        {"number": 1, "code": "C1", "probability": 0.9},
        {"number": 2, "code": "none", "probability": 0.1},
        {"number": 3, "code": "L1", "probability": 0.6},
    ]
    verdict, engine = judge(listed(*errors, decisions=decisions), has_second_look=True)
    assert len(engine.requests) == 2
    content = engine.requests[1].messages[1]["content"]
    assert content.startswith(engine.requests[0].messages[1]["content"].rpartition("\n")[0])
    assert [(each.code, each.probability) for each in verdict.findings] == [("C1", 0.9), ("R1", 0.95)]
    assert [each.code for each in verdict.suggestions] == ["L1"]
    assert verdict.judge is not None
    assert (verdict.judge.readings, verdict.judge.second_looks) == (1, 1)


def test_an_unusable_answer_is_requested_once_more_and_then_a_failure() -> None:
    good = listed(C1)
    verdict, _ = judge(lambda request: ["nonsense", *good(request)])
    assert verdict.findings
    verdict, _ = judge(lambda request: ["nonsense", "<think>more", *good(request)])
    assert verdict.quality is None
    assert verdict.judge is not None
    assert verdict.judge.failures == {"E_ANSWER": tuple(sorted(CODES))}
    assert verdict.judge.codes == ()


def test_votes_are_sampled_and_one_without_an_answer_leaves_the_others() -> None:
    def answers(request: JudgeRequest) -> Sequence[str]:
        scripts = {0: listed(C1), 1: lambda _: ["nonsense"] * 2, 2: listed({**C1, "probability": 0.8})}
        return scripts[request.vote](request)

    verdict, engine = judge(answers, votes=3)
    assert [request.vote for request in engine.requests] == [0, 1, 2]
    [only] = verdict.findings
    assert only.probability == pytest.approx(0.85)
    assert verdict.quality is not None
    verdict, _ = judge(answers, votes=3, budget=parse_budget("1000 questions"))
    assert [each.probability for each in verdict.findings] == [0.9]  # the others are beyond the budget
    assert verdict.quality is not None


def test_judges_that_vote_count_by_their_mean_and_each_answers_its_own_votes() -> None:
    sure, unsure = ScriptedJudge(listed(C1)), ScriptedJudge(listed({**C1, "probability": 0.8}), name="other")
    panel = JudgePanel([sure, unsure])
    options = StageOptions(codes=CODES, threshold=0.8, has_second_look=False, votes=4)
    [verdict] = JudgedDetector(Inner(), panel, options).verdicts([DIALOGUE])
    [only] = verdict.findings
    assert only.probability == pytest.approx(0.85)
    assert "judge 'scripted+other': 0.85" in only.reason
    assert [[each.vote for each in judge.requests] for judge in panel.judges] == [[0, 1], [0, 1]]


def test_a_failed_second_look_leaves_what_was_read_and_counts() -> None:
    verdict, _ = judge(listed({**C1, "probability": 0.6}), has_second_look=True)
    assert [each.code for each in verdict.suggestions] == ["C1"]
    assert verdict.judge is not None
    assert verdict.judge.failures == {"E_ANSWER": ("C1",)}
    assert verdict.quality is None


def test_what_the_release_cannot_judge_the_judge_can() -> None:
    gap = NotJudged(language="sv", turns=(1, 3), codes=("L1", "T1"))
    verdict, _ = judge(listed(), Inner(gaps=(gap,)))
    assert (verdict.status, verdict.quality, verdict.not_judged) == ("scored", 100.0, ())
    wider = gap.model_copy(update={"codes": ("L1", "M3")})
    verdict, _ = judge(listed(), Inner(gaps=(wider,)))
    assert verdict.not_judged == (gap.model_copy(update={"codes": ("M3",)}),)
    assert verdict.quality is None


def test_a_dialogue_that_failed_is_not_read_and_one_without_agents_neither() -> None:
    verdict, engine = judge(listed(C1), Inner(status="failed"))
    assert (verdict.status, engine.requests) == ("failed", [])
    engine = ScriptedJudge(listed())
    silent = DIALOGUE.model_copy(update={"turns": DIALOGUE.turns[:1]})
    JudgedDetector(Inner(), engine, StageOptions(codes=CODES)).verdicts([silent])
    assert engine.requests == []


def test_a_budget_reads_a_share_of_the_dialogues_and_names_what_was_left() -> None:
    engine = ScriptedJudge(listed(C1))
    options = StageOptions(codes=CODES, threshold=0.8, budget=parse_budget("500 questions"))
    dialogues = [DIALOGUE.model_copy(update={"id": f"d{n}"}) for n in range(20)]
    verdicts = JudgedDetector(Inner(), engine, options).verdicts(dialogues)
    read = [verdict for verdict in verdicts if verdict.judge is not None and verdict.judge.codes]
    assert len(engine.requests) == len(read) == 10
    assert all(
        verdict.judge is not None and set(verdict.judge.unasked) == CODES
        for verdict in verdicts
        if verdict not in read
    )


def test_a_budget_reaches_first_what_the_detector_inside_suspects() -> None:
    class Suspects(Inner):
        def verdicts(
            self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False
        ) -> list[Verdict]:
            suspicion = finding("L1", 3, "scan", probability=0.3)
            return [
                each.model_copy(update={"suggestions": (suspicion,)}) if each.dialogue_id == "d7" else each
                for each in super().verdicts(dialogues)
            ]

    engine = ScriptedJudge(listed())
    options = StageOptions(codes=CODES, threshold=0.8, budget=parse_budget("100 questions"))
    JudgedDetector(Suspects(), engine, options).verdicts(
        [DIALOGUE.model_copy(update={"id": f"d{n}"}) for n in range(10)]
    )
    assert [request.dialogue_id for request in engine.requests] == ["d7"]


def test_a_server_that_refuses_long_prompts_gets_smaller_parts() -> None:
    good = listed(C1)

    class Small(ScriptedJudge):
        def reply(self, request: JudgeRequest) -> JudgeReply:
            if self.count_tokens(request.messages) > 1200:
                self.max_prompt_tokens = min(self.max_prompt_tokens, 1200)
                return JudgeReply(failure="E_CONTEXT")
            return super().reply(request)

    engine = Small(lambda request: good(request) if "C1" in str(request.schema) else listed()(request))
    options = StageOptions(codes=CODES, threshold=0.8, has_second_look=False)
    [verdict] = JudgedDetector(Inner(), engine, options).verdicts([DIALOGUE])
    assert [each.code for each in verdict.findings] == ["C1"]
    assert verdict.judge is not None
    assert verdict.judge.failures == {}
    assert set(verdict.judge.codes) == CODES
