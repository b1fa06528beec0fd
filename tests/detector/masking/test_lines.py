"""The labelled lines: recall on plain and obfuscated forms, false masks on clean support text.

The development half was looked at while the rules were written, the test half was not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from masking_recall import Line, Tally, language_table, main, measure, read_lines

from dialint.detector.masking import mask_dialogue, mask_text
from dialint.detector.records import Dialogue, Turn

LINES = Path(__file__).parents[1] / "masking_lines.jsonl"
RECALL_LINES = Path(__file__).parents[1] / "masking_recall_lines.jsonl"
"""Made-up lines in five languages. Those of the author "other" were written by somebody who had not seen the
rules, those of "rules" by the author of the rules, before the rules that they ask for. Half of either, drawn by a
hash of the text, were looked at while the rules were extended (2026-11-23); of the others only figures were."""

FLOORS = {
    ("other", "development"): {"all": 0.97, "NAME": 0.95, "ADDRESS": 0.95, "SECRET": 0.95},
    ("other", "test"): {
        "all": 0.88,
        "ACCOUNT": 0.7,
        "ADDRESS": 0.75,
        "BIRTH": 0.95,
        "EMAIL": 0.95,
        "ID": 0.95,
        "NAME": 0.86,
        "PHONE": 0.95,
        "PLATE": 0.95,
        "SECRET": 0.7,
        "VIN": 0.95,
    },
    ("rules", "development"): {"all": 0.97, "NAME": 0.95, "ADDRESS": 0.95, "SECRET": 0.95},
    ("rules", "test"): {"all": 0.92, "NAME": 0.9, "ADDRESS": 0.9, "BIRTH": 0.85, "SECRET": 0.95},
}
"""A little below what was measured, by author, half and type."""
LANGUAGE_FLOORS = {
    ("other", "development"): {"de": 0.97, "en": 0.95, "es": 0.97, "fr": 0.97, "ru": 0.97},
    ("other", "test"): {"de": 0.86, "en": 0.88, "es": 0.88, "fr": 0.84, "ru": 0.85},
    ("rules", "development"): {"de": 0.95, "en": 0.9, "es": 0.95, "fr": 0.95, "ru": 0.95},
    ("rules", "test"): {"de": 0.83, "en": 0.91, "es": 0.93, "fr": 0.93, "ru": 0.93},
}


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return read_lines(LINES)


@pytest.fixture(scope="module", params=["development", "test"])
def tally(request: pytest.FixtureRequest, lines: list[Line]) -> Tally:
    return measure(line for line in lines if line.half == request.param)


def test_the_lines_are_many_and_each_is_there_once(lines: list[Line]) -> None:
    assert len(lines) >= 400
    assert sum(line.kind == "clean" for line in lines if line.half == "test") >= 60
    assert sum(line.kind == "clean" for line in lines) >= 120
    assert len({line.text for line in lines}) == len(lines)
    assert all(bool(line.entities) == (line.kind != "clean") for line in lines)


def test_plain_forms_are_found(tally: Tally) -> None:
    assert tally.recall("plain") >= 0.99


def test_obfuscated_forms_are_found(tally: Tally) -> None:
    assert tally.recall("obfuscated") >= 0.90


def test_clean_lines_are_left_alone(tally: Tally) -> None:
    assert tally.false_per_thousand("clean") <= 15
    assert tally.false_per_thousand("plain") <= 15


@pytest.mark.parametrize(("author", "half"), FLOORS)
def test_recall_lines_by_author_type_and_language(author: str, half: str) -> None:
    lines = [line for line in read_lines(RECALL_LINES) if (line.author, line.half) == (author, half)]
    tally = measure(lines)
    print(language_table(tally))
    assert len(lines) >= 190
    for place, floors in ((0, FLOORS[author, half]), (1, LANGUAGE_FLOORS[author, half])):
        for name, floor in floors.items():
            counts = {
                what: sum(
                    n
                    for key, n in tally.by_language.items()
                    if key[2] == what and name in (key[place], "all")
                )
                for what in ("found", "entities")
            }
            assert counts["found"] / counts["entities"] >= floor, (name, counts)
    assert tally.false_masks["clean"] == tally.false_masks["plain"] == 0


NEW = [
    ("My date of birth is 14 March 1986.", "My date of birth is [BIRTH_1]."),
    ("geboren am 03.05.1981", "geboren am [BIRTH_1]"),
    ("My password is Tulip!77, PIN: 4821", "My password is [SECRET_1], PIN: [SECRET_2]"),
    ("the password is marmalade.", "the password is [SECRET_1]."),
    ("account number 0042 1177 88", "account number [ACCOUNT_1]"),
    ("number plate AB12 CDE, VIN 1HGCM82633A004352", "number plate [PLATE_1], VIN [VIN_1]"),
    ("I am transferring you to Maria.", "I am transferring you to [NAME_1]."),
    ("Booking under Whitcombe, please", "Booking under [NAME_1], please"),
    ("This is Kwame from billing", "This is [NAME_1] from billing"),
    ("ANNA: hello", "[NAME_1]: hello"),
    ("Thanks a lot\n- Anna", "Thanks a lot\n- [NAME_1]"),
    ("Перевожу вас на Викторию из бухгалтерии", "Перевожу вас на [NAME_1] из бухгалтерии"),
    ("Please call Frau Odenthal or Mme Le Quellec", "Please call Frau [NAME_1] or Mme [NAME_2]"),
    ("Yes, Siobhan, ask Tomasz Zielinski to call", "Yes, [NAME_1], ask [NAME_2] to call"),
    ("Заявку приняла Инга Львовна Громова", "Заявку приняла [NAME_1]"),
    ("tél. 01.44.27.60.00 ou 0033 7 81 22 33 44", "tél. [PHONE_1] ou [PHONE_2]"),
    ("karl Punkt huber ät gmx Punkt at", "[EMAIL_1]"),
    ("паспорт серия 4510 номер 123456, 12.03.85 г.р.", "паспорт серия [ID_1], [BIRTH_1] г.р."),
    ("г. Тверь, ул. Новая, д. 5, кв. 12", "[ADDRESS_1]"),
    ("12 rue Jean Jaurès, 69100 Villeurbanne", "[ADDRESS_1]"),
    ("Lindengasse 3/2/14, 1070 Wien", "[ADDRESS_1]"),
    ("А123ВС77 стоит во дворе", "[PLATE_1] стоит во дворе"),
    ("4821 is my PIN", "[SECRET_1] is my PIN"),
]

OLD = [
    "this is great, it is a trip to London",
    "I want to fly to Berlin and this is Amazon",
    "my password is wrong and I can't change my password",
    "Is my PIN required? What is my date of birth for?",
    "my account is 5000 dollars in debt",
    "the registration closes in 2024",
    "NOTE: closed. ACHTUNG: heiss. To: sales",
    "- one blanket",
    "a taxi from Craig and Central to Victoria Station",
    "Спасибо. Теперь всё хорошо. Прощай!",
    "Стоимость проезда 23,60 фунта, Кембриджская колокольня",
    "Please say at some point in March",
    "July 18, 2013 Ministry of Trade",
    "I had to pass the VIP lane",
    "Das Modell heißt Galaxy",
]


@pytest.mark.parametrize(("text", "masked"), NEW)
def test_what_words_announce_is_masked(text: str, masked: str) -> None:
    assert mask_text(text).text == masked


@pytest.mark.parametrize("text", OLD)
def test_what_only_looks_announced_stays(text: str) -> None:
    assert mask_text(text).text == text


def test_an_answer_to_a_question_for_a_secret_is_masked() -> None:
    turns = (
        "What is your PIN?",
        "4821",
        "And your date of birth?",
        "It's 3.4.1980",
        "Your account number?",
        "00123456",
    )
    given = Dialogue(
        id="d",
        turns=tuple(
            Turn(index=i, role="customer" if i % 2 else "agent", text=t) for i, t in enumerate(turns)
        ),
    )
    assert [turn.text for turn in mask_dialogue(given)[0].turns][1::2] == [
        "[SECRET_1]",
        "It's [BIRTH_1]",
        "[ACCOUNT_1]",
    ]


def test_the_report_names_no_text(lines: list[Line], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(LINES), "--half", "test", "--misses"]) == 0
    printed = capsys.readouterr().out
    assert "false masks on clean lines" in printed
    assert not any(line.text in printed for line in lines if len(line.text) > 12)


def test_a_line_without_labels_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "secret", "kind": "plain"}\n')
    assert main([str(path)]) == 2
    message = capsys.readouterr().err
    assert f"{path}:1" in message
    assert "secret" not in message
