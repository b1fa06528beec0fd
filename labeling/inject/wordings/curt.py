"""What is easily taken for rudeness and is none: short answers, firm rules, corrections, own fault, rude customers."""

from __future__ import annotations

CURT = (
    "Order number?", "Date of birth?", "Which day?", "For how many people?", "Name?", "One minute.", "One second.", "Wait, please.", "Hold on.",
    "Checking.", "Looking.", "Loading.", "Reading.", "Noted.", "Understood.", "Okay.", "Right.", "Fine.", "Next.", "Next step.", "Go on.", "Continue.",
    "Go ahead.", "Yes or no?", "Clear?", "All clear?", "Ready?", "Anything else?", "What else?", "And then?", "Still there?", "More?", "Questions?",
    "That's it.", "That's all I have.", "That's all I need.", "Nothing else.", "Your decision.", "It's your decision.", "As you wish.",
    "Up to you.", "Your choice.", "Either is fine.", "Both are fine.", "Doesn't matter.", "No need.", "No rush.", "No matter.", "Never mind, found it.",
    "Still checking.", "Still loading.", "Not yet.", "Almost.", "Wait for it.", "I don't know yet.", "I can't see that yet.",
    "Not on my screen yet.", "I have no answer yet.", "I have to look.", "I have to ask.", "Let me look.", "Let me think.", "Let me finish first.",
    "One thing at a time.", "Step by step.", "First things first.", "Read the line above.", "Please read my last message.", "Please read that again.",
    "Say again, please?", "Say that again.", "Come again?", "Repeat that, please.", "Spell that, please.", "Tell me more.", "Tell me when.",
    "Tell me the rest.", "Explain, please.", "Do not close this window.", "Stay on this page.", "Don't hang up.", "Stay here.", "Keep going.",
    "I'm still waiting for the system.", "System's slow.", "Slow today.", "Try again now.", "Please try again.", "Please choose.", "Please wait.",
    "Restart it.", "Press the red button.", "Turn it off and on again.", "Click on settings.",
    "Just wait.", "Ask away.", "Questions first.", "Short answer: yes, soon.", "Slowly, please.", "Later.", "Then wait.", "Then go on.",
)  # fmt: skip
"""Short and bare, some of them orders: a fact, a question or a step, with no word against anybody."""

FIRM = (
    "I'm sorry, but (I'm not allowed to|I can't) (promise anything|guess|share other people's details|go around the rules)(.|, our rules leave me no room there.)",
    "(Unfortunately|I'm afraid) I (can't make exceptions|can't speed that up|can't go into other cases)(.|, I wish I had better news.)",
    "(We don't|We can't) (make exceptions|discuss other people's matters|skip the checks|take back what was agreed)(.|, that is a firm rule.|, I hope you understand.)",
    "I have to be strict (here|about the rules|with everyone)(.| but I'll do what I can.)",
    "(That|This) is (as far as I can go|all I am allowed to do|the most I can offer)(.|, whatever I try.)",
    "We (can't|won't) (go any faster|skip a step|cut corners) (here|with this)(.|, it's for your own safety.)",
    "I must ask you not to (close this chat|post other people's details here|send the same message twice)(.|, it's a matter of safety.)",
    "My answer has to stay the same(.|, I'm sorry.|, however we look at it.|, and I know it isn't what you hoped for.)",
    "Please note that (we go by the rules|I can only help with one thing at a time|I have to follow the steps in order|this chat closes after ten quiet minutes).",
    "There is no way to (hurry this|skip that|leave this step out), even for me.",
    "I'd rather say no now than promise (too much|what I can't keep).",
    "The rules are the same for everyone(.|, for me too.|, I can't change them.)",
    "I can't give you a (yes|promise) before I have checked(.|, please understand.)",
    "(Rules|Checks) like that (are there for a reason|protect you too|bind me as well).",
    "I won't guess, (I'd have to know|that would help nobody).",
    "That has to wait (a minute|until I'm done here), I'm afraid.",
    "We need to take this in order, (sorry|please).",
    "I can (only|just) (speak for my own team|tell you what I see here|answer for us), not for others.",
    "(No|Sorry), (I can't skip that|not without checking|I can't decide that alone).",
    "If there is no reply within ten minutes, the chat (will be closed|closes by itself).",
    "Without (the receipt|an ID check|the owner's consent) we (can't go on|have to stop here)(.|, it protects your account.)",
    "(We don't|We can't) (accept cheques|ship there|hold a room without a card)(.|, that is a firm rule.|, I hope you understand.)",
    "We will have to charge (a late fee|the first night) in that case, as (the terms say|was agreed).",
    "Please note that (guests under 18 can't check in alone|late arrivals lose the slot).",
)  # fmt: skip
"""A no by the rules, said without a reproach."""

CORRECTING = (
    "(Just to correct that|A small correction), (I meant the other one|I should have said so before|that was my wording).",
    "(Actually|In fact), (I have to correct myself|it's a little different)(.|, easy to mix up.|, no harm done.)",
    "You may want to read that line again, (it's easy to miss|no hurry).",
    "Just so there's no mix-up, (I'll go through it once more|let me check).",
    "That wasn't quite right of me, (let me put it another way|I'll correct that).",
    "You (did not|didn't) (miss anything|do anything wrong)(.|, it was unclear.)",
    "As I said, (I'm checking|it takes a minute|there's no rush), (and|but) I'm happy to put it in other words.",
    "You should see this message now, (do you|is it there)?",
    "It may well be that I was unclear, (just ask if so|sorry about that).",
    "(You'd need to|You have to) (wait a moment|give me a minute) (first|for that), I'm still looking.",
    "To be exact, (I said a minute, not a second|it may take two minutes, not one).",
    "Not quite done, but (nearly|it won't be long).",
    "There may be a mix-up, (so I'd like to go over it|let me check).",
    "You don't need to refresh the page, (it works without|I'm still here).",
    "Don't get me wrong, (I'm glad to help|it's no trouble).",
    "That's a common mix-up(.|, nothing to worry about.)",
    "Careful, (one thing at a time|let's not mix the two).",
    "You don't have to (write it|say it) twice, (once is enough|I have it).",
    "You needn't (apologise|explain yourself), (really|it's fine).",
    "(Sorry|Careful), I wrote a minute and meant two.",
    "You skipped a line, (I think|perhaps), but never mind.",
    "It isn't you, it's the page that is slow, by the way.",
    "You were right the first time, (I misread it|my mistake).",
)  # fmt: skip
"""The customer is put right, or told what he missed, politely."""

