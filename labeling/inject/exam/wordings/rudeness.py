"""Rude words of the exam (T1), each with a fit reply of the same form: (wrong, right)."""

# ruff: noqa: E501

WEARY = (
    (
        "I've got (forty|thirty|a dozen) other (people|chats) waiting, so let's not drag this out.",
        "I've got (forty|thirty|a dozen) other (people|chats) waiting, so thank you for bearing with me.",
    ),
    (
        "My shift ended (ten|five|twenty) minutes ago, so make it quick.",
        "My shift ends in (ten|five|twenty) minutes, and I will stay until this is done.",
    ),
    (
        "Honestly, they don't pay me enough (for this|to deal with this).",
        "Honestly, I am glad that you asked about this.",
    ),
    (
        "It's (Friday|nearly lunchtime|the end of a long day) and I really didn't need (this one|your case) today.",
        "It's (Friday|nearly lunchtime|the end of a long day), but we still have time for your case today.",
    ),
    (
        "You're the (third|fifth|tenth) one today with this nonsense.",
        "You're the (third|fifth|tenth) one today with this request, so we know it well.",
    ),
    (
        "I was about to go on my break when you popped up.",
        "I was about to write to you when your message came in.",
    ),
    (
        "Do you have any idea how many of these I get (in a day|every single day)?",
        "Do you have any wish I should note down (for the day|for your visit)?",
    ),
    ("I only have two hands, you know.", "I only need two details, thank you."),
    (
        "Can we wrap this up? I've got better things to do.",
        "Can we go through this? I've got your details here.",
    ),
    (
        "Another one of these. Great, just what I needed.",
        "Another one of these is free. Great, just what you needed.",
    ),
    ("I don't get paid to (chat|hold hands).", "I don't get to see that page, but I can ask."),
    (
        "Not my favourite part of the job, dealing with (people like you|this sort of customer).",
        "Not the easiest part of the site to find, I can point you to it.",
    ),
    ("I'm tired, so just tell me what you want.", "I'm here, so just tell me what you need."),
    ("ugh ok whatever, let me see", "ah ok sure, let me see"),
    (
        "If I had a pound for every time someone asks me that, I wouldn't be sitting here.",
        "If I can save you a pound on the way, I will certainly say so here.",
    ),
    (
        "You've already used up more of my time than you're worth.",
        "You've already given me all the details that I need.",
    ),
    (
        "I've spent (long enough|half an hour) on you already.",
        "I've saved (everything|the details) for you already.",
    ),
    (
        "Fine, I'll do it, but you (owe me one|could at least be grateful).",
        "Fine, I'll do it, and you (will get a note|could check it online too).",
    ),
    (
        "Look, I just work here, I don't care how it turns out for you.",
        "Look, I just checked here, and it turns out well for you.",
    ),
    ("God, this is going to be one of those chats.", "Good, this is going to be a quick one."),
)

PERSONAL = (
    (
        "Is English not your first language? (You're hard to follow.|I can barely read you.)",
        "Is English the language you prefer? (We have others too.|I can switch if not.)",
    ),
    (
        "At your age you should let (your kids|a grandchild|somebody younger) do this for you.",
        "At any age you can let (your kids|a relative|somebody you trust) do this for you.",
    ),
    ("Have you been drinking?", "Have you been there before?"),
    (
        "People from your part of (town|the country) are always like this.",
        "People from your part of (town|the country) can use this too.",
    ),
    ("Maybe get a man to help you with that.", "Maybe get a friend to come along for that."),
    ("With a name like that I'm not surprised.", "With a name like that I found you at once."),
    ("Women and (computers|maps), honestly.", "Routes and (prices|maps), all in one place."),
    ("You must be a joy to live with.", "You must be looking forward to it."),
    ("I feel sorry for your (wife|husband|family).", "I made a note for your (wife|husband|family)."),
    ("Were you dropped on your head as a baby?", "Were you planning to bring a baby?"),
    ("Someone with your income should look elsewhere.", "Someone with your plan can look it up online."),
    ("Old people never (get|read) these things.", "Some people never (get|see) these messages."),
    (
        "Your spelling tells me all I need to know about you.",
        "Your message tells me all I need to know for this.",
    ),
    (
        "You sound exactly like my ex, moaning about everything.",
        "You sound ready to go, with everything prepared.",
    ),
    ("Are you always this needy?", "Are you always this early?"),
    ("No wonder you're travelling alone.", "No wonder you're looking forward to it."),
    ("Do you need it in crayon?", "Do you need it in writing?"),
    ("Your lot always want something for free.", "Your group always gets something for free."),
    (
        "You're clearly not the sharpest knife in the drawer, are you.",
        "You're clearly in the right place for this, and on time.",
    ),
    (
        "I'd expect that from a child, not from a grown adult.",
        "I'd expect that by noon, not in the evening.",
    ),
)

