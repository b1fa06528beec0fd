"""Slips of spelling (L1) and grammar (L2) of the exam, and right words that look like slips."""

# ruff: noqa: E501

ENDINGS: tuple[tuple[str, str], ...] = (
    (r"(\w{2,})ically", r"\1icly"), (r"(\w{3,})ully", r"\1uly"), (r"(\w{3,})ful", r"\1full"), (r"(\w{3,}t)ely", r"\1ly"),
    (r"(\w{2,}a)lly", r"\1ly"), (r"(\w{2,})tion", r"\1sion"), (r"(\w{2,})tions", r"\1sions"), (r"(\w{3,})ssion", r"\1tion"),
    (r"(avail|comfort|afford|reason|suit)able", r"\1ible"), (r"(poss|respons|access|flex|elig|incred)ible", r"\1able"),
    (r"(entr|assist|insur|guid|clear|bal)ance", r"\1ence"), (r"(refer|differ|conveni|resid|prefer|experi|confid)ence", r"\1ance"),
    (r"(restaur|assist|import|inst|pleas|relev)ant", r"\1ent"), (r"(differ|conveni|pati|frequ|curr)ent", r"\1ant"),
    (r"(pay|appoint|apart|depart|require|docu|settle)ment", r"\1mant"), (r"(compan|part|cit|facilit|inquir|categor|galler|librar|countr|famil|deliver|quer)ies", r"\1ys"),
    (r"(hav|leav|mak|us|arriv|tak|provid|driv|giv|mov|stor|charg)ing", r"\1eing"), (r"(com|writ|din|tim)ing", r"\1@ing"),
    (r"(open|offer|enter|order|visit|happen|limit|answer|develop)(ing|ed)", r"\1@\2"), (r"(begin)ning", r"\1ing"),
    (r"(occur|refer|prefer|transfer)r(ed|ing)", r"\1\2"), (r"(ship|shop|stop)p(ed|ing)", r"\1\2"), (r"(get|put|set|sit|cut|let)ting", r"\1ing"),
    (r"(unfortunat|immediat|complet|definit|separat|approximat)ely", r"\1ly"),
    (r"(\w*)ceiv(e|ed|ing|es)", r"\1ciev\2"), (r"(\w*)liev(e|ed|ing)", r"\1leiv\2"), (r"(th)eir", r"\1ier"), (r"(fr)iend(s|ly)?", r"\1eind\2"),
    (r"rev(iew)(s|ed)?", r"reveiw\2"), (r"(un)til", r"\1till"), (r"(wel)(come)", r"\1l\2"), (r"ad(dress)(es|ed)?", r"a\1\2"),
    (r"ac(ross)", r"acc\1"), (r"rec(o)m(mend)(ed|ation|ations|s)?", r"recc\1\2\3"), (r"acco(m)modat(e|ion|ions|ed)", r"accomodat\2"),
    (r"dis(ap)(point)(ed|ing|ment)?", r"dissa\2\3"), (r"ap(point)(ment|ments|ed)", r"a\1\2"), (r"nec(ess)(ary)", r"necc\1\2"),
    (r"suc(cess)(ful|fully)?", r"su\1\2"), (r"com(mit)(ted|ment)", r"co\1\2"), (r"im(mediat)(e|ely)", r"i\1\2"), (r"paid", r"payed"),
    (r"(a)lready", r"\1llready"), (r"(alt)hough", r"\1ought"), (r"(dif)fer(ent|ence|ences)", r"\1er\2"), (r"(of)fer(s|ed|ing)?", r"\1er\2"),
    (r"at(tract)(ion|ions|ive)", r"a\1\2"), (r"ar(riv)(al|e|es|ed)", r"a\1\2"), (r"cor(rect)(ly)?", r"co\1\2"), (r"cur(rent)(ly)?", r"cu\1\2"),
    (r"pos(s)ib(le|ly)", r"posib\2"), (r"ne(ed)ed", r"neaded"), (r"(re)(quest)(ed|s)?", r"\1qeust\3"), (r"(ch)eap(er|est)?", r"\1eep\2"), (r"ex(pensive)", r"exs\1"),
    (r"excellent(ly)?", r"excelent\1"), (r"(bea)u(tiful)", r"\1\2"), (r"(mus)e(um|ums)", r"\1i\2"), (r"(s)ched(ul)(e|ed|ing)", r"\1hed\2\3"),
)  # fmt: skip
"""A word (all of it) and what people make of its ending, doubling or vowels; ``@`` doubles the letter before."""

