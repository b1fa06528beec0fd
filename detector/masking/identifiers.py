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
from dialint.detector.masking.lexicon import patterns, word_list
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
            if match[group].lstrip("@") not in word_list("no_handles"):
                yield Entity(
                    match.start(group),
                    match.end(group),
                    kind,
                    match[group].lstrip("@").translate(_SEPARATORS),
                )


_PATTERNS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_MAC, "DEVICE"),
    (PATTERNS.imei, "DEVICE"),
    (PATTERNS.cued_key, "SECRET"),
    (PATTERNS.profile, "ACCOUNT"),
    (PATTERNS.handle, "ACCOUNT"),
    (PATTERNS.own_handle, "ACCOUNT"),
)
_SEPARATORS = {ord(char): None for char in " :-"}


def _is_bitcoin(text: str) -> bool:
    from stdnum import bitcoin

    return bool(bitcoin.is_valid(text))


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
        if PATTERNS.pan_cue.search(view.low, start, match.start()) or PATTERNS.pan_request.search(
            before[-120:]
        ):
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
            is_version = PATTERNS.version.search(view.low, max(0, match.start() - 24), match.start())
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
    return Entity(match.start(group), match.end(group), kind, re.sub(r"\W", "", match[group]))
