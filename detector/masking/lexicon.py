"""Words that tell a name from no name: given names, words that follow a cue but name nobody, titles.

Written for dialint from everyday knowledge; a name that is missing here is still found after a strong
cue ("my name is"). All in lower case.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of `text`, which blanks separate."""
    return frozenset(text.split())


GIVEN_NAMES = words(
    """
    aaron abdul abel abigail ada adaeze adam adebayo adele aditi aditya adrian adriana agatha agnes agnieszka
    ahmed aidan aiden aiko aisha akash akira alan alana alba albert alberto aldo alejandra alejandro alejo
    aleksandr alessandro alex alexander alexandra alexei alexey alexis alfonso alfred ali alice alicia alina
    alison allison alma alvaro alvin alyssa amal amanda amara amari amber amelia amina amir amit amos amy ana
    anastasia anastasija anders andre andrea andreas andrei andrew andrey andrés andy angela angelica angelo
    angus anika anil anita anja ann anna anne annegret annie ansel anthony antoine anton antonia antonio anya
    aoife archie ariana ariel arjun arnold arthur arturo arya asha asher ashley ashok astor astrid audrey
    augusto aurora austin ava ayesha aylin barbara barry bart bartholomew basil beata beatrice beatriu beatriz
    becky belinda bella ben benjamin bennett benny bernadette bernard bertha beth bethany betty bianca bilal
    bill billy bjorn björn blanca bob bobby bogdan bonnie boris boyd brad bradford bradley brandon branko
    brenda brent brian bridget brock bronwyn bruce bruno bryan byron caitlin caleb callum calvin cameron
    camila camille camilo candice carina carl carla carlo carlos carmel carmen carol carolina caroline carrie
    casey caspar catherine cathy cecilia cedric celia celine cesar chad chandra charles charlie charlotte
    chelsea chen cheryl chiara chika chinedu chloe chris christian christina christine christopher ciara cindy
    claire clara clarence clark claudia claus clementine clifford clint clive cody colin connie connor conrad
    consuelo cora cordelia cornelia craig cristina crystal curtis cynthia cyril césar dagmar daisy dakota
    damian damien dan dana danica daniel daniela danielle danilo danny daria darius darlene darnell darren
    daryl dave david davide dawn dean debbie deborah deepak delia delphine demetrius denis denise deniz dennis
    derek desmond devon dexter diana diane diego dieter dilip dimitri dinesh dino dirk dmitri dmitrij dmitry
    dolores dominic don donald donna dora doris dorota dorothy doug douglas drew duane duncan dustin dwayne
    dylan ebony ed eddie edgar edith edmund edna eduardo edward efraim eileen ekaterina elaine eleanor elena
    eli elias elijah elisa elizabeth ella ellen ellie elliot elliott ellis elmer eloise elsa elvira emanuel
    emeka emil emilia emiliano emily emma emmanuel emre enrique eric erica erik erika erin ernest ernesto
    errol esteban estelle esther ethan etta eugene eunice eva evan evelyn ewa ezra fabian fabio faisal farah
    fatima fay faye federico felicia felicity felipe felix femi ferdinand fergus fernanda fernando filip fiona
    flavia florence floyd frances francesca francis francisco frank franz françois fred freddie frederick
    freya frida fritz gabriel gabriela garcía gareth gary gaston gavin gemma geoff geoffrey george georgia
    gerald geraldine gerard gerardo giancarlo gideon gilbert gina giorgio giovanni giulia giulio giuseppe
    gladys glen glenn gloria goran gordon grace gracie graciela graham greg gregory greta guadalupe guillermo
    gunnar gustavo gwen gwendolyn günther hakim hamza hannah hans harald harold harper harriet harry haruto
    harvey hassan hazel heather hector heidi heinrich helen helena helga henriette henrik henry herbert herman
    hilary hilda hiro hiroshi holly horst howard hubert hugh hugo humberto hélène ian ibrahim ignacio igor
    ilse imani imogen imran ines inga ingeborg ingrid inés ioana irene irina iris isaac isabel isabella isaiah
    isla ismael ivan ivana ivy jack jackie jackson jacob jacqueline jacques jada jaime jake jakub jamal james
    jamie jan jana jane janet janice jared jarrod jasmine jason jasper javid javier jay jayden jean jeanette
    jeanne jeff jeffrey jelena jemma jen jenna jennifer jenny jens jeremy jerome jerry jerzy jess jesse
    jessica jessie jesus jesús jill jim jimmy jo joan joann joanna joanne joao jocelyn jody joe joel joelle
    johan johanna john johnny jolene jon jonas jonathan jordan jorge jose josef josefina joseph josephine josh
    joshua josie josé joy joyce joão juan juana juanita judah jude judith judy jules julia julian juliana
    julie juliet julio jung jurgen justin jörg jürgen kai kaito kamal kamila kareem karen karim karin karina
    karl karla karol kasia kaspar katarina katarzyna kate katherine kathleen kathrin kathryn kathy katie katja
    katrina kavita kay kayla keisha keith kelly ken kendra kenji kenneth kenny kerry kevin khalid kiara kieran
    kim kimberly kimiko kirill kirsten kirsty klara klaus kofi konrad konstantin krishna kristen kristin
    krystyna krzysztof kumar kurt kurtis kwame kyle lamar lance lara larry lars latoya laura lauren laurence
    laurie lea leah leandro lee leif leila leland lena leo leon leonard leonardo leonid leopold leroy leslie
    levi lewis liam liana lidia lila lilian liliana lillian lily linda lionel lisa livia liz lizzie logan lois
    lola lorenzo loretta lorna lorraine lottie louis louise lourdes luca lucas lucia lucien lucille lucy luis
    luisa luka lukas luke lupe luther lydia lyle lynn léa mabel madeleine madeline madison mae magda magdalena
    maggie magnus mahmoud maja malcolm malik mandy manuel marc marcel marcelo marcin marco marcus margaret
    margarita margot marguerite maria mariam marian mariana marianne maribel marie marina mario marion marisol
    marissa marius marjorie marko marlene marlon marta martha martin martina martín marvin mary maryam mason
    mateo mathias mathilde matilda matt matteo matthew mattias maud maureen maurice mauricio mavis max maxine
    maxwell maya megan mehmet mei melanie melinda melissa mercedes meredith merle michael michal michele
    michelle mick mickey miguel mikael mike mikhail mila milan miles milly milton mina minh miranda miriam
    mirjam mitch mitchell mohamed mohammad mohammed moira molly mona monica monika morgan morris moses
    muhammad mustafa myra myrtle máximo mónica nadia nadine nadja nancy naoko naomi natalia natalie natasha
    nathan naveen neha neil nelly nelson nestor ngozi nia nicholas nick nicola nicolas nicole nicolette niels
    nigel nikhil nikita nikola nikolai nils nina noah noel noemi noor nora norbert norma norman nuria obi
    octavia océane odette olaf oleg olena olga oliver olivia oluwaseun omar orla orlando oscar oskar osman
    oswaldo otis otto owen pablo paige pamela paolo parker patrice patricia patricio patrick paul paula
    paulina pauline pavel pearl pedro peggy penelope penny perry pete peter petra peyton phil philip philippe
    phillip phoebe phyllis pierre pilar piotr pooja preston priscilla priya priyanka quentin rachel radoslav
    rafael raheem raj rajesh ralph ramon ramona randall randy raphael raquel rashid raul ravi ravindra ray
    raymond raúl rebecca reggie regina reinhard ren renata rene renee rené rhonda rhys ricardo richard rick
    rico riley rita rob robert roberta roberto robin rocco rodney rodrigo roger rohan roland rolf roman ron
    ronald ronan ronnie rory rosa rosalind rosario rosemary rosie ross roxanne roy ruben rudolf rufus rupert
    russell ruth ryan ryszard saanvi sabine sabrina sadie saeed sakura sally salma salvador sam samantha samir
    samuel sandeep sandra sandy sanja sanjay santiago santino sara sarah sasha saskia savannah scott sean
    sebastian selena selma serena serge sergei sergey sergio seth shane shaniqua shannon sharon shaun shauna
    shawn sheila shelby shelley sherry shirin shirley siddharth sidney sigrid silas silvia silvio simon simone
    sinead siobhan sofia sofie sofía solomon sonia sonja sophia sophie sota spencer stacey stacy stan stanley
    stefan stefanie stella stephanie stephen steve steven stu stuart sue sunita suresh susan susanna susie
    suzanne sven svetlana sylvia sylvie sébastien søren tabitha takashi tamar tamara tamika tammy tania tanya
    tara tariq tasha tatiana tatyana ted teresa terrance terrence terry tessa thea thelma theo theodore
    theresa thibault thomas tiffany tilda tim timothy tina tobias tobin todd tom tomas tomasz tommy toni tony
    tracy travis trent trevor trey trina tristan trudy tyler tyrone ulrich ulrike uma umar ursula usha
    valentina valeria valerie valerio vance vanessa vanya vaughn velma vera vernon veronica vicki vicky victor
    victoria vijay vikram viktor vince vincent viola violet virginia vishal vivian viviana vivienne vlad
    vladimir wallace walter wanda warren wayne wendell wendy werner wesley wilfred wilhelm willa william
    willie wilma wolfgang xavier ximena yael yana yannick yasmin yasmine yevgeny ying yolanda yolande yui yuki
    yuri yusuf yves yvette yvonne zach zachary zainab zara zeynep zoe zofia zoltan zoë zuzanna álvaro ángel
    łukasz александр александра алексей алина алиса алла анастасия анатолий андрей анна антон арина артем
    артём борис вадим валентин валентина валерий варвара василий вера виктор виктория виталий владимир галина
    георгий григорий дарья даша денис диана дима дмитрий евгений евгения екатерина елена иван игорь илья инна
    ирина катя кирилл константин ксения лариса лена лидия любовь людмила максим маргарита марина мария маша
    михаил надежда наталия наталья наташа никита николай оксана олег ольга оля павел петр полина пётр роман
    anke annika antje arno astrid bastian benedikt bernd birgit birte britta carsten christa christoph detlef
    dieter dörte eckhard elke erich florian franziska friedrich gabriele gerd gerhard gisela gudrun günter
    hannelore hartmut heike heiko heiner heinz helmut henning herta hilde horst ingo irmgard jannik jasmin
    joachim jochen johannes jörn julian jutta karsten kerstin kurt lars leonie lothar lukas lutz maik manfred
    mareike margret markus matthias maximilian monika niklas norbert olaf ortwin petra philipp rainer ralf
    regine reiner renate rolf rüdiger rudi sabine sandra sascha sebastian sigrid silke simone sören steffen
    susanne sven svenja swantje tanja thorsten tim timo torsten ulf ulla ursel ursula ute uwe verena volker
    walburga waltraud wiebke wilfried adrián agustín ainhoa aitor alfonso amparo andreu antonia araceli
    asunción aurelio begoña belén benito blanca borja carmelo celestino concepción consuelo cristóbal dolores
    elías encarnación
    esteban eugenia eusebio facundo fermín gonzalo gregorio guadalupe héctor hernán hortensia
    íker iker inmaculada inés isidro iván itziar jacinto jacobo jerónimo jimena joaquín julián julieta
    lautaro leandro leticia lourdes luciana maite marcelino mariano maritza matías maximiliano mercedes
    milagros montserrat nahuel nuria octavio óscar pascual paloma patxi pilar ramiro raimundo remedios rocío
    rodolfo rogelio rubén salvador saturnino sergi soledad tatiana teodoro tomás unai valentín vicente
    victoriano ximena yago yesenia yolanda agathe alain alexis amandine amélie andré anne-marie anaïs armand
    arnaud aurélie aurélien bastien bénédicte benoît bernadette bertrand brigitte bruno cécile cédric céline
    chantal christelle christophe claudine clémence clément colette coralie corentin corinne damien didier
    dominique édouard élise élodie émile émilie éric estelle étienne fabienne fabrice flavien florent
    françoise frédéric gaël gaëlle gaspard geneviève gérard ghislaine gilles guillaume guy hervé honoré
    hugues isabelle jacqueline jean-luc jean-marc jean-paul jean-pierre jérémie jérôme joëlle josiane julien
    justine laetitia laurent léonie loïc lucie ludovic magali manon marcel margaux marion martine
    mathieu mathilde maxime mélanie michel mickaël mireille monique morgane muriel nadège nathalie nicolas
    noémie océane odile olivier pascal pascale paulette philippe pierrick quentin rachid raphaël régis rémi
    renaud robin rodolphe romain roselyne sandrine séverine simone solène sophie stéphane stéphanie sylvain
    sylvie thibaut thierry valentin valérie véronique vincent virginie xavier yann yannick yohan yves yvonne
    zoé агата аглая аделина альбина анжелика ангелина аркадий арсений артур богдан борислав вадим валерия
    вениамин вероника виолетта виталина владислав влада всеволод вячеслав галя геннадий герман глеб гриша даня
    денис дарина егор ефим жанна захар зинаида зоя игнат илона карина катерина клавдия кира костя кристина
    леонид лиза лилия лика майя макар марат марк матвей милана миша настя нелли нина оля паша платон
    раиса рената родион руслан рустам саша серёжа снежана соня степан тамара тамерлан тимофей тоня
    ульяна фаина федор филипп эдуард эльвира эмма юра юлиана яков ярослава
    светлана семён сергей софия станислав степан таня татьяна тимур фёдор юлия юрий яна ярослав
    """
)

