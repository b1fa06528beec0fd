"""Whether a run of digits is a phone number, by its shape alone.

International numbers are checked with libphonenumber, with its looser test: numbers that are possible,
assigned or not. National shapes are rules of our own: trying every country on every number would cost
a millisecond each. Context is judged elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?\(?[2-9]\d\d\)?[ ./-]{1,3}\d{3}[ ./-]{1,3}\d{4}")
_AREA_IN_BRACKETS = re.compile(r"(?:\+?\d{1,3}[ .-]?)?\(\d{2,5}\)[ .-]?\d[\d .-]{4,10}")
_RUSSIAN = re.compile(r"8[ -]?\(?[3489]\d\d\)?[ -]?\d{3}[ -]\d\d[ -]?\d\d")
_EIGHT_FREE = re.compile(r"1?[ -]?(?:800|888|877|866|855|844|833)[ .-]\d{3}[ .-]?\d{4}")
_TRUNK = re.compile(r"\(?0\d{1,4}\)?(?:[ ./-]{1,3}\d{2,8}){1,5}")
_MOBILE = re.compile(r"07\d{9}|01[567]\d{8,9}|0[67]\d{8}|04\d{8}|8?9\d{9}(?<=^8\d{10})")
_SINGLE = re.compile(r"\d(?:[ .\-*_•·~/]{1,3}\d){6,14}")
_COUNTING = "0123456789101112131415"


def looks_like_phone(run: str, digits: str) -> bool:
    """Whether `run` is written as nothing but a phone number is, so that no word need say so."""
    if run.startswith("+"):
        return 8 <= len(digits) <= 15 and _is_international(digits)
    if digits.startswith("00") and len(digits) <= 17:
        return len(digits) >= 11 and _is_international(digits[2:])
    if not 7 <= len(digits) <= 13:
        return False
    if any(form.fullmatch(run) for form in (_AMERICAN, _AREA_IN_BRACKETS, _RUSSIAN, _EIGHT_FREE)):
        return True
    if _SINGLE.fullmatch(run):
        return digits not in _COUNTING
    if run == digits:
        return _MOBILE.fullmatch(run) is not None
    return 9 <= len(digits) <= 12 and _TRUNK.fullmatch(run) is not None


@lru_cache(maxsize=4096)
def _is_international(digits: str) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))
