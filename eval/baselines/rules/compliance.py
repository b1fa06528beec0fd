"""Rules for process and security: required steps that are skipped (P1) or out of order (P4), judged without a
policy by what every trade asks for first, and requests for secrets (V2). A warning never to share a secret is
no request, nor is a reset.
"""

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
    for position, turn in view.agent():
        for match in _SENSITIVE.finditer(turn.low):
            if not asked_identity:
                yield Hit("P1", turn.index, match.start(), match.end(), 0.5, "done without asking who it is")
        done = _BOOKED.search(turn.low)
        if done and not asked_anything:
            sure = 0.3 if position > 1 else 0.4
            yield Hit("P1", turn.index, done.start(), done.end(), sure, "done without asking for a detail")
        elif done and not any(_CONFIRM.search(old.low) for _, old in view.agent() if old.index < turn.index):
            yield Hit("P1", turn.index, done.start(), done.end(), 0.12, "done without asking for consent")
        asked_identity |= bool(_IDENTITY.search(turn.low))
        asked_anything |= turn.asks


def out_of_order(view: View) -> Iterator[Hit]:
    """Details or identity asked for after the act that needs them."""
    acted = False
    for position, turn in view.agent():
        if acted and turn.asks and (_IDENTITY.search(turn.low) or _DETAIL.search(turn.low)):
            before = view.customer_before(position)
            anew = before is not None and re.search(
                r"\b(?:also|another|now|next|need|want|like)\b", before.low
            )
            sure = 0.15 if anew else 0.5
            yield whole("P4", turn, sure, "asked after what it is needed for was done")
        acted |= bool(_BOOKED.search(turn.low) or _SENSITIVE.search(turn.low))
        early = _BOOKED.search(turn.low) and turn.asks and _DETAIL.search(turn.low)
        if early:
            yield whole("P4", turn, 0.45, "done and asked for in one breath")


_SECRET = (
    r"(?:pin(?: code| number)?|cvv2?|cvc2?|(?:card )?security (?:code|number)|(?:three|3|four|4)[- ]digit (?:code|number|security code)"
    r"|(?:code|digits|number) (?:on|at|from) the (?:back|front|reverse)|password|passcode|pass ?word|passphrase"
    r"|(?:one[- ]time|verification|authentication|authorization|confirmation|security|login|access|sms|text|2fa|activation) (?:code|pin|passcode|password)"
    r"|otp|(?:code|number|digits) (?:we|i|that was|you|you've|that we|that i)? ?(?:just |have just |)?(?:sent|texted|received|got|get)[^.?!]{0,30}|code (?:from|in) (?:the|your) (?:sms|text|message|app|email|authenticator)"
    r"|(?:full|complete|whole|entire|all)(?: \w+){0,3} (?:card|account|credit|debit|social)[^.?!]{0,20}(?:number|digits)?|(?:credit|debit|bank)? ?card number|(?:sixteen|16)[- ]digit\w*"
    r"|(?:card'?s? )?expir(?:y|ation) date|social security(?: number)?|ssn|seed phrase|recovery (?:phrase|key|code)|private key|secret (?:word|answer|question|code)"
    r"|(?:online )?(?:banking )?(?:login|log-in|sign-in|account) (?:details|credentials|data|information and password)|credentials"
    r"|(?:photo|picture|scan|copy|image|screenshot|selfie)(?: \w+){0,3} (?:card|passport|id|licen[cs]e|both sides))"
)
_ASK = (
    r"(?:(?:can|could|would|will|may) (?:you|i|we)\b[^.?!]{0,40}|please\b[^.?!]{0,30}|i(?:'ll| will)?(?: also| just)? need\b[^.?!]{0,25}|we(?:'ll| will)? need\b[^.?!]{0,25}"
    r"|(?:give|tell|send|text|email|provide|share|type|enter|read|confirm|state|forward|message|submit|supply|let me have|dictate|spell|upload|attach)\b[^.?!]{0,30}"
    r"|what(?:'s| is| are| was)\b[^.?!]{0,20}|(?:require|requires|must have|want|have to have|looking for)\b[^.?!]{0,25}|how about\b[^.?!]{0,15}|(?:and|also) (?:your|the)\b[^.?!]{0,15})"
)
_STRONG = re.compile(
    r"\b(?:pin|cvv2?|cvc2?|password|passcode|otp|security code|ssn|social security|seed phrase|recovery phrase|private key"
    r"|one[- ]time|verification code|back of)\b"
)
_REQUEST = re.compile(rf"{_ASK}\b{_SECRET}")
_BARE = re.compile(rf"(?:^|[.!?:;,] ?|and )(?:your |the )?{_SECRET}[^.?!]{{0,25}}\?")
_GUARD = re.compile(
    r"\b(?:never|do not|don't|not (?:to |need|ask|require|share|send|give|necessary)|won't|will not|without|no need|nobody|no one"
    r"|avoid|shouldn't|should not|cannot see|can't see|keep (?:it|your|that) (?:safe|secret|private)|last (?:four|4))\b"
)
_OWN = re.compile(
    r"\b(?:reset|resetting|forgot|forgotten|change|changing|new|create|choose|set up|update|recover|temporary|expired"
    r"|link to|set a|pick a|strong|wi-?fi|gate|door|entry|promo\w*|discount|booking|reference|confirmation number|zip|post)\b"
)
_SECURE = re.compile(
    r"\b(?:on|in|at|into|via|through) (?:the|our|your) (?:secure|keypad|app\b|website|portal|device|terminal|screen|payment page)"
)


def asks_secret(view: View) -> Iterator[Hit]:
    """Requests for secrets .85, for card data and identity papers .55, unless forbidden or on the customer's own device."""
    for _, turn in view.agent():
        for pattern in (_REQUEST, _BARE):
            for match in pattern.finditer(turn.low):
                yield Hit(
                    "V2",
                    turn.index,
                    match.start(),
                    match.end(),
                    _confidence(turn.low, match),
                    "asks for a secret",
                )


def _confidence(low: str, match: re.Match[str]) -> float:
    first = max(low.rfind(sign, 0, match.start() + 1) for sign in ".!?") + 1
    ends = [position for sign in ".!?" if (position := low.find(sign, match.end())) >= 0]
    sentence = low[first : min(ends, default=len(low))]
    sure = 0.85 if _STRONG.search(match.group()) else 0.55
    if _GUARD.search(sentence):
        return 0.05
    if _OWN.search(sentence) or _SECURE.search(sentence):
        return 0.15
    return sure