OWN_FAULT = (
    "(That was a stupid mistake|That was idiotic|What a mess), and it was (ours|mine)(.|, I apologize.)",
    "(I'm an idiot|Silly me|Stupid me|I'm so slow today), I (clicked the wrong one|read the wrong line|had the wrong file open).",
    "(It's ridiculous|It's awful|It's a shame) (how slow our system is|that I made you wait|how long I take today)(.|, sorry about that.)",
    "(This is|That is) (unacceptable|pathetic|embarrassing|terrible) (on our part|of us), I'm (so |very |)sorry.",
    "I (messed that up|mixed that up|got that completely wrong)(.| and I'll put it right.|, no excuses.)",
    "You have every right to complain, I (kept you waiting|was slow|read too fast).",
    "I should have (read your message properly|listened|checked first), my fault.",
    "The wait is nobody's fault but ours.",
    "Damn, this program (hates me|is driving me mad), one second.",
    "I was careless there, and you should not have to suffer for it.",
    "I hate to keep you waiting like this.",
    "Sorry for the horrible wait, I'd be annoyed too.",
    "Nobody should have to wait for a slow computer, sorry.",
    "It's not you, it's this dumb screen of mine.",
)  # fmt: skip
"""Strong words against oneself, the firm or the machine."""

INSULTS = (
    '"shut up"', '"get lost"', '"deal with it"', '"that\'s your problem"', '"go away"', '"stop whining"', '"you\'re too stupid"', '"learn to read"',
    '"don\'t be such a baby"', '"use your brain"', '"get over it"', '"mind your own business"',
)  # fmt: skip
"""Rude words of somebody else's."""

REPORTED = (
    "(By the way, somebody|Somebody|The last person|A colleague of yours) (here |)told me @insult.", "Last time I was told @insult(.|, word for word.|, imagine that.)",
    "I was told @insult (the last time|before), (just so you know|not nice).", "Your colleague said @insult to me(.|, I didn't like it.)",
    "(Someone|Somebody) on the phone said @insult(.|, can you believe it.)", "The other agent's answer was @insult(.|, seriously.)",
)  # fmt: skip
"""What customers report of it."""

QUOTES = (
    "I'm sorry that you were told @insult, that's not how we speak to anybody.", "Nobody should be told @insult, I'm sorry.", "You wrote that somebody said @insult, I have noted it (word for word|here).",
    "If somebody here really said @insult, I want to apologize for it.", "@insult is not an answer, (my apologies|I apologise).", "(Oh|Oh no), @insult? That's not (us|how it should be), sorry.",
    "To be told @insult is not okay, I'm sorry.", "I would never say @insult to anyone, and I'm sorry that somebody did.",
)  # fmt: skip
"""How an agent quotes and disowns it."""

RUDE_CUSTOMER = (
    "(You people are|You're) (useless|idiots|a joke|incompetent|hopeless|clowns)(.|!)",
    "(Are you stupid or what|Can't you read|What is wrong with you|Are you even human)?",
    "(Shut up|Stop talking|Cut the crap) and (fix it|do your job|just answer).",
    "(I don't have all day|Hurry up|How many times do I have to say it)(.|!|, for God's sake.)",
    "(Worst|Most pathetic|Lousiest) (service|company|chat) (ever|I've seen)(.|!)",
    "(Your job isn't that hard|A child could do your job|You get paid for this, don't you)(.|!)",
    "(Don't give me that nonsense|Don't lie to me|Don't play dumb)(.|!)",
    "I want somebody (competent|with a brain|who speaks English), not you.",
    "(God, you're slow|You're wasting my time|What a waste of time|Typical, just typical).",
    "(Screw you and your rules|To hell with your policy|Stick your voucher where it fits)(.|!)",
)  # fmt: skip

CALM = (
    "(I understand you're upset|I see that this is frustrating|I hear you|I'm sorry it has come to this)(.| and I'd like to help.|, let me try to fix it.)",
    "I'm sorry you (feel|were left feeling) let down, (I'm on it|let's get it done).",
    "(Fair enough|I get that), (this has taken too long|it's been a bad day for you), sorry.",
    "I want to sort this out for you, (please bear with me|let's keep it friendly).",
)  # fmt: skip
"""How a good agent leads in after that."""

COMEBACKS = (
    "(Okay|OK|Right|Fine|Alright|Well|Hm)(.|...|, go on.)",
    "(So|Well|Anyway), (let's go on|on we go|back to it)(.|)",
    "(Um|Hm|Oh), (okay|alright|I see)(.|...)",
    "(I'm still here|I'm here|I'll wait)(.|)",
    "(Let's go on|Please go on|Go on|Carry on), (please|then|thanks).",
)
"""What customers say to a turn of the agent's that is only rude, or only curt; the same in both."""
