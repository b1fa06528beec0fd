"""Rules for spelling (L1) and grammar (L2).

L1: known misspellings, and words that are not in the vocabulary but one letter away from a frequent word. The
vocabulary is that of the embedded release's tokenizer, whose order is roughly that of frequency. Names (written
with a capital inside a sentence) and words that the customer used are exempt. L2: patterns for agreement,
articles, doubled words, verb forms after auxiliaries and prepositions.
"""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from dialint.detector.release import EMBEDDED
from dialint.eval.baselines.rules.view import Hit, View, words

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
    customer_text = " ".join(turn.low for turn in view.turns if turn.side == "customer")
    for _, turn in view.agent():
        for pattern, confidence, why in _COMPILED:
            for match in pattern.finditer(turn.low):
                if match.group() not in customer_text:
                    yield Hit("L2", turn.index, match.start(), match.end(), confidence, why)


MISSPELLED = words(
    """
    recieve recieved reciept recieving beleive beleived acheive acheived seperate seperately seperated
    definately definatly definitly occured occuring occurence occassion occasionaly untill wich whihc
    teh hte adn thier theyre becuase becasue becouse beacuse tommorow tommorrow tomorow tomorrrow adress
    addres adresses neccessary necesary neccesary unfortunatly unfortunatley unfortunetly unfortunally
    apologise apoligize appologize apologies appologies apolgies apologize imediately immediatly
    immediatelly inmediately avaliable availible avaible availabe avilable accomodate accomodation
    acommodation reccomend recomend reccommend recomended recommand refered refering prefered begining
    comming writting sucessful succesful successfull sucessfully succesfully succesfull sucess
    transfered transfering cancelation guarentee garantee guarantied waranty warrenty gaurantee
    reservaton reservtion availablity avalability convinient convienient conveniant convenience
    inconvienence inconvinience inconvience responsable responsability maintainance maintenence knowlege
    knowledgable greatful gratefull truely sincerly sinserely wether wheather weather-wise freind
    freinds wierd calender catagory commited comittee concious curiousity decieve desparate diffrent
    diferent dissapointed dissapear dissappointed disapointed embarass embarassed enviroment equiptment
    exellent excelent existance experiance explaination familar finaly foriegn fourty goverment grammer
    happend harrass hieght higth immediatley independant indispensible inital intrested intresting
    knowen langauge lenght libary liason lisence licence-plate managment mesage messege mispell misspel
    neccesarily noticable ocasion oppurtunity opportunty orginal paralel particuarly payed-for paymet
    peice perfered persue personel posession possable posible potatos prefferred presance priviledge
    probaly probly proccess procede proceedure procedue pronounciation publically purchaced quater
    questionaire questoin realy reasearch recomendation refrence relevent reliase rember remeber
    repitition restaraunt restaraunts resturant restraunt restuarant resterant rythm saftey satify
    satisfed scedule shedule schedual scheduel seige sence seperation serivce servise shiped shiping
    similiar simular sincerley speach specifc stoped stragety strenght succed sumary suprise suprised
    surley surpise temperture temporaly thanx therefor thru togther tomato's tounge trasnfer
    travelling-wise truley tution twelth tyranny udpate upadte updaet unecessary unneccessary untilll
    usefull usualy vaccum vegatable vehical verfication verfy verifiy visable wensday wednessday
    wendesday thursady tuseday satuday sunady febuary janurary feburary wellcome welcom writen yeild
    youre yuor yoru yuo woudl wuold shoudl shuold coudl cuold dont-know waht whta thsi tihs htis taht
    tath wiht wtih form-fill fro-m hvae ahve jsut juts liek lkie konw knwo abotu aobut alot noone infact
    aswell incase eachother thankyou goodday moring mornign eveing evning evenning nigth ngiht numer
    nubmer numbr nuber acount accout acccount accoutn custmer custumer costumer-service ordre
    oder-number orde delievery delivary delivey delivry dilivery packge pakage pacakge parcle refudn
    refun balence balnce confrim comfirm confirmaton confrimation conformation-number pasword passowrd
    pssword emial eamil e-mial techical tecnical technicion technicain apointment appointmnet appoinment
    appointement insurence insurace flite fligth flght hotle hotell resrvation buisness bussiness
    busines busness adviced-you assitance assistence assisstance asistance assit assited aditional
    additonal anwser awnser asnwer aproximately approximatly aproved arived arrivng availble bookd
    boking cheque-in cofirm compelte completly concered contat contcat curently currenly departue
    destinaton detials deatils discusion elligible eligable excahnge expences expresso extention furthur
    garauntee havn't dosen't does'nt did'nt is'nt was'nt would'nt could'nt should'nt ca'nt wo'nt do'nt
    helpfull incorect infomation informaton infromation instuctions investigaton isue isssue issueing
    latter-on lattest locaton mentionned minuts moniter montly offical oficial optoin patiance pacience
    paitence permision plase pleae plese pleas-wait prefrence problme prolem provde provid recipt reqest
    requst requsted requird resolv resloved responce retrive retreive reveiw revew secuirty securty
    selction shoping solvd somthing soem stret sugest sugestion suport suppport sytem sysem thak thakn
    thansk thnak tickt transation transacton trough unabel undestand understnad usally verifed verison
    wating weel-come whos's woried yesturday zipcod
    """
)
_RIGHT = words(
    """
    apologise apologies apologize convenience tyranny thru
    """
)
_CHAT = words(
    """
    ok okay hi hey yeah yep nope lol btw asap pls thx hmm uhm umm oh ah haha yay wow oops sorry wifi
    wi-fi email emails online offline app apps website url login logout signup barista latte lattes
    mocha frappuccino espresso decaf soy cappuccino macchiato americano venti grande cafe cafes burrito
    taqueria trattoria pizzeria tapas sushi gastropub guesthouse guesthouses postcode postcodes zipcode
    checkout checkin reschedule rescheduled reschedules rebook rebooked rebooking cancelled cancelling
    canceled canceling apologise apologize apologies refundable nonrefundable unlock unlocked reset
    resets resetting username passcode voicemail smartphone usb hdmi bluetooth router routers modem
    troubleshoot troubleshooting reboot rebooted rebooting gb mb mbps rsvp atm pin cvv iban swift vegan
    gluten halal appetizer appetizers caterer catering dietary takeaway takeout uber lyft minivan suv
    sedan rideshare dropoff pickup whereabouts condolences congrats complimentary amenities unavailable
    inconvenience gladly kindly reconfirm queue moderately priced pricey ppl gbp usd hrs mins hr min pm
    am etc vs faq attendees venue venues rooftop jacuzzi ensuite dermatologist orthodontist
    paediatrician pediatrician gynecologist ophthalmologist prescription copay deductible overdraft
    payee itinerary layover stopover nonstop legroom roundtrip
    """
)
_WORD = re.compile(r"(?<![\w@./#-])[A-Za-z]+(?:'[A-Za-z]+)?(?![\w@/#-]|\.\w)")
_ENDINGS = (
    "'s",
    "s",
    "es",
    "ed",
    "d",
    "ing",
    "ly",
    "er",
    "ers",
    "est",
    "y",
    "ness",
    "able",
    "ment",
    "ful",
    "n't",
)
_STARTS = ("un", "re", "pre", "non", "mis", "over", "dis")
FREQUENT = 12_000
"""A word further down the vocabulary is no likely intention."""
MIN_LETTERS = 5
_SOUND_ALIKE = re.compile(
    r"\b(?:your (?:welcome|right|correct|eligible|able|going to|already|all set|not)"
    r"|(?:more|less|better|other|rather|later|earlier|sooner|cheaper|faster) then\b"
    r"|(?:loose|loosing) (?:your|the|access|any)|(?:its) (?:a|an|the|not|ok|okay|fine|possible|important) "
    r"|their (?:is|are|was|were|will)\b|they're (?:account|order|address|number|phone)"
    r"|there (?:account|order|address|phone|website|email)\b|to (?:late|early|many|much|expensive) "
    r"|(?:i|you|we|they) (?:no|new) (?:that|the|how|what)|(?:please|can|could|will|you|to) (?:except|brake|bye) the"
    r"|whether (?:forecast|is|today|tomorrow)|(?:could|should|would|must) of\b|(?:here|hear) from you (?:soon)?!!"
    r"|(?:i|we|i'll|we'll) (?:sea|cheque|chek|rite|right) (?:you|your|it|that|this) )",
)


