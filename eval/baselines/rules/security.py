"""V2: a request for what no agent may know. A warning never to tell it is none, nor is a reset."""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.eval.baselines.rules.view import Hit, View

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
    ends = [place for sign in ".!?" if (place := low.find(sign, match.end())) >= 0]
    sentence = low[first : min(ends, default=len(low))]
    sure = 0.85 if _STRONG.search(match.group()) else 0.55
    if _GUARD.search(sentence):
        return 0.05
    if _OWN.search(sentence) or _SECURE.search(sentence):
        return 0.15
    return sure
