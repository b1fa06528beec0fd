"""Grammar slips of English that a few neighbouring words prove: doubled words, a and an, its and it's.

Only rules whose hits were right when read on real dialogues stand here (``could of``, ``to much`` and ``more
better`` did not occur in them); what needs a parse (agreement over a distance, tenses, articles that are
missing) is left to the scan. Figures: `docs/experiments/natural.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.checks.phrases import QUOTED
from dialint.detector.checks.spelling import speller
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue

LANGUAGES = ("en", UNKNOWN)

_PAST = (
    r"(?:booked|reserved|received|found|got|went|sent|made|arrived|confirmed|worked|saw|took|came|told|gave)"
)
_VERB_S = r"(?:has|wants|needs|offers|serves|includes|comes|goes|takes|costs|works|looks|sounds|likes)"
_NOUNS = (
    r"(?:hotels|restaurants|trains|flights|options|results|places|movies|events|guesthouses|rooms|seats|"
    r"tickets|"
    r"buses|attractions|museums|colleges|parks|doctors|dentists|stylists|salons|apartments|houses|songs|cars|"
    r"stops|people|adults|passengers|items|orders|days|nights|properties|locations|ways|reservations|choices)"
)
_NUMBER = (
    r"(?:[2-9]|[1-9]\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|multiple|"
    r"some)"
)
_END = r"(?=\s*(?:[.!?,;:)]|\Z))"
_START = r"(?:\A|(?<=[.!?]\s)|(?<=\n))"
_NO_LETTER = r"(?<![\w.'’/&-])"
_APOSTROPHE = r"['’]"

RULES: Mapping[str, re.Pattern[str]] = {
    "doubled word": re.compile(
        r"(?<![\w'’-])(the|an?|to|and|of|for|with|your|my|our|this|at|from|we|will|can|are|have|be|i|or|"
        r"is|you|"
        r"it|please|would|there|about|as|if|by|has|was|they)\s{1,3}\1(?![\w'’-])",
        re.IGNORECASE,
    ),
    "your for you're": re.compile(
        rf"\b[Yy]our (?:(?:very |most |quite |always |more than )?welcome{_END}"
        r"|(?:going to|looking for|looking to|not going|not able|all set|all good|the best|a (?:star|"
        r"lifesaver)|"
        r"in luck|in for|most welcome|very welcome|trying to|absolutely right|welcome to|able to|sure)\b)"
    ),
    "you're for your": re.compile(
        rf"\b[Yy]ou{_APOSTROPHE}re (?:(?:booking|order|request|reservation|ticket)"
        r" (?:is|was|has|will|reference|number)|account|name|phone|address|email|flight|trip|"
        r"appointment|card|car|"
        r"number|hotel|own)\b"
    ),
    "you for your": re.compile(
        r"\b(?:suits?|fits?|meets?|match(?:es)?) you"
        r" (?:needs|criteria|requirements|requests?|preferences?|budget|tastes?)\b",
        re.IGNORECASE,
    ),
    "it's for its": re.compile(
        rf"\b[Ii]t{_APOSTROPHE}s (?:(?:address|(?:tele)?phone number|number|post ?code|rating|name|website|"
        r"price range) (?:is|are|was)|own)\b"
    ),
    "its for it's": re.compile(
        r"(?<!of )(?<!on )(?<!at )(?<!with )\b[Ii]ts (?:an?|the|not|been|my|your|our|going to|located|"
        r"called|also|"
        r"in the|gonna|too|very|really|raining|sunny|at the|ok|okay|currently)\b(?! (?:own|kind))"
    ),
    "their for there": re.compile(r"\b[Tt]heir (?:is|are|was|were)\b"),
    "there for their": re.compile(
        r"\b[Tt]here (?:(?:tele)?phone(?: number)?|number|address|website|postcode|name|menu|prices?|rating|"
        r"location) (?:is|are)\b"
    ),
    "then for than": re.compile(
        r"\b(?:rather|cheaper|better|bigger|smaller|longer|(?:more|less) expensive|less|other|more|"
        r"later|earlier|"
        r"sooner) then (?:the|an?|that|this|\d+|[a-z]+ (?:dollars|minutes|hours|days|people))\b",
        re.IGNORECASE,
    ),
    "there is with a plural": re.compile(rf"\b[Tt]here is {_NUMBER} (?:[a-z]+ ){{0,2}}{_NOUNS}\b"),
    "there are with a singular": re.compile(
        r"\b[Tt]here are (?:one|1) (?!of|or|to|and|-)[a-z]+\b(?! (?:or|and)\b)"
    ),
    "past after did or to": re.compile(
        rf"\b(?:(?:did not|didn{_APOSTROPHE}t|did you|did they|did we|did it) {_PAST}"
        rf"|(?:like|want|need|able|going|trying|try|wanted) to {_PAST}"
        rf"|(?:will|can|could|would|should|cannot|(?:ca|wo|could)n{_APOSTROPHE}t) (?:not |"
        rf"be able to )?{_PAST})\b",
        re.IGNORECASE,
    ),
    "does with a third person": re.compile(
        rf"\b(?:does|doesn{_APOSTROPHE}t|does not) (?:(?:it|he|she|this|that|"
        rf"the [a-z]+) )?(?:also )?{_VERB_S}\b",
        re.IGNORECASE,
    ),
    "wrong verb form": re.compile(
        rf"{_START}(?:(?:They|We|You) (?:is|was|has|(?:is|was|has|does)n{_APOSTROPHE}t)"
        rf"|(?:It|He|She) (?:have|are|were|do|(?:do|have|are)n{_APOSTROPHE}t)|I (?:has|is|are))\b"
    ),
    "plural of an uncountable": re.compile(
        r"\b(?:informations|luggages|equipments|furnitures|advices|homeworks|childs|criterias|mans|womans|"
        r"knowledges|sceneries)\b",
        re.IGNORECASE,
    ),
    "a for an": re.compile(
        rf"{_NO_LETTER}[Aa] ([aeiou][a-z]{{2,30}}|hour|honest|honou?r|hono[a-z]{{1,10}}|hourly)\b(?![-'’])"
    ),
    "an for a": re.compile(
        rf"{_NO_LETTER}[Aa]n ([b-df-hj-np-tv-z][a-z]{{2,30}}|u[a-z]{{2,30}}|eu[a-z]{{2,30}}|one|"
        rf"once)\b(?![-'’])"
    ),
    "a before a number": re.compile(
        rf"{_NO_LETTER}(?:[Aa] (?:8|11|18|8\d)\b(?![.,]\d)|[Aa]n (?:[1-79]|1[02-79]|[2-79]\d)\b)"
    ),
}
"""Each rule by its name in the reason of a finding."""

_CONSONANT_U = re.compile(
    r"(?:u(?:ni(?!n|m|d)|s(?!h)|t[eio]|bi|ran|rea|kr|kulele|fo)|eu|one(?:s|self|-)?\Z|once|one(?!r))"
)
_SILENT_H = re.compile(r"h(?:our|onest|onou?r|eir|omage|erb|istoric|otel|omme)")

_NO_HEADS = frozenset(
    {"and", "are", "also", "all", "any", "its", "our", "onto", "into", "out", "off", "as", "is", "if", "in"}
)
"""Words before which a single a is a letter, or no article."""


def _is_article_right(rule: str, word: str) -> bool:
    """Whether a or an fits the sound that `word` begins with, or the word is not an English one."""
    if word in _NO_HEADS or not speller("en").is_known(word):
        return True
    if rule == "a for an":
        return _CONSONANT_U.match(word) is not None
    if word[0] == "h":
        return _SILENT_H.match(word) is not None
    if word[0] in "uoe":
        return _CONSONANT_U.match(word) is None
    return False


def find_slips(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Every rule with its matches in a text, outside of quotations."""
    quoted = [match.span() for match in QUOTED.finditer(text)]
    for name, pattern in RULES.items():
        for match in pattern.finditer(text):
            if any(start <= match.start() < end for start, end in quoted):
                continue
            if name == "doubled word" and not match[0].split()[1].islower():
                continue  # the The Porch, which is a name
            if name in ("a for an", "an for a") and _is_article_right(name, match[1]):
                continue
            yield name, match


def grammar_slip(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects slips of grammar in the agent's English by `RULES`, the first of each turn; what the customer
    wrote in the same words is his."""
    customer: str | None = None
    languages: Mapping[int, str] | None = None
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for name, match in sorted(find_slips(turn.text), key=lambda slip: slip[1].start()):
            languages = languages or detect_languages(dialogue)[1]
            if languages[turn.index] not in LANGUAGES:
                break
            if customer is None:
                customer = "\n".join(
                    each.text.casefold() for each in dialogue.turns if each.role == "customer"
                )
            if match[0].casefold() in customer:
                continue
            yield Hit(turn.index, match.start(), match.end(), name)
            break
