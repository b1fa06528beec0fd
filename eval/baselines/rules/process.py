"""P1 and P4 without a policy: what every trade asks for first, and acts that come before their question."""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.eval.baselines.rules.view import Hit, View, whole

_SENSITIVE = re.compile(
    r"\b(?:your (?:current |account |available )?balance (?:is|was|comes)|(?:i|we)(?:'ve| have)? (?:just |now |successfully )?(?:transferred|wired|unlocked|changed your|updated your|reset your|blocked your|cancelled your (?:card|account|policy))"
    r"|(?:transfer|payment) (?:is|was|has been|went) (?:\w+ )?(?:made|done|complete\w*|sent|successful\w*|through)|your (?:address|email|phone number|password|pin) (?:is|has been|was) (?:now )?(?:changed|updated|reset)"
    r"|your (?:claim|policy) (?:status|is|covers|has been)|your test results|your (?:account|card) (?:is|has been) (?:now )?(?:unlocked|blocked|closed|reactivated))\b"
)
_IDENTITY = re.compile(
    r"\b(?:full name|your name|account number|customer (?:number|id)|date of birth|birth ?date|pin|security (?:question|answer)|mother's maiden|verify|verification"
    r"|identity|identify|authenticat\w+|policy number|last four|first name|surname|childhood|doctor'?s name|patient)\b"
)
_BOOKED = re.compile(
    r"\b(?:(?:i|we)(?:'ve| have)? (?:just |now |successfully )?(?:booked|reserved|scheduled|ordered|placed|cancelled)|(?:booking|reservation|appointment|order|ride|table|room) (?:is|was|has been) (?:now )?(?:\w+ )?(?:confirmed|booked|made|placed|complete\w*|successful\w*|scheduled|reserved|all set))\b"
)
_DETAIL = re.compile(
    r"(?:what|which|when|where|who|how many|may i|can i|could i|could you|can you|please)[^.?!]{0,40}\b(?:name|date|day|time|address|number of (?:people|guests|nights)|how many|destination|departure|pick ?up|account number|pin|phone|size|type)\b"
)
_CONFIRM = re.compile(
    r"\b(?:shall i|should i|would you like|do you want|is (?:that|this) (?:ok|okay|correct|right)|confirm|go ahead|want me to|proceed)\b"
)


def step_skipped(view: View) -> Iterator[Hit]:
    """A sensitive act without any question of identity before it; a booking nobody was asked about."""
    asked_identity = asked_anything = False
    for place, turn in view.agent():
        for match in _SENSITIVE.finditer(turn.low):
            if not asked_identity:
                yield Hit("P1", turn.index, match.start(), match.end(), 0.5, "done without asking who it is")
        done = _BOOKED.search(turn.low)
        if done and not asked_anything:
            sure = 0.3 if place > 1 else 0.4
            yield Hit("P1", turn.index, done.start(), done.end(), sure, "done without asking for a detail")
        elif done and not any(_CONFIRM.search(old.low) for _, old in view.agent() if old.index < turn.index):
            yield Hit("P1", turn.index, done.start(), done.end(), 0.12, "done without asking for consent")
        asked_identity |= bool(_IDENTITY.search(turn.low))
        asked_anything |= turn.asks


def out_of_order(view: View) -> Iterator[Hit]:
    """Details or identity asked for after the act that needs them."""
    acted = False
    for place, turn in view.agent():
        if acted and turn.asks and (_IDENTITY.search(turn.low) or _DETAIL.search(turn.low)):
            before = view.customer_before(place)
            anew = before is not None and re.search(
                r"\b(?:also|another|now|next|need|want|like)\b", before.low
            )
            sure = 0.15 if anew else 0.5
            yield whole("P4", turn, sure, "asked after what it is needed for was done")
        acted |= bool(_BOOKED.search(turn.low) or _SENSITIVE.search(turn.low))
        early = _BOOKED.search(turn.low) and turn.asks and _DETAIL.search(turn.low)
        if early:
            yield whole("P4", turn, 0.45, "done and asked for in one breath")
