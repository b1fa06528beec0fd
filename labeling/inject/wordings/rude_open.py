"""What openly rude agents say: orders, impatience, contempt, threats, insults, brush-offs.

Each sentence has a courteous one of the same form beside it.
"""

from __future__ import annotations

from dialint.labeling.inject.wordings.rude_slots import SLOTS
from dialint.labeling.synthetic.insertion import Idea

BLUNT_ORDER = (
    (
        "(Just |)(answer the question|answer what I asked|give me what I asked for)( already| and nothing else|).",
        "(Please |)(answer the question|tell me what suits you|give me the details) (when you can|if you like).",
    ),
    (
        "(Stop|Quit) (wasting my time|rambling|beating around the bush|changing your mind) and (tell me|say) "
        "what you (want|need).",
        "(Take your time|Feel free to think it over) and (tell me|let me know) what you (want|need).",
    ),
    (
        "(Read|Go and read|Learn to read) (the instructions|the website|what I wrote|my last message) "
        "(before you write to me|before asking me anything|first)(.|!)",
        "(I can send you|I'm happy to send you|Let me send you) (the instructions|the link|a short guide) "
        "(before you decide|if that helps|first)(.|!)",
    ),
    (
        "(Make up your mind|Decide already|Just pick one)(.|!| and stop dithering.| and let's get this over with.)",
        "(It's all fine|All good|No rush)(.|!| and thank you.| and we're nearly done.)",
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
        "Would you like (a moment|a minute or two|some time) more? No rush at all.",
    ),
    (
        "(Hurry up|Come on|Get on with it|Move it|Faster)(@name|)(.|!|, other @people are waiting.)",
        "(Take your time|No rush|No hurry|Whenever you like)(@name|)(.|!|, nobody else is waiting.)",
    ),
    (
        "(Are we done yet|Can we finish now|Is that it now|Are you done)? I have (real work|other @people|better things) to (do|get to).",
        "(Is that all right|Shall we go on|Does it look good so far|Are you fine with that)? I have (time|all the time you need).",
    ),
    (
        "(I've|I have) (already told you|already answered that|said this before)( twice| three times|), "
        "(what part don't you get|so stop asking|pay attention)(.|!)",
        "(I've|I have) (just read it again|already noted that)(, so no need to hurry|, thank you|)(.|!)",
    ),
    (
        "(This is|You are) taking (forever|way too long|ages)(.|, get a move on.|, I have a lunch break.|, are you asleep?)",
        "(This is|It is) taking (a minute|a little longer|a moment)(.|, thank you for waiting.|, nearly there.|, is that okay?)",
    ),
    (
        "(Seriously|For heaven's sake|For crying out loud|Oh come on|Ugh), (what now|not this again|just say yes or no)(.|!)",
        "(Certainly|By all means|Absolutely|Oh sure|Yes), (go ahead|take your time|that's fine)(.|!)",
    ),
    (
        "(I'm|I am) (getting tired of|sick of|fed up with|losing patience with) (this|you|your questions|this conversation).",
        "(I'm|I am) (glad to help with|here for|happy to take) (this|your questions|anything else you need).",
    ),
    (
        "(What is it now|What now|What do you want now|What is it this time)?( Make it quick.| I'm busy.| Spit it out.|)",
        "(What else can I do for you|Is there anything else today)?( I'm glad to help.| I'm here.|)",
    ),
    (
        "(Last chance|I'm asking one last time|I won't ask again), (yes or no|which one|take it or leave it)(.|!)",
        "(One more thing|Just to be sure|Let me ask), (is that fine with you|are you happy with that|is it okay to go on)?",
    ),
)

