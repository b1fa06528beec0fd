"""From dialogue to verdict: evidence is verbatim, failures are not clean, personal data stay out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

import hypothesis
import pytest
import tiny
from hypothesis import strategies as st
from marked_dialogues import dialogue, in_turn, read_case

from dialint.detector import scanner as detector_scanner
from dialint.detector.calibration import CodeRelease, Contract, Scan, format_probability, round_probability
from dialint.detector.checks import proof_name
from dialint.detector.decide import _reason
from dialint.detector.ingest.validation import clean_texts
from dialint.detector.interface import DetectorConfig
from dialint.detector.overrides import Judged, update_overrides
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Dialogue
from dialint.detector.render import Rendered
from dialint.detector.scanner import WindowScores
from dialint.detector.taxonomy import load_taxonomy

HELLO = (("customer", "hello w1 my mail is ann@example.com"), ("agent", "w2 w3 ann@example.com order w4"))


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> ReleaseDetector:
    folder = tiny.write_release(tmp_path_factory.mktemp("release") / "r")
    return load_detector(DetectorConfig(release=folder, precision="fp32", threads=1))


def many() -> list[Dialogue]:
    def words(number: int, turn: int) -> str:
        return " ".join(f"w{(number * 7 + turn * 3 + k) % 200}" for k in range(5))

    return [in_turn(*(words(number, turn) for turn in range(8)), id=str(number)) for number in range(30)]


def test_every_dialogue_gets_its_verdict_in_order_and_every_quote_is_verbatim(
    detector: ReleaseDetector,
) -> None:
    items = many()
    verdicts = detector.verdicts(items)
    assert [verdict.dialogue_id for verdict in verdicts] == [item.id for item in items]
    findings = [(item, finding) for item, v in zip(items, verdicts, strict=True) for finding in v.findings]
    assert {finding.code for _, finding in findings} >= {"L1", "T1"}
    for item, finding in findings:
        assert item.turns[finding.turn].role == "agent"
        assert item.turns[finding.turn].text[finding.start : finding.end] == finding.quote


def test_the_quote_holds_placeholders_where_the_turn_holds_personal_data(detector: ReleaseDetector) -> None:
    (verdict,) = detector.verdicts([dialogue(("customer", "w1"), ("agent", "ann@example.com {first_name}"))])
    hit = next(finding for finding in verdict.findings if finding.code == "M2")
    assert hit.quote == "{first_name}"
    assert (hit.start, hit.end) == (16, 28)
    assert "exact check 'unfilled_placeholder'" in hit.reason.lower()
    assert "example.com" not in verdict.model_dump_json()


def test_what_is_stripped_changes_no_finding_and_offsets_point_into_the_log(
    detector: ReleaseDetector,
) -> None:
    """The same dialogues plain and as mails in HTML, with a quotation of the customer below each answer."""
    plain = [
        *many(),
        dialogue(("customer", "w1"), ("agent", "w2 & ann@example.com {first_name} <order id> w3")),
    ]
    mails = [
        [
            f"<div><p>{escape(turn.text).replace(' ', '<br> ', 1)}</p></div><blockquote type='cite'>w9 &amp; <name></blockquote>"
            for turn in each.turns
        ]
        for each in plain
    ]
    read = []
    for each, texts in zip(plain, mails, strict=True):
        clean = clean_texts(texts, [None] * len(texts), 10_000)
        turns = [
            turn.model_copy(update={"text": one.text.replace("\n", " "), "edits": one.edits})
            for turn, one in zip(each.turns, clean, strict=True)
        ]
        assert [turn.text for turn in turns] == [turn.text for turn in each.turns]
        read.append(each.model_copy(update={"turns": tuple(turns)}))
    n_findings = 0
    for given, texts, before, after in zip(
        plain, mails, detector.verdicts(plain), detector.verdicts(read), strict=True
    ):
        assert before == after.placed_in(read[plain.index(given)])
        for one, other in zip(before.findings, after.findings, strict=True):
            n_findings += 1
            source = texts[other.turn][other.start : other.end]
            assert (
                clean_texts([source], [True], 10_000)[0].text.replace("\n", " ")
                == given.turns[one.turn].text[one.start : one.end].strip()
            )
            assert "blockquote" not in source
    assert n_findings > 20


def test_a_spot_check_scales_probabilities_and_demotes(tmp_path: Path) -> None:
    """T1: 0 of 6 right, 4 expected: (0 + 3 x 3/7) / (4 + 3) of the stated probability, as a suggestion; the
    probabilities of the release stay."""
    folder, items = tiny.write_release(tmp_path / "r"), many()
    natural = tiny.spot_check(T1=Judged(reported=9, right=0, arguable=0, wrong=6, stated=4.0))
    path = tmp_path / "overrides.yaml"
    update_overrides(path, "tiny-1", spot_check=natural)
    plain = load_detector(DetectorConfig(release=folder))
    careful = load_detector(DetectorConfig(release=folder, overrides=path))
    assert careful.fingerprint != plain.fingerprint
    n = 0
    for before, after in zip(
        plain.verdicts(items, all_probabilities=True),
        careful.with_log(careful.log).verdicts(items, all_probabilities=True),
        strict=True,
    ):
        assert after.probabilities == before.probabilities
        stated = {finding.turn: finding.probability for finding in before.findings if finding.code == "T1"}
        assert all(finding.code != "T1" for finding in after.findings)
        for finding in after.suggestions:
            n += 1
            assert finding.probability == pytest.approx(stated[finding.turn] * 9 / 49, abs=1e-5)
            assert proof_name(finding).startswith("demoted: spot check of 2026-11-23")
        rest = {(each.code, each.turn): each.probability for each in before.findings if each.code != "T1"}
        for finding in after.findings:
            assert finding.probability == pytest.approx(rest[finding.code, finding.turn] * 3 / 7, abs=1e-5)
    assert n


def test_all_probabilities_name_every_judged_turn_and_covered_code(detector: ReleaseDetector) -> None:
    (verdict,) = detector.verdicts(
        [dialogue(*HELLO, ("customer", "w5"), ("bot", "w6"))], all_probabilities=True
    )
    assert verdict.probabilities is not None
    assert set(verdict.probabilities) == {1, 3}
    assert all(set(row) == {"L1", "T1", "R1", "M2"} for row in verdict.probabilities.values())
    assert [row["R1"] > 0 for row in verdict.probabilities.values()].count(True) == 1


def test_nothing_to_judge_is_a_failed_verdict(detector: ReleaseDetector) -> None:
    verdicts = detector.verdicts([dialogue(("customer", "w1")), dialogue(*HELLO)])
    assert [(v.status, v.failure, v.quality is None) for v in verdicts] == [
        ("failed", "E_NO_AGENT_TURN", True),
        ("scored", None, False),
    ]


def test_an_agent_who_only_calls_tools_is_judged_by_his_calls() -> None:
    talk, _ = read_case(["c: Hi", 'call: find {"email": "user@shop.example"}', "t: Error: user not found"])
    (verdict,) = load_detector(DetectorConfig(scan="off")).verdicts([talk], all_probabilities=True)
    assert (verdict.status, verdict.agent_turns, verdict.quality is None) == ("scored", 0, False)
    assert [(f.code, f.turn, f.start, f.end, f.quote) for f in verdict.findings] == [
        ("P3", 1, 0, 1, 'find({"email": "[EMAIL_1]"})')
    ]


def test_a_reason_quotes_the_customers_question_masked_and_in_few_words() -> None:
    code = load_taxonomy().codes["C1"]
    turns = dialogue(
        ("customer", "Hi. Where is my parcel? And can I, of [NAME_1], change it?  Thanks."),
        ("agent", "One moment."),
        ("system", "Who? What?"),
        ("agent", "word " * 60),
    ).turns
    reason = _reason(code, turns, turns[-1].text)
    assert reason.startswith("Question ignored in turn 3: “word word")
    assert " …”; before it, in turn 0, the customer asked “And can I, of [NAME_1], change it?”." in reason
    assert len(reason) < 260
    assert _reason(code, turns[1:2], "One moment.") == "Question ignored in turn 1: “One moment.”."
    assert "customer" not in _reason(load_taxonomy().codes["V2"], turns, "word")


@hypothesis.given(st.floats(0, 1, exclude_min=True))
def test_no_probability_is_certain_as_it_is_written_or_shown(probability: float) -> None:
    assert 1e-6 <= round_probability(probability) <= 1 - 1e-6
    assert abs(round_probability(probability) - probability) <= 1.5e-6
    assert format_probability(probability) not in ("0.00", "1.00")


def test_a_bot_is_at_fault_for_its_own_turn(detector: ReleaseDetector) -> None:
    (verdict,) = detector.verdicts([dialogue(("customer", "w1"), ("bot", "w2 {first_name}"))])
    assert {finding.fault for finding in verdict.findings} == {"bot"}


def test_the_fingerprint_changes_with_options_that_change_scores(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    prints = {
        load_detector(DetectorConfig(release=folder, precision=precision)).fingerprint
        for precision in ("fp32", "bf16", "fp32")
    }
    assert len(prints) == 2


def test_slices_change_no_verdict_and_hold_few_windows(
    detector: ReleaseDetector, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [*many(), dialogue(("customer", "w1"), name="nothing to judge"), *many()[:3]]
    whole = detector.verdicts(items, all_probabilities=True)
    sizes: list[int] = []
    scan = detector.scanner.engine.scan

    def watched(windows: Sequence[Rendered]) -> list[WindowScores]:
        sizes.append(sum(map(len, windows)))
        return scan(windows)

    monkeypatch.setattr(detector.scanner.engine, "scan", watched)
    monkeypatch.setattr(detector_scanner, "SLICE_TOKENS", 200)
    sliced = detector.verdicts(items, all_probabilities=True)
    assert len(sizes) > 5
    assert max(sizes) <= 200
    assert [v.dialogue_id for v in sliced] == [v.dialogue_id for v in whole]
    assert [v.status for v in sliced] == [v.status for v in whole]
    for left, right in zip(whole, sliced, strict=True):
        for turn, row in (left.probabilities or {}).items():
            assert row == pytest.approx((right.probabilities or {})[turn], abs=1e-4)


def test_the_threshold_is_compared_before_rounding(detector: ReleaseDetector) -> None:
    """The score's probability is just under the threshold, and would reach it when rounded."""
    threshold = 0.123457
    offset = math.log(0.1234568 / (1 - 0.1234568))
    contract = Contract(
        threshold=threshold, false_accusations_per_100=1, confidence=0.9, recall=0.5, n_errors=9, n_clean=9
    )
    scan = Scan(slope=1e-12, offset=offset, contract=contract)
    strict = detector.copy(info=detector.info.model_copy(update={"codes": {"L1": CodeRelease(scan=scan)}}))
    (verdict,) = strict.verdicts([dialogue(*HELLO)], all_probabilities=True)
    assert verdict.probabilities == {1: {"L1": threshold}}
    assert not verdict.findings


def test_no_reason_holds_what_the_masked_dialogue_hides() -> None:
    """Reasons name values of calls and messages; a part of a masked value is masked too."""
    hidden = ["jo.lind@mail.example", "Barbara", "Wollstone", "900871"]
    lines = [
        "c: I am Nell. Where is my order?",
        f'call: find_user {{"email": "{hidden[0]}"}}',
        "t: Error: user not found",
        f'call: find_user {{"first_name": "{hidden[1]}", "last_name": "{hidden[2]}", "zip": "80207"}}',
        "t: Error: user not found",
        f"a: I can't find you. Shall we phone you on +44 7700 {hidden[3]}?",
    ]
    (verdict,) = load_detector(DetectorConfig(scan="off")).verdicts([read_case(lines)[0]])
    assert {finding.code for finding in verdict.findings} == {"P3", "I2"}
    assert [each for each in hidden if each in verdict.model_dump_json()] == []
