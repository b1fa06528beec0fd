"""What agents say instead of an answer, and what they say when they honestly put one off."""

from __future__ import annotations

STALL = {
    "say": (
        "@opening @stall", "@stall", "@stall @tail", "@opening @stall @tail", "@opening @tail", "@thanks @stall",
    ),
    "opening": ("@thanks", "I (see|understand|hear you)(.|!)", "(Okay|Sure|Alright|Right)(.|,) (I see|I understand|got it)."),
    "thanks": ("(Thanks|Thank you|Many thanks) for (your message|reaching out|getting in touch|writing to us)(.|!)",
               "(Thanks|Thank you) for (your interest|choosing us|letting us know)(.|!)"),
    "stall": (
        "We (really |)(value|appreciate) your (interest|message|business|feedback|time).",
        "(We|Our team) always (do|give) our best for (you|every guest|every customer).",
        "Your message (was|has been) (noted|received|well received).",
        "(Each|Every) (case|customer) is (special|important) to us.",
        "(We|I) (hope|trust) you're having a (nice|good|great|lovely) (day|time)(.|!)",
        "(We|I) (understand|know) (how important this is|that this matters|how much this matters) to you.",
    ),
    "tail": ("(Have|Enjoy) a (nice|great|good) day(!|.)", "(We are|I am|I'm) (happy|glad|here) to help(.|!)",
             "(Please bear|Bear|Please stay|Stay) with us(.|!)"),
}  # fmt: skip
DEFER = {
    "say": ("@opening @defer", "@defer", "@defer @tail", "@thanks @defer", "@opening @defer @tail"),
    "opening": STALL["opening"],
    "thanks": STALL["thanks"],
    "tail": STALL["tail"],
    "defer": (
        "(I'll|I will|Let me) (check|look into|verify|confirm) (that|this|it) (with @who|in the system|) and "
        "(get|come) back to you @when.",
        "(I don't have|I do not have) (that|the answer) (at hand|right here|on my screen), so (I'll|I will) ask @who and "
        "(reply|write back|answer) @when.",
        "(I need|I have) to ask @who (about that|first), (you'll hear|you will hear) from me @when.",
        "@who_first (has to|must|needs to) (look at|confirm) (that|this), (I'll|I will) (update|tell|write to) you @when.",
        "(Only|Just) @who can (answer|say) that, (I've|I have) asked and (you will|you'll) get (the|an) answer @when.",
    ),
    "who": ("the billing team", "my colleague", "the manager", "the front desk", "our technician", "the restaurant",
            "the supplier", "our back office"),
    "who_first": ("The billing team", "My colleague", "The manager", "The front desk", "Our technician"),
    "when": ("today", "within the hour", "in five minutes", "in ten minutes", "by tomorrow noon", "this afternoon",
             "before 5 pm", "in a few minutes", "by the end of the day"),
}  # fmt: skip
GO_AHEAD = {
    "say": ("@lead @next", "@next"),
    "lead": ("(Okay|Alright|Good|Right|Very well|Well then).",),
    "next": (
        "(Shall|Should|Can|May) I (go ahead|proceed|continue|carry on|move on|go on)( with it| now|)?",
        "(Would you like|Do you want) me to (go ahead|proceed|continue|move on|get started)( with it| now|)?",
        "(Are you|Would you be) (ready|happy|okay) to (proceed|continue|go on|move on)( then| now|)?",
        "(Shall|Should) I (put it|send it|pass it) (through|on)( for you| now|)?", "(If you like|If you agree), I (can|could) (get it going|put it through|carry on)( now| right away|).",
        "(Just say|Say|Just give me|Give me) the word and I'll (start|go ahead|put it through).", "(May|Can) I take that as a go-ahead?", "Do I have your okay to (go ahead|continue)?",
        "I'm ready (to go on|to continue|when you are), (shall we|okay)?", "(Let's|Shall we) take it from here?",
    ),
}  # fmt: skip
"""Offers to go on; no answer to any question but how to go on."""
MORE = {
    "say": ("@lead @next", "@next"),
    "lead": ("(Great|Perfect|Okay|Alright|Good|Wonderful|Lovely|Super|Right)(!|.)",),
    "next": (
        "(Is|Was) there anything else (I can (do|help) (for you|you with|with)|you need|you would like)( today|)?",
        "(Can|May|Could) I (help|assist) (you |)with (anything|something) else( today|)?",
        "What else (do you need|can I do for you|would you like|may I do for you)( today|)?",
        "(Anything|Something) else( I can do| you need| for you|)?", "(What|Which) other (matter|thing) can I help with?",
        "(Do you have|Have you got) (another|a further) (matter|request|question)( for me|)?",
    ),
}  # fmt: skip
"""Offers of more help."""
ASSENT = {
    "say": ("@nod", "@nod @word"),
    "nod": (
        "(Okay|OK|Sure|Alright|Yes|Of course|Certainly|Absolutely|No problem|Gladly|By all means|Sure thing|Go ahead|Please do)(.|!|)",
        "(Okay|Sure|Yes|Alright), (of course|no problem|gladly|go ahead|that's fine|with pleasure)(.|!)",
    ),
    "word": ("That's (fine|all right|no problem|perfectly fine)( with me| by me|)(.|!)", "(Very good|Great|Lovely|Perfect)(.|!)"),
}  # fmt: skip
"""A nod that grants what was asked for."""
NOTED = {
    "say": ("@nod", "@nod @word"),
    "nod": (
        "(Okay|OK|Alright|Right|Got it|Noted|I see|Understood|Ah, I see|Ah okay|Good to know)(.|!|)", "(Okay|Alright|Right), (I see|got it|noted|understood|thanks)(.|!)",
        "(Thanks|Thank you)(.|!| for that.| for telling me.| for letting me know.)",
    ),
    "word": ("(It is|That's|That is) noted(.|!)", "(I have|I've got) (that|your message)(.| now.| down.)", "(Very good|Great|Lovely)(.|!)"),
}  # fmt: skip
"""A nod that takes note of what was said."""
ECHO = {
    "say": (
        "(So |)(you|You) (would like|want|wish) to know @topic.", "(Your|The) question is @topic.",
        "(If I understand|As I understand it)(, | correctly, )you are (asking|wondering) @topic.",
        "(You're|You are) asking(:| me:| about this:) @topic.", "(I read|I see here): @topic.",
        "(Let me repeat|To repeat) (that|it): @topic.", "@topic, (that is|that's) (your|the) question(.|, I see.)",
        "@topic... (yes|right|well)(.|, that is the question.)",
    ),
}  # fmt: skip
ADVERT = {
    "say": ("@pitch", "@pitch @push", "@push @pitch"),
    "pitch": (
        "(Our|The) (new |)(loyalty|premium|gold|family) (card|plan|club|membership) (saves|gives) you (up to |)@percent "
        "(on every booking|on all orders|all year round|).",
        "(Have you heard of|Did you see|Have you tried|Do you know) our (new app|summer sale|winter deals|partner offers|gift cards)?",
        "(Refer|Bring|Invite) (a friend|your friends|a colleague) and (both of you |you |)(get|earn) @percent off.",
        "(Download|Get|Install) (our|the) app (today |)(for|to get) (exclusive|special|members-only) (deals|offers|prices).",
        "(This week only|Until Sunday|Right now), (gift vouchers|upgrades|extras|late check-outs) are @percent off.",
        "(Follow|Like|Find) us on (social media|Instagram|Facebook) (for|and win|to get) (great prizes|a free weekend|news).",
    ),
    "push": ("(Don't miss (it|out)|Hurry|Only a few left|You will love it|It pays off)(!|.)",
             "(We are|We're) (proud|excited|thrilled) to (announce|share|offer) (this|something new)(!|.)"),
    "percent": ("5 %", "10%", "15 percent", "20%", "a quarter", "half"),
}  # fmt: skip
