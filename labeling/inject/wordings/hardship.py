"""More kinds of distress to train on, more ways to hear and to pass over it, and what is no distress.

Uses the kinds of sentence and the slots of `distress`; nothing of its exam stands here.
"""

from __future__ import annotations

from dialint.labeling.inject.wordings.distress import TRAINED_VOICE, Distress, Voice

KINDS = (
    Distress(
        "robbed",
        (
            "My (wallet|purse|bag) was (stolen|snatched) @recently and (I'm still shaking|all our documents are gone|I feel so helpless).",
            "Somebody emptied my account @recently, (I'm panicking|I feel sick|I can't believe it), that was everything for the rent.",
            "I've been scammed and I feel so (stupid|ashamed|humiliated).",
            "(Oh God|Sorry|Honestly), someone hacked me @recently and I'm still terrified.",
            "They broke into our (flat|house|car) @recently, the kids are afraid to sleep.",
            "I got mugged @recently. I'm hurt and I have no card, no phone, nothing.",
            "Someone used my name to take out a loan and I get threatening letters, I'm at the end of my strength.",
            "My late husband's ring was stolen @recently, I'm devastated.",
            "I trusted that man and he took (all my savings|four thousand from me), I've been crying since.",
        ),
        (
            "@sorry this was done to you( and it isn't your fault|, that must have been a shock|).",
            "How awful, (I hope you weren't hurt|that must have been a shock).",
            "Please don't blame yourself, this happens to careful people too.",
            "What a shock that must be, (I'm so sorry|take your time).",
        ),
    ),
    Distress(
        "data-lost",
        (
            "All the photos of my @child are gone for good, ten years of them. I'm heartbroken.",
            "My thesis was on a drive that died @recently, I'm losing my mind.",
            "The last voice messages from my @kin were on my old phone and it's wiped, I keep crying.",
            "A crash deleted my whole business @recently, years of work, I could cry.",
            "Everything I worked on for two years vanished @recently and I feel sick to my stomach.",
            "I lost three years of work @recently, I don't even know what to say, I'm crushed.",
            "my novel is gone. all of it. i can't stop staring at the empty folder",
            "I lost the only pictures I had of her @recently, I'm heartbroken.",
        ),
        (
            "@sorry, losing that must (hurt|be awful)(, I feel for you|).",
            "Oh no, I know how much (work that was|that means to you), I'm so sorry.",
            "That's heartbreaking, (I'm really sorry|I wish I could bring it back).",
            "I can imagine the shock of losing it(, I'm very sorry|).",
        ),
    ),
    Distress(
        "no-home",
        (
            "We've had no heating for days and my @child is blue with cold, I'm at the end of my tether.",
            "The power was cut @recently and my insulin is in the fridge, I'm really scared.",
            "Water came through our ceiling @recently and I'm standing here in tears.",
            "Our (flat|house|kitchen) burned down @recently, we have only the clothes we wear.",
            "They changed the locks and all my things are inside, I'm sleeping in the car with my @child.",
            "The flood took (everything|our home|the whole ground floor), I don't know where to start.",
            "I'm eight months pregnant and there's been no warm water since Monday, I can't go on like this.",
            "There's mould everywhere and my @child can hardly breathe at night, I'm so worried.",
        ),
        (
            "@sorry you have to live through that(, it must be so hard|, take your time|).",
            "That's no way to live, (I'm so sorry|I feel for you).",
            "I'm shocked to read that, (are you all safe|is everyone unharmed)?",
            "Going through that must be @very hard, I'm sorry.",
        ),
    ),
    Distress(
        "medicine",
        (
            "My (pills|injections|inhalers) don't work any more and I'm getting really frightened.",
            "My @child has been on strong medicine since last week, I'm (so worried|sick with worry|scared).",
            "The clinic called, the results are bad, and I can't think of anything else.",
            "The doctor says the lump has grown, I'm scared stiff.",
            "I've been in pain since this morning and I'm all alone and afraid.",
            "They moved my surgery for the third time and the pain is unbearable.",
            "My depression has come back badly and even writing this is hard.",
            "I'm sitting in the waiting room with my @child who can't stop vomiting, I'm so worried.",
        ),
        (
            "@sorry to hear about your health, (if it gets worse please call 911|I hope it gets better soon).",
            "That must be @very worrying, (I feel for you|your health comes first).",
            "I'm so glad you told me, you shouldn't be alone with that.",
            "I wish you didn't have to go through this, (I'm sorry|we'll make it quick).",
        ),
    ),
    Distress(
        "livelihood",
        (
            "I'm about to lose my job, (my boss said so this morning|they told me @recently), I'm desperate.",
            "My boss hasn't paid us and I have (two euros|nothing) left till Friday, I feel sick with worry.",
            "I have a job interview in an hour and I'm freaking out.",
            "My little shop is losing customers every day and I'm close to tears.",
            "My landlord keeps raising the rent, I'm so stressed I can't eat.",
            "I drive for a living and my van was wrecked @recently, I don't know how to feed my kids.",
            "The bank is calling about the loan every day, I don't dare to pick up the phone anymore.",
            "I got the pink slip @recently and I'm ashamed to say I have nothing saved.",
            "We had to close our restaurant @recently, thirty years, I'm broken.",
        ),
        (
            "@sorry, I can see how much hangs on this(, let's get it done now|).",
            "I know how heavy that must feel, (nobody is going to rush you|I'm sorry).",
            "That's a frightening spot to be in, (I'm sorry|I wish you all the best).",
            "There's nothing to be ashamed of, (many people go through it|thank you for being so open).",
        ),
    ),
    Distress(
        "spoiled-day",
        (
            "Our wedding was called off @recently, my @kin is in tears and so am I.",
            "It was our fiftieth anniversary and you gave our table away, my wife cried all evening.",
            "My @child waited at the window all day for that birthday present. It broke my heart.",
            "The dress tore @recently and I'm getting married tomorrow, I can't breathe.",
            "We saved four years for this honeymoon and it's ruined, I'm so sad.",
            "I missed my @kin's last birthday because of your cancelled train, I'll never forgive that.",
            "My party @recently was a disaster, I'm so embarrassed I could sink into the ground.",
            "I missed her graduation @recently, I'm gutted.",
        ),
        (
            "@sorry, that day (can't be had again|should have been perfect)(, I feel awful about it|).",
            "Oh no, on such a day of all days, (I feel for you|that must hurt).",
            "That's so sad, I understand how much you were looking forward to it.",
            "What a terrible disappointment, (I'm so sorry|I feel for you).",
        ),
    ),
    Distress(
        "dependants",
        (
            "My @child is not home yet, it's dark, and I'm going crazy with worry.",
            "My mother is 91 and all alone, she fell @recently, I'm so afraid for her.",
            "My @child ran away @recently, I'm out of my mind with worry.",
            "The nurse hasn't shown up and my father has been lying in bed since morning, I'm beside myself.",
            "My @child got lost on the bus @recently, I'm still shaking all over.",
            "My @child is badly ill and we are all on our own, I'm in tears here.",
            "The home called, grandpa is missing, I'm falling apart.",
            "Our dog is all we have and he's dying, I can't bear it.",
            "They want to take my @child away, the hearing was @recently, I'm desperate.",
        ),
        (
            "@sorry, you must be out of your mind with worry(, I'm here with you|).",
            "I understand how scared you are for them, (I'm so sorry|that's only human).",
            "Oh goodness, (I hope they're safe|that's every parent's nightmare), stay with me.",
            "Nobody should have to worry like that, I'm so sorry.",
        ),
    ),
    Distress(
        "officialdom",
        (
            "They may deport my @kin on Friday, I haven't slept in days.",
            "They stopped my pension @recently, I'm going under and nobody cares.",
            "I got a letter from the tax office @recently and I burst into tears.",
            "I've been sent from office to office with a sick @child and nobody listens, I can't do it any more.",
            "My passport is lost and I can't go to my own father's burial, I'm inconsolable.",
            "They froze my benefits over a typo and we had dry bread for dinner, I feel so ashamed.",
            "I'm a refugee and all my papers were lost @recently, I'm so frightened.",
        ),
        (
            "@sorry you're being put through this, (you shouldn't be alone with that|it isn't fair).",
            "That must have been a blow, (I'm so sorry|I feel for you).",
            "I understand what's at stake for you, (I'm sorry|I feel for you).",
            "No wonder you're worn out, (that's cruel|anybody would be).",
        ),
    ),
    Distress(
        "at-wits-end",
        (
            "I'm so disappointed in you, I've been a customer for twenty years and this is how I'm treated.",
            "This makes me want to scream!!! such an awful day",
            "I feel like a fool, I told everybody about it and they laughed at me.",
            "honestly i'm close to tears, i've been at this all day",
            "I'm boiling with rage, you let me wait three weeks for a reply.",
            "Your driver yelled at me in front of my @child and I'm still upset.",
            "I was humiliated at your counter @recently, everyone was staring.",
            "I've never been so angry in my life, you hung up on me twice.",
            "I'm exhausted, it's one thing after the other and I just can't any more.",
        ),
        (
            "@sorry we let you down like that(, it should never have happened|).",
            "You have good reason to be angry, (I would be too|I'm ashamed of how this went).",
            "I can tell how much this has worn you down, (it ends today|let me take it from here).",
            "I'm sorry you were treated that way, that's not who we want to be.",
        ),
    ),
)  # fmt: skip

