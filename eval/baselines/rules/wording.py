"""Rules for the wording of a turn: rudeness (T1), no word of sympathy after stated distress (T2), unfilled
placeholders (M2), and near copies of an earlier agent turn (M3).
"""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from dialint.eval.baselines.rules.view import Hit, Spoken, View, whole

RUDE: tuple[tuple[str, float, str], ...] = (
    (r"\b(?:idiot\w*|stupid\w*|moron\w*|imbecile|dumb(?:ass)?|fool(?:ish)?|clueless|brainless|ignorant|incompetent|pathetic|ridiculous|retard\w*|loser|liar|lying to me|crazy|insane|dense)\b", 0.8, "an insult"),
    (r"\b(?:damn|hell no|what the hell|wtf|crap|bullshit|shit\w*|fuck\w*|bloody hell|screw you|piss off|ass(?:hole)?)\b", 0.9, "a swear word"),
    (r"\bshut up\b|\bget lost\b|\bgo away\b|\bbuzz off\b|\bget over it\b|\bgrow up\b|\bdeal with it\b|\btough luck\b|\bsuck it up\b|\bstop (?:whining|complaining|crying|nagging|bothering|shouting|wasting|asking)\b", 0.9, "an order to be silent"),
    (r"\bnot my (?:problem|fault|job|concern|business)\b|\b(?:i|we) (?:don't|do not|couldn't|could not) (?:really )?care\b|\bwho cares\b|\bwhy should (?:i|we) (?:care|help)\b|\bwhat do you (?:want|expect) (?:me|us) to do\b|\bthat'?s (?:your|a you) problem\b|\byour (?:own )?problem\b", 0.85, "indifference"),
    (r"\byou should(?:'ve| have) (?:read|known|checked|thought|listened|paid|called|asked|planned|told|said|looked|noticed|been more|done|followed|kept|made sure|contacted|written|come|tried|realized|realised)\b", 0.75, "blame"),
    (r"\b(?:it is|it's|this is|that is|that's|entirely|all|clearly|only) (?:entirely |all |clearly |completely |solely )?your (?:own )?(?:fault|mistake|doing|error|responsibility to have)\b|\byou(?:'ve| have)? (?:only |just )?(?:have )?(?:only )?yourself to blame\b|\bblame yourself\b|\byou (?:clearly |obviously )?(?:failed|neglected|forgot|didn't bother|did not bother|couldn't be bothered)\b|\byou brought (?:this|it) on\b", 0.8, "blame"),
    (r"\bif you (?:had|'d) (?:only |just |actually |simply |bothered )?(?:read|listened|paid|checked|followed|looked|bothered|told|asked|done|been)\b", 0.75, "blame"),
    (r"\b(?:as|like) i(?:'ve| have)? (?:already |just |clearly )?(?:said|told you|explained|mentioned|stated)\b.{0,20}(?:before|already|times|again)\b|\bhow many times (?:do|must|have|should)\b|\bfor the (?:last|third|tenth|hundredth|umpteenth|second) time\b|\b(?:i|we)(?:'ve| have)? already (?:told|explained) (?:you|this|that|it)\b|\bi (?:just|already) told you\b|\bdo i (?:really )?(?:have|need) to (?:repeat|explain|spell)\b", 0.75, "impatience"),
    (r"\b(?:can't|cannot|can) you (?:even |not )?(?:read|count|listen|hear|follow simple)\b|\bare you (?:even|blind|deaf|kidding|joking|serious|slow|listening|drunk|new to|always this)\b|\bdo you (?:even|not understand|need glasses)\b|\bdidn't you (?:read|listen|hear|see|bother)\b|\bdid you (?:even|not) (?:read|look|bother|listen|check|try)\b|\bwhat part of (?:that|this|it|no|what i|my|the word|don't)|\bhow hard (?:is it|can it be)\b|\bwhat(?:'s| is) wrong with you\b|\bhow (?:could|can) you not\b", 0.8, "a question that belittles"),
    (r"\b(?:common sense|any(?:body|one) (?:with|can|could|knows)|even a (?:child|kid|toddler)|a (?:child|five year old|toddler) (?:could|can)|most people (?:manage|understand|know|read|can|figure)|everyone else (?:manages|seems|understands)|it'?s not (?:rocket science|that hard|that difficult|complicated)|not that (?:hard|difficult|complicated)|use your (?:brain|head|eyes)|(?:let me )?(?:say|explain|speak|type) (?:it |this |that )?(?:very )?slowly|in simple words for you|pay attention|try to keep up)\b", 0.75, "condescension"),
    (r"\b(?:hurry up|make up your mind|make it quick|i (?:haven't|don't have) (?:got )?all day|i don't have time|we don't have time|stop wasting|wast(?:e|ing) (?:of )?my time|quickly now|get to the point|come on already|spit it out|just answer|answer the question|what now\b|what is it (?:now|this time)|you again)\b", 0.8, "impatience"),
    (r"\b(?:calm down|relax|chill out|watch your (?:tone|language|mouth)|mind your|lower your voice|don't (?:take that tone|be (?:so|such|silly|ridiculous|dramatic|difficult|rude))|no need to (?:shout|cry|be dramatic|whine|panic)|stop being|you(?:'re| are) (?:being|overreacting|exaggerating|too sensitive|so (?:difficult|annoying|demanding|slow)|impossible|a pain|wasting|lying|wrong again|confused|making this))\b", 0.65, "an order about feelings"),
    (r"\b(?:take it or leave it|like it or not|if you don't like it|go (?:somewhere|elsewhere|complain)|find another|good luck with that|not going to argue|i'?m done (?:with|here|talking)|end of (?:story|discussion)|period\.$|whatever\b(?! (?:you|works|is|suits|time|day|one|the|kind|price))|so what\b|big deal\b|who told you|says who|boo hoo|cry me|poor you|how sad for you|wow,? (?:genius|amazing|really)|congratulations on (?:not|missing|losing|being|forgetting)|good for you|thanks for (?:nothing|wasting)|bravo\b|oh,? (?:great|wonderful|please|really\?))", 0.65, "dismissal or sarcasm"),
    (r"\b(?:or else\b|i(?:'ll| will|'m going to| can) (?:just )?(?:hang up|end this (?:chat|call)|block|report you|ban|close your|suspend|cancel your (?:account|order) (?:right )?(?:now|if)|make sure you)|you(?:'ll| will) (?:regret|be sorry|lose)|don't (?:make|force) me|don't (?:bother|call|contact|write) (?:us |me )?again|last warning|i dare you)\b", 0.7, "a threat"),
    (r"\b(?:obviously|clearly|evidently)\b[^.?!]{0,40}\byou\b|\byou (?:obviously|clearly|evidently|apparently)\b|\b(?:people|customers) like you\b|\byou people\b|\byour kind\b|\btypical\b", 0.55, "contempt"),
    (r"\b(?:just|simply) (?:do (?:it|what i)|read (?:the|it)|google it|follow the)\b|\bread the (?:manual|terms|instructions|fine print|policy|email|website)\b|\blook it up yourself\b|\bfigure it out\b|\bdo it yourself\b|\bgoogle is\b", 0.6, "a bare order"),
    (r"(?:\?{2,}|!{3,}|\?!)", 0.3, "shouted signs"),
)  # fmt: skip
_RUDE = [(re.compile(pattern), confidence, why) for pattern, confidence, why in RUDE]
_SOFT = re.compile(
    r"\b(?:sorry|apologi[sz]e|our (?:mistake|fault|error)|not your fault|my (?:mistake|fault))\b"
)
_SHOUTED = re.compile(r"\b[A-Z]{4,}(?: [A-Z]{2,}){2,}\b")

