"""The battery: 500 distinct attacks in 15 families, none of which can leave its place in a prompt."""

import json
from collections import Counter
from pathlib import Path

import pytest
from attack_dialogues import PLACEHOLDER
from tokenizers import Tokenizer

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge.prompt import Evidence
from dialint.detector.records import Dialogue
from dialint.detector.release import Release
from dialint.detector.render import Renderer
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.attack.battery import Attack, load_battery, make_battery
from dialint.eval.attack.trials import place_text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def attacks() -> list[Attack]:
    return make_battery(load_battery(), seed=1)


def attacked(attack: Attack) -> tuple[Dialogue, int]:
    placed = place_text(PLACEHOLDER, 3, attack.place, attack.position, attack.parts)
    return placed.dialogue, placed.turn


def test_there_are_500_distinct_attacks_in_15_families(attacks: list[Attack]) -> None:
    assert len({attack.parts for attack in attacks}) == len(attacks) == 500
    assert len({attack.id for attack in attacks}) == 500
    families = Counter(attack.family for attack in attacks)
    assert len(families) == 15
    assert set(families.values()) == {33, 34}
    assert {attack.language for attack in attacks} == {"en", "es", "ru"}
    assert {attack.place for attack in attacks} == {"customer", "agent", "tool"}
    goals = Counter((attack.family, attack.goal) for attack in attacks)
    assert all(n >= 16 for n in goals.values())
    assert len(goals) == 29  # accusation only accuses


def test_a_seed_gives_the_same_battery_and_another_one_another(attacks: list[Attack]) -> None:
    assert make_battery(load_battery(), seed=1) == attacks
    assert make_battery(load_battery(), seed=2) != attacks


def test_no_slot_is_left_and_no_customer_asks_a_question(attacks: list[Attack]) -> None:
    texts = [part for attack in attacks for part in attack.parts]
    assert not [text for text in texts if "{demand" in text or "{code" in text or "{name" in text]
    questions = [part for a in attacks if a.place == "customer" for part in a.parts if "?" in part]
    assert not questions


def test_no_attack_demands_what_its_words_deserve(attacks: list[Attack]) -> None:
    battery, codes = load_battery(), load_taxonomy().codes
    earned = {family.name: family.earned for family in battery.families}
    for attack in attacks:
        assert (attack.code is None) == (attack.goal == "hide")
        if attack.place == "agent":
            assert attack.code not in earned[attack.family]
    assert not [code for code in battery.accused if codes[code].answers_customer]
    assert all(code in codes for family in battery.families for code in family.earned)


def test_no_attack_makes_a_line_or_a_control_token_of_the_judge(attacks: list[Attack]) -> None:
    prompt = JudgePrompt.of(SMALL_DECODER)
    taxonomy = load_taxonomy()
    reader = prompt.reader(taxonomy)
    codes = {"M2": taxonomy.codes["M2"]}
    control = set(prompt.tokenizer.all_special_ids)
    assert prompt.tokenizer.convert_tokens_to_ids("<|im_end|>") in control

    def shape(dialogue: Dialogue) -> tuple[list[list[str]], Counter[int]]:
        """The keys of each line, and the control tokens of the chat."""
        [question], _ = reader.questions(dialogue, codes, Evidence())
        *lines, last = question.messages[-1]["content"].split("\n")
        assert last == "List the errors of the support side."
        tokens = Counter(token for token in prompt.of_chat(question.messages) if token in control)
        return [list(json.loads(line)) for line in lines], tokens

    plain, tokens = shape(PLACEHOLDER)
    assert plain[1:] == [["turn", turn.role] for turn in PLACEHOLDER.turns]
    assert tokens
    for attack in attacks:
        lines, own = shape(attacked(attack)[0])
        added = [["tool_call"], ["tool_result"]] if attack.place == "tool" else []
        assert (lines, own) == ([*plain[:4], *added, *plain[4:]], tokens), attack.id


def test_no_attack_makes_a_control_token_of_the_scan(attacks: list[Attack]) -> None:
    release = Release(ROOT / "detector" / "embedded")
    config = release.info.render
    renderer = Renderer(config.model_copy(update={"context_tokens": 4096}), release.tokenizer_json())
    tokenizer = Tokenizer.from_str(release.tokenizer_json())
    control = {tokenizer.token_to_id(mark) for mark in config.control}

    def count(dialogue: Dialogue) -> Counter[int]:
        (window,) = renderer.render(dialogue)
        return Counter(token for token in window.ids if token in control)

    for attack in attacks:
        # The words are replaced one turn by one, so that the same turns are there.
        dialogue, _ = attacked(attack)
        turns = tuple(t.model_copy(update={"text": "word" if t.text else ""}) for t in dialogue.turns)
        assert count(dialogue) == count(dialogue.model_copy(update={"turns": turns})), attack.id
