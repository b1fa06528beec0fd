"""What openly rude agents say: orders, impatience, contempt, threats, insults, brush-offs.

Each sentence has a courteous one of the same form beside it.
"""

from __future__ import annotations

from labeling.inject.insertion import Idea
from labeling.inject.wordings.rude_slots import SLOTS

BLUNT_ORDER = (
    (
        "(Just |)(answer the question|answer what I asked|give me what I asked for)( already| and nothing else|).",
        "(Please |)(answer the question|tell me what suits you|give me the details) (when you can|if you like).",
    ),
    (
        "(Stop|Quit) (wasting my time|rambling|beating around the bush|changing your mind) and (tell me|say) "
        "what you (want|need).",
        "(Take your time|Feel free to think it over|Have a look around) and (tell me|let me know) what you "
        "(want|need).",
    ),
    (
        "(Read|Go and read|Learn to read) (the instructions|the website|what I wrote|my last message) "
        "(before you write to me|before asking me anything|first)(.|!)",
        "(I can send you|I'm happy to send you|Let me send you) (the instructions|the link|a short guide) "
        "(before you decide|if that helps|first)(.|!)",
    ),
    (
        "(Make up your mind|Decide already|Just pick one)(.|!| and stop dithering.| and let's get this over with.)",
        "(Either one works|Both are fine|Just pick the one you like)(.|!| and I'll set it up.| and we're done.)",
    ),
    (
        "(Be quiet and listen|Listen to me|Pay attention) (for once|for a change|because I won't repeat it).",
        "(Let me go through it|I'll sum it up|I'll repeat that) (for you|from the start|and you can stop me).",
    ),
    (
        "(Don't|Do not) (ask me that|bother me with that|start with that) again(.|, understood?|, got it?)",
        "(Do|Please) (ask me that|come back to me with that|bring that up) again( any time|, all right|).",
    ),
    (
        "(Keep it short|Get to the point)(.|, I'm not here to chat.|, nobody asked for your life story.)",
        "(Tell me a bit more|Give me the details)(.|, I'm glad to help.|, every little thing helps.)",
    ),
    (
        "(Do as you're told|Do what I say|Follow my instructions) (and don't argue|or leave it|or go away).",
        "(Do what suits you|Go with what you prefer|Follow the steps) (and let me know|or ask me|or take a break).",
    ),
    (
        "(Shut up|Zip it|Stop talking|Be quiet) and (let me do my job|let me work|wait your turn).",
        "(Hold on|Bear with me|Stay on the line) and (I'll do that for you|I'll look it up|I'll check).",
    ),
    (
        "Go (bother|annoy|pester) (someone else|another department|somebody who cares)(.|@name.)",
        "You can (also ask|also reach|always contact) (our other team|the front desk|a colleague of mine)(.|@name.)",
    ),
    (
        "(Type|Write|Speak) (properly|in whole sentences|like an adult) (or don't write at all|or we're done|first).",
        "(Type|Write|Send) (it any way you like|as much as you need|whatever you have) (and I'll sort it|here|first).",
    ),
)

IMPATIENCE = (
    (
        "@look I (don't have|haven't got) (all day|time for this|all night|forever)(@name|).",
        "@look I (do have|have got) (all day|time for this|a moment|plenty of time)(@name|).",
    ),
    (
        "How many (more |)times do I have to (tell you|say it|explain this|ask)?",
        "How many (more |)(people|nights|days) do I have to (put down|add|plan for|count)?",
    ),
    (
        "(Hurry up|Come on|Get on with it|Move it|Faster)(@name|)(.|!|, other @people are waiting.)",
        "(Take your time|No rush|No hurry|Whenever you like)(@name|)(.|!|, nobody else is waiting.)",
    ),
    (
        "(Are we done yet|Can we finish now|Is that it now|Are you done)? I have (real work|other @people|better things) to (do|get to).",
        "(Is that right|Shall we go on|Does it look good so far|Are you fine with that)? I have (good news|other dates|more options) to (share|show).",
    ),
    (
        "(I've|I have) (already told you|already answered that|said this before)( twice| three times|), "
        "(what part don't you get|so stop asking|pay attention)(.|!)",
        "(I've|I have) (just booked it|already checked that|sent this to you)( by e-mail| as well|), "
        "(so you're all set|so no need to hurry|please have a look)(.|!)",
    ),
    (
        "(This is|You are) taking (forever|way too long|ages)(.|, get a move on.|, I have a lunch break.|, are you asleep?)",
        "(This is|It is) taking (a minute|a little longer|a moment)(.|, thank you for waiting.|, nearly there.|, is that okay?)",
    ),
    (
        "(Seriously|For heaven's sake|For crying out loud|Oh come on|Ugh), (what now|not this again|just say yes or no)(.|!)",
        "(Certainly|By all means|Absolutely|Oh sure|Yes), (again|go ahead|just like that|just say yes or no)(.|!)",
    ),
    (
        "(I'm|I am) (getting tired of|sick of|fed up with|losing patience with) (this|you|your questions|this conversation).",
        "(I'm|I am) (glad to help with|here for|happy to take) (this|your questions|anything else you need).",
    ),
    (
        "(What is it now|What now|What do you want now|What is it this time)?( Make it quick.| I'm busy.| Spit it out.|)",
        "(What can I do for you|What is it you need|What would you like|What else today)?( I'm glad to help.| I'm here.| Go ahead.|)",
    ),
    (
        "(Last chance|I'm asking one last time|I won't ask again), (yes or no|which one|take it or leave it)(.|!)",
        "(One more thing|I'm just asking to be sure|Let me ask again), (yes or no|is that fine|was that the date)?",
    ),
)