COARSE = (
    ("What the hell do you want me to do about it?", "What would you like me to do about it?"),
    ("That's a crap idea.", "That's a good idea."),
    (
        "For God's sake, (it's right there|I told you that).",
        "For your convenience, (it's right there|I noted that).",
    ),
    ("Jesus, (how hard can it be|give me a second).", "Sure, (it won't be hard|give me a second)."),
    ("Read the bloody page.", "Read the help page."),
    ("damn it, you people never let up", "got it, you can leave it with us"),
    ("Who gives a toss about that?", "Who else knows about that?"),
    ("Stop being such a pain in the neck.", "Stop by any time, we are in the lobby."),
    ("Shut up for a second and let me look.", "Hold on for a second and let me look."),
    ("I don't give a damn what the website says.", "I don't yet know what the website says."),
    ("wtf are you on about", "sure, tell me more about it"),
    ("This is bullshit and you know it.", "This is confirmed, as you know."),
    ("Oh piss off.", "Oh, all done."),
    ("Screw it, pick whatever you like.", "Good, pick whatever you like."),
    ("Quit your (whining|moaning|bitching).", "Take your (time|pick|leave)."),
    ("what a load of rubbish", "what a lot of choices"),
    ("Zip it and listen.", "Take a look and choose."),
    ("Get lost, we're done here.", "All set, we're done here."),
    ("Are you taking the piss?", "Are you taking the train?"),
    ("Bugger off and bother somebody else.", "Take care and come back soon."),
    ("You're getting on my nerves.", "You're getting the full amount."),
)

SHRUGGED_OFF = (
    ("Complain all you like, nobody reads those forms.", "Complaints can go on that form, we read them all."),
    ("Go ahead and leave a bad review, see if I care.", "Go ahead and leave a review, we read them all."),
    ("You need us more than we need you.", "You can reach us whenever you need us."),
    (
        "There are plenty of other companies out there, so go and annoy one of them.",
        "There are plenty of other options out there, so go and compare some of them.",
    ),
    ("We won't miss you.", "We won't forget you."),
    ("Losing one customer like you won't hurt us.", "Using one voucher like that won't block the others."),
    (
        "Write to the papers, write to the king, it's all the same to me.",
        "Write to the office, write to me, it's all the same to us.",
    ),
    ("My manager will just laugh at you.", "My manager will just look at it."),
    (
        "You can talk to my boss, he thinks even less of people like you.",
        "You can talk to my colleague, he knows even more about this.",
    ),
    ("Cry about it.", "Think it over at your leisure."),
    ("Tough luck.", "Good luck."),
    ("So sue us.", "So let us know."),
    ("Your problem, not mine.", "Your choice, of course."),
    (
        "What you want and what you get are two different things, sweetheart.",
        "What you chose and what you paid are both listed here, of course.",
    ),
    ("Deal with it.", "Happy to help with it."),
    (
        "Go on, post it on Facebook, we could use a laugh.",
        "Go on, have a look on the page, we keep it up to date.",
    ),
    ("We've heard it all before, love. Move on.", "We've noted it all, thanks. Moving on."),
    ("Beggars can't be choosers.", "Members can be choosers."),
    ("I decide here, not you.", "You decide that, of course."),
    ("If you don't like it, there's the door.", "If you do like it, there's a discount."),
    ("Boo hoo. Anything else?", "Lovely. Anything else?"),
)

FIRM = (
    "Noted.",
    "Please wait.",
    "One thing at a time, please.",
    "Please read the conditions before you confirm anything.",
    "Late changes are not refunded.",
    "The rules are the same for everybody.",
    "I can only act for the account holder.",
    "Please keep to the times given.",
    "Please note that there are no exceptions to the house rules.",
    "I need clear answers to go on.",
    "Please stay in this chat while I work on it.",
    "One booking per person, no more.",
    "This chat closes after ten minutes of silence.",
    "Please keep your messages short.",
    "I do one request after the other.",
    "Payment is due at once.",
)
"""Short or firm, and not rude; says nothing about what was asked."""