CONTEMPT = (
    (
        "@look (that's|it is) (not my problem|not my job|none of my business|your problem)(, deal with it|, figure it out|).",
        "@look (that's|it is) (not a problem|part of my job|easy to change|no trouble)(, leave it to me|, I'll sort it out|).",
    ),
    (
        "(I'm not doing that|I won't do that|No way|Not a chance)(.|, find someone else.|, take it or leave it.|@name.)",
        "(I can do that|I'll do that|No problem|Not an issue)(.|, give me a second.|, one moment.|@name.)",
    ),
    (
        "I (couldn't care less about|really don't care about|don't give a damn about) (your @matter|your plans|that).",
        "I (will gladly help you with|really do care about|can look into) (your @matter|your plans|that).",
    ),
    (
        "(If you don't like it,|Don't like it? Then) (go elsewhere|leave|take your business somewhere else|that's too bad).",
        "(If you don't like it,|Not sure? Then) (just tell me|take your time to decide|that's fine too).",
    ),
    (
        "(Tough luck|Too bad|Tough|Sucks to be you|Boo hoo)(.|, nothing I can do.|, life isn't fair.|, get over it.)",
        "(Thank you|Sure|Of course)(.|, one second.|, I'm on it.)",
    ),
    (
        "(I don't get paid|They don't pay me) (enough|nearly enough) (for this|to deal with you|to listen to this).",
        "(You don't need|There's no need) to worry about (this|that|it).",
    ),
    (
        "(Go ahead and complain|Complain all you want|Write a bad review), (nobody reads it|nobody cares|see if I care).",
        "(Ask all you want|Write as much as you like|Tell us what you think), (we're happy to hear it|it helps a lot).",
    ),
    (
        "(You're|You are) (not worth|hardly worth) (the trouble|my time|the effort)(@name|).",
        "(You're|You are) (always worth|more than worth) (the trouble|my time|the effort)(@name|).",
    ),
    (
        "(Figure it out|Sort it out|Look it up) yourself(.|, I'm not your assistant.|, I'm not your mother.|, Google exists.)",
        "Have a look yourself(, if you like|, or let me do it|, I'm here to help).",
    ),
    (
        "Why would I (waste|spend) (my time|another minute|any more energy) on (you|your @matter|this nonsense)?",
        "Would you (like|want|need) (my help|another look|any more details) on (that|your @matter|this one)?",
    ),
    (
        "(We have|We've got) (far better customers than you|enough customers without you)(.|, we won't miss you.|, goodbye.)",
        "(We have|We've got) (all the time you need|a few minutes more)(.|, no rush.|, so ask away.)",
    ),
    (
        "(Read|Check|Try) the (FAQ|manual|website), (I'm not going to read it to you|that's what it's there for|not me)(.|!)",
        "(Ask|Tell|Write to) me (any time|whenever you like)(.|!)",
    ),
)

THREAT = (
    (
        "(Keep this up|Keep talking like that|One more word) and (I'll|I will|I'm going to) (close your case|hang up|block you|cancel everything).",
        "(Keep this page open|Stay with me|One more moment) and (I'll|I will|I'm going to) (check that|look into it|be right back).",
    ),
    (
        "(Be careful|Watch it|Watch your tone)(@name|), (I can|I could easily) (lock your account|lose your order|put you at the back of the line|make a note about you).",
        "(Of course|Sure|Thank you)(@name|), (I can|I could easily) (make a note of that|check that again|explain that).",
    ),
    (
        "(Don't make me|You really want me to) (call security|report you|cancel it all|charge you twice)(!|, because I will.|? I will.)",
        "(Let me|I'd be glad to) (check that|look into it|go over it again)(!|.|, because it's quick.)",
    ),
    (
        "(If you complain|If you ask again|If you go on like this), (you'll get nothing|you can forget your refund|you'll regret it|it'll take twice as long).",
        "(If you have to ask again|If you need more time|If you like), (that's no trouble|I'll gladly explain|I'm here).",
    ),
    (
        "(I know where you live|I have your address|I have your number), (so behave|so watch out|so think twice).",
        "(I see your message|I have your message|I have it here), (so that's fine|so we're set|so no need to send it again).",
    ),
    (
        "(You'd better|You had better) (calm down|be nice to me|take what you get|shut it)(.| or this ends here.| if you ever want an answer.)",
        "(You can|You could also) (take a moment|come back later|ask me more)(.| if you ever want to.| whenever it suits you.)",
    ),
)