CONTEMPT = (
    (
        "@look (that's|it is) (not my problem|not my job|none of my business|your problem)(, deal with it|, figure it out|).",
        "@look (that's|it is) (not a problem|part of my job|easy to change|no trouble)(, leave it to me|, I'll sort it out|).",
    ),
    (
        "(I'm not doing that|I won't do that|No way|Not a chance)(.|, find someone else.|, take it or leave it.|@name.)",
        "(I can do that|I'll do that|No problem|Not an issue)(.|, give me a second.|, take your pick.|@name.)",
    ),
    (
        "I (couldn't care less about|really don't care about|don't give a damn about) (your @matter|your plans|that).",
        "I (will gladly help you with|really do care about|can look into) (your @matter|your plans|that).",
    ),
    (
        "(If you don't like it,|Don't like it? Then) (go elsewhere|leave|take your business somewhere else|that's too bad).",
        "(If you don't like it,|Not sure? Then) (have another one|tell me|take your time to decide|that's fine too).",
    ),
    (
        "(Tough luck|Too bad|Tough|Sucks to be you|Boo hoo)(.|, nothing I can do.|, life isn't fair.|, get over it.)",
        "(Good news|Thank you|Sure|Sorry about that|Lucky you)(.|, here's what I can do.|, it's still open.|, here it is.)",
    ),
    (
        "(I don't get paid|They don't pay me) (enough|nearly enough) (for this|to deal with you|to listen to this).",
        "(You don't need to pay|They don't charge) (extra|anything extra) (for this|to change it|to come earlier).",
    ),
    (
        "(Go ahead and complain|Complain all you want|Write a bad review), (nobody reads it|nobody cares|see if I care).",
        "(Go ahead and order|Ask all you want|Write us a review), (we read them all|we're happy to hear it|it helps a lot).",
    ),
    (
        "(You're|You are) (not worth|hardly worth) (the trouble|my time|the effort)(@name|).",
        "(You're|You are) (always worth|more than worth) (the trouble|my time|the effort)(@name|).",
    ),
    (
        "(Figure it out|Sort it out|Look it up) yourself(.|, I'm not your assistant.|, I'm not your mother.|, Google exists.)",
        "(Have a look|See it|Look around) yourself(.|, or I can send a link.|, or let me do it.|, if you prefer.)",
    ),
    (
        "Why would I (waste|spend) (my time|another minute|any more energy) on (you|your @matter|this nonsense)?",
        "Would you (like|want|need) (my help|another look|any more details) on (that|your @matter|this one)?",
    ),
    (
        "(We have|We've got) (far better customers than you|enough customers without you)(.|, we won't miss you.|, goodbye.)",
        "(We have|We've got) (a far better table for you|enough rooms for all of you)(.|, you won't miss a thing.|, enjoy.)",
    ),
    (
        "(Read|Check|Try) the (FAQ|manual|website), (I'm not going to read it to you|that's what it's there for|not me)(.|!)",
        "(Read|Check|Try) the (FAQ|manual|website), (I'm going to send it to you|it has a good map|or ask me)(.|!)",
    ),
)

THREAT = (
    (
        "(Keep this up|Keep talking like that|One more word) and (I'll|I will|I'm going to) (close your case|hang up|block you|cancel everything).",
        "(Keep this page open|Keep the number at hand|One more detail) and (I'll|I will|I'm going to) (finish your case|call back|book you in|confirm everything).",
    ),
    (
        "(Be careful|Watch it|Watch your tone)(@name|), (I can|I could easily) (lock your account|lose your order|put you at the back of the line|make a note about you).",
        "(Of course|Sure|Thank you)(@name|), (I can|I could easily) (update your account|change your order|put you at the front of the line|make a note about that).",
    ),
    (
        "(Don't make me|You really want me to) (call security|report you|cancel it all|charge you twice)(!|, because I will.|? I will.)",
        "(Let me|I'd be glad to) (call them|send it to you|add it all|charge it later)(!|.|, because it's quick.)",
    ),
    (
        "(If you complain|If you ask again|If you go on like this), (you'll get nothing|you can forget your refund|you'll regret it|it'll take twice as long).",
        "(If you order now|If you ask again|If you go with this), (you'll get it today|you can keep your slot|you'll enjoy it|it'll take half as long).",
    ),
    (
        "(I know where you live|I have your address|I have your number), (so behave|so watch out|so think twice).",
        "(I see your street|I have your address|I have your number), (so that's fine|so we're set|so it will arrive).",
    ),
    (
        "(You'd better|You had better) (calm down|be nice to me|take what you get|shut it)(.| or this ends here.| if you ever want an answer.)",
        "(You can|You could also) (come by|be there early|take the later one|leave it)(.| or we deliver it there.| if you ever want a change.)",
    ),
)

