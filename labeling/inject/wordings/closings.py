"""How agents close a talk."""

from __future__ import annotations

CLOSE = {
    "say": ("@bye", "@thanks @bye", "@wish", "@thanks @wish", "@wish @bye", "@bye @again", "@thanks"),
    "bye": ("(Good bye|Goodbye|Bye|Bye bye|Bye for now|Take care|So long|Cheers)(.|!)", "(All the best|Best wishes|Best of luck)(.|!)"),
    "thanks": ("(Thank you|Thanks)( so much| very much|) for (contacting us|using our service|chatting with us|your time|calling)(.|!)",
               "(It was|It's been) (a pleasure|nice|great) (helping|talking to|serving) you(.|!)",
               "(Glad|Happy|Pleased) (I|we) could (help|be of help|assist)(.|!)", "(You're|You are) (very |most |)welcome(.|!)"),
    "wish": ("Have a (great|nice|good|lovely|wonderful|pleasant) (day|evening|week|weekend|stay)(.|!| ahead.)",
             "Enjoy (your|the rest of your) (day|evening|week|weekend|stay)(.|!)",
             "(I hope|We hope) (you enjoy|you will enjoy) (it|everything|your visit|your day)(.|!)",
             "(Enjoy|Have fun)(.|!)", "(Stay|Keep) (safe|well|healthy)(.|!)"),
    "again": ("(Come|Write|Contact us) (again|back) (soon|any time|whenever you like)(.|!)", "(See|Talk to) you (soon|next time)(.|!)"),
}  # fmt: skip
NOTICE = {
    "say": ("@notice", "@notice @more", "@more @notice"),
    "notice": (
        "(This|The) (ticket|case|conversation|chat|request) (has been|is now|was) (marked as |set to |)(resolved|closed|solved|completed).",
        "(I am|I'm|We are) (now |)(closing|ending|archiving) (this|the) (ticket|case|chat|session)( now| here|).",
        "(Status|Ticket status|Case status): (solved|closed|done|complete).",
        "(With this|Herewith|On our side), (the|your) (case|matter|request) is (settled|off the list|finished).",
        "(As|Since) (everything is|all points are|all is) (settled|clear|dealt with), (the session ends|we end) here.",
    ),
    "more": ("(A copy|The transcript) (of this chat|) (will be|is) (mailed to you|in your inbox).",
             "(No|Please do not) (reply|need to reply)( to this message|).",
             "(For new|With other) (questions|matters|topics), (please |)(open|start) a new (ticket|chat|request)."),
}  # fmt: skip
SURVEY = {
    "say": ("@survey", "@survey @why", "@done @survey"),
    "survey": (
        "(How|On a scale of 1 to 5, how) (would you rate|did you like|happy were you with) (this chat|our service|my help)( today|)?",
        "(Please|Kindly|We ask you to) (rate|score|review) (this chat|your agent|us|the service) (from 1 to 5|with up to five stars|below).",
        "(Did|Has) (this|our) (chat|talk) (solve|solved) (it|your problem)? (Rate us|Leave a star|Click a smiley)(.|!)",
        "(Take|It takes) (a minute|two minutes) for our (short |)(survey|questionnaire|feedback form)(.|!)",
    ),
    "why": ("(Your|Every) (vote|answer|rating|opinion) (counts|helps us improve|matters)(.|!)", "(It means a lot|We read them all)(.|!)"),
    "done": ("(That's|That is|This is) (it|all) (from me|from our side|for today)(.|!)", "(We|I) (end|finish) here(.|!)"),
}  # fmt: skip
DONE_THANKS = (
    "(Great|Perfect|Okay|Super|Lovely|Alright|Good), (thanks|thank you|that's all|that is all I need|that helps)(.|!)",
    "(Thanks|Thank you)( so much| a lot| very much|)(.|!|. That's all.|. That was all.|! Nothing else.)",
    "(That's|That is|That will be) all( for now| for today| I need|)(.|, thanks.|, thank you!)",
    "(No|Nope), (that's it|that's all|nothing else)(.|, thanks.|, thank you.)",
)
MOMENT = (
    "(One|Just a|Just one|Give me a|Wait a) (moment|second|minute)(, please| please|)(.|, I'm checking.|, let me look.)",
    "(Let me|I'll|I will) (check|look|see|find out|look into it)(.| for you.| right now.|, one moment.)",
    "(Hold on|Bear with me)(.| while I check.| for a second.)", "(Checking|Looking it up)( for you| now|)(.|...)",
)  # fmt: skip
NODS = ("(Okay|Sure|Fine|Alright|OK|Good|Yes)(.|, thanks.|!|, I'll wait.)",)
