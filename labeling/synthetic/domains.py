"""Whether synthetic text fits a dialogue: of its domain or of none, and asking for nothing already stated.

A sentence about bins in a dialogue about coffee would be a topic jump, an error of another code, in the error
and in its twin alike. Decided by word lists alone; what the sentence says is not checked against the
facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import TypeVar

from dialint.labeling.synthetic.draft import Draft

DOMAINS: dict[str, str] = {
    "parcel": r"parcel|packag|deliver|courier|ship(?:s|ped|ping|ment)?\b|depot|warehouse|tracking|track it|scanned|dispatch|hermes"
    r"|evri|locker",
    "order": r"(?<!in )order\b|orders\b|ordered|purchas|bought|item|product",
    "back": r"refund|return(?:s|ed)?\b|exchange|swap|replacement|money back|paid back|credit of|chargeback",
    "stock": r"stock|sold out|sizes?\b|colou?rs?\b|shoes|shirt|coat|jacket|jeans|kettle|lamp|brand|sale\b|warrant|guarantee|repair"
    r"|spare part|serial|receipt|checkout|till\b|jewel|gift|t-shirt|label\b|model\b|on level",
    "shop": r"shops?\b|stores?\b|branch|our staff on|at the desk|front desk|street branch|lidl|counter\b|bay \d",
    "money": r"bank|loan|mortgage|cheque|transfer\b|fraud|balance|payee|coins?\b|wallet|atm|cash|interest rate|isa\b|iban|chip\b"
    r"|sort code|statement|pays? out|winnings",
    "card": r"cards?\b|cvv|cvc|pin\b|pins\b|terminal\b|mastercard|visa\b|amex|contactless|3-d",
    "price": r"pric|fees?\b|charg|bill(?:s|ed|ing)?\b|discount|voucher|promo|deposit|invoice|dollars?\b|pounds?\b|euros?\b|cost|paid\b"
    r"|pay\b|payment|percent|cheap|[$£]\s?\d|gbp|money|quote comes|penalty|your points|loyalty points|rent\b|excess|fare|balance",
    "account": r"account|profile|password|passphrase|log ?in\b|sign in|signed in|user ?names?|username|sign(?:ed)? up|member (?:number|id|no)|membership|members\b|vault",
    "plan": r"plans?\b|contract|subscri|tariff|trial|upgrade|policy renews|offer\b|streaming|renews?\b",
    "phone": r"roaming|sim\b|handset|iphone|xiaomi|huawei|esim|voicemail|puk|port your|imei|mobile network|smartphone|battery|charger",
    "line": r"router|modem|cable|broadband|fibre|wi-?fi|signal\b|outage|wifi|works on the road|internet|the line\b|down until|network",
    "computer": r"computer|browser|software|install|laptop|printer|vpn|npm|git\b|script|regex|json|tag <|folder|remote|anydesk|teamviewer"
    r"|desktop|authenticator|device|reboot|restart|adaptor|plug|appdata|settings|version|reset it|notifications|known issue|light\b"
    r"|pc\b|the tool|admin",
    "home": r"meter|boiler|electric|gas\b|water\b|washing machine|landlord|lease|tenant|council|bins\b|keys\b|flat\b|furniture|equipment"
    r"|neighbou?r|technician|engineer|cellar|power\b|lift\b|building|cleaner|yacht|quay|door\b|doors\b|the move|pipe",
    "hotel": r"hotel|rooms?\b|breakfast|check-in|lounge|pool|guest|nights?\b|lodging|checkout|bathroom|storage|luggage|holiday|bed\b",
    "flight": r"flight|fly\b|airline|airport|gate\b|baggage|passenger|boarding|gatwick|miles\b|plane\b|frequent flyer|seats?\b|aisle",
    "train": r"trains?\b|bus(?:es)?\b|tram\b|platform|station|strike|rail\b|ticket|tickets|coach\b|travel|departure|arrival|trip",
    "table": r"restaurant|table\b|food|meal|dish|gnocchi|pho\b|cuisine|dinner|lunch|menu|pizza|coffee|drink|biscuit|grubhub|krispy|serve\b",
    "health": r"clinic|nurse|doctor|the patient|patients\b|prescri|pharmac|blood|dose|hospital|dentist|appointment|surgery|teeth|lab\b|health",
    "insurance": r"insur|claim\b|claims\b|policy\b|policies|assessor|accident|covers?\b|cover\b|damage|chart\b|premium",
    "car": r"cars?\b|tyre|tire\b|vehicle|brakes|garage|licen[cs]e|plate\b|skoda|toyota|citroen|mechanic|fuel|child seat|parking|park there"
    r"|kwik|oil\b",
    "ride": r"taxi|rides?\b|driver|uber|lyft|pick(?:ed)?[- ]?up\b|cab\b|van\b|drove",
    "state": r"passport|tax\b|visa\b|agency|benefits|government|hearing|portal|ssn|social security|id card|\bid\b|full social|school|election"
    r"|licen[cs]e|payroll|committee|certificate|public office|in hospital",
    "booking": r"book\b|booked|booking|reserv|rebook|cancelled|check-in|slot\b|early check",
    "film": r"cinema|movie|film|theat(?:er|re)|concert|museum|song",
    "weather": r"storm|rain\b|snow|weather|north\b",
    "family": r"mother|wife|husband|child|children|adults?\b|son\b|daughter|pets?\b|womans|women|womens",
    "place": r"madrid|london|leeds|leicester|worcester|birmingham|dublin|united kingdom|in your street|in your city|outside the eu|only for customers in the eu"
    r"|reykjavik|town\b|city\b|head office|in the lobby|lobby",
    "scene": r"he\b|she\b|his\b|her\b|their parcel|bags?\b|house|window|noise|ring\b|rang\b|queue|apps?\b|box(?:es)?\b|key\b|score|guide|walk\b"
    r"|visit|works on|older|yesterday|last week|last night|letters?\b|post\b|half of it|one left|two left|20 years|under 18"
    r"|noon|by five|works too|preferred time|dates\b|staff on site|maintenance|for free|is free|free of|on its way",
    "calendar": r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|january|february|march\b|april|(?:in|of|by|since|\d) may\b|june"
    r"|july|august|september|october|november|december|20[012]\d\b|tomorrow|quarter",
    "papers": r"form\b|forms\b|signature|sign(?:ed|s)? (?:it|both|the|by)|must sign|the papers|documents?\b|photo|screenshot|picture|scan\b|terms\b|in writing"
    r"|letter\b|signed|upload|pictures|envelope|application",
}
"""Patterns of each domain, matched at the start of a word."""


REQUEST_PATTERNS: dict[str, tuple[str, str]] = {
    "name": (r"\b(?:name|surname)\b", r"\b(?:name|surname|this is|i'?m [A-Z]\w+|mr|ms|mrs)\b|\[NAME"),
    "number": (
        r"\b(?:order|booking|customer|account|policy|reference|confirmation|tracking|ticket|case|member) "
        r"(?:number|no|code|id|reference)\b|\breference\b|\bbooking code\b|\border no\b|\b(?:order|transaction) id\b",
        r"\d{4,}|\b(?:number|reference|id)\b|\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6,}\b",
    ),
    "mail": (r"\be-?mails?\b", r"@|\be-?mail"),
    "phone": (r"\bphone number\b|\bnumber .{0,12}call\b|\bmobile\b", r"\bphone|\d{3}[- ]?\d{3,}|\bcell\b|\bmobile\b"),
    "address": (
        r"\b(?:address|street|city|town|postcode|postal code|zip|house number|flat number|floor|location)\b",
        r"\b(?:address|street|road|avenue|zip|postcode|post code|city|town|lane|drive)\b|\b\d{5}\b",
    ),
    "day": (r"\b(?:date|day|days|when)\b(?! of birth)", r"\b(?:\w+day|today|tomorrow|tonight|date|weekend)\b|\d/\d"),
    "time": (
        r"\b(?:time|hour)\b(?! slot)",
        r"\b\d{1,2}:\d\d|\b\d{1,2} ?(?:am|pm)\b|o'clock|\b(?:time|noon|morning|evening|tonight)\b",
    ),
    "party": (r"\b(?:people|guests?|how many)\b", r"\b(?:people|person|guests?|party|of us|tickets?)\b"),
    "birth": (r"\b(?:date of birth|birthday)\b", r"\bbirth|\bborn\b|\b19\d\d\b"),
    "card": (r"\blast (?:four|4)\b|\bcard type\b|\btype of card\b|\bkind of card\b", r"\blast (?:four|4)|\bcard\b|ending in|\bvisa\b"),
    "user": (r"\b(?:user ?name|login name)\b", r"\buser ?name|\buser\b"),
    "city": (r"\bfrom where\b|\bwhere\b", r"\bfrom\b"),
}  # fmt: skip
"""By kind of detail, a pattern of requests for it, and one of texts that state it or asked for it before."""


Words = TypeVar("Words")


_ASKING = re.compile(
    r"\?|\b(?:please|pls|need|tell|give|send|may i|provide|confirm|let me have|state|spell|type|what)\b",
    re.IGNORECASE,
)


_NAME_MENTION = re.compile(
    r"\b(?:my|your|the) (?:first |full |last )?name\b|\bname is\b|\bthis is [A-Z]\w+|\bI(?:'?m| am) [A-Z]\w+"
    r"|\b(?:Mr|Mrs|Ms|Dr)\b|\[NAME|(?:^|[.!] )(?:Hi|Hello|Dear) [A-Z]\w+"
)


_BARE_ASK = 6
"""Words of a text that may be an ask without any verb."""


TRIES = 60
"""Default number of samples before a dialogue is given up."""


_DOMAIN_REGEXES = tuple(
    (name, re.compile(rf"\b(?:{words})", re.IGNORECASE)) for name, words in DOMAINS.items()
)


_REQUEST_REGEXES = tuple(
    (re.compile(request, re.IGNORECASE), re.compile(stated, re.IGNORECASE))
    for request, stated in REQUEST_PATTERNS.values()
)


@lru_cache(maxsize=1 << 15)
def domains_in(text: str) -> frozenset[str]:
    """The domains that the text speaks of; empty for words that fit any chat."""
    return frozenset(name for name, pattern in _DOMAIN_REGEXES if pattern.search(text))


def dialogue_domains(draft: Draft) -> frozenset[str]:
    """The domains that the dialogue speaks of."""
    return domains_in("\n".join((*(turn.text for turn in draft.turns), draft.domain)))


def asks_for_stated(words: str, draft: Draft, index: int) -> bool:
    """Whether the words ask for a detail that was stated before the turn at `index`."""
    if not _ASKING.search(words) and len(words.split()) > _BARE_ASK:
        return False
    patterns = [stated for ask, stated in _REQUEST_REGEXES if ask.search(words)]
    before = "\n".join(turn.text for turn in draft.turns[:index]) if patterns else ""
    return any(stated.search(before) for stated in patterns)


def names_somebody(draft: Draft) -> bool:
    """Whether somebody is named in the dialogue, so that any other name would be a wrong one."""
    return any(_NAME_MENTION.search(turn.text) for turn in draft.turns)


def sample_fitting(
    draft: Draft,
    rng: Random,
    sample_words: Callable[[], Words],
    texts: Callable[[Words], tuple[str, ...]],
    allowed: Callable[[Words], bool] = lambda words: True,
    anywhere: frozenset[str] = frozenset(),
    tries: int = TRIES,
) -> Words | None:
    """The first sample that is `allowed` and of which no text is of a domain foreign to the dialogue;
    the domains in `anywhere` fit everywhere. None after `tries` samples."""
    allowed_domains = dialogue_domains(draft) | anywhere
    for _ in range(tries):
        sample = sample_words()
        if all(domains_in(text) <= allowed_domains for text in texts(sample)) and allowed(sample):
            return sample
    return None
