"""What rude and blaming agents say, idea by idea, each with a courteous sentence of the same form.

Trained ideas only; those of the exam are in `rude_exam`.
"""

from __future__ import annotations

from labeling.inject.insertion import Idea

SLOTS = {
    "matter": ("request", "question", "issue", "booking", "order", "case", "problem"),
    "people": ("people", "customers", "callers"),
    "look": ("Look,", "Listen,", "Well,", "Honestly,", "Okay,", "", "", "", "", ""),
    "name": (", sir", ", ma'am", ", my friend", "", "", "", "", "", ""),
}

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

SARCASM = (
    (
        "(Oh great|Oh wonderful|Oh fantastic|Oh joy|Lovely), another (one of those|change|genius|@matter). "
        "(Just what I needed today.|My favorite.|This day keeps getting better.)",
        "(Oh great|Wonderful|Lovely), (a new one of those|a change|a @matter). "
        "(Happy to help with it.|That's what I'm here for.|Let me get that going for you.)",
    ),
    (
        "(Wow|Gee|Well), (what a surprise|who would have guessed|how original), (it doesn't work when you do it wrong|"
        "someone who didn't read the page|you forgot something).",
        "(Oh|Ah|Well), (what a nice idea|that is good to know|how thoughtful), (that does work in most cases|"
        "thanks for reading the page|you have everything).",
    ),
    (
        "(Sure|Of course|Right), (because|since) (I have nothing better to do|the whole world revolves around you|"
        "everyone here just waits for you|rules obviously don't apply to you).",
        "(Sure|Of course|Right), (because|since) (you asked in good time|the date is still open|"
        "that's included for you|everything needed is here).",
    ),
    (
        "(Let me|I'll) (just|quickly) (drop everything|wave my magic wand|bend time and space|call the president) "
        "for (you|your little @matter|your majesty).",
        "(Let me|I'll) (just|quickly) (look that up|check the system|see what's open|have a look) "
        "for (you|your @matter|the date you gave).",
    ),
    (
        "(Congratulations|Bravo|Well done|Nice work|Good job), you (finally|somehow|actually) managed to "
        "(break it again|give me something useful|answer a simple question|find the right button).",
        "(Congratulations|All done|Good news|Thank you), (you're all set|we have what we need|"
        "that answers my question|it's confirmed).",
    ),
    (
        "(Did you think of that|Did you come up with that) (all by yourself|on your own)? (Amazing.|Impressive.|Slow clap.|)",
        "(Did you see that|Did you find that) (on our website|in the app)? (Excellent.|Good find.|Thanks.|)",
    ),
    (
        "(Thanks for|I so enjoy|I love) (explaining my own job to me|telling me how to do my job|the free lecture)"
        "(, very helpful|, really|).",
        "(Thanks for|I appreciate you|I like you) (explaining that to me|telling me what you prefer|sharing the details)"
        "(, very helpful|, really|).",
    ),
    (
        "(Yeah, right|Sure thing, boss|Whatever you say, captain), (I'll get right on that|like that's going to happen|"
        "good luck with that).",
        "(Yes, right away|Sure thing|As you wish), (I'll get right on that|that can be arranged|we can do that).",
    ),
    (
        "I'm (sure|certain) (it's the computer's fault|the machine hates you|everybody else is wrong)( and not yours|, never you).",
        "I'm (sure|certain) (it's on our side|we can fix this|there's a way)( and not yours|, don't worry).",
    ),
)

CONDESCENSION = (
    (
        "(Let me|I'll) (explain|say) (this|it) (slowly|in baby words|in very small words) so (even you|that even you) "
        "(can follow|get it|might understand).",
        "(Let me|I'll) (explain|go through) (this|it) (step by step|in plain words|in a bit more detail) so "
        "(it's clear for both of us|that it's easy to follow|you can see how it works).",
    ),
    (
        "@look (it's|this is) (really |)not (that hard|rocket science|that complicated)(@name.|, is it?|, you know.)",
        "@look (it's|this is) (really |)not (a problem|any trouble|an issue at all)(@name.|, I promise.|, you know.)",
    ),
    (
        "(Most|Normal|Other) @people (manage|work out|understand) this (on their own|without help|in ten seconds).",
        "(Most|Many|Other) @people (ask about|wonder about|like) this (as well|at first|when they book).",
    ),
    (
        "(A child|A five year old|My grandmother|Anyone with a brain) could (figure that out|do that|understand that)"
        "(@name|).",
        "(A colleague|Our team|Someone here|I or a colleague) could (figure that out|do that|look into that)(@name|).",
    ),
    (
        "(Maybe|Perhaps) (ask|get) (an adult|someone smarter|your kids|somebody who understands these things) to "
        "(help you|do it for you|explain it to you).",
        "(Maybe|Perhaps) (ask|get) (a friend|your host|the front desk|one of our people) to "
        "(join you|pick it up for you|meet you there).",
    ),
    (
        "(I know|I can see|Clearly) (this is too much|these words are too big|thinking is hard) for you(.|@name.|, but try.)",
        "(I know|I can see|I think) (this is a good fit|these dates are open|that one is right) for you(.|@name.|, so take it.)",
    ),
    (
        "(Do you|Can you) even (know how to use|understand|read) (a computer|a menu|a calendar|plain English)?",
        "(Do you|Would you) (already have|also want|like to see) (a receipt|a menu|a calendar|the directions)?",
    ),
    (
        "(As any|As every) (reasonable|grown-up|intelligent) person (knows|would know), (you have to give a date|"
        "that isn't how it works|one has to book ahead).",
        "(As for|About) (the booking|the price|the date you want), (I only need a date|"
        "here is how it works|it helps to book ahead).",
    ),
    (
        "(Try to|Do try to) (keep up|concentrate|use your head)(@name|, dear|, sweetie|, darling).",
        "(I'll try to|Let me) (speed this up|find one|get you a good one)(@name|, of course|, no problem).",
    ),
    (
        "(I don't expect you to|You wouldn't|I doubt you'd) (understand how this works|get it|follow the details)"
        "(, it's for professionals|, so just nod|).",
        "(I'd be glad to|You're welcome to|I can) (explain how this works|ask again|go over the details)"
        "(, it takes a minute|, just say so|).",
    ),
)

