"""Rules for the course of the dialogue: unanswered questions (C1), a slot asked for again (U2), a value that
contradicts an earlier one (U3), words of another trade (U5), and a goodbye while something is open (R1).
"""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.eval.baselines.rules.view import Hit, Spoken, View, whole

_QUESTION = re.compile(
    r"\b(?:can|could|would|will) you\b|\b(?:do|does|did|is|are|was|were|has|have) (?:you|they|it|there|the|that|this|he|she|i|we|my)\b"
    r"|\b(?:what|when|where|why|who|which|how)\b|\bi (?:also |still )?(?:need|want|would like|'d like)\b|\bi'd (?:also )?like\b|\bcan i\b|\btell me\b|\blet me know\b"
)
_KINDS: tuple[tuple[str, str], ...] = (
    (r"\bhow (?:much|expensive)\b|\b(?:price|cost|fee|charge|fare|rate)s?\b", r"\d|free|no (?:fee|charge|cost)|cheap|expensive|moderate|price|cost|pound|dollar"),
    (r"\bhow many\b|\bhow long\b|\bhow far\b|\bhow old\b", r"\d|one|two|three|four|five|six|seven|eight|nine|ten|several|many|few|hour|minute|day|week|month"),
    (r"\bwhen\b|\bwhat time\b|\bwhich day\b|\bhow soon\b|\bwhat day\b", r"\d|today|tomorrow|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|morning|evening|afternoon|week|month|soon|hour|minute|day"),
    (r"\b(?:phone|telephone|contact) ?(?:number)?\b", r"\d{3}"),
    (r"\bpost ?code\b|\bzip\b", r"\d"),
    (r"\baddress\b|\bwhere\b|\blocated\b|\blocation\b", r"\d|street|road|avenue|lane|centre|center|north|south|east|west|square|located|address|in the|at the|city"),
    (r"\breference\b|\bconfirmation number\b|\border number\b|\btracking\b", r"\d|[A-Z0-9]{6,}"),
    (r"\bwhy\b", r"because|due|since|reason|as |caused|result"),
)  # fmt: skip
_EXPECTED = [(re.compile(question), re.compile(answer, re.IGNORECASE)) for question, answer in _KINDS]
_YES_NO = re.compile(
    r"^(?:so |and |but |ok |okay |oh |well |also )?(?:is|are|was|do|does|did|can|could|will|would|has|have|may|am)\b"
)
_DEALT = re.compile(
    r"\b(?:yes|yeah|yep|no|nope|not|correct|right|indeed|certainly|of course|sure|absolutely|definitely|sorry|unfortunately|afraid"
    r"|unable|can't|cannot|don't|let me|i'll|i will|we'll|we will|one moment|moment|second|please wait|hold on|checking|look into"
    r"|get back|find out|done|booked|confirmed|reserved|here (?:is|are)|there (?:is|are)|it is|it's|that is|they are|would you|do you"
    r"|which|what|when|where|how|could you|can you|may i)\b"
)
_CLOSING = re.compile(
    r"\b(?:good ?bye|bye|have a (?:\w+ ){0,2}(?:day|evening|night|one|time|trip|weekend|week|afternoon|stay)|take care|all the best|farewell"
    r"|thank(?:s| you) for (?:contacting|calling|chatting|using|choosing|reaching|your (?:time|call|business|patience))|until next time|enjoy your"
    r"|(?:this|the|your) (?:chat|case|ticket|conversation|call) (?:is|has been|will be|was) (?:now )?(?:closed|ended|resolved)|closing (?:this|the|your)"
    r"|you(?:'re| are) all set|glad (?:i|we) could help|happy to have helped|see you|cheers|safe travels|best regards|kind regards)\b"
)
_THANKED = re.compile(
    r"\b(?:thank|thanks|thx|bye|goodbye|that's (?:all|it|everything)|that is all|that will be all|no,? that|nothing else|i'm (?:good|fine|all set)|perfect|great|all set|have a)\b"
)
_OPEN = re.compile(
    r"\?|\b(?:what about|how about|and (?:what|when|where|how|the|my|can|could|do|is)|still (?:waiting|not|doesn't|need|no|haven't|don't)|but (?:what|how|when|i|my|it|the|you)"
    r"|(?:one|another) (?:more|other|last)? ?(?:thing|question)|wait\b|hold on|before you go|i (?:also |still )?(?:need|want|would like)|i'd (?:also |still )?like|also\b|actually\b"
    r"|didn't|doesn't|not (?:working|resolved|fixed|solved|what))"
)


