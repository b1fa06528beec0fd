"""Classifies a number by the words around it: a phone, a card, an order number that is not masked.

A number is classified by the nearest cue before it, else by one right after it, else, at the beginning of a
turn, by the request of the turn before.
"""

from __future__ import annotations

import re
from typing import Literal

from dialint.detector.masking.spans import View

Cue = Literal["keep", "phone", "card", "ssn", "id"]
"""`keep`: an order, a ticket, a price: not personal."""

_BY_GROUP: dict[str, Cue] = {
    "phone": "phone",
    "unspaced_phone": "phone",
    "card": "card",
    "ssn": "ssn",
    "id": "id",
}

WINDOW = 64

_KEEP = (
    r"orders?|tickets?|cases?|track(?:ing)?|parcels?|shipments?|package|consignment|waybill|awb|invoices?|"
    r"receipt|"
    r"bookings?|reservations?|confirmation|references?|ref|pnr|serial|sku|items?|models?|parts?|products?|"
    r"article|"
    r"flights?|trains?|buses|rma|return|returns|transactions?|txn|voucher|coupon|promo|code|pin|otp|po|"
    r"purchase|"
    r"trace|span|run|session|hash|commit|version|firmware|build|batch|lot|isbn|ean|upc|barcode|asin|quote|claim|policy|contract|account|acct|"
    r"customer|"
    r"member(?:ship)?|loyalty|subscription|user|meter|imei|error|incident|chat|job|request|id|gift card|"
    r"pedido|pedidos|factura|reserva|seguimiento|envío|envio|referencia|bestellung|bestellnummer|rechnung|"
    r"sendungsnummer|commande|facture|suivi|заказа?|заказы|трек|трек-номер|накладн\w+|бронировани\w+|"
    r"брони|бронь|"
    r"артикул|счёт|счет|договора?|заявк\w+|обращени\w+"
)
_PHONE = (
    r"phones?|phone number|telephone|tel|tele|call|calls|called|calling|ring|mobile|mob|cell|cellphone|"
    r"whatsapp|sms|"
    r"text|texts|fax|dial|hotline|contact|reach(?:ed|able|ing)?|landline|ph|ph no|phone no|my no|my num|"
    r"callback|call back|handy|viber|signal|telegram|"
    r"(?:my|your|his|her|best|alternative|another|different|new|old|our|their|good|direct|office|home|"
    r"work) number|"
    r"teléfono|telefono|móvil|movil|celular|llámame|llamame|llamar|llámeme|llámenos|mi número|mi numero|"
    r"telefon|"
    r"telefonnummer|handynummer|anrufen|rückruf|numéro|appelez|téléphone|mon portable|"
    r"телефон\w*|тел|звон\w*|позвон\w*|перезвон\w*|мобильн\w*|вотсап|ватсап|мой номер|номер телефона|"
    r"набер\w+|домашн\w+|festnetz|portable(?= ?:| est)|joignable|fixe|cel|contacto|erreichen|erreichbar|"
    r"mobil|rufen|tél"
)
_CARD = (
    r"(?:credit |debit |bank |payment )?cards?(?: number| no)?|cc|visa|mastercard|amex|american express|"
    r"maestro|pan|"
    r"tarjeta|karte|kreditkarte|carte|карт\w*"
)
_SSN = (
    r"ssn|social|social security|social insurance|sin|national insurance|ni number|nino|nif|dni|nie|pesel|"
    r"tax id|tin|"
    r"itin|taxpayer|aadhaar|aadhar|cpf|codice fiscale|steuer-?id\w*|nir|sécurité sociale|seguridad social|"
    r"снилс|инн|nhs|bsn|burgerservicenummer"
)
_ID = r"passports?|pasaporte|reisepass|passeport|паспорт\w*|licen[cs]e|permit|identity card|id card|ausweis"

_CUES = re.compile(
    rf"(?<![^\W_])(?:(?P<phone>{_PHONE})|(?P<card>{_CARD})|(?P<ssn>{_SSN})|(?P<id>{_ID})|"
    rf"(?P<keep>{_KEEP}))(?![^\W\d_])"
    r"|(?P<hash>[#№$€£¥₽])|(?P<unspaced_phone>电话|電話|手机|手機|携帯|联系方式|号码是|번호|전화|휴대폰|โทร|هاتف|رقمي|جوال|טלפון|फोन|मोबाइल)"
)
_FOREIGN = re.compile(r"\d{3}|[{}\[\]]")
_FILLER = re.compile(
    r"(?:\W++|(?<!\w)(?=\w*\d)\w++|(?<!\w)(?:number|numbers|no|nr|num|n|id|code|codes|ref|reference|is|"
    r"was|are|were|it's|"
    r"its|it|the|my|your|our|"
    r"of|for|with|by|and|or|a|this|that|here|has|reads|says|ending|starting|called|s|número|numero|es|"
    r"номер\w*|мой|ваш|nummer|ist|de|del|y|и)\b|[是为為はがの号码號碼番号]|번호|[는은가이])*+"
)
_LINK = re.compile(
    r"(?:[^\w.!?\n]++|\b(?:number|no|on|for|of|in|the|my|your|this|that|our|associated|with|linked|to|under|"
    r"registered|file|s|"
    r"attached|connected|from)\b)*+"
)
_VERB = re.compile(r"[\s,)-]{0,3}(?:is|was|it's|that's|es|ist|-|это)\b|\s?\((?=\w)")
_SENTENCE_END = re.compile(r"[.!?\n]")
_ENDING = re.compile(r"(?:last|final|first|ending|ends|end|últimos|letzten|последн\w+)\b[^.!?\n]{0,24}$")


def cue_before(view: View, start: int) -> tuple[Cue | None, bool]:
    """The nearest cue in the `WINDOW` characters before `start`, and whether only filler words and other
    numbers are in between. A cue before another number counts only if it is adjacent."""
    cues = list(_CUES.finditer(view.low, max(0, start - WINDOW), start))
    while len(cues) > 1 and _belongs(view, cues[-2], cues[-1]):
        cues.pop()
    if not cues:
        return None, False
    nearest = cues[-1]
    adjacent = _FILLER.fullmatch(view.low, nearest.end(), start) is not None
    if not adjacent and _FOREIGN.search(view.low, nearest.end(), start):
        return None, False
    return _cue_of(nearest), adjacent


def _belongs(view: View, first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether the cue `second` only qualifies `first`, as in "phone #" or "the card on my account"."""
    if _cue_of(first) == "keep" or _cue_of(second) != "keep":
        return False
    return _LINK.fullmatch(view.low, first.end(), second.start()) is not None


def cue_after(view: View, end: int) -> Cue | None:
    """The cue in the words right after a number, as in "... is my mobile"."""
    window = view.low[end : end + 40]
    match = _VERB.match(window)
    if not match:
        return None
    sentence = _SENTENCE_END.split(window[match.end() :], maxsplit=1)[0]
    result = _CUES.search(sentence)
    return _cue_of(result) if result else None


def cue_requested(before: str) -> Cue | None:
    """The kind of number that the turn before requested, by its last cue."""
    cues = list(_CUES.finditer(before, max(0, len(before) - 200)))
    return _cue_of(cues[-1]) if cues else None


def is_ending(view: View, start: int) -> bool:
    """Whether the number at `start` is described as the end of a longer one ("last four digits")."""
    return _ENDING.search(view.low, max(0, start - 40), start) is not None


def _cue_of(match: re.Match[str]) -> Cue:
    return _BY_GROUP.get(str(match.lastgroup), "keep")
