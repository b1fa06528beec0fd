"""Words that tell a name from no name: given names, words that follow a cue but name nobody, titles.

Written for dialint from everyday knowledge; a name that is missing here is still found after a strong
cue ("my name is"). All in lower case.
"""

from __future__ import annotations

import re


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

GIVEN_NAMES |= words(
    """
    abdoulaye abdullah abdel adela adelaida adele adelheid adrien agnieszka ahmad aicha aïcha aïssatou alfie
    alfred
    alicja almudena alois aloys althea alwin amadou amal ambre amélia aminata amine anatole andrzej anette
    angelina angèle anneliese annelie annelies annett annette annie anselm ansgar antje anouk anton antoni
    apolline
    arabella archibald ariadna ariane aristide arlette armin armando arnulf arthur asmaa aslı astrid
    athanase aurel aurélia
    aurore axel ayşe aziz aída aníbal baptiste barnaby bartolomé basile baltasar barış beate beatrix belén
    benita benno
    berit bernardo bert berta berthold bettina blandine blas blaise bodo bogdan bożena brahim braulio
    brunhilde burak
    burkhard bärbel béatrice bérénice calixto can candela candice capucine carl caspian cassandra catalina
    cathrin catrin
    cecily celeste cem charlène chiara christelle christiane christof cilly clarissa claas claude claudette
    claudio
    clemens clotilde colm conny constantin constanze cora cordula corentin cosima curd cyprien damaris
    damián danielle
    dariusz debora deirdre delfina denisa denny desirée desiderio diarmuid dietlinde dietmar dietrich dilara
    dilek djamila
    dorothea dorothée dunja edda edelgard edeltraud edith edmond edwin edyta egon ekkehard eleonore eleonora
    elfriede eliane
    eliana elias elif elin elisabeta elisabeth elise elliot ellinor eloísa elvira emanuele emeric emilie
    emiliana emir emre
    enrico enzo erdem ernestina erwin esra estefanía ester estela estéfano etienne eugen eugénie eulalia
    euan ewa ezequiel
    fadi faiza fanny fatemeh fatih fatma fatou fatoumata felipa felicitas ferdinando fernand fidel finn
    finja firmin fleur
    flora florence floriane florentina florian flurin francine francisca frauke frederic frederik frederike
    friederike fridolin
    frieda friedhelm friedrich froilán fulgencio fátima gabi gaby gaetano gaëtan genaro georg georges
    georgette georgina
    gerda gerlinde gernot gero gerhild gerrit gertrud gesa ghislain ghislaine gianluca gianna gilda giovanna
    gisele gitta
    godehard gottfried gracia gregor gretel grit guido guilherme gundula gustav gwenaëlle gülay gülsen
    hadrien hagen hakan
    halima hanna hannes hannah hans-peter hans-jürgen harro hartwig hatice hedi hedwig heide heidemarie
    heidrun heinke heino
    helga helge helmuth hendrik henriette henri henryk hermann hermine hicham hildegard hilario hiltrud
    hippolyte hinrich
    holger hortense hugo huguette humphrey hussein ibai ida ignace ilka ilona ilse imelda imke immanuel inès
    inga inge
    ingolf inken iolanda irena iria irmtraud isaak isabela isaura ismail isolde iwona jaap jadwiga jakob
    jalil jamal jan
    jannis jana janina janine janek janusz jaroslav jasmina javad jeannette jeannot jelena jens jette
    jeremias jessika
    joanne jochem joelle jochen jolanta jolanda jonas jordi jordan joris josefa josefine josep josette
    josiane jost joséphine jovana
    juanjo jule julienne juliette jutta kader kamel karel karima karl-heinz karolina karoline kathi
    katharina kathleen käthe
    katinka katka kayleigh kelvin kemal kenan kerim kevin khadija kilian killian kirstin kjell klara klaas
    konstanze korbinian
    kornelia kristian kristiane krista kunigunde kuno kwabena ladislav laila lambert lamia larissa laszlo
    laure laureano
    laurette lauriane layla leander leif leila lena lene leni lennart leon leonhard leonor leonora leopold
    letizia levin
    liane liesbeth liesel lilian liliane lieselotte linh linus lisbeth lisette loredana lorena lorin loriane
    lotte louane
    louisa louison loïs luana lucie lucienne lucrecia ludger ludmila ludwig luigi luise luisa lukasz lutgard
    lydie lysann
    macarena maciej maddie maelle maelys maëlle maëlys mahmut maike maja makarius malek malgorzata malika
    malte mamadou mandy
    manoel manuela marc-andré marcela marcella marceline marek margareta margarete margarethe margit
    margherita margrit
    marguerite marianna marie marie-claire marie-france marie-louise mariella marietta marija marika marilyn
    marina marine
    marit marita marlies marlis marlène martin marthe martín marwan maryse mascha massimo matej mathéo
    mathis matilde matteo
    maurizio maxime mayra mehdi meike meinhard melchior meliha melike melina mercè merlin meryem meta
    michaela michal
    michaël michelle milica milena milo mirco mirela mirjana mirko miroslav mirosława modesto mohamed
    mohammad moises
    moisés monique moritz mounir moussa murat myriam mélissa nabil nadège nadezhda nadia nadine naima nando
    narciso nasrin natacha
    natascha nathan nawal nazanin nelli nerea nesrin nicanor nicole niklas nico niko nils nina nine ninon
    nkechi noa noelia noémie
    nolan norberto noé nuno nurcan octave oihana oksana oktay olaf olaia olatunde olivier oluwatobi omer
    ophélie oriol orhan
    oriane osvaldo otmar ottilie ottmar otto ousmane paola pascal pascaline patricio patrizia pau paulette
    paulin pauline
    pavlina perrine philippa philippine piedad pierre-yves piero pina poppy prosper prudencio przemysław pál
    quirin rafaela
    rafał raimund rainer ralph ramazan ramón ramona raoul raphaëlle rasmus rayan raymonde refugio reinhild
    reinhold reyes
    rigoberto rike rita robertina rocio rodrigue roland rolande romane romeo romuald rosa rosalía rosalie
    rosalind rosana
    rosaura rosemarie roswitha rosette roxana roza rune ruslana ruth régine rémy rüdiger saad sabina sabri
    sabrine said
    saïd salim salimata salomé salva samia samira samuele sander sanne sara-jane saray sarina saturnina
    savannah selim selin
    sepp serap serkan severin sergi sibel sibylle sidonie siegfried siegbert sieglinde siegmund sigfrido
    sigmund sigurd silvana
    silvan silvère silvester simeon simona simão sinan solange soledad sonja sophie-charlotte sorin
    stanislas stanislaw steffi
    stefania stéphane suleiman susana susann susi sven svea sybille sylke sylvester sylviane sylvana szymon
    séraphine tadeusz
    tamás tanguy tarek tatjana teo teodora tereza thaddeus thaïs thea theodor theres therese thérèse thiago
    thibaud thilo thorben
    thiemo thomasina tibor tiago till tilman timéo timon tino titus tomaso tobi torben torge torsten traudl
    traute trinidad
    tristan trude uğur ulises ulla ulrika umberto urbain urs urban uschi valentine valentino valérian vanesa
    veit verena
    vera-lynn verónica victorine victorino vigdis vilma violaine violeta virgile vito vivien volkmar vreni
    walid waldemar walentyna
    waltraut wenzel wibke wiebke wieland wiktor wilfredo wilhelmine wilmer winfried winnie wilma wojciech
    wolf-dieter wolfram
    xaver xenia xoán yael yamina yanis yann yannis yara yasemin yassine yasmina yeray yolande youssef ysabel
    yunus yusra yvan
    zacarías zacharie zahra zehra zeno zeynep zineb zita zlata zoé zofia zulema óscar úrsula édith éloïse
    élise émilien éric
    étienne ömer özlem ülkü şule çiğdem ibtissam abigaïl latifa siham nkem chidi amara okechukwu olumide
    temitope yetunde
    anjali arnav ashwin bhavna dhruv gaurav harsh ishaan jyoti kiran lakshmi manish meera mohit nandini
    neeraj parvati pranav
    prakash rahul rohit sachin shreya sneha swati tanvi tushar varun vinay yash zainab mei-ling xiu wei jing
    liang feng
    аделаида агафья аграфена агния азамат айгуль айдар акулина алевтина алексия альберт альбина алсу анисья
    анфиса антонина
    арсен артемий архип асия афанасий ахмед аяна аида белла богдана булат борислав бэлла валерьян варя
    василиса вася вика
    виола виталик вова володя всеволод вячеслав габриэль гавриил галина гарик гена георгина герасим гоша
    гульнара гульшат гузель
    давид дамир данила даниил даниэль демид демьян диляра динара дина добрыня дуня ева евдокия евлампия
    егорка елизавета елисей
    емельян ермолай ерофей ефросинья женя заира залина зарина земфира зинаида зинаида зульфия ибрагим
    игнатий изабелла ильдар
    ильнур ильяс инга инесса иннокентий иосиф ираида ирма исмаил казимир камила камиль капитолина ким клим
    климент коля конрад
    корней кузьма лаврентий лазарь лала ларочка лейла леонтий лера лев луиза лука лукерья люба люба людмила
    люся мадина майя
    макар максимилиан мариам марианна марьяна матрёна медея мелания мирон мирослав мирослава митя михей
    модест мурат мустафа
    наиля назар наиль наина настасья нателла нелли нестор ника никифор нинель нона оксана октябрина олеся
    онисим орест осип остап
    пелагея петя платон прасковья прохор равиль радмила радик раиля ралина рамиль рафаэль рашид регина ринат
    рита роберт розалия
    ростислав рудольф руфина сабина савва савелий святослав севастьян серафим серафима серёжа стас стефания
    сусанна таисия
    тарас теймур тихон толик тома тося ульян устинья фаддей фарид фатима федот феликс фёкла флора фома фрол
    харитон христина
    цветана шамиль эдгар элина элла эльдар эльмира эмиль эмилия эмин эрик эрнест юлиан юлиана юнус юра
    юстина яков янина
    ярослава ярик
    """
)