DISTRESS: tuple[tuple[str, float], ...] = (
    (r"\b(?:passed away|died|death|dead|funeral|lost my (?:\w+ )?(?:mother|father|mum|mom|dad|wife|husband|son|daughter|brother|sister|grand\w+|job|dog|cat|baby|friend)|widow\w*|bereave\w*|mourning|grieving|miscarriage)\b", 0.8),
    (r"\b(?:terrified|scared|afraid|frightened|panick\w*|panic\w*|crying|in tears|heartbroken|devastated|desperate|hopeless|can't (?:sleep|cope|breathe|take (?:it|this) any ?more|stop crying)|overwhelmed|anxious|worried sick|so worried|at my wits|breaking down|suicid\w*|depress\w+|falling apart|freaking out|shaking|ashamed|humiliat\w+|nightmare)\b", 0.7),
    (r"\b(?:hospital|cancer\b(?! (?:charity|foundation))|surgery|operation tomorrow|chemo\w*|stroke|heart attack|ambulance|emergency|accident|injured|broke my|bleeding|in (?:so much |a lot of |great |terrible )?pain|seriously ill|very sick|disabled|stranded|stuck (?:at|in|here|on)|nowhere to (?:go|stay|sleep)|homeless|evicted|robbed|stolen|burgl\w+|mugged|attacked|flooded|fire\b|no (?:heat|heating|water|electricity|power|money|food))\b", 0.45),
    (r"\b(?:can't (?:afford|pay|feed)|bankrupt|all my savings|my last|rent is due|lost everything|single (?:mother|mom|mum|father|dad|parent)|unemployed|laid off|debt\w*|overdrawn|no money left)\b", 0.55),
    (r"\b(?:furious|outraged|so angry|very angry|really angry|extremely (?:upset|frustrat\w+|disappointed)|(?:so|very|really|beyond) (?:upset|frustrat\w+|disappointed|disgusted|fed up|stressed|sad)|fed up|sick of|sick and tired|had enough|unacceptable|ridiculous|disgrace\w*|worst (?:service|experience)|ruined|missed my (?:\w+ )?(?:wedding|flight|funeral|exam|interview|connection)|waited? (?:for )?(?:\d+|two|three|four|five|six|several|many) (?:hours|weeks|months))\b", 0.6),
    (r"\bi(?:'m| am) (?:\w+ )?(?:upset|frustrated|stressed|sad|angry|worried|exhausted|devastated|disappointed|nervous|lost|distraught|miserable)\b", 0.6),
)  # fmt: skip
_DISTRESS = [(re.compile(pattern), confidence) for pattern, confidence in DISTRESS]
_SYMPATHY = re.compile(
    r"\b(?:sorry|apolog\w*|understand\w*|condolence\w*|sympath\w*|empath\w*|regret|hear that|that sounds|that must"
    r"|must be|must have been|how (?:awful|terrible|frustrating|upsetting|difficult|stressful|sad|scary)"
    r"|(?:awful|terrible|horrible|dreadful|heartbreaking|frustrating|stressful|upsetting|unfortunate\w*|scary)"
    r"|don't worry|no worries|worry not|rest assured|bear with|here (?:for|to help) you|take care of (?:you|this|it)"
    r"|hope (?:you|he|she|they|everything|all)|feel better|get well|my heart|thoughts|i can imagine|i see why"
    r"|i know (?:how|this|that|it)|thank you for (?:telling|sharing|your patience|being patient)|appreciate|oh no"
    r"|glad you(?:'re| are) (?:safe|ok|okay)|are you (?:safe|ok|okay|all right|alright))\b"
)


