"""The words that announce a name, by how sure they are of it.

`mine`: "my name is", where any word may follow. `theirs`: "the name is". `bare`: a capital must follow.
`title`: "Mr". `related`: "my sister", where a capital must follow. `person`: "speaking with". `weak`: "this
is". `greeting`: "hello". `assent`: "okay, ..." before a well-known name. `field`: "name:" in a form.
"""

from __future__ import annotations

import re


def _any(*phrases: str) -> str:
    """One alternation of patterns, given as strings of patterns with a bar between."""
    return "|".join(phrases)


_WHOSE = "full|first|last|middle|maiden|family|legal|real|actual|given|user|own"
_IS = "is|would be|it's|should be|reads|'s"

_MINE = _any(
    rf"my(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?names? (?:{_IS})",
    rf"my(?: (?:{_WHOSE})){{0,2}} name's",
    "me llamo|mi nombre(?: completo)? es|mi apellido es|a nombre de|se llama",
    "меня зовут|моё имя|мое имя|моя фамилия|на имя|ich heiße|mein name ist|je m'appelle|mon nom est",
    "mi chiamo|nazywam się|mam na imię|meu nome é|ik heet|mijn naam is",
)
_THEIRS = _any(
    rf"(?:her|his|the|your|their|{_WHOSE}|customer|passenger|guest|"
    rf"patient)(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?names? (?:{_IS})",
    rf"(?:my|her|his|the|your|their|{_WHOSE}|customer)(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?name was",
    rf"(?:the|{_WHOSE}) name's|(?<!\w )name's|surname is|account holder is|(?<!\w )name is",
    r"name on (?:the |my |your )?[\w ]{1,24}? is",
    "under (?:the )?name(?: of)?|in the name(?: of)?",
)
_FAMILY = _any(
    "wife|husband|son|daughter|sister|brother|mother|father|mom|mum|dad|grandmother|grandfather|aunt|uncle|cousin",
    "friend|boyfriend|girlfriend|fiancée?|partner|roommate|flatmate|neighbou?r",
)
_JOB = _any(
    "colleague|coworker|boss|manager|supervisor|agent|representative|rep|advisor|assistant|host|driver|technician",
    "specialist",
)
_BARE = _any(
    rf"(?:{_FAMILY})'s (?:\w{{1,10}} )?name(?: is)?",
    "(?:first|last|full|middle|family|maiden) ?name|surname|call me|go by|goes by|spell(?:ed|t)(?: as)?",
    "(?:customer|contact|account|card ?holder|passenger|recipient|guest|patient) name",
    "le atiende|le habla|soy|зовут",
)
_TITLE = _any(
    "mr|mrs|ms|miss|mx|dr|prof|professor|herrn|don|doña|señora|señor|señorita|sra|sr|herr|frau|monsieur|madame|mme|pan|pani",
    "г-н|г-жа|господин|господина|госпожа|госпожу|доктор",
)
_WEAK = _any(
    "this is|i am|i'm|im|it's|it is|here is|here's|that's|it was|meet|named|on behalf of|attn:?",
    "is this|are you|am i (?:speaking|talking|chatting) (?:to|with)",
    "(?:reservation|booking|appointment|order|account|room|table|tickets?) (?:for|under|with|of)",
    "(?:transfer|connect|pass|put|hand|refer)\\w{0,5} (?:you|me|him|her|them)(?: (?:over|through|on))? to",
    "verbinde sie mit|(?:paso|transfiero|comunico) con|transf[eè]re à|перевожу вас на|соединяю (?:вас )?с|"
    "para|pour|colleague|an|cc",
    "это|говорит|вас приветствует|вас беспокоит|habla|aquí|hier ist|hier spricht|ich bin|je suis|c'est|sono",
)
_RELATED = rf"(?:my|your|our|his|her|their) (?:{_FAMILY}|{_JOB})"
_PERSON = _any(
    "(?:speaking|speak|spoke|spoken|talk|talked|talking|chat|chatted|chatting) (?:to|with)",
    rf"(?:{_JOB})(?:(?: today| here| now)? (?:is|was|named|called|will be))?",
    _FAMILY,
    "(?:booking|reservation|appointment|table|it's|it is) (?:is )?under|(?:reserviert|gebucht|buchung) unter|"
    "auf den namen|sprechen mit|gesprochen mit|hablé con|parlé (?:avec|à)",
    "sign me up as|travell?ing with|passenger is|passagère?|through to|владелец сч[её]та",
    "connected (?:to|with)|reached|(?:booked|registered|listed|known|address me|signed in|saved) (?:as|"
    "under)|signed by|helped by|assisted by|served by|answered by|handled by",
)
_GREETING = _any(
    "hi|hello|hey|dear|hiya|good (?:morning|afternoon|evening|day)|greetings|welcome(?: back)?|many thanks",
    "thanks(?: so much| again| a lot| a million)?|thank you(?: so much| very much| again)?|sorry|goodbye|bye",
    "cheers|morning|evening|nice to meet you",
    "hola|buenos días|buenas tardes|buenas noches|buenas|estimad[oa]|querid[oa]|gracias|saludos",
    r"здравствуйте|добрый день|доброе утро|добрый вечер|привет|уважаем\w+|дорог(?:ой|ая|ие)|спасибо",
    "hallo|guten tag|guten morgen|liebe|lieber|sehr geehrte[rs]?|danke|bonjour|bonsoir|cher|chère|merci|ciao",
    "buongiorno|dzień dobry|cześć|olá",
)
_ASSENT = "ok|okay|sure|yes|no|great|perfect|alright|pleasure|appreciate it|of course|for|with"
_CLOSING = _any(
    "(?:best|kind|warm|kindest|warmest)? ?regards|best wishes|best|sincerely|yours (?:sincerely|truly|"
    "faithfully)",
    "sincerely yours|cheers|thanks|thank you|many thanks|thanks in advance|respectfully|warmly|cordially|"
    "take care",
    "signed|sent by|all the best|yours|saludos|un saludo|atentamente|saludos cordiales|gracias|с уважением",
    "mit freundlichen grüßen|viele grüße|liebe grüße|mfg|cordialement|bien à vous|pozdrawiam",
)

