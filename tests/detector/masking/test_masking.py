"""Masking of texts: what goes, what stays, the way back, and that doing it twice changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dialint.detector.masking import mask_text
from dialint.detector.masking.spans import PLACEHOLDER

GOES = [
    ("my card4111111111111111", "my card[CARD_1]"),
    ("card４１１１ １１１１ １１１１ １１１１", "card[CARD_1]"),
    ("ssn078051120 tel+14155550132", "ssn[SSN_1] tel[PHONE_1]"),
    ("BSN 111222333", "BSN [SSN_1]"),
    ("mail ben.lee@example.com today", "mail [EMAIL_1] today"),
    ("anna (at) example dot com", "[EMAIL_1]"),
    ("ring +44 20 7946 0958 or (212) 555-0142", "ring [PHONE_1] or [PHONE_2]"),
    ("call me on 555 0199", "call me on [PHONE_1]"),
    ("five five five, zero one nine nine", "[PHONE_1]"),
    ("card 4111 1111 1111 1111 12/26", "card [CARD_1] 12/26"),
    ("IBAN DE89 3704 0044 0532 0130 00 thanks", "IBAN [IBAN_1] thanks"),
    ("from 192.0.2.45 again", "from [IP_1] again"),
    ("my ssn is 078-05-1120.", "my ssn is [SSN_1]."),
    ("passport number 533380006", "passport number [ID_1]"),
    ("I live at 221B Baker Street, London NW1 6XE.", "I live at [ADDRESS_1]."),
    ("15 Glover Lane, Easton. When will it come?", "[ADDRESS_1]. When will it come?"),
    ("15 Glover Lane, St. Ives. When will it come?", "[ADDRESS_1]. When will it come?"),
    ("Ringstr. 5, 10115 Berlin. Wann kommt es?", "[ADDRESS_1]. Wann kommt es?"),
    ("my name is ben", "my name is [NAME_1]"),
    ("this is Dr. Anna Kowalska speaking", "this is Dr. [NAME_1] speaking"),
    ("Regards,\nTom Lee", "Regards,\n[NAME_1]"),
    ("Hi Sarah, thanks", "Hi [NAME_1], thanks"),
    ("Name: Øyvind Håkonsen", "Name: [NAME_1]"),
    ("name: Žofie\nzip 1", "name: [NAME_1]\nzip 1"),
    ("Name: Jose\u0301 A\u0301lvarez", "Name: [NAME_1]"),
    ("my name is Zoe\u0308, hi", "my name is [NAME_1], hi"),
    ("I'm Sean O'Brien. yes, o'brien", "I'm [NAME_1]. yes, [NAME_1]"),
    ("jane.doe at the rate gmail.com", "[EMAIL_1]"),
    ("rita at the rate of yahoo dot com", "[EMAIL_1]"),
    ("my PAN is ABCDE1234F", "my PAN is [SSN_1]"),
    ("pan card number: abcde1234f", "pan card number: [SSN_1]"),
    ("PAN ABCDE1234F.", "PAN [SSN_1]."),
    ("i'm nora lindqvist btw", "i'm [NAME_1] btw"),
    ("this is rahul from flat 3", "this is [NAME_1] from flat 3"),
    ("the CVC is four oh nine", "the CVC is [SECRET_1]"),
    ("nine eight seven six is my PIN", "[SECRET_1] is my PIN"),
    ("my PIN's 4711", "my PIN's [SECRET_1]"),
    ("手机号是13900001111谢谢", "手机号是[PHONE_1]谢谢"),
    ("私のメールはhanako@example.jpです", "私のメールは[EMAIL_1]です"),
    ("이메일은minsu@example.kr입니다", "이메일은[EMAIL_1]입니다"),
    ("رقمي هو0551234567", "رقمي هو[PHONE_1]"),
    ("тел89161234567", "тел[PHONE_1]"),
    ("https://shop.example/a?mail=bob.lee%40example.com&x=1", "https://shop.example/a?mail=[EMAIL_1]&x=1"),
    ("the router is 3c-22-fb-9a-01-ee", "the router is [DEVICE_1]"),
    ("IMEI: 35-209900-176148-1", "IMEI: [DEVICE_1]"),
    ("token ghp_16C7e42F292c6912E7710c838347Ae178B4a", "token [SECRET_1]"),
    ("the secret key: wJalrXUtnFEMIbK7MDENGbPxRfiCY", "the secret key: [SECRET_1]"),
    ("eth 0x52908400098527886E0F7030069857D2E4169EE7", "eth [ACCOUNT_1]"),
    ("my insta is @maria_g89", "my insta is [ACCOUNT_1]"),
    ("add me on discord: mariag#1234", "add me on discord: [ACCOUNT_1]"),
    ("facebook.com/maria.gonzalez.12 is me", "facebook.com/[ACCOUNT_1] is me"),
    ("dm me @maria_g89", "dm me [ACCOUNT_1]"),
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

STAYS = [
    "I like Dr. Pepper and Mr. Clean",
    "meet at noon at the dot com",
    "I'm a Jane Austen fan",
    "a Jane Austen's novel",
    "the coupon Mr SUMMER2024 fails",
    "Name: Küchentisch",
    "product name: Brasília",
    "frying pan model abcde1234f",
    "order 4471 2233 9911",
    "tracking 1Z 999 AA1 01 2345 6784",
    "ticket #123-456-7890",
    "it costs 1,299.00, not $1299.00",
    "on 2024-03-15 at 10:45:30, or 12/05/2024",
    "booking reference QX7TL2",
    "the last four digits are 1234",
    "my name is on the account",
    "Hi there, Hello Support, this is ridiculous, I'm Sorry",
    "Version 10.0.19.45 of the app",
    "We meet at noon, see example.com",
    "{first_name}, your order has shipped",
    "trace 046-1297901-77 of request 5f0bcd25-a55d-453a-8046-129790ea0c02",
    "a hotel near Niagara Falls or in Palm Springs",
    "open Siri & Search, then say Hey Siri",
    "one two three, go! The PIN is one of three options",
    "12:30:45:10:20:30 is a countdown",
    "Bearer tokens expire; the API key is on the settings page",
    "our Twitter is down, pay with PayPal, please. Ask @acme_support",
    "订单2023年5月，更新完1.4.8.5后",
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

FRAGMENTS = [
    *(text for text, _ in GOES), *STAYS,
    "Hi ", "Anna", "Will", "may", " at ", " dot ", "com", "@", "(at)", "[", "]", "_1", "my name is ",
    "Mr. ", "[NAME_1]", "[EMAIL_7]", "[PHONE_0]", "[NAME_", "order ", "call ", "555", "0199", "-", " ",
    "\n", ", ", "+", "\u200b", "\ue000", "４１", "é", "İ", "ß", "one two ", "three four ", "street",
    "12 Elm ", "passport ", "电话", "です", "тел", "هو", "%40", "@bob_1", "my insta is ", "the PIN is ",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "13900001111",
]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join), st.text(max_size=60))


@pytest.mark.parametrize(("text", "masked"), GOES)
def test_personal_data_become_placeholders(text: str, masked: str) -> None:
    assert mask_text(text).text == masked


@pytest.mark.parametrize("text", STAYS)
def test_what_is_not_personal_stays(text: str) -> None:
    assert mask_text(text).text == text


def test_one_value_has_one_placeholder_however_it_is_written() -> None:
    masked = mask_text(
        "mail BEN@example.com or ben (at) example dot com, cell 212-555-0142 or (212) 555 0142"
    )
    assert masked.text == "mail [EMAIL_1] or [EMAIL_1], cell [PHONE_1] or [PHONE_1]"


def test_numbering_goes_on_after_placeholders_that_stand_there() -> None:
    assert mask_text("[EMAIL_3] wrote to a@example.com").text == "[EMAIL_3] wrote to [EMAIL_4]"


def test_look_alike_characters_do_not_hide_a_number() -> None:
    assert (
        mask_text("call ４１５-５５５-０１９９ or 415\u200b-555-0188").text == "call [PHONE_1] or [PHONE_2]"
    )


def test_offsets_lead_back_to_the_original() -> None:
    text = "Hi Sarah, mail a@example.com now"
    masked = mask_text(text)
    assert masked.text == "Hi [NAME_1], mail [EMAIL_1] now"
    assert masked.to_original(0, 2) == (0, 2)
    assert text[slice(*masked.to_original(masked.text.index("mail"), masked.text.index(" now")))] == (
        "mail a@example.com"
    )
    inside = masked.text.index("AME_1")
    assert text[slice(*masked.to_original(inside, inside + 2))] == "Sarah"
    assert masked.to_original(inside, inside) == (3, 8)
    assert masked.to_original(3, 3) == (3, 3)
    assert masked.to_original(len(masked.text), len(masked.text)) == (len(text), len(text))


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 99)])
def test_a_range_outside_the_text_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="range"):
        mask_text("Hi Sarah").to_original(start, end)


@settings(max_examples=400)
@given(TEXTS)
@example("Mr. Mr. Mr. Anna")
@example("[NAME_1] call 555 0199 555 0199")
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    once = mask_text(text).text
    assert mask_text(once).text == once


@settings(max_examples=200)
@given(TEXTS)
def test_spans_tell_exactly_what_was_replaced(text: str) -> None:
    masked = mask_text(text)
    rebuilt, position, original = "", 0, 0
    for span in masked.spans:
        assert masked.text[position : span.start] == text[original : span.original_start]
        assert PLACEHOLDER.fullmatch(masked.text, span.start, span.end)
        assert masked.to_original(span.start, span.end) == (span.original_start, span.original_end)
        rebuilt += masked.text[position : span.start] + text[span.original_start : span.original_end]
        position, original = span.end, span.original_end
    assert rebuilt + masked.text[position:] == text
