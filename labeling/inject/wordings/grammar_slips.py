"""Rules that break the grammar of a correct sentence; the held-out ones break it in other ways."""

from __future__ import annotations

from labeling.inject.wordings.rules import Rule

_VERBS = "book|find|help|check|see|need|want|offer|recommend|suggest|confirm|look|assist|send|know|get"
_VERBS_IN_E = "make|like|provide|arrange|change|arrive|leave|take|have|reserve|give"
_PARTICIPLE = {
    "booked": "book", "found": "find", "made": "make", "cancelled": "cancel", "sent": "send",
    "reserved": "reserve", "updated": "update", "processed": "process", "located": "locate",
    "changed": "change", "confirmed": "confirm", "scheduled": "schedule", "ordered": "order",
}  # fmt: skip

RULES: dict[str, tuple[Rule, ...]] = {
    "agreement": (
        Rule(r"\b(it|that|this|he|she|which) is\b", (r"\1 are", r"\1 be")),
        Rule(r"\b(it|that|this|he|she) has\b", (r"\1 have",)),
        Rule(r"\b(it|that|this|he|she|train|restaurant|hotel|there) was\b", (r"\1 were",)),
        Rule(r"\b(i) am\b", (r"\1 is", r"\1 are")),
        Rule(r"\b(i|we|you|they) have\b", (r"\1 has",)),
        Rule(r"\b(we|you|they|there|these|those) are\b", (r"\1 is",)),
        Rule(r"\b(we|you|they) were\b", (r"\1 was",)),
        Rule(r"\b(i|we|you|they) do(n't| not)\b", (r"\1 does\2",)),
        Rule(r"\b(it|that|this|he|she) does(n't| not)?\b", (r"\1 do\2",)),
        Rule(r"\bdoes (it|that|this|he|she)\b", (r"do \1",)),
        Rule(r"\bdo you\b", ("does you",)),
        Rule(r"\bare you\b", ("is you",)),
        Rule(r"\b(i|we|you|they) (need|want|recommend|suggest|hope|see|offer|know)\b", (r"\1 \2s",)),
        Rule(r"\b(it|train|taxi|bus|flight|restaurant|museum) (leave|arrive|depart|serve|cost)s\b", (r"\1 \2",)),
        Rule(r"\b(price|address|number|code|postcode|name|time|fee) is\b", (r"\1 are",)),
    ),
    "article": (
        Rule(r"\ba (?=[b-df-hj-np-tv-z])(\w+)", (r"an \1",)),
        Rule(r"\ban ([aeio]\w+)", (r"a \1",)),
        Rule(r"\b(in|on|at|to|from|of|with|for) the ([a-z]{3,})\b", (r"\1 \2",)),
        Rule(r"\b(is|have|book|need|make|find|get|like) an? ([a-z]{3,})\b", (r"\1 \2",)),
        Rule(r"\b(is|are|has|have) the ([a-z]{3,})\b", (r"\1 \2",)),
        Rule(r"\b(in|on|at) (cambridge|london|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
             (r"\1 the \2",)),
        Rule(r"\bthe (same|best|first|last|only|next)\b", (r"a \1",)),
    ),
    "tense": (
        *(Rule(rf"\b(have|has|been|was|is) {done}\b", (rf"\1 {base}",)) for done, base in _PARTICIPLE.items()),
        Rule(rf"\b(can|could|will|would|may|should) (i|you|we) ({_VERBS})\b", (r"\1 \2 \3ing", r"\1 \2 to \3")),
        Rule(rf"\b(can|could|will|would|may|should) (i|you|we) ({_VERBS_IN_E})\b", (r"\1 \2 \3s", r"\1 \2 to \3")),
        Rule(rf"\b(i|you|we|they) (can|could|will|should) ({_VERBS_IN_E})\b", (r"\1 \2 \3s", r"\1 \2 to \3")),
        Rule(rf"\b(i|you|we|they) (can|could|will|should) ({_VERBS})\b", (r"\1 \2 \3s", r"\1 \2 to \3")),
        Rule(r"\bwould (you|they) like\b", (r"would \1 likes", r"would \1 liked")),
        Rule(r"\bdo you (have|need|want|know)\b", (r"do you having", r"do you had", r"do you needed")),
        Rule(r"\bi('ve| have) (booked|found|made|sent)\b", (r"i have to \2", r"i was \2")),
        Rule(r"\b(will|to|would|can) be\b", (r"\1 being", r"\1 been")),
        Rule(r"\bhas been\b", ("has being", "have be")),
        Rule(r"\bi('m| am) (looking|checking|sending|booking)\b", (r"i am look", r"i are \2")),
        Rule(r"\bdid (you|we|they) (have|want|need|get)\b", (r"did \1 had", r"did \1 wanted")),
        Rule(r"\b(able|like|need|want) to (book|find|make|get|help|see)\b", (r"\1 to \2ing", r"\1 \2")),
    ),
    "negative": (
        Rule(r"\b(don't|do not|doesn't|does not|can't|cannot|didn't|couldn't|could not) (have|find|see|need|want) "
             r"(any|anything)\b", (r"\1 \2 no", r"\1 \2 nothing")),
        Rule(r"\b(isn't|aren't|wasn't|weren't|is not|are not) any\b", (r"\1 no", r"\1 none")),
        Rule(r"\b(there|i|we) (are|have|found) no\b", (r"\1 don't \2 no", r"\1 \2n't no")),
        Rule(r"\b(do|does|did|can|could) not\b", (r"\1 not never", r"no \1")),
        Rule(r"\b(don't|doesn't|didn't)\b", ("ain't", "not")),
        Rule(r"\bwithout any\b", ("without no",)),
        Rule(r"\bnot have\b", ("not has", "no have")),
    ),
    "order": (
        Rule(r"\b(what|which|how|when|where) (can|could|would|should|will|are|do|did) (i|you|we)\b", (r"\1 \3 \2",)),
        Rule(r"\b(can|could|would|should|will|may) (i|you|we) ([a-z]+)\b(?=[^.!?]*\?)", (r"\1 \3 \2",)),
        Rule(r"\b(what|which) (day|time|area|city|type|price range|kind) (would|do|should|are) (you|we)\b",
             (r"\1 \2 \4 \3", r"\2 \1 \3 \4")),
        Rule(r"\b(is|are) there (any|anything|a|an)\b", (r"\2 is there", r"there \1 \2")),
        Rule(r"\bcan help\b", ("help can",)),
        Rule(r"\b(please|just|also|already) (let|provide|give|tell|note|confirm)\b", (r"\2 \1",)),
        Rule(r"\bthe (\w+) (restaurant|hotel|train|taxi|museum|price)\b", (r"\1 the \2", r"the \2 \1")),
        Rule(r"\bphone number\b", ("number phone",)),
        Rule(r"\b(is|are) (located|available|booked|open)\b", (r"\2 \1",)),
        Rule(r"\bwould you like\b", ("like you would", "would like you")),
    ),
}  # fmt: skip