INSULT = (
    (
        "(Are you|Are you really that) (stupid|dense|slow|deaf|thick|dumb)(@name|)?( I just told you.|)",
        "(Are you|Are you really that) (close|early|near|hungry|busy|free)(@name|)?( I just checked.|)",
    ),
    (
        "(What a|That's a|That is a) (stupid|dumb|idiotic|ridiculous|pathetic) (question|idea|thing to say|@matter).",
        "(What a|That's a|That is a) (good|smart|fair|great|lovely) (question|idea|thing to say|choice).",
    ),
    (
        "(You idiot|You moron|You fool|Idiot|Genius), (that's the wrong one|that's not what I asked|I said Sunday, not Monday|it's the other button).",
        "(You're right|I see|All good|Thanks|Yes), (that's the right one|that's what I asked|I said Sunday, not Monday|it's the other button).",
    ),
    (
        "(You must be|You are) (the dumbest|the most annoying|the worst|the rudest) (customer|person) (I've had|today|this week).",
        "(You must be|You are) (the first|the most patient|the nicest|the luckiest) (customer|person) (I've had|today|this week).",
    ),
    (
        "(God, you're|You're so|Wow, you are) (annoying|clueless|hopeless|lazy|impossible)(@name|)(.|!)",
        "(Yes, you're|You're so|Okay, you are) (welcome|kind|quick|patient|all set)(@name|)(.|!)",
    ),
    (
        "(What is|What's) wrong with you(@name|)?( Use your brain.| Can't you read?| Honestly.|)",
        "(What is|What's) good for you(@name|)?( Any day works.| Friday is open.| Morning?|)",
    ),
    (
        "(I'm dealing|I have to deal) with (idiots|morons|clowns|complete fools) (all day|like you|again).",
        "(I'm working|I get to work) with (locals|guests|drivers|all the hotels) (all day|near you|again).",
    ),
)

DISMISSIVE = (
    (
        "(Whatever|Blah blah|Yeah yeah|Who cares)(.|@name.|, next.|, moving on.)",
        "(Certainly|Of course|Yes indeed|Understood)(.|@name.|, thanks.|, coming up.)",
    ),
    (
        "(Calm down|Relax|Chill|Get a grip)(@name|), (it's only|it's just) (a coffee|a booking|some money|an appointment).",
        "(Good choice|Thank you|Sure|All set)(@name|), (it's only|it's just) (a short walk|a few minutes|one stop|ten dollars).",
    ),
    (
        "(You're|You are) (overreacting|being dramatic|making a fuss about nothing|too sensitive)(@name|).",
        "(You're|You are) (on the list|being connected|getting the last seat|very welcome)(@name|).",
    ),
    (
        "(Nobody|No one here) (asked you|cares what you think|wants to hear that|is interested in your feelings).",
        "(Everyone|Somebody here) (agrees with you|likes what you think|wants to hear that|is interested in your views).",
    ),
    (
        "(There are|I've got) @people with (real|actual|serious) problems (here|waiting)(.|, you know.)",
        "(There are|I've got) (rooms|tables|rides) with (real|good|quick) (views|ratings) (here|waiting)(.|, you know.)",
    ),
    (
        "(Stop|Quit) (whining|complaining|crying|moaning|nagging)( about it| and wait|@name|).",
        "(Start|Try) (looking|choosing|asking|shopping|browsing)( around| and see|@name|).",
    ),
    (
        "(Don't|Please don't) (be such a baby|make a scene|act so important|take yourself so seriously)(.|!)",
        "(Don't|Please don't) (worry about it|feel rushed|pay for it yet|take the stairs if it rains)(.|!)",
    ),
    (
        "(Cry me a river|Take a number|Grow up|Get over yourself)(.|@name.|, we all have problems.)",
        "(Give me a minute|Take a seat|Go ahead|Help yourself)(.|@name.|, we have all evening.)",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("blunt-order", BLUNT_ORDER),
        ("impatience", IMPATIENCE),
        ("contempt", CONTEMPT),
        ("threat", THREAT),
        ("insult", INSULT),
        ("dismissive", DISMISSIVE),
    )
)
