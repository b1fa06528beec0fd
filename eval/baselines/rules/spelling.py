"""L1: known misspellings, and words that no vocabulary knows but for one letter.

The vocabulary is that of the embedded release's tokenizer, whose order is roughly that of frequency.
Names (written with a capital inside a sentence) and words that the customer used are left alone.
"""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from dialint.detector.release import EMBEDDED
from dialint.eval.baselines.rules.view import Hit, View, words

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
            confidence = _doubt(match.group(), view, names)
            if confidence:
                why = f"'{match.group().lower()}' looks misspelled"
                yield Hit("L1", turn.index, match.start(), match.end(), confidence, why)
        for match in _SOUND_ALIKE.finditer(turn.low):
            yield Hit(
                "L1", turn.index, match.start(), match.end(), 0.7, "a word that sounds like the right one"
            )


def _doubt(word: str, view: View, names: set[str]) -> float:
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
        or _known(low)
        or not vocabulary()
    ):
        return 0.0
    return 0.6 if _near(low) else 0.15


@cache
def _known(word: str) -> bool:
    known = vocabulary()
    if word in known or word in _CHAT:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            if any(form in known or form in _CHAT for form in (stem, stem + "e", stem[:-1] + "y", doubled)):
                return True
    return any(
        word.startswith(start) and len(word) > len(start) + 3 and _known(word[len(start) :])
        for start in _STARTS
    )


@cache
def _near(word: str) -> bool:
    """Whether a frequent word is one insertion, deletion, replacement or swap away."""
    known = vocabulary()
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    forms = {a + b[1:] for a, b in splits if b}
    forms |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    forms |= {a + c + b[1:] for a, b in splits if b for c in letters}
    forms |= {a + c + b for a, b in splits for c in letters}
    for form in forms:
        if len(form) >= MIN_LETTERS - 1:
            if known.get(form, FREQUENT) < FREQUENT:
                return True
            if form.endswith(("s", "d", "ing", "ly")) and _known(form):
                return True
    return False
