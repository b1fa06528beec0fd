"""Patterns of what customers and agents state, and words that carry no meaning; plain English only."""

from __future__ import annotations

_NUMBER = r"\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten"
_DAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow"
_TOWN = (
    "cambridge|london|london kings cross|stevenage|ely|norwich|leicester|peterborough|bishops stortford|stansted"
    "(?: airport)?|birmingham(?: new street)?|broxbourne|kings lynn|new york|chicago|boston|san francisco|seattle"
    "|los angeles|houston|austin|dallas|denver|miami|orlando|philadelphia|phoenix"
)
_FOOD = (
    "chinese|indian|italian|british|european|modern european|asian|asian oriental|korean|japanese|thai|turkish"
    "|french|spanish|portuguese|mediterranean|lebanese|gastropub|vietnamese|african|mexican|seafood|vegetarian"
)

GIVEN: dict[str, str] = {
    "day": rf"(?P<cut>\b(?:on |for |this |next |by ){{0,4}}\b(?P<value>{_DAY})\b(?: (?:morning|evening|night))?)",
    "time": r"(?P<cut>\b(?:at|around|by|after|before|for) (?P<value>\d{1,2}:\d{2}(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon)\b)",
    "people": rf"(?P<cut>\bfor (?:a (?:group|party|total) of )?(?P<value>(?:{_NUMBER}) (?:people|persons|guests|of us))\b)",
    "nights": rf"(?P<cut>\b(?:for )?(?P<value>(?:{_NUMBER}) (?:nights?|days))\b)",
    "price": r"(?P<cut>\b(?P<value>cheap|expensive|inexpensive|moderately priced)\b(?! price| in price))",
    "area": r"(?P<cut>\b(?:in|on) the (?P<value>(?:centre|center|north|south|east|west)"
    r"(?: (?:part|side|area|end)(?: of (?:town|the city))?| of town)?)\b)",
    "food": rf"(?P<cut>\b(?:that )?(?:serv\w+ )?(?P<value>(?:{_FOOD})(?: food| cuisine|(?= restaurant| place)))\b)",
    "destination": rf"(?P<cut>\b(?:going |travell?ing )?to (?P<value>{_TOWN})\b)",
    "departure": rf"(?P<cut>\b(?:departing |leaving |travell?ing )?from (?P<value>{_TOWN})\b)",
    "name": r"(?P<cut>\b(?:[Mm]y name is|[Mm]y name's|[Nn]ame is|[Tt]his is|[Ii]t's) (?P<value>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\b)",
    "email": r"(?P<cut>(?P<value>\b[\w.]{1,64}+@[\w.]{1,120}\.\w{1,40}+))",
    "zip": r"(?P<cut>\bzip(?: code)?(?: is|:)? (?P<value>\d{5})\b)",
    "order": r"(?P<cut>(?P<value>#W\d{7}))",
    "user": r"(?P<cut>\b(?P<value>[a-z]+_[a-z]+_\d{4}))",
    "milk": r"(?P<cut>\b(?:with )?(?P<value>(?:oat|almond|soy|whole|skim|coconut|2%) milk)\b)",
    "size": r"(?P<cut>\b(?P<value>small|medium|large|grande|venti)\b(?= \w))",
}
"""For each kind: `value` is what was stated, `cut` what goes when it is left unsaid."""

_CLOCK = r"\d{1,2}:\d{2}(?: ?[ap]m)?|\d{1,2} ?[ap]m"
_COUNT = r"\d{1,3}|two|three|four|five|six|seven|eight|nine|ten"
_WEEKDAY = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"

STATED: dict[str, str] = {
    "leave": rf"\b(?:leav\w+|depart\w*)\b[^.?!\d]{{0,40}}?\b(?P<value>{_CLOCK})\b",
    "arrive": rf"\barriv\w+[^.?!\d]{{0,40}}?\b(?P<value>{_CLOCK})\b",
    "price": r"(?P<value>[£$] ?\d+(?:[.,]\d+)?|\b\d+(?:\.\d\d?)? ?(?:pounds|gbp|dollars|credits|euros)\b)",
    "phone": r"\b(?P<value>0\d{9,10}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})\b",
    "postcode": r"\b(?P<value>cb\d{2,3}[a-z]{2}|cb\d{1,2}, ?\d[a-z]{2})\b",
    "reference": r"\b(?:reference|booking|confirmation)\b[^.?!]{0,30}?\b(?P<value>(?=[A-Z0-9]*[A-Z])[A-Z0-9]{8})\b",
    "minutes": r"\b(?P<value>\d{1,3} minutes)\b",
    "stars": r"\b(?P<value>[0-5])[ -]stars?\b",
    "choice": rf"\b(?:there are|there's|i have|i found|we have|i see|found)(?: over| about)? (?P<value>{_COUNT})\b"
    r"(?! (?:star|minute|people|pounds))",
    "booked_day": rf"\b(?:book|reserv|schedul|appointment|arriv|deliver)\w*\b[^.?!]{{0,60}}?\bon (?P<value>{_WEEKDAY})\b",
    "temperature": r"\b(?:temperatures? of )?around (?P<value>-?\d{1,2} degrees)\b",
}
"""For each attribute a pattern with the value as a group."""

FUNCTION_WORDS = frozenset(
    {
    "about", "also", "anything", "back", "been", "book", "booked", "can't", "could", "does", "don't",
    "else", "find", "fine", "first", "from", "give", "good", "great", "have", "help", "here", "i'll",
    "into", "it's", "just", "know", "last", "like", "looking", "make", "many", "more", "much", "need",
    "next", "okay", "only", "other", "over", "please", "right", "should", "some", "something", "sure",
    "take", "tell", "than", "thank", "thanks", "that", "their", "them", "then", "there", "they", "this",
    "very", "want", "well", "were", "what", "when", "where", "which", "will", "with", "would", "you're",
    "your", "yours",
    }
)  # fmt: skip
"""Words that may be shared by texts on any two topics."""
