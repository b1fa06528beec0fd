"""Numbers that contain letters or have a checksum: IBAN, IP address, national and passport numbers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from dialint.detector.masking.cue_words import cue_before, cue_requested
from dialint.detector.masking.spans import Entity, Kind, View

_IBAN = re.compile(
    r"(?<![\w])[a-z]{2}[ -]?\d{2}(?:[ .-]{0,2}[a-z0-9]){11,30}(?![^\W_])|"
    r"(?<!\w)[a-z](?: [a-z0-9]){14,33}(?!\w)"
)
_IBAN_CUE = re.compile(r"\biban\b[^\n]{0,30}$")
_IP4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IP4_HIDDEN = re.compile(
    r"(?<![\w.])\d{1,3}(?:(?:\.|\s?[\[(]\s?(?:\.|dot)\s?[\])]\s?|\sdot\s)\d{1,3}){3}(?!\w|\.\d)"
)
_IP6 = re.compile(r"(?<![\w:])[0-9a-f:]{3,45}(?![\w:])")
_VERSION = re.compile(
    r"(?:\bv|version|build|firmware|release|driver|chapter|section|update|ios|app|更新完?|版本|バージョン|버전)[\s:]{0,3}(?:is|was|to|"
    r"number)?\s?$"
)
_NINO = re.compile(
    r"(?<!\w)[a-ceghj-tw-z][a-ceghj-np-tw-z](?:[ -]?\d\d){3}[ -]?[a-d](?!\w)"
    r"|(?<!\w)[a-z] [a-z](?: \d){6} [a-d](?!\w)"
)
_SHAPED = re.compile(
    r"(?<!\w)(?:(?P<cpf>\d{3}\.\d{3}\.\d{3}-\d\d)|(?P<snils>\d{3}-\d{3}-\d{3}[ -]\d\d)|"
    r"(?P<dni>[xyz]?-?\d{7,8}[ -]?[a-z])|(?P<fiscal>[a-z]{6}\d\d[a-z]\d\d[a-z]\d{3}[a-z]))(?!\w)"
)
_NUMBERED = re.compile(
    r"\b(?:(?P<ssn>ssn|social security|social insurance|national insurance|ni number|nino|nif|dni|nie|"
    r"pesel|tax id|"
    r"itin|taxpayer id|aadhaar|aadhar|cpf|codice fiscale|steuer-?id|steuernummer|steueridentifikationsnummer|"
    r"(?:sozial|renten|kranken)versicherungsnummer|sv-?nummer|svnr|ahv|seguridad social|nss|rfc|cuit|"
    r"cuil|rut|ruc|"
    r"sécurité sociale|sécu|numéro fiscal|nir|ein|nhs number|medicare|снилс|инн|огрн|омс)|"
    r"(?P<id>passports?|pasaporte|reisepass|passeport|паспорт\w*|(?:driver'?s?'?|driving) licen[cs]e|"
    r"licen[cs]e|identity card|id card|national id|personalausweis|ausweis|"
    r"führerschein|carte d'identité|permis de conduire|carnet de conducir|curp|водительск\w+|полис\w*|"
    r"загранпаспорт\w*|удостоверени\w+|свидетельств\w+|военный билет|"
    r"в/у|стс|птс|c[eé]dula(?: de identidad)?|carnet|licencia|carte vitale|titre de séjour|cni|"
    r"(?:reisepass|ausweis|führerschein|versicherten|personalausweis)nummer|visa number|green card|"
    r"resident card))\b"
    r"(?P<filler>[^\d\n!?\ue000]{1,40}?)(?<![^\W_])"
    r"(?P<value>(?!(?:is|no|nr|it|to|on|in|my|of|at|es|by|as|or|so|an|a|i|n)\b)"
    r"(?:[a-z]{1,5}|[a-z]{1,2}[ -])?\d[a-z0-9]{0,19}"
    r"(?:[ .-](?:[a-z]{0,2}\d[a-z0-9]*|[a-z](?![\w']))){0,9})(?!\w)"
)
_RUSSIAN_PASSPORT = re.compile(
    r"(?<!\w)(?:серия|серии|серию|паспорт\w{0,3})[\s:]{1,3}(?P<value>\d\d ?\d\d[\s,]{1,3}(?:(?:номер|№|"
    r"n)[\s:]{0,2})?\d{6})(?!\w)"
)
_CUE_WORDS = re.compile(
    r"\b(?:order|ticket|case|invoice|tracking|phone|call|flight|booking|reference|ref|code)\b"
)
_PAN = re.compile(r"(?<!\w)[a-z]{5}\d{4}[a-z](?!\w)")
_PAN_CUE = re.compile(r"\bpan(?:\s(?:card|number|no\.?|id|is|of mine)){0,3}[\s:#=-]{0,3}$")
_PAN_REQUEST = re.compile(r"\bpan\b")
"""India's number of a taxpayer."""
HAS_DIGIT = re.compile(r"\d")
_ANSWER = re.compile(r"(?<!\w)[a-z]{0,2}\d{6,9}[a-z]?(?!\w)")


