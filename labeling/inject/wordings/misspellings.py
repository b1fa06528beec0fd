"""Words that English writers often misspell, and words that are easily taken for each other."""

from __future__ import annotations

from labeling.inject.wordings.rules import Rule

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

REAL_WORDS = frozenset(
    ["form", "from", "three", "there", "then", "than", "them", "than", "form", "sing", "sign", "quiet", "quite", "night", "thing", "this", "thins", "here", "were", "where", "when", "went", "want", "wont", "wait", "what", "that", "chat", "hat", "cost", "coast", "lost", "last", "list", "least", "lease", "please", "ease", "pleas", "plea", "than", "thank", "tanks", "ranks", "rank", "book", "boom", "look", "cook", "hook", "took", "tool", "cool", "food", "good", "mood", "wood", "god", "gold", "hold", "told", "fold", "cold", "bold", "cod", "code", "coed", "cone", "come", "came", "cam", "same", "some", "sole", "sore", "sure", "cure", "care", "card", "cart", "car", "cat", "can", "ran", "rain", "train", "trail", "trial", "tail", "rail", "mail", "main", "man", "men", "ten", "tend", "send", "sent", "set", "sit", "site", "side", "size", "sizes", "rise", "rice", "price", "pride", "pries", "prices", "dice", "nice", "mice", "rate", "date", "late", "gate", "hate", "mate", "ate", "are", "area", "arena", "tea", "teas", "team", "steam", "seat", "sear", "year", "years", "hear", "heat", "heart", "hearth", "her", "hers", "herd", "hard", "harp", "yard", "ward", "war", "way", "ways", "day", "days", "say", "says", "may", "made", "make", "take", "cake", "wake", "lake", "like", "line", "fine", "find", "fund", "fun", "found", "round", "sound", "pound", "bound", "bond", "band", "land", "sand", "hand", "and", "end", "ended", "needed", "need", "seed", "feed", "feel", "fee", "feet", "meet", "met", "meat", "seat", "sell", "tell", "well", "will", "wall", "ball", "call", "cell", "hall", "fall", "full", "fill", "file", "mile", "while", "whole", "hole", "home", "hope", "hop", "top", "stop", "shop", "ship", "shp", "hot", "hotel", "hotels", "hostel", "motel", "model", "mode", "more", "mere", "mine", "mind", "kind", "king", "ring", "bring", "being", "begin", "been", "bean", "beat", "boat", "bout", "about", "out", "our", "your", "you", "hour", "hours", "four", "for", "fore", "fork", "pork", "park", "parks", "parts", "part", "port", "post", "past", "pass", "pay", "play", "lay", "plan", "plane", "plate", "place", "lace", "lance", "space", "pace", "peace", "pass", "page", "age", "ages", "sage", "save", "have", "cave", "gave", "give", "live", "love", "move", "mover", "lover", "over", "oven", "even", "ever", "every", "very", "vary", "any", "many", "mane", "name", "names", "game", "tables", "table", "able", "cable", "sale", "sales", "tale", "talk", "walk", "work", "word", "world", "would", "could", "cloud", "loud", "should", "shoulder", "shed", "bed", "red", "read", "reads", "ready", "rather", "other", "another", "mother", "brother", "bother", "both", "bot", "bots", "not", "note", "now", "know", "known", "knew", "new", "news", "next", "text", "test", "rest", "best", "bets", "west", "east", "eat", "tax", "taxi", "taxis", "task", "tank", "ask", "asked", "as", "is", "his", "this", "has", "had", "did", "does", "done", "don", "down", "town", "own", "won", "one", "once", "ones", "on", "no", "so", "to", "too", "two", "tow", "lo", "low", "slow", "show", "shows", "how", "who", "hoe", "whom", "whose", "those", "these", "theme", "then", "hen", "pen", "open", "opens", "opera", "order", "orders", "older", "elder", "alder", "under", "user", "used", "use", "sue", "due", "do", "dog", "room", "rooms", "roam", "road", "roads", "load", "lead", "leads", "deal", "deals", "real", "reel", "rail", "right", "light", "fight", "flight", "might", "tight", "sight", "weight", "height", "eight", "either", "neither", "weather", "whether", "wether", "rout", "route", "routes", "rote", "vote", "quite", "quit", "suit", "suite", "star", "stars", "start", "state", "stare", "store", "stores", "story", "stay", "stays", "street", "tree", "free", "fare", "far", "fair", "far", "fir", "fire", "hire", "tire", "tired", "tried", "tries", "trip", "trips", "trap", "strip", "check", "cheek", "cheap", "cheat", "chest", "chess", "cheer", "deer", "dear", "near", "bear", "wear", "tear", "ear", "east", "easy", "busy", "bus", "buy", "guy", "but", "bit", "big", "bug", "bag", "bar", "bars", "bare", "base", "case", "cash", "cast", "class", "glass", "grass", "calm", "clam", "claim", "rand", "grand", "ground", "group", "grow", "crow", "crowd", "crown", "brown", "drown", "drawn", "draw", "drew", "dry", "try", "cry", "fly", "fry", "to", "lose", "loose", "chose", "choose", "choice", "voice", "voices", "point", "paint", "pint", "print", "prints", "points", "joint", "join", "coin", "con"]
)
"""Words that a slip may make by chance; a slip that makes one is not used."""

HOMOPHONES: tuple[Rule, ...] = (
    Rule(r"\bthere(?= (is|are|will|was|were)\b)", ("their", "they're")),
    Rule(r"\btheir\b", ("there", "they're")),
    Rule(r"\bthey're\b", ("their", "there")),
    Rule(r"\bit's(?= (a|an|the|in|on|not|located|also|open|free|going)\b)", ("its",)),
    Rule(r"\bits(?= (phone|address|postcode|price|location|number|own|name)\b)", ("it's",)),
    Rule(r"\byou're\b", ("your",)),
    Rule(r"\byour\b(?= (welcome)\b)", ("you're",)),
    Rule(r"\byour\b(?= [a-z])", ("you're", "youre")),
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