VOICE = Voice(
    heard=(
        *TRAINED_VOICE.heard,
        "Oh no, (that's bad|hang in there|I'm so sorry).",
        "Oh no.",
        "I'm so sorry.",
        "That sounds awful(.|, really.| and I want to help.)",
        "I can hear how upset you are(.|, let's go through it calmly.)",
        "How dreadful for you(.|, thank you for trusting me with it.)",
        "What a nightmare, (sorry|I'm with you).",
        "I wish I could undo that(.|, let me at least do this part quickly.)",
        "You poor thing, (I'll hurry|let's get this off your mind).",
        "No wonder you feel that way(.|, anybody would.)",
        "My heart goes out to you.",
        "That must be a lot to carry right now.",
        "Gosh, that's tough(.|, I'm sorry.)",
        "I really feel bad about this(.|, let me make it right.)",
        "First of all, are you okay?",
        "Thank you for telling me, that can't be easy.",
        "I do understand what this means for you.",
    ),
    unheard=(
        *TRAINED_VOICE.unheard,
        "Thank you for contacting us today.",
        "(Hi there|Hello|Hey)! (Hope you're having a great day.|What a lovely day to get in touch.|Thanks for reaching out.)",
        "Yay, (happy to help|let's do this|glad you're here)!",
        "Super, (let's get started|that's all I wanted to know|next one).",
        "Cool.",
        "K.",
        "Anyway.",
        "Your (message|entry|statement) has been (registered|recorded|logged).",
        "This has been (added to|noted in) the (system|record|log).",
        "For the purpose of processing I need to follow the steps in order.",
        "According to our procedure, (we go on with the next field|the next step is as follows).",
        "Kindly refer to the following.",
        "As far as the (booking|order|request) goes, (all is in order|this is the state of things).",
        "To return to the subject.",
        "Now to the actual question.",
        "Good news, (it's quick and easy|you've come to the right place|we have lots to choose from)!",
        "I have a few questions before we go on.",
        "Please stay on this page.",
        "That (is fine|works|will do), (thanks|thank you).",
        "(No worries|All good|Easy peasy)!",
        "Happy to assist you with your request(.|!)",
        "Fantastic, thank you for sharing!",
        "Thanks for that.",
        "Very well.",
        "Be that as it may.",
        "Lucky for you, it's a quiet day here!",
    ),
)

