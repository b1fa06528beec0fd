"""Words that English writers often misspell, and words that are easily taken for each other."""

from __future__ import annotations

from dialint.labeling.synthetic.grammar_rules import Rule

_LIST = """
accommodate accomodate acommodate; accommodation accomodation accommodaton; account acount accont;
address adress addres; again agian agin; already allready alredy; also aslo allso; although altough;
always allways alwasy; amount ammount amout; another anohter annother; answer anwser awnser;
apologize apologise_ appologize; apology appology; apologies appologies; apartment appartment apartement;
appointment apointment appointmant; appreciate apreciate appriciate; arrange arange; arrive arive;
arrives arives; arrival arival; assist asist assit; assistance assistence asistance; attached atached;
attraction atraction attracton; available availible avaliable; availability availibility avaliability;
balance ballance balence; because becuase becouse; before befor befroe; beginning begining; being bieng;
believe beleive belive; between betwen; book bok; booked boked; booking boking bookng; business bussiness buisness;
calendar calender; cancel cancle cansel; cancelled cancled canceld; cancellation cancelation_ cancellaton;
cannot cannnot; center centr; certain certian; certainly certianly certainley; change chnage; changed chaged;
charge charg; cheap cheep; check chek chekc; choose chose_ choos; chosen choosen; coming comming;
comfortable comfertable; complete compleet complte; completed compleated; completely completly;
confirm confrim comfirm; confirmed confrimed; confirmation confimation confirmaton; contact contanct conatct;
convenient convienient convinient; convenience convienience; correct corect correctt; could coud cuold;
customer custumer costumer; date daet; definitely definately definitly; deliver delivier; delivery delivary delievery;
departs departes depatrs; departure departue; description discription; destination destinaton;
details detials deatils; different diffrent diferent; difficult dificult; direct driect; directly directely;
discount discout; does dose_; driver dirver; during durring; either iether; email emial; enough enuf enought;
entrance enterance; especially expecially; every evrey; everything everthing; exactly exaclty; excellent excelent;
exchange exhange; expensive expencive expensiv; experience experiance; favourite favorit; february febuary;
finally finaly; found foudn; forward foward; friend freind; from form_; further furthur; general genral;
glad gald; going goign; government goverment; great graet; guarantee garantee guarentee; guest geust;
happen hapen; happy hapy; have ahve; having haveing; hello helo; help hlep; helpful helpfull; here heer;
hotel hotle; however howver; hundred hunderd; immediately immediatly imediately; important importent;
inconvenience inconvienence inconvinience; include inlcude; included inculded; includes inculdes;
information infomation informaton; instead insted; interested intrested; interesting intresting; issue isue;
item itme; itself itslef; know konw; later latter_; leave leav; leaves laeves; least leats; letter lettter;
library libary; like liek; listed lsited; little litle; located locatd loacted; location loction; looking loking;
maintenance maintainance; manager manger_; match mathc; maybe mabye; membership membershp; message mesage;
minute minuet; minutes minuets; moderate moderte; moment momment; money mony; more moer; morning mornign;
museum musuem; necessary neccessary necesary; need nede; needs neeeds; network netwrok; nothing nothin;
number nubmer numbre; occasion ocasion; occurred occured; offer ofer; office ofice; online onlien; open oepn;
opportunity oportunity; option optoin; options opions; order oder; original orignal; other ohter; package pakage;
parking praking; passenger passanger; password pasword; payment paymant; people poeple; perfect perfct prefect_;
perhaps perphaps; personal personnel_; phone phnoe; piece peice; place palce; please pleae plese; pleasure plesure;
policy pollicy; possible posible; postcode postcoed; prefer perfer; preference preferance; preferred prefered;
price prcie; probably probaly; problem probelm; process proccess; product prodcut; proceed procede; provide provdie;
purchase purchace; quality qualtiy; question questoin; quick quik; quickly quikly; quite quiet_; range rnage;
rating rateing; really realy; reason reson; receipt reciept; receive recieve; received recieved; recently recentley;
recommend recomend reccomend; reference refrence referance; refund refudn; regarding reguarding; request requset;
require requre; reservation resevation reservaton; reserve resevre; reserved resrved; resolve reslove;
restaurant restaraunt resturant; return retrun; review reveiw; right rihgt; saturday saterday; schedule shedule scedule;
search serach; selected slected; separate seperate; service serivce; several severl; should shoud; similar similiar;
sincerely sincerly; size sise; some soem; something somthing; soon sonn; sorry sory; specific spesific; standard standart;
station staion; still stil; store stroe; street steet; success succes; successful succesful sucessful;
successfully succesfully sucessfully; such shuch; suggest sugest; support suport; sure shure; system sytem; table tabel;
taxi taix; thank thnak; thanks thnaks; that taht; their thier; them tehm; there thier; these theese; they tehy;
thing thign; think thikn; this thsi; though thoguh; through trough_ throught; ticket tickt; time tiem; today todya;
together togehter; tomorrow tommorow tommorrow; total totla; town twon; track trak; train trian; transfer tranfer;
travel travle; tried tryed; truly truely; unfortunately unfortunatly unfortunetly; until untill; upgrade upgarde;
usually usualy; vehicle vehical; verify verfiy; very vrey; visit vist; wait wiat; want wnat; wednesday wensday;
weather wether_; week weke; weekend weekand; welcome wellcome; were wre; what waht; when wehn; where wheer;
whether wether_; which wich; while whiel; will wil; with wiht; without witout; wonderful wonderfull; work wrok;
working wroking; would woudl wuold; writing writting; wrong worng; year yaer; your yuor; yourself youself
"""


