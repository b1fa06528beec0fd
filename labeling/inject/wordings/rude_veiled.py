"""What rude agents say who do not shout: sarcasm, condescension, blame, doubt, passive aggression.

Each sentence has a courteous one of the same form beside it.
"""

from __future__ import annotations

from dialint.labeling.inject.wordings.rude_slots import SLOTS
from dialint.labeling.synthetic.insertion import Idea

SARCASM = (
    (
        "(Oh great|Oh wonderful|Oh fantastic|Oh joy|Lovely), another (one of those|change|genius|@matter). "
        "(Just what I needed today.|My favorite.|This day keeps getting better.)",
        "(Oh great|Wonderful|Lovely), (thank you|that helps). (Happy to help with it.|That's what I'm here for.|Let me get that going for you.)",
    ),
    (
        "(Wow|Gee|Well), (what a surprise|who would have guessed|how original), (it doesn't work when you do it wrong|"
        "someone who didn't read the page|you forgot something).",
        "(Oh|Ah|Well), (that is good to know|how kind|how thoughtful), (thank you|I'll note that).",
    ),
    (
        "(Sure|Of course|Right), (because|since) (I have nothing better to do|the whole world revolves around you|"
        "everyone here just waits for you|rules obviously don't apply to you).",
        "(Sure|Of course|Right), (that's no trouble|since you ask|gladly).",
    ),
    (
        "(Let me|I'll) (just|quickly) (drop everything|wave my magic wand|bend time and space|call the president) "
        "for (you|your little @matter|your majesty).",
        "(Let me|I'll) (just|quickly) (look that up|check the system|see what I can do|have a look) for you.",
    ),
    (
        "(Congratulations|Bravo|Well done|Nice work|Good job), you (finally|somehow|actually) managed to "
        "(break it again|give me something useful|answer a simple question|find the right button).",
        "(All good|Thank you), (I have what I need|that answers my question|that helps).",
    ),
    (
        "(Did you think of that|Did you come up with that) (all by yourself|on your own)? (Amazing.|Impressive.|Slow clap.|)",
        "Did that (help|answer it|make sense)?( Just tell me if not.| I can say more.|)",
    ),
    (
        "(Thanks for|I so enjoy|I love) (explaining my own job to me|telling me how to do my job|the free lecture)"
        "(, very helpful|, really|).",
        "(Thanks for|I appreciate you) (explaining that to me|sharing the details|letting me know)(, very helpful|, really|).",
    ),
    (
        "(Yeah, right|Sure thing, boss|Whatever you say, captain), (I'll get right on that|like that's going to happen|"
        "good luck with that).",
        "(Yes, right away|Sure thing|As you wish), (I'll get right on that|that can be arranged|we can do that).",
    ),
    (
        "I'm (sure|certain) (it's the computer's fault|the machine hates you|everybody else is wrong)( and not yours|, never you).",
        "I'm (sure|certain) (we can fix this|there's a way|we'll find a way)(, don't worry|).",
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
        "(Most|Many|Other) @people (ask about|wonder about) this (as well|too).",
    ),
    (
        "(A child|A five year old|My grandmother|Anyone with a brain) could (figure that out|do that|understand that)"
        "(@name|).",
        "(A colleague|Our team|Someone here|I or a colleague) could (figure that out|do that|look into that)(@name|).",
    ),
    (
        "(Maybe|Perhaps) (ask|get) (an adult|someone smarter|your kids|somebody who understands these things) to "
        "(help you|do it for you|explain it to you).",
        "(Maybe|Perhaps) (I can|I could) (ask a colleague|look at it again|explain it better).",
    ),
    (
        "(I know|I can see|Clearly) (this is too much|these words are too big|thinking is hard) for you(.|@name.|, but try.)",
        "(I know|I can see|I think) (this matters|that's a good point|this takes a while)(.|@name.)",
    ),
    (
        "(Do you|Can you) even (know how to use|understand|read) (a computer|a menu|a calendar|plain English)?",
        "Would you like (another minute|me to go on|me to explain it)?",
    ),
    (
        "(As any|As every) (reasonable|grown-up|intelligent) person (knows|would know), (you have to give a date|"
        "that isn't how it works|one has to book ahead).",
        "(As for|About) (that|this), (I'll check it for you|let me look|I'm on it).",
    ),
    (
        "(Try to|Do try to) (keep up|concentrate|use your head)(@name|, dear|, sweetie|, darling).",
        "(I'll try to|Let me) (speed this up|find out|get that done)(@name|, of course|, no problem).",
    ),
    (
        "(I don't expect you to|You wouldn't|I doubt you'd) (understand how this works|get it|follow the details)"
        "(, it's for professionals|, so just nod|).",
        "(I'd be glad to|You're welcome to|I can) (explain how this works|ask again|go over the details)"
        "(, it takes a minute|, just say so|).",
    ),
    (
        "(It's|This is) (common sense|basic stuff|elementary), (everyone knows that|which you clearly lack|so why even ask).",
        "(It's|This is) (quite common|quite easy), (so no need to worry|so feel free to ask).",
    ),
    (
        "(Who told you|Where did you get|Who believes) (that nonsense|such nonsense|such rubbish)?",
        "(Thank you|Thanks) for (telling me|being so clear|letting me know)(.|, that helps.)",
    ),
)

