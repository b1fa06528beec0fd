"""Words that tell a name from no name: given names, words that follow a cue but name nobody, titles.

Written for dialint from everyday knowledge; a name that is missing here is still found after a strong
cue ("my name is"). All in lower case.
"""

from __future__ import annotations

GIVEN_NAMES = frozenset(
    """
    aaron abdul abigail adam adele adrian adriana agnes agnieszka ahmed aidan aiden aisha akira alan alana albert alberto
    alejandra alejandro aleksandr alessandro alex alexander alexandra alexei alexey alexis alfred ali alice alicia
    alina alison allison alma alvaro alyssa amanda amber amelia amina amir amit amy ana anastasia anders andre andrea
    andreas andrei andrew andrey andy angela angelica angelo anita anja ann anna anne annie anthony antoine anton antonio
    anya ariana arjun arthur asha ashley astrid audrey austin ava barbara bart beatrice beatriz becky ben benjamin
    bernard beth bethany betty bianca bill billy bjorn bob bobby boris brad bradley brandon brenda brent brian bridget
    bruce bruno bryan caitlin caleb calvin cameron camila camille carl carla carlos carmen carol carolina caroline carrie
    catherine cathy cecilia celine cesar chad chandra charles charlie charlotte chen chelsea cheryl chloe chris christian
    christina christine christopher cindy claire clara claudia clive colin connor craig cristina crystal curtis cynthia
    daisy damian dan dana daniel daniela danielle danny daria darren dave david dawn dean deborah debbie deepak denis
    denise dennis derek diana diane diego dieter dimitri dmitri dmitry dolores dominic don donald donna dorothy doug
    douglas duncan dylan ed eddie edgar eduardo edward eileen elaine eleanor elena eli elias elisa elizabeth ella ellen
    ellie elsa emily emilia emma emmanuel enrique eric erica erik erika erin ernest esther ethan eugene eva evan evelyn
    ewa fatima felipe felix fernando fiona florence frances francesca francis francisco frank franz fred freddie frederick
    gabriel gabriela gareth gary gavin gemma george georgia gerald gerard gina giovanni giulia gloria gordon grace graham
    greg gregory greta guillermo gustavo hannah hans harold harriet harry hassan heather hector heidi helen helena helga
    henrik henry hiroshi holly hugo ian ibrahim igor ines inga ingrid irene irina iris isaac isabel isabella isla ivan
    ivy jack jackie jackson jacob jacqueline jaime jake jakub james jamie jan jana jane janet janice jared jasmine jason
    javier jay jean jeff jeffrey jen jenna jennifer jenny jens jeremy jerry jess jesse jessica jessie jesus jill jim jimmy
    joan joanna joanne joao joe joel joelle johan johanna john johnny jon jonas jonathan jordan jorge jose joseph josh
    joshua joyce juan juanita judith judy julia julian juliana julie juliet jurgen justin kai karen karin karl karla
    kasia kate katarina katarzyna katherine kathleen kathryn kathy katie katja kay keith kelly ken kenji kenneth kerry
    kevin khalid kim kimberly kirill klaus konstantin krishna kristen kristin krzysztof kumar kurt kyle lara lars laura
    lauren laurence lea leah lee leila lena leo leon leonard leonardo leslie lewis liam lidia lila lily linda lisa liz
    lorenzo lorraine louis louise luca lucas lucia lucy luis luisa lukas luke lydia lynn madison maggie magda magdalena
    malik manuel marc marcel marcelo marco marcus maria mariam marie marina mario marion marisol marta martha martin
    martina marvin mary mateo mathias mathilde matt matteo matthew maureen maurice max maya megan mei melanie melissa
    mercedes michael michal michele michelle miguel mikael mike mikhail milan mila miles milly minh miranda miriam mohamed
    mohammed moira molly monica monika morgan muhammad nadia nancy naomi natalia natalie natasha nathan neil nelson nia
    nicholas nick nicola nicolas nicole nigel nikolai nikita nina noah noor nora norma norman olaf oleg olga oliver
    olivia omar oscar otto owen pablo paige pamela paolo patricia patrick paul paula paulina pavel pedro peggy penelope
    penny pete peter petra phil philip philippe phillip phoebe pierre piotr priya priyanka quentin rachel radoslav rafael
    raj rajesh ralph ramon randy raquel rashid raul ravi ray raymond rebecca regina rene ricardo richard rick rita rob
    robert roberto robin rodrigo roger roland roman ron ronald rosa rosalind rosemary rosie ross roy ruben rupert russell
    ruth ryan sabine sabrina sally salma sam samantha samir samuel sandra sandy sanjay santiago sara sarah sasha scott
    sean sebastian selena serena sergei sergey sergio seth shane shannon sharon shaun shawn sheila shirley sidney silvia
    simon simone sofia sofie sonia sophia sophie stacey stacy stan stefan stefanie stella stephanie stephen steve steven
    stuart sunita susan susanna susie suzanne svetlana sven sylvia tamara tanya tara tariq tatiana ted teresa terry
    tessa theo theodore theresa thomas tiffany tim timothy tina tobias todd tom tomas tomasz tommy toni tony tracy
    travis trevor tristan tyler ulrich ursula valentina valeria valerie vanessa vera veronica vicky victor victoria
    vijay vincent viola violet viktor vladimir walter wanda warren wayne wendy wesley wilhelm william xavier yana yasmin
    yolanda yuki yuri yusuf yvonne zach zachary zara zoe zofia
    abel ada adaeze adebayo aditi aditya agatha aiko akash alba aldo alejo alex alfonso alina alvin amal amara amari
    amos anastasija anders angus anil anika ansel antonia aoife archie ariel arnold arturo arya asher ashok astor
    augusto aurora ayesha aylin barry bartholomew basil beata belinda bella bennett benny bernadette bertha bilal blanca
    bogdan bonnie boyd bradford branko brock bronwyn byron callum camilo candice carina carlo carmel casey caspar cedric
    celia chika chinedu chiara ciara clarence clark claus clementine clifford clint cody connie conrad consuelo cora
    cordelia cornelia cyril dagmar dakota damien danica danilo darius darlene darnell daryl davide delia delphine demetrius
    deniz desmond devon dexter dilip dinesh dino dirk dmitrij dora doris dorota drew duane dustin dwayne ebony edith
    edmund edna efraim ekaterina elaine elijah elliot elliott ellis elmer eloise elvira emanuel emeka emil emiliano emre
    ernesto errol estelle esteban etta eunice ezra fabian fabio faisal farah fay faye federico felicia felicity femi ferdinand
    fergus fernanda filip flavia floyd freya frida fritz gaston gavin geoff geoffrey geraldine gerardo giancarlo gideon
    gilbert giorgio giuseppe gladys glen glenn goran graciela gracie guadalupe gunnar gwen gwendolyn hakim hamza harald
    harper harvey haruto hassan hazel heinrich henriette herbert herman hilary hilda horst howard hubert hugh humberto
    ignacio ilse imani imogen imran ingeborg ioana isaiah ismael ivana jacques jada jamal jarrod jasper javid jayden
    jeanette jeanne jelena jemma jerome jerzy jo joann jocelyn jody jolene josef josefina josephine josie joy juana judah
    jude jules julio jung kamal kamila kareem karim karina karol kaspar kathrin katrina kavita kayla keisha kendra kenny
    kiara kieran kimiko kirsten kirsty klara kofi konrad krystyna kurtis kwame lamar lance larry latoya laurie leandro
    leif leland leonid leopold leroy levi liana lilian liliana lillian lionel livia lizzie logan lois lola loretta lorna
    lottie lourdes lucien lucille luka lupe luther lyle mabel madeleine madeline mae magnus mahmoud maja malcolm mandy
    marcin margaret margarita margot marguerite marian mariana marianne maribel marian marissa marius marjorie marko
    marlene marlon marta maryam mason matilda mattias maud mauricio mavis maxine maxwell mehmet melinda meredith merle
    mick mickey milton mina mirjam mitch mitchell mohammad mona morris moses mustafa myra myrtle nadine nadja naveen
    neha nelly nestor ngozi nicolette niels nils nikhil nikola noel noemi nora norbert nuria obi octavia odette olena
    oluwaseun orlando orla oskar osman otis oswaldo pamela parker patrice patricio pauline pearl perry peyton phyllis pilar
    pooja preston priscilla raheem ramona randall raphael ravindra reggie regina reinhard renata renee rhonda rhys rico
    riley rita roberta rocco rodney rohan roland rolf ronan ronnie rory rosario roxanne rudolf rufus ryszard saanvi sadie
    saeed sakura salvador sandeep sanja santino saskia savannah selma serge shauna shaniqua shelby shelley sherry shirin
    siddharth sigrid silas silvio sinead siobhan solomon sonja spencer stanley stella stu sue suresh sylvie tabitha takashi
    tamar tamika tammy tania tasha tatyana terrance terrence thelma thea thibault tilda tobin trent trey trina trudy tyrone
    uma ulrike umar ursula usha valerio vance vanya vaughn velma vernon vicki vikram vince virginia vishal vivian viviana
    vivienne vlad wallace wendell werner wilfred willa willie wilma wolfgang ximena yael yannick yasmine yevgeny ying yolande
    yvette yves zainab zeynep zoltan zuzanna annegret beatriu giulio hector hiro kaito naoko ren sota yui
    александр александра алексей алина алиса алла анастасия анатолий андрей анна антон арина артём артем борис вадим
    валентин валентина валерий варвара василий вера виктор виктория виталий владимир галина георгий григорий дарья даша
    денис диана дима дмитрий евгений евгения екатерина елена иван игорь илья инна ирина катя кирилл константин ксения
    лариса лена лидия любовь людмила максим маргарита марина мария маша михаил надежда наталия наталья наташа никита
    николай оксана олег ольга оля павел пётр петр полина роман светлана семён сергей софия станислав степан таня татьяна
    тимур фёдор юлия юрий яна ярослав
    álvaro andrés ángel césar françois garcía hélène inés jesús joão jörg josé jürgen léa martín máximo mónica raúl rené
    sébastien sofía zoë łukasz björn søren günther
    """.split()
)