def ignored(view: View) -> Iterator[Hit]:
    """A question of the customer's last turn whose kind of answer, words and usual replies all miss."""
    for position, turn in view.agent():
        question = view.turns[position - 1] if position else None
        if (
            question is None
            or question.side != "customer"
            or not (question.asks or _QUESTION.search(question.low))
        ):
            continue
        sure = _unanswered(question, turn)
        if sure:
            yield whole("C1", turn, sure, "the question before it is not touched")


def _unanswered(question: Spoken, reply: Spoken) -> float:
    text = question.low
    wanted = [answer for pattern, answer in _EXPECTED if pattern.search(text)]
    missed = sum(not answer.search(reply.text) for answer in wanted)
    shared = len(question.content & reply.content)
    sure = 0.05
    if wanted and missed == len(wanted):
        sure += 0.3
    elif missed:
        sure += 0.15
    if not shared:
        sure += 0.2
    if not _DEALT.search(reply.low):
        sure += 0.2
    if _YES_NO.search(text) and not _DEALT.search(reply.low):
        sure += 0.1
    if _CLOSING.search(reply.low) or re.search(r"\banything else\b", reply.low):
        sure += 0.15
    if reply.asks and not re.search(r"\banything else\b", reply.low):
        sure -= 0.25
    if not question.asks:
        sure -= 0.25
    return min(sure, 0.9) if sure >= 0.15 else 0.0


def closed_early(view: View) -> Iterator[Hit]:
    """The last agent turn says goodbye, or is followed by silence, while the customer's last turn asks."""
    agents = [position for position, _ in view.agent()]
    if not agents:
        return
    position = agents[-1]
    turn, question = view.turns[position], view.customer_before(position)
    after = [later for later in view.turns[position + 1 :] if later.side == "customer"]
    if after and _OPEN.search(after[-1].low) and not _THANKED.search(after[-1].low):
        yield whole("R1", turn, 0.45, "the dialogue ends with the customer asking")
    if question is None or not _OPEN.search(question.low):
        return
    closing = bool(_CLOSING.search(turn.low))
    touched = bool(question.content & turn.content) or bool(re.search(r"\d", turn.text))
    sure = 0.75 if closing and not touched else 0.4 if closing else 0.25 if not touched else 0.08
    if not question.asks:
        sure *= 0.55
    if _THANKED.search(question.low) and not question.asks:
        sure *= 0.3
    yield whole("R1", turn, sure, "the last thing that was asked is open")


