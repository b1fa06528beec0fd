"""Words to recognise names: given names, surnames, titles, words that are no names after a cue, and the cues.

The lists are read from ``lexicon.yaml``, all in lower case. The cues are grouped by how reliable they are, in
English, German, Spanish, French and Russian, and a few phrases of other languages. `mine`: "my name is",
where any word may follow. `theirs`: "the name is". `bare`: a capital must follow. `title`: "Mr". `related`:
"my sister", where a capital must follow. `person`: "speaking with". `weak`: "this is". `greeting`: "hello".
`assent`: "okay, ..." before a well-known name. `field`: "name:" in a form. `party`: "recipient:".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dialint.detector.masking.spans import words
from dialint.detector.yaml_document import read_document

_LISTS = {
    name: words(text)
    for name, text in read_document(Path(__file__).with_name("lexicon.yaml"), "E_WORDS").value.items()
}
_CASES = {"а": "у ы е ой", "я": "ю и е ей", "й": "я ю ем е"}


def _in_cases(name: str) -> set[str]:
    """The inflected forms of a Russian given name, such as "Марию" of "Мария"."""
    stem = name[:-1] if name[-1] in _CASES else name
    return {stem + ending for ending in _CASES.get(name[-1], "а у ом е").split()}


GIVEN_NAMES = _LISTS["given_names"] | {
    form
    for name in _LISTS["given_names"] - {"вера", "надежда", "любовь", "роман", "мир", "март", "лев", "ким"}
    if "а" <= name[0] <= "я" and name[-1] in "абвгдзйклмнпрстфхцчшя"
    for form in _in_cases(name)
}

COMMON_WORDS = _LISTS["common_words"]
"""Names that are common words as well. Alone at the beginning of a sentence they do not count as a
mention."""
NAMES_TOO = _LISTS["names_too"]
"""Words of `NOT_NAMES` that are names after a cue, or as further mentions."""
PARTICLES = _LISTS["particles"]
TITLES = _LISTS["titles"]
NOT_NAMES = _LISTS["not_names"]
"""Words that are no names although they follow a cue for one: common words, roles, brands, cities, months."""
PLACES = _LISTS["places"]
"""Given names that are cities, countries or regions as well."""
THINGS_TOO = COMMON_WORDS | PLACES | _LISTS["things_too"]
"""Given names that, alone and without a cue, are as often something else: words, goods, brands, places."""
SURNAMES = _LISTS["surnames"]
"""Family names; they confirm a name only at a position where one is expected."""

_RUSSIAN_SURNAME = re.compile(
    r"(?!(?:саратов|ростов|псков|тамбов|азов|серпухов|чехов|берлин|пекин|москв|подмосков|сбербанк|магазин|"
    r"один|здоров|готов|санкт|пушкин|калинин|ленин|берез|росси|украин|китай|герман|итал|ворон|красн|город|"
    r"улиц|район|калуг|харьков|киев|львов|краков|турин|дублин|карантин|витамин|апельсин|кузов|остров|серов|"
    r"минск|омск|томск|курск|брянск|смоленск|иваново|бензин|термин|камин|вечерин|половин|новин|машин|картин|"
    r"цен|перв|нов|улуч|остальн|росс|англ|русск|советск|российск|английск|немецк|французск|испанск|московск|"
    r"европейск|турецк|китайск|сочин|украинск|японск|американск))[а-яё]{2,18}(?:[оеё]в(?:а|у|ым|ой|ых|ыми)?|"
    r"[иы]н(?:а|у|ым|ой|ых)?|[сц]к(?:ий|ая|ого|ому|им|ой|ую)|(?:ен)ко|чук(?:а|у|ом)?|юк(?:а|у|ом)?|ян(?:а|у|"
    r"ом)?|дзе|швили)"
)
_PATRONYMIC = re.compile(
    r"[а-яё]{2,14}(?:[ое]вич(?:а|у|ем|е)?|(?:овн|евн|ичн)(?:а|ы|е|у|ой))|"
    r"(?:иль|кузьм|фом|лук|сав|никит)ич(?:а|у|ом|е)?"
)


def is_patronymic(word: str) -> bool:
    """Whether a lower-case word has the form of a Russian patronymic in any grammatical case, such as
    "ильинична"."""
    return word[-1:] in "чауеймы" and _PATRONYMIC.fullmatch(word) is not None


def is_surname(word: str) -> bool:
    """Whether a lower-case word is a listed family name, or has the form of a Russian one in any grammatical
    case."""
    return word in SURNAMES or ("а" <= word[:1] <= "я" and _RUSSIAN_SURNAME.fullmatch(word) is not None)


def _any(*phrases: str) -> str:
    """One alternation of patterns, given as strings of patterns with a bar between."""
    return "|".join(phrases)


_WHOSE = "full|first|last|middle|maiden|family|legal|real|actual|given|user|own"
_IS = "is|would be|it's|should be|reads|'s"

_MINE = _any(
    rf"my(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?names? (?:{_IS})",
    rf"my(?: (?:{_WHOSE})){{0,2}} name's",
    "me llamo|mi nombre(?: completo)? es|mi apellido es|mis apellidos son|a nombre de|se llama|en nombre de",
    "меня зовут|моё имя|мое имя|моя фамилия|на имя|от имени|на фамилию|по фамилии|ich heiße|ich heisse",
    "mein (?:voller |vor|nach|familien)?name ist|mein (?:vor|nach|familien)name lautet|auf den namen|im "
    "namen von",
    "je m'appelle|mon nom(?: de famille)? (?:est|c'est)|mon prénom (?:est|c'est)|au nom de|au nom d(?=')",
    "mi chiamo|nazywam się|mam na imię|meu nome é|ik heet|mijn naam is",
)
_THEIRS = _any(
    rf"(?:her|his|the|your|their|{_WHOSE}|customer|passenger|guest|"
    rf"patient)(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?names? (?:{_IS})",
    rf"(?:my|her|his|the|your|their|{_WHOSE}|customer)(?: (?:{_WHOSE})){{0,2}} ?(?:sur)?name was",
    rf"(?:the|{_WHOSE}) name's|(?<!\w )name's|surname is|account holder is|(?<!\w )name is",
    r"name on (?:the |my |your )?[\w ]{1,24}? is",
    "under (?:the )?name(?: of)?|in the name(?: of)?|in (?:my|her|his) \\w{3,11}'s name",
    "(?:der|ihr|sein|vor|nach|familien)(?: |)name (?:ist|lautet|war)",
    "(?:su|el|tu)(?: primer)? (?:nombre|apellido) es|(?:son|le|votre|leur) (?:pré)?nom (?:est|c'est)|"
    "prénomm?ée?",
)
_FAMILY = _any(
    "wife|husband|son|daughter|sister|brother|mother|father|mom|mum|dad|grandmother|grandfather|aunt|"
    "uncle|cousin",
    "friend|boyfriend|girlfriend|fiancée?|partner|roommate|flatmate|neighbou?r|grandson|granddaughter|"
    "nephew|niece",
)
_FAMILY_ELSEWHERE = _any(
    "(?:mein|unser|dein|ihr|sein)e?[rnms]{0,2} (?:mann|frau|sohn|tochter|bruder|schwester|mutter|vater|"
    "freund(?:in)?|opa|oma|tante|onkel|partner(?:in)?|nachbar(?:in)?|kolleg(?:e|in)n?|chef(?:in)?|enkelin|"
    "enkel|cousine?|nichte|neffe)",
    "(?:mi|su|tu|nuestr[oa]) (?:marido|mujer|espos[oa]|hij[oa]|herman[oa]|madre|padre|novi[oa]|amig[oa]|"
    "t[ií][oa]|prim[oa]|"
    "suegr[oa]|abuel[oa]|niet[oa]|vecin[oa]|compañer[oa]|jef[ea]|colega|pareja|sobrin[oa])",
    "(?:mon|ma|notre|son|sa) (?:mari|femme|fils|fille|frère|sœur|soeur|mère|père|ami|amie|copine?|compagnon|"
    "compagne|épouse?|tante|oncle|cousine?|voisine?|collègue|conjointe?|belle-\\w{4,5}|petit-fils|"
    "petite-fille|nièce|neveu)",
    "(?:мо|тво|сво|наш|ваш)[^\\W\\d_]{0,3} (?:муж|жен|сын|доч|бра|сест|мам|мат|пап|отец|отц|друг|подруг|"
    "сосед|бабушк|дедушк|коллег|невест|тёт|тет|дяд|племянни|внук|внуч|супруг|тёщ|свекров)[^\\W\\d_]{0,4}",
)
_JOB = _any(
    "colleague|coworker|boss|manager|supervisor|agent|representative|rep|advisor|assistant|host|driver|"
    "technician",
    "specialist|courier|engineer|adviser|consultant|clerk|operator|nurse|receptionist|tenant|landlord|"
    "beneficiary",
)
_JOB_ELSEWHERE = _any(
    "mitarbeiter(?:in)?|kolleg(?:e|in)|sachbearbeiter(?:in)?|ansprechpartner(?:in)?|berater(?:in)?|"
    "kund(?:e|in)|gast|fahrer(?:in)?",
    "techniker(?:in)?|passagier(?:in)?|empfänger(?:in)?|absender(?:in)?|mieter(?:in)?|patient(?:in)?|"
    "vermieter(?:in)?|nachbar(?:in)?",
    "(?:konto|karten|vertrags)inhaber(?:in)?|inhaber(?:in)?|agente|operador(?:a)?|asesor(?:a)?|gestor(?:a)?|"
    "técnico|pasajer[oa]|titular|destinatari[oa]|client[ea]|paciente|huésped|inquilin[oa]|repartidor(?:a)?|"
    "conductor(?:a)?|compañer[oa]|encargad[oa]|una? tal",
    "conseill(?:er|ère)|opérat(?:eur|rice)|technicien(?:ne)?|livreur|livreuse|destinataire|expédit(?:eur|"
    "rice)|titulaire(?: du compte| de la carte)?|passag(?:er|ère)|locataire|patiente?|clientes?|collègue|"
    "responsable|interlocut(?:eur|rice)|maître",
    "(?:оператор|менеджер|специалист|консультант|сотрудни[кц]|курьер|водител|мастер|получател|отправител|"
    "пассажир|клиент|покупател|заказчи[кц]|владел[ец]|держател|пациент|абонент|заявител|врач|бухгалтер|"
    "коллег|администратор|руководител|начальни[кц]|юрист|инженер|агент|муж|жен|сын|доч|брат|сестр|подруг|"
    "сосед|страхователь|плательщи[кц]|арендатор)[^\\W\\d_]{0,4}",
)
_BARE = _any(
    "(?:его|её|ее|их|моего|мою|моей|нашего|нашу|вашего|вашу) (?:[^\\W\\d_]{2,12} )?зовут|по имени",
    rf"(?:{_FAMILY})'s (?:\w{{1,10}} )?name(?: is)?",
    "(?:first|last|full|middle|family|maiden) ?name|surname|call me|go by|goes by|spell(?:ed|t)(?: as)?",
    "(?:customer|contact|account|card ?holder|passenger|recipient|guest|patient) name",
    "le atiende|le habla|soy|les habla|te habla|le saluda|зовут|фамилия|отчество|фио|имя",
    "vorname|nachname|familienname|(?:kunden|kontakt)name|apellidos?|nombres?(?: completo)?|prénom|"
    "nom(?: de famille)?",
    "an die adresse von|à l'attention de|a la atención de|zu händen(?: von)?|z\\. ?hd\\.(?: von)?|"
    "attention of",
)
_TITLE = _any(
    "mr|mrs|ms|miss|mx|dr|prof|professor|herrn?|don|doña|señora|señor|señorita|sra|srta|sr|frau|monsieur|"
    "madame|mademoiselle",
    "mme|mlle|maître|lic|pan|pani|dra|fräulein|hr|г-н|г-жа|г-ну|г-жу|г-же|гр|господин[^\\W\\d_]{0,2}|"
    "госпож[^\\W\\d_]{1,2}",
    "гражданин[^\\W\\d_]{0,2}|гражданк[^\\W\\d_]{1,2}|доктор|familie|familia|famille|m(?=\\. )",
)
_WEAK = _any(
    "this is|i am|i'm|im|it's|it is|here is|here's|that's|it was|meet|named|on behalf of|attn:?",
    "is this|are you|am i (?:speaking|talking|chatting) (?:to|with)",
    "(?:reservation|booking|appointment|order|account|room|table|tickets?|parcel|package|policy|payment) "
    "(?:for|under|with|of|to)",
    "(?:transfer|connect|pass|put|hand|refer)\\w{0,5} (?:you|me|him|her|them)(?: (?:over|through|on))? to",
    "verbinde sie mit|(?:paso|transfiero|comunico) con|transf[eè]re à|перевожу вас на|соединяю (?:вас )?с|"
    "para|pour|colleague|an|cc",
    "это|говорит|вас приветствует|вас беспокоит|habla|aquí|hier ist|hier spricht|ich bin(?: die| der)?|"
    "je suis|c'est|sono",
    "deliver(?:ed)? to|addressed to|belongs? to|registered to|issued to|made out to|ship(?:ped)? to|"
    "signed for by|looking for",
    "heißt|heisst|s'appelle|läuft auf|lautet auf|ausgestellt auf|bestellt von|angenommen von|"
    "unterschrieben von|im auftrag von|lieferung an|tisch auf",
    "hier|ici|de (?:la )?part de|de la part d(?=')|de parte de|firmado(?: por)?|firmó|entregado a|"
    "entregaron a|recibió|atendió|enviado por",
    "remis à|livré à|signé(?: par)?|envoyé par|reçu par|gez\\.|i\\. ?a\\.|i\\. ?v\\.|unterzeichnet von",
    "(?:оформлен|записан|бронь|столик|билет|номер|карт|договор|заказ|квартир|счёт|счет)[^\\W\\d_]{0,3} "
    "на|передайте|позовите",
    "я|пишет|звонит|с вами|от|для|у|к|благодаря|спросите|за|подпись|подписал[аи]?|принял[аи]?|по просьбе",
)
_RELATED = rf"(?:my|your|our|his|her|their) (?:{_FAMILY}|{_JOB})"
_PERSON = _any(
    "(?:speaking|speak|spoke|spoken|talk|talked|talking|chat|chatted|chatting) (?:to|with)",
    rf"(?:{_JOB})(?:(?: today| here| now)? (?:is|was|named|called|will be))?",
    rf"(?:{_JOB_ELSEWHERE})(?: (?:ist|war|heißt|es|era|est|était|c'est|это|по имени))?",
    _FAMILY,
    "(?:booking|reservation|appointment|table|it's|it is) (?:is )?under(?! (?:the )?name)|(?:reserviert|"
    "gebucht|buchung) unter|(?:mit|bei|von) (?=herrn|frau|dr)|sprechen mit|gesprochen mit|"
    "hablé(?: \\w{3,6})? con|hablar con|hablando con|parl(?:é|er)(?: \\w{3,6})? (?:avec|à)|eu|passer",
    "sign me up as|travell?ing with|passenger is|passagère?|through to|владелец сч[её]та",
    "connected (?:to|with)|reached|(?:booked|registered|listed|known|address me|signed in|saved) (?:as|"
    "under)|signed by|helped by|assisted by|served by|answered by|handled by",
    "(?:говорил|разговаривал|общал|беседовал|созванивал|переписывал|соедин|связ|свяж)[^\\W\\d_]{0,5}(?: "
    "меня| вас)? со?",
)
_GREETING = _any(
    "hi|hello|hey|dear|hiya|good (?:morning|afternoon|evening|day)|greetings|welcome(?: back)?|many thanks",
    "thanks(?: so much| again| a lot| a million)?|thank you(?: so much| very much| again)?|sorry|goodbye|bye",
    "cheers|morning|evening|nice to meet you|no worries|no problem",
    "hola|buenos días|buenas tardes|buenas noches|buenas|estimad[oa]|querid[oa]|gracias|muchas gracias|"
    "saludos|disculpe|perdone",
    r"здравствуйте|добрый день|доброе утро|добрый вечер|привет|уважаем\w{2,4}|дорог(?:ой|ая|ие)|спасибо(?: "
    r"большое| вам)?|до свидания",
    "hallo|guten tag|guten morgen|guten abend|liebe|lieber|sehr geehrte[rs]?|danke(?: dir)?|vielen dank|"
    "moin|servus|grüß gott|"
    "tschüss|bonjour|bonsoir|cher|chère|salut|merci|ciao|au revoir|entschuldigung|pardon",
    "buongiorno|dzień dobry|cześć|olá|благодарю|извините|простите",
)
_ASSENT = "ok|okay|sure|yes|no|great|perfect|alright|pleasure|appreciate it|of course|for|with"
_CLOSING = _any(
    "(?:best|kind|warm|kindest|warmest|many)? ?regards|best wishes|best|sincerely|yours (?:sincerely|truly|"
    "faithfully)|with thanks|love|rgds",
    "sincerely yours|cheers|thanks|thank you|many thanks|thanks in advance|respectfully|warmly|cordially|"
    "take care|thanks again|have a (?:nice|good|great) \\w{3,7}",
    "signed|sent by|all the best|yours|(?:un )?(?:cordial )?saludos?(?: cordial(?:es)?)?|atentamente|"
    "gracias(?: de antemano)?|"
    "muchas gracias|un (?:fuerte )?abrazo|besos|cordialmente|atte|con cariño|hasta pronto|firmado",
    "с (?:большим )?уважением|всего (?:доброго|хорошего)|с благодарностью|заранее (?:спасибо|благодарю)|"
    "искренне ваша?|с наилучшими пожеланиями|ваша?|спасибо",
    "(?:mit )?(?:freundlichen|besten|herzlichen|vielen|lieben|schönen)? ?gr[üu](?:ß|ss)en?|(?:viele|liebe|"
    "beste|herzliche|freundliche|schöne) grüße(?: aus \\w{3,20})?|mfg|hochachtungsvoll|(?:vielen|"
    "besten) dank|danke(?: im voraus)?|ihre?|bis bald",
    "(?:bien |très )?cordialement|bien à (?:vous|toi)|sincères salutations|(?:mes |meilleures |"
    "respectueuses )?salutations"
    "(?: distinguées)?|bonne (?:journée|soirée)|merci(?: d'avance)?|à bientôt|amicalement|bises|pozdrawiam",
)

_GROUPS = {
    "mine": _MINE,
    "theirs": _THEIRS,
    "party": "(?:beneficiary|recipient|payee|gast|kundin?|guest|passenger|customer|to|an|para|cc|pour|à|"
    "кому|клиент|"
    "empfänger(?:in)?|absender(?:in)?|destinataire|destinatari[oa]|expéditeur|titulaire|titular|"
    "получатель|отправитель|"
    "пассажир|kontoinhaber(?:in)?|inhaber(?:in)?|huésped|cliente?|de|von|from|от|attn|driver|"
    "patient(?:in)?) ?:",
    "field": "(?:(?:customer|guest|passenger|recipient|account holder|cardholder|patient)(?: name)?|name|"
    "nombre|nom|"
    "имя|фио|fio) ?[:=-]",
    "bare": _BARE,
    "title": rf"(?:{_TITLE})\.?",
    "related": rf"(?:{_RELATED}(?:'s (?:\w{{1,10}} )?name)?(?:(?: today| here| now)? (?:is|was|named|called|"
    rf"will be))?)|(?:{_FAMILY_ELSEWHERE})(?: (?:ist|heißt|se llama|es|s'appelle|est|это|зовут))?",
    "person": _PERSON,
    "weak": _WEAK,
    "greeting": _GREETING,
    "assent": _ASSENT,
}
"""Patterns by group, the surer ones first. Each alternative begins with a letter, a lookbehind, or a group of
such alternatives, which is not optional."""


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of `pattern` at its top level."""
    depth = start = 0
    for index, char in enumerate(pattern):
        depth += (char in "([") - (char in ")]")
        if char == "|" and not depth:
            yield pattern[start:index]
            start = index + 1
    yield pattern[start:]