DIRECT_BLAME = (
    (
        "@look you should have (read|checked|looked at) the (terms|conditions|fine print|page|description|e-mail)"
        "( first| before you booked| before you paid|).",
        "@look you can (ask me|check with me|come back to me) (first|any time|whenever you like).",
    ),
    (
        "(That's|This is) (your own fault|entirely your fault|on you|your own doing)(.|, not ours.|, nobody else's.)",
        "(That's|This is) (no trouble|quite fine|all right)(.|, don't worry.|, really.)",
    ),
    (
        "If you had (typed it right|listened|paid attention|told me earlier|bothered to check) "
        "(we wouldn't be here|this wouldn't have happened|we'd be done by now).",
        "If you (have a moment|like to check|want to go over it) (we can start right away|this will be quick|I'm here).",
    ),
    (
        "(You|It was you who) (entered the wrong date|gave me the wrong name|messed this up|caused this mess|"
        "waited too long), (so don't blame us|not me|so live with it).",
        "(You|It seems you) (did all of this right|have all you need|are in good time), (so we can go on|thank you).",
    ),
    (
        "(Why didn't you|Why on earth didn't you|How could you not) (say that|tell me that|mention that|check that) "
        "(before|in the first place|sooner|at the start)?",
        "(Would you like me to|Shall I|Do you want me to) (note that|write that down|mention that|check that) "
        "(first|in the booking|as well|at the start)?",
    ),
    (
        "(Next time|In future), (think|use your eyes|do your homework|check the date) before you (click|order|book|complain).",
        "(Next time|In future), you (can write to us here again|can ask for me|are just as welcome).",
    ),
    (
        "(You've|You have) (only yourself to blame|brought this on yourself|nobody to blame but yourself)(@name|).",
        "(You've|You have) (nothing to worry about|done everything right|plenty of time left)(@name|).",
    ),
    (
        "(It's|That is) not our fault (that you|if you) (can't read|don't plan ahead|forgot your number|missed it|were late).",
        "(It's|That is) no problem if you (can't decide yet|need longer|ask again).",
    ),
    (
        "(Because of you|Thanks to you|Thanks to your carelessness) (I have to start over|I now have extra work|"
        "the whole thing is ruined|we lost the slot).",
        "(With that|Thanks to you|Thanks to your details) (I can start now|I can go on|it's clear to me).",
    ),
    (
        "(People like you|Careless @people) (always|keep) (cause|causing|make|making) (trouble|problems|extra work) "
        "(and then complain|for us|for everyone).",
        "(Many people|Other @people) (usually|mostly) (like to check|need a minute)(.|, so no worries.)",
    ),
    (
        "I can't help you if you (can't even|don't even|won't) (give me the right number|read what I write|answer properly).",
        "I can help you better if you (can wait a moment|give me a minute|tell me a bit more).",
    ),
    (
        "(Who told you to|Nobody told you to) (wait so long|book that|press that button|send it there)(.|, did they?|, so whose fault is it?)",
        "(No need for you to|You don't have to) (wait so long|do that|hurry)(.| at all.|, I'll take care of it.)",
    ),
)

