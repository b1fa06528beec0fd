"""More ways in which agents close a talk, and what customers say just before: solved, not solved, not done yet.

A closing is no error in itself; whether it is one the history says.
"""

from __future__ import annotations

PLAIN = (
    "(Bye|Goodbye|Bye-bye|Ciao|Cheerio|Farewell|So long)(.|!| then.|, take care!| for now.)",
    "(Have a good one|Have a great one|Take it easy|Enjoy|Be well)(.|!|, bye.)",
    "(Thanks|Thank you) for (calling|writing|stopping by|the chat|your patience|being with us|choosing us today)(.|!|, bye.|, have a nice day!)",
    "(Lovely|Nice|Good|Great) (talking|chatting|speaking) (to|with) you(.|!|, bye now.|, take care.)",
    "(Until next time|See you|See you soon|Talk soon|Till next time)(.|!|, and thanks.)",
    "(Wishing you|I wish you) (a lovely evening|a pleasant stay|a great weekend|all the best|a safe trip)(.|!)",
    "(Right then|Well then|Okay then|Alright), (goodbye|bye|take care|all the best|cheers)(.|!)",
    "(Your team|Best regards|Kind regards|Yours, the team|Regards, your service team)(.|)",
    "It was (nice|lovely|a joy|an honour) to (help|serve|assist) you(.|!|, goodbye.)",
    "Enjoy (your evening|your weekend|your day|the rest of the day)(.|! Bye!|, and bye.)",
    "Happy (travels|holidays|shopping|cooking|weekend)(.|!)",
    "(Stay|Keep) (safe|warm|dry|healthy)(.|! Bye.|, goodbye.)",
    "(We look forward to|Looking forward to) (your next visit|seeing you again|hearing from you again|welcoming you)(.|!)",
    "(Good night|Sleep well|Good evening to you|A very good day to you)(.|!|, sir.)",
    "(My shift ends now|I have to run|I'm off now|Gotta go), (bye|take care|have a nice day)(.|!)",
    "(Greetings|Regards) to (the family|everyone), (bye|goodbye)!",
    "(Drive safely|Safe travels|Safe journey|Get home safe)(.|!| Goodbye.)",
    "thx and bye",
    "ok bye",
    "cu, have a nice day",
    "Bye and thank you for your loyalty.",
    "Over and out, have a nice day.",
    "Do come again.",
    "(You know where to find us|You know how to reach us), (bye|take care)(.|!)",
    "(Feel free to|You can always) (call|write|come back) (any time|tomorrow|if there's more)(.|, goodbye.|, take care!)",
    "(That's|That is) my (cue|time), (bye|goodbye|have a nice day)(.|!)",
    "Peace!",
    "God bless.",
    "(Cheers|Ta), bye.",
    "Much obliged, goodbye.",
)  # fmt: skip

SETTLED = (
    "(Glad|Happy|Pleased|Delighted) (that's sorted|we got that done|it all worked out|this is settled)(.|! Bye!|, have a good day.)",
    "(So|Well|Good), (that's everything|you're all set|we're all done|that takes care of it)(.|! Goodbye.|, enjoy your day!)",
    "(I'm marking this as solved|I'm setting this to done|I'm putting a tick on this one|I'll file this as finished)(.|, bye.|, thank you.)",
    "(Your matter|Your request|The case|Everything) is (settled|taken care of|complete|in order) (now|then)(.|, goodbye.|, have a nice day!)",
    "(Perfect|Wonderful|Excellent|Splendid), (we're finished|that's that|job done|all good)(.|! Take care.|, bye bye.)",
    "(I believe|I think|I trust|I take it) (that answers everything|you have all you need|that was all|you're happy now)(.|, so goodbye.|, have a lovely day.)",
    "(Nothing left to do|No more to do here|Nothing is open any more), (bye|enjoy your day|have a great week)(.|!)",
    "(As|Since|Now that) (everything is clear|it's all done|we've covered it), I'll (say goodbye|leave you to it|let you go)(.|!)",
    "(Problem solved|Case solved|All solved|Sorted|Done and dusted)(!|, bye.|, have a good one.)",
    "(Another happy customer|That was quick|That was easy|Smooth as silk)(!|, bye!|, thanks and goodbye.)",
    "I'm closing the ticket now, (take care|thanks for writing|all the best)(.|!)",
    "Ticket done on my side, (bye|cheers|have a nice day)(.|!)",
    "(I'll let you go|I'll leave you to your day|I won't keep you)(.|, bye.|, have fun!)",
    "(Great|Good) that we could (sort|clear|settle) (that|this) today(.|, see you.|, thank you!)",
    "And with that we're through(.|, goodbye.|, have a good evening.)",
    "You're (good to go|ready to go|all fixed up)(.|, bye!|, enjoy!)",
)  # fmt: skip
"""Closings that take the matter for settled."""

