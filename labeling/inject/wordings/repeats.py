"""What customers say before an agent sends the same text again, rightly or not; and what he puts around it."""

from __future__ import annotations

NOTHING_NEW: tuple[str, ...] = (
    "(Thanks|Thank you|Okay, thanks|Great, thank you|Cheers)(!|.)", "(Okay|Ok|Alright|I see|Right|Fine)(.|)",
    "(I did that|I have done that|Done that|Tried that) already.", "(That|This) (didn't|did not|doesn't|does not) (work|help)(.|!)",
    "(You|You have|You've) (said|told me|written) (that|this) (already|before|a minute ago).",
    "(Yes|Yeah|Yep), (I know|I read that|I got that|you said so).", "(And yes|So yes), I (heard|understood) you.",
    "(Still|It is still|It's still) (the same|not working|no better)(.|...)", "(Hello|Hello there|Hey|Hi)?", "???",
    "(Perfect|Lovely|Wonderful|Nice), (that is|that's) (good|great) (to hear|to know|news).", "(This|It) is (really |so |)(annoying|frustrating|tiring).",
    "(I am|I'm) (still here|waiting|listening|reading).", "(Hm|Hmm|Well|Um)(...|.)", "(Sounds|That sounds|Looks) (good|fine|great)(.|!)",
    "(Yes|Yep|Sure|Correct)(.|!|)", "(Please|Just) (go on|continue|proceed)(.|)", "(I appreciate it|Much appreciated|Very kind)(, thanks|, thank you|).",
    "(Not what I asked|That is not an answer)(.|!)", "(No|Nope), (that was it|nothing|that didn't do it|it did not).",
    "(Got it|Understood|Noted|Will do)(, thanks|.|!)", "(Good|Great|Excellent)(, good|, great|)(.|!)", "(Seriously|Really|Wow|Oh come on)(!|.|...)",
    "(I can't|I cannot) believe (this|it)(.|!)", "(So|Okay so|And) (that's that|that is it then|there we are).", "(That|It) is what you (said|wrote) (before|last time).",
    "(My|Oh my), what a (day|week|mess).", "(Ha|Haha|Lol)(, okay|, right|, sure|).", "(I have|I've) been (waiting|sitting) here (for ages|all day|forever).",
    "(You are|You're) (very |really |)(kind|helpful|quick|polite).", "(I will|I'll) (do so|do that|keep that in mind).",
    "(Let me|I will) (read|think about) (it|that) (for a moment|a second).", "(Same as before|No change|No difference)(, sadly|.|).",
    "(As|Like) I (said|wrote)(, yes|, no|).", "(I love|I like) (chatting with you|your service|this).",
)  # fmt: skip
"""The customer thanks, agrees, complains or chats: no reason to send the same again."""

SAY_AGAIN: tuple[str, ...] = (
    "(Sorry|Pardon|Excuse me), (could|can|would) you (repeat|say|write) that( again| once more|)?",
    "(I missed|I lost|I didn't catch|I accidentally closed) (that|your last message|what you wrote). (Once more|Again), please(.|?)",
    "(Can|Could) you (send|write|post) (that|it|your last message) (again|once more|a second time)?",
    "(My|The) (screen froze|page reloaded|phone rang|app crashed), (what did you say|what was that)?",
    "(What was that|Come again|Say again)? (I was distracted|The line was bad|My dog barked).",
    "(One more time|Once again), please, (my wife wants to read it too|for my notes|I need to write it down).",
    "(Sorry, what|What did you say|What was it again)?", "(The message|Your text) (was cut off|came garbled|vanished). (Could you resend it|Again, please)?",
    "(Could|Can) you (confirm|restate) (that|this) (word for word|for the record|exactly as before)?",
    "(Please|Kindly) (repeat|resend) (that|your answer|the last part), I (scrolled past|deleted|lost) it.",
    "I (just |)(got back|was away|had to answer the door). (What did you write|Where were we|What was your answer)?",
    "(Is that|So is that) (really|still) (so|the case|right)? (Please check again|Have another look, please).",
)  # fmt: skip
"""The customer wants to read it again."""

CHANGED: tuple[str, ...] = (
    "(How|What) about (Monday|Tuesday|Thursday|Saturday|the 14th|next week|two days later)( instead|)?",
    "(And|Then) (try|check|look at) (the other one|a later time|the day after|9 pm|a cheaper one)(, please|).",
    "(Actually|Oh|Wait), (make it|let's say|take) (two|four|seven) (people|of them|)( instead|)(, please|).",
    "(My plans changed|I changed my mind): (Wednesday|the 22nd|in the morning|after 6 pm) (would be better|instead).",
    "(Could|Can) you (do|try|check) (the same|it|that) for (my brother|my colleague|our neighbours|the second account) (too|as well)?",
    "(Okay|Alright), (a different|another) (place|date|time|option) then: (the one in the north|the 3rd|half past eight|number 5).",
    "(What if|And if) I (come|go|start) (an hour earlier|on Friday|at 11 am|two days later)?",
    "(I gave you|Sorry, I gave) the wrong (date|number|day). It (is|should be) (the 19th|4471|Sunday|20 May).",
)  # fmt: skip
"""The customer changes what he wants, so that a prepared answer may rightly come again."""

GREETED: tuple[str, ...] = (
    "(Hi|Hello|Hey|Good morning|Good afternoon)(,| there,| again,|!)", "(Thanks|Thank you) for (your message|your reply|getting back|writing)(.|!)",
    "(I hope|Hope) (you are|you're) (well|doing fine)(.|!)", "(Dear customer|Dear guest|Hello dear customer),",
    "(Thank you|Thanks) for (your patience|waiting|bearing with me)(.|!)", "(Great|Good) question(.|!)", "(Sure|Of course|Certainly|Absolutely)(.|!)",
    "(I understand|I see|I hear you).", "(I'm|I am) (happy|glad) to help(.|!)", "(Welcome back|Nice to hear from you)(!|.)",
)  # fmt: skip
PADDED: tuple[str, ...] = (
    "(I hope|Hope) (this|that) (helps|is helpful|clears it up)(.|!)", "(Please|Do) let me know (how it goes|if that is fine|what you think).",
    "(That is|That's) (what I can|all I can) (offer|tell you|see) (here|at the moment|for now).", "(We|I) (value|appreciate) your (business|patience|trust).",
    "(Our team|Our whole crew) is always here for you(.|!)", "(Please|Kindly) (take note|note this|keep that in mind).",
    "(This|It) (should|will) (work|be fine)(.|!)",
)  # fmt: skip
"""What stands before or behind a text that is sent a second time."""

BYES: tuple[str, ...] = (
    "(Bye|Goodbye|Bye bye|See you)(!|.|)", "(You too|Same to you|Likewise)(!|.)", "(Thanks|Thank you|Cheers)(, bye|, you too| again|)(!|.)",
    "(Take care|Have a nice day|All the best)(!|.)", "(Okay|Alright), (bye|goodbye|that's all)(!|.)",
)  # fmt: skip
"""The customer takes leave once more."""
