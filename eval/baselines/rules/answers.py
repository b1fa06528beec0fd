"""C1: a question that the reply does not touch; R1: a goodbye while something is open."""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.eval.baselines.rules.view import Hit, Spoken, View, whole

_ASKED = re.compile(
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
_EXPECTED = [(re.compile(asked), re.compile(given, re.IGNORECASE)) for asked, given in _KINDS]
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
    for place, turn in view.agent():
        asked = view.turns[place - 1] if place else None
        if asked is None or asked.side != "customer" or not (asked.asks or _ASKED.search(asked.low)):
            continue
        sure = _unanswered(asked, turn)
        if sure:
            yield whole("C1", turn, sure, "the question before it is not touched")


def _unanswered(asked: Spoken, reply: Spoken) -> float:
    question = asked.low
    wanted = [given for pattern, given in _EXPECTED if pattern.search(question)]
    missed = sum(not given.search(reply.text) for given in wanted)
    shared = len(asked.content & reply.content)
    sure = 0.05
    if wanted and missed == len(wanted):
        sure += 0.3
    elif missed:
        sure += 0.15
    if not shared:
        sure += 0.2
    if not _DEALT.search(reply.low):
        sure += 0.2
    if _YES_NO.search(question) and not _DEALT.search(reply.low):
        sure += 0.1
    if _CLOSING.search(reply.low) or re.search(r"\banything else\b", reply.low):
        sure += 0.15
    if reply.asks and not re.search(r"\banything else\b", reply.low):
        sure -= 0.25
    if not asked.asks:
        sure -= 0.25
    return min(sure, 0.9) if sure >= 0.15 else 0.0


def closed_early(view: View) -> Iterator[Hit]:
    """The last agent turn says goodbye, or is followed by silence, while the customer's last turn asks."""
    agents = [place for place, _ in view.agent()]
    if not agents:
        return
    place = agents[-1]
    turn, asked = view.turns[place], view.customer_before(place)
    after = [later for later in view.turns[place + 1 :] if later.side == "customer"]
    if after and _OPEN.search(after[-1].low) and not _THANKED.search(after[-1].low):
        yield whole("R1", turn, 0.45, "the dialogue ends with the customer asking")
    if asked is None or not _OPEN.search(asked.low):
        return
    closing = bool(_CLOSING.search(turn.low))
    touched = bool(asked.content & turn.content) or bool(re.search(r"\d", turn.text))
    sure = 0.75 if closing and not touched else 0.4 if closing else 0.25 if not touched else 0.08
    if not asked.asks:
        sure *= 0.55
    if _THANKED.search(asked.low) and not asked.asks:
        sure *= 0.3
    yield whole("R1", turn, sure, "the last thing that was asked is open")
