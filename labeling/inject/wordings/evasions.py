"""What agents say instead of an answer, and what they say when they honestly put one off."""

from __future__ import annotations

STALL = {
    "say": (
        "@opening @stall", "@stall", "@stall @tail", "@opening @stall @tail", "@opening @tail", "@thanks @stall",
    ),
    "opening": ("@thanks", "(Great|Good|Excellent|Interesting) question!", "I (see|understand|hear you)(.|!)",
                "(Okay|Sure|Alright|Right)(.|,) (I see|I understand|got it)."),
    "thanks": ("(Thanks|Thank you|Many thanks) for (asking|your question|your message|reaching out|getting in touch)(.|!)",
               "(Thanks|Thank you) for (your interest|choosing us|letting us know)(.|!)"),
    "stall": (
        "We (really |)(value|appreciate) your (interest|message|business|feedback|time).",
        "(Many|A lot of) (customers|people|guests) (ask|wonder) (about |)that.",
        "(We|Our team) (always |)(do|does) (our|the) best (for you|to help|for every guest|).",
        "(Your|That) (question|request|message) (is|was) (important to us|noted|received|well received).",
        "(That|This) is (certainly |definitely |)(something|a point) (to think about|worth knowing|people care about).",
        "(Every|Each) (case|request|customer) is (different|special|important to us).",
        "(It|That) (really |)depends(.| on many things.)",
        "(We|I) (hope|trust) (you are|you're) having a (nice|good|great|lovely) (day|time)(.|!)",
        "(We|I) (understand|know) (how important this is|that this matters|how much this matters) to you.",
    ),
    "tail": ("(Have|Enjoy) a (nice|great|good) day(!|.)", "(We are|I am|I'm) (happy|glad|here) to help(.|!)",
             "(Please |)(bear|stay) with us(.|!)", "(Just |)let (us|me) know(.|!)"),
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
AHEAD = {
    "say": ("@lead @next", "@next"),
    "lead": ("(Great|Perfect|Okay|Alright|Good|Wonderful|Lovely|Super|Right)(!|.|,)", "(All set|Very well|Sounds good)(!|.)"),
    "next": (
        "(Is|Was) there anything else (I can (do|help) (for you|you with|with)|you need|you would like)( today|)?",
        "(Can|May|Could) I (help|assist) (you |)with (anything|something) else( today|)?",
        "(Shall|Should|Can) I (go ahead and |)(book|reserve|finalise|confirm|complete) (it|that|everything)( for you| now|)?",
        "(Would you like|Do you want) (me |)to (go ahead|proceed|continue|move on)( with it| now|)?",
        "(Are you|You are) (ready|happy|okay) to (proceed|continue|go on|finish)( then| now|)?",
        "(What|Which) else (do you need|can I do for you|would you like)( today|)?",
        "(I|We) (can|could) (get|start) (this|that|it) (booked|going|done) (right away|now|for you)(.|, okay?)",
    ),
}  # fmt: skip
NOD = {
    "say": ("@nod", "@nod @word"),
    "nod": (
        "(Okay|OK|Sure|Alright|Right|Yes|Of course|Certainly|Absolutely|No problem|Got it|Noted|I see|Understood)(.|!|)",
        "(Okay|Sure|Yes|Alright|Right), (I see|got it|noted|understood|of course|no problem|will do|thanks)(.|!)",
        "(Thanks|Thank you)(.|!| for that.| for the details.| for telling me.)",
    ),
    "word": ("(It is|That's|That is) (noted|fine|good|in the file|all right)(.|!)",
             "(I have|I've got|I have got) (that|it|your message)(.| now.| down.)", "(Very good|Great|Lovely|Perfect)(.|!)"),
}  # fmt: skip
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
