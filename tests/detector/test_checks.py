"""Exact checks: what they must find and, as important, what they must leave alone."""

from __future__ import annotations

import pytest
from languages_corpus import dialogues

from dialint.detector.checks import CheckContext
from dialint.detector.checks.phrases import asks_secret, insult
from dialint.detector.checks.repeats import same_text_again
from dialint.detector.checks.slots import unfilled_placeholder
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Dialogue, Turn


def dialogue(*turns: tuple[str, str]) -> Dialogue:
    return Dialogue(
        id="d",
        turns=tuple(
            Turn(index=i, role="agent" if r == "a" else "customer", text=t) for i, (r, t) in enumerate(turns)
        ),
    )


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Hello, {first_name}!", "{first_name}"),
        ("Dear {{customer.name}}, thanks", "{{customer.name}}"),
        ("Hi [Customer Name], hello", "[Customer Name]"),
        ("Your order <<order_id>> left", "<<order_id>>"),
        ("Hi %FIRSTNAME%", "%FIRSTNAME%"),
        ("Hi %FIRST_NAME%", "%FIRST_NAME%"),
        ("Due on INSERT DATE HERE.", "INSERT DATE HERE"),
        ("Here it is: [order details]", "[order details]"),
        ("Sent to [Insert address from profile].", "[Insert address from profile]"),
        ("Choose from <price_list>.", "<price_list>"),
        ("Order #user_order_id is gone", "#user_order_id"),
        ("Item REPLACE_WITH_ITEM_ID is gone", "REPLACE_WITH_ITEM_ID"),
        ('"Moved to " + new_date + "."', '" + new_date'),
        ("Click [Next] and then [Check for updates]", None),
        ("see #12_id and <b> or 1 + 1", None),
        ("A ____ takes 33 hours", None),
        ("I mailed [EMAIL_1] about it", None),
        ("[name] called", None),
        ("It is 50% off, 20% today", None),
        ("see a[0] or {} or <b>bold</b>", None),
        ("a snake_case_word and x_y", None),
    ],
)
def test_unfilled_placeholder(text: str, quote: str | None) -> None:
    hits = list(unfilled_placeholder(dialogue(("c", "hi"), ("a", text))))
    assert [text[hit.start : hit.end] for hit in hits] == ([] if quote is None else [quote])
    assert all(hit.turn == 1 for hit in hits)


def test_a_placeholder_that_the_customer_speaks_of_is_no_slip() -> None:
    talk = dialogue(
        ("c", "What does {first_name} do in my mailing?"), ("a", "{first_name} becomes their name.")
    )
    assert list(unfilled_placeholder(talk)) == []


AGAIN = "Please restart the router and wait two minutes."


BOOK = "The Alder is free on that day. Shall I book it?"


@pytest.mark.parametrize(
    "said",
    [
        "did that",
        "I did that already!",
        "Thanks a lot, that is really kind.",
        "There is no connection in my house since the storm came down on us",  # as before the text
        "My neighbours were laughing their heads off about this whole story",
    ],
)
def test_the_same_text_after_nothing_new_was_said_is_found(said: str) -> None:
    first = "there is no connection in my house since the storm came down on us"
    talk = dialogue(("c", first), ("a", AGAIN), ("c", said), ("a", f" {AGAIN.upper()} "))
    (hit,) = same_text_again(talk)
    assert (hit.turn, hit.start, hit.end) == (3, 1, 1 + len(AGAIN))


@pytest.mark.parametrize(
    "said",
    [
        "And on Thursday",
        "It shows a red light now and hums for 20 seconds",
        "How about the other router?",
        "Could you say that again?",
        "the blue one",
        "My friend Robin said that everybody in the street has it too",
    ],
)
def test_the_same_text_may_be_the_right_answer_to_something_new(said: str) -> None:
    talk = dialogue(("c", "no net"), ("a", AGAIN), ("c", said), ("a", AGAIN))
    assert list(same_text_again(talk)) == []