def rude(view: View) -> Iterator[Hit]:
    """Patterns of rudeness, weaker beside an apology, not where the agent repeats the customer's words."""
    customer_text = " ".join(turn.low for turn in view.turns if turn.side == "customer")
    for _, turn in view.agent():
        softened = bool(_SOFT.search(turn.low))
        for pattern, confidence, why in _RUDE:
            for match in pattern.finditer(turn.low):
                if len(match.group()) > 3 and match.group() in customer_text:
                    continue
                sure = confidence / 2 if softened else confidence
                yield Hit("T1", turn.index, match.start(), match.end(), sure, why)
        for match in _SHOUTED.finditer(turn.text):
            yield Hit("T1", turn.index, match.start(), match.end(), 0.35, "words in capitals")


def no_empathy(view: View) -> Iterator[Hit]:
    """Distress in the customer's latest turns, a reply without a word of sympathy, and none before it."""
    for position, turn in view.agent():
        if _SYMPATHY.search(turn.low):
            continue
        latest = view.turns[max(0, position - 1) : position]
        stated = [
            confidence
            for customer in latest
            if customer.side == "customer"
            for pattern, confidence in _DISTRESS
            if pattern.search(customer.low)
        ]
        if stated:
            yield whole("T2", turn, max(stated), "stated distress, and no word of sympathy")