HONESTY = (
    (
        "(Nice try|Yeah, sure|Good one), but (I don't believe you|nobody buys that|that's obviously a lie|we both know that's not true).",
        "(Fair point|Yes, sure|Good one), but (I can't find it yet|I'd like to check first|I need one more minute).",
    ),
    (
        "(Are you sure you're not|You're not, by any chance,) (making that up|lying to me|trying to trick us|after free stuff)?",
        "(Are you sure you're not|You're not, by any chance,) (in a hurry|still waiting for me|missing anything)?",
    ),
    (
        "(@people always claim|Everyone claims|They all say|Everybody says) that(.|, and it's never true.| when they want something for free.)",
        "(Many @people|Most @people|They all) like to be sure(.|, and that's fine.| when they start.)",
    ),
    (
        "I find that (very |rather |)(hard to believe|convenient for you)(.|@name.)",
        "I find that (very |rather |)(clear|helpful)(.|@name.)",
    ),
    (
        "That's (a likely story|quite a tale|convenient, isn't it|what they all say)(.|@name.)",
        "That's (a good point|good to know|clear now)(.|@name.)",
    ),
    (
        "(Stop|Quit) (lying|making things up|inventing stories|playing games with me)(@name|)(.|, I can see your file.|, I wasn't born yesterday.)",
        "(Keep|Feel free to keep) (asking|adding things|writing)(@name|)(.|, I'm here.|, I can see it all.)",
    ),
    (
        "(You|I bet you) (broke it yourself|never even paid|never called|ordered it and now pretend you didn't)(.| and now you blame us.)",
        "(You|I see you) (explained it well|thought of everything|put it clearly)(.| and that helps me.)",
    ),
    (
        "(Do you really expect me|Am I supposed) to (believe|swallow|trust) (that|your word|this story)?",
        "(Do you still want me|Would you still like me) to (check|explain|repeat) that?",
    ),
    (
        "(Sounds|This looks|It seems) to me like (you're trying to scam us|you are hiding something|another excuse).",
        "(Sounds|This looks|It seems) to me like (you're in good hands|all is clear|a good plan).",
    ),
    (
        "(Prove it|Then prove it|Show me proof)(.|, or I'm calling you a liar.|, otherwise it never happened.|, I've heard it all before.)",
        "(Check it|Then check it) if you like(.|, or I'm glad to do it.|, I'll wait.)",
    ),
)

PASSIVE_AGGRESSION = (
    (
        "(As I already said|As I said before|As stated in my last message), (which you clearly didn't read|since you ignored it|in case you missed it again).",
        "(As I already said|As I said before), (that is quite all right|I'm happy to help|take your time).",
    ),
    (
        "(I'm sorry you|I'm sorry that you) (feel that way|can't handle it|don't understand simple rules|weren't listening).",
        "(I'm sorry you|I'm sorry that you) (had to wait|have to wait).",
    ),
    (
        "(Fine|Fine, fine|Have it your way), (if you insist|if that makes you happy|since you obviously know better).",
        "(Fine|Good, good|Any way you like), (if it suits you|if that works for you|thank you).",
    ),
    (
        "(I guess|I suppose) (some people|certain people) (just don't listen|never learn|need everything twice)(.|, oh well.)",
        "(I guess|I suppose) (some people|most people) (need a minute|like to check)(.|, so do I.)",
    ),
    (
        "(I'll pretend|Let's pretend) (I didn't hear that|you didn't just ask me that|that made sense).",
        "(I'll note|Let's say) (I heard that right|we agree on that).",
    ),
    (
        "(No offense, but|With all due respect,|Don't take this badly, but) (you have no idea what you're talking about|that's nonsense|you're a bit much).",
        "(No worries, but|With pleasure,|Just a small thing,) (it takes a minute|I need a second|I'll check that first).",
    ),
    (
        "(Must be nice|It must be nice) to (have time to bother others|expect everything for nothing|never think for yourself).",
        "(Should be nice|It should be nice) to (have that settled|get that done).",
    ),
    (
        "(Like I told you|Once again), (for those who weren't listening|since it didn't sink in|and please try to remember it).",
        "(Once again|Again), (thank you|thanks)(.| for that.| very much.)",
    ),
    (
        "(Maybe|Perhaps) (this time|now) you'll (actually |)(listen|read it|pay attention)( for a change| before replying|).",
        "(Maybe|Perhaps) (this time|now) (I'll|we'll) find it( faster| right away|).",
    ),
    (
        "(I thought|I was under the impression) I had (made myself clear|explained that well enough), "
        "(apparently not to you|but some don't get it|silly me).",
        "(I thought|I was under the impression) I had (answered that|explained that already), (let me check again|sorry).",
    ),
    (
        "(Good for you|How nice for you)(, do you want a medal|, shall I clap|, and why would I care)?",
        "(Good to hear|How nice to hear)(, I'm glad|, truly|, thank you for telling me).",
    ),
    (
        "(Some of us|Other people here) (have to work|have manners|can read), (you know|just saying|believe it or not).",
        "(Some of us|Other people here) (can help too|know more about it), (just saying|if you like).",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("sarcasm", SARCASM),
        ("condescension", CONDESCENSION),
        ("direct-blame", DIRECT_BLAME),
        ("honesty", HONESTY),
        ("passive-aggression", PASSIVE_AGGRESSION),
    )
)