COMMON_WORDS = frozenset(
    """
    will may mark grace rose hope april june august bill art drew jack rich sunny summer faith joy pat sue dean chase
    grant frank guy autumn amber angel baker bank banks bell best bird bishop black blue bond book booker bowl brown
    bush carter case cash chance chip christian church clay close cook cooper court cross daisy dale dawn day dear field
    fields fisher ford forest fox french gates gold gray green grey hall hardy heath hill hunt hunter iris ivy jay jean
    johns joy july key king knight lake lane law lily long love major march mason max mike miles miller moon
    noble olive page park parker penny pope porter power price prince ray read reed rich rob rock rod ruby sage sally sandy
    self sharp short shore sky small star stone storm story strong sun swift taylor terry token trip van victor viola
    violet wall ward water waters way wells west white wise wood woods york young sea robin pearl major ace dash
    london paris berlin sydney austin dallas jordan georgia victoria florence chelsea madison lincoln washington
    the order account card visa amazon china india holland
    """.split()
)
"""Names that are words too. They are no later mention by themselves at the beginning of a sentence."""

PARTICLES = frozenset("de del da dos das di la le van von der den ter bin ibn al el y e zu st mc".split())

TITLES = frozenset(
    "mr mrs ms miss mx dr prof professor doctor sir madam dame lord lady rev sra sr señor señora señorita herr frau "
    "monsieur madame mme don doña г-н г-жа господин госпожа доктор pan pani".split()
)