def test_a_question_may_be_asked_again_until_it_is_answered() -> None:
    unanswered = dialogue(("c", "hi"), ("a", BOOK), ("c", "I love that old house so very much"), ("a", BOOK))
    answered = dialogue(("c", "hi"), ("a", BOOK), ("c", "Yes please."), ("a", BOOK))
    assert list(same_text_again(unanswered)) == []
    assert [hit.turn for hit in same_text_again(answered)] == [3]


def test_a_yes_to_another_question_may_call_for_the_same_words() -> None:
    done = "Your appointment with the doctor is booked."
    other = ("a", "And your child at nine?"), ("c", "yes")
    talk = dialogue(("c", "book it"), ("a", done), ("c", "thanks"), *other, ("a", done))
    assert list(same_text_again(talk)) == []


@pytest.mark.parametrize(
    "talk",
    [
        dialogue(("c", "hi"), ("a", AGAIN), ("a", AGAIN)),  # nobody spoke in between: a double send
        dialogue(("c", "hi"), ("a", "One moment."), ("c", "ok"), ("a", "One moment.")),
        dialogue(
            ("c", "hi"),
            ("a", "Is there anything else I can help you with?"),
            ("c", "yes, my bill"),
            ("a", "Is there anything else I can help you with?"),
        ),
        dialogue(("c", AGAIN), ("a", "Thank you for telling me about it all."), ("c", AGAIN)),
    ],
)
def test_what_may_repeat(talk: Dialogue) -> None:
    assert list(same_text_again(talk)) == []


INSULTS = [
    "Sie sind ein Idiot", "Sie sind doch ein kompletter Trottel!", "Bist du wirklich so blöd?", "Ach, halt die Klappe.",
    "Sie Idiot, lesen Sie erst einmal.", "Ihr seid ja strohdumm und faul.", "Usted es un idiota.", "Eres tan tonto, de verdad.",
    "¡Cállese ya!", "Es usted un imbécil, señor.", "Vous êtes vraiment stupide.", "Tu es un abruti !", "Ta gueule.",
    "Вы просто идиот.", "Да вы дурак!", "Заткнитесь, я занята.", "Ты тупой или как?",
]  # fmt: skip
NO_INSULTS = [
    "Die Montage ist idiotensicher.", "Sie sind nicht dumm, das Formular ist verwirrend.", "Niemand denkt, Sie sind ein Idiot.",
    "Sie schrieben: „Sie sind ein Idiot“. Das möchte ich klären.", "Sie sind leider dumm gelaufen, die letzten Tage.",
    "Wenn Sie glauben, Sie sind zu blöd, rufen Sie uns an.", "Halten Sie den Mund bitte weit geöffnet.",
    "Das ist eine dumme Sache.", "Usted no es tonto, la página confunde.", "Es una tontería, lo arreglo.",
    "No diga que es usted un idiota.", "Vous n'êtes pas stupide, rassurez-vous.", "Si la fenêtre est ouverte, fermez-la.",
    "Le mode idiot-proof est actif.", "Вы не дурак, форма и правда сложная.", "Не думайте, что вы тупой.",
    "Фильм «Идиот» есть в каталоге.", "Роман «Вы идиот!» есть в каталоге.",
]  # fmt: skip
SECRETS = [
    "Nennen Sie mir bitte Ihre PIN.", "Bitte schicken Sie uns noch Ihr Passwort.", "Dafür brauche ich die dreistellige Prüfziffer.",
    "Sagen Sie mir, bitte, Ihr Passwort und Ihren Namen.", "Dígame por favor su contraseña.", "Envíeme el CVV, por favor.",
    "Deme el código de seguridad de su tarjeta.", "Donnez-moi votre mot de passe.", "Indiquez-nous, s'il vous plaît, le cryptogramme.",
    "Назовите, пожалуйста, пароль.", "Сообщите мне код из СМС.", "Продиктуйте CVV вашей карты.",
    "Can I have your account number and PIN?", "Thanks, and your PIN as well please.", "What's your password?",
    "Please give me the one-time code.", "I'll need your name, account number and PIN please.",
]  # fmt: skip
NO_SECRETS = [
    "Geben Sie Ihr Passwort auf der Anmeldeseite ein.", "Nennen Sie uns niemals Ihre PIN.", "Sagen Sie mir, wenn Sie Ihr Passwort vergessen haben.",
    "Wenn jemand sagt, nennen Sie mir Ihre PIN, legen Sie auf.", "Betrüger schreiben: „Nennen Sie mir Ihre PIN“.",
    "Dafür brauche ich Ihr Passwort nicht.", "Nennen Sie mir bitte Ihre Kundennummer.", "Die PIN schicken wir Ihnen per Post.",
    "No me diga su contraseña.", "Si alguien le dice: dígame su PIN, cuelgue.", "Dígame, ¿la contraseña funciona?",
    "Dites-moi, le mot de passe fonctionne-t-il ?", "Ne donnez jamais votre mot de passe.", "Donnez-moi votre numéro de client.",
    "Please enter your PIN on the keypad.", "Never tell anyone your PIN.", "If I need your PIN, I will not write.",
    "You can reset your password in the app.", "Can I have your account number?", "Do you have your PIN not at hand?",
    "Скажите, пароль подходит?", "Никому не сообщайте пароль.", "Сообщите нам, если забыли пароль.", "Назовите номер заказа.",
]  # fmt: skip