HELD_OUT_RULES: dict[str, tuple[Rule, ...]] = {
    "preposition": (
        Rule(r"\bon(?= (monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b)", ("at", "in")),
        Rule(r"\bat(?= \d)", ("in", "on")),
        Rule(r"\bin the(?= (centre|center|north|south|east|west|area|city|morning|afternoon)\b)",
             ("on the", "at the")),
        Rule(r"\bfor(?= \d+ (people|nights|person|guests)\b)", ("to", "of")),
        Rule(r"\binterested in\b", ("interested on", "interested for")),
        Rule(r"\bhelp you with\b", ("help you by", "help you of")),
        Rule(r"\blooking for\b", ("looking after to", "looking on")),
        Rule(r"\blisten to\b|\bsimilar to\b|\bclose to\b", ("close of",)),
        Rule(r"\bfrom(?= [a-z0-9]+ to\b)", ("of",)),
        Rule(r"\bthank you for\b", ("thank you of", "thank you on")),
        Rule(r"\bwaiting for\b", ("waiting to",)),
        Rule(r"\bsorry (about|for)\b", ("sorry of", "sorry to")),
        Rule(r"\b(arrives?|arriving) (in|at|by)\b", (r"\1 to", r"\1 on")),
        Rule(r"\blocated (in|at|on)\b", ("located to", "located of")),
        Rule(r"\bdepends on\b", ("depends of",)),
    ),
    "number": (
        Rule(r"\b(two|three|four|five|six|several|many|\d{1,2}) (hotel|restaurant|train|option|ticket|guesthouse|night"
             r"|museum|place|result|college|item|day|minute|hour)s\b", (r"\1 \2",)),
        Rule(r"\binformation\b", ("informations",)),
        Rule(r"\b(\d+|many|two|three|four|five) people\b", (r"\1 peoples", r"\1 persons people")),
        Rule(r"\bmany\b", ("much",)),
        Rule(r"\bmuch\b", ("many",)),
        Rule(r"\bany (other )?(questions|options|restaurants|hotels|preferences)\b", (r"any \1question",)),
        Rule(r"\b(one|a|an|this) (restaurant|hotel|train|ticket|moment|option|table|room|taxi)\b", (r"\1 \2s",)),
        Rule(r"\b(these|those) (\w+)s\b", (r"this \2s", r"that \2s")),
        Rule(r"\b(this|that) (restaurant|hotel|train|order|time|one|information)\b", (r"these \2", r"those \2")),
        Rule(r"\beach (\w+)\b", (r"each \1s",)),
        Rule(r"\ba few\b", ("a little few", "few of")),
        Rule(r"\ball of (the|our|your) (\w+)s\b", (r"all of \1 \2",)),
    ),
    "pronoun": (
        Rule(r"\b(like|want|need|for|help|give|let|tell) me\b", (r"\1 I",)),
        Rule(r"\b(for|help|assist|to|with|give|send|book) you\b", (r"\1 yours", r"\1 they")),
        Rule(r"\byour (booking|reservation|order|account|reference|trip|table|stay)\b", (r"you \1", r"yours \1")),
        Rule(r"\bi (can|will|have|am|could|found|would)\b", (r"me \1", r"my \1")),
        Rule(r"\bthey (are|have|will|do)\b", (r"them \1",)),
        Rule(r"\bwe (have|can|are|will|do)\b", (r"us \1",)),
        Rule(r"\btheir (phone|address|postcode|number)\b", (r"them \1", r"they \1")),
    ),
}  # fmt: skip