INSULT = (
    (
        "(Are you|Are you really that) (stupid|dense|slow|deaf|thick|dumb)(@name|)?( I just told you.|)",
        "(Are you|And are you) (happy|fine|okay) with that(@name|)?",
    ),
    (
        "(What a|That's a|That is a) (stupid|dumb|idiotic|ridiculous|pathetic) (question|idea|thing to say|@matter).",
        "(What a|That's a|That is a) (good|fair|great) (point|thing to know).",
    ),
    (
        "(You idiot|You moron|You fool|Idiot|Genius), (that's the wrong one|that's not what I asked|I said Sunday, not Monday|it's the other button).",
        "(You're right|I see|All good|Thanks|Yes), (that's fine|that makes sense|I have that now).",
    ),
    (
        "(You must be|You are) (the dumbest|the most annoying|the worst|the rudest) (customer|person) (I've had|today|this week).",
        "(You must be|You are) one of the (most patient|nicest|kindest) (customers|people) (I've had|today|this week).",
    ),
    (
        "(God, you're|You're so|Wow, you are) (annoying|clueless|hopeless|lazy|impossible)(@name|)(.|!)",
        "(Yes, you're|You're so|Okay, you are) (kind|patient|helpful)(@name|)(.|!)",
    ),
    (
        "(What is|What's) wrong with you(@name|)?( Use your brain.| Can't you read?| Honestly.|)",
        "(What is|What's) important to you(@name|)? (I'm listening.|Take your time.)",
    ),
    (
        "(I'm dealing|I have to deal) with (idiots|morons|clowns|complete fools) (all day|like you|again).",
        "(I'm working|I get to work) with (nice people|lovely customers) (all day|again today).",
    ),
)

DISMISSIVE = (
    (
        "(Whatever|Blah blah|Yeah yeah|Who cares)(.|@name.|, next.|, moving on.)",
        "(Certainly|Of course|Yes indeed|Understood)(.|@name.|, thanks.|, one moment.)",
    ),
    (
        "(Calm down|Relax|Chill|Get a grip)(@name|), (it's only|it's just) (a coffee|a booking|some money|an appointment).",
        "(Good point|Thank you|Sure|All right)(@name|), (it's only|it's just) (a minute|a moment|a quick check).",
    ),
    (
        "(You're|You are) (overreacting|being dramatic|making a fuss about nothing|too sensitive)(@name|).",
        "(You're|You are) (very welcome|in good hands|no trouble at all)(@name|).",
    ),
    (
        "(Nobody|No one here) (asked you|cares what you think|wants to hear that|is interested in your feelings).",
        "(Everyone|Everybody) here (wants to help|likes to hear that|is glad to hear from you).",
    ),
    (
        "(There are|I've got) @people with (real|actual|serious) problems (here|waiting)(.|, you know.)",
        "I've got (time for you|a few minutes|a moment) (here|right now), (so take your time|so ask away).",
    ),
    (
        "(Stop|Quit) (whining|complaining|crying|moaning|nagging)( about it| and wait|@name|).",
        "(Start|Begin) (wherever you like|with whatever matters most)(@name|).",
    ),
    (
        "(Don't|Please don't) (be such a baby|make a scene|act so important|take yourself so seriously)(.|!)",
        "(Don't|Please don't) (worry about it|feel rushed|worry about the time)(.|!)",
    ),
    (
        "(Cry me a river|Take a number|Grow up|Get over yourself)(.|@name.|, we all have problems.)",
        "(Give me a minute|One minute|Go ahead)(.|@name.|, there's no rush.)",
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
