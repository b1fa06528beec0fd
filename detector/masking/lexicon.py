"""Word lists and patterns of masking: lists in `lexicon.yaml`, all in lower case, regular expressions in
`patterns.yaml`; those of names, and the cues of names.

The cues are grouped by how reliable they are, in English, German, Spanish, French and Russian, and a few
phrases of other languages. `mine`: "my name is", where any word may follow. `theirs`: "the name is". `bare`:
a capital must follow. `title`: "Mr". `related`: "my sister", where a capital must follow. `person`: "speaking
with". `weak`: "this is". `greeting`: "hello". `assent`: "okay, ..." before a well-known name. `field`:
"name:" in a form. `party`: "recipient:".
"""

from __future__ import annotations

from functools import cache

from dialint.detector.yaml_document import Patterns, read_packaged

PATTERN_FILE = "masking/patterns.yaml"


def patterns(section: str, **parts: str) -> Patterns:
    """Returns the patterns of a section, with `parts` that are made elsewhere."""
    return Patterns(PATTERN_FILE, section, **parts)


@cache
def _lists() -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in read_packaged("masking/lexicon.yaml").items()}


def word_list(name: str) -> frozenset[str]:
    """Returns a list of words in lower case."""
    return _lists()[name]


CUES = patterns("cues")
_CASES = {"а": "у ы е ой", "я": "ю и е ей", "й": "я ю ем е"}


def _in_cases(name: str) -> set[str]:
    """The inflected forms of a Russian given name, such as "Марию" of "Мария"."""
    stem = name[:-1] if name[-1] in _CASES else name
    return {stem + ending for ending in _CASES.get(name[-1], "а у ом е").split()}


GIVEN_NAMES = word_list("given_names") | {
    form
    for name in word_list("given_names") - {"вера", "надежда", "любовь", "роман", "мир", "март", "лев", "ким"}
    if "а" <= name[0] <= "я" and name[-1] in "абвгдзйклмнпрстфхцчшя"
    for form in _in_cases(name)
}

COMMON_WORDS = word_list("common_words")
"""Names that are common words as well. Alone at the beginning of a sentence they do not count as a
mention."""
NAMES_TOO = word_list("names_too")
"""Words of `NOT_NAMES` that are names after a cue, or as further mentions."""
PARTICLES = word_list("particles")
TITLES = word_list("titles")
NOT_NAMES = word_list("not_names")
"""Words that are no names although they follow a cue for one: common words, roles, brands, cities, months."""
PLACES = word_list("places")
"""Given names that are cities, countries or regions as well."""
THINGS_TOO = COMMON_WORDS | PLACES | word_list("things_too")
"""Given names that, alone and without a cue, are as often something else: words, goods, brands, places."""
SURNAMES = word_list("surnames")
"""Family names; they confirm a name only at a position where one is expected."""
OTHER_WORDS = COMMON_WORDS | NOT_NAMES | PARTICLES
SURE_NAMES = (GIVEN_NAMES | SURNAMES) - OTHER_WORDS - THINGS_TOO
"""Names that are nothing else, also in lower case where the person was named before."""


def is_patronymic(word: str) -> bool:
    """Returns whether a lower-case word has the form of a Russian patronymic in any grammatical case, such as
    "ильинична"."""
    return word[-1:] in "чауеймы" and CUES.patronymic.fullmatch(word) is not None


def is_surname(word: str) -> bool:
    """Returns whether a lower-case word is a listed family name, or has the form of a Russian one in any
    grammatical case."""
    return word in SURNAMES or ("а" <= word[:1] <= "я" and CUES.russian_surname.fullmatch(word) is not None)
