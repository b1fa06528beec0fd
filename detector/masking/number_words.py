"""Numbers read aloud: "five five five, double one, oh nine" as digits, in English, Spanish, Russian."""

from __future__ import annotations

import re

_DIGITS = {
    "zero": "0", "oh": "0", "o": "0", "nought": "0", "one": "1", "two": "2", "three": "3", "four": "4",
    "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "niner": "9",
    "cero": "0", "uno": "1", "dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7",
    "ocho": "8", "nueve": "9",
    "ноль": "0", "нуль": "0", "один": "1", "два": "2", "три": "3", "четыре": "4", "пять": "5", "шесть": "6",
    "семь": "7", "восемь": "8", "девять": "9",
}  # fmt: skip
_TENS = {
    "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "00", "thousand": "000",
    "десять": "10", "двадцать": "20", "тридцать": "30", "сорок": "40", "пятьдесят": "50", "шестьдесят": "60",
    "семьдесят": "70", "восемьдесят": "80", "девяносто": "90", "сто": "100", "двести": "200", "триста": "300",
    "четыреста": "400", "пятьсот": "500", "шестьсот": "600", "семьсот": "700", "восемьсот": "800",
    "девятьсот": "900", "одиннадцать": "11", "двенадцать": "12", "тринадцать": "13", "четырнадцать": "14",
    "пятнадцать": "15", "шестнадцать": "16", "семнадцать": "17", "восемнадцать": "18", "девятнадцать": "19",
}  # fmt: skip
_VALUES = _DIGITS | _TENS
_TIMES = {"double": 2, "triple": 3, "doble": 2, "дважды": 2}

_WORD = "|".join(sorted((*_VALUES, *_TIMES), key=len, reverse=True))
SPELLED_RUN = re.compile(
    rf"(?<![\w])(?:plus\s)?\(?(?:{_WORD})(?:[\s,.()-]{{1,3}}(?:{_WORD}|\d{{1,4}})){{3,24}}(?!\w)"
    rf"|(?<![\w.,$€£])\+?\d{{1,4}}(?:[\s,.()-]{{1,3}}\d{{1,4}}){{0,4}}[\s,.()-]{{1,3}}(?:{_WORD})"
    rf"(?:[\s,.()-]{{1,3}}(?:{_WORD}|\d{{1,4}})){{2,24}}(?!\w)"
)
"""Four or more numbers in a row, words among them. `digits_of` says how many digits that makes."""


def digits_of(run: str) -> str:
    """The digits a lower-case run of number words stands for: "double five twenty one" is "5521".

    Hundreds swallow the tens after them and tens the ones, as people read phone numbers.
    """
    digits: list[str] = []
    times = 1
    for word in re.findall(r"\w+", run):
        if word in _TIMES or word == "plus":
            times = _TIMES.get(word, 1)
            continue
        value = _VALUES.get(word, word)
        room = 0 if not digits or times > 1 or word.isdigit() else _zeros_to_fill(digits[-1], value)
        if room:
            digits[-1] = digits[-1][:-room] + value
        else:
            digits.append(value * times)
        times = 1
    return "".join(digits)


def _zeros_to_fill(last: str, value: str) -> int:
    """How many closing zeros of `last` ("20", "900") the smaller number `value` takes the place of."""
    if len(last) < 2 or len(value) >= len(last) or value == "0" or not last.endswith("0" * len(value)):
        return 0
    return len(value) if last in _TENS.values() or len(last) == 3 else 0
