"""What a turn does in a dialogue: asks, wishes, thanks, closes; and whether a reply answers an ask.

Patterns of plain English. The tests of asks have a third answer, "not clear", and the families leave such
turns out: an example too few costs less than a wrong label.
"""

from __future__ import annotations

import re

_REQUEST = re.compile(
    r"\b(can|could|would|will) you\b|\b(please|tell me|let me know|i('d| would)? (also )?(need|like|want)"
    r"|do you|is there|are there|what|which|how (much|many|long|far|do|can|about)|when|where)\b",
    re.IGNORECASE,
)


_QUESTION = re.compile(
    r"\b(what|which|how|when|where|why|who|can|could|does|do|is|are|will|would)\b[^.?!]{6,500}\?",
    re.IGNORECASE,
)


_THANKS = re.compile(
    r"\b(thanks?|thank you|thx|cheers|that('s| is| will be) all|bye|great|perfect)\b", re.IGNORECASE
)


_CLOSING = re.compile(
    r"\b(good ?bye|bye|have a (great|good|nice|wonderful|lovely)|take care|enjoy your"
    r"|thank(s| you) for (using|contacting|calling|choosing))\b",
    re.IGNORECASE,
)

_NOD = re.compile(
    r"(ok(ay)?|i see|cool|nice|wow|got it|good to know|alright|all right|interesting|thanks|thank you)"
    r"[\w ,.!']{0,16}",
    re.IGNORECASE,
)

_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?=\s|$)|[.](?=\d)[^.!?]*|$)\s*")

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


def asks_question(text: str) -> bool:
    """Whether the text holds a real question, longer than "ok?"."""
    return bool(_QUESTION.search(text))


def asks_anything(text: str) -> bool:
    """Whether the text asks for anything, as a question or as a wish."""
    return "?" in text or bool(_REQUEST.search(text))


def is_thanks(text: str) -> bool:
    """Whether the text thanks, praises or takes leave."""
    return bool(_THANKS.search(text))


def is_closing(text: str) -> bool:
    """Whether an agent takes leave in the text."""
    return bool(_CLOSING.search(text))


def is_nod(text: str) -> bool:
    """Whether the customer just nods: nothing is left to be answered or done."""
    return "?" not in text and bool(_NOD.fullmatch(text.strip()))


def sentences(text: str) -> list[str]:
    """The text cut after sentence ends; joined again they are the text."""
    parts = _SENTENCE.findall(text)
    return parts if "".join(parts) == text else [text]


def words_of(text: str) -> set[str]:
    """The words of four letters or more, in lower case."""
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def content_words(text: str) -> set[str]:
    """The words that carry meaning, cut to six letters so that forms of one word agree."""
    return {word[:6] for word in words_of(text) if word not in FUNCTION_WORDS}


NO_MORE = (
    r"\ball (?:the (?:information|info) (?:that )?)?(?:that )?i(?:'ll| will)? (?:need|want)(?:ed)?\b"
    r"|\bi (?:don'?t|do not) (?:need|want)\b|\bi(?:'ll| will) go ahead\b|\bi need to (?:go (?:inside|now)|run\b|hang up)"
)
"""A wish in words only."""


REFUSES = r"^(?:no|nope|nah|not|nothing)\b|\b(?:no need|never ?mind|i'm (?:good|fine)|that(?:'s| is| will be| was) (?:all|it))\b"
"""A customer who wants nothing more."""


WISH = (
    r"\b(?:can|could|would|will) you (?!be\b|have been\b)|\bplease (?!wait|hold|go on)|^please\b"
    r"|\b(?:tell me|let me know|get me|give me|send me|find me|help me)\b"
    r"|\bi(?:'m| am)?(?: also| really| just| still)? (?:need|want|looking for|trying to|wish)\b(?! (?:it|that|this|them|those)\b)"
    r"|\bi(?:'ll| will)(?: also| just)? need\b|\bi(?:'d| would)(?: also| really| just)? (?:need|want|like|prefer)\b(?! (?:it|that|this|them|those)\b)"
    r"|(?:^|[.!?,] |\b(?:and|then) )(?:book|reserve|order|cancel|schedule|find|check|search)\b"
    r"|(?:^|[.!,] )(?:also |just |still )?looking (?:for|to)\b|\b(?:what|how) about\b|\band want\b|\bgo ahead\b"
    r"|\blet'?s (?:go|do|try|book|make|have|take)\b|\bi'?ll (?:take|have|try)\b"
)
"""A customer who wants something, question mark or not."""


