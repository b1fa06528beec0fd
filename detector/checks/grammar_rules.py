"""The rules of `grammar_slip`: patterns of a few neighbouring words, each by its name in the reason.

Every rule was read on dialogues of people before it came here; figures: `docs/experiments/natural.md`. Nouns
and verbs are closed lists, of what support, travel and shops talk about: any noun at all would need a parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PAST = (
    r"(?:booked|reserved|received|found|got|went|sent|made|arrived|confirmed|worked|saw|took|came|told|gave"
    r"|chose|scheduled|purchased|transferred|visited)"
)
_VERB_S = (
    r"(?:has|wants|needs|offers|serves|includes|comes|goes|takes|costs|works|looks|sounds|likes|suits|fits|"
    r"meets|seems|matches)"
)
_BASE = (
    r"(?:book|reserve|schedule|purchase|make|find|see|know|get|go|leave|arrive|depart|eat|watch|buy|"
    r"assist|add)"
)
_NOUNS = (
    r"(?:hotels|restaurants|trains|flights|options|results|places|movies|events|guesthouses|rooms|seats|"
    r"tickets|"
    r"buses|attractions|museums|colleges|parks|doctors|dentists|stylists|salons|apartments|houses|songs|"
    r"cars|"
    r"stops|people|adults|passengers|items|orders|days|nights|properties|locations|ways|reservations|"
    r"choices)"
)
_PLURAL = (
    rf"(?:{_NOUNS}|preferences|questions|requests|requirements|instructions|directions|restrictions|"
    rf"cuisines|"
    r"bedrooms|bed rooms|bathrooms|guests|areas|dates|times|degrees|transfers|[Aa]nswers|hours|minutes|"
    r"weeks|"
    r"months|miles|stars|dollars|pounds)"
)
_ONE = (
    r"(?:hotel|restaurant|option|place|guest ?house|apartment|attraction|museum|college|dentist|doctor|"
    r"salon|stylist|choice|ticket|event|movie|song|passenger|guest|person|nightclub|theatre|property|"
    r"day|night)"
)
_VEHICLE = r"(?:train|bus|flight)"
_NUMBER = (
    r"(?:[2-9]|[1-9]\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|"
    r"multiple|"
    r"some)"
)
_COUNT = (
    r"(?<![\w.,:/$£€#-])(?:[2-9]|[1-9]\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_END = r"(?=\s*(?:[.!?,;:)]|\Z))"
_AFTER_NOUN = (
    r"(?=\s*(?:[.!?,;:)]|\Z)| (?:in|for|on|at|that|which|with|and|to|from|available|are|is|near|of|by|"
    r"matching|"
    r"under|as|but)\b)"
)
_START = r"(?:\A|(?<=[.!?]\s)|(?<=\n))"
_CLAUSE = r"(?:\A|(?<=[.!?,]\s)|(?<=\n))"
_NO_LETTER = r"(?<![\w.'’/&-])"
_ARTICLE = r"(?<!\w )A"
"""A capital A that does not stand after a word, where it is a letter (Plan A)."""
_OPENS = (
    r"(?:\A|(?<=[.!?,;:]\s)|(?<=\n)|(?<=[-–] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bif )|(?<=\bas )|"
    r"(?<=\bthat )|(?<=\bsince )|(?<=\bbecause )|(?<=\bthink )|(?<=\b[Yy]es )|(?<=\b[Oo]k )|(?<=\b[Oo]kay )|"
    r"(?<=\b[Ss]ure )|(?<=\bsays ))"
)
"""Where a clause may begin: after a mark, a conjunction or an answer."""
_APOSTROPHE = r"['’]"
_WEEKDAY = r"(?:[Mm]on|[Tt]ues|[Ww]ednes|[Tt]hurs|[Ff]ri|[Ss]atur|[Ss]un)day"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_NOT_PAST = (
    r"(?!(?:[^.!?\n]|\.\d){0,80}\b(?:last|ago|yesterday|before|previously|earlier|originally|when|was|were|"
    r"did|back|in (?:19|20)\d\d)\b)"
)
_GUESTS = (
    r"(?:guests|people|persons|passengers|adults|children|kids|travell?ers|members|customers|users|employees|"
    r"colleagues|attendees|staff|diners|players|students|team|family|party|clients|agents|drivers|tenants|"
    r"participants|visitors|friends|teams|companies)"
)
"""Who may be the subject of wishing."""
_ASKING = r"(?:[Ww]hat|[Ww]hich|[Ww]hen|[Ww]here|[Hh]ow many)"
_WORDS = (
    r"(?:(?!would|do|does|did|are|is|was|were|will|can|could|should|shall|may|have|has|had|who|that|of|and|"
    r"you|we|i|they|people|must|might|it|if|which|when|what|where|whom|how)[a-z]{1,20}+,? ){0,4}"
)
"""Up to four words between a question word and its verb, none of them a subject or an auxiliary."""
_YOURS = (
    r"(?:support|help|name|phone number|number|reservation|order|trip|stay|booking|table|flight|patience|"
    r"request|meal|visit|tickets?|preferences?|budget|appointment|account|reference|destination|"
    r"email|address)"
)
_KIND = (
    r"(?:(?:very|really) )?(?:nice|good|great|cheap|expensive|lovely|popular|moderate|moderately priced|"
    r"beautiful|famous|excellent|romantic|[1-5] star)"
)
_SPOT = (
    r"(?:place|restaurant|hotel|option|choice|guest ?house|museum|one|house|apartment|dentist|"
    r"attraction)"
)

RULES: Mapping[str, re.Pattern[str]] = {
    "doubled word": re.compile(
        r"(?<![\w'’-])(the|an?|to|and|of|for|with|your|my|our|this|at|from|we|will|can|are|have|be|i|or|"
        r"is|you|"
        r"it|please|would|there|about|as|if|by|has|was|they)\s{1,3}\1(?![\w'’-])",
        re.IGNORECASE,
    ),
    "your for you're": re.compile(
        rf"\b[Yy]our (?:(?:very |most |quite |always |more than )?welcome{_END}"
        r"|(?:going to|looking for|looking to|not going|not able|all set|all good|all booked|the best|"
        r"a (?:star|"
        r"lifesaver)|"
        r"in luck|in for|in a hurry|most welcome|very welcome|trying to|absolutely right|welcome to|"
        r"able to|"
        r"sure|interested in)\b)"
    ),
    "you're for your": re.compile(
        rf"\b[Yy]ou{_APOSTROPHE}re (?:(?:booking|order|request|reservation|ticket)"
        r" (?:is|was|has|will|reference|number)|(?:ride|table|room|taxi|train) (?:is|was|has)|final|"
        r"account|name|phone|address|email|flight|trip|"
        r"appointment|card|car|"
        r"number|hotel|own)\b(?! (?:\d|#|one\b|two\b|three\b|verified|only|free|based|holders?\b|next\b|"
        r"first\b))"
    ),
    "you for your": re.compile(
        r"\b(?:suits?|fits?|meets?|match(?:es)?) you"
        r" (?:needs|criteria|requirements|requests?|preferences?|budget|tastes?)\b"
        rf"|\b(?:for|enjoy|of|confirm|with|is|at|from|what{_APOSTROPHE}s) you {_YOURS}\b"
        r"(?! (?:is|are|was|has|have|will|may|can|would)\b)"
        rf"|{_CLAUSE}you (?:table|tickets?|reservation|booking|appointment|ride|order|flight|room|car|taxi|"
        r"train|cab|viewing|payment) (?:is|are|has|have|was|were|will)\b",
        re.IGNORECASE,
    ),
    "it's for its": re.compile(
        rf"\b[Ii]t{_APOSTROPHE}s (?:(?:address|(?:tele)?phone number|number|post ?code|rating|name|website|"
        r"price range) (?:is|are|was)|own)\b"
        rf"|\bon it{_APOSTROPHE}s way\b"
    ),
    "its for it's": re.compile(
        r"(?<!of )(?<!on )(?<!at )(?<!with )\b[Ii]ts (?:an?|the|not|been|my|your|our|going to|located|called|"
        r"also|in the|gonna|too|at the|on the|from the)\b(?! (?:own|kind))"
        rf"|{_OPENS}[Ii]ts (?:(?:(?:very|really|currently|basically|actually) (?!first|last|own|next)"
        r"(?:\d|(?:from|in|at) |[\w-]{1,20}+(?=\s*(?:[.!?,;]|\Z)| (?:and|but|in|for|to|at|with|on|from|this|"
        r"here|there|"
        r"today)\b)"
        r"(?! and [\w-]{1,20}+ (?!this|is|was|us|has|its)[a-z]{1,20}s\b)))"
        r"|(?:cheap|expensive|free|moderate|moderately priced|open|nice|good|available|correct|fine|right|"
        r"raining|sunny|ok|okay)"
        r"(?=\s*(?:[.!?,;]|\Z)| (?:but|in|for|here|thanks|now|(?<!right )to|"
        r"and (?:[\w-]{1,20}+(?=[.!?,;]|\Z)|"
        r"it|i|you|we|they|has|is|there|the|in|on|near|close|offers|can|will))\b)"
        r"(?! and [\w-]{1,20}+ (?!this|is|was|us|has|its)[a-z]{1,20}s\b))"
    ),
    "their for there": re.compile(r"\b(?:[Tt]heir (?:is|are|was|were)|[Ii]s their (?:any(?:thing)?|an?))\b"),
    "there for their": re.compile(
        r"\b[Tt]here (?:(?:tele)?phone(?: number)?|number|address|website|postcode|name|menu|prices?|"
        r"rating|"
        r"location) (?:is|are)\b"
    ),
    "the for there": re.compile(
        rf"{_START}The are (?:\d{{1,4}}|several|many|some|no|two|three|four|five|a)\b"
    ),
    "then for than": re.compile(
        r"\b(?:rather|cheaper|better|bigger|smaller|longer|(?:more|less) expensive|less|other|more|"
        r"later|earlier|"
        r"sooner|higher|lower|closer|faster) then (?:the|an?|that|this|\d+|[a-z]+ (?:dollars|minutes|"
        r"hours|days|people))\b",
        re.IGNORECASE,
    ),
    "of for have": re.compile(
        rf"\b(?:[Ss]hould|[Cc]ould|[Ww]ould)(?:n{_APOSTROPHE}t)? of\b"
        r"(?! (?:course|the|these|those|this|that))"
    ),
    "lets for let's": re.compile(
        r"(?:\A|(?<=[.!?,]\s)|(?<=[Oo]k\s)|(?<=[Oo]kay\s)|(?<=[Ss]ure\s))[Ll]ets "
        r"(?:try|see|check|go|book|find|do|start|make|get|look|say|narrow|change|continue|take|set|have)\b"
    ),
    "another word in its place": re.compile(
        r"\b(?:(?:like|want|need|able|love|trying|me|us) too (?:book|make|reserve|buy|find|see|schedule|"
        r"visit|"
        r"try|eat|leave|go)|(?:not|is|are|was|way) to (?:busy|expensive|crowded|pricey)"
        r"|(?:number|postcode) if (?=\d{3}[\d-])"
        r"|(?:fee|price) if (?=\d{1,6}(?:[.,]\d{2})? (?:pounds|dollars|euros?|gbp|usd|per)\b)"
        r"|[Hh]ow (?:may|man) (?:people|tickets|days|nights|"
        r"guests|rooms)"
        r"|(?:for|help|assist|can|do|would|did|have|get) yo|an (?:it|is|are|they) (?:is|has|will|are|the)"
        r"|would you (?:lie|liked|likes|lime|life)"
        r"|(?:[Tt]ry|[Ii]s there) and (?:different|other|another)|(?:a different|the same) are (?=be|of|in)"
        r"|[Ww]hat are of (?:town|the)|(?:for|help|assist) your(?=\s*[?.!])"
        r"|(?<!and )(?<!to )fro (?=[A-Z]|your|the|\d)|[1-5] start (?:hotels?|rating|guesthouses?))\b"
    ),
    "there is with a plural": re.compile(
        rf"\b(?:[Tt]here is {_NUMBER} (?:[a-z]{{1,20}} ){{0,2}}{_NOUNS}"
        rf"|[Ii]s there any (?:(?:other|more|specific|particular|special|additional) )?{_PLURAL}"
        rf"|[Tt]here (?:is|isn{_APOSTROPHE}t|is not) (?:any|no) (?:(?:more|other|such|upcoming|"
        rf"available) )?"
        rf"{_PLURAL})\b(?=\s*(?:[^\w\s-]|\Z)| (?:i|we|you|they|he|she|that|which|who|in|for|on|at|of|to|from|"
        r"with|about|by|under|near|between|within|around|before|after|until|and|or|but|as|if|so|because|please|"
        r"left|scheduled|booked|planned|happening|showing|coming|available|listed|found|open|there|here|today|tonight|tomorrow|right|currently|matching|"
        r"going|leaving|arriving|departing|running|like|other|else|nearby|offered|close|needed|regarding|"
        rf"you{_APOSTROPHE}d|I{_APOSTROPHE}ll|the|your|my|this|these|can|playing|offering|serving|I)\b)"
    ),
    "there are with a singular": re.compile(
        r"\b[Tt]here are (?:(?:one|1) (?!of|or|to|and|-)[a-z]+\b(?! (?:or|and)\b)"
        rf"|(?:an?|no) (?:(?:cheap|moderate|expensive) )?(?:{_ONE}|{_VEHICLE}|cinema)\b{_AFTER_NOUN})"
    ),
    "singular after a number": re.compile(
        rf"{_COUNT} {_ONE}\b{_AFTER_NOUN}"
        rf"|\b[Hh]ow many (?:{_ONE}|room|seat|bedroom|bed room|bag|friend)\b(?![-'’]| [a-z]{{1,20}}s\b)"
        rf"|\b(?:many|several|few|various) {_ONE}\b{_AFTER_NOUN}|\b[Oo]ne of the best {_ONE}\b{_AFTER_NOUN}"
    ),
    "plural after one": re.compile(
        rf"(?<![\w.,:/$£€#-])(?:1|(?<![Nn]o )(?<!his )(?<!hat )(?<!hich )(?<!\ba )"
        r"(?<!\bA )(?<![Aa]ny )(?<![Ee]ach )(?<![Ee]very )[Oo]ne(?! (?:results|[Aa]nswers|requests|dates|"
        r"orders|stops|transfers|places|questions|seats|parks)"
        r" (?:in|at|from|the|an?|to|back|your|on|by|here|there)"
        rf"\b)) (?!people|times|areas){_PLURAL}\b"
        r"|\b[Tt]his (?:tickets|hotels|restaurants|reservations|flights|requirements|(?:details|results)"
        r"(?! (?:in|from|the|an?|how|what|which|each|all|every|your|our)\b))\b"
    ),
    "plural with a possessive": re.compile(
        rf"\b(?:\d{{1,3}}|two|three|four|several|many) (?:(?:cheap|expensive|other|"
        rf"different) )?(?:hotel|guesthouse|restaurant|"
        rf"ticket|college|museum|option){_APOSTROPHE}s{_AFTER_NOUN}"
    ),
    "plural in a measure": re.compile(
        r"\b(?:[1-5]|one|two|three|four|five)[ -]stars (?:rating|hotels?|guest ?houses?|restaurants?|"
        r"places?)\b"
        r"|\ban? \d{1,3}[ -](?:days|nights|hours|minutes|weeks|persons|bedrooms|miles) (?:trip|stay|"
        r"ride|walk|tour|"
        r"wait|drive|flight|apartment|house|rental)\b"
    ),
    "past after did or to": re.compile(
        rf"\b(?:(?:did not|didn{_APOSTROPHE}t|did you|did they|did we|did it) {_PAST}"
        rf"|(?:like|want|need|able|going|trying|try|wanted) to {_PAST}"
        rf"|(?:(?<!\bthe )(?<!\ba )(?<!\bthis )(?<!\byour )(?<!\bmy )(?<!\bour )(?<!\beach )(?<!\bevery )"
        rf"(?:will|can)|could|would|should|cannot|(?:ca|wo|could)n{_APOSTROPHE}t) (?:not |"
        rf"be able to )?{_PAST}"
        r"|do you (?:preferred|interested|wanted|needed|liked)|(?:like|want|need|"
        r"trying) to (?:purchases|books|"
        r"reserves|makes|finds|gets|goes|visits|sees))\b",
        re.IGNORECASE,
    ),
    "base form after have or be": re.compile(
        rf"\b(?:I|We|we)(?: have|{_APOSTROPHE}ve) (?:book|reserve|schedule|purchase|add|confirm|cancel|"
        rf"select)"
        r" (?:an?|the|your|you|it|this|\d{1,3}|one|two|three)\b"
        r"|\b(?:is|are|was|been) (?:book|reserve|schedule|confirm|cancel|locate)"
        r"(?=\s*(?:[.,!]|\Z)| (?:on|for|at|and|it|by|in|to|with)\b)"
        rf"|\b(?:[Aa]re you (?:look|search)|will (?:staying|leaving|arriving|going)|be (?:arrive|depart|"
        r"leave(?! (?:without|of|taken|granted|with pay|days?|requests?|balance)\b))) "
        rf"|\b(?:I|[Ww]e|[Yy]ou|[Tt]hey|[Hh]e|[Ss]he)(?: will|{_APOSTROPHE}ll) "
        r"(?!(?:br|r|s|spr|sw|st|cl|fl|p|sl|wr|str|d|z|dur|noth|anyth|someth|everyth|morn|even)ing\b)"
        r"[a-z]{1,20}ing\b"
    ),
    "does with a third person": re.compile(
        rf"\b(?:does|doesn{_APOSTROPHE}t|does not) (?:(?:it|he|she|this|that|"
        rf"the [a-z]+) )?(?:also )?{_VERB_S}\b"
        rf"|{_CLAUSE}(?:(?:and|but|so|or) )?is (?:there|this|that|it) (?:is|are) ",
        re.IGNORECASE,
    ),
    "wrong verb form": re.compile(
        rf"{_START}(?:(?:They|We|You) (?:is|was|has|(?:is|was|has|does)n{_APOSTROPHE}t)"
        rf"|(?:It|He|She) (?:have|are|were|do|(?:do|have|are)n{_APOSTROPHE}t)|I (?:has|is|are)|"
        rf"There (?:have|has)(?! been| to)"
        rf"|(?:The|This|Your) (?:(?:first|next|last) )?(?:{_VEHICLE}|hotel|restaurant|event|movie) "
        r"(?:are|were|have|depart|leave|arrive|serve|offer|take place)"
        rf"|(?:The|Your|These) (?:hotels|restaurants|trains|flights|tickets|rooms|seats) (?:is|was|has)"
        rf"|(?:It|The ticket|The bus|Each ticket) cost (?=[$£€\d]){_NOT_PAST})\b"
        rf"|(?<=[.!?]\s)(?:It|The ticket|Each ticket) cost (?=[$£€]){_NOT_PAST}"
    ),
    "question without its subject": re.compile(
        rf"\b{_ASKING} (?!(?:the|your|our|my|an?|their|his|her|this|that|these|those|every|each|all) "
        rf"|(?:[a-z]{{1,20}} )?{_GUESTS} ){_WORDS}(?:would like|do (?:want|need|prefer|plan))\b"
        r"(?! (?:you|it|they|people)\b)"
        rf"|{_CLAUSE}(?:[Ww]ould (?:like|prefer)|[Dd]o (?:want|prefer|have any))\b[^.!?\n]{{0,100}}\?"
    ),
    "question in the order of a statement": re.compile(
        rf"{_START}(?:(?:[Ii]n|[Aa]t|[Oo]n|[Ff]rom|[Ff]or|[Tt]o) )?(?:{_ASKING}|[Ww]hat else|"
        rf"[Hh]ow much),? {_WORDS}(?:you|we)"
        r" (?:would like|want|would prefer|wish|will|are|need|prefer|plan|require)\b"
        r"(?:(?! -{1,2} |: | is (?:the|an?|your|to|that|for) )[^.?!,;–—\n]){0,80}\?"
    ),
    "preposition twice": re.compile(
        r"\b(in|from|for|at|on|to) (?:which|what|where|whom|how many)\b"
        r"(?:(?! and (?:wh|how))[^.?!,\n]){1,60}?\b\1\s?\?",
        re.IGNORECASE,
    ),
    "wrong preposition of time": re.compile(
        r"\b(?:[Ii]n|[Aa]t) (?:what|which) (?:date|day)\b(?! of)|\b[Ii]n (?:what|"
        r"which) time\b(?! (?:zone|frame|period|slot))"
        r"|\bon (?:\d{1,2}(?::\d\d)? ?[aApP]\.?[mM]\b|\d{1,2}:\d\d\b)"
        r"(?! (?:[ap]m )?(?:train|flight|bus|show|one))"
        rf"|(?<!heck )(?<!heck- )(?<!hecking )(?<!hecked )\b(?:at|in) "
        rf"(?:{_WEEKDAY}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b"
        rf"(?!(?: morning| afternoon| evening| night)?{_APOSTROPHE}|/)"
        rf"|(?<!is )(?<!was )(?<!hold )(?<!going )(?<!playing )(?<!{_APOSTROPHE}s )\bon (?:today|"
        rf"tomorrow|tonight|"
        rf"that time|day after tomorrow|(?:next|this) (?:week|{_WEEKDAY}))\b(?!{_APOSTROPHE})"
    ),
    "wrong preposition": re.compile(
        r"\b(?:[Gg]et off (?:the )?(?!Bus|Train|Metro|Subway|Tram|Ferry|Highway|Freeway|Interstate|Line|"
        r"Exit)"
        r"(?:[A-Z][a-z]{1,30}|university|airport|stop|hotel|museum)"
        r"|arriv(?:e|es|ing|ed) to (?:the|your|[A-Z][a-z]{1,30})"
        r"|(?:help|assist)(?: you)? (?:in|on) any(?:thing| thing)(?: else)?"
        r"|[Ll]isten (?:the|this|that) (?:song|music)|suits? to your)\b"
    ),
    "missing preposition": re.compile(
        r"\b(?:any|some)thing else (?:that )?(?:I|we|i) can (?:help|assist)(?: you)?(?: today)?\s*\?"
        r"|\b[Cc]an (?:I|we) (?:help|assist) you (?:anything|something)\b"
        r"|\b(?:located|situated)(?: in)? (?:North|South|East|West|Cent(?:er|re)|north|south|east|west|"
        r"cent(?:er|re))"
        r"(?=\s*(?:[.,;!?]|\Z)| and\b)|\b(?:hotel|restaurant|place|it) is (?:North|South|East|West|"
        r"Cent(?:er|re))(?=\s*(?:[.,;!?]|\Z))"
    ),
    "missing to": re.compile(
        rf"\b(?:like|want) (?:me|us|it) (?:be|do|{_BASE}|search|look|check|help|try)\b"
        r"|\b(?:[Ww]ould you like|[Dd]o you want|[Yy]ou (?:would like|want)) "
        r"(?!leave (?:on|for|without|of|in|as|this|next|days?|or|and)\b|leave\s*[.?!,]"
        r"|book (?:tokens?|vouchers?)|purchase protection|schedule (?:alerts|updates)|watch "
        r"(?:straps?|bands?))"
        rf"{_BASE}\b(?![-'’])"
        r"|(?<!\b[Aa] )(?<!\breal )\bmust to (?:pay|be|have|do|send|call|contact|wait|provide|sign|show|use|"
        rf"check|complete|confirm|{_BASE[3:-1]})\b"
    ),
    "missing article": re.compile(
        r"\b(?:in (?:centre|center) (?:of|at|and)|in (?:north|south|east|west) (?:part|side|area|of)"
        r"|in (?:cheap|moderate|expensive) price range"
        r"|[Hh]ave (?:very )?(?:good|nice|great|wonderful|lovely|pleasant|safe) (?:day|evening|trip|"
        r"night|weekend|stay|flight|one|time)(?! (?!as|is|was|this|us|yes|has)[a-z]{2,20}s\b)"
        r"|(?:name|address|number|rating) of (?:hotel|restaurant|station|salon|doctor|dentist) is"
        r"|bring (?:[Pp]roof of [Ii]ncome and )?(?:[A-Z]{2,10} )?(?:[Pp]assport|[Bb]ank [Ss]tatement|"
        r"[Cc]ertificate|"
        r"ID card|[Rr]eceipt))\b"
        r"|\b(?:book|reserve|make|need|buy|purchase|get|want) (?:table|ticket|appointment|reservation|"
        r"taxi|cab|booking|train|hotel|restaurant)"
        r"(?=\s*(?:[.!?,]|\Z)| (?:for|at|in|on|with|to|and|now)\b)"
        rf"|\b(?:[Tt]his is|[Ii]t is|[Ii]t{_APOSTROPHE}s|[Tt]here is|[Tt]here{_APOSTROPHE}s|which is|"
        rf"I found) "
        rf"{_KIND} {_SPOT}\b(?=\s*(?:[.!?,;]|\Z)| (?:in|for|to|that|with|which|and|called|named|located|"
        rf"near)\b)"
    ),
    "missing relative": re.compile(
        rf"\b(?:[Tt]here is|[Tt]here{_APOSTROPHE}s|I (?:have )?found|[Ww]hat about|[Hh]ow about|"
        rf"I have) an? "
        rf"(?:(?!that|which|and|when|if|but|or|as|what)[\w'-]{{1,20}}+ ){{0,2}}{_VEHICLE} (?:leaves?|"
        rf"departs?|arrives?)\b"
    ),
    "object of the wrong verb": re.compile(
        r"\b[Cc]ontact(?:ed|ing) with (?:you|us|me|him|her|them)\b"
        r"|\b(?:will|can|should|[Pp]lease) contact with (?:you|us|me|him|her|them)\b"
        r"|\b(?:[Cc]onfirm|[Ee]xplain) me (?:that|the|if|again|your|this|these|about|when|where)\b"
    ),
    "plural of an uncountable": re.compile(
        r"\b(?:informations|luggages|equipments|furnitures|homeworks|childs|criterias|womans|"
        r"(?<!remittance )(?<!payment )(?<!shipping )(?<!dispatch )(?<!despatch )(?<!delivery )(?<!credit )"
        r"(?<!debit )advices|mans(?! (?:the|our|an?|this|that|all|both|each|your)\b)|"
        r"knowledges|sceneries)\b",
        re.IGNORECASE,
    ),
    "a for an": re.compile(
        rf"{_NO_LETTER}(?:(?:a|{_ARTICLE}) ([aeiou][a-z]{{2,30}}|hour|honest|honou?r|hono[a-z]{{1,10}}|"
        r"hourly)"
        rf"|(?:a|{_START}A) ([AEIOU][a-z]{{2,30}}))\b(?![-'’])"
    ),
    "an for a": re.compile(
        rf"{_NO_LETTER}[Aa]n ([b-df-hj-np-tv-z][a-z]{{2,30}}|u[a-z]{{2,30}}|eu[a-z]{{2,30}}|one|"
        rf"once|[BCDFGJKLPQTVWYZ][a-z]{{2,30}})\b(?![-'’])"
    ),
    "a before a number": re.compile(
        rf"{_NO_LETTER}(?:(?:a|{_ARTICLE}) (?:8|11|18|8\d)\b(?![.,]\d)|[Aa]n (?:[1-79]|1[02-79]|[2-79]\d)\b)"
    ),
}
"""Each rule by its name in the reason of a finding."""
