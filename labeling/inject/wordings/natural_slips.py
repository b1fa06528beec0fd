"""Slips of grammar and of sound-alike words that the agents of public corpora make by themselves.

What can be mended for certain is mended, other clear breaks make a dialogue unfit as clean text.
These are for cleaning only: no error is made from them.
"""

from __future__ import annotations

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
