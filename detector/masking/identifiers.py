"""Recognises identifiers of devices and online accounts (MAC, IMEI, API keys, wallets, handles, profiles) and
numbers that contain letters or have a checksum (IBAN, IP addresses, national and passport numbers); and
values by the words before them: dates of birth, secrets, accounts, plates, vehicle numbers.

What has a checksum or a fixed shape needs no cue; a handle needs a platform or a word such as "my" before it,
so that a company's own handle in an agent's turn stays. A word without digits is a secret only after a colon
or "is", so that "my password is wrong" and "change my password" stay unmasked. English, German, Spanish,
French and Russian cues.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import NUMBER_WORD, cue_before, cue_requested
from dialint.detector.masking.digit_runs import PATTERNS as SPELLED_NUMBERS
from dialint.detector.masking.lexicon import NOT_NAMES, patterns, word_list
from dialint.detector.masking.spans import Entity, Kind, View

PATTERNS = patterns("identifiers")

_MAC = re.compile(
    r"(?<![\w:-])(?=[\d:.-]{0,16}[a-f])(?:[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2})(?![\w:-])"
)
_API_KEY = re.compile(
    r"(?<![\w-])(?:[srpa]k[-_](?:live|test|proj|ant|or|svcacct)?[-_]?[\w-]{16,200}|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}|"
    r"gh[pousr]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,64}|xox[abeoprs]-[\w-]{10,250}|"
    r"AIza[\w-]{30,45}|hf_\w{20,64}|npm_\w{30,64}|SG\.[\w-]{16,64}\.[\w-]{16,128}|ya29\.[\w-]{20,300}|"
    r"eyJ[\w-]{8,4000}\.[\w-]{2,4000}(?:\.[\w-]{2,4000})?)(?![\w-])"
)
"""Of OpenAI, Anthropic, Stripe, Amazon, GitHub, GitLab, Slack, Google, Hugging Face, npm, SendGrid; JSON Web
Tokens."""
_WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-fA-F]{40}|(?:bc1|BC1)[ac-hj-np-zAC-HJ-NP-Z02-9]{11,71}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})(?!\w)"
)


def find_online_ids(view: View, before: str) -> Iterator[Entity]:
    """MAC addresses, device numbers, API keys, wallets, handles and profile links in `view`."""
    from stdnum import bitcoin

    low = view.low
    for match in _API_KEY.finditer(view.text):
        if any(char.isdigit() for char in match[0]):
            yield Entity(match.start(), match.end(), "SECRET", match[0])
    for match in _WALLET.finditer(view.text):
        if match[0][0] not in "13" or bitcoin.is_valid(match[0]):
            yield Entity(match.start(), match.end(), "ACCOUNT", match[0])
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(low):
            group = "value" if "value" in pattern.groupindex else 0
            value = match[group].lstrip("@")
            if value not in word_list("no_handles"):
                yield Entity(*match.span(group), kind, value.translate(_SEPARATORS))


_PATTERNS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_MAC, "DEVICE"),
    (PATTERNS.imei, "DEVICE"),
    (PATTERNS.cued_key, "SECRET"),
    (PATTERNS.profile, "ACCOUNT"),
    (PATTERNS.handle, "ACCOUNT"),
    (PATTERNS.own_handle, "ACCOUNT"),
)
_SEPARATORS = {ord(char): None for char in " :-"}


_IBAN = re.compile(
    r"(?<![\w])[a-z]{2}[ -]?\d{2}(?:[ .-]{0,2}[a-z0-9]){11,30}(?![^\W_])|"
    r"(?<!\w)[a-z](?: [a-z0-9]){14,33}(?!\w)"
)
_IP4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IP4_HIDDEN = re.compile(
    r"(?<![\w.])\d{1,3}(?:(?:\.|\s?[\[(]\s?(?:\.|dot)\s?[\])]\s?|\sdot\s)\d{1,3}){3}(?!\w|\.\d)"
)
_IP6 = re.compile(r"(?<![\w:])[0-9a-f:]{3,45}(?![\w:])")
_NINO = re.compile(
    r"(?<!\w)[a-ceghj-tw-z][a-ceghj-np-tw-z](?:[ -]?\d\d){3}[ -]?[a-d](?!\w)"
    r"|(?<!\w)[a-z] [a-z](?: \d){6} [a-d](?!\w)"
)
_SHAPED = re.compile(
    r"(?<!\w)(?:(?P<cpf>\d{3}\.\d{3}\.\d{3}-\d\d)|(?P<snils>\d{3}-\d{3}-\d{3}[ -]\d\d)|"
    r"(?P<dni>[xyz]?-?\d{7,8}[ -]?[a-z])|(?P<fiscal>[a-z]{6}\d\d[a-z]\d\d[a-z]\d{3}[a-z]))(?!\w)"
)
_PAN = re.compile(r"(?<!\w)[a-z]{5}\d{4}[a-z](?!\w)")
_HAS_DIGIT = re.compile(r"\d")
_ANSWER = re.compile(r"(?<!\w)[a-z]{0,2}\d{6,9}[a-z]?(?!\w)")


def find_numbers(view: View, before: str) -> Iterator[Entity]:
    """IBANs, IP addresses, national and passport numbers in `view`."""
    if not _HAS_DIGIT.search(view.low):
        return
    yield from _ibans(view)
    yield from _addresses(view)
    yield from _nationals(view)
    for match in _PAN.finditer(view.low):
        cue = PATTERNS.pan_cue.search(view.low, max(0, match.start() - 40), match.start())
        if cue or PATTERNS.pan_request.search(before[-120:]):
            yield _compact(match, 0, "SSN")
    yield from _cued_entities(view, before)


def _ibans(view: View) -> Iterator[Entity]:
    for match in _IBAN.finditer(view.low):
        end = _iban_end(match[0])
        if end is None and PATTERNS.iban_cue.search(view.low, max(0, match.start() - 40), match.start()):
            digit_ends = [i + 1 for i, char in enumerate(match[0]) if char.isdigit()]
            end = digit_ends[-1] if digit_ends else None
        if end:
            key = re.sub(r"[^a-z0-9]", "", match[0][:end])
            yield Entity(match.start(), match.start() + end, "IBAN", key)


def _iban_end(text: str) -> int | None:
    """The length of a valid IBAN at the start of `text`, if any."""
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
            is_version = PATTERNS.version.search(view.low, max(0, match.start() - 24), match.start())
            if all(int(part) < 256 for part in parts) and not is_version:
                yield Entity(*match.span(), "IP", ".".join(parts))
    for match in _IP6.finditer(view.low) if view.low.count(":") > 1 else ():
        if match[0].count(":") > 1 and _is_ip6(match[0]):
            yield Entity(*match.span(), "IP", match[0])


def _is_ip6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text) != ipaddress.IPv6Address("::")
    except ValueError:
        return False


def _nationals(view: View) -> Iterator[Entity]:
    from stdnum.es import dni, nie
    from stdnum.it import codicefiscale

    for match in (*_NINO.finditer(view.low), *_SHAPED.finditer(view.low)):
        is_valid = True
        if match.lastgroup == "dni":
            is_valid = dni.is_valid(match[0]) or nie.is_valid(match[0])
        elif match.lastgroup == "fiscal":
            is_valid = codicefiscale.is_valid(match[0])
        if is_valid and cue_before(view, match.start()) != ("keep", True):
            yield _compact(match, 0, "SSN")


def _cued_entities(view: View, before: str) -> Iterator[Entity]:
    for match in PATTERNS.russian_passport.finditer(view.low):
        yield _compact(match, "value", "ID")
    for match in PATTERNS.numbered.finditer(view.low):
        value = re.sub(r"[^a-z0-9]", "", match["value"])
        if PATTERNS.cue_words.search(match["filler"]):
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
    return Entity(*match.span(group), kind, re.sub(r"\W", "", match[group]))


CUED = patterns("cued_values", number_word=NUMBER_WORD)

_RUSSIAN_PLATE = re.compile(
    r"(?<!\w)[авекмнорстухabekmhopctyx] ?\d{3} ?[авекмнорстухabekmhopctyx]{2} ?\d{2,3}(?!\w)"
)
_VIN = re.compile(r"(?<!\w)[a-hj-npr-z\d]{17}(?!\w)")
_NO_SECRETS = NOT_NAMES | word_list("no_secrets")
_REQUESTS: tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...] = (
    ("SECRET", CUED.secret_request, CUED.secret_answer),
    ("BIRTH", CUED.birth_request, CUED.birth_answer),
    ("ACCOUNT", CUED.account_request, CUED.account_answer),
)
"""The kind, the request in the turn before, and the form of a turn that is only the answer."""
_SEARCHES: tuple[tuple[Kind, frozenset[str], tuple[re.Pattern[str], ...]], ...] = (
    ("BIRTH", word_list("birth_parts"), (CUED.birth, CUED.birth_after)),
    ("SECRET", word_list("code_parts"), (CUED.code, CUED.code_before)),
    ("SECRET", word_list("expiry_parts"), (CUED.expiry,)),
    ("PLATE", word_list("plate_parts"), (CUED.plate,)),
    ("ACCOUNT", word_list("account_parts"), (CUED.account,)),
)
"""The kind, word parts of which one must be in the text (a cheap test before the search), and the
patterns."""


def find_cued_values(view: View, before: str) -> Iterator[Entity]:
    """Dates of birth, secrets, accounts, plates and vehicle numbers in `view`; `before`, the turn before, may
    request one."""
    low = view.low
    if any(part in low for part in word_list("password_parts")):
        for match in CUED.password.finditer(low):
            if result := _secret(view, match):
                yield result
        for match in CUED.password_far.finditer(low):
            yield Entity(match.start("value"), match.end("value"), "SECRET", match["value"].rstrip(".!?:"))
    if not _HAS_DIGIT.search(low) and not SPELLED_NUMBERS.spelled_number.search(low):
        return
    for match in _VIN.finditer(low):
        digits = sum(char.isdigit() for char in match[0])
        cued = CUED.vin_cue.search(low, max(0, match.start() - 48), match.start())
        if 3 <= digits < 17 and (cued or _is_vin(match[0])):
            yield Entity(*match.span(), "VIN", match[0])
    for match in _RUSSIAN_PLATE.finditer(low):
        if view.text[match.start() : match.end()].isupper():
            yield _compact(match, 0, "PLATE")
    for kind, parts, forms in _SEARCHES:
        if any(part in low for part in parts):
            matches = (match for pattern in forms for match in pattern.finditer(low))
            yield from (_compact(match, "value", kind) for match in matches if _holds(view, match, kind))
    for kind, request, answer_form in _REQUESTS:
        if (answer := answer_form.match(low)) and request.search(before, max(0, len(before) - 120)):
            yield _compact(answer, "value", kind)


def _secret(view: View, match: re.Match[str]) -> Entity | None:
    """The value after a word for a password, if it looks like one or the text says that it is one."""
    value = match["value"].rstrip(".!?:")
    written = view.text[match.start("value") : match.start("value") + len(value)]
    odd = any(not char.isalpha() for char in value) or written[1:] != written[1:].lower()
    if len(value) < 3 or written[:1] in "[{<" or "'" in value:
        return None
    if not (odd and any(char.isalnum() for char in value)):
        closed = match["value"] != value or not view.low[match.end() :].lstrip(" ")[:1].isalnum()
        if not CUED.states.search(match["link"]) or not closed or value in _NO_SECRETS:
            return None
        if value.endswith(("ed", "ing", "ly")):
            return None
    return Entity(match.start("value"), match.start("value") + len(value), "SECRET", value)


def _holds(view: View, match: re.Match[str], kind: Kind) -> bool:
    if kind == "PLATE":
        value = view.text[match.start("value") : match.end("value")]
        digits = sum(char.isdigit() for char in value)
        return 4 < len(value) < 12 and 2 <= digits < len(value) and value == value.upper()
    return kind != "ACCOUNT" or not CUED.money_after.match(view.low, match.end())


_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_VALUES = dict(
    zip("abcdefghjklmnprstuvwxyz", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)


def _is_vin(text: str) -> bool:
    """Validates the check digit of a North American vehicle number."""
    total = sum(
        weight * (int(char) if char.isdigit() else _VIN_VALUES[char])
        for char, weight in zip(text, _WEIGHTS, strict=True)
    )
    return text[8] == "0123456789x"[total % 11]
