"""Whether a run of digits is a phone number, by its shape alone or with a word that says so.

Countries' numbering plans come from libphonenumber; the shapes it refuses (fictional numbers, local
ones without area code) are rules of our own. Context is judged elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

REGIONS = ("GB", "DE", "FR", "IT", "RU", "AU", "NL", "CH", "ZA", "JP", "IN", "BE", "UA", "SE", "AT", "NZ", "IE", "TR")
"""Countries whose national numbers begin with a trunk prefix, which tells them from other numbers."""

_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?\(?[2-9]\d\d\)?[ .-]{1,3}\d{3}[ .-]{1,3}\d{4}")
_AREA_IN_BRACKETS = re.compile(r"(?:\+?\d{1,3}[ .-]?)?\(\d{2,5}\)[ .-]?\d[\d .-]{4,10}")
_RUSSIAN = re.compile(r"8[ -]?\(?[3489]\d\d\)?[ -]?\d{3}[ -]\d\d[ -]?\d\d")
_EIGHT_FREE = re.compile(r"1?[ -]?(?:800|888|877|866|855|844|833)[ .-]\d{3}[ .-]?\d{4}")
_SINGLE = re.compile(r"\d(?:[ .\-*_•·~/]{1,3}\d){6,14}")
_COUNTING = "0123456789101112131415"


def looks_like_phone(run: str, digits: str) -> bool:
    """Whether `run` is written as nothing but a phone number is, so that no word need say so."""
    if run.startswith("+"):
        return 8 <= len(digits) <= 15 and _is_international(digits)
    if not 7 <= len(digits) <= 13:
        return False
    if any(form.fullmatch(run) for form in (_AMERICAN, _AREA_IN_BRACKETS, _RUSSIAN, _EIGHT_FREE)):
        return True
    if _SINGLE.fullmatch(run):
        return digits not in _COUNTING
    if digits.startswith("00"):
        return _is_international(digits[2:])
    solid = run == digits
    return digits.startswith("0") and 9 <= len(digits) <= 12 and _is_national(digits, mobile_only=solid)


def is_phone(run: str, digits: str) -> bool:
    """Whether `run` can be a phone number where a word says that it is one."""
    return 7 <= len(digits) <= 15


@lru_cache(maxsize=4096)
def _is_international(digits: str) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))


@lru_cache(maxsize=4096)
def _is_national(digits: str, *, mobile_only: bool) -> bool:
    import phonenumbers

    for region in REGIONS:
        try:
            number = phonenumbers.parse(digits, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number_for_region(number, region) and (
            not mobile_only or phonenumbers.number_type(number) == phonenumbers.PhoneNumberType.MOBILE
        ):
            return True
    return False
