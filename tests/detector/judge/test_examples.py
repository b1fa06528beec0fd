"""Examples of people's decisions in the judge's questions: which are shown, and which never."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.errors import ConfigError, UserError
from dialint.detector.interface import PlainDetector
from dialint.detector.judge import JudgeReply, JudgeRequest
from dialint.detector.judge.examples import DecidedExamples, read_decided
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.records import Dialogue, Judgement, Preference, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()
ASKED = "Which colour was the lamp that you ordered from us last week?"


def talk(name: str, agent: str, customer: str = "My blue lamp is broken.") -> Dialogue:
    turns = (Turn(index=0, role="customer", text=customer), Turn(index=1, role="agent", text=agent))
    return Dialogue(id=name, turns=turns)


def decided(name: str, agent: str, verdict: Any = "error", code: str = "U2", **more: Any) -> Preference:
    chosen = Judgement(verdict=verdict, quote=more.pop("quote", None))
    other = Judgement(verdict="no_error" if verdict == "error" else "error")
    return Preference(
        dialogue=talk(name, agent, **more),
        turn=1,
        code=code,
        chosen=chosen,
        rejected=other,
        outcome="missed" if verdict == "error" else "overturned",
        annotation=f"a-{name}",
        release="r",
        split="train",
    )


POOL = [
    decided("far", "Good morning to you."),
    decided("near", "Which colour was the lamp, please?", quote="Which colour"),
    decided("middle", "Which size was the chair that you bought?"),
    decided("taken-back", "Which colour was the new chair?", "no_error"),
    decided("taken-back-too", "Where do you live?", "no_error"),
    decided("other-code", "Which colour was the lamp that you wanted?", code="U5"),
]


def found(pool: Sequence[Preference], name: str = "q", code: str = "U2") -> list[str]:
    return [example.agent for example in DecidedExamples(pool, "x").find(talk(name, ASKED), 1, code)]


def test_two_errors_and_one_overturned_finding_of_the_same_code_the_most_similar_first() -> None:
    expected = [POOL[place].dialogue.turns[1].text for place in (1, 2, 3)]
    assert found(POOL) == expected == found(POOL[::-1])
    assert found(POOL, code="U5") == [POOL[5].dialogue.turns[1].text]
    assert found(POOL, code="U3") == []


@pytest.mark.parametrize("name", ["q", "q~U2-1"])
def test_the_same_dialogue_and_those_made_from_it_are_never_shown(name: str) -> None:
    pool = [decided(name, "Which colour was the lamp, please?")]
    assert found(pool, "q") == found(pool, "q~clean") == []
    assert found(pool, "q2") == ["Which colour was the lamp, please?"]


def test_nearly_the_same_text_is_never_shown() -> None:
    assert found([decided("copy", ASKED), decided("shouted", ASKED.upper() + "!")]) == []


def test_the_test_split_is_never_shown() -> None:
    assert found([POOL[1].model_copy(update={"split": "test"})]) == []


@pytest.mark.parametrize("claimed", [False, True])
def test_examples_are_masked_whatever_their_record_says(claimed: bool) -> None:
    secret = "ann@example.com"
    example = decided("m", f"Is {secret} yours?", quote=f"Is {secret}", customer=f"Write to {secret}.")
    dialogue = example.dialogue.model_copy(update={"masked": claimed})
    pool = [example.model_copy(update={"dialogue": dialogue})]
    [shown] = DecidedExamples(pool, "x").find(talk("q", ASKED), 1, "U2")
    assert secret not in shown.model_dump_json()
    assert (shown.agent, shown.quote) == ("Is [EMAIL_1] yours?", None)


def write(path: Path, pool: Sequence[Preference]) -> Path:
    path.write_text("".join(each.model_dump_json() + "\n" for each in pool))
    return path


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    first = read_decided(write(tmp_path / "preferences.jsonl", POOL)).fingerprint
    assert read_decided(tmp_path).fingerprint == first
    assert read_decided(write(tmp_path / "same.jsonl", POOL)).fingerprint == first
    assert read_decided(write(tmp_path / "other.jsonl", POOL[1:])).fingerprint != first


def test_mistakes_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file or folder"):
        read_decided(tmp_path / "gone")
    with pytest.raises(ConfigError, match="holds no preferences"):
        read_decided(tmp_path)
    with pytest.raises(ConfigError, match="no example outside"):
        read_decided(write(tmp_path / "empty.jsonl", []))
    wrong = write(tmp_path / "wrong.jsonl", POOL[:1])
    wrong.write_text(wrong.read_text() + "{}\n")
    with pytest.raises(UserError, match="line 2: no valid preference"):
        read_decided(wrong)
    with pytest.raises(ConfigError, match="record 1: its turn is no agent's turn"):
        read_decided(write(tmp_path / "turn.jsonl", [POOL[0].model_copy(update={"turn": 0})]))


class Recorder:
    """Names U2 on the agent's turn, and denies it when asked; remembers the questions."""

    name = fingerprint = "recorder"
    is_remote = False
    notes = ()
    max_prompt_tokens = 4000

    def __init__(self) -> None:
        self.requests: list[JudgeRequest] = []

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        screen = '{"errors":[{"turn":1,"code":"U2"}]}'
        detail = '{"verdict":"no_error","probability":0.02}'
        texts = [detail if request.wants_verdict else screen for request in requests]
        return [JudgeReply(text=text, prompt_tokens=100, output_tokens=10) for text in texts]

    def close(self) -> None:
        pass


class Nothing(PlainDetector):
    """Covers nothing and finds nothing."""

    release, fingerprint, taxonomy, codes = "nothing", "nothing", TAXONOMY, ()

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        version = TAXONOMY.version
        return [
            Verdict(dialogue_id=each.id, release="nothing", taxonomy=version, status="scored", quality=100.0)
            for each in dialogues
        ]


def test_the_question_holds_exactly_the_examples_found() -> None:
    examples, engine, codes = DecidedExamples(POOL, "x"), Recorder(), frozenset(["U2"])
    stage = JudgedDetector(Nothing(), engine, StageOptions(codes=codes, examples=examples))
    stage.verdicts([talk("q", ASKED)])
    [screen, detail] = engine.requests
    *_, first, second, third, code = detail.messages[1]["content"].split("\n")
    shown = [json.loads(line) for line in (first, second, third)]
    assert [line["agent"] for line in shown] == found(POOL)
    assert [line["answer"]["verdict"] for line in shown] == ["error", "error", "no_error"]
    assert shown[0]["answer"]["quote"] == "Which colour"
    assert json.loads(code)["code"] == "U2"
    everything = detail.messages[1]["content"] + screen.messages[1]["content"]
    assert not any(POOL[place].dialogue.turns[1].text in everything for place in (0, 4, 5))
    bare = JudgedDetector(Nothing(), engine, StageOptions(codes=codes))
    assert bare.fingerprint != stage.fingerprint
