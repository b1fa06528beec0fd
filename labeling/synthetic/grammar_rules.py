"""Rules that rewrite a few words of a correct sentence into an error, by mechanism: those of training and
of dev.

Each leaves something that no native editor would let stand. Where a rule could by chance leave a correct
sentence (a name that needs no article, a plural that needs none), its pattern is narrower than its idea.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """`pattern` is a regular expression, case ignored; `becomes` are templates of which one is taken."""

    pattern: str
    becomes: tuple[str, ...]


_VERBS = "book|find|help|check|see|need|want|offer|recommend|suggest|confirm|look|assist|send|know|get"


_VERBS_IN_E = "make|like|provide|arrange|change|arrive|leave|take|have|reserve|give"


_PARTICIPLE = {
    "booked": "book", "found": "find", "made": "make", "cancelled": "cancel", "sent": "send",
    "reserved": "reserve", "updated": "update", "processed": "process", "located": "locate",
    "changed": "change", "confirmed": "confirm", "scheduled": "schedule", "ordered": "order",
    "added": "add", "given": "give", "taken": "take", "completed": "complete", "returned": "return",
}  # fmt: skip


_IRREGULAR = {
    "gone": "went", "taken": "took", "written": "wrote", "chosen": "chose", "given": "gave", "seen": "saw",
    "done": "did", "spoken": "spoke", "forgotten": "forgot", "begun": "began", "found": "finded", "sent": "sended",
    "made": "maked", "left": "leaved", "got": "getted", "been": "be", "had": "haved",
}  # fmt: skip


_THINGS = (
    "area|centre|center|north|south|east|west|restaurant|hotel|train|station|phone|counter|screen|price range"
    "|address|menu|system|coffee bar|bar|day|morning|afternoon|evening|booking|order|account|reservation"
    "|guesthouse|museum|college|cost|same|first|name|airport|driver|right|left|refund|flight|appointment|venue"
)


_COUNTED = (
    "hotel|restaurant|train|option|place|guesthouse|attraction|college|museum|night|ticket|guest|star|minute|hour"
    "|room|result|church|day|pound|dollar|credit|person|item|order|flight|bag|passenger|bedroom|venue|step|block"
)


_PLACES = "cambridge|london|norwich|stevenage|birmingham|leicester|peterborough|ely|chicago|pittsburgh|town"


_BE = "(?:'m| am|'re| are|'s| is)"


_LIKE = "like me to|like to|want to|need to|prefer to"


_BASE = (
    "book|find|make|get|help|see|know|check|change|stay|leave|go|order|look|cancel|visit|try|hear|add|return"
)


_ASKS = "what|which|how|when|where|why"


RULES: dict[str, tuple[Rule, ...]] = {
    "agreement": (
        Rule(r"\b(it|this|he|she) is\b", (r"\1 are", r"\1 be", r"\1 am")),
        Rule(r"\b(it|this|he|she) has\b", (r"\1 have",)),
        Rule(r"\b(it|this|he|she|train|restaurant|hotel|there|booking|order) was\b", (r"\1 were",)),
        Rule(r"\bi(?: a|')m\b", ("I is", "I are", "I be")),
        Rule(r"\b(i|we|you|they) have\b", (r"\1 has",)),
        Rule(r"\b(we|you|they|these|those) are\b", (r"\1 is",)),
        Rule(r"\bthere are (?=\d|no \w+s\b|several|many|two|three)", ("there is ", "there be ")),
        Rule(r"\b(we|you|they) were\b", (r"\1 was",)),
        Rule(r"\b(i|we|you|they) do(n't| not)\b", (r"\1 does\2",)),
        Rule(r"\b(it|this|he|she) does(n't| not)\b", (r"\1 do\2",)),
        Rule(r"\bdoes (it|this|he|she|that)\b(?=[^.!]{0,500}\?)", (r"do \1",)),
        Rule(r"\bdo you\b", ("does you",)), Rule(r"\bare you\b", ("is you",)), Rule(r"\bhave you\b", ("has you",)),
        Rule(r"\b(i|we|you|they) (need|want|recommend|suggest|hope|see|offer|know|look|work|require)\b", (r"\1 \2s",)),
        Rule(r"\b(it|train|taxi|bus|flight|restaurant|museum|hotel) (leave|arrive|depart|serve|cost|offer|take|open|"
             r"close|start|include)s\b", (r"\1 \2",)),
        Rule(r"\b(price|address|number|code|postcode|name|time|fee|total|order|booking|reservation) (is|was|has)\b",
             (r"\1 are", r"\1 were", r"\1 have")),
        Rule(r"\b(options|trains|hotels|restaurants|places|details|items|prices|guesthouses) are\b", (r"\1 is",)),
        Rule(r"\b(options|trains|hotels|restaurants|places|items|guesthouses|flights) (leave|have|offer|serve)\b",
             (r"\1 \2s",)),
    ),
    "article": (
        Rule(r"\ba (?=(?-i:[b-df-gj-np-tvz][a-z]))(\w+)", (r"an \1",)),
        Rule(r"\ban (?=(?-i:[aeio][a-z]))(\w+)", (r"a \1",)),
        Rule(rf"\b(in|on|at|to|from|of|with|for) the ((?:{_THINGS})(?= (?:of|is|for|at|to|and|in)\b|[.,?!]|$))", (r"\1 \2",)),
        Rule(r"\b(is|have|book|need|make|find|get|like|you|found|want|with) an? (?!few|lot|little|couple|variety|bit|coffee|tea"
             r"|latte|mocha|cappuccino|number|\w+ (?:latte|tea|coffee))((?-i:[a-z]{3,}))\b", (r"\1 \2", r"\1 the a \2")),
        Rule(r"\b(is|are|have|found|was) the (same|only|best|first|last|cheapest|nearest|closest|right|correct)\b",
             (r"\1 \2", r"\1 a \2", r"\1 an the \2")),
        Rule(rf"\b(in|to|from|for|near) ({_PLACES})\b", (r"\1 the \2", r"\1 a \2")),
        Rule(r"\bthe (same|best|first|last|only)\b", (r"a \1", r"the a \1")),
        Rule(rf"(?:^|(?<=[.!?] ))the ((?-i:{_THINGS})) (is|has|will|can|was)\b", (r"\1 \2",)),
        Rule(r"\b(your|their|our|my) (name|order|booking|address|phone|ticket|room|reservation|account|stay)\b",
             (r"the \1 \2", r"\1 the \2", r"a \1 \2")),
    ),
    "tense": (
        *(Rule(rf"\b(have|has|been|was|is|'ve|are) {done}\b", (rf"\1 {base}",)) for done, base in _PARTICIPLE.items()),
        *(Rule(rf"\b(have|has|had|'ve|been|was) {done}\b", (rf"\1 {bad}",)) for done, bad in _IRREGULAR.items()),
        Rule(rf"\b(can|could|will|would|may|should) (i|you|we) ({_VERBS})\b", (r"\1 \2 \3ing", r"\1 \2 to \3", r"\1 \2 \3s")),
        Rule(rf"\b(can|could|will|would|may|should) (i|you|we) ({_VERBS_IN_E})\b", (r"\1 \2 \3s", r"\1 \2 to \3")),
        Rule(rf"\b(i|you|we|they|it) (can|could|will|should|would) ({_VERBS_IN_E})\b", (r"\1 \2 \3s", r"\1 \2 to \3")),
        Rule(rf"\b(i|you|we|they|it) (can|could|will|should|would) ({_VERBS})\b", (r"\1 \2 \3s", r"\1 \2 to \3", r"\1 \2 \3ing")),
        Rule(r"\bwould (you|they) like\b", (r"would \1 likes", r"would \1 liked", r"would \1 liking")),
        Rule(r"\bdo you (have|need|want|know)\b", (r"do you having", r"do you had", r"do you needed", r"did you had")),
        Rule(r"\b(will|to|would|can|should) be\b", (r"\1 being", r"\1 been", r"\1 is", r"\1 was")),
        Rule(r"\bhas been\b", ("has being", "have be", "has was")), Rule(r"\bhave been\b", ("have being", "has be")),
        Rule(r"\bi(?:'m| am) (look|check|send|book)ing\b", (r"i am \1", r"i are \1ing", r"i'm \1ed", r"i looking to \1")),
        Rule(r"\bdid (you|we|they) (have|want|need|get)\b", (r"did \1 had", r"did \1 wanted")),
        Rule(r"\b(able|like|need|want) to (book|find|make|get|help|see)\b", (r"\1 to \2ing", r"\1 \2", r"\1 to \2s")),
        Rule(r"\b(wasn't|am not|was not|isn't|not) able to (find|book|make|get)\b", (r"\1 able to found", r"\1 able \2ing")),
        Rule(r"\b(couldn't|could not|didn't|did not|can't|cannot) (find|see|have|make)\b", (r"\1 found", r"\1 to \2", r"\1 \2s")),
        Rule(r"\bi (found|booked|made|sent|checked|added)\b", (r"i have been \1", r"i am \1", r"i did \1")),
    ),
    "negative": (
        Rule(r"\b(don't|do not|doesn't|does not|can't|cannot|didn't|couldn't|could not) (have|find|see|need|want) "
             r"(any|anything)\b", (r"\1 \2 no", r"\1 \2 nothing", r"no \2 \3")),
        Rule(r"\b(isn't|aren't|wasn't|weren't|is not|are not) any\b", (r"\1 no", r"\1 none")),
        Rule(r"\b(there|i|we) (are|have|found) no\b", (r"\1 don't \2 no", r"\1 not \2", r"\1 no \2")),
        Rule(r"\b(do|does|did|can|could) not\b", (r"\1 not never", r"no \1", r"not \1")),
        Rule(r"\b(don't|doesn't|didn't)\b", ("not", "no", "aren't")),
        Rule(r"\bwithout any\b", ("without no",)), Rule(r"\bnot have\b", ("not has", "no have", "not having no")),
        Rule(r"\b(is|are|am|was) not\b", (r"not \1", r"no \1", r"\1 no")),
        Rule(r"\b(can't|cannot|couldn't) (find|book|see|help|make)\b", (r"can't not \2", r"no can \2")),
    ),
    "order": (
        Rule(rf"\b({_ASKS}) (can|could|would|should|will|are|do|did) (i|you|we)\b", (r"\1 \3 \2",)),
        Rule(r"\b(can|could|would|should|will|may) (i|you|we) ([a-z]+)\b(?=[^.!?]{0,500}\?)", (r"\1 \3 \2", r"\3 \1 \2")),
        Rule(r"\b(what|which) (day|time|area|city|type|price range|kind) (would|do|should|are) (you|we)\b",
             (r"\1 \2 \4 \3", r"\2 \1 \3 \4")),
        Rule(r"\b(is|are) there (any|anything|a|an)\b", (r"\2 is there", r"there \1 \2 is")),
        Rule(r"\bcan help\b", ("help can",)),
        Rule(r"\b(please|just|also) (let|provide|give|tell|note) (me|us|your|the|that)\b", (r"\2 \3 \1",)),
        Rule(r"\bthe (same|best|next|first|other|cheapest|available|expensive|cheap|nearest|total) (\w+)\b",
             (r"\1 the \2", r"the \2 \1")),
        Rule(r"\b(phone|reference|contact|order|confirmation) number\b", (r"number \1",)),
        Rule(r"\b(is|are) (located|available|booked|open|included|ready)\b", (r"\2 \1",)),
        Rule(r"\bwould you like\b", ("like you would", "would like you", "you like would")),
        Rule(r"\b(have|has) (already|just|also) (\w+ed)\b", (r"\1 \3 \2 the", r"\2 \3 \1")),
        Rule(r"\b(a|an) (very|really|quite) (\w+)\b", (r"very \1 \3", r"\1 \3 very")),
        Rule(r"\b(anything|something) else\b", (r"else \1", "other anything")),
        Rule(r"\b(how many) (\w+s)\b", (r"\2 \1", "many how \\2", r"how \2 many")),
        Rule(r"\b(i|we) (will|can|could) (book|find|check|send|make)\b", (r"\1 \3 \2", r"\2 \3 \1")),
        Rule(r"\b(book|send|check|cancel|change) (it|that|them) for you\b", (r"\1 for you it", r"it \1 for you")),
    ),
    "auxiliary": (
        Rule(r"\b(i)(?: a|')m (?=(?:sorry|afraid|happy|unable|able|looking|checking|glad|sending|not)\b)", (r"\1 ",)),
        Rule(rf"\b(you|we|they){_BE} (?=(?:welcome|looking|going|all|very|located|open|able)\b)", (r"\1 ",)),
        Rule(rf"\b(it){_BE} (?=(?:a|an|the|located|in|on|available|not|also|open|expensive|cheap)\b)", (r"\1 ",)),
        Rule(r"\b(there) (?:is|are) (?=(?:a|an|no|\d+|several|many|two|three|also|plenty)\b)", (r"\1 ",)),
        Rule(rf"\b({_ASKS}|how many \w+|what \w+|which \w+) (?:do|are|would|will|did|does) (you|they|it)\b", (r"\1 \2",)),
        Rule(r"(?:^|(?<=[.!?,] ))(?:do|are|would|will) (you) (like|looking|have|need|want|be)\b(?=[^.]{0,500}\?)", (r"\1 be \2", r"is \1 \2 do")),
        Rule(r"\b(train|hotel|restaurant|number|address|price|phone|postcode|reference|booking|fee|name) is (?=\w)", (r"\1 ",)),
        Rule(r"\b(order|booking|ticket|request|reservation|table|room) (?:has|have) been\b", (r"\1 been", r"\1 has")),
        Rule(r"\b(will|would|can|should) be (ready|available|happy|able|there|arriving|leaving|sent|booked|charged|a)\b", (r"\1 \2",)),
        Rule(r"\b(i|we)(?:'ve| have) (been|gone|done|taken|seen|given|chosen)\b", (r"\1 \2",)),
        Rule(r"\bwhat is (the|your)\b", (r"what \1", r"what are \1")), Rule(r"\bis there any\b", ("is any there", "there any is")),
        Rule(r"\b(they|we|you) are (?=\w+ing\b)", (r"\1 ",)), Rule(r"\b(what) (?:does|do) (it|that|this|they)\b", (r"\1 \2",)),
        Rule(r"\b(it|this|that) is (ready|correct|right|fine|free|open)\b", (r"\1 \2",)),
    ),
    "count": (
        Rule(rf"(?<![\d.:])\b(two|three|four|five|six|seven|eight|several|many|multiple|both|these|those|few|all|\d\d?) ({_COUNTED})s\b"
             r"(?! ?(?:star|\d))", (r"\1 \2",)),
        Rule(rf"(?<![\d.:])\b(a|one|1|another|this|every|each) ({_COUNTED})\b(?=[ .,?!]|$)", (r"\1 \2s",)),
        Rule(r"\bhow many\b", ("how much",)), Rule(r"\bhow much (?=is|does|will|would|do)", ("how many ",)),
        Rule(r"\bmany\b(?= \w+s\b)", ("much", "a many", "many of")), Rule(r"\ba few\b", ("a little few", "few of a")),
        Rule(r"\bpeople\b", ("peoples", "persons of people", "a people")), Rule(r"\binformation\b", ("informations", "an information")),
        Rule(r"\b(children|men|women|feet)\b", (r"\1s",)), Rule(r"\b(help|assistance|luggage|advice)\b(?= [a-z]|[.?!])", (r"\1s",)),
        Rule(r"\b(these|those) (\w+s)\b", (r"this \2", r"that \2")), Rule(r"\bthis (hotel|train|restaurant|order|place|one)\b", (r"these \1",)),
        Rule(r"\bone of the (\w+)s\b", (r"one of the \1",)), Rule(r"\b(any|no) other (\w+)s\b", (r"\1 others \2s", r"\1 others \2")),
        Rule(r"\bother (options|hotels|restaurants|places|trains|questions|details)\b", (r"another \1", r"others \1")),
        Rule(r"\ba lot of\b", ("a lots of", "lot of", "a lot")), Rule(r"\bmore (details|options|questions|trains)\b", (r"much more \1s", r"mores \1")),
    ),
    "particle": (
        Rule(r"\b(in|to|of) the (north|south|east|west|centre|center|morning|afternoon|evening)\b", (r"at the \2", r"for the \2", r"by the \2 of")),
        Rule(r"\bon (monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b", (r"in \1", r"at \1", r"in the \1")),
        Rule(r"\bat (\d{1,2}:\d\d|noon|midnight|\d{1,2} ?[ap]m)\b", (r"on \1", r"in \1", r"to \1")),
        Rule(r"\b(arriv\w+) (?:in|at) (?=[a-z])", (r"\1 to ", r"\1 on to ")),
        Rule(r"\b(depart|leav)(ing|es?|s) from\b", (r"\1\2 of", r"\1\2 since")),
        Rule(r"\b(interested) in\b", (r"\1 on", r"\1 for", r"\1 to")), Rule(r"\b(located) in\b", (r"\1 to", r"\1 of", r"\1")),
        Rule(r"\b(help|assist) you with\b", (r"\1 you in to", r"\1 to you with", r"\1 you of")),
        Rule(r"\b(look|looking|searching|search|waiting|wait|ask|asking|pay) for\b", (r"\1 to", r"\1 of", r"\1 on")),
        Rule(r"\b(thank you|thanks) for\b", (r"\1 of", r"\1 from", r"\1 at")), Rule(r"\bsorry for\b", ("sorry of", "sorry from")),
        Rule(r"\b(table|room|reservation|booking|ticket|appointment) for\b", (r"\1 of for", r"\1 to", r"\1 at")),
        Rule(r"\b(tell|give|send|let|show|help) (me|you|us)\b", (r"\1 to \2",)), Rule(r"\bcontact (me|us|them)\b", (r"contact with to \1", r"contact to \1")),
        Rule(r"\b(call|phone|visit|email|reach) (us|them|me|you)\b", (r"\1 to \2",)), Rule(r"\b(answer|discuss|enter|mention) (the|your)\b", (r"\1 to \2", r"\1 about to \2")),
        Rule(r"\b(part|side|area|end|kind|type|number) of\b", (r"\1 from", r"\1 for")), Rule(r"\baccording to\b", ("according with", "according")),
        Rule(r"\bin addition to\b", ("in addition of",)), Rule(r"\bby (\d{1,2}:\d\d)\b", (r"until at \1", r"in \1")),
        Rule(r"\bfor (\d+) (people|nights|days|guests)\b", (r"of \1 \2", r"since \1 \2", r"by \1 \2")),
        Rule(r"\b(?:in|for) (\d+|a few|five|ten) minutes\b", (r"after of \1 minutes", r"on \1 minutes")),
        Rule(r"\b(change|add|return|go|travel\w*|listen|reply|due|prior|similar|close) to\b", (r"\1 at", r"\1 of", r"\1")),
    ),
    "doubled": (
        Rule(r"\b(the|a|to|for|you|your|is|in|of|and|with|i|we|it|have|will|can|are|on|at|that|this|my|be)\b(?= \w)", (r"\1 \1",)),
        Rule(r"\b(for the|to the|in the|of the|would you|can i|i can|it is|there are|you have|will be|i have)\b", (r"\1 \1",)),
        Rule(r"\b(to|for|at|in) (the|your|a)\b", (r"\1 \2 \1", r"\1 \2 \2")), Rule(r"\b(can|could|will|would) (i|you|we)\b", (r"\1 \2 \1",)),
        Rule(r"\b(will|can|should|would|must) (be|have|get|need)\b", (r"\1 will \2", r"\1 can \2", r"\1 must \2")),
        Rule(r"\b(i|we|you|they) (will|can|have|would|am|are)\b", (r"\1 \2 \1", r"\1 \1 \2")),
        Rule(r"\b(but|and|so|because)\b(?= \w)", (r"\1 \1", r"and but", r"so and")), Rule(r"\b(is|are|was) (a|an|the)\b", (r"\1 \1 \2", r"\1 was \2")),
    ),
    "dropped": (
        Rule(r"\b(would|'d) like to (\w+)\b", (r"\1 like \2",)), Rule(r"\b(want|need|able|going|happy|trying) to (\w+)\b", (r"\1 \2",)),
        Rule(r"\blike me to (\w+)\b", (r"like me \1", r"like to me \1", r"like that I \1 to")),
        Rule(r"\b(send|give|let|tell|get|put|bring) (it|them|me|you) (to|know|from|at)\b", (r"\1 \3",)),
        Rule(r"\bcan i (help|assist|book|find|get|do|make)\b", (r"can \1", r"i can \1 i")), Rule(r"\b(could|would|can) you (please )?(\w+)\b", (r"\1 \2\3", r"\1 you \2to \3")),
        Rule(r"\b(which|that) (is|has|leaves|serves|arrives|are|have)\b", (r"what it \2", r"that it \2", r"who it \2")),
        Rule(r"\b(one|some|all|part|none|out) of (the|your|them|our)\b", (r"\1 \2", r"\1 of")), Rule(r"\b(because|since|although) (it|we|they|you|i) (is|are|have|has|can|will|do)\b", (r"\1 \3",)),
        Rule(r"\bif (you|it|they|we) (\w+)\b", (r"if \2", r"if \1")), Rule(r"\bthat you (\w+)\b", (r"that \1 it you",)),
        Rule(r"\b(is|are) there (?=a|any)", (r"there \1 it ", r"is it ")), Rule(r"\b(i|we) (hope|think|believe|know|see) (you|it|that|this)\b", (r"\2 \3 me", r"\1 \3 \2")),
        Rule(r"\bwould you\b(?= like)", ("would", "you")), Rule(r"\b(let|give|tell|send) (me|us|you) (know|a|the|your)\b", (r"\1 \3",)),
    ),
    "case": (
        Rule(r"(?:^|(?<=[.!?] ))(?:i|we) (will|can|have|found|could|would|booked)\b", (r"me \1", r"us \1", r"my \1", r"our \1")),
        Rule(r"\b(for|to|with|from|help|tell|give|let) (me|us|them)\b", (r"\1 I", r"\1 we", r"\1 they")),
        Rule(r"\b(for|to|with|help|get|give|contact) (him|her)\b", (r"\1 he", r"\1 she")), Rule(r"\bthey (are|have|will|can|serve|offer|do|also)\b", (r"them \1", r"their \1 it")),
        Rule(r"\b(my|our) (name|system|records|team|menu|store|hotel|records)\b", (r"me \2", r"us \2", r"we \2")),
        Rule(r"\byour (name|order|booking|address|phone|ticket|room|reservation|account|stay|trip|party)\b", (r"you \1", r"yours \1", r"yourself \1")),
        Rule(r"\b(let|help|give|send|tell) you\b", (r"\1 your", r"\1 yours")), Rule(r"\bit (is|has|will|was|costs|arrives|leaves)\b", (r"its it \1", r"him \1", r"he it \1")),
        Rule(r"\bthe (hotel|restaurant|train|driver|order|booking|price|room|museum) (is|has|will|was)\b", (r"the \1 it \2", r"the \1 he \2")),
        Rule(r"\b(this|that) is\b", (r"this it is", r"that they is")), Rule(r"\btheir (phone|address|number|postcode|menu|price|prices)\b", (r"them \1", r"they \1", r"theirs \1")),
        Rule(r"\b(would|can|could|will|do|did) you\b", (r"\1 your",)), Rule(r"\b(can|could|may|should|shall) (?:i|we)\b", (r"\1 me", r"\1 us")),
        Rule(r"\bits (phone|address|number|postcode|price|name|location)\b", (r"it \1", r"he's \1")),
    ),
    "degree": (
        Rule(r"\b(cheap|close|near|late|fast|nice|long|short|high|low)er\b", (r"more \1er", r"most \1er", r"\1est than")),
        Rule(r"\b(earlier|later|better|larger|easier)\b", (r"more \1", r"more \1er", r"much most \1")),
        Rule(r"\b(cheap|close|near|late|fast|nice|great|high|low)est\b", (r"most \1est", r"more \1est")), Rule(r"\b(best|earliest|latest)\b", (r"most \1", r"bestest", r"more \1")),
        Rule(r"\bmore expensive\b", ("expensiver", "more expensiver", "most expensive than")), Rule(r"\bmost (\w+)\b", (r"more \1est", r"the mostly \1 of")),
        Rule(r"\b(more|less|later|earlier|cheaper|other|rather) than\b", (r"\1 as", r"\1 that", r"\1 of")), Rule(r"\bvery (\w+)\b", (r"very much \1", r"very more \1", r"much very \1")),
        Rule(r"\bso much\b", ("so very much many", "so many much")),         Rule(r"\b(successfully|quickly|directly|currently|recently)\b (\w+ed)\b", (r"success \2", r"quick \2", r"current \2")),
        Rule(r"\b(is|are|be|was) (nice|great|lovely|perfect|good|cheap|large|important|helpful|quick|happy|close)\b",
             (r"\1 more \2er", r"\1 too much \2", r"\1 \2ly", r"\1 the more \2")),
        Rule(r"\bmoderately priced\b", ("moderate pricing priced", "moderately price", "priced moderate of")), Rule(r"\bas (well|soon) as\b", (r"as \1 than", r"as \1 that", r"so \1 than")),
        Rule(r"\b(good|nice|great|wonderful|lovely) (day|time|trip|stay|evening|night|one|choice)\b", (r"\1ly \2", r"more \1 of \2", r"well \2")),
    ),
    "complement": (
        Rule(r"\b(would|'d) (?:love|be happy|like|be glad) to (\w+)\b", (r"\1 like \2ing to", r"\1 be happy for \2", r"\1 be glad \2")),
        Rule(r"\b(thank you|thanks) for (\w+)ing\b", (r"\1 for to \2", r"\1 to \2ing", r"\1 for \2")), Rule(r"\bforward to (\w+)ing\b", (r"forward to \1", r"forward for \1", r"forward \1ing")),
        Rule(r"\blet me (\w+)\b", (r"let me to \1", r"let me \1ing", r"let that I \1")), Rule(r"\bplease (let|provide|give|tell|note|confirm|wait|check)\b", (r"please to \1", r"please you to \1", r"please be \1")),
        Rule(r"\b(can|could|will|would|should|must|may) (not )?(be|help|book|find|have|make|get|give|see|check)\b", (r"\1 \2to \3",)),
        Rule(r"\b(need|want|like|have|able|happy) to (be|have|know|book|make|find|get|check|change)\b", (r"\1 of \2", r"\1 for to \2", r"\1 that \2")),
        Rule(r"\b(like|want|need) (me|you|us) to (\w+)\b", (r"\1 that \2 to \3", r"\1 \2 \3ing to", r"\1 \2 for \3")), Rule(r"\bhelp you (find|book|get|make|choose)\b", (r"help you \1ing", r"help you for \1", r"help \1 you to")),
        Rule(r"\b(?:i|we) (recommend|suggest) (?=the |a |\w)", (r"i \1 you to ", r"i am \1 you ")), Rule(r"\b(mind|enjoy|finish|suggest|recommend|consider) (\w+)ing\b", (r"\1 to \2", r"\1 of \2")),
        Rule(r"\bhow about (\w+)", (r"how about to \1", r"how is about \1")), Rule(r"\b(before|after|without|by) (\w+)ing\b", (r"\1 to \2", r"\1 \2", r"\1 of \2")),
        Rule(r"\bi (think|hope|believe|see) (you|it|that|this|we)\b", (r"i \1ing \2", r"i am \1 \2")), Rule(r"\bin order to (\w+)\b", (r"in order for \1", r"in order \1ing")),
    ),
}  # fmt: skip
"""Rules by the mechanism that breaks the sentence; each group is a family of its own."""


DEV_RULES: dict[str, tuple[Rule, ...]] = {
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

HOMOPHONES: tuple[Rule, ...] = (
    Rule(r"\bthere(?= (is|are|will|was|were)\b)", ("their", "they're")),
    Rule(r"\btheir\b", ("there", "they're")),
    Rule(r"\bthey're\b", ("their", "there")),
    Rule(r"\bit's(?= (a|an|the|in|on|not|located|also|open|free|going)\b)", ("its",)),
    Rule(r"\bits(?= (phone|address|postcode|price|location|number|own|name)\b)", ("it's",)),
    Rule(r"\byou're\b", ("your",)),
    Rule(r"\byour\b(?= (welcome)\b)", ("you're",)),
    Rule(r"\byour\b(?= [a-z])", ("you're",)),
    Rule(r"\byou are\b", ("your",)),
    Rule(r"(?<=more |less )than\b|(?<=rather )than\b", ("then",)),
    Rule(r"\bthen\b", ("than",)),
    Rule(r"\btoo(?= (much|many|expensive|late|long|far|early)\b)", ("to",)),
    Rule(r"\bto(?= (book|find|make|help|see|check|get|know|be|go|leave|arrive)\b)", ("too",)),
    Rule(r"\b(could|would|should|must) have\b", (r"\1 of",)),
    Rule(r"\bwhere\b", ("were", "wear")),
    Rule(r"\bwere\b(?= (able|not|booked|found|charged))", ("where",)),
    Rule(r"\bwhether\b|\bweather\b(?= or not)", ("weather",)),
    Rule(r"\bhear(?= (from|that|about)\b)", ("here",)),
    Rule(r"\bhere\b(?= (is|are)\b)", ("hear",)),
    Rule(r"\bright\b", ("write", "rite")),
    Rule(r"\blose\b", ("loose",)),
    Rule(r"\baccept\b", ("except",)),
    Rule(r"\bexcept\b", ("accept",)),
    Rule(r"\badvice\b", ("advise",)),
    Rule(r"\bfare\b", ("fair",)),
    Rule(r"\bfour\b(?= (people|nights|hotels|options))", ("for",)),
    Rule(r"\bby\b(?= (the|train|car|taxi|\d))", ("buy",)),
    Rule(r"\bno\b(?= (problem|longer|restaurants|hotels|trains))", ("know",)),
    Rule(r"\bknow\b", ("no", "now")),
    Rule(r"\bmeet\b", ("meat",)),
    Rule(r"\bwait\b", ("weight",)),
    Rule(r"\bpiece\b", ("peace",)),
    Rule(r"\bone\b(?= (moment|second|minute|of)\b)", ("won",)),
    Rule(r"\bwhole\b", ("hole",)),
    Rule(r"\bpassed\b", ("past",)),
    Rule(r"\bwho's\b", ("whose",)),
    Rule(r"\blet's\b", ("lets",)),
)
"""Rules that put a word in the place of another that sounds alike."""