NOT_NAMES = frozenset(
    """
    a an the this that these those there here it its it's i i'm i've i'd i'll im me my mine we we're our us you you're
    your yours he she they them their his her him who whom whose what which when where why how and or but nor so if then
    than as at by for from in into of off on onto out over to under up with without within about above across after
    against along around before behind below beneath beside between beyond down during except inside like near outside
    past since through toward until upon via is isn't are aren't was wasn't were weren't be been being am do does did
    done doing don't didn't doesn't have has had having haven't hasn't can could can't cannot couldn't may might must shall
    should will would won't wouldn't not no none never yes yeah yep nope ok okay sure alright well right just only also
    even still yet already again ever now today tonight tomorrow yesterday soon later early late once twice always often
    please thanks thank thx ty sorry apologies pardon hi hello hey dear hiya greetings welcome good great fine nice cool
    awesome perfect excellent wonderful lovely amazing fantastic brilliant super glad happy sad angry upset frustrated
    annoyed disappointed furious unhappy interested afraid worried confused concerned curious tired sick ready available
    busy free done back new old same different other another any some all both each every either neither many much more
    most few less least several enough very really quite rather too almost nearly pretty so such absolutely totally
    definitely certainly probably maybe perhaps possibly actually basically exactly simply unfortunately fortunately
    hopefully obviously clearly apparently seriously honestly frankly literally currently recently finally
    support customer customers service services team staff agent agents representative rep representatives assistant
    advisor adviser operator manager management supervisor department sales billing technical tech help helpdesk desk
    info office reception admin administrator sir madam ma'am maam sirs mate dude buddy bro man guys guy folks friend
    friends everyone everybody anyone anybody someone somebody nobody people person lady gentleman gentlemen ladies
    team-mates colleague colleagues client clients member members guest guests user users visitor shopper patient
    passenger owner holder mum mom dad mother father brother sister wife husband son daughter child baby
    order orders account accounts number numbers name names email e-mail mail address addresses phone card cards payment
    payments bill bills invoice refund refunds return returns delivery shipping package parcel item items product
    products price prices ticket tickets case booking reservation room flight hotel restaurant taxi train bus ride app
    website site page link password code login registration subscription plan policy terms contract insurance warranty
    issue issues problem problems question questions request complaint feedback information details update status
    confirmation chat message call callback line bot chatbot robot human virtual automated system server error bug
    listed wrong incorrect correct misspelled spelled spelt missing unknown printed written shown displayed registered
    attached linked going coming calling speaking writing contacting looking trying waiting hoping wondering asking having
    getting using working living moving sending making taking seeing thinking talking checking following regarding
    happening ridiculous unacceptable terrible horrible awful bad worse worst unbelievable outrageous insane crazy
    disgusting impossible incredible insulting nonsense urgent important regarding concerning because while although
    though unless whether however therefore anyway besides instead otherwise meanwhile
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun morning
    afternoon evening night noon midnight day week month year weekend christmas easter
    zero one two three four five six seven eight nine ten hundred thousand first second third last next final
    english spanish french german russian american british canadian australian chinese japanese italian polish indian
    mexican brazilian dutch irish scottish european asian african korean turkish greek swedish portuguese
    america england britain uk us usa u.s u.k canada australia germany france spain italy poland russia china japan india
    mexico brazil europe asia africa ireland scotland wales london paris berlin madrid moscow rome tokyo dublin chicago
    boston seattle dallas denver miami houston atlanta cambridge oxford manchester birmingham toronto montreal
    york angeles francisco vegas diego detroit portland philadelphia
    amazon apple google microsoft facebook instagram twitter whatsapp netflix spotify uber lyft airbnb booking expedia
    paypal ebay visa mastercard amex samsung sony nokia huawei xiaomi iphone ipad macbook android windows mac outlook
    gmail yahoo zoom slack zendesk intercom fedex ups usps dhl hermes royal tesla ford toyota bmw walmart target costco
    ikea zara nike adidas starbucks mcdonalds verizon vodafone comcast at&t sprint orange
    wifi wi-fi usb hdmi lan vpn tv pc sms pdf url id pin otp faq asap fyi btw lol omg wtf vip vat gst eta etc
    world listen let lets let's see look wait hold hang give get got go come keep make take send check try tell say said ask want wanted
    need needed know think believe guess mean understand understood love hate wish hope thought found find bought
    ordered received paid pay cancel cancelled change changed close closed open opened use used work works worked stop
    start started confirm confirmed provide reset book booked track follow contact reach leave left placed
    nothing something anything everything thing things way ways time times part place bit lot kind sort type reason
    sense idea deal luck care fault joke scam fraud theft robbery mess mistake emergency disaster
    required optional mandatory invalid needed private safe protected there misspelt blank empty hidden whenever nuevo nueva
    bye goodbye good-bye called named titled cheers regards sincerely best warm kind yours faithfully truly respectfully cordially
    congratulations enjoy appreciate appreciated noted received resolved approved denied declined pending
    part-time full-time premium basic standard gold silver platinum business enterprise professional pro plus
    hola gracias por para favor buenos buenas días tardes noches señor señora equipo soporte cliente atención servicio
    todos amigo amigos que qué cómo como es el la los las un una mi tu su no sí si de en con pero muy bien mal yo ya
    hallo danke bitte kunde kundenservice zusammen team ich ein eine der die das und nicht sie es ist bonjour merci
    monsieur madame service client équipe je un une le les vous nous est pas tout monde
    здравствуйте привет добрый день спасибо пожалуйста поддержка служба клиент клиенты покупатель коллеги друзья команда
    что как где когда почему это не да нет мой моя мои наш ваш ваша я мы вы он она они по на в с к у за от для из о и а но
    вас вам нас нам меня мне очень просто уже ещё еще всё все так там тут здесь можно нужно надо хорошо плохо правда
    безобразие заказ доставка оператор менеджер бот чат магазин компания банк
    """.split()
)
"""What may stand where a name is expected and is none: common words, roles, brands, cities, months."""