def _restrict_to_letter(pattern: str, letter: str) -> str:
    """`pattern` without the alternatives that cannot begin with `letter`; empty if none can."""
    retained = []
    for part in _alternatives(pattern):
        behind = re.match(r"(?:\(\?<![^()]{0,20}+\))?", part)
        head, part = (behind[0], part[behind.end() :]) if behind else ("", part)
        if not part.startswith("(?:"):
            retained += [head + part] if part[0] == letter else []
            continue
        end = _closing(part)
        if inner := _restrict_to_letter(part[3:end], letter):
            retained.append(f"{head}(?:{inner}){part[end + 1 :]}")
    return "|".join(retained)


def _closing(pattern: str) -> int:
    """Where the bracket at the beginning of `pattern` closes."""
    depth = 0
    for index, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if not depth:
            return index
    raise ValueError("a bracket does not close")


@cache
def _by_letter() -> dict[str, re.Pattern[str]]:
    """For each letter the cues that begin with it: a fraction of the time that all of them at once take."""
    table = {}
    for letter in set(re.findall(r"[^\W\d_]", "".join(_GROUPS.values()))):
        groups = ((name, _restrict_to_letter(pattern, letter)) for name, pattern in _GROUPS.items())
        if cues := "|".join(f"(?P<{name}>{result})" for name, result in groups if result):
            table[letter] = re.compile(rf"(?:{cues})(?!\w)(?=[^\w\n]{{0,3}}\s?\w)")
    return table