def _table() -> dict[str, tuple[str, ...]]:
    """Correct word to misspellings; forms marked with a low line are words themselves and left out."""
    table = {}
    for entry in _LIST.split(";"):
        right, *slips = entry.split()
        kept = tuple(slip for slip in slips if not slip.endswith("_"))
        if kept:
            table[right] = kept
    return table


MISSPELLINGS: dict[str, tuple[str, ...]] = _table()

_REAL = """
able about age ages alder and another any are area arena as ask asked ate bag ball band bar bare bars base
bean bear beat bed been begin being best bets big bit boat bold bond book boom bot both bother bots bound
bout bring brother brown bug bus busy but buy cable cake call calm cam came can car card care cart case cash
cast cat cave cell chat cheap cheat check cheek cheer chess chest choice choose chose claim clam class cloud
coast cod code coed coin cold come con cone cook cool cost could crow crowd crown cry cure date day days
deal deals dear deer dice did do does dog don done down draw drawn drew drown dry due ear ease east easy eat
eight either elder end ended even ever every fair fall far fare fee feed feel feet fight file fill find fine
fir fire flight fly fold food for fore fork form found four free from fry full fun fund game gate gave give
glass god gold good grand grass ground group grow guy had hall hand hard harp has hat hate have hear heart
hearth heat height hen her herd here hers hire his hoe hold hole home hook hop hope hostel hot hotel hotels
hour hours how is join joint kind king knew know known lace lake lance land last late lay lead leads lease
least light like line list live lo load look loose lose lost loud love lover low made mail main make man
mane many mate may meat meet men mere met mice might mile mind mine mode model mood more motel mother move
mover name names near need needed neither new news next nice night no not note now older on once one ones
open opens opera order orders other our out oven over own pace page paint park parks part parts pass past
pay peace pen pint place plan plane plate play plea pleas please point points pork port post pound price
prices pride pries print prints quiet quit quite rail rain ran rand rank ranks rate rather read reads ready
real red reel rest rice right ring rise road roads roam room rooms rote round rout route routes sage sale
sales same sand save say says sear seat seed sell send sent set shed ship shop should shoulder show shows
shp side sight sign sing sit site size sizes slow so sole some sore sound space star stare stars start state
stay stays steam stop store stores story street strip sue suit suite sure table tables tail take tale talk
tank tanks task tax taxi taxis tea team tear teas tell ten tend test text than thank that them theme then
there these thing thins this those three tight tire tired to told too took tool top tow town trail train
trap tree trial tried tries trip trips try two under use used user vary very voice voices vote wait wake
walk wall want war ward way ways wear weather weight well went were west wether what when where whether
while who whole whom whose will won wont wood word work world would yard year years you your
"""
REAL_WORDS = frozenset(_REAL.split())
"""Words that a slip may make by chance; a slip that makes one is not used."""

