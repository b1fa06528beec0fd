"""Recognises values by the words before them: dates of birth, secrets, accounts, plates, vehicle numbers.

English, German, Spanish, French and Russian cues. A word without digits is a secret only after a colon or
"is", so that "my password is wrong" and "change my password" stay unmasked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import NUMBER_WORD, SPELLED_NUMBER
from dialint.detector.masking.identifiers import HAS_DIGIT
from dialint.detector.masking.name_words import NOT_NAMES
from dialint.detector.masking.spans import Entity, Kind, View, words

_LINK = (
    r"(?P<link>(?:[\s:=,#\"'«“(.-]|n[º°]\.?|(?:is|was|are|has|now|currently|to|still|it's|its|on|in|as|"
    r"on file|number|numbers|no|nr|id|code|the|my|your|new|temporary|provided|ending|sent|received|ist|war|"
    r"lautet|nummer|auf|zu|am|der|die|den|das|es|era|fue|número|numero|el|a|de|del|al|est|était|numéro|le|"
    r"la|en|du|reçu|par|provisoire|confirmation|это|был|была|на|номер|мой|из|смс|sms|que|me|dieron|dio|"
    r"llegó|enviaron|mandaron|dice|tengo|hab|habe|ich|geändert|lautete|war|j'ai|m'a|été|envoyé|c'est|пришёл|"
    r"пришел|такой|прислали|я|мне|ввожу|у|меня|стоит|i|got|you|gave|used|typed|entered|hat|дня|полная|am|"
    r"vom|born|un|une|por|für|for|at|bei|der|von|cliente|del|titular|пациента|пациентки|клиента|ребёнка|"
    r"patientin|patienten|kunden|kundin)(?!\w)){1,10}+)"
)
_MONTH = (
    r"(?:jan|jän|ene|feb|fév|mar|mär|apr|abr|avr|may|mai|jun|juin|jul|juil|aug|ago|aoû|sep|oct|okt|nov|dec|"
    r"dez|dic|déc|янв|фев|мар|апр|мая|май|июн|июл|авг|сен|окт|ноя|дек)[^\W\d_]{0,8}+\.?"
)
_DATE = (
    rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}\s?[-/.]\s?\d{{1,2}}\s?[-/.]\s?(?:\d{{4}}|\d\d)|"
    rf"\d{{1,2}}(?:st|nd|rd|th|er|º|-?го|\.)?[\s/-]{{0,2}}(?:(?:of|"
    rf"de)\s)?{_MONTH}(?:[\s,/-]{{1,2}}(?:del?\s)?(?:\d{{4}}(?:\sгода?(?!\w))?|\d\d))?|"
    rf"{_MONTH}\s(?:\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|(?:de\s)?\d{{4}}))(?!\w)"
)
_BIRTH_WORD = (
    r"born|date of birth|birth ?dates?|birthday|d\.?o\.?b|geboren|geb|geburtsdatum|geburtstag|"
    r"fecha de nacimiento|nací|nacid[oa]|cumpleaños|née?|date de naissance|anniversaire|дата рождения|"
    r"дату рождения|день рождения|родил(?:ся|ась)|рождени[яе]|рожд[её]н[а]?|д\.\s?р\.?|др|f(?:\.|"
    r"echa)?(?: de)? nac(?:imiento)?\.?|nacimiento|jahrgang|birth ?year|year of birth|born on|"
    r"d\.? de naissance|naissance|date de naiss\.?"
)
_BIRTH = re.compile(rf"(?<!\w)(?:{_BIRTH_WORD})(?!\w){_LINK}(?P<value>{_DATE}|(?:19|20)\d\d(?!\w))")
_BIRTH_AFTER = re.compile(
    rf"(?<!\w)(?P<value>{_DATE}|(?:19|20)\d\d(?=\s(?:г|года)))(?:,?\s(?:is|ist|es|est|was|это|года?|г\.?))?"
    r"(?:\s(?:my|her|his|mein|meine|mi|ma|мой|моя|when i was|am|in \w{3,15}))?\s?"
    rf"(?:date of birth|dob|birthday|born|geboren|geburtstag|geburtsdatum|fecha de nacimiento|cumpleaños|"
    rf"date de naissance|anniversaire|дата рождения|день рождения|рождения|г\.\s?р\.?)(?![\w?])"
)
_PASSWORD_WORD = (
    r"pass ?words?|passphrase|passwort|kennwort|contraseña|clave|mot de passe|пароль|login pass|pwd|"
    r"(?:secret|security|memorable) (?:word|answer|phrase)|(?:geheim|sicherheits)(?:wort|antwort)|"
    r"my pass|pass(?=\s?(?:[:=]|is |ist ))|mdp|passwd|passcode|zugangswort|contrasena|password_|пасс|"
    r"respuesta secreta|palabra secreta|réponse secrète|mot secret|(?:секретн|кодов|контрольн)(?:ое|ый) "
    r"(?:слово|ответ)"
)
_PASSWORD = re.compile(
    rf"(?<!\w)(?P<cue>{_PASSWORD_WORD})(?!\w){_LINK}(?P<value>[^\s,;\"'»”()\ue000]{{3,40}}+)"
)
_PASSWORD_FAR = re.compile(
    rf"(?<!\w)(?:{_PASSWORD_WORD})(?!\w)(?!\s?(?:reset|for|für|para|pour|для|de passe oublié))"
    r"(?:[\s,]{1,2}[^\W\d_]{1,12}(?!\S{0,16}[\d@])(?=\s)){1,5}+\s"
    r"(?P<value>(?=\S{0,20}[^\W\d_])(?=\S{0,20}\d)[^\s,;\"'»”()/\ue000]{6,40}+)"
)
"""A password some words after its cue: "the password you sent is Zq7!mallard"."""
_PASSWORD_PARTS = (
    "pass", "pwd", "word", "answer", "phrase", "wort", "contraseña", "clave", "respuesta", "mot", "réponse",
    "парол", "слов", "ответ",
)  # fmt: skip
_STATES = re.compile(r"[:=]|(?<!\w)(?:is|was|ist|lautet|es|era|est|était|это|to)(?!\w)")
_CODE_WORD = (
    r"pin(?:[ -]?(?:code|number|nummer))?|cvv2?|cvc2?|passcode|otp|(?:mobile)?tan|puk|(?:three|last three|"
    r"3) digits|(?:login|log-in|entry|door|gate|unlock|activation|access|passcode|two-factor|2-factor|"
    r"confirmation) code|(?:code|pin|passcode|otp) (?:i|you|we|that i|that you|he|she) (?:\w{2,6} )?(?:got|"
    r"received|sent|texted|typed|entered|gave|was sent)|code (?:from|in|by|via) (?:the |my |your |"
    r"an )?(?:sms|text|message|email|app)|(?:zugangs|bestätigungs|verifizierungs|freischalt|einmal|"
    r"aktivierungs|sms|pin|entsperr|transaktions|prüf)-?code|geheimzahl|geheimnummer|c[oó]digo (?:que (?:me|"
    r"les|te) (?:llegó|dieron|enviaron|mandaron|llega)|que recibí|de acceso|de confirmación|de activación|"
    r"pin|postal secreto)|clave dinámica|code (?:de confirmation|d'accès|de validation|d'activation|"
    r"confidentiel|à usage unique|que j'ai reçu|pin|de la carte|de déverrouillage)|код (?:доступа|активации|"
    r"авторизации|входа|смс|sms|пришел|пришёл|такой|от)|(?:пришёл|пришел|прислали|получил|получила|ввожу|"
    r"ввёл|ввел|ввела|мой|одноразовый) код|кодом|cvc|(?:security|verification|one[- ]time|access|sms|"
    r"authentication|confirmation pin|2fa) code|sicherheitscode|prüfziffer|bestätigungscode|"
    r"código (?:de )?(?:verificación|seguridad|sms)|code (?:secret|de sécurité|de vérification|reçu|sms)|"
    r"cryptogramme|пин(?:-?код\w*)?|код (?:из|подтверждения|безопасности)"
)
_SPELLED = rf"(?:(?:{NUMBER_WORD})[\s,-]{{1,2}}){{2,7}}(?:{NUMBER_WORD})"
_CODE_VALUE = rf"(?P<value>\d(?:[ -]?\d){{2,7}}|{_SPELLED})"
_CODE = re.compile(rf"(?<!\w)(?:{_CODE_WORD})(?:'s)?(?!\w){_LINK}{_CODE_VALUE}(?![\w%]|[.,:]\d)")
_CODE_BEFORE = re.compile(
    rf"(?<![\w.,:-]){_CODE_VALUE}\s(?:is|as|was|als|ist|war|es|como|est|comme|était|это|-|как)\s"
    rf"(?:(?:my|the|your|mein|meine|die|der|das|mi|el|la|mon|le|мой) )?(?:{_CODE_WORD})(?!\w)"
)
_EXPIRY = re.compile(
    r"(?<!\w)(?:exp(?:iry|ires|iration)?(?: date)?|valid (?:thru|until|to)|gültig bis|ablaufdatum|caduca|"
    r"caducidad|"
    rf"vence|expire|expiration|срок(?: действия)?|действует до|действительна до|годна до|годен до|"
    rf"válida hasta|vencimiento|expira|valable jusqu'(?:au|en)|gültigkeit|ablauf|"
    rf"verfall)(?!\w){_LINK}(?P<value>(?:0?[1-9]|1[0-2])\s?[/-]\s?(?:20)?\d\d)(?![\w/-])"
)
"""Of a card."""
_ACCOUNT_WORD = (
    r"(?:(?:bank|checking|savings|customer|client|member(?:ship)?|user) )?(?:account|acct|a/c)|(?:customer|"
    r"client|member(?:ship)?) (?:number|id|no)|sort code|routing number|kontonummer|konto|kundennummer|blz|"
    r"bankleitzahl|cuenta|número de (?:cuenta|cliente)|clabe|(?:numéro de )?compte|numéro de client|rib|"
    r"(?:лицев\w{1,4} |расчётн\w{1,4} )?сч[её]та?|номер клиента|р/с|л/с|р\.с\.|kundennr\.?|kunden-nr\.?|"
    r"mitgliedsnummer|vertragskonto|depot(?:nummer)?|compte bancaire|n° (?:de )?(?:client|compte)|"
    r"cuenta (?:corriente|bancaria|de ahorros)|n[º°.] de (?:cuenta|cliente)|(?:customer|client|member|"
    r"membership|account) (?:number|no\.?|id|reference)|номер(?:ом)? (?:счета|счёта|договора клиента)"
)
_ACCOUNT = re.compile(
    rf"(?<!\w)(?:{_ACCOUNT_WORD})(?!\w){_LINK}"
    rf"(?P<value>(?:[a-z]{{1,4}}[ -]?)?\d(?:[ -]{{0,2}}\d){{5,25}})(?![\w%]|[.,]\d)"
)
_MONEY_AFTER = re.compile(r"\s?(?:[$€£¥₽]|usd|eur|gbp|euros?|dollars?|pounds?|руб)")
_PLATE = re.compile(
    r"(?<!\w)(?:(?:licen[cs]e|number) plates?|plate(?: number)?|(?:car |"
    r"vehicle )?reg(?:istration)?(?: number| plate)?|kennzeichen|nummernschild|matr[ií]cula|placa|"
    r"plaque(?: d'immatriculation)?|immatriculée?|immatriculation|patente(?: del (?:auto|coche))?|kfz|plaque|"
    r"(?:voiture|véhicule|auto|coche|wagen|pkw|fahrzeug|car|van|машин\w|автомобил\w|"
    r"авто)(?=[\s,:(]{1,3}(?:c'est|is|ist|es|est|с номером|номер|mit|con|avec|immatriculée?|"
    r"[^\W\d_]{1,3}[ -]?\d))|"
    rf"гос\.? ?номер\w{{0,2}}|номер (?:машины|автомобиля|авто))(?!\w){_LINK}"
    r"(?P<value>(?:[^\W_]{1,4}[ -]){1,2}[^\W_]{1,4}|[^\W_]{5,9})(?![^\W_])"
)
_RUSSIAN_PLATE = re.compile(
    r"(?<!\w)[авекмнорстухabekmhopctyx] ?\d{3} ?[авекмнорстухabekmhopctyx]{2} ?\d{2,3}(?!\w)"
)
_VIN = re.compile(r"(?<!\w)[a-hj-npr-z\d]{17}(?!\w)")
_VIN_CUE = re.compile(
    r"(?<!\w)(?:vin|chassis|vehicle identification|fahrgestell\w{0,8}|fin|châssis|bastidor|"
    r"вин|série du véhicule|номер кузова|rahmennummer|número de serie)(?!\w)[^.!?\n]{0,24}$"
)
_NO_SECRETS = NOT_NAMES | words(
    "reset resets resetting expired required changed correct weak strong protected saved working accepted "
    "rejected locked stored sensitive already being used too that case falsch richtig abgelaufen vergessen "
    "nicht gesperrt incorrecta incorrecto correcta vencida faux fausse incorrect expiré perdu неверный "
    "неправильный забыт hidden"
)
_REQUESTS: tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...] = (
    (
        "SECRET",
        re.compile(rf"(?<!\w)(?:{_CODE_WORD})(?!\w)[^.!\n]{{0,40}}\??\s{{0,3}}$"),
        re.compile(r"\W{0,3}(?:[^\W\d_]{2,9}[\s,.:]{1,3}){0,4}+(?P<value>\d{3,8})\s?[.!]?\s{0,3}$"),
    ),
    (
        "BIRTH",
        re.compile(rf"(?<!\w)(?:{_BIRTH_WORD})(?!\w)[^.!\n]{{0,40}}\??\s{{0,3}}$"),
        re.compile(rf"\W{{0,3}}(?:(?:it's|it is|yes|sure|its|on)[\s,]{{1,2}}){{0,3}}+(?P<value>{_DATE})"),
    ),
    (
        "ACCOUNT",
        re.compile(rf"(?<!\w)(?:{_ACCOUNT_WORD})(?!\w)[^.!\n]{{0,40}}\??\s{{0,3}}$"),
        re.compile(
            r"\W{0,3}(?:[^\W\d_]{2,9}[\s,.:]{1,3}){0,4}+(?P<value>\d(?:[ -]?\d){5,19})\s?[.!]?\s{0,3}$"
        ),
    ),
)
"""The kind, the request in the turn before, and the form of a turn that is only the answer."""


_SEARCHES: tuple[tuple[Kind, frozenset[str], tuple[re.Pattern[str], ...]], ...] = (
    (
        "BIRTH",
        words("born birth dob d.o o.b geb nac cumple né naiss annivers рожд родил г.р г. др д.р д. jahrg"),
        (_BIRTH, _BIRTH_AFTER),
    ),
    (
        "SECRET",
        words("pin cv code otp tan puk digits ziffer código codigo crypto пин код cvc zahl nummer clave"),
        (_CODE, _CODE_BEFORE),
    ),
    ("SECRET", words("exp val gültig ablauf caduc venc срок год действ verfall"), (_EXPIRY,)),
    (
        "PLATE",
        words(
            "plate reg kennz nummern matr placa plaque immat гос номер patente kfz auto car van voiture "
            "véhicule coche wagen pkw zeug машин авто"
        ),
        (_PLATE,),
    ),
    (
        "ACCOUNT",
        words(
            "acc a/c customer client member sort routing konto kunden blz leitz cuenta clabe compte rib сч "
            "клиент р/с л/с р.с mitglied depot"
        ),
        (_ACCOUNT,),
    ),
)
"""The kind, word parts of which one must be in the text (a cheap test before the search), and the
patterns."""


def find(view: View, before: str) -> Iterator[Entity]:
    """Dates of birth, secrets, accounts, plates and vehicle numbers in `view`; `before`, the turn before, may
    request one."""
    low = view.low
    if any(part in low for part in _PASSWORD_PARTS):
        for match in _PASSWORD.finditer(low):
            if result := _secret(view, match):
                yield result
        for match in _PASSWORD_FAR.finditer(low):
            yield Entity(match.start("value"), match.end("value"), "SECRET", match["value"].rstrip(".!?:"))
    if not HAS_DIGIT.search(low) and not SPELLED_NUMBER.search(low):
        return
    for match in _VIN.finditer(low):
        digits = sum(char.isdigit() for char in match[0])
        cued = _VIN_CUE.search(low, max(0, match.start() - 48), match.start())
        if 3 <= digits < 17 and (cued or _is_vin(match[0])):
            yield Entity(match.start(), match.end(), "VIN", match[0])
    for match in _RUSSIAN_PLATE.finditer(low):
        if view.text[match.start() : match.end()].isupper():
            yield Entity(match.start(), match.end(), "PLATE", re.sub(r"\W", "", match[0]))
    for kind, parts, patterns in _SEARCHES:
        if any(part in low for part in parts):
            for pattern in patterns:
                yield from (
                    _value(match, kind) for match in pattern.finditer(low) if _holds(view, match, kind)
                )
    for kind, request, answer_form in _REQUESTS:
        if (answer := answer_form.match(low)) and request.search(before, max(0, len(before) - 120)):
            yield _value(answer, kind)


def _secret(view: View, match: re.Match[str]) -> Entity | None:
    """The value after a word for a password, if it looks like one or the text states that it is one."""
    value = match["value"].rstrip(".!?:")
    written = view.text[match.start("value") : match.start("value") + len(value)]
    odd = any(not char.isalpha() for char in value) or written[1:] != written[1:].lower()
    if len(value) < 3 or written[:1] in "[{<" or "'" in value:
        return None
    if not (odd and any(char.isalnum() for char in value)):
        closed = match["value"] != value or not view.low[match.end() :].lstrip(" ")[:1].isalnum()
        if not _STATES.search(match["link"]) or not closed or value in _NO_SECRETS:
            return None
        if value.endswith(("ed", "ing", "ly")):
            return None
    return Entity(match.start("value"), match.start("value") + len(value), "SECRET", value)


def _holds(view: View, match: re.Match[str], kind: Kind) -> bool:
    """Whether a match is confirmed by checks beyond its pattern."""
    if kind == "PLATE":
        value = view.text[match.start("value") : match.end("value")]
        digits = sum(char.isdigit() for char in value)
        return 4 < len(value) < 12 and 2 <= digits < len(value) and value == value.upper()
    return kind != "ACCOUNT" or not _MONEY_AFTER.match(view.low, match.end())


_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_VALUES = dict(
    zip("abcdefghjklmnprstuvwxyz", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)


def _is_vin(text: str) -> bool:
    """Whether the check digit of a North American vehicle number is valid."""
    total = sum(
        weight * (int(char) if char.isdigit() else _VIN_VALUES[char])
        for char, weight in zip(text, _WEIGHTS, strict=True)
    )
    return text[8] == "0123456789x"[total % 11]


def _value(match: re.Match[str], kind: Kind) -> Entity:
    key = "".join(char for char in match["value"] if char.isalnum())
    return Entity(match.start("value"), match.end("value"), kind, key)