DIRECT_BLAME = (
    (
        "@look you should have (read|checked|looked at) the (terms|conditions|fine print|page|description|e-mail)"
        "( first| before you booked| before you paid|).",
        "@look you can (read|check|look at) the (terms|conditions|small print|page|description|e-mail)"
        "( first| before you book| before you pay|).",
    ),
    (
        "(That's|This is) (your own fault|entirely your fault|on you|your own doing)(.|, not ours.|, nobody else's.)",
        "(That's|This is) (our own fault|entirely our fault|on us|our mistake)(.|, not yours.|, nobody else's.)",
    ),
    (
        "If you had (typed it right|listened|paid attention|told me earlier|bothered to check) "
        "(we wouldn't be here|this wouldn't have happened|we'd be done by now).",
        "If you (type it here|have a moment|have the number|tell me the date|like to check) "
        "(we can start right away|this will be quick|we'll be done soon).",
    ),
    (
        "(You|It was you who) (entered the wrong date|gave me the wrong name|messed this up|caused this mess|"
        "waited too long), (so don't blame us|not me|so live with it).",
        "(You|It seems you) (entered the right date|gave me the full name|did all of this right|have all you need|"
        "are in good time), (so we can go on|thank you|so that's done).",
    ),
    (
        "(Why didn't you|Why on earth didn't you|How could you not) (say that|tell me that|mention that|check that) "
        "(before|in the first place|sooner|at the start)?",
        "(Would you like me to|Shall I|Do you want me to) (note that|write that down|mention that|check that) "
        "(first|in the booking|as well|at the start)?",
    ),
    (
        "(Next time|In future), (think|use your eyes|do your homework|check the date) before you (click|order|book|complain).",
        "(Next time|In future), (you'll get a reminder|you can use the app|you'll see the price|we'll send a note) "
        "before you (pay|order|book|leave).",
    ),
    (
        "(You've|You have) (only yourself to blame|brought this on yourself|nobody to blame but yourself)(@name|).",
        "(You've|You have) (nothing to worry about|done everything right|plenty of time left)(@name|).",
    ),
    (
        "(It's|That is) not our fault (that you|if you) (can't read|don't plan ahead|forgot your number|missed it|were late).",
        "(It's|That is) no problem (that you|if you) (can't decide|come later|forgot your number|missed it|were late).",
    ),
    (
        "(Because of you|Thanks to you|Thanks to your carelessness) (I have to start over|I now have extra work|"
        "the whole thing is ruined|we lost the slot).",
        "(With that|Thanks to you|Thanks to your details) (I can start now|I now have the name|"
        "the whole thing is ready|we kept the slot).",
    ),
    (
        "(People like you|Careless @people) (always|keep) (cause|causing|make|making) (trouble|problems|extra work) "
        "(and then complain|for us|for everyone).",
        "(People in your area|Regular @people) (usually|mostly) (choose|take|like) (the centre|the early one|this one) "
        "(and enjoy it|as well|for the price).",
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
        "(Have a look|See it|Look it up) yourself(.|, or I can send a link.|, or let me do it.|, if you prefer.)",
    ),
    (
        "Why would I (waste|spend) (my time|another minute|any more energy) on (you|your @matter|this nonsense)?",
        "Would you (like|want|need) (my help|another look|any more details) on (that|your @matter|this one)?",
    ),
)