ELISIONS: tuple[tuple[str, str], ...] = (
    (r"(\w{0,24}[aeiou]\w{0,24}[bdfgklnpstv])[aeo]([rl][aeiou]\w+)", r"\1\2"),
    (r"(\w{2,24}[aeo])r([bcdfgklmnpstv]\w{4,})", r"\1\2"),
    (r"(\w{3,24}[aeiou])n(t[ai]\w{2,})", r"\1\2"),
    (r"(W)edn(esday)", r"\1en\2"), (r"(w)h(ich|ether)", r"\1\2"), (r"(exac|direc|perfec|correc|stric)t(ly)", r"\1\2"),
    (r"(p)robably", r"\1robly"), (r"(s)ur(prise\w*)", r"\1u\2"), (r"(quan)t(ity)", r"\1\2"), (r"(bus)i(ness\w*)", r"\1\2"),
    (r"(rest)au(rants?)", r"\1\2"), (r"(g)u(est\w*)", r"\1\2"), (r"(mus)eu(ms?)", r"\1e\2"), (r"(s)ch(edul\w+)", r"\1c\2"),
    (r"(archite)c(tur\w+)", r"\1\2"), (r"(ent)er(tainment)", r"\1r\2"), (r"(veg)e(t\w+)", r"\1\2"), (r"(favo)u?ri(te\w*)", r"\1r\2"),
    (r"(prob)lem(s?)", r"\1em\2"), (r"(un)fort(unately)", r"\1for\2"), (r"(s)ec(ond\w*)", r"\1c\2"), (r"(comf)or(tabl[ey])", r"\1\2"),
    (r"(hos)pi(tal)", r"\1p\2"), (r"(diff)er(\w+)", r"\1r\2"), (r"(av)ail(able)", r"\1al\2"), (r"(ass)is(tance)", r"\1\2"),
    (r"(app)oint(ments?)", r"\1oi\2"), (r"(rec)om(mend\w*)", r"\1\2"), (r"(tomo)r(row)", r"\1\2"), (r"(imm)edi(ately)", r"\1id\2"),
)  # fmt: skip
"""A word (all of it) and what is left when a sound that is hardly spoken goes unwritten."""

JOINED = (
    "a lot", "as well", "in fact", "in case", "at least", "thank you", "each other", "no one", "of course", "up to", "right away",
    "able to", "for you", "in the", "of the", "to be", "next to", "such as", "by the", "you are", "would you", "do you", "have a",
    "at the", "if you", "let me", "is there", "going to", "on the", "to book", "it is", "need to", "with you", "all of", "to the",
)  # fmt: skip
"""Two words that are run together."""

SPLIT = (
    "with|out", "any|thing", "some|thing", "some|one", "every|thing", "in|formation", "avail|able", "an|other", "to|day", "to|night",
    "how|ever", "up|date", "in|stead", "to|gether", "break|fast", "after|noon", "out|side", "under|stand",
    "other|wise", "with|in", "for|ward", "book|ing", "confirm|ation", "depart|ure", "re|served", "appoint|ment", "sched|uled",
    "every|one", "any|one", "park|ing", "arriv|al", "pleas|ure", "to|morrow", "yester|day", "under|stood", "per|fect", "re|servation", "loc|ated", "re|ference",
)  # fmt: skip
"""A word that is torn apart, the tear as a bar."""