_CASES = {"а": "у ы е ой", "я": "ю и е ей", "й": "я ю ем е"}


def _in_cases(name: str) -> set[str]:
    """A Russian given name in its other cases: "Мария" is "Марию" where somebody is put through to her."""
    stem = name[:-1] if name[-1] in _CASES else name
    return {stem + ending for ending in _CASES.get(name[-1], "а у ом е").split()}


GIVEN_NAMES |= {
    form
    for name in GIVEN_NAMES - {"вера", "надежда", "любовь", "роман", "мир", "март", "лев", "ким"}
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
    herzlichen glückwunsch zurück kundendienst support rechnung bestellung lieferung paket versand konto
    karte kunden damen
    herren leute mai märz januar februar juni juli oktober dezember montag dienstag mittwoch donnerstag
    freitag samstag
    sonntag heute morgen gestern hier da dort wie was wer wo wann warum wir ihr sie er man mein meine ihre
    unser haben
    sind kann können möchte würde wurde werden im am zum zur mit von für auf aus bei nach deutschland
    österreich schweiz wien
    hamburg münchen köln frankfurt stuttgart salzburg zürich falschen jemand niemand rückfragen fragen
    probleme problem
    abteilung vertrieb technik buchhaltung firma gmbh ag kg amt finanzamt krankenkasse versicherung ware
    nummer adresse
    stau ende anfang grund ober chef nachbarn kollegen tier name vorname nachname stunden tage wochen eur euro
    enero febrero marzo mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes
    miércoles jueves
    viernes sábado domingo ustedes usted nosotros ellos él esto eso este esta quiero necesito tengo puedo
    hay está
    estoy cuándo cuánto dónde quién navidad españa madrid barcelona méxico argentina chile perú colombia
    departamento
    facturación envíos ventas empresa banco tienda pedido factura cuenta señores señoras estimados
    departamentos premium
    cliente clientes agente nada algo mañana hoy ayer favor aquí ahí allí porque también pero cuando si no
    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi
    jeudi vendredi
    samedi dimanche mademoiselle messieurs mesdames il elle on nous ils elles ce cette ces c'est j'ai j' mon
    ma mes ton votre notre
    quand où comment pourquoi combien noël pâques france paris lyon marseille belgique suisse genève service
    services
    commande compte facture livraison colis beaucoup ici là voilà oui non mais avec pour dans sur chez bien
    tout toute
    client cliente clients assistance technique comptabilité société banque magasin boutique premium rien
    personne
    января февраля марта апреля мая июня июля августа сентября октября ноября декабря понедельник вторник
    среда четверг
    пятница суббота воскресенье россия россии москва москвы москве питер казань сочи клиента клиентов
    поддержки поддержке
    службы отдел отдела компании банка магазина заказа доставки сайт сайта приложение вами мной мною ими ней
    ним них
    господа дамы девушка молодой человек уважаемый уважаемая девушки ребята народ товарищи добрый доброе
    доброго вечер
    утро возмутительно ужасно отлично спасибо благодарю извините простите скажите подскажите помогите хочу
    могу буду
    будет был была были есть сейчас сегодня завтра вчера почта адрес номер телефон пароль код паспорт карта
    карты счёт
    счет договор билет рейс поезд отель ресторан такси музей интернет оценка качество работа фамилия имя
    отчество фио
    если чтобы потому этот эта эти тот мы вам ваша ваше ваши наша наше наши мои моё мое моего твой свой один
    два три
    dear all there regard greeting wishes thanks again via parcel
    """
)
"""What may stand where a name is expected and is none: common words, roles, brands, cities, months."""

PLACES = words(
    """
    paris london berlin sydney austin dallas jordan georgia victoria florence chelsea madison lincoln
    washington charlotte
    santiago valencia lourdes adelaide virginia carolina alexandria israel kent milan nancy lorraine
    savannah dakota
    diego francisco jose josé juan luis antonio sebastián sebastian bernardino pedro asia africa cuba kenya
    chad jersey
    odessa sofia roma siena geneva vienna ireland holland troy eugene phoenix helena cleveland houston
    memphis orlando
    aurora salvador trinidad córdoba cordoba leon león mérida mercedes alicante santa cruz guadalupe
    concepción asunción
    rosario bolívar colón sucre augusta beverly bristol cambridge denver detroit devon raleigh regina rio
    rochester
    """
)
"""Of the given names, those that are cities, countries or regions as well."""

THINGS_TOO = (
    COMMON_WORDS
    | PLACES
    | words(
        """
        alba aimé amande ambre américa angèle aurore azul barbie blanche bella blanca carmen celeste chase
        clara claire
        clarissa consuelo constance cruz diana dolores elsa ernst esperanza estrella fidel fiesta fleur
        flora france gala
        gloria golf gracia hugo inmaculada jaguar jasmin jasmine jesús jo joy juste kai kelly kim lima linde
        linus lotus
        luca luna luz margarita marina marine martini mia mini miranda montana montserrat nova noël océane
        olive omar opera
        oscar otto paloma pascal patience paz perle piedad pilar prudence python reine remedios reyes rio
        rita rosalie
        rosa rosario roger serena siena sierra sol soledad stella titus tomb valentine valentina violet
        viola vito wolf zara
        alexa siri cortana alice julia java ada alfa romeo merlin tesla lidl aldi penny edeka amigo domingo
        abril milagros
        вера надежда любовь роман лев слава март август майя роза лилия мила лада алиса яна мир злата
        октябрина ким виола
        тома сила победа элла флора ника маша даша мишка белла клим лука паша
        can said finn till urban pau nine reyes ling feng wei jing liang xiu kiran jan juli jana karl veit
        noa ida ewa lo
        """
    )
)
"""Given names that, alone and unannounced, are as often something else: words, goods, brands, places."""

SURNAMES = words(
    """
    smith johnson williams brown jones garcia davis rodriguez martinez hernandez lopez gonzalez wilson
    anderson thomas
    moore jackson thompson harris sanchez clark ramirez lewis robinson walker allen wright scott torres
    nguyen flores
    adams nelson baker rivera campbell mitchell carter roberts gomez phillips evans turner diaz edwards
    collins reyes
    stewart morris morales murphy rogers gutierrez ortiz cooper peterson bailey reed howard ramos richardson
    watson
    brooks chavez bennett mendoza ruiz hughes alvarez castillo sanders patel myers foster jimenez powell
    jenkins russell
    sullivan patterson henderson ramsey kowalski o'brien o'connor o'neill o'sullivan o'reilly macdonald
    mackenzie mcdonald
    mccarthy kennedy gallagher doyle hussain khan ahmed singh sharma kumar gupta chaudhry begum iyer nair
    okafor okonkwo adeyemi
    chukwu eze mensah abubakar obi osei abebe haile mwangi kamau otieno dlamini nkosi wong chan cheung leung
    tan lim wu zhang
    kim park choi jung tanaka suzuki sato yamamoto nakamura tran pham hoang huynh silva santos oliveira
    pereira ferreira
    almeida costa carvalho gomes ribeiro rossi russo ferrari esposito bianchi romano colombo ricci marino
    greco
    müller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schäfer koch bauer richter
    klein wolf schröder
    neumann schwarz zimmermann braun krüger hofmann hartmann lange schmitt werner schmitz krause meier
    lehmann schmid schulze
    maier köhler herrmann könig walter mayer huber kaiser fuchs peters lang scholz möller weiß jung hahn
    schubert vogel
    friedrich keller günther frank berger winkler roth beck lorenz baumann franke albrecht schuster simon
    ludwig böhm winter
    kraus martin schumacher krämer vogt stein jäger otto sommer groß seidel heinrich brandt haas schreiber
    graf schulte dietrich
    ziegler kuhn kühn pohl engel horn busch bergmann thomas voigt sauer arnold wolff pfeiffer yilmaz yıldız
    kaya demir şahin
    öztürk aydin aydın çelik arslan doğan kılıç aslan koç gruber wimmer steiner moser hofer leitner fuchs
    eder pichler egger
    reiter schwarz brunner zuber meier bühler gerber frei widmer zürcher kunz baumgartner lüdtke quandt
    rademacher engelbrecht
    garcía gonzález rodríguez fernández lópez martínez sánchez pérez gómez martín jiménez ruiz hernández
    díaz moreno muñoz
    álvarez romero alonso gutiérrez navarro torres domínguez vázquez ramos gil ramírez serrano blanco molina
    morales suárez
    ortega delgado castro ortiz rubio marín sanz núñez iglesias medina garrido cortés castillo santos lozano
    guerrero cano
    prieto méndez cruz calvo gallego vidal león márquez herrera peña flores cabrera campos vega fuentes
    carrasco diez reyes
    caballero nieto aguilar pascual santana herrero montero lorenzo hidalgo giménez ibáñez ferrer durán
    santiago benítez mora
    vargas arias carmona crespo soto sáez velasco moya soler parra esteban bravo gallardo rojas quispe
    mamani ibarra echeverría
    villalobos montenegro cifuentes figueroa espinoza contreras sepúlveda valdés zamora salazar rivas acosta
    cárdenas quiroga
    bernard dubois durand moreau laurent lefebvre lefèvre leroy roux bertrand morel fournier girard bonnet
    dupont lambert fontaine
    rousseau vincent muller faure mercier blanc guérin boyer garnier chevalier legrand gauthier perrin robin
    clément morin
    nicolas henry roussel mathieu gautier masson marchand duval denis dumont lemaire noël meyer dufour
    meunier brun blanchard
    giraud joly rivière brunet gaillard barbier arnaud martinez renard schmitt roche colin vidal caron
    picard roger fabre
    aubert lemoine renaud dumas lacroix olivier philippe bourgeois pierre benoît rey leclerc payet rolland
    leclercq guillaume
    lecomte lopez jean dupuy guillot hubert berger carpentier dupuis moulin louis deschamps huet vasseur
    perez boucher fleury
    royer klein jacquet adam paris poirier marty aubry guyot carré charles renault charpentier ménard
    maillard baron bertin
    bailly hervé schneider fernandez le gall collet léger bouvier julien prévost millet perrot daniel le
    roux cousin germain
    breton benard besson langlois rémy le goff pelletier lévêque perrier leblanc barré lebrun marchal weber
    mallet hamon
    boulanger jacob monnier michaud rodriguez guichard gillet étienne grondin poulain tessier chevallier
    collin chauvin bouchet
    gay lemaître bénard maréchal humbert reynaud antoine hoarau perret barthélemy cordier pichon lejeune
    gilbert lamy delaunay
    pasquier carlier laporte diallo traoré coulibaly keïta ndiaye touré benali haddad bouaziz
    """
)
"""Family names, which in the place of a name, and there only, make it sure."""

_RUSSIAN_SURNAME = re.compile(
    r"(?!(?:саратов|ростов|псков|тамбов|азов|серпухов|чехов|берлин|пекин|москв|подмосков|сбербанк|"
    r"магазин|один|здоров|готов|"
    r"санкт|пушкин|калинин|ленин|берез|росси|украин|китай|герман|итал|ворон|красн|город|улиц|район|калуг|"
    r"харьков|киев|львов|"
    r"краков|турин|дублин|карантин|витамин|апельсин|кузов|остров|серов|минск|омск|томск|курск|брянск|"
    r"смоленск|иваново|"
    r"бензин|термин|камин|вечерин|половин|новин|машин|картин|цен|перв|нов|улуч|остальн|росс|англ|русск|"
    r"советск|российск|"
    r"английск|немецк|французск|испанск|московск|европейск|турецк|китайск|сочин|украинск|японск|американск))"
    r"[а-яё]{2,18}(?:[оеё]в(?:а|у|ым|ой|ых|ыми)?|[иы]н(?:а|у|ым|ой|ых)?|[сц]к(?:ий|ая|ого|ому|им|ой|ую)|"
    r"(?:ен)ко|чук(?:а|у|ом)?|юк(?:а|у|ом)?|ян(?:а|у|ом)?|дзе|швили)"
)
_PATRONYMIC = re.compile(
    r"[а-яё]{2,14}(?:[ое]вич(?:а|у|ем|е)?|(?:овн|евн|ичн)(?:а|ы|е|у|ой))|"
    r"(?:иль|кузьм|фом|лук|сав|никит)ич(?:а|у|ом|е)?"
)


def is_patronymic(word: str) -> bool:
    """Whether a lower-case word is formed like a Russian patronymic, in any case: "ильинична"."""
    return word[-1:] in "чауеймы" and _PATRONYMIC.fullmatch(word) is not None


def is_surname(word: str) -> bool:
    """Whether a lower-case word is a well-known family name or formed like a Russian one, in any case."""
    return word in SURNAMES or ("а" <= word[:1] <= "я" and _RUSSIAN_SURNAME.fullmatch(word) is not None)