HOMOPHONES: tuple[Rule, ...] = (
    Rule(r"\bthere(?= (is|are|will|was|were)\b)", ("their", "they're")),
    Rule(r"\btheir\b", ("there", "they're")),
    Rule(r"\bthey're\b", ("their", "there")),
    Rule(r"\bit's(?= (a|an|the|in|on|not|located|also|open|free|going)\b)", ("its",)),
    Rule(r"\bits(?= (phone|address|postcode|price|location|number|own|name)\b)", ("it's",)),
    Rule(r"\byou're\b", ("your",)),
    Rule(r"\byour\b(?= (welcome)\b)", ("you're",)),
    Rule(r"\byour\b(?= [a-z])", ("you're",)),
    Rule(r"\byou are\b", ("your",)),
    Rule(r"(?<=more |less )than\b|(?<=rather )than\b", ("then",)),
    Rule(r"\bthen\b", ("than",)),
    Rule(r"\btoo(?= (much|many|expensive|late|long|far|early)\b)", ("to",)),
    Rule(r"\bto(?= (book|find|make|help|see|check|get|know|be|go|leave|arrive)\b)", ("too",)),
    Rule(r"\b(could|would|should|must) have\b", (r"\1 of",)),
    Rule(r"\bwhere\b", ("were", "wear")),
    Rule(r"\bwere\b(?= (able|not|booked|found|charged))", ("where",)),
    Rule(r"\bwhether\b|\bweather\b(?= or not)", ("weather",)),
    Rule(r"\bhear(?= (from|that|about)\b)", ("here",)),
    Rule(r"\bhere\b(?= (is|are)\b)", ("hear",)),
    Rule(r"\bright\b", ("write", "rite")),
    Rule(r"\blose\b", ("loose",)),
    Rule(r"\baccept\b", ("except",)),
    Rule(r"\bexcept\b", ("accept",)),
    Rule(r"\badvice\b", ("advise",)),
    Rule(r"\bfare\b", ("fair",)),
    Rule(r"\bfour\b(?= (people|nights|hotels|options))", ("for",)),
    Rule(r"\bby\b(?= (the|train|car|taxi|\d))", ("buy",)),
    Rule(r"\bno\b(?= (problem|longer|restaurants|hotels|trains))", ("know",)),
    Rule(r"\bknow\b", ("no", "now")),
    Rule(r"\bmeet\b", ("meat",)),
    Rule(r"\bwait\b", ("weight",)),
    Rule(r"\bpiece\b", ("peace",)),
    Rule(r"\bone\b(?= (moment|second|minute|of)\b)", ("won",)),
    Rule(r"\bwhole\b", ("hole",)),
    Rule(r"\bpassed\b", ("past",)),
    Rule(r"\bwho's\b", ("whose",)),
    Rule(r"\blet's\b", ("lets",)),
)
"""Rules that put a word in the place of another that sounds alike."""

PHONETIC = (
    ("tion", "shun"), ("tion", "sion"), ("ph", "f"), ("ck", "k"), ("ould", "ud"), ("igh", "ite"), ("ea", "ee"),
    ("qu", "kw"), ("ss", "s"), ("ough", "uff"), ("ei", "ay"), ("ble", "bel"), ("ice", "ise"), ("ce", "se"),
    ("ary", "ery"), ("ence", "ance"), ("ance", "ence"), ("ai", "ay"), ("ee", "ea"), ("oo", "u"), ("wh", "w"),
    ("er", "ur"), ("ly", "lee"), ("able", "ible"), ("gh", ""), ("kn", "n"), ("wr", "r"), ("ou", "ow"),
)  # fmt: skip
"""Spellings and what a writer by ear makes of them."""