def hit_by(check: object, text: str) -> list[str]:
    found = dialogue(("c", "Guten Tag"), ("a", text))
    return [text[hit.start : hit.end] for hit in check(found)]  # type: ignore[operator]


@pytest.mark.parametrize("text", INSULTS)
def test_insults_in_other_languages(text: str) -> None:
    assert len(hit_by(insult, text)) == 1


@pytest.mark.parametrize("text", [*NO_INSULTS, *SECRETS, *NO_SECRETS])
def test_what_only_looks_like_an_insult(text: str) -> None:
    assert hit_by(insult, text) == []


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_asked_in_other_languages(text: str) -> None:
    assert len(hit_by(asks_secret, text)) == 1


@pytest.mark.parametrize("text", [*NO_SECRETS, *INSULTS, *NO_INSULTS])
def test_what_only_looks_like_asking_for_a_secret(text: str) -> None:
    assert hit_by(asks_secret, text) == []


NAMED_ONLY = [
    "Please provide your PIN code and I will check whether we deliver.",
    "Can you tell me the password policy set under Admin?",
    "Can you confirm the PIN letter arrived?",
    "What is the password prompt showing?",
    "I need your password to be at least 12 characters.",
    "Can you confirm your PIN works now?",
    "What is the CVV? It's the three digits on the back.",
    "Do you have your PIN to hand? You'll enter it on the reader.",
    "Назовите код из СМС сотруднику пункта выдачи.",
    "Напишите пароль в поле «Пароль»",
    "Отправьте ПИН на номер 1234",
    "Скажите, пожалуйста, пароль от почты вы помните?",
    "Schicken Sie uns Ihr Passwort bitte nicht per E-Mail.",
    "Dann brauche ich Ihr Passwort gar nicht.",
    "senden Sie uns die PIN auf keinen Fall per Mail",
    "Envíeme la contraseña jamás por correo",
    "Donnez-moi votre mot de passe surtout pas ici",
    "- Wofür brauche ich die TAN?",
    "Beim Abheben benötige ich die PIN, sonst geht es nicht.",
    "Сообщите пароль только мастеру",
    "Send me your OTP log from the app.",
]
ASKED_FOR = [
    "Please provide your PIN code so that I can log in for you.",
    "Can I have your full name and password?",
    "What is your PIN?",
    "Could you tell me your password please",
    "I need your PIN to verify you",
    "Please send me the code we texted you",
    "Please tell me your CVV on the back of the card.",
    "Назовите, пожалуйста, код из СМС.",
    "Сообщите мне ваш пароль",
    "Какой у вас пароль?",
    "Мне нужен CVV",
    "Пришлите пароль",
    "Schicken Sie mir bitte Ihr Passwort.",
    "Nennen Sie mir Ihre PIN, sonst kann ich nicht helfen.",
    "Wie lautet Ihr Passwort?",
    "Ich benötige Ihre Prüfziffer.",
    "Dígame su contraseña, por favor.",
    "¿Cuál es su PIN?",
    "¿Me puede dar su contraseña?",
    "decime tu contraseña",
    "Donnez-moi votre code PIN.",
]