TRANSFER = (
    "I {am agree=>agree} with your wish.",
    "Please {to wait=>wait} a (moment|minute).",
    "I can {to look=>look} at the rest for you later.",
    "I will explain {you the rest=>the rest to you} later if you like.",
    "I look forward to {hear=>hearing} from you again.",
    "{Are you want=>Do you want} a copy of this chat?",
    "I {am working here since=>have been working here for} five years, just so you know.",
    "Thank you for {give=>giving} me the details.",
    "You {have to choosing=>have to choose} nothing yet.",
    "This chat is {more better=>better} than a phone call for such things.",
    "Chatting is {the most easiest=>the easiest} way.",
    "I have two {informations=>pieces of information} on that if you like.",
    "Would you like {that I send=>me to send} a copy of this chat?",
    "I {make to you=>will make} a note for next time.",
    "I am {very agree=>in full agreement} with you.",
    "{Is possible=>It is possible} to change your mind later.",
    "{Is not=>It is not} a problem.",
    "We {will can=>will be able to} keep your details for next time.",
    "I did not {forgot=>forget} about you.",
    "My boss {said me=>told me} to thank you for your visit.",
    "Let me {to note=>note} that down for the file.",
    "I suggest you {to keep=>keep} this chat open.",
    "I {am having=>have} your details here.",
    "Let me know how {is it going=>it is going} with that.",
    "You can {found=>find} our terms on the page.",
    "We give {an advice=>some advice} on that too.",
    "All {equipments are=>equipment is} checked every day with us.",
    "Sorry for {make you wait=>making you wait}.",
    "The system {is not work=>does not work} very fast today, please bear with me.",
    "(Thanks|Thank you) for your {patient=>patience}.",
    "We are happy {for help=>to help}.",
    "{I already am=>I am already} at it.",
    "Before {to go on=>going on}, I thank you for your patience.",
    "You need {wait=>to wait} only a little.",
    "Everything is {prepare=>prepared} on my side.",
    "We have {many works=>a lot of work} today, thank you for waiting.",
    "It is a pleasure {for serve=>to serve} you.",
    "I {am not knowing=>don't know} your file yet, so bear with me.",
    "Feedback {help us to getting=>helps us to get} better.",
    "You {must not to hurry=>don't have to hurry} with this.",
    "All our {staffs is=>staff are} happy to help.",
    "I write {slowlier=>more slowly} today because of my keyboard.",
)
"""Sentences of one whose first language is another: ``{wrong=>right}``."""

HURRIED = (
    "I'll be back {in in=>in} a minute if anything takes longer.",
    "I {noting=>am noting} that down now.",
    "Let me just {open it open=>open} your file too.",
    "I would be {happy help=>happy to help} with anything else.",
    "Please give me a {few more minute=>few more minutes} for the notes.",
    "Your file {should been=>should be} complete now.",
    "I {have save=>have saved} this chat for you.",
    "You can {can reply=>reply} here any time.",
    "That's {not a not problem=>not a problem}.",
    "This {will takes=>will take} only a second.",
    "I {was going ask=>was going to ask} how your day is, too.",
    "We {would be can=>would} do that gladly again.",
    "Just {let know=>let me know} if anything is unclear.",
    "Thanks {waiting=>for waiting}.",
    "I am {look=>looking} at your file right now.",
    "One moment, {I loading=>I am loading} the page.",
    "I {have noted have=>have noted} it down.",
    "A copy of this chat {will sent=>will be sent} later.",
    "{If you would if you=>If you} like, I can go on after that.",
    "I {hope it help=>hope it helps}.",
    "It {has be noted=>has been noted}.",
    "You don't {need do=>need to do} anything for now.",
    "Feel {free ask=>free to ask} me.",
    "{I'm will=>I will} stay in this chat.",
    "I'm sorry about {the this=>this} slow connection.",
    "I {can't not=>can't} see more than that here.",
    "Please {make sure have=>make sure to have} your papers ready.",
    "We're {working in it on=>working on it}.",
    "It {is been=>has been} nice to chat with you so far.",
    "You {been=>have been} very patient.",
    "We {always try be=>always try to be} quick.",
)
"""Sentences changed half-way or typed too fast: ``{wrong=>right}``."""

