"""The language of dialogues and turns; lines written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from languages_corpus import dialogues
from marked_dialogues import dialogue, in_turn

from dialint.detector.errors import ConfigError
from dialint.detector.languages import (
    UNKNOWN,
    detect_language,
    detect_languages,
    language_code,
    language_words,
    parse_languages,
)
from dialint.detector.records import ToolCall, Turn

GERMAN = "Guten Tag, ich habe Ihre Bestellung geprüft, sie wird morgen geliefert."
ENGLISH = "Good morning, I have checked your order and it will be delivered tomorrow."


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("de", "de"), ("de-AT", "de"), ("DE_de", "de"), ("deu", "de"), ("Deutsch", "de"), ("German", "de"),
        ("English (US)", "en"), ("русский", "ru"), ("zh-Hant", "zh"), ("NO", "no"), ("sw", "sw"),
        ("unknown", None), ("und", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_words_for_a_language(word: str | None, code: str | None) -> None:
    assert language_code(word) == code


def test_links_addresses_codes_and_placeholders_are_no_words() -> None:
    text = (
        "Hi [NAME_1], https://hilfe.example.de/kontakt mail@beispiel.de A-1234 {order_id} SKU <Kundenname> ok"
    )
    assert language_words(text) == "Hi , ok"


def test_a_quoted_title_in_another_script_does_not_count() -> None:
    assert (
        detect_language("Yes, Lal Singh Chaddha (लाल सिंह चड्ढा) is now playing in the cinema near you") == "en"
    )
    assert detect_language("Я купил у вас iPhone 15 Pro и чехол Silicone Case, а чехол не подходит") == "ru"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("You are an idiot.", "en"), ("Sie sind ein Idiot", "de"), ("Lo siento mucho, voy a revisarlo.", "es"),
        ("Je vérifie cela tout de suite.", "fr"), ("Здравствуйте, чем могу помочь?", "ru"),
        ("我的手机坏了怎么办", "zh"), ("ok", UNKNOWN), ("Gerne!", UNKNOWN), ("12345 :)", UNKNOWN),
    ],
)  # fmt: skip
def test_short_texts(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_what_the_record_says_holds_for_weak_evidence_and_not_for_clear() -> None:
    assert detect_language("Sie sind ein Idiot", "en") == "en"
    assert detect_language(GERMAN, "en") == "de"
    assert detect_language("Здравствуйте!", "en") == "ru"  # no English has these letters
    assert detect_language(ENGLISH, "sw") == "en"
    assert detect_language("ok", "sw") == "sw"


def test_short_turns_inherit_and_others_stand_for_themselves() -> None:
    dialogue = in_turn(
        "Wo ist mein Paket mit den Büchern?", GERMAN, "ok", "Gerne!", ENGLISH, ENGLISH, GERMAN, GERMAN, "danke",
        "Ok.",
    )  # fmt: skip
    whole, turns = detect_languages(dialogue)
    assert whole == "de"
    assert [turns[i] for i in range(4)] == ["de"] * 4
    assert (turns[4], turns[5]) == ("en", "en")


def test_an_agent_who_answers_in_another_language_keeps_it_in_short_turns() -> None:
    dialogue = in_turn(
        "Wo ist mein Paket?", ENGLISH, "Es sollte gestern kommen, oder?", "Sure!", "Ja", "Bye!"
    )
    _, turns = detect_languages(dialogue)
    assert [turns[i] for i in (1, 3, 5)] == ["en"] * 3
    assert turns[2] == "de"


def test_languages_are_forced() -> None:
    dialogue = in_turn(GERMAN, ENGLISH)
    assert detect_languages(dialogue, ("de",)) == ("de", {0: "de", 1: "de"})
    assert detect_languages(in_turn("Mi pedido todavía no ha llegado"), ("de", "en"))[0] in (
        "de",
        "en",
        UNKNOWN,
    )
    assert detect_languages(dialogue.model_copy(update={"language": "fr"}), ("de", "en"))[1] == {
        0: "de",
        1: "en",
    }


def test_names_of_the_option() -> None:
    assert parse_languages(("en,German", "de")) == ("de", "en")
    assert parse_languages(()) == ()
    with pytest.raises(ConfigError, match=r"E_LANGUAGE.*'klingon'"):
        parse_languages(("klingon",))


@pytest.mark.parametrize("language", ["de", "es", "fr", "ru"])
@pytest.mark.parametrize("declared", [None, "en-US"])
def test_every_dialogue_is_found_whatever_is_declared(language: str, declared: str | None) -> None:
    for one in dialogues(language, 30, declared=declared):
        whole, turns = detect_languages(one)
        assert {whole, *turns.values()} == {language}, one.id


def test_no_english_turn_of_the_sample_is_lost() -> None:
    sample = Path(__file__).parents[2] / "app/sample/dialogues.jsonl"
    for line in sample.read_text(encoding="utf-8").splitlines():
        turns = [(turn["role"], turn["text"]) for turn in json.loads(line)["turns"]]
        spoken = dialogue(*(turn for turn in turns if turn[0] in ("customer", "agent", "bot")))
        whole, languages = detect_languages(spoken)
        assert {whole, *languages.values()} == {"en"}


def test_results_of_tools_say_nothing_about_the_language() -> None:
    spoken = in_turn("Hi", ENGLISH)
    tool = Turn(index=2, role="tool", text=" ".join([GERMAN] * 20))
    call = Turn(index=3, role="agent", text="", tool_calls=(ToolCall(name="a", arguments={"x": GERMAN}),))
    whole, turns = detect_languages(spoken.model_copy(update={"turns": (*spoken.turns, tool, call)}))
    assert (whole, turns[0], turns[1]) == ("en", "en", "en")