_WORD_START = re.compile(r"(?<![\w'])[^\W\d_]")


def find_cues(low: str) -> Iterator[tuple[int, int, str]]:
    """The cues in a lower-case text, in order and disjoint: where each begins and ends, and its group, which
    says how sure it is."""
    end, by_letter = 0, _by_letter()
    for word in _WORD_START.finditer(low):
        start = word.start()
        if start < end or (cues := by_letter.get(low[start])) is None:
            continue
        if match := cues.match(low, start):
            end = match.end()
            yield start, end, str(match.lastgroup)


SIGNATURE = re.compile(
    rf"(?:^|[\n.!?,;] ?)\s{{0,3}}(?:(?:{_CLOSING})\s?(?:[,.!-]{{1,2}}\s{{0,3}}\n{{0,2}}|\n{{1,2}})\s{{0,3}}|"
    rf"(?:regards|wishes|sincerely|sent by|signed by|уважением)\s|(?:mfg|lg|vg|bg|glg|atte|grüße[n]?|"
    rf"cordialement|saludos)[\s,]\s?)"
    r"(?:i\. ?[av]\. )?(?=\w)"
)
"""A closing formula; the name follows."""

NAME_REQUEST = re.compile(
    _any(
        "(?:your|full|first|last|whose|account|caller|the|a|and|sur|under what|under which|guest|patient|"
        "passenger) ?name",
        "who (?:am i|is this|do i)|имя|как вас зовут|фамили|se llama|su nombre|tu nombre|ihr name|votre nom",
        "ihren? (?:vollen |vor|nach)?namen?|wie heißen|wer spricht|mit wem|con quién|cómo te llamas|"
        "apellido|nombre completo|"
        "qui ai-je|votre prénom|qui est à l'appareil|как к вам обращаться|представьтесь|с кем|фио",
    )
)
"""A turn that asks for a name."""
