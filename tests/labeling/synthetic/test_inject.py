"""Errors made by rules and by an LLM: exactly where they are said to be, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_judge import ScriptedJudge

from dialint.detector.artifacts import read_manifest, verify_files
from dialint.detector.checks import load_checks
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.records import Dialogue, Example, Role, Turn
from dialint.labeling.synthetic.llm import read_answer
from dialint.labeling.synthetic.rules import RULES, InjectedError, make_error
from dialint.labeling.synthetic.run import InjectConfig, run

SAMPLE = Path(__file__).parents[3] / "app" / "sample" / "dialogues.jsonl"


def dialogue(*texts: str, roles: str = "", **fields: Any) -> Dialogue:
    """A dialogue of these texts; the roles are letters, or customer and agent in turn."""
    names: dict[str, Role] = {"c": "customer", "a": "agent", "t": "tool", "s": "system"}
    turns = tuple(
        Turn(index=i, role=names[(roles or "ca" * len(texts))[i]], text=text) for i, text in enumerate(texts)
    )
    return Dialogue(id="d", turns=turns, **fields)


def words(edit: InjectedError | None) -> str:
    assert edit is not None
    return edit.text[edit.start : edit.end]


CLEAN = (
    "Hello, my order 7731-40 has not arrived yet.",
    "Hello Anna, I can see that the parcel has been sent on 4 May and is with the courier.",
    "Can I have it brought to my office?",
    "We can do this until tomorrow evening, in the app under Deliveries.",
    "Which hours are you open on Sunday?",
    "Our shop opens at nine and closes at five.",
)
CASES: dict[str, tuple[Dialogue, str]] = {
    "L1": (dialogue(*CLEAN), r"[a-z]{4,}"),
    "L2": (dialogue(*CLEAN), r"(\w+) \1|parcel been|We cans?|have"),
    "M2": (dialogue(*CLEAN), r"[{\[<%$].{3,}[}\]>%]"),
    "M3": (dialogue(*CLEAN), re.escape(CLEAN[3]) + "|" + re.escape(CLEAN[1])),
    "V2": (dialogue(*CLEAN), r".*\b(?:PIN|password|code|card|digits)\b.*"),
    "T1": (dialogue(*CLEAN), r"[A-Z].*[.?]"),
    "U2": (dialogue(*CLEAN), r".*order number.*"),
    "I4": (
        dialogue(
            "What did I pay?", '{"total": 61.2}', "You paid €61.20 in all.", "Thanks", "Bye.", roles="ctaca"
        ),
        r"[\d.]+",
    ),
}


@pytest.mark.parametrize("code", RULES)
def test_a_rules_error_stands_at_its_span_and_the_rest_is_as_it_was(code: str) -> None:
    clean, pattern = CASES[code]
    made = 0
    for seed in range(20):
        if (edit := make_error(clean, code, Random(seed))) is None:
            continue
        made += 1
        assert re.fullmatch(pattern, words(edit)), words(edit)
        old = clean.turns[edit.position].text
        assert clean.turns[edit.position].role == "agent"
        if code != "M3":
            assert old.startswith(edit.text[: edit.start].rstrip(" ."))
            assert old.endswith(edit.text[edit.end :])
            assert old != edit.text
    assert made >= 10


@pytest.mark.parametrize(
    ("code", "clean"),
    [
        ("L1", dialogue("Hi", "Anna sent IX-20 to Mr Smith at LONDON")),  # names, ids, capitals
        ("L1", dialogue("Hi", "We have recieved your letter, thank you very much indeed.")),  # has one already
        ("L1", dialogue("Hola", "Muchas gracias por escribir, ahora mismo reviso todos los datos del pedido.")),
        ("L2", dialogue("Hi", 'It says "the order has been sent" there.')),  # a quotation
        ("M2", dialogue("Hi [NAME_1]", "All done for today then {x} <y> $1 5%.")),  # neither greeting nor name
        ("M3", dialogue("Hi", CLEAN[3], "Sorry, could you say that again?", "In the app, under Deliveries.")),
        ("M3", dialogue("Hi", CLEAN[3], "In the app under Deliveries?", "Yes, that is right.")),  # it is the answer
        ("V2", dialogue("Thanks!", "You're welcome, have a nice day!")),
        ("U2", dialogue("My order 77314 and order 77315 are late.", "I will look for both of them.")),
        ("U2", dialogue("My order 77314 is late.", "I can see the order is late.")),  # speaks of it
        ("I4", dialogue("It was $60, wasn't it?", "We could offer about $60 if you like.")),
        ("I4", dialogue("Is it $60?", "It is $60.")),  # an offer of the agent's own
    ],
)  # fmt: skip
def test_where_the_result_may_be_right_no_error_is_made(code: str, clean: Dialogue) -> None:
    assert [make_error(clean, code, Random(seed)) for seed in range(5)] == [None] * 5


VOCABULARY = [
    "the", "order", "it", "has", "been", "sent", "you", "have", "please", "address", "colleague", "a", "message",
    "$45.50", "4 May", "Anna", "Hello,", "order 88123", "me@example.com", "?", "is", "received", "\n", "tomorrow.",
]  # fmt: skip
SENTENCES = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join)
TURNS = st.lists(st.tuples(st.sampled_from("cccaaaats"), SENTENCES), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(TURNS, st.sampled_from([*RULES]), st.integers(0, 9))
def test_an_error_is_one_change_of_one_turn_of_the_agent(
    turns: list[tuple[str, str]], code: str, seed: int
) -> None:
    clean = dialogue(*(text for _, text in turns), roles="".join(role for role, _ in turns), language="en")
    edit = make_error(clean, code, Random(seed))
    assert edit == make_error(clean, code, Random(seed))
    if edit is None:
        return
    after = edit.apply(clean)
    changed = [n for n, (a, b) in enumerate(zip(clean.turns, after.turns, strict=True)) if a != b]
    assert changed == [edit.position]
    assert clean.turns[edit.position].role == "agent"
    assert 0 <= edit.start < edit.end <= len(edit.text)
    assert words(edit).strip() == words(edit)


def read_file(path: Path) -> list[Example]:
    return [Example.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]


def check_pairs(examples: Sequence[Example]) -> int:
    """Returns the number of pairs; in each the twin differs in the labelled turn alone."""
    pairs: dict[str, list[Example]] = {}
    for example in examples:
        assert bool(example.labels) == (example.pair is not None)
        if example.pair is not None:
            pairs.setdefault(example.pair, []).append(example)
    for error, twin in pairs.values():
        (label,), (other,) = error.labels, twin.labels
        assert (label.probability, other.probability) == (1.0, 0.0)
        assert (label.turn, label.code) == (other.turn, other.code)
        assert label.code not in error.unlabelled
        assert twin.errors == ()
        for before, after in zip(twin.dialogue.turns, error.dialogue.turns, strict=True):
            assert (before == after) == (before.index != label.turn)
    return len(pairs)


def test_a_log_becomes_examples_with_a_manifest_and_the_same_bytes_again(tmp_path: Path) -> None:
    config = InjectConfig(out=tmp_path / "made", share=0.6, quiet=True)
    manifest = run([str(SAMPLE)], config)
    verify_files(config.out, manifest["files"])
    assert read_manifest(config.out / "manifest.json")["made"] == manifest["made"]
    examples = read_file(config.out / "examples.jsonl")
    n_pairs = check_pairs(examples)
    assert n_pairs == sum(manifest["made"].values()) > 30
    assert len(examples) == manifest["files"][0]["rows"] == 78 + n_pairs
    assert set(manifest["made"]) >= {"L1", "L2", "M2", "M3", "V2", "T1", "U2"}
    assert "R1" in examples[0].unlabelled
    run([str(SAMPLE)], replace(config, out=tmp_path / "again"))
    bytes_of = [(tmp_path / name / "examples.jsonl").read_bytes() for name in ("made", "again")]
    assert bytes_of[0] == bytes_of[1]
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run([str(SAMPLE)], config)


@pytest.mark.parametrize("code", ["L1", "L2", "M2", "V2"])
def test_the_exact_checks_find_made_errors_where_they_are_said_to_be(tmp_path: Path, code: str) -> None:
    run([str(SAMPLE)], InjectConfig(out=tmp_path / "o", codes=(code,), share=0.5, quiet=True))
    is_hit = []
    for example in read_file(tmp_path / "o" / "examples.jsonl"):
        for label in example.errors:
            hits = [hit for check in load_checks().values() for hit in check(example.dialogue)]
            own = [hit for hit in hits if hit.turn == label.turn and hit.code in (code, None)]
            start, end = label.start or 0, label.end or 0
            is_hit.append(any(hit.start < end and start < hit.end for hit in own))
    assert sum(is_hit) >= 0.9 * len(is_hit) > 20


def test_shares_make_sets_of_which_no_two_have_the_same_dialogue(tmp_path: Path) -> None:
    out = tmp_path / "sets"
    run([str(SAMPLE)], InjectConfig(out=out, codes=("V",), share=1, shares=(0.5, 0.1, 0.2, 0.2), quiet=True))
    sets = {name: read_file(out / f"{name}.jsonl") for name in ("train", "dev", "calibration", "test")}
    ids = {name: {each.dialogue.id.partition("~")[0] for each in rows} for name, rows in sets.items()}
    assert all(rows and {each.split for each in rows} == {name} for name, rows in sets.items())
    assert sum(map(len, ids.values())) == len(set().union(*ids.values())) == 78
    assert {label.code for rows in sets.values() for each in rows for label in each.labels} == {"V2"}


@pytest.mark.parametrize(
    ("config", "judge", "message"),
    [
        ({"codes": ("R1",)}, None, "no rule makes it"),
        ({"codes": ("Q9",)}, None, "Q9"),
        ({"codes": ("W",)}, JudgeConfig(judge="http:http://127.0.0.1:9/v1"), "any but W"),
        ({}, JudgeConfig(judge="http:http://127.0.0.1:9/v1", judge_votes=3), "--judge-votes"),
    ],
)
def test_what_cannot_be_made_is_refused(
    tmp_path: Path, config: dict[str, Any], judge: JudgeConfig | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run([str(SAMPLE)], InjectConfig(out=tmp_path / "o", **config), judge)


def write_log(path: Path) -> Path:
    texts = (
        "Hello, this is Maria Lopez, maria@example.com.",
        "Hello Maria Lopez, your refund is on its way.",
    )
    rows = [
        {
            "id": f"d{n}",
            "turns": [{"role": "customer", "text": texts[0]}, {"role": "agent", "text": texts[1]}],
        }
        for n in range(6)
    ]
    path.write_text("".join(json.dumps({**row, "channel": str(n)}) + "\n" for n, row in enumerate(rows)))
    return path


def answer(**fields: Any) -> str:
    return json.dumps({"turns": [{"turn": 1, **fields}]})


def test_an_llm_sees_masked_text_and_only_what_is_proven_is_kept(tmp_path: Path) -> None:
    good = answer(text="Hello [NAME_1], what do you want now?", quote="[NAME_1], what do you want now?")
    useless = [
        answer(text="Hello [NAME_1], go away.", quote="go  away"),
        answer(text="Hello [NAME_1],  your refund is on its way.", quote="refund"),
        answer(text="Hello [NAME_7], go away.", quote="go away"),
        '{"turns": []}',
        answer(turn=0, text="Go away.", quote="Go away."),
    ]
    replies = iter([good, *useless])

    def answers(request: JudgeRequest) -> list[str]:
        text = request.messages[-1]["content"]
        assert "Lopez" not in text
        assert "[NAME_1]" in text
        assert "T1 Rude" in request.messages[0]["content"]
        return [next(replies)]

    engine = ScriptedJudge(answers)
    config = InjectConfig(out=tmp_path / "made", codes=("T1",), share=1, quiet=True)
    manifest = run([str(write_log(tmp_path / "log.jsonl"))], config, engine=engine)
    reasons = ("not_made", "other_turn", "placeholder", "unchanged", "unquoted")
    assert manifest["dropped"] == dict.fromkeys(reasons, 1)
    assert manifest["made"] == {"T1": 1}
    assert manifest["judge"]["name"] == "scripted"
    examples = read_file(config.out / "examples.jsonl")
    assert check_pairs(examples) == 1
    (label,) = examples[0].labels
    assert examples[0].dialogue.turns[1].text == "Hello Maria Lopez, what do you want now?"
    assert examples[0].dialogue.turns[1].text[label.start : label.end] == "Maria Lopez, what do you want now?"


def test_an_llm_is_asked_for_codes_whose_needs_the_log_meets(tmp_path: Path) -> None:
    engine = ScriptedJudge(lambda request: ["no JSON", "neither"])
    manifest = run(
        [str(write_log(tmp_path / "log.jsonl"))], InjectConfig(out=tmp_path / "o", share=1), engine=engine
    )
    codes = {request.messages[0]["content"].split("\n\n")[1].partition(" ")[0] for request in engine.requests}
    assert len(codes) == 6
    assert not codes & {"P1", "I1", "W1"}
    assert manifest["dropped"] == {"E_ANSWER": 6}
    engine = ScriptedJudge(lambda request: [], max_prompt_tokens=10)
    manifest = run(
        [str(write_log(tmp_path / "log.jsonl"))], InjectConfig(out=tmp_path / "p", share=1), engine=engine
    )
    assert manifest["dropped"] == {"too_long": 6}


@pytest.mark.parametrize("text", ["", "[]", '{"turns": [1]}', '{"turns": [{"turn": 1, "text": "x"}]}'])
def test_answers_of_another_form_are_unreadable(text: str) -> None:
    assert read_answer(text, dialogue("Hi", "Hello.")) == "unreadable"
