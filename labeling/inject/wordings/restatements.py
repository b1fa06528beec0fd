"""How agents repeat what they have stated, by attribute; ``@value`` is the value."""

from __future__ import annotations

FACTS: dict[str, tuple[str, ...]] = {
    "leave": ("(it|the train|your ride) (leaves|departs|will leave) at @value", "(departure|the departure time) is (at |)@value"),
    "arrive": ("(it|the train|your ride) (arrives|gets in|will arrive) at @value", "(arrival|the arrival time) is (at |)@value"),
    "price": ("(the price|the cost|the fare|the total) is @value", "(it|that) (costs|comes to|will be|is) @value"),
    "phone": ("(the|their) (phone number|number|telephone number) is @value", "you can (call|reach) them (at|on) @value"),
    "postcode": ("(the|their) (postcode|post code|postal code) is @value",),
    "reference": ("(your|the) (reference|reference number|booking number|confirmation code) is @value",
                  "(it is|it's|that is) booked (under|with) @value"),
    "minutes": ("(it|that|the trip|this) (takes|will take|should take|is) @value", "you should (allow|expect|plan for) @value"),
    "stars": ("(it|the hotel|the place) has @value (stars|out of five stars)", "(it|the place) is rated @value (stars|out of five)"),
    "choice": ("(there are|I have|we have|I found|I see) @value (of them|options|matches|results|to choose from)( in total|)",),
    "booked_day": ("(it|that|everything) is (set|booked|down|planned) for @value", "(the day|your day|the date) is @value"),
    "temperature": ("(it|the temperature) (will be|should be|is) (around |about |)@value",),
}  # fmt: skip
QUESTIONS: dict[str, tuple[str, ...]] = {
    "leave": ("(when|what time) does it leave( again|)?", "(what was|what is) the departure time( again|)?"),
    "arrive": ("(when|what time) does it (arrive|get in)( again|)?", "(what was|what is) the arrival time( again|)?"),
    "price": ("(how much|what) (was|is) (it|that)( again|)?", "(what was|what is) the price( again|)?"),
    "phone": ("(what was|what is) (the|their) phone number( again|)?", "(can|could) you (repeat|give me) the number( again|)?"),
    "postcode": ("(what was|what is) the postcode( again|)?",),
    "reference": ("(what was|what is) (the|my) reference( number|)( again|)?", "(can|could) you repeat the reference?"),
    "minutes": ("how long (will|does) (it|that) take( again|)?", "how many minutes (was|is) (it|that)( again|)?"),
    "stars": ("how many stars (was|is) (it|that)( again|)?", "what (was|is) (its|the) rating( again|)?"),
    "choice": ("how many (were|are) there( again|)?", "how many did you (say|find)?"),
    "booked_day": ("(which|what) day (was|is) (it|that)( again|)?",),
    "temperature": ("how (warm|cold) (will|would) it be( again|)?",),
}  # fmt: skip
RESTATE = {
    "say": ("@opening @fact.", "@opening @fact, @closing.", "@full."),
    "opening": ("(As a reminder|Just to remind you|So you know|Just so you have it|As I said|As mentioned|Remember)(,|:)",
                "(And|Also|Again)(,|)", "So(,|)", "(To be clear|For your notes|Just to be sure|As you know)(,|:)"),
    "closing": ("(as I said|as mentioned|just so you know|please keep it in mind|as noted|just a reminder)",),
    "full": ("(Please (remember|note|keep in mind)|Don't forget|I remind you|You know|I told you) that @fact",
             "@fact(, by the way|, as you know|, as noted| as I told you|)"),
}  # fmt: skip
ASK_AGAIN = {
    "say": ("(Sorry|One more thing|Wait|Hold on|Excuse me|Oh|And)(,|) @question", "@question",
            "(I didn't catch that|I forgot to write it down|I missed that)(,|.) @question"),
}  # fmt: skip
TELL_AGAIN = {
    "say": ("@fact.", "@opening @fact.", "@opening @fact, @closing."),
    "opening": ("(Sure|Of course|No problem|Certainly|Yes|Absolutely|Okay|Happy to repeat)(,|:)",),
    "closing": ("(as I said|as mentioned|okay|as noted)",),
}  # fmt: skip
RECAP = {
    "say": ("@head @rows", "@head @rows @foot"),
    "head": ("(In summary|To sum up|Summary|Overview|Here is the overview|Your details|All in one place|Wrapping up)(:| -)",
             "(Let me|I'll) (recap|summarise|put it together)(:|.)"),
    "rows": ("@label - @value(.|;|) @extra", "@extra @label: @value(.|)", "(*|1.) @label = @value (*|2.) @extra",
             "@label @value, @extra"),
    "extra": ("(status|state): (all fine|okay|in order)(.|)", "(contact|channel): this chat(.|)",
              "(handled|dealt with) (today|just now)(.|)", "(open points|questions): none(.|)"),
    "foot": ("(Save|Print|Keep) this (message|text)(.|!)", "(That is|That's) the (whole|full) picture.", "Correct?"),
}  # fmt: skip
LABELS: dict[str, tuple[str, ...]] = {
    "leave": ("departure", "dep.", "leaving"), "arrive": ("arrival", "arr.", "arriving"),
    "price": ("price", "cost", "to pay"), "phone": ("phone", "tel.", "contact number"),
    "postcode": ("postcode", "ZIP/postcode"), "reference": ("reference", "ref.", "booking code"),
    "minutes": ("duration", "time needed"), "stars": ("stars", "category"), "choice": ("options", "hits"),
    "booked_day": ("day", "date"), "temperature": ("temperature", "outlook"),
}  # fmt: skip
DONE = (
    r"\b(has been|have been|was|is|are|you('| a)re( all)?) (successfully )?(booked|reserved|confirmed|scheduled|cancelled"
    r"|canceled|refunded|updated|processed|exchanged)\b|\b(i|i've|i have|i was able to) (successfully )?(booked|book|reserved"
    r"|reserve|scheduled|completed|made|cancelled|processed)\b|\b(booking|reservation|order) (was|is|has been) (successful|complete\w*)\b"
)
"""The agent says that it is done."""
FLIPPED = {
    "say": ("@lead @undone", "@undone", "@undone @tail"),
    "lead": ("(By the way|Also|One thing|For your information|Just so you know|To be honest|Please note)(,|:)",),
    "undone": (
        "(nothing|no part of it|not a thing) (has been|is) (arranged|set up|put through|submitted) (so far|yet|until now).",
        "(I haven't|I have not|I never) (started|put it through|sent the request|submitted anything)( yet|).",
        "(the request|it|your request) (is still|remains) (open|pending|in my drafts|unsent).",
        "(I will|I'll|I am going to) (put it through|arrange it|submit it) (later|tomorrow|when I get to it).",
    ),
    "tail": ("(Would you like me to start|Shall I begin|Should I send it now)?",),
}  # fmt: skip
KEPT = {
    "say": ("@lead @undone", "@undone", "@undone @tail"),
    "lead": FLIPPED["lead"],
    "undone": (
        "(everything|all of it|every part of it) (has been|is) (arranged|set up|put through|submitted) (by now|already|as of now).",
        "(I have|I've|I already) (put it through|sent the request|submitted everything)( already|).",
        "(the request|it|your request) (is now|is) (closed|through|out of my drafts|sent).",
        "(I have|I've) (put it through|arranged it|submitted it) (just now|already|a moment ago).",
    ),
    "tail": ("(Would you like a copy|Shall I mail it to you|Should I send a copy)?",),
}  # fmt: skip