_CASES = {"а": "у ы е ой", "я": "ю и е ей", "й": "я ю ем е"}


def _in_cases(name: str) -> set[str]:
    """A Russian given name in its other cases: "Мария" is "Марию" where somebody is put through to her."""
    stem = name[:-1] if name[-1] in _CASES else name
    return {stem + ending for ending in _CASES.get(name[-1], "а у ом е").split()}


GIVEN_NAMES |= {
    form
    for name in GIVEN_NAMES - {"вера", "надежда", "любовь", "роман"}
    if "а" <= name[0] <= "я" and name[-1] in "абвгдзйклмнпрстфхцчшя"
    for form in _in_cases(name)
}

COMMON_WORDS = words(
    """
    will may mark grace rose hope april june august bill art drew jack rich sunny summer faith joy pat sue
    dean chase grant frank guy autumn amber angel baker bank banks bell best bird bishop black blue bond book
    booker bowl brown bush carter case cash chance chip christian church clay close cook cooper court cross
    daisy dale dawn day dear field fields fisher ford forest fox french gates gold gray green grey hall hardy
    heath hill hunt hunter iris ivy jay jean johns july key king knight lake lane law lily long love major
    march mason max mike miles miller moon noble olive page park parker penny pope porter power price prince
    ray read reed rob rock rod ruby sage sally sandy self sharp short shore sky small star stone storm story
    strong sun swift taylor terry token trip van victor viola violet wall ward water waters way wells west
    white wise wood woods york young sea robin pearl ace dash london paris berlin sydney austin dallas jordan
    georgia victoria florence chelsea madison lincoln washington the order account card visa amazon china
    india holland
    """
)
"""Names that are words too. They are no later mention by themselves at the beginning of a sentence."""

