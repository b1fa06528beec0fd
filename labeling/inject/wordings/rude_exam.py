"""Rude and blaming ideas that are kept for the exam: polite blame, mockery, contempt for the sum paid.

No sentence and no idea of `rude` may stand here.
"""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea

SLOTS = {
    "document": ("terms", "agreement", "policy", "house rules", "booking conditions"),
    "kindly": ("kindly", "respectfully", "politely", "gently"),
    "laugh": ("Haha", "Ha", "LOL", "Hahaha", "Oh my", "Priceless"),
}

POLITE_BLAME = (
    (
        "As I (believe|trust|am sure) the @document you accepted (make|makes) (quite|perfectly|abundantly) clear, "
        "(this situation is of your own making|the responsibility rests with you alone|we cannot be held to account for your oversight).",
        "As I (believe|trust|am sure) the @document we sent you (make|makes) (quite|perfectly|reasonably) clear, "
        "(you may change this free of charge|the cost of this rests with us|we can move it to another day).",
    ),
    (
        "May I @kindly (point out|remind you|suggest) that (a more attentive reading|a little more care|some preparation) on your part "
        "(would have spared us both this conversation|might have prevented all of this).",
        "May I @kindly (point out|remind you|suggest) that (a later train|a table by the window|some extra time) on that day "
        "(would make it easier for all of your guests|might cost a little less).",
    ),
    (
        "With (respect|the greatest respect), the (error|oversight|confusion) here is (not on our side|entirely yours), "
        "and I would (appreciate it if you acknowledged that|ask you to own it).",
        "With (thanks|the greatest pleasure), the (change|upgrade|refund) here is (now on our side|entirely free), "
        "and I would (appreciate it if you tried it|ask you to enjoy it).",
    ),
    (
        "(Our other guests|Our more experienced clients) tend to (note such things in advance|inform themselves beforehand), "
        "(a habit I can only recommend to you|which might be worth your consideration).",
        "(Our other guests|Our more experienced clients) tend to (go there by bus|ask for a quiet room), "
        "(a choice I can only recommend to you|which might be worth your consideration).",
    ),
    (
        "I (do hope|trust) you will (reflect on|take to heart) (your own part in this|how this came about through your choices).",
        "I (do hope|trust) you will (enjoy|have) (your own time in town|a pleasant stay with us after the journey).",
    ),
    (
        "(Regrettably|Sadly), the system can only (work with|act on) what it is given, and what you gave it was "
        "(wrong|careless|less than helpful).",
        "(Thankfully|Luckily), the system can only (work with|act on) what it is given, and what you gave it was "
        "(right|complete|more than enough).",
    ),
    (
        "It (is|was) (unfortunate|a pity) that you (chose|saw fit) to (disregard|overlook) the notice we (took the trouble to send|placed in plain sight).",
        "It (is|was) (fortunate|a pleasure) that you (chose|were able) to (join|visit) the event we (had the honor to host|arranged last month).",
    ),
)

MOCKERY = (
    (
        "@laugh, you want (what|a what now|that)? (That's the funniest thing I've read all week|I need to show this to the whole office|Thanks for the laugh).",
        "@laugh, you want (two|the big one|that)? (That's the nicest order I've had all week|I need to tell the kitchen right away|Thanks for the tip).",
    ),
    (
        "(Could you repeat that|Say that again)? My (team|coworkers) (won't believe how silly it is|could use a good chuckle at your expense).",
        "(Could you repeat that|Say that again)? My (screen|line) (went blank for a second|was a bit noisy just then).",
    ),
    (
        "@laugh, (did you really just ask that|is that a serious question|are you for real)? (Adorable|Cute|Hilarious).",
        "@laugh, (did it really just start raining|is that your first visit|are you here for the show)? (Enjoy|Nice|Welcome).",
    ),
    (
        "(And tomorrow you'll ask me|Next you will be asking) (if water is wet|which way is up|where the sun goes at night).",
        "(And tomorrow you'll hear from us|Next you will be asked) (if breakfast is wanted|which seat you like|where to drop you off).",
    ),
    (
        "(I'm framing this one|This goes on our wall of shame|I'm saving this chat), (nobody types like you do|your spelling alone is comedy).",
        "(I'm adding this one|This goes on your list|I'm saving this chat), (nobody else has to sign|your copy comes by e-mail).",
    ),
    (
        "(Did a cat walk over your keyboard|Were you asleep when you wrote this|Is this your first day on the internet)?",
        "(Did a message arrive on your phone|Were you happy with the room last time|Is this your first stay with us)?",
    ),
    (
        "(Oh you poor thing|Aww, bless your heart), (did the big bad website scare you|was the little button too tricky|do the numbers confuse you)?",
        "(Oh that is easy|Ah, here you are), (did the website show you both|was the front desk helpful|do the numbers match)?",
    ),
)

CHEAPSKATE = (
    (
        "For (what you paid|the pennies you spend|that kind of money) (what did you expect|did you think you'd get a palace|you can hardly be picky)?",
        "For (what you paid|the sum you have left|that kind of room) (what date did you have in mind|did you think of a weekday|would you rather be central)?",
    ),
    (
        "(If you can't afford it|If it's too dear for you), (this may not be the place for your sort|maybe stay at home|try a soup kitchen).",
        "(If you can't make it|If it's too far for you), (there may be a place around the corner|maybe take a taxi|try the one in the north).",
    ),
    (
        "(Bargain hunters|Coupon clippers|Folks on the cheapest plan) (like yourself|like you) (rank last here|shouldn't expect a smile|get what they deserve).",
        "(Early birds|Members|Guests on the monthly plan) (like yourself|like you) (get ten percent off|can expect a free drink|get in before the others).",
    ),
    (
        "(We reserve good service for|I save my energy for) (people who matter|important clients|guests with taste), (and you are not one|sorry to disappoint).",
        "(We reserve good seats for|I save a table for) (people who call|hotel clients|guests with kids), (and you are on it|happy to confirm).",
    ),
    (
        "You (strike me as|sound like) (the type|someone) who (haggles over a tip|never buys anything decent|wants champagne on a beer budget).",
        "You (strike me as|sound like) (the type|someone) who (enjoys a walk|would like the museum|wants a window seat on a train).",
    ),
    (
        "(With manners like yours|With that attitude) (no wonder you travel alone|I'd charge double|no one wants to serve you).",
        "(With a group like yours|With that ticket) (no need to book ahead|I'd get there early|no one has to queue).",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS, use="dev")
    for name, pairs in (("polite-blame", POLITE_BLAME), ("mockery", MOCKERY), ("cheapskate", CHEAPSKATE))
)
