"""Corpus dialogues made fit to serve as clean text: natural slips corrected, unlawful repeats found.

About 1 agent turn in 130 of the corpora holds a natural misspelling (2026-11-20), and 1 in 40 a slip that
the patterns below know (2,462 of 97,871 turns, 2026-11-21), several times what the tests inject for L2;
each would be counted as a false alarm. Well-known slips are corrected; a dialogue with another likely one
is left out. A slip that no pattern knows stays. Errs towards leaving out: a dialogue too few in the clean
data costs less than an error that is called clean. No error is made from the tables here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dialint.detector.checks.repeats import same_text_again
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.synthetic.dialogue_acts import is_closing
from dialint.labeling.synthetic.draft import Draft, DraftTurn
from dialint.labeling.synthetic.wordings import Wordings

_MISSPELLINGS = Wordings("train/misspellings")
MISSPELLINGS = _MISSPELLINGS.grammar("misspellings")
REAL_WORDS = frozenset(_MISSPELLINGS.texts("real_words"))
"""Words that a slip may make by chance; a slip that makes one is not used."""

_PARTICIPLES = {
    "book": "booked", "find": "found", "locate": "located", "reserve": "reserved", "schedule": "scheduled",
    "confirm": "confirmed", "cancel": "cancelled", "choose": "chosen", "send": "sent", "add": "added",
    "update": "updated", "make": "made", "went": "gone", "took": "taken", "wrote": "written", "chose": "chosen",
}  # fmt: skip


_GERUNDS = {
    "contact": "contacting", "call": "calling", "use": "using", "choose": "choosing", "book": "booking",
    "wait": "waiting", "visit": "visiting", "shop": "shopping", "see": "seeing", "hear": "hearing",
    "serve": "serving", "meet": "meeting", "help": "helping",
}  # fmt: skip


_NOUNS = (
    "hotel|restaurant|train|option|place|guesthouse|guest house|attraction|college|museum|night|ticket|guest"
    "|star|minute|hour|room|result|church|day|cinema|theatre|nightclub|pound|credit|degree|table|stop|seat"
)


_NUMBERS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|multiple|both"


_SIDES = "north|south|east|west|centre|center"


_STOPS = (
    r"(?=\s*[.,?!]|\s+(?:at|in|on|for|from|to|and|that|which|with|available|leaving|is|are|matching)\b|\s*$)"
)


_BASE = "need|want|like|know|prefer|require|sound|work|look|help|suit|mean|offer|serve|seem|match"


_IN_MIND = r"(?:book|make|know|hear|try|find|see|reserve|get|search|change|look|check|go|leave|stay|order)"


CONTRACTIONS = {
    "dont": "don't", "cant": "can't", "didnt": "didn't", "doesnt": "doesn't", "isnt": "isn't", "arent": "aren't",
    "wasnt": "wasn't", "couldnt": "couldn't", "wouldnt": "wouldn't", "shouldnt": "shouldn't", "havent": "haven't",
    "hasnt": "hasn't", "im": "I'm", "ive": "I've", "youre": "you're", "youve": "you've", "youll": "you'll",
    "thats": "that's", "whats": "what's", "theres": "there's", "heres": "here's", "theyre": "they're",
    "weve": "we've", "wont": "won't",
}  # fmt: skip


MENDS: tuple[tuple[str, str], ...] = (
    (r"\b(a|an|the|is|are|to|of|at|for|and|you|i|it|with|be|have|will|can|your|we|any|from|by|this|my)\s+\1\b", r"\1"),
    (r"(?<!check )\bin in\b", "in"),
    (r"\b(a) (?!(?:and|are|as|at|if|in|is|of|on|or|all)\b)(?=[aei](?!u)[a-z]{2}|o(?!ne\b|nce\b|ne-)[a-z]{2}|u(?:n(?!i)|p|rg|ber\b|lt|mb)|hour|honest|8\b|11\b|18\b)", r"\1n "),
    (r"\b(a)n (?=(?-i:[Bb][a-z])|(?-i:[bcdfgjklmnpqrstvwyz]|h(?!our|onest|ono|eir|is|otel))(?-i:[a-z]{2,}))", r"\1 "),
    (r"\b(it|which|that|this|ticket|entry|entrance|admission|ride|room|train) cost (?=[£$\d]|one|two|three|four|five|about|around|only)", r"\1 costs "),
    (rf"\bthere is (?=(?:[2-9]|[1-9]\d+|{_NUMBERS}|a few)\b(?!-| ?stars?\b| ?pm| ?am))", "there are "),
    (r"\bthere are (?=(?:1|one)\b(?![-,\d]| or\b| to\b| of\b))", "there is "),
    (rf"(?<![\d:.,$£])\b(1|one|another) ({_NOUNS})s\b", r"\1 \2"),
    (r"(?<![\d:.,$£])\b(1|one) people\b", r"\1 person"),
    (rf"(?<![\d:.,$£#-])\b([2-9]|[1-9]\d|{_NUMBERS}|these|those) (?!guest house|church)({_NOUNS}){_STOPS}", r"\1 \2s"),
    (rf"\bone of (the|our|my|these) (?!church)({_NOUNS}){_STOPS}", r"one of \1 \2s"),
    (r"\b(information|advice|furniture|equipment|luggage)s\b", r"\1"),
    (r"\bmore (cheaper|better|easier|closer|earlier|nearer|faster)\b", r"\1"),
    (r"\balot\b", "a lot"),
    (rf"\b(in|on|to) ({_SIDES})(?=\s*[.,?!]|\s+(?:of|part|side|area|and)\b|\s*$)", r"\1 the \2"),
    (rf"\blocated ({_SIDES}|downtown)\b", r"located in the \1"),
    (r"\b(centre|center|part|side|area|end) of city\b", r"\1 of the city"),
    (rf"\bwould (you|they) like (?={_IN_MIND}\b)", r"would \1 like to "),
    (r"\blike me (book|make|find|check|reserve|look)\b", r"like me to \1"),
    (r"\bwant (book|make|go|know|find|me book|me find|change|cancel)\b", r"want to \1"),
    (r"\b(is|what's|and|have|for|with|of|need|get|know) you (name|phone|booking|reference|address|destination|email|order|reservation|preferred|departure|price|arrival)\b", r"\1 your \2"),
    (r"\byou (reservation|reference|reference number|phone number|contact number|order number)\b", r"your \1"),
    (r"\b(your)(?= (?:very |most |quite |more than )?welcome\b| all set\b| going to\b| in luck\b| looking for\b| booked (?:at|for|in|on|into)\b)", "you're"),
    (r"\b(it)s(?= (?:a|an|the|located|in|on|at|not|also|very|expensive|cheap|free|called|going|been|available|\d+)\b)", r"\1's"),
    (r"\b(it)'s(?= (?:phone|address|postcode|post code|entrance fee|location|telephone|rating|own)\b)", r"\1s"),
    (r"\btheir (?=(?:is|are|will be)\b)", "there "),
    (r"\bthere (?=(?:phone|address|postcode|number)\b)", "their "),
    (r"\b(?<!close )(?<!next )(to)(?= (?:late|early|expensive|far)\b)", r"\1o"),
    (r"\b(more|less|later|earlier|cheaper|rather|other|better) then\b", r"\1 than"),
    (r"\b(would|could|should|must) of\b(?! course)", r"\1 have"),
    (r"\bweather(?= (?:or not|you|they|it is|we)\b)", "whether"),
    (r"\b(leaves?|leaving|depart(?:s|ing|ure)?|travell?ing|trains?|going) form\b", r"\1 from"),
    (r"\b(arriv(?:e|es|ing)) to\b(?! (?:pick|meet|collect|take|get)\b)", r"\1 in"),
    (r"\binterested (?:on|about|to) (?=(?:a|the|any|that|this|staying|visiting|booking|going)\b)", "interested in "),
    (r"\b(?:in|at) (?=(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)", "on "),
    (r"\b(leav(?:e|es|ing)|arriv(?:e|es|ing)|depart(?:s|ing)?|booked|reserved) on (?=\d{1,2}:\d\d)", r"\1 at "),
    *((rf"\b(forward to|(?:thanks|thank you) for) {base}\b(?! (?:to|of|with)\b)", rf"\1 {done}") for base, done in _GERUNDS.items()),
    *((rf"\b(i|we|you|they)( have|'ve)( already| just| now| also)? {base}\b(?=[ .,!])", rf"\1\2\3 {done}") for base, done in _PARTICIPLES.items()),
    (rf"\b(do|does|did|would|can|could) (you|they|that|this|it|we) ({_BASE})(?:e?s|ed)\b", r"\1 \2 \3"),
    (r"((?:^|[.?!,] ))would like (?=(?:to|me|a|another)\b[^.!]{0,500}\?)", r"\1would you like "),
    (r"\bhelp with you\b", "help you with"),
    (r"\banything else can i\b", "anything else I can"),
    (r"\b(anything else (?:that )?i can (?:help|assist) you)(?: to)?(?=\s*[?.!]|\s*$)", r"\1 with"),
    (r"\bmoderate priced\b", "moderately priced"),
    (r"\bmoderately price range\b", "moderate price range"),
    (r"\bin (?:a )?(cheap|moderate|expensive) price range\b", r"in the \1 price range"),
    (r"\b(discuss|mention) about\b", r"\1"),
    (r"\b(you|we|they) was\b", r"\1 were"),
    (r"((?:^|[.?!,;] )(?:and |but )?)(they|we|you) has\b", r"\1\2 have"),
    (r"\b(we|they) is\b", r"\1 are"),
    (r"\b(any|some|no) (other )?(hotel|guesthouse|attraction|train)(?= (?:that|which) are\b)", r"\1 \2\3s"),
    (r"\b(they|these|those) (does|doesn't)\b", r"\1 do"),
)  # fmt: skip
"""Patterns, case ignored, and what they become; each leaves a sentence that an editor would let pass."""


REFUSED: tuple[str, ...] = (
    r"\bi (?:is|are|has|does|doesn't|not|able|unable|sorry|afraid|looking for|calling)\b",
    r"(?:^|[.?!] )(?:and |also |so )?(?:where|how many \w+|how long|what (?:time|day|area|city|type|kind|name|food)"
    r"|which (?:day|area|city|one|train|hotel|type)) "
    r"(?:you|your party|they) (?:will|would|are|is|want|need|like|can|should|looking|prefer)\b[^.!]{0,500}\?",
    r"(?:^|[.?!] )(?:when|where|what|how many \w+|what time|what day) (?:you|your) (?:would|will|want|like)\b",
    r"\b(?:would|will|can|could|should|may|did|does|do|don't|didn't|doesn't|can't|couldn't|won't) "
    r"(?:you|i|we|they|it|he|she) (?!need|proceed|bring|feed|exceed|succeed|ring|speed|bed)\w{2,}(?:ing|ed)\b",
    r"\b(?:can|could|will|would|should|must|might) (?:not )?(?:is|are|was|were|has|had|been|being|does|did|found"
    r"|went|got|booked|gave|made|looking|leaving|arriving|going|help(?:ing|s|ed))\b",
    r"\bto (?:booked|made|went|got|saw|gave|was|has|does|did|helped)\b",
    r"\b(?:is|are|was|were|been|be) (?:locate|reserve|schedule|confirm|cancel|serve|arrive|leave|depart|cost|have|has)\b",
    r"(?:^|[.?!,] )(?:and |but )?(?:it|he|she) (?:are|were|have|leave|arrive|depart|serve|offer)\b",
    r"(?<!does )(?<!will )(?<!should )(?<!can )(?<!did )(?<!would )\b(?:the|this|that) (?:hotel|restaurant|train|taxi) "
    r"(?:have|leave|arrive|depart|serve|offer)\b",
    r"(?:^|[.?!] )(?:there|it|that|this|here) (?:a|an|no|several|many|multiple|[2-9]|\d\d|two|three|four)\b",
    r"(?:^|[.?!,] )you (?:welcome|looking|going|wanting|all set)\b",
    r"\b(?:suggest|recommend|explain|describe) you (?:a|an|the|to)\b",
    r"\banything else (?:i|we) (?:help|do|assist|get|able)\b", r"(?:^|[.?!] )is anything else\b",
    r"\bwhat else (?:i|we) (?:can|could|may)\b", r"\bwhat is you \w+\b",
    r"\b(?:don't|doesn't|didn't|can't|couldn't) (?:\w+ )?no\b(?! longer|t\b|r\b)", r"\bdoes (?:you|they|we|i)\b",
    r"\b(?:is|are) (?:there )?(?:is|are)\b(?! (?:no|a|the|also|not|there))", r"\b(?:the|a|an) (?:an|the|is|are|to|in)\b(?! la\b)",
    r"\bthe (?:my|your|our|their|its)\b", r"\b(?:of|from) (?:of|for|at|with)\b",
    r"\b(?:i|we) (?:will|can|could|would|'ll) (?:you|a|an|the|your)\b",
    r"\b(?:anythings|someones|everythings|peoples|childs|persons(?= in)|womans|mans|bookeds|tooks)\b",
    r"\b(?:has|have|had) (?:has|have|been been)\b", r"\bmuch (?:hotels|restaurants|people|trains|tickets|options|nights)\b",
    r"\bhow much (?:people|nights|tickets|days|guests)\b", r"\b(?:very|more) (?:much )?(?:more|most) (?=\w+er\b)",
)  # fmt: skip
"""Patterns, case ignored, that no clean agent turn holds."""


COMMON = 60
"""Times that a word must occur to count as known."""


RARE = 3


MIN_LENGTH = 5


_WORD = re.compile(r"(?<![\w@#./'-])[a-z]{4,}(?![\w@#/-]|\.\w|'(?!s\b))")


_RIGHT = {slip: right for right, slips in MISSPELLINGS.items() for slip in slips if slip not in REAL_WORDS}


_CONTRACTION = re.compile(rf"(?<![\w@./'-])({'|'.join(CONTRACTIONS)})'?(?![\w@/-])", re.IGNORECASE)


_MENDS = tuple((re.compile(pattern, re.IGNORECASE), new) for pattern, new in MENDS)


_REFUSED = tuple(re.compile(pattern, re.IGNORECASE) for pattern in REFUSED)


@dataclass(frozen=True)
class Corrector:
    """The words of the corpora: `suspects` are most likely misspellings."""

    suspects: frozenset[str]

    def correct(self, draft: Draft) -> Draft | None:
        """The draft with well-known slips of its agent corrected; None if another likely one is left."""
        turns = tuple(_corrected(turn) if turn.role == "agent" else turn for turn in draft.turns)
        words = {word for turn in turns if turn.role == "agent" for word in _WORD.findall(turn.text)}
        if words & self.suspects or any(turn.role == "agent" and is_broken(turn.text) for turn in turns):
            return None
        return replace(draft, turns=turns)


@lru_cache(maxsize=1 << 16)
def correct_text(text: str) -> str:
    """The text with those slips corrected that can be corrected for certain."""
    text = _WORD.sub(lambda match: _RIGHT.get(match[0], match[0]), text)
    text = _CONTRACTION.sub(lambda match: _in_case(match[1], CONTRACTIONS[match[1].lower()]), text)
    for pattern, new in _MENDS:
        text = pattern.sub(new, text)
    return text


@lru_cache(maxsize=1 << 16)
def is_broken(text: str) -> bool:
    """Whether the text holds a slip of grammar that only its author could correct."""
    return any(pattern.search(text) for pattern in _REFUSED)


def _in_case(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[0].isupper() else new


def fit_corrector(drafts: Iterable[Draft]) -> Corrector:
    """Learn which words are common in `drafts`, and which rare ones are one slip away from those."""
    counts: Counter[str] = Counter()
    for draft in drafts:
        for turn in draft.turns:
            counts.update(_WORD.findall(turn.text))
    by_stump: dict[str, set[str]] = defaultdict(set)
    for word, count in counts.items():
        if count >= COMMON and len(word) >= MIN_LENGTH:
            for stump in _stumps(word):
                by_stump[stump].add(word)
    rare = (word for word, count in counts.items() if count <= RARE and len(word) >= MIN_LENGTH)
    return Corrector(frozenset(word for word in rare if word not in REAL_WORDS and _is_slip(word, by_stump)))


def _corrected(turn: DraftTurn) -> DraftTurn:
    text = correct_text(turn.text)
    return turn if text == turn.text else replace(turn, text=text)


def _stumps(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def _is_slip(word: str, by_stump: dict[str, set[str]]) -> bool:
    near = {common for stump in _stumps(word) for common in by_stump.get(stump, ())}
    return any(_is_one_slip(word, common) and not _is_inflection(word, common) for common in near)


def _is_inflection(word: str, common: str) -> bool:
    """Whether the two may be forms of one word, ``reach`` and ``reached``."""
    short, long = sorted((word, common), key=len)
    return long.startswith(short) or word[:-1] == common[:-1]


def _is_one_slip(word: str, common: str) -> bool:
    """One letter more, less or other, or two neighbours exchanged; the first letter stands."""
    if word[0] != common[0]:
        return False
    if len(word) != len(common):
        return abs(len(word) - len(common)) == 1
    apart = [i for i, (a, b) in enumerate(zip(word, common, strict=True)) if a != b]
    if len(apart) == 2:
        first, second = apart
        return second == first + 1 and word[first] == common[second] and word[second] == common[first]
    return len(apart) == 1


MIN_WORDS = 6
"""Words of the shortest agent turn that counts as said twice."""


_CHANGE = re.compile(
    r"\b(?:instead|how about|what about|another|different|change|try|for my|second one|next one)\b", re.I
)


_OPEN = re.compile(r"\b(?:what|which|when|where|whom?|how (?:many|long)|name|number)\b[^.!]{0,500}\?", re.I)


def repeats_lawfully(turns: Sequence[DraftTurn], after_lookup: Collection[int] = ()) -> bool | None:
    """Whether what the agent says word for word again was called for each time: a new round of questions,
    a changed request, a new number, or words that come twice by nature. None if nothing is repeated.

    Agent turns of `after_lookup` report what a system answered since the customer last spoke: the same words
    are another answer then.

    In doubt it was not: of unlawful repeats the exact check finds the plain ones only.
    """
    talk = Dialogue(id="d", turns=tuple(Turn(index=i, role=t.role, text=t.text) for i, t in enumerate(turns)))
    indexes = find_repeats(turns)
    if not indexes:
        return None
    if any(hit.turn not in after_lookup for hit in same_text_again(talk)):
        return False
    return all(_is_called_for(turns, before, index, index in after_lookup) for before, index in indexes)


def find_repeats(turns: Sequence[DraftTurn]) -> list[tuple[int, int]]:
    """(Where the words were sent last, where they come again) for each agent turn that was sent before."""
    sent: dict[str, int] = {}
    repeats = []
    for index, turn in enumerate(turns):
        words = re.findall(r"[a-z]+", turn.text.lower())
        if turn.role == "agent" and len(turn.text.split()) >= MIN_WORDS:
            key = " ".join(words)
            if key in sent:
                repeats.append((sent[key], index))
            sent[key] = index
    return repeats


def _is_called_for(turns: Sequence[DraftTurn], before: int, index: int, after_lookup: bool) -> bool:
    between, text = turns[before + 1 : index], turns[index].text
    customer_texts = [turn.text for turn in between if turn.role == "customer"]
    if not customer_texts:
        return False
    if after_lookup or is_closing(text) or "anything else" in text.lower():
        return True
    has_question = any(turn.role == "agent" and re.search(r"\?|__", turn.text) for turn in between)
    earlier_words = set(re.findall(r"\w+", " ".join(turn.text for turn in turns[: before + 1]).lower()))
    new = (
        set(re.findall(r"(?<!\w)(?:(?=[^\W\d]*+\d)\w++|\w+day\b)", customer_texts[-1].lower()))
        - earlier_words
    )
    changed = bool(new or _CHANGE.search(customer_texts[-1]))
    if "?" in text and _OPEN.search(text):
        return bool(
            _CHANGE.search(customer_texts[-1])
        )  # an open question that was answered is not asked again
    return (has_question and len(customer_texts[-1]) > 2) or ("?" not in text and changed)
