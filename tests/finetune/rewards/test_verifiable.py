"""Each term of the judge's reward against answers computed by hand, and what no answer can change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dialint.detector.errors import ConfigError
from dialint.detector.judge import GRID, VERDICTS, Answer, answer_json
from dialint.detector.records import Severity
from dialint.finetune.rewards.verifiable import (
    SEVERITIES,
    GroundTruth,
    RewardWeights,
    belief,
    brevity,
    compute_reward,
    decision,
    form,
    is_accusation,
    quote,
    rewrite,
    scannable_rewrite,
    severity,
    standardize,
)

TEXT = "Read the mail. You were told. Bye."
SPAN = (15, 29)
KNOWN = GroundTruth(probability=1.0, text=TEXT, span=SPAN, severity="S2")
NO = Answer(verdict="no_error", probability=0.1)
NEITHER = Answer(verdict="not_applicable", probability=0.1)
RATIOS = st.floats(0.2, 50.0)
SHARES = st.floats(0.0, 1.0)


def error(found: str | None = TEXT[15:29], stated: float = 0.9, severity: Severity | None = "S2") -> Answer:
    return Answer(verdict="error", probability=stated, quote=found, severity=severity)


# belief


def test_the_brier_score_by_hand() -> None:
    assert belief(0.9, 1.0) == pytest.approx(-0.01)
    assert belief(0.2, 0.7) == pytest.approx(-0.25)
    assert belief(1.0, 0.0) == -1.0


@given(SHARES, SHARES)
def test_the_honest_probability_pays_most_over_hard_and_soft_truths(truth: float, stated: float) -> None:
    def expected(says: float) -> float:
        return truth * belief(says, 1.0) + (1 - truth) * belief(says, 0.0)

    assert expected(truth) >= expected(stated)
    assert belief(truth, truth) >= belief(stated, truth)
    assert expected(truth) - expected(stated) == pytest.approx((truth - stated) ** 2, abs=1e-12)


# decision


def test_the_decision_by_hand() -> None:
    """At ratio 5 a miss costs 1/6, a false accusation 5/6; at probability 0.8 each of them on average."""
    known = replace(KNOWN, probability=0.8)
    assert decision(NO, known, 5.0) == pytest.approx(-0.8 / 6)
    assert decision(error(), known, 5.0) == pytest.approx(-0.2 * 5 / 6)
    assert decision(error("Never said."), known, 5.0) == pytest.approx(-(0.8 + 1.0) / 6)
    assert decision(NEITHER, known, 5.0) == pytest.approx(-0.9 / 6)


@given(SHARES, RATIOS)
def test_accusing_pays_exactly_above_the_threshold(probability: float, ratio: float) -> None:
    known, threshold = replace(KNOWN, probability=probability), RewardWeights(ratio=ratio).threshold
    gain = decision(error(), known, ratio) - decision(NO, known, ratio)
    assert gain == pytest.approx(probability - threshold, abs=1e-12)


@given(SHARES, RATIOS)
def test_an_error_without_a_verbatim_quote_is_never_better_than_another_verdict(
    probability: float, ratio: float
) -> None:
    known = replace(KNOWN, probability=probability)
    for dead in (error(None), error(" "), error("you were told.")):
        assert not is_accusation(dead, known)
        assert decision(dead, known, ratio) <= min(
            decision(error(), known, ratio), decision(NO, known, ratio)
        )


@given(SHARES, RATIOS, st.booleans())
def test_not_applicable_is_no_way_around_an_answer(probability: float, ratio: float, applies: bool) -> None:
    known = replace(KNOWN, probability=probability, applies=applies)
    right, wrong = (NO, NEITHER) if applies else (NEITHER, NO)
    gap = decision(right, known, ratio) - decision(wrong, known, ratio)
    assert gap == pytest.approx(0.1 / (1 + ratio))


# quote


def test_a_quote_is_worth_its_overlap_less_what_lies_beside() -> None:
    assert quote(error(), KNOWN) == 1.0
    assert quote(error("You were"), KNOWN) == pytest.approx(2 * 8 / (8 + 14))
    assert quote(error("mail. You were told."), KNOWN) == pytest.approx(2 * 14 / (20 + 14) - 6 / 34)
    assert quote(error("You were told. Bye"), KNOWN) == pytest.approx(2 * 14 / (18 + 14) - 4 / 34)
    assert quote(error("Read"), KNOWN) == 0.0
    assert quote(error("Bye."), KNOWN) == 0.0
    assert quote(error("You was told."), KNOWN) == 0.0
    assert quote(NO, KNOWN) == 0.0
    assert quote(error("Bye."), replace(KNOWN, span=None)) == 1.0  # no evidence is labelled


@given(st.integers(2, 200), st.data())
def test_the_whole_turn_earns_nothing_where_the_evidence_is_short(length: int, data: st.DataObject) -> None:
    text = "".join(chr(0x4E00 + place) for place in range(length))
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, length))
    known = GroundTruth(probability=1.0, text=text, span=(start, end))
    whole, exact = quote(error(text), known), quote(error(text[start:end]), known)
    assert exact == 1.0
    assert (whole == 0.0) == ((end - start) / length <= 2**0.5 - 1 + 1e-12)
    assert (whole == 1.0) == (end - start == length)


# severity


@pytest.mark.parametrize(
    ("said", "right", "worth"),
    [("S2", "S2", 1.0), ("S1", "S2", 0.5), ("S3", "S2", 0.5), ("S4", "S2", 0.0), ("S4", "S1", 0.0), (None, "S2", 0.0), ("S4", None, 1.0)],
)  # fmt: skip
def test_a_severity_is_worth_its_nearness(
    said: Severity | None, right: Severity | None, worth: float
) -> None:
    assert severity(error(severity=said), replace(KNOWN, severity=right)) == worth


SCANNED = replace(KNOWN, before=0.9, threshold=0.6)


def mended(rewrite: str | None) -> Answer:
    return error().model_copy(update={"rewrite": rewrite})


def test_a_rewrite_is_worth_the_scanners_silence() -> None:
    good = mended("Please read the mail. Bye.")
    assert scannable_rewrite(good, SCANNED) == "Please read the mail. Bye."
    assert rewrite(good, SCANNED, 0.1) == 1.0
    assert rewrite(good, SCANNED, 0.7) == 0.0


@pytest.mark.parametrize(
    "new",
    [None, "", "  ", "\u200b", TEXT, f" {TEXT}\n", TEXT.replace(" ", "  "), TEXT.replace("m", "m\u200b"), "Sorry.", "bye"],
    ids=["absent", "empty", "blank", "invisible", "same", "padded", "spaced", "hidden", "unrelated", "one word kept"],
)  # fmt: skip
def test_what_is_no_rewrite_is_worth_nothing_however_silent_the_scanner(new: str | None) -> None:
    assert scannable_rewrite(mended(new), SCANNED) is None
    assert rewrite(mended(new), SCANNED, 0.0) == 0.0


def test_only_a_finding_that_the_scanner_saw_too_is_put_before_it_again() -> None:
    good = mended("Please read the mail. Bye.")
    assert scannable_rewrite(None, SCANNED) is None
    assert scannable_rewrite(good.model_copy(update={"quote": "Nowhere"}), SCANNED) is None
    assert scannable_rewrite(good.model_copy(update={"verdict": "no_error"}), SCANNED) is None
    assert scannable_rewrite(good, replace(SCANNED, before=0.6)) == good.rewrite
    for unseen in (replace(SCANNED, before=None), replace(SCANNED, before=0.59)):
        assert scannable_rewrite(good, unseen) is None
        assert rewrite(good, unseen, None) == 1.0


def test_a_scanner_that_did_not_answer_is_no_bad_rewrite() -> None:
    with pytest.raises(ValueError, match="was not scanned"):
        rewrite(mended("Please read the mail. Bye."), SCANNED, None)


def test_a_rewrite_may_keep_nothing_where_a_good_one_does_not_either() -> None:
    """Of 65 taught rewrites of errors made in clean dialogues 19 keep less than a third of the turn."""
    good, known = "Your parcel arrives on Monday.", replace(SCANNED, rewrite="Your parcel arrives today.")
    assert scannable_rewrite(mended(good), SCANNED) is None
    assert scannable_rewrite(mended(good), known) == good
    assert scannable_rewrite(mended("Please read the mail. Bye."), known) is not None
    assert scannable_rewrite(mended("Sorry."), known) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "no_error", "probability": 0.1}',
        '{"probability":0.1,"verdict":"no_error"}',
        '{"verdict":"error","verdict":"no_error","probability":0.1}',
        '{"verdict":"no_error","probability":0.1,"quote":null}',
        '{"verdict":"no_error","probability":0.1,"reason":""}',
    ],
)
def test_an_answer_is_written_as_it_is_taught(text: str) -> None:
    """Else the first verdict, whose probability is read off the model, need not be the one that counts."""
    assert form(NO, text, KNOWN, 0.5) == pytest.approx(2 / 3)
    assert form(NO, f" {answer_json(NO)}\n", KNOWN, 0.5) == 1.0


def test_brevity_by_hand() -> None:
    long = NO.model_copy(update={"reason": "x" * 100})
    size = len(answer_json(long))
    assert brevity(long, answer_json(long), KNOWN, size) == 1.0
    assert brevity(long, answer_json(long), KNOWN, size // 2) == pytest.approx(
        1 - (size - size // 2) / (size // 2)
    )
    assert brevity(long, answer_json(long), KNOWN, 10) == 0.0
    assert brevity(long, answer_json(long), KNOWN, 100) == pytest.approx(1 - (size - 100) / 100)


def test_quote_and_rewrite_are_free_up_to_the_turns_length() -> None:
    bare = len(answer_json(mended("")))
    room = bare - len("You were told.")
    assert (
        brevity(mended(TEXT[:10]), answer_json(mended(TEXT[:10])), KNOWN, room + len(',"rewrite":""')) == 1.0
    )
    longer = mended(TEXT + "x" * 30)
    assert brevity(longer, answer_json(longer), KNOWN, 100) == pytest.approx(1 - (room + 13 + 30 - 100) / 100)


# the reward model's say


def test_a_score_is_standardised_and_clipped() -> None:
    assert standardize(2.0, 1.0, 2.0) == pytest.approx(1 / 6)
    assert standardize(1e6, 1.0, 2.0) == 1.0
    assert standardize(-1e6, 1.0, 2.0) == -1.0


@pytest.mark.parametrize(
    ("score", "spread"), [(float("nan"), 1.0), (float("inf"), 1.0), (0.0, 0.0), (0.0, float("nan"))]
)
def test_a_broken_reward_model_is_no_bad_answer(score: float, spread: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        standardize(score, 0.0, spread)


# the sum

WORDS = st.sampled_from([None, "", "Bye.", TEXT, "You were told.", "Sorry, read the mail.", "x" * 400])
ANSWERS = st.builds(
    Answer,
    verdict=st.sampled_from(VERDICTS),
    probability=st.sampled_from((0.0, *GRID, 1.0)),
    quote=WORDS,
    severity=st.sampled_from((*SEVERITIES, None)),
    reason=WORDS.map(lambda word: word or ""),
    rewrite=WORDS,
)
KNOWNS = st.builds(
    GroundTruth,
    probability=SHARES,
    text=st.just(TEXT),
    span=st.sampled_from([None, SPAN, (0, len(TEXT))]),
    severity=st.sampled_from((*SEVERITIES, None)),
    applies=st.booleans(),
    before=st.none() | SHARES,
)
WEIGHTS = st.builds(
    RewardWeights, ratio=RATIOS, belief_weight=st.floats(0, 2), decision_weight=st.floats(0.1, 2)
)


def test_the_sum_by_hand() -> None:
    """A hit at ratio 1, believed 0.9, quoted by half, one severity off, not rewritten: a miss costs 1/2, twice."""
    answer = error("You were", severity="S3").model_copy(update={"reason": "r" * 200})
    text = answer_json(answer)
    got = compute_reward(text, SCANNED, RewardWeights(ratio=1.0, decision_weight=2.0), preference=-0.5)
    assert got.answer == answer
    assert got.terms == pytest.approx(
        {
            "belief": -0.01,
            "decision": 0.0,
            "quote": -2 * 0.3 / 2 * (1 - 16 / 22),
            "severity": -2 * 0.1 / 2 / 2,
            "rewrite": -2 * 0.2 / 2,
            "form": 0.0,
            "brevity": -0.2 * (len(text) - 8 - 240) / 240,
            "preference": -0.1,
        }
    )
    assert got.total == pytest.approx(sum(got.terms.values()))


def test_what_cannot_be_read_by_hand() -> None:
    weights = RewardWeights(
        belief_weight=1.5, decision_weight=2.0, form_weight=0.3, brevity_weight=0.4, preference_weight=0.5
    )
    terms = {
        "belief": -1.5,
        "decision": -2.0,
        "quote": 0.0,
        "severity": 0.0,
        "rewrite": 0.0,
        "form": -0.3,
        "brevity": -0.4,
    }
    assert compute_reward("no", KNOWN, weights).terms == {**terms, "preference": 0.0}
    assert compute_reward("no", KNOWN, weights, preference=0.9).terms == {**terms, "preference": -0.5}


@given(ANSWERS, KNOWNS, WEIGHTS, SHARES, st.none() | st.floats(-1, 1))
def test_what_cannot_be_read_gets_less_than_all_that_can(
    answer: Answer, known: GroundTruth, weights: RewardWeights, after: float, preference: float | None
) -> None:
    got = compute_reward(answer_json(answer), known, weights, after, preference)
    for broken in ("", "error", answer_json(answer)[:-1], answer_json(answer) + "}", '{"verdict":"error"}'):
        worst = compute_reward(broken, known, weights, after, preference)
        assert worst.answer is None
        assert worst.terms.keys() == got.terms.keys()
        assert worst.total < got.total


@given(ANSWERS, KNOWNS, WEIGHTS, SHARES)
def test_every_term_of_an_answer_alone_is_a_cost(
    answer: Answer, known: GroundTruth, weights: RewardWeights, after: float
) -> None:
    got = compute_reward(answer_json(answer), known, weights, after)
    assert all(value <= 1e-12 for value in got.terms.values())
    assert got.total == pytest.approx(sum(got.terms.values()))


@given(SHARES, RATIOS, st.sampled_from(VERDICTS), SHARES)
def test_the_best_answer_is_honest_and_accuses_above_the_threshold(
    truth: float, ratio: float, says: str, stated: float
) -> None:
    """With sound evidence, whatever else could have been said."""
    weights, known = RewardWeights(ratio=ratio), replace(KNOWN, probability=truth)
    assume(abs(truth - weights.threshold) > 1e-9)
    right = error(stated=truth) if truth > weights.threshold else NO.model_copy(update={"probability": truth})
    other = (
        error(stated=stated)
        if says == "error"
        else Answer.model_validate({"verdict": says, "probability": stated})
    )
    assert (
        compute_reward(answer_json(right), known, weights).total
        >= compute_reward(answer_json(other), known, weights).total - 1e-9
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratio": 0.0}, {"ratio": float("inf")}, {"decision_weight": 0.0}, {"brevity_weight": float("nan")}, {"quote_share": 0.8},
    ],
)  # fmt: skip
def test_weights_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        RewardWeights(**wrong)  # type: ignore[arg-type]


def test_a_question_counts_as_those_it_stands_for() -> None:
    """Where one of two questions that look alike was drawn among ten, accusing pays at ratio 1 from ten to
    one for an error, no longer from one to one."""
    error, none = (
        GroundTruth(probability=1.0, text="a b"),
        GroundTruth(probability=0.0, text="a b", stands_for=30.0),
    )
    accuse = answer_json(Answer(verdict="error", probability=0.5, quote="a"))
    silent = answer_json(Answer(verdict="no_error", probability=0.5))

    def gain(weights: RewardWeights) -> float:
        """Of accusing both rather than none."""
        return sum(
            compute_reward(accuse, known, weights).total - compute_reward(silent, known, weights).total
            for known in (error, none)
        )

    assert gain(RewardWeights(ratio=1.0, most_stands_for=1.0)) == pytest.approx(0.0, abs=0.3)
    assert gain(RewardWeights(ratio=1.0, most_stands_for=10.0)) < -5
    alike = RewardWeights(ratio=1.0, most_stands_for=10.0)
    assert compute_reward("{", none, alike).total < compute_reward(accuse, none, alike).total
    with pytest.raises(ConfigError, match="E_OPTION"):
        RewardWeights(most_stands_for=0.5)