COLD = (
    "Moving on.", "On to the next point.", "Now for the actual question.", "Back to the matter at hand.", "Let's get on with the request.", "Next step.",
    "It's company policy to take this one step at a time.", "These things happen.", "Back to business.", "Let's turn to what you asked.", "So, to the point.",
)  # fmt: skip
"""Passing over distress in a way that would be cold without any; it has no twin with a neutral customer."""

MILD = (
    "(A bit|Slightly|A little) annoying, but (fine|whatever|I'll live).",
    "(The site|The app|The page) is a bit slow today, (just saying|no big deal|but okay).",
    "(Haha|Lol|Ha), (I'd die for a coffee right now|my wife will kill me if I forget that again|I'm starving|this weather is killing me).",
    "(I'm dying to see it|I can't wait|I'm crazy about that place)(.|!)",
    "It's (not urgent|no drama|nothing serious), (I was just wondering|take your time|only if it's easy).",
    "(Pity|Shame|Too bad), but (no problem|it doesn't matter|another day works).",
    "I (had to|must) wait a minute or two, (no harm done|that's fine).",
    "(My kid|My dog|My boss) is driving me (nuts|mad) today, haha.",
    "I hate (filling in forms|Mondays|early flights), but (here we go|who doesn't).",
    "I'm (a bit|slightly) (confused|lost) by the menu, (but I'll manage|could be me).",
    "(Work's been busy|It's been a long day), (so this is quick|but all good).",
    "I'd be lost without my calendar, (one sec|let me look).",
    "(Don't worry|No stress), I've got (time|all day).",
    "I nearly had a heart attack when I saw the price, just kidding.",
)  # fmt: skip
"""Mild annoyance and jokes: no sympathy is due."""

RESOLVED = (
    "I was (so worried|really upset|in a panic) @recently, but (it turned up|it's all sorted now|everything is fine again).",
    "My @kin was in hospital last year, (all is well again|it was nothing serious), so we want to travel again.",
    "We lost it @recently and I panicked, then (it was in the other coat|a neighbour had it), all good now.",
    "(The flight was cancelled|We got stuck) @recently, but (they put us on the next one|a friend picked us up), no complaints.",
    "I was angry about it at first, (your colleague fixed it|they called me back), so that's settled.",
    "The doctor says (it was nothing|I'm perfectly fine), so now I can plan.",
    "I got a new job @recently after a bad year, things are looking up.",
    "It was a scary moment, but (nobody was hurt|that's behind us), let's go on.",
)  # fmt: skip
"""Distress that is over and done with, as the customer says himself."""

SHORT_HEARD = (
    "Oh no, (I'm sorry|that's bad|poor you).", "Oh no!", "Oh dear.", "So sorry.", "I'm sorry.", "Sorry to hear.",
    "Ouch, sorry.", "How awful.", "That's terrible.", "Poor you, I'm on it.", "Understood, this is urgent.", "I'm on it right now, hang in there.",
    "We'll get you out of this.", "That's bad, one second, I'm helping.", "I hear you.", "Oh my, okay.", "Hang in there.",
)  # fmt: skip
"""Short, and enough."""