CUES = re.compile(
    rf"(?<![\w'])(?:(?P<mine>{_MINE})|(?P<theirs>{_THEIRS})|(?P<party>(?:beneficiary|recipient|payee|gast|kundin?|guest|passenger|"
    rf"customer|to|an|para|cc|pour|à|кому|клиент) ?:)|(?P<field>(?:(?:customer|guest|passenger|"
    rf"recipient|account holder|"
    rf"cardholder|patient)(?: name)?|name) ?[:=-])|(?P<bare>{_BARE})|(?P<title>(?:{_TITLE})\.?)|"
    rf"(?P<related>{_RELATED}(?:'s (?:\w{{1,10}} )?name)?(?:(?: today| here| now)? (?:is|was|named|called|"
    rf"will be))?)|(?P<person>{_PERSON})|"
    rf"(?P<weak>{_WEAK})|(?P<greeting>{_GREETING})|(?P<assent>{_ASSENT}))(?!\w)(?=[^\w\n]{{0,3}}\s?\w)"
)
"""The name of the group that matched says how sure the cue is."""

SIGNED = re.compile(
    rf"(?:^|[\n.!?,;] ?)\s{{0,3}}(?:(?:{_CLOSING})\s?(?:[,.!-]{{1,2}}\s{{0,3}}\n?|\n)\s{{0,3}}|(?:regards|"
    rf"wishes|sincerely|sent by|signed by)\s)"
    r"(?=\w)"
)
"""A closing formula; the name follows."""

ASKED = re.compile(
    _any(
        "(?:your|full|first|last|whose|account|caller|the|a|and|sur|under what|under which|guest|patient|"
        "passenger) ?name",
        "who (?:am i|is this|do i)|имя|как вас зовут|фамили|se llama|su nombre|tu nombre|ihr name|votre nom",
    )
)
"""A turn that asks for a name."""