MAYBE = (
    r"\?|\b(?:need|want|like|looking|please|can|could|would|should|wonder\w*|what|which|how|when|where|who"
    r"|problem|issue|help|broken|wrong|doesn'?t|won'?t|isn'?t|not working|trouble|book|find|check|order|reserve"
    r"|let'?s|try|yes|yeah|sure|\d\S*|one|two|three|four|five|six|seven|eight|\w+day)\b"
)
"""Words with which a turn may ask for something or hand something over."""


WIDE = (
    r"\b(?:is|are) there\b|\bdo (?:you|they) have\b|\bhave you got\b|\bany(?:thing|where|one)?\b|\boptions?\b|recommend"
    r"|suggest|\bwhat (?:about|else|other)\b|\bhow (?:about|come)\b|\bwhat are\b|\bwhich (?:one|are|of|would)\b"
    r"|tell me (?:more|about)|information|details|\bwhat can\b|\bwhat is (?:it|that)\b|\bwhat happen|\bwhy\b|\bor\b"
    r"|some\b|\bfind\b|look for|\bcheck\b|search|instead|another|saying"
)
"""A question that many a reply could pass for an answer to."""


OPENER = (
    r"^(?:yes|yeah|yep|no|nope|sure|of course|certainly|absolutely|definitely|unfortunately|sorry|none|great|correct"
    r"|that's right|i'?m afraid|there (?:is|are)n'?t?|there (?:is|are),)\b"
)
"""How answers begin that might belong to any question."""


QUESTION_PATTERNS: dict[str, str] = {
    "where": r"\bwhere\b|address|\barea|locat|part of town|post ?code|\bzip\b|direction|how (?:far|do i get)|street",
    "price": r"how much|\bprice|\bcost|\bfees?\b|charge|\bfare|entrance|\bpay\b",
    "when": r"\bwhen\b|what time|how (?:long|soon)|hours|\bopen|clos(?:e|ing)|arriv|depart|leav|\bdays?\b|\bdate|duration",
    "contact": r"phone|\bnumber|contact|\bcall\b|e-?mail|website|web ?site",
    "kind": r"(?:what|which) (?:kind|type|sort|food|cuisine|car|colou?r|plan|size|flavou?r)|stars?\b|rating|rated",
    "count": r"how many",
    "who": r"\bwho\b",
    "name": r"\bname\b|called\b",
}
"""The points that definite questions ask for."""


ANSWER_PATTERNS: dict[str, str] = {
    "where": r"address|street|\broad\b|avenue|\blane\b|locat|cent(?:re|er)\b|north|south|east\b|west|post ?code"
    r"|\bcb\d|\barea|miles|\bkm\b|\bfloor|corner|\bin the \w+|\bfrom \w+ to\b",
    "price": r"[£$]|pounds|dollars|\bgbp|euros|\bprice|\bcosts?\b|\bfees?\b|\bfree\b|cheap|expensive|moderate|credits",
    "when": r"\d[:.]\d\d|\d ?[ap]\.?m\b|minutes|hours?\b|o'?clock|\bdays?\b|\wday\b|tomorrow|today|tonight|leav|arriv"
    r"|depart|\bopen|closes|week|month|soon|\bnow\b|ready",
    "contact": r"\d{3}[ -]?\d{3}|phone|\bnumber|e-?mail|@|www|contact|\bcall\b",
    "kind": r"\bserv|food|cuisine|stars?\b|\brated|rating|\btype|\bkind|black|white|blue|\bred\b|yellow|gr[ae]y"
    r"|small|medium|large|basic|premium|\ba (?:hotel|guest ?house|museum|college)",
    "count": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|several|many|few|some)\b",
    "who": r"\b[A-Z][a-z]+ [A-Z][a-z]+|\bdr\b|doctor|driver|technician|agent",
    "name": r"[a-z ][A-Z][a-z]|called|named?\b",
}
"""For each point, what an answer to it may hold."""


