"""Facts about a log as a whole: its words, and the marks of its own masking."""

import pytest
from marked_dialogues import in_turn

from dialint.detector.log_profile import (
    EMPTY_PROFILE,
    LOGGED,
    PROFILED_DIALOGUES,
    find_marks,
    is_common_masking,
    mark_kind,
    profile_log,
    words,
)
from dialint.detector.records import Turn


def test_words_are_counted_once_a_dialogue() -> None:
    profile = profile_log([in_turn("Don’t, don't!", "The Fluxo 3"), in_turn("fluxo?", "Don")])
    assert profile.n_dialogues == 2
    assert profile.word_dialogues == {"don't": 1, "the": 1, "fluxo": 2, "don": 1}
    assert words("It’s n°5, O'Neill") == ["it's", "n", "o'neill"]


def test_only_the_head_of_a_log_is_read() -> None:
    log = (in_turn(f"word{chr(97 + number % 26)}", "b") for number in range(PROFILED_DIALOGUES + 1))
    assert profile_log(log).n_dialogues == PROFILED_DIALOGUES
    assert len(list(log)) == 1


def test_a_mark_of_customers_in_two_dialogues_is_the_logs_own() -> None:
    own = [in_turn(f"I am {{{{Client {number}}}}}", "Hi {agent}!", id=str(number)) for number in range(2)]
    profile = profile_log(own)
    assert profile.is_masking("{{client 7}}")
    assert not profile.is_masking("{agent}")
    assert not profile_log(own[:1]).is_masking("{{client}}")
    assert not EMPTY_PROFILE.is_masking("{{client}}")


def test_a_sentence_of_agents_in_three_dialogues_is_a_prepared_line() -> None:
    log = [
        in_turn("Hi there, you all", f"Hi. Your parcel {n} was send today! Bye.", id=str(n)) for n in range(3)
    ]
    text = "Hello. Your parcel 77 was send today!"
    assert profile_log(log).count_line(text, text.index("send")) == 3
    assert (
        profile_log(log).count_line("Hi there, you all", 0) == profile_log(log[:2]).count_line(text, 9) == 0
    )


@pytest.mark.parametrize(
    "mark",
    ["#NAME#", "#PRS_ORG#", "[NAME]", "[NAME_12]", "[PHONE NUMBER]", "<PHONE>", "<EMAIL_2>", "XXXX", "xxx-xxx",
     "***", "[name]", "[thumbs up]", "<name_1>"],
)  # fmt: skip
def test_marks_of_masking_tools_are_known_in_any_log(mark: str) -> None:
    assert is_common_masking(mark)


@pytest.mark.parametrize(
    "mark", ["[Customer Name]", "{first_name}", "{{ticket.id}}", "<customer name>", "%FIRSTNAME%", "[INSERT DATE]", "[Name]"]
)  # fmt: skip
def test_slots_of_templates_are_not(mark: str) -> None:
    assert not is_common_masking(mark)


def test_marks_are_found_whole() -> None:
    text = (
        "Hi [[name_1]], #PRS_ORG# has XXX-XX-1234 of <<order_id>>, {{ a.b }} and %CITY%; size XL, 50% or [5]"
    )
    marks = ["[[name_1]]", "#PRS_ORG#", "XXX-XX", "<<order_id>>", "{{ a.b }}", "%CITY%", "[5]"]
    assert [mark[0] for mark in find_marks(text)] == marks
    assert mark_kind("[Order Number 12]") == mark_kind("[order_number_3]") == "[order number]"


def test_the_same_log_has_the_same_fingerprint() -> None:
    log = [in_turn("one [x1]", "two", id="a"), in_turn("two [x2]", "three", id="b")]
    assert profile_log(log) == profile_log(iter(log))
    assert profile_log(log).fingerprint == profile_log(log).fingerprint
    assert profile_log(log).fingerprint != profile_log(log[:1]).fingerprint


def test_dialogues_are_held_to_calls_only_where_all_of_their_origin_have_them() -> None:
    plain = in_turn("Hello", "Hi")
    tool = Turn(index=2, role="tool", text="{}")
    with_tool = plain.model_copy(update={"turns": (*plain.turns, tool)})
    by_bot = with_tool.model_copy(update={"channel": "bot"})
    assert profile_log([with_tool] * 19 + [plain]).logs_calls(plain)
    assert not profile_log([with_tool] * 9 + [plain]).logs_calls(plain)
    assert not profile_log([with_tool, plain]).logs_calls(plain)
    mixed = profile_log([*[by_bot] * 9, *[plain] * 3])
    assert mixed.logs_calls(by_bot)
    assert not mixed.logs_calls(plain)
    assert mixed.tool_dialogues == 9
    assert not EMPTY_PROFILE.logs_calls(plain)
    assert LOGGED.logs_calls(plain)