def find(view: View, before: str) -> Iterator[Entity]:
    """IBANs, IP addresses, national and passport numbers in `view`."""
    if not HAS_DIGIT.search(view.low):
        return
    yield from _ibans(view)
    yield from _addresses(view)
    yield from _nationals(view)
    for match in _PAN.finditer(view.low):
        start = max(0, match.start() - 40)
        if _PAN_CUE.search(view.low, start, match.start()) or _PAN_REQUEST.search(before[-120:]):
            yield _compact(match, 0, "SSN")
    yield from _cued_entities(view, before)


def _ibans(view: View) -> Iterator[Entity]:
    for match in _IBAN.finditer(view.low):
        end = _iban_end(match[0])
        if end is None and _IBAN_CUE.search(view.low, max(0, match.start() - 40), match.start()):
            digit_ends = [i + 1 for i, char in enumerate(match[0]) if char.isdigit()]
            end = digit_ends[-1] if digit_ends else None
        if end:
            key = re.sub(r"[^a-z0-9]", "", match[0][:end])
            yield Entity(match.start(), match.start() + end, "IBAN", key)


def _iban_end(text: str) -> int | None:
    """How many characters at the head of `text` are a valid IBAN, if any."""
    from stdnum import iban

    positions = [index for index, char in enumerate(text) if char.isalnum()]
    compact = "".join(text[index] for index in positions)
    for length in range(len(compact), 14, -1):
        if iban.is_valid(compact[:length], check_country=False):
            return positions[length - 1] + 1
    return None


def _addresses(view: View) -> Iterator[Entity]:
    for form in (_IP4, _IP4_HIDDEN):
        for match in form.finditer(view.low):
            parts = re.findall(r"\d+", match[0])
            is_version = _VERSION.search(view.low, max(0, match.start() - 24), match.start())
            if all(int(part) < 256 for part in parts) and not is_version:
                yield Entity(match.start(), match.end(), "IP", ".".join(parts))
    if view.low.count(":") < 2:
        return
    for match in _IP6.finditer(view.low):
        if match[0].count(":") > 1 and _is_ip6(match[0]):
            yield Entity(match.start(), match.end(), "IP", match[0])


def _is_ip6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text) != ipaddress.IPv6Address("::")
    except ValueError:
        return False


def _nationals(view: View) -> Iterator[Entity]:
    for match in _NINO.finditer(view.low):
        cue, adjacent = cue_before(view, match.start())
        if not (cue == "keep" and adjacent):
            yield _compact(match, 0, "SSN")
    for match in _SHAPED.finditer(view.low):
        cue, adjacent = cue_before(view, match.start())
        if not (cue == "keep" and adjacent) and _is_valid(str(match.lastgroup), match[0]):
            yield _compact(match, 0, "SSN")


def _is_valid(name: str, text: str) -> bool:
    from stdnum.es import dni, nie
    from stdnum.it import codicefiscale

    if name == "dni":
        return bool(dni.is_valid(text) or nie.is_valid(text))
    return bool(codicefiscale.is_valid(text)) if name == "fiscal" else True


def _cued_entities(view: View, before: str) -> Iterator[Entity]:
    for match in _RUSSIAN_PASSPORT.finditer(view.low):
        yield _compact(match, "value", "ID")
    for match in _NUMBERED.finditer(view.low):
        value = re.sub(r"[^a-z0-9]", "", match["value"])
        if _CUE_WORDS.search(match["filler"]):
            continue
        n_digits = sum(char.isdigit() for char in value)
        if 6 <= len(value) <= 18 and (n_digits >= 5 or (n_digits >= 3 and len(value) >= 8)):
            yield _compact(match, "value", "SSN" if match["ssn"] else "ID")
    requested = cue_requested(before)
    if requested not in ("ssn", "id"):
        return
    answer = _ANSWER.search(view.low, 0, 60)
    if answer and cue_before(view, answer.start())[0] is None:
        yield _compact(answer, 0, "SSN" if requested == "ssn" else "ID")


def _compact(match: re.Match[str], group: int | str, kind: Kind) -> Entity:
    return Entity(match.start(group), match.end(group), kind, re.sub(r"\W", "", match[group]))