@cache
def vocabulary() -> dict[str, int]:
    """Whole words of the embedded tokenizer with their rank; empty without an embedded release."""
    path = EMBEDDED / "tokenizer.json"
    if not path.is_file():
        return {}
    ranks = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    return {word: rank for word, rank in ranks.items() if word.isalpha() and len(word) > 1}


def misspelled(view: View) -> Iterator[Hit]:
    """Words of the list .9, sound-alikes .7, unknown words that lie one letter from a frequent one .6."""
    names = {
        match.group().lower()
        for turn in view.turns
        for match in _WORD.finditer(turn.text)
        if match.group()[0].isupper() and match.start() and turn.text[match.start() - 2] not in ".!?"
    }
    for _, turn in view.agent():
        for match in _WORD.finditer(turn.text):
            confidence = _misspelling_confidence(match.group(), view, names)
            if confidence:
                why = f"'{match.group().lower()}' looks misspelled"
                yield Hit("L1", turn.index, match.start(), match.end(), confidence, why)
        for match in _SOUND_ALIKE.finditer(turn.low):
            yield Hit(
                "L1", turn.index, match.start(), match.end(), 0.7, "a word that sounds like the right one"
            )


def _misspelling_confidence(word: str, view: View, names: set[str]) -> float:
    low = word.lower()
    if low in view.customer_words or low in _RIGHT:
        return 0.0
    if low in MISSPELLED:
        return 0.9
    if (
        "'" in low
        or len(low) < MIN_LETTERS
        or word[0].isupper()
        or low in names
        or _is_word(low)
        or not vocabulary()
    ):
        return 0.0
    return 0.6 if _near(low) else 0.15


@cache
def _is_word(word: str) -> bool:
    ranks = vocabulary()
    if word in ranks or word in _CHAT:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            if any(form in ranks or form in _CHAT for form in (stem, stem + "e", stem[:-1] + "y", doubled)):
                return True
    return any(
        word.startswith(start) and len(word) > len(start) + 3 and _is_word(word[len(start) :])
        for start in _STARTS
    )


@cache
def _near(word: str) -> bool:
    """Whether a frequent word is one insertion, deletion, replacement or swap away."""
    ranks = vocabulary()
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    forms = {a + b[1:] for a, b in splits if b}
    forms |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    forms |= {a + c + b[1:] for a, b in splits if b for c in letters}
    forms |= {a + c + b for a, b in splits for c in letters}
    for form in forms:
        if len(form) >= MIN_LETTERS - 1:
            if ranks.get(form, FREQUENT) < FREQUENT:
                return True
            if form.endswith(("s", "d", "ing", "ly")) and _is_word(form):
                return True
    return False