MATTERS: dict[str, str] = {
    "taxi": r"\btaxi|\bcab\b|\bdriver",
    "train": r"\btrains?\b",
    "bus": r"\bbus\b",
    "plane": r"\bflights?\b|\bplane|airport|boarding",
    "hotel": r"\bhotel|guest ?house|\bcheck-?in|\brooms?\b",
    "food": r"restaurant|\bfood\b|cuisine|\btable\b|pizza|dinner",
    "coffee": r"coffee|latte|espresso|cappuccino|mocha",
    "sights": r"museum|attraction|\bgallery|theatre|\bcollege\b|swimming|nightclub|\bpark\b(?!ing)",
    "health": r"hospital|doctor|patient|nurse|clinic",
    "weather": r"weather|\brain\b|sunny|forecast|degrees",
    "bank": r"\bbank\b|balance|\baccount\b",
    "film": r"\bmovie|\bfilm\b|cinema|theater",
    "repair": r"mechanic|\brepair|\boil change|tires?\b",
}
"""The domains of the corpora by their words."""


_NO_MORE, _REFUSES, _WISH, _MAYBE, _WIDE, _OPENER = (
    re.compile(pattern, re.IGNORECASE) for pattern in (NO_MORE, REFUSES, WISH, MAYBE, WIDE, OPENER)
)


_QUESTION_REGEXES = {
    point: re.compile(pattern, re.IGNORECASE) for point, pattern in QUESTION_PATTERNS.items()
}


_ANSWER_REGEXES = {
    point: re.compile(pattern, 0 if point in ("who", "name") else re.IGNORECASE)
    for point, pattern in ANSWER_PATTERNS.items()
}


_MATTER_OF = {matter: re.compile(pattern, re.IGNORECASE) for matter, pattern in MATTERS.items()}


def asks_clearly(text: str) -> bool:
    """Whether a customer asks a question or utters a wish here, and does not decline in the same breath."""
    if asks_question(text):
        return True
    return any(_WISH.search(part) and not _REFUSES.search(part.strip()) for part in _wants(text))


def asks_nothing(text: str, before: str = "") -> bool:
    """Whether the customer surely asks nothing and hands over nothing to be dealt with; `before` is what
    the agent had said, since an answer to a question of his wants to be acted on."""
    if "?" in before or "?" in text or any(_WISH.search(part) for part in _wants(text)):
        return False
    return is_thanks(text) or bool(_REFUSES.search(text)) or not _MAYBE.search(text)


def _wants(text: str) -> list[str]:
    """The sentences without "all I need" and the like."""
    return sentences(_NO_MORE.sub("", text))


def leaves_ask_open(text: str, before: str = "") -> bool | None:
    """Whether an ask stays open when this customer turn is passed over; None if that is not clear."""
    if asks_clearly(text):
        return True
    return False if asks_nothing(text, before) else None


def ask_points(ask: str) -> frozenset[str]:
    """The points (place, price, time ...) that a customer's definite question asks for; none if his
    question is wide, so that many a reply could pass for an answer."""
    questions = " ".join(part for part in sentences(ask) if "?" in part)
    if not questions or _WIDE.search(questions):
        return frozenset()
    return frozenset(point for point, pattern in _QUESTION_REGEXES.items() if pattern.search(questions))


def opens_like_answer(reply: str) -> bool:
    """Whether a yes, a no or a regret is at the reply's head, so that it might answer anything."""
    return bool(_OPENER.search(reply))


def is_surely_unanswered(ask: str, reply: str) -> bool:
    """Whether the question is definite and the reply touches none of its points."""
    points = ask_points(ask)
    return (
        bool(points)
        and not opens_like_answer(reply)
        and not any(_ANSWER_REGEXES[point].search(reply) for point in points)
    )


def topics_in(text: str) -> frozenset[str]:
    """The domains that the text speaks of by name."""
    return frozenset(matter for matter, pattern in _MATTER_OF.items() if pattern.search(text))


def is_other_topic(reply: str, earlier: str) -> bool | None:
    """Whether the reply brings in a matter that the text `earlier` does not have; None if that is not clear."""
    topics, earlier_topics = topics_in(reply), topics_in(earlier)
    if topics:
        return False if topics & earlier_topics else True if earlier_topics else None
    common = content_words(reply) & content_words(earlier)
    return False if len(common) >= 2 or len(content_words(reply)) <= 3 else None
