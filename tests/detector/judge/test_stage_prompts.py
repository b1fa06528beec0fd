"""What the judge is shown: the same messages in training, scoring and serving, and no more than a code needs.

``prompts.txt`` holds the prompts of one dialogue with tool results, sources, times and a policy. After a
change of the words run this file as a program, and read what changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.engines.quote_constraint import ScreenConstraint, TokenSpellings
from dialint.detector.interface import PlainDetector
from dialint.detector.judge import FewShotExample, Question, build_chat
from dialint.detector.judge.budget import Budget
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.judge.screens import parse_screen, screen_schema
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.masking import mask_dialogue
from dialint.detector.policy import Policy
from dialint.detector.records import Dialogue, ToolCall, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy

SNAPSHOT = Path(__file__).with_name("prompts.txt")
TAXONOMY = load_taxonomy()
START = datetime(2026, 11, 23, 9, 2, tzinfo=UTC)
POLICY = Policy.model_validate(
    {
        "policy": "shop",
        "tools": {"read": ["get_order"], "write": ["refund", "change_address"]},
        "clauses": [
            {
                "id": "verify-first",
                "text": "Look the order up before refunding it.",
                "on": "refund",
                "before": "get_order",
            },
            {
                "id": "no-address-after-dispatch",
                "text": "Never change the address of an order that has left.",
                "on": "change_address",
                "forbid": {"status": "left"},
            },
            {"id": "one-refund", "text": "Refund an order once.", "on": "refund", "limit": {"at_most": "1"}},
        ],
    },
    strict=False,
)


def turn(index: int, role: Any, text: str, seconds: int, **more: Any) -> Turn:
    return Turn(index=index, role=role, text=text, at=START + timedelta(seconds=seconds), **more)


DIALOGUE = Dialogue(
    id="d1",
    turns=(
        turn(
            0,
            "customer",
            "Order 4471 never came, write to ann@example.com. I already told you it is blue.",
            0,
        ),
        turn(1, "agent", "", 700, tool_calls=(ToolCall(name="refund", arguments={"order": "4471"}),)),
        turn(2, "tool", '{"refunded": 20}', 701),
        turn(3, "agent", "I refunded 30 euros to ann@example.com. Which colour was it?", 720),
    ),
    sources=("kb-17", "Refunds are paid within 14 days and never exceed the price of 20 euros."),
)


@dataclass
class Recorder:
    """Answers nothing useful and remembers the questions."""

    name: str = "recorder"
    fingerprint: str = "recorder"
    is_remote: bool = True
    notes: tuple[str, ...] = ()
    max_prompt_tokens: int = 4000
    requests: list[JudgeRequest] = field(default_factory=list)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        replies = []
        for request in requests:
            text = '{"verdict":"no_error","probability":0.02}'
            if not request.wants_verdict:
                item = request.schema["properties"]["errors"]["items"]["properties"]
                codes = [code for code in item["code"]["enum"] if code in ("I1", "P1", "U3", "W1")]
                text = json.dumps({"errors": [{"turn": 3, "code": code} for code in codes]})
            tokens = self.count_tokens(request.messages)
            replies.append(JudgeReply(text=text, prompt_tokens=tokens, output_tokens=len(text) // 4))
        return replies

    def close(self) -> None:
        pass


class Nothing(PlainDetector):
    """Covers nothing and finds nothing."""

    release, fingerprint, taxonomy, codes = "nothing", "nothing", TAXONOMY, ()

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [
            Verdict(
                dialogue_id=each.id,
                release="nothing",
                taxonomy=TAXONOMY.version,
                status="scored",
                quality=100.0,
            )
            for each in dialogues
        ]


def asked(dialogues: Sequence[Dialogue], **options: Any) -> tuple[Recorder, list[Verdict], JudgedDetector]:
    engine = Recorder()
    fields: dict[str, Any] = {"codes": frozenset(TAXONOMY.codes), "policies": {"shop": POLICY}, **options}
    stage = JudgedDetector(Nothing(), engine, StageOptions(**fields))
    return engine, stage.verdicts(dialogues), stage


def prompts() -> str:
    parts = []
    for request in asked([DIALOGUE], detail="short")[0].requests:
        kind = "detail" if request.wants_verdict else "screen"
        content = "\n".join(message["content"] for message in request.messages)
        parts.append(f"==== {kind}\n{content}\n")
    return "".join(parts)


def test_the_prompts_of_a_dialogue_with_all_evidence_are_as_they_were_read() -> None:
    assert prompts() == SNAPSHOT.read_text()


def test_nothing_personal_is_asked() -> None:
    assert "ann@example.com" not in prompts()
    assert "[EMAIL_1]" in prompts()


def test_each_code_sees_its_evidence_and_no_other() -> None:
    by_code = {}
    for request in asked([DIALOGUE])[0].requests:
        if request.wants_verdict:
            *_, last = request.messages[1]["content"].split("\n")
            by_code[json.loads(last)["code"]] = request.messages[1]["content"]
    assert set(by_code) == {"I1", "P1", "U3", "W1"}
    sources, clause, times = '{"source":1,"text":"Refunds', '{"clause":"verify-first"', '{"seconds":['
    for code, shown in (("I1", sources), ("P1", clause), ("W1", times), ("U3", None)):
        assert {mark for mark in (sources, clause, times) if mark in by_code[code]} == ({shown} - {None})
    assert "no-address-after-dispatch" not in by_code["P1"]  # no address was changed
    assert "one-refund" not in by_code["P1"]  # another code
    assert "kb-17" not in by_code["I1"]


def test_training_scoring_and_serving_ask_in_the_same_words() -> None:
    """`JudgePrompt` trains and answers in this process; the stage asks every engine."""
    prompt = JudgePrompt.of(SMALL_DECODER, max_tokens=1500)
    masked, _ = mask_dialogue(DIALOGUE)

    class Local(Recorder):
        def spell(self, text: str) -> str:
            return prompt.spelling(text)

        def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
            return len(prompt.of_chat(messages))

    engine = Local(max_prompt_tokens=1500)
    codes = frozenset(("I1", "U3"))
    JudgedDetector(Nothing(), engine, StageOptions(codes=codes, detail="short")).verdicts([DIALOGUE])
    details = [request for request in engine.requests if request.wants_verdict]
    assert len(details) == 2
    for request in details:
        code = json.loads(request.messages[1]["content"].rpartition("\n")[2])["code"]
        built = prompt.build(Question(dialogue=masked, turn=3, code=code), TAXONOMY.codes[code])
        assert prompt.of_chat(request.messages) == built.ids
        assert prompt.fold(request.messages) == built.messages


def test_examples_stand_before_the_code() -> None:
    example = FewShotExample(
        customer="Blue, as I said.", agent="Which colour?", verdict="error", quote="Which"
    )
    question = Question(dialogue=mask_dialogue(DIALOGUE)[0], turn=3, code="U2", examples=(example,))
    lines = build_chat(question, TAXONOMY.codes["U2"]).messages[1]["content"].split("\n")
    assert json.loads(lines[-2])["answer"] == {"verdict": "error", "quote": "Which"}
    assert json.loads(lines[-1])["code"] == "U2"


def test_a_dialogue_that_does_not_fit_is_screened_in_parts() -> None:
    long = Dialogue(
        id="long",
        turns=tuple(
            Turn(index=i, role="agent" if i % 2 else "customer", text=f"{i} " + "word " * 150)
            for i in range(24)
        ),
    )
    engine, [verdict], _ = asked([long], codes=frozenset(("X1", "T3")))
    screens = [request for request in engine.requests if not request.wants_verdict]
    shown = [
        request.schema["properties"]["errors"]["items"]["properties"]["turn"]["enum"] for request in screens
    ]
    assert len(screens) > 1
    assert sorted(number for numbers in shown for number in numbers) == list(range(1, 24, 2))
    assert all(engine.count_tokens(request.messages) <= 4000 for request in screens)
    assert verdict.judge is not None
    assert verdict.judge.codes == ("T3", "X1")


def many(n: int) -> list[Dialogue]:
    return [DIALOGUE.model_copy(update={"id": f"d{number}"}) for number in range(n)]


@pytest.mark.parametrize(
    ("amount", "unit"), [(1500, "questions"), (2_000_000, "tokens"), (900_000, "tokens")]
)
def test_a_budget_is_kept_within_two_percent(amount: float, unit: Any) -> None:
    _, verdicts, stage = asked(many(200), budget=Budget(amount, unit))
    allowed = amount * 200 / 1000
    used = stage.usage.screens + stage.usage.details
    if unit == "tokens":
        used = stage.usage.prompt_tokens + stage.usage.output_tokens
    assert 0.98 * allowed <= used <= allowed
    assert all(verdict.judge is not None for verdict in verdicts)
    assert any(verdict.judge.unasked for verdict in verdicts if verdict.judge is not None)


def test_chunks_do_not_change_what_a_budget_allows() -> None:
    budget = Budget(333, "questions")
    whole = budget.allowance(0, 1000)
    assert (
        whole
        == 333
        == sum(budget.allowance(start, 7) for start in range(0, 994, 7)) + budget.allowance(994, 6)
    )


def test_an_audit_asks_about_every_code_that_can_be_asked() -> None:
    class Covering(Nothing):
        codes = tuple(TAXONOMY.codes)

    engine = Recorder()
    options = StageOptions(codes=frozenset(TAXONOMY.codes), audit=0.3)
    verdicts = JudgedDetector(Covering(), engine, options).verdicts(many(100))
    audited = [verdict for verdict in verdicts if verdict.judge is not None and verdict.judge.is_audit]
    assert 15 < len(audited) < 45
    assert {request.dialogue_id for request in engine.requests} == {each.dialogue_id for each in audited}
    assert all(len(each.judge.codes) + len(each.judge.unmet) == 45 for each in audited if each.judge)


def test_a_constrained_answer_fits_whatever_the_model_prefers() -> None:
    prompt = JudgePrompt.of(SMALL_DECODER)
    spellings = TokenSpellings(prompt.tokenizer)
    numbers, codes = (1, 3, 13), ("I1", "U3", "X1")
    schema = screen_schema(numbers, codes)
    stop = prompt.tokenizer.eos_token_id
    for preference in range(12):
        rule, ids = ScreenConstraint(spellings, schema, [stop]), []
        while stop not in ids and len(ids) < 400:
            allowed = rule(ids)
            assert allowed
            ids.append(allowed[(preference * 7919 + len(ids) * preference) % len(allowed)])
        text = prompt.tokenizer.decode(ids[:-1])
        errors = parse_screen(text, numbers, codes)
        assert errors is not None, text
        assert len(errors) == len(json.loads(text)["errors"]) <= 9


if __name__ == "__main__":
    SNAPSHOT.write_text(prompts())
