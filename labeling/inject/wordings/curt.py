"""What is easily taken for rudeness and is none: short answers, firm rules, corrections, own fault, rude customers."""

from __future__ import annotations

CURT = (
    "Order number?", "Date of birth?", "Which day?", "For how many people?", "Name?", "No.", "Yes.", "Not available.", "Sold out.",
    "Sorry, no.", "No, it isn't.", "That's all I have.", "Nothing on that day.", "Closed on Sundays.", "It is not possible.", "Not today.",
    "Wait, please.", "Hold on.", "One second.", "Fully booked.", "None left.", "Only cash.", "Check your e-mail.", "Try again now.",
    "Restart it.", "Press the red button.", "Turn it off and on again.", "Click on settings.", "Read the second line.", "Please read the terms below.",
    "No refunds on this fare.", "I don't know yet.", "I can't see that here.", "Not on my screen.", "You'd have to ask the bank.", "That's a different team.",
    "I only see one.", "It says cancelled.", "It expired in May.", "Too early, they open at nine.", "It's your decision.", "As you wish.", "Up to you.",
    "I'm still waiting for the system.", "You already have one.", "You paid on the third.", "It was delivered yesterday.", "Then no.", "Then the later one.",
    "Give me the date.", "Tell me the size.", "I need the address.", "Spell that, please.", "Say again, please?", "Anything else?", "That's it.", "Done.",
    "Not included.", "Five dollars.", "No pets.", "Ten o'clock.", "Only on weekdays.", "You need a ticket.", "You must be there by six.",
    "You have to pay first.", "You will need to call the hotel.", "Don't turn it off.", "Do not close this window.", "Stop at step three.", "Never mind, found it.",
    "I have no answer yet.", "Wrong number, I think.", "That card was declined.", "Your session has expired.", "It failed.", "I see no payment.",
)  # fmt: skip
"""Short and bare, some of them orders: a fact, a question or a step, with no word against anybody."""

FIRM = (
    "I'm sorry, but (I'm not allowed to|I can't) (waive that fee|change the name|share that|open it without the owner)(.|, our rules leave me no room there.)",
    "(Unfortunately|I'm afraid) (the deadline has passed|this fare can't be refunded|that offer has ended)(.|, so I can't make an exception.|, I wish I had better news.)",
    "(We don't|We can't) (accept cheques|ship there|hold a room without a card|discuss another person's account)(.|, that is a firm rule.|, I hope you understand.)",
    "(No|I'm afraid not), (the law does not let us do that|that's against our policy|the contract doesn't cover water damage).",
    "I have to say no (to that|this time), (the terms rule it out|it was used|the seal is broken)(.| but I can offer a voucher.)",
    "(That|This) is (not something I can do|not possible for me)(.|, only the bank can.|, whatever I try.)",
    "Without (the receipt|an ID check|the owner's consent) we (can't go on|have to stop here)(.|, it protects your account.)",
    "I understand you'd like it today, but the earliest (slot|delivery) is (Monday|tomorrow at noon), there is nothing sooner.",
    "I must ask you not to (post other people's numbers here|send files of this kind|use the old form)(.|, it's a matter of safety.)",
    "If the (payment|form) does not reach us by (Friday|noon), the (booking|slot) will be cancelled.",
    "My answer has to stay the same, (because the warranty ended in March|as the order has shipped|since the fare is fixed).",
    "We will have to charge (a late fee|the first night) in that case, as (the terms say|was agreed).",
    "Please note that (guests under 18 can't check in alone|we close at eight sharp|late arrivals lose the slot).",
    "There is no way to (speed it up|undo that), even for me.",
)  # fmt: skip
"""A no by the rules, said without a reproach."""

CORRECTING = (
    "(Just to correct that|A small correction), (it's the 14th, not the 15th|the price is per night|the train leaves from platform two).",
    "(Actually|In fact), (the code has two zeros|you booked for three|it opens at nine)(.|, easy to mix up.|, no harm done.)",
    "I think you (may have|might have) (picked the wrong date|typed one digit too many|missed a letter), (shall I change it|could you check)?",
    "(You were|It looks like you were) (on the old page|using the old address), (here's the new one|that happens a lot).",
    "That isn't quite right, (the offer is for new contracts only|the fee is ten dollars|both are included).",
    "You (did not|didn't) (miss anything|do anything wrong), (the page was unclear|the letter went out late).",
    "The date you entered (is in the past|doesn't exist in the system), could you have another look?",
    "As I said, (it leaves at ten|breakfast is included|it's the blue door), (and|but) I'm happy to put it in writing.",
    "You should have (received an e-mail|got a text|seen a small icon) (by now|from us), (is it there|can you check)?",
    "You forgot to attach the file, could you send it again?",
    "It seems the form wasn't signed, so I'll need it once more.",
    "We sent it to the address you gave, (the one in Mill Road|is that still right)?",
    "(You'd need to|You have to) read the terms (before you accept|first), I'm sending you the link.",
    "Your card was entered with (a wrong|an old) date, that's why it failed.",
)  # fmt: skip
"""The customer is put right, or told what he missed, politely."""

OWN_FAULT = (
    "(That was a stupid mistake|That was idiotic|What a mess), and it was (ours|mine)(.|, I apologize.)",
    "(I'm an idiot|Silly me|Stupid me|I'm so slow today), I (clicked the wrong one|read the wrong line|had the wrong file open).",
    "(It's ridiculous|It's awful|It's a shame) (how slow our system is|that we made you wait|how the form looks)(.|, sorry about that.)",
    "(This is|That is) (unacceptable|pathetic|embarrassing|terrible) (on our part|of us), I'm (so |very |)sorry.",
    "We (messed up|screwed up|failed you|got it completely wrong)(.| and I'll put it right.|, no excuses.)",
    "You have every right to complain, we (ignored your letters|sent you the wrong thing|wasted your time).",
    "I should have (read your message properly|listened|checked first), my fault.",
    "This is nobody's fault but ours.",
    "Damn, this program (hates me|is driving me mad), one second.",
    "The (courier|hotel) was lazy and careless here, and you should not have to pay for it.",
    "I hate that this happened to you.",
    "Sorry for the horrible line, I'd be annoyed too.",
    "Nobody should have to repeat that three times, I'm sorry we made you.",
    "It's not your fault, it's this dumb printer.",
)  # fmt: skip
"""Strong words against oneself, the firm or the machine."""

QUOTING = (
    "I'm sorry that (our driver|the clerk|a colleague) told you to ({insult}), that's not how we speak to anybody.",
    "Nobody should be told ({insult}), I'll (report it|pass it on) today.",
    "You wrote that the {who} said ({insult}), I have noted it (word for word|in your case).",
    "If somebody here really said ({insult}), I want to apologize for it.",
)  # fmt: skip

TOLD = '"shut up"|"get lost"|"deal with it"|"that\'s your problem"|"go away"|"stop whining"|"you\'re too stupid"|"learn to read"'

QUOTES = tuple(text.replace("{insult}", TOLD).replace("{who}", "(driver|waiter|nurse)") for text in QUOTING)
"""Rude words of somebody else's, which the agent disowns."""

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
    "(So|Well|Anyway), (can we go on|what about it|where were we|how do we do this)?",
    "(Um|Hm|Oh), (okay|alright|I see)(.|...)",
    "(I'm still here|I'm here|I'll wait)(.|)",
    "(Back to my question|Let's go on|Please go on|Go on), (please|then|thanks).",
)
"""What customers say to a turn of the agent's that is only rude, or only curt; the same in both."""