OWN_WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(the|to|is|for|you|have|in) (?=[a-z]+)", r"\1 \1 "),
    (r"\b(would like|want|need|going|able|happy|glad) to (?=[a-z]+\b)", r"\1 "),
    (r"\b(will|would|should) be (?=[a-z]+\b)(?!able)", r"\1 "),
    (r"\b(lots|kind|type|number|plenty) of (?=[a-z]+)", r"\1 "),
    (r"\b(can|could|must) (?=(?:help|book|find|see|confirm|offer|get|check|recommend|provide|give)\b)", r"\1 to "),
    (r"\b(D|d)o you (?=(?:want|need|prefer|know|wish)\b)", r"@re you "),
    (r"\b([Ww])ould you like me to (?=\w)", r"\1ould you like that I "),
    (r"\b([Ii])s there (?=(?:anything|something|any)\b)", r"\1s "),
    (r"\b([Hh])ow many (?=(?:people|nights|days|tickets|guests|stars|bags|rooms)\b)", r"\1ow much "),
    (r"\binformation\b", "informations"), (r"\bluggage\b", "luggages"), (r"\bpeople\b", "peoples"),
    (r"\bassistance\b", "assistances"), (r"\bentertainment\b", "an entertainments"),
    (r"\bcheaper\b", "more cheaper"), (r"\b(the|The) cheapest\b", r"\1 most cheapest"), (r"\bbetter\b", "more better"),
    (r"\b([Ll])et me (?=(?:know|check|see|look|find)\b)", r"\1et me to "),
    (r"\b([Pp])lease (?=(?:provide|give|wait|let|enter|check|tell|call|confirm)\b)", r"\1lease to "),
    (r"\bI(?: will|'ll) (?=(?:book|check|send|look|find|be|have|need)\b)", "I will to "),
    (r"(?<![^.!?\n] )\bIt is (?=[a-z]+\b)", "Is "),
    (r"\bforward to (see|hear|meet|serv)(?:ing)\b", r"forward to \1"),
    (r"\b([Tt])hank you for (?=\w+ing\b)", r"\1hank you to "),
    (r"\b([Yy])ou(?: are|'re) welcome\b", r"\1ou welcome"),
)  # fmt: skip
"""What a hurried or foreign writer makes of words that are there; ``@`` is for the first letter of "Are"."""

QUOTED = (
    'You wrote "@w", do you mean "@r"?',
    'Just to be sure: by "@w" you mean "@r", right?',
    'I searched for "@w" as in your message, then for "@r".',
    'Your file says "@w", I have changed it to "@r".',
    'The word "@w" in your message, is that "@r"?',
    'You typed "@w" in the search box, try "@r".',
)
TYPOS = (
    ("recieve", "receive"), ("adress", "address"), ("reciept", "receipt"), ("tommorow", "tomorrow"), ("seperate", "separate"),
    ("definately", "definitely"), ("adapter cabel", "adapter cable"), ("resturant", "restaurant"), ("acount", "account"),
    ("hotle", "hotel"), ("pasword", "password"), ("wensday", "Wednesday"), ("goverment", "government"), ("calender", "calendar"),
)  # fmt: skip
BRITISH = (
    "I apologise for the wait.", "I realise that this takes a while.", "I've organised my notes, sorry about that.",
    "Our programme is a bit slow today, thanks for waiting.", "Thx, one sec.", "Sure thing.", "Gonna note that down.",
    "Ta, noted.", "Cheers for that!", "I honour every wish if I can.", "No worries.", "Lemme note that.",
    "I recognise you from earlier chats.", "I can't fulfil every wish, but I try.", "Brill, noted.", "Sorry, my keyboard is playing up whilst I type.",
)  # fmt: skip
"""Right in Britain, or plainly chatty."""

TERSE = (
    "Noted.", "One moment.", "All good here.", "Not a problem.", "All noted.", "Nothing else needed on my side.",
    "Fair enough.", "No trouble at all.", "Any time.", "Sounds good.", "Happy to.", "Here goes.", "Will note that.",
    "Much appreciated.", "No rush.", "Right then.", "So far, so good.", "The sooner the better.", "Be it as you wish.",
    "The team are here for you all day.", "Should you need more, write to us.", "Were I quicker, you would be done by now.",
    "Long may it stay that quiet here.",
)  # fmt: skip
"""Short, elliptic or bookish, and no slip of grammar."""