NAMES_TOO = words("will may april june august mark grace rose hope faith joy sue frank guy")
"""Of the words that mostly are none, those that are names where a name is announced or known."""

PARTICLES = words("de del da dos das di la le van von der den ter bin ibn al el y e zu st mc")

TITLES = words(
    "mr mrs ms miss mx dr prof professor doctor sir madam dame lord lady rev sra sr señor señora señorita "
    "herr frau "
    "monsieur madame mme don doña г-н г-жа господин госпожа доктор pan pani"
)

NOT_NAMES = words(
    """
    a an the this that these those there here it its it's i i'm i've i'd i'll im me my mine we we're our us
    you you're your yours he she they them their his her him who whom whose what which when where why how and
    or but nor so if then than as at by for from in into of off on onto out over to under up with without
    within about above across after against along around before behind below beneath beside between beyond
    down during except inside like near outside past since through toward until upon via is isn't are aren't
    was wasn't were weren't be been being am do does did done doing don't didn't doesn't have has had having
    haven't hasn't can could can't cannot couldn't may might must shall should will would won't wouldn't not
    no none never yes yeah yep nope ok okay sure alright well right just only also even still yet already
    again ever now today tonight tomorrow yesterday soon later early late once twice always often please
    thanks thank thx ty sorry apologies pardon hi hello hey dear hiya greetings welcome good great fine nice
    cool awesome perfect excellent wonderful lovely amazing fantastic brilliant super glad happy sad angry
    upset frustrated annoyed disappointed furious unhappy interested afraid worried confused concerned curious
    tired sick ready available busy free back new old same different other another any some all both each
    every either neither many much more most few less least several enough very really quite rather too almost
    nearly pretty such absolutely totally definitely certainly probably maybe perhaps possibly actually
    basically exactly simply unfortunately fortunately hopefully obviously clearly apparently seriously
    honestly frankly literally currently recently finally support customer customers service services team
    staff agent agents representative rep representatives assistant advisor adviser operator manager
    management supervisor department sales billing technical tech help helpdesk desk info office reception
    admin administrator sir madam ma'am maam sirs mate dude buddy bro man guys guy folks friend friends
    everyone everybody anyone anybody someone somebody nobody people person lady gentleman gentlemen ladies
    team-mates colleague colleagues client clients member members guest guests user users visitor shopper
    patient passenger owner holder mum mom dad mother father brother sister wife husband son daughter child
    baby order orders account accounts number numbers name names email e-mail mail address addresses phone
    card cards payment payments bill bills invoice refund refunds return returns delivery shipping package
    parcel item items product products price prices ticket tickets case booking reservation room flight hotel
    restaurant taxi train bus ride app website site page link password code login registration subscription
    plan policy terms contract insurance warranty issue issues problem problems question questions request
    complaint feedback information details update status confirmation chat message call callback line bot
    chatbot robot human virtual automated system server error bug listed wrong incorrect correct misspelled
    spelled spelt missing unknown printed written shown displayed registered attached linked going coming
    calling speaking writing contacting looking trying waiting hoping wondering asking getting using working
    living moving sending making taking seeing thinking talking checking following regarding happening
    ridiculous unacceptable terrible horrible awful bad worse worst unbelievable outrageous insane crazy
    disgusting impossible incredible insulting nonsense urgent important concerning because while although
    though unless whether however therefore anyway besides instead otherwise meanwhile january february march
    april june july august september october november december jan feb mar apr jun jul aug sep sept oct nov
    dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun morning afternoon
    evening night noon midnight day week month year weekend christmas easter zero one two three four five six
    seven eight nine ten hundred thousand first second third last next final english spanish french german
    russian american british canadian australian chinese japanese italian polish indian mexican brazilian
    dutch irish scottish european asian african korean turkish greek swedish portuguese america england
    britain uk usa u.s u.k canada australia germany france spain italy poland russia china japan india mexico
    brazil europe asia africa ireland scotland wales london paris berlin madrid moscow rome tokyo dublin
    chicago boston seattle dallas denver miami houston atlanta cambridge oxford manchester birmingham toronto
    montreal york angeles francisco vegas diego detroit portland philadelphia amazon apple google microsoft
    facebook instagram twitter whatsapp netflix spotify uber lyft airbnb expedia paypal ebay visa mastercard
    amex samsung sony nokia huawei xiaomi iphone ipad macbook android windows mac outlook gmail yahoo zoom
    slack zendesk intercom fedex ups usps dhl hermes royal tesla ford toyota bmw walmart target costco ikea
    zara nike adidas starbucks mcdonalds verizon vodafone comcast at&t sprint orange wifi wi-fi usb hdmi lan
    vpn tv pc sms pdf url id pin otp faq asap fyi btw lol omg wtf vip vat gst eta etc world listen let lets
    let's see look wait hold hang give get got go come keep make take send check try tell say said ask want
    wanted need needed know think believe guess mean understand understood love hate wish hope thought found
    find bought ordered received paid pay cancel cancelled change changed close closed open opened use used
    work works worked stop start started confirm confirmed provide reset book booked track follow contact
    reach leave left placed nothing something anything everything thing things way ways time times part place
    bit lot kind sort type reason sense idea deal luck care fault joke scam fraud theft robbery mess mistake
    emergency disaster required optional mandatory invalid private safe protected misspelt blank empty hidden
    whenever nuevo nueva bye goodbye good-bye called named titled cheers regards sincerely best warm
    faithfully truly respectfully cordially congratulations enjoy appreciate appreciated noted resolved
    approved denied declined pending part-time full-time premium basic standard gold silver platinum business
    enterprise professional pro plus hola gracias por para favor buenos buenas días tardes noches señor señora
    equipo soporte cliente atención servicio todos amigo amigos que qué cómo como es el la los las un una mi
    tu su sí si de en con pero muy bien mal yo ya hallo danke bitte kunde kundenservice zusammen ich ein eine
    der die das und nicht sie ist bonjour merci monsieur madame équipe je une le les vous nous est pas tout
    monde здравствуйте привет добрый день спасибо пожалуйста поддержка служба клиент клиенты покупатель
    коллеги друзья команда что как где когда почему это не да нет мой моя мои наш ваш ваша я мы вы он она они
    по на в с к у за от для из о и а но вас вам нас нам меня мне очень просто уже ещё еще всё все так там тут
    здесь можно нужно надо хорошо плохо правда безобразие заказ доставка оператор менеджер бот чат магазин
    компания банк
    """
)
"""What may stand where a name is expected and is none: common words, roles, brands, cities, months."""