FILED = (
    "Your (case|ticket|reference|file) number is @number(. Goodbye.|, have a nice day.|, thanks for calling.)",
    "(For your records|For reference|For your notes), the number of this (chat|case|call) is @number(. Bye!|. Take care.)",
    "(Please keep|Keep|Note down) the (case|ticket) number @number(, thank you and bye.|. All the best.)",
    "I've (logged|filed|noted) (this|the call|your contact) under @number(, goodbye.|. Thanks for contacting us.)",
    "Case @number( is filed, bye.| has been recorded. Have a good day.|, thank you.)",
    "(Ref|Ref.|Reference) @number, (bye|take care|have a good one)(.|!)",
    "You will find (our talk|this chat|the whole conversation) under @number(. Goodbye.|, have a lovely day!)",
    "The transcript goes to your e-mail, number @number(. Bye.|, thanks!)",
)  # fmt: skip
"""Closings that hand out a number."""

UNSOLVED = (
    "(It|That|This) (still doesn't work|still isn't right|didn't help|doesn't change anything)(.|, the same as before.|, what else can I do?)",
    "(No|Hm|Sorry), (that's not what I asked|that isn't my question|that's a different one|that's not the one I meant)(.|, please look again.)",
    "(But|Yes, but) (I already did that|I tried that twice|that was the one that failed|that is the old one)(.|, so what now?|.)",
    "(I don't understand|I'm still not sure|I'm a bit lost), (what do I do now|which one is it|how does that help|can you explain it)?",
    "(And the rest|And the other one|What about the second part|And my other question)?",
    "(I did it, and|Done, but) (now it shows an error|nothing happens|it says try later|the page is blank)(.|, can you check?)",
    "(Not yet|No|Nope), (nothing has arrived|I don't see it|it isn't there|the light is still red)(.|.|!)",
    "(That doesn't suit me|That's too late for me|I can't take that one), (is there something else?|what are the other options?|please find another.)",
    "(Hm, are you sure|Is that certain|Really)? (My letter says otherwise.|The page says something else.|I was told the opposite.|Please double-check.)",
    "(Could you|Can you|Would you) (go through it again|look once more|please confirm that in writing|explain the last bit)?",
    "I need it (done|fixed|confirmed) today, (please|so please try|can you do it now|who can do that)?",
    "(I don't agree|I'm not happy with that|That can't be right), (please check it|I'd like that reviewed|have another look).",
    "(So who do I call|So where do I go|So what's the next step|And how do I get my money back) (then|now)?",
    "(It worked for a second and then stopped|Same error|It's back to the old one|Now the other one is gone).",
    "hm no, still broken",
    "doesnt work",
    "Still the same message here.",
    "That's only half of what I need.",
    "You've answered something else.",
    "Okay, but you haven't told me the price yet.",
    "And when do I get it?",
)  # fmt: skip
"""What customers say whose ask is still open."""

SOLVED = (
    "(It|That|This) (works now|is right now|helped|did the trick)(.|, better than before.|, nothing else I need.)",
    "(Yes|Ah|Great), (that's what I asked|that answers my question|that's the one|that's the one I meant)(.|, good find.)",
    "(Oh|Yes), (I see it now|it went through|that was the trick|that is the new one)(.|, so all good.|.)",
    "(I understand|I'm sure now|It's clear), (that's what I'll do|it's the first one|that helps a lot|you explained it well).",
    "(And that's all|That was the last one|That covers the second part too|That answers both)(.|!)",
    "(I did it, and|Done, and) (now it's green|it works|it says thank you|the page is back)(.|, no need to check.)",
    "(Yes|Yep|Just now), (it has arrived|I see it|it is there|the light is green)(.|!)",
    "(That suits me|That's a good time for me|I'll take that one), (I need nothing else|no other options needed|all settled).",
    "(Good, that's sure|That's certain then|Really good). (My letter says the same.|The page says so too.|That's all I wanted to hear.)",
    "(No need to|You don't have to) (go through it again|look any further|put it in writing|explain more), I have it.",
    "I needed it (done|fixed|confirmed) today, (and it is|and you did it|so I'm happy).",
    "(I agree|I'm happy with that|That's right), (no need to check|that settles it|all fine).",
    "(So I know who to call|So I know where to go|That's the next step, then|And the money is back) (then|now), perfect.",
    "(It works and it stays on|No more errors|It's back to normal|Now both are there).",
    "hm yes, works",
    "works now",
    "The message is gone here.",
    "That's all of what I need.",
    "You've answered it all.",
    "Okay, and the price is fine as well.",
    "And now I have it, good.",
)  # fmt: skip
"""The same where it is met."""

