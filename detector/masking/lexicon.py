"""Word lists to recognise names: given names, surnames, titles, and words that are no names after a cue.

The lists are read from ``lexicon.yaml``, all in lower case.
"""

from __future__ import annotations

import re
from pathlib import Path

from dialint.detector.yaml_document import read_document


def words(text: str) -> frozenset[str]:
    """The blank-separated words of `text`."""
    return frozenset(text.split())


_LISTS = {
    name: words(text)
    for name, text in read_document(Path(__file__).with_suffix(".yaml"), "E_WORDS").value.items()
}
_CASES = {"а": "у ы е ой", "я": "ю и е ей", "й": "я ю ем е"}


def _in_cases(name: str) -> set[str]:
    """The inflected forms of a Russian given name, such as "Марию" of "Мария"."""
    stem = name[:-1] if name[-1] in _CASES else name
    return {stem + ending for ending in _CASES.get(name[-1], "а у ом е").split()}


GIVEN_NAMES = _LISTS["given_names"] | {
    form
    for name in _LISTS["given_names"] - {"вера", "надежда", "любовь", "роман", "мир", "март", "лев", "ким"}
    if "а" <= name[0] <= "я" and name[-1] in "абвгдзйклмнпрстфхцчшя"
    for form in _in_cases(name)
}

COMMON_WORDS = _LISTS["common_words"]
"""Names that are common words as well. Alone at the beginning of a sentence they do not count as a
mention."""
NAMES_TOO = _LISTS["names_too"]
"""Words of `NOT_NAMES` that are names after a cue, or as further mentions."""
PARTICLES = _LISTS["particles"]
TITLES = _LISTS["titles"]
NOT_NAMES = _LISTS["not_names"]
"""Words that are no names although they follow a cue for one: common words, roles, brands, cities, months."""
PLACES = _LISTS["places"]
"""Given names that are cities, countries or regions as well."""
THINGS_TOO = COMMON_WORDS | PLACES | _LISTS["things_too"]
"""Given names that, alone and without a cue, are as often something else: words, goods, brands, places."""
SURNAMES = _LISTS["surnames"]
"""Family names; they confirm a name only at a position where one is expected."""

_RUSSIAN_SURNAME = re.compile(
    r"(?!(?:саратов|ростов|псков|тамбов|азов|серпухов|чехов|берлин|пекин|москв|подмосков|сбербанк|"
    r"магазин|один|здоров|готов|"
    r"санкт|пушкин|калинин|ленин|берез|росси|украин|китай|герман|итал|ворон|красн|город|улиц|район|калуг|"
    r"харьков|киев|львов|"
    r"краков|турин|дублин|карантин|витамин|апельсин|кузов|остров|серов|минск|омск|томск|курск|брянск|"
    r"смоленск|иваново|"
    r"бензин|термин|камин|вечерин|половин|новин|машин|картин|цен|перв|нов|улуч|остальн|росс|англ|русск|"
    r"советск|российск|"
    r"английск|немецк|французск|испанск|московск|европейск|турецк|китайск|сочин|украинск|японск|американск))"
    r"[а-яё]{2,18}(?:[оеё]в(?:а|у|ым|ой|ых|ыми)?|[иы]н(?:а|у|ым|ой|ых)?|[сц]к(?:ий|ая|ого|ому|им|ой|ую)|"
    r"(?:ен)ко|чук(?:а|у|ом)?|юк(?:а|у|ом)?|ян(?:а|у|ом)?|дзе|швили)"
)
_PATRONYMIC = re.compile(
    r"[а-яё]{2,14}(?:[ое]вич(?:а|у|ем|е)?|(?:овн|евн|ичн)(?:а|ы|е|у|ой))|"
    r"(?:иль|кузьм|фом|лук|сав|никит)ич(?:а|у|ом|е)?"
)


def is_patronymic(word: str) -> bool:
    """Whether a lower-case word has the form of a Russian patronymic in any grammatical case, such as
    "ильинична"."""
    return word[-1:] in "чауеймы" and _PATRONYMIC.fullmatch(word) is not None


def is_surname(word: str) -> bool:
    """Whether a lower-case word is a listed family name, or has the form of a Russian one in any grammatical
    case."""
    return word in SURNAMES or ("а" <= word[:1] <= "я" and _RUSSIAN_SURNAME.fullmatch(word) is not None)