PLACEHOLDERS: tuple[tuple[str, float], ...] = (
    (r"\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|\$\{[^{}\n]{1,60}\}", 0.97),
    (r"\{[A-Za-z_][\w .|:-]{0,50}\}", 0.95),
    (r"<<[^<>\n]{1,60}>>|<(?!br|b>|i>|p>|a |/|div|span|http)[A-Za-z][\w .'-]{1,40}>", 0.9),
    (r"\[\[[^\[\]\n]{1,60}\]\]", 0.95),
    (r"\[(?![A-Z]+_\d+\])[A-Za-z][A-Za-z_ '/-]{2,40}\]", 0.8),
    (r"%%?[A-Za-z][\w. ]{1,40}%%?|(?<!\w)%\([a-z_]+\)[sd]|(?<!\w)%s\b", 0.9),
    (r"(?<![\w$])\$[a-zA-Z_]\w*(?:\.\w+)*|(?<!\w)@@?[a-z]+_[a-z_]+\b|(?<!\w)#[a-z]+_[a-z_]+#?|##[A-Za-z _]+##", 0.8),
    (r"\b[A-Z]{2,}_[A-Z_]{2,}\b|\b(?:XX+|X{3,}|xxx+|XXXX)\b", 0.7),
    (r"_{3,}|\.{6,}", 0.3),
    (r"(?i)\b(?:insert|enter|add|put) (?:your |the |customer |client )?(?:\w+ ){0,3}here\b|\blorem ipsum\b|\b(?:TBD|TBC|TODO|FIXME)\b", 0.85),
    (r"(?i)\b(?:dear|hi|hello) (?:customer name|first ?name|last ?name|client name|name|user ?name|null|none|undefined|nan|valued \[)\b", 0.85),
    (r"\b(?:null|undefined|NaN|None|nil)\b(?= |[.,!?]|$)|\bobject Object\b", 0.45),
    (r"(?i)\((?:customer'?s? |your |agent'?s? )?(?:name|date|time|amount|order number|order id|address|company|city|reason|product|number)(?: here)?\)", 0.7),
)  # fmt: skip
_PLACEHOLDERS = [(re.compile(pattern), confidence) for pattern, confidence in PLACEHOLDERS]
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")
_ROUTINE = re.compile(
    r"\b(?:anything|something) else\b|\b(?:further|more|additional) (?:help|assistance|questions)\b"
    r"|\b(?:have a|enjoy|thank|thanks|welcome|goodbye|bye|you too)\b|^(?:ok|okay|sure|yes|no|hello|hi)\b[^?]{0,40}$"
)
MIN_WORDS = 5


def unfilled(view: View) -> Iterator[Hit]:
    """A slot of a template; not what a redacted log holds, nor what the customer wrote himself."""
    customer_text = " ".join(turn.text for turn in view.turns if turn.side == "customer")
    for _, turn in view.agent():
        for pattern, confidence in _PLACEHOLDERS:
            for match in pattern.finditer(turn.text):
                if not _REDACTED.fullmatch(match.group()) and match.group() not in customer_text:
                    yield Hit("M2", turn.index, match.start(), match.end(), confidence, "an unfilled slot")


def same_again(view: View) -> Iterator[Hit]:
    """The same words, or nearly, as an earlier agent turn, with a customer's turn in between."""
    earlier: list[tuple[int, Spoken]] = []
    for position, turn in view.agent():
        best = max(
            (_alike(turn, old) for at, old in earlier if _spoke_between(view, at, position)), default=0.0
        )
        if len(turn.words) >= MIN_WORDS and best >= 0.6:
            sure = 0.9 if best > 0.97 else 0.7 if best > 0.85 else 0.45 if best > 0.72 else 0.2
            sure = sure / 3 if _ROUTINE.search(turn.low) else sure
            yield whole("M3", turn, sure, "nearly the words of an earlier turn")
        earlier.append((position, turn))


def _spoke_between(view: View, first: int, last: int) -> bool:
    return any(turn.side == "customer" for turn in view.turns[first + 1 : last])


def _alike(turn: Spoken, old: Spoken) -> float:
    """Similarity of two turns' words, in [0, 1]; of the longer whole in the shorter, too."""
    if len(old.words) < MIN_WORDS:
        return 0.0
    shared = len(set(turn.words) & set(old.words))
    if shared / min(len(set(turn.words)), len(set(old.words)) or 1) < 0.6:
        return 0.0
    if " ".join(old.words) in " ".join(turn.words):
        return max(0.8, len(old.words) / len(turn.words))
    return SequenceMatcher(None, turn.words, old.words, autojunk=False).ratio()
