"""Recognises identifiers of devices and online accounts (MAC, IMEI, API keys, wallets, handles, profiles) and
numbers that contain letters or have a checksum (IBAN, IP addresses, national and passport numbers).

What has a checksum or a fixed shape needs no cue; a handle needs a platform or a word such as "my" before it,
so that a company's own handle in an agent's turn stays.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import cue_before, cue_requested
from dialint.detector.masking.spans import Entity, Kind, View, words

_MAC = re.compile(
    r"(?<![\w:-])(?=[\d:.-]{0,16}[a-f])(?:[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2})(?![\w:-])"
)
_IMEI = re.compile(
    r"(?<!\w)(?:imei|meid|esn|iccid|imsi|eid)(?!\w)[^\d\n]{0,24}(?P<value>\d(?:[ -]?\d){13,31})(?![\w-])"
)
_API_KEY = re.compile(
    r"(?<![\w-])(?:[srpa]k[-_](?:live|test|proj|ant|or|svcacct)?[-_]?[\w-]{16,200}|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}|"
    r"gh[pousr]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,64}|xox[abeoprs]-[\w-]{10,250}|"
    r"AIza[\w-]{30,45}|hf_\w{20,64}|npm_\w{30,64}|SG\.[\w-]{16,64}\.[\w-]{16,128}|ya29\.[\w-]{20,300}|"
    r"eyJ[\w-]{8,4000}\.[\w-]{2,4000}(?:\.[\w-]{2,4000})?)(?![\w-])"
)
"""Of OpenAI, Anthropic, Stripe, Amazon, GitHub, GitLab, Slack, Google, Hugging Face, npm, SendGrid; JSON Web
Tokens."""
_CUED_KEY = re.compile(
    r"(?<!\w)(?:(?:api|access|secret|private|licen[cs]e|client|auth|bearer)[ _-]?(?:key|token|secret)|bearer|"
    r"api-?(?:schlüssel|ключ)|clave (?:de )?api|clé (?:d')?api|ключ api)(?!\w)[^\w\n]{0,4}"
    r"(?:(?:is|ist|es|est|это)[^\w\n]{1,3})?"
    r"(?P<value>(?=[\w.~+/-]{0,63}\d)(?=[\w.~+/-]{0,63}[a-z])[\w.~+/-]{16,400}=*)"
)
_WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-fA-F]{40}|(?:bc1|BC1)[ac-hj-np-zAC-HJ-NP-Z02-9]{11,71}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})(?!\w)"
)
_PLATFORM = (
    r"insta(?:gram)?|ig|twitter|tik ?tok|telegram|tg|snap(?:chat)?|facebook|fb|discord|skype|wechat|line id|"
    r"linkedin|github|reddit|mastodon|bluesky|threads|youtube|paypal|venmo|cash ?app|steam|twitch|"
    r"user ?name|login|nick(?:name)?|handle|benutzername|usuario|identifiant|"
    r"pseudo|логин|ник|инстаграм|телеграм"
)
_HANDLE = re.compile(
    rf"(?<!\w)(?:{_PLATFORM})(?!\w)"
    r"(?:[\s:=,(\"'-]|is|as|ist|es|est|это|name|id|account|handle|profile|under|my|me|at){0,8}?"
    r"(?P<value>@[a-z0-9_](?:[\w.-]{1,38}\w)?|(?:live:)?[a-z0-9_][\w.-]{1,30}#\d{4}|live:[\w.-]{2,40}\w|"
    r"(?<=[\s:=(\"'])(?=[\w.-]{0,30}(?:[\d_]|\.\w))[a-z][\w.-]{4,30}\w)(?![\w@])"
)
_OWN_HANDLE = re.compile(
    r"(?<!\w)(?:i'm|i am|my \w{2,12}(?: is)?|(?:dm|add|find|follow|message) me(?: at)?|me at|yo soy|ich bin|"
    r"je suis|я)[\s:,]{1,2}(?P<value>@[a-z0-9_](?:[\w.]{0,38}\w)?)(?![\w@])"
)
_PROFILE = re.compile(
    r"(?<![\w.])(?:https?://)?(?:www\.|m\.)?(?:t\.me|instagram\.com|twitter\.com|x\.com|facebook\.com|fb\.com|"
    r"tiktok\.com|snapchat\.com/add|linkedin\.com/in|github\.com|wa\.me|vk\.com|paypal\.me|cash\.app)/"
    r"(?P<value>[@$+]?[\w.-]{3,60}\w)(?!\w)"
)
_NO_HANDLES = words(
    "support help share sharer login privacy terms about watch reel explore hashtag intent search settings"
)


def find_online_ids(view: View, before: str) -> Iterator[Entity]:
    """MAC addresses, device numbers, API keys, wallets, handles and profile links in `view`."""
    low = view.low
    for match in _API_KEY.finditer(view.text):
        if any(char.isdigit() for char in match[0]):
            yield Entity(match.start(), match.end(), "SECRET", match[0])
    for match in _WALLET.finditer(view.text):
        if match[0][0] not in "13" or _is_bitcoin(match[0]):
            yield Entity(match.start(), match.end(), "ACCOUNT", match[0])
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(low):
            group = "value" if "value" in pattern.groupindex else 0
            if match[group].lstrip("@") not in _NO_HANDLES:
                yield Entity(
                    match.start(group),
                    match.end(group),
                    kind,
                    match[group].lstrip("@").translate(_SEPARATORS),
                )


_PATTERNS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_MAC, "DEVICE"),
    (_IMEI, "DEVICE"),
    (_CUED_KEY, "SECRET"),
    (_PROFILE, "ACCOUNT"),
    (_HANDLE, "ACCOUNT"),
    (_OWN_HANDLE, "ACCOUNT"),
)
_SEPARATORS = {ord(char): None for char in " :-"}


def _is_bitcoin(text: str) -> bool:
    from stdnum import bitcoin

    return bool(bitcoin.is_valid(text))


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
    r"\b(?:(?P<ssn>ssn|social security|social insurance|national insurance|ni number|nino|nif|dni|nie|pesel|"
    r"tax id|itin|taxpayer id|aadhaar|aadhar|cpf|codice fiscale|steuer-?id|steuernummer|"
    r"steueridentifikationsnummer|(?:sozial|renten|kranken)versicherungsnummer|sv-?nummer|svnr|ahv|"
    r"seguridad social|nss|rfc|cuit|cuil|rut|ruc|sécurité sociale|sécu|numéro fiscal|nir|ein|nhs number|"
    r"medicare|снилс|инн|огрн|омс)|(?P<id>passports?|pasaporte|reisepass|passeport|паспорт\w*|"
    r"(?:driver'?s?'?|driving) licen[cs]e|licen[cs]e|identity card|id card|national id|personalausweis|"
    r"ausweis|führerschein|carte d'identité|permis de conduire|carnet de conducir|curp|водительск\w+|"
    r"полис\w*|загранпаспорт\w*|удостоверени\w+|свидетельств\w+|военный билет|в/у|стс|птс|"
    r"c[eé]dula(?: de identidad)?|carnet|licencia|carte vitale|titre de séjour|cni|(?:reisepass|ausweis|"
    r"führerschein|versicherten|personalausweis)nummer|visa number|green card|"
    r"resident card))\b(?P<filler>[^\d\n!?\ue000]{1,40}?)(?<![^\W_])(?P<value>(?!(?:is|no|nr|it|to|on|in|my|"
    r"of|at|es|by|as|or|so|an|a|i|n)\b)(?:[a-z]{1,5}|[a-z]{1,2}[ -])?\d[a-z0-9]{0,19}(?:[ "
    r".-](?:[a-z]{0,2}\d[a-z0-9]*|[a-z](?![\w']))){0,9})(?!\w)"
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


def find_numbers(view: View, before: str) -> Iterator[Entity]:
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