NOT_DONE = (
    "(One second|Hang on|Wait|Hold on), (I have another question|I'm still writing that down|there's one more thing|let me get my papers)(.|...)",
    "(Don't go yet|Please stay on|Stay with me), (I want to ask something else|I'm opening the page|my wife has a question)(.|!)",
    "(Okay, and|Fine, then) (next I wanted to ask about the other booking|there is something else|now to my second problem)(.|:)",
    "(Let me try it now|I'll test it while you're here|I'm trying it right now)(.|, one moment.|, please wait.)",
    "(Before you go|Before we finish), (I need something else|there's the matter of the bill|I have a second request)(.|...)",
    "wait there's more",
    "Just a minute, I'll get my card.",
    "I'm looking for the number, it's in the other room.",
)  # fmt: skip
"""Customers who are not done."""

ALL_DONE = (
    "(One second|Ah|Right|Okay), (no, I have no other question|I've written that down|there's nothing more|that was my last point)(.|, thanks.)",
    "(You can go|No need to stay on|No need to wait), (I have nothing else|the page is fine|my wife has her answer too)(.|!)",
    "(Okay, and|Fine, then) (that was all|there is nothing else|I have no second problem)(.|, thank you.)",
    "(I tried it now|I tested it while you were here|I've just tried it)(.|, and it works.|, it's good.)",
    "(Before you go|Before I go), (thank you|many thanks|thanks again)(.|, that was all.)",
    "no there's nothing more",
    "Thanks for waiting a minute, that is it, bye.",
    "I found the number, it was in the other room, so that's it.",
)  # fmt: skip
"""Customers who are."""

LEAVING = (
    "(Actually,|Oh,|Ah,) (never mind|forget it|don't bother), (I just found it|it's on your page|my friend knows|I'll look it up myself)(.|, bye!|, thanks.)",
    "(Sorry,|Oh,) (I have to go|my bus is here|there's someone at the door), (I'll write again tomorrow|I'll sort it out later|it isn't important)(.|, bye!)",
    "(No need any more|Leave it|It's fine), (I've decided against it|I'll ask at the desk|I changed my mind)(.|, goodbye.|, thank you.)",
    "I'll call you back (later|tomorrow|when I'm home), (bye|thanks)(.|!)",
    "Never mind, it answers itself. Bye!",
)  # fmt: skip
"""Customers who drop it themselves."""

PROMISE = (
    "I (need|have) to ask (the store|billing|my colleague|the driver) (first|about that). I'll (call you|write to you|e-mail you) (by noon tomorrow|before six today|on Monday morning), (is that all right|would that be okay)?",
    "(That takes a while|I can't see that from here|The office is closed now). You'll (have|get) my answer (by e-mail tonight|tomorrow before ten|on Friday at the latest), (okay|does that work for you)?",
    "Let me (pass this on to|take it up with) the (technical|claims|refund) team, they will (phone|contact) you within (24 hours|two days), (all right|is that fine)?",
    "(A technician|Somebody from the branch|My colleague Kim) will (come by|call you back) (tomorrow at nine|today at four|on Tuesday) about that, (shall we do it that way|does that suit you)?",
)  # fmt: skip

AGREED = (
    "(Yes|Sure|Okay|Fine|Alright), (that works|that's fine|tomorrow is fine|good enough|do that)(.|, thanks.|, thank you!)",
    "(Perfect|Great|Good), (I'll wait for that|talk to you then|that's all for now)(.|.|!)",
    "Okay, (thanks|thank you)(.|, that's all then.|, bye.)",
)  # fmt: skip
"""A follow-up with a name and a time, and the customer's consent."""

BYES = ("(Bye|Goodbye|You too|Same to you|Thanks, you too|Take care)(.|!)",)