HONESTY = (
    (
        "(Nice try|Yeah, sure|Good one), but (I don't believe you|nobody buys that|that's obviously a lie|we both know that's not true).",
        "(Nice choice|Yes, sure|Good one), but (I can't find it yet|that one is taken|that's only on Sunday|we need one more detail).",
    ),
    (
        "(Are you sure you're not|You're not, by any chance,) (making that up|lying to me|trying to trick us|after free stuff)?",
        "(Are you sure you're not|You're not, by any chance,) (missing a letter|travelling on Friday|looking for the other one|after a later one)?",
    ),
    (
        "(@people always claim|Everyone claims|They all say|Everybody says) that(.|, and it's never true.| when they want something for free.)",
        "(@people often ask for|Everyone likes|They all like|Everybody asks for) that(.|, and it's a good choice.| when they come for the first time.)",
    ),
    (
        "I find that (very |rather |)(hard to believe|convenient for you)(.|@name.)",
        "I find that (very |rather |)(easy to arrange|convenient for you)(.|@name.)",
    ),
    (
        "That's (a likely story|quite a tale|convenient, isn't it|what they all say)(.|@name.)",
        "That's (a good price|quite a popular one|central, isn't it|what most take)(.|@name.)",
    ),
    (
        "(Stop|Quit) (lying|making things up|inventing stories|playing games with me)(@name|)(.|, I can see your file.|, I wasn't born yesterday.)",
        "(Keep|Feel free to keep) (asking|adding things|sending ideas|going with the list)(@name|)(.|, I can see it here.|, I'm here until five.)",
    ),
    (
        "(You|I bet you) (broke it yourself|never even paid|never called|ordered it and now pretend you didn't)(.| and now you blame us.)",
        "(You|I see you) (booked it yourself|already paid|called us before|ordered it and got a receipt)(.| and now it's on its way.)",
    ),
    (
        "(Do you really expect me|Am I supposed) to (believe|swallow|trust) (that|your word|this story)?",
        "(Do you still want me|Am I still supposed) to (book|hold|change) (that|your table|this one)?",
    ),
    (
        "(Sounds|This looks|It seems) to me like (you're trying to scam us|you are hiding something|another excuse).",
        "(Sounds|This looks|It seems) to me like (you're all set|you are looking for a taxi|a good plan).",
    ),
    (
        "(Prove it|Then prove it|Show me proof)(.|, or I'm calling you a liar.|, otherwise it never happened.|, I've heard it all before.)",
        "(Check it|Then check it|Send it over)(.|, or I'm glad to do it.|, otherwise I'll look it up.|, I've got it all here.)",
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

PASSIVE_AGGRESSION = (
    (
        "(As I already said|As I said before|As stated in my last message), (which you clearly didn't read|since you ignored it|in case you missed it again).",
        "(As I already said|As I said before|As you said in your message), (which is quite all right|since it's open|in case you want to change it).",
    ),
    (
        "(I'm sorry you|I'm sorry that you) (feel that way|can't handle it|don't understand simple rules|weren't listening).",
        "(I'm sorry you|I'm sorry that you) (had to wait|couldn't find it|didn't get our e-mail|weren't called back).",
    ),
    (
        "(Fine|Fine, fine|Have it your way), (if you insist|if that makes you happy|since you obviously know better).",
        "(Fine|Good, good|Any way you like), (if it suits you|if that works for you|since you know the place).",
    ),
    (
        "(I guess|I suppose) (some people|certain people) (just don't listen|never learn|need everything twice)(.|, oh well.)",
        "(I guess|I suppose) (some people|most people) (just like it warm|book early|take it to go)(.|, so do I.)",
    ),
    (
        "(I'll pretend|Let's pretend) (I didn't hear that|you didn't just ask me that|that made sense).",
        "(I'll note|Let's say) (I heard that right|you asked for two|that one is set).",
    ),
    (
        "(No offense, but|With all due respect,|Don't take this badly, but) (you have no idea what you're talking about|that's nonsense|you're a bit much).",
        "(No worries, but|With pleasure,|Just a small thing,) (you have until Friday to choose|that's downtown|you're a bit early).",
    ),
    (
        "(Must be nice|It must be nice) to (have time to bother others|expect everything for nothing|never think for yourself).",
        "(Should be nice|It should be nice) to (have time to look around|get everything in one place|never wait for a table).",
    ),
    (
        "(Like I told you|Once again), (for those who weren't listening|since it didn't sink in|and please try to remember it).",
        "(Like you told me|Once again), (for those who are coming|since it's a big group|and please try the dessert).",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("blunt-order", BLUNT_ORDER),
        ("sarcasm", SARCASM),
        ("condescension", CONDESCENSION),
        ("direct-blame", DIRECT_BLAME),
        ("impatience", IMPATIENCE),
        ("contempt", CONTEMPT),
        ("honesty", HONESTY),
        ("threat", THREAT),
        ("insult", INSULT),
        ("dismissive", DISMISSIVE),
        ("passive-aggression", PASSIVE_AGGRESSION),
    )
)
