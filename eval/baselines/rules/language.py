"""L2: agreement, articles, doubled words, verb forms after auxiliaries, prepositions, by pattern."""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.eval.baselines.rules.view import Hit, View

_BASES = (
    "go|send|see|get|give|take|make|do|have|be|find|check|receive|need|want|know|help|call|pay|buy|book|come|"
    "leave|arrive|confirm|cancel|change|update|try|work|show|tell|ask|provide|contact|process|ship|deliver|wait"
)
_PASTS = (
    "went|sent|saw|got|gave|took|made|did|had|was|were|found|checked|received|needed|wanted|knew|helped|called|"
    "paid|bought|booked|came|left|arrived|confirmed|cancelled|canceled|changed|updated|tried|worked|showed|told|"
    "asked|provided|contacted|processed|shipped|delivered|waited"
)
_THIRDS = (
    "goes|sends|sees|gets|gives|takes|makes|does|has|is|finds|checks|receives|needs|wants|knows|helps|calls|pays|"
    "buys|books|comes|leaves|arrives|confirms|cancels|changes|updates|tries|works|shows|tells|asks|provides|"
    "contacts|processes|ships|delivers|waits|costs|includes|offers"
)
_THINGS = (
    "order|account|room|hotel|table|train|taxi|flight|ticket|package|parcel|payment|refund|card|number|address|"
    "booking|reservation|system|request|price|total|restaurant|driver|technician|manager|doctor|appointment"
)
_MANY = (
    "orders|accounts|rooms|hotels|tables|trains|taxis|flights|tickets|packages|parcels|payments|refunds|cards|"
    "numbers|bookings|reservations|options|restaurants|drivers|items|details|seats|guesthouses|places|attractions"
)
PATTERNS: tuple[tuple[str, float, str], ...] = (
    (r"\b(?:he|she|it) (?:have|do|are|were|don't|haven't|aren't)\b(?! you)", 0.7, "subject and verb do not agree"),
    (r"\b(?:they|we|you) (?:has|is|was|does|doesn't|hasn't|isn't|wasn't)\b", 0.75, "subject and verb do not agree"),
    (r"(?<!\w )(?<!and )\bi (?:is|has|are|does|were|doesn't|hasn't)\b", 0.8, "subject and verb do not agree"),
    (rf"\b(?:the|your|this|that|our|my) (?:{_THINGS}) (?:have|are|were|do|don't|haven't|aren't)\b", 0.7, "subject and verb do not agree"),
    (rf"(?:^|[.!?,;] |but |and |because |that )(?:the|your|these|those|our|my) (?:{_MANY}) (?:has|is|was|does|doesn't|isn't|wasn't)\b", 0.75, "subject and verb do not agree"),
    (rf"\b(?:he|she|it) (?:{_BASES})\b(?! (?:to|you|your))", 0.3, "subject and verb do not agree"),
    (rf"\b(?:i|you|we|they) (?:{_THIRDS})\b(?<!what you needs)", 0.6, "subject and verb do not agree"),
    (rf"\bthere (?:is|was|'s) (?:\d\d+|[2-9]|two|three|four|five|six|seven|eight|nine|ten|several|many|some|no) (?:\w+ )?(?:{_MANY})\b", 0.6, "subject and verb do not agree"),
    (rf"\bthere (?:are|were) (?:a|an|one|1) (?!number|total|variety|few|lot|couple|great|large)(?:\w+ )?(?:{_THINGS})\b", 0.7, "subject and verb do not agree"),
    (r"\b(?:this|that) (?:\w+ )?(?:are|were|have)\b", 0.35, "subject and verb do not agree"),
    (r"\b(?:these|those) (?:is|was|has)\b|\b(?:this) (?:orders|items|details|options|rooms|tickets)\b|\bthese (?:order|item|option|room|ticket|number)\b", 0.7, "number does not agree"),
    (r"\ba (?=[aeio]\w)(?!one\b|once\b|eu|ou|oui|on[ce]|i\b|a\b|o\b|and\b|at\b|is\b|in\b|of\b|or\b|a\.m|am\b|if\b|as\b|it\b|are\b|it's)\w+", 0.6, "'a' before a vowel"),
    (r"\ba (?:u(?:n(?!i)|mb|gl|p(?:d|g|c|s)|rg)\w+|hour\b|honest\b|hourly\b)", 0.7, "'a' before a vowel"),
    (r"\ban (?=[bcdfgjkpqtvwyz][a-z]{2})\w+", 0.7, "'an' before a consonant"),
    (r"\ban (?:room|hotel|restaurant|reservation|refund|message|minute|moment|number|new|note|user|uni\w+|house|hotel|large|little|small|single|list|link|second|service|street)\b", 0.7, "'an' before a consonant"),
    (r"\b(?!that\b|had\b|very\b|bye\b|no\b|so\b|ha\b|really\b|many\b|yes\b|ok\b|okay\b|knock\b|night\b|hi\b|you\b)([a-z]{2,}) \1\b(?! \1)(?![-'])", 0.7, "a word stands twice"),
    (rf"\b(?:did|didn't|does|doesn't|do|don't) (?:not |n't |i |you |he |she |it |we |they |your order )?(?:{_PASTS})\b(?<!do had)", 0.7, "past form after an auxiliary"),
    (rf"\b(?:will|would|can|could|should|must|may|might|to|can't|won't|couldn't) (?:not |also |then |now |you |i |we )?(?:{_PASTS})\b(?<!to left)(?<!to made)(?! to order)", 0.55, "past form after an auxiliary"),
    (rf"\b(?:will|would|can|could|should|must|may|might|can't|won't|didn't|don't|did|does|let me|please) (?:not |also )?(?:{_THIRDS})\b", 0.65, "third person after an auxiliary"),
    (r"\b(?:can|could|must|should|will|would|may|might) to\b(?! (?:be|and))", 0.6, "'to' after an auxiliary"),
    (r"\b(?:have|has|had|haven't|hasn't|i've|we've|you've) (?:not |already |just |been )?(?:went|took|gave|wrote|spoke|did|saw|knew|ate|drove|chose|forgot|began|came back|receive|send|book|confirm|cancel|change|update|process|check|ask|provide|find|make|pay|ship|complete|arrive)\b(?! (?:in|number|code|details|status|date|time|information))", 0.6, "not the participle after 'have'"),
    (r"\b(?:is|are|was|were|been|be|being) (?:send|book|confirm|cancel|deliver|process|receive|ship|took|wrote|gave|charge|pay|resolve|include)\b(?! (?:in|number|code|fee))", 0.6, "not the participle after 'be'"),
    (r"\b(?:i|we|he|she|they|you) (?:seen|done|gone|been|taken|given|written|spoken|known)\b(?<!have you been)(?<!have you seen)(?<!have you done)(?<!have you gone)", 0.4, "a participle without 'have'"),
    (r"\bmore (?:better|cheaper|faster|easier|earlier|later|closer|bigger|nearer|quicker|sooner)\b|\bmost (?:best|cheapest|nearest|fastest)\b", 0.85, "compared twice"),
    (r"\b(?:informations|advices|equipments|feedbacks|furnitures|luggages|baggages|softwares|homeworks|knowledges)\b", 0.7, "no plural of this word"),
    (rf"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|many|few|both|[2-9]|\d\d+) (?:{_THINGS}|day|night|hour|minute|week|month|person|guest|option|item|seat)\b(?![- ](?:stay|trip|number|booking|reservation|window|period|drive|walk|card|service|type|policy|plan|bag|room|table|is|system|for|price|ticket))", 0.45, "singular after a number"),
    (r"\b(?:a|an|one|each|every|another) (?:rooms|hotels|tables|trains|taxis|flights|tickets|refunds|bookings|reservations|orders|numbers|days|nights|hours|minutes|options|restaurants)\b", 0.7, "plural after 'a'"),
    (r"\b(?:depends? of|married with|discuss about|explain (?:me|you)|interested on|arriv\w+ to|wait\w* (?:your|you) (?:reply|answer|response)|responsible of|listen you|ask to you|according (?:with|your)|regarding to|contact (?:to|with) (?:you|us|me)|inform to|reply you|in (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|at (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|on (?:\d\d?:\d\d|\d\d? ?[ap]m)\b|apologi[sz]e of|thank you of|look\w* forward (?:to|for) (?:hear|see|meet|help|serve)\b)", 0.6, "another preposition is needed"),
    (r"\b(?:i|we) am(?:n't)? agree\b|\bi(?:'m| am) (?:have|need|want|check|look|see|find|can|will)\b|\bwe(?:'re| are) (?:have|need|want|can|will)\b", 0.8, "'be' beside another verb"),
    (r"\b(?:where|when|what|how much|why) (?:you|your \w+|it|the \w+|he|she|they) (?:are|is|was|were|want|need|would)\?", 0.55, "no question's order of words"),
    (r"(?:^|[.!?] )(?:what|where|when|why|how) (?:you|they|we|it) \w+[^.!?]{0,40}\?", 0.45, "no question's order of words"),
    (r"\b(?:want|need|would like|like|going|able|happy|have|glad|try) (?:know|confirm|check|cancel|speak|see|make)\b(?! (?:in|number|code|fee))", 0.5, "'to' is missing"),
    (r"\b(?:him|her|them|me|us) (?:is|are|was|were|has|have|will|can|would)\b(?<!tell me is)(?! (?:be|you|i|we|it|there|the|your))", 0.3, "the wrong case of a pronoun"),
    (r"(?:^|[.!?] )(?:me|him|them|us|her) (?:will|can|have|has|is|are|am|would|want|need|see|found|check)\b", 0.8, "the wrong case of a pronoun"),
    (r"\b(?:to|for|with|between|from) (?:i|he|she|we|they)\b(?! (?:is|are|was|were|have|has|had|will|would|can|could|do|did|think|need|want|am|'|see|believe))", 0.5, "the wrong case of a pronoun"),
    (r"\b(?:don't|didn't|doesn't|can't|couldn't|won't|isn't|haven't|hasn't|never|aren't|wasn't) (?:\w+ ){0,3}(?:no|nothing|nobody|none|nowhere|never)\b(?! (?:problem|longer|matter|one else))", 0.6, "denied twice"),
    (r"\b(?:in|at|to|for|on|of) (?:order|account|hotel|restaurant|booking|reservation|train|bank|customer|address)(?=[.,!?]| (?:is|was|has|and|will|at)\b)", 0.3, "an article is missing"),
    (r"\b(?:is|was|need|book|found|find|see|want) (?:hotel|table|room|taxi|guesthouse|reservation|problem|issue|question)\b", 0.5, "an article is missing"),
    (r"\b(?:less|much) (?:people|items|rooms|orders|minutes|days|tickets|options|restaurants|hotels|guests)\b(?! (?:than|cheaper))", 0.5, "'fewer' or 'many'"),
)  # fmt: skip
_COMPILED = [(re.compile(pattern), confidence, why) for pattern, confidence, why in PATTERNS]


def grammar(view: View) -> Iterator[Hit]:
    """Every pattern that an agent turn holds; words quoted from the customer are let pass."""
    said = " ".join(turn.low for turn in view.turns if turn.side == "customer")
    for _, turn in view.agent():
        for pattern, confidence, why in _COMPILED:
            for match in pattern.finditer(turn.low):
                if match.group() not in said:
                    yield Hit("L2", turn.index, match.start(), match.end(), confidence, why)
