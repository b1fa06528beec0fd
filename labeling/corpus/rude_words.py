"""Words of abuse, as patterns, in the languages of the corpora. Written by hand, short on purpose.

`RUDE` is swearing and insults: from an agent a signal worth keeping. `VILE` is slurs and sexual talk:
from a customer, with nothing else of use beside it, a reason to leave a dialogue out. Both want text in
lower case. Neither is a detector of rudeness; it only decides what text a model may be fed.
"""

from __future__ import annotations

import re

RUDE = re.compile(
    r"\b(?:idiots?|idiotic|morons?|stupid|dumb(?:ass)?|imbeciles?|shut up|shut the|screw you|go to hell|"
    r"(?:mother)?fuck\w*|f\*+k?|bull?shit\w*|shit\w*|crap|damn(?:ed)?|bastards?|bitch\w*|ass+hole\w*|jerks?|"
    r"losers?|pathetic|are you (?:deaf|blind|crazy)|wtf|stfu|piss(?:ed)? off)\b|"
    r"\b(?:идиот\w*|дурак\w*|дура|тупой|тупая|заткни\w*|дерьм\w*|сволоч\w*|козёл|козел)\b|"
    r"傻[逼瓜子]|白痴|混蛋|滚蛋|他妈的|去死|垃圾客服"
)

VILE = re.compile(
    r"\b(?:nigg(?:er|a)s?|fag(?:got)?s?|kikes?|chinks?|spics?|trann(?:y|ies)|retard(?:ed|s)?|whores?|sluts?|"
    r"cunts?|blow ?jobs?|hand ?jobs?|porn\w*|horny|masturbat\w*|dildos?|vagina|penis|pussy|boobs|tits|"
    r"cumming|have sex|sex with|suck my|naked pic\w*|nudes)\b|"
    r"\b(?:пидор\w*|шлюх\w*|блядь|хуй\w*|пизд\w*|порно\w*)\b|"
    r"操你|鸡巴|婊子|色情"
)