_SLOTS: tuple[tuple[str, str, str], ...] = (
    ("name", r"\b(?:your|the|full|first|last|what) (?:\w+ )?name\b|\bwho (?:am i|is this|is the (?:booking|reservation))\b|\bunder what name\b", r"\b(?:my|the) (?:\w+ )?name(?:'s| is)\b|\bi'm [A-Z]|\bunder (?:the name )?[A-Z]|\bthis is [A-Z]"),
    ("email", r"\be-?mail(?: address)?\b", r"\S@\S|\[EMAIL"),
    ("phone", r"\b(?:phone|telephone|mobile|contact|callback) ?(?:number)?\b", r"(?<!\w)\+?\d[\d ()-]{6,40}\d|\[PHONE"),
    ("order number", r"\b(?:order|booking|reservation|ticket|tracking|case|reference|confirmation|invoice) (?:number|id|code|no\b)", r"\b(?:order|booking|reservation|ticket|tracking|case|reference|confirmation|invoice)[^.?!]{0,25}[A-Z]{0,4}[-#]?\d{3,}|#\d{3,}"),
    ("account number", r"\b(?:account|customer|policy|member\w*|client) (?:number|id)\b|\buser ?name\b", r"\b(?:account|customer|policy|member|user)[^.?!]{0,25}\d{4,}|\baccount (?:number|id) is\b"),
    ("address", r"\b(?:(?:your|delivery|shipping|home|street|pick ?up|current|billing) (?:\w+ )?address|where (?:do you live|should (?:we|i|the driver)|are you (?:now|being)))\b", r"\b\d+ [A-Z]?\w+ (?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|square|court|blvd|way)\b|\[ADDRESS|\bmy address is\b"),
    ("zip", r"\b(?:zip|postal|post) ?code\b", r"\b\d{5}\b"),
    ("day", r"\b(?:what|which) (?:day|date)s?\b|\bwhen (?:would|do|are|will|is)\b(?! (?:it|the|that))|\bon (?:what|which) (?:day|date)\b|\b(?:departure|arrival|check-?in|travel|start) (?:day|date)\b", r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|tonight|\d+(?:st|nd|rd|th)|january|february|march|april|june|july|august|september|october|november|december)\b"),
    ("time", r"\b(?:what|which) time\b|\bat what time\b|\bhow (?:early|late)\b", r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b|\bnoon\b|\bmidnight\b"),
    ("people", r"\bhow many (?:people|guests|persons|passengers|tickets|seats|of you|adults|travell?ers|in your party)\b|\bnumber of (?:people|guests|passengers)\b|\bparty size\b|\bsize of (?:your|the) party\b", r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) (?:people|guests|persons|passengers|tickets|adults|of us|seats)\b|\bfor (?:\d|two|three|four|five|six|seven|eight|myself|just me)\b|\bjust me\b|\bparty of\b"),
    ("nights", r"\bhow (?:many (?:nights|days)|long (?:will|would|are|do) you (?:be )?(?:stay|like to stay|plan))", r"\b(?:\d+|one|two|three|four|five|six|seven) (?:nights?|days?)\b"),
    ("destination", r"\b(?:where (?:are you|would you like|do you want|will you be) (?:going|to go|headed|heading|travel\w*|to travel)|(?:your|what'?s the|what is the|the) destination|where to\b)", r"\b(?:to|for|in) [A-Z][a-z]+|\bgoing to\b"),
    ("departure", r"\b(?:where (?:are you|will you be|would you) (?:leaving|departing|coming|travell?ing|like to (?:leave|depart)) ?(?:from)?|departure (?:city|station|point|location)|departing from|pick ?(?:ed )?up (?:location|point))", r"\bfrom [A-Z][a-z]+|\bleav\w+ [A-Z]"),
    ("area", r"\b(?:what|which|any (?:particular|specific)|a (?:certain|specific)) (?:area|part|side)\b|\bpart of town\b|\barea (?:of|do|would|in mind)\b", r"\b(?:centre|center|north|south|east|west|downtown|any area|anywhere)\b"),
    ("price range", r"\bprice range\b|\bbudget\b|\bhow much (?:would you|do you want|are you willing)\b", r"\b(?:cheap|expensive|moderate\w*|inexpensive|affordable|any price|price (?:doesn't|does not)|under \W?\d+|budget)\b"),
    ("food", r"\b(?:what|which|any (?:particular|specific|certain)) (?:type|kind|sort|style)?(?: of)? ?(?:food|cuisine)\b|\btype of (?:food|cuisine)\b", r"\b(?:chinese|indian|italian|british|french|thai|mexican|spanish|korean|japanese|vietnamese|turkish|european|asian|mediterranean|american|african|portuguese|lebanese|gastropub|seafood|pizza)\b"),
    ("size", r"\bwhat size\b|\bwhich size\b|\bsmall, medium\b|\bwhat size would\b", r"\b(?:small|medium|large|tall|grande|venti|regular)\b"),
    ("milk", r"\b(?:what|which) (?:kind|type|sort)?(?: of)? ?milk\b", r"\b(?:whole|skim|soy|almond|oat|2%|non-?fat|coconut) ?(?:milk)?\b"),
)  # fmt: skip
_SLOT_PATTERNS = [(name, re.compile(ask), re.compile(answer, re.IGNORECASE)) for name, ask, answer in _SLOTS]
_READ_BACK = re.compile(
    r"\b(?:is (?:that|this|it) (?:correct|right|ok|okay)|correct\?|right\?|to confirm|confirm(?:ing)? (?:that|your)|so (?:your|that's|it's|you)|you (?:said|mentioned|gave)"
    r"|again for security|for security|verify|repeat|double[- ]check|just to be|spell|didn't (?:catch|get)|another|different|new|other|else|return|instead|second)\b"
)
_UNKNOWN = re.compile(
    r"\b(?:don't know|do not know|not sure|no idea|don't have|do not have|can't (?:remember|find)|forgot|which one|what do you mean|why)\b|^\s*(?:yes|no|ok|okay|sure)\W*$"
)


def asks_again(view: View) -> Iterator[Hit]:
    """Asks for a kind of thing that was asked and answered before, or that the customer gave unasked."""
    answered: dict[str, int] = {}
    for position, turn in enumerate(view.turns):
        if turn.side == "customer":
            _note(view, position, turn, answered)
            continue
        for name, ask, _ in _SLOT_PATTERNS:
            for match in ask.finditer(turn.low):
                if not _is_question(turn, match) or name not in answered:
                    continue
                sure = 0.7 if answered[name] == 2 else 0.45
                if _READ_BACK.search(turn.low):
                    sure *= 0.3
                yield Hit("U2", turn.index, match.start(), match.end(), sure, f"the {name} was given before")


def _note(view: View, position: int, turn: Spoken, answered: dict[str, int]) -> None:
    """What this turn of the customer gives: 2 where it was asked for, 1 where its form says so."""
    before = view.turns[position - 1] if position else None
    for name, ask, answer in _SLOT_PATTERNS:
        if before is not None and before.side == "agent":
            match = ask.search(before.low)
            if match and _is_question(before, match) and not turn.asks and not _UNKNOWN.search(turn.low):
                answered[name] = 2
        if name not in answered and answer.search(turn.text):
            answered[name] = 1


def _is_question(turn: Spoken, match: re.Match[str]) -> bool:
    """Whether the sentence around `match` asks or demands."""
    end = min((p for sign in ".!?" if (p := turn.text.find(sign, match.end())) >= 0), default=len(turn.text))
    first = max(turn.text.rfind(sign, 0, match.start()) for sign in ".!?") + 1
    is_question = end < len(turn.text) and turn.text[end] == "?"
    demand = re.search(
        r"\b(?:please (?:give|provide|tell|send|enter|confirm)|i(?:'ll)? need|may i have|let me know)\b",
        turn.low[first:end],
    )
    return is_question or demand is not None


_VALUES: tuple[tuple[str, str], ...] = (
    ("phone", r"\b(?:phone|telephone|contact|call(?: them)?)(?: number)?(?: \w+){0,4}?(?: is|:| at| on)? ?(\+?\d[\d ()-]{6,40}\d)"),
    ("postcode", r"\b(?:post ?code|zip ?code|zip)(?: \w+){0,3}? ?(?:is|:|of)? ?([a-z]{1,2}\d{1,2},? ?\d?[a-z]{0,2}|\d{5})\b"),
    ("reference", r"\b(?:reference|confirmation|booking|ref)(?: number| code| id| #)?(?: \w+){0,2}? ?(?:is|:|#)? ?\b((?=[a-z]*\d)[a-z0-9]{6,10})\b"),
    ("price", r"(?:\b(?:price|cost|total|fee|fare|costs?|charge|amount|pay|rate|comes to|priced at|refund of)\b[^.?!]{0,25}?)((?:[£$€] ?)?\d{1,12}(?:\.\d\d)?(?: ?(?:gbp|pounds?|dollars?|usd|euros?))?)\b(?! ?(?:am|pm|people|nights?|days?|:))"),
    ("arrival", r"\b(?:arriv\w+|gets? (?:in|there|you there))\b[^.?!]{0,20}?\b(\d{1,2}:\d\d(?: ?[ap]m)?)"),
    ("departure", r"\b(?:leav\w+|depart\w*)\b[^.?!]{0,20}?\b(\d{1,2}:\d\d(?: ?[ap]m)?)"),
    ("time", r"\b(?:at|for|by|is) (\d{1,2}(?::\d\d)? ?(?:am|pm)|\d{1,2}:\d\d)\b"),
    ("day", r"\b(?:on|for|this|next) (monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"),
    ("people", r"\b(?:for|party of) (\d+|two|three|four|five|six|seven|eight) (?:people|guests|persons)\b"),
    ("nights", r"\b(\d+|one|two|three|four|five|six|seven) nights?\b"),
    ("wait", r"\b(?:in|within|takes?|about|up to) (\d+(?: ?(?:-|to) ?\d+)? (?:minutes?|hours?|days?|weeks?|business days))\b"),
    ("train", r"\b(tr\d{4})\b"),
    ("stars", r"\b(\d|two|three|four|five)[- ]stars?\b"),
    ("count", r"\b(?:there (?:are|is)|i (?:have|found)|we have) (\d+|one|two|three|four|five|six|seven|eight|nine|ten|no)\b(?= )"),
    ("internet", r"\b((?:no |free |not have |includes? |offers? |without )(?:wi-?fi|internet|parking))\b"),
)  # fmt: skip
_FIGURES = [(name, re.compile(pattern)) for name, pattern in _VALUES]
_CHANGED = re.compile(
    r"\b(?:another|different|other|instead|change|changed|else|how about|what about|rather|cheaper|earlier|later|next|also|more|actually|no\b|not\b|sorry|try|let's|prefer|second|both)\b"
)
_SURE = {"phone": 0.6, "postcode": 0.6, "reference": 0.35, "price": 0.45, "arrival": 0.45, "departure": 0.45}


def contradicts(view: View) -> Iterator[Hit]:
    """A value of a kind the agent stated before, other than that, with no change asked for in between."""
    stated: dict[str, tuple[int, str]] = {}
    for position, turn in view.agent():
        for name, pattern in _FIGURES:
            for match in pattern.finditer(turn.low):
                value = re.sub(r"[^\w.:-]", "", match.group(1))
                old = stated.get(name)
                if old is not None and old[1] != value and old[0] < position:
                    sure = _SURE.get(name, 0.3) * _unasked(view, old[0], position, value, turn)
                    start, end = match.span(1)
                    yield Hit("U3", turn.index, start, end, sure, f"another {name} than before")
                stated[name] = (position, value)


def _unasked(view: View, first: int, last: int, value: str, turn: Spoken) -> float:
    """How far the customer's words in between leave the new value unexplained, in (0, 1]."""
    between = [old.low for old in view.turns[first + 1 : last] if old.side == "customer"]
    factor = 1.0
    if any(value in re.sub(r"[^\w.:-]", "", text) for text in between):
        factor *= 0.3
    if any(_CHANGED.search(text) for text in between):
        factor *= 0.5
    if re.search(r"\b(?:sorry|correction|actually|instead|changed|updated|my mistake|i meant)\b", turn.low):
        factor *= 0.5
    return factor


_TRADES: dict[str, str] = {
    "hotel": r"hotel|guest ?house|room|check-?in|check-?out|nights?|suite|hostel|bed and breakfast",
    "restaurant": r"restaurant|cuisine|menu|table for|waiter|dish\w*|dinner|appeti[sz]er",
    "train": r"train|platform|railway|carriage",
    "flight": r"flight|airline|airport|boarding|luggage|baggage|seat upgrade|gate \w?\d+",
    "taxi": r"taxi|cab|driver|uber|drop ?off",
    "bank": r"bank|balance|transfer|loan|mortgage|overdraft|savings|debit|iban|interest rate|branch",
    "health": r"doctor|appointment|prescription|symptom\w*|clinic|hospital|patient|dentist|vaccin\w*|medication|pharmacy",
    "coffee": r"coffee|latte|espresso|mocha|cappuccino|barista|frappuccino|milk|syrup|cup",
    "weather": r"weather|forecast|rain\w*|sunny|temperature|degrees|snow\w*|humid\w*",
    "parcel": r"parcel|package|courier|delivery|shipment|tracking|shipped|warehouse|dispatch\w*",
    "telecom": r"router|modem|broadband|internet connection|sim|signal|data plan|mobile plan|roaming|bandwidth",
    "software": r"software|app crash\w*|install\w*|browser|cache|license key|server|bug|version|plugin|subscription",
    "insurance": r"insurance|claim|premium|deductible|coverage|insured|policyholder",
    "housing": r"apartment|landlord|rent|lease|tenant|bedroom|property|floor plan",
    "party": r"venue|party host|catering",
    "garden": r"garden\w*|lawn|plant\w*|seeds?|fertili[sz]er|soil",
    "sports": r"football|gym|fitness|membership|match tickets|yoga|workout|swimming|tennis",
    "fashion": r"shoes|jacket|dress|shirt|trousers|sneakers|jeans|shoe size",
    "utilities": r"electricity|gas meter|meter reading|kilowatt\w*|water bill|heating|boiler|power outage",
    "cinema": r"movie|cinema|film|concert|theatre|screening|album|show ?times?",
    "government": r"passport|visa|tax return|permit|driving licen[cs]e|council|customs form",
    "cars": r"engine|tyres?|tires?|brakes?|mileage|garage|mechanic|oil change",
}
_TRADE = {name: re.compile(rf"\b(?:{words})\b") for name, words in _TRADES.items()}


def jumps(view: View) -> Iterator[Hit]:
    """Words of a trade nobody has spoken of, and next to no word in common with what was said."""
    trades_so_far: set[str] = set()
    content: set[str] = set()
    for position, turn in enumerate(view.turns):
        trades = {name: match for name, pattern in _TRADE.items() if (match := pattern.search(turn.low))}
        if turn.side == "agent" and position > 1:
            later = {
                name
                for other in view.turns[position + 1 : position + 2]
                for name, pattern in _TRADE.items()
                if pattern.search(other.low)
            }
            strange = trades.keys() - trades_so_far
            if strange and trades_so_far:
                shared = len(turn.content & content) / max(1, len(turn.content))
                sure = 0.3 + 0.12 * min(2, len(strange)) + (0.2 if shared < 0.15 else 0.0)
                sure += 0.1 if not trades.keys() & trades_so_far else 0.0
                sure -= 0.25 if strange & later else 0.0
                start = min(trades[name].start() for name in strange)
                end = max(trades[name].end() for name in strange)
                yield Hit("U5", turn.index, start, end, max(0.05, sure), "words of another trade")
            elif len(turn.content) >= 6 and not turn.content & content:
                yield whole("U5", turn, 0.25, "no word in common with what was said")
        trades_so_far |= trades.keys()
        content |= turn.content