@pytest.mark.parametrize("text", NAMED_ONLY)
def test_a_secret_that_is_spoken_of_is_not_asked_for(text: str) -> None:
    assert hit_by(asks_secret, text) == []


@pytest.mark.parametrize("text", ASKED_FOR)
def test_a_secret_is_asked_for(text: str) -> None:
    assert len(hit_by(asks_secret, text)) == 1


@pytest.mark.parametrize(
    ("customer", "agent"),
    [
        ("Не могу войти, я дурак", "Ну что вы, вы не дурак!"),
        ("Ну я и дурак", "Какой же вы дурак! С каждым бывает."),
    ],
)
def test_a_word_that_the_customer_said_of_himself_is_no_insult(customer: str, agent: str) -> None:
    assert list(insult(dialogue(("c", customer), ("a", agent)))) == []
    assert len(hit_by(insult, "Вы дурак.")) == 1


NO_SLOTS = [
    "You can see it under [Order status](https://x.example).",
    "Call GET /orders/{order_id} and then /users/{id}.",
    "Send BAL <account number> to 60220.",
    "Press the [Refund] button.",
    "It is in the [Order Date] column.",
    "Pulse [Sí] para confirmar o [No] para volver atrás.",
    "use `<code>` y `</code>`",
    "C:\\Users\\%username%\\Documents",
    "/v2/orders/{order_id}; ersetzen Sie {order_id}",
    "escriba {{nombre}} donde quiera",
    "The template uses double curly braces: {{first_name}}.",
    "[Details] and [Information] are below.",
]
SLOTS = [
    "Dear [Customer Name], thank you.",
    "Hello {{first_name}}, how can I help?",
    "Your order {order_id} is on its way.",
    "Please visit [Link] for more.",
    "Your refund of $[Amount] was sent.",
    "Hi %FIRSTNAME%, welcome!",
    "Thank you, <customer name>.",
    "It will arrive on [Insert date].",
    "You can use the code {discount_code} at checkout.",
    "I see that [order details] was shipped.",
]


@pytest.mark.parametrize("text", NO_SLOTS)
def test_a_button_a_link_or_a_part_of_code_is_no_slot(text: str) -> None:
    assert hit_by(unfilled_placeholder, text) == []


@pytest.mark.parametrize("text", SLOTS)
def test_a_slot_was_left_unfilled(text: str) -> None:
    assert len(hit_by(unfilled_placeholder, text)) == 1


def test_slots_are_no_slip_where_they_are_the_customers_matter() -> None:
    about_tags = dialogue(("c", "My merge tag does not work."), ("a", "It should be {{first_name}} there."))
    assert list(unfilled_placeholder(about_tags)) == []


def test_the_words_of_the_customer_are_no_insult_of_the_agent() -> None:
    talk = dialogue(
        ("c", "Sie sind ein Idiot!"), ("a", "Sie sind ein Idiot, das haben Sie gerade geschrieben.")
    )
    assert list(insult(talk)) == []


@pytest.mark.parametrize("language", ["de", "es", "fr", "ru"])
def test_no_correct_dialogue_holds_an_insult_or_asks_a_secret(language: str) -> None:
    for one in dialogues(language, 30):
        assert [*insult(one), *asks_secret(one)] == []


def test_the_logs_own_masking_is_no_unfilled_slot() -> None:
    def log(text: str) -> Dialogue:
        turns = (
            Turn(index=0, role="customer", text=text),
            Turn(index=1, role="agent", text="Hi <<client 4>>!"),
        )
        return Dialogue(id=text, turns=turns)

    profile = profile_log([log("I am <<client 1>>"), log("<<client 2>> here")])
    assert profile.masking == ("<<client>>",)
    plain = log("Hello")
    assert [hit.turn for hit in unfilled_placeholder(plain)] == [1]
    assert list(unfilled_placeholder(plain, CheckContext(profile))) == []
